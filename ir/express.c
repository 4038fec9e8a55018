/* SPDX-License-Identifier: Apache-2.0 */
/* Turns nodes on constants into computed tensors. Views read plain bytes: a view of a computed
 * tensor becomes the computation of views, so that elements far apart are not computed one by
 * one. */
#include "ir/express.h"

#include "ir/express_gen.h"
#include "ir/ops_gen.h"

enum { MIN_RUN = 64 }; /* elements in a row that make a view of a computed tensor worthwhile */

/* Adds the tensor of an expression, unless it is not allowed. */
static tl_tensor_id add(tl_express *ctx, tl_type_id type, const tl_tensor_expr *e) {
  return tl_tensor_expr_problem(ctx->m, type, e) ? TL_NO_TENSOR
                                                 : tl_tensor_express(ctx->m, type, e);
}

/* ---- views ----------------------------------------------------------------------------------- */

/* A strided view; strides and start are in elements. */
typedef struct view {
  uint64_t start;
  int rank;
  int64_t dims[TL_MAX_RANK];
  int64_t strides[TL_MAX_RANK];
} view;

/* Drops dims of size 1 and merges those that continue each other; false when too many are left. */
static bool collapse(view *v) {
  int n = 0;
  for (int i = 0; i < v->rank; i++) {
    if (v->dims[i] == 1)
      continue;
    if (n && v->strides[n - 1] == v->strides[i] * v->dims[i]) {
      v->dims[n - 1] *= v->dims[i];
      v->strides[n - 1] = v->strides[i];
    } else {
      v->dims[n] = v->dims[i];
      v->strides[n++] = v->strides[i];
    }
  }
  if (n == 0) {
    v->dims[0] = 1;
    v->strides[n++] = 0;
  }
  v->rank = n;
  return n <= TL_TENSOR_EXPR_MAX_RANK;
}

/* Reading a computed tensor element by element would compute blocks for single elements. */
static bool runs_long(const view *v) {
  return v->strides[v->rank - 1] == 1 && v->dims[v->rank - 1] >= MIN_RUN;
}

/* Returns the axis of a view that a step in its row-major elements moves along, -1 for none.
 * *per_axis: the step along that axis. */
static int axis_of(const tl_tensor_expr *e, int64_t step, int64_t *per_axis) {
  int64_t row = 1;
  int found = -1;
  for (int i = e->rank - 1; i >= 0 && row <= (step < 0 ? -step : step); i--) {
    if (step % row == 0) {
      found = i;
      *per_axis = step / row;
    }
    row *= e->dims[i];
  }
  return found;
}

/* Turns v, over the elements of the view `e`, into a view over the source of `e`. False when an
 * axis of v does not stay on one axis of `e`. */
static bool compose(const tl_tensor_expr *e, view *v) {
  int64_t low[TL_TENSOR_EXPR_MAX_RANK];
  int64_t high[TL_TENSOR_EXPR_MAX_RANK];
  uint64_t rest = v->start;
  uint64_t start = e->start;
  for (int i = e->rank - 1; i >= 0; i--) {
    low[i] = high[i] = (int64_t)(rest % (uint64_t)e->dims[i]);
    rest /= (uint64_t)e->dims[i];
    start += (uint64_t)low[i] * (uint64_t)e->strides[i];
  }
  for (int i = 0; i < v->rank; i++) {
    int64_t step = 0;
    int axis = v->strides[i] ? axis_of(e, v->strides[i], &step) : 0;
    if (axis < 0)
      return false;
    low[axis] += step < 0 ? step * (v->dims[i] - 1) : 0;
    high[axis] += step > 0 ? step * (v->dims[i] - 1) : 0;
    if (low[axis] < 0 || high[axis] >= e->dims[axis])
      return false;
    v->strides[i] = step * e->strides[axis];
  }
  v->start = start;
  return true;
}

/* Returns the type with the result's shape and the tensor's element type. */
static tl_type_id retype(tl_express *ctx, const tl_tensor *t) {
  tl_type type = *tl_type_get(ctx->m, ctx->type);
  return tl_type_tensor(ctx->m, (tl_dtype)t->dtype, type.rank, type.dims);
}

/* Returns true for a cast from elements smaller than a byte, which no view can take apart. */
static bool unpacks(const tl_tensor_expr *e) {
  return e->kind == TL_TENSOR_EXPR_CAST && tl_dtype_get((tl_dtype)e->sources[0]->dtype)->bits < 8;
}

