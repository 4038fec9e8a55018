/* SPDX-License-Identifier: Apache-2.0 */
/* onnx-dtypes: turns nodes marked `mixed` into ops that ONNX has. Float operands, and results that
 * share a type variable with one, are cast to one dtype, the widest. Example: a Conv of f16 that
 * gives f32 gets operands that are rounded to f16 and computes in f32, which is what the NPU does.
 *
 * Requires:  precision.           Keeps: names of outputs, types of values but those of such nodes.
 * After:     no node is mixed.
 * Cost:      one sweep, O(nodes + edges).
 * Tests:     tests/golden/onnx-dtypes/ */
#include "passes/edit/casts.h"
#include "passes/edit/passes.h"

/* State of the pass; `op` and `target` belong to the node that is widened. */
typedef struct widening {
  tl_module *m;
  tl_cast_set casts;
  const tl_op *op;
  uint8_t target[UINT8_MAX + 1]; /* by type variable: common dtype; NONE if no cast is needed */
} widening;

static tl_dtype dtype_of(const tl_module *m, tl_value_id v) {
  return v ? tl_type_dtype(m, tl_value_type(m, v)) : TL_DTYPE_NONE;
}

/* Returns the common dtype of a and b that the type variable allows: the widest of both, else the
 * first allowed of f32, f16, bf16. */
static tl_dtype meet(const widening *w, const tl_type_var *var, tl_dtype a, tl_dtype b) {
  static const tl_dtype order[] = {TL_DTYPE_F32, TL_DTYPE_F16, TL_DTYPE_BF16};
  tl_dtype wide = a == TL_DTYPE_NONE || a == b ? b : TL_DTYPE_F32;
  uint64_t allowed = tl_cast_dtypes(w->m, w->op, var);
  if (allowed & TL_DTYPE_BIT(wide))
    return wide;
  for (size_t i = 0; i < sizeof order / sizeof *order; i++)
    if (allowed & TL_DTYPE_BIT(order[i]))
      return order[i];
  return wide;
}

/* Returns the dtype that the tensor of a slot must have. */
static tl_dtype target_of(const widening *w, const tl_op_port *port, tl_dtype d) {
  if (!port || port->var < 0 || !tl_dtype_is_ranked(d))
    return d;
  const tl_type_var *var = &w->op->vars[port->var];
  return var->shared && !port->heterogeneous ? (tl_dtype)w->target[port->var] : meet(w, var, d, d);
}

/* Returns the wider of two float dtypes. f16 and bf16 have f32 in common. Other dtypes of b are
 * ignored. */
static tl_dtype wider(tl_dtype a, tl_dtype b) {
  if (!tl_dtype_is_ranked(b) || a == b)
    return a;
  return a == TL_DTYPE_NONE ? b : TL_DTYPE_F32;
}

/* Returns true if the port has a type variable and d is f32, f16 or bf16. */
static bool takes_float(const tl_op_port *port, tl_dtype d) {
  return port && port->var >= 0 && tl_dtype_is_ranked(d);
}

/* Finds one dtype for all type variables of float operands; a variable of results only keeps its
 * own. */
static void find_targets(widening *w, tl_node_id n) {
  const tl_node *node = tl_node_get(w->m, n);
  tl_dtype common = TL_DTYPE_NONE;
  memset(w->target, TL_DTYPE_NONE, w->op->n_vars);
  for (uint32_t i = 0; i < node->n_operands; i++)
    common = wider(common, dtype_of(w->m, tl_operand(w->m, n, i)));
  for (uint32_t pass = 0; pass < 2; pass++) { /* the first pass widens `common` by results that
                                               * share a variable with operands */
    for (uint32_t i = 0; i < node->n_operands; i++) {
      const tl_op_port *port = tl_op_operand_port(w->op, i);
      if (takes_float(port, dtype_of(w->m, tl_operand(w->m, n, i))))
        w->target[port->var] = (uint8_t)meet(w, &w->op->vars[port->var], TL_DTYPE_NONE, common);
    }
    for (uint32_t i = 0; pass == 0 && i < node->n_results; i++) {
      const tl_op_port *port = tl_op_result_port(w->op, i);
      if (takes_float(port, dtype_of(w->m, node->results + i)) && w->target[port->var])
        common = wider(common, dtype_of(w->m, node->results + i));
    }
  }
  for (uint32_t i = 0; i < node->n_results; i++) {
    const tl_op_port *port = tl_op_result_port(w->op, i);
    tl_dtype d = dtype_of(w->m, node->results + i);
    if (takes_float(port, d) && !w->target[port->var])
      w->target[port->var] = (uint8_t)meet(w, &w->op->vars[port->var], TL_DTYPE_NONE, d);
  }
}

