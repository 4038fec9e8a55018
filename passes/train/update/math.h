/* SPDX-License-Identifier: Apache-2.0 */
/* Computes update ops in arithmetic, by the schemas of ai.onnx.preview.training and com.microsoft.
 * Each tensor gets one set of nodes; what tensors share is computed once. The arithmetic is written
 * in passes/definitions/formulas.tlr; rules that expand these ops use it, too. */
#ifndef TL_PASSES_TRAIN_UPDATE_MATH_H
#define TL_PASSES_TRAIN_UPDATE_MATH_H

#include "passes/engine/formula.h"

enum { TL_UPDATE_KINDS = 4 }; /* of tensors: weights, gradients, at most two states */

typedef struct tl_update_math tl_update_math;

/* How an op is spelled. */
typedef struct tl_update_formula {
  tl_op_id op;
  uint32_t shared;                  /* operands before the tensors: rate, count of steps */
  uint32_t kinds;                   /* of tensors that go in: weights, gradients, states */
  bool sequences;                   /* kinds are lists; result 0 is a flag */
  bool all_needs_gradient;          /* nothing can be computed before the gradient is there */
  float epsilon;                    /* where the node says nothing */
  void (*share)(tl_update_math *u); /* what tensors share; NULL: only the rate */
  void (*step)(tl_update_math *u, uint32_t i);
} tl_update_formula;

/* Returns the formula of an op, NULL if there is none. */
const tl_update_formula *tl_update_formula_of(tl_op_id op);

/* Returns how many kinds of tensors an op takes whose operands are rate, count, then all tensors of
 * each kind: Adagrad, Adam and Momentum. 0: another op. */
uint32_t tl_update_kinds(tl_op_id op);
/* Returns true if the module had an op of which tl_update_kinds knows. */
bool tl_update_had_kinds(const tl_module *m);

/* One update op: its tensors, and what they share, as numbers of the tensors' dtype. */
struct tl_update_math {
  const tl_update_formula *f;
  tl_pass *p;
  tl_ruleset *formulas;
  tl_node_id n;
  tl_maker k; /* nodes go in front of n */
  tl_dtype dtype;
  uint32_t count;                         /* tensors */
  tl_node_id constructs[TL_UPDATE_KINDS]; /* sequences: what joins the tensors of each kind */
  const tl_value_id *in[TL_UPDATE_KINDS]; /* [count] weights, gradients, states */
  tl_value_id *out[TL_UPDATE_KINDS - 1];  /* [count] weights, states */
  tl_value_id rate;
  tl_value_id count_of_steps; /* int64[] */
  tl_value_id steps;          /* the same as the dtype; made when it is wanted */
  tl_value_id squares;        /* what the second moment is divided by, TL_NO_VALUE: 1 */
  tl_value_id before, after;  /* factors of weights; Momentum: of gradients; TL_NO_VALUE: 1 */
  bool ahead;                 /* Momentum looks ahead */
  double alpha, beta, epsilon, norm, norm_post;
};

/* Finds the tensors of a node. Returns false if the node has no formula, a tensor is missing,
 * dtypes differ or are neither f32 nor f64, a rank is unknown, or memory is out (u->k.no_memory).
 * Changes nothing. */
bool tl_update_math_open(tl_update_math *u, tl_pass *p, tl_module *m, tl_node_id n);
/* Makes the nodes and fills u->out; where an operand `update_signal` says so, with the old values.
 * Failures are kept by the maker. */
void tl_update_math_make(tl_update_math *u);

#endif
