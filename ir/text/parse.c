/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of the textual IR: module header, graphs and the statements that are not nodes. */
#include "ir/text/parse.h"

#include "ir/names.h"
#include "ir/ops_gen.h"
#include "ir/text/parse_internal.h"
#include "ir/verify/verify.h"

const char *tl_control_origin_name(tl_control_origin origin) {
  static const char *const names[TL_N_CONTROL_ORIGINS] = {[TL_CONTROL_USER] = "user",
                                                          [TL_CONTROL_GATE] = "gate",
                                                          [TL_CONTROL_MEMORY] = "memory",
                                                          [TL_CONTROL_COMM_ORDER] = "comm_order",
                                                          [TL_CONTROL_SCHED] = "sched"};
  return names[origin];
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* "%x: type = value"; the type or the value may be left out where allowed. */
static tl_status parse_declaration(tl_parser *p, tl_token *name, tl_type_id *type,
                                   tl_tensor_id *tensor) {
  *name = p->at;
  *type = TL_NO_TYPE;
  *tensor = TL_NO_TENSOR;
  if (name->kind != TL_TOKEN_VALUE && name->kind != TL_TOKEN_ANONYMOUS)
    return tl_parse_expected(p, "a value (%name)");
  tl_parse_advance(p);
  if (tl_parse_accept(p, ":"))
    TL_TRY(tl_parse_type(p, type));
  if (tl_parse_accept(p, "="))
    TL_TRY(tl_parse_tensor(p, *type, tensor));
  if (*type == TL_NO_TYPE && *tensor != TL_NO_TENSOR)
    *type = tl_tensor_get(p->m, *tensor)->type;
  return TL_OK;
}

static tl_status name_of(tl_parser *p, tl_token t, tl_symbol *name) {
  *name = 0;
  return t.kind == TL_TOKEN_ANONYMOUS ? TL_OK : tl_parse_symbol_of(p, t, name);
}

static tl_status parse_inputs(tl_parser *p, tl_graph_id g) {
  tl_token at;
  tl_symbol name;
  tl_type_id type;
  tl_tensor_id tensor;
  TL_TRY(tl_parse_expect(p, "("));
  for (bool first = true; !tl_parse_accept(p, ")"); first = false) {
    if (!first)
      TL_TRY(tl_parse_expect(p, ","));
    TL_TRY(parse_declaration(p, &at, &type, &tensor));
    TL_TRY(name_of(p, at, &name));
    tl_value_id v = tl_graph_add_input(p->m, g, name, type, tensor);
    if (!v)
      return tl_parse_memory(p);
    TL_TRY(tl_parse_bind(p, at, v));
  }
  return TL_OK;
}

/* Outputs are named before they are defined: the tokens are kept. */
static tl_status parse_outputs(tl_parser *p, tl_token_vec *outputs) {
  TL_TRY(tl_parse_expect(p, "->"));
  TL_TRY(tl_parse_expect(p, "("));
  while (!tl_parse_accept(p, ")")) {
    if (outputs->n)
      TL_TRY(tl_parse_expect(p, ","));
    if (p->at.kind != TL_TOKEN_VALUE && p->at.kind != TL_TOKEN_ANONYMOUS)
      return tl_parse_expected(p, "an output (%name)");
    if (!tl_token_vec_push(outputs, p->at))
      return tl_parse_memory(p);
    tl_parse_advance(p);
  }
  return TL_OK;
}

static tl_status set_outputs(tl_parser *p, tl_graph_id g, const tl_token_vec *outputs) {
  p->ids.n = 0;
  for (uint32_t i = 0; i < outputs->n; i++) {
    uint32_t v;
    TL_TRY(tl_parse_lookup(p, outputs->at[i], &v));
    if (!tl_u32_vec_push(&p->ids, v))
      return tl_parse_memory(p);
  }
  tl_status status = tl_graph_set_outputs(p->m, g, p->ids.at, p->ids.n);
  return status == TL_OK ? TL_OK : tl_parse_memory(p);
}

static tl_status parse_constant(tl_parser *p, tl_graph_id g) {
  tl_token at;
  tl_symbol name;
  tl_type_id type;
  tl_tensor_id tensor;
  TL_TRY(parse_declaration(p, &at, &type, &tensor));
  if (tensor == TL_NO_TENSOR)
    return tl_parse_expected(p, "'=' and the value of the constant");
  TL_TRY(name_of(p, at, &name));
  tl_value_id v = tl_graph_add_constant(p->m, g, name, tensor);
  if (!v)
    return tl_parse_memory(p);
  tl_value_set_type(p->m, v, type);
  return tl_parse_bind(p, at, v);
}

/* about graph|%value CLAUSES */
static tl_status parse_about(tl_parser *p, tl_graph_id g) {
  tl_value_id v;
  if (tl_parse_accept(p, "graph"))
    return tl_parse_extra(p, &tl_graph_get(p->m, g)->extra);
  TL_TRY(tl_parse_value_ref(p, false, &v));
  return tl_parse_extra(p, &tl_value_get(p->m, v)->extra);
}

/* state %input -> %output [= %initial] [param] [local [RANK]] */
static tl_status parse_state(tl_parser *p) {
  tl_state s = {0};
  TL_TRY(tl_parse_value_ref(p, false, &s.input));
  TL_TRY(tl_parse_expect(p, "->"));
  TL_TRY(tl_parse_value_ref(p, false, &s.output));
  if (tl_parse_accept(p, "="))
    TL_TRY(tl_parse_value_ref(p, false, &s.initial));
  s.parameter = tl_parse_accept(p, "param");
  s.local = tl_parse_accept(p, "local");
  if (s.local && p->at.kind == TL_TOKEN_NUMBER) {
    int64_t rank;
    TL_TRY(tl_parse_int(p, "a rank", &rank));
    if (rank < 0 || rank >= INT32_MAX)
      return tl_parse_fail_at(p, p->at, TL_INVALID_MODEL, "%lld is no rank", (long long)rank);
    s.root = (uint32_t)rank + 1;
  }
  return tl_state_vec_push(&p->m->states, s) ? TL_OK : tl_parse_memory(p);
}

/* gradient %param -> %grad [rows %indices] */
static tl_status parse_gradient(tl_parser *p) {
  tl_gradient g = {0};
  TL_TRY(tl_parse_value_ref(p, false, &g.param));
  TL_TRY(tl_parse_expect(p, "->"));
  TL_TRY(tl_parse_value_ref(p, false, &g.grad));
  if (tl_parse_accept(p, "rows"))
    TL_TRY(tl_parse_value_ref(p, false, &g.indices));
  return tl_gradient_vec_push(&p->m->gradients, g) ? TL_OK : tl_parse_memory(p);
}

static tl_status parse_mark(tl_parser *p, const char *what, tl_value_id *mark) {
  TL_TRY(tl_parse_once(p, p->at, *mark != TL_NO_VALUE, what));
  return tl_parse_value_ref(p, false, mark);
}

static tl_status parse_loss(tl_parser *p) { return parse_mark(p, "the loss", &p->m->loss); }

static tl_status parse_seed(tl_parser *p) { return parse_mark(p, "the seed", &p->m->seed); }

/* What is said of a training step: that is the main graph, and what a body has is made anew each
 * time it runs. */
static tl_status parse_of_step(tl_parser *p, bool *found) {
  static const struct {
    const char *word;
    tl_status (*parse)(tl_parser *p);
  } facts[] = {{"state", parse_state},
               {"gradient", parse_gradient},
               {"loss", parse_loss},
               {"seed", parse_seed}};
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
    tl_token at = p->at;
    if (!(*found = tl_parse_accept(p, facts[i].word)))
      continue;
    if (p->depth > 1)
      return tl_parse_fail_at(p, at, TL_INVALID_MODEL,
                              "'%s' is allowed in the main graph only, not in a body",
                              facts[i].word);
    return facts[i].parse(p);
  }
  return TL_OK;
}

