/* SPDX-License-Identifier: Apache-2.0 */
/* The Fourier transform of one line of any length. Angles come from a table that is computed entry
 * by entry, so errors do not grow along it. */
#include "ir/eval/math/elementary.h"
#include "ir/eval/signal/fft.h"

#define PI 3.14159265358979323846

enum { MAX_LOG_POINTS = 36 };

static bool is_power(uint64_t n) { return (n & (n - 1)) == 0; }

/* Makes cosines and sines for the butterflies of m points. */
static tl_status make_table(tl_eval *ctx, tl_fft *f) {
  const uint64_t half = f->m / 2;
  f->cos_m = tl_eval_scratch(ctx, half + 1, sizeof *f->cos_m);
  f->sin_m = tl_eval_scratch(ctx, half + 1, sizeof *f->sin_m);
  if (!f->cos_m || !f->sin_m)
    return tl_eval_no_memory(ctx);
  for (uint64_t k = 0; k < half; k++) {
    double angle = 2.0 * PI * (double)k / (double)f->m;
    f->cos_m[k] = tl_cos(angle);
    f->sin_m[k] = tl_sin(angle);
  }
  return TL_OK;
}

static void swap(double *a, double *b) {
  double t = *a;
  *a = *b;
  *b = t;
}

/* Orders the points by their bit-reversed index, counting j as a mirrored binary number. */
static void reverse_bits(double *re, double *im, uint64_t m) {
  for (uint64_t i = 1, j = 0; i < m; i++) {
    uint64_t bit = m >> 1;
    for (; j & bit; bit >>= 1)
      j ^= bit;
    j |= bit;
    if (i < j) {
      swap(&re[i], &re[j]);
      swap(&im[i], &im[j]);
    }
  }
}

/* Transforms m points forward, m a power of two (Cooley and Tukey, radix 2, in place). */
static void run_power(const tl_fft *f, double *re, double *im) {
  const uint64_t m = f->m;
  reverse_bits(re, im, m);
  for (uint64_t half = 1; half < m; half *= 2) {
    const uint64_t stride = m / (2 * half);
    for (uint64_t block = 0; block < m; block += 2 * half)
      for (uint64_t k = 0; k < half; k++) {
        const uint64_t a = block + k, b = a + half;
        const double c = f->cos_m[k * stride], s = -f->sin_m[k * stride];
        const double tr = re[b] * c - im[b] * s, ti = re[b] * s + im[b] * c;
        re[b] = re[a] - tr;
        im[b] = im[a] - ti;
        re[a] += tr;
        im[a] += ti;
      }
  }
}

/* Makes the chirp exp(-i pi k^2 / n) and the transformed filter of Bluestein's algorithm. k^2 is
 * reduced modulo 2n step by step, (k+1)^2 = k^2 + 2k + 1: large angles would lose digits. */
static tl_status make_chirp(tl_eval *ctx, tl_fft *f) {
  f->chirp_re = tl_eval_scratch(ctx, f->n, sizeof *f->chirp_re);
  f->chirp_im = tl_eval_scratch(ctx, f->n, sizeof *f->chirp_im);
  f->filter_re = tl_eval_scratch(ctx, f->m, sizeof *f->filter_re);
  f->filter_im = tl_eval_scratch(ctx, f->m, sizeof *f->filter_im);
  if (!f->chirp_re || !f->chirp_im || !f->filter_re || !f->filter_im)
    return tl_eval_no_memory(ctx);
  uint64_t square = 0;
  for (uint64_t k = 0; k < f->n; k++) {
    double angle = PI * (double)square / (double)f->n;
    f->chirp_re[k] = tl_cos(angle);
    f->chirp_im[k] = -tl_sin(angle);
    square = (square + 2 * k + 1) % (2 * f->n);
  }
  for (uint64_t k = 0; k < f->m; k++)
    f->filter_re[k] = f->filter_im[k] = 0;
  for (uint64_t k = 0; k < f->n; k++) {
    const uint64_t mirrored = (f->m - k) % f->m;
    f->filter_re[k] = f->filter_re[mirrored] = f->chirp_re[k];
    f->filter_im[k] = f->filter_im[mirrored] = -f->chirp_im[k];
  }
  run_power(f, f->filter_re, f->filter_im);
  return TL_OK;
}

/* The convolution needs 2n - 1 points so that its ends do not wrap into each other. */
tl_status tl_fft_plan(tl_eval *ctx, int64_t n, tl_fft *out) {
  if (n < 1 || n > INT64_C(1) << (MAX_LOG_POINTS - 2))
    return tl_eval_unsupported(ctx, "a Fourier transform of %lld points", (long long)n);
  *out = (tl_fft){.n = (uint64_t)n, .m = 1};
  const uint64_t least = is_power(out->n) ? out->n : 2 * out->n - 1;
  while (out->m < least)
    out->m *= 2;
  TL_TRY(make_table(ctx, out));
  return is_power(out->n) ? TL_OK : make_chirp(ctx, out);
}

uint64_t tl_fft_room(const tl_fft *f) { return f->chirp_re ? 2 * f->m : 1; }

/* Bluestein: multiply by the chirp, convolve with the filter through transforms of m points,
 * multiply by the chirp again. */
void tl_fft_run(const tl_fft *f, double *re, double *im, double *room) {
  if (!f->chirp_re) {
    run_power(f, re, im);
    return;
  }
  double *ar = room, *ai = room + f->m;
  for (uint64_t k = 0; k < f->m; k++) {
    ar[k] = k < f->n ? re[k] * f->chirp_re[k] - im[k] * f->chirp_im[k] : 0;
    ai[k] = k < f->n ? re[k] * f->chirp_im[k] + im[k] * f->chirp_re[k] : 0;
  }
  run_power(f, ar, ai);
  /* re and im are exchanged, which makes the next transform the inverse one */
  for (uint64_t k = 0; k < f->m; k++) {
    const double r = ar[k] * f->filter_re[k] - ai[k] * f->filter_im[k];
    ar[k] = ar[k] * f->filter_im[k] + ai[k] * f->filter_re[k];
    ai[k] = r;
  }
  run_power(f, ar, ai);
  for (uint64_t k = 0; k < f->n; k++) {
    const double r = ai[k] / (double)f->m, i = ar[k] / (double)f->m;
    re[k] = r * f->chirp_re[k] - i * f->chirp_im[k];
    im[k] = r * f->chirp_im[k] + i * f->chirp_re[k];
  }
}
