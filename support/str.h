/* SPDX-License-Identifier: Apache-2.0 */
/* String views, a growable text buffer, and number conversion that ignores the locale. */
#ifndef TL_SUPPORT_STR_H
#define TL_SUPPORT_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "support/status.h"

/* Borrowed bytes, not NUL-terminated, may contain any byte. */
typedef struct tl_sv {
  const char *p;
  size_t n;
} tl_sv;

#define TL_SV(literal) ((tl_sv){(literal), sizeof(literal) - 1})
/* Arguments for a "%.*s" conversion. */
#define TL_SV_ARG(sv) (int)(sv).n, (sv).p

static inline tl_sv tl_sv_from(const char *z) { return (tl_sv){z, z ? strlen(z) : 0}; }
static inline bool tl_sv_eq(tl_sv a, tl_sv b) {
  return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
static inline bool tl_sv_is(tl_sv a, const char *z) { return tl_sv_eq(a, tl_sv_from(z)); }
/* Bytewise order, shorter first on a common prefix; <0, 0, >0. */
int tl_sv_compare(tl_sv a, tl_sv b);
/* Strips blanks at both ends: those of C's isspace. */
tl_sv tl_sv_trim(tl_sv s);
/* The first characters of a text, whole ones, for messages. */
tl_sv tl_sv_shown(tl_sv text);
/* Cuts the part before the first `sep` off *rest and returns it; *rest becomes what follows, with
 * p == NULL when there was no further separator. Loop while rest.p != NULL. */
tl_sv tl_sv_split(tl_sv *rest, char sep);
bool tl_sv_starts_with(tl_sv s, const char *prefix);
bool tl_sv_ends_with(tl_sv s, const char *suffix);

/* Parses a whole decimal integer with optional sign; false on junk or overflow. */
bool tl_parse_i64(tl_sv s, int64_t *out);
bool tl_parse_u64(tl_sv s, uint64_t *out);
/* Parses "NUMBER[K|M|G|T][iB|B]", units being powers of 1024; false on junk or overflow. */
bool tl_parse_size(tl_sv text, uint64_t *out);
/* Parses a whole decimal floating-point number, "inf", "-inf" or "nan", with '.' as the point. */
bool tl_parse_f64(tl_sv s, double *out);

/* Edit distance with transpositions, bounded by `limit` (returns limit + 1 beyond it). */
size_t tl_edit_distance(tl_sv a, tl_sv b, size_t limit);

/* Length in bytes of the UTF-8 sequence that s, which is not empty, starts with; 0 when it is none:
 * overlong forms, surrogates and code points beyond U+10FFFF are none. */
size_t tl_utf8_length(tl_sv s);

/* Growable bytes, always followed by a NUL. Failure is sticky: check `failed` once at the end. */
typedef struct tl_buf {
  char *p; /* owned, malloc; NULL while empty */
  size_t n;
  size_t cap;
  bool failed; /* memory ran out; contents are incomplete */
} tl_buf;

void tl_buf_init(tl_buf *b);
void tl_buf_release(tl_buf *b);
void tl_buf_clear(tl_buf *b);
void tl_buf_add(tl_buf *b, const void *p, size_t n);
void tl_buf_add_sv(tl_buf *b, tl_sv s);
void tl_buf_add_z(tl_buf *b, const char *z);
void tl_buf_add_char(tl_buf *b, char c);
void tl_buf_add_i64(tl_buf *b, int64_t v);
void tl_buf_add_u64(tl_buf *b, uint64_t v);
/* Shortest decimal that reads back to the same float/double; always has '.', 'e', or is inf/nan. */
void tl_buf_add_f32(tl_buf *b, float v);
void tl_buf_add_f64(tl_buf *b, double v);
/* Printf without floating-point conversions (they depend on the locale). */
void tl_buf_printf(tl_buf *b, const char *fmt, ...) TL_PRINTF(2, 3);
void tl_buf_vprintf(tl_buf *b, const char *fmt, va_list ap) TL_PRINTF(2, 0);
/* Adds a JSON string; bytes that are not UTF-8 become U+FFFD. */
void tl_buf_add_json(tl_buf *b, tl_sv s);
/* Adds "..." with backslash escapes for quotes, control bytes and invalid UTF-8 (\xHH). */
void tl_buf_add_quoted(tl_buf *b, tl_sv s);
static inline tl_sv tl_buf_view(const tl_buf *b) { return (tl_sv){b->p ? b->p : "", b->n}; }

#endif
