/* SPDX-License-Identifier: Apache-2.0 */
/* Decides dtypes: walks the graph in topological order, bodies right behind their node, op by op.
 * What one tensor does to the columns is in rules.c. */
#include "passes/precision/decide.h"

#include "ir/ops_gen.h"
#include "ir/tensor_count.h"
#include "passes/npu/eval.h"
#include "passes/precision/epsilon.h"
#include "passes/precision/memo.h"
#include "passes/precision/range_wants.h"

/* ---- the tensors of one op ------------------------------------------------------------------- */

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

/* Gathers the tensors of a node in the order of the row: inputs, then outputs. Absent ones are
 * skipped; w->unknown: one that matters has no known dtype. */
static bool gather(tl_precision_walk *w, tl_node_id n, const tl_precision_form *form) {
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

static void find_producers(tl_precision_walk *w) {
  tl_dtype low = w->op.mode == TL_PRECISION_MIX_BF16 ? TL_DTYPE_BF16 : TL_DTYPE_F16;
  for (uint32_t i = 0; i < w->n_inputs; i++) {
    tl_judged_slot *s = &w->slots.at[i];
    s->from = producer_of(w, s->value, low);
    s->producer = (tl_dtype)w->d->values[s->from].chosen;
    if (!tl_dtype_is_ranked(s->producer) && s->producer != TL_DTYPE_HIF8)
      s->producer = s->original; /* integers: an index that lowering narrows counts as narrow */
  }
}

static void judge_slot(tl_precision_walk *w, tl_judged_slot *s) {
  tl_judged_tensor t = {.col = s->port->columns,
                        .original = s->original,
                        .producer = s->producer,
                        .first = !s->output && s->index == 0};
  tl_precision_rule rule;
  s->slot->match = (uint8_t)tl_precision_judge(&w->op, &t, &w->columns, &rule);
  s->slot->rule = (uint8_t)rule;
  bool follows = rule == TL_BY_FOLLOWS || rule == TL_BY_VIEW || rule == TL_BY_INHERITED;
  s->slot->from = follows && !s->output ? s->from : TL_NO_VALUE;
}

static void all_columns(tl_precision_walk *w, const tl_precision_form *form) {
  w->columns.n = form->n_columns;
  for (uint32_t i = 0; i < form->n_columns; i++)
    w->columns.at[i] = (uint16_t)i;
}

static void judge_slots(tl_precision_walk *w, const tl_precision_form *form) {
  for (uint32_t i = 0; i < w->n_inputs; i++)
    if (!w->slots.at[i].late)
      judge_slot(w, &w->slots.at[i]);
  for (uint32_t i = 0; i < w->n_inputs; i++)
    if (w->slots.at[i].late)
      judge_slot(w, &w->slots.at[i]);
  if (w->columns.n == 0)
    all_columns(w, form);
  for (uint32_t i = w->n_inputs; i < w->slots.n; i++)
    judge_slot(w, &w->slots.at[i]);
}

/* ---- operands that meet at one dtype --------------------------------------------------------- */

static tl_dtype wider(tl_dtype a, tl_dtype b) {
  if (!tl_dtype_is_ranked(a))
    return tl_dtype_is_ranked(b) ? b : TL_DTYPE_NONE;
  if (!tl_dtype_is_ranked(b) || a == b)
    return a;
  return TL_DTYPE_F32; /* neither of bf16 and f16 holds the other */
}

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

/* Keeps the columns with the common dtype in all slots of the group and in float outputs. Returns
 * false, with all columns, if nothing is promoted. */
static bool promote(tl_precision_walk *w, const tl_precision_form *form) {
  tl_dtype to = meeting_dtype(w, form);
  if (to == TL_DTYPE_NONE || w->op.kept || w->op.sensitive)
    return false;
  for (uint32_t i = 0; i < w->slots.n; i++) {
    tl_judged_slot *s = &w->slots.at[i];
    bool member = s->output ? tl_dtype_is_ranked(s->original) : in_group(form, s->index);
    tl_dtype e = member ? to : s->original;
    if (!tl_match_rise(&w->columns, s->port->columns, e, TL_DTYPE_NONE)) {
      all_columns(w, form);
      return false;
    }
    s->slot->match = TL_MATCH_EXACT;
    s->slot->rule = member ? TL_BY_PROMOTED : TL_BY_FIXED;
    s->promoted = member;
  }
  return true;
}

/* ---- choosing a column ----------------------------------------------------------------------- */

static bool is_low(tl_dtype d) { return d == TL_DTYPE_F16 || d == TL_DTYPE_BF16; }

/* Adds the dtypes that only a rule leads to, beyond those that the mode allows by itself. */
static void widen_reach(const tl_precision_walk *w, tl_judged_slot *s) {
  const uint64_t low = TL_DTYPE_BIT(TL_DTYPE_F16) | TL_DTYPE_BIT(TL_DTYPE_BF16);
  bool hif8 = w->op.mode == TL_PRECISION_CUBE_HIF8 || w->op.mode == TL_PRECISION_MIX_HIF8;
  bool ranked = tl_dtype_is_ranked(s->original);
  if (s->promoted || (w->custom && ranked))
    s->reachable |= low | TL_DTYPE_BIT(TL_DTYPE_F32);
  if (hif8 && ranked)
    s->reachable |= TL_DTYPE_BIT(TL_DTYPE_HIF8);
  if (hif8 && s->original == TL_DTYPE_HIF8)
    s->reachable |= low | TL_DTYPE_BIT(TL_DTYPE_F32);
  bool mixed = s->slot->match == TL_MATCH_EXACT || s->slot->match == TL_MATCH_REDUCED;
  if (ranked && s->slot->rule == TL_BY_WHITE && mixed)
    s->reachable |= low;
}

static bool all_take(const tl_precision_walk *w, uint32_t k) {
  for (uint32_t i = 0; i < w->slots.n; i++)
    if (!(w->slots.at[i].reachable >> w->slots.at[i].port->columns[k] & 1))
      return false;
  return true;
}

static int32_t pick(const tl_precision_walk *w) {
  for (uint32_t i = 0; i < w->slots.n; i++)
    widen_reach(w, &w->slots.at[i]);
  for (uint32_t i = 0; i < w->columns.n; i++)
    if (all_take(w, w->columns.at[i]))
      return w->columns.at[i];
  return -1;
}

/* ---- feasibility ----------------------------------------------------------------------------- */

/* Returns a slot that no column can serve, a float one first; NULL if there is none. */
static const tl_judged_slot *infeasible(const tl_precision_walk *w) {
  const tl_judged_slot *found = NULL;
  for (uint32_t i = 0; i < w->slots.n; i++) {
    const tl_judged_slot *s = &w->slots.at[i];
    if (s->promoted || (s->port->dtypes & s->reachable))
      continue;
    if (tl_dtype_is_float(s->original))
      return s;
    found = found ? found : s;
  }
  return found;
}

static void keep_dtypes(tl_precision_walk *w, tl_precision_rule rule) {
  for (uint32_t i = 0; i < w->slots.n; i++) {
    w->slots.at[i].slot->chosen = w->slots.at[i].slot->original;
    w->slots.at[i].slot->rule = (uint8_t)rule;
    w->slots.at[i].slot->match = TL_MATCH_EXACT;
  }
}

/* Keeps the dtypes of a node that the AI cores do not take: integers and strings run elsewhere. So
 * does f64, unless a mode was requested, which is about AI core kernels. */
static bool runs_on_host(tl_precision_walk *w, tl_node_id n, const tl_judged_slot *s) {
  bool f64 = w->d->config->by_chip && s->original == TL_DTYPE_F64;
  if (tl_dtype_is_float(s->original) && !f64)
    return false;
  w->d->nodes[n].flags |= TL_CHOICE_HOST;
  keep_dtypes(w, TL_BY_HOST);
  return true;
}

static tl_status give_up(tl_precision_walk *w, tl_node_id n, const tl_judged_slot *s,
                         const char *code) {
  w->d->nodes[n].flags |= TL_CHOICE_HOST;
  /* A part decides nothing for the whole op; casts and views follow the model. */
  bool kept = w->d->nodes[n].form->part || w->op.sensitive || (w->op.view && !s);
  if (tl_precision_lower_whole(w, n))
    return TL_OK;
  if (kept && !w->custom) {
    keep_dtypes(w, w->op.view ? TL_BY_VIEW : w->op.sensitive ? TL_BY_SENSITIVE : TL_BY_HOST);
    return TL_OK;
  }
  bool asked = strcmp(code, "P0202") == 0; /* the user asked for these dtypes */
  if (asked || w->d->config->infeasible == TL_INFEASIBLE_ERROR)
    tl_precision_report(w, n, s, code);
  else
    tl_precision_warn_kept(w, n, s, code);
  keep_dtypes(w, TL_BY_HOST);
  return TL_OK;
}

/* ---- one op ---------------------------------------------------------------------------------- */

/* Operands without a slot (attributes of the NPU op) take the dtype of another operand with the
 * same type variable, so that the op stays valid in the model. */
static void follow_variables(tl_precision_walk *w, tl_node_id n) {
  const tl_node *node = tl_node_get(w->m, n);
  const tl_op *op = tl_op_row(node->op);
  for (uint32_t i = 0; op && i < node->n_operands; i++) {
    tl_precision_slot *slot = &w->d->uses[node->operands + i];
    const tl_op_port *port = tl_op_operand_port(op, i);
    if (slot->rule != TL_BY_NO_ROW || !port || port->var < 0 || !op->vars[port->var].shared ||
        !tl_dtype_is_ranked((tl_dtype)slot->original))
      continue;
    for (uint32_t k = 0; k < node->n_operands; k++) {
      const tl_precision_slot *other = &w->d->uses[node->operands + k];
      const tl_op_port *p = tl_op_operand_port(op, k);
      if (other->rule == TL_BY_NO_ROW || !p || p->var != port->var)
        continue;
      slot->chosen = other->chosen;
      slot->rule = other->rule;
      slot->match = other->match;
      break;
    }
  }
}

/* Returns the rule to show for a tensor of a listed node. */
static uint8_t listed_rule(const tl_precision_walk *w, tl_precision_rule rule) {
  if (rule == TL_BY_KEPT && !w->listed->include)
    return TL_BY_BLOCKED;
  bool by_mode = rule == TL_BY_WHITE || (rule == TL_BY_MODE && w->op.mode == w->d->config->mode);
  return (uint8_t)(by_mode && w->listed->include ? TL_BY_INCLUDED : rule);
}

static void choose(tl_precision_walk *w, tl_node_id n, const tl_precision_form *form,
                   int32_t column) {
  tl_precision_choice *choice = &w->d->nodes[n];
  choice->column = column;
  if ((uint32_t)column != w->columns.at[0])
    choice->flags |= TL_CHOICE_FALLBACK;
  for (uint32_t i = 0; i < w->slots.n; i++) {
    const tl_judged_slot *s = &w->slots.at[i];
    tl_dtype d = (tl_dtype)s->port->columns[column];
    bool stays = s->original != (tl_dtype)s->slot->original || (s->output && form->fixed_results);
    s->slot->chosen = stays ? s->slot->original : (uint8_t)d;
    if (s->slot->chosen != s->slot->original)
      choice->flags |= TL_CHOICE_CHANGED;
    if (w->listed)
      s->slot->rule = listed_rule(w, (tl_precision_rule)s->slot->rule);
    if (s->slot->match == TL_MATCH_SECOND)
      choice->flags |= TL_CHOICE_WARNED;
    if (s->slot->match == TL_MATCH_NONE)
      choice->flags |= TL_CHOICE_FALLBACK;
  }
  follow_variables(w, n);
  if (choice->flags & (TL_CHOICE_FALLBACK | TL_CHOICE_WARNED))
    tl_precision_warn_column(w, n);
}

/* Returns a constant operand with numbers beyond the dtype of the column, *n of them; else NULL. */
static const tl_judged_slot *beyond(const tl_precision_walk *w, int32_t column, uint64_t *n) {
  for (uint32_t i = 0; i < w->n_inputs; i++) {
    const tl_judged_slot *s = &w->slots.at[i];
    const tl_tensor *t = tl_value_constant(w->m, s->value);
    tl_dtype to = (tl_dtype)s->port->columns[column];
    tl_float_counts counts;
    if (!t || !is_low(to) || to == s->original || !tl_tensor_count(t, to, &counts))
      continue;
    *n = counts.over + counts.infinite;
    if (*n)
      return s;
  }
  return NULL;
}

static tl_status judge_again(tl_precision_walk *w, tl_node_id n, const tl_precision_form *form,
                             tl_precision_rule rule, const char *why);

/* Finds a reason to keep the op wide. A list entry for the node or type has precedence. */
static tl_status find_reason(const tl_precision_walk *w, tl_node_id n, tl_precision_rule *rule,
                             const char **why) {
  tl_precision_mode mode = w->op.mode;
  tl_dtype low = tl_precision_mode_get(mode)->low;
  *why = NULL;
  if (w->op.kept || w->op.inherits || w->d->nodes[n].entry >= 0)
    return TL_OK;
  bool policy = w->d->config->ranges.on;
  bool angle = w->why && w->wants[n] == TL_WANT_ANGLE;
  *rule = policy ? TL_BY_POLICY : TL_BY_ANGLE;
  *why = w->why && (policy || angle) ? w->why[n] : NULL;
  if (*why || w->op.colour != TL_COLOUR_GRAY || low == TL_DTYPE_NONE)
    return TL_OK;
  *rule = TL_BY_EPSILON;
  low = low == TL_DTYPE_BF16 ? low : TL_DTYPE_F16;
  return tl_precision_epsilon(w->m, n, low, w->arena, why) == TL_OK ? TL_OK : tl_no_memory(w->m);
}

static bool lowers(const tl_precision_walk *w, int32_t column) {
  for (uint32_t i = 0; i < w->slots.n; i++)
    if (w->slots.at[i].original == TL_DTYPE_F32 &&
        w->slots.at[i].port->columns[column] != TL_DTYPE_F32)
      return true;
  return false;
}

static bool can_stay(const tl_precision_walk *w, const tl_precision_form *form) {
  for (uint32_t i = 0; i < form->n_columns; i++)
    if (!lowers(w, (int32_t)i))
      return true;
  return false;
}

/* Applies --const-policy other than clamp to the chosen column. */
static tl_status hold_constants(tl_precision_walk *w, tl_node_id n, const tl_precision_form *form,
                                int32_t column) {
  uint64_t count = 0;
  const tl_judged_slot *s = beyond(w, column, &count);
  if (!s || w->op.kept)
    choose(w, n, form, column);
  else if (w->d->config->constants == TL_CONST_KEEP_FP32)
    return judge_again(w, n, form, TL_BY_POLICY,
                       "the lower dtype cannot hold all numbers of its constant");
  else
    tl_precision_report_constant(w, n, s->value, (tl_dtype)s->port->columns[column], count);
  return TL_OK;
}

static tl_status judge_gathered(tl_precision_walk *w, tl_node_id n, const tl_precision_form *form) {
  int32_t column;
  find_producers(w);
  const char *why;
  tl_precision_rule rule;
  TL_TRY(find_reason(w, n, &rule, &why));
  uint64_t key = why || w->op.held ? 0 : tl_precision_memo_key(w, form);
  if (tl_precision_recall(w, form, key, &column)) {
    choose(w, n, form, column);
    return TL_OK;
  }
  for (uint32_t i = 0; i < w->slots.n; i++)
    w->op.sensitive = w->op.sensitive || w->slots.at[i].original == TL_DTYPE_C64 ||
                      w->slots.at[i].original == TL_DTYPE_C128;
  for (uint32_t i = 0; i < w->slots.n; i++)
    w->slots.at[i].reachable = tl_precision_reachable(&w->op, w->slots.at[i].original);
  all_columns(w, form);
  if (w->custom && !tl_precision_customize(w, form))
    return give_up(w, n, NULL, "P0202");
  if (!w->custom && !promote(w, form)) {
    const tl_judged_slot *s = infeasible(w);
    if (s && runs_on_host(w, n, s))
      return TL_OK;
    if (s)
      return give_up(w, n, s, w->op.colour == TL_COLOUR_BLACK && w->mixed ? "P0204" : "P0201");
    judge_slots(w, form);
  } else if (w->custom) {
    judge_slots(w, form);
    for (uint32_t i = 0; i < w->slots.n; i++)
      if (w->slots.at[i].customized)
        w->slots.at[i].slot->rule = TL_BY_CUSTOM;
  }
  column = pick(w);
  if (column < 0)
    return give_up(w, n, NULL, "P0203");
  tl_precision_remember(w, form, key, column);
  if (why && lowers(w, column) && can_stay(w, form)) /* else it is warned about */
    return judge_again(w, n, form, rule, why);
  if (w->d->config->constants >= TL_CONST_KEEP_FP32)
    return hold_constants(w, n, form, column);
  choose(w, n, form, column);
  return TL_OK;
}

/* Judges the op again as if a list kept its dtypes; `held` makes the second run final. */
static tl_status judge_again(tl_precision_walk *w, tl_node_id n, const tl_precision_form *form,
                             tl_precision_rule rule, const char *why) {
  w->d->nodes[n].why = why;
  w->op.kept = true;
  w->op.held = (uint8_t)rule;
  w->op.forced16 = false;
  w->custom = NULL;
  return judge_gathered(w, n, form);
}

static tl_status judge_op(tl_precision_walk *w, tl_node_id n, const tl_precision_form *form) {
  TL_TRY(tl_precision_enter(w, n, form));
  if (!gather(w, n, form))
    return tl_no_memory(w->m);
  if (!w->unknown) /* with an unknown input the node keeps its dtypes */
    return judge_gathered(w, n, form);
  keep_dtypes(w, TL_BY_UNKNOWN);
  return TL_OK;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static void set_chosen(tl_precision_slot *s, uint8_t dtype, tl_precision_rule rule) {
  s->chosen = dtype;
  s->rule = (uint8_t)rule;
  s->match = TL_MATCH_EXACT;
}

/* Inputs of a body: captured values of an If have their current dtype; values that a loop carries
 * keep theirs. */
static void enter_body(tl_precision_walk *w, tl_node_id n, const tl_graph *body) {
  const tl_node *node = tl_node_get(w->m, n);
  for (uint32_t i = 0; i < body->inputs.n; i++) {
    tl_precision_slot *in = &w->d->values[body->inputs.at[i]];
    tl_use_id u = node->op == TL_OP_If && i + 1 < node->n_operands ? node->operands + i + 1 : 0;
    if (u)
      set_chosen(in, w->d->uses[u].chosen, TL_BY_BRANCHES);
    else
      set_chosen(in, in->original, TL_BY_BODY);
  }
}

/* Returns the low dtype that all branches of an If give for result i, else the original dtype. */
static uint8_t agreed(const tl_precision_walk *w, const tl_node *node, uint32_t i,
                      uint8_t original) {
  uint8_t common = TL_DTYPE_NONE;
  for (uint32_t k = 0; k < node->n_attrs; k++) {
    if (node->attrs[k].kind != TL_ATTR_GRAPH)
      continue;
    tl_value_id v = tl_graph_output(w->m, tl_graph_get(w->m, node->attrs[k].u.g), i);
    uint8_t d = v ? w->d->values[v].chosen : (uint8_t)TL_DTYPE_NONE;
    if (common != TL_DTYPE_NONE && d != common)
      return original;
    common = d;
  }
  bool lower = is_low((tl_dtype)common) && tl_dtype_is_ranked((tl_dtype)original) &&
               (original == TL_DTYPE_F32 || common == original);
  return lower ? common : original;
}

/* Decides the outputs of bodies after their nodes. */
static void leave_bodies(tl_precision_walk *w, tl_node_id n) {
  const tl_node *node = tl_node_get(w->m, n);
  bool branches = node->op == TL_OP_If;
  for (uint32_t i = 0; branches && i < node->n_results; i++) {
    tl_precision_slot *s = &w->d->values[node->results + i];
    set_chosen(s, agreed(w, node, i, s->original), TL_BY_BRANCHES);
  }
  for (uint32_t k = 0; k < node->n_attrs; k++) {
    if (node->attrs[k].kind != TL_ATTR_GRAPH)
      continue;
    const tl_node *ret = tl_node_get(w->m, tl_graph_get(w->m, node->attrs[k].u.g)->ret);
    for (uint32_t i = 0; i < ret->n_operands; i++) {
      tl_precision_slot *s = &w->d->uses[ret->operands + i];
      bool result = branches && i < node->n_results;
      set_chosen(s, result ? w->d->values[node->results + i].chosen : s->original,
                 branches ? TL_BY_BRANCHES : TL_BY_BODY);
    }
  }
}

static tl_status walk_graph(tl_precision_walk *w, const tl_graph *g);

static tl_status walk_bodies(tl_precision_walk *w, tl_node_id n) {
  const tl_node *node = tl_node_get(w->m, n);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_use_id u = node->operands + i;
    tl_value_id v = tl_use_get(w->m, u)->value;
    if (node->op == TL_OP_If && i && v) /* a captured value */
      set_chosen(&w->d->uses[u], w->d->values[v].chosen, TL_BY_BRANCHES);
  }
  for (uint32_t k = 0; k < node->n_attrs; k++)
    if (node->attrs[k].kind == TL_ATTR_GRAPH) {
      const tl_graph *body = tl_graph_get(w->m, node->attrs[k].u.g);
      enter_body(w, n, body);
      TL_TRY(walk_graph(w, body));
    }
  leave_bodies(w, n);
  return TL_OK;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static bool owns_bodies(const tl_node *node) {
  for (uint32_t i = 0; i < node->n_attrs; i++)
    if (node->attrs[i].kind == TL_ATTR_GRAPH)
      return true;
  return false;
}

/* Operands keep their dtypes until a rule changes them. */
static void start_node(tl_precision_walk *w, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_use_get(w->m, node->operands + i)->value;
    uint8_t d = v ? w->d->values[v].original : (uint8_t)TL_DTYPE_NONE;
    w->d->uses[node->operands + i] = (tl_precision_slot){.original = d, .chosen = d};
  }
}

static tl_status walk_graph(tl_precision_walk *w, const tl_graph *g) {
  start_node(w, tl_node_get(w->m, g->ret));
  TL_FOR_NODES(w->m, g, n) {
    const tl_node *node = tl_node_get(w->m, n);
    start_node(w, node);
    w->d->nodes[n] = (tl_precision_choice){.column = -1, .entry = -1};
    if (owns_bodies(node)) {
      TL_TRY(walk_bodies(w, n));
      continue;
    }
    const tl_precision_form *form;
    TL_TRY(tl_precision_form_of(w->forms, n, &form));
    w->d->nodes[n].form = form;
    w->d->nodes[n].colour = form->colour;
    if (form->n_columns == 0)
      continue;
    TL_TRY(tl_precision_reserve(w));
    TL_TRY(judge_op(w, n, form));
  }
  return TL_OK;
}

static tl_status walk_roots(tl_precision_walk *w) {
  for (uint32_t i = 0; i < w->m->graphs.n; i++) {
    const tl_graph *g = w->m->graphs.at[i];
    if (g->erased || g->kind != TL_GRAPH_ROOT)
      continue;
    TL_TRY(walk_graph(w, g));
    tl_precision_finish_signature(w, g);
  }
  return TL_OK;
}

tl_status tl_precision_decide(tl_module *m, const tl_options *options, tl_arena *arena,
                              tl_precision *out) {
  tl_precision_walk w = {.m = m, .options = options, .d = out};
  tl_status status = tl_precision_start(&w, arena);
  if (status == TL_OK)
    status = walk_roots(&w);
  if (status == TL_OK)
    status = tl_precision_end(&w);
  tl_judged_slot_vec_release(&w.slots);
  tl_map_release(&w.named_keep);
  tl_map_release(&w.named_custom);
  tl_precision_listed_release(w.lists);
  return status;
}
