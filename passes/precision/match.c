/* SPDX-License-Identifier: Apache-2.0 */
/* Matchers on the columns of one slot (match.h). */
#include "passes/precision/match.h"

/* Returns true if a remaining column has dtype d. */
static bool has(const tl_columns *s, const uint8_t *col, tl_dtype d) {
  for (uint32_t i = 0; i < s->n; i++)
    if (col[s->at[i]] == d)
      return true;
  return false;
}

/* Keeps the columns whose dtype is in the set; stable, in place. */
static void keep(tl_columns *s, const uint8_t *col, uint64_t dtypes) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < s->n; i++)
    if (dtypes >> col[s->at[i]] & 1)
      s->at[n++] = s->at[i];
  s->n = n;
}

bool tl_match_precise(tl_columns *s, const uint8_t *col, tl_dtype e, tl_dtype without) {
  if (e == without || !has(s, col, e))
    return false;
  keep(s, col, TL_DTYPE_BIT(e));
  return true;
}

/* f32 is the only wider dtype of f16 and bf16, and has none itself. */
bool tl_match_rise(tl_columns *s, const uint8_t *col, tl_dtype e, tl_dtype without) {
  if (tl_match_precise(s, col, e, without))
    return true;
  return tl_dtype_widens(e, TL_DTYPE_F32) && tl_match_precise(s, col, TL_DTYPE_F32, without);
}

/* Moves the columns of bf16 to the front; stable, in place. Mixed bf16 modes prefer them. */
static void bf16_first(tl_columns *s, const uint8_t *col) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < s->n; i++) {
    uint16_t k = s->at[i];
    if (col[k] != TL_DTYPE_BF16)
      continue;
    for (uint32_t j = i; j > n; j--)
      s->at[j] = s->at[j - 1];
    s->at[n++] = k;
  }
}

/* Builds the set of narrower dtypes first, so that a failure leaves the columns as they were. */
bool tl_match_reduce(tl_columns *s, const uint8_t *col, tl_dtype e, tl_dtype without) {
  uint64_t set = e == TL_DTYPE_F32    ? TL_DTYPE_BIT(TL_DTYPE_BF16) | TL_DTYPE_BIT(TL_DTYPE_F16)
                 : e == TL_DTYPE_BF16 ? TL_DTYPE_BIT(TL_DTYPE_F16)
                                      : 0;
  if (!tl_dtype_is_ranked(e))
    return tl_match_precise(s, col, e, without);
  set &= ~TL_DTYPE_BIT(without);
  bool found = false;
  for (uint32_t i = 0; i < s->n && !found; i++)
    found = set >> col[s->at[i]] & 1;
  if (!found)
    return false;
  keep(s, col, set);
  bf16_first(s, col);
  return true;
}

/* The columns of `without` are removed even if nothing remains to match. */
bool tl_match_mix(tl_columns *s, const uint8_t *col, tl_dtype without, tl_dtype only) {
  uint64_t low = only != TL_DTYPE_NONE ? TL_DTYPE_BIT(only)
                                       : TL_DTYPE_BIT(TL_DTYPE_F16) | TL_DTYPE_BIT(TL_DTYPE_BF16);
  if (without != TL_DTYPE_NONE)
    keep(s, col, ~TL_DTYPE_BIT(without));
  for (uint32_t i = 0; i < s->n; i++)
    if (low >> col[s->at[i]] & 1) {
      keep(s, col, low);
      return true;
    }
  return false;
}

bool tl_match_first(tl_columns *s, const uint8_t *col, const tl_dtype *list, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (tl_match_precise(s, col, list[i], TL_DTYPE_NONE))
      return true;
  return false;
}
