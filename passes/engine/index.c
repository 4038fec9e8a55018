/* SPDX-License-Identifier: Apache-2.0 */
/* Builds and queries the table of rules by root and producer (index.h). */
#include "passes/engine/index.h"

#include <math.h>

#include "passes/engine/image.h"
#include "support/hash.h"

/* Keys of rules without a required producer: with a constant operand, and without. */
#define ANY_CONSTANT (UINT32_MAX - 1)
#define ANY_PRODUCER UINT32_MAX

enum { MOST_DECIDING = 64 };  /* upper bound on alternative producers */
#define NOT_PLACED UINT32_MAX /* `first` of a slot whose entries have no place yet */

/* Returns the key of rules with this root op, one of whose operands has this producer op. */
static uint64_t key_of(tl_op_id root, uint32_t producer) { return (uint64_t)root << 32 | producer; }

/* Ops of which one must produce an operand of the root for the rule to match. */
typedef struct deciding {
  tl_op_id ops[MOST_DECIDING];
  uint32_t n; /* 0: no such operand */
} deciding;

/* Adds the ops of a pattern node. Returns false if there are too many. */
static bool decide_by(deciding *d, const tl_pattern_node *made) {
  for (uint8_t i = 0; i < made->n_ops; i++) {
    uint32_t k = 0;
    while (k < d->n && d->ops[k] != made->ops[i])
      k++;
    if (k == MOST_DECIDING)
      return false;
    d->ops[k] = made->ops[i];
    d->n += k == d->n;
  }
  return true;
}

/* Returns the pattern node that produces an operand, or NULL. */
static const tl_pattern_node *maker_of(const tl_rule *r, const tl_pattern_operand *o) {
  bool made = o->kind == TL_PATTERN_VALUE && r->values[o->value].node != TL_RULE_NODES;
  return made ? &r->match[r->values[o->value].node] : NULL;
}

/* Returns the ops that may produce an operand: of a required node; with `optional` also of the
 * nodes above it that may be absent. */
static deciding deciding_at(const tl_rule *r, const tl_pattern_operand *o, bool optional) {
  deciding d = {.n = 0};
  for (const tl_pattern_node *made = maker_of(r, o); made; made = maker_of(r, made->operands)) {
    if ((made->maybe && !optional) || !decide_by(&d, made))
      break;
    if (!made->maybe)
      return d;
  }
  return (deciding){.n = 0};
}

/* Returns the producers of the first operand that has required ones; a single node is preferred. */
static deciding find_deciding(const tl_rule *r) {
  const tl_pattern_node *root = &r->match[r->n_match - 1];
  for (unsigned optional = 0; optional < 2; optional++)
    for (uint8_t i = 0; i < root->n_operands; i++) {
      deciding d = deciding_at(r, &root->operands[i], optional);
      if (d.n)
        return d;
    }
  return (deciding){.n = 0};
}

/* Returns two bits for an op. Ops may share bits; that costs only a failed match. */
static uint64_t bits_of(tl_op_id op) {
  uint64_t h = tl_hash_mix(3, op);
  return UINT64_C(1) << (h & 63) | UINT64_C(1) << (h >> 6 & 63);
}

/* Returns the bits of the ops that must produce operands of a pattern node. */
static uint64_t producers_of(const tl_rule *r, const tl_pattern_node *p) {
  uint64_t bits = 0;
  for (uint8_t i = 0; i < p->n_operands; i++) {
    const tl_pattern_operand *o = &p->operands[i];
    if (o->kind != TL_PATTERN_VALUE || r->values[o->value].node == TL_RULE_NODES)
      continue;
    const tl_pattern_node *made = &r->match[r->values[o->value].node];
    if (!made->maybe && made->n_ops == 1)
      bits |= bits_of(made->ops[0]);
  }
  return bits;
}

/* Returns what the rule needs around its root in every way of matching. */
static tl_rule_signature signature_of(const tl_rule *r) {
  const tl_pattern_node *root = &r->match[r->n_match - 1];
  tl_rule_signature s = {.near = producers_of(r, root)};
  for (uint8_t i = 0; i < root->n_operands; i++) {
    const tl_pattern_operand *o = &root->operands[i];
    if (o->kind == TL_PATTERN_CONSTANT || o->kind == TL_PATTERN_NUMBER)
      s.constant = true;
    if (o->kind == TL_PATTERN_NUMBER) {
      s.numbered = true;
      s.number = o->number;
    }
    if (o->kind != TL_PATTERN_VALUE || r->values[o->value].node == TL_RULE_NODES)
      continue;
    const tl_pattern_node *made = &r->match[r->values[o->value].node];
    if (!made->maybe)
      s.far |= producers_of(r, made);
  }
  return s;
}

