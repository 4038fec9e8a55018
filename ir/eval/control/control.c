/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the ops that run bodies: If, Loop, Scan, SequenceMap, and npu::While, Case and
 * PartitionedCall. */
#include <stdlib.h>

#include "ir/eval/kernel/kernel.h"

/* Entries become NULL, so that releasing twice does no harm. */
static void release_all(tl_host **values, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    tl_host_release(values[i]);
    values[i] = NULL;
  }
}

/* Everything that a loop keeps between iterations; loop_open and loop_close own it. */
typedef struct loop_state {
  tl_eval *x;
  tl_graph_id body;
  tl_host **in;        /* body inputs, owned references */
  tl_host **out;       /* body outputs of the last iteration */
  tl_host **collected; /* [iterations][n_scan], owned references */
  uint32_t n_in;
  uint32_t n_out;
  uint32_t n_scan; /* the last n_scan body outputs are collected */
  uint64_t iterations;
  uint64_t room; /* iterations that fit */
} loop_state;

/* Sizes the lists by the body; one more entry keeps calloc from returning NULL for 0. */
static tl_status loop_open(loop_state *s, uint32_t n_scan) {
  const tl_graph *g = tl_graph_get(s->x->m, s->body);
  s->n_in = g->inputs.n;
  s->n_out = tl_graph_n_outputs(s->x->m, g);
  s->n_scan = n_scan;
  s->in = calloc((size_t)s->n_in + 1, sizeof *s->in);
  s->out = calloc((size_t)s->n_out + 1, sizeof *s->out);
  return s->in && s->out ? TL_OK : tl_eval_no_memory(s->x);
}

/* Runs after failures too, when some lists may be missing. */
static void loop_close(loop_state *s) {
  if (s->in)
    release_all(s->in, s->n_in);
  if (s->out)
    release_all(s->out, s->n_out);
  if (s->collected)
    release_all(s->collected, s->iterations * s->n_scan);
  free(s->in);
  free(s->out);
  free(s->collected);
}

/* Keeps the scan outputs of this iteration. The list doubles, so n iterations cost O(n). */
static tl_status loop_collect(loop_state *s) {
  if (s->iterations == s->room) {
    uint64_t room = s->room ? s->room * 2 : 16;
    tl_host **wide = room > SIZE_MAX / sizeof *wide / (s->n_scan + 1)
                         ? NULL
                         : realloc(s->collected, (size_t)room * (s->n_scan + 1) * sizeof *wide);
    if (!wide)
      return tl_eval_no_memory(s->x);
    s->collected = wide;
    s->room = room;
  }
  for (uint32_t i = 0; i < s->n_scan; i++)
    s->collected[s->iterations * s->n_scan + i] = tl_host_retain(s->out[s->n_out - s->n_scan + i]);
  s->iterations++;
  return TL_OK;
}

/* Runs the body once and collects its scan outputs. */
static tl_status loop_step(loop_state *s) {
  release_all(s->out, s->n_out);
  TL_TRY(tl_eval_body(s->x, s->body, s->in, s->n_in, s->out, s->n_out));
  return loop_collect(s);
}

/* A tensor seen as outer x axis x inner. */
typedef struct around {
  uint64_t outer;
  uint64_t inner; /* bytes */
} around;

/* Bytes of an element count as inner. */
static around split_at(const int64_t *dims, int rank, uint32_t axis, size_t size) {
  around a = {1, size};
  for (int i = 0; i < rank; i++) {
    if ((uint32_t)i < axis)
      a.outer *= (uint64_t)dims[i];
    else if ((uint32_t)i > axis)
      a.inner *= (uint64_t)dims[i];
  }
  return a;
}

/* Finds the shape of a scan output whose body never ran: what the body declares, with 0 for unknown
 * dims. Returns the rank. */
static int declared_shape(loop_state *s, uint32_t which, int64_t *dims, tl_dtype *dtype) {
  const tl_graph *g = tl_graph_get(s->x->m, s->body);
  tl_value_id v = tl_graph_output(s->x->m, g, s->n_out - s->n_scan + which);
  const tl_type *t = tl_type_get(s->x->m, tl_value_type(s->x->m, v));
  *dtype = (tl_dtype)t->dtype;
  for (int i = 0; i < t->rank; i++)
    dims[i] = t->dims[i] > 0 ? t->dims[i] : 0;
  return t->rank > 0 ? t->rank : 0;
}

