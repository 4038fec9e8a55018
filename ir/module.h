/* SPDX-License-Identifier: Apache-2.0 */
/* A module: several graphs over one pool of nodes, values, types and tensors. Records are addressed
 * by 32-bit ids, valid in the whole module; the id of an erased node is never reused. A body may
 * use values of the graphs around it.
 *
 * This file is for reading (structs and inline accessors); links are edited through graph.h alone.
 * Pointers into the pools are stable while the module lives. */
#ifndef TL_IR_MODULE_H
#define TL_IR_MODULE_H

#include "ir/attr.h"
#include "ir/op.h"
#include "support/diag.h"
#include "support/map.h"
#include "support/slab.h"
#include "support/vec.h"

/* Of the default domain; later ones are refused. */
enum { TL_ONNX_NEWEST_OPSET = 28 };
/* Of ai.onnx.ml; ops of a later one may mean something else. */
enum { TL_ONNX_ML_NEWEST_OPSET = 5 };

/* The ops of ai.onnx mean in the IR what they mean in this opset; of newer ones a module may import
 * too, none of which changes a meaning. */
enum { TL_ONNX_CANONICAL_OPSET = 21 };

typedef uint32_t tl_node_id;
typedef uint32_t tl_value_id;
typedef uint32_t tl_use_id;
typedef uint32_t tl_control_id;

/* Id 0 of every pool means "none": an absent optional operand is value 0. */
#define TL_NO_NODE ((tl_node_id)0)
#define TL_NO_VALUE ((tl_value_id)0)
#define TL_NO_GRAPH ((tl_graph_id)0)

enum { TL_MAX_BODY_DEPTH = 64 }; /* graphs inside graphs */

/* Ops that no table lists. RETURN: the terminator of a graph, whose operands are the graph's
 * outputs; it is not in the node list. ERASED: a node that is gone. */
#define TL_OP_RETURN ((tl_op_id)0xfffffffeu)
#define TL_OP_ERASED ((tl_op_id)0xfffffffdu)

/* One operand of one node, in the list of uses of its value. */
typedef struct tl_use {
  tl_value_id value; /* TL_NO_VALUE: absent optional operand */
  tl_node_id user;
  tl_use_id previous; /* in the value's list, in the order the uses were made */
  tl_use_id next;
} tl_use;

typedef enum tl_value_kind {
  TL_VALUE_NONE = 0,
  TL_VALUE_RESULT,  /* def = node, index = result */
  TL_VALUE_INPUT,   /* def = graph, index = position; tensor = default of an overridable one */
  TL_VALUE_CONSTANT /* def = graph, index = position in graph->constants; tensor = its data */
} tl_value_kind;

/* What operands refer to: a node's result, an input or a constant of a graph. */
typedef struct tl_value {
  tl_symbol name; /* unique in its graph, see names.h; 0: unused optional result */
  tl_type_id type;
  uint32_t def;
  uint32_t index;
  tl_use_id first_use;
  tl_use_id last_use;
  uint32_t n_uses;     /* graph outputs count: they are operands of RETURN */
  tl_tensor_id tensor; /* RESULT: its contents where inference knows them all, else 0 */
  uint32_t extra;      /* 0 or index into module->extras */
  uint8_t kind;        /* tl_value_kind */
} tl_value;

/* An operation; graph->ret is one as well, of op RETURN. */
typedef struct tl_node {
  tl_op_id op;
  tl_symbol name; /* 0: unnamed */
  tl_graph_id graph;
  tl_node_id previous; /* list of the graph, in topological order */
  tl_node_id next;
  uint32_t n_operands;
  uint64_t order;      /* label: smaller runs earlier, within one graph */
  tl_attr *attrs;      /* [n_attrs], arena; sorted by nothing, in the order given */
  tl_use_id operands;  /* first of n_operands consecutive uses */
  tl_value_id results; /* first of n_results consecutive values */
  uint32_t n_results;
  uint32_t n_attrs;
  tl_control_id control_in; /* lists of control edges */
  tl_control_id control_out;
  tl_symbol scope;   /* '/'-separated path of inlined functions, 0: none */
  uint32_t extra;    /* 0 or index into module->extras */
  int32_t stream;    /* -1: not assigned */
  int16_t candidate; /* after select: index into the op row's npu candidates, -1: none or not yet */
  bool selected;     /* select has visited this node */
  bool mixed;        /* after precision: f32, f16, bf16, hif8 are here as the op table does
                        not have it; what the node takes and gives is what its values say */
} tl_node;

