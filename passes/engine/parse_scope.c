/* SPDX-License-Identifier: Apache-2.0 */
/* Parses what rules ask of scopes (docs/rules.md, "Scopes"). */
#include "ir/ops_gen.h"
#include "passes/engine/parser.h"
#include "passes/engine/rule_values.h"
#include "passes/engine/scope.h"

enum { MOST_NODES = 1000000, MOST_SAMPLES = 100, UNSAID = UINT8_MAX };

static tl_status parse_string(tl_rule_parser *p, const char *what, tl_symbol *out) {
  if (p->at.kind != TL_TOKEN_STRING)
    return tl_rule_expected(p, what);
  if (p->at.text.n == 0)
    return tl_rule_fail(p, p->at, "the pattern of a name is empty");
  if (p->at.text.n > TL_SCOPE_GLOB_BYTES)
    return tl_rule_fail(p, p->at, "the pattern of a name has more than %d bytes",
                        TL_SCOPE_GLOB_BYTES);
  TL_TRY(tl_rule_symbol(p, p->at, out));
  tl_rule_advance(p);
  return TL_OK;
}

static tl_status parse_globs(tl_rule_parser *p, tl_symbol *list, uint32_t *n) {
  do {
    if (*n == TL_SCOPE_GLOBS)
      return tl_rule_fail(p, p->at, "more than %d names", TL_SCOPE_GLOBS);
    TL_TRY(parse_string(p, "a name in quotes, with * for any text", &list[*n]));
    ++*n;
  } while (tl_rule_accept(p, ","));
  return TL_OK;
}

/* ---- counts ---------------------------------------------------------------------------------- */

/* Parses a count. Numbers are parsed as doubles, so that it must be checked to be an integer. */
static tl_status parse_count(tl_rule_parser *p, uint32_t *out) {
  tl_token t = p->at;
  double n;
  TL_TRY(tl_rule_number(p, &n));
  if (!(n >= 0 && n <= MOST_NODES) || n != (double)(uint32_t)n)
    return tl_rule_fail(p, t, "a number of nodes is an integer from 0 to %d", MOST_NODES);
  *out = (uint32_t)n;
  return TL_OK;
}

/* Forms: 2 | 2 to 5 | 2 or more | times 3 (a positive multiple of 3). */
static tl_status parse_range(tl_rule_parser *p, tl_scope_count *c) {
  tl_token t = p->at;
  if (tl_rule_accept(p, "times")) {
    TL_TRY(parse_count(p, &c->times));
    return c->times ? TL_OK : tl_rule_fail(p, t, "'times' needs a number above 0");
  }
  TL_TRY(parse_count(p, &c->low));
  c->high = c->low;
  if (tl_rule_accept(p, "or")) {
    c->high = UINT32_MAX;
    return tl_rule_expect(p, "more");
  }
  if (!tl_rule_accept(p, "to"))
    return TL_OK;
  TL_TRY(parse_count(p, &c->high));
  if (c->high < c->low)
    return tl_rule_fail(p, t, "the range from %u to %u is empty", c->low, c->high);
  return TL_OK;
}

/* Op|Op RANGE */
static tl_status parse_type(tl_rule_parser *p, tl_scope_part *part) {
  if (part->n_counts == TL_SCOPE_COUNTS)
    return tl_rule_fail(p, p->at, "more than %d counts", TL_SCOPE_COUNTS);
  tl_scope_count *c = &part->counts[part->n_counts++];
  const char *from = p->at.text.p;
  do {
    if (c->n_ops == TL_SCOPE_OPS)
      return tl_rule_fail(p, p->at, "more than %d alternatives", TL_SCOPE_OPS);
    TL_TRY(tl_rule_op(p, &c->ops[c->n_ops]));
    c->n_ops++;
  } while (tl_rule_accept(p, "|"));
  TL_TRY(parse_range(p, c));
  const char *to = p->at.text.p;
  bool whole = p->at.kind != TL_TOKEN_END && to > from;
  c->text = tl_sv_trim((tl_sv){from, whole ? (size_t)(to - from) : 0});
  return TL_OK;
}

