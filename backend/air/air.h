/* SPDX-License-Identifier: Apache-2.0 */
/* State of one emission of an AIR file and the functions that encode its parts.
 * For the files of this room; other rooms call tl_air_save (emit.h). Encoders append to a->buf; if
 * memory runs out they set a->buf.failed, which take_node (emit.c) checks once per node. */
#ifndef TL_BACKEND_AIR_AIR_H
#define TL_BACKEND_AIR_AIR_H

#include "backend/air/encode.h"
#include "backend/air/names.h"
#include "backend/air/save_options.h"
#include "ir/ge_fields.h"
#include "ir/ge_format.h"

/* One entry of a node's attribute map. */
typedef enum tl_entry_kind {
  TL_ENTRY_RAW,         /* value: an encoded AttrDef */
  TL_ENTRY_ATTR,        /* attr */
  TL_ENTRY_INT,         /* number */
  TL_ENTRY_STRING,      /* value */
  TL_ENTRY_INPUT_CONST, /* the node's list of bools */
  TL_ENTRY_NAMES,       /* names of the input slots, or of the output slots if `output` */
  TL_ENTRY_POSITIONS,   /* the list 0, 1, 2 ... count - 1 */
  TL_ENTRY_DATA,        /* tensor: a TensorDef with desc and data */
  TL_ENTRY_DATA_DESC,   /* tensor: a TensorDef with its desc only */
  TL_ENTRY_ORIGIN,      /* value: the only element of a list of strings */
  TL_ENTRY_TRACE        /* value: a list in the text form of ir/trace.h */
} tl_entry_kind;

/* An entry of a node's attribute map before it is encoded. */
typedef struct tl_entry {
  tl_sv key;
  uint64_t rank;             /* tl_air_rank of the key, for fast comparison */
  uint8_t kind;              /* tl_entry_kind */
  bool output;               /* NAMES: names of output slots, else of input slots */
  uint8_t format;            /* DATA, DATA_DESC: tl_ge_format */
  const tl_port_note *noted; /* DATA, DATA_DESC: the format, if a note says it; else NULL */
  union {
    tl_sv value;
    const tl_attr *attr;
    const tl_tensor *tensor;
    int64_t number;
    uint32_t count; /* POSITIONS */
  } u;
} tl_entry;

TL_VEC(tl_entry_vec, tl_entry);

/* An entry that is the same for every node of an op. */
typedef struct tl_row_entry {
  tl_sv key;
  uint64_t rank;
  uint32_t at; /* offset in the row's bytes; the entry ends where the next one begins */
} tl_row_entry;

/* Map entries that all nodes of one op have in common: port names and default attributes, sorted by
 * key. They are encoded once per op and copied for each node. */
typedef struct tl_air_row {
  const tl_row_entry *entries; /* [n_entries + 1]; the last one marks the end of the bytes */
  const char *bytes;           /* the encoded map entries, one behind the other */
  uint32_t n_entries;
  bool variadic_in; /* has a dynamic input port; false: each port is one slot */
  bool variadic_out;
  const tl_sv *input_counts; /* by port: "__dynamic_input_x_cnt"; NULL without dynamic ports */
  const tl_sv *output_counts;
} tl_air_row;

/* One input or output position of a node. A dynamic port has any number of slots, others have 1. */
typedef struct tl_slot {
  tl_value_id value; /* TL_NO_VALUE: unconnected */
  const char *port;
  int32_t index; /* position within a dynamic port; -1: the port is not dynamic */
  uint8_t dtype; /* tl_dtype for the desc of an output that has no typed value */
} tl_slot;

TL_VEC(tl_slot_vec, tl_slot);

/* A weight that is stored in a file beside the model. */
typedef struct tl_air_weight {
  const tl_tensor *tensor;
  tl_sv file;      /* relative to the AIR file, '/' separated */
  uint64_t offset; /* in the file */
  tl_value_id value;
  char hash[65]; /* SHA-256 of the bytes, FILE_CONSTANT only */
} tl_air_weight;

TL_VEC(tl_weight_vec, tl_air_weight);

/* Where weights are stored: in the message; in one file per weight, the form GE reads for models
 * above 2 GiB; or in files that FileConstant nodes refer to. */
typedef enum tl_weight_form { TL_FORM_INSIDE, TL_FORM_SPLIT, TL_FORM_FILE_CONSTANT } tl_weight_form;

/* What state_of says of an input. */
enum { TL_AIR_PARAMETER = 1, TL_AIR_STATE = 2 };

