/* SPDX-License-Identifier: Apache-2.0 */
/* What precision will do, for those who come before it. Some ops have kernels of 16 bits alone:
 * whether a node of f32 can become one hangs on the precision mode, which is applied behind
 * selection. */
#ifndef TL_PASSES_EDIT_HALF_H
#define TL_PASSES_EDIT_HALF_H

#include "ir/module.h"
#include "ir/options/options.h"

/* True when f32 of the node becomes f16 or bf16 as soon as its NPU type has nothing else: the mode
 * asks for the low dtype wherever it is to be had (force_fp16) or for ops of this colour, and
 * neither a list, a policy nor a mark says anything about the node, the nodes that it was fused
 * from, or their types. Without options nothing does. */
bool tl_precision_halves(const tl_module *m, const tl_options *options, tl_node_id n);
/* True when v is f16 or bf16, or f32 at a node that tl_precision_halves takes. */
bool tl_precision_half_at(const tl_module *m, const tl_options *options, tl_node_id n,
                          tl_value_id v);

/* True when v is f16, or f32 that the mode lets become f16 where an op has nothing wider: all modes
 * but must_keep_origin_dtype and those of bfloat16. */
bool tl_precision_may_halve(const tl_module *m, const tl_options *options, tl_value_id v);
/* True when v is bf16, or f32 that stays f32 wherever an op has it: without a mode, in force_fp32,
 * in must_keep_origin_dtype and in the modes of bfloat16. */
bool tl_precision_stays_wide(const tl_module *m, const tl_options *options, tl_value_id v);

#endif
