/* SPDX-License-Identifier: Apache-2.0 */
/* Notes formats of tensors that the IR does not have, so that nothing computes with dims in another
 * order without a word. */
#include "frontend/air/reader.h"
#include "ir/formats.h"

/* The IR's dims are in the order of these, or mean nothing in particular. */
static bool is_known(tl_sv format) {
  static const char *const known[] = {"", "ND", "NCHW", "NCDHW", "FORMAT_RESERVED", "RESERVED"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (tl_sv_is(format, known[i]))
      return true;
  return false;
}

static tl_sv layout_of(tl_proto desc) {
  tl_field f;
  tl_sv layout = TL_SV("");
  while (tl_proto_next(&desc, &f) == TL_STEP_FIELD)
    if (tl_field_tag(&f) == TL_TAG(TL_DESC_LAYOUT, TL_WIRE_BYTES))
      layout = tl_proto_sv(f.body);
  return layout;
}

/* Notes the first of the descs whose format is foreign. */
static tl_status note_first(tl_air_reader *r, tl_node_id n, const tl_span_vec *descs,
                            const char *side) {
  for (uint32_t i = 0; i < descs->n; i++) {
    tl_sv format = layout_of(descs->at[i]);
    if (is_known(format))
      continue;
    tl_buf text;
    tl_buf_init(&text);
    tl_buf_printf(&text, "%s %u is %.*s", side, i, TL_SV_ARG(format));
    bool ok = !text.failed && tl_node_note_format(r->m, n, tl_buf_view(&text));
    tl_buf_release(&text);
    return ok ? TL_OK : TL_NO_MEMORY;
  }
  return TL_OK;
}

tl_status tl_air_note_formats(tl_air_reader *r, tl_node_id n) {
  TL_TRY(note_first(r, n, &r->outputs, "output"));
  return note_first(r, n, &r->inputs, "input");
}
