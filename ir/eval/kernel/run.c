/* SPDX-License-Identifier: Apache-2.0 */
/* The driver: walks a graph in order, hands operands to kernels, releases values after their last
 * use, and rounds what is narrow or emulated. Invariant: a value's slot is empty before its node
 * has run and after its last user has run. */
#include "ir/eval/kernel/run.h"

#include <stdatomic.h>

#include <stdlib.h>

#include "ir/eval/kernel/declared.h"
#include "ir/eval/kernel/kernel.h"
#include "ir/user_ops.h"

enum { MAX_BODY_DEPTH = 64 }; /* each level recurses on the C stack */

/* The state of one run. Values of a body are made anew at each iteration. Ids are unique in the
 * module and a body never runs inside itself, so one slot per value id is enough. */
struct tl_eval_run {
  tl_module *m;
  const tl_eval_options *o;
  tl_host_heap *heap;
  const tl_eval_row *kernels;
  tl_arena scratch;
  tl_host **slots;         /* by value id; NULL: not made, or dead */
  tl_value_id *next_dead;  /* by value id: the next value that dies with the same node */
  tl_value_id *first_dead; /* by node id: values whose last use is this node */
  tl_node_id *current;     /* by graph id, while the plan is made: the node being visited there */
  uint32_t depth;
  uint64_t trips;    /* how often bodies ran */
  bool other_shapes; /* than declared: of an input or a result, and others follow from it */
};

const tl_eval_row *tl_eval_row_of(const tl_eval_row *kernels, tl_op_id op) {
  return op < TL_N_OPS && kernels[op].fn ? &kernels[op] : NULL;
}

/* ---- plan: where values die ----------------------------------------------------------------- */

typedef struct plan {
  tl_eval_run *run;
  tl_node_id *last; /* by value id: the node of the value's own graph that uses it last */
} plan;

static void plan_graph(plan *p, const tl_graph *g);

static void plan_bodies(plan *p, const tl_node *node) {
  const tl_module *m = p->run->m;
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    if (a->kind == TL_ATTR_GRAPH)
      plan_graph(p, tl_graph_get(m, a->u.g));
    for (uint32_t k = 0; a->kind == TL_ATTR_GRAPHS && k < a->count; k++)
      plan_graph(p, tl_graph_get(m, a->u.ids[k]));
  }
}

/* Notes node n as the last user so far of its operands, and of its results, which die with it when
 * nobody uses them. A use inside a body counts as one by the node of the value's own graph that
 * holds the body (`current`): a value from outside must survive all iterations. Nodes come in
 * execution order, so a later note rightly overwrites an earlier one. */
static void plan_node(plan *p, const tl_graph *g, tl_node_id n) {
  const tl_module *m = p->run->m;
  const tl_node *node = tl_node_get(m, n);
  p->run->current[g->id] = n;
  for (uint32_t i = 0; i < node->n_results; i++)
    p->last[node->results + i] = n;
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_use_get(m, node->operands + i)->value;
    if (v)
      p->last[v] = p->run->current[tl_value_graph(m, v)];
  }
  plan_bodies(p, node);
}

static void plan_graph(plan *p, const tl_graph *g) {
  TL_FOR_NODES(p->run->m, g, n)
    plan_node(p, g, n);
  plan_node(p, g, g->ret);
}

static bool make_tables(tl_eval_run *run) {
  uint32_t values = tl_module_value_end(run->m), nodes = tl_module_node_end(run->m);
  run->slots = calloc(values, sizeof *run->slots);
  run->next_dead = calloc(values, sizeof *run->next_dead);
  run->first_dead = calloc(nodes, sizeof *run->first_dead);
  run->current = calloc((size_t)run->m->graphs.n + 1, sizeof *run->current);
  return run->slots && run->next_dead && run->first_dead && run->current;
}

/* Chains the values that die with a node into a list per node (first_dead, next_dead). */
static tl_status make_plan(tl_eval_run *run, const tl_graph *g) {
  uint32_t values = tl_module_value_end(run->m);
  plan p = {run, calloc(values, sizeof *p.last)};
  if (!p.last || !make_tables(run)) {
    free(p.last);
    return tl_no_memory(run->m);
  }
  plan_graph(&p, g);
  for (tl_value_id v = 1; v < values; v++) {
    if (!p.last[v])
      continue;
    run->next_dead[v] = run->first_dead[p.last[v]];
    run->first_dead[p.last[v]] = v;
  }
  free(p.last);
  return TL_OK;
}

