/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tables by a dense index (slots.h). */
#include "support/slots.h"

#include <string.h>

tl_status tl_slot_set(tl_u32_vec *v, uint32_t i, uint32_t value) {
  if (i >= v->n) {
    uint32_t want = i < UINT32_MAX / 2 ? i + i / 2 + 64 : UINT32_MAX;
    if (want > v->cap && !tl_u32_vec_reserve(v, want))
      return TL_NO_MEMORY;
    memset(v->at + v->n, 0, (size_t)(v->cap - v->n) * sizeof *v->at);
    v->n = v->cap;
  }
  v->at[i] = value;
  return TL_OK;
}
