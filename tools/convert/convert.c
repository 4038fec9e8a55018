/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor convert: reads a model and writes AIR, ONNX, textual IR or dumps. */
#include "frontend/config/run_config.h"
#include "tools/cache/cache.h"
#include "tools/cli/deps.h"
#include "tools/convert/conversion.h"
#include "tools/convert/init_graph.h"
#include "tools/convert/variants.h"
#include "tools/step/files.h"
#include "tools/watch/watch.h"

/* Requires a model and at least one output. */
static tl_status check_arguments(tl_cli *cli) {
  if (!cli->word)
    return tl_fail_code(&cli->diag, TL_INVALID_ARGUMENT, "E10004", TL_NOWHERE,
                        "no input model is named\vtailor convert MODEL -o OUTPUT");
  bool lists = tl_cli_has(cli, TL_OPTION_PRINT_INPUTS);
  if (lists && cli->outputs.n == 0 && !tl_path_vec_push(&cli->outputs, "-"))
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  if (cli->outputs.n == 0)
    return tl_fail_code(&cli->diag, TL_INVALID_ARGUMENT, "E10004", TL_NOWHERE,
                        "no output is named\vadd -o OUTPUT, for example -o model.air");
  return tl_deps_check(cli);
}

/* Refuses sources and reports that a second reading of the model makes impossible. */
static tl_status check_outputs(tl_cli *cli, const tl_output_vec *v) {
  if (!tl_conversion_starts_over(cli, v) ||
      (strcmp(cli->word, "-") != 0 && !tl_session_fusion_report(&cli->session)))
    return TL_OK;
  return tl_fail(
      &cli->diag, TL_UNSUPPORTED, TL_NOWHERE,
      "with a precision mode the model is read once for AIR and once for ONNX, so neither standard "
      "input nor a fusion report is possible\vrun the command once for each output");
}

/* Tells what a conversion would write, for --dry-run. Audit entries are not counted: they are
 * always there with a run configuration. */
static void show_plan(tl_cli *cli, const tl_output_vec *v) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_printf(&text, "options are valid: %s ->", cli->word);
  for (uint32_t i = 0; i < v->n; i++)
    tl_buf_printf(&text, "%s %s (%s)", i ? "," : "", v->at[i].path,
                  tl_format_name(v->at[i].format));
  uint32_t n = 0;
  for (uint32_t i = 0; i < cli->settings.options.n_carried; i++)
    n += !tl_is_audit(&cli->settings.options.carried[i]);
  tl_buf_printf(&text, "; %u recorded for the device compiler\n", n);
  tl_cli_note(cli, &text);
}

/* Runs the passes and writes all files into the journal. Canonical outputs come first, because
 * lowering rewrites the module in place. The graph of initial values comes last, because it uses up
 * the module. */
static tl_status transform(tl_cli *cli, tl_conversion *c) {
  TL_TRY(tl_conversion_run_canonical(cli, c));
  TL_TRY(tl_conversion_write(cli, c, false));
  if (tl_conversion_wants(&c->outputs, true)) {
    TL_TRY(tl_conversion_run_npu(cli, c));
    TL_TRY(tl_conversion_write(cli, c, true));
  }
  TL_TRY(tl_conversion_measure(cli, c));
  TL_TRY(tl_session_save_fusions(&cli->session));
  TL_TRY(tl_step_files_write(cli, c->m));
  TL_TRY(tl_init_graph_write(cli, c->m, &c->outputs));
  TL_TRY(tl_watch_end(cli));
  return tl_deps_write(cli, &c->outputs);
}

/* Converts one model. The summary is made before the files appear, and is shown only once they
 * have. */
static tl_status convert(tl_cli *cli, tl_conversion *c) {
  TL_TRY(tl_conversion_load(cli, c));
  TL_TRY(tl_output_check(cli, c->m, &c->outputs));
  TL_TRY(tl_output_check_fusions(cli, c->m));
  TL_TRY(tl_conversion_try_profiles(cli, c));
  TL_TRY(transform(cli, c));
  tl_buf text;
  tl_buf_init(&text);
  tl_conversion_describe(cli, c, &text);
  if (cli->atc)
    tl_summary_atc(cli, c->m, &c->outputs, &cli->atc->line);
  if (cli->atc && cli->atc->dry)
    tl_changes_undo(&cli->changes);
  tl_status status = tl_cli_apply(cli);
  if (status == TL_OK) {
    tl_watch_report(cli);
    tl_cli_note(cli, &text);
  }
  tl_buf_release(&text);
  return status;
}

/* Converts, or takes what an earlier conversion has left in the cache; cache may be NULL. */
static tl_status run(tl_cli *cli, tl_cache *cache) {
  tl_settings_for_toolkit(&cli->settings);
  TL_TRY(tl_settings_resolve(&cli->settings, &cli->diag));
  bool twice = cli->settings.accelerate.text != NULL;
  tl_conversion c = {0};
  tl_status status = tl_output_plan(cli, TL_FORMAT_AIR, &c.outputs);
  if (status == TL_OK && !twice)
    status = tl_init_graph_plan(cli, &c.outputs, &c.outputs);
  if (status == TL_OK)
    status = twice ? tl_variants_check(cli, &c.outputs) : check_outputs(cli, &c.outputs);
  bool dry = tl_cli_has(cli, TL_OPTION_DRY_RUN);
  if (status == TL_OK && dry) /* no model will say what is missing */
    status = tl_check_run_ranks(&cli->settings, &cli->diag);
  if (status == TL_OK)
    status = tl_watch_open(cli, tl_conversion_wants(&c.outputs, true));
  bool hit = false;
  if (status == TL_OK && !dry)
    status = tl_cache_fetch(cache, &hit);
  if (status == TL_OK && dry)
    show_plan(cli, &c.outputs);
  else if (status == TL_OK && !hit)
    status = twice ? tl_variants_convert(cli, &c.outputs) : convert(cli, &c);
  tl_watch_close(cli);
  tl_conversion_release(&c);
  return status;
}

tl_status tl_command_convert(tl_cli *cli) {
  tl_cache *cache;
  TL_TRY(check_arguments(cli));
  TL_TRY(tl_cache_open(cli, &cache));
  tl_status status = run(cli, cache);
  tl_cache_close(cache, status);
  return status;
}
