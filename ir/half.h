/* SPDX-License-Identifier: Apache-2.0 */
/* Converts runs of 16-bit floats to f32 and back, and counts what a narrower float would do to a
 * run.
 *
 * Every path rounds once, to nearest even, and gives the same bits. A NaN keeps its sign and the
 * upper bits of its payload and becomes quiet, as the conversion instructions of x86 and Arm do.
 * Pointers need no alignment; n is in elements. */
#ifndef TL_IR_HALF_H
#define TL_IR_HALF_H

#include <stddef.h>
#include <stdint.h>

/* What converting a run of f32 to a narrower float does. least and greatest are those of the finite
 * numbers; least > greatest when there are none. */
typedef struct tl_float_counts {
  uint64_t nan;
  uint64_t infinite;  /* in the source already */
  uint64_t over;      /* finite, but infinite after rounding */
  uint64_t flushed;   /* not zero, but zero after rounding */
  uint64_t subnormal; /* less than the least normal number, and not flushed */
  float least;
  float greatest;
} tl_float_counts;

/* Magnitudes, as bits of an f32, at which a narrower float changes its behaviour. */
typedef struct tl_float_bounds {
  uint32_t over;    /* least that rounds to infinity */
  uint32_t flushed; /* greatest that rounds to zero */
  uint32_t normal;  /* least that is a normal number before rounding */
} tl_float_bounds;

/* One implementation of the conversions. */
typedef struct tl_half_unit {
  const char *name; /* "portable", "f16c", "avx512", "neon" */
  void (*from_f32)(const void *src, void *dst, size_t n);
  void (*to_f32)(const void *src, void *dst, size_t n);
  /* Adds to the counts; least and greatest are lowered and raised. */
  void (*count)(const void *src, size_t n, const tl_float_bounds *b, tl_float_counts *out);
} tl_half_unit;

/* Returns the implementations that this processor can run: portable first, the fastest last. *n:
 * how many. */
const tl_half_unit *const *tl_half_units(unsigned *n);
/* Returns the fastest of them. */
const tl_half_unit *tl_half_unit_fastest(void);

/* The bounds of IEEE binary16 and of bfloat16. */
extern const tl_float_bounds tl_f16_bounds;
extern const tl_float_bounds tl_bf16_bounds;

#endif
