/* SPDX-License-Identifier: Apache-2.0 */
/* A list of entries about passes while it is read. Internal to the readers of fusion switches. */
#ifndef TL_FRONTEND_CONFIG_FUSION_DRAFT_H
#define TL_FRONTEND_CONFIG_FUSION_DRAFT_H

#include "frontend/config/fusion_switch.h"
#include "frontend/config/json.h"

TL_VEC(tl_fusion_entry_vec, tl_fusion_entry);

typedef struct tl_fusion_draft {
  tl_fusion_entry_vec entries; /* owned, heap */
  uint32_t number;             /* entries written so far */
} tl_fusion_draft;

/* What it means to say something about one pass twice. */
typedef enum tl_fusion_repeat {
  TL_REPEAT_LAST_COUNTS,
  TL_REPEAT_FAILS,      /* under whatever names */
  TL_REPEAT_NAME_FAILS, /* under one name; under two, if they disagree */
  TL_REPEAT_IF_UNEQUAL_FAILS
} tl_fusion_repeat;

/* Adds an entry for the pass of this name, or for each that it is an alias of. The name is copied
 * into the arena. A switch that is no pass adds nothing. TL_NO_MEMORY, unreported. */
tl_status tl_fusion_draft_add(tl_fusion_draft *draft, tl_arena *a, tl_sv name, int value,
                              tl_location at) TL_NODISCARD;
/* Sorts the entries into a list in the arena. code: of the error where repeating is one. Releases
 * the draft in every case. */
tl_status tl_fusion_draft_finish(tl_fusion_draft *draft, tl_diag *d, tl_arena *a,
                                 tl_fusion_repeat repeat, const char *code,
                                 tl_fusion_list *out) TL_NODISCARD;
void tl_fusion_draft_release(tl_fusion_draft *draft);

/* "on", "off": 1, 0; -1 for anything else. */
int tl_fusion_on_off(tl_sv value);

/* One grammar each. json: why the text is not JSON, if it looks like it, else NULL. */
tl_status tl_read_fusion_lines(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                               const tl_json_error *json, tl_fusion_config *out) TL_NODISCARD;
tl_status tl_read_fusion_json(tl_diag *d, tl_arena *a, const char *path, const tl_json *json,
                              tl_fusion_config *out) TL_NODISCARD;

#endif
