/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the tensors that two models have in common, while they run. Values of the first model
 * are kept until the second makes its own, or, with layers, until each node of the second has run
 * on them, too: what it then makes differs by what the node adds, not by what it passes on. */
#ifndef TL_TOOLS_VERIFY_TWINS_H
#define TL_TOOLS_VERIFY_TWINS_H

#include "lib/values/compare.h"
#include "tools/run/evaluation.h"
#include "lib/values/grain.h"
#include "tools/verify/kin.h"

/* The comparison of one pair of values. */
typedef struct tl_twin {
  tl_value_id value; /* of the second model */
  tl_difference d;
  tl_difference own; /* when the node gets the operands of the first model; valid with has_own */
  bool has_own;
} tl_twin;

TL_VEC(tl_twin_vec, tl_twin);

/* State of comparing two models. */
typedef struct tl_twins {
  tl_module *a, *b;
  const tl_tolerance *tolerance;
  const tl_grains *grains; /* [2], of the two */
  tl_value_id *of_a;       /* owned; by value of a: its twin in b */
  tl_value_id *of_b;       /* owned; the other way round */
  tl_host **kept;          /* owned; by value of b: what a made */
  bool layers;             /* b runs once more, on values of a */
  tl_host **given;         /* owned; by value of b: what a device made of it, in place of a run of
                              b; NULL: b runs */
  const tl_kin *kin;       /* of b; NULL without layers */
  uint32_t *row_of;        /* owned; by value of b: 1 + row; NULL without layers */
  uint32_t other_shape;    /* values that were paired by origin, or recorded, in vain */
  uint64_t kept_bytes;
  uint64_t most_bytes; /* beyond it values are not kept */
  uint32_t skipped;    /* for lack of room */
  tl_twin_vec rows;    /* owned; constants first, then in the order in which b runs */
} tl_twins;

/* Pairs the values of the two main graphs. tolerance and grains are borrowed. False if memory is
 * out; release it all the same. */
bool tl_twins_init(tl_twins *t, tl_module *a, tl_module *b, const tl_tolerance *tolerance,
                   const tl_grains grains[2], uint64_t most_bytes);
/* Prepares a second run of b; pairs values by kin where names do not. False if memory is out. */
bool tl_twins_add_layers(tl_twins *t, const tl_kin *kin);
/* Releases pairs, kept values and rows. */
void tl_twins_release(tl_twins *t);

/* Watch the run of the first model, then of the second: functions for tl_eval_options.watch, with
 * the twins as user. TL_NO_MEMORY. */
tl_status tl_twins_watch_a(void *twins, const tl_module *m, tl_value_id v, const tl_host *value);
tl_status tl_twins_watch_b(void *twins, const tl_module *m, tl_value_id v, const tl_host *value);
/* With `given` and after the run of a: compares what was given. TL_NO_MEMORY. */
tl_status tl_twins_compare_given(tl_twins *t);
/* Notes what each node adds in the second run of b, and puts the operands of the first model, or
 * those that were given, in the place of its results: for tl_eval_options.replace. TL_NO_MEMORY. */
tl_status tl_twins_replace(void *twins, const tl_module *m, tl_value_id v, tl_host **value);

#endif
