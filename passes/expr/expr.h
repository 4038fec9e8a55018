/* SPDX-License-Identifier: Apache-2.0 */
/* The expression language of guards, operands and attributes in the op table (docs/op-table.md) and
 * of conditions and computed attributes in rules (docs/rules.md): one syntax, one table of
 * functions, one evaluator. What differs is where names come from: a guard asks the node that it is
 * about (in0, out1, axis), a rule what its pattern has bound (%x, $axis). Functions that belong to
 * one of the two are evaluated there (tl_site.functions). */
#ifndef TL_PASSES_EXPR_EXPR_H
#define TL_PASSES_EXPR_EXPR_H

#include "ir/lex.h"
#include "ir/module.h"
#include "ir/options/options.h"

/* ---- trees ----------------------------------------------------------------------------------- */

typedef enum tl_expr_kind {
  TL_EXPR_INT,
  TL_EXPR_FLOAT,
  TL_EXPR_STRING,
  TL_EXPR_DTYPE,
  TL_EXPR_BOOL,
  TL_EXPR_NAME,     /* rules: $name */
  TL_EXPR_VALUE,    /* rules: %value, only as an argument of a function */
  TL_EXPR_ATTR,     /* op table: an attribute of the node */
  TL_EXPR_OPERAND,  /* op table: inK, `optional` for "inK?"; evaluated: what the constant holds */
  TL_EXPR_RESULT,   /* op table: outK */
  TL_EXPR_OPERANDS, /* op table: in*, all given operands */
  TL_EXPR_LIST,
  TL_EXPR_CALL,
  TL_EXPR_INDEX, /* list[i]; a negative i counts from the end */
  TL_EXPR_NOT,
  TL_EXPR_MINUS,
  TL_EXPR_AND,
  TL_EXPR_OR,
  TL_EXPR_EQ,
  TL_EXPR_NE,
  TL_EXPR_LT,
  TL_EXPR_LE,
  TL_EXPR_GT,
  TL_EXPR_GE,
  TL_EXPR_IN, /* one of a list */
  TL_EXPR_ADD,
  TL_EXPR_SUB,
  TL_EXPR_MUL,
  TL_EXPR_DIV /* of integers: rounded down; exact conditions use mod() */
} tl_expr_kind;

typedef struct tl_expr tl_expr;
struct tl_expr {
  uint8_t kind;     /* tl_expr_kind */
  uint8_t function; /* CALL: tl_function */
  bool optional;    /* OPERAND: may be absent */
  uint16_t n;       /* of args */
  tl_expr **args;   /* operands, arguments, elements */
  union {
    int64_t i; /* INT, BOOL, DTYPE; NAME, VALUE, OPERAND, RESULT: index */
    double f;
    tl_symbol s;   /* STRING, ATTR */
    uint64_t mask; /* LIST whose elements are all dtypes: which; else 0 */
  } u;
  tl_sv text; /* as written, for messages; a view of what was parsed */
};

/* ---- functions ------------------------------------------------------------------------------- */

/* Where a function may be used: a set of these. */
typedef enum tl_expr_place {
  TL_IN_RULES = 1 << 0,   /* conditions, computed attributes and constants of rules */
  TL_IN_GUARDS = 1 << 1,  /* guards of the op table, and expressions inside of the next two */
  TL_IN_ATTRS = 1 << 2,   /* attributes of NPU candidates */
  TL_IN_OPERANDS = 1 << 3 /* operands of NPU candidates */
} tl_expr_place;

/* One row of passes/expr/functions.tbl each. */
typedef enum tl_function {
#define TL_FUNCTION(name, least, most, room, places, signature, summary) TL_FN_##name,
#include "passes/expr/functions.tbl"
  TL_N_FUNCTIONS
} tl_function;

enum { TL_FUNCTION_ARGS = 4 };

typedef struct tl_function_row {
  const char *name;
  const char *signature; /* for documents and messages */
  const char *summary;
  uint8_t least; /* arguments; with 0, brackets may be left out */
  uint8_t most;
  uint8_t places; /* set of tl_expr_place */
} tl_function_row;

/* By tl_function, in the order of names. */
extern const tl_function_row tl_functions[TL_N_FUNCTIONS];

/* ---- values ---------------------------------------------------------------------------------- */

