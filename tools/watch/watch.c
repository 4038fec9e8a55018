/* SPDX-License-Identifier: Apache-2.0 */
/* Hands what happens to those who show it. */
#include "tools/watch/watch.h"

#include "tools/watch/counts.h"
#include "tools/watch/dump.h"
#include "tools/watch/show.h"
#include "tools/watch/trace.h"

typedef struct tl_watch {
  tl_show show;
  tl_dump dump;
  tl_counts counts;
  tl_compiler_trace trace;
  tl_rule_watch rules;
  const tl_module *m; /* over which passes run */
  tl_buf report;      /* what is printed when all is done */
} tl_watch;

/* ---- rules ----------------------------------------------------------------------------------- */

static tl_status on_counted(void *user, const tl_pass *p, const tl_rule_count *c) {
  tl_watch *w = user;
  return tl_counts_add(&w->counts, p->name, c);
}

static void on_applied(void *user, const tl_pass *p, tl_symbol rule, uint64_t start) {
  tl_watch *w = user;
  tl_trace_rewrite(&w->trace, tl_sym(w->m, rule), *p->rewrites, start);
}

const tl_rule_watch *tl_watch_rules(tl_cli *cli) {
  tl_watch *w = cli->watch;
  if (!w || (!w->trace.path && !tl_cli_has(cli, TL_OPTION_STATS)))
    return NULL;
  w->rules = (tl_rule_watch){
      .user = w, .times = w->trace.path != NULL, .counted = on_counted, .applied = on_applied};
  return &w->rules;
}

/* ---- what happens ---------------------------------------------------------------------------- */

tl_status tl_watch_open(tl_cli *cli, bool npu) {
  cli->watch = calloc(1, sizeof *cli->watch);
  if (!cli->watch)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  tl_buf_init(&cli->watch->report);
  tl_trace_open(&cli->watch->trace, cli);
  TL_TRY(tl_show_open(&cli->watch->show, cli));
  return tl_dump_open(&cli->watch->dump, cli, npu);
}

void tl_watch_loaded(tl_cli *cli, uint64_t start) {
  if (!cli->watch)
    return;
  tl_show_loaded(&cli->watch->show);
  tl_trace_file(&cli->watch->trace, "read", cli->word, start);
}

void tl_watch_wrote(tl_cli *cli, const char *path, uint64_t start) {
  if (cli->watch)
    tl_trace_file(&cli->watch->trace, "write", path, start);
}

tl_status tl_watch_begin(tl_cli *cli, tl_module *m) {
  if (!cli->watch)
    return TL_OK;
  cli->watch->m = m;
  TL_TRY(tl_trace_check(&cli->watch->trace, cli, m));
  TL_TRY(tl_show_begin(&cli->watch->show, m));
  return tl_dump_begin(&cli->watch->dump, m);
}

tl_status tl_watch_pass(tl_cli *cli, tl_module *m, const tl_pass_event *e) {
  tl_watch *w = cli->watch;
  if (!w)
    return TL_OK;
  if (e->after) {
    if (!tl_pass_event_vec_push(&w->counts.passes, *e))
      return tl_fail_memory(&cli->diag, TL_NOWHERE);
    tl_trace_pass(&w->trace, e, &w->counts);
  }
  TL_TRY(tl_show_pass(&w->show, m, e));
  TL_TRY(tl_dump_pass(&w->dump, m, e));
  if (!e->after) /* the clock starts behind what is shown before the pass */
    tl_trace_pass(&w->trace, e, &w->counts);
  return TL_OK;
}

static bool wants_json(const tl_cli *cli, tl_option_id id) {
  return strcmp(tl_cli_get(cli, id), "json") == 0;
}

/* Makes the text of counts and times. */
static tl_status make_report(tl_cli *cli) {
  tl_watch *w = cli->watch;
  tl_status status = TL_OK;
  if (tl_cli_has(cli, TL_OPTION_STATS))
    status = tl_counts_print(&w->counts, wants_json(cli, TL_OPTION_STATS), &w->report);
  if (tl_cli_has(cli, TL_OPTION_TIME_PASSES))
    tl_counts_print_times(&w->counts, wants_json(cli, TL_OPTION_TIME_PASSES), &w->report);
  return status == TL_OK && !w->report.failed ? TL_OK : tl_fail_memory(&cli->diag, TL_NOWHERE);
}

tl_status tl_watch_end(tl_cli *cli) {
  if (!cli->watch)
    return TL_OK;
  TL_TRY(tl_show_end(&cli->watch->show));
  TL_TRY(tl_dump_end(&cli->watch->dump));
  TL_TRY(tl_trace_end(&cli->watch->trace, cli));
  return make_report(cli);
}

void tl_watch_report(tl_cli *cli) {
  if (cli->watch)
    tl_cli_note(cli, &cli->watch->report);
}

void tl_watch_close(tl_cli *cli) {
  if (!cli->watch)
    return;
  tl_show_release(&cli->watch->show);
  tl_dump_release(&cli->watch->dump);
  tl_counts_release(&cli->watch->counts);
  tl_trace_release(&cli->watch->trace);
  tl_buf_release(&cli->watch->report);
  free(cli->watch);
  cli->watch = NULL;
}
