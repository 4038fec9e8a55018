/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a recognised training step into the module (info.h). */
#include "ir/graph.h"
#include "ir/infer/infer.h"
#include "passes/train/step/info.h"

typedef struct recorder {
  tl_module *m;
  bool *changed;
  bool failed;   /* no memory */
  bool shaped;   /* gradients have dims now that inference left open */
  tl_map inputs; /* of the states that are known */
  tl_map outputs;
} recorder;

tl_value_id tl_train_as_input(tl_module *m, tl_value_id v) {
  const tl_value *value = tl_value_get(m, v);
  if (value->kind != TL_VALUE_CONSTANT)
    return v;
  tl_graph_id g = tl_value_graph(m, v);
  uint32_t extra = value->extra;
  tl_value_id input = tl_graph_add_input(m, g, value->name, value->type, value->tensor);
  if (!input)
    return TL_NO_VALUE;
  tl_value_get(m, input)->extra = extra;
  tl_value_replace_uses(m, v, input);
  tl_graph_erase_constant(m, v);
  return input;
}

/* What a step starts from must be an input, so that the caller can hand in the value of the
 * previous step. */
static tl_value_id as_input(recorder *r, tl_value_id v) {
  tl_value_id input = tl_train_as_input(r->m, v);
  *r->changed = *r->changed || input != v;
  r->failed = r->failed || !input;
  return input ? input : v;
}

/* Notes that both ends belong to a state; a value is an end of one state only. */
static void know(recorder *r, tl_value_id in, tl_value_id out) {
  r->failed = r->failed || !tl_map_set(&r->inputs, in, 1) || !tl_map_set(&r->outputs, out, 1);
}

static void add_state(recorder *r, tl_value_id *in, tl_value_id out) {
  tl_module *m = r->m;
  if (!out || tl_map_find(&r->outputs, out, NULL) || tl_map_find(&r->inputs, *in, NULL))
    return;
  *in = as_input(r, *in);
  know(r, *in, out);
  r->failed = r->failed || !tl_state_vec_push(&m->states, (tl_state){.input = *in, .output = out});
  *r->changed = true;
}

/* Sets the mark `parameter` on states: a graph around the step has no gradients, but it has
 * parameters. */
static void mark_parameters(recorder *r, const tl_train_info *t) {
  tl_map params = {0};
  for (uint32_t i = 0; i < t->n; i++)
    r->failed = r->failed || !tl_map_set(&params, t->grads[i].param, 1);
  for (uint32_t i = 0; i < r->m->states.n; i++)
    r->m->states.at[i].parameter = tl_map_find(&params, r->m->states.at[i].input, NULL);
  tl_map_release(&params);
}

static bool has_gradient(const tl_module *m, const tl_train_grad *g, uint32_t i) {
  const tl_gradient *known = i < m->gradients.n ? &m->gradients.at[i] : NULL;
  return known && known->param == g->param && known->grad == g->raw && known->indices == g->indices;
}

/* Replaces the gradients of the module unless they are the same in the same order. */
static void record_gradients(recorder *r, const tl_train_info *t) {
  tl_module *m = r->m;
  bool same = m->gradients.n == t->n;
  for (uint32_t i = 0; i < t->n && same; i++)
    same = has_gradient(m, &t->grads[i], i);
  if (same)
    return;
  m->gradients.n = 0;
  for (uint32_t i = 0; i < t->n; i++)
    r->failed = r->failed ||
                !tl_gradient_vec_push(&m->gradients, (tl_gradient){.param = t->grads[i].param,
                                                                   .grad = t->grads[i].raw,
                                                                   .indices = t->grads[i].indices});
  *r->changed = true;
}

/* Gives a dense gradient the shape of its parameter where inference left dims open. */
static void shape_gradient(recorder *r, tl_train_grad *g) {
  tl_module *m = r->m;
  tl_type_id param = tl_value_type(m, g->param), raw = tl_value_type(m, g->raw);
  uint64_t n, bytes;
  if (g->indices || param == raw || tl_type_is_static(m, raw) || !tl_type_is_static(m, param) ||
      tl_type_get(m, raw)->rank < 0 || tl_type_dtype(m, param) != tl_type_dtype(m, raw) ||
      tl_types_clash(m, param, raw))
    return;
  tl_value_set_type(m, g->raw, param);
  r->shaped = true;
  if (tl_type_elements(m, param, &n) && tl_dtype_bytes(tl_type_dtype(m, param), n, &bytes))
    g->bytes = bytes;
  *r->changed = true;
}

/* See info.h. Declarations name values of the model as it was read; passes may change these values.
 * The declared update ops stay, since they name op types. */
void tl_train_settle(tl_module *m) {
  if (!tl_step_state_of(m)->declared)
    return;
  tl_step_state *s = tl_step_state_edit(m);
  s->params_listed = s->params_listed || s->declared->n_params;
  s->declared = NULL;
  tl_extra *e = m->extra ? &m->extras.at[m->extra] : NULL;
  tl_pair *kept = e ? tl_arena_calloc(&m->arena, e->n_metadata + 1u, sizeof *kept) : NULL;
  uint32_t n = 0;
  for (uint32_t i = 0; kept && i < e->n_metadata; i++) {
    tl_sv key = tl_sym(m, e->metadata[i].key);
    if (!tl_sv_starts_with(key, "tailor.train.") || tl_sv_is(key, "tailor.train.update_ops"))
      kept[n++] = e->metadata[i];
  }
  if (kept) {
    e->metadata = kept;
    e->n_metadata = n;
  }
}

tl_status tl_train_record(tl_module *m, tl_train_info *t, bool *changed) {
  recorder r = {.m = m, .changed = changed};
  *changed = false;
  for (uint32_t i = 0; i < m->states.n; i++)
    know(&r, m->states.at[i].input, m->states.at[i].output);
  for (uint32_t i = 0; i < t->n; i++) {
    tl_train_grad *g = &t->grads[i];
    g->param = as_input(&r, g->param);
    shape_gradient(&r, g);
    add_state(&r, &g->param, g->param_out);
    for (uint32_t k = 0; k < g->n_states; k++)
      add_state(&r, &g->state_in[k], g->state_out[k]);
  }
  for (uint32_t i = 0; i < t->n_others; i++)
    add_state(&r, &t->other_in[i], t->other_out[i]);
  mark_parameters(&r, t);
  record_gradients(&r, t);
  *changed = *changed || m->loss != t->loss || m->seed != t->seed;
  m->loss = t->loss;
  m->seed = t->seed;
  tl_train_settle(m);
  tl_map_release(&r.inputs);
  tl_map_release(&r.outputs);
  if (r.failed)
    return tl_no_memory(m);
  return r.shaped ? tl_infer_module(m) : TL_OK; /* what is made of them has these dims as well */
}
