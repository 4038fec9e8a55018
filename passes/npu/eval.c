/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates guards and index expressions of NPU candidates (eval.h). */
#include "passes/npu/eval.h"

#include "ir/ops_gen.h"
#include "passes/edit/half.h"

enum { MAX_SCAN = 1 << 20 }; /* upper bound on elements read from one constant */

static const tl_npu_value absent = {0};

void *tl_npu_room(tl_npu_eval *x, size_t n, size_t size) {
  void *p = tl_arena_calloc(x->scratch, n, size);
  x->failed = x->failed || !p;
  return p;
}

tl_value_id tl_npu_port_value(const tl_npu_eval *x, const tl_npu_expr *e) {
  if (e->kind == TL_NPU_OPERAND)
    return tl_operand(x->m, x->node, (uint32_t)e->u.i);
  return e->kind == TL_NPU_RESULT ? tl_result(x->m, x->node, (uint32_t)e->u.i) : TL_NO_VALUE;
}

static const tl_type *type_of(const tl_npu_eval *x, tl_value_id v) {
  return tl_type_get(x->m, tl_value_type(x->m, v));
}

int tl_npu_rank(const tl_npu_eval *x, tl_value_id v) {
  const tl_type *t = type_of(x, v);
  return t->kind == TL_KIND_TENSOR ? t->rank : -1;
}

tl_dim tl_npu_dim(const tl_npu_eval *x, tl_value_id v, int64_t k) {
  int rank = tl_npu_rank(x, v);
  k += k < 0 ? rank : 0;
  return rank > 0 && k >= 0 && k < rank ? type_of(x, v)->dims[k] : TL_DIM_UNKNOWN;
}

/* Returns the value of an attribute; graphs and other kinds are ABSENT. */
static tl_npu_value from_attr(tl_npu_eval *x, const tl_attr *a) {
  tl_npu_value v = {.n = a->count};
  switch ((tl_attr_kind)a->kind) {
  case TL_ATTR_INT:
  case TL_ATTR_BOOL: return tl_npu_int(a->u.i);
  case TL_ATTR_DTYPE: v.kind = TL_NPU_V_DTYPE; v.u.i = a->u.i; return v;
  case TL_ATTR_FLOAT: v.kind = TL_NPU_V_FLOAT; v.u.f = (double)a->u.f; return v;
  case TL_ATTR_STRING: v.kind = TL_NPU_V_STRING; v.u.s = a->u.s; return v;
  case TL_ATTR_TENSOR: v.kind = TL_NPU_V_TENSOR; v.u.t = a->u.t; return v;
  case TL_ATTR_INTS:
  case TL_ATTR_BOOLS: v.kind = TL_NPU_V_INTS; v.u.is = a->u.is; return v;
  case TL_ATTR_STRINGS: v.kind = TL_NPU_V_STRINGS; v.u.ids = a->u.ids; return v;
  case TL_ATTR_FLOATS: break;
  default: return absent;
  }
  double *fs = tl_npu_room(x, a->count, sizeof *fs);
  for (uint32_t i = 0; fs && i < a->count; i++)
    fs[i] = (double)a->u.fs[i];
  v.kind = TL_NPU_V_FLOATS;
  v.u.fs = fs;
  return fs ? v : absent;
}

static tl_npu_value named_attr(tl_npu_eval *x, tl_symbol name) {
  const tl_attr *a = tl_node_attr_or_default(x->m, x->node, name);
  return a ? from_attr(x, a) : absent;
}

tl_npu_value tl_npu_constant(tl_npu_eval *x, tl_value_id v) {
  const tl_tensor *t = v ? tl_value_constant(x->m, v) : NULL;
  uint64_t n = t ? tl_tensor_elements(x->m, t) : 0;
  if (!t || n > MAX_SCAN)
    return absent;
  tl_npu_value out = {.n = (uint32_t)n};
  bool is_float = tl_dtype_is_float((tl_dtype)t->dtype);
  int64_t *is = is_float ? NULL : tl_npu_room(x, n, sizeof *is);
  double *fs = is_float ? tl_npu_room(x, n, sizeof *fs) : NULL;
  if (!is && !fs)
    return absent;
  for (uint32_t i = 0; i < n; i++)
    if (is ? !tl_tensor_int_at(x->m, t, i, &is[i]) : !tl_tensor_float_at(x->m, t, i, &fs[i]))
      return absent;
  out.kind = is ? TL_NPU_V_INTS : TL_NPU_V_FLOATS;
  if (is)
    out.u.is = is;
  else
    out.u.fs = fs;
  return out;
}

