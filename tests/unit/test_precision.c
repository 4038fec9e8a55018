/* SPDX-License-Identifier: Apache-2.0 */
/* Mixed precision: modes, colours, and how dtypes narrow the columns of an op. */
#include "ir/precision_config.h"
#include "tests/unit/unit.h"

/* ---- modes and colours ----------------------------------------------------------------------- */

static void names_of_modes(void) {
  static const struct {
    const char *name;
    bool v2;
    int mode; /* -1: refused */
  } cases[] = {
      {"force_fp16", false, TL_PRECISION_FORCE_FP16},
      {"force_fp32", false, TL_PRECISION_FORCE_FP32},
      {"cube_fp16in_fp32out", false, TL_PRECISION_FORCE_FP32}, /* two names of one mode */
      {"cube_fp16in_fp32out", true, TL_PRECISION_FORCE_FP32},
      {"allow_fp32_to_fp16", false, TL_PRECISION_ALLOW_FP16},
      {"allow_fp32_to_fp16", true, -1},
      {"must_keep_origin_dtype", false, TL_PRECISION_ORIGIN},
      {"origin", true, TL_PRECISION_ORIGIN},
      {"origin", false, -1},
      {"allow_mix_precision", false, TL_PRECISION_MIX_FP16},
      {"allow_mix_precision_fp16", false, TL_PRECISION_MIX_FP16},
      {"mixed_float16", true, TL_PRECISION_MIX_FP16},
      {"mixed_float16", false, -1},
      {"allow_mix_precision_bf16", false, TL_PRECISION_MIX_BF16},
      {"mixed_bfloat16", true, TL_PRECISION_MIX_BF16},
      {"allow_fp32_to_bf16", false, TL_PRECISION_ALLOW_BF16},
      {"cube_hif8", true, TL_PRECISION_CUBE_HIF8},
      {"cube_hif8", false, -1},
      {"mixed_hif8", true, TL_PRECISION_MIX_HIF8},
      {"fp16", true, TL_PRECISION_FORCE_FP16},
      {"FP16", true, -1}, /* case counts */
      {"", true, -1},
      {"force_lowerprecision", false, -1}, /* GE knows it and refuses it */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tl_precision_mode mode = TL_N_PRECISION_MODES;
    bool found = tl_precision_mode_find(tl_sv_from(cases[i].name), cases[i].v2, &mode);
    CU_ASSERT_EQUAL(found ? (int)mode : -1, cases[i].mode);
  }
}

/* The table of GE's own test; where this compiler departs from it (+G alone), both are listed. */
static void edits_of_colours(void) {
  enum {
    G = TL_COLOUR_GRAY,
    W = TL_COLOUR_WHITE,
    B = TL_COLOUR_BLACK,
    PG = TL_MIX_ADD_GRAY,
    MG = TL_MIX_REMOVE_GRAY,
    PB = TL_MIX_ADD_BLACK,
    MB = TL_MIX_REMOVE_BLACK,
    PW = TL_MIX_ADD_WHITE,
    MW = TL_MIX_REMOVE_WHITE
  };
  static const struct {
    uint8_t edits;
    uint8_t ours[3]; /* from gray, white, black */
    uint8_t ge[3];
  } rows[] = {
      {PG, {G, G, G}, {G, W, B}},      /* A */
      {PG | MB, {G, G, G}, {G, W, G}}, /* B */
      {PG | MW, {G, G, G}, {G, G, B}}, /* C */
      {MB, {G, W, G}, {G, W, G}},      /* D */
      {PB, {B, B, B}, {B, B, B}},      /* E */
      {PB | MG, {B, B, B}, {B, B, B}}, /* F */
      {PB | MW, {B, B, B}, {B, B, B}}, /* G */
      {MW, {G, G, B}, {G, G, B}},      /* H */
      {PW, {W, W, W}, {W, W, W}},      /* I */
      {PW | MB, {W, W, W}, {W, W, W}}, /* J */
      {PW | MG, {W, W, W}, {W, W, W}}, /* K */
  };
  static const tl_colour before[] = {TL_COLOUR_GRAY, TL_COLOUR_WHITE, TL_COLOUR_BLACK};
  bool missed;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int k = 0; k < 3; k++) {
      tl_colour ours = tl_mix_colour(rows[i].edits, before[k], false, &missed);
      tl_colour ge = tl_mix_colour(rows[i].edits, before[k], true, &missed);
      CU_ASSERT_EQUAL((uint8_t)ours, rows[i].ours[k]);
      CU_ASSERT_EQUAL((uint8_t)ge, rows[i].ge[k]);
    }
  (void)tl_mix_colour(MW, TL_COLOUR_BLACK, false, &missed);
  CU_ASSERT_TRUE(missed); /* a warning: the type is not on the list it is taken off */
  (void)tl_mix_colour(MW, TL_COLOUR_WHITE, false, &missed);
  CU_ASSERT_FALSE(missed);
}

static void eleven_sets_of_edits(void) {
  int legal = 0;
  for (unsigned set = 0; set < 64; set++)
    legal += tl_mix_edits_legal((uint8_t)set);
  CU_ASSERT_EQUAL(legal, 11);
  CU_ASSERT_FALSE(tl_mix_edits_legal(TL_MIX_REMOVE_GRAY));
  CU_ASSERT_FALSE(tl_mix_edits_legal(TL_MIX_ADD_BLACK | TL_MIX_ADD_WHITE));
  CU_ASSERT_TRUE(tl_mix_edits_legal(TL_MIX_ADD_BLACK | TL_MIX_REMOVE_WHITE));
}

static const unit_test tests[] = {{"names of modes", names_of_modes},
                                  {"edits of colours", edits_of_colours},
                                  {"eleven sets of edits", eleven_sets_of_edits},
                                  {NULL, NULL}};
const unit_suite unit_suite_precision = {"precision", tests};
