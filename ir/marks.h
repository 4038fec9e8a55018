/* SPDX-License-Identifier: Apache-2.0 */
/* Marks on nodes, kept as metadata. Some come from a user or an earlier tool for the device
 * compiler, under its names: nodes that differ in them are not fused, and a fused node inherits
 * them. Others are set by our own passes for later ones. */
#ifndef TL_IR_MARKS_H
#define TL_IR_MARKS_H

#include "ir/module.h"

enum { TL_N_MARKS = 7 };

/* Returns the value of mark i < TL_N_MARKS, empty when the node does not carry it. */
tl_sv tl_node_mark(const tl_module *m, tl_node_id n, uint32_t i);
/* Returns the key of mark i in metadata. */
const char *tl_mark_key(uint32_t i);
/* Returns the first mark in which two nodes differ, TL_N_MARKS when they agree. */
uint32_t tl_node_marks_differ(const tl_module *m, tl_node_id a, tl_node_id b);
/* Returns true when the node asks for a dump of its results (`_dump_able` is "true"). */
bool tl_node_asks_dump(const tl_module *m, tl_node_id n);

/* The node is computed although its value is known or could be taken from another one: x * 0 is
 * looked at for NaN. Neither folding nor a rule takes it. */
#define TL_MARK_NOFOLD "tailor.nofold"
/* The node runs on the host, not on the NPU (mix_compile_mode). */
#define TL_MARK_HOST "tailor.host"
/* No precision mode changes the dtypes of the node; the device compiler's own name. */
#define TL_MARK_KEEP_DTYPE "_keep_dtype"
/* The node reads a gradient as this rank alone has it: insertion of AllReduce passes it by. */
#define TL_MARK_LOCAL "tailor.local"
/* In every precision mode the node follows what feeds it, as a gray op does in mixed ones. */
#define TL_MARK_INHERIT_DTYPE "_inherit_dtype_from_predecessor"
/* An AllReduce of an overflow flag, to travel in the last bucket of gradients. */
#define TL_MARK_FLAG "tailor.flag"

/* Returns true when the node carries the mark, that is the value "1" under the key. */
bool tl_node_has_mark(const tl_module *m, tl_node_id n, const char *key);
/* Sets the mark; false when memory is out. */
bool tl_node_put_mark(tl_module *m, tl_node_id n, const char *key);

/* What the schedule says of a node, in ONNX and in AIR: the stream that it runs on, unless that is
 * the main one; the events that it records after it has run, and those that it waits for, as
 * decimal numbers between commas. Nodes run in the order of the file. */
#define TL_NOTE_STREAM "tailor.stream"
#define TL_NOTE_RECORD "tailor.event_record"
#define TL_NOTE_WAIT "tailor.event_wait"

/* Prefix of keys of a module's metadata: an attribute of the model in AIR; the value is its
 * AttrDef, as bytes. */
#define TL_AIR_METADATA "air."

/* Control edges in ONNX: names of the nodes that run before, commas between them, and the origin of
 * each. */
#define TL_NOTE_CONTROL "tailor.ctrl_in"
#define TL_NOTE_ORIGIN "tailor.ctrl_origin"

/* Returns the value under a key, empty when the node has none. */
tl_sv tl_node_note(const tl_module *m, tl_node_id n, const char *key);
/* Sets or replaces the value under a key; an empty value removes it. False when memory is out. */
bool tl_node_set_note(tl_module *m, tl_node_id n, const char *key, tl_sv value);

#endif
