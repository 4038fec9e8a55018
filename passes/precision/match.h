/* SPDX-License-Identifier: Apache-2.0 */
/* Matchers: how the dtype of one tensor narrows the columns of an op. An op's row lists one dtype
 * per column for each slot; a column is one legal signature. A matcher keeps the columns whose
 * dtype in its slot fits. If none fits, it returns false and changes nothing, unless stated. All
 * are pure functions, O(columns). */
#ifndef TL_PASSES_PRECISION_MATCH_H
#define TL_PASSES_PRECISION_MATCH_H

#include "ir/options/precision_config.h"

/* Columns that are still possible, in order of preference. */
typedef struct tl_columns {
  uint16_t *at; /* borrowed; room for every column of the row */
  uint32_t n;
} tl_columns;

/* Returns true if every value of `from` is a value of `to`, both of f32, f16 and bf16. */
static inline bool tl_dtype_widens(tl_dtype from, tl_dtype to) {
  return to == TL_DTYPE_F32 && (from == TL_DTYPE_F16 || from == TL_DTYPE_BF16);
}

/* All matchers: col[k] is the slot's dtype in column k; `without` is a dtype that must not be
 * chosen, TL_DTYPE_NONE for none. */

/* Keeps the columns of exactly dtype e. */
bool tl_match_precise(tl_columns *s, const uint8_t *col, tl_dtype e, tl_dtype without);
/* Keeps the columns of dtype e; if there are none, those of a wider dtype (f32). */
bool tl_match_rise(tl_columns *s, const uint8_t *col, tl_dtype e, tl_dtype without);
/* Keeps the columns of narrower dtypes: from f32 bf16 (first) and f16, from bf16 f16. Another dtype
 * matches itself. */
bool tl_match_reduce(tl_columns *s, const uint8_t *col, tl_dtype e, tl_dtype without);
/* Removes the columns of `without`, even if it then fails; keeps those of f16 and bf16, or of
 * `only` unless that is NONE. */
bool tl_match_mix(tl_columns *s, const uint8_t *col, tl_dtype without, tl_dtype only);
/* Keeps the columns of the first dtype in the list that some column has. */
bool tl_match_first(tl_columns *s, const uint8_t *col, const tl_dtype *list, uint32_t n);

#endif