/* Appends the entries that were computed when the rule was compiled. */
static bool add_compiled(tl_rule *r, tl_rule_entry_vec *out) {
  const tl_image_entry *from = &tl_image_entries[r->image->entries];
  for (uint16_t i = 0; i < r->image->n_entries; i++, from++) {
    tl_rule_signature wants = {.near = from->near,
                               .far = from->far,
                               .constant = from->constant,
                               .numbered = from->numbered,
                               .number = from->number};
    tl_rule_entry e = {key_of(from->root, from->producer), r, from->n, from->which, wants};
    if (!tl_rule_entry_vec_push(out, e))
      return false;
  }
  return true;
}

bool tl_rule_index_entries(tl_rule *r, tl_rule_entry_vec *out) {
  if (r->image)
    return add_compiled(r, out);
  const tl_pattern_node *root = &r->match[r->n_match - 1];
  deciding made = find_deciding(r);
  tl_rule_signature wants = signature_of(r);
  uint32_t any = wants.constant ? ANY_CONSTANT : ANY_PRODUCER;
  for (uint8_t i = 0; i < root->n_ops; i++)
    for (uint32_t k = 0; k < (made.n ? made.n : 1); k++) {
      uint64_t key = key_of(root->ops[i], made.n ? made.ops[k] : any);
      tl_rule_entry e = {.key = key, .rule = r, .wants = wants, .n = made.n, .which = k};
      if (!tl_rule_entry_vec_push(out, e))
        return false;
    }
  return true;
}

/* Adds a rule to the index. */
static bool add_rule(tl_rule_index *index, tl_rule *r) {
  uint32_t before = index->entries.n;
  bool ok = tl_rule_index_entries(r, &index->entries);
  for (uint32_t i = before; i < index->entries.n; i++) {
    tl_op_id root = (tl_op_id)(index->entries.at[i].key >> 32);
    if (root < index->n_ops)
      index->roots[root] = 1;
  }
  if (r->depth > index->depth)
    index->depth = r->depth;
  return ok;
}

/* Returns true if the entry is sorted by number. NaN and infinities have no place in that order, or
 * no margin around them. */
static bool is_ranked(const tl_rule_signature *s) { return s->numbered && isfinite(s->number); }

/* Order within a key: rules without a number, then by number, then by definition. */
static int by_key(const void *a, const void *b) {
  const tl_rule_entry *x = a, *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  if (is_ranked(&x->wants) != is_ranked(&y->wants))
    return is_ranked(&x->wants) ? 1 : -1;
  if (is_ranked(&x->wants) && x->wants.number != y->wants.number)
    return x->wants.number < y->wants.number ? -1 : 1;
  if (x->rule->index == y->rule->index)
    return (x->rule->spelling > y->rule->spelling) - (x->rule->spelling < y->rule->spelling);
  return x->rule->index < y->rule->index ? -1 : 1;
}

/* Finds the slot of a key, or the free slot for it: open addressing with linear probing. */
static tl_rule_slot *slot_of(const tl_rule_index *index, uint64_t key) {
  uint32_t at = (uint32_t)tl_hash_mix(0, key) & index->mask;
  while (index->slots[at].n && index->slots[at].key != key)
    at = (at + 1) & index->mask;
  return &index->slots[at];
}

/* Fills the hash table, at most half full, so that probing ends. sorted: the entries of each key
 * are neighbours already. */
static bool fill_slots(tl_rule_index *index, bool sorted) {
  uint32_t n = 16;
  while (n / 2 < index->entries.n)
    n *= 2;
  index->slots = calloc(n, sizeof *index->slots);
  index->mask = n - 1;
  if (!index->slots)
    return false;
  for (uint32_t i = 0; i < index->entries.n; i++) {
    tl_rule_slot *s = slot_of(index, index->entries.at[i].key);
    if (s->n == 0)
      *s = (tl_rule_slot){index->entries.at[i].key, sorted ? i : NOT_PLACED, 0, 0};
    s->n++;
    s->n_plain += !is_ranked(&index->entries.at[i].wants);
  }
  return true;
}

/* Puts the entries of each key in order. Rules came by definition, so that nearly all are. */
static void order_key(tl_rule_entry *at, uint32_t n) {
  bool ordered = true;
  for (uint32_t i = 1; i < n && ordered; i++)
    ordered = by_key(&at[i - 1], &at[i]) <= 0;
  if (!ordered)
    qsort(at, n, sizeof *at, by_key);
}

