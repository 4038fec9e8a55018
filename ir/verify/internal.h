/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the verifier. */
#ifndef TL_IR_VERIFY_INTERNAL_H
#define TL_IR_VERIFY_INTERNAL_H

#include "ir/module.h"

typedef struct tl_verifier {
  tl_module *m;
  const char *check; /* name of the running check */
  uint32_t findings;
  bool out_of_memory;
} tl_verifier;

typedef void (*tl_check_fn)(tl_verifier *v);

typedef struct tl_check {
  const char *name;
  tl_check_fn fn;
} tl_check;

/* Each table ends with a row of NULLs. Links come first, one after the other: what follows walks
 * the lists that the check before found whole. */
extern const tl_check tl_link_checks[];
extern const tl_check tl_structure_checks[];
extern const tl_check tl_type_checks[];
extern const tl_check tl_stage_checks[];
extern const tl_check tl_shape_checks[];

/* Reports one finding at a node, or at the module for TL_NO_NODE. */
void tl_verify_report(tl_verifier *v, tl_node_id n, const char *fmt, ...) TL_PRINTF(3, 4);

/* Calls fn for every node of every graph, RETURN included. */
void tl_verify_each_node(tl_verifier *v, void (*fn)(tl_verifier *v, tl_node_id n));

#endif
