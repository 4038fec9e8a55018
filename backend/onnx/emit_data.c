/* SPDX-License-Identifier: Apache-2.0 */
/* Emits TensorProto, TypeProto, ValueInfoProto, and the documentation and metadata of messages. */
#include "backend/data.h"
#include "backend/onnx/emit.h"

enum {
  TENSOR_DIMS = 1,
  TENSOR_DATA_TYPE = 2,
  TENSOR_STRING_DATA = 6,
  TENSOR_NAME = 8,
  TENSOR_RAW_DATA = 9,
  TENSOR_EXTERNAL_DATA = 13,
  TENSOR_DATA_LOCATION = 14,
  LOCATION_EXTERNAL = 1,
  ENTRY_KEY = 1,
  ENTRY_VALUE = 2,
  TYPE_TENSOR = 1,
  TYPE_SEQUENCE = 4,
  TYPE_MAP = 5,
  TYPE_DENOTATION = 6,
  TYPE_OPAQUE = 7,
  TYPE_SPARSE = 8,
  TYPE_OPTIONAL = 9,
  ELEM_TYPE = 1,
  TENSOR_SHAPE = 2,
  SHAPE_DIM = 1,
  DIM_VALUE = 1,
  DIM_PARAM = 2,
  MAP_KEY = 1,
  MAP_VALUE = 2,
  OPAQUE_DOMAIN = 1,
  OPAQUE_NAME = 2,
  VALUE_NAME = 1,
  VALUE_TYPE = 2,
  VALUE_DOC = 3,
  VALUE_METADATA = 4,
  MAX_TYPE_DEPTH = 16,
  MAX_KEPT = 4 << 20 /* limit of the total size of kept types, bytes */
};

/* Returns TensorProto.DataType; not above 0 for a dtype that ONNX lacks. */
static int64_t onnx_dtype(uint8_t dtype) { return tl_dtype_get((tl_dtype)dtype)->onnx; }

/* A loop suffices, since types nest through `element` only. The depth is bounded here too, which
 * also bounds the recursion of emit_type_fields. */
bool tl_onnx_has_type(const tl_module *m, tl_type_id id) {
  for (int depth = 0; depth < MAX_TYPE_DEPTH; depth++) {
    const tl_type *t = tl_type_get(m, id);
    switch ((tl_type_kind)t->kind) {
    case TL_KIND_UNKNOWN: return false;
    case TL_KIND_OPAQUE: return true;
    case TL_KIND_TENSOR:
    case TL_KIND_SPARSE_TENSOR: return t->dtype != TL_DTYPE_NONE && onnx_dtype(t->dtype) > 0;
    case TL_KIND_MAP:
      if (onnx_dtype(t->dtype) <= 0)
        return false;
      break;
    case TL_KIND_SEQUENCE:
    case TL_KIND_OPTIONAL: break;
    }
    id = t->element;
  }
  return false;
}

/* Appends a shape. A dim with neither a value nor a name is unknown, which ONNX writes as an empty
 * message. */
static void emit_shape(tl_onnx_emit *e, const tl_type *t) {
  tl_wire_begin(e->w, TENSOR_SHAPE);
  for (int i = 0; i < t->rank; i++) {
    tl_wire_begin(e->w, SHAPE_DIM);
    if (tl_dim_is_static(t->dims[i]))
      tl_wire_int(e->w, DIM_VALUE, t->dims[i]);
    else if (tl_dim_is_symbol(t->dims[i]))
      tl_wire_sv(e->w, DIM_PARAM, tl_sym(e->m, tl_dim_symbol(t->dims[i])));
    tl_wire_end(e->w);
  }
  tl_wire_end(e->w);
}

/* Appends a tensor type; without a shape the rank is unknown. */
static void emit_tensor_type(tl_onnx_emit *e, uint32_t field, const tl_type *t) {
  tl_wire_begin(e->w, field);
  tl_wire_int(e->w, ELEM_TYPE, onnx_dtype(t->dtype));
  if (t->rank >= 0)
    emit_shape(e, t);
  tl_wire_end(e->w);
}

/* Appends the fields of a TypeProto. tl_onnx_has_type has bounded the recursion. */
static void emit_type_fields(tl_onnx_emit *e, tl_type_id id) {
  const tl_type *t = tl_type_get(e->m, id);
  switch ((tl_type_kind)t->kind) {
  case TL_KIND_TENSOR: emit_tensor_type(e, TYPE_TENSOR, t); break;
  case TL_KIND_SPARSE_TENSOR: emit_tensor_type(e, TYPE_SPARSE, t); break;
  case TL_KIND_SEQUENCE:
  case TL_KIND_OPTIONAL:
    tl_wire_begin(e->w, t->kind == TL_KIND_SEQUENCE ? TYPE_SEQUENCE : TYPE_OPTIONAL);
    tl_onnx_emit_type(e, ELEM_TYPE, t->element, 0);
    tl_wire_end(e->w);
    break;
  case TL_KIND_MAP:
    tl_wire_begin(e->w, TYPE_MAP);
    tl_wire_int(e->w, MAP_KEY, onnx_dtype(t->dtype));
    tl_onnx_emit_type(e, MAP_VALUE, t->element, 0);
    tl_wire_end(e->w);
    break;
  case TL_KIND_OPAQUE:
    tl_wire_begin(e->w, TYPE_OPAQUE);
    tl_wire_sv_if(e->w, OPAQUE_DOMAIN, tl_sym(e->m, t->domain));
    tl_wire_sv_if(e->w, OPAQUE_NAME, tl_sym(e->m, t->name));
    tl_wire_end(e->w);
    break;
  case TL_KIND_UNKNOWN: break;
  }
}

