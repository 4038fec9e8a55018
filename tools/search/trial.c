/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one try: converts a copy of the model, evaluates it, and compares it with the reference. */
#include <math.h>

#include "ir/fork.h"
#include "tools/search/search.h"

/* ---- sets ------------------------------------------------------------------------------------ */

void tl_search_cost(const tl_search *s, const bool *kept, tl_trial *out) {
  out->n_kept = 0;
  out->bytes = out->macs = 0;
  for (uint32_t i = 0; i < s->nodes.n; i++) {
    if (!kept[i])
      continue;
    out->n_kept++;
    out->bytes += s->nodes.at[i].bytes;
    out->macs += s->nodes.at[i].macs;
  }
}

uint32_t tl_search_left(const tl_search *s) {
  return s->trials.n < s->most ? s->most - s->trials.n : 0;
}

tl_status tl_search_keep(tl_search *s, const bool *kept, tl_precision_config *config) {
  uint32_t n = config->n_keep;
  tl_keep_entry *entries = tl_arena_calloc(&s->arena, n + s->nodes.n + 1, sizeof *entries);
  if (!entries)
    return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
  if (n)
    memcpy(entries, config->keep, n * sizeof *entries);
  for (uint32_t i = 0; i < s->nodes.n; i++)
    if (kept[i])
      entries[n++] = (tl_keep_entry){.name = s->nodes.at[i].name};
  config->keep = entries;
  config->n_keep = n;
  return TL_OK;
}

/* ---- one try --------------------------------------------------------------------------------- */

/* What watches the evaluation: the memory of earlier tries, then whoever the attempt names. */
typedef struct audience {
  struct tl_known *known;
  const tl_attempt *attempt;
} audience;

static tl_status watch(void *user, const tl_module *m, tl_value_id v, const tl_host *value) {
  const audience *a = user;
  if (a->attempt->watch)
    TL_TRY(a->attempt->watch(a->attempt->user, m, v, value));
  return a->attempt->replace ? TL_OK : tl_known_keep(a->known, m, v, value);
}

static tl_status replace(void *user, const tl_module *m, tl_value_id v, tl_host **value) {
  const audience *a = user;
  return a->attempt->replace(a->attempt->user, m, v, value);
}

static bool give(void *user, const tl_module *m, tl_node_id n, tl_host **results) {
  const audience *a = user;
  return tl_known_give(a->known, m, n, results);
}

/* Evaluates the converted model. values: inputs, outputs. */
static tl_status evaluate(tl_search *s, const tl_attempt *a, tl_module *m, tl_host_vec *values) {
  audience who = {s->known, a};
  tl_eval_options *o = &s->e.options;
  TL_TRY(tl_inputs_adapt(&s->e, s->reference, &s->inputs, m, &values[0]));
  if (!tl_known_begin(s->known, m))
    return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
  o->watch = watch;
  o->watch_user = &who;
  o->replace = a->replace ? replace : NULL;
  o->known = a->replace ? NULL : give; /* replaced operands are not what the hashes say */
  tl_status status = tl_evaluation_run(&s->e, m, &values[0], &values[1]);
  o->watch = NULL;
  o->replace = NULL;
  o->known = NULL;
  o->watch_user = NULL;
  return status;
}

/* Takes the worst of each kind of error over all outputs. */
static void measure(const tl_verify_report *r, tl_trial *t) {
  t->equal = true;
  t->cosine = 1;
  for (uint32_t i = 0; i < r->outputs.n; i++) {
    const tl_difference *d = &r->outputs.at[i].d;
    t->equal = t->equal && d->equal;
    t->max_abs = fmax(t->max_abs, d->max_abs);
    t->rel = fmax(t->rel, d->reason ? (double)INFINITY : d->l2);
    if (isnan(d->cosine) || isnan(t->cosine))
      t->cosine = (double)NAN;
    else
      t->cosine = fmin(t->cosine, d->cosine);
  }
}

