/* SPDX-License-Identifier: Apache-2.0 */
/* Edits graphs. This part alone changes links: every function leaves use lists, the node list and
 * order labels consistent. A function that can run out of memory returns 0 or a status and then
 * leaves the module as it was. It knows nothing of what ops mean. */
#ifndef TL_IR_GRAPH_H
#define TL_IR_GRAPH_H

#include "ir/module.h"

/* Appends a root graph or a body. owner: the node of a body (the caller sets its graph attribute),
 * else TL_NO_NODE. TL_NO_GRAPH when memory is out. */
tl_graph_id tl_graph_create(tl_module *m, tl_graph_kind kind, tl_symbol name, tl_node_id owner);
/* Erases a body with everything in it, nested bodies included. Its values must not be used
 * outside. */
void tl_graph_erase(tl_module *m, tl_graph_id g);

/* Appends an input. tensor: its default value or TL_NO_TENSOR. TL_NO_VALUE when memory is out. */
tl_value_id tl_graph_add_input(tl_module *m, tl_graph_id g, tl_symbol name, tl_type_id type,
                               tl_tensor_id tensor);
/* Appends a constant, whose type is the tensor's. TL_NO_VALUE when memory is out. */
tl_value_id tl_graph_add_constant(tl_module *m, tl_graph_id g, tl_symbol name, tl_tensor_id tensor);
/* Removes an unused constant from its graph. */
void tl_graph_erase_constant(tl_module *m, tl_value_id v);
/* Removes an unused input; later ones move down. */
void tl_graph_erase_input(tl_module *m, tl_value_id v);
/* Turns an input with a default into a constant with the same value id. TL_NO_MEMORY. */
tl_status tl_graph_freeze_input(tl_module *m, tl_value_id v) TL_NODISCARD;
/* Moves the nodes and constants of a body right before a node of another graph, in their order. The
 * body, which must have no inputs, keeps its outputs and nothing else. Names stay as they are.
 * TL_NO_MEMORY. */
tl_status tl_graph_splice(tl_module *m, tl_graph_id body, tl_node_id before) TL_NODISCARD;
/* Moves the nodes and constants of a root graph without inputs behind those of another one, in
 * their order. It keeps its outputs and nothing else. Names stay as they are. TL_NO_MEMORY. */
tl_status tl_graph_join(tl_module *m, tl_graph_id from, tl_graph_id to) TL_NODISCARD;
/* Replaces the list of outputs. TL_NO_MEMORY. */
tl_status tl_graph_set_outputs(tl_module *m, tl_graph_id g, const tl_value_id *v,
                               uint32_t n) TL_NODISCARD;

/* Describes a new node. Operands and results are in order; results are fresh values with the given
 * names (0: unnamed) and no type. The attributes are copied (shallow). */
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

/* Makes a node at the end of the graph, or right before `before`. TL_NO_NODE when memory is out.
 * The caller keeps the topological order, which the verifier checks. */
tl_node_id tl_graph_append(tl_module *m, tl_graph_id g, const tl_node_spec *spec);
tl_node_id tl_graph_insert(tl_module *m, tl_node_id before, const tl_node_spec *spec);
/* Moves a node right before or right after another one of the same graph. */
void tl_node_move_before(tl_module *m, tl_node_id n, tl_node_id before);
void tl_node_move_after(tl_module *m, tl_node_id n, tl_node_id after);
/* Erases a node whose results are unused, with its bodies and control edges. */
void tl_node_erase(tl_module *m, tl_node_id n);

/* Replaces operand i. */
void tl_node_set_operand(tl_module *m, tl_node_id n, uint32_t i, tl_value_id v);
/* Replaces all operands; their number may change. TL_NO_MEMORY. */
tl_status tl_node_set_operands(tl_module *m, tl_node_id n, const tl_value_id *v,
                               uint32_t count) TL_NODISCARD;
/* Changes the op in place; operands, results and attributes stay. */
void tl_node_set_op(tl_module *m, tl_node_id n, tl_op_id op);
/* Drops result values beyond `count`; they must be unused. */
void tl_node_trim_results(tl_module *m, tl_node_id n, uint32_t count);
/* Sets or replaces one attribute. TL_NO_MEMORY. */
tl_status tl_node_set_attr(tl_module *m, tl_node_id n, tl_attr attr) TL_NODISCARD;
/* Removes one attribute; no effect when it is absent. */
void tl_node_remove_attr(tl_module *m, tl_node_id n, tl_symbol name);
/* Replaces all attributes. TL_NO_MEMORY. */
tl_status tl_node_set_attrs(tl_module *m, tl_node_id n, const tl_attr *attrs,
                            uint32_t count) TL_NODISCARD;

/* Makes every user of `from` use `to` instead (graph outputs and bodies included). */
void tl_value_replace_uses(tl_module *m, tl_value_id from, tl_value_id to);
/* Sets the type of a value. */
static inline void tl_value_set_type(tl_module *m, tl_value_id v, tl_type_id type) {
  tl_value_get(m, v)->type = type;
}
/* Sets the name of a value. */
static inline void tl_value_set_name(tl_module *m, tl_value_id v, tl_symbol name) {
  tl_value_get(m, v)->name = name;
}
/* Returns a value name that no value of the module has: base itself if it is free, else base_1,
 * base_2 ... The name is interned, so it is not returned again. TL_NO_SYMBOL when memory is out.
 * O(log n) for the n-th name of a base. */
tl_symbol tl_module_fresh_name(tl_module *m, tl_sv base);

/* Adds a control edge between two nodes of one graph; 0 when memory is out. */
tl_control_id tl_control_add(tl_module *m, tl_node_id from, tl_node_id to,
                             tl_control_origin origin);
/* Removes a control edge. */
void tl_control_erase(tl_module *m, tl_control_id c);

/* Returns true when a runs before b; both are in one graph. O(1). */
static inline bool tl_node_is_before(const tl_module *m, tl_node_id a, tl_node_id b) {
  return tl_node_get(m, a)->order < tl_node_get(m, b)->order;
}
/* Sorts the list of a graph topologically. The sort is stable: nodes keep their relative order
 * where they can. Uses in bodies count for the node that owns the body. On a cycle it returns
 * TL_INVALID_MODEL, reports the nodes of one cycle and leaves the graph unchanged. O((nodes +
 * edges) log nodes). */
tl_status tl_graph_sort(tl_module *m, tl_graph_id g) TL_NODISCARD;

/* Returns a structural hash of a node over op, attributes and operand ids, for common
 * subexpressions; equal nodes hash equal. */
uint64_t tl_node_hash(const tl_module *m, tl_node_id n);
/* Returns true for the same op, operands, attributes, stream and number of results; commutative
 * operands may be in any order. */
bool tl_node_equal(const tl_module *m, tl_node_id a, tl_node_id b);
/* Fills the hashes of a graph's values: of what computes each from the graph's inputs and
 * constants, independent of names and of the order of unrelated nodes. hashes: zeroed, by value
 * id. */
void tl_graph_value_hashes(const tl_module *m, tl_graph_id g, uint64_t *hashes);
/* As tl_graph_value_hashes, but constants are read as a whole: beyond 4096 bytes the other looks at
 * their lengths alone. */
void tl_graph_content_hashes(const tl_module *m, tl_graph_id g, uint64_t *hashes);
/* Returns a structural hash of a graph over ops, edges, attributes, types and constants,
 * independent of the names of values, nodes and graphs. 0 when memory is out. */
uint64_t tl_graph_hash(const tl_module *m, tl_graph_id g);

#endif
