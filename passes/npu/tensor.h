/* SPDX-License-Identifier: Apache-2.0 */
/* Small constant tensors that lowering makes: every element given as a double. */
#ifndef TL_PASSES_NPU_TENSOR_H
#define TL_PASSES_NPU_TENSOR_H

#include "ir/module.h"

/* Stores v as one element of a byte-sized or larger number type, rounded to nearest (floats) or
 * truncated (integers, saturating). False for any other type. */
bool tl_npu_store(tl_dtype dtype, double v, void *out);

/* A tensor of that shape and dtype with the given elements (broadcast when n_values is 1).
 * TL_NO_TENSOR when memory is out or the dtype has no form here. Elements at most 2^24. */
tl_tensor_id tl_npu_tensor(tl_module *m, tl_dtype dtype, int rank, const tl_dim *dims,
                           const double *values, uint64_t n_values);

#endif
