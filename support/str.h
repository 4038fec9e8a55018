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

/* Returns a view of a C string; NULL gives an empty view. */
static inline tl_sv tl_sv_from(const char *z) { return (tl_sv){z, z ? strlen(z) : 0}; }
/* Returns true when the bytes are equal. */
static inline bool tl_sv_eq(tl_sv a, tl_sv b) {
  return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
/* Returns true when the bytes equal those of a C string. */
static inline bool tl_sv_is(tl_sv a, const char *z) { return tl_sv_eq(a, tl_sv_from(z)); }
/* Compares bytewise, the shorter one first on a common prefix. Returns < 0, 0 or > 0. */
int tl_sv_compare(tl_sv a, tl_sv b);
/* Returns s without the blanks of C's isspace at both ends. */
tl_sv tl_sv_trim(tl_sv s);
/* Returns the first characters of a text, at most 80 bytes of whole UTF-8 characters, for
 * messages. */
tl_sv tl_sv_shown(tl_sv text);
/* Cuts the part before the first `sep` off *rest and returns it; *rest becomes what follows, with
 * p == NULL when there was no further separator. Loop while rest.p != NULL. */
tl_sv tl_sv_split(tl_sv *rest, char sep);
/* Returns true when s begins with a prefix. */
bool tl_sv_starts_with(tl_sv s, const char *prefix);
/* Returns true when s ends with a suffix. */
bool tl_sv_ends_with(tl_sv s, const char *suffix);

/* Parses a whole decimal integer with optional sign; false on junk or overflow. */
bool tl_parse_i64(tl_sv s, int64_t *out);
/* As tl_parse_i64, without a sign. */
bool tl_parse_u64(tl_sv s, uint64_t *out);
/* Parses "NUMBER[K|M|G|T][iB|B]", units being powers of 1024; false on junk or overflow. */
bool tl_parse_size(tl_sv text, uint64_t *out);
/* Parses a whole decimal floating-point number, "inf", "-inf" or "nan", with '.' as the point. */
bool tl_parse_f64(tl_sv s, double *out);

/* Returns the edit distance with transpositions, limit + 1 when it exceeds `limit`. */
size_t tl_edit_distance(tl_sv a, tl_sv b, size_t limit);

/* Returns the bytes of the UTF-8 sequence that s, which is not empty, begins with. 0 when it is not
 * well-formed: overlong forms, surrogates and code points beyond U+10FFFF are not. */
size_t tl_utf8_length(tl_sv s);

/* Growable bytes, always followed by a NUL. Failure is sticky: check `failed` once at the end. */
typedef struct tl_buf {
  char *p; /* owned, malloc; NULL while empty */
  size_t n;
  size_t cap;
  bool failed; /* memory ran out; contents are incomplete */
  bool fixed;  /* p is the caller's: text beyond cap - 1 bytes fails, and takes no memory */
} tl_buf;

/* Makes an empty buffer. Allocates nothing. */
void tl_buf_init(tl_buf *b);
/* Makes an empty buffer in n > 0 bytes of the caller. */
tl_buf tl_buf_in(char *room, size_t n);
/* Frees the text; the buffer is empty and may be used again. */
void tl_buf_release(tl_buf *b);
/* Empties the buffer and keeps its memory; `failed` is reset. */
void tl_buf_clear(tl_buf *b);
/* Appends n bytes. On lack of memory this and all functions below set `failed` and add nothing. */
void tl_buf_add(tl_buf *b, const void *p, size_t n);
/* Append a view, a C string, a character, an integer in decimal. */
void tl_buf_add_sv(tl_buf *b, tl_sv s);
void tl_buf_add_z(tl_buf *b, const char *z);
void tl_buf_add_char(tl_buf *b, char c);
void tl_buf_add_i64(tl_buf *b, int64_t v);
void tl_buf_add_u64(tl_buf *b, uint64_t v);
/* Append the shortest decimal that reads back to the same float or double. It always has a '.' or
 * an 'e', or is inf or nan. */
void tl_buf_add_f32(tl_buf *b, float v);
void tl_buf_add_f64(tl_buf *b, double v);
/* Appends formatted text. No floating-point conversions: they depend on the locale. */
void tl_buf_printf(tl_buf *b, const char *fmt, ...) TL_PRINTF(2, 3);
/* As tl_buf_printf, with an argument list. */
void tl_buf_vprintf(tl_buf *b, const char *fmt, va_list ap) TL_PRINTF(2, 0);
/* Appends a JSON string; bytes that are not UTF-8 become U+FFFD. */
void tl_buf_add_json(tl_buf *b, tl_sv s);
/* Appends "..." with backslash escapes for quotes, control bytes and invalid UTF-8 (\xHH). */
void tl_buf_add_quoted(tl_buf *b, tl_sv s);
/* Returns a view of the text, valid until the buffer changes. */
static inline tl_sv tl_buf_view(const tl_buf *b) { return (tl_sv){b->p ? b->p : "", b->n}; }

#endif
