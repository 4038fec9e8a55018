/* SPDX-License-Identifier: Apache-2.0 */
/* Makes samples: the nodes of a pattern in their order. The operands of a node are tried until type
 * inference accepts them. */
#include <stdio.h>

#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "ir/fork.h"
#include "ir/verify/verify.h"
#include "passes/engine/rule_values.h"
#include "tools/rules/grower.h"

enum { MOST_TRIES = 48, MOST_ELEMENTS = 1 << 12 };

/* Names of the rules are in the module, but no values have them. */
tl_symbol tl_grower_name(tl_grower *k, tl_sv base) {
  char text[64];
  for (uint32_t i = 0;; i++) {
    int n = i ? snprintf(text, sizeof text, "%.*s_%u", TL_SV_ARG(base), i)
              : snprintf(text, sizeof text, "%.*s", TL_SV_ARG(base));
    size_t length = n < (int)sizeof text ? (size_t)n : sizeof text - 1;
    tl_symbol name = tl_module_intern(k->m, (tl_sv){text, length});
    bool taken = false;
    for (tl_value_id v = 1; v < tl_module_value_end(k->m) && !taken; v++)
      taken = tl_value_get(k->m, v)->kind != TL_VALUE_NONE && tl_value_get(k->m, v)->name == name;
    if (!taken)
      return name;
  }
}

/* ---- operands -------------------------------------------------------------------------------- */

static bool is_bound(const tl_grower *k, uint8_t v) { return k->bound >> v & 1; }

static void bind(tl_grower *k, uint8_t v, tl_value_id value) {
  k->bound |= UINT64_C(1) << v;
  k->values[v] = value;
}

/* Returns the value that stands for v where optional nodes are absent. */
static uint8_t behind_absent(const tl_grower *k, uint8_t v) {
  for (;;) {
    uint8_t n = k->rule->values[v].node;
    if (n == TL_RULE_NODES || !(k->skipped >> n & 1))
      return v;
    v = k->rule->match[n].operands[0].value;
  }
}

/* What was made for one attempt at a node. */
typedef struct attempt {
  const tl_pattern_node *p;
  uint32_t index; /* of the pattern node */
  tl_slots slots;
  uint32_t slot_of[TL_MOST_OPERANDS]; /* by operand of the pattern: its first slot */
  tl_value_id made[TL_MOST_OPERANDS];
  uint32_t n_made;
  uint64_t bound;
  uint32_t named;
  tl_attr attrs[TL_MOST_OPERANDS];
  uint32_t n_attrs;
} attempt;

/* Makes one value for a slot. */
static bool make(tl_grower *k, attempt *a, const tl_want *want) {
  tl_value_id v = tl_choose_operand(k, &a->slots, want);
  a->slots.at[want->slot] = v;
  if (v)
    a->made[a->n_made++] = v;
  return v != TL_NO_VALUE;
}

static bool make_rest(tl_grower *k, attempt *a, const tl_pattern_operand *o, uint32_t first,
                      uint32_t attempt_number) {
  uint8_t v = o->value;
  tl_sv name = k->rule->values[v].name;
  char text[64];
  snprintf(text, sizeof text, "%.*s", TL_SV_ARG(name));
  for (uint32_t i = 0; i < k->n_rest[v]; i++) {
    tl_want want = {.slot = first + i, .value = v, .name = text};
    tl_roll_begin(k, TL_GENE_VALUE + v, attempt_number * TL_MOST_REST + i);
    if (!make(k, a, &want))
      return false;
  }
  return true;
}

/* Makes or finds what operand i of the pattern stands for. */
static bool settle(tl_grower *k, attempt *a, uint8_t i, uint32_t attempt_number) {
  const tl_pattern_operand *o = &a->p->operands[i];
  uint32_t slot = a->slot_of[i];
  if (o->kind == TL_PATTERN_ABSENT)
    return true;
  if (o->kind == TL_PATTERN_REST)
    return make_rest(k, a, o, slot, attempt_number);
  if (o->kind == TL_PATTERN_NUMBER) {
    tl_want want = {.slot = slot,
                    .value = TL_RULE_VALUES,
                    .constant = true,
                    .splat = true,
                    .number = o->number,
                    .name = "number"};
    tl_roll_begin(k, TL_GENE_NUMBERS + a->index, attempt_number * TL_MOST_OPERANDS + i);
    return make(k, a, &want);
  }
  uint8_t v = behind_absent(k, o->value);
  if (is_bound(k, v)) {
    a->slots.at[slot] = k->values[v];
    return true;
  }
  tl_roll_begin(k, TL_GENE_VALUE + v, attempt_number);
  if (o->kind == TL_PATTERN_MAYBE && tl_chance(k, 40)) {
    bind(k, v, TL_NO_VALUE);
    return true;
  }
  char text[64];
  snprintf(text, sizeof text, "%.*s", TL_SV_ARG(k->rule->values[v].name));
  tl_want want = {
      .slot = slot, .value = v, .constant = o->kind == TL_PATTERN_CONSTANT, .name = text};
  if (!make(k, a, &want))
    return false;
  bind(k, v, a->slots.at[slot]);
  return true;
}

