/* SPDX-License-Identifier: Apache-2.0 */
/* A decision about dtypes: what every tensor has at every node, and why (docs/precision.md). An
 * edge has two sides: a value has the dtype that its node gives (`values`), an operand the dtype
 * that its node takes (`uses`). Where they differ, a cast will be inserted. */
#ifndef TL_PASSES_PRECISION_DECISION_H
#define TL_PASSES_PRECISION_DECISION_H

#include "ir/chip/op_info.h"
#include "ir/module.h"
#include "ir/options/options.h"
#include "passes/precision/intervals.h"
#include "passes/precision/rules.h"

/* A slot of an op's row in the chip's table, and the operands of the model's node that go there. */
typedef struct tl_precision_port {
  const char *name;
  const uint8_t *columns; /* dtype by column of the row */
  uint64_t dtypes;        /* set of these dtypes */
  uint32_t first;         /* index of the operand or result; UINT32_MAX: none, the NPU op gets an
                           * attribute */
  bool many;              /* also takes all operands behind `first` */
  bool index;             /* takes i32 where the model has i64; lowering inserts the cast */
} tl_precision_port;

/* Facts about a judged NPU type, shared by all nodes of an op and candidate. */
typedef struct tl_precision_form {
  tl_sv type;         /* NPU type that is judged; "" if none is */
  uint32_t n_columns; /* columns of the row; 0: unknown op, dtypes stay */
  const tl_precision_port *inputs;
  const tl_precision_port *outputs;
  uint32_t n_inputs;
  uint32_t n_outputs;
  uint8_t colour;     /* tl_op_colour after the edits of mix lists */
  uint8_t from_table; /* tl_op_colour before them */
  bool part;          /* the op will be expanded; `type` is the main op of the expansion */
  bool cube;
  bool view;
  bool sensitive;
  bool half_in_float_out;
  bool splits;        /* its parameters may have another float dtype than its data, in ONNX too */
  bool fixed_results; /* an attribute or operand of the node fixes the dtype of its results */
  uint32_t promotes;  /* bit set of input slots that are promoted to one dtype; UINT32_MAX: all */
  int32_t keep;       /* index of the type's entry in config->keep; -1: none */
  int32_t custom;     /* the same in config->custom */
} tl_precision_form;

enum {
  TL_CHOICE_CUBE = 1 << 0,
  TL_CHOICE_FALLBACK = 1 << 1, /* the column that the rules prefer is not available */
  TL_CHOICE_HOST = 1 << 2,     /* no AI core kernel; the node keeps its dtypes */
  TL_CHOICE_WARNED = 1 << 3,   /* a white tensor has no low dtype */
  TL_CHOICE_CHANGED = 1 << 4   /* some tensor has another dtype than in the model */
};

/* Decision about one node. */
typedef struct tl_precision_choice {
  const tl_precision_form *form; /* NULL: a node with bodies, or RETURN */
  int32_t column;                /* chosen column; -1: the node keeps its dtypes */
  int32_t entry;                 /* index of the entry of keep, custom, to_float or listed that
                                  * applies; -1: none */
  uint8_t mode;                  /* tl_precision_mode that was applied */
  uint8_t colour;                /* tl_op_colour that was applied */
  uint8_t flags;                 /* TL_CHOICE_* */
  const char *why;               /* reason of a policy or list: a clause in the arena, else NULL */
} tl_precision_choice;

/* Decision about one tensor at one node. */
typedef struct tl_precision_slot {
  uint8_t original; /* tl_dtype in the model; NONE: unknown, or no tensor */
  uint8_t chosen;
  uint8_t rule;     /* tl_precision_rule */
  uint8_t match;    /* tl_precision_match */
  tl_value_id from; /* for FOLLOWS and VIEW: the value that determines the dtype; else
                     * TL_NO_VALUE */
} tl_precision_slot;

/* A decision about a whole module; the arrays are in the arena of tl_precision_decide. */
typedef struct tl_precision {
  const tl_precision_config *config;
  tl_precision_choice *nodes; /* by node id; nodes made after the decision have no entry */
  tl_precision_slot *uses;    /* by use id: operands */
  tl_precision_slot *values;  /* by value id: results, inputs and constants */
  const tl_interval *ranges;  /* by value id: interval of its numbers; NULL: no range policy */
  uint32_t n_nodes;
  uint32_t n_uses;
  uint32_t n_values;
} tl_precision;

#endif
