/* SPDX-License-Identifier: Apache-2.0 */
/* Reads accelerate_train_mode and its hook, and sets the precisions of its two variants. */
#include "frontend/config/accelerate.h"

#include <math.h>

#include "frontend/config/run_config_read.h"

/* Bounds of the ratio for one trigger. Both bounds are legal; fallback stands for a ratio that is
 * not given. */
typedef struct ratio_range {
  float least;
  float most;
  float fallback;
  const char *text; /* of the range, for messages */
} ratio_range;

static const ratio_range ratios[] = {
    [TL_ACCELERATE_STEP] = {0.2F, 0.9F, 0.9F, "0.2 to 0.9"},
    [TL_ACCELERATE_LOSS] = {1.01F, 1.5F, 1.05F, "1.01 to 1.5"},
};

/* Reports that one part of the mode is not what `wanted` says. */
static tl_status refuse(tl_diag *d, tl_location where, const char *code, tl_sv part,
                        const char *wanted) {
  return tl_fail_code(d, TL_INVALID_ARGUMENT, code, where,
                      "'%.*s' is not %s\vthe form is SPEED|TRIGGER[|RATIO], for example "
                      "fast|step|0.9; quote it, because the shell interprets '|'",
                      TL_SV_ARG(tl_sv_shown(part)), wanted);
}

/* Reads the ratio into a->ratio; an empty part means the default of the trigger. Text that is no
 * number becomes NaN, which fails both comparisons and so shares the report of a value out of
 * range. */
static tl_status read_ratio(tl_diag *d, tl_location where, tl_sv part, tl_accelerate *a) {
  const ratio_range *range = &ratios[a->trigger];
  double value = range->fallback;
  if (part.n && !tl_parse_f64(part, &value))
    value = NAN;
  a->ratio = (float)value;
  if (a->ratio >= range->least && a->ratio <= range->most)
    return TL_OK;
  return tl_fail_code(
      d, TL_INVALID_ARGUMENT, "E-ACC-RATIO", where,
      "'%.*s' is not a ratio; with trigger %s it is a number from %s, by default %s",
      TL_SV_ARG(tl_sv_shown(part)), tl_accelerate_trigger_name(a->trigger), range->text,
      a->trigger == TL_ACCELERATE_STEP ? "0.9" : "1.05");
}

tl_status tl_read_accelerate(tl_diag *d, tl_location where, const char *text, tl_accelerate *out) {
  tl_sv parts[3] = {{0}};
  unsigned n = 0;
  /* Parts beyond the third are counted, not stored: the count alone makes the form illegal. */
  for (tl_sv rest = tl_sv_from(text); rest.p; n++) {
    tl_sv part = tl_sv_split(&rest, '|');
    if (n < 3)
      parts[n] = part;
  }
  if (n != 2 && n != 3)
    return refuse(d, where, "E-ACC-FORMAT", tl_sv_from(text), "of the form SPEED|TRIGGER[|RATIO]");
  /* Each word selects one of two values; comparing the word with the name of that value finds any
   * third word. */
  tl_accelerate a = *out;
  a.text = text;
  a.speed = tl_sv_is(parts[0], "fast1") ? TL_ACCELERATE_FAST1 : TL_ACCELERATE_FAST;
  a.trigger = tl_sv_is(parts[1], "loss") ? TL_ACCELERATE_LOSS : TL_ACCELERATE_STEP;
  if (!tl_sv_is(parts[0], tl_accelerate_speed_name(a.speed)))
    return refuse(d, where, "E-ACC-SPEED", parts[0], "a speed: fast (float16) or fast1 (bfloat16)");
  if (!tl_sv_is(parts[1], tl_accelerate_trigger_name(a.trigger)))
    return refuse(d, where, "E-ACC-TRIGGER", parts[1], "a trigger: step or loss");
  TL_TRY(read_ratio(d, where, parts[2], &a));
  *out = a;
  return TL_OK;
}

/* ---- the hook -------------------------------------------------------------------------------- */

/* The two options of one trigger: the tensor that is observed, and the value that ends the
 * training. */
typedef struct hook {
  tl_option_id tensor;
  tl_option_id end;
} hook;

static const hook hooks[] = {
    [TL_ACCELERATE_STEP] = {TL_OPTION_OBSERVE_STEP, TL_OPTION_TOTAL_STEP},
    [TL_ACCELERATE_LOSS] = {TL_OPTION_OBSERVE_LOSS, TL_OPTION_FINAL_LOSS},
};

