/* SPDX-License-Identifier: Apache-2.0 */
/* Implements commands of the user. */
#include "tools/debug/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/cli/folder.h"

enum { MOST_SAID = 1 << 20 };

void tl_shell_quote(tl_buf *out, tl_sv text) {
  bool plain = text.n > 0;
  for (size_t i = 0; i < text.n; i++) {
    char c = text.p[i];
    plain = plain && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      (c && strchr("-_./=:,+@%", c)));
  }
  if (plain) {
    tl_buf_add_sv(out, text);
    return;
  }
  tl_buf_add_char(out, '\'');
  for (size_t i = 0; i < text.n; i++) {
    if (text.p[i] == '\'')
      tl_buf_add_z(out, "'\\''");
    else
      tl_buf_add_char(out, text.p[i]);
  }
  tl_buf_add_char(out, '\'');
}

/* Puts the path in place of each {}. */
static void fill_in(tl_buf *out, const char *command, const char *path) {
  for (const char *at; (at = strstr(command, "{}")); command = at + 2) {
    tl_buf_add(out, command, (size_t)(at - command));
    tl_shell_quote(out, tl_sv_from(path));
  }
  tl_buf_add_z(out, command);
}

/* The command's process: it reads nothing, and everything it prints is one stream. */
static void become(const char *line, int out) {
  int nothing = open("/dev/null", O_RDONLY);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
  if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
      dup2(out, STDERR_FILENO) >= 0)
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
  _exit(127);
}

/* Reads what the command prints until nobody can print any more. */
static void listen_to(int pipe, tl_buf *said) {
  char block[4096];
  for (;;) {
    ssize_t n = read(pipe, block, sizeof block);
    if (n > 0 && said->n < MOST_SAID)
      tl_buf_add(said, block, (size_t)n);
    else if (n == 0 || (n < 0 && errno != EINTR))
      return;
  }
}

static tl_status run(tl_cli *cli, const char *line, tl_command_result *r) {
  int ends[2], how = 0;
  if (pipe(ends) != 0)
    return tl_fail(&cli->diag, TL_IO, TL_NOWHERE, "cannot create a pipe: %s", strerror(errno));
  pid_t pid = fork();
  if (pid == 0)
    become(line, ends[1]);
  close(ends[1]);
  if (pid > 0)
    listen_to(ends[0], &r->said);
  close(ends[0]);
  if (pid < 0)
    return tl_fail(&cli->diag, TL_IO, TL_NOWHERE, "cannot start '/bin/sh': %s", strerror(errno));
  while (waitpid(pid, &how, 0) < 0)
    if (errno != EINTR)
      return tl_fail(&cli->diag, TL_IO, TL_NOWHERE, "cannot wait for a process: %s",
                     strerror(errno));
  r->status = WIFEXITED(how) ? WEXITSTATUS(how) : 0;
  r->signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
  return TL_OK;
}

/* Writes the module at once, whatever else the command writes. */
static tl_status save(tl_cli *cli, tl_module *m, const char *path, tl_format format) {
  tl_session now = cli->session;
  now.changes = NULL;
  return tl_session_save(&now, m, &(tl_destination){path, format, NULL});
}

tl_status tl_command_ask(tl_cli *cli, const char *command, tl_module *m, tl_format format,
                         tl_command_result *out) {
  const char *folder;
  tl_buf path, line;
  tl_buf_init(&path);
  tl_buf_init(&line);
  tl_buf_init(&out->said);
  tl_status status = tl_folder_make(cli, &folder);
  if (status == TL_OK) {
    tl_buf_printf(&path, "%s/model.%s", folder, tl_format_name(format));
    fill_in(&line, command, path.failed ? "" : path.p);
    status = path.failed || line.failed ? tl_fail_memory(&cli->diag, TL_NOWHERE)
                                        : save(cli, m, path.p, format);
    if (status == TL_OK)
      status = run(cli, line.p, out);
    tl_folder_remove(folder);
  }
  tl_buf_release(&path);
  tl_buf_release(&line);
  return status;
}

void tl_command_result_release(tl_command_result *r) { tl_buf_release(&r->said); }
