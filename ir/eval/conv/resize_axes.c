/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry of Resize and Upsample: options, dims of the result, coordinates, taps. */
#include <math.h>

#include "ir/eval/conv/resize_axes.h"

/* ---- options -------------------------------------------------------------------------------- */

/* In the order of tl_resize_map and tl_resize_near. */
static const char *const maps[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",   "align_corners",
    "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn", NULL};
static const char *const nears[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil",
                                    NULL};

static int place_in(const char *const *list, tl_sv v) {
  for (int i = 0; list[i]; i++)
    if (tl_sv_is(v, list[i]))
      return i;
  return -1;
}

bool tl_resize_modes(tl_sv map, tl_sv near, tl_resize *r) {
  int m = place_in(maps, map), n = place_in(nears, near);
  if (m < 0 || n < 0)
    return false;
  r->map = (tl_resize_map)m;
  r->near = (tl_resize_near)n;
  return true;
}

/* Finds the attribute's value in a list that ends with NULL; 0 when it is not set. */
static tl_status pick(tl_eval *ctx, tl_symbol name, const char *const *list, int *out) {
  tl_sv v = tl_eval_string(ctx, name);
  *out = 0;
  if (!v.n)
    return TL_OK;
  *out = place_in(list, v);
  if (*out >= 0)
    return TL_OK;
  return tl_eval_fail(ctx, "attribute %.*s is '%.*s'",
                      TL_SV_ARG(tl_symbol_sv(&ctx->m->symbols, name)), TL_SV_ARG(v));
}

static tl_status read_options(tl_eval *ctx, tl_resize *r) {
  static const char *const modes[] = {"nearest", "linear", "cubic", "bilinear", NULL};
  int mode, map, near;
  TL_TRY(pick(ctx, TL_SYM_mode, modes, &mode));
  TL_TRY(pick(ctx, TL_SYM_coordinate_transformation_mode, maps, &map));
  TL_TRY(pick(ctx, TL_SYM_nearest_mode, nears, &near));
  r->mode = mode == 3 ? TL_RESIZE_LINEAR : (tl_resize_mode)mode;
  r->map = (tl_resize_map)map;
  r->near = (tl_resize_near)near;
  r->antialias = r->mode != TL_RESIZE_NEAREST && tl_eval_int(ctx, TL_SYM_antialias, 0) != 0;
  r->exclude_outside = tl_eval_int(ctx, TL_SYM_exclude_outside, 0) != 0;
  r->cubic_a = (double)tl_eval_float(ctx, TL_SYM_cubic_coeff_a, -0.75f);
  r->extrapolation = (double)tl_eval_float(ctx, TL_SYM_extrapolation_value, 0);
  return TL_OK;
}

/* ---- dims ----------------------------------------------------------------------------------- */

/* The axes that are resized. */
typedef struct chosen {
  uint32_t at[TL_MAX_RANK];
  uint32_t n;
} chosen;

static tl_status choose_axes(tl_eval *ctx, int rank, chosen *axes) {
  tl_int_list list = tl_eval_ints(ctx, TL_SYM_axes);
  bool seen[TL_MAX_RANK] = {false};
  axes->n = list.n ? list.n : (uint32_t)rank;
  if (axes->n > (uint32_t)rank)
    return tl_eval_fail(ctx, "attribute axes has %u values for rank %d", axes->n, rank);
  for (uint32_t i = 0; i < axes->n; i++) {
    axes->at[i] = i;
    if (list.n)
      TL_TRY(tl_eval_axis(ctx, list.at[i], rank, &axes->at[i]));
    if (seen[axes->at[i]])
      return tl_eval_fail(ctx, "axis %u is given twice", axes->at[i]);
    seen[axes->at[i]] = true;
  }
  return TL_OK;
}

static bool is_given(const tl_eval *ctx, uint32_t i) {
  const tl_host *t = tl_eval_in(ctx, i);
  return t && t->kind == TL_HOST_TENSOR && t->n;
}

static tl_status need_count(tl_eval *ctx, uint32_t i, uint64_t n) {
  if (tl_eval_in(ctx, i)->n == n)
    return TL_OK;
  return tl_eval_fail(ctx, "operand %u has %llu values, expected %llu", i,
                      (unsigned long long)tl_eval_in(ctx, i)->n, (unsigned long long)n);
}

/* Computes floor(in * scale) in float arithmetic, as shape inference and runtimes do: in double
 * some sizes would differ by one. */
