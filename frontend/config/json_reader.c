/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/config/json_reader.h"

#include <stdlib.h>

/* Upper bound on warnings of one file; the rest is counted and reported in one line. */
enum { MOST_WARNINGS = 20 };

void tl_json_reader_init(tl_json_reader *r, tl_diag *d, tl_arena *arena, const char *path,
                         const tl_json *json, const char *repeated) {
  *r =
      (tl_json_reader){.diag = d, .arena = arena, .path = path, .json = json, .repeated = repeated};
  tl_arena_init(&r->scratch, 0);
}

void tl_json_reader_finish(tl_json_reader *r) {
  if (r->warned > MOST_WARNINGS)
    tl_warn_code(r->diag, r->repeated, TL_AT_FILE(r->path), "%u more keys are given twice",
                 r->warned - MOST_WARNINGS);
  tl_arena_release(&r->scratch);
}

tl_location tl_json_at(const tl_json_reader *r, const cJSON *item) {
  tl_place place = tl_json_place(r->json, item);
  return (tl_location){.file = r->path, .line = place.line, .column = place.column};
}

/* Orders by name, then by place in the object, so that the last member of a name comes last. */
static int by_name(const void *a, const void *b) {
  const tl_json_member *x = *(const tl_json_member *const *)a;
  const tl_json_member *y = *(const tl_json_member *const *)b;
  int order = tl_sv_compare(x->name, y->name);
  if (order)
    return order;
  return x->number < y->number ? -1 : x->number > y->number;
}

/* Warns that a key is given twice, until the bound is reached. */
static void warn_repeated(tl_json_reader *r, const tl_json_member *first,
                          const tl_json_member *second) {
  if (++r->warned > MOST_WARNINGS)
    return;
  tl_warn_code(r->diag, r->repeated, tl_json_at(r, second->item),
               "'%.*s' is given twice, in lines %u and %u; the latter counts",
               TL_SV_ARG(tl_sv_shown(second->name)), tl_json_at(r, first->item).line,
               tl_json_at(r, second->item).line);
}

/* Lists the members of an object in document order, in scratch memory, and marks those that a later
 * member of the same name overrules. Sorting makes this O(n log n) for objects of any size. */
static tl_status list_members(tl_json_reader *r, const cJSON *object, tl_json_member **out,
                              uint32_t *n) {
  *n = (uint32_t)cJSON_GetArraySize(object);
  tl_json_member *members = tl_arena_calloc(&r->scratch, *n, sizeof *members);
  tl_json_member **sorted = tl_arena_calloc(&r->scratch, *n, sizeof *sorted);
  if (!members || !sorted)
    return tl_fail_memory(r->diag, TL_AT_FILE(r->path));
  uint32_t i = 0;
  for (const cJSON *item = object->child; item; item = item->next, i++) {
    members[i] = (tl_json_member){item, tl_sv_trim(tl_sv_from(item->string)), i, false};
    sorted[i] = &members[i];
  }
  if (*n)
    qsort(sorted, *n, sizeof *sorted, by_name);
  for (i = 1; i < *n; i++) {
    if (!tl_sv_eq(sorted[i - 1]->name, sorted[i]->name))
      continue;
    sorted[i - 1]->dropped = true;
    warn_repeated(r, sorted[i - 1], sorted[i]);
  }
  *out = members;
  return TL_OK;
}

tl_status tl_json_members(tl_json_reader *r, const cJSON *object, tl_json_member_fn fn,
                          void *user) {
  tl_json_member *members;
  uint32_t n;
  TL_TRY(list_members(r, object, &members, &n));
  for (uint32_t i = 0; i < n; i++) {
    if (!members[i].dropped)
      TL_TRY(fn(r, &members[i], user));
  }
  return TL_OK;
}
