/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups over the names of fusion passes. */
#include "ir/fusion_names.h"

#include <string.h>

enum { MOST_EDITS = 3 };

#define STATE_ON true
#define STATE_OFF false

static const tl_fusion_name passes[] = {
#define PASS(name, kind, state, close)                                                            \
  {#name, TL_FUSION_##kind, TL_CLOSE_##close, STATE_##state},
#include "ir/fusion_names.tbl"
};

typedef struct alias {
  const char *name;
  const char *pass;
} alias;

static const alias aliases[] = {
#define ALIAS(name, pass) {#name, #pass},
#include "ir/fusion_names.tbl"
};

/* first: the preset */
static const alias presets[] = {
#define PRESET(preset, pass) {#preset, #pass},
#include "ir/fusion_names.tbl"
};

static const char *const inert[] = {
#define INERT(name) #name,
#include "ir/fusion_names.tbl"
};

typedef struct lack_row {
  const char *pass;
  const char *why;
} lack_row;

static const lack_row lacks[] = {
#define LACK(name, why) {#name, why},
#include "ir/fusion_names.tbl"
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
    if (strcmp(presets[i].name, preset) == 0 && tl_sv_is(pass, presets[i].pass))
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

static void consider(tl_sv name, const char *candidate, size_t *limit, const char **best) {
  size_t distance = tl_edit_distance(name, tl_sv_from(candidate), *limit);
  if (distance > *limit || (*best && distance == *limit))
    return;
  *limit = distance;
  *best = candidate;
}

const char *tl_fusion_name_nearest(tl_sv name) {
  size_t limit = MOST_EDITS;
  const char *best = NULL;
  for (uint32_t i = 0; i < N_PASSES; i++)
    consider(name, passes[i].name, &limit, &best);
  for (uint32_t i = 0; i < N_ALIASES; i++)
    consider(name, aliases[i].name, &limit, &best);
  return best;
}

const char *tl_fusion_kind_name(tl_fusion_kind kind) {
  static const char *const names[TL_N_FUSION_KINDS] = {"graph", "ub", "scope", "cleanup"};
  return names[kind];
}

const char *tl_fusion_section_name(tl_fusion_kind kind) {
  static const char *const names[TL_N_FUSION_KINDS] = {"GraphFusion", "UBFusion", NULL, NULL};
  return names[kind];
}
