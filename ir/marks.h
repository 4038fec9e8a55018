/* SPDX-License-Identifier: Apache-2.0 */
/* Marks that a user or an earlier tool left on nodes for the device compiler: metadata under its
 * names. Nodes that differ in them are not fused; what they are fused to inherits them. */
#ifndef TL_IR_MARKS_H
#define TL_IR_MARKS_H

#include "ir/module.h"

enum { TL_N_MARKS = 7 };

/* Value of mark i, which is below TL_N_MARKS; empty when the node does not carry it. */
tl_sv tl_node_mark(const tl_module *m, tl_node_id n, uint32_t i);
/* Key of mark i in metadata. */
const char *tl_mark_key(uint32_t i);
/* The first mark in which two nodes differ, TL_N_MARKS when they agree. */
uint32_t tl_node_marks_differ(const tl_module *m, tl_node_id a, tl_node_id b);
/* Does the node ask for a dump of its results (`_dump_able` is true)? */
bool tl_node_asks_dump(const tl_module *m, tl_node_id n);

#endif
