/* SPDX-License-Identifier: Apache-2.0 */
/* Finds other states, parameters that no gradient reaches, and what could not be told
 * (detector.h). */
#include <stdlib.h>

#include "ir/graph.h"
#include "passes/train/step/detector.h"
#include "passes/train/step/path.h"
#include "passes/train/step/regions.h"
#include "support/vec.h"

/* ---- other states ---------------------------------------------------------------------------- */

/* Marks the states of parameters, both ends. */
static void mark_owned(const tl_train_found *f, const tl_train_info *t) {
  for (uint32_t i = 0; i < t->n; i++)
    for (uint32_t k = 0; k < t->grads[i].n_states; k++) {
      f->marks[t->grads[i].state_in[k]] |= TL_MARK_OWNED_IN;
      f->marks[t->grads[i].state_out[k]] |= TL_MARK_OWNED_OUT;
    }
}

tl_status tl_train_find_others(tl_module *m, tl_arena *arena, const tl_train_found *f,
                               tl_train_info *t) {
  const tl_graph *g = tl_module_main(m);
  uint32_t most = tl_graph_n_outputs(m, g);
  t->other_in = tl_arena_calloc(arena, (size_t)most + 1, sizeof *t->other_in);
  t->other_out = tl_arena_calloc(arena, (size_t)most + 1, sizeof *t->other_out);
  if (!t->other_in || !t->other_out)
    return TL_NO_MEMORY;
  mark_owned(f, t);
  for (uint32_t i = 0; i < most && t->n; i++) {
    tl_value_id next = tl_graph_output(m, g, i);
    tl_value_id in = f->marks[next] & TL_MARK_STATE_OUT ? f->facts->state_of[next] : TL_NO_VALUE;
    if (!in || f->known[in] || f->marks[in] & TL_MARK_OWNED_IN ||
        f->marks[next] & TL_MARK_OWNED_OUT)
      continue;
    t->other_in[t->n_others] = in;
    t->other_out[t->n_others++] = next;
  }
  return TL_OK;
}

/* ---- what could not be told ------------------------------------------------------------------ */

enum { MOST_INPUTS = 64 };

enum { BY_BACKWARD = 1, BY_DATA = 2 };

typedef struct looking {
  const tl_module *m;
  const tl_train_found *f;
  tl_train_info *t;
  uint8_t *reached; /* by value: what has a part in it */
  uint8_t *told;    /* by value: an untold one, or the gradient of a parameter */
  uint32_t most;
} looking;

/* Returns true for an input that differs in every step. One number is a rate or a counter, not
 * data. */
static bool is_batch(const looking *l, tl_value_id v) {
  uint64_t n;
  bool number = tl_type_elements(l->m, tl_value_type(l->m, v), &n) && n == 1;
  return !tl_value_get(l->m, v)->tensor && !(l->f->marks[v] & TL_MARK_STATE_IN) && !number;
}

/* Marks, in one sweep over the nodes, everything that backward or data have a part in. */
static tl_status mark_reached(looking *l) {
  const tl_graph *g = tl_step_graph(l->m);
  tl_u32_vec values = {0};
  bool ok = true;
  for (uint32_t i = 0; i < l->t->n; i++)
    l->reached[l->t->grads[i].raw] = BY_BACKWARD;
  for (uint32_t i = 0; i < g->inputs.n; i++)
    if (is_batch(l, g->inputs.at[i]))
      l->reached[g->inputs.at[i]] |= BY_DATA;
  TL_FOR_NODES(l->m, g, n) {
    uint8_t by = tl_train_region_of(l->t, n) == TL_REGION_BACKWARD ? BY_BACKWARD : 0;
    ok = ok && tl_train_node_values(l->m, n, &values);
    for (uint32_t i = 0; i < values.n; i++)
      by |= l->reached[values.at[i]];
    for (uint32_t i = 0; i < tl_node_get(l->m, n)->n_results; i++)
      l->reached[tl_node_get(l->m, n)->results + i] |= by;
  }
  tl_u32_vec_release(&values);
  return ok ? TL_OK : TL_NO_MEMORY;
}

static bool is_float(const tl_module *m, tl_value_id v) {
  return tl_dtype_is_float(tl_type_dtype(m, tl_value_type(m, v)));
}

static bool same_size(const tl_module *m, tl_value_id a, tl_value_id b) {
  uint64_t n, k;
  return tl_value_type(m, a) == tl_value_type(m, b) ||
         (tl_type_elements(m, tl_value_type(m, a), &n) &&
          tl_type_elements(m, tl_value_type(m, b), &k) && n == k && n > 1 && is_float(m, a) &&
          is_float(m, b));
}

/* Returns true for a float that forward computes with, other than as a running statistic. */
static bool is_trained(const looking *l, tl_value_id in) {
  if (!(l->f->marks[in] & TL_MARK_FORWARD) || !is_float(l->m, in))
    return false;
  TL_FOR_USES(l->m, in, u) {
    tl_train_region r = tl_train_region_of(l->t, tl_use_get(l->m, u)->user);
    bool outer = tl_value_graph(l->m, in) == tl_node_get(l->m, tl_use_get(l->m, u)->user)->graph;
    if ((r == TL_REGION_FORWARD || !outer) && !tl_is_running_statistic(l->m, u))
      return true;
  }
  return false;
}

