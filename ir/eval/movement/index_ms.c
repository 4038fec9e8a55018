/* SPDX-License-Identifier: Apache-2.0 */
/* Computes index and token ops of com.microsoft: packed batches, hashes, repeated n-grams, crops of
 * regions. */
#include <math.h>

#include "ir/eval/kernel/move.h"

/* ---- RemovePadding, RestorePadding ---------------------------------------------------------- */

/* Reads how many tokens each sequence has, at most `length`. */
static tl_status token_counts(tl_eval *ctx, int64_t batch, int64_t length, tl_int_list *out,
                              int64_t *total) {
  TL_TRY(tl_eval_need_rank(ctx, 1, 1, 1));
  TL_TRY(tl_eval_operand_ints(ctx, 1, out));
  *total = 0;
  if ((int64_t)out->n != batch || length > INT32_MAX || batch > INT32_MAX)
    return tl_eval_fail(ctx, "%u token counts for a batch of %lld", out->n, (long long)batch);
  for (uint32_t i = 0; i < out->n; i++) {
    if (out->at[i] < 0 || out->at[i] > length)
      return tl_eval_fail(ctx, "sequence %u of %lld tokens, at most %lld fit", i,
                          (long long)out->at[i], (long long)length);
    *total += out->at[i];
  }
  return TL_OK;
}

/* Makes results 1 to 3: the offsets of tokens and then those of padding; the running sums of
 * counts; the greatest count. */
static tl_status padding_results(tl_eval *ctx, tl_int_list counts, int64_t length, int64_t total) {
  const int64_t shape[2] = {(int64_t)counts.n, length}, sums = (int64_t)counts.n + 1, one = 1;
  tl_host *offsets, *sum, *most;
  TL_TRY(tl_eval_result(ctx, 1, TL_DTYPE_I32, 2, shape, &offsets));
  TL_TRY(tl_eval_result(ctx, 2, TL_DTYPE_I32, 1, &sums, &sum));
  TL_TRY(tl_eval_result(ctx, 3, TL_DTYPE_I32, 1, &one, &most));
  int32_t *token = offsets->data, *padding = token + total, *s = sum->data;
  *(int32_t *)most->data = 0;
  s[0] = 0;
  for (uint32_t b = 0; b < counts.n; b++) {
    int64_t n = counts.at[b];
    s[b + 1] = s[b] + (int32_t)n;
    if (n > *(int32_t *)most->data)
      *(int32_t *)most->data = (int32_t)n;
    for (int64_t i = 0; i < length; i++)
      *(i < n ? token++ : padding++) = (int32_t)(b * length + i);
  }
  return TL_OK;
}

/* RemovePadding: [B,S,H] -> [tokens,H]. */
tl_status tl_eval_remove_padding(tl_eval *ctx) {
  tl_units from;
  tl_unit_result to;
  tl_int_list counts;
  int64_t total;
  TL_TRY(tl_eval_need_rank(ctx, 0, 3, 3));
  TL_TRY(tl_eval_units(ctx, 0, &from));
  const tl_host *t = ctx->in[0];
  if (t->dims[0] && t->dims[1] > INT32_MAX / t->dims[0])
    return tl_eval_unsupported(ctx, "more tokens than 32 bits count");
  TL_TRY(token_counts(ctx, t->dims[0], t->dims[1], &counts, &total));
  const int64_t dims[2] = {total, t->dims[2]};
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)t->dtype, 2, dims, &to));
  size_t run = (size_t)t->dims[2] * from.size;
  char *place = to.data;
  for (uint32_t b = 0; to.t->n && b < counts.n; b++) {
    size_t bytes = (size_t)counts.at[b] * run;
    memcpy(place, from.data + b * (size_t)t->dims[1] * run, bytes);
    place += bytes;
  }
  return padding_results(ctx, counts, t->dims[1], total);
}

/* RestorePadding: [tokens,H] -> [B,S,H], with zeros for padding. */
tl_status tl_eval_restore_padding(tl_eval *ctx) {
  tl_units from;
  tl_unit_result to;
  const int64_t *place;
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, 2));
  TL_TRY(tl_eval_units(ctx, 0, &from));
  TL_TRY(tl_eval_need_rank(ctx, 1, 2, 2));
  const tl_host *t = ctx->in[0], *offsets = ctx->in[1];
  TL_TRY(tl_eval_indices(ctx, 1, (int64_t)offsets->n, &place));
  if ((uint64_t)t->dims[0] > offsets->n)
    return tl_eval_fail(ctx, "more tokens than offsets");
  const int64_t dims[3] = {offsets->dims[0], offsets->dims[1], t->dims[1]};
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)t->dtype, 3, dims, &to));
  tl_eval_units_clear(ctx, &to);
  size_t run = (size_t)t->dims[1] * from.size;
  for (int64_t i = 0; run && i < t->dims[0]; i++)
    memcpy(to.data + (size_t)place[i] * run, from.data + (size_t)i * run, run);
  return TL_OK;
}

