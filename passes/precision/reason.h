/* SPDX-License-Identifier: Apache-2.0 */
/* Says in words why a tensor has its dtype, for those who explain a decision. */
#ifndef TL_PASSES_PRECISION_REASON_H
#define TL_PASSES_PRECISION_REASON_H

#include "passes/precision/decision.h"
#include "support/str.h"

/* A decision about one operand or result. */
typedef struct tl_precision_place {
  const tl_precision_slot *slot;
  bool output;
  const char *why; /* what a policy or list says of the node; NULL: nothing */
} tl_precision_place;

/* An operand or result of a node. */
typedef struct tl_use_place {
  tl_node_id node;
  bool output;
  uint32_t index;
} tl_use_place;

/* Adds the reason: the sentence of the rule, the value that it follows, and how well a signature of
 * the op fits. */
void tl_precision_add_reason(const tl_module *m, const tl_precision *d, tl_precision_place place,
                             tl_buf *out);
/* Returns the name of the port of an operand or result: that of the NPU type that is judged, else
 * that of the op, else "". */
const char *tl_precision_port_name(const tl_module *m, const tl_precision *d, tl_use_place at);
/* Adds the column of dtypes that was chosen: inputs, " > ", outputs. */
void tl_precision_add_signature(const tl_precision_choice *c, tl_buf *out);

#endif