static tl_status parse_types(tl_rule_parser *p, tl_scope_part *part) {
  TL_TRY(tl_rule_expect(p, "{"));
  while (!tl_rule_at(p, "}")) {
    TL_TRY(parse_type(p, part));
    if (!tl_rule_accept(p, ","))
      break;
  }
  return tl_rule_expect(p, "}");
}

/* NAME=NUMBER | NAME="text" */
static tl_status parse_attr(tl_rule_parser *p, tl_scope_pattern *s, tl_op_id op, const char *from) {
  if (s->n_attrs == TL_SCOPE_ATTRS)
    return tl_rule_fail(p, p->at, "more than %d attributes", TL_SCOPE_ATTRS);
  tl_scope_attr *a = &s->attrs[s->n_attrs++];
  a->op = op;
  if (p->at.kind != TL_TOKEN_WORD && p->at.kind != TL_TOKEN_STRING)
    return tl_rule_expected(p, "an attribute");
  TL_TRY(tl_rule_symbol(p, p->at, &a->name));
  tl_rule_advance(p);
  TL_TRY(tl_rule_expect(p, "="));
  if (p->at.kind == TL_TOKEN_STRING) {
    TL_TRY(tl_rule_symbol(p, p->at, &a->string));
    tl_rule_advance(p);
  } else {
    TL_TRY(tl_rule_number(p, &a->number));
  }
  const char *to = p->at.text.p;
  bool whole = p->at.kind != TL_TOKEN_END && to > from;
  a->text = tl_sv_trim((tl_sv){from, whole ? (size_t)(to - from) : 0});
  return TL_OK;
}

/* { Op {NAME=VALUE, ...}, ... } */
static tl_status parse_attrs(tl_rule_parser *p, tl_scope_pattern *s) {
  TL_TRY(tl_rule_expect(p, "{"));
  while (!tl_rule_at(p, "}")) {
    const char *from = p->at.text.p;
    tl_op_id op;
    TL_TRY(tl_rule_op(p, &op));
    TL_TRY(tl_rule_expect(p, "{"));
    do
      TL_TRY(parse_attr(p, s, op, from));
    while (tl_rule_accept(p, ","));
    TL_TRY(tl_rule_expect(p, "}"));
    if (!tl_rule_accept(p, ","))
      break;
  }
  return tl_rule_expect(p, "}");
}

/* child "NAME" { counts }: a scope directly inside. */
static tl_status parse_child(tl_rule_parser *p, tl_scope_pattern *s) {
  if (s->n_parts == 1 + TL_SCOPE_CHILDREN)
    return tl_rule_fail(p, p->at, "more than %d scopes inside", TL_SCOPE_CHILDREN);
  tl_scope_part *part = &s->parts[s->n_parts++];
  TL_TRY(parse_string(p, "the name of a scope inside, in quotes", &part->name));
  return parse_types(p, part);
}

/* ---- boundaries ------------------------------------------------------------------------------ */

static bool has_port(const tl_scope_port *list, uint32_t n, tl_symbol name) {
  for (uint32_t i = 0; i < n; i++)
    if (list[i].name == name)
      return true;
  return false;
}

/* rank 2 | rank 2 to 4 | rank 2 or more */
static tl_status parse_rank(tl_rule_parser *p, tl_scope_port *port) {
  tl_token t = p->at;
  tl_scope_count c = {0};
  TL_TRY(parse_range(p, &c));
  port->ranked = true;
  port->low = c.low;
  port->high = c.high;
  return c.times ? tl_rule_fail(p, t, "a rank is no multiple") : TL_OK;
}

/* Checks that a list port (`rest`) is the last of its sort, values or constants. */
static tl_status check_rest(tl_rule_parser *p, tl_token at, const tl_scope_port *list, uint32_t n) {
  for (uint32_t i = 0; i + 1 < n; i++)
    if (list[i].rest && list[i].constant == list[n - 1].constant)
      return tl_rule_fail(p, at, "a list takes all operands, so no port can follow it");
  return TL_OK;
}