/* Reports the option `there`, which is given without the option `missing` that it depends on. */
static tl_status lacks(tl_settings *s, tl_diag *d, tl_option_id there, tl_option_id missing) {
  return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-ACC-HOOK", tl_at_option(s, there),
                      "needs --%s beside it", tl_option_row_get(missing)->name);
}

/* Requires the tensor and the end of training of one trigger to be given together, also for the
 * trigger that is not chosen. The number of steps may stand alone, because other parts of a run
 * configuration need it, too. */
static tl_status check_pairs(tl_settings *s, tl_diag *d) {
  for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
    bool tensor = s->value[hooks[i].tensor] != NULL;
    bool end = s->value[hooks[i].end] != NULL;
    if (tensor && !end)
      return lacks(s, d, hooks[i].tensor, hooks[i].end);
    if (end && !tensor && i == TL_ACCELERATE_LOSS)
      return lacks(s, d, hooks[i].end, hooks[i].tensor);
  }
  return TL_OK;
}

/* Refuses options that have no effect without the mode. total_step is absent: it has other uses. */
static tl_status check_unused(tl_settings *s, tl_diag *d) {
  static const tl_option_id ids[] = {TL_OPTION_OBSERVE_STEP, TL_OPTION_OBSERVE_LOSS,
                                     TL_OPTION_FINAL_LOSS};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
    if (s->value[ids[i]])
      return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-ACC-HOOK", tl_at_option(s, ids[i]),
                          "has no effect without --accelerate-train-mode");
  return TL_OK;
}

/* Reads the end of training: a number of steps, which the check of the run configuration has
 * already accepted, or a loss above 0. The loss is compared as f32, so a value that overflows f32
 * is refused. */
static tl_status read_end(tl_settings *s, tl_diag *d, tl_accelerate *a) {
  const char *text = s->value[hooks[a->trigger].end];
  if (a->trigger == TL_ACCELERATE_STEP)
    return tl_parse_i64(tl_sv_from(text), &a->total_step) ? TL_OK
                                                          : TL_INTERNAL; /* checked before */
  double loss;
  bool is_number = tl_parse_f64(tl_sv_from(text), &loss);
  a->final_loss = is_number ? (float)loss : 0;
  if (a->final_loss > 0 && isfinite(a->final_loss))
    return TL_OK;
  return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-ACC-HOOK", tl_at_option(s, TL_OPTION_FINAL_LOSS),
                      "'%.*s' is not a number above 0 that f32 holds",
                      TL_SV_ARG(tl_sv_shown(tl_sv_from(text))));
}

/* Reads tensor and end of the chosen trigger. The tensor of the other trigger is legal, but it has
 * no effect and gets a warning. */
static tl_status read_hook(tl_settings *s, tl_diag *d, tl_accelerate *a) {
  const hook *h = &hooks[a->trigger];
  const hook *other = &hooks[!a->trigger];
  TL_TRY(check_pairs(s, d));
  a->observe = s->value[h->tensor];
  if (!a->observe)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-ACC-HOOK",
                        tl_at_option(s, TL_OPTION_ACCELERATE_TRAIN_MODE),
                        "needs --%s and --%s, which say when to switch",
                        tl_option_row_get(h->tensor)->name, tl_option_row_get(h->end)->name);
  if (s->value[other->tensor])
    tl_warn(d, tl_at_option(s, other->tensor), "has no effect with the trigger %s",
            tl_accelerate_trigger_name(a->trigger));
  return read_end(s, d, a);
}

tl_status tl_resolve_accelerate(tl_settings *s, tl_diag *d) {
  tl_accelerate *a = &s->accelerate;
  const char *text = s->value[TL_OPTION_ACCELERATE_TRAIN_MODE];
  tl_location where = tl_at_option(s, TL_OPTION_ACCELERATE_TRAIN_MODE);
  *a = (tl_accelerate){0};
  if (!text)
    return check_unused(s, d);
  if (tl_run_int(s, TL_OPTION_GRAPH_RUN_MODE) == 0) {
    tl_warn_code(d, "W-TRN-INFER", where, "has no effect with graph_run_mode=0");
    return TL_OK;
  }
  TL_TRY(tl_read_accelerate(d, where, text, a));
  TL_TRY(read_hook(s, d, a));
  a->iterations_per_loop = tl_run_int(s, TL_OPTION_ITERATIONS_PER_LOOP);
  if (!s->value[TL_OPTION_EXTERNAL_WEIGHT])
    s->options.external_weight = TL_WEIGHTS_COMBINED; /* which both variants share */
  if (a->iterations_per_loop > 1)
    tl_warn_code(d, "W-ACC-LOOP", tl_at_option(s, TL_OPTION_ITERATIONS_PER_LOOP),
                 "'%s' is read once in %lld steps, so the switch may be late by that many",
                 a->observe, (long long)a->iterations_per_loop);
  return TL_OK;
}

