/* SPDX-License-Identifier: Apache-2.0 */
/* How the dtype of one tensor narrows the columns of an op. An op's row lists, for every slot, one
 * dtype a column; a column is one legal signature. Matchers take the columns that are still
 * possible and keep those whose dtype in this slot fits; where none fits they fail and change
 * nothing, except where said. Pure functions. */
#ifndef TL_PASSES_PRECISION_MATCH_H
#define TL_PASSES_PRECISION_MATCH_H

#include "ir/options/precision_config.h"

/* Possible columns, in the order in which they are preferred. */
typedef struct tl_columns {
  uint16_t *at; /* borrowed room for every column of the row */
  uint32_t n;
} tl_columns;

/* Every value of `from` is one of `to`, both ranked. */
static inline bool tl_dtype_widens(tl_dtype from, tl_dtype to) {
  return to == TL_DTYPE_F32 && (from == TL_DTYPE_F16 || from == TL_DTYPE_BF16);
}

/* All matchers: col[k] is the slot's dtype in column k; `without` is a dtype that must not be
 * chosen, TL_DTYPE_NONE for none. */

/* Columns of exactly this dtype. */
bool tl_match_precise(tl_columns *s, const uint8_t *col, tl_dtype e, tl_dtype without);
/* The dtype itself; if there is none, wider ones. */
bool tl_match_rise(tl_columns *s, const uint8_t *col, tl_dtype e, tl_dtype without);
/* Narrower ones: from f32 first bf16, then f16; from bf16 f16. Another dtype matches itself. */
bool tl_match_reduce(tl_columns *s, const uint8_t *col, tl_dtype e, tl_dtype without);
/* Takes out columns of `without`, even when it fails; then those of f16 or bf16, or of `only` where
 * that is not NONE. */
bool tl_match_mix(tl_columns *s, const uint8_t *col, tl_dtype without, tl_dtype only);
/* The first dtype of the list that some column has exactly. */
bool tl_match_first(tl_columns *s, const uint8_t *col, const tl_dtype *list, uint32_t n);

#endif
