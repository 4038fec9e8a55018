/* SPDX-License-Identifier: Apache-2.0 */
/* Preprocesses images as the device does: channels are swapped, a part is cropped, colours are
 * converted in integers, the part is resized, and (pixel - mean - min) * var is computed in halves.
 * The same without rounding to halves is what the model was meant to get, unless the user gives
 * that. */
#include "tools/verify/aipp.h"

#include <math.h>
#include <stdlib.h>

#include "frontend/air/load.h"
#include "frontend/config/values.h"
#include "ir/graph.h"
#include "ir/half.h"
#include "lib/values/elements.h"
#include "tools/run/inputs.h"

/* One image on its way. */
typedef struct image {
  const tl_aipp_op *op;
  tl_aipp_size size;
  const uint8_t *bytes;
  int channels; /* of the result */
} image;

static tl_location at(const tl_aipp_op *op) {
  return (tl_location){.file = op->file, .line = op->line, .column = op->column};
}

static int64_t bytes_of(const tl_aipp_op *op, tl_aipp_size s) {
  int64_t pixels = s.src_w * s.src_h;
  switch ((tl_aipp_format)op->format) {
  case TL_AIPP_YUV420SP: return pixels * 3 / 2;
  case TL_AIPP_YUV422SP:
  case TL_AIPP_YUYV: return pixels * 2;
  case TL_AIPP_AYUV:
  case TL_AIPP_XRGB: return pixels * 4;
  case TL_AIPP_RGB: return pixels * 3;
  default: return pixels;
  }
}

/* ---- pixels ---------------------------------------------------------------------------------- */

static void swap(uint8_t *a, uint8_t *b) {
  uint8_t t = *a;
  *a = *b;
  *b = t;
}

/* Reads Y, U and V of a pixel of a format in which pixels share U and V. */
static void read_shared(const image *m, int64_t x, int64_t y, uint8_t out[3]) {
  int64_t w = m->size.src_w;
  bool packed = m->op->format == TL_AIPP_YUYV;
  int64_t row = m->op->format == TL_AIPP_YUV420SP ? y / 2 : y;
  const uint8_t *pair = m->bytes + (y * w + x / 2 * 2) * 2; /* of YUYV */
  const uint8_t *uv = m->bytes + w * m->size.src_h + row * w + x / 2 * 2;
  out[0] = packed ? pair[x % 2 * 2] : m->bytes[y * w + x];
  out[1] = packed ? pair[1] : uv[0];
  out[2] = packed ? pair[3] : uv[1];
}

/* Reads the channels of a pixel of the image, swapped as the description says. */
static void read_pixel(const image *m, int64_t x, int64_t y, uint8_t out[3]) {
  const tl_aipp_op *op = m->op;
  int64_t at_pixel = y * m->size.src_w + x;
  out[1] = out[2] = 0;
  switch ((tl_aipp_format)op->format) {
  case TL_AIPP_YUV420SP:
  case TL_AIPP_YUV422SP:
  case TL_AIPP_YUYV: read_shared(m, x, y, out); break;
  case TL_AIPP_AYUV:
  case TL_AIPP_XRGB: /* the byte that is ignored comes last, or first and is moved */
    memcpy(out, m->bytes + at_pixel * 4 + (op->ax_swap ? 1 : 0), 3);
    break;
  case TL_AIPP_RGB: memcpy(out, m->bytes + at_pixel * 3, 3); break;
  default: out[0] = m->bytes[at_pixel]; return;
  }
  if (op->rbuv_swap)
    swap(&out[tl_aipp_is_yuv(op->format) ? 1 : 0], &out[2]);
}

static uint8_t to_byte(int32_t v) { return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v; }

/* Multiplies by the matrix in 256ths, rounds to the nearest and cuts off at the ends. Biases are of
 * Y, U and V: in front when those come in, behind when they go out. */
static void convert_colours(const tl_aipp_op *op, uint8_t pixel[3]) {
  bool yuv = tl_aipp_is_yuv(op->format);
  int32_t in[3];
  for (int i = 0; i < 3; i++)
    in[i] = pixel[i] - (yuv ? op->in_bias[i] : 0);
  for (int i = 0; i < 3; i++) {
    const int32_t *row = &op->matrix[3 * i];
    int32_t sum = row[0] * in[0] + row[1] * in[1] + row[2] * in[2];
    int32_t rounded = (int32_t)floor((sum + 128) / 256.0);
    pixel[i] = to_byte(rounded + (yuv ? 0 : op->out_bias[i]));
  }
}

