/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation of compiled candidates at one node. Unknown facts (an unknown rank, a value that is
 * not constant) make a value ABSENT; a comparison with ABSENT is false, so that a guard holds only
 * on facts. */
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
  bool failed;     /* memory ran out; results are meaningless */
  const char *why; /* set when a form exists in principle but not for this node: a clause */
} tl_npu_eval;

/* The first candidate of x->node whose guard holds, -1: none. *out is NULL then. */
tl_status tl_npu_choose(tl_npu_forms *forms, tl_npu_eval *x, int16_t *candidate,
                        const tl_npu_form **out) TL_NODISCARD;
/* May the port take the value? Exactly the prototype's element types: a later precision mode may
 * change the value's type, the device compiler is told not to. What is unknown may be anything, and
 * indices of 64 bits go where those of 32 are wanted (lower_index.h). */
bool tl_npu_takes(const tl_module *m, const tl_op *npu, const tl_op_port *p, tl_value_id v);
/* True when operands and results that a candidate passes on unchanged have element types that the
 * NPU op's prototype takes, as far as they are known; f32 counts as what precision makes of it. */
bool tl_npu_takes_dtypes(const tl_npu_eval *x, const tl_npu_form *form);

/* True when the guard (NULL: always) holds on what is known. */
bool tl_npu_guard_holds(tl_npu_eval *x, const tl_npu_expr *guard);
/* Value of an index expression, attribute name, predicate (as 0 or 1) or const operand. */
tl_npu_value tl_npu_evaluate(tl_npu_eval *x, const tl_npu_expr *e);
/* Value of an attribute conversion (attrs.c). */
tl_npu_value tl_npu_convert(tl_npu_eval *x, const tl_npu_expr *e);
/* Turns a value into an attribute of the given kind (TL_ATTR_NONE: the value's own); kind NONE in
 * the result when that cannot be done. */
tl_attr tl_npu_attr_from(tl_npu_eval *x, tl_symbol name, uint8_t kind, tl_npu_value v);
/* Operands that an operand expression stands for (operands.c): *n of them, TL_NO_VALUE for an
 * absent one. New constants are added to the node's graph. False with x->why or x->failed set. */
bool tl_npu_operands(tl_npu_eval *x, const tl_npu_expr *e, tl_value_id **out, uint32_t *n);

/* ---- shared by the files above -------------------------------------------------------------- */

static inline tl_npu_value tl_npu_int(int64_t v) {
  return (tl_npu_value){.kind = TL_NPU_V_INT, .u.i = v};
}
/* Value id behind inK or outK; TL_NO_VALUE when absent or another kind of expression. */
tl_value_id tl_npu_port_value(const tl_npu_eval *x, const tl_npu_expr *e);
/* Elements of an integer list: an attribute's, or those of a const operand. False when unknown. */
bool tl_npu_as_ints(tl_npu_eval *x, tl_npu_value v, tl_int_list *out);
/* The same as doubles. */
bool tl_npu_as_floats(tl_npu_eval *x, tl_npu_value v, const double **out, uint32_t *n);
/* Contents of a small constant: integers as INTS, floats as FLOATS; absent when it is none. */
tl_npu_value tl_npu_constant(tl_npu_eval *x, tl_value_id v);
/* The guard tf_nearest (nearest.c). */
bool tl_npu_tf_nearest(tl_npu_eval *x);
/* Room for n elements of `size` bytes in scratch; NULL (and x->failed) when memory is out. */
void *tl_npu_room(tl_npu_eval *x, size_t n, size_t size);
/* Rank of a value, -1 when unknown. */
int tl_npu_rank(const tl_npu_eval *x, tl_value_id v);
/* Dim k (negative: from the end); TL_DIM_UNKNOWN when out of range. */
tl_dim tl_npu_dim(const tl_npu_eval *x, tl_value_id v, int64_t k);

#endif
