/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON into a buffer; the callers place braces and commas. */
#ifndef TL_TOOLS_CLI_JSON_H
#define TL_TOOLS_CLI_JSON_H

#include "support/str.h"

/* Adds a string literal. Bytes that are not UTF-8 become U+FFFD. */
void tl_json_string(tl_buf *out, tl_sv s);
/* Adds "key": ; first says whether a comma must come before, and becomes false. */
void tl_json_key(tl_buf *out, const char *key, bool *first);
/* Adds "key": number for each of them. */
typedef struct tl_json_count {
  const char *key;
  uint64_t value;
} tl_json_count;
void tl_json_counts(tl_buf *out, const tl_json_count *counts, size_t n, bool *first);
/* Adds a number, null when it is not finite. */
void tl_json_number(tl_buf *out, double v);
/* Adds a number with that many digits (at most 6) behind the point, null when it is not finite or
 * beyond 1e12. */
void tl_json_fixed(tl_buf *out, double v, int digits);

#endif
