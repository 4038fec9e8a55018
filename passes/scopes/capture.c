/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces scopes by single nodes (capture.h). Nothing is changed before everything is known to
 * fit. */
#include "passes/scopes/capture.h"

#include "ir/marks.h"
#include "ir/trace.h"
#include "passes/engine/rule_values.h"
#include "passes/scopes/body.h"
#include "passes/scopes/boundary.h"
#include "passes/scopes/verify.h"

/* Budget of steps for walks behind scopes, in one run: scattered scopes would make them quadratic.
 */
enum { STEPS_A_NODE = 64, STEPS_AT_LEAST = 100000 };

/* ---- the definition -------------------------------------------------------------------------- */

/* Returns the body that an earlier capture gave the op of the rule; NULL if there is none. */
static tl_module *known_body(const tl_capture *c) {
  for (uint32_t i = 0; i < c->m->definitions.n; i++) {
    const tl_definition *d = &c->m->definitions.at[i];
    if (!d->like && d->op == c->rule->scope->op)
      return d->body;
  }
  return NULL;
}

/* Returns a node of the rule's op that came with the model, without a known meaning. */
static tl_node_id find_foreign(const tl_capture *c) {
  for (uint32_t i = 0; i < c->m->graphs.n; i++)
    if (!c->m->graphs.at[i]->erased)
      TL_FOR_NODES(c->m, c->m->graphs.at[i], n)
        if (tl_node_get(c->m, n)->op == c->rule->scope->op)
          return n;
  return TL_NO_NODE;
}

/* Makes the scope the definition of the op. */
static bool define(tl_capture *c, const tl_scope_cut *cut) {
  tl_op_id op = c->rule->scope->op;
  tl_definition d = {.op = op, .name = tl_op_name_symbol(c->m, op)};
  const char *why;
  tl_node_id where;
  if (c->foreign)
    return tl_capture_refuse_node(c, "DEFINITION", c->foreign,
                                  "has this op type already, without a known meaning");
  if (tl_scope_body_make(c->m, cut, &d.body, &why, &where) != TL_OK)
    return tl_capture_out_of_memory(c);
  if (!d.body)
    return tl_capture_refuse_node(c, "SCOPE_BODY", where, why);
  if (tl_definition_vec_push(&c->m->definitions, d))
    return true;
  tl_module_destroy(d.body);
  return tl_capture_out_of_memory(c);
}

/* Takes an attribute from the scope: the constant operand of the first suitable node. */
static bool find_number(tl_capture *c, const tl_scope_setting *s, tl_attr *out) {
  double v;
  for (uint32_t i = 0; i < c->nodes.n; i++) {
    const tl_node *node = tl_node_get(c->m, c->nodes.at[i]);
    tl_value_id o = node->op == s->op && s->operand < node->n_operands
                        ? tl_operand(c->m, c->nodes.at[i], s->operand)
                        : TL_NO_VALUE;
    const tl_tensor *t = o ? tl_value_constant(c->m, o) : NULL;
    int64_t whole;
    if (!t || tl_tensor_elements(c->m, t) != 1)
      continue;
    bool integer = tl_tensor_int_at(c->m, t, 0, &whole);
    if (!integer && (!tl_tensor_float_at(c->m, t, 0, &v) || s->attr.kind != TL_ATTR_FLOAT))
      continue;
    tl_rv number = integer ? (tl_rv){.kind = TL_RV_INT, .i = whole}
                           : (tl_rv){.kind = TL_RV_FLOAT, .f = v};
    *out = tl_rule_attr(c->m, s->attr.name, (tl_attr_kind)s->attr.kind, number);
    return true;
  }
  tl_sv op = tl_op_name(c->m, s->op), name = tl_sym(c->m, s->attr.name);
  return tl_capture_refuse(c, "CONST_VALUE", "no %.*s has one number as operand %u, for %.*s",
                           TL_SV_ARG(op), s->operand, TL_SV_ARG(name));
}

