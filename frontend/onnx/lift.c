/* SPDX-License-Identifier: Apache-2.0 */
/* Lifts nodes to the canonical opset by the rows of opset_rows.c.
 * Graphs are complete and sorted then. Before a row that looks at types, the types of all nodes
 * before the lifted one are inferred. */
#include "frontend/onnx/lift.h"

#include "frontend/onnx/check.h"
#include "frontend/onnx/load.h"
#include "frontend/onnx/opset.h"
#include "ir/infer/infer.h"

void tl_onnx_lifts_release(tl_onnx_lifts *lifts) {
  tl_lift_vec_release(&lifts->queue);
  tl_u32_vec_release(&lifts->rows);
}

/* Cached facts of an op in 32 bits. Low half: first row + 1, 0 for none. Above it: the opset from
 * which on nodes need no lifting (a node older than its op is queued too, to be checked). Top bit:
 * the entry is valid. */
static uint32_t rows_of(tl_onnx_lifts *lifts, tl_op_id op) {
  uint32_t known = tl_slot_get(&lifts->rows, op);
  if (known)
    return known;
  const tl_op *row = tl_op_row(op);
  uint32_t first = 0;
  uint32_t from = row->domain_symbol == 0 && row->n_since ? (uint32_t)row->since[0] : 0;
  for (uint32_t i = tl_n_lift_rows; i > 0; i--) {
    if (tl_lift_rows[i - 1].op != op)
      continue;
    first = i;
    from = tl_lift_rows[i - 1].below > from ? tl_lift_rows[i - 1].below : from;
  }
  known = UINT32_C(1) << 31 | from << 16 | first;
  return tl_slot_set(&lifts->rows, op, known) == TL_OK ? known : 0;
}

bool tl_onnx_needs_lift(tl_onnx_lifts *lifts, tl_op_id op, int64_t version) {
  if (op >= TL_N_OPS)
    return false;
  uint32_t from = rows_of(lifts, op) >> 16 & 0x7fff;
  if (version >= TL_ONNX_CANONICAL_OPSET)
    return from == TL_LIFT_ALWAYS;
  return version < 6 || version < from;
}

static tl_status set_default(const tl_lifting *l, tl_attr attr) {
  return tl_node_attr(l->m, l->n, attr.name) ? TL_OK : tl_node_set_attr(l->m, l->n, attr);
}

static tl_status rename_attr(const tl_lifting *l, const tl_lift_row *row) {
  const tl_attr *found = tl_node_attr(l->m, l->n, row->attr);
  if (!found)
    return TL_OK;
  tl_attr copy = *found;
  copy.name = (tl_symbol)row->value;
  tl_node_remove_attr(l->m, l->n, row->attr);
  return tl_node_set_attr(l->m, l->n, copy);
}

static tl_status attr_to_operand(const tl_lifting *l, const tl_lift_row *row) {
  const tl_attr *found = tl_node_attr(l->m, l->n, row->attr);
  tl_value_id v;
  if (!found)
    return TL_OK;
  tl_sv name = tl_sym(l->m, row->attr);
  if (found->kind != TL_ATTR_INTS)
    return tl_lift_fail(l, TL_INVALID_MODEL, "attribute '%.*s' must be ints", TL_SV_ARG(name));
  /* Seeded symbols are NUL-terminated. */
  TL_TRY(tl_lift_i64s(l, found->u.is, found->count, 1, name.p, &v));
  tl_node_remove_attr(l->m, l->n, row->attr);
  return tl_lift_set_operand(l, (uint32_t)row->value, v);
}

static tl_status apply(const tl_lifting *l, const tl_lift_row *row) {
  switch ((tl_lift_action)row->action) {
  case TL_LIFT_DROP: tl_node_remove_attr(l->m, l->n, row->attr); return TL_OK;
  case TL_LIFT_INT: return set_default(l, tl_attr_int(row->attr, row->value));
  case TL_LIFT_FLOAT: return set_default(l, tl_attr_float(row->attr, row->real));
  case TL_LIFT_STRING: return set_default(l, tl_attr_string(row->attr, (tl_symbol)row->value));
  case TL_LIFT_ATTR_NAME: return rename_attr(l, row);
  case TL_LIFT_OPERAND: return attr_to_operand(l, row);
  case TL_LIFT_RENAME: tl_node_set_op(l->m, l->n, (tl_op_id)row->value); return TL_OK;
  case TL_LIFT_CALL: return row->fn(l);
  }
  return TL_INTERNAL;
}

/* Drops attributes that the standard op does not have. ONNX Runtime had ops of its own under names
 * that became standard later (such as LayerNormalization) and does not check their attributes. They
 * have no effect and cannot be written back. */
static void drop_unknown_attrs(const tl_lifting *l) {
  const tl_node *node = tl_node_get(l->m, l->n);
  const tl_op *op = tl_op_row(node->op);
  if (!op || op->domain_symbol != 0 || op->n_since == 0 || op->since[0] <= l->version)
    return;
  for (uint32_t i = 0; i < node->n_attrs;) {
    tl_symbol name = node->attrs[i].name;
    if (tl_op_attr_find(op, name)) {
      i++;
      continue;
    }
    tl_location where = tl_node_where(l->m, l->n);
    where.attr = tl_sym(l->m, name);
    tl_warn(l->r->d, where, "%s has no such attribute; it is ignored", op->name);
    tl_node_remove_attr(l->m, l->n, name);
  }
}

