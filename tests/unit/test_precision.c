/* SPDX-License-Identifier: Apache-2.0 */
/* Mixed precision: modes, colours, and how dtypes narrow the columns of an op. */
#include <stdio.h>
#include <string.h>

#include "ir/options/precision_config.h"
#include "passes/precision/rules.h"
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
  static const tl_op_colour before[] = {TL_COLOUR_GRAY, TL_COLOUR_WHITE, TL_COLOUR_BLACK};
  bool missed;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int k = 0; k < 3; k++) {
      tl_op_colour ours = tl_mix_colour(rows[i].edits, before[k], false, &missed);
      tl_op_colour ge = tl_mix_colour(rows[i].edits, before[k], true, &missed);
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

/* ---- matchers -------------------------------------------------------------------------------- */

static tl_dtype dtype_of(char c) {
  switch (c) {
  case 'f': return TL_DTYPE_F32;
  case 'h': return TL_DTYPE_F16;
  case 'b': return TL_DTYPE_BF16;
  case 'd': return TL_DTYPE_F64;
  case 'i': return TL_DTYPE_I8;
  case 'u': return TL_DTYPE_U8;
  case 'e': return TL_DTYPE_HIF8;
  default: return TL_DTYPE_NONE;
  }
}

enum { MAX_COLUMNS = 16 };

typedef struct row {
  uint8_t col[MAX_COLUMNS];
  uint16_t at[MAX_COLUMNS];
  tl_columns s;
} row;

/* One slot whose columns have the dtypes of the letters. */
static void fill(row *r, const char *letters) {
  r->s = (tl_columns){r->at, 0};
  for (; letters[r->s.n]; r->s.n++) {
    r->col[r->s.n] = (uint8_t)dtype_of(letters[r->s.n]);
    r->at[r->s.n] = (uint16_t)r->s.n;
  }
}

static bool left(const row *r, const char *columns) { /* such as "021" */
  bool same = strlen(columns) == r->s.n;
  for (uint32_t i = 0; same && i < r->s.n; i++)
    same = r->s.at[i] == (uint16_t)(columns[i] - '0');
  return same;
}

static void matchers_narrow_columns(void) {
  row r;
  fill(&r, "fhbfd");
  CU_ASSERT_TRUE(tl_match_rise(&r.s, r.col, TL_DTYPE_F32, TL_DTYPE_NONE));
  CU_ASSERT_TRUE(left(&r, "03"));
  fill(&r, "fbf");
  CU_ASSERT_TRUE(tl_match_rise(&r.s, r.col, TL_DTYPE_F16, TL_DTYPE_BF16)); /* h to f, never to b */
  CU_ASSERT_TRUE(left(&r, "02"));
  fill(&r, "bd");
  CU_ASSERT_FALSE(tl_match_rise(&r.s, r.col, TL_DTYPE_F32, TL_DTYPE_NONE)); /* d is no widening */
  CU_ASSERT_TRUE(left(&r, "01"));
  fill(&r, "hbhb"); /* bf16 is nearer to f32; equal ones in the order of the table */
  CU_ASSERT_TRUE(tl_match_reduce(&r.s, r.col, TL_DTYPE_F32, TL_DTYPE_NONE));
  CU_ASSERT_TRUE(left(&r, "1302"));
  fill(&r, "hbh");
  CU_ASSERT_TRUE(tl_match_reduce(&r.s, r.col, TL_DTYPE_F32, TL_DTYPE_BF16));
  CU_ASSERT_TRUE(left(&r, "02"));
  fill(&r, "hbf");
  CU_ASSERT_TRUE(tl_match_reduce(&r.s, r.col, TL_DTYPE_BF16, TL_DTYPE_NONE));
  CU_ASSERT_TRUE(left(&r, "0"));
  fill(&r, "bf");
  CU_ASSERT_FALSE(tl_match_reduce(&r.s, r.col, TL_DTYPE_F16, TL_DTYPE_NONE)); /* nothing is below */
  fill(&r, "fbh");
  CU_ASSERT_TRUE(tl_match_mix(&r.s, r.col, TL_DTYPE_NONE, TL_DTYPE_NONE));
  CU_ASSERT_TRUE(left(&r, "12"));
  fill(&r, "fb"); /* what is forbidden is gone even though nothing was found */
  CU_ASSERT_FALSE(tl_match_mix(&r.s, r.col, TL_DTYPE_BF16, TL_DTYPE_NONE));
  CU_ASSERT_TRUE(left(&r, "0"));
  fill(&r, "uiui");
  CU_ASSERT_TRUE(tl_match_precise(&r.s, r.col, TL_DTYPE_I8, TL_DTYPE_NONE));
  CU_ASSERT_TRUE(left(&r, "13"));
}

/* ---- what a mode picks for one input --------------------------------------------------------- */

/* The dtypes for an original f, b and h; '!' nothing fits, upper case: with a warning. */
static void check_picks(const char *ours, tl_precision_mode mode, tl_op_colour colour,
                        const char *columns, const char *expected) {
  char text[MAX_COLUMNS + 1] = "uid"; /* GE's test tables start with these */
  strcat(text, columns);
  for (int i = 0; i < 3; i++) {
    row r;
    fill(&r, text);
    tl_judged_op op = {.mode = mode, .colour = colour};
    tl_judged_tensor t = {.col = r.col, .original = dtype_of("fbh"[i]), .first = true};
    tl_precision_rule rule;
    tl_precision_match found = tl_precision_judge(&op, &t, &r.s, &rule);
    char c = expected[i];
    bool warned = c >= 'A' && c <= 'Z';
    bool as_expected = found == TL_MATCH_NONE ? c == '!'
                       : warned
                           ? found == TL_MATCH_SECOND &&
                                 r.col[r.at[0]] == (uint8_t)dtype_of((char)(c + 'a' - 'A'))
                           : found != TL_MATCH_SECOND && r.col[r.at[0]] == (uint8_t)dtype_of(c);
    if (!as_expected)
      fprintf(stderr, "%s, columns %s, original %c: not %c\n", ours, columns, "fbh"[i], c);
    CU_ASSERT_TRUE(as_expected);
  }
}

/* Results of GE's own tests of modes without colours. */
static void picks_of_plain_modes(void) {
  static const struct {
    const char *columns;
    const char *picks[5]; /* of modes[] below */
  } rows[] = {
      {"f", {"fff", "fff", "fff", "fff", "fff"}},   {"b", {"!!!", "!b!", "bb!", "!b!", "!!!"}},
      {"h", {"hhh", "hhh", "!!h", "!!h", "hhh"}},   {"fb", {"fff", "fbf", "fbf", "fbf", "fff"}},
      {"fh", {"hhh", "ffh", "ffh", "ffh", "fff"}},  {"bh", {"hhh", "hbh", "bbh", "!bh", "hhh"}},
      {"fbh", {"hhh", "fbh", "fbh", "fbh", "fff"}},
  };
  static const tl_precision_mode modes[] = {TL_PRECISION_FORCE_FP16, TL_PRECISION_ALLOW_FP16,
                                            TL_PRECISION_ALLOW_BF16, TL_PRECISION_ORIGIN,
                                            TL_PRECISION_FORCE_FP32};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int k = 0; k < 5; k++)
      check_picks(tl_precision_mode_get(modes[k])->v1[0], modes[k], TL_COLOUR_GRAY, rows[i].columns,
                  rows[i].picks[k]);
}

