/* SPDX-License-Identifier: Apache-2.0 */
/* Typed reading of values that were checked. Internal to frontend/config. */
#ifndef TL_FRONTEND_CONFIG_RUN_CONFIG_READ_H
#define TL_FRONTEND_CONFIG_RUN_CONFIG_READ_H

#include "frontend/config/run_config.h"

/* The first generation of chips counts hccl_timeout in units, up to a limit. */
enum { TL_HCCL_UNIT = 68, TL_HCCL_MOST = 17340 };

/* The value or the default of a key; 0 where there is none. */
bool tl_run_true(const tl_settings *s, tl_option_id id);
int64_t tl_run_int(const tl_settings *s, tl_option_id id); /* of INT, BIT and SIZE */
/* Seconds of hccl_timeout that the chip really waits. */
int64_t tl_run_hccl_timeout(const tl_settings *s);

/* A key's object, parsed. */
typedef struct tl_run_object {
  tl_json json; /* owned */
  tl_option_id id;
  tl_buf text; /* owned; what tl_run_member_text returned last */
} tl_run_object;

/* False when the key has no value, or one that is no object, or memory is out. Close what was
 * opened. */
bool tl_run_object_open(const tl_settings *s, tl_option_id id, tl_run_object *out);
void tl_run_object_close(tl_run_object *o);
/* A member, dashes and underscores being equal; of one given twice the last. NULL: none, or null.
 */
const cJSON *tl_run_member_find_json(const tl_run_object *o, const char *name);
bool tl_run_member_true(tl_run_object *o, const char *name);
/* Normal form of a member of the table, until the next call; NULL when it is not there. */
const char *tl_run_member_text(tl_run_object *o, const char *name);

/* Checks profiling_options: an object, or text that should be the JSON of one. E-OPT-TYPE,
 * E-OPT-RANGE, E-OPT-UNKNOWN. */
tl_status tl_run_check_profiling(tl_diag *d, tl_location where, const cJSON *item) TL_NODISCARD;

/* Members of objects that stand alone, as sessions of the NPU's frameworks have them: enable_dump
 * is that of dump_config. */
enum { TL_N_FLAT_OBJECTS = 4 };
typedef struct tl_run_flats {
  cJSON *object[TL_N_FLAT_OBJECTS];  /* owned; NULL: no member of it */
  tl_location at[TL_N_FLAT_OBJECTS]; /* of the first member */
} tl_run_flats;

/* The member that a name alone stands for; NULL. */
const tl_run_member *tl_run_flat_find(tl_sv name);
/* Adds a value that was checked. */
tl_status tl_run_flat_add(tl_run_flats *f, tl_diag *d, tl_location where,
                          const tl_run_member *member, const cJSON *item) TL_NODISCARD;
/* Makes them part of the objects that were read of the same file. What an object has itself goes
 * first: W-OPT-TWICE. Releases f in any case. */
tl_status tl_run_flats_join(tl_run_flats *f, tl_settings *s, tl_diag *d) TL_NODISCARD;

#endif
