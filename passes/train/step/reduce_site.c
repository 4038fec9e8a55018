/* SPDX-License-Identifier: Apache-2.0 */
/* Finds accumulators behind gradients (reduce_site.h). */
#include "passes/train/step/reduce_site.h"

#include "ir/ops_gen.h"

enum { DEEPEST = 8, MOST_USES = 256 };

static const tl_state *state_of_input(const tl_module *m, tl_value_id v) {
  for (uint32_t i = 0; v && i < m->states.n; i++)
    if (m->states.at[i].input == v)
      return &m->states.at[i];
  return NULL;
}

/* Returns the state that an Add adds v to, NULL if there is none. */
static const tl_state *added_to(const tl_module *m, tl_node_id n, tl_value_id v) {
  tl_value_id a = tl_operand(m, n, 0), b = tl_operand(m, n, 1);
  if (tl_node_get(m, n)->op != TL_OP_Add || a == b)
    return NULL;
  return state_of_input(m, a == v ? b : b == v ? a : TL_NO_VALUE);
}

static bool is_buffer_op(tl_op_id op) {
  return op == TL_OP_com_microsoft_InPlaceAccumulatorV2 ||
         op == TL_OP_com_microsoft_InPlaceAccumulator;
}

static bool accumulates(const tl_module *m, tl_node_id n, tl_value_id v) {
  if (is_buffer_op(tl_node_get(m, n)->op))
    return tl_operand(m, n, 1) == v;
  return added_to(m, n, v) != NULL;
}

tl_value_id tl_accumulated(const tl_module *m, tl_node_id n, tl_value_id v) {
  if (!accumulates(m, n, v))
    return TL_NO_VALUE;
  return tl_result(m, n, tl_node_get(m, n)->op == TL_OP_com_microsoft_InPlaceAccumulatorV2);
}

tl_value_id tl_accumulated_or_first(const tl_module *m, tl_node_id n, tl_value_id v) {
  bool second = tl_node_get(m, n)->op == TL_OP_com_microsoft_InPlaceAccumulatorV2;
  return tl_result(m, n, second && accumulates(m, n, v));
}

/* ---- on the way to it ------------------------------------------------------------------------ */

static bool is_scalar(const tl_module *m, tl_value_id v) {
  uint64_t n;
  return v && tl_type_elements(m, tl_value_type(m, v), &n) && n == 1;
}

/* A cast to a narrower type would round before the sum instead of behind it. */
static bool widens(const tl_module *m, tl_node_id n) {
  tl_dtype from = tl_type_dtype(m, tl_value_type(m, tl_operand(m, n, 0)));
  tl_dtype to = tl_type_dtype(m, tl_value_type(m, tl_result(m, n, 0)));
  return from == to ||
         ((from == TL_DTYPE_F16 || from == TL_DTYPE_BF16) &&
          (to == TL_DTYPE_F32 || to == TL_DTYPE_F64)) ||
         (from == TL_DTYPE_F32 && to == TL_DTYPE_F64);
}

/* Column `across` of step_ops.tbl. */
typedef enum across_kind { NEVER, ALWAYS, FIRST, BY_SCALAR, SCALED, WIDER } across_kind;

static const uint8_t across_kinds[] = {
#define STEP_OP(name, old, form, across, leads) [TL_OP_##name] = across,
#include "passes/train/step/step_ops.tbl"
};

static across_kind across_of(tl_op_id op) {
  return op < sizeof across_kinds / sizeof *across_kinds ? (across_kind)across_kinds[op] : NEVER;
}

/* Returns true if a sum over ranks gives the same before or behind the node (up to rounding). */
static bool commutes(const tl_module *m, tl_node_id n, tl_value_id v) {
  bool first = tl_operand(m, n, 0) == v;
  switch (across_of(tl_node_get(m, n)->op)) {
  case ALWAYS: return true;
  case FIRST: return first;
  case BY_SCALAR: return first && is_scalar(m, tl_operand(m, n, 1));
  case SCALED: return is_scalar(m, tl_operand(m, n, first));
  case WIDER: return widens(m, n);
  default: return false;
  }
}

/* Returns the accumulator behind v, depth first. *value: the operand that it adds. */
static tl_node_id find(const tl_module *m, tl_value_id v, int depth, int *budget,
                       tl_value_id *value) {
  TL_FOR_USES(m, v, u) {
    tl_node_id n = tl_use_get(m, u)->user, found = TL_NO_NODE;
    if (--*budget < 0)
      return TL_NO_NODE;
    if (tl_node_is_return(m, n) || tl_node_get(m, n)->graph != tl_module_main(m)->id)
      continue;
    *value = v;
    if (accumulates(m, n, v))
      return n;
    if (depth < DEEPEST && commutes(m, n, v))
      found = find(m, tl_result(m, n, 0), depth + 1, budget, value);
    if (found)
      return found;
  }
  return TL_NO_NODE;
}

/* Returns true if a node reads it, and not only the outputs of the graph. */
static bool is_read(const tl_module *m, tl_value_id v) {
  if (v)
    TL_FOR_USES(m, v, u)
      if (!tl_node_is_return(m, tl_use_get(m, u)->user))
        return true;
  return false;
}

/* ACCUM: what the accumulator adds is reduced. BOUNDARY: the sum is reduced, once per update. */
tl_reduce_site tl_reduce_site_of(const tl_module *m, const tl_train_grad *g, tl_ar_site site) {
  tl_reduce_site s = {.found = true};
  int budget = MOST_USES;
  tl_node_id n = find(m, g->raw, 0, &budget, &s.value);
  if (!n) { /* a gradient from outside has been accumulated there */
    s.value = site == TL_AR_SITE_BOUNDARY && !g->producer ? g->raw : TL_NO_VALUE;
    s.found = s.value != TL_NO_VALUE;
    return s;
  }
  if (site == TL_AR_SITE_ACCUM)
    return s;
  const tl_state *buffer = added_to(m, n, s.value);
  if (!buffer)
    buffer = state_of_input(m, tl_operand(m, n, 0));
  s.kept = buffer ? buffer->output : TL_NO_VALUE;
  s.value = tl_accumulated(m, n, s.value);
  if (!is_read(m, s.value))
    s.value = TL_NO_VALUE; /* the optimizer is in another graph */
  return s;
}

/* Returns true if all users of v lead to `kept` only. */
static bool value_leads_only_to(const tl_module *m, tl_value_id v, tl_value_id kept, int *budget) {
  TL_FOR_USES(m, v, u) {
    tl_node_id user = tl_use_get(m, u)->user;
    bool ends = tl_node_is_return(m, user);
    if (ends ? v != kept : !tl_leads_only_to(m, user, kept, budget))
      return false;
  }
  return true;
}

bool tl_leads_only_to(const tl_module *m, tl_node_id n, tl_value_id kept, int *budget) {
  if (--*budget < 0)
    return false;
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_results; i++)
    if (!value_leads_only_to(m, tl_result(m, n, i), kept, budget))
      return false;
  return true;
}
