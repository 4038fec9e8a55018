/* SPDX-License-Identifier: Apache-2.0 */
/* Cast, CastLike and BitCast. Elements pass through blocks of int64 or double, so that each type is
 * read and written in one place and each element is rounded once.
 *
 * ONNX leaves some results undefined; here they are: a float becomes an integer by truncation. It
 * saturates to int32 (and then wraps into 8 and 16 bits), to the range of a nibble type, or to
 * int64. NaN becomes 0. An integer wraps into a narrower integer. */
#include "ir/eval/kernel/cast.h"

#include <math.h>
#include <stdio.h>

#include "ir/eval/kernel/kernel.h"

/* BLOCK: elements that are converted together, small enough for the stack and the first cache.
 * GRAIN: elements that a thread should have at least. */
enum { BLOCK = 256, GRAIN = 1 << 14 };

typedef struct cast {
  tl_eval *x;
  const tl_host *from;
  tl_host *to;
  bool saturate;
  tl_e8m0_rounding rounding;
} cast;

/* A block of elements between two types. `real` tells whether `d` or `i` holds it. */
typedef struct block {
  bool real;
  bool is_unsigned; /* integers are uint64 */
  double d[BLOCK];
  int64_t i[BLOCK];
} block;

/* Types of less than 8 bits share bytes: 2 or 4 elements in one. */
static bool is_packed(tl_dtype d) { return d != TL_DTYPE_STRING && tl_dtype_get(d)->bits < 8; }

static bool is_packed_integer(tl_dtype d) { return is_packed(d) && d != TL_DTYPE_F4E2M1; }

#define READ(T)                                                                                    \
  for (uint64_t k = 0; k < n; k++)                                                                 \
    b->i[k] = (int64_t)((const T *)t->data + first)[k];                                            \
  return
static void read_integers(const tl_host *t, uint64_t first, uint64_t n, block *b) {
  switch ((tl_dtype)t->dtype) {
  case TL_DTYPE_BOOL:
    for (uint64_t k = 0; k < n; k++)
      b->i[k] = ((const uint8_t *)t->data)[first + k] != 0;
    return;
  case TL_DTYPE_I8: READ(int8_t);
  case TL_DTYPE_I16: READ(int16_t);
  case TL_DTYPE_I32: READ(int32_t);
  case TL_DTYPE_I64: READ(int64_t);
  case TL_DTYPE_U8: READ(uint8_t);
  case TL_DTYPE_U16: READ(uint16_t);
  case TL_DTYPE_U32: READ(uint32_t);
  case TL_DTYPE_U64: b->is_unsigned = true; READ(uint64_t);
  default:
    for (uint64_t k = 0; k < n; k++)
      b->i[k] = tl_packed_get((tl_dtype)t->dtype, t->data, first + k);
    return;
  }
}

/* Every float type but f64 is exact in f32, so f32 is the step in between. */
static void read_floats(const tl_host *t, uint64_t first, uint64_t n, block *b) {
  float f[BLOCK];
  b->real = true;
  if (t->dtype == TL_DTYPE_F64) {
    memcpy(b->d, (const double *)t->data + first, (size_t)n * sizeof *b->d);
    return;
  }
  tl_host_to_f32((tl_dtype)t->dtype, t->data, f, first, n);
  for (uint64_t k = 0; k < n; k++)
    b->d[k] = (double)f[k];
}

/* Truncates v into [low, high]; NaN gives 0. Both bounds must be exact in double. */
static int64_t limited(double v, double low, double high) {
  return v != v ? 0 : v <= low ? (int64_t)low : v >= high ? (int64_t)high : (int64_t)v;
}

/* INT64_MAX is not exact in double: 2^63 and above are caught first, and the bound of limited() is
 * the largest double below 2^63. */
static int64_t to_i64(double v) {
  if (v >= 0x1p63)
    return INT64_MAX;
  return limited(v, -0x1p63, 0x1p63 - 1024);
}

static uint64_t to_u64(double v) {
  if (v >= 0x1p63)
    return v >= 0x1p64 ? UINT64_MAX : (uint64_t)v;
  return (uint64_t)to_i64(v);
}

/* Turns the block's doubles into integers. Types without a case of their own go through int32, so
 * that write_integers wraps them as a C cast from int32 does. */
