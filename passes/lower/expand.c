/* SPDX-License-Identifier: Apache-2.0 */
/* expand: applies the rules of kind expand at nodes that have no NPU form of their own, after the
 * definitions of users' ops without one.
 *
 * Requires:  types inferred, captures of If bodies explicit.   Keeps: names and order of outputs.
 * After:     a node without NPU form that an expand rule fits has become nodes that have one, or
 *            that other rules expand in turn; what is left is for select to report.
 * Cost:      one sweep; candidates are judged only where a rule has its root. If new nodes compute
 *            sizes, the module is inferred once more.
 * Tests:     tests/golden/expand/ */
#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/engine/rewrite.h"
#include "passes/engine/ruleset.h"
#include "passes/fold/fold.h"
#include "passes/npu/eval.h"
#include "passes/scopes/definitions.h"

/* ROUNDS: Sum of many operands takes one each. MAX_FOLDS: of known sizes. */
enum { ROUNDS = 64, MAX_FOLDS = 4 };

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

/* Returns true if new nodes compute integers that could be sizes. */
static bool computes_sizes(const tl_module *m, tl_node_id first) {
  for (tl_node_id n = first; n < tl_module_node_end(m); n++) {
    const tl_node *node = tl_node_get(m, n);
    for (uint32_t i = 0; node->op != TL_OP_ERASED && i < node->n_results; i++) {
      const tl_type *t = tl_type_get(m, tl_value_type(m, node->results + i));
      if (t->kind == TL_KIND_TENSOR && tl_dtype_is_integer((tl_dtype)t->dtype) && t->rank <= 1)
        return true;
    }
  }
  return false;
}

/* Infers the module if that says more about new nodes. Known sizes become constants, since device
 * compilers infer nothing behind an operand that is not one. Returns in *again whether rules may
 * fit now that did not before. */
static tl_status settle_sizes(tl_pass *p, tl_module *m, tl_node_id first, bool *again) {
  bool sizes = computes_sizes(m, first);
  *again = false;
  if (sizes || wants_inference(m, first))
    TL_TRY(tl_infer_module(m));
  return sizes ? tl_fold_known(p, m, again) : TL_OK;
}

/* Applies the rules until they make no nodes that compute sizes. Nodes from `first` on are new. */
static tl_status expand_all(tl_rewriter *r, judge *j, tl_node_id first) {
  bool again = true;
  for (int round = 0; again && round < MAX_FOLDS; round++) {
    TL_TRY(tl_rewrite(r));
    TL_TRY(j->x.failed ? tl_no_memory(r->m) : j->status);
    TL_TRY(settle_sizes(r->pass, r->m, first, &again));
    first = tl_module_node_end(r->m);
  }
  return TL_OK;
}

tl_status tl_pass_expand(tl_pass *p, tl_module *m) {
  tl_ruleset *rules;
  tl_node_id first = tl_module_node_end(m);
  TL_TRY(tl_pass_rules(p, m, TL_RULE_EXPAND, &rules));
  judge j = {.status = TL_OK};
  TL_TRY(tl_npu_forms_init(&j.forms, m));
  tl_arena_init(&j.lists, 0);
  j.x = (tl_site){.m = m, .scratch = &j.lists, .options = p->options};
  tl_rewriter r = {p, m, rules, TL_RULE_EXPAND, ROUNDS, lacks_form, &j, NULL};
  tl_status status = tl_expand_users_ops(p, m, lacks_form, &j);
  if (status == TL_OK)
    status = expand_all(&r, &j, first);
  tl_arena_release(&j.lists);
  return status;
}
