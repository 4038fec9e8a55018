/* SPDX-License-Identifier: Apache-2.0 */
/* Computes DFT, STFT and ONNX Runtime's Rfft and Irfft. */
#include "ir/eval/signal/fft.h"

/* The lines of a transform. An element of the input is one number or a pair. */
typedef struct transform {
  tl_fft fft;
  const tl_host *in;
  const tl_host *window; /* [n] or NULL */
  tl_host *out;
  uint64_t in_parts; /* numbers an element: 1 or 2 */
  uint64_t out_parts;
  uint64_t length; /* elements of an input line; missing ones are 0 */
  uint64_t bins;   /* elements of an output line */
  uint64_t inner;  /* elements between neighbours of a line */
  uint64_t lines;
  uint64_t frames; /* lines that share an input line (STFT), else 1 */
  uint64_t hop;    /* elements between frames */
  bool inverse;
  bool mirrored; /* the input is half of a symmetric line */
  double factor;
  double *room; /* [lanes] */
  uint64_t lanes;
} transform;

static double number(const tl_host *t, uint64_t i) {
  return t->dtype == TL_DTYPE_F64 ? ((const double *)t->data)[i]
                                  : (double)((const float *)t->data)[i];
}

static uint64_t room_of(const transform *w) { return 2 * w->fft.n + tl_fft_room(&w->fft); }

/* Returns the first element of line i; a line's number counts the inner axes last. */
static uint64_t line_start(uint64_t i, uint64_t inner, uint64_t length) {
  return i / inner * inner * length + i % inner;
}

/* Loads a line, with window, as complex numbers. The missing half of a symmetric line is the
 * conjugate of the other; what is 0 by symmetry is set, so that a damaged input gives a real
 * result. */
static void load_line(const transform *w, uint64_t line, double *re, double *im) {
  const uint64_t n = w->fft.n, skip = line % w->frames * w->hop;
  const uint64_t start = line_start(line / w->frames, w->inner, w->length);
  for (uint64_t k = 0; k < n; k++) {
    re[k] = im[k] = 0;
    if (skip + k >= w->length)
      continue;
    const uint64_t at = (start + (skip + k) * w->inner) * w->in_parts;
    const double scale = w->window ? number(w->window, k) : 1;
    re[k] = number(w->in, at) * scale;
    im[k] = w->in_parts == 2 ? number(w->in, at + 1) * scale : 0;
  }
  if (!w->mirrored)
    return;
  im[0] = 0;
  if (n % 2 == 0)
    im[n / 2] = 0;
  for (uint64_t k = n / 2 + 1; k < n; k++) {
    re[k] = re[n - k];
    im[k] = -im[n - k];
  }
}

static void store_line(const transform *w, uint64_t line, const double *re, const double *im) {
  const uint64_t start = line_start(line, w->inner, w->bins);
  for (uint64_t k = 0; k < w->bins; k++) {
    const uint64_t at = (start + k * w->inner) * w->out_parts;
    tl_store_number(w->out, at, re[k] * w->factor);
    if (w->out_parts == 2)
      tl_store_number(w->out, at + 1, im[k] * w->factor);
  }
}

/* A lane has work space of its own and takes every lanes-th line. */
static void run_lanes(void *user, uint64_t begin, uint64_t end) {
  const transform *w = user;
  for (uint64_t lane = begin; lane < end; lane++) {
    double *re = w->room + lane * room_of(w), *im = re + w->fft.n;
    for (uint64_t line = lane; line < w->lines; line += w->lanes) {
      load_line(w, line, re, im);
      if (w->inverse)
        tl_fft_run(&w->fft, im, re, im + w->fft.n);
      else
        tl_fft_run(&w->fft, re, im, im + w->fft.n);
      store_line(w, line, re, im);
    }
  }
}

/* Transforms all lines; the inverse divides by the number of points. */
static tl_status run(tl_eval *ctx, transform *w) {
  if (w->out->n == 0)
    return TL_OK;
  w->lines = w->out->n / w->out_parts / w->bins;
  w->lanes = ctx->pool ? 2u * tl_pool_threads(ctx->pool) : 1;
  w->factor = w->inverse ? 1.0 / (double)w->fft.n : 1.0;
  w->room = tl_eval_scratch(ctx, w->lanes, (size_t)room_of(w) * sizeof *w->room);
  if (!w->room)
    return tl_eval_no_memory(ctx);
  tl_eval_for(ctx, w->lanes, 1, run_lanes, w);
  return TL_OK;
}

