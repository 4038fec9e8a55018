/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes what a reproducer says, and implements tailor replay. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <unistd.h>

#include "support/json_writer.h"
#include "tools/cli/folder.h"
#include "tools/debug/reproduce.h"

tl_status tl_reproducer_write(tl_cli *cli, const char *folder, const tl_reproducer *r,
                              bool stripped) {
  tl_buf text;
  tl_buf_init(&text);
  tl_json_writer w = tl_json_to(&text);
  tl_put_object(&w);
  tl_json_line(&w, 2);
  tl_member_u64(&w, "schema", 1);
  tl_json_line(&w, 2);
  tl_member_z(&w, "version", TL_VERSION);
  tl_json_line(&w, 2);
  tl_member_z(&w, "compiler", TL_COMPILER);
  tl_json_line(&w, 2);
  tl_member_z(&w, "input", "input.tir");
  tl_json_line(&w, 2);
  tl_member_z(&w, "weights", stripped ? "one number each" : "kept");
  tl_json_line(&w, 2);
  tl_member_z(&w, "passes", r->passes ? r->passes : "");
  tl_json_line(&w, 2);
  tl_member_u64(&w, "stage", (uint64_t)r->stage);
  tl_json_line(&w, 2);
  tl_put_key(&w, "arguments");
  tl_put_array(&w);
  for (uint32_t i = 0; i < r->arguments.n; i++)
    tl_put_z(&w, r->arguments.at[i]);
  tl_put_end(&w);
  tl_json_line(&w, 2);
  tl_member_z(&w, "pass", r->ending.pass);
  tl_json_line(&w, 2);
  tl_member_u64(&w, "status", (uint64_t)r->ending.status);
  tl_json_line(&w, 2);
  tl_member_u64(&w, "signal", (uint64_t)r->ending.signal);
  tl_json_line(&w, 2);
  tl_member_z(&w, "message", r->ending.message);
  tl_json_line(&w, 0);
  tl_json_finish(&w);
  const char *path = tl_folder_path(cli, folder, "reproducer.json");
  tl_session now = cli->session;
  now.changes = NULL;
  tl_status status = path ? tl_session_save_text(&now, path, &text)
                          : tl_fail_memory(&cli->diag, TL_NOWHERE);
  tl_buf_release(&text);
  return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char *text_of(tl_cli *cli, const cJSON *o, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);
  return cJSON_IsString(item)
             ? tl_arena_copy(&cli->settings.arena, item->valuestring, strlen(item->valuestring))
             : NULL;
}

static bool number_of(const cJSON *o, const char *key, int most, int *out) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);
  bool good = cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= most;
  *out = good ? (int)item->valuedouble : 0;
  return good;
}

static bool read_arguments(tl_cli *cli, const cJSON *o, tl_path_vec *out) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "arguments"), *item;
  if (!cJSON_IsArray(list))
    return false;
  cJSON_ArrayForEach(item, list) {
    const char *text = cJSON_IsString(item) ? tl_arena_copy(&cli->settings.arena, item->valuestring,
                                                            strlen(item->valuestring))
                                            : NULL;
    if (!text || text[0] != '-' || !tl_path_vec_push(out, text))
      return false;
  }
  return true;
}

/* A name of a file in the folder, and nothing outside it. */
static bool is_plain_name(const char *name) {
  return name && *name && *name != '.' && !strchr(name, '/');
}

static bool read_object(tl_cli *cli, const char *folder, const cJSON *o, tl_reproducer *out) {
  int schema, stage, status;
  const char *input = text_of(cli, o, "input"), *passes = text_of(cli, o, "passes");
  const char *pass = text_of(cli, o, "pass"), *message = text_of(cli, o, "message");
  if (!number_of(o, "schema", 1, &schema) || schema != 1 || !is_plain_name(input) || !passes ||
      !pass || !message || !number_of(o, "stage", TL_N_STAGES - 1, &stage) ||
      !number_of(o, "status", 255, &status) || !number_of(o, "signal", 128, &out->ending.signal))
    return false;
  out->input = tl_folder_path(cli, folder, input);
  out->passes = *passes ? passes : NULL;
  out->stage = (tl_stage)stage;
  out->ending.status = (tl_status)status;
  snprintf(out->ending.pass, sizeof out->ending.pass, "%s", pass);
  snprintf(out->ending.message, sizeof out->ending.message, "%s", message);
  return out->input && read_arguments(cli, o, &out->arguments);
}