/* ---- MurmurHash3 ---------------------------------------------------------------------------- */

static uint32_t rotate(uint32_t v, int by) { return v << by | v >> (32 - by); }

static uint32_t mix(uint32_t k) { return rotate(k * 0xcc9e2d51u, 15) * 0x1b873593u; }

/* Returns the number of four bytes, the low one first. */
static uint32_t word_at(const char *p) {
  uint32_t k;
  memcpy(&k, p, sizeof k);
  tl_order_turn(TL_DTYPE_U32, &k, sizeof k);
  return k;
}

/* The 32-bit variant of A. Appleby's MurmurHash3. */
static uint32_t murmur(const char *p, size_t n, uint32_t seed) {
  uint32_t h = seed, k = 0;
  for (size_t i = 0; i + 4 <= n; i += 4)
    h = rotate(h ^ mix(word_at(p + i)), 13) * 5 + 0xe6546b64u;
  for (size_t i = n & ~(size_t)3, shift = 0; i < n; i++, shift += 8)
    k |= (uint32_t)(uint8_t)p[i] << shift;
  h ^= mix(k) ^ (uint32_t)n;
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  return h ^ h >> 16;
}

tl_status tl_eval_murmur_hash3(tl_eval *ctx) {
  tl_units from;
  tl_host *y;
  TL_TRY(tl_eval_units(ctx, 0, &from));
  const tl_host *t = ctx->in[0];
  uint32_t seed = (uint32_t)tl_eval_int(ctx, TL_SYM_seed, 0);
  tl_dtype dtype = tl_eval_int(ctx, TL_SYM_positive, 1) ? TL_DTYPE_U32 : TL_DTYPE_I32;
  TL_TRY(tl_eval_result_like(ctx, 0, dtype, t, &y));
  for (uint64_t i = 0; i < t->n; i++) {
    char number[16]; /* the bytes of an element as files have them */
    tl_sv key = {number, from.size};
    if (t->dtype == TL_DTYPE_STRING)
      key = ((const tl_sv *)t->data)[i];
    else
      memcpy(number, from.data + i * from.size, from.size);
    tl_order_turn((tl_dtype)t->dtype, number, from.size);
    ((uint32_t *)y->data)[i] = murmur(key.p, key.n, seed);
  }
  return TL_OK;
}

/* ---- NGramRepeatBlock ----------------------------------------------------------------------- */

/* Gives the score -infinity to each token that would complete an n-gram that the sequence already
 * has. */
static tl_status block_row(tl_eval *ctx, const int64_t *ids, int64_t length, int64_t n,
                           float *scores, int64_t vocabulary) {
  const int64_t *tail = ids + length - (n - 1);
  for (int64_t i = 0; i + n <= length; i++) {
    int64_t k = 0;
    while (k < n - 1 && ids[i + k] == tail[k])
      k++;
    if (k < n - 1)
      continue;
    int64_t token = ids[i + n - 1];
    if (token < 0 || token >= vocabulary)
      return tl_eval_fail(ctx, "token %lld is outside [0, %lld]", (long long)token,
                          (long long)vocabulary - 1);
    scores[token] = -INFINITY;
  }
  return TL_OK;
}

tl_status tl_eval_ngram_repeat_block(tl_eval *ctx) {
  tl_host *y;
  int64_t n = tl_eval_int(ctx, TL_SYM_ngram_size, 0);
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, 2));
  TL_TRY(tl_eval_need_rank(ctx, 1, 2, 2));
  const tl_host *ids = ctx->in[0], *scores = ctx->in[1];
  if (n < 1 || ids->dims[0] != scores->dims[0])
    return tl_eval_fail(ctx, "n-grams of %lld tokens, or batches that differ", (long long)n);
  TL_TRY(tl_eval_result_like(ctx, 0, TL_DTYPE_F32, scores, &y));
  if (y->bytes)
    memcpy(y->data, scores->data, (size_t)y->bytes);
  for (int64_t b = 0; y->n && n <= ids->dims[1] && b < ids->dims[0]; b++)
    TL_TRY(block_row(ctx, (const int64_t *)ids->data + b * ids->dims[1], ids->dims[1], n,
                     (float *)y->data + b * scores->dims[1], scores->dims[1]));
  return TL_OK;
}

