/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the text dump (pbtxt.h).
 * As in GE's own dumps, inputs and constants are nodes (Data, Const), and the outputs are operands
 * of a NetOutput node. */
#include "backend/text/pbtxt.h"

#include "backend/air/names.h"

/* FLUSH_BYTES: text that is collected before it is written. MAX_DEPTH: levels of nested bodies.
 * SHOWN: operands and results of a node whose types are shown. */
enum { FLUSH_BYTES = 1 << 16, MAX_DEPTH = 64, SHOWN = 64, IR_VERSION = 6 };

/* State of one dump. `text` collects output and is flushed between nodes of the root. */
typedef struct dump {
  tl_module *m;
  tl_writer *out;
  tl_arena arena;
  tl_air_names names;
  tl_sv *node_names;  /* by node id */
  tl_sv *value_names; /* by value id: Data and Const nodes */
  tl_buf text;
  uint32_t indent;
} dump;

/* Hands the collected text to the writer. Lack of memory is kept in text.failed. */
static void flush(dump *d) {
  if (!d->text.failed)
    (void)tl_writer_write(d->out, d->text.p, d->text.n);
  tl_buf_clear(&d->text);
}

static void start_line(dump *d) {
  for (uint32_t i = 0; i < d->indent; i++)
    tl_buf_add_z(&d->text, "  ");
}

static void open_block(dump *d, const char *name) {
  start_line(d);
  tl_buf_printf(&d->text, "%s {\n", name);
  d->indent++;
}

static void close_block(dump *d) {
  d->indent--;
  start_line(d);
  tl_buf_add_z(&d->text, "}\n");
}

static void string_field(dump *d, const char *name, tl_sv v) {
  start_line(d);
  tl_buf_printf(&d->text, "%s: ", name);
  tl_buf_add_quoted(&d->text, v);
  tl_buf_add_char(&d->text, '\n');
}

static void int_field(dump *d, const char *name, int64_t v) {
  start_line(d);
  tl_buf_printf(&d->text, "%s: %lld\n", name, (long long)v);
}

static void word_field(dump *d, const char *name, const char *word) {
  start_line(d);
  tl_buf_printf(&d->text, "%s: %s\n", name, word);
}

/* ---- attributes ---- */

static void int_attr(dump *d, const char *name, int64_t v) {
  open_block(d, "attribute");
  string_field(d, "name", tl_sv_from(name));
  int_field(d, "i", v);
  word_field(d, "type", "INT");
  close_block(d);
}

static void text_attr(dump *d, const char *name, tl_sv v) {
  open_block(d, "attribute");
  string_field(d, "name", tl_sv_from(name));
  string_field(d, "s", v);
  word_field(d, "type", "STRING");
  close_block(d);
}

/* Writes the attributes by which GE describes one slot: "input_desc_dtype:0" and
 * "input_desc_shape:0". An unknown dim is -1, an unknown rank the single dim -2. */
static void desc_attrs(dump *d, const char *side, uint32_t index, tl_value_id v) {
  char name[48];
  const tl_type *t = tl_type_get(d->m, tl_value_type(d->m, v));
  const char *dtype = tl_dtype_get((tl_dtype)t->dtype)->ge_name;
  tl_buf key;
  tl_buf_init(&key);
  tl_buf_printf(&key, "%s_desc_dtype:%u", side, index);
  memcpy(name, key.p ? key.p : "", key.n < sizeof name ? key.n + 1 : 0);
  text_attr(d, name, tl_sv_from(dtype ? dtype : "DT_UNDEFINED"));
  tl_buf_clear(&key);
  tl_buf_printf(&key, "%s_desc_shape:%u", side, index);
  open_block(d, "attribute");
  string_field(d, "name", tl_buf_view(&key));
  bool ranked = t->kind == TL_KIND_TENSOR && t->rank >= 0;
  for (int i = 0; ranked && i < t->rank; i++)
    int_field(d, "ints", tl_dim_is_static(t->dims[i]) ? t->dims[i] : -1);
  if (!ranked)
    int_field(d, "ints", -2);
  word_field(d, "type", "INTS");
  close_block(d);
  d->text.failed = d->text.failed || key.failed;
  tl_buf_release(&key);
}

