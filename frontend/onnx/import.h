/* SPDX-License-Identifier: Apache-2.0 */
/* State of one import, shared by the files of this folder and nobody else.
 *
 * Names: every value name becomes a key (a symbol). Outside functions the key is the name; inside
 * an inlined function it is a private symbol that no name of the file can equal. scope.c maps keys
 * to values by direct indexing; bodies of If, Loop and Scan open a scope and undo it. */
#ifndef TL_FRONTEND_ONNX_IMPORT_H
#define TL_FRONTEND_ONNX_IMPORT_H

#include "frontend/onnx/load.h"
#include "frontend/onnx/wire.h"
#include "ir/graph.h"

enum {
  TL_ONNX_MAX_DEPTH = 64,       /* bodies within bodies, types within types */
  TL_ONNX_MAX_CALL_DEPTH = 128, /* functions calling functions */
  TL_ONNX_MAX_ATTRS = 1024      /* attributes of one node */
};

typedef struct tl_frame tl_frame;

/* A field met while scanning a GraphProto. */
typedef struct tl_part {
  uint32_t number;
  tl_proto body;
} tl_part;

/* A body graph to import once its node exists. */
typedef struct tl_body_job {
  tl_proto graph;
  const tl_frame *frame; /* names inside are those of this frame */
  uint32_t attr;         /* index into the node's attributes */
  uint32_t index;        /* within a GRAPHS list */
} tl_body_job;

/* An operand whose name nothing had defined yet. */
typedef struct tl_pending {
  tl_symbol key;
  tl_node_id node;
  uint32_t operand;
} tl_pending;

typedef struct tl_undo {
  tl_symbol key;
  tl_value_id value; /* what the key meant outside */
} tl_undo;

/* A node that has to be lifted from opset `version` and checked afterwards. */
typedef struct tl_lift {
  tl_node_id node;
  int32_t version;
} tl_lift;

typedef struct tl_function {
  tl_symbol domain;
  tl_symbol name;
  tl_symbol overload;
  tl_proto body;               /* FunctionProto */
  const unsigned char *start; /* of the field in the file */
  int64_t opset;              /* of the default domain, 0: not imported */
  uint64_t cost;              /* nodes after inlining, saturating */
  uint32_t next;              /* index + 1 of the next one with this name */
  tl_op_id raised;            /* tl:: op that it defines, UINT32_MAX: none */
  uint8_t state;              /* 0 not counted, 1 being counted, 2 counted */
  bool called;
} tl_function;

typedef struct tl_formal {
  tl_symbol name; /* inside the function */
  tl_symbol key;  /* of the caller's value, 0: absent */
} tl_formal;

/* Whose names and versions are being read: the main graph or one call of a function. */
struct tl_frame {
  const tl_frame *up;
  const tl_function *function; /* NULL: the model's own graphs */
  int64_t opset;               /* default domain, 0: not imported */
  tl_symbol prefix;            /* path of the call, unique */
  uint32_t first_formal;       /* into x->formals, sorted by name */
  uint32_t n_formals;
  uint32_t first_attr; /* of the call, into x->attr_ranges; decoded in `up` */
  uint32_t n_attrs;
  uint32_t depth;
};

typedef struct tl_external_file {
  tl_symbol location;
  const tl_file *file;
} tl_external_file;

TL_VEC(tl_part_vec, tl_part);
TL_VEC(tl_proto_vec, tl_proto);
TL_VEC(tl_attr_vec, tl_attr);
TL_VEC(tl_body_vec, tl_body_job);
TL_VEC(tl_pending_vec, tl_pending);
TL_VEC(tl_undo_vec, tl_undo);
TL_VEC(tl_lift_vec, tl_lift);
TL_VEC(tl_function_vec, tl_function);
TL_VEC(tl_formal_vec, tl_formal);
TL_VEC(tl_external_vec, tl_external_file);
TL_VEC(tl_f32_vec, float);

/* A name of a node that is being decoded. */
typedef struct tl_name_ahead {
  tl_sv name;
  uint32_t hash;
  bool output;
} tl_name_ahead;

