/* SPDX-License-Identifier: Apache-2.0 */
/* Predicts what precision passes will do to a node, for passes that run before them. Some NPU ops
 * have 16-bit kernels only. Whether an f32 node can use them depends on the precision mode, which
 * is applied after selection. This part changes nothing; a doubtful case is answered with "stays
 * f32". */
#ifndef TL_PASSES_EDIT_HALF_H
#define TL_PASSES_EDIT_HALF_H

#include "ir/module.h"
#include "ir/options/options.h"

/* Returns true if f32 tensors of the node become f16 or bf16 wherever its NPU op has no f32 kernel.
 * The mode must ask for the low dtype: force_fp16 for every op, a mixed mode for white ops. No
 * list, policy or mark may concern the node, a node fused into it, or their types. Returns false
 * without options or without a precision configuration. */
bool tl_precision_halves(const tl_module *m, const tl_options *options, tl_node_id n);
/* Returns true if v is f16 or bf16, or f32 at a node that tl_precision_halves accepts. */
bool tl_precision_half_at(const tl_module *m, const tl_options *options, tl_node_id n,
                          tl_value_id v);

/* Returns true if v is f16, or f32 that the mode may lower to f16 where an op has no wider kernel:
 * every mode but must_keep_origin_dtype and the bfloat16 modes. */
bool tl_precision_may_halve(const tl_module *m, const tl_options *options, tl_value_id v);
/* Returns true if v is bf16, or f32 that stays f32 wherever an op has an f32 kernel: without a
 * mode, in force_fp32, in must_keep_origin_dtype and in the bfloat16 modes. For bf16 the mode
 * force_fp16 is the exception: it lowers bf16 to f16. */
bool tl_precision_stays_wide(const tl_module *m, const tl_options *options, tl_value_id v);

#endif
