/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the body of a loop as one step of LSTM or GRU. */
#ifndef TL_PASSES_LOOPS_CELL_READER_H
#define TL_PASSES_LOOPS_CELL_READER_H

#include "ir/module.h"

enum { TL_MOST_BIASES = 4 };

/* A part of a constant: of a matrix of weights, rows [row, row + rows) and as many columns from
 * `col` on as the state has. turned: its columns are dim 0. */
typedef struct tl_cell_part {
  tl_value_id at; /* TL_NO_VALUE: nothing */
  int64_t row;
  int64_t rows;
  int64_t col;
  bool turned;
} tl_cell_part;

/* A sum: the slice of the sequence times weights, the state times weights, and biases. */
typedef struct tl_cell_sum {
  tl_cell_part x;
  tl_cell_part h;
  tl_cell_part bias[TL_MOST_BIASES]; /* of their last dim, from `col` on */
  uint32_t n_biases;
} tl_cell_sum;

/* What is looked at. x: the slice of this step; h, c: states before it, and next_h, next_c: after
 * it. Sums come in ONNX's order of gates. */
typedef struct tl_cell_reader {
  const tl_module *m;
  tl_graph_id body;
  tl_value_id x;
  tl_value_id h;
  tl_value_id c;
  tl_value_id next_h;
  tl_value_id next_c;
  int64_t width;       /* of x */
  int64_t hidden;      /* of h */
  tl_cell_sum gate[4]; /* LSTM: i o f c; GRU: z r h */
  tl_cell_sum inner;   /* GRU that resets after the product: what the reset gate is multiplied by */
  bool reset_after;
  uint32_t depth;
} tl_cell_reader;

/* Returns v without the Identity nodes that made it. */
tl_value_id tl_cell_plain(const tl_module *m, tl_value_id v);

/* Reads next_h and next_c as LSTM, with Sigmoid and Tanh. Fills r->gate. */
bool tl_cell_read_lstm(tl_cell_reader *r);
/* Reads next_h as GRU, with Sigmoid and Tanh. Fills r->gate, r->inner, r->reset_after. */
bool tl_cell_read_gru(tl_cell_reader *r);

#endif
