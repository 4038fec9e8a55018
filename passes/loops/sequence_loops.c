/* SPDX-License-Identifier: Apache-2.0 */
/* Loops and maps over sequences whose elements have one shape (sequence_loops.h). */
#include "ir/ops_gen.h"
#include "ir/trace.h"
#include "passes/edit/copy.h"
#include "passes/edit/rows.h"
#include "passes/loops/loops.h"
#include "passes/loops/sequence_loops.h"

static const tl_type *type_of(const tl_module *m, tl_value_id v) {
  return tl_type_get(m, tl_value_type(m, v));
}

/* Returns true if a dim is a size, or a name that an input of the model has: other names may stand
 * for another size in each iteration. */
static bool is_steady(const tl_module *m, tl_dim d) {
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 0; i < g->inputs.n && tl_dim_is_symbol(d); i++) {
    const tl_type *t = type_of(m, g->inputs.at[i]);
    for (int k = 0; t->kind == TL_KIND_TENSOR && k < t->rank; k++)
      if (t->dims[k] == d)
        return true;
  }
  return tl_dim_is_static(d);
}

/* Returns true if a value has the same shape each time that a body gives it. */
static bool has_one_shape(const tl_module *m, tl_value_id v) {
  const tl_type *t = type_of(m, v);
  bool one = t->kind == TL_KIND_TENSOR && t->rank >= 0 && t->rank < TL_MAX_RANK;
  for (int i = 0; one && i < t->rank; i++)
    one = is_steady(m, t->dims[i]);
  return one;
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* A Loop, and what is known of its carried values. */
typedef struct collecting {
  tl_rows_pass *w;
  tl_module *m;
  tl_loop_form f;
  tl_maker k;
  tl_node_id *inserts; /* [n_carried]: the node of the body that appends; TL_NO_NODE: none */
  uint32_t n_lists;
} collecting;

/* Returns true if rows in front, or none, go with what is appended. */
static bool starts_well(const tl_module *m, tl_value_id start, tl_value_id element) {
  tl_value_id rows = tl_rows_of(m, start), origin = tl_value_origin(m, start);
  tl_node_id n = origin ? tl_value_producer(m, origin) : TL_NO_NODE;
  const tl_type *r = rows ? type_of(m, rows) : NULL, *e = type_of(m, element);
  bool fits = r && r->rank == e->rank + 1;
  for (int i = 0; fits && i < e->rank; i++)
    fits = r->dims[i + 1] == e->dims[i];
  return fits || (n && tl_node_get(m, n)->op == TL_OP_SequenceEmpty);
}

/* Returns the node by which the body appends to carried sequence i and that alone reads it, or
 * TL_NO_NODE. */
static tl_node_id appends_to(const collecting *c, uint32_t i) {
  tl_value_id in = c->f.body->inputs.at[2 + i], out = tl_graph_output(c->m, c->f.body, 1 + i);
  tl_node_id n = tl_value_producer(c->m, out);
  bool appends = n && tl_node_get(c->m, n)->op == TL_OP_SequenceInsert &&
                 tl_operand(c->m, n, 0) == in && !tl_operand(c->m, n, 2) &&
                 tl_value_get(c->m, in)->n_uses == 1 && tl_value_get(c->m, out)->n_uses == 1 &&
                 !tl_node_get(c->m, n)->control_in && !tl_node_get(c->m, n)->control_out;
  return appends && has_one_shape(c->m, tl_operand(c->m, n, 1)) &&
                 starts_well(c->m, tl_operand(c->m, c->f.node, 2 + i), tl_operand(c->m, n, 1))
             ? n
             : TL_NO_NODE;
}

/* The body's own values may be inputs, or outputs already: each element gets a name of its own. */
static tl_status change_body(collecting *c, tl_value_id *outputs) {
  tl_graph_id body = c->f.body->id;
  uint32_t n = 0;
  tl_maker inner = c->k;
  inner.graph = body;
  inner.before = TL_NO_NODE;
  outputs[n++] = tl_graph_output(c->m, c->f.body, 0);
  for (uint32_t i = 0; i < c->f.n_carried; i++)
    if (!c->inserts[i])
      outputs[n++] = tl_graph_output(c->m, c->f.body, 1 + i);
  for (uint32_t i = 0; i < c->f.n_stacked; i++)
    outputs[n++] = tl_graph_output(c->m, c->f.body, 1 + c->f.n_carried + i);
  for (uint32_t i = 0; i < c->f.n_carried; i++)
    if (c->inserts[i])
      outputs[n++] = tl_make_identity(&inner, tl_operand(c->m, c->inserts[i], 1));
  TL_TRY(tl_maker_status(&inner));
  TL_TRY(tl_graph_set_outputs(c->m, body, outputs, n));
  for (uint32_t i = c->f.n_carried; i-- > 0;) {
    if (!c->inserts[i])
      continue;
    tl_node_erase(c->m, c->inserts[i]);
    tl_graph_erase_input(c->m, tl_graph_get(c->m, body)->inputs.at[2 + i]);
  }
  return TL_OK;
}

/* Makes the Loop without the lists, which owns the body from now on. */
static tl_node_id insert_loop(collecting *c, tl_value_id *operands) {
  tl_node_id old = c->f.node;
  tl_attr body = tl_attr_graph(TL_SYM_body, c->f.body->id);
  uint32_t n = 0;
  for (uint32_t i = 0; i < 2 + c->f.n_carried; i++)
    if (i < 2 || !c->inserts[i - 2])
      operands[n++] = tl_operand(c->m, old, i);
  tl_node_spec spec = {.op = TL_OP_Loop,
                       .name = tl_node_get(c->m, old)->name,
                       .operands = operands,
                       .n_operands = n,
                       .attrs = &body,
                       .n_attrs = 1,
                       .n_results = c->f.n_carried + c->f.n_stacked};
  tl_node_id loop = tl_graph_insert(c->m, old, &spec);
  if (!loop || !tl_trace_derive(c->m, loop, &old, 1, false))
    return TL_NO_NODE;
  tl_node_remove_attr(c->m, old, TL_SYM_body);
  tl_graph_get(c->m, c->f.body->id)->owner = loop;
  tl_node_get(c->m, loop)->scope = tl_node_get(c->m, old)->scope;
  tl_node_get(c->m, loop)->stream = tl_node_get(c->m, old)->stream;
  return loop;
}

static void move_result(tl_module *m, tl_value_id from, tl_value_id to) {
  tl_value_get(m, to)->name = tl_value_get(m, from)->name;
  if (tl_value_type(m, from))
    tl_value_set_type(m, to, tl_value_type(m, from));
  tl_value_set_name(m, from, 0);
  tl_value_replace_uses(m, from, to);
}

/* Gives a stacked result its type: that of the body's value with an open dim in front. */
static tl_status set_stacked(collecting *c, tl_value_id v, tl_value_id element) {
  tl_dim dims[TL_MAX_RANK];
  const tl_type *t = type_of(c->m, element);
  dims[0] = TL_DIM_UNKNOWN;
  for (int i = 0; i < t->rank; i++)
    dims[i + 1] = t->dims[i];
  tl_type_id type = tl_type_tensor(c->m, (tl_dtype)t->dtype, t->rank + 1, dims);
  tl_symbol name = tl_maker_name(&c->k, TL_SV("Loop"));
  if (!type || name == TL_NO_SYMBOL)
    return tl_no_memory(c->m);
  tl_value_set_type(c->m, v, type);
  tl_value_set_name(c->m, v, name);
  return TL_OK;
}

/* Lets results of the new Loop take over the uses; what it stacks follows what was there before. */
static tl_status move_results(collecting *c, tl_node_id loop) {
  tl_node_id old = c->f.node;
  uint32_t carried = 0, list = c->f.n_carried - c->n_lists + c->f.n_stacked;
  for (uint32_t i = 0; i < c->f.n_carried; i++) {
    if (!c->inserts[i]) {
      move_result(c->m, tl_result(c->m, old, i), tl_result(c->m, loop, carried++));
      continue;
    }
    tl_value_id start = tl_rows_of(c->m, tl_operand(c->m, old, 2 + i));
    tl_value_id all[] = {start, tl_result(c->m, loop, list)};
    tl_graph_id body = c->f.body->id;
    TL_TRY(set_stacked(c, all[1], tl_graph_output(c->m, tl_graph_get(c->m, body), 1 + list)));
    list++;
    tl_value_id made = tl_make_rows(&c->k, start ? tl_make_concat(&c->k, all, 2, 0) : all[1]);
    TL_TRY(tl_maker_status(&c->k));
    move_result(c->m, tl_result(c->m, old, i), made);
  }
  for (uint32_t i = 0; i < c->f.n_stacked; i++)
    move_result(c->m, tl_result(c->m, old, c->f.n_carried + i), tl_result(c->m, loop, carried + i));
  return TL_OK;
}

static tl_status collect(collecting *c) {
  uint32_t most = 3 + c->f.n_carried + c->f.n_stacked;
  tl_value_id *list = tl_arena_calloc(c->w->p->scratch, most, sizeof *list);
  if (!list)
    return tl_no_memory(c->m);
  TL_TRY(change_body(c, list));
  tl_node_id loop = insert_loop(c, list);
  if (!loop)
    return tl_no_memory(c->m);
  TL_TRY(move_results(c, loop));
  tl_node_erase(c->m, c->f.node);
  return TL_OK;
}

tl_status tl_rows_of_loop(tl_rows_pass *w, tl_node_id n) {
  collecting c = {.w = w, .m = w->m};
  if (!tl_loop_read(w->m, &w->pinned, n, &c.f) || !c.f.n_carried)
    return TL_OK;
  tl_arena_mark mark = tl_arena_save(w->p->scratch);
  c.inserts = tl_arena_calloc(w->p->scratch, c.f.n_carried, sizeof *c.inserts);
  tl_status status = c.inserts ? TL_OK : tl_no_memory(w->m);
  for (uint32_t i = 0; i < c.f.n_carried && status == TL_OK; i++) {
    c.inserts[i] = appends_to(&c, i);
    c.n_lists += c.inserts[i] != TL_NO_NODE;
  }
  c.k = tl_maker_before(w->m, n);
  if (status == TL_OK && c.n_lists && tl_pass_may_rewrite(w->p))
    status = collect(&c);
  tl_arena_rewind(w->p->scratch, mark);
  return status;
}

/* ---- maps ------------------------------------------------------------------------------------ */

/* A SequenceMap and the Scan that it becomes. */
typedef struct mapping {
  tl_rows_pass *w;
  tl_module *m;
  tl_node_id n;
  const tl_graph *body;
  tl_maker k;
  tl_graph_id made;
  tl_value_id *rows; /* [n_rows]: the tensors of the sequences */
  uint32_t n_rows;
} mapping;

/* Returns true if every operand that is a sequence is rows of a tensor of known rank. */
static bool is_plain(mapping *x) {
  const tl_node *node = tl_node_get(x->m, x->n);
  const tl_attr *a = tl_node_attr(x->m, x->n, TL_SYM_body);
  x->body = a && a->kind == TL_ATTR_GRAPH ? tl_graph_get(x->m, a->u.g) : NULL;
  if (!x->body || node->control_in || node->control_out || x->body->inputs.n != node->n_operands ||
      tl_graph_n_outputs(x->m, x->body) != node->n_results)
    return false;
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_is_pinned(&x->w->pinned, node->results + i) || !tl_graph_output(x->m, x->body, i))
      return false;
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(x->m, x->n, i), rows = tl_rows_of(x->m, v);
    if (!v || (rows ? type_of(x->m, rows)->rank < 1 : type_of(x->m, v)->kind != TL_KIND_TENSOR))
      return false;
    if (rows)
      x->rows[x->n_rows++] = rows;
  }
  return x->n_rows > 0 && tl_rows_of(x->m, tl_operand(x->m, x->n, 0)) != TL_NO_VALUE;
}

