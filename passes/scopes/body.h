/* SPDX-License-Identifier: Apache-2.0 */
/* Copies the nodes of a captured scope into a module of their own: the body of the op they become.
 * A body is one graph from inputs to outputs with open sizes and new names, so that scopes that
 * compute the same have equal bodies. */
#ifndef TL_PASSES_SCOPES_BODY_H
#define TL_PASSES_SCOPES_BODY_H

#include "ir/module.h"

/* Boundary and nodes of a captured scope; all arrays are borrowed. */
typedef struct tl_scope_cut {
  const tl_node_id *nodes; /* in the order of the graph */
  uint32_t n_nodes;
  const tl_value_id *inputs; /* values from outside the scope */
  const tl_symbol *input_names;
  uint32_t n_inputs;
  const tl_value_id *outputs; /* results of the nodes that are used outside */
  const tl_symbol *output_names;
  uint32_t n_outputs;
} tl_scope_cut;

/* Copies the nodes into a new module *out, which the caller owns. Constants that are no inputs are
 * copied too. If a node cannot be copied, *out is NULL and *why a clause about node *where.
 * TL_NO_MEMORY, reported. O(size). */
tl_status tl_scope_body_make(tl_module *m, const tl_scope_cut *cut, tl_module **out,
                             const char **why, tl_node_id *where) TL_NODISCARD;
/* Returns the type, in module `body`, of the formal that stands for tensor v: same dtype and rank,
 * open sizes. TL_NO_TYPE if memory is out. */
tl_type_id tl_scope_formal_type(const tl_module *m, tl_value_id v, tl_module *body);
/* Op and attributes of a node that stands for a scope. */
typedef struct tl_scope_op {
  tl_op_id op;
  const tl_attr *attrs; /* in the module that has the scope */
  uint32_t n_attrs;
} tl_scope_op;

/* Makes a module *out with the same boundary around one node of an op that has a meaning of its
 * own: the inputs are its operands, the outputs its results, which get no types. dims: sizes of all
 * inputs, one input after the other. The caller owns *out. TL_NO_MEMORY, reported. */
tl_status tl_scope_reference_make(tl_module *m, const tl_scope_cut *cut, tl_scope_op node,
                                  const int64_t *dims, tl_module **out) TL_NODISCARD;
/* Returns true if tl_scope_body_make would give this body, apart from names. room: one entry per
 * value of m, all zero before and after. O(size). */
bool tl_scope_body_is(const tl_module *m, const tl_scope_cut *cut, const tl_module *body,
                      tl_value_id *room);
/* Replaces every node that stands for a captured scope by the nodes of its body. TL_NO_MEMORY, or
 * an error of type inference; both reported. O(nodes). */
tl_status tl_scope_bodies_expand(tl_module *m) TL_NODISCARD;

#endif
