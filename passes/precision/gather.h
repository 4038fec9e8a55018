/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers the tensors of one op for the rules, and promotes operands to a common dtype.
 * All state is in the walk: w->slots, w->columns and w->op belong to the op that is judged. */
#ifndef TL_PASSES_PRECISION_GATHER_H
#define TL_PASSES_PRECISION_GATHER_H

#include "passes/precision/walk.h"

/* Gathers the tensors of node n in w->slots, in the order of its row: inputs, then outputs. Absent
 * ones are skipped. Sets w->unknown if a tensor that matters has no known dtype. False if memory is
 * out, unreported. */
bool tl_precision_gather(tl_precision_walk *w, tl_node_id n, const tl_precision_form *form);

/* Sets for each gathered input the value that it follows and the current dtype of that value. */
void tl_precision_find_producers(tl_precision_walk *w);

/* Makes all columns of the row possible again. */
void tl_precision_all_columns(tl_precision_walk *w, const tl_precision_form *form);

/* Keeps the columns with the common dtype in all slots of the group that the row promotes, and in
 * float outputs. Returns false, with all columns, if nothing is promoted. */
bool tl_precision_promote(tl_precision_walk *w, const tl_precision_form *form);

#endif
