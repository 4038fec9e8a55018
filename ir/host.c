/* SPDX-License-Identifier: Apache-2.0 */
/* Host values: reference-counted records over reference-counted, 64-byte aligned payloads. */
#include "ir/host.h"

#include <stdlib.h>

#include "ir/tensor_expr.h"

enum {
  PAYLOAD_ALIGNMENT = 64,
  LEAST_SPARE = 1 << 16,  /* smaller payloads come quickly from the allocator */
  FREE_SPARES = 64 << 20, /* that many bytes are kept, whatever the model takes */
  WASTE = 4,              /* a spare payload may be that much larger than the value */
};

/* The head of a payload; several records may share one. */
struct tl_host_bytes {
  uint32_t refs;
  uint64_t bytes; /* of the value that has it */
  uint64_t room;  /* of the payload */
  tl_host_heap *heap;
};

_Static_assert(sizeof(struct tl_host_bytes) <= PAYLOAD_ALIGNMENT, "header fits before the payload");

void tl_host_heap_init(tl_host_heap *h, uint64_t limit) {
  *h = (tl_host_heap){.limit = limit};
  tl_arena_init(&h->text, 0);
}

static tl_host_bytes *take_out(tl_host_heap *h, int i) {
  tl_host_bytes *b = h->spares[i];
  h->spares[i] = NULL;
  h->spare_bytes -= b ? b->room : 0;
  return b;
}

/* Frees spare payloads until they and what is alive take no more bytes than asked. */
static void trim_spares(tl_host_heap *h, uint64_t most) {
  for (int i = 0; i < TL_HOST_SPARES && h->used + h->spare_bytes > most; i++)
    free(take_out(h, i));
}

/* Spare payloads do not raise the peak of a model that is large. */
static uint64_t most_payload(const tl_host_heap *h) {
  return h->peak > FREE_SPARES ? h->peak : FREE_SPARES;
}

static void drop_spares(tl_host_heap *h) { trim_spares(h, 0); }

void tl_host_heap_hand_over(tl_host_heap *from, tl_host_heap *to) {
  drop_spares(to);
  for (int i = 0; i < TL_HOST_SPARES; i++) {
    tl_host_bytes *b = take_out(from, i);
    to->spares[i] = b;
    to->spare_bytes += b ? b->room : 0;
  }
  trim_spares(to, to->limit ? 0 : most_payload(to));
}

void tl_host_heap_release(tl_host_heap *h) {
  drop_spares(h);
  tl_arena_release(&h->text);
}

/* The payload is aligned as its head is. */
static char *payload_of(tl_host_bytes *b) { return (char *)b + PAYLOAD_ALIGNMENT; }

/* Accounts for the bytes of a value; false when a limit would be exceeded. */
static bool take(tl_host_heap *h, uint64_t bytes) {
  if (h->most && bytes > h->most)
    return false;
  if (h->limit && (bytes > h->limit || h->used > h->limit - bytes))
    return false;
  h->used += bytes;
  if (h->used > h->peak)
    h->peak = h->used;
  return true;
}

/* Takes the smallest spare payload that has room; NULL when none is near the size wanted. */
static tl_host_bytes *take_spare(tl_host_heap *h, uint64_t bytes) {
  int best = -1;
  for (int i = 0; i < TL_HOST_SPARES; i++) {
    const tl_host_bytes *b = h->spares[i];
    if (b && b->room >= bytes && b->room / WASTE <= bytes &&
        (best < 0 || b->room < h->spares[best]->room))
      best = i;
  }
  return best < 0 ? NULL : take_out(h, best);
}

/* Keeps a payload for another value: in a free place, or in that of the smallest spare one, which
 * is freed. */
static void keep_spare(tl_host_heap *h, tl_host_bytes *b) {
  int least = 0;
  for (int i = 1; i < TL_HOST_SPARES && h->spares[least]; i++)
    if (!h->spares[i] || h->spares[i]->room < h->spares[least]->room)
      least = i;
  free(take_out(h, least));
  h->spares[least] = b;
  h->spare_bytes += b->room;
  trim_spares(h, most_payload(h));
}

/* Allocates a payload; the header takes one alignment unit in front of it. Spare payloads give way
 * to it. */
static tl_host_bytes *payload_new(tl_host_heap *h, uint64_t bytes) {
  size_t size = ((size_t)bytes + (size_t)2 * PAYLOAD_ALIGNMENT - 1) &
                ~(size_t)(PAYLOAD_ALIGNMENT - 1);
  trim_spares(h, most_payload(h));
  tl_host_bytes *b = aligned_alloc(PAYLOAD_ALIGNMENT, size);
  if (!b) {
    drop_spares(h);
    b = aligned_alloc(PAYLOAD_ALIGNMENT, size);
  }
  if (b)
    b->room = size - PAYLOAD_ALIGNMENT;
  return b;
}

