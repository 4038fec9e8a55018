/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor simulate-ranks, which trains on several ranks in the evaluator. The original
 * model on the joined batches of all ranks is the reference. */
#include <math.h>

#include "ir/infer/infer.h"
#include "tools/convert/pipeline.h"
#include "lib/values/elements.h"
#include "tools/run/random_values.h"
#include "tools/simulate/simulate.h"

/* ---- models ---------------------------------------------------------------------------------- */

/* Loads the original step and finds its states. Its batch is that of all ranks, so --input-shape
 * does not apply: it tells the shapes of one. */
static tl_status load_one(tl_simulation *s, const char *path) {
  TL_TRY(tl_session_load(&s->cli->session, path, &s->one.m));
  return tl_session_run_passes(&s->cli->session, s->one.m,
                               "freeze-inputs,infer-shapes,train-detect,expand-definitions");
}

/* Loads the step and rewrites it for all ranks; the pipeline puts them side by side in one
 * graph. */
static tl_status load_all(tl_simulation *s) {
  TL_TRY(tl_session_load(&s->cli->session, s->cli->word, &s->all.m));
  TL_TRY(tl_cli_run(s->cli, s->all.m, tl_cli_canonical_stage(s->cli), NULL));
  return tl_session_run_passes(&s->cli->session, s->all.m, "expand-definitions");
}

/* Makes empty entries for states and inputs. */
static tl_status make_room(tl_simulation *s, tl_sim_model *sim) {
  for (uint32_t i = 0; i < tl_module_main(sim->m)->inputs.n; i++)
    if (!tl_host_vec_push(&sim->state, NULL) || !tl_host_vec_push(&sim->in, NULL))
      return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
  return TL_OK;
}

/* Returns the position of a value among the outputs, UINT32_MAX if it is none. */
static uint32_t output_index(const tl_module *m, tl_value_id v) {
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 0; i < tl_graph_n_outputs(m, g); i++)
    if (tl_graph_output(m, g, i) == v)
      return i;
  return UINT32_MAX;
}

/* Finds out whether a state differs between ranks, and which rank holds it, from the step of rank
 * 0. */
static void find_root(const tl_simulation *s, tl_sim_state *row) {
  uint32_t at = tl_sim_find(s->all.m, false, 0, row->name);
  for (uint32_t i = 0; at != UINT32_MAX && i < s->all.m->states.n; i++) {
    const tl_state *t = &s->all.m->states.at[i];
    if (t->input != tl_module_main(s->all.m)->inputs.at[at])
      continue;
    row->local = t->local;
    row->root = t->root;
  }
}