/* Makes the entries of one key neighbours, in any order of keys: cheaper than sorting all of
 * them. */
static bool group(tl_rule_index *index) {
  tl_rule_entry_vec old = index->entries;
  tl_rule_entry *at = malloc((old.n + 1u) * sizeof *at);
  uint32_t n = 0;
  if (!at)
    return false;
  for (uint32_t i = 0; i < old.n; i++) {
    tl_rule_slot *s = slot_of(index, old.at[i].key);
    if (s->first == NOT_PLACED) {
      s->first = n;
      n += s->n;
      s->n = 0;
    }
    at[s->first + s->n++] = old.at[i];
  }
  index->entries = (tl_rule_entry_vec){.at = at, .n = old.n, .cap = old.n};
  tl_rule_entry_vec_release(&old);
  for (uint32_t i = 0; i < n; i += slot_of(index, at[i].key)->n)
    order_key(at + i, slot_of(index, at[i].key)->n);
  return true;
}

/* Entries of one key are adjacent; the hash table finds the first. All rules, which remarks are
 * made of, are in order of their keys. */
tl_status tl_rule_index_build(tl_rule_index *index, const tl_ruleset *set, tl_rule_kind kind,
                              bool all) {
  *index = (tl_rule_index){.n_ops = tl_n_op_rows + set->m->opaque_ops.n};
  index->roots = calloc(index->n_ops + 1u, 1);
  bool ok = index->roots != NULL;
  for (uint32_t i = 0; ok && i < set->rules.n; i++) {
    tl_rule *r = set->rules.at[i];
    if (r->kind == kind && (all || !r->off))
      ok = add_rule(index, r);
  }
  if (ok && all && index->entries.n)
    qsort(index->entries.at, index->entries.n, sizeof *index->entries.at, by_key);
  if (ok && fill_slots(index, all) && (all || group(index)))
    return TL_OK;
  tl_rule_index_release(index);
  return tl_no_memory(set->m);
}

void tl_rule_index_release(tl_rule_index *index) {
  tl_rule_entry_vec_release(&index->entries);
  free(index->slots);
  free(index->roots);
  *index = (tl_rule_index){0};
}

typedef struct visit {
  const tl_rule_index *x;
  const tl_module *m;
  tl_node_id node;
  uint32_t operand;      /* operand whose producer is the key */
  tl_rule_signature has; /* `far` and `number` are filled on demand */
  bool far_known;
  bool number_known;
  tl_rule_visit fn;
  void *user;
} visit;

/* Returns the bits of the ops that produce operands of node n. */
static uint64_t producer_bits(const tl_module *m, tl_node_id n) {
  uint64_t bits = 0;
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_use_get(m, node->operands + i)->value;
    tl_node_id p = v ? tl_value_producer(m, v) : TL_NO_NODE;
    if (p)
      bits |= bits_of(tl_node_get(m, p)->op);
  }
  return bits;
}

/* Returns the bits of the ops two steps above node n. */
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

/* Reads the first element of the only constant operand. */
static void fill_number(const tl_module *m, tl_node_id n, tl_rule_signature *has) {
  const tl_tensor *only = NULL;
  uint32_t constants = 0;
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(m, n, i);
    const tl_tensor *t = v ? tl_value_constant(m, v) : NULL;
    constants += t != NULL;
    only = t ? t : only;
  }
  int64_t integer;
  if (constants != 1 || only->kind == TL_SOURCE_STRINGS || tl_tensor_elements(m, only) == 0)
    return;
  has->numbered = true;
  if (tl_tensor_int_at(m, only, 0, &integer))
    has->number = (double)integer;
  else
    has->numbered = tl_tensor_float_at(m, only, 0, &has->number);
}

/* Returns true if two numbers may match; the margin is wider than the matcher's. */
static bool is_near(double a, double b) {
  double margin = 10 * TL_RULE_TOLERANCE * (b < 0 ? -b : b);
  return !(a < b - margin || a > b + margin);
}

/* Computes the facts that a rule needs and that are not known yet. */
static void look(visit *v, const tl_rule_signature *wants) {
  if (wants->far && !v->far_known) {
    v->has.far = far_bits(v->m, v->node);
    v->far_known = true;
  }
  if (wants->numbered && !v->number_known) {
    fill_number(v->m, v->node, &v->has);
    v->number_known = true;
  }
}

