/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel sees and may do: every kernel includes this file, the driver (run.h) is not its
 * concern.
 *
 * A kernel is `tl_status tl_eval_NAME(tl_eval *x)`, named by a line `eval NAME [ARG] [FLAGS]` in
 * the op's block of ir/ops. It reads operands x->in[i] (NULL: absent) and attributes of x->node,
 * and makes every result of the node with tl_eval_result, tl_eval_view or tl_eval_pass. It never
 * changes an operand.
 *
 * The model is hostile. The driver has checked number, kinds and dtypes of the operands against the
 * op table. The kernel must check the rest: shapes, axes and indices may be anything, and
 * attributes that the table demands may be absent.
 *
 * `wide`: f16, bf16 and fp8 operands arrive as f32, and an f32 result is rounded to the dtype that
 * the module states for it. Such a kernel handles f32 and f64 only.
 *
 * `unaligned`: the operand may be the weight of a file at an address that is no multiple of its
 * element's size. Such a kernel reads it by memcpy, and large weights are not copied for it.
 *
 * Loops over elements go through tl_eval_for. What index i writes must not depend on how the range
 * was cut, so that the number of threads changes no byte. In exact mode (x->exact) sums run in
 * index order and elementary functions come from ir/eval/math/elementary.h; a kernel that has no
 * faster way ignores the flag. */
#ifndef TL_IR_EVAL_KERNEL_KERNEL_H
#define TL_IR_EVAL_KERNEL_KERNEL_H

#include "ir/eval/kernel/kernels_gen.h"
#include "ir/host.h"
#include "ir/ops_gen.h"
#include "support/pool.h"

typedef struct tl_eval_run tl_eval_run; /* the run that calls the kernel (run.c) */

/* One call of a kernel. The driver owns everything that it points to. */
struct tl_eval {
  tl_module *m;
  tl_node_id node;
  const tl_host *const *in; /* [n_in] */
  tl_host **out;            /* [n_out], NULL until made */
  uint32_t n_in;
  uint32_t n_out;
  int64_t arg; /* ARG of the table */
  bool exact;
  tl_pool *pool; /* may be NULL */
  uint64_t seed;
  tl_host_heap *heap;
  tl_arena *scratch; /* rewound after the kernel */
  tl_eval_run *run;
};

/* Returns operand i, NULL when the node has none or leaves it out: the op table says which are
 * always there, which tools of tests/analyze cannot know. */
#ifdef TL_ANALYSIS
const tl_host *tl_eval_in(const tl_eval *ctx, uint32_t i);
#else
static inline const tl_host *tl_eval_in(const tl_eval *ctx, uint32_t i) {
  return i < ctx->n_in ? ctx->in[i] : NULL;
}
#endif

/* Reports a fault of the model at the node and returns TL_INVALID_MODEL. The types and shapes of
 * the operands are appended to the message. */
tl_status tl_eval_fail(tl_eval *ctx, const char *fmt, ...) TL_PRINTF(2, 3);
/* Reports a valid model that the kernel cannot compute, and returns TL_UNSUPPORTED. */
tl_status tl_eval_unsupported(tl_eval *ctx, const char *fmt, ...) TL_PRINTF(2, 3);
/* Reports that memory is out, with the bytes of all live values, and returns TL_NO_MEMORY. */
tl_status tl_eval_no_memory(tl_eval *ctx);
#ifdef TL_ANALYSIS /* as in support/diag.h */
#define tl_eval_fail(ctx, ...) ((void)tl_eval_fail(ctx, __VA_ARGS__), TL_INVALID_MODEL)
#define tl_eval_unsupported(ctx, ...) ((void)tl_eval_unsupported(ctx, __VA_ARGS__), TL_UNSUPPORTED)
#define tl_eval_no_memory(ctx) ((void)tl_eval_no_memory(ctx), TL_NO_MEMORY)
#endif

/* Makes result i, uninitialized, and returns it in *out for the kernel to fill; the driver owns it.
 * A result beyond x->n_out is an error of the kernel (TL_INTERNAL), but every result of the op
 * table exists: what the node does not name is dropped after the kernel, so a kernel need not ask
 * which optional results are wanted. Errors: TL_LIMIT beyond the memory limit, TL_INVALID_MODEL for
 * a negative dim or too many elements, TL_NO_MEMORY. */
tl_status tl_eval_result(tl_eval *ctx, uint32_t i, tl_dtype dtype, int rank, const int64_t *dims,
                         tl_host **out) TL_NODISCARD;
/* Makes result i with the shape of `like`; the rest is as in tl_eval_result. */
tl_status tl_eval_result_like(tl_eval *ctx, uint32_t i, tl_dtype dtype, const tl_host *like,
                              tl_host **out) TL_NODISCARD;