/* What an expression evaluates to. NONE: unknown, and then every condition on it fails. */
typedef enum tl_rv_kind {
  TL_RV_NONE,
  TL_RV_BOOL,
  TL_RV_INT,
  TL_RV_FLOAT,
  TL_RV_STRING,
  TL_RV_DTYPE,
  TL_RV_INTS,
  TL_RV_FLOATS,
  TL_RV_STRINGS,
  TL_RV_TENSOR
} tl_rv_kind;

typedef struct tl_rv {
  uint8_t kind; /* tl_rv_kind */
  bool wide;    /* FLOATS: `ds` holds them, else `fs` */
  union {
    int64_t i;           /* BOOL, INT, DTYPE; TENSOR: tl_tensor_id */
    double f;            /* FLOAT */
    tl_symbol s;         /* STRING */
    const float *fs;     /* FLOATS: of an attribute */
    const double *ds;    /* FLOATS: of a constant, or computed; in scratch */
    const uint32_t *ids; /* STRINGS: symbols */
  };
  tl_int_list is; /* INTS; in scratch; FLOATS, STRINGS: n alone */
} tl_rv;

/* Returns true if v is true; false for everything else, unknown included. */
static inline bool tl_rv_is_true(tl_rv v) { return v.kind == TL_RV_BOOL && v.i; }
/* Returns element i of FLOATS. */
static inline double tl_rv_float_at(tl_rv v, uint32_t i) {
  return v.wide ? v.ds[i] : (double)v.fs[i];
}
/* Returns what an attribute holds; NONE for graphs and other kinds that expressions do not have. */
tl_rv tl_rv_of_attr(const tl_attr *a);
/* Returns the elements of a constant of numbers as INTS or FLOATS in scratch; NONE if v is no
 * constant or has more than 2^20 elements. */
struct tl_site;
tl_rv tl_rv_of_constant(struct tl_site *site, tl_value_id v);

/* ---- evaluation ------------------------------------------------------------------------------ */

/* What expressions are evaluated at. */
typedef struct tl_site tl_site;
/* Evaluates a call. */
typedef tl_rv (*tl_fn)(tl_site *site, const tl_expr *e);

struct tl_site {
  tl_module *m;
  tl_arena *scratch;
  const tl_options *options; /* may be NULL */
  tl_node_id node;           /* that a guard is about; root of a match */
  bool failed;               /* memory ran out; results are meaningless */
  const char *why;           /* op table: a form exists, but not for this node: a clause */
  const tl_fn *functions;    /* by tl_function; NULL: evaluated elsewhere, and unknown here */
  const tl_value_id *values; /* rules: by index; TL_NO_VALUE: absent */
  uint64_t bound;            /* bits of values */
  const tl_rv *names;        /* rules: by index */
  uint32_t named;            /* bits of names */
  void *owner;               /* rules: the tl_match */
};

/* Evaluates an expression; NONE if something that it needs is not known. */
tl_rv tl_expr_eval(tl_site *site, const tl_expr *e);
/* Returns the value of the graph behind %x, inK or outK; TL_NO_VALUE if it is absent or e is
 * something else. */
tl_value_id tl_expr_value(const tl_site *site, const tl_expr *e);
/* Appends a value as people read it, the first 16 elements of a list. */
void tl_rv_print(const tl_module *m, tl_rv v, tl_buf *out);

/* ---- parsing --------------------------------------------------------------------------------- */

typedef struct tl_expr_parser tl_expr_parser;
struct tl_expr_parser {
  tl_module *m;
  tl_arena *arena; /* of the trees */
  tl_lexer lexer;
  tl_token at;    /* the next token */
  unsigned place; /* tl_expr_place */
  uint32_t depth;
  uint32_t parts; /* of all expressions so far: a long chain is deep to evaluate */
  tl_buf *text;   /* room for unquoted strings */
  /* Reports what is wrong at a token; returns the status to give up with. */
  tl_status (*fail)(tl_expr_parser *p, tl_token at, tl_sv text);
  /* Index behind %x or $x, the token at hand, which it passes; NULL: there are none. */
  tl_status (*bound)(tl_expr_parser *p, uint8_t *index);
  void *user;
};

/* Reads one expression from p->at on. Errors are reported through p->fail. */
tl_status tl_expr_parse(tl_expr_parser *p, tl_expr **out) TL_NODISCARD;

/* Parts of one text, over all its expressions. */
enum { TL_EXPR_PARTS = 1024 };

#endif
