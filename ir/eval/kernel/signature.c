/* SPDX-License-Identifier: Apache-2.0 */
/* Checks operands against the op table, right before a kernel runs. Types that inference could not
 * find are known only now; this check is what lets kernels trust their operands. */
#include "ir/eval/kernel/kernel.h"

static uint32_t kind_of(const tl_host *t) {
  static const uint32_t bits[] = {[TL_HOST_TENSOR] = TL_KIND_BIT(TL_KIND_TENSOR),
                                  [TL_HOST_SEQUENCE] = TL_KIND_BIT(TL_KIND_SEQUENCE),
                                  [TL_HOST_NONE] = TL_KIND_BIT(TL_KIND_OPTIONAL)};
  return bits[t->kind];
}

/* Checks operand i against its port. bound[var]: the dtype that earlier operands gave to a type
 * variable, 0 for none yet; operands of a shared variable must agree. */
static tl_status check_operand(tl_eval *ctx, const tl_op *row, uint8_t *bound, uint32_t i) {
  const tl_op_port *port = tl_op_operand_port(row, i);
  const tl_host *t = ctx->in[i];
  if (!port)
    return tl_eval_fail(ctx, "the op takes no operand %u", i);
  if (!t)
    return port->kind == TL_PORT_OPTIONAL
               ? TL_OK
               : tl_eval_fail(ctx, "operand %u ('%s') is absent", i, port->name);
  if (port->var == TL_ANY_TYPE)
    return TL_OK;
  const tl_type_var *var = &row->vars[port->var];
  if (var->kinds & TL_KIND_BIT(TL_KIND_OPTIONAL)) /* a non-empty optional is the value inside */
    return TL_OK;
  if (!(var->kinds & kind_of(t)))
    return tl_eval_fail(ctx, "operand %u ('%s') is of a kind that the op does not take", i,
                        port->name);
  if (t->kind != TL_HOST_TENSOR)
    return TL_OK;
  if (!(var->dtypes >> t->dtype & 1))
    return tl_eval_fail(ctx, "operand %u ('%s') has a dtype that the op does not take", i,
                        port->name);
  if (!var->shared || port->heterogeneous)
    return TL_OK;
  if (bound[port->var] && bound[port->var] != t->dtype)
    return tl_eval_fail(ctx, "operand %u ('%s') is %s, but others of its type are %s", i,
                        port->name, tl_dtype_get((tl_dtype)t->dtype)->name,
                        tl_dtype_get((tl_dtype)bound[port->var])->name);
  bound[port->var] = t->dtype;
  return TL_OK;
}

/* Gives results the dtypes of their type variables. */
static void imply(const tl_op *row, const uint8_t *bound, uint32_t n, uint8_t *implied) {
  memset(implied, 0, TL_EVAL_IMPLIED);
  for (uint32_t i = 0; i < n && i < TL_EVAL_IMPLIED; i++) {
    const tl_op_port *port = tl_op_result_port(row, i);
    if (port && port->var != TL_ANY_TYPE && row->vars[port->var].shared && !port->heterogeneous)
      implied[i] = bound[port->var];
  }
}

tl_status tl_eval_signature(tl_eval *ctx, uint8_t implied[TL_EVAL_IMPLIED]) {
  const tl_op *row = tl_op_row(tl_node_get(ctx->m, ctx->node)->op);
  uint8_t bound[UINT8_MAX + 1];
  memset(bound, 0, row->n_vars);
  if (ctx->n_in < row->min_operands)
    return tl_eval_fail(ctx, "the op takes at least %u operands, not %u", row->min_operands,
                        ctx->n_in);
  /* When outer values have become explicit inputs of bodies, an If has them as further operands,
   * which no port describes. */
  bool more = (row->traits & TL_TRAIT_BODY) && row->max_operands < ctx->n_in;
  for (uint32_t i = 0; i < (more ? row->max_operands : ctx->n_in); i++)
    TL_TRY(check_operand(ctx, row, bound, i));
  imply(row, bound, ctx->n_out, implied);
  return TL_OK;
}
