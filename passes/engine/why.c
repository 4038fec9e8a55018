/* SPDX-License-Identifier: Apache-2.0 */
/* Explains why a match failed: the first failing condition, its subject and the deciding values. */
#include "passes/engine/why.h"

#include "passes/engine/rule_values.h"

enum { MOST_MENTIONED = 8 };

static bool is_deeper(const tl_miss *miss, uint32_t depth) {
  return miss && (!miss->code || depth > miss->depth);
}

bool tl_match_tells(const tl_match *match, uint32_t depth) {
  return is_deeper(match->miss, depth) && match->miss->text;
}

/* Keeps the deepest reason; of equal depth the first. */
void tl_match_note(tl_match *match, uint32_t depth, const char *code, const char *fmt, ...) {
  tl_miss *miss = match->miss;
  if (!is_deeper(miss, depth))
    return;
  miss->depth = depth;
  miss->code = code;
  miss->condition = TL_SV("");
  memcpy(miss->nodes, match->nodes, match->rule->n_match * sizeof *miss->nodes);
  if (!miss->text)
    return;
  va_list ap;
  tl_buf_clear(miss->text);
  va_start(ap, fmt);
  tl_buf_vprintf(miss->text, fmt, ap);
  va_end(ap);
}

/* ---- numbers and attributes ------------------------------------------------------------------ */

static void print_number(tl_buf *out, const tl_module *m, tl_value_id v) {
  const tl_tensor *t = tl_value_constant(m, v);
  int64_t whole;
  double number;
  if (tl_tensor_elements(m, t) != 1)
    tl_buf_printf(out, "%llu numbers", (unsigned long long)tl_tensor_elements(m, t));
  else if (tl_tensor_int_at(m, t, 0, &whole))
    tl_buf_printf(out, "%lld", (long long)whole);
  else if (tl_tensor_float_at(m, t, 0, &number))
    tl_buf_printf(out, "%.9g", number);
  else
    tl_buf_add_z(out, "another constant");
}

void tl_rule_note_number(tl_match *match, uint32_t depth, const tl_excuse *e) {
  tl_buf found;
  if (!is_deeper(match->miss, depth))
    return;
  tl_buf_init(&found);
  if (match->miss->text)
    print_number(&found, match->m, e->value);
  tl_sv where = tl_node_where(match->m, e->node).node;
  tl_sv text = found.failed ? TL_SV("another") : tl_buf_view(&found);
  tl_match_note(match, depth, "CONST_VALUE", "`%.*s`: const %s%.9g, found %.*s", TL_SV_ARG(where),
                e->operand->tolerant ? "~" : "", e->operand->number, TL_SV_ARG(text));
  tl_buf_release(&found);
}

/* A value as rules write it. */
static void print_attr(tl_buf *out, tl_match *match, const tl_excuse *e) {
  const tl_attr *a = tl_node_attr_or_default(match->m, e->node, e->name);
  tl_rv v = a && a->kind != TL_ATTR_STRINGS ? tl_rv_of_attr(a) : (tl_rv){0};
  tl_rv wanted = e->attr && e->attr->expr ? tl_rule_eval(match, e->attr->expr) : (tl_rv){0};
  if (wanted.kind == TL_RV_DTYPE && v.kind == TL_RV_INT)
    v = (tl_rv){.kind = TL_RV_DTYPE, .i = tl_dtype_from_onnx(v.i)};
  if (v.kind == TL_RV_NONE)
    tl_buf_add_z(out, a ? "another kind" : "none");
  else
    tl_rv_print(match->m, v, out);
}

void tl_rule_note_attr(tl_match *match, uint32_t depth, const tl_excuse *e) {
  tl_buf found;
  if (!is_deeper(match->miss, depth))
    return;
  tl_buf_init(&found);
  if (match->miss->text)
    print_attr(&found, match, e);
  tl_sv where = tl_node_where(match->m, e->node).node, name = tl_sym(match->m, e->name);
  tl_sv text = found.failed ? TL_SV("another") : tl_buf_view(&found);
  if (e->attr)
    tl_match_note(match, depth, "ATTR", "`%.*s`: attribute %.*s = %.*s, found %.*s",
                  TL_SV_ARG(where), TL_SV_ARG(name), TL_SV_ARG(e->attr->expr->text),
                  TL_SV_ARG(text));
  else
    tl_match_note(match, depth, "ATTR",
                  "`%.*s` sets attribute %.*s = %.*s, which the rule does not mention",
                  TL_SV_ARG(where), TL_SV_ARG(name), TL_SV_ARG(text));
  tl_buf_release(&found);
}

/* ---- what a condition is about -------------------------------------------------------------- */

typedef struct topic {
  const char *code; /* NULL: no special code */
  bool values;
  bool names;
} topic;

/* Functions and the reason code of conditions that call them; the first call found decides. */
static const struct {
  const char *function;
  const char *code;
} topics[] = {
    {"dtype", "DTYPE"},          {"is_float", "DTYPE"},         {"keeps", "DTYPE"},
    {"widens", "DTYPE"},         {"same_type", "DTYPE"},        {"ints", "CONST_VALUE"},
    {"wholes", "CONST_VALUE"},   {"scalar", "CONST_VALUE"},     {"is_splat", "CONST_VALUE"},
    {"is_const", "CONST_VALUE"}, {"same_value", "CONST_VALUE"}, {"is_output", "GRAPH_OUTPUT"},
    {"uses", "MULTI_CONSUMER"},
};