/* Returns true if a rule with alternative producers was already visited for an earlier operand. */
static bool was_visited(const visit *v, const tl_rule_entry *at) {
  tl_op_id root = (tl_op_id)(at->key >> 32);
  for (uint32_t i = 0; i < v->operand; i++) {
    tl_value_id operand = tl_operand(v->m, v->node, i);
    tl_node_id p = operand ? tl_value_producer(v->m, operand) : TL_NO_NODE;
    const tl_rule_slot *s = p ? slot_of(v->x, key_of(root, tl_node_get(v->m, p)->op)) : NULL;
    for (uint32_t k = 0; s && k < s->n; k++)
      if (v->x->entries.at[s->first + k].rule == at->rule)
        return true;
  }
  return false;
}

/* Calls the visitor unless a necessary condition of the rule fails: cheap tests first. */
static void visit_entry(visit *v, const tl_rule_entry *at) {
  const tl_rule_signature *wants = &at->wants;
  if (at->n > 1 && was_visited(v, at))
    return;
  if ((wants->near & ~v->has.near) || wants->constant > v->has.constant)
    return;
  look(v, wants);
  if (!(wants->far & ~v->has.far) &&
      !(wants->numbered && v->has.numbered && !is_near(v->has.number, wants->number)))
    v->fn(v->user, v->node, at->rule);
}

/* Binary search: returns the first entry whose number is not below. */
static const tl_rule_entry *at_least(const tl_rule_entry *at, const tl_rule_entry *end,
                                     double number) {
  while (at < end) {
    const tl_rule_entry *middle = at + (end - at) / 2;
    if (middle->wants.number < number)
      at = middle + 1;
    else
      end = middle;
  }
  return at;
}

/* Visits the entries of a key; those with a number only near the node's number. */
static void visit_key(visit *v, uint64_t key) {
  const tl_rule_slot *s = slot_of(v->x, key);
  const tl_rule_entry *at = v->x->entries.at + s->first;
  const tl_rule_entry *ranked = at + s->n_plain;
  const tl_rule_entry *end = at + s->n;
  for (; at < ranked; at++)
    visit_entry(v, at);
  if (at == end)
    return;
  look(v, &at->wants);
  double number = v->has.number;
  bool known = v->has.numbered && isfinite(number);
  double reach = 11 * TL_RULE_TOLERANCE * fabs(number); /* wider than the margin of is_near */
  for (at = known ? at_least(at, end, number - reach) : at; at < end; at++) {
    if (known && at->wants.number > number + reach)
      break;
    visit_entry(v, at);
  }
}

/* Returns true if some operand of the node is a constant. */
static bool has_constant(const tl_module *m, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_use_get(m, node->operands + i)->value;
    if (v && tl_value_constant(m, v))
      return true;
  }
  return false;
}

/* Returns true if one of the 8 operands before i has a producer of the same op: its rules were
 * visited then. Only 8 are compared, to bound the cost. */
static bool seen_before(const tl_module *m, tl_node_id n, uint32_t i, tl_op_id op) {
  for (uint32_t k = i < 8 ? 0 : i - 8; k < i; k++) {
    tl_value_id v = tl_operand(m, n, k);
    tl_node_id p = v ? tl_value_producer(m, v) : TL_NO_NODE;
    if (p && tl_node_get(m, p)->op == op)
      return true;
  }
  return false;
}

void tl_rule_index_visit(const tl_rule_index *index, const tl_module *m, tl_node_id n,
                         tl_rule_visit fn, void *user) {
  const tl_node *node = tl_node_get(m, n);
  if (node->op >= index->n_ops || !index->roots[node->op])
    return;
  visit all = {.x = index,
               .m = m,
               .node = n,
               .fn = fn,
               .user = user,
               .has = {.near = producer_bits(m, n), .constant = has_constant(m, node)}};
  visit_key(&all, key_of(node->op, ANY_PRODUCER));
  if (all.has.constant)
    visit_key(&all, key_of(node->op, ANY_CONSTANT));
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_use_get(m, node->operands + i)->value;
    tl_node_id p = v ? tl_value_producer(m, v) : TL_NO_NODE;
    all.operand = i;
    if (p && !seen_before(m, n, i, tl_node_get(m, p)->op))
      visit_key(&all, key_of(node->op, tl_node_get(m, p)->op));
  }
}

void tl_rule_index_visit_all(const tl_rule_index *index, const tl_module *m, tl_node_id n,
                             tl_rule_visit fn, void *user) {
  const tl_node *node = tl_node_get(m, n);
  if (node->op >= index->n_ops || !index->roots[node->op])
    return;
  for (uint32_t i = 0; i < index->entries.n; i++)
    if (index->entries.at[i].key >> 32 == node->op && index->entries.at[i].which == 0)
      fn(user, n, index->entries.at[i].rule);
}
