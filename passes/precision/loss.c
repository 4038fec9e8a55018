/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/precision/loss.h"

#include "support/pool.h"

enum { MUCH = 16 << 20 }; /* bytes; less is counted sooner than threads start */

static tl_status count_one(void *user, size_t i, unsigned worker) {
  tl_cast_loss *l = &((tl_cast_loss_vec *)user)->at[i];
  (void)worker;
  l->known = tl_tensor_count(l->tensor, l->to, &l->counts);
  return TL_OK;
}

void tl_cast_loss_count(tl_cast_loss_vec *losses) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < losses->n; i++)
    bytes += losses->at[i].tensor->bytes;
  tl_pool *pool = bytes >= MUCH ? tl_pool_create(0) : NULL;
  if (pool)
    (void)tl_pool_run(pool, losses->n, count_one, losses); /* count_one cannot fail */
  else
    for (uint32_t i = 0; i < losses->n; i++)
      (void)count_one(losses, i, 0);
  tl_pool_destroy(pool);
}