static void float_field(dump *d, const char *name, float v) {
  start_line(d);
  tl_buf_printf(&d->text, "%s: ", name);
  tl_buf_add_f32(&d->text, v);
  tl_buf_add_char(&d->text, '\n');
}

static void ints_attr(dump *d, const tl_attr *a) {
  for (uint32_t i = 0; i < a->count; i++)
    int_field(d, "ints", a->u.is[i]);
  word_field(d, "type", "INTS");
}

/* Writes value and type of an attribute of a kind that has them in the text. */
static void attr_payload(dump *d, const tl_attr *a) {
  switch ((tl_attr_kind)a->kind) {
  case TL_ATTR_INT:
  case TL_ATTR_BOOL:
    int_field(d, "i", a->u.i);
    word_field(d, "type", "INT");
    break;
  case TL_ATTR_DTYPE:
    int_field(d, "i", tl_dtype_get((tl_dtype)a->u.i)->ge_internal);
    word_field(d, "type", "INT");
    break;
  case TL_ATTR_FLOAT:
    float_field(d, "f", a->u.f);
    word_field(d, "type", "FLOAT");
    break;
  case TL_ATTR_STRING:
    string_field(d, "s", tl_sym(d->m, a->u.s));
    word_field(d, "type", "STRING");
    break;
  case TL_ATTR_INTS:
  case TL_ATTR_BOOLS: ints_attr(d, a); break;
  case TL_ATTR_FLOATS:
    for (uint32_t i = 0; i < a->count; i++)
      float_field(d, "floats", a->u.fs[i]);
    word_field(d, "type", "FLOATS");
    break;
  case TL_ATTR_STRINGS:
    for (uint32_t i = 0; i < a->count; i++)
      string_field(d, "strings", tl_sym(d->m, a->u.ids[i]));
    word_field(d, "type", "STRINGS");
    break;
  default: break;
  }
}

static void write_graph(dump *d, const tl_graph *g, uint32_t depth);

/* Writes a body as a graph within the attribute. */
static void body_attr(dump *d, tl_graph_id g, uint32_t depth) {
  open_block(d, "g");
  write_graph(d, tl_graph_get(d->m, g), depth + 1);
  close_block(d);
  word_field(d, "type", "GRAPH");
}

/* Begins an attribute whose name is that of another with text behind it. */
static void open_part(dump *d, const tl_attr *a, const char *format, uint32_t index) {
  tl_buf name;
  tl_buf_init(&name);
  tl_buf_add_sv(&name, tl_sym(d->m, a->name));
  tl_buf_printf(&name, format, index);
  open_block(d, "attribute");
  string_field(d, "name", tl_buf_view(&name));
  d->text.failed = d->text.failed || name.failed;
  tl_buf_release(&name);
}

/* Writes type and shape of a tensor as GE does; its data stays away. */
static void tensor_attrs(dump *d, const tl_attr *a) {
  const tl_tensor *tensor = tl_tensor_get(d->m, a->u.t);
  const tl_type *t = tl_type_get(d->m, tensor->type);
  const char *dtype = tl_dtype_get((tl_dtype)tensor->dtype)->ge_name;
  open_part(d, a, "_desc_dtype", 0);
  string_field(d, "s", tl_sv_from(dtype ? dtype : "DT_UNDEFINED"));
  word_field(d, "type", "STRING");
  close_block(d);
  open_part(d, a, "_desc_shape", 0);
  for (int i = 0; i < t->rank; i++)
    int_field(d, "ints", t->dims[i]);
  word_field(d, "type", "INTS");
  close_block(d);
}

/* Writes a list of lists as an attribute for each. */
static void row_attrs(dump *d, const tl_attr *a) {
  for (uint32_t i = 0; i < a->count; i++) {
    open_part(d, a, "_%u", i);
    for (uint32_t k = 0; k < a->u.lists[i].n; k++)
      int_field(d, "ints", a->u.lists[i].at[k]);
    word_field(d, "type", "INTS");
    close_block(d);
  }
}

