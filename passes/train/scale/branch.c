/* SPDX-License-Identifier: Apache-2.0 */
/* Makes update_form=if: one If whose then-branch holds the updates; its else-branch passes the
 * states through.
 * Nodes that are used elsewhere too stay outside. */
#include "passes/train/scale/branch.h"

#include "ir/ops_gen.h"
#include "ir/trace.h"
#include "passes/edit/copy.h"
#include "passes/edit/values.h"

typedef struct branching {
  tl_guarding *g;
  tl_module *m;
  tl_maker *k;      /* the pass's */
  tl_pinned pinned; /* values with a role in training */
  uint8_t *moves;   /* [n_nodes] by node id: goes into the then-branch */
  uint32_t n_nodes;
  tl_symbol *names;
  tl_value_id *values; /* [guarded] what a branch gives */
} branching;

/* ---- what goes into the branch --------------------------------------------------------------- */

static bool is_update(const branching *b, tl_node_id n) {
  const tl_train_info *t = &b->g->x->info;
  for (uint32_t i = 0; i < t->n; i++)
    if (t->grads[i].update == n)
      return true;
  return false;
}

static tl_node_id owner_in_main(const tl_module *m, tl_node_id n) {
  const tl_graph *main = tl_module_main(m);
  while (tl_node_get(m, n)->graph != main->id)
    n = tl_graph_get(m, tl_node_get(m, n)->graph)->owner;
  return n;
}

/* Returns true if v is used only by nodes of the branch, or as the next value of a guarded
 * state. Another role in training is one of the main graph. */
static bool stays_inside(const branching *b, tl_value_id v) {
  if (tl_is_pinned(&b->pinned, v) && !b->g->taken[v])
    return false;
  TL_FOR_USES(b->m, v, u) {
    tl_node_id n = owner_in_main(b->m, tl_use_get(b->m, u)->user);
    if (tl_node_is_return(b->m, n) ? !b->g->taken[v] : !b->moves[n])
      return false;
  }
  return true;
}

/* Returns true if a node may go into the branch. Nodes with effects stay outside unless they are
 * updates. */
static bool may_move(const branching *b, tl_node_id n) {
  const tl_node *node = tl_node_get(b->m, n);
  const unsigned outer = TL_TRAIT_EFFECT | TL_TRAIT_STATEFUL | TL_TRAIT_RANDOM;
  if (n >= b->g->x->info.n_nodes || node->control_in || node->control_out ||
      tl_train_region_of(&b->g->x->info, n) != TL_REGION_UPDATE)
    return false;
  if ((!tl_op_row(node->op) || tl_op_has_trait(node->op, outer)) && !is_update(b, n))
    return false;
  for (uint32_t i = 0; i < node->n_results; i++)
    if (!stays_inside(b, node->results + i))
      return false;
  return true;
}

/* Goes from the end, so that users are decided before producers. */
static void find_moves(branching *b) {
  for (tl_node_id n = tl_module_main(b->m)->last; n; n = tl_node_get(b->m, n)->previous)
    b->moves[n] = may_move(b, n);
}

/* ---- branches -------------------------------------------------------------------------------- */

static tl_maker inside(const branching *b, tl_graph_id body) {
  tl_maker k = *b->k;
  k.graph = body;
  k.before = TL_NO_NODE;
  return k;
}

static tl_graph_id new_body(branching *b, const char *name) {
  tl_symbol s = tl_module_intern(b->m, tl_sv_from(name));
  tl_graph_id g = s == TL_NO_SYMBOL ? TL_NO_GRAPH
                                    : tl_graph_create(b->m, TL_GRAPH_BODY, s, TL_NO_NODE);
  b->k->no_memory = b->k->no_memory || !g;
  return g;
}

static void close_body(branching *b, tl_maker *k, tl_graph_id body) {
  if (!tl_maker_failed(k) && tl_graph_set_outputs(b->m, body, b->values, b->g->all.n) != TL_OK)
    k->no_memory = true;
  tl_ls_adopt(b->g->x, k);
}

/* Returns a result of a body for v. Runtimes want results of a body to be made in it, so a value
 * from outside goes through an Identity. */
static tl_value_id given(branching *b, tl_maker *k, tl_value_id v, tl_value_id inner) {
  k->base = tl_value_get(b->m, v)->name;
  return inner != v ? inner : tl_make_identity(k, v);
}

