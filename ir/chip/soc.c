/* SPDX-License-Identifier: Apache-2.0 */
/* The table of chips and its lookups. */
#include "ir/chip/soc.h"

enum {
#define SOC(id, ...) SOC_##id,
#include "ir/chip/soc.tbl"
  N_SOCS
};

static const tl_soc socs[N_SOCS] = {
#define SOC(id, name, table, bf16, hif8, cube_f32, ub, memory, training)                           \
  {name, TL_SOC_##table, bf16, hif8, cube_f32, TL_SOC_UB_##ub, (uint64_t)(memory) << 30, training},
#include "ir/chip/soc.tbl"
};

typedef struct chip {
  const char *name;
  int more; /* letters or digits that follow the name; 0: none may */
  int soc;
} chip;

static const chip chips[] = {
#define CHIP(name, id) {name, 0, SOC_##id},
#define SERIES(prefix, n, id) {prefix, n, SOC_##id},
#include "ir/chip/soc.tbl"
};

enum { N_CHIPS = sizeof chips / sizeof *chips, MOST_TYPOS = 3 };

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static bool is_word_char(char c) {
  return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z');
}

static bool is_chip(tl_sv name, const chip *c) {
  size_t n = strlen(c->name);
  if (name.n != n + (size_t)c->more)
    return false;
  for (size_t i = 0; i < name.n; i++) {
    bool good = i < n ? lower(name.p[i]) == lower(c->name[i]) : is_word_char(name.p[i]);
    if (!good)
      return false;
  }
  return true;
}

const tl_soc *tl_soc_find(tl_sv name, tl_sv *canonical) {
  for (int i = 0; i < N_CHIPS; i++) {
    if (!is_chip(name, &chips[i]))
      continue;
    if (canonical)
      *canonical = chips[i].more ? name : tl_sv_from(chips[i].name);
    return &socs[chips[i].soc];
  }
  return NULL;
}

uint64_t tl_soc_memory(tl_sv name) {
  static const struct {
    const char *name;
    uint64_t bytes;
  } rows[] = {
#define MEMORY(name, gib) {name, UINT64_C(gib) << 30},
#include "ir/chip/soc.tbl"
  };
  tl_sv canonical = name;
  const tl_soc *soc = tl_soc_find(name, &canonical);
  for (size_t i = 0; soc && i < sizeof rows / sizeof *rows; i++)
    if (tl_sv_is(canonical, rows[i].name))
      return rows[i].bytes;
  return soc ? soc->memory : 0;
}

const char *tl_soc_name(uint32_t i) {
  for (int k = 0; k < N_CHIPS; k++)
    if (!chips[k].more && i-- == 0)
      return chips[k].name;
  return NULL;
}

const tl_soc *tl_soc_default(void) { return &socs[SOC_A910B]; }

const char *tl_soc_nearest(tl_sv name) {
  static const char vendor[] = "Ascend";
  const char *best = NULL;
  size_t best_distance = MOST_TYPOS;
  for (int i = 0; i < N_CHIPS; i++) {
    tl_sv full = tl_sv_from(chips[i].name);
    bool bare = tl_sv_starts_with(full, vendor) &&
                tl_sv_eq(name, (tl_sv){full.p + sizeof vendor - 1, full.n - (sizeof vendor - 1)});
    size_t distance = bare ? 0 : tl_edit_distance(name, full, best_distance);
    if (!chips[i].more && distance < best_distance) {
      best = chips[i].name;
      best_distance = distance;
    }
  }
  return best;
}
