/* SPDX-License-Identifier: Apache-2.0 */
/* Shape and type inference. The driver walks nodes in order and calls the op's shape function
 * (tl_infer_NAME, named in the tables of ir/ops), which reads types and partial values of operands
 * and states types of results. A statement is merged with what the model declared: dtypes must
 * agree (else an error), the more specific dim wins, and where two sizes differ there is a warning
 * and the inferred one wins.
 *
 * Partial values: for integer tensors of rank 0 and 1 with few elements (shape arithmetic) the
 * elements themselves are tracked, as numbers or symbolic dims, so that Shape -> Gather -> Concat
 * -> Reshape keeps names. When all elements turn out to be numbers, the contents stay with the
 * value (tl_value.tensor) for folding. */
#ifndef TL_IR_INFER_INFER_H
#define TL_IR_INFER_INFER_H

#include "ir/module.h"

enum { TL_MAX_PARTIAL = 1024 }; /* elements tracked per value */

typedef enum tl_elem_kind { TL_ELEM_UNKNOWN, TL_ELEM_INT, TL_ELEM_DIM } tl_elem_kind;

/* One tracked element. */
typedef struct tl_elem {
  uint8_t kind;  /* tl_elem_kind */
  int64_t value; /* INT: the number; DIM: a symbolic tl_dim */
} tl_elem;

/* The tracked elements of a value, flattened. */
typedef struct tl_partial {
  const tl_elem *at; /* scratch; NULL: nothing known */
  uint32_t n;
} tl_partial;

typedef struct tl_infer tl_infer;
/* A shape function: reads types of operands and attributes, states types of results. Fails with
 * TL_INVALID_MODEL after reporting, or TL_NO_MEMORY. */
typedef tl_status (*tl_infer_fn)(tl_infer *ctx, uint32_t node);

/* A row of the table by op id, generated from the op table. fn NULL: nothing is known about the
 * results. */
typedef struct tl_infer_row {
  tl_infer_fn fn;
  int64_t arg; /* fixed argument of the function, 0 if none */
} tl_infer_row;
extern const tl_infer_row tl_infer_rows[];

/* The state of one run. */
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

/* Infers every root graph of the module, and bodies when their owner is reached. Reports and
 * returns TL_INVALID_MODEL on a type or shape error (types stated until then stay), TL_LIMIT when
 * bodies are nested too deeply or nested loops do not settle, TL_NO_MEMORY. */
tl_status tl_infer_module(tl_module *m) TL_NODISCARD;
/* Infers one node again after a rewrite; only constants serve as partial values. The current types
 * of its results count as declared: clear those that no longer hold. Fails as tl_infer_module. */
tl_status tl_infer_node(tl_module *m, tl_node_id n) TL_NODISCARD;
/* Stores the contents of a Shape node's result when they are known, as tl_infer_module would.
 * TL_NO_MEMORY. */
tl_status tl_infer_keep_sizes(tl_module *m, tl_node_id n) TL_NODISCARD;

/* Returns true when the op has a shape function. */
bool tl_infer_knows(tl_op_id op);

/* ---- for shape functions ------------------------------------------------------------------- */

/* Returns the type of operand i (unknown when absent), never NULL. Valid until a type is interned:
 * copy what is needed before stating results. */
const tl_type *tl_infer_operand(tl_infer *ctx, uint32_t i);
/* Returns true when operand i is present. */
static inline bool tl_infer_has(tl_infer *ctx, uint32_t i) {
  return tl_operand(ctx->m, ctx->node, i) != TL_NO_VALUE;
}
/* Returns the fixed argument that the op table gives a node's shape function. */
int64_t tl_infer_arg(const tl_infer *ctx, tl_node_id n);
/* Operands and results of the node being inferred, absent ones included. */
uint32_t tl_infer_n_operands(tl_infer *ctx);
uint32_t tl_infer_n_results(tl_infer *ctx);
/* Returns the dtype of operand i; TL_DTYPE_NONE when unknown or no tensor. */
tl_dtype tl_infer_dtype(tl_infer *ctx, uint32_t i);
/* Return the rank of operand i, TL_RANK_UNKNOWN when unknown, and its dims, NULL when the rank is
 * unknown or 0. */
int tl_infer_rank(tl_infer *ctx, uint32_t i);
const tl_dim *tl_infer_dims(tl_infer *ctx, uint32_t i);

/* States result i, merging with what is declared; nothing happens beyond the node's results. dims
 * may be NULL with rank <= 0. */
