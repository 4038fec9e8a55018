/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares features: ArrayFeatureExtractor, Binarizer, FeatureVectorizer, Imputer, Normalizer,
 * Scaler. */
#include <math.h>

#include "ir/eval/ml/ml.h"

/* ArrayFeatureExtractor: X [..., F] (a plain [F] is one row), Y places -> [..., number of
 * places]. */
tl_status tl_eval_ml_extract(tl_eval *ctx) {
  const tl_host *in = tl_eval_in(ctx, 0);
  tl_int_list places;
  int64_t dims[TL_MAX_RANK + 1] = {1};
  tl_host *out;
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  TL_TRY(tl_eval_operand_ints(ctx, 1, &places));
  const int64_t features = in->dims[in->rank - 1];
  for (uint32_t i = 0; i < places.n; i++)
    if (places.at[i] < 0 || places.at[i] >= features)
      return tl_eval_fail(ctx, "feature %lld of %lld", (long long)places.at[i],
                          (long long)features);
  int rank = in->rank == 1 ? 2 : in->rank;
  if (in->rank > 1)
    memcpy(dims, in->dims, (size_t)in->rank * sizeof *dims);
  dims[rank - 1] = places.n;
  TL_TRY(tl_eval_result(ctx, 0, (tl_dtype)in->dtype, rank, dims, &out));
  const size_t size = tl_host_element_size((tl_dtype)in->dtype);
  for (uint64_t i = 0; i < out->n; i++) {
    uint64_t row = i / places.n, at = (uint64_t)places.at[i % places.n];
    memcpy((char *)out->data + i * size,
           (const char *)in->data + (row * (uint64_t)features + at) * size, size);
  }
  return TL_OK;
}

/* Binarizer: 1 above the threshold, else 0. */
tl_status tl_eval_ml_binarizer(tl_eval *ctx) {
  const tl_host *in = tl_eval_in(ctx, 0);
  const double threshold = (double)tl_eval_float(ctx, TL_SYM_threshold, 0.0f);
  tl_host *out;
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)in->dtype, in, &out));
  for (uint64_t i = 0; i < in->n; i++) {
    const bool above = tl_ml_number(in, i) > threshold;
    switch ((tl_dtype)in->dtype) {
    case TL_DTYPE_F32: ((float *)out->data)[i] = above ? 1.0f : 0.0f; break;
    case TL_DTYPE_F64: ((double *)out->data)[i] = above ? 1.0 : 0.0; break;
    case TL_DTYPE_I32: ((int32_t *)out->data)[i] = above; break;
    default: ((int64_t *)out->data)[i] = above; break;
    }
  }
  return TL_OK;
}

/* Reads operand i as rows whose features are all that is behind the first dim, as ONNX Runtime
 * does. */
static tl_status read_flat_rows(tl_eval *ctx, uint32_t i, tl_ml_rows *out) {
  const tl_host *t = tl_eval_in(ctx, i);
  if (t->rank <= 2)
    return tl_ml_read_rows(ctx, i, out);
  *out = (tl_ml_rows){t, t->dims[0], t->dims[0] ? (int64_t)t->n / t->dims[0] : 0};
  return TL_OK;
}

/* FeatureVectorizer: [N, d_i] each -> [N, sum of d_i]. */
tl_status tl_eval_ml_features(tl_eval *ctx) {
  tl_int_list sizes = tl_eval_ints(ctx, TL_SYM_inputdimensions);
  tl_ml_rows *in = tl_eval_scratch(ctx, ctx->n_in, sizeof *in);
  int64_t dims[2] = {0, 0};
  tl_host *out;
  if (!in)
    return tl_eval_no_memory(ctx);
  if (sizes.n && sizes.n != ctx->n_in)
    return tl_eval_fail(ctx, "inputdimensions has %u sizes for %u operands", sizes.n, ctx->n_in);
  for (uint32_t i = 0; i < ctx->n_in; i++) {
    TL_TRY(read_flat_rows(ctx, i, &in[i]));
    if ((sizes.n && sizes.at[i] != in[i].features) || in[i].n != in[0].n)
      return tl_eval_fail(ctx, "operand %u does not have the rows or features that are stated", i);
    if (__builtin_add_overflow(dims[1], in[i].features, &dims[1]))
      return tl_eval_fail(ctx, "there are more features than can be counted");
  }
  dims[0] = ctx->n_in ? in[0].n : 0;
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_F32, 2, dims, &out));
  float *to = out->data;
  for (int64_t row = 0; row < dims[0] && out->n; row++)
    for (uint32_t i = 0; i < ctx->n_in; i++)
      for (int64_t k = 0; k < in[i].features; k++)
        *to++ = (float)tl_ml_number(in[i].t, (uint64_t)(row * in[i].features + k));
  return TL_OK;
}

/* ---- Imputer -------------------------------------------------------------------------------- */

/* Integers and floats have a marker each; NaN matches NaN. */
static bool is_missing(const tl_host *t, uint64_t i, double number, int64_t integer) {
  if (!tl_dtype_is_float((tl_dtype)t->dtype))
    return tl_host_int_at(t, i) == integer;
  double v = tl_ml_number(t, i);
  return v == number || (isnan(v) && isnan(number));
}