/* Rounds to half precision where the device does. */
static double half(double v, bool device) { return device ? tl_f16_to_f32(tl_f16_from_f64(v)) : v; }

static double normalize(const tl_aipp_op *op, int c, double v, bool device) {
  double low = half(op->min[c], device), factor = half(op->var[c], device);
  return half(half(v - op->mean[c] - low, device) * factor, device);
}

/* Returns a channel of a pixel of the part, in the colours of the result. */
static uint8_t part_pixel(const image *m, int c, int64_t x, int64_t y) {
  const tl_aipp_op *op = m->op;
  uint8_t pixel[3];
  read_pixel(m, x + (op->crop ? op->crop_x : 0), y + (op->crop ? op->crop_y : 0), pixel);
  if (op->csc)
    convert_colours(op, pixel);
  return pixel[c];
}

/* Places of the two pixels of the part between which pixel `at` of `n` is, and how far it is to
 * the second. Pixels are squares, so centres fall on centres, as in image libraries. */
static void between(int64_t at, int64_t n, int64_t part, int64_t place[2], double *far) {
  double x = ((double)at + 0.5) * (double)part / (double)n - 0.5;
  x = x < 0 ? 0 : x > (double)(part - 1) ? (double)(part - 1) : x;
  place[0] = (int64_t)x;
  place[1] = place[0] + 1 < part ? place[0] + 1 : place[0];
  *far = x - (double)place[0];
}

/* Interpolates between four pixels of the part. */
static double resized(const image *m, int c, int64_t x, int64_t y) {
  const tl_aipp_op *op = m->op;
  int64_t w = m->size.out_w - (op->padding ? op->left + op->right : 0), xs[2], ys[2];
  int64_t h = m->size.out_h - (op->padding ? op->top + op->bottom : 0);
  double fx, fy, row[2];
  between(x, w, m->size.part_w, xs, &fx);
  between(y, h, m->size.part_h, ys, &fy);
  for (int i = 0; i < 2; i++)
    row[i] = part_pixel(m, c, xs[0], ys[i]) * (1 - fx) + part_pixel(m, c, xs[1], ys[i]) * fx;
  return row[0] * (1 - fy) + row[1] * fy;
}

/* Returns an element of the result: of the padding, or of a pixel. */
static double element(const image *m, int c, int64_t x, int64_t y, bool device) {
  const tl_aipp_op *op = m->op;
  int64_t right = m->size.out_w - (op->padding ? op->right : 0);
  int64_t bottom = m->size.out_h - (op->padding ? op->bottom : 0);
  int64_t left = op->padding ? op->left : 0, top = op->padding ? op->top : 0;
  if (x < left || y < top || x >= right || y >= bottom)
    return half(op->padding_value, device);
  double v = op->resize ? resized(m, c, x - left, y - top) : part_pixel(m, c, x - left, y - top);
  return normalize(op, c, v, device);
}

/* Fills one image of the result, channel by channel. */
static void fill(const image *m, int64_t first, bool device, tl_host *out) {
  int64_t i = first;
  for (int c = 0; c < m->channels; c++)
    for (int64_t y = 0; y < m->size.out_h; y++)
      for (int64_t x = 0; x < m->size.out_w; x++)
        tl_put_float(out, (uint64_t)i++, element(m, c, x, y, device));
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static tl_status check_supported(tl_evaluation *e, const tl_aipp_op *op) {
  const char *what =
      op->mode == TL_AIPP_DYNAMIC
          ? "aipp_mode: dynamic has its parameters only at run time, so --aipp cannot compute it\v"
            "give --aipp a file with aipp_mode: static and the parameters of one run"
      : op->format == TL_AIPP_OTHER
          ? "the evaluator does not know this input_format, so --aipp cannot compute it\vgive "
            "--aipp a file that describes the same image as RGB888_U8 or YUV420SP_U8"
      : op->single_line ? "what single_line_mode does is not documented, so --aipp cannot compute "
                          "it\vleave single_line_mode out"
                        : NULL;
  if (what)
    return tl_fail(&e->cli->diag, TL_UNSUPPORTED, at(op), "%s", what);
  if (op->resize)
    tl_warn(&e->cli->diag, at(op),
            "resize is computed as bilinear with the centres of pixels on each other; that the "
            "device interpolates is known, where it takes its samples is not");
  return TL_OK;
}

/* Bytes in the order of the model's own layout are a likely mistake. */
static tl_status check_image(tl_evaluation *e, const tl_module *m, const image *i, const tl_host *v,
                             int64_t batch, tl_sv name) {
  int64_t wants = bytes_of(i->op, i->size) * batch;
  if ((int64_t)v->n != wants)
    return tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(m->path),
                   "input '%.*s': the image has %llu bytes; %lld of %s, %lld x %lld (width x "
                   "height), have %lld",
                   TL_SV_ARG(name), (unsigned long long)v->n, (long long)batch, i->op->format_name,
                   (long long)i->size.src_w, (long long)i->size.src_h, (long long)wants);
  if (v->rank == 4 && v->dims[1] == 3 && v->dims[3] != 3 && i->op->format == TL_AIPP_RGB)
    return tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(m->path),
                   "input '%.*s': the image has its channels in front (NCHW); AIPP reads pixel by "
                   "pixel\vtranspose it to NHWC",
                   TL_SV_ARG(name));
  return TL_OK;
}

