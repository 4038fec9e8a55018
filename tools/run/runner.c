/* SPDX-License-Identifier: Apache-2.0 */
/* Hands a model to another runtime in a process of its own. No shell is involved: the command is
 * split at blanks. */
#include "tools/run/runner.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ir/fork.h"
#include "ir/graph.h"
#include "tools/cli/folder.h"
#include "tools/run/data_folder.h"
#include "tools/run/value_files.h"

extern char **environ;

TL_VEC(arg_vec, char *);

/* Paths of one run; all are in the arena of the settings. */
typedef struct runner {
  tl_evaluation *e;
  const char *folder; /* settings' arena */
  const char *inputs;
  const char *outputs;
  const char *model;
} runner;

static tl_location at_runner(const runner *r) {
  return tl_at_option(&r->e->cli->settings, TL_OPTION_RUNNER);
}

/* ---- the folder ----------------------------------------------------------------------------- */

/* Creates the temporary folder and its folder of outputs. */
static tl_status make_folder(runner *r) {
  tl_cli *cli = r->e->cli;
  TL_TRY(tl_folder_make(cli, &r->folder));
  r->inputs = tl_folder_path(cli, r->folder, "inputs");
  r->outputs = tl_folder_path(cli, r->folder, "outputs");
  return r->inputs && r->outputs ? tl_make_folder(&cli->diag, r->outputs)
                                 : tl_fail_memory(&cli->diag, TL_NOWHERE);
}

/* Runners have no reason to make folders. */
static void remove_folder(const runner *r) {
  if (r->inputs)
    tl_folder_remove(r->inputs);
  if (r->outputs)
    tl_folder_remove(r->outputs);
  if (r->folder)
    tl_folder_remove(r->folder);
}

/* ---- the process ---------------------------------------------------------------------------- */

/* Splits the command at blanks, in place, and adds the three arguments and the NULL. */
static tl_status make_arguments(runner *r, char *command, arg_vec *argv) {
  const char *const more[] = {r->model, r->inputs, r->outputs, NULL};
  char *rest = command;
  for (char *word; (word = strtok_r(rest, " \t", &rest));)
    if (!arg_vec_push(argv, word))
      return tl_fail_memory(&r->e->cli->diag, TL_NOWHERE);
  if (!argv->n)
    return tl_fail(&r->e->cli->diag, TL_INVALID_ARGUMENT, at_runner(r), "the command is empty");
  for (size_t i = 0; i < sizeof more / sizeof *more; i++)
    if (!arg_vec_push(argv, (char *)(uintptr_t)more[i]))
      return tl_fail_memory(&r->e->cli->diag, TL_NOWHERE);
  return TL_OK;
}

/* Starts the runner. SIGPIPE and SIGXFSZ, which this tool ignores, get their default again, because
 * an ignored signal stays ignored in a new program. */
static int spawn(const arg_vec *argv, const posix_spawn_file_actions_t *actions, pid_t *pid) {
  posix_spawnattr_t attributes;
  sigset_t ignored;
  sigemptyset(&ignored);
  sigaddset(&ignored, SIGPIPE);
  sigaddset(&ignored, SIGXFSZ);
  int problem = posix_spawnattr_init(&attributes);
  if (problem)
    return problem;
  problem = posix_spawnattr_setsigdefault(&attributes, &ignored);
  if (!problem)
    problem = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  if (!problem)
    problem = posix_spawnp(pid, argv->at[0], actions, &attributes, argv->at, environ);
  posix_spawnattr_destroy(&attributes);
  return problem;
}

/* What the runner prints goes to our standard error: standard output is for results. */
static tl_status start(runner *r, const arg_vec *argv, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0)
    return tl_fail_memory(&r->e->cli->diag, TL_NOWHERE);
  int problem = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  if (!problem)
    problem = spawn(argv, &actions, pid);
  posix_spawn_file_actions_destroy(&actions);
  if (!problem)
    return TL_OK;
  if (problem == ENOMEM)
    return tl_fail_memory(&r->e->cli->diag, TL_NOWHERE);
  return tl_fail(&r->e->cli->diag, TL_IO, at_runner(r), "cannot start '%s': %s", argv->at[0],
                 strerror(problem));
}

