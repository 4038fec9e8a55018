/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the ways of a rule (ways.h): the choices of its pattern, multiplied out as far as they stay
 * few. */
#include "passes/engine/ways.h"

#include <stdlib.h>

#include "support/hash.h"

/* Places two and three steps above the root begin here. MOST_ALTERNATIVES: as many as a node may
 * have, in either order. */
enum { FIRST_OF_TWO = 5, FIRST_OF_THREE = 17, ALL_OPERANDS = 0xff, MOST_ALTERNATIVES = 160 };

uint8_t tl_place_above(uint8_t place, uint32_t i) {
  if (place == TL_PLACE_ROOT)
    return i < 4 ? (uint8_t)(1 + i) : TL_NO_PLACE;
  if (place < FIRST_OF_TWO)
    return i < 3 ? (uint8_t)(FIRST_OF_TWO + 3 * (place - 1u) + i) : TL_NO_PLACE;
  if (place < FIRST_OF_THREE)
    return i < 2 ? (uint8_t)(FIRST_OF_THREE + 2 * ((unsigned)place - FIRST_OF_TWO) + i)
                 : TL_NO_PLACE;
  return TL_NO_PLACE;
}

uint8_t tl_place_below(uint8_t place, uint32_t *i) {
  if (place < FIRST_OF_TWO) {
    *i = place - 1u;
    return TL_PLACE_ROOT;
  }
  if (place < FIRST_OF_THREE) {
    *i = (place - (unsigned)FIRST_OF_TWO) % 3;
    return (uint8_t)(1 + (place - FIRST_OF_TWO) / 3);
  }
  *i = (place - (unsigned)FIRST_OF_THREE) % 2;
  return (uint8_t)(FIRST_OF_TWO + (place - FIRST_OF_THREE) / 2);
}

/* Bounds of attributes that are tested: elements of a list in a rule, floats that are integers, and
 * the bits of a key. */
enum { LONGEST_WRITTEN = 16, WIDEST_KEY = 0xffffff };
#define LARGEST_FLOAT 0x1p53f

/* A way being listed: an op or a key for each place with TESTED set, or
 * 0. */
enum { TESTED = 1 << 30 };

typedef struct draft {
  uint32_t tests[TL_N_TESTED];
} draft;

TL_VEC(draft_vec, draft);

/* What is listed: how far and over which operands of the root. */
typedef struct lister {
  const tl_module *m;
  const tl_rule *r;
  uint32_t levels;   /* steps above the root */
  uint32_t operands; /* set of operands of the root that are looked at */
  uint32_t most;     /* ways of one op of the root */
  bool full;         /* there are more */
  bool lost;         /* memory ran out */
} lister;

static uint32_t level_of(uint8_t place) {
  return place == TL_PLACE_ROOT ? 0 : place < FIRST_OF_TWO ? 1 : place < FIRST_OF_THREE ? 2 : 3;
}

static void put(lister *l, draft_vec *out, const draft *d) {
  if (out->n >= l->most)
    l->full = true;
  else if (!draft_vec_push(out, *d))
    l->lost = true;
}

static void put_all(lister *l, draft_vec *out, const draft_vec *from) {
  for (uint32_t i = 0; i < from->n && !l->full; i++)
    put(l, out, &from->at[i]);
}

