/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of all tensors of a run, as calibration and precision decisions want them. */
#ifndef TL_TOOLS_RUN_RANGES_H
#define TL_TOOLS_RUN_RANGES_H

#include "support/json_writer.h"
#include "tools/run/compare.h"

typedef struct tl_range {
  tl_numbers numbers; /* of every time the value was made */
  uint64_t times;
  uint8_t dtype;
} tl_range;

typedef struct tl_ranges {
  tl_range *at;    /* owned; by value id */
  tl_u32_vec seen; /* values in the order they were first made */
  uint32_t n;
  bool failed; /* memory ran out */
} tl_ranges;

bool tl_ranges_init(tl_ranges *r, const tl_module *m);
void tl_ranges_release(tl_ranges *r);
/* Takes a value in; what is not numeric is left out. */
void tl_ranges_note(tl_ranges *r, tl_value_id v, const tl_host *value);
/* Adds {"tensors": [...]} in order of execution. */
void tl_ranges_json(const tl_ranges *r, const tl_module *m, tl_buf *out);

/* Adds one value as {"name": ..., "type": ..., "min": ...}. */
void tl_range_json(tl_json_writer *w, tl_sv name, const tl_host *value);

#endif
