/* SPDX-License-Identifier: Apache-2.0 */
/* Computes Reduce*: one kernel, whose argument says which. Neighbouring dims that are all kept or
 * all reduced are merged. Then either a contiguous run is folded into one cell, or a strip of
 * neighbouring results is folded together, so that memory is read in order in both cases. */
#include <math.h>

#include "ir/eval/kernel/lines.h"
#include "ir/eval/math/elementary.h"

enum { L1, L2, LOG_SUM, LOG_SUM_EXP, MAX, MEAN, MIN, PROD, SUM, SUM_SQUARE };
/* results folded together; elements that a thread has at least */
enum { STRIP = 256, WORK = 1 << 15 };

typedef enum fold { FOLD_SUM, FOLD_PROD, FOLD_MAX, FOLD_MIN } fold;
typedef enum map { MAP_NONE, MAP_ABS, MAP_SQUARE, MAP_EXP } map;

/* Merged dims: n elements, `stride` elements apart. */
typedef struct run {
  uint64_t n;
  uint64_t stride;
} run;

/* The geometry of a reduction: `kept` dims are those of the result, `cut` dims are folded. */
typedef struct reduction {
  int64_t op;
  const tl_host *in;
  tl_host *out;
  run kept[TL_MAX_RANK];
  run cut[TL_MAX_RANK];
  int n_kept;
  int n_cut;
  uint64_t total;  /* elements that make one result */
  uint64_t inner;  /* results that are neighbours in the operand too */
  uint64_t strips; /* of `inner` */
  bool floats;     /* computed in double */
} reduction;

/* ---- folding cells -------------------------------------------------------------------------- */

/* Maps each cell before it is folded. shift: what LogSumExp subtracts, one number for a run, one
 * for each result for a strip. */
static void map_floats(map f, double *c, uint64_t n, const double *shift, bool one_shift) {
  if (f == MAP_ABS)
    for (uint64_t i = 0; i < n; i++)
      c[i] = fabs(c[i]);
  else if (f == MAP_SQUARE)
    for (uint64_t i = 0; i < n; i++)
      c[i] *= c[i];
  else if (f == MAP_EXP)
    for (uint64_t i = 0; i < n; i++)
      c[i] = tl_exp(c[i] - shift[one_shift ? 0 : i]);
}

static double larger(double a, double b) { return a != a || a >= b ? a : b; }
static double smaller(double a, double b) { return a != a || a <= b ? a : b; }

/* Folds c[i] into to[i], for a strip of results. */
static void fold_floats(fold f, double *to, const double *c, uint64_t n) {
  switch (f) {
  case FOLD_SUM:
    for (uint64_t i = 0; i < n; i++)
      to[i] += c[i];
    break;
  case FOLD_PROD:
    for (uint64_t i = 0; i < n; i++)
      to[i] *= c[i];
    break;
  case FOLD_MAX:
    for (uint64_t i = 0; i < n; i++)
      to[i] = larger(to[i], c[i]);
    break;
  case FOLD_MIN:
    for (uint64_t i = 0; i < n; i++)
      to[i] = smaller(to[i], c[i]);
    break;
  }
}

/* Folds c[0..n) into *to, for a run. */
static void fold_float_run(fold f, double *to, const double *c, uint64_t n) {
  double all = *to;
  switch (f) {
  case FOLD_SUM: all += tl_cells_sum(c, n); break;
  case FOLD_PROD:
    for (uint64_t i = 0; i < n; i++)
      all *= c[i];
    break;
  case FOLD_MAX: all = larger(all, tl_cells_max(c, n)); break;
  case FOLD_MIN:
    for (uint64_t i = 0; i < n; i++)
      all = smaller(all, c[i]);
    break;
  }
  *to = all;
}

/* Folds two integers; sums and products wrap, as the storage does. */
static int64_t fold_two(fold f, int64_t a, int64_t b) {
  switch (f) {
  case FOLD_SUM: return (int64_t)((uint64_t)a + (uint64_t)b);
  case FOLD_PROD: return (int64_t)((uint64_t)a * (uint64_t)b);
  case FOLD_MAX: return a > b ? a : b;
  default: return a < b ? a : b;
  }
}

