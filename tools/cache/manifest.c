/* SPDX-License-Identifier: Apache-2.0 */
/* Implements manifests (manifest.h). */
#include "tools/cache/manifest.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/config/json.h"
#include "support/json_writer.h"

/* Takes the paths of one row. False: it has something else. */
static bool take_set(const cJSON *row, tl_manifest_set *out) {
  const cJSON *item;
  int n = cJSON_GetArraySize(row);
  const char **paths = calloc((size_t)n + 1, sizeof *paths);
  uint32_t at = 0;
  cJSON_ArrayForEach(item, row) {
    if (paths && cJSON_IsString(item))
      paths[at++] = item->valuestring;
  }
  *out = (tl_manifest_set){.paths = paths, .n = at};
  return paths && at == (uint32_t)n;
}

void tl_manifest_read(tl_manifest *m, const tl_store *s, const char *base) {
  char path[TL_STORE_PATH];
  bool damaged;
  tl_buf text;
  tl_json json;
  tl_json_error error;
  tl_buf_init(&text);
  bool good = tl_record_read(tl_store_path(s, "manifest", base, path), &text, &damaged) &&
              tl_json_parse(tl_buf_view(&text), &json, &error) == TL_OK;
  tl_buf_release(&text);
  if (!good)
    return;
  m->root = json.root;
  json.root = NULL;
  tl_json_release(&json);
  const cJSON *row;
  cJSON_ArrayForEach(row, m->root) {
    tl_manifest_set set = {0};
    if (m->n < TL_MANIFEST_SETS && take_set(row, &set))
      m->sets[m->n++] = set;
    else
      free((void *)(uintptr_t)set.paths);
  }
}

static bool sets_equal(const tl_manifest_set *a, const tl_manifest_set *b) {
  if (a->n != b->n)
    return false;
  for (uint32_t i = 0; i < a->n; i++)
    if (strcmp(a->paths[i], b->paths[i]) != 0)
      return false;
  return true;
}

static void put_set(tl_json_writer *w, const tl_manifest_set *set) {
  tl_put_array(w);
  for (uint32_t i = 0; i < set->n; i++)
    tl_put_z(w, set->paths[i]);
  tl_put_end(w);
}

void tl_manifest_add(tl_manifest *m, const tl_store *s, const char *base,
                     const tl_manifest_set *set) {
  char path[TL_STORE_PATH];
  tl_buf text;
  for (uint32_t i = 0; i < m->n; i++)
    if (sets_equal(&m->sets[i], set))
      return;
  tl_buf_init(&text);
  tl_json_writer w = tl_json_to(&text);
  tl_put_array(&w);
  put_set(&w, set);
  for (uint32_t i = 0; i < m->n && i + 1 < TL_MANIFEST_SETS; i++)
    put_set(&w, &m->sets[i]);
  tl_json_finish(&w);
  if (!text.failed)
    (void)!tl_record_write(s, tl_store_path(s, "manifest", base, path), tl_buf_view(&text));
  tl_buf_release(&text);
}

void tl_manifest_release(tl_manifest *m) {
  for (uint32_t i = 0; i < m->n; i++)
    free((void *)(uintptr_t)m->sets[i].paths);
  cJSON_Delete(m->root);
}
