/* SPDX-License-Identifier: Apache-2.0 */
/* Reads values of a run configuration as typed values, and members of its objects. */
#include "frontend/config/run_config_read.h"

bool tl_run_true(const tl_settings *s, tl_option_id id) {
  const char *value = tl_settings_get(s, id);
  return strcmp(value, "true") == 0 || strcmp(value, "1") == 0;
}

int64_t tl_run_int(const tl_settings *s, tl_option_id id) {
  uint64_t size = 0;
  int64_t value = 0;
  const char *text = tl_settings_get(s, id);
  if (tl_parse_i64(tl_sv_from(text), &value))
    return value;
  return tl_parse_size(tl_sv_from(text), &size) ? (int64_t)size : 0;
}

int64_t tl_run_hccl_timeout(const tl_settings *s) {
  int64_t given = tl_run_int(s, TL_OPTION_HCCL_TIMEOUT);
  if (tl_options_chip(&s->options)->bf16)
    return given;
  /* These chips round down to whole units, but wait one unit at least. */
  return given < TL_HCCL_UNIT ? TL_HCCL_UNIT : given / TL_HCCL_UNIT * TL_HCCL_UNIT;
}

bool tl_run_config_used(const tl_settings *s) {
  uint32_t n;
  const tl_run_key *keys = tl_run_keys(&n);
  if (s->has_run_config || s->value[TL_OPTION_ACCELERATE_TRAIN_MODE] ||
      s->value[TL_OPTION_TRAIN_MODEL] || s->value[TL_OPTION_OPTIM_MODEL])
    return true;
  for (uint32_t i = 0; i < n; i++) {
    bool acts = keys[i].consumer == TL_CONSUMER_COMPILE || keys[i].consumer == TL_CONSUMER_BOTH;
    if (acts && !keys[i].shared && s->value[keys[i].option])
      return true;
  }
  return false;
}

bool tl_run_object_open(const tl_settings *s, tl_option_id id, tl_run_object *out) {
  const char *text = s->value[id];
  tl_json_error error;
  if (!text || text[0] != '{' ||
      tl_json_parse_commented(tl_sv_from(text), &out->json, &error) != TL_OK)
    return false;
  out->id = id;
  tl_buf_init(&out->text);
  return true;
}

void tl_run_object_close(tl_run_object *o) {
  tl_buf_release(&o->text);
  tl_json_release(&o->json);
}

const cJSON *tl_run_member_find_json(const tl_run_object *o, const char *name) {
  /* The loop goes on after a hit: of a member given twice the last counts. */
  const cJSON *found = NULL;
  for (const cJSON *item = o->json.root->child; item; item = item->next) {
    size_t i = 0;
    for (; name[i] && item->string[i]; i++)
      if ((item->string[i] == '_' ? '-' : item->string[i]) != name[i])
        break;
    if (!name[i] && !item->string[i])
      found = item;
  }
  return found && !cJSON_IsNull(found) ? found : NULL;
}

const char *tl_run_member_text(tl_run_object *o, const char *name) {
  tl_diag quiet = {0};
  const cJSON *item = tl_run_member_find_json(o, name);
  const tl_run_member *member = tl_run_member_find(o->id, tl_sv_from(name));
  tl_buf_clear(&o->text);
  if (!item || !member ||
      tl_run_json_value(&quiet, TL_NOWHERE, &member->type, item, &o->text) != TL_OK)
    return NULL;
  return o->text.p ? o->text.p : "";
}

bool tl_run_member_true(tl_run_object *o, const char *name) {
  const char *text = tl_run_member_text(o, name);
  return text && (strcmp(text, "true") == 0 || strcmp(text, "1") == 0);
}
