/* SPDX-License-Identifier: Apache-2.0 */
/* What a rule asks of a scope (docs/rules.md, "Scopes"): its name, its class, how many nodes of
 * which types are in it, which scopes are right inside it. Parsed by parse_scope.c. */
#ifndef TL_PASSES_ENGINE_SCOPE_H
#define TL_PASSES_ENGINE_SCOPE_H

#include "passes/edit/scopes.h"
#include "passes/engine/match.h"

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

/* How many nodes of some types there are, in the scope and those inside. */
typedef struct tl_scope_count {
  tl_op_id ops[TL_SCOPE_OPS];
  uint32_t n_ops;
  uint32_t low;
  uint32_t high;  /* UINT32_MAX: any number */
  uint32_t times; /* not 0: a multiple of it, and some */
  tl_sv text;     /* as written */
} tl_scope_count;

typedef struct tl_scope_part {
  tl_symbol name; /* glob of a scope right inside; 0: the scope itself */
  tl_scope_count counts[TL_SCOPE_COUNTS];
  uint32_t n_counts;
} tl_scope_part;

/* What the first node of a type that is right inside says of itself; defaults count. */
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
  bool ranked; /* its rank is from low to high */
  uint32_t low, high;
  bool rest; /* all that are left over */
} tl_scope_port;

/* An attribute of the op that a captured scope becomes. */
typedef struct tl_scope_setting {
  tl_attr attr;     /* in the module that rules are read for; its number is open where `found` */
  bool found;       /* it is a constant of the scope: */
  tl_op_id op;      /* of the first node of this op ... */
  uint32_t operand; /* ... whose operand here is one number */
} tl_scope_setting;

/* How near the op that a scope becomes has to come to the scope, on random inputs. */
typedef struct tl_scope_verify {
  uint32_t samples; /* 0: nothing is asked */
  double rtol, atol;
} tl_scope_verify;

typedef struct tl_scope_pattern {
  tl_symbol in[TL_SCOPE_GLOBS]; /* globs of paths: one has to fit */
  uint32_t n_in;
  tl_symbol except[TL_SCOPE_GLOBS]; /* none may */
  uint32_t n_except;
  tl_symbol klass;                            /* glob; 0: any */
  tl_scope_part parts[1 + TL_SCOPE_CHILDREN]; /* the scope itself first */
  uint32_t n_parts;
  tl_scope_attr attrs[TL_SCOPE_ATTRS];
  uint32_t n_attrs;
  /* of rules that capture */
  tl_scope_port inputs[TL_SCOPE_PORTS];
  uint32_t n_inputs;
  tl_scope_port outputs[TL_SCOPE_PORTS];
  uint32_t n_outputs;
  bool bounded;                                 /* inputs and outputs are said */
  tl_op_id op;                                  /* what the scope becomes */
  tl_scope_setting settings[TL_SCOPE_SETTINGS]; /* of ops that have a meaning of their own */
  uint32_t n_settings;
  tl_scope_verify verify;
} tl_scope_pattern;

typedef enum tl_scope_verdict {
  TL_SCOPE_UNASKED,
  TL_SCOPE_OTHER_NAME, /* or another class */
  TL_SCOPE_EXCEPTED,
  TL_SCOPE_OTHER_NODES,
  TL_SCOPE_FITS
} tl_scope_verdict;

/* Whether a scope is what the rule asks for; remembered, so that asking often costs little. why:
 * NULL, or what is in the way. O(nodes of the scope) the first time. */
tl_scope_verdict tl_scope_judge(tl_scopes *s, const tl_rule *r, uint32_t scope, tl_buf *why);

/* Whether some scope that has all nodes of the match is what its rule asks for; leaves a note in
 * x->miss when none is. True where nobody knows scopes, false without memory for them. */
bool tl_match_is_in_scope(tl_match *x);

#endif
