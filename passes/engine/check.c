/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a rule when it is loaded, and finds the order in which its pattern is walked. */
#include "ir/ops_gen.h"
#include "passes/engine/cost.h"
#include "passes/engine/scope.h"

tl_status tl_rule_error(tl_ruleset *s, const tl_rule *r, const tl_pattern_node *n, const char *fmt,
                        ...) {
  va_list ap;
  tl_buf text;
  tl_buf_init(&text);
  tl_sv name = tl_sym(s->m, r->name);
  tl_buf_printf(&text, "%s '%.*s'", r->kind == TL_RULE_DEFINE ? "definition" : "rule",
                TL_SV_ARG(name));
  if (r->spelling)
    tl_buf_printf(&text, ", spelling %u", r->spelling);
  tl_buf_add_z(&text, ": ");
  va_start(ap, fmt);
  tl_buf_vprintf(&text, fmt, ap);
  va_end(ap);
  tl_location where = {
      .file = r->file, .line = n ? n->line : r->line, .column = n ? n->column : r->column};
  tl_sv shown = text.failed ? TL_SV("out of memory") : tl_buf_view(&text);
  tl_status status = tl_fail(s->m->diag, TL_INVALID_ARGUMENT, where, "%.*s", TL_SV_ARG(shown));
  tl_buf_release(&text);
  return status;
}

/* Returns true if the operand is a named value. */
static bool names_value(const tl_pattern_operand *o) {
  return o->kind == TL_PATTERN_VALUE || o->kind == TL_PATTERN_MAYBE ||
         o->kind == TL_PATTERN_CONSTANT || o->kind == TL_PATTERN_REST;
}

/* ---- walking order -------------------------------------------------------------------------- */

/* Walk over a pattern from its root; bits of what is reached. */
typedef struct walk {
  tl_rule *r;
  uint64_t bound;   /* values */
  uint64_t reached; /* pattern nodes */
} walk;

/* Adds a step for a pattern node, then for the producers of its operands, depth first. */
static void reach(walk *w, uint8_t node, uint8_t seek, uint8_t depth) {
  tl_rule *r = w->r;
  if (w->reached >> node & 1)
    return;
  w->reached |= UINT64_C(1) << node;
  r->steps[r->n_steps++] = (tl_rule_step){node, seek};
  if (depth > r->depth)
    r->depth = depth;
  const tl_pattern_node *n = &r->match[node];
  for (uint8_t i = 0; i < n->n_results; i++)
    if (n->results[i] != TL_RULE_VALUES)
      w->bound |= UINT64_C(1) << n->results[i];
  for (uint8_t i = 0; i < n->n_operands; i++)
    if (names_value(&n->operands[i]))
      w->bound |= UINT64_C(1) << n->operands[i].value;
  for (uint8_t i = 0; i < n->n_operands; i++)
    if (names_value(&n->operands[i]) && r->values[n->operands[i].value].node != TL_RULE_NODES)
      reach(w, r->values[n->operands[i].value].node, TL_RULE_VALUES, (uint8_t)(depth + 1));
}

/* Reaches a node that is not below the root: it is found among the users of a bound value. */
static bool reach_sideways(walk *w) {
  tl_rule *r = w->r;
  for (uint8_t k = 0; k < r->n_match; k++) {
    const tl_pattern_node *n = &r->match[k];
    for (uint8_t i = 0; !(w->reached >> k & 1) && i < n->n_operands; i++) {
      const tl_pattern_operand *o = &n->operands[i];
      if (names_value(o) && o->kind != TL_PATTERN_REST && (w->bound >> o->value & 1)) {
        reach(w, k, o->value, r->depth);
        return true;
      }
    }
  }
  return false;
}

/* Walks down from the root; what remains must be reachable sideways, or the pattern is not
 * connected. */
static tl_status order_steps(tl_ruleset *s, tl_rule *r) {
  walk w = {.r = r};
  reach(&w, (uint8_t)(r->n_match - 1), TL_RULE_VALUES, 0);
  while (r->n_steps < r->n_match)
    if (!reach_sideways(&w))
      return tl_rule_error(s, r, NULL, "a node of the pattern is not connected with the last one");
  return TL_OK;
}

