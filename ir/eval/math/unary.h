/* SPDX-License-Identifier: Apache-2.0 */
/* Runs kernels that map one element to one element. */
#ifndef TL_IR_EVAL_MATH_UNARY_H
#define TL_IR_EVAL_MATH_UNARY_H

#include "ir/eval/kernel/kernel.h"

/* Computes n elements. p: the parameters of the op, NULL when it has none. */
typedef void (*tl_unary_fn)(const double *p, const void *in, void *out, uint64_t n);

/* The functions of one op on floats. */
typedef struct tl_unary_floats {
  tl_unary_fn f32;
  tl_unary_fn f64;
  tl_unary_fn fast; /* f32 outside of exact mode; NULL: f32 serves */
} tl_unary_floats;

/* Defines NAME_f32 and NAME_f64. EXPR is over v, a double, and the parameters p; it is rounded
 * once. */
#define TL_UNARY_LOOPS(NAME, EXPR)                                                                 \
  static void NAME##_f32(const double *p, const void *in, void *out, uint64_t n) {                 \
    (void)p;                                                                                       \
    for (uint64_t i = 0; i < n; i++) {                                                             \
      const double v = (double)((const float *)in)[i];                                             \
      ((float *)out)[i] = (float)(EXPR);                                                           \
    }                                                                                              \
  }                                                                                                \
  static void NAME##_f64(const double *p, const void *in, void *out, uint64_t n) {                 \
    (void)p;                                                                                       \
    for (uint64_t i = 0; i < n; i++) {                                                             \
      const double v = ((const double *)in)[i];                                                    \
      ((double *)out)[i] = (EXPR);                                                                 \
    }                                                                                              \
  }

/* Makes result 0 with the shape of `in` and fills it with fn. fn NULL: TL_UNSUPPORTED, with the
 * dtype of `in`. */
tl_status tl_eval_unary_run(tl_eval *ctx, const tl_host *in, tl_dtype result, tl_unary_fn fn,
                            const double *p);
/* As tl_eval_unary_run for operand 0, which must be f32 or f64; the result has its type. */
tl_status tl_eval_unary_floats(tl_eval *ctx, const tl_unary_floats *fns, const double *p);

#endif
