/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the reading of values from files (data.h). */
#include "frontend/onnx/data.h"

#include "frontend/onnx/tensor.h"

/* Field numbers of SequenceProto and OptionalProto, which are the same in both. */
enum { NAME = 1, ELEM_TYPE = 2, TENSORS = 3, SPARSE = 4, SEQUENCES = 5, MAPS = 6, OPTIONALS = 7 };

typedef struct reader {
  tl_onnx_reader file;
  tl_host_heap *heap;
  uint32_t depth;
} reader;

TL_VEC(host_vec, tl_host *);

static tl_status read_tensor(reader *r, tl_proto body, tl_host **out, tl_sv *name) {
  tl_tensor_id id;
  tl_status status = tl_onnx_tensor(&r->file, body, TL_AT_FILE(r->file.path), &id);
  if (status == TL_OK)
    status = tl_onnx_tensor_name(&r->file, body, false, name);
  if (status != TL_OK)
    return status == TL_NO_MEMORY ? tl_fail_memory(r->file.d, TL_AT_FILE(r->file.path)) : status;
  *out = tl_host_from_tensor(r->heap, r->file.m, tl_tensor_get(r->file.m, id));
  if (*out)
    return TL_OK;
  if (r->heap->limit)
    return tl_fail(r->file.d, TL_LIMIT, TL_AT_FILE(r->file.path),
                   "the value does not fit into the memory limit of %llu MiB\v"
                   "raise it with --memory-limit",
                   (unsigned long long)(r->heap->limit >> 20));
  return tl_fail_memory(r->file.d, TL_AT_FILE(r->file.path));
}

static tl_status read_value(reader *r, tl_proto body, tl_type_kind kind, tl_host **out,
                            tl_sv *name);

/* Returns the kind of value that a field of the two messages holds; UNKNOWN if it holds none. */
static tl_type_kind kind_of_field(uint32_t number) {
  switch (number) {
  case TENSORS: return TL_KIND_TENSOR;
  case SPARSE: return TL_KIND_SPARSE_TENSOR;
  case SEQUENCES: return TL_KIND_SEQUENCE;
  case MAPS: return TL_KIND_MAP;
  case OPTIONALS: return TL_KIND_OPTIONAL;
  default: return TL_KIND_UNKNOWN;
  }
}

/* Pushes every value of the message; nests as deeply as the values do. */
static tl_status read_items(reader *r, tl_proto w, host_vec *items, tl_sv *name) {
  tl_field f;
  tl_step step;
  tl_sv inner;
  while ((step = tl_proto_next(&w, &f)) == TL_STEP_FIELD) {
    if (f.type != TL_WIRE_BYTES)
      continue;
    if (f.number == NAME)
      *name = tl_proto_sv(f.body);
    tl_type_kind kind = kind_of_field(f.number);
    if (kind == TL_KIND_UNKNOWN)
      continue;
    tl_host *item = NULL;
    TL_TRY(read_value(r, f.body, kind, &item, &inner));
    if (!host_vec_push(items, item)) {
      tl_host_release(item);
      return tl_fail_memory(r->file.d, TL_AT_FILE(r->file.path));
    }
  }
  return step == TL_STEP_BAD ? tl_onnx_malformed(&r->file, w.p, "SequenceProto or OptionalProto")
                             : TL_OK;
}

static tl_status make_optional(reader *r, const host_vec *items, tl_host **out) {
  if (items->n > 1)
    return tl_fail(r->file.d, TL_INVALID_MODEL, TL_AT_FILE(r->file.path),
                   "an OptionalProto holds %u values, one at most is allowed", items->n);
  *out = items->n ? tl_host_retain(items->at[0]) : tl_host_none(r->heap);
  return *out ? TL_OK : tl_fail_memory(r->file.d, TL_AT_FILE(r->file.path));
}

static tl_status read_composed(reader *r, tl_proto body, tl_type_kind kind, tl_host **out,
                               tl_sv *name) {
  host_vec items = {0};
  tl_status status = read_items(r, body, &items, name);
  if (status == TL_OK && kind == TL_KIND_OPTIONAL) {
    status = make_optional(r, &items, out);
  } else if (status == TL_OK) {
    *out = tl_host_sequence(r->heap, items.at, items.n);
    status = *out ? TL_OK : tl_fail_memory(r->file.d, TL_AT_FILE(r->file.path));
  }
  for (uint32_t i = 0; i < items.n; i++)
    tl_host_release(items.at[i]);
  host_vec_release(&items);
  return status;
}

static tl_status read_value(reader *r, tl_proto body, tl_type_kind kind, tl_host **out,
                            tl_sv *name) {
  *name = (tl_sv){"", 0};
  if (kind == TL_KIND_TENSOR)
    return read_tensor(r, body, out, name);
  if (kind != TL_KIND_SEQUENCE && kind != TL_KIND_OPTIONAL)
    return tl_fail(r->file.d, TL_UNSUPPORTED, TL_AT_FILE(r->file.path),
                   "maps and sparse tensors are not supported as data");
  if (r->depth == TL_ONNX_MAX_DEPTH)
    return tl_fail(r->file.d, TL_LIMIT, TL_AT_FILE(r->file.path),
                   "values are nested more than %d deep", TL_ONNX_MAX_DEPTH);
  r->depth++;
  tl_status status = read_composed(r, body, kind, out, name);
  r->depth--;
  return status;
}

tl_status tl_onnx_load_value(tl_module *store, const char *path, tl_type_kind kind,
                             tl_host_heap *heap, tl_host **out, tl_sv *name) {
  tl_file *file;
  tl_sv ignored;
  TL_TRY(tl_file_open(store->diag, path, TL_FILE_MAP, &file));
  reader r = {.heap = heap};
  r.file = (tl_onnx_reader){.d = store->diag, .path = path, .file = file, .m = store};
  r.file.model = (tl_proto){file->data, file->data + file->size};
  TL_TRY(tl_module_add_file(store, file));
  tl_status status = read_value(&r, r.file.model, kind, out, name ? name : &ignored);
  tl_side_file_vec_release(&r.file.externals);
  return status;
}
