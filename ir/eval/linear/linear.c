/* SPDX-License-Identifier: Apache-2.0 */
/* Computes Gemm: Y = alpha A B + beta C, where C is broadcast. */
#include <math.h>

#include "ir/eval/linear/matmul.h"

enum { ROW_GRAIN = 1 << 14 };

/* What happens to Y besides the product. */
typedef struct affine {
  tl_host *y;
  const tl_host *c;   /* NULL: none */
  int64_t row_stride; /* of C, 0 where it is broadcast */
  int64_t column_stride;
  float alpha;
  float beta;
} affine;

/* ---- Y before the product: beta C ----------------------------------------------------------- */

/* With alpha 1, beta C is written to Y first and the product is added to it. Integers come here
 * with beta 1 only. */
#define DEFINE_FILL(NAME, TYPE, SCALED)                                                            \
  static void NAME(const affine *f, uint64_t begin, uint64_t end) {                                \
    int64_t n = f->y->dims[1];                                                                     \
    for (int64_t row = (int64_t)begin; row < (int64_t)end; row++) {                                \
      const TYPE *c = (const TYPE *)f->c->data + row * f->row_stride;                              \
      TYPE *y = (TYPE *)f->y->data + row * n;                                                      \
      for (int64_t i = 0; i < n; i++) {                                                            \
        TYPE v = c[i * f->column_stride];                                                          \
        y[i] = SCALED;                                                                             \
      }                                                                                            \
    }                                                                                              \
  }

DEFINE_FILL(fill_f32, float, f->beta == 1.0f ? v : v * f->beta)
DEFINE_FILL(fill_f64, double, f->beta == 1.0f ? v : v * (double)f->beta)
DEFINE_FILL(fill_u32, uint32_t, v)
DEFINE_FILL(fill_u64, uint64_t, v)

static void fill_range(void *user, uint64_t begin, uint64_t end) {
  const affine *f = user;
  switch (f->y->dtype) {
  case TL_DTYPE_F32: fill_f32(f, begin, end); break;
  case TL_DTYPE_F64: fill_f64(f, begin, end); break;
  case TL_DTYPE_I32:
  case TL_DTYPE_U32: fill_u32(f, begin, end); break;
  default: fill_u64(f, begin, end); break;
  }
}

/* ---- Y after the product: alpha Y + beta C -------------------------------------------------- */

/* Limits v to [low, high] for the cast to an integer; NaN gives 0. */
static double clamp(double v, double low, double high) {
  return v >= high ? high : v > low ? v : v <= low ? low : 0.0;
}

/* Largest doubles below the end of the 64-bit types. */
#define LAST_I64 9223372036854774784.0
#define LAST_U64 18446744073709549568.0

/* The general case, after the product: Y = alpha Y + beta C, in double for integers. */
#define DEFINE_SCALE(NAME, TYPE, WIDE, CAST)                                                       \
  static void NAME(const affine *f, uint64_t begin, uint64_t end) {                                \
    int64_t n = f->y->dims[1];                                                                     \
    for (int64_t row = (int64_t)begin; row < (int64_t)end; row++) {                                \
      const TYPE *c = f->c ? (const TYPE *)f->c->data + row * f->row_stride : NULL;                \
      TYPE *y = (TYPE *)f->y->data + row * n;                                                      \
      for (int64_t i = 0; i < n; i++) {                                                            \
        WIDE v = (WIDE)y[i] * (WIDE)f->alpha;                                                      \
        if (c)                                                                                     \
          v += (WIDE)c[i * f->column_stride] * (WIDE)f->beta;                                      \
        y[i] = CAST;                                                                               \
      }                                                                                            \
    }                                                                                              \
  }

DEFINE_SCALE(scale_f32, float, float, v)
DEFINE_SCALE(scale_f64, double, double, v)
DEFINE_SCALE(scale_i32, int32_t, double, (int32_t)clamp(v, (double)INT32_MIN, (double)INT32_MAX))
DEFINE_SCALE(scale_u32, uint32_t, double, (uint32_t)clamp(v, 0.0, (double)UINT32_MAX))
DEFINE_SCALE(scale_i64, int64_t, double, (int64_t)clamp(v, (double)INT64_MIN, LAST_I64))
DEFINE_SCALE(scale_u64, uint64_t, double, (uint64_t)clamp(v, 0.0, LAST_U64))

