/* SPDX-License-Identifier: Apache-2.0 */
/* Hands plain matrix products of the fast mode to a BLAS (meson option blas). */
#include "ir/eval/linear/blas.h"

#include <cblas.h>
#include <limits.h>

/* An operand as BLAS sees it: one of its two strides is 1, `distance` is the other one. */
typedef struct blas_side {
  CBLAS_TRANSPOSE transpose;
  int distance;
} blas_side;

/* Describes an operand to BLAS; false when BLAS cannot express its strides. inner: the stride along
 * a row of the matrix as it is written; outer: the stride between rows. */
static bool see_side(int64_t outer, int64_t inner, int64_t rows, int64_t columns, blas_side *out) {
  bool straight = inner == 1 || columns == 1;
  int64_t distance = straight ? outer : inner;
  int64_t least = straight ? columns : rows;
  if (!straight && outer != 1 && rows != 1)
    return false;
  if (distance < least) /* a single row has no distance of its own; BLAS still wants a valid one */
    distance = straight && rows == 1 ? least : !straight && columns == 1 ? least : 0;
  if (distance < 1 || distance > INT_MAX)
    return false;
  *out = (blas_side){straight ? CblasNoTrans : CblasTrans, (int)distance};
  return true;
}

/* Returns true when the product is one of plain matrices of floats whose sizes fit an int. */
static bool sees(const tl_gemm *g, blas_side *a, blas_side *b) {
  bool floats = g->type == TL_GEMM_F32 || g->type == TL_GEMM_F64;
  bool aligned = (((uintptr_t)g->a.data | (uintptr_t)g->b.data) & (tl_gemm_size(g->type) - 1)) == 0;
  bool plain = !g->a.pack && !g->b.pack && aligned;
  bool fits = g->m > 0 && g->n > 0 && g->k > 0 && g->m <= INT_MAX && g->n <= INT_MAX &&
              g->k <= INT_MAX && g->c_stride >= g->n && g->c_stride <= INT_MAX;
  return floats && plain && fits && see_side(g->a.lane_stride, g->a.k_stride, g->m, g->k, a) &&
         see_side(g->b.k_stride, g->b.lane_stride, g->k, g->n, b);
}

static int64_t at(const int64_t *starts, uint64_t batch) { return starts ? starts[batch] : 0; }

bool tl_gemm_blas(const tl_gemm *g) {
  blas_side a, b;
  if (!sees(g, &a, &b))
    return false;
  bool more = g->accumulate || g->start;
  if (g->start)
    tl_gemm_begin(g);
  for (uint64_t i = 0; i < g->batches; i++) {
    if (g->type == TL_GEMM_F32)
      cblas_sgemm(CblasRowMajor, a.transpose, b.transpose, (int)g->m, (int)g->n, (int)g->k, 1.0F,
                  (const float *)g->a.data + at(g->a.at, i), a.distance,
                  (const float *)g->b.data + at(g->b.at, i), b.distance, more ? 1.0F : 0.0F,
                  (float *)g->c + at(g->c_at, i), (int)g->c_stride);
    else
      cblas_dgemm(CblasRowMajor, a.transpose, b.transpose, (int)g->m, (int)g->n, (int)g->k, 1.0,
                  (const double *)g->a.data + at(g->a.at, i), a.distance,
                  (const double *)g->b.data + at(g->b.at, i), b.distance, more ? 1.0 : 0.0,
                  (double *)g->c + at(g->c_at, i), (int)g->c_stride);
  }
  return true;
}
