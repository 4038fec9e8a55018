/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and times of the passes of a command: --stats, --time-passes. */
#ifndef TL_TOOLS_WATCH_REPORT_H
#define TL_TOOLS_WATCH_REPORT_H

#include "tools/cli/cli.h"

TL_VEC(tl_pass_event_vec, tl_pass_event);

/* Print what was asked for, on standard error; `passes` are events after passes, in order. */
void tl_report_stats(tl_cli *cli, const tl_pass_event_vec *passes);
void tl_report_times(tl_cli *cli, const tl_pass_event_vec *passes);

#endif
