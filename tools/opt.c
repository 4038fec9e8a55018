/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor opt, the pass driver: reads a model, runs passes, writes textual IR or ONNX. */
#include "support/measure.h"
#include "tools/cli/deps.h"
#include "tools/convert/pipeline.h"
#include "tools/step/files.h"
#include "tools/verify/rules.h"
#include "tools/watch/watch.h"

/* Refuses formats of the device compiler: they need the NPU form, which convert makes. */
static tl_status check_formats(tl_cli *cli, const tl_output_vec *v) {
  for (uint32_t i = 0; i < v->n; i++) {
    if (tl_format_is_npu(v->at[i].format))
      return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                     tl_at_option(&cli->settings, TL_OPTION_OUTPUT),
                     "opt writes tir and onnx, '%s' would be %s\vuse 'tailor convert'",
                     v->at[i].path, tl_format_name(v->at[i].format));
  }
  return TL_OK;
}

static tl_status write_all(tl_cli *cli, tl_module *m, tl_output_vec *v) {
  TL_TRY(tl_output_check(cli, m, v));
  tl_status status = TL_OK;
  for (uint32_t i = 0; i < v->n && status == TL_OK; i++) {
    uint64_t start = tl_now_ns();
    status = tl_output_write(cli, m, &v->at[i]);
    tl_watch_wrote(cli, v->at[i].path, start);
  }
  return status;
}

/* Runs the command. With --verify-numerics a difference ends it before anything is written. */
static tl_status opt(tl_cli *cli, tl_output_vec *v) {
  tl_module *m;
  if (tl_cli_has(cli, TL_OPTION_VERIFY_NUMERICS))
    TL_TRY(tl_verify_rules(cli));
  if (cli->differs)
    return TL_OK;
  uint64_t start = tl_now_ns();
  TL_TRY(tl_session_load(&cli->session, cli->word, &m));
  tl_watch_loaded(cli, start);
  tl_status status = tl_output_check_fusions(cli, m);
  if (status == TL_OK)
    status = tl_cli_run(cli, m, tl_cli_canonical_stage(cli), NULL);
  if (status == TL_OK && tl_cli_has(cli, TL_OPTION_NPU_FORM))
    status = tl_cli_run_npu(cli, m, NULL);
  if (status == TL_OK)
    status = tl_session_save_fusions(&cli->session);
  if (status == TL_OK)
    status = tl_step_files_write(cli, m);
  if (status == TL_OK)
    status = write_all(cli, m, v);
  if (status == TL_OK)
    status = tl_watch_end(cli);
  if (status == TL_OK)
    status = tl_deps_write(cli, v);
  if (status == TL_OK)
    tl_watch_report(cli);
  tl_module_destroy(m);
  return status;
}

tl_status tl_command_opt(tl_cli *cli) {
  if (!cli->word)
    cli->word = "-";
  if (cli->outputs.n == 0 && !tl_path_vec_push(&cli->outputs, "-"))
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  TL_TRY(tl_verify_rules_check(cli));
  TL_TRY(tl_settings_resolve(&cli->settings, &cli->diag));
  tl_output_vec outputs = {0};
  tl_status status = tl_output_plan(cli, TL_FORMAT_TIR, &outputs);
  if (status == TL_OK)
    status = check_formats(cli, &outputs);
  if (status == TL_OK)
    status = tl_watch_open(cli, tl_cli_has(cli, TL_OPTION_NPU_FORM));
  if (status == TL_OK)
    status = opt(cli, &outputs);
  tl_watch_close(cli);
  tl_output_vec_release(&outputs);
  return status;
}
