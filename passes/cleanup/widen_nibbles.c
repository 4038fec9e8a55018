/* SPDX-License-Identifier: Apache-2.0 */
/* widen-nibbles: integers of less than a byte that the model computes, takes or gives become
 * bytes, each with the same number: no op of the NPU moves or casts them, and GE has no type for
 * those without a sign. QuantizeLinear clips to what the narrow type holds. Weights stay as they
 * are: what reads them unpacks them when it is folded.
 *
 * Requires:  types inferred.     Keeps: names; numbers.
 * After:     no input, result or output has such a type, or all are as they were, since a node that
 *            is not in widen_nibbles.tbl takes or gives one.
 * Cost:      O(values).
 * Tests:     tests/golden/widen-nibbles/ */
#include "ir/host.h"
#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "passes/edit/maker.h"
#include "passes/edit/passes.h"
#include "passes/edit/values.h"

/* What an op does with narrow integers, explained in widen_nibbles.tbl. */
typedef enum role { NONE, MOVES, READS, QUANTIZES } role;

static const uint8_t roles[] = {
#define NARROW(name, how) [TL_OP_##name] = how,
#include "passes/cleanup/widen_nibbles.tbl"
};

static role role_of(tl_op_id op) {
  return op < sizeof roles / sizeof *roles ? (role)roles[op] : NONE;
}

static bool is_narrow(const tl_module *m, tl_value_id v) {
  tl_dtype d = v ? tl_type_dtype(m, tl_value_type(m, v)) : TL_DTYPE_NONE;
  return tl_dtype_is_integer(d) && tl_dtype_get(d)->bits < 8;
}

static bool is_computed(const tl_module *m, tl_value_id v) {
  return is_narrow(m, v) && !tl_value_constant(m, v);
}

static tl_dtype wide(tl_dtype d) {
  return tl_dtype_get(d)->name[0] == 'u' ? TL_DTYPE_U8 : TL_DTYPE_I8;
}

/* ---- what may change ------------------------------------------------------------------------- */

static bool touches(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  bool any = false;
  for (uint32_t i = 0; i < node->n_operands; i++)
    any = any || is_computed(m, tl_operand(m, n, i));
  for (uint32_t i = 0; i < node->n_results; i++)
    any = any || is_narrow(m, node->results + i);
  return any;
}

/* Returns true if the node can work on bytes: one that only reads must not give narrow integers. */
static bool can_widen(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  role r = role_of(node->op);
  for (uint32_t i = 0; i < node->n_results; i++)
    if (r == READS && is_narrow(m, node->results + i))
      return false;
  return r != NONE;
}

/* Counts nodes that take or give narrow integers; sets *all to whether each can work on bytes. */
static uint32_t count_nodes(const tl_module *m, bool *all) {
  uint32_t count = 0;
  *all = true;
  for (uint32_t id = 1; id <= m->graphs.n; id++) {
    const tl_graph *g = tl_graph_get(m, id);
    if (g->erased)
      continue;
    TL_FOR_NODES(m, g, n) {
      if (!touches(m, n))
        continue;
      count++;
      *all = *all && can_widen(m, n);
    }
  }
  return count;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Returns a constant with the same numbers as bytes. */
static tl_value_id widen_constant(tl_maker *k, tl_value_id v) {
  const tl_tensor *t = tl_value_constant(k->m, v);
  tl_type type = *tl_type_get(k->m, tl_value_type(k->m, v));
  uint64_t n = tl_tensor_elements(k->m, t);
  type.dtype = (uint8_t)(wide((tl_dtype)type.dtype));
  tl_type_id id = tl_type_intern(k->m, &type);
  int8_t *bytes = id ? tl_arena_calloc(&k->m->arena, n + 1, 1) : NULL;
  int64_t number = 0;
  for (uint64_t i = 0; bytes && i < n; i++) {
    (void)tl_tensor_int_at(k->m, t, i, &number);
    bytes[i] = (int8_t)number;
  }
  return tl_make_constant(k, bytes ? tl_tensor_from_bytes(k->m, id, bytes, n) : TL_NO_TENSOR,
                          "bytes");
}

static tl_value_id bound(tl_maker *k, tl_dtype dtype, int value) {
  const int8_t byte = (int8_t)value;
  tl_type_id type = tl_type_tensor(k->m, dtype, 0, NULL);
  return tl_make_constant(k, type ? tl_tensor_from_bytes(k->m, type, &byte, 1) : TL_NO_TENSOR,
                          "bound");
}

/* Clips what QuantizeLinear gives to the numbers of the narrow type. The result that others read,
 * and its name, are those of the Clip. */
static tl_status clip_result(tl_module *m, tl_node_id n, tl_dtype narrow) {
  unsigned bits = tl_dtype_get(narrow)->bits;
  bool is_signed = wide(narrow) == TL_DTYPE_I8;
  tl_value_id raw = tl_result(m, n, 0);
  tl_symbol name = tl_value_get(m, raw)->name;
  tl_maker k = tl_maker_before(m, n);
  k.before = tl_node_get(m, n)->next;
  tl_symbol fresh = tl_maker_name(&k, TL_SV("bytes"));
  tl_value_id low = bound(&k, wide(narrow), is_signed ? -(1 << (bits - 1)) : 0);
  tl_value_id high = bound(&k, wide(narrow), (1 << (is_signed ? bits - 1 : bits)) - 1);
  tl_value_id made = tl_make(&k, TL_OP_Clip, raw, low, high);
  if (fresh == TL_NO_SYMBOL || !made)
    return tl_maker_failed(&k) ? tl_maker_status(&k) : tl_no_memory(m);
  tl_value_replace_uses(m, raw, made);
  tl_node_set_operand(m, tl_value_producer(m, made), 0, raw);
  tl_value_set_name(m, made, name);
  tl_value_set_name(m, raw, fresh);
  return TL_OK;
}

static tl_status widen_operands(tl_module *m, tl_node_id n) {
  tl_maker k = tl_maker_before(m, n);
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(m, n, i);
    if (!is_narrow(m, v) || !tl_value_constant(m, v))
      continue;
    tl_value_id made = widen_constant(&k, v);
    if (!made)
      return tl_maker_status(&k);
    tl_node_set_operand(m, n, i, made);
  }
  return TL_OK;
}

