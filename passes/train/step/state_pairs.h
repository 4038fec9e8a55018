/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs inputs of a step with their next values where nothing declares them: by names and types,
 * else by arithmetic.
 * A constant that no name pairs with an output is no state. */
#ifndef TL_PASSES_TRAIN_STEP_STATE_PAIRS_H
#define TL_PASSES_TRAIN_STEP_STATE_PAIRS_H

#include "passes/train/step/update_cone.h"

/* Input of the pairing. New pairs go into the tables that hold the declared states, too; all
 * pointers are borrowed. */
typedef struct tl_pairing {
  tl_module *m;
  tl_cone_facts *facts;
  uint8_t *marks;     /* [values] STATE_IN, STATE_OUT */
  uint32_t *state_of; /* [values] the other end */
  tl_value_id loss;   /* for what comes behind names; TL_NO_VALUE: not known */
} tl_pairing;

/* Pairs by names such as w and w.new, x_in and x_out, m and next_m. TL_NO_MEMORY, unreported. O(n
 * log n) in inputs, constants and outputs. */
tl_status tl_pair_by_names(tl_pairing *p) TL_NODISCARD;
/* Pairs outputs that are an input with something added; the marks must tell what the loss depends
 * on. Takes back pairs by name whose input is data and whose output the loss needs. TL_NO_MEMORY,
 * unreported. */
tl_status tl_pair_by_arithmetic(tl_pairing *p) TL_NODISCARD;

#endif
