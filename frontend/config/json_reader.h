/* SPDX-License-Identifier: Apache-2.0 */
/* Walking a configuration file in JSON: members of objects in order, of a key given twice the last
 * with a warning, and where everything stands. */
#ifndef TL_FRONTEND_CONFIG_JSON_READER_H
#define TL_FRONTEND_CONFIG_JSON_READER_H

#include "frontend/config/json.h"
#include "support/arena.h"
#include "support/diag.h"

typedef struct tl_json_reader {
  tl_diag *diag;
  tl_arena *arena;  /* for what is made of the file */
  tl_arena scratch; /* owned; lists of members */
  const char *path;
  const tl_json *json;
  const char *repeated; /* code of the warning about keys given twice */
  uint32_t warned;
  void *out; /* what the file describes; the callbacks know its type */
} tl_json_reader;

typedef struct tl_json_member {
  const cJSON *item;
  tl_sv name; /* without blanks around it */
  uint32_t number;
  bool dropped; /* a later one of the same name counts */
} tl_json_member;

typedef tl_status (*tl_json_member_fn)(tl_json_reader *r, const tl_json_member *m, void *user);

void tl_json_reader_init(tl_json_reader *r, tl_diag *d, tl_arena *arena, const char *path,
                         const tl_json *json, const char *repeated);
/* Warns about the keys given twice that were not shown, and releases what r owns. */
void tl_json_reader_finish(tl_json_reader *r);

/* Location of a value for a diagnostic: of its key where there is one. */
tl_location tl_json_at(const tl_json_reader *r, const cJSON *item);
/* Calls fn for every member of an object that counts, in order, until one fails. */
tl_status tl_json_members(tl_json_reader *r, const cJSON *object, tl_json_member_fn fn,
                          void *user) TL_NODISCARD;

#endif
