/* SPDX-License-Identifier: Apache-2.0 */
/* Compares values in numbers and describes them. */
#include "lib/values/compare.h"

#include <math.h>

/* Numbers that are converted to double at a time; blocks keep memory constant for any tensor. */
enum { BLOCK = 1024 };

/* ---- elements as doubles -------------------------------------------------------------------- */

bool tl_is_numeric(const tl_host *t) {
  return t->kind == TL_HOST_TENSOR && t->dtype != TL_DTYPE_STRING && t->dtype != TL_DTYPE_NONE;
}

/* A complex number counts as two real ones in everything below. */
static bool is_complex(const tl_host *t) {
  return t->dtype == TL_DTYPE_C64 || t->dtype == TL_DTYPE_C128;
}

static uint64_t count(const tl_host *t) { return is_complex(t) ? 2 * t->n : t->n; }

/* Reads numbers first..first+n of a tensor as doubles; n is at most BLOCK. The f32 path is exact
 * for all types but f64 and wide integers, which have their own cases. */
static void read_block(const tl_host *t, uint64_t first, uint64_t n, double *out) {
  float narrow[BLOCK];
  switch ((tl_dtype)t->dtype) {
  case TL_DTYPE_F64:
  case TL_DTYPE_C128: memcpy(out, (const double *)t->data + first, (size_t)n * sizeof *out); return;
  case TL_DTYPE_C64:
    memcpy(narrow, (const float *)t->data + first, (size_t)n * sizeof *narrow);
    break;
  case TL_DTYPE_I32:
  case TL_DTYPE_U32:
  case TL_DTYPE_I64:
  case TL_DTYPE_U64:
    for (uint64_t i = 0; i < n; i++)
      out[i] = tl_host_at(t, first + i);
    return;
  default: tl_host_to_f32((tl_dtype)t->dtype, t->data, narrow, first, n); break;
  }
  for (uint64_t i = 0; i < n; i++)
    out[i] = (double)narrow[i];
}

/* ---- description ---------------------------------------------------------------------------- */

/* Adds a block to the description. The comparisons are written so that NaN, the initial value,
 * loses against any finite number. */
static void describe_block(const double *v, uint64_t n, tl_numbers *out, double *sum) {
  for (uint64_t i = 0; i < n; i++) {
    if (isnan(v[i])) {
      out->nan++;
    } else if (isinf(v[i])) {
      out->inf++;
    } else {
      double size = fabs(v[i]);
      out->min = v[i] >= out->min ? out->min : v[i];
      out->max = v[i] <= out->max ? out->max : v[i];
      out->absmax = size <= out->absmax ? out->absmax : size;
      *sum += v[i];
    }
  }
}

void tl_describe(const tl_host *t, tl_numbers *out) {
  double block[BLOCK], sum = 0;
  *out = (tl_numbers){0};
  if (!tl_is_numeric(t))
    return;
  /* No comparison holds for NaN, so the first finite element replaces it. */
  out->min = out->max = out->absmax = out->mean = (double)NAN;
  out->n = count(t);
  for (uint64_t i = 0; i < out->n; i += BLOCK) {
    uint64_t n = out->n - i < BLOCK ? out->n - i : BLOCK;
    read_block(t, i, n, block);
    describe_block(block, n, out, &sum);
  }
  uint64_t finite = out->n - out->nan - out->inf;
  if (finite)
    out->mean = sum / (double)finite;
}

/* ---- comparison ----------------------------------------------------------------------------- */

/* State of one comparison: the tolerance of the tensor at hand, and sums for the cosine of the
 * whole. */
typedef struct comparison {
  tl_difference *d;
  double rtol, atol;
  double dot, aa, bb, ee;
  double ulp; /* relative unit in the last place; 0: no float */
} comparison;

/* Returns the size of one unit in the last place relative to the number: 2 to the minus number of
 * fraction bits. 0 for integers and for types at least as fine as f32. */
static double unit(const tl_host *t) {
  switch ((tl_dtype)t->dtype) {
  case TL_DTYPE_F16: return 0x1p-10;
  case TL_DTYPE_BF16: return 0x1p-7;
  case TL_DTYPE_F8E4M3FN:
  case TL_DTYPE_F8E4M3FNUZ: return 0x1p-3;
  case TL_DTYPE_F8E5M2:
  case TL_DTYPE_F8E5M2FNUZ: return 0x1p-2;
  case TL_DTYPE_F4E2M1: return 0x1p-1;
  default: return 0;
  }
}

/* Counts an element beyond the tolerance and keeps the worst one. */
static void note_off(comparison *c, uint64_t i, double a, double b, double beyond) {
  if (c->d->off++ && beyond <= c->d->excess)
    return;
  c->d->excess = beyond;
  c->d->worst = c->d->n + i;
  c->d->got = a;
  c->d->want = b;
}

