/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the dtypes of a module in NPU form against the kernels of a chip. The chip's table lists
 * for each op columns of dtypes, one dtype per operand and result; a kernel exists per column.
 * Nothing is changed. */
#ifndef TL_PASSES_NPU_COLUMNS_H
#define TL_PASSES_NPU_COLUMNS_H

#include "ir/module.h"
#include "ir/options/options.h"

/* Checks every node: some column of its row must have the dtypes of all operands and results
 * present. Nodes without f32, f16, bf16 and hif8, and casts among ordinary number types, may fit
 * none: AI CPU kernels exist for them; m->chip_fit.host counts them. All others are reported
 * (P0205), the first 20 one by one, and the result is TL_UNSUPPORTED. Ops that no table knows pass.
 * Returns TL_NO_MEMORY, reported. O(nodes * columns). */
tl_status tl_chip_columns_check(tl_module *m, const tl_options *options) TL_NODISCARD;

/* Returns true if the chip's row of Cast has a column for these dtypes, or has no ports to tell. */
bool tl_chip_casts(const tl_op_info_set *chip, tl_dtype from, tl_dtype to);

#endif
