/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges: what measured ones may look like, and that no number leaves an interval. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "frontend/config/precision.h"
#include "passes/precision/intervals.h"
#include "tests/unit/unit.h"

/* ---- files ----------------------------------------------------------------------------------- */

typedef struct reading {
  tl_arena arena;
  tl_range_policy p;
  char said[2048];
} reading;

static void remember(void *user, const tl_diagnostic *d) {
  reading *r = user;
  size_t n = strlen(r->said);
  snprintf(r->said + n, sizeof r->said - n, "%u:%u %s %s\n", d->where.line, d->where.column,
           d->code ? d->code : "-", d->message);
}

static tl_status read_text(reading *r, tl_sv text) {
  tl_diag diag = {.fn = remember, .user = r};
  *r = (reading){0};
  tl_arena_init(&r->arena, 0);
  tl_status status = tl_read_ranges_text(&diag, &r->arena, "f", text, &r->p);
  CU_ASSERT_EQUAL(status == TL_OK, diag.errors == 0);
  return status;
}

static void both_forms_are_taken(void) {
  static const char *const texts[] = {
      "{\"tensors\": [{\"name\": \"a\", \"dtype\": \"f32\", \"min\": -2, \"max\": 7e4},\n"
      "{\"name\": \"b\", \"min\": null, \"max\": null},\n"
      "{\"name\": \"c\", \"min\": 1, \"max\": 1}]}",
      "{\"a\": {\"max\": 7e4, \"min\": -2}, \"c\": {\"min\": 1, \"max\": 1, \"mean\": 1}}"};
  for (size_t i = 0; i < 2; i++) {
    reading r;
    CU_ASSERT_EQUAL(read_text(&r, tl_sv_from(texts[i])), TL_OK);
    CU_ASSERT_EQUAL_FATAL(r.p.n_measured, 2); /* b had no finite number */
    CU_ASSERT_TRUE(tl_sv_is(r.p.measured[0].name, "a"));
    CU_ASSERT_EQUAL(r.p.measured[0].least, -2);
    CU_ASSERT_EQUAL(r.p.measured[0].greatest, 7e4);
    CU_ASSERT_TRUE(tl_sv_is(r.p.measured[1].name, "c"));
    tl_arena_release(&r.arena);
  }
}

static void what_is_wrong_is_said_where_it_is(void) {
  static const struct {
    const char *text;
    const char *said;
  } cases[] = {
      {"", "1:1 E21002 not JSON"},
      {"[1]", "1:1 E21002 'the top level' must be an object, it is an array"},
      {"{\"a\": 3}", "1:2 E21002 'a' must be an object with min and max, it is a number"},
      {"{\"a\": {\"min\": 3}}", "E21002 'a' needs both a min and a max; it has no max"},
      {"{\n\"a\": {\"min\": \"3\", \"max\": 4}}",
       "2:7 E21002 'a' must have numbers for min and max, not a string"},
      {"{\"a\": {\"min\": 5, \"max\": 4}}", "E21002 'a' has a min above its max"},
      {"{\"tensors\": [{\"min\": 5, \"max\": 4}]}",
       "E21002 'tensors' must hold objects with a name, a min and a max"},
      {"{\"tensors\": [7]}", "E21002 'tensors' must hold objects"},
      {"{\"tensors\": 7}", "E21002 'tensors' must be an object with min and max"},
      {"{\"a\": {\"min\": NaN, \"max\": 4}}", "E21002 not JSON"},
      {"{\"a\xff\": {\"min\": 1, \"max\": 4}}", "E21002 not JSON"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    reading r;
    CU_ASSERT_NOT_EQUAL(read_text(&r, tl_sv_from(cases[i].text)), TL_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.said, cases[i].said));
    if (!strstr(r.said, cases[i].said))
      printf("\n  '%s' is not in:\n%s", cases[i].said, r.said);
    tl_arena_release(&r.arena);
  }
}

/* ---- intervals ------------------------------------------------------------------------------- */

static double random_between(uint64_t *state, double low, double high) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return low + (high - low) * (double)(*state >> 11) / 9007199254740992.0;
}

static tl_interval random_interval(uint64_t *state, double most) {
  /* ends are numbers of f32, as those of constants are, so that points round to inside */
  double a = (double)(float)random_between(state, -most, most);
  double b = (double)(float)random_between(state, -most, most);
  return (tl_interval){fmin(a, b), fmax(a, b), TL_RANGE_TIGHT};
}

static float compute(tl_range_kind kind, float x, float y) {
  switch (kind) {
  case TL_RANGE_UNION: return x;
  case TL_RANGE_RELU: return fmaxf(x, 0);
  case TL_RANGE_ADD: return x + y;
  case TL_RANGE_SUB: return x - y;
  case TL_RANGE_MUL: return x * y;
  case TL_RANGE_DIV: return x / y;
  case TL_RANGE_NEG: return -x;
  case TL_RANGE_ABS: return fabsf(x);
  case TL_RANGE_SQUARE: return x * x;
  case TL_RANGE_SQRT: return x < 0 ? 0 : sqrtf(x);
  case TL_RANGE_EXP: return expf(x);
  case TL_RANGE_MIN: return fminf(x, y);
  case TL_RANGE_MAX: return fmaxf(x, y);
  default: return x;
  }
}

