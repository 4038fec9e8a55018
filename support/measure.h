/* SPDX-License-Identifier: Apache-2.0 */
/* The clock, and amounts as people read them. */
#ifndef TL_SUPPORT_MEASURE_H
#define TL_SUPPORT_MEASURE_H

#include "support/str.h"

/* Returns nanoseconds of a monotonic clock with an arbitrary start: for reports only, never for
 * decisions. */
uint64_t tl_now_ns(void);
/* Returns nanoseconds since an earlier tl_now_ns; 0 where the clock went back, as that of a virtual
 * machine may do. */
uint64_t tl_elapsed_ns(uint64_t start);
/* Add a size such as "13.3 MiB", and a duration such as "2.1 ms". */
void tl_add_bytes(tl_buf *out, uint64_t bytes);
void tl_add_duration(tl_buf *out, uint64_t ns);

#endif
