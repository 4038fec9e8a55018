/* SPDX-License-Identifier: Apache-2.0 */
/* State of the walk over the graph that decides dtypes, shared by the files that make up the walk.
 * decide.c walks, judge_op.c decides about one op, lists.c asks options about single nodes, and
 * messages.c reports. */
#ifndef TL_PASSES_PRECISION_WALK_H
#define TL_PASSES_PRECISION_WALK_H

#include "passes/edit/listed.h"
#include "passes/precision/decision.h"
#include "passes/precision/form.h"

/* One tensor of the op being judged. */
typedef struct tl_judged_slot {
  const tl_precision_port *port;
  tl_precision_slot *slot;
  tl_value_id value;
  uint32_t index;     /* index among the inputs or outputs of the table row */
  tl_dtype original;  /* dtype that the rules see: i32 for an int64 index that lowering narrows */
  uint64_t reachable; /* set of dtypes that the mode allows for it */
  tl_dtype producer;  /* current dtype of its producer; NONE for an output */
  tl_value_id from;   /* the value that has this dtype */
  bool output;
  bool late;       /* a constant or variable: judged after the other inputs */
  bool customized; /* customize_dtypes fixes it */
  bool promoted;
} tl_judged_slot;

TL_VEC(tl_judged_slot_vec, tl_judged_slot);

/* Upper bound on tensors of a remembered op; larger ops are judged one by one. */
enum { TL_MEMO_SLOTS = 4 };

/* State of the walk; fields about the current op are set anew for each op. */
typedef struct tl_precision_walk {
  tl_module *m;
  const tl_options *options;
  tl_precision *d;
  tl_precision_forms *forms;
  const char *const *why; /* by node id: reason of the range policy against lowering; NULL as a
                           * whole if not needed */
  const uint8_t *wants;   /* by node id: tl_range_want; NULL likewise */
  tl_arena *arena;
  const bool *variables; /* by value id: inputs that are training states */
  const bool *updates;   /* by node id: the node updates a state and is therefore black; NULL: none
                          * does */
  tl_map named_keep;     /* symbol of a node name -> entry */
  tl_map named_custom;
  bool *used_keep; /* by entry: it matched something */
  bool *used_custom;
  bool *used_to_float;
  bool *used_kept_signature;
  tl_precision_listed *lists; /* owned; NULL: no node is blocked or included by a list */
  const tl_listed *listed;    /* list entry that decides about this op, or NULL */
  tl_columns columns;         /* columns still possible for this op; room for `widest` */
  uint32_t widest;
  struct tl_precision_memo *memo; /* scratch; NULL: not made yet */
  tl_judged_op op;
  bool mixed;                    /* the mode of this op uses colours */
  const tl_custom_entry *custom; /* customized dtypes of this op; NULL: none */
  tl_judged_slot_vec slots;
  uint32_t n_inputs; /* of slots */
  bool unknown;      /* a tensor of the op has no known dtype */
  uint32_t n_errors;
  uint32_t n_unsupported; /* of them */
  uint32_t n_warned;
} tl_precision_walk;

/* Allocates the tables in `arena`, reads the types of all values and applies options about inputs.
 * Reports inputs in --input-fp16-nodes that do not exist. Returns TL_NO_MEMORY, reported. */
tl_status tl_precision_start(tl_precision_walk *w, tl_arena *arena) TL_NODISCARD;
/* Ensures room for the columns of the widest row so far. TL_NO_MEMORY, reported. */
tl_status tl_precision_reserve(tl_precision_walk *w) TL_NODISCARD;
/* Sets mode, colour and list entries of node n: fills w->op, w->custom and w->d->nodes[n].
 * TL_NO_MEMORY, reported. */
tl_status tl_precision_enter(tl_precision_walk *w, tl_node_id n,
                             const tl_precision_form *form) TL_NODISCARD;
/* Fills w->updates: the nodes that update training states. TL_NO_MEMORY, not reported. */
tl_status tl_precision_find_updates(tl_precision_walk *w) TL_NODISCARD;
/* Lowers all tensors of an op that has no row in the chip's table because the NPU splits it into
 * several ops. Only for force_fp16, which lowers the parts as well. Returns false if the op has no
 * such dtype or something keeps it wide. */
bool tl_precision_lower_whole(tl_precision_walk *w, tl_node_id n);
/* Keeps the columns that w->custom allows. Returns false if none is left. */
bool tl_precision_customize(tl_precision_walk *w, const tl_precision_form *form);
/* Decides the dtypes of the outputs of a root graph. */
void tl_precision_finish_signature(tl_precision_walk *w, const tl_graph *g);
/* Warns about list entries that matched nothing. Returns the error of the walk: TL_UNSUPPORTED or
 * TL_INVALID_ARGUMENT if errors were reported, else TL_OK or TL_NO_MEMORY. */
tl_status tl_precision_end(tl_precision_walk *w) TL_NODISCARD;

/* Reports an error about node n. s: the tensor concerned; NULL: the whole op. The first 20 are
 * shown, all are counted. */
void tl_precision_report(tl_precision_walk *w, tl_node_id n, const tl_judged_slot *s,
                         const char *code);
/* Like tl_precision_report, but a warning: the op keeps its dtypes. */
void tl_precision_warn_kept(tl_precision_walk *w, tl_node_id n, const tl_judged_slot *s,
                            const char *code);
/* Reports that constant v has `beyond` elements outside the range of dtype `to`
 * (--const-policy=error). */
void tl_precision_report_constant(tl_precision_walk *w, tl_node_id n, tl_value_id v, tl_dtype to,
                                  uint64_t beyond);
/* Warns that a tensor has a dtype that no rule asked for. */
void tl_precision_warn_column(tl_precision_walk *w, tl_node_id n);
/* Warns about lowered nodes that the range policy would have kept wide. */
void tl_precision_warn_ranges(tl_precision_walk *w);
/* Warns about entries of each list that matched nothing: their number and the first names.
 * TL_NO_MEMORY, reported. */
tl_status tl_precision_warn_unused(tl_precision_walk *w) TL_NODISCARD;
#endif
