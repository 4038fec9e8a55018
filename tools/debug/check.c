/* SPDX-License-Identifier: Apache-2.0 */
/* Implements checks of a model. */
#include "tools/debug/check.h"

#include "ir/fork.h"
#include "ir/infer/infer.h"
#include "ir/verify/verify.h"
#include "support/pattern.h"
#include "tools/cli/unused.h"
#include "tools/debug/command.h"

/* ---- with numbers ---------------------------------------------------------------------------- */

/* Ends the threads of the evaluator: a process is a copy of the thread that starts it alone. */
static void end_threads(tl_check *c) {
  tl_pool_destroy(c->e.pool);
  c->e.pool = NULL;
  c->e.options.pool = NULL;
}

bool tl_check_assume(tl_evaluation *e, unsigned i) {
  static const int64_t sizes[][2] = {{2, 8}, {2, 64}, {1, 1}};
  if (i == sizeof sizes / sizeof *sizes)
    return false;
  e->assumed_first = sizes[i][0];
  e->assumed_other = sizes[i][1];
  return true;
}

static tl_status run_reference(tl_check *c) {
  tl_values_release(&c->inputs);
  tl_values_release(&c->outputs);
  tl_buf_clear(&c->note);
  TL_TRY(tl_inputs_settle(&c->e, c->reference, &c->inputs, &c->note));
  return tl_evaluation_run(&c->e, c->reference, &c->inputs, &c->outputs);
}

/* Tries the sizes that are assumed, in their order; of the last the error is told. */
static tl_status evaluate_reference(tl_check *c) {
  tl_diag *d = &c->cli->diag;
  tl_diag_fn told = d->fn;
  uint32_t errors = d->errors;
  TL_TRY(tl_evaluation_load(&c->e, c->cli->word, &c->reference));
  tl_status status = TL_OK;
  for (unsigned i = 0; tl_check_assume(&c->e, i); i++) {
    d->fn = c->e.assumed_first > 1 ? NULL : told;
    d->errors = errors;
    status = run_reference(c);
    if (status == TL_OK || status == TL_NO_MEMORY || *c->cli->signal)
      break;
  }
  d->fn = told;
  TL_TRY(status);
  return tl_grains_find(c->reference, TL_DTYPE_NONE, &c->grains) ? TL_OK
                                                                 : tl_fail_memory(d, TL_NOWHERE);
}

static void describe_elements(tl_check *c, const tl_difference *d) {
  tl_buf *out = &c->why;
  tl_buf_printf(out, "%llu of %llu elements differ, by at most ", (unsigned long long)d->off,
                (unsigned long long)d->n);
  tl_buf_add_f32(out, (float)d->max_abs);
  tl_buf_printf(out, "; element %llu is ", (unsigned long long)d->worst);
  tl_buf_add_f32(out, (float)d->got);
  tl_buf_add_z(out, " and was ");
  tl_buf_add_f32(out, (float)d->want);
}

/* Describes the output that is farthest beyond what is allowed. */
static void describe(tl_check *c, const tl_verify_report *r) {
  const tl_output_row *worst = NULL;
  for (uint32_t i = 0; i < r->outputs.n; i++) {
    const tl_output_row *row = &r->outputs.at[i];
    if (!row->d.equal && (!worst || row->d.reason || row->d.excess > worst->d.excess))
      worst = row;
  }
  if (!worst)
    return;
  const tl_difference *d = &worst->d;
  tl_buf_printf(&c->why, "output '%.*s': ", TL_SV_ARG(worst->name));
  if (d->reason)
    tl_buf_add_z(&c->why, d->reason);
  else
    describe_elements(c, d);
}

static tl_verdict judge(tl_check *c, const tl_verify_report *r) {
  for (uint32_t i = 0; i < r->outputs.n; i++)
    if (!r->outputs.at[i].d.equal) {
      describe(c, r);
      return TL_VERDICT_BAD;
    }
  return TL_VERDICT_GOOD;
}

/* Evaluates the module on the inputs of the reference. values: inputs, outputs. */
static tl_status evaluate(tl_check *c, tl_module *m, bool settled, tl_host_vec *values) {
  if (!settled)
    TL_TRY(tl_infer_module(m));
  TL_TRY(tl_session_run_passes(&c->cli->session, m, "expand-definitions"));
  TL_TRY(tl_inputs_adapt(&c->e, c->reference, &c->inputs, m, &values[0]));
  return tl_evaluation_run(&c->e, m, &values[0], &values[1]);
}

