/* SPDX-License-Identifier: Apache-2.0 */
/* How values follow a factor (power.h): a gradient is divided by the scale exactly if it carries it
 * once. A wrong answer here divides by a scale that a gradient never had. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/graph.h"
#include "ir/text/parse.h"
#include "passes/edit/values.h"
#include "passes/train/scale/power.h"
#include "tests/unit/unit.h"

enum { LONG = 4097 }; /* one element more than a constant may have to be looked at */

/* s, t and the list of numbers si carry the factor, r its inverse, p and q nothing. */
static const char head[] =
    "module {\n  opset \"\" 21\n  opset \"com.microsoft\" 1\n}\n"
    "graph @g(%s: f32[2,2], %t: f32[2,2], %r: f32[2,2], %p: f32[2,2], %q: f32[2,2], %c: bool[],"
    " %n: i64[], %i: i64[2,1], %si: i64[2]) -> (%y) {\n"
    "  const %zero: f32[2,2] = [0.0, 0.0, 0.0, 0.0]\n"
    "  const %some: f32[2,2] = [0.0, 0.0, 0.0, 1.0]\n"
    "  const %none: f32[0] = []\n";

typedef struct example {
  const char *line; /* defines y */
  tl_power power;
} example;

static void mark(tl_powers *s, bool *fixed, const char *name, tl_power p) {
  tl_value_id v = tl_graph_find_value(s->m, tl_module_main(s->m), tl_sv_from(name));
  s->of[v] = (uint8_t)p;
  fixed[v] = true;
}

/* Returns the power of y. trusted: where nothing is known, the user vouches for it. */
static tl_power power_of(const char *text, bool trusted) {
  tl_diag d = {0};
  tl_module *m = NULL;
  CU_ASSERT_EQUAL_FATAL(tl_module_parse(&d, "power", tl_sv_from(text), &m), TL_OK);
  uint32_t n = tl_module_value_end(m);
  bool *fixed = calloc(n, 1), *trust = calloc(n, 1);
  tl_powers s = {.m = m, .of = calloc(n, 1), .from = calloc(n, sizeof *s.from)};
  CU_ASSERT_FATAL(fixed && trust && s.of && s.from);
  memset(trust, trusted, n);
  s.fixed = fixed;
  s.trusted = trust;
  mark(&s, fixed, "s", TL_POWER_ONCE);
  mark(&s, fixed, "t", TL_POWER_ONCE);
  mark(&s, fixed, "si", TL_POWER_ONCE);
  mark(&s, fixed, "r", TL_POWER_INVERSE);
  tl_power_sweep(&s, tl_module_main(m));
  tl_power p = (tl_power)s.of[tl_graph_find_value(m, tl_module_main(m), TL_SV("y"))];
  CU_ASSERT_FALSE(s.no_memory);
  tl_u32_vec_release(&s.captures);
  free(fixed);
  free(trust);
  free(s.of);
  free(s.from);
  tl_module_destroy(m);
  return p;
}

static tl_power power_of_line(const char *line, bool trusted) {
  char text[4096];
  snprintf(text, sizeof text, "%s  %s\n}\n", head, line);
  return power_of(text, trusted);
}

static void check(const example *rows, size_t n) {
  for (size_t i = 0; i < n; i++) {
    tl_power p = power_of_line(rows[i].line, false);
    if (p != rows[i].power)
      fprintf(stderr, "%s: power %d, not %d\n", rows[i].line, p, rows[i].power);
    CU_ASSERT_EQUAL(p, rows[i].power);
  }
}

