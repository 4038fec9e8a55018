/* SPDX-License-Identifier: Apache-2.0 */
/* check-aipp: compares the description of preprocessing (--insert-op-conf) with the inputs of the
 * model: names, numbers, dtypes, channels, sizes.
 *
 * Requires:  input-shapes, infer-shapes.   Keeps: everything; it only reports.
 * After:     each aipp_op makes what its input takes.
 * Cost:      O(aipp_ops + inputs).
 * Tests:     tests/cli/aipp.t, tests/cli/test_aipp.py */
#include "passes/cleanup/check_aipp.h"

#include "ir/graph.h"
#include "passes/edit/passes.h"
#include "passes/edit/values.h"

static tl_location at(const tl_aipp_op *op) {
  return (tl_location){.file = op->file, .line = op->line, .column = op->column};
}

/* Returns the n-th input without a default; TL_NO_VALUE behind the last. *count: how many. */
static tl_value_id input_of_rank(const tl_module *m, int32_t n, int32_t *count) {
  const tl_graph *g = tl_module_main(m);
  tl_value_id found = TL_NO_VALUE;
  *count = 0;
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    if (tl_value_get(m, g->inputs.at[i])->tensor != TL_NO_TENSOR)
      continue;
    found = *count == n ? g->inputs.at[i] : found;
    ++*count;
  }
  return found;
}

static tl_status find_named(tl_module *m, const tl_aipp_op *op, tl_value_id *out) {
  const tl_graph *g = tl_module_main(m);
  tl_sv name = tl_sv_from(op->related_name);
  tl_nearest near = tl_nearest_start(name);
  *out = TL_NO_VALUE;
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    tl_nearest_try(&near, tl_value_name(m, g->inputs.at[i]));
    if (tl_sv_eq(tl_value_name(m, g->inputs.at[i]), name))
      *out = g->inputs.at[i];
  }
  if (*out)
    return TL_OK;
  if (near.found.n)
    return tl_fail(m->diag, TL_INVALID_ARGUMENT, at(op),
                   "related_input_name: the model has no input '%s'\vdid you mean '%.*s'?",
                   op->related_name, TL_SV_ARG(near.found));
  return tl_fail(m->diag, TL_INVALID_ARGUMENT, at(op),
                 "related_input_name: the model has no input '%s'\v'tailor info' lists the inputs",
                 op->related_name);
}

tl_status tl_aipp_input(tl_module *m, const tl_aipp_op *op, tl_value_id *out) {
  int32_t count;
  tl_value_id ranked = input_of_rank(m, op->related_rank, &count);
  *out = ranked;
  if (op->related_name)
    TL_TRY(find_named(m, op, out));
  if (op->related_name && op->has_rank && ranked != *out)
    return tl_fail(m->diag, TL_INVALID_ARGUMENT, at(op),
                   "related_input_rank %d and related_input_name '%s' are different inputs\v"
                   "give one of them",
                   op->related_rank, op->related_name);
  if (*out)
    return TL_OK;
  return tl_fail(m->diag, TL_INVALID_ARGUMENT, at(op),
                 "related_input_rank: there is no input %d; the model has %d, counted from 0",
                 op->related_rank, count);
}

/* A matrix of one row makes gray, of Y alone when that comes in; biases would make channels. */
bool tl_aipp_is_gray(const tl_aipp_op *op) {
  bool yuv = tl_aipp_is_yuv(op->format);
  const int32_t *bias = yuv ? op->in_bias : op->out_bias;
  bool gray = op->csc && !bias[0] && !bias[1] && !bias[2];
  for (int i = yuv ? 1 : 3; i < 9; i++)
    gray = gray && op->matrix[i] == 0;
  return op->format == TL_AIPP_YUV400 || gray;
}

