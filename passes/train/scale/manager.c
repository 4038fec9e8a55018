/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the rules of loss-scale managers as nodes.
 * The nodes compute what loss_scale.c computes for one step, without branches and in the same order
 * of f32 operations, so that both give the same bits. */
#include "ir/ops_gen.h"
#include "passes/train/scale/loss.h"
#include "passes/train/scale/loss_scale.h"

/* Names and initial values of states beside the scale; EXPONENTIAL: good and bad, DYNAMIC: cur and
 * last. */
static const struct {
  const char *name;
  int32_t start;
} counters[2][2] = {{{"tlr.ls.good", 0}, {"tlr.ls.bad", 0}},
                    {{"tlr.ls.cur", 1}, {"tlr.ls.last", 0}}};

/* Row of `counters`. */
static unsigned row_of(const tl_loss_scaling *x) {
  return x->c->loss_scale.kind == TL_LOSS_SCALE_DYNAMIC;
}

static bool moves(const tl_loss_scaling *x) {
  return x->c->loss_scale.kind == TL_LOSS_SCALE_EXPONENTIAL ||
         x->c->loss_scale.kind == TL_LOSS_SCALE_DYNAMIC;
}

static tl_value_id number(tl_loss_scaling *x, float v) {
  return tl_make_number(&x->k, TL_DTYPE_F32, (double)v);
}

static tl_value_id count(tl_loss_scaling *x, int32_t v) {
  return tl_make_constant(&x->k, tl_tensor_i32s(x->m, &v, 1, 0), "const");
}

static tl_value_id two(tl_loss_scaling *x, tl_op_id op, tl_value_id a, tl_value_id b) {
  return tl_ls_make(&x->k, op, a, b, TL_NO_VALUE);
}

