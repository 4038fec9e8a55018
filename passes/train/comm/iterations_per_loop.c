/* SPDX-License-Identifier: Apache-2.0 */
/* iterations-per-loop: makes the step the body of a Loop of K steps that carries the states.
 *
 * Requires:  states declared (train-detect); runs behind every pass that rewrites the step.
 * Keeps:     names of inputs and outputs, nodes of the step with their names, control edges.
 * After:     a run of the model is K steps. Inputs that are no state and have no default have K
 *            values along a new first axis, one for each step; outputs that are no state are those
 *            of the last step; the loss of every step is a further output, LOSS.steps.
 * Errors:    E-LOOP-DATA: an input or output that is no tensor, or has too many dims.
 * Cost:      O(nodes + edges).
 * Tests:     tests/golden/iterations-per-loop/, tests/train/loop_steps.py */
#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "ir/trace.h"
#include "passes/edit/copy.h"
#include "passes/edit/passes.h"
#include "passes/edit/values.h"
#include "passes/loops/loops.h"
#include "passes/train/comm/collective.h"

typedef struct stepping {
  tl_pass *p;
  tl_module *m;
  tl_graph *g;
  int64_t k;
  tl_graph_id body;
  tl_maker inner;
  tl_copier c;
  tl_u32_vec steps;   /* nodes of the step, in order */
  tl_u32_vec copies;  /* theirs in the body */
  tl_u32_vec next;    /* outputs of states */
  tl_u32_vec stacked; /* outputs that are no states, each once */
  tl_u32_vec results; /* of the body: condition, states, stacked */
} stepping;

/* ---- what the step has ----------------------------------------------------------------------- */

static const tl_state *state_of_input(const tl_module *m, tl_value_id v) {
  for (uint32_t i = 0; i < m->states.n; i++)
    if (m->states.at[i].input == v)
      return &m->states.at[i];
  return NULL;
}

/* Returns the index of the state with that next value; states.n if there is none. */
static uint32_t state_of_output(const tl_module *m, tl_value_id v) {
  uint32_t i = 0;
  while (i < m->states.n && m->states.at[i].output != v)
    i++;
  return i;
}

/* Returns true if each step has its own value of the input. An input with a default has the same
 * value in all steps. */
static bool is_data(const tl_module *m, tl_value_id input) {
  return !tl_value_get(m, input)->tensor && !state_of_input(m, input);
}

static tl_status refuse(stepping *s, tl_value_id v, const char *what) {
  tl_location where = {.file = s->m->path, .node = tl_value_name(s->m, v)};
  return tl_fail_code(s->m->diag, TL_INVALID_MODEL, "E-LOOP-DATA", where,
                      "%s cannot get an axis of %lld steps: it %s\v"
                      "leave --iterations-per-loop at 1, or let an op of the graph fetch the data",
                      tl_value_get(s->m, v)->kind == TL_VALUE_INPUT ? "this input" : "this output",
                      (long long)s->k, what);
}

static tl_status check_tensor(stepping *s, tl_value_id v) {
  const tl_type *t = tl_type_get(s->m, tl_value_type(s->m, v));
  if (t->kind != TL_KIND_TENSOR)
    return refuse(s, v, "is no tensor");
  return t->rank >= TL_MAX_RANK ? refuse(s, v, "has no room for a further dim") : TL_OK;
}

static bool has(const tl_u32_vec *list, uint32_t v) {
  for (uint32_t i = 0; i < list->n; i++)
    if (list->at[i] == v)
      return true;
  return false;
}