/* ---- signatures ----------------------------------------------------------------------------- */

/* Counts the operands that are no lists; a list may have any length. */
static uint32_t count_single(const tl_pattern_node *n) {
  uint32_t single = 0;
  for (uint8_t i = 0; i < n->n_operands; i++)
    single += n->operands[i].kind != TL_PATTERN_REST;
  return single;
}

/* Returns true if lists are unambiguous: one list, or two around one node: Concat(%a..., %x,
 * %b...). */
static bool lists_fit(const tl_rule *r, const tl_pattern_node *n) {
  uint32_t lists = n->n_operands - count_single(n);
  if (lists < 2)
    return true;
  return lists == 2 && n->n_operands == 3 && n->operands[1].kind == TL_PATTERN_VALUE &&
         r->values[n->operands[1].value].node != TL_RULE_NODES;
}

/* Reports a wrong number of operands. */
static tl_status fail_count(tl_ruleset *s, const tl_rule *r, const tl_pattern_node *n,
                            const tl_op *row, uint32_t found) {
  if (row->min_operands == row->max_operands)
    return tl_rule_error(s, r, n, "'%s' takes %u operand%s, not %u", row->name, row->min_operands,
                         row->min_operands == 1 ? "" : "s", found);
  return tl_rule_error(s, r, n, "'%s' takes %u to %u operands, not %u", row->name,
                       row->min_operands, row->max_operands, found);
}

/* Checks numbers of operands and results and the attributes of all alternatives against the op
 * table. */
static tl_status check_node(tl_ruleset *s, const tl_rule *r, const tl_pattern_node *n,
                            bool building) {
  uint32_t operands = count_single(n);
  bool lists = operands != n->n_operands;
  for (uint8_t k = 0; k < n->n_ops; k++) {
    const tl_op *row = tl_op_row(n->ops[k]);
    tl_sv name = tl_op_name(s->m, n->ops[k]);
    if (!row)
      continue;
    if (operands > row->max_operands || (building && !lists && operands < row->min_operands))
      return fail_count(s, r, n, row, operands);
    if (n->n_results > row->max_results)
      return tl_rule_error(s, r, n, "'%.*s' has at most %u results, not %u", TL_SV_ARG(name),
                           row->max_results, n->n_results);
    /* A pattern may name any attribute of an NPU op: plugins add some that no prototype lists. */
    bool any = !building && row->domain_symbol == TL_SYM_npu;
    for (uint8_t i = 0; i < n->n_attrs; i++)
      if (!any && !tl_op_attr_find(row, n->attrs[i].name)) {
        tl_sv attr = tl_sym(s->m, n->attrs[i].name);
        return tl_rule_error(s, r, n, "'%.*s' has no attribute '%.*s'", TL_SV_ARG(name),
                             TL_SV_ARG(attr));
      }
  }
  if (!building && !lists_fit(r, n))
    return tl_rule_error(s, r, n, "two lists of operands need exactly one node between them");
  if (n->maybe && (n->n_operands == 0 || n->operands[0].kind != TL_PATTERN_VALUE))
    return tl_rule_error(s, r, n, "a node that may be missing needs a value as its first operand");
  return TL_OK;
}

/* ---- use of names --------------------------------------------------------------------------- */

/* How often a rule mentions each of its values and names. */
typedef struct counts {
  uint16_t values[TL_RULE_VALUES];
  uint16_t names[TL_RULE_NAMES];
} counts;

/* Counts the values and names in an expression. */
static void count_expr(const tl_expr *e, counts *c) {
  if (!e)
    return;
  if (e->kind == TL_EXPR_VALUE)
    c->values[e->u.i]++;
  if (e->kind == TL_EXPR_NAME)
    c->names[e->u.i]++;
  for (uint16_t i = 0; i < e->n; i++)
    count_expr(e->args[i], c);
}

