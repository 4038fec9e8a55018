/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the reading of a TensorProto.
 * Bytes that can be used as they are (raw_data, packed floats) become views of the file; varints
 * and strings are decoded into the module's arena. The amount of data is compared with the shape
 * before anything is allocated, so a small file cannot ask for much memory. */
#include "frontend/onnx/external.h"
#include "frontend/onnx/tensor.h"

enum { FLOATS = 4, INT32S = 5, STRINGS = 6, INT64S = 7, DOUBLES = 10, UINT64S = 11 };

typedef struct tensor_wire {
  tl_proto body;
  tl_location where;
  tl_dim dims[TL_MAX_RANK];
  int rank;
  int64_t data_type;
  tl_sv name;
  tl_proto raw;       /* p == NULL: absent */
  uint32_t payload;   /* field number of typed data, 0: none */
  uint32_t n_payload; /* fields of it */
  tl_proto run;       /* the last one, when packed */
  bool several;       /* data of more than one kind */
  bool is_external;
  tl_external_wire external;
} tensor_wire;

static bool add_dim(void *user, uint64_t value) {
  tensor_wire *t = user;
  if (t->rank < TL_MAX_RANK)
    t->dims[t->rank] = (tl_dim)value;
  t->rank++;
  return t->rank <= TL_MAX_RANK;
}

static bool read_external_entry(tl_proto entry, tl_external_wire *e) {
  tl_field f;
  tl_sv key = {"", 0};
  tl_sv value = {"", 0};
  tl_step step;
  while ((step = tl_proto_next(&entry, &f)) == TL_STEP_FIELD) {
    if (tl_field_tag(&f) == TL_TAG(1, TL_WIRE_BYTES))
      key = tl_proto_sv(f.body);
    else if (tl_field_tag(&f) == TL_TAG(2, TL_WIRE_BYTES))
      value = tl_proto_sv(f.body);
  }
  if (tl_sv_is(key, "location"))
    e->location = value;
  else if (tl_sv_is(key, "offset"))
    e->offset = value;
  else if (tl_sv_is(key, "length"))
    e->length = value;
  return step == TL_STEP_END;
}

static void note_payload(tensor_wire *t, const tl_field *f) {
  if (f->type == TL_WIRE_BYTES && f->number != STRINGS && f->body.p == f->body.end)
    return; /* an empty packed field says nothing */
  t->several |= t->raw.p || (t->payload && t->payload != f->number);
  t->payload = f->number;
  t->n_payload++;
  t->run = f->type == TL_WIRE_BYTES ? f->body : (tl_proto){NULL, NULL};
}

static bool scan_field(tensor_wire *t, const tl_field *f) {
  switch (f->number) {
  case 1: return tl_proto_numbers(f, 0, add_dim, t);
  case 2: t->data_type = f->type == TL_WIRE_VARINT ? (int64_t)f->value : -1; return true;
  case FLOATS:
  case INT32S:
  case STRINGS:
  case INT64S:
  case DOUBLES:
  case UINT64S: note_payload(t, f); return true;
  case 8: t->name = f->type == TL_WIRE_BYTES ? tl_proto_sv(f->body) : t->name; return true;
  case 9:
    if (f->type == TL_WIRE_BYTES) {
      t->several |= t->payload != 0 && f->body.p != f->body.end;
      t->raw = f->body;
    }
    return true;
  case 13: return f->type != TL_WIRE_BYTES || read_external_entry(f->body, &t->external);
  case 14: t->is_external = f->type == TL_WIRE_VARINT && f->value == 1; return true;
  default: return true;
  }
}

static tl_status scan(tl_onnx_reader *r, tensor_wire *t) {
  tl_proto w = t->body;
  tl_field f;
  tl_step step;
  while ((step = tl_proto_next(&w, &f)) == TL_STEP_FIELD) {
    if (!scan_field(t, &f)) {
      if (t->rank > TL_MAX_RANK)
        return tl_fail(r->d, TL_LIMIT, t->where, "rank is beyond %d", TL_MAX_RANK);
      return tl_onnx_malformed(r, f.start, "TensorProto");
    }
  }
  return step == TL_STEP_BAD ? tl_onnx_malformed(r, w.p, "TensorProto") : TL_OK;
}

