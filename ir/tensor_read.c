/* SPDX-License-Identifier: Apache-2.0 */
/* Reading tensors that are computed: a chunk at a time on the stack. Recursion is as deep as the
 * expression, which is bounded where it is built. */
#include <float.h>

#include "ir/half.h"
#include "ir/host.h"
#include "ir/tensor_expr.h"

enum { CHUNK = 512, LONG_RUN = 64, LEAST_RUN = 1024 };

/* CHUNK elements of any dtype. */
typedef union chunk {
  unsigned char bytes[CHUNK * 8];
  float f32[CHUNK];
  double f64[CHUNK];
  int32_t i32[CHUNK];
  int64_t i64[CHUNK];
  int8_t i8[CHUNK];
  uint8_t u8[CHUNK];
  uint16_t bits[CHUNK];
} chunk;

static size_t size_of(const tl_tensor *t) { return tl_dtype_get((tl_dtype)t->dtype)->bits / 8u; }

/* ---- casts ----------------------------------------------------------------------------------- */

/* Widens numbers of any dtype that casts go through f64 from; exact. */
static void to_f64(unsigned from, const chunk *in, size_t n, double *out) {
  float wide[CHUNK];
  for (size_t i = 0; from == TL_DTYPE_F64 && i < n; i++)
    out[i] = in->f64[i];
  for (size_t i = 0; from == TL_DTYPE_I8 && i < n; i++)
    out[i] = in->i8[i];
  for (size_t i = 0; from == TL_DTYPE_U8 && i < n; i++)
    out[i] = in->u8[i];
  for (size_t i = 0; from == TL_DTYPE_I32 && i < n; i++)
    out[i] = in->i32[i];
  if (from != TL_DTYPE_F32 && from != TL_DTYPE_F16 && from != TL_DTYPE_BF16)
    return;
  tl_host_to_f32((tl_dtype)from, in->bytes, wide, 0, n);
  for (size_t i = 0; i < n; i++)
    out[i] = (double)wide[i];
}

/* Rounds once; casts from f64 to bf16 are not allowed (can_cast). */
static void from_f64(unsigned to, const double *in, size_t n, chunk *out) {
  for (size_t i = 0; to == TL_DTYPE_F64 && i < n; i++)
    out->f64[i] = in[i];
  for (size_t i = 0; to == TL_DTYPE_F32 && i < n; i++)
    out->f32[i] = (float)in[i];
  for (size_t i = 0; to == TL_DTYPE_F16 && i < n; i++)
    out->bits[i] = tl_f16_from_f64(in[i]);
}

static void cast_integers(unsigned from, unsigned to, const chunk *in, size_t n, chunk *out) {
  for (size_t i = 0; i < n; i++) {
    int64_t v = from == TL_DTYPE_I64 ? in->i64[i] : in->i32[i];
    if (to == TL_DTYPE_I64)
      out->i64[i] = v;
    else
      out->i32[i] = (int32_t)v; /* the low bits, as every runtime has it */
  }
}

static bool is_byte(unsigned dtype) { return dtype == TL_DTYPE_I8 || dtype == TL_DTYPE_U8; }

static bool is_whole(unsigned dtype) { return dtype == TL_DTYPE_I64 || dtype == TL_DTYPE_I32; }

/* True for types whose casts among each other go through f32 with one rounding. */
static bool through_f32(unsigned dtype) {
  return dtype == TL_DTYPE_F32 || dtype == TL_DTYPE_F16 || dtype == TL_DTYPE_BF16;
}

static void cast_chunk(unsigned from, unsigned to, const chunk *in, size_t n, chunk *out) {
  double wide[CHUNK];
  if (is_whole(from) && is_whole(to)) {
    cast_integers(from, to, in, n, out);
  } else if (is_byte(from) && is_byte(to)) {
    memcpy(out->bytes, in->bytes, n);
  } else {
    to_f64(from, in, n, wide);
    from_f64(to, wide, n, out);
  }
}