static tl_status parse_statement(tl_parser *p, tl_graph_id g) {
  if (!tl_parse_starts_op(p)) {
    bool found;
    if (tl_parse_accept(p, "const"))
      return parse_constant(p, g);
    if (tl_parse_accept(p, "about"))
      return parse_about(p, g);
    tl_status status = parse_of_step(p, &found);
    if (found)
      return status;
  }
  return tl_parse_node(p, g);
}

static tl_status parse_inside(tl_parser *p, tl_graph_id g, tl_token_vec *outputs) {
  TL_TRY(parse_inputs(p, g));
  TL_TRY(parse_outputs(p, outputs));
  TL_TRY(tl_parse_expect(p, "{"));
  while (!tl_parse_is(p, "}"))
    TL_TRY(parse_statement(p, g));
  TL_TRY(set_outputs(p, g, outputs));
  tl_parse_advance(p);
  return TL_OK;
}

tl_status tl_parse_graph(tl_parser *p, tl_graph_kind kind, tl_node_id owner, tl_graph_id *out) {
  tl_symbol name = 0;
  if (p->depth > TL_MAX_BODY_DEPTH)
    return tl_parse_fail_at(p, p->at, TL_LIMIT, "graphs nest more than %d deep", TL_MAX_BODY_DEPTH);
  if (p->at.kind == TL_TOKEN_NODE) {
    TL_TRY(tl_parse_symbol_of(p, p->at, &name));
    tl_parse_advance(p);
  }
  *out = tl_graph_create(p->m, kind, name, owner);
  if (*out == TL_NO_GRAPH)
    return tl_parse_memory(p);
  uint32_t mark = p->undo.n;
  tl_token_vec outputs = {0};
  p->depth++;
  tl_status status = parse_inside(p, *out, &outputs);
  p->depth--;
  tl_token_vec_release(&outputs);
  tl_parse_unwind(p, mark);
  return status;
}

