/* SPDX-License-Identifier: Apache-2.0 */
/* What the op table says of an op, for people. */
#ifndef TL_TOOLS_TABLES_OPS_H
#define TL_TOOLS_TABLES_OPS_H

#include "tools/tables/op_chip.h"

/* Adds the facts of the table about an op, a line each: operands, results, types, attributes. */
void tl_op_describe(tl_buf *out, const tl_op *op);
/* Adds the default of an attribute as textual IR writes it; nothing without one, or for lists. */
void tl_op_add_default(tl_buf *out, const tl_op_attr *a);

#endif
