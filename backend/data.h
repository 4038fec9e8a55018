/* SPDX-License-Identifier: Apache-2.0 */
/* Streams the data of tensors into files, without holding a tensor in memory as a whole.
 * The kernel copies views of files; computed tensors are made one block at a time. */
#ifndef TL_BACKEND_DATA_H
#define TL_BACKEND_DATA_H

#include "backend/wire.h"
#include "ir/tensor.h"

/* Appends the bytes of a tensor that holds no strings. Returns the writer's error, which is also
 * sticky in the writer. O(bytes). */
tl_status tl_data_write(tl_writer *out, const tl_tensor *t);
/* Appends `bytes` bytes of elements in memory, as files have them. As above. */
tl_status tl_data_write_elements(tl_writer *out, tl_dtype d, const void *p, uint64_t bytes);
/* Appends them as a byte field of a message; nothing for a tensor of strings. */
void tl_wire_tensor(tl_wire *w, uint32_t field, const tl_tensor *t);

#endif
