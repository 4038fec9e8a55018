/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a value that a pass made where an old one was, with its name and roles. */
#ifndef TL_PASSES_TRAIN_UPDATE_TAKE_PLACE_H
#define TL_PASSES_TRAIN_UPDATE_TAKE_PLACE_H

#include "passes/edit/maker.h"

/* Replaces `old` by `made`. A value with an id from `first` on is new and takes the name of `old`;
 * any other value goes through a node where the name leaves the graph. */
void tl_plain_take_place(tl_maker *k, tl_value_id old, tl_value_id made, tl_value_id first);

#endif
