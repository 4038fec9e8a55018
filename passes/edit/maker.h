/* SPDX-License-Identifier: Apache-2.0 */
/* Making nodes in a pass, one call each: operands in, result out, names and types by themselves.
 * Names are numbered in the order of the calls, so at most one argument of a call may be a call
 * itself: C leaves their order open.
 * After the first failure the calls do nothing and return TL_NO_VALUE, so that only the end of a
 * sequence has to look. What was made can be taken back as long as nobody else uses it. */
#ifndef TL_PASSES_EDIT_MAKER_H
#define TL_PASSES_EDIT_MAKER_H

#include "ir/graph.h"

typedef struct tl_maker {
  tl_module *m;
  tl_graph_id graph;
  tl_node_id before; /* new nodes go in front of it; TL_NO_NODE: at the end of the graph */
  tl_node_id like;   /* new nodes take over its scope and stream; TL_NO_NODE: they have none */
  tl_symbol base;    /* new values are called after this, the first named result of `like` */
  bool no_memory;
  bool clash;        /* shapes or dtypes of new nodes contradict each other; not reported */
} tl_maker;

/* Makes nodes in front of n, called after its first result that has a name. */
tl_maker tl_maker_before(tl_module *m, tl_node_id n);
static inline bool tl_maker_failed(const tl_maker *k) { return k->no_memory || k->clash; }
/* TL_OK; or a reported TL_NO_MEMORY or, for a clash, TL_INVALID_MODEL at `like`. */
tl_status tl_maker_status(tl_maker *k) TL_NODISCARD;

/* A node as spec says, its results called after `like`; types are inferred. Returns the first
 * result; further ones follow it. */
tl_value_id tl_make_node(tl_maker *k, const tl_node_spec *spec);
/* Nodes of one result without or with one attribute; trailing TL_NO_VALUE operands are left out. */
tl_value_id tl_make(tl_maker *k, tl_op_id op, tl_value_id a, tl_value_id b, tl_value_id c);
tl_value_id tl_make_with(tl_maker *k, tl_op_id op, tl_value_id a, tl_value_id b, tl_attr attr);
/* A node over a list of operands. */
tl_value_id tl_make_list(tl_maker *k, tl_op_id op, const tl_value_id *at, uint32_t n, tl_attr attr);

/* Constants: int64 of rank 0 or 1; one number of rank 0, 0 if it is no float; one bool of rank 0,
 * or of one element along a dim; a tensor. */
tl_value_id tl_make_int(tl_maker *k, int64_t v);
tl_value_id tl_make_ints(tl_maker *k, const int64_t *v, uint32_t n);
tl_value_id tl_make_number(tl_maker *k, tl_dtype dtype, double v);
tl_value_id tl_make_bool(tl_maker *k, bool v, bool along_a_dim);
tl_value_id tl_make_constant(tl_maker *k, tl_tensor_id tensor, const char *name);

/* Often wanted: x with a dim of 1 at axis / without it; the slice [from, to) along an axis; the
 * elements at one place of an axis, which goes away. */
tl_value_id tl_make_unsqueeze(tl_maker *k, tl_value_id x, int64_t axis);
tl_value_id tl_make_squeeze(tl_maker *k, tl_value_id x, int64_t axis);
tl_value_id tl_make_slice(tl_maker *k, tl_value_id x, int64_t axis, int64_t from, int64_t to);
tl_value_id tl_make_pick(tl_maker *k, tl_value_id x, int64_t axis, tl_value_id place);
tl_value_id tl_make_transpose(tl_maker *k, tl_value_id x, const int64_t *perm, uint32_t n);
/* Size of x along an axis as int64[]: a constant where it is known. */
tl_value_id tl_make_size(tl_maker *k, tl_value_id x, int64_t axis);

/* Infers the types of a node's results from its operands; false, and a failure, on a clash. */
bool tl_maker_infer(tl_maker *k, tl_node_id n);

/* A symbol "BASE/WORD" that no value has. */
tl_symbol tl_maker_name(tl_maker *k, tl_sv word);

/* `made` takes the place of `old`, a result of `like`: its uses and, where it leaves the graph, its
 * name (by an Identity that goes in front of `before`). */
void tl_maker_replace(tl_maker *k, tl_value_id old, tl_value_id made);

/* Where the graph stands, and back to that: erases nodes and constants made since. */
typedef struct tl_maker_mark {
  tl_node_id previous;
  uint32_t n_constants;
} tl_maker_mark;
tl_maker_mark tl_maker_save(const tl_maker *k);
void tl_maker_undo(tl_maker *k, tl_maker_mark mark);

#endif
