/* SPDX-License-Identifier: Apache-2.0 */
/* Splits norms over gradients of all buckets into sums of squares tensor by tensor.
 * The sums are added in the order that the op has, so what comes before the first gradient of L may
 * run while L is reduced; the root, and what follows from it, cannot. */
#include "ir/ops_gen.h"
#include "passes/engine/formula.h"
#include "passes/edit/maker.h"
#include "passes/train/tail/groups.h"

typedef struct norm {
  tl_tail *t;
  tl_maker k;
  tl_dtype dtype; /* of sums */
  const tl_value_id *in;
  uint32_t n;
} norm;

/* A factor that a split made waits for all buckets, and so does what is multiplied by it. */
static bool needs_last(const tl_tail *t, tl_node_id n) {
  return n == t->last || n >= t->n_ids || t->below_data[n];
}

/* Returns true if the tensors belong to several buckets, some of which do not need L. */
static bool is_worth_it(const norm *parts) {
  bool waits = false;
  bool free = false;
  for (uint32_t i = 0; i < parts->n; i++) {
    tl_node_id p = parts->in[i] ? tl_value_producer(parts->t->m, parts->in[i]) : TL_NO_NODE;
    if (!parts->in[i] ||
        !tl_dtype_is_float(tl_type_dtype(parts->t->m, tl_value_type(parts->t->m, parts->in[i]))))
      return false;
    bool below = p && needs_last(parts->t, p);
    waits = waits || below;
    free = free || !below;
  }
  return waits && free;
}

/* Sum of squares of one tensor, in the dtype of the norm, since squares of f16 overflow. */
static tl_value_id squares(norm *parts, tl_value_id v) {
  return tl_make_with(&parts->k, TL_OP_ReduceSumSquare, tl_make_as(&parts->k, v, parts->dtype),
                      TL_NO_VALUE, tl_attr_int(TL_SYM_keepdims, 0));
}

/* Returns the Euclidean norm of all tensors as one vector. */
static tl_value_id length(norm *parts) {
  tl_value_id sum = squares(parts, parts->in[0]);
  for (uint32_t i = 1; i < parts->n && !tl_maker_failed(&parts->k); i++) {
    tl_value_id next = squares(parts, parts->in[i]);
    sum = tl_make(&parts->k, TL_OP_Add, sum, next, TL_NO_VALUE);
  }
  return tl_make(&parts->k, TL_OP_Sqrt, sum, TL_NO_VALUE, TL_NO_VALUE);
}

/* Collects the operands of `tensors`. Returns false if the split is not worth it or not
 * possible. */
static bool begin(norm *parts, tl_tail *t, tl_node_id n, tl_node_id tensors) {
  const tl_node *node = tl_node_get(t->m, tensors);
  tl_value_id *in = tl_arena_calloc(t->p->scratch, node->n_operands, sizeof *in);
  t->no_memory = t->no_memory || !in;
  for (uint32_t i = 0; in && i < node->n_operands; i++)
    in[i] = tl_operand(t->m, tensors, i);
  *parts = (norm){.t = t, .k = tl_maker_before(t->m, n), .in = in, .n = node->n_operands};
  return in && !tl_node_get(t->m, n)->control_in && !tl_node_get(t->m, n)->control_out &&
         tl_node_get(t->m, n)->n_results == 1 && is_worth_it(parts);
}

/* Replaces the node. construct: makes the sequence that only n reads; TL_NO_NODE: n reads none. */
static bool finish(norm *parts, tl_node_id n, tl_node_id construct, tl_maker_mark mark,
                   tl_value_id made) {
  if (!tl_tail_adopt_made(parts->t, &parts->k, mark))
    return false;
  tl_tail_replace(parts->t, tl_result(parts->t->m, n, 0), made);
  if (construct)
    tl_tail_retire_unused(parts->t, construct);
  tl_tail_retire(parts->t, n); /* erased from the last retired on */
  return true;
}

/* Splits a ReduceAllL2. */
static bool split_length(tl_tail *t, tl_node_id n) {
  norm parts;
  if (!begin(&parts, t, n, n))
    return false;
  tl_type_id type = tl_value_type(t->m, tl_result(t->m, n, 0));
  parts.dtype = tl_type_dtype(t->m, type);
  if ((parts.dtype != TL_DTYPE_F32 && parts.dtype != TL_DTYPE_F64) ||
      tl_type_get(t->m, type)->rank > 0)
    return false;
  tl_maker_mark mark = tl_maker_save(&parts.k);
  tl_value_id made = length(&parts);
  return finish(&parts, n, TL_NO_NODE, mark, made);
}

/* Returns min(1, max_norm / (norm + 1e-6)), the factor that gradients are multiplied by. */
static tl_value_id factor_of(norm *parts, tl_node_id n) {
  double most = (double)tl_node_attr_float(parts->k.m, n, TL_SYM_max_norm, 1);
  tl_formula f = {.k = &parts->k, .name = "ClipFactor", .numbers = {{"most", most}}};
  parts->k.no_memory = tl_pass_formulas(parts->t->p, parts->k.m, &f.set) != TL_OK;
  f.in[0] = length(parts);
  tl_formula_make(&f);
  return f.out[0];
}

/* Splits an InplaceClipGradNorm over a sequence. */
static bool split_clip(tl_tail *t, tl_node_id n) {
  norm parts;
  tl_node_id construct = tl_tail_construct_of(t, n, 0);
  tl_sv type = tl_node_attr_string(t->m, n, TL_SYM_norm_type);
  if (!construct || (type.n && !tl_sv_is(type, "fro")) || !begin(&parts, t, n, construct))
    return false;
  parts.dtype = TL_DTYPE_F32;
  for (uint32_t i = 0; i < parts.n; i++)
    if (tl_type_dtype(t->m, tl_value_type(t->m, parts.in[i])) != TL_DTYPE_F32)
      return false;
  tl_value_id *clipped = tl_arena_calloc(t->p->scratch, parts.n, sizeof *clipped);
  t->no_memory = t->no_memory || !clipped;
  if (!clipped)
    return false;
  tl_maker_mark mark = tl_maker_save(&parts.k);
  tl_value_id factor = factor_of(&parts, n);
  for (uint32_t i = 0; i < parts.n && !tl_maker_failed(&parts.k); i++)
    clipped[i] = tl_make(&parts.k, TL_OP_Mul, parts.in[i], factor, TL_NO_VALUE);
  tl_value_id made = tl_maker_failed(&parts.k) ? TL_NO_VALUE
                                               : tl_make_sequence(&parts.k, clipped, parts.n);
  return finish(&parts, n, construct, mark, made);
}

uint32_t tl_tail_split_norms(tl_tail *t) {
  uint32_t n = 0;
  if (!tl_module_had_op(t->m, TL_OP_com_microsoft_ReduceAllL2) &&
      !tl_module_had_op(t->m, TL_OP_com_microsoft_InplaceClipGradNorm))
    return 0;
  TL_FOR_NODES(t->m, tl_step_graph(t->m), k) {
    tl_op_id op = tl_node_get(t->m, k)->op;
    if (op == TL_OP_com_microsoft_ReduceAllL2 && !t->no_memory)
      n += split_length(t, k);
    else if (op == TL_OP_com_microsoft_InplaceClipGradNorm && !t->no_memory)
      n += split_clip(t, k);
  }
  return n;
}