TL_VEC(tl_ahead_vec, tl_name_ahead);

typedef struct tl_onnx {
  tl_diag *d;
  const char *path;
  const tl_onnx_load_options *o;
  tl_module *m;
  const tl_file *file; /* NULL: the model is in the caller's memory */
  tl_proto model;
  const tl_frame *frame;
  uint32_t depth;      /* of bodies */
  uint64_t n_nodes;
  uint64_t max_nodes;
  uint64_t dense_bytes; /* made from sparse tensors so far */
  bool has_functions;
  tl_proto_vec algorithms; /* graphs of training_info; a training_info without one has p == NULL */
  tl_proto_vec algorithm_nodes; /* from the first node to the end of the last of each */
  tl_u32_vec first_nodes;   /* of each the first id, and the end of the last */
  tl_u32_vec last_bindings; /* of each: length of bindings behind its own */
  tl_u32_vec bindings;  /* of training_info: pairs of keys, initializer and next value */
  tl_u32_vec is_output; /* value -> 1: of the main graph, where there are bindings */
  tl_arena leaf; /* what protobuf-c decodes; rewound after each leaf */
  /* indexed by symbol */
  tl_u32_vec value_of; /* key -> value in the scopes that are open */
  tl_u32_vec claim;    /* name -> value that got it without being its key */
  tl_u32_vec display;  /* private key -> readable name */
  tl_u32_vec mark;     /* scratch: zero between uses */
  tl_u32_vec numbers;  /* name -> last number appended to make a fresh one */
  tl_u32_vec prefixes; /* path of an inlined call -> how often it was asked for */
  tl_u32_vec ops;      /* op type of the default domain -> op + 1 */
  tl_u32_vec lift_rows; /* by op: see opset.c */
  tl_u32_vec functions_named; /* function name -> index + 1 of the first */
  /* stacks: a user remembers where it began and cuts back to that */
  tl_ahead_vec names;  /* operands and results of the node being decoded */
  tl_u32_vec inputs;
  tl_u32_vec outputs;
  tl_u32_vec values;
  tl_proto_vec attr_ranges;
  tl_attr_vec attrs;
  tl_body_vec bodies;
  tl_part_vec parts;
  tl_formal_vec formals;
  /* scratch of one attribute */
  tl_i64_vec ints;
  tl_f32_vec floats;
  tl_u32_vec ids;
  tl_pending_vec pending;
  tl_undo_vec undo;
  tl_lift_vec lifts;
  tl_function_vec functions;
  tl_external_vec externals;
} tl_onnx;

/* A NodeProto, its lists being runs on the stacks above. */
typedef struct tl_node_wire {
  tl_proto body;
  tl_sv name;
  uint32_t name_hash;
  tl_sv op_type;
  tl_sv domain;
  tl_sv overload;
  uint32_t first_input; /* keys in x->inputs */
  uint32_t n_inputs;
  uint32_t first_output; /* keys in x->outputs */
  uint32_t n_outputs;
  uint32_t first_attr; /* AttributeProto in x->attr_ranges */
  uint32_t n_attrs;
  bool has_notes;
} tl_node_wire;

/* model.c */
tl_status tl_onnx_malformed(tl_onnx *x, const unsigned char *at, const char *what);
/* Carries documentation, metadata_props and uninterpreted fields of a message over to an extra.
 * known: bit per field number that was interpreted elsewhere. */
typedef struct tl_note_fields {
  uint64_t known;
  uint32_t doc;
  uint32_t metadata;
  bool (*drop)(const tl_onnx *x, const tl_field *f); /* NULL, or: leave this one out */
} tl_note_fields;
tl_status tl_onnx_carry_notes(tl_onnx *x, tl_proto body, const tl_note_fields *fields,
                              uint32_t *slot) TL_NODISCARD;
