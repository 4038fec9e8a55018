/* SPDX-License-Identifier: Apache-2.0 */
/* Computes QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear. There is one scale for the
 * tensor, one for each index of an axis, or one for each block of indices. The tensor is cut into
 * rows along which the scale is constant or advances with the element. */
#include "ir/eval/quantized/quantize.h"

enum { BLOCK = 256, ROW = 4096, GRAIN = 1 << 14 };

/* Scales and zero points as f32 and where each row finds its own. */
typedef struct rows {
  uint64_t n;      /* rows */
  uint64_t length; /* elements of a row */
  uint64_t total;  /* elements of the tensor; the last row of a flat tensor is shorter */
  bool flat;
  bool advance;      /* the scale advances with the element */
  uint64_t dim;      /* of the axis */
  uint64_t inner;    /* elements behind the axis */
  uint64_t block;    /* indices of the axis that share a scale; 0: not blocked */
  uint64_t n_blocks; /* along the axis */
  const float *scale;
  const float *zero;
} rows;

/* A row: its elements and where its scales begin. */
typedef struct row {
  uint64_t first; /* element */
  uint64_t n;
  uint64_t scale; /* index of the first scale */
} row;

/* Finds row i. Four cases: one scale; one for each index; blocks with elements behind the axis;
 * blocks of the last axis. */
static row row_at(const rows *r, uint64_t i) {
  if (r->flat) {
    uint64_t first = i * r->length;
    return (row){first, r->total - first < r->length ? r->total - first : r->length, 0};
  }
  if (!r->block)
    return (row){i * r->length, r->length, r->advance ? 0 : i % r->dim};
  if (r->inner > 1) /* a row is the part behind one index of the axis */
    return (row){i * r->inner, r->inner,
                 (i / r->dim * r->n_blocks + i % r->dim / r->block) * r->inner};
  uint64_t outer = i / r->n_blocks, start = i % r->n_blocks * r->block;
  uint64_t left = r->dim - start;
  return (row){outer * r->dim + start, left < r->block ? left : r->block, i};
}

/* Chooses the rows: along the axis when nothing is behind it, else behind one index. */
static void plan_axis(rows *r, uint64_t outer) {
  r->advance = r->block ? r->inner > 1 : r->inner == 1;
  if (r->block) {
    r->n = r->inner > 1 ? outer * r->dim : outer * r->n_blocks;
    r->length = r->inner > 1 ? r->inner : r->block;
    return;
  }
  r->n = r->inner == 1 ? outer : outer * r->dim;
  r->length = r->inner == 1 ? r->dim : r->inner;
}

static tl_status as_floats(tl_eval *ctx, const tl_host *t, const float **out) {
  float *f = tl_eval_scratch(ctx, t->n + 1, sizeof *f);
  if (!f)
    return tl_eval_no_memory(ctx);
  tl_host_to_f32((tl_dtype)t->dtype, t->data, f, 0, t->n);
  *out = f;
  return TL_OK;
}

/* A blocked scale has the shape of the operand, with blocks along the axis. */
static tl_status check_blocks(tl_eval *ctx, const tl_host *t, const tl_host *scale, uint32_t axis,
                              rows *r) {
  bool good = scale->rank == t->rank;
  for (int i = 0; good && i < t->rank; i++)
    good = (uint32_t)i == axis || scale->dims[i] == t->dims[i];
  if (!good)
    return tl_eval_fail(ctx, "a blocked scale must have the shape of the operand but for the axis");
  r->n_blocks = (uint64_t)scale->dims[axis];
  uint64_t need = r->dim / r->block + (r->dim % r->block != 0);
  if (r->n_blocks != need)
    return tl_eval_fail(ctx, "%llu blocks of %llu do not cover the %llu indices of the axis",
                        (unsigned long long)r->n_blocks, (unsigned long long)r->block,
                        (unsigned long long)r->dim);
  return TL_OK;
}

