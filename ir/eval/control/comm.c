/* SPDX-License-Identifier: Apache-2.0 */
/* Computes collectives as one rank sees them when all ranks hold the same and sums are not taken:
 * what is reduced or broadcast passes, gathered rows repeat, scattered rows are those of the first
 * rank. */
#include "ir/eval/kernel/kernel.h"

enum { PASS, GATHER, SCATTER };

static tl_status pass(tl_eval *ctx) {
  if (ctx->n_in != ctx->n_out)
    return tl_eval_fail(ctx, "%u operands do not fit %u results", ctx->n_in, ctx->n_out);
  for (uint32_t i = 0; i < ctx->n_in; i++) {
    if (!ctx->in[i])
      return tl_eval_fail(ctx, "operand %u is absent", i);
    TL_TRY(tl_eval_pass(ctx, i, ctx->in[i]));
  }
  return TL_OK;
}

/* ARG: PASS, GATHER or SCATTER, which tells what becomes of the operands. */
tl_status tl_eval_collective(tl_eval *ctx) {
  int64_t dims[TL_MAX_RANK], ranks = tl_eval_int(ctx, TL_SYM_rank_size, 1);
  tl_host *out;
  if (ctx->arg == PASS)
    return pass(ctx);
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  const tl_host *t = ctx->in[0];
  if (ranks < 1 || (ctx->arg == SCATTER && t->dims[0] % ranks) ||
      (ctx->arg == GATHER && t->dims[0] > INT64_MAX / ranks))
    return tl_eval_fail(ctx, "%lld rows do not fit %lld ranks", (long long)t->dims[0],
                        (long long)ranks);
  memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
  dims[0] = ctx->arg == GATHER ? dims[0] * ranks : dims[0] / ranks;
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)t->dtype, t->rank, dims, &out));
  uint64_t part = ctx->arg == GATHER ? t->bytes : out->bytes;
  for (uint64_t at = 0; part && at < out->bytes; at += part)
    memcpy((char *)out->data + at, t->data, (size_t)part);
  return TL_OK;
}
