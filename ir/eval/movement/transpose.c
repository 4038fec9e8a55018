/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are one strided move of the whole operand: permuted, repeated or regrouped dims. */
#include "ir/eval/kernel/move.h"

/* ---- Transpose ------------------------------------------------------------------------------ */

/* Without the attribute the order of the dims is reversed. */
static tl_status read_perm(tl_eval *ctx, int rank, int *perm) {
  tl_int_list list = tl_eval_ints(ctx, TL_SYM_perm);
  if (!list.at) {
    for (int i = 0; i < rank; i++)
      perm[i] = rank - 1 - i;
    return TL_OK;
  }
  if (list.n != (uint32_t)rank)
    return tl_eval_fail(ctx, "perm has %u entries for rank %d", list.n, rank);
  uint8_t seen[TL_MAX_RANK];
  TL_TRY(tl_eval_mark_axes(ctx, list, rank, seen));
  for (int i = 0; i < rank; i++)
    perm[i] = (int)(list.at[i] < 0 ? list.at[i] + rank : list.at[i]);
  return TL_OK;
}

/* Returns true when only dims of size 1 change places: the bytes stay where they are. */
static bool keeps_order(const tl_host *t, const int *perm) {
  int last = -1;
  for (int i = 0; i < t->rank; i++) {
    if (t->dims[perm[i]] == 1)
      continue;
    if (perm[i] < last)
      return false;
    last = perm[i];
  }
  return true;
}

/* Adds the dims in the order of the result; each steps through the operand by its own stride. */
static tl_status permute(tl_eval *ctx, const tl_host *t, const int *perm, const int64_t *dims) {
  tl_units from;
  tl_unit_result to;
  int64_t own[TL_MAX_RANK];
  tl_move v;
  TL_TRY(tl_eval_units(ctx, 0, &from));
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)t->dtype, t->rank, dims, &to));
  if (!t->n)
    return TL_OK;
  tl_eval_strides(t, from.size, own);
  tl_move_init(&v, to.data, from.data, from.size);
  int64_t step = (int64_t)(t->n * from.size);
  for (int i = 0; i < t->rank; i++) {
    step /= dims[i];
    tl_move_add(&v, dims[i], step, own[perm[i]]);
  }
  tl_move_run(ctx, &v);
  tl_eval_units_done(&to);
  return TL_OK;
}

tl_status tl_eval_transpose(tl_eval *ctx) {
  int perm[TL_MAX_RANK];
  int64_t dims[TL_MAX_RANK];
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  const tl_host *t = ctx->in[0];
  TL_TRY(read_perm(ctx, t->rank, perm));
  for (int i = 0; i < t->rank; i++)
    dims[i] = t->dims[perm[i]];
  if (keeps_order(t, perm))
    return tl_eval_view(ctx, 0, t, t->rank, dims);
  return permute(ctx, t, perm, dims);
}

/* ---- Expand, Tile --------------------------------------------------------------------------- */

/* Finds the shape of the operand broadcast to `shape`, by numpy's rules. */
static tl_status expanded_dims(tl_eval *ctx, const tl_host *t, tl_int_list shape, int *rank,
                               int64_t *dims) {
  if (shape.n > TL_MAX_RANK)
    return tl_eval_fail(ctx, "the shape has %u dims, at most %d are possible", shape.n,
                        TL_MAX_RANK);
  int wanted = (int)shape.n;
  *rank = wanted > t->rank ? wanted : t->rank;
  for (int back = 1; back <= *rank; back++) {
    int64_t own = back <= t->rank ? t->dims[t->rank - back] : 1;
    int64_t to = back <= wanted ? shape.at[wanted - back] : 1;
    if (own != to && own != 1 && to != 1)
      return tl_eval_fail(ctx, "dim %lld cannot be expanded to %lld", (long long)own,
                          (long long)to);
    dims[*rank - back] = own == 1 ? to : own;
  }
  return TL_OK;
}

/* A repeated dim has source step 0. */
static void expand_move(const tl_eval *ctx, const tl_host *t, const tl_units *from,
                        const tl_unit_result *to) {
  tl_move v;
  int64_t own[TL_MAX_RANK], step = (int64_t)(to->t->n * to->size);
  tl_eval_strides(t, from->size, own);
  tl_move_init(&v, to->data, from->data, from->size);
  int lead = to->t->rank - t->rank;
  for (int i = 0; i < to->t->rank; i++) {
    int64_t n = to->t->dims[i];
    step /= n;
    tl_move_add(&v, n, step, i < lead || t->dims[i - lead] == 1 ? 0 : own[i - lead]);
  }
  tl_move_run(ctx, &v);
}

/* When no element is repeated, the result is a view. */
tl_status tl_eval_expand(tl_eval *ctx) {
  int rank;
  int64_t dims[TL_MAX_RANK];
  tl_int_list shape;
  tl_units from;
  tl_unit_result to;
  TL_TRY(tl_eval_units(ctx, 0, &from));
  TL_TRY(tl_eval_need_rank(ctx, 1, 0, 1));
  TL_TRY(tl_eval_operand_ints(ctx, 1, &shape));
  const tl_host *t = ctx->in[0];
  TL_TRY(expanded_dims(ctx, t, shape, &rank, dims));
  int64_t n;
  if (tl_eval_product(dims, 0, rank, &n) && (uint64_t)n == t->n)
    return tl_eval_view(ctx, 0, t, rank, dims);
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)t->dtype, rank, dims, &to));
  if (to.t->n)
    expand_move(ctx, t, &from, &to);
  tl_eval_units_done(&to);
  return TL_OK;
}