/* A tensor with one scale is cut anywhere, others only where scales change. */
static tl_status plan_rows(tl_eval *ctx, const tl_host *t, const tl_host *scale, rows *r) {
  uint32_t axis;
  int64_t outer, inner, block = tl_eval_int(ctx, TL_SYM_block_size, 0);
  *r = (rows){.total = t->n};
  if (scale->n == 1 && scale->rank <= 1 && !block) {
    r->flat = true;
    r->length = ROW;
    r->n = t->n / ROW + (t->n % ROW != 0);
    return TL_OK;
  }
  if (block < 0)
    return tl_eval_fail(ctx, "block_size is %lld", (long long)block);
  TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_axis, 1), t->rank, &axis));
  if (!tl_eval_product(t->dims, 0, (int)axis, &outer) ||
      !tl_eval_product(t->dims, (int)axis + 1, t->rank, &inner))
    return tl_eval_fail(ctx, "the operand has more elements than can be counted");
  r->dim = (uint64_t)t->dims[axis];
  r->inner = (uint64_t)inner;
  r->block = (uint64_t)block;
  if (block)
    TL_TRY(check_blocks(ctx, t, scale, axis, r));
  else if (scale->rank != 1 || scale->n != r->dim)
    return tl_eval_fail(ctx, "the scale must have one element or one per index of axis %u", axis);
  if (t->n)
    plan_axis(r, (uint64_t)outer);
  return TL_OK;
}

/* Reads operands 0 to 2: tensor, scale, optional zero point. */
static tl_status take_operands(tl_eval *ctx, rows *r) {
  for (uint32_t i = 0; i < 3; i++) {
    const tl_host *t = tl_eval_in(ctx, i);
    if ((!t && i < 2) || (t && (t->kind != TL_HOST_TENSOR || t->dtype == TL_DTYPE_STRING)))
      return tl_eval_fail(ctx, "operand %u must be a tensor of numbers", i);
  }
  const tl_host *scale = ctx->in[1], *zero = tl_eval_in(ctx, 2);
  TL_TRY(plan_rows(ctx, ctx->in[0], scale, r));
  if (zero && zero->n != scale->n)
    return tl_eval_fail(ctx, "scale and zero point must have the same shape");
  TL_TRY(as_floats(ctx, scale, &r->scale));
  return zero ? as_floats(ctx, zero, &r->zero) : TL_OK;
}

/* What quantizing and dequantizing need. */
typedef struct job {
  rows r;
  const tl_host *from;
  tl_host *to;
  tl_quantizer q;
  tl_dtype precision; /* of the quotient */
} job;

/* ---- quantize ------------------------------------------------------------------------------- */

bool tl_quantizer_for(tl_dtype to, bool saturate, tl_quantizer *q) {
  *q = (tl_quantizer){.to = to, .saturate = saturate};
  switch (to) {
  case TL_DTYPE_I8:
    q->low = -128;
    q->high = 127;
    return true;
  case TL_DTYPE_U8: q->high = 255; return true;
  case TL_DTYPE_I16:
    q->low = -32768;
    q->high = 32767;
    return true;
  case TL_DTYPE_U16: q->high = 65535; return true;
  case TL_DTYPE_I4:
    q->low = -8;
    q->high = 7;
    return true;
  case TL_DTYPE_U4: q->high = 15; return true;
  case TL_DTYPE_I2:
    q->low = -2;
    q->high = 1;
    return true;
  case TL_DTYPE_U2: q->high = 3; return true;
  default: return tl_dtype_is_float(to) && tl_dtype_get(to)->bits <= 8;
  }
}

/* Returns the nearest integer, ties to even. Within the limits the sum with 1.5 * 2^23 has no
 * fraction; beyond them every integer type saturates anyway. */
static float nearest(float v) {
  v = v > 140000.0f ? 140000.0f : v > -140000.0f ? v : -140000.0f; /* NaN too */
  return (v + 12582912.0f) - 12582912.0f;
}

#define STORE(T)                                                                                   \
  for (uint64_t k = 0; k < n; k++)                                                                 \
    ((T *)data + first)[k] = (T)v[k];                                                              \
  return

