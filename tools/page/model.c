/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the chunks of one model. */
#include <stdio.h>

#include "support/json_writer.h"
#include "tools/cli/rules.h"
#include "tools/page/facts.h"

/* Near misses take a sweep of all rules over all nodes: in larger models, whose layers repeat, over
 * so many of them. */
enum { MOST_EXPLAINED = 1 << 15, FEW_EXPLAINED = 1 << 13 };

/* A signal ends the passes; so does lack of memory. */
static tl_status on_pass(void *user, tl_module *m, const tl_pass_event *e) {
  tl_view_model *v = user;
  if (*v->cli->signal)
    return TL_IO;
  if (!e->after)
    tl_progress_say(&v->cli->progress, tl_cli_has(v->cli, TL_OPTION_QUIET), "pass %s",
                    e->row->name);
  TL_TRY(tl_view_reasons_pass(v, e));
  return tl_view_record_pass(&v->record, m, e);
}

/* Keeps the first error of the passes. */
static void keep_error(void *user, const tl_diagnostic *d) {
  tl_view_model *v = user;
  if (d->severity == TL_ERROR && !v->ended)
    v->ended = tl_arena_copy(&v->cli->settings.arena, d->message, strlen(d->message));
}

/* Runs the passes. Ops without an NPU form stay what they are, so that there is something to see.
 */
static tl_status run(tl_view_model *v) {
  tl_cli *cli = v->cli;
  tl_options options = cli->settings.options;
  tl_session lenient = cli->session;
  tl_pipeline_options p = tl_session_pipeline(&lenient, v->stage);
  tl_muted muted;
  options.allow_unmapped = true;
  lenient.options = &options;
  p.hook = on_pass;
  p.hook_user = v;
  p.remark = tl_view_record_remark;
  p.remark_user = &v->record;
  v->swept = tl_module_count_nodes(v->m) <= MOST_EXPLAINED ? 0 : FEW_EXPLAINED;
  p.explain = true;
  p.explain_most = v->swept;
  p.fusions = NULL;
  p.log = &v->record.log;
  p.steps = &v->steps;
  tl_mute(&muted, v->m, keep_error, v);
  tl_status status = tl_session_run(&lenient, v->m, &p, NULL);
  tl_unmute(&muted);
  v->npu = status == TL_OK && v->m->form == TL_FORM_NPU;
  if (*cli->signal)
    return TL_IO;
  if (status == TL_NO_MEMORY)
    return tl_fail_memory(&cli->diag, TL_AT_FILE(v->path));
  if (status != TL_OK && !v->ended)
    v->ended = tl_status_words(status);
  return TL_OK;
}

/* Adds all that is not the graph. The texts come last, as the others add to them. */
static tl_status add_facts(tl_view_model *v) {
  tl_view_weights(v);
  tl_view_rules(v);
  tl_view_decisions(v);
  tl_view_figures(v);
  tl_view_precision(v);
  tl_view_ops(v);
  tl_view_timeline(v);
  return tl_view_errors(v);
}

static tl_status make(tl_view_model *v) {
  tl_cli *cli = v->cli;
  tl_progress_say(&cli->progress, tl_cli_has(cli, TL_OPTION_QUIET), "reading %s", v->path);
  TL_TRY(tl_session_load(&cli->session, v->path, &v->m));
  if (!cli->rules && cli->settings.options.n_rule_files)
    TL_TRY(tl_cli_load_rules(cli)); /* for their places */
  v->npu = v->m->form == TL_FORM_NPU;
  bool is_end = v->npu || v->request->bare; /* AIR files are at their end already */
  TL_TRY(is_end ? tl_view_record_begin(&v->record, v->m) : run(v));
  TL_TRY(tl_view_record_begin(&v->record, v->m)); /* of a model over which no pass ran */
  if (v->ended)
    tl_warn(&cli->diag, TL_AT_FILE(v->path),
            "the passes end at '%s': %s\vthe page shows what was before",
            v->record.passes.n ? v->record.passes.at[v->record.passes.n - 1].row->name
                               : "the first",
            v->ended);
  TL_TRY(add_facts(v));
  tl_buf json;
  tl_buf_init(&json);
  tl_view_strings_put(&v->strings, &json);
  tl_chunks_add(v->chunks, "strings", &json);
  tl_buf_release(&json);
  return v->chunks->failed || v->strings.failed || v->record.no_memory ? TL_NO_MEMORY : TL_OK;
}

tl_status tl_view_model_make(tl_view_model *v, const tl_view_request *request, tl_chunks *chunks) {
  tl_cli *cli = request->cli;
  *v = (tl_view_model){.cli = cli,
                       .path = request->path,
                       .request = request,
                       .chunks = chunks,
                       .stage = TL_STAGE_AIR};
  tl_buf_init(&v->precision);
  tl_step_record_init(&v->steps);
  tl_view_strings_init(&v->strings);
  tl_view_record_init(&v->record, chunks, &v->strings);
  const char *emit = tl_cli_get(cli, TL_OPTION_EMIT);
  if (strcmp(emit, "onnx") == 0 || strcmp(emit, "tir") == 0)
    v->stage = tl_pipeline_canonical(&cli->settings.options);
  tl_status status = make(v);
  v->request = NULL;
  return status == TL_NO_MEMORY ? tl_fail_memory(&cli->diag, TL_AT_FILE(v->path)) : status;
}

void tl_view_model_release(tl_view_model *v) {
  tl_view_record_release(&v->record);
  tl_view_strings_release(&v->strings);
  tl_step_record_release(&v->steps);
  tl_u32_vec_release(&v->dtype_why);
  tl_u32_vec_release(&v->use_why);
  tl_buf_release(&v->precision);
  tl_module_destroy(v->m);
  v->m = NULL;
}

/* ---- index ----------------------------------------------------------------------------------- */

static void put_pass(const tl_view_model *v, tl_json_writer *w, uint32_t i) {
  const tl_view_pass *p = &v->record.passes.at[i];
  char chunk[32];
  snprintf(chunk, sizeof chunk, "pass-%u", i);
  tl_json_line(w, 1);
  tl_put_object(w);
  tl_member_u64(w, "id", i);
  tl_member_z(w, "name", p->row->name);
  tl_member_z(w, "stage", tl_pass_stage_name(p->row));
  tl_member_z(w, "doc", p->row->summary);
  if (tl_cli_has(v->cli, TL_OPTION_TIME_PASSES))
    tl_member_u64(w, "nanoseconds", p->nanoseconds);
  const tl_count_member counts[] = {{"rewrites", p->rewrites},
                                    {"nodes_before", p->nodes_before},
                                    {"nodes_after", p->nodes_after}};
  tl_member_counts(w, counts, sizeof counts / sizeof *counts);
  tl_member_bool(w, "changed", p->changed);
  tl_put_key(w, "chunk");
  if (p->changed)
    tl_put_z(w, chunk);
  else
    tl_put_null(w);
  tl_put_end(w);
}

void tl_view_model_index(const tl_view_model *v, tl_json_writer *w) {
  tl_member_z(w, "path", v->path);
  tl_member_z(w, "chip", tl_options_chip(&v->cli->settings.options)->name);
  tl_member_z(w, "form", v->npu ? "npu" : "canonical");
  if (v->ended)
    tl_member_z(w, "ended", v->ended);
  tl_member_u64(w, "swept", v->swept);
  tl_json_line(w, 0);
  tl_put_key(w, "passes");
  tl_put_array(w);
  for (uint32_t i = 0; i < v->record.passes.n; i++)
    put_pass(v, w, i);
  tl_put_end(w);
}
