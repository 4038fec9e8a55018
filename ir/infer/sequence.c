/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of sequences and optionals. */
#include "ir/infer/infer_gen.h"
#include "ir/infer/state.h"
#include "ir/ops_gen.h"

static tl_type_id operand_type(tl_infer *ctx, uint32_t i) {
  return tl_value_type(ctx->m, tl_operand(ctx->m, ctx->node, i));
}

/* Gives the element type of a sequence operand; TL_NO_TYPE if its type is unknown. */
static tl_status sequence_element(tl_infer *ctx, uint32_t i, tl_type_id *out) {
  const tl_type *t = tl_infer_operand(ctx, i);
  *out = t->kind == TL_KIND_SEQUENCE ? t->element : TL_NO_TYPE;
  if (t->kind != TL_KIND_UNKNOWN && t->kind != TL_KIND_SEQUENCE)
    return tl_infer_fail(ctx, "operand %u is not a sequence", i);
  return TL_OK;
}

/* Returns the node that made operand i if its op is `op`, else TL_NO_NODE. A sequence type has only
 * one element type; where the maker is at hand, the very elements are known. */
static tl_node_id made_by(tl_infer *ctx, uint32_t i, tl_op_id op) {
  tl_value_id v = tl_operand(ctx->m, ctx->node, i);
  tl_node_id n = v == TL_NO_VALUE ? TL_NO_NODE : tl_value_producer(ctx->m, v);
  return n != TL_NO_NODE && tl_node_get(ctx->m, n)->op == op ? n : TL_NO_NODE;
}

/* Returns the list that result r of an op over lists replaces; TL_NO_VALUE: none. */
static tl_value_id list_behind(const tl_module *m, tl_node_id n, uint32_t r) {
  static const uint32_t adamw[] = {0, 2, 4, 5};
  switch (tl_node_get(m, n)->op) {
  case TL_OP_com_microsoft_AdamWOptimizer: return r && r < 4 ? tl_operand(m, n, adamw[r]) : 0;
  case TL_OP_com_microsoft_SGDOptimizerV2: return r == 1 ? tl_operand(m, n, 1) : TL_NO_VALUE;
  case TL_OP_com_microsoft_InplaceClipGradNorm: return r ? TL_NO_VALUE : tl_operand(m, n, 0);
  default: return TL_NO_VALUE;
  }
}

/* Results have the types of the lists that they replace. */
tl_status tl_infer_lists(tl_infer *ctx, uint32_t node) {
  (void)node;
  for (uint32_t r = 0; r < tl_infer_n_results(ctx); r++) {
    tl_value_id list = list_behind(ctx->m, ctx->node, r);
    if (list)
      TL_TRY(tl_infer_set_type(ctx, r, tl_value_type(ctx->m, list)));
  }
  return TL_OK;
}

/* Returns the node that makes the elements of operand 0, or those whose place they have taken. */
static tl_node_id list_of(const tl_infer *ctx) {
  enum { MOST_STEPS = 16 };
  tl_value_id v = tl_operand(ctx->m, ctx->node, 0);
  for (int i = 0; v && i < MOST_STEPS; i++) {
    tl_node_id n = tl_value_producer(ctx->m, v);
    if (!n || tl_node_get(ctx->m, n)->op == TL_OP_SequenceConstruct)
      return n;
    v = list_behind(ctx->m, n, tl_value_get(ctx->m, v)->index);
  }
  return TL_NO_NODE;
}

/* States result 0 as a sequence. */
static tl_status put_sequence(tl_infer *ctx, tl_type_id element) {
  tl_type_id type;
  TL_TRY(tl_infer_container(ctx, TL_KIND_SEQUENCE, element, &type));
  return tl_infer_set_type(ctx, 0, type);
}

