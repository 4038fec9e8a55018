/* SPDX-License-Identifier: Apache-2.0 */
/* Parses JSON text into a tree whose values know their places. */
#include "frontend/config/json.h"

#include <math.h>
#include <stdlib.h>

#include "support/memory.h"

/* Numbers the values in document order, in the order in which the scanner recorded their places.
 * The number is kept in valueint: cJSON itself uses that member only for numbers, and readers here
 * use valuedouble. *huge becomes the first number that no double holds. The scanner bounds the
 * depth of this recursion. */
static int number_values(cJSON *item, int next, const cJSON **huge) {
  item->valueint = next++;
  if (!*huge && cJSON_IsNumber(item) && !isfinite(item->valuedouble))
    *huge = item;
  for (cJSON *child = item->child; child; child = child->next)
    next = number_values(child, next, huge);
  return next;
}

tl_status tl_json_parse(tl_sv text, tl_json *out, tl_json_error *error) {
  *out = (tl_json){0};
  if (!tl_json_scan(text, &out->places, error)) {
    bool memory = strcmp(error->problem, "out of memory") == 0;
    tl_json_release(out);
    return memory ? TL_NO_MEMORY : TL_INVALID_ARGUMENT;
  }
  /* cJSON skips a byte order mark only if the text has enough bytes behind it, so it is removed
   * here. */
  tl_sv plain = tl_sv_starts_with(text, "\xef\xbb\xbf") ? (tl_sv){text.p + 3, text.n - 3} : text;
  out->root = tl_memory_seen(cJSON_ParseWithLength(plain.p, plain.n), 0);
  if (!out->root) { /* what the scanner accepts is JSON: memory ran out */
    tl_json_release(out);
    return TL_NO_MEMORY;
  }
  const cJSON *huge = NULL;
  (void)number_values(out->root, 0, &huge);
  if (!huge)
    return TL_OK;
  *error = (tl_json_error){"a number that is too large", tl_json_place(out, huge)};
  tl_json_release(out);
  return TL_INVALID_ARGUMENT;
}

/* Returns the offset behind the comment that starts at `from`, or 0 if the comment does not end.
 * The '*' that opens a comment does not count for its end. */
static size_t behind_comment(const char *text, size_t from, size_t n) {
  bool line = text[from + 1] == '/';
  for (size_t i = from + 2; i < n; i++) {
    if (line ? text[i] == '\n' : text[i] == '/' && text[i - 1] == '*' && i > from + 2)
      return line ? i : i + 1;
  }
  return line ? n : 0;
}

/* Writes blanks over comments. Line feeds stay, so places in messages stay true. A comment that
 * does not end stays, and the scanner reports it. */
static void blank_comments(char *text, size_t n) {
  bool in_string = false;
  for (size_t i = 0; i + 1 < n; i++) {
    if (in_string && text[i] == '\\')
      i++;
    else if (text[i] == '"')
      in_string = !in_string;
    if (in_string || text[i] != '/' || (text[i + 1] != '/' && text[i + 1] != '*'))
      continue;
    size_t end = behind_comment(text, i, n);
    if (!end)
      return;
    for (; i < end; i++)
      text[i] = text[i] == '\n' ? '\n' : ' ';
    i--; /* the loop steps over the byte behind it */
  }
}

tl_status tl_json_parse_commented(tl_sv text, tl_json *out, tl_json_error *error) {
  *out = (tl_json){0};
  char *copy = tl_memory_seen(malloc(text.n ? text.n : 1), text.n);
  if (!copy)
    return TL_NO_MEMORY;
  memcpy(copy, text.n ? text.p : "", text.n);
  blank_comments(copy, text.n);
  tl_status status = tl_json_parse((tl_sv){copy, text.n}, out, error);
  free(copy);
  return status;
}

void tl_json_release(tl_json *json) {
  cJSON_Delete(json->root);
  tl_place_vec_release(&json->places);
  json->root = NULL;
}

tl_place tl_json_place(const tl_json *json, const cJSON *item) {
  return json->places.at[item->valueint];
}

const char *tl_json_kind(const cJSON *item) {
  if (cJSON_IsObject(item))
    return "an object";
  if (cJSON_IsArray(item))
    return "an array";
  if (cJSON_IsString(item))
    return "a string";
  if (cJSON_IsNumber(item))
    return "a number";
  if (cJSON_IsBool(item))
    return "a truth value";
  return "null";
}