/* Who asked for a control edge. */
typedef enum tl_control_origin {
  TL_CONTROL_USER,
  TL_CONTROL_GATE,
  TL_CONTROL_MEMORY,
  TL_CONTROL_COMM_ORDER,
  TL_CONTROL_SCHED,
  TL_N_CONTROL_ORIGINS
} tl_control_origin;

/* An order between two nodes that no value gives. */
typedef struct tl_control {
  tl_node_id from; /* runs before `to`; same graph */
  tl_node_id to;
  tl_control_id next_out;   /* of `from` */
  tl_control_id next_in;    /* of `to` */
  tl_control_id before_out; /* the one before it in that list; of the first one, the last */
  tl_control_id before_in;
  uint8_t origin; /* tl_control_origin */
} tl_control;

typedef enum tl_graph_kind {
  TL_GRAPH_ROOT,
  TL_GRAPH_BODY /* of If, Loop, Scan ...: owned by a node's attribute */
} tl_graph_kind;

/* A graph: its nodes as a list in topological order, its inputs, constants and outputs. */
typedef struct tl_graph {
  tl_graph_id id;
  tl_symbol name;
  uint8_t kind; /* tl_graph_kind */
  bool erased;
  tl_node_id owner; /* body: the node whose attribute it is, else TL_NO_NODE */
  tl_node_id first; /* TL_NO_NODE when empty */
  tl_node_id last;
  tl_node_id ret; /* RETURN: its operands are the outputs */
  uint32_t n_nodes;
  tl_u32_vec inputs;    /* values */
  tl_u32_vec constants; /* values, in file order; erased ones are 0 */
  uint32_t extra;
} tl_graph;

/* One entry of metadata. */
typedef struct tl_pair {
  tl_symbol key;
  tl_symbol value;
} tl_pair;

/* A reference to nodes of the model that a node comes from (origins.h); 0: none, or metadata says
 * it. */
typedef uint32_t tl_origin;

/* Things few records have, carried along. Raw protobuf fields (tag included) are written back to
 * ONNX as they were read. */
typedef struct tl_extra {
  tl_symbol doc;
  uint32_t n_metadata;
  const tl_pair *metadata; /* arena */
  tl_symbol raw;           /* unparsed fields of the message, 0: none */
  tl_symbol denotation;    /* of a value's type */
  tl_origin origins;       /* of a node that a pass made: nodes of the model that it comes from */
  bool inserted;           /* it was put beside these, and is no part of what they compute */
  const tl_pair *plain; /* equals `metadata` where trace.c wrote it and its lists have no escapes */
} tl_extra;

/* A call of a model-local function that was inlined. */
typedef struct tl_call {
  tl_symbol path;     /* scope of the nodes that it became, calls around it included */
  tl_symbol function; /* domain::name */
} tl_call;

/* An imported opset. */
typedef struct tl_opset {
  tl_symbol domain;
  int64_t version;
} tl_opset;

/* A training state: step input, step output, initial value (0: given by the caller). */
typedef struct tl_state {
  tl_value_id input;
  tl_value_id output;
  tl_value_id initial;
  bool parameter; /* of a gradient, which need not be in the main graph any more */
  bool local;     /* each rank has its own: gradients that it has accumulated, or */
  uint32_t root;  /* moments of a parameter that rank root - 1 updates for all; 0: none does */
} tl_state;

/* A gradient of a training step, as backward gives it. */
typedef struct tl_gradient {
  tl_value_id param;   /* input of the graph */
  tl_value_id grad;    /* of a sparse one: the rows */
  tl_value_id indices; /* of a sparse one: their numbers; else TL_NO_VALUE */
} tl_gradient;

/* A finding of inference: the node does the same with a constant as this operand. */
typedef struct tl_substitute {
  tl_node_id node;
  uint32_t operand;
  tl_tensor_id tensor;
} tl_substitute;