static tl_host_bytes *bytes_new(tl_host_heap *h, uint64_t bytes) {
  if (bytes > SIZE_MAX / 2 || !take(h, bytes))
    return NULL;
  tl_host_bytes *b = bytes >= LEAST_SPARE ? take_spare(h, bytes) : NULL;
  if (!b)
    b = payload_new(h, bytes);
  if (!b) {
    h->used -= bytes;
    return NULL;
  }
  *b = (tl_host_bytes){.refs = 1, .bytes = bytes, .room = b->room, .heap = h};
  return b;
}

/* The last reference gives the bytes back. A heap with a limit keeps no spare payloads, so that the
 * limit bounds what the process takes. */
static void bytes_release(tl_host_bytes *b) {
  if (!b || --b->refs)
    return;
  b->heap->used -= b->bytes;
  if (b->room >= LEAST_SPARE && !b->heap->limit)
    keep_spare(b->heap, b);
  else
    free(b);
}

/* Makes the record of a value without data. */
static tl_host *record_new(tl_host_heap *h, tl_host_kind kind, int rank, const int64_t *dims) {
  size_t n = rank > 0 ? (size_t)rank : 0;
  tl_host *t = malloc(sizeof *t + n * sizeof *dims);
  if (!t)
    return NULL;
  *t = (tl_host){.kind = (uint8_t)kind, .rank = (int16_t)rank, .refs = 1, .heap = h};
  if (n)
    memcpy(t->dims, dims, n * sizeof *dims);
  return t;
}

/* A dim of 0 makes the product 0, whatever the others are. */
static bool count_elements(int rank, const int64_t *dims, uint64_t *n) {
  uint64_t total = 1;
  bool empty = false;
  for (int i = 0; i < rank; i++) {
    if (dims[i] < 0)
      return false;
    empty = empty || dims[i] == 0;
  }
  for (int i = 0; !empty && i < rank; i++)
    if (__builtin_mul_overflow(total, (uint64_t)dims[i], &total))
      return false;
  *n = empty ? 0 : total;
  return true;
}

/* A string is a view of text that is elsewhere. */
static bool tensor_bytes(tl_dtype dtype, uint64_t n, uint64_t *bytes) {
  if (dtype == TL_DTYPE_STRING)
    return !__builtin_mul_overflow(n, (uint64_t)sizeof(tl_sv), bytes);
  return tl_dtype_bytes(dtype, n, bytes);
}

/* Makes a tensor record with its sizes and no data. */
static tl_host *tensor_record(tl_host_heap *h, tl_dtype dtype, int rank, const int64_t *dims) {
  uint64_t n, bytes;
  if (rank < 0 || rank > TL_MAX_RANK || !count_elements(rank, dims, &n) ||
      !tensor_bytes(dtype, n, &bytes))
    return NULL;
  tl_host *t = record_new(h, TL_HOST_TENSOR, rank, dims);
  if (!t)
    return NULL;
  t->dtype = (uint8_t)dtype;
  t->n = n;
  t->bytes = bytes;
  return t;
}

tl_host *tl_host_new(tl_host_heap *h, tl_dtype dtype, int rank, const int64_t *dims) {
  tl_host *t = tensor_record(h, dtype, rank, dims);
  if (!t)
    return NULL;
  t->owner = bytes_new(h, t->bytes);
  if (!t->owner) {
    free(t);
    return NULL;
  }
  t->data = payload_of(t->owner);
  for (uint64_t i = 0; dtype == TL_DTYPE_STRING && i < t->n; i++) /* strings begin empty */
    ((tl_sv *)t->data)[i] = TL_SV("");
  return t;
}

tl_host *tl_host_borrow(tl_host_heap *h, tl_dtype dtype, int rank, const int64_t *dims,
                        const void *data) {
  tl_host *t = tensor_record(h, dtype, rank, dims);
  if (t)
    t->data = (void *)(uintptr_t)data; /* never written: kernels write only what they made */
  return t;
}

/* A view keeps the payload alive; borrowed data has no owner and outlives both. */
tl_host *tl_host_view(const tl_host *of, tl_dtype dtype, int rank, const int64_t *dims) {
  tl_host *t = tensor_record(of->heap, dtype, rank, dims);
  if (!t)
    return NULL;
  if (t->bytes != of->bytes) {
    free(t);
    return NULL;
  }
  t->data = of->data;
  t->owner = of->owner;
  if (t->owner)
    t->owner->refs++;
  return t;
}

/* The text stays in the module's symbols. */
static tl_host *strings_from_tensor(tl_host_heap *h, const tl_module *m, const tl_tensor *t,
                                    const tl_type *type) {
  tl_host *v = tl_host_new(h, TL_DTYPE_STRING, type->rank, type->dims);
  for (uint64_t i = 0; v && i < v->n; i++)
    ((tl_sv *)v->data)[i] = tl_sym(m, t->u.strings[i]);
  return v;
}