/* Cells of unsigned types may have the top bit set, so they must not be seen as negative. */
static int64_t map_int(map f, int64_t v, bool is_signed) {
  if (f == MAP_ABS)
    return is_signed && v < 0 ? (int64_t)(0 - (uint64_t)v) : v;
  return f == MAP_SQUARE ? (int64_t)((uint64_t)v * (uint64_t)v) : v;
}

static bool is_unsigned(int dtype) {
  return dtype == TL_DTYPE_U8 || dtype == TL_DTYPE_U16 || dtype == TL_DTYPE_U32 ||
         dtype == TL_DTYPE_U64 || dtype == TL_DTYPE_BOOL;
}

/* ---- one strip of results ------------------------------------------------------------------- */

typedef struct strip {
  const reduction *r;
  map map;
  fold fold;
  uint64_t first; /* place of the first result in the operand */
  uint64_t width;
  union {
    double f[STRIP];
    int64_t i[STRIP];
  } to;
  double shift[STRIP];
} strip;

/* Folds n integer cells into one result (as_run) or into n of them. */
static void take_ints(strip *s, int64_t *c, uint64_t n, bool as_run) {
  bool is_signed = !is_unsigned(s->r->in->dtype);
  for (uint64_t i = 0; i < n; i++) {
    int64_t *to = &s->to.i[as_run ? 0 : i];
    *to = fold_two(s->fold, *to, map_int(s->map, c[i], is_signed));
  }
}

/* Replaces int64 cells by doubles in place; memcpy, since the same bytes change their type. */
static void ints_to_floats(int dtype, void *cells, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    int64_t v = ((int64_t *)cells)[i];
    double d = dtype == TL_DTYPE_U64 ? (double)(uint64_t)v : (double)v;
    memcpy((char *)cells + i * sizeof d, &d, sizeof d);
  }
}

/* Folds n <= STRIP elements from index `at` on into the strip. */
static void take(strip *s, uint64_t at, uint64_t n, bool as_run) {
  const reduction *r = s->r;
  union {
    double f[STRIP];
    int64_t i[STRIP];
  } c;
  tl_cells_load(r->in->dtype, r->in->data, at, 1, n, &c);
  if (!r->floats) {
    tl_cells_flip(s->fold >= FOLD_MAX ? r->in->dtype : 0, &c, n);
    take_ints(s, c.i, n, as_run);
    return;
  }
  if (!tl_cells_are_floats(r->in->dtype))
    ints_to_floats(r->in->dtype, &c, n);
  map_floats(s->map, c.f, n, s->shift, as_run);
  if (as_run)
    fold_float_run(s->fold, s->to.f, c.f, n);
  else
    fold_floats(s->fold, s->to.f, c.f, n);
}

/* Visits everything that is folded into the strip, in index order: an odometer over the cut dims,
 * of which a contiguous innermost one is taken as a run. */
static void walk(strip *s) {
  const reduction *r = s->r;
  bool as_run = r->n_cut && r->cut[r->n_cut - 1].stride == 1;
  int odometer = r->n_cut - (as_run ? 1 : 0);
  uint64_t at[TL_MAX_RANK] = {0}, place = s->first;
  for (;;) {
    if (!as_run)
      take(s, place, s->width, false);
    else
      for (uint64_t i = 0, n = r->cut[odometer].n; i < n; i += STRIP)
        take(s, place + i, n - i < STRIP ? n - i : STRIP, true);
    int k = odometer - 1;
    for (; k >= 0 && ++at[k] == r->cut[k].n; k--) {
      place -= r->cut[k].stride * (r->cut[k].n - 1);
      at[k] = 0;
    }
    if (k < 0)
      return;
    place += r->cut[k].stride;
  }
}

/* The neutral element of a maximum, as a cell. */
static int64_t least(int dtype) {
  switch (dtype) {
  case TL_DTYPE_I8: return INT8_MIN;
  case TL_DTYPE_I16: return INT16_MIN;
  case TL_DTYPE_I32: return INT32_MIN;
  case TL_DTYPE_I64:
  case TL_DTYPE_U64: return INT64_MIN; /* u64 cells are flipped */
  default: return 0;
  }
}

/* The neutral element of a minimum, as a cell; that of u64, flipped, is INT64_MAX too. */
static int64_t greatest(int dtype) {
  switch (dtype) {
  case TL_DTYPE_I8: return INT8_MAX;
  case TL_DTYPE_U8: return UINT8_MAX;
  case TL_DTYPE_I16: return INT16_MAX;
  case TL_DTYPE_U16: return UINT16_MAX;
  case TL_DTYPE_I32: return INT32_MAX;
  case TL_DTYPE_U32: return UINT32_MAX;
  case TL_DTYPE_BOOL: return 1;
  default: return INT64_MAX;
  }
}