/* Its dtype is that of the zero point, or an attribute. */
static tl_status widen_quantize(tl_module *m, tl_node_id n, tl_dtype narrow) {
  if (tl_node_attr(m, n, TL_SYM_output_dtype))
    TL_TRY(
        tl_node_set_attr(m, n, tl_attr_int(TL_SYM_output_dtype, tl_dtype_get(wide(narrow))->onnx)));
  return clip_result(m, n, narrow);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void tell(tl_module *m, const char *what, const char *does, tl_value_id v) {
  tl_dtype d = tl_type_dtype(m, tl_value_type(m, v));
  tl_warn_code(m->diag, "W_NIBBLES", TL_AT_FILE(m->path),
               "%s '%.*s' is %s: the NPU %s %s, a byte for each number", what,
               TL_SV_ARG(tl_value_name(m, v)), tl_dtype_get(d)->name, does,
               tl_dtype_get(wide(d))->name);
}

static void tell_all(tl_module *m) {
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 0; i < g->inputs.n; i++)
    if (is_narrow(m, g->inputs.at[i]))
      tell(m, "input", "takes", g->inputs.at[i]);
  for (uint32_t i = 0; i < tl_graph_n_outputs(m, g); i++)
    if (is_computed(m, tl_graph_output(m, g, i)))
      tell(m, "output", "gives", tl_graph_output(m, g, i));
}

static tl_status widen_types(tl_module *m) {
  for (tl_value_id v = 1; v < tl_module_value_end(m); v++) {
    if (!is_computed(m, v))
      continue;
    tl_type t = *tl_type_get(m, tl_value_type(m, v));
    t.dtype = (uint8_t)(wide((tl_dtype)t.dtype));
    tl_type_id type = tl_type_intern(m, &t);
    if (!type)
      return tl_no_memory(m);
    tl_value_set_type(m, v, type);
  }
  return TL_OK;
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Inputs with a default, and states, keep their type. */
static bool has_default(const tl_module *m) {
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 0; i < g->inputs.n; i++)
    if (is_narrow(m, g->inputs.at[i]) && tl_value_get(m, g->inputs.at[i])->tensor)
      return true;
  return false;
}

/* A node and the narrow type that it made, or NONE. */
typedef struct touched {
  tl_node_id node;
  tl_dtype quantized;
} touched;

static uint32_t list_nodes(const tl_module *m, touched *out, uint32_t most) {
  uint32_t found = 0;
  for (uint32_t id = 1; id <= m->graphs.n; id++) {
    const tl_graph *g = tl_graph_get(m, id);
    if (g->erased)
      continue;
    TL_FOR_NODES(m, g, n) {
      if (!touches(m, n) || found == most)
        continue;
      tl_value_id y = tl_result(m, n, 0);
      bool quantizes = role_of(tl_node_get(m, n)->op) == QUANTIZES && is_narrow(m, y);
      out[found++] =
          (touched){n, quantizes ? tl_type_dtype(m, tl_value_type(m, y)) : TL_DTYPE_NONE};
    }
  }
  return found;
}

/* Nodes are listed before any changes: what is made need not be visited. */
static tl_status widen_all(tl_module *m, touched *nodes, uint32_t count) {
  count = list_nodes(m, nodes, count);
  tell_all(m);
  for (uint32_t i = 0; i < count; i++)
    TL_TRY(widen_operands(m, nodes[i].node));
  TL_TRY(widen_types(m));
  for (uint32_t i = 0; i < count; i++)
    if (nodes[i].quantized != TL_DTYPE_NONE)
      TL_TRY(widen_quantize(m, nodes[i].node, nodes[i].quantized));
  return tl_infer_module(m);
}

tl_status tl_pass_widen_nibbles(tl_pass *p, tl_module *m) {
  tl_pinned pinned;
  bool all;
  uint32_t count = count_nodes(m, &all);
  TL_TRY(tl_pinned_find(p, m, &pinned));
  if (!count || !all || pinned.at || has_default(m) || !tl_pass_may_rewrite(p))
    return TL_OK;
  touched *nodes = tl_arena_calloc(p->scratch, count, sizeof *nodes);
  return nodes ? widen_all(m, nodes, count) : tl_no_memory(m);
}
