/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations by name, looked up in the graph. A part of tl_train_detect. */
#ifndef TL_PASSES_TRAIN_STEP_DECLARE_H
#define TL_PASSES_TRAIN_STEP_DECLARE_H

#include "passes/train/step/state.h"
#include "passes/train/step/update_ops.h"

/* Adds the states, gradients, loss and seed that are declared to those of the module; parameters
 * and states that are constants become inputs. E-TRN-NOTENSOR: a name that no value has, or a
 * gradient that is a list; E-TRN-DUP. */
tl_status tl_train_declare(tl_module *m) TL_NODISCARD;

/* Marks the parameters that a declaration lists, or listed, by value; *any false: it lists none.
 * E-TRN-NOTENSOR, E-TRN-DUP. */
tl_status tl_train_declared_params(tl_module *m, bool *listed, bool *any) TL_NODISCARD;

/* Places of gradients in the declared order, by value of parameter or gradient, from 1; *any false:
 * none is declared. E-TRN-NOTENSOR, E-TRN-DUP. */
tl_status tl_train_declared_order(tl_module *m, uint32_t *place, bool *any) TL_NODISCARD;

/* Row of a node's op in the declarations or else in the table; *room holds the former. NULL:
 * none. */
const tl_update_row *tl_train_update_row(const tl_module *m, tl_node_id n, tl_update_row *room);

#endif
