/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions: against long double, at special values, and fixed bit patterns, as their
 * bits must be the same everywhere. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ir/eval/math/elementary.h"
#include "tests/unit/unit.h"

enum { SAMPLES = 40000 };

static uint64_t next_random(uint64_t *s) {
  *s ^= *s << 13;
  *s ^= *s >> 7;
  return *s ^= *s << 17;
}

static double unit_random(uint64_t *s) { return (double)(next_random(s) >> 11) * 0x1p-53; }

/* Distance in units of the last place of a float with `digits` bits and least exponent `least`. */
static double distance(double got, long double want, int digits, int least) {
  if ((isnan(got) && isnan(want)) || (long double)got == want)
    return 0;
  if (isinf(got) || isnan(got))
    return fabsl(want) >= ldexpl(1, 2 - least) ? 0 : HUGE_VAL;
  int e;
  (void)frexpl(want, &e);
  return (double)(fabsl((long double)got - want) / ldexpl(1, (e < least ? least : e) - digits));
}

/* Of any size between 2^-below and 2^(range - below), of any sign. */
static double any_size(uint64_t *s, unsigned range, int below) {
  double m = unit_random(s) * 2 - 1;
  return ldexp(m, (int)(next_random(s) % range) - below);
}

typedef struct function {
  const char *name;
  double (*ours)(double);
  long double (*reference)(long double);
  double low; /* a range, sampled evenly; every third sample is of any size with `low`'s signs */
  double high;
  double bound;
} function;