/* Symbol of bytes of the model file; TL_NO_MEMORY through *out == TL_NO_SYMBOL. */
static inline tl_symbol tl_onnx_symbol(tl_onnx *x, tl_sv s) {
  return s.n ? tl_intern_view(&x->m->symbols, s) : 0;
}
static inline tl_location tl_onnx_at(const tl_onnx *x, tl_sv node) {
  return TL_AT_NODE(x->path, node);
}
static inline tl_location tl_onnx_at_value(const tl_onnx *x, tl_sv value) {
  return (tl_location){.file = x->path, .attr = value};
}
/* at[i] of a table indexed by symbol, 0 beyond its end; the setter grows it. */
static inline uint32_t tl_onnx_slot(const tl_u32_vec *v, tl_symbol s) {
  return s < v->n ? v->at[s] : 0;
}
tl_status tl_onnx_set_slot(tl_u32_vec *v, tl_symbol s, uint32_t value) TL_NODISCARD;

/* scope.c */
/* Key of a name as the current frame sees it; TL_NO_SYMBOL when memory is out. */
tl_symbol tl_onnx_key(tl_onnx *x, tl_sv name);
/* The name behind a key, for values and messages. */
tl_symbol tl_onnx_display(const tl_onnx *x, tl_symbol key);
static inline tl_value_id tl_onnx_lookup(const tl_onnx *x, tl_symbol key) {
  return tl_onnx_slot(&x->value_of, key);
}
/* Makes `key` mean v, a value of graph g, and names v. TL_INVALID_MODEL when g has one already. */
tl_status tl_onnx_define(tl_onnx *x, tl_graph_id g, tl_symbol key, tl_value_id v,
                         tl_location where) TL_NODISCARD;
/* Ends a body: keys mean again what they meant when `undo_mark` was taken. */
void tl_onnx_close_scope(tl_onnx *x, uint32_t undo_mark);
/* Resolves what waits since `mark` and is defined now; *sort: something was. In the main graph what
 * is left is an error. */
tl_status tl_onnx_settle(tl_onnx *x, uint32_t mark, bool *sort) TL_NODISCARD;
/* Renames values of bodies whose names clash with values around them (ir/names.h). */
tl_status tl_onnx_unhide(tl_onnx *x) TL_NODISCARD;

/* type.c: TypeProto and ValueInfoProto. */
typedef struct tl_value_wire {
  tl_proto body;
  tl_sv name;
  tl_proto type; /* p == NULL: none */
  bool has_notes;
} tl_value_wire;
tl_status tl_onnx_value_info(tl_onnx *x, tl_proto body, tl_value_wire *out) TL_NODISCARD;
/* denotation: 0 when there is none. */
tl_status tl_onnx_type(tl_onnx *x, tl_proto type, tl_location where, tl_type_id *out,
                       tl_symbol *denotation) TL_NODISCARD;
/* Gives v its declared type, unless it has one, and its notes. */
tl_status tl_onnx_describe_value(tl_onnx *x, tl_value_id v, const tl_value_wire *info)
    TL_NODISCARD;

/* tensor.c, external.c, sparse.c */
/* Name of a TensorProto or, from its values, of a SparseTensorProto. */
tl_status tl_onnx_tensor_name(tl_onnx *x, tl_proto body, bool sparse, tl_sv *out) TL_NODISCARD;
tl_status tl_onnx_tensor(tl_onnx *x, tl_proto body, tl_location where, tl_tensor_id *out)
    TL_NODISCARD;
typedef struct tl_external_wire {
  tl_sv location;
  tl_sv offset; /* p == NULL: not given */
  tl_sv length;
} tl_external_wire;
/* Fills the source of *t (whose bytes are known) with a range of another file. */
tl_status tl_onnx_external(tl_onnx *x, const tl_external_wire *e, tl_location where, tl_tensor *t)
    TL_NODISCARD;
/* Dense form of a sparse tensor; TL_NO_TENSOR when it would be too large to write out. */
tl_status tl_onnx_sparse(tl_onnx *x, tl_proto body, tl_location where, tl_tensor_id *out)
    TL_NODISCARD;

