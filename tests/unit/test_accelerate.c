/* SPDX-License-Identifier: Apache-2.0 */
/* accelerate_train_mode: worked examples, its options, and when training switches. */
#include <math.h>
#include <stdio.h>

#include "frontend/config/accelerate.h"
#include "passes/train/time/accelerate.h"
#include "tests/unit/unit.h"

typedef struct given {
  tl_option_id id;
  const char *value;
} given;

typedef struct heard {
  char codes[256]; /* of every diagnostic, each with a blank behind it */
} heard;

static void hear(void *user, const tl_diagnostic *d) {
  heard *h = user;
  size_t n = strlen(h->codes);
  snprintf(h->codes + n, sizeof h->codes - n, "%s ", d->code ? d->code : "-");
}

/* ---- the string ------------------------------------------------------------------------------ */

static void reads(const char *text, tl_accelerate_speed speed, tl_accelerate_trigger trigger,
                  float ratio) {
  tl_diag quiet = {0};
  tl_accelerate a = {0};
  CU_ASSERT_EQUAL(tl_read_accelerate(&quiet, (tl_location){0}, text, &a), TL_OK);
  CU_ASSERT_EQUAL(a.speed, speed);
  CU_ASSERT_EQUAL(a.trigger, trigger);
  CU_ASSERT_EQUAL(a.ratio, ratio);
  CU_ASSERT_EQUAL(a.text, text);
  CU_ASSERT_EQUAL(quiet.warnings, 0);
}

static void strings(void) {
  reads("fast|step|0.9", TL_ACCELERATE_FAST, TL_ACCELERATE_STEP, 0.9F);
  reads("fast|step", TL_ACCELERATE_FAST, TL_ACCELERATE_STEP, 0.9F);
  reads("fast|step|", TL_ACCELERATE_FAST, TL_ACCELERATE_STEP, 0.9F);
  reads("fast1|step|0.2", TL_ACCELERATE_FAST1, TL_ACCELERATE_STEP, 0.2F);
  reads("fast1|loss|", TL_ACCELERATE_FAST1, TL_ACCELERATE_LOSS, 1.05F);
  reads("fast|loss", TL_ACCELERATE_FAST, TL_ACCELERATE_LOSS, 1.05F);
  reads("fast|loss|1.01", TL_ACCELERATE_FAST, TL_ACCELERATE_LOSS, 1.01F);
  reads("fast|loss|1.5", TL_ACCELERATE_FAST, TL_ACCELERATE_LOSS, 1.5F);
  reads("fast|loss|15e-1", TL_ACCELERATE_FAST, TL_ACCELERATE_LOSS, 1.5F);
}

static void refused_strings(void) {
  static const struct {
    const char *text;
    const char *code;
  } rows[] = {
      {"", "E-ACC-FORMAT "},
      {"fast", "E-ACC-FORMAT "},
      {"fast|step|0.9|", "E-ACC-FORMAT "},
      {"||||||||", "E-ACC-FORMAT "},
      {"fast,step,0.9", "E-ACC-FORMAT "},
      {"turbo|step|0.5", "E-ACC-SPEED "},
      {"slow|step", "E-ACC-SPEED "},
      {"FAST|step", "E-ACC-SPEED "},
      {" fast|step", "E-ACC-SPEED "},
      {"|step", "E-ACC-SPEED "},
      {"fast12|step", "E-ACC-SPEED "},
      {"fast|epoch|0.5", "E-ACC-TRIGGER "},
      {"fast||0.5", "E-ACC-TRIGGER "},
      {"fast|steps", "E-ACC-TRIGGER "},
      {"fast|step|0.95", "E-ACC-RATIO "},
      {"fast|step|0.199", "E-ACC-RATIO "},
      {"fast|step|x", "E-ACC-RATIO "},
      {"fast|step|0.5x", "E-ACC-RATIO "},
      {"fast|step| 0.5", "E-ACC-RATIO "},
      {"fast|step|nan", "E-ACC-RATIO "},
      {"fast|step|-0.5", "E-ACC-RATIO "},
      {"fast|step|1.05", "E-ACC-RATIO "},
      {"fast|loss|0.9", "E-ACC-RATIO "},
      {"fast|loss|1.009", "E-ACC-RATIO "},
      {"fast|loss|1.51", "E-ACC-RATIO "},
      {"fast|loss|inf", "E-ACC-RATIO "},
      {"fast|loss|1e400", "E-ACC-RATIO "},
      {"fast|loss|0x1.4p0", "E-ACC-RATIO "},
      {"fast|loss|1.0500000000000000000000000000000000000000000000000000000000000000000000001",
       "E-ACC-RATIO "}, /* longer than any number */
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    heard h = {""};
    tl_diag diag = {.fn = hear, .user = &h};
    tl_accelerate a = {.ratio = 7};
    CU_ASSERT_EQUAL(tl_read_accelerate(&diag, (tl_location){0}, rows[i].text, &a),
                    TL_INVALID_ARGUMENT);
    CU_ASSERT_STRING_EQUAL(h.codes, rows[i].code);
    CU_ASSERT_EQUAL(a.ratio, 7);
    CU_ASSERT_PTR_NULL(a.text);
  }
}

