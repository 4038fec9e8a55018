/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the steps of a conversion (conversion.h) and measures their times. */
#include "tools/convert/conversion.h"

#include "support/measure.h"
#include "tools/convert/device_memory.h"
#include "tools/convert/pipeline.h"
#include "tools/watch/watch.h"

bool tl_conversion_wants(const tl_output_vec *v, bool npu) {
  for (uint32_t i = 0; i < v->n; i++) {
    if (tl_format_is_npu(v->at[i].format) == npu)
      return true;
  }
  return false;
}

bool tl_conversion_starts_over(const tl_cli *cli, const tl_output_vec *v) {
  return tl_conversion_wants(v, true) && tl_conversion_wants(v, false) &&
         tl_cli_canonical_stage(cli) == TL_STAGE_ONNX;
}

static bool wants_onnx(const tl_output_vec *v) {
  for (uint32_t i = 0; i < v->n; i++)
    if (v->at[i].format == TL_FORMAT_ONNX)
      return true;
  return false;
}

/* Brings AIR to canonical form for ONNX. AIR is then written from a second reading, so that it does
 * not depend on what else is written. */
static tl_status raise_model(tl_cli *cli, tl_conversion *c) {
  if (c->m->form != TL_FORM_NPU || !wants_onnx(&c->outputs))
    return TL_OK;
  if (tl_conversion_wants(&c->outputs, true) && strcmp(cli->word, "-") == 0)
    return tl_fail(&cli->diag, TL_UNSUPPORTED, TL_NOWHERE,
                   "AIR is read once for AIR and once for ONNX, so it cannot be standard input"
                   "\vrun the command once for each output");
  c->raised = true;
  return tl_session_raise(&cli->session, c->m);
}

tl_status tl_conversion_load(tl_cli *cli, tl_conversion *c) {
  uint64_t start = tl_now_ns();
  tl_progress_say(&cli->progress, tl_cli_has(cli, TL_OPTION_QUIET), "reading %s", cli->word);
  TL_TRY(tl_session_load(&cli->session, cli->word, &c->m));
  tl_watch_loaded(cli, start);
  TL_TRY(raise_model(cli, c));
  c->summary.load_ns += tl_elapsed_ns(start);
  return TL_OK;
}

/* Runs one part of the pipeline, and adds its time to the summary. */
static tl_status run_passes(tl_cli *cli, tl_conversion *c, tl_stage stage) {
  uint64_t start = tl_now_ns();
  TL_TRY(stage == TL_STAGE_AIR ? tl_cli_run_npu(cli, c->m, &c->summary.npu)
                               : tl_cli_run(cli, c->m, stage, &c->summary.canonical));
  c->summary.pass_ns += tl_elapsed_ns(start);
  return TL_OK;
}

tl_status tl_conversion_run_canonical(tl_cli *cli, tl_conversion *c) {
  tl_summary *s = &c->summary;
  /* Without an ONNX output the precision is not decided here: NPU form decides it on expanded
   * nodes. */
  bool only_npu = !tl_conversion_wants(&c->outputs, false);
  s->nodes_before = tl_module_count_nodes(c->m);
  s->weights_before = tl_count_weights(c->m);
  TL_TRY(run_passes(cli, c, only_npu ? TL_STAGE_FIRST : tl_cli_canonical_stage(cli)));
  s->nodes_after = tl_module_count_nodes(c->m);
  s->weights_after = tl_count_weights(c->m);
  s->module_bytes = tl_module_bytes(c->m);
  return TL_OK;
}

tl_status tl_conversion_run_npu(tl_cli *cli, tl_conversion *c) {
  /* The module has the dtypes that were decided for ONNX, so the model is read again for AIR. */
  if (c->raised || tl_conversion_starts_over(cli, &c->outputs)) {
    tl_module_destroy(c->m);
    c->m = NULL;
    uint64_t start = tl_now_ns();
    TL_TRY(tl_session_load(&cli->session, cli->word, &c->m));
    tl_watch_loaded(cli, start);
    TL_TRY(run_passes(cli, c, TL_STAGE_FIRST));
  }
  TL_TRY(run_passes(cli, c, TL_STAGE_AIR));
  c->summary.nodes_npu = tl_module_count_nodes(c->m);
  if (tl_ub_measure(c->m, tl_options_op_info(&cli->settings.options), &c->summary.kernels) != TL_OK)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  return TL_OK;
}

tl_status tl_conversion_measure(tl_cli *cli, tl_conversion *c) {
  if (tl_cli_has(cli, TL_OPTION_QUIET) || strcmp(tl_cli_get(cli, TL_OPTION_SUMMARY), "none") == 0)
    return TL_OK;
  TL_TRY(tl_device_memory_measure(cli, c->m, &c->summary.device));
  const tl_profile_facts *largest = tl_profiles_largest(&c->summary.profiles);
  tl_device_memory_warn(cli, largest ? &largest->memory : &c->summary.device);
  return TL_OK;
}

tl_status tl_conversion_write(tl_cli *cli, tl_conversion *c, bool npu) {
  uint64_t start = tl_now_ns();
  for (uint32_t i = 0; i < c->outputs.n; i++) {
    tl_output *o = &c->outputs.at[i];
    if (o->init || tl_format_is_npu(o->format) != npu)
      continue;
    uint64_t file_start = tl_now_ns();
    TL_TRY(tl_output_write(cli, c->m, o));
    tl_watch_wrote(cli, o->path, file_start);
  }
  c->summary.module_bytes = tl_module_bytes(c->m);
  c->summary.write_ns += tl_elapsed_ns(start);
  return TL_OK;
}

void tl_conversion_describe(tl_cli *cli, const tl_conversion *c, tl_buf *out) {
  const char *form = tl_cli_get(cli, TL_OPTION_SUMMARY);
  if (strcmp(form, "json") == 0)
    tl_summary_json(cli, c->m, &c->summary, &c->outputs, out);
  else if (strcmp(form, "text") == 0)
    tl_summary_text(cli, c->m, &c->summary, &c->outputs, out);
}

tl_status tl_conversion_try_profiles(tl_cli *cli, tl_conversion *c) {
  uint64_t start = tl_now_ns();
  bool npu = tl_conversion_wants(&c->outputs, true);
  TL_TRY(tl_profiles_try(cli, c->m, npu ? TL_STAGE_AIR : tl_cli_canonical_stage(cli),
                         &c->summary.profiles));
  c->summary.pass_ns += tl_elapsed_ns(start);
  return tl_profiles_write(cli, &c->summary.profiles);
}

void tl_conversion_release(tl_conversion *c) {
  tl_profile_facts_vec_release(&c->summary.profiles);
  tl_output_vec_release(&c->outputs);
  tl_module_destroy(c->m);
  c->m = NULL;
}
