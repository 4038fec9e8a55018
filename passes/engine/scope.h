/* SPDX-License-Identifier: Apache-2.0 */
/* What a rule asks of a scope: its name, class, nodes and inner scopes (docs/rules.md, "Scopes").
 * parse_scope.c fills these structures; names and counts are bounded by the enum below. */
#ifndef TL_PASSES_ENGINE_SCOPE_H
#define TL_PASSES_ENGINE_SCOPE_H

#include "passes/edit/scopes.h"
#include "passes/engine/attempt.h"

enum {
  TL_SCOPE_OPS = 8,
  TL_SCOPE_COUNTS = 24,
  TL_SCOPE_CHILDREN = 8,
  TL_SCOPE_GLOBS = 8,
  TL_SCOPE_PORTS = 32,
  TL_SCOPE_ATTRS = 16,
  TL_SCOPE_GLOB_BYTES = 1024,
  TL_SCOPE_SETTINGS = 16
};

/* Required number of nodes of some ops, in the scope and those inside. */
typedef struct tl_scope_count {
  tl_op_id ops[TL_SCOPE_OPS];
  uint32_t n_ops;
  uint32_t low;
  uint32_t high;  /* UINT32_MAX: any number */
  uint32_t times; /* not 0: a positive multiple of it */
  tl_sv text;     /* as written */
} tl_scope_count;

/* Required nodes of the scope itself or of a direct inner scope. */
typedef struct tl_scope_part {
  tl_symbol name; /* glob of the name of a direct inner scope; 0: the scope itself */
  tl_scope_count counts[TL_SCOPE_COUNTS];
  uint32_t n_counts;
} tl_scope_part;

/* Required attribute of the first node of an op that is directly in the scope; defaults count. */
typedef struct tl_scope_attr {
  tl_op_id op;
  tl_symbol name;
  tl_symbol string; /* 0: a number */
  double number;
  tl_sv text; /* as written */
} tl_scope_attr;

/* A tensor at the boundary of a scope that is captured. */
typedef struct tl_scope_port {
  tl_symbol name;
  bool constant;
  bool ranked; /* its rank must be from low to high */
  uint32_t low, high;
  bool rest; /* takes all remaining values of its sort */
} tl_scope_port;

/* An attribute of the op that a captured scope becomes. */
typedef struct tl_scope_setting {
  tl_attr attr;     /* in the module of the rules; its value is open if `found` */
  bool found;       /* the value is a constant of the scope: */
  tl_op_id op;      /* of the first node with this op ... */
  uint32_t operand; /* ... whose operand with this index is one number */
} tl_scope_setting;

/* Required agreement of the scope and the op on random inputs. */
typedef struct tl_scope_verify {
  uint32_t samples; /* 0: no comparison */
  double rtol, atol;
} tl_scope_verify;

/* Everything that a rule asks of a scope. */
typedef struct tl_scope_pattern {
  tl_symbol in[TL_SCOPE_GLOBS]; /* globs of paths: one must match */
  uint32_t n_in;
  tl_symbol except[TL_SCOPE_GLOBS]; /* globs of paths: none may match */
  uint32_t n_except;
  tl_symbol klass;                            /* glob; 0: any */
  tl_scope_part parts[1 + TL_SCOPE_CHILDREN]; /* the scope itself first */
  uint32_t n_parts;
  tl_scope_attr attrs[TL_SCOPE_ATTRS];
  uint32_t n_attrs;
  /* for rules that capture: */
  tl_scope_port inputs[TL_SCOPE_PORTS];
  uint32_t n_inputs;
  tl_scope_port outputs[TL_SCOPE_PORTS];
  uint32_t n_outputs;
  bool bounded;                                 /* inputs and outputs are declared */
  tl_op_id op;                                  /* op that the scope becomes */
  tl_scope_setting settings[TL_SCOPE_SETTINGS]; /* attributes, for ops of the op table */
  uint32_t n_settings;
  tl_scope_verify verify;
} tl_scope_pattern;

/* Result of checking a scope against a rule. */
typedef enum tl_scope_verdict {
  TL_SCOPE_UNASKED,
  TL_SCOPE_OTHER_NAME, /* or another class */
  TL_SCOPE_EXCEPTED,
  TL_SCOPE_OTHER_NODES,
  TL_SCOPE_FITS
} tl_scope_verdict;

/* Checks a scope against a rule; results are cached in s->verdicts. why: NULL, or receives what
 * does not fit. O(nodes of the scope) the first time. */
tl_scope_verdict tl_scope_judge(tl_scopes *s, const tl_rule *r, uint32_t scope, tl_buf *why);

/* Returns true if some scope that contains all nodes of the match satisfies its rule; otherwise
 * notes the reason in x->miss. True for rules without scopes; false if memory is out. */
bool tl_match_is_in_scope(tl_match *match);

#endif
