/* SPDX-License-Identifier: Apache-2.0 */
/* What people see of the passes of one command: the module around them, files of it,
 * counts, times and a trace. opt and convert open a watch
 * before they read the model; commands without one show nothing. Every function does nothing if the
 * command has none. */
#ifndef TL_TOOLS_WATCH_WATCH_H
#define TL_TOOLS_WATCH_WATCH_H

#include "tools/cli/cli.h"

/* Gives the command a watch, which tl_watch_close releases. Checks the options. npu: the command
 * makes NPU form. Errors are reported. */
tl_status tl_watch_open(tl_cli *cli, bool npu) TL_NODISCARD;
/* The model was read, at `start` of tl_now_ns, or was read again. */
void tl_watch_loaded(tl_cli *cli, uint64_t start);
/* A file was written since `start`. */
void tl_watch_wrote(tl_cli *cli, const char *path, uint64_t start);
/* Returns who is told what rules do; NULL: nobody. */
const tl_rule_watch *tl_watch_rules(tl_cli *cli);
/* A pipeline begins, or goes on, with this module. */
tl_status tl_watch_begin(tl_cli *cli, tl_module *m) TL_NODISCARD;
/* A pass begins or has ended. */
tl_status tl_watch_pass(tl_cli *cli, tl_module *m, const tl_pass_event *e) TL_NODISCARD;
/* All passes have run and all files are written, but none has got its name: after an error all go
 * away. */
tl_status tl_watch_end(tl_cli *cli) TL_NODISCARD;
/* Prints counts and times if they are asked for; behind tl_watch_end. */
void tl_watch_report(tl_cli *cli);
void tl_watch_close(tl_cli *cli);

#endif
