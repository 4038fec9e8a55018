/* SPDX-License-Identifier: Apache-2.0 */
/* Reads TypeProto and ValueInfoProto.
 * protobuf-c decodes one type at a time into an arena that is then rewound. It recurses without a
 * limit, so the nesting is checked before it is called. */
#include "frontend/onnx/notes.h"
#include "frontend/onnx/onnx.pb-c.h"
#include "frontend/onnx/type.h"
#include "ir/graph.h"

typedef struct type_reader {
  tl_onnx_reader *r;
  tl_location where;
} type_reader;

static void *arena_alloc(void *arena, size_t size) { return tl_arena_alloc(arena, size); }
static void arena_free(void *arena, void *p) {
  (void)arena;
  (void)p;
}

/* Returns true if a type nests at most `depth` levels. Sequence, map and optional types are fields
 * 4, 5 and 9; the inner type is their field 1 or 2. */
static bool shallow(tl_proto type, uint32_t depth) {
  tl_field f;
  tl_field inner;
  tl_step step;
  if (depth > TL_ONNX_MAX_DEPTH)
    return false;
  while ((step = tl_proto_next(&type, &f)) == TL_STEP_FIELD) {
    if (f.type != TL_WIRE_BYTES || (f.number != 4 && f.number != 5 && f.number != 9))
      continue;
    while ((step = tl_proto_next(&f.body, &inner)) == TL_STEP_FIELD)
      if (inner.type == TL_WIRE_BYTES && !shallow(inner.body, depth + 1))
        return false;
    if (step == TL_STEP_BAD)
      return false;
  }
  return step == TL_STEP_END;
}

static tl_sv bytes_view(ProtobufCBinaryData b) { return (tl_sv){(const char *)b.data, b.len}; }

static tl_dim read_dim(tl_module *m, const TlOnnx__TensorShapeProto__Dimension *dim) {
  if (dim->has_dim_value) /* exporters write -1 for what they do not know */
    return dim->dim_value >= 0 ? dim->dim_value : TL_DIM_UNKNOWN;
  return dim->has_dim_param ? tl_dim_named(m, bytes_view(dim->dim_param)) : TL_DIM_UNKNOWN;
}

static tl_status read_tensor(const type_reader *t, tl_type_kind kind, int32_t elem_type,
                             const TlOnnx__TensorShapeProto *shape, tl_type_id *out) {
  tl_dim dims[TL_MAX_RANK];
  tl_type made = {.kind = (uint8_t)kind, .rank = TL_RANK_UNKNOWN, .dims = dims};
  made.dtype = (uint8_t)tl_dtype_from_onnx(elem_type);
  if (elem_type != 0 && made.dtype == TL_DTYPE_NONE)
    return tl_fail(t->r->d, TL_INVALID_MODEL, t->where, "unknown element type %d", elem_type);
  if (shape && shape->n_dim > TL_MAX_RANK)
    return tl_fail(t->r->d, TL_LIMIT, t->where, "rank %zu is beyond %d", shape->n_dim, TL_MAX_RANK);
  for (size_t i = 0; shape && i < shape->n_dim; i++)
    dims[i] = read_dim(t->r->m, shape->dim[i]);
  if (shape)
    made.rank = (int16_t)shape->n_dim;
  *out = tl_type_intern(t->r->m, &made);
  return *out ? TL_OK : TL_NO_MEMORY;
}

static tl_status read_type(const type_reader *t, const TlOnnx__TypeProto *p, tl_type_id *out);

static tl_status read_wrapped(const type_reader *t, tl_type_kind kind, int32_t key,
                              const TlOnnx__TypeProto *element, tl_type_id *out) {
  tl_type made = {.kind = (uint8_t)kind, .dtype = (uint8_t)tl_dtype_from_onnx(key)};
  if (element)
    TL_TRY(read_type(t, element, &made.element));
  *out = tl_type_intern(t->r->m, &made);
  return *out ? TL_OK : TL_NO_MEMORY;
}