/* State of one emission. Tables by id have the size of the module's ids. */
typedef struct tl_air {
  tl_module *m;
  const tl_options *options;
  const tl_air_options *save;
  const char *path;
  tl_sv stem;              /* of the file, for the names of weight files */
  tl_arena arena;          /* names, rows, blobs */
  tl_air_names names;      /* of nodes */
  tl_air_names graph_pool; /* names of graphs; a graph and a node may have the same name */
  tl_sv *node_names;       /* by node id */
  tl_sv *value_names;      /* by value id: Data and Const nodes */
  uint8_t *formats;        /* by value id: tl_ge_format where the value is made */
  uint8_t *node_formats;   /* by node id: tl_ge_format of the node's ports, if it fits their rank */
  uint32_t *weight_of;     /* owned; by value id: index into weights + 1, 0: inside the message */
  uint32_t *state_of;      /* owned; by value id of an input: TL_AIR_STATE + index of its state,
                              TL_AIR_PARAMETER: has a gradient, but no state; 0: neither */
  const tl_air_row **rows; /* by op id */
  tl_u32_vec graphs;       /* written graphs, root first */
  tl_sv *graph_names;      /* by graph id */
  tl_sv graph_prefix;      /* prefix of node names in the graph being named: "" or "<graph>/" */
  tl_sv format_blobs[TL_N_GE_FORMATS];
  tl_sv *descs; /* owned; by type id * TL_N_GE_FORMATS + format: an encoded desc that
                               starts with its length; p NULL: not encoded yet */
  uint32_t n_descs;
  uint64_t desc_bytes; /* total size of the remembered descs */
  tl_sv unset_blob;    /* the complete field for the desc of an unconnected slot */
  tl_encoder buf;
  tl_slot_vec inputs; /* of the node being written */
  tl_slot_vec outputs;
  tl_entry_vec entries;
  tl_weight_vec weights;
  tl_weight_files *files; /* borrowed; collects and writes the weights outside the message */
  tl_changes *changes;    /* borrowed; files and folders of weights */
  uint8_t form;           /* tl_weight_form */
  bool has_notes;         /* the module has notes of ports */
  bool has_port_lists;    /* an attribute may have the name of a list of ports */
} tl_air;

/* ---- problems.c ---- */
/* Reports that memory is out and returns TL_NO_MEMORY. */
tl_status tl_air_no_memory(const tl_air *a);
/* Returns why values of the type cannot be written, as the end of a sentence (static string); NULL
 * if they can. */
const char *tl_air_type_problem(const tl_module *m, tl_type_id type);
/* Returns why an attribute cannot be written, likewise; NULL if it can. */
const char *tl_air_attr_problem(const tl_module *m, const tl_attr *attr);
/* Likewise for attributes whose bytes go into the file as they are, and for lists of ports. *key:
 * name of that attribute. */
const char *tl_air_carried_problem(const tl_module *m, tl_node_id n, tl_sv *key);

/* ---- entry.c ---- */
/* Append one map entry with an integer, a bool or a string as the given field. */
void tl_air_int_entry(tl_encoder *b, unsigned field, const char *key, int64_t v);
void tl_air_bool_entry(tl_encoder *b, unsigned field, const char *key, bool v);
void tl_air_string_entry(tl_encoder *b, unsigned field, tl_sv key, tl_sv v);

/* ---- desc.c ---- */
/* Allocates the cache of descs and encodes the parts that all descs share. Is called once per
 * emission, before any other function of this part. TL_NO_MEMORY, reported. */
tl_status tl_air_prepare_descs(tl_air *a) TL_NODISCARD;

/* What the desc of a Data or NetOutput node says beside type and format. */
typedef struct tl_desc_extra {
  int64_t parent;    /* "_parent_node_index" of a body's input or output; -1: none */
  tl_sv output_name; /* "_origin_output_tensor_name"; p NULL: none */
  bool dim_names;    /* record the names of symbolic dims */
} tl_desc_extra;
/* Appends the desc of a value of this type. A format that does not fit the rank becomes ND. extra:
 * NULL for none; only such descs are remembered. */
void tl_air_desc(tl_air *a, unsigned field, tl_type_id type, tl_ge_format format,
                 const tl_desc_extra *extra);
/* Appends the desc of an output without an inferred type. dims may be NULL with rank <= 0. */
void tl_air_untyped_desc(tl_air *a, unsigned field, tl_dtype dtype, int rank, const tl_dim *dims);

/* ---- unread.c ---- */
/* Fills in the dims of a result that nobody reads and the node lacks, and returns their number;
 * TL_RANK_UNKNOWN if they are not known. dims has room for TL_MAX_RANK. */
int tl_air_unread_dims(const tl_air *a, tl_node_id n, uint32_t result, tl_dim *dims);
/* Returns the operand whose dtype such a result has, if its port allows it. */
uint32_t tl_air_unread_operand(const tl_air *a, tl_node_id n, uint32_t result);
/* Returns the element type of an output of port p that has no known type: that of operands which
 * must have the same, else NONE; of a port whose outputs differ in type, what a body gives. Guesses
 * that of one that nobody reads, unless such a port has it: that of an operand, of the first one
 * mostly, if the port allows it, else the first that the port allows. */
