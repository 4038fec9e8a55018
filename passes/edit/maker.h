/* SPDX-License-Identifier: Apache-2.0 */
/* Makes nodes and constants in a pass, one call each: operands in, result out. Types are inferred
 * and names chosen by the maker. Names are numbered in the order of the calls, so at most one
 * argument of a call may itself be a call: C leaves the order of evaluation open. After the first
 * failure all calls do nothing and return TL_NO_VALUE, so that only the end of a sequence checks
 * for errors. What was made can be taken back as long as nothing else uses it. */
#ifndef TL_PASSES_EDIT_MAKER_H
#define TL_PASSES_EDIT_MAKER_H

#include "ir/graph.h"

/* State of a maker: where nodes go, and the first failure. */
typedef struct tl_maker {
  tl_module *m;
  tl_graph_id graph;
  tl_node_id before; /* new nodes are inserted before it; TL_NO_NODE: appended to the graph */
  tl_node_id like;   /* new nodes take over its scope and stream; TL_NO_NODE: none */
  tl_symbol base;    /* prefix of new names: the first named result of `like` */
  const char *mark;  /* put on each new node (ir/marks.h); NULL: none */
  bool inserted;     /* new nodes are put beside `like`, and compute nothing of it (ir/trace.h) */
  bool no_memory;
  bool clash; /* shapes or dtypes of new nodes contradict each other; not reported */
} tl_maker;

/* Returns a maker that inserts before n and derives names from the first named result of n;
 * TL_NO_NODE: it appends to the main graph, which may have no nodes. */
tl_maker tl_maker_before(tl_module *m, tl_node_id n);
/* Returns true after the first failure. */
static inline bool tl_maker_failed(const tl_maker *k) { return k->no_memory || k->clash; }
/* Returns TL_OK, or reports the failure: TL_NO_MEMORY, or TL_INVALID_MODEL at `like` for operands
 * whose shapes or dtypes contradict each other. */
tl_status tl_maker_status(tl_maker *k) TL_NODISCARD;

/* Makes a node as `spec` says. Without names of results (at most 16) it makes names from those of
 * `like`. Types are inferred. Returns the first result; further ones follow it. */
tl_value_id tl_make_node(tl_maker *k, const tl_node_spec *spec);
/* Makes a node with up to three operands, one result and no attribute; trailing TL_NO_VALUE
 * operands are left out. */
tl_value_id tl_make(tl_maker *k, tl_op_id op, tl_value_id a, tl_value_id b, tl_value_id c);
/* Makes a node with up to two operands, one result and one attribute. */
tl_value_id tl_make_with(tl_maker *k, tl_op_id op, tl_value_id a, tl_value_id b, tl_attr attr);
/* Makes a node with n operands and one result; trailing TL_NO_VALUE operands are left out. attr:
 * kind TL_ATTR_NONE for no attribute. */
tl_value_id tl_make_list(tl_maker *k, tl_op_id op, const tl_value_id *at, uint32_t n, tl_attr attr);

/* Makes an int64 constant of rank 0. */
tl_value_id tl_make_int(tl_maker *k, int64_t v);
/* Makes an int64[n] constant. */
tl_value_id tl_make_ints(tl_maker *k, const int64_t *v, uint32_t n);
/* Makes a constant of rank 0 with one number, which must be 0 unless the dtype is a float. */
tl_value_id tl_make_number(tl_maker *k, tl_dtype dtype, double v);
/* Makes a bool constant of rank 0, or of shape [1] if along_a_dim. */
tl_value_id tl_make_bool(tl_maker *k, bool v, bool along_a_dim);
/* Makes a constant from a tensor, named after `name`. TL_NO_TENSOR counts as out of memory. */
tl_value_id tl_make_constant(tl_maker *k, tl_tensor_id tensor, const char *name);

/* Casts x to a dtype; x itself if it has the dtype already, or is TL_NO_VALUE. */
tl_value_id tl_make_as(tl_maker *k, tl_value_id x, tl_dtype dtype);
/* Casts x to a dtype, whatever it has. */
tl_value_id tl_make_cast(tl_maker *k, tl_value_id x, tl_dtype dtype);
/* Joins n tensors along an axis. */
tl_value_id tl_make_concat(tl_maker *k, const tl_value_id *at, uint32_t n, int64_t axis);
/* Gives x the shape dims[0..n); -1 is the rest. */
tl_value_id tl_make_reshape(tl_maker *k, tl_value_id x, const int64_t *dims, uint32_t n);
/* Makes a list of n tensors. */
tl_value_id tl_make_sequence(tl_maker *k, const tl_value_id *at, uint32_t n);
/* Makes another value that equals x, where x itself cannot stand: an output has a name of its own,
 * and a body gives no value twice. */
tl_value_id tl_make_identity(tl_maker *k, tl_value_id x);
/* Inserts a dim of size 1 at axis. */
tl_value_id tl_make_unsqueeze(tl_maker *k, tl_value_id x, int64_t axis);
/* Removes the dim at axis, which has size 1. */
tl_value_id tl_make_squeeze(tl_maker *k, tl_value_id x, int64_t axis);
/* Takes the elements [from, to) of an axis. */
tl_value_id tl_make_slice(tl_maker *k, tl_value_id x, int64_t axis, int64_t from, int64_t to);
/* Gathers the elements at index `place` of an axis; a scalar `place` removes the axis. */
tl_value_id tl_make_pick(tl_maker *k, tl_value_id x, int64_t axis, tl_value_id place);
/* Permutes the n dims of x. */
tl_value_id tl_make_transpose(tl_maker *k, tl_value_id x, const int64_t *perm, uint32_t n);
/* Returns the size of x along an axis as an int64 scalar: a constant if it is static. axis:
 * -rank..rank-1. */
tl_value_id tl_make_size(tl_maker *k, tl_value_id x, int64_t axis);

/* Infers the types of a node's results from its operands without printing diagnostics. Returns
 * false, and notes the failure in the maker, on contradicting operands or if memory is out. */
bool tl_maker_infer(tl_maker *k, tl_node_id n);

/* Returns a fresh symbol "BASE/WORD", with a number if needed; TL_NO_SYMBOL if memory is out. */
tl_symbol tl_maker_name(tl_maker *k, tl_sv word);

/* Replaces `old`, a result of `like`, by `made` in all uses and in its roles in training. If `old`
 * is a graph output, an Identity before `before` carries its name, so that names of outputs
 * stay. */
void tl_maker_replace(tl_maker *k, tl_value_id old, tl_value_id made);

/* State of the graph for tl_maker_undo: the last node before the insertion point and the number of
 * constants. */
typedef struct tl_maker_mark {
  tl_node_id previous;
  uint32_t n_constants;
} tl_maker_mark;
/* Returns the present state of the maker's graph. */
tl_maker_mark tl_maker_save(const tl_maker *k);
/* Erases the nodes and constants made since tl_maker_save. They must have no users left outside. */
void tl_maker_undo(tl_maker *k, tl_maker_mark mark);

#endif
