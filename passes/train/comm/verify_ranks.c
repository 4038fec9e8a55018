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

static tl_symbol prefixed(replicating *replica, uint32_t rank, tl_symbol name) {
  tl_symbol s = TL_NO_SYMBOL;
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_printf(&text, "r%u/%.*s", rank, TL_SV_ARG(tl_sym(replica->m, name)));
  if (!text.failed)
    s = tl_module_intern(replica->m, tl_buf_view(&text));
  tl_buf_release(&text);
  replica->k.no_memory = replica->k.no_memory || s == TL_NO_SYMBOL;
  return s;
}

/* ---- collectives ----------------------------------------------------------------------------- */

static tl_status refuse(replicating *replica, tl_node_id n, const char *why) {
  return tl_fail(replica->m->diag, TL_UNSUPPORTED, tl_node_where(replica->m, n),
                 "ranks cannot be placed side by side: %s", why);
}

/* Reduces the parts one after the other in the order of ranks. */
static tl_value_id chain(replicating *replica, tl_op_id op) {
  tl_value_id v = replica->parts[0];
  for (uint32_t i = 1; i < replica->n; i++)
    v = tl_make(&replica->k, op, v, replica->parts[i], TL_NO_VALUE);
  return v;
}

/* Adds the parts of all ranks. ONNX's Sum takes floats only, so integers use a chain of Add. */
static tl_value_id sum(replicating *replica) {
  tl_dtype d = tl_type_dtype(replica->m, tl_value_type(replica->m, replica->parts[0]));
  if (replica->n == 1 || !tl_dtype_is_float(d))
    return chain(replica, TL_OP_Add);
  return tl_make_list(&replica->k, TL_OP_Sum, replica->parts, replica->n,
                      (tl_attr){.kind = TL_ATTR_NONE});
}

static tl_status reduce(replicating *replica, tl_node_id n, tl_value_id *out) {
  static const struct {
    const char *name;
    tl_op_id op;
  } others[] = {{"max", TL_OP_Max}, {"min", TL_OP_Min}, {"prod", TL_OP_Mul}};
  tl_sv how = tl_node_attr_string(replica->m, n, TL_SYM_reduction);
  if (tl_sv_is(how, "sum")) {
    *out = sum(replica);
    return TL_OK;
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (tl_sv_is(how, others[i].name)) {
      *out = chain(replica, others[i].op);
      return TL_OK;
    }
  return refuse(replica, n, "its reduction is not sum, max, min or prod");
}

static tl_status root_of(replicating *replica, tl_node_id n, uint32_t *out) {
  int64_t root = tl_node_attr_int(replica->m, n, TL_SYM_root_rank, 0);
  if (root < 0 || root >= (int64_t)replica->n)
    return refuse(replica, n, "its root_rank is not the number of a rank");
  *out = (uint32_t)root;
  return TL_OK;
}

static void give(replicating *replica, tl_value_id result, uint32_t rank, tl_value_id v) {
  if (!tl_maker_failed(&replica->k))
    tl_copy_set(&replica->rank[rank], result, v);
}

/* Gives rank i the i-th of equal parts along the first axis. */
static tl_status scatter(replicating *replica, tl_node_id n, tl_value_id result, tl_value_id all) {
  const tl_type *t = tl_type_get(replica->m, tl_value_type(replica->m, all));
  if (t->rank < 1 || !tl_dim_is_static(t->dims[0]) || t->dims[0] % replica->n)
    return refuse(replica, n,
                  "the first dim of its operand is not known to be a multiple of their number");
  int64_t part = t->dims[0] / replica->n;
  for (uint32_t i = 0; i < replica->n; i++)
    give(replica, result, i, tl_make_slice(&replica->k, all, 0, part * i, part * (i + 1)));
  return TL_OK;
}

enum { JOINS, ROOT, REDUCES, ALL, PARTS };

/* A row of collective_ops.tbl. */
typedef struct collective_row {
  tl_op_id op;
  uint8_t what;
  uint8_t to;
} collective_row;

/* Returns the row of a collective, NULL for other ops. */
static const collective_row *row_of(tl_op_id op) {
  static const collective_row rows[] = {
#define COLLECTIVE_OP(name, what, to) {TL_OP_##name, what, to},
#include "passes/train/comm/collective_ops.tbl"
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].op == op)
      return &rows[i];
  return NULL;
}

