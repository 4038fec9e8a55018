/* SPDX-License-Identifier: Apache-2.0 */
/* Writes graphs of initial values (init_graph.h). */
#include "tools/convert/init_graph.h"

#include "passes/manager.h"
#include "passes/train/comm/collective.h"
#include "passes/train/comm/init_graph.h"

/* Returns true if ranks have values to exchange: a distributed training step of several ranks. */
static bool is_wanted(const tl_cli *cli) {
  const tl_train_config *c = cli->settings.options.train;
  return c && c->train && c->is_distributed && c->init_graph &&
         (c->rank_size != 1 || c->force_allreduce);
}

tl_status tl_init_graph_plan(tl_cli *cli, const tl_output_vec *steps, tl_output_vec *out) {
  uint32_t n = steps->n;
  for (uint32_t i = 0; is_wanted(cli) && i < n; i++) {
    tl_output o = {.format = steps->at[i].format, .init = true};
    if (strcmp(steps->at[i].path, "-") == 0)
      continue;
    o.path = tl_output_derive(cli, steps->at[i].path, "init");
    TL_TRY(tl_output_add(cli, &o, out));
  }
  return TL_OK;
}

/* Runs the named passes with the options of the command. */
static tl_status run(tl_cli *cli, tl_module *m, const char *passes, tl_stage stage) {
  tl_pipeline_options p = {
      .passes = passes, .stage = stage, .verify_each = tl_cli_has(cli, TL_OPTION_VERIFY_EACH)};
  return tl_session_run(&cli->session, m, &p, NULL);
}

tl_status tl_init_graph_make(tl_cli *cli, tl_module *m) {
  return run(cli, m, "init-graph,verify-ranks,expand-definitions", TL_STAGE_ONNX);
}

/* Writes the graphs of initial values of one form. */
static tl_status write_form(tl_cli *cli, tl_module *m, tl_output_vec *v, bool npu) {
  for (uint32_t i = 0; i < v->n; i++)
    if (v->at[i].init && tl_format_is_npu(v->at[i].format) == npu)
      TL_TRY(tl_output_write(cli, m, &v->at[i]));
  return TL_OK;
}

/* Returns true if a graph of initial values is wanted in this form. */
static bool has_form(const tl_output_vec *v, bool npu) {
  for (uint32_t i = 0; i < v->n; i++)
    if (v->at[i].init && tl_format_is_npu(v->at[i].format) == npu)
      return true;
  return false;
}

/* Removes the graphs of initial values from the list, where they are the last entries. */
static void drop(tl_output_vec *v) {
  while (v->n && v->at[v->n - 1].init)
    v->n--;
}

tl_status tl_init_graph_write(tl_cli *cli, tl_module *m, tl_output_vec *v) {
  if (!has_form(v, false) && !has_form(v, true))
    return TL_OK;
  if (tl_comm_is_init_graph(m)) { /* it is one already */
    drop(v);
    return TL_OK;
  }
  if (!tl_init_graph_states(m, cli->settings.options.train)) {
    tl_note(&cli->diag, TL_AT_FILE(m->path),
            "no parameter is a state, so no graph of initial values is written");
    drop(v);
    return TL_OK;
  }
  TL_TRY(run(cli, m, "init-graph,verify-ranks,outline-definitions", TL_STAGE_ONNX));
  TL_TRY(write_form(cli, m, v, false));
  if (!has_form(v, true))
    return TL_OK;
  TL_TRY(run(cli, m, "select,lower,check-npu", TL_STAGE_AIR));
  return write_form(cli, m, v, true);
}
