/* SPDX-License-Identifier: Apache-2.0 */
/* Printer of the textual IR. Values without a name that somebody refers to get numbers in the order
 * in which they are printed, so the text does not depend on ids. */
#include "ir/text/print.h"

#include <stdlib.h>

#include "ir/lex.h"
#include "ir/text/parse.h"

typedef struct tl_lines {
  const tl_module *m;
  tl_buf *out;
  tl_print_options options;
  uint32_t *value_numbers; /* owned; by value id, 0: none yet */
  uint32_t *node_labels;   /* owned; by node id; NULL in a module without control edges */
  uint32_t last_number;
  uint32_t last_label;
  uint32_t depth;   /* of indentation */
  uint32_t nesting; /* of bodies */
  tl_status status;
} printer;

static void print_graph(printer *p, const tl_graph *g);

static void indent(printer *p, uint32_t level) {
  for (uint32_t i = 0; i < level; i++)
    tl_buf_add(p->out, "  ", 2);
}

static void add_name(printer *p, char sigil, tl_symbol name) {
  tl_sv text = tl_sym(p->m, name);
  tl_buf_add_char(p->out, sigil);
  if (tl_lex_is_plain_name(text))
    tl_buf_add_sv(p->out, text);
  else
    tl_buf_add_quoted(p->out, text);
}

static void add_word(printer *p, tl_sv word) {
  if (tl_lex_is_word(word))
    tl_buf_add_sv(p->out, word);
  else
    tl_buf_add_quoted(p->out, word);
}

static void add_value(printer *p, tl_value_id v) {
  if (v == TL_NO_VALUE) {
    tl_buf_add_char(p->out, '_');
    return;
  }
  tl_symbol name = tl_value_get(p->m, v)->name;
  if (name) {
    add_name(p, '%', name);
    return;
  }
  if (p->value_numbers[v] == 0)
    p->value_numbers[v] = p->options.keep_numbers ? v : ++p->last_number;
  tl_buf_add_z(p->out, "%$");
  tl_buf_add_u64(p->out, p->value_numbers[v]);
}

static void add_quoted_clause(printer *p, const char *word, tl_symbol s) {
  if (!s)
    return;
  tl_buf_add_z(p->out, word);
  tl_buf_add_quoted(p->out, tl_sym(p->m, s));
}

static void add_extra(printer *p, uint32_t slot) {
  const tl_extra *e = &p->m->extras.at[slot];
  add_quoted_clause(p, " doc ", e->doc);
  for (uint32_t i = 0; i < e->n_metadata; i++) {
    tl_buf_add_z(p->out, " meta ");
    tl_buf_add_quoted(p->out, tl_sym(p->m, e->metadata[i].key));
    tl_buf_add_char(p->out, ' ');
    tl_buf_add_quoted(p->out, tl_sym(p->m, e->metadata[i].value));
  }
  add_quoted_clause(p, " raw ", e->raw);
  add_quoted_clause(p, " denotation ", e->denotation);
}

static bool has_extra(const printer *p, uint32_t slot) {
  const tl_extra *e = &p->m->extras.at[slot];
  return e->doc || e->n_metadata || e->raw || e->denotation;
}

/* A line about a value, behind the statement that defines it. */
static void print_about(printer *p, tl_value_id v) {
  uint32_t slot = tl_value_get(p->m, v)->extra;
  if (!has_extra(p, slot))
    return;
  indent(p, p->depth + 1);
  tl_buf_add_z(p->out, "about ");
  add_value(p, v);
  add_extra(p, slot);
  tl_buf_add_char(p->out, '\n');
}

static void add_default(printer *p, const tl_value *value) {
  const tl_tensor *t = tl_tensor_get(p->m, value->tensor);
  tl_buf_add_z(p->out, " = ");
  if (t->type != value->type) {
    tl_type_print(p->m, t->type, p->out);
    tl_buf_add_char(p->out, ' ');
  }
  tl_tensor_print(p->m, t, p->options.elide_constants, p->out);
}

/* "%x: f32[2] = [1.0, 2.0]" */
static void add_declaration(printer *p, tl_value_id v) {
  const tl_value *value = tl_value_get(p->m, v);
  add_value(p, v);
  if (value->type != TL_NO_TYPE) {
    tl_buf_add_z(p->out, ": ");
    tl_type_print(p->m, value->type, p->out);
  }
  if (value->tensor != TL_NO_TENSOR)
    add_default(p, value);
}

