/* SPDX-License-Identifier: Apache-2.0 */
/* The predicates behind stages.tbl. */
#include "ir/verify/stage.h"

#include <string.h>

#include "ir/ops_gen.h"

static bool is_text(const tl_module *m, tl_value_id v) {
  return v && tl_type_dtype(m, tl_value_type(m, v)) == TL_DTYPE_STRING;
}

/* The candidate that select chose; NULL when it found none. */
static const tl_npu_candidate *chosen(const tl_node *node) {
  const tl_op *row = tl_op_row(node->op);
  bool any = row && node->candidate >= 0 && node->candidate < row->n_npu;
  return any ? &row->npu[node->candidate] : NULL;
}

/* Ops of the domain npu are their own form, but for those that models of torch_npu bring. */
static bool is_own_form(const tl_node *node) {
  const tl_op *row = tl_op_row(node->op);
  return row && row->domain_symbol == TL_SYM_npu && row->n_npu == 0;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static bool forbids_npu_op(const tl_module *m, tl_node_id n) {
  return is_own_form(tl_node_get(m, n));
}

static bool forbids_choice(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  return node->selected || node->candidate >= 0;
}

static bool forbids_no_candidate(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  const tl_npu_candidate *c = chosen(node);
  return !is_own_form(node) && (!c || c->kind == TL_LOWER_NONE);
}

static bool forbids_several_nodes(const tl_module *m, tl_node_id n) {
  const tl_npu_candidate *c = chosen(tl_node_get(m, n));
  return c && c->kind == TL_LOWER_EXPAND;
}

static bool forbids_strings(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    if (is_text(m, tl_operand(m, n, i)))
      return true;
  }
  for (uint32_t i = 0; i < node->n_results; i++) {
    if (is_text(m, node->results + i))
      return true;
  }
  return false;
}

/* An op of torch_npu models may have the name of what lowering makes of it. */
static bool keeps_its_name(const tl_op *row) {
  for (uint32_t i = 0; row->domain_symbol == TL_SYM_npu && i < row->n_npu; i++)
    if (strcmp(row->npu[i].npu_type, row->name) == 0)
      return true;
  return false;
}

static bool forbids_left_over(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  const tl_op *row = tl_op_row(node->op);
  if (!row || is_own_form(node) || keeps_its_name(row))
    return false;
  /* What select looked at and found nothing for is carried under its own name. */
  return !node->selected || !(forbids_no_candidate(m, n) || forbids_several_nodes(m, n));
}

static bool forbids_stale_choice(const tl_module *m, tl_node_id n) {
  return is_own_form(tl_node_get(m, n)) && forbids_choice(m, n);
}

static bool forbids_npu_strings(const tl_module *m, tl_node_id n) {
  return forbids_npu_op(m, n) && forbids_strings(m, n);
}

/* ---- inputs and outputs --------------------------------------------------------------------- */

static bool edge_strings(const tl_module *m, tl_value_id v) { return is_text(m, v); }

static bool edge_handle(const tl_module *m, tl_value_id v) {
  tl_type_id type = tl_value_type(m, v);
  return type != TL_NO_TYPE && tl_type_get(m, type)->kind != TL_KIND_TENSOR;
}

/* ---- the tables ----------------------------------------------------------------------------- */

static const struct {
  tl_npu_stage stage;
  bool (*forbids)(const tl_module *m, tl_node_id n);
  tl_npu_stage_rule rule;
} node_rules[] = {
#define FORBID(stage, rule, message) {TL_NPU_STAGE_##stage, forbids_##rule, {#rule, message}},
#include "ir/verify/stages.tbl"
};

static const struct {
  tl_npu_stage stage;
  bool (*forbids)(const tl_module *m, tl_value_id v);
  tl_npu_stage_rule rule;
} edge_rules[] = {
#define FORBID_EDGE(stage, rule, message) {TL_NPU_STAGE_##stage, edge_##rule, {#rule, message}},
#include "ir/verify/stages.tbl"
};

tl_npu_stage tl_npu_stage_of_form(tl_form form) {
  return form == TL_FORM_NPU        ? TL_NPU_STAGE_NPU
         : form == TL_FORM_SELECTED ? TL_NPU_STAGE_SELECTED
         : form == TL_FORM_SPELLED  ? TL_NPU_STAGE_SPELLED
                                    : TL_NPU_STAGE_CANONICAL;
}

const tl_npu_stage_rule *tl_npu_stage_forbids(const tl_module *m, tl_npu_stage stage,
                                              tl_node_id n) {
  if (tl_node_is_return(m, n))
    return NULL;
  for (size_t i = 0; i < sizeof node_rules / sizeof *node_rules; i++) {
    if (node_rules[i].stage == stage && node_rules[i].forbids(m, n))
      return &node_rules[i].rule;
  }
  return NULL;
}

const tl_npu_stage_rule *tl_npu_stage_forbids_edge(const tl_module *m, tl_npu_stage stage,
                                                   tl_value_id v) {
  for (size_t i = 0; i < sizeof edge_rules / sizeof *edge_rules; i++) {
    if (edge_rules[i].stage == stage && edge_rules[i].forbids(m, v))
      return &edge_rules[i].rule;
  }
  return NULL;
}
