/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text. */
#include "tools/json.h"

/* Length of the UTF-8 sequence at s, 0 when it is not valid. */
static size_t utf8_length(tl_sv s) {
  unsigned char c = (unsigned char)s.p[0];
  size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : (c & 0xf0) == 0xe0 ? 3 : 0;
  if (c >= 0xf0 && c < 0xf5)
    n = 4;
  if (n == 0 || n > s.n)
    return 0;
  for (size_t i = 1; i < n; i++) {
    if (((unsigned char)s.p[i] & 0xc0) != 0x80)
      return 0;
  }
  unsigned char d = n > 1 ? (unsigned char)s.p[1] : 0;
  bool bad = (c == 0xe0 && d < 0xa0) || (c == 0xed && d >= 0xa0) || (c == 0xf0 && d < 0x90) ||
             (c == 0xf4 && d >= 0x90);
  return bad ? 0 : n;
}

void tl_json_string(tl_buf *out, tl_sv s) {
  tl_buf_add_char(out, '"');
  while (s.n) {
    size_t n = utf8_length(s);
    unsigned char c = (unsigned char)s.p[0];
    if (n == 0)
      tl_buf_add_z(out, "\\ufffd");
    else if (c == '"' || c == '\\')
      tl_buf_printf(out, "\\%c", c);
    else if (c < 0x20 || c == 0x7f)
      tl_buf_printf(out, "\\u%04x", c);
    else
      tl_buf_add(out, s.p, n);
    n = n ? n : 1;
    s = (tl_sv){s.p + n, s.n - n};
  }
  tl_buf_add_char(out, '"');
}

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
