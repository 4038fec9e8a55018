/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of sequence-rows that rewrite nodes with bodies. */
#ifndef TL_PASSES_LOOPS_SEQUENCE_LOOPS_H
#define TL_PASSES_LOOPS_SEQUENCE_LOOPS_H

#include "passes/edit/values.h"

/* State of the pass. */
typedef struct tl_rows_pass {
  tl_pass *p;
  tl_module *m;
  tl_pinned pinned;
} tl_rows_pass;

/* Turns carried sequences that a Loop only appends to into results that it stacks. Leaves the node
 * alone if there is none. TL_NO_MEMORY. */
tl_status tl_rows_of_loop(tl_rows_pass *w, tl_node_id n) TL_NODISCARD;

/* Replaces a SequenceMap over rows by a Scan over their tensors. Leaves the node alone if a list
 * is not known to be rows, or a result does not have one shape. TL_NO_MEMORY. */
tl_status tl_rows_of_map(tl_rows_pass *w, tl_node_id n) TL_NODISCARD;

#endif
