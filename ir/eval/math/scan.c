/* SPDX-License-Identifier: Apache-2.0 */
/* Computes ops that go along one axis: ArgMax, ArgMin, CumSum, CumProd. */
#include "ir/eval/kernel/lines.h"

/* ---- ArgMax, ArgMin ------------------------------------------------------------------------- */

typedef struct arg_choice {
  int dtype;
  bool least;
  bool last;
  int64_t *out;
} arg_choice;

/* Returns true when v is chosen over the best so far. NaN is chosen over every number, as in
 * NumPy. */
static bool float_beats(const arg_choice *a, double v, double best) {
  if (v != v || best != best)
    return best == best || (a->last && v != v);
  return v == best ? a->last : a->least ? v < best : v > best;
}

static bool int_beats(const arg_choice *a, int64_t v, int64_t best) {
  return v == best ? a->last : a->least ? v < best : v > best;
}

/* u64 cells are flipped to be comparable; they are not stored, so they need not be flipped back. */
static void choose(void *user, uint64_t line, void *cells, uint64_t n, void *spare) {
  (void)spare;
  const arg_choice *a = user;
  uint64_t best = 0;
  tl_cells_flip(a->dtype, cells, n);
  if (tl_cells_are_floats(a->dtype)) {
    const double *c = cells;
    for (uint64_t i = 1; i < n; i++)
      if (float_beats(a, c[i], c[best]))
        best = i;
  } else {
    const int64_t *c = cells;
    for (uint64_t i = 1; i < n; i++)
      if (int_beats(a, c[i], c[best]))
        best = i;
  }
  a->out[line] = (int64_t)best;
}

/* ArgMax; with ARG 1 ArgMin. */
tl_status tl_eval_arg_choice(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  const tl_host *in = tl_eval_in(ctx, 0);
  bool keep = tl_eval_int(ctx, TL_SYM_keepdims, 1) != 0;
  int64_t dims[TL_MAX_RANK];
  uint32_t axis;
  int rank = 0;
  TL_TRY(tl_eval_axis(ctx, tl_eval_int(ctx, TL_SYM_axis, 0), in->rank ? in->rank : 1, &axis));
  for (int i = 0; i < in->rank; i++)
    if ((uint32_t)i != axis || keep)
      dims[rank++] = (uint32_t)i == axis ? 1 : in->dims[i];
  tl_host *out;
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_I64, rank, dims, &out));
  if (!out->n)
    return TL_OK;
  if (!in->n)
    return tl_eval_fail(ctx, "axis %u has no elements to choose from", axis);
  arg_choice a = {in->dtype, ctx->arg == 1, tl_eval_int(ctx, TL_SYM_select_last_index, 0) != 0,
                  out->data};
  return tl_eval_lines(ctx, in, tl_lines_of(in, axis, axis + 1), NULL,
                       (tl_line_work){choose, &a, 0});
}

/* ---- CumSum, CumProd ------------------------------------------------------------------------ */

typedef struct running {
  bool floats;
  bool product;
  bool exclusive;
  bool reverse;
} running;

/* Integers are added as uint64: they wrap as the type does, since the low bits are stored. */
static void run_along(void *user, uint64_t line, void *cells, uint64_t n, void *spare) {
  (void)line, (void)spare;
  const running *r = user;
  double sum = r->product ? 1 : 0;
  uint64_t whole = r->product ? 1 : 0;
  for (uint64_t k = 0; k < n; k++) {
    uint64_t i = r->reverse ? n - 1 - k : k;
    if (r->floats) {
      double *c = (double *)cells + i;
      double next = r->product ? sum * *c : sum + *c;
      *c = r->exclusive ? sum : next;
      sum = next;
    } else {
      uint64_t *c = (uint64_t *)cells + i;
      uint64_t next = r->product ? whole * *c : whole + *c;
      *c = r->exclusive ? whole : next;
      whole = next;
    }
  }
}

/* CumSum; with ARG 1 CumProd. */
tl_status tl_eval_running(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  int64_t axis;
  TL_TRY(tl_eval_operand_int(ctx, 1, 0, &axis));
  running r = {tl_cells_are_floats(tl_eval_in(ctx, 0)->dtype), ctx->arg == 1,
               tl_eval_int(ctx, TL_SYM_exclusive, 0) != 0,
               tl_eval_int(ctx, TL_SYM_reverse, 0) != 0};
  return tl_eval_along(ctx, axis, run_along, &r);
}