static tl_status read_opaque(const type_reader *t, const TlOnnx__TypeProto__Opaque *p,
                             tl_type_id *out) {
  tl_type made = {.kind = TL_KIND_OPAQUE};
  made.domain = tl_module_intern(t->r->m, bytes_view(p->domain));
  made.name = tl_module_intern(t->r->m, bytes_view(p->name));
  if (made.domain == TL_NO_SYMBOL || made.name == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  *out = tl_type_intern(t->r->m, &made);
  return *out ? TL_OK : TL_NO_MEMORY;
}

static tl_status read_type(const type_reader *t, const TlOnnx__TypeProto *p, tl_type_id *out) {
  if (p->tensor_type)
    return read_tensor(t, TL_KIND_TENSOR, p->tensor_type->elem_type, p->tensor_type->shape, out);
  if (p->sparse_tensor_type)
    return read_tensor(t, TL_KIND_SPARSE_TENSOR, p->sparse_tensor_type->elem_type,
                       p->sparse_tensor_type->shape, out);
  if (p->sequence_type)
    return read_wrapped(t, TL_KIND_SEQUENCE, 0, p->sequence_type->elem_type, out);
  if (p->optional_type)
    return read_wrapped(t, TL_KIND_OPTIONAL, 0, p->optional_type->elem_type, out);
  if (p->map_type)
    return read_wrapped(t, TL_KIND_MAP, p->map_type->key_type, p->map_type->value_type, out);
  if (p->opaque_type)
    return read_opaque(t, p->opaque_type, out);
  *out = TL_NO_TYPE;
  return TL_OK;
}

tl_status tl_onnx_type(tl_onnx_reader *r, tl_proto type, tl_location where, tl_type_id *out,
                       tl_symbol *denotation) {
  type_reader t = {r, where};
  *denotation = 0;
  if (!shallow(type, 0))
    return tl_fail(r->d, TL_INVALID_MODEL, where, "malformed type, or types nested beyond %d",
                   TL_ONNX_MAX_DEPTH);
  tl_arena_mark mark = tl_arena_save(&r->leaf);
  ProtobufCAllocator allocator = {arena_alloc, arena_free, &r->leaf};
  TlOnnx__TypeProto *p = tl_onnx__type_proto__unpack(&allocator, tl_proto_left(&type), type.p);
  tl_status status = p ? read_type(&t, p, out)
                       : tl_fail(r->d, TL_INVALID_MODEL, where, "malformed type");
  if (status == TL_OK && p->has_denotation)
    *denotation = tl_module_intern(r->m, bytes_view(p->denotation));
  tl_arena_rewind(&r->leaf, mark);
  return status == TL_OK && *denotation == TL_NO_SYMBOL ? TL_NO_MEMORY : status;
}

tl_status tl_onnx_value_info(const tl_onnx_reader *r, tl_proto body, tl_value_wire *out) {
  tl_field f;
  tl_step step;
  *out = (tl_value_wire){.body = body, .name = {"", 0}};
  while ((step = tl_proto_next(&body, &f)) == TL_STEP_FIELD) {
    switch (tl_field_tag(&f)) {
    case TL_TAG(1, TL_WIRE_BYTES): out->name = tl_proto_sv(f.body); break;
    case TL_TAG(2, TL_WIRE_BYTES): out->type = f.body; break;
    default: out->has_notes = true; break;
    }
  }
  return step == TL_STEP_BAD ? tl_onnx_malformed(r, body.p, "ValueInfoProto") : TL_OK;
}

tl_status tl_onnx_describe_value(tl_onnx_reader *r, tl_value_id v, const tl_value_wire *info) {
  static const tl_note_fields notes = {.known = 1u << 1 | 1u << 2, .doc = 3, .metadata = 4};
  tl_module *m = r->m;
  uint32_t slot = tl_value_get(m, v)->extra;
  if (info->type.p) {
    tl_type_id type = TL_NO_TYPE;
    tl_symbol denotation = 0;
    TL_TRY(tl_onnx_type(r, info->type, tl_onnx_at_value(r, info->name), &type, &denotation));
    tl_dtype had = tl_type_dtype(m, tl_value_type(m, v));
    tl_dtype said = tl_type_dtype(m, type);
    if (had && said && had != said)
      return tl_fail(r->d, TL_INVALID_MODEL, tl_onnx_at_value(r, info->name),
                     "value is declared %s but holds %s", tl_dtype_get(said)->name,
                     tl_dtype_get(had)->name);
    if (!tl_value_type(m, v))
      tl_value_set_type(m, v, type);
    if (denotation) {
      tl_extra *extra = tl_module_extra(m, &slot);
      if (!extra)
        return TL_NO_MEMORY;
      extra->denotation = denotation;
    }
  }
  if (info->has_notes)
    TL_TRY(tl_onnx_carry_notes(r, info->body, &notes, &slot));
  tl_value_get(m, v)->extra = slot;
  return TL_OK;
}
