/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the inputs whose next value an output may be (update_cone.h).
 * The walks follow arithmetic, views, moves of data and branches of If over a fixed number of
 * values. */
#include "ir/ops_gen.h"
#include "passes/train/step/update_cone.h"

enum { MOST_VALUES = 64, MOST_OF_CONE = 512 };

typedef struct stack {
  const tl_module *m;
  tl_value_id out;
  tl_value_id at[MOST_VALUES];
  bool moved[MOST_VALUES]; /* something was added on the way, or chosen: else it is a copy */
  uint32_t n;
} stack;

/* Adds a value once; a second visit counts only if it is the first that changed something on the
 * way. */
static void push(stack *s, tl_value_id v, bool moved) {
  if (!v || s->n == MOST_VALUES)
    return;
  for (uint32_t i = 0; i < s->n; i++)
    if (s->at[i] == v && (s->moved[i] || !moved))
      return;
  s->at[s->n] = v;
  s->moved[s->n++] = moved;
}

static void push_all(stack *s, tl_node_id n, uint32_t from, bool moved) {
  for (uint32_t i = from; i < tl_node_get(s->m, n)->n_operands; i++)
    push(s, tl_operand(s->m, n, i), moved);
}

/* Column `old` of step_ops.tbl. */
typedef enum old_kind { NONE, COPIES, CHANGES, SCALES, JOINS, CHOOSES, BRANCHES } old_kind;

static const uint8_t old_kinds[] = {
#define STEP_OP(name, old, form, across, leads) [TL_OP_##name] = old,
#include "passes/train/step/step_ops.tbl"
};

static old_kind old_of(tl_op_id op) {
  return op < sizeof old_kinds / sizeof *old_kinds ? (old_kind)old_kinds[op] : NONE;
}

/* Adds the operands that may hold the old value, by what the op does with them. */
static void push_sources(stack *s, tl_value_id v, bool moved) {
  tl_node_id n = tl_value_producer(s->m, v);
  uint32_t index = tl_value_get(s->m, v)->index;
  switch (old_of(tl_node_get(s->m, n)->op)) {
  case BRANCHES:
    push(s, tl_if_result(s->m, n, 0, index), true);
    push(s, tl_if_result(s->m, n, 1, index), true);
    return;
  case CHOOSES: push_all(s, n, 1, true); return;
  case JOINS: push_all(s, n, 0, true); return;
  case SCALES: push_all(s, n, 0, moved); return;
  case CHANGES: push(s, tl_operand(s->m, n, 0), true); return;
  case COPIES: push(s, tl_operand(s->m, n, 0), moved); return;
  default: return;
  }
}

uint32_t tl_cone_bases(const tl_module *m, tl_value_id out, tl_value_id *bases, uint32_t most) {
  stack s = {.m = m, .out = out};
  uint32_t n = 0;
  push(&s, out, false);
  for (uint32_t i = 0; i < s.n; i++) {
    tl_value_id v = s.at[i];
    uint8_t kind = tl_value_get(m, v)->kind;
    if (kind == TL_VALUE_RESULT) {
      push_sources(&s, v, s.moved[i]);
      continue;
    }
    bool is_new = s.moved[i] && kind != TL_VALUE_NONE &&
                  tl_value_type(m, v) == tl_value_type(m, out) &&
                  tl_value_graph(m, v) == tl_module_main(m)->id;
    for (uint32_t k = 0; k < n && is_new; k++)
      is_new = bases[k] != v;
    if (is_new && n < most)
      bases[n++] = v;
  }
  return n;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Returns the number of operands to follow. Values that the loss depends on are not entered: a
 * gradient comes from there, and not the next value of what forward reads. */
static uint32_t count_sources(const tl_cone_facts *f, tl_value_id v, tl_node_id n) {
  return f->marks[v] & TL_MARK_FORWARD ? 0 : tl_node_get(f->m, n)->n_operands;
}

/* Breadth-first, so that the nearest inputs are found first when the limits are reached. */
uint32_t tl_cone_inputs(tl_cone_facts *f, tl_value_id out, tl_value_id *inputs, uint32_t most) {
  const tl_module *m = f->m;
  tl_value_id at[MOST_OF_CONE];
  uint32_t n = 0, found = 0;
  at[n++] = out;
  f->place[out] = 1;
  for (uint32_t i = 0; i < n; i++) {
    tl_node_id p = tl_value_producer(m, at[i]);
    uint32_t index = tl_value_get(m, at[i])->index;
    bool is_if = p && tl_if_result(m, p, 0, index);
    uint32_t count = !p ? 0 : is_if ? 2 : count_sources(f, at[i], p);
    if (tl_value_get(m, at[i])->kind == TL_VALUE_INPUT && found < most)
      inputs[found++] = at[i];
    for (uint32_t k = 0; k < count && n < MOST_OF_CONE; k++) {
      tl_value_id v = is_if ? tl_if_result(m, p, k, index) : tl_operand(m, p, k);
      if (v && !f->place[v]) {
        f->place[v] = 1;
        at[n++] = v;
      }
    }
  }
  for (uint32_t i = 0; i < n; i++)
    f->place[at[i]] = 0;
  return found;
}
