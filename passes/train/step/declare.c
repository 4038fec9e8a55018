/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up declarations of a training step by name, checks them and adds them to the module. */
#include "passes/train/step/declare.h"

#include <stdlib.h>

#include "ir/graph.h"
#include "passes/edit/values.h"

/* Lookup of the main graph's values by name. */
typedef struct names {
  tl_module *m;
  uint32_t *values; /* by symbol: value of the main graph of that name */
  uint32_t n;
} names;

static void note(names *ctx, tl_value_id v) {
  tl_symbol s = v ? tl_value_get(ctx->m, v)->name : 0;
  if (s && s < ctx->n)
    ctx->values[s] = v;
}

static tl_status open_names(names *ctx, tl_module *m) {
  const tl_graph *g = tl_module_main(m);
  *ctx = (names){.m = m, .n = m->symbols.n};
  ctx->values = calloc((size_t)ctx->n + 1, sizeof *ctx->values);
  if (!ctx->values)
    return tl_no_memory(m);
  for (uint32_t i = 0; i < g->inputs.n; i++)
    note(ctx, g->inputs.at[i]);
  for (uint32_t i = 0; i < g->constants.n; i++)
    note(ctx, g->constants.at[i]);
  TL_FOR_NODES(m, g, n)
    for (uint32_t i = 0; i < tl_node_get(m, n)->n_results; i++)
      note(ctx, tl_node_get(m, n)->results + i);
  return TL_OK;
}

/* Reports a name that no value has, with the nearest existing name as a hint. */
static tl_status not_found(const names *ctx, const char *key, tl_sv name) {
  tl_nearest near = tl_nearest_start(name);
  for (uint32_t s = 1; s < ctx->n; s++)
    if (ctx->values[s])
      tl_nearest_try(&near, tl_sym(ctx->m, s));
  tl_location where = TL_AT_FILE(ctx->m->path);
  if (near.found.n)
    return tl_fail_code(ctx->m->diag, TL_INVALID_MODEL, "E-TRN-NOTENSOR", where,
                        "tailor.train.%s: the graph has no tensor '%.*s'\vdo you mean '%.*s'?", key,
                        TL_SV_ARG(tl_sv_shown(name)), TL_SV_ARG(near.found));
  return tl_fail_code(ctx->m->diag, TL_INVALID_MODEL, "E-TRN-NOTENSOR", where,
                      "tailor.train.%s: the graph has no tensor '%.*s'", key,
                      TL_SV_ARG(tl_sv_shown(name)));
}

static tl_status find(const names *ctx, const char *key, tl_sv name, tl_value_id *out) {
  tl_symbol s = tl_symbol_find(&ctx->m->symbols, name);
  *out = s != TL_NO_SYMBOL && s < ctx->n ? ctx->values[s] : TL_NO_VALUE;
  return *out ? TL_OK : not_found(ctx, key, name);
}

/* Reports a name that a list holds twice. */
static tl_status twice(const tl_module *m, const char *key, tl_sv name) {
  return tl_fail_code(m->diag, TL_INVALID_MODEL, "E-TRN-DUP", TL_AT_FILE(m->path),
                      "tailor.train.%s: '%.*s' is given twice", key, TL_SV_ARG(tl_sv_shown(name)));
}

/* ---- states and gradients -------------------------------------------------------------------- */

/* Finds the value that a step starts from and makes a constant an input: the caller must be able to
 * hand in the value of the previous step. A computed value is refused. */
static tl_status find_input(names *ctx, const char *key, tl_sv name, tl_value_id *out) {
  TL_TRY(find(ctx, key, name, out));
  *out = tl_train_as_input(ctx->m, *out);
  if (!*out)
    return tl_no_memory(ctx->m);
  note(ctx, *out);
  if (tl_value_get(ctx->m, *out)->kind == TL_VALUE_INPUT)
    return TL_OK;
  return tl_fail_code(ctx->m->diag, TL_INVALID_MODEL, "E-TRN-NOTENSOR", TL_AT_FILE(ctx->m->path),
                      "tailor.train.%s: '%.*s' is computed, expected an input or a constant", key,
                      TL_SV_ARG(tl_sv_shown(name)));
}

