/* SPDX-License-Identifier: Apache-2.0 */
/* Decides the guard tf_nearest: does ResizeNearestNeighborV2 pick the same elements as a Resize?
 * The NPU op has only TensorFlow's three ways to compute places and no nearest_mode. Which of
 * ONNX's combinations agree with one of them depends on the sizes too, so all places of all axes
 * are compared. */
#include "passes/npu/nearest.h"

#include "ir/eval/conv/resize_axes.h"
#include "passes/npu/facts.h"

enum { RANK = 4, LONGEST = 1 << 16 };

/* Fills *tf with what the candidate's align_corners and half_pixel_centers make the NPU op do.
 * TensorFlow rounds half up with aligned corners and rounds down otherwise. */
static void as_tf(const tl_resize *onnx, tl_resize *tf) {
  *tf = *onnx;
  tf->near = TL_RESIZE_FLOOR;
  switch (onnx->map) {
  case TL_RESIZE_ALIGN_CORNERS: tf->near = TL_RESIZE_PREFER_CEIL; break;
  case TL_RESIZE_HALF_PIXEL:
  case TL_RESIZE_PYTORCH_HALF_PIXEL:
  case TL_RESIZE_TF_HALF_PIXEL_NN: tf->map = TL_RESIZE_TF_HALF_PIXEL_NN; break;
  default: tf->map = TL_RESIZE_ASYMMETRIC; break;
  }
}

/* Reads the scales of the Resize: the operand's, if present, else output size / input size. Returns
 * false if they are not constant or not one per dim. */
static bool read_scales(tl_site *site, const tl_dim *in, tl_resize *r) {
  static const uint32_t scales_port = 2;
  const double *scales = NULL;
  uint32_t n = 0;
  tl_value_id v = tl_operand(site->m, site->node, scales_port);
  if (v && !tl_npu_as_floats(site, tl_rv_of_constant(site, v), &scales, &n))
    return false;
  if (n && n != RANK)
    return false;
  r->sized = n == 0;
  for (int i = 0; i < RANK; i++)
    r->scale[i] = n ? scales[i] : (double)r->out[i] / (double)in[i];
  return true;
}

/* Returns true if both ways pick the same element for every output index of an axis. */
static bool same_places(const tl_resize *onnx, const tl_resize *tf, int axis, int64_t in) {
  for (int64_t i = 0; i < onnx->out[axis]; i++)
    if (tl_resize_nearest(onnx, axis, in, i) != tl_resize_nearest(tf, axis, in, i))
      return false;
  return true;
}

static tl_sv text_of(const tl_site *site, tl_symbol name) {
  const tl_attr *a = tl_node_attr_or_default(site->m, site->node, name);
  return a && a->kind == TL_ATTR_STRING ? tl_sym(site->m, a->u.s) : (tl_sv){0};
}

/* Requires 4-D tensors with known sizes, N and C unchanged, and at most 2^16 elements per axis. */
bool tl_npu_tf_nearest(tl_site *site) {
  tl_resize onnx = {.mode = TL_RESIZE_NEAREST}, tf;
  tl_dim in[RANK];
  tl_value_id from = tl_operand(site->m, site->node, 0), to = tl_result(site->m, site->node, 0);
  if (tl_npu_rank(site, from) != RANK || tl_npu_rank(site, to) != RANK ||
      !tl_resize_modes(text_of(site, TL_SYM_coordinate_transformation_mode),
                       text_of(site, TL_SYM_nearest_mode), &onnx) ||
      onnx.map == TL_RESIZE_TF_CROP)
    return false;
  for (int i = 0; i < RANK; i++) {
    in[i] = tl_npu_dim(site, from, i);
    onnx.out[i] = tl_npu_dim(site, to, i);
    if (in[i] <= 0 || onnx.out[i] < 0 || onnx.out[i] > LONGEST || (i < 2 && in[i] != onnx.out[i]))
      return false;
  }
  if (!read_scales(site, in, &onnx))
    return false;
  as_tf(&onnx, &tf);
  tf.sized = true;
  for (int i = 2; i < RANK; i++)
    tf.scale[i] = (double)onnx.out[i] / (double)in[i];
  for (int i = 0; i < RANK; i++)
    if (!(onnx.scale[i] > 0) || !same_places(&onnx, &tf, i, in[i]))
      return false;
  return true;
}
