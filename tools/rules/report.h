/* SPDX-License-Identifier: Apache-2.0 */
/* The report of tailor test-rules. */
#ifndef TL_TOOLS_RULES_REPORT_H
#define TL_TOOLS_RULES_REPORT_H

#include "tools/rules/findings.h"

/* What is reported; everything is borrowed. */
typedef struct tl_rules_report {
  const tl_ruleset *set;
  const char *file;
  const char *model; /* NULL: graphs were made */
  uint64_t seed;
  uint32_t count;
  const tl_findings *at;
  const char *const *paths; /* of graphs that were written; NULL: none was */
  uint32_t n;
  uint32_t others; /* definitions and rules without a pattern */
} tl_rules_report;

/* Add the report for people, as JSON (docs/debugging.md). */
void tl_rules_text(const tl_rules_report *r, tl_buf *out);
void tl_rules_json(const tl_rules_report *r, tl_buf *out);

#endif