bool tl_npu_as_ints(tl_npu_eval *x, tl_npu_value v, tl_int_list *out) {
  if (v.kind == TL_NPU_V_INT) {
    int64_t *one = tl_npu_room(x, 1, sizeof *one);
    if (one)
      *one = v.u.i;
    *out = (tl_int_list){one, 1};
    return one != NULL;
  }
  *out = (tl_int_list){v.u.is, v.n};
  return v.kind == TL_NPU_V_INTS;
}

bool tl_npu_as_floats(tl_npu_eval *x, tl_npu_value v, const double **out, uint32_t *n) {
  if (v.kind == TL_NPU_V_FLOATS) {
    *out = v.u.fs;
    *n = v.n;
    return true;
  }
  tl_int_list list;
  bool one = v.kind == TL_NPU_V_FLOAT;
  if (!one && !tl_npu_as_ints(x, v, &list))
    return false;
  *n = one ? 1 : list.n;
  double *fs = tl_npu_room(x, *n, sizeof *fs);
  for (uint32_t i = 0; fs && i < *n; i++)
    fs[i] = one ? v.u.f : (double)list.at[i];
  *out = fs;
  return fs != NULL;
}

static double apply(uint8_t fn, double a, double b) {
  switch (fn) {
  case TL_NPU_FN_ADD: return a + b;
  case TL_NPU_FN_SUB: return a - b;
  case TL_NPU_FN_MUL: return a * b;
  default: return a / b;
  }
}

/* Evaluates + - * /. Two integers give an exact integer: overflow is ABSENT, division rounds to
 * minus infinity, and the divisors 0 and -1 are refused (INT64_MIN / -1 overflows). A float or a
 * list gives floats; a single element broadcasts. */
static tl_npu_value arithmetic(tl_npu_eval *x, const tl_npu_expr *e) {
  tl_npu_value a = tl_npu_evaluate(x, e->args[0]);
  tl_npu_value b = tl_npu_evaluate(x, e->args[1]);
  if (a.kind == TL_NPU_V_INT && b.kind == TL_NPU_V_INT) {
    int64_t r = 0;
    switch (e->fn) {
    case TL_NPU_FN_ADD: return __builtin_add_overflow(a.u.i, b.u.i, &r) ? absent : tl_npu_int(r);
    case TL_NPU_FN_SUB: return __builtin_sub_overflow(a.u.i, b.u.i, &r) ? absent : tl_npu_int(r);
    case TL_NPU_FN_MUL: return __builtin_mul_overflow(a.u.i, b.u.i, &r) ? absent : tl_npu_int(r);
    default:
      if (b.u.i == 0 || b.u.i == -1)
        return absent;
      return tl_npu_int(a.u.i / b.u.i - (a.u.i % b.u.i != 0 && (a.u.i < 0) != (b.u.i < 0)));
    }
  }
  const double *p;
  const double *q;
  uint32_t np;
  uint32_t nq;
  if (!tl_npu_as_floats(x, a, &p, &np) || !tl_npu_as_floats(x, b, &q, &nq) ||
      (np != nq && np != 1 && nq != 1))
    return absent;
  uint32_t n = np > nq ? np : nq;
  double *out = tl_npu_room(x, n, sizeof *out);
  for (uint32_t i = 0; out && i < n; i++)
    out[i] = apply(e->fn, p[np == 1 ? 0 : i], q[nq == 1 ? 0 : i]);
  bool scalar = a.kind == TL_NPU_V_FLOAT || b.kind == TL_NPU_V_FLOAT;
  if (out && n == 1 && scalar)
    return (tl_npu_value){.kind = TL_NPU_V_FLOAT, .u.f = out[0]};
  return out ? (tl_npu_value){.kind = TL_NPU_V_FLOATS, .n = n, .u.fs = out} : absent;
}

/* Results of compare() besides -1, 0 and 1: an operand is unknown; an operand is NaN, which differs
 * from every number. */
enum { UNKNOWN = 2, UNORDERED = 3 };