/* ---- DFT ------------------------------------------------------------------------------------ */

static tl_status read_parts(tl_eval *ctx, int64_t last, uint64_t *out) {
  if (last != 1 && last != 2)
    return tl_eval_fail(ctx, "the last dim is %lld, not 1 (real) or 2 (complex)", (long long)last);
  *out = (uint64_t)last;
  return TL_OK;
}

/* Reads the axis and the number of points, which is the length of the axis unless the node says
 * so. */
static tl_status read_axis(tl_eval *ctx, const transform *w, uint32_t *axis, int64_t *n) {
  int64_t given;
  TL_TRY(tl_eval_operand_int(ctx, 2, -2, &given));
  TL_TRY(tl_eval_axis(ctx, given, w->in->rank, axis));
  if ((int)*axis + 1 == w->in->rank)
    return tl_eval_fail(ctx, "axis %u is the one of real and imaginary parts", *axis);
  int64_t length = w->in->dims[*axis];
  if (w->mirrored && __builtin_mul_overflow(length - 1, INT64_C(2), &length))
    return tl_eval_fail(ctx, "the transform has more points than can be counted");
  TL_TRY(tl_eval_operand_int(ctx, 1, length, n));
  if (*n < 1)
    return tl_eval_fail(ctx, "dft_length is %lld", (long long)*n);
  return TL_OK;
}

/* DFT: input [B, ..., 1|2], dft_length?, axis? -> [B, ..., 2]; the one-sided inverse gives real
 * lines, [B, ..., 1]. */
tl_status tl_eval_dft(tl_eval *ctx) {
  transform w = {.in = tl_eval_in(ctx, 0), .inner = 1, .frames = 1};
  const bool onesided = tl_eval_int(ctx, TL_SYM_onesided, 0) != 0;
  int64_t dims[TL_MAX_RANK], n;
  uint32_t axis;
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, TL_MAX_RANK));
  TL_TRY(read_parts(ctx, w.in->dims[w.in->rank - 1], &w.in_parts));
  w.inverse = tl_eval_int(ctx, TL_SYM_inverse, 0) != 0;
  w.mirrored = w.inverse && onesided;
  if (onesided && !w.inverse && w.in_parts == 2)
    return tl_eval_fail(ctx, "the transform of complex numbers cannot be one-sided");
  TL_TRY(read_axis(ctx, &w, &axis, &n));
  memcpy(dims, w.in->dims, (size_t)w.in->rank * sizeof *dims);
  w.length = (uint64_t)dims[axis];
  dims[axis] = onesided && !w.inverse ? n / 2 + 1 : n;
  dims[w.in->rank - 1] = w.mirrored ? 1 : 2;
  w.bins = (uint64_t)dims[axis];
  w.out_parts = w.mirrored ? 1 : 2;
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)w.in->dtype, w.in->rank, dims, &w.out));
  if (w.out->n == 0)
    return TL_OK;
  for (int i = (int)axis + 1; i + 1 < w.in->rank; i++)
    w.inner *= (uint64_t)dims[i];
  TL_TRY(tl_fft_plan(ctx, n, &w.fft));
  return run(ctx, &w);
}

/* ---- STFT ----------------------------------------------------------------------------------- */

/* Frames that do not fit the signal as a whole are left out. */
static tl_status read_frames(tl_eval *ctx, transform *w, int64_t *n) {
  int64_t hop;
  if (!tl_eval_in(ctx, 1))
    return tl_eval_fail(ctx, "frame_step is missing");
  TL_TRY(tl_eval_operand_int(ctx, 1, 0, &hop));
  w->window = tl_eval_in(ctx, 2);
  if (w->window)
    TL_TRY(tl_eval_need_rank(ctx, 2, 1, 1));
  TL_TRY(tl_eval_operand_int(ctx, 3, w->window ? w->window->dims[0] : (int64_t)w->length, n));
  if (hop < 1 || *n < 1 || *n > (int64_t)w->length)
    return tl_eval_fail(ctx, "frames of %lld at steps of %lld do not fit %lld samples",
                        (long long)*n, (long long)hop, (long long)w->length);
  if (w->window && w->window->dims[0] != *n)
    return tl_eval_fail(ctx, "the window has %lld elements, frames have %lld",
                        (long long)w->window->dims[0], (long long)*n);
  w->hop = (uint64_t)hop;
  w->frames = 1 + (w->length - (uint64_t)*n) / w->hop;
  return TL_OK;
}