static bool find_attrs(tl_capture *c) {
  const tl_scope_pattern *p = c->rule->scope;
  for (uint32_t i = 0; i < p->n_settings; i++) {
    c->attrs[i] = p->settings[i].attr;
    if (p->settings[i].found && !find_number(c, &p->settings[i], &c->attrs[i]))
      return false;
  }
  return true;
}

/* clang-format off */
/* Compares the scope on random samples with the op, or with its definition. */
static bool agrees(tl_capture *c, const tl_scope_cut *cut, tl_module *body) {
  tl_scope_trial t = {.options = c->p->options, .m = c->m, .pattern = c->rule->scope, .cut = cut,
                      .body = body, .attrs = c->attrs, .n_attrs = c->rule->scope->n_settings};
  tl_buf why;
  bool agree;
  tl_buf_init(&why);
  c->no_memory = tl_scope_try(&t, &agree, &why) != TL_OK;
  tl_sv text = why.failed ? TL_SV("") : tl_buf_view(&why);
  if (!agree && !c->no_memory)
    tl_capture_refuse(c, "SCOPE_VERIFY", "%.*s", TL_SV_ARG(text));
  tl_buf_release(&why);
  return agree && !c->no_memory;
}

/* Checks or makes the definition: that of the op table, or of the first captured scope. */
static bool make_definition(tl_capture *c) {
  tl_scope_cut cut = {.nodes = c->nodes.at, .n_nodes = c->nodes.n,
                      .inputs = c->inputs.at, .input_names = c->input_names.at,
                      .n_inputs = c->inputs.n, .outputs = c->outputs.at,
                      .output_names = c->output_names.at, .n_outputs = c->outputs.n};
  if (tl_op_row(c->rule->scope->op))
    return find_attrs(c) && agrees(c, &cut, NULL);
  tl_module *known = known_body(c);
  if (!known)
    return define(c, &cut);
  if (tl_scope_body_is(c->m, &cut, known, c->room))
    return true;
  return c->rule->scope->verify.samples
             ? agrees(c, &cut, known)
             : tl_capture_refuse(c, "DEFINITION",
                      "the scope computes something other than the first one that became this op");
}

/* ---- the node -------------------------------------------------------------------------------- */

/* Returns a name such as "encoder/self_attn/SelfAttention": the path without the first '/', and the
 * op. */
static tl_symbol node_name(tl_capture *c) {
  tl_buf text;
  tl_buf_init(&text);
  tl_scope_path(c->scopes, c->scope, &text);
  tl_sv op = tl_op_name(c->m, c->rule->scope->op);
  tl_buf_printf(&text, "/%.*s", TL_SV_ARG(op));
  tl_symbol name = text.failed ? TL_NO_SYMBOL
                               : tl_module_fresh_name(c->m, (tl_sv){text.p + 1, text.n - 1});
  tl_buf_release(&text);
  return name;
}

static tl_node_id insert(tl_capture *c) {
  tl_node_id first = c->nodes.at[0], last = c->nodes.at[c->nodes.n - 1];
  tl_node_spec spec = {.op = c->rule->scope->op, .name = node_name(c), .operands = c->inputs.at,
                       .n_operands = c->inputs.n, .n_results = c->outputs.n, .attrs = c->attrs,
                       .n_attrs = c->rule->scope->n_settings};
  tl_node_id made = spec.name == TL_NO_SYMBOL ? TL_NO_NODE : tl_graph_insert(c->m, last, &spec);
  if (!made)
    return TL_NO_NODE;
  tl_node_get(c->m, made)->scope = tl_node_get(c->m, first)->scope;
  tl_node_get(c->m, made)->stream = tl_node_get(c->m, first)->stream;
  for (uint32_t i = 0; i < c->outputs.n; i++)
    tl_value_set_type(c->m, tl_result(c->m, made, i), tl_value_type(c->m, c->outputs.at[i]));
  if (tl_trace_record(c->m, made, c->nodes.at, c->nodes.n, tl_sym(c->m, c->rule->pass), false) ==
      TL_OK)
    return made;
  tl_node_erase(c->m, made);
  return TL_NO_NODE;
}

