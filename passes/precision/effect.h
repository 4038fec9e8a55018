/* SPDX-License-Identifier: Apache-2.0 */
/* Says what a decision about dtypes amounts to before it is applied: the casts that it needs, what
 * they do to the numbers of constants, and how many nodes and bytes become narrower. */
#ifndef TL_PASSES_PRECISION_EFFECT_H
#define TL_PASSES_PRECISION_EFFECT_H

#include "ir/half.h"
#include "passes/precision/decision.h"
#include "support/vec.h"

/* A value that at least one operand wants in another dtype than it has. */
typedef struct tl_wanted_cast {
  tl_value_id value;
  tl_dtype dtype;
  tl_node_id consumer; /* the first one */
  uint32_t n_consumers;
  bool constant;          /* it is cast where it is */
  bool counted;           /* counts is known */
  tl_float_counts counts; /* of a constant: what the cast does to its numbers */
} tl_wanted_cast;

TL_VEC(tl_wanted_cast_vec, tl_wanted_cast);

/* Counts over a whole model, and its casts in the order of their first consumers. */
typedef struct tl_precision_effect {
  uint32_t nodes;     /* that have a floating-point tensor */
  uint32_t lowered;   /* with a tensor that became narrower */
  uint32_t casts;     /* of values at run time, before any goes again */
  uint32_t constants; /* cast where they are */
  uint32_t uncounted; /* constants whose numbers were not looked at */
  uint64_t clamped;   /* numbers of constants that are out of range */
  uint64_t flushed;   /* that become 0 */
  uint64_t subnormal;
  int64_t weights_saved; /* bytes of constants */
  int64_t values_saved;  /* bytes of results of known size */
  tl_wanted_cast_vec wanted;
} tl_precision_effect;

/* Fills out, which is zero-initialised and released in any case. most: constants are looked at up
 * to this number of elements in all, UINT64_MAX: all of them. False if memory is out. */
bool tl_precision_effect_find(const tl_module *m, const tl_precision *d, uint64_t most,
                              tl_precision_effect *out) TL_NODISCARD;
/* Frees the list. */
void tl_precision_effect_release(tl_precision_effect *e);
/* Returns true for a node with a floating-point operand or result. */
bool tl_precision_has_float(const tl_module *m, const tl_precision *d, tl_node_id n);

#endif
