/* SPDX-License-Identifier: Apache-2.0 */
/* State of the walk that decides dtypes, shared by the walk itself (decide.c), what lists
 * say about single nodes (lists.c) and the messages (messages.c). */
#ifndef TL_PASSES_PRECISION_WALK_H
#define TL_PASSES_PRECISION_WALK_H

#include "passes/edit/listed.h"
#include "passes/precision/precision.h"

/* One tensor of the op at hand. */
typedef struct tl_judged_slot {
  const tl_precision_port *port;
  tl_precision_slot *slot;
  tl_value_id value;
  uint32_t index;    /* among inputs or outputs as the row counts them */
  tl_dtype original; /* as the rules see it: i32 for an index that lowering narrows */
  uint64_t reachable; /* dtypes that it may have */
  tl_dtype producer;  /* current dtype of what feeds it, NONE for an output */
  tl_value_id from;   /* whose dtype that is */
  bool output;
  bool late;       /* a constant or variable: judged behind the others */
  bool customized; /* customize_dtypes fixes it */
  bool promoted;
} tl_judged_slot;

TL_VEC(tl_judged_slot_vec, tl_judged_slot);

enum { TL_MEMO_SLOTS = 4 }; /* ops with more tensors are judged each by itself */

typedef struct tl_precision_walk {
  tl_module *m;
  const tl_options *options;
  tl_precision *d;
  tl_precision_forms *forms;
  const char *const *why; /* by node id: what the policy of ranges has against lowering; NULL as a
                             whole where nobody asks */
  const uint8_t *wants;   /* by node id: tl_range_want; NULL likewise */
  tl_arena *arena;
  const bool *variables; /* by value id: inputs that are training states */
  const bool *updates;   /* by node id: updates a state, and is black therefore; NULL: none is */
  tl_map named_keep;     /* symbol of a node name -> entry */
  tl_map named_custom;
  bool *used_keep; /* by entry: something matched it */
  bool *used_custom;
  bool *used_to_float;
  bool *used_kept_signature;
  tl_precision_listed *lists; /* owned; NULL: no node is blocked or included by a list */
  const tl_listed *listed;    /* entry of the lists that decides about the op at hand, or NULL */
  tl_columns columns; /* of the op at hand; room for `widest` */
  uint32_t widest;
  struct tl_precision_memo *memo; /* scratch; NULL: not made yet */
  tl_judged_op op;
  bool mixed; /* the op's mode goes by colours */
  const tl_custom_entry *custom; /* of the op at hand, NULL: none */
  tl_judged_slot_vec slots;
  uint32_t n_inputs; /* of slots */
  bool unknown;      /* a tensor of the op has no known dtype */
  uint32_t n_errors;
  uint32_t n_unsupported; /* of them */
  uint32_t n_warned;
} tl_precision_walk;

/* Sizes tables, reads the types of all values, inputs that --input-fp16-nodes names. */
tl_status tl_precision_start(tl_precision_walk *w, tl_arena *arena) TL_NODISCARD;
/* Room for the columns of the widest row met. */
tl_status tl_precision_reserve(tl_precision_walk *w) TL_NODISCARD;
/* What mode, colour and lists say of node n: fills w->op, w->custom and the node's choice. */
tl_status tl_precision_enter(tl_precision_walk *w, tl_node_id n,
                             const tl_precision_form *form) TL_NODISCARD;
/* Fills w->updates. TL_NO_MEMORY, unreported. */
tl_status tl_precision_find_updates(tl_precision_walk *w) TL_NODISCARD;
/* A mode that lowers all lowers an op that stays whole as well, though no row of the chip's table
 * speaks of it: what it would become is lowered, too. False where the op has no such dtype, or
 * something says that it stays wide. */
bool tl_precision_lower_whole(tl_precision_walk *w, tl_node_id n);
/* Narrows the columns to those that w->custom allows; false when none is left. */
bool tl_precision_customize(tl_precision_walk *w, const tl_precision_form *form);
/* Dtypes of the outputs of a root graph. */
void tl_precision_finish_signature(tl_precision_walk *w, const tl_graph *g);
/* Warns about entries that matched nothing; fails when errors were reported. */
tl_status tl_precision_end(tl_precision_walk *w) TL_NODISCARD;

/* An error for people; s: the tensor it is about, NULL: the whole op. */
void tl_precision_report(tl_precision_walk *w, tl_node_id n, const tl_judged_slot *s,
                         const char *code);
/* The same as a warning where the op keeps its dtypes instead. */
void tl_precision_warn_kept(tl_precision_walk *w, tl_node_id n, const tl_judged_slot *s,
                            const char *code);
/* An error about a constant that the low dtype cannot hold (--const-policy=error). */
void tl_precision_report_constant(tl_precision_walk *w, tl_node_id n, tl_value_id v, tl_dtype to,
                                  uint64_t beyond);
/* A tensor got what no rule asked for. */
void tl_precision_warn_column(tl_precision_walk *w, tl_node_id n);
/* Without the policy: the nodes that it would have kept from being lowered. */
void tl_precision_warn_ranges(tl_precision_walk *w);
/* Entries of a list that matched nothing: how many, and the first of them. */
tl_status tl_precision_warn_unused(tl_precision_walk *w) TL_NODISCARD;
#endif