static tl_status no_place(const names *ctx, const char *what, uint32_t at, uint32_t n) {
  return tl_fail_code(ctx->m->diag, TL_INVALID_MODEL, "E-TRN-NOTENSOR", TL_AT_FILE(ctx->m->path),
                      "tailor.train.state: %s %u: the graph has %u, counted from 0", what, at, n);
}

/* Finds both ends of a state, by name, or by position where no name is given. Positions are those
 * of the model as it was read: inputs that were constants are appended behind them. */
static tl_status find_state(names *ctx, const tl_declared_state *d, tl_state *out) {
  const tl_graph *g = tl_module_main(ctx->m);
  uint32_t n_outputs = tl_graph_n_outputs(ctx->m, g);
  if (!d->input.n && d->input_at >= g->inputs.n)
    return no_place(ctx, "input", d->input_at, g->inputs.n);
  if (!d->output.n && d->output_at >= n_outputs)
    return no_place(ctx, "output", d->output_at, n_outputs);
  if (d->output.n)
    TL_TRY(find(ctx, "state", d->output, &out->output));
  else
    out->output = tl_graph_output(ctx->m, g, d->output_at);
  if (d->input.n)
    return find_input(ctx, "state", d->input, &out->input);
  out->input = g->inputs.at[d->input_at];
  return TL_OK;
}

/* Fills output[input] for the states that the module has. */
static void note_states(const names *ctx, uint32_t *output) {
  for (uint32_t i = 0; i < ctx->m->states.n; i++)
    output[ctx->m->states.at[i].input] = ctx->m->states.at[i].output;
}

/* Checks that the next value fits the input that takes it in the next step. */
static tl_status check_state(const tl_module *m, const tl_state *s) {
  const tl_type *a = tl_type_get(m, tl_value_type(m, s->input));
  const tl_type *b = tl_type_get(m, tl_value_type(m, s->output));
  tl_location where = TL_AT_NODE(m->path, tl_value_name(m, s->input));
  tl_sv next = tl_sv_shown(tl_value_name(m, s->output));
  if (!tl_types_clash(m, tl_value_type(m, s->input), tl_value_type(m, s->output)))
    return TL_OK;
  if (a->kind != b->kind)
    return tl_fail_code(m->diag, TL_INVALID_MODEL, "E-TRN-NOTENSOR", where,
                        "it and its declared next value, '%.*s', are not both tensors",
                        TL_SV_ARG(next));
  if (a->dtype && b->dtype && a->dtype != b->dtype)
    return tl_fail_code(m->diag, TL_INVALID_MODEL, "E-TRN-DTYPE", where,
                        "it is %s, but its declared next value, '%.*s', is %s",
                        tl_dtype_get((tl_dtype)a->dtype)->name, TL_SV_ARG(next),
                        tl_dtype_get((tl_dtype)b->dtype)->name);
  return tl_fail_code(m->diag, TL_INVALID_MODEL, "E-TRN-SHAPE", where,
                      "its declared next value, '%.*s', has another shape", TL_SV_ARG(next));
}

/* Adds the declared states. output: by value id, the output of the input's state. */
static tl_status declare_states(names *ctx, uint32_t *output) {
  const tl_train_spec *s = tl_step_state_of(ctx->m)->declared;
  note_states(ctx, output);
  for (uint32_t i = 0; i < s->n_states; i++) {
    tl_state state = {0};
    TL_TRY(find_state(ctx, &s->states[i], &state));
    if (output[state.input] && output[state.input] != state.output)
      return twice(ctx->m, "state", tl_value_name(ctx->m, state.input));
    if (!output[state.input] && !tl_state_vec_push(&ctx->m->states, state))
      return tl_no_memory(ctx->m);
    output[state.input] = state.output;
  }
  return TL_OK;
}

/* Adds the declared gradients. taken: by parameter; 1: the module has one, 2: a declaration gave
 * one. */
static tl_status declare_grads(names *ctx, uint32_t *taken) {
  const tl_train_spec *s = tl_step_state_of(ctx->m)->declared;
  for (uint32_t i = 0; i < ctx->m->gradients.n; i++)
    taken[ctx->m->gradients.at[i].param] = 1;
  for (uint32_t i = 0; i < s->n_grads; i++) {
    const tl_declared_grad *d = &s->grads[i];
    tl_gradient g = {0};
    TL_TRY(find_input(ctx, "grads", d->param, &g.param));
    TL_TRY(find(ctx, "grads", d->grad, &g.grad));
    if (d->indices.n)
      TL_TRY(find(ctx, "grads", d->indices, &g.indices));
    if (taken[g.param] == 2)
      return twice(ctx->m, "grads", d->param);
    if (!taken[g.param] && !tl_gradient_vec_push(&ctx->m->gradients, g))
      return tl_no_memory(ctx->m);
    taken[g.param] = 2;
  }
  return TL_OK;
}

