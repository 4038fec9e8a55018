/* SPDX-License-Identifier: Apache-2.0 */
/* What shape functions see: types of operands, partial values, and statements about results, which
 * are merged with what the model declared. */
#include "ir/infer/infer.h"

enum { MAX_TYPE_DEPTH = 16, SHOWN_OPERANDS = 4, MAX_FLOATS = 16 };

/* ---- operands ------------------------------------------------------------------------------- */

uint32_t tl_infer_n_operands(tl_infer *ctx) { return tl_node_get(ctx->m, ctx->node)->n_operands; }

uint32_t tl_infer_n_results(tl_infer *ctx) { return tl_node_get(ctx->m, ctx->node)->n_results; }

const tl_type *tl_infer_operand(tl_infer *ctx, uint32_t i) {
  return tl_type_get(ctx->m, tl_value_type(ctx->m, tl_operand(ctx->m, ctx->node, i)));
}

/* Sparse tensors have dtype and dims as well. */
static bool is_shaped(const tl_type *t) {
  return t->kind == TL_KIND_TENSOR || t->kind == TL_KIND_SPARSE_TENSOR;
}

tl_dtype tl_infer_dtype(tl_infer *ctx, uint32_t i) {
  const tl_type *t = tl_infer_operand(ctx, i);
  return is_shaped(t) ? (tl_dtype)t->dtype : TL_DTYPE_NONE;
}

int tl_infer_rank(tl_infer *ctx, uint32_t i) {
  const tl_type *t = tl_infer_operand(ctx, i);
  return is_shaped(t) ? t->rank : TL_RANK_UNKNOWN;
}

const tl_dim *tl_infer_dims(tl_infer *ctx, uint32_t i) {
  const tl_type *t = tl_infer_operand(ctx, i);
  return is_shaped(t) && t->rank > 0 ? t->dims : NULL;
}

/* ---- errors --------------------------------------------------------------------------------- */

/* Appends the first operands with their types to a message. */
static void describe_operands(tl_infer *ctx, tl_buf *out) {
  uint32_t n = tl_infer_n_operands(ctx);
  const char *before = " (";
  for (uint32_t i = 0; i < n && i < SHOWN_OPERANDS; i++) {
    tl_value_id v = tl_operand(ctx->m, ctx->node, i);
    if (!v)
      continue;
    tl_buf_add_z(out, before);
    before = ", ";
    tl_buf_add_quoted(out, tl_value_name(ctx->m, v));
    tl_buf_add_z(out, ": ");
    tl_type_print(ctx->m, tl_value_type(ctx->m, v), out);
  }
  if (before[0] == ',')
    tl_buf_add_z(out, n > SHOWN_OPERANDS ? ", ...)" : ")");
}

/* The types of operands are what the reader needs most. */
tl_status tl_infer_fail(tl_infer *ctx, const char *fmt, ...) {
  tl_buf text;
  tl_buf_init(&text);
  va_list ap;
  va_start(ap, fmt);
  tl_buf_vprintf(&text, fmt, ap);
  va_end(ap);
  const char *hint = text.n ? memchr(text.p, '\v', text.n) : NULL;
  tl_buf what;
  tl_buf_init(&what);
  tl_buf_add(&what, text.p, hint ? (size_t)(hint - text.p) : text.n);
  describe_operands(ctx, &what);
  if (hint)
    tl_buf_add(&what, hint, (size_t)(text.p + text.n - hint));
  bool failed = text.failed || what.failed;
  tl_sv shown = failed ? TL_SV("types or shapes do not fit") : tl_buf_view(&what);
  tl_status status = tl_fail(ctx->m->diag, TL_INVALID_MODEL, tl_node_where(ctx->m, ctx->node),
                             "%.*s", TL_SV_ARG(shown));
  tl_buf_release(&what);
  tl_buf_release(&text);
  return status;
}

