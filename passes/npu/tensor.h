/* SPDX-License-Identifier: Apache-2.0 */
/* Makes small constant tensors from doubles, for the passes that lower to NPU ops. */
#ifndef TL_PASSES_NPU_TENSOR_H
#define TL_PASSES_NPU_TENSOR_H

#include "ir/module.h"

/* Stores v as one element of a number type of 8 to 64 bits. Floats round to nearest, ties to even.
 * Integers truncate; v beyond int64 saturates and NaN becomes 0. A narrower integer keeps the low
 * bytes, so the caller must ensure that v fits. Returns false for any other type. */
bool tl_npu_store(tl_dtype dtype, double v, void *out);

/* Makes a tensor with the given shape, dtype and elements; one value (n_values 1) fills it. At most
 * 2^24 elements. Returns TL_NO_TENSOR if memory is out or the dtype or size is not supported. */
tl_tensor_id tl_npu_tensor(tl_module *m, tl_dtype dtype, int rank, const tl_dim *dims,
                           const double *values, uint64_t n_values);

#endif