/* The elements of a sequence have one type, the join of all operands. */
tl_status tl_infer_sequence_construct(tl_infer *ctx, uint32_t node) {
  uint32_t n = tl_infer_n_operands(ctx);
  tl_type_id element = operand_type(ctx, 0);
  (void)node;
  for (uint32_t i = 1; i < n; i++)
    TL_TRY(
        tl_infer_join(ctx, "an element of the sequence", element, operand_type(ctx, i), &element));
  return put_sequence(ctx, element);
}

tl_status tl_infer_sequence_empty(tl_infer *ctx, uint32_t node) {
  tl_dtype dtype;
  (void)node;
  TL_TRY(tl_infer_attr_dtype(ctx, TL_SYM_dtype, TL_DTYPE_F32, &dtype));
  tl_type_id element = tl_type_tensor(ctx->m, dtype, TL_RANK_UNKNOWN, NULL);
  return element == TL_NO_TYPE ? TL_NO_MEMORY : put_sequence(ctx, element);
}

/* SequenceInsert: sequence, tensor, position? Into an empty sequence the tensor alone decides. */
tl_status tl_infer_sequence_insert(tl_infer *ctx, uint32_t node) {
  tl_type_id element;
  (void)node;
  TL_TRY(sequence_element(ctx, 0, &element));
  tl_type_id joined;
  TL_TRY(tl_infer_join(ctx, "an element of the sequence", element, operand_type(ctx, 1), &joined));
  bool was_empty = made_by(ctx, 0, TL_OP_SequenceEmpty) != TL_NO_NODE;
  return put_sequence(ctx, was_empty ? operand_type(ctx, 1) : joined);
}

tl_status tl_infer_sequence_erase(tl_infer *ctx, uint32_t node) {
  tl_type_id element;
  (void)node;
  TL_TRY(sequence_element(ctx, 0, &element));
  return tl_infer_put_same(ctx, 0, 0);
}

/* Returns the length of part `position` of a SplitToSequence node that cuts `whole`; unknown when
 * only the run tells. */
static tl_dim part_at(tl_infer *ctx, tl_node_id split, tl_dim whole, int64_t position) {
  tl_node_id here = ctx->node;
  tl_dim length = TL_DIM_UNKNOWN;
  ctx->node = split; /* the readers of operands take the current node; it is put back below */
  tl_partial parts = {0};
  if (tl_infer_has(ctx, 1))
    parts = tl_infer_elems(ctx, 1);
  bool listed = tl_infer_rank(ctx, 1) == 1;
  ctx->node = here;
  if (!parts.at || position < 0)
    return TL_DIM_UNKNOWN;
  if (listed)
    return (uint64_t)position < parts.n ? tl_elem_dim(parts.at[position]) : TL_DIM_UNKNOWN;
  int64_t chunk = parts.n == 1 && parts.at[0].kind == TL_ELEM_INT ? parts.at[0].value : 0;
  if (whole >= 0 && chunk > 0 && position < whole / chunk)
    length = chunk;
  else if (whole >= 0 && chunk > 0 && position == whole / chunk && whole % chunk != 0)
    length = whole % chunk;
  return length;
}

/* States result 0 as one part of a split. */
static tl_status put_part(tl_infer *ctx, tl_node_id split, int64_t position, tl_type_id element) {
  tl_dim dims[TL_MAX_RANK];
  tl_type whole = *tl_type_get(ctx->m, tl_value_type(ctx->m, tl_operand(ctx->m, split, 0)));
  uint32_t axis;
  if (whole.kind != TL_KIND_TENSOR || whole.rank < 1 || tl_operand(ctx->m, split, 1) == TL_NO_VALUE)
    return tl_infer_set_type(ctx, 0, element);
  TL_TRY(tl_infer_axis(ctx, tl_node_attr_int(ctx->m, split, TL_SYM_axis, 0), whole.rank, &axis));
  memcpy(dims, whole.dims, (size_t)whole.rank * sizeof *dims);
  dims[axis] = part_at(ctx, split, dims[axis], position);
  return tl_infer_put(ctx, 0, (tl_dtype)whole.dtype, whole.rank, dims);
}

