/* SPDX-License-Identifier: Apache-2.0 */
/* Tail optimisation: what its parts share. L is the last bucket, D(L)
 * what depends on it. Changes are written down so that those that do not pay are taken back. */
#ifndef TL_PASSES_TRAIN_TAIL_TAIL_H
#define TL_PASSES_TRAIN_TAIL_TAIL_H

#include "passes/edit/maker.h"
#include "passes/train/time/setting.h"

#define TL_TAIL_NONE UINT32_MAX          /* depends on no bucket */
#define TL_TAIL_SEVERAL (UINT32_MAX - 1) /* on more than one */

typedef enum tl_tail_change_kind {
  TL_TAIL_ADDED,    /* a control edge: id */
  TL_TAIL_REMOVED,  /* a control edge: from, to, origin */
  TL_TAIL_REPLACED, /* a value: from is the old one, to the new one */
  TL_TAIL_MADE,     /* a node: from */
  TL_TAIL_CONSTANT, /* a constant: from */
  TL_TAIL_RETIRED   /* a node: from */
} tl_tail_change_kind;

typedef struct tl_tail_change {
  tl_tail_change_kind kind;
  uint32_t from;
  uint32_t to;
  tl_control_id id;
  tl_control_origin origin;
} tl_tail_change;

TL_VEC(tl_tail_change_vec, tl_tail_change);

typedef struct tl_tail {
  tl_pass *p;
  tl_module *m;
  const tl_train_config *c;
  tl_train_setting *t;
  tl_node_id *buckets; /* [n_buckets] in the order of nodes */
  uint32_t n_buckets;
  tl_node_id last;     /* L */
  uint32_t n_ids;      /* entries of the tables by node id */
  uint32_t *bucket_of; /* by node id: index in buckets, TL_TAIL_NONE, TL_TAIL_SEVERAL; over data */
  bool *below;         /* by node id: in D(L) */
  bool *below_data;    /* by node id: in D(L) by data alone */
  bool *retired;       /* by node id */
  uint32_t late_edges; /* control edges from L or D(L) */
  tl_step step;        /* as it stands, with its schedule */
  uint32_t *order;
  double us; /* of that schedule */
  tl_tail_counts counts;
  bool lost; /* a change was taken back, since the step would take longer with it */
  tl_tail_change_vec changes; /* owned */
  tl_node_id *listed; /* [n_listed] nodes as they stood before an edge moved some; NULL: none */
  uint32_t n_listed;
  bool warned; /* W-TAIL-CLIP */
  bool no_memory;
} tl_tail;

/* Finds buckets and L. O(nodes). */
void tl_tail_find_buckets(tl_tail *t);
/* The same, and who depends on what; anew after changes. O(nodes + edges). */
void tl_tail_look(tl_tail *t);
/* Builds and schedules the step as it stands. freed: since the last time edges have gone, and
 * nothing else has changed, so that its order is still one. */
tl_status tl_tail_measure(tl_tail *t, bool freed) TL_NODISCARD;
/* Index of the one bucket that a value depends on, or TL_TAIL_NONE, TL_TAIL_SEVERAL. */
uint32_t tl_tail_bucket_of(const tl_tail *t, tl_value_id v);
/* Is n a collective of a flag? Its result serves predicates alone. */
bool tl_tail_is_flag(const tl_tail *t, tl_node_id n);
bool tl_tail_is_status_op(const tl_module *m, tl_node_id n);

/* ---- changes (changes.c) ---- */
uint32_t tl_tail_mark(const tl_tail *t);
/* Takes back what was done since. */
void tl_tail_undo(tl_tail *t, uint32_t mark);
/* Makes it final: retired nodes go. */
void tl_tail_commit(tl_tail *t, uint32_t mark);
/* An edge that keeps the graph acyclic; one that would not is counted and left out. True: added. */
bool tl_tail_add_edge(tl_tail *t, tl_node_id from, tl_node_id to, tl_control_origin origin);
void tl_tail_remove_edge(tl_tail *t, tl_control_id c);
/* Everything that used, named or declared `old` has `made` in its place. */
void tl_tail_replace(tl_tail *t, tl_value_id old, tl_value_id made);
/* A node in front of another, of the same region; types of results are those of `like`. */
tl_node_id tl_tail_make(tl_tail *t, tl_node_id before, tl_node_id like, const tl_node_spec *spec);
void tl_tail_adopt(tl_tail *t, tl_node_id made, tl_node_id like);
/* What a maker made since, in front of a node, or nothing if it failed; false then. */
bool tl_tail_adopt_made(tl_tail *t, tl_maker *k, tl_maker_mark mark);
/* An integer constant of rank 0 in the main graph. */
tl_value_id tl_tail_constant(tl_tail *t, tl_symbol base, int64_t v);
/* The same of rank 1. */
tl_value_id tl_tail_constants(tl_tail *t, tl_symbol base, const int64_t *v, uint32_t n);
/* Leaves a node out of the step. Producers are retired before what uses them. */
void tl_tail_retire(tl_tail *t, tl_node_id n);
/* The same if its one result has one user, which is retired. */
void tl_tail_retire_unused(tl_tail *t, tl_node_id n);

/* ---- steps of the algorithm; each does what it can and says how often ---- */
uint32_t tl_tail_relax(tl_tail *t);          /* P1 */
uint32_t tl_tail_guard_states(tl_tail *t);   /* H1 */
uint32_t tl_tail_order_flags(tl_tail *t);    /* P4 */
uint32_t tl_tail_drop_flags(tl_tail *t);     /* 3.4: no sum of flags that are equal on all ranks */
uint32_t tl_tail_split_barriers(tl_tail *t); /* J1 */
uint32_t tl_tail_split_updates(tl_tail *t);  /* J2 */
uint32_t tl_tail_split_ifs(tl_tail *t);      /* J3 */
uint32_t tl_tail_split_concats(tl_tail *t);  /* J4 */
uint32_t tl_tail_split_checks(tl_tail *t);   /* J5 */
uint32_t tl_tail_split_norms(tl_tail *t);    /* J6 */
uint32_t tl_tail_decompose_updates(tl_tail *t); /* P5, if asked for */

/* Which nodes run under L, and what keeps the others; into the record. */
tl_status tl_tail_explain(tl_tail *t, tl_step_record *r) TL_NODISCARD;

#endif
