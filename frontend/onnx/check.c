/* SPDX-License-Identifier: Apache-2.0 */
/* Checks arity and attributes of a node in canonical form against the op table. */
#include "frontend/onnx/check.h"
#include "ir/ops_gen.h"

static tl_status check_count(const tl_onnx_reader *r, tl_node_id n, const char *what, uint32_t has,
                             uint32_t fewest, uint32_t most) {
  if (has >= fewest && has <= most)
    return TL_OK;
  tl_location where = tl_node_where(r->m, n);
  tl_sv op = tl_op_name(r->m, tl_node_get(r->m, n)->op);
  if (most == UINT32_MAX)
    return tl_fail(r->d, TL_INVALID_MODEL, where, "%.*s has %u %s, at least %u are needed",
                   TL_SV_ARG(op), has, what, fewest);
  return tl_fail(r->d, TL_INVALID_MODEL, where, "%.*s has %u %s, it takes %u to %u", TL_SV_ARG(op),
                 has, what, fewest, most);
}

static tl_status absent(const tl_onnx_reader *r, tl_node_id n, uint32_t i, const tl_op *row) {
  return tl_fail(r->d, TL_INVALID_MODEL, tl_node_where(r->m, n),
                 "operand %u (%s) of %s is required but absent", i,
                 tl_op_operand_port(row, i)->name, row->name);
}

static tl_status check_operands(const tl_onnx_reader *r, tl_node_id n, const tl_op *row) {
  uint32_t count = tl_node_get(r->m, n)->n_operands;
  TL_TRY(check_count(r, n, "operands", count, row->min_operands, row->max_operands));
  for (uint32_t i = 0; i < count; i++) {
    const tl_op_port *port = tl_op_operand_port(row, i);
    if (port && port->kind != TL_PORT_OPTIONAL && !tl_operand(r->m, n, i))
      return absent(r, n, i, row);
  }
  return TL_OK;
}

/* What is an operand today was the first one ever, or an attribute before. Scan had an optional
 * operand before those that are in a list today. */
tl_status tl_onnx_check_present(const tl_onnx_reader *r, tl_node_id n) {
  const tl_op *row = tl_op_row(tl_node_get(r->m, n)->op);
  uint32_t count = tl_node_get(r->m, n)->n_operands;
  for (uint32_t i = 0; row && i < (count ? count : 1); i++) {
    const tl_op_port *port = tl_op_operand_port(row, i);
    if (port && port->kind == TL_PORT_REQUIRED && !tl_operand(r->m, n, i))
      return absent(r, n, i, row);
  }
  return TL_OK;
}

static tl_status unknown_attr(const tl_onnx_reader *r, tl_node_id n, const tl_op *row, tl_sv name) {
  const char *near = NULL;
  size_t best = 3;
  tl_location where = tl_node_where(r->m, n);
  where.attr = name;
  for (uint32_t i = 0; i < row->n_attrs; i++) {
    tl_sv other = tl_sym(r->m, row->attrs[i].value.name);
    size_t d = tl_edit_distance(name, other, best);
    if (d < best) {
      best = d;
      near = other.p;
    }
  }
  if (near)
    return tl_fail(r->d, TL_INVALID_MODEL, where, "%s has no such attribute\vdid you mean '%s'?",
                   row->name, near);
  return tl_fail(r->d, TL_INVALID_MODEL, where, "%s has no such attribute", row->name);
}

/* Unknown attributes are an error in ai.onnx only, whose nodes are lifted to the versions of the
 * table; ops of other domains may have attributes of other versions. Names that begin with two
 * underscores belong to tools. */
static bool may_be_unknown(const tl_op *row, tl_sv name) {
  return row->domain_symbol != 0 || tl_sv_starts_with(name, "__");
}

static tl_status check_attr(const tl_onnx_reader *r, tl_node_id n, const tl_op *row,
                            const tl_attr *a) {
  const tl_op_attr *known = tl_op_attr_find(row, a->name);
  tl_sv name = tl_sym(r->m, a->name);
  if (!known)
    return may_be_unknown(row, name) ? TL_OK : unknown_attr(r, n, row, name);
  if (known->value.kind == a->kind)
    return TL_OK;
  tl_location where = tl_node_where(r->m, n);
  where.attr = name;
  return tl_fail(r->d, TL_INVALID_MODEL, where, "the attribute is %s, %s needs %s",
                 tl_attr_kind_name((tl_attr_kind)a->kind), row->name,
                 tl_attr_kind_name((tl_attr_kind)known->value.kind));
}

tl_status tl_onnx_check_node(const tl_onnx_reader *r, tl_node_id n) {
  const tl_node *node = tl_node_get(r->m, n);
  const tl_op *row = tl_op_row(node->op);
  if (!row)
    return TL_OK;
  TL_TRY(check_operands(r, n, row));
  TL_TRY(check_count(r, n, "results", node->n_results, row->min_results, row->max_results));
  for (uint32_t i = 0; i < node->n_attrs; i++)
    TL_TRY(check_attr(r, n, row, &node->attrs[i]));
  for (uint32_t i = 0; i < row->n_attrs; i++)
    if (row->attrs[i].required && !tl_node_attr(r->m, n, row->attrs[i].value.name))
      return tl_fail(r->d, TL_INVALID_MODEL, tl_node_where(r->m, n),
                     "%s needs the attribute '%.*s'", row->name,
                     TL_SV_ARG(tl_sym(r->m, row->attrs[i].value.name)));
  return TL_OK;
}

tl_status tl_onnx_unknown_op(const tl_onnx_reader *r, tl_symbol domain, tl_sv op_type,
                             tl_location where) {
  const tl_op *near = NULL;
  size_t best = 4;
  for (uint32_t i = 0; i < tl_n_op_rows; i++) {
    if (tl_op_rows[i].domain_symbol != domain)
      continue;
    size_t d = tl_edit_distance(op_type, tl_sv_from(tl_op_rows[i].name), best);
    if (d < best) {
      best = d;
      near = &tl_op_rows[i];
    }
  }
  const char *in = domain ? tl_sym(r->m, domain).p : "ai.onnx";
  if (near)
    return tl_fail(
        r->d, TL_INVALID_MODEL, where,
        "domain %s has no op '%.*s'\vdid you mean '%s'? If your package has an NPU kernel "
        "of it: --allow-custom-ops=%.*s",
        in, TL_SV_ARG(op_type), near->name, TL_SV_ARG(op_type));
  return tl_fail(r->d, TL_INVALID_MODEL, where,
                 "domain %s has no op '%.*s'\vif your package has an NPU kernel of it: "
                 "--allow-custom-ops=%.*s",
                 in, TL_SV_ARG(op_type), TL_SV_ARG(op_type));
}
