/* SPDX-License-Identifier: Apache-2.0 */
/* Computes ConvTranspose and Col2Im: numbers of windows are added to the places that the windows
 * see. The spatial axes of the result are `in` of the windows, those of the operand are `out`. */
#include "ir/eval/conv/window.h"
#include "ir/eval/linear/gemm.h"

/* Upper bound on the elements of the product that are held at a time, unless one channel needs
 * more. */
enum { CHUNK = 1 << 22 };

/* ---- adding windows ------------------------------------------------------------------------- */

/* What is added where. */
typedef struct spread {
  const tl_windows *w;
  tl_gemm_type type;
  const void *from; /* [channels][taps][windows] */
  void *to;         /* [channels][places] */
} spread;

/* Defines the adding of a type; integers wrap. */
#define DEFINE_ADD(NAME, TYPE)                                                                     \
  static void NAME(const TYPE *from, int64_t n, int64_t stride, TYPE *to) {                        \
    for (int64_t i = 0; i < n; i++)                                                                \
      to[i * stride] += from[i];                                                                   \
  }

DEFINE_ADD(add_f32, float)
DEFINE_ADD(add_f64, double)
DEFINE_ADD(add_u32, uint32_t)
DEFINE_ADD(add_u64, uint64_t)

/* Adds n numbers of one tap to places `stride` apart; tl_gemm_type tells how to add. */
static void add_piece(const spread *s, int64_t from, int64_t to, int64_t n, int64_t stride) {
  switch (s->type) {
  case TL_GEMM_F32: add_f32((const float *)s->from + from, n, stride, (float *)s->to + to); break;
  case TL_GEMM_F64: add_f64((const double *)s->from + from, n, stride, (double *)s->to + to); break;
  case TL_GEMM_U32:
    add_u32((const uint32_t *)s->from + from, n, stride, (uint32_t *)s->to + to);
    break;
  case TL_GEMM_U64:
    add_u64((const uint64_t *)s->from + from, n, stride, (uint64_t *)s->to + to);
    break;
  }
}

/* Adds channels [begin, end). Taps are added in order, so that each place has one order of
 * additions. */
static void add_channels(void *user, uint64_t begin, uint64_t end) {
  const spread *s = user;
  const tl_windows *w = s->w;
  int64_t stride = w->n ? w->stride[w->n - 1] : 1;
  for (int64_t c = (int64_t)begin; c < (int64_t)end; c++) {
    int64_t tap[TL_MAX_RANK] = {0}, row = c * w->taps;
    do {
      tl_window_run r;
      for (int64_t at = 0; at < w->out_plane; at += r.count) {
        tl_window_run_at(w, at, w->out_plane - at, &r);
        tl_window_piece p = tl_window_piece_of(w, &r, tap);
        add_piece(s, row * w->out_plane + at + p.first, c * w->in_plane + p.from, p.count, stride);
      }
      row++;
    } while (tl_window_next_tap(w, tap));
  }
}

/* ---- sizes ---------------------------------------------------------------------------------- */

/* Sets the padding that leads to the wanted size. It is split between both ends; SAME_UPPER puts
 * the odd element at the end, all else at the beginning. */
static void split_padding(tl_windows *w, int i, int64_t whole, int64_t wanted, bool upper) {
  int64_t total = whole > wanted ? whole - wanted : 0;
  w->in[i] = wanted;
  w->begin[i] = upper ? total / 2 : total - total / 2;
  w->end[i] = total - w->begin[i];
}

/* Reads pads from an operand; out of their range the sizes below could overflow. */
static tl_status dynamic_pads(tl_eval *ctx, tl_windows *w) {
  tl_int_list pads;
  TL_TRY(tl_eval_operand_ints(ctx, 2, &pads));
  if (!pads.at)
    return TL_OK;
  if (pads.n != 2 * (uint32_t)w->n)
    return tl_eval_fail(ctx, "there are %u pads, expected %d", pads.n, 2 * w->n);
  for (int i = 0; i < w->n; i++) {
    w->begin[i] = pads.at[i];
    w->end[i] = pads.at[i + w->n];
    if (w->begin[i] < -INT32_MAX || w->begin[i] > INT32_MAX || w->end[i] < -INT32_MAX ||
        w->end[i] > INT32_MAX)
      return tl_eval_fail(ctx, "pads along spatial axis %d are out of range", i);
  }
  return TL_OK;
}