static bool has_payload(const tl_attr *a, uint32_t depth) {
  switch ((tl_attr_kind)a->kind) {
  case TL_ATTR_INT:
  case TL_ATTR_BOOL:
  case TL_ATTR_DTYPE:
  case TL_ATTR_FLOAT:
  case TL_ATTR_STRING:
  case TL_ATTR_INTS:
  case TL_ATTR_BOOLS:
  case TL_ATTR_FLOATS:
  case TL_ATTR_STRINGS: return true;
  case TL_ATTR_GRAPH: return depth < MAX_DEPTH;
  default: return false;
  }
}

/* Writes the attributes of a node; kinds that GE's dumps have no form for are left out, as
 * there. */
static void node_attrs(dump *d, tl_node_id n, uint32_t depth) {
  const tl_node *node = tl_node_get(d->m, n);
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    if (a->kind == TL_ATTR_TENSOR)
      tensor_attrs(d, a);
    else if (a->kind == TL_ATTR_INT_LISTS)
      row_attrs(d, a);
    if (!has_payload(a, depth))
      continue;
    open_block(d, "attribute");
    string_field(d, "name", tl_sym(d->m, a->name));
    if (a->kind == TL_ATTR_GRAPH)
      body_attr(d, a->u.g, depth);
    else
      attr_payload(d, a);
    close_block(d);
  }
}

/* ---- nodes ---- */

/* Writes an edge as "<node>:<output>"; an absent operand is the empty string. */
static void edge_field(dump *d, const char *field, tl_value_id v) {
  const tl_value *value = v ? tl_value_get(d->m, v) : NULL;
  bool made = value && value->kind == TL_VALUE_RESULT;
  tl_buf text;
  tl_buf_init(&text);
  if (value)
    tl_buf_add_sv(&text, made ? d->node_names[value->def] : d->value_names[v]);
  if (value)
    tl_buf_printf(&text, ":%u", made ? value->index : 0);
  d->text.failed = d->text.failed || text.failed;
  string_field(d, field, tl_buf_view(&text));
  tl_buf_release(&text);
}

/* Writes name and type of a node; viewers show "ge:<Type>". */
static void head(dump *d, tl_sv name, tl_sv type) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_z(&text, "ge:");
  tl_buf_add_sv(&text, type);
  string_field(d, "name", name);
  string_field(d, "op_type", tl_buf_view(&text));
  d->text.failed = d->text.failed || text.failed;
  tl_buf_release(&text);
}

/* Writes the Data or Const node of an input or constant. */
static void holder_node(dump *d, tl_value_id v, const char *type, int64_t id) {
  open_block(d, "node");
  if (tl_value_get(d->m, v)->n_uses)
    edge_field(d, "output", v);
  head(d, d->value_names[v], tl_sv_from(type));
  int_attr(d, "id", id);
  desc_attrs(d, "output", 0, v);
  close_block(d);
}

/* Writes a node of the graph. Text is flushed between nodes of the root only, to keep writes
 * large. */
static void op_node(dump *d, tl_node_id n, int64_t id, uint32_t depth) {
  const tl_node *node = tl_node_get(d->m, n);
  open_block(d, "node");
  for (uint32_t i = 0; i < node->n_operands; i++)
    edge_field(d, "input", tl_operand(d->m, n, i));
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_value_get(d->m, node->results + i)->n_uses)
      edge_field(d, "output", node->results + i);
  head(d, d->node_names[n], tl_op_name(d->m, node->op));
  int_attr(d, "id", id);
  node_attrs(d, n, depth);
  for (uint32_t i = 0; i < node->n_operands && i < SHOWN; i++)
    if (tl_operand(d->m, n, i))
      desc_attrs(d, "input", i, tl_operand(d->m, n, i));
  for (uint32_t i = 0; i < node->n_results && i < SHOWN; i++)
    desc_attrs(d, "output", i, node->results + i);
  close_block(d);
  if (d->text.n > FLUSH_BYTES && depth == 0)
    flush(d);
}

/* Writes the NetOutput node. */
static void output_node(dump *d, const tl_graph *g, int64_t id) {
  open_block(d, "node");
  for (uint32_t i = 0; i < tl_graph_n_outputs(d->m, g); i++)
    edge_field(d, "input", tl_graph_output(d->m, g, i));
  head(d, d->node_names[g->ret], TL_SV("NetOutput"));
  int_attr(d, "id", id);
  close_block(d);
}