/* Notes an error in units in the last place of b. Below 2^-14, the least normal f16, units no
 * longer shrink: next to zero every error would be a huge number of them. */
static void note_units(comparison *c, double error, double size) {
  int exponent;
  if (error <= 0 || c->ulp <= 0)
    return;
  frexp(fmax(size, 0x1p-14), &exponent);
  double units = error / ldexp(c->ulp, exponent - 1);
  if (units > c->d->ulp)
    c->d->ulp = units;
}

/* Compares two numbers, of which b is the reference. NaN equals NaN, and an infinity equals itself;
 * infinities and NaN take no part in the sums. */
static void compare_number(comparison *c, uint64_t i, double a, double b) {
  if (isnan(a) && isnan(b))
    return;
  if (!isfinite(a) || !isfinite(b)) {
    if (a == b)
      return;
    c->d->max_abs = (double)INFINITY;
    note_off(c, i, a, b, (double)INFINITY);
    return;
  }
  double error = fabs(a - b), size = fabs(b), allowed = c->atol + c->rtol * size;
  c->dot += a * b;
  c->aa += a * a;
  c->bb += b * b;
  c->ee += error * error;
  note_units(c, error, size);
  if (size > c->d->largest)
    c->d->largest = size;
  if (error > c->d->max_abs)
    c->d->max_abs = error;
  if (size > 0 && error / size > c->d->max_rel)
    c->d->max_rel = error / size;
  if (error > allowed)
    note_off(c, i, a, b, allowed > 0 ? error / allowed : (double)INFINITY);
  else if (allowed > 0 && error / allowed > c->d->excess)
    c->d->excess = error / allowed;
}

/* Compares the elements of two tensors of one shape, block by block. */
static void compare_numbers(comparison *c, const tl_host *a, const tl_host *b) {
  double x[BLOCK], y[BLOCK];
  uint64_t n = count(a);
  for (uint64_t i = 0; i < n; i += BLOCK) {
    uint64_t part = n - i < BLOCK ? n - i : BLOCK;
    read_block(a, i, part, x);
    read_block(b, i, part, y);
    for (uint64_t k = 0; k < part; k++)
      compare_number(c, i + k, x[k], y[k]);
  }
  c->d->n += n;
}

/* ---- the largest numbers of a row ------------------------------------------------------------ */

/* Returns the place of the largest number of a row that is not below a bound in the order (number,
 * then place): of equal numbers the first one counts as larger. NaN is smaller than all. n:
 * none. */
static uint64_t next_largest(const tl_host *t, uint64_t row, uint64_t n, uint64_t before) {
  uint64_t best = n;
  double limit = before < n ? tl_host_at(t, row * n + before) : (double)INFINITY;
  for (uint64_t i = 0; i < n; i++) {
    double v = tl_host_at(t, row * n + i);
    bool taken = before < n && (v > limit || (v >= limit && i <= before));
    if (!taken && !isnan(v) && (best == n || v > tl_host_at(t, row * n + best)))
      best = i;
  }
  return best;
}

/* Returns true if the k largest numbers that `a` has in a row stand where `b` has k of its largest;
 * numbers of b that are equal may replace each other. */
static bool same_largest(const tl_host *a, const tl_host *b, uint64_t row, uint64_t n, uint32_t k) {
  uint64_t of_a = n, of_b = n;
  for (uint32_t i = 0; i < k && i < n; i++)
    of_b = next_largest(b, row, n, of_b);
  double least = of_b < n ? tl_host_at(b, row * n + of_b) : -(double)INFINITY;
  for (uint32_t i = 0; i < k && i < n; i++) {
    of_a = next_largest(a, row, n, of_a);
    if (of_a == n || !(tl_host_at(b, row * n + of_a) >= least))
      return false;
  }
  return true;
}

static void compare_largest(tl_difference *d, const tl_host *a, const tl_host *b, uint32_t k) {
  uint64_t n = a->rank ? (uint64_t)a->dims[a->rank - 1] : 1;
  uint64_t rows = n ? a->n / n : 0;
  for (uint64_t row = 0; row < rows; row++)
    d->rows_off += !same_largest(a, b, row, n, k);
  d->rows += rows;
}

static void compare_strings(comparison *c, const tl_host *a, const tl_host *b) {
  const tl_sv *x = a->data, *y = b->data;
  for (uint64_t i = 0; i < a->n; i++)
    if (!tl_sv_eq(x[i], y[i]))
      note_off(c, i, (double)NAN, (double)NAN, (double)INFINITY);
  c->d->n += a->n;
}

static bool same_shape(const tl_host *a, const tl_host *b) {
  if (a->rank != b->rank)
    return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i])
      return false;
  return true;
}

