/* SPDX-License-Identifier: Apache-2.0 */
/* Computes RoiAlign and MaxRoiPool: regions of images, brought to one size. */
#include <math.h>

#include "ir/eval/kernel/lines.h"

enum { MOST_SAMPLES = 1 << 12 }; /* bounds the time that a hostile region can take */

typedef struct roi_job {
  const tl_host *in; /* [N,C,H,W] */
  const tl_host *rois;
  tl_host *out;         /* [R,C,h,w] */
  const int64_t *batch; /* [R] */
  double scale;
  double offset; /* RoiAlign: half a pixel, or none */
  bool max;
  int64_t samples; /* per axis of a bin; 0: as many as the region has pixels */
} roi_job;

/* ---- RoiAlign ------------------------------------------------------------------------------- */

typedef struct span {
  double start;
  double bin; /* length of a bin */
  int64_t samples;
} span;

/* Finds start, bin length and number of samples of a region along one axis. */
static span find_span(const roi_job *j, double from, double to, int64_t bins) {
  double start = from * j->scale - j->offset, length = to * j->scale - j->offset - start;
  if (j->offset == 0 && !(length >= 1)) /* the older form has no regions below a pixel */
    length = 1;
  span s = {start, length / (double)bins, j->samples};
  if (!s.samples) {
    double wanted = ceil(s.bin);
    s.samples = !(wanted > 0) ? 0 : wanted > MOST_SAMPLES ? MOST_SAMPLES : (int64_t)wanted;
  }
  return s;
}

/* The four neighbours of a point, with their weights. */
typedef struct neighbours {
  uint64_t place[4];
  double weight[4];
} neighbours;

/* Finds the neighbours; false when the point lies more than one pixel outside. */
static bool look_around(const roi_job *j, double y, double x, neighbours *n) {
  double h = (double)j->in->dims[2], w = (double)j->in->dims[3];
  if (!(y >= -1 && y <= h && x >= -1 && x <= w))
    return false;
  y = y < 0 ? 0 : y > h - 1 ? h - 1 : y;
  x = x < 0 ? 0 : x > w - 1 ? w - 1 : x;
  double top = floor(y), left = floor(x), down = y - top, right = x - left;
  uint64_t row = (uint64_t)top, column = (uint64_t)left, width = (uint64_t)j->in->dims[3];
  uint64_t next_row = top + 1 < h ? row + 1 : row, next = left + 1 < w ? column + 1 : column;
  *n = (neighbours){
      {row * width + column, row * width + next, next_row * width + column,
       next_row * width + next},
      {(1 - down) * (1 - right), (1 - down) * right, down * (1 - right), down * right}};
  return true;
}

/* Takes one sample. The maximum is taken over weighted neighbours, as ONNX's reference does;
 * PyTorch would interpolate first. */
static double take_sample(const roi_job *j, uint64_t plane, double y, double x, double best) {
  neighbours n;
  bool inside = look_around(j, y, x, &n);
  double sum = 0;
  for (int k = 0; k < 4; k++) {
    double v = inside ? n.weight[k] * tl_cell_at(j->in, plane + n.place[k]) : 0;
    sum += v;
    if (v > best)
      best = v;
  }
  return j->max ? best : sum;
}

/* Returns mean or maximum over the samples of one bin, which are spread evenly. */
static double align_bin(const roi_job *j, uint64_t plane, double top, double left, span v, span h) {
  double result = j->max ? -(double)INFINITY : 0;
  if (v.samples < 1 || h.samples < 1)
    return 0;
  for (int64_t a = 0; a < v.samples; a++)
    for (int64_t b = 0; b < h.samples; b++) {
      double y = top + ((double)a + 0.5) * v.bin / (double)v.samples;
      double x = left + ((double)b + 0.5) * h.bin / (double)h.samples;
      double sample = take_sample(j, plane, y, x, result);
      result = j->max ? sample : result + sample;
    }
  return j->max ? result : result / ((double)v.samples * (double)h.samples);
}