/* Waits for the runner. A signal to this process ends the wait early; the runner is then asked once
 * to stop, and waited for, so that it writes into no removed folder. */
static tl_status wait_for(runner *r, const char *name, pid_t pid) {
  int how;
  bool told = false;
  while (waitpid(pid, &how, 0) < 0) {
    if (errno != EINTR)
      return tl_fail(&r->e->cli->diag, TL_IO, at_runner(r), "cannot wait for '%s': %s", name,
                     strerror(errno));
    if (*r->e->cli->signal && !told)
      told = kill(pid, SIGTERM) == 0;
  }
  if (WIFEXITED(how) && WEXITSTATUS(how) == 0)
    return TL_OK;
  if (WIFEXITED(how))
    return tl_fail(&r->e->cli->diag, TL_UNSUPPORTED, at_runner(r), "'%s' failed with status %d",
                   name, WEXITSTATUS(how));
  return tl_fail(&r->e->cli->diag, TL_UNSUPPORTED, at_runner(r), "'%s' was stopped by signal %d",
                 name, WIFSIGNALED(how) ? WTERMSIG(how) : 0);
}

/* Starts the runner and waits for it. The command is copied, because it is split in place. */
static tl_status call(runner *r) {
  pid_t pid;
  arg_vec argv = {0};
  const char *text = tl_cli_get(r->e->cli, TL_OPTION_RUNNER);
  char *command = tl_arena_copy(&r->e->cli->settings.arena, text, strlen(text));
  if (!command)
    return tl_fail_memory(&r->e->cli->diag, TL_NOWHERE);
  tl_status status = make_arguments(r, command, &argv);
  if (status == TL_OK)
    status = start(r, &argv, &pid);
  if (status == TL_OK)
    status = wait_for(r, argv.at[0], pid);
  arg_vec_release(&argv);
  return status;
}

/* ---- model, inputs, outputs ----------------------------------------------------------------- */

/* Makes sure that the model is an ONNX file with the inputs that options ask for. Another one, and
 * one that is in no file (path NULL), is written as ONNX into the temporary folder. */
static tl_status prepare_model(runner *r, const char *path, tl_module *m) {
  const tl_options *o = &r->e->cli->settings.options;
  r->model = path;
  if (path && tl_sv_ends_with(tl_sv_from(path), ".onnx") && !o->n_input_shapes && !o->n_frozen)
    return TL_OK;
  r->model = tl_folder_path(r->e->cli, r->folder, "model.onnx");
  tl_session now = r->e->cli->session; /* the runner wants it now */
  now.changes = NULL;
  return r->model ? tl_session_save(&now, m, &(tl_destination){r->model, TL_FORMAT_ONNX, NULL})
                  : tl_fail_memory(&r->e->cli->diag, TL_NOWHERE);
}

/* Writes the inputs with a journal of their own, because the runner needs the files now. */
static tl_status write_inputs(runner *r, const tl_module *m, const tl_host_vec *inputs) {
  tl_value_files files;
  tl_changes changes = {0}; /* the runner wants them now */
  tl_value_files_init(&files, r->e->cli);
  files.changes = &changes;
  tl_status status =
      tl_value_files_series(&files, (tl_value_series){r->inputs, "input", "pb"}, m, false, inputs);
  if (status == TL_OK)
    status = tl_changes_apply(&changes, &r->e->cli->diag);
  tl_changes_undo(&changes);
  tl_value_files_release(&files);
  return status;
}

