/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/train/time/task_links.h"

#include <stdlib.h>
#include <string.h>

/* Counting sort of edges by producer. first[] is shifted by one while it serves as write cursors,
 * so that it ends up as the offsets. */
bool tl_task_links_init(tl_task_links *l, const tl_task_graph *g) {
  uint32_t n = g->n;
  *l = (tl_task_links){.first = calloc(n + 2u, sizeof *l->first),
                       .succs = malloc((g->first[n] + 1u) * sizeof *l->succs),
                       .waits = calloc(n + 1u, sizeof *l->waits),
                       .topo = malloc((n + 1u) * sizeof *l->topo)};
  if (!l->first || !l->succs || !l->waits || !l->topo)
    return false;
  for (uint32_t i = 0; i < g->first[n]; i++)
    l->first[g->preds[i] + 2]++;
  for (uint32_t i = 2; i <= n + 1; i++)
    l->first[i] += l->first[i - 1];
  for (uint32_t i = 0; i < n; i++) {
    l->waits[i] = g->first[i + 1] - g->first[i];
    for (uint32_t k = g->first[i]; k < g->first[i + 1]; k++)
      l->succs[l->first[g->preds[k] + 1]++] = i;
  }
  return true;
}

void tl_task_links_release(tl_task_links *l) {
  free(l->first);
  free(l->succs);
  free(l->waits);
  free(l->topo);
}

/* topo[] serves as the queue. Tasks that remain have a cycle among their predecessors. */
tl_status tl_task_links_sort(tl_task_links *l, const tl_task_graph *g) {
  uint32_t head = 0;
  uint32_t tail = 0;
  uint32_t *waits = malloc((g->n + 1u) * sizeof *waits);
  if (!waits)
    return TL_NO_MEMORY;
  memcpy(waits, l->waits, g->n * sizeof *waits);
  for (uint32_t i = 0; i < g->n; i++)
    if (waits[i] == 0)
      l->topo[tail++] = i;
  while (head < tail) {
    uint32_t i = l->topo[head++];
    for (uint32_t k = l->first[i]; k < l->first[i + 1]; k++)
      if (--waits[l->succs[k]] == 0)
        l->topo[tail++] = l->succs[k];
  }
  free(waits);
  return tail == g->n ? TL_OK : TL_INVALID_MODEL;
}
