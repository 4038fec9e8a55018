/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the nodes of formulas by a maker (formula.h). */
#include "passes/engine/formula.h"

#include <math.h>

#include "passes/engine/rule_values.h"
#include "support/assert.h"

/* ---- which definition applies ---------------------------------------------------------------- */

/* Binds the names of a definition to the numbers given, and its values to what has been made. */
static tl_match bind(const tl_formula *f, const tl_rule *r, tl_arena *scratch) {
  tl_match match = {.set = f->set, .rule = r, .m = f->k->m, .scratch = scratch};
  for (uint8_t i = 0; i < r->n_names; i++)
    for (uint32_t k = 0; k < TL_FORMULA_NUMBERS && f->numbers[k].name; k++)
      if (tl_sv_is(r->names[i], f->numbers[k].name)) {
        match.names[i] = (tl_rv){.kind = TL_RV_FLOAT, .f = f->numbers[k].value};
        match.named |= UINT32_C(1) << i;
      }
  for (uint8_t v = 0; v < r->n_values; v++)
    if (f->made[v]) {
      match.values[v] = f->made[v];
      match.bound |= UINT64_C(1) << v;
    }
  return match;
}

/* Returns true if the conditions of a definition hold; they ask numbers only. */
static bool applies(const tl_formula *f, const tl_rule *r) {
  tl_match match = bind(f, r, &f->set->arena);
  for (uint8_t i = 0; i < r->n_where; i++)
    if (!tl_rv_is_true(tl_rule_eval(&match, r->where[i])))
      return false;
  return true;
}

static const tl_rule *find(const tl_formula *f) {
  for (uint32_t i = 0; i < f->set->rules.n; i++) {
    const tl_rule *r = f->set->rules.at[i];
    if (tl_sv_is(tl_sym(f->k->m, r->name), f->name) && applies(f, r))
      return r;
  }
  return NULL;
}

