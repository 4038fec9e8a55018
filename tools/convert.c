/* SPDX-License-Identifier: Apache-2.0 */
/* tailor convert: a model in, AIR, ONNX, textual IR or a dump out. */
#include "tools/fusion_result.h"
#include "tools/input.h"
#include "tools/pipeline.h"
#include "tools/step_files.h"
#include "tools/summary.h"

static tl_status check_arguments(tl_cli *cli) {
  if (!cli->word)
    return tl_fail_code(&cli->diag, TL_INVALID_ARGUMENT, "E10004", (tl_location){0},
                        "no input model is named\vtailor convert MODEL -o OUTPUT");
  if (cli->outputs.n == 0)
    return tl_fail_code(&cli->diag, TL_INVALID_ARGUMENT, "E10004", (tl_location){0},
                        "no output is named\vadd -o OUTPUT, for example -o model.air");
  return TL_OK;
}

static bool wants(const tl_output_vec *v, bool npu) {
  for (uint32_t i = 0; i < v->n; i++) {
    if (tl_format_is_npu(v->at[i].format) == npu)
      return true;
  }
  return false;
}

/* A precision mode is decided on canonical nodes for ONNX and on expanded ones for AIR: what became
 * ONNX is no start for AIR, and the model is read again. */
static bool starts_over(const tl_cli *cli, const tl_output_vec *v) {
  return wants(v, true) && wants(v, false) && tl_cli_canonical_stage(cli) == TL_STAGE_ONNX;
}

static tl_status check_outputs(tl_cli *cli, const tl_output_vec *v) {
  if (!starts_over(cli, v) || (strcmp(cli->word, "-") != 0 && !tl_fusion_result_path(cli)))
    return TL_OK;
  return tl_fail(&cli->diag, TL_UNSUPPORTED, (tl_location){0},
                 "with a precision mode the model is read once for AIR and once for ONNX, which "
                 "neither standard input nor a report of fusions allows\v"
                 "run the command once for each output");
}

static void show_plan(tl_cli *cli, const tl_output_vec *v) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_printf(&text, "options are in order: %s ->", cli->word);
  for (uint32_t i = 0; i < v->n; i++)
    tl_buf_printf(&text, "%s %s (%s)", i ? "," : "", v->at[i].path,
                  tl_format_name(v->at[i].format));
  tl_buf_printf(&text, "; %u recorded for the device compiler\n", cli->settings.options.n_carried);
  tl_cli_note(cli, &text);
}

static tl_status write_all(tl_cli *cli, tl_module *m, const tl_output_vec *v, bool npu,
                           tl_summary *s) {
  uint64_t start = tl_now_ns();
  for (uint32_t i = 0; i < v->n; i++) {
    if (tl_format_is_npu(v->at[i].format) == npu)
      TL_TRY(tl_output_write(cli, m, &v->at[i]));
  }
  s->write_ns += tl_now_ns() - start;
  return TL_OK;
}

static tl_status run_passes(tl_cli *cli, tl_module *m, tl_stage stage, tl_summary *s) {
  uint64_t start = tl_now_ns();
  bool npu = stage == TL_STAGE_AIR;
  TL_TRY(tl_cli_run_passes(cli, m, stage, npu, npu ? &s->npu : &s->canonical));
  s->pass_ns += tl_now_ns() - start;
  return TL_OK;
}

static tl_status start_over(tl_cli *cli, tl_module **m, tl_summary *s) {
  tl_module_destroy(*m);
  *m = NULL;
  TL_TRY(tl_input_load(cli, cli->word, m));
  return run_passes(cli, *m, TL_STAGE_FIRST, s);
}

/* Canonical outputs come first: lowering rewrites the module in place. */
static tl_status transform(tl_cli *cli, tl_module **m, const tl_output_vec *v, tl_summary *s) {
  bool over = starts_over(cli, v);
  bool only_npu = !wants(v, false);
  s->nodes_before = tl_module_count_nodes(*m);
  s->weights_before = tl_count_weights(*m);
  TL_TRY(run_passes(cli, *m, only_npu ? TL_STAGE_FIRST : tl_cli_canonical_stage(cli), s));
  s->nodes_after = tl_module_count_nodes(*m);
  s->weights_after = tl_count_weights(*m);
  TL_TRY(write_all(cli, *m, v, false, s));
  if (over)
    TL_TRY(start_over(cli, m, s));
  if (wants(v, true)) {
    TL_TRY(run_passes(cli, *m, TL_STAGE_AIR, s));
    s->nodes_npu = tl_module_count_nodes(*m);
    TL_TRY(write_all(cli, *m, v, true, s));
  }
  s->module_bytes = tl_module_bytes(*m);
  TL_TRY(tl_fusion_result_write(cli));
  TL_TRY(tl_step_files_write(cli, *m));
  return tl_output_depfile(cli, *m, v);
}

static void show_summary(tl_cli *cli, const tl_module *m, const tl_summary *s,
                         const tl_output_vec *v) {
  const char *form = tl_cli_get(cli, TL_OPTION_SUMMARY);
  tl_buf text;
  tl_buf_init(&text);
  if (strcmp(form, "json") == 0)
    tl_summary_json(cli, m, s, v, &text);
  else if (strcmp(form, "text") == 0)
    tl_summary_text(cli, m, s, v, &text);
  tl_cli_note(cli, &text);
}

static tl_status convert(tl_cli *cli, tl_output_vec *v) {
  tl_summary s = {0};
  tl_module *m;
  uint64_t start = tl_now_ns();
  TL_TRY(tl_input_load(cli, cli->word, &m));
  s.load_ns = tl_now_ns() - start;
  tl_status status = tl_output_check(cli, m, v);
  if (status == TL_OK)
    status = tl_fusion_result_begin(cli, m);
  if (status == TL_OK) {
    status = transform(cli, &m, v, &s);
    if (status != TL_OK)
      tl_output_undo(v);
  }
  if (status == TL_OK)
    show_summary(cli, m, &s, v);
  tl_module_destroy(m);
  return status;
}

tl_status tl_command_convert(tl_cli *cli) {
  TL_TRY(check_arguments(cli));
  TL_TRY(tl_settings_resolve(&cli->settings, &cli->diag));
  tl_output_vec outputs = {0};
  tl_status status = tl_output_plan(cli, TL_FORMAT_AIR, &outputs);
  if (status == TL_OK)
    status = check_outputs(cli, &outputs);
  if (status == TL_OK && tl_cli_has(cli, TL_OPTION_DRY_RUN))
    show_plan(cli, &outputs);
  else if (status == TL_OK)
    status = convert(cli, &outputs);
  tl_output_release(&outputs);
  return status;
}
