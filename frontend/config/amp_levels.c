/* SPDX-License-Identifier: Apache-2.0 */
/* Turns --amp-level into a precision mode and colours, which a mix list may edit. */
#include "frontend/config/precision.h"
#include "ir/chip/op_info.h"

enum {
#define AMP(level, mode, unlisted, meaning) LEVEL_##level,
#include "frontend/config/amp_levels.tbl"
  N_LEVELS
};

/* KEEP leaves the dtypes of the model, MIXED lets the lists decide for each op, FORCED lowers all
 * ops. */
typedef enum amp_kind { KIND_KEEP, KIND_MIXED, KIND_FORCED } amp_kind;

/* One level: its kind, and the colour of op types that none of its lists names. */
typedef struct preset {
  const char *name;
  amp_kind kind;
  tl_op_colour unlisted;
} preset;

static const preset presets[N_LEVELS] = {
#define AMP(level, mode, unlisted, meaning) {#level, KIND_##mode, TL_COLOUR_##unlisted},
#include "frontend/config/amp_levels.tbl"
};

/* One op type of a list of a level. */
typedef struct listed {
  const char *type;
  uint8_t level;
  uint8_t colour; /* tl_op_colour */
} listed;

static const listed lists[] = {
#define WHITE(level, type) {type, LEVEL_##level, TL_COLOUR_WHITE},
#define BLACK(level, type) {type, LEVEL_##level, TL_COLOUR_BLACK},
#include "frontend/config/amp_levels.tbl"
};

/* Op types of level AUTO that compute in the widest dtype of their operands. */
static const tl_sv promoted[] = {
#define PROMOTE(level, type) {type, sizeof type - 1},
#include "frontend/config/amp_levels.tbl"
};

enum { N_LISTED = sizeof lists / sizeof *lists, N_PROMOTED = sizeof promoted / sizeof *promoted };

/* The table spells AUTO in capitals because enumerators do; the option spells it "auto". */
static bool is_level(tl_sv name, const char *level) {
  return tl_sv_is(name, strcmp(level, "AUTO") == 0 ? "auto" : level);
}

/* No mode forces bfloat16, so FORCED with bfloat16 becomes the mixed mode. */
static tl_precision_mode mode_of(const preset *p, bool bfloat) {
  if (p->kind == KIND_KEEP)
    return TL_PRECISION_ORIGIN;
  if (p->kind == KIND_FORCED && !bfloat)
    return TL_PRECISION_FORCE_FP16;
  return bfloat ? TL_PRECISION_MIX_BF16 : TL_PRECISION_MIX_FP16;
}

static tl_op_colour listed_colour(unsigned level, tl_sv type, tl_op_colour otherwise) {
  for (unsigned i = 0; i < N_LISTED; i++)
    if (lists[i].level == level && tl_sv_is(type, lists[i].type))
      return (tl_op_colour)lists[i].colour;
  return otherwise;
}

/* Returns the edit of a mix list that leads to a colour. */
static uint8_t edit_to(tl_op_colour colour) {
  return colour == TL_COLOUR_WHITE   ? TL_MIX_ADD_WHITE
         : colour == TL_COLOUR_BLACK ? TL_MIX_ADD_BLACK
                                     : TL_MIX_ADD_GRAY;
}

/* Returns true if the user's mix list names the type. It then counts instead of the level's
 * list. */
static bool is_edited(const tl_precision_config *c, const char *type) {
  for (uint32_t i = 0; i < c->n_mix; i++)
    if (tl_sv_is(c->mix[i].type, type))
      return true;
  return false;
}

/* Merges the lists of the level and the edits of the user's file into one list that has one entry
 * for each type: the colour in which the type ends. */
static tl_status merge_lists(tl_diag *d, tl_arena *a, tl_location where, unsigned level,
                             tl_precision_config *c) {
  tl_mix_edit *merged = tl_arena_calloc(a, c->n_mix + N_LISTED, sizeof *merged);
  uint32_t n = 0;
  if (!merged)
    return tl_fail_memory(d, where);
  for (uint32_t i = 0; i < c->n_mix; i++) {
    bool missed;
    tl_op_colour before = listed_colour(level, c->mix[i].type, presets[level].unlisted);
    tl_op_colour after = tl_mix_colour(c->mix[i].edits, before, c->ge_colours, &missed);
    if (missed)
      tl_warn(d, ((tl_location){.file = c->mix_path, .line = c->mix[i].line}),
              "'%.*s' is %s; removing it from another list has no effect",
              TL_SV_ARG(c->mix[i].type), tl_op_colour_name(before));
    merged[n] = c->mix[i];
    merged[n++].edits = edit_to(after);
  }
  for (unsigned i = 0; i < N_LISTED; i++)
    if (lists[i].level == level && !is_edited(c, lists[i].type))
      merged[n++] = (tl_mix_edit){.type = tl_sv_from(lists[i].type),
                                  .edits = edit_to((tl_op_colour)lists[i].colour)};
  c->mix = merged;
  c->n_mix = n;
  return TL_OK;
}

bool tl_amp_level_mode(tl_sv name, bool bfloat, tl_precision_mode *mode, bool *lists_count) {
  for (unsigned level = 0; level < N_LEVELS; level++) {
    if (!is_level(name, presets[level].name))
      continue;
    *mode = mode_of(&presets[level], bfloat);
    *lists_count = presets[level].kind == KIND_MIXED;
    return true;
  }
  return false;
}

tl_status tl_apply_amp_level(tl_diag *d, tl_arena *a, tl_location where, tl_sv name,
                             tl_precision_config *c) {
  unsigned level = 0;
  /* tl_amp_level_mode has accepted the name, so the search ends at its level. */
  while (level + 1 < N_LEVELS && !is_level(name, presets[level].name))
    level++;
  if (presets[level].kind == KIND_KEEP)
    return TL_OK;
  c->recoloured = true;
  c->unlisted = presets[level].unlisted;
  c->promote = level == LEVEL_AUTO ? promoted : NULL;
  c->n_promote = level == LEVEL_AUTO ? N_PROMOTED : 0;
  return merge_lists(d, a, where, level, c);
}
