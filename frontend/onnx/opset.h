/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and functions that lift nodes of older opsets to the canonical opset. For files of this
 * room. A tl_lift_ function changes the node l->n in place, or inserts nodes before it; the node's
 * results keep their meaning. All return TL_NO_MEMORY, or report TL_INVALID_MODEL or
 * TL_UNSUPPORTED. */
#ifndef TL_FRONTEND_ONNX_OPSET_H
#define TL_FRONTEND_ONNX_OPSET_H

#include "frontend/onnx/reader.h"
#include "ir/graph.h"
#include "ir/ops_gen.h"

/* One node being lifted. New nodes go before it, so that it keeps its results. */
typedef struct tl_lifting {
  const tl_onnx_reader *r;
  tl_module *m;
  tl_node_id n;
  int32_t version; /* of the opset the node was written in */
} tl_lifting;

typedef tl_status (*tl_lift_fn)(const tl_lifting *l);

/* What a row does. */
typedef enum tl_lift_action {
  TL_LIFT_DROP,      /* remove attribute `attr` */
  TL_LIFT_INT,       /* make the old default of an int attribute explicit: value */
  TL_LIFT_FLOAT,     /* the same of a float attribute: real */
  TL_LIFT_STRING,    /* the same of a string attribute: value is a symbol */
  TL_LIFT_ATTR_NAME, /* rename attribute `attr`: value is a symbol */
  TL_LIFT_OPERAND,   /* attribute `attr` becomes a constant operand at index value */
  TL_LIFT_RENAME,    /* the op is now called otherwise: value is an op */
  TL_LIFT_CALL       /* call fn */
} tl_lift_action;

/* Value of `below` for a row that applies in every version. */
enum { TL_LIFT_ALWAYS = 255 };

/* One change: applies to nodes of `op` from opsets below `below`. */
typedef struct tl_lift_row {
  uint16_t op;
  uint8_t below;
  uint8_t action; /* tl_lift_action */
  uint16_t attr;
  bool typed; /* fn looks at operand types, which must be inferred before */
  int32_t value;
  float real;
  tl_lift_fn fn;
} tl_lift_row;

extern const tl_lift_row tl_lift_rows[];
extern const uint32_t tl_n_lift_rows;

/* ---- opset_tools.c: building blocks ---------------------------------------------------------- */

/* Reports an error at the lifted node and returns `status`. */
tl_status tl_lift_fail(const tl_lifting *l, tl_status status, const char *fmt, ...) TL_PRINTF(3, 4);
/* Returns the rank of operand i, or TL_RANK_UNKNOWN. *dims is valid until a type is interned. */
int tl_lift_rank(const tl_lifting *l, uint32_t i, const tl_dim **dims);
/* Returns the element type of operand i, TL_DTYPE_NONE if it is unknown. */
tl_dtype tl_lift_dtype(const tl_lifting *l, uint32_t i);
/* Return the attribute as the model gives it, else `fallback`. They ignore the op table's defaults,
 * which are those of the newest version. An attribute of another kind counts as absent here; the
 * check of the node refuses it later. */
int64_t tl_lift_int(const tl_lifting *l, tl_symbol name, int64_t fallback);
float tl_lift_float(const tl_lifting *l, tl_symbol name, float fallback);
/* Reads the elements of a constant integer operand into out, [room]; false if the operand is not
 * constant or longer than `room`. */
bool tl_lift_ints(const tl_lifting *l, uint32_t i, int64_t *out, uint32_t room, uint32_t *n);
/* Add a constant to the node's graph. rank: 0 or 1. what: part of its name. *out: the value. */
tl_status tl_lift_i64s(const tl_lifting *l, const int64_t *v, uint32_t n, int rank,
                       const char *what, tl_value_id *out) TL_NODISCARD;
tl_status tl_lift_f32s(const tl_lifting *l, const float *v, uint32_t n, int rank, const char *what,
                       tl_value_id *out) TL_NODISCARD;
