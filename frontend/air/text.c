/* SPDX-License-Identifier: Apache-2.0 */
/* Tells AIR files and GE's text dumps from other files, and turns texts into the bytes that an
 * AIR file has, which are read as such. */
#include "frontend/air/dump.h"
#include "frontend/air/load.h"
#include "frontend/prototext/prototext.h"

/* ---- what a file is -------------------------------------------------------------------------- */

/* A graph begins with its name, an input, an output or a node. */
static bool begins_as_graph(tl_proto body) {
  tl_field f;
  return tl_proto_next(&body, &f) == TL_STEP_FIELD && f.type == TL_WIRE_BYTES &&
         (f.number == TL_GRAPH_NAME || (f.number >= 4 && f.number <= TL_GRAPH_NODE));
}

bool tl_air_looks_like(const void *bytes, size_t n) {
  tl_proto w = {bytes, (const unsigned char *)bytes + n};
  tl_field f;
  for (int i = 0; i < 8 && tl_proto_next(&w, &f) == TL_STEP_FIELD; i++)
    switch (tl_field_tag(&f)) {
    case TL_TAG(TL_MODEL_NAME, TL_WIRE_BYTES):
    case TL_TAG(TL_MODEL_VERSION, TL_WIRE_VARINT):
    case TL_TAG(TL_MODEL_CUSTOM_VERSION, TL_WIRE_BYTES): break;
    case TL_TAG(TL_MODEL_GRAPH, TL_WIRE_BYTES): return begins_as_graph(f.body);
    default: return false;
    }
  return false;
}

/* What the first fields of a text say. */
typedef struct guess {
  tl_air_form form;
  bool in_graph; /* the last field at the top was a graph */
  bool known;    /* each field so far is one of a dump */
} guess;

/* Looks at a field; false once it is clear what the text is. */
static bool look(void *user, tl_text_peek peek) {
  guess *g = user;
  static const struct {
    const char *name;
    uint8_t depth;
    uint8_t form;
  } signs[] = {{"custom_version", 0, TL_AIR_TEXT},
               {"attr", 0, TL_AIR_TEXT},
               {"version", 0, TL_AIR_TEXT},
               {"ir_version", 0, TL_AIR_DUMP},
               {"producer_name", 0, TL_AIR_DUMP},
               {"model_version", 0, TL_AIR_DUMP},
               {"op", 1, TL_AIR_TEXT},
               {"node", 1, TL_AIR_DUMP}};
  g->in_graph = peek.depth ? g->in_graph : tl_sv_is(peek.name, "graph");
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
    if (signs[i].depth == peek.depth && tl_sv_is(peek.name, signs[i].name) &&
        (peek.depth == 0 || g->in_graph)) {
      g->form = (tl_air_form)signs[i].form;
      return false;
    }
  g->known = peek.depth ? g->in_graph : g->in_graph || tl_sv_is(peek.name, "name");
  return g->known;
}

tl_air_form tl_air_text_form(tl_sv text) {
  guess g = {.form = TL_AIR_BINARY};
  if (text.n == 0 || tl_air_looks_like(text.p, text.n) || !tl_prototext_peek(text, look, &g))
    return TL_AIR_BINARY;
  return g.form;
}

bool tl_air_is_text(const void *bytes, size_t n) {
  return tl_air_text_form((tl_sv){bytes, n}) != TL_AIR_BINARY;
}

/* ---- turning it into messages ---------------------------------------------------------------- */

static tl_status encode(tl_air_reader *r, tl_buf *out) {
  tl_buf dump;
  tl_sv text = tl_proto_sv(r->model);
  if (r->form == TL_AIR_TEXT)
    return tl_prototext_encode(r->d, r->path, text, &tl_air_model_schema, out);
  tl_buf_init(&dump);
  tl_status status = tl_prototext_encode(r->d, r->path, text, &tl_air_dump_schema, &dump);
  if (status == TL_OK) {
    tl_sv bytes = tl_buf_view(&dump);
    tl_proto model = {(const unsigned char *)bytes.p, (const unsigned char *)bytes.p + bytes.n};
    status = tl_air_from_dump(r, model, out);
  }
  tl_buf_release(&dump);
  return status;
}

/* The module owns the bytes: constants are views of them. */
tl_status tl_air_from_text(tl_air_reader *r) {
  static const tl_file in_memory = {.path = (char *)(uintptr_t) "", .fd = -1};
  tl_buf out;
  tl_file *made;
  tl_buf_init(&out);
  tl_status status = encode(r, &out);
  if (status == TL_OK && out.n == 0)
    status = tl_fail(r->d, TL_INVALID_MODEL, TL_AT_FILE(r->path), "the model has no graph");
  if (status != TL_OK) {
    tl_buf_release(&out);
    return status;
  }
  TL_TRY(tl_file_adopt(r->file ? r->file : &in_memory, out.p, out.n, &made));
  TL_TRY(tl_module_add_file(r->m, made));
  r->file = made;
  r->model = (tl_proto){made->data, made->data + made->size};
  return TL_OK;
}
