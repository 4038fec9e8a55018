/* SPDX-License-Identifier: Apache-2.0 */
/* Strict JSON for configuration files. cJSON builds the tree; it takes more than JSON and knows no
 * lines, so a scanner goes over the text first: it checks the grammar, UTF-8 and depth, and notes
 * where every value stands. */
#ifndef TL_FRONTEND_CONFIG_JSON_H
#define TL_FRONTEND_CONFIG_JSON_H

#include <cjson/cJSON.h>

#include "support/str.h"
#include "support/vec.h"

/* A place in a text; both count from 1, columns in bytes. */
typedef struct tl_place {
  uint32_t line;
  uint32_t column;
} tl_place;

TL_VEC(tl_place_vec, tl_place);

typedef struct tl_json {
  cJSON *root;         /* owned */
  tl_place_vec places; /* of values in document order: of the key where there is one */
} tl_json;

/* Why a text is not JSON, and where. */
typedef struct tl_json_error {
  const char *problem; /* static */
  tl_place place;
} tl_json_error;

/* Parses a text; a byte order mark at its start is skipped. TL_OK; TL_INVALID_ARGUMENT with *error
 * filled and nothing reported; TL_NO_MEMORY. On success release *out. */
tl_status tl_json_parse(tl_sv text, tl_json *out, tl_json_error *error) TL_NODISCARD;
/* The same, but comments (from "//" to the end of the line, and between "/" "*" and "*" "/") count
 * as blanks. */
tl_status tl_json_parse_commented(tl_sv text, tl_json *out, tl_json_error *error) TL_NODISCARD;
void tl_json_release(tl_json *json);

/* Place of a value's key, or of the value where it has none. */
tl_place tl_json_place(const tl_json *json, const cJSON *item);
/* "an object", "a string" ... for messages. */
const char *tl_json_kind(const cJSON *item);

/* Scans without building anything; places may be NULL. */
bool tl_json_scan(tl_sv text, tl_place_vec *places, tl_json_error *error);

#endif
