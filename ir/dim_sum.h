/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of dims with integer factors: the normal form behind dim arithmetic. The text of a symbol is
 * split into terms ("n*2 + k - 1"), sums are computed on the terms, and the result is named by the
 * text of its sorted terms. */
#ifndef TL_IR_DIM_SUM_H
#define TL_IR_DIM_SUM_H

#include "ir/type.h"
#include "support/str.h"

enum { TL_MAX_DIM_TEXT = 96, TL_MAX_SUM_TERMS = 8 };

/* A term: a text times an integer. */
typedef struct tl_sum_term {
  tl_sv text; /* what is multiplied: a name, a product, a quotient; not a sum */
  int64_t factor;
} tl_sum_term;

/* A sum; zero-initialise it. */
typedef struct tl_sum {
  tl_sum_term terms[TL_MAX_SUM_TERMS]; /* by text; no factor is 0 */
  uint32_t n;
  int64_t constant;
} tl_sum;

/* Adds d * times; d is a size or a symbol. False when there are too many terms or a factor
 * overflows; the sum must not be used then. */
bool tl_sum_add(const tl_module *m, tl_sum *sum, tl_dim d, int64_t times);
/* Divides by a positive number, rounding towards negative infinity. False, with nothing changed,
 * unless all factors are multiples of it. */
bool tl_sum_divide(tl_sum *sum, int64_t by);
/* Returns the size or symbol of the sum. TL_DIM_UNKNOWN when it is negative, when the text would be
 * longer than TL_MAX_DIM_TEXT, or when memory is out. */
tl_dim tl_sum_dim(tl_module *m, const tl_sum *sum);

/* Appends the text of a factor or divisor, in parentheses unless it is a plain name. */
void tl_dim_add_operand(tl_buf *out, tl_sv text);

#endif