/* Makes the tensor of v, which is collapsed, over t, with the result's shape. Recursion is bounded
 * by the depth of expressions. */
static tl_tensor_id view_of(tl_express *ctx, const tl_tensor *t, const view *v) {
  const tl_tensor *sources[2];
  tl_tensor_expr e = {.kind = TL_TENSOR_EXPR_VIEW,
                      .rank = v->rank,
                      .start = v->start,
                      .n_sources = 1,
                      .sources = sources};
  tl_type_id type = retype(ctx, t);
  if (type == TL_NO_TYPE || t->kind == TL_SOURCE_STRINGS)
    return TL_NO_TENSOR;
  const tl_tensor_expr *inner = t->kind == TL_SOURCE_EXPR ? t->u.expr : NULL;
  bool moves = inner && (inner->kind == TL_TENSOR_EXPR_VIEW ||
                         inner->kind == TL_TENSOR_EXPR_CONCAT || unpacks(inner));
  if (!inner || (moves && runs_long(v))) {
    memcpy(e.dims, v->dims, (size_t)v->rank * sizeof *e.dims);
    memcpy(e.strides, v->strides, (size_t)v->rank * sizeof *e.strides);
    sources[0] = t;
    return add(ctx, type, &e);
  }
  view composed = *v;
  if (inner->kind == TL_TENSOR_EXPR_VIEW && compose(inner, &composed))
    return collapse(&composed) ? view_of(ctx, inner->sources[0], &composed) : TL_NO_TENSOR;
  if (moves)
    return TL_NO_TENSOR;
  e.kind = inner->kind;
  e.n_sources = inner->n_sources;
  for (uint32_t i = 0; i < inner->n_sources; i++) {
    tl_tensor_id id = view_of(ctx, inner->sources[i], v);
    if (id == TL_NO_TENSOR)
      return TL_NO_TENSOR;
    sources[i] = tl_tensor_get(ctx->m, id);
  }
  return add(ctx, type, &e);
}

/* Returns true when the view is the tensor itself. */
static bool is_whole(const view *v, uint64_t elements) {
  return v->start == 0 && v->rank == 1 && v->strides[0] == 1 && (uint64_t)v->dims[0] == elements;
}

/* Adds the tensor with the result's shape, over the same data. */
static tl_tensor_id same_bytes(tl_express *ctx, const tl_tensor *t) {
  tl_tensor copy = *t;
  copy.type = retype(ctx, t);
  copy.name = 0;
  return copy.type == TL_NO_TYPE ? TL_NO_TENSOR : tl_tensor_add(ctx->m, &copy);
}

/* Makes the tensor of a view, unless it has too many dims. */
static tl_tensor_id take_view(tl_express *ctx, const tl_tensor *t, view *v) {
  if (!collapse(v))
    return TL_NO_TENSOR;
  return is_whole(v, tl_tensor_elements(ctx->m, t)) ? same_bytes(ctx, t) : view_of(ctx, t, v);
}

/* Gives the row-major strides of a tensor's own shape; returns the rank. */
static int own_strides(const tl_module *m, const tl_tensor *t, int64_t *strides) {
  const tl_type *type = tl_type_get(m, t->type);
  int64_t step = 1;
  for (int i = type->rank - 1; i >= 0; i--) {
    strides[i] = step;
    step *= type->dims[i];
  }
  return type->rank;
}

/* ---- ops that move --------------------------------------------------------------------------- */

/* Reshape and its kin: the elements stay in order. */
tl_tensor_id tl_express_same(tl_express *ctx) {
  uint64_t n;
  bool fits = tl_type_elements(ctx->m, ctx->type, &n) &&
              n == tl_tensor_elements(ctx->m, ctx->in[0]) &&
              ctx->in[0]->dtype == tl_type_dtype(ctx->m, ctx->type);
  return fits ? same_bytes(ctx, ctx->in[0]) : TL_NO_TENSOR;
}

tl_tensor_id tl_express_transpose(tl_express *ctx) {
  int64_t strides[TL_MAX_RANK];
  view v = {.start = 0};
  tl_int_list perm = tl_node_attr_ints(ctx->m, ctx->node, TL_SYM_perm);
  const tl_type *type = tl_type_get(ctx->m, ctx->in[0]->type);
  v.rank = own_strides(ctx->m, ctx->in[0], strides);
  if (perm.at && perm.n != (uint32_t)v.rank)
    return TL_NO_TENSOR;
  for (int i = 0; i < v.rank; i++) {
    int64_t axis = perm.at ? perm.at[i] : v.rank - 1 - i;
    if (axis < 0 || axis >= v.rank)
      return TL_NO_TENSOR;
    v.dims[i] = type->dims[axis];
    v.strides[i] = strides[axis];
  }
  return take_view(ctx, ctx->in[0], &v);
}

