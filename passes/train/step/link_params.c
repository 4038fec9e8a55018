/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what the training model gives to the optimizer: parameters and their gradients (link.h).
 * ONNX Runtime's tools name them: a gradient is PARAMETER_grad, its buffer
 * PARAMETER_grad.accumulation.buffer. */
#include "ir/ops_gen.h"
#include "ir/tensor_expr.h"
#include "ir/trace.h"
#include "passes/edit/values.h"
#include "passes/train/step/declare.h"
#include "passes/train/step/info.h"
#include "passes/train/step/link.h"

static const char buffer_suffix[] = "_grad.accumulation.buffer";
static const char grad_suffix[] = "_grad";

tl_symbol tl_link_name(tl_linking *linking, tl_sv base, const char *suffix) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add(&text, base.p, base.n);
  tl_buf_add_z(&text, suffix);
  tl_symbol s = text.failed ? TL_NO_SYMBOL : tl_module_fresh_name(linking->m, tl_buf_view(&text));
  tl_buf_release(&text);
  return s;
}

bool tl_link_find(const tl_linking *linking, tl_sv name, uint32_t *out) {
  uint32_t found = 0;
  tl_symbol s = tl_symbol_find(&linking->m->symbols, name);
  if (s == TL_NO_SYMBOL || !tl_map_find(&linking->named, s, &found))
    return false;
  *out = found - 1;
  return true;
}

bool tl_link_find_grad(const tl_linking *linking, tl_sv name, uint32_t *out) {
  static const char *const suffixes[] = {grad_suffix, buffer_suffix, "_grad.accumulation.out"};
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
    if (tl_sv_ends_with(name, suffixes[i]) &&
        tl_link_find(linking, (tl_sv){name.p, name.n - strlen(suffixes[i])}, out))
      return true;
  return false;
}

/* ---- results that a node did not give -------------------------------------------------------- */

/* Copies control edges; those of `from` vanish when it is erased. */
static void move_edges(tl_linking *linking, tl_node_id from, tl_node_id to, bool *ok) {
  tl_module *m = linking->m;
  for (tl_control_id c = tl_node_get(m, from)->control_in; c && *ok;
       c = tl_control_get(m, c)->next_in)
    *ok = tl_control_add(m, tl_control_get(m, c)->from, to,
                         (tl_control_origin)tl_control_get(m, c)->origin) != 0;
  for (tl_control_id c = tl_node_get(m, from)->control_out; c && *ok;
       c = tl_control_get(m, c)->next_out)
    *ok = tl_control_add(m, to, tl_control_get(m, c)->to,
                         (tl_control_origin)tl_control_get(m, c)->origin) != 0;
}

/* Moves names, types, roles and uses of a node's results to the node that replaces it. */
static void take_over(tl_linking *linking, tl_node_id from, tl_node_id to) {
  tl_module *m = linking->m;
  tl_node *old = tl_node_get(m, from), *made = tl_node_get(m, to);
  made->scope = old->scope;
  made->stream = old->stream;
  made->extra = old->extra;
  for (uint32_t i = 0; i < old->n_results; i++) {
    tl_value *v = tl_value_get(m, old->results + i);
    if (v->name)
      tl_value_set_name(m, made->results + i, v->name);
    tl_value_set_type(m, made->results + i, v->type);
    tl_value_move_roles(m, old->results + i, made->results + i);
    tl_value_replace_uses(m, old->results + i, made->results + i);
    tl_value_set_name(m, old->results + i, 0);
  }
}

