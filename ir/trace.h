/* SPDX-License-Identifier: Apache-2.0 */
/* Where a fused node comes from: metadata of the node, under the names that the device compiler and
 * its dump and compare tools use. Lists are written ["a", "b"], quoted as in textual IR. */
#ifndef TL_IR_TRACE_H
#define TL_IR_TRACE_H

#include "ir/lex.h"
#include "ir/module.h"

/* What a node's metadata can say of its origin. */
typedef enum tl_trace {
  TL_TRACE_NAMES,  /* list: names of nodes of the model, in the order of the pattern */
  TL_TRACE_TYPES,  /* list: their op types */
  TL_TRACE_PASSES, /* list: the fusion passes that made it, first ones first */
  TL_TRACE_MULTI,  /* "true": the rewrite made several nodes */
  TL_TRACE_FOR,    /* list: nodes of the model for which a compiler inserted it */
  TL_N_TRACES
} tl_trace;

/* Returns the key in metadata, which is also the attribute's name in AIR. */
const char *tl_trace_key(tl_trace what);

/* Gives a node that was just made the trace of the `n` nodes it replaces. What these carry
 * themselves is spliced in, so that the names are those of the model; their marks (marks.h) stay.
 * TL_NO_MEMORY. */
tl_status tl_trace_record(tl_module *m, tl_node_id made, const tl_node_id *taken, uint32_t n,
                          tl_sv pass, bool several) TL_NODISCARD;

/* Returns what a node carries, borrowed; empty without it, or when a list does not read as one. */
tl_sv tl_trace_get(const tl_module *m, tl_node_id n, tl_trace what);

/* Notes on a node that a pass made which nodes of the model it comes from: those that the n nodes
 * of `from`, 0 among them being no node, are or come from. inserted: it was put beside these and is
 * no part of what they compute; so is one that comes from none. What the node says already stays.
 * Unlike tl_trace_record it makes no metadata: AIR alone shows it. False when memory is out. */
bool tl_trace_derive(tl_module *m, tl_node_id made, const tl_node_id *from, uint32_t n,
                     bool inserted) TL_NODISCARD;
/* Returns the names of nodes of the model that a node comes from, as metadata has them or, written
 * into `room`, as tl_trace_derive noted them; empty for a node of the model, and when memory is
 * out, which room->failed tells. *inserted: as above. */
tl_sv tl_trace_origins(const tl_module *m, tl_node_id n, tl_buf *room, bool *inserted);
/* Returns the name if tl_trace_derive noted one alone, as of most nodes; else an empty text. */
tl_sv tl_trace_origin(const tl_module *m, tl_node_id n);
/* Appends the name of a node of the model: its own, or "TYPE->RESULT", of the type that it had in
 * the model, where it has none. */
void tl_trace_own(const tl_module *m, tl_node_id n, tl_buf *out);

/* Walk a list that tl_trace_get gave: start, then next until it is false. *item is a
 * view of the list, or is unquoted into `room`. */
typedef struct tl_trace_items {
  tl_lexer lexer;
  const char *at; /* in a list without escapes: behind the last item; else NULL */
  const char *end;
} tl_trace_items;

tl_trace_items tl_trace_start(tl_sv list);
bool tl_trace_next(tl_trace_items *i, tl_buf *room, tl_sv *item);

#endif
