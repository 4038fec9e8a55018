/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the inputs of the optimizer (link.h).
 * Sequences become lists of the training model's tensors, tensors are found by name, and the rest
 * become inputs of the step. */
#include "ir/ops_gen.h"
#include "ir/trace.h"
#include "passes/edit/values.h"
#include "passes/train/step/declare.h"
#include "passes/train/step/link.h"

enum { MOST_STEPS = 16, PARAM = 0, GRAD = 1, STATE = 2 };

/* Where a list comes from: a sequence that is an input, or the SequenceConstruct that makes it. Ops
 * from one sequence to one sequence, such as clipping, may follow it. */
typedef struct source {
  tl_value_id input;
  tl_node_id construct;
} source;

static source source_of(const tl_module *m, tl_value_id v) {
  for (int i = 0; v && i < MOST_STEPS; i++) {
    tl_node_id n = tl_value_producer(m, v);
    if (!n)
      return (source){.input = tl_value_get(m, v)->kind == TL_VALUE_INPUT ? v : TL_NO_VALUE};
    if (tl_list_maker(m, v))
      return (source){.construct = n};
    if (tl_node_get(m, n)->n_operands != 1)
      break;
    v = tl_operand(m, n, 0);
  }
  return (source){0};
}

static uint32_t operand_of(const tl_update_row *row, uint32_t kind) {
  return kind == PARAM ? row->param : kind == GRAD ? row->grad : row->states.at[kind - STATE];
}

/* ---- the order of a list --------------------------------------------------------------------- */

typedef struct list {
  const uint32_t *at; /* indices of parameters */
  uint32_t n;
  bool named;
} list;

/* Finds the parameter that an element of a list stands for: an input of that name, or, for
 * gradients, the gradient that the element is computed from by first operands. */
static bool element_of(const tl_linking *linking, tl_value_id v, bool grad, uint32_t *out) {
  for (int i = 0; v && i < MOST_STEPS; i++) {
    tl_sv name = tl_value_name(linking->m, v);
    tl_node_id n = tl_value_producer(linking->m, v);
    if (!n)
      return grad ? tl_link_find_grad(linking, name, out) : tl_link_find(linking, name, out);
    if (!grad)
      return false;
    v = tl_operand(linking->m, n, 0);
  }
  return false;
}

static tl_status unknown_element(const tl_linking *linking, tl_value_id v, bool grad) {
  return tl_fail_code(linking->m->diag, TL_INVALID_MODEL, "E-TRN-NOTENSOR",
                      TL_AT_NODE(linking->path, v ? tl_value_name(linking->m, v) : TL_SV("")),
                      "the training model has no %s of this name",
                      grad ? "gradient of a parameter" : "parameter with a gradient");
}

static tl_status read_named(const tl_linking *linking, tl_node_id construct, bool grad, list *out) {
  uint32_t n = tl_node_get(linking->m, construct)->n_operands;
  uint32_t *at = tl_arena_calloc(linking->p->scratch, n + 1u, sizeof *at);
  if (!at)
    return tl_no_memory(linking->m);
  for (uint32_t i = 0; i < n; i++)
    if (!element_of(linking, tl_operand(linking->m, construct, i), grad, &at[i]))
      return unknown_element(linking, tl_operand(linking->m, construct, i), grad);
  *out = (list){at, n, true};
  return TL_OK;
}

/* Returns the number of update nodes that take lists. */
static uint32_t n_lists(const tl_linking *linking) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < linking->updates.n; i++) {
    tl_update_row room;
    const tl_update_row *row = tl_train_update_row(linking->m, linking->updates.at[i], &room);
    n += row && row->layout == TL_UPDATE_SEQUENCE;
  }
  return n;
}

/* Finds the parameters of an update's list: by the names of its elements; without names it is the
 * list of the training model, which is only clear if one node takes lists. */
