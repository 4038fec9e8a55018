/* SPDX-License-Identifier: Apache-2.0 */
/* Parses rule files, rules, definitions and statements (docs/rules.md). */
#include "passes/engine/parser.h"

#include "ir/ops_gen.h"

/* Upper bounds on the parts of one statement, and on the conditions of a rule. */
enum { MAX_ALTERNATIVES = 32, MAX_OPERANDS = 16, MAX_ATTRS = 16, MAX_WHERE = 24 };

/* Priority of rules without one: behind all passes that have a priority of their own. */
enum { DEFAULT_PRIORITY = 9000 };

/* ---- statements ----------------------------------------------------------------------------- */

/* One statement while it is parsed; its lists are copied to the arena afterwards. */
typedef struct statement {
  tl_op_id ops[MAX_ALTERNATIVES];
  tl_pattern_operand operands[MAX_OPERANDS];
  tl_pattern_attr attrs[MAX_ATTRS];
  tl_pattern_node node;
} statement;

/* Parses "op(%y)": the new node takes the op that the pattern matched for the producer of %y, one
 * of its alternatives. ops[0] stands for it until then. */
static tl_status parse_like(tl_rule_parser *p, statement *s) {
  uint8_t v;
  TL_TRY(tl_rule_expect(p, "("));
  tl_token t = p->at;
  TL_TRY(tl_rule_value_index(p, false, &v));
  s->node.like = p->rule->values[v].node;
  if (s->node.like == TL_RULE_NODES)
    return tl_rule_fail(p, t, "'op' names a value that the pattern makes");
  s->ops[s->node.n_ops++] = p->rule->match[s->node.like].ops[0];
  return tl_rule_expect(p, ")");
}

/* Parses one of the alternatives of a statement. */
static tl_status parse_op(tl_rule_parser *p, statement *s) {
  if (p->building && tl_rule_accept(p, "op"))
    return parse_like(p, s);
  if (s->node.n_ops == MAX_ALTERNATIVES)
    return tl_rule_fail(p, p->at, "more than %d alternatives", MAX_ALTERNATIVES);
  TL_TRY(tl_rule_op(p, &s->ops[s->node.n_ops]));
  s->node.n_ops++;
  return TL_OK;
}

/* Parses what follows "const": in a pattern a number, ~number or %c; in a replacement an
 * expression, with its dtype before it, as a name or as dtype(%x). */
static tl_status parse_constant(tl_rule_parser *p, tl_pattern_operand *o) {
  if (p->at.kind == TL_TOKEN_VALUE && !p->building) {
    o->kind = TL_PATTERN_CONSTANT;
    return tl_rule_value_index(p, true, &o->value);
  }
  o->kind = TL_PATTERN_NUMBER;
  if (!p->building) {
    o->tolerant = tl_rule_accept(p, "~");
    return tl_rule_number(p, &o->number);
  }
  if (p->at.kind == TL_TOKEN_WORD && tl_dtype_from_name(p->at.text) != TL_DTYPE_NONE) {
    o->dtype = (uint8_t)tl_dtype_from_name(p->at.text);
    tl_rule_advance(p);
  } else if (tl_rule_at(p, "dtype")) {
    TL_TRY(tl_rule_expr(p, &o->dtype_of));
  }
  return tl_rule_expr(p, &o->expr);
}

/* Parses a part of a list: %x...[from, to]. */
static tl_status parse_part(tl_rule_parser *p, tl_pattern_operand *o) {
  if (!p->building || !tl_rule_accept(p, "["))
    return TL_OK;
  TL_TRY(tl_rule_expr(p, &o->expr));
  TL_TRY(tl_rule_expect(p, ","));
  TL_TRY(tl_rule_expr(p, &o->end));
  return tl_rule_expect(p, "]");
}

/* Forms: _ (absent), const ..., %x, %x? (optional), %x... (list). */
static tl_status parse_operand(tl_rule_parser *p, tl_pattern_operand *o) {
  *o = (tl_pattern_operand){0};
  if (tl_rule_accept(p, "_")) {
    o->kind = TL_PATTERN_ABSENT;
    return TL_OK;
  }
  if (tl_rule_accept(p, "const"))
    return parse_constant(p, o);
  TL_TRY(tl_rule_value_index(p, !p->building, &o->value));
  tl_rule_value *v = &p->rule->values[o->value];
  if (tl_rule_accept(p, "?")) {
    o->kind = TL_PATTERN_MAYBE;
    v->maybe = true;
  } else if (tl_rule_accept(p, "...")) {
    o->kind = TL_PATTERN_REST;
    if (!p->building)
      v->rest = true;
  }
  if (p->building && v->rest != (o->kind == TL_PATTERN_REST))
    return tl_rule_fail(p, p->at, "a list of operands is written %%name... in both places");
  return v->rest ? parse_part(p, o) : TL_OK;
}

