/* SPDX-License-Identifier: Apache-2.0 */
/* Sets up what passes over scheduled steps start from: the recognised step and the machine. */
#ifndef TL_PASSES_TRAIN_TIME_SETTING_H
#define TL_PASSES_TRAIN_TIME_SETTING_H

#include "passes/edit/pass.h"
#include "passes/train/time/record.h"
#include "support/file.h"

/* The step and the machine that a configuration asks for. */
typedef struct tl_train_setting {
  tl_module *m;
  tl_train_info info; /* in the pass's scratch */
  tl_costs cost;
  tl_step_machine machine;
  tl_file *profile; /* owned; NULL: none */
  bool tail;        /* tail optimisation is on */
} tl_train_setting;

/* Recognises the step, unless the pass before left it: the main graph, or the body of a loop of
 * steps (tl_step_graph until the end). Sets up the machine: the named preset, else that of the
 * chip. E-HW-PRESET, E-PROFILE, TL_IO and errors of tl_train_detect. Call tl_train_setting_end in
 * any case. */
tl_status tl_train_setting_begin(tl_pass *p, tl_module *m, tl_train_setting *out) TL_NODISCARD;
/* Ends what tl_train_setting_begin began: the main graph is the step again, costs and profile are
 * freed. */
void tl_train_setting_end(tl_train_setting *t);

/* Sets up the costs of a configuration's preset; `chip` decides if it names none. *profile: owned
 * by the caller, who closes it after the costs are released. */
tl_status tl_train_costs(tl_diag *d, const tl_train_config *c, const tl_soc *chip, tl_costs *out,
                         tl_file **profile) TL_NODISCARD;

/* What a pass leaves for the next one, which then need not find it again. Of info only form and
 * regions are valid. Everything is in the scratch of the pass that found it. */
typedef struct tl_step_found {
  tl_train_info info;
  tl_graph_id graph; /* of the step; TL_NO_GRAPH: the main graph */
  bool built;        /* the tasks are there */
  tl_step step;
} tl_step_found;

/* Leaves the step for the next pass. step: NULL, or what tl_step_build would make now, except for
 * the order of tasks. If memory is out, nothing is left, which is no error. */
void tl_train_setting_leave(tl_pass *p, const tl_train_setting *t, const tl_step *step);
/* Returns the step as tasks in the order of its nodes: what the pass before left, or built anew. */
tl_status tl_train_setting_step(tl_pass *p, const tl_train_setting *t, tl_step *out) TL_NODISCARD;

/* Records the step as it is, unless that was done or nobody asked: in the order of its nodes on one
 * stream beside the collectives, with the stream of updates, and, with tail optimization,
 * scheduled. */
tl_status tl_train_record_before(tl_pass *p, tl_module *m, const tl_train_setting *t) TL_NODISCARD;

#endif
