/* SPDX-License-Identifier: Apache-2.0 */
/* Shape and type inference. The driver walks nodes in order and calls the op's shape function
 * (tl_infer_NAME, named in the tables of ir/ops), which reads operand types and partial
 * values and states result types. A statement is merged with what the model declared: dtypes must
 * agree (else an error), the more specific dim wins, two different sizes are a warning and the
 * inferred one wins.
 *
 * Partial values: for integer tensors of rank 0 and 1 with few elements (shape arithmetic) the
 * elements themselves are tracked, as numbers or symbolic dims, so that Shape -> Gather -> Concat
 * -> Reshape keeps names. Where every element turns out to be a number, the contents stay with the
 * value (tl_value.tensor) for folding. */
#ifndef TL_IR_INFER_INFER_H
#define TL_IR_INFER_INFER_H

#include "ir/module.h"

enum { TL_MAX_PARTIAL = 1024 }; /* elements tracked per value */

typedef enum tl_elem_kind { TL_ELEM_UNKNOWN, TL_ELEM_INT, TL_ELEM_DIM } tl_elem_kind;

typedef struct tl_elem {
  uint8_t kind;  /* tl_elem_kind */
  int64_t value; /* INT: the number; DIM: a symbolic tl_dim */
} tl_elem;

typedef struct tl_partial {
  const tl_elem *at; /* scratch; NULL: nothing known */
  uint32_t n;
} tl_partial;

typedef struct tl_infer tl_infer;
/* Shape function: reads operand types and attributes, states result types. */
typedef tl_status (*tl_infer_fn)(tl_infer *x, uint32_t node);

/* By op id, generated from the op table; fn NULL: nothing is known about the results. */
typedef struct tl_infer_row {
  tl_infer_fn fn;
  int64_t arg; /* fixed argument of the function, 0 if none */
} tl_infer_row;
extern const tl_infer_row tl_infer_rows[];

struct tl_infer {
  tl_module *m;
  tl_arena *scratch;    /* lives for one run */
  tl_partial *partials; /* by value id, n_partials of them */
  uint32_t n_partials;
  tl_type_id *declared; /* by value id: 1 + the type before this run, 0 until it is first stated */
  uint32_t elems_left;  /* room for tracked elements, bounds the scratch memory of hostile models */
  uint64_t visits_left; /* of nodes; bodies of nested loops are visited several times */
  tl_node_id node;      /* the node being inferred */
  uint32_t depth;       /* of bodies */
};

/* Infers every root graph of the module (a body when its owner is reached). Reports and returns
 * TL_INVALID_MODEL on a type or shape error; types stated until then stay. TL_LIMIT when bodies
 * are nested too deeply. */
tl_status tl_infer_module(tl_module *m) TL_NODISCARD;
/* Infers one node again after a rewrite; only constants serve as partial values. The current types
 * of its results count as declared: clear those that no longer hold. */
tl_status tl_infer_node(tl_module *m, tl_node_id n) TL_NODISCARD;
/* What tl_infer_module tells of a Shape of sizes that are all known: its contents. */
tl_status tl_infer_keep_sizes(tl_module *m, tl_node_id n) TL_NODISCARD;

/* Whether results of the op can be inferred. */
bool tl_infer_knows(tl_op_id op);

/* ---- for shape functions ------------------------------------------------------------------- */

/* Type of operand i (unknown when absent); never NULL. Pointers stay valid until a type is
 * interned: copy what is needed before stating results. */
const tl_type *tl_infer_operand(tl_infer *x, uint32_t i);
static inline bool tl_infer_has(tl_infer *x, uint32_t i) {
  return tl_operand(x->m, x->node, i) != TL_NO_VALUE;
}
/* Argument that the op table gives the shape function of a node. */
int64_t tl_infer_arg(const tl_infer *x, tl_node_id n);
uint32_t tl_infer_n_operands(tl_infer *x);
uint32_t tl_infer_n_results(tl_infer *x);
tl_dtype tl_infer_dtype(tl_infer *x, uint32_t i);
/* Rank of operand i, TL_RANK_UNKNOWN when unknown; its dims (NULL when rank is unknown or 0). */
int tl_infer_rank(tl_infer *x, uint32_t i);
const tl_dim *tl_infer_dims(tl_infer *x, uint32_t i);