/* SequenceAt: sequence, position. */
tl_status tl_infer_sequence_at(tl_infer *ctx, uint32_t node) {
  tl_type_id element;
  int64_t position;
  (void)node;
  TL_TRY(sequence_element(ctx, 0, &element));
  if (!tl_infer_int(ctx, 1, &position))
    return tl_infer_set_type(ctx, 0, element);
  tl_node_id list = list_of(ctx);
  if (list != TL_NO_NODE) {
    int64_t n = tl_node_get(ctx->m, list)->n_operands;
    if (position < -n || position >= n)
      return tl_infer_fail(ctx, "position %lld is outside the sequence of %lld",
                           (long long)position, (long long)n);
    tl_value_id v = tl_operand(ctx->m, list, (uint32_t)(position < 0 ? position + n : position));
    return tl_infer_set_type(ctx, 0, tl_value_type(ctx->m, v));
  }
  tl_node_id split = made_by(ctx, 0, TL_OP_SplitToSequence);
  return split != TL_NO_NODE ? put_part(ctx, split, position, element)
                             : tl_infer_set_type(ctx, 0, element);
}

/* The length is known if the list is made right here. */
tl_status tl_infer_sequence_length(tl_infer *ctx, uint32_t node) {
  tl_type_id element;
  (void)node;
  TL_TRY(sequence_element(ctx, 0, &element));
  TL_TRY(tl_infer_put(ctx, 0, TL_DTYPE_I64, 0, NULL));
  tl_node_id list = made_by(ctx, 0, TL_OP_SequenceConstruct);
  if (list == TL_NO_NODE)
    return TL_OK;
  tl_elem n = {TL_ELEM_INT, tl_node_get(ctx->m, list)->n_operands};
  return tl_infer_set_elems(ctx, 0, &n, 1);
}

/* Gives the common length of the parts; unknown when they differ or are not known. */
static tl_status part_length(tl_infer *ctx, tl_dim whole, tl_dim *out) {
  tl_partial split = tl_infer_elems(ctx, 1);
  *out = TL_DIM_UNKNOWN;
  if (!split.at || split.n == 0)
    return TL_OK;
  tl_dim first = tl_elem_dim(split.at[0]);
  if (tl_infer_rank(ctx, 1) != 0) {
    for (uint32_t i = 1; i < split.n; i++)
      if (tl_elem_dim(split.at[i]) != first)
        return TL_OK;
    *out = first;
    return TL_OK;
  }
  if (split.at[0].kind == TL_ELEM_INT && split.at[0].value < 1)
    return tl_infer_fail(ctx, "split is %lld, expected at least 1", (long long)split.at[0].value);
  /* One number: equal chunks, of which the last may be shorter. */
  if (first > 0 && whole >= 0 && whole % first == 0)
    *out = first;
  return TL_OK;
}

/* SplitToSequence: input, split? Without split the parts are single slices. */
tl_status tl_infer_split_to_sequence(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  int rank = tl_infer_copy_dims(ctx, 0, dims);
  uint32_t axis = 0;
  if (rank != TL_RANK_UNKNOWN)
    TL_TRY(tl_infer_axis(ctx, tl_node_attr_int(ctx->m, node, TL_SYM_axis, 0), rank, &axis));
  if (rank != TL_RANK_UNKNOWN && tl_infer_has(ctx, 1)) {
    TL_TRY(part_length(ctx, dims[axis], &dims[axis]));
  } else if (rank != TL_RANK_UNKNOWN) {
    dims[axis] = 1;
    if (tl_node_attr_int(ctx->m, node, TL_SYM_keepdims, 1) == 0) {
      memmove(dims + axis, dims + axis + 1, ((size_t)rank - axis - 1) * sizeof *dims);
      rank--;
    }
  }
  tl_dtype dtype = tl_infer_dtype(ctx, 0);
  tl_type_id element = TL_NO_TYPE;
  if (dtype != TL_DTYPE_NONE || rank != TL_RANK_UNKNOWN) {
    element = tl_type_tensor(ctx->m, dtype, rank, dims);
    if (element == TL_NO_TYPE)
      return TL_NO_MEMORY;
  }
  return put_sequence(ctx, element);
}

