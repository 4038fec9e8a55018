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

/* Walk a list that tl_trace_get gave: start, then next until it is false. *item is unquoted into
 * `room`. */
tl_lexer tl_trace_start(tl_sv list);
bool tl_trace_next(tl_lexer *at, tl_buf *room, tl_sv *item);

#endif