/* Reads the attributes and computes the size of the result along each axis, from output_shape,
 * auto_pad or pads, in this order. */
static tl_status open_windows(tl_eval *ctx, const tl_host *t, const tl_host *weight, bool dynamic,
                              tl_windows *w) {
  tl_int_list extra, shape;
  uint32_t n = (uint32_t)t->rank - 2;
  TL_TRY(tl_window_attributes(ctx, t->rank - 2, t->dims + 2, weight->dims + 2, w));
  TL_TRY(tl_window_list(ctx, TL_SYM_output_padding, n, 0, &extra));
  TL_TRY(tl_window_list(ctx, TL_SYM_output_shape, n, 0, &shape));
  if (dynamic)
    TL_TRY(dynamic_pads(ctx, w));
  tl_sv pad = tl_eval_string(ctx, TL_SYM_auto_pad);
  bool upper = tl_sv_is(pad, "SAME_UPPER"), same = upper || tl_sv_is(pad, "SAME_LOWER");
  if (!same && pad.n && !tl_sv_is(pad, "NOTSET") && !tl_sv_is(pad, "VALID"))
    return tl_eval_fail(ctx, "attribute auto_pad: '%.*s' is not known", TL_SV_ARG(pad));
  for (int i = 0; i < w->n; i++) {
    int64_t reach = 0, whole = 0;
    w->out[i] = t->dims[i + 2];
    if (__builtin_mul_overflow(w->out[i] - 1, w->stride[i], &reach) ||
        __builtin_add_overflow(
            reach, (w->kernel[i] - 1) * w->dilation[i] + 1 + (extra.at ? extra.at[i] : 0), &whole))
      return tl_eval_fail(ctx, "spatial axis %d is too large", i);
    if (shape.at)
      split_padding(w, i, whole, shape.at[i], upper);
    else if (same)
      split_padding(w, i, whole, w->out[i] * w->stride[i], upper);
    else if (tl_sv_is(pad, "VALID"))
      split_padding(w, i, whole, whole, upper);
    else
      w->in[i] = whole - w->begin[i] - w->end[i];
    if (w->in[i] < 0)
      return tl_eval_fail(ctx, "pads leave no output along spatial axis %d", i);
  }
  return tl_window_count(ctx, w);
}

/* ---- ConvTranspose -------------------------------------------------------------------------- */

/* A ConvTranspose and the memory of its products. */
typedef struct transposed {
  tl_windows w;
  const tl_host *x;
  const tl_host *weight;
  tl_host *y;
  tl_gemm_type type;
  int64_t groups;
  int64_t in_channels;  /* of a group */
  int64_t out_channels; /* of a group */
  int64_t chunk;        /* channels of the result at a time */
  void *held;           /* [chunk][taps][windows] */
} transposed;

/* Multiplies channels [first, first + n) of a group of one image, and adds the windows to the
 * result. */
static tl_status add_chunk(tl_eval *ctx, const transposed *t, int64_t image, int64_t group,
                           int64_t first, int64_t n) {
  const tl_windows *w = &t->w;
  size_t size = tl_gemm_size(t->type);
  int64_t row = t->out_channels * w->taps;
  tl_gemm g = {.type = t->type,
               .batches = 1,
               .m = n * w->taps,
               .n = w->out_plane,
               .k = t->in_channels,
               .c = t->held,
               .c_stride = w->out_plane};
  g.a = (tl_gemm_side){.lane_stride = 1, .k_stride = row};
  g.a.data = (const char *)t->weight->data +
             (size_t)(group * t->in_channels * row + first * w->taps) * size;
  g.b = (tl_gemm_side){.lane_stride = 1, .k_stride = w->out_plane};
  g.b.data = (const char *)t->x->data +
             (size_t)((image * t->groups + group) * t->in_channels * w->out_plane) * size;
  TL_TRY(tl_gemm_run(ctx, &g));
  int64_t channel = (image * t->groups + group) * t->out_channels + first;
  spread s = {w, t->type, t->held, (char *)t->y->data + (size_t)(channel * w->in_plane) * size};
  tl_eval_for(ctx, (uint64_t)n, 1, add_channels, &s);
  return TL_OK;
}

