/* SPDX-License-Identifier: Apache-2.0 */
/* Results of any number type: the one place that rounds a double into each of them. */
#include "ir/eval/kernel/number.h"

#include <math.h>

tl_status tl_eval_number_result(tl_eval *ctx, uint32_t i, tl_dtype dtype, int rank,
                                const int64_t *dims, tl_host **out) {
  if (tl_dtype_is_float(dtype) && dtype != TL_DTYPE_F64)
    dtype = TL_DTYPE_F32;
  if (dtype != TL_DTYPE_BOOL && tl_dtype_get(dtype)->bits < 8)
    return tl_eval_unsupported(ctx, "a result of type %s", tl_dtype_get(dtype)->name);
  return tl_eval_result(ctx, i, dtype, rank, dims, out);
}

/* Truncates v into [low, high]. high is 2^k - 1 and may not be exact in double, so the test is
 * against -low, which is 2^k. */
static int64_t to_signed(double v, int64_t low, int64_t high) {
  if (isnan(v))
    return 0;
  if (v >= -(double)low) /* exact: a power of two */
    return high;
  return v <= (double)low ? low : (int64_t)v;
}

/* Truncates v into [0, 2^bits - 1]. The bound 2^bits is exact in double for any width. */
static uint64_t to_unsigned(double v, unsigned bits) {
  if (isnan(v) || v <= 0)
    return 0;
  if (v >= ldexp(1.0, (int)bits))
    return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
  return (uint64_t)v;
}

void tl_store_number(tl_host *t, uint64_t i, double v) {
  switch ((tl_dtype)t->dtype) {
  case TL_DTYPE_F32: ((float *)t->data)[i] = (float)v; break;
  case TL_DTYPE_F64: ((double *)t->data)[i] = v; break;
  case TL_DTYPE_BOOL: ((uint8_t *)t->data)[i] = v != 0; break;
  case TL_DTYPE_I8: ((int8_t *)t->data)[i] = (int8_t)to_signed(v, INT8_MIN, INT8_MAX); break;
  case TL_DTYPE_I16: ((int16_t *)t->data)[i] = (int16_t)to_signed(v, INT16_MIN, INT16_MAX); break;
  case TL_DTYPE_I32: ((int32_t *)t->data)[i] = (int32_t)to_signed(v, INT32_MIN, INT32_MAX); break;
  case TL_DTYPE_I64: ((int64_t *)t->data)[i] = to_signed(v, INT64_MIN, INT64_MAX); break;
  case TL_DTYPE_U8: ((uint8_t *)t->data)[i] = (uint8_t)to_unsigned(v, 8); break;
  case TL_DTYPE_U16: ((uint16_t *)t->data)[i] = (uint16_t)to_unsigned(v, 16); break;
  case TL_DTYPE_U32: ((uint32_t *)t->data)[i] = (uint32_t)to_unsigned(v, 32); break;
  case TL_DTYPE_U64: ((uint64_t *)t->data)[i] = to_unsigned(v, 64); break;
  default: break; /* no result of another type is made */
  }
}

tl_status tl_eval_dtype_attr(tl_eval *ctx, tl_symbol name, tl_dtype fallback, tl_dtype *out) {
  const tl_attr *a = tl_node_attr_or_default(ctx->m, ctx->node, name);
  *out = fallback;
  if (a && a->kind == TL_ATTR_INT)
    *out = tl_dtype_from_onnx(a->u.i);
  if (*out == TL_DTYPE_BOOL || tl_dtype_is_float(*out) || tl_dtype_is_integer(*out))
    return TL_OK;
  return tl_eval_fail(ctx, "attribute %.*s does not name a type of numbers",
                      TL_SV_ARG(tl_sym(ctx->m, name)));
}
