/* SPDX-License-Identifier: Apache-2.0 */
/* What tailor bisect finds, and its reports. */
#ifndef TL_TOOLS_DEBUG_BISECT_H
#define TL_TOOLS_DEBUG_BISECT_H

#include "tools/debug/states.h"

/* How a search ended. */
typedef enum tl_finding {
  TL_FOUND_REWRITE,  /* `last_good` is good, `bad` is bad; nothing between them can be checked */
  TL_FOUND_NOTHING,  /* the check is content with the whole way */
  TL_FOUND_MODEL,    /* the model as it was read fails the check */
  TL_FOUND_PIPELINE, /* a pass reports an error, and all states before it are good */
  TL_FOUND_FLAKY     /* a state was good once and bad once */
} tl_finding;

typedef struct tl_bisection {
  tl_finding finding;
  uint64_t last_good, bad;
  uint64_t rewrites;    /* of the whole way */
  tl_probe whole;       /* the model behind all passes */
  uint64_t good_later;  /* a state behind `bad` that is good again; 0: none is known */
  uint64_t bad_earlier; /* a state before `last_good` that is bad; UINT64_MAX: none is known */
  const tl_states *states;
  tl_rewrite before, after; /* owned; states last_good and bad */
} tl_bisection;

/* Add the report for people, as JSON. */
tl_status tl_bisection_text(tl_cli *cli, const tl_bisection *b, tl_buf *out) TL_NODISCARD;
tl_status tl_bisection_json(tl_cli *cli, const tl_bisection *b, tl_buf *out) TL_NODISCARD;

#endif
