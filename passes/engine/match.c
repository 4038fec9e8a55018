/* SPDX-License-Identifier: Apache-2.0 */
/* The matcher: walks a rule's steps from the root with backtracking. It backtracks over orders of
 * commutative operands, optional nodes and users of a value. */
#include "ir/ops_gen.h"
#include "passes/engine/match.h"
#include "passes/engine/rule_values.h"
#include "passes/engine/scope.h"
#include "passes/engine/why.h"
#include "support/assert.h"

/* Upper bounds on attempts per root, and on users of values that it looks at: they keep hostile
 * graphs from exponential time, and values with thousands of readers from time that grows with
 * their square. Sixteen readers may be tried in pairs. */
enum { MOST_BINDINGS = 100000, MOST_USERS = 256 };

static tl_sv node_name(tl_match *match, tl_node_id n) { return tl_node_where(match->m, n).node; }

static bool is_bound(const tl_match *match, uint8_t v) { return match->bound >> v & 1; }

/* State before a choice, restored when the choice fails. */
typedef struct saved {
  uint64_t bound;
  uint32_t named;
  uint64_t skipped;
  tl_excuse excuse;
  tl_node_id nodes[TL_RULE_NODES];
} saved;

/* Values, names and lists need no copy: a cleared bit makes them unbound again. Of the nodes only
 * those of the pattern are copied. */
static void save(const tl_match *match, saved *s) {
  s->bound = match->bound;
  s->named = match->named;
  s->skipped = match->skipped;
  s->excuse = match->excuse;
  for (uint8_t i = 0; i < match->rule->n_match; i++)
    s->nodes[i] = match->nodes[i];
}

static void restore(tl_match *match, const saved *s) {
  match->bound = s->bound;
  match->named = s->named;
  match->skipped = s->skipped;
  match->excuse = s->excuse;
  memcpy(match->nodes, s->nodes, match->rule->n_match * sizeof *s->nodes);
}

/* Lets node n differ from the rule in one number or attribute, if the caller asks for that. */
static bool is_excused(tl_match *match, tl_excuse e) {
  if (!match->excuses || match->excuse.node)
    return false;
  match->excuse = e;
  return true;
}

/* Binds value v, or compares with its earlier binding. */
static bool bind_value(tl_match *match, uint8_t v, tl_value_id value) {
  if (is_bound(match, v))
    return match->values[v] == value;
  match->bound |= UINT64_C(1) << v;
  match->values[v] = value;
  return true;
}

/* ---- constants ------------------------------------------------------------------------------ */

enum { LONGEST_SPLAT = 4096 }; /* upper bound on elements compared with one number */

/* Returns true if every element of constant v equals `wanted`, within the tolerance if tolerant. */
static bool is_number(const tl_match *match, tl_value_id v, double wanted, bool tolerant) {
  const tl_tensor *t = tl_value_constant(match->m, v);
  if (!t || t->kind == TL_SOURCE_STRINGS)
    return false;
  uint64_t n = tl_tensor_elements(match->m, t);
  if (n == 0 || n > LONGEST_SPLAT)
    return false;
  double tolerance = t->dtype == TL_DTYPE_F16 ? TL_RULE_TOLERANCE_F16 : TL_RULE_TOLERANCE;
  for (uint64_t i = 0; i < n; i++) {
    double e;
    int64_t integer;
    if (tl_tensor_int_at(match->m, t, i, &integer))
      e = (double)integer;
    else if (!tl_tensor_float_at(match->m, t, i, &e))
      return false;
    double error = e > wanted ? e - wanted : wanted - e;
    double size = wanted < 0 ? -wanted : wanted;
    /* Equal, within the tolerance, equal after rounding to f32, or both NaN. */
    if (e != wanted && !(tolerant && error <= tolerance * size) &&
        !(t->dtype == TL_DTYPE_F32 && (float)wanted == (float)e) && !(e != e && wanted != wanted))
      return false;
  }
  return true;
}

/* Returns true if a constant of several elements may broadcast the other operand; unknown sizes
 * count as yes. */
