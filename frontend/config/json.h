/* SPDX-License-Identifier: Apache-2.0 */
/* Parses strict JSON of configuration files into a tree whose values know their places.
 * cJSON builds the tree. It accepts more than JSON and keeps no line numbers, so a scanner goes
 * over the text first: it checks grammar, UTF-8 and depth, and records the place of every value. */
#ifndef TL_FRONTEND_CONFIG_JSON_H
#define TL_FRONTEND_CONFIG_JSON_H

#include <cjson/cJSON.h>

#include "frontend/config/json_scan.h"

/* A parsed text. */
typedef struct tl_json {
  cJSON *root;         /* owned */
  tl_place_vec places; /* by value in document order: place of its key, or of the value itself */
} tl_json;

/* Parses a text; skips a byte order mark at its start. TL_INVALID_ARGUMENT: *error says why,
 * nothing is reported. TL_NO_MEMORY. On success the caller releases *out. */
tl_status tl_json_parse(tl_sv text, tl_json *out, tl_json_error *error) TL_NODISCARD;
/* Parses a text likewise, but allows comments: from "//" to the end of the line, and between "/"
 * "*" and "*" "/". */
tl_status tl_json_parse_commented(tl_sv text, tl_json *out, tl_json_error *error) TL_NODISCARD;
/* Releases what *json owns; a second call does nothing. */
void tl_json_release(tl_json *json);

/* Returns the place of a value's key, or of the value if it has no key. */
tl_place tl_json_place(const tl_json *json, const cJSON *item);
/* Returns the kind of a value for messages: "an object", "a string" ... */
const char *tl_json_kind(const cJSON *item);

#endif
