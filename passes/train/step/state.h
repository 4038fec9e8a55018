/* SPDX-License-Identifier: Apache-2.0 */
/* Holds what passes of training steps keep between them; the module carries it as an opaque
 * pointer.
 * What a file says of a step (states, gradients, loss, seed) is in the module itself. */
#ifndef TL_PASSES_TRAIN_STEP_STATE_H
#define TL_PASSES_TRAIN_STEP_STATE_H

#include "ir/module.h"
#include "ir/options/options.h"
#include "ir/options/train_spec.h"

/* Declared in passes/train/time (setting.h, record.h), which this room may not include. */
struct tl_step_found;
struct tl_step_record;

/* The members are grouped by how long they are valid. */
typedef struct tl_step_state {
  /* as long as the module lives */
  const tl_train_spec *declared; /* borrowed; NULL: no user said anything, or it is settled */
  bool params_listed;    /* the parameters were listed: what has no gradient by now is none */
  bool ordered;          /* a pass has put the nodes in an order that it chose */
  bool no_update_stream; /* a stream of their own for updates was asked for, but takes longer */
  bool no_tail; /* tail optimization was asked for, but each of its changes makes the step longer */
  /* within one pass */
  tl_graph_id graph; /* the body that is the step; TL_NO_GRAPH: the main graph is */
  /* within one pipeline */
  struct tl_step_record *record; /* borrowed: receives timelines; NULL: not wanted */
  struct tl_step_found *found;   /* what the pass before this one left; NULL: nothing */
  struct tl_step_found *left;    /* in the scratch of this pass, for the next one and no other */
} tl_step_state;

/* Returns the state for reading; an empty one if the module has none yet. Never NULL. O(1). */
const tl_step_state *tl_step_state_of(const tl_module *m);
/* Returns the state for changes, creating it in the module's arena; NULL if memory is out. During a
 * pipeline it exists. */
tl_step_state *tl_step_state_edit(tl_module *m);

/* Sets what a user declares of the step. spec: borrowed, outlives the module; NULL: nothing.
 * TL_NO_MEMORY, reported. */
tl_status tl_step_declare(tl_module *m, const tl_train_spec *spec) TL_NODISCARD;

/* Copies what is known of module m to its fork, except what belongs to the pipeline of m.
 * TL_NO_MEMORY, reported to the fork. */
tl_status tl_step_state_copy(tl_module *fork, const tl_module *m) TL_NODISCARD;

/* Returns the graph that is the step: the main graph, or the body of a loop of steps. */
tl_graph *tl_step_graph(const tl_module *m);

/* Begins a pipeline (for the pass manager). record: borrowed, receives timelines; NULL: not wanted.
 * TL_NO_MEMORY, reported. */
tl_status tl_step_pipeline_begin(tl_module *m, struct tl_step_record *record) TL_NODISCARD;
/* Passes what the last pass left to the next one and to no other; called before each pass. Returns
 * true if the last pass left something, which lives in the scratch of that pass. */
bool tl_step_pipeline_next(tl_module *m);
/* Returns true if the pass that just ended left something in its scratch, which must then outlive
 * the next pass. */
bool tl_step_pipeline_left(const tl_module *m);
/* Ends the pipeline: nothing left by its passes may be read any more. */
void tl_step_pipeline_end(tl_module *m);

/* Returns the value that a file records for a carried option: the user's value, unless a pass
 * decided otherwise. */
tl_sv tl_step_carried(const tl_module *m, const tl_carried_option *o);
/* Fills *out with the options a module is written with: `in` with carried options as a file records
 * them, in the module's arena. TL_NO_MEMORY, reported. */
tl_status tl_step_written_options(tl_module *m, const tl_options *in, tl_options *out) TL_NODISCARD;

#endif
