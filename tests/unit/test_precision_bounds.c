/* SPDX-License-Identifier: Apache-2.0 */
/* --precision-policy=range, in figures: bounds of results hold and are close, sizes grow as the
 * numbers do. A bound that is too low lets f16 overflow without a word; one that is too high keeps
 * nodes in f32 for nothing. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/text/parse.h"
#include "passes/edit/values.h"
#include "passes/precision/body_links.h"
#include "passes/precision/growth.h"
#include "passes/precision/intervals.h"
#include "passes/precision/ranges.h"
#include "tests/unit/unit.h"

#define UNKNOWN (-INFINITY), INFINITY

/* ---- intervals of one op --------------------------------------------------------------------- */

/* What lies in [low, high] by arithmetic lies in the bound, which is at most half a percent of the
 * greatest magnitude wider. */
static bool is_close(const tl_interval *y, double low, double high) {
  double room = isfinite(low) && isfinite(high) ? 5e-3 * fmax(fabs(low), fabs(high)) : 0;
  return y->low <= low && y->high >= high && y->low >= low - room && y->high <= high + room;
}

static void expect(const char *what, const tl_interval *y, double low, double high) {
  bool close = is_close(y, low, high);
  if (!close)
    printf("\n  %s: [%.9g, %.9g], not [%.9g, %.9g]", what, y->low, y->high, low, high);
  CU_ASSERT_TRUE(close);
}

