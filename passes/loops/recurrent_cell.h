/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one step of RNN, GRU or LSTM in nodes. Letters: B batch, H hidden size, G gates. */
#ifndef TL_PASSES_LOOPS_RECURRENT_CELL_H
#define TL_PASSES_LOOPS_RECURRENT_CELL_H

#include "passes/engine/formula.h"

/* What an activation function needs to be made. */
typedef struct tl_cell_function {
  uint8_t row; /* of the table in recurrent_cell.c */
  float alpha;
  float beta;
} tl_cell_function;

/* A recurrent cell: its functions, flags and weights. */
typedef struct tl_cell {
  tl_ruleset *formulas; /* of tl_pass_formulas, for tl_cell_make */
  uint32_t gates;       /* 1 RNN, 3 GRU, 4 LSTM */
  int64_t hidden;
  tl_dtype dtype;
  tl_cell_function f[3]; /* of gates, of candidates, of what leaves the cell */
  float clip;            /* inputs of functions are limited to [-clip, clip]; 0: not */
  bool coupled;          /* LSTM: the forget gate is 1 - input gate */
  bool reset_after;      /* GRU: the reset gate scales the product, not the state */
  tl_value_id weight;    /* [H, G*H]; GRU: [H, 2H], of the gates */
  tl_value_id candidate; /* GRU: [H, H] */
  tl_value_id bias;      /* GRU with reset_after: [H], added before the reset; or none */
  tl_value_id peephole;  /* LSTM: [3H] for the input, output and forget gate; or none */
} tl_cell;

/* Returns the number of activation functions of a cell. */
static inline uint32_t tl_cell_n_functions(uint32_t gates) {
  return gates == 1 ? 1 : gates == 3 ? 2 : 3;
}

/* Reads functions and flags of a direction from the node's attributes; out->gates is set before.
 * Returns false if a function is unknown or lacks a parameter without default. */
bool tl_cell_read(const tl_module *m, tl_node_id n, uint32_t direction, tl_cell *out);

/* Returns true if the functions of all directions are the defaults of the op. */
bool tl_cell_is_default(const tl_module *m, tl_node_id n, uint32_t gates, uint32_t directions);

/* Makes the nodes of one step and returns the next h. z: [B, G*H], biases and the product with the
 * input; h and (LSTM) *c: [B, H]; *c is replaced, too. Failures are kept by the maker. */
tl_value_id tl_cell_make(tl_maker *k, const tl_cell *cell, tl_value_id z, tl_value_id h,
                         tl_value_id *c);

#endif
