/* SPDX-License-Identifier: Apache-2.0 */
/* Element text. Floats print as the shortest decimal that reads back to the same bits; a NaN that
 * is not the usual one shows its bits, because a weight file may carry any. */
#include "ir/text/literal.h"

#include <math.h>

#include "ir/byte_order.h"

typedef struct float_form {
  uint64_t usual_nan;
  uint64_t magnitude; /* mask of all bits but the sign */
  uint64_t infinity;
} float_form;

static bool form_of(tl_dtype d, float_form *f) {
  switch (d) {
  case TL_DTYPE_F32: *f = (float_form){0x7fc00000, 0x7fffffff, 0x7f800000}; return true;
  case TL_DTYPE_F16: *f = (float_form){0x7e00, 0x7fff, 0x7c00}; return true;
  case TL_DTYPE_BF16: *f = (float_form){0x7fc0, 0x7fff, 0x7f80}; return true;
  case TL_DTYPE_F64:
    *f = (float_form){UINT64_C(0x7ff8000000000000), UINT64_C(0x7fffffffffffffff),
                      UINT64_C(0x7ff0000000000000)};
    return true;
  default: return false;
  }
}

static bool is_plain_integer(tl_dtype d) { return d >= TL_DTYPE_I8 && d <= TL_DTYPE_U64; }

bool tl_literal_is_plain(tl_dtype d, const void *data, uint64_t n) {
  float_form form;
  const unsigned char *p = data;
  if (d != TL_DTYPE_BOOL)
    return form_of(d, &form) || is_plain_integer(d);
  for (uint64_t i = 0; i < n; i++)
    if (p[i] > 1)
      return false;
  return true;
}

static void add_nan(tl_buf *out, uint64_t bits) {
  char digits[16];
  size_t n = 0;
  for (; bits || n == 0; bits >>= 4)
    digits[n++] = "0123456789abcdef"[bits & 15];
  tl_buf_add_z(out, "nan(0x");
  while (n)
    tl_buf_add_char(out, digits[--n]);
  tl_buf_add_char(out, ')');
}

static float half_to_float(uint16_t h) {
  int exponent = (h >> 10) & 31;
  int fraction = h & 1023;
  float v = exponent == 31 ? INFINITY
            : exponent     ? ldexpf((float)(1024 + fraction), exponent - 25)
                           : ldexpf((float)fraction, -24);
  return h >> 15 ? -v : v;
}

static uint16_t float_to_half(double v) {
  unsigned sign = signbit(v) ? 0x8000u : 0;
  double a = fabs(v);
  if (a >= 65520.0)
    return (uint16_t)(sign | 0x7c00u);
  if (a < 0x1p-14)
    return (uint16_t)(sign | (unsigned)nearbyint(a * 0x1p24));
  int exponent;
  (void)frexp(a, &exponent);
  unsigned fraction = (unsigned)nearbyint(ldexp(a, 11 - exponent));
  return (uint16_t)(sign | (((unsigned)(exponent + 14) << 10) + fraction - 1024));
}

