/* SPDX-License-Identifier: Apache-2.0 */
/* Declares what the parts of tail optimization share.
 * Tail optimization moves work under the last bucket L; D(L) is the set of nodes that depend on L.
 * All changes are logged, so that those that do not shorten the step can be undone. */
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

/* One logged change; which members count depends on its kind. */
typedef struct tl_tail_change {
  tl_tail_change_kind kind;
  uint32_t from;
  uint32_t to;
  tl_control_id id;
  tl_control_origin origin;
} tl_tail_change;

TL_VEC(tl_tail_change_vec, tl_tail_change);

/* State of the pass. */
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
  bool warned;       /* W-TAIL-CLIP */
  bool warned_state; /* W-TAIL-STATE */
  bool no_memory;
} tl_tail;

/* Finds the buckets and L. O(nodes). */
void tl_tail_find_buckets(tl_tail *t);
/* The same, and fills bucket_of, below and below_data; to be called after changes. O(nodes +
 * edges). */
void tl_tail_look(tl_tail *t);
/* Builds and schedules the step as it is. freed: only control edges were removed since the last
 * call, so that the old order is still valid and can serve as a start. Errors of
 * tl_timeline_schedule, reported. */
tl_status tl_tail_measure(tl_tail *t, bool freed) TL_NODISCARD;
/* Returns the index of the only bucket that a value depends on; TL_TAIL_NONE, TL_TAIL_SEVERAL. */
uint32_t tl_tail_bucket_of(const tl_tail *t, tl_value_id v);
/* Returns true if n is a collective of a flag, whose result serves predicates only. */
bool tl_tail_is_flag(const tl_tail *t, tl_node_id n);
/* Returns true for ops that read or write the chip's hidden overflow status. */
bool tl_tail_is_status_op(const tl_module *m, tl_node_id n);

/* ---- changes (changes.c) ---- */
/* Returns a mark of the log, for tl_tail_undo and tl_tail_commit. */
uint32_t tl_tail_mark(const tl_tail *t);
/* Undoes all changes behind the mark, in reverse order. */
void tl_tail_undo(tl_tail *t, uint32_t mark);
/* Makes the changes behind the mark final: retired nodes are erased. */
void tl_tail_commit(tl_tail *t, uint32_t mark);
/* Adds a control edge unless it exists or would close a cycle; the latter is counted. Returns true
 * if it was added. */
bool tl_tail_add_edge(tl_tail *t, tl_node_id from, tl_node_id to, tl_control_origin origin);
/* Removes a control edge. */
void tl_tail_remove_edge(tl_tail *t, tl_control_id c);
/* Lets everything that uses, names or declares `old` refer to `made`. */
void tl_tail_replace(tl_tail *t, tl_value_id old, tl_value_id made);
/* Makes a node in front of another, with the region and result types of `like`. TL_NO_NODE, noted,
 * if memory is out. */
tl_node_id tl_tail_make(tl_tail *t, tl_node_id before, tl_node_id like, const tl_node_spec *spec);
/* Enters a node that was made into the tables and the log, with the region of `like`. */
void tl_tail_adopt(tl_tail *t, tl_node_id made, tl_node_id like);
/* Enters everything that a maker made since the mark, or removes it if the maker failed; returns
 * false then. */
bool tl_tail_adopt_made(tl_tail *t, tl_maker *k, tl_maker_mark mark);
/* Returns an integer constant of rank 0 in the step's graph. */
tl_value_id tl_tail_constant(tl_tail *t, tl_symbol base, int64_t v);
/* The same of rank 1 with n elements. */
tl_value_id tl_tail_constants(tl_tail *t, tl_symbol base, const int64_t *v, uint32_t n);
/* Leaves a node out of the step. Producers must be retired before their users, since nodes are
 * erased from the last retired on. */
void tl_tail_retire(tl_tail *t, tl_node_id n);
/* The same, if its only result has one user, which must be retired, and it is no node that was made
 * since tl_tail_look: such a node stays, without users. */
void tl_tail_retire_unused(tl_tail *t, tl_node_id n);

/* ---- kinds of change ----
 * Each function applies its change wherever it can and returns how often. Running out of memory is
 * noted in t->no_memory. */

/* Removes control edges from L or D(L) to nodes that need no result of L. */
uint32_t tl_tail_relax(tl_tail *t);
/* Orders readers of a state before the node that updates it in place. */
uint32_t tl_tail_guard_states(tl_tail *t);
/* Orders early overflow flags before L. */
uint32_t tl_tail_order_flags(tl_tail *t);
/* Drops sums of flags that are equal on all ranks. */
uint32_t tl_tail_drop_flags(tl_tail *t);
/* Splits nodes that only order others, by bucket. */
uint32_t tl_tail_split_barriers(tl_tail *t);
/* Splits optimizer nodes that update several tensors, by bucket. */
uint32_t tl_tail_split_updates(tl_tail *t);
/* Splits conditional updates, by bucket. */
uint32_t tl_tail_split_ifs(tl_tail *t);
/* Splits gradients that are joined, changed elementwise and split again, by bucket. */
uint32_t tl_tail_split_concats(tl_tail *t);
/* Splits overflow checks over several tensors, by bucket. */
uint32_t tl_tail_split_checks(tl_tail *t);
/* Splits norms over all gradients into sums of squares tensor by tensor. */
uint32_t tl_tail_split_norms(tl_tail *t);
/* Replaces update ops that wait for L by arithmetic, if the option asks for it. */
uint32_t tl_tail_decompose_updates(tl_tail *t);

/* Records which nodes run while L is reduced, and what keeps the others from it. TL_NO_MEMORY,
 * reported. */
tl_status tl_tail_explain(tl_tail *t, tl_step_record *r) TL_NODISCARD;

#endif
