/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON: the one place that knows braces, brackets, commas, colons and escapes. Own code and
 * not cJSON, which reads our input: cJSON builds a tree of allocated nodes before it prints, keeps
 * every number as a double (a size above 2^53 would be rounded), and prints in two layouts only.
 * This writer allocates nothing beside the buffer, which a report of a million rows needs. */
#ifndef TL_SUPPORT_JSON_WRITER_H
#define TL_SUPPORT_JSON_WRITER_H

#include "support/str.h"

/* A text that is being written. Begin with tl_json_to or tl_json_compact; nothing to release. */
typedef struct tl_json_writer {
  tl_buf *out;     /* borrowed; its `failed` flag tells of lack of memory and of too deep nesting */
  uint64_t arrays; /* bit of each open level: it is an array, not an object; the innermost lowest */
  uint64_t filled; /* bit of each open level: it has an element */
  uint8_t depth;   /* open levels, at most 64 */
  bool compact;    /* no blank behind comma and colon */
  bool valued;     /* a key was written, its value follows */
  bool own_line;   /* the next element, or the end of the level, begins a line */
  uint8_t indent;  /* blanks before it */
} tl_json_writer;

/* Makes a writer that adds to a buffer. ", " and ": " stand between its parts. */
tl_json_writer tl_json_to(tl_buf *out);
/* As tl_json_to, with "," and ":". */
tl_json_writer tl_json_compact(tl_buf *out);

/* The next element, key or end begins a line with that many blanks. */
void tl_json_line(tl_json_writer *w, uint8_t indent);
/* Begin an object or an array as the next value. */
void tl_put_object(tl_json_writer *w);
void tl_put_array(tl_json_writer *w);
/* Ends the innermost object or array. */
void tl_put_end(tl_json_writer *w);
/* Ends all open levels and the line. */
void tl_json_finish(tl_json_writer *w);
/* Adds the key of the value that follows. Call it in objects only. */
void tl_put_key(tl_json_writer *w, const char *key);
void tl_put_key_sv(tl_json_writer *w, tl_sv key);
/* Add a string. Control characters are escaped; bytes that are not UTF-8 become U+FFFD. */
void tl_put_sv(tl_json_writer *w, tl_sv s);
void tl_put_z(tl_json_writer *w, const char *z);
/* Add a number, true or false, null. */
void tl_put_u64(tl_json_writer *w, uint64_t v);
void tl_put_i64(tl_json_writer *w, int64_t v);
void tl_put_bool(tl_json_writer *w, bool v);
void tl_put_null(tl_json_writer *w);
/* Add the shortest number that reads back to v, null when it is not finite. */
void tl_put_f32(tl_json_writer *w, float v);
void tl_put_f64(tl_json_writer *w, double v);
/* Adds a number with that many digits (at most 6) behind the point, null when it is not finite or
 * beyond 1e12. */
void tl_put_fixed(tl_json_writer *w, double v, int digits);
/* Adds, as one value, what another writer made. */
void tl_put_made(tl_json_writer *w, tl_sv json);

/* A key and its value. */
void tl_member_sv(tl_json_writer *w, const char *key, tl_sv s);
void tl_member_z(tl_json_writer *w, const char *key, const char *z);
void tl_member_u64(tl_json_writer *w, const char *key, uint64_t v);
void tl_member_bool(tl_json_writer *w, const char *key, bool v);
void tl_member_f64(tl_json_writer *w, const char *key, double v);
void tl_member_fixed(tl_json_writer *w, const char *key, double v, int digits);

/* Several members that are counts. */
typedef struct tl_count_member {
  const char *key;
  uint64_t value;
} tl_count_member;
void tl_member_counts(tl_json_writer *w, const tl_count_member *counts, size_t n);

/* Adds a number as tl_put_fixed does, to a text that is not JSON. */
void tl_buf_add_fixed(tl_buf *out, double v, int digits);

#endif