/* Frees what the run holds, after failures too. */
static void release_run(tl_eval_run *run) {
  for (tl_value_id v = 0; run->slots && v < tl_module_value_end(run->m); v++)
    tl_host_release(run->slots[v]);
  free(run->slots);
  free(run->next_dead);
  free(run->first_dead);
  free(run->current);
  tl_arena_release(&run->scratch);
}

/* ---- rounding ------------------------------------------------------------------------------- */

/* The types that a `wide` kernel sees as f32; f4e2m1, which is packed, is not among them. */
static bool is_narrow(tl_dtype d) {
  return tl_dtype_is_float(d) && d != TL_DTYPE_F32 && d != TL_DTYPE_F64 && d != TL_DTYPE_F4E2M1;
}

/* A tensor and its copy in another dtype. */
typedef struct conversion {
  const tl_host *from;
  tl_host *to;
} conversion;

static void widen_range(void *user, uint64_t begin, uint64_t end) {
  const conversion *c = user;
  tl_host_to_f32((tl_dtype)c->from->dtype, c->from->data, (float *)c->to->data + begin, begin,
                 end - begin);
}

static void narrow_range(void *user, uint64_t begin, uint64_t end) {
  const conversion *c = user;
  tl_host_from_f32((tl_dtype)c->to->dtype, (const float *)c->from->data + begin, c->to->data, begin,
                   end - begin, false);
}

enum { CONVERT_GRAIN = 1 << 16 };

/* Replaces *t by its elements as another dtype. */
static tl_status convert(tl_eval *ctx, tl_host **t, tl_dtype to) {
  conversion c = {*t, tl_host_new(ctx->heap, to, (*t)->rank, (*t)->dims)};
  if (!c.to)
    return tl_eval_no_memory(ctx);
  tl_eval_for(ctx, c.from->n, CONVERT_GRAIN, to == TL_DTYPE_F32 ? widen_range : narrow_range, &c);
  tl_host_release(*t);
  *t = c.to;
  return TL_OK;
}

/* A tensor and its copy in lower precision. */
typedef struct emulation {
  const tl_host *from;
  tl_host *to;
  tl_dtype dtype;
} emulation;

/* To f16 or bf16 and back, which is exact. */
static float round_once(float v, tl_dtype to) {
  return to == TL_DTYPE_F16 ? tl_f16_to_f32(tl_f16_from_f32(v))
                            : tl_bf16_to_f32(tl_bf16_from_f32(v));
}

static void emulate_range(void *user, uint64_t begin, uint64_t end) {
  const emulation *e = user;
  if (e->from->dtype == TL_DTYPE_F32)
    for (uint64_t i = begin; i < end; i++)
      ((float *)e->to->data)[i] = round_once(((const float *)e->from->data)[i], e->dtype);
  else
    for (uint64_t i = begin; i < end; i++)
      ((double *)e->to->data)[i] =
          (double)round_once((float)((const double *)e->from->data)[i], e->dtype);
}

/* Replaces *t by its elements rounded to the emulated type, when it holds f32 or f64. The dtype
 * stays: only the precision is emulated. A new tensor is made, because *t may be shared. */
static tl_status emulate(tl_eval *ctx, tl_dtype dtype, tl_host **t) {
  if (dtype == TL_DTYPE_NONE || !*t || (*t)->kind != TL_HOST_TENSOR ||
      ((*t)->dtype != TL_DTYPE_F32 && (*t)->dtype != TL_DTYPE_F64))
    return TL_OK;
  emulation e = {*t, tl_host_new(ctx->heap, (tl_dtype)(*t)->dtype, (*t)->rank, (*t)->dims), dtype};
  if (!e.to)
    return tl_eval_no_memory(ctx);
  tl_eval_for(ctx, e.from->n, CONVERT_GRAIN, emulate_range, &e);
  tl_host_release(*t);
  *t = e.to;
  return TL_OK;
}

/* ---- one node ------------------------------------------------------------------------------- */