/* Marks states that are listed as parameters. A graph around the step has no gradients, so the mark
 * is all that later passes know of its parameters. */
static tl_status declare_params(names *ctx) {
  const tl_train_spec *s = tl_step_state_of(ctx->m)->declared;
  tl_map params = {0};
  tl_status status = TL_OK;
  for (uint32_t i = 0; i < s->n_params && status == TL_OK; i++) {
    tl_value_id v;
    status = find(ctx, "params", s->params[i], &v);
    if (status == TL_OK && !tl_map_set(&params, v, 1))
      status = tl_no_memory(ctx->m);
  }
  for (uint32_t i = 0; i < ctx->m->states.n; i++)
    if (tl_map_find(&params, ctx->m->states.at[i].input, NULL))
      ctx->m->states.at[i].parameter = true;
  tl_map_release(&params);
  return status;
}

/* Calls fn with a zeroed table by value id. The table has room for the inputs that constants become
 * while fn runs. */
static tl_status with_table(names *ctx, tl_status (*fn)(names *ctx, uint32_t *table)) {
  const tl_train_spec *s = tl_step_state_of(ctx->m)->declared;
  uint64_t most = (uint64_t)tl_module_value_end(ctx->m) + s->n_states + s->n_grads;
  uint32_t *table = calloc((size_t)most + 1, sizeof *table);
  tl_status status = table ? fn(ctx, table) : tl_no_memory(ctx->m);
  free(table);
  return status;
}

static tl_status declare(names *ctx) {
  const tl_train_spec *s = tl_step_state_of(ctx->m)->declared;
  TL_TRY(with_table(ctx, declare_states));
  TL_TRY(with_table(ctx, declare_grads));
  TL_TRY(declare_params(ctx));
  if (s->loss.n)
    TL_TRY(find(ctx, "loss", s->loss, &ctx->m->loss));
  if (s->seed.n)
    TL_TRY(find(ctx, "seed", s->seed, &ctx->m->seed));
  return TL_OK;
}

static bool is_no_tensor(const tl_module *m, tl_value_id v) {
  uint8_t kind = tl_type_get(m, tl_value_type(m, v))->kind;
  return v && kind != TL_KIND_TENSOR && kind != TL_KIND_UNKNOWN;
}

/* Refuses gradients that are sequences, since a list belongs to an update op, not to one parameter,
 * and indices of rows that are no integers. */
static tl_status check_gradient(const tl_module *m, const tl_gradient *g) {
  tl_value_id wrong = is_no_tensor(m, g->grad) ? g->grad : g->indices;
  tl_location where = TL_AT_NODE(m->path, tl_value_name(m, g->param));
  tl_dtype d = g->indices ? tl_type_dtype(m, tl_value_type(m, g->indices)) : TL_DTYPE_NONE;
  if (is_no_tensor(m, wrong))
    return tl_fail_code(m->diag, TL_INVALID_MODEL, "E-TRN-NOTENSOR", TL_AT_FILE(m->path),
                        "the gradient of '%.*s' is '%.*s', which is not a tensor",
                        TL_SV_ARG(tl_sv_shown(tl_value_name(m, g->param))),
                        TL_SV_ARG(tl_sv_shown(tl_value_name(m, wrong))));
  if (d == TL_DTYPE_NONE || tl_dtype_is_integer(d))
    return TL_OK;
  return tl_fail_code(m->diag, TL_INVALID_MODEL, "E-TRN-DTYPE", where,
                      "the indices of its gradient, '%.*s', are %s, expected integers",
                      TL_SV_ARG(tl_sv_shown(tl_value_name(m, g->indices))), tl_dtype_get(d)->name);
}

/* Checks what the file says of states and gradients, and what was declared besides. */
static tl_status check_facts(const tl_module *m) {
  for (uint32_t i = 0; i < m->states.n; i++)
    TL_TRY(check_state(m, &m->states.at[i]));
  for (uint32_t i = 0; i < m->gradients.n; i++)
    TL_TRY(check_gradient(m, &m->gradients.at[i]));
  return TL_OK;
}