static tl_status parse_ports(tl_rule_parser *p, tl_scope_port *list, uint32_t *n, bool inputs) {
  TL_TRY(tl_rule_expect(p, "("));
  while (!tl_rule_at(p, ")")) {
    tl_token at = p->at;
    if (*n == TL_SCOPE_PORTS)
      return tl_rule_fail(p, at, "more than %d values at the boundary", TL_SCOPE_PORTS);
    tl_scope_port *port = &list[*n];
    port->constant = inputs && tl_rule_accept(p, "const");
    if (p->at.kind != TL_TOKEN_VALUE)
      return tl_rule_expected(p, "a value such as %x");
    TL_TRY(tl_rule_symbol(p, p->at, &port->name));
    if (has_port(list, *n, port->name))
      return tl_rule_fail(p, p->at, "%%%.*s is named twice", TL_SV_ARG(p->at.text));
    tl_rule_advance(p);
    port->rest = inputs && tl_rule_accept(p, "...");
    if (inputs && tl_rule_accept(p, "rank"))
      TL_TRY(parse_rank(p, port));
    ++*n;
    TL_TRY(check_rest(p, at, list, *n));
    if (!tl_rule_accept(p, ","))
      break;
  }
  return tl_rule_expect(p, ")");
}

/* (%x, const %w...) -> (%y) */
static tl_status parse_boundary(tl_rule_parser *p, tl_scope_pattern *s) {
  tl_token at = p->at;
  if (s->bounded)
    return tl_rule_fail(p, at, "the boundary is given twice");
  s->bounded = true;
  TL_TRY(parse_ports(p, s->inputs, &s->n_inputs, true));
  TL_TRY(tl_rule_expect(p, "->"));
  TL_TRY(parse_ports(p, s->outputs, &s->n_outputs, false));
  for (uint32_t i = 0; i < s->n_outputs; i++)
    if (has_port(s->inputs, s->n_inputs, s->outputs[i].name))
      return tl_rule_fail(p, at, "a value is both an input and an output of the boundary");
  return s->n_outputs ? TL_OK : tl_rule_fail(p, at, "the scope has no output");
}

/* ---- verification ---------------------------------------------------------------------------- */

/* Forms: rtol=1e-4 | atol=1e-5 | samples=3. *given: bits of those given. */
static tl_status parse_bound(tl_rule_parser *p, tl_scope_verify *v, unsigned *given) {
  static const char *const words[] = {"rtol", "atol", "samples"};
  unsigned i = 0;
  while (i < 3 && !tl_rule_at(p, words[i]))
    i++;
  if (i == 3)
    return tl_rule_expected(p, "rtol, atol or samples");
  if (*given >> i & 1)
    return tl_rule_fail(p, p->at, "'%s' is given twice", words[i]);
  *given |= 1u << i;
  tl_rule_advance(p);
  TL_TRY(tl_rule_expect(p, "="));
  tl_token t = p->at;
  double n;
  TL_TRY(tl_rule_number(p, &n));
  if (i == 2 && !(n >= 1 && n <= MOST_SAMPLES && n == (double)(uint32_t)n))
    return tl_rule_fail(p, t, "a number of samples is an integer from 1 to %d", MOST_SAMPLES);
  if (i < 2 && !(n >= 0 && n <= 1))
    return tl_rule_fail(p, t, "a tolerance is from 0 to 1");
  if (i == 2)
    v->samples = (uint32_t)n;
  else
    *(i ? &v->atol : &v->rtol) = n;
  return TL_OK;
}