/* The copies replace the operands in the list, which owns them. */
static tl_status widen_operands(tl_eval *ctx, tl_host **in) {
  for (uint32_t i = 0; i < ctx->n_in; i++)
    if (in[i] && in[i]->kind == TL_HOST_TENSOR && is_narrow((tl_dtype)in[i]->dtype))
      TL_TRY(convert(ctx, &in[i], TL_DTYPE_F32));
  return TL_OK;
}

/* Checks that result i has the dtype that the module states, or that follows from the operands. An
 * f32 result of a `wide` kernel is rounded to it. implied: NULL if the kernel is not wide. */
static tl_status settle_result(tl_eval *ctx, const uint8_t *implied, uint32_t i) {
  tl_dtype stated = tl_type_dtype(ctx->m, tl_value_type(ctx->m, tl_result(ctx->m, ctx->node, i)));
  tl_host *t = ctx->out[i];
  if (stated == TL_DTYPE_NONE && implied && i < TL_EVAL_IMPLIED)
    stated = (tl_dtype)implied[i];
  if (!t || t->kind != TL_HOST_TENSOR || stated == TL_DTYPE_NONE || t->dtype == stated)
    return TL_OK;
  if (implied && t->dtype == TL_DTYPE_F32 && is_narrow(stated))
    return convert(ctx, &ctx->out[i], stated);
  bool body = tl_op_has_trait(tl_node_get(ctx->m, ctx->node)->op, TL_TRAIT_BODY);
  return tl_fail(ctx->m->diag, body ? TL_INVALID_MODEL : TL_INTERNAL,
                 tl_node_where(ctx->m, ctx->node), "result %u is %s, but its %s made %s", i,
                 tl_dtype_get(stated)->name, body ? "graph" : "kernel",
                 tl_dtype_get((tl_dtype)t->dtype)->name);
}

/* Checks every result that the node names; a result without users may be missing. */
static tl_status settle_results(tl_eval *ctx, const uint8_t *implied, tl_dtype emulated) {
  uint32_t named = tl_node_get(ctx->m, ctx->node)->n_results;
  for (uint32_t i = 0; i < named; i++) {
    if (!ctx->out[i] && tl_value_get(ctx->m, tl_result(ctx->m, ctx->node, i))->n_uses)
      return tl_eval_fail(ctx, "with these operands and attributes the op has no result %u", i);
    TL_TRY(settle_result(ctx, implied, i));
    TL_TRY(emulate(ctx, emulated, &ctx->out[i]));
  }
  return TL_OK;
}

/* Returns the kernel's row, NULL when the op has none. */
static const tl_eval_row *kernel_of(const tl_eval_run *run, tl_node_id n) {
  return tl_eval_row_of(run->kernels, tl_node_get(run->m, n)->op);
}

/* The kernel may rely on operands that fit the op's signature. */
static tl_status call_kernel(tl_eval *ctx, tl_host **in, tl_dtype emulated) {
  const tl_eval_row *row = kernel_of(ctx->run, ctx->node);
  if (!row) {
    const tl_user_op *own = tl_user_op_of(ctx->m, ctx->node);
    TL_TRY(own->evaluate(ctx, own));
    return settle_results(ctx, NULL, emulated);
  }
  uint8_t implied[TL_EVAL_IMPLIED];
  TL_TRY(tl_eval_signature(ctx, implied));
  if (row->wide)
    TL_TRY(widen_operands(ctx, in));
  TL_TRY(row->fn(ctx));
  return settle_results(ctx, row->wide ? implied : NULL, emulated);
}

/* Runs a node on operands that this function takes over. `wide` kernels replace entries of `in`,
 * hence the release here. */
static tl_status run_kernel(tl_eval_run *run, tl_node_id n, tl_host **in, tl_host **out,
                            uint32_t n_out) {
  const tl_eval_row *row = kernel_of(run, n);
  tl_eval ctx = {.m = run->m,
                 .node = n,
                 .in = (const tl_host *const *)in,
                 .out = out,
                 .n_in = tl_node_get(run->m, n)->n_operands,
                 .n_out = n_out,
                 .arg = row ? row->arg : 0,
                 .exact = run->o->exact,
                 .pool = run->o->pool,
                 .seed = run->o->seed,
                 .heap = run->heap,
                 .scratch = &run->scratch,
                 .run = run};
  tl_status status = call_kernel(&ctx, in, run->o->emulate);
  for (uint32_t i = 0; i < ctx.n_in; i++)
    tl_host_release(in[i]);
  return status;
}