/* Makes result i a view: the bytes of `of` in another shape with the same number of elements. */
tl_status tl_eval_view(tl_eval *ctx, uint32_t i, const tl_host *of, int rank,
                       const int64_t *dims) TL_NODISCARD;
/* Makes result i an existing value, which it retains. */
tl_status tl_eval_pass(tl_eval *ctx, uint32_t i, const tl_host *value) TL_NODISCARD;
/* Returns true when result i has users; tells whether an optional result is worth computing. */
bool tl_eval_wants(const tl_eval *ctx, uint32_t i);

/* Returns n * size bytes of scratch memory, uninitialized, which live until the kernel returns.
 * NULL on overflow, beyond the memory limit or without memory; not reported. */
void *tl_eval_scratch(tl_eval *ctx, uint64_t n, size_t size);

/* Returns an attribute of the node, or the op table's default, or `fallback`. */
int64_t tl_eval_int(const tl_eval *ctx, tl_symbol name, int64_t fallback);
/* As tl_eval_int, for a float attribute. */
float tl_eval_float(const tl_eval *ctx, tl_symbol name, float fallback);
/* As tl_eval_int, for a string attribute; empty when it is absent. */
tl_sv tl_eval_string(const tl_eval *ctx, tl_symbol name);
/* As tl_eval_int, for a list of integers; .at is NULL when it is absent. */
tl_int_list tl_eval_ints(const tl_eval *ctx, tl_symbol name);

/* Reads operand i, an integer tensor of any shape, as a list in scratch. Absent: .at NULL, n 0. */
tl_status tl_eval_operand_ints(tl_eval *ctx, uint32_t i, tl_int_list *out) TL_NODISCARD;
/* Reads the only element of operand i, `fallback` when it is absent. TL_INVALID_MODEL when the
 * operand has more or fewer than one element. */
tl_status tl_eval_operand_int(tl_eval *ctx, uint32_t i, int64_t fallback,
                              int64_t *out) TL_NODISCARD;
/* As tl_eval_operand_int, as a double. */
tl_status tl_eval_operand_float(tl_eval *ctx, uint32_t i, double fallback,
                                double *out) TL_NODISCARD;

/* Resolves an axis against rank; a negative one counts from the end. TL_INVALID_MODEL outside
 * [-rank, rank). */
tl_status tl_eval_axis(tl_eval *ctx, int64_t axis, int rank, uint32_t *out) TL_NODISCARD;
/* Checks that operand i is present, a tensor, and of a rank in [min, max]. */
tl_status tl_eval_need_rank(tl_eval *ctx, uint32_t i, int min, int max) TL_NODISCARD;

/* Broadcasts n operands by numpy's rules. *rank and dims: the shape of the result. strides[k]: for
 * operand k its steps in elements along the dims of the result, 0 along broadcast dims. dims and
 * each strides[k] have room for TL_MAX_RANK. */
tl_status tl_eval_broadcast(tl_eval *ctx, const tl_host *const *operands, uint32_t n, int *rank,
                            int64_t *dims, int64_t (*strides)[TL_MAX_RANK]) TL_NODISCARD;
/* Multiplies dims[from..to); false on overflow. Any dim of 0 gives 0, whatever the others are. */
bool tl_eval_product(const int64_t *dims, int from, int to, int64_t *out);

/* Works on the indices [begin, end) of a loop; may run on any thread of the pool. */
typedef void (*tl_eval_range)(void *user, uint64_t begin, uint64_t end);
/* Calls fn over parts of [0, n) that cover it once: on the pool when n is at least twice `grain`,
 * else once for the whole range on this thread. Returns when all parts are done. */
void tl_eval_for(const tl_eval *ctx, uint64_t n, uint64_t grain, tl_eval_range fn, void *user);

/* Runs a body. inputs: one value per input of the body, borrowed. outputs: one per output, the
 * caller's to release. Values of the graphs around the body are visible to it. TL_LIMIT when bodies
 * nest too deep. */
tl_status tl_eval_body(tl_eval *ctx, tl_graph_id body, tl_host *const *inputs, uint32_t n_inputs,
                       tl_host **outputs, uint32_t n_outputs) TL_NODISCARD;
/* Returns the body in a graph attribute, TL_NO_GRAPH when it is not set. */
tl_graph_id tl_eval_body_attr(const tl_eval *ctx, tl_symbol name);

/* Most results of a node whose dtype follows from its operands. */
enum { TL_EVAL_IMPLIED = 8 };

/* Checks the operands against the op table: number, presence, kinds, dtypes. The driver calls it
 * before each kernel. implied: dtypes of results that share a type with an operand, for a module
 * that does not state them; 0: unknown. TL_INVALID_MODEL. */
tl_status tl_eval_signature(tl_eval *ctx, uint8_t implied[TL_EVAL_IMPLIED]) TL_NODISCARD;

#endif
