/* SPDX-License-Identifier: Apache-2.0 */
/* Laws: how the dims of a node's operands and results correspond, so that the node can compute with
 * them in another order. A node has axes; each dim of an operand or result is one of them. A node
 * in order o has its axes in that order, and so have its operands and results, as far as they have
 * them. Laws are read before anything moves, and stay true: an order is relative to what was. */
#ifndef TL_PASSES_LAYOUT_LAW_H
#define TL_PASSES_LAYOUT_LAW_H

#include "ir/module.h"
#include "passes/layout/order.h"

typedef enum tl_law_kind {
  TL_LAW_EACH,
  TL_LAW_SPREAD,
  TL_LAW_REDUCED,
  TL_LAW_PICKED,
  TL_LAW_RESHAPED,
  TL_LAW_DROPPED,
  TL_LAW_INSERTED,
  TL_LAW_SIZED,
  TL_LAW_COUNTED
} tl_law_kind;

typedef enum tl_law_axis {
  TL_LAW_AXIS_NONE,
  TL_LAW_AXIS_ATTR,
  TL_LAW_AXIS_TAIL,
  TL_LAW_AXIS_ROWS,
  TL_LAW_AXIS_SCALES,
  TL_LAW_AXIS_BEHIND
} tl_law_axis;
typedef enum tl_law_results {
  TL_LAW_RESULTS_ALL,
  TL_LAW_RESULTS_ONE,
  TL_LAW_RESULTS_FIRST,
  TL_LAW_RESULTS_NO
} tl_law_results;

/* A row of passes/layout/ops.tbl. */
typedef struct tl_law_row {
  const char *operands;
  uint8_t kind;
  uint8_t axis;
  uint8_t kept;
  uint8_t results;
  bool sums;
} tl_law_row;

enum { TL_MOST_TRIED = 4 };

/* The law of a node. */
typedef struct tl_law {
  const tl_law_row *row;
  uint8_t n_axes;
  uint8_t n_in;  /* dims of operand 0, unless the kind is SPREAD */
  uint8_t n_out; /* dims of the results */
  bool plain;    /* no order takes other nodes than another */
  uint16_t kept; /* bits of axes that stay where they are */
  tl_order in;   /* axis of each dim of operand 0 */
  tl_order out;  /* axis of each dim of a result */
  tl_order now;  /* the order of the node, as decided so far */
  tl_order then; /* its order in the region under examination */
  uint32_t at;   /* 1 + its place in that region; 0: not there */
  uint8_t visits;
  uint8_t n_tried;
  tl_order tried[TL_MOST_TRIED];
} tl_law;

/* Dims of an operand or a result, in axes of the node. */
typedef struct tl_law_port {
  uint8_t n;
  bool whole; /* they are the axes of the node, one by one */
  tl_order axes;
} tl_law_port;

/* Reads the law of a node. exact: laws that add numbers up in another order do not count. Returns
 * false if the node has none, or if something that it needs is not known. */
bool tl_law_read(const tl_module *m, tl_node_id n, bool exact, tl_law *out);

/* Gives the dims of operand i; false if the order does not concern it: scalars, sizes, weights. */
bool tl_law_operand(const tl_law *law, const tl_module *m, tl_node_id n, uint32_t i,
                    tl_law_port *out);
/* Gives the dims of result i; false as above. */
bool tl_law_result(const tl_law *law, uint32_t i, tl_law_port *out);

/* Returns the order of the dims of a port when the node has order o. */
tl_order tl_law_seen(tl_law_port port, tl_order o);
/* Returns the order of a node that gives the port the order `seen`, as near to `o` as may be. */
tl_order tl_law_wanting(tl_law_port port, tl_order o, tl_order seen);

/* Returns true if the node can have order o. */
bool tl_law_allows(const tl_law *law, const tl_module *m, tl_node_id n, tl_order o);
/* Returns how many nodes it takes beside or instead of the node itself in order o. Constants cost
 * nothing. */
uint32_t tl_law_nodes(const tl_law *law, const tl_module *m, tl_node_id n, tl_order o);

/* What becomes of operand i of a SPREAD node in order o, if it has fewer dims than the node. */
typedef enum tl_law_beside {
  TL_LAW_AS_IS,  /* it stays aligned */
  TL_LAW_WEIGHT, /* it is constant, or dequantizes a constant that it alone uses: that is turned */
  TL_LAW_VALUE   /* it gets dims of size 1 by a node */
} tl_law_beside;
tl_law_beside tl_law_beside_of(const tl_law *law, const tl_module *m, tl_node_id n, uint32_t i,
                               tl_order o);

/* Returns how many numbers operand i has for each axis: 1, or 2, begins before ends; 0 if it is no
 * such operand. */
uint32_t tl_law_runs(const tl_law *law, const tl_module *m, tl_node_id n, uint32_t i);
/* Returns true if operand i lists axes. *first: without it the first ones are meant. */
bool tl_law_lists_axes(const tl_law *law, uint32_t i, bool *first);

/* Lists the sizes of a Reshape in order o, for its operand 1: *spec has n_out entries. Returns
 * false if they cannot be said. *same: the shape does not change. */
bool tl_law_reshape(const tl_law *law, const tl_module *m, tl_node_id n, tl_order o, int64_t *spec,
                    bool *same);

/* Reads a constant list of integers of at most `most` elements; false otherwise. */
bool tl_law_list(const tl_module *m, tl_value_id v, int64_t *at, uint32_t most, uint32_t *n);

#endif
