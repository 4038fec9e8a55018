/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes whose results must be exact rather than in range: what computes angles, logarithms,
 * divisors, indices and places. Found by what takes a result, not by its numbers. */
#ifndef TL_PASSES_PRECISION_RANGE_WANTS_H
#define TL_PASSES_PRECISION_RANGE_WANTS_H

#include "ir/module.h"
#include "passes/precision/range_rows.h"

typedef enum tl_range_want {
  TL_WANT_NOTHING,
  TL_WANT_ANGLE,
  TL_WANT_LOG,
  TL_WANT_POWER, /* what is squared before its logarithm is taken */
  TL_WANT_DIVISOR,
  TL_WANT_INDEX,
  TL_WANT_PLACE,
  TL_WANT_DIFFERENCE, /* of numbers that are near each other, to be squared or divided */
  TL_WANT_PART,       /* one of several, with squares, that nearly cancel */
  TL_WANT_TERM,       /* a product that is added up with others */
  TL_WANT_SCALED,     /* sums of products that are made small afterwards */
  TL_WANT_MASKS       /* several masks, added up */
} tl_range_want;

/* What a value was computed from. */
enum {
  TL_FROM_INTEGERS = 1 << 0, /* integers that may be large, and constants */
  TL_FROM_FLAGS = 1 << 1,    /* bools and bytes, as integers */
  TL_FROM_SHAPES = 1 << 2,   /* sizes of tensors, and constants */
  TL_FROM_INPUTS = 1 << 3,   /* inputs of the model, integers, constants; no product in between */
  TL_FROM_PLACES = 1 << 4,   /* integers as above, and numbers that were added to them */
  TL_FROM_SQUARES = 1 << 5,  /* of numbers, as they are or added up */
  TL_FROM_MASKS = 1 << 6     /* a constant of -1e4 or less is in it */
};

typedef struct tl_range_wants {
  uint8_t *want;   /* by node id: tl_range_want */
  tl_node_id *by;  /* by node id: who wants it */
  bool *sums;      /* by node id: its result is part of a sum that may be large */
  uint8_t *from;   /* by value id: TL_FROM_* */
} tl_range_wants;

/* low: the dtype that integers must fit into to be exact. Memory is the arena's; TL_NO_MEMORY is
 * not reported. O(nodes + edges). */
tl_status tl_range_wants_find(const tl_module *m, tl_dtype low, tl_arena *arena,
                              tl_range_wants *out) TL_NODISCARD;
/* Why the node is to be exact, as a clause; nothing is added when it need not be. */
void tl_range_wants_say(const tl_module *m, const tl_range_wants *w, tl_node_id n, tl_buf *out);

#endif
