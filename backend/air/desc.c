/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes tensor descriptors: dtype, shape, format, and attributes for the original shape.
 * Without these attributes GE's shape functions see an empty origin shape. */
#include "backend/air/air.h"

#include "support/pages.h"

/* Limit of the cache of descs. Common models have few distinct types; a hostile model with many
 * must not exhaust memory. */
enum { REMEMBERED_BYTES = 4 << 20 };

/* An empty view is returned without memory, so that a caller that goes on reads nothing. */
tl_sv tl_air_keep(tl_air *a) {
  tl_sv s = {tl_arena_copy(&a->arena, a->buf.p ? (void *)a->buf.p : "", a->buf.n), a->buf.n};
  a->buf.failed = a->buf.failed || !s.p;
  tl_encoder_clear(&a->buf);
  return s.p ? s : (tl_sv){NULL, 0};
}

/* Appends the attributes of a format. A format other than ND is marked as set, so that the device
 * compiler does not infer another. */
static void format_entries(tl_encoder *b, tl_ge_format format) {
  int64_t number = tl_ge_own_number(format);
  tl_air_int_entry(b, TL_DESC_ATTR, "format_for_int", number);
  tl_air_string_entry(b, TL_DESC_ATTR, TL_SV("origin_format"),
                      tl_sv_from(tl_ge_format_name(number)));
  tl_air_int_entry(b, TL_DESC_ATTR, "origin_format_for_int", number);
  if (format != TL_GE_ND)
    tl_air_bool_entry(b, TL_DESC_ATTR, "origin_format_is_set", true);
}

tl_status tl_air_prepare_descs(tl_air *a) {
  tl_encoder *b = &a->buf;
  a->n_descs = a->m->types.n * TL_N_GE_FORMATS;
  a->descs = tl_pages_alloc(a->n_descs, sizeof *a->descs);
  if (!a->descs)
    return tl_air_no_memory(a);
  tl_encoder_clear(b);
  for (tl_ge_format f = TL_GE_ND; f < TL_N_GE_FORMATS; f++) {
    format_entries(b, f);
    a->format_blobs[f] = tl_air_keep(a);
  }
  size_t desc = tl_encode_open(b, TL_NODE_INPUT_DESC);
  tl_encode_close(b, tl_encode_open(b, TL_DESC_SHAPE));
  tl_encode_z(b, TL_DESC_LAYOUT, "FORMAT_RESERVED");
  tl_air_int_entry(b, TL_DESC_ATTR, "format_for_int", TL_NUMBER_RESERVED);
  tl_air_string_entry(b, TL_DESC_ATTR, TL_SV("origin_format"), TL_SV("ND"));
  tl_air_int_entry(b, TL_DESC_ATTR, "origin_format_for_int", TL_NUMBER_ND);
  tl_air_bool_entry(b, TL_DESC_ATTR, "origin_shape_initialized", false);
  tl_encode_z(b, TL_DESC_DEVICE, "NPU");
  tl_encode_close(b, desc);
  a->unset_blob = tl_air_keep(a);
  return b->failed ? tl_air_no_memory(a) : TL_OK;
}

/* The dims are packed. UINT64_MAX is -1 as a varint. */
void tl_air_dims(tl_encoder *b, unsigned field, const tl_type *t) {
  if (t->kind == TL_KIND_SEQUENCE || t->rank == 0)
    return;
  size_t at = tl_encode_open(b, field);
  if (t->kind != TL_KIND_TENSOR || t->rank < 0)
    tl_encode_varint(b, (uint64_t)INT64_C(-2));
  else
    for (int i = 0; i < t->rank; i++)
      tl_encode_varint(b, tl_dim_is_static(t->dims[i]) ? (uint64_t)t->dims[i] : UINT64_MAX);
  tl_encode_close(b, at);
}

/* Appends the original shape, a list with its element type (2: integers). */
static void origin_shape_entry(tl_encoder *b, const tl_type *t) {
  size_t entry = tl_encode_open(b, TL_DESC_ATTR);
  tl_encode_z(b, 1, "origin_shape");
  size_t value = tl_encode_open(b, 2);
  size_t list = tl_encode_open(b, TL_ATTRDEF_LIST);
  tl_air_dims(b, TL_LIST_I, t);
  tl_encode_int(b, TL_LIST_TYPE, 2);
  tl_encode_close(b, list);
  tl_encode_close(b, value);
  tl_encode_close(b, entry);
}

static bool has_names(const tl_type *t) {
  for (int i = 0; i < t->rank; i++)
    if (tl_dim_is_symbol(t->dims[i]))
      return true;
  return false;
}