void tl_quantizer_store(const tl_quantizer *q, float *v, tl_zero_points zero, void *data,
                        uint64_t first, uint64_t n) {
  if (tl_dtype_is_float(q->to)) {
    tl_host_from_f32(q->to, v, data, first, n, q->saturate);
    return;
  }
  for (uint64_t k = 0; k < n; k++) {
    float r = nearest(v[k]) + (zero.at ? zero.at[k * zero.step] : 0.0f);
    v[k] = r > q->high ? q->high : r < q->low ? q->low : r;
  }
  switch (q->to) {
  case TL_DTYPE_I8: STORE(int8_t);
  case TL_DTYPE_U8: STORE(uint8_t);
  case TL_DTYPE_I16: STORE(int16_t);
  case TL_DTYPE_U16: STORE(uint16_t);
  default:
    for (uint64_t k = 0; k < n; k++)
      tl_packed_set(q->to, data, first + k, (int)v[k]);
    return;
  }
}

/* Divides by the scale in f32, rounds the quotient to `precision`, then to the integer: this double
 * rounding is what ONNX asks for. */
static void quantize_row(const job *j, row w) {
  float v[BLOCK];
  for (uint64_t done = 0; done < w.n; done += BLOCK) {
    uint64_t n = w.n - done < BLOCK ? w.n - done : BLOCK;
    size_t step = j->r.advance;
    const float *scale = j->r.scale + w.scale + done * step;
    const float *zero = j->r.zero ? j->r.zero + w.scale + done * step : NULL;
    tl_host_to_f32((tl_dtype)j->from->dtype, j->from->data, v, w.first + done, n);
    for (uint64_t k = 0; k < n; k++)
      v[k] /= scale[k * step];
    if (j->precision == TL_DTYPE_F16)
      for (uint64_t k = 0; k < n; k++)
        v[k] = tl_f16_to_f32(tl_f16_from_f32(v[k]));
    else if (j->precision == TL_DTYPE_BF16)
      for (uint64_t k = 0; k < n; k++)
        v[k] = tl_bf16_to_f32(tl_bf16_from_f32(v[k]));
    tl_quantizer_store(&j->q, v, (tl_zero_points){zero, step}, j->to->data, w.first + done, n);
  }
}

static void quantize_range(void *user, uint64_t begin, uint64_t end) {
  const job *j = user;
  for (; begin < end; begin++)
    quantize_row(j, row_at(&j->r, begin));
}

/* Runs fn over the rows. Rows of a packed result share bytes, so they are not divided then. */
static void run(tl_eval *ctx, job *j, tl_eval_range fn, tl_dtype written) {
  if (!j->from->n)
    return;
  uint64_t grain = tl_dtype_get(written)->bits < 8 ? j->r.n : GRAIN / j->r.length + 1;
  tl_eval_for(ctx, j->r.n, grain, fn, j);
}

/* The type of the zero point, else the attribute's, else u8. */
static tl_dtype quantized_type(const tl_eval *ctx) {
  const tl_host *zero = tl_eval_in(ctx, 2);
  tl_dtype named = tl_dtype_from_onnx(tl_eval_int(ctx, TL_SYM_output_dtype, 0));
  return zero ? (tl_dtype)zero->dtype : named != TL_DTYPE_NONE ? named : TL_DTYPE_U8;
}

tl_status tl_eval_quantize_linear(tl_eval *ctx) {
  job j = {.from = tl_eval_in(ctx, 0)};
  TL_TRY(take_operands(ctx, &j.r));
  tl_dtype to = quantized_type(ctx);
  if (!tl_quantizer_for(to, tl_eval_int(ctx, TL_SYM_saturate, 1) != 0, &j.q))
    return tl_eval_unsupported(ctx, "the kernel cannot quantize to %s", tl_dtype_get(to)->name);
  int64_t precision = tl_eval_int(ctx, TL_SYM_precision, 0);
  j.precision = precision ? tl_dtype_from_onnx(precision) : (tl_dtype)ctx->in[1]->dtype;
  TL_TRY(tl_eval_result_like(ctx, 0, to, ctx->in[0], &j.to));
  if (tl_dtype_get(to)->bits < 8 && j.to->bytes)
    memset(j.to->data, 0, (size_t)j.to->bytes);
  run(ctx, &j, quantize_range, to);
  return TL_OK;
}

/* ---- dequantize ----------------------------------------------------------------------------- */

