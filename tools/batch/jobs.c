/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the jobs of a batch (jobs.h). */
#include "tools/batch/jobs.h"

#include "backend/weight_files.h"
#include "frontend/config/json.h"
#include "tools/batch/paths.h"
#include "tools/cli/options_json.h"

static bool has_hole(const char *text) { return strstr(text, "{}") != NULL; }

static bool is_model(const tl_cli *cli, const char *argument) {
  for (uint32_t i = 0; i < cli->models.n; i++)
    if (cli->models.at[i] == argument)
      return true;
  return false;
}

/* Returns true if argument i has a place for the name of the model; "{}" in JSON is an object. */
static bool is_template(const tl_cli *cli, int i) {
  return has_hole(cli->arguments[i]) && !is_model(cli, cli->arguments[i]) &&
         !tl_cli_is_json(cli, i);
}

/* A list of models may have a single one: what has a place for its name is the same then. */
bool tl_jobs_wanted(const tl_cli *cli) {
  bool wanted = tl_cli_has(cli, TL_OPTION_BATCH) || cli->models.n > 1;
  for (int i = 0; cli->models.n == 1 && i < cli->n_arguments; i++)
    wanted = wanted || is_template(cli, i);
  return wanted && !(cli->given && cli->given->is_job);
}

static tl_status push(tl_cli *cli, tl_arguments *job, const char *text, size_t n) {
  char *copy = tl_arena_copy(&job->arena, text, n);
  return copy && tl_argument_vec_push(&job->list, copy) ? TL_OK
                                                        : tl_fail_memory(&cli->diag, TL_NOWHERE);
}

/* Adds an argument with the name of the model, without folder and suffix, for each "{}". */
static tl_status push_filled(tl_cli *cli, tl_arguments *job, const char *text, tl_sv stem) {
  tl_buf out;
  tl_buf_init(&out);
  for (const char *c = text; *c; c++) {
    bool hole = stem.p && c[0] == '{' && c[1] == '}';
    if (hole)
      tl_buf_add_sv(&out, stem);
    else
      tl_buf_add_char(&out, *c);
    c += hole;
  }
  tl_status status = out.failed ? tl_fail_memory(&cli->diag, TL_NOWHERE)
                                : push(cli, job, out.n ? out.p : "", out.n);
  tl_buf_release(&out);
  return status;
}

/* Begins a job with the program, the command and every argument that is no model. */
static tl_status begin(tl_cli *cli, tl_sv stem, tl_arguments_vec *jobs, tl_arguments **out) {
  static const tl_sv none = {0};
  if (!tl_arguments_vec_push(jobs, (tl_arguments){0}))
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  tl_arguments *job = &jobs->at[jobs->n - 1];
  tl_arena_init(&job->arena, 0);
  job->is_job = true;
  *out = job;
  TL_TRY(push(cli, job, cli->given->list.at[0], strlen(cli->given->list.at[0])));
  TL_TRY(push(cli, job, cli->command->name, strlen(cli->command->name)));
  for (int i = 0; i < cli->n_arguments; i++)
    if (!is_model(cli, cli->arguments[i]))
      TL_TRY(push_filled(cli, job, cli->arguments[i], tl_cli_is_json(cli, i) ? none : stem));
  for (uint32_t i = 0; i < cli->given->files.n; i++)
    if (!tl_argument_vec_push(&job->files, cli->given->files.at[i]))
      return tl_fail_memory(&cli->diag, TL_NOWHERE);
  return TL_OK;
}

static tl_status end(tl_cli *cli, tl_arguments *job) {
  if (!tl_argument_vec_push(&job->list, NULL))
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  job->list.n--;
  return TL_OK;
}

/* ---- several models on the line -------------------------------------------------------------- */

