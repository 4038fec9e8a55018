/* SPDX-License-Identifier: Apache-2.0 */
/* What the results of a model are, seen before ops are replaced by what they mean: the node that
 * gives each, the nodes of the model that it comes from, and the tensor of another model that it
 * stands for, where names no longer say it (AIR files, NPU forms). */
#ifndef TL_TOOLS_VERIFY_KIN_H
#define TL_TOOLS_VERIFY_KIN_H

#include "ir/module.h"

/* A result of the main graph. Texts are symbols of its module. */
typedef struct tl_kin_row {
  tl_symbol value; /* its name */
  tl_symbol node;  /* the node's name, or TYPE->RESULT */
  tl_symbol from;  /* list of the model's nodes that it comes from, as in ir/trace.h; 0: none */
  tl_op_id op;     /* of the node */
  uint32_t result; /* which result it is */
  uint32_t first;  /* operand of the node in tl_kin.operands, and how many there are */
  uint32_t n;
  tl_value_id twin; /* of the other model; TL_NO_VALUE: names decide */
} tl_kin_row;

TL_VEC(tl_kin_rows, tl_kin_row);

/* All results of one model. Set `other`, zero the rest. */
typedef struct tl_kin {
  tl_module *other;    /* borrowed; NULL: there is no model to compare with */
  tl_kin_rows rows;    /* owned; in order of execution */
  tl_u32_vec operands; /* owned; names of operands, 0: absent or unnamed */
  uint32_t *of;        /* owned; by symbol of the module: 1 + row; 0: none */
  uint32_t n;          /* entries of `of` */
} tl_kin;

/* Notes the results of m. For tl_evaluation.loaded; user: the tl_kin. TL_NO_MEMORY. */
tl_status tl_kin_note(void *user, tl_module *m);
void tl_kin_release(tl_kin *k);
/* Returns the row of a value's name; NULL: the result is none of the model's, but of what an op
 * was replaced by. */
const tl_kin_row *tl_kin_of(const tl_kin *k, const tl_module *m, tl_value_id v);
/* The same by the name; NULL also for TL_NO_SYMBOL. */
const tl_kin_row *tl_kin_named(const tl_kin *k, tl_symbol name);

#endif
