/* SPDX-License-Identifier: Apache-2.0 */
/* What the constants of a replacement hold: numbers, lists, and tensors that attributes hold. */
#include "passes/engine/match.h"

#include "ir/host.h"

static bool store_number(tl_dtype d, void *at, uint32_t i, double f, int64_t v, bool whole) {
  double number = whole ? (double)v : f;
  switch (d) {
  case TL_DTYPE_F32: ((float *)at)[i] = (float)number; return true;
  case TL_DTYPE_F64: ((double *)at)[i] = number; return true;
  case TL_DTYPE_F16: ((uint16_t *)at)[i] = tl_f16_from_f64(number); return true;
  case TL_DTYPE_BF16: ((uint16_t *)at)[i] = tl_bf16_from_f32((float)number); return true;
  case TL_DTYPE_I64: ((int64_t *)at)[i] = v; return whole;
  case TL_DTYPE_I32: ((int32_t *)at)[i] = (int32_t)v; return whole && v == (int32_t)v;
  case TL_DTYPE_I8: ((int8_t *)at)[i] = (int8_t)v; return whole && v == (int8_t)v;
  case TL_DTYPE_U8: ((uint8_t *)at)[i] = (uint8_t)v; return whole && v == (uint8_t)v;
  case TL_DTYPE_BOOL: ((uint8_t *)at)[i] = v != 0; return whole;
  default: return false;
  }
}

bool tl_rv_store(const tl_module *m, tl_rv v, tl_dtype d, uint64_t *data, uint32_t i) {
  const tl_tensor *t = v.kind == TL_RV_TENSOR ? tl_tensor_get(m, (tl_tensor_id)v.i) : NULL;
  int64_t whole = v.i;
  double number = v.f;
  if (t && tl_tensor_int_at(m, t, i, &whole))
    return store_number(d, data, i, 0, whole, true);
  if (t)
    return tl_tensor_float_at(m, t, i, &number) && store_number(d, data, i, number, 0, false);
  if (v.kind == TL_RV_FLOATS)
    return store_number(d, data, i, (double)v.fs[i], 0, false);
  if (v.kind == TL_RV_INTS)
    whole = v.is.at[i];
  return store_number(d, data, i, number, whole, v.kind != TL_RV_FLOAT);
}

uint64_t tl_rv_count(const tl_module *m, tl_rv v) {
  if (v.kind == TL_RV_TENSOR)
    return tl_tensor_elements(m, tl_tensor_get(m, (tl_tensor_id)v.i));
  return v.kind == TL_RV_FLOATS || v.kind == TL_RV_INTS ? v.is.n : 1;
}
