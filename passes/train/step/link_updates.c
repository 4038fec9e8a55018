/* SPDX-License-Identifier: Apache-2.0 */
/* Makes next values of what the optimizer updates (link.h).
 * ONNX Runtime updates in place and its models return only a flag; a step returns each tensor. */
#include "ir/ops_gen.h"
#include "ir/tensor_expr.h"
#include "passes/edit/maker.h"
#include "passes/edit/values.h"
#include "passes/train/step/declare.h"
#include "passes/train/step/link.h"

enum { MOST_STEPS = 16, MOST_RESULTS = 8 };

static tl_location at_node(const tl_linking *linking, tl_node_id n) {
  return TL_AT_NODE(linking->path, tl_sym(linking->m, tl_node_get(linking->m, n)->name));
}

/* Returns true if v is a parameter's gradient, or computed from one by first operands (arithmetic,
 * clipping). */
static bool grad_of(const tl_linking *linking, tl_value_id v, uint32_t *out) {
  uint32_t found;
  for (int i = 0; v && i < MOST_STEPS; i++) {
    if (tl_map_find(&linking->of_grad, v, &found)) {
      *out = found - 1;
      return true;
    }
    tl_node_id n = tl_value_producer(linking->m, v);
    v = n ? tl_operand(linking->m, n, 0) : TL_NO_VALUE;
  }
  return false;
}

/* Checks that a slot updates a known parameter once and by its own gradient. *out: the
 * parameter. */
static tl_status check_slot(tl_linking *linking, tl_node_id n, const tl_update_slot *s,
                            uint32_t *out) {
  uint32_t at, grad;
  if (!tl_map_find(&linking->of_param, s->param, &at))
    return tl_fail_code(linking->m->diag, TL_INVALID_MODEL, "E-TRN-NOTENSOR",
                        TL_AT_NODE(linking->path, tl_value_name(linking->m, s->param)),
                        "is updated, and the training model has no parameter of this name with a "
                        "gradient");
  *out = --at;
  tl_sv name = tl_sym(linking->m, linking->at[at].name);
  if (linking->at[at].updated)
    return tl_fail_code(linking->m->diag, TL_INVALID_MODEL, "E-TRN-DUP",
                        TL_AT_NODE(linking->path, name), "this parameter is updated twice");
  linking->at[at].updated = true;
  if (!grad_of(linking, s->grad, &grad))
    return tl_fail_code(linking->m->diag, TL_INVALID_MODEL, "E-TRN-LINK", at_node(linking, n),
                        "'%.*s' is updated by '%.*s', which does not come from its gradient",
                        TL_SV_ARG(name), TL_SV_ARG(tl_value_name(linking->m, s->grad)));
  if (grad == at)
    return TL_OK;
  return tl_fail_code(linking->m->diag, TL_INVALID_MODEL, "E-TRN-LINK", at_node(linking, n),
                      "'%.*s' is updated by the gradient of '%.*s': the lists are of different "
                      "orders",
                      TL_SV_ARG(name), TL_SV_ARG(tl_sym(linking->m, linking->at[grad].name)));
}

/* ---- results --------------------------------------------------------------------------------- */

/* Returns the node with all results that its op can give; sequences among them get the type of the
 * operand they update. */
static tl_node_id complete(tl_linking *linking, tl_node_id n, const tl_update_row *row) {
  tl_module *m = linking->m;
  uint32_t most = row->layout == TL_UPDATE_GROUPED ? 0 : row->result + 1;
  for (uint32_t k = 0; row->layout != TL_UPDATE_GROUPED && k < row->state_results.n; k++)
    most = row->state_results.at[k] + 1 > most ? row->state_results.at[k] + 1 : most;
  const tl_op *op = tl_op_row(tl_node_get(m, n)->op);
  if (!op || op->n_result_ports < most || most > MOST_RESULTS)
    return n;
  uint32_t had = tl_node_get(m, n)->n_results;
  n = tl_link_widen(linking, n, most);
  for (uint32_t k = 0; n && row->layout == TL_UPDATE_SEQUENCE && k <= row->state_results.n; k++) {
    tl_value_id v = tl_result(m, n, k ? row->state_results.at[k - 1] : row->result);
    tl_value_id from = tl_operand(m, n, k ? row->states.at[k - 1] : row->param);
    if (!tl_value_get(m, v)->name || v >= tl_node_get(m, n)->results + had) {
      tl_symbol name = tl_link_name(linking, tl_value_name(m, from), ".next");
      if (name == TL_NO_SYMBOL)
        return TL_NO_NODE;
      tl_value_set_name(m, v, name);
    }
    if (!tl_value_type(m, v))
      tl_value_set_type(m, v, tl_value_type(m, from));
  }
  return n;
}

/* Returns element i of a sequence, taken out by SequenceAt behind everything else of the step. */
static tl_value_id take_out(tl_linking *linking, tl_node_id n, tl_value_id sequence, uint32_t i,
                            tl_value_id in) {
  tl_maker k = {.m = linking->m,
                .graph = linking->train->id,
                .like = n,
                .base = tl_value_get(linking->m, in)->name};
  tl_value_id at = tl_make_int(&k, i);
  tl_value_id v = tl_make(&k, TL_OP_SequenceAt, sequence, at, TL_NO_VALUE);
  return tl_maker_failed(&k) ? TL_NO_VALUE : v;
}

