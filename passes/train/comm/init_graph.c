/* SPDX-License-Identifier: Apache-2.0 */
/* init-graph: makes the graph that gives all ranks the initial values of rank 0.
 * It runs once before the first step. The step is rewritten in place, so that names, types and
 * defaults are those of its states.
 *
 * Requires:  states declared (train-detect); any form of the step: a loop of steps, ranks side by
 *            side (the graph is then that of one rank), NPU form.
 * After:     inputs and outputs are those of the states to be broadcast, each with a HcomBroadcast
 *            between them; nothing else is left. Canonical form.
 * Errors:    E-TRN-NONE: no parameter is a state. E-INIT-TYPE: a state that cannot travel.
 * Cost:      O(nodes).
 * Tests:     tests/golden/init-graph/, tests/cli/init-graph.t, tests/train/ */
#include "passes/train/comm/init_graph.h"

#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/train/comm/collective.h"
#include "passes/train/step/state.h"

/* A state of the graph that is to be made. */
typedef struct kept {
  tl_value_id input;
  tl_symbol out; /* name of what it becomes */
  bool parameter;
} kept;

typedef struct starting {
  tl_module *m;
  tl_graph *g;
  tl_comm comm;
  kept *at; /* [n], scratch */
  uint32_t n;
} starting;

/* Returns true if the graph broadcasts the state: parameters, or all states that ranks share. */
static bool is_kept(const tl_state *s, const tl_train_config *c) {
  return !s->local && (s->parameter || c->broadcast_states);
}

/* Returns true if ranks stand side by side, all states of one rank before those of the next. All
 * names are checked, since names of another source may begin with r0/, too. */
static bool is_of_ranks(const tl_module *m, const tl_train_config *c) {
  uint32_t n = c->verify_ranks ? m->states.n / c->verify_ranks : 0;
  bool ours = tl_comm_is_of_ranks(m) && n && m->states.n % c->verify_ranks == 0;
  for (uint32_t i = 0; ours && i < n; i++)
    ours = tl_sv_starts_with(tl_value_name(m, m->states.at[i].input), "r0/") &&
           tl_sv_starts_with(tl_value_name(m, m->states.at[i].output), "r0/");
  return ours;
}

static uint32_t n_states_of_a_rank(const tl_module *m, const tl_train_config *c) {
  return is_of_ranks(m, c) ? m->states.n / c->verify_ranks : m->states.n;
}

uint32_t tl_init_graph_states(const tl_module *m, const tl_train_config *c) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < n_states_of_a_rank(m, c); i++)
    n += is_kept(&m->states.at[i], c);
  return n;
}

/* ---- what stays ------------------------------------------------------------------------------ */

/* Returns "w" for "r0/w" if ranks stand side by side. */
static tl_symbol plain_name(starting *start, tl_symbol name, bool of_ranks) {
  tl_sv text = tl_sym(start->m, name);
  return of_ranks ? tl_module_intern(start->m, (tl_sv){text.p + 3, text.n - 3}) : name;
}

/* Lists the states to broadcast and restores plain names of inputs. */
static tl_status find_states(starting *start, tl_pass *p) {
  tl_module *m = start->m;
  bool of_ranks = is_of_ranks(m, start->comm.c);
  uint32_t n = n_states_of_a_rank(m, start->comm.c);
  start->at = tl_arena_calloc(p->scratch, n + 1u, sizeof *start->at);
  if (!start->at)
    return tl_no_memory(start->m);
  for (uint32_t i = 0; i < n; i++) {
    const tl_state *s = &m->states.at[i];
    if (!is_kept(s, start->comm.c))
      continue;
    tl_value *input = tl_value_get(m, s->input);
    tl_symbol in = plain_name(start, input->name, of_ranks);
    tl_symbol out = plain_name(start, tl_value_get(m, s->output)->name, of_ranks);
    if (in == TL_NO_SYMBOL || out == TL_NO_SYMBOL)
      return tl_no_memory(start->m);
    input->name = in;
    start->at[start->n++] = (kept){s->input, out, s->parameter};
  }
  return TL_OK;
}

/* ---- what goes ------------------------------------------------------------------------------- */

/* Erases from the end, so that no erased value has users. */
static void erase_nodes(tl_module *m, const tl_graph *g) {
  for (tl_node_id n = g->last, previous; n; n = previous) {
    previous = tl_node_get(m, n)->previous;
    tl_node_erase(m, n);
  }
  for (uint32_t i = g->constants.n; i-- > 0;)
    if (g->constants.at[i])
      tl_graph_erase_constant(m, g->constants.at[i]);
}

static tl_status erase_inputs(starting *start, tl_pass *p) {
  bool *stays = tl_arena_calloc(p->scratch, tl_module_value_end(start->m), sizeof *stays);
  if (!stays)
    return tl_no_memory(start->m);
  for (uint32_t i = 0; i < start->n; i++)
    stays[start->at[i].input] = true;
  for (uint32_t i = start->g->inputs.n; i-- > 0;)
    if (!stays[start->g->inputs.at[i]])
      tl_graph_erase_input(start->m, start->g->inputs.at[i]);
  return TL_OK;
}

