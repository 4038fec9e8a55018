/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences whose elements have one shape: the rows of a tensor, which a SplitToSequence along dim
 * 0 lists. Ops of sequences then are ops of the tensor. */
#ifndef TL_PASSES_EDIT_ROWS_H
#define TL_PASSES_EDIT_ROWS_H

#include "passes/edit/maker.h"

/* Returns the value that v copies, by way of Identity nodes; v itself if it is no copy. O(1): at
 * most 64 of them are followed. */
tl_value_id tl_value_origin(const tl_module *m, tl_value_id v);

/* Returns the tensor whose rows are the elements of sequence v, or TL_NO_VALUE. v may be
 * TL_NO_VALUE. */
tl_value_id tl_rows_of(const tl_module *m, tl_value_id v);

/* Makes the sequence of the rows of x, which has rank 1 or more. TL_NO_VALUE on failure, which the
 * maker keeps. */
tl_value_id tl_make_rows(tl_maker *k, tl_value_id x);

/* Returns element i of sequence v: of its rows, what is listed at that place, or a SequenceAt.
 * i >= 0 is within the sequence. TL_NO_VALUE on failure, which the maker keeps. */
tl_value_id tl_make_element(tl_maker *k, tl_value_id v, int64_t i);

/* Erases nodes that make sequences or optionals which nobody uses, in all graphs. O(nodes). */
void tl_sequences_sweep(tl_module *m);

#endif
