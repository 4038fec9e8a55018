/* SPDX-License-Identifier: Apache-2.0 */
/* Collects members of objects that stand alone in a run configuration, and joins them to their
 * objects. */
#include <stdlib.h>

#include "frontend/config/run_config_read.h"
#include "support/memory.h"

/* The keys whose members may stand alone; tl_run_flats has one entry for each, in this order. */
static const tl_option_id objects[TL_N_FLAT_OBJECTS] = {
    TL_OPTION_DUMP_CONFIG, TL_OPTION_PROFILING_CONFIG, TL_OPTION_MEMORY_CONFIG,
    TL_OPTION_DYNAMIC_INPUT_CONFIG};

const tl_run_member *tl_run_flat_find(tl_sv name) {
  for (size_t i = 0; i < TL_N_FLAT_OBJECTS; i++) {
    const tl_run_member *member = tl_run_member_find(objects[i], name);
    if (member)
      return member;
  }
  return NULL;
}

tl_status tl_run_flat_add(tl_run_flats *f, tl_diag *d, tl_location where,
                          const tl_run_member *member, const cJSON *item) {
  size_t i = 0;
  while (objects[i] != (tl_option_id)member->option)
    i++;
  if (!f->object[i]) {
    f->object[i] = cJSON_CreateObject();
    f->at[i] = where;
  }
  cJSON *copy = f->object[i] ? cJSON_Duplicate(item, true) : NULL;
  if (copy && cJSON_AddItemToObject(f->object[i], item->string, copy))
    return TL_OK;
  cJSON_Delete(copy);
  return tl_fail_memory(d, where);
}

/* Returns true if the object has the member; dashes and underscores are equal. The object is only
 * read, so the cast that removes const is safe. */
static bool has(const cJSON *object, const char *name) {
  tl_run_object o = {.json = {.root = (cJSON *)object}};
  char dashes[TL_RUN_NAME_BYTES];
  size_t n = 0;
  for (; n < sizeof dashes - 1 && name[n]; n++)
    dashes[n] = name[n] == '_' ? '-' : name[n];
  dashes[n] = '\0';
  return tl_run_member_find_json(&o, dashes);
}

/* Moves to the object what it does not have itself. The rest is dropped with a warning. False if
 * memory is out. */
static bool add_missing(cJSON *object, cJSON *flats, tl_diag *d, tl_location where) {
  while (flats->child) {
    cJSON *item = cJSON_DetachItemViaPointer(flats, flats->child);
    bool twice = has(object, item->string);
    if (twice)
      tl_warn_code(d, "W-OPT-TWICE", where,
                   "'%s' is given alone and in an object; the object counts", item->string);
    if (twice || !cJSON_AddItemToObject(object, item->string, item)) {
      cJSON_Delete(item);
      if (!twice)
        return false;
    }
  }
  return true;
}

/* Merges the members that belong to one object into the value of its key. */
static tl_status join(tl_run_flats *f, size_t i, tl_settings *s, tl_diag *d) {
  tl_option_id id = objects[i];
  const char **slot = &s->file_value[id];
  bool other = *slot && s->file_at[id].file != f->at[i].file;
  if (!f->object[i] || other) /* a file that was read before goes first */
    return TL_OK;
  cJSON *whole = *slot ? cJSON_Parse(*slot) : cJSON_CreateObject();
  bool ok = whole && add_missing(whole, f->object[i], d, f->at[i]);
  char *text = ok ? tl_memory_seen(cJSON_PrintUnformatted(whole), 0) : NULL;
  *slot = text ? tl_arena_copy(&s->arena, text, strlen(text)) : *slot;
  ok = text && *slot;
  if (!s->file_at[id].file)
    s->file_at[id] = f->at[i];
  cJSON_free(text);
  cJSON_Delete(whole);
  return ok ? TL_OK : tl_fail_memory(d, f->at[i]);
}

tl_status tl_run_flats_join(tl_run_flats *f, tl_settings *s, tl_diag *d) {
  tl_status first = TL_OK;
  for (size_t i = 0; i < TL_N_FLAT_OBJECTS; i++) {
    tl_status status = first == TL_OK ? join(f, i, s, d) : TL_OK;
    first = first == TL_OK ? status : first;
    cJSON_Delete(f->object[i]);
    f->object[i] = NULL;
  }
  return first;
}