/* STFT: signal [B,L] or [B,L,1|2], frame_step, window?, frame_length? -> [B, frames, bins, 2]. */
tl_status tl_eval_stft(tl_eval *ctx) {
  transform w = {.in = tl_eval_in(ctx, 0), .inner = 1, .in_parts = 1, .out_parts = 2};
  bool onesided = tl_eval_int(ctx, TL_SYM_onesided, 1) != 0;
  int64_t n;
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, 3));
  if (w.in->rank == 3)
    TL_TRY(read_parts(ctx, w.in->dims[2], &w.in_parts));
  if (onesided && w.in_parts == 2)
    return tl_eval_fail(ctx, "the transform of complex numbers cannot be one-sided");
  w.length = (uint64_t)w.in->dims[1];
  TL_TRY(read_frames(ctx, &w, &n));
  w.bins = (uint64_t)(onesided ? n / 2 + 1 : n);
  const int64_t dims[4] = {w.in->dims[0], (int64_t)w.frames, (int64_t)w.bins, 2};
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)w.in->dtype, 4, dims, &w.out));
  if (w.out->n == 0)
    return TL_OK;
  TL_TRY(tl_fft_plan(ctx, n, &w.fft));
  return run(ctx, &w);
}

/* ---- Rfft, Irfft ---------------------------------------------------------------------------- */

/* ARG 0: Rfft, [..., n] -> [..., n/2+1, 2]. ARG 1: Irfft, [..., m, 2] -> [..., 2(m-1)]. */
tl_status tl_eval_ms_rfft(tl_eval *ctx) {
  transform w = {.in = tl_eval_in(ctx, 0), .inner = 1, .frames = 1, .inverse = ctx->arg != 0};
  int64_t dims[TL_MAX_RANK];
  if (tl_eval_int(ctx, TL_SYM_signal_ndim, 1) != 1 || !tl_eval_int(ctx, TL_SYM_onesided, 1) ||
      tl_eval_int(ctx, TL_SYM_normalized, 0))
    return tl_eval_unsupported(ctx, "other than one-sided transforms of one axis without a norm");
  TL_TRY(tl_eval_need_rank(ctx, 0, w.inverse ? 2 : 1, TL_MAX_RANK - 1));
  const int rank = w.in->rank, axis = w.inverse ? rank - 2 : rank - 1;
  memcpy(dims, w.in->dims, (size_t)rank * sizeof *dims);
  w.mirrored = w.inverse;
  w.length = (uint64_t)dims[axis];
  w.in_parts = w.inverse ? 2 : 1;
  w.out_parts = w.inverse ? 1 : 2;
  if (w.inverse && (dims[rank - 1] != 2 || dims[axis] < 2 || dims[axis] > INT32_MAX))
    return tl_eval_fail(ctx, "the operand does not hold one-sided complex lines");
  if (!w.inverse && dims[axis] < 1)
    return tl_eval_fail(ctx, "the lines have no elements");
  const int64_t n = w.inverse ? 2 * (dims[axis] - 1) : dims[axis];
  dims[axis] = w.inverse ? n : n / 2 + 1;
  w.bins = (uint64_t)dims[axis];
  if (!w.inverse)
    dims[rank] = 2;
  TL_TRY(
      tl_eval_result(ctx, 0, (tl_dtype)w.in->dtype, w.inverse ? rank - 1 : rank + 1, dims, &w.out));
  if (w.out->n == 0)
    return TL_OK;
  TL_TRY(tl_fft_plan(ctx, n, &w.fft));
  return run(ctx, &w);
}
