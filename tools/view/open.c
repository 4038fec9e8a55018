/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a browser. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/view/serve.h"

/* The process that becomes the opener: what it prints is nothing to ours. */
static void become(const char *what) {
  int nothing = open("/dev/null", O_RDWR);
  if (nothing >= 0) {
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
  }
  execlp("xdg-open", "xdg-open", what, (char *)NULL);
  _exit(127);
}

/* Starts xdg-open and waits for it: it ends once a browser has the address. */
static bool start(const char *what) {
  int how = 0;
  pid_t pid = fork();
  if (pid == 0)
    become(what);
  return pid > 0 && waitpid(pid, &how, 0) == pid && WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

static bool has_desktop(void) {
  const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
  return (x && *x) || (wayland && *wayland);
}

void tl_view_open(tl_cli *cli, const char *what) {
  tl_buf text;
  if (has_desktop() && start(what))
    return;
  tl_buf_init(&text);
  tl_buf_printf(&text, "%s: open %s in a browser\n",
                has_desktop() ? "xdg-open failed" : "there is no desktop here", what);
  tl_cli_note(cli, &text);
}