/* Counts the values and names in a statement, its own results not included. */
static void count_node(const tl_pattern_node *n, counts *c) {
  for (uint8_t i = 0; i < n->n_operands; i++) {
    if (names_value(&n->operands[i]))
      c->values[n->operands[i].value]++;
    count_expr(n->operands[i].expr, c);
    count_expr(n->operands[i].dtype_of, c);
  }
  for (uint8_t i = 0; i < n->n_attrs; i++) {
    if (n->attrs[i].captures)
      c->names[n->attrs[i].index]++;
    count_expr(n->attrs[i].expr, c);
  }
}

/* A name with _ in front says that it is not used on purpose. */
static bool may_be_unused(tl_sv name) { return name.n && name.p[0] == '_'; }

/* Reports names that are bound and never used; they are probably misspelled. */
static tl_status check_unused(tl_ruleset *s, const tl_rule *r) {
  counts c = {{0}, {0}};
  for (uint8_t i = 0; i < r->n_match; i++)
    count_node(&r->match[i], &c);
  for (uint8_t i = 0; i < r->n_build; i++)
    count_node(&r->build[i], &c);
  for (uint8_t i = 0; i < r->n_where; i++)
    count_expr(r->where[i], &c);
  for (uint8_t i = 0; i < r->n_lets; i++)
    count_expr(r->lets[i], &c);
  for (uint8_t i = 0; i < r->n_values; i++) {
    const tl_rule_value *v = &r->values[i];
    uint16_t uses = c.values[i];
    bool captured = v->node == TL_RULE_NODES && v->built == TL_RULE_NODES;
    bool made = v->node != TL_RULE_NODES || v->built != TL_RULE_NODES;
    bool output = v->node != TL_RULE_NODES && v->built != TL_RULE_NODES;
    if (((captured && uses < 2) || (made && !output && uses < 1)) && !may_be_unused(v->name))
      return tl_rule_error(s, r, NULL, "%%%.*s is never used; a name that begins with _ may be",
                           TL_SV_ARG(v->name));
  }
  for (uint8_t i = 0; i < r->n_names; i++) {
    bool let = false;
    for (uint8_t k = 0; k < r->n_lets; k++)
      let = let || r->let_index[k] == i;
    if (c.names[i] < (let ? 1 : 2) && !may_be_unused(r->names[i]))
      return tl_rule_error(s, r, NULL, "$%.*s is never used; a name that begins with _ may be",
                           TL_SV_ARG(r->names[i]));
  }
  return TL_OK;
}

/* ---- outputs -------------------------------------------------------------------------------- */

/* The replacement must give a result of the root, and must not redefine values from outside. */
static tl_status check_outputs(tl_ruleset *s, const tl_rule *r) {
  const tl_pattern_node *root = &r->match[r->n_match - 1];
  bool replaced = false;
  for (uint8_t i = 0; i < root->n_results; i++) {
    uint8_t v = root->results[i];
    replaced = replaced || (v != TL_RULE_VALUES && r->values[v].built != TL_RULE_NODES);
  }
  if (!replaced)
    return tl_rule_error(s, r, NULL,
                         "the replacement produces no result of the pattern root, its last node");
  for (uint8_t i = 0; i < r->n_match; i++)
    for (uint8_t k = 0; k < r->match[i].n_operands; k++) {
      const tl_pattern_operand *o = &r->match[i].operands[k];
      if (names_value(o) && r->values[o->value].node == TL_RULE_NODES &&
          r->values[o->value].built != TL_RULE_NODES) {
        tl_sv name = r->values[o->value].name;
        return tl_rule_error(s, r, &r->match[i],
                             "%%%.*s comes from outside the pattern and cannot be "
                             "made by the replacement",
                             TL_SV_ARG(name));
      }
    }
  return TL_OK;
}