/* ---- with other options ---------------------------------------------------------------------- */

#define FAST_STEP                                                                                  \
  {TL_OPTION_ACCELERATE_TRAIN_MODE, "fast|step|0.9"}, {TL_OPTION_OBSERVE_STEP, "global_step"}, {   \
    TL_OPTION_TOTAL_STEP, "10000"                                                                  \
  }
#define FAST1_STEP                                                                                 \
  {TL_OPTION_ACCELERATE_TRAIN_MODE, "fast1|step"}, {TL_OPTION_OBSERVE_STEP, "global_step"}, {      \
    TL_OPTION_TOTAL_STEP, "10000"                                                                  \
  }
#define FAST_LOSS                                                                                  \
  {TL_OPTION_ACCELERATE_TRAIN_MODE, "fast|loss"}, { TL_OPTION_OBSERVE_LOSS, "loss" }

/* Gives the options, up to a NULL, and returns what came of them. */
static tl_status resolve(tl_settings *s, heard *h, const given *list) {
  tl_diag diag = {.fn = hear, .user = h};
  tl_status status = TL_OK;
  h->codes[0] = '\0';
  tl_settings_init(s);
  for (; list->value && status == TL_OK; list++)
    status = tl_settings_set(s, &diag, list->id, list->value);
  return status == TL_OK ? tl_settings_resolve(s, &diag) : status;
}

static void modes_are(const given *list, const char *low, const char *high) {
  tl_settings s;
  heard h;
  CU_ASSERT_EQUAL(resolve(&s, &h, list), TL_OK);
  CU_ASSERT_STRING_EQUAL(h.codes, "");
  CU_ASSERT_STRING_EQUAL(s.precision.mode_name, low);
  CU_ASSERT_STRING_EQUAL(s.precision_high.mode_name, high);
  CU_ASSERT_TRUE(tl_precision_mode_get(s.precision.mode)->mixed);
  CU_ASSERT_FALSE(tl_precision_mode_get(s.precision_high.mode)->mixed);
  CU_ASSERT_EQUAL(s.options.precision, &s.precision);
  CU_ASSERT_EQUAL(s.options.external_weight, TL_WEIGHTS_COMBINED);
  tl_settings_release(&s);
}
#define MODES(low, high, ...) modes_are((const given[]){__VA_ARGS__, {0, NULL}}, low, high)

static void modes(void) {
  MODES("mixed_float16", "origin", FAST_STEP);
  MODES("mixed_bfloat16", "origin", FAST1_STEP);
  MODES("mixed_float16", "origin", FAST_STEP, {TL_OPTION_PRECISION_MODE_V2, "origin"});
  MODES("allow_mix_precision_fp16", "must_keep_origin_dtype", FAST_STEP,
        {TL_OPTION_PRECISION_MODE, "must_keep_origin_dtype"});
  MODES("allow_mix_precision_fp16", "allow_fp32_to_fp16", FAST_STEP,
        {TL_OPTION_PRECISION_MODE, "allow_fp32_to_fp16"});
  MODES("allow_mix_precision_bf16", "allow_fp32_to_fp16", FAST1_STEP,
        {TL_OPTION_PRECISION_MODE, "allow_fp32_to_fp16"});
  /* What a training run on that chip has by default. */
  MODES("allow_mix_precision_fp16", "allow_fp32_to_fp16", FAST_STEP,
        {TL_OPTION_SOC_VERSION, "Ascend910A"});
  /* An empty option is none. */
  tl_settings s;
  heard h;
  CU_ASSERT_EQUAL(
      resolve(&s, &h, (const given[]){{TL_OPTION_ACCELERATE_TRAIN_MODE, ""}, {0, NULL}}), TL_OK);
  CU_ASSERT_PTR_NULL(s.accelerate.text);
  CU_ASSERT_EQUAL(s.options.external_weight, TL_WEIGHTS_INSIDE);
  tl_settings_release(&s);
}

static void refused_because(const char *codes, const given *list) {
  tl_settings s;
  heard h;
  CU_ASSERT_NOT_EQUAL(resolve(&s, &h, list), TL_OK);
  CU_ASSERT_STRING_EQUAL(h.codes, codes);
  tl_settings_release(&s);
}
#define REFUSED(codes, ...) refused_because(codes, (const given[]){__VA_ARGS__, {0, NULL}})

