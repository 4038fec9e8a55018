/* SPDX-License-Identifier: Apache-2.0 */
/* Computes LinearClassifier and LinearRegressor. */
#include "ir/eval/ml/ml.h"

/* A linear model and its data. */
typedef struct linear {
  tl_ml_rows in;
  tl_ml_list weights;    /* [targets, features] */
  tl_ml_list intercepts; /* [targets] or none */
  uint64_t targets;
  tl_ml_transform transform;
} linear;

/* Reads the coefficients. targets 0: as many as intercepts or coefficients make. */
static tl_status read_model(tl_eval *ctx, uint64_t targets, linear *l) {
  TL_TRY(tl_ml_read_rows(ctx, 0, &l->in));
  TL_TRY(tl_ml_read_floats(ctx, TL_SYM_coefficients, 0, &l->weights));
  TL_TRY(tl_ml_read_floats(ctx, TL_SYM_intercepts, 0, &l->intercepts));
  TL_TRY(tl_ml_read_transform(ctx, &l->transform));
  const uint64_t features = (uint64_t)l->in.features;
  if (!targets)
    targets = l->intercepts.n ? l->intercepts.n : features ? l->weights.n / features : 0;
  l->targets = targets;
  if (targets == 0 || l->weights.n % targets != 0 || l->weights.n / targets != features)
    return tl_eval_fail(ctx, "%llu coefficients do not fit %llu features and %llu targets",
                        (unsigned long long)l->weights.n, (unsigned long long)features,
                        (unsigned long long)targets);
  if (l->intercepts.n && l->intercepts.n != targets)
    return tl_eval_fail(ctx, "%llu intercepts for %llu targets",
                        (unsigned long long)l->intercepts.n, (unsigned long long)targets);
  return TL_OK;
}

/* Sums are f64; they are rounded when they are stored. */
static void score_row(const linear *l, uint64_t row, double *scores) {
  const uint64_t features = (uint64_t)l->in.features;
  for (uint64_t t = 0; t < l->targets; t++) {
    double sum = 0;
    for (uint64_t i = 0; i < features; i++)
      sum += tl_ml_number(l->in.t, row * features + i) * l->weights.at[t * features + i];
    scores[t] = sum + (l->intercepts.n ? l->intercepts.at[t] : 0);
  }
}

/* One more than targets, since a single score may become a pair. */
static double *score_room(tl_eval *ctx, const linear *l) {
  return tl_eval_scratch(ctx, l->targets + 1, sizeof(double));
}

tl_status tl_eval_ml_linear_regressor(tl_eval *ctx) {
  linear l;
  tl_host *t;
  int64_t targets = tl_eval_int(ctx, TL_SYM_targets, 1);
  if (targets < 1)
    return tl_eval_fail(ctx, "targets is %lld", (long long)targets);
  TL_TRY(read_model(ctx, (uint64_t)targets, &l));
  const int64_t dims[2] = {l.in.n, targets};
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_F32, 2, dims, &t));
  double *scores = score_room(ctx, &l);
  if (!scores)
    return tl_eval_no_memory(ctx);
  for (uint64_t row = 0; row < (uint64_t)l.in.n; row++) {
    score_row(&l, row, scores);
    tl_ml_apply_transform(l.transform, scores, l.targets);
    for (uint64_t k = 0; k < l.targets; k++)
      ((float *)t->data)[row * l.targets + k] = (float)scores[k];
  }
  return TL_OK;
}

/* Chooses the class and transforms the scores. With one row of coefficients the sign decides
 * between two classes. */
static void finish_row(const linear *l, uint64_t labels, double *scores, uint64_t *best) {
  if (l->targets > 1) {
    *best = tl_ml_largest(scores, l->targets);
    tl_ml_apply_transform(l->transform, scores, l->targets);
    return;
  }
  *best = scores[0] > 0 ? 1 : 0;
  if (labels == 2)
    tl_ml_make_pair(l->transform, TL_ML_COMPLEMENT, scores);
  else
    tl_ml_apply_transform(l->transform, scores, 1);
}

tl_status tl_eval_ml_linear_classifier(tl_eval *ctx) {
  linear l;
  tl_ml_labels labels;
  tl_host *y, *z;
  uint64_t best;
  TL_TRY(tl_ml_read_labels(ctx, TL_SYM_classlabels_strings, TL_SYM_classlabels_ints, &labels));
  TL_TRY(read_model(ctx, 0, &l));
  if (labels.n && labels.n != l.targets && (l.targets > 1 || labels.n != 2))
    return tl_eval_fail(ctx, "%u labels for %llu classes", labels.n, (unsigned long long)l.targets);
  /* one row of coefficients tells two classes apart */
  const uint64_t columns = l.targets == 1 && labels.n == 2 ? 2 : l.targets;
  const int64_t dims[2] = {l.in.n, (int64_t)columns};
  double *scores = score_room(ctx, &l);
  if (!scores)
    return tl_eval_no_memory(ctx);
  TL_TRY(tl_ml_make_labels(ctx, &labels, l.in.n, &y));
  TL_TRY(tl_eval_result(ctx, 1, TL_DTYPE_F32, 2, dims, &z));
  for (uint64_t row = 0; row < (uint64_t)l.in.n; row++) {
    score_row(&l, row, scores);
    finish_row(&l, labels.n, scores, &best);
    tl_ml_set_label(ctx, &labels, y, row, best);
    for (uint64_t k = 0; k < columns; k++)
      ((float *)z->data)[row * columns + k] = (float)scores[k];
  }
  return TL_OK;
}
