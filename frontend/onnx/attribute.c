/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the decoding of AttributeProto.
 * References to attributes of the calling node are resolved here. Graphs are queued until their
 * node exists. */
#include "frontend/onnx/attribute.h"
#include "frontend/onnx/tensor.h"
#include "frontend/onnx/type.h"

enum { DEFAULT = 11 }; /* of FunctionProto: attributes with values */

typedef struct attr_wire {
  tl_sv name;
  tl_sv reference; /* n == 0: none */
  uint64_t type;   /* AttributeProto.AttributeType, 0: not stated */
  uint32_t seen;   /* bit per field number with a value */
  int64_t i;
  float f;
  tl_proto bytes; /* s, t, g, tp or sparse_tensor: the last one */
} attr_wire;

/* By AttributeType: the IR's kind and the field that holds the value. */
static const struct {
  uint8_t kind;
  uint8_t field;
} types[] = {{TL_ATTR_NONE, 0},     {TL_ATTR_FLOAT, 2},   {TL_ATTR_INT, 3},
             {TL_ATTR_STRING, 4},   {TL_ATTR_TENSOR, 5},  {TL_ATTR_GRAPH, 6},
             {TL_ATTR_FLOATS, 7},   {TL_ATTR_INTS, 8},    {TL_ATTR_STRINGS, 9},
             {TL_ATTR_TENSORS, 10}, {TL_ATTR_GRAPHS, 11}, {TL_ATTR_SPARSE, 22},
             {TL_ATTR_SPARSES, 23}, {TL_ATTR_TYPE, 14},   {TL_ATTR_TYPES, 15}};

enum { N_TYPES = sizeof types / sizeof types[0] };

void tl_onnx_attributes_release(tl_onnx_attributes *reader) {
  tl_attr_vec_release(&reader->attrs);
  tl_body_vec_release(&reader->bodies);
  tl_i64_vec_release(&reader->ints);
  tl_f32_vec_release(&reader->floats);
  tl_u32_vec_release(&reader->ids);
}