static void replace(tl_capture *c, tl_node_id made) {
  tl_node_id at = c->nodes.at[c->nodes.n - 1];
  for (uint32_t i = 0; i < c->behind.n; i++) {
    tl_node_move_after(c->m, c->behind.at[i], at);
    at = c->behind.at[i];
  }
  for (uint32_t i = 0; i < c->outputs.n; i++)
    tl_value_merge(c->m, c->outputs.at[i], tl_result(c->m, made, i));
  for (uint32_t i = c->nodes.n; i-- > 0;)
    tl_node_erase(c->m, c->nodes.at[i]);
}

/* ---- remarks --------------------------------------------------------------------------------- */

static void remark(tl_capture *c, tl_node_id n, const tl_sv *names, uint32_t n_names, tl_sv made) {
  tl_fusion_remark f = {.fusion = tl_sym(c->m, c->rule->pass), .rule = tl_sym(c->m, c->rule->name),
                        .numerics = (tl_numerics)c->rule->numerics, .code = c->code, .made = made,
                        .reason = !c->code ? NULL : c->why.failed || !c->why.p ? "" : c->why.p,
                        .n_made = made.n > 0, .nodes = names, .n_nodes = n_names,
                        .wanted = n_names};
  tl_pass_fusion_remark(c->p, c->m, n, &f);
}
/* clang-format on */

static void count(tl_capture *c, uint32_t matched, uint32_t effective) {
  if (c->p->fusions &&
      tl_fusion_stats_add(c->p->fusions,
                          &(tl_fusion_event){TL_FUSION_SCOPE, tl_sym(c->m, c->rule->pass), matched,
                                             effective, 0, 0}) != TL_OK)
    c->no_memory = true;
}

/* Returns the names of the nodes for a remark after they are erased; NULL if remarks are off. */
static tl_sv *names_of(tl_capture *c) {
  size_t room = c->nodes.n + 1u;
  tl_sv *names = c->p->remark ? tl_arena_calloc(c->p->scratch, room, sizeof *names) : NULL;
  for (uint32_t i = 0; names && i < c->nodes.n; i++)
    names[i] = tl_node_where(c->m, c->nodes.at[i]).node;
  return names;
}

/* ---- one scope ------------------------------------------------------------------------------- */

static void apply(tl_capture *c) {
  tl_sv *names = names_of(c);
  tl_node_id made = insert(c);
  if (!made) {
    c->no_memory = true;
    return;
  }
  (void)tl_pass_may_rewrite(c->p); /* counts the rewrite; capture_scope checked the limit */
  count(c, 0, 1);
  replace(c, made);
  remark(c, made, names, names ? c->nodes.n : 0, tl_op_name(c->m, c->rule->scope->op));
}

static void clear(tl_capture *c) {
  for (uint32_t i = 0; i < c->nodes.n; i++)
    c->marks[c->nodes.at[i]] = 0;
  for (uint32_t i = 0; i < c->behind.n; i++)
    c->marks[c->behind.at[i]] = 0;
  tl_u32_vec *lists[] = {&c->nodes,  &c->behind,      &c->values,       &c->weights,
                         &c->inputs, &c->input_names, &c->output_names, &c->outputs};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    lists[i]->n = 0;
  c->code = NULL;
}

/* Grows an array to n entries and a quarter more; new entries are zero. */
static bool grow(tl_capture *c, void **at, uint32_t *have, uint32_t n, size_t size) {
  if (n <= *have)
    return true;
  char *more = realloc(*at, (n + n / 4) * size);
  if (!more)
    return tl_capture_out_of_memory(c);
  memset(more + *have * size, 0, (n + n / 4 - *have) * size);
  *at = more;
  *have = n + n / 4;
  return true;
}