/* Reads the outputs; each must be there. */
static tl_status read_outputs(runner *r, const tl_module *m, tl_host_vec *outputs) {
  const tl_graph *g = tl_module_main(m);
  TL_TRY(tl_folder_outputs(r->e, r->outputs, m, outputs));
  for (uint32_t i = 0; i < outputs->n; i++)
    if (!outputs->at[i])
      return tl_fail(&r->e->cli->diag, TL_UNSUPPORTED, at_runner(r),
                     "it wrote no output_%u.pb, the value of '%.*s'", i,
                     TL_SV_ARG(tl_value_name(m, tl_graph_output(m, g, i))));
  return TL_OK;
}

tl_status tl_runner_run(tl_evaluation *e, const char *path, tl_module *m, const tl_host_vec *inputs,
                        tl_host_vec *outputs) {
  runner r = {.e = e};
  tl_progress_say(&e->cli->progress, tl_cli_has(e->cli, TL_OPTION_QUIET), "evaluating %s by %s",
                  m->path, tl_cli_get(e->cli, TL_OPTION_RUNNER));
  tl_status status = make_folder(&r);
  if (status == TL_OK)
    status = prepare_model(&r, path, m);
  if (status == TL_OK)
    status = write_inputs(&r, m, inputs);
  if (status == TL_OK)
    status = call(&r);
  if (status == TL_OK)
    status = read_outputs(&r, m, outputs);
  remove_folder(&r);
  return status;
}

/* ---- all tensors ---------------------------------------------------------------------------- */

/* Returns true for a result that can be an output beside those of the model. */
static bool is_further(const tl_module *m, tl_value_id v) {
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  return tl_value_get(m, v)->name && t->kind == TL_KIND_TENSOR && t->dtype != TL_DTYPE_NONE &&
         !tl_value_is_output(m, v);
}

/* Makes all tensors of the main graph outputs, behind those that it has. */
static tl_status give_all(tl_module *m) {
  tl_u32_vec list = {0};
  const tl_graph *g = tl_module_main(m);
  bool ok = true;
  for (uint32_t i = 0; ok && i < tl_graph_n_outputs(m, g); i++)
    ok = tl_u32_vec_push(&list, tl_graph_output(m, g, i));
  TL_FOR_NODES(m, g, n)
    for (uint32_t i = 0; i < tl_node_get(m, n)->n_results; i++)
      if (is_further(m, tl_result(m, n, i)))
        ok = ok && tl_u32_vec_push(&list, tl_result(m, n, i));
  tl_status status = ok ? tl_graph_set_outputs(m, g->id, list.at, list.n) : tl_no_memory(m);
  tl_u32_vec_release(&list);
  return status;
}

/* Shows all values, and hands over those of the model's own outputs. */
static tl_status hand_over(const tl_module *m, uint32_t n_own, tl_host_vec *all,
                           const tl_runner_watch *watch, tl_host_vec *outputs) {
  for (uint32_t i = 0; i < all->n; i++) {
    tl_value_id v = tl_graph_output(m, tl_module_main(m), i);
    TL_TRY(watch->fn(watch->user, m, v, all->at[i]));
    if (i < n_own && !tl_values_keep(outputs, all->at[i]))
      return tl_no_memory(m);
  }
  return TL_OK;
}

tl_status tl_runner_tensors(tl_evaluation *e, tl_module *m, const tl_host_vec *inputs,
                            tl_host_vec *outputs, const tl_runner_watch *watch) {
  tl_host_vec all = {0};
  tl_module *whole = tl_module_fork(m, &e->cli->diag);
  if (!whole)
    return tl_fail_memory(&e->cli->diag, TL_NOWHERE);
  tl_status status = give_all(whole);
  if (status == TL_OK)
    status = tl_runner_run(e, NULL, whole, inputs, &all);
  if (status == TL_OK)
    status = hand_over(whole, tl_graph_n_outputs(m, tl_module_main(m)), &all, watch, outputs);
  tl_values_release(&all);
  tl_module_destroy(whole);
  return status;
}
