/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up declarations of a training step (metadata, --train-spec) by name in the graph.
 * It is the first part of tl_train_detect and changes only states, gradients, loss and seed of the
 * module. */
#ifndef TL_PASSES_TRAIN_STEP_DECLARE_H
#define TL_PASSES_TRAIN_STEP_DECLARE_H

#include "passes/train/step/state.h"
#include "passes/train/step/update_ops.h"

/* Adds the declared states, gradients, loss and seed to those of the module; parameters and states
 * that are constants become inputs. Errors: E-TRN-NOTENSOR (a name that no value has, or a gradient
 * that is not a tensor), E-TRN-DUP, E-TRN-SHAPE, E-TRN-DTYPE, TL_NO_MEMORY; all reported. */
tl_status tl_train_declare(tl_module *m) TL_NODISCARD;

/* Sets listed[v] for the parameters that a declaration lists, or listed before tl_train_settle.
 * listed: [value ids], false before. Clears *any if no list exists. E-TRN-NOTENSOR, E-TRN-DUP,
 * TL_NO_MEMORY. */
tl_status tl_train_declared_params(tl_module *m, bool *listed, bool *any) TL_NODISCARD;

/* Fills the places of gradients in the declared order, counted from 1, by id of parameter or
 * gradient. place: [value ids], 0 before. Clears *any if no order is declared. E-TRN-NOTENSOR,
 * E-TRN-DUP, TL_NO_MEMORY. */
tl_status tl_train_declared_order(tl_module *m, uint32_t *place, bool *any) TL_NODISCARD;

/* Returns the row of a node's op: from the declarations, written to *room, else from the table of
 * known update ops. NULL if the op has no row. */
const tl_update_row *tl_train_update_row(const tl_module *m, tl_node_id n, tl_update_row *room);

#endif
