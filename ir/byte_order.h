/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the bytes of numbers. In memory it is that of the machine; in files the low byte
 * comes first. The two are told apart here alone, and bytes are turned round at the borders: where
 * the data of a file becomes a tensor or a host value, and where one goes into a file. On a
 * little-endian machine nothing of this costs an instruction. */
#ifndef TL_IR_BYTE_ORDER_H
#define TL_IR_BYTE_ORDER_H

#include <string.h>

#include "ir/dtype.h"

/* 1 where memory has the order of files, as on x86-64 and aarch64; 0 on s390x. */
#define TL_ORDER_OF_FILES (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* Returns how many bytes are turned round together: those of a number, half of those of a complex
 * one. 1 for strings, and for elements of a byte and below, which are packed by bytes. */
size_t tl_order_unit(tl_dtype d);
/* Reverses each `unit` bytes. */
void tl_order_reverse(size_t unit, void *data, uint64_t bytes);

/* Returns true if the bytes of elements differ between memory and files. */
static inline bool tl_order_differs(tl_dtype d) {
  return !TL_ORDER_OF_FILES && tl_order_unit(d) > 1;
}

/* Turns data of elements from the order of files into that of memory, or back. */
static inline void tl_order_turn(tl_dtype d, void *data, uint64_t bytes) {
  if (tl_order_differs(d))
    tl_order_reverse(tl_order_unit(d), data, bytes);
}

/* Loads an unsigned integer of 1 to 8 bytes. */
static inline uint64_t tl_uint_load(const void *p, size_t bytes) {
  uint64_t v = 0;
  memcpy((char *)&v + (TL_ORDER_OF_FILES ? 0 : sizeof v - bytes), p, bytes);
  return v;
}

/* Stores the low bytes of an integer as one of 1 to 8 bytes. */
static inline void tl_uint_store(void *p, uint64_t v, size_t bytes) {
  memcpy(p, (const char *)&v + (TL_ORDER_OF_FILES ? 0 : sizeof v - bytes), bytes);
}

#endif
