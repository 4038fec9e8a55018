/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions over tensors: checking and building. tensor_read.c computes their elements. An
 * expression that is built has passed all checks, so that the reader needs none. */
#include "ir/tensor_expr.h"

#include "ir/module.h"
#include "support/hash.h"

/* Upper bound on the bytes of a result: one line of text can ask for any size, but what is written
 * must have an end. */
static const uint64_t most_bytes = UINT64_C(1) << 40;

static const char *const kind_names[TL_N_TENSOR_EXPR_KINDS] = {
    "cast", "view", "concat", "add", "sub", "mul", "div", "min", "max", "clamp"};

const char *tl_tensor_expr_kind_name(tl_tensor_expr_kind kind) { return kind_names[kind]; }

/* ---- what may be expressed ------------------------------------------------------------------- */

/* Relies on the order of the enumeration. */
static bool is_binary(unsigned kind) {
  return kind >= TL_TENSOR_EXPR_ADD && kind <= TL_TENSOR_EXPR_MAX;
}

/* Returns true for the floats that arithmetic is done in. */
static bool is_computed_with(unsigned dtype) {
  return dtype == TL_DTYPE_F32 || dtype == TL_DTYPE_F16 || dtype == TL_DTYPE_BF16 ||
         dtype == TL_DTYPE_F64;
}

static bool is_byte(unsigned dtype) { return dtype == TL_DTYPE_I8 || dtype == TL_DTYPE_U8; }

/* Returns true if the arithmetic is defined for the dtype. Sums of bytes wrap, as in any
 * runtime. */
static bool can_combine(unsigned kind, unsigned dtype) {
  bool scales = kind == TL_TENSOR_EXPR_MUL || kind == TL_TENSOR_EXPR_DIV;
  bool chooses = kind == TL_TENSOR_EXPR_MIN || kind == TL_TENSOR_EXPR_MAX;
  return (is_computed_with(dtype) && !chooses) || (is_byte(dtype) && !scales);
}

static bool is_nibble(unsigned dtype) { return dtype == TL_DTYPE_I4 || dtype == TL_DTYPE_U4; }

/* Returns true for casts that round once or not at all. f64 to bf16 would round twice, by way of
 * f32. */
static bool can_cast(unsigned from, unsigned to) {
  if ((is_byte(from) || is_nibble(from)) && is_byte(to))
    return true;
  if (is_computed_with(from) && is_computed_with(to))
    return !(from == TL_DTYPE_F64 && to == TL_DTYPE_BF16);
  bool ints = (from == TL_DTYPE_I64 || from == TL_DTYPE_I32) &&
              (to == TL_DTYPE_I64 || to == TL_DTYPE_I32);
  return ints || ((is_byte(from) || is_nibble(from) || from == TL_DTYPE_I32) &&
                  (to == TL_DTYPE_F32 || to == TL_DTYPE_F64));
}

static bool can_clamp(unsigned from, unsigned to) {
  return is_computed_with(from) && is_computed_with(to) && from != TL_DTYPE_F64 &&
         to != TL_DTYPE_F64;
}

/* Returns true if a source of dtype `from` may be in an expression of this kind and dtype `to`;
 * only casts and clamps change the dtype. */
static bool fits_source(unsigned kind, unsigned from, unsigned to) {
  if (kind == TL_TENSOR_EXPR_CAST)
    return can_cast(from, to);
  return kind == TL_TENSOR_EXPR_CLAMP ? can_clamp(from, to) : from == to;
}

/* Returns 0 for elements that are no whole bytes. */
static size_t element_size(unsigned dtype) {
  unsigned bits = tl_dtype_get((tl_dtype)dtype)->bits;
  return bits % 8 ? 0 : bits / 8;
}

/* Returns what is wrong with a view, or NULL. The least and the greatest element that it reaches
 * are followed dim by dim; both must be in the source. */
static const char *view_problem(const tl_tensor_expr *e, uint64_t elements, uint64_t available) {
  uint64_t product = 1;
  if (e->rank < 1 || e->rank > TL_TENSOR_EXPR_MAX_RANK)
    return "the view has no dims, or too many";
  if (e->start >= available)
    return "the view starts outside its source";
  uint64_t low = e->start;
  uint64_t high = e->start;
  for (int i = 0; i < e->rank; i++) {
    uint64_t reach;
    uint64_t step = e->strides[i] < 0 ? 0 - (uint64_t)e->strides[i] : (uint64_t)e->strides[i];
    if (e->dims[i] < 1 || __builtin_mul_overflow(product, (uint64_t)e->dims[i], &product) ||
        __builtin_mul_overflow((uint64_t)e->dims[i] - 1, step, &reach))
      return "the view is too large";
    if (e->strides[i] < 0 ? reach > low : reach >= available - high)
      return "the view leaves its source";
    low -= e->strides[i] < 0 ? reach : 0;
    high += e->strides[i] < 0 ? 0 : reach;
  }
  return product == elements ? NULL : "the view does not have as many elements as its type";
}

