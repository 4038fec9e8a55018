/* SPDX-License-Identifier: Apache-2.0 */
/* Cache of judged ops: an op like an earlier one gets its column without being judged again. Large
 * models have few kinds of nodes. A key covers everything that the rules read, so that the result
 * is the same with and without the cache. */
#ifndef TL_PASSES_PRECISION_MEMO_H
#define TL_PASSES_PRECISION_MEMO_H

#include "passes/precision/walk.h"

/* Returns the key of the current op, once its slots know their producers; 0 if it must be judged by
 * itself. */
uint64_t tl_precision_memo_key(const tl_precision_walk *w, const tl_precision_form *form);
/* Fills the rules and matches of the slots and *column from the cache. Returns false if no op of
 * this key is there. O(slots). */
bool tl_precision_recall(tl_precision_walk *w, const tl_precision_form *form, uint64_t key,
                         int32_t *column);
/* Stores the result of the current op; does nothing for key 0 or without memory. */
void tl_precision_remember(tl_precision_walk *w, const tl_precision_form *form, uint64_t key,
                           int32_t column);

#endif