uint8_t tl_air_likely_dtype(const tl_air *a, tl_node_id n, uint32_t result, const tl_op *op,
                            const tl_op_port *p);
/* Appends dims as GE has them: -1 for an open size, the single dim -2 for an unknown rank, no field
 * for a scalar. */
void tl_air_dims(tl_encoder *b, unsigned field, const tl_type *t);
/* Appends what a desc says beside type and format (desc.c). extra: may be NULL. */
void tl_air_desc_extra(tl_air *a, const tl_type *t, const tl_desc_extra *extra);
/* Returns the serialized number of the element type, 0 if it has none. */
int tl_air_proto_dtype(const tl_type *t);

/* ---- noted.c ---- */
/* Returns true if the module has notes of ports (ir/ge_format.h): it came from an AIR file. */
bool tl_air_has_notes(const tl_module *m);
/* Returns the note of a port in an extra; p NULL without notes in the module. */
static inline tl_sv tl_air_note_of(const tl_air *a, uint32_t slot, bool result, uint32_t port) {
  return a->has_notes ? tl_port_note_get(a->m, slot, result, port) : (tl_sv){NULL, 0};
}
/* Finds the format that notes give a value which has no note itself: that of the node that makes
 * it, or of the first that reads it. Returns false without one. */
bool tl_air_noted_format(const tl_air *a, tl_value_id v, tl_port_note *out);
/* Appends the desc of a value of type t as its note says; false if the note says nothing. */
bool tl_air_noted_desc(tl_air *a, unsigned field, const tl_type *t, tl_sv note,
                       const tl_desc_extra *extra);
/* Appends a desc in a format of GE's; the rest of *n is written as well. */
void tl_air_desc_in(tl_air *a, unsigned field, const tl_type *t, const tl_port_note *n,
                    const tl_desc_extra *extra);

/* ---- attrs.c ---- */
/* Adds an entry to those of the node being written. */
void tl_air_add_entry(tl_air *a, tl_entry e);
/* Returns the first 8 bytes of a key as a big-endian number. Different ranks order as the keys do;
 * with equal ranks the keys must be compared. */
uint64_t tl_air_rank(tl_sv key);
/* Returns the shared entries of an op, which are built on first use and live in the arena; NULL if
 * memory is out. Building clears a->buf and a->entries. */
const tl_air_row *tl_air_row_get(tl_air *a, tl_op_id op);
/* Appends the map entries of a node in ascending order of keys, as fields of that number. An entry
 * of a->entries replaces the row's entry of the same key. row: NULL for none. */
void tl_air_entries(tl_air *a, unsigned field, const tl_air_row *row);

/* ---- nodes.c ---- */
/* Encode one OpDef into a->buf, which is cleared first: a Data node for an input, a Const or
 * FileConstant node for a constant, a node of the graph, and the NetOutput node. id: position of
 * the node in its graph. */
void tl_air_data_node(tl_air *a, const tl_graph *g, uint32_t index, int64_t id);
void tl_air_const_node(tl_air *a, tl_value_id v, int64_t id);
void tl_air_op_node(tl_air *a, tl_node_id n, int64_t id);
void tl_air_output_node(tl_air *a, const tl_graph *g, int64_t id);
/* Appends "<node>:<output>" of the node that holds value v, as a string field. */
void tl_air_edge(tl_air *a, unsigned field, tl_value_id v);

/* ---- origins.c ---- */
/* Adds the entries that say where a node comes from. */
void tl_air_origin_entries(tl_air *a, tl_node_id n);
/* Adds the attributes that are noted in an extra under a prefix to the entries of the node being
 * written. */
void tl_air_noted_attrs(tl_air *a, uint32_t slot, const char *prefix);

/* ---- plan.c ---- */
/* Lists the graphs to write, names graphs, nodes and values, and decides formats. TL_UNSUPPORTED or
 * TL_INVALID_MODEL for what AIR cannot express; TL_NO_MEMORY. All errors are reported. */
tl_status tl_air_plan(tl_air *a) TL_NODISCARD;

/* ---- weights.c ---- */
/* Decides which weights are stored outside under a->form, and adds their files to a->files. Does
 * nothing for TL_FORM_INSIDE. TL_INVALID_ARGUMENT if the model goes to standard output;
 * TL_NO_MEMORY. All errors are reported. */
tl_status tl_air_place_weights(tl_air *a) TL_NODISCARD;

/* ---- check.c ---- */
/* Checks the n bytes of a finished file at p as a loader would. Reports the first fault as
 * TL_INTERNAL; TL_NO_MEMORY. O(n). */
tl_status tl_air_check(tl_diag *d, const char *path, const unsigned char *p,
                       uint64_t n) TL_NODISCARD;

/* Copies the contents of a->buf into the arena, clears it, and returns the copy. Without memory it
 * sets a->buf.failed and returns an empty view. (desc.c) */
tl_sv tl_air_keep(tl_air *a);

#endif