/* Compares two numbers, strings or dtypes. The latter two only have 0 (equal) and 1. */
static int compare(tl_npu_eval *x, const tl_npu_expr *e) {
  tl_npu_value a = tl_npu_evaluate(x, e->args[0]);
  tl_npu_value b = tl_npu_evaluate(x, e->args[1]);
  if (a.kind == TL_NPU_V_STRING || a.kind == TL_NPU_V_DTYPE)
    return a.kind != b.kind              ? UNKNOWN
           : a.kind == TL_NPU_V_STRING ? a.u.s != b.u.s
                                         : a.u.i != b.u.i;
  if (a.kind == TL_NPU_V_INT && b.kind == TL_NPU_V_INT)
    return (a.u.i > b.u.i) - (a.u.i < b.u.i);
  const double *p;
  const double *q;
  uint32_t np;
  uint32_t nq;
  if (!tl_npu_as_floats(x, a, &p, &np) || !tl_npu_as_floats(x, b, &q, &nq) || np != 1 || nq != 1)
    return UNKNOWN;
  bool ordered = p[0] <= q[0] || p[0] >= q[0];
  return ordered ? (p[0] > q[0]) - (p[0] < q[0]) : UNORDERED;
}

static bool is_const(const tl_npu_eval *x, tl_value_id v) {
  return v && tl_value_constant(x->m, v) != NULL;
}

/* Returns true if v is absent or a constant of zeros only. */
static bool is_zero(tl_npu_eval *x, tl_value_id v) {
  const tl_tensor *t = v ? tl_value_constant(x->m, v) : NULL;
  uint64_t n = t ? tl_tensor_elements(x->m, t) : 0;
  double element = 0;
  if (!v)
    return true;
  if (!t || n > MAX_SCAN)
    return false;
  for (uint64_t i = 0; i < n; i++)
    if (!tl_tensor_float_at(x->m, t, i, &element) || !(element <= 0 && element >= 0))
      return false; /* NaN is no zero */
  return true;
}

/* Returns true if the shapes of all operands and of all used results are static. */
static bool all_static(const tl_npu_eval *x) {
  const tl_node *n = tl_node_get(x->m, x->node);
  for (uint32_t i = 0; i < n->n_operands; i++) {
    tl_value_id v = tl_operand(x->m, x->node, i);
    if (v && !tl_type_is_static(x->m, tl_value_type(x->m, v)))
      return false;
  }
  for (uint32_t i = 0; i < n->n_results; i++) {
    tl_value_id v = n->results + i;
    if (tl_value_get(x->m, v)->n_uses && !tl_type_is_static(x->m, tl_value_type(x->m, v)))
      return false;
  }
  return true;
}

/* Returns true if all operands have the same type of known rank without unknown dims. Types are
 * interned, so that equal ids mean equal dtypes and dims; a symbolic dim equals itself. */
static bool same_shapes(const tl_npu_eval *x) {
  uint32_t n = tl_node_get(x->m, x->node)->n_operands;
  tl_value_id first = tl_operand(x->m, x->node, 0);
  for (int k = 0; k < tl_npu_rank(x, first); k++)
    if (tl_npu_dim(x, first, k) == TL_DIM_UNKNOWN)
      return false;
  for (uint32_t i = 1; i < n; i++)
    if (tl_value_type(x->m, tl_operand(x->m, x->node, i)) != tl_value_type(x->m, first))
      return false;
  return tl_npu_rank(x, first) >= 0;
}

/* samedim(in3,1,in0,2): the two dims have one static size or one symbol. */
static bool same_dim(tl_npu_eval *x, const tl_npu_expr *e) {
  tl_value_id a = tl_npu_port_value(x, e->args[0]);
  tl_value_id b = tl_npu_port_value(x, e->args[2]);
  tl_npu_value i = tl_npu_evaluate(x, e->args[1]);
  tl_npu_value j = tl_npu_evaluate(x, e->args[3]);
  if (!a || !b || i.kind != TL_NPU_V_INT || j.kind != TL_NPU_V_INT)
    return false;
  tl_dim d = tl_npu_dim(x, a, i.u.i);
  return d != TL_DIM_UNKNOWN && d == tl_npu_dim(x, b, j.u.i);
}

/* spans(in1,axis): the dims of in1 equal those of operand 0 from `axis` on, without broadcasting.
 * Unknown dims pass, except that a 1 against another dim might be stretched. */
