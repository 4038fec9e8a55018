/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the ops of sequences and optionals. A sequence is a list of references: only kernels
 * that cut or join tensors copy elements. */
#include "ir/eval/movement/concat.h"

/* The operand must be a sequence, not a tensor. */
static tl_status need_sequence(tl_eval *ctx, uint32_t i, const tl_host **out) {
  *out = tl_eval_in(ctx, i);
  if (!*out || (*out)->kind != TL_HOST_SEQUENCE)
    return tl_eval_fail(ctx, "operand %u must be a sequence", i);
  return TL_OK;
}

/* Reads a position from operand i, `fallback` when it is absent. A negative one counts from the
 * end; `most` is the largest one allowed. */
static tl_status read_position(tl_eval *ctx, uint32_t i, int64_t n, int64_t fallback, int64_t most,
                               uint64_t *out) {
  int64_t at;
  TL_TRY(tl_eval_operand_int(ctx, i, fallback, &at));
  if (at < -n || at > most)
    return tl_eval_fail(ctx, "position %lld is outside [%lld, %lld]", (long long)at, -(long long)n,
                        (long long)most);
  *out = (uint64_t)(at < 0 ? at + n : at);
  return TL_OK;
}

/* Makes result 0 a sequence of the given items, which are retained. dtype: of an empty sequence. */
static tl_status sequence_result(tl_eval *ctx, tl_host *const *items, uint64_t n, tl_dtype dtype) {
  tl_host *s = tl_host_sequence(ctx->heap, items, n);
  if (!s)
    return tl_eval_no_memory(ctx);
  if (!n)
    s->dtype = (uint8_t)dtype;
  tl_status status = tl_eval_pass(ctx, 0, s);
  tl_host_release(s);
  return status;
}

/* The list is in scratch and does not own its items. */
static tl_status new_list(tl_eval *ctx, uint64_t n, tl_host ***out) {
  *out = tl_eval_scratch(ctx, n, sizeof **out);
  return *out ? TL_OK : tl_eval_no_memory(ctx);
}

/* ---- SequenceConstruct, Empty, At, Length, Insert, Erase ------------------------------------ */

/* Items are shared with the operands. */
tl_status tl_eval_sequence_construct(tl_eval *ctx) {
  for (uint32_t i = 0; i < ctx->n_in; i++)
    TL_TRY(tl_eval_need_rank(ctx, i, 0, TL_MAX_RANK));
  return sequence_result(ctx, (tl_host *const *)ctx->in, ctx->n_in, TL_DTYPE_NONE);
}

tl_status tl_eval_sequence_empty(tl_eval *ctx) {
  tl_dtype dtype = tl_dtype_from_onnx(tl_eval_int(ctx, TL_SYM_dtype, 1));
  if (dtype == TL_DTYPE_NONE)
    return tl_eval_fail(ctx, "dtype %lld is not an element type",
                        (long long)tl_eval_int(ctx, TL_SYM_dtype, 1));
  return sequence_result(ctx, NULL, 0, dtype);
}

tl_status tl_eval_sequence_at(tl_eval *ctx) {
  const tl_host *s;
  uint64_t at;
  TL_TRY(need_sequence(ctx, 0, &s));
  if (!tl_eval_in(ctx, 1))
    return tl_eval_fail(ctx, "operand 1 is missing");
  TL_TRY(read_position(ctx, 1, (int64_t)s->n, 0, (int64_t)s->n - 1, &at));
  return tl_eval_pass(ctx, 0, tl_host_item(s, at));
}

tl_status tl_eval_sequence_length(tl_eval *ctx) {
  const tl_host *s;
  tl_host *y;
  TL_TRY(need_sequence(ctx, 0, &s));
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_I64, 0, NULL, &y));
  *(int64_t *)y->data = (int64_t)s->n;
  return TL_OK;
}

/* Without a position the tensor goes to the end. */
tl_status tl_eval_sequence_insert(tl_eval *ctx) {
  const tl_host *s;
  tl_host **items;
  uint64_t at;
  TL_TRY(need_sequence(ctx, 0, &s));
  TL_TRY(tl_eval_need_rank(ctx, 1, 0, TL_MAX_RANK));
  if (s->dtype != TL_DTYPE_NONE && s->dtype != ctx->in[1]->dtype)
    return tl_eval_fail(ctx, "the tensor is not of the element type of the sequence");
  TL_TRY(read_position(ctx, 2, (int64_t)s->n, (int64_t)s->n, (int64_t)s->n, &at));
  TL_TRY(new_list(ctx, s->n + 1, &items));
  for (uint64_t i = 0; i < s->n; i++)
    items[i < at ? i : i + 1] = tl_host_item(s, i);
  items[at] =
      (tl_host *)(uintptr_t)ctx->in[1]; /* const is cast away for the reference count only */
  return sequence_result(ctx, items, s->n + 1, TL_DTYPE_NONE);
}

