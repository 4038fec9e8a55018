/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what rules do. */
#include "passes/engine/tally.h"

#include <stdlib.h>

#include "support/measure.h"

/* Returns the counts of a rule; NULL when memory is out. */
static tl_tally *of(tl_tallies *t, const tl_rule *rule) {
  if (rule->index >= t->n) {
    uint32_t n = rule->index + rule->index / 2 + 64;
    tl_tally *at = realloc(t->at, n * sizeof *at);
    if (!at) {
      t->no_memory = true;
      return NULL;
    }
    memset(at + t->n, 0, (n - t->n) * sizeof *at);
    t->at = at;
    t->n = n;
  }
  t->at[rule->index].rule = rule;
  return &t->at[rule->index];
}

/* Codes are static strings, but equal ones may be several. The last place is for all others. */
static void refuse(tl_tally *t, const char *code) {
  uint32_t i = 0;
  while (i < t->count.n_refused && strcmp(t->refused[i].code, code) != 0)
    i++;
  if (i + 1 >= TL_MOST_REFUSALS) {
    i = TL_MOST_REFUSALS - 1;
    code = "OTHER";
  }
  if (i >= t->count.n_refused)
    t->count.n_refused = i + 1;
  t->refused[i].code = code;
  t->refused[i].n++;
}

void tl_tally_try(tl_tallies *t, const tl_rule *rule, bool structural, const char *code) {
  tl_tally *tally = of(t, rule);
  if (!tally)
    return;
  tally->count.tried++;
  tally->count.matched += structural;
  if (code)
    refuse(tally, code);
}

void tl_tally_refuse(tl_tallies *t, const tl_rule *rule, const char *code) {
  tl_tally *tally = of(t, rule);
  if (tally)
    refuse(tally, code);
}

void tl_tally_fire(tl_tallies *t, const tl_pass *p, const tl_rule *rule, uint64_t start) {
  tl_tally *tally = of(t, rule);
  if (!tally)
    return;
  tally->count.fired++;
  if (start && t->watch->applied)
    t->watch->applied(t->watch->user, p, rule->name, start);
}

void tl_tally_time(tl_tallies *t, const tl_rule *rule, uint64_t start) {
  tl_tally *tally = of(t, rule);
  if (tally)
    tally->count.nanoseconds += tl_elapsed_ns(start);
}

tl_status tl_tallies_end(tl_tallies *t, const tl_pass *p, const tl_module *m) {
  tl_status status = t->no_memory ? TL_NO_MEMORY : TL_OK;
  for (uint32_t i = 0; i < t->n && status == TL_OK; i++) {
    tl_tally *tally = &t->at[i];
    if (!tally->rule)
      continue;
    tally->count.fusion = tl_sym(m, tally->rule->pass);
    tally->count.rule = tl_sym(m, tally->rule->name);
    tally->count.refused = tally->refused;
    status = t->watch->counted(t->watch->user, p, &tally->count);
  }
  free(t->at);
  t->at = NULL;
  t->n = 0;
  return status;
}