/* Computes planes [begin, end), counted over regions and channels. */
static void align_planes(void *user, uint64_t begin, uint64_t end) {
  const roi_job *j = user;
  uint64_t channels = (uint64_t)j->in->dims[1];
  uint64_t size = (uint64_t)j->in->dims[2] * (uint64_t)j->in->dims[3];
  int64_t height = j->out->dims[2], width = j->out->dims[3];
  for (uint64_t i = begin; i < end; i++) {
    uint64_t roi = i / channels, at = i * (uint64_t)(height * width);
    double box[4];
    tl_cells_load(j->rois->dtype, j->rois->data, roi * 4, 1, 4, box);
    span v = find_span(j, box[1], box[3], height), h = find_span(j, box[0], box[2], width);
    uint64_t plane = ((uint64_t)j->batch[roi] * channels + i % channels) * size;
    for (int64_t y = 0; y < height; y++)
      for (int64_t x = 0; x < width; x++, at++) {
        double result =
            align_bin(j, plane, v.start + (double)y * v.bin, h.start + (double)x * h.bin, v, h);
        tl_cells_store(j->out->dtype, &result, j->out->data, at, 1, 1);
      }
  }
}

/* Images that do not exist would be read outside of the data. */
static tl_status check_batches(tl_eval *ctx, const roi_job *j) {
  for (uint64_t i = 0; i < (uint64_t)j->rois->dims[0]; i++)
    if (j->batch[i] < 0 || j->batch[i] >= j->in->dims[0])
      return tl_eval_fail(ctx, "region %llu is of image %lld, there are %lld",
                          (unsigned long long)i, (long long)j->batch[i], (long long)j->in->dims[0]);
  if (j->out->n && (!j->in->dims[2] || !j->in->dims[3]))
    return tl_eval_fail(ctx, "the images are empty");
  return TL_OK;
}

/* output_half_pixel is the rule of the op's first version, without the offset. */
static tl_status read_align(tl_eval *ctx, roi_job *j) {
  tl_sv mode = tl_eval_string(ctx, TL_SYM_mode);
  tl_sv map = tl_eval_string(ctx, TL_SYM_coordinate_transformation_mode);
  j->max = tl_sv_is(mode, "max");
  if (mode.n && !j->max && !tl_sv_is(mode, "avg"))
    return tl_eval_fail(ctx, "attribute mode is '%.*s'", TL_SV_ARG(mode));
  bool older = tl_sv_is(map, "output_half_pixel");
  if (map.n && !older && !tl_sv_is(map, "half_pixel"))
    return tl_eval_fail(ctx, "attribute coordinate_transformation_mode is '%.*s'", TL_SV_ARG(map));
  j->offset = older ? 0 : 0.5;
  j->samples = tl_eval_int(ctx, TL_SYM_sampling_ratio, 0);
  if (j->samples < 0 || j->samples > MOST_SAMPLES)
    return tl_eval_fail(ctx, "sampling_ratio is %lld", (long long)j->samples);
  return TL_OK;
}

tl_status tl_eval_roi_align(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 4, 4));
  TL_TRY(tl_eval_need_rank(ctx, 1, 2, 2));
  TL_TRY(tl_eval_need_rank(ctx, 2, 1, 1));
  roi_job j = {.in = tl_eval_in(ctx, 0), .rois = tl_eval_in(ctx, 1)};
  tl_int_list batch;
  TL_TRY(read_align(ctx, &j));
  TL_TRY(tl_eval_operand_ints(ctx, 2, &batch));
  j.batch = batch.at;
  j.scale = (double)tl_eval_float(ctx, TL_SYM_spatial_scale, 1);
  int64_t dims[4] = {j.rois->dims[0], j.in->dims[1], tl_eval_int(ctx, TL_SYM_output_height, 1),
                     tl_eval_int(ctx, TL_SYM_output_width, 1)};
  if (j.rois->dims[1] != 4 || batch.n != (uint64_t)j.rois->dims[0] || dims[2] < 1 || dims[3] < 1)
    return tl_eval_fail(ctx, "regions, batch indices and result size do not fit together");
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)j.in->dtype, 4, dims, &j.out));
  TL_TRY(check_batches(ctx, &j));
  if (j.out->n)
    tl_eval_for(ctx, (uint64_t)dims[0] * (uint64_t)dims[1], 4, align_planes, &j);
  return TL_OK;
}

/* ---- MaxRoiPool ----------------------------------------------------------------------------- */