static tl_status make_from_models(tl_cli *cli, tl_arguments_vec *out) {
  for (uint32_t i = 0; cli->models.n > 1 && i < cli->outputs.n; i++)
    if (!has_hole(cli->outputs.at[i]))
      return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                     tl_at_option(&cli->settings, TL_OPTION_OUTPUT),
                     "'%s' would be the output of %u models\vwrite {} where the name of the model "
                     "goes, for example -o 'out/{}.air'",
                     cli->outputs.at[i], cli->models.n);
  for (uint32_t i = 0; i < cli->models.n; i++) {
    const char *model = cli->models.at[i];
    tl_sv stem = tl_model_stem(model);
    tl_arguments *job;
    for (uint32_t k = 0; k < i; k++)
      if (tl_sv_eq(stem, tl_model_stem(cli->models.at[k])))
        return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(model),
                       "has the same name as '%s', so that {} is the same for both\vname each "
                       "output in a file for --batch",
                       cli->models.at[k]);
    TL_TRY(begin(cli, stem, out, &job));
    TL_TRY(push(cli, job, model, strlen(model)));
    TL_TRY(end(cli, job));
  }
  return TL_OK;
}

/* ---- a file ---------------------------------------------------------------------------------- */

typedef struct adder {
  tl_cli *cli;
  tl_arguments *job;
} adder;

static tl_status add_argument(void *user, const char *argument) {
  adder *a = user;
  return push(a->cli, a->job, argument, strlen(argument));
}

static tl_status make_from_list(tl_cli *cli, const char *path, const cJSON *list,
                                tl_arguments_vec *out) {
  const cJSON *item;
  adder a = {.cli = cli};
  tl_argument_sink sink = {.d = &cli->diag, .path = path, .add = add_argument, .user = &a};
  if (cJSON_IsArray(list) && cJSON_GetArraySize(list) == 0)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(path), "the list has no jobs");
  if (!cJSON_IsArray(list))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(path),
                   "a list of jobs was expected\v[{\"model\": FILE, \"outputs\": [FILE], "
                   "\"options\": {\"NAME\": VALUE}}, ...]");
  cJSON_ArrayForEach(item, list) {
    char *copy;
    TL_TRY(begin(cli, (tl_sv){NULL, 0}, out, &a.job));
    TL_TRY(tl_options_json_take(&sink, item));
    copy = tl_arena_copy(&a.job->arena, path, strlen(path));
    if (!copy || !tl_argument_vec_push(&a.job->files, copy))
      return tl_fail_memory(&cli->diag, TL_NOWHERE);
    TL_TRY(end(cli, a.job));
  }
  return TL_OK;
}

static tl_status make_from_file(tl_cli *cli, tl_arguments_vec *out) {
  const char *path = tl_cli_get(cli, TL_OPTION_BATCH);
  tl_file *file;
  tl_json json;
  tl_json_error error = {0};
  if (cli->models.n || cli->outputs.n || tl_cli_has(cli, TL_OPTION_MODEL))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, TL_OPTION_BATCH),
                   "names models and outputs, and so does the command line");
  TL_TRY(tl_file_open(&cli->diag, path, TL_FILE_READ, &file));
  tl_sv text = {file->size ? (const char *)file->data : "", (size_t)file->size};
  tl_status status = tl_json_parse(text, &json, &error);
  tl_file_close(file);
  if (status == TL_NO_MEMORY)
    return tl_fail_memory(&cli->diag, TL_AT_FILE(path));
  if (status != TL_OK)
    return tl_fail(
        &cli->diag, TL_INVALID_ARGUMENT,
        (tl_location){.file = path, .line = error.place.line, .column = error.place.column},
        "this is no JSON: %s", error.problem);
  const cJSON *list = cJSON_IsObject(json.root) ? cJSON_GetObjectItem(json.root, "jobs")
                                                : json.root;
  status = make_from_list(cli, path, list, out);
  tl_json_release(&json);
  return status;
}

tl_status tl_jobs_make(tl_cli *cli, tl_arguments_vec *out) {
  TL_TRY(tl_cli_has(cli, TL_OPTION_BATCH) ? make_from_file(cli, out) : make_from_models(cli, out));
  return tl_jobs_check_paths(cli, out);
}

void tl_jobs_release(tl_arguments_vec *jobs) {
  for (uint32_t i = 0; i < jobs->n; i++)
    tl_arguments_release(&jobs->at[i]);
  tl_arguments_vec_release(jobs);
}