/* All iterations must have given the same type and shape. */
static tl_status check_stackable(loop_state *s, uint32_t which) {
  const tl_host *first = s->collected[which];
  for (uint64_t k = 0; k < s->iterations; k++) {
    const tl_host *t = s->collected[k * s->n_scan + which];
    if (!t || t->kind != TL_HOST_TENSOR || t->dtype != first->dtype || t->rank != first->rank ||
        memcmp(t->dims, first->dims, (size_t)t->rank * sizeof *t->dims) != 0)
      return tl_eval_fail(s->x, "scan output %u changes its shape at iteration %llu", which,
                          (unsigned long long)k);
  }
  return TL_OK;
}

/* Makes result i: what the body gave at each iteration, stacked along a new axis. */
static tl_status loop_stack(loop_state *s, uint32_t which, uint32_t i, int64_t axis, bool reverse) {
  int64_t dims[TL_MAX_RANK + 1];
  tl_dtype dtype;
  int rank = s->iterations ? s->collected[which]->rank : declared_shape(s, which, dims, &dtype);
  if (s->iterations) { /* the first iteration tells the shape */
    TL_TRY(check_stackable(s, which));
    dtype = (tl_dtype)s->collected[which]->dtype;
    memcpy(dims, s->collected[which]->dims, (size_t)rank * sizeof *dims);
  }
  size_t size = tl_host_element_size(dtype);
  if (rank == TL_MAX_RANK || !size)
    return tl_eval_unsupported(s->x, "scan output %u cannot be stacked", which);
  uint32_t at;
  TL_TRY(tl_eval_axis(s->x, axis, rank + 1, &at));
  memmove(dims + at + 1, dims + at, ((size_t)rank - at) * sizeof *dims);
  dims[at] = (int64_t)s->iterations;
  tl_host *t;
  TL_TRY(tl_eval_result(s->x, i, dtype, rank + 1, dims, &t));
  around a = split_at(dims, rank + 1, at, size);
  for (uint64_t k = 0; k < s->iterations && t->n; k++) {
    const tl_host *part = s->collected[k * s->n_scan + which];
    uint64_t place = reverse ? s->iterations - 1 - k : k;
    for (uint64_t o = 0; o < a.outer; o++)
      memcpy((char *)t->data + (o * s->iterations + place) * a.inner,
             (const char *)part->data + o * a.inner, (size_t)a.inner);
  }
  return TL_OK;
}

/* ---- If ------------------------------------------------------------------------------------- */

/* Any rank will do, as long as there is one element. Graphs of the NPU may count numbers other than
 * 0 as true. */
static tl_status read_condition(tl_eval *ctx, const tl_host *t, bool *out) {
  tl_dtype d = t ? (tl_dtype)t->dtype : TL_DTYPE_NONE;
  bool fits = d == TL_DTYPE_BOOL || tl_dtype_is_integer(d) || tl_dtype_is_float(d);
  if (!t || t->kind != TL_HOST_TENSOR || t->n != 1 || !fits)
    return tl_eval_fail(ctx, "the condition must be one bool");
  *out = tl_host_at(t, 0) != 0;
  return TL_OK;
}

/* Collects the inputs of the bodies of npu::If and its like: the operands from `first` on. ONNX's
 * If has none. */
static tl_status body_inputs(tl_eval *ctx, uint32_t first, tl_host ***out, uint32_t *n) {
  *n = ctx->n_in > first ? ctx->n_in - first : 0;
  *out = tl_eval_scratch(ctx, *n + 1u, sizeof **out);
  if (!*out)
    return tl_eval_no_memory(ctx);
  for (uint32_t i = 0; i < *n; i++) {
    if (!ctx->in[i + first])
      return tl_eval_fail(ctx, "operand %u is absent", i + first);
    /* const is cast away for the reference count only */
    (*out)[i] = (tl_host *)(uintptr_t)ctx->in[i + first];
  }
  return TL_OK;
}

