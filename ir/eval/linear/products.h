/* SPDX-License-Identifier: Apache-2.0 */
/* Describes matrix products C = A B for many pairs of matrices: element type, operands, results.
 *
 * Operands are copied block by block into the order in which the inner loop reads them ("packed").
 * An operand that is not a strided matrix (the windows of a convolution, quantized numbers) brings
 * a function that writes the packed form. */
#ifndef TL_IR_EVAL_LINEAR_PRODUCTS_H
#define TL_IR_EVAL_LINEAR_PRODUCTS_H

#include "ir/module.h"

/* The types that products are computed in; see tl_gemm_type_of. */
typedef enum tl_gemm_type { TL_GEMM_F32, TL_GEMM_F64, TL_GEMM_U32, TL_GEMM_U64 } tl_gemm_type;

/* A part of an operand that is packed at once. Lanes are rows of A or columns of B. */
typedef struct tl_gemm_block {
  uint64_t batch;
  int64_t lane;
  int64_t lanes; /* at most width */
  int64_t k;
  int64_t steps;
  int64_t width; /* lanes of the packed form; those beyond `lanes` are zero */
} tl_gemm_block;

/* Writes the element of lane l at step s of the block to dst[s * width + l]. Called from many
 * threads at once. */
typedef void (*tl_gemm_pack)(const void *user, const tl_gemm_block *block, void *dst);

/* An operand: a strided matrix for each batch, or a function that packs it. */
typedef struct tl_gemm_side {
  const void *data;
  int64_t lane_stride; /* elements between neighbouring rows of A or columns of B */
  int64_t k_stride;    /* elements between neighbouring steps of the sum */
  const int64_t *at;   /* by batch: the element where the matrix begins; NULL: 0 */
  tl_gemm_pack pack;   /* instead of all that; NULL: none */
  const void *user;    /* of pack */
} tl_gemm_side;

/* The products C[i] (+)= A[i] B[i] for i < batches. All pointers are borrowed; C must not overlap A
 * and B. */
typedef struct tl_gemm {
  tl_gemm_type type;
  uint64_t batches;
  int64_t m; /* rows of A and C */
  int64_t n; /* columns of B and C */
  int64_t k;
  tl_gemm_side a;
  tl_gemm_side b;
  void *c;
  const int64_t *c_at; /* by batch: the element where the result begins; NULL: 0 */
  int64_t c_stride;    /* elements between rows of C; neighbouring columns are adjacent */
  bool accumulate;     /* add to what C holds; else C is written only */
  const void *start; /* without accumulate: a number for each row, where its sums begin; NULL: 0 */
  const int64_t *start_at; /* by batch: the element of start for the first row; NULL: 0 */
} tl_gemm;

/* Returns the bytes of an element. */
static inline size_t tl_gemm_size(tl_gemm_type t) {
  return t == TL_GEMM_F64 || t == TL_GEMM_U64 ? 8 : 4;
}

/* Part of C. */
typedef struct tl_gemm_area {
  uint64_t batch;
  int64_t row, rows;
  int64_t column, columns;
} tl_gemm_area;

/* Gives part of C what its sums begin with when they do not accumulate: start, or zeros. */
void tl_gemm_begin_part(const tl_gemm *g, const tl_gemm_area *at);
/* The same for all of C. */
void tl_gemm_begin(const tl_gemm *g);

#endif
