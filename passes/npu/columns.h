/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a chip has kernels for the dtypes of a module in NPU form. */
#ifndef TL_PASSES_NPU_COLUMNS_H
#define TL_PASSES_NPU_COLUMNS_H

#include "ir/module.h"
#include "ir/options/options.h"

/* Every node against its row of the chip's table: some column must have the dtypes of all operands
 * and results that are there. A node without f32, f16 and bf16 may fit none, and so may a cast of
 * plain numbers: AI CPUs have such kernels; they are counted in m->chip_fit.host. All else is
 * reported (P0205), node by node as far as there are not too many: TL_UNSUPPORTED. Ops that no
 * table knows pass. One sweep. */
tl_status tl_chip_columns_check(tl_module *m, const tl_options *options) TL_NODISCARD;

/* Has the chip's row of Cast a column for these dtypes? */
bool tl_chip_casts(const tl_op_info_set *chip, tl_dtype from, tl_dtype to);

#endif
