/* SPDX-License-Identifier: Apache-2.0 */
/* Reads measured ranges of tensors, the file of --ranges. */
#include <math.h>

#include "frontend/config/config_file.h"
#include "frontend/config/json_reader.h"
#include "frontend/config/precision.h"

/* Upper bounds: on messages, and on the file, which has an entry for every tensor of a large
 * model. */
enum { MOST_ERRORS = 20, MOST_BYTES = 64 << 20 };

typedef struct ranges_reader {
  tl_measured_range *at; /* arena; room for all of the file */
  uint32_t n;
  uint32_t errors;
} ranges_reader;

/* Reports a problem and goes on, so that one run shows all problems of a file. */
static void problem(const tl_json_reader *r, const cJSON *item, tl_sv name, const char *text,
                    const char *end) {
  ranges_reader *s = r->out;
  if (++s->errors <= MOST_ERRORS)
    (void)tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E21002", tl_json_at(r, item), "'%.*s' %s%s",
                       TL_SV_ARG(tl_sv_shown(name)), text, end);
}

/* Returns the last member of a name, as elsewhere in JSON files, or NULL. */
static const cJSON *member(const cJSON *object, const char *name) {
  const cJSON *found = NULL;
  for (const cJSON *item = object->child; item; item = item->next)
    if (tl_sv_is(tl_sv_from(item->string), name))
      found = item;
  return found;
}

/* Reads a number of a tensor. False if there is none; *none tells that the value is null, because
 * no element of the tensor was finite. */
static bool read_number(const tl_json_reader *r, const cJSON *tensor, tl_sv name, const char *key,
                        bool *none, double *out) {
  const cJSON *item = member(tensor, key);
  if (!item) {
    problem(r, tensor, name, "needs both a min and a max; it has no ", key);
    return false;
  }
  *none = cJSON_IsNull(item);
  if (*none)
    return false;
  if (!cJSON_IsNumber(item) || isnan(item->valuedouble)) {
    problem(r, item, name, "must have numbers for min and max, not ", tl_json_kind(item));
    return false;
  }
  *out = item->valuedouble;
  return true;
}

/* Adds the range of one tensor. A tensor with a problem, or without finite elements, adds
 * nothing. */
static tl_status read_tensor(tl_json_reader *r, const cJSON *item, tl_sv name) {
  ranges_reader *s = r->out;
  tl_measured_range range;
  bool none = false;
  if (!cJSON_IsObject(item)) {
    problem(r, item, name, "must be an object with min and max, it is ", tl_json_kind(item));
    return TL_OK;
  }
  if (!read_number(r, item, name, "min", &none, &range.least) ||
      !read_number(r, item, name, "max", &none, &range.greatest))
    return TL_OK;
  if (range.least > range.greatest) {
    problem(r, item, name, "has a min above its max", "");
    return TL_OK;
  }
  range.name = (tl_sv){tl_arena_copy(r->arena, name.n ? name.p : "", name.n), name.n};
  if (!range.name.p)
    return tl_fail_memory(r->diag, TL_AT_FILE(r->path));
  s->at[s->n++] = range;
  return TL_OK;
}

static tl_status read_member(tl_json_reader *r, const tl_json_member *m, void *user) {
  (void)user;
  return read_tensor(r, m->item, tl_sv_from(m->item->string));
}

/* Reads the list form, which run --record-ranges writes. */
static tl_status read_list(tl_json_reader *r, const cJSON *list) {
  for (const cJSON *item = list->child; item; item = item->next) {
    const cJSON *name = cJSON_IsObject(item) ? member(item, "name") : NULL;
    if (!name || !cJSON_IsString(name)) {
      problem(r, item, TL_SV("tensors"), "must hold objects with a name, a min and a max", "");
      continue;
    }
    TL_TRY(read_tensor(r, item, tl_sv_from(name->valuestring)));
  }
  return TL_OK;
}

/* Decides between the two forms by the member "tensors", which must be an array in the list
 * form. */
static tl_status read_root(tl_json_reader *r, const cJSON *root) {
  ranges_reader *s = r->out;
  if (!cJSON_IsObject(root)) {
    problem(r, root, TL_SV("the top level"), "must be an object, it is ", tl_json_kind(root));
    return TL_OK;
  }
  const cJSON *list = member(root, "tensors");
  bool listed = list && cJSON_IsArray(list);
  uint32_t n = (uint32_t)cJSON_GetArraySize(listed ? list : root);
  s->at = tl_arena_calloc(r->arena, n + 1U, sizeof *s->at);
  if (!s->at)
    return tl_fail_memory(r->diag, TL_AT_FILE(r->path));
  return listed ? read_list(r, list) : tl_json_members(r, root, read_member, NULL);
}

tl_status tl_read_ranges_text(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                              tl_range_policy *out) {
  tl_json json;
  tl_json_error error;
  ranges_reader s = {0};
  tl_json_reader r;
  tl_status status = tl_json_parse(text, &json, &error);
  if (status == TL_NO_MEMORY)
    return tl_fail_memory(d, TL_AT_FILE(path));
  if (status != TL_OK) {
    tl_location at = {.file = path, .line = error.place.line, .column = error.place.column};
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E21002", at, "not JSON: %s", error.problem);
  }
  tl_json_reader_init(&r, d, a, path, &json, "W_RANGES_DUP_KEY");
  r.out = &s;
  status = read_root(&r, json.root);
  tl_json_reader_finish(&r);
  tl_json_release(&json);
  if (status == TL_OK && s.errors > MOST_ERRORS)
    (void)tl_fail_code(d, TL_INVALID_ARGUMENT, "E21002", TL_AT_FILE(path),
                       "%u more problems are not shown", s.errors - MOST_ERRORS);
  if (status != TL_OK || s.errors)
    return status != TL_OK ? status : TL_INVALID_ARGUMENT;
  out->measured = s.at;
  out->n_measured = s.n;
  return TL_OK;
}

tl_status tl_read_ranges(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                         tl_range_policy *out) {
  static const tl_config_kind kind = {"file of ranges", "E21001", "E21001", false, MOST_BYTES};
  tl_sv text;
  TL_TRY(tl_config_text(d, a, where, path, &kind, &text));
  return tl_read_ranges_text(d, a, path, text, out);
}