/* A finding of inference: the one element of the value is a dim with a name. */
typedef struct tl_size {
  tl_value_id value;
  tl_dim dim;
} tl_size;

/* An op that the table does not list, by name. */
/* What is known of a row's op in a module. */
enum {
  TL_OP_HAD = 1, /* a node was of this op once */
  TL_OP_TOLD = 2 /* a warning said that ONNX has it no more */
};

typedef struct tl_opaque_op {
  tl_symbol domain;
  tl_symbol name;
  bool told; /* a warning said that its standard domain lacks it */
} tl_opaque_op;

/* How far a module is lowered. SPELLED: canonical, but expansions named NPU ops for some nodes
 * already. */
typedef enum tl_form { TL_FORM_CANONICAL, TL_FORM_SPELLED, TL_FORM_SELECTED, TL_FORM_NPU } tl_form;

/* The function that ONNX output calls for a tl:: op: one for each distinct use (op, operands,
 * attributes, dtypes). */
typedef struct tl_definition {
  tl_node_id like; /* a node of this use; TL_NO_NODE: every node of `op` */
  tl_op_id op;     /* of a domain that is not ours: what scopes became that were captured */
  tl_symbol name;  /* of the function, in the domain ai.tailor or that of `op` */
  tl_module *body; /* owned; its one graph has the operands as inputs */
} tl_definition;

TL_VEC(tl_definition_vec, tl_definition);
TL_VEC(tl_graph_vec, tl_graph *);
TL_VEC(tl_type_vec, tl_type);
TL_VEC(tl_extra_vec, tl_extra);
TL_VEC(tl_opset_vec, tl_opset);
TL_VEC(tl_call_vec, tl_call);
TL_VEC(tl_state_vec, tl_state);
TL_VEC(tl_gradient_vec, tl_gradient);
TL_VEC(tl_substitute_vec, tl_substitute);
TL_VEC(tl_size_vec, tl_size);
TL_VEC(tl_opaque_vec, tl_opaque_op);
TL_VEC(tl_file_vec, tl_file *);

/* For messages to people: how many nodes of a kind, and the first of them. */
typedef struct tl_node_count {
  uint32_t n;
  tl_symbol type; /* NPU type */
  tl_symbol name; /* may be empty */
  uint8_t dtype;  /* that it is about */
} tl_node_count;

/* For messages to people: how the model suits the chip. */
typedef struct tl_chip_fit {
  tl_node_count lowered; /* compute f32 in f16, since the chip has nothing wider; no mode asked */
  tl_node_count host;    /* have dtypes that no kernel of the AI cores takes, no f32, f16 or bf16
                            among them: integers, f64. AI CPUs have kernels of these */
  uint32_t unmapped;     /* nodes of the NPU form that have none, as --allow-unmapped permits */
} tl_chip_fit;

/* A model has millions of these: what a field more costs is to be seen. */
_Static_assert(sizeof(tl_use) == 16, "a use is 16 bytes");
_Static_assert(sizeof(tl_value) == 40, "a value is 40 bytes");
_Static_assert(sizeof(tl_control) == 28, "a control edge is 28 bytes");
_Static_assert(sizeof(tl_node) <= 96, "a node is at most 96 bytes");
_Static_assert(TL_N_CONTROL_ORIGINS <= UINT8_MAX && TL_FORM_NPU <= UINT8_MAX, "kept in a byte");