#define ROW(f, low, high, bound)                                                                   \
  { #f, tl_##f, f##l, low, high, bound }
static const function functions[] = {
    ROW(exp, -746, 711, 1.0), ROW(exp2, -1076, 1025, 1.0), ROW(expm1, -2, 2, 1.0),
    ROW(log, 0, 3, 0.55),     ROW(log1p, -0.99, 1, 0.55),  ROW(log2, 0, 3, 0.55),
    ROW(log10, 0, 3, 0.55),   ROW(sin, -10, 10, 1.0),      ROW(cos, -10, 10, 1.0),
    ROW(tan, -10, 10, 1.0),   ROW(asin, -1, 1, 0.55),      ROW(acos, -1, 1, 0.55),
    ROW(atan, -8, 8, 0.55),   ROW(sinh, -3, 3, 1.0),       ROW(cosh, -3, 3, 1.0),
    ROW(tanh, -3, 3, 1.0),    ROW(asinh, -3, 3, 0.55),     ROW(acosh, 1, 4, 0.55),
    ROW(atanh, -1, 1, 0.55),  ROW(erf, -6, 6, 1.6)};
#undef ROW
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

static double sample(const function *f, int i, uint64_t *s) {
  if (i % 3)
    return f->low + (f->high - f->low) * unit_random(s);
  double x = any_size(s, 2080, 1060);
  return f->low >= 0 ? fabs(x) : x;
}

/* The reference is good to 64 bits where long double is. */
static void functions_are_close(void) {
  uint64_t s = 88172645463325252u;
  for (int k = 0; k < N_FUNCTIONS; k++) {
    const function *f = &functions[k];
    double worst = 0, at = 0;
    for (int i = 0; LDBL_MANT_DIG >= 64 && i < SAMPLES; i++) {
      double x = sample(f, i, &s);
      double d = distance(f->ours(x), f->reference((long double)x), 53, -1021);
      if (d > worst) {
        worst = d;
        at = x;
      }
    }
    if (worst > f->bound)
      printf("\n  %s is off by %g at %.17g", f->name, worst, at);
    CU_ASSERT_TRUE(worst <= f->bound);
  }
}

static void two_arguments_are_close(void) {
  uint64_t s = 1234567;
  double worst = 0;
  for (int i = 0; LDBL_MANT_DIG >= 64 && i < 5 * SAMPLES; i++) {
    double x = any_size(&s, 100, 50);
    double y = any_size(&s, 20, 10);
    y = i & 1 ? rint(y) : y;
    long double wide_x = (long double)x, wide_y = (long double)y;
    worst = fmax(worst, distance(tl_pow(x, y), powl(wide_x, wide_y), 53, -1021));
    worst = fmax(worst, distance(tl_atan2(y, x), atan2l(wide_y, wide_x), 53, -1021));
  }
  CU_ASSERT_TRUE(worst <= 1.0);
}

/* Where long double is double, as on armhf, the C library's own result is off by up to a unit. */
enum { REFERENCE = LDBL_MANT_DIG > DBL_MANT_DIG ? 0 : 1 };

static void special_values_are_those_of_annex_f(void) {
  static const double values[] = {0.0,     -0.0,  HUGE_VAL, -HUGE_VAL, (double)NAN, 1,
                                  -1,      2,     -3,       0.5,       -0.5,        5e-324,
                                  -1e-310, 1e308, -1e308,   0x1p53,    -0x1p53 - 2, 1e22};
  enum { N = sizeof values / sizeof *values };
  for (int i = 0; i < N; i++) {
    double x = values[i];
    for (int k = 0; k < N_FUNCTIONS; k++) {
      long double want = functions[k].reference((long double)x);
      double got = functions[k].ours(x);
      bool good = distance(got, want, 53, -1021) <= functions[k].bound + REFERENCE &&
                  (isnan(got) || !signbit(got) == !signbit(want));
      if (!good)
        printf("\n  %s(%g) is %.17g, expected %.17Lg", functions[k].name, x, got, want);
      CU_ASSERT_TRUE(good);
    }
    for (int k = 0; k < N; k++) {
      double y = values[k], p = tl_pow(x, y), q = pow(x, y), a = tl_atan2(x, y), b = atan2(x, y);
      CU_ASSERT_TRUE((isnan(p) && isnan(q)) || (p == q && !signbit(p) == !signbit(q)));
      CU_ASSERT_TRUE((isnan(a) && isnan(b)) ||
                     (fabs(a - b) <= 0x1p-52 * fabs(b) && !signbit(a) == !signbit(b)));
    }
  }
}

/* Computed once; a difference means that results are no longer reproducible. */
static void bits_are_fixed(void) {
  CU_ASSERT_EQUAL(tl_exp(1), 0x1.5bf0a8b145769p+1);
  CU_ASSERT_EQUAL(tl_log(10), 0x1.26bb1bbb55516p+1);
  CU_ASSERT_EQUAL(tl_sin(1e22), -0x1.b453ab76bf397p-1);
  CU_ASSERT_EQUAL(tl_pow(3, 2), 9);
  CU_ASSERT_EQUAL(tl_pow(10, -2), 0.01);
  CU_ASSERT_EQUAL(tl_log2(8), 3);
  CU_ASSERT_EQUAL(tl_log10(1000), 3);
  CU_ASSERT_EQUAL(tl_exp2(-3), 0.125);
  const uint64_t fixed = UINT64_C(0x9309f3595104bcd1);
  uint64_t s = 42, hash = 0;
  for (int i = 0; i < SAMPLES; i++)
    for (int k = 0; k < N_FUNCTIONS; k++) {
      double v = functions[k].ours(sample(&functions[k], i, &s));
      uint64_t bits;
      memcpy(&bits, &v, sizeof bits);
      hash = (hash ^ (isnan(v) ? 1 : bits)) * UINT64_C(0x9e3779b97f4a7c15);
      hash ^= hash >> 29;
    }
  if (hash != UINT64_C(0x9309f3595104bcd1))
    printf("\n  the hash of all bits is 0x%llx", (unsigned long long)hash);
  CU_ASSERT_EQUAL(hash, fixed);
}

typedef struct array_function {
  const char *name;
  void (*ours)(const float *x, float *y, size_t n);
  double (*reference)(double);
} array_function;

static void f32_forms_are_close(void) {
  static const array_function arrays[] = {{"expf", tl_expf_n, tl_exp},
                                          {"tanhf", tl_tanhf_n, tl_tanh},
                                          {"sigmoidf", tl_sigmoidf_n, tl_sigmoid},
                                          {"erff", tl_erff_n, tl_erf}};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
    double worst = 0;
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 70001 * 100) {
      float x[100], y[100];
      for (uint64_t i = 0; i < 100; i++) {
        uint32_t b = (uint32_t)(bits + i * 70001);
        memcpy(&x[i], &b, sizeof b);
      }
      arrays[k].ours(x, y, 100);
      for (int i = 0; i < 100; i++) {
        float want = (float)arrays[k].reference((double)x[i]); /* may overflow f32 */
        double d = isinf(want) ? (y[i] == want ? 0 : HUGE_VAL)
                               : distance((double)y[i], (long double)want, 24, -125);
        worst = fmax(worst, d);
      }
    }
    if (worst > 3)
      printf("\n  %s is off by %g", arrays[k].name, worst);
    CU_ASSERT_TRUE(worst <= 3);
  }
}

static const unit_test tests[] = {
    {"functions are close", functions_are_close},
    {"pow and atan2 are close", two_arguments_are_close},
    {"special values are those of Annex F", special_values_are_those_of_annex_f},
    {"bits are fixed", bits_are_fixed},
    {"f32 forms are close", f32_forms_are_close},
    {NULL, NULL},
};

const unit_suite unit_suite_eval_math = {"eval_math", tests};
