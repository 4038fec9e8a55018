/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/train/time/engine_slots.h"

#include <stdlib.h>

bool tl_engine_slots_init(tl_engine_slots *s, const tl_task_graph *g) {
  *s = (tl_engine_slots){0};
  for (unsigned e = 0; e < TL_N_ENGINES; e++)
    s->first[e + 1] = s->first[e] + tl_engine_degree(g, e);
  s->at = calloc(s->first[TL_N_ENGINES], sizeof *s->at);
  return s->at != NULL;
}

void tl_engine_slots_release(tl_engine_slots *s) {
  free(s->at);
  s->at = NULL;
}

double *tl_engine_slot(const tl_engine_slots *s, unsigned engine) {
  double *best = &s->at[s->first[engine]];
  for (uint32_t i = s->first[engine] + 1; i < s->first[engine + 1]; i++)
    if (s->at[i] < *best)
      best = &s->at[i];
  return best;
}
