/* SPDX-License-Identifier: Apache-2.0 */
/* The table of element types. Its numbers are those of TensorProto.DataType (ONNX) and DataType
 * (GE). */
#include "ir/dtype.h"

#include <stddef.h>

#include "support/assert.h"

static const tl_dtype_info table[TL_N_DTYPES] = {
    /*                       tir          ONNX               GE                bits onnx proto
     * int */
    [TL_DTYPE_NONE] = {"?", "undefined", "DT_UNDEFINED", 0, 0, 0, 28},
    [TL_DTYPE_F32] = {"f32", "float", "DT_FLOAT", 32, 1, 1, 0},
    [TL_DTYPE_F16] = {"f16", "float16", "DT_FLOAT16", 16, 10, 2, 1},
    [TL_DTYPE_BF16] = {"bf16", "bfloat16", "DT_BF16", 16, 16, 27, 27},
    [TL_DTYPE_F64] = {"f64", "double", "DT_DOUBLE", 64, 11, 12, 11},
    [TL_DTYPE_I8] = {"i8", "int8", "DT_INT8", 8, 3, 3, 2},
    [TL_DTYPE_I16] = {"i16", "int16", "DT_INT16", 16, 5, 5, 6},
    [TL_DTYPE_I32] = {"i32", "int32", "DT_INT32", 32, 6, 7, 3},
    [TL_DTYPE_I64] = {"i64", "int64", "DT_INT64", 64, 7, 8, 9},
    [TL_DTYPE_U8] = {"u8", "uint8", "DT_UINT8", 8, 2, 4, 4},
    [TL_DTYPE_U16] = {"u16", "uint16", "DT_UINT16", 16, 4, 6, 7},
    [TL_DTYPE_U32] = {"u32", "uint32", "DT_UINT32", 32, 12, 9, 8},
    [TL_DTYPE_U64] = {"u64", "uint64", "DT_UINT64", 64, 13, 10, 10},
    [TL_DTYPE_BOOL] = {"bool", "bool", "DT_BOOL", 8, 9, 11, 12},
    [TL_DTYPE_STRING] = {"str", "string", "DT_STRING", 0, 8, 13, 13},
    [TL_DTYPE_C64] = {"c64", "complex64", "DT_COMPLEX64", 64, 14, 16, 16},
    [TL_DTYPE_C128] = {"c128", "complex128", "DT_COMPLEX128", 128, 15, 17, 17},
    [TL_DTYPE_F8E4M3FN] = {"f8e4m3fn", "float8e4m3fn", "DT_FLOAT8_E4M3FN", 8, 17, 35, 36},
    [TL_DTYPE_F8E4M3FNUZ] = {"f8e4m3fnuz", "float8e4m3fnuz", NULL, 8, 18, -1, -1},
    [TL_DTYPE_F8E5M2] = {"f8e5m2", "float8e5m2", "DT_FLOAT8_E5M2", 8, 19, 34, 35},
    [TL_DTYPE_F8E5M2FNUZ] = {"f8e5m2fnuz", "float8e5m2fnuz", NULL, 8, 20, -1, -1},
    [TL_DTYPE_F8E8M0] = {"f8e8m0", "float8e8m0", "DT_FLOAT8_E8M0", 8, 24, 36, 37},
    [TL_DTYPE_F4E2M1] = {"f4e2m1", "float4e2m1", "DT_FLOAT4_E2M1", 4, 23, 39, 40},
    [TL_DTYPE_I4] = {"i4", "int4", "DT_INT4", 4, 22, 28, 29},
    [TL_DTYPE_U4] = {"u4", "uint4", NULL, 4, 21, -1, -1},
    [TL_DTYPE_I2] = {"i2", "int2", "DT_INT2", 2, 26, 30, 31},
    [TL_DTYPE_U2] = {"u2", "uint2", "DT_UINT2", 2, 25, 31, 32},
    [TL_DTYPE_QI8] = {"qi8", NULL, "DT_QINT8", 8, -1, 18, 18},
    [TL_DTYPE_QU8] = {"qu8", NULL, "DT_QUINT8", 8, -1, 21, 21},
    [TL_DTYPE_QI16] = {"qi16", NULL, "DT_QINT16", 16, -1, 19, 19},
    [TL_DTYPE_QU16] = {"qu16", NULL, "DT_QUINT16", 16, -1, 22, 22},
    [TL_DTYPE_QI32] = {"qi32", NULL, "DT_QINT32", 32, -1, 20, 20},
    [TL_DTYPE_C32] = {"c32", NULL, "DT_COMPLEX32", 32, -1, 32, 33},
    [TL_DTYPE_U1] = {"u1", NULL, "DT_UINT1", 1, -1, 29, 30},
    [TL_DTYPE_HIF8] = {"hif8", NULL, "DT_HIFLOAT8", 8, -1, 33, 34},
    [TL_DTYPE_RESOURCE] = {"resource", NULL, "DT_RESOURCE", 0, -1, 23, 23},
    [TL_DTYPE_STRING_REF] = {"strref", NULL, "DT_STRING_REF", 0, -1, 24, 24},
    [TL_DTYPE_VARIANT] = {"variant", NULL, "DT_VARIANT", 0, -1, 26, 26},
};

