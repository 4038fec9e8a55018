/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the rules of loss-scale managers as nodes.
 * The nodes compute what loss_scale.c computes for one step, without branches and in the same order
 * of f32 operations, so that both give the same bits. */
#include "ir/ops_gen.h"
#include "passes/train/scale/scaling.h"
#include "passes/train/scale/loss_scale.h"

/* Names and initial values of states beside the scale; EXPONENTIAL: good and bad, DYNAMIC: cur and
 * last. */
static const struct {
  const char *name;
  int32_t start;
} counters[2][2] = {{{"tlr.ls.good", 0}, {"tlr.ls.bad", 0}},
                    {{"tlr.ls.cur", 1}, {"tlr.ls.last", 0}}};

/* Row of `counters`. */
static unsigned row_of(const tl_loss_scaling *scaling) {
  return scaling->c->loss_scale.kind == TL_LOSS_SCALE_DYNAMIC;
}

static bool moves(const tl_loss_scaling *scaling) {
  return scaling->c->loss_scale.kind == TL_LOSS_SCALE_EXPONENTIAL ||
         scaling->c->loss_scale.kind == TL_LOSS_SCALE_DYNAMIC;
}

static tl_value_id number(tl_loss_scaling *scaling, float v) {
  return tl_make_number(&scaling->k, TL_DTYPE_F32, (double)v);
}

static tl_value_id count(tl_loss_scaling *scaling, int32_t v) {
  return tl_make_constant(&scaling->k, tl_tensor_i32s(scaling->m, &v, 1, 0), "const");
}

static tl_value_id two(tl_loss_scaling *scaling, tl_op_id op, tl_value_id a, tl_value_id b) {
  return tl_ls_make(&scaling->k, op, a, b, TL_NO_VALUE);
}

