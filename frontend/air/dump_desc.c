/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor descs in GE's dumps in the shape of ONNX: attributes "input_desc_<key>:<index>". */
#include "frontend/air/dump.h"

#include <stdlib.h>

#include "frontend/wire/build.h"

/* MAX_PORTS: descs of one side of a node. MAX_FILLERS: descs of all nodes that are counted and not
 * described. */
enum { MAX_PORTS = 1 << 16, MAX_FILLERS = 1 << 20 };

/* Appends one property of a desc. */
static tl_status put_part(tl_dump *d, const tl_dump_node *n, const tl_dump_part *part) {
  const tl_dump_attr *a = &d->attrs.at[part->attr];
  tl_sv prefix = TL_SV("attr_");
  if (tl_sv_is(part->key, "dtype"))
    return tl_dump_put_dtype(d, n, a);
  if (tl_sv_is(part->key, "shape"))
    tl_dump_put_shape(d->out, a);
  else if (tl_sv_is(part->key, "layout"))
    tl_build_bytes(d->out, TL_DESC_LAYOUT, a->s);
  else if (tl_sv_is(part->key, "origin_layout"))
    return tl_dump_put(d, n, TL_DESC_ATTR, TL_SV("origin_format"), a);
  else if (tl_sv_is(part->key, "origin_shape"))
    return tl_dump_put(d, n, TL_DESC_ATTR, TL_SV("origin_shape"), a);
  else if (part->key.n > prefix.n && memcmp(part->key.p, prefix.p, prefix.n) == 0)
    return tl_dump_put(d, n, TL_DESC_ATTR, (tl_sv){part->key.p + prefix.n, part->key.n - prefix.n},
                       a);
  return TL_OK; /* of the runtime's memory */
}

/* ---- descs of a node ------------------------------------------------------------------------- */

/* Splits "input_desc_<key>:<index>"; a row of a list of lists has "_<row>" behind it. */
static bool split_part(tl_sv name, tl_dump_part *out, bool *row) {
  out->output = tl_sv_starts_with(name, "output_desc_");
  if (!out->output && !tl_sv_starts_with(name, "input_desc_"))
    return false;
  size_t from = out->output ? strlen("output_desc_") : strlen("input_desc_");
  size_t colon = name.n;
  while (colon > from && name.p[colon - 1] != ':')
    colon--;
  if (colon == from)
    return false;
  size_t end = colon;
  while (end < name.n && name.p[end] != '_')
    end++;
  uint64_t index;
  *row = end < name.n;
  if (!tl_parse_u64((tl_sv){name.p + colon, end - colon}, &index))
    return false;
  out->key = (tl_sv){name.p + from, colon - 1 - from};
  out->index = index < MAX_PORTS ? (uint32_t)index : MAX_PORTS;
  return true;
}

static int by_place(const void *p, const void *q) {
  const tl_dump_part *a = p, *b = q;
  if (a->output != b->output)
    return a->output ? 1 : -1;
  if (a->index != b->index)
    return a->index < b->index ? -1 : 1;
  return (a->attr > b->attr) - (a->attr < b->attr);
}

static tl_status list_parts(tl_dump *d, const tl_dump_node *n) {
  d->parts.n = 0;
  for (uint32_t i = 0; i < d->attrs.n; i++) {
    tl_dump_part part = {.attr = i};
    bool row;
    if (!split_part(d->attrs.at[i].name, &part, &row) || row)
      continue;
    if (part.index >= MAX_PORTS)
      return tl_fail(d->r->d, TL_LIMIT, tl_dump_at(d, n), "'%.*s': more than %d descs",
                     TL_SV_ARG(d->attrs.at[i].name), (int)MAX_PORTS);
    if (!tl_dump_part_vec_push(&d->parts, part))
      return TL_NO_MEMORY;
  }
  if (d->parts.n)
    qsort(d->parts.at, d->parts.n, sizeof *d->parts.at, by_place);
  return TL_OK;
}

/* Returns how many descs a side has: what the node states, and no fewer than it describes or has
 * edges for. */
static tl_status count_descs(tl_dump *d, const tl_dump_node *n, bool output, uint32_t edges,
                             uint32_t *out) {
  const tl_dump_attr *stated =
      tl_dump_find(d, TL_SV(""), output ? "output_desc_nums" : "input_desc_nums");
  uint32_t described = 0;
  for (uint32_t i = 0; i < d->parts.n; i++)
    if (d->parts.at[i].output == output)
      described = d->parts.at[i].index + 1;
  *out = described > edges ? described : edges;
  if (stated && stated->i > MAX_PORTS)
    return tl_fail(d->r->d, TL_LIMIT, tl_dump_at(d, n), "more than %d descs", (int)MAX_PORTS);
  if (stated && stated->i > *out) {
    d->fillers += (uint32_t)stated->i - *out;
    *out = (uint32_t)stated->i;
  }
  return d->fillers <= MAX_FILLERS ? TL_OK
                                   : tl_fail(d->r->d, TL_LIMIT, tl_dump_at(d, n),
                                             "more than %d descs are counted and "
                                             "not described",
                                             (int)MAX_FILLERS);
}

static tl_status put_side(tl_dump *d, const tl_dump_node *n, bool output, uint32_t count) {
  uint32_t at = 0;
  while (at < d->parts.n && d->parts.at[at].output != output)
    at++;
  for (uint32_t i = 0; i < count; i++) {
    size_t desc = tl_build_open(d->out, output ? TL_NODE_OUTPUT_DESC : TL_NODE_INPUT_DESC);
    for (; at < d->parts.n && d->parts.at[at].output == output && d->parts.at[at].index == i; at++)
      TL_TRY(put_part(d, n, &d->parts.at[at]));
    tl_build_close(d->out, desc);
  }
  return TL_OK;
}

tl_status tl_dump_put_descs(tl_dump *d, const tl_dump_node *n) {
  uint32_t inputs, outputs;
  TL_TRY(list_parts(d, n));
  TL_TRY(count_descs(d, n, false, n->n_inputs, &inputs));
  TL_TRY(count_descs(d, n, true, n->n_outputs, &outputs));
  TL_TRY(put_side(d, n, false, inputs));
  return put_side(d, n, true, outputs);
}
