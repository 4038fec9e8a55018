/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the state of training passes (state.h). */
#include "passes/train/step/state.h"

#include "support/assert.h"

const tl_step_state *tl_step_state_of(const tl_module *m) {
  static const tl_step_state nothing = {0};
  return m->step ? m->step : &nothing;
}

tl_step_state *tl_step_state_edit(tl_module *m) {
  if (!m->step)
    m->step = tl_arena_calloc(&m->arena, 1, sizeof *m->step);
  return m->step;
}

static tl_status open_state(tl_module *m, tl_step_state **out) {
  *out = tl_step_state_edit(m);
  return *out ? TL_OK : tl_no_memory(m);
}

tl_status tl_step_declare(tl_module *m, const tl_train_spec *spec) {
  tl_step_state *s;
  TL_TRY(open_state(m, &s));
  s->declared = spec;
  return TL_OK;
}

/* What belongs to the pipeline of m must not be reached from the fork. */
tl_status tl_step_state_copy(tl_module *fork, const tl_module *m) {
  tl_step_state *s;
  TL_TRY(open_state(fork, &s));
  *s = *tl_step_state_of(m);
  s->record = NULL;
  s->found = s->left = NULL;
  return TL_OK;
}

tl_graph *tl_step_graph(const tl_module *m) {
  tl_graph_id g = tl_step_state_of(m)->graph;
  return g ? tl_graph_get(m, g) : tl_module_main(m);
}

/* ---- pipelines ------------------------------------------------------------------------------- */

tl_status tl_step_pipeline_begin(tl_module *m, struct tl_step_record *record) {
  tl_step_state *s;
  TL_TRY(open_state(m, &s));
  s->record = record;
  s->found = s->left = NULL;
  return TL_OK;
}

/* What a pass left is seen by the next pass only: later passes may have changed the graph. */
bool tl_step_pipeline_next(tl_module *m) {
  TL_ASSERT(m->step); /* tl_step_pipeline_begin has made it */
  m->step->found = m->step->left;
  m->step->left = NULL;
  return m->step->found != NULL;
}

bool tl_step_pipeline_left(const tl_module *m) { return m->step->left != NULL; }

void tl_step_pipeline_end(tl_module *m) {
  m->step->record = NULL;
  m->step->found = m->step->left = NULL;
}

/* ---- what files record ----------------------------------------------------------------------- */

/* A file must not ask the runtime for a stream or a tail that a pass found to be slower. */
tl_sv tl_step_carried(const tl_module *m, const tl_carried_option *o) {
  const tl_step_state *s = tl_step_state_of(m);
  if (s->no_update_stream && tl_sv_is(o->key, "ge.hcomParallel"))
    return TL_SV("0");
  if (s->no_update_stream && tl_sv_is(o->key, "tailor.run.hcom_parallel"))
    return TL_SV("false");
  if (s->no_tail && tl_sv_is(o->key, "ge.exec.isTailingOptimization"))
    return TL_SV("0");
  if (s->no_tail && (tl_sv_is(o->key, "tailor.run.is_tailing_optimization") ||
                     tl_sv_is(o->key, "tailor.run.optimizer_is_tailing_optimization")))
    return TL_SV("false");
  return o->value;
}

tl_status tl_step_written_options(tl_module *m, const tl_options *in, tl_options *out) {
  const tl_step_state *s = tl_step_state_of(m);
  *out = *in;
  if (!s->no_update_stream && !s->no_tail)
    return TL_OK;
  tl_carried_option *own = tl_arena_calloc(&m->arena, in->n_carried + 1u, sizeof *own);
  if (!own)
    return tl_no_memory(m);
  for (uint32_t i = 0; i < in->n_carried; i++)
    own[i] = (tl_carried_option){in->carried[i].key, tl_step_carried(m, &in->carried[i])};
  out->carried = own;
  return TL_OK;
}
