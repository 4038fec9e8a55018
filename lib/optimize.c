/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what runs passes over models (include/tailor/model.h), and what they report. */
#include <stdlib.h>

#include "ir/infer/infer.h"
#include "lib/handle.h"

/* ---- progress, limits, remarks --------------------------------------------------------------- */

/* Runs before and after each pass. */
static tl_status watch(void *user, tl_module *module, const tl_pass_event *e) {
  tl_model *m = user;
  tl_context *c = m->context;
  if (e->after) {
    size_t bytes = c->memory_limit ? tl_module_bytes(module) : 0;
    if (bytes <= c->memory_limit)
      return TL_OK;
    return tl_fail(&c->diag, TL_LIMIT, TL_AT_FILE(module->path),
                   "the model takes %llu bytes behind pass '%s', the limit is %llu",
                   (unsigned long long)bytes, e->row->name, (unsigned long long)c->memory_limit);
  }
  tl_progress_event event = {
      .pass = e->row->name, .step = m->record.report.n, .nodes = e->nodes_before};
  c->inside++;
  if (c->progress && c->progress(c->progress_user, &event) != 0)
    c->stopped = true;
  c->inside--;
  m->record.report.n++;
  return c->cancel || c->stopped ? TL_IO : TL_OK;
}

/* Copies a text to the arena of the record; "" for none. */
static const char *keep_text(tl_lib_record *r, tl_sv text) {
  const char *copy = text.n ? tl_arena_copy(&r->arena, text.p, text.n) : "";
  r->failed = r->failed || !copy;
  return copy ? copy : "";
}

static const char *static_text(const char *z) { return z ? z : ""; }

static bool make_room(tl_lib_record *r) {
  if (r->n_remarks < r->cap)
    return true;
  uint32_t cap = r->cap ? 2 * r->cap : 64;
  tl_remark_info *grown = realloc(r->remarks, cap * sizeof *grown);
  if (!grown)
    return false;
  r->remarks = grown;
  r->cap = cap;
  return true;
}

static void note(void *user, const tl_remark *remark) {
  tl_lib_record *r = user;
  const tl_fusion_remark *f = remark->fusion;
  if (!make_room(r)) {
    r->failed = true;
    return;
  }
  r->remarks[r->n_remarks++] =
      (tl_remark_info){.pass = keep_text(r, tl_sv_from(remark->pass)),
                       .node = keep_text(r, remark->node),
                       .message = keep_text(r, tl_sv_from(static_text(remark->message))),
                       .rule = f ? keep_text(r, f->rule) : "",
                       .fusion = f ? keep_text(r, f->fusion) : "",
                       .reason = f ? keep_text(r, tl_sv_from(static_text(f->code))) : "",
                       .applied = remark->applied};
}