/* Without a position the last one goes. */
tl_status tl_eval_sequence_erase(tl_eval *ctx) {
  const tl_host *s;
  tl_host **items;
  uint64_t at;
  TL_TRY(need_sequence(ctx, 0, &s));
  TL_TRY(read_position(ctx, 1, (int64_t)s->n, (int64_t)s->n - 1, (int64_t)s->n - 1, &at));
  if (!s->n)
    return tl_eval_fail(ctx, "the sequence is empty");
  TL_TRY(new_list(ctx, s->n, &items));
  for (uint64_t i = 0; i < s->n; i++)
    if (i != at)
      items[i < at ? i : i - 1] = tl_host_item(s, i);
  return sequence_result(ctx, items, s->n - 1, (tl_dtype)s->dtype);
}

/* ---- ConcatFromSequence --------------------------------------------------------------------- */

/* Makes views of the items with a dim of size 1 where the new axis will be. The caller releases
 * them, also after a failure. */
static tl_status stack_views(tl_eval *ctx, const tl_host *s, int64_t axis, tl_host **views) {
  for (uint64_t i = 0; i < s->n; i++) {
    const tl_host *t = tl_host_item(s, i);
    int64_t dims[TL_MAX_RANK];
    uint32_t at;
    if (t->rank >= TL_MAX_RANK)
      return tl_eval_unsupported(ctx, "the result would have %d dims", t->rank + 1);
    TL_TRY(tl_eval_axis(ctx, axis, t->rank + 1, &at));
    for (int k = 0; k <= t->rank; k++)
      dims[k] = (uint32_t)k < at ? t->dims[k] : (uint32_t)k == at ? 1 : t->dims[k - 1];
    views[i] = tl_host_view(t, (tl_dtype)t->dtype, t->rank + 1, dims);
    if (!views[i])
      return tl_eval_no_memory(ctx);
  }
  return TL_OK;
}

tl_status tl_eval_concat_from_sequence(tl_eval *ctx) {
  const tl_host *s;
  tl_host **views;
  int64_t axis = tl_eval_int(ctx, TL_SYM_axis, 0);
  TL_TRY(need_sequence(ctx, 0, &s));
  if (s->n > UINT32_MAX)
    return tl_eval_unsupported(ctx, "a sequence of this length");
  for (uint64_t i = 0; i < s->n; i++)
    if (!tl_host_item(s, i) || tl_host_item(s, i)->kind != TL_HOST_TENSOR)
      return tl_eval_fail(ctx, "an element of the sequence is not a tensor");
  if (!tl_eval_int(ctx, TL_SYM_new_axis, 0))
    return tl_eval_concat_parts(ctx, (const tl_host *const *)s->data, (uint32_t)s->n, axis);
  TL_TRY(new_list(ctx, s->n, &views));
  for (uint64_t i = 0; i < s->n; i++)
    views[i] = NULL;
  tl_status status = stack_views(ctx, s, axis, views);
  if (status == TL_OK)
    status = tl_eval_concat_parts(ctx, (const tl_host *const *)views, (uint32_t)s->n, axis);
  for (uint64_t i = 0; i < s->n; i++)
    tl_host_release(views[i]);
  return status;
}

/* ---- SplitToSequence ------------------------------------------------------------------------ */

