/* SPDX-License-Identifier: Apache-2.0 */
/* Finds files that a job of a batch writes, and another one writes or reads (paths.h). */
#include "tools/batch/paths.h"

#include <stdlib.h>

enum { FIRST_ARGUMENT = 2 }; /* behind the program and the command */

/* A file that a job writes or reads. */
typedef struct file {
  const char *path;   /* as the job spells it */
  char *real;         /* without links, "." and ".." */
  const char *option; /* its name */
  uint32_t job;
  bool reads;
} file;

TL_VEC(file_vec, file);

/* Of one file, who writes it comes first. */
static int by_path(const void *a, const void *b) {
  const file *x = a, *y = b;
  int order = strcmp(x->real, y->real);
  if (order == 0)
    order = x->reads - y->reads;
  return order ? order : (x->job > y->job) - (x->job < y->job);
}

/* Returns true for options that name a file or folder to write. */
static bool is_written(tl_option_id id) {
  return id == TL_OPTION_OUTPUT || id == TL_OPTION_OPTIONS_JSON ||
         (tl_option_is_report(id) && tl_option_row_get(id)->kind == TL_OPTION_PATH);
}

/* Finds the option of an argument and its value, which is behind '=' or in the next argument (NULL
 * if there is none). *width: the number of arguments that it takes. */
static tl_option_id option_of(const char *arg, const char *next, const char **value, int *width) {
  const char *equals = strchr(arg, '=');
  const char *name = arg + (arg[0] == '-') + (arg[0] == '-' && arg[1] == '-');
  size_t n = equals ? (size_t)(equals - name) : strlen(name);
  bool is_letter = arg[0] == '-' && arg[1] && arg[1] != '-' && !arg[2];
  tl_option_id id = arg[0] != '-' ? TL_N_OPTION_ROWS
                    : is_letter   ? tl_option_find_letter(arg[1], TL_COMMAND_CONVERT)
                                  : tl_option_find((tl_sv){name, n}, TL_COMMAND_CONVERT);
  *width = 1;
  *value = equals ? equals + 1 : NULL;
  if (id == TL_N_OPTION_ROWS || equals || tl_option_row_get(id)->kind == TL_OPTION_FLAG ||
      tl_option_row_get(id)->kind == TL_OPTION_MAYBE)
    return id;
  *width = 2;
  *value = next;
  return id;
}

char *tl_real_path(const char *path) {
  char *real = realpath(path, NULL);
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  if (real)
    return real;
  char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
  char *there = folder ? realpath(folder, NULL) : NULL;
  tl_buf made;
  tl_buf_init(&made);
  if (there)
    tl_buf_printf(&made, "%s/%s", there[1] ? there : "", name);
  else
    tl_buf_add_z(&made, path);
  free(there);
  free(folder);
  if (!made.failed)
    return made.p;
  tl_buf_release(&made);
  return NULL;
}

static bool add_file(file_vec *out, file f) {
  f.real = f.path ? tl_real_path(f.path) : NULL;
  if (f.real && file_vec_push(out, f))
    return true;
  free(f.real);
  return false;
}

/* Adds what options name, and the model, which may be an argument without one. */
static bool list_files(const tl_arguments *job, uint32_t number, file_vec *out) {
  int width = 1;
  for (uint32_t i = FIRST_ARGUMENT; i < job->list.n; i += (uint32_t)width) {
    const char *next = i + 1 < job->list.n ? job->list.at[i + 1] : NULL, *path;
    tl_option_id id = option_of(job->list.at[i], next, &path, &width);
    if (id == TL_N_OPTION_ROWS && job->list.at[i][0] != '-') {
      id = TL_OPTION_MODEL;
      path = job->list.at[i];
    }
    if (id == TL_N_OPTION_ROWS || !path || strcmp(path, "-") == 0)
      continue;
    bool writes = is_written(id);
    if (!writes && id != TL_OPTION_MODEL && tl_option_row_get(id)->kind != TL_OPTION_PATH)
      continue;
    if (!add_file(out, (file){path, NULL, tl_option_row_get(id)->name, number, !writes}))
      return false;
  }
  return true;
}

static tl_status refuse(tl_cli *cli, const file *a, const file *b) {
  if (b->reads)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "job %u reads '%s' (--%s), which job %u writes\vjobs run side by side: put the "
                   "second one into another batch",
                   b->job + 1, b->path, b->option, a->job + 1);
  return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                 "jobs %u and %u both write '%s' (--%s)\vgive each job a name of its own%s",
                 a->job + 1, b->job + 1, b->path, b->option,
                 tl_cli_has(cli, TL_OPTION_BATCH) ? "" : ", with {} in it");
}

static tl_status find_clash(tl_cli *cli, const file_vec *v) {
  const file *first = v->n ? v->at : NULL;
  for (uint32_t i = 1; i < v->n; i++) {
    const file *f = &v->at[i];
    if (strcmp(first->real, f->real) != 0)
      first = f;
    else if (!first->reads && first->job != f->job)
      return refuse(cli, first, f);
  }
  return TL_OK;
}

tl_status tl_jobs_check_paths(tl_cli *cli, const tl_arguments_vec *jobs) {
  file_vec v = {0};
  bool ok = true;
  for (uint32_t i = 0; i < jobs->n && ok; i++)
    ok = list_files(&jobs->at[i], i, &v);
  if (v.n)
    qsort(v.at, v.n, sizeof *v.at, by_path);
  tl_status status = ok ? find_clash(cli, &v) : tl_fail_memory(&cli->diag, TL_NOWHERE);
  for (uint32_t i = 0; i < v.n; i++)
    free(v.at[i].real);
  file_vec_release(&v);
  return status;
}
