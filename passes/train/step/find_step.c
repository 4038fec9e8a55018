/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises a training step: collects what is declared, known update ops and plain arithmetic
 * updates. */
#include "passes/train/step/find_step.h"

#include <stdlib.h>

#include "ir/graph.h"
#include "ir/ops_gen.h"
#include "passes/train/step/declare.h"
#include "passes/train/step/detector.h"
#include "passes/train/step/reduce_site.h"
#include "passes/train/step/regions.h"
#include "passes/train/step/state_pairs.h"
#include "passes/train/step/update_cone.h"
#include "support/vec.h"

TL_VEC(grad_vec, tl_train_grad);

/* Working state of one detection. The tables "by value" are indexed by value id and owned. */
typedef struct detector {
  tl_module *m;
  tl_arena *arena;
  tl_train_info *out;
  tl_cone_facts facts;
  uint8_t *marks;
  uint32_t *state_of; /* by value: the other end of a declared state */
  uint32_t *known;    /* by value: 1 + index of the gradient of this parameter */
  uint8_t *refused;   /* by value: tl_train_refusal */
  grad_vec grads;
  bool declared_order; /* all gradients are declared, and so is their order */
} detector;

/* A parameter is an input or a constant of the main graph. */
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
  d->facts = (tl_cone_facts){.m = d->m, .arena = d->arena, .marks = d->marks};
  d->facts.place = calloc(n, sizeof *d->facts.place);
  d->facts.state_of = d->state_of;
  return d->marks && d->state_of && d->known && d->refused && d->facts.place;
}

/* Marks inputs and outputs of declared states, and the outputs of the graph. */
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

/* Returns true if v is an input with something added, such as a step counter. A counter is a float
 * of one element too, but not the loss. */
static bool counts(const tl_module *m, tl_value_id v) {
  tl_value_id bases[4];
  uint32_t n = tl_cone_bases(m, v, bases, 4);
  for (uint32_t i = 0; i < n; i++)
    if (tl_value_get(m, bases[i])->kind == TL_VALUE_INPUT)
      return true;
  return false;
}

/* Returns the loss: the declared one, else the first output that is a float of one element,
 * computed, and no state. */
static tl_value_id find_loss(const detector *d) {
  const tl_graph *g = tl_module_main(d->m);
  if (d->m->loss)
    return d->m->loss;
  for (uint32_t i = 0; i < tl_graph_n_outputs(d->m, g); i++) {
    tl_value_id v = tl_graph_output(d->m, g, i);
    uint64_t n;
    if (!(d->marks[v] & TL_MARK_STATE_OUT) && tl_value_producer(d->m, v) &&
        tl_dtype_is_float(tl_type_dtype(d->m, tl_value_type(d->m, v))) &&
        tl_type_elements(d->m, tl_value_type(d->m, v), &n) && n == 1 && !counts(d->m, v))
      return v;
  }
  return TL_NO_VALUE;
}

/* ---- one gradient ---------------------------------------------------------------------------- */

/* For a gradient of gathered rows (embedding), names the rows and their indices instead of the
 * dense tensor, so that only the rows need to be communicated. */
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

/* Column `leads` of step_ops.tbl. */
typedef enum leads_kind { NO, YES, NUMBER } leads_kind;

static const uint8_t leads_kinds[] = {
#define STEP_OP(name, old, form, across, leads) [TL_OP_##name] = leads,
#include "passes/train/step/step_ops.tbl"
};

static leads_kind leads_of(tl_op_id op) {
  return op < sizeof leads_kinds / sizeof *leads_kinds ? (leads_kind)leads_kinds[op] : NO;
}

/* Returns true if the node leads from gradient v to the value that is added up over ranks: scaling
 * by a number, casts, views, joining, accumulators. */
static bool leads_on(const tl_module *m, tl_node_id n, tl_value_id v) {
  switch (leads_of(tl_node_get(m, n)->op)) {
  case YES: return true;
  case NUMBER: return tl_operand(m, n, 0) == v && is_number(m, tl_operand(m, n, 1));
  default: return tl_accumulated(m, n, v) != TL_NO_VALUE;
  }
}

/* Returns the collective that takes v, directly or behind nodes of leads_on. *budget is the number
 * of uses that may still be looked at; it bounds the search in graphs with many users. */