/* Sees the result as [repeats, dim] for each dim of the operand; the repeats have source step 0. */
static void tile_move(const tl_eval *ctx, const tl_host *t, const tl_units *from,
                      const tl_unit_result *to) {
  tl_move v;
  int64_t own[TL_MAX_RANK], step = (int64_t)(to->t->n * to->size);
  tl_eval_strides(t, from->size, own);
  tl_move_init(&v, to->data, from->data, from->size);
  for (int i = 0; i < t->rank; i++) {
    int64_t repeats = to->t->dims[i] / t->dims[i];
    tl_move_add(&v, repeats, step / repeats, 0);
    step /= to->t->dims[i];
    tl_move_add(&v, t->dims[i], step, own[i]);
  }
  tl_move_run(ctx, &v);
}

tl_status tl_eval_tile(tl_eval *ctx) {
  int64_t dims[TL_MAX_RANK];
  tl_int_list repeats;
  tl_units from;
  tl_unit_result to;
  TL_TRY(tl_eval_units(ctx, 0, &from));
  TL_TRY(tl_eval_need_rank(ctx, 1, 0, 1));
  TL_TRY(tl_eval_operand_ints(ctx, 1, &repeats));
  const tl_host *t = ctx->in[0];
  if (repeats.n != (uint32_t)t->rank)
    return tl_eval_fail(ctx, "%u repeats for rank %d", repeats.n, t->rank);
  for (int i = 0; i < t->rank; i++)
    if (repeats.at[i] < 0 || __builtin_mul_overflow(t->dims[i], repeats.at[i], &dims[i]))
      return tl_eval_fail(ctx, "dim %d cannot be repeated %lld times", i, (long long)repeats.at[i]);
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)t->dtype, t->rank, dims, &to));
  if (to.t->n)
    tile_move(ctx, t, &from, &to);
  tl_eval_units_done(&to);
  return TL_OK;
}

/* ---- DepthToSpace, SpaceToDepth ------------------------------------------------------------- */

/* Permutes the dims of a rank-6 view of the operand. */
static tl_status regroup(tl_eval *ctx, const int64_t *view, const int *perm, const int64_t *dims) {
  const tl_host *t = ctx->in[0];
  tl_units from;
  tl_unit_result to;
  tl_move v;
  int64_t own[6];
  TL_TRY(tl_eval_units(ctx, 0, &from));
  TL_TRY(tl_eval_units_result(ctx, 0, (tl_dtype)t->dtype, 4, dims, &to));
  if (!t->n)
    return TL_OK;
  own[5] = (int64_t)from.size;
  for (int i = 4; i >= 0; i--)
    own[i] = own[i + 1] * view[i + 1];
  int64_t step = (int64_t)(t->n * from.size);
  tl_move_init(&v, to.data, from.data, from.size);
  for (int i = 0; i < 6; i++) {
    step /= view[perm[i]];
    tl_move_add(&v, view[perm[i]], step, own[perm[i]]);
  }
  tl_move_run(ctx, &v);
  tl_eval_units_done(&to);
  return TL_OK;
}

/* The bound keeps the square of the block from overflowing. */
static tl_status read_block(tl_eval *ctx, int64_t *block) {
  *block = tl_eval_int(ctx, TL_SYM_blocksize, 0);
  TL_TRY(tl_eval_need_rank(ctx, 0, 4, 4));
  if (*block < 1 || *block > INT32_MAX)
    return tl_eval_fail(ctx, "blocksize is %lld", (long long)*block);
  return TL_OK;
}

/* DCR has the block's rows and columns before the channels, CRD behind them. */
tl_status tl_eval_depth_to_space(tl_eval *ctx) {
  static const int dcr[6] = {0, 3, 4, 1, 5, 2}, crd[6] = {0, 1, 4, 2, 5, 3};
  int64_t b;
  TL_TRY(read_block(ctx, &b));
  const int64_t *d = ctx->in[0]->dims;
  tl_sv mode = tl_eval_string(ctx, TL_SYM_mode);
  bool columns_last = tl_sv_is(mode, "CRD");
  if (!columns_last && mode.n && !tl_sv_is(mode, "DCR"))
    return tl_eval_fail(ctx, "mode '%.*s' is neither DCR nor CRD", TL_SV_ARG(mode));
  int64_t dims[4] = {d[0], d[1] / (b * b), 0, 0};
  if (d[1] % (b * b))
    return tl_eval_fail(ctx, "%lld channels are not a multiple of %lld", (long long)d[1],
                        (long long)(b * b));
  if (__builtin_mul_overflow(d[2], b, &dims[2]) || __builtin_mul_overflow(d[3], b, &dims[3]))
    return tl_eval_fail(ctx, "blocksize %lld is too large", (long long)b);
  const int64_t in_depth[6] = {d[0], b, b, dims[1], d[2], d[3]};
  const int64_t in_columns[6] = {d[0], dims[1], b, b, d[2], d[3]};
  return columns_last ? regroup(ctx, in_columns, crd, dims) : regroup(ctx, in_depth, dcr, dims);
}

/* The rows and columns of a block come before the channels. */
tl_status tl_eval_space_to_depth(tl_eval *ctx) {
  static const int perm[6] = {0, 3, 5, 1, 2, 4};
  int64_t b;
  TL_TRY(read_block(ctx, &b));
  const int64_t *d = ctx->in[0]->dims;
  int64_t dims[4] = {d[0], 0, d[2] / b, d[3] / b};
  if (d[2] % b || d[3] % b)
    return tl_eval_fail(ctx, "height or width is not a multiple of %lld", (long long)b);
  if (__builtin_mul_overflow(d[1], b * b, &dims[1]))
    return tl_eval_fail(ctx, "blocksize %lld is too large", (long long)b);
  const int64_t view[6] = {d[0], d[1], dims[2], b, dims[3], b};
  return regroup(ctx, view, perm, dims);
}
