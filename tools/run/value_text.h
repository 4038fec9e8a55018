/* SPDX-License-Identifier: Apache-2.0 */
/* Writes text about values for people: types, and numbers in columns. */
#ifndef TL_TOOLS_RUN_VALUE_TEXT_H
#define TL_TOOLS_RUN_VALUE_TEXT_H

#include "ir/host.h"
#include "support/vec.h"

/* Adds "f32[1,3]", "sequence of 2", "nothing". */
void tl_add_type(tl_buf *out, const tl_host *v);
/* Adds a number with four significant digits ("0.01234", "1.235e-07", "nan"), independent of the
 * locale. */
void tl_add_short(tl_buf *out, double v);

enum { TL_TEXT_WIDTH = 100 }; /* of lines for people */

/* Columns of text that line up. Cells are written into `text` one after the other, each ended by
 * tl_table_cell, row by row. Zero-initialise it. */
typedef struct tl_table {
  tl_buf text;
  tl_u32_vec ends; /* of the cells */
  uint32_t columns;
} tl_table;

/* Ends the cell that was written into t->text. */
void tl_table_cell(tl_table *t);
/* Adds a cell of plain text. */
void tl_table_add(tl_table *t, const char *text);
/* Adds the rows, columns two blanks apart, and releases the table. Rows have at most TL_TEXT_WIDTH
 * columns of text: long names in the first columns lose their middle. */
void tl_table_print(tl_buf *out, tl_table *t);

#endif