static void check_inside(tl_range_kind kind, const tl_interval *y, double v) {
  CU_ASSERT_TRUE(isnan(v) || (v >= y->low && v <= y->high));
  if (v < y->low || v > y->high)
    printf("\n  kind %d: %g is not in [%g, %g]", (int)kind, v, y->low, y->high);
}

/* Points of the operands, their ends among them, give points of the result. */
static void no_number_leaves_its_interval(void) {
  uint64_t state = 7;
  for (int i = 0; i < 20000; i++) {
    tl_range_kind kind = (tl_range_kind)(TL_RANGE_UNION + i % (TL_RANGE_MAX - TL_RANGE_UNION + 1));
    if (kind == TL_RANGE_CLIP || kind == TL_RANGE_GATE || kind == TL_RANGE_POW)
      continue;
    tl_interval in[2] = {random_interval(&state, i % 3 ? 50 : 1e5),
                         random_interval(&state, i % 5 ? 3 : 1e6)};
    bool two = (kind >= TL_RANGE_ADD && kind <= TL_RANGE_DIV) || kind == TL_RANGE_MIN ||
               kind == TL_RANGE_MAX || kind == TL_RANGE_UNION;
    tl_interval y = tl_interval_apply(kind, 0, in, two ? 2 : 1, 0);
    for (int k = 0; k < 4; k++) {
      double a = k == 0   ? in[0].low
                 : k == 1 ? in[0].high
                          : random_between(&state, in[0].low, in[0].high);
      double b = k & 1 ? in[1].low : random_between(&state, in[1].low, in[1].high);
      check_inside(kind, &y, (double)compute(kind, (float)a, (float)b));
    }
  }
}

static void powers_and_sums_stay_inside(void) {
  uint64_t state = 11;
  for (int i = 0; i < 2000; i++) {
    tl_interval in[2] = {random_interval(&state, 20), {i % 5, i % 5, TL_RANGE_TIGHT}};
    tl_interval p = tl_interval_apply(TL_RANGE_POW, 0, in, 2, 0);
    int n = 1 + i % 40;
    tl_interval s = tl_interval_apply(TL_RANGE_SUM, 0, in, 1, n);
    tl_interval q = tl_interval_apply(TL_RANGE_SQUARES, 0, in, 1, n);
    tl_interval l = tl_interval_apply(TL_RANGE_LOGSUM, 0, in, 1, n);
    tl_interval c = tl_interval_apply(TL_RANGE_CUMSUM, 0, in, 1, n);
    float sum = 0, squares = 0, exponents = 0;
    for (int k = 0; k < n; k++) {
      float x = (float)random_between(&state, in[0].low, in[0].high);
      sum += x;
      squares += x * x;
      exponents += expf(x);
      check_inside(TL_RANGE_CUMSUM, &c, (double)sum);
      check_inside(TL_RANGE_POW, &p, (double)powf(x, (float)(i % 5)));
    }
    check_inside(TL_RANGE_SUM, &s, (double)sum);
    check_inside(TL_RANGE_SQUARES, &q, (double)squares);
    check_inside(TL_RANGE_LOGSUM, &l, (double)logf(exponents));
  }
}

static void what_is_unknown_stays_so(void) {
  tl_interval in[2] = {tl_interval_unknown(), {0, 6, TL_RANGE_TIGHT}};
  tl_interval y = tl_interval_apply(TL_RANGE_ADD, 0, in, 2, 0);
  CU_ASSERT_TRUE(isinf(y.low) && isinf(y.high) && !(y.flags & TL_RANGE_TIGHT));
  y = tl_interval_apply(TL_RANGE_DIV, 0, (tl_interval[]){in[1], in[1]}, 2, 0);
  CU_ASSERT_TRUE(isinf(y.high)); /* the divisor may be 0 */
  y = tl_interval_apply(TL_RANGE_RELU, 0, in, 1, 0);
  CU_ASSERT_TRUE(y.low == 0 && isinf(y.high));
  y = tl_interval_apply(TL_RANGE_SUM, 0, &in[1], 1, 0); /* of how many, nobody knows */
  CU_ASSERT_TRUE(isinf(y.high));
  tl_interval clip[3] = {in[0], {0, 0, TL_RANGE_TIGHT}, {6, 6, TL_RANGE_TIGHT}};
  y = tl_interval_apply(TL_RANGE_CLIP, 0, clip, 3, 0);
  CU_ASSERT_TRUE(y.low == 0 && y.high == 6 && (y.flags & TL_RANGE_TIGHT));
}

static const unit_test tests[] = {
    {"both forms of a file are taken", both_forms_are_taken},
    {"what is wrong is said where it is", what_is_wrong_is_said_where_it_is},
    {"no number leaves its interval", no_number_leaves_its_interval},
    {"powers and sums stay inside", powers_and_sums_stay_inside},
    {"what is unknown stays so", what_is_unknown_stays_so},
    {NULL, NULL}};

const unit_suite unit_suite_precision_ranges = {"precision_ranges", tests};
