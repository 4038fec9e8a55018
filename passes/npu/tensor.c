/* SPDX-License-Identifier: Apache-2.0 */
/* Makes constant tensors from doubles by bit arithmetic, without libm: bytes are the same
 * everywhere. */
#include "passes/npu/tensor.h"

enum { MAX_ELEMENTS = 1 << 24 };

/* Returns v as an IEEE half, rounded to nearest, ties to even. 0x477ff000 (65520) and above round
 * to infinity; below 0x38800000 (2^-14) halves are subnormal; below 2^-25 (exponent 102) they are
 * 0. */
static uint16_t half_bits(float v) {
  uint32_t bits;
  memcpy(&bits, &v, 4);
  uint32_t sign = bits >> 16 & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return (uint16_t)(sign | 0x7e00);
  if (magnitude >= 0x477ff000)
    return (uint16_t)(sign | 0x7c00);
  uint32_t shift = 13;
  uint32_t fraction = magnitude;
  if (magnitude < 0x38800000) { /* subnormal: align the fraction with the smallest exponent */
    uint32_t exponent = magnitude >> 23;
    if (exponent < 102)
      return (uint16_t)sign;
    fraction = (magnitude & 0x7fffff) | 0x800000;
    shift = 126 - exponent;
  } else {
    fraction -= 0x38000000;
  }
  uint32_t half = 1u << (shift - 1);
  uint32_t rounded = (fraction + half - 1 + (fraction >> shift & 1)) >> shift;
  return (uint16_t)(sign | rounded);
}

/* Returns v as bfloat16, ties to even; a NaN is made quiet so that truncation cannot make it
 * infinite. */
static uint16_t bfloat_bits(float v) {
  uint32_t bits;
  memcpy(&bits, &v, 4);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static bool store_float(tl_dtype dtype, double v, void *out) {
  float f = (float)v;
  uint16_t half = dtype == TL_DTYPE_F16 ? half_bits(f) : bfloat_bits(f);
  switch (dtype) {
  case TL_DTYPE_F32: memcpy(out, &f, 4); return true;
  case TL_DTYPE_F64: memcpy(out, &v, 8); return true;
  case TL_DTYPE_F16:
  case TL_DTYPE_BF16: memcpy(out, &half, 2); return true;
  default: return false;
  }
}

bool tl_npu_store(tl_dtype dtype, double v, void *out) {
  unsigned bytes = tl_dtype_get(dtype)->bits / 8u;
  if (tl_dtype_is_float(dtype))
    return store_float(dtype, v, out);
  if (bytes == 0 || bytes > 8 || (dtype != TL_DTYPE_BOOL && !tl_dtype_is_integer(dtype)))
    return false;
  int64_t i = v >= 9.2e18 ? INT64_MAX : v <= -9.2e18 ? INT64_MIN : v < 0 || v >= 0 ? (int64_t)v : 0;
  tl_uint_store(out, (uint64_t)i, bytes);
  return true;
}

tl_tensor_id tl_npu_tensor(tl_module *m, tl_dtype dtype, int rank, const tl_dim *dims,
                           const double *values, uint64_t n_values) {
  tl_type_id type = tl_type_tensor(m, dtype, rank, dims);
  size_t bytes = tl_dtype_get(dtype)->bits / 8u;
  uint64_t n;
  if (!type || !tl_type_elements(m, type, &n) || n > MAX_ELEMENTS || bytes == 0)
    return TL_NO_TENSOR;
  unsigned char *data = tl_arena_alloc(&m->arena, (size_t)n * bytes);
  if (!data)
    return TL_NO_TENSOR;
  for (uint64_t i = 0; i < n; i++)
    if (!tl_npu_store(dtype, values[n_values == 1 ? 0 : i], data + i * bytes))
      return TL_NO_TENSOR;
  tl_tensor t = {.kind = TL_SOURCE_BYTES,
                 .dtype = (uint8_t)dtype,
                 .type = type,
                 .bytes = n * bytes,
                 .u.data = data};
  return tl_tensor_add(m, &t);
}
