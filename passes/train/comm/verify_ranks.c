/* SPDX-License-Identifier: Apache-2.0 */
/* verify-ranks: places the graphs of all ranks side by side in one graph.
 * Names get the prefix r0/, r1/ and so on, and collectives become arithmetic across ranks in the
 * order of ranks, so that any runtime can execute what the ranks compute together.
 *
 * Requires:  the passes that put in collectives.   Keeps: what each rank computes.
 * After:     no collective is left; inputs, outputs and states are there once a rank.
 * Cost:      O(ranks * nodes).
 * Tests:     tests/golden/verify-ranks/, tests/train/ */
#include "ir/ops_gen.h"
#include "passes/edit/copy.h"
#include "passes/edit/passes.h"
#include "passes/train/comm/collective.h"
#include "passes/train/comm/shards.h"

enum { MOST_RANKS = 64 };

typedef struct replicating {
  tl_pass *p;
  tl_module *m;
  tl_graph *g;
  uint32_t n;           /* ranks */
  tl_node_id first_new; /* nodes from here on are copies */
  tl_maker k;           /* where copies go */
  tl_copier rank[MOST_RANKS];
  tl_value_id parts[MOST_RANKS]; /* one value as each rank has it */
} replicating;

static tl_symbol prefixed(replicating *x, uint32_t rank, tl_symbol name) {
  tl_symbol s = TL_NO_SYMBOL;
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_printf(&text, "r%u/%.*s", rank, TL_SV_ARG(tl_sym(x->m, name)));
  if (!text.failed)
    s = tl_module_intern(x->m, tl_buf_view(&text));
  tl_buf_release(&text);
  x->k.no_memory = x->k.no_memory || s == TL_NO_SYMBOL;
  return s;
}

/* ---- collectives ----------------------------------------------------------------------------- */

static tl_status refuse(replicating *x, tl_node_id n, const char *why) {
  return tl_fail(x->m->diag, TL_UNSUPPORTED, tl_node_where(x->m, n),
                 "ranks cannot be placed side by side: %s", why);
}

/* Reduces the parts one after the other in the order of ranks. */
static tl_value_id chain(replicating *x, tl_op_id op) {
  tl_value_id v = x->parts[0];
  for (uint32_t i = 1; i < x->n; i++)
    v = tl_make(&x->k, op, v, x->parts[i], TL_NO_VALUE);
  return v;
}

/* Adds the parts of all ranks. ONNX's Sum takes floats only, so integers use a chain of Add. */
static tl_value_id sum(replicating *x) {
  tl_dtype d = tl_type_dtype(x->m, tl_value_type(x->m, x->parts[0]));
  if (x->n == 1 || !tl_dtype_is_float(d))
    return chain(x, TL_OP_Add);
  return tl_make_list(&x->k, TL_OP_Sum, x->parts, x->n, (tl_attr){.kind = TL_ATTR_NONE});
}