static tl_status find_list(tl_linking *linking, tl_node_id n, const tl_update_row *row, list *out) {
  source params = source_of(linking->m, tl_operand(linking->m, n, row->param));
  source grads = source_of(linking->m, tl_operand(linking->m, n, row->grad));
  *out = (list){linking->order, linking->n_order, false};
  if (params.construct)
    return read_named(linking, params.construct, false, out);
  if (grads.construct)
    return read_named(linking, grads.construct, true, out);
  if (n_lists(linking) > 1)
    return tl_fail_code(
        linking->m->diag, TL_INVALID_MODEL, "E-TRN-LINK",
        TL_AT_NODE(linking->path, tl_sym(linking->m, tl_node_get(linking->m, n)->name)),
        "several nodes update lists, and it is not known which parameters each one updates\vname "
        "the elements by SequenceConstruct of inputs called as parameters");
  return TL_OK;
}

/* ---- sequences ------------------------------------------------------------------------------- */

/* Returns the type of a moment: dtype of the sequence's elements, dims of the parameter. */
static tl_type_id state_type(tl_linking *linking, tl_type_id element, tl_value_id param) {
  const tl_type *p = tl_type_get(linking->m, tl_value_type(linking->m, param));
  tl_dtype dtype = tl_type_dtype(linking->m, element);
  if (p->kind != TL_KIND_TENSOR || !dtype || dtype == (tl_dtype)p->dtype)
    return tl_value_type(linking->m, param);
  return tl_type_tensor(linking->m, dtype, p->rank, p->dims);
}

static tl_value_id new_state(tl_linking *linking, tl_value_id sequence, tl_type_id element,
                             const tl_link_param *of) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_char(&text, '.');
  tl_buf_add(&text, tl_value_name(linking->m, sequence).p, tl_value_name(linking->m, sequence).n);
  tl_buf_add_char(&text, 0);
  tl_symbol name = text.failed ? TL_NO_SYMBOL
                               : tl_link_name(linking, tl_sym(linking->m, of->name), text.p);
  tl_buf_release(&text);
  tl_type_id type = state_type(linking, element, of->param);
  return name == TL_NO_SYMBOL || !type
             ? TL_NO_VALUE
             : tl_graph_add_input(linking->m, linking->train->id, name, type, TL_NO_TENSOR);
}

/* Replaces a sequence by a SequenceConstruct of its elements. kind: PARAM, GRAD, or STATE + index;
 * states become new inputs. */
static tl_status spell_out(tl_linking *linking, tl_value_id sequence, uint32_t kind,
                           const list *l) {
  tl_module *m = linking->m;
  const tl_type *type = tl_type_get(m, tl_value_type(m, sequence));
  tl_type_id element = type->kind == TL_KIND_SEQUENCE ? type->element : TL_NO_TYPE;
  tl_value_id *at = tl_arena_calloc(linking->p->scratch, l->n + 1u, sizeof *at);
  tl_symbol name = tl_link_name(linking, tl_value_name(m, sequence), ".list");
  for (uint32_t i = 0; at && i < l->n; i++) {
    const tl_link_param *of = &linking->at[l->at[i]];
    at[i] = kind == PARAM  ? of->param
            : kind == GRAD ? of->grad
                           : new_state(linking, sequence, element, of);
    if (!at[i])
      return tl_no_memory(linking->m);
    TL_TRY(tl_link_check_type(linking, element, at[i], tl_sym(m, of->name)));
  }
  tl_node_spec spec = {.op = TL_OP_SequenceConstruct,
                       .name = name,
                       .operands = at,
                       .n_operands = l->n,
                       .results = &name,
                       .n_results = 1};
  tl_node_id n = !at || name == TL_NO_SYMBOL ? TL_NO_NODE
                                             : tl_graph_insert(m, linking->first, &spec);
  if (!n || !tl_trace_derive(m, n, &linking->first, 1, false))
    return tl_no_memory(linking->m);
  tl_value_set_type(m, tl_result(m, n, 0), tl_value_type(m, sequence));
  tl_value_replace_uses(m, sequence, tl_result(m, n, 0));
  return TL_OK;
}

static tl_status no_list(const tl_linking *linking, tl_node_id n) {
  return tl_fail_code(
      linking->m->diag, TL_UNSUPPORTED, "E-TRN-LINK",
      TL_AT_NODE(linking->path, tl_sym(linking->m, tl_node_get(linking->m, n)->name)),
      "a list of this optimizer is computed, expected an input, or tensors that "
      "SequenceConstruct joins");
}