static tl_status make_type(tl_onnx_reader *r, const tensor_wire *t, tl_tensor *out,
                           uint64_t *elements) {
  out->dtype = (uint8_t)tl_dtype_from_onnx(t->data_type);
  if (out->dtype == TL_DTYPE_NONE)
    return tl_fail(r->d, TL_INVALID_MODEL, t->where, "unknown data type %lld",
                   (long long)t->data_type);
  *elements = 1;
  for (int i = 0; i < t->rank; i++) {
    if (t->dims[i] < 0)
      return tl_fail(r->d, TL_INVALID_MODEL, t->where, "dimension %d is negative (%lld)", i,
                     (long long)t->dims[i]);
    if (__builtin_mul_overflow(*elements, (uint64_t)t->dims[i], elements))
      return tl_fail(r->d, TL_INVALID_MODEL, t->where, "dimensions multiply to more than 2^64");
  }
  out->type = tl_type_tensor(r->m, (tl_dtype)out->dtype, t->rank, t->dims);
  if (!out->type)
    return TL_NO_MEMORY;
  if (out->dtype != TL_DTYPE_STRING &&
      !tl_dtype_bytes((tl_dtype)out->dtype, *elements, &out->bytes))
    return tl_fail(r->d, TL_INVALID_MODEL, t->where, "the tensor needs more than 2^64 bytes");
  return TL_OK;
}

static tl_status wrong_size(tl_onnx_reader *r, const tensor_wire *t, const tl_tensor *out,
                            uint64_t has, const char *unit) {
  tl_buf type;
  tl_buf_init(&type);
  tl_type_print(r->m, out->type, &type);
  tl_status s = tl_fail(
      r->d, TL_INVALID_MODEL, t->where, "tensor %s needs %llu bytes, but the model holds %llu %s",
      type.p ? type.p : "", (unsigned long long)out->bytes, (unsigned long long)has, unit);
  tl_buf_release(&type);
  return s;
}

/* Makes *out a view of bytes of the model. */
static tl_status view_bytes(tl_onnx_reader *r, const tensor_wire *t, tl_proto bytes,
                            tl_tensor *out) {
  if (tl_proto_left(&bytes) != out->bytes)
    return wrong_size(r, t, out, tl_proto_left(&bytes), "bytes");
  tl_data_source source = tl_onnx_data(r);
  return tl_data_inside(&source, bytes.p, out);
}

typedef struct number_sink {
  unsigned char *at; /* NULL: count only */
  uint64_t n;
  uint64_t limit;
  uint32_t width; /* bytes of a number in the tensor */
  bool is_bool;
} number_sink;

static bool take_number(void *user, uint64_t value) {
  number_sink *s = user;
  if (s->n++ >= s->limit)
    return false;
  if (s->is_bool)
    value = value != 0;
  for (uint32_t i = 0; s->at && i < s->width; i++)
    *s->at++ = (unsigned char)(value >> (8 * i));
  return true;
}

static bool walk_numbers(const tensor_wire *t, number_sink *sink) {
  tl_proto w = t->body;
  tl_field f;
  uint32_t fixed = t->payload == FLOATS ? 4 : t->payload == DOUBLES ? 8 : 0;
  sink->n = 0;
  while (tl_proto_next(&w, &f) == TL_STEP_FIELD)
    if (f.number == t->payload && !tl_proto_numbers(&f, fixed, take_number, sink))
      return false;
  return true;
}

/* Returns the bytes that one number of the payload field becomes, 0 if ONNX does not put that dtype
 * into that field. Types below a byte are packed, so one number is one byte of several elements. */
static uint32_t number_width(uint32_t payload, tl_dtype dtype) {
  uint32_t bits = tl_dtype_get(dtype)->bits;
  switch (dtype) {
  case TL_DTYPE_F32:
  case TL_DTYPE_C64: return payload == FLOATS ? 4 : 0;
  case TL_DTYPE_F64:
  case TL_DTYPE_C128: return payload == DOUBLES ? 8 : 0;
  case TL_DTYPE_I64: return payload == INT64S ? 8 : 0;
  case TL_DTYPE_U32:
  case TL_DTYPE_U64: return payload == UINT64S ? bits / 8 : 0;
  case TL_DTYPE_STRING: return 0;
  default: return payload == INT32S ? (bits + 7) / 8 : 0;
  }
}

