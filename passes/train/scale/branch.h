/* SPDX-License-Identifier: Apache-2.0 */
/* The form update_form=if of skipping: one If around the updates. */
#ifndef TL_PASSES_TRAIN_SCALE_BRANCH_H
#define TL_PASSES_TRAIN_SCALE_BRANCH_H

#include "passes/train/scale/guarding.h"

/* Puts one If around the updates. Failures are kept by the maker. O(nodes). */
void tl_ls_branch(tl_guarding *g);

#endif
