/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the carrying over of documentation, metadata and unknown fields (notes.h). */
#include "frontend/onnx/notes.h"

static tl_status read_pair(tl_onnx_reader *r, tl_proto entry, tl_pair *out) {
  tl_field f;
  tl_step step;
  *out = (tl_pair){0, 0};
  while ((step = tl_proto_next(&entry, &f)) == TL_STEP_FIELD) {
    tl_symbol *to = f.number == 1 ? &out->key : f.number == 2 ? &out->value : NULL;
    if (!to || f.type != TL_WIRE_BYTES)
      continue;
    *to = tl_onnx_symbol(r, tl_proto_sv(f.body));
    if (*to == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
  }
  return step == TL_STEP_BAD ? tl_onnx_malformed(r, entry.p, "StringStringEntryProto") : TL_OK;
}

typedef struct note_lists {
  tl_symbol doc;
  uint32_t n_metadata;
  tl_pair *metadata; /* NULL while counting */
  tl_buf raw;
} note_lists;

static tl_status walk_notes(tl_onnx_reader *r, tl_proto w, const tl_note_fields *fields,
                            note_lists *to) {
  tl_field f;
  bool fill = to->metadata != NULL;
  to->n_metadata = 0;
  while (tl_proto_next(&w, &f) == TL_STEP_FIELD) {
    if (f.number < 64 && fields->known >> f.number & 1)
      continue;
    if (f.number == fields->doc && f.type == TL_WIRE_BYTES) {
      to->doc = tl_onnx_symbol(r, tl_proto_sv(f.body));
    } else if (f.number == fields->metadata && f.type == TL_WIRE_BYTES) {
      if (fill)
        TL_TRY(read_pair(r, f.body, &to->metadata[to->n_metadata]));
      to->n_metadata++;
    } else if (!fill && !(fields->drop && fields->drop(fields->user, &f))) {
      tl_buf_add(&to->raw, f.start, (size_t)(w.p - f.start));
    }
  }
  return TL_OK;
}

tl_status tl_onnx_carry_notes(tl_onnx_reader *r, tl_proto body, const tl_note_fields *fields,
                              uint32_t *slot) {
  note_lists lists = {0};
  tl_buf_init(&lists.raw);
  tl_status status = walk_notes(r, body, fields, &lists);
  tl_symbol raw = lists.raw.n ? tl_module_intern(r->m, tl_buf_view(&lists.raw)) : 0;
  bool failed = lists.raw.failed || raw == TL_NO_SYMBOL || lists.doc == TL_NO_SYMBOL;
  tl_buf_release(&lists.raw);
  if (status != TL_OK || failed)
    return status != TL_OK ? status : TL_NO_MEMORY;
  if (lists.n_metadata) {
    lists.metadata = tl_arena_calloc(&r->m->arena, lists.n_metadata, sizeof *lists.metadata);
    if (!lists.metadata)
      return TL_NO_MEMORY;
    TL_TRY(walk_notes(r, body, fields, &lists));
  }
  if (!lists.doc && !lists.n_metadata && !raw)
    return TL_OK;
  tl_extra *extra = tl_module_extra(r->m, slot);
  if (!extra)
    return TL_NO_MEMORY;
  extra->doc = lists.doc;
  extra->metadata = lists.metadata;
  extra->n_metadata = lists.n_metadata;
  extra->raw = raw;
  return TL_OK;
}
