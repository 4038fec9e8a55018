/* SPDX-License-Identifier: Apache-2.0 */
/* Text to a tree whose values know their places. */
#include "frontend/config/json.h"

/* cJSON uses valueint of numbers only, and configuration files hold none that matter: it takes the
 * value's place in document order. The scanner has bounded the depth. */
static int number_values(cJSON *item, int next) {
  item->valueint = next++;
  for (cJSON *child = item->child; child; child = child->next)
    next = number_values(child, next);
  return next;
}

tl_status tl_json_parse(tl_sv text, tl_json *out, tl_json_error *error) {
  *out = (tl_json){0};
  if (!tl_json_scan(text, &out->places, error)) {
    bool memory = strcmp(error->problem, "out of memory") == 0;
    tl_json_release(out);
    return memory ? TL_NO_MEMORY : TL_INVALID_ARGUMENT;
  }
  out->root = cJSON_ParseWithLength(text.p, text.n);
  if (!out->root) { /* what the scanner accepts is JSON: memory ran out */
    tl_json_release(out);
    return TL_NO_MEMORY;
  }
  (void)number_values(out->root, 0);
  return TL_OK;
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
