/* SPDX-License-Identifier: Apache-2.0 */
/* What a training step takes, for people and tools: --schedule-report, --trace, --timeline,
 * --tail-explain, and the split of gradients of aoe_mode=4. */
#ifndef TL_TOOLS_STEP_FILES_H
#define TL_TOOLS_STEP_FILES_H

#include "passes/train/time/record.h"
#include "tools/cli/cli.h"

/* Is one of the files wanted? */
bool tl_step_files_wanted(const tl_cli *cli);
/* Writes them, each whole or not at all. E-SCHED-NONE when no training step was recognised. */
tl_status tl_step_files_write(tl_cli *cli, const tl_module *m) TL_NODISCARD;

/* Contents, one function a file; r has at least one stage. The same record gives the same bytes. */
void tl_step_report_json(const tl_step_record *r, tl_buf *out);
void tl_step_tail_json(const tl_step_record *r, tl_buf *out);
/* How gradients are split: bucket_indices as a run configuration takes them, of one group, unless a
 * bucket is one joined tensor; and the buckets. */
void tl_step_split_json(const tl_step_record *r, bool joined, tl_buf *out);
/* Events of Chrome's trace viewer and Perfetto: process 0 is the step before, 1 the step after. */
void tl_step_trace_json(const tl_step_record *r, tl_buf *out);
/* A page without scripts and without anything from elsewhere: both timelines one above the other.
 */
void tl_step_page_html(const tl_step_record *r, tl_buf *out);

#endif
