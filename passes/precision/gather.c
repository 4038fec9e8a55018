/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the gathering of tensors and their promotion (gather.h). */
#include "passes/precision/gather.h"

#include "passes/precision/match.h"

/* ---- the tensors of one op ------------------------------------------------------------------- */

/* Adds one tensor. Constants and training states are judged late, so that the other operands decide
 * first. An operand that lowering narrows from int64 counts as int32. */
static bool add_tensor(tl_precision_walk *w, const tl_precision_port *port, tl_precision_slot *slot,
                       tl_value_id v, uint32_t index, bool output) {
  tl_judged_slot s = {.port = port, .slot = slot, .value = v, .index = index, .output = output};
  s.original = (tl_dtype)slot->original;
  if (port->index && s.original == TL_DTYPE_I64)
    s.original = TL_DTYPE_I32; /* lowering will cast */
  const tl_value *value = tl_value_get(w->m, v);
  s.late = !output && (value->kind == TL_VALUE_CONSTANT || w->variables[v]);
  if (s.original != TL_DTYPE_NONE)
    return tl_judged_slot_vec_push(&w->slots, s);
  w->unknown = w->unknown || !output || value->n_uses;
  return true;
}

bool tl_precision_gather(tl_precision_walk *w, tl_node_id n, const tl_precision_form *form) {
  const tl_node *node = tl_node_get(w->m, n);
  uint32_t index = 0;
  w->slots.n = 0;
  w->unknown = false;
  bool ok = true;
  for (uint32_t k = 0; ok && k < form->n_inputs; k++) {
    const tl_precision_port *p = &form->inputs[k];
    uint32_t end = p->many ? node->n_operands : p->first + 1;
    if (p->first == UINT32_MAX || p->first >= node->n_operands) {
      index++;
      continue;
    }
    for (uint32_t i = p->first; ok && i < end; i++, index++) {
      tl_use_id u = node->operands + i;
      tl_value_id v = tl_use_get(w->m, u)->value;
      ok = !v || add_tensor(w, p, &w->d->uses[u], v, index, false);
    }
  }
  w->n_inputs = w->slots.n;
  for (uint32_t i = 0; ok && form->n_outputs && i < node->n_results; i++) {
    uint32_t k = i < form->n_outputs ? i : form->n_outputs - 1;
    if (k != i && !form->outputs[k].many)
      break;
    tl_value_id v = node->results + i;
    ok = add_tensor(w, &form->outputs[k], &w->d->values[v], v, i, true);
  }
  return ok;
}

/* Returns the value that a gray input follows; one cast from the low dtype up is looked through. */
static tl_value_id producer_of(const tl_precision_walk *w, tl_value_id v, tl_dtype low) {
  tl_node_id p = tl_value_producer(w->m, v);
  const tl_precision_choice *choice = p && p < w->d->n_nodes ? &w->d->nodes[p] : NULL;
  if (!choice || !choice->form || !tl_sv_is(choice->form->type, "Cast") ||
      choice->colour == TL_COLOUR_BLACK)
    return v;
  tl_dtype in = (tl_dtype)w->d->uses[tl_node_get(w->m, p)->operands].chosen;
  tl_dtype out = (tl_dtype)w->d->values[v].chosen;
  bool rises = in == low && tl_dtype_is_ranked(out) && out != low;
  return rises ? tl_operand(w->m, p, 0) : v;
}

void tl_precision_find_producers(tl_precision_walk *w) {
  tl_dtype low = w->op.mode == TL_PRECISION_MIX_BF16 ? TL_DTYPE_BF16 : TL_DTYPE_F16;
  for (uint32_t i = 0; i < w->n_inputs; i++) {
    tl_judged_slot *s = &w->slots.at[i];
    s->from = producer_of(w, s->value, low);
    s->producer = (tl_dtype)w->d->values[s->from].chosen;
    if (!tl_dtype_is_ranked(s->producer) && s->producer != TL_DTYPE_HIF8)
      s->producer = s->original; /* integers: an index that lowering narrows counts as narrow */
  }
}

void tl_precision_all_columns(tl_precision_walk *w, const tl_precision_form *form) {
  w->columns.n = form->n_columns;
  for (uint32_t i = 0; i < form->n_columns; i++)
    w->columns.at[i] = (uint16_t)i;
}

/* ---- operands that meet at one dtype --------------------------------------------------------- */

/* Returns the narrowest of f16, bf16 and f32 that holds both dtypes; NONE if neither is a float. */
static tl_dtype wider(tl_dtype a, tl_dtype b) {
  if (!tl_dtype_is_ranked(a))
    return tl_dtype_is_ranked(b) ? b : TL_DTYPE_NONE;
  if (!tl_dtype_is_ranked(b) || a == b)
    return a;
  return TL_DTYPE_F32; /* neither of bf16 and f16 holds the other */
}

/* Returns true if input i belongs to the promoted group; UINT32_MAX stands for all inputs. */
static bool in_group(const tl_precision_form *form, uint32_t i) {
  return form->promotes == UINT32_MAX || (i < 32 && (form->promotes >> i & 1));
}

/* Returns the dtype that a group of inputs is promoted to; NONE if they agree or none is a float.
 * The configuration (all inputs) asks for current dtypes, the op table for those of the model. */
static tl_dtype meeting_dtype(const tl_precision_walk *w, const tl_precision_form *form) {
  tl_dtype met = TL_DTYPE_NONE;
  bool differ = false;
  tl_dtype first = TL_DTYPE_NONE;
  for (uint32_t i = 0; form->promotes && i < w->n_inputs; i++) {
    const tl_judged_slot *s = &w->slots.at[i];
    bool current = form->promotes == UINT32_MAX;
    tl_dtype d = current ? (tl_dtype)w->d->values[s->value].chosen : s->original;
    if (!in_group(form, s->index))
      continue;
    differ = differ || (first != TL_DTYPE_NONE && d != first);
    first = first == TL_DTYPE_NONE ? d : first;
    met = wider(met, d);
  }
  return differ ? met : TL_DTYPE_NONE;
}

bool tl_precision_promote(tl_precision_walk *w, const tl_precision_form *form) {
  tl_dtype to = meeting_dtype(w, form);
  if (to == TL_DTYPE_NONE || w->op.kept || w->op.sensitive)
    return false;
  for (uint32_t i = 0; i < w->slots.n; i++) {
    tl_judged_slot *s = &w->slots.at[i];
    bool member = s->output ? tl_dtype_is_ranked(s->original) : in_group(form, s->index);
    tl_dtype e = member ? to : s->original;
    if (!tl_match_rise(&w->columns, s->port->columns, e, TL_DTYPE_NONE)) {
      tl_precision_all_columns(w, form);
      return false;
    }
    s->slot->match = TL_MATCH_EXACT;
    s->slot->rule = member ? TL_BY_PROMOTED : TL_BY_FIXED;
    s->promoted = member;
  }
  return true;
}
