/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the AIR writer: the state of one emission and the pieces of a message.
 * Field numbers are those of GE's ge_ir.proto. */
#ifndef TL_BACKEND_AIR_AIR_H
#define TL_BACKEND_AIR_AIR_H

#include "backend/air/emit.h"
#include "backend/air/encode.h"
#include "backend/air/names.h"

typedef enum tl_ge_format { TL_GE_ND, TL_GE_NCHW, TL_GE_NCDHW, TL_N_GE_FORMATS } tl_ge_format;

/* clang-format off */
enum { /* field numbers */
  TL_MODEL_NAME = 1, TL_MODEL_GRAPH = 7, TL_MODEL_ATTR = 11,
  TL_GRAPH_NAME = 1, TL_GRAPH_INPUT = 4, TL_GRAPH_OUTPUT = 5, TL_GRAPH_NODE = 6,
  TL_NODE_NAME = 1, TL_NODE_TYPE = 2, TL_NODE_INPUT = 5, TL_NODE_ATTR = 10,
  TL_NODE_HAS_OUT_ATTR = 20, TL_NODE_ID = 21, TL_NODE_STREAM = 22, TL_NODE_SRC_NAME = 24,
  TL_NODE_SRC_INDEX = 25, TL_NODE_INPUT_CONST = 32, TL_NODE_INPUT_DESC = 33,
  TL_NODE_OUTPUT_DESC = 34, TL_NODE_SUBGRAPH = 35,
  TL_DESC_DTYPE = 2, TL_DESC_SHAPE = 3, TL_DESC_LAYOUT = 4, TL_DESC_ATTR = 5,
  TL_DESC_DEVICE = 14, TL_DESC_DIM_COUNT = 16,
  TL_ATTRDEF_LIST = 1, TL_ATTRDEF_S = 2, TL_ATTRDEF_I = 3, TL_ATTRDEF_F = 4, TL_ATTRDEF_B = 5,
  TL_ATTRDEF_BT = 7, TL_ATTRDEF_FUNC = 10, TL_ATTRDEF_TD = 11, TL_ATTRDEF_T = 12,
  TL_ATTRDEF_G = 13, TL_ATTRDEF_LIST_LIST_INT = 14, TL_ATTRDEF_DT = 15,
  TL_ATTRDEF_LIST_LIST_FLOAT = 16,
  TL_LIST_S = 2, TL_LIST_I = 3, TL_LIST_F = 4, TL_LIST_B = 5, TL_LIST_T = 9, TL_LIST_DT = 12,
  TL_LIST_TYPE = 20,
  TL_TENSORDEF_DESC = 1, TL_TENSORDEF_DATA = 2
};
/* clang-format on */

/* One entry of a node's attribute map. */
typedef enum tl_entry_kind {
  TL_ENTRY_RAW,         /* value: an encoded AttrDef */
  TL_ENTRY_ATTR,        /* attr */
  TL_ENTRY_INT,         /* number */
  TL_ENTRY_STRING,      /* value */
  TL_ENTRY_INPUT_CONST, /* the node's list of bools */
  TL_ENTRY_NAMES,       /* names of the given side's slots */
  TL_ENTRY_POSITIONS,   /* 0, 1, 2 ... */
  TL_ENTRY_DATA,        /* tensor: a TensorDef with its data */
  TL_ENTRY_DATA_DESC,   /* tensor: without */
  TL_ENTRY_ORIGIN,      /* value: the one name of a string list */
  TL_ENTRY_TRACE        /* value: a list of ir/trace.h */
} tl_entry_kind;

typedef struct tl_entry {
  tl_sv key;
  uint64_t rank;  /* of the key, see tl_air_rank */
  uint8_t kind;   /* tl_entry_kind */
  bool output;    /* NAMES: of outputs */
  uint8_t format; /* DATA, DATA_DESC: tl_ge_format */
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
  uint32_t at; /* in the row's bytes; it ends where the next one begins */
} tl_row_entry;

/* What an op row contributes to every node of it: bookkeeping and default attributes, by key. */
typedef struct tl_air_row {
  const tl_row_entry *entries; /* [n_entries + 1], the last one only ends the one before */
  const char *bytes;           /* map entries of a node, encoded one behind the other */
  uint32_t n_entries;
  bool variadic_in; /* false: slots are the ports */
  bool variadic_out;
  const tl_sv *input_counts; /* by port: "__dynamic_input_x_cnt"; NULL without dynamic ports */
  const tl_sv *output_counts;
} tl_air_row;

/* A slot: what is connected and what it is called. */
typedef struct tl_slot {
  tl_value_id value; /* TL_NO_VALUE: unconnected */
  const char *port;
  int32_t index; /* in a dynamic port, -1: not dynamic */
  uint8_t dtype; /* desc of an output without a value */
} tl_slot;

TL_VEC(tl_slot_vec, tl_slot);

/* A weight outside the message. */
typedef struct tl_air_weight {
  const tl_tensor *tensor;
  tl_sv file;      /* relative to the AIR file, '/' separated */
  uint64_t offset; /* in the file */
  tl_value_id value;
  char hash[65]; /* SHA-256 of the bytes, FILE_CONSTANT only */
} tl_air_weight;

