/* SPDX-License-Identifier: Apache-2.0 */
/* Editing graphs. The only file that changes links; every function leaves use lists, the node list
 * and order labels consistent. Functions that can run out of memory return 0 / a status and then
 * leave the module as it was. */
#ifndef TL_IR_GRAPH_H
#define TL_IR_GRAPH_H

#include "ir/module.h"

/* Appends a root graph or a body. owner: the node of a body (its graph attribute is set by the
 * caller), else TL_NO_NODE. */
tl_graph_id tl_graph_create(tl_module *m, tl_graph_kind kind, tl_symbol name, tl_node_id owner);
/* Erases a body with everything in it, nested bodies included. Its values must be unused outside.
 */
void tl_graph_erase(tl_module *m, tl_graph_id g);

/* Appends an input. tensor: default value or TL_NO_TENSOR. */
tl_value_id tl_graph_add_input(tl_module *m, tl_graph_id g, tl_symbol name, tl_type_id type,
                               tl_tensor_id tensor);
/* Appends a constant; its type is the tensor's. */
tl_value_id tl_graph_add_constant(tl_module *m, tl_graph_id g, tl_symbol name, tl_tensor_id tensor);
/* Removes an unused constant from its graph. */
void tl_graph_erase_constant(tl_module *m, tl_value_id v);
/* Removes an unused input; later ones move down. */
void tl_graph_erase_input(tl_module *m, tl_value_id v);
/* Turns an overridable input into a constant of the same value id. */
tl_status tl_graph_freeze_input(tl_module *m, tl_value_id v) TL_NODISCARD;
/* Moves the nodes and constants of a body right before a node of another graph, in their order; the
 * body keeps its outputs and nothing else. It must have no inputs. Names are left as they are. */
tl_status tl_graph_splice(tl_module *m, tl_graph_id body, tl_node_id before) TL_NODISCARD;
/* Moves the nodes and constants of a root graph without inputs behind those of another one, in
 * their order; it keeps its outputs and nothing else. Names are left as they are. */
tl_status tl_graph_join(tl_module *m, tl_graph_id from, tl_graph_id to) TL_NODISCARD;
/* Replaces the list of outputs. */
tl_status tl_graph_set_outputs(tl_module *m, tl_graph_id g, const tl_value_id *v, uint32_t n)
    TL_NODISCARD;

/* What a new node looks like. Operands and results in order; results get fresh values with the
 * given names (0 = unnamed) and no type. attrs are copied (shallow). */
typedef struct tl_node_spec {
  tl_op_id op;
  tl_symbol name;
  const tl_value_id *operands;
  uint32_t n_operands;
  const tl_symbol *results; /* NULL: all unnamed */
  uint32_t n_results;
  const tl_attr *attrs;
  uint32_t n_attrs;
} tl_node_spec;

/* Appends at the end of the graph's list / inserts right before `before`. Returns TL_NO_NODE when
 * memory is out. The caller keeps topological order (the verifier checks it). */
tl_node_id tl_graph_append(tl_module *m, tl_graph_id g, const tl_node_spec *spec);
tl_node_id tl_graph_insert(tl_module *m, tl_node_id before, const tl_node_spec *spec);
/* Moves a node right before / right after another of the same graph. */
void tl_node_move_before(tl_module *m, tl_node_id n, tl_node_id before);
void tl_node_move_after(tl_module *m, tl_node_id n, tl_node_id after);
/* Erases a node whose results are unused, with its bodies and control edges. */
void tl_node_erase(tl_module *m, tl_node_id n);

/* Replaces operand i. */
void tl_node_set_operand(tl_module *m, tl_node_id n, uint32_t i, tl_value_id v);
/* Replaces all operands (growing or shrinking). */
tl_status tl_node_set_operands(tl_module *m, tl_node_id n, const tl_value_id *v, uint32_t count)
    TL_NODISCARD;
/* Changes the op in place; operands, results and attributes stay. */
void tl_node_set_op(tl_module *m, tl_node_id n, tl_op_id op);
/* Drops result values beyond `count`; they must be unused. */
void tl_node_trim_results(tl_module *m, tl_node_id n, uint32_t count);
/* Sets or replaces one attribute; removes one (no effect when absent); replaces all. */
tl_status tl_node_set_attr(tl_module *m, tl_node_id n, tl_attr attr) TL_NODISCARD;
void tl_node_remove_attr(tl_module *m, tl_node_id n, tl_symbol name);
tl_status tl_node_set_attrs(tl_module *m, tl_node_id n, const tl_attr *attrs, uint32_t count)
    TL_NODISCARD;

/* Makes every user of `from` use `to` instead (graph outputs and bodies included). */
void tl_value_replace_uses(tl_module *m, tl_value_id from, tl_value_id to);
static inline void tl_value_set_type(tl_module *m, tl_value_id v, tl_type_id type) {
  tl_value_get(m, v)->type = type;
}
static inline void tl_value_set_name(tl_module *m, tl_value_id v, tl_symbol name) {
  tl_value_get(m, v)->name = name;
}
/* A value name that no value of the module has: base itself if free, else base_1, base_2 ... Names
 * handed out are remembered by interning. TL_NO_SYMBOL when memory is out. */
tl_symbol tl_module_fresh_name(tl_module *m, tl_sv base);

/* Adds a control edge (both in one graph). 0 when memory is out. */
tl_control_id tl_control_add(tl_module *m, tl_node_id from, tl_node_id to,
                             tl_control_origin origin);
void tl_control_erase(tl_module *m, tl_control_id c);

/* True when a runs before b; both in one graph. O(1). */
static inline bool tl_node_is_before(const tl_module *m, tl_node_id a, tl_node_id b) {
  return tl_node_get(m, a)->order < tl_node_get(m, b)->order;
}
/* Sorts the list of a graph topologically, stable: nodes keep their relative order where they can.
 * Uses of bodies count for their owner. On a cycle returns TL_INVALID_MODEL and reports the nodes
 * of one cycle; the graph is then unchanged. */
tl_status tl_graph_sort(tl_module *m, tl_graph_id g) TL_NODISCARD;

/* Structural hash of a node over op, attributes and operand ids (for CSE); equal nodes hash
 * equal. */
uint64_t tl_node_hash(const tl_module *m, tl_node_id n);
/* Same op, operands, attributes, stream and number of results (commutative operands in any order).
 */
bool tl_node_equal(const tl_module *m, tl_node_id a, tl_node_id b);
/* Fills hashes, zeroed and indexed by value id, for the values of a graph: of what computes them
 * from its inputs and constants, independent of names and of the order of unrelated nodes. */
void tl_graph_value_hashes(const tl_module *m, tl_graph_id g, uint64_t *hashes);
/* Structural hash of a graph: ops, edges, attributes, types and constants, independent of value,
 * node and graph names. */
uint64_t tl_graph_hash(const tl_module *m, tl_graph_id g);

#endif