static tl_graph_id make_then(branching *b) {
  tl_graph_id body = new_body(b, "update");
  tl_maker k = inside(b, body);
  tl_copier c = {.k = &k};
  TL_FOR_NODES(b->m, tl_module_main(b->m), n) {
    tl_node_id copy = b->moves[n] && !tl_maker_failed(&k) ? tl_copy_node(&c, n) : TL_NO_NODE;
    if (copy && !tl_copy_notes(b->m, n, copy))
      k.no_memory = true;
  }
  for (uint32_t i = 0; i < b->g->all.n && !tl_maker_failed(&k); i++) {
    tl_value_id v = b->g->all.at[i].output;
    b->values[i] = given(b, &k, v, tl_copy_of(&c, v));
  }
  tl_copier_release(&c);
  close_body(b, &k, body);
  return body;
}

static tl_graph_id make_else(branching *b) {
  tl_graph_id body = new_body(b, "skip");
  tl_maker k = inside(b, body);
  for (uint32_t i = 0; i < b->g->all.n && !tl_maker_failed(&k); i++)
    b->values[i] = given(b, &k, b->g->all.at[i].input, b->g->all.at[i].input);
  close_body(b, &k, body);
  return body;
}

/* ---- the If ---------------------------------------------------------------------------------- */

static void erase_moved(branching *b) {
  for (tl_node_id n = tl_module_main(b->m)->last, previous; n; n = previous) {
    previous = tl_node_get(b->m, n)->previous;
    if (n < b->n_nodes && b->moves[n])
      tl_node_erase(b->m, n);
  }
}

static tl_value_id make_if(branching *b, tl_graph_id then, tl_graph_id other) {
  tl_value_id finite = b->g->x->finite;
  const tl_attr attrs[] = {tl_attr_graph(TL_SYM_then_branch, then),
                           tl_attr_graph(TL_SYM_else_branch, other)};
  for (uint32_t i = 0; i < b->g->all.n; i++) {
    tl_maker k = *b->k;
    k.base = tl_value_get(b->m, b->g->all.at[i].output)->name;
    b->names[i] = tl_maker_name(&k, TL_SV("If"));
    b->k->no_memory = b->k->no_memory || b->names[i] == TL_NO_SYMBOL;
  }
  tl_node_spec spec = {.op = TL_OP_If,
                       .operands = &finite,
                       .n_operands = 1,
                       .results = b->names,
                       .n_results = b->g->all.n,
                       .attrs = attrs,
                       .n_attrs = 2};
  if (tl_maker_failed(b->k))
    return TL_NO_VALUE;
  tl_node_id n = tl_graph_append(b->m, b->k->graph, &spec);
  b->k->no_memory = !n || !tl_trace_derive(b->m, n, &b->k->like, 1, false);
  if (!n)
    return TL_NO_VALUE;
  tl_graph_get(b->m, then)->owner = n;
  tl_graph_get(b->m, other)->owner = n;
  return tl_maker_infer(b->k, n) ? tl_result(b->m, n, 0) : TL_NO_VALUE;
}

void tl_ls_branch(tl_guarding *g) {
  tl_loss_scaling *scaling = g->x;
  branching b = {.g = g, .m = scaling->m, .k = &scaling->k};
  b.n_nodes = tl_module_node_end(scaling->m);
  b.moves = tl_arena_calloc(scaling->p->scratch, b.n_nodes, 1);
  b.names = tl_arena_calloc(scaling->p->scratch, g->all.n, sizeof *b.names);
  b.values = tl_arena_calloc(scaling->p->scratch, g->all.n, sizeof *b.values);
  scaling->k.no_memory = scaling->k.no_memory || !b.moves || !b.names || !b.values;
  if (tl_maker_failed(&scaling->k) || !g->all.n)
    return;
  if (tl_pinned_find(scaling->p, b.m, &b.pinned) != TL_OK) {
    scaling->k.no_memory = true;
    return;
  }
  find_moves(&b);
  tl_graph_id then = make_then(&b);
  tl_graph_id other = then ? make_else(&b) : TL_NO_GRAPH;
  tl_value_id first = make_if(&b, then, other);
  for (uint32_t i = 0; first && i < g->all.n; i++)
    tl_ls_take_over(g, g->all.at[i].output, first + i);
  if (first) {
    tl_ls_put_in_place(g);
    erase_moved(&b);
  }
}