/* attribute.c */
/* Pushes the attribute on x->attrs; references to attributes of the call are followed, an unset one
 * pushes nothing. Graphs are queued on x->bodies. */
tl_status tl_onnx_attribute(tl_onnx *x, tl_proto body, tl_location where) TL_NODISCARD;
/* Name of an AttributeProto. */
tl_status tl_onnx_attribute_name(tl_onnx *x, tl_proto body, tl_sv *out) TL_NODISCARD;

/* node.c */
tl_status tl_onnx_node(tl_onnx *x, tl_graph_id g, tl_proto body) TL_NODISCARD;
/* Reads op_type, domain and overload only. */
tl_status tl_onnx_node_header(tl_onnx *x, tl_proto body, tl_node_wire *out) TL_NODISCARD;
/* Symbol of a domain; "ai.onnx" is the empty one. */
tl_symbol tl_onnx_domain(tl_onnx *x, tl_sv domain);
/* Reads an OperatorSetIdProto; the default domain is 0. */
tl_status tl_onnx_read_opset(tl_onnx *x, tl_proto w, tl_symbol *domain, int64_t *version)
    TL_NODISCARD;
/* Op of the table, UINT32_MAX when it has none. */
tl_op_id tl_onnx_table_op(tl_onnx *x, tl_symbol domain, tl_symbol name);
/* check.c: arity and attributes against the op table. */
tl_status tl_onnx_check_node(tl_onnx *x, tl_node_id n) TL_NODISCARD;
tl_status tl_onnx_unknown_op(tl_onnx *x, const tl_node_wire *w, tl_location where);
/* constant.c: a Constant node becomes a constant of the graph. *done: false when it must stay a
 * node (a sparse value too large to write out). Attributes are x->attrs from first_attr on. */
tl_status tl_onnx_constant(tl_onnx *x, tl_graph_id g, const tl_node_wire *w, uint32_t first_attr,
                           bool *done) TL_NODISCARD;

/* graph.c */
tl_status tl_onnx_graph(tl_onnx *x, tl_proto body, tl_node_id owner, tl_graph_id *out)
    TL_NODISCARD;

/* functions.c */
tl_status tl_onnx_index_functions(tl_onnx *x) TL_NODISCARD;
/* The function a node calls, NULL when it is an op. */
tl_function *tl_onnx_called(tl_onnx *x, tl_symbol domain, tl_symbol name, tl_sv overload);
tl_status tl_onnx_check_growth(tl_onnx *x, tl_proto graph) TL_NODISCARD;
tl_status tl_onnx_inline(tl_onnx *x, tl_graph_id g, const tl_node_wire *w, tl_function *f)
    TL_NODISCARD;
/* AttributeProto that `name` refers to in the current frame; .p == NULL when it is not set.
 * *frame: the frame to decode it in. */
tl_status tl_onnx_referred(tl_onnx *x, tl_sv name, tl_proto *out, const tl_frame **frame)
    TL_NODISCARD;

/* training.c: training_info, before the graph is read. */
tl_status tl_onnx_training(tl_onnx *x) TL_NODISCARD;
/* Lets later ones of several training_info run on what earlier ones have updated; all nodes have
 * their final ops. TL_UNSUPPORTED where that cannot be said in one graph. O(training_info *
 * (nodes + uses)). */
tl_status tl_onnx_training_order(tl_onnx *x) TL_NODISCARD;
/* Declares what its bindings name as states, while the scope of the main graph is open. */
tl_status tl_onnx_states(tl_onnx *x) TL_NODISCARD;

/* control.c: control edges that nodes name in their metadata. */
tl_status tl_onnx_control(tl_onnx *x) TL_NODISCARD;

/* opset.c: lifts the queued nodes to the canonical opset and checks them. */
/* True when a node of an opset version has to wait for tl_onnx_lift. */
bool tl_onnx_needs_lift(tl_onnx *x, tl_op_id op, int64_t version);
tl_status tl_onnx_lift(tl_onnx *x) TL_NODISCARD;

#endif