/* A result nobody refers to needs no number. Result 0 stands for its node in "after". */
static void add_result(printer *p, const tl_node *node, uint32_t i) {
  const tl_value *value = tl_value_get(p->m, node->results + i);
  bool referred = value->name || value->n_uses || has_extra(p, value->extra) ||
                  (i == 0 && node->control_out);
  add_value(p, referred ? node->results + i : TL_NO_VALUE);
}

static void add_op(printer *p, const tl_node *node) {
  tl_sv domain = tl_op_domain(p->m, node->op);
  if (!domain.n && !tl_op_row(node->op)) /* said, as the name is none of ONNX */
    domain = TL_SV("ai.onnx");
  if (domain.n) {
    add_word(p, domain);
    tl_buf_add_z(p->out, "::");
  }
  add_word(p, tl_op_name(p->m, node->op));
  tl_buf_add_char(p->out, '(');
  for (uint32_t i = 0; i < node->n_operands; i++) {
    if (i)
      tl_buf_add_z(p->out, ", ");
    add_value(p, tl_use_get(p->m, node->operands + i)->value);
  }
  tl_buf_add_char(p->out, ')');
}

static void add_body(printer *p, tl_graph_id g) {
  if (p->options.elide_bodies) {
    tl_buf_add_z(p->out, "graph {...}");
    return;
  }
  p->nesting++;
  p->depth++;
  print_graph(p, tl_graph_get(p->m, g));
  p->depth--;
  p->nesting--;
}

static bool is_graph_attr(const tl_attr *a) {
  return a->kind == TL_ATTR_GRAPH || a->kind == TL_ATTR_GRAPHS;
}

static void add_attr(printer *p, const tl_attr *a) {
  add_word(p, tl_sym(p->m, a->name));
  tl_buf_add_char(p->out, '=');
  if (a->kind == TL_ATTR_GRAPH) {
    add_body(p, a->u.g);
  } else if (a->kind == TL_ATTR_GRAPHS) {
    tl_buf_add_z(p->out, "graphs[");
    for (uint32_t i = 0; i < a->count; i++) {
      if (i)
        tl_buf_add_z(p->out, ", ");
      add_body(p, a->u.ids[i]);
    }
    tl_buf_add_char(p->out, ']');
  } else {
    tl_attr_print(p->m, a, p->options.elide_constants, p->out);
  }
}

/* On one line, unless there are bodies: then one attribute a line. */
static void add_attrs(printer *p, const tl_node *node) {
  bool bodies = false;
  for (uint32_t i = 0; i < node->n_attrs; i++)
    bodies |= is_graph_attr(&node->attrs[i]) && !p->options.elide_bodies;
  p->depth += bodies;
  tl_buf_add_z(p->out, " {");
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    if (i)
      tl_buf_add_z(p->out, bodies ? "," : ", ");
    if (bodies) {
      tl_buf_add_char(p->out, '\n');
      indent(p, p->depth + 1);
    }
    add_attr(p, &node->attrs[i]);
  }
  p->depth -= bodies;
  if (bodies) {
    tl_buf_add_char(p->out, '\n');
    indent(p, p->depth + 1);
  }
  tl_buf_add_char(p->out, '}');
}

static void add_types(printer *p, const tl_node *node) {
  bool known = false;
  for (uint32_t i = 0; i < node->n_results; i++)
    known |= tl_value_type(p->m, node->results + i) != TL_NO_TYPE;
  if (!known)
    return;
  for (uint32_t i = 0; i < node->n_results; i++) {
    tl_buf_add_z(p->out, i ? ", " : " : ");
    tl_type_print(p->m, tl_value_type(p->m, node->results + i), p->out);
  }
}

static void add_candidate(printer *p, const tl_node *node) {
  const tl_op *row = tl_op_row(node->op);
  if (!row || node->candidate < 0 || node->candidate >= row->n_npu) {
    tl_buf_add_z(p->out, " npu none");
    return;
  }
  tl_sv type = tl_sv_from(row->npu[node->candidate].npu_type);
  int first = 0;
  while (!tl_sv_is(type, row->npu[first].npu_type))
    first++;
  tl_buf_add_z(p->out, " npu ");
  add_word(p, type.n ? type : TL_SV("none"));
  if (first != node->candidate || type.n == 0) {
    tl_buf_add_char(p->out, ' ');
    tl_buf_add_i64(p->out, node->candidate);
  }
  tl_sv judged = tl_sv_from(row->npu[node->candidate].judged);
  if (judged.n && !tl_sv_eq(judged, type)) {
    tl_buf_add_z(p->out, " judged ");
    add_word(p, judged);
  }
}