static tl_status lift_node(tl_onnx_lifts *lifts, const tl_lift *job) {
  tl_lifting l = {lifts->r, lifts->r->m, job->node, job->version};
  tl_op_id op = tl_node_get(lifts->r->m, job->node)->op;
  tl_node_id first_new = tl_module_node_end(lifts->r->m);
  TL_TRY(tl_onnx_check_present(lifts->r, job->node));
  if (job->version < 6 && op < TL_N_OPS)
    tl_node_remove_attr(lifts->r->m, job->node, TL_SYM_consumed_inputs);
  uint32_t entry = op < TL_N_OPS ? rows_of(lifts, op) : 0;
  for (uint32_t i = entry & 0xffff; i && i <= tl_n_lift_rows; i++) {
    const tl_lift_row *row = &tl_lift_rows[i - 1];
    if (row->op != op)
      break;
    if (job->version < row->below)
      TL_TRY(apply(&l, row));
  }
  drop_unknown_attrs(&l);
  for (tl_node_id n = first_new; n < tl_module_node_end(lifts->r->m); n++)
    TL_TRY(
        tl_onnx_check_node(lifts->r, n)); /* they have operands of the node, which may lack some */
  return tl_onnx_check_node(lifts->r, job->node);
}

/* ---- in order, with types -------------------------------------------------------------------- */

/* By node: index + 1 into x->queue, for the nodes that existed before the lifting. */
typedef struct lift_jobs {
  uint32_t *of_node;
  uint32_t n_nodes;
} lift_jobs;

static bool needs_types(tl_onnx_lifts *lifts, const tl_lift *job) {
  tl_op_id op = tl_node_get(lifts->r->m, job->node)->op;
  for (uint32_t i = 0; i < tl_n_lift_rows; i++)
    if (tl_lift_rows[i].op == op && tl_lift_rows[i].typed && job->version < tl_lift_rows[i].below &&
        !tl_type_get(lifts->r->m, tl_value_type(lifts->r->m, tl_operand(lifts->r->m, job->node, 0)))
             ->kind)
      return true;
  return false;
}

static tl_status lift_graph(tl_onnx_lifts *lifts, const lift_jobs *jobs, tl_graph_id g);

static tl_status lift_bodies(tl_onnx_lifts *lifts, const lift_jobs *jobs, tl_node_id n) {
  for (uint32_t i = 0; i < tl_node_get(lifts->r->m, n)->n_attrs; i++) {
    tl_attr a = tl_node_get(lifts->r->m, n)->attrs[i];
    if (a.kind == TL_ATTR_GRAPH)
      TL_TRY(lift_graph(lifts, jobs, a.u.g));
    for (uint32_t k = 0; a.kind == TL_ATTR_GRAPHS && k < a.count; k++)
      TL_TRY(lift_graph(lifts, jobs, a.u.ids[k]));
  }
  return TL_OK;
}

/* Infers the types of the nodes after `previous` up to n. Errors are ignored here, since the whole
 * module is inferred and checked later. */
static tl_status infer_until(tl_onnx_lifts *lifts, tl_graph_id g, tl_node_id previous,
                             tl_node_id n) {
  tl_node_id at = previous ? tl_node_get(lifts->r->m, previous)->next
                           : tl_graph_get(lifts->r->m, g)->first;
  for (;; at = tl_node_get(lifts->r->m, at)->next) {
    TL_TRY(tl_infer_node(lifts->r->m, at));
    if (at == n)
      return TL_OK;
  }
}

/* Lifts the queued nodes of a graph and of its bodies. The import has bounded the recursion. */
static tl_status lift_graph(tl_onnx_lifts *lifts, const lift_jobs *jobs, tl_graph_id g) {
  for (tl_node_id n = tl_graph_get(lifts->r->m, g)->first; n;
       n = tl_node_get(lifts->r->m, n)->next) {
    tl_node_id previous = tl_node_get(lifts->r->m, n)->previous;
    TL_TRY(lift_bodies(lifts, jobs, n));
    if (n < jobs->n_nodes && jobs->of_node[n])
      TL_TRY(lift_node(lifts, &lifts->queue.at[jobs->of_node[n] - 1]));
    TL_TRY(infer_until(lifts, g, previous, n));
  }
  return TL_OK;
}

static tl_status lift_in_order(tl_onnx_lifts *lifts) {
  lift_jobs jobs = {NULL, tl_module_node_end(lifts->r->m)};
  jobs.of_node = tl_arena_calloc(&lifts->r->leaf, jobs.n_nodes, sizeof *jobs.of_node);
  if (!jobs.of_node)
    return TL_NO_MEMORY;
  for (uint32_t i = 0; i < lifts->queue.n; i++)
    jobs.of_node[lifts->queue.at[i].node] = i + 1;
  return lift_graph(lifts, &jobs, tl_module_main(lifts->r->m)->id);
}

tl_status tl_onnx_lift(tl_onnx_lifts *lifts) {
  for (uint32_t i = 0; i < lifts->queue.n; i++)
    if (needs_types(lifts, &lifts->queue.at[i]))
      return lift_in_order(lifts);
  for (uint32_t i = 0; i < lifts->queue.n; i++)
    TL_TRY(lift_node(lifts, &lifts->queue.at[i]));
  return TL_OK;
}