/* Computes x - zero as floats; 32-bit integers subtract in double, which is exact. */
static void centred(const job *j, uint64_t first, uint64_t n, const float *zero, size_t step,
                    float *v) {
  if (j->from->dtype != TL_DTYPE_I32) {
    tl_host_to_f32((tl_dtype)j->from->dtype, j->from->data, v, first, n);
    for (uint64_t k = 0; k < n && zero; k++)
      v[k] -= zero[k * step];
    return;
  }
  const int32_t *s = (const int32_t *)j->from->data + first;
  for (uint64_t k = 0; k < n; k++)
    v[k] = (float)((double)s[k] - (zero ? (double)zero[k * step] : 0));
}

/* Block by block, so that the floats stay on the stack. */
static void dequantize_row(const job *j, row w) {
  float v[BLOCK];
  for (uint64_t done = 0; done < w.n; done += BLOCK) {
    uint64_t n = w.n - done < BLOCK ? w.n - done : BLOCK;
    size_t step = j->r.advance;
    const float *scale = j->r.scale + w.scale + done * step;
    const float *zero = j->r.zero ? j->r.zero + w.scale + done * step : NULL;
    centred(j, w.first + done, n, zero, step, v);
    for (uint64_t k = 0; k < n; k++)
      v[k] *= scale[k * step];
    tl_host_from_f32((tl_dtype)j->to->dtype, v, j->to->data, w.first + done, n, false);
  }
}

static void dequantize_range(void *user, uint64_t begin, uint64_t end) {
  const job *j = user;
  for (; begin < end; begin++)
    dequantize_row(j, row_at(&j->r, begin));
}

tl_status tl_eval_dequantize_linear(tl_eval *ctx) {
  job j = {.from = tl_eval_in(ctx, 0)};
  TL_TRY(take_operands(ctx, &j.r));
  tl_dtype to = tl_dtype_from_onnx(tl_eval_int(ctx, TL_SYM_output_dtype, 0));
  if (to == TL_DTYPE_NONE)
    to = ctx->in[1]->dtype == TL_DTYPE_F8E8M0 ? TL_DTYPE_F32 : (tl_dtype)ctx->in[1]->dtype;
  if (to != TL_DTYPE_F32 && to != TL_DTYPE_F16 && to != TL_DTYPE_BF16)
    return tl_eval_unsupported(ctx, "the kernel cannot dequantize to %s", tl_dtype_get(to)->name);
  TL_TRY(tl_eval_result_like(ctx, 0, to, ctx->in[0], &j.to));
  run(ctx, &j, dequantize_range, to);
  return TL_OK;
}

/* ---- dynamic -------------------------------------------------------------------------------- */

/* DynamicQuantizeLinear. The range includes 0; a tensor of zeros has scale 1. NaN counts as 0. */
tl_status tl_eval_dynamic_quantize_linear(tl_eval *ctx) {
  const tl_host *t = tl_eval_in(ctx, 0);
  if (!t || t->kind != TL_HOST_TENSOR || t->dtype != TL_DTYPE_F32)
    return tl_eval_fail(ctx, "operand 0 must be a tensor of f32");
  float low = 0, high = 0;
  for (uint64_t i = 0; i < t->n; i++) {
    float v = ((const float *)t->data)[i];
    low = v < low ? v : low;
    high = v > high ? v : high;
  }
  float scale = high > low ? (high - low) / 255.0f : 1.0f;
  float at = -low / scale, zero = nearest(at > 255 ? 255 : at > 0 ? at : 0);
  tl_host *s, *z;
  job j = {.from = t,
           .r = {.flat = true, .length = ROW, .total = t->n, .scale = &scale, .zero = &zero}};
  j.r.n = t->n / ROW + (t->n % ROW != 0);
  (void)tl_quantizer_for(TL_DTYPE_U8, true, &j.q);
  TL_TRY(tl_eval_result_like(ctx, 0, TL_DTYPE_U8, t, &j.to));
  TL_TRY(tl_eval_result(ctx, 1, TL_DTYPE_F32, 0, NULL, &s));
  TL_TRY(tl_eval_result(ctx, 2, TL_DTYPE_U8, 0, NULL, &z));
  *(float *)s->data = scale;
  *(uint8_t *)z->data = (uint8_t)zero;
  run(ctx, &j, quantize_range, TL_DTYPE_U8);
  return TL_OK;
}
