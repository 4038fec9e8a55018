/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the states of a model on its way through the passes. */
#include "tools/debug/states.h"

#include <sys/mman.h>

#include "ir/text/print.h"
#include "tools/debug/child.h"

enum { MOST_JOBS = 64 };

/* What a process tells of a state, beside the clause that says why. It is in memory that both
 * processes share, so that a crash leaves what was known. */
struct tl_answer {
  tl_verdict verdict;
  tl_status status;
  bool unable;               /* the command of --check could not be asked */
  tl_pipeline_report report; /* its rows are static, so they mean the same here */
};
typedef struct tl_answer answer;

/* The work of one process. */
typedef struct job {
  tl_states *s;
  uint64_t at; /* UINT64_MAX: all rewrites */
  tl_buf *why; /* receives the first error */
  answer *a;   /* shared */
} job;

/* Keeps the first error, instead of printing it. */
static void keep_error(void *user, const tl_diagnostic *d) {
  job *j = user;
  if (d->severity != TL_ERROR || j->why->n)
    return;
  if (d->where.node.n)
    tl_buf_printf(j->why, "%.*s: ", TL_SV_ARG(d->where.node));
  tl_buf_add_z(j->why, d->message);
}

/* Passes that run in canonical form keep types that inference can check; later ones need not. */
static bool is_settled(const tl_pipeline_report *r) {
  for (uint32_t i = 0; i < r->n; i++)
    if (r->at[i].row->stage != TL_STAGE_ALL && r->at[i].row->stage != TL_STAGE_LAST)
      return true;
  return false;
}

/* Brings the model to its state. For a comparison of numbers the way ends there, in whatever form.
 * A command needs a form that can be written: needed passes run all the same, and do not count. */
static tl_status reach(job *j) {
  tl_pipeline_options p = j->s->pipeline;
  p.spares_needed = j->s->check->command;
  p.ends_at_limit = !p.spares_needed && j->at != UINT64_MAX;
  p.rewrite_limit = j->at;
  if (p.ends_at_limit && j->at == 0)
    return TL_OK;
  return tl_session_run(&j->s->cli->session, j->s->base, &p, &j->a->report);
}

/* Makes a state and checks it. That the verifier finds the module broken, or an invariant fails, is
 * an answer. */
static void check_state(tl_cli *cli, void *user, tl_buf *reply) {
  job *j = user;
  tl_buf why;
  tl_buf_init(&why);
  j->why = &why;
  cli->diag.fn = keep_error;
  cli->diag.user = j;
  j->a->status = reach(j);
  if (j->a->status == TL_OK)
    j->a->verdict = tl_check_module(j->s->check, j->s->base, is_settled(&j->a->report));
  else if (j->a->status == TL_INTERNAL)
    j->a->verdict = TL_VERDICT_BAD;
  j->a->unable = j->a->status == TL_OK && j->s->check->unable;
  tl_buf_add_sv(reply, j->s->check->why.n ? tl_buf_view(&j->s->check->why) : tl_buf_view(&why));
}

/* Takes what a process has told. One that crashed has shown a bad state. */
static tl_status take(tl_states *s, const job *j, const tl_buf *reply, int signal) {
  tl_probe state = {.at = j->at, .verdict = j->a->verdict, .status = j->a->status};
  tl_buf why;
  tl_buf_init(&why);
  tl_buf_add_sv(&why, tl_buf_view(reply));
  if (signal) {
    state.verdict = TL_VERDICT_BAD;
    state.status = TL_INTERNAL;
    tl_buf_printf(&why, "the process was ended by signal %d", signal);
  }
  state.why = tl_arena_copy(&s->cli->settings.arena, why.n ? why.p : "", why.n);
  bool ok = state.why && !why.failed && tl_probe_vec_push(&s->known, state);
  tl_buf_release(&why);
  return ok ? TL_OK : tl_fail_memory(&s->cli->diag, TL_NOWHERE);
}

/* Runs jobs at the same time. */
static tl_status run_jobs(tl_states *s, job *jobs, uint32_t n) {
  tl_child children[MOST_JOBS];
  tl_status status = TL_OK;
  uint32_t started = 0;
  for (; started < n && status == TL_OK; started++) {
    jobs[started].a = &s->answers[started];
    s->answers[started] = (answer){.verdict = TL_VERDICT_UNKNOWN};
    status = tl_child_start(&children[started], s->cli, check_state, &jobs[started]);
  }
  started -= status != TL_OK;
  for (uint32_t i = 0; i < started; i++) {
    tl_buf reply;
    int signal;
    tl_buf_init(&reply);
    tl_status now = tl_child_wait(&children[i], s->cli, &reply, &signal);
    if (now == TL_OK && !*s->cli->signal && !signal && jobs[i].a->unable)
      now = tl_fail(&s->cli->diag, TL_IO, TL_NOWHERE, "%.*s", TL_SV_ARG(tl_buf_view(&reply)));
    if (now == TL_OK && !*s->cli->signal)
      now = take(s, &jobs[i], &reply, signal);
    tl_buf_release(&reply);
    status = status == TL_OK ? now : status;
  }
  return *s->cli->signal ? TL_IO : status;
}

tl_status tl_states_ask(tl_states *s, const uint64_t *at, uint32_t n) {
  for (uint32_t from = 0; from < n;) {
    job jobs[MOST_JOBS];
    uint32_t k = 0;
    for (; k < s->jobs && k < MOST_JOBS && from < n; from++)
      jobs[k++] = (job){.s = s, .at = at[from]};
    TL_TRY(run_jobs(s, jobs, k));
  }
  return TL_OK;
}

