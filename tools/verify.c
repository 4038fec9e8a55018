/* SPDX-License-Identifier: Apache-2.0 */
/* tailor verify: evaluates and compares. */
#include <math.h>

#include "tools/compare.h"
#include "tools/data_folder.h"
#include "tools/inputs.h"
#include "tools/value_text.h"

static tl_status read_number(tl_cli *cli, tl_option_id id, double *out) {
  const char *text = tl_cli_get(cli, id);
  if (tl_parse_f64(tl_sv_from(text), out) && *out >= 0)
    return TL_OK;
  return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, id),
                 "'%s' is not a number of at least 0", text);
}

static tl_status read_tolerance(tl_cli *cli, tl_tolerance *t) {
  bool has_cosine = tl_cli_has(cli, TL_OPTION_COSINE);
  bool has_bounds = tl_cli_has(cli, TL_OPTION_RTOL) || tl_cli_has(cli, TL_OPTION_ATOL);
  *t = (tl_tolerance){.cosine = (double)NAN};
  TL_TRY(read_number(cli, TL_OPTION_RTOL, &t->rtol));
  TL_TRY(read_number(cli, TL_OPTION_ATOL, &t->atol));
  if (has_cosine)
    TL_TRY(read_number(cli, TL_OPTION_COSINE, &t->cosine));
  t->elements = has_bounds || !has_cosine;
  t->by_type = !tl_cli_has(cli, TL_OPTION_RTOL);
  return TL_OK;
}

static void add_difference(tl_buf *out, const tl_host *got, const tl_host *want,
                           const tl_difference *d) {
  if (d->reason) {
    tl_buf_printf(out, "%s: ", d->reason);
    tl_add_type(out, got);
    tl_buf_add_z(out, " against ");
    tl_add_type(out, want);
    return;
  }
  tl_buf_printf(out, "%llu of %llu elements differ, max abs ", (unsigned long long)d->off,
                (unsigned long long)d->n);
  tl_buf_add_f32(out, (float)d->max_abs);
  tl_buf_add_z(out, ", max rel ");
  tl_buf_add_f32(out, (float)d->max_rel);
  if (!d->off)
    return;
  tl_buf_printf(out, "; the worst is element %llu: ", (unsigned long long)d->worst);
  tl_buf_add_f64(out, d->got);
  tl_buf_add_z(out, " against ");
  tl_buf_add_f64(out, d->want);
}

/* Compares outputs with references and says how each of them fares. */
static tl_status report_outputs(tl_cli *cli, const tl_module *m, const tl_host_vec *got,
                                const tl_host_vec *want, const tl_tolerance *t) {
  tl_buf text;
  tl_buf_init(&text);
  for (uint32_t i = 0; i < got->n; i++) {
    tl_difference d;
    if (!want->at[i])
      continue;
    tl_compare(got->at[i], want->at[i], t, false, &d);
    tl_buf_printf(&text, "%s ", d.equal ? "equal  " : "differs");
    tl_buf_add_quoted(&text, tl_value_name(m, tl_graph_output(m, tl_module_main(m), i)));
    tl_buf_add_z(&text, ": ");
    add_difference(&text, got->at[i], want->at[i], &d);
    tl_buf_add_char(&text, '\n');
    cli->differs = cli->differs || !d.equal;
  }
  return tl_cli_print(cli, &text);
}

static tl_status verify_folder(tl_evaluation *e, tl_module *m, const char *folder,
                               const tl_tolerance *t) {
  tl_host_vec inputs = {0}, got = {0}, want = {0};
  tl_status status = tl_folder_inputs(e, folder, m, &inputs);
  if (status == TL_OK)
    status = tl_inputs_check(e, m, &inputs, false);
  if (status == TL_OK)
    status = tl_folder_outputs(e, folder, m, &want);
  if (status == TL_OK)
    status = tl_evaluation_run(e, m, &inputs, &got);
  if (status == TL_OK)
    status = report_outputs(e->cli, m, &got, &want, t);
  tl_values_release(&inputs);
  tl_values_release(&got);
  tl_values_release(&want);
  return status;
}

static tl_status verify(tl_evaluation *e, const tl_tolerance *t) {
  tl_cli *cli = e->cli;
  tl_module *m;
  if (!tl_is_folder(cli->word2))
    return tl_fail(&cli->diag, TL_UNSUPPORTED, TL_AT_FILE(cli->word2),
                   "a folder with input_0.pb and output_0.pb was expected");
  TL_TRY(tl_evaluation_load(e, cli->word, &m));
  tl_status status = verify_folder(e, m, cli->word2, t);
  tl_module_destroy(m);
  return status;
}

tl_status tl_command_verify(tl_cli *cli) {
  tl_tolerance t;
  tl_evaluation e;
  if (!cli->word || !cli->word2)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, (tl_location){0},
                   "two models are compared, or a model with a folder of outputs\v"
                   "tailor verify MODEL MODEL|FOLDER");
  TL_TRY(tl_settings_resolve(&cli->settings, &cli->diag));
  TL_TRY(read_tolerance(cli, &t));
  tl_status status = tl_evaluation_init(&e, cli);
  if (status == TL_OK)
    status = verify(&e, &t);
  tl_evaluation_release(&e);
  return status;
}