/* Reads elements [first, first + n) of a tensor of f32, f16 or bf16 as f32. */
static void load_f32(const tl_tensor *t, uint64_t first, size_t n, float *out) {
  const unsigned char *p = tl_tensor_data(t);
  chunk in;
  if (t->dtype == TL_DTYPE_F32) {
    tl_tensor_read(t, first, n, out);
  } else if (p && t->dtype == TL_DTYPE_F16) { /* bytes of a file need no alignment here */
    tl_half_unit_fastest()->to_f32(p + first * 2, out, n);
  } else {
    tl_tensor_read(t, first, n, in.bytes);
    tl_host_to_f32((tl_dtype)t->dtype, in.bytes, out, 0, n);
  }
}

/* NaN compares false and stays. */
static void clamp_f32(float *v, size_t n, float limit) {
  for (size_t i = 0; i < n; i++) {
    float low = v[i] < -limit ? -limit : v[i];
    v[i] = low > limit ? limit : low;
  }
}

/* The greatest finite number of the type. */
static float greatest_of(unsigned dtype) {
  return dtype == TL_DTYPE_F16 ? 65504.0f : dtype == TL_DTYPE_BF16 ? 0x1.fep127f : FLT_MAX;
}

/* Makes the greatest finite number of each infinity: what clamping before the conversion makes of
 * it and of all that rounds to it. out needs no alignment. */
static void clamp_f16(unsigned char *out, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint16_t h;
    memcpy(&h, out + i * sizeof h, sizeof h);
    h = (uint16_t)(h - ((h & 0x7fff) == 0x7c00));
    memcpy(out + i * sizeof h, &h, sizeof h);
  }
}

static void read_float_cast(const tl_tensor *t, uint64_t first, uint64_t n, unsigned char *out) {
  const tl_tensor_expr *e = t->u.expr;
  const tl_tensor *s = e->sources[0];
  const unsigned char *p = tl_tensor_data(s);
  float wide[CHUNK];
  if (p && s->dtype == TL_DTYPE_F32 && t->dtype == TL_DTYPE_F16) {
    tl_half_unit_fastest()->from_f32(p + first * 4, out, (size_t)n);
    if (e->kind == TL_TENSOR_EXPR_CLAMP)
      clamp_f16(out, (size_t)n);
    return;
  }
  for (size_t k; n; n -= k, first += k, out += k * size_of(t)) {
    k = n < CHUNK ? (size_t)n : CHUNK;
    load_f32(s, first, k, wide);
    if (e->kind == TL_TENSOR_EXPR_CLAMP)
      clamp_f32(wide, k, greatest_of(t->dtype));
    tl_host_from_f32((tl_dtype)t->dtype, wide, out, 0, k, false);
  }
}

/* Reads elements of two to a byte, the first in the low bits, as bytes. */
static void read_nibbles(const tl_tensor *t, uint64_t first, size_t n, chunk *out) {
  const unsigned char *p = tl_tensor_data(t);
  unsigned sign = t->dtype == TL_DTYPE_I4 ? 8 : 0;
  for (size_t i = 0; i < n; i++) {
    unsigned v = p[(first + i) / 2] >> (first + i) % 2 * 4 & 15;
    out->u8[i] = (uint8_t)((v ^ sign) - sign); /* extends the sign */
  }
}

/* Reads n elements, widening those below a byte to bytes; returns the type of what was read. */
static unsigned read_bytes(const tl_tensor *t, uint64_t first, size_t n, chunk *out) {
  if (t->dtype == TL_DTYPE_I4 || t->dtype == TL_DTYPE_U4) {
    read_nibbles(t, first, n, out);
    return t->dtype == TL_DTYPE_I4 ? TL_DTYPE_I8 : TL_DTYPE_U8;
  }
  tl_tensor_read(t, first, n, out->bytes);
  return t->dtype;
}