tl_status tl_lift_bool(const tl_lifting *l, bool v, const char *what,
                       tl_value_id *out) TL_NODISCARD;
/* Adds a scalar constant of the element type of operand 0. */
tl_status tl_lift_scalar_like(const tl_lifting *l, float v, const char *what,
                              tl_value_id *out) TL_NODISCARD;
/* A node to insert. */
typedef struct tl_lift_node {
  tl_op_id op;
  const tl_value_id *operands;
  uint32_t n;
  const tl_attr *attr; /* NULL: none */
  const char *what;    /* part of the result's name */
} tl_lift_node;

/* Inserts a node with one result before the lifted one. *out: the result. */
tl_status tl_lift_insert(const tl_lifting *l, tl_lift_node node, tl_value_id *out) TL_NODISCARD;
/* Replaces operand i; pads a shorter list of operands with absent ones. */
tl_status tl_lift_set_operand(const tl_lifting *l, uint32_t i, tl_value_id v) TL_NODISCARD;
/* Turns the node into another op, with the given operands and no attributes. */
tl_status tl_lift_become(const tl_lifting *l, tl_op_id op, const tl_value_id *operands,
                         uint32_t n) TL_NODISCARD;
/* Set an attribute of the lifted node. */
static inline tl_status tl_lift_set_int(const tl_lifting *l, tl_symbol name, int64_t v) {
  return tl_node_set_attr(l->m, l->n, tl_attr_int(name, v));
}
static inline tl_status tl_lift_set_string(const tl_lifting *l, tl_symbol name, tl_symbol v) {
  return tl_node_set_attr(l->m, l->n, tl_attr_string(name, v));
}

/* ---- opset_ops.c, opset_nn.c: functions of rows; the comment names what has changed ---------- */

tl_status tl_lift_broadcast(const tl_lifting *l);    /* axis and broadcast of binary ops */
tl_status tl_lift_prelu_slope(const tl_lifting *l);  /* slope along the channel axis */
tl_status tl_lift_softmax(const tl_lifting *l);      /* coercion to 2-D */
tl_status tl_lift_cast_name(const tl_lifting *l);    /* `to` as a name */
tl_status tl_lift_clip(const tl_lifting *l);         /* min and max to operands */
tl_status tl_lift_pad_value(const tl_lifting *l);    /* value to an operand */
tl_status tl_lift_split_count(const tl_lifting *l);  /* num_outputs */
tl_status tl_lift_tile(const tl_lifting *l);         /* tiles and axis to repeats */
tl_status tl_lift_top_k(const tl_lifting *l);        /* k to an operand */
tl_status tl_lift_dft_axis(const tl_lifting *l);     /* axis to an operand */
tl_status tl_lift_float_p(const tl_lifting *l);      /* p was a float */
tl_status tl_lift_batch_norm(const tl_lifting *l);   /* training mode from the results */
tl_status tl_lift_spatial(const tl_lifting *l);      /* spatial = 0 */
tl_status tl_lift_dropout(const tl_lifting *l);      /* ratio, is_test, mask type */
tl_status tl_lift_layer_norm(const tl_lifting *l);   /* x as wide as the scale */
tl_status tl_lift_mvn(const tl_lifting *l);          /* across_channels to axes */
tl_status tl_lift_upsample(const tl_lifting *l);     /* to Resize */
tl_status tl_lift_resize_10(const tl_lifting *l);    /* operands and coordinate rules */
tl_status tl_lift_resize_empty(const tl_lifting *l); /* empty roi, scales, sizes */
tl_status tl_lift_grid_mode(const tl_lifting *l);    /* bilinear, bicubic */
tl_status tl_lift_group_norm(const tl_lifting *l);   /* scale and bias per channel */

/* opset_scan.c */
tl_status tl_lift_scan_8(const tl_lifting *l); /* batch axis */

#endif
