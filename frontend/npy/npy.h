/* SPDX-License-Identifier: Apache-2.0 */
/* Reads .npy files, the array format of NumPy: versions 1.0 to 3.0, both byte orders, both layouts.
 * Elements are numbers or bool. The format has no code for bf16, fp8 and types below a byte;
 * strings, records and dates are refused. */
#ifndef TL_FRONTEND_NPY_NPY_H
#define TL_FRONTEND_NPY_NPY_H

#include "ir/host.h"

/* Loads an array as a value. store: owns the file; the value may view it and must not outlive it.
 * heap: owns the value. Reports to the store's sink:
 * TL_IO, TL_INVALID_MODEL, TL_UNSUPPORTED, TL_LIMIT, TL_NO_MEMORY. */
tl_status tl_npy_load(tl_module *store, const char *path, tl_host_heap *heap,
                      tl_host **out) TL_NODISCARD;
/* Reads an array from bytes that the store owns. path: for messages. Reports as tl_npy_load. */
tl_status tl_npy_read(tl_module *store, const char *path, tl_sv bytes, tl_host_heap *heap,
                      tl_host **out) TL_NODISCARD;

#endif