/* Records an untold value once. `said`: refuse() has warned of it already. */
static void add(looking *l, tl_value_id in, tl_value_id out) {
  if (l->f->refused[in] == TL_REFUSED_UNLISTED || l->told[in] || l->t->n_untold == l->most)
    return;
  l->told[in] = 1;
  l->t->untold[l->t->n_untold++] =
      (tl_train_untold){.input = in,
                        .output = out,
                        .said = l->f->refused[in] == TL_REFUSED_AMBIGUOUS,
                        .gradient = l->reached[out] && is_trained(l, in)};
}

static bool may_start(const looking *l, tl_value_id in) {
  return tl_value_get(l->m, in)->tensor && !(l->f->marks[in] & TL_MARK_STATE_IN) &&
         !l->f->known[in];
}

static bool has_several(const tl_module *m, tl_value_id v) {
  uint64_t n;
  return !tl_type_elements(m, tl_value_type(m, v), &n) || n > 1;
}

/* Looks for the inputs, and constants of several elements, whose next value the unpaired output may
 * be. */
static void look_at(looking *l, tl_value_id out) {
  tl_value_id from[MOST_INPUTS];
  uint32_t n = 0;
  if (l->reached[out] & BY_BACKWARD)
    n = tl_cone_inputs(l->f->facts, out, from, MOST_INPUTS);
  for (uint32_t i = 0; i < n; i++)
    if (may_start(l, from[i]) && same_size(l->m, from[i], out) && is_float(l->m, out) &&
        (has_several(l->m, out) || is_trained(l, from[i])))
      add(l, from[i], out);
  n = tl_cone_bases(l->m, out, from, MOST_INPUTS);
  for (uint32_t i = 0; i < n; i++) {
    bool constant = tl_value_get(l->m, from[i])->kind == TL_VALUE_CONSTANT;
    bool several = has_several(l->m, out) && l->reached[out] & BY_BACKWARD;
    if (may_start(l, from[i]) && (!constant || several))
      add(l, from[i], out);
  }
}

/* Records a state that forward reads, that gradients reach, and whose gradient is not known. */
static void look_at_state(looking *l, tl_value_id out) {
  tl_value_id in = l->f->facts->state_of[out];
  if (l->reached[out] && is_trained(l, in) && !l->f->known[in] &&
      !(l->f->marks[in] & TL_MARK_OWNED_IN))
    add(l, in, out);
}

/* Frozen parameters have an initial value and are read by forward, but no output is their next
 * value. */
static void find_frozen(looking *l) {
  const tl_graph *g = tl_module_main(l->m);
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    tl_value_id v = g->inputs.at[i];
    if (may_start(l, v) && l->f->marks[v] & TL_MARK_FORWARD && !l->told[v])
      l->t->frozen[l->t->n_frozen++] = v;
  }
}

static tl_status look(looking *l) {
  const tl_graph *g = tl_module_main(l->m);
  TL_TRY(mark_reached(l));
  for (uint32_t i = 0; i < l->t->n; i++)
    l->told[l->t->grads[i].raw] = 1;
  for (uint32_t i = 0; i < tl_graph_n_outputs(l->m, g); i++) {
    tl_value_id out = tl_graph_output(l->m, g, i);
    if (l->f->marks[out] & TL_MARK_STATE_OUT)
      look_at_state(l, out);
    else if (tl_value_producer(l->m, out) && out != l->t->loss && !l->told[out] &&
             (l->reached[out] & BY_BACKWARD || !(l->f->marks[out] & TL_MARK_FORWARD)))
      look_at(l, out);
  }
  find_frozen(l);
  return TL_OK;
}

tl_status tl_train_find_untold(tl_module *m, tl_arena *arena, const tl_train_found *f,
                               tl_train_info *t) {
  const tl_graph *g = tl_module_main(m);
  looking l = {.m = m, .f = f, .t = t, .most = g->inputs.n + g->constants.n};
  l.reached = calloc(tl_module_value_end(m), 1);
  l.told = calloc(tl_module_value_end(m), 1);
  t->frozen = tl_arena_calloc(arena, (size_t)g->inputs.n + 1, sizeof *t->frozen);
  t->untold = tl_arena_calloc(arena, (size_t)l.most + 1, sizeof *t->untold);
  bool ok = l.reached && l.told && t->frozen && t->untold;
  tl_status status = ok ? look(&l) : TL_NO_MEMORY;
  free(l.reached);
  free(l.told);
  return status;
}

/* Warns of one value, with the line of --train-spec that declares it. */
static void warn_of(const tl_module *m, const tl_train_untold *u) {
  tl_sv out = tl_value_name(m, u->output);
  tl_location where = TL_AT_NODE(m->path, tl_value_name(m, u->input));
  tl_buf line;
  tl_buf_init(&line);
  if (u->gradient) {
    tl_train_add_spec(m, u->input, u->output, TL_NO_VALUE, &line);
    tl_warn_code(m->diag, "W-TRN-AMBIG", where,
                 "its next value '%.*s' depends on the data, but its gradient is not "
                 "clear\vdeclare it in --train-spec: %.*s",
                 TL_SV_ARG(out), (int)line.n, line.n ? line.p : "");
  } else {
    tl_train_add_state(m, u->input, u->output, &line);
    tl_warn_code(m->diag, "W-TRN-STATE", where,
                 "output '%.*s' may be its next value, but this is not certain, so the two are not "
                 "paired\vif it is, declare it in --train-spec: %.*s",
                 TL_SV_ARG(out), (int)line.n, line.n ? line.p : "");
  }
  tl_buf_release(&line);
}

void tl_train_warn_untold(const tl_module *m, const tl_train_info *t) {
  for (uint32_t i = 0; i < t->n_untold; i++)
    if (!t->untold[i].said)
      warn_of(m, &t->untold[i]);
}
