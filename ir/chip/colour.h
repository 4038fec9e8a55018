/* SPDX-License-Identifier: Apache-2.0 */
/* Colour of an op type: what mixed precision may do with it. */
#ifndef TL_IR_CHIP_COLOUR_H
#define TL_IR_CHIP_COLOUR_H

typedef enum tl_op_colour {
  TL_COLOUR_GRAY,  /* follows its producer (no precision_reduce.flag) */
  TL_COLOUR_WHITE, /* gets the low precision type (true) */
  TL_COLOUR_BLACK, /* keeps its type (false) */
  TL_N_COLOURS
} tl_op_colour;

/* "white", "black", "gray". */
const char *tl_op_colour_name(tl_op_colour colour);

#endif