static tl_status by_scales(tl_eval *ctx, uint32_t operand, const chosen *axes, tl_resize *r) {
  const tl_host *in = tl_eval_in(ctx, 0);
  TL_TRY(need_count(ctx, operand, axes->n));
  for (uint32_t i = 0; i < axes->n; i++) {
    uint32_t a = axes->at[i];
    float scale = (float)tl_host_at(tl_eval_in(ctx, operand), i);
    if (!(scale > 0) || isinf(scale))
      return tl_eval_fail(ctx, "scale %g is not a positive number", (double)scale);
    float part = r->map == TL_RESIZE_TF_CROP ? (float)(r->to[a] - r->from[a]) : 1.0f;
    float size = floorf((float)in->dims[a] * part * scale);
    if (!(size >= 0 && size < 9.0e15f))
      return tl_eval_fail(ctx, "axis %u would have %g elements", a, (double)size);
    r->scale[a] = (double)scale;
    r->out[a] = scale == 1.0f && part == 1.0f ? in->dims[a] : (int64_t)size;
  }
  return TL_OK;
}

/* Replaces the sizes by those that one scale for all axes gives: the largest ratio for not_smaller,
 * the least for not_larger. */
static tl_status keep_ratio(tl_eval *ctx, const chosen *axes, bool larger, tl_resize *r) {
  const tl_host *in = tl_eval_in(ctx, 0);
  float scale = 0;
  for (uint32_t i = 0; i < axes->n; i++) {
    float ratio = (float)r->out[axes->at[i]] / (float)in->dims[axes->at[i]];
    if (i == 0 || (larger ? ratio > scale : ratio < scale))
      scale = ratio;
  }
  for (uint32_t i = 0; i < axes->n; i++) {
    float size = floorf(scale * (float)in->dims[axes->at[i]] + 0.5f);
    if (!(size >= 0 && size < 9.0e15f))
      return tl_eval_fail(ctx, "axis %u would have %g elements", axes->at[i], (double)size);
    r->out[axes->at[i]] = (int64_t)size;
    r->scale[axes->at[i]] = (double)scale;
  }
  return TL_OK;
}

/* Reads sizes; the scales follow from them. */
static tl_status by_sizes(tl_eval *ctx, const chosen *axes, tl_resize *r) {
  static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
  const tl_host *in = tl_eval_in(ctx, 0);
  int policy;
  TL_TRY(need_count(ctx, 3, axes->n));
  TL_TRY(pick(ctx, TL_SYM_keep_aspect_ratio_policy, policies, &policy));
  for (uint32_t i = 0; i < axes->n; i++) {
    uint32_t a = axes->at[i];
    int64_t size = tl_host_int_at(tl_eval_in(ctx, 3), i);
    if (size < 0 || (size > 0 && in->dims[a] == 0))
      return tl_eval_fail(ctx, "size %lld of axis %u is not possible", (long long)size, a);
    r->out[a] = size;
    r->scale[a] = in->dims[a] ? (double)size / (double)in->dims[a] : 1;
  }
  r->sized = !policy;
  return policy && in->n ? keep_ratio(ctx, axes, policy == 2, r) : TL_OK;
}

/* The region of interest: all starts, then all ends. */
static tl_status read_region(tl_eval *ctx, const chosen *axes, tl_resize *r) {
  if (r->map != TL_RESIZE_TF_CROP)
    return TL_OK;
  if (!is_given(ctx, 1))
    return tl_eval_fail(ctx, "tf_crop_and_resize needs the operand roi");
  TL_TRY(need_count(ctx, 1, 2 * (uint64_t)axes->n));
  for (uint32_t i = 0; i < axes->n; i++) {
    r->from[axes->at[i]] = tl_host_at(tl_eval_in(ctx, 1), i);
    r->to[axes->at[i]] = tl_host_at(tl_eval_in(ctx, 1), axes->n + i);
  }
  return TL_OK;
}

