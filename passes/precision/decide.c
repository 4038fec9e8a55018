/* SPDX-License-Identifier: Apache-2.0 */
/* Decides dtypes: walks the graph in topological order, bodies right behind their node, op by op.
 * judge_op.c decides about a single op. */
#include "passes/precision/decide.h"

#include "ir/ops_gen.h"
#include "passes/precision/judge_op.h"
#include "passes/precision/walk.h"

static bool is_low(tl_dtype d) { return d == TL_DTYPE_F16 || d == TL_DTYPE_BF16; }

/* ---- bodies ---------------------------------------------------------------------------------- */

static void set_chosen(tl_precision_slot *s, uint8_t dtype, tl_precision_rule rule) {
  s->chosen = dtype;
  s->rule = (uint8_t)rule;
}

/* Sets the inputs of a body before its nodes are judged: captured values of an If have their
 * current dtype; values that a loop carries keep theirs, since the next iteration must accept
 * them. */
static void enter_body(tl_precision_walk *w, tl_node_id n, const tl_graph *body) {
  const tl_node *node = tl_node_get(w->m, n);
  for (uint32_t i = 0; i < body->inputs.n; i++) {
    tl_precision_slot *in = &w->d->values[body->inputs.at[i]];
    tl_use_id u = node->op == TL_OP_If && i + 1 < node->n_operands ? node->operands + i + 1 : 0;
    if (u)
      set_chosen(in, w->d->uses[u].chosen, TL_BY_BRANCHES);
    else
      set_chosen(in, in->original, TL_BY_BODY);
  }
}

/* Returns the low dtype that all branches of an If give for result i, else the original dtype. */
static uint8_t agreed(const tl_precision_walk *w, const tl_node *node, uint32_t i,
                      uint8_t original) {
  uint8_t common = TL_DTYPE_NONE;
  for (uint32_t k = 0; k < node->n_attrs; k++) {
    if (node->attrs[k].kind != TL_ATTR_GRAPH)
      continue;
    tl_value_id v = tl_graph_output(w->m, tl_graph_get(w->m, node->attrs[k].u.g), i);
    uint8_t d = v ? w->d->values[v].chosen : (uint8_t)TL_DTYPE_NONE;
    if (common != TL_DTYPE_NONE && d != common)
      return original;
    common = d;
  }
  bool lower = is_low((tl_dtype)common) && tl_dtype_is_ranked((tl_dtype)original) &&
               (original == TL_DTYPE_F32 || common == original);
  return lower ? common : original;
}

/* Decides the outputs of a body after its nodes. */
static void leave_body(tl_precision_walk *w, const tl_node *node, const tl_graph *body) {
  bool branches = node->op == TL_OP_If;
  const tl_node *ret = tl_node_get(w->m, body->ret);
  for (uint32_t i = 0; i < ret->n_operands; i++) {
    tl_precision_slot *s = &w->d->uses[ret->operands + i];
    bool result = branches && i < node->n_results;
    set_chosen(s, result ? w->d->values[node->results + i].chosen : s->original,
               branches ? TL_BY_BRANCHES : TL_BY_BODY);
  }
}

static void leave_bodies(tl_precision_walk *w, tl_node_id n) {
  const tl_node *node = tl_node_get(w->m, n);
  bool branches = node->op == TL_OP_If;
  for (uint32_t i = 0; branches && i < node->n_results; i++) {
    tl_precision_slot *s = &w->d->values[node->results + i];
    set_chosen(s, agreed(w, node, i, s->original), TL_BY_BRANCHES);
  }
  for (uint32_t k = 0; k < node->n_attrs; k++) {
    uint32_t count;
    const tl_graph_id *at = tl_attr_graphs(&node->attrs[k], &count);
    for (uint32_t i = 0; i < count; i++)
      leave_body(w, node, tl_graph_get(w->m, at[i]));
  }
}

static tl_status walk_graph(tl_precision_walk *w, const tl_graph *g);

/* Judges the bodies of a node. The operands of the node itself keep their dtypes, except that
 * captured values follow their producers. */
static tl_status walk_bodies(tl_precision_walk *w, tl_node_id n) {
  const tl_node *node = tl_node_get(w->m, n);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_use_id u = node->operands + i;
    tl_value_id v = tl_use_get(w->m, u)->value;
    if (node->op == TL_OP_If && i && v) /* a captured value */
      set_chosen(&w->d->uses[u], w->d->values[v].chosen, TL_BY_BRANCHES);
  }
  for (uint32_t k = 0; k < node->n_attrs; k++) {
    uint32_t count;
    const tl_graph_id *at = tl_attr_graphs(&node->attrs[k], &count);
    for (uint32_t i = 0; i < count; i++) {
      enter_body(w, n, tl_graph_get(w->m, at[i]));
      TL_TRY(walk_graph(w, tl_graph_get(w->m, at[i])));
    }
  }
  leave_bodies(w, n);
  return TL_OK;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static bool owns_bodies(const tl_node *node) {
  for (uint32_t i = 0; i < node->n_attrs; i++)
    if (node->attrs[i].kind == TL_ATTR_GRAPH || node->attrs[i].kind == TL_ATTR_GRAPHS)
      return true;
  return false;
}

/* Operands keep their dtypes until a rule changes them. */
static void start_node(tl_precision_walk *w, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_use_get(w->m, node->operands + i)->value;
    uint8_t d = v ? w->d->values[v].original : (uint8_t)TL_DTYPE_NONE;
    w->d->uses[node->operands + i] = (tl_precision_slot){.original = d, .chosen = d};
  }
}

/* Judges the nodes in topological order, so that producers are decided before their users. An op
 * without columns in the chip's table keeps its dtypes. */
static tl_status walk_graph(tl_precision_walk *w, const tl_graph *g) {
  start_node(w, tl_node_get(w->m, g->ret));
  TL_FOR_NODES(w->m, g, n) {
    const tl_node *node = tl_node_get(w->m, n);
    start_node(w, node);
    w->d->nodes[n] = (tl_precision_choice){.column = -1, .entry = -1};
    if (owns_bodies(node)) {
      TL_TRY(walk_bodies(w, n));
      continue;
    }
    const tl_precision_form *form;
    TL_TRY(tl_precision_form_of(w->forms, n, &form));
    w->d->nodes[n].form = form;
    w->d->nodes[n].colour = form->colour;
    if (form->n_columns == 0)
      continue;
    TL_TRY(tl_precision_reserve(w));
    TL_TRY(tl_precision_judge_op(w, n, form));
  }
  return TL_OK;
}

/* Judges all root graphs and then their outputs. */
static tl_status walk_roots(tl_precision_walk *w) {
  for (uint32_t i = 0; i < w->m->graphs.n; i++) {
    const tl_graph *g = w->m->graphs.at[i];
    if (g->erased || g->kind != TL_GRAPH_ROOT)
      continue;
    TL_TRY(walk_graph(w, g));
    tl_precision_finish_signature(w, g);
  }
  return TL_OK;
}

tl_status tl_precision_decide(tl_module *m, const tl_options *options, tl_arena *arena,
                              tl_precision *out) {
  tl_precision_walk w = {.m = m, .options = options, .d = out};
  tl_status status = tl_precision_start(&w, arena);
  if (status == TL_OK)
    status = walk_roots(&w);
  if (status == TL_OK)
    status = tl_precision_end(&w);
  tl_judged_slot_vec_release(&w.slots);
  tl_map_release(&w.named_keep);
  tl_map_release(&w.named_custom);
  tl_precision_listed_release(w.lists);
  return status;
}