/* Adds one test to each draft. */
static void demand(draft_vec *v, uint8_t place, uint32_t op) {
  for (uint32_t i = 0; i < v->n; i++)
    v->at[i].tests[place] = op | TESTED;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static uint32_t key_of(tl_sv name, const int64_t *at, uint32_t n, bool list) {
  uint64_t h = tl_hash_bytes(name.p, name.n, list);
  for (uint32_t i = 0; i < n; i++)
    h = tl_hash_mix(h, (uint64_t)at[i]);
  return (uint32_t)h & WIDEST_KEY;
}

bool tl_way_attr_key(const tl_module *m, const tl_attr *a, uint32_t *key) {
  int64_t one = a->u.i;
  switch ((tl_attr_kind)a->kind) {
  case TL_ATTR_FLOAT:
    if (!(a->u.f >= -LARGEST_FLOAT && a->u.f <= LARGEST_FLOAT) || (float)(int64_t)a->u.f != a->u.f)
      return false;
    one = (int64_t)a->u.f;
    break;
  case TL_ATTR_INT:
  case TL_ATTR_BOOL:
  case TL_ATTR_DTYPE: break;
  case TL_ATTR_INTS:
  case TL_ATTR_BOOLS: *key = key_of(tl_sym(m, a->name), a->u.is, a->count, true); return true;
  default: return false;
  }
  *key = key_of(tl_sym(m, a->name), &one, 1, false);
  return true;
}

/* Reads an integer as it is written. */
static bool read_integer(const tl_expr *e, int64_t *out) {
  bool minus = e->kind == TL_EXPR_MINUS;
  const tl_expr *number = minus ? e->args[0] : e;
  if (number->kind != TL_EXPR_INT || number->u.i < -INT64_MAX)
    return false;
  *out = minus ? -number->u.i : number->u.i;
  return true;
}

/* Returns true if an attribute of the pattern has a written value: an integer or a list of few. */
static bool is_written(const lister *l, const tl_pattern_attr *a, uint32_t *key) {
  int64_t at[LONGEST_WRITTEN];
  const tl_expr *e = a->expr;
  if (a->captures)
    return false;
  bool list = e->kind == TL_EXPR_LIST;
  uint16_t n = list ? e->n : 1;
  if (n == 0 || n > LONGEST_WRITTEN)
    return false;
  for (uint16_t i = 0; i < n; i++)
    if (!read_integer(list ? e->args[i] : e, &at[i]))
      return false;
  *key = key_of(tl_sym(l->m, a->name), at, n, list);
  return true;
}

/* Demands the first attribute of a pattern node whose value is written. */
static void demand_attr(const lister *l, draft_vec *v, uint8_t place, const tl_pattern_node *p) {
  uint32_t key;
  for (uint8_t i = 0; place < TL_PLACES_WITH_ATTRS && i < p->n_attrs; i++)
    if (is_written(l, &p->attrs[i], &key)) {
      demand(v, (uint8_t)(TL_PLACE_ATTRS + place), key);
      return;
    }
}

/* ---- nodes and operands ---------------------------------------------------------------------- */

static void multiply_operands(lister *l, draft_vec *v, uint8_t place, const tl_pattern_node *p);

/* Replaces the drafts by those for the choices of a pattern node at a place. */
static void multiply_node(lister *l, draft_vec *v, uint8_t place, const tl_pattern_node *p);

/* Replaces the drafts by those for the choices of an operand at a place. */
static void multiply_operand(lister *l, draft_vec *v, uint8_t place, const tl_pattern_operand *o) {
  if (o->kind == TL_PATTERN_CONSTANT || o->kind == TL_PATTERN_NUMBER)
    demand(v, place, TL_WAY_CONSTANT);
  if (o->kind == TL_PATTERN_VALUE && l->r->values[o->value].node != TL_RULE_NODES)
    multiply_node(l, v, place, &l->r->match[l->r->values[o->value].node]);
}

static void multiply_node(lister *l, draft_vec *v, uint8_t place, const tl_pattern_node *p) {
  draft_vec out = {0};
  for (uint32_t i = 0; i <= p->n_ops && !l->full && !l->lost; i++) {
    if (i == p->n_ops && !p->maybe)
      break;
    draft_vec some = {0};
    put_all(l, &some, v);
    if (i == p->n_ops) { /* the node is absent */
      multiply_operand(l, &some, place, &p->operands[0]);
    } else {
      demand(&some, place, p->ops[i]);
      demand_attr(l, &some, place, p);
      multiply_operands(l, &some, place, p);
    }
    put_all(l, &out, &some);
    draft_vec_release(&some);
  }
  draft_vec_release(v);
  *v = out;
}

static bool has_rest(const tl_pattern_node *p) {
  for (uint8_t i = 0; i < p->n_operands; i++)
    if (p->operands[i].kind == TL_PATTERN_REST)
      return true;
  return false;
}

/* True where the matcher tries the two operands of some op of the node in both orders. */
static bool commutes(const tl_pattern_node *p) {
  bool any = false;
  for (uint8_t i = 0; i < p->n_ops; i++)
    any = any || tl_op_has_trait(p->ops[i], TL_TRAIT_COMMUTATIVE);
  return any && p->n_operands == 2 && !has_rest(p);
}

/* Multiplies by the operands of a node in one order, up to a list of operands. */
static void multiply_in_order(lister *l, draft_vec *v, uint8_t place, const tl_pattern_node *p,
                              bool swap) {
  for (uint8_t i = 0; i < p->n_operands && !l->full && !l->lost; i++) {
    if (p->operands[i].kind == TL_PATTERN_REST)
      return;
    uint8_t above = tl_place_above(place, swap ? 1u - i : i);
    bool wanted = place != TL_PLACE_ROOT || (l->operands >> i & 1);
    if (above != TL_NO_PLACE && wanted && level_of(above) <= l->levels)
      multiply_operand(l, v, above, &p->operands[i]);
  }
}

static void multiply_operands(lister *l, draft_vec *v, uint8_t place, const tl_pattern_node *p) {
  draft_vec swapped = {0};
  if (commutes(p)) {
    put_all(l, &swapped, v);
    multiply_in_order(l, &swapped, place, p, true);
  }
  multiply_in_order(l, v, place, p, false);
  put_all(l, v, &swapped);
  draft_vec_release(&swapped);
}

/* ---- choosing how far ------------------------------------------------------------------------ */

/* Returns true if each test of a is one of b's: b's nodes are among a's. */
static bool covers(const draft *a, const draft *b) {
  for (uint32_t i = 0; i < TL_N_TESTED; i++)
    if (a->tests[i] && a->tests[i] != b->tests[i])
      return false;
  return true;
}

/* Drops drafts whose nodes another one has as well. */
static void drop_covered(draft_vec *v) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < v->n; i++) {
    bool covered = false;
    for (uint32_t k = 0; k < v->n && !covered; k++)
      covered = k != i && covers(&v->at[k], &v->at[i]) && (k < i || !covers(&v->at[i], &v->at[k]));
    if (!covered)
      v->at[n++] = v->at[i];
  }
  v->n = n;
}