static tl_status parse_operands(tl_rule_parser *p, statement *s) {
  TL_TRY(tl_rule_expect(p, "("));
  while (!tl_rule_at(p, ")")) {
    if (s->node.n_operands == MAX_OPERANDS)
      return tl_rule_fail(p, p->at, "more than %d operands", MAX_OPERANDS);
    TL_TRY(parse_operand(p, &s->operands[s->node.n_operands]));
    s->node.n_operands++;
    if (!tl_rule_accept(p, ","))
      break;
  }
  return tl_rule_expect(p, ")");
}

/* Parses "from %y": attributes are copied from the pattern node that produces %y. */
static tl_status parse_from(tl_rule_parser *p, statement *s) {
  uint8_t v;
  tl_token t = p->at;
  TL_TRY(tl_rule_value_index(p, false, &v));
  s->node.from = p->rule->values[v].node;
  if (s->node.from == TL_RULE_NODES)
    return tl_rule_fail(p, t, "'from' names a value that the pattern makes");
  return TL_OK;
}

/* Takes the name of the attribute that comes next. A node has no attribute twice. */
static tl_status attr_name(tl_rule_parser *p, statement *s, tl_token t, tl_pattern_attr *a) {
  TL_TRY(tl_rule_symbol(p, t, &a->name));
  for (unsigned i = 0; i < s->node.n_attrs; i++)
    if (s->attrs[i].name == a->name)
      return tl_rule_fail(p, p->at, "attribute '%.*s' is given twice", TL_SV_ARG(t.text));
  s->node.n_attrs++;
  return TL_OK;
}

/* Parses NAME = VALUE. In a pattern "$capture" binds the value of the attribute, and anything else
 * is compared with it; a replacement sets it. */
static tl_status parse_attr(tl_rule_parser *p, statement *s) {
  if (s->node.n_attrs == MAX_ATTRS)
    return tl_rule_fail(p, p->at, "more than %d attributes", MAX_ATTRS);
  tl_pattern_attr *a = &s->attrs[s->node.n_attrs];
  *a = (tl_pattern_attr){0};
  if (p->at.kind != TL_TOKEN_WORD && p->at.kind != TL_TOKEN_STRING)
    return tl_rule_expected(p, "an attribute");
  TL_TRY(attr_name(p, s, p->at, a));
  tl_rule_advance(p);
  TL_TRY(tl_rule_expect(p, "="));
  if (p->building || p->at.kind != TL_TOKEN_LABEL)
    return tl_rule_expr(p, &a->expr);
  a->captures = true;
  return tl_rule_name_index(p, true, &a->index);
}

static tl_status parse_attrs(tl_rule_parser *p, statement *s) {
  if (!tl_rule_accept(p, "{"))
    return TL_OK;
  while (!tl_rule_at(p, "}")) {
    if (!p->building && tl_rule_accept(p, "..."))
      s->node.open = true;
    else if (p->building && tl_rule_accept(p, "from"))
      TL_TRY(parse_from(p, s));
    else
      TL_TRY(parse_attr(p, s));
    if (!tl_rule_accept(p, ","))
      break;
  }
  return tl_rule_expect(p, "}");
}

/* Parses one result of statement number `node`. A pattern must produce a value before it uses it,
 * so that its last node is the root; a replacement produces each value once. */
static tl_status parse_result(tl_rule_parser *p, statement *s, uint8_t node) {
  if (s->node.n_results == sizeof s->node.results)
    return tl_rule_fail(p, p->at, "more than %zu results", sizeof s->node.results);
  uint8_t *slot = &s->node.results[s->node.n_results++];
  *slot = TL_RULE_VALUES;
  if (tl_rule_accept(p, "_"))
    return TL_OK;
  tl_token t = p->at;
  uint8_t i;
  uint8_t known = p->rule->n_values;
  TL_TRY(tl_rule_value_index(p, true, &i));
  tl_rule_value *v = &p->rule->values[i];
  bool twice = p->building ? v->built != TL_RULE_NODES : v->node != TL_RULE_NODES;
  if (twice)
    return tl_rule_fail(p, t, "%%%.*s is made twice", TL_SV_ARG(t.text));
  if (!p->building && i < known)
    return tl_rule_fail(p, t, "%%%.*s is used above the statement that makes it",
                        TL_SV_ARG(t.text));
  *slot = i;
  if (p->building)
    v->built = node;
  else
    v->node = node;
  if (!p->building)
    v->result = (uint8_t)(s->node.n_results - 1);
  return TL_OK;
}

