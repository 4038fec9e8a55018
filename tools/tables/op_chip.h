/* SPDX-License-Identifier: Apache-2.0 */
/* What a chip makes of an op, for tailor ops. */
#ifndef TL_TOOLS_TABLES_OP_CHIP_H
#define TL_TOOLS_TABLES_OP_CHIP_H

#include "ir/op.h"
#include "ir/options/options.h"
#include "support/json_writer.h"

/* The chip that is asked about. */
typedef struct tl_op_chip {
  const char *name; /* as the user gave it */
  const tl_soc *soc;
  const tl_op_info_set *info;
  tl_module *words; /* owned; guards are parsed in it */
} tl_op_chip;

/* False when memory is out. */
bool tl_op_chip_init(tl_op_chip *c, const tl_options *o, tl_diag *diag);
void tl_op_chip_release(tl_op_chip *c);

/* True unless the guard of a candidate rules the chip out. */
bool tl_op_chip_has(const tl_op_chip *c, const tl_npu_candidate *candidate);

/* One indented line a fact: the candidates of an op with what the chip knows of each. */
void tl_op_chip_candidates(tl_buf *out, const tl_op_chip *c, const tl_op *op);
/* The op information of an NPU type, with slots and attributes. */
void tl_op_chip_type(tl_buf *out, const tl_op_chip *c, tl_op_info info);
/* The same as JSON values. */
void tl_op_chip_candidates_json(tl_json_writer *w, const tl_op_chip *c, const tl_op *op);
void tl_op_chip_type_json(tl_json_writer *w, tl_op_info info);

#endif
