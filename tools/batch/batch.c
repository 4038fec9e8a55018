/* SPDX-License-Identifier: Apache-2.0 */
/* Implements batches (batch.h).
 *
 * --memory-limit is shared out: each of N processes may take one Nth of it (RLIMIT_DATA: heap and
 * private mappings; mapped models are not counted). A job that lacks memory with its share runs
 * once more, alone and with all of it. */
#include "tools/batch/batch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/batch/files.h"
#include "tools/batch/jobserver.h"
#include "tools/cli/limits.h"

enum {
  EXIT_NO_MEMORY = 70,
  EXIT_ATC = 255,
  EXIT_CANNOT_START = 4,
  POLL_MS = 20,
  MOST_AT_ONCE = 64
};

typedef enum job_state { WAITING, RUNNING, ALONE, DONE, SHOWN, SKIPPED } job_state;

/* One job. */
typedef struct job {
  const tl_arguments *line;
  job_state state; /* ALONE: waits until nothing else runs */
  pid_t pid;
  bool has_token; /* of the jobserver */
  bool alone;     /* runs with all memory */
  int out, err;   /* what it prints; -1: closed */
  int log;        /* what it has to say in the log; -1: there is none */
  int written;    /* which files it wrote; -1: closed */
  int code;
} job;

typedef struct batch {
  tl_cli *cli;
  tl_job_fn run;
  job *jobs;
  uint32_t n, running, most;
  uint64_t limit; /* bytes; 0: none */
  tl_jobserver server;
  tl_job_files files;
  bool stopped; /* no more jobs begin */
  int code;
} batch;

/* ---- one job --------------------------------------------------------------------------------- */

static void close_outputs(job *j) {
  if (j->out >= 0)
    close(j->out);
  if (j->err >= 0)
    close(j->err);
  if (j->log >= 0)
    close(j->log);
  if (j->written >= 0)
    close(j->written);
  j->out = -1;
  j->err = -1;
  j->log = -1;
  j->written = -1;
}

/* Runs a job in this process, which was forked for it. */
static void be_job(batch *b, const job *j) {
  uint64_t share = j->alone ? b->limit : b->limit / b->most;
  bool good = dup2(j->out, STDOUT_FILENO) >= 0 && dup2(j->err, STDERR_FILENO) >= 0;
  tl_limit_memory(share);
  tl_arguments line = *j->line;
  line.log = j->log >= 0 ? j->log : 0;
  line.written = j->written;
  int code = good ? b->run(&line) : EXIT_CANNOT_START;
  fflush(NULL);
  _exit(code);
}

/* Starts a job. One that cannot be started has failed. */
static void start(batch *b, job *j) {
  j->out = memfd_create("tailor-stdout", MFD_CLOEXEC);
  j->err = memfd_create("tailor-stderr", MFD_CLOEXEC);
  j->written = memfd_create("tailor-written", MFD_CLOEXEC);
  if (b->cli->messages.form == TL_MESSAGES_SARIF)
    j->log = memfd_create("tailor-log", MFD_CLOEXEC);
  fflush(NULL);
  j->pid = j->out >= 0 && j->err >= 0 && j->written >= 0 ? fork() : -1;
  if (j->pid == 0)
    be_job(b, j);
  if (j->pid > 0) {
    j->state = RUNNING;
    b->running++;
    return;
  }
  tl_status said =
      tl_fail(&b->cli->diag, TL_IO, TL_NOWHERE, "cannot start a process: %s", strerror(errno));
  j->code = tl_status_exit_code(said);
  j->state = DONE;
}

/* Copies what a job has printed to where it belongs. Returns false when that takes no more. */
static bool show(int from, FILE *to) {
  char block[8192];
  off_t at = 0;
  bool good = true;
  for (ssize_t got; from >= 0 && (got = pread(from, block, sizeof block, at)) > 0; at += got)
    good = fwrite(block, 1, (size_t)got, to) == (size_t)got && good;
  return fflush(to) == 0 && good;
}

/* Says which job of a file has failed: what it said may name no file. */
static void say_failed(const batch *b, uint32_t i) {
  const char *path = tl_cli_get(b->cli, TL_OPTION_BATCH);
  if (tl_cli_has(b->cli, TL_OPTION_BATCH))
    (void)!tl_fail_code(&b->cli->diag, TL_INVALID_ARGUMENT, "E_BATCH", TL_AT_FILE(path),
                        "job %u of %u ended with exit code %d", i + 1, b->n, b->jobs[i].code);
}

/* The exit code is that of what failed first. */
static void note_status(batch *b, tl_status status) {
  if (status != TL_OK && !b->code)
    b->code = tl_status_exit_code(status);
}

/* Shows the jobs that are done, up to the first that is not. */
static void show_done(batch *b) {
  for (uint32_t i = 0; i < b->n; i++) {
    job *j = &b->jobs[i];
    if (j->state == SHOWN || j->state == SKIPPED)
      continue;
    if (j->state != DONE)
      return;
    if (!show(j->out, stdout))
      note_status(b, tl_fail(&b->cli->diag, TL_IO, TL_NOWHERE,
                             "cannot write to standard output: %s", strerror(errno)));
    (void)show(j->err, stderr); /* nobody is left who could be told */
    tl_messages_take(&b->cli->messages, j->log);
    note_status(b, tl_job_files_take(&b->files, b->cli, i, j->written));
    close_outputs(j);
    j->state = SHOWN;
    if (j->code)
      say_failed(b, i);
    if (j->code && !b->code)
      b->code = j->code;
  }
}

