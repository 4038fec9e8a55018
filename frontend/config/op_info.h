/* SPDX-License-Identifier: Apache-2.0 */
/* Reads op information of the user's CANN installation: aic-<chip>-ops-info*.json.
 * For files of this room, the fuzz target and unit tests. */
#ifndef TL_FRONTEND_CONFIG_OP_INFO_H
#define TL_FRONTEND_CONFIG_OP_INFO_H

#include "ir/chip/op_info.h"
#include "support/arena.h"
#include "support/diag.h"
#include "support/vec.h"

TL_VEC(tl_op_info_row_vec, tl_op_info_row);
TL_VEC(tl_op_info_slot_vec, tl_op_info_slot);
TL_VEC(tl_op_info_attr_vec, tl_op_info_attr);

/* A table that is being built. Rows are in the order in which they were read. */
typedef struct tl_op_info_draft {
  const tl_op_info_set *base; /* borrowed; the built-in table */
  tl_op_info_row_vec rows;
  tl_op_info_slot_vec slots;
  tl_op_info_attr_vec attrs;
  tl_buf dtypes; /* tl_dtype, one byte each */
  tl_buf text;
} tl_op_info_draft;

/* What a file says about one slot of an op. */
typedef struct tl_op_info_port {
  tl_sv name;
  uint8_t kind;       /* tl_slot_kind */
  uint8_t *dtypes;    /* [n_columns], tl_dtype; columns with TL_DTYPE_NONE are dropped */
  uint32_t n_columns; /* combinations of dtypes; 0: the op's own code decides */
} tl_op_info_port;

enum { TL_OP_INFO_MAX_SLOTS = 127, TL_OP_INFO_MAX_COLUMNS = 1024 };

/* Makes an empty table above `base`, which is borrowed. Release it in any case. */
void tl_op_info_draft_init(tl_op_info_draft *t, const tl_op_info_set *base);
/* Releases what the draft owns; sets that were made of it stay in their arena. */
void tl_op_info_draft_release(tl_op_info_draft *t);
/* Copies a text and returns its offset in t->text. Lack of memory shows in t->text.failed. */
uint32_t tl_op_info_draft_text(tl_op_info_draft *t, tl_sv text);
/* Adds the slots of `row`, inputs first. All slots have the same n_columns, or 0. Columns that hold
 * TL_DTYPE_NONE or repeat an earlier column are dropped. A row without columns takes those of the
 * base if that has as many slots. False if memory is out. */
bool tl_op_info_draft_slots(tl_op_info_draft *t, tl_op_info_row *row, tl_op_info_port *ports);
/* Makes a set in the arena: the tables of the base, and above them one of the draft's rows. Of
 * several rows for one op the last counts. TL_NO_MEMORY. */
tl_status tl_op_info_draft_finish(tl_op_info_draft *t, tl_diag *d, tl_arena *a, const char *name,
                                  const tl_op_info_set **out) TL_NODISCARD;

/* Adds the ops of a JSON text. Errors name the file, the place and the op. */
tl_status tl_read_op_info_text(tl_diag *d, const char *path, tl_sv text,
                               tl_op_info_draft *out) TL_NODISCARD;

#endif