/* Computes what one result of a collective is on each rank, from the operand of the same index. */
static tl_status exchange(replicating *replica, tl_node_id n, tl_value_id result) {
  const collective_row *row = row_of(tl_node_get(replica->m, n)->op);
  tl_value_id v = TL_NO_VALUE;
  uint32_t root = replica->n;
  if (tl_node_attr_int(replica->m, n, TL_SYM_rank_size, replica->n) != (int64_t)replica->n)
    return refuse(replica, n, "its rank_size is another number");
  if (row->what == JOINS) {
    v = tl_make_concat(&replica->k, replica->parts, replica->n, 0);
  } else if (row->what == ROOT) {
    TL_TRY(root_of(replica, n, &root));
    v = replica->parts[root];
  } else {
    TL_TRY(reduce(replica, n, &v));
  }
  if (row->to == PARTS)
    return tl_maker_failed(&replica->k) ? TL_OK : scatter(replica, n, result, v);
  bool one = row->to == ROOT; /* it alone has the sum */
  if (one)
    TL_TRY(root_of(replica, n, &root));
  for (uint32_t i = 0; i < replica->n; i++)
    give(replica, result, i, one && i != root ? replica->parts[i] : v);
  return TL_OK;
}

static tl_status collective(replicating *replica, tl_node_id n) {
  const tl_node *node = tl_node_get(replica->m, n);
  for (uint32_t i = 0; i < node->n_results && !tl_maker_failed(&replica->k); i++) {
    if (!tl_operand(replica->m, n, i))
      return refuse(replica, n, "it has more results than operands");
    for (uint32_t rank = 0; rank < replica->n; rank++)
      replica->parts[rank] = tl_copy_of(&replica->rank[rank], tl_operand(replica->m, n, i));
    TL_TRY(exchange(replica, n, node->results + i));
  }
  return TL_OK;
}

/* ---- everything else ------------------------------------------------------------------------- */

/* Copies a node for one rank, with prefixed names. */
static void copy(replicating *replica, tl_node_id n, uint32_t rank) {
  tl_node_id made = tl_copy_node(&replica->rank[rank], n);
  const tl_node *node = tl_node_get(replica->m, n);
  if (!made)
    return;
  replica->k.no_memory = replica->k.no_memory || !tl_copy_notes(replica->m, n, made);
  if (node->name)
    tl_node_get(replica->m, made)->name = prefixed(replica, rank, node->name);
  for (uint32_t i = 0; i < node->n_results && !tl_maker_failed(&replica->k); i++) {
    tl_symbol name = tl_value_get(replica->m, node->results + i)->name;
    if (name)
      tl_value_set_name(replica->m, tl_result(replica->m, made, i), prefixed(replica, rank, name));
  }
}

/* Copies a node for every rank, or replaces a collective. */
static tl_status visit(replicating *replica, tl_node_id n) {
  tl_op_id op = tl_node_get(replica->m, n)->op;
  replica->k.before = replica->k.like = n;
  replica->k.base = 0;
  for (uint32_t i = 0; i < tl_node_get(replica->m, n)->n_results && !replica->k.base; i++)
    replica->k.base = tl_value_get(replica->m, tl_result(replica->m, n, i))->name;
  if (row_of(op))
    return collective(replica, n);
  if (op == TL_OP_ai_onnx_preview_training_Gradient)
    return refuse(replica, n, "Gradient names values of one graph");
  if (tl_sv_is(tl_op_domain(replica->m, op), "npu.hcom") ||
      tl_sv_is(tl_op_domain(replica->m, op), "npu.status"))
    return refuse(replica, n, "this op has no form for side-by-side ranks");
  for (uint32_t rank = 0; rank < replica->n && !tl_maker_failed(&replica->k); rank++)
    copy(replica, n, rank);
  return TL_OK;
}

/* ---- inputs, outputs, states ----------------------------------------------------------------- */

/* Returns the initial value of an input on one rank. Number of ranks and rank id, inputs at run
 * time, are known here. */
static tl_tensor_id default_of(replicating *replica, tl_value_id v, uint32_t rank) {
  float ranks = (float)replica->n;
  int32_t number = (int32_t)rank;
  if (tl_sv_is(tl_value_name(replica->m, v), TL_COMM_RANK_INPUT))
    return tl_tensor_i32s(replica->m, &number, 1, 0);
  if (tl_sv_is(tl_value_name(replica->m, v), "tlr.rank_size"))
    return tl_tensor_f32s(replica->m, &ranks, 1, 0);
  return tl_value_get(replica->m, v)->tensor;
}

static void copy_inputs(replicating *replica, uint32_t n_inputs) {
  for (uint32_t rank = 0; rank < replica->n; rank++)
    for (uint32_t i = 0; i < n_inputs && !tl_maker_failed(&replica->k); i++) {
      tl_value_id old = replica->g->inputs.at[i];
      tl_symbol name = prefixed(replica, rank, tl_value_get(replica->m, old)->name);
      tl_value_id made = name == TL_NO_SYMBOL ? TL_NO_VALUE
                                              : tl_graph_add_input(replica->m, replica->g->id, name,
                                                                   tl_value_type(replica->m, old),
                                                                   default_of(replica, old, rank));
      replica->k.no_memory = replica->k.no_memory || !made;
      give(replica, old, rank, made);
    }
}

