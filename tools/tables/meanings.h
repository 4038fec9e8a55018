/* SPDX-License-Identifier: Apache-2.0 */
/* What NPU ops mean to the evaluator, told to people. */
#ifndef TL_TOOLS_TABLES_MEANINGS_H
#define TL_TOOLS_TABLES_MEANINGS_H

#include "ir/op.h"
#include "support/str.h"

/* Lines "  means    ..." of `tailor ops` for an NPU op; nothing for others. */
void tl_add_meaning(tl_buf *out, const tl_op *op);
/* docs/npu-ops.md. */
void tl_document_npu_ops(tl_buf *out);

#endif