/* ---- CropAndResize -------------------------------------------------------------------------- */

/* What CropAndResize samples from. */
typedef struct crops {
  const float *from; /* [channels, height, width] of one image */
  int64_t height;
  int64_t width;
  bool nearest;
  float outside;
} crops;

/* Returns the coordinate of step i of n along a side of a region, which is given relative to the
 * image. */
static float crop_place(float low, float high, int64_t i, int64_t n, int64_t size) {
  float last = (float)(size - 1);
  if (n == 1)
    return 0.5f * (low + high) * last;
  return low * last + (float)i * ((high - low) * last / (float)(n - 1));
}

/* Samples one point in f32, as ONNX Runtime does. */
static float sample(const crops *c, const float *plane, float y, float x) {
  if (!(y >= 0 && y <= (float)(c->height - 1) && x >= 0 && x <= (float)(c->width - 1)))
    return c->outside;
  if (c->nearest)
    return plane[(int64_t)roundf(y) * c->width + (int64_t)roundf(x)];
  int64_t top = (int64_t)floorf(y), left = (int64_t)floorf(x);
  int64_t bottom = (int64_t)ceilf(y), right = (int64_t)ceilf(x);
  float down = y - (float)top, along = x - (float)left;
  const float *a = plane + top * c->width, *b = plane + bottom * c->width;
  float upper = a[left] + (a[right] - a[left]) * along;
  float lower = b[left] + (b[right] - b[left]) * along;
  return upper + (lower - upper) * down;
}

static tl_status check_crops(tl_eval *ctx, tl_int_list *size, const int64_t **image) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 4, 4));
  TL_TRY(tl_eval_need_rank(ctx, 1, 2, 2));
  TL_TRY(tl_eval_need_rank(ctx, 2, 1, 1));
  TL_TRY(tl_eval_need_rank(ctx, 3, 1, 1));
  TL_TRY(tl_eval_operand_ints(ctx, 3, size));
  if (ctx->in[0]->dtype != TL_DTYPE_F32)
    return tl_eval_unsupported(ctx, "regions of f64 images");
  if (ctx->in[1]->dims[1] != 4 || ctx->in[2]->dims[0] != ctx->in[1]->dims[0])
    return tl_eval_fail(ctx, "regions must be [n, 4], with n image indices");
  if (size->n != 2 || size->at[0] < 1 || size->at[1] < 1)
    return tl_eval_fail(ctx, "crop_size must be a height and a width");
  return tl_eval_indices(ctx, 2, ctx->in[0]->dims[0], image);
}

/* CropAndResize. Regions: [y1, x1, y2, x2], relative to the image. */
tl_status tl_eval_crop_and_resize(tl_eval *ctx) {
  tl_int_list size;
  const int64_t *image;
  tl_host *y;
  tl_sv mode = tl_eval_string(ctx, TL_SYM_mode);
  TL_TRY(check_crops(ctx, &size, &image));
  const tl_host *t = ctx->in[0];
  crops c = {t->data, t->dims[2], t->dims[3], tl_sv_is(mode, "nearest"),
             tl_eval_float(ctx, TL_SYM_extrapolation_value, 0)};
  if (!c.nearest && mode.n && !tl_sv_is(mode, "bilinear"))
    return tl_eval_fail(ctx, "mode '%.*s' is neither bilinear nor nearest", TL_SV_ARG(mode));
  const int64_t dims[4] = {ctx->in[1]->dims[0], t->dims[1], size.at[0], size.at[1]};
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_F32, 4, dims, &y));
  float *out = y->data;
  for (int64_t r = 0; y->n && r < dims[0]; r++) {
    const float *roi = (const float *)ctx->in[1]->data + r * 4;
    for (int64_t k = 0; k < dims[1]; k++) {
      const float *plane = c.from + (image[r] * dims[1] + k) * c.height * c.width;
      for (int64_t i = 0; i < dims[2]; i++)
        for (int64_t j = 0; j < dims[3]; j++)
          *out++ = sample(&c, plane, crop_place(roi[0], roi[2], i, dims[2], c.height),
                          crop_place(roi[1], roi[3], j, dims[3], c.width));
    }
  }
  return TL_OK;
}