static tl_status compare(tl_search *s, tl_module *m, tl_host_vec *outputs, tl_trial *t) {
  tl_verify_report r = {.tolerance = &s->tolerance, .skips_new = true};
  tl_host_vec both[2] = {s->outputs, *outputs};
  if (!tl_grains_find(m, s->e.options.emulate, &r.grains[1]))
    return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
  r.grains[0] = s->grains;
  tl_status status = tl_verify_outputs(&s->e, s->reference, m, both, &s->tolerance, &r);
  s->outputs = both[0]; /* stacked sequences are among them now */
  r.grains[0] = (tl_grains){0};
  if (status == TL_OK)
    measure(&r, t);
  tl_verify_report_release(&r);
  return status;
}

/* Runs the passes as convert does, with the options of the session. */
static tl_status convert(const tl_search *s, const tl_session *session, const tl_attempt *a,
                         tl_module *m) {
  bool npu = s->stage == TL_STAGE_AIR;
  tl_pipeline_options p = tl_session_pipeline(session, npu ? TL_STAGE_FIRST : s->stage);
  p.fusions = NULL;
  p.hook = a->hook;
  p.hook_user = a->user;
  TL_TRY(tl_session_run(session, m, &p, NULL));
  if (npu)
    TL_TRY(tl_session_run_npu(session, m, &p, NULL));
  return tl_session_run_passes(session, m, "expand-definitions");
}

/* Converts and evaluates m, which reports to `diag`. */
static tl_status attempt_on(tl_search *s, tl_module *m, tl_diag *diag, const tl_attempt *a,
                            tl_trial *t) {
  tl_host_vec values[2] = {{0}};
  tl_options options = s->cli->settings.options;
  tl_session session = s->cli->session;
  options.precision = a->config;
  session.options = &options;
  session.diag = diag;
  tl_status status = convert(s, &session, a, m);
  if (status == TL_OK)
    status = evaluate(s, a, m, values);
  if (status == TL_OK)
    status = compare(s, m, &values[1], t);
  t->part = tl_known_end(s->known);
  tl_values_release(&values[0]);
  tl_values_release(&values[1]);
  return status;
}

/* Passes errors on; a try warns of what the user did not ask for. */
static void tell_errors(void *user, const tl_diagnostic *found) {
  tl_diag *outer = user;
  if (found->severity != TL_ERROR)
    return;
  outer->errors++;
  if (outer->fn)
    outer->fn(outer->user, found);
}

tl_status tl_search_attempt(tl_search *s, const tl_attempt *a, tl_trial *out) {
  tl_diag *outer = &s->cli->diag;
  tl_diag diag = {.fn = tell_errors, .user = outer, .lacks = outer->lacks};
  tl_trial t = {.what = a->what};
  if (*s->cli->signal)
    return TL_IO;
  tl_progress_say(&s->cli->progress, tl_cli_has(s->cli, TL_OPTION_QUIET), "evaluation %u: %s",
                  s->trials.n + 1, a->what);
  tl_module *m = tl_module_fork(s->base, &diag);
  if (!m)
    return tl_fail_memory(outer, TL_NOWHERE);
  tl_status status = attempt_on(s, m, &diag, a, &t);
  tl_module_destroy(m);
  TL_TRY(status);
  if (out)
    *out = t;
  return tl_trials_push(&s->trials, t) ? TL_OK : tl_fail_memory(outer, TL_NOWHERE);
}

tl_status tl_search_try(tl_search *s, const bool *kept, const char *what, tl_trial *out) {
  tl_precision_config config = s->config;
  TL_TRY(tl_search_keep(s, kept, &config));
  TL_TRY(tl_search_attempt(s, &(tl_attempt){.config = &config, .what = what}, out));
  tl_search_cost(s, kept, &s->trials.at[s->trials.n - 1]);
  if (out)
    *out = s->trials.at[s->trials.n - 1];
  return TL_OK;
}
