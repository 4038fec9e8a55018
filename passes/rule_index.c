/* SPDX-License-Identifier: Apache-2.0 */
/* The decision table of the engine (rule_index.h). */
#include "passes/rule_index.h"

#include "support/hash.h"

#define ANY_PRODUCER UINT32_MAX /* the key of rules whose root needs no certain producer */

static uint64_t key_of(tl_op_id root, uint32_t producer) {
  return (uint64_t)root << 32 | producer;
}

/* The operand of the root that decides: made by a node that must be there. */
static const tl_pattern_node *deciding_producer(const tl_rule *r) {
  const tl_pattern_node *root = &r->match[r->n_match - 1];
  for (uint8_t i = 0; i < root->n_operands; i++) {
    const tl_pattern_operand *o = &root->operands[i];
    if (o->kind != TL_PATTERN_VALUE || r->values[o->value].node == TL_RULE_NODES)
      continue;
    const tl_pattern_node *made = &r->match[r->values[o->value].node];
    if (!made->maybe)
      return made;
  }
  return NULL;
}

/* One bit an op; different ops may share one, which only costs a look in vain. */
static uint64_t bit_of(tl_op_id op) { return UINT64_C(1) << (tl_hash_mix(3, op) & 63); }

/* Bits of the ops that must make operands of a pattern node. */
static uint64_t producers_of(const tl_rule *r, const tl_pattern_node *p) {
  uint64_t bits = 0;
  for (uint8_t i = 0; i < p->n_operands; i++) {
    const tl_pattern_operand *o = &p->operands[i];
    if (o->kind != TL_PATTERN_VALUE || r->values[o->value].node == TL_RULE_NODES)
      continue;
    const tl_pattern_node *made = &r->match[r->values[o->value].node];
    if (!made->maybe && made->n_ops == 1)
      bits |= bit_of(made->ops[0]);
  }
  return bits;
}

/* What the rule asks of the surroundings of its root, whatever its kinds of backtracking. */
static tl_rule_signature signature_of(const tl_rule *r) {
  const tl_pattern_node *root = &r->match[r->n_match - 1];
  tl_rule_signature s = {.near = producers_of(r, root)};
  for (uint8_t i = 0; i < root->n_operands; i++) {
    const tl_pattern_operand *o = &root->operands[i];
    if (o->kind == TL_PATTERN_CONSTANT || o->kind == TL_PATTERN_NUMBER)
      s.constant = true;
    if (o->kind != TL_PATTERN_VALUE || r->values[o->value].node == TL_RULE_NODES)
      continue;
    const tl_pattern_node *made = &r->match[r->values[o->value].node];
    if (!made->maybe)
      s.far |= producers_of(r, made);
  }
  return s;
}

static bool add_rule(tl_rule_index *x, const tl_rule *r) {
  const tl_pattern_node *root = &r->match[r->n_match - 1];
  const tl_pattern_node *made = deciding_producer(r);
  tl_rule_signature wants = signature_of(r);
  for (uint8_t i = 0; i < root->n_ops; i++) {
    if (root->ops[i] < x->n_ops)
      x->roots[root->ops[i]] = 1;
    if (!made && !tl_rule_entry_vec_push(
                     &x->entries, (tl_rule_entry){key_of(root->ops[i], ANY_PRODUCER), r, wants}))
      return false;
    for (uint8_t k = 0; made && k < made->n_ops; k++)
      if (!tl_rule_entry_vec_push(&x->entries,
                                  (tl_rule_entry){key_of(root->ops[i], made->ops[k]), r, wants}))
        return false;
  }
  if (r->depth > x->depth)
    x->depth = r->depth;
  return true;
}

static int by_key(const void *a, const void *b) {
  const tl_rule_entry *x = a, *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return (x->rule->index > y->rule->index) - (x->rule->index < y->rule->index);
}

static tl_rule_slot *slot_of(const tl_rule_index *x, uint64_t key) {
  uint32_t at = (uint32_t)tl_hash_mix(0, key) & x->mask;
  while (x->slots[at].n && x->slots[at].key != key)
    at = (at + 1) & x->mask;
  return &x->slots[at];
}

static bool fill_slots(tl_rule_index *x) {
  uint32_t n = 16;
  while (n / 2 < x->entries.n)
    n *= 2;
  x->slots = calloc(n, sizeof *x->slots);
  x->mask = n - 1;
  if (!x->slots)
    return false;
  for (uint32_t i = 0; i < x->entries.n; i++) {
    tl_rule_slot *s = slot_of(x, x->entries.at[i].key);
    if (s->n == 0)
      *s = (tl_rule_slot){x->entries.at[i].key, i, 0};
    s->n++;
  }
  return true;
}

