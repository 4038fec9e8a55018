/* SPDX-License-Identifier: Apache-2.0 */
/* Reads libraries of measured gradients (bucket_library.h). */
#include "frontend/config/bucket_library.h"

#include "frontend/config/config_file.h"
#include "frontend/config/json.h"

enum { LIBRARY_BYTES = 64 << 20, NS_PER_US = 1000 };

/* State of reading one library. `found` says that the entry of this model has been read. */
typedef struct library {
  tl_settings *s;
  tl_diag *d;
  const char *path;
  const char *hash;
  tl_json json;
  bool found;
} library;

static tl_status refuse_at(const library *lib, tl_place place, const char *what) {
  tl_location where = {.file = lib->path, .line = place.line, .column = place.column};
  return tl_fail_code(lib->d, TL_INVALID_ARGUMENT, "E-BKT-LIB", where, "%s", what);
}

static tl_status refuse(const library *lib, const cJSON *item, const char *what) {
  return refuse_at(lib, tl_json_place(&lib->json, item), what);
}

/* Returns true for a count that a double holds exactly: not negative, at most 2^53. */
static bool is_amount(const cJSON *item) {
  const double most = 9007199254740992.0; /* 2^53: doubles hold every whole number up to it */
  return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= most;
}

/* Requires times in nanoseconds that do not fall: gradients are listed in the order of
 * readiness. */
static tl_status check_times(const library *lib, const cJSON *list) {
  double last = 0;
  for (const cJSON *e = list->child; e; e = e->next) {
    if (!is_amount(e))
      return refuse(lib, e, "a time of gradientTime is not a number of nanoseconds");
    if (e->valuedouble < last)
      return refuse(lib, e, "the times of gradientTime do not ascend");
    last = e->valuedouble;
  }
  return TL_OK;
}

/* Requires whole numbers of bytes. */
static tl_status check_sizes(const library *lib, const cJSON *list) {
  for (const cJSON *e = list->child; e; e = e->next)
    if (!is_amount(e) || e->valuedouble != (double)(int64_t)e->valuedouble)
      return refuse(lib, e, "a size of gradientSize is not a number of bytes");
  return TL_OK;
}

/* Copies one entry into the arena of the settings. Times become microseconds since the start of the
 * step. The start is the first time in both forms; if there is one time more than sizes, the first
 * belongs to no gradient and is skipped. */
static tl_status take(library *lib, const cJSON *times, const cJSON *sizes) {
  uint32_t n = (uint32_t)cJSON_GetArraySize(sizes);
  tl_arena *a = &lib->s->arena;
  tl_measured_gradients *found = tl_arena_calloc(a, 1, sizeof *found);
  double *ready = tl_arena_calloc(a, (size_t)n + 1, sizeof *ready);
  int64_t *bytes = tl_arena_calloc(a, (size_t)n + 1, sizeof *bytes);
  if (!found || !ready || !bytes)
    return tl_fail_memory(lib->d, TL_AT_FILE(lib->path));
  const cJSON *time = times->child;
  double start = time->valuedouble;
  if ((uint32_t)cJSON_GetArraySize(times) > n)
    time = time->next;
  uint32_t i = 0;
  for (const cJSON *size = sizes->child; size; size = size->next, time = time->next, i++) {
    ready[i] = (time->valuedouble - start) / NS_PER_US;
    bytes[i] = (int64_t)size->valuedouble;
  }
  *found = (tl_measured_gradients){.ready = ready, .bytes = bytes, .n = n};
  lib->s->train.measured = found;
  lib->found = true;
  return TL_OK;
}

/* Checks one entry in full, also one of another model, and takes it if its hash is that of this
 * model. n_times is at least 1, because n is. */
static tl_status read_entry(library *lib, const cJSON *item) {
  const cJSON *hash = cJSON_GetObjectItemCaseSensitive(item, "modelhash");
  const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, "modelvalue");
  if (!cJSON_IsObject(item) || !cJSON_IsString(hash) || !cJSON_IsObject(value))
    return refuse(lib, item,
                  "an entry is not an object with a string modelhash and an object modelvalue");
  const cJSON *times = cJSON_GetObjectItemCaseSensitive(value, "gradientTime");
  const cJSON *sizes = cJSON_GetObjectItemCaseSensitive(value, "gradientSize");
  if (!cJSON_IsArray(times) || !cJSON_IsArray(sizes))
    return refuse(lib, value, "modelvalue needs the lists gradientTime and gradientSize");
  int n = cJSON_GetArraySize(sizes);
  int n_times = cJSON_GetArraySize(times);
  if (n == 0 || (n_times != n && n_times != n + 1))
    return refuse(lib, value,
                  "gradientTime has to have as many entries as gradientSize, or one more for the "
                  "start of the step");
  TL_TRY(check_times(lib, times));
  TL_TRY(check_sizes(lib, sizes));
  if (strcmp(hash->valuestring, lib->hash) != 0)
    return TL_OK;
  return lib->found ? refuse(lib, item, "a second entry of this model") : take(lib, times, sizes);
}

/* Reads all entries. A library without an entry for this model is legal: buckets are then chosen as
 * with the default strategy. */
static tl_status read_entries(library *lib) {
  if (!cJSON_IsArray(lib->json.root))
    return refuse(lib, lib->json.root, "the file is not a list of entries");
  for (const cJSON *e = lib->json.root->child; e; e = e->next)
    TL_TRY(read_entry(lib, e));
  if (!lib->found)
    tl_warn_code(lib->d, "W-BKT-LIB", TL_AT_FILE(lib->path),
                 "no entry with modelhash %s: buckets as with bucket_strategy=default\v"
                 "it is the SHA-256 of the model's file, which standard input is not",
                 lib->hash[0] ? lib->hash : "''");
  return TL_OK;
}

/* Parses the file, comments allowed, and reads its entries. */
static tl_status read_text(library *lib, tl_sv text) {
  tl_json_error error;
  tl_status status = tl_json_parse_commented(tl_config_without_mark(text), &lib->json, &error);
  if (status == TL_NO_MEMORY)
    return tl_fail_memory(lib->d, TL_AT_FILE(lib->path));
  if (status != TL_OK)
    return refuse_at(lib, error.place, error.problem);
  status = read_entries(lib);
  tl_json_release(&lib->json);
  return status;
}

tl_status tl_bucket_library_read(tl_settings *s, tl_diag *d, const char *hash) {
  static const tl_config_kind kind = {.what = "library of gradients",
                                      .missing = "E-BKT-LIB",
                                      .unreadable = "E-BKT-LIB",
                                      .max_bytes = LIBRARY_BYTES};
  library lib = {.s = s, .d = d, .path = s->train.bucket_library, .hash = hash};
  tl_location option = tl_at_option(s, TL_OPTION_BUCKET_LIBRARY);
  tl_file *f;
  s->train.measured = NULL;
  if (s->train.buckets != TL_BUCKETS_LIBRARY)
    return TL_OK;
  TL_TRY(tl_config_open(d, option, lib.path, &kind, &f));
  tl_status status = read_text(&lib, (tl_sv){(const char *)f->data, (size_t)f->size});
  tl_file_close(f);
  return status;
}