static void make_integers(tl_dtype to, uint64_t n, block *b) {
  for (uint64_t k = 0; k < n; k++)
    switch (to) {
    case TL_DTYPE_BOOL: b->i[k] = b->d[k] != 0; break;
    case TL_DTYPE_I4: b->i[k] = limited(b->d[k], -8, 7); break;
    case TL_DTYPE_U4: b->i[k] = limited(b->d[k], 0, 15); break;
    case TL_DTYPE_I2: b->i[k] = limited(b->d[k], -2, 1); break;
    case TL_DTYPE_U2: b->i[k] = limited(b->d[k], 0, 3); break;
    case TL_DTYPE_U64: b->i[k] = (int64_t)to_u64(b->d[k]); break;
    case TL_DTYPE_I64:
    case TL_DTYPE_U32: b->i[k] = to_i64(b->d[k]); break;
    default: b->i[k] = limited(b->d[k], -0x1p31, 0x1p31 - 1); break;
    }
}

#define WRITE(T)                                                                                   \
  for (uint64_t k = 0; k < n; k++)                                                                 \
    ((T *)t->data + first)[k] = (T)b->i[k];                                                        \
  return
static void write_integers(tl_host *t, uint64_t first, uint64_t n, block *b) {
  if (b->real)
    make_integers((tl_dtype)t->dtype, n, b);
  switch ((tl_dtype)t->dtype) {
  case TL_DTYPE_BOOL:
    for (uint64_t k = 0; k < n; k++)
      ((uint8_t *)t->data)[first + k] = b->i[k] != 0;
    return;
  case TL_DTYPE_I8: WRITE(int8_t);
  case TL_DTYPE_I16: WRITE(int16_t);
  case TL_DTYPE_I32: WRITE(int32_t);
  case TL_DTYPE_I64: WRITE(int64_t);
  case TL_DTYPE_U8: WRITE(uint8_t);
  case TL_DTYPE_U16: WRITE(uint16_t);
  case TL_DTYPE_U32: WRITE(uint32_t);
  case TL_DTYPE_U64: WRITE(uint64_t);
  default:
    for (uint64_t k = 0; k < n; k++)
      tl_packed_set((tl_dtype)t->dtype, t->data, first + k, (int)(b->i[k] & 15));
    return;
  }
}

/* Returns an integer as a double that rounds to narrower floats exactly as the integer would. Of
 * more than 53 bits, those that do not fit are folded into the last one that does (a sticky bit):
 * rounding twice then equals rounding once. */
static double sticky(int64_t v, bool is_unsigned) {
  bool negative = v < 0 && !is_unsigned;
  uint64_t m = negative ? 0 - (uint64_t)v : (uint64_t)v;
  if (m >> 53)
    m = (m >> 11 | ((m & 0x7ff) != 0)) << 11;
  return negative ? -(double)m : (double)m;
}

/* f32 and f64 take an integer directly, since C rounds it once; narrower types need sticky(). */
static void write_floats(const cast *c, uint64_t first, uint64_t n, block *b) {
  tl_host *t = c->to;
  bool wide = t->dtype == TL_DTYPE_F32 || t->dtype == TL_DTYPE_F64;
  for (uint64_t k = 0; k < n && !b->real; k++) {
    if (t->dtype == TL_DTYPE_F32)
      b->d[k] = b->is_unsigned ? (float)(uint64_t)b->i[k] : (float)b->i[k];
    else if (wide)
      b->d[k] = b->is_unsigned ? (double)(uint64_t)b->i[k] : (double)b->i[k];
    else
      b->d[k] = sticky(b->i[k], b->is_unsigned);
  }
  tl_host_from_f64((tl_dtype)t->dtype, b->d, t->data, first, n,
                   (tl_narrowing){c->saturate, c->rounding});
}

/* Converts elements [begin, end) block by block: any source type to doubles or integers, and those
 * to any destination type. With N types this takes 2 N conversions instead of N^2. */
static void cast_range(void *user, uint64_t begin, uint64_t end) {
  const cast *c = user;
  tl_dtype from = (tl_dtype)c->from->dtype, to = (tl_dtype)c->to->dtype;
  block b;
  for (; begin < end; begin += BLOCK) {
    uint64_t n = end - begin < BLOCK ? end - begin : BLOCK;
    b.real = b.is_unsigned = false;
    if (tl_dtype_is_float(from))
      read_floats(c->from, begin, n, &b);
    else
      read_integers(c->from, begin, n, &b);
    if (tl_dtype_is_float(to))
      write_floats(c, begin, n, &b);
    else
      write_integers(c->to, begin, n, &b);
  }
}

