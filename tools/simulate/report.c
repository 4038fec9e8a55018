/* SPDX-License-Identifier: Apache-2.0 */
/* Reports what simulated steps showed. */
#include "support/json_writer.h"
#include "tools/run/value_text.h"
#include "tools/simulate/simulate.h"

/* Returns true if the loss is beyond rtol; the comparison is written so that NaN is. */
static bool loss_differs(const tl_simulation *s) {
  return s->has_loss && !(s->loss_max_rel <= s->rtol || s->loss_max_rel == 0);
}

/* Counts states and outputs beyond the tolerance. */
static uint32_t n_off(const tl_simulation *s) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < s->states.n; i++)
    n += s->states.at[i].step != 0;
  return n;
}

bool tl_sim_equal(const tl_simulation *s) {
  return !s->uneven_step && !n_off(s) && !loss_differs(s);
}

/* Returns the greatest error relative to the greatest element. */
static double relative(const tl_sim_state *x) {
  return x->max_abs == 0 ? 0 : x->max_abs / x->largest;
}

static const char *kind_of(const tl_sim_state *x) {
  if (x->reading != TL_SIM_AS_STATE)
    return "output";
  return x->parameter ? "parameter" : x->root ? "of a rank" : x->local ? "mean" : "state";
}

/* Adds the table of states and other outputs. */
static void add_rows(const tl_simulation *s, tl_buf *out) {
  static const char *const heads[] = {"state", "kind", "largest", "max abs", "relative", "verdict"};
  tl_table t = {.columns = sizeof heads / sizeof *heads};
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
    tl_table_add(&t, heads[i]);
  for (uint32_t i = 0; i < s->states.n; i++) {
    const tl_sim_state *x = &s->states.at[i];
    const double numbers[] = {x->largest, x->max_abs, relative(x)};
    tl_buf_add_quoted(&t.text, x->name);
    tl_table_cell(&t);
    tl_table_add(&t, kind_of(x));
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
      tl_add_short(&t.text, numbers[k]);
      tl_table_cell(&t);
    }
    if (x->reading != TL_SIM_AS_STATE && !x->compared)
      tl_buf_add_z(&t.text, "not compared");
    else if (x->own)
      tl_buf_add_z(&t.text, "each rank's own");
    else if (x->step)
      tl_buf_printf(&t.text, "differs from step %u on", x->step);
    else
      tl_buf_add_z(&t.text, x->max_abs == 0 ? "identical" : "equal");
    tl_table_cell(&t);
  }
  tl_table_print(out, &t);
}

/* Returns true if the loss of the joined batch is as many times that of a rank as there are ranks:
 * then the model divides by a constant batch size. */
static bool bakes_batch(const tl_simulation *s) {
  double off = s->factor / s->ranks - 1;
  return s->ranks > 1 && s->has_loss && off < 1e-2 && off > -1e-2;
}

void tl_sim_text(const tl_simulation *s, tl_buf *out) {
  tl_buf_printf(out, "%u rank%s, %u step%s", s->ranks, s->ranks == 1 ? "" : "s", s->steps,
                s->steps == 1 ? "" : "s");
  if (s->skipped)
    tl_buf_printf(out, ", %u of them skipped for overflow", s->skipped);
  tl_buf_add_char(out, '\n');
  add_rows(s, out);
  if (s->has_loss) {
    tl_buf_add_z(out, "loss ");
    tl_add_short(out, s->loss_first);
    tl_buf_add_z(out, " -> ");
    tl_add_short(out, s->loss_last);
    tl_buf_add_z(out, loss_differs(s) ? ", differs from the joined batch by "
                                      : ", relative to the joined batch off by ");
    tl_add_short(out, s->loss_max_rel);
    tl_buf_add_char(out, '\n');
  }
  if (s->uneven_step)
    tl_buf_printf(out, "ranks differ: state '%.*s' after step %u\n", TL_SV_ARG(s->uneven),
                  s->uneven_step);
  else
    tl_buf_add_z(out, "states are the same bits on all ranks\n");
  if (s->n_broadcast)
    tl_buf_printf(out, "initial values of %u state%s: those of rank 0 on all ranks\n",
                  s->n_broadcast, s->n_broadcast == 1 ? "" : "s");
  if (loss_differs(s) && bakes_batch(s))
    tl_buf_printf(out,
                  "the loss of the joined batch is %u times that of a rank: the model seems to "
                  "have a constant batch size; give the step for the joined batch with --joined\n",
                  s->ranks);
}

void tl_sim_json(const tl_simulation *s, tl_buf *out) {
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  tl_put_object(w);
  tl_member_u64(w, "schema", 1);
  tl_member_bool(w, "equal", tl_sim_equal(s));
  tl_member_u64(w, "ranks", s->ranks);
  tl_member_u64(w, "steps", s->steps);
  tl_member_u64(w, "skipped", s->skipped);
  tl_json_line(w, 1);
  tl_member_bool(w, "ranks_identical", !s->uneven_step);
  tl_member_u64(w, "states_broadcast", s->n_broadcast);
  tl_put_key(w, "loss");
  if (s->has_loss) {
    tl_put_object(w);
    tl_member_f64(w, "first", s->loss_first);
    tl_member_f64(w, "last", s->loss_last);
    tl_member_f64(w, "max_rel", s->loss_max_rel);
    tl_put_end(w);
  } else {
    tl_put_null(w);
  }
  tl_json_line(w, 1);
  tl_put_key(w, "states");
  tl_put_array(w);
  for (uint32_t i = 0; i < s->states.n; i++) {
    const tl_sim_state *x = &s->states.at[i];
    tl_json_line(w, 2);
    tl_put_object(w);
    tl_member_sv(w, "name", x->name);
    if (x->reading != TL_SIM_AS_STATE) {
      tl_member_bool(w, "output", true);
    }
    tl_member_bool(w, "parameter", x->parameter);
    tl_member_bool(w, "equal", !x->step);
    tl_member_u64(w, "step", x->step);
    tl_member_f64(w, "largest", x->largest);
    tl_member_f64(w, "max_abs", x->max_abs);
    tl_member_f64(w, "relative", relative(x));
    tl_put_end(w);
  }
  tl_json_finish(w);
}
