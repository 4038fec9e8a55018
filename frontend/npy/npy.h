/* SPDX-License-Identifier: Apache-2.0 */
/* Reads .npy files, the array format of NumPy: versions 1.0 to 3.0, either byte order, row-major
 * and column-major. Numbers and bool only; there is no descr for bf16, fp8 and the types below a
 * byte, and strings, records and dates are refused. */
#ifndef TL_FRONTEND_NPY_NPY_H
#define TL_FRONTEND_NPY_NPY_H

#include "ir/host.h"

/* store: owns the file as long as it lives; the value may view it. Reports to the store's sink:
 * TL_IO, TL_INVALID_MODEL, TL_UNSUPPORTED, TL_LIMIT, TL_NO_MEMORY. */
tl_status tl_npy_load(tl_module *store, const char *path, tl_host_heap *heap,
                      tl_host **out) TL_NODISCARD;

#endif