tl_status tl_rule_index_build(tl_rule_index *x, const tl_ruleset *set, tl_rule_kind kind,
                              bool all) {
  *x = (tl_rule_index){.n_ops = tl_n_op_rows + set->m->opaque_ops.n};
  x->roots = calloc(x->n_ops + 1u, 1);
  bool ok = x->roots != NULL;
  for (uint32_t i = 0; ok && i < set->rules.n; i++) {
    const tl_rule *r = set->rules.at[i];
    if (r->kind == kind && (all || !r->off))
      ok = add_rule(x, r);
  }
  if (ok && x->entries.n)
    qsort(x->entries.at, x->entries.n, sizeof *x->entries.at, by_key);
  if (ok && fill_slots(x))
    return TL_OK;
  tl_rule_index_release(x);
  return tl_fail(set->m->diag, TL_NO_MEMORY, TL_AT_FILE(set->m->path), "out of memory");
}

void tl_rule_index_release(tl_rule_index *x) {
  tl_rule_entry_vec_release(&x->entries);
  free(x->slots);
  free(x->roots);
  *x = (tl_rule_index){0};
}

typedef struct visit {
  const tl_rule_index *x;
  const tl_module *m;
  tl_node_id node;
  tl_rule_signature has; /* `far` is filled when a rule asks */
  bool far_known;
  tl_rule_visit fn;
  void *user;
} visit;

static uint64_t producer_bits(const tl_module *m, tl_node_id n) {
  uint64_t bits = 0;
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_use_get(m, node->operands + i)->value;
    tl_node_id p = v ? tl_value_producer(m, v) : TL_NO_NODE;
    if (p)
      bits |= bit_of(tl_node_get(m, p)->op);
  }
  return bits;
}

static uint64_t far_bits(const tl_module *m, tl_node_id n) {
  uint64_t bits = 0;
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_use_get(m, node->operands + i)->value;
    tl_node_id p = v ? tl_value_producer(m, v) : TL_NO_NODE;
    if (p)
      bits |= producer_bits(m, p);
  }
  return bits;
}

static bool may_fit(visit *v, const tl_rule_signature *wants) {
  if ((wants->constant && !v->has.constant) || (wants->near & ~v->has.near))
    return false;
  if (wants->far && !v->far_known) {
    v->has.far = far_bits(v->m, v->node);
    v->far_known = true;
  }
  return !(wants->far & ~v->has.far);
}

static void visit_key(visit *v, uint64_t key) {
  const tl_rule_slot *s = slot_of(v->x, key);
  const tl_rule_entry *at = v->x->entries.at + s->first;
  for (uint32_t i = 0; i < s->n; i++)
    if (may_fit(v, &at[i].wants))
      v->fn(v->user, v->node, at[i].rule);
}

static bool has_constant(const tl_module *m, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_use_get(m, node->operands + i)->value;
    if (v && tl_value_constant(m, v))
      return true;
  }
  return false;
}

/* True when an operand before i has a producer of the same op: its rules were visited then. */
static bool seen_before(const tl_module *m, tl_node_id n, uint32_t i, tl_op_id op) {
  for (uint32_t k = i < 8 ? 0 : i - 8; k < i; k++) {
    tl_value_id v = tl_operand(m, n, k);
    tl_node_id p = v ? tl_value_producer(m, v) : TL_NO_NODE;
    if (p && tl_node_get(m, p)->op == op)
      return true;
  }
  return false;
}

void tl_rule_index_visit(const tl_rule_index *x, const tl_module *m, tl_node_id n,
                         tl_rule_visit fn, void *user) {
  const tl_node *node = tl_node_get(m, n);
  if (node->op >= x->n_ops || !x->roots[node->op])
    return;
  visit all = {.x = x, .m = m, .node = n, .fn = fn, .user = user,
               .has = {.near = producer_bits(m, n), .constant = has_constant(m, node)}};
  visit_key(&all, key_of(node->op, ANY_PRODUCER));
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_use_get(m, node->operands + i)->value;
    tl_node_id p = v ? tl_value_producer(m, v) : TL_NO_NODE;
    if (p && !seen_before(m, n, i, tl_node_get(m, p)->op))
      visit_key(&all, key_of(node->op, tl_node_get(m, p)->op));
  }
}

void tl_rule_index_visit_all(const tl_rule_index *x, const tl_module *m, tl_node_id n,
                             tl_rule_visit fn, void *user) {
  const tl_node *node = tl_node_get(m, n);
  if (node->op >= x->n_ops || !x->roots[node->op])
    return;
  for (uint32_t i = 0; i < x->entries.n; i++)
    if (x->entries.at[i].key >> 32 == node->op &&
        (i == 0 || x->entries.at[i].rule != x->entries.at[i - 1].rule))
      fn(user, n, x->entries.at[i].rule);
}