static bool may_stretch(const tl_match *match, tl_value_id constant, tl_node_id n) {
  const tl_tensor *t = tl_value_constant(match->m, constant);
  if (tl_tensor_elements(match->m, t) == 1)
    return false;
  for (uint32_t i = 0; i < tl_node_get(match->m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(match->m, n, i);
    if (v && !tl_type_is_static(match->m, tl_value_type(match->m, v)))
      return true;
  }
  return false;
}

/* ---- operands ------------------------------------------------------------------------------- */

/* Notes that the match crosses into another graph. */
static TL_NOINLINE void note_partition(tl_match *match, tl_node_id p) {
  if (!match->miss)
    return;
  uint32_t bound = 0;
  for (uint8_t i = 0; i < match->rule->n_match; i++)
    bound += match->nodes[i] != TL_NO_NODE;
  tl_sv where = node_name(match, p), root = node_name(match, match->root);
  tl_match_note(match, bound, "PARTITION", "`%.*s` is in another graph than `%.*s`",
                TL_SV_ARG(where), TL_SV_ARG(root));
}

static bool has_op(const tl_pattern_node *p, tl_op_id op) {
  for (uint8_t i = 0; i < p->n_ops; i++)
    if (p->ops[i] == op)
      return true;
  return false;
}

/* Binds value v of the pattern, made by pattern node k, to an actual value. The producer is matched
 * later, when all operands of its user are bound; another op ends the attempt here, unless somebody
 * asks for the reason. */
static bool bind_made(tl_match *match, uint8_t v, uint8_t k, tl_value_id value) {
  tl_node_id p = tl_value_producer(match->m, value);
  if (!p)
    return false;
  if (!match->miss && !has_op(&match->rule->match[k], tl_node_get(match->m, p)->op))
    return false;
  if (tl_node_get(match->m, p)->graph != tl_node_get(match->m, match->root)->graph) {
    note_partition(match, p);
    return false;
  }
  if (tl_value_get(match->m, value)->index != match->rule->values[v].result)
    return false;
  if (match->nodes[k] && match->nodes[k] != p)
    return false;
  if ((match->rule->match[k].twin || match->miss) && !match->nodes[k])
    for (uint8_t i = 0; i < match->rule->n_match; i++)
      if (match->nodes[i] == p) /* two pattern nodes never match one node */
        return false;
  match->nodes[k] = p;
  return bind_value(match, v, value);
}

/* Binds a value that the pattern produces; the first `skips` optional nodes on the way are
 * absent. */
static bool bind_inner(tl_match *match, uint8_t v, tl_value_id value, unsigned skips) {
  for (;; skips--) {
    uint8_t k = match->rule->values[v].node;
    if (k == TL_RULE_NODES)
      return skips == 0 && bind_value(match, v, value);
    bool missing = match->skipped >> k & 1;
    if (skips == 0 && !missing)
      return bind_made(match, v, k, value);
    if (missing ? skips != 0 : match->nodes[k] != TL_NO_NODE)
      return false;
    if (missing)
      return match->values[v] == value;
    match->skipped |= UINT64_C(1) << k;
    if (!bind_value(match, v, value))
      return false;
    v = match->rule->match[k].operands[0].value;
  }
}

/* Binds a number of the pattern. A constant with another number may be the one excused difference;
 * anything else is another pattern. */
static TL_NOINLINE bool bind_number(tl_match *match, const tl_pattern_operand *o, tl_node_id n,
                                    tl_value_id value) {
  return is_number(match, value, o->number, o->tolerant) ||
         (tl_value_constant(match->m, value) &&
          is_excused(match, (tl_excuse){.node = n, .operand = o, .value = value}));
}

/* Binds one operand of node n; `skips` as in bind_inner. */
static bool bind_operand(tl_match *match, const tl_pattern_operand *o, tl_node_id n,
                         tl_value_id value, unsigned skips) {
  switch ((tl_pattern_operand_kind)o->kind) {
  case TL_PATTERN_ABSENT: return value == TL_NO_VALUE;
  case TL_PATTERN_NUMBER: return bind_number(match, o, n, value);
  case TL_PATTERN_MAYBE: return bind_value(match, o->value, value);
  case TL_PATTERN_CONSTANT:
    return value && tl_value_constant(match->m, value) && bind_value(match, o->value, value);
  case TL_PATTERN_VALUE: return value && bind_inner(match, o->value, value, skips);
  default: return false;
  }
}

/* Counts the optional nodes directly above an operand; there is one more choice than that. */
static unsigned count_optional(const tl_match *match, const tl_pattern_operand *o) {
  unsigned n = 0;
  if (o->kind != TL_PATTERN_VALUE)
    return 0;
  for (uint8_t v = o->value; !is_bound(match, v); n++) {
    uint8_t k = match->rule->values[v].node;
    if (k == TL_RULE_NODES || !match->rule->match[k].maybe || match->nodes[k])
      break;
    v = match->rule->match[k].operands[0].value;
  }
  return n;
}

/* Binds a list of operands: `count` of node n from slot `from` on. */
static bool bind_rest(tl_match *match, const tl_pattern_operand *o, tl_node_id n, uint32_t from,
                      uint32_t count) {
  if (is_bound(match, o->value))
    return false;
  match->bound |= UINT64_C(1) << o->value;
  match->values[o->value] = TL_NO_VALUE;
  match->rest_node[o->value] = n;
  match->rest_from[o->value] = from;
  match->rest_n[o->value] = count;
  return true;
}

/* Returns the number of operands without absent ones at the end. */
static uint32_t count_operands(const tl_match *match, tl_node_id n) {
  uint32_t actual = tl_node_get(match->m, n)->n_operands;
  while (actual && !tl_operand(match->m, n, actual - 1))
    actual--;
  return actual;
}

static bool has_two_lists(const tl_pattern_node *p) {
  return p->n_operands == 3 && p->operands[0].kind == TL_PATTERN_REST &&
         p->operands[2].kind == TL_PATTERN_REST;
}

/* Binds Op(%a..., %x, %b...) with %x at operand number `choice`; absent operands at the end belong
 * to no list. */
static bool bind_between(tl_match *match, const tl_pattern_node *p, tl_node_id n, unsigned choice) {
  uint32_t actual = count_operands(match, n);
  return choice < actual && bind_rest(match, &p->operands[0], n, 0, choice) &&
         bind_operand(match, &p->operands[1], n, tl_operand(match->m, n, choice), 0) &&
         bind_rest(match, &p->operands[2], n, choice + 1, actual - choice - 1);
}

/* Binds all operands of node n. swap exchanges the first two; choice encodes how many optional
 * nodes are absent above each operand, as digits of a mixed-radix number. */
static bool bind_operands(tl_match *match, const tl_pattern_node *p, tl_node_id n, bool swap,
                          unsigned choice) {
  uint32_t actual = count_operands(match, n), slot = 0;
  if (has_two_lists(p))
    return bind_between(match, p, n, choice);
  for (uint8_t i = 0; i < p->n_operands; i++) {
    const tl_pattern_operand *o = &p->operands[i];
    if (o->kind == TL_PATTERN_REST) {
      uint32_t behind = p->n_operands - i - 1u;
      if (actual < slot + behind || !bind_rest(match, o, n, slot, actual - slot - behind))
        return false;
      slot = actual - behind;
      continue;
    }
    uint32_t at = swap && slot < 2 ? 1 - slot : slot;
    unsigned skips = 0;
    if (p->chooses) {
      unsigned ways = count_optional(match, o) + 1;
      skips = choice % ways;
      choice /= ways;
    }
    if (!bind_operand(match, o, n, tl_operand(match->m, n, at), skips))
      return false;
    if (o->kind == TL_PATTERN_NUMBER && may_stretch(match, tl_operand(match->m, n, at), n))
      return false;
    slot++;
  }
  return slot >= actual;
}

/* ---- attributes ----------------------------------------------------------------------------- */

/* Compares an attribute with a number, a list or a word of a rule. Floats are also equal if they
 * are equal in f32, the type of attributes. */
static bool same_rv(tl_rv a, tl_rv b) {
  if (a.kind == TL_RV_FLOAT && b.kind == TL_RV_INT)
    return a.f == (double)b.i;
  if (a.kind == TL_RV_FLOAT && b.kind == TL_RV_FLOAT)
    return a.f == b.f || (float)a.f == (float)b.f;
  if (a.kind == TL_RV_INTS && b.kind == TL_RV_INTS)
    return a.is.n == b.is.n && memcmp(a.is.at, b.is.at, a.is.n * sizeof *a.is.at) == 0;
  bool numbers = (a.kind == TL_RV_INT || a.kind == TL_RV_DTYPE || a.kind == TL_RV_BOOL) &&
                 (b.kind == TL_RV_INT || b.kind == TL_RV_DTYPE || b.kind == TL_RV_BOOL);
  return numbers ? a.i == b.i : a.kind == b.kind && a.kind == TL_RV_STRING && a.s == b.s;
}

/* Turns the ONNX number of a dtype, which `to` of Cast and the like hold, into the dtype, if the
 * rule compares with one. */
static tl_rv as_dtype(tl_rv v, tl_rv like) {
  if (like.kind == TL_RV_DTYPE && v.kind == TL_RV_INT)
    return (tl_rv){.kind = TL_RV_DTYPE, .i = tl_dtype_from_onnx(v.i)};
  return v;
}

/* Matches one attribute of the pattern with node n, or captures it. */
static bool match_attr(tl_match *match, const tl_pattern_attr *p, tl_node_id n, uint32_t depth) {
  const tl_attr *a = tl_node_attr_or_default(match->m, n, p->name);
  tl_rv v = a && a->kind != TL_ATTR_STRINGS ? tl_rv_of_attr(a) : (tl_rv){0};
  tl_excuse differs = {.node = n, .attr = p, .name = p->name};
  if (p->captures) {
    if (match->named >> p->index & 1)
      return same_rv(match->names[p->index], v);
    match->named |= 1u << p->index;
    match->names[p->index] = v; /* NONE if the node does not set it: conditions on it fail */
    return true;
  }
  tl_rv wanted = tl_rule_eval(match, p->expr);
  if (same_rv(as_dtype(v, wanted), wanted) || is_excused(match, differs))
    return true;
  if (!match->miss)
    return false;
  tl_rule_note_attr(match, depth, &differs);
  return false;
}

static bool is_mentioned(const tl_pattern_node *p, tl_symbol name) {
  for (uint8_t i = 0; i < p->n_attrs; i++)
    if (p->attrs[i].name == name)
      return true;
  return false;
}

/* Returns true for an attribute that GE gives nodes of any op, beside what the op declares. */
static bool is_mark(const tl_module *m, tl_symbol name) {
  tl_sv key = tl_sym(m, name);
  return tl_sv_starts_with(key, "_") || tl_sv_is(key, "original_type") ||
         tl_sv_is(key, "is_input_const") || tl_sv_is(key, "pass_name");
}

/* Returns true if attributes that a closed pattern does not mention have their defaults. NPU ops
 * carry marks such as original_type that no prototype lists; they are ignored. Of an op without a
 * prototype marks are told by their names. */
static bool has_defaults(tl_match *match, const tl_pattern_node *p, tl_node_id n, uint32_t depth) {
  const tl_node *node = tl_node_get(match->m, n);
  const tl_op *row = tl_op_row(node->op);
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    if (is_mentioned(p, a->name))
      continue;
    const tl_op_attr *known = row ? tl_op_attr_find(row, a->name) : NULL;
    if (!known && row && row->domain_symbol == TL_SYM_npu)
      continue;
    if (!row && tl_op_domain_symbol(match->m, node->op) == TL_SYM_npu && is_mark(match->m, a->name))
      continue;
    if (known && known->has_default && tl_attr_equal(match->m, a, &known->value))
      continue;
    tl_excuse differs = {.node = n, .name = a->name};
    if (is_excused(match, differs))
      continue;
    tl_rule_note_attr(match, depth, &differs);
    return false;
  }
  return true;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static bool match_steps(tl_match *match, uint32_t step);

/* Matches op, results and attributes, which do not depend on the order of operands. */
static bool match_head(tl_match *match, const tl_pattern_node *p, tl_node_id n, uint32_t depth) {
  const tl_node *node = tl_node_get(match->m, n);
  if (!has_op(p, node->op)) {
    if (!match->miss)
      return false;
    tl_sv wanted = tl_op_name(match->m, p->ops[0]), found = tl_op_name(match->m, node->op);
    tl_sv where = node_name(match, n);
    tl_match_note(match, depth, "OP", "`%.*s` is %.*s, not %.*s", TL_SV_ARG(where),
                  TL_SV_ARG(found), TL_SV_ARG(wanted));
    return false;
  }
  for (uint32_t r = 0; r < node->n_results; r++) {
    tl_value_id v = node->results + r;
    bool named = r < p->n_results && p->results[r] != TL_RULE_VALUES;
    if (!named && r >= p->n_results && tl_value_get(match->m, v)->n_uses) {
      tl_sv where = node_name(match, n);
      tl_match_note(match, depth, "MULTI_CONSUMER", "result %u of `%.*s` is used", r,
                    TL_SV_ARG(where));
      return false;
    }
    if (named && !bind_value(match, p->results[r], v))
      return false;
  }
  if (p->n_results > node->n_results && match->rule->kind != TL_RULE_DEFINE)
    return false; /* a definition may have more results than the node */
  for (uint8_t i = 0; i < p->n_attrs; i++)
    if (!match_attr(match, &p->attrs[i], n, depth))
      return false;
  return p->open || has_defaults(match, p, n, depth);
}

/* Returns the number of combinations of absent optional nodes. */
static unsigned count_choices(const tl_match *match, const tl_pattern_node *p) {
  unsigned n = 1;
  for (uint8_t i = 0; p->chooses && i < p->n_operands; i++)
    n *= count_optional(match, &p->operands[i]) + 1;
  return n;
}

/* Notes why the operands of node n do not fit: the first one with another producer, if there is
 * one. */
static void note_operands(tl_match *match, const tl_pattern_node *p, tl_node_id n, uint32_t depth) {
  if (!match->miss)
    return;
  tl_sv where = node_name(match, n);
  for (uint8_t i = 0; i < p->n_operands; i++) {
    const tl_pattern_operand *o = &p->operands[i];
    tl_value_id v = tl_operand(match->m, n, i);
    if (o->kind == TL_PATTERN_VALUE && v && match->rule->values[o->value].node != TL_RULE_NODES) {
      const tl_pattern_node *wanted = &match->rule->match[match->rule->values[o->value].node];
      tl_node_id made = tl_value_producer(match->m, v);
      if (!made || !has_op(wanted, tl_node_get(match->m, made)->op)) {
        tl_sv name = tl_op_name(match->m, wanted->ops[0]);
        tl_sv found = made ? tl_op_name(match->m, tl_node_get(match->m, made)->op)
                      : tl_value_constant(match->m, v) ? TL_SV("a constant")
                                                       : TL_SV("an input");
        tl_match_note(match, depth, "OP", "operand %u of `%.*s` is produced by %.*s, not by %.*s",
                      i, TL_SV_ARG(where), TL_SV_ARG(found), TL_SV_ARG(name));
        return;
      }
    }
  }
  tl_match_note(match, depth, "OPERANDS", "the operands of `%.*s` do not fit", TL_SV_ARG(where));
}

/* Matches node n with pattern node k and then the remaining steps, trying all orders and
 * choices. */
static bool match_node(tl_match *match, uint32_t step, uint8_t k, tl_node_id n) {
  const tl_pattern_node *p = &match->rule->match[k];
  if (++match->bindings > MOST_BINDINGS || !match_head(match, p, n, step))
    return false;
  bool commutes = p->n_operands == 2 && tl_node_get(match->m, n)->n_operands == 2 &&
                  tl_op_has_trait(tl_node_get(match->m, n)->op, TL_TRAIT_COMMUTATIVE) &&
                  p->operands[0].kind != TL_PATTERN_REST && p->operands[1].kind != TL_PATTERN_REST;
  unsigned choices = has_two_lists(p) ? count_operands(match, n) : count_choices(match, p);
  /* Nothing to choose, nothing to save: the caller restores its own state. */
  if (choices == 1 && !commutes) {
    if (bind_operands(match, p, n, false, 0))
      return match_steps(match, step + 1);
    note_operands(match, p, n, step);
    return false;
  }
  saved before;
  save(match, &before);
  bool fitted = false;
  for (unsigned swap = 0; swap <= (unsigned)commutes; swap++)
    for (unsigned choice = 0; choice < choices; choice++) {
      if (bind_operands(match, p, n, swap, choice)) {
        fitted = true;
        if (match_steps(match, step + 1))
          return true;
      }
      restore(match, &before);
    }
  if (!fitted)
    note_operands(match, p, n, step);
  return false;
}

/* Tries all users of a bound value that have an op of the pattern node. */
static bool seek_user(tl_match *match, uint32_t step, const tl_rule_step *s) {
  const tl_pattern_node *p = &match->rule->match[s->node];
  saved before;
  save(match, &before);
  tl_value_id v = match->values[s->seek];
  if (!v)
    return false;
  TL_FOR_USES(match->m, v, u) {
    tl_node_id user = tl_use_get(match->m, u)->user;
    if (++match->bindings > MOST_BINDINGS || ++match->users > MOST_USERS)
      return false;
    if (!has_op(p, tl_node_get(match->m, user)->op) ||
        tl_node_get(match->m, user)->graph != tl_node_get(match->m, match->root)->graph)
      continue;
    bool taken = false;
    for (uint8_t i = 0; i < match->rule->n_match; i++)
      taken = taken || match->nodes[i] == user;
    if (taken)
      continue;
    match->nodes[s->node] = user;
    if (match_node(match, step, s->node, user))
      return true;
    restore(match, &before);
  }
  return false;
}

static void compute_name(tl_match *match, uint32_t let) {
  uint8_t name = match->rule->let_index[let];
  match->names[name] = tl_rule_eval(match, match->rule->lets[let]);
  match->named |= 1u << name;
}

/* Cheap conditions first: most attempts end at one. */
static bool conditions_hold_in_order(tl_match *match) {
  const tl_rule *r = match->rule;
  for (uint32_t i = 0; i < (uint32_t)r->n_where + r->n_lets; i++) {
    uint8_t next = r->order[i];
    if (next >= r->n_where)
      compute_name(match, next - r->n_where);
    else if (!tl_rv_is_true(tl_rule_eval(match, r->where[next])))
      return false;
  }
  return true;
}

/* Computes the names of `let` and evaluates all conditions; as written for who asks why. */
static bool conditions_hold(tl_match *match, uint32_t depth) {
  const tl_rule *r = match->rule;
  if (!match->miss && r->order)
    return conditions_hold_in_order(match);
  for (uint8_t i = 0; i < r->n_lets; i++)
    compute_name(match, i);
  for (uint8_t i = 0; i < r->n_where; i++) {
    if (tl_rv_is_true(tl_rule_eval(match, r->where[i])))
      continue;
    tl_rule_note_condition(match, depth + i, r->where[i]);
    return false;
  }
  return true;
}

/* Matches the steps from number `step` on, then the conditions. The recursion is as deep as the
 * pattern has nodes. */
static bool match_steps(tl_match *match, uint32_t step) {
  if (step == match->rule->n_steps) {
    match->structural = !match->excuse.node;
    return conditions_hold(match, step);
  }
  const tl_rule_step *s = &match->rule->steps[step];
  TL_ASSERT(step < match->rule->n_steps && s->node < match->rule->n_match);
  TL_ASSERT(s->seek == TL_RULE_VALUES || s->seek < match->rule->n_values);
  if (s->seek != TL_RULE_VALUES && !match->nodes[s->node])
    return seek_user(match, step, s);
  if (match->skipped >> s->node & 1)
    return match_steps(match, step + 1);
  if (!match->nodes[s->node]) /* below an optional node that is absent */
    return match_steps(match, step + 1);
  return match_node(match, step, s->node, match->nodes[s->node]);
}

void tl_rule_note_difference(tl_match *match, tl_node_id root) {
  tl_miss *miss = match->miss;
  match->miss = NULL;
  match->excuses = true;
  bool fits = tl_rule_match(match, root) && match->excuse.node;
  match->excuses = false;
  match->miss = miss;
  if (fits && match->excuse.operand)
    tl_rule_note_number(match, match->rule->n_steps, &match->excuse);
  else if (fits)
    tl_rule_note_attr(match, match->rule->n_steps, &match->excuse);
}

bool tl_rule_match(tl_match *match, tl_node_id root) {
  const tl_rule *r = match->rule;
  match->root = root;
  match->bound = 0;
  match->named = 0;
  match->skipped = 0;
  match->bindings = 0;
  match->users = 0;
  match->excuse = (tl_excuse){0};
  memset(match->nodes, 0, r->n_match * sizeof *match->nodes);
  match->structural = false;
  match->nodes[r->n_match - 1] = root;
  return match_steps(match, 0);
}
