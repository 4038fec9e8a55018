/* SPDX-License-Identifier: Apache-2.0 */
/* Tells what NPU ops mean to the evaluator: definitions of passes/definitions, or kernels. */
#include "tools/tables/meanings.h"

#include "ir/eval/eval.h"
#include "ir/ops_gen.h"
#include "passes/engine/rule.h"

/* The definitions of NPU ops, in a module of their own. */
typedef struct meanings {
  tl_diag diag;
  tl_module *m;
  tl_ruleset set;
} meanings;

/* Reads the built-in definitions; false if memory is out. Close them in any case. */
static bool open_meanings(meanings *k) {
  *k = (meanings){.m = NULL};
  k->m = tl_module_create(&k->diag, "definitions", 0);
  if (!k->m)
    return false;
  tl_ruleset_init(&k->set, k->m);
  k->set.kinds = TL_RULE_NPU_BIT;
  return tl_rules_add_builtin(&k->set) == TL_OK;
}

static void close_meanings(meanings *k) {
  if (!k->m)
    return;
  tl_ruleset_release(&k->set);
  tl_module_destroy(k->m);
}

/* Returns true if the rule is a definition of the op. */
static bool defines(const tl_rule *r, tl_op_id op) {
  return r->kind == TL_RULE_DEFINE && r->match->ops[0] == op;
}

/* Adds the ops of a definition in their order, each once. A forward entry is a value that is passed
 * through, not an op. */
static void add_body(tl_buf *out, const meanings *k, const tl_rule *r) {
  bool any = false;
  for (uint8_t i = 0; i < r->n_build; i++) {
    bool seen = r->build[i].forward;
    for (uint8_t j = 0; j < i && !seen; j++)
      seen = !r->build[j].forward && r->build[j].ops[0] == r->build[i].ops[0];
    if (seen)
      continue;
    tl_sv domain = tl_op_domain(k->m, r->build[i].ops[0]);
    tl_sv name = tl_op_name(k->m, r->build[i].ops[0]);
    tl_buf_printf(out, "%s%.*s%s%.*s", any ? ", " : "", TL_SV_ARG(domain), domain.n ? "::" : "",
                  TL_SV_ARG(name));
    any = true;
  }
}

static bool is_npu(const tl_op *op) { return op->domain_symbol == TL_SYM_npu; }

/* Returns the next definition of the op from rule *i on, NULL if there is none; moves *i behind
 * it. */
static const tl_rule *next_definition(const meanings *k, tl_op_id op, uint32_t *i) {
  while (*i < k->set.rules.n) {
    const tl_rule *r = k->set.rules.at[(*i)++];
    if (defines(r, op))
      return r;
  }
  return NULL;
}

static bool has_kernel(const tl_op *op) { return tl_eval_has_kernel((tl_op_id)(op - tl_op_rows)); }

void tl_add_meaning(tl_buf *out, const tl_op *op) {
  meanings k;
  uint32_t i = 0;
  const tl_rule *r;
  if (!is_npu(op))
    return;
  bool any = has_kernel(op), open = open_meanings(&k);
  if (any)
    tl_buf_add_z(out, "  means    a kernel of the evaluator\n");
  while (open && (r = next_definition(&k, (tl_op_id)(op - tl_op_rows), &i))) {
    tl_buf_add_z(out, "  means    ");
    add_body(out, &k, r);
    tl_buf_printf(out, " (%s)\n", r->file);
    any = true;
  }
  if (open && !any)
    tl_buf_add_z(out, "  means    nothing that the evaluator knows\n");
  close_meanings(&k);
}

/* ---- the document --------------------------------------------------------------------------- */

/* Returns true if the op may become this NPU op by itself, without an expansion. */
static bool leads_to(const tl_op *op, const tl_op *npu) {
  for (uint8_t i = 0; i < op->n_npu; i++)
    if (op->npu[i].kind != TL_LOWER_EXPAND && strcmp(op->npu[i].npu_type, npu->name) == 0)
      return true;
  return false;
}

/* Adds the ops that become this NPU op; false if there is none. */
static bool add_origins(tl_buf *out, const tl_op *npu) {
  bool any = false;
  for (uint32_t i = 0; i < tl_n_op_rows; i++) {
    const tl_op *op = &tl_op_rows[i];
    if (!leads_to(op, npu))
      continue;
    tl_buf_printf(out, "%s%s%s%s", any ? ", " : "", op->domain, *op->domain ? "::" : "", op->name);
    any = true;
  }
  return any;
}

/* Adds the row of an NPU op: its origins, its meanings, and the file of its first definition. */
static void add_row(tl_buf *out, const meanings *k, const tl_op *op) {
  uint32_t i = 0;
  bool any = has_kernel(op);
  const tl_rule *r, *first = NULL;
  size_t start = out->n;
  tl_buf_printf(out, "| `%s` | ", op->name);
  bool made = add_origins(out, op);
  tl_buf_printf(out, " | %s", any ? "a kernel" : "");
  while ((r = next_definition(k, (tl_op_id)(op - tl_op_rows), &i))) {
    tl_buf_add_z(out, any ? "; " : "");
    add_body(out, k, r);
    first = first ? first : r;
    any = true;
  }
  if (first)
    tl_buf_printf(out, " | [%s](../%s) |\n", strrchr(first->file, '/') + 1, first->file);
  else
    tl_buf_add_z(out, any ? " | |\n" : "not known | |\n");
  if (!made && !any)
    out->n = start; /* a prototype that nothing leads to yet */
}

void tl_document_npu_ops(tl_buf *out) {
  meanings k;
  tl_buf_add_z(out, "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
                    "<!-- Written by `tailor --generate=npu-ops`; `make update` renews it. -->\n"
                    "# What does an NPU op compute?\n\n"
                    "The op types of the NPU form, the ops that become them, and their meaning for "
                    "`run` and `verify` ([evaluator.md](evaluator.md)):\nthe ops of each "
                    "definition, with semicolons between alternatives, or a kernel of the "
                    "evaluator.\n\n"
                    "| NPU op | made from | means | defined in |\n|---|---|---|---|\n");
  if (open_meanings(&k))
    for (uint32_t i = 0; i < tl_n_op_rows; i++)
      if (is_npu(&tl_op_rows[i]))
        add_row(out, &k, &tl_op_rows[i]);
  close_meanings(&k);
}