/* Returns the value for output `old` of one rank. A value that all ranks share has another name, so
 * it goes through an Identity. */
static tl_value_id output_of(replicating *replica, uint32_t rank, tl_value_id old) {
  tl_value_id v = tl_copy_of(&replica->rank[rank], old);
  tl_symbol name = prefixed(replica, rank, tl_value_get(replica->m, old)->name);
  if (tl_maker_failed(&replica->k) || tl_value_get(replica->m, v)->name == name)
    return v;
  tl_node_spec spec = {
      .op = TL_OP_Identity, .operands = &v, .n_operands = 1, .results = &name, .n_results = 1};
  return tl_make_node(&replica->k, &spec);
}

static void copy_outputs(replicating *replica) {
  uint32_t n = tl_graph_n_outputs(replica->m, replica->g);
  tl_value_id *all = tl_arena_calloc(replica->p->scratch, (size_t)n * replica->n + 1, sizeof *all);
  replica->k.no_memory = replica->k.no_memory || !all;
  replica->k.before = TL_NO_NODE;
  for (uint32_t rank = 0; rank < replica->n; rank++)
    for (uint32_t i = 0; i < n && !tl_maker_failed(&replica->k); i++) {
      tl_value_id old = tl_graph_output(replica->m, replica->g, i);
      all[rank * n + i] = output_of(replica, rank, old);
      give(replica, old, rank, all[rank * n + i]);
    }
  if (!tl_maker_failed(&replica->k) &&
      tl_graph_set_outputs(replica->m, replica->g->id, all, n * replica->n) != TL_OK)
    replica->k.no_memory = true;
}

/* Replaces the states by one per rank: appends the copies, then moves them over the originals. */
static void copy_states(replicating *replica) {
  uint32_t n = replica->m->states.n;
  for (uint32_t rank = 0; rank < replica->n; rank++)
    for (uint32_t i = 0; i < n && !tl_maker_failed(&replica->k); i++) {
      tl_state s = replica->m->states.at[i];
      s.input = tl_copy_of(&replica->rank[rank], s.input);
      s.output = tl_copy_of(&replica->rank[rank], s.output);
      if (!tl_state_vec_push(&replica->m->states, s))
        replica->k.no_memory = true;
    }
  if (tl_maker_failed(&replica->k) || !n)
    return;
  memmove(replica->m->states.at, replica->m->states.at + n,
          (size_t)n * replica->n * sizeof *replica->m->states.at);
  replica->m->states.n = n * replica->n;
}

static void erase_original(replicating *replica, tl_node_id last, uint32_t n_inputs) {
  for (tl_node_id n = last, previous; n; n = previous) {
    previous = tl_node_get(replica->m, n)->previous;
    if (n < replica->first_new)
      tl_node_erase(replica->m, n);
  }
  for (uint32_t i = n_inputs; i > 0; i--)
    tl_graph_erase_input(replica->m, replica->g->inputs.at[i - 1]);
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Refuses collectives in bodies: ranks may take different branches, where nobody waits for the
 * others. */
static tl_status check_bodies(replicating *replica) {
  for (uint32_t i = 0; i < replica->m->graphs.n; i++) {
    const tl_graph *g = replica->m->graphs.at[i];
    if (g->erased || g->kind != TL_GRAPH_BODY)
      continue;
    TL_FOR_NODES(replica->m, g, n)
      if (row_of(tl_node_get(replica->m, n)->op))
        return refuse(replica, n, "it is in a body of another node");
  }
  return TL_OK;
}

static tl_status replicate(replicating *replica) {
  uint32_t n_inputs = replica->g->inputs.n;
  tl_node_id last = replica->g->last;
  TL_TRY(check_bodies(replica));
  copy_inputs(replica, n_inputs);
  TL_FOR_NODES(replica->m, replica->g, n) {
    if (tl_maker_failed(&replica->k))
      break;
    TL_TRY(visit(replica, n));
  }
  replica->k.like = last;
  copy_outputs(replica);
  copy_states(replica);
  TL_TRY(tl_maker_status(&replica->k));
  replica->m->gradients.n = 0;
  replica->m->loss = replica->m->seed = TL_NO_VALUE;
  erase_original(replica, last, n_inputs);
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
  replicating *replica = tl_arena_calloc(p->scratch, 1, sizeof *replica);
  if (!replica)
    return tl_no_memory(m);
  replica->p = p;
  replica->m = m;
  replica->g = tl_module_main(m);
  replica->n = c->verify_ranks;
  replica->first_new = tl_module_node_end(m);
  replica->k = (tl_maker){.m = m, .graph = replica->g->id};
  for (uint32_t i = 0; i < replica->n; i++)
    replica->rank[i].k = &replica->k;
  tl_status status = replicate(replica);
  for (uint32_t i = 0; i < replica->n; i++)
    tl_copier_release(&replica->rank[i]);
  return status;
}