/* Copies an array into the arena of the set; never NULL except without memory. */
static void *copy_of(tl_rule_parser *p, const void *src, size_t n, size_t size) {
  void *to = tl_arena_calloc(&p->set->arena, n ? n : 1, size);
  if (to && n)
    memcpy(to, src, n * size);
  return to;
}

static tl_status keep_statement(tl_rule_parser *p, const statement *s, tl_pattern_node *out) {
  *out = s->node;
  out->ops = copy_of(p, s->ops, s->node.n_ops, sizeof *s->ops);
  out->operands = copy_of(p, s->operands, s->node.n_operands, sizeof *s->operands);
  out->attrs = copy_of(p, s->attrs, s->node.n_attrs, sizeof *s->attrs);
  return out->ops && out->operands && out->attrs ? TL_OK : tl_rule_memory(p);
}

/* Parses a statement: %r, ... = [shared] [maybe] Op|Op(operands) {attrs}. In a replacement also %r
 * = %value, which makes no node. */
static tl_status parse_statement(tl_rule_parser *p, tl_pattern_node *out, uint8_t node) {
  statement s; /* only the counted elements of its lists are set */
  s.node = (tl_pattern_node){
      .line = p->at.line, .column = p->at.column, .like = TL_RULE_NODES, .from = TL_RULE_NODES};
  do
    TL_TRY(parse_result(p, &s, node));
  while (tl_rule_accept(p, ","));
  TL_TRY(tl_rule_expect(p, "="));
  s.node.shared = !p->building && tl_rule_accept(p, "shared");
  s.node.maybe = !p->building && tl_rule_accept(p, "maybe");
  if (p->building && (p->at.kind == TL_TOKEN_VALUE || tl_rule_at(p, "const"))) {
    s.node.forward = true;
    s.node.n_operands = 1;
    TL_TRY(parse_operand(p, &s.operands[0]));
    return keep_statement(p, &s, out);
  }
  do
    TL_TRY(parse_op(p, &s));
  while (!p->building && tl_rule_accept(p, "|"));
  TL_TRY(parse_operands(p, &s));
  TL_TRY(parse_attrs(p, &s));
  return keep_statement(p, &s, out);
}

/* Parses statements up to `close`; in a pattern also the alternatives of `either`. */
static tl_status parse_statements(tl_rule_parser *p, const char *close, tl_pattern_node **list,
                                  uint8_t *n) {
  tl_pattern_node nodes[TL_RULE_NODES];
  int most = p->building ? TL_RULE_BUILT : TL_RULE_NODES;
  *n = 0;
  while (p->in_either || !tl_rule_at(p, close)) {
    if (p->in_either && tl_rule_at(p, "}")) {
      TL_TRY(tl_rule_close_either(p));
      continue;
    }
    if (!p->building && tl_rule_at(p, "either")) {
      TL_TRY(tl_rule_open_either(p));
      continue;
    }
    if (*n == most)
      return tl_rule_fail(p, p->at, "more than %d nodes", most);
    TL_TRY(parse_statement(p, &nodes[*n], *n));
    ++*n;
  }
  *list = copy_of(p, nodes, *n, sizeof *nodes);
  return *list ? TL_OK : tl_rule_memory(p);
}

/* ---- rules ---------------------------------------------------------------------------------- */

/* Parses "where {...}": lines of "let $n = expr" and conditions; commas between them are
 * allowed. */
