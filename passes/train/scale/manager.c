/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the rules of loss-scale managers as nodes.
 * The nodes compute what loss_scale.c computes for one step, without branches and in the same order
 * of f32 operations, so that both give the same bits. */
#include "ir/marks.h"
#include "passes/engine/formula.h"
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

/* Formula of passes/definitions/formulas.tlr. Its nodes keep their dtypes. */
static tl_formula formula(tl_loss_scaling *scaling, tl_maker *k, const char *name) {
  *k = scaling->k;
  k->mark = TL_MARK_KEEP_DTYPE;
  tl_formula f = {.k = k, .name = name};
  if (!tl_maker_failed(k) && tl_pass_formulas(scaling->p, scaling->m, &f.set) != TL_OK)
    k->no_memory = true;
  return f;
}

/* Makes the nodes of a formula; failures are kept by the maker of `scaling`. */
static void make(tl_loss_scaling *scaling, tl_formula *f) {
  tl_formula_make(f);
  tl_ls_adopt(scaling, f->k);
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
static tl_value_id grown(tl_loss_scaling *scaling) {
  const tl_loss_scale_config *c = &scaling->c->loss_scale;
  tl_maker k;
  tl_formula f = formula(scaling, &k, "ScaleGrown");
  f.in[0] = scaling->scale;
  f.numbers[0] = (tl_formula_number){"limit", (double)tl_loss_scale_limit(c)};
  f.numbers[1] = (tl_formula_number){"up", (double)c->up};
  make(scaling, &f);
  return f.out[0];
}

static tl_value_id shrunk(tl_loss_scaling *scaling, float by) {
  tl_maker k;
  bool sinks = scaling->c->loss_scale.sinks;
  tl_formula f = formula(scaling, &k, sinks ? "ScaleShrunk" : "ScaleShrunkToOne");
  f.in[0] = scaling->scale;
  f.numbers[0] = (tl_formula_number){"by", (double)by};
  make(scaling, &f);
  return f.out[0];
}

static next_state exponential(tl_loss_scaling *scaling) {
  const tl_loss_scale_config *c = &scaling->c->loss_scale;
  tl_value_id good = scaling->counter[0], bad = scaling->counter[1], fin = scaling->finite;
  tl_maker k;
  tl_formula due = formula(scaling, &k, "ScaleIsDue");
  memcpy(due.in, (tl_value_id[]){good, bad, fin}, 3 * sizeof *due.in);
  due.numbers[0] = (tl_formula_number){"grow", c->grow};
  due.numbers[1] = (tl_formula_number){"shrink", c->shrink};
  make(scaling, &due);
  tl_value_id up = grown(scaling), down = shrunk(scaling, c->down);
  tl_formula next = formula(scaling, &k, "ScaleExponential");
  memcpy(next.in,
         (tl_value_id[]){scaling->scale, up, down, fin, bad, due.out[0], due.out[1], due.out[2],
                         due.out[3]},
         9 * sizeof *next.in);
  make(scaling, &next);
  return (next_state){next.out[0], {next.out[1], next.out[2]}};
}

static next_state dynamic(tl_loss_scaling *scaling) {
  const tl_loss_scale_config *c = &scaling->c->loss_scale;
  tl_value_id cur = scaling->counter[0], last = scaling->counter[1], fin = scaling->finite;
  tl_maker k;
  tl_formula due = formula(scaling, &k, "ScaleIsOld");
  memcpy(due.in, (tl_value_id[]){cur, last, fin}, 3 * sizeof *due.in);
  due.numbers[0] = (tl_formula_number){"grow", c->grow};
  make(scaling, &due);
  tl_value_id up = grown(scaling), less = shrunk(scaling, 1 / c->up);
  tl_formula next = formula(scaling, &k, "ScaleDynamic");
  memcpy(next.in, (tl_value_id[]){scaling->scale, up, less, fin, cur, last, due.out[0], due.out[1]},
         8 * sizeof *next.in);
  make(scaling, &next);
  return (next_state){next.out[0], {next.out[1], next.out[2]}};
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
  tl_maker k;
  tl_formula next = formula(scaling, &k, "BadRun");
  next.in[0] = run;
  next.in[1] = scaling->finite;
  make(scaling, &next);
  leave(scaling, run, next.out[0]);
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
