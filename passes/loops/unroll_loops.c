/* SPDX-License-Identifier: Apache-2.0 */
/* unroll-loops: replaces a Loop of few iterations by its iterations.
 * Their number is known from the trip count, or from a condition that depends on constants and the
 * iteration alone: the condition is computed while the iterations are laid out, and they are taken
 * back if it cannot be known.
 *
 * Requires:  types inferred.     Keeps: names of outputs; everything else of the model.
 * After:     no Loop is left whose number of iterations is known and at most --unroll-limit,
 *            unless its copies would be more than 16384 nodes, or 131072 with those of others.
 * Cost:      O(nodes + copies).
 * Tests:     tests/golden/unroll-loops/ */
#include "ir/eval/eval.h"
#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "passes/edit/copy.h"
#include "passes/edit/passes.h"
#include "passes/loops/loops.h"

enum {
  MOST_COPIES = 1 << 14,     /* of one loop */
  MOST_ALL_COPIES = 1 << 17, /* of a module */
  KNOWN_ELEMENTS = 1 << 10,  /* of a value that is computed on the way */
  KNOWN_BYTES = 64 << 20
};

TL_VEC(host_vec, tl_host *);

typedef struct unrolling {
  tl_pass *p;
  tl_module *m;
  tl_pinned pinned;
  tl_host_heap heap;
  tl_map known;    /* by value id: index into hosts */
  host_vec hosts;  /* owned */
  uint64_t copies; /* of all loops so far */
  bool no_memory;
} unrolling;

/* The loop at work. */
typedef struct loop {
  unrolling *u;
  tl_loop_form f;
  int64_t trips; /* INT64_MAX: the condition alone ends it */
  tl_maker k;
  tl_copier c;
  tl_value_id *state; /* [n_carried], as the iterations go */
  tl_u32_vec stacked; /* [done][n_stacked] */
  int64_t done;
} loop;

/* ---- what is known --------------------------------------------------------------------------- */

/* Returns the contents of a value that is a small constant or was computed on the way; the caller
 * releases it. NULL if unknown. */
static tl_host *known_host(unrolling *u, tl_value_id v) {
  uint32_t i;
  if (tl_map_find(&u->known, v, &i))
    return tl_host_retain(u->hosts.at[i]);
  const tl_value *value = tl_value_get(u->m, v);
  const tl_tensor *t =
      value->tensor && value->kind != TL_VALUE_INPUT ? tl_tensor_get(u->m, value->tensor) : NULL;
  bool small = t && tl_tensor_elements(u->m, t) <= KNOWN_ELEMENTS;
  return small ? tl_host_from_tensor(&u->heap, u->m, t) : NULL;
}

static bool is_small(const unrolling *u, tl_value_id v) {
  uint64_t n;
  return tl_type_elements(u->m, tl_value_type(u->m, v), &n) && n <= KNOWN_ELEMENTS;
}

/* Returns true if a node may be computed on the way: pure, with a kernel and small results. */
static bool can_compute(const unrolling *u, tl_node_id n) {
  const tl_node *node = tl_node_get(u->m, n);
  bool ok = tl_op_row(node->op) && node->n_results && tl_eval_can(u->m, n) &&
            !tl_op_has_trait(node->op,
                             TL_TRAIT_RANDOM | TL_TRAIT_EFFECT | TL_TRAIT_STATEFUL | TL_TRAIT_BODY);
  for (uint32_t i = 0; i < node->n_results && ok; i++)
    ok = is_small(u, node->results + i);
  return ok;
}

static void keep(unrolling *u, tl_node_id n, tl_host **results) {
  for (uint32_t i = 0; i < tl_node_get(u->m, n)->n_results; i++) {
    if (!results[i] || results[i]->kind != TL_HOST_TENSOR || results[i]->n > KNOWN_ELEMENTS)
      continue;
    if (tl_map_set(&u->known, tl_result(u->m, n, i), u->hosts.n) &&
        host_vec_push(&u->hosts, results[i]))
      tl_host_retain(results[i]);
    else
      u->no_memory = true;
  }
}

/* Computes a node and keeps its results. Reports nothing: a node that cannot be computed is just
 * unknown. */
