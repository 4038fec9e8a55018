/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of tensors in GE: which dim is what. The IR has the order of ONNX (NCHW) and no formats;
 * those that a file of another tool has are kept as notes, for the writer of AIR. */
#ifndef TL_IR_GE_FORMAT_H
#define TL_IR_GE_FORMAT_H

#include "ir/module.h"

/* Formats that Tailor gives to ports by itself. */
typedef enum tl_ge_format { TL_GE_ND, TL_GE_NCHW, TL_GE_NCDHW, TL_N_GE_FORMATS } tl_ge_format;

/* GE's numbers of some formats. */
enum { TL_NUMBER_NCHW = 0, TL_NUMBER_ND = 2, TL_NUMBER_NCDHW = 30, TL_NUMBER_RESERVED = 40 };

/* Returns the name of a format by its number, of which the low byte counts; NULL for none. */
const char *tl_ge_format_name(int64_t number);
/* Returns the number of a format by its name, -1 for none. */
int64_t tl_ge_format_number(tl_sv name);
/* Returns the number of a format of Tailor's. */
int64_t tl_ge_own_number(tl_ge_format format);
/* Returns the format if values of the type have the rank of it, else ND. */
tl_ge_format tl_ge_fitting(const tl_module *m, tl_type_id type, tl_ge_format format);
/* Returns the format that an op declares by data_format or by its trait, ND for an op that declares
 * none. */
tl_ge_format tl_ge_declared(const tl_module *m, tl_node_id n);

/* Notes that say what a port of a node has in GE's file and Tailor would not write by itself. They
 * are metadata under the keys "desc.in0", "desc.out0" ... by operand and by result: of nodes; of
 * inputs and constants ("desc.out0"); of a graph, whose outputs are "in". */
#define TL_PORT_IN "desc.in"
#define TL_PORT_OUT "desc.out"
enum { TL_PORT_KEY = 24 };

/* Prefix of keys of metadata of inputs, constants and graphs: an attribute of theirs in GE; the
 * value is its AttrDef, as bytes. TL_OUTPUT_METADATA: of a graph's NetOutput. */
#define TL_OUTPUT_METADATA "output."
/* Key of metadata of an input or constant: its type in GE, if it is not Data or Const. */
#define TL_NOTE_TYPE "type"
/* Keys of metadata of a graph: the name of a body in GE, where bodies and nodes are not named as
 * Tailor does, so that names stay; and that of its NetOutput. */
#define TL_NOTE_NAME "name"
#define TL_NOTE_OUTPUT "output"
/* Key of metadata of an input of a body that the body of GE does not have. */
#define TL_NOTE_ABSENT "absent"

/* What a note says, as text: STORAGE, STORAGE/ORIGIN where both formats differ, then "@D,D,D" where
 * the original shape is not the shape, then a blank and more fields of the desc as bytes. Or "="
 * and the whole desc as bytes. A format may be "NAME:NUMBER" for the bits that a name lacks. */
typedef struct tl_port_note {
  int64_t storage; /* GE's numbers */
  int64_t origin;
  tl_sv dims;  /* of the original shape, "1,3,5,5"; p NULL: the shape itself */
  tl_sv more;  /* fields of the desc, encoded; n 0: none */
  tl_sv whole; /* p not NULL: the whole desc, and nothing else counts */
} tl_port_note;

/* Reads a note; false if it is none. Appends one. */
bool tl_port_note_read(tl_sv note, tl_port_note *out);
void tl_port_note_print(const tl_port_note *f, tl_buf *out);
/* Returns the metadata under a key in an extra; p NULL without it. */
tl_sv tl_extra_get(const tl_module *m, uint32_t slot, const char *key);
/* Returns the note of a port in the extra `slot` of a node, value or graph; p NULL without one. */
tl_sv tl_port_note_get(const tl_module *m, uint32_t slot, bool result, uint32_t port);
/* Adds the note of a port, and any metadata; false when memory is out. The key must be new. */
bool tl_port_note_set(tl_module *m, uint32_t *slot, bool result, uint32_t port, tl_sv note);
bool tl_extra_add(tl_module *m, uint32_t *slot, tl_sv key, tl_sv value);

/* Returns true for a format that only says which dim is what: the elements lie in the order of the
 * dims. Others are layouts of the device. */
bool tl_ge_is_plain(int64_t format);
/* Returns the first node with a port in a layout of the device, whose name goes to *format;
 * TL_NO_NODE without one. O(nodes). */
tl_node_id tl_ge_find_layout(const tl_module *m, const char **format);

#endif