/* Erases everything of the step but the inputs of kept states. */
static tl_status erase_step(starting *start, tl_pass *p) {
  tl_module *m = start->m;
  TL_TRY(tl_graph_set_outputs(m, start->g->id, NULL, 0));
  m->states.n = m->gradients.n = m->substitutes.n = m->sizes.n = 0;
  m->loss = m->seed = TL_NO_VALUE;
  tl_step_state_edit(m)->declared = NULL;
  m->form = TL_FORM_CANONICAL;
  tl_module_drop_definitions(m);
  erase_nodes(m, start->g);
  return erase_inputs(start, p);
}

/* ---- what comes ------------------------------------------------------------------------------ */

/* Returns the dtype in which a state travels: HCCL moves integers, f16, f32 and f64; bf16 and bool
 * go as a dtype that holds them exactly. */
static tl_status carrier_of(starting *start, const kept *s, tl_dtype *out) {
  const tl_type *t = tl_type_get(start->m, tl_value_type(start->m, s->input));
  *out = (tl_dtype)t->dtype;
  if (t->kind == TL_KIND_TENSOR && *out == TL_DTYPE_BF16)
    *out = TL_DTYPE_F32;
  else if (t->kind == TL_KIND_TENSOR && *out == TL_DTYPE_BOOL)
    *out = TL_DTYPE_U8;
  bool travels = t->kind == TL_KIND_TENSOR &&
                 (*out == TL_DTYPE_F16 || *out == TL_DTYPE_F32 || *out == TL_DTYPE_F64 ||
                  (tl_dtype_is_integer(*out) && tl_dtype_get(*out)->bits >= 8));
  if (travels)
    return TL_OK;
  return tl_fail_code(start->m->diag, TL_UNSUPPORTED, "E-INIT-TYPE",
                      TL_AT_NODE(start->m->path, tl_value_name(start->m, s->input)),
                      "this state cannot be broadcast, because it is not a numeric tensor\vset "
                      "--broadcast-states=0 and give it the same start value on all ranks");
}

/* Makes the broadcast of one state, with casts to and from the dtype in which it travels. */
static tl_status broadcast(starting *start, const kept *s, tl_value_id *out) {
  static const tl_collective_spec spec = {
      .op = TL_OP_npu_hcom_HcomBroadcast, .fusion = 2, .fusion_id = 0};
  tl_module *m = start->m;
  tl_sv name = tl_value_name(m, s->input);
  tl_maker k = {.m = m, .graph = start->g->id, .base = tl_value_get(m, s->input)->name};
  tl_dtype carrier;
  TL_TRY(carrier_of(start, s, &carrier));
  tl_value_id v = tl_comm_make(&start->comm, &k, &spec, tl_make_as(&k, s->input, carrier), name);
  v = tl_make_as(&k, v, tl_type_dtype(m, tl_value_type(m, s->input)));
  TL_TRY(tl_maker_status(&k));
  tl_value_set_name(m, v, s->out);
  *out = v;
  return TL_OK;
}

/* Gives outputs distinct names: two states that had one next value now have an output each. */
static tl_status name_apart(starting *start) {
  tl_map seen = {0};
  bool ok = true;
  for (uint32_t i = 0; i < start->n && ok; i++)
    ok = tl_map_set(&seen, tl_value_get(start->m, start->at[i].input)->name, 1);
  for (uint32_t i = 0; i < start->n && ok; i++) {
    if (tl_map_find(&seen, start->at[i].out, NULL))
      start->at[i].out = tl_module_fresh_name(start->m, tl_sym(start->m, start->at[i].out));
    ok = start->at[i].out != TL_NO_SYMBOL && tl_map_set(&seen, start->at[i].out, 1);
  }
  tl_map_release(&seen);
  return ok ? TL_OK : tl_no_memory(start->m);
}

static tl_status make(starting *start, tl_pass *p) {
  tl_value_id *outputs = tl_arena_calloc(p->scratch, start->n + 1u, sizeof *outputs);
  if (!outputs)
    return tl_no_memory(start->m);
  TL_TRY(name_apart(start));
  for (uint32_t i = 0; i < start->n; i++) {
    TL_TRY(broadcast(start, &start->at[i], &outputs[i]));
    tl_state s = {
        .input = start->at[i].input, .output = outputs[i], .parameter = start->at[i].parameter};
    if (!tl_state_vec_push(&start->m->states, s))
      return tl_no_memory(start->m);
  }
  return tl_graph_set_outputs(start->m, start->g->id, outputs, start->n);
}

tl_status tl_pass_init_graph(tl_pass *p, tl_module *m) {
  const tl_train_config *c = p->options->train;
  starting start = {.m = m, .g = tl_module_main(m), .comm = {.pass = p, .m = m, .c = c}};
  if (!tl_train_is_on(p->options) || tl_comm_is_init_graph(m) || !tl_pass_may_rewrite(p))
    return TL_OK;
  TL_TRY(tl_comm_check(m->diag, TL_AT_FILE(m->path), c));
  TL_TRY(find_states(&start, p));
  if (!start.n)
    return tl_fail_code(m->diag, TL_INVALID_MODEL, "E-TRN-NONE", TL_AT_FILE(m->path),
                        "no parameter is a state, so there is nothing to broadcast");
  TL_TRY(erase_step(&start, p));
  return make(&start, p);
}