/* Sets the results to the neutral element and folds everything into them. */
static void fold_all(strip *s, map m, fold f) {
  static const double neutral[] = {0, 1, -(double)INFINITY, (double)INFINITY};
  int dtype = s->r->in->dtype;
  int64_t whole[] = {0, 1, least(dtype), greatest(dtype)};
  s->map = m;
  s->fold = f;
  for (uint64_t i = 0; i < s->width; i++)
    if (s->r->floats)
      s->to.f[i] = neutral[f];
    else
      s->to.i[i] = whole[f];
  if (s->r->total)
    walk(s);
}

/* ---- what each op folds and how it ends ----------------------------------------------------- */

/* Subtracts the largest element first, so that exp cannot overflow: two walks. A maximum of
 * infinity is not subtracted, which would give NaN. */
static void log_sum_exp(strip *s) {
  fold_all(s, MAP_NONE, FOLD_MAX);
  for (uint64_t i = 0; i < s->width; i++)
    s->shift[i] = isfinite(s->to.f[i]) ? s->to.f[i] : 0;
  fold_all(s, MAP_EXP, FOLD_SUM);
  for (uint64_t i = 0; i < s->width; i++)
    s->to.f[i] = tl_log(s->to.f[i]) + s->shift[i];
}

static void fold_op(strip *s) {
  switch (s->r->op) {
  case L1: fold_all(s, MAP_ABS, FOLD_SUM); break;
  case L2:
  case SUM_SQUARE: fold_all(s, MAP_SQUARE, FOLD_SUM); break;
  case LOG_SUM_EXP: log_sum_exp(s); break;
  case MAX: fold_all(s, MAP_NONE, FOLD_MAX); break;
  case MIN: fold_all(s, MAP_NONE, FOLD_MIN); break;
  case PROD: fold_all(s, MAP_NONE, FOLD_PROD); break;
  default: fold_all(s, MAP_NONE, FOLD_SUM); break;
  }
}

/* A count beyond INT64_MAX cannot be a signed divisor; no memory holds so many elements. */
static int64_t whole_mean(int dtype, int64_t sum, uint64_t n) {
  if (is_unsigned(dtype))
    return (int64_t)((uint64_t)sum / n);
  return n > INT64_MAX ? 0 : sum / (int64_t)n;
}

static void finish_op(strip *s) {
  const reduction *r = s->r;
  for (uint64_t i = 0; i < s->width; i++)
    if (r->op == L2)
      s->to.f[i] = sqrt(s->to.f[i]);
    else if (r->op == LOG_SUM)
      s->to.f[i] = tl_log(s->to.f[i]);
    else if (r->op == MEAN && r->floats)
      s->to.f[i] /= (double)r->total;
    else if (r->op == MEAN)
      s->to.i[i] = whole_mean(r->in->dtype, s->to.i[i], r->total);
}

/* Saturates a double to int64; NaN gives the least integer, as x86's conversion does. */
static int64_t to_whole(double v) {
  if (!(v > -9223372036854775808.0)) /* NaN too */
    return INT64_MIN;
  return v < 9223372036854775808.0 ? (int64_t)v : INT64_MAX;
}

/* Converts the cells back to the result's type. Only integer ops with a float computation (L2,
 * LogSum, LogSumExp) need that. */
static void store_strip(strip *s, uint64_t at) {
  const reduction *r = s->r;
  int dtype = r->out->dtype;
  if (r->floats && !tl_cells_are_floats(dtype))
    for (uint64_t i = 0; i < s->width; i++) {
      int64_t v = to_whole(s->to.f[i]);
      memcpy((char *)&s->to + i * sizeof v, &v, sizeof v);
    }
  if (!r->floats && (r->op == MAX || r->op == MIN))
    tl_cells_flip(dtype, &s->to, s->width);
  tl_cells_store(dtype, &s->to, r->out->data, at, 1, s->width);
}

/* Strips [begin, end) of the result. The innermost kept dim is what the strip spans, if it is
 * contiguous; the other kept dims give the strip's place. */