static bool spans(tl_npu_eval *x, tl_value_id v, const tl_npu_expr *from_axis) {
  tl_value_id whole = tl_operand(x->m, x->node, 0);
  int rank = tl_npu_rank(x, whole);
  int n = tl_npu_rank(x, v);
  tl_npu_value axis = tl_npu_evaluate(x, from_axis);
  if (rank < 0 || n < 0 || axis.kind != TL_NPU_V_INT)
    return true;
  int64_t from = axis.u.i < 0 ? axis.u.i + rank : axis.u.i;
  if (n != rank - from)
    return false;
  for (int k = 0; k < n; k++) {
    tl_dim a = tl_npu_dim(x, v, k);
    tl_dim b = tl_npu_dim(x, whole, from + k);
    if (a != b && (a == 1 || (a > 0 && b > 0)))
      return false;
  }
  return true;
}

/* Returns true if v comes from an integer matrix op: two 8-bit operands, 32-bit result. */
static bool from_cube(const tl_npu_eval *x, tl_value_id v) {
  tl_node_id n = v ? tl_value_producer(x->m, v) : TL_NO_NODE;
  if (!n || tl_type_dtype(x->m, tl_value_type(x->m, v)) != TL_DTYPE_I32)
    return false;
  for (uint32_t i = 0; i < 2; i++) {
    tl_dtype d = tl_type_dtype(x->m, tl_value_type(x->m, tl_operand(x->m, n, i)));
    if (d != TL_DTYPE_I8 && d != TL_DTYPE_U8)
      return false;
  }
  return true;
}

/* reverse(begin, end, strides): a slice that reverses whole axes. Exporters write -1 or INT_MAX as
 * begin, a very negative end, and stride -1. */
static bool is_reversal(tl_npu_eval *x, const tl_npu_expr *e) {
  tl_int_list list[3];
  for (int i = 0; i < 3; i++)
    if (!tl_npu_as_ints(x, tl_npu_evaluate(x, e->args[i]), &list[i]) || list[i].n != list[0].n)
      return false;
  for (uint32_t i = 0; i < list[0].n; i++) {
    int64_t begin = list[0].at[i];
    if ((begin != -1 && begin < INT32_MAX) || list[1].at[i] > -INT32_MAX || list[2].at[i] != -1)
      return false;
  }
  return list[0].n > 0;
}

static bool is_one_of_last_two(tl_npu_eval *x, const tl_npu_expr *e) {
  tl_npu_value axis = tl_npu_evaluate(x, e->args[0]);
  int rank = tl_npu_rank(x, tl_operand(x->m, x->node, 0));
  if (axis.kind != TL_NPU_V_INT || rank < 0)
    return false;
  return axis.u.i < 0 ? axis.u.i >= -2 : axis.u.i >= rank - 2 && axis.u.i < rank;
}

/* approx(a, b, tolerance): absolute difference of two single numbers; false if one is NaN. */
static bool is_close(tl_npu_eval *x, const tl_npu_expr *e) {
  double v[3];
  for (int i = 0; i < 3; i++) {
    const double *p;
    uint32_t n;
    if (!tl_npu_as_floats(x, tl_npu_evaluate(x, e->args[i]), &p, &n) || n != 1)
      return false;
    v[i] = p[0];
  }
  return v[0] - v[1] <= v[2] && v[1] - v[0] <= v[2];
}

/* divides(a, b): a > 0 divides b >= 0. */
static bool divides(tl_npu_eval *x, const tl_npu_expr *e) {
  tl_npu_value a = tl_npu_evaluate(x, e->args[0]);
  tl_npu_value b = tl_npu_evaluate(x, e->args[1]);
  return a.kind == TL_NPU_V_INT && b.kind == TL_NPU_V_INT && a.u.i > 0 && b.u.i >= 0 &&
         b.u.i % a.u.i == 0;
}

/* Tests membership in a set of dtypes or chip families, both small numbers in a 64-bit mask. */
static bool is_in(tl_npu_eval *x, const tl_npu_expr *e) {
  tl_npu_value v = tl_npu_evaluate(x, e->args[0]);
  bool known = v.kind == TL_NPU_V_DTYPE || v.kind == TL_NPU_V_INT;
  return known && v.u.i >= 0 && v.u.i < 64 && (e->args[1]->u.mask >> v.u.i & 1);
}

/* min, max and prod of a non-empty list. all1: every element is 1; an absent list counts as
 * ones. */
