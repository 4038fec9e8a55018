/* SPDX-License-Identifier: Apache-2.0 */
/* Finds nodes whose results must be exact rather than in range, by what their users compute. These
 * compute angles, logarithms, divisors, indices and places. Numbers are not looked at, but for
 * constants. */
#ifndef TL_PASSES_PRECISION_RANGE_WANTS_H
#define TL_PASSES_PRECISION_RANGE_WANTS_H

#include "ir/module.h"
#include "passes/precision/range_rows.h"

/* Reasons why a result must be exact. */
typedef enum tl_range_want {
  TL_WANT_NOTHING,
  TL_WANT_ANGLE,
  TL_WANT_LOG,
  TL_WANT_POWER, /* squared before its logarithm is taken */
  TL_WANT_DIVISOR,
  TL_WANT_INDEX,
  TL_WANT_PLACE,
  TL_WANT_DIFFERENCE, /* a difference of close numbers that is squared or divided */
  TL_WANT_PART,       /* one of several terms, squares among them, that nearly cancel */
  TL_WANT_TERM,       /* a product that is summed with others */
  TL_WANT_SCALED,     /* sums of products that are scaled down afterwards */
  TL_WANT_MASKS       /* a sum of masks */
} tl_range_want;

/* What a value was computed from; a set of flags. */
enum {
  TL_FROM_INTEGERS = 1 << 0, /* possibly large integers, and constants */
  TL_FROM_FLAGS = 1 << 1,    /* bools and bytes, as integers */
  TL_FROM_SHAPES = 1 << 2,   /* sizes of tensors, and constants */
  TL_FROM_INPUTS = 1 << 3,   /* inputs of the model, integers, constants; no product in between */
  TL_FROM_PLACES = 1 << 4,   /* integers as above, and numbers added to them */
  TL_FROM_SQUARES = 1 << 5,  /* squares of numbers, or sums of them */
  TL_FROM_MASKS = 1 << 6     /* contains a constant of -1e4 or less */
};

/* Results of the analysis, in the arena. */
typedef struct tl_range_wants {
  uint8_t *want;  /* by node id: tl_range_want */
  tl_node_id *by; /* by node id: the node that needs it */
  bool *sums;     /* by node id: the result is part of a sum that may be large */
  uint8_t *from;  /* by value id: TL_FROM_* */
} tl_range_wants;

/* Fills *out for all nodes and values. low: the dtype in which integers must be exact. The arena
 * holds the memory. TL_NO_MEMORY, not reported. O(nodes + edges). */
tl_status tl_range_wants_find(const tl_module *m, tl_dtype low, tl_arena *arena,
                              tl_range_wants *out) TL_NODISCARD;
/* Appends the reason, as a clause, why the node must be exact; nothing if it need not be. */
void tl_range_wants_say(const tl_module *m, const tl_range_wants *w, tl_node_id n, tl_buf *out);

#endif
