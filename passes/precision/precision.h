/* SPDX-License-Identifier: Apache-2.0 */
/* What mixed precision decides (docs/precision.md): for every tensor at every node the dtype it is
 * to have, and why. Deciding changes nothing; casts.c then makes it so, tools explain
 * it, tests compare it with a second model.
 *
 * Two sides of an edge: a value has the dtype that its node gives (`values`), an operand the one
 * that its node takes (`uses`). Where they differ there will be a cast. */
#ifndef TL_PASSES_PRECISION_PRECISION_H
#define TL_PASSES_PRECISION_PRECISION_H

#include "ir/chip/op_info.h"
#include "ir/module.h"
#include "ir/options/options.h"
#include "passes/precision/intervals.h"
#include "passes/precision/rules.h"

/* A slot of an op's row and the operands of the node in the model that go there. */
typedef struct tl_precision_port {
  const char *name;
  const uint8_t *columns; /* dtype by column */
  uint64_t dtypes;        /* set of them */
  uint32_t first;         /* operand, or result; UINT32_MAX: none, the NPU gets an attribute */
  bool many;              /* this one and all behind it */
  bool index;             /* takes i32 where the model has i64; lowering casts */
} tl_precision_port;

/* What is known of a judged type: the same for all nodes of an op and candidate. */
typedef struct tl_precision_form {
  tl_sv type; /* NPU type that is judged, "" when none is */
  uint32_t n_columns; /* 0: nothing is known, dtypes stay */
  const tl_precision_port *inputs;
  const tl_precision_port *outputs;
  uint32_t n_inputs;
  uint32_t n_outputs;
  uint8_t colour;     /* tl_op_colour after edits */
  uint8_t from_table; /* before */
  bool part; /* the op is still to be expanded; `type` is the main one of what it becomes */
  bool cube;
  bool view;
  bool sensitive;
  bool half_in_float_out;
  bool splits;        /* its parameters may have another float than its data, in ONNX too */
  bool fixed_results; /* an attribute of the node says their dtype */
  uint32_t promotes;  /* bit set of input slots that meet at one dtype, UINT32_MAX: all */
  int32_t keep;       /* entry for the type in config->keep, -1: none */
  int32_t custom;     /* likewise */
} tl_precision_form;

enum {
  TL_CHOICE_CUBE = 1 << 0,
  TL_CHOICE_FALLBACK = 1 << 1, /* the column that the rules lead to cannot be had */
  TL_CHOICE_HOST = 1 << 2,     /* no engine; keeps its dtypes */
  TL_CHOICE_WARNED = 1 << 3,   /* a white tensor without a low dtype */
  TL_CHOICE_CHANGED = 1 << 4   /* some tensor has another dtype than in the model */
};

/* One node. */
typedef struct tl_precision_choice {
  const tl_precision_form *form; /* NULL: a node with bodies, or RETURN */
  int32_t column;                /* -1: keeps its dtypes */
  int32_t entry;                 /* of keep, custom, to_float or listed that applies, -1: none */
  uint8_t mode;                  /* tl_precision_mode that was applied */
  uint8_t colour;                /* tl_op_colour that was applied */
  uint8_t flags;                 /* TL_CHOICE_* */
  const char *why; /* what a policy or a list says of it: a clause in the arena, else NULL */
} tl_precision_choice;

/* One tensor at one node. */
typedef struct tl_precision_slot {
  uint8_t original; /* tl_dtype in the model; NONE: unknown or no tensor */
  uint8_t chosen;
  uint8_t rule;     /* tl_precision_rule */
  uint8_t match;    /* tl_precision_match */
  tl_value_id from; /* FOLLOWS, VIEW: the value whose dtype it goes by, else TL_NO_VALUE */
} tl_precision_slot;

typedef struct tl_precision {
  const tl_precision_config *config;
  tl_precision_choice *nodes; /* by node id, of the module when it was decided */
  tl_precision_slot *uses;    /* by use id: the operand */
  tl_precision_slot *values;  /* by value id: the result, input or constant */
  const tl_interval *ranges;  /* by value id: where its numbers lie; NULL: no policy of ranges */
  uint32_t n_nodes;
  uint32_t n_uses;
  uint32_t n_values;
} tl_precision;

/* Decides the whole module, whose nodes select has visited. Memory is the arena's. Errors (P0201
 * to P0204) are reported for every op that has one, as far as there are not too many. */
tl_status tl_precision_decide(tl_module *m, const tl_options *options, tl_arena *arena,
                              tl_precision *out) TL_NODISCARD;

/* Options with the precision that counts. */
typedef struct tl_precision_own {
  tl_options options; /* given ones, with `config` */
  tl_precision_config config;
} tl_precision_own;

/* What is decided by: the mode that was asked for, or, where none was and a chip is to run the
 * result, what that chip has (tl_precision_config.by_chip). False when all dtypes stay as they
 * are. `own` must not move. */
bool tl_precision_settle(const tl_options *given, bool off_chip, tl_precision_own *own);

/* ---- between its files ----------------------------------------------------------------------- */

typedef struct tl_precision_forms tl_precision_forms;

/* Makes forms when they are first asked for. */
tl_precision_forms *tl_precision_forms_create(tl_module *m, const tl_options *options,
                                              tl_arena *arena);
/* The form of a node; *out is never NULL on success. */
tl_status tl_precision_form_of(tl_precision_forms *f, tl_node_id n,
                               const tl_precision_form **out) TL_NODISCARD;
/* Columns of the largest row met so far. */
uint32_t tl_precision_forms_widest(const tl_precision_forms *f);
/* True when an entry means the judged type, or as onnx::Type the op of the model. */
bool tl_precision_names_type(tl_sv entry, tl_sv type, const tl_op *op);
/* Warns about types of the mix list that no table knows, or that fit no node because its nodes go
 * by another name; others that fit none are added to *unused, the first of them by name. */
struct tl_precision_types;
void tl_precision_warn_mix(const tl_precision_forms *f, const struct tl_precision_types *t,
                           tl_buf *unused, uint32_t *n_unused);

#endif