/* Lists the states to compare, then the other outputs. */
static tl_status find_states(tl_simulation *s) {
  const tl_module *m = s->one.m;
  for (uint32_t i = 0; i < m->states.n; i++) {
    const tl_state *t = &m->states.at[i];
    tl_sim_state row = {.name = tl_value_name(m, t->input)};
    row.input = tl_sim_find(m, false, -1, row.name);
    row.output = output_index(m, t->output);
    for (uint32_t k = 0; k < m->gradients.n; k++)
      row.parameter = row.parameter || m->gradients.at[k].param == t->input;
    find_root(s, &row);
    if (row.input == UINT32_MAX)
      continue;
    if (row.output == UINT32_MAX)
      return tl_fail(&s->cli->diag, TL_UNSUPPORTED, TL_AT_NODE(m->path, row.name),
                     "the next value of this state is no output of the graph, so the next step "
                     "cannot begin with it\vadd '%.*s' to the outputs",
                     TL_SV_ARG(tl_sv_shown(tl_value_name(m, t->output))));
    if (!tl_sim_states_push(&s->states, row))
      return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
  }
  if (s->states.n)
    return tl_sim_find_outputs(s);
  return tl_fail(&s->cli->diag, TL_INVALID_MODEL, TL_AT_FILE(m->path),
                 "no parameter is both input and output, so the model cannot run several steps");
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Releases the values of a step; forget: the list becomes empty, too. */
static void clear(tl_host_vec *v, bool forget) {
  for (uint32_t i = 0; i < v->n; i++) {
    tl_host_release(v->at[i]);
    v->at[i] = NULL;
  }
  if (forget)
    v->n = 0;
}

/* Makes the outputs of a step the states of the next one. */
static void carry_on(tl_sim_model *sim) {
  for (uint32_t i = 0; i < sim->m->states.n; i++) {
    const tl_state *t = &sim->m->states.at[i];
    uint32_t in = tl_value_get(sim->m, t->input)->index, out = output_index(sim->m, t->output);
    if (out == UINT32_MAX)
      continue;
    tl_host_release(sim->state.at[in]);
    sim->state.at[in] = tl_host_retain(sim->out.at[out]);
  }
}

static bool same_bits(const tl_host *a, const tl_host *b) {
  return a->kind == b->kind && a->dtype == b->dtype && tl_host_same_shape(a, b) &&
         a->bytes == b->bytes && (!a->bytes || memcmp(a->data, b->data, (size_t)a->bytes) == 0);
}

/* Compares the states of other ranks with those of rank 0, bit by bit; those of the loss scale,
 * too. States that are local to a rank are skipped. States of the graph are listed rank by rank, so
 * i % n is the same state of rank 0. */
static void compare_ranks(tl_simulation *s, uint32_t step) {
  const tl_module *m = s->all.m;
  uint32_t n = m->states.n / s->ranks;
  for (uint32_t i = n; i < m->states.n && !s->uneven_step; i++) {
    uint32_t a = output_index(m, m->states.at[i % n].output);
    uint32_t b = output_index(m, m->states.at[i].output);
    if (m->states.at[i].local)
      continue;
    if (a == UINT32_MAX || b == UINT32_MAX || same_bits(s->all.out.at[a], s->all.out.at[b]))
      continue;
    s->uneven_step = step + 1;
    s->uneven = tl_value_name(m, m->states.at[i].input);
  }
}

/* The greatest error is compared with the greatest element, because single elements near zero have
 * no meaningful relative error. The negated comparisons count NaN as beyond the tolerance. */
void tl_sim_note(const tl_simulation *s, tl_sim_state *row, const tl_host *got, const tl_host *want,
                 uint32_t step) {
  const tl_tolerance exact = {.cosine = (double)NAN, .elements = true};
  tl_difference d;
  tl_compare(got, want, &exact, false, &d);
  double error = d.reason ? (double)INFINITY : d.max_abs;
  double allowed = s->atol + s->rtol * d.largest;
  double excess = error == 0 ? 0 : error / allowed;
  if (!(excess <= 1) && !row->step)
    row->step = step + 1;
  if (step == 0 || !(excess <= row->excess)) {
    row->excess = excess;
    row->max_abs = error;
    row->largest = d.largest;
  }
}

/* Returns what a state was before the step: its input, or its first value. */
static tl_status before_step(tl_simulation *s, uint32_t i, tl_host **out) {
  *out = tl_host_retain(s->one.in.at[i]);
  return *out ? TL_OK : tl_sim_first_value(s, i, out);
}

/* Makes the mean over ranks of an output. */
static tl_status mean_of(tl_simulation *s, tl_sv name, tl_host **out) {
  *out = NULL;
  for (uint32_t k = 0; k < s->ranks; k++) {
    uint32_t at = tl_sim_find(s->all.m, true, (int)k, name);
    const tl_host *of = at == UINT32_MAX ? NULL : s->all.out.at[at];
    if (of && !*out)
      *out = tl_zeros(&s->e.heap, (tl_dtype)of->dtype, of->rank, of->dims);
    if (!of || !*out)
      return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
    for (uint64_t i = 0; i < of->n; i++)
      tl_put_float(*out, i, tl_host_at(*out, i) + tl_host_at(of, i) / s->ranks);
  }
  return TL_OK;
}

/* Makes the value that the ranks have of a state: that of rank 0, of the rank that holds it, or the
 * mean of local ones. */
static tl_status state_of_ranks(tl_simulation *s, const tl_sim_state *row, tl_sv name,
                                tl_host **out) {
  uint32_t at = tl_sim_find(s->all.m, true, row->root ? (int)row->root - 1 : 0, name);
  if (at == UINT32_MAX)
    return tl_fail(&s->cli->diag, TL_INTERNAL, TL_AT_FILE(s->all.m->path), "output '%.*s' got lost",
                   TL_SV_ARG(name));
  if (row->local && !row->root)
    return mean_of(s, name, out);
  *out = tl_host_retain(s->all.out.at[at]);
  return TL_OK;
}

/* Compares all states and outputs with those of the original model. A step that overflowed must
 * leave its states as they were. */
static tl_status compare_states(tl_simulation *s, bool skipped, uint32_t step) {
  for (uint32_t i = 0; i < s->states.n; i++) {
    tl_sim_state *row = &s->states.at[i];
    if (row->reading != TL_SIM_AS_STATE) { /* of a step that is skipped it may be anything */
      if (!skipped)
        TL_TRY(tl_sim_compare_output(s, row, step));
      continue;
    }
    tl_sv name =
        tl_value_name(s->one.m, tl_graph_output(s->one.m, tl_module_main(s->one.m), row->output));
    tl_host *got;
    TL_TRY(state_of_ranks(s, row, name, &got));
    tl_host *want = tl_host_retain(s->one.out.at[row->output]);
    if (skipped) {
      tl_host_release(want);
      want = NULL;
    }
    tl_status status = skipped ? before_step(s, row->input, &want) : TL_OK;
    if (status == TL_OK)
      tl_sim_note(s, row, got, want, step);
    tl_host_release(got);
    tl_host_release(want);
    TL_TRY(status);
  }
  return TL_OK;
}

/* Compares the mean of the ranks' losses with the loss of the joined batch. */
static void compare_loss(tl_simulation *s, uint32_t step) {
  const tl_module *m = s->one.m;
  uint32_t at = m->loss ? output_index(m, m->loss) : UINT32_MAX;
  double mean = 0;
  if (at == UINT32_MAX || s->one.out.at[at]->n != 1)
    return;
  for (uint32_t k = 0; k < s->ranks; k++) {
    uint32_t i = tl_sim_find(s->all.m, true, (int)k, tl_value_name(m, m->loss));
    if (i == UINT32_MAX)
      return;
    mean += tl_host_at(s->all.out.at[i], 0) / s->ranks;
  }
  double want = tl_host_at(s->one.out.at[at], 0);
  double rel = mean == want ? 0 : fabs(mean - want) / fabs(want);
  if (step == 0) {
    s->loss_first = mean;
    s->factor = want / mean;
  }
  s->has_loss = true;
  s->loss_last = mean;
  if (!(rel <= s->loss_max_rel))
    s->loss_max_rel = rel;
}

/* Returns true if the ranks skipped this step; "tlr.ls.finite" is an output of loss scaling. */
static bool overflowed(const tl_simulation *s) {
  uint32_t at = tl_sim_find(s->all.m, true, 0, TL_SV("tlr.ls.finite"));
  return at != UINT32_MAX && tl_host_int_at(s->all.out.at[at], 0) == 0;
}

/* Evaluates the original model. If that fails, a fixed batch size is the likely reason. */
static tl_status evaluate_joined(tl_simulation *s) {
  tl_status status = tl_evaluation_run(&s->e, s->one.m, &s->one.in, &s->one.out);
  if (status != TL_OK && s->ranks > 1 && !tl_cli_has(s->cli, TL_OPTION_JOINED))
    tl_note(&s->cli->diag, TL_AT_FILE(s->one.m->path),
            "the model was evaluated on the joined batches of %u ranks; if its batch size is "
            "fixed, give the step for the joined batch with --joined",
            s->ranks);
  return status;
}

/* Runs one step of both sides and compares them. Values of a step are released at its end, so
 * memory does not grow with the number of steps. */
static tl_status step(tl_simulation *s, uint32_t k) {
  TL_TRY(tl_sim_fill(s, k));
  TL_TRY(evaluate_joined(s));
  TL_TRY(tl_evaluation_run(&s->e, s->all.m, &s->all.in, &s->all.out));
  bool skipped = overflowed(s);
  s->skipped += skipped;
  compare_ranks(s, k);
  compare_loss(s, k);
  TL_TRY(compare_states(s, skipped, k));
  carry_on(&s->all);
  if (!skipped)
    carry_on(&s->one);
  clear(&s->one.in, false);
  clear(&s->all.in, false);
  clear(&s->one.out, true);
  clear(&s->all.out, true);
  return TL_OK;
}

/* ---- driver ---------------------------------------------------------------------------------- */

static tl_status read_tolerance(tl_simulation *s, tl_option_id id, double fallback, double *out) {
  const char *text = tl_cli_get(s->cli, id);
  *out = fallback;
  if (!tl_cli_has(s->cli, id) || (tl_parse_f64(tl_sv_from(text), out) && *out >= 0))
    return TL_OK;
  return tl_fail(&s->cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&s->cli->settings, id),
                 "'%s' is not a number of at least 0", text);
}

