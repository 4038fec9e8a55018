/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the first values of simulated ranks and runs the graph of initial values. Each rank except
 * the first has random values, which that graph must replace by those of rank 0. */
#include "tools/convert/init_graph.h"
#include "tools/convert/pipeline.h"
#include "tools/run/random_values.h"
#include "tools/simulate/simulate.h"

/* Makes a first value. Rank 0 has what the original model starts from; other ranks have random
 * values, none of which may survive. */
static tl_status first_value(tl_simulation *s, tl_module *m, tl_value_id v, tl_host **out) {
  uint32_t rank = 0;
  tl_sv name;
  bool assumed;
  if (!tl_sim_split_rank(tl_value_name(m, v), &rank, &name))
    return TL_INTERNAL;
  if (rank)
    return tl_random_value(&s->e, m, v, s->e.options.seed + rank, out, &assumed);
  uint32_t i = tl_sim_find(s->one.m, false, -1, name);
  if (i != UINT32_MAX)
    return tl_sim_first_value(s, i, out);
  tl_tensor_id first = tl_value_get(m, v)->tensor; /* of a state that a pass has added */
  *out = first ? tl_host_from_tensor(&s->e.heap, m, tl_tensor_get(m, first)) : NULL;
  return *out ? TL_OK : tl_fail_memory(&s->cli->diag, TL_NOWHERE);
}

/* Makes the inputs of the graph of initial values. */
static tl_status fill(tl_simulation *s, tl_sim_model *sim) {
  const tl_graph *g = tl_module_main(sim->m);
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    tl_host *value = NULL;
    TL_TRY(first_value(s, sim->m, g->inputs.at[i], &value));
    if (!tl_host_vec_push(&sim->in, value)) {
      tl_host_release(value);
      return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
    }
  }
  return TL_OK;
}

/* Takes the outputs over as states of the ranks. Inputs and outputs of this graph are in the order
 * of its states. */
static tl_status hand_over(tl_simulation *s, const tl_sim_model *sim) {
  for (uint32_t i = 0; i < sim->m->states.n; i++) {
    tl_sv name = tl_value_name(sim->m, sim->m->states.at[i].input);
    uint32_t at = tl_sim_find(s->all.m, false, -1, name);
    if (at == UINT32_MAX || i >= sim->out.n)
      return tl_fail(&s->cli->diag, TL_INTERNAL, TL_AT_FILE(sim->m->path), "state '%.*s' got lost",
                     TL_SV_ARG(name));
    tl_host_release(s->all.state.at[at]);
    s->all.state.at[at] = tl_host_retain(sim->out.at[i]);
  }
  s->n_broadcast = sim->m->states.n / s->ranks;
  return TL_OK;
}

/* Loads the model, turns it into the graph of initial values, and runs it. */
static tl_status begin(tl_simulation *s, tl_sim_model *sim) {
  TL_TRY(tl_session_load(&s->cli->session, s->cli->word, &sim->m));
  TL_TRY(tl_cli_run(s->cli, sim->m, tl_cli_canonical_stage(s->cli), NULL));
  TL_TRY(tl_init_graph_make(s->cli, sim->m));
  TL_TRY(fill(s, sim));
  TL_TRY(tl_evaluation_run(&s->e, sim->m, &sim->in, &sim->out));
  return hand_over(s, sim);
}

tl_status tl_sim_begin(tl_simulation *s) {
  if (s->ranks == 1 || !s->config.init_graph)
    return TL_OK;
  tl_status status = begin(s, &s->init);
  tl_values_release(&s->init.in);
  return status;
}