static tl_node_id find_collective(const tl_module *m, tl_value_id v, int depth, int *budget) {
  enum { DEEPEST = 6 };
  TL_FOR_USES(m, v, u) { /* its own first: backward may lead from it to that of another one */
    tl_node_id n = tl_use_get(m, u)->user;
    if (--*budget < 0)
      return TL_NO_NODE;
    if (!tl_node_is_return(m, n) && tl_is_gradient_collective(m, n))
      return n;
  }
  TL_FOR_USES(m, v, u) {
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

/* The same for a gradient of rows: either the rows are gathered, or the dense tensor made of them
 * is added up. */
static tl_node_id find_gather(const tl_module *m, const tl_train_grad *g, int *budget) {
  tl_node_id found = find_collective(m, g->raw, 0, budget);
  TL_FOR_USES(m, g->raw, u) {
    tl_node_id n = tl_use_get(m, u)->user;
    if (!found && tl_node_get(m, n)->op == TL_OP_com_microsoft_GatherGrad &&
        tl_operand(m, n, 2) == g->raw)
      found = find_collective(m, tl_result(m, n, 0), 0, budget);
  }
  return found;
}

/* Fills what follows from param, raw and indices: producer, update, size, type, collective and
 * class. */
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

/* Adds a gradient after describing it. TL_NO_MEMORY is unreported here; callers report it. */
static tl_status add_grad(detector *d, tl_train_grad *g) {
  describe(d->m, g);
  if (!grad_vec_push(&d->grads, *g))
    return TL_NO_MEMORY;
  d->known[g->param] = d->grads.n;
  return TL_OK;
}

/* Adds a state once. States beyond TL_TRAIN_MAX_STATES are dropped: they stay states of the module,
 * but of no parameter. */
static void add_state(tl_train_grad *g, tl_value_id in, tl_value_id out) {
  for (uint32_t i = 0; i < g->n_states; i++)
    if (g->state_in[i] == in)
      return;
  if (in == g->param || g->n_states == TL_TRAIN_MAX_STATES)
    return;
  g->state_in[g->n_states] = in;
  g->state_out[g->n_states++] = out;
}

/* Adds the states that the walk from the next value of the parameter passed. */
static void add_states(tl_train_grad *g, const tl_cone *cone) {
  for (uint32_t i = 0; i < cone->n_states; i++)
    add_state(g, cone->state_in[i], cone->state_out[i]);
}

/* Warns once per parameter; a refused parameter is not looked at again. */
static void refuse(detector *d, tl_value_id param) {
  if (d->refused[param])
    return;
  d->refused[param] = TL_REFUSED_AMBIGUOUS;
  tl_warn_code(d->m->diag, "W-TRN-AMBIG", TL_AT_NODE(d->m->path, tl_value_name(d->m, param)),
               "the gradient of this parameter is ambiguous, so the parameter is not changed\vname "
               "the gradient: metadata tailor.train.grads, or --train-spec");
}

/* ---- declared -------------------------------------------------------------------------------- */

/* Checks a declared gradient against its parameter: a float, and equal in shape or at least in
 * number of elements. */
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
    same = !tl_dim_is_static(p->dims[i]) || !tl_dim_is_static(t->dims[i]) ||
           p->dims[i] == t->dims[i];
  uint64_t a, b; /* a gradient may be in another view than its parameter */
  bool view = tl_type_elements(m, tl_value_type(m, g->param), &a) &&
              tl_type_elements(m, tl_value_type(m, g->grad), &b) && a == b;
  if (same || view)
    return TL_OK;
  return tl_fail_code(m->diag, TL_INVALID_MODEL, "E-TRN-SHAPE", where,
                      "its gradient '%.*s' has another shape",
                      TL_SV_ARG(tl_value_name(m, g->grad)));
}

/* Adds the gradients that the module declares. Their updates follow from the declared states. */
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
        return tl_no_memory(d->m);
      add_states(&grad, &cone);
    }
    if (add_grad(d, &grad) != TL_OK)
      return tl_no_memory(d->m);
  }
  return TL_OK;
}

/* ---- known ops ------------------------------------------------------------------------------- */

/* Keeps the most specific form, which is the one with the lowest number. */
static void note_form(detector *d, tl_train_form form) {
  if (!d->out->form || form < d->out->form)
    d->out->form = form;
}

