/* SPDX-License-Identifier: Apache-2.0 */
/* Making collectives, and means out of their sums. */
#ifndef TL_PASSES_TRAIN_COMM_COLLECTIVE_H
#define TL_PASSES_TRAIN_COMM_COLLECTIVE_H

#include "passes/edit/maker.h"
#include "passes/edit/pass.h"
#include "passes/train/step/no_step.h"

/* One kind of collective, with its attributes. */
typedef struct tl_collective_spec {
  tl_op_id op;
  int64_t root;          /* rank; Broadcast and Reduce only */
  int64_t fusion;        /* 0 none, 1 by strategy, 2 those of one fusion_id */
  int64_t fusion_id;     /* -1: none */
  const char *reduction; /* NULL: sum */
} tl_collective_spec;

typedef struct tl_comm {
  tl_pass *pass;
  tl_module *m;
  const tl_train_config *c;
  tl_value_id ranks[TL_N_DTYPES];      /* their number as a scalar of a dtype, once made */
  tl_value_id reciprocal[TL_N_DTYPES]; /* its reciprocal */
} tl_comm;

/* Longest name of a group of ranks, without a terminator. */
enum { TL_COMM_MOST_GROUP = 127 };
/* The input for their number where it is not known before the run. */
#define TL_COMM_RANKS_INPUT "tlr.rank_size"

/* E-AR-GROUP: a group without a name, or with too long a one. E-AR-FUSION: fusion 0 (not for
 * AllReduce beside others), 1 or 2 with an id that does not go with it. */
tl_status tl_comm_check(tl_diag *d, tl_location where, const tl_train_config *c) TL_NODISCARD;
tl_status tl_comm_check_group(tl_module *m, tl_node_id n) TL_NODISCARD;
tl_status tl_comm_check_fusion(tl_diag *d, tl_location where, int64_t fusion,
                               int64_t fusion_id) TL_NODISCARD;

/* v through a collective, at the maker's place; the node is called after `what`, a parameter. */
tl_value_id tl_comm_make(tl_comm *x, tl_maker *k, const tl_collective_spec *spec, tl_value_id v,
                         tl_sv what);
/* v divided by the number of ranks, and v multiplied by its reciprocal. */
tl_value_id tl_comm_divide(tl_comm *x, tl_maker *k, tl_value_id v);
tl_value_id tl_comm_multiply(tl_comm *x, tl_maker *k, tl_value_id v);

/* A maker whose nodes come right behind the node that makes v, or first of all. */
tl_maker tl_comm_behind(tl_module *m, tl_value_id v);

/* Nodes that depend on a value whose shape has become another one are inferred anew, as far as that
 * changes theirs. Shapes that no rule knows stay. *fits: all of them take what they get now.
 * TL_NO_MEMORY, reported. O(nodes + edges). */
tl_status tl_comm_refresh_types(tl_module *m, tl_value_id from, bool *fits) TL_NODISCARD;

#endif