/* Runs a graph on the operands from `first` on; its outputs become the results directly. */
static tl_status run_branch(tl_eval *ctx, tl_graph_id body, uint32_t first) {
  tl_host **inputs;
  uint32_t n_inputs;
  uint32_t n = body ? tl_graph_n_outputs(ctx->m, tl_graph_get(ctx->m, body)) : 0;
  if (!body || n != tl_node_get(ctx->m, ctx->node)->n_results)
    return tl_eval_fail(ctx, "the branch gives %u values, the node has %u results", n,
                        tl_node_get(ctx->m, ctx->node)->n_results);
  TL_TRY(body_inputs(ctx, first, &inputs, &n_inputs));
  return tl_eval_body(ctx, body, inputs, n_inputs, ctx->out, n);
}

tl_status tl_eval_if(tl_eval *ctx) {
  bool condition;
  TL_TRY(read_condition(ctx, tl_eval_in(ctx, 0), &condition));
  return run_branch(ctx,
                    tl_eval_body_attr(ctx, condition ? TL_SYM_then_branch : TL_SYM_else_branch), 1);
}

/* npu::PartitionedCall: its graph alone. */
tl_status tl_eval_call(tl_eval *ctx) {
  return run_branch(ctx, tl_eval_body_attr(ctx, TL_SYM_f), 0);
}

/* npu::Case: the graph with the number that operand 0 gives; the last one for any other number. */
tl_status tl_eval_case(tl_eval *ctx) {
  const tl_attr *a = tl_node_attr(ctx->m, ctx->node, TL_SYM_branches);
  const tl_host *t = tl_eval_in(ctx, 0);
  uint32_t n = 0;
  const tl_graph_id *at = a ? tl_attr_graphs(a, &n) : NULL;
  if (!n || t->n != 1 || !tl_dtype_is_integer((tl_dtype)t->dtype))
    return tl_eval_fail(ctx, "operand 0 must be one integer, and at least one graph be there");
  int64_t which = tl_host_int_at(t, 0);
  return run_branch(ctx, at[which < 0 || which >= n ? n - 1 : which], 1);
}

/* ---- While ---------------------------------------------------------------------------------- */

/* Runs the graph `cond` on the state and reads its answer. */
static tl_status go_on(loop_state *s, tl_graph_id test, bool *out) {
  tl_host *answer = NULL;
  TL_TRY(tl_eval_body(s->x, test, s->in, s->n_in, &answer, 1));
  tl_status status = read_condition(s->x, answer, out);
  tl_host_release(answer);
  return status;
}

/* Outputs of the body move to its inputs without a change of their counts. */
static tl_status while_run(loop_state *s, tl_graph_id test) {
  bool more;
  for (uint32_t i = 0; i < s->n_in; i++)
    s->in[i] = tl_host_retain((tl_host *)(uintptr_t)tl_eval_in(s->x, i));
  TL_TRY(go_on(s, test, &more));
  while (more) {
    release_all(s->out, s->n_out);
    TL_TRY(tl_eval_body(s->x, s->body, s->in, s->n_in, s->out, s->n_out));
    release_all(s->in, s->n_in);
    memcpy(s->in, s->out, s->n_in * sizeof *s->in);
    memset(s->out, 0, s->n_out * sizeof *s->out);
    TL_TRY(go_on(s, test, &more));
  }
  for (uint32_t i = 0; i < s->n_in; i++)
    TL_TRY(tl_eval_pass(s->x, i, s->in[i]));
  return TL_OK;
}

/* npu::While: runs the body on the state for as long as `cond` is true. */
tl_status tl_eval_while(tl_eval *ctx) {
  loop_state s = {.x = ctx, .body = tl_eval_body_attr(ctx, TL_SYM_body)};
  tl_graph_id test = tl_eval_body_attr(ctx, TL_SYM_cond);
  if (!s.body || !test)
    return tl_eval_fail(ctx, "a graph is missing");
  const tl_graph *g = tl_graph_get(ctx->m, s.body);
  if (g->inputs.n != ctx->n_in || tl_graph_n_outputs(ctx->m, g) != ctx->n_in ||
      tl_graph_get(ctx->m, test)->inputs.n != ctx->n_in ||
      tl_graph_n_outputs(ctx->m, tl_graph_get(ctx->m, test)) != 1)
    return tl_eval_fail(ctx, "operands, graphs and results do not fit together");
  for (uint32_t i = 0; i < ctx->n_in; i++)
    if (!ctx->in[i])
      return tl_eval_fail(ctx, "operand %u is missing", i);
  tl_status status = loop_open(&s, 0);
  if (status == TL_OK)
    status = while_run(&s, test);
  loop_close(&s);
  return status;
}

