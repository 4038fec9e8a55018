/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of an output that are computed: in blocks, by several threads, each of which writes what it
 * has made. The bytes do not depend on the number of threads. */
#ifndef TL_SUPPORT_FILL_H
#define TL_SUPPORT_FILL_H

#include "support/file.h"

/* Makes bytes [at, at + n) of what is filled in. Called by several threads at once. `out` is
 * aligned as memory of malloc, n at most TL_FILL_BLOCK. */
typedef void (*tl_fill_fn)(const void *user, uint64_t at, size_t n, void *out);

/* TL_FILL_BLOCK: bytes made at a time; `at` is a multiple of it. TL_FILL_LEAST: fewer bytes are
 * made sooner than threads start. */
enum { TL_FILL_BLOCK = 1 << 18, TL_FILL_LEAST = 1 << 20 };

/* Appends n bytes that fn makes. The first error is reported, as by tl_writer_write. */
tl_status tl_writer_fill(tl_writer *w, uint64_t n, tl_fill_fn fn, const void *user);

#endif