/* Checks that all data can get a further axis, and lists nodes, next states and other outputs. */
static tl_status read_step(stepping *s) {
  tl_module *m = s->m;
  bool ok = true;
  for (uint32_t i = 0; i < s->g->inputs.n; i++)
    if (is_data(m, s->g->inputs.at[i]))
      TL_TRY(check_tensor(s, s->g->inputs.at[i]));
  for (uint32_t i = 0; i < tl_graph_n_outputs(m, s->g); i++) {
    tl_value_id v = tl_graph_output(m, s->g, i);
    if (state_of_output(m, v) < m->states.n || has(&s->stacked, v))
      continue;
    TL_TRY(check_tensor(s, v));
    ok = ok && tl_u32_vec_push(&s->stacked, v);
  }
  for (uint32_t i = 0; i < m->states.n; i++)
    ok = ok && tl_u32_vec_push(&s->next, m->states.at[i].output);
  TL_FOR_NODES(m, s->g, n)
    ok = ok && tl_u32_vec_push(&s->steps, n);
  return ok ? TL_OK : tl_no_memory(m);
}

/* ---- the body -------------------------------------------------------------------------------- */

/* Adds an input to the body. */
static tl_value_id add_input(stepping *s, tl_sv name, tl_type_id type) {
  tl_symbol symbol = tl_module_fresh_name(s->m, name);
  tl_value_id v = symbol == TL_NO_SYMBOL
                      ? TL_NO_VALUE
                      : tl_graph_add_input(s->m, s->body, symbol, type, TL_NO_TENSOR);
  s->inner.no_memory = s->inner.no_memory || !v;
  return v;
}

/* Adds the inputs of the body. Data inputs of the graph get a first axis of K; the body picks the
 * slice of its iteration. */
static void add_inputs(stepping *s) {
  tl_module *m = s->m;
  tl_value_id iteration =
      add_input(s, TL_SV("iteration"), tl_type_tensor(m, TL_DTYPE_I64, 0, NULL));
  tl_value_id condition =
      add_input(s, TL_SV("condition"), tl_type_tensor(m, TL_DTYPE_BOOL, 0, NULL));
  for (uint32_t i = 0; i < m->states.n; i++) {
    tl_value_id old = m->states.at[i].input;
    tl_copy_set(&s->c, old, add_input(s, tl_value_name(m, old), tl_value_type(m, old)));
  }
  for (uint32_t i = 0; i < s->g->inputs.n && !tl_maker_failed(&s->inner); i++) {
    tl_value_id v = s->g->inputs.at[i];
    if (!is_data(m, v))
      continue;
    tl_type_id type = tl_value_type(m, v);
    const tl_type *t = tl_type_get(m, type);
    tl_dim dims[TL_MAX_RANK] = {s->k};
    for (int d = 0; d < t->rank; d++)
      dims[d + 1] = t->dims[d];
    tl_type_id lined_up = t->rank < 0 ? tl_type_tensor(m, (tl_dtype)t->dtype, -1, NULL)
                                      : tl_type_tensor(m, (tl_dtype)t->dtype, t->rank + 1, dims);
    s->inner.no_memory = s->inner.no_memory || lined_up == TL_NO_TYPE;
    tl_value_set_type(m, v, lined_up);
    s->inner.base = tl_value_get(m, v)->name;
    tl_value_id slice = tl_make_pick(&s->inner, v, 0, iteration);
    if (slice)
      tl_value_set_type(m, slice, type);
    tl_copy_set(&s->c, v, slice);
  }
  s->inner.no_memory = s->inner.no_memory || !tl_u32_vec_push(&s->results, condition);
}

static void note_copy(void *user, tl_node_id copy) {
  stepping *s = user;
  s->inner.no_memory = s->inner.no_memory || !tl_u32_vec_push(&s->copies, copy);
}

/* Adds a result of the body. ONNX wants results that are made in the body, each once: an input or
 * constant of the outer graph, or a value that is a result already, goes through an Identity. */
static void add_result(stepping *s, tl_value_id old) {
  tl_value_id v = tl_copy_of(&s->c, old);
  bool outside = !tl_maker_failed(&s->inner) && tl_value_graph(s->m, v) != s->body;
  if (outside || has(&s->results, v))
    v = tl_make_identity(&s->inner, v);
  s->inner.no_memory = s->inner.no_memory || !tl_u32_vec_push(&s->results, v);
}