static const char *topic_of(const char *function) {
  for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
    if (strcmp(topics[i].function, function) == 0)
      return topics[i].code;
  return NULL;
}

static void find_topic(const tl_expr *e, topic *t) {
  t->values = t->values || e->kind == TL_EXPR_VALUE;
  t->names = t->names || e->kind == TL_EXPR_NAME;
  if (e->kind == TL_EXPR_CALL && !t->code)
    t->code = topic_of(tl_functions[e->function].name);
  for (uint16_t i = 0; i < e->n; i++)
    find_topic(e->args[i], t);
}

/* Returns the reason code of a condition: by function called, else by what it mentions. */
static const char *code_of(const tl_expr *e, tl_rv result) {
  topic t = {0};
  find_topic(e, &t);
  if (t.code)
    return t.code;
  if (t.values)
    return result.kind == TL_RV_NONE ? "DYNAMIC" : "SHAPE";
  return t.names ? "ATTR" : "CONDITION";
}

/* Returns the part of a conjunction that fails. */
static const tl_expr *failing_part(tl_match *match, const tl_expr *e) {
  while (e->kind == TL_EXPR_AND)
    e = tl_rv_is_true(tl_rule_eval(match, e->args[0])) ? e->args[1] : e->args[0];
  return e;
}

/* ---- the values that decide it --------------------------------------------------------------- */

typedef struct telling {
  tl_match *x;
  tl_buf *out;
  const tl_expr *told[MOST_MENTIONED];
  uint32_t n;
} telling;

/* Returns true once per sub-expression, up to MOST_MENTIONED; writes the separator. */
static bool is_new(telling *t, const tl_expr *e) {
  for (uint32_t i = 0; i < t->n; i++)
    if (tl_sv_eq(t->told[i]->text, e->text))
      return false;
  if (t->n == MOST_MENTIONED)
    return false;
  t->told[t->n++] = e;
  tl_buf_add_z(t->out, t->n == 1 ? ": " : ", ");
  return true;
}

static bool is_literal(const tl_expr *e) {
  return e->kind <= TL_EXPR_BOOL || (e->kind == TL_EXPR_MINUS && e->args[0]->kind <= TL_EXPR_BOOL);
}

static void tell_computed(telling *t, const tl_expr *e) {
  if (is_literal(e) || e->kind == TL_EXPR_VALUE || e->kind == TL_EXPR_LIST || !is_new(t, e))
    return;
  tl_buf_printf(t->out, "%.*s is ", TL_SV_ARG(e->text));
  tl_rv_print(t->x->m, tl_rule_eval(t->x, e), t->out);
}

static void tell_value(telling *t, const tl_expr *e) {
  const tl_match *match = t->x;
  tl_value_id v = match->bound >> e->u.i & 1 ? match->values[e->u.i] : TL_NO_VALUE;
  if (match->rule->values[e->u.i].rest || !is_new(t, e))
    return;
  tl_buf_printf(t->out, "%.*s is ", TL_SV_ARG(e->text));
  if (!v) {
    tl_buf_add_z(t->out, "absent");
    return;
  }
  tl_sv name = tl_value_name(match->m, v);
  tl_buf_printf(t->out, "`%.*s`: %s", TL_SV_ARG(name),
                tl_value_constant(match->m, v) ? "constant " : "");
  tl_type_print(match->m, tl_value_type(match->m, v), t->out);
}

static void tell_leaves(telling *t, const tl_expr *e) {
  if (e->kind == TL_EXPR_VALUE)
    tell_value(t, e);
  if (e->kind == TL_EXPR_NAME)
    tell_computed(t, e);
  for (uint16_t i = 0; i < e->n; i++)
    tell_leaves(t, e->args[i]);
}

/* A comparison shows its computed sides first, then the values and names in it. */
static void tell(tl_match *match, const tl_expr *e, tl_buf *out) {
  telling t = {.x = match, .out = out};
  if (e->kind >= TL_EXPR_EQ && e->kind <= TL_EXPR_IN)
    for (uint16_t i = 0; i < e->n; i++)
      tell_computed(&t, e->args[i]);
  tell_leaves(&t, e);
}

void tl_rule_note_condition(tl_match *match, uint32_t depth, const tl_expr *condition) {
  if (!is_deeper(match->miss, depth))
    return;
  const tl_expr *e = failing_part(match, condition);
  tl_buf why;
  tl_buf_init(&why);
  if (match->miss->text)
    tell(match, e, &why);
  tl_rv result = tl_rule_eval(match, e);
  tl_sv detail = why.failed || !why.p ? TL_SV("") : tl_buf_view(&why);
  tl_match_note(match, depth, code_of(e, result), "`%.*s` %s%.*s", TL_SV_ARG(e->text),
                result.kind == TL_RV_NONE ? "cannot be told" : "does not hold", TL_SV_ARG(detail));
  match->miss->condition = e->text;
  tl_buf_release(&why);
}
