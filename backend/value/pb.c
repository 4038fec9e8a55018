/* SPDX-License-Identifier: Apache-2.0 */
/* Writes values as ONNX protobuf messages. Field numbers are those of onnx.proto. */
#include "backend/value/value.h"
#include "backend/wire.h"

enum {
  TENSOR_DIMS = 1,
  TENSOR_DATA_TYPE = 2,
  TENSOR_STRING_DATA = 6,
  TENSOR_NAME = 8,
  TENSOR_RAW_DATA = 9,
  /* SequenceProto and OptionalProto */
  NAME = 1,
  ELEM_TYPE = 2,
  TENSOR_VALUE = 3,
  SEQUENCE_VALUE = 5,
  OPTIONAL_VALUE = 7,
  /* their DataType */
  IS_TENSOR = 1,
  IS_SEQUENCE = 3,
  IS_OPTIONAL = 5
};

/* Emits the fields of a TensorProto; strings have a field of their own. */
static void emit_tensor(tl_wire *w, const tl_host *v, tl_sv name) {
  for (int i = 0; i < v->rank; i++)
    tl_wire_int(w, TENSOR_DIMS, v->dims[i]);
  tl_wire_int(w, TENSOR_DATA_TYPE, tl_dtype_get((tl_dtype)v->dtype)->onnx);
  for (uint64_t i = 0; v->dtype == TL_DTYPE_STRING && i < v->n; i++)
    tl_wire_sv(w, TENSOR_STRING_DATA, ((const tl_sv *)v->data)[i]);
  tl_wire_sv_if(w, TENSOR_NAME, name);
  if (v->dtype != TL_DTYPE_STRING)
    tl_wire_elements(w, TENSOR_RAW_DATA, (tl_dtype)v->dtype, v->bytes ? v->data : "", v->bytes);
}

/* The field of SequenceProto or OptionalProto that holds a value, and its number as element type.
 */
typedef struct slot {
  uint32_t field;
  int64_t type;
} slot;

/* Returns the slot for a value of this kind. */
static slot slot_of(const tl_host *v) {
  return v->kind == TL_HOST_TENSOR     ? (slot){TENSOR_VALUE, IS_TENSOR}
         : v->kind == TL_HOST_SEQUENCE ? (slot){SEQUENCE_VALUE, IS_SEQUENCE}
                                       : (slot){OPTIONAL_VALUE, IS_OPTIONAL};
}

static void emit_plain(tl_wire *w, const tl_host *v, tl_sv name);

/* Emits the value as an element of a sequence or optional. */
static void emit_item(tl_wire *w, const tl_host *v) {
  tl_wire_begin(w, slot_of(v).field);
  emit_plain(w, v, TL_SV(""));
  tl_wire_end(w);
}

/* Emits a tensor, a sequence or an empty optional. The recursion is as deep as the value; the parts
 * that make values bound that. */
static void emit_plain(tl_wire *w, const tl_host *v, tl_sv name) {
  if (v->kind == TL_HOST_TENSOR) {
    emit_tensor(w, v, name);
    return;
  }
  tl_wire_sv_if(w, NAME, name);
  if (v->kind != TL_HOST_SEQUENCE)
    return;
  /* The element type of an empty sequence is not known; tensors are by far the most common. */
  tl_wire_int(w, ELEM_TYPE, v->n ? slot_of(tl_host_item(v, 0)).type : IS_TENSOR);
  for (uint64_t i = 0; i < v->n; i++)
    emit_item(w, tl_host_item(v, i));
}

/* Emits a value of a declared type. An optional with a value is an OptionalProto around it. */
static void emit(tl_wire *w, const tl_host *v, bool optional, tl_sv name) {
  if (!optional || v->kind == TL_HOST_NONE) {
    emit_plain(w, v, name);
    return;
  }
  tl_wire_sv_if(w, NAME, name);
  tl_wire_int(w, ELEM_TYPE, slot_of(v).type);
  emit_item(w, v);
}

tl_status tl_value_emit_pb(const tl_host *v, bool optional, tl_sv name, tl_writer *out) {
  tl_wire w;
  tl_wire_init(&w);
  emit(&w, v, optional, name);
  tl_status status = tl_wire_start(&w, out);
  if (status == TL_OK) {
    emit(&w, v, optional, name);
    status = tl_wire_finish(&w);
  }
  tl_wire_release(&w);
  return status;
}