/* Defines the start of a result: the bias of its channel, or 0. */
#define DEFINE_BIAS(NAME, TYPE)                                                                    \
  static void NAME(tl_host *y, const tl_host *bias, int64_t plane) {                               \
    for (uint64_t i = 0; i < y->n; i++)                                                            \
      ((TYPE *)y->data)[i] = bias ? ((const TYPE *)bias->data)[i / (uint64_t)plane % bias->n]      \
                                  : (TYPE)0;                                                       \
  }

DEFINE_BIAS(bias_f32, float)
DEFINE_BIAS(bias_f64, double)

/* The weight is [C, M/group, k...]: its first dim is that of the operand. */
static tl_status open_transposed(tl_eval *ctx, bool dynamic, transposed *t) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, TL_MAX_RANK));
  t->x = tl_eval_in(ctx, 0);
  TL_TRY(tl_eval_need_rank(ctx, 1, t->x->rank, t->x->rank));
  t->weight = tl_eval_in(ctx, 1);
  t->groups = tl_eval_int(ctx, TL_SYM_group, 1);
  if (t->groups < 1 || t->x->dims[1] % t->groups || t->x->dims[1] != t->weight->dims[0])
    return tl_eval_fail(ctx, "%lld channels in %lld groups do not fit a weight for %lld",
                        (long long)t->x->dims[1], (long long)t->groups,
                        (long long)t->weight->dims[0]);
  if (t->x->dtype != t->weight->dtype ||
      (t->x->dtype != TL_DTYPE_F32 && t->x->dtype != TL_DTYPE_F64))
    return tl_eval_unsupported(ctx, "a convolution of these types is not supported");
  t->type = t->x->dtype == TL_DTYPE_F32 ? TL_GEMM_F32 : TL_GEMM_F64;
  t->in_channels = t->x->dims[1] / t->groups;
  t->out_channels = t->weight->dims[1];
  return open_windows(ctx, t->x, t->weight, dynamic, &t->w);
}

/* The result begins as the bias. */
static tl_status make_result(tl_eval *ctx, transposed *t, const tl_host *bias) {
  int64_t dims[TL_MAX_RANK] = {t->x->dims[0]};
  if (__builtin_mul_overflow(t->out_channels, t->groups, &dims[1]))
    return tl_eval_fail(ctx, "the result would have more channels than can be counted");
  memcpy(dims + 2, t->w.in, (size_t)t->w.n * sizeof *dims);
  if (bias &&
      (bias->kind != TL_HOST_TENSOR || bias->dtype != t->x->dtype || bias->n != (uint64_t)dims[1]))
    return tl_eval_fail(ctx, "the bias does not have one number for each of %lld channels",
                        (long long)dims[1]);
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)t->x->dtype, t->x->rank, dims, &t->y));
  if (t->y->n && t->type == TL_GEMM_F32)
    bias_f32(t->y, bias, t->w.in_plane);
  else if (t->y->n)
    bias_f64(t->y, bias, t->w.in_plane);
  return TL_OK;
}