static tl_status other_length(const tl_linking *linking, tl_node_id n, uint32_t has,
                              uint32_t wanted) {
  return tl_fail_code(
      linking->m->diag, TL_INVALID_MODEL, "E-TRN-LENGTH",
      TL_AT_NODE(linking->path, tl_sym(linking->m, tl_node_get(linking->m, n)->name)),
      "a list of this optimizer has %u tensors, another one %u", has, wanted);
}

static tl_status spell_out_update(tl_linking *linking, tl_node_id n, const tl_update_row *row) {
  list l;
  TL_TRY(find_list(linking, n, row, &l));
  for (uint32_t kind = PARAM; kind < STATE + row->states.n; kind++) {
    tl_value_id operand = tl_operand(linking->m, n, operand_of(row, kind));
    source s = source_of(linking->m, operand);
    if (!s.input && !s.construct)
      return no_list(linking, n);
    if (s.construct && tl_node_get(linking->m, s.construct)->n_operands != l.n)
      return other_length(linking, n, tl_node_get(linking->m, s.construct)->n_operands, l.n);
    if (s.input && tl_value_graph(linking->m, s.input) == linking->optim->id)
      TL_TRY(spell_out(linking, s.input, kind, &l));
  }
  return TL_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Replaces an input of the optimizer by the parameter or gradient of its name, else by a new input
 * of the step. */
static tl_status replace_tensor(tl_linking *linking, tl_value_id v) {
  tl_module *m = linking->m;
  const tl_value *value = tl_value_get(m, v);
  tl_sv name = tl_value_name(m, v);
  uint32_t at;
  tl_value_id to = TL_NO_VALUE;
  if (tl_link_find(linking, name, &at))
    to = linking->at[at].param;
  else if (tl_link_find_grad(linking, name, &at))
    to = linking->at[at].grad;
  if (to)
    TL_TRY(tl_link_check_type(linking, value->type, linking->at[at].param,
                              tl_sym(m, linking->at[at].name)));
  if (!to) {
    bool taken = tl_map_find(&linking->given, value->name, NULL);
    tl_symbol s = taken ? tl_module_fresh_name(m, name) : value->name;
    to = s == TL_NO_SYMBOL
             ? TL_NO_VALUE
             : tl_graph_add_input(m, linking->train->id, s, value->type, value->tensor);
  }
  if (!to)
    return tl_no_memory(linking->m);
  tl_value_replace_uses(m, v, to);
  return TL_OK;
}

static tl_status refuse_sequence(const tl_linking *linking, tl_value_id v) {
  return tl_fail_code(linking->m->diag, TL_UNSUPPORTED, "E-TRN-LINK",
                      TL_AT_NODE(linking->path, tl_value_name(linking->m, v)),
                      "this input is not a tensor and not a list of an optimizer");
}

tl_status tl_link_inputs(tl_linking *linking) {
  tl_module *m = linking->m;
  linking->first = linking->optim->first;
  for (uint32_t i = 0; i < linking->updates.n; i++) {
    tl_update_row room;
    const tl_update_row *row = tl_train_update_row(m, linking->updates.at[i], &room);
    if (row && row->layout == TL_UPDATE_SEQUENCE)
      TL_TRY(spell_out_update(linking, linking->updates.at[i], row));
  }
  for (uint32_t i = 0; i < linking->optim->inputs.n; i++) {
    tl_value_id v = linking->optim->inputs.at[i];
    unsigned kind = tl_type_get(m, tl_value_type(m, v))->kind;
    if (tl_value_get(m, v)->n_uses && kind != TL_KIND_TENSOR && kind != TL_KIND_UNKNOWN)
      return refuse_sequence(linking, v);
    if (tl_value_get(m, v)->n_uses)
      TL_TRY(replace_tensor(linking, v));
  }
  while (linking->optim->inputs.n)
    tl_graph_erase_input(m, linking->optim->inputs.at[linking->optim->inputs.n - 1]);
  return TL_OK;
}