/* Zeros are a view of one number, so that large moments take no memory. */
tl_status tl_link_start_from_zeros(tl_linking *linking, tl_value_id input) {
  tl_module *m = linking->m;
  tl_value *v = tl_value_get(m, input);
  const tl_type *t = tl_type_get(m, v->type);
  const uint64_t zero = 0; /* of every float */
  uint64_t n;
  if (v->kind != TL_VALUE_INPUT || v->tensor || t->kind != TL_KIND_TENSOR ||
      t->rank > TL_TENSOR_EXPR_MAX_RANK || !tl_dtype_is_float((tl_dtype)t->dtype) ||
      tl_dtype_get((tl_dtype)t->dtype)->bits < 16 || !tl_type_elements(m, v->type, &n) || n == 0)
    return TL_OK;
  tl_type_id type = v->type;
  tl_dtype dtype = (tl_dtype)t->dtype;
  tl_tensor_expr e = {.kind = TL_TENSOR_EXPR_VIEW, .rank = t->rank, .n_sources = 1};
  for (int i = 0; i < t->rank; i++)
    e.dims[i] = t->dims[i];
  tl_type_id one = tl_type_tensor(m, dtype, 0, NULL); /* t may have moved from here on */
  tl_tensor_id number = one ? tl_tensor_from_bytes(m, one, &zero, tl_dtype_get(dtype)->bits / 8u)
                            : TL_NO_TENSOR;
  const tl_tensor *source = number ? tl_tensor_get(m, number) : NULL;
  e.sources = &source;
  tl_tensor_id zeros = !number ? TL_NO_TENSOR : e.rank ? tl_tensor_express(m, type, &e) : number;
  tl_value_get(m, input)->tensor = zeros;
  return zeros ? TL_OK : tl_no_memory(linking->m);
}

/* A node has a fixed number of results, so one with more takes its place. */
tl_node_id tl_link_widen(tl_linking *linking, tl_node_id n, uint32_t n_results) {
  tl_module *m = linking->m;
  const tl_node *node = tl_node_get(m, n);
  tl_symbol names[8] = {0};
  tl_value_id *operands =
      tl_arena_calloc(linking->p->scratch, node->n_operands + 1u, sizeof *operands);
  if (node->n_results >= n_results || n_results > sizeof names / sizeof *names)
    return n;
  for (uint32_t i = 0; operands && i < node->n_operands; i++)
    operands[i] = tl_operand(m, n, i);
  for (uint32_t i = node->n_results; i < n_results; i++) {
    names[i] = tl_link_name(linking, tl_value_name(m, node->results), ".all");
    if (names[i] == TL_NO_SYMBOL)
      return TL_NO_NODE;
  }
  tl_node_spec spec = {.op = node->op,
                       .name = node->name,
                       .operands = operands,
                       .n_operands = node->n_operands,
                       .results = names,
                       .n_results = n_results,
                       .attrs = node->attrs,
                       .n_attrs = node->n_attrs};
  tl_node_id made = operands ? tl_graph_insert(m, n, &spec) : TL_NO_NODE;
  bool ok = made != TL_NO_NODE && tl_trace_derive(m, made, &n, 1, false);
  if (ok)
    move_edges(linking, n, made, &ok);
  if (!ok)
    return TL_NO_NODE;
  take_over(linking, n, made);
  tl_node_erase(m, n);
  return made;
}

/* ---- types ----------------------------------------------------------------------------------- */

static tl_status wrong_dtype(const tl_linking *linking, const tl_type *wanted, const tl_type *given,
                             tl_sv name) {
  return tl_fail_code(
      linking->m->diag, TL_INVALID_MODEL, "E-TRN-DTYPE", TL_AT_NODE(linking->path, name),
      "is %s in the optimizer model and %s in the training model",
      tl_dtype_get((tl_dtype)wanted->dtype)->name, tl_dtype_get((tl_dtype)given->dtype)->name);
}

