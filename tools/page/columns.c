/* SPDX-License-Identifier: Apache-2.0 */
/* Adds nodes and values as columns: one list for each property, which is less text than an object
 * for each node, and compresses better. */
#include "ir/lex.h"
#include "ir/text/print.h"
#include "support/json_writer.h"
#include "tools/page/record.h"
#include "tools/page/scope.h"

typedef tl_json_writer writer;

static void begin(writer *w, const char *key) {
  tl_json_line(w, 0);
  tl_put_key(w, key);
  tl_put_array(w);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* A column: the number that a node has in it. */
typedef int64_t (*column)(tl_view_record *r, tl_node_id n);

static int64_t id_of(tl_view_record *r, tl_node_id n) {
  (void)r;
  return n;
}

static int64_t op_of(tl_view_record *r, tl_node_id n) {
  tl_op_id op = tl_node_get(r->m, n)->op;
  tl_sv domain = tl_op_domain(r->m, op), name = tl_op_name(r->m, op);
  if (!domain.n)
    return tl_view_text(r->strings, name);
  tl_buf *room = &r->strings->room;
  tl_buf_clear(room);
  tl_buf_add_sv(room, domain);
  tl_buf_add_z(room, "::");
  tl_buf_add_sv(room, name);
  return tl_view_text(r->strings, tl_buf_view(room));
}

static int64_t name_of(tl_view_record *r, tl_node_id n) {
  return tl_view_symbol(r->strings, r->m, tl_node_get(r->m, n)->name);
}

static int64_t scope_of(tl_view_record *r, tl_node_id n) { return tl_view_scope(r, n); }

static int64_t parent_of(tl_view_record *r, tl_node_id n) {
  tl_node_id owner = tl_graph_get(r->m, tl_node_get(r->m, n)->graph)->owner;
  return owner ? (int64_t)owner : -1;
}

/* Returns the number of a body among those of its node. */
static int64_t number_of_body(const tl_view_record *r, tl_graph_id g) {
  tl_node_id owner = tl_graph_get(r->m, g)->owner;
  int64_t body = 0;
  for (uint32_t i = 0; owner && i < tl_node_get(r->m, owner)->n_attrs; i++) {
    uint32_t count;
    const uint32_t *graphs = tl_attr_graphs(&tl_node_get(r->m, owner)->attrs[i], &count);
    for (uint32_t k = 0; k < count; k++, body++)
      if (graphs[k] == g)
        return body;
  }
  return 0;
}

static int64_t body_of(tl_view_record *r, tl_node_id n) {
  return number_of_body(r, tl_node_get(r->m, n)->graph);
}

static int64_t attrs_of(tl_view_record *r, tl_node_id n) {
  const tl_node *node = tl_node_get(r->m, n);
  tl_buf *room = &r->strings->room;
  tl_buf_clear(room);
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    tl_sv name = tl_sym(r->m, a->name);
    uint32_t graphs;
    (void)tl_attr_graphs(a, &graphs);
    if (i)
      tl_buf_add_z(room, ", ");
    if (tl_lex_is_word(name))
      tl_buf_add_sv(room, name);
    else
      tl_buf_add_quoted(room, name);
    tl_buf_add_char(room, '=');
    if (graphs)
      tl_buf_add_z(room, a->kind == TL_ATTR_GRAPH ? "graph {...}" : "graphs[...]");
    else
      tl_attr_print(r->m, a, true, room);
  }
  r->no_memory = r->no_memory || room->failed;
  return tl_view_text(r->strings, tl_buf_view(room));
}

static int64_t npu_of(tl_view_record *r, tl_node_id n) {
  const tl_node *node = tl_node_get(r->m, n);
  const tl_op *row = tl_op_row(node->op);
  if (!row || !node->selected || node->candidate < 0 || node->candidate >= row->n_npu)
    return 0;
  return tl_view_text(r->strings, tl_sv_from(row->npu[node->candidate].npu_type));
}

static int64_t stream_of(tl_view_record *r, tl_node_id n) { return tl_node_get(r->m, n)->stream; }

static int64_t after_of(tl_view_record *r, tl_node_id n) { return tl_node_get(r->m, n)->previous; }

static void put_operands(tl_view_record *r, writer *w, const tl_u32_vec *nodes) {
  uint32_t at = 0;
  begin(w, "in");
  for (uint32_t i = 0; i < nodes->n; i++)
    for (uint32_t k = 0; k < tl_node_get(r->m, nodes->at[i])->n_operands; k++)
      tl_put_i64(w, tl_view_value_number(r, tl_operand(r->m, nodes->at[i], k)));
  tl_put_end(w);
  begin(w, "in_at");
  tl_put_u64(w, 0);
  for (uint32_t i = 0; i < nodes->n; i++)
    tl_put_u64(w, at += tl_node_get(r->m, nodes->at[i])->n_operands);
  tl_put_end(w);
}

