/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups over the names of fusion passes. */
#include "ir/options/fusion_names.h"

#include <string.h>

enum { MOST_EDITS = 3, LONGEST_STEM = 128 };

#define STATE_ON true
#define STATE_OFF false

static const tl_fusion_name passes[] = {
#define PASS(name, kind, state, close) {#name, TL_FUSION_##kind, TL_CLOSE_##close, STATE_##state},
#include "ir/options/fusion_names.tbl"
};

typedef struct alias {
  const char *name;
  const char *pass;
} alias;

static const alias aliases[] = {
#define ALIAS(name, pass) {#name, #pass},
#include "ir/options/fusion_names.tbl"
};

/* first: the preset */
static const alias presets[] = {
#define PRESET(preset, pass) {#preset, #pass},
#include "ir/options/fusion_names.tbl"
};

static const char *const inert[] = {
#define INERT(name) #name,
#include "ir/options/fusion_names.tbl"
};

typedef struct lack_row {
  const char *pass;
  const char *why;
} lack_row;

static const lack_row lacks[] = {
#define LACK(name, why) {#name, why},
#include "ir/options/fusion_names.tbl"
};

enum {
  N_PASSES = sizeof passes / sizeof *passes,
  N_ALIASES = sizeof aliases / sizeof *aliases,
  N_INERT = sizeof inert / sizeof *inert
};

const tl_fusion_name *tl_fusion_names(uint32_t *n) {
  *n = N_PASSES;
  return passes;
}

const tl_fusion_name *tl_fusion_name_find(tl_sv name) {
  uint32_t low = 0;
  uint32_t high = N_PASSES;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    int order = tl_sv_compare(name, tl_sv_from(passes[middle].name));
    if (order == 0)
      return &passes[middle];
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return NULL;
}

const char *tl_fusion_alias_get(tl_sv name, uint32_t i) {
  for (uint32_t k = 0; k < N_ALIASES; k++) {
    if (tl_sv_is(name, aliases[k].name) && i-- == 0)
      return aliases[k].pass;
  }
  return NULL;
}

const char *tl_fusion_alias_at(uint32_t i) {
  for (uint32_t k = 0; k < N_ALIASES; k++) {
    bool again = k > 0 && strcmp(aliases[k - 1].name, aliases[k].name) == 0;
    if (!again && i-- == 0)
      return aliases[k].name;
  }
  return NULL;
}

bool tl_fusion_preset_has(const char *preset, tl_sv pass) {
  for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
    if (presets[i].name[0] == preset[0] && strcmp(presets[i].name, preset) == 0 &&
        tl_sv_is(pass, presets[i].pass))
      return true;
  return false;
}

bool tl_fusion_name_is_inert(tl_sv name) {
  for (uint32_t i = 0; i < N_INERT; i++) {
    if (tl_sv_is(name, inert[i]))
      return true;
  }
  return false;
}

const char *tl_fusion_name_lacks(tl_sv pass) {
  for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++)
    if (tl_sv_is(pass, lacks[i].pass))
      return lacks[i].why;
  return NULL;
}

/* ---- near names ------------------------------------------------------------------------------ */

typedef struct nearest {
  tl_sv name;
  tl_sv stem;
  size_t distance; /* of the best */
  size_t whole;    /* between the whole names, where stems are as near */
  const char *best;
} nearest;

static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

static bool drop_end(tl_sv *name, const char *end) {
  size_t n = strlen(end);
  if (name->n <= n || memcmp(name->p + name->n - n, end, n) != 0)
    return false;
  name->n -= n;
  return true;
}

/* What a name is about: without the letters that put passes in order (AAB..., ZC...), the words
 * that most names have, and letter case, in all of which documents and code differ. */
static tl_sv stem_of(tl_sv name, char *room) {
  while (name.n > 2 && (name.p[0] == 'A' || name.p[0] == 'Z') &&
         (is_upper(name.p[1]) || name.p[1] == '_'))
    name = (tl_sv){name.p + 1 + (name.p[1] == '_'), name.n - 1 - (name.p[1] == '_')};
  if (name.n > LONGEST_STEM)
    return name;
  for (size_t i = 0; i < name.n; i++)
    room[i] = is_upper(name.p[i]) ? (char)(name.p[i] + 'a' - 'A') : name.p[i];
  tl_sv stem = {room, name.n};
  if (stem.n > 3 && memcmp(stem.p, "tbe", 3) == 0)
    stem = (tl_sv){stem.p + 3, stem.n - 3};
  while (drop_end(&stem, "pass") || drop_end(&stem, "fusion") || drop_end(&stem, "ub"))
    continue;
  return stem;
}

/* A stem that goes on as another does is nearer than one with other letters in it. */
static size_t stem_distance(tl_sv a, tl_sv b) {
  size_t shorter = a.n < b.n ? a.n : b.n;
  size_t limit = shorter / 2 < MOST_EDITS ? shorter / 2 : MOST_EDITS;
  if (tl_sv_eq(a, b))
    return 0;
  if (shorter >= 4 && a.n + b.n - 2 * shorter <= 4 && memcmp(a.p, b.p, shorter) == 0)
    return 1;
  size_t edits = tl_edit_distance(a, b, limit);
  return edits > limit ? SIZE_MAX : edits;
}

static void consider(nearest *best, const char *candidate) {
  char room[LONGEST_STEM];
  tl_sv name = tl_sv_from(candidate);
  size_t whole = tl_edit_distance(best->name, name, LONGEST_STEM);
  size_t stems = stem_distance(best->stem, stem_of(name, room));
  size_t distance = whole <= MOST_EDITS && whole < stems ? whole : stems;
  if (distance > best->distance ||
      (distance == best->distance && best->best && whole >= best->whole) || distance == SIZE_MAX)
    return;
  best->distance = distance;
  best->whole = whole;
  best->best = candidate;
}

const char *tl_fusion_name_nearest(tl_sv name) {
  char room[LONGEST_STEM];
  nearest best = {.name = name, .stem = stem_of(name, room), .distance = SIZE_MAX};
  for (uint32_t i = 0; i < N_PASSES; i++)
    consider(&best, passes[i].name);
  for (uint32_t i = 0; i < N_ALIASES; i++)
    consider(&best, aliases[i].name);
  return best.best;
}

const char *tl_fusion_kind_name(tl_fusion_kind kind) {
  static const char *const names[TL_N_FUSION_KINDS] = {"graph", "ub", "scope", "cleanup"};
  return names[kind];
}

const char *tl_fusion_section_name(tl_fusion_kind kind) {
  static const char *const names[TL_N_FUSION_KINDS] = {"GraphFusion", "UBFusion", NULL, NULL};
  return names[kind];
}
