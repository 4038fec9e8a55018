/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of the matrix product: one small tile of C over a block of k. The same loop is
 * built for several vector widths; the widest one that the processor has is used. */
#ifndef TL_IR_EVAL_LINEAR_GEMM_UNIT_H
#define TL_IR_EVAL_LINEAR_GEMM_UNIT_H

#include "ir/eval/kernel/vectors.h"
#include "ir/eval/linear/products.h"

/* What a tile works on, in elements. Operands may lie anywhere, as weights of a file do. */
typedef struct tl_gemm_strip {
  int64_t steps;
  const void *a; /* row i at step s: a[i * a_row + s * a_step] */
  int64_t a_row;
  int64_t a_step;
  const void *b; /* column j at step s: b[s * b_step + j] */
  int64_t b_step;
  void *c; /* rows c_row apart */
  int64_t c_row;
  bool accumulate; /* to what C holds */
} tl_gemm_strip;

/* Computes C[rows][columns] (+)= A B. */
typedef void (*tl_gemm_tile)(const tl_gemm_strip *s);
/* Copies the columns of one step: `panels` times what a tile has, `apart` bytes from each other in
 * dst, adjacent in `from`. */
typedef void (*tl_gemm_spread)(const void *from, size_t panels, size_t apart, void *dst);

/* A tile function, the size of its tile, and how its columns are copied. */
typedef struct tl_gemm_unit {
  tl_gemm_tile tile;
  tl_gemm_spread spread;
  int64_t rows;
  int64_t columns;
} tl_gemm_unit;

/* Returns the tile that multiplies and then adds. Its results do not depend on the level. row: that
 * of one long row. */
const tl_gemm_unit *tl_gemm_exact_unit(tl_gemm_type type, unsigned level, bool row);
/* Returns the tile with a fused multiply-add where the level has one; type: f32 or f64. */
const tl_gemm_unit *tl_gemm_fast_unit(tl_gemm_type type, unsigned level, bool row);

#if defined(__clang__)
#define TL_GEMM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TL_GEMM_UNROLL _Pragma("GCC unroll 16")
#endif

/* Defines a tile of ROWS rows and VECTORS vectors of BYTES bytes. Its sums stay in registers, which
 * is what limits them. */
#define TL_GEMM_DEFINE(NAME, TYPE, BYTES, ROWS, VECTORS, TARGET)                                   \
  typedef TYPE NAME##_vector __attribute__((vector_size(BYTES), aligned(1), may_alias));           \
  typedef TYPE NAME##_number __attribute__((aligned(1), may_alias));                               \
  TARGET static void NAME##_spread(const void *from, size_t panels, size_t apart, void *dst) {     \
    const NAME##_vector *f = from;                                                                 \
    for (; panels; panels--, f += (VECTORS)) {                                                     \
      NAME##_vector *to = dst;                                                                     \
      TL_GEMM_UNROLL                                                                               \
      for (int v = 0; v < (VECTORS); v++)                                                          \
        to[v] = f[v];                                                                              \
      dst = (char *)dst + apart;                                                                   \
    }                                                                                              \
  }                                                                                                \
  TARGET static void NAME(const tl_gemm_strip *strip) {                                            \
    enum { LANES = (BYTES) / (int)sizeof(TYPE) };                                                  \
    typedef TYPE vector __attribute__((vector_size(BYTES)));                                       \
    const NAME##_number *a = strip->a, *b = strip->b;                                              \
    int64_t steps = strip->steps, a_row = strip->a_row, a_step = strip->a_step;                    \
    int64_t b_step = strip->b_step, c_row = strip->c_row;                                          \
    NAME##_number *c = strip->c;                                                                   \
    vector sum[ROWS][VECTORS];                                                                     \
    TL_GEMM_UNROLL                                                                                 \
    for (int i = 0; i < (ROWS); i++)                                                               \
      TL_GEMM_UNROLL                                                                               \
    for (int v = 0; v < (VECTORS); v++)                                                            \
      if (strip->accumulate)                                                                       \
        sum[i][v] = *(const NAME##_vector *)(c + i * c_row + (ptrdiff_t)v * LANES);                \
      else                                                                                         \
        sum[i][v] = (vector){0};                                                                   \
    for (int64_t s = 0; s < steps; s++) {                                                          \
      vector column[VECTORS];                                                                      \
      TL_GEMM_UNROLL                                                                               \
      for (int v = 0; v < (VECTORS); v++)                                                          \
        column[v] = *(const NAME##_vector *)(b + (ptrdiff_t)v * LANES);                            \
      TL_GEMM_UNROLL                                                                               \
      for (int i = 0; i < (ROWS); i++)                                                             \
        TL_GEMM_UNROLL                                                                             \
      for (int v = 0; v < (VECTORS); v++)                                                          \
        sum[i][v] = sum[i][v] + a[i * a_row] * column[v];                                          \
      a += a_step;                                                                                 \
      b += b_step;                                                                                 \
    }                                                                                              \
    TL_GEMM_UNROLL                                                                                 \
    for (int i = 0; i < (ROWS); i++)                                                               \
      TL_GEMM_UNROLL                                                                               \
    for (int v = 0; v < (VECTORS); v++)                                                            \
      *(NAME##_vector *)(c + i * c_row + (ptrdiff_t)v * LANES) = sum[i][v];                        \
  }

/* The unit of a tile that TL_GEMM_DEFINE made. */
#define TL_GEMM_UNIT(NAME, TYPE, BYTES, ROWS, VECTORS)                                             \
  { NAME, NAME##_spread, ROWS, (VECTORS) * (BYTES) / (int)sizeof(TYPE) }

/* Rows of the baseline: SSE2 has 16 registers, NEON has 32. */
#if defined(__aarch64__)
#define TL_GEMM_ROWS 8
#else
#define TL_GEMM_ROWS 4
#endif

/* Defines NAME_units for every level: the tile of matrices, and that of one row, which is read with
 * long runs of B. AVX2 has 16 registers, AVX-512 has 32. */
#define TL_GEMM_DEFINE_LEVELS(NAME, TYPE)                                                          \
  TL_GEMM_DEFINE(NAME##_128, TYPE, 16, TL_GEMM_ROWS, 2, )                                          \
  TL_GEMM_DEFINE(NAME##_256, TYPE, 32, 6, 2, TL_VECTORS_256)                                       \
  TL_GEMM_DEFINE(NAME##_512, TYPE, 64, 8, 2, TL_VECTORS_512)                                       \
  TL_GEMM_DEFINE(NAME##_row_128, TYPE, 16, 1, 12, )                                                \
  TL_GEMM_DEFINE(NAME##_row_256, TYPE, 32, 1, 12, TL_VECTORS_256)                                  \
  TL_GEMM_DEFINE(NAME##_row_512, TYPE, 64, 1, 16, TL_VECTORS_512)                                  \
  static const tl_gemm_unit NAME##_units[TL_VECTOR_LEVELS][2] = {                                  \
      {TL_GEMM_UNIT(NAME##_128, TYPE, 16, TL_GEMM_ROWS, 2),                                        \
       TL_GEMM_UNIT(NAME##_row_128, TYPE, 16, 1, 12)},                                             \
      {TL_GEMM_UNIT(NAME##_256, TYPE, 32, 6, 2), TL_GEMM_UNIT(NAME##_row_256, TYPE, 32, 1, 12)},   \
      {TL_GEMM_UNIT(NAME##_512, TYPE, 64, 8, 2), TL_GEMM_UNIT(NAME##_row_512, TYPE, 64, 1, 16)},   \
  };

#endif
