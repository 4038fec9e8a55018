/* SPDX-License-Identifier: Apache-2.0 */
/* Streams the data of tensors into files: views of files are copied in the kernel, computed tensors
 * made a block at a time. */
#ifndef TL_BACKEND_DATA_H
#define TL_BACKEND_DATA_H

#include "backend/wire.h"
#include "ir/tensor.h"

/* Appends the bytes of a tensor that holds no strings. Errors are sticky in the writer, too. */
tl_status tl_data_write(tl_writer *out, const tl_tensor *t);
/* The same as a field of a message. */
void tl_wire_tensor(tl_wire *w, uint32_t field, const tl_tensor *t);

#endif