/* Finds the bounds [from, to] of bin i of n over [start, start + length), clamped to [0, limit].
 * Bins may overlap by a pixel. */
static void find_bin(double start, double length, int64_t i, int64_t n, int64_t limit,
                     int64_t bounds[2]) {
  double first = start + floor((double)i * length / (double)n);
  double last = start + ceil((double)(i + 1) * length / (double)n);
  bounds[0] = !(first > 0) ? 0 : first >= (double)limit ? limit : (int64_t)first;
  bounds[1] = !(last > 0) ? 0 : last >= (double)limit ? limit : (int64_t)last;
}

/* Returns the maximum over a bin; 0 when it is empty, as the original layer has it. */
static double max_in(const roi_job *j, uint64_t plane, const int64_t *rows, const int64_t *cols) {
  double best = -(double)INFINITY;
  for (int64_t y = rows[0]; y < rows[1]; y++)
    for (int64_t x = cols[0]; x < cols[1]; x++) {
      double v = tl_cell_at(j->in, plane + (uint64_t)(y * j->in->dims[3] + x));
      best = v > best ? v : best;
    }
  return rows[0] < rows[1] && cols[0] < cols[1] ? best : 0;
}

/* Regions are rounded to whole pixels and are at least one pixel large. */
static void pool_planes(void *user, uint64_t begin, uint64_t end) {
  const roi_job *j = user;
  uint64_t channels = (uint64_t)j->in->dims[1];
  int64_t height = j->out->dims[2], width = j->out->dims[3], rows[2], cols[2];
  for (uint64_t i = begin; i < end; i++) {
    uint64_t roi = i / channels, at = i * (uint64_t)(height * width);
    double box[5];
    tl_cells_load(j->rois->dtype, j->rois->data, roi * 5, 1, 5, box);
    for (int k = 1; k < 5; k++)
      box[k] = floor(box[k] * j->scale + 0.5);
    double w = box[3] - box[1] + 1 > 1 ? box[3] - box[1] + 1 : 1;
    double h = box[4] - box[2] + 1 > 1 ? box[4] - box[2] + 1 : 1;
    uint64_t plane = ((uint64_t)j->batch[roi] * channels + i % channels) *
                     (uint64_t)(j->in->dims[2] * j->in->dims[3]);
    for (int64_t y = 0; y < height; y++)
      for (int64_t x = 0; x < width; x++, at++) {
        find_bin(box[2], h, y, height, j->in->dims[2], rows);
        find_bin(box[1], w, x, width, j->in->dims[3], cols);
        double v = max_in(j, plane, rows, cols);
        tl_cells_store(j->out->dtype, &v, j->out->data, at, 1, 1);
      }
  }
}

/* MaxRoiPool; rois: [R,5] of image, left, top, right, bottom. */
tl_status tl_eval_max_roi_pool(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 4, 4));
  TL_TRY(tl_eval_need_rank(ctx, 1, 2, 2));
  roi_job j = {.in = tl_eval_in(ctx, 0), .rois = tl_eval_in(ctx, 1)};
  tl_int_list pooled = tl_eval_ints(ctx, TL_SYM_pooled_shape);
  if (j.rois->dims[1] != 5 || pooled.n != 2 || pooled.at[0] < 1 || pooled.at[1] < 1)
    return tl_eval_fail(ctx, "regions must have 5 values, pooled_shape two positive ones");
  j.scale = (double)tl_eval_float(ctx, TL_SYM_spatial_scale, 1);
  int64_t dims[4] = {j.rois->dims[0], j.in->dims[1], pooled.at[0], pooled.at[1]};
  int64_t *batch = tl_eval_scratch(ctx, (uint64_t)dims[0], sizeof *batch);
  if (!batch)
    return tl_eval_no_memory(ctx);
  for (uint64_t i = 0; i < (uint64_t)dims[0]; i++)
    batch[i] = tl_host_int_at(j.rois, i * 5);
  j.batch = batch;
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)j.in->dtype, 4, dims, &j.out));
  TL_TRY(check_batches(ctx, &j));
  if (j.out->n)
    tl_eval_for(ctx, (uint64_t)dims[0] * (uint64_t)dims[1], 4, pool_planes, &j);
  return TL_OK;
}