tl_aipp_size tl_aipp_output_size(const tl_aipp_op *op, int64_t w, int64_t h) {
  int64_t pad_w = op->padding ? op->left + op->right : 0;
  int64_t pad_h = op->padding ? op->top + op->bottom : 0;
  tl_aipp_size s = {.src_w = op->src_w ? op->src_w : w, .src_h = op->src_h ? op->src_h : h};
  s.part_w = !op->crop ? s.src_w : op->crop_w ? op->crop_w : w - pad_w;
  s.part_h = !op->crop ? s.src_h : op->crop_h ? op->crop_h : h - pad_h;
  if (!op->src_w && !op->crop) { /* the image is what is left of the input between the pads */
    s.src_w = s.part_w = w - pad_w;
    s.src_h = s.part_h = h - pad_h;
  }
  s.out_w = (!op->resize ? s.part_w : op->resize_w ? op->resize_w : w - pad_w) + pad_w;
  s.out_h = (!op->resize ? s.part_h : op->resize_h ? op->resize_h : h - pad_h) + pad_h;
  return s;
}

/* ---- types and sizes ------------------------------------------------------------------------- */

static tl_status check_type(tl_module *m, const tl_aipp_op *op, tl_sv name, const tl_type *t) {
  bool takes = t->kind == TL_KIND_TENSOR &&
               (t->dtype == TL_DTYPE_F32 || t->dtype == TL_DTYPE_F16 || t->dtype == TL_DTYPE_U8);
  if (!takes)
    return tl_fail(m->diag, TL_INVALID_ARGUMENT, at(op),
                   "input '%.*s' is %s; AIPP makes images of f16, f32 or u8", TL_SV_ARG(name),
                   t->kind == TL_KIND_TENSOR ? tl_dtype_get((tl_dtype)t->dtype)->name
                                             : "no tensor");
  if (t->rank >= 0 && t->rank != 4)
    return tl_fail(m->diag, TL_INVALID_ARGUMENT, at(op),
                   "input '%.*s' has %d dims; AIPP makes images of 4 dims, NCHW", TL_SV_ARG(name),
                   t->rank);
  return TL_OK;
}

static tl_status check_channels(tl_module *m, const tl_aipp_op *op, tl_sv name, const tl_type *t) {
  int64_t channels = tl_aipp_is_gray(op) ? 1 : 3;
  int64_t has = t->dims[1];
  if (!tl_dim_is_static(has) || has == channels)
    return TL_OK;
  if (t->dims[3] == channels)
    return tl_fail(m->diag, TL_INVALID_ARGUMENT, at(op),
                   "input '%.*s' has its %lld channels in the last dim (NHWC); AIPP makes NCHW\v"
                   "put a Transpose in front of the model's first node, and the input in NCHW",
                   TL_SV_ARG(name), (long long)channels);
  return tl_fail(
      m->diag, TL_INVALID_ARGUMENT, at(op),
      "input_format: %s makes %lld channel%s here, input '%.*s' has %lld%s", op->format_name,
      (long long)channels, channels == 1 ? "" : "s", TL_SV_ARG(name), (long long)has,
      has == 1 ? "\va matrix of one row, the others 0, without biases makes gray images" : "");
}

/* With profiles of images the sizes come with each image. */
static tl_status check_open(tl_module *m, const tl_aipp_op *op, tl_sv name) {
  if (!op->src_w && !op->crop && !op->padding && !op->resize)
    return TL_OK;
  return tl_fail(m->diag, TL_INVALID_ARGUMENT, at(op),
                 "height and width of input '%.*s' are open, so crop, padding, resize and "
                 "src_image_size_w and _h have to be off\vor fix the sizes with --input-shape",
                 TL_SV_ARG(name));
}