/* ---- precisions ------------------------------------------------------------------------------ */

/* Makes sure that s->precision holds a mode which the high variant may use. Without a mode that is
 * the mode with which the chip trains. `by` is the option that gave the mode. The presets amp_level
 * and atc_compat are refused: each selects a mode of its own. */
static tl_status find_base(tl_settings *s, tl_diag *d, tl_option_id by) {
  tl_precision_config *c = &s->precision;
  tl_location where = tl_at_option(s, TL_OPTION_ACCELERATE_TRAIN_MODE);
  const tl_soc *chip = tl_options_chip(&s->options);
  bool preset = by == TL_OPTION_AMP_LEVEL || by == TL_OPTION_ATC_COMPAT;
  bool given = s->value[TL_OPTION_PRECISION_MODE] || s->value[TL_OPTION_PRECISION_MODE_V2];
  if (preset ||
      (c->mode_name && c->mode != TL_PRECISION_ORIGIN && c->mode != TL_PRECISION_ALLOW_FP16))
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-ACC-PREC", tl_at_option(s, by),
                        "%s cannot be the precision to switch to\vwith --accelerate-train-mode use "
                        "allow_fp32_to_fp16, must_keep_origin_dtype or origin, or give no mode",
                        c->mode_name);
  if (given)
    return TL_OK;
  if (!tl_precision_mode_find(tl_sv_from(chip->training), false, &c->mode))
    return tl_fail_code(d, TL_UNSUPPORTED, "E-ACC-PREC", where,
                        "%s is not a chip for training\vchoose the chip with --soc-version",
                        chip->name);
  const tl_precision_mode_info *mode = tl_precision_mode_get(c->mode);
  c->mode_name = mode->v2 ? mode->v2 : mode->v1[0];
  return TL_OK;
}

tl_status tl_accelerate_modes(tl_settings *s, tl_diag *d, tl_option_id by) {
  tl_precision_config *c = &s->precision;
  bool bfloat = s->accelerate.speed == TL_ACCELERATE_FAST1;
  const tl_soc *chip = tl_options_chip(&s->options);
  TL_TRY(find_base(s, d, by));
  if (bfloat && !chip->bf16)
    return tl_fail_code(
        d, TL_UNSUPPORTED, "E-ACC-BF16", tl_at_option(s, TL_OPTION_ACCELERATE_TRAIN_MODE),
        "fast1 needs bfloat16, which %s does not have\vfast trains in float16", chip->name);
  s->precision_high = *c;
  /* The mode of the low variant is named in the same vocabulary as the base mode, so that the model
   * records the option (precision_mode or precision_mode_v2) that the user gave. */
  bool v2 = tl_sv_eq(tl_sv_from(c->mode_name), tl_sv_from(tl_precision_mode_get(c->mode)->v2));
  c->mode = bfloat ? TL_PRECISION_MIX_BF16 : TL_PRECISION_MIX_FP16;
  const tl_precision_mode_info *low = tl_precision_mode_get(c->mode);
  c->mode_name = v2 ? low->v2 : low->v1[1] ? low->v1[1] : low->v1[0];
  return TL_OK;
}

void tl_accelerate_finish(tl_settings *s) {
  tl_precision_config *high = &s->precision_high;
  tl_precision_mode mode = high->mode;
  const char *name = high->mode_name;
  *high = s->precision;
  high->mode = mode;
  high->mode_name = name;
  /* The mix list edits the colours of the mixed mode only; the high variant has no colours. */
  high->mix = NULL;
  high->n_mix = 0;
  high->mix_path = NULL;
}

tl_status tl_accelerate_choose(tl_settings *s, tl_diag *d, bool low) {
  tl_options *o = &s->options;
  o->precision = low ? &s->precision : &s->precision_high;
  /* The recorded options are shared by both variants, so the list is copied before it is
   * changed. */
  for (uint32_t i = 0; i < o->n_carried; i++) {
    tl_sv key = o->carried[i].key;
    if (!tl_sv_is(key, "ge.exec.precision_mode") && !tl_sv_is(key, "ge.exec.precision_mode_v2"))
      continue;
    tl_carried_option *own = tl_arena_alloc(&s->arena, o->n_carried * sizeof *own);
    if (!own)
      return tl_fail_memory(d, TL_NOWHERE);
    memcpy(own, o->carried, o->n_carried * sizeof *own);
    own[i].value = tl_sv_from(o->precision->mode_name);
    o->carried = own;
  }
  return TL_OK;
}
