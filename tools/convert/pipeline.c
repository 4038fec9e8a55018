/* SPDX-License-Identifier: Apache-2.0 */
/* Runs passes for a command, with its hooks. */
#include "tools/convert/pipeline.h"

#include "tools/step/files.h"
#include "tools/watch/watch.h"

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

/* Says which pass runs, and shows what options ask for. A signal ends the pipeline here. */
static tl_status on_pass(void *user, tl_module *m, const tl_pass_event *e) {
  tl_cli *cli = user;
  if (*cli->signal)
    return TL_IO;
  if (!e->after)
    tl_progress_say(&cli->progress, tl_cli_has(cli, TL_OPTION_QUIET), "pass %s", e->row->name);
  return tl_watch_pass(cli, m, e);
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
  p.rules = tl_watch_rules(cli);
  p.steps = tl_step_files_wanted(cli) ? &cli->steps : NULL;
  return p;
}

tl_status tl_cli_run(tl_cli *cli, tl_module *m, tl_stage stage, tl_pipeline_report *report) {
  TL_TRY(tl_watch_begin(cli, m));
  tl_step_record_clear(&cli->steps);
  tl_pipeline_options p = pipeline(cli, stage);
  return tl_session_run(&cli->session, m, &p, report);
}

/* A second hook behind that of the command. */
typedef struct observed {
  tl_cli *cli;
  tl_pass_hook hook;
  void *user;
} observed;

static tl_status on_observed_pass(void *user, tl_module *m, const tl_pass_event *e) {
  const observed *o = user;
  TL_TRY(on_pass(o->cli, m, e));
  return o->hook(o->user, m, e);
}

tl_status tl_cli_run_observed(tl_cli *cli, tl_module *m, tl_stage stage, tl_pass_hook hook,
                              void *user) {
  observed o = {cli, hook, user};
  TL_TRY(tl_watch_begin(cli, m));
  tl_step_record_clear(&cli->steps);
  tl_pipeline_options p = pipeline(cli, stage);
  p.hook = on_observed_pass;
  p.hook_user = &o;
  return tl_session_run(&cli->session, m, &p, NULL);
}

tl_status tl_cli_run_npu(tl_cli *cli, tl_module *m, tl_pipeline_report *report) {
  TL_TRY(tl_watch_begin(cli, m));
  tl_step_record_clear(&cli->steps);
  tl_pipeline_options p = pipeline(cli, TL_STAGE_AIR);
  return tl_session_run_npu(&cli->session, m, &p, report);
}