static tl_status reduce(replicating *x, tl_node_id n, tl_value_id *out) {
  static const struct {
    const char *name;
    tl_op_id op;
  } others[] = {{"max", TL_OP_Max}, {"min", TL_OP_Min}, {"prod", TL_OP_Mul}};
  tl_sv how = tl_node_attr_string(x->m, n, TL_SYM_reduction);
  if (tl_sv_is(how, "sum")) {
    *out = sum(x);
    return TL_OK;
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (tl_sv_is(how, others[i].name)) {
      *out = chain(x, others[i].op);
      return TL_OK;
    }
  return refuse(x, n, "its reduction is not sum, max, min or prod");
}

static tl_status root_of(replicating *x, tl_node_id n, uint32_t *out) {
  int64_t root = tl_node_attr_int(x->m, n, TL_SYM_root_rank, 0);
  if (root < 0 || root >= (int64_t)x->n)
    return refuse(x, n, "its root_rank is not the number of a rank");
  *out = (uint32_t)root;
  return TL_OK;
}

static void give(replicating *x, tl_value_id result, uint32_t rank, tl_value_id v) {
  if (!tl_maker_failed(&x->k))
    tl_copy_set(&x->rank[rank], result, v);
}

/* Gives rank i the i-th of equal parts along the first axis. */
static tl_status scatter(replicating *x, tl_node_id n, tl_value_id result, tl_value_id all) {
  const tl_type *t = tl_type_get(x->m, tl_value_type(x->m, all));
  if (t->rank < 1 || !tl_dim_is_static(t->dims[0]) || t->dims[0] % x->n)
    return refuse(x, n,
                  "the first dim of its operand is not known to be a multiple of their number");
  int64_t part = t->dims[0] / x->n;
  for (uint32_t i = 0; i < x->n; i++)
    give(x, result, i, tl_make_slice(&x->k, all, 0, part * i, part * (i + 1)));
  return TL_OK;
}

/* Computes what one result of a collective is on each rank, from the operand of the same index. */
static tl_status exchange(replicating *x, tl_node_id n, tl_value_id result) {
  tl_op_id op = tl_node_get(x->m, n)->op;
  tl_value_id v = TL_NO_VALUE;
  uint32_t root = x->n;
  if (tl_node_attr_int(x->m, n, TL_SYM_rank_size, x->n) != (int64_t)x->n)
    return refuse(x, n, "its rank_size is another number");
  if (op == TL_OP_npu_hcom_HcomAllGather) {
    v = tl_make_list(&x->k, TL_OP_Concat, x->parts, x->n, tl_attr_int(TL_SYM_axis, 0));
  } else if (op == TL_OP_npu_hcom_HcomBroadcast) {
    TL_TRY(root_of(x, n, &root));
    v = x->parts[root];
  } else {
    TL_TRY(reduce(x, n, &v));
  }
  if (op == TL_OP_npu_hcom_HcomReduceScatter)
    return tl_maker_failed(&x->k) ? TL_OK : scatter(x, n, result, v);
  bool one = op == TL_OP_npu_hcom_HcomReduce; /* the root alone has the sum */
  if (one)
    TL_TRY(root_of(x, n, &root));
  for (uint32_t i = 0; i < x->n; i++)
    give(x, result, i, one && i != root ? x->parts[i] : v);
  return TL_OK;
}

static bool is_collective(tl_op_id op) {
  return op == TL_OP_npu_hcom_HcomAllReduce || op == TL_OP_npu_hcom_HcomAllGather ||
         op == TL_OP_npu_hcom_HcomBroadcast || op == TL_OP_npu_hcom_HcomReduce ||
         op == TL_OP_npu_hcom_HcomReduceScatter;
}

static tl_status collective(replicating *x, tl_node_id n) {
  const tl_node *node = tl_node_get(x->m, n);
  for (uint32_t i = 0; i < node->n_results && !tl_maker_failed(&x->k); i++) {
    if (!tl_operand(x->m, n, i))
      return refuse(x, n, "it has more results than operands");
    for (uint32_t rank = 0; rank < x->n; rank++)
      x->parts[rank] = tl_copy_of(&x->rank[rank], tl_operand(x->m, n, i));
    TL_TRY(exchange(x, n, node->results + i));
  }
  return TL_OK;
}

/* ---- everything else ------------------------------------------------------------------------- */

/* Copies a node for one rank, with prefixed names. */
static void copy(replicating *x, tl_node_id n, uint32_t rank) {
  tl_node_id made = tl_copy_node(&x->rank[rank], n);
  const tl_node *node = tl_node_get(x->m, n);
  if (!made)
    return;
  x->k.no_memory = x->k.no_memory || !tl_copy_notes(x->m, n, made);
  if (node->name)
    tl_node_get(x->m, made)->name = prefixed(x, rank, node->name);
  for (uint32_t i = 0; i < node->n_results && !tl_maker_failed(&x->k); i++) {
    tl_symbol name = tl_value_get(x->m, node->results + i)->name;
    if (name)
      tl_value_set_name(x->m, tl_result(x->m, made, i), prefixed(x, rank, name));
  }
}

/* Copies a node for every rank, or replaces a collective. */
static tl_status visit(replicating *x, tl_node_id n) {
  tl_op_id op = tl_node_get(x->m, n)->op;
  x->k.before = x->k.like = n;
  x->k.base = 0;
  for (uint32_t i = 0; i < tl_node_get(x->m, n)->n_results && !x->k.base; i++)
    x->k.base = tl_value_get(x->m, tl_result(x->m, n, i))->name;
  if (is_collective(op))
    return collective(x, n);
  if (op == TL_OP_ai_onnx_preview_training_Gradient)
    return refuse(x, n, "Gradient names values of one graph");
  if (tl_sv_is(tl_op_domain(x->m, op), "npu.hcom") ||
      tl_sv_is(tl_op_domain(x->m, op), "npu.status"))
    return refuse(x, n, "this op has no form for side-by-side ranks");
  for (uint32_t rank = 0; rank < x->n && !tl_maker_failed(&x->k); rank++)
    copy(x, n, rank);
  return TL_OK;
}

/* ---- inputs, outputs, states ----------------------------------------------------------------- */

/* Returns the initial value of an input on one rank. Number of ranks and rank id, inputs at run
 * time, are known here. */
static tl_tensor_id default_of(replicating *x, tl_value_id v, uint32_t rank) {
  float ranks = (float)x->n;
  int32_t number = (int32_t)rank;
  if (tl_sv_is(tl_value_name(x->m, v), TL_COMM_RANK_INPUT))
    return tl_tensor_i32s(x->m, &number, 1, 0);
  if (tl_sv_is(tl_value_name(x->m, v), "tlr.rank_size"))
    return tl_tensor_f32s(x->m, &ranks, 1, 0);
  return tl_value_get(x->m, v)->tensor;
}

static void copy_inputs(replicating *x, uint32_t n_inputs) {
  for (uint32_t rank = 0; rank < x->n; rank++)
    for (uint32_t i = 0; i < n_inputs && !tl_maker_failed(&x->k); i++) {
      tl_value_id old = x->g->inputs.at[i];
      tl_symbol name = prefixed(x, rank, tl_value_get(x->m, old)->name);
      tl_value_id made = name == TL_NO_SYMBOL
                             ? TL_NO_VALUE
                             : tl_graph_add_input(x->m, x->g->id, name, tl_value_type(x->m, old),
                                                  default_of(x, old, rank));
      x->k.no_memory = x->k.no_memory || !made;
      give(x, old, rank, made);
    }
}

/* Returns the value for output `old` of one rank. A value that all ranks share has another name, so
 * it goes through an Identity. */
static tl_value_id output_of(replicating *x, uint32_t rank, tl_value_id old) {
  tl_value_id v = tl_copy_of(&x->rank[rank], old);
  tl_symbol name = prefixed(x, rank, tl_value_get(x->m, old)->name);
  if (tl_maker_failed(&x->k) || tl_value_get(x->m, v)->name == name)
    return v;
  tl_node_spec spec = {
      .op = TL_OP_Identity, .operands = &v, .n_operands = 1, .results = &name, .n_results = 1};
  return tl_make_node(&x->k, &spec);
}

static void copy_outputs(replicating *x) {
  uint32_t n = tl_graph_n_outputs(x->m, x->g);
  tl_value_id *all = tl_arena_calloc(x->p->scratch, (size_t)n * x->n + 1, sizeof *all);
  x->k.no_memory = x->k.no_memory || !all;
  x->k.before = TL_NO_NODE;
  for (uint32_t rank = 0; rank < x->n; rank++)
    for (uint32_t i = 0; i < n && !tl_maker_failed(&x->k); i++) {
      tl_value_id old = tl_graph_output(x->m, x->g, i);
      all[rank * n + i] = output_of(x, rank, old);
      give(x, old, rank, all[rank * n + i]);
    }
  if (!tl_maker_failed(&x->k) && tl_graph_set_outputs(x->m, x->g->id, all, n * x->n) != TL_OK)
    x->k.no_memory = true;
}

/* Replaces the states by one per rank: appends the copies, then moves them over the originals. */
static void copy_states(replicating *x) {
  uint32_t n = x->m->states.n;
  for (uint32_t rank = 0; rank < x->n; rank++)
    for (uint32_t i = 0; i < n && !tl_maker_failed(&x->k); i++) {
      tl_state s = x->m->states.at[i];
      s.input = tl_copy_of(&x->rank[rank], s.input);
      s.output = tl_copy_of(&x->rank[rank], s.output);
      if (!tl_state_vec_push(&x->m->states, s))
        x->k.no_memory = true;
    }
  if (tl_maker_failed(&x->k) || !n)
    return;
  memmove(x->m->states.at, x->m->states.at + n, (size_t)n * x->n * sizeof *x->m->states.at);
  x->m->states.n = n * x->n;
}

static void erase_original(replicating *x, tl_node_id last, uint32_t n_inputs) {
  for (tl_node_id n = last, previous; n; n = previous) {
    previous = tl_node_get(x->m, n)->previous;
    if (n < x->first_new)
      tl_node_erase(x->m, n);
  }
  for (uint32_t i = n_inputs; i > 0; i--)
    tl_graph_erase_input(x->m, x->g->inputs.at[i - 1]);
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Refuses collectives in bodies: ranks may take different branches, where nobody waits for the
 * others. */
static tl_status check_bodies(replicating *x) {
  for (uint32_t i = 0; i < x->m->graphs.n; i++) {
    const tl_graph *g = x->m->graphs.at[i];
    if (g->erased || g->kind != TL_GRAPH_BODY)
      continue;
    TL_FOR_NODES(x->m, g, n)
      if (is_collective(tl_node_get(x->m, n)->op))
        return refuse(x, n, "it is in a body of another node");
  }
  return TL_OK;
}

static tl_status replicate(replicating *x) {
  uint32_t n_inputs = x->g->inputs.n;
  tl_node_id last = x->g->last;
  TL_TRY(check_bodies(x));
  copy_inputs(x, n_inputs);
  TL_FOR_NODES(x->m, x->g, n) {
    if (tl_maker_failed(&x->k))
      break;
    TL_TRY(visit(x, n));
  }
  x->k.like = last;
  copy_outputs(x);
  copy_states(x);
  TL_TRY(tl_maker_status(&x->k));
  x->m->gradients.n = 0;
  x->m->loss = x->m->seed = TL_NO_VALUE;
  erase_original(x, last, n_inputs);
  return TL_OK;
}

static tl_status check(const tl_module *m, const tl_train_config *c) {
  tl_location here = TL_AT_FILE(m->path);
  if (c->verify_ranks > MOST_RANKS)
    return tl_fail(m->diag, TL_INVALID_ARGUMENT, here,
                   "verify_ranks: at most %d ranks are possible", MOST_RANKS);
  if (c->is_distributed && c->rank_size && c->rank_size != c->verify_ranks)
    return tl_fail_code(m->diag, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT", here,
                        "verify_ranks is %u, but rank_size, the divisor of means, is %u",
                        c->verify_ranks, c->rank_size);
  if (c->iterations_per_loop > 1)
    return tl_fail_code(m->diag, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT", here,
                        "verify_ranks needs one step a run, iterations_per_loop is %lld",
                        (long long)c->iterations_per_loop);
  return TL_OK;
}

tl_status tl_pass_verify_ranks(tl_pass *p, tl_module *m) {
  const tl_train_config *c = p->options->train;
  if (!tl_train_is_on(p->options) || !c->verify_ranks || tl_comm_is_of_ranks(m) ||
      !tl_pass_may_rewrite(p))
    return TL_OK;
  TL_TRY(check(m, c));
  replicating *x = tl_arena_calloc(p->scratch, 1, sizeof *x);
  if (!x)
    return tl_no_memory(m);
  x->p = p;
  x->m = m;
  x->g = tl_module_main(m);
  x->n = c->verify_ranks;
  x->first_new = tl_module_node_end(m);
  x->k = (tl_maker){.m = m, .graph = x->g->id};
  for (uint32_t i = 0; i < x->n; i++)
    x->rank[i].k = &x->k;
  tl_status status = replicate(x);
  for (uint32_t i = 0; i < x->n; i++)
    tl_copier_release(&x->rank[i]);
  return status;
}