static tl_status parse_where(tl_rule_parser *p) {
  tl_expr *conditions[MAX_WHERE];
  tl_rule *r = p->rule;
  TL_TRY(tl_rule_expect(p, "{"));
  while (!tl_rule_at(p, "}")) {
    if (tl_rule_accept(p, "let")) {
      uint8_t name, had = r->n_names;
      tl_token at = p->at;
      TL_TRY(tl_rule_name_index(p, true, &name));
      if (name < had)
        return tl_rule_fail(p, at, "'$%.*s' has a value already\vuse another name",
                            TL_SV_ARG(at.text));
      TL_TRY(tl_rule_expect(p, "="));
      if (r->n_lets == TL_RULE_NAMES)
        return tl_rule_fail(p, p->at, "more than %d names", TL_RULE_NAMES);
      TL_TRY(tl_rule_expr(p, &r->lets[r->n_lets]));
      r->let_index[r->n_lets++] = name;
    } else {
      if (r->n_where == MAX_WHERE)
        return tl_rule_fail(p, p->at, "more than %d conditions", MAX_WHERE);
      TL_TRY(tl_rule_expr(p, &conditions[r->n_where]));
      r->n_where++;
    }
    (void)tl_rule_accept(p, ",");
  }
  r->where = copy_of(p, conditions, r->n_where, sizeof *conditions);
  tl_rule_advance(p);
  return r->where ? TL_OK : tl_rule_memory(p);
}

/* Fills a rule with what is known before its first token, and lends it the room for its parts. */
static void start_rule(tl_rule_parser *p, tl_rule *r, tl_rule_kind kind) {
  *r = (tl_rule){.kind = (uint8_t)kind,
                 .file = p->path,
                 .text = p->builtin,
                 .line = p->at.line,
                 .column = p->at.column,
                 .written = DEFAULT_PRIORITY,
                 .priority = DEFAULT_PRIORITY};
  tl_rule_enter_room(p, r);
  p->exprs = 0;
  p->n_eithers = 0;
  p->in_either = false;
}

static tl_rule *new_rule(tl_rule_parser *p, tl_rule_kind kind) {
  tl_rule *r = tl_arena_alloc(&p->set->arena, sizeof *r);
  if (r)
    start_rule(p, r, kind);
  return r;
}

static tl_status parse_rule_name(tl_rule_parser *p, tl_rule *r) {
  if (p->at.kind != TL_TOKEN_WORD)
    return tl_rule_expected(p, "the name of a rule");
  TL_TRY(tl_rule_symbol(p, p->at, &r->name));
  tl_rule_advance(p);
  r->pass = r->name;
  return TL_OK;
}

/* Form: NAME : kind ... { match { ... }. */
static tl_status parse_pattern(tl_rule_parser *p, tl_rule *r) {
  TL_TRY(parse_rule_name(p, r));
  TL_TRY(tl_rule_expect(p, ":"));
  TL_TRY(tl_rule_kind_word(p, r));
  TL_TRY(tl_rule_clauses(p, r));
  TL_TRY(tl_rule_expect(p, "{"));
  if (r->kind == TL_RULE_SCOPE)
    TL_TRY(tl_rule_scope(p));
  TL_TRY(tl_rule_expect(p, "match"));
  TL_TRY(tl_rule_expect(p, "{"));
  p->building = false;
  TL_TRY(parse_statements(p, "}", &r->match, &r->n_match));
  tl_rule_advance(p);
  return TL_OK;
}

/* Parses where { ... } replace { ... } and the brace that closes the rule. */
static tl_status parse_replacement(tl_rule_parser *p, tl_rule *r) {
  if (tl_rule_accept(p, "where"))
    TL_TRY(parse_where(p));
  TL_TRY(tl_rule_expect(p, "replace"));
  TL_TRY(tl_rule_expect(p, "{"));
  p->building = true;
  TL_TRY(parse_statements(p, "}", &r->build, &r->n_build));
  tl_rule_advance(p);
  return tl_rule_expect(p, "}");
}

/* Parses the rule in the current spelling: a rule of its own, with the name of the others. */
static tl_status parse_spelling(tl_rule_parser *p, bool override) {
  tl_rule *r = new_rule(p, TL_RULE_CLEANUP);
  if (!r)
    return tl_rule_memory(p);
  tl_token name = p->at;
  TL_TRY(parse_pattern(p, r));
  r->spelling = p->n_eithers ? p->spelling : 0;
  TL_TRY(parse_replacement(p, r));
  return tl_rule_keep(p, r, name, override);
}

/* Parses a rule once for each of its spellings. */
static tl_status parse_rule(tl_rule_parser *p, bool override) {
  tl_lexer start = p->lexer;
  tl_token name = p->at;
  bool more;
  tl_rule_first_spelling(p);
  do {
    p->lexer = start;
    p->at = name;
    TL_TRY(parse_spelling(p, override));
    TL_TRY(tl_rule_next_spelling(p, name, &more));
  } while (more);
  return TL_OK;
}