static tl_train_form form_of(const tl_update_row *row) {
  if (tl_sv_is(row->domain, "com.microsoft"))
    return TL_TRAIN_SINGLE;
  return tl_sv_is(row->domain, "ai.onnx.preview.training") ? TL_TRAIN_PREVIEW : TL_TRAIN_PLAIN;
}

/* Adds the states of an update op. What is computed in the step is no state, whatever it comes
 * from. */
static void add_slot_states(const tl_module *m, tl_train_grad *g, const tl_update_slot *s) {
  for (uint32_t i = 0; i < s->n_states; i++)
    if (!tl_value_producer(m, s->state_in[i]))
      add_state(g, s->state_in[i], s->state_out[i]);
}

/* Adds one tensor of a known update op. If its gradient is known already, the op only adds states,
 * next value and update node. */
static tl_status take_slot(detector *d, const tl_update_slot *s, tl_node_id update) {
  tl_cone cone;
  if (!is_parameter_like(d->m, s->param) || d->refused[s->param])
    return TL_OK;
  if (d->known[s->param]) {
    tl_train_grad *g = &d->grads.at[d->known[s->param] - 1];
    add_slot_states(d->m, g, s);
    g->param_out = g->param_out ? g->param_out : s->out;
    g->update = g->update ? g->update : update;
    return TL_OK;
  }
  if (tl_cone_walk(&d->facts, s->grad, s->param, &cone) != TL_OK)
    return tl_no_memory(d->m);
  if (!cone.raw) {
    refuse(d, s->param);
    return TL_OK;
  }
  tl_train_grad g = {.param = s->param, .param_out = s->out, .raw = cone.raw};
  add_slot_states(d->m, &g, s);
  if (add_grad(d, &g) != TL_OK)
    return tl_no_memory(d->m);
  d->grads.at[d->grads.n - 1].update = update;
  return TL_OK;
}

/* Adds the gradients of all known update ops. `plain` remembers ops without a row, since looking up
 * a row compares names. */
