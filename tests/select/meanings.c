/* SPDX-License-Identifier: Apache-2.0 */
/* Tells what the evaluator knows of NPU nodes, whatever their values:
 *
 *   meaning-probe < modules      textual IR, with lines "// -----" between modules
 *   meaning-probe --made         NPU nodes that built-in rules and definitions make
 *   meaning-probe --prototypes   all NPU ops of the table: name, and what any node of it means
 *
 * Per NPU node one line of tab-separated words comes out: number of the module, name of the node,
 * op, and what it means: "kernel", "defined", or "nothing" with the nearest reason. Conditions are
 * judged by the types that the text declares, and nothing is computed. With --made the first two
 * are the rule and the line of the statement; attributes must be named by a definition that takes
 * as many operands, or have their defaults there. */
#include <stdio.h>
#include <stdlib.h>

#include "ir/eval/eval.h"
#include "ir/ops_gen.h"
#include "ir/text/parse.h"
#include "passes/engine/match.h"

enum { MOST_BYTES = 1 << 26 };

static bool is_npu(tl_op_id op) {
  const tl_op *row = tl_op_row(op);
  return op != TL_OP_RETURN && op != TL_OP_ERASED && row && row->domain_symbol == TL_SYM_npu &&
         row->n_npu == 0; /* those with candidates come from converters */
}

/* Returns true if a definition fits the node; else *why has the reason of the nearest. */
static bool is_defined(const tl_ruleset *set, tl_module *m, tl_node_id n, tl_arena *scratch,
                       tl_buf *why) {
  tl_miss miss = {.text = why};
  for (uint32_t i = 0; i < set->rules.n; i++) {
    const tl_rule *r = set->rules.at[i];
    tl_match match = {.set = set, .rule = r, .m = m, .scratch = scratch, .miss = &miss};
    if (r->kind == TL_RULE_DEFINE && r->match->ops[0] == tl_node_get(m, n)->op &&
        tl_rule_match(&match, n))
      return true;
  }
  return false;
}

static void tell(uint32_t number, const tl_ruleset *set, tl_module *m, tl_node_id n) {
  tl_op_id op = tl_node_get(m, n)->op;
  tl_sv name = tl_sym(m, tl_node_get(m, n)->name);
  tl_arena scratch;
  tl_buf why;
  tl_arena_init(&scratch, 0);
  tl_buf_init(&why);
  const char *means = tl_eval_has_kernel(op)                  ? "kernel"
                      : is_defined(set, m, n, &scratch, &why) ? "defined"
                                                              : "nothing";
  printf("%u\t%.*s\t%s\t%s\t%s\n", number, TL_SV_ARG(name), tl_op_row(op)->name, means,
         *means == 'n' && why.p ? why.p : "");
  tl_buf_release(&why);
  tl_arena_release(&scratch);
}

static int tell_module(uint32_t number, tl_sv text) {
  tl_diag diag = {0};
  tl_module *m = NULL;
  tl_ruleset set;
  if (tl_module_parse(&diag, "module", text, &m) != TL_OK)
    return 1;
  tl_ruleset_init(&set, m);
  set.kinds = TL_RULE_BIT(TL_RULE_DEFINE) | TL_RULE_NPU_BIT;
  int bad = tl_rules_add_builtin(&set) != TL_OK;
  for (uint32_t i = 0; !bad && i < m->graphs.n; i++)
    TL_FOR_NODES(m, m->graphs.at[i], n)
      if (is_npu(tl_node_get(m, n)->op))
        tell(number, &set, m, n);
  tl_ruleset_release(&set);
  tl_module_destroy(m);
  return bad;
}

/* ---- what rules make ------------------------------------------------------------------------ */

static bool names(const tl_pattern_node *signature, tl_symbol attr) {
  for (uint8_t i = 0; i < signature->n_attrs; i++)
    if (signature->attrs[i].name == attr)
      return true;
  return false;
}

