/* SPDX-License-Identifier: Apache-2.0 */
/* The Fourier transform of one line, of any length, in f64. */
#ifndef TL_IR_EVAL_SIGNAL_FFT_H
#define TL_IR_EVAL_SIGNAL_FFT_H

#include "ir/eval/kernel/number.h"

/* A prepared transform of n points. Powers of two are transformed directly, others as a convolution
 * of length m (Bluestein). */
typedef struct tl_fft {
  uint64_t n;
  uint64_t m;    /* power of two; equal to n when n is one */
  double *cos_m; /* [m/2] of the angle 2 pi k / m */
  double *sin_m;
  double *chirp_re; /* [n] exp(-i pi k^2 / n); NULL when n is a power of two */
  double *chirp_im;
  double *filter_re; /* [m] transform of the conjugate chirp */
  double *filter_im;
} tl_fft;

/* Prepares a transform of n points; its tables are in scratch. TL_UNSUPPORTED for too many points,
 * TL_NO_MEMORY. */
tl_status tl_fft_plan(tl_eval *ctx, int64_t n, tl_fft *out) TL_NODISCARD;
/* Returns how many doubles of work space a run needs. */
uint64_t tl_fft_room(const tl_fft *f);
/* Transforms n points in place, forward and without a factor. The backward transform is the same
 * with re and im exchanged. room: tl_fft_room doubles. O(n log n). */
void tl_fft_run(const tl_fft *f, double *re, double *im, double *room);

#endif
