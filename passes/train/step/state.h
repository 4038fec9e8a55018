/* SPDX-License-Identifier: Apache-2.0 */
/* What the passes of training steps keep between them. A module carries it and knows nothing of it;
 * what a file says of a step (states, gradients, loss, seed) is in the module itself. */
#ifndef TL_PASSES_TRAIN_STEP_STATE_H
#define TL_PASSES_TRAIN_STEP_STATE_H

#include "ir/module.h"
#include "ir/options/options.h"
#include "ir/options/train_spec.h"

struct tl_step_found;
struct tl_step_record;

typedef struct tl_step_state {
  /* as long as the module lives */
  const tl_train_spec *declared; /* borrowed; NULL: no user said anything, or it is settled */
  bool params_listed; /* the parameters were listed: what has no gradient by now is none */
  bool ordered;       /* a pass has put the nodes in an order that it chose */
  bool no_update_stream; /* a stream of their own for updates was asked for, but takes longer */
  bool no_tail; /* tail optimization was asked for, but each of its changes makes the step longer */
  /* within one pass */
  tl_graph_id graph; /* the body that is the step; TL_NO_GRAPH: the main graph is */
  /* within one pipeline */
  struct tl_step_record *record; /* borrowed: receives timelines; NULL: not wanted */
  struct tl_step_found *found;   /* what the pass before this one left; NULL: nothing */
  struct tl_step_found *left;    /* in the scratch of this pass, for the next one and no other */
} tl_step_state;

/* The state to be read; an empty one where there is none yet. Never NULL. */
const tl_step_state *tl_step_state_of(const tl_module *m);
/* The state to be changed, in the module's arena; NULL when memory is out. Within a pipeline there
 * is one. */
tl_step_state *tl_step_state_edit(tl_module *m);

/* What a user declares of the step; `spec` is borrowed and outlives the module. NULL: nothing.
 * TL_NO_MEMORY, reported. */
tl_status tl_step_declare(tl_module *m, const tl_train_spec *spec) TL_NODISCARD;

/* Lets a fork of a module know what is known of the module, but nothing of its pipeline.
 * TL_NO_MEMORY, reported to the fork. */
tl_status tl_step_state_copy(tl_module *fork, const tl_module *m) TL_NODISCARD;

/* The graph that is the step. */
tl_graph *tl_step_graph(const tl_module *m);

/* For the pass manager: begins a pipeline, whose timelines `record` receives (NULL: nobody asks);
 * TL_NO_MEMORY, reported. */
tl_status tl_step_pipeline_begin(tl_module *m, struct tl_step_record *record) TL_NODISCARD;
/* ... before each pass: it finds what the last one left, and no other does. True: there is such a
 * thing, in the scratch of the last pass. */
bool tl_step_pipeline_next(tl_module *m);
/* ... behind each pass: true when it left something in its scratch. */
bool tl_step_pipeline_left(const tl_module *m);
void tl_step_pipeline_end(tl_module *m);

/* What a file records of a carried option: its value, unless passes have chosen otherwise. */
tl_sv tl_step_carried(const tl_module *m, const tl_carried_option *o);
/* The options with which a module is written: `in` with carried options as a file records them, in
 * the module's arena. TL_NO_MEMORY, reported. */
tl_status tl_step_written_options(tl_module *m, const tl_options *in, tl_options *out) TL_NODISCARD;

#endif
