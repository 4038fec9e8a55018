/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates how coarsely values are computed: an f32 that was made of f16 is no more precise than
 * f16. */
#ifndef TL_LIB_VALUES_GRAIN_H
#define TL_LIB_VALUES_GRAIN_H

#include "ir/module.h"
#include "lib/values/compare.h"

/* How coarsely one value is computed. */
typedef struct tl_grain {
  double unit;    /* in the last place, relative, of the coarsest float that it was rounded to on
                     its way; 0: to none */
  double steps;   /* most roundings to that float, one after the other */
  tl_dtype dtype; /* that float */
} tl_grain;

/* Grains of all values of a module. */
typedef struct tl_grains {
  tl_grain *at; /* owned; by value id */
  uint32_t n;
} tl_grains;

/* Finds the grains of all values. emulate: f32 and f64 count as that float; TL_DTYPE_NONE: they
 * count as they are. False if memory is out; release it all the same. O(nodes + edges). */
bool tl_grains_find(const tl_module *m, tl_dtype emulate, tl_grains *out);
/* Releases the grains; does nothing for a zero-initialised object. */
void tl_grains_release(tl_grains *g);
/* Returns the grain of a value, zero for a value that has none. */
tl_grain tl_grain_of(const tl_grains *g, tl_value_id v);
/* Returns true for a grain as coarse as f16, or coarser. */
bool tl_grain_is_coarse(tl_grain g);
/* Returns the one with the greater error. */
tl_grain tl_grain_worse(tl_grain a, tl_grain b);
/* Returns the error to be expected of a value as a share of its greatest element. Roundings are
 * independent of each other, so errors add up like their squares: unit * sqrt(steps). */
double tl_grain_share(tl_grain g);
/* Returns the tolerance of a value that was computed in this grain. */
tl_tolerance tl_tolerance_for(const tl_tolerance *t, tl_grain g);

#endif
