/* SPDX-License-Identifier: Apache-2.0 */
/* Collects ranges of all tensors of a run, for calibration and decisions about precision. */
#ifndef TL_TOOLS_RUN_RANGES_H
#define TL_TOOLS_RUN_RANGES_H

#include "support/json_writer.h"
#include "lib/values/compare.h"

/* Range of one tensor. */
typedef struct tl_range {
  tl_numbers numbers; /* of every time the value was made */
  uint64_t times;
  uint8_t dtype;
} tl_range;

/* Ranges of all values of a module. */
typedef struct tl_ranges {
  tl_range *at;    /* owned; by value id */
  tl_u32_vec seen; /* values in the order they were first made */
  uint32_t n;
  bool failed; /* memory ran out */
} tl_ranges;

/* Makes an empty range for each value of the module; false if memory is out. */
bool tl_ranges_init(tl_ranges *r, const tl_module *m);
/* Releases the ranges; does nothing for a zero-initialised object. */
void tl_ranges_release(tl_ranges *r);
/* Merges a value into its range; a value that is not numeric is left out. */
void tl_ranges_note(tl_ranges *r, tl_value_id v, const tl_host *value);
/* Adds {"tensors": [...]} in order of execution. */
void tl_ranges_json(const tl_ranges *r, const tl_module *m, tl_buf *out);

/* Adds one value as {"name": ..., "type": ..., "min": ...}. */
void tl_range_json(tl_json_writer *w, tl_sv name, const tl_host *value);

#endif