static const struct {
  const char *what;
  tl_range_kind kind;
  double least;
  tl_interval in[3];
  uint32_t n;
  double elements;
  double low, high;
} bounds[] = {
    {"union", TL_RANGE_UNION, 0, {{-3, 1, 0}, {0, 9, 0}}, 2, 0, -3, 9},
    {"divide", TL_RANGE_DIV, 0, {{1, 2, 0}, {4, 8, 0}}, 2, 0, 0.125, 0.5},
    {"divide by negative", TL_RANGE_DIV, 0, {{-1, 2, 0}, {-8, -4, 0}}, 2, 0, -0.5, 0.25},
    {"divide up to 0", TL_RANGE_DIV, 0, {{1, 2, 0}, {-8, 0, 0}}, 2, 0, UNKNOWN},
    {"subtract", TL_RANGE_SUB, 0, {{1, 2, 0}, {4, 8, 0}}, 2, 0, -7, -2},
    {"multiply", TL_RANGE_MUL, 0, {{-1, 2, 0}, {-4, 3, 0}}, 2, 0, -8, 6},
    {"one operand of two", TL_RANGE_DIV, 0, {{1, 2, 0}}, 1, 0, UNKNOWN},
    {"one factor of two", TL_RANGE_MATMUL, 0, {{1, 2, 0}}, 1, 4, UNKNOWN},
    {"magnitudes", TL_RANGE_ABS, 0, {{-5, -2, 0}}, 1, 0, 2, 5},
    {"square", TL_RANGE_SQUARE, 0, {{-5, 2, 0}}, 1, 0, 0, 25},
    {"cube", TL_RANGE_POW, 0, {{-2, 3, 0}, {3, 3, 0}}, 2, 0, -8, 27},
    {"root of a sign", TL_RANGE_POW, 0, {{-2, 3, 0}, {0.5, 0.5, 0}}, 2, 0, UNKNOWN},
    {"power not known", TL_RANGE_POW, 0, {{1, 3, 0}, {1, 2, 0}}, 2, 0, UNKNOWN},
    {"reciprocal power", TL_RANGE_POW, 0, {{1, 3, 0}, {-1, -1, 0}}, 2, 0, UNKNOWN},
    {"sum", TL_RANGE_SUM, 0, {{-1, 2, 0}}, 1, 10, -10, 20},
    {"sum of positive", TL_RANGE_SUM, 0, {{1, 2, 0}}, 1, 10, 10, 20},
    {"running sum", TL_RANGE_CUMSUM, 0, {{1, 2, 0}}, 1, 10, 1, 20},
    {"sum of squares", TL_RANGE_SQUARES, 0, {{-3, 2, 0}}, 1, 4, 0, 36},
    {"norm", TL_RANGE_L2, 0, {{-3, 2, 0}}, 1, 4, 0, 6},
    {"log of a sum", TL_RANGE_LOGSUM, 0, {{-100, 200, 0}}, 1, 1, -100, 200},
    {"product below 1", TL_RANGE_PROD, 0, {{-1, 1, 0}}, 1, 10, -1, 1},
    {"product", TL_RANGE_PROD, 0, {{-2, 1, 0}}, 1, 3, -8, 8},
    {"normalised", TL_RANGE_NORM, 0, {{UNKNOWN, 0}}, 1, 4, -2, 2},
    {"scaled and shifted", TL_RANGE_NORM, 0, {{UNKNOWN, 0}, {-3, 1, 0}, {0, 5, 0}}, 3, 4, -11, 11},
    {"sums of how many", TL_RANGE_SUM, 0, {{1, 1, 0}}, 1, 0, UNKNOWN},
    {"squares of how many", TL_RANGE_SQUARES, 0, {{1, 1, 0}}, 1, 0, UNKNOWN},
    {"norm of how many", TL_RANGE_L2, 0, {{1, 1, 0}}, 1, 0, UNKNOWN},
    {"product of how many", TL_RANGE_PROD, 0, {{1, 1, 0}}, 1, 0, UNKNOWN},
    {"normalised by how many", TL_RANGE_NORM, 0, {{1, 1, 0}}, 1, 0, UNKNOWN},
    {"products of how many", TL_RANGE_MATMUL, 0, {{1, 1, 0}, {1, 1, 0}}, 2, 0, UNKNOWN},
    {"sum of products", TL_RANGE_MATMUL, 0, {{-2, 1, 0}, {-1, 3, 0}}, 2, 4, -24, 24},
    {"with a bias", TL_RANGE_GEMM, 0, {{-2, 1, 0}, {-1, 3, 0}, {-5, 1, 0}}, 3, 4, -29, 29},
    {"gate", TL_RANGE_GATE, -0.2, {{-9, 3, 0}}, 1, 0, -0.2, 3},
    {"gated", TL_RANGE_GATED, -0.2, {{-9, 3, 0}}, 1, 0, -27, 9},
    {"rotate", TL_RANGE_ROTATE, 0, {{-3, 2, 0}, {-1, 1, 0}, {0, 2, 0}}, 3, 0, -9, 9},
    {"multiply and add", TL_RANGE_MULADD, 0, {{1, 2, 0}, {3, 4, 0}, {10, 20, 0}}, 3, 0, 13, 28},
    {"times the last", TL_RANGE_MULADD, 1, {{1, 2, 0}, {10, 20, 0}, {3, 4, 0}}, 3, 0, 13, 28},
    {"pad", TL_RANGE_PADDED, 0, {{1, 2, 0}}, 1, 0, 0, 2},
    {"clip", TL_RANGE_CLIP, 0, {{-9, 9, 0}, {-1, -1, 0}, {2, 2, 0}}, 3, 0, -1, 2},
    {"beyond f32", TL_RANGE_MUL, 0, {{1e30, 1e30, 0}, {1e30, 1e30, 0}}, 2, 0, 1e60, INFINITY},
    {"what may be flushed", TL_RANGE_MUL, 0, {{1e-30, 1, 0}, {1e-30, 1, 0}}, 2, 0, 0, 1},
};

static void ops_have_close_bounds(void) {
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
    tl_interval y = tl_interval_apply(bounds[i].kind, bounds[i].least, bounds[i].in, bounds[i].n,
                                      bounds[i].elements);
    if (isfinite(bounds[i].low) && isinf(bounds[i].high))
      CU_ASSERT_TRUE(y.low <= bounds[i].low && isinf(y.high))
    else
      expect(bounds[i].what, &y, bounds[i].low, bounds[i].high);
  }
}

/* Numbers of one sign have no sum of the other sign, of however many in f32: a root or a logarithm
 * of the sum is in its domain. */
static void sums_keep_their_sign(void) {
  tl_interval above = {0, 2, 0}, below = {-2, 0, 0};
  for (double n = 1; n < 1e6; n *= 10) {
    CU_ASSERT_TRUE(tl_interval_apply(TL_RANGE_SUM, 0, &above, 1, n).low >= 0);
    CU_ASSERT_TRUE(tl_interval_apply(TL_RANGE_SUM, 0, &below, 1, n).high <= 0);
  }
}

/* ---- bounds of a graph ----------------------------------------------------------------------- */

