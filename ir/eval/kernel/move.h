/* SPDX-License-Identifier: Apache-2.0 */
/* For kernels that move elements without looking at them: elements as units of 1, 2, 4, 8 or 16
 * bytes whatever the dtype, strided moves between two boxes, checked indices.
 *
 * A string is a unit (its view is copied). Types below a byte are unpacked to one byte an element
 * in scratch memory and packed again at the end, so that no kernel sees half a byte. */
#ifndef TL_IR_EVAL_KERNEL_MOVE_H
#define TL_IR_EVAL_KERNEL_MOVE_H

#include "ir/eval/kernel/kernel.h"

/* Elements of an operand. */
typedef struct tl_units {
  const char *data;
  size_t size; /* bytes of one */
} tl_units;

/* A result being written. */
typedef struct tl_unit_result {
  tl_host *t;
  char *data;
  size_t size;
} tl_unit_result;

/* The elements of operand i, which must be a tensor. Scratch is used for sub-byte types only. */
tl_status tl_eval_units(tl_eval *x, uint32_t i, tl_units *out) TL_NODISCARD;
/* The same of any tensor. */
tl_status tl_eval_units_of(tl_eval *x, const tl_host *t, tl_units *out) TL_NODISCARD;
/* Makes result i; tl_eval_units_done must be called when its elements are written. */
tl_status tl_eval_units_result(tl_eval *x, uint32_t i, tl_dtype dtype, int rank,
                               const int64_t *dims, tl_unit_result *out) TL_NODISCARD;
void tl_eval_units_done(const tl_unit_result *r);
/* Writes one unit to elements [first, first + n). */
void tl_eval_units_fill(const tl_eval *x, const tl_unit_result *r, uint64_t first, uint64_t n,
                        const char *unit);

/* A move of a box of elements from one strided place to another. Dims are added from the outermost
 * to the innermost; those of size 1 vanish and neighbours merge where both sides allow it. */
typedef struct tl_move_dim {
  int64_t n;
  int64_t dst; /* bytes from one element to the next, any sign */
  int64_t src; /* 0 repeats */
} tl_move_dim;

/* Elements fit an address space, so no more dims of 2 and above are possible. */
enum { TL_MOVE_RANK = 64 };

typedef struct tl_move {
  char *dst;
  const char *src;
  size_t size;  /* 1, 2, 4, 8 or 16 */
  int rank;
  bool empty;   /* some dim was 0 */
  tl_move_dim dim[TL_MOVE_RANK];
} tl_move;

void tl_move_init(tl_move *v, char *dst, const char *src, size_t size);
void tl_move_add(tl_move *v, int64_t n, int64_t dst, int64_t src);
/* Destination elements must not overlap. v is used up. */
void tl_move_run(const tl_eval *x, tl_move *v);

/* A unit that is zero, false or the empty string. */
const char *tl_eval_zero_unit(tl_dtype dtype);
/* Writes zeros, false or empty strings to all elements. */
void tl_eval_units_clear(const tl_eval *x, const tl_unit_result *r);

/* Bytes from one element to the next along each dim of a tensor that has elements. */
void tl_eval_strides(const tl_host *t, size_t size, int64_t *strides);

/* A box of elements inside a tensor: along each dim n of them, from `start`, `step` apart. */
typedef struct tl_box {
  int64_t start[TL_MAX_RANK];
  int64_t n[TL_MAX_RANK];
  int64_t step[TL_MAX_RANK];
} tl_box;

/* All of it. */
void tl_box_whole(tl_box *b, const tl_host *t);
/* Result i: the elements of operand 0 in the box. */
tl_status tl_eval_take_box(tl_eval *x, uint32_t i, const tl_units *from, const tl_box *b)
    TL_NODISCARD;
/* Writes packed elements of the box's shape into it. */
void tl_eval_put_box(const tl_eval *x, const tl_unit_result *to, const char *from,
                     const tl_box *b);

/* The integers of operand i as indices into a dim of size n: resolved from the end when negative,
 * checked, in scratch. */
tl_status tl_eval_indices(tl_eval *x, uint32_t i, int64_t n, const int64_t **out) TL_NODISCARD;

/* Places of the slices that index tuples name (the last dim of operand i is a tuple), in elements,
 * in scratch: t is indexed behind `batch` dims that both share. Checks ranks and every index; the
 * number of tuples is *n. */
tl_status tl_eval_tuples(tl_eval *x, uint32_t i, int rank, const int64_t *dims, int64_t batch,
                         const int64_t **places, uint64_t *n) TL_NODISCARD;

/* A tensor seen as outer x axis x inner; the products fit, since the tensor exists. */
typedef struct tl_around {
  uint64_t outer;
  uint64_t axis;
  uint64_t inner;
} tl_around;

tl_around tl_eval_around(const tl_host *t, uint32_t axis);

/* Axes of a list resolved and marked in seen[rank]; an error when one is outside or twice. */
tl_status tl_eval_mark_axes(tl_eval *x, tl_int_list axes, int rank, uint8_t *seen) TL_NODISCARD;

#endif
