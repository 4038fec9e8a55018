/* SPDX-License-Identifier: Apache-2.0 */
/* Constant data: records of tensors, access to single elements, comparison. Reading in blocks is in
 * tensor_read.c. */
#include "ir/tensor.h"

#include <math.h>

#include "ir/module.h"
#include "ir/tensor_expr.h"
#include "support/assert.h"

tl_tensor_id tl_tensor_add(tl_module *m, const tl_tensor *t) {
  tl_tensor_id id = tl_slab_alloc(&m->tensors, 1);
  if (!id)
    return TL_NO_TENSOR;
  *(tl_tensor *)tl_slab_at(&m->tensors, id) = *t;
  return id;
}

tl_tensor_id tl_tensor_from_bytes(tl_module *m, tl_type_id type, const void *data, uint64_t bytes) {
  const void *copy = tl_arena_copy(&m->arena, data, bytes);
  if (!copy || type == TL_NO_TYPE)
    return TL_NO_TENSOR;
  tl_tensor t = {.kind = TL_SOURCE_BYTES,
                 .dtype = (uint8_t)tl_type_dtype(m, type),
                 .type = type,
                 .bytes = bytes,
                 .u.data = copy};
  return tl_tensor_add(m, &t);
}

/* Makes a tensor of rank 0 or 1 from a copy of v, n elements of `size` bytes. */
static tl_tensor_id add_numbers(tl_module *m, tl_dtype dtype, const void *v, uint32_t n, int rank,
                                size_t size) {
  tl_dim dim = n;
  TL_ASSERT(rank == 1 || n == 1); /* rank 0 has one element, whatever dim says */
  return tl_tensor_from_bytes(m, tl_type_tensor(m, dtype, rank, &dim), v, n * size);
}

tl_tensor_id tl_tensor_i64s(tl_module *m, const int64_t *v, uint32_t n, int rank) {
  return add_numbers(m, TL_DTYPE_I64, v, n, rank, sizeof *v);
}

tl_tensor_id tl_tensor_i32s(tl_module *m, const int32_t *v, uint32_t n, int rank) {
  return add_numbers(m, TL_DTYPE_I32, v, n, rank, sizeof *v);
}

tl_tensor_id tl_tensor_f32s(tl_module *m, const float *v, uint32_t n, int rank) {
  return add_numbers(m, TL_DTYPE_F32, v, n, rank, sizeof *v);
}

const tl_tensor *tl_tensor_get(const tl_module *m, tl_tensor_id id) {
  return TL_SLAB_AT(&m->tensors, tl_tensor, id);
}

/* Only where bytes are turned round has a view of a file room for a copy. */
#if TL_ORDER_OF_FILES
static const void *turned_view(const tl_tensor *t) { return (void)t, NULL; }

static void set_turned_view(tl_tensor *t, const void *copy) { (void)t, (void)copy; }
#else
static const void *turned_view(const tl_tensor *t) { return t->u.view.turned; }

static void set_turned_view(tl_tensor *t, const void *copy) { t->u.view.turned = copy; }
#endif

tl_status tl_tensor_turn_copy(tl_module *m, tl_tensor *t) {
  if (t->kind == TL_SOURCE_FILE)
    set_turned_view(t, NULL);
  if (!tl_order_differs((tl_dtype)t->dtype) || t->bytes == 0)
    return TL_OK;
  void *copy = tl_arena_copy(&m->arena, tl_tensor_data(t), t->bytes);
  if (!copy)
    return TL_NO_MEMORY;
  tl_order_turn((tl_dtype)t->dtype, copy, t->bytes);
  if (t->kind == TL_SOURCE_FILE)
    set_turned_view(t, copy);
  else
    t->u.data = copy;
  return TL_OK;
}

/* Strings are symbols and expressions are computed: both have no bytes to point to. */
const void *tl_tensor_data(const tl_tensor *t) {
  switch ((tl_source_kind)t->kind) {
  case TL_SOURCE_BYTES: return t->u.data;
  case TL_SOURCE_FILE:
    TL_ASSERT(t->u.view.offset <= t->u.view.file->size &&
              t->bytes <= t->u.view.file->size - t->u.view.offset);
    return turned_view(t) ? turned_view(t) : t->u.view.file->data + t->u.view.offset;
  case TL_SOURCE_STRINGS:
  case TL_SOURCE_EXPR: return NULL;
  }
  return NULL;
}

uint64_t tl_tensor_elements(const tl_module *m, const tl_tensor *t) {
  uint64_t n = 0;
  return tl_type_elements(m, t->type, &n) ? n : 0;
}

/* Returns element i of a type below a byte, with its sign for the signed types. The first element
 * is in the low bits of a byte, as ONNX packs them. */
static int64_t packed_int(const unsigned char *p, uint64_t i, unsigned bits, bool is_signed) {
  unsigned per_byte = 8 / bits;
  unsigned v = (unsigned)(p[i / per_byte] >> (bits * (i % per_byte))) & ((1u << bits) - 1);
  if (is_signed && (v >> (bits - 1)))
    return (int64_t)v - (1 << bits);
  return v;
}

