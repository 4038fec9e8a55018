/* SPDX-License-Identifier: Apache-2.0 */
/* Stores numbers of rules in the constants and attributes of a replacement: numbers, lists, and
 * tensors of attributes. */
#include "ir/host.h"
#include "passes/engine/rule_values.h"
#include "passes/expr/function.h"

/* Writes element i of dtype d to `at`: number v if `whole`, else f. Floats are rounded; an integer
 * dtype takes only integers in its range. False if the number does not fit, or d has no numbers
 * here. */
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
    return store_number(d, data, i, tl_rv_float_at(v, i), 0, false);
  if (v.kind == TL_RV_INTS)
    whole = v.is.at[i];
  return store_number(d, data, i, number, whole, v.kind != TL_RV_FLOAT);
}

uint64_t tl_rv_count(const tl_module *m, tl_rv v) {
  if (v.kind == TL_RV_TENSOR)
    return tl_tensor_elements(m, tl_tensor_get(m, (tl_tensor_id)v.i));
  return v.kind == TL_RV_FLOATS || v.kind == TL_RV_INTS ? v.is.n : 1;
}

bool tl_rv_tensor(tl_module *m, tl_arena *scratch, tl_rv v, tl_dtype d, tl_tensor_id *out) {
  bool list = v.kind == TL_RV_FLOATS || v.kind == TL_RV_INTS || v.kind == TL_RV_TENSOR;
  uint64_t bytes, count = tl_rv_count(m, v);
  tl_dim dim = (tl_dim)count;
  uint64_t *data = tl_arena_calloc(scratch, count ? count : 1, sizeof *data);
  *out = TL_NO_TENSOR;
  for (uint32_t i = 0; data && i < count; i++)
    if (!tl_rv_store(m, v, d, data, i))
      return false;
  tl_type_id type = data ? tl_type_tensor(m, d, list ? 1 : 0, &dim) : TL_NO_TYPE;
  if (type && tl_dtype_bytes(d, count, &bytes))
    *out = tl_tensor_from_bytes(m, type, data, bytes);
  return true;
}

/* Floats of an attribute are f32: doubles are narrowed. Of kind TL_ATTR_NONE for a longer list than
 * expressions may have. */
static tl_attr floats_attr(tl_module *m, tl_symbol name, tl_rv v) {
  float narrow[TL_FN_LONGEST];
  if (!v.wide)
    return tl_attr_floats(m, name, v.fs, v.is.n);
  if (v.is.n > TL_FN_LONGEST)
    return (tl_attr){.name = name, .kind = TL_ATTR_NONE};
  for (uint32_t i = 0; i < v.is.n; i++)
    narrow[i] = (float)v.ds[i];
  return tl_attr_floats(m, name, narrow, v.is.n);
}

static tl_attr wide_floats(tl_module *m, tl_symbol name, tl_rv v) {
  float wide[TL_FN_LONGEST];
  if (v.is.n > TL_FN_LONGEST)
    return (tl_attr){.name = name, .kind = TL_ATTR_NONE};
  for (uint32_t i = 0; i < v.is.n; i++)
    wide[i] = (float)v.is.at[i];
  return tl_attr_floats(m, name, wide, v.is.n);
}

tl_attr tl_rule_attr(tl_module *m, tl_symbol name, tl_attr_kind kind, tl_rv v) {
  tl_attr none = {.name = name, .kind = TL_ATTR_NONE};
  switch ((tl_rv_kind)v.kind) {
  case TL_RV_INT:
  case TL_RV_BOOL:
    if (kind == TL_ATTR_BOOL)
      return tl_attr_bool(name, v.i != 0);
    return kind == TL_ATTR_FLOAT ? tl_attr_float(name, (float)v.i) : tl_attr_int(name, v.i);
  case TL_RV_DTYPE:
    return kind == TL_ATTR_DTYPE ? tl_attr_dtype(name, (tl_dtype)v.i)
                                 : tl_attr_int(name, tl_dtype_get((tl_dtype)v.i)->onnx);
  case TL_RV_FLOAT: return tl_attr_float(name, (float)v.f);
  case TL_RV_STRING: return tl_attr_string(name, v.s);
  case TL_RV_INTS:
    return kind == TL_ATTR_FLOATS ? wide_floats(m, name, v)
                                  : tl_attr_ints(m, name, v.is.at, v.is.n);
  case TL_RV_FLOATS: return floats_attr(m, name, v);
  default: return none;
  }
}