static void products(void) {
  static const example rows[] = {
      {"%y = Mul(%s, %p)", TL_POWER_ONCE},
      {"%y = Mul(%p, %s)", TL_POWER_ONCE},
      {"%y = Mul(%p, %q)", TL_POWER_NONE},
      {"%y = Mul(%s, %t)", TL_POWER_OTHER}, /* the square of the scale */
      {"%y = Mul(%s, %r)", TL_POWER_NONE},  /* the scale is gone */
      {"%y = Mul(%r, %r)", TL_POWER_OTHER},
      {"%y = Mul(%s, %zero)", TL_POWER_ANY}, /* 0, whatever the scale */
      {"%y = Mul(%s, %some)", TL_POWER_ONCE},
      {"%y = Div(%s, %p)", TL_POWER_ONCE},
      {"%y = Div(%p, %s)", TL_POWER_INVERSE},
      {"%y = Div(%s, %t)", TL_POWER_NONE},
      {"%y = Div(%s, %r)", TL_POWER_OTHER},
      {"%y = Div(%p, %zero)", TL_POWER_NONE}, /* infinities, whatever the scale */
      {"%y = Div(%s, %zero)", TL_POWER_OTHER},
      {"%y = Reciprocal(%s)", TL_POWER_INVERSE},
      {"%y = Reciprocal(%r)", TL_POWER_ONCE},
      {"%y = Gemm(%s, %p, %t)", TL_POWER_ONCE}, /* the bias carries it, too */
      {"%y = Gemm(%s, %p, %q)", TL_POWER_OTHER},
      {"%y = Gemm(%p, %q, %s)", TL_POWER_OTHER},
      {"%y = Gemm(%s, %p, %zero)", TL_POWER_ONCE},
      {"%y = Gemm(%s, %p)", TL_POWER_ONCE},
      {"%y = Einsum(%s, %p) {equation=\"ij,jk->ik\"}", TL_POWER_ONCE},
      /* No operand of an Einsum is a bias. */
      {"%y = Einsum(%s, %p, %t) {equation=\"ij,jk,kl->il\"}", TL_POWER_OTHER},
      {"%y = Einsum(%p, %q, %s) {equation=\"ij,jk,kl->il\"}", TL_POWER_ONCE},
      {"%y = Einsum(%p, %s, %q, %p) {equation=\"ij,jk,kl,lm->im\"}", TL_POWER_ONCE},
      {"%y = Einsum(%s) {equation=\"ij->ji\"}", TL_POWER_ONCE},
  };
  check(rows, sizeof rows / sizeof *rows);
}

static void sums(void) {
  static const example rows[] = {
      {"%y = Add(%s, %t)", TL_POWER_ONCE},
      {"%y = Add(%s, %p)", TL_POWER_OTHER},
      {"%y = Sub(%p, %s)", TL_POWER_OTHER},
      {"%y = Add(%s, %zero)", TL_POWER_ONCE}, /* zeros are multiplied by anything */
      {"%y = Add(%zero, %s)", TL_POWER_ONCE},
      {"%y = Add(%s, %some)", TL_POWER_OTHER}, /* one element is no zero */
      {"%y = Sum(%s, %t, %p)", TL_POWER_OTHER},
      {"%y = Sum(%s, %t, %zero)", TL_POWER_ONCE},
      {"%y = Concat(%p, %s) {axis=0}", TL_POWER_OTHER},
      {"%y = Concat(%s, %none) {axis=0}", TL_POWER_OTHER}, /* of no elements nothing is said */
      {"%y = Where(%c, %s, %zero)", TL_POWER_ONCE},
      {"%y = Where(%c, %s, %p)", TL_POWER_OTHER},
      {"%y = com.microsoft::ScaledSum(%s, %t) {scale_0=1.0, scale_1=1.0}", TL_POWER_ONCE},
  };
  check(rows, sizeof rows / sizeof *rows);
}

/* Operands that give places or forward values must not carry the factor. */
static void maps(void) {
  static const example rows[] = {
      {"%y = Transpose(%s)", TL_POWER_ONCE},
      {"%y = Reshape(%s, %si)", TL_POWER_OTHER}, /* a shape that is computed from gradients */
      {"%y = com.microsoft::GeluGrad(%s, %p)", TL_POWER_ONCE},
      {"%y = com.microsoft::GeluGrad(%s, %t)", TL_POWER_OTHER},
      {"%y = com.microsoft::GatherGrad(%si, %n, %s) {axis=0}", TL_POWER_OTHER},
      {"%y = com.microsoft::GatherGrad(%n, %n, %s) {axis=0}", TL_POWER_ONCE},
      {"%y = Exp(%s)", TL_POWER_OTHER}, /* not linear */
      {"%y = Exp(%p)", TL_POWER_NONE},
      {"%y = Transpose(%zero)", TL_POWER_ANY},
      {"%y = ConstantOfShape(%i)", TL_POWER_ANY},
      {"%y = ConstantOfShape(%i) {value=f32[1] [1.0]}", TL_POWER_NONE},
      {"%y = Greater(%s, %t)", TL_POWER_NONE}, /* the same in units of the scale */
      {"%y = Greater(%s, %zero)", TL_POWER_NONE},
      {"%y = Greater(%s, %p)", TL_POWER_OTHER},
      {"%y = Sign(%s)", TL_POWER_NONE},
      {"%y = com.microsoft::IsAllFinite(%s)", TL_POWER_NONE},
      {"%y = com.microsoft::IsAllFinite(%s, %t, %r)", TL_POWER_NONE},
  };
  check(rows, sizeof rows / sizeof *rows);
}