static bool takes(const tl_pattern_node *signature, const tl_pattern_node *made) {
  bool rest = false;
  uint8_t least = 0;
  for (uint8_t i = 0; i < signature->n_operands; i++) {
    rest = rest || signature->operands[i].kind == TL_PATTERN_REST;
    if (signature->operands[i].kind == TL_PATTERN_VALUE)
      least = (uint8_t)(i + 1);
  }
  for (uint8_t i = 0; i < made->n_operands; i++)
    rest = rest || made->operands[i].kind == TL_PATTERN_REST;
  if (!rest && (made->n_operands < least || made->n_operands > signature->n_operands))
    return false;
  const tl_op *row = tl_op_row(made->ops[0]);
  for (uint8_t i = 0; i < made->n_attrs; i++)
    if (tl_op_attr_find(row, made->attrs[i].name) && !names(signature, made->attrs[i].name))
      return false;
  return true;
}

static void tell_made(const tl_ruleset *set, const tl_rule *r, const tl_pattern_node *made) {
  bool known = tl_eval_has_kernel(made->ops[0]);
  for (uint32_t i = 0; !known && i < set->rules.n; i++) {
    const tl_rule *d = set->rules.at[i];
    known = d->kind == TL_RULE_DEFINE && d->match->ops[0] == made->ops[0] && takes(d->match, made);
  }
  tl_sv name = tl_sym(set->m, r->name);
  printf("%.*s\t%u\t%s\t%s\t\n", TL_SV_ARG(name), made->line, tl_op_row(made->ops[0])->name,
         known ? "defined" : "nothing");
}

static int tell_all_made(void) {
  tl_diag diag = {0};
  tl_ruleset set;
  tl_module *m = tl_module_create(&diag, "rules", 0);
  if (!m)
    return 1;
  tl_ruleset_init(&set, m);
  int bad = tl_rules_add_builtin(&set) != TL_OK;
  for (uint32_t i = 0; !bad && i < set.rules.n; i++)
    for (uint8_t k = 0; k < set.rules.at[i]->n_build; k++) {
      const tl_pattern_node *made = &set.rules.at[i]->build[k];
      if (!made->forward && made->like == TL_RULE_NODES && is_npu(made->ops[0]))
        tell_made(&set, set.rules.at[i], made);
    }
  tl_ruleset_release(&set);
  tl_module_destroy(m);
  return bad;
}

static int tell_prototypes(void) {
  tl_diag diag = {0};
  tl_ruleset set;
  tl_module *m = tl_module_create(&diag, "rules", 0);
  if (!m)
    return 1;
  tl_ruleset_init(&set, m);
  set.kinds = TL_RULE_NPU_BIT;
  int bad = tl_rules_add_builtin(&set) != TL_OK;
  for (tl_op_id op = 0; !bad && op < tl_n_op_rows; op++)
    if (is_npu(op))
      printf("%s\t%s\n", tl_op_row(op)->name,
             tl_eval_has_kernel(op)      ? "kernel"
             : tl_rules_define(&set, op) ? "defined"
                                         : "nothing");
  tl_ruleset_release(&set);
  tl_module_destroy(m);
  return bad;
}

int main(int argc, char **argv) {
  static const char between[] = "// -----\n";
  uint32_t number = 0;
  int bad = 0;
  if (argc > 1 && strcmp(argv[1], "--prototypes") == 0)
    return tell_prototypes();
  if (argc > 1)
    return strcmp(argv[1], "--made") == 0 ? tell_all_made() : 1;
  char *text = malloc(MOST_BYTES);
  size_t n = text ? fread(text, 1, MOST_BYTES - 1, stdin) : 0;
  if (!text)
    return 1;
  text[n] = '\0';
  for (char *at = text, *next; at; at = next) {
    next = strstr(at, between);
    tl_sv one = {at, next ? (size_t)(next - at) : strlen(at)};
    next = next ? next + sizeof between - 1 : NULL;
    bad |= tell_module(number++, one);
  }
  free(text);
  return bad;
}