static tl_value_id where(tl_loss_scaling *x, tl_value_id c, tl_value_id a, tl_value_id b) {
  return tl_ls_make(&x->k, TL_OP_Where, c, a, b);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static tl_value_id add_input(tl_loss_scaling *x, const char *name, tl_dtype d, tl_tensor_id t) {
  tl_symbol s = tl_module_intern(x->m, tl_sv_from(name));
  tl_type_id type = tl_type_tensor(x->m, d, 0, NULL);
  tl_value_id v = TL_NO_VALUE;
  if (t && s != TL_NO_SYMBOL && type)
    v = tl_graph_add_input(x->m, x->k.graph, s, type, t);
  x->k.no_memory = x->k.no_memory || !v;
  return v;
}

void tl_ls_make_inputs(tl_loss_scaling *x) {
  float init = x->c->loss_scale.init;
  tl_tensor_id t = tl_tensor_f32s(x->m, &init, 1, 0);
  if (!moves(x)) {
    x->scale = tl_make_constant(&x->k, t, "const");
    tl_ls_name(x, x->scale, TL_LS_SCALE);
    return;
  }
  x->scale = add_input(x, TL_LS_SCALE, TL_DTYPE_F32, t);
  for (unsigned i = 0; i < 2 && !tl_maker_failed(&x->k); i++) {
    int32_t start = counters[row_of(x)][i].start;
    x->counter[i] =
        add_input(x, counters[row_of(x)][i].name, TL_DTYPE_I32, tl_tensor_i32s(x->m, &start, 1, 0));
  }
}

/* ---- rules ----------------------------------------------------------------------------------- */

typedef struct next_state {
  tl_value_id scale;
  tl_value_id counter[2];
} next_state;

/* Grows only below the limit, so that the scale stays finite. */
static tl_value_id grown(tl_loss_scaling *x, tl_value_id from) {
  float up = x->c->loss_scale.up;
  tl_value_id low = two(x, TL_OP_Less, x->scale, number(x, tl_loss_scale_limit(&x->c->loss_scale)));
  return where(x, low, two(x, TL_OP_Mul, from, number(x, up)), from);
}

static tl_value_id shrunk(tl_loss_scaling *x, float by) {
  tl_value_id less = two(x, TL_OP_Mul, x->scale, number(x, by));
  return x->c->loss_scale.sinks ? less : two(x, TL_OP_Max, number(x, 1), less);
}

static next_state exponential(tl_loss_scaling *x) {
  const tl_loss_scale_config *c = &x->c->loss_scale;
  tl_value_id good = x->counter[0], bad = x->counter[1], fin = x->finite;
  tl_value_id g1 = two(x, TL_OP_Add, good, count(x, 1)), b1 = two(x, TL_OP_Add, bad, count(x, 1));
  tl_value_id due = two(x, TL_OP_GreaterOrEqual, g1, count(x, c->grow));
  tl_value_id grow = two(x, TL_OP_And, fin, due);
  tl_value_id overflow = two(x, TL_OP_Not, fin, TL_NO_VALUE);
  due = two(x, TL_OP_GreaterOrEqual, b1, count(x, c->shrink));
  tl_value_id shrink = two(x, TL_OP_And, overflow, due);
  next_state s;
  tl_value_id up = grown(x, x->scale);
  s.scale = where(x, grow, up, where(x, shrink, shrunk(x, c->down), x->scale));
  tl_value_id on = two(x, TL_OP_And, fin, two(x, TL_OP_Not, grow, TL_NO_VALUE));
  s.counter[0] = where(x, on, g1, count(x, 0));
  tl_value_id changes = two(x, TL_OP_Or, grow, shrink);
  tl_value_id kept = where(x, fin, bad, b1);
  s.counter[1] = where(x, changes, count(x, 0), kept);
  return s;
}

static next_state dynamic(tl_loss_scaling *x) {
  const tl_loss_scale_config *c = &x->c->loss_scale;
  tl_value_id cur = x->counter[0], last = x->counter[1], fin = x->finite;
  tl_value_id age = two(x, TL_OP_Sub, cur, last);
  tl_value_id due = two(x, TL_OP_LessOrEqual, count(x, c->grow), age);
  tl_value_id grow = two(x, TL_OP_And, due, fin);
  next_state s;
  tl_value_id up = grown(x, x->scale);
  tl_value_id less = shrunk(x, 1 / c->up);
  s.scale = where(x, fin, where(x, grow, up, x->scale), less);
  tl_value_id changes = two(x, TL_OP_Or, due, two(x, TL_OP_Not, fin, TL_NO_VALUE));
  s.counter[0] = two(x, TL_OP_Add, cur, count(x, 1));
  s.counter[1] = where(x, changes, cur, last);
  return s;
}

/* Makes `next` the output NAME.out and the next value of the state `input`. */
static void leave(tl_loss_scaling *x, tl_value_id input, tl_value_id next) {
  tl_symbol s = TL_NO_SYMBOL;
  tl_buf name;
  tl_buf_init(&name);
  tl_buf_printf(&name, "%.*s.out", TL_SV_ARG(tl_value_name(x->m, input)));
  if (!name.failed)
    s = tl_module_intern(x->m, tl_buf_view(&name));
  tl_buf_release(&name);
  x->k.no_memory = x->k.no_memory || s == TL_NO_SYMBOL;
  if (tl_maker_failed(&x->k))
    return;
  tl_value_set_name(x->m, next, s);
  tl_ls_add_output(x, next);
  tl_ls_add_state(x, input, next);
}

/* Counts steps in a row that overflowed, so that the training loop can stop when there are too
 * many. */
static void count_run(tl_loss_scaling *x) {
  const int32_t none = 0;
  tl_value_id run = add_input(x, TL_LS_BAD_RUN, TL_DTYPE_I32, tl_tensor_i32s(x->m, &none, 1, 0));
  tl_value_id more = two(x, TL_OP_Add, run, count(x, 1));
  leave(x, run, where(x, x->finite, count(x, 0), more));
}

void tl_ls_make_rule(tl_loss_scaling *x) {
  if (x->c->bad_run && !tl_maker_failed(&x->k))
    count_run(x);
  if (!moves(x) || tl_maker_failed(&x->k))
    return;
  next_state s = row_of(x) ? dynamic(x) : exponential(x);
  leave(x, x->scale, s.scale);
  for (unsigned i = 0; i < 2; i++)
    leave(x, x->counter[i], s.counter[i]);
}
