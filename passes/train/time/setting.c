/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/train/time/setting.h"

#include "passes/loops/loops.h"
#include "passes/train/step/find_step.h"
#include "passes/train/time/loop_step.h"

/* Returns the preset of a chip's family. */
static const char *preset_of(const tl_soc *chip) {
  static const struct {
    const char *family;
    const char *preset;
  } presets[] = {{"Ascend910", "ascend910"}, {"Ascend910_93", "ascend910_93"}};
  for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
    if (strcmp(chip->name, presets[i].family) == 0)
      return presets[i].preset;
  return "ascend910b";
}

tl_status tl_train_costs(tl_diag *d, const tl_train_config *c, const tl_soc *chip, tl_costs *out,
                         tl_file **profile) {
  tl_hw_preset hw;
  *profile = NULL;
  *out = (tl_costs){0};
  const char *name = c->hw_preset ? c->hw_preset : preset_of(chip);
  TL_TRY(tl_hw_preset_parse(d, tl_sv_from(name), &hw));
  tl_costs_init(out, &hw, c->rank_size);
  out->ge = c->cost == TL_COST_GE;
  if (!c->profile)
    return TL_OK;
  TL_TRY(tl_file_open(d, c->profile, TL_FILE_READ, profile));
  tl_sv text = {(const char *)(*profile)->data, (size_t)(*profile)->size};
  return tl_costs_read_profile(d, out, c->profile, text);
}

/* Sets how many tasks each engine takes at a time. Degrees above MOST make no difference. */
static void set_degrees(tl_step_machine *machine, const tl_train_config *c) {
  enum { MOST = 1024 };
  static const struct {
    const char *name;
    tl_engine engine;
  } engines[] = {
#define ENGINE(name, engine) {name, TL_ENGINE_##engine},
      TL_TRAIN_ENGINES(ENGINE)
#undef ENGINE
  };
  for (uint32_t i = 0; i < c->n_engines; i++)
    for (size_t k = 0; k < sizeof engines / sizeof *engines; k++) {
      uint32_t degree = c->engines[i].degree < MOST ? c->engines[i].degree : MOST;
      uint16_t *known = &machine->degree[engines[k].engine];
      if (tl_sv_is(c->engines[i].engine, engines[k].name) && degree > *known)
        *known = (uint16_t)degree;
    }
}

tl_status tl_train_setting_begin(tl_pass *p, tl_module *m, tl_train_setting *out) {
  const tl_train_config *c = p->options->train;
  *out = (tl_train_setting){.m = m, .tail = c->is_tailing_optimization};
  out->machine = (tl_step_machine){.cost = &out->cost,
                                   .hcom_parallel = c->hcom_parallel,
                                   .memory_limit = c->mem_limit > 0 ? (uint64_t)c->mem_limit : 0};
  set_degrees(&out->machine, c);
  TL_TRY(tl_train_costs(m->diag, c, tl_options_chip(p->options), &out->cost, &out->profile));
  tl_step_state *state = tl_step_state_edit(m);
  if (state->found) {
    out->info = state->found->info;
    state->graph = state->found->graph;
    return TL_OK;
  }
  return tl_is_loop_of_steps(m) ? tl_train_detect_in_loop(m, p->scratch, &out->info)
                                : tl_train_detect(m, p->scratch, &out->info);
}

void tl_train_setting_end(tl_train_setting *t) {
  tl_step_state_edit(t->m)->graph = TL_NO_GRAPH;
  tl_costs_release(&t->cost);
  tl_file_close(t->profile);
  t->profile = NULL;
}

/* The manager keeps the scratch of this pass until the next one has run. */
void tl_train_setting_leave(tl_pass *p, const tl_train_setting *t, const tl_step *step) {
  tl_step_found *found = tl_arena_calloc(p->scratch, 1, sizeof *found);
  if (!found)
    return;
  found->info = t->info;
  found->graph = tl_step_state_of(t->m)->graph;
  found->built = step != NULL;
  if (step)
    found->step = *step;
  tl_step_state_edit(t->m)->left = found;
}

tl_status tl_train_setting_step(tl_pass *p, const tl_train_setting *t, tl_step *out) {
  const tl_step_found *found = tl_step_state_of(t->m)->found;
  if (!found || !found->built)
    return tl_step_build(t->m, p->scratch, &t->info, &t->machine, out);
  *out = found->step;
  return tl_step_read_order(t->m, p->scratch, out);
}

/* Stages are recorded once, by the first pass that gets here. */
tl_status tl_train_record_before(tl_pass *p, tl_module *m, const tl_train_setting *t) {
  tl_step s;
  tl_step_machine one = t->machine;
  tl_step_record *record = tl_step_state_of(m)->record;
  if (!record || record->n)
    return TL_OK;
  one.hcom_parallel = false;
  TL_TRY(tl_step_build(m, p->scratch, &t->info, &one, &s));
  TL_TRY(tl_step_record_add(record, m, "given", &s, s.given, &one));
  TL_TRY(tl_step_build(m, p->scratch, &t->info, &t->machine, &s));
  TL_TRY(tl_step_record_add(record, m, "streams", &s, s.given, &t->machine));
  if (!t->tail)
    return TL_OK;
  TL_TRY(tl_timeline_schedule(m->diag, &s.g, s.given, NULL));
  return tl_step_record_add(record, m, "scheduled", &s, s.given, &t->machine);
}