/* Values are given in 32-bit floats or 64-bit integers; these may not fit i32. */
static tl_status store_imputed(tl_eval *ctx, tl_host *t, uint64_t i, const tl_attr *a,
                               uint64_t at) {
  switch ((tl_dtype)t->dtype) {
  case TL_DTYPE_F32: ((float *)t->data)[i] = a->u.fs[at]; return TL_OK;
  case TL_DTYPE_F64: ((double *)t->data)[i] = (double)a->u.fs[at]; return TL_OK;
  case TL_DTYPE_I64: ((int64_t *)t->data)[i] = a->u.is[at]; return TL_OK;
  default: break;
  }
  if (a->u.is[at] < INT32_MIN || a->u.is[at] > INT32_MAX)
    return tl_eval_fail(ctx, "imputed value %lld is not an i32", (long long)a->u.is[at]);
  ((int32_t *)t->data)[i] = (int32_t)a->u.is[at];
  return TL_OK;
}

/* Imputer: one value for all features, or one for each. */
tl_status tl_eval_ml_imputer(tl_eval *ctx) {
  const tl_host *in = tl_eval_in(ctx, 0);
  tl_host *out;
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  const bool real = tl_dtype_is_float((tl_dtype)in->dtype);
  const tl_attr *a = tl_node_attr(ctx->m, ctx->node,
                                  real ? TL_SYM_imputed_value_floats : TL_SYM_imputed_value_int64s);
  const double number = (double)tl_eval_float(ctx, TL_SYM_replaced_value_float, 0.0f);
  const int64_t integer = tl_eval_int(ctx, TL_SYM_replaced_value_int64, 0);
  const uint64_t features = (uint64_t)in->dims[in->rank - 1];
  if (!a || (a->count != 1 && a->count != features))
    return tl_eval_fail(ctx, "%u imputed values for %llu features", a ? a->count : 0,
                        (unsigned long long)features);
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)in->dtype, in, &out));
  if (in->n)
    memcpy(out->data, in->data, (size_t)in->bytes);
  for (uint64_t i = 0; i < in->n; i++)
    if (is_missing(in, i, number, integer))
      TL_TRY(store_imputed(ctx, out, i, a, a->count == 1 ? 0 : i % features));
  return TL_OK;
}

/* ---- Normalizer, Scaler --------------------------------------------------------------------- */

typedef enum norm { NORM_MAX, NORM_L1, NORM_L2 } norm;

/* Returns the norm of a row. MAX is the greatest value, not the greatest magnitude. */
static double divisor(const tl_ml_rows *in, int64_t row, norm how) {
  double sum = how == NORM_MAX ? (double)-INFINITY : 0;
  for (int64_t k = 0; k < in->features; k++) {
    double v = tl_ml_number(in->t, (uint64_t)(row * in->features + k));
    if (how == NORM_MAX)
      sum = v > sum ? v : sum;
    else
      sum += how == NORM_L1 ? fabs(v) : v * v;
  }
  return how == NORM_L2 ? sqrt(sum) : sum;
}

/* A row whose norm is 0 stays as it is. */
tl_status tl_eval_ml_normalizer(tl_eval *ctx) {
  static const char *const names[] = {"MAX", "L1", "L2"};
  tl_sv text = tl_eval_string(ctx, TL_SYM_norm);
  tl_ml_rows in;
  tl_host *out;
  int how = text.n ? -1 : NORM_MAX;
  for (int i = 0; i < 3; i++)
    if (tl_sv_is(text, names[i]))
      how = i;
  if (how < 0)
    return tl_eval_unsupported(ctx, "norm '%.*s'", TL_SV_ARG(text));
  TL_TRY(tl_ml_read_rows(ctx, 0, &in));
  TL_TRY(tl_eval_result_like(ctx, 0, TL_DTYPE_F32, in.t, &out));
  for (int64_t row = 0; row < in.n && out->n; row++) {
    const double by = divisor(&in, row, (norm)how);
    for (int64_t k = 0; k < in.features; k++) {
      const uint64_t at = (uint64_t)(row * in.features + k);
      const double v = tl_ml_number(in.t, at);
      ((float *)out->data)[at] = (float)(by != 0 ? v / by : v);
    }
  }
  return TL_OK;
}

/* Scaler: (X - offset) * scale, one of each or one for each feature. */
tl_status tl_eval_ml_scaler(tl_eval *ctx) {
  const tl_host *in = tl_eval_in(ctx, 0);
  tl_ml_list offset, scale;
  tl_host *out;
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, TL_MAX_RANK));
  TL_TRY(tl_ml_read_floats(ctx, TL_SYM_offset, 0, &offset));
  TL_TRY(tl_ml_read_floats(ctx, TL_SYM_scale, 0, &scale));
  const uint64_t features = (uint64_t)in->dims[in->rank - 1];
  if ((offset.n > 1 && offset.n != features) || (scale.n > 1 && scale.n != features))
    return tl_eval_fail(ctx, "%llu offsets and %llu scales for %llu features",
                        (unsigned long long)offset.n, (unsigned long long)scale.n,
                        (unsigned long long)features);
  TL_TRY(tl_eval_result_like(ctx, 0, TL_DTYPE_F32, in, &out));
  for (uint64_t i = 0; i < in->n; i++) {
    const uint64_t k = i % features;
    double v = tl_ml_number(in, i);
    if (offset.n)
      v -= offset.at[offset.n == 1 ? 0 : k];
    if (scale.n)
      v *= scale.at[scale.n == 1 ? 0 : k];
    ((float *)out->data)[i] = (float)v;
  }
  return TL_OK;
}