static tl_host *random_image(tl_evaluation *e, int64_t bytes) {
  tl_host *v = tl_zeros(&e->heap, TL_DTYPE_U8, 1, &bytes);
  uint64_t state = e->options.seed * UINT64_C(2862933555777941757) + 3037000493u;
  for (int64_t i = 0; v && i < bytes; i++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    ((uint8_t *)v->data)[i] = (uint8_t)(state >> 56);
  }
  return v;
}

/* Takes the last value of u8 for the input out of those of --input, so that others find floats
 * only. *own: there are floats, too. */
static tl_status take_image(tl_evaluation *e, const tl_module *m, tl_value_id input, tl_host **out,
                            bool *own) {
  tl_path_vec *inputs = &e->cli->inputs;
  tl_sv name = tl_value_name(m, input);
  uint32_t kept = 0;
  *own = false;
  for (uint32_t i = 0; i < inputs->n; i++) {
    const char *text = inputs->at[i];
    bool mine = strncmp(text, name.p, name.n) == 0 && text[name.n] == '=';
    bool file = mine && strncmp(text + name.n + 1, "random", 6) != 0;
    tl_host *v = NULL;
    if (file)
      TL_TRY(tl_value_read(e, text + name.n + 1, TL_KIND_TENSOR, &v, NULL));
    if (v && v->kind == TL_HOST_TENSOR && v->dtype == TL_DTYPE_U8) {
      tl_host_release(*out);
      *out = v;
      continue;
    }
    tl_host_release(v);
    *own = *own || file;
    inputs->at[kept++] = text;
  }
  inputs->n = kept;
  return TL_OK;
}

/* Makes what the device makes of the images, and what it would without rounding. */
static tl_status preprocess(tl_evaluation *e, const tl_module *m, image i, int64_t batch,
                            tl_aipp_feed *f) {
  tl_value_id input = tl_module_main(m)->inputs.at[f->input];
  tl_dtype dtype = tl_type_dtype(m, tl_value_type(m, input));
  int64_t dims[] = {batch, i.channels, i.size.out_h, i.size.out_w};
  int64_t each = i.channels * i.size.out_h * i.size.out_w, bytes = bytes_of(i.op, i.size);
  f->device = tl_zeros(&e->heap, dtype, 4, dims);
  f->floats = f->own ? NULL : tl_zeros(&e->heap, dtype, 4, dims);
  if (!f->device || (!f->own && !f->floats))
    return tl_fail_memory(&e->cli->diag, TL_NOWHERE);
  for (int64_t b = 0; b < batch; b++) {
    i.bytes = (const uint8_t *)f->image->data + b * bytes;
    fill(&i, b * each, true, f->device);
    if (f->floats)
      fill(&i, b * each, false, f->floats);
  }
  return TL_OK;
}