/* Returns the type of a row, without the first dim. */
static tl_type_id row_type(const mapping *x, tl_value_id rows) {
  const tl_type *t = type_of(x->m, rows);
  return tl_type_tensor(x->m, (tl_dtype)t->dtype, t->rank - 1, t->dims + 1);
}

/* Tensors that are no sequences are the same in each step: the copies read them from outside. */
static void fill_body(mapping *x, tl_copier *c, tl_value_id *outputs) {
  for (uint32_t i = 0; i < x->body->inputs.n && !tl_maker_failed(c->k); i++) {
    tl_value_id old = x->body->inputs.at[i], v = tl_operand(x->m, x->n, i);
    tl_value_id rows = tl_rows_of(x->m, v);
    tl_symbol name = tl_maker_name(c->k, TL_SV("row"));
    if (rows)
      v = name ? tl_graph_add_input(x->m, x->made, name, row_type(x, rows), TL_NO_TENSOR)
               : TL_NO_VALUE;
    c->k->no_memory = c->k->no_memory || !v;
    tl_copy_set(c, old, v);
  }
  tl_copy_constants(c, x->body);
  tl_copy_nodes(c, x->body);
  uint32_t n = tl_graph_n_outputs(x->m, x->body);
  for (uint32_t i = 0; i < n && !tl_maker_failed(c->k); i++)
    outputs[i] = tl_make_identity(c->k, tl_copy_of(c, tl_graph_output(x->m, x->body, i)));
  if (!tl_maker_failed(c->k) && tl_graph_set_outputs(x->m, x->made, outputs, n) != TL_OK)
    c->k->no_memory = true;
}

