/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of numbers by a dense index, such as a symbol: 0 where nothing was set. */
#ifndef TL_SUPPORT_SLOTS_H
#define TL_SUPPORT_SLOTS_H

#include "support/status.h"
#include "support/vec.h"

/* Returns entry i, 0 beyond the end of the table. */
static inline uint32_t tl_slot_get(const tl_u32_vec *v, uint32_t i) {
  return i < v->n ? v->at[i] : 0;
}
/* Sets entry i; the table grows by half, so that n entries cost O(n). TL_NO_MEMORY, unreported. */
tl_status tl_slot_set(tl_u32_vec *v, uint32_t i, uint32_t value) TL_NODISCARD;

#endif
