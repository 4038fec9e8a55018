/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes entries of attribute maps as descs and models have them: a key and one plain value. */
#include "backend/air/air.h"

/* Offsets of the messages that an entry nests: itself, and its value. */
typedef struct map_entry {
  size_t all;
  size_t value;
} map_entry;

static map_entry open_entry(tl_encoder *b, unsigned field, tl_sv key) {
  map_entry e = {.all = tl_encode_open(b, field)};
  tl_encode_bytes(b, 1, key);
  e.value = tl_encode_open(b, 2);
  return e;
}

static void close_entry(tl_encoder *b, map_entry e) {
  tl_encode_close(b, e.value);
  tl_encode_close(b, e.all);
}

void tl_air_int_entry(tl_encoder *b, unsigned field, const char *key, int64_t v) {
  map_entry e = open_entry(b, field, tl_sv_from(key));
  tl_encode_int(b, TL_ATTRDEF_I, v);
  close_entry(b, e);
}

void tl_air_bool_entry(tl_encoder *b, unsigned field, const char *key, bool v) {
  map_entry e = open_entry(b, field, tl_sv_from(key));
  tl_encode_int(b, TL_ATTRDEF_B, v);
  close_entry(b, e);
}

void tl_air_string_entry(tl_encoder *b, unsigned field, tl_sv key, tl_sv v) {
  map_entry e = open_entry(b, field, key);
  tl_encode_bytes(b, TL_ATTRDEF_S, v);
  close_entry(b, e);
}