/* ---- the module ------------------------------------------------------------------------------ */

static tl_status parse_opset(tl_parser *p) {
  static const char older[] =
      "\vnodes in textual IR mean what they mean in opset 21; the opset that "
      "the model was written for is a source_opset";
  tl_symbol domain;
  int64_t version;
  TL_TRY(tl_parse_string(p, "a domain, quoted", &domain));
  if (domain == TL_SYM_ai_onnx) /* the other name of the default domain */
    domain = 0;
  tl_token at = p->at;
  TL_TRY(tl_parse_int(p, "a version", &version));
  if (domain && version < 1)
    return tl_parse_fail_at(p, at, TL_INVALID_MODEL, "opset %lld is below 1", (long long)version);
  int least = TL_ONNX_CANONICAL_OPSET;
  if (!domain && (version < least || version > TL_ONNX_NEWEST_OPSET))
    return tl_parse_fail_at(p, at, TL_INVALID_MODEL, "opset %lld is not between %d and %d%s",
                            (long long)version, least, TL_ONNX_NEWEST_OPSET,
                            version < 1 || version > least ? "" : older);
  int64_t before = tl_module_opset(p->m, domain);
  if (before && before != version)
    return tl_parse_fail_at(p, at, p->beside ? TL_UNSUPPORTED : TL_INVALID_MODEL,
                            "opset %lld contradicts opset %lld, which the same domain has %s",
                            (long long)version, (long long)before,
                            p->beside ? "in the other model" : "above");
  tl_status status = tl_module_set_opset(p->m, domain, version);
  return status == TL_NO_MEMORY ? tl_parse_memory(p) : status;
}

static tl_status parse_source_opset(tl_parser *p) {
  tl_token at = p->at;
  TL_TRY(tl_parse_int(p, "a version", &p->m->source_opset));
  if (p->m->source_opset < 1 || p->m->source_opset > TL_ONNX_NEWEST_OPSET)
    return tl_parse_fail_at(p, at, TL_INVALID_MODEL, "source_opset %lld is not between 1 and %d",
                            (long long)p->m->source_opset, TL_ONNX_NEWEST_OPSET);
  return TL_OK;
}

static tl_status parse_producer(tl_parser *p) {
  TL_TRY(tl_parse_string(p, "the producer's name, quoted", &p->m->producer_name));
  if (p->at.kind == TL_TOKEN_STRING)
    return tl_parse_string(p, "a version", &p->m->producer_version);
  return TL_OK;
}

static tl_status parse_call(tl_parser *p) {
  tl_call call;
  TL_TRY(tl_parse_string(p, "the path of a call, quoted", &call.path));
  TL_TRY(tl_parse_string(p, "the function, quoted", &call.function));
  return tl_call_vec_push(&p->m->calls, call) ? TL_OK : tl_parse_memory(p);
}

static tl_status parse_form(tl_parser *p) {
  for (int form = TL_FORM_CANONICAL; form <= TL_FORM_NPU; form++) {
    if (tl_parse_accept(p, tl_form_name((tl_form)form))) {
      p->m->form = (uint8_t)form;
      return TL_OK;
    }
  }
  return tl_parse_expected(p, "canonical, spelled, selected or npu");
}

static tl_status parse_ir_version(tl_parser *p) {
  return tl_parse_int(p, "a version", &p->m->ir_version);
}

static tl_status parse_model_version(tl_parser *p) {
  return tl_parse_int(p, "a version", &p->m->model_version);
}

static tl_status parse_domain(tl_parser *p) {
  return tl_parse_string(p, "a domain, quoted", &p->m->domain);
}