/* ---- Loop ----------------------------------------------------------------------------------- */

/* Returns the rank of an input that the loop provides: 0, or 1 when the body declares one dim,
 * which some exporters do. */
static int provided_rank(const loop_state *s, uint32_t input) {
  tl_value_id v = tl_graph_get(s->x->m, s->body)->inputs.at[input];
  return tl_type_get(s->x->m, tl_value_type(s->x->m, v))->rank == 1;
}

/* dims count only for rank 1. */
static tl_status bool_value(tl_eval *ctx, bool v, int rank, tl_host **out) {
  *out = tl_host_new(ctx->heap, TL_DTYPE_BOOL, rank, (const int64_t[]){1});
  if (!*out)
    return tl_eval_no_memory(ctx);
  ((uint8_t *)(*out)->data)[0] = v;
  return TL_OK;
}

/* Sets the first two inputs of the body: iteration number and condition. */
static tl_status set_iteration(loop_state *s, int64_t i, bool condition) {
  for (uint32_t k = 0; k < 2; k++)
    tl_host_release(s->in[k]);
  s->in[1] = NULL;
  s->in[0] = tl_host_new(s->x->heap, TL_DTYPE_I64, provided_rank(s, 0), (const int64_t[]){1});
  if (!s->in[0])
    return tl_eval_no_memory(s->x);
  ((int64_t *)s->in[0]->data)[0] = i;
  return bool_value(s->x, condition, provided_rank(s, 1), &s->in[1]);
}

/* Runs until the trip count is reached or the condition is false. Without a trip count the
 * condition alone ends the loop. */
static tl_status loop_run(loop_state *s) {
  tl_eval *ctx = s->x;
  int64_t trips;
  bool condition = true;
  uint32_t carried = s->n_in - 2;
  TL_TRY(tl_eval_operand_int(ctx, 0, INT64_MAX, &trips));
  if (tl_eval_in(ctx, 1))
    TL_TRY(read_condition(ctx, tl_eval_in(ctx, 1), &condition));
  for (uint32_t i = 0; i < carried; i++)
    s->in[2 + i] = tl_host_retain((tl_host *)(uintptr_t)tl_eval_in(ctx, 2 + i));
  for (int64_t i = 0; condition && i < trips; i++) {
    TL_TRY(set_iteration(s, i, condition));
    TL_TRY(loop_step(s));
    TL_TRY(read_condition(ctx, s->out[0], &condition));
    for (uint32_t k = 0; k < carried; k++) {
      tl_host_release(s->in[2 + k]);
      s->in[2 + k] = tl_host_retain(s->out[1 + k]);
    }
  }
  for (uint32_t i = 0; i < carried; i++)
    TL_TRY(tl_eval_pass(ctx, i, s->in[2 + i]));
  for (uint32_t i = 0; i < s->n_scan; i++)
    TL_TRY(loop_stack(s, i, carried + i, 0, false));
  return TL_OK;
}

/* The body takes the iteration, the condition and what is carried; it returns the condition, what
 * is carried, and scan outputs. */
tl_status tl_eval_loop(tl_eval *ctx) {
  loop_state s = {.x = ctx, .body = tl_eval_body_attr(ctx, TL_SYM_body)};
  if (!s.body)
    return tl_eval_fail(ctx, "the body is missing");
  const tl_graph *g = tl_graph_get(ctx->m, s.body);
  uint32_t outputs = tl_graph_n_outputs(ctx->m, g);
  if (ctx->n_in < 2 || g->inputs.n != ctx->n_in || outputs + 1 < g->inputs.n ||
      tl_node_get(ctx->m, ctx->node)->n_results != outputs - 1)
    return tl_eval_fail(ctx, "operands, body and results do not fit together");
  for (uint32_t i = 2; i < ctx->n_in; i++)
    if (!ctx->in[i])
      return tl_eval_fail(ctx, "operand %u, a loop-carried value, is missing", i);
  tl_status status = loop_open(&s, outputs + 1 - g->inputs.n);
  if (status == TL_OK)
    status = loop_run(&s);
  loop_close(&s);
  return status;
}