static void start(tl_formula *f) {
  f->rule = find(f);
  TL_ASSERT(f->rule && f->rule->match->n_operands <= TL_FORMULA_OPERANDS &&
            f->rule->match->n_results <= TL_FORMULA_RESULTS);
  if (!f->rule)
    f->k->clash = true; /* no formula has this name: tests of each pass would have found that */
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Returns true if all values that an expression asks about are there. */
static bool is_known(const tl_formula *f, const tl_expr *e) {
  if (e && e->kind == TL_EXPR_VALUE && !f->made[e->u.i])
    return false;
  for (uint16_t i = 0; e && i < e->n; i++)
    if (!is_known(f, e->args[i]))
      return false;
  return true;
}

/* Returns true if node p is not made yet and all that it needs is there. */
static bool is_due(const tl_formula *f, const tl_pattern_node *p) {
  for (uint8_t i = 0; i < p->n_results; i++)
    if (p->results[i] != TL_RULE_VALUES && f->made[p->results[i]])
      return false;
  for (uint8_t i = 0; i < p->n_operands; i++) {
    const tl_pattern_operand *o = &p->operands[i];
    bool there = o->kind == TL_PATTERN_NUMBER ? is_known(f, o->expr) && is_known(f, o->dtype_of)
                                              : f->made[o->value] != TL_NO_VALUE;
    if (!there)
      return false;
  }
  for (uint8_t i = 0; i < p->n_attrs; i++)
    if (!is_known(f, p->attrs[i].expr))
      return false;
  return true;
}

/* Returns the dtype of a constant: stated, computed, or that of the first operand of its node. */
static tl_dtype constant_dtype(const tl_formula *f, tl_match *match, const tl_pattern_node *p,
                               const tl_pattern_operand *o) {
  if (o->dtype)
    return (tl_dtype)o->dtype;
  if (o->dtype_of) {
    tl_rv v = tl_rule_eval(match, o->dtype_of);
    return v.kind == TL_RV_DTYPE ? (tl_dtype)v.i : TL_DTYPE_NONE;
  }
  for (uint8_t i = 0; i < p->n_operands; i++)
    if (p->operands[i].kind != TL_PATTERN_NUMBER)
      return tl_type_dtype(f->k->m, tl_value_type(f->k->m, f->made[p->operands[i].value]));
  return TL_DTYPE_NONE;
}

static tl_value_id make_constant(const tl_formula *f, tl_match *match, const tl_pattern_node *p,
                                 const tl_pattern_operand *o) {
  tl_module *m = f->k->m;
  tl_rv v = tl_rule_eval(match, o->expr);
  tl_tensor_id t = TL_NO_TENSOR;
  tl_dtype d = constant_dtype(f, match, p, o);
  if (v.kind == TL_RV_FLOAT && !tl_dtype_is_float(d)) { /* counts are given as numbers, too */
    TL_ASSERT(fabs(v.f) <= INT32_MAX && v.f == floor(v.f));
    v = (tl_rv){.kind = TL_RV_INT, .i = (int64_t)v.f};
  }
  bool fits = v.kind != TL_RV_NONE && tl_rv_tensor(m, match->scratch, v, d, &t);
  TL_ASSERT(fits);
  f->k->clash = f->k->clash || !fits;
  return tl_make_constant(f->k, t, "const");
}

/* Makes the constant of a statement %c = const 1. */
static void make_forward(tl_formula *f, const tl_pattern_node *p) {
  tl_match match = bind(f, f->rule, &f->set->arena);
  TL_ASSERT(p->operands[0].kind == TL_PATTERN_NUMBER);
  f->made[p->results[0]] = make_constant(f, &match, p, &p->operands[0]);
}

static void make_node(tl_formula *f, const tl_pattern_node *p) {
  enum { MOST = 16 };
  tl_module *m = f->k->m;
  tl_value_id operands[MOST];
  tl_attr attrs[MOST];
  tl_match match = bind(f, f->rule, &f->set->arena);
  TL_ASSERT(p->n_operands <= MOST && p->n_attrs <= MOST);
  for (uint8_t i = 0; i < p->n_operands; i++)
    operands[i] = p->operands[i].kind == TL_PATTERN_NUMBER
                      ? make_constant(f, &match, p, &p->operands[i])
                      : f->made[p->operands[i].value];
  const tl_op *row = tl_op_row(p->ops[0]);
  for (uint8_t i = 0; i < p->n_attrs; i++) {
    const tl_op_attr *known = row ? tl_op_attr_find(row, p->attrs[i].name) : NULL;
    attrs[i] = tl_rule_attr(m, p->attrs[i].name,
                            known ? (tl_attr_kind)known->value.kind : TL_ATTR_NONE,
                            tl_rule_eval(&match, p->attrs[i].expr));
    f->k->clash = f->k->clash || attrs[i].kind == TL_ATTR_NONE;
  }
  tl_node_spec spec = {.op = p->ops[0],
                       .operands = operands,
                       .n_operands = p->n_operands,
                       .attrs = attrs,
                       .n_attrs = p->n_attrs,
                       .n_results = p->n_results};
  tl_value_id first = tl_make_node(f->k, &spec);
  for (uint8_t i = 0; first && i < p->n_results; i++)
    if (p->results[i] != TL_RULE_VALUES)
      f->made[p->results[i]] = first + i;
}

/* ---- formulas -------------------------------------------------------------------------------- */

void tl_formula_make_early(tl_formula *f) {
  if (tl_maker_failed(f->k))
    return;
  if (!f->rule)
    start(f);
  const tl_rule *r = f->rule;
  for (uint8_t i = 0; r && i < r->match->n_operands; i++)
    f->made[r->match->operands[i].value] = f->in[i];
  for (uint8_t i = 0; r && i < r->n_build && !tl_maker_failed(f->k); i++)
    if (is_due(f, &r->build[i]))
      (r->build[i].forward ? make_forward : make_node)(f, &r->build[i]);
}

void tl_formula_make(tl_formula *f) {
  tl_formula_make_early(f);
  if (tl_maker_failed(f->k))
    return;
  for (uint8_t i = 0; i < f->rule->match->n_results; i++) {
    f->out[i] = f->made[f->rule->match->results[i]];
    TL_ASSERT(f->out[i]);
  }
}

tl_value_id tl_make_formula(tl_ruleset *set, tl_maker *k, const char *name, const tl_value_id *in,
                            uint32_t n) {
  tl_formula f = {.set = set, .k = k, .name = name};
  TL_ASSERT(n <= TL_FORMULA_OPERANDS);
  memcpy(f.in, in, n * sizeof *in);
  tl_formula_make(&f);
  return f.out[0];
}