tl_status tl_infer_axis(tl_infer *ctx, int64_t axis, int rank, uint32_t *out) {
  if (axis < -rank || axis >= rank)
    return tl_infer_fail(ctx, "axis %lld is outside [%d, %d]", (long long)axis, -rank, rank - 1);
  *out = (uint32_t)(axis < 0 ? axis + rank : axis);
  return TL_OK;
}

/* ---- statements about results --------------------------------------------------------------- */

/* Takes back what the model declared of a value, but for its dtype: it is wrong, and must not count
 * where a later visit of a body knows less. */
static tl_status forget_shape(tl_infer *ctx, tl_value_id v, tl_type_id declared) {
  if (v >= ctx->n_partials || ctx->declared[v] != declared + 1)
    return TL_OK;
  tl_type t = *tl_type_get(ctx->m, declared);
  t.rank = TL_RANK_UNKNOWN;
  t.dims = NULL;
  tl_type_id type = tl_type_intern(ctx->m, &t);
  if (type == TL_NO_TYPE)
    return TL_NO_MEMORY;
  ctx->declared[v] = type + 1;
  return TL_OK;
}

/* Warns that a value's declared shape is not what its operands give. */
static void warn_shape(tl_infer *ctx, tl_value_id v, tl_type_id declared, const tl_type *stated) {
  tl_type_id type = tl_type_intern(ctx->m, stated);
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_z(&text, "result ");
  tl_buf_add_quoted(&text, tl_value_name(ctx->m, v));
  tl_buf_add_z(&text, " is declared as ");
  tl_type_print(ctx->m, declared, &text);
  tl_buf_add_z(&text, ", but ");
  tl_type_print(ctx->m, type, &text);
  tl_buf_add_z(&text, " is computed; the declaration is ignored");
  if (!text.failed)
    tl_warn(ctx->m->diag, tl_node_where(ctx->m, ctx->node), "%.*s", TL_SV_ARG(tl_buf_view(&text)));
  tl_buf_release(&text);
}

/* A wrong dtype is an error, unlike a wrong shape: the elements would be read wrongly. */
static tl_status fail_dtype(tl_infer *ctx, tl_value_id v, unsigned declared, unsigned stated) {
  tl_sv name = tl_value_name(ctx->m, v);
  return tl_infer_fail(ctx, "result '%.*s' is declared as %s, but %s is computed", TL_SV_ARG(name),
                       tl_dtype_get((tl_dtype)declared)->name,
                       tl_dtype_get((tl_dtype)stated)->name);
}

/* Chooses between two names for one dim. Callers know the declared name of a graph output; inside
 * the graph the computed name is the one that other dims share. */
static tl_dim choose_symbol(tl_infer *ctx, tl_value_id v, tl_dim declared, tl_dim stated) {
  return declared != stated && tl_value_is_output(ctx->m, v) ? declared : stated;
}

/* Merges dims of equal rank into dims[]. False when two sizes differ: then all stated ones are
 * taken, since a declaration that is wrong about one dim proves nothing about the others. */
static bool merge_dims(tl_infer *ctx, tl_value_id v, const tl_type *declared, const tl_dim *stated,
                       tl_dim *dims) {
  bool agree = true;
  for (int i = 0; i < declared->rank; i++) {
    tl_dim d = declared->dims[i];
    if (tl_dim_is_symbol(d) && tl_dim_is_symbol(stated[i]))
      dims[i] = choose_symbol(ctx, v, d, stated[i]);
    else
      agree = tl_dim_merge(stated[i], d, &dims[i]) && agree;
  }
  if (!agree)
    memcpy(dims, stated, (size_t)declared->rank * sizeof *dims);
  return agree;
}

/* Spares interning in the usual case. */
static bool same_tensor(const tl_type *t, tl_dtype dtype, int rank, const tl_dim *dims) {
  return t->dtype == dtype && t->rank == rank &&
         (rank <= 0 || memcmp(t->dims, dims, (size_t)rank * sizeof *dims) == 0);
}

