/* SPDX-License-Identifier: Apache-2.0 */
/* Shorthands that shape functions share: reading one dim, checking one rank, stating a result that
 * follows an operand. No part of the driver. */
#ifndef TL_IR_INFER_STATE_H
#define TL_IR_INFER_STATE_H

#include "ir/infer/infer.h"

/* Returns dim `axis` of operand i, counted from the end when negative; unknown when the rank is
 * unknown or the axis lies outside. */
tl_dim tl_infer_dim(tl_infer *ctx, uint32_t i, int axis);
/* Fails when the rank of operand i is known and outside [min, max]. */
tl_status tl_infer_check_rank(tl_infer *ctx, uint32_t i, int min, int max) TL_NODISCARD;
/* Fails when both dims are sizes and differ; `what` names the two in the message. */
tl_status tl_infer_check_dim(tl_infer *ctx, const char *what, tl_dim a, tl_dim b) TL_NODISCARD;

/* Like tl_infer_set, without effect when the node has no result i. */
tl_status tl_infer_put(tl_infer *ctx, uint32_t i, tl_dtype dtype, int rank,
                       const tl_dim *dims) TL_NODISCARD;
/* States result i with the shape of operand `like`. */
tl_status tl_infer_put_like(tl_infer *ctx, uint32_t i, tl_dtype dtype, uint32_t like) TL_NODISCARD;
/* States result i with the type of operand `like`, whatever its kind. */
tl_status tl_infer_put_same(tl_infer *ctx, uint32_t i, uint32_t like) TL_NODISCARD;

/* Copies the dims of operand i into `dims` (room for TL_MAX_RANK) and returns its rank. */
int tl_infer_copy_dims(tl_infer *ctx, uint32_t i, tl_dim *dims);
/* Returns the dim in a one-element integer operand, unknown otherwise. */
tl_dim tl_infer_dim_value(tl_infer *ctx, uint32_t i);
/* Gives the dtype of an ONNX number in attribute `name`; `fallback` when it is absent or 0. Fails
 * on a number that ONNX does not define. */
tl_status tl_infer_attr_dtype(tl_infer *ctx, tl_symbol name, tl_dtype fallback,
                              tl_dtype *out) TL_NODISCARD;
/* Returns d + c; unknown when c is negative and larger than d. */
tl_dim tl_dim_offset(tl_module *m, tl_dim d, int64_t c);

/* Gives the strongest type that both a and b are instances of: dims that differ become unknown,
 * ranks that differ an unknown rank, and one unknown type makes all unknown. Fails when dtypes or
 * kinds differ; `what` names the value in the message. */
tl_status tl_infer_join(tl_infer *ctx, const char *what, tl_type_id a, tl_type_id b,
                        tl_type_id *out) TL_NODISCARD;
/* Interns seq(element) or optional(element); TL_NO_MEMORY. */
tl_status tl_infer_container(tl_infer *ctx, tl_type_kind kind, tl_type_id element,
                             tl_type_id *out) TL_NODISCARD;

#endif
