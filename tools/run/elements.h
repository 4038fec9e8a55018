/* SPDX-License-Identifier: Apache-2.0 */
/* Single elements of tensors that the tools make, whatever their dtype. */
#ifndef TL_TOOLS_RUN_ELEMENTS_H
#define TL_TOOLS_RUN_ELEMENTS_H

#include "ir/host.h"

/* A new tensor of numbers or bool, all zero; NULL as tl_host_new has it. */
tl_host *tl_zeros(tl_host_heap *h, tl_dtype dtype, int rank, const int64_t *dims);
/* Sets element i of a float tensor, rounded; of an integer or bool tensor, truncated to its width
 * (bool: whether it is not zero). */
void tl_put_float(tl_host *t, uint64_t i, double v);
void tl_put_int(tl_host *t, uint64_t i, int64_t v);

#endif
