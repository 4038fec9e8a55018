/* SPDX-License-Identifier: Apache-2.0 */
/* How coarsely values are computed: a float that is f32 is no more precise than the f16 that it was
 * made of. */
#ifndef TL_TOOLS_VERIFY_GRAIN_H
#define TL_TOOLS_VERIFY_GRAIN_H

#include "ir/module.h"

typedef struct tl_grain {
  double unit;    /* in the last place, relative, of the coarsest float that it was rounded to on
                     its way; 0: to none */
  double steps;   /* most roundings to that float, one after the other */
  tl_dtype dtype; /* that float */
} tl_grain;

typedef struct tl_grains {
  tl_grain *at; /* owned; by value id */
  uint32_t n;
} tl_grains;

/* Looks at all graphs. emulate: f32 and f64 count as that float; NONE: they are what they are.
 * False when memory is out; release it all the same. O(nodes + edges). */
bool tl_grains_find(const tl_module *m, tl_dtype emulate, tl_grains *out);
void tl_grains_release(tl_grains *g);
/* Zero for a value that is none. */
tl_grain tl_grain_of(const tl_grains *g, tl_value_id v);
/* As coarse as f16, or coarser. */
bool tl_grain_is_coarse(tl_grain g);
/* The one with the greater error. */
tl_grain tl_grain_worse(tl_grain a, tl_grain b);
/* Error to be expected of a value as a share of its greatest element: roundings are independent of
 * each other, so that errors add up as their squares do. */
double tl_grain_share(tl_grain g);

#endif
