/* SPDX-License-Identifier: Apache-2.0 */
/* Implements references to where nodes come from (origins.h). */
#include "ir/origins.h"

enum { KIND_BITS = 2, KIND_MASK = (1 << KIND_BITS) - 1 };

tl_origin tl_origin_of(tl_origin_kind kind, uint32_t number) {
  return number < UINT32_MAX >> KIND_BITS ? number << KIND_BITS | kind : TL_NO_ORIGIN;
}

static bool among(const tl_origin *list, uint32_t n, tl_origin which) {
  for (uint32_t i = 0; i < n; i++)
    if (list[i] == which)
      return true;
  return false;
}

/* Returns true if the list that begins at `at` says what the one before it says. */
static bool is_last(const tl_module *m, uint32_t at) {
  const uint32_t *list = m->origins.at, before = m->last_origins;
  size_t n = list[at] + 1u;
  return before + n == at && memcmp(list + before, list + at, n * sizeof *list) == 0;
}

tl_origin tl_origin_join(tl_module *m, const tl_origin *from, uint32_t n) {
  uint32_t first = m->origins.n, kept = 0;
  tl_origin last = 0;
  if (!tl_u32_vec_push(&m->origins, 0))
    return TL_NO_ORIGIN;
  for (uint32_t i = 0; i < n; i++) {
    if (!from[i] || among(m->origins.at + first + 1, kept, from[i]))
      continue;
    if (from[i] == TL_NO_ORIGIN || !tl_u32_vec_push(&m->origins, from[i]))
      return TL_NO_ORIGIN;
    last = from[i];
    kept++;
  }
  if (kept < 2) {
    m->origins.n = first;
    return last;
  }
  m->origins.at[first] = kept;
  if (is_last(m, first)) { /* of another node that the same rewrite made */
    m->origins.n = first;
    return tl_origin_of(TL_ORIGIN_MANY, m->last_origins);
  }
  m->last_origins = first;
  return tl_origin_of(TL_ORIGIN_MANY, first);
}

/* Goes into the references behind a number, unless the walk was there. */
static bool enter(tl_origin_walk *w, uint32_t at) {
  if (tl_map_find(&w->seen, at, NULL))
    return true;
  uint32_t n = w->m->origins.at[at];
  return tl_map_set(&w->seen, at, 1) && tl_u32_vec_push(&w->stack, at + 1) &&
         tl_u32_vec_push(&w->stack, at + 1 + n);
}

void tl_origin_start(tl_origin_walk *w, const tl_module *m, tl_origin from) {
  *w = (tl_origin_walk){.m = m};
  if ((from & KIND_MASK) == TL_ORIGIN_MANY)
    w->failed = !enter(w, from >> KIND_BITS);
  else
    w->one = from;
}

/* Takes the next reference off the innermost list that has one; 0: none has. */
static tl_origin take(tl_origin_walk *w) {
  tl_origin one = w->one;
  w->one = 0;
  while (!one && w->stack.n && !w->failed) {
    uint32_t *at = &w->stack.at[w->stack.n - 2], *end = at + 1;
    if (*at < *end)
      one = w->m->origins.at[(*at)++];
    else
      w->stack.n -= 2;
  }
  return one;
}

bool tl_origin_next(tl_origin_walk *w, tl_origin_kind *kind, tl_symbol *symbol) {
  tl_origin next;
  while ((next = take(w)) != 0) {
    *kind = (tl_origin_kind)(next & KIND_MASK);
    *symbol = next >> KIND_BITS;
    if (*kind != TL_ORIGIN_MANY)
      return true;
    w->failed = !enter(w, *symbol);
  }
  return false;
}

void tl_origin_end(tl_origin_walk *w) {
  tl_u32_vec_release(&w->stack);
  tl_map_release(&w->seen);
}