/* Form: scope "GLOB" : NAME ... { ... } -> op. The whole scope becomes one node. */
static tl_status parse_capture(tl_rule_parser *p, bool override) {
  tl_rule *r = new_rule(p, TL_RULE_CAPTURE);
  if (!r)
    return tl_rule_memory(p);
  TL_TRY(tl_rule_scope_start(p));
  TL_TRY(tl_rule_expect(p, ":"));
  tl_token name = p->at;
  TL_TRY(parse_rule_name(p, r));
  TL_TRY(tl_rule_clauses(p, r));
  TL_TRY(tl_rule_expect(p, "{"));
  TL_TRY(tl_rule_scope(p));
  TL_TRY(tl_rule_expect(p, "}"));
  TL_TRY(tl_rule_scope_op(p));
  return tl_rule_keep(p, r, name, override);
}

/* ---- definitions ---------------------------------------------------------------------------- */

static bool has_name(const tl_pattern_operand *o) {
  return o->kind != TL_PATTERN_NUMBER && o->kind != TL_PATTERN_ABSENT;
}

/* A pattern that has a value twice fits nodes that have; a signature would define those alone. */
static tl_status check_parameters(tl_rule_parser *p, const statement *s, tl_token at) {
  for (unsigned i = 0; i < s->node.n_operands; i++)
    for (unsigned k = 0; k < i; k++)
      if (has_name(&s->operands[i]) && has_name(&s->operands[k]) &&
          s->operands[i].value == s->operands[k].value)
        return tl_rule_fail(p, at, "%%%.*s is named twice",
                            TL_SV_ARG(p->rule->values[s->operands[i].value].name));
  return TL_OK;
}

/* Parses the signature of a definition: a pattern of one node whose results the body returns. */
static tl_status parse_signature(tl_rule_parser *p, statement *s) {
  tl_token at = p->at;
  p->building = false;
  s->node.line = p->at.line;
  s->node.column = p->at.column;
  TL_TRY(parse_op(p, s));
  TL_TRY(parse_operands(p, s));
  TL_TRY(check_parameters(p, s, at));
  s->node.open = true;
  tl_rule_parser before = *p;
  if (!tl_rule_accept(p, "{"))
    return TL_OK;
  /* Without $name behind it, the brace opens the body: go back before it. */
  if (p->at.kind != TL_TOKEN_LABEL && !tl_rule_at(p, "}")) {
    p->lexer = before.lexer;
    p->at = before.at;
    return TL_OK;
  }
  /* {$axis, $epsilon}: attributes are captured under their own names. */
  while (p->at.kind == TL_TOKEN_LABEL) {
    if (s->node.n_attrs == MAX_ATTRS)
      return tl_rule_fail(p, p->at, "more than %d attributes", MAX_ATTRS);
    tl_pattern_attr *a = &s->attrs[s->node.n_attrs];
    *a = (tl_pattern_attr){.captures = true};
    tl_token name = p->at;
    /* $_N captures N, which need not be used. */
    size_t unused = name.text.n > 1 && name.text.p[0] == '_';
    name.text = (tl_sv){name.text.p + unused, name.text.n - unused};
    TL_TRY(attr_name(p, s, name, a));
    TL_TRY(tl_rule_name_index(p, true, &a->index));
    if (!tl_rule_accept(p, ","))
      break;
  }
  return tl_rule_expect(p, "}");
}

/* Form: return %y, ... binds the results of the signature to values of the body. */
static tl_status parse_return(tl_rule_parser *p, statement *s) {
  do {
    tl_token t = p->at;
    uint8_t i;
    TL_TRY(tl_rule_value_index(p, false, &i));
    tl_rule_value *v = &p->rule->values[i];
    if (v->built == TL_RULE_NODES || v->node != TL_RULE_NODES)
      return tl_rule_fail(p, t, "'return' names values that the body makes, each once");
    if (s->node.n_results == sizeof s->node.results)
      return tl_rule_fail(p, t, "more than %zu results", sizeof s->node.results);
    v->node = 0;
    v->result = s->node.n_results;
    s->node.results[s->node.n_results++] = i;
  } while (tl_rule_accept(p, ","));
  return TL_OK;
}

/* Parses a definition: a rule whose pattern is the one node of the signature, and whose replacement
 * is the body. */
