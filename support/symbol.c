/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings: one entry array, one open-addressing slot array, hashes kept beside. */
#include "support/symbol.h"

#include <stdlib.h>
#include <string.h>

#include "support/hash.h"

static uint32_t hash_of(tl_sv s) { return (uint32_t)tl_hash_bytes(s.p, s.n, 0); }

static void place(tl_symtab *t, tl_symbol s) {
  uint32_t at = t->entries[s].hash & (t->n_slots - 1);
  while (t->slots[at])
    at = (at + 1) & (t->n_slots - 1);
  t->slots[at] = s + 1;
}

static tl_status grow_slots(tl_symtab *t, uint32_t symbols) {
  uint32_t want = t->n_slots ? t->n_slots : 64;
  while (want / 2 < symbols) {
    if (want > UINT32_MAX / 4)
      return TL_NO_MEMORY;
    want *= 2;
  }
  if (want == t->n_slots)
    return TL_OK;
  uint32_t *slots = calloc(want, sizeof *slots);
  if (!slots)
    return TL_NO_MEMORY;
  free(t->slots);
  t->slots = slots;
  t->n_slots = want;
  for (uint32_t s = 0; s < t->n; s++)
    place(t, s);
  return TL_OK;
}

static tl_status grow_entries(tl_symtab *t, uint32_t cap) {
  if (cap <= t->cap)
    return TL_OK;
  tl_symbol_entry *entries = realloc(t->entries, (size_t)cap * sizeof *entries);
  if (!entries)
    return TL_NO_MEMORY;
  t->entries = entries;
  t->cap = cap;
  return TL_OK;
}

tl_status tl_symtab_reserve(tl_symtab *t, uint32_t more) {
  if (more > UINT32_MAX / 8 - t->n)
    return TL_NO_MEMORY;
  TL_TRY(grow_entries(t, t->n + more));
  return grow_slots(t, t->n + more);
}

void tl_symtab_release(tl_symtab *t) {
  free(t->entries);
  free(t->slots);
  memset(t, 0, sizeof *t);
}

/* Slot of s: either its symbol or the free slot where it belongs. */
static uint32_t slot_of(const tl_symtab *t, tl_sv s, uint32_t hash) {
  uint32_t at = hash & (t->n_slots - 1);
  while (t->slots[at]) {
    const tl_symbol_entry *e = &t->entries[t->slots[at] - 1];
    if (e->hash == hash && e->n == s.n && (s.n == 0 || memcmp(e->p, s.p, s.n) == 0))
      break;
    at = (at + 1) & (t->n_slots - 1);
  }
  return at;
}

tl_symbol tl_symbol_find(const tl_symtab *t, tl_sv s) {
  if (s.n >= UINT32_MAX)
    return TL_NO_SYMBOL;
  uint32_t found = t->slots[slot_of(t, s, hash_of(s))];
  return found ? found - 1 : TL_NO_SYMBOL;
}

static tl_symbol intern(tl_symtab *t, tl_sv s, bool copy) {
  if (s.n >= UINT32_MAX)
    return TL_NO_SYMBOL;
  uint32_t hash = hash_of(s);
  uint32_t at = slot_of(t, s, hash);
  if (t->slots[at])
    return t->slots[at] - 1;
  if (t->n == t->cap && grow_entries(t, t->cap * 2) != TL_OK)
    return TL_NO_SYMBOL;
  if (t->n + 1 > t->n_slots / 2) {
    if (grow_slots(t, t->n + 1) != TL_OK)
      return TL_NO_SYMBOL;
    at = slot_of(t, s, hash);
  }
  const char *p = copy ? tl_arena_copy(t->arena, s.p, s.n) : s.p;
  if (!p)
    return TL_NO_SYMBOL;
  t->entries[t->n] = (tl_symbol_entry){p, (uint32_t)s.n, hash};
  t->slots[at] = t->n + 1;
  return t->n++;
}

tl_symbol tl_intern(tl_symtab *t, tl_sv s) { return intern(t, s, true); }
tl_symbol tl_intern_view(tl_symtab *t, tl_sv s) { return intern(t, s, false); }

tl_status tl_symtab_init(tl_symtab *t, tl_arena *arena, const char *const *seeds, uint32_t n_seeds,
                         uint32_t expect) {
  memset(t, 0, sizeof *t);
  t->arena = arena;
  if (expect < 64)
    expect = 64;
  tl_status status = tl_symtab_reserve(t, n_seeds + 1 + expect);
  bool ok = status == TL_OK && tl_intern_view(t, TL_SV("")) == 0;
  for (uint32_t i = 0; ok && i < n_seeds; i++)
    ok = tl_intern_view(t, tl_sv_from(seeds[i])) == i + 1;
  if (!ok) {
    tl_symtab_release(t);
    return status == TL_OK ? TL_INTERNAL : status;
  }
  return TL_OK;
}
