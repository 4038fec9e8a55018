/* SPDX-License-Identifier: Apache-2.0 */
/* What a captured scope means: its nodes, in a module of their own with one graph from inputs to
 * outputs. Sizes stay open, names are new: scopes that compute the same have equal bodies. */
#ifndef TL_PASSES_SCOPES_BODY_H
#define TL_PASSES_SCOPES_BODY_H

#include "ir/module.h"

typedef struct tl_scope_cut {
  const tl_node_id *nodes; /* in the order of the graph */
  uint32_t n_nodes;
  const tl_value_id *inputs; /* from outside */
  const tl_symbol *input_names;
  uint32_t n_inputs;
  const tl_value_id *outputs; /* results of the nodes */
  const tl_symbol *output_names;
  uint32_t n_outputs;
} tl_scope_cut;

/* Copies the nodes into a new module. Constants that are no inputs are copied too. *out is NULL and
 * *why a sentence about *where when that cannot be done. TL_NO_MEMORY. */
tl_status tl_scope_body_make(tl_module *m, const tl_scope_cut *cut, tl_module **out,
                             const char **why, tl_node_id *where) TL_NODISCARD;
typedef struct tl_scope_op {
  tl_op_id op;
  const tl_attr *attrs; /* of the module that has the scope */
  uint32_t n_attrs;
} tl_scope_op;

/* The same boundary around one node of an op that has a meaning of its own: operands are the
 * inputs, results the outputs, which get no types. dims: sizes of the inputs, one after the other.
 * TL_NO_MEMORY. */
tl_status tl_scope_reference_make(tl_module *m, const tl_scope_cut *cut, tl_scope_op node,
                                  const int64_t *dims, tl_module **out) TL_NODISCARD;
/* Whether the body that would be made is this one but for names. room: one entry for each value of
 * m, all zero, before and after. O(size). */
bool tl_scope_body_is(const tl_module *m, const tl_scope_cut *cut, const tl_module *body,
                      tl_value_id *room);
/* Replaces every node that stands for a captured scope by what the scope was. O(nodes). */
tl_status tl_scope_bodies_expand(tl_module *m) TL_NODISCARD;

#endif