static void run(unrolling *u, tl_node_id n, tl_host **operands, tl_host **results) {
  const tl_eval_options o = {.exact = true};
  tl_muted muted;
  for (uint32_t i = 0; i < tl_node_get(u->m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(u->m, n, i);
    operands[i] = v ? known_host(u, v) : NULL;
    if (v && !operands[i])
      return;
  }
  tl_mute(&muted, u->m, NULL, NULL);
  if (tl_eval_one(u->m, n, &o, &u->heap, operands, results) == TL_OK)
    keep(u, n, results);
  tl_unmute(&muted);
}

/* Computes a new node if its operands are known. The copier calls it for each copy. */
static void learn(void *user, tl_node_id n) {
  unrolling *u = user;
  uint32_t n_in = tl_node_get(u->m, n)->n_operands, n_out = tl_node_get(u->m, n)->n_results;
  if (!can_compute(u, n) || u->heap.used > KNOWN_BYTES)
    return;
  tl_arena_mark mark = tl_arena_save(u->p->scratch);
  tl_host **operands = tl_arena_calloc(u->p->scratch, n_in, sizeof *operands);
  tl_host **results = tl_arena_calloc(u->p->scratch, n_out, sizeof *results);
  u->no_memory = u->no_memory || !operands || !results;
  if (operands && results)
    run(u, n, operands, results);
  for (uint32_t i = 0; operands && i < n_in; i++)
    tl_host_release(operands[i]);
  for (uint32_t i = 0; operands && results && i < n_out; i++)
    tl_host_release(results[i]);
  tl_arena_rewind(u->p->scratch, mark);
}

/* Reads the only element of a value. Returns false if it is not known. */
static bool known_number(unrolling *u, tl_value_id v, int64_t *out) {
  tl_host *host = known_host(u, v);
  bool ok = host && host->n == 1 && host->dtype != TL_DTYPE_STRING;
  if (ok)
    *out = tl_host_int_at(host, 0);
  tl_host_release(host);
  return ok;
}

/* ---- which loops ----------------------------------------------------------------------------- */

static bool refuse(loop *l, const char *why) {
  tl_pass_remark(l->u->p, l->u->m, l->f.node, false, "not unrolled: %s", why);
  return false;
}

/* Reads the trip count and the first condition. Returns false, with a remark, if there are
 * certainly too many iterations or copies, or nothing can be known. */
static bool is_wanted(loop *l) {
  tl_module *m = l->u->m;
  tl_value_id count = tl_operand(m, l->f.node, 0), first = tl_operand(m, l->f.node, 1);
  int64_t limit = l->u->p->options->unroll_limit, condition = 1;
  l->trips = INT64_MAX;
  if (count && !known_number(l->u, count, &l->trips))
    return refuse(l, "the trip count is not known");
  if (first && !known_number(l->u, first, &condition))
    return refuse(l, "the first condition is not known");
  l->trips = !condition || l->trips < 0 ? 0 : l->trips;
  if (l->trips > limit && tl_loop_counts_only(m, &l->f))
    return refuse(l, "more iterations than --unroll-limit");
  uint64_t nodes = tl_graph_count_all(m, l->f.body) + 1;
  uint64_t most = nodes * (uint64_t)(l->trips < limit ? l->trips : limit);
  if (nodes > MOST_COPIES || most > MOST_COPIES || l->u->copies > MOST_ALL_COPIES)
    return refuse(l, "its iterations would have too many nodes");
  return true;
}

/* ---- iterations ------------------------------------------------------------------------------ */

static tl_value_id make_iteration(loop *l) {
  tl_value_id v = l->f.body->inputs.at[0];
  int rank = tl_type_get(l->u->m, tl_value_type(l->u->m, v))->rank;
  return rank == 1 ? tl_make_ints(&l->k, &l->done, 1) : tl_make_int(&l->k, l->done);
}

static tl_value_id make_condition(loop *l) {
  tl_value_id v = l->f.body->inputs.at[1];
  return tl_make_bool(&l->k, true, tl_type_get(l->u->m, tl_value_type(l->u->m, v))->rank == 1);
}

/* Returns output i of the iteration; it may be an input or a constant of the body. */
static tl_value_id output_of(const loop *l, uint32_t i) {
  return tl_copy_of(&l->c, tl_graph_output(l->u->m, l->f.body, i));
}

static bool is_used(const loop *l, uint32_t input) {
  return tl_value_get(l->u->m, l->f.body->inputs.at[input])->n_uses > 0;
}

/* Copies the body once and moves the state on. */
static bool iterate(loop *l) {
  tl_module *m = l->u->m;
  if (is_used(l, 0))
    tl_copy_set(&l->c, l->f.body->inputs.at[0], make_iteration(l));
  for (uint32_t i = 0; i < l->f.n_carried; i++)
    tl_copy_set(&l->c, l->f.body->inputs.at[2 + i], l->state[i]);
  tl_copy_nodes(&l->c, l->f.body);
  for (uint32_t i = 0; i < l->f.n_carried; i++)
    l->state[i] = output_of(l, 1 + i);
  for (uint32_t i = 0; i < l->f.n_stacked; i++)
    if (!tl_u32_vec_push(&l->stacked, output_of(l, 1 + l->f.n_carried + i)))
      l->k.no_memory = true;
  l->u->copies += tl_graph_count_all(m, l->f.body);
  l->done++;
  return !tl_maker_failed(&l->k);
}

/* Lays out all iterations. Returns false, with a remark, if their number does not show or types
 * contradict each other. A lack of memory is kept by the maker. */
static bool lay_out(loop *l) {
  const tl_module *m = l->u->m;
  int64_t go_on = 1;
  bool counts = tl_loop_counts_only(m, &l->f);
  if (l->trips > 0)
    tl_copy_constants(&l->c, l->f.body);
  if (l->trips > 0 && is_used(l, 1))
    tl_copy_set(&l->c, l->f.body->inputs.at[1], make_condition(l));
  while (go_on && l->done < l->trips) {
    if (l->done >= l->u->p->options->unroll_limit)
      return refuse(l, "more iterations than --unroll-limit");
    if (!iterate(l))
      return !l->k.clash || refuse(l, "types of an iteration contradict each other");
    if (!counts && l->done < l->trips && !known_number(l->u, output_of(l, 0), &go_on))
      return refuse(l, "its condition depends on data");
  }
  return true;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Returns an empty stack for no iterations. A dim that the body leaves open is 0, as in
 * runtimes. */
static tl_value_id make_empty(loop *l, uint32_t which) {
  tl_module *m = l->u->m;
  tl_type t =
      *tl_type_get(m, tl_value_type(m, tl_graph_output(m, l->f.body, 1 + l->f.n_carried + which)));
  tl_dim dims[TL_MAX_RANK] = {0};
  if (t.kind != TL_KIND_TENSOR || t.dtype == TL_DTYPE_NONE || t.rank >= TL_MAX_RANK) {
    l->k.clash = true;
    return TL_NO_VALUE;
  }
  for (int i = 0; i < t.rank; i++)
    dims[i + 1] = t.dims[i] > 0 ? t.dims[i] : 0;
  tl_type_id type = tl_type_tensor(m, (tl_dtype)t.dtype, t.rank > 0 ? t.rank + 1 : 1, dims);
  return tl_make_constant(&l->k, type ? tl_tensor_from_bytes(m, type, "", 0) : TL_NO_TENSOR,
                          "const");
}

/* Stacks the values of all iterations. */
static tl_value_id make_stack(loop *l, uint32_t which) {
  uint32_t n = (uint32_t)l->done;
  tl_value_id *parts = tl_arena_calloc(l->u->p->scratch, n, sizeof *parts);
  if (!n)
    return make_empty(l, which);
  if (!parts) {
    l->k.no_memory = true;
    return TL_NO_VALUE;
  }
  for (uint32_t i = 0; i < n; i++)
    parts[i] = tl_make_unsqueeze(&l->k, l->stacked.at[i * l->f.n_stacked + which], 0);
  return n == 1 ? parts[0] : tl_make_concat(&l->k, parts, n, 0);
}

/* Makes new values of all used results, before any use moves. */
static bool make_results(loop *l, tl_value_id *made) {
  for (uint32_t i = 0; i < l->f.n_carried; i++)
    made[i] = l->state[i];
  for (uint32_t i = 0; i < l->f.n_stacked; i++) {
    uint32_t at = l->f.n_carried + i;
    if (tl_value_get(l->u->m, tl_result(l->u->m, l->f.node, at))->n_uses)
      made[at] = make_stack(l, i);
  }
  return !tl_maker_failed(&l->k);
}

static void replace_results(loop *l, const tl_value_id *made) {
  for (uint32_t i = 0; i < l->f.n_carried + l->f.n_stacked; i++) {
    tl_value_id old = tl_result(l->u->m, l->f.node, i);
    if (tl_value_get(l->u->m, old)->n_uses)
      tl_maker_replace(&l->k, old, made[i]);
  }
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Unrolls a loop. On failure all copies are taken back. Returns the first node that takes its
 * place, or the one behind it; TL_NO_NODE if it stays. */
static tl_node_id unroll(loop *l) {
  tl_module *m = l->u->m;
  uint32_t n_results = l->f.n_carried + l->f.n_stacked;
  tl_maker_mark mark = tl_maker_save(&l->k);
  tl_value_id *made = tl_arena_calloc(l->u->p->scratch, n_results, sizeof *made);
  l->state = tl_arena_calloc(l->u->p->scratch, l->f.n_carried, sizeof *l->state);
  if (!made || !l->state) {
    l->k.no_memory = true;
    return TL_NO_NODE;
  }
  for (uint32_t i = 0; i < l->f.n_carried; i++)
    l->state[i] = tl_operand(m, l->f.node, 2 + i);
  if (!lay_out(l) || l->k.no_memory || !make_results(l, made) || !tl_pass_may_rewrite(l->u->p)) {
    tl_maker_undo(&l->k, mark);
    return TL_NO_NODE;
  }
  replace_results(l, made);
  tl_value_id condition = tl_copy_of(&l->c, l->f.body->inputs.at[1]);
  if (tl_value_constant(m, condition) && !tl_value_get(m, condition)->n_uses)
    tl_graph_erase_constant(m, condition); /* the body did nothing but hand it on */
  tl_pass_remark(l->u->p, m, l->f.node, true, "%lld iterations unrolled", (long long)l->done);
  tl_node_id before = mark.previous;
  tl_graph *around = tl_graph_get(m, l->k.graph);
  tl_node_id next = tl_node_get(m, l->f.node)->next;
  tl_node_erase(m, l->f.node);
  tl_node_id first = before ? tl_node_get(m, before)->next : around->first;
  return first ? first : next;
}

/* Returns the node where the sweep goes on: the first that took the place of the loop, so that
 * loops inside are visited, too. */
static tl_node_id visit(unrolling *u, tl_node_id n) {
  loop l = {.u = u};
  if (!tl_loop_read(u->m, &u->pinned, n, &l.f) || !is_wanted(&l))
    return TL_NO_NODE;
  tl_arena_mark mark = tl_arena_save(u->p->scratch);
  l.k = tl_maker_before(u->m, n);
  l.c = (tl_copier){.k = &l.k, .anew = true, .made = learn, .user = u};
  tl_node_id next = unroll(&l);
  u->no_memory = u->no_memory || l.k.no_memory;
  tl_copier_release(&l.c);
  tl_u32_vec_release(&l.stacked);
  tl_arena_rewind(u->p->scratch, mark);
  return next;
}

static void sweep(unrolling *u, const tl_graph *g) {
  for (tl_node_id n = g->first, next; n && !u->no_memory; n = next) {
    next = tl_node_get(u->m, n)->next;
    tl_node_id first = tl_node_get(u->m, n)->op == TL_OP_Loop ? visit(u, n) : TL_NO_NODE;
    next = first ? first : next;
  }
}

static tl_status finish(unrolling *u) {
  for (uint32_t i = 0; i < u->hosts.n; i++)
    tl_host_release(u->hosts.at[i]);
  host_vec_release(&u->hosts);
  tl_map_release(&u->known);
  tl_host_heap_release(&u->heap);
  if (u->no_memory)
    return tl_no_memory(u->m);
  return u->p->changed ? tl_infer_module(u->m) : TL_OK;
}

/* Unrolls outer loops first: their iterations may determine the trip counts of inner ones. */
tl_status tl_pass_unroll_loops(tl_pass *p, tl_module *m) {
  unrolling u = {.p = p, .m = m};
  if (m->graphs.n == 1)
    return TL_OK;
  TL_TRY(tl_pinned_find(p, m, &u.pinned));
  tl_host_heap_init(&u.heap, 0);
  for (uint32_t id = 1; id <= m->graphs.n; id++)
    if (!tl_graph_get(m, id)->erased)
      sweep(&u, tl_graph_get(m, id));
  return finish(&u);
}
