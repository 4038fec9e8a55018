/* SPDX-License-Identifier: Apache-2.0 */
/* Narrow floats: every pattern there and back, and every pair of neighbours at, just below and
 * just above the midpoint between them. Bytes of numbers in both orders. */
#include <math.h>
#include <stdio.h>

#include "ir/byte_order.h"
#include "ir/host.h"
#include "tests/unit/unit.h"

typedef struct format {
  tl_dtype dtype;
  uint32_t magnitudes; /* patterns without a sign */
  uint32_t greatest;   /* largest finite one */
  double value;        /* of that */
} format;

static const format formats[] = {{TL_DTYPE_F16, 0x8000, 0x7bff, 65504},
                                 {TL_DTYPE_BF16, 0x8000, 0x7f7f, 0x1.fep127},
                                 {TL_DTYPE_F8E4M3FN, 0x80, 0x7e, 448},
                                 {TL_DTYPE_F8E4M3FNUZ, 0x80, 0x7f, 240},
                                 {TL_DTYPE_F8E5M2, 0x80, 0x7b, 57344},
                                 {TL_DTYPE_F8E5M2FNUZ, 0x80, 0x7f, 57344},
                                 {TL_DTYPE_F4E2M1, 8, 7, 6}};
enum { N_FORMATS = sizeof formats / sizeof *formats };

/* Bytes of an element; f4 has a half. */
static size_t bytes_of(tl_dtype d) { return d == TL_DTYPE_F16 || d == TL_DTYPE_BF16 ? 2 : 1; }

static double decode(tl_dtype d, uint32_t pattern) {
  uint16_t bits;
  float v;
  tl_uint_store(&bits, pattern, bytes_of(d));
  tl_host_to_f32(d, &bits, &v, 0, 1);
  return (double)v;
}

static uint32_t encode(tl_dtype d, double v, bool saturate) {
  uint16_t bits = 0;
  tl_host_from_f64(d, &v, &bits, 0, 1, (tl_narrowing){saturate, TL_E8M0_UP});
  return (uint32_t)tl_uint_load(&bits, bytes_of(d));
}

static uint32_t encode_f32(tl_dtype d, double v, bool saturate) {
  uint16_t bits = 0;
  float f = (float)v;
  tl_host_from_f32(d, &f, &bits, 0, 1, saturate);
  return (uint32_t)tl_uint_load(&bits, bytes_of(d));
}

static void patterns_survive(void) {
  for (int k = 0; k < N_FORMATS; k++) {
    const format *f = &formats[k];
    uint32_t wrong = 0;
    for (uint32_t p = 0; p < 2 * f->magnitudes; p++) {
      double v = decode(f->dtype, p);
      uint32_t back = encode(f->dtype, v, false), narrow = encode_f32(f->dtype, v, false);
      bool nan = isnan(v);
      wrong += nan ? !isnan(decode(f->dtype, back)) || !isnan(decode(f->dtype, narrow))
                   : back != p || narrow != p;
    }
    if (wrong)
      printf("\n  %u patterns of %s do not survive", wrong, tl_dtype_get(f->dtype)->name);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(decode(f->dtype, f->greatest), f->value);
  }
}

static void neighbours_round_to_even(void) {
  for (int k = 0; k < N_FORMATS; k++) {
    const format *f = &formats[k];
    uint32_t wrong = 0;
    for (uint32_t p = 0; p < f->greatest; p++) {
      double a = decode(f->dtype, p), b = decode(f->dtype, p + 1), middle = (a + b) / 2;
      uint32_t even = p & 1 ? p + 1 : p;
      wrong += encode(f->dtype, middle, false) != even;
      wrong += encode(f->dtype, nextafter(middle, 0), false) != p;
      wrong += encode(f->dtype, nextafter(middle, INFINITY), false) != p + 1;
      if ((double)(float)middle == middle)
        wrong += encode_f32(f->dtype, middle, false) != even;
    }
    if (wrong)
      printf("\n  %u roundings of %s are wrong", wrong, tl_dtype_get(f->dtype)->name);
    CU_ASSERT_EQUAL(wrong, 0);
  }
}

static void limits_saturate_or_not(void) {
  CU_ASSERT_EQUAL(encode(TL_DTYPE_F8E4M3FN, 1e6, true), 0x7e);
  CU_ASSERT_EQUAL(encode(TL_DTYPE_F8E4M3FN, -1e6, true), 0xfe);
  CU_ASSERT_EQUAL(encode(TL_DTYPE_F8E4M3FN, 1e6, false), 0x7f);
  CU_ASSERT_EQUAL(encode(TL_DTYPE_F8E5M2, INFINITY, true), 0x7b);
  CU_ASSERT_EQUAL(encode(TL_DTYPE_F8E5M2, 1e6, false), 0x7c);
  CU_ASSERT_EQUAL(encode(TL_DTYPE_F8E5M2FNUZ, 1e6, false), 0x80);
  CU_ASSERT_EQUAL(encode(TL_DTYPE_F8E4M3FNUZ, -0.0, false), 0);
  CU_ASSERT_EQUAL(encode(TL_DTYPE_F4E2M1, -100, false), 15);
  CU_ASSERT_EQUAL(encode(TL_DTYPE_F16, 65519.999, false), 0x7bff);
  CU_ASSERT_EQUAL(encode(TL_DTYPE_F16, 65520, false), 0x7c00);
  CU_ASSERT_EQUAL(encode(TL_DTYPE_BF16, 1e300, false), 0x7f80);
}