static tl_status in_place(const tl_linking *linking, tl_node_id n, tl_sv name) {
  return tl_fail_code(linking->m->diag, TL_UNSUPPORTED, "E-TRN-LINK", at_node(linking, n),
                      "gives no next value of '%.*s'", TL_SV_ARG(name));
}

/* Makes `out` the next value of `in`. made: it was made here and gets a name. */
static tl_status set_next(tl_linking *linking, tl_value_id in, tl_value_id out, bool made) {
  tl_module *m = linking->m;
  tl_symbol name = made ? tl_link_name(linking, tl_value_name(m, in), ".out") : 0;
  if (name == TL_NO_SYMBOL)
    return tl_no_memory(linking->m);
  if (made)
    tl_value_set_name(m, out, name);
  const tl_type *t = tl_type_get(m, tl_value_type(m, out));
  if (made || t->kind == TL_KIND_UNKNOWN || (t->kind == TL_KIND_TENSOR && t->rank < 0))
    tl_value_set_type(m, out, tl_value_type(m, in));
  bool ok = tl_state_vec_push(&m->states, (tl_state){.input = in, .output = out}) &&
            tl_u32_vec_push(&linking->outputs, out);
  return ok ? TL_OK : tl_no_memory(linking->m);
}

/* Gives one tensor of slot i its next value. kind: 0 is the parameter, k its state k - 1. */
static tl_status next_of(tl_linking *linking, tl_node_id n, const tl_update_row *row, uint32_t i,
                         uint32_t kind) {
  tl_update_slot s;
  (void)tl_update_slot_at(linking->m, n, row, i, &s);
  tl_value_id in = kind ? s.state_in[kind - 1] : s.param;
  tl_value_id out = kind ? s.state_out[kind - 1] : s.out;
  if (kind)
    TL_TRY(tl_link_start_from_zeros(linking, in));
  bool made = !out;
  /* A constant stays as it is: nothing hands a next value to it. */
  if (tl_value_get(linking->m, in)->kind != TL_VALUE_INPUT)
    return TL_OK;
  if (!out && row->layout == TL_UPDATE_SEQUENCE) {
    uint32_t result = kind ? row->state_results.at[kind - 1] : row->result;
    out = take_out(linking, n, tl_result(linking->m, n, result), i, in);
    if (!out)
      return tl_no_memory(linking->m);
  }
  return out ? set_next(linking, in, out, made)
             : in_place(linking, n, tl_value_name(linking->m, in));
}

static tl_status no_slots(const tl_linking *linking, tl_node_id n) {
  return tl_fail_code(linking->m->diag, TL_INVALID_MODEL, "E-TRN-LENGTH", at_node(linking, n),
                      "its lists of parameters and gradients are not as long as each other");
}

/* Makes the next values of one update node. All slots are checked before any next value is made. */
static tl_status update(tl_linking *linking, tl_node_id n) {
  tl_update_row room;
  const tl_update_row *row = tl_train_update_row(linking->m, n, &room);
  n = row ? complete(linking, n, row) : TL_NO_NODE;
  if (!n)
    return tl_no_memory(linking->m);
  uint32_t count = tl_update_count(linking->m, n, row);
  if (!count)
    return no_slots(linking, n);
  for (uint32_t i = 0; i < count; i++) {
    tl_update_slot s;
    uint32_t at;
    if (!tl_update_slot_at(linking->m, n, row, i, &s) || s.n_states != row->states.n)
      return no_slots(linking, n);
    TL_TRY(check_slot(linking, n, &s, &at));
  }
  uint32_t kinds = 1 +
                   (row->state_results.n < row->states.n ? row->state_results.n : row->states.n);
  for (uint32_t kind = 0; kind < kinds; kind++)
    for (uint32_t i = 0; i < count; i++)
      TL_TRY(next_of(linking, n, row, i, kind));
  return TL_OK;
}

/* Checks that every gradient is used, unless a user listed the parameters that are trained. */
static tl_status check_all(const tl_linking *linking) {
  const tl_train_spec *s = tl_step_state_of(linking->m)->declared;
  uint32_t n = 0;
  const tl_link_param *left = NULL;
  for (uint32_t i = 0; i < linking->n; i++) {
    n += linking->at[i].updated;
    if (!linking->at[i].updated && (!s || !s->n_params || linking->at[i].listed) && !left)
      left = &linking->at[i];
  }
  if (!left)
    return TL_OK;
  return tl_fail_code(linking->m->diag, TL_INVALID_MODEL, "E-TRN-LENGTH", TL_AT_FILE(linking->path),
                      "the optimizer updates %u parameters, the training model has gradients of "
                      "%u; '%.*s' is not updated\vif this is intended, list the trained "
                      "parameters: params of --train-spec",
                      n, linking->n, TL_SV_ARG(tl_sym(linking->m, left->name)));
}

tl_status tl_link_updates(tl_linking *linking) {
  for (uint32_t i = 0; i < linking->updates.n; i++)
    TL_TRY(update(linking, linking->updates.at[i]));
  return check_all(linking);
}
