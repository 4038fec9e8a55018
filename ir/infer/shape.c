/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of ops that view data under another shape or repeat it: Reshape, Flatten,
 * Squeeze, Unsqueeze, Transpose, Expand, Tile. */
#include "ir/infer/infer.h"
#include "ir/infer/infer_gen.h"
#include "ir/ops_gen.h"

/* Tracks the operand's elements for a view of rank 0 or 1, which keeps their order. */
static tl_status keep_elems(tl_infer *ctx) {
  tl_value_id v = tl_operand(ctx->m, ctx->node, 0);
  bool worth = v < ctx->n_partials &&
               (ctx->partials[v].at || tl_value_get(ctx->m, v)->kind == TL_VALUE_CONSTANT);
  if (!worth)
    return TL_OK;
  tl_partial p = tl_infer_elems(ctx, 0);
  return p.at ? tl_infer_set_elems(ctx, 0, p.at, p.n) : TL_OK;
}

/* Returns the length of a rank-1 operand when it can be a rank, else TL_RANK_UNKNOWN. */
static int length_as_rank(tl_infer *ctx, uint32_t i) {
  if (tl_infer_rank(ctx, i) != 1)
    return TL_RANK_UNKNOWN;
  tl_dim n = tl_infer_dims(ctx, i)[0];
  return n >= 0 && n <= TL_MAX_RANK ? (int)n : TL_RANK_UNKNOWN;
}

/* States result 0 with a rank alone. */
static tl_status set_ranked(tl_infer *ctx, int rank) {
  tl_dim dims[TL_MAX_RANK];
  for (int i = 0; i < rank; i++)
    dims[i] = TL_DIM_UNKNOWN;
  return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims);
}

/* ---- Reshape -------------------------------------------------------------------------------- */

/* The target shape while it is resolved. Axes that copy a dim of the input (0) take no part in the
 * element count, since they are on both sides. */
typedef struct target {
  tl_dim dims[TL_MAX_RANK];
  bool copied[TL_MAX_RANK];
  int rank;
  int open;       /* the axis to compute from the others, -1 none */
  bool minus_one; /* the open axis was given as -1 */
} target;

/* Reads element i of the requested shape. */
static tl_status read_axis(tl_infer *ctx, target *t, int i, tl_elem e, bool zero_copies) {
  int rank = tl_infer_rank(ctx, 0);
  t->copied[i] = zero_copies && e.kind == TL_ELEM_INT && e.value == 0;
  t->dims[i] = tl_elem_dim(e);
  if (t->copied[i]) {
    if (rank >= 0 && i >= rank)
      return tl_infer_fail(ctx, "shape element %d is 0, but the input has only rank %d", i, rank);
    t->dims[i] = rank >= 0 ? tl_infer_dims(ctx, 0)[i] : TL_DIM_UNKNOWN;
  } else if (e.kind == TL_ELEM_INT && e.value < -1) {
    return tl_infer_fail(ctx, "shape element %d is %lld, expected -1 or a size", i,
                         (long long)e.value);
  } else if (e.kind == TL_ELEM_INT && e.value == -1) {
    if (t->minus_one)
      return tl_infer_fail(ctx, "shape elements %d and %d are both -1", t->open, i);
    t->minus_one = true;
    t->open = i;
  }
  return TL_OK;
}

/* When everything else is known, one unknown element is as good as -1. */
static void open_single_unknown(target *t, tl_partial p) {
  int unknown = -1;
  for (int i = 0; i < t->rank && !t->minus_one; i++) {
    if (p.at[i].kind != TL_ELEM_UNKNOWN)
      continue;
    if (unknown >= 0)
      return;
    unknown = i;
  }
  if (unknown >= 0)
    t->open = unknown;
}

/* Gives the dims of the input that the target does not copy. */
static uint32_t input_side(tl_infer *ctx, const target *t, tl_dim *out) {
  uint32_t n = 0;
  int rank = tl_infer_rank(ctx, 0);
  for (int i = 0; i < rank; i++)
    if (i >= t->rank || !t->copied[i])
      out[n++] = tl_infer_dims(ctx, 0)[i];
  return n;
}