typedef struct edge {
  uint64_t order; /* of the source: unique per node */
  tl_node_id from;
  uint8_t origin;
} edge;

static int compare_edges(const void *a, const void *b) {
  const edge *x = a;
  const edge *y = b;
  if (x->order != y->order)
    return x->order < y->order ? -1 : 1;
  return (int)x->origin - (int)y->origin;
}

static void add_edge(printer *p, const edge *e) {
  const tl_node *from = tl_node_get(p->m, e->from);
  tl_buf_add_z(p->out, " after ");
  if (from->n_results) {
    add_value(p, from->results);
  } else {
    tl_buf_add_char(p->out, '$');
    tl_buf_add_u64(p->out, p->node_labels[e->from]);
  }
  if (e->origin != TL_CONTROL_USER) {
    tl_buf_add_char(p->out, ' ');
    tl_buf_add_z(p->out, tl_control_origin_name((tl_control_origin)e->origin));
  }
}

/* Sorted by source, so that the text does not depend on the order in which edges were made. */
static void add_control(printer *p, tl_node_id n, const tl_node *node) {
  if (node->control_out && node->n_results == 0) {
    if (p->node_labels[n] == 0)
      p->node_labels[n] = p->options.keep_numbers ? n : ++p->last_label;
    tl_buf_add_z(p->out, " label $");
    tl_buf_add_u64(p->out, p->node_labels[n]);
  }
  size_t count = 0;
  for (tl_control_id c = node->control_in; c; c = tl_control_get(p->m, c)->next_in)
    count++;
  edge *edges = malloc((count + 1) * sizeof *edges);
  if (!edges) {
    p->status = TL_NO_MEMORY;
    return;
  }
  size_t i = 0;
  for (tl_control_id c = node->control_in; c; c = tl_control_get(p->m, c)->next_in) {
    const tl_control *control = tl_control_get(p->m, c);
    edges[i++] = (edge){tl_node_get(p->m, control->from)->order, control->from, control->origin};
  }
  qsort(edges, count, sizeof *edges, compare_edges);
  for (i = 0; i < count; i++)
    add_edge(p, &edges[i]);
  free(edges);
}

static void add_clauses(printer *p, tl_node_id n, const tl_node *node) {
  add_quoted_clause(p, " scope ", node->scope);
  if (node->stream >= 0) {
    tl_buf_add_z(p->out, " stream ");
    tl_buf_add_i64(p->out, node->stream);
  }
  if (node->selected || node->candidate >= 0)
    add_candidate(p, node);
  if (node->mixed)
    tl_buf_add_z(p->out, " mixed");
  if (node->control_in || node->control_out)
    add_control(p, n, node);
  if (!p->options.skip_extra)
    add_extra(p, node->extra);
}

static void add_node(printer *p, tl_node_id n) {
  const tl_node *node = tl_node_get(p->m, n);
  for (uint32_t i = 0; i < node->n_results; i++) {
    if (i)
      tl_buf_add_z(p->out, ", ");
    add_result(p, node, i);
  }
  if (node->n_results)
    tl_buf_add_z(p->out, " = ");
  add_op(p, node);
  if (node->name) {
    tl_buf_add_char(p->out, ' ');
    add_name(p, '@', node->name);
  }
  if (node->n_attrs)
    add_attrs(p, node);
  if (!p->options.skip_types)
    add_types(p, node);
  add_clauses(p, n, node);
}

static void print_node(printer *p, tl_node_id n) {
  const tl_node *node = tl_node_get(p->m, n);
  indent(p, p->depth + 1);
  add_node(p, n);
  tl_buf_add_char(p->out, '\n');
  for (uint32_t i = 0; i < node->n_results; i++)
    print_about(p, node->results + i);
}

static void add_signature(printer *p, const tl_graph *g) {
  tl_buf_add_z(p->out, "graph");
  if (g->name) {
    tl_buf_add_char(p->out, ' ');
    add_name(p, '@', g->name);
  }
  tl_buf_add_char(p->out, '(');
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    if (i)
      tl_buf_add_z(p->out, ", ");
    add_declaration(p, g->inputs.at[i]);
  }
  tl_buf_add_z(p->out, ") -> (");
  for (uint32_t i = 0; i < tl_graph_n_outputs(p->m, g); i++) {
    if (i)
      tl_buf_add_z(p->out, ", ");
    add_value(p, tl_graph_output(p->m, g, i));
  }
  tl_buf_add_z(p->out, ") {\n");
}

/* Of a parameter with a gradient the gradient says it. */
static bool is_bare_parameter(const tl_module *m, const tl_state *s) {
  return s->parameter && !m->gradients.n;
}

