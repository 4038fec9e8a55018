/* SPDX-License-Identifier: Apache-2.0 */
/* Facts that guards, operands and attributes of NPU candidates read: ranks, dims, lists of numbers.
 */
#ifndef TL_PASSES_NPU_FACTS_H
#define TL_PASSES_NPU_FACTS_H

#include "passes/expr/expr.h"

/* Elements of an integer list: an attribute's, or those of a const operand. False when unknown. */
bool tl_npu_as_ints(tl_site *x, tl_rv v, tl_int_list *out);
/* The same as doubles. */
bool tl_npu_as_floats(tl_site *x, tl_rv v, const double **out, uint32_t *n);
/* Room for n elements of `size` bytes in scratch; NULL (and x->failed) when memory is out. */
void *tl_npu_room(tl_site *x, size_t n, size_t size);
/* Rank of a value, -1 when unknown. */
int tl_npu_rank(const tl_site *x, tl_value_id v);
/* Dim k (negative: from the end); TL_DIM_UNKNOWN when out of range. */
tl_dim tl_npu_dim(const tl_site *x, tl_value_id v, int64_t k);

#endif