/* Gives the dims of the target that count: neither copied nor open. */
static uint32_t target_side(const target *t, tl_dim *out) {
  uint32_t n = 0;
  for (int i = 0; i < t->rank; i++)
    if (i != t->open && !t->copied[i])
      out[n++] = t->dims[i];
  return n;
}

static bool all_static(const tl_dim *dims, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (dims[i] < 0)
      return false;
  return true;
}

static bool has_zero(const tl_dim *dims, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (dims[i] == 0)
      return true;
  return false;
}

/* A requested shape that is constant and does not fit is an error. A computed one is not: the graph
 * may never run with it, and runtimes load such models. What was asked for is then stated. */
static tl_status clash(tl_infer *ctx, const char *what) {
  if (tl_value_constant(ctx->m, tl_operand(ctx->m, ctx->node, 1)))
    return tl_infer_fail(ctx, "%s", what);
  return TL_OK;
}

/* Computes the open axis, or checks that both sides have as many elements. With a 0 among the sizes
 * no quotient exists, so both must have one. */
static tl_status resolve_target(tl_infer *ctx, target *t) {
  tl_dim over[TL_MAX_RANK];
  tl_dim under[TL_MAX_RANK];
  bool exact;
  if (tl_infer_rank(ctx, 0) < 0)
    return TL_OK;
  uint32_t n_over = input_side(ctx, t, over);
  uint32_t n_under = target_side(t, under);
  bool counted = all_static(over, n_over) && all_static(under, n_under);
  if (t->open < 0 && !counted)
    return TL_OK;
  if (t->open < 0 && (has_zero(over, n_over) || has_zero(under, n_under)))
    return has_zero(over, n_over) == has_zero(under, n_under)
               ? TL_OK
               : clash(ctx, "the input and the requested shape differ in elements");
  tl_dim d = tl_infer_quotient(ctx, over, n_over, under, n_under, &exact);
  if (t->open >= 0)
    t->dims[t->open] = d;
  bool fits = exact && (t->open >= 0 || d == 1 || d == TL_DIM_UNKNOWN);
  if (!fits && t->open >= 0)
    return clash(ctx, "the input does not divide evenly into the requested shape");
  return fits ? TL_OK : clash(ctx, "the input and the requested shape differ in elements");
}

/* Elements that are all numbers need no substitute: they are contents already. */
static bool some_computed(tl_partial p) {
  for (uint32_t i = 0; i < p.n; i++)
    if (p.at[i].kind != TL_ELEM_INT)
      return true;
  return false;
}

/* Finds a constant that does the same as a computed shape: its unknown elements are dims of the
 * input at the same place (0 copies them) but for one, which follows from the rest (-1). */
static tl_status substitute_target(tl_infer *ctx, tl_partial p) {
  int64_t at[TL_MAX_RANK];
  int open = 0;
  int rank = tl_infer_rank(ctx, 0);
  if (rank > 0 && has_zero(tl_infer_dims(ctx, 0), (uint32_t)rank))
    return TL_OK; /* nothing follows from no elements */
  for (int i = 0; i < (int)p.n; i++) {
    bool copied = p.at[i].kind == TL_ELEM_DIM && i < rank &&
                  tl_infer_dims(ctx, 0)[i] == p.at[i].value;
    at[i] = p.at[i].kind == TL_ELEM_INT ? p.at[i].value : copied ? 0 : -1;
    open += at[i] == -1;
  }
  return open <= 1 && some_computed(p) ? tl_infer_substitute(ctx, 1, at, p.n) : TL_OK;
}

tl_status tl_infer_reshape(tl_infer *ctx, uint32_t node) {
  target t = {.open = -1, .minus_one = false};
  tl_partial p = tl_infer_elems(ctx, 1);
  bool zero_copies = tl_node_attr_int(ctx->m, node, TL_SYM_allowzero, 0) == 0;
  if (!p.at || p.n > TL_MAX_RANK)
    return set_ranked(ctx, length_as_rank(ctx, 1));
  t.rank = (int)p.n;
  for (int i = 0; i < t.rank; i++)
    TL_TRY(read_axis(ctx, &t, i, p.at[i], zero_copies));
  open_single_unknown(&t, p);
  TL_TRY(resolve_target(ctx, &t));
  TL_TRY(tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), t.rank, t.dims));
  if (zero_copies)
    TL_TRY(substitute_target(ctx, p));
  return keep_elems(ctx);
}

