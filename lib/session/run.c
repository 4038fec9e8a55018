/* SPDX-License-Identifier: Apache-2.0 */
/* Turns settings into pipelines and runs them. */
#include "ir/infer/infer.h"
#include "ir/trace.h"
#include "lib/session/session.h"

/* Returns the options that passes read. */
static const tl_options *options_of(const tl_session *s) {
  return s->options ? s->options : &s->settings->options;
}

tl_pipeline_options tl_session_pipeline(const tl_session *s, tl_stage stage) {
  const tl_settings *t = s->settings;
  int64_t limit = 0;
  bool limited = tl_settings_has(t, TL_OPTION_REWRITE_LIMIT) &&
                 tl_parse_i64(tl_sv_from(tl_settings_get(t, TL_OPTION_REWRITE_LIMIT)), &limit);
  return (tl_pipeline_options){
      .passes = tl_settings_has(t, TL_OPTION_PASSES) ? tl_settings_get(t, TL_OPTION_PASSES) : NULL,
      .level = tl_settings_get(t, TL_OPTION_LEVEL)[0] - '0',
      .stage = stage,
      .verify_each = tl_settings_has(t, TL_OPTION_VERIFY_EACH),
      .own = s->own,
      .n_own = s->n_own,
      .rewrite_limit = limited ? (uint64_t)limit : 0,
      .fusions = tl_session_fusion_report(s) ? s->fusions : NULL,
  };
}

/* Nodes without names are called after their results, which passes rename: what they are called in
 * the model is noted first. */
static bool note_unnamed(tl_module *m) {
  bool good = true;
  for (tl_node_id n = 1; n < tl_module_node_end(m) && m->form == TL_FORM_CANONICAL && good; n++) {
    const tl_node *node = tl_node_get(m, n);
    if (!node->name && node->op != TL_OP_RETURN && node->op != TL_OP_ERASED)
      good = tl_trace_derive(m, n, &n, 1, false);
  }
  return good;
}

tl_status tl_session_run(const tl_session *s, tl_module *m, const tl_pipeline_options *p,
                         tl_pipeline_report *report) {
  if (!note_unnamed(m))
    return tl_no_memory(m);
  return tl_pipeline_run(m, options_of(s), p, report);
}

/* Lists the passes that NPU form adds to the canonical ones, comma-separated. */
static void list_npu_passes(int level, tl_buf *out) {
  uint32_t n;
  const tl_pass_row *rows = tl_pass_rows(&n);
  for (uint32_t i = 0; i < n; i++) {
    if (rows[i].stage == TL_STAGE_ALL || !tl_pass_runs_in(&rows[i], TL_STAGE_AIR) ||
        rows[i].level > level)
      continue;
    if (out->n)
      tl_buf_add_char(out, ',');
    tl_buf_add_z(out, rows[i].name);
  }
}

tl_status tl_session_run_npu(const tl_session *s, tl_module *m, const tl_pipeline_options *p,
                             tl_pipeline_report *report) {
  tl_buf names;
  tl_pipeline_options npu = *p;
  tl_status status = TL_OK;
  tl_buf_init(&names);
  list_npu_passes(p->level, &names);
  npu.passes = names.p;
  npu.stage = TL_STAGE_AIR;
  npu.rewrite_limit = 0;
  if (names.failed)
    status = tl_fail_memory(s->diag, TL_NOWHERE);
  else if (names.n)
    status = tl_session_run(s, m, &npu, report);
  tl_buf_release(&names);
  return status;
}

tl_status tl_session_run_passes(const tl_session *s, tl_module *m, const char *passes) {
  const tl_pipeline_options p = {.passes = passes, .own = s->own, .n_own = s->n_own};
  return tl_session_run(s, m, &p, NULL);
}

tl_status tl_session_settle(const tl_session *s, tl_module *m) {
  const tl_options *o = s->options ? s->options : &s->settings->options;
  return o->n_input_shapes || o->n_frozen
             ? tl_session_run_passes(s, m, "input-shapes,freeze-inputs,infer-shapes")
             : tl_infer_module(m);
}

tl_status tl_session_raise(const tl_session *s, tl_module *m) {
  return m->form == TL_FORM_NPU ? tl_session_run_passes(s, m, "raise") : TL_OK;
}