/* x has numbers from -1 to 2, as measured, and u anything. */
static const char head[] =
    "graph @g(%x: f32[1,2], %c: f32[1,2,4,4], %n: f32[1,2,1,1],"
    " %q: f32[1,1,2,2], %more_v: f32[1,1,2,2], %u: f32[1,2], %col: f32[3,1], %v: f32[3])"
    " -> (%y) {\n"
    "  const %tiny: f32[] = 1e-9\n"
    "  const %inf: f32[2] = [1.0, inf]\n"
    "  const %less: f32[2] = [-inf, 3.0]\n"
    "  const %most: f32[] = 65504.0\n"
    "  const %more: f32[] = 65536.0\n"
    "  const %w: f32[2,3] = [1.0, 2.0, -3.0, 4.0, 5.0, -6.0]\n"
    "  const %wt: f32[3,2] = [1.0, 2.0, -3.0, 4.0, 5.0, -6.0]\n"
    "  const %w1: f32[3] = [1.0, -2.0, 4.0]\n"
    "  const %k: f32[2,2,1,2] = [1.0, 2.0, -3.0, 4.0, -1.0, -2.0, -3.0, 1.0]\n"
    "  const %two: f32[2] = [1.0, 2.0]\n"
    "  const %shift: f32[2] = [0.0, 1.0]\n"
    "  const %mean: f32[2] = [0.0, 0.5]\n"
    "  const %var: f32[2] = [1.0, 0.25]\n"
    "  const %k4: f32[2,1,2,2] = [1.0, 2.0, -3.0, 4.0, 5.0, 0.0, 0.0, 0.0]\n"
    "  const %by: f32[] = 256.0\n  const %by_less: f32[] = 255.0\n"
    "  const %mask: f32[2] = [-10000.0, 0.0]\n"
    "  const %eight: f32[2] = [8.0, -3.0]\n";

typedef struct analysis {
  tl_module *m;
  tl_arena arena;
  tl_range_findings found;
} analysis;

static void analyse(analysis *a, const char *lines, double least) {
  static const char *const names[] = {"x", "c", "n", "col", "v", "more_v"};
  tl_measured_range measured[6];
  char text[8192];
  tl_diag d = {0};
  for (size_t i = 0; i < 6; i++)
    measured[i] = (tl_measured_range){tl_sv_from(names[i]), least, 2};
  const tl_precision_config c = {
      .mode = TL_PRECISION_MIX_FP16,
      .ranges = {.on = true, .max_depth = 1 << 20, .measured = measured, .n_measured = 6}};
  *a = (analysis){0};
  tl_arena_init(&a->arena, 0);
  snprintf(text, sizeof text, "%s  %s\n}\n", head, lines);
  tl_status status = tl_module_parse(&d, "bounds", tl_sv_from(text), &a->m);
  if (status != TL_OK)
    printf("\n  %s", lines);
  CU_ASSERT_EQUAL_FATAL(status, TL_OK);
  CU_ASSERT_EQUAL_FATAL(tl_precision_ranges_find(a->m, &c, &a->arena, &a->found), TL_OK);
}

static void finish(analysis *a) {
  tl_module_destroy(a->m);
  tl_arena_release(&a->arena);
}

static tl_value_id value_of(const analysis *a, const char *name) {
  return tl_graph_find_value(a->m, tl_module_main(a->m), tl_sv_from(name));
}

static const tl_interval *bound_of(const analysis *a, const char *name) {
  return &a->found.values[value_of(a, name)];
}

static const char *why_of(const analysis *a, const char *name) {
  const char *why = a->found.why[tl_value_producer(a->m, value_of(a, name))];
  return why ? why : "";
}

/* Weights that are known bound a sum by what the weights of one output add up to, positive and
 * negative ones apart. */
