/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks values of sequences (stacked.h). */
#include "tools/run/stacked.h"

static bool can_stack(const tl_host *s) {
  const tl_host *first = s->n ? tl_host_item(s, 0) : NULL;
  if (!first || first->kind != TL_HOST_TENSOR || first->rank >= TL_MAX_RANK ||
      !tl_host_element_size((tl_dtype)first->dtype))
    return false;
  for (uint64_t i = 1; i < s->n; i++) {
    const tl_host *t = tl_host_item(s, i);
    if (t->kind != TL_HOST_TENSOR || t->dtype != first->dtype || !tl_host_same_shape(t, first))
      return false;
  }
  return true;
}

tl_host *tl_stack_values(tl_evaluation *e, const tl_host *sequence) {
  int64_t dims[TL_MAX_RANK];
  if (!can_stack(sequence))
    return NULL;
  const tl_host *first = tl_host_item(sequence, 0);
  dims[0] = (int64_t)sequence->n;
  for (int i = 0; i < first->rank; i++)
    dims[i + 1] = first->dims[i];
  tl_host *t = tl_host_new(&e->heap, (tl_dtype)first->dtype, first->rank + 1, dims);
  for (uint64_t i = 0; t && i < sequence->n; i++)
    if (first->bytes)
      memcpy((char *)t->data + i * first->bytes, tl_host_item(sequence, i)->data,
             (size_t)first->bytes);
  return t;
}
