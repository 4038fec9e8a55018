/* SPDX-License-Identifier: Apache-2.0 */
/* The precision configuration that is in effect for a conversion. */
#ifndef TL_PASSES_PRECISION_PRECISION_H
#define TL_PASSES_PRECISION_PRECISION_H

#include "passes/precision/decision.h"

/* Options with the precision configuration in effect. */
typedef struct tl_precision_own {
  tl_options options; /* the given options with `config` in place of theirs */
  tl_precision_config config;
} tl_precision_own;

/* Fills *own with the configuration in effect: the requested mode, or, if there is none and a chip
 * will run the result, that of the chip (by_chip). Returns false if all dtypes stay. `own` must not
 * move, since it points into itself. */
bool tl_precision_settle(const tl_options *given, bool off_chip, tl_precision_own *own);

#endif