static void graphs_have_close_bounds(void) {
  static const struct {
    const char *lines;
    double low, high;
  } rows[] = {
      /* columns (1, 4), (2, 5), (-3, -6) */
      {"%y = MatMul(%x, %w) : f32[1,3]", -18, 14},
      /* rows (1, 2, -3) and (4, 5, -6) */
      {"%y = MatMul(%w, %col) : f32[2,1]", -21, 24},
      {"%y = MatMul(%v, %w1) : f32[]", -9, 12},
      {"%y = MatMul(%w1, %v) : f32[]", -9, 12},
      {"%y = Gemm(%x, %w) : f32[1,3]", -18, 14},
      /* rows (1, 2), (-3, 4), (5, -6) */
      {"%y = Gemm(%x, %wt) {transB=1} : f32[1,3]", -17, 16},
      /* columns (1, -3, 5), (2, 4, -6) */
      {"%y = Gemm(%wt, %col) {transA=1} : f32[2,1]", -18, 18},
      {"%y = Gemm(%x, %w) {alpha=-2.0} : f32[1,3]", -28, 36},
      {"%y = Gemm(%x, %w, %eight) {alpha=0.5, beta=2.0} : f32[1,3]", -15, 23},
      /* channels: 1 + 2 + 4 and -3; 1 and -1 - 2 - 3 */
      {"%y = Conv(%c, %k) : f32[1,2,4,3]", -13, 17},
      /* from both channels: 1 + 2 and -1 - 2; 4 + 1 and -3 - 3 */
      {"%y = ConvTranspose(%c, %k) : f32[1,2,4,5]", -17, 16},
      /* all numbers of both kernels may meet in one output: 1 + 2 + 4 + 5 and -3 */
      {"%y = ConvTranspose(%c, %k4) : f32[1,1,5,5]", -18, 27},
      /* the groups apart: 1 + 2; 4 and -3; -1 - 2; 1 and -3 */
      {"%y = ConvTranspose(%c, %k) {group=2} : f32[1,4,4,5]", -10, 11},
      /* x, and 4 x - 1 */
      {"%y = BatchNormalization(%n, %two, %shift, %mean, %var) {epsilon=0.0} : f32[1,2,1,1]", -5,
       7},
      {"%y = BatchNormalization(%n, %two, %shift, %mean, %shift) {epsilon=0.0} : f32[1,2,1,1]",
       UNKNOWN},
      /* each is at most the root of 2 times the scale */
      {"%y = LayerNormalization(%u, %two) {epsilon=0.0} : f32[1,2]", -2.828427, 2.828427},
      /* means of values, or 0 where all is masked */
      {"%y = Attention(%q, %q, %more_v) : f32[1,1,2,2]", -1, 2},
      {"%y = Identity(%inf) : f32[2]", 1, INFINITY},
      {"%y = Identity(%less) : f32[2]", -INFINITY, 3},
      {"%y = Identity(%u) : f32[1,2]", UNKNOWN},
      {"%y = Relu(%u) : f32[1,2]", 0, INFINITY},
      {"%y = Concat(%x, %eight, %x) {axis=0} : f32[1,2]", -3, 8},
      {"%g = ReduceMax(%u) : f32[1,1]\n  %y = Sub(%u, %g) : f32[1,2]", -INFINITY, 0},
      {"%s = Sigmoid(%u) : f32[1,2]\n  %y = Sub(%s, %x) : f32[1,2]", -2, 2},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    analysis a;
    analyse(&a, rows[i].lines, -1);
    expect(rows[i].lines, bound_of(&a, "y"), rows[i].low, rows[i].high);
    finish(&a);
  }
}

/* A number that is cast to f16 may be rounded away from 0: -1.0005 becomes -1.0009765625. */
static void rounding_stays_inside(void) {
  analysis a;
  analyse(&a, "%h = Cast(%x) {to=10} : f16[1,2]\n  %y = Cast(%h) {to=1} : f32[1,2]", -1.0005);
  CU_ASSERT_TRUE(bound_of(&a, "h")->low <= -1.0009765625);
  CU_ASSERT_TRUE(bound_of(&a, "h")->low >= -1.003);
  CU_ASSERT_TRUE(bound_of(&a, "y")->low <= -1.0009765625);
  finish(&a);
}

typedef struct reason {
  const char *lines;
  const char *node; /* the result of the node that is asked about */
  const char *why;
} reason;

static void check_reasons(const reason *rows, size_t n) {
  for (size_t i = 0; i < n; i++) {
    analysis a;
    analyse(&a, rows[i].lines, -1);
    const char *why = why_of(&a, rows[i].node);
    if (strcmp(why, rows[i].why) != 0)
      printf("\n  %s\n  %s: '%s'", rows[i].lines, rows[i].node, why);
    CU_ASSERT_STRING_EQUAL(why, rows[i].why);
    finish(&a);
  }
}

