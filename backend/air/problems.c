/* SPDX-License-Identifier: Apache-2.0 */
/* Says which types and attributes an AIR file cannot hold, and reports lack of memory. */
#include "backend/air/air.h"
#include "backend/air/check_attrs.h"

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

static tl_air_bytes bytes_of(tl_sv s) {
  const unsigned char *p = (const unsigned char *)s.p;
  return (tl_air_bytes){p, p + s.n};
}

/* Bytes that an AIR file had go into the new one as they are, but text can have any. */
static const char *carried_problem(tl_air_bytes key, tl_air_bytes value, tl_air_op_def *ports) {
  tl_air_bytes rest = value;
  tl_air_field f;
  if (tl_air_next_field(&rest, &f) && f.number == TL_ATTRDEF_T)
    return "is a tensor as bytes\vwrite its type and its numbers, which can be checked";
  return tl_air_value_problem(key, value, ports)
             ? "is carried as bytes that are no value of AIR\vwrite its value, or remove it"
             : NULL;
}

const char *tl_air_carried_problem(const tl_module *m, tl_node_id n, tl_sv *key) {
  const tl_node *node = tl_node_get(m, n);
  tl_air_op_def ports = {0};
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *attr = &node->attrs[i];
    bool carried = attr->kind == TL_ATTR_CARRIED;
    *key = tl_sym(m, attr->name);
    if ((!carried || tl_op_row(node->op)) && tl_air_bookkeeping(bytes_of(*key)) >= 0)
      return "has the name of a list of ports, which AIR files have of their own\v"
             "remove it, or give it another name";
    const char *problem =
        carried ? carried_problem(bytes_of(*key), bytes_of(tl_sym(m, attr->u.s)), &ports) : NULL;
    if (problem)
      return problem;
  }
  int unpaired = tl_air_unpaired(&ports);
  if (unpaired < 0)
    return NULL;
  *key = tl_air_bookkeeping_key(unpaired);
  return "is not as long as the list of numbers that belongs to it\v"
         "remove both, the file gets them from the graph";
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