/* The module. Owns everything below but `diag`. */
struct tl_module {
  tl_arena arena;
  tl_symtab symbols;
  tl_diag *diag;    /* borrowed sink for everything done to this module */
  const char *path; /* arena; file the module came from, for messages; never NULL */
  tl_slab nodes;
  tl_slab values;
  tl_slab uses;
  tl_slab controls;
  tl_slab tensors;
  tl_graph_vec graphs;  /* by id - 1, bodies included; owned */
  tl_type_vec types;    /* by id; entry 0 is the unknown type */
  uint32_t *type_slots; /* owned hash index of types */
  uint32_t n_type_slots;
  tl_opaque_vec opaque_ops; /* by id - tl_n_op_rows */
  tl_map opaque_index;      /* (domain, name) -> index into opaque_ops */
  uint8_t *had_ops;         /* arena, by op id below tl_n_op_rows: TL_OP_HAD, TL_OP_TOLD */
  const struct tl_npu_form **npu_forms; /* arena, by op id below tl_n_op_rows: candidates that
                                         * passes/npu compiled; NULL: none yet */
  tl_extra_vec extras;                  /* entry 0 is empty */
  tl_u32_vec origins;                   /* lists of references (origins.h) ... */
  uint32_t last_origins;                /* ... and where the last one begins */
  tl_opset_vec opsets;                  /* imports; the default domain is the empty symbol */
  tl_call_vec calls;                    /* in the order of the file */
  tl_state_vec states;
  tl_gradient_vec gradients;     /* in the order in which they become ready */
  tl_value_id loss;              /* of a training step; TL_NO_VALUE: not known */
  tl_value_id seed;              /* where its backward part starts; TL_NO_VALUE: not known */
  struct tl_step_state *step;    /* of the passes of training steps, which alone know what it is; in
                                 the arena; NULL: nothing */
  tl_substitute_vec substitutes; /* of the last inference; a pass that applies them empties it */
  tl_size_vec sizes;             /* of the last inference, by value; rewrites leave them true */
  tl_file_vec files;             /* owned; the model file and external data */
  tl_definition_vec definitions; /* filled by the pass outline-definitions */
  uint64_t source_bytes;         /* of the files that it was read from; 0: not known */
  int64_t ir_version;
  int64_t model_version;
  int64_t source_opset; /* default-domain opset as imported; 0 when built otherwise */
  tl_symbol producer_name;
  tl_symbol producer_version;
  tl_symbol domain;
  const struct tl_user_ops *user_ops; /* borrowed; what the user says of ops that the table does not
                                         list (user_ops.h); NULL: nothing */
  uint32_t extra;                     /* documentation and metadata_props of the model */
  uint8_t form;                       /* tl_form */
  tl_chip_fit chip_fit;
  struct tl_edit_log *log; /* borrowed; receives edits (edit_log.h); NULL: nobody wants them */
};

/* What a file says of itself, with its path. */
typedef struct tl_about {
  const char *path;
  int64_t ir_version;
  int64_t model_version;
  int64_t source_opset;
  tl_symbol producer_name;
  tl_symbol producer_version;
  tl_symbol domain;
  uint32_t extra;
} tl_about;

/* Saves what the file says of itself before another file, `path`, is read into the module. Until
 * tl_module_set_about, messages name that file, and the module has neither documentation nor
 * metadata. */
tl_about tl_module_about(tl_module *m, const char *path);
/* Puts back what tl_module_about saved. */
void tl_module_set_about(tl_module *m, const tl_about *about);

/* Creates an empty module that reports to `diag` (borrowed); the caller destroys it. expect_nodes
 * sizes tables, 0: no hint. NULL when memory is out. */
tl_module *tl_module_create(tl_diag *diag, const char *path, uint32_t expect_nodes);
/* Frees the module and all it owns; NULL is fine. */
void tl_module_destroy(tl_module *m);
/* Between tl_mute and tl_unmute of the same record, errors and warnings about a module are none of
 * its user: they go to `fn`, or nowhere where that is NULL. Records nest. */
typedef struct tl_muted {
  tl_module *m;
  tl_diag *loud; /* the sink that tl_unmute puts back */
  tl_diag quiet;
} tl_muted;
void tl_mute(tl_muted *muted, tl_module *m, tl_diag_fn fn, void *user);
void tl_unmute(tl_muted *muted);
/* Reports that memory is out, for the file of the module, and returns TL_NO_MEMORY. */
tl_status tl_no_memory(const tl_module *m);
#ifdef TL_ANALYSIS
#define tl_no_memory(m) ((void)tl_no_memory(m), TL_NO_MEMORY) /* as in support/diag.h */
#endif
/* Takes over a file (closed even on failure). TL_NO_MEMORY. Beyond the first 64 files only the
 * mapping is kept, so that many files do not exhaust the process's descriptors. */
tl_status tl_module_add_file(tl_module *m, tl_file *f) TL_NODISCARD;
/* Returns the private bytes held: arena, pools, tables; mapped files do not count. */
size_t tl_module_bytes(const tl_module *m);