/* ---- Scan ----------------------------------------------------------------------------------- */

/* Attribute lists of Scan may be absent: all 0. */
static int64_t listed(tl_int_list list, uint32_t i) { return i < list.n ? list.at[i] : 0; }

/* Copies slice `at` of t along an axis, without the axis. *out: the caller's to release. */
static tl_status take_slice(tl_eval *ctx, const tl_host *t, uint32_t axis, uint64_t at,
                            tl_host **out) {
  int64_t dims[TL_MAX_RANK];
  size_t size = tl_host_element_size((tl_dtype)t->dtype);
  if (!size)
    return tl_eval_unsupported(ctx, "scan over sub-byte elements");
  for (int i = 0, k = 0; i < t->rank; i++)
    if ((uint32_t)i != axis)
      dims[k++] = t->dims[i];
  *out = tl_host_new(ctx->heap, (tl_dtype)t->dtype, t->rank - 1, dims);
  if (!*out)
    return tl_eval_no_memory(ctx);
  around a = split_at(t->dims, t->rank, axis, size);
  uint64_t length = (uint64_t)t->dims[axis];
  for (uint64_t o = 0; o < a.outer && (*out)->n; o++)
    memcpy((char *)(*out)->data + o * a.inner, (const char *)t->data + (o * length + at) * a.inner,
           (size_t)a.inner);
  return TL_OK;
}

/* What Scan walks along: operands are `states`, then `inputs`. */
typedef struct scan_axes {
  uint32_t states;
  uint32_t inputs;
  uint64_t length;
  uint32_t *axis; /* of each scan input */
} scan_axes;

/* Resolves the axes of the scan inputs, which must have the same number of slices. */
static tl_status scan_geometry(loop_state *s, scan_axes *a) {
  tl_eval *ctx = s->x;
  tl_int_list axes = tl_eval_ints(ctx, TL_SYM_scan_input_axes);
  a->axis = tl_eval_scratch(ctx, a->inputs, sizeof *a->axis);
  if (!a->axis)
    return tl_eval_no_memory(ctx);
  for (uint32_t i = 0; i < a->inputs; i++) {
    TL_TRY(tl_eval_need_rank(ctx, a->states + i, 1, TL_MAX_RANK));
    const tl_host *t = tl_eval_in(ctx, a->states + i);
    TL_TRY(tl_eval_axis(ctx, listed(axes, i), t->rank, &a->axis[i]));
    uint64_t length = (uint64_t)t->dims[a->axis[i]];
    if (i && length != a->length)
      return tl_eval_fail(ctx, "scan inputs have %llu and %llu slices",
                          (unsigned long long)a->length, (unsigned long long)length);
    a->length = length;
  }
  return TL_OK;
}

/* Directions other than 0 walk backwards; outputs are stacked in the order that theirs say. */
static tl_status scan_run(loop_state *s, const scan_axes *a) {
  tl_eval *ctx = s->x;
  tl_int_list reverse = tl_eval_ints(ctx, TL_SYM_scan_input_directions);
  tl_int_list out_axes = tl_eval_ints(ctx, TL_SYM_scan_output_axes);
  tl_int_list out_reverse = tl_eval_ints(ctx, TL_SYM_scan_output_directions);
  for (uint32_t i = 0; i < a->states; i++)
    s->in[i] = tl_host_retain((tl_host *)(uintptr_t)tl_eval_in(ctx, i));
  for (uint64_t step = 0; step < a->length; step++) {
    for (uint32_t i = 0; i < a->inputs; i++) {
      uint64_t at = listed(reverse, i) ? a->length - 1 - step : step;
      tl_host_release(s->in[a->states + i]);
      s->in[a->states + i] = NULL;
      TL_TRY(
          take_slice(ctx, tl_eval_in(ctx, a->states + i), a->axis[i], at, &s->in[a->states + i]));
    }
    TL_TRY(loop_step(s));
    for (uint32_t i = 0; i < a->states; i++) {
      tl_host_release(s->in[i]);
      s->in[i] = tl_host_retain(s->out[i]);
    }
  }
  for (uint32_t i = 0; i < a->states; i++)
    TL_TRY(tl_eval_pass(ctx, i, s->in[i]));
  for (uint32_t i = 0; i < s->n_scan; i++)
    TL_TRY(loop_stack(s, i, a->states + i, listed(out_axes, i), listed(out_reverse, i) != 0));
  return TL_OK;
}