/* Appends the names of symbolic dims ("" for other dims), which GE's shapes cannot hold. */
static void dim_name_entry(tl_air *a, const tl_type *t) {
  tl_encoder *b = &a->buf;
  size_t entry = tl_encode_open(b, TL_DESC_ATTR);
  tl_encode_z(b, 1, "_tailor_dim_names");
  size_t value = tl_encode_open(b, 2);
  size_t list = tl_encode_open(b, TL_ATTRDEF_LIST);
  for (int i = 0; i < t->rank; i++)
    tl_encode_bytes(b, TL_LIST_S,
                    tl_dim_is_symbol(t->dims[i]) ? tl_sym(a->m, tl_dim_symbol(t->dims[i]))
                                                 : TL_SV(""));
  tl_encode_int(b, TL_LIST_TYPE, 1);
  tl_encode_close(b, list);
  tl_encode_close(b, value);
  tl_encode_close(b, entry);
}

/* A sequence is a resource handle in GE. */
int tl_air_proto_dtype(const tl_type *t) {
  if (t->kind == TL_KIND_SEQUENCE)
    return tl_dtype_get(TL_DTYPE_RESOURCE)->ge_proto;
  int number = t->kind == TL_KIND_TENSOR ? tl_dtype_get((tl_dtype)t->dtype)->ge_proto : 0;
  return number > 0 ? number : 0;
}

void tl_air_desc_extra(tl_air *a, const tl_type *t, const tl_desc_extra *extra) {
  tl_encoder *b = &a->buf;
  if (extra && extra->output_name.p)
    tl_air_string_entry(b, TL_DESC_ATTR, TL_SV("_origin_output_tensor_name"), extra->output_name);
  if (extra && extra->parent >= 0)
    tl_air_int_entry(b, TL_DESC_ATTR, "_parent_node_index", extra->parent);
  if (extra && extra->dim_names && t->kind == TL_KIND_TENSOR && has_names(t))
    dim_name_entry(a, t);
}

/* Encodes a desc. Fields ascend by their numbers, and attributes by their keys. */
static void encode_desc(tl_air *a, unsigned field, const tl_type *t, tl_ge_format format,
                        const tl_desc_extra *extra) {
  tl_encoder *b = &a->buf;
  size_t desc = tl_encode_open(b, field);
  if (tl_air_proto_dtype(t))
    tl_encode_int(b, TL_DESC_DTYPE, tl_air_proto_dtype(t));
  size_t shape = tl_encode_open(b, TL_DESC_SHAPE);
  tl_air_dims(b, 1, t);
  tl_encode_close(b, shape);
  tl_encode_z(b, TL_DESC_LAYOUT, tl_ge_format_name(tl_ge_own_number(format)));
  tl_air_desc_extra(a, t, extra);
  tl_encode_raw(b, a->format_blobs[format].p, a->format_blobs[format].n);
  origin_shape_entry(b, t);
  tl_air_bool_entry(b, TL_DESC_ATTR, "origin_shape_initialized", true);
  tl_encode_z(b, TL_DESC_DEVICE, "NPU");
  if (t->kind == TL_KIND_TENSOR && t->rank > 0)
    tl_encode_int(b, TL_DESC_DIM_COUNT, t->rank);
  tl_encode_close(b, desc);
}

/* Copies the desc that was encoded from `at` on into the cache. */
static void remember(tl_air *a, uint32_t index, size_t at) {
  size_t n = a->buf.n - at;
  if (a->buf.failed || index >= a->n_descs || a->desc_bytes + n > REMEMBERED_BYTES)
    return;
  a->descs[index] = (tl_sv){tl_arena_copy(&a->arena, a->buf.p + at, n), n};
  a->buf.failed = !a->descs[index].p;
  a->desc_bytes += n;
}

void tl_air_desc(tl_air *a, unsigned field, tl_type_id type, tl_ge_format format,
                 const tl_desc_extra *extra) {
  const tl_type *t = tl_type_get(a->m, type);
  tl_ge_format fit = tl_ge_fitting(a->m, type, format);
  uint32_t index = type * TL_N_GE_FORMATS + (uint32_t)fit;
  if (!extra && index < a->n_descs && a->descs[index].p) {
    tl_encode_varint(&a->buf, (uint64_t)field << 3 | TL_WIRE_LENGTH);
    tl_encode_raw(&a->buf, a->descs[index].p, a->descs[index].n);
    return;
  }
  /* The cache holds length and contents but no tag, since inputs and outputs have different tags.
   */
  size_t at = a->buf.n + tl_varint_size((uint64_t)field << 3);
  encode_desc(a, field, t, fit, extra);
  if (!extra)
    remember(a, index, at);
}

/* Without a format: statistics and states are no images. */
void tl_air_untyped_desc(tl_air *a, unsigned field, tl_dtype dtype, int rank, const tl_dim *dims) {
  tl_type t = {
      .kind = TL_KIND_TENSOR, .dtype = (uint8_t)dtype, .rank = (int16_t)rank, .dims = dims};
  encode_desc(a, field, &t, TL_GE_ND, NULL);
}
