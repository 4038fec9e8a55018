/* SPDX-License-Identifier: Apache-2.0 */
/* State of reading one AIR file, and what the files of this room share. Field numbers are those of
 * GE's ge_ir.proto (docs/air.md). */
#ifndef TL_FRONTEND_AIR_READER_H
#define TL_FRONTEND_AIR_READER_H

#include "frontend/data/view.h"
#include "frontend/wire/wire.h"
#include "ir/ge_fields.h"
#include "ir/module.h"
#include "support/slots.h"

/* A graph of the file. */
typedef struct tl_air_graph {
  tl_symbol name;
  tl_proto body;
  tl_graph_id id; /* TL_NO_GRAPH: no node has named it yet */
} tl_air_graph;

/* What a node of the file became. */
typedef enum tl_air_role {
  TL_AIR_OP,       /* node */
  TL_AIR_INPUT,    /* value: a Data node */
  TL_AIR_CONSTANT, /* value: a Const or FileConstant node */
  TL_AIR_OUTPUT    /* a NetOutput node: the outputs of the graph */
} tl_air_role;

/* A node of the graph being read. */
typedef struct tl_air_op {
  tl_proto body;
  tl_symbol name;
  tl_symbol type;
  uint32_t n_outputs; /* descs, once the node is made */
  int64_t index;      /* Data: its attribute index, or that of the parent's input; else -1 */
  uint32_t line;      /* of a text; 0: the file is binary */
  bool no_data;       /* a constant of a dump without weights */
  bool waits;         /* for nodes behind it in the file that it reads */
  bool has_more;      /* input, constant: it has attributes to be kept */
  tl_proto desc;      /* input, constant: its first desc; p NULL: none */
  uint8_t role;       /* tl_air_role */
  tl_node_id node;
  tl_value_id value;
} tl_air_op;

/* What an attribute of a node is to the reader. */
typedef enum tl_air_use {
  TL_AIR_ATTR,  /* an attribute of the node */
  TL_AIR_PORTS, /* describes ports: the writer makes it anew */
  TL_AIR_NOTE   /* becomes a note of the node */
} tl_air_use;

/* An entry of an attribute map. */
typedef struct tl_air_entry {
  tl_sv key;
  tl_proto value; /* AttrDef */
  uint8_t use;    /* tl_air_use, of entries of a node that was split */
} tl_air_entry;

TL_VEC(tl_air_entry_vec, tl_air_entry);
TL_VEC(tl_air_graph_vec, tl_air_graph);
TL_VEC(tl_air_op_vec, tl_air_op);
TL_VEC(tl_attr_vec, tl_attr);
TL_VEC(tl_span_vec, tl_proto);

/* What a file is, besides its contents. */
typedef enum tl_air_form {
  TL_AIR_BINARY,
  TL_AIR_TEXT, /* ge_proto_*.txt: protobuf text of the same messages */
  TL_AIR_DUMP  /* ge_onnx_*.pbtxt: in the shape of ONNX, which loses kinds of attributes */
} tl_air_form;

enum { TL_AIR_DESCS = 64, TL_AIR_PORT_LISTS = 64 }; /* what is remembered */

/* Names of input slots, as the last node of an op listed them. */
typedef struct tl_air_port_names {
  tl_proto keys; /* ListValues of _input_name_key and _input_name_value; p NULL: none yet */
  tl_proto values;
  uint32_t n; /* slots */
  tl_symbol *ids;
} tl_air_port_names;

/* What a desc says. */
typedef struct tl_air_desc {
  tl_proto bytes;
  tl_type_id type; /* NO_TYPE: no dtype, or one without a counterpart */
  uint8_t own;     /* set of tl_ge_format: with this format the writer makes the same desc */
  bool is_strange; /* its dtype has no counterpart */
  bool known;
} tl_air_desc;

