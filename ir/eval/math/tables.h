/* SPDX-License-Identifier: Apache-2.0 */
/* Made by scripts/gen_math_tables.py. Constants and tables of the elementary functions, for the
 * sources of elementary.h only. A pair is a double and what it leaves over. */
#ifndef TL_IR_EVAL_MATH_TABLES_H
#define TL_IR_EVAL_MATH_TABLES_H

#include <stdint.h>

#include "ir/eval/math/pair.h"

#define TL_STEPS_PER_UNIT 0x1.71547652b82fep+6 /* 64 / ln 2 */
#define TL_STEP_HI 0x1.62e42fee00000p-7        /* ln 2 / 64 in 32 bits */
#define TL_STEP_LO 0x1.a39ef35793c76p-39
#define TL_LN2_HI 0x1.62e42fefa3800p-1 /* 42 bits */
#define TL_LN2_LO 0x1.ef35793c76730p-45
#define TL_LN2 ((tl_dd){0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56})
#define TL_INV_LN2 ((tl_dd){0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56})
#define TL_INV_LN10 ((tl_dd){0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57})
#define TL_HALF_PI ((tl_dd){0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54})
#define TL_TWO_OVER_SQRT_PI ((tl_dd){0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56})

typedef struct tl_log_row {
  double inverse;
  tl_dd log; /* -log(inverse) */
} tl_log_row;

typedef struct tl_erf_row {
  tl_dd value;  /* erf(i/8) */
  double slope; /* of erf there */
} tl_erf_row;

extern const tl_dd tl_pow2_table[64];      /* 2^(i/64) */
extern const tl_log_row tl_log_table[128]; /* by the leading bits of a significand */
extern const tl_dd tl_atan_table[17];      /* atan(i/16) */
extern const tl_erf_row tl_erf_table[48];
extern const uint64_t tl_two_over_pi[22]; /* 64 zero bits, then 2/pi */

#endif