static void forget(tl_lib_record *r) {
  static const tl_arena_mark nothing = {0};
  tl_arena_rewind(&r->arena, nothing);
  r->n_remarks = 0;
  r->report.n = 0;
  r->failed = false;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Runs a pipeline with everything that the handle asks for. */
static tl_status run(tl_model *m, const tl_session *s, tl_pipeline_options *p) {
  tl_pipeline_report report;
  p->hook = watch;
  p->hook_user = m;
  p->remark = m->keeps_remarks ? note : NULL;
  p->remark_user = &m->record;
  p->explain = m->keeps_remarks && m->near_misses;
  forget(&m->record);
  tl_status status = tl_session_run(s, m->module, p, &report);
  m->record.report = report;
  return status == TL_OK && m->record.failed ? TL_NO_MEMORY : status;
}

/* Makes what was registered part of the session. */
static tl_status prepare(tl_model *m, tl_session *s) {
  tl_context *c = m->context;
  TL_TRY(tl_lib_check(m));
  TL_TRY(tl_lib_settle(c));
  *s = c->session;
  s->own = (const tl_own_pass *const *)c->passes.at;
  s->n_own = c->passes.n;
  return TL_OK;
}

/* One pipeline: unlike the command, nobody saves canonical form on the way to NPU form, so the
 * loops that are unrolled for the NPU are cleaned up. */
static tl_status optimize(tl_model *m, tl_purpose purpose, tl_fusion_stats *fusions) {
  tl_session s;
  TL_TRY(prepare(m, &s));
  s.fusions = fusions;
  tl_stage stage = purpose == TL_FOR_AIR ? TL_STAGE_AIR
                                         : tl_pipeline_canonical(&m->context->settings.options);
  tl_pipeline_options p = tl_session_pipeline(&s, stage);
  if (stage != TL_STAGE_AIR)
    TL_TRY(tl_session_raise(&s, m->module));
  TL_TRY(tl_session_try_profiles(&s, m->module, &(tl_profile_run){.stage = stage}));
  TL_TRY(run(m, &s, &p));
  return fusions->counts.n ? tl_session_save_fusions(&s) : TL_OK;
}

int tl_model_optimize(tl_model *m, tl_purpose purpose) {
  int code;
  if (tl_lib_is_inside(m->context, "optimize a model", &code))
    return code;
  if (purpose != TL_FOR_ONNX && purpose != TL_FOR_AIR)
    return tl_lib_misuse(m->context, "%d is no purpose", (int)purpose);
  uint32_t errors = tl_lib_begin(m->context);
  tl_fusion_stats fusions;
  tl_fusion_stats_init(&fusions);
  tl_status status = optimize(m, purpose, &fusions);
  tl_fusion_stats_release(&fusions);
  return tl_lib_end(m->context, status, errors);
}

static tl_status run_passes(tl_model *m, const char *passes) {
  tl_session s;
  TL_TRY(prepare(m, &s));
  tl_pipeline_options p = tl_session_pipeline(&s, TL_STAGE_ALL);
  p.passes = passes;
  return run(m, &s, &p);
}

int tl_model_run_passes(tl_model *m, const char *passes) {
  int code;
  if (tl_lib_is_inside(m->context, "run passes", &code))
    return code;
  uint32_t errors = tl_lib_begin(m->context);
  return tl_lib_end(m->context, run_passes(m, passes), errors);
}

int tl_model_infer(tl_model *m) {
  int code;
  if (tl_lib_is_inside(m->context, "infer a model", &code))
    return code;
  uint32_t errors = tl_lib_begin(m->context);
  tl_status status = tl_lib_check(m);
  if (status == TL_OK)
    status = tl_lib_settle(m->context);
  if (status == TL_OK)
    status = tl_session_settle(&m->context->session, m->module);
  return tl_lib_end(m->context, status, errors);
}

/* ---- what there is and what was done --------------------------------------------------------- */

uint32_t tl_pass_count(void) {
  uint32_t n;
  (void)tl_pass_rows(&n);
  return n;
}

const char *tl_pass_name(uint32_t i, const char **summary) {
  uint32_t n;
  const tl_pass_row *rows = tl_pass_rows(&n);
  if (i >= n)
    return NULL;
  if (summary)
    *summary = rows[i].summary;
  return rows[i].name;
}

void tl_model_keep_remarks(tl_model *m, int keep, int near_misses) {
  m->keeps_remarks = keep != 0;
  m->near_misses = near_misses != 0;
}

uint32_t tl_model_remark_count(const tl_model *m) { return m->record.n_remarks; }

int tl_model_remark(const tl_model *m, uint32_t i, tl_remark_info *out) {
  if (i >= m->record.n_remarks)
    return 0;
  *out = m->record.remarks[i];
  return 1;
}

uint32_t tl_model_ran_count(const tl_model *m) { return m->record.report.n; }

int tl_model_ran(const tl_model *m, uint32_t i, tl_pass_info *out) {
  if (i >= m->record.report.n)
    return 0;
  const tl_pass_result *r = &m->record.report.at[i];
  *out = (tl_pass_info){.pass = r->row->name,
                        .rewrites = r->changed,
                        .nanoseconds = r->nanoseconds,
                        .nodes_before = r->nodes_before,
                        .nodes_after = r->nodes_after};
  return 1;
}