/* What would become 0 is followed to the op that needs it, and f16 holds 65504. */
static void constants_speak(void) {
  static const reason rows[] = {
      {"%e = Add(%x, %tiny) : f32[1,2]\n  %r = Reshape(%e, %u) : f32[1,2]\n"
       "  %y = Div(%x, %r) : f32[1,2]",
       "e", "the constant `tiny` would become 0, and a later op needs it"},
      {"%e = Add(%x, %tiny) : f32[1,2]\n  %r = Reshape(%e, %u) : f32[1,2]\n"
       "  %y = Div(%x, %r) : f32[1,2]",
       "y", "`r` carries an epsilon that would become 0"},
      /* what only moves numbers between two wide nodes stays wide with them */
      {"%e = Min(%x, %more) : f32[1,2]\n  %r = Reshape(%e, %u) : f32[1,2]\n"
       "  %y = Max(%r, %more) : f32[1,2]",
       "r", "it only moves data between nodes that keep f32"},
      {"%y = Div(%x, %tiny) : f32[1,2]", "y",
       "the constant `tiny` would become 0, and the op needs it"},
      {"%y = Mul(%x, %tiny) : f32[1,2]", "y", ""},
      {"%y = Min(%x, %most) : f32[1,2]", "y", ""},
      {"%y = Min(%x, %more) : f32[1,2]", "y", "the constant `more` holds 65536, beyond 65504"},
      {"%y = Min(%x, %inf) : f32[1,2]", "y",
       "the constant `inf` holds numbers that are not finite"},
  };
  check_reasons(rows, sizeof rows / sizeof *rows);
}

/* What later ops need of a value is followed back to it, with the op that needs it. */
static void users_speak(void) {
  static const reason rows[] = {
      /* the farthest need counts: that of the divisor goes before that of the square */
      {"%a = Add(%x, %u) : f32[1,2]\n  %y = Div(%u, %a) : f32[1,2]\n"
       "  %s = Mul(%a, %a) : f32[1,2]",
       "a", "`Div` divides by its result"},
      {"%a = Add(%x, %u) : f32[1,2]\n  %s = Mul(%a, %a) : f32[1,2]\n"
       "  %y = Div(%u, %a) : f32[1,2]",
       "a", "`Div` divides by its result"},
      /* a sum that is divided by 256 was 256 times as large */
      {"%p = MatMul(%u, %col) : f32[1,2]\n  %y = Div(%p, %by) : f32[1,2]", "p",
       "it grows fast and nothing bounds its operand"},
      {"%p = MatMul(%u, %col) : f32[1,2]\n  %y = Div(%p, %by_less) : f32[1,2]", "p", ""},
      {"%y = Add(%mask, %mask) : f32[2]", "y", "it adds masks up"},
      {"%y = Add(%mask, %mean) : f32[2]", "y", ""},
      {"%y = Add(%u, %mask) : f32[1,2]", "y", ""},
      /* what is normalised does not hang on the size of its operand */
      {"%a = Add(%x, %u) : f32[1,2]\n  %n2 = LayerNormalization(%a, %two) : f32[1,2]\n"
       "  %y = Div(%u, %n2) : f32[1,2]",
       "a", ""},
      {"%a = Add(%x, %u) : f32[1,2]\n  %n2 = Neg(%a) : f32[1,2]\n  %y = Div(%u, %n2) : f32[1,2]",
       "a", "`Div` divides by its result"},
      {"%a = Add(%x, %u) : f32[1,2]\n  %y = Sin(%a) : f32[1,2]", "a",
       "`Sin` takes its result as an angle"},
  };
  check_reasons(rows, sizeof rows / sizeof *rows);
}

/* ---- growth ---------------------------------------------------------------------------------- */

enum { BIG = TL_GROWTH_BIG, TINY = TL_GROWTH_TINY, INVERSE = TL_GROWTH_INVERSE };

static tl_grown computed(double size, unsigned flags) {
  return (tl_grown){{(float)size, (uint8_t)flags}, {UNKNOWN, 0}, false};
}

static tl_grown constant(double low, double high) {
  tl_interval x = {low, high, 0};
  return (tl_grown){tl_growth_of_constant(&x), x, true};
}

