/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the trace of the compiler. */
#include "tools/watch/trace.h"

#include <sys/stat.h>

#include "support/measure.h"
#include "tools/cli/output.h"

/* Rows of the trace. */
enum { ROW_WORK = 1, ROW_RULES = 2, DIGITS = 3 };

/* What an event says beside its place. */
typedef struct event {
  tl_sv name;
  const char *kind;
  int row;
  uint64_t start;
  uint64_t nanoseconds;
} event;

/* Begins an event, up to the arguments, which the caller adds before finish(). */
static tl_json_writer begin(tl_compiler_trace *t, const event *e) {
  tl_buf_clear(&t->event);
  uint64_t at = e->start > t->origin ? e->start - t->origin : 0;
  tl_json_writer w = tl_json_to(&t->event);
  tl_put_object(&w);
  tl_member_sv(&w, "name", e->name);
  tl_member_z(&w, "cat", e->kind);
  tl_member_z(&w, "ph", "X");
  tl_member_fixed(&w, "ts", (double)at / 1000, DIGITS);
  tl_member_fixed(&w, "dur", (double)e->nanoseconds / 1000, DIGITS);
  tl_member_u64(&w, "pid", 1);
  tl_member_u64(&w, "tid", (uint64_t)e->row);
  tl_put_key(&w, "args");
  tl_put_object(&w);
  return w;
}

/* Adds the event as an element of the list. */
static void put(tl_compiler_trace *t) {
  tl_json_line(&t->list, 0);
  tl_put_made(&t->list, tl_buf_view(&t->event));
  t->text.failed = t->text.failed || t->event.failed;
}

static void finish(tl_compiler_trace *t, tl_json_writer *w) {
  tl_put_end(w);
  tl_put_end(w);
  put(t);
}

/* Names a row as viewers want it; row 0 stands for the process. */
static void put_name(tl_compiler_trace *t, const char *what, int row, const char *name) {
  tl_buf_clear(&t->event);
  tl_json_writer w = tl_json_to(&t->event);
  tl_put_object(&w);
  tl_member_z(&w, "name", what);
  tl_member_z(&w, "ph", "M");
  tl_member_u64(&w, "pid", 1);
  if (row)
    tl_member_u64(&w, "tid", (uint64_t)row);
  tl_put_key(&w, "args");
  tl_put_object(&w);
  tl_member_z(&w, "name", name);
  finish(t, &w);
}

void tl_trace_open(tl_compiler_trace *t, tl_cli *cli) {
  *t = (tl_compiler_trace){.origin = tl_now_ns()};
  tl_buf_init(&t->text);
  tl_buf_init(&t->event);
  if (!tl_cli_has(cli, TL_OPTION_TRACE_COMPILER))
    return;
  t->path = tl_cli_get(cli, TL_OPTION_TRACE_COMPILER);
  t->list = tl_json_to(&t->text);
  tl_put_object(&t->list);
  tl_member_z(&t->list, "displayTimeUnit", "ms");
  tl_put_key(&t->list, "traceEvents");
  tl_put_array(&t->list);
  put_name(t, "process_name", 0, "tailor");
  put_name(t, "thread_name", ROW_WORK, "work");
  put_name(t, "thread_name", ROW_RULES, "rules: time of each, summed over a pass");
}

void tl_trace_file(tl_compiler_trace *t, const char *what, const char *path, uint64_t start) {
  if (!t->path)
    return;
  tl_buf name;
  tl_buf_init(&name);
  tl_buf_printf(&name, "%s %s", what, path);
  tl_json_writer w =
      begin(t, &(event){tl_buf_view(&name), "file", ROW_WORK, start, tl_elapsed_ns(start)});
  finish(t, &w);
  t->text.failed = t->text.failed || name.failed;
  tl_buf_release(&name);
}

void tl_trace_rewrite(tl_compiler_trace *t, tl_sv rule, uint64_t number, uint64_t start) {
  if (!t->path)
    return;
  tl_json_writer w = begin(t, &(event){rule, "rewrite", ROW_WORK, start, tl_elapsed_ns(start)});
  tl_member_u64(&w, "rewrite", number);
  finish(t, &w);
}

/* Adds what the rules of a pass took, one behind the other from its beginning: a rule is tried at
 * many times, of which the sum tells more. */
static void add_rules(tl_compiler_trace *t, const tl_counts *counts) {
  uint64_t at = t->pass;
  for (; t->next_rule < counts->rules.n; t->next_rule++) {
    const tl_rule_count *c = &counts->rules.at[t->next_rule].count;
    tl_json_writer w = begin(t, &(event){c->rule, "rule", ROW_RULES, at, c->nanoseconds});
    tl_member_u64(&w, "tried", c->tried);
    tl_member_u64(&w, "matched", c->matched);
    tl_member_u64(&w, "fired", c->fired);
    finish(t, &w);
    at += c->nanoseconds;
  }
}

void tl_trace_pass(tl_compiler_trace *t, const tl_pass_event *e, const tl_counts *counts) {
  if (!t->path)
    return;
  if (!e->after) {
    t->pass = tl_now_ns();
    return;
  }
  tl_sv name = tl_sv_from(e->row->name);
  tl_json_writer w = begin(t, &(event){name, "pass", ROW_WORK, t->pass, e->nanoseconds});
  tl_member_u64(&w, "rewrites", e->changed);
  tl_member_u64(&w, "nodes_before", e->nodes_before);
  tl_member_u64(&w, "nodes_after", e->nodes_after);
  finish(t, &w);
  add_rules(t, counts);
}

tl_status tl_trace_check(const tl_compiler_trace *t, tl_cli *cli, const tl_module *m) {
  struct stat st;
  if (!t->path || strcmp(t->path, "-") == 0 || stat(t->path, &st) != 0 ||
      !tl_output_is_input(cli, m, &st))
    return TL_OK;
  return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                 tl_at_option(&cli->settings, TL_OPTION_TRACE_COMPILER),
                 "'%s' is an input of this command and would be overwritten", t->path);
}

tl_status tl_trace_end(tl_compiler_trace *t, tl_cli *cli) {
  if (!t->path)
    return TL_OK;
  tl_json_line(&t->list, 0);
  tl_json_finish(&t->list);
  return tl_session_save_text(&cli->session, t->path, &t->text);
}

void tl_trace_release(tl_compiler_trace *t) {
  tl_buf_release(&t->text);
  tl_buf_release(&t->event);
}
