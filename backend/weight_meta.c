/* SPDX-License-Identifier: Apache-2.0 */
/* Prints weight/meta.json (weight_meta.h): an object whose members stand on a line each. */
#include "backend/weight_meta.h"

#include <stdlib.h>

#include "support/json_writer.h"

/* KEY_LENGTH: blanks, quotes and hash, by which lines are sorted and told apart. */
enum { KEY_LENGTH = 2 + 1 + 64 + 1 };

TL_VEC(line_vec, tl_sv);

/* Adds the members of an object, without the commas between them. */
static bool add_members(line_vec *lines, tl_sv text) {
  while (text.n) {
    tl_sv line = tl_sv_split(&text, '\n');
    if (line.n <= KEY_LENGTH)
      continue; /* a brace */
    line.n -= line.p[line.n - 1] == ',';
    if (!line_vec_push(lines, line))
      return false;
  }
  return true;
}

static void print_own(const tl_weight_place_vec *places, tl_buf *out) {
  tl_json_writer w = tl_json_to(out);
  tl_put_object(&w);
  for (uint32_t i = 0; i < places->n; i++) {
    const tl_weight_place *place = &places->at[i];
    tl_json_line(&w, 2);
    tl_put_key(&w, place->hash);
    tl_put_object(&w);
    tl_member_sv(&w, "file", place->file);
    tl_member_u64(&w, "offset", place->offset);
    tl_member_u64(&w, "length", place->tensor->bytes);
    tl_put_end(&w);
  }
  tl_json_line(&w, 0);
  tl_json_finish(&w);
}

/* Of one content in several files, the one that sorts first is told. */
static int by_line(const void *a, const void *b) {
  return tl_sv_compare(*(const tl_sv *)a, *(const tl_sv *)b);
}

static void print_sorted(line_vec *lines, tl_buf *out) {
  const char *last = NULL;
  if (lines->n)
    qsort(lines->at, lines->n, sizeof *lines->at, by_line);
  tl_buf_add_z(out, "{");
  for (uint32_t i = 0; i < lines->n; i++) {
    tl_sv line = lines->at[i];
    if (last && memcmp(last, line.p, KEY_LENGTH) == 0)
      continue;
    tl_buf_add_z(out, last ? ",\n" : "\n");
    tl_buf_add_sv(out, line);
    last = line.p;
  }
  tl_buf_add_z(out, "\n}\n");
}

bool tl_weight_meta_fits(tl_sv text) {
  static const char begin[] = "{\n  \"";
  enum { BEGIN = sizeof begin - 1, DIGITS = 64 };
  bool fits = text.n > BEGIN + DIGITS && memcmp(text.p, begin, BEGIN) == 0;
  for (size_t i = BEGIN; fits && i < BEGIN + DIGITS; i++)
    fits = strchr("0123456789abcdef", text.p[i]) && text.p[i];
  return fits;
}

bool tl_weight_meta_is(tl_sv path) {
  return tl_sv_ends_with(path, "/weight/meta.json") || tl_sv_eq(path, TL_SV("weight/meta.json"));
}

bool tl_weight_file_is_content(tl_sv path) {
  static const char prefix[] = "weight/weight_";
  enum { DIGITS = 64, NAME = sizeof prefix - 1 + DIGITS };
  if (path.n < NAME || (path.n > NAME && path.p[path.n - NAME - 1] != '/'))
    return false;
  const char *name = path.p + path.n - NAME;
  return memcmp(name, prefix, sizeof prefix - 1) == 0 &&
         strspn(name + sizeof prefix - 1, "0123456789abcdef") >= DIGITS;
}

void tl_weight_meta_print(const tl_weight_place_vec *places, tl_sv other, tl_buf *out) {
  line_vec lines = {0};
  tl_buf own;
  tl_buf_init(&own);
  print_own(places, &own);
  bool ok = !own.failed && add_members(&lines, tl_buf_view(&own)) && add_members(&lines, other);
  if (ok)
    print_sorted(&lines, out);
  else
    out->failed = true;
  line_vec_release(&lines);
  tl_buf_release(&own);
}
