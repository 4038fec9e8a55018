/* SPDX-License-Identifier: Apache-2.0 */
/* Facts that guards, operands and attributes of NPU candidates read: ranks, dims, lists of numbers.
 */
#ifndef TL_PASSES_NPU_FACTS_H
#define TL_PASSES_NPU_FACTS_H

#include "passes/expr/expr.h"

/* Returns in *out the elements of an integer list, or a number or flag as a list of one. False if v
 * is something else or memory is out. */
bool tl_npu_as_ints(tl_site *site, tl_rv v, tl_int_list *out);
/* Returns the elements of a list of numbers, or a number, as doubles; *n: their number. False
 * likewise. */
bool tl_npu_as_floats(tl_site *site, tl_rv v, const double **out, uint32_t *n);
/* Returns scratch for n elements of `size` bytes, all zero; NULL, and x->failed set, if memory is
 * out. */
void *tl_npu_room(tl_site *site, uint64_t n, size_t size);
/* Returns the rank of a value, -1 if it is unknown. */
int tl_npu_rank(const tl_site *site, tl_value_id v);
/* Returns dim k, a negative k counted from the end; TL_DIM_UNKNOWN if it is outside or unknown. */
tl_dim tl_npu_dim(const tl_site *site, tl_value_id v, int64_t k);

#endif
