/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that all ranks compute the same next values, whatever was recognised. */
#ifndef TL_PASSES_TRAIN_COMM_RANK_CHECK_H
#define TL_PASSES_TRAIN_COMM_RANK_CHECK_H

#include "passes/edit/pass.h"
#include "passes/train/step/info.h"

/* Follows values that differ between ranks (data, gradients) through the graph after sums over
 * ranks were inserted. Reports E-TRN-LOCAL for a parameter that such a value reaches, and for a
 * state that such a gradient reaches; warns W-TRN-CHOICE if such a number makes a choice. States
 * that are local by intent are left out. t: the detection before the sums. elsewhere: gradients are
 * summed in another graph, so nothing is reported. TL_NO_MEMORY, reported. O(nodes + edges). */
tl_status tl_rank_check(tl_pass *p, tl_module *m, const tl_train_info *t,
                        bool elsewhere) TL_NODISCARD;

#endif
