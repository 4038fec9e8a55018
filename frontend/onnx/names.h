/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves value names to values during an import.
 * Every name becomes a key (a symbol). Outside functions the key is the name; inside an inlined
 * function it is a private symbol that no name of the file can equal. A table indexed by key gives
 * the value. Bodies of If, Loop and Scan open a scope; closing it restores what the keys meant. */
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

/* The names of one import. */
typedef struct tl_onnx_names {
  tl_onnx_reader *r;    /* borrowed */
  tl_onnx_calls *calls; /* borrowed */
  uint32_t depth;       /* of bodies; 1: the main graph */
  /* indexed by symbol */
  tl_u32_vec value_of; /* key -> value in the scopes that are open */
  tl_u32_vec claim;    /* name -> value that has it as a made-up name, not as its key */
  tl_u32_vec display;  /* private key -> readable name */
  tl_u32_vec mark;     /* scratch for any user: zero between uses */
  tl_u32_vec numbers;  /* name -> last number appended to make a fresh one */
  /* stacks: a user remembers their length before its work and cuts back to it */
  tl_pending_vec pending;
  tl_undo_vec undo;
} tl_onnx_names;

/* Releases what *x owns. */
void tl_onnx_names_release(tl_onnx_names *names);

/* Returns the key of a name in the current frame; TL_NO_SYMBOL if memory is out. */
tl_symbol tl_onnx_key(tl_onnx_names *names, tl_sv name);
/* Returns the readable name of a key, for values and messages. */
tl_symbol tl_onnx_display(const tl_onnx_names *names, tl_symbol key);
/* Returns the value of a key in the open scopes, TL_NO_VALUE if there is none. O(1). */
static inline tl_value_id tl_onnx_lookup(const tl_onnx_names *names, tl_symbol key) {
  return tl_slot_get(&names->value_of, key);
}
/* Defines `key` as v, a value of graph g, and names v. TL_INVALID_MODEL if g has defined the key
 * before; TL_NO_MEMORY. */
tl_status tl_onnx_define(tl_onnx_names *names, tl_graph_id g, tl_symbol key, tl_value_id v,
                         tl_location where) TL_NODISCARD;
/* Closes the scope of a body: restores the keys to the state at `undo_mark`, a length of `undo`. */
void tl_onnx_close_scope(tl_onnx_names *names, uint32_t undo_mark);
/* Resolves the pending operands since `mark` (a length of `pending`) whose names are defined now.
 * *sort: true if there was one, so the graph needs sorting. In the main graph an unresolved operand
 * is TL_INVALID_MODEL; in a body it stays pending. TL_NO_MEMORY. */
tl_status tl_onnx_settle(tl_onnx_names *names, uint32_t mark, bool *sort) TL_NODISCARD;
/* Renames values of bodies whose names clash with values around them (ir/names.h). TL_NO_MEMORY. */
tl_status tl_onnx_unhide(tl_onnx_names *names) TL_NODISCARD;

#endif