/* A process has ended. */
static void finish(batch *b, pid_t pid, int how) {
  for (uint32_t i = 0; i < b->n; i++) {
    job *j = &b->jobs[i];
    if (j->state != RUNNING || j->pid != pid)
      continue;
    b->running--;
    if (j->has_token)
      tl_jobserver_give(&b->server);
    j->has_token = false;
    j->code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    bool lacked = j->code == EXIT_NO_MEMORY || j->code == EXIT_ATC || j->code > 128;
    if (lacked && b->limit && b->most > 1 && !j->alone && !*b->cli->signal) {
      close_outputs(j);
      j->state = ALONE;
      return;
    }
    j->state = DONE;
    if (j->code && !tl_cli_has(b->cli, TL_OPTION_KEEP_GOING))
      b->stopped = true;
    return;
  }
}

/* ---- all of them ----------------------------------------------------------------------------- */

static job *next_in(batch *b, job_state state) {
  for (uint32_t i = 0; i < b->n; i++)
    if (b->jobs[i].state == state)
      return &b->jobs[i];
  return NULL;
}

static bool runs_alone(const batch *b) {
  for (uint32_t i = 0; i < b->n; i++)
    if (b->jobs[i].state == RUNNING && b->jobs[i].alone)
      return true;
  return false;
}

/* Starts what may run now. Returns true if more could run with a token of the jobserver. */
static bool start_some(batch *b) {
  while (!b->stopped && !*b->cli->signal) {
    job *j = next_in(b, WAITING);
    job *alone = next_in(b, ALONE);
    if (alone && b->running == 0) {
      alone->alone = true;
      start(b, alone);
      return false;
    }
    if (!j || b->running >= b->most || runs_alone(b))
      return false;
    j->has_token = b->running > 0 && b->server.on;
    if (j->has_token && !tl_jobserver_take(&b->server)) {
      j->has_token = false;
      return true;
    }
    start(b, j);
  }
  return false;
}

/* Waits until a job ends, or for a short time when a token may come. */
static void wait_for_some(batch *b, bool may_take) {
  int how;
  if (*b->cli->signal)
    for (uint32_t i = 0; i < b->n; i++)
      if (b->jobs[i].state == RUNNING)
        kill(b->jobs[i].pid, *b->cli->signal);
  pid_t pid = waitpid(-1, &how, may_take ? WNOHANG : 0);
  if (pid > 0)
    finish(b, pid, how);
  else if (may_take)
    poll(&(struct pollfd){.fd = b->server.from, .events = POLLIN}, 1, POLL_MS);
}

static void run_all(batch *b) {
  bool may_take = start_some(b);
  while (b->running) {
    wait_for_some(b, may_take);
    show_done(b);
    may_take = start_some(b);
  }
  show_done(b);
}

/* Says which jobs were left out. */
static void say_skipped(batch *b) {
  uint32_t skipped = 0;
  for (uint32_t i = 0; i < b->n; i++) {
    skipped += b->jobs[i].state == WAITING || b->jobs[i].state == ALONE;
    if (b->jobs[i].state != SHOWN && b->jobs[i].state != DONE)
      b->jobs[i].state = SKIPPED;
  }
  show_done(b);
  if (skipped && !*b->cli->signal)
    tl_warn_code(&b->cli->diag, "W_BATCH", TL_NOWHERE,
                 "%u of %u models were not tried after this failure\v--keep-going tries them",
                 skipped, b->n);
}

/* Returns how many processes may run at once. */
static uint32_t most_at_once(tl_cli *cli, const tl_jobserver *server) {
  int64_t n = 1;
  bool given = tl_cli_has(cli, TL_OPTION_JOBS);
  (void)tl_parse_i64(tl_sv_from(tl_cli_get(cli, TL_OPTION_JOBS)), &n);
  return server->on && !given ? MOST_AT_ONCE : (uint32_t)n;
}

tl_status tl_batch_run(tl_cli *cli, tl_job_fn run, int *code) {
  tl_arguments_vec lines = {0};
  batch b = {.cli = cli, .run = run};
  TL_TRY(tl_limit_memory_option(cli, &b.limit));
  tl_status status = tl_jobs_make(cli, &lines);
  if (status == TL_OK && !(b.jobs = calloc(lines.n, sizeof *b.jobs)))
    status = tl_fail_memory(&cli->diag, TL_NOWHERE);
  if (status == TL_OK) {
    tl_jobserver_open(&b.server, getenv("MAKEFLAGS"));
    b.most = most_at_once(cli, &b.server);
    b.n = lines.n;
    b.most = b.most > b.n ? b.n : b.most;
    for (uint32_t i = 0; i < b.n; i++)
      b.jobs[i] = (job){.line = &lines.at[i], .out = -1, .err = -1, .log = -1, .written = -1};
    run_all(&b);
    say_skipped(&b);
    note_status(&b, tl_job_files_end(&b.files, cli));
    tl_jobserver_close(&b.server);
  }
  tl_job_files_release(&b.files);
  free(b.jobs);
  tl_jobs_release(&lines);
  *code = b.code;
  if (status == TL_OK && *cli->signal)
    return TL_IO;
  return status;
}
