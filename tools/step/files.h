/* SPDX-License-Identifier: Apache-2.0 */
/* Writes files about a training step: --schedule-report, --trace, --timeline, --tail-explain, split
 * of gradients. */
#ifndef TL_TOOLS_STEP_FILES_H
#define TL_TOOLS_STEP_FILES_H

#include "passes/train/time/record.h"
#include "support/json_writer.h"
#include "tools/cli/cli.h"

/* Returns true if one of the files is wanted. */
bool tl_step_files_wanted(const tl_cli *cli);
/* Writes the wanted files, each whole or not at all. E-SCHED-NONE if no training step was
 * recognised. */
tl_status tl_step_files_write(tl_cli *cli, const tl_module *m) TL_NODISCARD;

/* Adds the member "buckets" of a stage to an object: buckets in the order of communication. */
void tl_step_put_buckets(tl_json_writer *w, const tl_step_stage *s);

/* Contents, one function for each file; r has at least one stage. The same record gives the same
 * bytes. */
void tl_step_report_json(const tl_step_record *r, tl_buf *out);
void tl_step_tail_json(const tl_step_record *r, tl_buf *out);
/* Adds how gradients are split: the buckets and, for one group whose buckets are not one joined
 * tensor each, bucket_indices as a run configuration takes them. */
void tl_step_split_json(const tl_step_record *r, bool joined, tl_buf *out);
/* Adds events for Chrome's trace viewer and Perfetto: process 0 is the first stage, 1 the last. */
void tl_step_trace_json(const tl_step_record *r, tl_buf *out);
/* Adds a page without scripts and without external parts: both timelines, one above the other. */
void tl_step_page_html(const tl_step_record *r, tl_buf *out);

#endif