static uint32_t power(double v, bool saturate, tl_e8m0_rounding mode) {
  uint8_t e;
  tl_host_from_f64(TL_DTYPE_F8E8M0, &v, &e, 0, 1, (tl_narrowing){saturate, mode});
  return e;
}

static void powers_of_two_round_by_mode(void) {
  for (uint32_t e = 0; e < 255; e++) {
    double v = decode(TL_DTYPE_F8E8M0, e);
    CU_ASSERT_EQUAL(v, ldexp(1, (int)e - 127));
    CU_ASSERT_EQUAL(power(v, true, TL_E8M0_UP), e);
    CU_ASSERT_EQUAL(power(v, true, TL_E8M0_DOWN), e);
    CU_ASSERT_EQUAL(power(v, true, TL_E8M0_NEAREST), e);
    CU_ASSERT_EQUAL(power(v * 1.25, false, TL_E8M0_UP), e + 1);
    CU_ASSERT_EQUAL(power(v * 1.25, false, TL_E8M0_NEAREST), e);
    CU_ASSERT_EQUAL(power(v * 1.5, false, TL_E8M0_NEAREST), e + 1);
    CU_ASSERT_EQUAL(power(v * 1.75, false, TL_E8M0_DOWN), e);
  }
  CU_ASSERT_EQUAL(power(-1, true, TL_E8M0_UP), 255);
  CU_ASSERT_EQUAL(power(0, true, TL_E8M0_UP), 0);
  CU_ASSERT_EQUAL(power(INFINITY, true, TL_E8M0_UP), 254);
  CU_ASSERT_EQUAL(power(INFINITY, false, TL_E8M0_UP), 255);
}

static void packed_elements_leave_their_neighbours(void) {
  uint8_t bytes[2] = {0xff, 0xff};
  tl_packed_set(TL_DTYPE_I4, bytes, 1, -8);
  CU_ASSERT_EQUAL(bytes[0], 0x8f);
  CU_ASSERT_EQUAL(tl_packed_get(TL_DTYPE_I4, bytes, 1), -8);
  CU_ASSERT_EQUAL(tl_packed_get(TL_DTYPE_U4, bytes, 0), 15);
  tl_packed_set(TL_DTYPE_U2, bytes, 5, 2);
  CU_ASSERT_EQUAL(bytes[1], 0xfb);
  CU_ASSERT_EQUAL(tl_packed_get(TL_DTYPE_I2, bytes, 5), -2);
}

/* What turns bytes round does the same on each machine; only where it is called differs. */
static void bytes_are_turned_by_numbers(void) {
  static const struct {
    tl_dtype dtype;
    const char *turned; /* of "abcdefghijklmnop" */
  } rows[] = {{TL_DTYPE_F16, "badcfehgjilknmpo"},  {TL_DTYPE_I32, "dcbahgfelkjiponm"},
              {TL_DTYPE_F64, "hgfedcbaponmlkji"},  {TL_DTYPE_C64, "dcbahgfelkjiponm"},
              {TL_DTYPE_C128, "hgfedcbaponmlkji"}, {TL_DTYPE_BOOL, "abcdefghijklmnop"},
              {TL_DTYPE_I4, "abcdefghijklmnop"},   {TL_DTYPE_STRING, "abcdefghijklmnop"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char bytes[] = "abcdefghijklmnop";
    tl_order_reverse(tl_order_unit(rows[i].dtype), bytes, 16);
    CU_ASSERT_STRING_EQUAL(bytes, rows[i].turned);
  }
}

static void integers_of_any_width_are_stored(void) {
  uint32_t word = 0;
  uint16_t half = 0;
  uint64_t wide = 0;
  tl_uint_store(&word, UINT64_C(0x1122334455667788), sizeof word);
  tl_uint_store(&half, UINT64_C(0x1122334455667788), sizeof half);
  tl_uint_store(&wide, UINT64_C(0x1122334455667788), sizeof wide);
  CU_ASSERT_EQUAL(word, 0x55667788);
  CU_ASSERT_EQUAL(half, 0x7788);
  CU_ASSERT_EQUAL(wide, UINT64_C(0x1122334455667788));
  CU_ASSERT_EQUAL(tl_uint_load(&word, sizeof word), 0x55667788);
  CU_ASSERT_EQUAL(tl_uint_load(&half, sizeof half), 0x7788);
}

static const unit_test tests[] = {
    {"bytes are turned by numbers", bytes_are_turned_by_numbers},
    {"integers of any width are stored", integers_of_any_width_are_stored},

    {"patterns survive", patterns_survive},
    {"neighbours round to even", neighbours_round_to_even},
    {"limits saturate or not", limits_saturate_or_not},
    {"powers of two round by mode", powers_of_two_round_by_mode},
    {"packed elements leave their neighbours", packed_elements_leave_their_neighbours},
    {NULL, NULL},
};

const unit_suite unit_suite_narrow = {"narrow", tests};