static tl_verdict verify(tl_check *c, tl_module *m, bool settled) {
  tl_verify_report r = {.tolerance = &c->tolerance, .skips_new = true};
  tl_host_vec values[2] = {{0}};
  tl_verdict verdict = TL_VERDICT_UNKNOWN;
  tl_status status = evaluate(c, m, settled, values);
  if (status == TL_OK && tl_grains_find(m, c->e.options.emulate, &r.grains[1])) {
    tl_host_vec both[2] = {c->outputs, values[1]};
    r.grains[0] = c->grains;
    status = tl_verify_outputs(&c->e, c->reference, m, both, &c->tolerance, &r);
    c->outputs = both[0]; /* stacked sequences are among them now */
    r.grains[0] = (tl_grains){0};
    if (status == TL_OK)
      verdict = judge(c, &r);
  }
  tl_verify_report_release(&r);
  tl_values_release(&values[0]);
  tl_values_release(&values[1]);
  return verdict;
}

/* ---- with a command -------------------------------------------------------------------------- */

/* The shell ends so if it cannot run a command, or does not find it. That says nothing of the
 * model. */
static bool was_not_run(const tl_command_result *r) {
  return !r->signal && (r->status == 126 || r->status == 127);
}

static tl_verdict judge_exit(tl_check *c, const tl_command_result *r) {
  if (was_not_run(r)) {
    tl_buf_printf(&c->why, "the shell cannot run the command (status %d)", r->status);
    return TL_VERDICT_UNKNOWN;
  }
  if (r->signal)
    tl_buf_printf(&c->why, "the command was stopped by signal %d", r->signal);
  else
    tl_buf_printf(&c->why, "the command ended with status %d", r->status);
  if (!r->signal && r->status == TL_CANNOT_TELL)
    return TL_VERDICT_UNKNOWN;
  return r->signal || r->status ? TL_VERDICT_BAD : TL_VERDICT_GOOD;
}

static tl_verdict ask(tl_check *c, tl_module *m, bool settled) {
  tl_command_result r = {0};
  tl_verdict verdict = TL_VERDICT_UNKNOWN;
  if (!settled && tl_infer_module(m) != TL_OK)
    return verdict;
  tl_status status = tl_command_ask(c->cli, c->command, m, c->format, &r);
  c->unable = status == TL_IO || status == TL_NO_MEMORY;
  if (status == TL_OK)
    verdict = judge_exit(c, &r);
  tl_command_result_release(&r);
  return verdict;
}

/* ---- both ------------------------------------------------------------------------------------ */

static bool is_unused(tl_option_id id) { return tl_option_is_report(id) && id != TL_OPTION_VERIFY; }

static tl_status check_options(tl_cli *cli) {
  tl_settings *s = &cli->settings;
  tl_cli_warn_unused(cli, is_unused);
  if (tl_cli_has(cli, TL_OPTION_CHECK) && tl_cli_has(cli, TL_OPTION_VERIFY))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(s, TL_OPTION_CHECK),
                   "cannot be combined with --verify: there is one check");
  if (tl_cli_has(cli, TL_OPTION_CHECK) && !strstr(tl_cli_get(cli, TL_OPTION_CHECK), "{}"))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(s, TL_OPTION_CHECK),
                   "does not say where the model goes\vwrite {} for its path: "
                   "--check='CMD {}'");
  if (cli->word && strcmp(cli->word, "-") == 0)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "the model is read several times: it must be a file");
  if (!cli->word)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE, "no model was given");
  return TL_OK;
}

/* Compiles --match, an extended regular expression of POSIX. */
static tl_status read_match(tl_check *c) {
  tl_cli *cli = c->cli;
  if (!tl_cli_has(cli, TL_OPTION_MATCH))
    return TL_OK;
  int code = regcomp(&c->match, tl_cli_get(cli, TL_OPTION_MATCH), REG_EXTENDED | REG_NOSUB);
  c->has_match = code == 0;
  if (code == 0)
    return TL_OK;
  return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, TL_OPTION_MATCH),
                 "'%s' is no regular expression: it %s", tl_cli_get(cli, TL_OPTION_MATCH),
                 tl_pattern_error(code));
}

