/* SPDX-License-Identifier: Apache-2.0 */
/* How often each fusion pass matched and took effect, and fusion_result.json, the report of it in
 * the form of the device compiler. */
#ifndef TL_IR_OPTIONS_FUSION_STATS_H
#define TL_IR_OPTIONS_FUSION_STATS_H

#include "ir/options/fusion_names.h"
#include "support/arena.h"
#include "support/changes.h"
#include "support/diag.h"
#include "support/vec.h"

/* Counts of one pass on one graph; they stay at INT32_MAX once there. */
typedef struct tl_fusion_count {
  tl_sv pass; /* in the arena of the stats */
  uint32_t run;
  uint32_t graph;
  tl_fusion_kind kind;
  int32_t matched;   /* complete matches */
  int32_t effective; /* of these, rewritten; never more than matched */
} tl_fusion_count;

TL_VEC(tl_fusion_count_vec, tl_fusion_count);

typedef struct tl_fusion_stats {
  tl_arena arena;
  tl_fusion_count_vec counts; /* sorted by (run, graph, kind, pass) */
} tl_fusion_stats;

void tl_fusion_stats_init(tl_fusion_stats *s);
void tl_fusion_stats_release(tl_fusion_stats *s);

/* What one pass did to one graph. run: 0 for a plain compilation; graph: index of the root. */
typedef struct tl_fusion_event {
  tl_fusion_kind kind;
  tl_sv pass;
  uint32_t matched;
  uint32_t effective;
  uint32_t run;
  uint32_t graph;
} tl_fusion_event;

/* Adds to the counts of a pass. An effect belongs to a match that is counted by the same call or
 * was before. TL_NO_MEMORY. */
tl_status tl_fusion_stats_add(tl_fusion_stats *s, const tl_fusion_event *event) TL_NODISCARD;

/* Writes the text of fusion_result.json: graph and ub passes, and scope passes, which the device
 * compiler does not count; keys in byte order, indented by 4, numbers as strings, a line feed at
 * the end. Nothing at all when nothing was counted. */
void tl_fusion_stats_json(const tl_fusion_stats *s, tl_buf *out);

/* Writes that text to a file, whole or not at all; when nothing was counted there is no file
 * afterwards. changes: journal that receives it. cancel: as in tl_writer_open. */
typedef struct tl_fusion_report {
  const char *path;
  tl_changes *changes;
  const volatile int *cancel;
} tl_fusion_report;

tl_status tl_fusion_stats_save(const tl_fusion_stats *s, tl_diag *d,
                               const tl_fusion_report *to) TL_NODISCARD;

#endif
