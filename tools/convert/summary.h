/* SPDX-License-Identifier: Apache-2.0 */
/* What a conversion tells its user: sizes, changes, time, memory, and how to go on. */
#ifndef TL_TOOLS_CONVERT_SUMMARY_H
#define TL_TOOLS_CONVERT_SUMMARY_H

#include "passes/manager.h"
#include "passes/ub/traffic.h"
#include "tools/cli/output.h"

typedef struct tl_weights {
  uint64_t constants;
  uint64_t bytes;
} tl_weights;

typedef struct tl_summary {
  uint32_t nodes_before;
  tl_weights weights_before;
  uint32_t nodes_after;     /* canonical */
  tl_weights weights_after; /* canonical */
  uint32_t nodes_npu;       /* in NPU form; 0 when that was not asked for */
  tl_ub_totals kernels;     /* of several nodes, in NPU form */
  tl_pipeline_report canonical;
  tl_pipeline_report npu;
  uint64_t load_ns;
  uint64_t pass_ns;
  uint64_t write_ns;
  uint64_t module_bytes;
} tl_summary;

/* Constants of all graphs. */
tl_weights tl_count_weights(const tl_module *m);
/* Monotonic clock. */
uint64_t tl_now_ns(void);
/* Adds a size such as "13.3 MiB", a duration such as "2.1 ms". */
void tl_add_bytes(tl_buf *out, uint64_t bytes);
void tl_add_duration(tl_buf *out, uint64_t ns);

void tl_summary_text(tl_cli *cli, const tl_module *m, const tl_summary *s, const tl_output_vec *v,
                     tl_buf *out);
void tl_summary_json(tl_cli *cli, const tl_module *m, const tl_summary *s, const tl_output_vec *v,
                     tl_buf *out);

/* Is it there for the record, and for no tool to act on? */
bool tl_is_audit(const tl_carried_option *o);

#endif