/* Checks that a replacement uses only pattern values and values made before. */
static tl_status check_build_order(tl_ruleset *s, const tl_rule *r) {
  for (uint8_t i = 0; i < r->n_build; i++)
    for (uint8_t k = 0; k < r->build[i].n_operands; k++) {
      const tl_pattern_operand *o = &r->build[i].operands[k];
      if (!names_value(o))
        continue;
      const tl_rule_value *v = &r->values[o->value];
      if (v->built != TL_RULE_NODES && v->built >= i)
        return tl_rule_error(s, r, &r->build[i], "%%%.*s is used before it is made",
                             TL_SV_ARG(v->name));
    }
  return TL_OK;
}

/* Checks that the clauses on scopes are those that rules of this kind may have. */
static tl_status check_scope(tl_ruleset *s, const tl_rule *r) {
  const tl_scope_pattern *p = r->scope;
  if (p && p->n_in == 0)
    return tl_rule_error(s, r, NULL, "no scope is named; in \"*\" means every scope");
  if (p && r->kind == TL_RULE_CAPTURE && !p->bounded)
    return tl_rule_error(
        s, r, NULL,
        "the inputs and outputs of the scope are not declared: boundary (%%x) -> (%%y)");
  if (p && r->kind == TL_RULE_SCOPE && p->bounded)
    return tl_rule_error(s, r, NULL,
                         "the boundary of a scope is for rules that capture it: scope \"...\"");
  if (p && r->kind == TL_RULE_SCOPE && p->verify.samples)
    return tl_rule_error(
        s, r, NULL,
        "'verify' is for rules that capture a scope, since a pattern needs no verification");
  return TL_OK;
}

/* Returns the kind of pass that switches the rule: that of its public name, if it has one. */
static tl_fusion_kind pass_kind(const tl_rule *r) {
  bool public = r->pass != r->name && r->pass_row;
  return public             ? (tl_fusion_kind)r->pass_row->kind
         : r->scope         ? TL_FUSION_SCOPE
         : tl_rule_fuses(r) ? TL_FUSION_GRAPH
                            : TL_FUSION_CLEANUP;
}

static bool share_op(const tl_pattern_node *a, const tl_pattern_node *b) {
  for (uint8_t i = 0; i < a->n_ops; i++)
    for (uint8_t k = 0; k < b->n_ops; k++)
      if (a->ops[i] == b->ops[k])
        return true;
  return false;
}

/* Notes what spares the matcher work at most nodes. */
static void note_choices(const tl_rule *r, uint8_t at) {
  tl_pattern_node *n = &r->match[at];
  for (uint8_t i = 0; i < n->n_operands; i++) {
    const tl_pattern_operand *o = &n->operands[i];
    uint8_t above = o->kind == TL_PATTERN_VALUE ? r->values[o->value].node : TL_RULE_NODES;
    n->chooses = n->chooses || (above != TL_RULE_NODES && r->match[above].maybe);
  }
  for (uint8_t i = 0; i < r->n_match; i++)
    n->twin = n->twin || (i != at && share_op(n, &r->match[i]));
}

tl_status tl_rule_finish(tl_ruleset *s, tl_rule *r) {
  r->pass_row = tl_fusion_name_find(tl_sym(s->m, r->pass));
  r->name_row = tl_fusion_name_find(tl_sym(s->m, r->name));
  r->pass_kind = (uint8_t)pass_kind(r);
  TL_TRY(check_scope(s, r));
  if (r->kind == TL_RULE_CAPTURE)
    return TL_OK;
  if (r->n_match == 0 || r->n_build == 0)
    return tl_rule_error(s, r, NULL, "the pattern or the replacement is empty");
  for (uint8_t i = 0; i < r->n_match; i++)
    TL_TRY(check_node(s, r, &r->match[i], false));
  for (uint8_t i = 0; i < r->n_build; i++)
    if (!r->build[i].forward)
      TL_TRY(check_node(s, r, &r->build[i], true));
  TL_TRY(check_outputs(s, r));
  TL_TRY(check_build_order(s, r));
  TL_TRY(check_unused(s, r));
  for (uint8_t i = 0; i < r->n_match; i++)
    note_choices(r, i);
  r->order = tl_rule_order(&s->arena, r);
  return order_steps(s, r);
}