static tl_status check_part(tl_module *m, const tl_aipp_op *op, tl_aipp_size s) {
  if (s.part_w < 1 || s.part_h < 1)
    return tl_fail(m->diag, TL_INVALID_ARGUMENT, at(op),
                   "the padding is larger than the input, nothing is left for the image");
  if (!op->crop || (op->crop_x + s.part_w <= s.src_w && op->crop_y + s.part_h <= s.src_h))
    return TL_OK;
  return tl_fail(m->diag, TL_INVALID_ARGUMENT, at(op),
                 "crop takes %lld x %lld at (%d, %d), the image is %lld x %lld (width x height)",
                 (long long)s.part_w, (long long)s.part_h, op->crop_x, op->crop_y,
                 (long long)s.src_w, (long long)s.src_h);
}

static tl_status check_sizes(tl_module *m, const tl_aipp_op *op, tl_sv name, const tl_type *t) {
  int64_t h = t->dims[2], w = t->dims[3];
  if (!tl_dim_is_static(h) || !tl_dim_is_static(w))
    return check_open(m, op, name);
  tl_aipp_size s = tl_aipp_output_size(op, w, h);
  TL_TRY(check_part(m, op, s));
  bool even = s.src_w % 2 == 0 && s.src_h % 2 == 0;
  if (tl_aipp_is_yuv(op->format) && !even)
    return tl_fail(m->diag, TL_INVALID_ARGUMENT, at(op),
                   "images of %s have even sizes, this one has %lld x %lld (width x height)",
                   op->format_name, (long long)s.src_w, (long long)s.src_h);
  if (s.out_w == w && s.out_h == h)
    return TL_OK;
  return tl_fail(m->diag, TL_INVALID_ARGUMENT, at(op),
                 "it makes images of %lld x %lld (width x height), input '%.*s' takes %lld x "
                 "%lld\v%s",
                 (long long)s.out_w, (long long)s.out_h, TL_SV_ARG(name), (long long)w,
                 (long long)h,
                 s.out_w > w || s.out_h > h ? "crop the image: crop: true, crop_size_w, crop_size_h"
                                            : "set src_image_size_w and _h, crop or padding so "
                                              "that the sizes agree");
}

static tl_status check_op(tl_module *m, const tl_options *o, const tl_aipp_op *op) {
  tl_value_id input;
  TL_TRY(tl_aipp_input(m, op, &input));
  tl_sv name = tl_value_name(m, input);
  const tl_type *t = tl_type_get(m, tl_value_type(m, input));
  if (o->input_format && strcmp(o->input_format, "NCHW") != 0)
    return tl_fail(m->diag, TL_INVALID_ARGUMENT, at(op), "AIPP needs --input-format=NCHW, not %s",
                   o->input_format);
  TL_TRY(check_type(m, op, name, t));
  bool known = op->mode == TL_AIPP_STATIC && op->format != TL_AIPP_OTHER && t->rank == 4;
  if (!known)
    return TL_OK;
  TL_TRY(check_channels(m, op, name, t));
  return check_sizes(m, op, name, t);
}

/* Two names or numbers may turn out to be one input. */
static tl_status check_once(tl_module *m, const tl_aipp_config *c, uint32_t i) {
  tl_value_id mine, other;
  TL_TRY(tl_aipp_input(m, &c->ops[i], &mine));
  for (uint32_t k = 0; k < i; k++) {
    TL_TRY(tl_aipp_input(m, &c->ops[k], &other));
    if (other == mine)
      return tl_fail(m->diag, TL_INVALID_ARGUMENT, at(&c->ops[i]),
                     "input '%.*s' is described twice, first in line %u",
                     TL_SV_ARG(tl_value_name(m, mine)), c->ops[k].line);
  }
  return TL_OK;
}

tl_status tl_aipp_check(tl_module *m, const tl_options *o) {
  for (uint32_t i = 0; o->aipp && i < o->aipp->n; i++) {
    TL_TRY(check_op(m, o, &o->aipp->ops[i]));
    TL_TRY(check_once(m, o->aipp, i));
  }
  return TL_OK;
}

tl_status tl_pass_check_aipp(tl_pass *p, tl_module *m) { return tl_aipp_check(m, p->options); }
