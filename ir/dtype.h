/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: one table row each, with the number that every format uses for it. */
#ifndef TL_IR_DTYPE_H
#define TL_IR_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "support/str.h"

typedef enum tl_dtype {
  TL_DTYPE_NONE = 0, /* unknown */
  TL_DTYPE_F32,
  TL_DTYPE_F16,
  TL_DTYPE_BF16,
  TL_DTYPE_F64,
  TL_DTYPE_I8,
  TL_DTYPE_I16,
  TL_DTYPE_I32,
  TL_DTYPE_I64,
  TL_DTYPE_U8,
  TL_DTYPE_U16,
  TL_DTYPE_U32,
  TL_DTYPE_U64,
  TL_DTYPE_BOOL,
  TL_DTYPE_STRING,
  TL_DTYPE_C64,
  TL_DTYPE_C128,
  TL_DTYPE_F8E4M3FN,
  TL_DTYPE_F8E4M3FNUZ,
  TL_DTYPE_F8E5M2,
  TL_DTYPE_F8E5M2FNUZ,
  TL_DTYPE_F8E8M0,
  TL_DTYPE_F4E2M1,
  TL_DTYPE_I4,
  TL_DTYPE_U4,
  TL_DTYPE_I2,
  TL_DTYPE_U2,
  /* Types that exist on the NPU only; they appear in prototypes, never in an ONNX model. */
  TL_DTYPE_QI8,
  TL_DTYPE_QU8,
  TL_DTYPE_QI16,
  TL_DTYPE_QU16,
  TL_DTYPE_QI32,
  TL_DTYPE_C32,
  TL_DTYPE_U1,
  TL_DTYPE_HIF8,
  TL_DTYPE_RESOURCE,
  TL_DTYPE_STRING_REF,
  TL_DTYPE_VARIANT,
  TL_N_DTYPES
} tl_dtype;

_Static_assert(TL_N_DTYPES <= 64, "a dtype set is a 64-bit mask");

/* A row of the table. */
typedef struct tl_dtype_info {
  const char *name;      /* in the textual IR: "f32" */
  const char *onnx_name; /* "float" as in "tensor(float)", NULL when ONNX lacks it */
  const char *ge_name;   /* "DT_FLOAT", NULL when GE lacks it */
  uint16_t bits;         /* per element as stored; 0: no fixed size (string) */
  int8_t onnx;           /* TensorProto.DataType, -1 none */
  int8_t ge_proto;       /* number in TensorDescriptor.dtype, -1 none */
  int8_t ge_internal;    /* number in attributes, -1 none */
} tl_dtype_info;

#define TL_DTYPE_BIT(d) (UINT64_C(1) << (d))

/* Returns the row of d, which must be below TL_N_DTYPES. */
const tl_dtype_info *tl_dtype_get(tl_dtype d);
/* Returns the dtype with a number or name, TL_DTYPE_NONE when there is none. */
tl_dtype tl_dtype_from_onnx(int64_t number);
tl_dtype tl_dtype_from_ge(int64_t number); /* of ge_internal */
tl_dtype tl_dtype_from_name(tl_sv name);
bool tl_dtype_is_float(tl_dtype d);   /* any floating-point type, fp8 and fp4 included */
bool tl_dtype_is_integer(tl_dtype d); /* signed or unsigned, bool excluded */
/* Returns true if the host knows the numbers that elements are: not for strings, c32 and hif8. */
bool tl_dtype_has_numbers(tl_dtype d);

/* Appends the names of a set of dtypes, as "f32, f16". */
void tl_dtype_print_set(uint64_t set, tl_buf *out);

/* Computes the bytes of n elements packed as ONNX and GE store them (sub-byte types: low bits
 * first, the last byte padded). False on overflow or for a type without a fixed size. */
bool tl_dtype_bytes(tl_dtype d, uint64_t n, uint64_t *bytes);

#endif
