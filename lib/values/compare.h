/* SPDX-License-Identifier: Apache-2.0 */
/* Measures how far two values are apart, and what one value holds. Everything is computed in
 * double, in index order, so that results are the same on every machine. */
#ifndef TL_LIB_VALUES_COMPARE_H
#define TL_LIB_VALUES_COMPARE_H

#include "ir/host.h"

/* What counts as equal. */
typedef struct tl_tolerance {
  double rtol;
  double atol;
  double cosine; /* least similarity; NaN: not asked for */
  uint32_t
      top; /* the so many largest numbers of each row must be the same ones; 0: not asked for */
  bool by_type;  /* widen rtol to one unit in the last place of the coarser type */
  bool elements; /* rtol and atol count */
  bool by_depth; /* nothing was asked for: unit and share are those of each value */
  double unit;   /* in the last place of what the values were computed in, where that is coarser
                    than their types; 0: it is not */
  double share;  /* widen atol by this much of the largest number */
  double units;  /* widen atol for types as coarse as f16 to so many units in the last place of the
                    largest number: sums in another order, where terms cancel */
} tl_tolerance;

/* What a comparison found. */
typedef struct tl_difference {
  bool equal;         /* within the tolerance */
  const char *reason; /* why nothing can be said about elements ("shapes differ"); NULL */
  uint64_t n;         /* elements compared */
  uint64_t off;       /* of them beyond the tolerance */
  uint64_t rows;      /* with tl_tolerance.top: rows along the last dim */
  uint64_t rows_off;  /* of them whose largest numbers are others */
  uint64_t worst;     /* the element farthest beyond it */
  double got, want;   /* its values */
  double excess;      /* greatest error over what is allowed for the element */
  double max_abs;     /* infinity when NaN or an infinity stands against something else */
  double max_rel;     /* |a - b| / |b| over elements with b != 0 */
  double largest;     /* |b|, over finite elements: what max_abs may be held against */
  double unit;        /* in the last place of the coarser type, relative; 0: finer than f16 */
  double l2;          /* |a - b| / |b| of the tensors as vectors; infinity if b is zero and a is
                         not, or if a NaN or infinity stands against something else */
  double ulp;         /* greatest |a - b| in units in the last place of b, in the coarser of both
                         float types, f32 at least; 0 for other types */
  double cosine;      /* 1 when both are zero; NaN when it has no meaning: strings, an
                         infinity or NaN against a number */
} tl_difference;

/* Compares values of any kind; those of sequences item by item, into one result. NaN equals NaN, an
 * infinity itself. cast: float types may differ. */
void tl_compare(const tl_host *got, const tl_host *want, const tl_tolerance *t, bool cast,
                tl_difference *out);

/* What a tensor holds. */
typedef struct tl_numbers {
  uint64_t n;
  uint64_t nan;
  uint64_t inf;
  double min, max, mean, absmax; /* over the finite elements; NaN when there is none */
} tl_numbers;

/* Describes a numeric tensor (complex ones as twice as many numbers); all zero for other values. */
void tl_describe(const tl_host *t, tl_numbers *out);
/* Returns true for a tensor of numbers or bool; strings, sequences and absent values are not
 * numeric. */
bool tl_is_numeric(const tl_host *t);

#endif