static uint16_t float_to_bfloat(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/* Readers go through double: the rare decimal that would then round differently is written with
 * all digits of the double. */
void tl_literal_add_float(tl_buf *out, float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  if (isnan(v) && bits != 0x7fc00000) {
    add_nan(out, bits);
    return;
  }
  size_t start = out->n;
  double back;
  tl_buf_add_f32(out, v);
  if (isnan(v) || out->failed)
    return;
  tl_sv text = {out->p + start, out->n - start};
  if (tl_parse_f64(text, &back) && (float)back == v)
    return;
  out->n = start;
  tl_buf_add_f64(out, (double)v);
}

static void add_float_element(tl_buf *out, tl_dtype d, uint64_t bits, const float_form *form) {
  double wide;
  uint32_t word = d == TL_DTYPE_BF16 ? (uint32_t)bits << 16 : (uint32_t)bits;
  float v;
  if ((bits & form->magnitude) > form->infinity && bits != form->usual_nan) {
    add_nan(out, bits);
  } else if (bits == form->usual_nan) {
    tl_buf_add_z(out, "nan");
  } else if (d == TL_DTYPE_F64) {
    memcpy(&wide, &bits, sizeof wide);
    tl_buf_add_f64(out, wide);
  } else {
    memcpy(&v, &word, sizeof v);
    tl_literal_add_float(out, d == TL_DTYPE_F16 ? half_to_float((uint16_t)bits) : v);
  }
}

void tl_literal_add(tl_buf *out, tl_dtype d, const void *element) {
  float_form form;
  uint64_t bits = tl_uint_load(element, tl_dtype_get(d)->bits / 8u);
  if (form_of(d, &form)) {
    add_float_element(out, d, bits, &form);
  } else if (d == TL_DTYPE_BOOL) {
    tl_buf_add_z(out, bits ? "true" : "false");
  } else if (d >= TL_DTYPE_U8) {
    tl_buf_add_u64(out, bits);
  } else {
    unsigned unused = 64u - tl_dtype_get(d)->bits;
    tl_buf_add_i64(out, (int64_t)(bits << unused) >> unused);
  }
}

static bool parse_nan_bits(tl_sv text, const float_form *form, uint64_t *bits) {
  uint64_t v = 0;
  if (!tl_sv_starts_with(text, "nan(0x") || text.n < 8 || text.n > 23 || text.p[text.n - 1] != ')')
    return false;
  for (size_t i = 6; i + 1 < text.n; i++) {
    char c = text.p[i];
    unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                            : 16;
    if (digit > 15)
      return false;
    v = v << 4 | digit;
  }
  *bits = v;
  uint64_t sign = form->magnitude + 1;
  return (v & form->magnitude) > form->infinity && v <= (form->magnitude | sign);
}

static bool parse_float(tl_dtype d, tl_sv text, const float_form *form, uint64_t *bits) {
  double wide;
  if (tl_sv_is(text, "nan")) {
    *bits = form->usual_nan;
    return true;
  }
  if (parse_nan_bits(text, form, bits))
    return true;
  if (!tl_parse_f64(text, &wide) || isnan(wide))
    return false;
  float v = (float)wide;
  uint32_t word;
  memcpy(&word, &v, sizeof word);
  if (d == TL_DTYPE_F64)
    memcpy(bits, &wide, sizeof wide);
  else
    *bits = d == TL_DTYPE_F32 ? word : d == TL_DTYPE_F16 ? float_to_half(wide) : float_to_bfloat(v);
  bool infinite = (*bits & form->magnitude) == form->infinity;
  return !infinite || tl_sv_is(text, "inf") || tl_sv_is(text, "-inf");
}

static bool parse_integer(tl_dtype d, tl_sv text, uint64_t *bits) {
  unsigned width = tl_dtype_get(d)->bits;
  int64_t v;
  if (d >= TL_DTYPE_U8)
    return tl_parse_u64(text, bits) && (width == 64 || *bits >> width == 0);
  if (!tl_parse_i64(text, &v))
    return false;
  int64_t top = width == 64 ? INT64_MAX : (INT64_C(1) << (width - 1)) - 1;
  *bits = (uint64_t)v;
  return v <= top && v >= -top - 1;
}

bool tl_literal_parse(tl_dtype d, tl_sv text, void *element) {
  float_form form;
  uint64_t bits = 0;
  bool good = false;
  if (form_of(d, &form)) {
    good = parse_float(d, text, &form, &bits);
  } else if (is_plain_integer(d)) {
    good = parse_integer(d, text, &bits);
  } else if (d == TL_DTYPE_BOOL) {
    bits = tl_sv_is(text, "true");
    good = bits || tl_sv_is(text, "false");
  }
  if (good)
    tl_uint_store(element, bits, tl_dtype_get(d)->bits / 8u);
  return good;
}