/* The same of mixed modes; gray without a producer is like allow_fp32_to_fp16 and _bf16. */
static void picks_of_mixed_modes(void) {
  static const struct {
    const char *columns;
    const char *picks[6]; /* fp16 white, black, gray; bf16 white, black, gray */
  } rows[] = {
      {"h", {"hhh", "!!h", "hhh", "!!h", "!!h", "!!h"}},
      {"fb", {"FbF", "fbf", "fbf", "bbb", "fbf", "fbf"}},
      {"fh", {"hhh", "ffh", "ffh", "FFh", "ffh", "ffh"}},
      {"bh", {"hbh", "!bh", "hbh", "bbb", "!bh", "bbh"}},
      {"hb", {"hhh", "!bh", "hbh", "bbh", "!bh", "bbh"}},
      {"fbh", {"hbh", "fbh", "fbh", "bbb", "fbh", "fbh"}},
  };
  static const tl_op_colour colours[] = {TL_COLOUR_WHITE, TL_COLOUR_BLACK, TL_COLOUR_GRAY};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int k = 0; k < 6; k++)
      check_picks(k < 3 ? "mixed_float16" : "mixed_bfloat16",
                  k < 3 ? TL_PRECISION_MIX_FP16 : TL_PRECISION_MIX_BF16, colours[k % 3],
                  rows[i].columns, rows[i].picks[k]);
}

/* A gray tensor behind a producer goes by the producer's dtype, whatever its own. */
static void gray_follows_its_producer(void) {
  static const char picks[][3] = {"fbh", "fbh"};
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < 3; i++) {
      row r;
      fill(&r, "uidfbh");
      tl_judged_op op = {.mode = k ? TL_PRECISION_MIX_BF16 : TL_PRECISION_MIX_FP16};
      tl_judged_tensor t = {.col = r.col, .original = TL_DTYPE_F32, .producer = dtype_of("fbh"[i])};
      tl_precision_rule rule;
      CU_ASSERT_EQUAL(tl_precision_judge(&op, &t, &r.s, &rule), TL_MATCH_EXACT);
      CU_ASSERT_EQUAL(rule, TL_BY_FOLLOWS);
      CU_ASSERT_EQUAL(r.col[r.at[0]], (uint8_t)dtype_of(picks[k][i]));
    }
}

