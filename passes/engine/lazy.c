/* SPDX-License-Identifier: Apache-2.0 */
/* Makes compiled rules when they are first needed (lazy.h). */
#include "passes/engine/lazy.h"

#include "passes/engine/image.h"
#include "support/assert.h"

enum { MOST_IMAGES = UINT16_MAX - TL_LAZY_MADE };

tl_status tl_lazy_add(tl_ruleset *s, uint32_t i) {
  TL_ASSERT(tl_n_rule_images <= MOST_IMAGES);
  if (!s->state)
    s->state = tl_arena_calloc(&s->arena, tl_n_rule_images, sizeof *s->state);
  if (!s->state)
    return tl_no_memory(s->m);
  s->state[i] = TL_LAZY_HAS;
  return TL_OK;
}

/* Makes the head of a rule, and decides what tl_rules_configure decides for all rules of a set: the
 * places of compiled rules among each other are in a table. */
static tl_rule *make(tl_ruleset *s, uint32_t i) {
  tl_rule *r = tl_rule_image_head(s, i);
  if (!r)
    return NULL;
  tl_rule_switch(s, s->options, r);
  if (tl_rule_fit_target(s, s->options, r) != TL_OK)
    return NULL;
  if (!tl_rule_fuses(r))
    return r;
  int given = tl_rule_priority(s, r);
  r->priority = given != TL_NO_PRIORITY ? given : tl_image_priorities[i];
  return r;
}

tl_rule *tl_lazy_make(tl_ruleset *s, uint32_t i) {
  tl_rule *r = make(s, i);
  if (!r || !tl_rule_vec_push(&s->made, r)) {
    s->lost = true;
    return NULL;
  }
  s->state[i] = (uint16_t)(TL_LAZY_MADE + s->made.n - 1);
  return r;
}

static bool is_on(tl_ruleset *s, uint32_t i) {
  const tl_rule *r = tl_lazy_rule(s, i);
  return r && !r->off;
}

/* Returns the first lazy rule of number i or a larger one; their number if there is none. Four a
 * step: most models have few of the rules. */
static uint32_t next_of(const tl_ruleset *s, uint32_t i) {
  if (!s->state)
    return tl_n_rule_images;
  while (i < tl_n_rule_images && s->state[i] == TL_LAZY_LACKS) {
    uint64_t four = 1;
    if (i + 4 <= tl_n_rule_images)
      memcpy(&four, s->state + i, sizeof four);
    i += four ? 1 : 4;
  }
  return i;
}

/* Makes only those rules that are deeper than the ones before. */
uint8_t tl_lazy_depth(tl_ruleset *s, tl_rule_kind kind) {
  uint8_t depth = 0;
  for (uint32_t i = next_of(s, 0); i < tl_n_rule_images; i = next_of(s, i + 1))
    if (tl_rule_images[i].kind == kind && tl_rule_images[i].depth > depth && is_on(s, i))
      depth = tl_rule_images[i].depth;
  return depth;
}

bool tl_lazy_have(tl_ruleset *s, unsigned kinds, bool any) {
  for (uint32_t i = next_of(s, 0); i < tl_n_rule_images; i = next_of(s, i + 1))
    if ((kinds & TL_RULE_BIT(tl_rule_images[i].kind)) && (any || is_on(s, i)))
      return true;
  return false;
}

bool tl_lazy_define(const tl_ruleset *s, tl_op_id op) {
  for (uint32_t i = next_of(s, 0); i < tl_n_rule_images; i = next_of(s, i + 1))
    if (tl_rule_images[i].kind == TL_RULE_DEFINE && tl_image_ops[tl_rule_images[i].root_ops] == op)
      return true;
  return false;
}
