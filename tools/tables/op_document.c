/* SPDX-License-Identifier: Apache-2.0 */
/* Writes docs/ops.md: what becomes of each op on the NPU, on which chips, and what does not. */
#include <stdlib.h>

#include "passes/engine/rule.h"
#include "tools/cli/cli.h"
#include "tools/tables/op_chip.h"

/* Tables of ops that chips go by; one chip stands for each. */
enum { N_TABLES = 2 };

static void add_name(tl_buf *out, const tl_op *op) {
  tl_buf_printf(out, "`%s%s%s`", op->domain, *op->domain ? "::" : "", op->name);
}

/* Adds a guard as code. A table cell must not hold a bare '|'. */
static void add_guard(tl_buf *out, const char *guard) {
  tl_buf_add_char(out, '`');
  for (const char *c = guard; *c; c++) {
    if (*c == '|')
      tl_buf_add_char(out, '\\');
    tl_buf_add_char(out, *c);
  }
  tl_buf_add_char(out, '`');
}

static void add_versions(tl_buf *out, const tl_op *op) {
  for (uint8_t i = 0; i < op->n_since; i++)
    tl_buf_printf(out, "%s%d", i ? ", " : "", op->since[i]);
}

static bool is_always(const tl_npu_candidate *n) { return strcmp(n->guard, "always") == 0; }

/* Adds the NPU types that an op may become; '*' marks those of several nodes. */
static void add_candidates(tl_buf *out, const tl_op *op) {
  bool any = false;
  for (uint8_t i = 0; i < op->n_npu; i++) {
    const tl_npu_candidate *n = &op->npu[i];
    if (n->kind == TL_LOWER_NONE)
      continue;
    tl_buf_printf(out, "%s%s%s", any ? "; " : "", n->npu_type,
                  n->kind == TL_LOWER_EXPAND ? "\\*" : "");
    if (!is_always(n)) {
      tl_buf_add_z(out, " if ");
      add_guard(out, n->guard);
    }
    any = true;
  }
}

/* Adds when an op has no NPU form, and whether a rule helps then. */
static void add_limits(tl_buf *out, const tl_op *op, bool by_rules) {
  bool form = false;
  bool any = false;
  for (uint8_t i = 0; i < op->n_npu; i++)
    form = form || op->npu[i].kind != TL_LOWER_NONE;
  if (!form) {
    tl_buf_add_z(out, by_rules ? "only by a rule" : "no NPU form");
    return;
  }
  for (uint8_t i = 0; i < op->n_npu; i++) {
    const tl_npu_candidate *n = &op->npu[i];
    if (n->kind != TL_LOWER_NONE)
      continue;
    tl_buf_add_z(out, any ? "; " : "");
    tl_buf_add_z(out, by_rules ? "only by a rule" : "none");
    tl_buf_add_z(out, is_always(n) ? " otherwise" : " if ");
    if (!is_always(n))
      add_guard(out, n->guard);
    any = true;
  }
}

/* Returns true if a candidate may hold on the chip and its op information has the judged type. */
static bool is_on(const tl_op_chip *c, const tl_op *op) {
  for (uint8_t i = 0; i < op->n_npu; i++) {
    const tl_npu_candidate *n = &op->npu[i];
    bool known = !*n->judged || tl_op_info_find(c->info, tl_sv_from(n->judged)).row;
    if (n->kind != TL_LOWER_NONE && known && tl_op_chip_has(c, n))
      return true;
  }
  return false;
}

static void add_chips(tl_buf *out, const tl_op_chip *chips, const tl_op *op) {
  bool newer = is_on(&chips[0], op);
  bool older = is_on(&chips[1], op);
  tl_buf_add_z(out, newer && older ? "all" : newer ? "910B on" : older ? "before 910B" : "");
}

/* Marks the ops that are roots of a rule of kind expand. False if memory is out. The root is the
 * last node of a pattern. */
static bool mark_expanded(tl_diag *diag, bool *expanded) {
  tl_options options = tl_options_default();
  tl_ruleset set;
  tl_module *m = tl_module_create(diag, "rules", 0);
  if (!m)
    return false;
  tl_ruleset_init(&set, m);
  bool ok = tl_rules_load(&set, &options) == TL_OK;
  for (uint32_t i = 0; ok && i < set.rules.n; i++) {
    const tl_rule *rule = set.rules.at[i];
    const tl_pattern_node *root = rule->n_match ? &rule->match[rule->n_match - 1] : NULL;
    for (uint8_t k = 0; root && rule->kind == TL_RULE_EXPAND && k < root->n_ops; k++) {
      if (root->ops[k] < tl_n_op_rows)
        expanded[root->ops[k]] = true;
    }
  }
  tl_ruleset_release(&set);
  tl_module_destroy(m);
  return ok;
}

/* Adds the row of an op. by_rules: an expand rule starts at the op. */
static void add_row(tl_buf *out, const tl_op_chip *chips, const tl_op *op, bool by_rules) {
  tl_buf_add_z(out, "| ");
  add_name(out, op);
  tl_buf_add_z(out, " | ");
  add_versions(out, op);
  tl_buf_add_z(out, " | ");
  add_candidates(out, op);
  tl_buf_add_z(out, " | ");
  add_chips(out, chips, op);
  tl_buf_add_z(out, " | ");
  add_limits(out, op, by_rules);
  tl_buf_add_z(out, " |\n");
}

void tl_document_ops(tl_buf *out) {
  static const char *const names[N_TABLES] = {"Ascend910B1", "Ascend910A"};
  tl_diag diag = {0};
  tl_op_chip chips[N_TABLES];
  bool *expanded = calloc(tl_n_op_rows, sizeof *expanded);
  bool made = expanded && mark_expanded(&diag, expanded);
  tl_buf_add_z(out, "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
                    "<!-- Written by `tailor --generate=ops`; `make update` renews it. -->\n"
                    "# Which ops are known, and which NPU op do they become?\n\nThe op table "
                    "without NPU prototypes. An op that is not listed is carried to the output "
                    "unchanged.\n\n"
                    "*NPU types* are tried in order; the first whose condition "
                    "([op-table.md](op-table.md)) holds is used. With \\* the op needs several "
                    "NPU ops; an expand rule (`passes/rules/expand_*.tlr`) replaces it if it "
                    "matches. *Limits*: where there is no NPU type, and what helps. *Chips*: `910B "
                    "on` means Ascend910B, 910_93, 950 and 310B; `all` also Ascend910A and the "
                    "other 310s. `tailor ops NAME --soc-version CHIP` shows the dtypes, the colour "
                    "and the source of each fact.\n\n"
                    "| op | versions | NPU types | chips | limits |\n|---|---|---|---|---|\n");
  for (int i = 0; i < N_TABLES; i++) {
    tl_options options = tl_options_default();
    options.soc_version = names[i];
    options.chip = tl_soc_find(tl_sv_from(names[i]), NULL);
    made = tl_op_chip_init(&chips[i], &options, &diag) && made;
  }
  for (uint32_t i = 0; made && i < tl_n_op_rows; i++) {
    if (strcmp(tl_op_rows[i].domain, "npu") != 0)
      add_row(out, chips, &tl_op_rows[i], expanded[i]);
  }
  for (int i = 0; i < N_TABLES; i++)
    tl_op_chip_release(&chips[i]);
  free(expanded);
  out->failed = out->failed || !made;
}