/* Returns the product of dims[from..to). */
static tl_dim span(tl_infer *ctx, const tl_dim *dims, int from, int to) {
  bool exact;
  return tl_infer_quotient(ctx, dims + from, (uint32_t)(to - from), NULL, 0, &exact);
}

/* Two dims: the product before the axis and the one from it on. */
tl_status tl_infer_flatten(tl_infer *ctx, uint32_t node) {
  int rank = tl_infer_rank(ctx, 0);
  int64_t axis = tl_node_attr_int(ctx->m, node, TL_SYM_axis, 1);
  const tl_dim *in = tl_infer_dims(ctx, 0);
  if (rank < 0)
    return set_ranked(ctx, 2);
  if (axis < -rank || axis > rank)
    return tl_infer_fail(ctx, "axis %lld is outside [%d, %d]", (long long)axis, -rank, rank);
  int split = (int)(axis < 0 ? axis + rank : axis);
  tl_dim dims[2] = {split > 0 ? span(ctx, in, 0, split) : 1,
                    split < rank ? span(ctx, in, split, rank) : 1};
  return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), 2, dims);
}

/* ---- Squeeze, Unsqueeze, Transpose ---------------------------------------------------------- */

/* Marks the listed axes in a set over `rank` axes; each may be listed once. */
static tl_status mark_axes(tl_infer *ctx, tl_int_list axes, int rank, bool *marked) {
  memset(marked, 0, TL_MAX_RANK);
  for (uint32_t i = 0; i < axes.n; i++) {
    uint32_t axis;
    TL_TRY(tl_infer_axis(ctx, axes.at[i], rank, &axis));
    if (marked[axis])
      return tl_infer_fail(ctx, "axis %u is given twice", axis);
    marked[axis] = true;
  }
  return TL_OK;
}

/* Without axes every dim of size 1 goes; the rank is known only when all dims are. */
static tl_status squeeze_all(tl_infer *ctx) {
  tl_dim dims[TL_MAX_RANK];
  int rank = 0;
  for (int i = 0; i < tl_infer_rank(ctx, 0); i++) {
    tl_dim d = tl_infer_dims(ctx, 0)[i];
    if (d < 0)
      return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), TL_RANK_UNKNOWN, NULL);
    if (d != 1)
      dims[rank++] = d;
  }
  TL_TRY(tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims));
  return keep_elems(ctx);
}

tl_status tl_infer_squeeze(tl_infer *ctx, uint32_t node) {
  (void)node;
  bool marked[TL_MAX_RANK];
  tl_dim dims[TL_MAX_RANK];
  tl_int_list axes;
  int rank = tl_infer_rank(ctx, 0);
  int kept = 0;
  if (rank >= 0 && !tl_infer_has(ctx, 1))
    return squeeze_all(ctx);
  if (rank < 0 || !tl_infer_ints(ctx, 1, &axes)) {
    int removed = tl_infer_has(ctx, 1) ? length_as_rank(ctx, 1) : TL_RANK_UNKNOWN;
    return set_ranked(ctx, rank >= 0 && removed >= 0 && removed <= rank ? rank - removed
                                                                        : TL_RANK_UNKNOWN);
  }
  TL_TRY(mark_axes(ctx, axes, rank, marked));
  for (int i = 0; i < rank; i++) {
    tl_dim d = tl_infer_dims(ctx, 0)[i];
    if (marked[i] && d >= 0 && d != 1)
      return tl_infer_fail(ctx, "axis %d to squeeze has size %lld, expected 1", i, (long long)d);
    if (!marked[i])
      dims[kept++] = d;
  }
  TL_TRY(tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), kept, dims));
  return keep_elems(ctx);
}