/* Reads element i of a list operand, `fallback` when the operand is absent. */
static bool read_int(const tl_express *ctx, uint32_t operand, uint64_t i, int64_t fallback,
                     int64_t *out) {
  *out = fallback;
  return operand >= ctx->n_in || !ctx->in[operand] ||
         tl_tensor_int_at(ctx->m, ctx->in[operand], i, out);
}

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

/* Narrows the axis that element i of the lists of Slice names. */
static bool slice_axis(const tl_express *ctx, uint64_t i, view *v) {
  int64_t from;
  int64_t to;
  int64_t axis;
  int64_t step;
  if (!read_int(ctx, 1, i, 0, &from) || !read_int(ctx, 2, i, 0, &to) ||
      !read_int(ctx, 3, i, (int64_t)i, &axis) || !read_int(ctx, 4, i, 1, &step))
    return false;
  axis += axis < 0 ? v->rank : 0;
  if (axis < 0 || axis >= v->rank || step == 0 || step < INT32_MIN || step > INT32_MAX)
    return false;
  int64_t n = v->dims[axis];
  from = clamp(from < 0 && from >= -n ? from + n : from, step < 0 ? -1 : 0, step < 0 ? n - 1 : n);
  to = clamp(to < 0 && to >= -n ? to + n : to, step < 0 ? -1 : 0, n);
  int64_t count = step > 0 ? (to - from + step - 1) / step : (from - to - step - 1) / -step;
  if (count < 1)
    return false;
  v->start += (uint64_t)(from * v->strides[axis]);
  v->dims[axis] = count;
  v->strides[axis] *= count > 1 ? step : 1; /* the step of a single element is never taken */
  return true;
}

tl_tensor_id tl_express_slice(tl_express *ctx) {
  view v = {.start = 0};
  v.rank = own_strides(ctx->m, ctx->in[0], v.strides);
  if (v.rank < 1 || ctx->n_in < 3 || !ctx->in[1] || !ctx->in[2])
    return TL_NO_TENSOR;
  memcpy(v.dims, tl_type_get(ctx->m, ctx->in[0]->type)->dims, (size_t)v.rank * sizeof *v.dims);
  uint64_t n = tl_tensor_elements(ctx->m, ctx->in[1]);
  for (uint64_t i = 0; i < n; i++)
    if (!slice_axis(ctx, i, &v))
      return TL_NO_TENSOR;
  return take_view(ctx, ctx->in[0], &v);
}

/* The dims before the axis count the pieces. */
tl_tensor_id tl_express_concat(tl_express *ctx) {
  const tl_type *type = tl_type_get(ctx->m, ctx->type);
  int64_t axis = tl_node_attr_int(ctx->m, ctx->node, TL_SYM_axis, 0);
  tl_tensor_expr e = {
      .kind = TL_TENSOR_EXPR_CONCAT, .outer = 1, .n_sources = ctx->n_in, .sources = ctx->in};
  axis += axis < 0 ? type->rank : 0;
  if (axis < 0 || axis >= type->rank)
    return TL_NO_TENSOR;
  for (int64_t i = 0; i < axis; i++)
    e.outer *= (uint64_t)type->dims[i];
  for (uint32_t i = 0; i < ctx->n_in; i++)
    if (!ctx->in[i])
      return TL_NO_TENSOR;
  return add(ctx, ctx->type, &e);
}

/* ConstantOfShape: a view that repeats one element with stride 0. */
tl_tensor_id tl_express_fill(tl_express *ctx) {
  const float zero = 0;
  tl_tensor_expr e = {.kind = TL_TENSOR_EXPR_VIEW, .rank = 1, .n_sources = 1};
  const tl_attr *a = tl_node_attr(ctx->m, ctx->node, TL_SYM_value);
  tl_tensor_id value = a && a->kind == TL_ATTR_TENSOR ? a->u.t
                                                      : tl_tensor_f32s(ctx->m, &zero, 1, 1);
  const tl_tensor *source = value ? tl_tensor_get(ctx->m, value) : NULL;
  uint64_t n;
  if (!source || source->kind == TL_SOURCE_STRINGS || tl_tensor_elements(ctx->m, source) != 1 ||
      !tl_type_elements(ctx->m, ctx->type, &n) || n > INT64_MAX ||
      source->dtype != tl_type_dtype(ctx->m, ctx->type))
    return TL_NO_TENSOR;
  e.dims[0] = (int64_t)n;
  e.sources = &source;
  return add(ctx, ctx->type, &e);
}