static void refused_modes(void) {
  static const char *const v1[] = {"force_fp16",
                                   "force_fp32",
                                   "cube_fp16in_fp32out",
                                   "allow_mix_precision",
                                   "allow_mix_precision_fp16",
                                   "allow_mix_precision_bf16",
                                   "allow_fp32_to_bf16"};
  static const char *const v2[] = {"fp16", "cube_fp16in_fp32out", "mixed_float16",
                                   "mixed_bfloat16"};
  for (size_t i = 0; i < sizeof v1 / sizeof *v1; i++)
    REFUSED("E-ACC-PREC ", FAST_STEP, {TL_OPTION_PRECISION_MODE, v1[i]});
  for (size_t i = 0; i < sizeof v2 / sizeof *v2; i++)
    REFUSED("E-ACC-PREC ", FAST_STEP, {TL_OPTION_PRECISION_MODE_V2, v2[i]});
  REFUSED("E-ACC-PREC ", FAST_STEP, {TL_OPTION_AMP_LEVEL, "O0"});
  REFUSED("E-ACC-PREC ", FAST_STEP, {TL_OPTION_ATC_COMPAT, ""});
  REFUSED("E-ACC-PREC ", FAST_STEP, {TL_OPTION_SOC_VERSION, "Ascend310P3"});
  REFUSED("E-ACC-BF16 ", FAST1_STEP, {TL_OPTION_SOC_VERSION, "Ascend910A"});
  REFUSED("E-ACC-FORMAT ", {TL_OPTION_ACCELERATE_TRAIN_MODE, "fast"});
}

static void hooks(void) {
  REFUSED("E-ACC-HOOK ", {TL_OPTION_ACCELERATE_TRAIN_MODE, "fast|step"});
  REFUSED("E-ACC-HOOK ", FAST_LOSS);
  REFUSED("E-ACC-HOOK ", {TL_OPTION_ACCELERATE_TRAIN_MODE, "fast|step"},
          {TL_OPTION_OBSERVE_STEP, "s"});
  REFUSED("E-ACC-HOOK ", {TL_OPTION_ACCELERATE_TRAIN_MODE, "fast|step"},
          {TL_OPTION_TOTAL_STEP, "5"});
  REFUSED("E-ACC-HOOK ", FAST_STEP, {TL_OPTION_FINAL_LOSS, "1"}); /* half of the other pair */
  REFUSED("E-ACC-HOOK ", {TL_OPTION_OBSERVE_STEP, "s"}, {TL_OPTION_TOTAL_STEP, "5"});
  REFUSED("E-ACC-HOOK ", {TL_OPTION_OBSERVE_LOSS, "loss"}, {TL_OPTION_FINAL_LOSS, "1"});
  REFUSED("E-ACC-HOOK ", FAST_LOSS, {TL_OPTION_FINAL_LOSS, "0"});
  REFUSED("E-ACC-HOOK ", FAST_LOSS, {TL_OPTION_FINAL_LOSS, "-1"});
  REFUSED("E-ACC-HOOK ", FAST_LOSS, {TL_OPTION_FINAL_LOSS, "nan"});
  REFUSED("E-ACC-HOOK ", FAST_LOSS, {TL_OPTION_FINAL_LOSS, "1e39"});
  REFUSED("E-ACC-HOOK ", FAST_LOSS, {TL_OPTION_FINAL_LOSS, "low"});
  REFUSED("E-LOOP-DIV ", FAST_STEP, {TL_OPTION_ITERATIONS_PER_LOOP, "3"});
  tl_settings s;
  heard h;
  CU_ASSERT_EQUAL(
      resolve(&s, &h,
              (const given[]){FAST_STEP, {TL_OPTION_ITERATIONS_PER_LOOP, "1000"}, {0, NULL}}),
      TL_OK);
  CU_ASSERT_STRING_EQUAL(h.codes, "W-ACC-LOOP ");
  CU_ASSERT_EQUAL(s.accelerate.iterations_per_loop, 1000);
  CU_ASSERT_EQUAL(s.accelerate.total_step, 10000);
  CU_ASSERT_STRING_EQUAL(s.accelerate.observe, "global_step");
  tl_settings_release(&s);
  /* A whole pair that the trigger does not look at. */
  CU_ASSERT_EQUAL(resolve(&s, &h,
                          (const given[]){FAST_STEP,
                                          {TL_OPTION_OBSERVE_LOSS, "loss"},
                                          {TL_OPTION_FINAL_LOSS, "0.5"},
                                          {0, NULL}}),
                  TL_OK);
  CU_ASSERT_STRING_EQUAL(h.codes, "- ");
  tl_settings_release(&s);
}

