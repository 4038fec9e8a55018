/* SPDX-License-Identifier: Apache-2.0 */
/* Recognising a training step (train_info.h). */
#include "passes/train/train_info.h"

#include <stdlib.h>

#include "ir/graph.h"
#include "ir/ops_gen.h"
#include "passes/train/reduce_site.h"
#include "passes/train/train_declare.h"
#include "passes/train/train_regions.h"
#include "passes/train/update_cone.h"
#include "support/vec.h"

TL_VEC(grad_vec, tl_train_grad);

typedef struct detector {
  tl_module *m;
  tl_arena *arena;
  tl_train_info *out;
  tl_cone_facts facts;
  uint8_t *marks;
  uint32_t *state_of; /* by value: the other end of a declared state */
  uint32_t *known;    /* by value: 1 + index of the gradient of this parameter */
  bool
      *refused; /* by value: a parameter that was said to be ambiguous, or is none by declaration */
  grad_vec grads;
  bool declared_order; /* all gradients are declared, and so is their order */
} detector;

static tl_status no_memory(const tl_module *m) {
  return tl_fail(m->diag, TL_NO_MEMORY, TL_AT_FILE(m->path), "out of memory");
}

static bool is_parameter_like(const tl_module *m, tl_value_id v) {
  const tl_value *value = tl_value_get(m, v);
  return (value->kind == TL_VALUE_INPUT || value->kind == TL_VALUE_CONSTANT) &&
         tl_value_graph(m, v) == tl_module_main(m)->id;
}

/* ---- what is known before -------------------------------------------------------------------- */

static bool make_tables(detector *d) {
  uint32_t n = tl_module_value_end(d->m);
  d->marks = calloc(n, sizeof *d->marks);
  d->state_of = calloc(n, sizeof *d->state_of);
  d->known = calloc(n, sizeof *d->known);
  d->refused = calloc(n, sizeof *d->refused);
  d->facts = (tl_cone_facts){d->m, d->arena, d->marks, calloc(n, sizeof *d->facts.place)};
  return d->marks && d->state_of && d->known && d->refused && d->facts.place;
}

static void mark_states(detector *d) {
  const tl_graph *g = tl_module_main(d->m);
  for (uint32_t i = 0; i < d->m->states.n; i++) {
    const tl_state *s = &d->m->states.at[i];
    d->marks[s->input] |= TL_MARK_STATE_IN;
    d->marks[s->output] |= TL_MARK_STATE_OUT;
    d->state_of[s->input] = s->output;
    d->state_of[s->output] = s->input;
  }
  for (uint32_t i = 0; i < tl_graph_n_outputs(d->m, g); i++)
    d->marks[tl_graph_output(d->m, g, i)] |= TL_MARK_OUTPUT;
}

/* The loss is a float of one element that is no state; of several the first. */
static tl_value_id find_loss(const detector *d) {
  const tl_graph *g = tl_module_main(d->m);
  if (d->m->loss)
    return d->m->loss;
  for (uint32_t i = 0; i < tl_graph_n_outputs(d->m, g); i++) {
    tl_value_id v = tl_graph_output(d->m, g, i);
    uint64_t n;
    if (!(d->marks[v] & TL_MARK_STATE_OUT) && tl_value_producer(d->m, v) &&
        tl_dtype_is_float(tl_type_dtype(d->m, tl_value_type(d->m, v))) &&
        tl_type_elements(d->m, tl_value_type(d->m, v), &n) && n == 1 && !tl_cone_base(d->m, v))
      return v;
  }
  return TL_NO_VALUE;
}

/* ---- one gradient ---------------------------------------------------------------------------- */

/* The gradient of rows that were gathered: what is scattered, and where to. */
static void find_rows(const tl_module *m, tl_train_grad *g) {
  tl_node_id n = tl_value_producer(m, g->raw);
  if (g->indices || !n || tl_node_get(m, n)->op != TL_OP_com_microsoft_GatherGrad ||
      tl_node_attr_int(m, n, TL_SYM_axis, 0) != 0 || !tl_operand(m, n, 2))
    return;
  g->indices = tl_operand(m, n, 1);
  g->raw = tl_operand(m, n, 2);
}

