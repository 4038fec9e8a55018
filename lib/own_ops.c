/* SPDX-License-Identifier: Apache-2.0 */
/* Implements ops of the caller (include/tailor/extend.h): inference and the evaluator call them
 * where the op table has no row (ir/user_ops.h). */
#include "ir/eval/kernel/kernel.h"
#include "ir/infer/infer.h"
#include "lib/handle.h"

struct tl_shape_call {
  tl_model model;
  tl_infer *ctx;
};

struct tl_compute_call {
  tl_model model;
  tl_eval *ctx;
};

static tl_status infer(tl_infer *ctx, const tl_user_op *op) {
  const tl_lib_op *own = op->user;
  tl_context *c = own->context;
  tl_shape_call call = {.model = {.context = c, .module = ctx->m}, .ctx = ctx};
  uint32_t errors = tl_lib_enter(c);
  return tl_lib_leave(c, own->def.infer(own->def.user, &call), errors, op->name);
}

static tl_status evaluate(tl_eval *ctx, const tl_user_op *op) {
  const tl_lib_op *own = op->user;
  tl_context *c = own->context;
  tl_compute_call call = {.model = {.context = c, .module = ctx->m}, .ctx = ctx};
  uint32_t errors = tl_lib_enter(c);
  return tl_lib_leave(c, own->def.compute(own->def.user, &call), errors, op->name);
}

/* ---- registering ----------------------------------------------------------------------------- */

/* Returns true if the op table or the caller has the op. */
static bool is_known(const tl_context *c, const char *domain, const char *name) {
  for (uint32_t i = 0; i < tl_n_op_rows; i++)
    if (strcmp(tl_op_rows[i].name, name) == 0 && strcmp(tl_op_rows[i].domain, domain) == 0)
      return true;
  for (uint32_t i = 0; i < c->ops.n; i++)
    if (strcmp(c->ops.at[i].name, name) == 0 && strcmp(c->ops.at[i].domain, domain) == 0)
      return true;
  return false;
}

static tl_status add(tl_context *c, const char *domain, const tl_op_def *op) {
  tl_lib_op *made = tl_arena_calloc(&c->arena, 1, sizeof *made);
  tl_user_op row = {.domain = tl_arena_copy(&c->arena, domain, strlen(domain)),
                    .name = tl_arena_copy(&c->arena, op->name, strlen(op->name)),
                    .infer = op->infer ? infer : NULL,
                    .evaluate = op->compute ? evaluate : NULL,
                    .user = made};
  if (!made || !row.domain || !row.name || !tl_lib_op_vec_push(&c->ops, row))
    return TL_NO_MEMORY;
  *made = (tl_lib_op){.def = *op, .context = c};
  c->user_ops.at = c->ops.at;
  c->user_ops.n = c->ops.n;
  return TL_OK;
}

int tl_op_register(tl_context *c, const tl_op_def *op) {
  int code;
  if (tl_lib_lacks(c, op, "op", &code) || tl_lib_is_inside(c, "register an op", &code))
    return code;
  const char *domain = op->domain && strcmp(op->domain, "ai.onnx") != 0 ? op->domain : "";
  if (!op->name || !*op->name)
    return tl_lib_misuse(c, "an op needs a name");
  if (is_known(c, domain, op->name))
    return tl_lib_misuse(c, "there is an op '%s%s%s' already", domain, *domain ? "::" : "",
                         op->name);
  uint32_t errors = tl_lib_begin(c);
  return tl_lib_end(c, add(c, domain, op), errors);
}

/* ---- what shape functions see ---------------------------------------------------------------- */

const tl_model *tl_shape_model(const tl_shape_call *call, uint32_t *node) {
  *node = call->ctx->node;
  return &call->model;
}

int tl_shape_operand(tl_shape_call *call, uint32_t i, tl_element *element, int32_t *rank,
                     const int64_t **dims) {
  if (!tl_infer_has(call->ctx, i))
    return 0;
  *element = tl_lib_element(tl_infer_dtype(call->ctx, i));
  *rank = tl_infer_rank(call->ctx, i);
  *dims = tl_infer_dims(call->ctx, i);
  return 1;
}

/* A symbol must be one that the model has. Dims are read only as far as a rank may go. */
static bool are_dims(const tl_module *m, int32_t rank, const int64_t *dims) {
  if (rank < TL_RANK_OPEN || rank > TL_MAX_RANK || (rank > 0 && !dims))
    return false;
  for (int32_t i = 0; i < rank; i++)
    if (dims[i] < TL_DIM_UNKNOWN &&
        (dims[i] < -(int64_t)UINT32_MAX || tl_dim_symbol(dims[i]) >= m->symbols.n))
      return false;
  return true;
}

int tl_shape_set(tl_shape_call *call, uint32_t i, tl_element element, int32_t rank,
                 const int64_t *dims) {
  if (i >= tl_infer_n_results(call->ctx))
    return tl_shape_fail(call, "the shape function states a result that the node has not");
  if (!are_dims(call->ctx->m, rank, dims))
    return tl_shape_fail(call, "the shape function states dims that are none");
  tl_status status = tl_infer_set(call->ctx, i, tl_lib_dtype(element), rank, dims);
  return tl_status_exit_code(status);
}

int tl_shape_fail(tl_shape_call *call, const char *what) {
  return tl_status_exit_code(tl_infer_fail(call->ctx, "%s", what));
}

/* ---- what kernels see ------------------------------------------------------------------------ */

const tl_model *tl_compute_model(const tl_compute_call *call, uint32_t *node) {
  *node = call->ctx->node;
  return &call->model;
}

int tl_compute_input(tl_compute_call *call, uint32_t i, tl_tensor_view *out) {
  const tl_host *t = tl_eval_in(call->ctx, i);
  if (!t || t->kind != TL_HOST_TENSOR || t->dtype == TL_DTYPE_STRING)
    return 0;
  *out = (tl_tensor_view){.element = tl_lib_element((tl_dtype)t->dtype),
                          .rank = t->rank,
                          .dims = t->dims,
                          .data = t->data,
                          .bytes = t->bytes};
  return 1;
}

/* Says what is wrong with a result; NULL if nothing is. */
static const char *result_fault(const tl_eval *ctx, uint32_t i, tl_dtype d, int32_t rank) {
  if (i >= ctx->n_out)
    return "the kernel makes a result that the node has not";
  if (ctx->out[i])
    return "the kernel makes a result twice";
  if (d == TL_DTYPE_NONE || d == TL_DTYPE_STRING || rank < 0 || rank > TL_MAX_RANK)
    return "the kernel makes a result that is no tensor of numbers";
  tl_dtype stated = tl_type_dtype(ctx->m, tl_value_type(ctx->m, tl_result(ctx->m, ctx->node, i)));
  return stated == TL_DTYPE_NONE || stated == d
             ? NULL
             : "the kernel makes a result of another type than the model states";
}

int tl_compute_output(tl_compute_call *call, uint32_t i, tl_element element, int32_t rank,
                      const int64_t *dims, void **data) {
  tl_dtype d = tl_lib_dtype(element);
  const char *fault = result_fault(call->ctx, i, d, rank);
  tl_host *made;
  if (fault)
    return tl_compute_fail(call, fault);
  tl_status status = tl_eval_result(call->ctx, i, d, rank, dims, &made);
  if (status == TL_OK)
    *data = made->data;
  return tl_status_exit_code(status);
}

int tl_compute_fail(tl_compute_call *call, const char *what) {
  return tl_status_exit_code(tl_eval_fail(call->ctx, "%s", what));
}