TL_VEC(tl_weight_vec, tl_air_weight);

typedef enum tl_weight_form { TL_FORM_INSIDE, TL_FORM_SPLIT, TL_FORM_FILE_CONSTANT } tl_weight_form;

typedef struct tl_air {
  tl_module *m;
  const tl_options *options;
  const tl_air_options *save;
  const char *path;
  tl_sv stem;              /* of the file, for the names of weight files */
  tl_arena arena;          /* names, rows, blobs */
  tl_air_names names;      /* of nodes */
  tl_air_names graph_pool; /* names of graphs, which are a matter of their own */
  tl_sv *node_names;       /* by node id */
  tl_sv *value_names;      /* by value id: Data and Const nodes */
  uint8_t *formats;        /* by value id: tl_ge_format */
  uint32_t *weight_of;     /* by value id: index into weights + 1, NULL: all inside */
  const tl_air_row **rows; /* by op id */
  tl_u32_vec graphs;       /* written graphs, root first */
  tl_sv *graph_names;      /* by graph id */
  tl_sv graph_prefix;      /* of the graph being named */
  tl_sv format_blobs[TL_N_GE_FORMATS];
  tl_sv *descs; /* owned; by type and format: encoded before, length first */
  uint32_t n_descs;
  uint64_t desc_bytes; /* of all those */
  tl_sv unset_blob;    /* desc of an unconnected slot, complete */
  tl_encoder buf;
  tl_slot_vec inputs; /* of the node being written */
  tl_slot_vec outputs;
  tl_entry_vec entries;
  tl_weight_vec weights;
  tl_weight_files *files; /* borrowed; what the weights outside are written by */
  tl_changes *changes;    /* borrowed; files and folders of weights */
  uint8_t form;           /* tl_weight_form */
} tl_air;

/* ---- problems.c ---- */
/* Reports that memory is out. */
tl_status tl_air_no_memory(const tl_air *a);
/* Why values of the type cannot be written; NULL when they can. */
const char *tl_air_type_problem(const tl_module *m, tl_type_id type);
/* Why an attribute cannot be written; NULL when it can. */
const char *tl_air_attr_problem(const tl_module *m, const tl_attr *attr);

/* ---- entry.c ---- */
/* One map entry holding an integer, a truth or a string. */
void tl_air_int_entry(tl_encoder *b, unsigned field, const char *key, int64_t v);
void tl_air_bool_entry(tl_encoder *b, unsigned field, const char *key, bool v);
void tl_air_string_entry(tl_encoder *b, unsigned field, tl_sv key, tl_sv v);

/* ---- desc.c ---- */
/* Prepares blobs; called once. */
tl_status tl_air_prepare_descs(tl_air *a) TL_NODISCARD;
/* Encodes the desc of a value. parent: _parent_node_index or -1. output_name: p NULL for none.
 * dim_names: also records symbolic dims. */
typedef struct tl_desc_extra {
  int64_t parent;
  tl_sv output_name;
  bool dim_names;
} tl_desc_extra;
void tl_air_desc(tl_air *a, unsigned field, tl_type_id type, tl_ge_format format,
                 const tl_desc_extra *extra);
/* Desc of an output nobody gave a type: dtype and an unknown rank. */
void tl_air_unknown_desc(tl_air *a, unsigned field, tl_dtype dtype);

/* ---- attrs.c ---- */
/* First bytes of a key as a number that orders as the key does; equal ranks say nothing. */
uint64_t tl_air_rank(tl_sv key);
/* Row data, made on first use; NULL when memory is out. */
const tl_air_row *tl_air_row_get(tl_air *a, tl_op_id op);
/* Encodes the map entries of a node: the row's and those in a->entries (which win), by key. */
void tl_air_entries(tl_air *a, const tl_air_row *row);

/* ---- nodes.c ---- */
/* Encode one OpDef into a->buf (cleared first). id: position in the graph. */
void tl_air_data_node(tl_air *a, const tl_graph *g, uint32_t index, int64_t id);
void tl_air_const_node(tl_air *a, tl_value_id v, int64_t id);
void tl_air_op_node(tl_air *a, tl_node_id n, int64_t id);
void tl_air_output_node(tl_air *a, const tl_graph *g, int64_t id);
/* "name:index" of a value, encoded as a string field. */
void tl_air_edge(tl_air *a, unsigned field, tl_value_id v);

/* ---- plan.c ---- */
/* Finds the graphs to write, names everything, decides formats, refuses what has no form. */
tl_status tl_air_plan(tl_air *a) TL_NODISCARD;

/* ---- weights.c ---- */
/* Decides where weights go under a->form and names their files, in a->files. */
tl_status tl_air_place_weights(tl_air *a) TL_NODISCARD;

/* ---- check.c ---- */
/* Walks finished bytes as a loader would. Reports the first fault as TL_INTERNAL. */
tl_status tl_air_check(tl_diag *d, const char *path, const unsigned char *p,
                       uint64_t n) TL_NODISCARD;

/* Moves what a->buf holds into the arena and empties it; lack of memory shows in a->buf.failed. */
tl_sv tl_air_keep(tl_air *a);

#endif
