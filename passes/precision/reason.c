/* SPDX-License-Identifier: Apache-2.0 */
/* Words for decisions. */
#include "passes/precision/reason.h"

#include "passes/precision/rules.h"

static const char *dtype_name(unsigned d) { return tl_dtype_get((tl_dtype)d)->name; }

/* Returns the sentence of a rule. Two rules mean something else at this place: the chip may have
 * set the mode, and results of gray ops follow the operands that decided. */
static const char *sentence(const tl_precision *d, tl_precision_place place) {
  if (d->config->by_chip && place.slot->rule == TL_BY_MODE)
    return "no mode is given, so dtypes that the chip has are kept";
  if (place.output && place.slot->rule == TL_BY_GRAY)
    return "the op is gray and its operands leave this dtype";
  return tl_precision_rule_sentence((tl_precision_rule)place.slot->rule);
}

/* Rules of policies and lists, which say themselves why. */
static bool is_own(uint8_t rule) {
  return rule == TL_BY_POLICY || rule == TL_BY_EPSILON || rule == TL_BY_ANGLE ||
         rule == TL_BY_BLOCKED || rule == TL_BY_INCLUDED;
}

/* Rules that look for no signature. */
static bool is_free(uint8_t rule) {
  return rule == TL_BY_FIXED || rule == TL_BY_NO_ROW || rule == TL_BY_SIGNATURE ||
         rule == TL_BY_BODY || rule == TL_BY_BRANCHES;
}

void tl_precision_add_reason(const tl_module *m, const tl_precision *d, tl_precision_place place,
                             tl_buf *out) {
  const tl_precision_slot *s = place.slot;
  tl_buf_add_z(out, is_own(s->rule) && place.why ? place.why : sentence(d, place));
  if (s->from)
    tl_buf_printf(out, ": `%.*s` is %s", TL_SV_ARG(tl_value_name(m, s->from)),
                  dtype_name(d->values[s->from].chosen));
  if (s->match == TL_MATCH_NONE && !is_free(s->rule))
    tl_buf_add_z(out, "; no signature fits, another one is used");
  else if (s->match == TL_MATCH_SECOND)
    tl_buf_add_z(out, "; it has no lower dtype");
  else if (s->match == TL_MATCH_RAISED && s->chosen != s->original)
    tl_buf_add_z(out, "; the next wider one that the op takes");
  else if (s->match == TL_MATCH_REDUCED && s->rule != TL_BY_WHITE && s->rule != TL_BY_INCLUDED)
    tl_buf_add_z(out, "; the op takes no wider one");
}

/* Returns the port of an operand or result; a variadic port covers all indices from its first. */
static const tl_precision_port *port_of(const tl_precision_form *f, bool output, uint32_t index) {
  const tl_precision_port *ports = output ? f->outputs : f->inputs;
  uint32_t n = output ? f->n_outputs : f->n_inputs;
  for (uint32_t i = 0; i < n; i++)
    if (ports[i].first == index || (ports[i].many && ports[i].first < index))
      return &ports[i];
  return NULL;
}

const char *tl_precision_port_name(const tl_module *m, const tl_precision *d, tl_use_place at) {
  const tl_precision_form *f = d->nodes[at.node].form;
  const tl_precision_port *p = f ? port_of(f, at.output, at.index) : NULL;
  const tl_op *row = tl_op_row(tl_node_get(m, at.node)->op);
  const tl_op_port *port = !row        ? NULL
                           : at.output ? tl_op_result_port(row, at.index)
                                       : tl_op_operand_port(row, at.index);
  return p ? p->name : port ? port->name : "";
}

void tl_precision_add_signature(const tl_precision_choice *c, tl_buf *out) {
  const tl_precision_form *f = c->form;
  for (uint32_t i = 0; i < f->n_inputs + f->n_outputs; i++) {
    const tl_precision_port *p = i < f->n_inputs ? &f->inputs[i] : &f->outputs[i - f->n_inputs];
    tl_buf_printf(out, "%s%s",
                  i == 0             ? ""
                  : i == f->n_inputs ? " > "
                                     : ", ",
                  dtype_name(p->columns[c->column]));
  }
}
