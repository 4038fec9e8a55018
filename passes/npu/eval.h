/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates compiled candidates (guards, operands, attributes) at one node. An unknown fact
 * (unknown rank, a value that is not constant) gives an ABSENT value. A comparison with ABSENT is
 * false, so that a guard holds only on known facts; a negated predicate is the exception that
 * guards must mind. */
#ifndef TL_PASSES_NPU_EVAL_H
#define TL_PASSES_NPU_EVAL_H

#include "passes/npu/expr.h"

typedef enum tl_npu_value_kind {
  TL_NPU_V_ABSENT = 0,
  TL_NPU_V_INT,
  TL_NPU_V_FLOAT,
  TL_NPU_V_STRING, /* u.s */
  TL_NPU_V_DTYPE,  /* u.i: tl_dtype */
  TL_NPU_V_INTS,
  TL_NPU_V_FLOATS,
  TL_NPU_V_STRINGS, /* u.ids */
  TL_NPU_V_TENSOR   /* u.t */
} tl_npu_value_kind;

typedef struct tl_npu_value {
  uint8_t kind; /* tl_npu_value_kind */
  uint32_t n;   /* elements of the list kinds */
  union {
    int64_t i;
    double f;
    tl_symbol s;
    tl_tensor_id t;
    const int64_t *is;
    const double *fs;
    const uint32_t *ids;
  } u;
} tl_npu_value;

typedef struct tl_npu_eval {
  tl_module *m;
  tl_arena *scratch;
  const tl_options *options;
  tl_node_id node;
  bool failed;     /* memory is out; results are meaningless */
  const char *why; /* reason, as a clause, why this node cannot have the form; else NULL */
} tl_npu_eval;

/* Finds the first candidate of x->node whose guard holds: *candidate is its index and *out its
 * form, or -1 and NULL. Returns TL_NO_MEMORY, or TL_INTERNAL for a mistake in the op table; both
 * reported. A failure during evaluation sets x->failed. */
tl_status tl_npu_choose(tl_npu_forms *forms, tl_npu_eval *x, int16_t *candidate,
                        const tl_npu_form **out) TL_NODISCARD;
/* Returns true if port p of the NPU op takes value v. The element type must be one of the
 * prototype's: although precision may change the type of v later, the device compiler is told
 * not to. Unknown types may be anything, and int64 indices are accepted by int32 ports
 * (lower_index.h). */
bool tl_npu_takes(const tl_module *m, const tl_op *npu, const tl_op_port *p, tl_value_id v);
/* Returns true if the NPU op's prototype takes the element types of all operands and results that
 * the form passes on unchanged. Unknown types pass; f32 counts as 16-bit where precision will make
 * it so. */
bool tl_npu_takes_dtypes(const tl_npu_eval *x, const tl_npu_form *form);

/* Returns true if the guard holds on known facts. NULL always holds. */
bool tl_npu_guard_holds(tl_npu_eval *x, const tl_npu_expr *guard);
/* Returns the value of an index expression, attribute name, predicate (0 or 1) or constant
 * operand. */
tl_npu_value tl_npu_evaluate(tl_npu_eval *x, const tl_npu_expr *e);
/* Returns the value of an attribute conversion (attrs.c). */
tl_npu_value tl_npu_convert(tl_npu_eval *x, const tl_npu_expr *e);
/* Makes an attribute of the given kind (TL_ATTR_NONE: the value's own kind). The result has kind
 * NONE if the value cannot be converted. */
tl_attr tl_npu_attr_from(tl_npu_eval *x, tl_symbol name, uint8_t kind, tl_npu_value v);
/* Evaluates an operand expression (operands.c): *n operands in scratch, TL_NO_VALUE for an absent
 * one. New constants are added to the node's graph. Returns false with x->why or x->failed set. */
bool tl_npu_operands(tl_npu_eval *x, const tl_npu_expr *e, tl_value_id **out, uint32_t *n);

/* ---- shared by the files above -------------------------------------------------------------- */

static inline tl_npu_value tl_npu_int(int64_t v) {
  return (tl_npu_value){.kind = TL_NPU_V_INT, .u.i = v};
}
/* Returns the value of inK or outK; TL_NO_VALUE if it is absent or e is another kind of
 * expression. */
tl_value_id tl_npu_port_value(const tl_npu_eval *x, const tl_npu_expr *e);
/* Reads an integer list of an attribute or constant operand; a single integer counts as a list of
 * one. Returns false if the elements are unknown. */
bool tl_npu_as_ints(tl_npu_eval *x, tl_npu_value v, tl_int_list *out);
/* Reads a list of numbers as doubles, in scratch. Returns false if they are unknown. */
bool tl_npu_as_floats(tl_npu_eval *x, tl_npu_value v, const double **out, uint32_t *n);
/* Returns the contents of a constant of at most 2^20 elements: integers as INTS, floats as FLOATS;
 * ABSENT for any other value. */
tl_npu_value tl_npu_constant(tl_npu_eval *x, tl_value_id v);
/* Evaluates the guard tf_nearest (nearest.c). O(output sizes). */
bool tl_npu_tf_nearest(tl_npu_eval *x);
/* Returns zeroed scratch memory for n elements of `size` bytes; NULL, with x->failed set, if memory
 * is out. */
void *tl_npu_room(tl_npu_eval *x, size_t n, size_t size);
/* Returns the rank of a value; -1 if unknown. */
int tl_npu_rank(const tl_npu_eval *x, tl_value_id v);
/* Returns dim k (negative: from the end); TL_DIM_UNKNOWN if k is out of range or the rank
 * unknown. */
tl_dim tl_npu_dim(const tl_npu_eval *x, tl_value_id v, int64_t k);

#endif