/* Operands and body inputs are states, then scan inputs; results and body outputs are states, then
 * slices. */
tl_status tl_eval_scan(tl_eval *ctx) {
  loop_state s = {.x = ctx, .body = tl_eval_body_attr(ctx, TL_SYM_body)};
  int64_t inputs = tl_eval_int(ctx, TL_SYM_num_scan_inputs, 0);
  if (!s.body || inputs < 1 || inputs > ctx->n_in)
    return tl_eval_fail(ctx, "num_scan_inputs is %lld of %u operands", (long long)inputs,
                        ctx->n_in);
  scan_axes a = {.states = ctx->n_in - (uint32_t)inputs, .inputs = (uint32_t)inputs};
  const tl_graph *g = tl_graph_get(ctx->m, s.body);
  uint32_t outputs = tl_graph_n_outputs(ctx->m, g);
  if (g->inputs.n != ctx->n_in || outputs < a.states ||
      tl_node_get(ctx->m, ctx->node)->n_results != outputs)
    return tl_eval_fail(ctx, "operands, body and results do not fit together");
  for (uint32_t i = 0; i < a.states; i++)
    if (!ctx->in[i])
      return tl_eval_fail(ctx, "operand %u, an initial state, is missing", i);
  tl_status status = scan_geometry(&s, &a);
  if (status == TL_OK)
    status = loop_open(&s, outputs - a.states);
  if (status == TL_OK)
    status = scan_run(&s, &a);
  loop_close(&s);
  return status;
}

/* ---- SequenceMap ---------------------------------------------------------------------------- */

/* Operands that are no sequences are given to every iteration. */
static tl_status map_run(loop_state *s, uint64_t length) {
  tl_eval *ctx = s->x;
  for (uint64_t k = 0; k < length; k++) {
    for (uint32_t i = 0; i < ctx->n_in; i++) {
      const tl_host *t = ctx->in[i];
      tl_host_release(s->in[i]);
      s->in[i] = tl_host_retain(t->kind == TL_HOST_SEQUENCE ? tl_host_item(t, k)
                                                            : (tl_host *)(uintptr_t)t);
    }
    TL_TRY(loop_step(s));
  }
  tl_host **items = tl_eval_scratch(ctx, length, sizeof *items);
  if (!items)
    return tl_eval_no_memory(ctx);
  for (uint32_t i = 0; i < s->n_scan; i++) {
    for (uint64_t k = 0; k < length; k++)
      items[k] = s->collected[k * s->n_scan + i];
    ctx->out[i] = tl_host_sequence(ctx->heap, items, length);
    if (!ctx->out[i])
      return tl_eval_no_memory(ctx);
  }
  return TL_OK;
}

/* Operand 0 is a sequence and tells the number of iterations. */
tl_status tl_eval_sequence_map(tl_eval *ctx) {
  loop_state s = {.x = ctx, .body = tl_eval_body_attr(ctx, TL_SYM_body)};
  const tl_host *first = tl_eval_in(ctx, 0);
  if (!s.body || !first || first->kind != TL_HOST_SEQUENCE)
    return tl_eval_fail(ctx, "operand 0 must be a sequence");
  for (uint32_t i = 0; i < ctx->n_in; i++)
    if (!ctx->in[i] || (ctx->in[i]->kind == TL_HOST_SEQUENCE && ctx->in[i]->n < first->n))
      return tl_eval_fail(ctx, "operand %u has fewer elements than operand 0", i);
  const tl_graph *g = tl_graph_get(ctx->m, s.body);
  uint32_t outputs = tl_graph_n_outputs(ctx->m, g);
  if (g->inputs.n != ctx->n_in || tl_node_get(ctx->m, ctx->node)->n_results != outputs)
    return tl_eval_fail(ctx, "operands, body and results do not fit together");
  tl_status status = loop_open(&s, outputs);
  if (status == TL_OK)
    status = map_run(&s, first->n);
  loop_close(&s);
  return status;
}
