/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads options as JSON (options_json.h). What is written has the given values, which
 * replay the conversion, and beside them what run configurations decided, for people. */
#include "tools/cli/options_json.h"

#include <stdio.h>

#include "frontend/config/json.h"
#include "support/json_writer.h"

/* ---- reading --------------------------------------------------------------------------------- */

static tl_status refuse(const tl_argument_sink *to, const char *name, const char *what) {
  return tl_fail(to->d, TL_INVALID_ARGUMENT,
                 (tl_location){.file = to->path, .attr = tl_sv_from(name)}, "%s", what);
}

/* Gives one argument: before, then the value. */
static tl_status add(const tl_argument_sink *to, const char *before, const char *value) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_z(&text, before);
  tl_buf_add_z(&text, value);
  tl_status status = text.failed ? tl_fail_memory(to->d, TL_AT_FILE(to->path))
                                 : to->add(to->user, text.p);
  tl_buf_release(&text);
  return status;
}

/* Gives one option with one value: true is a flag, false no option at all unless it takes one. */
static tl_status add_value(const tl_argument_sink *to, const char *name, const cJSON *value) {
  tl_option_id id = tl_option_find(tl_sv_from(name), TL_COMMAND_CONVERT);
  const tl_option_row *row = id == TL_N_OPTION_ROWS ? NULL : tl_option_row_get(id);
  bool is_flag = row && row->kind == TL_OPTION_FLAG;
  if (is_flag && !cJSON_IsBool(value))
    return refuse(to, name, "is a flag: true or false was expected");
  if (is_flag && cJSON_IsFalse(value))
    return TL_OK;
  char number[40];
  const char *text = cJSON_IsString(value) ? value->valuestring
                     : cJSON_IsTrue(value) ? "true"
                                           : "false";
  if (cJSON_IsNumber(value)) {
    snprintf(number, sizeof number, "%.17g", value->valuedouble);
    text = number;
  } else if (!cJSON_IsString(value) && !cJSON_IsBool(value)) {
    return refuse(to, name, "has a value that is no string, number, true or false");
  }
  tl_buf before;
  tl_buf_init(&before);
  tl_buf_printf(&before, "--%s%s", name, is_flag ? "" : "=");
  tl_status status = before.failed ? tl_fail_memory(to->d, TL_AT_FILE(to->path))
                                   : add(to, before.p, is_flag ? "" : text);
  tl_buf_release(&before);
  return status;
}

/* Gives all options; a list is an option that is given several times. */
static tl_status add_options(const tl_argument_sink *to, const cJSON *options) {
  const cJSON *item;
  const cJSON *element;
  if (!cJSON_IsObject(options))
    return refuse(to, "options", "an object was expected: {\"NAME\": VALUE, ...}");
  cJSON_ArrayForEach(item, options) {
    if (!cJSON_IsArray(item)) {
      TL_TRY(add_value(to, item->string, item));
      continue;
    }
    cJSON_ArrayForEach(element, item) TL_TRY(add_value(to, item->string, element));
  }
  return TL_OK;
}

static tl_status add_outputs(const tl_argument_sink *to, const cJSON *outputs) {
  const cJSON *item;
  if (!cJSON_IsArray(outputs))
    return refuse(to, "outputs", "a list of paths was expected");
  cJSON_ArrayForEach(item, outputs) {
    if (!cJSON_IsString(item))
      return refuse(to, "outputs", "a list of paths was expected");
    TL_TRY(add(to, "--output=", item->valuestring));
  }
  return TL_OK;
}

tl_status tl_options_json_take(const tl_argument_sink *to, const cJSON *object) {
  const cJSON *item;
  if (!cJSON_IsObject(object))
    return refuse(to, "", "an object was expected: {\"model\": FILE, \"outputs\": [FILE], ...}");
  cJSON_ArrayForEach(item, object) {
    const char *name = item->string;
    bool describes = strcmp(name, "tailor") == 0 || strcmp(name, "version_key") == 0 ||
                     strcmp(name, "decided") == 0;
    if (strcmp(name, "options") == 0)
      TL_TRY(add_options(to, item));
    else if (strcmp(name, "outputs") == 0)
      TL_TRY(add_outputs(to, item));
    else if (strcmp(name, "model") == 0 && cJSON_IsString(item))
      TL_TRY(add(to, "--model=", item->valuestring));
    else if (strcmp(name, "model") == 0)
      return refuse(to, name, "the path of the model was expected");
    else if (strcmp(name, "command") == 0 &&
             (!cJSON_IsString(item) || strcmp(item->valuestring, "convert") != 0))
      return refuse(to, name, "options of 'convert' were expected");
    else if (strcmp(name, "command") != 0 && !describes)
      return refuse(to, name, "unknown member\vknown are model, outputs, options, command");
  }
  return TL_OK;
}