/* Returns how many results a kernel may make: those of the op table, even if the node names
 * fewer. */
static uint32_t room_for_results(const tl_module *m, tl_node_id n) {
  const tl_op *row = tl_op_row(tl_node_get(m, n)->op);
  uint32_t named = tl_node_get(m, n)->n_results;
  return row && row->n_result_ports > named ? row->n_result_ports : named;
}

/* Reports an op without a kernel before its operands are made. */
static tl_status need_kernel(const tl_eval_run *run, tl_node_id n) {
  tl_module *m = run->m;
  const tl_user_op *own = tl_user_op_of(m, n);
  if (kernel_of(run, n) || (own && own->evaluate))
    return TL_OK;
  tl_sv name = tl_op_name(m, tl_node_get(m, n)->op);
  return tl_fail(m->diag, TL_UNSUPPORTED, tl_node_where(m, n), "op '%.*s' cannot be evaluated",
                 TL_SV_ARG(name));
}

/* ---- graphs --------------------------------------------------------------------------------- */

/* Returns true when the node reads constant operand i wherever the file has it. Lower precision is
 * imitated in a copy, and narrow floats are widened into one, which must be aligned. */
static bool reads_unaligned(const tl_eval_run *run, tl_node_id n, uint32_t i, const tl_tensor *t) {
  const tl_eval_row *row = kernel_of(run, n);
  return row && i < 8 && row->unaligned >> i & 1 && run->o->emulate == TL_DTYPE_NONE &&
         !(row->wide && is_narrow((tl_dtype)t->dtype));
}

/* Gives a constant its value, in *slot. A value that another node reads unaligned is made anew when
 * this one cannot. */
static tl_status take_constant(tl_eval_run *run, tl_eval *where, uint32_t i, const tl_tensor *t,
                               tl_host **slot) {
  bool anywhere = reads_unaligned(run, where->node, i, t);
  if (*slot && (anywhere || tl_host_is_aligned(*slot)))
    return TL_OK;
  tl_host_release(*slot);
  *slot = anywhere ? tl_host_from_tensor_unaligned(run->heap, run->m, t)
                   : tl_host_from_tensor(run->heap, run->m, t);
  return *slot ? emulate(where, run->o->emulate, slot) : tl_eval_no_memory(where);
}

/* Gives the value of operand i, retained. A constant is made at its first use, and its slot then
 * follows the same rules as any other. */
static tl_status take_operand(tl_eval_run *run, tl_eval *where, uint32_t i, tl_host **out) {
  tl_value_id v = tl_operand(run->m, where->node, i);
  *out = NULL;
  if (!v)
    return TL_OK;
  const tl_tensor *t = tl_value_constant(run->m, v);
  if (t)
    TL_TRY(take_constant(run, where, i, t, &run->slots[v]));
  if (!run->slots[v])
    return tl_fail(run->m->diag, TL_INTERNAL, tl_node_where(run->m, where->node),
                   "operand '%.*s' has no value", TL_SV_ARG(tl_value_name(run->m, v)));
  *out = tl_host_retain(run->slots[v]);
  return TL_OK;
}

/* Releases the values whose last use is node n. */
static void bury(tl_eval_run *run, tl_node_id n) {
  for (tl_value_id v = run->first_dead[n]; v; v = run->next_dead[v]) {
    tl_host_release(run->slots[v]);
    run->slots[v] = NULL;
  }
}

/* Hands a value to whoever watches the run. */
static tl_status show(tl_eval_run *run, tl_value_id v) {
  if (!run->o->watch || !run->slots[v])
    return TL_OK;
  return run->o->watch(run->o->watch_user, run->m, v, run->slots[v]);
}

/* Each result has its slot, until its last user has run. */
static tl_status keep_results(tl_eval_run *run, tl_node_id n, tl_host **out) {
  const tl_node *node = tl_node_get(run->m, n);
  for (uint32_t i = 0; i < node->n_results; i++) {
    tl_host **slot = &run->slots[node->results + i];
    *slot = tl_host_retain(out[i]);
    if (*slot && !run->other_shapes && !tl_eval_is_as_declared(run->m, node->results + i, *slot)) {
      run->other_shapes = true;
      tl_eval_warn_of_shape(run->m, n, node->results + i, *slot);
    }
    TL_TRY(show(run, node->results + i));
    if (run->o->replace && *slot)
      TL_TRY(run->o->replace(run->o->watch_user, run->m, node->results + i, slot));
  }
  return TL_OK;
}