/* ConvTranspose: X, W, B; with ARG 1 ConvTransposeWithDynamicPads: X, W, Pads, B. */
tl_status tl_eval_conv_transpose(tl_eval *ctx) {
  transposed t = {0};
  TL_TRY(open_transposed(ctx, ctx->arg == 1, &t));
  TL_TRY(make_result(ctx, &t, tl_eval_in(ctx, ctx->arg == 1 ? 3 : 2)));
  if (t.y->n == 0 || t.w.out_plane == 0 || t.in_channels == 0)
    return TL_OK;
  int64_t one;
  if (__builtin_mul_overflow(t.w.taps, t.w.out_plane, &one))
    return tl_eval_fail(ctx, "the windows have more elements than can be counted");
  t.chunk = one < CHUNK ? CHUNK / one : 1;
  if (t.chunk > t.out_channels)
    t.chunk = t.out_channels;
  t.held = tl_eval_scratch(ctx, (uint64_t)one * (uint64_t)t.chunk, tl_gemm_size(t.type));
  if (!t.held)
    return tl_eval_no_memory(ctx);
  for (int64_t i = 0; i < t.x->dims[0] * t.groups; i++)
    for (int64_t first = 0; first < t.out_channels; first += t.chunk) {
      int64_t n = t.out_channels - first < t.chunk ? t.out_channels - first : t.chunk;
      TL_TRY(add_chunk(ctx, &t, i / t.groups, i % t.groups, first, n));
    }
  return TL_OK;
}

/* ---- Col2Im --------------------------------------------------------------------------------- */

/* The image is what the windows see, and the columns are the windows. */
static tl_status column_windows(tl_eval *ctx, const tl_int_list *image, const tl_int_list *block,
                                tl_windows *w) {
  if (!image->at || !block->at || image->n != block->n || image->n > TL_MAX_RANK - 2)
    return tl_eval_fail(ctx, "image_shape and block_shape must have one size for each axis");
  for (uint32_t i = 0; i < image->n; i++)
    if (image->at[i] < 0)
      return tl_eval_fail(ctx, "image_shape has the size %lld", (long long)image->at[i]);
  TL_TRY(tl_window_attributes(ctx, (int)image->n, image->at, block->at, w));
  for (int i = 0; i < w->n; i++) {
    int64_t room = w->in[i] + w->begin[i] + w->end[i] - (w->kernel[i] - 1) * w->dilation[i] - 1;
    if (room < 0)
      return tl_eval_fail(ctx, "a block does not fit the image along axis %d", i);
    w->out[i] = room / w->stride[i] + 1;
  }
  return tl_window_count(ctx, w);
}

/* Overlapping blocks add up. */
tl_status tl_eval_col2im(tl_eval *ctx) {
  tl_windows w;
  tl_int_list image, block;
  int64_t dims[TL_MAX_RANK];
  tl_host *y;
  spread s = {.w = &w};
  TL_TRY(tl_eval_need_rank(ctx, 0, 3, 3));
  const tl_host *t = tl_eval_in(ctx, 0);
  if (!tl_gemm_type_of((tl_dtype)t->dtype, &s.type))
    return tl_eval_unsupported(ctx, "sums of %s are not supported",
                               tl_dtype_get((tl_dtype)t->dtype)->name);
  TL_TRY(tl_eval_operand_ints(ctx, 1, &image));
  TL_TRY(tl_eval_operand_ints(ctx, 2, &block));
  TL_TRY(column_windows(ctx, &image, &block, &w));
  if (w.taps == 0 || t->dims[1] % w.taps || t->dims[2] != w.out_plane)
    return tl_eval_fail(ctx, "the operand must have a multiple of %lld rows and %lld columns",
                        (long long)w.taps, (long long)w.out_plane);
  dims[0] = t->dims[0];
  dims[1] = t->dims[1] / w.taps;
  memcpy(dims + 2, w.in, (size_t)w.n * sizeof *dims);
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)t->dtype, w.n + 2, dims, &y));
  if (y->n == 0)
    return TL_OK;
  memset(y->data, 0, (size_t)y->bytes);
  s.from = t->data;
  s.to = y->data;
  tl_eval_for(ctx, (uint64_t)(dims[0] * dims[1]), 1, add_channels, &s);
  return TL_OK;
}
