/* SPDX-License-Identifier: Apache-2.0 */
/* The flow of memory through one graph: which nodes make and read which buffers, and which nodes
 * have to wait for which. A buffer is the memory of one value and of all views of it. Inputs,
 * outputs and constants of the graph are the caller's and are no buffers.
 *
 * Nodes are addressed by their position in the graph, buffers by the order in which they are made:
 * those of one node follow each other. */
#ifndef TL_PASSES_MEMORY_FLOW_H
#define TL_PASSES_MEMORY_FLOW_H

#include "ir/chip/op_info.h"
#include "ir/module.h"

/* A buffer counts at most this many bytes, so that no sum over a graph overflows. */
#define TL_FLOW_MOST_BYTES (UINT64_C(1) << 40)

typedef struct tl_flow_buffer {
  uint64_t bytes;      /* above 0 */
  uint32_t producer;   /* position */
  uint32_t first_user; /* in flow->users: positions, ascending, each once */
  uint32_t n_users;
} tl_flow_buffer;

typedef struct tl_flow_node {
  tl_node_id id;
  uint32_t first_use; /* in flow->uses: buffers that it reads, each once */
  uint32_t n_uses;
  uint32_t first_result; /* buffer that it makes */
  uint32_t n_results;
  uint32_t first_before; /* in flow->before: positions of nodes that run before it */
  uint32_t n_before;
  uint32_t first_after; /* in flow->after: those that run behind it */
  uint32_t n_after;
  uint64_t work; /* bytes that its bodies need while it runs */
} tl_flow_node;

typedef struct tl_flow {
  const tl_module *m;
  tl_flow_node *nodes;
  uint32_t n_nodes;
  tl_flow_buffer *buffers;
  uint32_t n_buffers;
  uint32_t *uses;
  bool *gives; /* by use: the first buffer that the node makes may lie over this one */
  uint32_t *users;
  uint32_t *before;          /* may name a node twice */
  uint32_t *after;           /* likewise */
  uint64_t inputs;           /* bytes of the graph's inputs */
  uint64_t outputs;          /* bytes of its outputs */
  uint64_t n_unsized;        /* values that have no fixed size: they count 0 */
  tl_value_id first_unsized; /* TL_NO_VALUE: there is none */
} tl_flow;

/* Reads a graph. What its bodies need is found as well, in their given order. info: op information,
 * which tells elementwise NPU ops. Everything lives in the arena. False when memory is out. O(nodes
 * + edges), bodies included once for each level of nesting. */
bool tl_flow_build(tl_flow *f, const tl_module *m, tl_graph_id g, const tl_op_info_set *info,
                   tl_arena *a);

/* Returns the largest number of bytes that buffers have at one time, if the nodes run in this order
 * of positions (NULL: as they stand). While a node runs, its operands and results are there; a
 * result may lie over an operand that nobody reads afterwards. *at, if wanted: the position of the
 * first such node, 0 in an empty graph. left: scratch, [n_buffers]. O(nodes + uses). */
uint64_t tl_flow_peak(const tl_flow *f, const uint32_t *order, uint32_t *left, uint32_t *at);

/* Returns the bytes that its results need beside its operands. An operand that `left` says is read
 * for the last time (count 1) may give its place. */
uint64_t tl_flow_demand(const tl_flow *f, uint32_t node, const uint32_t *left);

/* Returns a number of bytes below which no order of the nodes can stay. For each node, buffers
 * count whose producer runs before it in every order, and a user behind it. UINT64_MAX when memory
 * is out. O(nodes + edges), times a constant. */
uint64_t tl_flow_bound(const tl_flow *f, tl_arena *scratch);

/* Fills in what is in use while each node runs, [n_nodes] by place in the order. */
void tl_flow_trace(const tl_flow *f, const uint32_t *order, uint32_t *left, uint64_t *bytes);

/* Finds an order whose peak is at most that of the given one: the best of the given order, a greedy
 * one, which runs the node next that leaves the fewest bytes in use, and a depth-first one, which
 * makes the heaviest operand first. Between nodes whose place is the same in all orders, each part
 * is chosen by itself, and the parts that need most are searched, with a bounded effort. order:
 * [n_nodes], positions; *peak: theirs. False when memory is out. Deterministic. O((nodes + edges)
 * log nodes). */
bool tl_flow_reorder(const tl_flow *f, tl_arena *scratch, uint32_t *order, uint64_t *peak);

#endif
