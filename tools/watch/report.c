/* SPDX-License-Identifier: Apache-2.0 */
/* Prints counts and times of passes. */
#include "tools/watch/report.h"

#include "support/json_writer.h"
#include "support/measure.h"

void tl_report_stats(tl_cli *cli, const tl_pass_event_vec *passes) {
  uint64_t sum = 0;
  tl_buf text;
  tl_buf_init(&text);
  for (uint32_t i = 0; i < passes->n; i++) {
    const tl_pass_event *e = &passes->at[i];
    sum += e->changed;
    tl_buf_printf(&text, "%-24s %llu rewrites, nodes %u -> %u\n", e->row->name,
                  (unsigned long long)e->changed, e->nodes_before, e->nodes_after);
  }
  tl_buf_printf(&text, "%-24s %llu rewrites\n", "all", (unsigned long long)sum);
  tl_cli_note(cli, &text);
}

static void times_json(const tl_pass_event_vec *passes, tl_buf *out) {
  tl_json_writer w = tl_json_to(out);
  tl_put_object(&w);
  for (uint32_t i = 0; i < passes->n; i++)
    tl_member_u64(&w, passes->at[i].row->name, passes->at[i].nanoseconds);
  tl_json_finish(&w);
}

static void add_time(tl_buf *out, const char *name, uint64_t nanoseconds) {
  tl_buf_printf(out, "%-24s ", name);
  tl_add_duration(out, nanoseconds);
  tl_buf_add_char(out, '\n');
}

void tl_report_times(tl_cli *cli, const tl_pass_event_vec *passes) {
  uint64_t sum = 0;
  tl_buf text;
  tl_buf_init(&text);
  if (strcmp(tl_cli_get(cli, TL_OPTION_TIME_PASSES), "json") == 0) {
    times_json(passes, &text);
    tl_cli_note(cli, &text);
    return;
  }
  for (uint32_t i = 0; i < passes->n; i++) {
    sum += passes->at[i].nanoseconds;
    add_time(&text, passes->at[i].row->name, passes->at[i].nanoseconds);
  }
  add_time(&text, "all", sum);
  tl_cli_note(cli, &text);
}
