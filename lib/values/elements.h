/* SPDX-License-Identifier: Apache-2.0 */
/* Sets single elements of tensors that the tools make, whatever their dtype. */
#ifndef TL_LIB_VALUES_ELEMENTS_H
#define TL_LIB_VALUES_ELEMENTS_H

#include "ir/host.h"

/* Returns a new tensor of numbers or bool, all zero. The caller releases it. NULL if it does not
 * fit into the limit of the heap. */
tl_host *tl_zeros(tl_host_heap *h, tl_dtype dtype, int rank, const int64_t *dims);
/* Set element i: of a float tensor, rounded; of an integer or bool tensor, truncated to its width
 * (bool: true if v is not zero). */
void tl_put_float(tl_host *t, uint64_t i, double v);
void tl_put_int(tl_host *t, uint64_t i, int64_t v);

#endif
