/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of the matrix product: one small tile of C over a block of k. The same loop is
 * built for several vector widths; the widest one that the processor has is used. */
#ifndef TL_IR_EVAL_LINEAR_GEMM_UNIT_H
#define TL_IR_EVAL_LINEAR_GEMM_UNIT_H

#include "ir/eval/kernel/vectors.h"
#include "ir/eval/linear/products.h"

/* Computes C[rows][columns] (+)= A B over k steps. a: [k][rows], b: [k][columns], packed and
 * aligned to 64 bytes. c_stride: elements between rows of C. */
typedef void (*tl_gemm_tile)(int64_t k, const void *a, const void *b, void *c, int64_t c_stride,
                             bool accumulate);

/* A tile function and the size of its tile. */
typedef struct tl_gemm_unit {
  tl_gemm_tile tile;
  int64_t rows;
  int64_t columns;
} tl_gemm_unit;

/* Returns the tile that multiplies and then adds. Its results do not depend on the level. */
const tl_gemm_unit *tl_gemm_exact_unit(tl_gemm_type type, unsigned level);
/* Returns the tile with a fused multiply-add where the level has one; type: f32 or f64. */
const tl_gemm_unit *tl_gemm_fast_unit(tl_gemm_type type, unsigned level);

#if defined(__clang__)
#define TL_GEMM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TL_GEMM_UNROLL _Pragma("GCC unroll 16")
#endif

/* Defines a tile of ROWS rows and two vectors of BYTES bytes. Its sums stay in registers, which is
 * what limits ROWS. C may be anywhere, hence the type with a low alignment. */
#define TL_GEMM_DEFINE(NAME, TYPE, BYTES, ROWS, TARGET)                                            \
  TARGET static void NAME(int64_t k, const void *pa, const void *pb, void *pc, int64_t c_stride,   \
                          bool accumulate) {                                                       \
    enum { LANES = (BYTES) / (int)sizeof(TYPE) };                                                  \
    typedef TYPE vector __attribute__((vector_size(BYTES)));                                       \
    typedef TYPE anywhere __attribute__((vector_size(BYTES), aligned(4), may_alias));              \
    const TYPE *a = pa;                                                                            \
    const anywhere *b = pb;                                                                        \
    TYPE *c = pc;                                                                                  \
    vector sum[ROWS][2];                                                                           \
    TL_GEMM_UNROLL                                                                                 \
    for (int i = 0; i < (ROWS); i++) {                                                             \
      if (accumulate) {                                                                            \
        sum[i][0] = *(const anywhere *)(const void *)(c + i * c_stride);                           \
        sum[i][1] = *(const anywhere *)(const void *)(c + i * c_stride + LANES);                   \
      } else {                                                                                     \
        sum[i][0] = (vector){0};                                                                   \
        sum[i][1] = (vector){0};                                                                   \
      }                                                                                            \
    }                                                                                              \
    for (int64_t s = 0; s < k; s++) {                                                              \
      vector b0 = b[0], b1 = b[1];                                                                 \
      TL_GEMM_UNROLL                                                                               \
      for (int i = 0; i < (ROWS); i++) {                                                           \
        sum[i][0] = sum[i][0] + a[i] * b0;                                                         \
        sum[i][1] = sum[i][1] + a[i] * b1;                                                         \
      }                                                                                            \
      a += (ROWS);                                                                                 \
      b += 2;                                                                                      \
    }                                                                                              \
    TL_GEMM_UNROLL                                                                                 \
    for (int i = 0; i < (ROWS); i++) {                                                             \
      *(anywhere *)(void *)(c + i * c_stride) = sum[i][0];                                         \
      *(anywhere *)(void *)(c + i * c_stride + LANES) = sum[i][1];                                 \
    }                                                                                              \
  }

/* Defines the three levels of one type: NAME_units[level]. */
#define TL_GEMM_DEFINE_LEVELS(NAME, TYPE)                                                          \
  TL_GEMM_DEFINE(NAME##_128, TYPE, 16, 4, )                                                        \
  TL_GEMM_DEFINE(NAME##_256, TYPE, 32, 6, TL_VECTORS_256)                                          \
  TL_GEMM_DEFINE(NAME##_512, TYPE, 64, 8, TL_VECTORS_512)                                          \
  static const tl_gemm_unit NAME##_units[TL_VECTOR_LEVELS] = {                                     \
      {NAME##_128, 4, 2 * 16 / (int)sizeof(TYPE)},                                                 \
      {NAME##_256, 6, 2 * 32 / (int)sizeof(TYPE)},                                                 \
      {NAME##_512, 8, 2 * 64 / (int)sizeof(TYPE)},                                                 \
  };

#endif