static tl_npu_value fold_list(tl_npu_eval *x, const tl_npu_expr *e) {
  tl_npu_value v = tl_npu_evaluate(x, e->args[0]);
  tl_int_list list;
  if (v.kind == TL_NPU_V_ABSENT && e->fn == TL_NPU_FN_ALL1)
    return tl_npu_int(1);
  if (!tl_npu_as_ints(x, v, &list) || list.n == 0)
    return absent;
  int64_t r = e->fn == TL_NPU_FN_ALL1 || e->fn == TL_NPU_FN_PROD ? 1 : list.at[0];
  for (uint32_t i = 0; i < list.n; i++) {
    int64_t a = list.at[i];
    switch (e->fn) {
    case TL_NPU_FN_MIN: r = a < r ? a : r; break;
    case TL_NPU_FN_MAX: r = a > r ? a : r; break;
    case TL_NPU_FN_ALL1: r = r && a == 1; break;
    default:
      if (__builtin_mul_overflow(r, a, &r))
        return absent;
    }
  }
  return tl_npu_int(r);
}

static tl_npu_value elements_of(const tl_npu_eval *x, tl_value_id v) {
  uint64_t n;
  if (!v || !tl_type_elements(x->m, tl_value_type(x->m, v), &n) || n > INT64_MAX)
    return absent;
  return tl_npu_int((int64_t)n);
}

static tl_npu_value dim_value(tl_dim d) {
  return tl_dim_is_static(d) ? tl_npu_int(d) : absent;
}

/* shape(v) has all dims, out_hw(v) skips N and C. ABSENT unless all dims taken are static. */
static tl_npu_value shape_of(tl_npu_eval *x, tl_value_id v, int skip) {
  int rank = tl_npu_rank(x, v);
  if (rank < skip || rank < 0)
    return absent;
  uint32_t n = (uint32_t)(rank - skip);
  int64_t *is = tl_npu_room(x, n, sizeof *is);
  for (uint32_t i = 0; is && i < n; i++) {
    is[i] = tl_npu_dim(x, v, skip + (int)i);
    if (!tl_dim_is_static(is[i]))
      return absent;
  }
  return is ? (tl_npu_value){.kind = TL_NPU_V_INTS, .n = n, .u.is = is} : absent;
}

/* Returns the list first, first + step, ... of n elements. */
static tl_npu_value counted(tl_npu_eval *x, int64_t n, int64_t first, int64_t step) {
  if (n < 0 || n > TL_MAX_RANK)
    return absent;
  int64_t *is = tl_npu_room(x, (size_t)n, sizeof *is);
  for (int64_t i = 0; is && i < n; i++)
    is[i] = first + i * step;
  return is ? (tl_npu_value){.kind = TL_NPU_V_INTS, .n = (uint32_t)n, .u.is = is} : absent;
}

/* Splits n elements into k chunks as torch.chunk does: ceil(n/k) each, the last ones smaller or
 * empty. */
static tl_npu_value split_sizes(tl_npu_eval *x, tl_npu_value n, tl_npu_value k) {
  if (n.kind != TL_NPU_V_INT || k.kind != TL_NPU_V_INT || k.u.i <= 0 || k.u.i > UINT32_MAX)
    return absent;
  int64_t chunk = n.u.i / k.u.i + (n.u.i % k.u.i != 0);
  int64_t left = n.u.i;
  int64_t *is = tl_npu_room(x, (size_t)k.u.i, sizeof *is);
  for (int64_t i = 0; is && i < k.u.i; i++) {
    is[i] = left < chunk ? left : chunk;
    left -= is[i];
  }
  return is ? (tl_npu_value){.kind = TL_NPU_V_INTS, .n = (uint32_t)k.u.i, .u.is = is} : absent;
}

/* Evaluates functions on ranks, dims and shapes. Those of the first switch take a port and must not
 * evaluate it: that would read the contents of a constant only to learn its shape. */
