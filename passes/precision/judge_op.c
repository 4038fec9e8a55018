/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the judging of one op (judge_op.h). rules.c says what one tensor does to the
 * columns. */
#include "passes/precision/judge_op.h"

#include "ir/tensor_count.h"
#include "passes/precision/epsilon.h"
#include "passes/precision/gather.h"
#include "passes/precision/memo.h"
#include "passes/precision/range_wants.h"

/* ---- the tensors of one op ------------------------------------------------------------------- */

/* Narrows the columns by what the mode wants for one tensor, and records the rule that decided. */
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

/* Judges inputs, late inputs, then outputs. Outputs choose among what the inputs have left; if
 * nothing is left, they choose among all columns again. */
static void judge_slots(tl_precision_walk *w, const tl_precision_form *form) {
  for (uint32_t i = 0; i < w->n_inputs; i++)
    if (!w->slots.at[i].late)
      judge_slot(w, &w->slots.at[i]);
  for (uint32_t i = 0; i < w->n_inputs; i++)
    if (w->slots.at[i].late)
      judge_slot(w, &w->slots.at[i]);
  if (w->columns.n == 0)
    tl_precision_all_columns(w, form);
  for (uint32_t i = w->n_inputs; i < w->slots.n; i++)
    judge_slot(w, &w->slots.at[i]);
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

/* Returns true if every tensor may have its dtype in column k. */
static bool all_take(const tl_precision_walk *w, uint32_t k) {
  for (uint32_t i = 0; i < w->slots.n; i++)
    if (!(w->slots.at[i].reachable >> w->slots.at[i].port->columns[k] & 1))
      return false;
  return true;
}

/* Returns the first column left that all tensors may have; -1 if there is none. */
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

/* Keeps the dtypes of all tensors, with the rule that says why. */
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

/* Handles an op for which no column is feasible: lowers it as a whole, keeps its dtypes, or reports
 * an error, as the configuration wants. The dtypes are kept after an error as well, so that the
 * walk can go on and report further errors. */
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

/* Sets the dtypes of the chosen column, the rules to show, and the flags of the choice. */
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

/* Returns true if the column gives an f32 tensor another dtype. */
static bool lowers(const tl_precision_walk *w, int32_t column) {
  for (uint32_t i = 0; i < w->slots.n; i++)
    if (w->slots.at[i].original == TL_DTYPE_F32 &&
        w->slots.at[i].port->columns[column] != TL_DTYPE_F32)
      return true;
  return false;
}

/* Returns true if the row has a column without lowered tensors. */
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

/* Judges the gathered tensors. Results of ops with the same row and key are remembered, because
 * most ops of a model repeat. Key 0 means that the op must be judged by itself; a reason to keep it
 * wide is not part of the key. */
static tl_status judge_gathered(tl_precision_walk *w, tl_node_id n, const tl_precision_form *form) {
  int32_t column;
  tl_precision_find_producers(w);
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
  tl_precision_all_columns(w, form);
  if (w->custom && !tl_precision_customize(w, form))
    return give_up(w, n, NULL, "P0202");
  if (!w->custom && !tl_precision_promote(w, form)) {
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

tl_status tl_precision_judge_op(tl_precision_walk *w, tl_node_id n, const tl_precision_form *form) {
  TL_TRY(tl_precision_enter(w, n, form));
  if (!tl_precision_gather(w, n, form))
    return tl_no_memory(w->m);
  if (!w->unknown) /* with an unknown input the node keeps its dtypes */
    return judge_gathered(w, n, form);
  keep_dtypes(w, TL_BY_UNKNOWN);
  return TL_OK;
}