/* Writes a graph in the order of GE's dumps: Data, Const, ops, NetOutput. */
static void write_graph(dump *d, const tl_graph *g, uint32_t depth) {
  int64_t id = 0;
  string_field(d, "name", tl_sym(d->m, g->name));
  for (uint32_t i = 0; i < g->inputs.n; i++)
    holder_node(d, g->inputs.at[i], "Data", id++);
  for (uint32_t i = 0; i < g->constants.n; i++)
    if (g->constants.at[i])
      holder_node(d, g->constants.at[i], "Const", id++);
  TL_FOR_NODES(d->m, g, n)
    op_node(d, n, id++, depth);
  output_node(d, g, id);
  for (uint32_t i = 0; i < tl_graph_n_outputs(d->m, g); i++) {
    open_block(d, "output");
    string_field(d, "name", tl_value_name(d->m, tl_graph_output(d->m, g, i)));
    close_block(d);
  }
}

/* ---- names ---- */

static bool name_node(dump *d, tl_node_id n, tl_sv fallback) {
  const tl_node *node = tl_node_get(d->m, n);
  d->node_names[n] =
      tl_air_name(&d->names, TL_SV(""), node->name ? tl_sym(d->m, node->name) : fallback);
  return d->node_names[n].p != NULL;
}

/* Names inputs or constants; false if memory is out. */
static bool name_values(dump *d, const tl_u32_vec *values) {
  bool ok = true;
  for (uint32_t i = 0; i < values->n && ok; i++) {
    tl_value_id v = values->at[i];
    if (!v)
      continue;
    d->value_names[v] = tl_air_name(&d->names, TL_SV(""), tl_value_name(d->m, v));
    ok = d->value_names[v].p != NULL;
  }
  return ok;
}

/* Names all nodes, inputs and constants, with the rules of AIR; false if memory is out. */
static bool name_all(dump *d) {
  bool ok = true;
  for (uint32_t i = 0; i < d->m->graphs.n && ok; i++) {
    const tl_graph *g = d->m->graphs.at[i];
    if (g->erased)
      continue;
    ok = name_values(d, &g->inputs);
    for (tl_node_id n = g->first; n && ok; n = tl_node_get(d->m, n)->next)
      ok = name_node(d, n, tl_op_name(d->m, tl_node_get(d->m, n)->op));
    ok = ok && name_values(d, &g->constants) && name_node(d, g->ret, TL_SV("Node_Output"));
  }
  return ok;
}

static tl_status write_model(dump *d) {
  int_field(d, "ir_version", IR_VERSION);
  string_field(d, "producer_name", TL_SV("tailor"));
  open_block(d, "graph");
  write_graph(d, tl_module_main(d->m), 0);
  close_block(d);
  bool failed = d->text.failed;
  flush(d);
  return failed ? TL_NO_MEMORY : TL_OK;
}

tl_status tl_pbtxt_save(tl_module *m, const char *path, const volatile int *cancel,
                        tl_changes *changes) {
  dump d = {.m = m};
  TL_TRY(tl_module_need_one_root(m, "a text dump"));
  tl_arena_init(&d.arena, 0);
  tl_buf_init(&d.text);
  d.node_names = calloc(tl_module_node_end(m), sizeof *d.node_names);
  d.value_names = calloc(tl_module_value_end(m), sizeof *d.value_names);
  tl_status status = tl_air_names_init(&d.names, &d.arena, tl_module_node_end(m));
  if (status == TL_OK && (!d.node_names || !d.value_names || !name_all(&d)))
    status = TL_NO_MEMORY;
  if (status == TL_OK && (status = tl_writer_open(m->diag, path, cancel, &d.out)) == TL_OK) {
    status = write_model(&d);
    if (status == TL_OK)
      status = tl_changes_commit(changes, m->diag, d.out);
    else
      tl_writer_abort(d.out);
  }
  if (status == TL_NO_MEMORY)
    status = tl_fail_memory(m->diag, TL_AT_FILE(path));
  tl_air_names_release(&d.names);
  free(d.node_names);
  free(d.value_names);
  tl_buf_release(&d.text);
  tl_arena_release(&d.arena);
  return status;
}