/* Lists the ways of one op of the root. False: there are too many, or memory is out. */
static bool list(lister *l, uint32_t op, draft_vec *out) {
  const tl_pattern_node *root = &l->r->match[l->r->n_match - 1];
  draft first = {{0}};
  l->full = false;
  out->n = 0;
  put(l, out, &first);
  demand(out, TL_PLACE_ROOT, op);
  demand_attr(l, out, TL_PLACE_ROOT, root);
  multiply_operands(l, out, TL_PLACE_ROOT, root);
  if (!l->full && !l->lost)
    drop_covered(out);
  return !l->full && !l->lost;
}

/* Returns true if each way tests more than the root. */
static bool decide(const draft_vec *v) {
  for (uint32_t i = 0; i < v->n; i++) {
    uint32_t p = TL_PLACE_ROOT + 1u;
    while (p < TL_N_TESTED && !v->at[i].tests[p])
      p++;
    if (p == TL_N_TESTED)
      return false;
  }
  return v->n != 0;
}

/* As list, as far as the ways stay few: else nearer to the root, then above one operand of it
 * alone, then nowhere. */
static void list_some(lister *l, uint32_t op, draft_vec *out) {
  static const struct { uint32_t levels, most; } tries[] = {{3, 16}, {2, 24}, {1, 64}};
  l->operands = ALL_OPERANDS;
  for (size_t i = 0; i < sizeof tries / sizeof *tries && !l->lost; i++) {
    l->levels = tries[i].levels;
    l->most = tries[i].most;
    if (list(l, op, out))
      return;
  }
  l->most = MOST_ALTERNATIVES;
  for (uint32_t i = 0; i < 4 && !l->lost; i++) {
    l->operands = 1u << i;
    if (list(l, op, out) && decide(out))
      return;
  }
  l->operands = 0;
  (void)list(l, op, out);
}

static bool keep(const draft_vec *drafts, tl_rule_way_vec *out) {
  for (uint32_t i = 0; i < drafts->n; i++) {
    tl_rule_way way = {.n = 0};
    for (uint32_t p = 0; p < TL_N_TESTED && way.n < TL_WAY_TESTS; p++)
      if (drafts->at[i].tests[p])
        way.tests[way.n++] = tl_way_test_of(p, drafts->at[i].tests[p] & ~(uint32_t)TESTED);
    if (!tl_rule_way_vec_push(out, way))
      return false;
  }
  return true;
}

bool tl_rule_ways(const tl_module *m, const tl_rule *r, tl_rule_way_vec *out) {
  const tl_pattern_node *root = &r->match[r->n_match - 1];
  lister l = {.m = m, .r = r};
  draft_vec drafts = {0};
  bool ok = true;
  for (uint8_t i = 0; i < r->n_match && ok; i++)
    for (uint8_t k = 0; k < r->match[i].n_ops; k++)
      ok = ok && r->match[i].ops[k] < TL_WAY_CONSTANT;
  for (uint8_t i = 0; i < root->n_ops && ok; i++) {
    list_some(&l, root->ops[i], &drafts);
    ok = !l.lost && keep(&drafts, out);
  }
  draft_vec_release(&drafts);
  return ok;
}

bool tl_rule_needs_number(const tl_rule *r, double *number) {
  const tl_pattern_node *root = &r->match[r->n_match - 1];
  bool found = false;
  for (uint8_t i = 0; i < root->n_operands; i++)
    if (root->operands[i].kind == TL_PATTERN_NUMBER) {
      *number = root->operands[i].number;
      found = true;
    }
  return found;
}
