/* SPDX-License-Identifier: Apache-2.0 */
/* Casts that this compiler inserts: how they look, wherever they come from. */
#ifndef TL_PASSES_EDIT_CASTS_H
#define TL_PASSES_EDIT_CASTS_H

#include "passes/edit/pass.h"

/* Key of the metadata that marks them, and name of the attribute in AIR. */
#define TL_CAST_INSERTED "inserted"

/* Value v as dtype `to`, made right before node `before` (which may be RETURN): a new node with the
 * metadata `inserted`, or for a constant a new constant that is computed when it is read. Elements
 * of a constant beyond the finite range of f16 or bf16 become its limit when `clamp` is set.
 * TL_NO_VALUE when memory is out. */
tl_value_id tl_cast_insert(tl_module *m, tl_value_id v, tl_dtype to, tl_node_id before, bool clamp);
/* True for a node that tl_cast_insert made. */
bool tl_cast_is_inserted(const tl_module *m, tl_node_id n);

/* A tensor as another dtype, which `type` says beside its dims; TL_NO_TENSOR when there is no way,
 * or memory is out. */
tl_tensor_id tl_cast_tensor(tl_module *m, const tl_tensor *t, tl_type_id type, bool clamp);

/* Type of v with another element type; TL_NO_TYPE when memory is out. */
tl_type_id tl_cast_type(tl_module *m, tl_value_id v, tl_dtype to);

/* Element types of a variable at the opset of the module: an op that a later version widened has
 * f32, but no narrower float. */
uint64_t tl_cast_dtypes(const tl_module *m, const tl_op *op, const tl_type_var *var);

/* Do element types of the node fit its op as ONNX has it? Only f32, f16 and bf16 are asked about.
 * Sets node->mixed accordingly. */
void tl_cast_mark_mixed(tl_module *m, tl_node_id n);

/* Gives `to` the name of `from`, which takes another one: an output of a model keeps its name when
 * it becomes a cast of what it was. False when memory is out. */
bool tl_cast_keep_name(tl_module *m, tl_value_id from, tl_value_id to);
/* Training states, and the loss, whose value is an output no more but a cast of it is: from now on
 * the cast is what they are. To be called once the casts are made. O(states + their uses). */
void tl_cast_follow_outputs(tl_module *m);

/* Casts made so far, one a value, dtype and graph: users in the body of an If or Loop have casts of
 * their own there. */
typedef struct tl_cast_set {
  tl_module *m;
  struct tl_made_cast *at; /* owned, [n] */
  uint32_t *first;         /* by value id: 1 + index of the last one, 0: none */
  uint32_t n;
  uint32_t cap;
  uint32_t n_values;
  uint32_t n_nodes; /* of them that are nodes */
  bool clamp;
} tl_cast_set;

/* For the values that the module has now. */
bool tl_cast_set_init(tl_cast_set *s, tl_module *m, tl_arena *arena, bool clamp);
void tl_cast_set_release(tl_cast_set *s);
/* v as that dtype for node n: made before for an earlier node of its graph, or made now.
 * TL_NO_VALUE when memory is out. */
tl_value_id tl_cast_set_get(tl_cast_set *s, tl_value_id v, tl_dtype to, tl_node_id n);
/* Erases constants that nothing uses now but what was cast from them, which takes over the name. */
void tl_cast_set_drop_constants(tl_cast_set *s);

#endif
