/* SPDX-License-Identifier: Apache-2.0 */
/* Names to values. Every value name becomes a key (a symbol). Outside functions the key is the
 * name; inside an inlined function it is a private symbol that no name of the file can equal. Keys
 * lead to values by direct indexing; bodies of If, Loop and Scan open a scope and undo it. */
#ifndef TL_FRONTEND_ONNX_NAMES_H
#define TL_FRONTEND_ONNX_NAMES_H

#include "frontend/onnx/frame.h"
#include "ir/graph.h"

/* An operand whose name nothing had defined yet. */
typedef struct tl_pending {
  tl_symbol key;
  tl_node_id node;
  uint32_t operand;
} tl_pending;

/* What a key meant outside the scope that is open. */
typedef struct tl_undo {
  tl_symbol key;
  tl_value_id value;
} tl_undo;

TL_VEC(tl_pending_vec, tl_pending);
TL_VEC(tl_undo_vec, tl_undo);

typedef struct tl_onnx_names {
  tl_onnx_reader *r;    /* borrowed */
  tl_onnx_calls *calls; /* borrowed */
  uint32_t depth;       /* of bodies; 1: the main graph */
  /* indexed by symbol */
  tl_u32_vec value_of; /* key -> value in the scopes that are open */
  tl_u32_vec claim;    /* name -> value that got it without being its key */
  tl_u32_vec display;  /* private key -> readable name */
  tl_u32_vec mark;     /* scratch for any user: zero between uses */
  tl_u32_vec numbers;  /* name -> last number appended to make a fresh one */
  /* stacks: a user remembers where it began and cuts back to that */
  tl_pending_vec pending;
  tl_undo_vec undo;
} tl_onnx_names;

void tl_onnx_names_release(tl_onnx_names *x);

/* Key of a name as the current frame sees it; TL_NO_SYMBOL when memory is out. */
tl_symbol tl_onnx_key(tl_onnx_names *x, tl_sv name);
/* The name behind a key, for values and messages. */
tl_symbol tl_onnx_display(const tl_onnx_names *x, tl_symbol key);
/* The value that a key means now, TL_NO_VALUE when it means none. */
static inline tl_value_id tl_onnx_lookup(const tl_onnx_names *x, tl_symbol key) {
  return tl_onnx_slot(&x->value_of, key);
}
/* Makes `key` mean v, a value of graph g, and names v. TL_INVALID_MODEL when g has one already. */
tl_status tl_onnx_define(tl_onnx_names *x, tl_graph_id g, tl_symbol key, tl_value_id v,
                         tl_location where) TL_NODISCARD;
/* Ends a body: keys mean again what they meant when `undo_mark` was taken. */
void tl_onnx_close_scope(tl_onnx_names *x, uint32_t undo_mark);
/* Resolves what waits since `mark` and is defined now; *sort: something was. In the main graph what
 * is left is an error. */
tl_status tl_onnx_settle(tl_onnx_names *x, uint32_t mark, bool *sort) TL_NODISCARD;
/* Renames values of bodies whose names clash with values around them (ir/names.h). */
tl_status tl_onnx_unhide(tl_onnx_names *x) TL_NODISCARD;

#endif