/* Finds the sizes of the parts of a dim: listed, equal with a smaller last one, or 1 each. */
static tl_status part_sizes(tl_eval *ctx, int64_t dim, tl_int_list *out) {
  const tl_host *split = tl_eval_in(ctx, 1);
  int64_t size = 1, sum = 0;
  if (split && split->rank > 0) {
    TL_TRY(tl_eval_need_rank(ctx, 1, 1, 1));
    TL_TRY(tl_eval_operand_ints(ctx, 1, out));
    for (uint32_t i = 0; i < out->n; i++) {
      if (out->at[i] < 0 || out->at[i] > dim - sum)
        return tl_eval_fail(ctx, "size %lld of part %u does not fit", (long long)out->at[i], i);
      sum += out->at[i];
    }
    return sum == dim ? TL_OK
                      : tl_eval_fail(ctx, "the sizes add up to %lld, the dim is %lld",
                                     (long long)sum, (long long)dim);
  }
  TL_TRY(tl_eval_operand_int(ctx, 1, 1, &size));
  int64_t n = size > 0 ? dim / size + (dim % size != 0) : 0;
  if (size < 1 || n > UINT32_MAX)
    return tl_eval_fail(ctx, "the dim %lld cannot be split into parts of %lld", (long long)dim,
                        (long long)size);
  int64_t *at = tl_eval_scratch(ctx, (uint64_t)n, sizeof *at);
  if (!at)
    return tl_eval_no_memory(ctx);
  for (int64_t i = 0; i < n; i++)
    at[i] = i < n - 1 ? size : dim - (n - 1) * size;
  *out = (tl_int_list){at, (uint32_t)n};
  return TL_OK;
}

/* Takes over the part that was made last as result 0; `drop`: without its axis. */
static tl_status take_part(tl_eval *ctx, uint32_t axis, bool drop, tl_host **out) {
  tl_host *t = ctx->out[0];
  int64_t dims[TL_MAX_RANK];
  ctx->out[0] = NULL;
  *out = t;
  if (!drop)
    return TL_OK;
  for (int i = 0, k = 0; i < t->rank; i++)
    if ((uint32_t)i != axis)
      dims[k++] = t->dims[i];
  *out = tl_host_view(t, (tl_dtype)t->dtype, t->rank - 1, dims);
  tl_host_release(t);
  return *out ? TL_OK : tl_eval_no_memory(ctx);
}

/* Makes each part as result 0, takes it over, and makes the sequence of them the result. */
static tl_status cut(tl_eval *ctx, uint32_t axis, tl_int_list sizes, tl_host **parts) {
  const tl_host *t = ctx->in[0];
  tl_units from;
  tl_box b;
  bool drop = !tl_eval_in(ctx, 1) && !tl_eval_int(ctx, TL_SYM_keepdims, 1);
  TL_TRY(tl_eval_units(ctx, 0, &from));
  tl_box_whole(&b, t);
  for (uint32_t i = 0; i < sizes.n; i++) {
    b.n[axis] = sizes.at[i];
    TL_TRY(tl_eval_take_box(ctx, 0, &from, &b));
    TL_TRY(take_part(ctx, axis, drop, &parts[i]));
    b.start[axis] += sizes.at[i];
  }
  return sequence_result(ctx, parts, sizes.n, (tl_dtype)t->dtype);
}

/* parts owns its entries until the sequence has its own references. */
tl_status tl_eval_split_to_sequence(tl_eval *ctx) {
  uint32_t axis;
  tl_int_list sizes;
  tl_host **parts;
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  const tl_host *t = ctx->in[0];
  TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_axis, 0), t->rank, &axis));
  TL_TRY(part_sizes(ctx, t->dims[axis], &sizes));
  TL_TRY(new_list(ctx, sizes.n, &parts));
  for (uint32_t i = 0; i < sizes.n; i++)
    parts[i] = NULL;
  tl_status status = cut(ctx, axis, sizes, parts);
  for (uint32_t i = 0; i < sizes.n; i++)
    tl_host_release(parts[i]);
  return status;
}

/* ---- optionals ------------------------------------------------------------------------------ */

/* Without an operand the result is an optional without a value. */
tl_status tl_eval_optional(tl_eval *ctx) {
  if (tl_eval_in(ctx, 0))
    return tl_eval_pass(ctx, 0, ctx->in[0]);
  tl_host *none = tl_host_none(ctx->heap);
  if (!none)
    return tl_eval_no_memory(ctx);
  tl_status status = tl_eval_pass(ctx, 0, none);
  tl_host_release(none);
  return status;
}

/* A tensor or sequence is an optional that has an element, as since opset 18. */
tl_status tl_eval_optional_has_element(tl_eval *ctx) {
  const tl_host *t = tl_eval_in(ctx, 0);
  tl_host *y;
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_BOOL, 0, NULL, &y));
  *(uint8_t *)y->data = t && t->kind != TL_HOST_NONE;
  return TL_OK;
}

tl_status tl_eval_optional_get_element(tl_eval *ctx) {
  const tl_host *t = tl_eval_in(ctx, 0);
  if (!t || t->kind == TL_HOST_NONE)
    return tl_eval_fail(ctx, "the optional is empty");
  return tl_eval_pass(ctx, 0, t);
}