static bool is_number(const tl_module *m, tl_value_id v) {
  uint64_t n = 0;
  return v && tl_type_elements(m, tl_value_type(m, v), &n) && n == 1;
}
/* Scaling, casts, joining and accumulators lead from a gradient to what is added up over ranks. */
static bool leads_on(const tl_module *m, tl_node_id n, tl_value_id v) {
  switch (tl_node_get(m, n)->op) {
  case TL_OP_Div:
  case TL_OP_Mul: return tl_operand(m, n, 0) == v && is_number(m, tl_operand(m, n, 1));
  case TL_OP_Cast:
  case TL_OP_Identity:
  case TL_OP_Reshape:
  case TL_OP_Flatten:
  case TL_OP_Concat: return true;
  default: return tl_accumulated(m, n, v) != TL_NO_VALUE;
  }
}

/* A collective that takes the gradient, straight or by such nodes. budget: of uses looked at. */
static tl_node_id find_collective(const tl_module *m, tl_value_id v, int depth, int *budget) {
  enum { DEEPEST = 6 };
  TL_FOR_USES (m, v, u) { /* its own first: backward may lead from it to that of another one */
    tl_node_id n = tl_use_get(m, u)->user;
    if (--*budget < 0)
      return TL_NO_NODE;
    if (!tl_node_is_return(m, n) && tl_is_gradient_collective(m, n))
      return n;
  }
  TL_FOR_USES (m, v, u) {
    tl_node_id n = tl_use_get(m, u)->user, found = TL_NO_NODE;
    if (--*budget < 0)
      return TL_NO_NODE;
    if (!tl_node_is_return(m, n) && depth < DEEPEST && leads_on(m, n, v))
      found = find_collective(m, tl_accumulated_or_first(m, n, v), depth + 1, budget);
    if (found)
      return found;
  }
  return TL_NO_NODE;
}

/* The same for rows: they are gathered, or the dense tensor made of them is added up. */
static tl_node_id find_gather(const tl_module *m, const tl_train_grad *g, int *budget) {
  tl_node_id found = find_collective(m, g->raw, 0, budget);
  TL_FOR_USES (m, g->raw, u) {
    tl_node_id n = tl_use_get(m, u)->user;
    if (!found && tl_node_get(m, n)->op == TL_OP_com_microsoft_GatherGrad &&
        tl_operand(m, n, 2) == g->raw)
      found = find_collective(m, tl_result(m, n, 0), 0, budget);
  }
  return found;
}

static void describe(const tl_module *m, tl_train_grad *g) {
  const tl_type *t;
  uint64_t n = 0, bytes = 0;
  find_rows(m, g);
  t = tl_type_get(m, tl_value_type(m, g->raw));
  g->producer = tl_value_producer(m, g->raw);
  g->update = g->param_out ? tl_value_producer(m, g->param_out) : TL_NO_NODE;
  g->dtype = t->dtype;
  if (tl_type_elements(m, tl_value_type(m, g->raw), &n) &&
      tl_dtype_bytes((tl_dtype)t->dtype, n, &bytes))
    g->bytes = bytes;
  int budget = 256;
  g->comm = g->indices ? find_gather(m, g, &budget) : find_collective(m, g->raw, 0, &budget);
  g->cls = (uint8_t)(g->comm ? TL_GRAD_DONE : g->indices ? TL_GRAD_SPARSE : TL_GRAD_DENSE);
}

static tl_status add_grad(detector *d, tl_train_grad *g) {
  describe(d->m, g);
  if (!grad_vec_push(&d->grads, *g))
    return TL_NO_MEMORY;
  d->known[g->param] = d->grads.n;
  return TL_OK;
}

static void add_state(tl_train_grad *g, tl_value_id in, tl_value_id out) {
  for (uint32_t i = 0; i < g->n_states; i++)
    if (g->state_in[i] == in)
      return;
  if (in == g->param || g->n_states == TL_TRAIN_MAX_STATES)
    return;
  g->state_in[g->n_states] = in;
  g->state_out[g->n_states++] = out;
}

/* States that the walk from the next value of the parameter passes. */
static void add_states(tl_train_grad *g, const tl_cone *cone) {
  for (uint32_t i = 0; i < cone->n_states; i++)
    add_state(g, cone->state_in[i], cone->state_out[i]);
}

static void refuse(detector *d, tl_value_id param) {
  if (d->refused[param])
    return;
  d->refused[param] = true;
  tl_warn_code(d->m->diag, "W-TRN-AMBIG", TL_AT_NODE(d->m->path, tl_value_name(d->m, param)),
               "the gradient of this parameter is ambiguous, it is left as it is"
               "\vname it: metadata tailor.train.grads, or --train-spec");
}

/* ---- declared -------------------------------------------------------------------------------- */