tl_status tl_infer_set(tl_infer *ctx, uint32_t i, tl_dtype dtype, int rank, const tl_dim *dims);
tl_status tl_infer_set_type(tl_infer *ctx, uint32_t i, tl_type_id type);
/* States result i with the shape of an operand. dtype NONE: with its dtype too; any kind of type is
 * then passed on. */
tl_status tl_infer_set_like(tl_infer *ctx, uint32_t i, uint32_t operand, tl_dtype dtype);

/* Returns the elements of operand i, flattened, of a constant or tracked; .at is NULL when nothing
 * is known. Integral elements of f32 and f64 appear as numbers, others as unknown. */
tl_partial tl_infer_elems(tl_infer *ctx, uint32_t i);
/* Gives all elements as plain integers, in scratch; false unless every one is known. */
bool tl_infer_ints(tl_infer *ctx, uint32_t i, tl_int_list *out);
/* Gives the single integer of a one-element operand; false when it is not known. */
bool tl_infer_int(tl_infer *ctx, uint32_t i, int64_t *out);
/* Returns true when tl_infer_elems may know every operand; cheap, as it reads no constant. */
bool tl_infer_all_tracked(tl_infer *ctx);
/* Records a copy of the elements of result i; ignored beyond TL_MAX_PARTIAL. TL_NO_MEMORY. */
tl_status tl_infer_set_elems(tl_infer *ctx, uint32_t i, const tl_elem *at, uint32_t n);
static inline tl_dim tl_elem_dim(tl_elem e) { /* as a dim; unknown for negative numbers */
  return e.kind == TL_ELEM_UNKNOWN || (e.kind == TL_ELEM_INT && e.value < 0) ? TL_DIM_UNKNOWN
                                                                             : e.value;
}
/* Returns a dim as an element: number, symbol or unknown. */
static inline tl_elem tl_elem_from_dim(tl_dim d) {
  tl_elem e = {d == TL_DIM_UNKNOWN ? TL_ELEM_UNKNOWN : d >= 0 ? TL_ELEM_INT : TL_ELEM_DIM, d};
  return e;
}

/* Records that the node does the same with these numbers, a list of i64, as operand i.
 * TL_NO_MEMORY. */
tl_status tl_infer_substitute(tl_infer *ctx, uint32_t i, const int64_t *at, uint32_t n);
/* Returns true when nodes of the graph run at most once: not in a body that may run several times.
 * Iterations of a loop may differ in more than the types that hold throughout, and a model may
 * declare what it likes there. */
bool tl_infer_exists_once(const tl_module *m, tl_graph_id g);

/* Returns room for n dims in scratch, NULL when memory is out. */
tl_dim *tl_infer_new_dims(tl_infer *ctx, uint32_t n);
/* Resolves an axis that may count from the end; reports an error outside of [-rank, rank). */
tl_status tl_infer_axis(tl_infer *ctx, int64_t axis, int rank, uint32_t *out);
/* A shape: dims of somebody else. */
typedef struct tl_infer_view {
  int rank; /* or TL_RANK_UNKNOWN */
  const tl_dim *dims;
} tl_infer_view;

/* Returns the shape of operand i, borrowed as in tl_infer_dims. */
tl_infer_view tl_infer_view_of(tl_infer *ctx, uint32_t i);
/* Broadcasts two shapes as numpy does; *rank is TL_RANK_UNKNOWN when unknown. dims has room for
 * TL_MAX_RANK. Reports shapes that do not fit. */
tl_status tl_infer_broadcast_dims(tl_infer *ctx, tl_infer_view a, tl_infer_view b, int *rank,
                                  tl_dim *dims);
/* Returns the dim d with d * product(under) == product(over), with common factors cancelled.
 * Unknown when nothing can be said; *exact is false when the sizes are known and do not divide. */
tl_dim tl_infer_quotient(tl_infer *ctx, const tl_dim *over, uint32_t n_over, const tl_dim *under,
                         uint32_t n_under, bool *exact);
/* Reports a shape or type error at the node, with its operands and their types, and returns
 * TL_INVALID_MODEL. */
tl_status tl_infer_fail(tl_infer *ctx, const char *fmt, ...) TL_PRINTF(2, 3);
#ifdef TL_ANALYSIS /* as in support/diag.h */
#define tl_infer_fail(ctx, ...) ((void)tl_infer_fail(ctx, __VA_ARGS__), TL_INVALID_MODEL)
#endif
/* Infers a body graph whose inputs have their types already. Fails as tl_infer_module. */
tl_status tl_infer_graph(tl_infer *ctx, tl_graph_id g);

#endif