static void scale_range(void *user, uint64_t begin, uint64_t end) {
  const affine *f = user;
  switch (f->y->dtype) {
  case TL_DTYPE_F32: scale_f32(f, begin, end); break;
  case TL_DTYPE_F64: scale_f64(f, begin, end); break;
  case TL_DTYPE_I32: scale_i32(f, begin, end); break;
  case TL_DTYPE_U32: scale_u32(f, begin, end); break;
  case TL_DTYPE_I64: scale_i64(f, begin, end); break;
  default: scale_u64(f, begin, end); break;
  }
}

/* ---- kernel --------------------------------------------------------------------------------- */

/* Reads C and its strides. With beta 0 C is not read at all, so that its NaN does not reach Y. */
static tl_status read_c(tl_eval *ctx, const int64_t *dims, affine *f) {
  f->c = tl_eval_in(ctx, 2);
  f->alpha = tl_eval_float(ctx, TL_SYM_alpha, 1.0f);
  f->beta = tl_eval_float(ctx, TL_SYM_beta, 1.0f);
  if (!f->c)
    return TL_OK;
  TL_TRY(tl_eval_need_rank(ctx, 2, 0, 2));
  for (int back = 1; back <= f->c->rank; back++) {
    int64_t own = f->c->dims[f->c->rank - back];
    if (own != 1 && own != dims[2 - back])
      return tl_eval_fail(ctx, "C has %lld elements along an axis of the result of %lld",
                          (long long)own, (long long)dims[2 - back]);
  }
  int64_t columns = f->c->rank > 0 ? f->c->dims[f->c->rank - 1] : 1;
  f->column_stride = columns == 1 ? 0 : 1;
  f->row_stride = f->c->rank == 2 && f->c->dims[0] != 1 ? columns : 0;
  if (f->beta == 0.0f)
    f->c = NULL;
  return TL_OK;
}

/* The order of operations is fixed by the attributes alone, not by sizes or threads. */
tl_status tl_linear_run(tl_eval *ctx, tl_host **y) {
  tl_matmul_view a, b;
  tl_matmul p;
  affine f = {0};
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, 2));
  TL_TRY(tl_eval_need_rank(ctx, 1, 2, 2));
  TL_TRY(tl_matmul_view_of(ctx, 0, false, tl_eval_int(ctx, TL_SYM_transA, 0) != 0, &a));
  TL_TRY(tl_matmul_view_of(ctx, 1, false, tl_eval_int(ctx, TL_SYM_transB, 0) != 0, &b));
  TL_TRY(tl_matmul_plan(ctx, &a, &b, false, &p));
  TL_TRY(read_c(ctx, p.dims, &f));
  tl_dtype dtype = (tl_dtype)tl_eval_in(ctx, 0)->dtype;
  if (!tl_gemm_type_of(dtype, &p.gemm.type))
    return tl_eval_unsupported(ctx, "products of %s are not supported", tl_dtype_get(dtype)->name);
  TL_TRY(tl_eval_result(ctx, 0, dtype, 2, p.dims, y));
  p.gemm.a.data = tl_eval_in(ctx, 0)->data;
  p.gemm.b.data = tl_eval_in(ctx, 1)->data;
  p.gemm.c = (*y)->data;
  f.y = *y;
  bool is_float = dtype == TL_DTYPE_F32 || dtype == TL_DTYPE_F64;
  bool plain = f.alpha == 1.0f && (is_float || !f.c || f.beta == 1.0f);
  uint64_t rows = (*y)->n ? (uint64_t)p.dims[0] : 0;
  uint64_t grain = rows ? ROW_GRAIN / (uint64_t)p.dims[1] + 1 : 1;
  if (plain && f.c)
    tl_eval_for(ctx, rows, grain, fill_range, &f);
  p.gemm.accumulate = plain && f.c;
  TL_TRY(tl_gemm_run(ctx, &p.gemm));
  if (!plain)
    tl_eval_for(ctx, rows, grain, scale_range, &f);
  return TL_OK;
}

tl_status tl_eval_gemm(tl_eval *ctx) {
  tl_host *y;
  return tl_linear_run(ctx, &y);
}