tl_status tl_train_declare(tl_module *m) {
  names ctx;
  if (!tl_step_state_of(m)->declared)
    return check_facts(m);
  TL_TRY(open_names(&ctx, m));
  tl_status status = declare(&ctx);
  free(ctx.values);
  return status == TL_OK ? check_facts(m) : status;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static tl_status mark_params(const names *ctx, bool *listed) {
  const tl_train_spec *s = tl_step_state_of(ctx->m)->declared;
  for (uint32_t i = 0; i < s->n_params; i++) {
    tl_value_id v;
    TL_TRY(find(ctx, "params", s->params[i], &v));
    if (listed[v])
      return twice(ctx->m, "params", s->params[i]);
    listed[v] = true;
  }
  return TL_OK;
}

/* After tl_train_settle the list is gone; exactly its parameters have gradients in the module. */
static void mark_recorded(const tl_module *m, bool *listed) {
  for (uint32_t i = 0; i < m->gradients.n; i++)
    listed[m->gradients.at[i].param] = true;
}

tl_status tl_train_declared_params(tl_module *m, bool *listed, bool *any) {
  names ctx;
  const tl_step_state *s = tl_step_state_of(m);
  bool names_them = s->declared && s->declared->n_params;
  *any = names_them || s->params_listed;
  if (*any && !names_them)
    mark_recorded(m, listed);
  if (!names_them)
    return TL_OK;
  TL_TRY(open_names(&ctx, m));
  tl_status status = mark_params(&ctx, listed);
  free(ctx.values);
  return status;
}

static tl_status mark_order(const names *ctx, uint32_t *place) {
  const tl_train_spec *s = tl_step_state_of(ctx->m)->declared;
  for (uint32_t i = 0; i < s->n_order; i++) {
    tl_value_id v;
    TL_TRY(find(ctx, "grad_order", s->order[i], &v));
    if (place[v])
      return twice(ctx->m, "grad_order", s->order[i]);
    place[v] = i + 1;
  }
  return TL_OK;
}

tl_status tl_train_declared_order(tl_module *m, uint32_t *place, bool *any) {
  names ctx;
  const tl_train_spec *s = tl_step_state_of(m)->declared;
  *any = s && s->n_order;
  if (!*any)
    return TL_OK;
  TL_TRY(open_names(&ctx, m));
  tl_status status = mark_order(&ctx, place);
  free(ctx.values);
  return status;
}

/* ---- update ops ------------------------------------------------------------------------------ */

/* Compares an op with a declared type, which is NAME or DOMAIN::NAME. */
static bool is_type(const tl_module *m, tl_node_id n, tl_sv type) {
  tl_op_id op = tl_node_get(m, n)->op;
  tl_sv domain = tl_op_domain(m, op), name = tl_op_name(m, op);
  if (type.n == name.n)
    return tl_sv_eq(type, name);
  return type.n == domain.n + 2 + name.n && memcmp(type.p, domain.p, domain.n) == 0 &&
         memcmp(type.p + domain.n, "::", 2) == 0 &&
         memcmp(type.p + domain.n + 2, name.p, name.n) == 0;
}

/* Turns a declaration into a row: the first result is the next parameter, the others are next
 * states. */
static void fill_row(const tl_declared_update *u, tl_update_row *row) {
  *row = (tl_update_row){.domain = TL_SV("*"),
                         .name = u->type,
                         .layout = TL_UPDATE_FLAT,
                         .param = u->param,
                         .grad = u->grad,
                         .result = u->n_out ? u->out[0] : UINT32_MAX};
  row->states.n = u->n_states;
  for (uint32_t i = 0; i < u->n_states; i++)
    row->states.at[i] = u->states[i];
  for (uint32_t i = 1; i < u->n_out && i <= u->n_states; i++)
    row->state_results.at[row->state_results.n++] = u->out[i];
}

const tl_update_row *tl_train_update_row(const tl_module *m, tl_node_id n, tl_update_row *room) {
  const tl_train_spec *s = tl_step_state_of(m)->declared;
  for (uint32_t i = 0; s && i < s->n_updates; i++) {
    if (!is_type(m, n, s->updates[i].type))
      continue;
    fill_row(&s->updates[i], room);
    return room;
  }
  return tl_update_row_of(m, n);
}