/* The lists of dtypes that modes of hif8 try in order: the op has all but those left out. */
static void picks_of_hif8_modes(void) {
  static const struct {
    tl_precision_mode mode;
    bool cube;
    tl_op_colour colour;
    const char *columns;
    const char *picks; /* for an original f, b, h and e; '!' nothing fits */
  } rows[] = {
      {TL_PRECISION_CUBE_HIF8, true, TL_COLOUR_BLACK, "fhbe", "eeee"},
      {TL_PRECISION_CUBE_HIF8, true, TL_COLOUR_BLACK, "fhb", "hbhh"},
      {TL_PRECISION_CUBE_HIF8, true, TL_COLOUR_BLACK, "f", "ffff"},
      {TL_PRECISION_CUBE_HIF8, false, TL_COLOUR_WHITE, "fhbe", "fbhe"},
      {TL_PRECISION_CUBE_HIF8, false, TL_COLOUR_WHITE, "f", "fff!"},
      {TL_PRECISION_CUBE_HIF8, false, TL_COLOUR_WHITE, "h", "!!h!"},
      {TL_PRECISION_MIX_HIF8, true, TL_COLOUR_WHITE, "fhbe", "eeee"},
      {TL_PRECISION_MIX_HIF8, true, TL_COLOUR_BLACK, "fhbe", "fbhe"},
      {TL_PRECISION_MIX_HIF8, true, TL_COLOUR_GRAY, "fhbe", "fbhe"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int k = 0; k < 4; k++) {
      row r;
      fill(&r, rows[i].columns);
      tl_judged_op op = {.mode = rows[i].mode, .colour = rows[i].colour, .cube = rows[i].cube};
      tl_judged_tensor t = {.col = r.col, .original = dtype_of("fbhe"[k])};
      tl_precision_rule rule;
      tl_precision_match found = tl_precision_judge(&op, &t, &r.s, &rule);
      char c = rows[i].picks[k];
      bool as_expected = found == TL_MATCH_NONE ? c == '!' : r.col[r.at[0]] == (uint8_t)dtype_of(c);
      if (!as_expected)
        fprintf(stderr, "row %zu, original %c: not %c\n", i, "fbhe"[k], c);
      CU_ASSERT_TRUE(as_expected);
    }
}

/* Behind a producer of hif8 a gray op takes hif8, and where it has none f16, or bf16 in a model of
 * bf16. */
static void gray_behind_hif8(void) {
  static const char *const columns[] = {"fhbe", "fhb", "fb"};
  static const char picks[][2] = {{'e', 'e'}, {'h', 'b'}, {'f', 'b'}}; /* model of f32, of bf16 */
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 2; k++) {
      row r;
      fill(&r, columns[i]);
      tl_judged_op op = {.mode = TL_PRECISION_MIX_HIF8};
      tl_judged_tensor t = {
          .col = r.col, .original = k ? TL_DTYPE_BF16 : TL_DTYPE_F32, .producer = TL_DTYPE_HIF8};
      tl_precision_rule rule;
      CU_ASSERT_NOT_EQUAL(tl_precision_judge(&op, &t, &r.s, &rule), TL_MATCH_NONE);
      CU_ASSERT_EQUAL(r.col[r.at[0]], (uint8_t)dtype_of(picks[i][k]));
    }
}

/* Integers match themselves in every mode, or nothing. */
static void integers_stay(void) {
  for (unsigned mode = 0; mode < TL_N_PRECISION_MODES; mode++)
    for (unsigned colour = 0; colour < TL_N_COLOURS; colour++) {
      row r;
      fill(&r, "fhbi");
      tl_judged_op op = {.mode = (tl_precision_mode)mode, .colour = (tl_op_colour)colour};
      tl_judged_tensor t = {.col = r.col, .original = TL_DTYPE_I8};
      tl_precision_rule rule;
      CU_ASSERT_EQUAL(tl_precision_judge(&op, &t, &r.s, &rule), TL_MATCH_EXACT);
      CU_ASSERT_EQUAL(rule, TL_BY_FIXED);
      CU_ASSERT_TRUE(left(&r, "3"));
      t.original = TL_DTYPE_U8;
      CU_ASSERT_EQUAL(tl_precision_judge(&op, &t, &r.s, &rule), TL_MATCH_NONE);
    }
}

static const unit_test tests[] = {{"names of modes", names_of_modes},
                                  {"edits of colours", edits_of_colours},
                                  {"eleven sets of edits", eleven_sets_of_edits},
                                  {"matchers narrow columns", matchers_narrow_columns},
                                  {"picks of plain modes", picks_of_plain_modes},
                                  {"picks of mixed modes", picks_of_mixed_modes},
                                  {"gray follows its producer", gray_follows_its_producer},
                                  {"picks of hif8 modes", picks_of_hif8_modes},
                                  {"gray behind hif8", gray_behind_hif8},
                                  {"integers stay", integers_stay},
                                  {NULL, NULL}};
const unit_suite unit_suite_precision = {"precision", tests};
