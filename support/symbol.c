/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings: one array of entries, one array of slots with open addressing, hashes in the
 * slots. */
#include "support/symbol.h"

#include <stdlib.h>
#include <string.h>

#include "support/hash.h"
#include "support/pages.h"

enum { LARGE_TABLE = 1 << 20 }; /* slots */

static uint32_t hash_of(tl_sv s) { return (uint32_t)tl_hash_bytes(s.p, s.n, 0); }

/* Puts a slot at the first free place from its hash on (linear probing). */
static void place(tl_symtab *t, tl_symbol_slot s) {
  uint32_t at = s.hash & (t->n_slots - 1);
  while (t->slots[at].next)
    at = (at + 1) & (t->n_slots - 1);
  t->slots[at] = s;
}

/* Returns how many symbols so many slots may hold: half of them, so that probes stay short; of a
 * large table five eighths, because twice as much memory costs more than longer probes. */
static uint32_t room_of(uint32_t n_slots) {
  return n_slots < LARGE_TABLE ? n_slots / 2 : n_slots / 8 * 5;
}

static tl_status grow_slots(tl_symtab *t, uint32_t symbols) {
  tl_symtab old = *t;
  uint32_t want = t->n_slots ? t->n_slots : 64;
  while (room_of(want) < symbols) {
    if (want > UINT32_MAX / 4)
      return TL_NO_MEMORY;
    want *= 2;
  }
  if (want == t->n_slots)
    return TL_OK;
  tl_symbol_slot *slots = tl_pages_alloc(want, sizeof *slots);
  if (!slots)
    return TL_NO_MEMORY;
  t->slots = slots;
  t->n_slots = want;
  for (uint32_t i = 0; i < old.n_slots; i++)
    if (old.slots[i].next)
      place(t, old.slots[i]);
  tl_pages_free(old.slots, old.n_slots, sizeof *old.slots);
  return TL_OK;
}

static tl_status grow_entries(tl_symtab *t, uint32_t cap) {
  if (cap <= t->cap)
    return TL_OK;
  tl_symbol_entry *entries = t->entries ? tl_pages_grow(t->entries, t->cap, cap, sizeof *entries)
                                        : tl_pages_alloc_raw(cap, sizeof *entries);
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
  tl_pages_free(t->entries, t->cap, sizeof *t->entries);
  tl_pages_free(t->slots, t->n_slots, sizeof *t->slots);
  memset(t, 0, sizeof *t);
}

/* Returns the slot of s: that of its symbol, or the free one where it belongs. */
static uint32_t slot_of(const tl_symtab *t, tl_sv s, uint32_t hash) {
  uint32_t at = hash & (t->n_slots - 1);
  for (; t->slots[at].next; at = (at + 1) & (t->n_slots - 1)) {
    if (t->slots[at].hash != hash)
      continue;
    const tl_symbol_entry *e = &t->entries[t->slots[at].next - 1];
    if (e->n == s.n && (s.n == 0 || memcmp(e->p, s.p, s.n) == 0))
      break;
  }
  return at;
}

/* A slot has the symbol plus 1; 0 marks a free slot. */
tl_symbol tl_symbol_find(const tl_symtab *t, tl_sv s) {
  uint32_t found = t->slots[slot_of(t, s, hash_of(s))].next;
  return found ? found - 1 : TL_NO_SYMBOL;
}

/* copy: the text goes into the arena; else it must outlive the table. */
static tl_symbol intern(tl_symtab *t, tl_sv s, uint32_t hash, bool copy) {
  uint32_t at = slot_of(t, s, hash);
  if (t->slots[at].next)
    return t->slots[at].next - 1;
  if (t->n == t->cap && (t->cap > UINT32_MAX / 2 || grow_entries(t, t->cap * 2) != TL_OK))
    return TL_NO_SYMBOL;
  if (t->n + 1 > room_of(t->n_slots)) {
    if (grow_slots(t, t->n + 1) != TL_OK)
      return TL_NO_SYMBOL;
    at = slot_of(t, s, hash);
  }
  const char *p = copy ? tl_arena_copy(t->arena, s.p, s.n) : s.p;
  if (!p)
    return TL_NO_SYMBOL;
  t->entries[t->n] = (tl_symbol_entry){p, s.n};
  t->slots[at] = (tl_symbol_slot){hash, t->n + 1};
  return t->n++;
}

/* Fetches the slot into the cache while the caller does something else. */
uint32_t tl_intern_ahead(const tl_symtab *t, tl_sv s) {
  uint32_t hash = hash_of(s);
  tl_prefetch(&t->slots[hash & (t->n_slots - 1)]);
  return hash;
}

tl_symbol tl_intern_hashed(tl_symtab *t, tl_sv s, uint32_t hash) {
  return intern(t, s, hash, false);
}

tl_symbol tl_intern(tl_symtab *t, tl_sv s) { return intern(t, s, hash_of(s), true); }
tl_symbol tl_intern_view(tl_symtab *t, tl_sv s) { return intern(t, s, hash_of(s), false); }

/* Takes the slots that the seeds come with, if that many are wanted. */
static bool copy_slots(tl_symtab *t, const tl_seed_table *seeds, uint32_t symbols) {
  if (!seeds->slots || seeds->n_slots / 2 < symbols || seeds->n_slots / 4 >= symbols)
    return false;
  t->slots = tl_pages_alloc_raw(seeds->n_slots, sizeof *t->slots);
  if (!t->slots)
    return false;
  t->n_slots = seeds->n_slots;
  memcpy(t->slots, seeds->slots, t->n_slots * sizeof *t->slots);
  return true;
}

/* Enters the seeds behind the empty text. They differ: nothing is compared. made: their slots are
 * there. */
static void enter_seeds(tl_symtab *t, const tl_seed_table *seeds, bool made) {
  t->entries[t->n++] = (tl_symbol_entry){"", 0};
  if (!made)
    place(t, (tl_symbol_slot){hash_of(TL_SV("")), t->n});
  for (uint32_t i = 0; i < seeds->n; i++) {
    t->entries[t->n++] = (tl_symbol_entry){seeds->at[i].text, seeds->at[i].n};
    if (!made)
      place(t, (tl_symbol_slot){seeds->at[i].hash, t->n});
  }
}

tl_status tl_symtab_init(tl_symtab *t, tl_arena *arena, const tl_seed_table *seeds,
                         uint32_t expect) {
  static const tl_seed_table none = {0};
  memset(t, 0, sizeof *t);
  t->arena = arena;
  seeds = seeds ? seeds : &none;
  if (expect < 64)
    expect = 64;
  bool made = copy_slots(t, seeds, seeds->n + 1 + expect);
  tl_status status = tl_symtab_reserve(t, seeds->n + 1 + expect);
  if (status != TL_OK) {
    tl_symtab_release(t);
    return status;
  }
  enter_seeds(t, seeds, made);
  return TL_OK;
}
