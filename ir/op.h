/* SPDX-License-Identifier: Apache-2.0 */
/* The op table: what every op looks like, as read-only rows generated from the tables in ir/ops.
 * Ops that the table lacks are registered for each module and carried along opaque. */
#ifndef TL_IR_OP_H
#define TL_IR_OP_H

#include "ir/attr.h"

typedef uint32_t tl_op_id; /* below TL_N_OPS: table row; from there on: opaque op of the module */

typedef enum tl_port_kind { TL_PORT_REQUIRED, TL_PORT_OPTIONAL, TL_PORT_VARIADIC } tl_port_kind;

enum { TL_ANY_TYPE = -1 };

/* An operand or a result of an op. */
typedef struct tl_op_port {
  const char *name;
  uint8_t kind;       /* tl_port_kind */
  bool heterogeneous; /* variadic: elements need not share their type */
  int8_t var;         /* index into op->vars, TL_ANY_TYPE: no constraint */
} tl_op_port;

/* A type variable: which types the ports of one name may have. */
typedef struct tl_type_var {
  const char *name; /* "T", or the class name for a port with a fixed class */
  uint64_t dtypes;  /* TL_DTYPE_BIT set of tensor element types */
  uint32_t kinds;   /* TL_KIND_BIT set; tensors need both masks */
  bool shared;      /* all ports of this var have one element type */
} tl_type_var;

/* An attribute that an op knows. */
typedef struct tl_op_attr {
  tl_attr value; /* name, kind; payload is the default when has_default */
  bool required;
  bool has_default; /* lists may have an empty default */
  bool flag;        /* an int that is 0 or 1; whatever else a node is given means 1 */
} tl_op_attr;

/* Properties of ops, as bits of tl_op.traits. */
enum {
  TL_TRAIT_COMMUTATIVE = 1 << 0,
  TL_TRAIT_ELEMENTWISE = 1 << 1, /* result element depends on the same (broadcast) elements */
  TL_TRAIT_RANDOM = 1 << 2,      /* two equal nodes give different results */
  TL_TRAIT_EFFECT = 1 << 3,      /* must stay even when nobody uses its results */
  TL_TRAIT_STATEFUL = 1 << 4,
  TL_TRAIT_IDENTITY = 1 << 5, /* result 0 is operand 0 */
  TL_TRAIT_BODY = 1 << 6,     /* has graph attributes */
  TL_TRAIT_LAYOUT = 1 << 7,   /* moves or views data, computes nothing */
  TL_TRAIT_DEPRECATED = 1 << 8,
  TL_TRAIT_UNFOLDED = 1 << 9,  /* stays on constants too: device compilers look for the pair */
  TL_TRAIT_WEIGHTED = 1 << 10, /* operands behind the first are weights, constants as a rule */
  TL_TRAIT_IMAGES = 1 << 11    /* operand 0 has channels second, which device compilers want told */
};

/* What it takes to make a node its NPU form. */
typedef enum tl_lower_kind {
  TL_LOWER_RENAME,        /* ports only */
  TL_LOWER_ATTRS,         /* ports and attributes */
  TL_LOWER_CONST_OPERAND, /* an operand is built from an attribute or a shape */
  TL_LOWER_EXPAND,        /* needs several NPU nodes (rules) */
  TL_LOWER_NONE           /* no NPU form */
} tl_lower_kind;

/* One NPU form of an op; texts in the notation of docs/op-table.md, "" for none. */
typedef struct tl_npu_candidate {
  const char *guard;    /* "always" or atoms with && || ! */
  const char *npu_type; /* "" for kind NONE */
  const char *judged;   /* type that precision judges, "" = keeps its dtypes */
  uint8_t kind;         /* tl_lower_kind */
  const char *operands;
  const char *attrs;
} tl_npu_candidate;

/* A row of the table; all in read-only data. */
typedef struct tl_op {
  const char *domain; /* "" is ai.onnx */
  const char *name;
  tl_symbol domain_symbol; /* seeded symbols, fixed in every module */
  tl_symbol name_symbol;
  const tl_op_port *operands;
  const tl_op_port *results;
  const tl_type_var *vars;
  const tl_op_attr *attrs; /* prototype order */
  const int16_t *since;    /* versions at which the signature changed, ascending */
  const tl_npu_candidate *npu;
  const char *npu_from; /* where the candidates come from: files of CANN; NULL: not said */
  uint8_t n_operand_ports;
  uint8_t n_result_ports;
  uint8_t n_vars;
  uint8_t n_attrs;
  uint8_t n_since;
  uint8_t n_npu;
  uint16_t traits;
  uint32_t min_operands;
  uint32_t max_operands; /* UINT32_MAX with a variadic port */
  uint32_t min_results;
  uint32_t max_results;
} tl_op;

/* Generated (scripts/gen_ops.py): rows sorted by (domain symbol, name symbol) and the strings that
 * every module interns as symbols 1..tl_n_seeds. */
extern const tl_op tl_op_rows[];
extern const uint32_t tl_n_op_rows;
extern const tl_seed tl_seeds[];
extern const uint32_t tl_n_seeds;
extern const tl_seed_table tl_op_seeds;

/* Returns the row of an id below tl_n_op_rows; NULL for opaque ops. */
static inline const tl_op *tl_op_row(tl_op_id op) {
  return op < tl_n_op_rows ? &tl_op_rows[op] : NULL;
}
/* Finds or registers the op, opaque when the table lacks it. UINT32_MAX when memory is out. */
tl_op_id tl_op_intern(tl_module *m, tl_symbol domain, tl_symbol name);
/* Returns the id of an op of the table, UINT32_MAX without one. */
tl_op_id tl_op_find(tl_symbol domain, tl_symbol name);
/* Names and domains of any op, opaque ones too; borrowed. */
tl_sv tl_op_name(const tl_module *m, tl_op_id op);
tl_sv tl_op_domain(const tl_module *m, tl_op_id op);
tl_symbol tl_op_name_symbol(const tl_module *m, tl_op_id op);
tl_symbol tl_op_domain_symbol(const tl_module *m, tl_op_id op);
/* Returns true when the table gives the op one of these traits. */
static inline bool tl_op_has_trait(tl_op_id op, unsigned trait) {
  const tl_op *row = tl_op_row(op);
  return row && (row->traits & trait) != 0;
}
/* Returns the port of operand / result `index` (the last port repeats when it is variadic), NULL
 * beyond the signature. */
const tl_op_port *tl_op_operand_port(const tl_op *row, uint32_t index);
const tl_op_port *tl_op_result_port(const tl_op *row, uint32_t index);
/* Returns the attribute of that name that the op knows, or NULL. */
const tl_op_attr *tl_op_attr_find(const tl_op *row, tl_symbol name);
/* Returns true for an int that the op takes as a flag, and that is neither 0 nor 1. */
bool tl_op_is_odd_flag(tl_op_id op, const tl_attr *a);

#endif