static tl_npu_value index_call(tl_npu_eval *x, const tl_npu_expr *e) {
  tl_value_id v = e->n_args ? tl_npu_port_value(x, e->args[0]) : TL_NO_VALUE;
  tl_npu_value a = {0};
  tl_npu_value b = {0};
  switch (e->fn) {
  case TL_NPU_FN_RANK: return tl_npu_rank(x, v) < 0 ? absent : tl_npu_int(tl_npu_rank(x, v));
  case TL_NPU_FN_NUMEL: return elements_of(x, v);
  case TL_NPU_FN_SHAPE: return shape_of(x, v, 0);
  case TL_NPU_FN_OUT_HW: return shape_of(x, v, 2);
  case TL_NPU_FN_DTYPE:
    return (tl_npu_value){.kind = TL_NPU_V_DTYPE,
                          .u.i = tl_type_dtype(x->m, tl_value_type(x->m, v))};
  default: break;
  }
  a = tl_npu_evaluate(x, e->args[0]);
  b = e->n_args > 1 ? tl_npu_evaluate(x, e->args[1]) : absent;
  switch (e->fn) {
  case TL_NPU_FN_DIM: return b.kind == TL_NPU_V_INT ? dim_value(tl_npu_dim(x, v, b.u.i)) : absent;
  case TL_NPU_FN_ZEROS: return a.kind == TL_NPU_V_INT ? counted(x, a.u.i, 0, 0) : absent;
  case TL_NPU_FN_SPLIT_SIZES: return split_sizes(x, a, b);
  case TL_NPU_FN_RANGE:
    if (a.kind != TL_NPU_V_INT || b.kind != TL_NPU_V_INT)
      return absent;
    return counted(x, b.u.i - a.u.i, a.u.i, 1);
  default: return absent;
  }
}

/* Returns the number of operands, or of results, up to the last one present. A result is present if
 * it has a name or users. */
static int64_t given(const tl_npu_eval *x, bool operands) {
  const tl_node *node = tl_node_get(x->m, x->node);
  uint32_t n = operands ? node->n_operands : node->n_results;
  while (n && operands && !tl_operand(x->m, x->node, n - 1))
    n--;
  while (n && !operands && !tl_value_get(x->m, node->results + n - 1)->name &&
         !tl_value_get(x->m, node->results + n - 1)->n_uses)
    n--;
  return n;
}

/* Evaluates a word without arguments. A module that never had an opset counts as newer than all. */
static tl_npu_value word(tl_npu_eval *x, const tl_npu_expr *e) {
  switch (e->fn) {
  case TL_NPU_FN_ALWAYS:
  case TL_NPU_FN_TRUE: return tl_npu_int(1);
  case TL_NPU_FN_FALSE: return tl_npu_int(0);
  case TL_NPU_FN_TF_NEAREST: return tl_npu_int(tl_npu_tf_nearest(x));
  case TL_NPU_FN_STATIC: return tl_npu_int(all_static(x));
  case TL_NPU_FN_NIN: return tl_npu_int(given(x, true));
  case TL_NPU_FN_NOUT: return tl_npu_int(given(x, false));
  case TL_NPU_FN_OPSET: return tl_npu_int(x->m->source_opset ? x->m->source_opset : INT64_MAX);
  case TL_NPU_FN_SOC: return tl_npu_int(tl_options_chip(x->options)->table);
  case TL_NPU_FN_CHANNELS: return dim_value(tl_npu_dim(x, tl_operand(x->m, x->node, 0), 1));
  default: return absent;
  }
}

/* Evaluates a predicate. NE is true for NaN, which differs from every number, but not for unknown
 * operands. */
static bool predicate(tl_npu_eval *x, const tl_npu_expr *e) {
  tl_value_id v = tl_npu_port_value(x, e->args[0]);
  int order;
  switch (e->fn) {
  case TL_NPU_FN_AND:
    return tl_npu_guard_holds(x, e->args[0]) && tl_npu_guard_holds(x, e->args[1]);
  case TL_NPU_FN_OR:
    return tl_npu_guard_holds(x, e->args[0]) || tl_npu_guard_holds(x, e->args[1]);
  case TL_NPU_FN_NOT: return !tl_npu_guard_holds(x, e->args[0]);
  case TL_NPU_FN_EQ: return compare(x, e) == 0;
  case TL_NPU_FN_NE: order = compare(x, e); return order != 0 && order != UNKNOWN;
  case TL_NPU_FN_LT: return compare(x, e) == -1;
  case TL_NPU_FN_GT: return compare(x, e) == 1;
  case TL_NPU_FN_IN: return is_in(x, e);
  case TL_NPU_FN_CONST: return is_const(x, v);
  case TL_NPU_FN_PRESENT: return v != TL_NO_VALUE;
  case TL_NPU_FN_ABSENT: return v == TL_NO_VALUE;
  case TL_NPU_FN_CONST_OR_ABSENT: return !v || is_const(x, v);
  case TL_NPU_FN_USED: return v && tl_value_get(x->m, v)->n_uses > 0;
  case TL_NPU_FN_SET: return tl_node_attr(x->m, x->node, e->args[0]->u.name) != NULL;
  case TL_NPU_FN_ZERO: return is_zero(x, v);
  case TL_NPU_FN_APPROX: return is_close(x, e);
  case TL_NPU_FN_DIVIDES: return divides(x, e);
  case TL_NPU_FN_SAMESHAPE: return same_shapes(x);
  case TL_NPU_FN_LAST_TWO: return is_one_of_last_two(x, e);
  case TL_NPU_FN_REVERSE: return is_reversal(x, e);
  case TL_NPU_FN_FROM_CUBE: return from_cube(x, v);
  case TL_NPU_FN_SAMEDIM: return same_dim(x, e);
  case TL_NPU_FN_SPANS: return v && spans(x, v, e->args[1]);
  case TL_NPU_FN_WIDE: return v && tl_precision_stays_wide(x->m, x->options, v);
  case TL_NPU_FN_HALVABLE: return v && tl_precision_may_halve(x->m, x->options, v);
  case TL_NPU_FN_HALF: return v && tl_precision_half_at(x->m, x->options, x->node, v);
  default: return false;
  }
}