/* Axes count in the result. */
tl_status tl_infer_unsqueeze(tl_infer *ctx, uint32_t node) {
  (void)node;
  bool marked[TL_MAX_RANK];
  tl_dim dims[TL_MAX_RANK];
  tl_int_list axes;
  int rank = tl_infer_rank(ctx, 0);
  int added = length_as_rank(ctx, 1);
  bool known = tl_infer_ints(ctx, 1, &axes);
  if (rank >= 0 && known)
    added = (int)(axes.n <= TL_MAX_RANK ? axes.n : TL_MAX_RANK);
  if (rank >= 0 && added >= 0 && rank + added > TL_MAX_RANK)
    return tl_infer_fail(ctx, "the result has rank %d, more than %d", rank + added, TL_MAX_RANK);
  if (rank < 0 || !known)
    return set_ranked(ctx, rank >= 0 && added >= 0 ? rank + added : TL_RANK_UNKNOWN);
  TL_TRY(mark_axes(ctx, axes, rank + added, marked));
  int from = 0;
  for (int i = 0; i < rank + added; i++)
    dims[i] = marked[i] ? 1 : tl_infer_dims(ctx, 0)[from++];
  TL_TRY(tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), rank + added, dims));
  return rank + added <= 1 ? keep_elems(ctx) : TL_OK;
}

/* Axes of Transpose count from the front: no runtime takes negative ones. */
static tl_status refuse_negative(tl_infer *ctx, tl_int_list perm) {
  for (uint32_t i = 0; i < perm.n; i++)
    if (perm.at[i] < 0)
      return tl_infer_fail(ctx, "attribute 'perm' has %lld; axes of Transpose count from 0",
                           (long long)perm.at[i]);
  return TL_OK;
}

/* Without perm the axes are reversed. */
tl_status tl_infer_transpose(tl_infer *ctx, uint32_t node) {
  bool marked[TL_MAX_RANK];
  tl_dim dims[TL_MAX_RANK];
  int rank = tl_infer_rank(ctx, 0);
  tl_int_list perm = tl_node_attr_ints(ctx->m, node, TL_SYM_perm);
  bool given = perm.at || tl_node_attr(ctx->m, node, TL_SYM_perm);
  TL_TRY(refuse_negative(ctx, perm));
  if (rank < 0)
    return set_ranked(ctx, perm.n > 0 && perm.n <= TL_MAX_RANK ? (int)perm.n : TL_RANK_UNKNOWN);
  if (given && perm.n != (uint32_t)rank)
    return tl_infer_fail(ctx, "attribute 'perm' has %u elements, expected %d", perm.n, rank);
  if (given)
    TL_TRY(mark_axes(ctx, perm, rank, marked));
  for (int i = 0; i < rank; i++) {
    int64_t from = given ? perm.at[i] : rank - 1 - i;
    dims[i] = tl_infer_dims(ctx, 0)[from];
  }
  TL_TRY(tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims));
  return rank <= 1 ? keep_elems(ctx) : TL_OK;
}

/* ConfusionTranspose: a reshape to the attribute shape, before or behind a transpose by perm. */
tl_status tl_infer_confusion_transpose(tl_infer *ctx, uint32_t node) {
  bool marked[TL_MAX_RANK];
  tl_dim dims[TL_MAX_RANK];
  tl_int_list perm = tl_node_attr_ints(ctx->m, node, TL_SYM_perm);
  tl_int_list shape = tl_node_attr_ints(ctx->m, node, TL_SYM_shape);
  bool last = tl_node_attr_int(ctx->m, node, TL_SYM_transpose_first, 0) != 0;
  if (shape.n > TL_MAX_RANK || perm.n > TL_MAX_RANK || (!last && perm.n != shape.n))
    return tl_infer_fail(ctx, "attribute 'perm' has %u elements, 'shape' %u", perm.n, shape.n);
  TL_TRY(mark_axes(ctx, perm, (int)perm.n, marked));
  for (uint32_t i = 0; i < shape.n; i++) {
    int64_t from = last ? (int64_t)i : perm.at[i] < 0 ? perm.at[i] + perm.n : perm.at[i];
    if (shape.at[from] < 0)
      return tl_infer_fail(ctx, "attribute 'shape' has a size below 0");
    dims[i] = shape.at[from];
  }
  return tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), (int)shape.n, dims);
}

