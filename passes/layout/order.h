/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of up to 15 dims, packed four bits a dim: dim i of what is ordered is dim order[i] of what
 * was. Dims beyond the rank stay where they are, so an order needs no rank. */
#ifndef TL_PASSES_LAYOUT_ORDER_H
#define TL_PASSES_LAYOUT_ORDER_H

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t tl_order;

enum { TL_MOST_AXES = 15 };

/* The order that changes nothing. */
#define TL_ORDER_SAME UINT64_C(0xfedcba9876543210)

/* Returns entry i. */
static inline unsigned tl_order_at(tl_order o, unsigned i) { return o >> 4 * i & 15; }
/* Returns the order with another entry i. */
static inline tl_order tl_order_with(tl_order o, unsigned i, unsigned to) {
  return (o & ~(UINT64_C(15) << 4 * i)) | (uint64_t)to << 4 * i;
}
/* Returns what a Transpose by `first` and then one by `second` do together. */
static inline tl_order tl_order_then(tl_order first, tl_order second) {
  tl_order o = TL_ORDER_SAME;
  if (first == TL_ORDER_SAME || second == TL_ORDER_SAME)
    return first == TL_ORDER_SAME ? second : first;
  tl_order moves = (first ^ TL_ORDER_SAME) | (second ^ TL_ORDER_SAME);
  for (unsigned i = 0; i < TL_MOST_AXES && moves >> 4 * i; i++)
    o = tl_order_with(o, i, tl_order_at(first, tl_order_at(second, i)));
  return o;
}
/* Returns the order that undoes o. */
static inline tl_order tl_order_back(tl_order o) {
  tl_order back = TL_ORDER_SAME;
  for (unsigned i = 0; i < TL_MOST_AXES && (o ^ TL_ORDER_SAME) >> 4 * i; i++)
    back = tl_order_with(back, tl_order_at(o, i), i);
  return back;
}

#endif
