/* SPDX-License-Identifier: Apache-2.0 */
/* What simulated steps showed. */
#include "tools/cli/json.h"
#include "tools/run/value_text.h"
#include "tools/simulate/simulate.h"

static bool loss_differs(const tl_simulation *s) {
  return s->has_loss && !(s->loss_max_rel <= s->rtol || s->loss_max_rel == 0);
}

static uint32_t n_off(const tl_simulation *s) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < s->states.n; i++)
    n += s->states.at[i].step != 0;
  return n;
}

bool tl_sim_equal(const tl_simulation *s) {
  return !s->uneven_step && !n_off(s) && !loss_differs(s);
}

static double relative(const tl_sim_state *x) {
  return x->max_abs == 0 ? 0 : x->max_abs / x->largest;
}

static const char *kind_of(const tl_sim_state *x) {
  if (x->reading != TL_SIM_AS_STATE)
    return "output";
  return x->parameter ? "parameter" : x->root ? "of a rank" : x->local ? "mean" : "state";
}

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
  tl_buf_printf(out,
                "{\"equal\": %s, \"ranks\": %u, \"steps\": %u, \"skipped\": %u,\n "
                "\"ranks_identical\": %s, \"states_broadcast\": %u, \"loss\": ",
                tl_sim_equal(s) ? "true" : "false", s->ranks, s->steps, s->skipped,
                s->uneven_step ? "false" : "true", s->n_broadcast);
  if (s->has_loss) {
    bool first = true;
    tl_buf_add_char(out, '{');
    tl_json_key(out, "first", &first);
    tl_json_number(out, s->loss_first);
    tl_json_key(out, "last", &first);
    tl_json_number(out, s->loss_last);
    tl_json_key(out, "max_rel", &first);
    tl_json_number(out, s->loss_max_rel);
    tl_buf_add_char(out, '}');
  } else {
    tl_buf_add_z(out, "null");
  }
  tl_buf_add_z(out, ",\n \"states\": [");
  for (uint32_t i = 0; i < s->states.n; i++) {
    const tl_sim_state *x = &s->states.at[i];
    bool first = true;
    tl_buf_add_z(out, i ? ",\n  {" : "\n  {");
    tl_json_key(out, "name", &first);
    tl_json_string(out, x->name);
    if (x->reading != TL_SIM_AS_STATE) {
      tl_json_key(out, "output", &first);
      tl_buf_add_z(out, "true");
    }
    tl_json_key(out, "parameter", &first);
    tl_buf_add_z(out, x->parameter ? "true" : "false");
    tl_json_key(out, "equal", &first);
    tl_buf_add_z(out, x->step ? "false" : "true");
    tl_json_key(out, "step", &first);
    tl_buf_add_u64(out, x->step);
    tl_json_key(out, "largest", &first);
    tl_json_number(out, x->largest);
    tl_json_key(out, "max_abs", &first);
    tl_json_number(out, x->max_abs);
    tl_json_key(out, "relative", &first);
    tl_json_number(out, relative(x));
    tl_buf_add_char(out, '}');
  }
  tl_buf_add_z(out, "]}\n");
}