/* A complex number is two floats. */
bool tl_host_is_aligned(const tl_host *t) {
  size_t size = t->kind == TL_HOST_TENSOR ? tl_host_element_size((tl_dtype)t->dtype) : 1;
  size_t align = size > 8 ? 8 : size ? size : 1;
  return ((uintptr_t)t->data & (align - 1)) == 0;
}

tl_host *tl_host_from_tensor_unaligned(tl_host_heap *h, const tl_module *m, const tl_tensor *t) {
  const tl_type *type = tl_type_get(m, t->type);
  if (t->kind == TL_SOURCE_STRINGS)
    return strings_from_tensor(h, m, t, type);
  if (t->kind == TL_SOURCE_EXPR) {
    tl_host *made = tl_host_new(h, (tl_dtype)t->dtype, type->rank, type->dims);
    if (made)
      tl_tensor_read(t, 0, made->n, made->data);
    return made;
  }
  return tl_host_borrow(h, (tl_dtype)t->dtype, type->rank, type->dims, tl_tensor_data(t));
}

/* Bytes in a file are used where they are, unless their place is not aligned for the dtype. */
tl_host *tl_host_from_tensor(tl_host_heap *h, const tl_module *m, const tl_tensor *t) {
  tl_host *lent = tl_host_from_tensor_unaligned(h, m, t);
  if (!lent || tl_host_is_aligned(lent))
    return lent;
  tl_host *own = tl_host_new(h, (tl_dtype)lent->dtype, lent->rank, lent->dims);
  if (own && own->bytes)
    memcpy(own->data, lent->data, (size_t)own->bytes);
  tl_host_release(lent);
  return own;
}

tl_host *tl_host_sequence(tl_host_heap *h, tl_host *const *items, uint64_t n) {
  if (n > SIZE_MAX / sizeof(tl_host *) / 2)
    return NULL;
  tl_host *s = record_new(h, TL_HOST_SEQUENCE, 0, NULL);
  if (!s)
    return NULL;
  s->bytes = n * sizeof(tl_host *);
  s->owner = bytes_new(h, s->bytes);
  if (!s->owner) {
    free(s);
    return NULL;
  }
  s->data = payload_of(s->owner);
  s->n = n;
  if (n)
    s->dtype = items[0]->dtype;
  for (uint64_t i = 0; i < n; i++)
    ((tl_host **)s->data)[i] = tl_host_retain(items[i]);
  return s;
}

tl_host *tl_host_none(tl_host_heap *h) { return record_new(h, TL_HOST_NONE, 0, NULL); }

/* Recursion is as deep as sequences are nested. */
void tl_host_release(tl_host *t) {
  if (!t || --t->refs)
    return;
  for (uint64_t i = 0; t->kind == TL_HOST_SEQUENCE && i < t->n; i++)
    tl_host_release(tl_host_item(t, i));
  bytes_release(t->owner);
  free(t);
}

/* Text is freed with the heap, not before. */
char *tl_host_text(tl_host_heap *h, size_t bytes) {
  if (!take(h, bytes))
    return NULL;
  h->text_bytes += bytes;
  return tl_arena_alloc(&h->text, bytes);
}

/* Integers that a float does not hold exactly. */
static bool is_wide_integer(tl_dtype d) {
  return d == TL_DTYPE_I64 || d == TL_DTYPE_U64 || d == TL_DTYPE_I32 || d == TL_DTYPE_U32;
}

/* Other dtypes go through f32, which holds them exactly. */
double tl_host_at(const tl_host *t, uint64_t i) {
  switch ((tl_dtype)t->dtype) {
  case TL_DTYPE_F64: return ((const double *)t->data)[i];
  case TL_DTYPE_I32: return ((const int32_t *)t->data)[i];
  case TL_DTYPE_U32: return ((const uint32_t *)t->data)[i];
  case TL_DTYPE_I64: return (double)((const int64_t *)t->data)[i];
  case TL_DTYPE_U64: return (double)((const uint64_t *)t->data)[i];
  default: break;
  }
  float v;
  tl_host_to_f32((tl_dtype)t->dtype, t->data, &v, i, 1);
  return v;
}

/* Truncates to int64 and saturates; NaN gives 0. */
static int64_t saturate(double v) {
  if (v != v)
    return 0;
  if (v >= 9223372036854775808.0)
    return INT64_MAX;
  return v <= -9223372036854775808.0 ? INT64_MIN : (int64_t)v;
}

int64_t tl_host_int_at(const tl_host *t, uint64_t i) {
  if (!is_wide_integer((tl_dtype)t->dtype))
    return saturate(tl_host_at(t, i));
  switch ((tl_dtype)t->dtype) {
  case TL_DTYPE_I32: return ((const int32_t *)t->data)[i];
  case TL_DTYPE_U32: return ((const uint32_t *)t->data)[i];
  case TL_DTYPE_U64: {
    uint64_t v = ((const uint64_t *)t->data)[i];
    return v > INT64_MAX ? INT64_MAX : (int64_t)v;
  }
  default: return ((const int64_t *)t->data)[i];
  }
}