static void print_states(printer *p, const tl_graph *g) {
  for (uint32_t i = 0; i < p->m->states.n; i++) {
    const tl_state *s = &p->m->states.at[i];
    if (tl_value_graph(p->m, s->input) != g->id)
      continue;
    indent(p, p->depth + 1);
    tl_buf_add_z(p->out, "state ");
    add_value(p, s->input);
    tl_buf_add_z(p->out, " -> ");
    add_value(p, s->output);
    if (s->initial) {
      tl_buf_add_z(p->out, " = ");
      add_value(p, s->initial);
    }
    tl_buf_add_z(p->out, is_bare_parameter(p->m, s) ? " param" : "");
    if (s->local)
      tl_buf_add_z(p->out, " local");
    if (s->local && s->root)
      tl_buf_printf(p->out, " %u", s->root - 1);
    tl_buf_add_char(p->out, '\n');
  }
}

static void print_mark(printer *p, const tl_graph *g, const char *word, tl_value_id v) {
  if (!v || tl_value_graph(p->m, v) != g->id)
    return;
  indent(p, p->depth + 1);
  tl_buf_printf(p->out, "%s ", word);
  add_value(p, v);
  tl_buf_add_char(p->out, '\n');
}

static void print_gradients(printer *p, const tl_graph *g) {
  for (uint32_t i = 0; i < p->m->gradients.n; i++) {
    const tl_gradient *d = &p->m->gradients.at[i];
    if (tl_value_graph(p->m, d->param) != g->id)
      continue;
    indent(p, p->depth + 1);
    tl_buf_add_z(p->out, "gradient ");
    add_value(p, d->param);
    tl_buf_add_z(p->out, " -> ");
    add_value(p, d->grad);
    if (d->indices) {
      tl_buf_add_z(p->out, " rows ");
      add_value(p, d->indices);
    }
    tl_buf_add_char(p->out, '\n');
  }
}

static void print_constants(printer *p, const tl_graph *g) {
  for (uint32_t i = 0; i < g->constants.n; i++) {
    if (g->constants.at[i] == TL_NO_VALUE)
      continue;
    indent(p, p->depth + 1);
    tl_buf_add_z(p->out, "const ");
    add_declaration(p, g->constants.at[i]);
    tl_buf_add_char(p->out, '\n');
    print_about(p, g->constants.at[i]);
  }
}

static void print_graph(printer *p, const tl_graph *g) {
  if (p->nesting > TL_MAX_BODY_DEPTH) {
    p->status = TL_LIMIT;
    return;
  }
  add_signature(p, g);
  if (has_extra(p, g->extra)) {
    indent(p, p->depth + 1);
    tl_buf_add_z(p->out, "about graph");
    add_extra(p, g->extra);
    tl_buf_add_char(p->out, '\n');
  }
  for (uint32_t i = 0; i < g->inputs.n; i++)
    print_about(p, g->inputs.at[i]);
  print_constants(p, g);
  TL_FOR_NODES(p->m, g, n)
    print_node(p, n);
  print_states(p, g);
  print_gradients(p, g);
  print_mark(p, g, "loss", p->m->loss);
  print_mark(p, g, "seed", p->m->seed);
  indent(p, p->depth);
  tl_buf_add_char(p->out, '}');
}

static void add_number_entry(printer *p, const char *key, int64_t value, int64_t usual) {
  if (value == usual)
    return;
  tl_buf_printf(p->out, "  %s ", key);
  tl_buf_add_i64(p->out, value);
  tl_buf_add_char(p->out, '\n');
}

static void add_opsets(printer *p) {
  const tl_opset_vec *sets = &p->m->opsets;
  if (sets->n == 1 && sets->at[0].domain == 0 && sets->at[0].version == TL_ONNX_CANONICAL_OPSET)
    return;
  for (uint32_t i = 0; i < sets->n; i++) {
    tl_buf_add_z(p->out, "  opset ");
    tl_buf_add_quoted(p->out, tl_sym(p->m, sets->at[i].domain));
    tl_buf_add_char(p->out, ' ');
    tl_buf_add_i64(p->out, sets->at[i].version);
    tl_buf_add_char(p->out, '\n');
  }
}