/* Gives all operands of a node, retained; after a failure none of them is. */
static tl_status take_operands(tl_eval_run *run, tl_node_id n, tl_host **in) {
  tl_eval where = {.m = run->m, .node = n, .heap = run->heap, .pool = run->o->pool};
  for (uint32_t i = 0; i < tl_node_get(run->m, n)->n_operands; i++) {
    tl_status status = take_operand(run, &where, i, &in[i]);
    if (status != TL_OK) {
      for (uint32_t k = 0; k < i; k++) {
        tl_host_release(in[k]);
        in[k] = NULL; /* the caller of a body releases its outputs, whatever became of them */
      }
      return status;
    }
  }
  return TL_OK;
}

/* Returns true if somebody knows the results of a node, which are then in `out`. */
static bool is_known(const tl_eval_run *run, tl_node_id n, tl_host **out) {
  return run->o->known && run->depth == 0 && run->o->known(run->o->watch_user, run->m, n, out);
}

/* Runs one node. Its results go into slots, its scratch is rewound. On failure the slots stay as
 * they are; release_run frees them. */
static tl_status run_node(tl_eval_run *run, tl_node_id n) {
  if (run->o->cancel && *run->o->cancel)
    return TL_IO;
  TL_TRY(need_kernel(run, n));
  uint32_t n_in = tl_node_get(run->m, n)->n_operands, n_out = room_for_results(run->m, n);
  tl_arena_mark mark = tl_arena_save(&run->scratch);
  tl_host **in = tl_arena_calloc(&run->scratch, n_in, sizeof(tl_host *));
  tl_host **out = tl_arena_calloc(&run->scratch, n_out, sizeof(tl_host *));
  tl_status status = in && out ? TL_OK : tl_no_memory(run->m);
  bool known = status == TL_OK && is_known(run, n, out);
  if (status == TL_OK && !known)
    status = take_operands(run, n, in);
  if (status == TL_OK) {
    status = known ? TL_OK : run_kernel(run, n, in, out, n_out);
    if (status == TL_OK)
      status = keep_results(run, n, out);
    for (uint32_t i = 0; i < n_out; i++)
      tl_host_release(out[i]);
    bury(run, n);
  }
  tl_arena_rewind(&run->scratch, mark);
  return status;
}

/* Runs the nodes of g. The operands of its return node are the outputs; they are taken before the
 * values die. */
static tl_status run_nodes(tl_eval_run *run, const tl_graph *g, tl_host **outputs) {
  TL_FOR_NODES(run->m, g, n) {
    TL_TRY(run_node(run, n));
    if (run->o->done && run->depth == 0)
      atomic_fetch_add_explicit(run->o->done, 1, memory_order_relaxed);
  }
  TL_TRY(take_operands(run, g->ret, outputs));
  bury(run, g->ret);
  return TL_OK;
}

static tl_status count_trip(tl_eval *ctx) {
  tl_eval_run *run = ctx->run;
  uint64_t most = run->o->max_trips ? run->o->max_trips : TL_EVAL_TRIPS;
  if (run->trips++ < most)
    return TL_OK;
  return tl_fail(ctx->m->diag, TL_LIMIT, tl_node_where(ctx->m, ctx->node),
                 "bodies of the model have run %llu times, and the loop goes on\vallow more with "
                 "--max-trips, if it ends at all",
                 (unsigned long long)most);
}

tl_status tl_eval_body(tl_eval *ctx, tl_graph_id body, tl_host *const *inputs, uint32_t n_inputs,
                       tl_host **outputs, uint32_t n_outputs) {
  tl_eval_run *run = ctx->run;
  const tl_graph *g = tl_graph_get(ctx->m, body);
  if (n_inputs != g->inputs.n || n_outputs != tl_graph_n_outputs(ctx->m, g))
    return tl_eval_fail(ctx, "the body takes %u inputs and gives %u outputs, not %u and %u",
                        g->inputs.n, tl_graph_n_outputs(ctx->m, g), n_inputs, n_outputs);
  if (run->depth >= MAX_BODY_DEPTH)
    return tl_fail(ctx->m->diag, TL_LIMIT, tl_node_where(ctx->m, ctx->node),
                   "bodies are nested more than %d deep", MAX_BODY_DEPTH);
  TL_TRY(count_trip(ctx));
  for (uint32_t i = 0; i < n_inputs; i++) {
    tl_host_release(run->slots[g->inputs.at[i]]);
    run->slots[g->inputs.at[i]] = tl_host_retain(inputs[i]);
  }
  run->depth++;
  tl_status status = run_nodes(run, g, outputs);
  run->depth--;
  for (uint32_t i = 0; i < n_inputs; i++) { /* inputs without a user have not died above */
    tl_host_release(run->slots[g->inputs.at[i]]);
    run->slots[g->inputs.at[i]] = NULL;
  }
  return status;
}