const tl_probe *tl_states_known(const tl_states *s, uint64_t at) {
  for (uint32_t i = s->known.n; i > 0; i--)
    if (s->known.at[i - 1].at == at)
      return &s->known.at[i - 1];
  return NULL;
}

tl_status tl_states_open(tl_states *s, tl_cli *cli, tl_check *check, tl_stage stage,
                         tl_probe *whole) {
  uint64_t jobs = 1;
  *s = (tl_states){.cli = cli, .check = check};
  if (!tl_parse_u64(tl_sv_from(tl_cli_get(cli, TL_OPTION_JOBS)), &jobs))
    return TL_INTERNAL; /* the option table bounds it */
  s->jobs = (unsigned)jobs;
  void *shared = mmap(NULL, MOST_JOBS * sizeof *s->answers, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  s->answers = shared;
  TL_TRY(tl_session_load(&cli->session, cli->word, &s->base));
  /* State 0 has the inputs and outputs that options ask for, as what it is compared with. */
  TL_TRY(tl_session_run_passes(&cli->session, s->base,
                               "op-names,input-shapes,freeze-inputs,out-nodes"));
  s->pipeline = tl_session_pipeline(&cli->session, stage);
  s->pipeline.rewrite_limit = 0;
  s->pipeline.verify_each = true;
  job j = {.s = s, .at = UINT64_MAX};
  TL_TRY(run_jobs(s, &j, 1));
  s->report = j.a->report;
  *whole = s->known.at[0];
  return TL_OK;
}

void tl_states_release(tl_states *s) {
  if (s->answers)
    munmap(s->answers, MOST_JOBS * sizeof *s->answers);
  if (s->base)
    tl_module_destroy(s->base);
  tl_probe_vec_release(&s->known);
}

/* ---- the rewrite that leads to a state ------------------------------------------------------- */

enum { PARTS = 7 };

/* Keeps what the first remark about the last rewrite says, as parts with a NUL between. */
static void keep_remark(void *user, const tl_remark *r) {
  job *j = user;
  const tl_fusion_remark *f = r->fusion;
  tl_buf *out = j->why;
  if (!r->applied || out->n || j->a->report.rewrites != j->at)
    return;
  tl_buf_add_z(out, r->pass);
  tl_buf_add(out, "", 1);
  tl_buf_add_sv(out, f ? f->rule : TL_SV(""));
  tl_buf_add(out, "", 1);
  tl_buf_add_sv(out, f ? f->fusion : TL_SV(""));
  tl_buf_add(out, "", 1);
  tl_buf_add_z(out, r->message);
  tl_buf_add(out, "", 1);
  if (!f || !f->n_nodes)
    tl_buf_add_sv(out, r->node);
  for (uint32_t i = 0; f && i < f->n_nodes; i++)
    tl_buf_printf(out, "%s%.*s", i ? "\n" : "", TL_SV_ARG(f->nodes[i]));
  tl_buf_add(out, "", 1);
  tl_buf_add_sv(out, f ? f->made : TL_SV(""));
  tl_buf_add(out, "", 1);
}

/* A pass without a remark about the rewrite is still known by its name. */
static void name_pass(const job *j, tl_buf *out) {
  const tl_pipeline_report *r = &j->a->report;
  if (r->n)
    tl_buf_add_z(out, r->at[r->n - 1].row->name);
  tl_buf_add(out, "\0\0\0\0\0", 6);
}

/* Makes a state and prints it. */
static void show_state(tl_cli *cli, void *user, tl_buf *reply) {
  job *j = user;
  tl_buf remark;
  tl_buf_init(&remark);
  j->why = &remark;
  cli->diag.fn = NULL;
  j->s->pipeline.remark = keep_remark;
  j->s->pipeline.remark_user = j;
  tl_status status = reach(j);
  if (!remark.n)
    name_pass(j, &remark);
  tl_buf_add_sv(reply, tl_buf_view(&remark));
  if (status == TL_OK &&
      tl_module_print(j->s->base, reply,
                      &(tl_print_options){.elide_constants = true, .skip_extra = true}) != TL_OK)
    reply->failed = true;
}

tl_status tl_states_show(tl_states *s, uint64_t at, tl_rewrite *out) {
  tl_sv *parts[PARTS] = {&out->pass,  &out->rule, &out->fusion, &out->message,
                         &out->nodes, &out->made, &out->ir};
  tl_child child;
  int signal;
  job j = {.s = s, .at = at, .a = s->answers};
  *s->answers = (answer){.verdict = TL_VERDICT_UNKNOWN};
  *out = (tl_rewrite){.pass = TL_SV("")};
  tl_buf_init(&out->text);
  TL_TRY(tl_child_start(&child, s->cli, show_state, &j));
  TL_TRY(tl_child_wait(&child, s->cli, &out->text, &signal));
  tl_sv rest = tl_buf_view(&out->text);
  for (int i = 0; i < PARTS; i++) {
    const char *end = i + 1 < PARTS ? memchr(rest.p, '\0', rest.n) : NULL;
    *parts[i] = (tl_sv){rest.p, end ? (size_t)(end - rest.p) : rest.n};
    rest.p += parts[i]->n + (end != NULL);
    rest.n -= parts[i]->n + (end != NULL);
  }
  return TL_OK;
}

void tl_rewrite_release(tl_rewrite *r) { tl_buf_release(&r->text); }