/* Returns what is wrong with a concatenation, or NULL. Each source is cut into `outer` pieces of
 * equal size. */
static const char *concat_problem(const tl_module *m, const tl_tensor_expr *e, uint64_t elements) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < e->n_sources; i++) {
    uint64_t n = tl_tensor_elements(m, e->sources[i]);
    if (e->outer == 0 || n % e->outer || __builtin_add_overflow(sum, n, &sum))
      return "the parts cannot be cut into that many pieces";
  }
  return sum == elements ? NULL : "the parts do not have as many elements as the type";
}

/* Returns true if the reader can read source s. Elements below a byte can be read from bytes, not
 * from an expression. */
static bool can_read(unsigned kind, const tl_tensor *s) {
  if (kind == TL_TENSOR_EXPR_CAST && is_nibble(s->dtype))
    return s->kind != TL_SOURCE_EXPR;
  return s->kind != TL_SOURCE_STRINGS && element_size(s->dtype) != 0;
}

/* Returns what is wrong with the sources, or NULL. Depth bounds the recursion of the reader, cost
 * the time for one element. */
static const char *sources_problem(const tl_module *m, unsigned dtype, const tl_tensor_expr *e) {
  uint32_t cost = 1;
  uint32_t wanted = is_binary(e->kind) ? 2 : 1;
  if (e->kind >= TL_N_TENSOR_EXPR_KINDS || e->n_sources < wanted ||
      (e->kind != TL_TENSOR_EXPR_CONCAT && e->n_sources > wanted))
    return "the expression has the wrong number of sources";
  for (uint32_t i = 0; i < e->n_sources; i++) {
    const tl_tensor *s = e->sources[i];
    if (!can_read(e->kind, s) || tl_tensor_elements(m, s) == 0)
      return "the elements of a source must have whole bytes, and there must be one";
    if (!fits_source(e->kind, s->dtype, dtype))
      return "the element types do not fit the expression";
    cost += s->kind == TL_SOURCE_EXPR ? s->u.expr->cost : 0;
    if (cost > TL_TENSOR_EXPR_MAX_COST ||
        (s->kind == TL_SOURCE_EXPR && s->u.expr->depth >= TL_TENSOR_EXPR_MAX_DEPTH))
      return "the expression is too deep";
  }
  return is_binary(e->kind) && !can_combine(e->kind, dtype)
             ? "the arithmetic is not defined for the element type"
             : NULL;
}

const char *tl_tensor_expr_problem(const tl_module *m, tl_type_id type, const tl_tensor_expr *e) {
  uint64_t elements;
  tl_dtype dtype = tl_type_dtype(m, type);
  if (!tl_type_elements(m, type, &elements) || elements == 0 || element_size(dtype) == 0)
    return "the type of an expression must have elements of whole bytes, and at least one";
  if (elements > most_bytes / element_size(dtype))
    return "the result is too large";
  const char *problem = sources_problem(m, dtype, e);
  if (problem)
    return problem;
  if (e->kind == TL_TENSOR_EXPR_VIEW)
    return view_problem(e, elements, tl_tensor_elements(m, e->sources[0]));
  if (e->kind == TL_TENSOR_EXPR_CONCAT)
    return concat_problem(m, e, elements);
  for (uint32_t i = 0; i < e->n_sources; i++)
    if (tl_tensor_elements(m, e->sources[i]) != elements)
      return "the sources do not have as many elements as the type";
  return NULL;
}