typedef struct tl_air_reader {
  tl_diag *d;
  const char *path;
  tl_module *m;
  const tl_file *file;     /* NULL: the model is in the caller's memory */
  tl_proto model;          /* the whole file; offsets in messages count from its start */
  tl_file_mode mode;       /* of files of weights */
  const tl_beside *beside; /* who opens them; NULL: they lie in the folder of the model */
  tl_air_form form;
  tl_side_file_vec externals;
  tl_air_graph_vec graphs; /* in the order of the file; the first is the main one */
  tl_u32_vec graph_of;     /* by symbol: position in graphs + 1 */
  tl_air_op_vec ops;       /* of the graph being read */
  tl_u32_vec op_of;        /* by symbol: position in ops + 1 */
  tl_u32_vec named;        /* by symbol: the value that has the name */
  tl_u32_vec for_output;   /* by symbol: 1 if it is the name of an output */
  tl_u32_vec states;       /* by input of the main graph: the output that is its next value */
  uint32_t n_nodes;        /* over all graphs */
  uint32_t n_lost;         /* attributes without a value, which GE drops as well */
  uint32_t n_empty;        /* constants without data, in a text */
  uint32_t n_unnamed;      /* nodes that lack strings which their prototypes require, in a dump */
  /* Room for one node: */
  tl_span_vec edges;        /* data and control edges, in the order of the file */
  tl_span_vec inputs;       /* descs */
  tl_span_vec outputs;      /* descs */
  tl_span_vec bodies;       /* names of graphs */
  tl_air_entry_vec entries; /* of the attribute map */
  int32_t stream;           /* -1: the main one */
  tl_attr_vec attrs;
  tl_u32_vec values;
  tl_i64_vec numbers;
  tl_u32_vec ids;
  tl_u32_vec slots;                /* by operand: the input slot of the file; UINT32_MAX: none */
  tl_air_desc descs[TL_AIR_DESCS]; /* the last ones, by hash */
  tl_air_port_names ports[TL_AIR_PORT_LISTS]; /* by op id */
} tl_air_reader;

/* ---- reader.c ---- */
/* Releases what *r owns; the module and the files stay. */
void tl_air_reader_release(tl_air_reader *r);
/* Reports that the message `what` is malformed at byte `at`, and returns TL_INVALID_MODEL. */
tl_status tl_air_malformed(const tl_air_reader *r, const unsigned char *at, const char *what);
/* Returns the symbol of bytes of the file, which it views; TL_NO_SYMBOL if memory is out. */
tl_symbol tl_air_symbol(tl_air_reader *r, tl_sv s);
/* Returns the location of a node of the graph being read in messages. */
tl_location tl_air_at(const tl_air_reader *r, tl_symbol node);
/* Splits a map entry; false if it is malformed. The value is an AttrDef of one member, as protobuf
 * has it: of several the last one counts, and fields that it does not know are skipped. */
bool tl_air_entry_read(tl_proto body, tl_air_entry *out);
/* Finds an attribute among the entries of field `field` of a message. Returns false without it. */
bool tl_air_find(tl_proto message, uint32_t field, const char *key, tl_proto *value);
/* Finds an attribute of the node that was split; false without it. */
bool tl_air_lookup(const tl_air_reader *r, const char *key, tl_proto *value);
/* Returns why loaders drop or refuse a ListValue that says its type, a clause without subject; NULL
 * if they do not. */
const char *tl_air_list_problem(tl_proto list);
/* Returns true for an AttrDef with one value, a list with a type, which its elements have; GE drops
 * others. */
bool tl_air_has_value(tl_proto value);
/* Reads an AttrDef that holds an integer, or a string; false if it holds something else. */
bool tl_air_int(tl_proto value, int64_t *out);
bool tl_air_string(tl_proto value, tl_sv *out);

/* ---- desc.c ---- */
/* Reads a TensorDescriptor as a type. A desc without dtype or with an unknown one has no type.
 * TL_INVALID_MODEL, TL_NO_MEMORY. */
tl_status tl_air_type(tl_air_reader *r, tl_proto desc, tl_location where,
                      tl_type_id *out) TL_NODISCARD;

/* Reads what a desc says. The desc stays a view. TL_INVALID_MODEL, TL_NO_MEMORY. */
tl_status tl_air_desc_read(tl_air_reader *r, tl_proto desc, tl_location where,
                           tl_air_desc *out) TL_NODISCARD;

/* ---- carried.c ---- */
/* Returns true for a key whose list names or numbers ports, and says no type as others do. */
bool tl_air_lists_ports(tl_sv key);
/* Checks the lists of ports of the node that was split, whose op is not of the table: the writer
 * cannot make them anew. TL_INVALID_MODEL. */
tl_status tl_air_check_ports(const tl_air_reader *r, tl_location where) TL_NODISCARD;

/* ---- facts.c ---- */
/* What a desc says beside dtype and shape. */
typedef struct tl_air_facts {
  int64_t storage; /* GE's numbers; -1: not said */
  int64_t origin;
  tl_proto dims; /* of the original shape, a ListValue; p NULL: not said */
  bool is_set;   /* origin_format_is_set */
  bool has_more; /* fields that the writer does not make */
} tl_air_facts;
/* Reads the facts, and appends the other fields to *more (NULL: not wanted). */
tl_air_facts tl_air_facts_read(tl_proto desc, tl_buf *more);
/* Appends all fields of a desc; attributes as all writers write them, without those that GE
 * drops. */