tl_status tl_check_open(tl_check *c, tl_cli *cli, tl_format format, bool evaluates) {
  *c = (tl_check){.cli = cli, .format = format};
  tl_buf_init(&c->note);
  tl_buf_init(&c->why);
  TL_TRY(check_options(cli));
  TL_TRY(read_match(c));
  TL_TRY(tl_verify_tolerance(cli, &c->tolerance));
  TL_TRY(tl_evaluation_init(&c->e, cli));
  c->e.part = true;
  if (tl_cli_has(cli, TL_OPTION_CHECK))
    c->command = tl_cli_get(cli, TL_OPTION_CHECK);
  tl_status status = c->command || !evaluates ? TL_OK : evaluate_reference(c);
  end_threads(c);
  return status;
}

void tl_check_release(tl_check *c) {
  tl_values_release(&c->inputs);
  tl_values_release(&c->outputs);
  tl_grains_release(&c->grains);
  tl_buf_release(&c->note);
  tl_buf_release(&c->why);
  if (c->has_match)
    regfree(&c->match);
  if (c->reference)
    tl_module_destroy(c->reference);
  tl_evaluation_release(&c->e);
}

/* ---- conversions ----------------------------------------------------------------------------- */

/* Evaluates the module as it is, as the reference of its conversion. Options name inputs that may
 * have gone. */
static tl_status evaluate_itself(tl_check *c, tl_module *m) {
  c->reference = tl_module_fork(m, &c->cli->diag);
  if (!c->reference)
    return TL_NO_MEMORY;
  c->cli->inputs.n = 0;
  TL_TRY(tl_infer_module(c->reference));
  TL_TRY(tl_session_run_passes(&c->cli->session, c->reference, "expand-definitions"));
  TL_TRY(tl_inputs_settle(&c->e, c->reference, &c->inputs, &c->note));
  TL_TRY(tl_evaluation_run(&c->e, c->reference, &c->inputs, &c->outputs));
  return tl_grains_find(c->reference, TL_DTYPE_NONE, &c->grains) ? TL_OK : TL_NO_MEMORY;
}

/* A model whose passes come to no end fails, too, whatever it computes. */
static tl_failure convert_and_verify(tl_check *c, tl_module *m, const tl_pipeline_options *p) {
  tl_failure f = {.verdict = TL_VERDICT_UNKNOWN, .matches = true};
  tl_pipeline_report report;
  tl_diag_fn told = c->cli->diag.fn;
  c->cli->diag.fn = NULL; /* that the evaluator lacks a kernel is no failure of passes */
  bool runs = evaluate_itself(c, m) == TL_OK;
  c->cli->diag.fn = told;
  f.pipeline = tl_session_run(&c->cli->session, m, p, &report);
  if (f.pipeline != TL_OK)
    f.verdict = TL_VERDICT_BAD;
  else if (runs)
    f.verdict = verify(c, m, true);
  return f;
}

/* Hands the module to the command, if it is a valid model. */
static tl_failure hand_over(tl_check *c, tl_module *m) {
  tl_failure f = {.verdict = TL_VERDICT_UNKNOWN, .matches = true};
  tl_command_result r = {0};
  tl_status status = TL_INVALID_MODEL;
  if (tl_infer_module(m) == TL_OK && tl_module_verify(m, TL_VERIFY_ALL) == TL_OK &&
      tl_session_run_passes(&c->cli->session, m, "outline-definitions") == TL_OK)
    status = tl_command_ask(c->cli, c->command, m, c->format, &r);
  f.unable = status == TL_IO || status == TL_NO_MEMORY;
  if (status == TL_OK)
    f.verdict = judge_exit(c, &r);
  f.status = r.status;
  f.signal = r.signal;
  if (c->has_match)
    f.matches = regexec(&c->match, r.said.p ? r.said.p : "", 0, NULL, 0) == 0;
  tl_command_result_release(&r);
  return f;
}

tl_failure tl_check_conversion(tl_check *c, tl_module *m, const tl_pipeline_options *p) {
  tl_buf_clear(&c->why);
  return c->command ? hand_over(c, m) : convert_and_verify(c, m, p);
}

tl_verdict tl_check_module(tl_check *c, tl_module *m, bool settled) {
  tl_buf_clear(&c->why);
  return c->command ? ask(c, m, settled) : verify(c, m, settled);
}
