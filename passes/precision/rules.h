/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of each precision mode for one tensor of one op: which dtype it looks for, and how. A rule
 * narrows the columns that are left. There is no graph here: the walk is decide.c. */
#ifndef TL_PASSES_PRECISION_RULES_H
#define TL_PASSES_PRECISION_RULES_H

#include "passes/precision/match.h"

/* The reason for the dtype of a tensor. tl_precision_rule_name has the names. */
typedef enum tl_precision_rule {
  TL_BY_NO_ROW,  /* no table knows the op */
  TL_BY_UNKNOWN, /* another tensor of the op has no known dtype */
  TL_BY_FIXED,   /* an integer, bool, f64 ...: no mode changes it */
  TL_BY_MODE,    /* the mode's own rule */
  TL_BY_CUBE,    /* the mode prefers low inputs for matrix ops */
  TL_BY_WHITE,
  TL_BY_BLACK,
  TL_BY_GRAY,        /* gray op, no producer: as in the model */
  TL_BY_FOLLOWS,     /* gray op: the dtype of the producer */
  TL_BY_VIEW,        /* an op without a kernel follows its producer, in every mode */
  TL_BY_KEPT,        /* keep_dtype */
  TL_BY_SENSITIVE,   /* casts and complex numbers */
  TL_BY_FORCED,      /* another tensor of the op had to be reduced */
  TL_BY_BLOCKED,     /* --op-block-list, --node-block-list */
  TL_BY_INCLUDED,    /* --op-include-list, --node-include-list */
  TL_BY_CUSTOM,      /* customize_dtypes */
  TL_BY_PROMOTED,    /* operands of different dtypes are promoted to the widest */
  TL_BY_POLICY,      /* --precision-policy keeps it wide */
  TL_BY_EPSILON,     /* a gray op would lose its epsilon */
  TL_BY_ANGLE,       /* an angle, or what computes it from positions */
  TL_BY_INHERITED,   /* a mark makes the node follow its producer */
  TL_BY_HOST,        /* no kernel on the AI cores: keeps its dtypes */
  TL_BY_BODY,        /* crosses the border of a loop's body */
  TL_BY_BRANCHES,    /* the dtype that all branches of an If give */
  TL_BY_SIGNATURE,   /* input or output of the model */
  TL_BY_INPUT_FP16,  /* --input-fp16-nodes */
  TL_BY_OUTPUT_TYPE, /* --output-type */
  TL_BY_IO_TYPES,    /* --keep-io-types */
  TL_N_PRECISION_RULES
} tl_precision_rule;

/* How well the dtype found for a tensor fits the rule. */
typedef enum tl_precision_match {
  TL_MATCH_NONE, /* no column fits: the columns stay, and another dtype is used */
  TL_MATCH_EXACT,
  TL_MATCH_RAISED,  /* from a narrower dtype */
  TL_MATCH_REDUCED, /* from a wider one */
  TL_MATCH_SECOND   /* a white tensor without a low dtype: the next best, with a warning */
} tl_precision_match;

/* Returns the short name of a rule, such as "white", for JSON and tests. */
const char *tl_precision_rule_name(tl_precision_rule rule);
/* Returns a sentence that explains a rule to a user. */
const char *tl_precision_rule_sentence(tl_precision_rule rule);

/* State of one op while its tensors are judged. */
typedef struct tl_judged_op {
  tl_precision_mode mode;
  tl_op_colour colour;
  bool cube;      /* a matrix op */
  bool view;      /* it has no kernel of its own */
  bool kept;      /* keep_dtype, a block list or a mark */
  uint8_t held;   /* if kept: the tl_precision_rule that keeps it, POLICY (for --const-policy too),
                   * EPSILON or ANGLE; 0: a list or mark */
  bool sensitive; /* its dtypes are part of its meaning */
  bool inherits;  /* a mark makes it follow its producer */
  bool strict;    /* --strict-mix-low */
  bool half_in_float_out; /* some column has f16 in input 0 and f32 in output 0 */
  bool forced16;          /* a tensor was forced to f16; set while judging */
} tl_judged_op;

/* One tensor of the op. */
typedef struct tl_judged_tensor {
  const uint8_t *col; /* the slot's dtype by column */
  tl_dtype original;  /* dtype in the model */
  tl_dtype producer;  /* current dtype of its producer; NONE: an output, or no producer */
  bool first;         /* input 0 */
} tl_judged_tensor;

/* Narrows the columns by one tensor; *rule is the rule that applied. If nothing fits, the columns
 * are left as they were, but for those of a forbidden dtype. */
tl_precision_match tl_precision_judge(tl_judged_op *op, const tl_judged_tensor *t, tl_columns *s,
                                      tl_precision_rule *rule);

/* Returns the set of dtypes that the mode allows for a tensor with this original dtype. */
uint64_t tl_precision_reachable(const tl_judged_op *op, tl_dtype original);

#endif
