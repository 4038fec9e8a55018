/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the fields of a NodeProto: one walk over the bytes, one hash per name. */
#include "frontend/onnx/node_wire.h"

void tl_onnx_ports_release(tl_onnx_ports *p) {
  tl_ahead_vec_release(&p->ahead);
  tl_u32_vec_release(&p->inputs);
  tl_u32_vec_release(&p->outputs);
}

static tl_status push_name(const tl_onnx_names *names, tl_onnx_ports *ports, tl_proto name,
                           bool output) {
  tl_sv s = tl_proto_sv(name);
  tl_name_ahead ahead = {s, tl_intern_ahead(&names->r->m->symbols, s), output};
  return tl_ahead_vec_push(&ports->ahead, ahead) ? TL_OK : TL_NO_MEMORY;
}

/* Turns the collected names into keys. Their slots of the symbol table were prefetched when the
 * names were met, which hides the cache misses. */
static tl_status take_names(tl_onnx_names *names, tl_onnx_ports *ports) {
  for (uint32_t i = 0; i < ports->ahead.n; i++) {
    const tl_name_ahead *a = &ports->ahead.at[i];
    tl_symbol key = tl_onnx_in_function(names->calls) || a->name.n == 0
                        ? tl_onnx_key(names, a->name)
                        : tl_intern_hashed(&names->r->m->symbols, a->name, a->hash);
    if (key == TL_NO_SYMBOL || !tl_u32_vec_push(a->output ? &ports->outputs : &ports->inputs, key))
      return TL_NO_MEMORY;
  }
  ports->ahead.n = 0;
  return TL_OK;
}

static tl_status take_field(const tl_onnx_names *names, tl_onnx_ports *ports, tl_node_wire *w,
                            const tl_field *f) {
  switch (tl_field_tag(f)) {
  case TL_TAG(1, TL_WIRE_BYTES): return push_name(names, ports, f->body, false);
  case TL_TAG(2, TL_WIRE_BYTES): return push_name(names, ports, f->body, true);
  case TL_TAG(3, TL_WIRE_BYTES):
    w->name = tl_proto_sv(f->body);
    w->name_hash = tl_intern_ahead(&names->r->m->symbols, w->name);
    return TL_OK;
  case TL_TAG(4, TL_WIRE_BYTES): w->op_type = tl_proto_sv(f->body); return TL_OK;
  case TL_TAG(5, TL_WIRE_BYTES):
    return tl_proto_vec_push(&names->calls->attributes, f->body) ? TL_OK : TL_NO_MEMORY;
  case TL_TAG(7, TL_WIRE_BYTES): w->domain = tl_proto_sv(f->body); return TL_OK;
  case TL_TAG(8, TL_WIRE_BYTES): w->overload = tl_proto_sv(f->body); break;
  default: break;
  }
  w->has_notes |= f->type != TL_WIRE_BYTES || f->body.p != f->body.end;
  return TL_OK;
}

tl_status tl_onnx_decode_node(tl_onnx_names *names, tl_onnx_ports *ports, tl_proto body,
                              tl_node_wire *w) {
  static const tl_sv none = {"", 0};
  tl_field f;
  tl_step step;
  *w = (tl_node_wire){.body = body,
                      .name = none,
                      .op_type = none,
                      .domain = none,
                      .overload = none,
                      .first_input = ports->inputs.n,
                      .first_output = ports->outputs.n,
                      .first_attr = names->calls->attributes.n};
  while ((step = tl_proto_next(&body, &f)) == TL_STEP_FIELD)
    TL_TRY(take_field(names, ports, w, &f));
  TL_TRY(take_names(names, ports));
  w->n_inputs = ports->inputs.n - w->first_input;
  w->n_outputs = ports->outputs.n - w->first_output;
  w->n_attrs = names->calls->attributes.n - w->first_attr;
  return step == TL_STEP_BAD ? tl_onnx_malformed(names->r, body.p, "NodeProto") : TL_OK;
}

void tl_onnx_drop_node(tl_onnx_names *names, tl_onnx_ports *ports, const tl_node_wire *w) {
  ports->inputs.n = w->first_input;
  ports->outputs.n = w->first_output;
  names->calls->attributes.n = w->first_attr;
}

tl_status tl_onnx_node_header(const tl_onnx_reader *r, tl_proto body, tl_node_wire *out) {
  tl_field f;
  tl_step step;
  *out = (tl_node_wire){.op_type = {"", 0}, .domain = {"", 0}, .overload = {"", 0}};
  while ((step = tl_proto_next(&body, &f)) == TL_STEP_FIELD) {
    switch (tl_field_tag(&f)) {
    case TL_TAG(4, TL_WIRE_BYTES): out->op_type = tl_proto_sv(f.body); break;
    case TL_TAG(7, TL_WIRE_BYTES): out->domain = tl_proto_sv(f.body); break;
    case TL_TAG(8, TL_WIRE_BYTES): out->overload = tl_proto_sv(f.body); break;
    default: break;
    }
  }
  return step == TL_STEP_BAD ? tl_onnx_malformed(r, body.p, "NodeProto") : TL_OK;
}

tl_location tl_onnx_node_where(const tl_onnx_names *names, const tl_onnx_ports *ports,
                               const tl_node_wire *w) {
  tl_onnx_reader *r = names->r;
  if (w->name.n || w->n_outputs == 0)
    return tl_onnx_at(r, w->name.n ? w->name : w->op_type);
  tl_sv result = tl_sym(r->m, tl_onnx_display(names, ports->outputs.at[w->first_output]));
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_sv(&text, w->op_type);
  tl_buf_add_z(&text, "->");
  tl_buf_add_sv(&text, result);
  const char *copy = text.failed ? NULL : tl_arena_copy(&r->m->arena, text.p, text.n);
  tl_location where = tl_onnx_at(r, copy ? (tl_sv){copy, text.n} : w->op_type);
  tl_buf_release(&text);
  return where;
}