/* The frequent casts between f32 and the 16-bit floats skip the block: one conversion loop each. */
static void widen_range(void *user, uint64_t begin, uint64_t end) {
  const cast *c = user;
  tl_host_to_f32((tl_dtype)c->from->dtype, c->from->data, (float *)c->to->data + begin, begin,
                 end - begin);
}

static void narrow_range(void *user, uint64_t begin, uint64_t end) {
  const cast *c = user;
  tl_host_from_f32((tl_dtype)c->to->dtype, (const float *)c->from->data + begin, c->to->data, begin,
                   end - begin, c->saturate);
}

static bool is_half(tl_dtype d) { return d == TL_DTYPE_F16 || d == TL_DTYPE_BF16; }

/* Casts numbers to numbers; strings have their own paths below. */
static void cast_numbers(cast *c) {
  tl_dtype from = (tl_dtype)c->from->dtype, to = (tl_dtype)c->to->dtype;
  tl_eval_range fn = cast_range;
  if (to == TL_DTYPE_F32 && is_half(from))
    fn = widen_range;
  else if (from == TL_DTYPE_F32 && is_half(to))
    fn = narrow_range;
  bool shared_bytes = is_packed(to); /* one part only: two threads may not share a byte */
  tl_eval_for(c->x, c->from->n, shared_bytes ? c->from->n : GRAIN, fn, c);
}

/* ---- strings -------------------------------------------------------------------------------- */

/* Prints the shortest digits that read back as the same value of type d. Tries 1 to 17 digits in
 * turn, 17 being enough for any double. */
static void print_float(tl_buf *out, tl_dtype d, double v) {
  char text[48];
  if (v != v || fabs(v) == INFINITY) {
    tl_buf_add_z(out, v != v ? "nan" : v > 0 ? "inf" : "-inf");
    return;
  }
  for (int digits = 0; digits <= 16; digits++) {
    double back;
    float narrow;
    uint64_t storage = 0;
    snprintf(text, sizeof text, "%.*e", digits, v);
    if (digits)
      text[v < 0 ? 2 : 1] = '.'; /* the locale may have written another decimal point */
    if (!tl_parse_f64(tl_sv_from(text), &back))
      continue;
    tl_host_from_f64(d, &back, &storage, 0, 1, (tl_narrowing){false, TL_E8M0_NEAREST});
    tl_host_to_f32(d, &storage, &narrow, 0, 1);
    if (d == TL_DTYPE_F64 ? back == v : (double)narrow == v)
      break;
  }
  tl_cast_layout(out, text);
}

/* Reads "-d.ddde-xx" and prints it as numpy does: positional from 1e-4 up to below 1e16, with at
 * least one digit behind the point, otherwise with an exponent of at least two digits. */
void tl_cast_layout(tl_buf *out, const char *text) {
  char digits[24];
  int n = 0;
  if (*text == '-')
    tl_buf_add_char(out, *text++);
  for (; *text && *text != 'e' && n < 20; text++)
    if (*text >= '0' && *text <= '9')
      digits[n++] = *text;
  int sign = text[1] == '-' ? -1 : 1, exponent = 0;
  for (text += 2; *text >= '0' && *text <= '9'; text++)
    exponent = exponent * 10 + (*text - '0');
  exponent *= sign;
  while (n > 1 && digits[n - 1] == '0')
    n--;
  if (exponent < -4 || exponent >= 16) {
    tl_buf_printf(out, "%c%s%.*se%c%02d", digits[0], n > 1 ? "." : "", n - 1, digits + 1,
                  exponent < 0 ? '-' : '+', exponent < 0 ? -exponent : exponent);
    return;
  }
  if (exponent < 0)
    tl_buf_add_z(out, "0.");
  for (int i = -1; i > exponent; i--)
    tl_buf_add_char(out, '0');
  for (int i = 0; i < n || i <= exponent; i++) {
    tl_buf_add_char(out, i < n ? digits[i] : '0');
    if (i == exponent)
      tl_buf_add_z(out, ".");
  }
  if (n - 1 <= exponent)
    tl_buf_add_char(out, '0');
}

static void print_element(tl_buf *out, const tl_host *t, uint64_t i) {
  tl_dtype d = (tl_dtype)t->dtype;
  if (d == TL_DTYPE_BOOL)
    tl_buf_add_z(out, ((const uint8_t *)t->data)[i] ? "1" : "0");
  else if (d == TL_DTYPE_U64)
    tl_buf_add_u64(out, ((const uint64_t *)t->data)[i]);
  else if (is_packed_integer(d) || !tl_dtype_is_float(d))
    tl_buf_add_i64(out, tl_host_int_at(t, i));
  else
    print_float(out, d, tl_host_at(t, i));
}