/* Returns the definition that a node can call (op, operands, attributes and dtypes agree), NULL
 * without one. O(definitions). */
const tl_definition *tl_module_definition(const tl_module *m, tl_node_id n);
/* Forgets all definitions. */
void tl_module_drop_definitions(tl_module *m);

/* Returns true when some node was once of this op of the table; false proves that none is. */
static inline bool tl_module_had_op(const tl_module *m, tl_op_id op) {
  TL_ASSERT(op < tl_n_op_rows);
  return m->had_ops[op];
}

/* Returns the version of a domain's opset, 0 when it is not imported. */
int64_t tl_module_opset(const tl_module *m, tl_symbol domain);
/* Returns the oldest opset of ai.onnx, from TL_ONNX_CANONICAL_OPSET on, that has every op of the
 * module and of its definitions. O(nodes). */
int64_t tl_module_needed_opset(const tl_module *m);
/* Imports a domain's opset, or changes the version. TL_NO_MEMORY; TL_LIMIT: too many domains. */
tl_status tl_module_set_opset(tl_module *m, tl_symbol domain, int64_t version) TL_NODISCARD;

/* Returns the textual IR's word for a form: "canonical", "spelled", "selected", "npu". */
const char *tl_form_name(tl_form form);

/* Returns a writable extra of the slot (created when *slot is 0), NULL when memory is out. */
tl_extra *tl_module_extra(tl_module *m, uint32_t *slot);

/* Records of ids, which must not be 0. */
static inline tl_node *tl_node_get(const tl_module *m, tl_node_id n) {
  return TL_SLAB_AT(&m->nodes, tl_node, n);
}
static inline tl_value *tl_value_get(const tl_module *m, tl_value_id v) {
  return TL_SLAB_AT(&m->values, tl_value, v);
}
static inline tl_use *tl_use_get(const tl_module *m, tl_use_id u) {
  return TL_SLAB_AT(&m->uses, tl_use, u);
}
static inline tl_control *tl_control_get(const tl_module *m, tl_control_id c) {
  return TL_SLAB_AT(&m->controls, tl_control, c);
}
static inline tl_graph *tl_graph_get(const tl_module *m, tl_graph_id g) {
  TL_ASSERT(g != TL_NO_GRAPH && g <= m->graphs.n);
  return m->graphs.at[g - 1];
}
/* Returns the first root graph, which a model file calls "graph". Every module from a file has
 * one. */
static inline tl_graph *tl_module_main(const tl_module *m) { return tl_graph_get(m, 1); }
/* One past the largest id in use: the size of side tables indexed by id. */
static inline uint32_t tl_module_node_end(const tl_module *m) { return m->nodes.next; }
static inline uint32_t tl_module_value_end(const tl_module *m) { return m->values.next; }

/* Returns the text of a symbol, borrowed. */
static inline tl_sv tl_sym(const tl_module *m, tl_symbol s) { return tl_symbol_sv(&m->symbols, s); }
/* Interns a copy of the bytes; TL_NO_SYMBOL when memory is out. */
static inline tl_symbol tl_module_intern(tl_module *m, tl_sv s) {
  return tl_intern(&m->symbols, s);
}

