/* SPDX-License-Identifier: Apache-2.0 */
/* raise: NPU ops become canonical ops, so that a model in NPU form, which came from an AIR file,
 * can be written as ONNX. Most ops are replaced by their definitions, as for the evaluator; those
 * that no definition can say are in raise.tbl. A model that keeps NPU ops is refused with their
 * list.
 *
 * Requires:  nothing; does nothing in a module without NPU ops.   Keeps: names of inputs, outputs.
 * After:     the module is in canonical form; its opset has all ops that it uses.
 * Cost:      two sweeps, and the rule engine's work on definitions.
 * Tests:     tests/golden/raise/, tests/air/raised.py */
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/lower/raise_control.h"
#include "passes/lower/raise_ops.h"

enum { LEAST_OPSET = 21 }; /* of ai.onnx: what definitions are written for */

typedef tl_status (*raise_fn)(tl_module *m, tl_node_id n);

typedef struct raise_row {
  tl_op_id op;
  raise_fn fn;
} raise_row;

static const raise_row rows[] = {
#define RAISE(op, by) {TL_OP_npu_##op, tl_raise_##by},
#include "passes/lower/raise.tbl"
};

static bool is_live(const tl_node *node) {
  return node->op != TL_OP_RETURN && node->op != TL_OP_ERASED;
}

static bool is_npu(const tl_module *m, const tl_node *node) {
  return is_live(node) && tl_op_domain_symbol(m, node->op) == TL_SYM_npu;
}

static tl_status raise_node(tl_pass *p, tl_module *m, tl_node_id n) {
  tl_op_id op = tl_node_get(m, n)->op;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].op == op)
      return tl_pass_may_rewrite(p) ? rows[i].fn(m, n) : TL_OK;
  return TL_OK;
}

/* Loops get new bodies, which come later in the list and are visited then. */
static tl_status raise_nodes(tl_pass *p, tl_module *m) {
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n)
      TL_TRY(raise_node(p, m, n));
  }
  return TL_OK;
}

/* Ops that are left, with the number of their nodes. */
typedef struct leftovers {
  tl_u32_vec ops;
  tl_u32_vec counts;
} leftovers;

static bool count_op(leftovers *l, tl_op_id op) {
  for (uint32_t i = 0; i < l->ops.n; i++)
    if (l->ops.at[i] == op) {
      l->counts.at[i]++;
      return true;
    }
  return tl_u32_vec_push(&l->ops, op) && tl_u32_vec_push(&l->counts, 1);
}

static bool find_leftovers(const tl_module *m, leftovers *l) {
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n)
      if (is_npu(m, tl_node_get(m, n)) && !count_op(l, tl_node_get(m, n)->op))
        return false;
  }
  return true;
}

static tl_status refuse(tl_module *m, const leftovers *l) {
  tl_buf list;
  tl_buf_init(&list);
  for (uint32_t i = 0; i < l->ops.n; i++) {
    tl_sv name = tl_op_name(m, l->ops.at[i]);
    tl_buf_printf(&list, "%snpu::%.*s (%u node%s)", i ? ", " : "", TL_SV_ARG(name), l->counts.at[i],
                  l->counts.at[i] == 1 ? "" : "s");
  }
  tl_status status = list.failed
                         ? tl_no_memory(m)
                         : tl_fail(m->diag, TL_UNSUPPORTED, TL_AT_FILE(m->path),
                                   "%.*s: no ONNX form is known for these operands and attributes\v"
                                   "define what the op means in a file of --rules (docs/rules.md)",
                                   TL_SV_ARG(tl_buf_view(&list)));
  tl_buf_release(&list);
  return status;
}

static tl_status check_leftovers(tl_module *m) {
  leftovers l = {0};
  tl_status status = find_leftovers(m, &l) ? TL_OK : tl_no_memory(m);
  if (status == TL_OK && l.ops.n)
    status = refuse(m, &l);
  tl_u32_vec_release(&l.ops);
  tl_u32_vec_release(&l.counts);
  return status;
}

/* Imports the oldest opset of ai.onnx that has every op. */
static tl_status set_opset(tl_module *m) {
  int64_t opset = LEAST_OPSET;
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n) {
      const tl_op *row = tl_op_row(tl_node_get(m, n)->op);
      if (row && !row->domain[0] && row->n_since && row->since[0] > opset)
        opset = row->since[0];
    }
  }
  return opset > tl_module_opset(m, 0) ? tl_module_set_opset(m, 0, opset) : TL_OK;
}

tl_status tl_pass_raise(tl_pass *p, tl_module *m) {
  if (m->form != TL_FORM_NPU)
    return TL_OK;
  TL_TRY(raise_nodes(p, m));
  TL_TRY(tl_pass_expand_definitions(p, m));
  TL_TRY(check_leftovers(m));
  m->form = TL_FORM_CANONICAL;
  return set_opset(m);
}
