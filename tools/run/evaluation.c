/* SPDX-License-Identifier: Apache-2.0 */
/* Holds what run and verify share: options of the evaluator, models that are ready, lists of
 * values. */
#include "tools/run/evaluation.h"

#include "ir/infer/infer.h"
#include "tools/cli/limits.h"
#include "tools/convert/pipeline.h"

tl_status tl_evaluation_init(tl_evaluation *e, tl_cli *cli) {
  uint64_t threads, seed, limit, trips;
  *e = (tl_evaluation){.cli = cli};
  tl_host_heap_init(&e->heap, 0);
  TL_TRY(tl_limit_memory_option(cli, &limit));
  e->heap.limit = limit;
  e->heap.most = cli->settings.options.max_tensor;
  if (!tl_parse_u64(tl_sv_from(tl_cli_get(cli, TL_OPTION_THREADS)), &threads) ||
      !tl_parse_u64(tl_sv_from(tl_cli_get(cli, TL_OPTION_SEED)), &seed) ||
      !tl_parse_u64(tl_sv_from(tl_cli_get(cli, TL_OPTION_MAX_TRIPS)), &trips))
    return TL_INTERNAL; /* the option table bounds all */
  e->store = tl_module_create(&cli->diag, "-", 0);
  e->pool = tl_pool_create((unsigned)threads);
  if (!e->store || !e->pool)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  e->options = (tl_eval_options){.exact = tl_cli_has(cli, TL_OPTION_EXACT),
                                 .pool = e->pool,
                                 .cancel = cli->signal,
                                 .seed = seed,
                                 .max_trips = trips};
  if (tl_cli_has(cli, TL_OPTION_EMULATE))
    e->options.emulate = tl_dtype_from_name(tl_sv_from(tl_cli_get(cli, TL_OPTION_EMULATE)));
  return TL_OK;
}

void tl_evaluation_release(tl_evaluation *e) {
  if (e->store)
    tl_module_destroy(e->store);
  tl_pool_destroy(e->pool);
  tl_host_heap_release(&e->heap);
}

/* Runs canonical passes, then those of AIR, as convert does. */
static tl_status lower(tl_cli *cli, tl_module *m) {
  TL_TRY(tl_cli_run(cli, m, TL_STAGE_FIRST, NULL));
  return tl_cli_run_npu(cli, m, NULL);
}

/* Kernels know ONNX's ops. Destroys the module after a failure. */
static tl_status finish_load(const tl_evaluation *e, const tl_session *s, tl_status status,
                             tl_module **out) {
  if (status == TL_OK && e->loaded)
    status = e->loaded(e->loaded_user, *out);
  if (status == TL_OK)
    status = tl_session_run_passes(s, *out, "expand-definitions");
  if (status == TL_OK)
    return TL_OK;
  tl_module_destroy(*out);
  *out = NULL;
  return status;
}

static tl_status load(tl_evaluation *e, const char *path, bool npu, tl_module **out) {
  const tl_session *s = &e->cli->session;
  TL_TRY(tl_session_load(s, path, out));
  return finish_load(e, s, npu ? lower(e->cli, *out) : tl_session_settle(s, *out), out);
}

tl_status tl_evaluation_load(tl_evaluation *e, const char *path, tl_module **out) {
  return load(e, path, false, out);
}

static bool has_input(const tl_module *m, tl_sv name) {
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 0; i < g->inputs.n; i++)
    if (tl_sv_eq(tl_value_name(m, g->inputs.at[i]), name))
      return true;
  return false;
}

/* Leaves of the options those that name an input of m. TL_NO_MEMORY. */
static tl_status keep_own(tl_evaluation *e, const tl_module *m, tl_options *o) {
  tl_arena *a = &e->cli->settings.arena;
  tl_input_shape *shapes = tl_arena_calloc(a, o->n_input_shapes + 1u, sizeof *shapes);
  tl_frozen_input *frozen = tl_arena_calloc(a, o->n_frozen + 1u, sizeof *frozen);
  uint32_t n = 0, k = 0;
  if (!shapes || !frozen)
    return tl_fail_memory(&e->cli->diag, TL_NOWHERE);
  for (uint32_t i = 0; i < o->n_input_shapes; i++)
    if (has_input(m, o->input_shapes[i].name))
      shapes[n++] = o->input_shapes[i];
  for (uint32_t i = 0; i < o->n_frozen; i++)
    if (has_input(m, o->frozen[i].name))
      frozen[k++] = o->frozen[i];
  o->input_shapes = shapes;
  o->n_input_shapes = n;
  o->frozen = frozen;
  o->n_frozen = k;
  return TL_OK;
}

tl_status tl_evaluation_load_other(tl_evaluation *e, const char *path, tl_module **out) {
  tl_session s = e->cli->session;
  tl_options options = s.settings->options;
  s.optimizer = NULL; /* it belongs to the first model */
  TL_TRY(tl_session_load(&s, path, out));
  s.options = &options;
  tl_status status = keep_own(e, *out, &options);
  return finish_load(e, &s, status == TL_OK ? tl_session_settle(&s, *out) : status, out);
}

tl_status tl_evaluation_load_npu(tl_evaluation *e, const char *path, tl_module **out) {
  return load(e, path, true, out);
}

static uint32_t count_nodes(const tl_module *m, const tl_graph *g) {
  uint32_t count = 0;
  TL_FOR_NODES(m, g, n)
    count++;
  return count;
}

tl_status tl_evaluation_run(tl_evaluation *e, tl_module *m, const tl_host_vec *inputs,
                            tl_host_vec *outputs) {
  const tl_graph *g = tl_module_main(m);
  uint32_t n = tl_graph_n_outputs(m, g);
  for (uint32_t i = 0; i < n; i++)
    if (!tl_host_vec_push(outputs, NULL))
      return tl_fail_memory(&e->cli->diag, TL_NOWHERE);
  TL_TRY(tl_module_need_one_root(m, "a run"));
  TL_TRY(tl_eval_check(m, g->id));
  tl_progress *progress = &e->cli->progress;
  if (!e->part)
    tl_progress_say(progress, tl_cli_has(e->cli, TL_OPTION_QUIET), "evaluating %s", m->path);
  tl_progress_count(progress, count_nodes(m, g));
  e->options.done = &progress->done;
  return tl_eval_graph(m, g->id, &e->options, &e->heap, inputs->at, outputs->at);
}

bool tl_values_keep(tl_host_vec *values, tl_host *value) {
  tl_host *kept = value ? tl_host_retain(value) : NULL;
  bool good = tl_host_vec_push(values, kept);
  if (!good && kept)
    tl_host_release(kept);
  return good;
}

void tl_values_release(tl_host_vec *v) {
  for (uint32_t i = 0; i < v->n; i++)
    tl_host_release(v->at[i]);
  tl_host_vec_release(v);
}
