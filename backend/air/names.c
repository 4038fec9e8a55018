/* SPDX-License-Identifier: Apache-2.0 */
/* Unique, plain names. */
#include "backend/air/names.h"

#include "support/hash.h"

enum { MAX_NAME = 255, CUT_NAME = 200, TRIES = 16 };

static uint32_t find_slot(const tl_air_names *t, tl_sv s) {
  uint32_t i = (uint32_t)tl_hash_bytes(s.p, s.n, 0) & (t->n_slots - 1);
  while (t->slots[i].p && !tl_sv_eq(t->slots[i], s))
    i = (i + 1) & (t->n_slots - 1);
  return i;
}

tl_status tl_air_names_init(tl_air_names *t, tl_arena *arena, uint32_t expect) {
  *t = (tl_air_names){.arena = arena, .n_slots = 64};
  tl_buf_init(&t->text);
  while (t->n_slots / 2 < expect && t->n_slots < UINT32_C(1) << 30)
    t->n_slots *= 2;
  t->slots = calloc(t->n_slots, sizeof *t->slots);
  return t->slots ? TL_OK : TL_NO_MEMORY;
}

void tl_air_names_release(tl_air_names *t) {
  free(t->slots);
  tl_buf_release(&t->text);
  t->slots = NULL;
}

static bool widen(tl_air_names *t) {
  if (t->n < t->n_slots / 4 * 3)
    return true;
  tl_air_names wide = *t;
  wide.n_slots = t->n_slots * 2;
  wide.slots = wide.n_slots ? calloc(wide.n_slots, sizeof *wide.slots) : NULL;
  if (!wide.slots)
    return false;
  for (uint32_t i = 0; i < t->n_slots; i++)
    if (t->slots[i].p)
      wide.slots[find_slot(&wide, t->slots[i])] = t->slots[i];
  free(t->slots);
  *t = wide;
  return true;
}

static char plain(char c) {
  bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return word || c == '_' || c == '.' || c == '/' || c == '-' ? c : '_';
}

/* Takes what is in t->text, numbered if need be. */
static tl_sv claim(tl_air_names *t) {
  size_t base = t->text.n;
  uint32_t slot = find_slot(t, tl_buf_view(&t->text));
  for (uint32_t i = 1; t->slots[slot].p && i; i++) {
    t->text.n = base;
    tl_buf_add_char(&t->text, '_');
    tl_buf_add_u64(&t->text, i < TRIES ? i : (uint64_t)t->n + i); /* many equal wishes stay cheap */
    if (t->text.failed)
      return (tl_sv){0};
    slot = find_slot(t, tl_buf_view(&t->text));
  }
  tl_sv name = {tl_arena_copy(t->arena, t->text.p, t->text.n), t->text.n};
  if (name.p) {
    t->slots[slot] = name;
    t->n++;
  }
  return name;
}

tl_sv tl_air_name(tl_air_names *t, tl_sv prefix, tl_sv wish) {
  if (!widen(t))
    return (tl_sv){0};
  tl_buf_clear(&t->text);
  tl_buf_add_sv(&t->text, prefix);
  tl_buf_add_sv(&t->text, wish.n ? wish : TL_SV("_"));
  if (t->text.failed)
    return (tl_sv){0};
  uint64_t hash = t->text.n > CUT_NAME ? tl_hash_bytes(t->text.p, t->text.n, 0) : 0;
  for (size_t i = 0; i < t->text.n && i < MAX_NAME; i++)
    t->text.p[i] = plain(t->text.p[i]);
  if (t->text.n > MAX_NAME - 11) { /* room for a number behind it */
    t->text.n = CUT_NAME;
    tl_buf_printf(&t->text, "_%016llx", (unsigned long long)hash);
  }
  return t->text.failed ? (tl_sv){0} : claim(t);
}
