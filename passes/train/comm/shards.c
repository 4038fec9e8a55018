/* SPDX-License-Identifier: Apache-2.0 */
/* Implements weight-update sharding: plans roots, moves updates into branches, broadcasts
 * results. */
#include "passes/train/comm/shards.h"

#include <stdlib.h>

#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "ir/trace.h"
#include "passes/edit/copy.h"
#include "passes/edit/values.h"
#include "passes/train/comm/shard_roots.h"

/* ---- who has what ---------------------------------------------------------------------------- */

typedef struct sized {
  uint64_t bytes;
  uint32_t index;
} sized;

static int by_size(const void *a, const void *b) {
  const sized *x = a;
  const sized *y = b;
  if (x->bytes != y->bytes)
    return x->bytes > y->bytes ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* Refuses gradients that one rank cannot handle alone. */
static tl_status check_gradients(const tl_module *m, const tl_train_info *t) {
  for (uint32_t i = 0; i < t->n; i++) {
    const tl_train_grad *g = &t->grads[i];
    const char *why = g->cls == TL_GRAD_SPARSE ? "its gradient is sparse"
                      : g->cls == TL_GRAD_DONE ? "its gradient is reduced already"
                      : !g->param_out          ? "nothing updates it"
                                               : NULL;
    if (why)
      return tl_fail_code(
          m->diag, TL_UNSUPPORTED, "E-WUS-GRAD", TL_AT_NODE(m->path, tl_value_name(m, g->param)),
          "no single rank can update this parameter for all: %s\vleave --wus at 0", why);
  }
  return TL_OK;
}

/* Greedy longest-processing-time scheduling: largest gradient first, each to the least loaded
 * rank. */
tl_status tl_shards_plan(tl_module *m, const tl_train_info *t, const tl_train_config *c,
                         uint32_t *root) {
  if (!c->rank_size || c->rank_size > t->n)
    return tl_fail_code(m->diag, TL_INVALID_ARGUMENT, "E-WUS-RANKS", TL_AT_FILE(m->path),
                        c->rank_size ? "%u ranks cannot share the updates of %u gradients"
                                     : "sharing updates needs a known number of ranks, and "
                                       "rank_size is %u\vgive the number of ranks, at most %u",
                        c->rank_size, t->n);
  TL_TRY(check_gradients(m, t));
  sized *order = calloc(t->n, sizeof *order);
  uint64_t *load = calloc(c->rank_size, sizeof *load);
  for (uint32_t i = 0; order && load && i < t->n; i++) /* one of unknown size counts, too */
    order[i] = (sized){t->grads[i].bytes ? t->grads[i].bytes : 1, i};
  if (order && load)
    qsort(order, t->n, sizeof *order, by_size);
  for (uint32_t i = 0; order && load && i < t->n; i++) {
    uint32_t least = 0;
    for (uint32_t r = 1; r < c->rank_size; r++)
      least = load[r] < load[least] ? r : least;
    load[least] += order[i].bytes;
    root[order[i].index] = least;
  }
  bool ok = order && load;
  free(order);
  free(load);
  return ok ? TL_OK : tl_no_memory(m);
}

/* ---- what one rank does ---------------------------------------------------------------------- */

typedef struct sharding {
  tl_module *m;
  tl_graph *g;
  tl_comm *comm;
  const tl_train_info *t;
  const uint32_t *root;
  const uint32_t *owner;
  uint32_t n_owners;
  tl_arena *arena;
  tl_maker k;         /* at the end of the graph */
  tl_value_id rank;   /* which this is, i32[] */
  uint8_t *moves;     /* [n_owners] by node id: goes into the branch at hand */
  uint8_t *stays;     /* [n_owners] by node id: all ranks need to know how it ends */
  tl_pinned said;     /* values that the module says something of: next states, gradients */
  tl_u32_vec masked;  /* checks of sums, right on every rank */
  tl_u32_vec crosses; /* values that leave the branch, */
  tl_u32_vec instead; /* and what other ranks have instead */
} sharding;

/* Returns the node of the main graph that contains n. */
static tl_node_id outermost(const sharding *shards, tl_node_id n) {
  while (tl_node_get(shards->m, n)->graph != shards->g->id)
    n = tl_graph_get(shards->m, tl_node_get(shards->m, n)->graph)->owner;
  return n;
}

/* Returns true if a user outside the branch, or the module itself, refers to v. */
static bool leaves(const sharding *shards, tl_value_id v) {
  if (tl_is_pinned(&shards->said, v))
    return true;
  TL_FOR_USES(shards->m, v, u) {
    tl_node_id n = outermost(shards, tl_use_get(shards->m, u)->user);
    if (tl_node_is_return(shards->m, n) || n >= shards->n_owners || !shards->moves[n])
      return true;
  }
  return false;
}

/* Returns a value of the type of v that every rank has: the old value where v is a next value, else
 * any state of that type. Ranks that skip the branch return it; a broadcast replaces it where all
 * ranks need the new value. */
static tl_value_id stand_in(const sharding *shards, const tl_train_grad *g, tl_value_id v) {
  tl_type_id type = tl_value_type(shards->m, v);
  if (v == g->param_out)
    return tl_value_type(shards->m, g->param) == type ? g->param : TL_NO_VALUE;
  for (uint32_t i = 0; i < g->n_states; i++)
    if (g->state_out[i] == v)
      return tl_value_type(shards->m, g->state_in[i]) == type ? g->state_in[i] : TL_NO_VALUE;
  for (uint32_t i = 0; i < g->n_states; i++)
    if (tl_value_type(shards->m, g->state_in[i]) == type)
      return g->state_in[i];
  return tl_value_type(shards->m, g->param) == type ? g->param : TL_NO_VALUE;
}

/* Returns true if the node may go into the branch of `rank`: it serves that rank's gradients only,
 * has no effects or control edges, and each of its leaving results has a stand-in. */
static bool may_move(const sharding *shards, tl_node_id n, uint32_t rank) {
  const tl_node *node = tl_node_get(shards->m, n);
  uint32_t owner = n < shards->n_owners ? shards->owner[n] : TL_TRAIN_SHARED;
  const unsigned outer = TL_TRAIT_EFFECT | TL_TRAIT_STATEFUL | TL_TRAIT_RANDOM;
  if (owner >= shards->t->n || shards->root[owner] != rank || shards->stays[n] ||
      node->control_in || node->control_out || !tl_op_row(node->op) ||
      tl_op_has_trait(node->op, outer))
    return false;
  for (uint32_t i = 0; i < node->n_results; i++)
    if (leaves(shards, node->results + i) &&
        !stand_in(shards, &shards->t->grads[owner], node->results + i))
      return false;
  return true;
}

/* Marks the nodes of the branch of one rank and lists the values that leave it. Users are decided
 * before producers, since a producer may move only if its users do or it has a stand-in. */
static bool find_moves(sharding *shards, uint32_t rank) {
  bool ok = true;
  memset(shards->moves, 0, shards->n_owners);
  shards->crosses.n = shards->instead.n = 0;
  for (tl_node_id n = shards->g->last; n; n = tl_node_get(shards->m, n)->previous)
    if (may_move(shards, n, rank))
      shards->moves[n] = 1;
  TL_FOR_NODES(shards->m, shards->g, n) {
    const tl_node *node = tl_node_get(shards->m, n);
    for (uint32_t i = 0; n < shards->n_owners && shards->moves[n] && i < node->n_results && ok; i++)
      if (leaves(shards, node->results + i))
        ok = tl_u32_vec_push(&shards->crosses, node->results + i) &&
             tl_u32_vec_push(&shards->instead, stand_in(shards, &shards->t->grads[shards->owner[n]],
                                                        node->results + i));
  }
  return ok;
}

/* ---- branches -------------------------------------------------------------------------------- */

/* Creates an empty body graph and a maker that writes into it. */
static tl_graph_id new_body(sharding *shards, const char *name, tl_maker *k) {
  tl_symbol s = tl_module_intern(shards->m, tl_sv_from(name));
  tl_graph_id g = s == TL_NO_SYMBOL ? TL_NO_GRAPH
                                    : tl_graph_create(shards->m, TL_GRAPH_BODY, s, TL_NO_NODE);
  *k = shards->k;
  k->graph = g;
  k->no_memory = k->no_memory || !g;
  return g;
}

static void close_body(sharding *shards, tl_maker *k, tl_graph_id body, const tl_u32_vec *values) {
  if (!tl_maker_failed(k) && tl_graph_set_outputs(shards->m, body, values->at, values->n) != TL_OK)
    k->no_memory = true;
  shards->k.no_memory = shards->k.no_memory || k->no_memory;
  shards->k.clash = shards->k.clash || k->clash;
}

/* Makes the then-branch: copies of the moved nodes. */
static tl_graph_id make_then(sharding *shards) {
  tl_maker k;
  tl_graph_id body = new_body(shards, "update", &k);
  tl_copier c = {.k = &k};
  tl_u32_vec values = {0};
  TL_FOR_NODES(shards->m, shards->g, n) {
    bool moves = n < shards->n_owners && shards->moves[n] && !tl_maker_failed(&k);
    tl_node_id copy = moves ? tl_copy_node(&c, n) : TL_NO_NODE;
    k.no_memory = k.no_memory || (copy && !tl_copy_notes(shards->m, n, copy));
  }
  for (uint32_t i = 0; i < shards->crosses.n && !tl_maker_failed(&k); i++)
    k.no_memory = !tl_u32_vec_push(&values, tl_copy_of(&c, shards->crosses.at[i]));
  tl_copier_release(&c);
  close_body(shards, &k, body, &values);
  tl_u32_vec_release(&values);
  return body;
}

/* Makes the else-branch: stand-ins, passed through Identity nodes. */
static tl_graph_id make_else(sharding *shards) {
  tl_maker k;
  tl_graph_id body = new_body(shards, "wait", &k);
  tl_u32_vec values = {0};
  for (uint32_t i = 0; i < shards->instead.n && !tl_maker_failed(&k); i++) {
    k.base = tl_value_get(shards->m, shards->instead.at[i])->name;
    tl_value_id v = tl_make_identity(&k, shards->instead.at[i]);
    k.no_memory = k.no_memory || !tl_u32_vec_push(&values, v);
  }
  close_body(shards, &k, body, &values);
  tl_u32_vec_release(&values);
  return body;
}

/* ---- the If ---------------------------------------------------------------------------------- */

/* Returns rank == `rank` as a boolean scalar. */
static tl_value_id is_rank(sharding *shards, uint32_t rank) {
  int32_t number = (int32_t)rank;
  shards->k.base = tl_value_get(shards->m, shards->rank)->name;
  tl_tensor_id t = tl_tensor_i32s(shards->m, &number, 1, 0);
  tl_value_id c = t ? tl_make_constant(&shards->k, t, "const") : TL_NO_VALUE;
  shards->k.no_memory = shards->k.no_memory || !c;
  return tl_make(&shards->k, TL_OP_Equal, shards->rank, c, TL_NO_VALUE);
}

/* Lets `made` take over the name, roles and uses of `old`. */
static void take_over(sharding *shards, tl_value_id old, tl_value_id made) {
  if (tl_value_leaves_graph(shards->m, old)) {
    tl_value_set_name(shards->m, made, tl_value_get(shards->m, old)->name);
    tl_value_set_name(shards->m, old, 0);
  }
  tl_value_move_roles(shards->m, old, made);
  tl_value_replace_uses(shards->m, old, made);
}

static void erase_moved(sharding *shards) {
  for (tl_node_id n = shards->g->last, previous; n; n = previous) {
    previous = tl_node_get(shards->m, n)->previous;
    if (n < shards->n_owners && shards->moves[n])
      tl_node_erase(shards->m, n);
  }
}

static void make_if(sharding *shards, uint32_t rank, tl_graph_id then, tl_graph_id other) {
  const tl_attr attrs[] = {tl_attr_graph(TL_SYM_then_branch, then),
                           tl_attr_graph(TL_SYM_else_branch, other)};
  tl_value_id mine = is_rank(shards, rank);
  tl_symbol *names = tl_arena_calloc(shards->arena, shards->crosses.n, sizeof *names);
  shards->k.no_memory = shards->k.no_memory || !names;
  for (uint32_t i = 0; i < shards->crosses.n && !tl_maker_failed(&shards->k); i++) {
    shards->k.base = tl_value_get(shards->m, shards->crosses.at[i])->name;
    names[i] = tl_maker_name(&shards->k, TL_SV("If"));
    shards->k.no_memory = shards->k.no_memory || names[i] == TL_NO_SYMBOL;
  }
  tl_node_spec spec = {.op = TL_OP_If,
                       .operands = &mine,
                       .n_operands = 1,
                       .results = names,
                       .n_results = shards->crosses.n,
                       .attrs = attrs,
                       .n_attrs = 2};
  tl_node_id n = tl_maker_failed(&shards->k) ? TL_NO_NODE
                                             : tl_graph_append(shards->m, shards->g->id, &spec);
  shards->k.no_memory = shards->k.no_memory || (!n && !shards->k.clash);
  if (!n)
    return;
  shards->k.no_memory |= !tl_trace_derive(shards->m, n, &shards->k.like, 1, false);
  tl_graph_get(shards->m, then)->owner = n;
  tl_graph_get(shards->m, other)->owner = n;
  if (!tl_maker_infer(&shards->k, n))
    return;
  for (uint32_t i = 0; i < shards->crosses.n; i++)
    take_over(shards, shards->crosses.at[i], tl_result(shards->m, n, i));
  erase_moved(shards);
}

/* Makes the branch of one rank if there is anything to put into it. */
static tl_status branch(sharding *shards, uint32_t rank) {
  shards->k.no_memory = !find_moves(shards, rank);
  if (!shards->crosses.n || shards->k.no_memory)
    return tl_maker_status(&shards->k);
  tl_graph_id then = make_then(shards);
  tl_graph_id other = tl_maker_failed(&shards->k) ? TL_NO_GRAPH : make_else(shards);
  if (!tl_maker_failed(&shards->k))
    make_if(shards, rank, then, other);
  return tl_maker_status(&shards->k);
}

/* ---- overflow -------------------------------------------------------------------------------- */

/* Marks the producers of everything that checks read behind sums. They stay outside the branches: a
 * branch waits for the checks, so the checks must not wait for a branch. */
static void keep_outside(sharding *shards) {
  for (tl_node_id n = shards->g->last; n; n = tl_node_get(shards->m, n)->previous) {
    const tl_node *node = tl_node_get(shards->m, n);
    for (uint32_t i = 0; n < shards->n_owners && shards->stays[n] && i < node->n_operands; i++) {
      tl_value_id v = tl_operand(shards->m, n, i);
      tl_node_id p = v ? tl_value_producer(shards->m, v) : TL_NO_NODE;
      if (p && p < shards->n_owners && tl_node_get(shards->m, p)->graph == shards->g->id)
        shards->stays[p] = 1;
    }
  }
}

/* Replaces an overflow check by Where(mine, check, 0): only the root has the sum, so only the root
 * knows whether it overflowed. */
static void mask(sharding *shards, tl_node_id check, uint32_t rank) {
  tl_value_id v = tl_result(shards->m, check, 0);
  tl_dtype dtype = tl_type_dtype(shards->m, tl_value_type(shards->m, v));
  tl_value_id mine = is_rank(shards, rank);
  shards->k.base = tl_value_get(shards->m, v)->name;
  tl_value_id none = tl_make_number(&shards->k, dtype, 0);
  tl_value_id made = tl_make(&shards->k, TL_OP_Where, mine, v, none);
  if (tl_maker_failed(&shards->k))
    return;
  tl_value_replace_uses(shards->m, v, made);
  tl_node_set_operand(shards->m, tl_value_producer(shards->m, made), 1, v);
  shards->k.no_memory = !tl_u32_vec_push(&shards->masked, made);
}

/* Masks checks that run behind sums, one per tensor. tl_ls_make_status makes them as ReduceSum
 * nodes with TL_MARK_NOFOLD. */
static tl_status mask_checks(sharding *shards) {
  const tl_train_config *c = shards->comm->c;
  bool late = c->tail_mode == TL_TAIL_LATE || c->tail_mode == TL_TAIL_LATE_COMMIT;
  for (tl_node_id n = shards->g->last; late && n && !tl_maker_failed(&shards->k);
       n = tl_node_get(shards->m, n)->previous) {
    if (n >= shards->n_owners || shards->owner[n] >= shards->t->n ||
        tl_node_get(shards->m, n)->op != TL_OP_ReduceSum ||
        !tl_node_has_mark(shards->m, n, TL_MARK_NOFOLD))
      continue;
    shards->stays[n] = 1;
    mask(shards, n, shards->root[shards->owner[n]]);
  }
  keep_outside(shards);
  TL_TRY(tl_maker_status(&shards->k));
  return shards->masked.n ? tl_graph_sort(shards->m, shards->g->id) : TL_OK;
}

/* ---- what all ranks get ---------------------------------------------------------------------- */

/* Returns the next value of a parameter; TL_NO_VALUE if the module declares none. */
static tl_value_id next_of(const tl_module *m, tl_value_id param) {
  for (uint32_t i = 0; i < m->states.n; i++)
    if (m->states.at[i].input == param)
      return m->states.at[i].output;
  return TL_NO_VALUE;
}

/* Broadcasts the next value of parameter i from its root. Control edges put all broadcasts in a
 * row, so that all ranks issue them in one order. */
static tl_status broadcast(sharding *shards, uint32_t i, tl_node_id *last) {
  tl_collective_spec spec = {
      .op = TL_OP_npu_hcom_HcomBroadcast, .root = shards->root[i], .fusion = 0, .fusion_id = -1};
  tl_module *m = shards->m;
  tl_value_id param = shards->t->grads[i].param, next = next_of(m, param);
  if (!next) /* the model does not say that it is handed on */
    return TL_OK;
  shards->k.base = tl_value_get(m, next)->name;
  tl_value_id v = tl_comm_make(shards->comm, &shards->k, &spec, next, tl_value_name(m, param));
  TL_TRY(tl_maker_status(&shards->k));
  tl_node_id n = tl_value_producer(m, v);
  take_over(shards, next, v);
  tl_node_set_operand(m, n, 0, next);
  if (!tl_value_get(m, next)->name)
    tl_value_set_name(m, next, tl_maker_name(&shards->k, TL_SV("own")));
  shards->k.no_memory = shards->k.no_memory ||
                        (*last && !tl_control_add(m, *last, n, TL_CONTROL_COMM_ORDER));
  *last = n;
  return tl_maker_status(&shards->k);
}

static tl_status make(sharding *shards) {
  tl_node_id last = TL_NO_NODE;
  tl_symbol name = tl_module_intern(shards->m, TL_SV(TL_COMM_RANK_INPUT));
  tl_type_id type = tl_type_tensor(shards->m, TL_DTYPE_I32, 0, NULL);
  shards->rank = name != TL_NO_SYMBOL && type
                     ? tl_graph_add_input(shards->m, shards->g->id, name, type, TL_NO_TENSOR)
                     : TL_NO_VALUE;
  if (!shards->moves || !shards->stays || !shards->rank)
    return tl_no_memory(shards->m);
  TL_TRY(mask_checks(shards));
  TL_TRY(tl_shards_trace(shards->m, shards->arena, &shards->masked));
  for (uint32_t r = 0; r < shards->comm->c->rank_size; r++)
    TL_TRY(branch(shards, r));
  for (uint32_t i = 0; i < shards->t->n; i++)
    TL_TRY(broadcast(shards, i, &last));
  return tl_graph_sort(shards->m, shards->g->id);
}

tl_status tl_shards_make(tl_pass *p, tl_comm *comm, const tl_train_info *t, const uint32_t *root,
                         const uint32_t *owner, uint32_t n_owners) {
  tl_module *m = comm->m;
  sharding shards = {.m = m,
                     .g = tl_module_main(m),
                     .comm = comm,
                     .t = t,
                     .root = root,
                     .owner = owner,
                     .n_owners = n_owners,
                     .arena = p->scratch,
                     .k = {.m = m, .graph = tl_module_main(m)->id}};
  shards.moves = tl_arena_calloc(p->scratch, n_owners, 1);
  shards.stays = tl_arena_calloc(p->scratch, n_owners, 1);
  tl_status status = tl_pinned_find(p, m, &shards.said);
  if (status == TL_OK)
    status = make(&shards);
  tl_u32_vec_release(&shards.crosses);
  tl_u32_vec_release(&shards.instead);
  tl_u32_vec_release(&shards.masked);
  return status;
}