const tl_dtype_info *tl_dtype_get(tl_dtype d) {
  TL_ASSERT((unsigned)d < TL_N_DTYPES);
  return &table[d];
}

/* A walk over the table, which is short. */
tl_dtype tl_dtype_from_onnx(int64_t number) {
  for (int d = 1; d < TL_N_DTYPES && number >= 0; d++) /* types that ONNX lacks have -1 */
    if (table[d].onnx == number)
      return (tl_dtype)d;
  return TL_DTYPE_NONE;
}

tl_dtype tl_dtype_from_ge(int64_t number) {
  for (int d = 1; d < TL_N_DTYPES && number >= 0; d++)
    if (table[d].ge_internal == number)
      return (tl_dtype)d;
  return TL_DTYPE_NONE;
}

tl_dtype tl_dtype_from_name(tl_sv name) {
  for (int d = 1; d < TL_N_DTYPES; d++)
    if (tl_sv_is(name, table[d].name))
      return (tl_dtype)d;
  return TL_DTYPE_NONE;
}

bool tl_dtype_is_float(tl_dtype d) {
  static const uint64_t floats = TL_DTYPE_BIT(TL_DTYPE_F32) | TL_DTYPE_BIT(TL_DTYPE_F16) |
                                 TL_DTYPE_BIT(TL_DTYPE_BF16) | TL_DTYPE_BIT(TL_DTYPE_F64) |
                                 TL_DTYPE_BIT(TL_DTYPE_F8E4M3FN) |
                                 TL_DTYPE_BIT(TL_DTYPE_F8E4M3FNUZ) | TL_DTYPE_BIT(TL_DTYPE_F8E5M2) |
                                 TL_DTYPE_BIT(TL_DTYPE_F8E5M2FNUZ) | TL_DTYPE_BIT(TL_DTYPE_F8E8M0) |
                                 TL_DTYPE_BIT(TL_DTYPE_F4E2M1) | TL_DTYPE_BIT(TL_DTYPE_HIF8);
  return (floats >> d) & 1;
}

/* Relies on the order of the enumeration; bool and quantized types are not among them. */
bool tl_dtype_is_integer(tl_dtype d) {
  return (d >= TL_DTYPE_I8 && d <= TL_DTYPE_U64) || (d >= TL_DTYPE_I4 && d <= TL_DTYPE_U2);
}

bool tl_dtype_has_numbers(tl_dtype d) {
  return d != TL_DTYPE_NONE && d != TL_DTYPE_STRING && d != TL_DTYPE_C32 && d != TL_DTYPE_HIF8;
}

void tl_dtype_print_set(uint64_t set, tl_buf *out) {
  const char *before = "";
  for (unsigned d = TL_DTYPE_NONE + 1; d < TL_N_DTYPES; d++) {
    if (!(set >> d & 1))
      continue;
    tl_buf_printf(out, "%s%s", before, table[d].name);
    before = ", ";
  }
}

/* Types below a byte are packed; the last byte may be partly used. */
bool tl_dtype_bytes(tl_dtype d, uint64_t n, uint64_t *bytes) {
  uint64_t bits;
  if (table[d].bits == 0 || __builtin_mul_overflow(n, (uint64_t)table[d].bits, &bits) ||
      bits > UINT64_MAX - 7)
    return false;
  *bytes = (bits + 7) / 8;
  return true;
}
