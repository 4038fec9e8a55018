/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of cells: what reductions, scans and normalizations compute with. A cell is 8 bytes: a
 * double for f32 and f64, an int64_t for integers and bool (u64: its bits). Sums of f32 are thus
 * made in double and rounded once. */
#ifndef TL_IR_EVAL_KERNEL_LINES_H
#define TL_IR_EVAL_KERNEL_LINES_H

#include "ir/eval/kernel/kernel.h"

/* True for the dtypes whose cells are doubles. */
static inline bool tl_cells_are_floats(int dtype) {
  return dtype == TL_DTYPE_F32 || dtype == TL_DTYPE_F64;
}

/* Copies elements first, first + stride, ... between a tensor's data and n cells. Stores keep the
 * low bits of integers. dtype: f32, f64, the integers of 8 bits and more, bool. */
void tl_cells_load(int dtype, const void *data, uint64_t first, uint64_t stride, uint64_t n,
                   void *cells);
void tl_cells_store(int dtype, const void *cells, void *data, uint64_t first, uint64_t stride,
                    uint64_t n);
/* Element i of an f32 or f64 tensor. */
double tl_cell_at(const tl_host *t, uint64_t i);
/* Changes int64 cells of a u64 tensor so that signed comparison orders them, and back. */
void tl_cells_flip(int dtype, void *cells, uint64_t n);

/* Sum in a fixed order: four interleaved partial sums, which do not depend on anything but n. */
double tl_cells_sum(const double *c, uint64_t n);
double tl_cells_sum_of_squares(const double *c, uint64_t n, double about);
/* Largest cell, NaN when there is one; n > 0. */
double tl_cells_max(const double *c, uint64_t n);

/* A tensor seen as outer x n x inner: a line is the n elements of one outer and one inner index. */
typedef struct tl_lines {
  uint64_t outer;
  uint64_t n;
  uint64_t inner;
} tl_lines;

/* Lines along dims [axis, end) of t. */
tl_lines tl_lines_of(const tl_host *t, uint32_t axis, uint32_t end);

/* Works on one line in place; line counts outer * inner. `spare` has the cells asked for. */
typedef void (*tl_line_fn)(void *user, uint64_t line, void *cells, uint64_t n, void *spare);

/* Loads each line of `in`, calls fn and stores the cells as the same line of `out` (NULL: fn keeps
 * what it needs). Lines are divided among threads. spare: cells of private memory for fn. */
tl_status tl_eval_lines(tl_eval *x, const tl_host *in, tl_lines g, tl_host *out, uint64_t spare,
                        tl_line_fn fn, void *user) TL_NODISCARD;

/* Place of the first element of a line; the next ones are `inner` elements apart. */
static inline uint64_t tl_line_first(tl_lines g, uint64_t line) {
  return line / g.inner * g.n * g.inner + line % g.inner;
}

/* Makes result 0 with the shape and dtype of operand 0 and runs fn over the lines along `axis`. */
tl_status tl_eval_along(tl_eval *x, int64_t axis, tl_line_fn fn, void *user) TL_NODISCARD;

/* An f32 or f64 operand broadcast to the shape of another tensor. */
typedef struct tl_spread {
  const tl_host *t; /* NULL: absent */
  bool periodic;    /* element i is t[i % t->n] */
  int rank;
  int64_t dims[TL_MAX_RANK];
  int64_t strides[TL_MAX_RANK];
} tl_spread;

/* t may be NULL; an error when it cannot be broadcast to the shape of `over`. */
tl_status tl_spread_open(tl_eval *x, const tl_host *t, const tl_host *over,
                         tl_spread *s) TL_NODISCARD;
/* Elements [first, first + n) of the broadcast tensor. */
void tl_spread_load(const tl_spread *s, uint64_t first, uint64_t n, double *cells);

#endif