/* Gives each operand of the pattern its slot; lists get their lengths. */
static bool lay_out(tl_grower *k, attempt *a) {
  uint32_t slot = 0;
  for (uint8_t i = 0; i < a->p->n_operands; i++) {
    const tl_pattern_operand *o = &a->p->operands[i];
    a->slot_of[i] = slot;
    if (o->kind == TL_PATTERN_REST) {
      tl_roll_begin(k, TL_GENE_VALUE + o->value, 1000);
      k->n_rest[o->value] = (uint32_t)tl_roll(k, TL_MOST_REST + 1);
    }
    slot += o->kind == TL_PATTERN_REST ? k->n_rest[o->value] : 1;
    if (slot > TL_MOST_OPERANDS)
      return false;
  }
  a->slots.n = slot;
  return true;
}

/* Operands in the order in which they are settled: those that are there, then free ones, then
 * constants, which often have to suit the others. */
static int order_of(const tl_grower *k, const tl_pattern_operand *o) {
  if (o->kind == TL_PATTERN_NUMBER)
    return 3;
  if (o->kind == TL_PATTERN_CONSTANT || o->kind == TL_PATTERN_VALUE)
    return is_bound(k, behind_absent(k, o->value)) ? 0 : o->kind == TL_PATTERN_VALUE ? 1 : 2;
  return 1;
}

