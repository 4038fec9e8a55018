/* SPDX-License-Identifier: Apache-2.0 */
/* For kernels only: what a kernel sees and may do.
 *
 * A kernel is `tl_status tl_eval_NAME(tl_eval *x)`, named by a line `eval NAME [ARG] [wide]` in the
 * op's block of ir/ops. It reads operands x->in[i] (NULL: absent) and attributes of x->node, checks
 * them (the model is hostile: shapes, axes, indices may be anything, and attributes that the table
 * demands may be absent; number, kinds and dtypes of the operands obey the table) and makes every
 * result of the node with tl_eval_result, tl_eval_view or tl_eval_pass. It never
 * changes an operand.
 *
 * `wide`: f16, bf16 and fp8 operands arrive as f32, and an f32 result is rounded to the dtype the
 * module states for it. Such a kernel handles f32 and f64 only.
 *
 * Loops over elements go through tl_eval_for; what index i writes must not depend on how the range
 * was cut. In exact mode (x->exact) sums run in index order and elementary functions come from
 * ir/eval/math/elementary.h; a kernel that has no faster way ignores the flag. */
#ifndef TL_IR_EVAL_KERNEL_KERNEL_H
#define TL_IR_EVAL_KERNEL_KERNEL_H

#include "ir/eval/kernel/kernels_gen.h"
#include "ir/eval/kernel/run.h"
#include "ir/ops_gen.h"

typedef struct tl_eval_run tl_eval_run; /* the run around it, for control flow */

struct tl_eval {
  tl_module *m;
  tl_node_id node;
  const tl_host *const *in; /* [n_in] */
  tl_host **out;            /* [n_out], NULL until made */
  uint32_t n_in;
  uint32_t n_out;
  int64_t arg;     /* ARG of the table */
  bool exact;
  tl_pool *pool;   /* may be NULL */
  uint64_t seed;
  tl_host_heap *heap;
  tl_arena *scratch; /* rewound after the kernel */
  tl_eval_run *run;
};

/* Operand i or NULL. */
static inline const tl_host *tl_eval_in(const tl_eval *x, uint32_t i) {
  return i < x->n_in ? x->in[i] : NULL;
}

/* Reports what is wrong at the node (operand shapes are added) and returns TL_INVALID_MODEL. */
tl_status tl_eval_fail(tl_eval *x, const char *fmt, ...) TL_PRINTF(2, 3);
/* The same for something well formed that a kernel cannot do: TL_UNSUPPORTED. */
tl_status tl_eval_unsupported(tl_eval *x, const char *fmt, ...) TL_PRINTF(2, 3);
tl_status tl_eval_no_memory(tl_eval *x); /* of scratch */

/* Makes result i; *out is written by the kernel. Reports when the size is beyond the memory limit.
 * A result beyond n_out is made all the same and dropped after the kernel, so that a kernel need
 * not ask which optional results are wanted; tl_eval_wants says whether it pays to compute one. */
tl_status tl_eval_result(tl_eval *x, uint32_t i, tl_dtype dtype, int rank, const int64_t *dims,
                         tl_host **out) TL_NODISCARD;
/* With the shape of a tensor. */
tl_status tl_eval_result_like(tl_eval *x, uint32_t i, tl_dtype dtype, const tl_host *like,
                              tl_host **out) TL_NODISCARD;
/* Result i is the operand's bytes in another shape. */
tl_status tl_eval_view(tl_eval *x, uint32_t i, const tl_host *of, int rank, const int64_t *dims)
    TL_NODISCARD;
/* Result i is an existing value (retained). */
tl_status tl_eval_pass(tl_eval *x, uint32_t i, const tl_host *value) TL_NODISCARD;
bool tl_eval_wants(const tl_eval *x, uint32_t i);

/* Scratch memory that lives until the kernel returns; NULL when memory is out (not reported). */
void *tl_eval_scratch(tl_eval *x, uint64_t n, size_t size);

/* Attributes with the table's defaults. */
int64_t tl_eval_int(const tl_eval *x, tl_symbol name, int64_t fallback);
float tl_eval_float(const tl_eval *x, tl_symbol name, float fallback);
tl_sv tl_eval_string(const tl_eval *x, tl_symbol name);
tl_int_list tl_eval_ints(const tl_eval *x, tl_symbol name); /* .at NULL when absent */

/* Operand i, an integer tensor, as a list in scratch; .at NULL and n 0 when absent. */
tl_status tl_eval_operand_ints(tl_eval *x, uint32_t i, tl_int_list *out) TL_NODISCARD;
/* Its only element; `fallback` when absent; an error when it has more or fewer than one. */
tl_status tl_eval_operand_int(tl_eval *x, uint32_t i, int64_t fallback, int64_t *out) TL_NODISCARD;
tl_status tl_eval_operand_float(tl_eval *x, uint32_t i, double fallback, double *out) TL_NODISCARD;

/* Resolves a possibly negative axis against rank; an error outside [-rank, rank). */
tl_status tl_eval_axis(tl_eval *x, int64_t axis, int rank, uint32_t *out) TL_NODISCARD;
/* Checks the rank of an operand that must be there. */
tl_status tl_eval_need_rank(tl_eval *x, uint32_t i, int min, int max) TL_NODISCARD;

/* Numpy broadcasting of n operands: shape of the result, and per operand its element strides in
 * that shape, 0 along broadcast axes. strides[k] has room for TL_MAX_RANK. */
tl_status tl_eval_broadcast(tl_eval *x, const tl_host *const *operands, uint32_t n, int *rank,
                            int64_t *dims, int64_t (*strides)[TL_MAX_RANK]) TL_NODISCARD;
/* Product of dims[from..to); false on overflow. */
bool tl_eval_product(const int64_t *dims, int from, int to, int64_t *out);

/* Calls fn(user, begin, end) over parts of [0, n), on the pool when n is at least twice `grain`,
 * else once for the whole range. */
typedef void (*tl_eval_range)(void *user, uint64_t begin, uint64_t end);
void tl_eval_for(const tl_eval *x, uint64_t n, uint64_t grain, tl_eval_range fn, void *user);

/* Runs a body with the given inputs; outputs are the caller's to release. Values of the graphs
 * around it are visible. */
tl_status tl_eval_body(tl_eval *x, tl_graph_id body, tl_host *const *inputs, uint32_t n_inputs,
                       tl_host **outputs, uint32_t n_outputs) TL_NODISCARD;
/* Body in a graph attribute; 0 when it is not set. */
tl_graph_id tl_eval_body_attr(const tl_eval *x, tl_symbol name);

/* For the driver: checks the operands against the op table. */
tl_status tl_eval_signature(tl_eval *x) TL_NODISCARD;

#endif