tl_status tl_reproducer_read(tl_cli *cli, const char *folder, tl_reproducer *out) {
  tl_file *f;
  const char *path = tl_folder_path(cli, folder, "reproducer.json");
  *out = (tl_reproducer){.input = NULL};
  if (!path)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  TL_TRY(tl_file_open(&cli->diag, path, TL_FILE_READ, &f));
  cJSON *o = cJSON_ParseWithLength((const char *)f->data, (size_t)f->size);
  bool good = cJSON_IsObject(o) && read_object(cli, folder, o, out);
  cJSON_Delete(o);
  tl_file_close(f);
  return good ? TL_OK
              : tl_fail(&cli->diag, TL_INVALID_MODEL, TL_AT_FILE(path),
                        "this is no description of a reproducer, or of another version");
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Takes the options of the conversion, as if they stood on this command line. Files that they name
 * are in the folder, so it becomes the working directory. */
static tl_status take_arguments(tl_cli *cli, const tl_reproducer *r) {
  const char *word = cli->word;
  char **argv = tl_arena_calloc(&cli->settings.arena, r->arguments.n + 1U, sizeof *argv);
  if (!argv)
    return tl_fail_memory(&cli->diag, TL_AT_FILE(word));
  for (uint32_t i = 0; i < r->arguments.n; i++)
    argv[i] = (char *)(uintptr_t)r->arguments.at[i];
  cli->word = NULL;
  TL_TRY(tl_cli_take(cli, (int)r->arguments.n, argv));
  cli->word = word;
  return tl_settings_resolve(&cli->settings, &cli->diag);
}

static void describe(const tl_ending *e, tl_buf *out) {
  if (e->signal)
    tl_buf_printf(out, "pass '%s' was ended by signal %d\n", e->pass, e->signal);
  else if (e->status != TL_OK)
    tl_buf_printf(out, "pass '%s' fails: %s\n", e->pass, e->message);
  else
    tl_buf_add_z(out, "no pass fails\n");
}

static void put_ending(tl_json_writer *w, const char *key, const tl_ending *e) {
  tl_json_line(w, 1);
  tl_put_key(w, key);
  tl_put_object(w);
  tl_member_z(w, "pass", e->pass);
  tl_member_u64(w, "status", (uint64_t)e->status);
  tl_member_u64(w, "signal", (uint64_t)e->signal);
  tl_member_z(w, "message", e->message);
  tl_put_end(w);
}

static tl_status print_json(tl_cli *cli, const tl_reproducer *r, const tl_ending *now) {
  tl_buf text;
  tl_buf_init(&text);
  tl_json_writer w = tl_json_to(&text);
  tl_put_object(&w);
  tl_member_u64(&w, "schema", 1);
  tl_member_z(&w, "folder", cli->word);
  tl_member_bool(&w, "same", !cli->differs);
  put_ending(&w, "now", now);
  put_ending(&w, "recorded", &r->ending);
  tl_json_finish(&w);
  return tl_cli_print(cli, &text);
}

static tl_status replay(tl_cli *cli, const tl_reproducer *r) {
  tl_ending ending;
  tl_buf text;
  bool json = tl_cli_has(cli, TL_OPTION_AS_JSON);
  TL_TRY(take_arguments(cli, r));
  TL_TRY(tl_run_apart(cli, "input.tir", r->passes, r->stage, &ending));
  cli->differs = !tl_same_ending(&ending, &r->ending);
  if (json)
    return print_json(cli, r, &ending);
  tl_buf_init(&text);
  describe(&ending, &text);
  if (cli->differs) {
    tl_buf_add_z(&text, "when it was recorded: ");
    describe(&r->ending, &text);
  } else {
    tl_buf_add_z(&text, "as when it was recorded\n");
  }
  return tl_cli_print(cli, &text);
}

tl_status tl_command_replay(tl_cli *cli) {
  tl_reproducer r;
  const char *folder = cli->word;
  if (!folder)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "no folder was given\vtailor replay DIR");
  tl_status status = tl_reproducer_read(cli, folder, &r);
  if (status == TL_OK && chdir(folder) != 0)
    status = tl_fail(&cli->diag, TL_IO, TL_AT_FILE(folder), "cannot enter '%s'", folder);
  if (status == TL_OK)
    status = replay(cli, &r);
  tl_path_vec_release(&r.arguments);
  return status;
}