static void expect_growth(tl_growth_case c, const tl_grown *in, uint32_t n, double size,
                          unsigned flags) {
  c.in = in;
  c.n = n;
  tl_growth y = tl_growth_apply(&c);
  if (fabs((double)y.size - size) > 1e-3 || y.flags != flags)
    printf("\n  kind %d of %u: size %g, flags %u, not %g, %u", (int)c.kind, n, (double)y.size,
           y.flags, size, flags);
  CU_ASSERT_DOUBLE_EQUAL((double)y.size, size, 1e-3);
  CU_ASSERT_EQUAL(y.flags, flags);
}

/* Sizes are powers of two: products add them, roots of sums of n add half of log2(n). */
static void sums_grow_with_their_number(void) {
  const tl_grown one[] = {computed(3, 0)};
  const tl_grown halves[] = {computed(3, 0), constant(0.5, 0.5)};
  const tl_grown zeros[] = {computed(3, 0), constant(0, 0)};
  expect_growth((tl_growth_case){.kind = TL_RANGE_SUM, .elements = 16}, one, 1, 7, 0);
  expect_growth((tl_growth_case){.kind = TL_RANGE_SUM}, one, 1, 11, 0); /* 256 if unknown */
  expect_growth((tl_growth_case){.kind = TL_RANGE_SUM, .elements = 1}, one, 1, 3, 0);
  expect_growth((tl_growth_case){.kind = TL_RANGE_L2, .elements = 16}, one, 1, 5, 0);
  expect_growth((tl_growth_case){.kind = TL_RANGE_SQUARES, .elements = 16}, one, 1, 10, TINY);
  expect_growth((tl_growth_case){.kind = TL_RANGE_SQUARE}, one, 1, 6, TINY);
  /* equal weights make a mean; weights of 0 do not */
  expect_growth((tl_growth_case){.kind = TL_RANGE_MATMUL, .product = true, .elements = 16}, halves,
                2, 6, 0);
  expect_growth((tl_growth_case){.kind = TL_RANGE_MATMUL, .product = true, .elements = 16}, zeros,
                2, 3, 0);
}

static void factors_cancel(void) {
  const tl_grown big[] = {computed(20, BIG), constant(0.25, 0.25)};
  const tl_grown inverse[] = {computed(20, BIG), computed(4, INVERSE)};
  const tl_grown equal[] = {computed(20, BIG), computed(20, INVERSE)};
  const tl_grown single[] = {computed(3, 0)};
  expect_growth((tl_growth_case){.kind = TL_RANGE_MUL}, big, 2, 18, BIG);
  expect_growth((tl_growth_case){.kind = TL_RANGE_MUL}, inverse, 2, 16, 0);
  /* of two sizes that cancel an ordinary number is left */
  expect_growth((tl_growth_case){.kind = TL_RANGE_MUL}, equal, 2, TL_GROWTH_PLAIN, 0);
  /* a product of which one factor alone is known */
  expect_growth((tl_growth_case){.kind = TL_RANGE_MUL}, single, 1, 3, 0);
}

/* A product and a sum at once grow like the two ops. */
static void multiply_and_add(void) {
  const tl_grown plain[] = {computed(20, BIG), constant(0.25, 0.25), computed(19, BIG)};
  const tl_grown last[] = {computed(20, BIG), computed(19, BIG), constant(0.25, 0.25)};
  expect_growth((tl_growth_case){.kind = TL_RANGE_MULADD}, plain, 3, 19, BIG);
  expect_growth((tl_growth_case){.kind = TL_RANGE_MULADD, .least = 1}, last, 3, 19, BIG);
  const tl_grown other[] = {computed(20, BIG), constant(4, 4), computed(19, BIG)};
  const tl_grown other_last[] = {computed(20, BIG), computed(19, BIG), constant(4, 4)};
  expect_growth((tl_growth_case){.kind = TL_RANGE_MULADD}, other, 3, 22, BIG);
  expect_growth((tl_growth_case){.kind = TL_RANGE_MULADD, .least = 1}, other_last, 3, 22, BIG);
}