static tl_value_id where(tl_loss_scaling *scaling, tl_value_id c, tl_value_id a, tl_value_id b) {
  return tl_ls_make(&scaling->k, TL_OP_Where, c, a, b);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static tl_value_id add_input(tl_loss_scaling *scaling, const char *name, tl_dtype d,
                             tl_tensor_id t) {
  tl_symbol s = tl_module_intern(scaling->m, tl_sv_from(name));
  tl_type_id type = tl_type_tensor(scaling->m, d, 0, NULL);
  tl_value_id v = TL_NO_VALUE;
  if (t && s != TL_NO_SYMBOL && type)
    v = tl_graph_add_input(scaling->m, scaling->k.graph, s, type, t);
  scaling->k.no_memory = scaling->k.no_memory || !v;
  return v;
}

void tl_ls_make_inputs(tl_loss_scaling *scaling) {
  float init = scaling->c->loss_scale.init;
  tl_tensor_id t = tl_tensor_f32s(scaling->m, &init, 1, 0);
  if (!moves(scaling)) {
    scaling->scale = tl_make_constant(&scaling->k, t, "const");
    tl_ls_name(scaling, scaling->scale, TL_LS_SCALE);
    return;
  }
  scaling->scale = add_input(scaling, TL_LS_SCALE, TL_DTYPE_F32, t);
  for (unsigned i = 0; i < 2 && !tl_maker_failed(&scaling->k); i++) {
    int32_t start = counters[row_of(scaling)][i].start;
    scaling->counter[i] = add_input(scaling, counters[row_of(scaling)][i].name, TL_DTYPE_I32,
                                    tl_tensor_i32s(scaling->m, &start, 1, 0));
  }
}

/* ---- rules ----------------------------------------------------------------------------------- */

typedef struct next_state {
  tl_value_id scale;
  tl_value_id counter[2];
} next_state;

/* Grows only below the limit, so that the scale stays finite. */
static tl_value_id grown(tl_loss_scaling *scaling, tl_value_id from) {
  float up = scaling->c->loss_scale.up;
  tl_value_id low = two(scaling, TL_OP_Less, scaling->scale,
                        number(scaling, tl_loss_scale_limit(&scaling->c->loss_scale)));
  return where(scaling, low, two(scaling, TL_OP_Mul, from, number(scaling, up)), from);
}

static tl_value_id shrunk(tl_loss_scaling *scaling, float by) {
  tl_value_id less = two(scaling, TL_OP_Mul, scaling->scale, number(scaling, by));
  return scaling->c->loss_scale.sinks ? less : two(scaling, TL_OP_Max, number(scaling, 1), less);
}

static next_state exponential(tl_loss_scaling *scaling) {
  const tl_loss_scale_config *c = &scaling->c->loss_scale;
  tl_value_id good = scaling->counter[0], bad = scaling->counter[1], fin = scaling->finite;
  tl_value_id g1 = two(scaling, TL_OP_Add, good, count(scaling, 1)),
              b1 = two(scaling, TL_OP_Add, bad, count(scaling, 1));
  tl_value_id due = two(scaling, TL_OP_GreaterOrEqual, g1, count(scaling, c->grow));
  tl_value_id grow = two(scaling, TL_OP_And, fin, due);
  tl_value_id overflow = two(scaling, TL_OP_Not, fin, TL_NO_VALUE);
  due = two(scaling, TL_OP_GreaterOrEqual, b1, count(scaling, c->shrink));
  tl_value_id shrink = two(scaling, TL_OP_And, overflow, due);
  next_state s;
  tl_value_id up = grown(scaling, scaling->scale);
  s.scale =
      where(scaling, grow, up, where(scaling, shrink, shrunk(scaling, c->down), scaling->scale));
  tl_value_id on = two(scaling, TL_OP_And, fin, two(scaling, TL_OP_Not, grow, TL_NO_VALUE));
  s.counter[0] = where(scaling, on, g1, count(scaling, 0));
  tl_value_id changes = two(scaling, TL_OP_Or, grow, shrink);
  tl_value_id kept = where(scaling, fin, bad, b1);
  s.counter[1] = where(scaling, changes, count(scaling, 0), kept);
  return s;
}

static next_state dynamic(tl_loss_scaling *scaling) {
  const tl_loss_scale_config *c = &scaling->c->loss_scale;
  tl_value_id cur = scaling->counter[0], last = scaling->counter[1], fin = scaling->finite;
  tl_value_id age = two(scaling, TL_OP_Sub, cur, last);
  tl_value_id due = two(scaling, TL_OP_LessOrEqual, count(scaling, c->grow), age);
  tl_value_id grow = two(scaling, TL_OP_And, due, fin);
  next_state s;
  tl_value_id up = grown(scaling, scaling->scale);
  tl_value_id less = shrunk(scaling, 1 / c->up);
  s.scale = where(scaling, fin, where(scaling, grow, up, scaling->scale), less);
  tl_value_id changes = two(scaling, TL_OP_Or, due, two(scaling, TL_OP_Not, fin, TL_NO_VALUE));
  s.counter[0] = two(scaling, TL_OP_Add, cur, count(scaling, 1));
  s.counter[1] = where(scaling, changes, cur, last);
  return s;
}

/* Makes `next` the output NAME.out and the next value of the state `input`. */
static void leave(tl_loss_scaling *scaling, tl_value_id input, tl_value_id next) {
  tl_symbol s = TL_NO_SYMBOL;
  tl_buf name;
  tl_buf_init(&name);
  tl_buf_printf(&name, "%.*s.out", TL_SV_ARG(tl_value_name(scaling->m, input)));
  if (!name.failed)
    s = tl_module_intern(scaling->m, tl_buf_view(&name));
  tl_buf_release(&name);
  scaling->k.no_memory = scaling->k.no_memory || s == TL_NO_SYMBOL;
  if (tl_maker_failed(&scaling->k))
    return;
  tl_value_set_name(scaling->m, next, s);
  tl_ls_add_output(scaling, next);
  tl_ls_add_state(scaling, input, next);
}

/* Counts steps in a row that overflowed, so that the training loop can stop when there are too
 * many. */
static void count_run(tl_loss_scaling *scaling) {
  const int32_t none = 0;
  tl_value_id run =
      add_input(scaling, TL_LS_BAD_RUN, TL_DTYPE_I32, tl_tensor_i32s(scaling->m, &none, 1, 0));
  tl_value_id more = two(scaling, TL_OP_Add, run, count(scaling, 1));
  leave(scaling, run, where(scaling, scaling->finite, count(scaling, 0), more));
}

void tl_ls_make_rule(tl_loss_scaling *scaling) {
  if (scaling->c->bad_run && !tl_maker_failed(&scaling->k))
    count_run(scaling);
  if (!moves(scaling) || tl_maker_failed(&scaling->k))
    return;
  next_state s = row_of(scaling) ? dynamic(scaling) : exponential(scaling);
  leave(scaling, scaling->scale, s.scale);
  for (unsigned i = 0; i < 2; i++)
    leave(scaling, scaling->counter[i], s.counter[i]);
}
