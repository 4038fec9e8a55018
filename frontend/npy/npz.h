/* SPDX-License-Identifier: Apache-2.0 */
/* Reads .npz files, the archives of NumPy: zip files of .npy files, as numpy.savez writes them.
 * Archives beyond 4 GiB are read. Compressed members are refused, and so are encrypted ones. */
#ifndef TL_FRONTEND_NPY_NPZ_H
#define TL_FRONTEND_NPY_NPZ_H

#include "frontend/npy/npy.h"

/* Receives one array. name: of the member without ".npy", in the file. The function takes `value`
 * over. A status other than TL_OK ends the reading. */
typedef tl_status (*tl_npz_fn)(void *user, tl_sv name, tl_host *value);

/* Hands all arrays of a file to a function, in the order of the directory of the file. store and
 * heap as for tl_npy_load, which also says what is reported. */
tl_status tl_npz_load(tl_module *store, const char *path, tl_host_heap *heap, tl_npz_fn fn,
                      void *user) TL_NODISCARD;

#endif