static tl_npu_value call(tl_npu_eval *x, const tl_npu_expr *e) {
  switch (e->fn) {
  case TL_NPU_FN_ADD:
  case TL_NPU_FN_SUB:
  case TL_NPU_FN_MUL:
  case TL_NPU_FN_DIV: return arithmetic(x, e);
  case TL_NPU_FN_ATTR:
  case TL_NPU_FN_VALUE: return tl_npu_evaluate(x, e->args[0]);
  case TL_NPU_FN_OR_ELSE: {
    tl_npu_value v = tl_npu_evaluate(x, e->args[0]);
    return v.kind == TL_NPU_V_ABSENT ? tl_npu_evaluate(x, e->args[1]) : v;
  }
  case TL_NPU_FN_MIN:
  case TL_NPU_FN_MAX:
  case TL_NPU_FN_PROD:
  case TL_NPU_FN_ALL1: return fold_list(x, e);
  case TL_NPU_FN_RANK:
  case TL_NPU_FN_NUMEL:
  case TL_NPU_FN_DTYPE:
  case TL_NPU_FN_DIM:
  case TL_NPU_FN_SHAPE:
  case TL_NPU_FN_OUT_HW:
  case TL_NPU_FN_RANGE:
  case TL_NPU_FN_ZEROS:
  case TL_NPU_FN_SPLIT_SIZES: return index_call(x, e);
  default: return e->n_args ? tl_npu_int(predicate(x, e)) : word(x, e);
  }
}

static tl_npu_value literal_list(tl_npu_eval *x, const tl_npu_expr *e) {
  int64_t *is = tl_npu_room(x, e->n_args, sizeof *is);
  for (uint32_t i = 0; is && i < e->n_args; i++) {
    tl_npu_value v = tl_npu_evaluate(x, e->args[i]);
    if (v.kind != TL_NPU_V_INT)
      return absent;
    is[i] = v.u.i;
  }
  return is ? (tl_npu_value){.kind = TL_NPU_V_INTS, .n = e->n_args, .u.is = is} : absent;
}

tl_npu_value tl_npu_evaluate(tl_npu_eval *x, const tl_npu_expr *e) {
  switch ((tl_npu_kind)e->kind) {
  case TL_NPU_INT: return tl_npu_int(e->u.i);
  case TL_NPU_FLOAT: return (tl_npu_value){.kind = TL_NPU_V_FLOAT, .u.f = e->u.f};
  case TL_NPU_STRING: return (tl_npu_value){.kind = TL_NPU_V_STRING, .u.s = e->u.name};
  case TL_NPU_NAME: return named_attr(x, e->u.name);
  case TL_NPU_OPERAND:
  case TL_NPU_RESULT: return tl_npu_constant(x, tl_npu_port_value(x, e));
  case TL_NPU_LIST: return literal_list(x, e);
  case TL_NPU_CALL: return call(x, e);
  case TL_NPU_OPERANDS:
  case TL_NPU_SET: break;
  }
  return absent;
}

bool tl_npu_guard_holds(tl_npu_eval *x, const tl_npu_expr *guard) {
  if (!guard)
    return true;
  tl_npu_value v = tl_npu_evaluate(x, guard);
  return v.kind == TL_NPU_V_INT && v.u.i != 0;
}
