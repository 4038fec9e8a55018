/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a configuration file in JSON, member by member, with locations for diagnostics.
 * Of a key that is given twice the last counts, with a warning. */
#ifndef TL_FRONTEND_CONFIG_JSON_READER_H
#define TL_FRONTEND_CONFIG_JSON_READER_H

#include "frontend/config/json.h"
#include "support/arena.h"
#include "support/diag.h"

/* State of reading one file. */
typedef struct tl_json_reader {
  tl_diag *diag;
  tl_arena *arena;  /* borrowed; holds the results */
  tl_arena scratch; /* owned; lists of members */
  const char *path;
  const tl_json *json;
  const char *repeated; /* code of the warning about keys given twice */
  uint32_t warned;
  void *out; /* what the file describes; the callbacks know its type */
} tl_json_reader;

/* A member of an object. */
typedef struct tl_json_member {
  const cJSON *item;
  tl_sv name; /* without blanks around it */
  uint32_t number;
  bool dropped; /* a later member of the same name counts instead */
} tl_json_member;

/* Reads one member of an object; any status but TL_OK ends the walk. */
typedef tl_status (*tl_json_member_fn)(tl_json_reader *r, const tl_json_member *m, void *user);

/* Prepares reading. repeated: code of the warning about keys given twice. */
void tl_json_reader_init(tl_json_reader *r, tl_diag *d, tl_arena *arena, const char *path,
                         const tl_json *json, const char *repeated);
/* Warns about repeated keys beyond those that were shown, and releases what r owns. */
void tl_json_reader_finish(tl_json_reader *r);

/* Returns the location of a value's key for a diagnostic, or of the value if it has no key. */
tl_location tl_json_at(const tl_json_reader *r, const cJSON *item);
/* Calls fn for every member of an object that counts, in order, until one fails. */
tl_status tl_json_members(tl_json_reader *r, const cJSON *object, tl_json_member_fn fn,
                          void *user) TL_NODISCARD;

#endif