static tl_status check_declared(const tl_module *m, const tl_gradient *g) {
  const tl_type *p = tl_type_get(m, tl_value_type(m, g->param));
  const tl_type *t = tl_type_get(m, tl_value_type(m, g->grad));
  tl_location where = TL_AT_NODE(m->path, tl_value_name(m, g->param));
  if (t->kind == TL_KIND_TENSOR && t->dtype && !tl_dtype_is_float((tl_dtype)t->dtype))
    return tl_fail_code(m->diag, TL_INVALID_MODEL, "E-TRN-DTYPE", where,
                        "its gradient '%.*s' has element type %s, gradients are floats",
                        TL_SV_ARG(tl_value_name(m, g->grad)),
                        tl_dtype_get((tl_dtype)t->dtype)->name);
  bool same = g->indices || p->kind != t->kind || p->rank < 0 || t->rank < 0 || p->rank == t->rank;
  for (int i = 0; same && !g->indices && p->rank == t->rank && i < p->rank; i++)
    same =
        !tl_dim_is_static(p->dims[i]) || !tl_dim_is_static(t->dims[i]) || p->dims[i] == t->dims[i];
  if (same)
    return TL_OK;
  return tl_fail_code(m->diag, TL_INVALID_MODEL, "E-TRN-SHAPE", where,
                      "its gradient '%.*s' has another shape",
                      TL_SV_ARG(tl_value_name(m, g->grad)));
}

static tl_status take_declared(detector *d) {
  for (uint32_t i = 0; i < d->m->gradients.n; i++) {
    const tl_gradient *g = &d->m->gradients.at[i];
    tl_cone cone;
    if (d->known[g->param])
      return tl_fail_code(d->m->diag, TL_INVALID_MODEL, "E-TRN-DUP",
                          TL_AT_NODE(d->m->path, tl_value_name(d->m, g->param)),
                          "the gradient of this parameter is declared twice");
    TL_TRY(check_declared(d->m, g));
    tl_train_grad grad = {.param = g->param,
                          .param_out = d->state_of[g->param],
                          .raw = g->grad,
                          .indices = g->indices};
    if (!(d->marks[g->param] & TL_MARK_STATE_IN))
      grad.param_out = TL_NO_VALUE;
    if (grad.param_out) {
      if (tl_cone_states(&d->facts, grad.param_out, g->param, &cone) != TL_OK)
        return no_memory(d->m);
      add_states(&grad, &cone);
    }
    if (add_grad(d, &grad) != TL_OK)
      return no_memory(d->m);
  }
  return TL_OK;
}

/* ---- known ops ------------------------------------------------------------------------------- */

static void note_form(detector *d, tl_train_form form) {
  if (!d->out->form || form < d->out->form)
    d->out->form = form;
}

static tl_train_form form_of(const tl_update_row *row) {
  if (tl_sv_is(row->domain, "com.microsoft"))
    return TL_TRAIN_SINGLE;
  return tl_sv_is(row->domain, "ai.onnx.preview.training") ? TL_TRAIN_PREVIEW : TL_TRAIN_PLAIN;
}

static tl_status take_slot(detector *d, const tl_update_slot *s, tl_node_id update) {
  tl_cone cone;
  if (!is_parameter_like(d->m, s->param) || d->refused[s->param])
    return TL_OK;
  if (d->known[s->param]) {
    tl_train_grad *g = &d->grads.at[d->known[s->param] - 1];
    for (uint32_t i = 0; i < s->n_states; i++)
      add_state(g, s->state_in[i], s->state_out[i]);
    g->param_out = g->param_out ? g->param_out : s->out;
    g->update = g->update ? g->update : update;
    return TL_OK;
  }
  if (tl_cone_walk(&d->facts, s->grad, s->param, &cone) != TL_OK)
    return no_memory(d->m);
  if (!cone.raw) {
    refuse(d, s->param);
    return TL_OK;
  }
  tl_train_grad g = {.param = s->param, .param_out = s->out, .raw = cone.raw};
  for (uint32_t i = 0; i < s->n_states; i++)
    add_state(&g, s->state_in[i], s->state_out[i]);
  if (add_grad(d, &g) != TL_OK)
    return no_memory(d->m);
  d->grads.at[d->grads.n - 1].update = update;
  return TL_OK;
}

