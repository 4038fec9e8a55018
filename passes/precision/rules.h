/* SPDX-License-Identifier: Apache-2.0 */
/* What each mode says about one tensor of one op: which dtype it looks for among the columns that
 * are left, and in which way. No graph here: the walk over the graph is decide.c. */
#ifndef TL_PASSES_PRECISION_RULES_H
#define TL_PASSES_PRECISION_RULES_H

#include "passes/precision/match.h"

/* Why a tensor has its dtype. Names and sentences: tl_precision_rule_name. */
typedef enum tl_precision_rule {
  TL_BY_NO_ROW,  /* no table says anything about the op */
  TL_BY_UNKNOWN, /* a tensor beside it has no known dtype */
  TL_BY_FIXED,   /* an integer, bool, f64 ...: no mode changes it */
  TL_BY_MODE,    /* the mode's own rule */
  TL_BY_CUBE,    /* the mode prefers low inputs for matrix ops */
  TL_BY_WHITE,
  TL_BY_BLACK,
  TL_BY_GRAY,        /* gray and nothing feeds it: as the model says */
  TL_BY_FOLLOWS,     /* gray: the dtype of what feeds it */
  TL_BY_VIEW,        /* an op without a kernel follows what feeds it, in every mode */
  TL_BY_KEPT,        /* keep_dtype */
  TL_BY_SENSITIVE,   /* casts and complex numbers */
  TL_BY_FORCED,      /* another tensor of the op had to be reduced */
  TL_BY_BLOCKED,     /* --op-block-list, --node-block-list */
  TL_BY_INCLUDED,    /* --op-include-list, --node-include-list */
  TL_BY_CUSTOM,      /* customize_dtypes */
  TL_BY_PROMOTED,    /* operands of different dtypes meet at the widest */
  TL_BY_POLICY,      /* --precision-policy keeps it wide */
  TL_BY_EPSILON,     /* a gray op would lose its epsilon */
  TL_BY_ANGLE,       /* an angle, and what computes it from positions */
  TL_BY_INHERITED,   /* a mark says that the node follows what feeds it */
  TL_BY_HOST,        /* no kernel on the AI cores: stays with its dtypes */
  TL_BY_BODY,        /* crosses the border of a loop's body */
  TL_BY_BRANCHES,    /* what all branches of an If give */
  TL_BY_SIGNATURE,   /* input or output of the model */
  TL_BY_INPUT_FP16,  /* --input-fp16-nodes */
  TL_BY_OUTPUT_TYPE, /* --output-type */
  TL_BY_IO_TYPES,    /* --keep-io-types */
  TL_N_PRECISION_RULES
} tl_precision_rule;

typedef enum tl_precision_match {
  TL_MATCH_NONE,    /* nothing fits: the columns stay as they were, another one is fallen back to */
  TL_MATCH_EXACT,
  TL_MATCH_RAISED,  /* from a narrower dtype */
  TL_MATCH_REDUCED, /* from a wider one */
  TL_MATCH_SECOND   /* a white tensor that has no low dtype: what comes next, with a warning */
} tl_precision_match;

/* "white", "follows" ... as JSON and tests name it, and a sentence for people. */
const char *tl_precision_rule_name(tl_precision_rule rule);
const char *tl_precision_rule_sentence(tl_precision_rule rule);

/* One op while its tensors are judged. */
typedef struct tl_judged_op {
  tl_precision_mode mode;
  tl_op_colour colour;
  bool cube;      /* a matrix op */
  bool view;      /* no kernel of its own */
  bool kept;      /* keep_dtype, or */
  uint8_t held;   /* tl_precision_rule that keeps it instead of a list, kept being set: POLICY (for
                     --const-policy too), EPSILON or ANGLE; 0: none */
  bool sensitive; /* its dtypes are its meaning */
  bool inherits;  /* told to follow its predecessor */
  bool strict;    /* --strict-mix-low */
  bool half_in_float_out; /* some column takes f16 in input 0 and gives f32 in output 0 */
  bool forced16;  /* set while judging */
} tl_judged_op;

/* One tensor of it. */
typedef struct tl_judged_tensor {
  const uint8_t *col; /* the slot's dtype by column */
  tl_dtype original;  /* in the model */
  tl_dtype producer;  /* current dtype of what feeds it; NONE: an output, or nothing */
  bool first;         /* input 0 */
} tl_judged_tensor;

/* Narrows the columns by one tensor; *rule says by which rule. */
tl_precision_match tl_precision_judge(tl_judged_op *op, const tl_judged_tensor *t, tl_columns *s,
                                      tl_precision_rule *rule);

/* The dtypes that a tensor of this original dtype may have under the mode (engine feasibility). */
uint64_t tl_precision_reachable(const tl_judged_op *op, tl_dtype original);

#endif
