/* SPDX-License-Identifier: Apache-2.0 */
/* Whether all ranks make the same next values, whatever was recognised. */
#ifndef TL_PASSES_TRAIN_COMM_RANK_CHECK_H
#define TL_PASSES_TRAIN_COMM_RANK_CHECK_H

#include "passes/edit/pass.h"
#include "passes/train/step/info.h"

/* After sums over ranks were put in: follows a value that differs between ranks, data and
 * gradients, through the graph, and refuses parameters that it reaches, and states that such a
 * gradient reaches, by name (E-TRN-LOCAL); a choice by such a number is warned about
 * (W-TRN-CHOICE). States that are each rank's own by intent are left out. t: what was recognised
 * before. elsewhere: gradients are added up in another graph. O(nodes + edges). */
tl_status tl_rank_check(tl_pass *p, tl_module *m, const tl_train_info *t,
                        bool elsewhere) TL_NODISCARD;

#endif
