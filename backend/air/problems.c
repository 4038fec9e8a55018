/* SPDX-License-Identifier: Apache-2.0 */
/* Says which types and attributes an AIR file cannot hold, and reports lack of memory. */
#include "backend/air/air.h"

tl_status tl_air_no_memory(const tl_air *a) {
  return tl_fail_memory(a->m->diag, TL_AT_FILE(a->path));
}

/* Returns true if the size in bits fits in 63 bits. Dims of 0 and unknown dims are left out of the
 * product: a reader that multiplies in order overflows at large dims before it meets a 0. */
static bool is_countable(const tl_type *t) {
  unsigned bits = tl_dtype_get((tl_dtype)t->dtype)->bits;
  uint64_t total = bits ? bits : 1;
  for (int i = 0; t->rank != TL_RANK_UNKNOWN && i < t->rank; i++)
    if (t->dims[i] > 0 && __builtin_mul_overflow(total, (uint64_t)t->dims[i], &total))
      return false;
  return total <= INT64_MAX;
}

const char *tl_air_type_problem(const tl_module *m, tl_type_id type) {
  const tl_type *t = tl_type_get(m, type);
  if (t->kind == TL_KIND_UNKNOWN || t->kind == TL_KIND_SEQUENCE)
    return NULL;
  if (t->kind != TL_KIND_TENSOR)
    return "is neither a tensor nor a sequence";
  if (t->dtype != TL_DTYPE_NONE && tl_dtype_get((tl_dtype)t->dtype)->ge_proto < 0)
    return "has an element type that the NPU does not know";
  if (!is_countable(t))
    return "is larger than 64 bits can count";
  return NULL;
}

/* Returns true if the dtype has a number in attributes of GE. */
static bool is_npu_dtype(int64_t dtype) { return tl_dtype_get((tl_dtype)dtype)->ge_internal >= 0; }

const char *tl_air_attr_problem(const tl_module *m, const tl_attr *attr) {
  switch ((tl_attr_kind)attr->kind) {
  case TL_ATTR_TENSOR:
    if (tl_tensor_get(m, attr->u.t)->kind == TL_SOURCE_STRINGS)
      return "is a tensor of strings, which AIR cannot hold";
    return tl_air_type_problem(m, tl_tensor_get(m, attr->u.t)->type);
  case TL_ATTR_TENSORS:
  case TL_ATTR_TYPE:
  case TL_ATTR_TYPES:
  case TL_ATTR_SPARSE:
  case TL_ATTR_SPARSES: return "has a type that AIR does not support";
  case TL_ATTR_DTYPE:
    return !is_npu_dtype(attr->u.i) ? "has a type that the NPU does not have" : NULL;
  case TL_ATTR_DTYPES:
    for (uint32_t i = 0; i < attr->count; i++)
      if (!is_npu_dtype(attr->u.is[i]))
        return "contains a type that the NPU does not have";
    return NULL;
  default: return NULL;
  }
}
