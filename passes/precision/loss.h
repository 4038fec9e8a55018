/* SPDX-License-Identifier: Apache-2.0 */
/* What casts of constants do to their numbers. All weights of a model are read for it, so threads
 * share the work when there is much of it. */
#ifndef TL_PASSES_PRECISION_LOSS_H
#define TL_PASSES_PRECISION_LOSS_H

#include "ir/module.h"
#include "ir/tensor_count.h"
#include "support/vec.h"

/* A constant, the dtype that it is cast to, and the counts; false in `known` where the dtype is not
 * counted. */
typedef struct tl_cast_loss {
  const tl_tensor *tensor;
  tl_value_id value;
  tl_dtype to;
  bool known;
  tl_float_counts counts;
} tl_cast_loss;

TL_VEC(tl_cast_loss_vec, tl_cast_loss);

/* Fills the counts of all entries. Without memory for threads it counts in this one. */
void tl_cast_loss_count(tl_cast_loss_vec *losses);

#endif