static tl_status take_known_ops(detector *d) {
  bool plain[TL_N_OPS] = {false}; /* no update, as was seen before */
  TL_FOR_NODES (d->m, tl_module_main(d->m), n) {
    tl_op_id op = tl_node_get(d->m, n)->op;
    tl_update_row room;
    if (op < TL_N_OPS && plain[op])
      continue;
    const tl_update_row *row = tl_train_update_row(d->m, n, &room);
    if (op < TL_N_OPS)
      plain[op] = !row;
    uint32_t count = row ? tl_update_count(d->m, n, row) : 0;
    for (uint32_t i = 0; i < count; i++) {
      tl_update_slot slot;
      if (tl_update_slot_at(d->m, n, row, i, &slot))
        TL_TRY(take_slot(d, &slot, n));
    }
    if (count)
      note_form(d, form_of(row));
  }
  return TL_OK;
}

/* ---- accumulators of ONNX Runtime's training models ------------------------------------------ */

static tl_value_id input_named(const tl_module *m, tl_sv name) {
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 0; i < g->inputs.n; i++)
    if (tl_sv_eq(tl_value_name(m, g->inputs.at[i]), name))
      return g->inputs.at[i];
  for (uint32_t i = 0; i < g->constants.n; i++)
    if (g->constants.at[i] && tl_sv_eq(tl_value_name(m, g->constants.at[i]), name))
      return g->constants.at[i];
  return TL_NO_VALUE;
}

/* Their buffers are called after parameters. */
static tl_status take_accumulators(detector *d) {
  static const char suffix[] = "_grad.accumulation.buffer";
  const tl_module *m = d->m;
  TL_FOR_NODES (m, tl_module_main(m), n) {
    tl_value_id buffer = tl_operand(m, n, 0), value = tl_operand(m, n, 1);
    if (tl_node_get(m, n)->op != TL_OP_com_microsoft_InPlaceAccumulatorV2 || !buffer || !value)
      continue;
    tl_sv name = tl_value_name(m, buffer);
    if (!tl_sv_ends_with(name, suffix))
      continue;
    tl_value_id param = input_named(m, (tl_sv){name.p, name.n - (sizeof suffix - 1)});
    if (param)
      note_form(d, TL_TRAIN_ARTIFACTS);
    if (!param || d->known[param] || d->refused[param])
      continue;
    tl_train_grad g = {.param = param, .raw = value};
    if (add_grad(d, &g) != TL_OK)
      return no_memory(m);
  }
  return TL_OK;
}

/* ---- by structure ---------------------------------------------------------------------------- */

/* Forward reads parameters; without a known loss, anything but arithmetic does. */
static bool is_read(const detector *d, tl_value_id v) {
  if (d->out->loss)
    return d->marks[v] & TL_MARK_FORWARD;
  TL_FOR_USES (d->m, v, u) {
    tl_op_id op = tl_node_get(d->m, tl_use_get(d->m, u)->user)->op;
    if (op != TL_OP_RETURN && !tl_op_has_trait(op, TL_TRAIT_ELEMENTWISE))
      return true;
  }
  return false;
}

/* What `next` is the next value of: a declared state, or something with an initial value, as data
 * do not have. */
static tl_value_id updated_by(const detector *d, tl_value_id next) {
  if (d->marks[next] & TL_MARK_STATE_OUT)
    return d->state_of[next];
  tl_value_id v = tl_cone_base(d->m, next);
  return v && tl_value_get(d->m, v)->tensor ? v : TL_NO_VALUE;
}

/* The update of a gradient that was declared without its state. */
static tl_status complete(detector *d, tl_train_grad *g, tl_value_id next) {
  tl_cone cone;
  if (g->param_out || !tl_value_producer(d->m, next))
    return TL_OK;
  if (tl_cone_states(&d->facts, next, g->param, &cone) != TL_OK)
    return no_memory(d->m);
  add_states(g, &cone);
  g->param_out = next;
  g->update = tl_value_producer(d->m, next);
  return TL_OK;
}

static tl_status take_update(detector *d, tl_value_id next) {
  tl_cone cone;
  tl_value_id param = updated_by(d, next);
  if (param && d->known[param])
    return complete(d, &d->grads.at[d->known[param] - 1], next);
  if (!param || d->refused[param] || !is_parameter_like(d->m, param) ||
      !tl_value_producer(d->m, next) ||
      !tl_dtype_is_float(tl_type_dtype(d->m, tl_value_type(d->m, param))) || !is_read(d, param))
    return TL_OK;
  if (tl_cone_walk(&d->facts, next, param, &cone) != TL_OK)
    return no_memory(d->m);
  if (cone.ambiguous)
    refuse(d, param);
  if (!cone.raw)
    return TL_OK;
  tl_train_grad g = {.param = param, .param_out = next, .raw = cone.raw};
  add_states(&g, &cone);
  if (add_grad(d, &g) != TL_OK)
    return no_memory(d->m);
  note_form(d, TL_TRAIN_PLAIN);
  return TL_OK;
}