static tl_status read_numbers(tl_onnx_reader *r, const tensor_wire *t, tl_tensor *out) {
  uint32_t width = number_width(t->payload, (tl_dtype)out->dtype);
  if (width == 0)
    return tl_fail(r->d, TL_INVALID_MODEL, t->where, "data of type %s is in the wrong field (%u)",
                   tl_dtype_get((tl_dtype)out->dtype)->name, t->payload);
  if ((t->payload == FLOATS || t->payload == DOUBLES) && t->n_payload == 1 && t->run.p)
    return view_bytes(r, t, t->run, out);
  number_sink sink = {.limit = out->bytes / width, .width = width};
  sink.is_bool = out->dtype == TL_DTYPE_BOOL;
  if (!walk_numbers(t, &sink) || sink.n != sink.limit)
    return wrong_size(r, t, out, sink.n, "numbers or more");
  unsigned char *data = tl_arena_alloc(&r->m->arena, out->bytes);
  if (!data)
    return TL_NO_MEMORY;
  sink.at = data;
  if (!walk_numbers(t, &sink))
    return tl_onnx_malformed(r, t->body.p, "TensorProto");
  tl_order_turn((tl_dtype)out->dtype, data, out->bytes);
  out->kind = TL_SOURCE_BYTES;
  out->u.data = data;
  return TL_OK;
}

static tl_status read_strings(tl_onnx_reader *r, const tensor_wire *t, uint64_t n, tl_tensor *out) {
  tl_proto w = t->body;
  tl_field f;
  uint32_t i = 0;
  if ((t->payload && t->payload != STRINGS) || t->raw.p || t->n_payload != n)
    return tl_fail(r->d, TL_INVALID_MODEL, t->where, "%llu strings needed, %u found",
                   (unsigned long long)n, t->payload == STRINGS ? t->n_payload : 0);
  tl_symbol *strings = tl_arena_calloc(&r->m->arena, n, sizeof *strings);
  if (!strings)
    return TL_NO_MEMORY;
  while (tl_proto_next(&w, &f) == TL_STEP_FIELD) {
    if (tl_field_tag(&f) != TL_TAG(STRINGS, TL_WIRE_BYTES))
      continue;
    if (i == n || (strings[i++] = tl_onnx_symbol(r, tl_proto_sv(f.body))) == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
    out->bytes += tl_proto_left(&f.body);
  }
  out->kind = TL_SOURCE_STRINGS;
  out->u.strings = strings;
  return TL_OK;
}

static tl_status read_source(tl_onnx_reader *r, const tensor_wire *t, uint64_t elements,
                             tl_tensor *out) {
  if (t->several)
    return tl_fail(r->d, TL_INVALID_MODEL, t->where, "the tensor has data in more than one field");
  if (t->is_external && (t->raw.p || t->payload))
    return tl_fail(r->d, TL_INVALID_MODEL, t->where, "the tensor has data here and outside");
  if (out->dtype == TL_DTYPE_STRING) {
    if (t->is_external)
      return tl_fail(r->d, TL_UNSUPPORTED, t->where, "strings cannot be external data");
    return read_strings(r, t, elements, out);
  }
  if (t->is_external)
    return tl_onnx_external(r, &t->external, t->where, out);
  if (t->raw.p && (t->raw.p != t->raw.end || !t->payload))
    return view_bytes(r, t, t->raw, out);
  if (t->payload)
    return read_numbers(r, t, out);
  if (elements)
    return wrong_size(r, t, out, 0, "bytes");
  out->u.data = "";
  return TL_OK;
}

tl_status tl_onnx_tensor(tl_onnx_reader *r, tl_proto body, tl_location where, tl_tensor_id *out) {
  tensor_wire t = {.body = body, .where = where, .name = {"", 0}};
  tl_tensor made = {.kind = TL_SOURCE_BYTES};
  uint64_t elements;
  TL_TRY(scan(r, &t));
  if (t.where.attr.n == 0 && t.name.n)
    t.where.attr = t.name;
  TL_TRY(make_type(r, &t, &made, &elements));
  TL_TRY(read_source(r, &t, elements, &made));
  made.name = tl_onnx_symbol(r, t.name);
  if (made.name == TL_NO_SYMBOL || !(*out = tl_tensor_add(r->m, &made)))
    return TL_NO_MEMORY;
  return TL_OK;
}

tl_status tl_onnx_tensor_name(const tl_onnx_reader *r, tl_proto body, bool sparse, tl_sv *out) {
  tl_field f;
  tl_step step;
  *out = (tl_sv){"", 0};
  while ((step = tl_proto_next(&body, &f)) == TL_STEP_FIELD) {
    if (sparse && tl_field_tag(&f) == TL_TAG(1, TL_WIRE_BYTES))
      TL_TRY(tl_onnx_tensor_name(r, f.body, false, out));
    else if (!sparse && tl_field_tag(&f) == TL_TAG(8, TL_WIRE_BYTES))
      *out = tl_proto_sv(f.body);
  }
  return step == TL_STEP_BAD ? tl_onnx_malformed(r, body.p, "TensorProto") : TL_OK;
}