static bool choose_operands(tl_grower *k, attempt *a, uint32_t attempt_number) {
  int orders[TL_MOST_OPERANDS];
  if (a->p->n_operands > TL_MOST_OPERANDS || !lay_out(k, a))
    return false;
  for (uint8_t i = 0; i < a->p->n_operands; i++)
    orders[i] = order_of(k, &a->p->operands[i]);
  for (int turn = 0; turn <= 3; turn++)
    for (uint8_t i = 0; i < a->p->n_operands; i++)
      if (orders[i] == turn && !settle(k, a, i, attempt_number))
        return false;
  return true;
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Returns the value of an expression of the pattern, which may use names that are captured. */
static tl_rv value_of(tl_grower *k, const tl_expr *e) {
  tl_match match = {.set = k->soil->set, .rule = k->rule, .m = k->m, .scratch = k->soil->scratch};
  match.named = k->named;
  for (uint8_t i = 0; i < k->rule->n_names; i++)
    if (k->named >> i & 1)
      match.names[i] = tl_rv_of_attr(&k->names[i]);
  return tl_rule_eval(&match, e);
}

static void push(attempt *a, tl_attr attr) {
  if (attr.kind != TL_ATTR_NONE && a->n_attrs < TL_MOST_OPERANDS)
    a->attrs[a->n_attrs++] = attr;
}

/* Settles an attribute that the pattern mentions. */
static void settle_attr(tl_grower *k, attempt *a, const tl_pattern_attr *p) {
  const tl_op_attr *row = a->slots.row ? tl_op_attr_find(a->slots.row, p->name) : NULL;
  tl_attr attr = {.name = p->name, .kind = TL_ATTR_NONE};
  if (!p->captures) {
    tl_rv v = value_of(k, p->expr);
    push(a, tl_rule_attr(k->m, p->name, row ? (tl_attr_kind)row->value.kind : TL_ATTR_NONE, v));
    return;
  }
  if (k->named >> p->index & 1) {
    attr = k->names[p->index];
    attr.name = p->name;
  } else if (row) {
    attr = tl_choose_attr(k, &a->slots, row, UINT32_C(1) << p->index);
    k->named |= UINT32_C(1) << p->index;
    k->names[p->index] = attr;
  }
  push(a, attr);
}

static bool is_mentioned(const tl_pattern_node *p, tl_symbol name) {
  for (uint8_t i = 0; i < p->n_attrs; i++)
    if (p->attrs[i].name == name)
      return true;
  return false;
}

static void choose_attrs(tl_grower *k, attempt *a, uint32_t attempt_number) {
  tl_roll_begin(k, TL_GENE_ATTRS + a->index, attempt_number);
  bool plain = tl_chance(k, 40);
  for (uint8_t i = 0; i < a->p->n_attrs; i++)
    settle_attr(k, a, &a->p->attrs[i]);
  for (uint8_t i = 0; a->slots.row && i < a->slots.row->n_attrs; i++) {
    const tl_op_attr *row = &a->slots.row->attrs[i];
    if (!is_mentioned(a->p, row->value.name) &&
        (row->required || (a->p->open && !plain && tl_chance(k, 50))))
      push(a, tl_choose_attr(k, &a->slots, row, 0));
  }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Takes back what an attempt has made. */
static void take_back(tl_grower *k, const attempt *a, tl_node_id n) {
  if (n)
    tl_node_erase(k->m, n);
  for (uint32_t i = a->n_made; i > 0; i--) {
    if (tl_value_get(k->m, a->made[i - 1])->kind == TL_VALUE_CONSTANT)
      tl_graph_erase_constant(k->m, a->made[i - 1]);
    else
      tl_graph_erase_input(k->m, a->made[i - 1]);
  }
  k->bound = a->bound;
  k->named = a->named;
}

/* Returns true for results that are known well enough, and small. */
static bool results_suit(const tl_grower *k, tl_node_id n) {
  for (uint32_t r = 0; r < tl_node_get(k->m, n)->n_results; r++) {
    tl_type_id type = tl_value_type(k->m, tl_result(k->m, n, r));
    uint64_t elements = 0;
    if (tl_type_get(k->m, type)->kind == TL_KIND_UNKNOWN)
      return !tl_op_row(tl_node_get(k->m, n)->op);
    if (tl_type_is_static(k->m, type) &&
        (!tl_type_elements(k->m, type, &elements) || elements > MOST_ELEMENTS))
      return false;
  }
  return true;
}

static tl_node_id add_node(tl_grower *k, const attempt *a, tl_op_id op) {
  tl_symbol results[8] = {0};
  const tl_op *row = a->slots.row;
  uint32_t n_results = a->p->n_results;
  if (row && row->min_results > n_results)
    n_results = row->min_results < 8 ? row->min_results : 8;
  for (uint8_t i = 0; i < a->p->n_results; i++)
    if (a->p->results[i] != TL_RULE_VALUES)
      results[i] = tl_grower_name(k, k->rule->values[a->p->results[i]].name);
  uint32_t n = a->slots.n;
  while (n && !a->slots.at[n - 1])
    n--;
  tl_node_spec spec = {.op = op,
                       .operands = a->slots.at,
                       .n_operands = n,
                       .results = results,
                       .n_results = n_results,
                       .attrs = a->attrs,
                       .n_attrs = a->n_attrs};
  if (n && results[0])
    spec.name = results[0];
  return tl_graph_append(k->m, tl_module_main(k->m)->id, &spec);
}

/* Two operands that commute stand in either order. */
static void exchange(tl_grower *k, attempt *a, tl_op_id op) {
  if (a->slots.n == 2 && tl_op_has_trait(op, TL_TRAIT_COMMUTATIVE) && tl_chance(k, 40)) {
    tl_value_id v = a->slots.at[0];
    a->slots.at[0] = a->slots.at[1];
    a->slots.at[1] = v;
  }
}

/* Tries once to make a pattern node; false if its operands do not suit it. */
static bool try_node(tl_grower *k, uint8_t index, uint32_t attempt_number) {
  attempt a = {.p = &k->rule->match[index], .index = index, .bound = k->bound, .named = k->named};
  tl_roll_begin(k, TL_GENE_NODE + index, 0);
  tl_op_id op = a.p->ops[tl_roll(k, a.p->n_ops)];
  a.slots.row = tl_op_row(op);
  tl_node_id n = TL_NO_NODE;
  bool good = choose_operands(k, &a, attempt_number);
  if (good) {
    choose_attrs(k, &a, attempt_number);
    tl_roll_begin(k, TL_GENE_NODE + index, 1);
    exchange(k, &a, op);
    n = add_node(k, &a, op);
    k->no_memory = k->no_memory || !n;
    good = n && tl_infer_module(k->m) == TL_OK && results_suit(k, n) &&
           tl_module_verify(k->m, TL_VERIFY_STRUCTURAL | TL_VERIFY_TYPED) == TL_OK;
  }
  if (!good) {
    take_back(k, &a, n);
    return false;
  }
  k->nodes[index] = n;
  for (uint8_t r = 0; r < a.p->n_results; r++)
    if (a.p->results[r] != TL_RULE_VALUES)
      bind(k, a.p->results[r], tl_result(k->m, n, r));
  return true;
}

static bool make_node(tl_grower *k, uint8_t index) {
  const tl_pattern_node *p = &k->rule->match[index];
  tl_roll_begin(k, TL_GENE_NODE + index, 2);
  if (p->maybe && tl_chance(k, 50)) {
    k->skipped |= UINT64_C(1) << index;
    return true;
  }
  for (uint32_t i = 0; i < MOST_TRIES && !k->no_memory; i++)
    if (try_node(k, index, i))
      return true;
  return false;
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* Adds a node of one of the ops that `feeds` asks for behind a value, and the next ones behind
 * that; ops with several operands get the value for each. Returns the last result, TL_NO_VALUE when
 * one of them does not come out. */
static tl_value_id feed(tl_grower *k, tl_value_id v, const tl_expr *call) {
  for (uint16_t i = 1; i < call->n && v; i++) {
    if (call->args[i]->kind != TL_EXPR_STRING)
      return TL_NO_VALUE;
    tl_op_id op = tl_op_find(0, call->args[i]->u.s);
    const tl_op *row = op == UINT32_MAX ? NULL : tl_op_row(op);
    tl_value_id operands[4] = {v, v, v, v};
    tl_symbol name = tl_grower_name(k, TL_SV("user"));
    if (!row || row->min_operands > 4)
      return TL_NO_VALUE;
    tl_node_spec spec = {.op = op,
                         .operands = operands,
                         .n_operands = row->min_operands,
                         .results = &name,
                         .n_results = 1};
    tl_node_id n = tl_graph_append(k->m, tl_module_main(k->m)->id, &spec);
    if (!n || tl_infer_module(k->m) != TL_OK) {
      if (n)
        tl_node_erase(k->m, n);
      return TL_NO_VALUE;
    }
    v = tl_result(k->m, n, 0);
  }
  return v;
}

/* Adds a node behind a value, whose result is wanted. */
static tl_value_id look_at(tl_grower *k, tl_value_id v) {
  tl_symbol name = tl_grower_name(k, TL_SV("out"));
  tl_node_spec spec = {
      .op = TL_OP_Identity, .operands = &v, .n_operands = 1, .results = &name, .n_results = 1};
  tl_node_id n = tl_graph_append(k->m, tl_module_main(k->m)->id, &spec);
  k->no_memory = k->no_memory || !n;
  return n ? tl_result(k->m, n, 0) : v;
}

/* Returns true for a result that the graph may give away: the replacement makes it again, or its
 * node stays. */
static bool may_leave(const tl_grower *k, uint8_t v) {
  const tl_rule_value *value = &k->rule->values[v];
  return value->built != TL_RULE_NODES || k->rule->match[value->node].shared;
}

/* Results that nobody uses are outputs, others sometimes. A replacement that is an operand of the
 * pattern cannot be an output under its name, so a node stands behind it. */
static bool set_outputs(tl_grower *k) {
  tl_value_id outputs[TL_RULE_VALUES];
  uint32_t n = 0;
  for (uint8_t v = 0; v < k->rule->n_values; v++) {
    uint8_t node = k->rule->values[v].node;
    if (node == TL_RULE_NODES || k->skipped >> node & 1 || !is_bound(k, v) || !may_leave(k, v))
      continue;
    tl_roll_begin(k, TL_GENE_WORLD, 10u + v);
    bool free = tl_value_get(k->m, k->values[v])->n_uses == 0;
    const tl_hint *user = tl_pick_hint(k, TL_HINT_USER, v, 0);
    tl_value_id fed = user && tl_chance(k, 80) ? feed(k, k->values[v], user->list) : TL_NO_VALUE;
    if (fed) {
      outputs[n++] = fed;
      continue;
    }
    if (free || tl_chance(k, 30))
      outputs[n++] = tl_chance(k, 60) ? look_at(k, k->values[v]) : k->values[v];
  }
  return tl_graph_set_outputs(k->m, tl_module_main(k->m)->id, outputs, n) == TL_OK && n;
}

tl_status tl_sample_make(const tl_soil *soil, const tl_genes *genes, tl_sample *out) {
  tl_grower *k = tl_arena_calloc(soil->scratch, 1, sizeof *k);
  *out = (tl_sample){.unfit = TL_RULE_NODES};
  tl_module *m = k ? tl_module_fork(soil->empty, soil->quiet) : NULL;
  if (!m)
    return TL_NO_MEMORY;
  k->soil = soil;
  k->rule = soil->rule;
  k->genes = genes;
  k->m = m;
  tl_choose_world(k);
  for (uint8_t i = 0; i < k->rule->n_match && out->unfit == TL_RULE_NODES; i++)
    if (!make_node(k, i))
      out->unfit = i;
  bool whole = out->unfit == TL_RULE_NODES && set_outputs(k) && tl_infer_module(m) == TL_OK &&
               tl_module_verify(m, TL_VERIFY_ALL) == TL_OK;
  if (whole) {
    out->m = m;
    out->root = k->nodes[k->rule->n_match - 1];
    return TL_OK;
  }
  if (out->unfit == TL_RULE_NODES)
    out->unfit = (uint8_t)(k->rule->n_match - 1);
  tl_module_destroy(m);
  return k->no_memory ? TL_NO_MEMORY : TL_OK;
}