/* Prints every element. The strings belong to the heap, which lives as long as the run's values. */
static tl_status print_all(cast *c) {
  tl_sv *out = c->to->data;
  tl_buf text;
  tl_buf_init(&text);
  for (uint64_t i = 0; i < c->from->n; i++) {
    text.n = 0;
    print_element(&text, c->from, i);
    tl_sv made = tl_buf_view(&text);
    char *kept = text.failed ? NULL : tl_host_text(c->x->heap, made.n);
    if (!kept && made.n) {
      tl_buf_release(&text);
      return tl_eval_no_memory(c->x);
    }
    if (made.n)
      memcpy(kept, made.p, made.n);
    out[i] = (tl_sv){kept, made.n};
  }
  tl_buf_release(&text);
  return TL_OK;
}

/* Python's float() and int() accept white space around the number; so does Cast. */
static tl_sv trimmed(tl_sv s) {
  while (s.n && (s.p[0] == ' ' || (s.p[0] >= '\t' && s.p[0] <= '\r')))
    s = (tl_sv){s.p + 1, s.n - 1};
  while (s.n && (s.p[s.n - 1] == ' ' || (s.p[s.n - 1] >= '\t' && s.p[s.n - 1] <= '\r')))
    s.n--;
  return s;
}

/* Compares without regard to case, in ASCII only, independent of the locale. */
static bool same_word(tl_sv s, const char *word) {
  size_t n = strlen(word);
  if (s.n != n)
    return false;
  for (size_t i = 0; i < n; i++)
    if ((s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] - 'A' + 'a' : s.p[i]) != word[i])
      return false;
  return true;
}

/* tl_parse_f64 takes no words and no plus sign, which Python's float() accepts. */
static bool parse_real(tl_sv s, double *v) {
  tl_sv bare = s.n && (s.p[0] == '+' || s.p[0] == '-') ? (tl_sv){s.p + 1, s.n - 1} : s;
  if (same_word(bare, "inf") || same_word(bare, "infinity"))
    *v = s.p[0] == '-' ? -(double)INFINITY : (double)INFINITY;
  else if (same_word(bare, "nan"))
    *v = (double)NAN;
  else
    return tl_parse_f64(s.n && s.p[0] == '+' ? bare : s, v);
  return true;
}

/* Parses decimal digits with an optional sign. Returns false when they need more than 64 bits or 20
 * characters; parse_all then reads them as a float. */
static bool parse_whole(tl_sv s, int64_t *v) {
  bool negative = s.n && s.p[0] == '-';
  size_t i = s.n && (s.p[0] == '+' || s.p[0] == '-');
  uint64_t m = 0;
  if (i == s.n || s.n > 20)
    return false;
  for (; i < s.n; i++) {
    if (s.p[i] < '0' || s.p[i] > '9' || __builtin_mul_overflow(m, 10, &m) ||
        __builtin_add_overflow(m, (uint64_t)(s.p[i] - '0'), &m))
      return false;
  }
  *v = (int64_t)(negative ? 0 - m : m);
  return true;
}

/* Parses every string. Numbers with a fraction or exponent become integers through double. */
static tl_status parse_all(cast *c) {
  const tl_sv *in = c->from->data;
  bool real = tl_dtype_is_float((tl_dtype)c->to->dtype);
  block b;
  for (uint64_t i = 0; i < c->from->n; i++) {
    tl_sv s = trimmed(in[i]);
    b.is_unsigned = c->to->dtype == TL_DTYPE_U64;
    b.real = real || !parse_whole(s, &b.i[0]);
    bool truth = c->to->dtype == TL_DTYPE_BOOL && (same_word(s, "true") || same_word(s, "false"));
    if (truth) {
      b.real = false;
      b.i[0] = same_word(s, "true");
    } else if (b.real && !parse_real(s, &b.d[0]))
      return tl_eval_fail(c->x, "element %llu, \"%.*s\", is not a number", (unsigned long long)i,
                          (int)(s.n > 40 ? 40 : s.n), s.n ? s.p : "");
    if (real)
      write_floats(c, i, 1, &b);
    else
      write_integers(c->to, i, 1, &b);
  }
  return TL_OK;
}