static tl_status take_structure(detector *d) {
  const tl_graph *g = tl_module_main(d->m);
  for (uint32_t i = 0; i < tl_graph_n_outputs(d->m, g); i++)
    TL_TRY(take_update(d, tl_graph_output(d->m, g, i)));
  return TL_OK;
}

/* ---- order, and the rest --------------------------------------------------------------------- */

/* One node makes all gradients: none is there before the others. */
static bool is_opaque(const detector *d) {
  for (uint32_t i = 0; i < d->grads.n; i++) {
    tl_node_id n = d->grads.at[i].producer;
    if (!n || n != d->grads.at[0].producer ||
        tl_node_get(d->m, n)->op != TL_OP_ai_onnx_preview_training_Gradient)
      return false;
  }
  return d->grads.n != 0;
}

typedef struct ordered {
  uint64_t key;
  uint32_t index;
} ordered;

static int by_key(const void *a, const void *b) {
  const ordered *x = a;
  const ordered *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* By the place of the producer; of results of one node the last first where it is opaque. */
static void fill_keys(const detector *d, const uint32_t *place, ordered *keys) {
  for (uint32_t i = 0; i < d->grads.n; i++) {
    const tl_train_grad *g = &d->grads.at[i];
    uint32_t result = g->producer ? tl_value_get(d->m, g->raw)->index : 0;
    if (d->out->opaque)
      result = UINT32_MAX - result;
    keys[i] = (ordered){(uint64_t)(g->producer ? place[g->producer] + 1 : 0) << 32 | result, i};
    if (!g->producer) /* given from outside: in the order of the inputs */
      keys[i].key = tl_value_get(d->m, g->raw)->index;
  }
}

/* Those that are named come first, in their order. */
static tl_status take_declared_order(detector *d, ordered *keys) {
  bool any;
  uint32_t *place = calloc(tl_module_value_end(d->m), sizeof *place);
  tl_status status = place ? tl_train_declared_order(d->m, place, &any) : no_memory(d->m);
  for (uint32_t i = 0; status == TL_OK && any && i < d->grads.n; i++) {
    const tl_train_grad *g = &d->grads.at[i];
    uint32_t at = place[g->param] ? place[g->param] : place[g->raw];
    keys[i].key = at ? at : keys[i].key | UINT64_C(1) << 63;
  }
  free(place);
  return status;
}

/* Keys by what is declared and, for the rest, by the canonical order of nodes. */
static tl_status find_order(detector *d, ordered *keys) {
  uint32_t n_nodes;
  uint32_t *place = tl_arena_calloc(d->arena, tl_module_node_end(d->m), sizeof *place);
  tl_node_id *order = tl_train_canonical_order(d->m, d->arena, &n_nodes);
  if (!place || !order)
    return no_memory(d->m);
  for (uint32_t i = 0; i < n_nodes; i++)
    place[order[i]] = i;
  fill_keys(d, place, keys);
  TL_TRY(take_declared_order(d, keys));
  if (d->grads.n)
    qsort(keys, d->grads.n, sizeof *keys, by_key);
  return TL_OK;
}

static tl_status sort_grads(detector *d) {
  tl_train_info *t = d->out;
  t->n = d->grads.n;
  t->grads = tl_arena_calloc(d->arena, (size_t)t->n + 1, sizeof *t->grads);
  ordered *keys = tl_arena_calloc(d->arena, (size_t)t->n + 1, sizeof *keys);
  if (!t->grads || !keys)
    return no_memory(d->m);
  for (uint32_t i = 0; i < t->n; i++)
    keys[i].index = i;
  if (!d->declared_order)
    TL_TRY(find_order(d, keys));
  for (uint32_t i = 0; i < t->n; i++) {
    t->grads[i] = d->grads.at[keys[i].index];
    t->grads[i].rank = i;
  }
  return TL_OK;
}

/* Inputs with an initial value that forward reads and nobody updates. */
static tl_status find_frozen(detector *d) {
  const tl_graph *g = tl_module_main(d->m);
  tl_train_info *t = d->out;
  t->frozen = tl_arena_calloc(d->arena, (size_t)g->inputs.n + 1, sizeof *t->frozen);
  if (!t->frozen)
    return no_memory(d->m);
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    tl_value_id v = g->inputs.at[i];
    if (tl_value_get(d->m, v)->tensor && d->marks[v] & TL_MARK_FORWARD && !d->known[v] &&
        !(d->marks[v] & TL_MARK_STATE_IN))
      t->frozen[t->n_frozen++] = v;
  }
  return TL_OK;
}

