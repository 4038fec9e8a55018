/* SPDX-License-Identifier: Apache-2.0 */
/* Lookup of ops: rows of the table by seeded symbols, opaque ops for each module. */
#include "ir/op.h"

#include "ir/module.h"
#include "ir/ops_gen.h"
#include "support/assert.h"

/* Binary search; rows are sorted by (domain symbol, name symbol). */
tl_op_id tl_op_find(tl_symbol domain, tl_symbol name) {
  uint32_t low = 0;
  uint32_t high = tl_n_op_rows;
  while (low < high) {
    uint32_t mid = low + (high - low) / 2;
    const tl_op *row = &tl_op_rows[mid];
    TL_ASSERT(mid == 0 || tl_map_pair(row[-1].domain_symbol, row[-1].name_symbol) <
                              tl_map_pair(row->domain_symbol, row->name_symbol));
    if (row->domain_symbol == domain && row->name_symbol == name)
      return mid;
    if (row->domain_symbol < domain || (row->domain_symbol == domain && row->name_symbol < name))
      low = mid + 1;
    else
      high = mid;
  }
  return UINT32_MAX;
}

/* An op without a row gets an id behind those of the table, the same for every use in the
 * module. */
tl_op_id tl_op_intern(tl_module *m, tl_symbol domain, tl_symbol name) {
  if (domain == TL_SYM_ai_onnx) /* the other name of the default domain */
    domain = 0;
  /* Names of rows are seeded symbols: a larger symbol is in no row. */
  if (domain <= tl_n_seeds && name <= tl_n_seeds) {
    tl_op_id row = tl_op_find(domain, name);
    if (row != UINT32_MAX)
      return row;
  }
  uint64_t key = tl_map_pair(domain, name);
  uint32_t index;
  if (tl_map_find(&m->opaque_index, key, &index))
    return tl_n_op_rows + index;
  tl_opaque_op op = {.domain = domain, .name = name};
  index = m->opaque_ops.n;
  if (!tl_opaque_vec_push(&m->opaque_ops, op))
    return UINT32_MAX;
  if (!tl_map_set(&m->opaque_index, key, index)) {
    m->opaque_ops.n--; /* both tables or none */
    return UINT32_MAX;
  }
  return tl_n_op_rows + index;
}

/* RETURN and ERASED have no name. */
tl_symbol tl_op_name_symbol(const tl_module *m, tl_op_id op) {
  if (op < tl_n_op_rows)
    return tl_op_rows[op].name_symbol;
  return op - tl_n_op_rows < m->opaque_ops.n ? m->opaque_ops.at[op - tl_n_op_rows].name : 0;
}

tl_symbol tl_op_domain_symbol(const tl_module *m, tl_op_id op) {
  if (op < tl_n_op_rows)
    return tl_op_rows[op].domain_symbol;
  return op - tl_n_op_rows < m->opaque_ops.n ? m->opaque_ops.at[op - tl_n_op_rows].domain : 0;
}

tl_sv tl_op_name(const tl_module *m, tl_op_id op) { return tl_sym(m, tl_op_name_symbol(m, op)); }

tl_sv tl_op_domain(const tl_module *m, tl_op_id op) {
  return tl_sym(m, tl_op_domain_symbol(m, op));
}

/* A variadic port is the last one and takes all indices from there on. */
static const tl_op_port *port_at(const tl_op_port *ports, uint8_t n, uint32_t index) {
  if (index < n)
    return &ports[index];
  return n && ports[n - 1].kind == TL_PORT_VARIADIC ? &ports[n - 1] : NULL;
}

const tl_op_port *tl_op_operand_port(const tl_op *row, uint32_t index) {
  return port_at(row->operands, row->n_operand_ports, index);
}

const tl_op_port *tl_op_result_port(const tl_op *row, uint32_t index) {
  return port_at(row->results, row->n_result_ports, index);
}

const tl_op_attr *tl_op_attr_find(const tl_op *row, tl_symbol name) {
  for (uint32_t i = 0; i < row->n_attrs; i++)
    if (row->attrs[i].value.name == name)
      return &row->attrs[i];
  return NULL;
}

/* ONNX writes flags as integers: an odd one is neither 0 nor 1. */
bool tl_op_is_odd_flag(tl_op_id op, const tl_attr *a) {
  const tl_op *row = tl_op_row(op);
  if (a->kind != TL_ATTR_INT || a->u.i == 0 || a->u.i == 1 || !row)
    return false;
  const tl_op_attr *known = tl_op_attr_find(row, a->name);
  return known && known->flag;
}
