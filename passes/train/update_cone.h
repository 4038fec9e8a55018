/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of one parameter's update, walked from its end: elementwise nodes over tensors of
 * the parameter's shape. Scalars (rates, decays, corrections, norms) are passed by. What all paths
 * come from is the raw gradient (spec training.md 1.3). */
#ifndef TL_PASSES_TRAIN_UPDATE_CONE_H
#define TL_PASSES_TRAIN_UPDATE_CONE_H

#include "passes/train/train_info.h"

/* What is known of values before the walk, bits by value id. */
enum {
  TL_MARK_FORWARD = 1,   /* the loss depends on it */
  TL_MARK_STATE_IN = 2,  /* input of a declared state */
  TL_MARK_STATE_OUT = 4, /* its output */
  TL_MARK_OUTPUT = 8,    /* of the graph */
  TL_MARK_OWNED_IN = 16, /* state of a parameter, beside itself */
  TL_MARK_OWNED_OUT = 32 /* its next value */
};

typedef struct tl_cone_facts {
  const tl_module *m;
  tl_arena *arena;      /* scratch of the walks, rewound after each */
  const uint8_t *marks; /* [values] */
  uint32_t *place;      /* [values], zero between walks */
} tl_cone_facts;

typedef struct tl_cone {
  tl_value_id raw;                           /* TL_NO_VALUE: none, or several that could be */
  bool ambiguous;                            /* several */
  tl_value_id state_in[TL_TRAIN_MAX_STATES]; /* states whose next values the walk passed */
  tl_value_id state_out[TL_TRAIN_MAX_STATES];
  uint32_t n_states;
} tl_cone;

/* Walks back from `root`, the next value of `param` or a gradient on its way to an update op.
 * TL_NO_MEMORY, unreported. At most a fixed number of nodes. */
tl_status tl_cone_walk(tl_cone_facts *f, tl_value_id root, tl_value_id param,
                       tl_cone *out) TL_NODISCARD;
/* The same for a gradient that is known: only the states are looked for. */
tl_status tl_cone_states(tl_cone_facts *f, tl_value_id root, tl_value_id param,
                         tl_cone *out) TL_NODISCARD;

/* The input or constant that `out`, an output of the graph, is the next value of: out is that minus
 * or plus something, perhaps scaled, or a choice between that sum and the old value. TL_NO_VALUE:
 * none. */
tl_value_id tl_cone_base(const tl_module *m, tl_value_id out);

/* Does result i of the node carry the gradient in operand i, added up over ranks? */
bool tl_is_gradient_collective(const tl_module *m, tl_node_id n);

#endif