/* Copies the control edges between nodes of the step. */
static void copy_controls(stepping *s) {
  tl_map place = {0};
  bool ok = true;
  for (uint32_t i = 0; i < s->steps.n && ok; i++)
    ok = tl_map_set(&place, s->steps.at[i], s->copies.at[i]);
  for (uint32_t i = 0; i < s->steps.n && ok; i++) {
    tl_control_id c = tl_node_get(s->m, s->steps.at[i])->control_out;
    for (uint32_t to; ok && c; c = tl_control_get(s->m, c)->next_out)
      if (tl_map_find(&place, tl_control_get(s->m, c)->to, &to))
        ok = tl_control_add(s->m, s->copies.at[i], to,
                            (tl_control_origin)tl_control_get(s->m, c)->origin);
  }
  tl_map_release(&place);
  s->inner.no_memory = s->inner.no_memory || !ok;
}

/* Copies the step into the body; results are condition, states, then stacked outputs, as Loop has
 * them. */
static void fill_body(stepping *s) {
  add_inputs(s);
  s->c.made = note_copy;
  s->c.user = s;
  if (!tl_maker_failed(&s->inner))
    tl_copy_nodes(&s->c, s->g);
  for (uint32_t i = 0; i < s->m->states.n && !tl_maker_failed(&s->inner); i++)
    add_result(s, s->m->states.at[i].output);
  for (uint32_t i = 0; i < s->stacked.n && !tl_maker_failed(&s->inner); i++)
    add_result(s, s->stacked.at[i]);
  if (tl_maker_failed(&s->inner))
    return;
  copy_controls(s);
  if (tl_graph_set_outputs(s->m, s->body, s->results.at, s->results.n) != TL_OK)
    s->inner.no_memory = true;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static tl_node_id append_loop(stepping *s, tl_maker *k) {
  tl_module *m = s->m;
  uint32_t n_in = 2 + m->states.n;
  tl_value_id *operands = tl_arena_calloc(s->p->scratch, n_in, sizeof *operands);
  tl_value_id trips = tl_make_int(k, s->k);
  tl_attr body = tl_attr_graph(TL_SYM_body, s->body);
  tl_symbol name = tl_module_fresh_name(m, TL_SV("iterations_per_loop"));
  k->no_memory = k->no_memory || !operands || name == TL_NO_SYMBOL;
  if (tl_maker_failed(k))
    return TL_NO_NODE;
  operands[0] = trips;
  for (uint32_t i = 0; i < m->states.n; i++)
    operands[2 + i] = m->states.at[i].input;
  tl_node_spec spec = {.op = TL_OP_Loop,
                       .name = name,
                       .operands = operands,
                       .n_operands = n_in,
                       .attrs = &body,
                       .n_attrs = 1,
                       .n_results = m->states.n + s->stacked.n};
  tl_node_id loop = tl_graph_append(m, s->g->id, &spec);
  k->no_memory = !loop || !tl_trace_derive(m, loop, &k->like, 1, false);
  if (loop)
    tl_graph_get(m, s->body)->owner = loop;
  return loop;
}

/* Lets `made` replace `old`: it gets the name of a result and the roles of `old`. An input or
 * constant keeps its name, and `made` gets a new one. */
static bool succeed(tl_module *m, tl_value_id old, tl_value_id made) {
  if (!tl_value_producer(m, old)) {
    tl_symbol name = tl_module_fresh_name(m, tl_value_name(m, old));
    tl_value_get(m, made)->name = name;
    return name != TL_NO_SYMBOL;
  }
  tl_value_get(m, made)->name = tl_value_get(m, old)->name;
  tl_value_get(m, made)->extra = tl_value_get(m, old)->extra;
  tl_value_get(m, old)->name = 0;
  tl_value_get(m, old)->extra = 0;
  tl_value_move_roles(m, old, made);
  return true;
}

/* Makes output i of the last step from the values of all steps; the loss of all steps becomes an
 * output, too. */
static void make_last(stepping *s, tl_maker *k, uint32_t i, tl_value_id all, tl_u32_vec *outputs) {
  tl_module *m = s->m;
  tl_value_id old = s->stacked.at[i];
  k->base = tl_value_get(m, old)->name;
  tl_value_set_name(m, all, tl_maker_name(k, TL_SV("steps")));
  tl_value_id last = tl_make_pick(k, all, 0, tl_make_int(k, s->k - 1));
  if (!last)
    return;
  tl_value_set_type(m, last, tl_value_type(m, old));
  if (old == m->loss) {
    tl_buf name;
    tl_buf_init(&name);
    tl_buf_add_sv(&name, tl_value_name(m, old));
    tl_buf_add_z(&name, ".steps");
    tl_symbol symbol = name.failed ? TL_NO_SYMBOL : tl_module_fresh_name(m, tl_buf_view(&name));
    tl_buf_release(&name);
    tl_value_set_name(m, all, symbol);
    k->no_memory = k->no_memory || symbol == TL_NO_SYMBOL || !tl_u32_vec_push(outputs, all);
  }
  k->no_memory = k->no_memory || !succeed(m, old, last);
  s->stacked.at[i] = last;
}

static bool name_state(tl_module *m, uint32_t i, tl_value_id v) {
  tl_value_get(m, v)->name = tl_module_fresh_name(m, tl_value_name(m, m->states.at[i].input));
  return tl_value_get(m, v)->name != TL_NO_SYMBOL;
}

/* Sets the outputs of the graph: each is replaced by what stands for it now, and the losses of all
 * steps follow. */
static tl_status set_outputs(stepping *s, tl_maker *k, tl_node_id loop) {
  tl_module *m = s->m;
  tl_u32_vec more = {0}, all = {0};
  tl_map heirs = {0};
  uint32_t n_states = m->states.n;
  bool ok = true;
  for (uint32_t i = 0; i < n_states && ok; i++) {
    tl_value_id made = tl_result(m, loop, i);
    uint32_t other;
    if (tl_map_find(&heirs, s->next.at[i], &other)) /* two states that become the same */
      ok = name_state(m, i, made);
    else
      ok = tl_map_set(&heirs, s->next.at[i], made) && succeed(m, s->next.at[i], made);
    m->states.at[i].output = made;
  }
  for (uint32_t i = 0; i < s->stacked.n && ok && !tl_maker_failed(k); i++) {
    tl_value_id old = s->stacked.at[i];
    make_last(s, k, i, tl_result(m, loop, n_states + i), &more);
    ok = tl_map_set(&heirs, old, s->stacked.at[i]);
  }
  for (uint32_t i = 0; i < tl_graph_n_outputs(m, s->g) && ok; i++) {
    uint32_t v = tl_graph_output(m, s->g, i);
    (void)tl_map_find(&heirs, v, &v);
    ok = tl_u32_vec_push(&all, v);
  }
  for (uint32_t i = 0; i < more.n && ok; i++)
    ok = tl_u32_vec_push(&all, more.at[i]);
  ok = ok && !k->no_memory && tl_graph_set_outputs(m, s->g->id, all.at, all.n) == TL_OK;
  tl_u32_vec_release(&more);
  tl_u32_vec_release(&all);
  tl_map_release(&heirs);
  k->no_memory = !ok;
  return tl_maker_status(k);
}

/* Gives the copies the names of the originals, which are erased next. Names of outputs belong to
 * results of the loop by now. */
static void move_names(stepping *s) {
  tl_module *m = s->m;
  for (uint32_t i = 0; i < s->steps.n; i++) {
    tl_node *old = tl_node_get(m, s->steps.at[i]);
    tl_node *made = tl_node_get(m, s->copies.at[i]);
    made->name = old->name;
    made->extra = old->extra;
    old->extra = 0;
    for (uint32_t r = 0; r < old->n_results; r++) {
      tl_value *from = tl_value_get(m, old->results + r);
      tl_value *to = tl_value_get(m, made->results + r);
      to->extra = from->extra;
      from->extra = 0;
      if (from->name)
        to->name = from->name;
    }
  }
}

/* Appends the loop, moves outputs and names to it, and erases the step outside. */
static tl_status take_over(stepping *s) {
  tl_module *m = s->m;
  tl_maker k = {.m = m, .graph = s->g->id, .base = tl_module_intern(m, TL_SV("steps"))};
  tl_node_id loop = append_loop(s, &k);
  if (!loop)
    return tl_maker_status(&k);
  m->seed = TL_NO_VALUE; /* the backward part is inside */
  m->gradients.n = 0;
  TL_TRY(set_outputs(s, &k, loop));
  move_names(s);
  for (uint32_t i = s->steps.n; i > 0; i--)
    tl_node_erase(m, s->steps.at[i - 1]);
  tl_pass_remark(s->p, m, loop, true, "%lld steps of %u nodes a run", (long long)s->k, s->steps.n);
  return TL_OK;
}

static tl_status make_loop(stepping *s) {
  tl_module *m = s->m;
  s->body = tl_graph_create(m, TL_GRAPH_BODY, s->g->name, TL_NO_NODE);
  if (!s->body)
    return tl_no_memory(m);
  s->inner = (tl_maker){.m = m, .graph = s->body};
  s->c = (tl_copier){.k = &s->inner};
  fill_body(s);
  tl_copier_release(&s->c);
  TL_TRY(tl_maker_status(&s->inner));
  return take_over(s);
}

/* Warns if a model whose steps are in a loop already has another number of steps than asked for. */
static void tell_loop(const tl_module *m, int64_t asked) {
  tl_node_id n = tl_value_producer(m, m->states.at[0].output);
  bool loop = tl_node_get(m, n)->op == TL_OP_Loop;
  tl_value_id trips = loop ? tl_operand(m, n, 0) : TL_NO_VALUE;
  const tl_tensor *t = trips ? tl_value_constant(m, trips) : NULL;
  int64_t has = 0;
  if (!t || !tl_tensor_int_at(m, t, 0, &has) || has != asked)
    tl_warn_code(m->diag, "W-LOOP-TWICE", TL_AT_FILE(m->path),
                 "--iterations-per-loop=%lld has no effect: the steps of this model are in a loop "
                 "already",
                 (long long)asked);
}

tl_status tl_pass_iterations_per_loop(tl_pass *p, tl_module *m) {
  stepping s = {.p = p, .m = m, .g = tl_module_main(m)};
  if (!tl_train_is_on(p->options) || p->options->train->iterations_per_loop == 1 ||
      tl_comm_is_init_graph(m))
    return TL_OK;
  s.k = p->options->train->iterations_per_loop;
  if (tl_is_loop_of_steps(m)) {
    tell_loop(m, s.k);
    return TL_OK;
  }
  if (m->states.n == 0) {
    tl_warn_code(m->diag, "W-LOOP-STATE", TL_AT_FILE(m->path),
                 "--iterations-per-loop has no effect: the model has no states");
    return TL_OK;
  }
  tl_status status = read_step(&s);
  if (status == TL_OK && tl_pass_may_rewrite(p))
    status = make_loop(&s);
  tl_u32_vec_release(&s.steps);
  tl_u32_vec_release(&s.copies);
  tl_u32_vec_release(&s.next);
  tl_u32_vec_release(&s.stacked);
  tl_u32_vec_release(&s.results);
  return status == TL_OK && p->changed ? tl_infer_module(m) : status;
}
