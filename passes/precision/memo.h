/* SPDX-License-Identifier: Apache-2.0 */
/* Large models have few kinds of nodes: an op with the form, mode, colour and dtypes of one that
 * was judged before gets its column without being judged again. */
#ifndef TL_PASSES_PRECISION_MEMO_H
#define TL_PASSES_PRECISION_MEMO_H

#include "passes/precision/walk.h"

/* Key of the op at hand, whose slots know their producers; 0 when it has to be judged by itself. */
uint64_t tl_precision_memo_key(const tl_precision_walk *w, const tl_precision_form *form);
/* Fills rules and matches of the slots and the column; false when no such op was judged. */
bool tl_precision_recall(tl_precision_walk *w, const tl_precision_form *form, uint64_t key,
                         int32_t *column);
/* Remembers what was found. */
void tl_precision_remember(tl_precision_walk *w, const tl_precision_form *form, uint64_t key,
                           int32_t column);

#endif