void tl_air_desc_fields(tl_proto desc, tl_buf *out);
/* Reads the original shape into r->numbers; false if it is that of the type, or none. */
bool tl_air_has_other_dims(tl_air_reader *r, const tl_air_facts *of, tl_type_id type);
/* Returns with which formats the writer makes the same desc of a type, as a set of bits. */
uint8_t tl_air_own_formats(tl_air_reader *r, tl_proto desc, tl_type_id type);

/* ---- format.c ---- */
/* Notes what the ports of the node that was just connected have and the writer would not give
 * them by itself. TL_INVALID_MODEL, TL_NO_MEMORY. */
tl_status tl_air_note_ports(tl_air_reader *r, const tl_air_op *op) TL_NODISCARD;
/* Notes in *op, an input or constant that was just split, what tl_air_note_values needs of it. */
void tl_air_keep_desc(const tl_air_reader *r, tl_air_op *op);
/* Notes likewise what the inputs, constants and outputs of a graph have, once all its nodes are
 * there; attributes too. */
tl_status tl_air_note_values(tl_air_reader *r, tl_graph_id g, tl_proto body) TL_NODISCARD;

/* ---- tensor.c ---- */
/* Reads a TensorDef as a tensor that views its data. TL_INVALID_MODEL if the data does not have the
 * size that its desc asks for. `outside`: the node has its data in a file; may be NULL. */
typedef struct tl_air_place {
  tl_sv location; /* p NULL: in the message */
  int64_t offset;
  int64_t length; /* 0: what the type needs */
} tl_air_place;
tl_status tl_air_tensor(tl_air_reader *r, tl_proto def, const tl_air_place *outside,
                        tl_location where, tl_tensor_id *out) TL_NODISCARD;
/* Makes a tensor of this type of the bytes that lie outside. */
tl_status tl_air_outside(tl_air_reader *r, tl_type_id type, const tl_air_place *place,
                         tl_location where, tl_tensor_id *out) TL_NODISCARD;

/* ---- attribute.c ---- */
/* Reads the attributes of a node (r->entries) into r->attrs; those that describe ports, and those
 * that become notes of the node, are left out. TL_INVALID_MODEL, TL_NO_MEMORY. */
tl_status tl_air_attributes(tl_air_reader *r, const tl_air_op *op, tl_location where) TL_NODISCARD;
/* Returns what an attribute is to the reader, by its key. */
tl_air_use tl_air_use_of(tl_sv key);
/* Gives the node the notes among r->entries: where it comes from, its stream, events and marks. */
tl_status tl_air_notes(tl_air_reader *r, const tl_air_op *op) TL_NODISCARD;

/* ---- node.c ---- */
/* Splits an OpDef into edges, descs, names of bodies and entries. TL_INVALID_MODEL,
 * TL_NO_MEMORY. */
tl_status tl_air_split(tl_air_reader *r, tl_proto body) TL_NODISCARD;
/* Makes the node of an OpDef, without operands: its results, attributes and notes. */
tl_status tl_air_make_node(tl_air_reader *r, tl_graph_id g, tl_air_op *op) TL_NODISCARD;
/* Gives the node, which was just split, its operands and control edges. *waits: nothing was done,
 * since a node that it reads has not been made. */
tl_status tl_air_connect(tl_air_reader *r, const tl_air_op *op, bool *waits) TL_NODISCARD;
/* Where an edge leads from. */
typedef struct tl_air_source {
  tl_value_id value; /* of a data edge */
  tl_node_id node;   /* TL_NO_NODE: an input or a constant */
  bool control;
  bool waits; /* the node has not been made; there is no value */
} tl_air_source;
/* Finds where an edge of a node leads from. user: NULL for an output of a graph.
 * TL_INVALID_MODEL. */
tl_status tl_air_edge_source(tl_air_reader *r, const tl_air_op *user, tl_proto edge,
                             tl_air_source *out) TL_NODISCARD;
/* Names a value; where the name is taken, by one made from it. */
tl_status tl_air_name_value(tl_air_reader *r, tl_value_id v, tl_symbol name) TL_NODISCARD;

/* ---- text.c ---- */
/* Returns what a file is by how it begins. */
tl_air_form tl_air_text_form(tl_sv text);
/* Turns a text, which r->file or r->model is, into the message that is read from then on.
 * TL_INVALID_MODEL, TL_LIMIT, TL_NO_MEMORY. */
tl_status tl_air_from_text(tl_air_reader *r) TL_NODISCARD;

/* ---- graph.c ---- */
/* Reads the graphs of the file, main graph first, then those that its nodes name. */
tl_status tl_air_graphs(tl_air_reader *r) TL_NODISCARD;

#endif
