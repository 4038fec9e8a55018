/* SPDX-License-Identifier: Apache-2.0 */
/* Packing functions of convolutions: windows of the input, and weights that are not floats. */
#include "ir/eval/conv/ways.h"

enum { MOST_LANES = 64, MOST_PIECES = 512 }; /* no tile of gemm_unit.h is wider */

/* What one call packs. */
typedef struct windows {
  const tl_conv *c;
  const char *x;   /* the group's first channel */
  int64_t channel; /* elements between channels */
  int64_t place;   /* elements between neighbours along the last axis */
  size_t size;     /* bytes of an element of the input */
  int64_t n_runs;
  tl_window_run runs[MOST_LANES];
  tl_window_piece pieces[MOST_PIECES]; /* [taps][n_runs] when they fit */
} windows;

/* Bytes of an element of the input or weight. */
static size_t source_size(uint8_t source) {
  return source == TL_CONV_F32 ? 4 : source == TL_CONV_F64 ? 8 : 1;
}

/* Neighbours, and every other element, are copied in loops of their own, which the compiler makes
 * vectors of. */
static void copy_f32(const float *from, int64_t stride, int64_t n, float *to) {
  if (stride == 1)
    for (int64_t i = 0; i < n; i++)
      to[i] = from[i];
  else if (stride == 2)
    for (int64_t i = 0; i < n; i++)
      to[i] = from[2 * i];
  else
    for (int64_t i = 0; i < n; i++)
      to[i] = from[i * stride];
}

static void copy_f64(const double *from, int64_t stride, int64_t n, double *to) {
  for (int64_t i = 0; i < n; i++)
    to[i] = from[i * stride];
}

/* Integers are widened to 32 bits without their zero point. */
static void copy_u8(const uint8_t *from, int64_t stride, int64_t n, int32_t zero, uint32_t *to) {
  for (int64_t i = 0; i < n; i++)
    to[i] = (uint32_t)((int32_t)from[i * stride] - zero);
}

static void copy_i8(const int8_t *from, int64_t stride, int64_t n, int32_t zero, uint32_t *to) {
  for (int64_t i = 0; i < n; i++)
    to[i] = (uint32_t)((int32_t)from[i * stride] - zero);
}

/* Copies n elements `stride` apart; integers are widened and lose their zero point. */
static void copy(uint8_t source, const char *from, int64_t stride, int64_t n, int32_t zero,
                 char *to) {
  const void *f = from;
  void *t = to;
  switch (source) {
  case TL_CONV_F32: copy_f32(f, stride, n, t); break;
  case TL_CONV_F64: copy_f64(f, stride, n, t); break;
  case TL_CONV_U8: copy_u8(f, stride, n, zero, t); break;
  default: copy_i8(f, stride, n, zero, t); break;
  }
}

/* Cuts the lanes of a block, which are consecutive windows, into runs along the last axis. */
static void find_runs(windows *s, const tl_gemm_block *b) {
  s->n_runs = 0;
  for (int64_t lane = 0; lane < b->lanes;) {
    tl_window_run *r = &s->runs[s->n_runs++];
    tl_window_run_at(&s->c->window, b->lane + lane, b->lanes - lane, r);
    r->lane = lane;
    lane += r->count;
  }
}

/* Lists the pieces of all taps, which all channels share; false when they do not fit the list. */
static bool find_pieces(windows *s) {
  int64_t tap[TL_MAX_RANK] = {0};
  const tl_windows *w = &s->c->window;
  if (w->taps > MOST_PIECES / s->n_runs)
    return false;
  tl_window_piece *p = s->pieces;
  do
    for (int64_t r = 0; r < s->n_runs; r++)
      *p++ = tl_window_piece_of(w, &s->runs[r], tap);
  while (tl_window_next_tap(w, tap));
  return true;
}

/* Packs one step, which is one tap of one channel, for all lanes. What no piece fills is padding:
 * zero. */
static void pack_step(const windows *s, const char *x, const tl_window_piece *pieces, int64_t width,
                      size_t out_size, char *dst) {
  const tl_windows *w = &s->c->window;
  int64_t stride = s->place * (w->n ? w->stride[w->n - 1] : 1), filled = 0;
  for (int64_t r = 0; r < s->n_runs; r++)
    filled += pieces[r].count;
  if (filled < width)
    memset(dst, 0, (size_t)width * out_size);
  for (int64_t r = 0; r < s->n_runs; r++)
    if (pieces[r].count)
      copy(s->c->x_source, x + (size_t)(pieces[r].from * s->place) * s->size, stride,
           pieces[r].count, s->c->x_zero,
           dst + (size_t)(s->runs[r].lane + pieces[r].first) * out_size);
}

/* Steps count channels and in each the taps, or with taps_first the other way round. */
static void pack_steps(windows *s, const tl_gemm_block *b, char *dst) {
  const tl_conv *c = s->c;
  const tl_windows *w = &c->window;
  size_t out_size = c->x_source == TL_CONV_F64 ? 8 : 4;
  int64_t tap[TL_MAX_RANK];
  bool listed = find_pieces(s);
  for (int64_t k = b->k; k < b->k + b->steps; k++) {
    int64_t channel = c->taps_first ? k % c->in_channels : k / w->taps;
    int64_t number = c->taps_first ? k / c->in_channels : k % w->taps;
    const tl_window_piece *pieces = s->pieces;
    if (listed) {
      pieces += number * s->n_runs;
    } else {
      tl_window_tap(w, number, tap);
      for (int64_t r = 0; r < s->n_runs; r++)
        s->pieces[r] = tl_window_piece_of(w, &s->runs[r], tap);
    }
    pack_step(s, s->x + (size_t)(channel * s->channel) * s->size, pieces, b->width, out_size, dst);
    dst += (size_t)b->width * out_size;
  }
}

/* A batch of the product is one group of one image. */
void tl_conv_pack_windows(const void *user, const tl_gemm_block *b, void *dst) {
  const tl_conv *c = user;
  int64_t channels = c->groups * c->in_channels;
  int64_t image = (int64_t)b->batch / c->groups, group = (int64_t)b->batch % c->groups;
  windows s;
  s.c = c;
  s.size = source_size(c->x_source);
  s.channel = c->channels_last ? 1 : c->window.in_plane;
  s.place = c->channels_last ? channels : 1;
  s.x = (const char *)c->x +
        (size_t)(image * channels * c->window.in_plane + group * c->in_channels * s.channel) *
            s.size;
  find_runs(&s, b);
  pack_steps(&s, b, dst);
}

/* A lane is an output channel of the group. */
void tl_conv_pack_weights(const void *user, const tl_gemm_block *b, void *dst) {
  const tl_conv *c = user;
  int64_t length = c->in_channels * c->window.taps;
  int64_t first = (int64_t)b->batch % c->groups * c->out_channels + b->lane;
  uint32_t *to = dst;
  if (b->lanes < b->width)
    memset(to, 0, (size_t)(b->steps * b->width) * sizeof *to);
  for (int64_t l = 0; l < b->lanes; l++) {
    int32_t zero = c->w_zero ? c->w_zero[first + l] : 0;
    const uint8_t *u = (const uint8_t *)c->w + (first + l) * length + b->k;
    const int8_t *i = (const int8_t *)c->w + (first + l) * length + b->k;
    for (int64_t s = 0; s < b->steps; s++)
      to[s * b->width + l] =
          (uint32_t)((c->w_source == TL_CONV_I8 ? (int32_t)i[s] : (int32_t)u[s]) - zero);
  }
}