/* ---- the switch ------------------------------------------------------------------------------ */

static tl_accelerate by_step(int64_t total, float ratio, int64_t iterations) {
  return (tl_accelerate){.trigger = TL_ACCELERATE_STEP,
                         .ratio = ratio,
                         .total_step = total,
                         .iterations_per_loop = iterations};
}

static bool switches(const tl_accelerate *a, double now) {
  tl_accelerate_latch fresh = {false, false};
  return tl_accelerate_should_switch(a, now, &fresh);
}

static void thresholds(void) {
  CU_ASSERT_EQUAL(tl_accelerate_step(10000, 0.9F), 9000);
  CU_ASSERT_EQUAL(tl_accelerate_step(7, 0.9F), 6);
  CU_ASSERT_EQUAL(tl_accelerate_step(1, 0.2F), 0);
  CU_ASSERT_EQUAL(tl_accelerate_step(16777217, 0.5F), 8388608); /* f32 has no such total */
  CU_ASSERT_TRUE(tl_accelerate_step(INT64_MAX, 0.9F) > 0);
  CU_ASSERT_EQUAL(tl_accelerate_loss(7.1F, 1.05F), 7.4549994F);
}

static void steps(void) {
  tl_accelerate a = by_step(10000, 0.9F, 1);
  CU_ASSERT_FALSE(switches(&a, 0));
  CU_ASSERT_FALSE(switches(&a, 8999));
  CU_ASSERT_TRUE(switches(&a, 9000));
  CU_ASSERT_TRUE(switches(&a, 9001));
  a.iterations_per_loop = 1000;
  CU_ASSERT_FALSE(switches(&a, 8000));
  CU_ASSERT_TRUE(switches(&a, 9000));
  a = by_step(10000, 0.9F, 3000); /* the loop that begins at 7000 is the last one */
  CU_ASSERT_FALSE(switches(&a, 6999));
  CU_ASSERT_TRUE(switches(&a, 7000));
  a = by_step(7, 0.9F, 1);
  CU_ASSERT_FALSE(switches(&a, 5));
  CU_ASSERT_TRUE(switches(&a, 6));
  a = by_step(INT64_MAX, 0.5F, INT64_MAX);
  CU_ASSERT_TRUE(switches(&a, 0));
  tl_accelerate_latch latch = {false, false};
  a = by_step(10000, 0.9F, 1);
  CU_ASSERT_TRUE(tl_accelerate_should_switch(&a, 9000, &latch));
  CU_ASSERT_FALSE(latch.off_target);
  latch = (tl_accelerate_latch){false, false};
  CU_ASSERT_TRUE(tl_accelerate_should_switch(&a, 9500, &latch));
  CU_ASSERT_TRUE(latch.off_target);
}

static void losses(void) {
  tl_accelerate a = {.trigger = TL_ACCELERATE_LOSS, .ratio = 1.05F, .final_loss = 7.1F};
  tl_accelerate_latch latch = {false, false};
  CU_ASSERT_FALSE(tl_accelerate_should_switch(&a, 0, &latch)); /* not yet measured */
  CU_ASSERT_FALSE(tl_accelerate_should_switch(&a, 12.5, &latch));
  CU_ASSERT_FALSE(tl_accelerate_should_switch(&a, 7.455, &latch)); /* in f32 above 7.4549994 */
  CU_ASSERT_FALSE(tl_accelerate_should_switch(&a, (double)NAN, &latch));
  CU_ASSERT_FALSE(tl_accelerate_should_switch(&a, (double)INFINITY, &latch));
  CU_ASSERT_FALSE(latch.switched);
  CU_ASSERT_TRUE(tl_accelerate_should_switch(&a, 7.45, &latch));
  CU_ASSERT_TRUE(latch.off_target);
  CU_ASSERT_TRUE(tl_accelerate_should_switch(&a, 7.6, &latch)); /* one way */
  CU_ASSERT_TRUE(tl_accelerate_should_switch(&a, (double)NAN, &latch));
  CU_ASSERT_TRUE(tl_accelerate_should_switch(&a, 0, &latch));
  latch = (tl_accelerate_latch){false, false};
  CU_ASSERT_TRUE(tl_accelerate_should_switch(&a, (double)7.4549994F, &latch));
  CU_ASSERT_FALSE(latch.off_target);
}

static const unit_test tests[] = {
    {"strings", strings}, {"strings that are refused", refused_strings},
    {"modes", modes},     {"modes that are refused", refused_modes},
    {"hooks", hooks},     {"thresholds", thresholds},
    {"steps", steps},     {"losses", losses},
    {NULL, NULL}};
const unit_suite unit_suite_accelerate = {"accelerate", tests};
