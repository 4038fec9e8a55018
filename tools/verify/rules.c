/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies each rewrite by a rule with numbers (opt --verify-numerics). A first run of the pipeline
 * notes which rewrites rules made. Then the model is read again for each of them and rewritten up
 * to it and no further (rewrite_limit). That takes time, but shows each rule in the very state in
 * which it was applied. */
#include "tools/verify/rules.h"

#include <math.h>

#include "ir/infer/infer.h"
#include "passes/manager.h"
#include "lib/values/compare.h"
#include "tools/run/inputs.h"
#include "lib/values/grain.h"

/* One rewrite that a rule made. */
typedef struct fired {
  uint64_t number; /* among all rewrites, from 1 */
  tl_numerics numerics;
  tl_sv rule; /* in the arena of the settings */
  tl_sv pass;
  tl_sv node;
} fired;

TL_VEC(fired_vec, fired);

/* State of the verification. The outputs of the last state are kept, since one rewrite's result is
 * the next one's start. */
typedef struct verifier {
  tl_evaluation e;
  tl_cli *cli;
  tl_module *original;
  tl_host_vec inputs;
  tl_host_vec before; /* outputs of the last state that was evaluated ... */
  tl_module *holds;   /* ... which they may view; NULL: the original */
  tl_grains grains;   /* of that state */
  uint64_t state;     /* ... rewritten that many times */
  fired_vec fired;
  tl_pipeline_report report;
  tl_buf note;
  bool no_memory;
} verifier;

static tl_sv keep(verifier *v, tl_sv s) {
  const char *p = tl_arena_copy(&v->cli->settings.arena, s.n ? s.p : "", s.n);
  v->no_memory = v->no_memory || !p;
  return p ? (tl_sv){p, s.n} : TL_SV("");
}

/* Collects the rewrites of rules. report.rewrites is the number of this one among all rewrites. */
static void note_rewrite(void *user, const tl_remark *r) {
  verifier *v = user;
  const tl_fusion_remark *f = r->fusion;
  if (!f || !r->applied)
    return;
  tl_sv node = f->n_nodes ? f->nodes[f->n_nodes - 1] : r->node;
  fired one = {v->report.rewrites, f->numerics, keep(v, f->rule), keep(v, f->fusion),
               keep(v, node)};
  if (!fired_vec_push(&v->fired, one))
    v->no_memory = true;
}

/* Runs the pipeline with an upper bound on rewrites, at least 1; UINT64_MAX means no bound. */
static tl_status rewrite(verifier *v, tl_module *m, uint64_t limit) {
  bool all = limit == UINT64_MAX;
  tl_pipeline_options p = tl_session_pipeline(&v->cli->session, TL_STAGE_ALL);
  p.rewrite_limit = all ? 0 : limit;
  p.remark = all ? note_rewrite : NULL;
  p.remark_user = v;
  p.fusions = NULL; /* the report is about the run that follows */
  return tl_session_run(&v->cli->session, m, &p, &v->report);
}

/* Runs the whole pipeline once to list the rewrites. */
static tl_status list_rewrites(verifier *v) {
  tl_module *m;
  TL_TRY(tl_session_load(&v->cli->session, v->cli->word, &m));
  tl_status status = rewrite(v, m, UINT64_MAX);
  tl_module_destroy(m);
  return status == TL_OK && v->no_memory ? tl_fail_memory(&v->cli->diag, TL_NOWHERE) : status;
}

/* Evaluates a state of the model on the same inputs. */
static tl_status evaluate(verifier *v, tl_module *m, tl_host_vec *out) {
  tl_host_vec inputs = {0};
  TL_TRY(tl_infer_module(m));
  TL_TRY(tl_session_run_passes(&v->cli->session, m, "expand-definitions"));
  tl_status status = tl_inputs_adapt(&v->e, v->original, &v->inputs, m, &inputs);
  if (status == TL_OK)
    status = tl_evaluation_run(&v->e, m, &inputs, out);
  tl_values_release(&inputs);
  return status;
}

