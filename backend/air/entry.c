/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of attribute maps, as descs and models have them: a key and one plain value. */
#include "backend/air/air.h"

void tl_air_int_entry(tl_encoder *b, unsigned field, const char *key, int64_t v) {
  size_t entry = tl_encode_open(b, field);
  tl_encode_z(b, 1, key);
  size_t value = tl_encode_open(b, 2);
  tl_encode_int(b, TL_ATTRDEF_I, v);
  tl_encode_close(b, value);
  tl_encode_close(b, entry);
}

void tl_air_string_entry(tl_encoder *b, unsigned field, tl_sv key, tl_sv v) {
  size_t entry = tl_encode_open(b, field);
  tl_encode_bytes(b, 1, key);
  size_t value = tl_encode_open(b, 2);
  tl_encode_bytes(b, TL_ATTRDEF_S, v);
  tl_encode_close(b, value);
  tl_encode_close(b, entry);
}