static float float_bits(uint64_t value) {
  uint32_t bits = (uint32_t)value;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static bool push_int(void *user, uint64_t value) {
  return tl_i64_vec_push(&((tl_onnx_attributes *)user)->ints, (int64_t)value);
}

static bool push_float(void *user, uint64_t value) {
  return tl_f32_vec_push(&((tl_onnx_attributes *)user)->floats, float_bits(value));
}

/* Takes one field; numbers of lists go to the scratch lists. False if it is malformed or memory is
 * out. */
static bool take_field(tl_onnx_attributes *reader, attr_wire *a, const tl_field *f) {
  switch (tl_field_tag(f)) {
  case TL_TAG(1, TL_WIRE_BYTES): a->name = tl_proto_sv(f->body); return true;
  case TL_TAG(2, TL_WIRE_FIXED32): a->f = float_bits(f->value); break;
  case TL_TAG(3, TL_WIRE_VARINT): a->i = (int64_t)f->value; break;
  case TL_TAG(4, TL_WIRE_BYTES):
  case TL_TAG(5, TL_WIRE_BYTES):
  case TL_TAG(6, TL_WIRE_BYTES):
  case TL_TAG(14, TL_WIRE_BYTES):
  case TL_TAG(22, TL_WIRE_BYTES): a->bytes = f->body; break;
  case TL_TAG(7, TL_WIRE_BYTES):
  case TL_TAG(7, TL_WIRE_FIXED32):
    a->seen |= 1u << 7;
    return tl_proto_numbers(f, 4, push_float, reader);
  case TL_TAG(8, TL_WIRE_BYTES):
  case TL_TAG(8, TL_WIRE_VARINT):
    a->seen |= 1u << 8;
    return tl_proto_numbers(f, 0, push_int, reader);
  case TL_TAG(20, TL_WIRE_VARINT): a->type = f->value; return true;
  case TL_TAG(21, TL_WIRE_BYTES): a->reference = tl_proto_sv(f->body); return true;
  default: break;
  }
  if (f->number < 32)
    a->seen |= 1u << f->number;
  return true;
}

static tl_status scan(tl_onnx_attributes *reader, tl_proto body, attr_wire *a) {
  tl_field f;
  tl_step step;
  *a = (attr_wire){.name = {"", 0}};
  reader->ints.n = 0;
  reader->floats.n = 0;
  while ((step = tl_proto_next(&body, &f)) == TL_STEP_FIELD)
    if (!take_field(reader, a, &f))
      return tl_onnx_malformed(reader->r, f.start, "AttributeProto");
  return step == TL_STEP_BAD ? tl_onnx_malformed(reader->r, body.p, "AttributeProto") : TL_OK;
}

/* Sets the type of an attribute. Files older than IR version 2 do not state it; then the field that
 * is present tells it. */
static tl_status settle_type(tl_onnx_attributes *reader, attr_wire *a, tl_location where) {
  if (a->type == 0)
    for (uint32_t t = 1; t < N_TYPES; t++)
      if (a->seen >> types[t].field & 1)
        a->type = t;
  if (a->type == 0 || a->type >= N_TYPES)
    return tl_fail(reader->r->d, TL_INVALID_MODEL, where, "attribute type %llu is unknown",
                   (unsigned long long)a->type);
  return TL_OK;
}

/* Decodes element i of a list into a symbol or id. Graphs are queued. */
static tl_status list_item(tl_onnx_attributes *reader, tl_attr_kind kind, tl_proto item, uint32_t i,
                           tl_location where, uint32_t *out) {
  tl_symbol denotation;
  tl_body_job job = {item, reader->calls->frame, reader->attrs.n, i};
  switch (kind) {
  case TL_ATTR_TENSORS: return tl_onnx_tensor(reader->r, item, where, out);
  case TL_ATTR_TYPES: return tl_onnx_type(reader->r, item, where, out, &denotation);
  case TL_ATTR_GRAPHS:
    *out = TL_NO_GRAPH;
    return tl_body_vec_push(&reader->bodies, job) ? TL_OK : TL_NO_MEMORY;
  default:
    *out = tl_onnx_symbol(reader->r, tl_proto_sv(item));
    return *out == TL_NO_SYMBOL ? TL_NO_MEMORY : TL_OK;
  }
}

static tl_status read_list(tl_onnx_attributes *reader, tl_proto body, uint32_t field,
                           tl_location where, tl_attr *out) {
  tl_field f;
  reader->ids.n = 0;
  while (tl_proto_next(&body, &f) == TL_STEP_FIELD) {
    uint32_t id;
    if (tl_field_tag(&f) != TL_TAG(field, TL_WIRE_BYTES))
      continue;
    TL_TRY(list_item(reader, (tl_attr_kind)out->kind, f.body, reader->ids.n, where, &id));
    if (!tl_u32_vec_push(&reader->ids, id))
      return TL_NO_MEMORY;
  }
  *out =
      tl_attr_ids(reader->r->m, out->name, (tl_attr_kind)out->kind, reader->ids.at, reader->ids.n);
  return out->kind == TL_ATTR_NONE ? TL_NO_MEMORY : TL_OK;
}

static tl_status read_bytes(tl_onnx_attributes *reader, const attr_wire *a, tl_location where,
                            tl_attr *out) {
  tl_symbol denotation;
  tl_body_job job = {a->bytes, reader->calls->frame, reader->attrs.n, 0};
  if (!a->bytes.p && out->kind != TL_ATTR_STRING)
    return tl_fail(reader->r->d, TL_INVALID_MODEL, where, "the attribute has no value");
  switch ((tl_attr_kind)out->kind) {
  case TL_ATTR_TENSOR: return tl_onnx_tensor(reader->r, a->bytes, where, &out->u.t);
  case TL_ATTR_TYPE: return tl_onnx_type(reader->r, a->bytes, where, &out->u.type, &denotation);
  case TL_ATTR_GRAPH:
    out->u.g = TL_NO_GRAPH;
    return tl_body_vec_push(&reader->bodies, job) ? TL_OK : TL_NO_MEMORY;
  default: /* STRING, SPARSE */
    out->u.s = tl_onnx_symbol(reader->r, tl_proto_sv(a->bytes));
    return out->u.s == TL_NO_SYMBOL ? TL_NO_MEMORY : TL_OK;
  }
}

static tl_status read_value(tl_onnx_attributes *reader, tl_proto body, const attr_wire *a,
                            tl_location where, tl_attr *out) {
  switch ((tl_attr_kind)out->kind) {
  case TL_ATTR_INT: out->u.i = a->i; return TL_OK;
  case TL_ATTR_FLOAT: out->u.f = a->f; return TL_OK;
  case TL_ATTR_INTS:
    *out = tl_attr_ints(reader->r->m, out->name, reader->ints.at, reader->ints.n);
    break;
  case TL_ATTR_FLOATS:
    *out = tl_attr_floats(reader->r->m, out->name, reader->floats.at, reader->floats.n);
    break;
  case TL_ATTR_STRING:
  case TL_ATTR_TENSOR:
  case TL_ATTR_GRAPH:
  case TL_ATTR_TYPE:
  case TL_ATTR_SPARSE: return read_bytes(reader, a, where, out);
  default: return read_list(reader, body, types[a->type].field, where, out);
  }
  return out->kind == TL_ATTR_NONE ? TL_NO_MEMORY : TL_OK;
}

static tl_status decode(tl_onnx_attributes *reader, tl_symbol name, tl_proto body, attr_wire *a,
                        tl_location where) {
  TL_TRY(settle_type(reader, a, where));
  tl_attr made = {.name = name, .kind = types[a->type].kind};
  TL_TRY(read_value(reader, body, a, where, &made));
  return tl_attr_vec_push(&reader->attrs, made) ? TL_OK : TL_NO_MEMORY;
}

/* Reads the name of an AttributeProto. */
static tl_status read_name(tl_onnx_attributes *reader, tl_proto body, tl_sv *out) {
  tl_field f;
  tl_step step;
  *out = (tl_sv){"", 0};
  while ((step = tl_proto_next(&body, &f)) == TL_STEP_FIELD)
    if (tl_field_tag(&f) == TL_TAG(1, TL_WIRE_BYTES))
      *out = tl_proto_sv(f.body);
  return step == TL_STEP_BAD ? tl_onnx_malformed(reader->r, body.p, "AttributeProto") : TL_OK;
}

/* Finds the AttributeProto that `name` refers to in the current frame; .p is NULL if it is not set.
 * *frame: the frame in which it must be decoded. */
static tl_status find_referred(tl_onnx_attributes *reader, tl_sv name, tl_proto *out,
                               const tl_frame **frame) {
  tl_proto walk = reader->calls->frame->function;
  tl_field f;
  tl_sv found;
  *out = (tl_proto){NULL, NULL};
  *frame = reader->calls->frame->up;
  for (uint32_t i = 0; i < reader->calls->frame->n_attrs; i++) {
    tl_proto body = reader->calls->attributes.at[reader->calls->frame->first_attr + i];
    TL_TRY(read_name(reader, body, &found));
    if (tl_sv_eq(found, name)) {
      *out = body;
      return TL_OK;
    }
  }
  while (tl_proto_next(&walk, &f) == TL_STEP_FIELD) {
    if (tl_field_tag(&f) != TL_TAG(DEFAULT, TL_WIRE_BYTES))
      continue;
    TL_TRY(read_name(reader, f.body, &found));
    if (tl_sv_eq(found, name))
      *out = f.body;
  }
  return TL_OK;
}

/* Follows a reference from call to caller until it finds a value, then decodes that in the frame in
 * which it is written, since names inside are names of that frame. */
static tl_status decode_referred(tl_onnx_attributes *reader, tl_symbol name, attr_wire *a,
                                 tl_location where) {
  const tl_frame *own = reader->calls->frame;
  tl_proto body = {NULL, NULL};
  tl_status status = TL_OK;
  while (status == TL_OK && a->reference.n) {
    if (!tl_onnx_in_function(reader->calls)) {
      status = tl_fail(reader->r->d, TL_INVALID_MODEL, where,
                       "reference to attribute '%.*s' outside a function", TL_SV_ARG(a->reference));
      break;
    }
    const tl_frame *writer = reader->calls->frame;
    status = find_referred(reader, a->reference, &body, &writer);
    if (status != TL_OK || !body.p)
      break;
    reader->calls->frame = writer;
    status = scan(reader, body, a);
  }
  if (status == TL_OK && body.p)
    status = decode(reader, name, body, a, where);
  reader->calls->frame = own;
  return status;
}

tl_status tl_onnx_attribute(tl_onnx_attributes *reader, tl_proto body, tl_location where) {
  attr_wire a;
  TL_TRY(scan(reader, body, &a));
  where.attr = a.name;
  tl_symbol name = tl_onnx_symbol(reader->r, a.name);
  if (name == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  if (a.reference.n)
    return decode_referred(reader, name, &a, where);
  return decode(reader, name, body, &a, where);
}
