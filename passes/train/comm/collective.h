/* SPDX-License-Identifier: Apache-2.0 */
/* Makes collectives, and means out of their sums. */
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

/* Context of making collectives; caches the constants that means need. */
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

/* Checks the options' group of ranks. E-AR-GROUP: no name, or one that is too long. */
tl_status tl_comm_check(tl_diag *d, tl_location where, const tl_train_config *c) TL_NODISCARD;
/* The same for the group of node n; TL_INVALID_MODEL then. */
tl_status tl_comm_check_group(tl_module *m, tl_node_id n) TL_NODISCARD;
/* Checks attributes of an AllReduce. E-AR-FUSION unless fusion is 0, 1 with fusion_id -1, or 2 with
 * a fusion_id from 0 to 2147483647. */
tl_status tl_comm_check_fusion(tl_diag *d, tl_location where, int64_t fusion,
                               int64_t fusion_id) TL_NODISCARD;

/* Returns v after a collective, made at the maker's place; the node is named after `what`, a
 * parameter. TL_NO_VALUE after a failure, which the maker keeps. */
tl_value_id tl_comm_make(tl_comm *comm, tl_maker *k, const tl_collective_spec *spec, tl_value_id v,
                         tl_sv what);
/* Return v divided by the number of ranks, and v multiplied by its reciprocal. The number comes
 * from the options, or from the input TL_COMM_RANKS_INPUT if it is only known at run time. */
tl_value_id tl_comm_divide(tl_comm *comm, tl_maker *k, tl_value_id v);
tl_value_id tl_comm_multiply(tl_comm *comm, tl_maker *k, tl_value_id v);

/* Returns a maker whose nodes go right behind the producer of v, or to the start of the graph. */
tl_maker tl_comm_behind(tl_module *m, tl_value_id v);

/* Infers types anew for nodes that depend on `from`, whose shape has changed, as far as the types
 * of their operands change. Results whose shape cannot be inferred keep theirs. Clears *fits if
 * some node does not take its new operands. TL_NO_MEMORY, reported. O(nodes + edges). */
tl_status tl_comm_refresh_types(tl_module *m, tl_value_id from, bool *fits) TL_NODISCARD;

#endif