/* ---- ops that compute ------------------------------------------------------------------------ */

tl_tensor_id tl_express_cast(tl_express *ctx) {
  tl_tensor_expr e = {.kind = TL_TENSOR_EXPR_CAST, .n_sources = 1, .sources = ctx->in};
  return add(ctx, ctx->type, &e);
}

/* Returns an operand broadcast to the result's shape, NULL when that cannot be expressed. */
static const tl_tensor *spread(tl_express *ctx, const tl_tensor *t) {
  int64_t own[TL_MAX_RANK];
  view v = {.start = 0};
  const tl_type *type = tl_type_get(ctx->m, ctx->type);
  const tl_type *from = tl_type_get(ctx->m, t->type);
  uint64_t n;
  if (tl_type_elements(ctx->m, ctx->type, &n) && n == tl_tensor_elements(ctx->m, t))
    return t;
  int rank = own_strides(ctx->m, t, own);
  v.rank = type->rank;
  for (int i = 0; i < v.rank; i++) {
    int axis = i - v.rank + rank;
    v.dims[i] = type->dims[i];
    v.strides[i] = axis >= 0 && from->dims[axis] != 1 ? own[axis] : 0;
    if (axis >= 0 && from->dims[axis] != 1 && from->dims[axis] != type->dims[i])
      return NULL;
  }
  tl_tensor_id id = rank > v.rank ? TL_NO_TENSOR : take_view(ctx, t, &v);
  return id ? tl_tensor_get(ctx->m, id) : NULL;
}

tl_tensor_id tl_express_arithmetic(tl_express *ctx) {
  const tl_tensor *sources[2] = {NULL, NULL};
  tl_tensor_expr e = {.kind = (uint8_t)ctx->arg, .n_sources = 2, .sources = sources};
  if (ctx->n_in != 2)
    return TL_NO_TENSOR;
  for (uint32_t i = 0; i < 2; i++) {
    tl_dtype d = ctx->in[i] ? (tl_dtype)ctx->in[i]->dtype : TL_DTYPE_NONE;
    bool fits = tl_dtype_is_float(d) || d == TL_DTYPE_I8 || d == TL_DTYPE_U8;
    sources[i] = fits ? spread(ctx, ctx->in[i]) : NULL;
    if (!sources[i])
      return TL_NO_TENSOR;
  }
  return add(ctx, ctx->type, &e);
}

_Static_assert(TL_TENSOR_EXPR_ADD == 3 && TL_TENSOR_EXPR_SUB == 4 && TL_TENSOR_EXPR_MUL == 5 &&
                   TL_TENSOR_EXPR_DIV == 6 && TL_TENSOR_EXPR_MIN == 7 && TL_TENSOR_EXPR_MAX == 8,
               "the lines `express arithmetic N` of ir/ops/onnx_math.tbl");

/* ---- any node -------------------------------------------------------------------------------- */

bool tl_op_is_expressible(tl_op_id op) { return op < TL_N_OPS && tl_express_rows[op].fn; }

tl_tensor_id tl_node_express(tl_module *m, tl_node_id n, const tl_tensor *const *in) {
  const tl_node *node = tl_node_get(m, n);
  const tl_op *row = tl_op_row(node->op);
  tl_express ctx = {.m = m,
                    .node = n,
                    .in = in,
                    .n_in = node->n_operands,
                    .type = tl_value_type(m, tl_result(m, n, 0))};
  uint64_t elements;
  if (!row || !tl_op_is_expressible(node->op) || node->n_operands < row->min_operands || !in[0] ||
      in[0]->kind == TL_SOURCE_STRINGS || !tl_type_elements(m, ctx.type, &elements) ||
      elements == 0 || tl_tensor_elements(m, in[0]) == 0)
    return TL_NO_TENSOR;
  ctx.arg = tl_express_rows[node->op].arg;
  return tl_express_rows[node->op].fn(&ctx);
}
