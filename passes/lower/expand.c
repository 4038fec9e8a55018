/* SPDX-License-Identifier: Apache-2.0 */
/* expand: applies the rules of kind expand at nodes that have no NPU form of their own, after the
 * definitions of users' ops without one.
 *
 * Requires:  types inferred, captures of If bodies explicit.   Keeps: names and order of outputs.
 * After:     a node without NPU form that an expand rule fits has become nodes that have one, or
 *            that other rules expand in turn; what is left is for select to report.
 * Cost:      one sweep; candidates are judged only where a rule has its root.
 * Tests:     tests/golden/expand/ */
#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/engine/rewrite.h"
#include "passes/engine/ruleset.h"
#include "passes/npu/eval.h"
#include "passes/scopes/definitions.h"

enum { ROUNDS = 64 }; /* Sum of many operands takes one each */

typedef struct judge {
  tl_npu_forms forms;
  tl_site x;
  tl_arena lists;
  tl_status status;
} judge;

/* Returns true if the node has no NPU form for its dtypes, so that it needs an expansion. */
static bool lacks_form(void *user, tl_node_id n) {
  judge *j = user;
  tl_arena_mark mark = tl_arena_save(&j->lists);
  const tl_npu_form *form = NULL;
  int16_t candidate;
  j->x.node = n;
  if (j->status == TL_OK)
    j->status = tl_npu_choose(&j->forms, &j->x, &candidate, &form);
  bool lacks = !form || form->row->kind == TL_LOWER_EXPAND || form->row->kind == TL_LOWER_NONE ||
               !tl_npu_takes_dtypes(&j->x, form);
  tl_arena_rewind(&j->lists, mark);
  return lacks;
}

static bool has_open_dim(const tl_module *m, tl_value_id v) {
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  bool open = t->kind == TL_KIND_TENSOR && t->rank < 0;
  for (int i = 0; t->kind == TL_KIND_TENSOR && i < t->rank; i++)
    open = open || t->dims[i] == TL_DIM_UNKNOWN;
  return open;
}

/* Returns true if the whole module must be inferred. A node is inferred alone when it is made,
 * without the contents of its operands, so shapes that are computed from values stay open. */
static bool wants_inference(const tl_module *m, tl_node_id first) {
  for (tl_node_id n = first; n < tl_module_node_end(m); n++) {
    const tl_node *node = tl_node_get(m, n);
    for (uint32_t i = 0; node->op != TL_OP_ERASED && i < node->n_results; i++)
      if (has_open_dim(m, node->results + i))
        return true;
  }
  return false;
}

tl_status tl_pass_expand(tl_pass *p, tl_module *m) {
  tl_ruleset *rules;
  tl_node_id first = tl_module_node_end(m);
  TL_TRY(tl_pass_rules(p, m, TL_RULE_EXPAND, &rules));
  judge j = {.status = TL_OK};
  TL_TRY(tl_npu_forms_init(&j.forms, m, p->scratch));
  tl_arena_init(&j.lists, 0);
  j.x = (tl_site){.m = m, .scratch = &j.lists, .options = p->options};
  tl_rewriter r = {p, m, rules, TL_RULE_EXPAND, ROUNDS, lacks_form, &j, NULL};
  tl_status status = tl_expand_users_ops(p, m, lacks_form, &j);
  if (status == TL_OK)
    status = tl_rewrite(&r);
  if (status == TL_OK && j.x.failed)
    status = tl_no_memory(m);
  tl_arena_release(&j.lists);
  if (status == TL_OK && j.status == TL_OK && wants_inference(m, first))
    status = tl_infer_module(m);
  return status != TL_OK ? status : j.status;
}