tl_status tl_resize_read(tl_eval *ctx, tl_resize *r) {
  const tl_host *in = tl_eval_in(ctx, 0);
  chosen axes;
  for (int i = 0; i < in->rank; i++) {
    r->out[i] = in->dims[i];
    r->scale[i] = r->to[i] = 1;
    r->from[i] = 0;
  }
  TL_TRY(read_options(ctx, r));
  TL_TRY(choose_axes(ctx, in->rank, &axes));
  if (tl_node_get(ctx->m, ctx->node)->op == TL_OP_Upsample) {
    r->map = TL_RESIZE_ASYMMETRIC;
    r->near = TL_RESIZE_FLOOR;
    return by_scales(ctx, 1, &axes, r);
  }
  TL_TRY(read_region(ctx, &axes, r));
  if (in->rank && is_given(ctx, 2) == is_given(ctx, 3))
    return tl_eval_fail(ctx, "exactly one of scales and sizes must be given");
  if (!in->rank)
    return TL_OK;
  return is_given(ctx, 2) ? by_scales(ctx, 2, &axes, r) : by_sizes(ctx, &axes, r);
}

/* ---- coordinates ---------------------------------------------------------------------------- */

/* Rounds v to f32 where neighbours are looked up: which of two is nearer may hang on the last bit,
 * and runtimes compute places in f32. */
static double place_of(const tl_resize *r, double v) {
  return r->mode == TL_RESIZE_NEAREST ? (double)(float)v : v;
}

/* Returns (i + shift) / scale - back, with each step rounded as place_of says. */
static double divided(const tl_resize *r, double i, double shift, double scale, double back) {
  return place_of(r, place_of(r, place_of(r, i + shift) / scale) - back);
}

/* Returns the length of the result before it was rounded. */
static double exact_length(const tl_resize *r, int axis, double in) {
  return r->sized ? (double)r->out[axis] : place_of(r, place_of(r, r->scale[axis]) * in);
}

/* half_pixel_symmetric: what a rounded size lacks goes to both ends. */
static double symmetric(const tl_resize *r, int axis, double in, double i) {
  double scale = place_of(r, r->scale[axis]), length = exact_length(r, axis, in);
  double lack = place_of(r, 1 - place_of(r, (double)r->out[axis] / length));
  double at = place_of(r, place_of(r, in / 2 * lack) + divided(r, i, 0.5, scale, 0));
  return place_of(r, at - 0.5);
}

/* tf_crop_and_resize: from the start of the region to its end, a single element in the middle. */
static double in_region(const tl_resize *r, int axis, double in, double i) {
  double from = r->from[axis], to = r->to[axis], last = in - 1;
  if (r->out[axis] <= 1)
    return place_of(r, 0.5 * place_of(r, from + to) * last);
  double way = place_of(r, place_of(r, i * place_of(r, to - from)) * last);
  return place_of(r, place_of(r, from * last) + place_of(r, way / (double)(r->out[axis] - 1)));
}

/* Returns where result element i lies in the operand. align_corners uses the length before it was
 * rounded, as the specification does. */
static double coordinate(const tl_resize *r, int axis, double in, double i) {
  double scale = place_of(r, r->scale[axis]), length = exact_length(r, axis, in);
  /* no shift either, though tf_half_pixel_for_nn alone would give one */
  if (scale == 1 && r->map != TL_RESIZE_TF_CROP)
    return i;
  switch (r->map) {
  case TL_RESIZE_ALIGN_CORNERS:
    return length == 1 ? 0 : place_of(r, place_of(r, i * (in - 1)) / place_of(r, length - 1));
  case TL_RESIZE_ASYMMETRIC: return divided(r, i, 0, scale, 0);
  case TL_RESIZE_TF_HALF_PIXEL_NN: return divided(r, i, 0.5, scale, 0);
  case TL_RESIZE_PYTORCH_HALF_PIXEL: return r->out[axis] > 1 ? divided(r, i, 0.5, scale, 0.5) : 0;
  case TL_RESIZE_HALF_PIXEL_SYMMETRIC: return symmetric(r, axis, in, i);
  case TL_RESIZE_TF_CROP: return in_region(r, axis, in, i);
  default: return divided(r, i, 0.5, scale, 0.5);
  }
}

/* Rounds a position; prefer_floor takes the lower neighbour of a tie, prefer_ceil the upper one. */
static double nearest(const tl_resize *r, double at) {
  switch (r->near) {
  case TL_RESIZE_PREFER_CEIL: return floor(place_of(r, at + 0.5));
  case TL_RESIZE_FLOOR: return floor(at);
  case TL_RESIZE_CEIL: return ceil(at);
  default: return ceil(place_of(r, at - 0.5));
  }
}