/* Strides along a dim of size 1 become 0, so that equal views have equal expressions. */
tl_tensor_id tl_tensor_express(tl_module *m, tl_type_id type, const tl_tensor_expr *e) {
  size_t bytes = e->n_sources * sizeof *e->sources;
  tl_tensor_expr *copy = tl_arena_alloc(&m->arena, sizeof *copy);
  void *sources = tl_arena_copy(&m->arena, e->sources, bytes);
  tl_tensor t = {.kind = TL_SOURCE_EXPR, .dtype = (uint8_t)tl_type_dtype(m, type), .type = type};
  uint64_t elements = 0;
  if (!copy || !sources || !tl_type_elements(m, type, &elements))
    return TL_NO_TENSOR;
  *copy = *e;
  copy->sources = sources;
  copy->depth = 1;
  copy->cost = 1;
  for (int i = 0; e->kind == TL_TENSOR_EXPR_VIEW && i < e->rank; i++)
    copy->strides[i] = e->dims[i] == 1 ? 0 : e->strides[i]; /* never taken */
  for (uint32_t i = 0; i < e->n_sources; i++) {
    const tl_tensor *s = e->sources[i];
    if (s->kind != TL_SOURCE_EXPR)
      continue;
    copy->cost = (uint8_t)(copy->cost + s->u.expr->cost);
    if (copy->depth <= s->u.expr->depth)
      copy->depth = (uint8_t)(s->u.expr->depth + 1);
  }
  t.bytes = elements * element_size(t.dtype);
  t.u.expr = copy;
  return tl_tensor_add(m, &t);
}

/* ---- equality -------------------------------------------------------------------------------- */

/* Compares all fields that mean something for the kind. */
static bool same_parameters(const tl_tensor_expr *a, const tl_tensor_expr *b) {
  if (a->kind != b->kind || a->n_sources != b->n_sources)
    return false;
  if (a->kind == TL_TENSOR_EXPR_CONCAT)
    return a->outer == b->outer;
  if (a->kind != TL_TENSOR_EXPR_VIEW)
    return true;
  size_t n = (size_t)a->rank * sizeof *a->dims;
  return a->start == b->start && a->rank == b->rank && memcmp(a->dims, b->dims, n) == 0 &&
         memcmp(a->strides, b->strides, n) == 0;
}

/* Returns where the bytes of a tensor are that is not computed: in the file, for a view of one. */
static const void *place_of(const tl_tensor *t) {
  return t->kind == TL_SOURCE_FILE ? t->u.view.file->data + t->u.view.offset : tl_tensor_data(t);
}

/* Sources that are not computed are the same when their bytes are at one address. */
bool tl_tensor_expr_equal(const tl_tensor *a, const tl_tensor *b) {
  if (a == b)
    return true;
  if (a->kind == TL_SOURCE_STRINGS || b->kind == TL_SOURCE_STRINGS || a->dtype != b->dtype ||
      a->bytes != b->bytes)
    return false;
  if (a->kind != TL_SOURCE_EXPR || b->kind != TL_SOURCE_EXPR)
    return a->kind != TL_SOURCE_EXPR && b->kind != TL_SOURCE_EXPR && place_of(a) == place_of(b);
  if (a->u.expr == b->u.expr)
    return true;
  if (!same_parameters(a->u.expr, b->u.expr))
    return false;
  for (uint32_t i = 0; i < a->u.expr->n_sources; i++)
    if (!tl_tensor_expr_equal(a->u.expr->sources[i], b->u.expr->sources[i]))
      return false;
  return true;
}

/* Bytes of files count by their offset, others by dtype and length alone. */
uint64_t tl_tensor_expr_hash(const tl_tensor *t, uint64_t seed) {
  uint64_t h = tl_hash_mix(tl_hash_mix(seed, t->dtype), t->bytes);
  if (t->kind == TL_SOURCE_FILE)
    return tl_hash_mix(h, t->u.view.offset);
  if (t->kind != TL_SOURCE_EXPR)
    return h;
  const tl_tensor_expr *e = t->u.expr;
  h = tl_hash_mix(h, e->kind);
  h = tl_hash_mix(h, e->kind == TL_TENSOR_EXPR_VIEW ? e->start : e->n_sources);
  for (int i = 0; e->kind == TL_TENSOR_EXPR_VIEW && i < e->rank; i++)
    h = tl_hash_mix(h, (uint64_t)e->strides[i]);
  for (uint32_t i = 0; i < e->n_sources; i++)
    h = tl_tensor_expr_hash(e->sources[i], h);
  return h;
}

bool tl_tensor_repeats_one(const tl_tensor *t) {
  const tl_tensor_expr *e = t->kind == TL_SOURCE_EXPR ? t->u.expr : NULL;
  bool same = e && e->kind == TL_TENSOR_EXPR_VIEW;
  for (int i = 0; same && i < e->rank; i++)
    same = e->dims[i] == 1 || e->strides[i] == 0;
  return same;
}
