/* SPDX-License-Identifier: Apache-2.0 */
/* Fills tensors with random numbers, the same on every machine. */
#ifndef TL_LIB_VALUES_RANDOM_H
#define TL_LIB_VALUES_RANDOM_H

#include "ir/host.h"

/* Fills a tensor of numbers or bool. Floats are uniform in [-1, 1). Integers are 0 or 1, since they
 * are often indices. bool alternates from true. Elements depend only on the seed, the name and
 * their position: two inputs of one type differ, and none changes if another is added. */
void tl_fill_random(tl_host *t, tl_sv name, uint64_t seed);

#endif
