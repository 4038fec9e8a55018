/* SPDX-License-Identifier: Apache-2.0 */
/* Shows what a chip makes of an op, for tailor ops. */
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

/* Prepares *c for the chip of the options, which are borrowed. False if memory is out; release it
 * all the same. */
bool tl_op_chip_init(tl_op_chip *c, const tl_options *o, tl_diag *diag);
/* Releases what *c owns. */
void tl_op_chip_release(tl_op_chip *c);

/* Returns true unless the guard of a candidate rules the chip out. */
bool tl_op_chip_has(const tl_op_chip *c, const tl_npu_candidate *candidate);

/* Adds the candidates of an op with what the chip knows of each, one indented line for each
 * fact. */
void tl_op_chip_candidates(tl_buf *out, const tl_op_chip *c, const tl_op *op);
/* Adds the op information of an NPU type, with slots and attributes. */
void tl_op_chip_type(tl_buf *out, const tl_op_chip *c, tl_op_info info);
/* Add the same facts as JSON values. */
void tl_op_chip_candidates_json(tl_json_writer *w, const tl_op_chip *c, const tl_op *op);
void tl_op_chip_type_json(tl_json_writer *w, tl_op_info info);

#endif
