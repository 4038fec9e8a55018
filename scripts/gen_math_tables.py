#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the constants of the evaluator's elementary functions, computed here to far more digits
than a double holds.

  gen_math_tables.py header > ir/eval/math/tables.h
  gen_math_tables.py source > ir/eval/math/tables.c"""
import sys
from decimal import Decimal, getcontext

getcontext().prec = 420
ONE = Decimal(1)
LN2 = Decimal(2).ln()


def arctan_inverse(n):
    """atan(1/n) by its series."""
    total = term = ONE / n
    k = 1
    while abs(term) > Decimal(10) ** -415:
        term /= -n * n
        k += 2
        total += term / k
    return total


PI = 4 * (4 * arctan_inverse(5) - arctan_inverse(239))


def arctan(x):
    """atan of 0..1: halve the argument until the series is short."""
    halvings = 0
    while x > Decimal('0.001'):
        x = x / (1 + (1 + x * x).sqrt())
        halvings += 1
    total = term = x
    k = 1
    while abs(term) > Decimal(10) ** -100:
        term *= -x * x
        k += 2
        total += term / k
    return total * 2 ** halvings


def erf(x):
    """The Maclaurin series; 420 digits outlive its cancellation up to 6."""
    term = total = x
    n = 0
    while term and abs(term) > Decimal(10) ** -120:
        n += 1
        term *= -x * x / n
        total += term / (2 * n + 1)
    return 2 / PI.sqrt() * total


def double(v):
    """Nearest double; Python reads decimals with correct rounding."""
    return float(v)


def pair(v):
    hi = double(v)
    return hi.hex(), double(v - Decimal(hi)).hex()


def truncated(v, bits):
    """The leading bits of v > 0 as a double."""
    m, e = double(v).hex().split('p')
    scale = Decimal(2) ** (bits - 1 - int(e))
    return double(Decimal(int(v * scale)) / scale)


def constant(name, value, comment=''):
    print(f'#define {name} {value}{"  /* " + comment + " */" if comment else ""}')


def constant_pair(name, value):
    hi, lo = pair(value)
    print(f'#define {name} ((tl_dd){{{hi}, {lo}}})')


def table(kind, name, size, rows):
    print(f'\nconst {kind} {name}[{size}] = {{')
    for row in rows:
        print(f'    {row},')
    print('};')


def pow2_rows():
    for j in range(64):
        hi, lo = pair(((LN2 * j) / 64).exp())
        yield f'{{{hi}, {lo}}}'


def log_rows():
    """Row i serves significands m whose bits minus those of 0.6875 have i in the top seven places
    of the fraction: 'inverse' is 1/m to ten bits, so that m * inverse - 1 is small and exact."""
    start = 0x3fe6000000000000
    for i in range(128):
        low = from_bits(start + (i << 45))
        high = from_bits(start + ((i + 1) << 45))
        middle = (Decimal(low) + Decimal(high)) / 2
        inverse = round(1 / middle * 1024) / 1024
        if low == 1.0 or high == 1.0:
            inverse = 1.0
        hi, lo = pair(-Decimal(inverse).ln())
        yield f'{{{float(inverse).hex()}, {{{hi}, {lo}}}}}'


def from_bits(bits):
    exponent = (bits >> 52) - 1023
    return (1 + (bits & ((1 << 52) - 1)) / 2.0 ** 52) * 2.0 ** exponent


def atan_rows():
    for i in range(17):
        hi, lo = pair(arctan(Decimal(i) / 16))
        yield f'{{{hi}, {lo}}}'


def erf_rows():
    for i in range(48):
        c = Decimal(i) / 8
        hi, lo = pair(erf(c))
        slope = double(2 / PI.sqrt() * (-c * c).exp()).hex()
        yield f'{{{{{hi}, {lo}}}, {slope}}}'


def two_over_pi_rows():
    """64 zero bits, then 2/pi from its first bit."""
    words = 21
    bits = int(2 / PI * Decimal(2) ** (64 * words))
    yield 'UINT64_C(0)'
    for i in range(words):
        yield f'UINT64_C(0x{bits >> (64 * (words - 1 - i)) & (2 ** 64 - 1):016x})'


HEADER = """/* SPDX-License-Identifier: Apache-2.0 */
/* Made by scripts/gen_math_tables.py. Constants and tables of the elementary functions, for the
 * sources of ir/eval/math/elementary.h only. A pair is a double and what it leaves over. */
#ifndef TL_IR_EVAL_MATH_TABLES_H
#define TL_IR_EVAL_MATH_TABLES_H

#include <stdint.h>

#include "ir/eval/math/pair.h"
"""

TYPES = """
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
extern const uint64_t tl_two_over_pi[22];  /* 64 zero bits, then 2/pi */

#endif"""


def header():
    print(HEADER)
    step = LN2 / 64
    hi = truncated(step, 32)
    constant('TL_STEPS_PER_UNIT', double(1 / step).hex(), '64 / ln 2')
    constant('TL_STEP_HI', hi.hex(), 'ln 2 / 64 in 32 bits')
    constant('TL_STEP_LO', double(step - Decimal(hi)).hex())
    hi = truncated(LN2, 42)
    constant('TL_LN2_HI', hi.hex(), '42 bits')
    constant('TL_LN2_LO', double(LN2 - Decimal(hi)).hex())
    constant_pair('TL_LN2', LN2)
    constant_pair('TL_INV_LN2', 1 / LN2)
    constant_pair('TL_INV_LN10', 1 / Decimal(10).ln())
    constant_pair('TL_HALF_PI', PI / 2)
    constant_pair('TL_TWO_OVER_SQRT_PI', 2 / PI.sqrt())
    print(TYPES)


def source():
    print('/* SPDX-License-Identifier: Apache-2.0 */')
    print('/* Made by scripts/gen_math_tables.py. */')
    print('#include "ir/eval/math/tables.h"')
    table('tl_dd', 'tl_pow2_table', 64, pow2_rows())
    table('tl_log_row', 'tl_log_table', 128, log_rows())
    table('tl_dd', 'tl_atan_table', 17, atan_rows())
    table('tl_erf_row', 'tl_erf_table', 48, erf_rows())
    table('uint64_t', 'tl_two_over_pi', 22, two_over_pi_rows())


if __name__ == '__main__':
    header() if sys.argv[1:] == ['header'] else source()