static void read_cast(const tl_tensor *t, uint64_t first, uint64_t n, unsigned char *out) {
  const tl_tensor *s = t->u.expr->sources[0];
  chunk in;
  chunk made;
  if (through_f32(s->dtype) && through_f32(t->dtype)) {
    read_float_cast(t, first, n, out);
    return;
  }
  for (size_t k; n; n -= k, first += k, out += k * size_of(t)) {
    k = n < CHUNK ? (size_t)n : CHUNK;
    unsigned from = read_bytes(s, first, (size_t)k, &in);
    cast_chunk(from, t->dtype, &in, k, &made);
    memcpy(out, made.bytes, k * size_of(t));
  }
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static void compute_f32(unsigned kind, float *a, const float *b, size_t n) {
  for (size_t i = 0; kind == TL_TENSOR_EXPR_ADD && i < n; i++)
    a[i] += b[i];
  for (size_t i = 0; kind == TL_TENSOR_EXPR_SUB && i < n; i++)
    a[i] -= b[i];
  for (size_t i = 0; kind == TL_TENSOR_EXPR_MUL && i < n; i++)
    a[i] *= b[i];
  for (size_t i = 0; kind == TL_TENSOR_EXPR_DIV && i < n; i++)
    a[i] /= b[i];
}

static void compute_f64(unsigned kind, double *a, const double *b, size_t n) {
  for (size_t i = 0; kind == TL_TENSOR_EXPR_ADD && i < n; i++)
    a[i] += b[i];
  for (size_t i = 0; kind == TL_TENSOR_EXPR_SUB && i < n; i++)
    a[i] -= b[i];
  for (size_t i = 0; kind == TL_TENSOR_EXPR_MUL && i < n; i++)
    a[i] *= b[i];
  for (size_t i = 0; kind == TL_TENSOR_EXPR_DIV && i < n; i++)
    a[i] /= b[i];
}

static void compute_bytes(unsigned kind, uint8_t *a, const uint8_t *b, size_t n) {
  for (size_t i = 0; i < n; i++)
    a[i] = (uint8_t)(kind == TL_TENSOR_EXPR_SUB ? a[i] - b[i] : a[i] + b[i]);
}

/* The smaller, or the greater, of each two; `sign` is 128 for bytes with a sign, else 0. */
static void choose_bytes(bool greater, uint8_t sign, uint8_t *a, const uint8_t *b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    bool above = (a[i] ^ sign) > (b[i] ^ sign);
    a[i] = above == greater ? a[i] : b[i];
  }
}

/* a = a op b. */
static void compute_chunk(unsigned kind, tl_dtype dtype, chunk *a, chunk *b, size_t n) {
  float x[CHUNK];
  float y[CHUNK];
  if (dtype == TL_DTYPE_F64) {
    compute_f64(kind, a->f64, b->f64, n);
  } else if (dtype == TL_DTYPE_F32) {
    compute_f32(kind, a->f32, b->f32, n);
  } else if (kind == TL_TENSOR_EXPR_MIN || kind == TL_TENSOR_EXPR_MAX) {
    choose_bytes(kind == TL_TENSOR_EXPR_MAX, dtype == TL_DTYPE_I8 ? 128 : 0, a->u8, b->u8, n);
  } else if (is_byte(dtype)) {
    compute_bytes(kind, a->u8, b->u8, n);
  } else {
    tl_host_to_f32(dtype, a->bytes, x, 0, n);
    tl_host_to_f32(dtype, b->bytes, y, 0, n);
    compute_f32(kind, x, y, n);
    tl_host_from_f32(dtype, x, a->bytes, 0, n, false);
  }
}

/* out = a op b for MUL and ADD; a and out are bytes of a file or of a caller, which need no
 * alignment. */
static void combine_f32(unsigned kind, const unsigned char *restrict a, const float *restrict b,
                        unsigned char *restrict out, size_t n) {
  float x;
  for (size_t i = 0; kind == TL_TENSOR_EXPR_MUL && i < n; i++) {
    memcpy(&x, a + 4 * i, 4);
    x *= b[i];
    memcpy(out + 4 * i, &x, 4);
  }
  for (size_t i = 0; kind == TL_TENSOR_EXPR_ADD && i < n; i++) {
    memcpy(&x, a + 4 * i, 4);
    x += b[i];
    memcpy(out + 4 * i, &x, 4);
  }
}

/* Gives the dims of a view with neighbours merged that can be walked as one, without dims of size
 * 1; returns how many, at least one. */
