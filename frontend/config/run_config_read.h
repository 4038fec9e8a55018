/* SPDX-License-Identifier: Apache-2.0 */
/* Reads checked values of a run configuration as typed values. For files of this room. */
#ifndef TL_FRONTEND_CONFIG_RUN_CONFIG_READ_H
#define TL_FRONTEND_CONFIG_RUN_CONFIG_READ_H

#include "frontend/config/run_config.h"

/* The first generation of chips counts hccl_timeout in units, up to a limit. */
enum { TL_HCCL_UNIT = 68, TL_HCCL_MOST = 17340 };

/* Return the value of a key, else its default, else 0. */
bool tl_run_true(const tl_settings *s, tl_option_id id);
int64_t tl_run_int(const tl_settings *s, tl_option_id id); /* of INT, BIT and SIZE */
/* Returns the seconds of hccl_timeout that the chip really waits. */
int64_t tl_run_hccl_timeout(const tl_settings *s);

/* The parsed object of a key. */
typedef struct tl_run_object {
  tl_json json; /* owned */
  tl_option_id id;
  tl_buf text; /* owned; what tl_run_member_text returned last */
} tl_run_object;

/* Parses the object of a key; false if the key has no value, or no object, or memory is out. The
 * caller closes it after success. */
bool tl_run_object_open(const tl_settings *s, tl_option_id id, tl_run_object *out);
/* Releases an object that was opened. */
void tl_run_object_close(tl_run_object *o);
/* Finds a member; dashes and underscores are equal. Of a member given twice the last counts. NULL
 * if there is none, or if its value is null. */
const cJSON *tl_run_member_find_json(const tl_run_object *o, const char *name);
/* Returns true if a member is there and its value is true or 1. */
bool tl_run_member_true(tl_run_object *o, const char *name);
/* Returns the normal form of a member of the table, valid until the next call; NULL if it is
 * absent. */
const char *tl_run_member_text(tl_run_object *o, const char *name);

/* Checks profiling_options: an object, or text that should be the JSON of one. E-OPT-TYPE,
 * E-OPT-RANGE, E-OPT-UNKNOWN. */
tl_status tl_run_check_profiling(tl_diag *d, tl_location where, const cJSON *item) TL_NODISCARD;

/* Members of objects that are written without their object, as sessions of the NPU's frameworks do:
 * enable_dump means the member of dump_config. */
enum { TL_N_FLAT_OBJECTS = 4 };
/* The members of one file that stand alone, by the key of their object. */
typedef struct tl_run_flats {
  cJSON *object[TL_N_FLAT_OBJECTS];  /* owned; NULL: no member of it */
  tl_location at[TL_N_FLAT_OBJECTS]; /* of the first member */
} tl_run_flats;

/* Returns the member that such a name stands for, NULL if there is none. */
const tl_run_member *tl_run_flat_find(tl_sv name);
/* Adds a checked value. TL_NO_MEMORY. */
tl_status tl_run_flat_add(tl_run_flats *f, tl_diag *d, tl_location where,
                          const tl_run_member *member, const cJSON *item) TL_NODISCARD;
/* Merges the members into the objects of the same file. A member that the object has itself wins
 * (W-OPT-TWICE). Releases f in any case. */
tl_status tl_run_flats_join(tl_run_flats *f, tl_settings *s, tl_diag *d) TL_NODISCARD;

#endif