/* Returns the length of the joined axis: the number of elements, or the sum of their dims. */
static tl_dim joined_length(tl_infer *ctx, uint32_t axis, bool fresh) {
  tl_node_id list = made_by(ctx, 0, TL_OP_SequenceConstruct);
  if (list == TL_NO_NODE)
    return TL_DIM_UNKNOWN;
  uint32_t n = tl_node_get(ctx->m, list)->n_operands;
  if (fresh)
    return n;
  tl_dim sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    const tl_type *t = tl_type_get(ctx->m, tl_value_type(ctx->m, tl_operand(ctx->m, list, i)));
    bool has = t->kind == TL_KIND_TENSOR && t->rank > (int)axis;
    sum = tl_dim_add(ctx->m, sum, has ? t->dims[axis] : TL_DIM_UNKNOWN);
  }
  return sum;
}

/* ConcatFromSequence: elements joined along an axis, an existing one or a new one. */
tl_status tl_infer_concat_from_sequence(tl_infer *ctx, uint32_t node) {
  tl_dim dims[TL_MAX_RANK];
  tl_type_id id;
  uint32_t axis;
  TL_TRY(sequence_element(ctx, 0, &id));
  tl_type element = *tl_type_get(ctx->m, id);
  if (element.kind != TL_KIND_TENSOR)
    return TL_OK;
  bool fresh = tl_node_attr_int(ctx->m, node, TL_SYM_new_axis, 0) != 0;
  if (element.rank == TL_RANK_UNKNOWN)
    return tl_infer_put(ctx, 0, (tl_dtype)element.dtype, TL_RANK_UNKNOWN, NULL);
  int rank = element.rank + fresh;
  if (rank > TL_MAX_RANK)
    return tl_infer_fail(ctx, "the result would have more than %d dims", TL_MAX_RANK);
  TL_TRY(tl_infer_axis(ctx, tl_node_attr_int(ctx->m, node, TL_SYM_axis, 0), rank, &axis));
  for (uint32_t i = 0, from = 0; i < (uint32_t)rank; i++) {
    dims[i] = i == axis ? joined_length(ctx, axis, fresh) : element.dims[from];
    from += i != axis || !fresh;
  }
  return tl_infer_put(ctx, 0, (tl_dtype)element.dtype, rank, dims);
}

/* Optional: input?, or the attribute type when it is absent. */
tl_status tl_infer_optional(tl_infer *ctx, uint32_t node) {
  const tl_attr *declared = tl_node_attr(ctx->m, node, TL_SYM_type);
  tl_type_id type = operand_type(ctx, 0);
  if (!tl_infer_has(ctx, 0)) {
    if (!declared || declared->kind != TL_ATTR_TYPE)
      return tl_infer_fail(
          ctx, "neither an operand nor the attribute type gives the type of the optional");
    type = declared->u.type;
  }
  TL_TRY(tl_infer_container(ctx, TL_KIND_OPTIONAL, type, &type));
  return tl_infer_set_type(ctx, 0, type);
}

/* OptionalGetElement: an operand that is no optional is passed on, as ONNX allows since opset
 * 18. */
tl_status tl_infer_optional_get(tl_infer *ctx, uint32_t node) {
  const tl_type *t = tl_infer_operand(ctx, 0);
  (void)node;
  return tl_infer_set_type(ctx, 0, t->kind == TL_KIND_OPTIONAL ? t->element : operand_type(ctx, 0));
}

tl_status tl_infer_optional_has(tl_infer *ctx, uint32_t node) {
  (void)node;
  return tl_infer_put(ctx, 0, TL_DTYPE_BOOL, 0, NULL);
}