static tl_node_id insert_scan(mapping *x) {
  const tl_attr attrs[] = {tl_attr_graph(TL_SYM_body, x->made),
                           tl_attr_int(TL_SYM_num_scan_inputs, x->n_rows)};
  tl_node_spec spec = {.op = TL_OP_Scan,
                       .name = tl_node_get(x->m, x->n)->name,
                       .operands = x->rows,
                       .n_operands = x->n_rows,
                       .attrs = attrs,
                       .n_attrs = 2,
                       .n_results = tl_graph_n_outputs(x->m, x->body)};
  tl_node_id scan = tl_graph_insert(x->m, x->n, &spec);
  x->k.no_memory = !scan || !tl_trace_derive(x->m, scan, &x->n, 1, false);
  if (scan)
    tl_graph_get(x->m, x->made)->owner = scan;
  return scan;
}

/* The results are the rows of what the Scan stacks. */
static tl_status put_results(mapping *x, tl_node_id scan) {
  for (uint32_t i = 0; i < tl_node_get(x->m, scan)->n_results; i++) {
    tl_symbol name = tl_maker_name(&x->k, TL_SV("Scan"));
    if (name == TL_NO_SYMBOL)
      return tl_no_memory(x->m);
    tl_value_set_name(x->m, tl_result(x->m, scan, i), name);
  }
  (void)tl_maker_infer(&x->k, scan);
  TL_TRY(tl_maker_status(&x->k));
  for (uint32_t i = 0; i < tl_node_get(x->m, scan)->n_results; i++) {
    tl_value_id made = tl_make_rows(&x->k, tl_result(x->m, scan, i));
    TL_TRY(tl_maker_status(&x->k));
    move_result(x->m, tl_result(x->m, x->n, i), made);
  }
  tl_node_erase(x->m, x->n);
  return TL_OK;
}