static void put_results(tl_view_record *r, writer *w, const tl_u32_vec *nodes) {
  uint32_t at = 0;
  begin(w, "out");
  for (uint32_t i = 0; i < nodes->n; i++)
    for (uint32_t k = 0; k < tl_node_get(r->m, nodes->at[i])->n_results; k++)
      tl_put_i64(w, tl_view_value_number(r, tl_result(r->m, nodes->at[i], k)));
  tl_put_end(w);
  begin(w, "out_at");
  tl_put_u64(w, 0);
  for (uint32_t i = 0; i < nodes->n; i++)
    tl_put_u64(w, at += tl_node_get(r->m, nodes->at[i])->n_results);
  tl_put_end(w);
}

void tl_view_put_nodes(tl_view_record *r, tl_json_writer *w, const tl_u32_vec *nodes, bool after) {
  static const struct {
    const char *key;
    column fn;
  } columns[] = {{"uid", id_of},      {"op", op_of},         {"name", name_of},
                 {"scope", scope_of}, {"parent", parent_of}, {"body", body_of},
                 {"attrs", attrs_of}, {"npu", npu_of},       {"stream", stream_of},
                 {"after", after_of}};
  size_t n = sizeof columns / sizeof *columns - !after;
  tl_member_u64(w, "n", nodes->n);
  for (size_t c = 0; c < n; c++) {
    begin(w, columns[c].key);
    for (uint32_t i = 0; i < nodes->n; i++)
      tl_put_i64(w, columns[c].fn(r, nodes->at[i]));
    tl_put_end(w);
  }
  put_operands(r, w, nodes);
  put_results(r, w, nodes);
}

/* ---- values ---------------------------------------------------------------------------------- */

int64_t tl_view_value_number(const tl_view_record *r, tl_value_id v) {
  return v && v < r->values.n ? (int64_t)r->values.at[v].id - 1 : -1;
}

void tl_view_put_values(tl_view_record *r, tl_json_writer *w, const tl_u32_vec *values) {
  static const char *const keys[] = {"name", "type", "weight", "kind"};
  tl_member_u64(w, "n", values->n);
  for (int c = 0; c < 4; c++) {
    begin(w, keys[c]);
    for (uint32_t i = 0; i < values->n; i++) {
      const tl_view_value *v = &r->values.at[values->at[i]];
      int64_t weight = v->tensor && v->tensor < r->weight_of.n ? r->weight_of.at[v->tensor] : 0;
      const int64_t cells[] = {tl_view_symbol(r->strings, r->m, v->name),
                               tl_view_type(r->strings, r->m, v->type), weight - 1,
                               v->kind - TL_VALUE_RESULT};
      tl_put_i64(w, cells[c]);
    }
    tl_put_end(w);
  }
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void put_border(tl_view_record *r, writer *w, const tl_graph *g) {
  tl_put_key(w, "inputs");
  tl_put_array(w);
  for (uint32_t i = 0; i < g->inputs.n; i++)
    tl_put_i64(w, tl_view_value_number(r, g->inputs.at[i]));
  tl_put_end(w);
  tl_put_key(w, "outputs");
  tl_put_array(w);
  for (uint32_t i = 0; i < tl_graph_n_outputs(r->m, g); i++)
    tl_put_i64(w, tl_view_value_number(r, tl_graph_output(r->m, g, i)));
  tl_put_end(w);
}

void tl_view_put_borders(tl_view_record *r, tl_json_writer *w) {
  tl_json_line(w, 0);
  put_border(r, w, tl_module_main(r->m));
  begin(w, "bodies");
  for (uint32_t i = 1; i < r->m->graphs.n; i++) {
    const tl_graph *g = r->m->graphs.at[i];
    if (g->erased)
      continue;
    tl_put_object(w);
    tl_put_key(w, "parent");
    tl_put_i64(w, g->owner ? (int64_t)g->owner : -1);
    tl_member_u64(w, "body", (uint64_t)number_of_body(r, g->id));
    tl_member_u64(w, "name", tl_view_symbol(r->strings, r->m, g->name));
    put_border(r, w, g);
    tl_put_end(w);
  }
  tl_put_end(w);
}

void tl_view_put_control(tl_view_record *r, tl_json_writer *w) {
  begin(w, "control");
  for (uint32_t i = 0; i < r->m->graphs.n; i++) {
    if (r->m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(r->m, r->m->graphs.at[i], n) {
      for (tl_control_id c = tl_node_get(r->m, n)->control_out; c;
           c = tl_control_get(r->m, c)->next_out) {
        tl_put_array(w);
        tl_put_u64(w, n);
        tl_put_u64(w, tl_control_get(r->m, c)->to);
        tl_put_end(w);
      }
    }
  }
  tl_put_end(w);
}
