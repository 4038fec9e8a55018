/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the inputs of simulated steps. */
#include "lib/values/elements.h"
#include "tools/run/random_values.h"
#include "tools/simulate/simulate.h"

/* Returns input i of a model. */
static tl_value_id input_of(const tl_sim_model *sim, uint32_t i) {
  return tl_module_main(sim->m)->inputs.at[i];
}

bool tl_sim_split_rank(tl_sv name, uint32_t *rank, tl_sv *rest) {
  size_t slash = 1;
  uint64_t v;
  while (slash < name.n && name.p[slash] != '/')
    slash++;
  if (name.n < 3 || name.p[0] != 'r' || slash + 1 > name.n ||
      !tl_parse_u64((tl_sv){name.p + 1, slash - 1}, &v))
    return false;
  *rank = (uint32_t)v;
  *rest = (tl_sv){name.p + slash + 1, name.n - slash - 1};
  return true;
}

uint32_t tl_sim_find(const tl_module *m, bool output, int rank, tl_sv name) {
  const tl_graph *g = tl_module_main(m);
  uint32_t n = output ? tl_graph_n_outputs(m, g) : g->inputs.n;
  for (uint32_t i = 0; i < n; i++) {
    tl_sv found = tl_value_name(m, output ? tl_graph_output(m, g, i) : g->inputs.at[i]);
    uint32_t k = 0;
    if (rank >= 0 && (!tl_sim_split_rank(found, &k, &found) || (int)k != rank))
      continue;
    if (tl_sv_eq(found, name))
      return i;
  }
  return UINT32_MAX;
}

/* ---- sources --------------------------------------------------------------------------------- */

/* Returns true for a tensor with one element, such as a learning rate. */
static bool is_one_element(const tl_module *m, tl_value_id v) {
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  return t->kind == TL_KIND_TENSOR && (t->rank == 0 || (t->rank == 1 && t->dims[0] == 1));
}

/* Decides where input i of the original model gets its values. Without a default, an input with one
 * element is a rate or a counter, and any other input is a part of the batch. */
static tl_sim_source source_of(const tl_simulation *s, uint32_t i) {
  tl_value_id v = input_of(&s->one, i);
  for (uint32_t k = 0; k < s->states.n; k++)
    if (s->states.at[k].input == i)
      return TL_SIM_STATE;
  if (tl_value_get(s->one.m, v)->tensor)
    return TL_SIM_DEFAULT;
  if (!is_one_element(s->one.m, v))
    return TL_SIM_BATCH;
  return tl_dtype_is_float(tl_type_dtype(s->one.m, tl_value_type(s->one.m, v))) ? TL_SIM_RATE
                                                                                : TL_SIM_COUNTER;
}