/* Form: verify { rtol=1e-4, atol=1e-5, samples=3 }. These numbers are also the defaults. */
static tl_status parse_verify(tl_rule_parser *p, tl_scope_pattern *s) {
  unsigned given = 0;
  if (s->verify.samples)
    return tl_rule_fail(p, p->at, "'verify' is given twice");
  s->verify = (tl_scope_verify){.samples = 3, .rtol = 1e-4, .atol = 1e-5};
  tl_rule_advance(p);
  TL_TRY(tl_rule_expect(p, "{"));
  while (!tl_rule_at(p, "}")) {
    TL_TRY(parse_bound(p, &s->verify, &given));
    if (!tl_rule_accept(p, ","))
      break;
  }
  return tl_rule_expect(p, "}");
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Returns the scope pattern of the rule, made on first use; part 0 is the scope itself. */
static tl_status pattern_of(tl_rule_parser *p, tl_scope_pattern **out) {
  tl_rule *r = p->rule;
  if (!r->scope) {
    r->scope = tl_arena_calloc(&p->set->arena, 1, sizeof *r->scope);
    if (!r->scope)
      return tl_rule_memory(p);
    r->scope->n_parts = 1;
  }
  *out = r->scope;
  return TL_OK;
}

tl_status tl_rule_scope(tl_rule_parser *p) {
  tl_scope_pattern *s;
  TL_TRY(pattern_of(p, &s));
  for (;;) {
    if (tl_rule_accept(p, "in"))
      TL_TRY(parse_globs(p, s->in, &s->n_in));
    else if (tl_rule_accept(p, "except"))
      TL_TRY(parse_globs(p, s->except, &s->n_except));
    else if (tl_rule_accept(p, "class"))
      TL_TRY(parse_string(p, "a class in quotes, with * for any text", &s->klass));
    else if (tl_rule_accept(p, "types"))
      TL_TRY(parse_types(p, &s->parts[0]));
    else if (tl_rule_accept(p, "attrs"))
      TL_TRY(parse_attrs(p, s));
    else if (tl_rule_accept(p, "child"))
      TL_TRY(parse_child(p, s));
    else if (tl_rule_accept(p, "boundary"))
      TL_TRY(parse_boundary(p, s));
    else if (tl_rule_at(p, "verify"))
      TL_TRY(parse_verify(p, s));
    else
      return TL_OK;
  }
}

/* A scope fusion of a file is off unless it is named or `general`; other rules are on. */
tl_status tl_rule_general(tl_rule_parser *p, tl_rule *r) {
  if (r->kind != TL_RULE_SCOPE && r->kind != TL_RULE_CAPTURE)
    return tl_rule_fail(p, p->at, "'general' is for scope fusions");
  r->general = true;
  return TL_OK;
}

tl_status tl_rule_scope_start(tl_rule_parser *p) {
  tl_scope_pattern *s;
  TL_TRY(pattern_of(p, &s));
  p->rule->numerics = UNSAID;
  return parse_globs(p, s->in, &s->n_in);
}

/* ---- the op ---------------------------------------------------------------------------------- */

/* Form: const(Op, OPERAND): a number that is an operand of the first such node of the scope. */
static tl_status parse_found(tl_rule_parser *p, tl_scope_setting *s, uint8_t kind) {
  tl_token at = p->at;
  s->found = true;
  s->attr.kind = kind;
  TL_TRY(tl_rule_expect(p, "("));
  TL_TRY(tl_rule_op(p, &s->op));
  TL_TRY(tl_rule_expect(p, ","));
  TL_TRY(parse_count(p, &s->operand));
  if (kind != TL_ATTR_INT && kind != TL_ATTR_FLOAT && kind != TL_ATTR_BOOL)
    return tl_rule_fail(p, at, "the attribute is not a number");
  return tl_rule_expect(p, ")");
}

/* Forms: NAME = constant expression | NAME = const(Op, OPERAND). */
static tl_status parse_setting(tl_rule_parser *p, const tl_op *row, tl_scope_setting *s) {
  tl_token at = p->at;
  tl_expr *e;
  if (at.kind != TL_TOKEN_WORD && at.kind != TL_TOKEN_STRING)
    return tl_rule_expected(p, "an attribute");
  TL_TRY(tl_rule_symbol(p, at, &s->attr.name));
  const tl_op_attr *known = tl_op_attr_find(row, s->attr.name);
  if (!known)
    return tl_rule_fail(p, at, "'%s' has no attribute '%.*s'", row->name, TL_SV_ARG(at.text));
  tl_rule_advance(p);
  TL_TRY(tl_rule_expect(p, "="));
  if (tl_rule_accept(p, "const"))
    return parse_found(p, s, known->value.kind);
  TL_TRY(tl_rule_expr(p, &e));
  tl_match *match = tl_arena_calloc(&p->set->arena, 1, sizeof *match);
  if (!match)
    return tl_rule_memory(p);
  *match = (tl_match){.set = p->set, .rule = p->rule, .m = p->set->m, .scratch = &p->set->arena};
  s->attr = tl_rule_attr(p->set->m, s->attr.name, (tl_attr_kind)known->value.kind,
                         tl_rule_eval(match, e));
  return s->attr.kind == known->value.kind
             ? TL_OK
             : tl_rule_fail(p, at, "'%.*s' is not a value for this attribute", TL_SV_ARG(at.text));
}

static tl_status parse_settings(tl_rule_parser *p, const tl_op *row, tl_scope_pattern *s) {
  if (!tl_rule_accept(p, "{"))
    return TL_OK;
  while (!tl_rule_at(p, "}")) {
    tl_token at = p->at;
    if (s->n_settings == TL_SCOPE_SETTINGS)
      return tl_rule_fail(p, at, "more than %d attributes", TL_SCOPE_SETTINGS);
    tl_scope_setting *made = &s->settings[s->n_settings];
    TL_TRY(parse_setting(p, row, made));
    for (uint32_t i = 0; i < s->n_settings; i++)
      if (s->settings[i].attr.name == made->attr.name)
        return tl_rule_fail(p, at, "attribute '%.*s' is given twice", TL_SV_ARG(at.text));
    s->n_settings++;
    if (!tl_rule_accept(p, ","))
      break;
  }
  return tl_rule_expect(p, "}");
}

/* Checks that an op of the table takes the inputs and gives the outputs of the boundary. */
static tl_status check_ports(tl_rule_parser *p, tl_token at, const tl_op *row,
                             const tl_scope_pattern *s) {
  uint32_t lists = 0;
  for (uint32_t i = 0; i < s->n_inputs; i++)
    lists += s->inputs[i].rest;
  uint32_t single = s->n_inputs - lists;
  if (single > row->max_operands || (!lists && single < row->min_operands))
    return tl_rule_fail(p, at,
                        "'%s' takes %u operands or more, and %u at most; the boundary has "
                        "%u",
                        row->name, row->min_operands, row->max_operands, single);
  if (s->n_outputs > row->max_results || s->n_outputs < row->min_results)
    return tl_rule_fail(p, at, "'%s' has %u results or more, and %u at most; the boundary has %u",
                        row->name, row->min_results, row->max_results, s->n_outputs);
  return TL_OK;
}

/* An op of the op table has a meaning of its own and must be verified; an op of a user's domain
 * gets the scope as its definition. */
tl_status tl_rule_scope_op(tl_rule_parser *p) {
  tl_scope_pattern *s = p->rule->scope;
  TL_TRY(tl_rule_expect(p, "->"));
  tl_token at = p->at;
  if (p->rule->numerics == UNSAID) /* close samples do not prove equal bits */
    p->rule->numerics = s->verify.samples ? TL_NUMERICS_REASSOCIATING : TL_NUMERICS_EXACT;
  TL_TRY(tl_rule_op(p, &s->op));
  const tl_op *row = tl_op_row(s->op);
  if (!row)
    return TL_OK;
  tl_sv name = tl_op_name(p->set->m, s->op);
  if (row->domain_symbol == TL_SYM_npu || (row->traits & TL_TRAIT_BODY))
    return tl_rule_fail(p, at, "no scope can become '%.*s'", TL_SV_ARG(name));
  if (!s->verify.samples)
    return tl_rule_fail(p, at,
                        "'%.*s' is a known op: add 'verify {}' to compare the scope with it, or "
                        "capture the scope as an op of your own domain, such as my::Block",
                        TL_SV_ARG(name));
  TL_TRY(check_ports(p, at, row, s));
  return parse_settings(p, row, s);
}
