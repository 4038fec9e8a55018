/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the states that a skipped step leaves alone, and puts
 * what they keep in place. */
#ifndef TL_PASSES_TRAIN_SCALE_GUARDING_H
#define TL_PASSES_TRAIN_SCALE_GUARDING_H

#include "passes/train/scale/scaling.h"

/* A state and what the step would make of it. */
typedef struct tl_guarded {
  tl_value_id input;
  tl_value_id output;
} tl_guarded;

TL_VEC(tl_guarded_vec, tl_guarded);

/* State of guarding; tables are in the pass's scratch. */
typedef struct tl_guarding {
  tl_loss_scaling *x;
  tl_guarded_vec all;  /* owned */
  uint8_t *of_forward; /* by node id: depends on forward or backward, and on no gradient */
  bool *signalled;     /* by node id: an update that is told to skip */
  bool *taken;         /* [n_values] by value id: output of a state that is listed */
  tl_value_id *made;   /* [n_values] by value id: what takes over from it */
  uint32_t n_values;
} tl_guarding;

/* Replaces `candidate` by `made`: `made` gets its name now and its place among outputs and states
 * at tl_ls_put_in_place. */
void tl_ls_take_over(tl_guarding *g, tl_value_id candidate, tl_value_id made);
/* Replaces outputs of the graph and next values of states by what took over. O(outputs +
 * states). */
void tl_ls_put_in_place(tl_guarding *g);

#endif