/* Makes the model after `limit` rewrites and its outputs. The caller destroys both, also after an
 * error. */
static tl_status reach(verifier *v, uint64_t limit, tl_module **m, tl_host_vec *out) {
  if (*v->cli->signal)
    return TL_IO;
  TL_TRY(tl_session_load(&v->cli->session, v->cli->word, m));
  tl_status status = limit ? rewrite(v, *m, limit) : TL_OK;
  return status == TL_OK ? evaluate(v, *m, out) : status;
}

/* Makes a state the one that the next rewrite is compared with; takes all arguments over. */
static void move_on(verifier *v, tl_module *m, tl_host_vec *values, tl_grains *grains,
                    uint64_t state) {
  tl_values_release(&v->before);
  tl_grains_release(&v->grains);
  v->grains = *grains;
  *grains = (tl_grains){0};
  if (v->holds)
    tl_module_destroy(v->holds);
  v->before = *values;
  *values = (tl_host_vec){0};
  v->holds = m;
  v->state = state;
}

/* Upper bound on the difference of reordered sums in f16, in units in the last place of the largest
 * number. */
enum { HALF_UNITS = 4 };

/* Returns what a rule of this class may change. An exact rule may change nothing. */
static tl_tolerance tolerance_of(tl_numerics n) {
  static const double relative[] = {0, 1e-4, 1e-2}, absolute[] = {0, 1e-5, 1e-3};
  return (tl_tolerance){.rtol = relative[n],
                        .atol = absolute[n],
                        .cosine = (double)NAN,
                        .by_type = n != TL_NUMERICS_EXACT,
                        .units = n != TL_NUMERICS_EXACT ? HALF_UNITS : 0,
                        .elements = true};
}

/* Reports a rule that changed an output beyond its class. */
static void report(verifier *v, const fired *f, tl_sv output, const tl_difference *d) {
  static const char *const classes[] = {"exact", "reassociating", "approximate"};
  tl_location where = {.file = v->cli->word, .node = f->node};
  v->cli->differs = true;
  if (d->reason) {
    (void)tl_fail(&v->cli->diag, TL_INVALID_MODEL, where,
                  "rule '%.*s' (%s) changes output '%.*s': %s", TL_SV_ARG(f->rule),
                  classes[f->numerics], TL_SV_ARG(output), d->reason);
    return;
  }
  (void)tl_fail(&v->cli->diag, TL_INVALID_MODEL, where,
                "rule '%.*s' (%s) changes output '%.*s': %llu of %llu elements, by at most %.3g; "
                "element %llu was %.7g and becomes %.7g\v"
                "--fusion=%.*s:off switches the rule off",
                TL_SV_ARG(f->rule), classes[f->numerics], TL_SV_ARG(output),
                (unsigned long long)d->off, (unsigned long long)d->n, d->max_abs,
                (unsigned long long)d->worst, d->want, d->got, TL_SV_ARG(f->rule));
}

/* Returns the unit of the coarsest float in which output i was computed, before or after the
 * rewrite: an f32 output may have been computed in f16. */
static double computed_in(const verifier *v, const tl_module *m, const tl_grains *grains,
                          uint32_t i) {
  const tl_module *before = v->holds ? v->holds : v->original;
  tl_value_id then = tl_graph_output(before, tl_module_main(before), i);
  tl_value_id now = tl_graph_output(m, tl_module_main(m), i);
  tl_grain g = tl_grain_worse(tl_grain_of(&v->grains, then), tl_grain_of(grains, now));
  return tl_grain_is_coarse(g) ? g.unit : 0;
}

/* Compares the outputs before and after one rewrite; the first difference ends the search. */
static void compare(verifier *v, const fired *f, tl_module *m, const tl_grains *grains,
                    const tl_host_vec *after) {
  tl_tolerance t = tolerance_of(f->numerics);
  for (uint32_t i = 0; i < after->n && i < v->before.n && !v->cli->differs; i++) {
    tl_difference d;
    t.unit = computed_in(v, m, grains, i);
    tl_compare(after->at[i], v->before.at[i], &t, false, &d);
    if (!d.equal)
      report(v, f, tl_value_name(m, tl_graph_output(m, tl_module_main(m), i)), &d);
  }
}

