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

#endif
