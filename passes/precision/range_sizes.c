/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the elements that reductions, norms and products sum, from static dims (range_sizes.h). */
#include "passes/precision/range_sizes.h"

#include "ir/ops_gen.h"
#include "passes/precision/range_rows.h"

/* Returns a dim as a number; 0 if it is unknown or out of range. A product with it is then 0. */
static double dim_at(const tl_type *t, int64_t axis) {
  axis += axis < 0 ? t->rank : 0;
  return axis < 0 || axis >= t->rank || !tl_dim_is_static(t->dims[axis]) ? 0
                                                                         : (double)t->dims[axis];
}

/* Returns the product of the dims from `axis` on; 0 if one is unknown. */
static double dims_from(const tl_type *t, int64_t axis) {
  double n = t->rank > 0 ? 1 : 0;
  for (int64_t i = axis < 0 ? axis + t->rank : axis; i < t->rank; i++)
    n *= dim_at(t, i);
  return n;
}

/* Returns the number of elements that a reduction combines; 0 if unknown. Absent or empty axes mean
 * all, unless noop_with_empty_axes is set. */
static double reduced_elements(const tl_module *m, tl_node_id n, const tl_type *x) {
  tl_value_id v = tl_operand(m, n, 1);
  const tl_tensor *axes = v ? tl_value_constant(m, v) : NULL;
  uint64_t count = axes ? tl_tensor_elements(m, axes) : 0;
  if (tl_range_op_of(m, n)->low > 0) /* the table gives the first axis */
    return dims_from(x, (int64_t)tl_range_op_of(m, n)->low);
  if (v && !axes)
    return 0;
  if (count == 0)
    return tl_node_attr_int(m, n, TL_SYM_noop_with_empty_axes, 0) ? 1 : dims_from(x, 0);
  double product = 1;
  for (uint64_t i = 0; i < count; i++) {
    int64_t axis;
    if (!tl_tensor_int_at(m, axes, i, &axis))
      return 0;
    product *= dim_at(x, axis);
  }
  return product;
}

double tl_range_combined(const tl_module *m, tl_node_id n) {
  const tl_range_op *row = tl_range_op_of(m, n);
  tl_value_id v = tl_operand(m, n, 0);
  const tl_type *x = tl_type_get(m, v ? tl_value_type(m, v) : TL_NO_TYPE);
  if (x->kind != TL_KIND_TENSOR || x->rank < 0)
    return 0;
  if (row->kind == TL_RANGE_NORM)
    return tl_node_attr_float(m, n, TL_SYM_epsilon, 0) < 0
               ? 0
               : dims_from(x, tl_node_attr_int(m, n, TL_SYM_axis, (int64_t)row->low));
  if (row->kind == TL_RANGE_MATMUL)
    return dim_at(x, tl_node_attr_int(m, n, TL_SYM_transA, 0) ? -2 : -1);
  if (row->kind == TL_RANGE_GEMM)
    return dim_at(x, tl_node_attr_int(m, n, TL_SYM_transA, 0) ? 0 : 1);
  if (row->kind >= TL_RANGE_CONV) { /* Conv: weights of one output channel; ConvTranspose: all
                                     * weights, an upper bound */
    tl_value_id f = tl_operand(m, n, 1);
    const tl_type *t = tl_type_get(m, f ? tl_value_type(m, f) : TL_NO_TYPE);
    bool plain = t->kind == TL_KIND_TENSOR && t->rank > 1;
    return plain ? dims_from(t, row->kind == TL_RANGE_CONV ? 1 : 0) : 0;
  }
  bool sums = row->kind >= TL_RANGE_SUM || (row->flags & TL_RANGE_DEEP);
  return sums ? reduced_elements(m, n, x) : 0;
}
