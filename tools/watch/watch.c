/* SPDX-License-Identifier: Apache-2.0 */
/* Hands what happens to those who show it. */
#include "tools/watch/watch.h"

#include "tools/watch/dump.h"
#include "tools/watch/report.h"
#include "tools/watch/show.h"

typedef struct tl_watch {
  tl_show show;
  tl_dump dump;
  tl_pass_event_vec passes; /* that have run */
} tl_watch;

tl_status tl_watch_open(tl_cli *cli, bool npu) {
  cli->watch = calloc(1, sizeof *cli->watch);
  if (!cli->watch)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  TL_TRY(tl_show_open(&cli->watch->show, cli));
  return tl_dump_open(&cli->watch->dump, cli, npu);
}

void tl_watch_loaded(tl_cli *cli, uint64_t start) {
  (void)start;
  if (cli->watch)
    tl_show_loaded(&cli->watch->show);
}

tl_status tl_watch_begin(tl_cli *cli, tl_module *m) {
  if (!cli->watch)
    return TL_OK;
  TL_TRY(tl_show_begin(&cli->watch->show, m));
  return tl_dump_begin(&cli->watch->dump, m);
}

tl_status tl_watch_pass(tl_cli *cli, tl_module *m, const tl_pass_event *e) {
  tl_watch *w = cli->watch;
  if (!w)
    return TL_OK;
  if (e->after && !tl_pass_event_vec_push(&w->passes, *e))
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  TL_TRY(tl_show_pass(&w->show, m, e));
  return tl_dump_pass(&w->dump, m, e);
}

tl_status tl_watch_end(tl_cli *cli) {
  if (!cli->watch)
    return TL_OK;
  TL_TRY(tl_show_end(&cli->watch->show));
  return tl_dump_end(&cli->watch->dump);
}

void tl_watch_report(tl_cli *cli) {
  if (cli->watch && tl_cli_has(cli, TL_OPTION_STATS))
    tl_report_stats(cli, &cli->watch->passes);
  if (cli->watch && tl_cli_has(cli, TL_OPTION_TIME_PASSES))
    tl_report_times(cli, &cli->watch->passes);
}

void tl_watch_close(tl_cli *cli) {
  if (!cli->watch)
    return;
  tl_show_release(&cli->watch->show);
  tl_dump_release(&cli->watch->dump);
  tl_pass_event_vec_release(&cli->watch->passes);
  free(cli->watch);
  cli->watch = NULL;
}