static tl_status parse_define(tl_rule_parser *p, bool override) {
  tl_rule *r = new_rule(p, TL_RULE_DEFINE);
  tl_token name = p->at;
  if (!r)
    return tl_rule_memory(p);
  statement s = {.node = {.like = TL_RULE_NODES, .from = TL_RULE_NODES}};
  TL_TRY(parse_signature(p, &s));
  /* An NPU op may have marks of GE, but no attribute that would change its meaning. Of an op
   * without a prototype the definition has to name every attribute. */
  tl_symbol domain = tl_op_domain_symbol(p->set->m, s.ops[0]);
  s.node.open = domain != TL_SYM_npu && tl_op_row(s.ops[0]);
  r->name = r->pass = tl_op_name_symbol(p->set->m, s.ops[0]);
  if (tl_rule_accept(p, "where"))
    TL_TRY(parse_where(p));
  TL_TRY(tl_rule_expect(p, "{"));
  p->building = true;
  /* "return" makes values of the body results of the signature */
  TL_TRY(parse_statements(p, "return", &r->build, &r->n_build));
  tl_rule_advance(p);
  TL_TRY(parse_return(p, &s));
  TL_TRY(tl_rule_expect(p, "}"));
  r->match = tl_arena_calloc(&p->set->arena, 1, sizeof *r->match);
  if (!r->match)
    return tl_rule_memory(p);
  r->n_match = 1;
  TL_TRY(keep_statement(p, &s, r->match));
  return tl_rule_keep(p, r, name, override);
}

/* ---- files ---------------------------------------------------------------------------------- */

/* The first line of a file names the version of the language. */
static tl_status parse_version(tl_rule_parser *p) {
  TL_TRY(tl_rule_expect(p, "rules"));
  tl_token t = p->at;
  double version;
  TL_TRY(tl_rule_number(p, &version));
  if (version != TL_RULE_LANGUAGE)
    return tl_rule_fail(p, t,
                        "the rules are written in version %.*s of the language; this build "
                        "reads version %d",
                        TL_SV_ARG(t.text), TL_RULE_LANGUAGE);
  return TL_OK;
}

/* Parses a rule, a definition or a capture. With only_definitions others are skipped. */
static tl_status parse_one(tl_rule_parser *p, bool override) {
  bool skip = p->set->only_definitions;
  if (tl_rule_accept(p, "rule"))
    return skip ? tl_rule_skip(p) : parse_rule(p, override);
  if (tl_rule_accept(p, "define"))
    return parse_define(p, override);
  if (!tl_rule_accept(p, "scope"))
    return tl_rule_expected(p, "rule, scope or define");
  if (!skip)
    return parse_capture(p, override);
  TL_TRY(tl_rule_skip(p));
  tl_op_id unused;
  TL_TRY(tl_rule_expect(p, "->"));
  return tl_rule_op(p, &unused);
}

static tl_status parse_text(tl_rule_parser *p, bool has_version, bool override) {
  tl_buf_init(&p->text);
  tl_rule_advance(p);
  tl_status status = has_version ? parse_version(p) : TL_OK;
  while (status == TL_OK && p->at.kind != TL_TOKEN_END)
    status = parse_one(p, override);
  tl_buf_release(&p->text);
  return status;
}

tl_status tl_rules_parse(tl_ruleset *s, const char *path, tl_sv text, bool override) {
  const char *kept = tl_arena_copy(&s->arena, path, strlen(path));
  tl_rule_room room;
  tl_rule_parser p = {.lexer = tl_lex_start_rules(text), .set = s, .path = kept, .room = &room};
  return kept ? parse_text(&p, true, override) : tl_rule_memory(&p);
}

/* Returns a parser at the start of a built-in text, whose places are those in the file it comes
 * from. */
static tl_rule_parser start_text(tl_ruleset *s, const tl_rule_text *text, tl_rule_room *room) {
  tl_sv bytes = {tl_rule_characters + text->at, text->n};
  tl_rule_parser p = {.lexer = tl_lex_start_rules(bytes),
                      .set = s,
                      .builtin = text,
                      .path = tl_rule_paths[text->path],
                      .room = room};
  p.lexer.line = text->line;
  return p;
}

tl_status tl_rules_parse_text(tl_ruleset *s, const tl_rule_text *text) {
  tl_rule_room room;
  tl_rule_parser p = start_text(s, text, &room);
  s->next = (uint32_t)(text - tl_rule_texts);
  return parse_text(&p, false, false);
}