static void reduce_strips(void *user, uint64_t begin, uint64_t end) {
  const reduction *r = user;
  strip s = {.r = r};
  for (uint64_t u = begin; u < end; u++) {
    uint64_t from = u % r->strips * STRIP, at = u / r->strips;
    uint64_t result = at * r->inner + from;
    s.width = r->inner - from < STRIP ? r->inner - from : STRIP;
    s.first = from;
    for (int k = r->n_kept - (r->inner > 1 ? 2 : 1); k >= 0; k--) {
      s.first += at % r->kept[k].n * r->kept[k].stride;
      at /= r->kept[k].n;
    }
    fold_op(&s);
    finish_op(&s);
    store_strip(&s, result);
  }
}

/* ---- geometry ------------------------------------------------------------------------------- */

/* Adds a dim, outermost first; one that continues the last run is merged with it. */
static void add_run(run *runs, int *n, uint64_t count, uint64_t stride) {
  run *last = *n ? &runs[*n - 1] : NULL;
  if (last && last->stride == count * stride) {
    last->n *= count; /* rows follow each other */
    last->stride = stride;
  } else {
    runs[(*n)++] = (run){count, stride};
  }
}

static void merge_dims(reduction *r, const bool *cut) {
  uint64_t stride[TL_MAX_RANK], step = 1;
  for (int i = r->in->rank - 1; i >= 0; i--) {
    stride[i] = step;
    step *= (uint64_t)r->in->dims[i];
  }
  r->total = 1;
  for (int i = 0; i < r->in->rank; i++) {
    uint64_t n = (uint64_t)r->in->dims[i];
    if (cut[i])
      r->total *= n;
    if (n != 1)
      add_run(cut[i] ? r->cut : r->kept, cut[i] ? &r->n_cut : &r->n_kept, n, stride[i]);
  }
  run *last = r->n_kept ? &r->kept[r->n_kept - 1] : NULL;
  r->inner = last && last->stride == 1 && last->n ? last->n : 1;
  r->strips = (r->inner + STRIP - 1) / STRIP;
}

/* Without axes all dims are reduced, or none with noop_with_empty_axes. */
static tl_status read_axes(tl_eval *ctx, bool *cut) {
  const tl_host *in = tl_eval_in(ctx, 0);
  tl_int_list axes;
  TL_TRY(tl_eval_operand_ints(ctx, 1, &axes));
  bool all = axes.n == 0 && !tl_eval_int(ctx, TL_SYM_noop_with_empty_axes, 0);
  for (int i = 0; i < in->rank; i++)
    cut[i] = all;
  for (uint32_t i = 0; i < axes.n; i++) {
    uint32_t axis;
    TL_TRY(tl_eval_axis(ctx, axes.at[i], in->rank, &axis));
    if (cut[axis])
      return tl_eval_fail(ctx, "axis %u is named twice", axis);
    cut[axis] = true;
  }
  return TL_OK;
}

static int kept_shape(const tl_host *in, const bool *cut, bool keep, int64_t *dims) {
  int rank = 0;
  for (int i = 0; i < in->rank; i++)
    if (!cut[i] || keep)
      dims[rank++] = cut[i] ? 1 : in->dims[i];
  return rank;
}

tl_status tl_eval_reduce(tl_eval *ctx) {
  bool cut[TL_MAX_RANK];
  int64_t dims[TL_MAX_RANK];
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  TL_TRY(read_axes(ctx, cut));
  reduction r = {.op = ctx->arg, .in = tl_eval_in(ctx, 0)};
  int rank = kept_shape(r.in, cut, tl_eval_int(ctx, TL_SYM_keepdims, 1) != 0, dims);
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)r.in->dtype, rank, dims, &r.out));
  r.floats = tl_cells_are_floats(r.in->dtype) || r.op == L2 || r.op == LOG_SUM ||
             r.op == LOG_SUM_EXP;
  merge_dims(&r, cut);
  if (!r.out->n)
    return TL_OK;
  if (!r.total && r.op == MEAN && !r.floats)
    return tl_eval_fail(ctx, "the mean of no integers is undefined");
  uint64_t work = r.total * (r.inner < STRIP ? r.inner : STRIP) + 1;
  tl_eval_for(ctx, r.out->n / r.inner * r.strips, WORK / work + 1, reduce_strips, &r);
  return TL_OK;
}
