/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor atc (atc.h). */
#include "tools/convert/atc.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/convert/atc_line.h"

enum { EXIT_IO = 4 };

static tl_status push(tl_cli *cli, tl_arguments *line, const char *text) {
  char *copy = tl_arena_copy(&line->arena, text, strlen(text));
  return copy && tl_argument_vec_push(&line->list, copy) ? TL_OK
                                                         : tl_fail_memory(&cli->diag, TL_NOWHERE);
}

/* Returns the index of the first argument of atc; the number of arguments if "--" is missing. */
static int first_of_atc(const tl_cli *cli) {
  int i = 0;
  while (i < cli->n_arguments && strcmp(cli->arguments[i], "--") != 0)
    i++;
  return i + 1 < cli->n_arguments ? i + 1 : cli->n_arguments;
}

/* Returns true for a line that compiles no model: help, and the modes that look at models. */
static bool only_for_atc(const tl_cli *cli, int first) {
  for (int i = first; i < cli->n_arguments; i++) {
    const char *a = cli->arguments[i];
    if (strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0 ||
        (strncmp(a, "--mode=", 7) == 0 && strcmp(a, "--mode=0") != 0))
      return true;
  }
  return false;
}

/* Makes the command line of convert: the default precision is that of atc. */
static tl_status make_line(tl_cli *cli, tl_arguments *line) {
  int first = first_of_atc(cli);
  if (first == cli->n_arguments)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "no options of atc are given\vtailor atc -- --framework=5 --model=m.onnx "
                   "--output=m --soc_version=CHIP");
  TL_TRY(push(cli, line, cli->given->list.at[0]));
  TL_TRY(push(cli, line, "convert"));
  TL_TRY(push(cli, line, "--atc-compat"));
  TL_TRY(push(cli, line, "--summary=none"));
  for (int i = first; i < cli->n_arguments; i++)
    TL_TRY(push(cli, line, cli->arguments[i]));
  if (!tl_argument_vec_push(&line->list, NULL))
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  line->list.n--;
  return TL_OK;
}

/* Runs the line in a shell, which it is spelled for, and waits. */
static int run_shell(tl_cli *cli, char *line) {
  int how = 0;
  pid_t pid = fork();
  if (pid == 0) {
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(EXIT_IO);
  }
  while (pid > 0 && waitpid(pid, &how, 0) < 0)
    if (*cli->signal)
      kill(pid, *cli->signal);
  if (pid < 0)
    return tl_status_exit_code(
        tl_fail(&cli->diag, TL_IO, TL_NOWHERE, "cannot start atc: %s", strerror(errno)));
  return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

tl_status tl_atc_run(tl_cli *cli, tl_atc_convert_fn convert, int *code) {
  tl_arguments line = {0};
  tl_atc_call call = {.program = tl_cli_get(cli, TL_OPTION_ATC_PROGRAM),
                      .dry = tl_cli_has(cli, TL_OPTION_DRY_RUN)};
  tl_arena_init(&line.arena, 0);
  tl_buf_init(&call.line);
  tl_status status = make_line(cli, &line);
  int first = first_of_atc(cli);
  bool as_is = status == TL_OK && only_for_atc(cli, first);
  if (as_is)
    tl_atc_line_as_is(call.program, cli->arguments + first, cli->n_arguments - first, &call.line);
  *code = status == TL_OK && !as_is ? convert(&line, &call) : 0;
  if (status == TL_OK && *code == 0 && call.line.failed)
    status = tl_fail_memory(&cli->diag, TL_NOWHERE);
  if (status == TL_OK && *code == 0 && call.line.n == 0)
    status = tl_fail(&cli->diag, TL_UNSUPPORTED, TL_NOWHERE,
                     "nothing was written that atc can compile\vatc needs an AIR file of ops that "
                     "all have an NPU form");
  tl_buf_add_char(&call.line, call.dry ? '\n' : '\0');
  if (status == TL_OK && *code == 0 && call.dry)
    status = tl_cli_print(cli, &call.line);
  else if (status == TL_OK && *code == 0)
    *code = run_shell(cli, call.line.p);
  tl_buf_release(&call.line);
  tl_arguments_release(&line);
  return status;
}