/* Appends the fields of a TypeProto and keeps them for the next value of that type. The limit
 * counts in the first sweep; the second keeps the same types. */
static void emit_kept_fields(tl_onnx_emit *e, tl_type_id type) {
  tl_onnx_types *types = e->types;
  tl_wire_kept *kept = &types->at[type];
  uint64_t mark = tl_wire_mark(e->w, kept);
  emit_type_fields(e, type);
  tl_wire_keep(e->w, kept, mark, MAX_KEPT - types->bytes, &types->arena);
  types->bytes += e->w->out ? 0 : kept->n;
}

void tl_onnx_emit_type(tl_onnx_emit *e, uint32_t field, tl_type_id type, tl_symbol denotation) {
  bool keep = denotation == 0 && type < e->types->n;
  if ((keep && tl_wire_recall(e->w, field, &e->types->at[type])) || !tl_onnx_has_type(e->m, type))
    return;
  tl_wire_begin(e->w, field);
  if (keep)
    emit_kept_fields(e, type);
  else
    emit_type_fields(e, type);
  tl_wire_sv_if(e->w, TYPE_DENOTATION, tl_sym(e->m, denotation));
  tl_wire_end(e->w);
}

void tl_onnx_emit_value(tl_onnx_emit *e, uint32_t field, tl_value_id v) {
  const tl_value *value = tl_value_get(e->m, v);
  tl_wire_begin(e->w, field);
  tl_wire_sv(e->w, VALUE_NAME, tl_sym(e->m, value->name));
  tl_onnx_emit_type(e, VALUE_TYPE, value->type, e->m->extras.at[value->extra].denotation);
  tl_onnx_emit_extra(e, value->extra, VALUE_DOC, VALUE_METADATA);
  tl_wire_end(e->w);
}

/* Appends a StringStringEntryProto. */
static void emit_entry(tl_onnx_emit *e, uint32_t field, tl_sv key, tl_sv value) {
  tl_wire_begin(e->w, field);
  tl_wire_sv(e->w, ENTRY_KEY, key);
  tl_wire_sv(e->w, ENTRY_VALUE, value);
  tl_wire_end(e->w);
}

void tl_onnx_emit_extra(tl_onnx_emit *e, uint32_t extra, uint32_t doc_field, uint32_t meta_field) {
  if (extra == 0)
    return;
  const tl_extra *x = &e->m->extras.at[extra];
  if (doc_field)
    tl_wire_sv_if(e->w, doc_field, tl_sym(e->m, x->doc));
  if (!meta_field)
    return;
  for (uint32_t i = 0; i < x->n_metadata; i++)
    emit_entry(e, meta_field, tl_sym(e->m, x->metadata[i].key), tl_sym(e->m, x->metadata[i].value));
  tl_sv raw = tl_sym(e->m, x->raw);
  tl_wire_raw(e->w, raw.p, raw.n);
}

/* Prints v into room, which has 20 bytes: enough for 2^64 - 1. */
static tl_sv print_number(char *room, uint64_t v) {
  char *p = room + 20;
  do
    *--p = (char)('0' + v % 10);
  while (v /= 10);
  return (tl_sv){p, (size_t)(room + 20 - p)};
}

/* Appends where the data of a tensor lies in the file beside the model. */
static void emit_external(tl_onnx_emit *e, uint64_t offset, uint64_t length) {
  char room[20];
  emit_entry(e, TENSOR_EXTERNAL_DATA, TL_SV("location"), e->layout->location);
  emit_entry(e, TENSOR_EXTERNAL_DATA, TL_SV("offset"), print_number(room, offset));
  emit_entry(e, TENSOR_EXTERNAL_DATA, TL_SV("length"), print_number(room, length));
  tl_wire_uint(e->w, TENSOR_DATA_LOCATION, LOCATION_EXTERNAL);
}

static void emit_strings(tl_onnx_emit *e, const tl_tensor *t) {
  uint64_t n = tl_tensor_elements(e->m, t);
  for (uint64_t i = 0; i < n; i++)
    tl_wire_sv(e->w, TENSOR_STRING_DATA, tl_sym(e->m, t->u.strings[i]));
}

/* Appends no documentation or metadata: that goes to the ValueInfoProto, also for constants. */
void tl_onnx_emit_tensor(tl_onnx_emit *e, uint32_t field, const tl_tensor *t, tl_value_id v) {
  const tl_type *type = tl_type_get(e->m, t->type);
  bool beside = v && v < e->layout->n && e->layout->offsets[v] != TL_ONNX_INLINE;
  tl_wire_begin(e->w, field);
  for (int i = 0; i < type->rank; i++)
    tl_wire_int(e->w, TENSOR_DIMS, type->dims[i]);
  tl_wire_int(e->w, TENSOR_DATA_TYPE, onnx_dtype(t->dtype));
  if (t->kind == TL_SOURCE_STRINGS)
    emit_strings(e, t);
  tl_wire_sv_if(e->w, TENSOR_NAME, tl_sym(e->m, v ? tl_value_get(e->m, v)->name : t->name));
  if (beside)
    emit_external(e, e->layout->offsets[v], t->bytes);
  else
    tl_wire_tensor(e->w, TENSOR_RAW_DATA, t);
  tl_wire_end(e->w);
}