/* Merges a statement about a tensor with the type that the model declared, of id `declared`. */
static tl_status merge_tensor(tl_infer *ctx, tl_value_id v, tl_type_id declared, tl_type stated,
                              tl_type_id *out) {
  tl_dim dims[TL_MAX_RANK];
  bool agree = true;
  const tl_type *t = tl_type_get(ctx->m, declared);
  if (stated.dtype == TL_DTYPE_NONE)
    stated.dtype = t->dtype;
  if (t->dtype != TL_DTYPE_NONE && t->dtype != stated.dtype)
    return fail_dtype(ctx, v, t->dtype, stated.dtype);
  *out = declared;
  if (same_tensor(t, (tl_dtype)stated.dtype, stated.rank, stated.dims))
    return TL_OK;
  if (stated.rank < 0) {
    stated.rank = t->rank;
    stated.dims = t->dims;
  } else if (t->rank == stated.rank && t->rank > 0) {
    agree = merge_dims(ctx, v, t, stated.dims, dims);
    stated.dims = dims;
  } else if (t->rank >= 0 && t->rank != stated.rank) {
    agree = false;
  }
  if (!agree)
    warn_shape(ctx, v, declared, &stated);
  *out = tl_type_intern(ctx->m, &stated);
  if (*out == TL_NO_TYPE)
    return TL_NO_MEMORY;
  return agree ? TL_OK : forget_shape(ctx, v, declared);
}

/* Merges a stated type of any kind into the declared one; elements of sequences and optionals
 * likewise. */
static tl_status merge_type(tl_infer *ctx, tl_value_id v, tl_type_id declared, tl_type_id stated,
                            uint32_t depth, tl_type_id *out) {
  tl_type d = *tl_type_get(ctx->m, declared);
  tl_type s = *tl_type_get(ctx->m, stated);
  *out = declared == TL_NO_TYPE ? stated : declared;
  if (declared == stated || declared == TL_NO_TYPE || s.kind == TL_KIND_UNKNOWN)
    return TL_OK;
  if (d.kind != s.kind || depth > MAX_TYPE_DEPTH) {
    tl_sv name = tl_value_name(ctx->m, v);
    return tl_infer_fail(ctx, "result '%.*s' is declared as another kind of type than the op gives",
                         TL_SV_ARG(name));
  }
  if (is_shaped(&s))
    return merge_tensor(ctx, v, declared, s, out);
  if (s.kind != TL_KIND_SEQUENCE && s.kind != TL_KIND_OPTIONAL)
    return TL_OK;
  TL_TRY(merge_type(ctx, v, d.element, s.element, depth + 1, &s.element));
  *out = tl_type_intern(ctx->m, &s);
  return *out == TL_NO_TYPE ? TL_NO_MEMORY : TL_OK;
}

/* Returns the type that the value had before this run. */
static tl_type_id declared_type(tl_infer *ctx, tl_value_id v) {
  if (v >= ctx->n_partials)
    return tl_value_type(ctx->m, v);
  if (ctx->declared[v] == 0)
    ctx->declared[v] = tl_value_type(ctx->m, v) + 1;
  return ctx->declared[v] - 1;
}

