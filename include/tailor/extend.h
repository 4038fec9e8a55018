/* SPDX-License-Identifier: Apache-2.0 */
/* Passes, rules and ops of the caller. All of them belong to one context, and count for what is
 * loaded, optimized or run afterwards. Functions of the caller run on the thread that called the
 * library. While one runs, it must not change the context: options, registering and loading are
 * refused with TL_ERROR_USAGE. */
#ifndef TL_TAILOR_EXTEND_H
#define TL_TAILOR_EXTEND_H

#include <tailor/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- passes ---------------------------------------------------------------------------------- */

/* A pass. Strings are copied. Begin with = {0}, so that members of later versions are zero. */
typedef struct tl_pass_def {
  const char *name;    /* lower case, digits and dashes; not that of another pass */
  const char *summary; /* NULL: none */
  const char *after;   /* pass of tl_pass_name: it runs right behind that one, in pipelines that
                        * have it; NULL: only by name (tl_model_run_passes, option "passes") */
  int level;           /* least "opt-level" at which it runs behind `after`: 0, 1, 2 */
  /* Changes the model by the functions of graph.h; each change counts as a rewrite. m is valid
   * during the call. It may be looked at, changed, checked and saved; optimizing, running, copying
   * and comparing it are refused, and it must not be destroyed. Returns TL_SUCCESS, or the code
   * with which the pipeline ends; a code of failure without a message gets one. */
  int (*run)(void *user, tl_model *m);
  void *user; /* handed to run */
} tl_pass_def;

/* Registers a pass. With profiles of shapes it also runs on the copies that try them. With the
 * option "rewrite-limit" it does not begin once the limit is reached. TL_ERROR_USAGE for a name
 * that is taken or not well formed, no function, another level, and an unknown `after`. */
TL_API int tl_pass_register(tl_context *c, const tl_pass_def *pass);

/* ---- rules ----------------------------------------------------------------------------------- */

/* Registers rewrite rules (docs/rules.md) as text of n bytes, which is copied. `name` stands for a
 * file in messages. They override rules of files and those that are built in. The first pass that
 * needs rules reads them, and reports what is wrong: TL_ERROR_USAGE. */
TL_API int tl_rules_register(tl_context *c, const char *name, const char *text, size_t n);

/* ---- ops ------------------------------------------------------------------------------------- */

typedef struct tl_shape_call tl_shape_call;     /* one call of a shape function */
typedef struct tl_compute_call tl_compute_call; /* one call of a kernel */

/* An op that the op table does not list. Strings are copied. Begin with = {0}, so that members of
 * later versions are zero. */
typedef struct tl_op_def {
  const char *domain; /* NULL or "": ONNX's own */
  const char *name;   /* of the op */
  /* States types of results with tl_shape_set. NULL: they stay as the model declares them. Returns
   * TL_SUCCESS, or a code of failure, which tl_shape_fail reports. A node may be asked about
   * several times, with other types each time. */
  int (*infer)(void *user, tl_shape_call *call);
  /* Computes all results, made by tl_compute_output. NULL: nodes of the op cannot be evaluated.
   * Returns TL_SUCCESS, or a code of failure, which tl_compute_fail reports. Kernels are for runs:
   * passes fold no constants with them. */
  int (*compute)(void *user, tl_compute_call *call);
  void *user; /* handed to both functions */
} tl_op_def;

/* Registers an op. TL_ERROR_USAGE if the op table has it or it was registered before. */
TL_API int tl_op_register(tl_context *c, const tl_op_def *op);

/* The model and the node, for attributes (graph.h). Both are valid during the call; the model must
 * not be changed. */
TL_API const tl_model *tl_shape_model(const tl_shape_call *call, uint32_t *node);
/* The type of operand i; element UNKNOWN if it is no tensor or not known. *dims: [*rank] sizes,
 * TL_DIM_OPEN or below that symbols, which may be passed on; NULL if the rank is 0 or
 * TL_RANK_OPEN. Valid until tl_shape_set. Returns 0 if the operand is absent. */
TL_API int tl_shape_operand(tl_shape_call *call, uint32_t i, tl_element *element, int32_t *rank,
                            const int64_t **dims);
/* States result i: the element type, and dims, [rank] sizes. rank TL_RANK_OPEN: not known. The
 * result is what a shape function returns: TL_ERROR_INPUT, reported, if the node has no such
 * result, or a dim is no size, symbol or TL_DIM_OPEN. */
TL_API int tl_shape_set(tl_shape_call *call, uint32_t i, tl_element element, int32_t rank,
                        const int64_t *dims);
/* Reports a fault of the model at the node, `what` in one sentence, and returns TL_ERROR_INPUT. */
TL_API int tl_shape_fail(tl_shape_call *call, const char *what);

/* The model and the node, for attributes (graph.h). Both are valid during the call; the model must
 * not be changed. */
TL_API const tl_model *tl_compute_model(const tl_compute_call *call, uint32_t *node);
/* Operand i, valid during the call, which the kernel must not change. Returns 0 if it is absent or
 * no tensor of numbers. out->name is NULL. */
TL_API int tl_compute_input(tl_compute_call *call, uint32_t i, tl_tensor_view *out);
/* Makes result i of an element type with dims, [rank] sizes; *data is to be filled, and is aligned
 * to 64 bytes. TL_ERROR_INPUT, reported: the node has no such result, it was made before, the model
 * states another type, a dim is negative, or it is beyond the memory limit. TL_ERROR_INTERNAL
 * without memory. */
TL_API int tl_compute_output(tl_compute_call *call, uint32_t i, tl_element element, int32_t rank,
                             const int64_t *dims, void **data);
/* Reports a fault of the model at the node, `what` in one sentence, and returns TL_ERROR_INPUT. */
TL_API int tl_compute_fail(tl_compute_call *call, const char *what);

#ifdef __cplusplus
}
#endif

#endif
