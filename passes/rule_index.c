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

static bool add_rule(tl_rule_index *x, const tl_rule *r) {
  const tl_pattern_node *root = &r->match[r->n_match - 1];
  const tl_pattern_node *made = deciding_producer(r);
  for (uint8_t i = 0; i < root->n_ops; i++) {
    if (root->ops[i] < x->n_ops)
      x->roots[root->ops[i]] = 1;
    if (!made && !tl_rule_entry_vec_push(
                     &x->entries, (tl_rule_entry){key_of(root->ops[i], ANY_PRODUCER), r}))
      return false;
    for (uint8_t k = 0; made && k < made->n_ops; k++)
      if (!tl_rule_entry_vec_push(&x->entries,
                                  (tl_rule_entry){key_of(root->ops[i], made->ops[k]), r}))
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

static void visit_key(const tl_rule_index *x, uint64_t key, tl_node_id n, tl_rule_visit fn,
                      void *user) {
  const tl_rule_slot *s = slot_of(x, key);
  for (uint32_t i = 0; i < s->n; i++)
    fn(user, n, x->entries.at[s->first + i].rule);
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
  visit_key(x, key_of(node->op, ANY_PRODUCER), n, fn, user);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_use_get(m, node->operands + i)->value;
    tl_node_id p = v ? tl_value_producer(m, v) : TL_NO_NODE;
    if (p && !seen_before(m, n, i, tl_node_get(m, p)->op))
      visit_key(x, key_of(node->op, tl_node_get(m, p)->op), n, fn, user);
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
