/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the arithmetic of one parameter's update backwards from the next value to the raw gradient.
 * The cone consists of elementwise nodes over tensors with as many elements as the parameter, views
 * of them, and the branches of If. Scalars (rates, decays, corrections, norms) are not followed.
 * The value that all paths come from is the raw gradient. */
#ifndef TL_PASSES_TRAIN_STEP_UPDATE_CONE_H
#define TL_PASSES_TRAIN_STEP_UPDATE_CONE_H

#include "passes/train/step/info.h"

/* What is known of values before the walk, bits by value id. */
enum {
  TL_MARK_FORWARD = 1,   /* the loss depends on it */
  TL_MARK_STATE_IN = 2,  /* input of a declared state */
  TL_MARK_STATE_OUT = 4, /* its output */
  TL_MARK_OUTPUT = 8,    /* of the graph */
  TL_MARK_OWNED_IN = 16, /* state of a parameter, beside itself */
  TL_MARK_OWNED_OUT = 32 /* its next value */
};

/* What walks share; tables are owned by the detector. */
typedef struct tl_cone_facts {
  const tl_module *m;
  tl_arena *arena;          /* scratch of the walks, rewound after each */
  const uint8_t *marks;     /* [values] */
  uint32_t *place;          /* [values], zero between walks */
  const uint32_t *state_of; /* [values] of STATE_OUT: the input */
} tl_cone_facts;

/* Result of a walk. */
typedef struct tl_cone {
  tl_value_id raw;                           /* TL_NO_VALUE: none, or several that could be */
  bool ambiguous;                            /* several */
  tl_value_id state_in[TL_TRAIN_MAX_STATES]; /* states whose next values the walk passed */
  tl_value_id state_out[TL_TRAIN_MAX_STATES];
  uint32_t n_states;
} tl_cone;

/* Walks back from `root`, which is the next value of `param` or a gradient on its way to an update
 * op. Visits at most a fixed number of values. TL_NO_MEMORY, unreported. */
tl_status tl_cone_walk(tl_cone_facts *f, tl_value_id root, tl_value_id param,
                       tl_cone *out) TL_NODISCARD;
/* The same for a known gradient: only the states are looked for, and raw stays TL_NO_VALUE. */
tl_status tl_cone_states(tl_cone_facts *f, tl_value_id root, tl_value_id param,
                         tl_cone *out) TL_NODISCARD;

/* Finds the inputs and constants whose next value `out`, an output of the graph, may be. They have
 * the type of `out`, and `out` is: such a value plus or minus something, perhaps scaled or in
 * another view; a choice between that and the old value; or a choice between that and a fresh
 * start. Writes at most `most` of them and returns their number. */
uint32_t tl_cone_bases(const tl_module *m, tl_value_id out, tl_value_id *bases, uint32_t most);

/* Finds the inputs that `out` is computed from without values that the loss depends on. Writes at
 * most `most`, the nearest ones, and returns their number. */
uint32_t tl_cone_inputs(tl_cone_facts *f, tl_value_id out, tl_value_id *inputs, uint32_t most);

/* Returns true if the node is a collective whose result i carries the gradient in operand i, added
 * up or gathered over ranks. */
bool tl_is_gradient_collective(const tl_module *m, tl_node_id n);

/* Returns the value that a branch of an If gives as result i; branch 0 is then_branch, any other is
 * else_branch. TL_NO_VALUE if the node is no If or lacks it. */
tl_value_id tl_if_result(const tl_module *m, tl_node_id n, uint32_t branch, uint32_t i);

#endif
