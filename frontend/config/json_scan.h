/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that a text is JSON, and notes the place of each value. */
#ifndef TL_FRONTEND_CONFIG_JSON_SCAN_H
#define TL_FRONTEND_CONFIG_JSON_SCAN_H

#include "support/str.h"
#include "support/vec.h"

/* A place in a text; both count from 1, columns in bytes. */
typedef struct tl_place {
  uint32_t line;
  uint32_t column;
} tl_place;

TL_VEC(tl_place_vec, tl_place);

/* Why a text is not JSON, and where. */
typedef struct tl_json_error {
  const char *problem; /* static */
  tl_place place;
} tl_json_error;

/* Checks a text without building a tree; false with *error filled. places: may be NULL. O(n). */
bool tl_json_scan(tl_sv text, tl_place_vec *places, tl_json_error *error);

#endif
