/* SPDX-License-Identifier: Apache-2.0 */
/* One step of Adam, shared by kernels on tensors and on sequences of tensors. */
#ifndef TL_IR_EVAL_TRAINING_OPTIMIZER_H
#define TL_IR_EVAL_TRAINING_OPTIMIZER_H

#include "ir/eval/kernel/lines.h"

/* DECAY_FIRST: epsilon is added after the correction of bias, and the old weight decays.
 * DECAY_LAST: epsilon is added before the correction, and the changed weight decays. */
typedef enum tl_adam_mode { TL_ADAM_DECAY_FIRST, TL_ADAM_DECAY_LAST } tl_adam_mode;

/* The numbers and tensors of one step; all pointers are borrowed. */
typedef struct tl_adam {
  tl_adam_mode mode;
  double rate;
  double alpha;
  double beta;
  double epsilon;
  double decay;
  double correct1; /* of the moments' bias; 1: none */
  double correct2;
  double scale; /* gradients are divided by it */
  const tl_host *w;
  const tl_host *g;
  const tl_host *m1;
  const tl_host *m2;
  tl_host *new_w; /* results may be NULL */
  tl_host *new_m1;
  tl_host *new_m2;
  tl_host *change; /* of the weights */
  tl_host *narrow; /* the new weights in another dtype */
} tl_adam;

/* Sets the corrections of bias from alpha, beta and the number of the step, counted from 1; 1 for
 * both when `correct` is false. */
void tl_adam_correct(tl_adam *a, int64_t step, bool correct);
/* Checks the operands and fills the results that are not NULL. TL_INVALID_MODEL. */
tl_status tl_adam_step(tl_eval *ctx, const tl_adam *a) TL_NODISCARD;

#endif
