/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules of a command did, pass by pass, and in all: --stats. */
#ifndef TL_TOOLS_WATCH_COUNTS_H
#define TL_TOOLS_WATCH_COUNTS_H

#include "tools/cli/cli.h"

/* What one rule did in one pass. Texts are in the arena of the counts. */
typedef struct tl_counted {
  const char *pass; /* name of the pass that ran the rule */
  tl_rule_count count;
} tl_counted;

TL_VEC(tl_counted_vec, tl_counted);
TL_VEC(tl_pass_event_vec, tl_pass_event);

/* Zero-initialise it. */
typedef struct tl_counts {
  tl_counted_vec rules;     /* in the order in which passes ran */
  tl_pass_event_vec passes; /* that have run */
  tl_arena arena;           /* owned */
} tl_counts;

/* Adds what a rule did. TL_NO_MEMORY, unreported. */
tl_status tl_counts_add(tl_counts *c, const char *pass, const tl_rule_count *count) TL_NODISCARD;
/* Adds text, or one JSON object (docs/debugging.md). TL_NO_MEMORY, unreported. */
tl_status tl_counts_print(const tl_counts *c, bool json, tl_buf *out) TL_NODISCARD;
/* Adds the time of each pass, as text or as a JSON object. */
void tl_counts_print_times(const tl_counts *c, bool json, tl_buf *out);
void tl_counts_release(tl_counts *c);

#endif
