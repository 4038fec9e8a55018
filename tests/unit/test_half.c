/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of halves: every implementation that this processor has gives the bits of the portable one,
 * and the counts are those of a plain loop. */
#include <math.h>
#include <stdlib.h>

#include "ir/half.h"
#include "ir/host.h"
#include "ir/tensor_count.h"
#include "tests/unit/unit.h"

enum { LONGEST = 2100 };

/* Patterns below the fraction that f16 keeps: exact, just above, at and around the midpoint. */
static const uint32_t tails[] = {0, 1, 0x0fff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x3000, 0xffff};
enum { N_TAILS = sizeof tails / sizeof *tails };

static void halves_widen_alike(void) {
  unsigned n;
  const tl_half_unit *const *units = tl_half_units(&n);
  uint16_t *all = malloc(65536 * sizeof *all);
  float *expected = malloc(65536 * sizeof *expected), *got = malloc(65536 * sizeof *got);
  CU_ASSERT_FATAL(all && expected && got);
  for (uint32_t i = 0; i < 65536; i++)
    all[i] = (uint16_t)i;
  units[0]->to_f32(all, expected, 65536);
  CU_ASSERT_EQUAL(expected[0x3c00], 1.0f);
  CU_ASSERT_EQUAL(expected[0x7bff], 65504.0f);
  CU_ASSERT_EQUAL(expected[1], 0x1p-24f);
  for (unsigned u = 1; u < n; u++) {
    units[u]->to_f32(all, got, 65536);
    CU_ASSERT_EQUAL(memcmp(got, expected, 65536 * sizeof *got), 0);
  }
  free(all);
  free(expected);
  free(got);
}

static void floats_narrow_alike(void) {
  unsigned n;
  const tl_half_unit *const *units = tl_half_units(&n);
  uint32_t *bits = malloc(65536 * sizeof *bits);
  uint16_t *expected = malloc(65536 * sizeof *expected), *got = malloc(65536 * sizeof *got);
  CU_ASSERT_FATAL(bits && expected && got);
  for (int t = 0; t < N_TAILS; t++) {
    for (uint32_t i = 0; i < 65536; i++)
      bits[i] = i << 16 | tails[t];
    units[0]->from_f32(bits, expected, 65536);
    for (unsigned u = 1; u < n; u++) {
      units[u]->from_f32(bits, got, 65536);
      CU_ASSERT_EQUAL(memcmp(got, expected, 65536 * sizeof *got), 0);
    }
  }
  free(bits);
  free(expected);
  free(got);
}

/* The tail of a run that is no multiple of a vector, from an address that is not aligned. */
static void lengths_and_addresses_do_not_matter(void) {
  unsigned n;
  const tl_half_unit *const *units = tl_half_units(&n);
  unsigned char from[40 * 4 + 1], to[40 * 2 + 2], expected[40 * 2 + 2];
  for (size_t i = 0; i < sizeof from; i++)
    from[i] = (unsigned char)(i * 37 + 11);
  for (unsigned u = 0; u < n; u++)
    for (size_t length = 0; length <= 40; length++) {
      memset(to, 0xab, sizeof to);
      memset(expected, 0xab, sizeof expected);
      units[0]->from_f32(from + 1, expected + 1, length);
      units[u]->from_f32(from + 1, to + 1, length);
      CU_ASSERT_EQUAL(memcmp(to, expected, sizeof to), 0);
      CU_ASSERT_EQUAL(to[1 + 2 * length], 0xab); /* nothing beyond */
    }
}

static void count_plainly(const float *v, size_t n, tl_dtype to, tl_float_counts *c) {
  *c = (tl_float_counts){.least = INFINITY, .greatest = -INFINITY};
  double least_normal = to == TL_DTYPE_F16 ? 0x1p-14 : 0x1p-126;
  for (size_t i = 0; i < n; i++) {
    uint16_t h;
    float back;
    tl_host_from_f32(to, &v[i], &h, 0, 1, false);
    tl_host_to_f32(to, &h, &back, 0, 1);
    c->nan += isnan(v[i]) != 0;
    c->infinite += isinf(v[i]) != 0;
    c->over += isfinite(v[i]) && isinf(back);
    c->flushed += v[i] != 0 && back == 0;
    c->subnormal += back != 0 && fabs((double)v[i]) < least_normal;
    if (isfinite(v[i])) {
      c->least = fminf(c->least, v[i]);
      c->greatest = fmaxf(c->greatest, v[i]);
    }
  }
}

static bool same_counts(const tl_float_counts *a, const tl_float_counts *b) {
  return a->nan == b->nan && a->infinite == b->infinite && a->over == b->over &&
         a->flushed == b->flushed && a->subnormal == b->subnormal && a->least == b->least &&
         a->greatest == b->greatest;
}

static void counts_are_those_of_a_loop(void) {
  static const float special[] = {0.0f,      -0.0f,        1.0f,      65504.0f,  65519.99f,
                                  -65520.0f, 1e30f,        INFINITY,  -INFINITY, NAN,
                                  0x1p-25f,  -0x1.02p-25f, 0x1p-24f,  0x1p-14f,  -0x1p-15f,
                                  0x1p-149f, 3.4e38f,      0x1p-134f, 1e-7f,     0x1p-130f};
  static const tl_dtype targets[] = {TL_DTYPE_F16, TL_DTYPE_BF16};
  enum { N_SPECIAL = sizeof special / sizeof *special };
  float *v = malloc(LONGEST * sizeof *v);
  unsigned n;
  const tl_half_unit *const *units = tl_half_units(&n);
  CU_ASSERT_FATAL(v != NULL);
  for (size_t i = 0; i < LONGEST; i++)
    v[i] = special[i * 7 % N_SPECIAL];
  for (unsigned u = 0; u < n; u++)
    for (int t = 0; t < 2; t++)
      for (size_t length = 0; length <= LONGEST; length = length < 40 ? length + 1 : length + 515) {
        tl_float_counts expected, got = {.least = INFINITY, .greatest = -INFINITY};
        count_plainly(v, length, targets[t], &expected);
        units[u]->count(v, length, t ? &tl_bf16_bounds : &tl_f16_bounds, &got);
        CU_ASSERT_TRUE(same_counts(&got, &expected));
      }
  free(v);
}

static const unit_test tests[] = {
    {"every half widens alike on every path", halves_widen_alike},
    {"every upper half of a float narrows alike", floats_narrow_alike},
    {"lengths and addresses do not matter", lengths_and_addresses_do_not_matter},
    {"counts are those of a plain loop", counts_are_those_of_a_loop},
    {NULL, NULL},
};

const unit_suite unit_suite_half = {"half", tests};
