/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the switch plan as JSON. Numbers are f32, because the frameworks compare them in f32. */
#include "tools/convert/switch_plan.h"

#include "passes/train/time/accelerate.h"
#include "support/json_writer.h"

/* Adds one model by its file name alone, so that a folder can be moved as a whole. */
static void add_variant(tl_json_writer *w, const char *key, const char *path,
                        const tl_precision_config *c) {
  const char *slash = strrchr(path, '/');
  tl_put_key(w, key);
  tl_put_object(w);
  tl_member_z(w, "model", slash ? slash + 1 : path);
  tl_member_z(w, "precision", c->mode_name);
  tl_put_end(w);
}

/* Adds the end of training and the point at which the first model gives way to the second. */
static void add_end(tl_json_writer *w, const tl_accelerate *a) {
  bool step = a->trigger == TL_ACCELERATE_STEP;
  tl_put_key(w, step ? "total_step" : "final_loss");
  if (step)
    tl_put_i64(w, a->total_step);
  else
    tl_put_f32(w, a->final_loss);
  tl_put_key(w, "switch_at");
  if (step)
    tl_put_i64(w, tl_accelerate_step(a->total_step, a->ratio));
  else
    tl_put_f32(w, tl_accelerate_loss(a->final_loss, a->ratio));
}

/* Adds pairs of input and output that carry states from step to step, and from model to model. */
static void add_states(tl_json_writer *w, const tl_module *m) {
  tl_put_key(w, "state");
  tl_put_array(w);
  for (uint32_t i = 0; i < m->states.n; i++) {
    tl_put_array(w);
    tl_put_sv(w, tl_value_name(m, m->states.at[i].input));
    tl_put_sv(w, tl_value_name(m, m->states.at[i].output));
    tl_put_end(w);
  }
  tl_put_end(w);
}

void tl_switch_plan_json(const tl_settings *s, const tl_module *m, const char *low,
                         const char *high, tl_buf *out) {
  const tl_accelerate *a = &s->accelerate;
  const char *trigger = tl_accelerate_trigger_name(a->trigger);
  tl_json_writer writer = tl_json_compact(out), *w = &writer;
  tl_put_object(w);
  tl_member_u64(w, "version", 1);
  tl_member_z(w, "mode", a->text);
  tl_member_z(w, "speed", tl_accelerate_speed_name(a->speed));
  tl_member_z(w, "trigger", trigger);
  tl_put_key(w, "ratio");
  tl_put_f32(w, a->ratio);
  tl_json_line(w, 1);
  add_variant(w, "low", low, &s->precision);
  add_variant(w, "high", high, &s->precision_high);
  tl_json_line(w, 1);
  tl_put_key(w, "observe");
  tl_put_object(w);
  tl_member_z(w, "tensor", a->observe);
  tl_member_z(w, "kind", trigger);
  tl_put_end(w);
  add_end(w, a);
  tl_put_key(w, "iterations_per_loop");
  tl_put_i64(w, a->iterations_per_loop);
  tl_json_line(w, 1);
  tl_member_bool(w, "one_shot", true);
  add_states(w, m);
  tl_member_bool(w, "loss_scale_reset", false);
  tl_json_finish(w);
}