/* Returns operand i; TL_NO_VALUE when absent or beyond the end. */
static inline tl_value_id tl_operand(const tl_module *m, tl_node_id n, uint32_t i) {
  const tl_node *node = tl_node_get(m, n);
  return i < node->n_operands ? tl_use_get(m, node->operands + i)->value : TL_NO_VALUE;
}
/* Returns result i; TL_NO_VALUE beyond the end. A result that the model left unnamed has name 0. */
static inline tl_value_id tl_result(const tl_module *m, tl_node_id n, uint32_t i) {
  const tl_node *node = tl_node_get(m, n);
  return i < node->n_results ? node->results + i : TL_NO_VALUE;
}
/* Returns the type of v; TL_NO_TYPE for TL_NO_VALUE. */
static inline tl_type_id tl_value_type(const tl_module *m, tl_value_id v) {
  return v ? tl_value_get(m, v)->type : TL_NO_TYPE;
}
/* Returns the name of v, borrowed. */
static inline tl_sv tl_value_name(const tl_module *m, tl_value_id v) {
  return tl_sym(m, tl_value_get(m, v)->name);
}
/* Returns the node that makes v; TL_NO_NODE for inputs and constants. */
static inline tl_node_id tl_value_producer(const tl_module *m, tl_value_id v) {
  const tl_value *value = tl_value_get(m, v);
  return value->kind == TL_VALUE_RESULT ? value->def : TL_NO_NODE;
}
/* Returns the graph whose scope v belongs to. */
tl_graph_id tl_value_graph(const tl_module *m, tl_value_id v);
/* Returns the data of a constant, NULL otherwise (an overridable input is not constant). */
static inline const tl_tensor *tl_value_constant(const tl_module *m, tl_value_id v) {
  const tl_value *value = v ? tl_value_get(m, v) : NULL;
  return value && value->kind == TL_VALUE_CONSTANT
             ? TL_SLAB_AT(&m->tensors, tl_tensor, value->tensor)
             : NULL;
}
/* Returns true when v is an output of its graph, or of a body inside it. */
bool tl_value_is_output(const tl_module *m, tl_value_id v);
/* Returns true for the node that holds a graph's outputs. */
static inline bool tl_node_is_return(const tl_module *m, tl_node_id n) {
  return tl_node_get(m, n)->op == TL_OP_RETURN;
}

/* Outputs of a graph: how many, and output i. */
static inline uint32_t tl_graph_n_outputs(const tl_module *m, const tl_graph *g) {
  return tl_node_get(m, g->ret)->n_operands;
}
static inline tl_value_id tl_graph_output(const tl_module *m, const tl_graph *g, uint32_t i) {
  return tl_operand(m, g->ret, i);
}

/* Returns a node's attribute as the model gives it, NULL when it is not set. */
const tl_attr *tl_node_attr(const tl_module *m, tl_node_id n, tl_symbol name);
/* Returns the given attribute or the op table's default, NULL without either. Kinds are those of
 * the table (import checks them). */
const tl_attr *tl_node_attr_or_default(const tl_module *m, tl_node_id n, tl_symbol name);
/* As tl_node_attr_or_default for one kind; `fallback`, or "", where the table has no default
 * either. */
int64_t tl_node_attr_int(const tl_module *m, tl_node_id n, tl_symbol name, int64_t fallback);
float tl_node_attr_float(const tl_module *m, tl_node_id n, tl_symbol name, float fallback);
tl_sv tl_node_attr_string(const tl_module *m, tl_node_id n, tl_symbol name);
/* The same for a list of integers; .at is NULL when absent. */
tl_int_list tl_node_attr_ints(const tl_module *m, tl_node_id n, tl_symbol name);

/* Returns where a node is, for diagnostics: file and node name, or "Op->value" (in the module's
 * arena) when it has no name. */
tl_location tl_node_where(tl_module *m, tl_node_id n);

/* Iterates the nodes of a graph in topological order; `n` may be erased inside the loop. */
#define TL_FOR_NODES(m, g, n)                                                                      \
  for (tl_node_id n = (g)->first, tl_next_##n = 0;                                                 \
       n && (tl_next_##n = tl_node_get((m), n)->next, 1); n = tl_next_##n)
/* Iterates the uses of a value in the order they were made; the use may be dropped inside. */
#define TL_FOR_USES(m, v, u)                                                                       \
  for (tl_use_id u = tl_value_get((m), (v))->first_use, tl_next_##u = 0;                           \
       u && (tl_next_##u = tl_use_get((m), u)->next, 1); u = tl_next_##u)

/* Returns the type of an id, borrowed until the next one is interned; id 0 gives kind
 * TL_KIND_UNKNOWN. */
static inline const tl_type *tl_type_get(const tl_module *m, tl_type_id id) {
  TL_ASSERT(id < m->types.n);
  return &m->types.at[id];
}

/* Refuses a module with more root graphs than one, for which `what` ("an AIR file") has no place.
 * TL_UNSUPPORTED, reported. O(graphs). */
tl_status tl_module_need_one_root(const tl_module *m, const char *what) TL_NODISCARD;
/* Returns the number of nodes in all graphs that are not erased. O(graphs). */
uint32_t tl_module_count_nodes(const tl_module *m);

#endif