/* A bound within the lower dtype limits the size; its greatest number is within it. */
static void bounds_limit_sizes(void) {
  const tl_growth big = {20, BIG | TINY};
  static const struct {
    tl_interval y;
    double size;
    unsigned flags;
  } rows[] = {
      {{-4, 4, 0}, 2, TINY},          {{1, 4, 0}, 2, 0},
      {{0, 65504, 0}, 15.9993, TINY}, {{0, 65505, 0}, 20, BIG | TINY},
      {{UNKNOWN, 0}, 20, BIG | TINY}, {{-0.25, 0.5, 0}, 0, TINY},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    tl_growth g = tl_growth_within(big, &rows[i].y, 65504);
    CU_ASSERT_DOUBLE_EQUAL((double)g.size, rows[i].size, 1e-3);
    CU_ASSERT_EQUAL(g.flags, rows[i].flags);
  }
  /* numbers below 1 do not make others smaller */
  CU_ASSERT_EQUAL(tl_growth_of_constant(&(tl_interval){-0.25, 0.5, 0}).size, 0);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

typedef struct told {
  const tl_module *m;
  char text[512];
} told;

static void tell(void *user, const tl_body_link *l) {
  static const char *const kinds[] = {
      [TL_LINK_IN] = "in", [TL_LINK_TURN] = "turn", [TL_LINK_OUT] = "out"};
  told *t = user;
  size_t n = strlen(t->text);
  snprintf(t->text + n, sizeof t->text - n, "%.*s-%.*s %s%s ",
           TL_SV_ARG(tl_value_name(t->m, l->from)), TL_SV_ARG(tl_value_name(t->m, l->to)),
           kinds[l->kind], l->again ? " again" : "");
}

/* ONNX says which operand is which input of a body. A Loop hands on what follows its two counters,
 * and takes what its body gives behind the condition: states, which come in again, then lists. A
 * Scan has its states first and then what it scans, of which a state has no part. */
static void bodies_are_linked(void) {
  static const struct {
    const char *node;
    const char *links;
  } rows[] = {
      {"%r, %l = Loop(%n, %c, %x) {body=graph @b(%i: i64[], %go: bool[], %s: f32[2]) -> (%on, %t, "
       "%u) {\n%on = Identity(%go)\n%t = Neg(%s)\n%u = Abs(%s)\n}}",
       "x-s in t-s turn t-r out u-l out "},
      {"%r, %l = Scan(%x, %m) {num_scan_inputs=1, body=graph @b(%s: f32[2], %e: f32[2]) -> (%t, "
       "%u) {\n%t = Add(%s, %e)\n%u = Neg(%e)\n}}",
       "x-s in m-e in t-s turn t-r out u-l out "},
      {"%r = If(%c) {then_branch=graph @a() -> (%t) {\n%t = Neg(%x)\n}, else_branch=graph @b() -> "
       "(%u) {\n%u = Abs(%x)\n}}",
       "t-r out u-r out again "},
      {"%r = Neg(%x)", ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[1024];
    tl_diag d = {0};
    tl_module *m = NULL;
    snprintf(text, sizeof text,
             "graph @g(%%n: i64[], %%c: bool[], %%x: f32[2], %%m: f32[3,2]) -> (%%r) {\n%s\n}\n",
             rows[i].node);
    CU_ASSERT_EQUAL_FATAL(tl_module_parse(&d, "links", tl_sv_from(text), &m), TL_OK);
    told t = {.m = m};
    tl_body_links(m, tl_module_main(m)->first, tell, &t);
    CU_ASSERT_STRING_EQUAL(t.text, rows[i].links);
    if (strcmp(t.text, rows[i].links) != 0)
      printf("\n  %s", t.text);
    tl_module_destroy(m);
  }
}

static const unit_test tests[] = {{"ops have close bounds", ops_have_close_bounds},
                                  {"sums keep their sign", sums_keep_their_sign},
                                  {"graphs have close bounds", graphs_have_close_bounds},
                                  {"rounding stays inside", rounding_stays_inside},
                                  {"constants speak", constants_speak},
                                  {"users speak", users_speak},
                                  {"sums grow with their number", sums_grow_with_their_number},
                                  {"factors cancel", factors_cancel},
                                  {"multiply and add", multiply_and_add},
                                  {"bounds limit sizes", bounds_limit_sizes},
                                  {"bodies are linked", bodies_are_linked},
                                  {NULL, NULL}};

const unit_suite unit_suite_precision_bounds = {"precision_bounds", tests};
