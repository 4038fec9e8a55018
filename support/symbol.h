/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings. A symbol is a u32; two symbols are equal exactly when their bytes are. Bytes
 * are borrowed where the caller says that they outlive the table (a mapped file), copied otherwise.
 * Symbol 0 is the empty string. Symbols order by first interning, never by address. */
#ifndef TL_SUPPORT_SYMBOL_H
#define TL_SUPPORT_SYMBOL_H

#include "support/arena.h"
#include "support/assert.h"
#include "support/str.h"

typedef uint32_t tl_symbol;

#define TL_NO_SYMBOL UINT32_MAX /* memory ran out, or nothing found */

/* A static text that a table starts with, and the low half of tl_hash_bytes(text, n, 0). */
typedef struct tl_seed {
  const char *text;
  uint32_t n;
  uint32_t hash;
} tl_seed;

typedef struct tl_symbol_entry {
  const char *p;
  size_t n;
} tl_symbol_entry;

/* The hash lies beside the symbol, so that a probe that misses costs one cache line. */
typedef struct tl_symbol_slot {
  uint32_t hash;
  uint32_t next; /* symbol + 1, 0 = free */
} tl_symbol_slot;

/* Static texts that a table starts with, as symbols 1..n. They differ. */
typedef struct tl_seed_table {
  const tl_seed *at;
  uint32_t n;
  uint32_t n_slots;            /* power of two */
  const tl_symbol_slot *slots; /* the table that has the seeds and the empty text; NULL: it is made
                                * when needed */
} tl_seed_table;

/* The table; tl_symtab_init prepares it. */
typedef struct tl_symtab {
  tl_symbol_entry *entries; /* owned */
  uint32_t n;
  uint32_t cap;
  tl_symbol_slot *slots; /* owned; open addressing */
  uint32_t n_slots;      /* power of two */
  tl_arena *arena;       /* borrowed; receives copies */
} tl_symtab;

/* Prepares a table holding `seeds` (NULL: none) as symbols 1..n and the empty string as 0. expect:
 * number of symbols to make room for. TL_NO_MEMORY. */
tl_status tl_symtab_init(tl_symtab *t, tl_arena *arena, const tl_seed_table *seeds,
                         uint32_t expect) TL_NODISCARD;
/* Frees the table; copies of bytes stay in the arena. */
void tl_symtab_release(tl_symtab *t);

/* Makes room for `more` further symbols at once. TL_NO_MEMORY. */
tl_status tl_symtab_reserve(tl_symtab *t, uint32_t more) TL_NODISCARD;

/* Returns the symbol of s, copying the bytes when they are new. TL_NO_SYMBOL when memory is out. */
tl_symbol tl_intern(tl_symtab *t, tl_sv s);
/* As tl_intern without copying: the bytes must outlive the table. */
tl_symbol tl_intern_view(tl_symtab *t, tl_sv s);
/* Starts loading what interning s will need, and returns its hash. Many strings interned one after
 * the other would wait for memory each time; in two steps the waits overlap. */
uint32_t tl_intern_ahead(const tl_symtab *t, tl_sv s);
/* As tl_intern_view, with the hash that tl_intern_ahead returned. */
tl_symbol tl_intern_hashed(tl_symtab *t, tl_sv s, uint32_t hash);
/* Returns the symbol of s if it was interned, else TL_NO_SYMBOL. */
tl_symbol tl_symbol_find(const tl_symtab *t, tl_sv s);

/* Returns the bytes of a symbol. */
static inline tl_sv tl_symbol_sv(const tl_symtab *t, tl_symbol s) {
  TL_ASSERT(s < t->n);
  return (tl_sv){t->entries[s].p, t->entries[s].n};
}

#endif