static int merge_dims(const tl_tensor_expr *e, uint64_t *dims, int64_t *strides) {
  int n = 0;
  for (int i = 0; i < e->rank; i++) {
    uint64_t dim = (uint64_t)e->dims[i];
    if (dim == 1)
      continue;
    uint64_t reach = (uint64_t)e->strides[i] * dim; /* modulo 2^64, as all of it */
    if (n && (uint64_t)strides[n - 1] == reach) {
      dims[n - 1] *= dim;
      strides[n - 1] = e->strides[i];
      continue;
    }
    dims[n] = dim;
    strides[n++] = e->strides[i];
  }
  if (n == 0) {
    dims[n] = 1;
    strides[n++] = 0;
  }
  return n;
}

/* Gives the number that a view repeats from `first` on along its last dim, and how often it comes;
 * false if it does not repeat numbers there, or only a few times. */
static bool repeats(const tl_tensor *t, uint64_t first, float *number, uint64_t *times) {
  uint64_t dims[TL_TENSOR_EXPR_MAX_RANK];
  int64_t strides[TL_TENSOR_EXPR_MAX_RANK];
  const tl_tensor_expr *e = t->kind == TL_SOURCE_EXPR ? t->u.expr : NULL;
  if (!e || e->kind != TL_TENSOR_EXPR_VIEW)
    return false;
  int last = merge_dims(e, dims, strides) - 1;
  uint64_t at = e->start; /* modulo 2^64, as in read_view */
  if (strides[last] != 0 || dims[last] < LONG_RUN)
    return false;
  *times = dims[last] - first % dims[last];
  for (int i = last; i >= 0; first /= dims[i], i--)
    at += first % dims[i] * (uint64_t)strides[i];
  tl_tensor_read(e->sources[0], at, 1, number);
  return true;
}

/* As combine_f32 with one number for all elements. */
static void combine_number(unsigned kind, const unsigned char *restrict a, float number,
                           unsigned char *restrict out, size_t n) {
  float x;
  for (size_t i = 0; kind == TL_TENSOR_EXPR_MUL && i < n; i++) {
    memcpy(&x, a + 4 * i, 4);
    x *= number;
    memcpy(out + 4 * i, &x, 4);
  }
  for (size_t i = 0; kind == TL_TENSOR_EXPR_ADD && i < n; i++) {
    memcpy(&x, a + 4 * i, 4);
    x += number;
    memcpy(out + 4 * i, &x, 4);
  }
}

/* The usual case, without copies: weights scaled or shifted by something that is computed. */
static void read_weights(const tl_tensor *t, const unsigned char *a, uint64_t first, uint64_t n,
                         unsigned char *out) {
  const tl_tensor *other = t->u.expr->sources[1];
  uint64_t times;
  float number;
  chunk b;
  for (size_t k; n; n -= k, first += k, out += k * 4) {
    if (repeats(other, first, &number, &times)) { /* one number for each output channel */
      k = n < times ? (size_t)n : (size_t)times;
      combine_number(t->u.expr->kind, a + first * 4, number, out, k);
      continue;
    }
    k = n < CHUNK ? (size_t)n : CHUNK;
    tl_tensor_read(other, first, k, b.bytes);
    combine_f32(t->u.expr->kind, a + first * 4, b.f32, out, k);
  }
}