/* Marks the states of parameters, both ends. */
static void mark_owned(detector *d) {
  for (uint32_t i = 0; i < d->out->n; i++)
    for (uint32_t k = 0; k < d->out->grads[i].n_states; k++) {
      d->marks[d->out->grads[i].state_in[k]] |= TL_MARK_OWNED_IN;
      d->marks[d->out->grads[i].state_out[k]] |= TL_MARK_OWNED_OUT;
    }
}

/* Declared ones, and inputs that come out again with something added. */
static tl_value_id other_state(const detector *d, tl_value_id next) {
  if (d->marks[next] & TL_MARK_STATE_OUT)
    return d->state_of[next];
  tl_value_id in = next == d->out->loss ? TL_NO_VALUE : tl_cone_base(d->m, next);
  bool data = in && d->marks[in] & TL_MARK_FORWARD && !tl_value_get(d->m, in)->tensor;
  return data ? TL_NO_VALUE : in;
}

static tl_status find_others(detector *d) {
  const tl_graph *g = tl_module_main(d->m);
  tl_train_info *t = d->out;
  uint32_t most = tl_graph_n_outputs(d->m, g);
  t->other_in = tl_arena_calloc(d->arena, (size_t)most + 1, sizeof *t->other_in);
  t->other_out = tl_arena_calloc(d->arena, (size_t)most + 1, sizeof *t->other_out);
  if (!t->other_in || !t->other_out)
    return no_memory(d->m);
  mark_owned(d);
  for (uint32_t i = 0; i < most && t->n; i++) {
    tl_value_id next = tl_graph_output(d->m, g, i), in = other_state(d, next);
    if (!in || d->known[in] || d->marks[in] & TL_MARK_OWNED_IN ||
        d->marks[next] & TL_MARK_OWNED_OUT)
      continue;
    t->other_in[t->n_others] = in;
    t->other_out[t->n_others++] = next;
  }
  return TL_OK;
}

/* With a list of parameters nothing else is one. */
static tl_status refuse_unlisted(detector *d) {
  bool any, *listed = calloc(tl_module_value_end(d->m), sizeof *listed);
  tl_status status = listed ? tl_train_declared_params(d->m, listed, &any) : no_memory(d->m);
  for (uint32_t v = 1; status == TL_OK && any && v < tl_module_value_end(d->m); v++)
    d->refused[v] = !listed[v];
  free(listed);
  return status;
}

static tl_status detect(detector *d) {
  TL_TRY(refuse_unlisted(d));
  mark_states(d);
  d->out->loss = find_loss(d);
  d->out->seed = d->m->seed;
  if (tl_train_mark_sources(d->m, d->out->loss, d->marks, TL_MARK_FORWARD) != TL_OK)
    return no_memory(d->m);
  TL_TRY(take_declared(d));
  uint32_t n_declared = d->m->declared ? UINT32_MAX : d->grads.n;
  TL_TRY(take_known_ops(d));
  TL_TRY(take_accumulators(d));
  TL_TRY(take_structure(d));
  d->declared_order = n_declared == d->grads.n;
  if (d->grads.n && !d->out->form)
    d->out->form = TL_TRAIN_PLAIN;
  if (!d->grads.n)
    d->out->form = TL_TRAIN_NONE;
  d->out->opaque = is_opaque(d);
  TL_TRY(sort_grads(d));
  TL_TRY(find_others(d));
  TL_TRY(find_frozen(d));
  return tl_train_find_regions(d->m, d->arena, d->out, d->marks, TL_MARK_FORWARD) == TL_OK
             ? TL_OK
             : no_memory(d->m);
}

tl_status tl_train_detect(tl_module *m, tl_arena *arena, tl_train_info *out) {
  detector d = {.m = m, .arena = arena, .out = out};
  *out = (tl_train_info){.form = TL_TRAIN_NONE};
  TL_TRY(tl_train_declare(m));
  tl_status status = make_tables(&d) ? detect(&d) : no_memory(m);
  free(d.marks);
  free(d.state_of);
  free(d.known);
  free(d.refused);
  free(d.facts.place);
  grad_vec_release(&d.grads);
  return status;
}
