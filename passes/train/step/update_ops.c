/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the table of known update ops and reads the operands of a node by its row. */
#include "passes/train/step/update_ops.h"

#include "ir/ops_gen.h"
#include "passes/edit/values.h"

#define FLAT TL_UPDATE_FLAT
#define GROUPED TL_UPDATE_GROUPED
#define SEQUENCE TL_UPDATE_SEQUENCE
#define STATES(...)                                                                                \
  {                                                                                                \
    sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), { __VA_ARGS__ }                    \
  }
#define NO_STATES                                                                                  \
  {                                                                                                \
    0, { 0 }                                                                                       \
  }

static const tl_update_row rows[] = {
#define UPDATE_OP(domain_, name_, layout_, group_, param_, grad_, states_, result_, outs_)         \
  {.domain = {domain_, sizeof(domain_) - 1},                                                       \
   .name = {name_, sizeof(name_) - 1},                                                             \
   .layout = layout_,                                                                              \
   .group = group_,                                                                                \
   .param = param_,                                                                                \
   .grad = grad_,                                                                                  \
   .states = states_,                                                                              \
   .result = result_,                                                                              \
   .state_results = outs_},
#include "passes/train/step/update_ops.tbl"
};

enum { N_ROWS = sizeof rows / sizeof *rows, SEQUENCE_STEPS = 8 };

const tl_update_row *tl_update_row_at(uint32_t i) { return i < N_ROWS ? &rows[i] : NULL; }

const tl_update_row *tl_update_row_of(const tl_module *m, tl_node_id n) {
  tl_op_id op = tl_node_get(m, n)->op;
  tl_sv name = tl_op_name(m, op), domain = tl_op_domain(m, op);
  for (uint32_t i = 0; i < N_ROWS; i++)
    if (tl_sv_eq(rows[i].name, name) &&
        (tl_sv_is(rows[i].domain, "*") || tl_sv_eq(rows[i].domain, domain)))
      return &rows[i];
  return NULL;
}

/* ---- sequences ------------------------------------------------------------------------------- */

/* Returns the node whose operands are the elements of a sequence. Ops from one sequence to one
 * sequence, such as clipping by norm, keep the places of the elements, so the search goes through
 * them. TL_NO_NODE: not known. */
static tl_node_id maker_of(const tl_module *m, tl_value_id v) {
  for (int i = 0; v && i < SEQUENCE_STEPS; i++) {
    tl_node_id n = tl_value_producer(m, v);
    if (!n || tl_list_maker(m, v))
      return n;
    if (tl_node_get(m, n)->n_operands != 1)
      return TL_NO_NODE;
    v = tl_operand(m, n, 0);
  }
  return TL_NO_NODE;
}

static bool is_at(const tl_module *m, tl_node_id n, uint32_t i) {
  int64_t at;
  const tl_tensor *t =
      tl_node_get(m, n)->op == TL_OP_SequenceAt ? tl_value_constant(m, tl_operand(m, n, 1)) : NULL;
  return t && tl_tensor_int_at(m, t, 0, &at) && at == (int64_t)i;
}

/* Returns the value that takes element i out of a sequence, TL_NO_VALUE if none does. In a body of
 * If the element is what one branch gives, and no value of the step. */
static tl_value_id taken(const tl_module *m, tl_value_id sequence, uint32_t i) {
  if (!sequence)
    return TL_NO_VALUE;
  tl_graph_id graph = tl_value_graph(m, sequence);
  TL_FOR_USES(m, sequence, u) {
    tl_node_id user = tl_use_get(m, u)->user;
    if (tl_node_get(m, user)->graph == graph && is_at(m, user, i))
      return tl_result(m, user, 0);
  }
  return TL_NO_VALUE;
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Groups of a GROUPED row: parameters, gradients, and each state. */
static uint32_t kinds_of(const tl_update_row *row) { return 2 + row->states.n; }

/* Operands come in groups of equal size, one per kind; 0 if they do not divide evenly. */
static uint32_t count_grouped(const tl_node *node, const tl_update_row *row) {
  uint32_t kinds = kinds_of(row);
  if (node->n_operands < row->group + kinds || (node->n_operands - row->group) % kinds)
    return 0;
  uint32_t n = (node->n_operands - row->group) / kinds;
  return node->n_results == n * (1 + row->state_results.n) ? n : 0;
}

static uint32_t count_sequence(const tl_module *m, tl_node_id n, const tl_update_row *row) {
  tl_node_id params = maker_of(m, tl_operand(m, n, row->param));
  tl_node_id grads = maker_of(m, tl_operand(m, n, row->grad));
  if (!params || !grads)
    return 0;
  uint32_t count = tl_node_get(m, params)->n_operands;
  return tl_node_get(m, grads)->n_operands == count ? count : 0;
}

uint32_t tl_update_count(const tl_module *m, tl_node_id n, const tl_update_row *row) {
  switch (row->layout) {
  case GROUPED: return count_grouped(tl_node_get(m, n), row);
  case SEQUENCE: return count_sequence(m, n, row);
  default: return 1;
  }
}

/* Returns the operand of role `index` in the row, for tensor i of `count`. */
static tl_value_id operand_of(const tl_module *m, tl_node_id n, const tl_update_row *row,
                              uint32_t index, uint32_t i, uint32_t count) {
  if (row->layout == GROUPED)
    return tl_operand(m, n, row->group + index * count + i);
  if (row->layout == FLAT)
    return tl_operand(m, n, index);
  tl_node_id maker = maker_of(m, tl_operand(m, n, index));
  return maker ? tl_operand(m, maker, i) : TL_NO_VALUE;
}

/* Returns the result of role `index` in the row, for tensor i of `count`. */
static tl_value_id result_of(const tl_module *m, tl_node_id n, const tl_update_row *row,
                             uint32_t index, uint32_t i, uint32_t count) {
  if (row->layout == GROUPED)
    return tl_result(m, n, index * count + i);
  return row->layout == FLAT ? tl_result(m, n, index) : taken(m, tl_result(m, n, index), i);
}

bool tl_update_slot_at(const tl_module *m, tl_node_id n, const tl_update_row *row, uint32_t i,
                       tl_update_slot *out) {
  uint32_t count = tl_update_count(m, n, row);
  *out = (tl_update_slot){.param = operand_of(m, n, row, row->param, i, count),
                          .grad = operand_of(m, n, row, row->grad, i, count),
                          .out = result_of(m, n, row, row->result, i, count)};
  for (uint32_t k = 0; k < row->states.n; k++) {
    tl_value_id in = operand_of(m, n, row, row->states.at[k], i, count);
    if (!in)
      continue;
    out->state_in[out->n_states] = in;
    out->state_out[out->n_states++] = k < row->state_results.n
                                          ? result_of(m, n, row, row->state_results.at[k], i, count)
                                          : TL_NO_VALUE;
  }
  return i < count && out->param && out->grad;
}
