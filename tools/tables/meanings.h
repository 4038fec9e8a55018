/* SPDX-License-Identifier: Apache-2.0 */
/* Tells people what NPU ops mean to the evaluator. */
#ifndef TL_TOOLS_TABLES_MEANINGS_H
#define TL_TOOLS_TABLES_MEANINGS_H

#include "ir/op.h"
#include "support/str.h"

/* Adds lines "  means    ..." of tailor ops for an NPU op; nothing for other ops. */
void tl_add_meaning(tl_buf *out, const tl_op *op);
/* Adds docs/npu-ops.md. */
void tl_document_npu_ops(tl_buf *out);

#endif
