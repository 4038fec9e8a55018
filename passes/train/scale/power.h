/* SPDX-License-Identifier: Apache-2.0 */
/* Follows how values change when one value is multiplied by a factor s > 0: by s, by 1/s, or not at
 * all. */
#ifndef TL_PASSES_TRAIN_SCALE_POWER_H
#define TL_PASSES_TRAIN_SCALE_POWER_H

#include "ir/module.h"
#include "support/vec.h"

/* The power of the factor that a value carries. */
typedef enum tl_power {
  TL_POWER_NONE,   /* by nothing */
  TL_POWER_ONCE,   /* by s */
  TL_POWER_ANY,    /* zeros: by whatever one likes */
  TL_POWER_OTHER,  /* by another power, or nothing is known */
  TL_POWER_INVERSE /* by 1/s */
} tl_power;

/* Powers of values; tables are owned by the caller. */
typedef struct tl_powers {
  const tl_module *m;
  uint8_t *of; /* [values] tl_power; zeros that are constants need no entry */
  /* For a sweep: */
  const bool *fixed;   /* [values] what it finds in `of` stays */
  const bool *trusted; /* [values] ONCE where nothing is known */
  tl_value_id *from;   /* [values] the value that a power comes from */
  tl_u32_vec captures; /* owned, scratch */
  bool no_memory;
} tl_powers;

/* Returns the power of all results of a node, from those of its operands and captures. Does not
 * look into bodies. */
tl_power tl_power_of_node(tl_powers *p, tl_node_id n);
/* Fills the powers of all values of a graph and of the branches in it. O(nodes + edges). */
void tl_power_sweep(tl_powers *p, const tl_graph *g);

/* Returns true for a constant all of whose elements are `wanted`. False for constants of more than
 * 4096 elements, to bound the cost. */
bool tl_is_all(const tl_module *m, tl_value_id v, double wanted);

#endif