static tl_eval_run run_of(const tl_eval_job *job) {
  return (tl_eval_run){.m = job->m, .o = job->o, .heap = job->heap, .kernels = job->kernels};
}

/* An input without a value may have a default. */
static tl_status set_inputs(tl_eval_run *run, const tl_graph *g, tl_host *const *inputs) {
  tl_eval where = {.m = run->m, .node = g->ret, .heap = run->heap, .pool = run->o->pool};
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    tl_value_id v = g->inputs.at[i];
    tl_tensor_id initial = tl_value_get(run->m, v)->tensor;
    if (inputs[i])
      run->slots[v] = tl_host_retain(inputs[i]);
    else if (initial)
      run->slots[v] = tl_host_from_tensor(run->heap, run->m, tl_tensor_get(run->m, initial));
    else
      return tl_fail(run->m->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(run->m->path),
                     "input '%.*s' has no value", TL_SV_ARG(tl_value_name(run->m, v)));
    if (!run->slots[v])
      return tl_no_memory(run->m);
    run->other_shapes = run->other_shapes || !tl_eval_is_as_declared(run->m, v, run->slots[v]);
    TL_TRY(emulate(&where, run->o->emulate, &run->slots[v]));
    TL_TRY(show(run, v));
  }
  return TL_OK;
}

tl_status tl_eval_run_graph(const tl_eval_job *job, tl_graph_id id, tl_host *const *inputs,
                            tl_host **outputs) {
  const tl_graph *g = tl_graph_get(job->m, id);
  tl_eval_run run = run_of(job);
  tl_arena_init(&run.scratch, 0);
  tl_status status = make_plan(&run, g);
  if (status == TL_OK)
    status = set_inputs(&run, g, inputs);
  if (status == TL_OK)
    status = run_nodes(&run, g, outputs);
  release_run(&run);
  return status;
}

/* A node with a body runs other nodes. */
static bool has_body(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_attrs; i++)
    if (node->attrs[i].kind == TL_ATTR_GRAPH || node->attrs[i].kind == TL_ATTR_GRAPHS)
      return true;
  return false;
}

/* A node without a body needs no slots: its operands are given. */
static tl_status plan_one(tl_eval_run *run, tl_node_id n) {
  const tl_graph *g = tl_graph_get(run->m, tl_node_get(run->m, n)->graph);
  return has_body(run->m, n) ? make_plan(run, g) : TL_OK;
}

tl_status tl_eval_run_one(const tl_eval_job *job, tl_node_id n, tl_host *const *operands,
                          tl_host **results) {
  tl_module *m = job->m;
  tl_eval_run run = run_of(job);
  TL_TRY(need_kernel(&run, n));
  tl_arena_init(&run.scratch, 0);
  tl_status status = plan_one(&run, n);
  uint32_t n_in = tl_node_get(m, n)->n_operands, n_out = room_for_results(m, n);
  tl_host **in = tl_arena_calloc(&run.scratch, n_in, sizeof(tl_host *));
  tl_host **out = tl_arena_calloc(&run.scratch, n_out, sizeof(tl_host *));
  if (status == TL_OK && (!in || !out))
    status = tl_no_memory(m);
  if (status == TL_OK) {
    for (uint32_t i = 0; i < n_in; i++)
      in[i] = tl_host_retain(operands[i]);
    status = run_kernel(&run, n, in, out, n_out);
    for (uint32_t i = 0; i < n_out; i++) {
      if (status == TL_OK && i < tl_node_get(m, n)->n_results)
        results[i] = tl_host_retain(out[i]);
      tl_host_release(out[i]);
    }
  }
  release_run(&run);
  return status;
}