/* Returns element i as a T; copied, since bytes in a file need no alignment. */
#define TL_READ(T)                                                                                 \
  do {                                                                                             \
    T element;                                                                                     \
    memcpy(&element, p + i * sizeof(T), sizeof(T));                                                \
    *out = (int64_t)element;                                                                       \
    return true;                                                                                   \
  } while (0)

/* Returns the data in which element *i is; a computed element is put into `room`, and *i becomes 0.
 * NULL beyond the end. */
static const unsigned char *element_at(const tl_module *m, const tl_tensor *t, uint64_t *i,
                                       void *room) {
  if (*i >= tl_tensor_elements(m, t))
    return NULL;
  if (t->kind != TL_SOURCE_EXPR)
    return tl_tensor_data(t);
  tl_tensor_read(t, *i, 1, room);
  *i = 0;
  return room;
}

bool tl_tensor_int_at(const tl_module *m, const tl_tensor *t, uint64_t i, int64_t *out) {
  int64_t room[2];
  const unsigned char *p = element_at(m, t, &i, room);
  if (!p)
    return false;
  switch ((tl_dtype)t->dtype) {
  case TL_DTYPE_BOOL:
  case TL_DTYPE_U8: TL_READ(uint8_t);
  case TL_DTYPE_I8: TL_READ(int8_t);
  case TL_DTYPE_I16: TL_READ(int16_t);
  case TL_DTYPE_U16: TL_READ(uint16_t);
  case TL_DTYPE_I32: TL_READ(int32_t);
  case TL_DTYPE_U32: TL_READ(uint32_t);
  case TL_DTYPE_I64: TL_READ(int64_t);
  case TL_DTYPE_U64: TL_READ(uint64_t);
  case TL_DTYPE_I4: *out = packed_int(p, i, 4, true); return true;
  case TL_DTYPE_U4: *out = packed_int(p, i, 4, false); return true;
  case TL_DTYPE_I2: *out = packed_int(p, i, 2, true); return true;
  case TL_DTYPE_U2: *out = packed_int(p, i, 2, false); return true;
  default: return false;
  }
}

/* Returns the value of an f16: 1024 is its implicit leading bit, 25 is the bias 15 plus 10 bits of
 * fraction. Subnormals have the exponent of the smallest normal number and no leading bit. */
static double half_value(uint16_t h) {
  int exponent = (h >> 10) & 31;
  int fraction = h & 1023;
  double v = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
             : exponent     ? ldexp(1024 + fraction, exponent - 25)
                            : ldexp(fraction, -24);
  return h >> 15 ? -v : v;
}

/* f16 and bf16 are exact in double; integers beyond 2^53 are rounded to the nearest double. */
bool tl_tensor_float_at(const tl_module *m, const tl_tensor *t, uint64_t i, double *out) {
  int64_t room[2];
  int64_t whole;
  uint64_t at = i;
  const unsigned char *p = element_at(m, t, &at, room);
  if (!p)
    return false;
  if (t->dtype == TL_DTYPE_F32) {
    float v;
    memcpy(&v, p + 4 * at, 4);
    *out = (double)v;
  } else if (t->dtype == TL_DTYPE_F64) {
    memcpy(out, p + 8 * at, 8);
  } else if (t->dtype == TL_DTYPE_F16 || t->dtype == TL_DTYPE_BF16) {
    uint16_t bits;
    float v;
    memcpy(&bits, p + 2 * at, 2);
    uint32_t wide = (uint32_t)bits << 16; /* a bf16 is the upper half of an f32 */
    memcpy(&v, &wide, 4);
    *out = t->dtype == TL_DTYPE_F16 ? half_value(bits) : (double)v;
  } else if (tl_tensor_int_at(m, t, i, &whole)) {
    *out = (double)whole;
  } else {
    return false;
  }
  return true;
}

/* Strings are interned, so that equal ones are equal symbols. */
static bool same_strings(const tl_module *m, const tl_tensor *a, const tl_tensor *b) {
  uint64_t n = tl_tensor_elements(m, a);
  return memcmp(a->u.strings, b->u.strings, (size_t)n * sizeof *a->u.strings) == 0;
}

/* Compares block by block, since either tensor may be computed; blocks of the two may have
 * different lengths, and the shorter one counts. */
static bool same_bytes(const tl_tensor *a, const tl_tensor *b) {
  tl_tensor_room rooms[2];
  size_t n;
  size_t most;
  for (uint64_t at = 0; at < a->bytes; at += n) {
    const void *p = tl_tensor_block(a, at, &rooms[0], &n);
    const void *q = tl_tensor_block(b, at, &rooms[1], &most);
    n = n < most ? n : most;
    if (memcmp(p, q, n) != 0)
      return false;
  }
  return true;
}

/* Expressions are compared by structure first, which costs no computing; bytes only up to the
 * limit. */
bool tl_tensor_equal(const tl_module *m, const tl_tensor *a, const tl_tensor *b, uint64_t limit) {
  if (a == b)
    return true;
  bool strings = a->kind == TL_SOURCE_STRINGS;
  if (a->dtype != b->dtype || a->type != b->type || a->bytes != b->bytes ||
      strings != (b->kind == TL_SOURCE_STRINGS))
    return false;
  if (strings)
    return same_strings(m, a, b);
  return tl_tensor_expr_equal(a, b) || (a->bytes <= limit && same_bytes(a, b));
}
