/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text, one bit of state for each open level. */
#include "support/json_writer.h"

enum { MAX_DEPTH = 64 }; /* bits of tl_json_writer's words */

tl_json_writer tl_json_to(tl_buf *out) { return (tl_json_writer){.out = out}; }

tl_json_writer tl_json_compact(tl_buf *out) {
  return (tl_json_writer){.out = out, .compact = true};
}

void tl_json_line(tl_json_writer *w, uint8_t indent) {
  w->own_line = true;
  w->indent = indent;
}

/* What stands before an element or the end of a level: a line of its own, a blank or nothing. */
static void separate(tl_json_writer *w, bool blank) {
  if (w->own_line) {
    tl_buf_add_char(w->out, '\n');
    for (uint8_t i = 0; i < w->indent; i++)
      tl_buf_add_char(w->out, ' ');
  } else if (blank && !w->compact) {
    tl_buf_add_char(w->out, ' ');
  }
  w->own_line = false;
}

/* Before a key, and before a value that has none. */
static void begin_element(tl_json_writer *w) {
  bool more = w->depth && w->filled & 1;
  if (w->valued) {
    w->valued = false;
    return;
  }
  if (more)
    tl_buf_add_char(w->out, ',');
  separate(w, more);
  w->filled |= 1;
}

static void begin_level(tl_json_writer *w, bool array) {
  begin_element(w);
  tl_buf_add_char(w->out, array ? '[' : '{');
  w->out->failed = w->out->failed || w->depth == MAX_DEPTH;
  w->depth = w->depth == MAX_DEPTH ? MAX_DEPTH : w->depth + 1;
  w->arrays = w->arrays << 1 | array;
  w->filled <<= 1;
}

void tl_put_object(tl_json_writer *w) { begin_level(w, false); }

void tl_put_array(tl_json_writer *w) { begin_level(w, true); }

void tl_put_end(tl_json_writer *w) {
  separate(w, false);
  tl_buf_add_char(w->out, w->arrays & 1 ? ']' : '}');
  w->arrays >>= 1;
  w->filled >>= 1;
  w->depth--;
}

void tl_json_finish(tl_json_writer *w) {
  while (w->depth)
    tl_put_end(w);
  tl_buf_add_char(w->out, '\n');
}

void tl_put_key_sv(tl_json_writer *w, tl_sv key) {
  begin_element(w);
  tl_buf_add_json(w->out, key);
  tl_buf_add_z(w->out, w->compact ? ":" : ": ");
  w->valued = true;
}

void tl_put_key(tl_json_writer *w, const char *key) { tl_put_key_sv(w, tl_sv_from(key)); }

void tl_put_made(tl_json_writer *w, tl_sv json) {
  begin_element(w);
  tl_buf_add_sv(w->out, json);
}

void tl_put_sv(tl_json_writer *w, tl_sv s) {
  begin_element(w);
  tl_buf_add_json(w->out, s);
}

void tl_put_z(tl_json_writer *w, const char *z) { tl_put_sv(w, tl_sv_from(z)); }

void tl_put_u64(tl_json_writer *w, uint64_t v) {
  begin_element(w);
  tl_buf_add_u64(w->out, v);
}

void tl_put_i64(tl_json_writer *w, int64_t v) {
  begin_element(w);
  tl_buf_add_i64(w->out, v);
}

void tl_put_bool(tl_json_writer *w, bool v) { tl_put_made(w, v ? TL_SV("true") : TL_SV("false")); }

void tl_put_null(tl_json_writer *w) { tl_put_made(w, TL_SV("null")); }

void tl_put_f32(tl_json_writer *w, float v) {
  if (v - v != 0) {
    tl_put_null(w);
    return;
  }
  begin_element(w);
  tl_buf_add_f32(w->out, v);
}

void tl_put_f64(tl_json_writer *w, double v) {
  if (v - v != 0) {
    tl_put_null(w);
    return;
  }
  begin_element(w);
  tl_buf_add_f64(w->out, v);
}

void tl_buf_add_fixed(tl_buf *out, double v, int digits) {
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

void tl_put_fixed(tl_json_writer *w, double v, int digits) {
  begin_element(w);
  tl_buf_add_fixed(w->out, v, digits);
}

void tl_member_sv(tl_json_writer *w, const char *key, tl_sv s) {
  tl_put_key(w, key);
  tl_put_sv(w, s);
}

void tl_member_z(tl_json_writer *w, const char *key, const char *z) {
  tl_member_sv(w, key, tl_sv_from(z));
}

void tl_member_u64(tl_json_writer *w, const char *key, uint64_t v) {
  tl_put_key(w, key);
  tl_put_u64(w, v);
}

void tl_member_bool(tl_json_writer *w, const char *key, bool v) {
  tl_put_key(w, key);
  tl_put_bool(w, v);
}

void tl_member_f64(tl_json_writer *w, const char *key, double v) {
  tl_put_key(w, key);
  tl_put_f64(w, v);
}

void tl_member_fixed(tl_json_writer *w, const char *key, double v, int digits) {
  tl_put_key(w, key);
  tl_put_fixed(w, v, digits);
}

void tl_member_counts(tl_json_writer *w, const tl_count_member *counts, size_t n) {
  for (size_t i = 0; i < n; i++)
    tl_member_u64(w, counts[i].key, counts[i].value);
}