/* States result i. No effect beyond the node's results. dims may be NULL with rank <= 0. */
tl_status tl_infer_set(tl_infer *x, uint32_t i, tl_dtype dtype, int rank, const tl_dim *dims);
tl_status tl_infer_set_type(tl_infer *x, uint32_t i, tl_type_id type);
/* States result i with the shape of an operand; dtype NONE: with its dtype too, and then any kind
 * of type is passed on. */
tl_status tl_infer_set_like(tl_infer *x, uint32_t i, uint32_t operand, tl_dtype dtype);

/* Elements of operand i, flattened: those of a constant or tracked ones; .at NULL when nothing is
 * known. Integral elements of f32 and f64 operands appear as numbers, others as unknown. */
tl_partial tl_infer_elems(tl_infer *x, uint32_t i);
/* All elements as plain integers; false unless every one is known. *out in scratch. */
bool tl_infer_ints(tl_infer *x, uint32_t i, tl_int_list *out);
/* Single integer of a one-element operand. */
bool tl_infer_int(tl_infer *x, uint32_t i, int64_t *out);
/* True when tl_infer_elems has a chance for every operand; cheap, reads no constant. */
bool tl_infer_all_tracked(tl_infer *x);
/* Records the elements of result i (copied; ignored beyond TL_MAX_PARTIAL). */
tl_status tl_infer_set_elems(tl_infer *x, uint32_t i, const tl_elem *at, uint32_t n);
static inline tl_dim tl_elem_dim(tl_elem e) { /* as a dim; unknown for negative numbers */
  return e.kind == TL_ELEM_UNKNOWN || (e.kind == TL_ELEM_INT && e.value < 0) ? TL_DIM_UNKNOWN
                                                                              : e.value;
}
static inline tl_elem tl_elem_from_dim(tl_dim d) {
  tl_elem e = {d == TL_DIM_UNKNOWN ? TL_ELEM_UNKNOWN : d >= 0 ? TL_ELEM_INT : TL_ELEM_DIM, d};
  return e;
}

/* States that the node does the same with these numbers, a list of i64, as operand i. */
tl_status tl_infer_substitute(tl_infer *x, uint32_t i, const int64_t *at, uint32_t n);
/* True when nodes of the graph exist once: not in a body that may run several times. Iterations of
 * a loop may differ in more than the types that hold throughout, and a model may declare what it
 * likes there. */
bool tl_infer_exists_once(const tl_module *m, tl_graph_id g);

/* Scratch room for n dims; NULL when memory is out. */
tl_dim *tl_infer_new_dims(tl_infer *x, uint32_t n);
/* Resolves a possibly negative axis; reports an error when it is outside [-rank, rank). */
tl_status tl_infer_axis(tl_infer *x, int64_t axis, int rank, uint32_t *out);
typedef struct tl_infer_view {
  int rank; /* or TL_RANK_UNKNOWN */
  const tl_dim *dims;
} tl_infer_view;

/* The shape of operand i. */
tl_infer_view tl_infer_view_of(tl_infer *x, uint32_t i);
/* Broadcasts two shapes (numpy); *rank TL_RANK_UNKNOWN when unknown. dims has room for
 * TL_MAX_RANK. */
tl_status tl_infer_broadcast_dims(tl_infer *x, tl_infer_view a, tl_infer_view b, int *rank,
                                  tl_dim *dims);
/* Product and quotient of lists of dims with common factors cancelled (n of them each): the dim d
 * with d * product(under) == product(over). Unknown when nothing can be said; *exact is false when
 * sizes are known and do not divide. */
tl_dim tl_infer_quotient(tl_infer *x, const tl_dim *over, uint32_t n_over, const tl_dim *under,
                         uint32_t n_under, bool *exact);
/* Reports a shape or type error at the node, naming its operands with their types, and returns
 * TL_INVALID_MODEL. */
tl_status tl_infer_fail(tl_infer *x, const char *fmt, ...) TL_PRINTF(2, 3);
/* Infers a body graph whose inputs already have their types. */
tl_status tl_infer_graph(tl_infer *x, tl_graph_id g);

#endif
