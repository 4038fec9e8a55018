/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text. */
#include "tools/cli/json.h"

void tl_json_string(tl_buf *out, tl_sv s) { tl_buf_add_json(out, s); }

void tl_json_key(tl_buf *out, const char *key, bool *first) {
  if (!*first)
    tl_buf_add_z(out, ", ");
  *first = false;
  tl_json_string(out, tl_sv_from(key));
  tl_buf_add_z(out, ": ");
}

void tl_json_number(tl_buf *out, double v) {
  if (v - v != 0)
    tl_buf_add_z(out, "null");
  else
    tl_buf_add_f64(out, v);
}

void tl_json_fixed(tl_buf *out, double v, int digits) {
  int64_t unit = 1;
  for (int i = 0; i < digits; i++)
    unit *= 10;
  if (!(v > -1e12 && v < 1e12)) {
    tl_buf_add_z(out, "null");
    return;
  }
  int64_t n = (int64_t)(v * (double)unit + (v < 0 ? -0.5 : 0.5));
  if (n < 0)
    tl_buf_add_char(out, '-');
  uint64_t size = n < 0 ? (uint64_t)-n : (uint64_t)n;
  tl_buf_add_u64(out, size / (uint64_t)unit);
  if (!digits)
    return;
  tl_buf_add_char(out, '.');
  for (int64_t at = unit / 10; at; at /= 10)
    tl_buf_add_char(out, (char)('0' + size / (uint64_t)at % 10));
}

void tl_json_counts(tl_buf *out, const tl_json_count *counts, size_t n, bool *first) {
  for (size_t i = 0; i < n; i++) {
    tl_json_key(out, counts[i].key, first);
    tl_buf_add_u64(out, counts[i].value);
  }
}