/* Computes result v as `to`; a cast right behind the node gives users the former dtype. The cast's
 * operand is set last, since replacing the uses of v would replace it too. */
static bool widen_result(widening *w, tl_node_id n, tl_value_id v, tl_dtype to) {
  tl_dtype narrow = dtype_of(w->m, v);
  tl_node_id next = tl_node_get(w->m, n)->next;
  tl_type_id type = tl_cast_type(w->m, v, to);
  if (type == TL_NO_TYPE)
    return false;
  tl_value_set_type(w->m, v, type);
  if (!tl_value_get(w->m, v)->n_uses)
    return true;
  if (!next)
    next = tl_graph_get(w->m, tl_node_get(w->m, n)->graph)->ret;
  tl_value_id cast = tl_cast_insert(w->m, v, narrow, next, false);
  if (!cast)
    return false;
  bool leaves = tl_value_is_output(w->m, v);
  tl_value_replace_uses(w->m, v, cast);
  tl_node_set_operand(w->m, tl_value_producer(w->m, cast), 0, v);
  return !leaves || tl_cast_keep_name(w->m, v, cast);
}

/* Casts the operands and results of one mixed node. Values made after the cast set was created are
 * not in its table and get their own cast. */
static bool widen(widening *w, tl_node_id n) {
  const tl_node *node = tl_node_get(w->m, n);
  uint32_t n_operands = node->n_operands;
  uint32_t n_results = node->n_results;
  w->op = tl_op_row(node->op);
  find_targets(w, n);
  for (uint32_t i = 0; i < n_operands; i++) {
    tl_value_id v = tl_operand(w->m, n, i);
    tl_dtype d = dtype_of(w->m, v);
    tl_dtype to = target_of(w, tl_op_operand_port(w->op, i), d);
    if (to == d)
      continue;
    tl_value_id cast = v < w->casts.n_values ? tl_cast_set_get(&w->casts, v, to, n)
                                             : tl_cast_insert(w->m, v, to, n, false);
    if (!cast)
      return false;
    tl_node_set_operand(w->m, n, i, cast);
  }
  for (uint32_t i = 0; i < n_results; i++) {
    tl_value_id v = tl_result(w->m, n, i);
    tl_dtype d = dtype_of(w->m, v);
    tl_dtype to = target_of(w, tl_op_result_port(w->op, i), d);
    if (to != d && !widen_result(w, n, v, to))
      return false;
  }
  tl_node_get(w->m, n)->mixed = false;
  return true;
}

/* Widens all mixed nodes. False if memory is out. */
static bool widen_graphs(tl_pass *p, widening *w) {
  uint32_t n_graphs = w->m->graphs.n;
  for (uint32_t i = 0; i < n_graphs; i++) {
    if (w->m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(w->m, w->m->graphs.at[i], n)
      if (tl_node_get(w->m, n)->mixed && tl_pass_may_rewrite(p) && !widen(w, n))
        return false;
  }
  return true;
}

tl_status tl_pass_onnx_dtypes(tl_pass *p, tl_module *m) {
  widening w = {.m = m};
  bool ok = tl_cast_set_init(&w.casts, m, p->scratch, false) && widen_graphs(p, &w);
  if (ok)
    tl_cast_set_drop_constants(&w.casts);
  if (ok)
    tl_cast_follow_outputs(m);
  tl_cast_set_release(&w.casts);
  return ok ? TL_OK : tl_no_memory(m);
}