tl_status tl_sim_classify(tl_simulation *s) {
  uint32_t n = tl_module_main(s->one.m)->inputs.n;
  s->source = calloc(n ? n : 1, 1);
  if (!s->source)
    return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
  for (uint32_t i = 0; i < n; i++)
    s->source[i] = (uint8_t)source_of(s, i);
  return TL_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Makes a tensor of a value's type in which every element is `value`. */
static tl_status filled(tl_simulation *s, const tl_module *m, tl_value_id v, double value,
                        tl_host **out) {
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  int64_t dims[TL_MAX_RANK];
  if (!tl_dtype_has_numbers((tl_dtype)t->dtype))
    return tl_fail(&s->cli->diag, TL_UNSUPPORTED, TL_AT_FILE(m->path),
                   "state '%.*s' has a dtype whose numbers the evaluator does not know",
                   TL_SV_ARG(tl_value_name(m, v)));
  for (int i = 0; i < t->rank; i++) {
    if (!tl_dim_is_static(t->dims[i]))
      return tl_fail(&s->cli->diag, TL_UNSUPPORTED, TL_AT_FILE(m->path),
                     "state '%.*s' has neither an initial value nor a known shape",
                     TL_SV_ARG(tl_value_name(m, v)));
    dims[i] = t->dims[i];
  }
  *out = tl_zeros(&s->e.heap, tl_type_dtype(m, tl_value_type(m, v)), t->rank, dims);
  if (!*out)
    return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
  for (uint64_t i = 0; i < (*out)->n && value != 0; i++) {
    if (tl_dtype_is_float((tl_dtype)(*out)->dtype))
      tl_put_float(*out, i, value);
    else
      tl_put_int(*out, i, (int64_t)value);
  }
  return TL_OK;
}

static bool is_parameter(const tl_simulation *s, uint32_t i) {
  for (uint32_t k = 0; k < s->states.n; k++)
    if (s->states.at[k].input == i)
      return s->states.at[k].parameter;
  return false;
}

tl_status tl_sim_first_value(tl_simulation *s, uint32_t i, tl_host **out) {
  tl_module *m = s->one.m;
  tl_value_id v = input_of(&s->one, i);
  tl_tensor_id first = tl_value_get(m, v)->tensor;
  bool assumed;
  if (first) {
    *out = tl_host_from_tensor(&s->e.heap, m, tl_tensor_get(m, first));
    return *out ? TL_OK : tl_fail_memory(&s->cli->diag, TL_NOWHERE);
  }
  if (!is_parameter(s, i))
    return filled(s, m, v, 0, out);
  return tl_random_value(&s->e, m, v, s->e.options.seed, out, &assumed);
}

/* Gives a state without a default a value before the first step. */
static tl_status begin_state(tl_simulation *s, uint32_t i) {
  if (s->one.state.at[i] || tl_value_get(s->one.m, input_of(&s->one, i))->tensor)
    return TL_OK;
  return tl_sim_first_value(s, i, &s->one.state.at[i]);
}

/* Makes a value that is the same for all ranks; *out is NULL for defaults and batches. */
static tl_status common_value(tl_simulation *s, uint32_t i, uint32_t step, tl_host **out) {
  tl_value_id v = input_of(&s->one, i);
  *out = NULL;
  switch ((tl_sim_source)s->source[i]) {
  case TL_SIM_STATE:
    TL_TRY(begin_state(s, i));
    *out = tl_host_retain(s->one.state.at[i]);
    return TL_OK;
  case TL_SIM_COUNTER: return filled(s, s->one.m, v, step, out);
  case TL_SIM_RATE: return filled(s, s->one.m, v, TL_SIM_RATE_VALUE, out);
  default: return TL_OK;
  }
}

/* ---- batches --------------------------------------------------------------------------------- */

tl_status tl_sim_join(tl_simulation *s, tl_host *const *piece, tl_host **out) {
  const tl_host *first = piece[0];
  int64_t dims[TL_MAX_RANK];
  *out = NULL;
  if (first->rank < 1 || first->dtype == TL_DTYPE_STRING ||
      tl_dtype_get((tl_dtype)first->dtype)->bits < 8)
    return TL_OK;
  memcpy(dims, first->dims, (size_t)first->rank * sizeof *dims);
  /* The product cannot overflow: sizes of random values are small, and there are at most 64
   * ranks. */
  dims[0] *= s->ranks;
  *out = tl_host_new(&s->e.heap, (tl_dtype)first->dtype, first->rank, dims);
  if (!*out)
    return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
  for (uint32_t k = 0; k < s->ranks && first->bytes; k++)
    memcpy((char *)(*out)->data + k * first->bytes, piece[k]->data, (size_t)first->bytes);
  return TL_OK;
}

/* Joins the pieces of an input; an input that cannot be joined is reported. */
static tl_status join(tl_simulation *s, tl_sv name, tl_host *const *piece, tl_host **out) {
  TL_TRY(tl_sim_join(s, piece, out));
  if (*out)
    return TL_OK;
  return tl_fail(&s->cli->diag, TL_UNSUPPORTED, TL_AT_FILE(s->one.m->path),
                 "input '%.*s' cannot be joined along a first axis", TL_SV_ARG(name));
}

/* Requires the model of --joined to take the joined batch. */
static tl_status check_joined(tl_simulation *s, uint32_t i, const tl_host *joined) {
  const tl_type *t = tl_type_get(s->one.m, tl_value_type(s->one.m, input_of(&s->one, i)));
  bool fits = t->rank == joined->rank && tl_cli_has(s->cli, TL_OPTION_JOINED);
  for (int k = 0; fits && k < t->rank; k++)
    fits = !tl_dim_is_static(t->dims[k]) || t->dims[k] == joined->dims[k];
  if (fits || !tl_cli_has(s->cli, TL_OPTION_JOINED))
    return TL_OK;
  return tl_fail(
      &s->cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&s->cli->settings, TL_OPTION_JOINED),
      "input '%.*s' of '%s' does not take the batches of %u ranks",
      TL_SV_ARG(tl_value_name(s->one.m, input_of(&s->one, i))), s->one.m->path, s->ranks);
}

/* Makes the batches of all ranks for `all`, and joins them for `one`. The seed depends on the step
 * by a prime factor, so steps have different batches. */
static tl_status fill_batch(tl_simulation *s, uint32_t i, uint32_t step) {
  tl_sv name = tl_value_name(s->one.m, input_of(&s->one, i));
  tl_host *piece[TL_SIM_MOST_RANKS] = {NULL};
  tl_status status = TL_OK;
  for (uint32_t k = 0; k < s->ranks && status == TL_OK; k++) {
    uint32_t at = tl_sim_find(s->all.m, false, (int)k, name);
    bool assumed;
    if (at == UINT32_MAX)
      return tl_fail(&s->cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(s->one.m->path),
                     "input '%.*s' is not an input of '%s'", TL_SV_ARG(name), s->all.m->path);
    status = tl_random_value(&s->e, s->all.m, input_of(&s->all, at),
                             s->e.options.seed + UINT64_C(1000003) * step, &piece[k], &assumed);
    s->all.in.at[at] = piece[k];
  }
  TL_TRY(status);
  TL_TRY(join(s, name, piece, &s->one.in.at[i]));
  return check_joined(s, i, s->one.in.at[i]);
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Fills the inputs of ranks that are no batch: with the rank's own state, else with what the
 * original model gets. */
static tl_status fill_ranks(tl_simulation *s) {
  for (uint32_t i = 0; i < s->all.in.n; i++) {
    uint32_t rank;
    tl_sv name;
    if (s->all.in.at[i])
      continue;
    s->all.in.at[i] = tl_host_retain(s->all.state.at[i]);
    if (s->all.in.at[i] ||
        !tl_sim_split_rank(tl_value_name(s->all.m, input_of(&s->all, i)), &rank, &name))
      continue;
    uint32_t k = tl_sim_find(s->one.m, false, -1, name);
    if (k != UINT32_MAX && s->one.in.at[k])
      s->all.in.at[i] = tl_host_retain(s->one.in.at[k]);
    else if (!tl_value_get(s->all.m, input_of(&s->all, i))->tensor)
      return tl_fail(&s->cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(s->all.m->path),
                     "input '%.*s' has no counterpart in '%s' and no default", TL_SV_ARG(name),
                     s->one.m->path);
  }
  return TL_OK;
}

tl_status tl_sim_fill(tl_simulation *s, uint32_t step) {
  for (uint32_t i = 0; i < s->one.in.n; i++) {
    if (s->source[i] == TL_SIM_BATCH)
      TL_TRY(fill_batch(s, i, step));
    else
      TL_TRY(common_value(s, i, step, &s->one.in.at[i]));
  }
  return fill_ranks(s);
}