/* said: a bit for each entry that was there. */
static tl_status parse_header_entry(tl_parser *p, unsigned *said) {
  static const struct {
    const char *word;
    tl_status (*parse)(tl_parser *p);
    bool once;
  } entries[] = {{"ir_version", parse_ir_version, true},
                 {"opset", parse_opset, false},
                 {"source_opset", parse_source_opset, true},
                 {"producer", parse_producer, true},
                 {"model_version", parse_model_version, true},
                 {"domain", parse_domain, true},
                 {"call", parse_call, false},
                 {"form", parse_form, true}};
  tl_token before = p->at;
  for (unsigned i = 0; i < sizeof entries / sizeof *entries; i++) {
    if (!tl_parse_accept(p, entries[i].word))
      continue;
    TL_TRY(tl_parse_once(p, before, entries[i].once && (*said >> i & 1), entries[i].word));
    *said |= 1U << i;
    return entries[i].parse(p);
  }
  TL_TRY(tl_parse_extra(p, &p->m->extra));
  if (p->at.line == before.line && p->at.column == before.column)
    return tl_parse_expected(p, "an entry of the module header (ir_version, opset, producer, "
                                "doc ...) or '}'");
  return TL_OK;
}

static tl_status parse_header(tl_parser *p) {
  unsigned said = 0;
  TL_TRY(tl_parse_expect(p, "{"));
  while (!tl_parse_accept(p, "}"))
    TL_TRY(parse_header_entry(p, &said));
  return TL_OK;
}

/* A result that has the name of a later value gets a name of its own; one that has the name of an
 * earlier value is an error, since both can be meant. */
static tl_status part_name(void *user, tl_value_id v, bool seen) {
  tl_module *m = user;
  tl_symbol name = seen ? 0 : tl_module_fresh_name(m, tl_value_name(m, v));
  if (name == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  if (name)
    tl_value_set_name(m, v, name);
  return TL_OK;
}

static tl_status leave_hidden(void *user, tl_node_id n, uint32_t i, tl_value_id hider) {
  (void)user;
  (void)n;
  (void)i;
  (void)hider;
  return TL_OK; /* the verifier says what is wrong */
}

static tl_status part_names(tl_module *m) {
  tl_name_visitor visitor = {.shadows = part_name, .hidden = leave_hidden, .user = m};
  tl_status status = tl_names_walk(m, &visitor);
  return status == TL_NO_MEMORY ? tl_no_memory(m) : TL_OK;
}

static tl_status parse_module(tl_parser *p) {
  p->m->ir_version = TL_TEXT_IR_VERSION;
  if (tl_parse_accept(p, "module"))
    TL_TRY(parse_header(p));
  if (!tl_module_opset(p->m, 0) && tl_module_set_opset(p->m, 0, TL_ONNX_CANONICAL_OPSET) != TL_OK)
    return tl_parse_memory(p);
  do {
    tl_graph_id g;
    if (!tl_parse_accept(p, "graph"))
      return tl_parse_expected(p, "'graph'");
    TL_TRY(tl_parse_graph(p, TL_GRAPH_ROOT, TL_NO_NODE, &g));
  } while (p->at.kind != TL_TOKEN_END);
  if (p->m->graphs.n == 1)
    return TL_OK;
  TL_TRY(part_names(p->m));
  return tl_module_verify(p->m, TL_VERIFY_STRUCTURAL);
}

static void release(tl_parser *p) {
  tl_u32_vec_release(&p->bound);
  tl_undo_vec_release(&p->undo);
  tl_named_file_vec_release(&p->files);
  tl_attr_vec_release(&p->attrs);
  tl_token_vec_release(&p->results);
  tl_u32_vec_release(&p->ids);
  tl_buf_release(&p->text);
}

tl_status tl_module_parse(tl_diag *d, const char *path, tl_sv text, tl_module **out) {
  tl_parser p = {.lexer = tl_lex_start(text), .diag = d, .path = path ? path : ""};
  *out = NULL;
  tl_parse_advance(&p);
  p.m = tl_module_create(d, p.path, 0);
  if (!p.m)
    return tl_parse_memory(&p);
  tl_status status = parse_module(&p);
  release(&p);
  if (status != TL_OK) {
    tl_module_destroy(p.m);
    return status;
  }
  *out = p.m;
  return TL_OK;
}

tl_status tl_module_parse_beside(tl_diag *d, const char *path, tl_sv text, tl_module *m) {
  tl_parser p = {
      .lexer = tl_lex_start(text), .diag = d, .path = path ? path : "", .m = m, .beside = true};
  tl_about about = tl_module_about(m, p.path);
  tl_parse_advance(&p);
  tl_status status = parse_module(&p);
  release(&p);
  if (status == TL_OK)
    status = tl_module_verify(m, TL_VERIFY_ALL & ~(unsigned)TL_VERIFY_SHAPES);
  tl_module_set_about(m, &about);
  return status;
}