tl_status tl_options_json_read(const tl_argument_sink *to, tl_sv text) {
  tl_json json;
  tl_json_error error;
  tl_status status = tl_json_parse(text, &json, &error);
  if (status == TL_NO_MEMORY)
    return tl_fail_memory(to->d, TL_AT_FILE(to->path));
  if (status != TL_OK)
    return tl_fail(
        to->d, TL_INVALID_ARGUMENT,
        (tl_location){.file = to->path, .line = error.place.line, .column = error.place.column},
        "this is no JSON: %s", error.problem);
  status = tl_options_json_take(to, json.root);
  tl_json_release(&json);
  return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Returns true for options of one call that have no part in what the outputs are. */
static bool is_of_the_call(tl_option_id id) {
  static const tl_option_id those[] = {TL_OPTION_OPTIONS_JSON, TL_OPTION_OUTPUT, TL_OPTION_MODEL};
  for (size_t i = 0; i < sizeof those / sizeof *those; i++)
    if (those[i] == id)
      return true;
  return false;
}

static void put_value(tl_json_writer *w, tl_option_id id, const char *value) {
  tl_sv rest = tl_sv_from(value);
  if (tl_option_row_get(id)->kind == TL_OPTION_FLAG) {
    tl_put_bool(w, true);
    return;
  }
  if (!tl_option_joins_lines(id) || !strchr(value, '\n')) {
    tl_put_z(w, value);
    return;
  }
  tl_put_array(w);
  while (rest.p)
    tl_put_sv(w, tl_sv_split(&rest, '\n'));
  tl_put_end(w);
}

/* Adds the options that have a value: those of the command line, or those that a run configuration
 * has set. */
static void put_options(tl_json_writer *w, const tl_settings *s, bool of_files) {
  tl_put_key(w, of_files ? "decided" : "options");
  tl_put_object(w);
  for (int i = 0; i < TL_N_OPTION_ROWS; i++) {
    tl_option_id id = (tl_option_id)i;
    if (!s->value[id] || (s->origin[id].file != NULL) != of_files || is_of_the_call(id))
      continue;
    tl_json_line(w, 4);
    tl_put_key(w, tl_option_row_get(id)->name);
    put_value(w, id, s->value[id]);
  }
  tl_put_end(w);
}

/* Returns the model as it was named; NULL: by the options of its halves. */
static const char *model_of(const tl_cli *cli) {
  const tl_settings *s = &cli->settings;
  bool half = cli->word == s->value[TL_OPTION_TRAIN_MODEL] ||
              cli->word == s->value[TL_OPTION_OPTIM_MODEL];
  return half ? NULL : cli->word;
}

static void put_all(tl_cli *cli, tl_buf *out) {
  tl_json_writer w = tl_json_to(out);
  tl_buf key;
  tl_buf_init(&key);
  tl_print_version_key(&key);
  const char *model = model_of(cli);
  tl_put_object(&w);
  tl_json_line(&w, 2);
  tl_member_z(&w, "command", "convert");
  tl_json_line(&w, 2);
  tl_member_sv(&w, "version_key", tl_sv_trim(tl_buf_view(&key)));
  if (model) {
    tl_json_line(&w, 2);
    tl_member_z(&w, "model", model);
  }
  tl_json_line(&w, 2);
  tl_put_key(&w, "outputs");
  tl_put_array(&w);
  for (uint32_t i = 0; i < cli->outputs.n; i++)
    tl_put_z(&w, cli->outputs.at[i]);
  tl_put_end(&w);
  tl_json_line(&w, 2);
  put_options(&w, &cli->settings, false);
  tl_json_line(&w, 2);
  put_options(&w, &cli->settings, true);
  tl_json_line(&w, 0);
  tl_json_finish(&w);
  out->failed |= key.failed;
  tl_buf_release(&key);
}

tl_status tl_options_json_write(tl_cli *cli) {
  if (!tl_cli_has(cli, TL_OPTION_OPTIONS_JSON))
    return TL_OK;
  tl_buf text;
  tl_buf_init(&text);
  put_all(cli, &text);
  tl_status status =
      tl_session_save_text(&cli->session, tl_cli_get(cli, TL_OPTION_OPTIONS_JSON), &text);
  tl_buf_release(&text);
  return status;
}
