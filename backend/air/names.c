/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the table of unique names (names.h): open addressing with linear probing. */
#include "backend/air/names.h"

#include "support/hash.h"
#include "support/pages.h"

/* MAX_NAME: GE's limit, bytes. CUT_NAME: bytes that are kept of a longer name, before its hash.
 * TRIES: numbers that are tried in order, before a number is drawn that is likely free. */
enum { MAX_NAME = 255, CUT_NAME = 200, TRIES = 16 };

static uint32_t hash_of(tl_sv s) { return (uint32_t)tl_hash_bytes(s.p, s.n, 0); }

/* Returns the slot of s, or the free slot where it belongs. */
static uint32_t find_slot(const tl_air_names *t, tl_sv s, uint32_t hash) {
  uint32_t i = hash & (t->n_slots - 1);
  for (; t->slots[i].p; i = (i + 1) & (t->n_slots - 1)) {
    const tl_name_slot *slot = &t->slots[i];
    if (slot->hash == hash && slot->n == s.n && memcmp(slot->p, s.p, s.n) == 0)
      break;
  }
  return i;
}

tl_status tl_air_names_init(tl_air_names *t, tl_arena *arena, uint32_t expect) {
  *t = (tl_air_names){.arena = arena, .n_slots = 64};
  tl_buf_init(&t->text);
  while (t->n_slots / 2 < expect && t->n_slots < UINT32_C(1) << 30)
    t->n_slots *= 2;
  t->slots = tl_pages_alloc(t->n_slots, sizeof *t->slots);
  return t->slots ? TL_OK : TL_NO_MEMORY;
}

void tl_air_names_release(tl_air_names *t) {
  tl_pages_free(t->slots, t->n_slots, sizeof *t->slots);
  tl_buf_release(&t->text);
  t->slots = NULL;
}

/* Doubles the table at a load of 3/4 and inserts all names again. */
static bool widen(tl_air_names *t) {
  if (t->n < t->n_slots / 4 * 3)
    return true;
  tl_air_names wide = *t;
  wide.n_slots = t->n_slots * 2;
  wide.slots = wide.n_slots ? tl_pages_alloc(wide.n_slots, sizeof *wide.slots) : NULL;
  if (!wide.slots)
    return false;
  for (uint32_t i = 0; i < t->n_slots; i++) {
    uint32_t k = t->slots[i].hash & (wide.n_slots - 1);
    while (t->slots[i].p && wide.slots[k].p)
      k = (k + 1) & (wide.n_slots - 1);
    if (t->slots[i].p)
      wide.slots[k] = t->slots[i];
  }
  tl_pages_free(t->slots, t->n_slots, sizeof *t->slots);
  *t = wide;
  return true;
}

/* Returns c if GE allows it in names, else '_'. */
static char plain(char c) {
  bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return word || c == '_' || c == '.' || c == '/' || c == '-' ? c : '_';
}

/* Puts a name into a free slot; does nothing for a name without memory. */
static tl_sv take(tl_air_names *t, uint32_t at, tl_sv name, uint32_t hash) {
  if (name.p) {
    t->slots[at] = (tl_name_slot){name.p, (uint32_t)name.n, hash};
    t->n++;
  }
  return name;
}

/* Adds the name in t->text, with a number behind it if it is taken. */
static tl_sv claim(tl_air_names *t) {
  size_t base = t->text.n;
  uint32_t hash = hash_of(tl_buf_view(&t->text));
  uint32_t slot = find_slot(t, tl_buf_view(&t->text), hash);
  for (uint32_t i = 1; t->slots[slot].p && i; i++) {
    t->text.n = base;
    tl_buf_add_char(&t->text, '_');
    /* The number of names in use is mostly free, so n equal wishes take O(n) tries, not O(n^2). */
    tl_buf_add_u64(&t->text, i < TRIES ? i : (uint64_t)t->n + i);
    if (t->text.failed)
      return (tl_sv){0};
    hash = hash_of(tl_buf_view(&t->text));
    slot = find_slot(t, tl_buf_view(&t->text), hash);
  }
  tl_sv name = {tl_arena_copy(t->arena, t->text.p, t->text.n), t->text.n};
  return take(t, slot, name, hash);
}

tl_sv tl_air_name(tl_air_names *t, tl_sv prefix, tl_sv wish) {
  if (!widen(t))
    return (tl_sv){0};
  tl_buf_clear(&t->text);
  tl_buf_add_sv(&t->text, prefix);
  tl_buf_add_sv(&t->text, wish.n ? wish : TL_SV("_"));
  if (t->text.failed)
    return (tl_sv){0};
  /* The hash is of the original bytes: names that differ only in replaced characters, or behind the
   * cut, stay different. */
  uint64_t hash = t->text.n > CUT_NAME ? tl_hash_bytes(t->text.p, t->text.n, 0) : 0;
  for (size_t i = 0; i < t->text.n && i < MAX_NAME; i++)
    t->text.p[i] = plain(t->text.p[i]);
  if (t->text.n > MAX_NAME - 11) { /* room for a number behind it */
    t->text.n = CUT_NAME;
    tl_buf_printf(&t->text, "_%016llx", (unsigned long long)hash);
  }
  return t->text.failed ? (tl_sv){0} : claim(t);
}

bool tl_air_name_is_cut(tl_sv name) {
  enum { HASH = 17 }; /* '_' and 16 digits */
  return name.n == CUT_NAME + HASH && name.p[CUT_NAME] == '_';
}

/* Returns true if GE allows all characters of a name. */
static bool is_plain(tl_sv s) {
  bool same = true;
  for (size_t i = 0; i < s.n; i++)
    same = same && plain(s.p[i]) == s.p[i];
  return same;
}

uint32_t tl_air_name_ahead(const tl_air_names *t, tl_sv wish) {
  uint32_t hash = hash_of(wish);
  tl_prefetch(&t->slots[hash & (t->n_slots - 1)]);
  return hash;
}

tl_sv tl_air_name_view(tl_air_names *t, tl_sv prefix, tl_sv wish, uint32_t hash) {
  if (!widen(t))
    return (tl_sv){0};
  if (prefix.n == 0 && wish.n && wish.n <= MAX_NAME - 11 && is_plain(wish)) {
    uint32_t slot = find_slot(t, wish, hash);
    if (!t->slots[slot].p)
      return take(t, slot, wish, hash);
  }
  return tl_air_name(t, prefix, wish);
}