static tl_status feed(tl_evaluation *e, tl_module *m, const tl_aipp_op *op, tl_aipp_feed *f,
                      tl_buf *note) {
  tl_value_id input;
  TL_TRY(check_supported(e, op));
  TL_TRY(tl_aipp_input(m, op, &input));
  f->op = op;
  f->input = tl_value_get(m, input)->index;
  const tl_type *t = tl_type_get(m, tl_value_type(m, input));
  tl_sv name = tl_value_name(m, input);
  if (t->rank != 4 || !tl_dim_is_static(t->dims[2]) || !tl_dim_is_static(t->dims[3]))
    return tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(m->path),
                   "height and width of input '%.*s' are open\vfix them with --input-shape",
                   TL_SV_ARG(name));
  if (t->dtype == TL_DTYPE_U8)
    return tl_fail(&e->cli->diag, TL_UNSUPPORTED, TL_AT_FILE(m->path),
                   "input '%.*s' takes bytes; --aipp compares floats", TL_SV_ARG(name));
  int64_t batch = tl_dim_is_static(t->dims[0]) ? t->dims[0] : 1;
  image i = {.op = op,
             .size = tl_aipp_output_size(op, t->dims[3], t->dims[2]),
             .channels = tl_aipp_is_gray(op) ? 1 : 3};
  TL_TRY(take_image(e, m, input, &f->image, &f->own));
  bool made = !f->image;
  if (made && f->own)
    return tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(m->path),
                   "input '%.*s' has floats, but no image\v--input NAME=FILE with the bytes (u8) "
                   "that the floats were made of",
                   TL_SV_ARG(name));
  if (made)
    f->image = random_image(e, bytes_of(op, i.size) * batch);
  if (!f->image)
    return tl_fail_memory(&e->cli->diag, TL_NOWHERE);
  TL_TRY(check_image(e, m, &i, f->image, batch, name));
  tl_buf_printf(note, "%sAIPP makes '%.*s' from %s of %s", note->n ? "; " : "", TL_SV_ARG(name),
                made ? "random bytes" : "the image", op->format_name);
  return preprocess(e, m, i, batch, f);
}

/* Reads the description that the AIR file names, unless options gave one. */
static tl_status find_description(tl_evaluation *e, const tl_module *m) {
  tl_settings *s = &e->cli->settings;
  if (s->options.aipp)
    return TL_OK;
  tl_location where = tl_at_option(s, TL_OPTION_AIPP);
  tl_sv named = tl_air_recorded(m, "ge.insertOpFile");
  if (!named.n)
    return tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, where,
                   "'%s' names no description of preprocessing\vwrite --aipp=FILE, or "
                   "--insert-op-conf=FILE",
                   m->path);
  const char *path = tl_arena_copy(&s->arena, named.p, named.n);
  return path ? tl_read_aipp(&e->cli->diag, &s->arena, where, path, &s->options)
              : tl_fail_memory(&e->cli->diag, where);
}

tl_status tl_aipp_take(tl_evaluation *e, tl_module *m, tl_aipp_feeds *out, tl_host_vec *values,
                       tl_buf *note) {
  const tl_options *o = &e->cli->settings.options;
  *out = (tl_aipp_feeds){0};
  TL_TRY(find_description(e, m));
  TL_TRY(tl_aipp_check(m, o));
  out->at = calloc(o->aipp->n, sizeof *out->at);
  if (!out->at)
    return tl_fail_memory(&e->cli->diag, TL_NOWHERE);
  for (; out->n < o->aipp->n;) {
    tl_aipp_feed *f = &out->at[out->n++];
    TL_TRY(feed(e, m, &o->aipp->ops[out->n - 1], f, note));
  }
  for (uint32_t i = 0; i < tl_module_main(m)->inputs.n; i++)
    if (!tl_host_vec_push(values, NULL))
      return tl_fail_memory(&e->cli->diag, TL_NOWHERE);
  for (uint32_t i = 0; i < out->n; i++)
    if (out->at[i].floats)
      values->at[out->at[i].input] = tl_host_retain(out->at[i].floats);
  return TL_OK;
}

void tl_aipp_compare(const tl_aipp_feed *f, const tl_host *want, tl_difference *out) {
  const tl_host *got = f->device;
  tl_tolerance none = {.elements = true, .cosine = (double)NAN};
  tl_compare(got, want, &none, true, out);
  if (out->reason)
    return;
  uint64_t plane = (uint64_t)(got->dims[2] * got->dims[3]), channels = (uint64_t)got->dims[1];
  out->off = 0;
  out->excess = 0;
  for (uint64_t i = 0; i < got->n; i++) {
    double a = tl_host_at(got, i), b = tl_host_at(want, i);
    double step = fabs(f->op->var[i / plane % channels]);
    double excess = fabs(a - b) / (step / 4 + fabs(b) * 0x1p-10 + 1e-7);
    out->off += !(excess <= 1);
    if (excess > out->excess || (excess != excess && out->excess <= 1)) {
      out->worst = i;
      out->got = a;
      out->want = b;
      out->excess = excess != excess ? (double)INFINITY : excess;
    }
  }
  out->equal = out->off == 0;
}

void tl_aipp_release(tl_aipp_feeds *f) {
  for (uint32_t i = 0; i < f->n; i++) {
    tl_host_release(f->at[i].image);
    tl_host_release(f->at[i].floats);
    tl_host_release(f->at[i].device);
  }
  free(f->at);
  *f = (tl_aipp_feeds){0};
}