static tl_status refuse(tl_simulation *s, tl_option_id id, const char *why) {
  return tl_fail_code(&s->cli->diag, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT",
                      tl_at_option(&s->cli->settings, id), "%s", why);
}

/* Refuses a run configuration that contradicts what is simulated. */
static tl_status check_ranks(tl_simulation *s) {
  const tl_train_config *c = &s->config;
  if (tl_cli_has(s->cli, TL_OPTION_RANK_SIZE) && c->rank_size && c->rank_size != s->ranks)
    return refuse(s, TL_OPTION_RANK_SIZE, "is not the number of ranks that -n asks for");
  if (tl_cli_has(s->cli, TL_OPTION_IS_DISTRIBUTED) && !c->is_distributed && s->ranks > 1)
    return refuse(s, TL_OPTION_IS_DISTRIBUTED, "is false, so the ranks would not communicate");
  if (tl_cli_has(s->cli, TL_OPTION_GRAPH_RUN_MODE) && !c->train)
    return refuse(s, TL_OPTION_GRAPH_RUN_MODE, "is 0: a graph for inference has no steps");
  if (tl_cli_has(s->cli, TL_OPTION_VERIFY_RANKS) && c->verify_ranks && c->verify_ranks != s->ranks)
    return refuse(s, TL_OPTION_VERIFY_RANKS, "is not the number of ranks that -n asks for");
  if (s->ranks > 1 && c->average == TL_AVERAGE_NONE)
    return refuse(s, TL_OPTION_AVERAGE,
                  "is none, so sums over ranks are not means of their batches");
  return TL_OK;
}

