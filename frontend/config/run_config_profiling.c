/* SPDX-License-Identifier: Apache-2.0 */
/* Checks profiling_options, which is JSON within JSON: an object, or the text of one. */
#include <stdio.h>

#include "frontend/config/run_config_read.h"

/* values: choices joined by '|', "low..high", or "" for any text. */
typedef struct profiling_option {
  const char *name;
  const char *values;
} profiling_option;

static const profiling_option options[] = {
    {"output", ""},
    {"storage_limit", ""},
    {"training_trace", "on|off"},
    {"task_trace", "on|off|l0|l1"},
    {"task_time", "on|off|l0|l1"},
    {"op_trace", "on|off"},
    {"ge_api", "off|l0|l1"},
    {"hccl", "on|off"},
    {"aicpu", "on|off"},
    {"fp_point", ""},
    {"bp_point", ""},
    {"aic_metrics", ""},
    {"aic_mode", ""},
    {"l2", "on|off"},
    {"msproftx", "on|off"},
    {"mstx_domain_include", ""},
    {"mstx_domain_exclude", ""},
    {"runtime_api", "on|off"},
    {"task_memory", "on|off"},
    {"sys_hardware_mem_freq", "1..10000"},
    {"llc_profiling", "read|write"},
    {"sys_io_sampling_freq", "1..100"},
    {"sys_interconnection_freq", "1..50"},
    {"dvpp_freq", "1..100"},
    {"instr_profiling", "on|off"},
    {"instr_profiling_freq", ""},
    {"host_sys", ""},
    {"host_sys_usage", ""},
    {"host_sys_usage_freq", ""},
    {"power", "on|off"},
};
enum { N_OPTIONS = sizeof options / sizeof *options };

static const profiling_option *find(tl_sv name) {
  for (size_t i = 0; i < N_OPTIONS; i++)
    if (tl_sv_is(name, options[i].name))
      return &options[i];
  return NULL;
}

/* Returns the option that a name most likely means, or NULL. */
static const char *nearest(tl_sv name) {
  const char *best = NULL;
  size_t limit = name.n / 4 + 2;
  for (size_t i = 0; i < N_OPTIONS; i++) {
    size_t distance = tl_edit_distance(name, tl_sv_from(options[i].name), limit);
    if (distance < limit) {
      limit = distance;
      best = options[i].name;
    }
  }
  return best;
}

/* Reports an unknown name. A likely typo is an error; another name may belong to a newer runtime
 * and gets a warning. */
static tl_status check_name(tl_diag *d, tl_location where, tl_sv name) {
  const char *near = nearest(name);
  if (near)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-UNKNOWN", where,
                        "'%.*s' is not a member of profiling_options\vdid you mean '%s'?",
                        TL_SV_ARG(tl_sv_shown(name)), near);
  tl_warn_code(d, "W-OPT-PROFILING", where,
               "'%.*s' of profiling_options is recorded for the runtime, which may not know it",
               TL_SV_ARG(tl_sv_shown(name)));
  return TL_OK;
}

/* Returns true if the text is one of the choices or within the range. */
static bool is_in(const char *values, tl_sv text) {
  const char *dots = strstr(values, "..");
  int64_t low = 0;
  int64_t high = 0;
  int64_t value;
  if (!*values)
    return true;
  if (!dots)
    return tl_choice_has(values, text);
  (void)tl_parse_i64((tl_sv){values, (size_t)(dots - values)}, &low);
  (void)tl_parse_i64(tl_sv_from(dots + 2), &high);
  return tl_parse_i64(text, &value) && value >= low && value <= high;
}

/* Checks one option of profiling_options. A number is printed first, because choices and bounds are
 * text. */
static tl_status check_option(tl_diag *d, tl_location where, const cJSON *item) {
  const profiling_option *o = find(tl_sv_from(item->string));
  char number[32];
  if (!o)
    return check_name(d, where, tl_sv_from(item->string));
  if (cJSON_IsNull(item) || (cJSON_IsString(item) && !item->valuestring[0]))
    return TL_OK; /* not given */
  if (!cJSON_IsString(item) && !cJSON_IsNumber(item))
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-TYPE", where,
                        "%s of profiling_options takes %s, not %s", o->name,
                        strstr(o->values, "..") ? "a number" : "text in double quotes",
                        tl_json_kind(item));
  snprintf(number, sizeof number, "%.17g", cJSON_IsNumber(item) ? item->valuedouble : 0);
  tl_sv text = tl_sv_from(cJSON_IsNumber(item) ? number : item->valuestring);
  if (is_in(o->values, text))
    return TL_OK;
  return tl_fail_code(
      d, TL_INVALID_ARGUMENT, "E-OPT-RANGE", where, "%s of profiling_options is %s %s, not '%.*s'",
      o->name, strstr(o->values, "..") ? "in" : "one of", o->values, TL_SV_ARG(tl_sv_shown(text)));
}

static tl_status check_object(tl_diag *d, tl_location where, const cJSON *object) {
  tl_status first = TL_OK;
  for (const cJSON *item = object->child; item; item = item->next) {
    tl_status status = check_option(d, where, item);
    first = first == TL_OK ? status : first;
  }
  return first;
}

/* Returns true for the older form, words joined by colons. Only options with "on" can be words. */
static bool is_list_of_words(tl_sv text) {
  for (tl_sv rest = text; rest.p;) {
    const profiling_option *o = find(tl_sv_trim(tl_sv_split(&rest, ':')));
    if (!o || strncmp(o->values, "on|", 3) != 0)
      return false;
  }
  return true;
}

tl_status tl_run_check_profiling(tl_diag *d, tl_location where, const cJSON *item) {
  tl_json json;
  tl_json_error error;
  if (cJSON_IsObject(item))
    return check_object(d, where, item);
  tl_sv text = tl_sv_trim(tl_sv_from(item->valuestring));
  if (text.n == 0 || is_list_of_words(text))
    return TL_OK;
  tl_status status = tl_json_parse_commented(text, &json, &error);
  if (status == TL_NO_MEMORY)
    return tl_fail_memory(d, where);
  if (status != TL_OK)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-TYPE", where,
                        "profiling_options is not JSON: %s\v"
                        "write {\"output\": \"FOLDER\", \"task_trace\": \"on\"}",
                        error.problem);
  if (cJSON_IsObject(json.root))
    status = check_object(d, where, json.root);
  else
    status = tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-TYPE", where,
                          "profiling_options takes an object, not %s", tl_json_kind(json.root));
  tl_json_release(&json);
  return status;
}