/* Moves to the state after `limit` rewrites. f: the rewrite between both states, NULL to move
 * without a comparison. */
static tl_status step_to(verifier *v, uint64_t limit, const fired *f) {
  tl_module *m = NULL;
  tl_host_vec values = {0};
  tl_grains grains = {0};
  tl_status status = reach(v, limit, &m, &values);
  if (status == TL_OK && !tl_grains_find(m, TL_DTYPE_NONE, &grains))
    status = tl_fail_memory(&v->cli->diag, TL_NOWHERE);
  if (status == TL_OK && f)
    compare(v, f, m, &grains, &values);
  if (status == TL_OK) {
    move_on(v, m, &values, &grains, limit);
    return TL_OK;
  }
  tl_grains_release(&grains);
  tl_values_release(&values);
  if (m)
    tl_module_destroy(m);
  return status;
}

/* Verifies the rewrites in order, up to the first that changes results too much. */
static tl_status verify_all(verifier *v) {
  tl_progress_say(&v->cli->progress, tl_cli_has(v->cli, TL_OPTION_QUIET),
                  "looking for rewrites of %s", v->cli->word);
  TL_TRY(tl_evaluation_load(&v->e, v->cli->word, &v->original));
  TL_TRY(tl_inputs_settle(&v->e, v->original, &v->inputs, &v->note));
  TL_TRY(list_rewrites(v));
  TL_TRY(tl_evaluation_run(&v->e, v->original, &v->inputs, &v->before));
  if (!tl_grains_find(v->original, TL_DTYPE_NONE, &v->grains))
    return tl_fail_memory(&v->cli->diag, TL_NOWHERE);
  for (uint32_t i = 0; i < v->fired.n && !v->cli->differs; i++) {
    const fired *f = &v->fired.at[i];
    tl_progress_say(&v->cli->progress, tl_cli_has(v->cli, TL_OPTION_QUIET),
                    "verifying rewrite %u of %u, by rule %.*s", i + 1, v->fired.n,
                    TL_SV_ARG(f->rule));
    /* Rewrites that no rule made lie between: the state just before this one must be made first. */
    if (v->state != f->number - 1)
      TL_TRY(step_to(v, f->number - 1, NULL));
    TL_TRY(step_to(v, f->number, f));
  }
  if (v->cli->differs)
    return TL_OK;
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_printf(&text,
                "verified %u rewrite%s by rules: none changes results more than its class "
                "allows\n",
                v->fired.n, v->fired.n == 1 ? "" : "s");
  tl_cli_note(v->cli, &text);
  return TL_OK;
}

tl_status tl_verify_rules(tl_cli *cli) {
  verifier v = {.cli = cli};
  if (strcmp(cli->word, "-") == 0)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                   tl_at_option(&cli->settings, TL_OPTION_VERIFY_NUMERICS),
                   "reads the model several times: it must be a file");
  tl_status status = tl_evaluation_init(&v.e, cli);
  v.e.options.exact = true;
  v.e.part = true;
  if (status == TL_OK)
    status = verify_all(&v);
  tl_values_release(&v.before);
  tl_values_release(&v.inputs);
  tl_grains_release(&v.grains);
  fired_vec_release(&v.fired);
  tl_buf_release(&v.note);
  if (v.holds)
    tl_module_destroy(v.holds);
  if (v.original)
    tl_module_destroy(v.original);
  tl_evaluation_release(&v.e);
  return status;
}

tl_status tl_verify_rules_check(tl_cli *cli) {
  static const tl_option_id ids[] = {TL_OPTION_INPUT, TL_OPTION_DIM, TL_OPTION_SEED};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
    if (tl_cli_has(cli, ids[i]) && !tl_cli_has(cli, TL_OPTION_VERIFY_NUMERICS))
      return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, ids[i]),
                     "has no effect without --verify-numerics");
  return TL_OK;
}
