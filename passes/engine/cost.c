/* SPDX-License-Identifier: Apache-2.0 */
/* Orders the conditions of a rule by what they cost (cost.h). */
#include "passes/engine/cost.h"

/* A node of an expression costs 1. FUNCTION: those of all expressions, which look at types and at
 * short lists. SEARCH: those of rules alone, which look at users and contents of constants. */
enum { FUNCTION = 2, SEARCH = 16 };

static const uint8_t costs[TL_N_FUNCTIONS] = {
#define ROW_EXPR FUNCTION
#define ROW_EACH FUNCTION
#define ROW_NPU FUNCTION
#define ROW_RULES SEARCH
#define TL_FUNCTION(name, least, most, room, places, signature, summary)                           \
  [TL_FN_##name] = ROW_##room,
#include "passes/expr/functions.tbl"
};

/* An expression: what it costs, and which names it needs. */
typedef struct need {
  uint32_t cost;
  uint32_t names; /* bits */
} need;

static void add_need(const tl_expr *e, need *out) {
  out->cost += e->kind == TL_EXPR_CALL ? costs[e->function] : 1;
  if (e->kind == TL_EXPR_NAME)
    out->names |= UINT32_C(1) << e->u.i;
  for (uint16_t i = 0; i < e->n; i++)
    add_need(e->args[i], out);
}

/* State of ordering one rule. */
typedef struct ordering {
  const tl_rule *rule;
  uint8_t *order;
  uint32_t n;
  uint32_t let_of[TL_RULE_NAMES]; /* by name: its number among the computed ones plus 1; 0: none */
  uint32_t placed;                /* bits of names that were computed */
} ordering;

/* Places the computed numbers that an expression needs, and those that these need. Numbers need
 * earlier ones alone. */
static void place_lets(ordering *o, uint32_t names) {
  const tl_rule *r = o->rule;
  for (uint32_t i = 0; i < TL_RULE_NAMES; i++) {
    uint32_t let = o->let_of[i];
    if (!(names >> i & 1) || !let || (o->placed >> i & 1))
      continue;
    need of = {0};
    add_need(r->lets[let - 1], &of);
    o->placed |= UINT32_C(1) << i;
    place_lets(o, of.names);
    o->order[o->n++] = (uint8_t)(r->n_where + let - 1);
  }
}

/* Returns what a condition costs now, with the numbers that it still needs. */
static uint32_t cost_of(const ordering *o, const tl_expr *condition) {
  need of = {0};
  uint32_t seen = o->placed;
  add_need(condition, &of);
  for (uint32_t i = 0; i < TL_RULE_NAMES;) {
    bool open = (of.names >> i & 1) && !(seen >> i & 1) && o->let_of[i];
    seen |= open ? UINT32_C(1) << i : 0;
    if (open)
      add_need(o->rule->lets[o->let_of[i] - 1], &of);
    i = open ? 0 : i + 1; /* it may need names before it */
  }
  return of.cost;
}

/* Returns the cheapest condition that has no place yet; of equals the one that is written first. */
static uint8_t cheapest(const ordering *o, const bool *has_place) {
  uint32_t least = UINT32_MAX;
  uint8_t best = 0;
  for (uint8_t i = 0; i < o->rule->n_where; i++) {
    uint32_t cost = has_place[i] ? UINT32_MAX : cost_of(o, o->rule->where[i]);
    if (cost < least) {
      least = cost;
      best = i;
    }
  }
  return best;
}

const uint8_t *tl_rule_order(tl_arena *arena, const tl_rule *r) {
  uint32_t n = (uint32_t)r->n_where + r->n_lets;
  bool has_place[UINT8_MAX + 1] = {false};
  ordering o = {.rule = r};
  o.order = n <= UINT8_MAX ? tl_arena_alloc(arena, n + 1u) : NULL;
  if (!o.order)
    return NULL;
  for (uint8_t i = 0; i < r->n_lets; i++)
    o.let_of[r->let_index[i]] = i + 1u;
  for (uint8_t i = 0; i < r->n_where; i++) {
    uint8_t next = cheapest(&o, has_place);
    need of = {0};
    add_need(r->where[next], &of);
    place_lets(&o, of.names);
    has_place[next] = true;
    o.order[o.n++] = next;
  }
  place_lets(&o, UINT32_MAX); /* those of the replacement */
  return o.order;
}