/* ---- kernels -------------------------------------------------------------------------------- */

/* The types from TL_DTYPE_QI8 on in the enum are quantized types of the NPU, which have no
 * kernels. */
static bool can_cast(tl_dtype d) {
  return d != TL_DTYPE_NONE && d < TL_DTYPE_QI8 && d != TL_DTYPE_C64 && d != TL_DTYPE_C128;
}

/* Reads round_mode, which matters for f8e8m0 (powers of two) only; ONNX's default is up. */
static tl_status rounding_of(tl_eval *ctx, tl_e8m0_rounding *out) {
  tl_sv mode = tl_eval_string(ctx, TL_SYM_round_mode);
  *out = TL_E8M0_UP;
  if (tl_sv_is(mode, "down"))
    *out = TL_E8M0_DOWN;
  else if (tl_sv_is(mode, "nearest"))
    *out = TL_E8M0_NEAREST;
  else if (mode.n && !tl_sv_is(mode, "up"))
    return tl_eval_fail(ctx, "round_mode is '%.*s', expected up, down or nearest", TL_SV_ARG(mode));
  return TL_OK;
}

/* The attributes are read even when they have no effect on this pair of types: a wrong value is an
 * error of the model. */
tl_status tl_cast_to(tl_eval *ctx, const tl_host *from, tl_dtype to) {
  cast c = {.x = ctx, .from = from, .saturate = tl_eval_int(ctx, TL_SYM_saturate, 1) != 0};
  if (from->dtype == to)
    return tl_eval_pass(ctx, 0, from);
  if (!can_cast((tl_dtype)from->dtype) || !can_cast(to))
    return tl_eval_unsupported(ctx, "%s cannot be cast to %s",
                               tl_dtype_get((tl_dtype)from->dtype)->name, tl_dtype_get(to)->name);
  TL_TRY(rounding_of(ctx, &c.rounding));
  TL_TRY(tl_eval_result_like(ctx, 0, to, from, &c.to));
  if (is_packed(to) && c.to->bytes)
    memset(c.to->data, 0, (size_t)c.to->bytes); /* unused bits of the last byte must be 0 */
  if (to == TL_DTYPE_STRING)
    return print_all(&c);
  if (from->dtype == TL_DTYPE_STRING)
    return parse_all(&c);
  cast_numbers(&c);
  return TL_OK;
}

static tl_status need_tensor(tl_eval *ctx, uint32_t i) {
  const tl_host *t = tl_eval_in(ctx, i);
  if (!t || t->kind != TL_HOST_TENSOR)
    return tl_eval_fail(ctx, "operand %u must be a tensor", i);
  return TL_OK;
}

static tl_status target(tl_eval *ctx, tl_dtype *out) {
  int64_t number = tl_eval_int(ctx, TL_SYM_to, 0);
  *out = tl_dtype_from_onnx(number);
  if (*out == TL_DTYPE_NONE)
    return tl_eval_fail(ctx, "'to' is %lld, which is not an element type", (long long)number);
  return TL_OK;
}

tl_status tl_eval_cast(tl_eval *ctx) {
  tl_dtype to;
  TL_TRY(need_tensor(ctx, 0));
  TL_TRY(target(ctx, &to));
  return tl_cast_to(ctx, ctx->in[0], to);
}

tl_status tl_eval_cast_like(tl_eval *ctx) {
  TL_TRY(need_tensor(ctx, 0));
  TL_TRY(need_tensor(ctx, 1));
  return tl_cast_to(ctx, ctx->in[0], (tl_dtype)ctx->in[1]->dtype);
}

/* Copies the bytes; both types must have the same width. */
tl_status tl_eval_bit_cast(tl_eval *ctx) {
  tl_dtype to;
  TL_TRY(need_tensor(ctx, 0));
  TL_TRY(target(ctx, &to));
  const tl_host *from = ctx->in[0];
  unsigned bits = tl_dtype_get((tl_dtype)from->dtype)->bits;
  if (!bits || bits != tl_dtype_get(to)->bits)
    return tl_eval_fail(ctx, "%s and %s differ in width", tl_dtype_get((tl_dtype)from->dtype)->name,
                        tl_dtype_get(to)->name);
  tl_host *out;
  TL_TRY(tl_eval_result_like(ctx, 0, to, from, &out));
  if (out->bytes)
    memcpy(out->data, from->data, (size_t)out->bytes);
  return TL_OK;
}
