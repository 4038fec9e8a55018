/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of elementwise kernels: merges dims, then steps through the rows. */
#include "ir/eval/kernel/loop.h"

/* Returns true when dim i can join the group collected last, of `size` elements: for every operand,
 * a step along dim i must be as far as the whole group. */
static bool merges(const tl_loop *l, const int64_t *const *strides, int i, int64_t size) {
  for (uint32_t k = 0; k < l->n_in; k++)
    if (strides[k][i] != l->strides[k][l->rank - 1] * size)
      return false;
  return true;
}

static void reverse(int64_t *at, int n) {
  for (int i = 0; i < n / 2; i++) {
    int64_t t = at[i];
    at[i] = at[n - 1 - i];
    at[n - 1 - i] = t;
  }
}

/* Collects groups of dims from the innermost outwards. The innermost group becomes the row; the
 * others are turned round, so that dims[0] is the outermost again. */
void tl_loop_plan(tl_loop *l, int rank, const int64_t *dims, const int64_t *const *strides,
                  uint32_t n_in) {
  l->n = 1;
  l->inner = 1;
  l->rank = 0;
  l->n_in = n_in;
  for (uint32_t k = 0; k < n_in; k++)
    l->steps[k] = 0;
  for (int i = 0; i < rank; i++)
    if (dims[i] == 0) { /* before the product, which the other dims could overflow */
      l->n = 0;
      return;
    }
  for (int i = rank - 1; i >= 0; i--) {
    l->n *= (uint64_t)dims[i];
    if (dims[i] == 1)
      continue;
    if (l->rank && merges(l, strides, i, l->dims[l->rank - 1])) {
      l->dims[l->rank - 1] *= dims[i];
      continue;
    }
    for (uint32_t k = 0; k < n_in; k++)
      l->strides[k][l->rank] = strides[k][i];
    l->dims[l->rank++] = dims[i];
  }
  /* The innermost group was collected first: take it out of the lists, then reverse the others. */
  if (l->rank) {
    l->inner = (uint64_t)l->dims[0];
    for (uint32_t k = 0; k < n_in; k++) {
      l->steps[k] = l->strides[k][0];
      memmove(l->strides[k], l->strides[k] + 1, (size_t)(l->rank - 1) * sizeof(int64_t));
      reverse(l->strides[k], l->rank - 1);
    }
    memmove(l->dims, l->dims + 1, (size_t)--l->rank * sizeof(int64_t));
    reverse(l->dims, l->rank);
  }
}

typedef struct walk {
  const tl_loop *l;
  const tl_loop_data *d;
  tl_row row;
} walk;

/* The position of the walk: index[] counts rows like an odometer, at[] is where each operand's row
 * starts, in elements. */
typedef struct place {
  int64_t index[TL_MAX_RANK];
  int64_t at[TL_LOOP_OPERANDS];
} place;

/* Finds the position of a row by division; needed once for each part of the range. */
static void go_to(const tl_loop *l, uint64_t row, place *p) {
  for (uint32_t k = 0; k < l->n_in; k++)
    p->at[k] = 0;
  for (int i = l->rank - 1; i >= 0; i--) {
    p->index[i] = (int64_t)(row % (uint64_t)l->dims[i]);
    row /= (uint64_t)l->dims[i];
    for (uint32_t k = 0; k < l->n_in; k++)
      p->at[k] += p->index[i] * l->strides[k][i];
  }
}

/* Moves to the next row by additions only. */
static void next_row(const tl_loop *l, place *p) {
  for (int i = l->rank - 1; i >= 0; i--) {
    for (uint32_t k = 0; k < l->n_in; k++)
      p->at[k] += l->strides[k][i];
    if (++p->index[i] < l->dims[i])
      return;
    for (uint32_t k = 0; k < l->n_in; k++)
      p->at[k] -= l->dims[i] * l->strides[k][i];
    p->index[i] = 0;
  }
}

/* Elements [begin, end) of the result: a part may begin and end within a row. */
static void walk_range(void *user, uint64_t begin, uint64_t end) {
  const walk *w = user;
  const tl_loop *l = w->l;
  const tl_loop_data *d = w->d;
  place p;
  uint64_t within = begin % l->inner;
  go_to(l, begin / l->inner, &p);
  while (begin < end) {
    uint64_t n = l->inner - within < end - begin ? l->inner - within : end - begin;
    const void *in[TL_LOOP_OPERANDS];
    for (uint32_t k = 0; k < l->n_in; k++) {
      int64_t at = p.at[k] + (int64_t)within * l->steps[k];
      in[k] = (const char *)d->in[k] + (uint64_t)at * d->in_size[k];
    }
    w->row(d->user, (char *)d->out + begin * d->out_size, in, l->steps, n);
    begin += n;
    within = 0;
    next_row(l, &p);
  }
}

void tl_loop_run(const tl_eval *ctx, const tl_loop *l, tl_row row, const tl_loop_data *d,
                 bool threads) {
  walk w = {l, d, row};
  if (l->n)
    tl_eval_for(ctx, l->n, threads ? TL_LOOP_GRAIN : l->n, walk_range, &w);
}

tl_status tl_eval_need_tensors(tl_eval *ctx, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    const tl_host *t = tl_eval_in(ctx, i);
    if (!t || t->kind != TL_HOST_TENSOR)
      return tl_eval_fail(ctx, "operand %u must be a tensor", i);
  }
  return TL_OK;
}

tl_status tl_eval_elementwise(tl_eval *ctx, const tl_host *const *operands, uint32_t n,
                              tl_dtype result, tl_row row, const void *user) {
  int rank;
  int64_t dims[TL_MAX_RANK], strides[TL_LOOP_OPERANDS][TL_MAX_RANK];
  const int64_t *const each[] = {strides[0], strides[1], strides[2]};
  TL_TRY(tl_eval_broadcast(ctx, operands, n, &rank, dims, strides));
  tl_host *out;
  TL_TRY(tl_eval_result(ctx, 0, result, rank, dims, &out));
  tl_loop loop;
  tl_loop_data d = {.out = out->data, .out_size = tl_host_element_size(result), .user = user};
  for (uint32_t k = 0; k < n; k++) {
    d.in[k] = operands[k]->data;
    d.in_size[k] = tl_host_element_size((tl_dtype)operands[k]->dtype);
  }
  tl_loop_plan(&loop, rank, dims, each, n);
  tl_loop_run(ctx, &loop, row, &d, true);
  return TL_OK;
}