tl_status tl_link_check_type(const tl_linking *linking, tl_type_id wanted, tl_value_id given,
                             tl_sv name) {
  const tl_type *a = tl_type_get(linking->m, wanted);
  const tl_type *b = tl_type_get(linking->m, tl_value_type(linking->m, given));
  bool known = a->kind == TL_KIND_TENSOR && b->kind == TL_KIND_TENSOR;
  if (known && a->dtype && b->dtype && a->dtype != b->dtype)
    return wrong_dtype(linking, a, b, name);
  bool fits = !known || a->rank < 0 || b->rank < 0 || a->rank == b->rank;
  for (int i = 0; fits && known && a->rank == b->rank && i < a->rank; i++)
    fits = !tl_dim_is_static(a->dims[i]) || !tl_dim_is_static(b->dims[i]) ||
           a->dims[i] == b->dims[i];
  if (fits)
    return TL_OK;
  tl_buf text;
  tl_buf_init(&text);
  tl_type_print(linking->m, wanted, &text);
  tl_buf_add_z(&text, " in the optimizer model and ");
  tl_type_print(linking->m, tl_value_type(linking->m, given), &text);
  tl_status status = tl_fail_code(linking->m->diag, TL_INVALID_MODEL, "E-TRN-SHAPE",
                                  TL_AT_NODE(linking->path, name), "is %.*s in the training model",
                                  TL_SV_ARG(tl_buf_view(&text)));
  tl_buf_release(&text);
  return status;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static tl_status add_param(tl_linking *linking, tl_value_id v, tl_sv name, tl_link_param found) {
  tl_module *m = linking->m;
  const tl_type *a = tl_type_get(m, tl_value_type(m, v));
  if (a->kind == TL_KIND_TENSOR && a->dtype && !tl_dtype_is_float((tl_dtype)a->dtype))
    return tl_fail_code(m->diag, TL_INVALID_MODEL, "E-TRN-DTYPE", TL_AT_NODE(m->path, name),
                        "has element type %s, parameters are floats",
                        tl_dtype_get((tl_dtype)a->dtype)->name);
  found.param = tl_train_as_input(m, v);
  if (!found.param)
    return tl_no_memory(linking->m);
  found.name = tl_value_get(m, found.param)->name;
  if (tl_map_find(&linking->named, found.name, NULL))
    return tl_fail_code(m->diag, TL_INVALID_MODEL, "E-TRN-DUP", TL_AT_NODE(m->path, name),
                        "this parameter has two gradients");
  linking->at[linking->n++] = found;
  bool ok = tl_map_set(&linking->named, found.name, linking->n) &&
            tl_map_set(&linking->of_param, found.param, linking->n) &&
            tl_map_set(&linking->of_grad, found.grad, linking->n);
  return ok ? TL_OK : tl_no_memory(linking->m);
}

/* Fills x->given: inputs and constants by name. */
static tl_status find_given(tl_linking *linking) {
  const tl_u32_vec *lists[] = {&linking->train->inputs, &linking->train->constants};
  bool ok = true;
  for (int k = 0; k < 2; k++)
    for (uint32_t i = 0; i < lists[k]->n && ok; i++)
      ok = !lists[k]->at[i] ||
           tl_map_set(&linking->given, tl_value_get(linking->m, lists[k]->at[i])->name,
                      lists[k]->at[i]);
  return ok ? TL_OK : tl_no_memory(linking->m);
}

static tl_value_id parameter_named(const tl_linking *linking, tl_sv name) {
  tl_symbol s = tl_symbol_find(&linking->m->symbols, name);
  tl_value_id v = TL_NO_VALUE;
  if (s && s != TL_NO_SYMBOL)
    (void)tl_map_find(&linking->given, s, &v);
  return v;
}

/* Returns the accumulator of a buffer; TL_NO_NODE unless it is the buffer's only user. */
static tl_node_id accumulator_of(const tl_linking *linking, tl_value_id buffer) {
  tl_node_id found = TL_NO_NODE;
  TL_FOR_USES(linking->m, buffer, u) {
    tl_node_id n = tl_use_get(linking->m, u)->user;
    if (tl_node_get(linking->m, n)->op != TL_OP_com_microsoft_InPlaceAccumulatorV2 ||
        tl_operand(linking->m, n, 0) != buffer || !tl_operand(linking->m, n, 1) || found)
      return TL_NO_NODE;
    found = n;
  }
  return found && tl_node_get(linking->m, found)->graph == linking->train->id ? found : TL_NO_NODE;
}

/* Makes the accumulator's sum the next value of its buffer. A gradient of unknown type gets the
 * type of its buffer, which inference cannot find. */
static tl_status give_sum(tl_linking *linking, tl_node_id n, tl_value_id buffer, tl_value_id *sum) {
  tl_module *m = linking->m;
  bool had = tl_node_get(m, n)->n_results > 1 && tl_value_get(m, tl_result(m, n, 1))->name;
  tl_symbol name = tl_link_name(linking, tl_value_name(m, buffer), ".out");
  n = name == TL_NO_SYMBOL ? TL_NO_NODE : tl_link_widen(linking, n, 2);
  if (!n)
    return tl_no_memory(linking->m);
  *sum = tl_result(m, n, 1);
  if (!had)
    tl_value_set_name(m, *sum, name);
  tl_value_set_type(m, *sum, tl_value_type(m, buffer));
  const tl_type *grad = tl_type_get(m, tl_value_type(m, tl_operand(m, n, 1)));
  if (grad->kind == TL_KIND_UNKNOWN || (grad->kind == TL_KIND_TENSOR && grad->rank < 0))
    tl_value_set_type(m, tl_operand(m, n, 1), tl_value_type(m, buffer));
  TL_TRY(tl_link_start_from_zeros(linking, buffer));
  bool ok = tl_state_vec_push(&m->states, (tl_state){.input = buffer, .output = *sum}) &&
            tl_u32_vec_push(&linking->outputs, *sum);
  return ok ? TL_OK : tl_no_memory(linking->m);
}

/* Takes a buffer as that of a parameter's gradient sum. */
static tl_status take_buffer(tl_linking *linking, tl_value_id buffer) {
  tl_module *m = linking->m;
  tl_sv name = tl_value_name(m, buffer);
  tl_sv param = {name.p, name.n - (sizeof buffer_suffix - 1)};
  tl_value_id v = parameter_named(linking, param);
  tl_node_id n = accumulator_of(linking, buffer);
  tl_link_param found = {.buffer = buffer};
  if (!v)
    return tl_fail_code(m->diag, TL_INVALID_MODEL, "E-TRN-NOTENSOR", TL_AT_NODE(m->path, name),
                        "this buffer is for the gradient of '%.*s', which is not an input",
                        TL_SV_ARG(param));
  if (!n)
    return tl_fail_code(m->diag, TL_INVALID_MODEL, "E-TRN-LINK", TL_AT_NODE(m->path, name),
                        "this gradient buffer has to be read by exactly one InPlaceAccumulatorV2");
  if (tl_link_check_type(linking, tl_value_type(m, buffer), v, param) != TL_OK)
    return TL_INVALID_MODEL;
  TL_TRY(give_sum(linking, n, buffer, &found.grad));
  return add_param(linking, v, param, found);
}

/* Takes an output PARAMETER_grad as a gradient: models without accumulators return gradients. */
static tl_status take_output(tl_linking *linking, tl_value_id grad) {
  tl_sv name = tl_value_name(linking->m, grad);
  if (!tl_sv_ends_with(name, grad_suffix) || !tl_value_producer(linking->m, grad))
    return TL_OK;
  tl_sv param = {name.p, name.n - (sizeof grad_suffix - 1)};
  tl_value_id v = parameter_named(linking, param);
  return v ? add_param(linking, v, param, (tl_link_param){.grad = grad}) : TL_OK;
}

/* ---- the first micro-step -------------------------------------------------------------------- */

/* Returns true if v is the reset flag of accumulators and nothing else. */
static bool resets(const tl_linking *linking, tl_value_id v) {
  bool any = false;
  TL_FOR_USES(linking->m, v, u) {
    tl_node_id n = tl_use_get(linking->m, u)->user;
    if (tl_node_is_return(linking->m, n) ||
        tl_node_get(linking->m, n)->op != TL_OP_com_microsoft_InPlaceAccumulatorV2 ||
        tl_operand(linking->m, n, 2) != v)
      return false;
    any = true;
  }
  return any;
}

/* Sets the reset flag to true by default, since each step updates: buffers start at zero again. If
 * the caller accumulates over several steps, the flag stays an input without a value. */
static tl_status give_reset(tl_linking *linking) {
  tl_module *m = linking->m;
  const uint8_t yes = 1;
  const tl_train_config *c = linking->p->options->train;
  if (c && c->accumulation_steps > 1)
    return TL_OK;
  for (uint32_t i = 0; i < linking->train->inputs.n; i++) {
    tl_value_id v = linking->train->inputs.at[i];
    tl_type_id type = tl_value_type(m, v);
    uint64_t n;
    if (tl_value_get(m, v)->tensor || !resets(linking, v) ||
        tl_type_dtype(m, type) != TL_DTYPE_BOOL || !tl_type_elements(m, type, &n) || n != 1)
      continue;
    tl_tensor_id tensor = tl_tensor_from_bytes(m, type, &yes, 1);
    if (!tensor)
      return tl_no_memory(linking->m);
    tl_value_get(m, v)->tensor = tensor;
  }
  return TL_OK;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* A declared list also limits the optimizer's list to the parameters in it. */
static tl_status order_as_declared(tl_linking *linking, const tl_train_spec *s) {
  for (uint32_t i = 0; i < s->n_params; i++) {
    uint32_t at;
    if (!tl_link_find(linking, s->params[i], &at))
      return tl_fail_code(linking->m->diag, TL_INVALID_MODEL, "E-TRN-NOTENSOR",
                          TL_AT_FILE(linking->m->path),
                          "tailor.train.params: the training model has no gradient of '%.*s'",
                          TL_SV_ARG(tl_sv_shown(s->params[i])));
    if (linking->at[at].listed)
      return tl_fail_code(
          linking->m->diag, TL_INVALID_MODEL, "E-TRN-DUP", TL_AT_FILE(linking->m->path),
          "tailor.train.params: '%.*s' is given twice", TL_SV_ARG(tl_sv_shown(s->params[i])));
    linking->at[at].listed = true;
    linking->order[linking->n_order++] = at;
  }
  return TL_OK;
}

static tl_status find_order(tl_linking *linking) {
  const tl_train_spec *s = tl_step_state_of(linking->m)->declared;
  bool declared = s && s->n_params;
  linking->order = tl_arena_calloc(linking->p->scratch,
                                   (size_t)linking->n + (declared ? s->n_params : 0) + 1,
                                   sizeof *linking->order);
  if (!linking->order)
    return tl_no_memory(linking->m);
  if (declared)
    return order_as_declared(linking, s);
  for (uint32_t i = 0; i < linking->n; i++)
    linking->order[linking->n_order++] = i;
  return TL_OK;
}

/* ---- driver ---------------------------------------------------------------------------------- */

tl_status tl_link_find_params(tl_linking *linking) {
  tl_module *m = linking->m;
  uint32_t n_inputs = linking->train->inputs.n, n_outputs = tl_graph_n_outputs(m, linking->train);
  linking->at =
      tl_arena_calloc(linking->p->scratch, (size_t)n_inputs + n_outputs + 1, sizeof *linking->at);
  if (!linking->at)
    return tl_no_memory(linking->m);
  TL_TRY(find_given(linking));
  for (uint32_t i = 0; i < n_inputs; i++)
    if (tl_sv_ends_with(tl_value_name(m, linking->train->inputs.at[i]), buffer_suffix))
      TL_TRY(take_buffer(linking, linking->train->inputs.at[i]));
  for (uint32_t i = 0; i < n_outputs && !(linking->n && linking->at[0].buffer); i++)
    TL_TRY(take_output(linking, tl_graph_output(m, linking->train, i)));
  if (!linking->n)
    return tl_fail_code(m->diag, TL_INVALID_MODEL, "E-TRN-LINK", TL_AT_FILE(m->path),
                        "the training model has no gradients\vexpected inputs named "
                        "PARAMETER_grad.accumulation.buffer, or outputs called PARAMETER_grad");
  TL_TRY(give_reset(linking));
  return find_order(linking);
}
