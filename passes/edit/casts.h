/* SPDX-License-Identifier: Apache-2.0 */
/* Casts that passes insert: how one is made, named and marked, and a set that makes each cast once.
 * Which values need a cast is decided elsewhere (passes/precision). Every inserted cast node
 * carries the mark TL_CAST_INSERTED. */
#ifndef TL_PASSES_EDIT_CASTS_H
#define TL_PASSES_EDIT_CASTS_H

#include "passes/edit/pass.h"

/* Metadata key that marks an inserted cast. */
#define TL_CAST_INSERTED "inserted"

/* Makes v available as dtype `to` in front of node `before`, which may be a RETURN. The result is a
 * new node with the mark TL_CAST_INSERTED; for a constant it is a new constant that is computed
 * when it is read. With `clamp`, elements of an f32, f16 or bf16 constant outside the finite range
 * of f16 or bf16 become the nearest finite number. Returns TL_NO_VALUE if memory is out. */
tl_value_id tl_cast_insert(tl_module *m, tl_value_id v, tl_dtype to, tl_node_id before, bool clamp);
/* Returns true for a node that tl_cast_insert made. O(metadata of the node). */
bool tl_cast_is_inserted(const tl_module *m, tl_node_id n);

/* Returns tensor t converted to the dtype of `type`, whose dims are those of t. clamp: see
 * tl_cast_insert. Returns TL_NO_TENSOR if no conversion exists or memory is out. */
tl_tensor_id tl_cast_tensor(tl_module *m, const tl_tensor *t, tl_type_id type, bool clamp);

/* Returns the type of v with another element type; TL_NO_TYPE if memory is out. */
tl_type_id tl_cast_type(tl_module *m, tl_value_id v, tl_dtype to);

/* Returns the set of element types that a type variable allows at the opset of the module. An op
 * that the newest opset widened keeps f32 below that opset, but not f16 and bf16. */
uint64_t tl_cast_dtypes(const tl_module *m, const tl_op *op, const tl_type_var *var);

/* Sets node->mixed if the element types of the node do not fit the ONNX signature of its op. Only
 * dtypes that precision passes change (f32, f16, bf16, hif8) are checked. */
void tl_cast_mark_mixed(tl_module *m, tl_node_id n);

/* Gives `to` the name of `from`, and `from` a fresh name, so that a model output keeps its name
 * when it becomes a cast of the former output. Does nothing unless both are results of nodes.
 * Returns false if memory is out. */
bool tl_cast_keep_name(tl_module *m, tl_value_id from, tl_value_id to);
/* Moves the roles "next value of a state" and "loss" to a cast if the cast, and no longer its
 * operand, is a graph output. Call it after all casts are made. O(states + their uses). */
void tl_cast_follow_outputs(tl_module *m);

/* Casts made so far, one per value, dtype and graph. A cast of a constant serves all graphs; a cast
 * node serves its own graph only, so that each body of If or Loop has its own. */
typedef struct tl_cast_set {
  tl_module *m;
  struct tl_made_cast *at; /* owned, [n] */
  uint32_t *first;         /* by value id, arena: 1 + index in `at` of the cast made last; 0:
                            * none */
  uint32_t n;
  uint32_t cap;
  uint32_t n_values;
  uint32_t n_nodes; /* number of casts that are nodes, not constants */
  bool clamp;
} tl_cast_set;

/* Initializes an empty set for the values that the module has now. `arena` holds the table of
 * values. Returns false if memory is out; release the set either way. */
bool tl_cast_set_init(tl_cast_set *s, tl_module *m, tl_arena *arena, bool clamp);
/* Releases the memory of the set; the casts stay in the module. */
void tl_cast_set_release(tl_cast_set *s);
/* Returns v as dtype `to` for node n: the cast made earlier for this graph, or a new one in front
 * of n. v must be one of the values of tl_cast_set_init. Returns TL_NO_VALUE if memory is out.
 * O(casts of v). */
tl_value_id tl_cast_set_get(tl_cast_set *s, tl_value_id v, tl_dtype to, tl_node_id n);
/* Erases constants that were cast and have no users any more. The cast made last takes over the
 * name if it is a constant. O(constants of the module). */
void tl_cast_set_drop_constants(tl_cast_set *s);

#endif