static tl_status replace(mapping *x, tl_value_id *outputs) {
  x->made = tl_graph_create(x->m, TL_GRAPH_BODY, x->body->name, x->n);
  if (!x->made)
    return tl_no_memory(x->m);
  tl_maker inner = x->k;
  inner.graph = x->made;
  inner.before = TL_NO_NODE;
  tl_copier c = {.k = &inner, .anew = true};
  fill_body(x, &c, outputs);
  tl_copier_release(&c);
  if (inner.no_memory)
    return tl_no_memory(x->m);
  bool steady = !inner.clash;
  for (uint32_t i = 0; steady && i < tl_graph_n_outputs(x->m, x->body); i++)
    steady = has_one_shape(x->m, outputs[i]);
  if (!steady) {
    tl_graph_erase(x->m, x->made);
    tl_pass_remark(x->w->p, x->m, x->n, false, "the elements of a result may differ in shape");
    return TL_OK;
  }
  tl_node_id scan = insert_scan(x);
  return scan ? put_results(x, scan) : tl_no_memory(x->m);
}

tl_status tl_rows_of_map(tl_rows_pass *w, tl_node_id n) {
  mapping x = {.w = w, .m = w->m, .n = n};
  const tl_node *node = tl_node_get(w->m, n);
  tl_arena_mark mark = tl_arena_save(w->p->scratch);
  x.rows = tl_arena_calloc(w->p->scratch, node->n_operands + 1, sizeof *x.rows);
  tl_value_id *outputs = tl_arena_calloc(w->p->scratch, node->n_results + 1, sizeof *outputs);
  tl_status status = x.rows && outputs ? TL_OK : tl_no_memory(w->m);
  x.k = tl_maker_before(w->m, n);
  if (status == TL_OK && is_plain(&x) && tl_pass_may_rewrite(w->p))
    status = replace(&x, outputs);
  tl_arena_rewind(w->p->scratch, mark);
  return status;
}
