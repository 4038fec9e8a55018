/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over the lines of a tensor, for reductions, scans and normalizations. A line is the
 * elements along one axis; it is handed over as cells. A cell is 8 bytes: a double for f32 and f64,
 * an int64_t for integers and bool (for u64 its bits). Sums of f32 are thus made in double and
 * rounded once. */
#ifndef TL_IR_EVAL_KERNEL_LINES_H
#define TL_IR_EVAL_KERNEL_LINES_H

#include "ir/eval/kernel/kernel.h"

/* Returns true for the dtypes whose cells are doubles. */
static inline bool tl_cells_are_floats(int dtype) {
  return dtype == TL_DTYPE_F32 || dtype == TL_DTYPE_F64;
}

/* Loads n elements first, first + stride, ... of a tensor's data into n cells. dtype: f32, f64,
 * bool or an integer of at least 8 bits. first and stride are in elements. */
void tl_cells_load(int dtype, const void *data, uint64_t first, uint64_t stride, uint64_t n,
                   void *cells);
/* Stores n cells as elements first, first + stride, ...; of an integer the low bits are kept. */
void tl_cells_store(int dtype, const void *cells, void *data, uint64_t first, uint64_t stride,
                    uint64_t n);
/* Returns element i of an f32 or f64 tensor. */
double tl_cell_at(const tl_host *t, uint64_t i);
/* Flips the top bit of u64 cells, so that signed comparison orders them; a second call undoes it.
 * Does nothing for other dtypes. */
void tl_cells_flip(int dtype, void *cells, uint64_t n);

/* Returns the sum of n cells in a fixed order: four interleaved partial sums, which depend on n
 * only and which compilers can vectorise. */
double tl_cells_sum(const double *c, uint64_t n);
/* Returns the sum of (c[i] - about)^2, in the order of tl_cells_sum. */
double tl_cells_sum_of_squares(const double *c, uint64_t n, double about);
/* Returns the largest cell, NaN when a cell is NaN; n > 0. */
double tl_cells_max(const double *c, uint64_t n);

/* A tensor seen as outer x n x inner: a line is the n elements that share an outer and an inner
 * index. */
typedef struct tl_lines {
  uint64_t outer;
  uint64_t n;
  uint64_t inner;
} tl_lines;

/* Returns the lines of t along its dims [axis, end). */
tl_lines tl_lines_of(const tl_host *t, uint32_t axis, uint32_t end);

/* Works on the n cells of one line in place. line: outer index * inner + inner index. spare: the
 * cells of private memory that tl_eval_lines was asked for. */
typedef void (*tl_line_fn)(void *user, uint64_t line, void *cells, uint64_t n, void *spare);

typedef struct tl_line_work {
  tl_line_fn fn;
  void *user;
  uint64_t spare; /* cells of private memory for fn */
} tl_line_work;

/* Loads each line of `in`, calls work.fn and stores the cells as the same line of `out`. With out
 * NULL nothing is stored and fn keeps what it needs. Lines are divided among threads.
 * TL_NO_MEMORY. */
tl_status tl_eval_lines(tl_eval *ctx, const tl_host *in, tl_lines g, tl_host *out,
                        tl_line_work work) TL_NODISCARD;

/* Returns the index of the first element of a line; the next ones are `inner` elements apart. */
static inline uint64_t tl_line_first(tl_lines g, uint64_t line) {
  return line / g.inner * g.n * g.inner + line % g.inner;
}

/* Makes result 0 with the shape and dtype of operand 0 and runs fn over the lines along `axis`,
 * which may be negative. */
tl_status tl_eval_along(tl_eval *ctx, int64_t axis, tl_line_fn fn, void *user) TL_NODISCARD;

/* An f32 or f64 operand broadcast to the shape of another tensor. */
typedef struct tl_spread {
  const tl_host *t; /* NULL: absent */
  bool periodic;    /* element i is t[i % t->n] */
  int rank;
  int64_t dims[TL_MAX_RANK];
  int64_t strides[TL_MAX_RANK];
} tl_spread;

/* Prepares t, which may be NULL, to be read in the shape of `over`. TL_INVALID_MODEL when it cannot
 * be broadcast to that shape. */
tl_status tl_spread_open(tl_eval *ctx, const tl_host *t, const tl_host *over,
                         tl_spread *s) TL_NODISCARD;
/* Loads elements [first, first + n) of the broadcast tensor. */
void tl_spread_load(const tl_spread *s, uint64_t first, uint64_t n, double *cells);

#endif
