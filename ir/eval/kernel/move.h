/* SPDX-License-Identifier: Apache-2.0 */
/* Moves elements without looking at them, for kernels that rearrange tensors. Whatever the dtype,
 * an element is a unit of 1, 2, 4, 8 or 16 bytes. Here are the strided move between two boxes and
 * checked indices; nothing here computes.
 *
 * A string is a unit: its view is copied, its bytes are shared. Elements below a byte are unpacked
 * to one byte each in scratch memory and packed again at the end, so that no kernel sees half a
 * byte. */
#ifndef TL_IR_EVAL_KERNEL_MOVE_H
#define TL_IR_EVAL_KERNEL_MOVE_H

#include "ir/eval/kernel/kernel.h"

/* The elements of an operand as units. */
typedef struct tl_units {
  const char *data;
  size_t size; /* bytes of one */
} tl_units;

/* A result while its units are written. */
typedef struct tl_unit_result {
  tl_host *t;
  char *data;
  size_t size;
} tl_unit_result;

/* Gives the elements of operand i, which must be a tensor. Types below a byte are unpacked into
 * scratch, all others are read in place. */
tl_status tl_eval_units(tl_eval *ctx, uint32_t i, tl_units *out) TL_NODISCARD;
/* As tl_eval_units, for any tensor. */
tl_status tl_eval_units_of(tl_eval *ctx, const tl_host *t, tl_units *out) TL_NODISCARD;
/* Makes result i. Call tl_eval_units_done once its units are written. */
tl_status tl_eval_units_result(tl_eval *ctx, uint32_t i, tl_dtype dtype, int rank,
                               const int64_t *dims, tl_unit_result *out) TL_NODISCARD;
/* Packs the units of a type below a byte into the result; does nothing for other types. */
void tl_eval_units_done(const tl_unit_result *r);
/* Writes one unit to the elements [first, first + n). */
void tl_eval_units_fill(const tl_eval *ctx, const tl_unit_result *r, uint64_t first, uint64_t n,
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
  size_t size; /* 1, 2, 4, 8 or 16 */
  int rank;
  bool empty; /* some dim was 0 */
  tl_move_dim dim[TL_MOVE_RANK];
} tl_move;

/* Starts a move of single units of `size` bytes from src to dst. */
void tl_move_init(tl_move *v, char *dst, const char *src, size_t size);
/* Adds a dim inside those added so far. n: its size, at least 0. dst, src: bytes from one element
 * to the next on either side. */
void tl_move_add(tl_move *v, int64_t n, int64_t dst, int64_t src);
/* Moves all elements, on the pool when there are many. Destination elements must not overlap. v is
 * used up. */
void tl_move_run(const tl_eval *ctx, tl_move *v);

/* Returns a unit that is zero, false or the empty string; static memory. */
const char *tl_eval_zero_unit(tl_dtype dtype);
/* Writes zeros, false or empty strings to all elements. */
void tl_eval_units_clear(const tl_eval *ctx, const tl_unit_result *r);

/* Gives the bytes from one element to the next along each dim of a tensor that has elements. */
void tl_eval_strides(const tl_host *t, size_t size, int64_t *strides);

/* A box of elements inside a tensor: along each dim n of them, from `start`, `step` apart. */
typedef struct tl_box {
  int64_t start[TL_MAX_RANK];
  int64_t n[TL_MAX_RANK];
  int64_t step[TL_MAX_RANK];
} tl_box;

/* Makes the box that holds all of t. */
void tl_box_whole(tl_box *b, const tl_host *t);
/* Makes result i from the elements of operand 0 in the box; a view when that is all of it. from:
 * the units of operand 0. The box must lie inside. */
tl_status tl_eval_take_box(tl_eval *ctx, uint32_t i, const tl_units *from,
                           const tl_box *b) TL_NODISCARD;
/* Writes dense units of the box's shape to the places of the box in the result. */
void tl_eval_put_box(const tl_eval *ctx, const tl_unit_result *to, const char *from,
                     const tl_box *b);

/* Reads the integers of operand i as indices into a dim of size n. A negative index counts from the
 * end. *out: one per element, in [0, n), in scratch. TL_INVALID_MODEL for an index outside [-n,
 * n). */
tl_status tl_eval_indices(tl_eval *ctx, uint32_t i, int64_t n, const int64_t **out) TL_NODISCARD;

typedef struct tl_places {
  const int64_t *at; /* [n] in elements, in scratch */
  uint64_t n;
} tl_places;

/* Resolves the index tuples of operand i, as GatherND and ScatterND have them: the last dim of the
 * operand is a tuple, which names a slice of a tensor of the given shape. The first `batch` dims
 * are shared by both. *out: per tuple the first element of its slice. Checks ranks and every index.
 * TL_INVALID_MODEL. */
tl_status tl_eval_tuples(tl_eval *ctx, uint32_t i, int rank, const int64_t *dims, int64_t batch,
                         tl_places *out) TL_NODISCARD;

/* A tensor seen as outer x axis x inner; the products fit, since the tensor exists. */
typedef struct tl_around {
  uint64_t outer;
  uint64_t axis;
  uint64_t inner;
} tl_around;

/* Returns the split of t at an axis. */
tl_around tl_eval_around(const tl_host *t, uint32_t axis);

/* Resolves the axes of a list and sets seen[axis] to 1 for each, 0 for the others. seen: [rank].
 * TL_INVALID_MODEL when an axis is outside or named twice. */
tl_status tl_eval_mark_axes(tl_eval *ctx, tl_int_list axes, int rank, uint8_t *seen) TL_NODISCARD;

#endif