/* A statement without dtype and rank leaves an undeclared value unknown. */
tl_status tl_infer_set(tl_infer *ctx, uint32_t i, tl_dtype dtype, int rank, const tl_dim *dims) {
  tl_value_id v = tl_result(ctx->m, ctx->node, i);
  if (v == TL_NO_VALUE)
    return TL_OK;
  tl_type_id declared = declared_type(ctx, v);
  tl_type_id type = declared;
  if (rank > TL_MAX_RANK)
    return tl_infer_fail(ctx, "result %u has rank %d, more than %d", i, rank, TL_MAX_RANK);
  tl_type stated = {.kind = TL_KIND_TENSOR,
                    .dtype = (uint8_t)dtype,
                    .rank = (int16_t)rank,
                    .dims = rank > 0 ? dims : NULL};
  unsigned kind = tl_type_get(ctx->m, declared)->kind;
  if (kind == TL_KIND_TENSOR) {
    TL_TRY(merge_tensor(ctx, v, declared, stated, &type));
  } else if (kind != TL_KIND_UNKNOWN) {
    tl_sv name = tl_value_name(ctx->m, v);
    return tl_infer_fail(ctx, "result '%.*s' is a tensor, but declared as another kind of type",
                         TL_SV_ARG(name));
  } else if (dtype != TL_DTYPE_NONE || rank >= 0) {
    type = tl_type_intern(ctx->m, &stated);
    if (type == TL_NO_TYPE)
      return TL_NO_MEMORY;
  }
  tl_value_get(ctx->m, v)->type = type;
  return TL_OK;
}

tl_status tl_infer_set_type(tl_infer *ctx, uint32_t i, tl_type_id stated) {
  tl_value_id v = tl_result(ctx->m, ctx->node, i);
  tl_type_id type;
  if (v == TL_NO_VALUE)
    return TL_OK;
  TL_TRY(merge_type(ctx, v, declared_type(ctx, v), stated, 0, &type));
  tl_value_get(ctx->m, v)->type = type;
  return TL_OK;
}

tl_status tl_infer_set_like(tl_infer *ctx, uint32_t i, uint32_t operand, tl_dtype dtype) {
  const tl_type *t = tl_infer_operand(ctx, operand);
  if (dtype == TL_DTYPE_NONE && t->kind != TL_KIND_TENSOR)
    return tl_infer_set_type(ctx, i, tl_value_type(ctx->m, tl_operand(ctx->m, ctx->node, operand)));
  return tl_infer_set(ctx, i, dtype == TL_DTYPE_NONE ? (tl_dtype)t->dtype : dtype,
                      tl_infer_rank(ctx, operand), tl_infer_dims(ctx, operand));
}

tl_dim *tl_infer_new_dims(tl_infer *ctx, uint32_t n) {
  return tl_arena_alloc(ctx->scratch, n * sizeof(tl_dim));
}

/* ---- partial values ------------------------------------------------------------------------- */

/* Reads an element that is a whole number; floats only where they are exact and not negative. */
static bool integral_at(const tl_module *m, const tl_tensor *t, uint64_t i, int64_t *out) {
  double v;
  if (tl_tensor_int_at(m, t, i, out))
    return true;
  /* Beyond 2^24 an f32 no longer holds every integer; not-a-number fails both comparisons. */
  if (!tl_tensor_float_at(m, t, i, &v) || !(v >= 0 && v <= 16777216.0))
    return false;
  *out = (int64_t)v;
  return (double)*out >= v && (double)*out <= v;
}

/* A constant is read once and kept as tracked; elems_left bounds what one run keeps. */
static tl_partial read_constant(tl_infer *ctx, const tl_tensor *t) {
  tl_partial none = {NULL, 0};
  uint64_t n;
  tl_dtype dtype = (tl_dtype)t->dtype;
  bool whole = tl_dtype_is_integer(dtype) || dtype == TL_DTYPE_BOOL;
  bool real = dtype == TL_DTYPE_F32 || dtype == TL_DTYPE_F64;
  uint32_t most = whole ? TL_MAX_PARTIAL : real ? MAX_FLOATS : 0;
  if (!tl_type_elements(ctx->m, t->type, &n) || n > most || (!whole && !real) ||
      n > ctx->elems_left)
    return none;
  tl_elem *at = tl_arena_calloc(ctx->scratch, n, sizeof *at);
  if (!at)
    return none;
  for (uint64_t i = 0; i < n; i++)
    if (integral_at(ctx->m, t, i, &at[i].value))
      at[i].kind = TL_ELEM_INT;
  ctx->elems_left -= (uint32_t)n;
  return (tl_partial){at, (uint32_t)n};
}

