/* SPDX-License-Identifier: Apache-2.0 */
/* Collects entries about fusion passes while a switch is read. For the readers of fusion switches.
 */
#ifndef TL_FRONTEND_CONFIG_FUSION_DRAFT_H
#define TL_FRONTEND_CONFIG_FUSION_DRAFT_H

#include "frontend/config/json.h"
#include "ir/options/fusion_config.h"
#include "support/arena.h"

TL_VEC(tl_fusion_entry_vec, tl_fusion_entry);

/* A list of entries in the order in which they were read. */
typedef struct tl_fusion_draft {
  tl_fusion_entry_vec entries; /* owned, heap */
  uint32_t number;             /* entries written so far */
} tl_fusion_draft;

/* What happens to two entries for one pass. */
typedef enum tl_fusion_repeat {
  TL_REPEAT_LAST_COUNTS,
  TL_REPEAT_FAILS,      /* an error, also under two names of the pass */
  TL_REPEAT_NAME_FAILS, /* an error under one name; under two names only if the values differ */
  TL_REPEAT_IF_UNEQUAL_FAILS
} tl_fusion_repeat;

/* Adds an entry for the pass of this name, or for every pass that it is an alias of. Copies the
 * name into the arena. A switch that stands for no pass adds nothing. TL_NO_MEMORY, unreported. */
tl_status tl_fusion_draft_add(tl_fusion_draft *draft, tl_arena *a, tl_sv name, int value,
                              tl_location at) TL_NODISCARD;
/* Sorts the entries into a list in the arena. code: of the error about a repeated entry. Releases
 * the draft in every case. TL_INVALID_ARGUMENT, TL_NO_MEMORY. */
tl_status tl_fusion_draft_finish(tl_fusion_draft *draft, tl_diag *d, tl_arena *a,
                                 tl_fusion_repeat repeat, const char *code,
                                 tl_fusion_list *out) TL_NODISCARD;
/* Releases a draft that is not finished. */
void tl_fusion_draft_release(tl_fusion_draft *draft);

/* Returns 1 for "on", 0 for "off", and -1 for anything else. */
int tl_fusion_on_off(tl_sv value);

/* Read a switch file: in the line format, or in the JSON format. json in the first: why the text is
 * not JSON, if it looks like JSON; else NULL. */
tl_status tl_read_fusion_lines(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                               const tl_json_error *json, tl_fusion_config *out) TL_NODISCARD;
tl_status tl_read_fusion_json(tl_diag *d, tl_arena *a, const char *path, const tl_json *json,
                              tl_fusion_config *out) TL_NODISCARD;

#endif
