/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding windows. Every number is bounded when it is read, so that the arithmetic below cannot
 * overflow. */
#include "ir/infer/window.h"
#include "ir/infer/infer_gen.h"
#include "ir/ops_gen.h"

#define MAX_WINDOW INT64_C(0x7fffffff)

/* Reads a list of n numbers from `min` on; .at is NULL for the default. */
static tl_status read_list(tl_infer *ctx, tl_symbol name, uint32_t n, int64_t min,
                           tl_int_list *out) {
  *out = tl_node_attr_ints(ctx->m, ctx->node, name);
  if (out->n == 0)
    out->at = NULL; /* exporters write an empty list for "default" */
  if (!out->at)
    return TL_OK;
  if (out->n != n)
    return tl_infer_fail(ctx, "attribute %.*s has %u values, expected %u",
                         TL_SV_ARG(tl_sym(ctx->m, name)), out->n, n);
  for (uint32_t i = 0; i < n; i++)
    if (out->at[i] < min || out->at[i] > MAX_WINDOW)
      return tl_infer_fail(ctx, "attribute %.*s: %lld is out of range",
                           TL_SV_ARG(tl_sym(ctx->m, name)), (long long)out->at[i]);
  return TL_OK;
}

static tl_status read_auto_pad(tl_infer *ctx, tl_window *w) {
  tl_sv text = tl_node_attr_string(ctx->m, ctx->node, TL_SYM_auto_pad);
  w->auto_pad = TL_PAD_EXPLICIT;
  if (text.n == 0 || tl_sv_is(text, "NOTSET"))
    return TL_OK;
  if (tl_sv_is(text, "SAME_UPPER") || tl_sv_is(text, "SAME_LOWER"))
    w->auto_pad = TL_PAD_SAME;
  else if (tl_sv_is(text, "VALID"))
    w->auto_pad = TL_PAD_VALID;
  else
    return tl_infer_fail(ctx,
                         "attribute auto_pad: '%.*s' is none of NOTSET, SAME_UPPER, SAME_LOWER, "
                         "VALID",
                         TL_SV_ARG(text));
  return TL_OK;
}

tl_status tl_window_read(tl_infer *ctx, uint32_t n, tl_window *w) {
  *w = (tl_window){.n = n};
  TL_TRY(read_list(ctx, TL_SYM_kernel_shape, n, 1, &w->kernel));
  TL_TRY(read_list(ctx, TL_SYM_strides, n, 1, &w->strides));
  TL_TRY(read_list(ctx, TL_SYM_dilations, n, 1, &w->dilations));
  TL_TRY(read_list(ctx, TL_SYM_pads, 2 * n, -MAX_WINDOW, &w->pads));
  w->ceil = tl_node_attr_int(ctx->m, ctx->node, TL_SYM_ceil_mode, 0) != 0;
  return read_auto_pad(ctx, w);
}

/* Element i of a list that may be absent. */
static int64_t at_or(tl_int_list list, uint32_t i, int64_t fallback) {
  return list.at ? list.at[i] : fallback;
}

/* auto_pad replaces the pads. */
static bool pads_count(const tl_window *w) { return w->auto_pad == TL_PAD_EXPLICIT && w->pads.at; }

/* Both ends of an axis. */
static int64_t pad_sum(const tl_window *w, uint32_t axis) {
  return pads_count(w) ? w->pads.at[axis] + w->pads.at[axis + w->n] : 0;
}

/* Gives the extent of the dilated kernel; false when the kernel is no number in bounds. */
static bool extent(const tl_window *w, uint32_t axis, tl_dim kernel, int64_t *out) {
  if (kernel < 1 || kernel > MAX_WINDOW)
    return false;
  *out = (kernel - 1) * at_or(w->dilations, axis, 1) + 1;
  return true;
}

/* C's division rounds towards 0; b is positive. */
static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* Returns how many windows there are. Rounding up may add one, but never one that begins behind the
 * input's data. */
static int64_t windows(const tl_window *w, uint32_t axis, int64_t input, int64_t room,
                       int64_t stride) {
  if (!w->ceil)
    return floor_div(room, stride) + 1;
  int64_t n = -floor_div(-room, stride) + 1;
  int64_t begin = pads_count(w) ? w->pads.at[axis] : 0;
  if (n > 1 && (n - 1) > (input + begin - 1) / stride)
    n--;
  return n;
}

tl_status tl_window_output(tl_infer *ctx, const tl_window *w, uint32_t axis, tl_dim input,
                           tl_dim kernel, tl_dim *out) {
  int64_t stride = at_or(w->strides, axis, 1);
  int64_t size = 0;
  *out = TL_DIM_UNKNOWN;
  if (w->auto_pad == TL_PAD_SAME) {
    *out = tl_dim_ceil_div(ctx->m, input, stride);
    return TL_OK;
  }
  if (input == TL_DIM_UNKNOWN || input > INT64_MAX / 4 || !extent(w, axis, kernel, &size))
    return TL_OK;
  int64_t slack = pad_sum(w, axis) - size;
  if (tl_dim_is_static(input)) {
    int64_t n = windows(w, axis, input, input + slack, stride);
    if (n < 0)
      return tl_infer_fail(ctx,
                           "a window of %lld does not fit the padded input of %lld along "
                           "spatial axis %u",
                           (long long)size, (long long)(input + pad_sum(w, axis)), axis);
    *out = n;
  } else if (stride == 1) {
    *out = tl_dim_offset(ctx->m, input, slack + 1);
  } else if (!w->ceil) {
    /* floor((d + slack) / s) + 1, written with the 1 inside so that equal sizes print alike */
    *out = tl_dim_div(ctx->m, tl_dim_offset(ctx->m, input, slack + stride), stride);
  }
  return TL_OK;
}

tl_status tl_window_transposed(tl_infer *ctx, const tl_window *w, uint32_t axis, tl_dim input,
                               tl_dim kernel, tl_dim *out) {
  int64_t stride = at_or(w->strides, axis, 1), extra = at_or(w->extra, axis, 0);
  int64_t size;
  *out = TL_DIM_UNKNOWN;
  if (w->auto_pad == TL_PAD_SAME) {
    *out = tl_dim_mul(ctx->m, input, stride);
    return TL_OK;
  }
  if (!extent(w, axis, kernel, &size))
    return TL_OK;
  int64_t constant = size + extra - pad_sum(w, axis) - stride;
  tl_dim scaled = tl_dim_mul(ctx->m, input, stride);
  if (tl_dim_is_static(scaled) && scaled < -constant)
    return tl_infer_fail(ctx, "pads leave no output along spatial axis %u", axis);
  *out = tl_dim_offset(ctx->m, scaled, constant);
  return TL_OK;
}