/* Returns the largest finite absolute value of a tensor, 0 if it has none. */
static double largest(const tl_host *t) {
  tl_numbers found;
  tl_describe(t, &found);
  return isnan(found.absmax) ? 0 : found.absmax;
}

/* Returns true for an integer of less than a byte and the byte that holds the same numbers. */
static bool is_widened(tl_dtype a, tl_dtype b) {
  bool integers = tl_dtype_is_integer(a) && tl_dtype_is_integer(b);
  bool one_sign = (tl_dtype_get(a)->name[0] == 'u') == (tl_dtype_get(b)->name[0] == 'u');
  return integers && one_sign && tl_dtype_get(a)->bits <= 8 && tl_dtype_get(b)->bits <= 8;
}

/* Returns true if the dtypes may differ, where the caller allows it: float types, or integers of
 * less than a byte that the other model has as bytes. */
static bool may_differ(const tl_host *a, const tl_host *b, bool cast) {
  tl_dtype x = (tl_dtype)a->dtype, y = (tl_dtype)b->dtype;
  return cast && ((tl_dtype_is_float(x) && tl_dtype_is_float(y)) || is_widened(x, y));
}

/* Compares two tensors under the tolerance that their dtypes allow. */
static void compare_tensors(comparison *c, const tl_host *a, const tl_host *b,
                            const tl_tolerance *t, bool cast) {
  if (a->dtype != b->dtype && !may_differ(a, b, cast)) {
    c->d->reason = "element types differ";
  } else if (!same_shape(a, b)) {
    c->d->reason = "shapes differ";
  } else if (a->dtype == TL_DTYPE_STRING) {
    compare_strings(c, a, b);
  } else {
    bool floats = tl_dtype_is_float((tl_dtype)a->dtype) && tl_dtype_is_float((tl_dtype)b->dtype);
    /* The coarser of both types bounds what can be expected. units widens atol by the largest
     * element of the tensor: where terms cancel, errors are as large as the terms and not as the
     * sum. */
    double coarse = fmax(fmax(unit(a), unit(b)), floats ? t->unit : 0);
    c->ulp = floats ? fmax(coarse, 0x1p-23) : 0;
    c->d->unit = coarse > c->d->unit ? coarse : c->d->unit;
    c->rtol = t->by_type && coarse > t->rtol ? coarse : t->rtol;
    c->atol = t->units > 0 && coarse > 0 ? fmax(t->atol, t->units * coarse * largest(b)) : t->atol;
    if (floats && t->share > 0)
      c->atol += t->share * largest(b);
    compare_numbers(c, a, b);
    if (t->top && tl_dtype_is_float((tl_dtype)b->dtype))
      compare_largest(c->d, a, b, t->top);
  }
}

/* Compares values of any kind. The depth of the recursion is that of the sequence, which readers
 * and kernels bound. */
static void compare_values(comparison *c, const tl_host *a, const tl_host *b, const tl_tolerance *t,
                           bool cast) {
  if (a->kind != b->kind) {
    c->d->reason = "one is a tensor, the other a sequence or nothing";
  } else if (a->kind == TL_HOST_TENSOR) {
    compare_tensors(c, a, b, t, cast);
  } else if (a->kind == TL_HOST_SEQUENCE) {
    if (a->n != b->n)
      c->d->reason = "sequences have different lengths";
    for (uint64_t i = 0; i < a->n && !c->d->reason; i++)
      compare_values(c, tl_host_item(a, i), tl_host_item(b, i), t, cast);
  }
}

void tl_compare(const tl_host *got, const tl_host *want, const tl_tolerance *t, bool cast,
                tl_difference *out) {
  *out = (tl_difference){.got = (double)NAN, .want = (double)NAN};
  comparison c = {.d = out, .rtol = t->rtol, .atol = t->atol};
  compare_values(&c, got, want, t, cast);
  /* The square roots are taken one by one, because the product of both sums could overflow. */
  double size = sqrt(c.aa) * sqrt(c.bb);
  bool lost = isinf(out->max_abs) || (c.ee > 0 && c.bb <= 0);
  out->l2 = lost ? (double)INFINITY : c.ee > 0 ? sqrt(c.ee) / sqrt(c.bb) : 0;
  out->cosine = size > 0 ? c.dot / size : c.aa == c.bb ? 1 : 0;
  if (out->cosine > 1 || (c.dot == c.aa && c.dot == c.bb))
    out->cosine = 1;         /* rounding; the same elements are exactly as alike as can be */
  if (isinf(out->max_abs)) { /* an infinity or NaN against a number: it has no angle */
    out->cosine = (double)NAN;
    out->max_rel = (double)INFINITY;
  }
  bool close = !t->elements || out->off == 0;
  bool alike = isnan(t->cosine) || out->cosine >= t->cosine; /* NaN is not alike */
  out->equal = !out->reason && close && alike && out->rows_off == 0;
}
