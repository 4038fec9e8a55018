/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of ai.onnx.ml share: rows of features, float lists, transforms of scores,
 * labels. The standard leaves corners of the older ops open. There ONNX Runtime's behaviour is
 * followed, because models were made with it. */
#ifndef TL_IR_EVAL_ML_ML_H
#define TL_IR_EVAL_ML_ML_H

#include "ir/eval/kernel/kernel.h"

/* An operand seen as rows of features; a plain [F] is one row. */
typedef struct tl_ml_rows {
  const tl_host *t; /* f32, f64, i32 or i64 */
  int64_t n;
  int64_t features;
} tl_ml_rows;

/* Reads operand i, of rank 1 or 2, as rows. */
tl_status tl_ml_read_rows(tl_eval *ctx, uint32_t i, tl_ml_rows *out) TL_NODISCARD;

/* Returns element i of a tensor of numbers. */
static inline double tl_ml_number(const tl_host *t, uint64_t i) {
  switch ((tl_dtype)t->dtype) {
  case TL_DTYPE_F32: return (double)((const float *)t->data)[i];
  case TL_DTYPE_F64: return ((const double *)t->data)[i];
  case TL_DTYPE_I64: return (double)((const int64_t *)t->data)[i];
  default: return tl_host_at(t, i);
  }
}

/* A list of numbers from an attribute: floats, or a tensor of them. */
typedef struct tl_ml_list {
  const double *at;
  uint64_t n;
} tl_ml_list;

/* Reads attribute `floats`, or `tensor` when that is not set, as doubles in scratch; 0 for either
 * means none. n is 0 when neither is set. */
tl_status tl_ml_read_floats(tl_eval *ctx, tl_symbol floats, tl_symbol tensor,
                            tl_ml_list *out) TL_NODISCARD;

/* The values of post_transform. */
typedef enum tl_ml_transform {
  TL_ML_NONE,
  TL_ML_SOFTMAX,
  TL_ML_LOGISTIC,
  TL_ML_SOFTMAX_ZERO,
  TL_ML_PROBIT
} tl_ml_transform;

/* Reads the attribute post_transform, a name. TL_UNSUPPORTED for one that is not known. */
tl_status tl_ml_read_transform(tl_eval *ctx, tl_ml_transform *out) TL_NODISCARD;
/* Transforms the scores of a row. A row of one score takes PROBIT only, as ONNX Runtime does. */
void tl_ml_apply_transform(tl_ml_transform transform, double *scores, uint64_t n);

/* How one score of a two-class model becomes two; with LOGISTIC they are the logistic function of
 * -s and s either way. */
typedef enum tl_ml_pair {
  TL_ML_COMPLEMENT, /* 1 - s, s: the score is a probability */
  TL_ML_OPPOSITE    /* -s, s */
} tl_ml_pair;

/* Transforms scores[0] and makes scores[0] and scores[1] of it. */
void tl_ml_make_pair(tl_ml_transform transform, tl_ml_pair pair, double *scores);

/* The labels of a classifier: attribute lists of strings or integers. */
typedef struct tl_ml_labels {
  const tl_attr *strings; /* NULL: integers */
  const tl_attr *ints;    /* NULL: strings, or positions when there are no labels at all */
  uint32_t n;
} tl_ml_labels;

/* Reads the labels from two attributes, of which at most one may be set. TL_INVALID_MODEL. */
tl_status tl_ml_read_labels(tl_eval *ctx, tl_symbol strings, tl_symbol ints,
                            tl_ml_labels *out) TL_NODISCARD;
/* Makes result 0 for the labels: [rows] of strings or i64. */
tl_status tl_ml_make_labels(tl_eval *ctx, const tl_ml_labels *labels, int64_t rows,
                            tl_host **out) TL_NODISCARD;
/* Sets the label of a row to that of class `which`; without labels, to the number itself. */
void tl_ml_set_label(tl_eval *ctx, const tl_ml_labels *labels, tl_host *t, uint64_t row,
                     uint64_t which);

/* Returns the index of the largest score, the first of equals; n > 0. */
uint64_t tl_ml_largest(const double *scores, uint64_t n);

#endif
