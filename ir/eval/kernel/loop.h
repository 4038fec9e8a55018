/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over operands that broadcast, row by row, for elementwise kernels. Neighbouring dims that
 * are contiguous for every operand are merged: operands of equal shape are one long row, and a bias
 * is one row for each repetition. Along a row an operand advances by a fixed step in elements,
 * nearly always 1 or 0. */
#ifndef TL_IR_EVAL_KERNEL_LOOP_H
#define TL_IR_EVAL_KERNEL_LOOP_H

#include "ir/eval/kernel/kernel.h"

enum { TL_LOOP_OPERANDS = 3, TL_LOOP_GRAIN = 1 << 14 };

/* The plan of a walk; tl_loop_plan makes it. All strides and steps are in elements. */
typedef struct tl_loop {
  uint64_t n;     /* elements of the result */
  uint64_t inner; /* elements of a row */
  int rank;       /* dims outside of the row */
  uint32_t n_in;
  int64_t steps[TL_LOOP_OPERANDS]; /* along a row */
  int64_t dims[TL_MAX_RANK];
  int64_t strides[TL_LOOP_OPERANDS][TL_MAX_RANK];
} tl_loop;

/* Computes n elements of a row: out is dense, operand k starts at in[k] and advances by
 * steps[k]. */
typedef void (*tl_row)(const void *user, void *out, const void *const *in, const int64_t *steps,
                       uint64_t n);

/* What one walk reads and writes; all pointers are borrowed. */
typedef struct tl_loop_data {
  const void *in[TL_LOOP_OPERANDS];
  size_t in_size[TL_LOOP_OPERANDS]; /* bytes of an element */
  void *out;
  size_t out_size;
  const void *user;
} tl_loop_data;

/* Plans the walk over a result of the given shape. strides: per operand, as tl_eval_broadcast gives
 * them; n_in at most TL_LOOP_OPERANDS. */
void tl_loop_plan(tl_loop *l, int rank, const int64_t *dims, const int64_t *const *strides,
                  uint32_t n_in);
/* Runs `row` over all elements: on the pool when `threads` is set and the result is large, else on
 * this thread. */
void tl_loop_run(const tl_eval *ctx, const tl_loop *l, tl_row row, const tl_loop_data *d,
                 bool threads);

/* Broadcasts the operands, makes result 0 of type `result` and runs `row` over it. n at most
 * TL_LOOP_OPERANDS. TL_INVALID_MODEL when the shapes do not broadcast. */
tl_status tl_eval_elementwise(tl_eval *ctx, const tl_host *const *operands, uint32_t n,
                              tl_dtype result, tl_row row, const void *user);
/* Checks that the first n operands are present and tensors. */
tl_status tl_eval_need_tensors(tl_eval *ctx, uint32_t n);

/* The body of a row function of two operands: first the cases that compilers vectorise, then any
 * steps. EXPR is over a_ and b_; the operands are of type A and B, the result is of type O. */
#define TL_ROW2(A, B, O, EXPR)                                                                     \
  {                                                                                                \
    (void)user;                                                                                    \
    const A *a = in[0];                                                                            \
    const B *b = in[1];                                                                            \
    O *o = out;                                                                                    \
    if (steps[0] == 1 && steps[1] == 1)                                                            \
      for (uint64_t i = 0; i < n; i++) {                                                           \
        const A a_ = a[i];                                                                         \
        const B b_ = b[i];                                                                         \
        o[i] = (O)(EXPR);                                                                          \
      }                                                                                            \
    else if (steps[0] == 1 && steps[1] == 0) {                                                     \
      const B b_ = *b;                                                                             \
      for (uint64_t i = 0; i < n; i++) {                                                           \
        const A a_ = a[i];                                                                         \
        o[i] = (O)(EXPR);                                                                          \
      }                                                                                            \
    } else                                                                                         \
      for (uint64_t i = 0; i < n; i++) {                                                           \
        const A a_ = a[(int64_t)i * steps[0]];                                                     \
        const B b_ = b[(int64_t)i * steps[1]];                                                     \
        o[i] = (O)(EXPR);                                                                          \
      }                                                                                            \
  }

/* The parameters of a tl_row, for functions that macros write. */
#define TL_ROW_ARGS                                                                                \
  const void *user, void *out, const void *const *in, const int64_t *steps, uint64_t n

#endif
