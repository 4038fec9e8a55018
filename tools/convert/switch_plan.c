/* SPDX-License-Identifier: Apache-2.0 */
/* The switch plan as JSON: one member a fact, numbers in f32 as the frameworks compare them. */
#include "tools/convert/switch_plan.h"

#include "passes/train/time/accelerate.h"
#include "tools/cli/json.h"

static void add_string(tl_buf *out, const char *key, tl_sv value) {
  tl_buf_printf(out, "\"%s\":", key);
  tl_json_string(out, value);
}

static void add_variant(tl_buf *out, const char *key, const char *path,
                        const tl_precision_config *c) {
  const char *slash = strrchr(path, '/');
  tl_buf_printf(out, "\"%s\":{", key);
  add_string(out, "model", tl_sv_from(slash ? slash + 1 : path));
  tl_buf_add_char(out, ',');
  add_string(out, "precision", tl_sv_from(c->mode_name));
  tl_buf_add_char(out, '}');
}

static void add_end(tl_buf *out, const tl_accelerate *a) {
  if (a->trigger == TL_ACCELERATE_STEP) {
    tl_buf_add_z(out, "\"total_step\":");
    tl_buf_add_i64(out, a->total_step);
    tl_buf_add_z(out, ",\"switch_at\":");
    tl_buf_add_i64(out, tl_accelerate_step(a->total_step, a->ratio));
    return;
  }
  tl_buf_add_z(out, "\"final_loss\":");
  tl_buf_add_f32(out, a->final_loss);
  tl_buf_add_z(out, ",\"switch_at\":");
  tl_buf_add_f32(out, tl_accelerate_loss(a->final_loss, a->ratio));
}

static void add_states(tl_buf *out, const tl_module *m) {
  tl_buf_add_z(out, "\"state\":[");
  for (uint32_t i = 0; i < m->states.n; i++) {
    tl_buf_add_z(out, i ? ",[" : "[");
    tl_json_string(out, tl_value_name(m, m->states.at[i].input));
    tl_buf_add_char(out, ',');
    tl_json_string(out, tl_value_name(m, m->states.at[i].output));
    tl_buf_add_char(out, ']');
  }
  tl_buf_add_char(out, ']');
}

void tl_switch_plan_json(const tl_settings *s, const tl_module *m, const char *low,
                         const char *high, tl_buf *out) {
  const tl_accelerate *a = &s->accelerate;
  const char *trigger = tl_accelerate_trigger_name(a->trigger);
  tl_buf_add_z(out, "{\"version\":1,");
  add_string(out, "mode", tl_sv_from(a->text));
  tl_buf_add_char(out, ',');
  add_string(out, "speed", tl_sv_from(tl_accelerate_speed_name(a->speed)));
  tl_buf_add_char(out, ',');
  add_string(out, "trigger", tl_sv_from(trigger));
  tl_buf_add_z(out, ",\"ratio\":");
  tl_buf_add_f32(out, a->ratio);
  tl_buf_add_z(out, ",\n ");
  add_variant(out, "low", low, &s->precision);
  tl_buf_add_char(out, ',');
  add_variant(out, "high", high, &s->precision_high);
  tl_buf_add_z(out, ",\n \"observe\":{");
  add_string(out, "tensor", tl_sv_from(a->observe));
  tl_buf_add_char(out, ',');
  add_string(out, "kind", tl_sv_from(trigger));
  tl_buf_add_z(out, "},");
  add_end(out, a);
  tl_buf_add_z(out, ",\"iterations_per_loop\":");
  tl_buf_add_i64(out, a->iterations_per_loop);
  tl_buf_add_z(out, ",\n \"one_shot\":true,");
  add_states(out, m);
  tl_buf_add_z(out, ",\"loss_scale_reset\":false}\n");
}
