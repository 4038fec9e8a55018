/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a conversion to its user: sizes, changes, time, memory, and the next command. */
#ifndef TL_TOOLS_CONVERT_SUMMARY_H
#define TL_TOOLS_CONVERT_SUMMARY_H

#include "passes/manager.h"
#include "passes/memory/memory.h"
#include "passes/ub/traffic.h"
#include "tools/cli/output.h"
#include "tools/convert/profiles.h"

/* Number and bytes of constants. */
typedef struct tl_weights {
  uint64_t constants;
  uint64_t bytes;
} tl_weights;

/* What a conversion measures, in the order in which it happens. Times are nanoseconds. */
typedef struct tl_summary {
  uint32_t nodes_before;
  tl_weights weights_before;
  uint32_t nodes_after;          /* canonical */
  tl_weights weights_after;      /* canonical */
  uint32_t nodes_npu;            /* in NPU form; 0 when that was not asked for */
  tl_ub_totals kernels;          /* of several nodes, in NPU form */
  tl_profile_facts_vec profiles; /* owned; released with the conversion */
  tl_memory device;              /* of the last form; measured only if somebody reads the summary */
  tl_pipeline_report canonical;
  tl_pipeline_report npu;
  uint64_t load_ns;
  uint64_t pass_ns;
  uint64_t write_ns;
  uint64_t module_bytes;
} tl_summary;

/* Returns number and bytes of the constants of all graphs. O(constants). */
tl_weights tl_count_weights(const tl_module *m);

/* Adds the summary for people. m: in its last form. v: what was written. */
void tl_summary_text(tl_cli *cli, tl_module *m, const tl_summary *s, const tl_output_vec *v,
                     tl_buf *out);
/* Adds the same facts as one JSON object. */
void tl_summary_json(tl_cli *cli, tl_module *m, const tl_summary *s, const tl_output_vec *v,
                     tl_buf *out);

/* Returns true for an option that is recorded for the user only; no tool acts on it. */
bool tl_is_audit(const tl_carried_option *o);

/* Adds the call of atc that goes on with the AIR file among the outputs; nothing if atc could not
 * take it. */
void tl_summary_atc(tl_cli *cli, tl_module *m, const tl_output_vec *v, tl_buf *out);

#endif
