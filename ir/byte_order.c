/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the turning of bytes (byte_order.h). */
#include "ir/byte_order.h"

size_t tl_order_unit(tl_dtype d) {
  size_t bytes = tl_dtype_get(d)->bits / 8u;
  bool pair = d == TL_DTYPE_C32 || d == TL_DTYPE_C64 || d == TL_DTYPE_C128;
  return bytes <= 1 ? 1 : pair ? bytes / 2 : bytes;
}

void tl_order_reverse(size_t unit, void *data, uint64_t bytes) {
  unsigned char *p = data;
  for (uint64_t at = 0; at + unit <= bytes; at += unit) {
    for (size_t i = 0; i < unit / 2; i++) {
      unsigned char low = p[at + i];
      p[at + i] = p[at + unit - 1 - i];
      p[at + unit - 1 - i] = low;
    }
  }
}