static void scatters(void) {
  static const example rows[] = {
      {"%y = ScatterND(%s, %i, %t)", TL_POWER_ONCE},
      {"%y = ScatterND(%zero, %i, %t)", TL_POWER_ONCE}, /* rows of an embedding's gradient */
      {"%y = ScatterND(%p, %i, %t)", TL_POWER_OTHER},
      {"%y = ScatterND(%s, %si, %t)", TL_POWER_OTHER},
      {"%y = ScatterND(%s, %i, %t) {reduction=\"add\"}", TL_POWER_ONCE},
      {"%y = ScatterND(%s, %i, %t) {reduction=\"mul\"}", TL_POWER_OTHER},
      {"%y = Pad(%s, %i)", TL_POWER_ONCE}, /* with zeros */
      {"%y = Pad(%s, %i, %p)", TL_POWER_OTHER},
  };
  check(rows, sizeof rows / sizeof *rows);
}

/* Bodies: what a loop captures counts like an operand; branches of an If must agree. */
static void bodies(void) {
#define LOOP(uses)                                                                                 \
  "%y = Loop(%n, %c, %p) {body=graph @b(%k: i64[], %go: bool[], %a: f32[2,2]) -> (%on, %z) {\n"    \
  "  %on = Identity(%go)\n  %z = Add(%a, " uses ")\n}}"
#define CHOICE(condition, one, other)                                                              \
  "%y = If(" condition ") {then_branch=graph @a() -> (%u) {\n  %u = Identity(" one ")\n},"         \
  "else_branch=graph @b() -> (%v) {\n  %v = Identity(" other ")\n}}"
  static const example rows[] = {
      {LOOP("%q"), TL_POWER_NONE},
      {LOOP("%s"), TL_POWER_OTHER},
      {CHOICE("%c", "%s", "%t"), TL_POWER_ONCE},
      {CHOICE("%c", "%s", "%p"), TL_POWER_OTHER},
      {CHOICE("%c", "%s", "%zero"), TL_POWER_ONCE},
      {CHOICE("%c", "%p", "%q"), TL_POWER_NONE},
      {CHOICE("%si", "%p", "%q"), TL_POWER_OTHER},
  };
  check(rows, sizeof rows / sizeof *rows);
#undef LOOP
#undef CHOICE
}

static void the_user_vouches(void) {
  CU_ASSERT_EQUAL(power_of_line("%y = Exp(%s)", true), TL_POWER_ONCE);
  CU_ASSERT_EQUAL(power_of_line("%y = Exp(%p)", true), TL_POWER_NONE);
}

/* Elements of long constants are not looked at: they are no zeros. */
static void long_constants(void) {
  static char text[LONG * 6 + 2048];
  for (int count = LONG - 1; count <= LONG; count++) {
    int at = snprintf(text, sizeof text, "%s  const %%long: f32[%d] = [0.0", head, count);
    for (int i = 1; i < count; i++)
      at += snprintf(text + at, sizeof text - (size_t)at, ", 0.0");
    snprintf(text + at, sizeof text - (size_t)at, "]\n  %%y = Add(%%s, %%long)\n}\n");
    CU_ASSERT_EQUAL(power_of(text, false), count < LONG ? TL_POWER_ONCE : TL_POWER_OTHER);
  }
}

static const unit_test tests[] = {{"products", products},
                                  {"sums", sums},
                                  {"maps", maps},
                                  {"scatters", scatters},
                                  {"bodies", bodies},
                                  {"the user vouches", the_user_vouches},
                                  {"long constants", long_constants},
                                  {NULL, NULL}};
const unit_suite unit_suite_power = {"power", tests};
