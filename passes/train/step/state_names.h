/* SPDX-License-Identifier: Apache-2.0 */
/* Splits names of states: the name without the word for "before the step" or "behind it". */
#ifndef TL_PASSES_TRAIN_STEP_STATE_NAMES_H
#define TL_PASSES_TRAIN_STEP_STATE_NAMES_H

#include "support/str.h"

/* Writes the keys of a name and returns their number: the name itself, then the name without a word
 * such as new or out (of an output), old or in (of an input), at the back, at the front, or both.
 * Keys are views of the name. */
enum { TL_STATE_KEYS = 4 };
uint32_t tl_state_keys(tl_sv name, bool output, tl_sv keys[TL_STATE_KEYS]);

#endif
