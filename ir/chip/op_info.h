/* SPDX-License-Identifier: Apache-2.0 */
/* Op information: what the operator library of a chip says of each NPU op, namely the dtypes its
 * operands and results may have together, its colour under mixed precision, and its buffer fusion
 * kind. One built-in table a chip family (ir/chip/op_info/, made by scripts/gen_op_info.py); files
 * of a user's own CANN go over it. Tables are read-only once made. */
#ifndef TL_IR_CHIP_OP_INFO_H
#define TL_IR_CHIP_OP_INFO_H

#include "ir/chip/colour.h"
#include "ir/chip/soc.h"
#include "ir/dtype.h"

typedef enum tl_slot_kind { TL_SLOT_REQUIRED, TL_SLOT_OPTIONAL, TL_SLOT_DYNAMIC } tl_slot_kind;

/* Where the columns of a row come from. */
typedef enum tl_op_info_source {
  TL_INFO_LIBRARY,   /* a published operator library */
  TL_INFO_DOCUMENTS, /* published tables; the library leaves the op to its code */
  TL_INFO_PROTOTYPE, /* float types of the prototype; the library leaves the op to its code */
  TL_INFO_INFERRED,  /* from the row of a newer chip */
  TL_INFO_USER       /* a file given by --op-info */
} tl_op_info_source;

enum {
  TL_INFO_DYNAMIC_SHAPE = 1 << 0, /* takes unknown shapes */
  TL_INFO_HEAVY = 1 << 1,         /* decides the layout of its neighbours */
  TL_INFO_NO_KERNEL = 1 << 2      /* a view or a marker: its library entry has no kernel file */
};

/* Offsets below count from the start of the table's arrays, so that built-in tables need no
 * relocation when the program starts. */
typedef struct tl_op_info_slot {
  uint32_t name;    /* in text */
  uint32_t columns; /* in dtypes: [row->n_columns] of tl_dtype */
  uint8_t kind;     /* tl_slot_kind */
} tl_op_info_slot;

typedef struct tl_op_info_attr {
  uint32_t name;     /* in text */
  uint32_t kind;     /* in text: i f b s is fs bs ss iss, as in the op tables */
  uint32_t fallback; /* in text: the default as the library writes it, "" when there is none */
  bool required;
} tl_op_info_attr;

typedef struct tl_op_info_row {
  uint32_t op;      /* in text: the NPU type */
  uint32_t file;    /* in text: part of the library, e.g. "legacy", or the path of a user's file */
  uint32_t pattern; /* in text: op.pattern, e.g. "broadcast"; "" when not said */
  uint32_t kernel;  /* in text: kernel pattern for buffer fusion, e.g. "ElemWise"; "" likewise */
  uint32_t slots;   /* first slot: n_inputs, then n_outputs */
  uint32_t attrs;   /* first attribute */
  uint16_t n_columns; /* 0: the op keeps the dtypes it has */
  uint16_t n_attrs;
  uint8_t n_inputs;
  uint8_t n_outputs;
  uint8_t colour; /* tl_op_colour */
  uint8_t source; /* tl_op_info_source */
  uint8_t flags;  /* TL_INFO_ bits */
} tl_op_info_row;

typedef struct tl_op_info_table {
  const char *name;           /* "ascend910b", or what the user gave */
  const tl_op_info_row *rows; /* ascending by op, bytewise; no op twice */
  const tl_op_info_slot *slots;
  const tl_op_info_attr *attrs;
  const uint8_t *dtypes;
  const char *text;
  uint32_t n_rows;
} tl_op_info_table;

/* Tables over each other. Owned, as its tables are, by whoever filled it. */
typedef struct tl_op_info_set {
  const tl_op_info_table *const *tables; /* a later one replaces rows of those before */
  uint32_t n_tables;
} tl_op_info_set;

/* A row with its table; row is NULL when there is none. Valid as long as the table. */
typedef struct tl_op_info {
  const tl_op_info_table *table;
  const tl_op_info_row *row;
} tl_op_info;

/* The built-in tables of a chip family. Never NULL. */
const tl_op_info_set *tl_op_info_builtin(tl_soc_family family);

/* Row of an NPU type ("Conv2D"), by binary search; ask once a type and keep the answer. */
tl_op_info tl_op_info_find(const tl_op_info_set *set, tl_sv op);

static inline const char *tl_op_info_text(tl_op_info i, uint32_t at) { return i.table->text + at; }
/* Slot `k` of the inputs (k < n_inputs) or, output set, of the outputs. */
static inline const tl_op_info_slot *tl_op_info_slot_at(tl_op_info i, bool output, uint32_t k) {
  return &i.table->slots[i.row->slots + (output ? i.row->n_inputs : 0U) + k];
}
/* The dtypes of a slot, [n_columns]. */
static inline const uint8_t *tl_op_info_columns(tl_op_info i, const tl_op_info_slot *slot) {
  return &i.table->dtypes[slot->columns];
}
/* Slot of operand (or result) `index` of a node in NPU form, whose ports are numbered in prototype
 * order: the slot with that port's name, NULL when the row has none. */
const tl_op_info_slot *tl_op_info_slot_named(tl_op_info i, bool output, tl_sv name);

/* A clause for people: where the columns of a row come from. */
const char *tl_op_info_source_text(tl_op_info_source source);

#endif