/* What was read of a constant is kept for the next node that uses it. */
tl_partial tl_infer_elems(tl_infer *ctx, uint32_t i) {
  tl_value_id v = tl_operand(ctx->m, ctx->node, i);
  bool tracked = v < ctx->n_partials;
  if (tracked && ctx->partials[v].at)
    return ctx->partials[v];
  const tl_tensor *t = tl_value_constant(ctx->m, v);
  tl_partial p = t ? read_constant(ctx, t) : (tl_partial){NULL, 0};
  if (tracked)
    ctx->partials[v] = p;
  return p;
}

bool tl_infer_all_tracked(tl_infer *ctx) {
  uint32_t n = tl_infer_n_operands(ctx);
  for (uint32_t i = 0; i < n; i++) {
    tl_value_id v = tl_operand(ctx->m, ctx->node, i);
    bool tracked = v < ctx->n_partials && ctx->partials[v].at;
    if (!v || (!tracked && tl_value_get(ctx->m, v)->kind != TL_VALUE_CONSTANT))
      return false;
  }
  return true;
}

bool tl_infer_ints(tl_infer *ctx, uint32_t i, tl_int_list *out) {
  tl_partial p = tl_infer_elems(ctx, i);
  int64_t *at = p.at ? tl_arena_alloc(ctx->scratch, p.n * sizeof *at) : NULL;
  if (!at)
    return false;
  for (uint32_t k = 0; k < p.n; k++) {
    if (p.at[k].kind != TL_ELEM_INT)
      return false;
    at[k] = p.at[k].value;
  }
  *out = (tl_int_list){at, p.n};
  return true;
}

bool tl_infer_int(tl_infer *ctx, uint32_t i, int64_t *out) {
  tl_partial p = tl_infer_elems(ctx, i);
  if (!p.at || p.n != 1 || p.at[0].kind != TL_ELEM_INT)
    return false;
  *out = p.at[0].value;
  return true;
}

/* True for an empty list too: its length is knowledge. */
static bool any_known(const tl_elem *at, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (at[i].kind != TL_ELEM_UNKNOWN)
      return true;
  return n == 0;
}

/* Elements of which none is known are not worth their room. */
tl_status tl_infer_set_elems(tl_infer *ctx, uint32_t i, const tl_elem *at, uint32_t n) {
  tl_value_id v = tl_result(ctx->m, ctx->node, i);
  if (v == TL_NO_VALUE || v >= ctx->n_partials || n > TL_MAX_PARTIAL || n > ctx->elems_left ||
      !any_known(at, n))
    return TL_OK;
  const void *copy = tl_arena_copy(ctx->scratch, at, n * sizeof *at);
  if (!copy)
    return TL_NO_MEMORY;
  ctx->elems_left -= n;
  ctx->partials[v] = (tl_partial){copy, n};
  return TL_OK;
}

/* ---- what else would do ---------------------------------------------------------------------- */

/* A body without inputs is a branch of an If; a loop's body has inputs. */
bool tl_infer_exists_once(const tl_module *m, tl_graph_id id) {
  const tl_graph *g = tl_graph_get(m, id);
  while (g->kind == TL_GRAPH_BODY && g->inputs.n == 0)
    g = tl_graph_get(m, tl_node_get(m, g->owner)->graph);
  return g->kind == TL_GRAPH_ROOT;
}

tl_status tl_infer_substitute(tl_infer *ctx, uint32_t i, const int64_t *at, uint32_t n) {
  tl_node_id node = ctx->node;
  if (!ctx->partials || !tl_infer_exists_once(ctx->m, tl_node_get(ctx->m, node)->graph))
    return TL_OK;
  tl_substitute s = {node, i, tl_tensor_i64s(ctx->m, at, n, 1)};
  return s.tensor && tl_substitute_vec_push(&ctx->m->substitutes, s) ? TL_OK : TL_NO_MEMORY;
}