/* Reads the options and makes the training configuration for the simulated ranks. */
static tl_status read_options(tl_simulation *s) {
  uint64_t ranks, steps;
  if (!s->cli->word)
    return tl_fail(&s->cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "no model is named\vtailor simulate-ranks MODEL -n RANKS");
  TL_TRY(tl_settings_resolve(&s->cli->settings, &s->cli->diag));
  TL_TRY(read_tolerance(s, TL_OPTION_RTOL, 1e-5, &s->rtol));
  TL_TRY(read_tolerance(s, TL_OPTION_ATOL, 1e-7, &s->atol));
  if (!tl_parse_u64(tl_sv_from(tl_cli_get(s->cli, TL_OPTION_RANKS)), &ranks) ||
      !tl_parse_u64(tl_sv_from(tl_cli_get(s->cli, TL_OPTION_STEPS)), &steps))
    return TL_INTERNAL; /* the option table bounds both */
  s->ranks = (uint32_t)ranks;
  s->steps = (uint32_t)steps;
  const tl_train_config *given = s->cli->settings.options.train;
  s->config = given ? *given : tl_train_config_default();
  TL_TRY(check_ranks(s));
  s->config.train = true;
  s->config.is_distributed = s->ranks > 1 || s->config.force_allreduce;
  /* 0 stays: the graph then reads the number of ranks at run time. */
  s->config.rank_size = s->config.rank_size ? s->ranks : 0;
  s->config.verify_ranks = s->ranks;
  s->cli->settings.options.train = &s->config;
  return TL_OK;
}

static tl_status print(tl_simulation *s) {
  tl_buf out;
  tl_buf_init(&out);
  if (tl_cli_has(s->cli, TL_OPTION_AS_JSON))
    tl_sim_json(s, &out);
  else
    tl_sim_text(s, &out);
  s->cli->differs = !tl_sim_equal(s);
  return tl_cli_print(s->cli, &out);
}

/* Loads both models, makes first values, runs the steps, and prints the report. */
static tl_status simulate(tl_simulation *s) {
  bool joined = tl_cli_has(s->cli, TL_OPTION_JOINED);
  TL_TRY(load_one(s, joined ? tl_cli_get(s->cli, TL_OPTION_JOINED) : s->cli->word));
  TL_TRY(load_all(s));
  TL_TRY(find_states(s));
  TL_TRY(tl_sim_classify(s));
  TL_TRY(make_room(s, &s->one));
  TL_TRY(make_room(s, &s->all));
  TL_TRY(tl_check_dims(&s->e, s->all.m));
  TL_TRY(tl_sim_begin(s));
  for (uint32_t k = 0; k < s->steps; k++)
    TL_TRY(step(s, k));
  return print(s);
}

static void release(tl_sim_model *sim) {
  tl_values_release(&sim->state);
  tl_values_release(&sim->in);
  tl_values_release(&sim->out);
  if (sim->m)
    tl_module_destroy(sim->m);
}

tl_status tl_command_simulate_ranks(tl_cli *cli) {
  tl_simulation s = {.cli = cli};
  TL_TRY(read_options(&s));
  tl_status status = tl_evaluation_init(&s.e, cli);
  if (status == TL_OK)
    status = simulate(&s);
  release(&s.one);
  release(&s.all);
  release(&s.init);
  free(s.source);
  tl_sim_states_release(&s.states);
  tl_evaluation_release(&s.e);
  return status;
}
