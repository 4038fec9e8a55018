/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions whose bits depend on nothing but the argument: no libm, no fused operations,
 * no tables made at run time.
 *
 * Argument reduction is exact or in pairs of doubles. So the doubles are within one unit in the
 * last place over the whole range (erf, tan and the hyperbolic functions within two), and rounded
 * to f32 they are the nearest float but for one case in some hundred thousand. Special values are
 * those of C99 Annex F. Nothing here sets errno or floating-point exceptions on purpose. */
#ifndef TL_IR_EVAL_MATH_ELEMENTARY_H
#define TL_IR_EVAL_MATH_ELEMENTARY_H

#include <stddef.h>

/* Each returns the function that its name says, as math.h's without the prefix. */
double tl_exp(double x);
double tl_exp2(double x);
double tl_expm1(double x);
double tl_log(double x);
double tl_log1p(double x);
double tl_log2(double x);
double tl_log10(double x);
double tl_pow(double x, double y);
double tl_sin(double x);
double tl_cos(double x);
double tl_tan(double x);
double tl_asin(double x);
double tl_acos(double x);
double tl_atan(double x);
double tl_atan2(double y, double x);
double tl_sinh(double x);
double tl_cosh(double x);
double tl_tanh(double x);
double tl_asinh(double x);
double tl_acosh(double x);
double tl_atanh(double x);
double tl_erf(double x);
double tl_sigmoid(double x);  /* 1 / (1 + exp(-x)) */
double tl_softplus(double x); /* log(1 + exp(x)) */

/* Compute y[i] = f(x[i]) for n floats in f32 arithmetic that compilers vectorise; x and y may be
 * the same array. The bits are as reproducible as above; errors are at most 3 units in the last
 * place. */
void tl_expf_n(const float *x, float *y, size_t n);
void tl_tanhf_n(const float *x, float *y, size_t n);
void tl_sigmoidf_n(const float *x, float *y, size_t n);
void tl_erff_n(const float *x, float *y, size_t n);

#endif
