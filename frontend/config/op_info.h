/* SPDX-License-Identifier: Apache-2.0 */
/* Reading op information of a user's own CANN: aic-<chip>-ops-info*.json. Internal to
 * frontend/config; the fuzz target and unit tests look in too. */
#ifndef TL_FRONTEND_CONFIG_OP_INFO_H
#define TL_FRONTEND_CONFIG_OP_INFO_H

#include "ir/chip/op_info.h"
#include "support/arena.h"
#include "support/diag.h"
#include "support/vec.h"

TL_VEC(tl_op_info_row_vec, tl_op_info_row);
TL_VEC(tl_op_info_slot_vec, tl_op_info_slot);
TL_VEC(tl_op_info_attr_vec, tl_op_info_attr);

/* A table in the making. Rows stand in the order in which they were read. */
typedef struct tl_op_info_draft {
  const tl_op_info_set *base; /* what is known without the files; borrowed */
  tl_op_info_row_vec rows;
  tl_op_info_slot_vec slots;
  tl_op_info_attr_vec attrs;
  tl_buf dtypes; /* tl_dtype, one byte each */
  tl_buf text;
} tl_op_info_draft;

/* What a file says of a slot. */
typedef struct tl_op_info_port {
  tl_sv name;
  uint8_t kind;       /* tl_slot_kind */
  uint8_t *dtypes;    /* [n_columns]; a column with TL_DTYPE_NONE is of no use */
  uint32_t n_columns; /* 0: left to the op's code */
} tl_op_info_port;

enum { TL_OP_INFO_MAX_SLOTS = 127, TL_OP_INFO_MAX_COLUMNS = 1024 };

void tl_op_info_draft_init(tl_op_info_draft *t, const tl_op_info_set *base);
void tl_op_info_draft_release(tl_op_info_draft *t);
/* Offset of a copy of the text. Failure shows in t->text.failed. */
uint32_t tl_op_info_draft_text(tl_op_info_draft *t, tl_sv text);
/* Adds the slots of `row`, all with the same n_columns or with none, inputs first. Columns that
 * hold TL_DTYPE_NONE or repeat an earlier one go; a row without columns takes those of the base if
 * it has as many slots. False when memory is out. */
bool tl_op_info_draft_slots(tl_op_info_draft *t, tl_op_info_row *row, tl_op_info_port *ports);
/* The set: the base's tables and over them one of the draft's rows, where of rows for one op the
 * last counts. Arena memory. */
tl_status tl_op_info_draft_finish(tl_op_info_draft *t, tl_diag *d, tl_arena *a, const char *name,
                                  const tl_op_info_set **out) TL_NODISCARD;

/* Adds what a JSON text says. Errors name the file, the place and the op. */
tl_status tl_read_op_info_text(tl_diag *d, const char *path, tl_sv text,
                               tl_op_info_draft *out) TL_NODISCARD;

#endif