static tl_status take_known_ops(detector *d) {
  bool plain[TL_N_OPS] = {false}; /* no update, as was seen before */
  TL_FOR_NODES(d->m, tl_module_main(d->m), n) {
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

/* Adds the gradients of InPlaceAccumulatorV2, whose buffers are named
 * PARAMETER_grad.accumulation.buffer. */
static tl_status take_accumulators(detector *d) {
  static const char suffix[] = "_grad.accumulation.buffer";
  const tl_module *m = d->m;
  TL_FOR_NODES(m, tl_module_main(m), n) {
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
      return tl_no_memory(m);
  }
  return TL_OK;
}

/* ---- by structure ---------------------------------------------------------------------------- */

/* Returns true if forward reads v. Without a known loss, any use by a node that is not elementwise
 * counts as forward. */
static bool is_read(const detector *d, tl_value_id v) {
  if (d->out->loss)
    return d->marks[v] & TL_MARK_FORWARD;
  TL_FOR_USES(d->m, v, u) {
    tl_op_id op = tl_node_get(d->m, tl_use_get(d->m, u)->user)->op;
    if (op != TL_OP_RETURN && !tl_op_has_trait(op, TL_TRAIT_ELEMENTWISE))
      return true;
  }
  return false;
}

/* Returns the value whose next value is `next`: the input of a state, or the only constant that
 * forward reads and `next` is arithmetic on. TL_NO_VALUE if there is none or more than one. */
static tl_value_id updated_by(const detector *d, tl_value_id next) {
  tl_value_id bases[4], found = TL_NO_VALUE;
  if (d->marks[next] & TL_MARK_STATE_OUT)
    return d->state_of[next];
  uint32_t n = tl_cone_bases(d->m, next, bases, 4);
  for (uint32_t i = 0; i < n; i++) {
    if (!tl_value_get(d->m, bases[i])->tensor || d->marks[bases[i]] & TL_MARK_STATE_IN ||
        !is_read(d, bases[i]))
      continue;
    if (found)
      return TL_NO_VALUE;
    found = bases[i];
  }
  return found;
}

/* Adds the update to a gradient that was declared without its state. */
static tl_status complete(detector *d, tl_train_grad *g, tl_value_id next) {
  tl_cone cone;
  if (g->param_out || !tl_value_producer(d->m, next))
    return TL_OK;
  if (tl_cone_states(&d->facts, next, g->param, &cone) != TL_OK)
    return tl_no_memory(d->m);
  add_states(g, &cone);
  g->param_out = next;
  g->update = tl_value_producer(d->m, next);
  return TL_OK;
}

/* Tries an output as the next value of a parameter whose update is plain arithmetic. */
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
    return tl_no_memory(d->m);
  if (cone.ambiguous)
    refuse(d, param);
  /* A raw gradient inside the body of an If cannot be named from the main graph. */
  bool inside = cone.raw && tl_value_graph(d->m, cone.raw) != tl_module_main(d->m)->id;
  if (!cone.raw || cone.raw == next || inside) /* not by arithmetic on a gradient of the graph */
    return TL_OK;
  tl_train_grad g = {.param = param, .param_out = next, .raw = cone.raw};
  add_states(&g, &cone);
  if (add_grad(d, &g) != TL_OK)
    return tl_no_memory(d->m);
  note_form(d, TL_TRAIN_PLAIN);
  return TL_OK;
}

static tl_status take_structure(detector *d) {
  const tl_graph *g = tl_module_main(d->m);
  for (uint32_t i = 0; i < tl_graph_n_outputs(d->m, g); i++)
    TL_TRY(take_update(d, tl_graph_output(d->m, g, i)));
  return TL_OK;
}

/* ---- detection ------------------------------------------------------------------------------- */

/* If the model lists its parameters, every other value is refused as one. */
static tl_status refuse_unlisted(detector *d) {
  bool any, *listed = calloc(tl_module_value_end(d->m), sizeof *listed);
  tl_status status = listed ? tl_train_declared_params(d->m, listed, &any) : tl_no_memory(d->m);
  for (uint32_t v = 1; status == TL_OK && any && v < tl_module_value_end(d->m); v++)
    d->refused[v] = listed[v] ? TL_NOT_REFUSED : TL_REFUSED_UNLISTED;
  free(listed);
  return status;
}

/* Runs the sources in the order of their authority: declarations, known ops, accumulators,
 * structure. States are paired first, since all of them need the states. */
static tl_status detect(detector *d) {
  TL_TRY(refuse_unlisted(d));
  mark_states(d);
  tl_pairing pairs = {.m = d->m, .facts = &d->facts, .marks = d->marks, .state_of = d->state_of};
  if (tl_pair_by_names(&pairs) != TL_OK)
    return tl_no_memory(d->m);
  pairs.loss = d->out->loss = find_loss(d);
  d->out->seed = d->m->seed;
  if (tl_train_mark_sources(d->m, d->out->loss, d->marks, TL_MARK_FORWARD) != TL_OK ||
      tl_pair_by_arithmetic(&pairs) != TL_OK)
    return tl_no_memory(d->m);
  TL_TRY(take_declared(d));
  uint32_t n_declared = tl_step_state_of(d->m)->declared ? UINT32_MAX : d->grads.n;
  TL_TRY(take_known_ops(d));
  TL_TRY(take_accumulators(d));
  TL_TRY(take_structure(d));
  d->declared_order = n_declared == d->grads.n;
  const tl_train_found found = {.grads = d->grads.at,
                                .n = d->grads.n,
                                .ordered = d->declared_order,
                                .facts = &d->facts,
                                .marks = d->marks,
                                .refused = d->refused,
                                .known = d->known};
  if (d->grads.n && !d->out->form)
    d->out->form = TL_TRAIN_PLAIN;
  if (!d->grads.n)
    d->out->form = TL_TRAIN_NONE;
  TL_TRY(tl_train_order(d->m, d->arena, &found, d->out));
  if (tl_train_find_others(d->m, d->arena, &found, d->out) != TL_OK ||
      tl_train_find_regions(d->m, d->arena, d->out, d->marks, TL_MARK_FORWARD) != TL_OK ||
      tl_train_find_untold(d->m, d->arena, &found, d->out) != TL_OK)
    return tl_no_memory(d->m);
  return TL_OK;
}

tl_status tl_train_detect(tl_module *m, tl_arena *arena, tl_train_info *out) {
  detector d = {.m = m, .arena = arena, .out = out};
  *out = (tl_train_info){.form = TL_TRAIN_NONE};
  TL_TRY(tl_train_declare(m));
  tl_status status = make_tables(&d) ? detect(&d) : tl_no_memory(m);
  free(d.marks);
  free(d.state_of);
  free(d.known);
  free(d.refused);
  free(d.facts.place);
  grad_vec_release(&d.grads);
  return status;
}