/* Makes room for nodes and values made since the last scope. */
static bool grow_room(tl_capture *c) {
  void *marks = c->marks, *room = c->room;
  bool fits = grow(c, &marks, &c->n_marks, tl_module_node_end(c->m), sizeof *c->marks);
  c->marks = marks;
  fits = fits && grow(c, &room, &c->n_room, tl_module_value_end(c->m), sizeof *c->room);
  c->room = room;
  return fits;
}

/* Captures one scope. Returns true if it is replaced. A rule that is off is only explained. */
static bool capture_scope(tl_capture *c) {
  bool fits = grow_room(c) && tl_capture_find_boundary(c);
  bool stop = *c->p->rewrites >= c->p->limit;
  if (!c->rule->off)
    count(c, 1, 0);
  if (fits && c->rule->off)
    fits = tl_capture_refuse(c, c->rule->unsupported ? "UNSUPPORTED" : "SWITCH_OFF",
                             "the scope fits, but the rule is off: %s", c->rule->off);
  fits = fits && !stop && make_definition(c);
  if (fits)
    apply(c);
  else if (c->p->explain && c->code && c->nodes.n)
    remark(c, c->nodes.at[0], NULL, 0, TL_SV(""));
  clear(c);
  return fits;
}

static void explain_nodes(tl_capture *c) {
  tl_buf_clear(&c->why);
  (void)tl_scope_judge(c->scopes, c->rule, c->scope, &c->why);
  c->code = "SCOPE";
  remark(c, c->scopes->nodes.at[c->scopes->at.at[c->scope].first], NULL, 0, TL_SV(""));
  c->code = NULL;
}

static void run_rule(tl_capture *c) {
  bool means = tl_op_row(c->rule->scope->op) || known_body(c);
  c->foreign = means ? TL_NO_NODE : find_foreign(c);
  for (c->scope = 1; c->scope < c->scopes->at.n && !c->no_memory; c->scope++) {
    tl_scope_verdict v = tl_scope_judge(c->scopes, c->rule, c->scope, NULL);
    if (v == TL_SCOPE_OTHER_NODES && c->p->explain)
      explain_nodes(c);
    if (v == TL_SCOPE_FITS && capture_scope(c))
      c->scope = c->scopes->at.at[c->scope].last;
  }
}

static void release(tl_capture *c) {
  clear(c);
  tl_u32_vec *lists[] = {&c->nodes,  &c->behind,      &c->values,       &c->weights,
                         &c->inputs, &c->input_names, &c->output_names, &c->outputs};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    tl_u32_vec_release(lists[i]);
  tl_buf_release(&c->why);
  tl_merge_facts_release(&c->facts);
  free(c->marks);
  free(c->room);
}

tl_status tl_capture_scopes(tl_pass *p, tl_module *m, tl_ruleset *rules, tl_scopes *scopes) {
  tl_capture c = {.p = p, .m = m, .scopes = scopes};
  if (!tl_rules_have(rules, TL_RULE_BIT(TL_RULE_CAPTURE), p->explain))
    return TL_OK;
  if (!tl_scopes_ask(scopes))
    return tl_no_memory(m);
  TL_TRY(tl_merge_facts_find(p, m, &c.facts));
  tl_buf_init(&c.why);
  c.steps = scopes->n_of * (uint64_t)STEPS_A_NODE + STEPS_AT_LEAST;
  for (uint32_t i = 0; i < rules->rules.n && !c.no_memory; i++) {
    c.rule = rules->rules.at[i];
    if (c.rule->kind == TL_RULE_CAPTURE && (!c.rule->off || p->explain))
      run_rule(&c);
  }
  release(&c);
  return c.no_memory ? tl_no_memory(m) : TL_OK;
}
