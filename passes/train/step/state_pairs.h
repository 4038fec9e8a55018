/* SPDX-License-Identifier: Apache-2.0 */
/* Which output of a step is the next value of which input, where nothing declares it: told by names
 * and types, else by what the output is computed from. A constant that no name pairs is no state.
 */
#ifndef TL_PASSES_TRAIN_STEP_STATE_PAIRS_H
#define TL_PASSES_TRAIN_STEP_STATE_PAIRS_H

#include "passes/train/step/update_cone.h"

/* Pairs go into tables that are shared with what was declared. */
typedef struct tl_pairing {
  tl_module *m;
  tl_cone_facts *facts;
  uint8_t *marks;     /* [values] STATE_IN, STATE_OUT */
  uint32_t *state_of; /* [values] the other end */
  tl_value_id loss;   /* for what comes behind names; TL_NO_VALUE: not known */
} tl_pairing;

/* By names such as w and w.new, x_in and x_out, m and next_m. TL_NO_MEMORY, unreported.
 * O(n log n) of inputs, constants and outputs. */
tl_status tl_pair_by_names(tl_pairing *p) TL_NODISCARD;
/* The rest, once the marks tell what the loss depends on: outputs that are an input with something
 * added. What the loss needs and is data is no state after all. TL_NO_MEMORY, unreported. */
tl_status tl_pair_by_arithmetic(tl_pairing *p) TL_NODISCARD;

/* Keys of a name: the name itself, and what is left of it without a word such as new or out (of an
 * output), old or in (of an input), at one end or both. Views of the name; the number of them. */
enum { TL_STATE_KEYS = 4 };
uint32_t tl_state_keys(tl_sv name, bool output, tl_sv keys[TL_STATE_KEYS]);

#endif
