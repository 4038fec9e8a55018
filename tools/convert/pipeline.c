/* SPDX-License-Identifier: Apache-2.0 */
/* Runs passes for a command, with its hooks for printing. */
#include "tools/convert/pipeline.h"

#include <stdio.h>

#include "ir/text/print.h"
#include "tools/step/files.h"

/* Prints one remark of a pass. */
static void show_remark(void *user, const tl_remark *r) {
  tl_cli *cli = user;
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_printf(&text, "remark: %s: %s", r->pass, r->applied ? "" : "missed: ");
  if (r->node.n) {
    tl_buf_add_quoted(&text, r->node);
    tl_buf_add_z(&text, ": ");
  }
  tl_buf_add_z(&text, r->message);
  tl_buf_add_char(&text, '\n');
  tl_cli_note(cli, &text);
}

/* Returns true if the option names this pass or stands alone, which means every pass. */
static bool names_pass(const tl_cli *cli, tl_option_id id, const char *pass) {
  if (!tl_cli_has(cli, id))
    return false;
  const char *value = tl_cli_get(cli, id);
  return strcmp(value, "all") == 0 || strcmp(value, pass) == 0;
}

/* Prints the module to standard error, because standard output may be an output of the command. */
static tl_status print_module(tl_cli *cli, const tl_module *m, const char *when, const char *pass) {
  tl_buf text;
  tl_buf_init(&text);
  tl_print_options o = {.elide_constants = true};
  tl_buf_printf(&text, "# ---- %s %s ----\n", when, pass);
  tl_status status = tl_module_print(m, &text, &o);
  tl_progress_hide(&cli->progress);
  if (text.n)
    fwrite(text.p, 1, text.n, stderr);
  tl_buf_release(&text);
  return status;
}

/* Prints the module around a pass where options ask for it. A signal ends the pipeline here. */
static tl_status on_pass(void *user, tl_module *m, const tl_pass_event *e) {
  tl_cli *cli = user;
  const char *name = e->row->name;
  if (*cli->signal)
    return TL_IO;
  if (!e->after)
    tl_progress_say(&cli->progress, tl_cli_has(cli, TL_OPTION_QUIET), "pass %s", name);
  if (!e->after && names_pass(cli, TL_OPTION_PRINT_BEFORE, name))
    return print_module(cli, m, "before", name);
  if (!e->after)
    return TL_OK;
  if (names_pass(cli, TL_OPTION_PRINT_AFTER, name) ||
      (e->changed && names_pass(cli, TL_OPTION_PRINT_CHANGED, name)))
    return print_module(cli, m, "after", name);
  return TL_OK;
}

/* Refuses an option that names an unknown pass: it would print nothing, without a word. */
static tl_status check_pass_names(tl_cli *cli) {
  static const tl_option_id ids[] = {TL_OPTION_PRINT_BEFORE, TL_OPTION_PRINT_AFTER,
                                     TL_OPTION_PRINT_CHANGED};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    const char *value = tl_cli_get(cli, ids[i]);
    if (tl_cli_has(cli, ids[i]) && strcmp(value, "all") != 0 && !tl_pass_find(tl_sv_from(value)))
      return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, ids[i]),
                     "'%s' is not a pass\v'tailor passes' lists them", value);
  }
  return TL_OK;
}

tl_stage tl_cli_canonical_stage(const tl_cli *cli) {
  return tl_pipeline_canonical(&cli->settings.options);
}

/* Returns the pipeline of a stage with the hooks of the command. */
static tl_pipeline_options pipeline(tl_cli *cli, tl_stage stage) {
  tl_pipeline_options p = tl_session_pipeline(&cli->session, stage);
  p.hook = on_pass;
  p.hook_user = cli;
  p.remark = tl_cli_has(cli, TL_OPTION_REMARKS) ? show_remark : NULL;
  p.remark_user = cli;
  p.steps = tl_step_files_wanted(cli) ? &cli->steps : NULL;
  return p;
}

tl_status tl_cli_run(tl_cli *cli, tl_module *m, tl_stage stage, tl_pipeline_report *report) {
  TL_TRY(check_pass_names(cli));
  tl_step_record_clear(&cli->steps);
  tl_pipeline_options p = pipeline(cli, stage);
  return tl_session_run(&cli->session, m, &p, report);
}

tl_status tl_cli_run_npu(tl_cli *cli, tl_module *m, tl_pipeline_report *report) {
  TL_TRY(check_pass_names(cli));
  tl_step_record_clear(&cli->steps);
  tl_pipeline_options p = pipeline(cli, TL_STAGE_AIR);
  return tl_session_run_npu(&cli->session, m, &p, report);
}