static int64_t clamp_index(double v, int64_t n) {
  if (!(v > 0)) /* NaN too */
    return 0;
  return v >= (double)n ? n - 1 : (int64_t)v;
}

int64_t tl_resize_nearest(const tl_resize *r, int axis, int64_t in, int64_t i) {
  return clamp_index(nearest(r, coordinate(r, axis, (double)in, (double)i)), in);
}

/* The kernel of cubic convolution (Keys, 1981) at distance d. */
static double cubic(double d, double a) {
  d = fabs(d);
  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

static double weigh(const tl_resize *r, double distance) {
  if (r->mode == TL_RESIZE_CUBIC)
    return cubic(distance, r->cubic_a);
  distance = fabs(distance);
  return distance < 1 ? 1 - distance : 0;
}

/* ---- taps ----------------------------------------------------------------------------------- */

/* Places the taps of result element i at `at`: the neighbours in reach; beyond the edge, the edge
 * itself. antialias stretches the kernel by 1 / shrink, which makes the weights' sum differ from
 * 1. */
static void place_taps(const tl_resize *r, double at, double shrink, int64_t in, uint64_t i,
                       const tl_taps *t) {
  const uint64_t n = t->n;
  int64_t *index = t->index + i * n;
  double *weight = t->weight + i * n;
  double first = floor(at) - (double)(n / 2) + 1, sum = 0;
  for (uint64_t k = 0; k < n; k++) {
    double place = first + (double)k;
    index[k] = clamp_index(place, in);
    weight[k] = weigh(r, (place - at) * shrink);
    if (r->exclude_outside && (place < 0 || place >= (double)in))
      weight[k] = 0;
    sum += weight[k];
  }
  if ((r->antialias || r->exclude_outside) && sum != 0)
    for (uint64_t k = 0; k < n; k++)
      weight[k] /= sum;
}

/* Returns true when every result element is the operand element of the same index. */
static bool is_identity(const tl_taps *t, uint64_t out, int64_t in) {
  if (out != (uint64_t)in || t->outside)
    return false;
  for (uint64_t i = 0; i < out; i++)
    for (uint64_t k = 0; k < t->n; k++) {
      double weight = t->weight ? t->weight[i * t->n + k] : 1;
      if (weight != 0 && (weight != 1 || t->index[i * t->n + k] != (int64_t)i))
        return false;
    }
  return true;
}

static tl_status make_room(tl_eval *ctx, const tl_resize *r, uint64_t out, tl_taps *t) {
  uint64_t all;
  if (__builtin_mul_overflow(out, t->n, &all))
    return tl_eval_no_memory(ctx);
  t->index = tl_eval_scratch(ctx, all, sizeof *t->index);
  t->weight = r->mode == TL_RESIZE_NEAREST ? NULL : tl_eval_scratch(ctx, all, sizeof *t->weight);
  t->outside = r->map == TL_RESIZE_TF_CROP ? tl_eval_scratch(ctx, out, sizeof *t->outside) : NULL;
  if (!t->index || (!t->weight && r->mode != TL_RESIZE_NEAREST) ||
      (!t->outside && r->map == TL_RESIZE_TF_CROP))
    return tl_eval_no_memory(ctx);
  return TL_OK;
}

tl_status tl_resize_taps(tl_eval *ctx, const tl_resize *r, int axis, int64_t in, tl_taps *t) {
  uint64_t out = (uint64_t)r->out[axis];
  double reach = r->mode == TL_RESIZE_CUBIC ? 2 : 1;
  double shrink = r->antialias && r->scale[axis] < 1 ? r->scale[axis] : 1;
  *t = (tl_taps){.n = 1};
  if (r->mode != TL_RESIZE_NEAREST) {
    double half = ceil(reach / shrink);
    if (!(half < 1e9))
      return tl_eval_fail(ctx, "scale %g of axis %d is too small to antialias", r->scale[axis],
                          axis);
    t->n = 2 * (uint64_t)half;
  }
  TL_TRY(make_room(ctx, r, out, t));
  for (uint64_t i = 0; i < out; i++) {
    double at = coordinate(r, axis, (double)in, (double)i);
    if (!t->weight)
      t->index[i] = tl_resize_nearest(r, axis, in, (int64_t)i);
    else
      place_taps(r, at, shrink, in, i, t);
    if (t->outside)
      t->outside[i] = !(at >= 0 && at <= (double)(in - 1));
  }
  t->identity = is_identity(t, out, in);
  return TL_OK;
}
