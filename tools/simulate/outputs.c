/* SPDX-License-Identifier: Apache-2.0 */
/* Compares outputs of simulated steps that are no states. An output that is computed of a batch
 * must be the ranks' outputs joined. A metric must be their mean, sum, maximum or minimum, or it is
 * each rank's own, such as a norm. An output that may be the next value of an input must be the
 * same on all ranks. */
#include "lib/values/elements.h"
#include "tools/simulate/simulate.h"

/* Returns true if an input with a default that is not known to be a state has the output's type and
 * several elements: the output may be its next value. */
static bool may_be_next(const tl_simulation *s, tl_value_id out) {
  const tl_module *m = s->one.m;
  const tl_graph *g = tl_module_main(m);
  uint64_t n = 0;
  if (tl_type_elements(m, tl_value_type(m, out), &n) && n < 2)
    return false;
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    tl_value_id in = g->inputs.at[i];
    bool known = !tl_value_get(m, in)->tensor || tl_value_type(m, in) != tl_value_type(m, out);
    for (uint32_t k = 0; k < m->states.n && !known; k++)
      known = m->states.at[k].input == in;
    if (!known)
      return true;
  }
  return false;
}

/* Returns true if the output is the next value of a known state. */
static bool is_state(const tl_module *m, tl_value_id out) {
  for (uint32_t i = 0; i < m->states.n; i++)
    if (m->states.at[i].output == out)
      return true;
  return false;
}

tl_status tl_sim_find_outputs(tl_simulation *s) {
  const tl_module *m = s->one.m;
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 0; i < tl_graph_n_outputs(m, g); i++) {
    tl_value_id out = tl_graph_output(m, g, i);
    tl_sim_state row = {.name = tl_value_name(m, out), .input = UINT32_MAX, .output = i};
    row.reading = may_be_next(s, out) ? TL_SIM_ALIKE : TL_SIM_METRIC;
    if (out == m->loss || is_state(m, out) ||
        tl_sim_find(s->all.m, true, 0, row.name) == UINT32_MAX)
      continue;
    if (!tl_sim_states_push(&s->states, row))
      return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
  }
  return TL_OK;
}

/* ---- readings -------------------------------------------------------------------------------- */

/* Ways in which the values of ranks make up that of the joined batch. */
enum { MEAN, SUM, GREATEST, LEAST, N_WAYS };

/* Combines element i of all ranks. */
static double combined(const tl_simulation *s, tl_host *const *piece, uint64_t i, int how) {
  double all = tl_host_at(piece[0], i);
  for (uint32_t k = 1; k < s->ranks; k++) {
    double v = tl_host_at(piece[k], i);
    all = how == GREATEST ? (v > all ? v : all) : how == LEAST ? (v < all ? v : all) : all + v;
  }
  return how == MEAN ? all / s->ranks : all;
}

static bool same_bits(const tl_host *a, const tl_host *b) {
  return a->kind == b->kind && a->dtype == b->dtype && tl_host_same_shape(a, b) &&
         a->bytes == b->bytes && (!a->bytes || memcmp(a->data, b->data, (size_t)a->bytes) == 0);
}

static bool all_alike(const tl_simulation *s, tl_host *const *piece) {
  for (uint32_t k = 1; k < s->ranks; k++)
    if (!same_bits(piece[0], piece[k]))
      return false;
  return true;
}

/* Compares with the mean, sum, maximum and minimum, and keeps the first of them that fits, else the
 * first. A mean of integers is not tried. */
static tl_status note_metric(tl_simulation *s, tl_sim_state *row, tl_host *const *piece,
                             const tl_host *want, uint32_t step) {
  bool real = tl_dtype_is_float((tl_dtype)want->dtype);
  tl_sim_state best = *row;
  bool any = false;
  for (int how = real ? MEAN : SUM; how < N_WAYS; how++) {
    tl_sim_state tried = *row;
    tl_host *got = tl_zeros(&s->e.heap, (tl_dtype)want->dtype, want->rank, want->dims);
    if (!got)
      return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
    for (uint64_t i = 0; i < got->n; i++) {
      if (real)
        tl_put_float(got, i, combined(s, piece, i, how));
      else
        tl_put_int(got, i, (int64_t)combined(s, piece, i, how));
    }
    tl_sim_note(s, &tried, got, want, step);
    tl_host_release(got);
    if (!any || (best.step && !tried.step))
      best = tried;
    any = true;
  }
  *row = best;
  return TL_OK;
}

/* Returns true for a tensor of numbers with whole bytes. */
static bool is_number(const tl_host *h) {
  return h->kind == TL_HOST_TENSOR && h->dtype != TL_DTYPE_STRING &&
         tl_dtype_get((tl_dtype)h->dtype)->bits >= 8;
}

/* Compares an output in the way that its shape allows: as it is, combined, or joined. An output
 * that fits in no way stays "not compared". */
static tl_status compare(tl_simulation *s, tl_sim_state *row, tl_host *const *piece,
                         const tl_host *want, uint32_t step) {
  tl_host *joined = NULL;
  if (!is_number(want) || !is_number(piece[0]) || piece[0]->dtype != want->dtype)
    return TL_OK;
  bool fits = tl_host_same_shape(piece[0], want), alike = all_alike(s, piece);
  if (fits && (alike || row->reading == TL_SIM_ALIKE)) {
    row->compared = true;
    tl_sim_note(s, row, piece[0], want, step);
    if (!alike && !row->step)
      row->step = step + 1;
    return TL_OK;
  }
  if (fits && want->dtype != TL_DTYPE_BOOL) {
    row->compared = true;
    return note_metric(s, row, piece, want, step);
  }
  for (uint32_t k = 1; k < s->ranks; k++)
    if (!tl_host_same_shape(piece[0], piece[k]))
      return TL_OK;
  TL_TRY(tl_sim_join(s, piece, &joined));
  if (joined && tl_host_same_shape(joined, want)) {
    row->compared = true;
    tl_sim_note(s, row, joined, want, step);
  }
  tl_host_release(joined);
  return TL_OK;
}

tl_status tl_sim_compare_output(tl_simulation *s, tl_sim_state *row, uint32_t step) {
  tl_host *piece[TL_SIM_MOST_RANKS];
  for (uint32_t k = 0; k < s->ranks; k++) {
    uint32_t at = tl_sim_find(s->all.m, true, (int)k, row->name);
    if (at == UINT32_MAX)
      return TL_OK;
    piece[k] = s->all.out.at[at];
  }
  TL_TRY(compare(s, row, piece, s->one.out.at[row->output], step));
  if (row->reading == TL_SIM_METRIC && row->step && s->ranks > 1) {
    row->own = true;
    row->step = 0;
  }
  return TL_OK;
}