/* ---- Expand, Tile --------------------------------------------------------------------------- */

/* Tracks one element, or as many as there are, repeated to a rank-1 result of known length. */
static tl_status repeat_elem(tl_infer *ctx, int rank, const tl_dim *dims) {
  tl_elem at[TL_MAX_PARTIAL];
  if (rank > 1 || (rank == 1 && (dims[0] < 0 || dims[0] > TL_MAX_PARTIAL)))
    return TL_OK;
  tl_partial p = tl_infer_elems(ctx, 0);
  uint32_t n = rank == 1 ? (uint32_t)dims[0] : 1;
  if (!p.at || p.n == 0 || (p.n != 1 && p.n != n))
    return TL_OK;
  for (uint32_t i = 0; i < n; i++)
    at[i] = p.at[p.n == 1 ? 0 : i];
  return tl_infer_set_elems(ctx, 0, at, n);
}

/* Finds a constant for a computed shape of Expand: an unknown size that the operand has already can
 * be 1. */
static tl_status substitute_sizes(tl_infer *ctx, tl_partial p) {
  int64_t at[TL_MAX_RANK];
  int rank = tl_infer_rank(ctx, 0);
  for (int i = 0; i < (int)p.n; i++) {
    int axis = i - (int)p.n + rank;
    bool kept = p.at[i].kind == TL_ELEM_DIM && axis >= 0 &&
                tl_infer_dims(ctx, 0)[axis] == p.at[i].value;
    if (p.at[i].kind != TL_ELEM_INT && !kept)
      return TL_OK;
    at[i] = kept ? 1 : p.at[i].value;
  }
  return some_computed(p) ? tl_infer_substitute(ctx, 1, at, p.n) : TL_OK;
}

/* Expand broadcasts both ways: a 1 in the shape keeps the operand's dim. */
tl_status tl_infer_expand(tl_infer *ctx, uint32_t node) {
  (void)node;
  tl_dim shape[TL_MAX_RANK];
  tl_dim dims[TL_MAX_RANK];
  int rank = tl_infer_rank(ctx, 0);
  tl_partial p = tl_infer_elems(ctx, 1);
  int wanted = p.at && p.n <= TL_MAX_RANK ? (int)p.n : length_as_rank(ctx, 1);
  for (int i = 0; i < wanted; i++)
    shape[i] = p.at ? tl_elem_dim(p.at[i]) : TL_DIM_UNKNOWN;
  TL_TRY(tl_infer_broadcast_dims(ctx, (tl_infer_view){rank, tl_infer_dims(ctx, 0)},
                                 (tl_infer_view){wanted, shape}, &rank, dims));
  TL_TRY(tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims));
  if (p.at && rank >= 0 && wanted == (int)p.n && tl_infer_rank(ctx, 0) >= 0)
    TL_TRY(substitute_sizes(ctx, p));
  return rank >= 0 ? repeat_elem(ctx, rank, dims) : TL_OK;
}

/* Unknown repeats leave the rank. */
tl_status tl_infer_tile(tl_infer *ctx, uint32_t node) {
  (void)node;
  tl_dim dims[TL_MAX_RANK];
  int rank = tl_infer_rank(ctx, 0);
  tl_partial p = tl_infer_elems(ctx, 1);
  if (rank < 0)
    return set_ranked(ctx, length_as_rank(ctx, 1));
  if (p.at && p.n != (uint32_t)rank)
    return tl_infer_fail(ctx, "there are %u repeats for rank %d", p.n, rank);
  for (int i = 0; i < rank; i++) {
    if (p.at && p.at[i].kind == TL_ELEM_INT && p.at[i].value < 0)
      return tl_infer_fail(ctx, "repeat %d is %lld, expected at least 0", i,
                           (long long)p.at[i].value);
    dims[i] = p.at ? tl_dim_mul(ctx->m, tl_infer_dims(ctx, 0)[i], tl_elem_dim(p.at[i]))
                   : TL_DIM_UNKNOWN;
  }
  TL_TRY(tl_infer_set(ctx, 0, tl_infer_dtype(ctx, 0), rank, dims));
  return TL_OK;
}
