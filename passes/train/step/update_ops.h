/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the ops that are known to update parameters: which operand and result has which
 * role. */
#ifndef TL_PASSES_TRAIN_STEP_UPDATE_OPS_H
#define TL_PASSES_TRAIN_STEP_UPDATE_OPS_H

#include "passes/train/step/info.h"

/* How the operands of an update op stand for tensors. */
typedef enum tl_update_layout {
  TL_UPDATE_FLAT,    /* one tensor a node */
  TL_UPDATE_GROUPED, /* several, by kind: all parameters, all gradients, all of each state */
  TL_UPDATE_SEQUENCE /* several, in sequences */
} tl_update_layout;

/* Indices of operands or results, or of groups of them. */
typedef struct tl_update_list {
  uint32_t n;
  uint32_t at[TL_TRAIN_MAX_STATES];
} tl_update_list;

/* Roles of an update op's operands and results; indices count operands, or groups of them. */
typedef struct tl_update_row {
  tl_sv domain; /* "*": any */
  tl_sv name;
  uint8_t layout; /* tl_update_layout */
  uint32_t group; /* GROUPED: shared operands in front */
  uint32_t param;
  uint32_t grad;
  tl_update_list states;
  uint32_t result;              /* the next value of the parameter */
  tl_update_list state_results; /* as many as states; fewer: the others change in place */
} tl_update_row;

/* One tensor of an update op. */
typedef struct tl_update_slot {
  tl_value_id param;
  tl_value_id grad;
  tl_value_id out; /* TL_NO_VALUE: an element of a sequence that nobody takes out */
  tl_value_id state_in[TL_TRAIN_MAX_STATES];
  tl_value_id state_out[TL_TRAIN_MAX_STATES];
  uint32_t n_states;
} tl_update_slot;

/* Returns the row of a node's op in the table, NULL if the op updates nothing. O(rows). */
const tl_update_row *tl_update_row_of(const tl_module *m, tl_node_id n);
/* Returns row i of the table, NULL beyond the last. */
const tl_update_row *tl_update_row_at(uint32_t i);

/* Returns the number of tensors that a node of this row updates; 0 if its operands do not fit the
 * row. */
uint32_t tl_update_count(const tl_module *m, tl_node_id n, const tl_update_row *row);
/* Fills *out for tensor i of the node. Returns false if the parameter or gradient is absent or
 * hidden in a sequence. */
bool tl_update_slot_at(const tl_module *m, tl_node_id n, const tl_update_row *row, uint32_t i,
                       tl_update_slot *out);

#endif
