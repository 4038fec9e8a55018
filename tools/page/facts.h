/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks with what is known of a model beside its graph: weights, rules, decisions, and figures of
 * nodes to lay over the graph. Functions that add chunks run behind the passes; lack of memory is
 * noted in the chunks and in the record. */
#ifndef TL_TOOLS_PAGE_FACTS_H
#define TL_TOOLS_PAGE_FACTS_H

#include "passes/precision/decision.h"
#include "support/json_writer.h"
#include "tools/page/model.h"

/* weights.c: adds chunk weights. */
void tl_view_weights(tl_view_model *v);
/* decisions.c: add chunks rules, decisions and overlay-near-miss. */
void tl_view_rules(tl_view_model *v);
void tl_view_decisions(tl_view_model *v);
/* reasons.c: keeps why tensors get their dtypes and casts; a hook of passes. TL_NO_MEMORY. */
tl_status tl_view_reasons_pass(tl_view_model *v, const tl_pass_event *e) TL_NODISCARD;
/* precision.c: keeps what was decided about dtypes, while the decision is there. */
void tl_view_precision_keep(tl_view_model *v, const tl_precision *d);
/* Adds chunk precision; nothing where no dtype was decided about. */
void tl_view_precision(tl_view_model *v);
/* figures.c: adds overlays of the last state: dtype, casts, weights, macs, traffic, kernels,
 * fusion, streams. */
void tl_view_figures(tl_view_model *v);
/* op_docs.c: adds chunk ops, about the ops that occur in any state. */
void tl_view_ops(tl_view_model *v);
/* errors.c: adds errors and overlay-error of what verify found. TL_IO, TL_INVALID_ARGUMENT,
 * reported. */
tl_status tl_view_errors(tl_view_model *v) TL_NODISCARD;
/* timeline.c: adds chunk timeline of a training step; nothing for other models. */
void tl_view_timeline(tl_view_model *v);

/* An overlay that is being made: a value and a note for each of some nodes. */
typedef struct tl_view_overlay {
  tl_u32_vec nodes;
  tl_u32_vec notes; /* texts */
  tl_buf values;    /* a JSON array */
  tl_json_writer list;
  bool failed;
} tl_view_overlay;

/* What an overlay is called. */
typedef struct tl_view_title {
  const char *name; /* of the chunk, behind "overlay-" */
  const char *title;
  const char *unit; /* "" without one */
  const char *kind; /* "number", "category" */
} tl_view_title;

void tl_view_overlay_begin(tl_view_overlay *o);
/* Add a node with a number, or with a text as value. note: a text. */
void tl_view_overlay_number(tl_view_overlay *o, tl_node_id n, double value, uint32_t note);
void tl_view_overlay_text(tl_view_model *v, tl_view_overlay *o, tl_node_id n, uint32_t value,
                          uint32_t note);
/* Adds the chunk, unless no node is in it, and releases the overlay. */
void tl_view_overlay_end(tl_view_model *v, tl_view_overlay *o, const tl_view_title *t);

#endif