static void read_binary(const tl_tensor *t, uint64_t first, uint64_t n, unsigned char *out) {
  const tl_tensor_expr *e = t->u.expr;
  const unsigned char *p = tl_tensor_data(e->sources[0]);
  if (p && t->dtype == TL_DTYPE_F32 &&
      (e->kind == TL_TENSOR_EXPR_MUL || e->kind == TL_TENSOR_EXPR_ADD)) {
    read_weights(t, p, first, n, out);
    return;
  }
  chunk a;
  chunk b;
  for (size_t k; n; n -= k, first += k, out += k * size_of(t)) {
    k = n < CHUNK ? (size_t)n : CHUNK;
    tl_tensor_read(e->sources[0], first, k, a.bytes);
    tl_tensor_read(e->sources[1], first, k, b.bytes);
    compute_chunk(e->kind, (tl_dtype)t->dtype, &a, &b, k);
    memcpy(out, a.bytes, k * size_of(t));
  }
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Writes one element n times. */
static void fill(const unsigned char *element, size_t size, uint64_t n, unsigned char *out) {
  uint32_t word;
  if (size != 4) {
    for (uint64_t i = 0; i < n; i++)
      memcpy(out + i * size, element, size);
    return;
  }
  memcpy(&word, element, 4);
  for (uint64_t i = 0; i < n; i++)
    memcpy(out + i * 4, &word, 4);
}

/* Copies n elements of `size` bytes, `stride` elements apart, from element `at` of p. A constant
 * size lets the compiler make memcpy one move. */
static void gather(const unsigned char *p, size_t size, uint64_t at, int64_t stride, uint64_t n,
                   unsigned char *out) {
  const unsigned char *from = p + at * size;
  int64_t step = stride * (int64_t)size;
  for (uint64_t i = 0; i < n; i++, out += size) {
    const unsigned char *element = from + (int64_t)i * step;
    switch (size) {
    case 1: *out = *element; break;
    case 2: memcpy(out, element, 2); break;
    case 4: memcpy(out, element, 4); break;
    case 8: memcpy(out, element, 8); break;
    default: memcpy(out, element, size);
    }
  }
}

/* Reads n elements from `at` on, `stride` apart. */
static void read_run(const tl_tensor *s, uint64_t at, int64_t stride, uint64_t n,
                     unsigned char *out) {
  const unsigned char *p = tl_tensor_data(s);
  size_t size = size_of(s);
  if (stride == 1)
    tl_tensor_read(s, at, n, out);
  else if (p && stride == 0)
    fill(p + at * size, size, n, out);
  else if (p)
    gather(p, size, at, stride, n, out);
  else
    for (uint64_t i = 0; i < n; i++)
      tl_tensor_read(s, at + i * (uint64_t)stride, 1, out + i * size);
}

/* Walks the view's dims like an odometer, a run along the last one at a time. */
static void read_view(const tl_tensor *t, uint64_t first, uint64_t n, unsigned char *out) {
  const tl_tensor_expr *e = t->u.expr;
  uint64_t place[TL_TENSOR_EXPR_MAX_RANK];
  uint64_t dims[TL_TENSOR_EXPR_MAX_RANK];
  int64_t strides[TL_TENSOR_EXPR_MAX_RANK];
  uint64_t at = e->start; /* modulo 2^64: negative strides wrap and come back */
  int last = merge_dims(e, dims, strides) - 1;
  for (int i = last; i >= 0; i--) {
    place[i] = first % dims[i];
    first /= dims[i];
    at += place[i] * (uint64_t)strides[i];
  }
  while (n) {
    uint64_t run = dims[last] - place[last];
    run = run < n ? run : n;
    read_run(e->sources[0], at, strides[last], run, out);
    out += run * size_of(t);
    n -= run;
    place[last] += run;
    at += run * (uint64_t)strides[last];
    for (int i = last; i > 0 && place[i] == dims[i]; i--) {
      at -= place[i] * (uint64_t)strides[i];
      at += (uint64_t)strides[i - 1];
      place[i] = 0;
      place[i - 1]++;
    }
  }
}

/* ---- concatenation --------------------------------------------------------------------------- */

/* A row is one piece of each source, one behind the other; `length` elements in all. */
static void read_concat(const tl_tensor *t, uint64_t first, uint64_t n, unsigned char *out) {
  const tl_tensor_expr *e = t->u.expr;
  size_t size = size_of(t);
  uint64_t length = t->bytes / size / e->outer;
  uint64_t row = first / length;
  uint64_t at = first % length;
  for (uint32_t i = 0; n; i = i + 1 < e->n_sources ? i + 1 : 0) {
    uint64_t part = e->sources[i]->bytes / size / e->outer;
    if (at < part) {
      uint64_t run = part - at < n ? part - at : n;
      const unsigned char *p = tl_tensor_data(e->sources[i]);
      if (p) /* rows of weights are short: one copy each and no more */
        memcpy(out, p + (row * part + at) * size, (size_t)run * size);
      else
        tl_tensor_read(e->sources[i], row * part + at, run, out);
      out += run * size;
      n -= run;
      at += run;
    }
    at -= at >= part ? part : 0; /* after the last run it does not matter */
    row += i + 1 == e->n_sources;
  }
}

/* Returns true if all sources lie in memory, and the piece of a row that each has is long. */
static bool has_long_runs(const tl_tensor *t) {
  const tl_tensor_expr *e = t->u.expr;
  for (uint32_t i = 0; i < e->n_sources; i++)
    if (!tl_tensor_data(e->sources[i]) || e->sources[i]->bytes / e->outer < LEAST_RUN)
      return false;
  return true;
}

uint32_t tl_tensor_runs(const tl_tensor *t, uint64_t offset, tl_sv *runs, uint32_t most,
                        uint64_t *n) {
  const tl_tensor_expr *e = t->kind == TL_SOURCE_EXPR ? t->u.expr : NULL;
  uint32_t found = 0;
  *n = 0;
  if (offset >= t->bytes || !e || e->kind != TL_TENSOR_EXPR_CONCAT || !has_long_runs(t))
    return 0;
  uint64_t length = t->bytes / e->outer, row = offset / length, at = offset % length;
  for (uint32_t i = 0; found < most && row < e->outer; i = i + 1 < e->n_sources ? i + 1 : 0) {
    uint64_t part = e->sources[i]->bytes / e->outer;
    if (at < part) {
      const char *p = tl_tensor_data(e->sources[i]);
      runs[found++] = (tl_sv){p + row * part + at, (size_t)(part - at)};
      *n += part - at;
    }
    at -= at < part ? at : part;
    row += i + 1 == e->n_sources;
  }
  return found;
}

/* ---- any tensor ------------------------------------------------------------------------------ */

void tl_tensor_read(const tl_tensor *t, uint64_t first, uint64_t n, void *out) {
  const unsigned char *p = tl_tensor_data(t);
  if (n == 0)
    return;
  if (p) {
    memcpy(out, p + first * size_of(t), (size_t)n * size_of(t));
    return;
  }
  switch ((tl_tensor_expr_kind)t->u.expr->kind) {
  case TL_TENSOR_EXPR_CLAMP:
  case TL_TENSOR_EXPR_CAST: read_cast(t, first, n, out); break;
  case TL_TENSOR_EXPR_VIEW: read_view(t, first, n, out); break;
  case TL_TENSOR_EXPR_CONCAT: read_concat(t, first, n, out); break;
  default: read_binary(t, first, n, out);
  }
}

const void *tl_tensor_block(const tl_tensor *t, uint64_t offset, tl_tensor_room *room, size_t *n) {
  const unsigned char *p = tl_tensor_data(t);
  uint64_t left = t->bytes - offset;
  if (t->kind == TL_SOURCE_STRINGS)
    return NULL;
  if (p) {
    *n = (size_t)left;
    return p + offset;
  }
  *n = left < TL_TENSOR_BLOCK ? (size_t)left : TL_TENSOR_BLOCK;
  tl_tensor_read(t, offset / size_of(t), *n / size_of(t), room->bytes);
  return room->bytes;
}

/* The bytes of a view are in its file; others are copied, and turned round. */
const void *tl_tensor_file_block(const tl_tensor *t, uint64_t offset, tl_tensor_room *room,
                                 size_t *n) {
  const void *p = tl_tensor_block(t, offset, room, n);
  if (!p || !tl_order_differs((tl_dtype)t->dtype))
    return p;
  if (t->kind == TL_SOURCE_FILE)
    return t->u.view.file->data + t->u.view.offset + offset;
  if (p != room->bytes) {
    *n = *n < TL_TENSOR_BLOCK ? *n : TL_TENSOR_BLOCK;
    memcpy(room->bytes, p, *n);
  }
  tl_order_turn((tl_dtype)t->dtype, room->bytes, *n);
  return room->bytes;
}
