/* SPDX-License-Identifier: Apache-2.0 */
/* Turns SparseTensorProtos into dense tensors, as long as all of them together stay small. */
#include "frontend/onnx/sparse.h"
#include "frontend/onnx/tensor.h"

static const uint64_t dense_limit = UINT64_C(64) << 20; /* bytes of one model */

typedef struct sparse_wire {
  tl_proto values;
  tl_proto indices;
  tl_dim dims[TL_MAX_RANK];
  int rank;
} sparse_wire;

static bool add_dim(void *user, uint64_t value) {
  sparse_wire *s = user;
  if (s->rank == TL_MAX_RANK)
    return false;
  s->dims[s->rank++] = (tl_dim)value;
  return true;
}

static tl_status scan(tl_onnx_reader *r, tl_proto body, sparse_wire *s) {
  tl_field f;
  tl_step step;
  while ((step = tl_proto_next(&body, &f)) == TL_STEP_FIELD) {
    if (tl_field_tag(&f) == TL_TAG(1, TL_WIRE_BYTES))
      s->values = f.body;
    else if (tl_field_tag(&f) == TL_TAG(2, TL_WIRE_BYTES))
      s->indices = f.body;
    else if (f.number == 3 && !tl_proto_numbers(&f, 0, add_dim, s))
      return tl_onnx_malformed(r, f.start, "SparseTensorProto");
  }
  return step == TL_STEP_BAD ? tl_onnx_malformed(r, body.p, "SparseTensorProto") : TL_OK;
}

/* Computes the linear position of entry i. Indices are linear, [n], or coordinates, [n, rank].
 * False if the position is outside the shape. */
static bool position(const tl_module *m, const sparse_wire *s, const tl_tensor *indices,
                     bool linear, uint64_t i, uint64_t *out) {
  int64_t at;
  *out = 0;
  if (linear) {
    bool ok = tl_tensor_int_at(m, indices, i, &at) && at >= 0;
    *out = ok ? (uint64_t)at : 0;
    return ok;
  }
  for (int d = 0; d < s->rank; d++) {
    if (!tl_tensor_int_at(m, indices, i * (uint64_t)s->rank + (uint64_t)d, &at) || at < 0 ||
        at >= s->dims[d])
      return false;
    *out = *out * (uint64_t)s->dims[d] + (uint64_t)at;
  }
  return true;
}

static tl_status scatter(tl_onnx_reader *r, const sparse_wire *s, tl_location where,
                         tl_tensor *dense, const tl_tensor *values, const tl_tensor *indices) {
  uint32_t width = tl_dtype_get((tl_dtype)dense->dtype)->bits / 8;
  uint64_t n = values->bytes / width;
  uint64_t listed = tl_tensor_elements(r->m, indices);
  bool linear = tl_type_get(r->m, indices->type)->rank == 1;
  unsigned char *data = tl_arena_calloc(&r->m->arena, dense->bytes, 1);
  if (!data)
    return TL_NO_MEMORY;
  if (indices->dtype != TL_DTYPE_I64 || listed != (linear ? n : n * (uint64_t)s->rank))
    return tl_fail(r->d, TL_INVALID_MODEL, where, "a sparse tensor needs one int64 index a value");
  for (uint64_t i = 0; i < n; i++) {
    uint64_t at;
    if (!position(r->m, s, indices, linear, i, &at) || at >= dense->bytes / width)
      return tl_fail(r->d, TL_INVALID_MODEL, where, "index %llu of the sparse tensor is outside",
                     (unsigned long long)i);
    memcpy(data + at * width, (const unsigned char *)tl_tensor_data(values) + i * width, width);
  }
  dense->u.data = data;
  return TL_OK;
}

static tl_status dense_shape(tl_onnx_reader *r, const sparse_wire *s, tl_location where,
                             tl_tensor *t) {
  uint64_t elements = 1;
  for (int i = 0; i < s->rank; i++)
    if (s->dims[i] < 0 || __builtin_mul_overflow(elements, (uint64_t)s->dims[i], &elements))
      return tl_fail(r->d, TL_INVALID_MODEL, where, "dimensions of the sparse tensor are invalid");
  if (!tl_dtype_bytes((tl_dtype)t->dtype, elements, &t->bytes))
    return tl_fail(r->d, TL_INVALID_MODEL, where, "the sparse tensor is too large");
  t->type = tl_type_tensor(r->m, (tl_dtype)t->dtype, s->rank, s->dims);
  return t->type ? TL_OK : TL_NO_MEMORY;
}

tl_status tl_onnx_sparse(tl_onnx_reader *r, tl_proto body, tl_location where, tl_tensor_id *out) {
  sparse_wire s = {.rank = 0};
  tl_tensor_id values;
  tl_tensor_id indices;
  *out = TL_NO_TENSOR;
  TL_TRY(scan(r, body, &s));
  if (!s.values.p || !s.indices.p)
    return tl_fail(r->d, TL_INVALID_MODEL, where, "a sparse tensor needs values and indices");
  TL_TRY(tl_onnx_tensor(r, s.values, where, &values));
  TL_TRY(tl_onnx_tensor(r, s.indices, where, &indices));
  const tl_tensor *v = tl_tensor_get(r->m, values);
  tl_tensor dense = {.kind = TL_SOURCE_BYTES, .dtype = v->dtype, .name = v->name};
  if (tl_dtype_get((tl_dtype)v->dtype)->bits < 8)
    return tl_fail(r->d, TL_UNSUPPORTED, where, "a sparse tensor of %s",
                   tl_dtype_get((tl_dtype)v->dtype)->name);
  TL_TRY(dense_shape(r, &s, where, &dense));
  if (dense.bytes > dense_limit - r->dense_bytes)
    return TL_OK;
  r->dense_bytes += dense.bytes;
  TL_TRY(scatter(r, &s, where, &dense, v, tl_tensor_get(r->m, indices)));
  *out = tl_tensor_add(r->m, &dense);
  return *out ? TL_OK : TL_NO_MEMORY;
}