static void add_header_entries(printer *p) {
  const tl_module *m = p->m;
  add_number_entry(p, "ir_version", m->ir_version, TL_TEXT_IR_VERSION);
  add_opsets(p);
  add_number_entry(p, "source_opset", m->source_opset, 0);
  if (m->producer_name || m->producer_version) {
    add_quoted_clause(p, "  producer ", m->producer_name);
    if (!m->producer_name)
      tl_buf_add_z(p->out, "  producer \"\"");
    add_quoted_clause(p, " ", m->producer_version);
    tl_buf_add_char(p->out, '\n');
  }
  add_number_entry(p, "model_version", m->model_version, 0);
  if (m->domain) {
    add_quoted_clause(p, "  domain ", m->domain);
    tl_buf_add_char(p->out, '\n');
  }
  for (uint32_t i = 0; i < m->calls.n; i++) {
    add_quoted_clause(p, "  call ", m->calls.at[i].path);
    add_quoted_clause(p, " ", m->calls.at[i].function);
    tl_buf_add_char(p->out, '\n');
  }
  if (m->form != TL_FORM_CANONICAL)
    tl_buf_printf(p->out, "  form %s\n", tl_form_name((tl_form)m->form));
  if (has_extra(p, m->extra)) {
    tl_buf_add_char(p->out, ' ');
    add_extra(p, m->extra);
    tl_buf_add_char(p->out, '\n');
  }
}

/* The header says only what differs from a module written by hand without one. */
static void print_header(printer *p) {
  size_t start = p->out->n;
  tl_buf_add_z(p->out, "module {\n");
  size_t empty = p->out->n;
  add_header_entries(p);
  if (p->out->n == empty)
    p->out->n = start;
  else
    tl_buf_add_z(p->out, "}\n\n");
}

static bool open_printer(printer *p, const tl_module *m, tl_buf *out, const tl_print_options *o) {
  *p = (printer){.m = m, .out = out, .options = o ? *o : (tl_print_options){0}};
  p->value_numbers = calloc(tl_module_value_end(m), sizeof *p->value_numbers);
  if (m->controls.next > 1)
    p->node_labels = calloc(tl_module_node_end(m), sizeof *p->node_labels);
  return p->value_numbers && (m->controls.next <= 1 || p->node_labels);
}

static tl_status close_printer(printer *p, bool opened) {
  free(p->value_numbers);
  free(p->node_labels);
  return !opened || p->out->failed ? TL_NO_MEMORY : p->status;
}

tl_status tl_graph_print(const tl_module *m, tl_graph_id g, tl_buf *out,
                         const tl_print_options *o) {
  printer p;
  bool opened = open_printer(&p, m, out, o);
  if (opened) {
    print_graph(&p, tl_graph_get(m, g));
    tl_buf_add_char(out, '\n');
  }
  return close_printer(&p, opened);
}

tl_status tl_module_print(const tl_module *m, tl_buf *out, const tl_print_options *o) {
  printer p;
  bool opened = open_printer(&p, m, out, o);
  if (opened)
    print_header(&p);
  bool first = true;
  for (uint32_t i = 0; opened && i < m->graphs.n; i++) {
    const tl_graph *g = m->graphs.at[i];
    if (g->kind != TL_GRAPH_ROOT || g->erased)
      continue;
    if (!first)
      tl_buf_add_char(out, '\n');
    first = false;
    print_graph(&p, g);
    tl_buf_add_char(out, '\n');
  }
  return close_printer(&p, opened);
}

/* ---- single lines ---------------------------------------------------------------------------- */

/* Prints every root graph once and drops the text: that gives the numbers. */
tl_lines *tl_lines_open(const tl_module *m, tl_buf *out, const tl_print_options *o) {
  tl_buf text;
  tl_buf_init(&text);
  printer *p = malloc(sizeof *p);
  tl_print_options numbers = {.elide_constants = true, .keep_numbers = o->keep_numbers};
  bool opened = p && open_printer(p, m, &text, &numbers);
  for (uint32_t i = 0; opened && i < m->graphs.n; i++) {
    if (m->graphs.at[i]->kind == TL_GRAPH_ROOT && !m->graphs.at[i]->erased)
      print_graph(p, m->graphs.at[i]);
    tl_buf_clear(&text);
  }
  tl_buf_release(&text);
  if (!opened || p->status != TL_OK) {
    tl_lines_close(p);
    return NULL;
  }
  p->options = *o;
  p->out = out;
  return p;
}

void tl_lines_node(tl_lines *l, tl_node_id n) { add_node(l, n); }

void tl_lines_declaration(tl_lines *l, tl_value_id v) { add_declaration(l, v); }

void tl_lines_value(tl_lines *l, tl_value_id v) { add_value(l, v); }

void tl_lines_close(tl_lines *l) {
  if (!l)
    return;
  free(l->value_numbers);
  free(l->node_labels);
  free(l);
}
