/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the files about a training step, and makes the contents of the JSON files. */
#include "tools/step/files.h"

#include <sys/stat.h>

#include "support/json_writer.h"
#include "tools/cli/output.h"

/* The files, by option. */
static const struct {
  tl_option_id option;
  void (*make)(const tl_step_record *r, tl_buf *out);
} files[] = {{TL_OPTION_SCHEDULE_REPORT, tl_step_report_json},
             {TL_OPTION_TRACE, tl_step_trace_json},
             {TL_OPTION_TIMELINE, tl_step_page_html},
             {TL_OPTION_TAIL_EXPLAIN, tl_step_tail_json}};

enum { N_FILES = sizeof files / sizeof *files };

/* Returns true if the tuner's folder is to receive the split of gradients (aoe_mode=4). */
static bool is_split_wanted(const tl_cli *cli) {
  const char *mode = cli->settings.value[TL_OPTION_AOE_MODE];
  return mode && mode[0] == '4';
}

bool tl_step_files_wanted(const tl_cli *cli) {
  bool any = is_split_wanted(cli);
  for (int i = 0; i < N_FILES; i++)
    any = any || tl_cli_has(cli, files[i].option);
  return any;
}

/* Refuses to overwrite a file from which the model was read. */
static tl_status check_path(tl_cli *cli, const tl_module *m, tl_option_id id) {
  struct stat st;
  const char *path = tl_cli_get(cli, id);
  if (strcmp(path, "-") == 0 || stat(path, &st) != 0 || !tl_output_is_input(cli, m, &st))
    return TL_OK;
  return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, id),
                 "'%s' is an input of this conversion and would be overwritten", path);
}

static tl_status write_file(tl_cli *cli, int i) {
  tl_buf text;
  tl_buf_init(&text);
  files[i].make(&cli->steps, &text);
  tl_status status = tl_session_save_text(&cli->session, tl_cli_get(cli, files[i].option), &text);
  tl_buf_release(&text);
  return status;
}

/* Writes the split of gradients into the folder of the tuner. */
static tl_status write_split(tl_cli *cli) {
  tl_buf path, text;
  tl_buf_init(&path);
  tl_buf_init(&text);
  tl_buf_printf(&path, "%s/gradient_split.json", tl_cli_get(cli, TL_OPTION_WORK_PATH));
  tl_step_split_json(&cli->steps, cli->settings.train.bucket_lowering == TL_BUCKET_CONCAT, &text);
  tl_status status = path.failed ? tl_fail_memory(&cli->diag, TL_NOWHERE)
                                 : tl_session_save_text(&cli->session, path.p, &text);
  tl_buf_release(&path);
  tl_buf_release(&text);
  return status;
}

tl_status tl_step_files_write(tl_cli *cli, const tl_module *m) {
  for (int i = 0; i < N_FILES; i++) {
    tl_option_id id = files[i].option;
    if (!tl_cli_has(cli, id))
      continue;
    if (!cli->steps.n)
      return tl_fail_code(
          &cli->diag, TL_INVALID_ARGUMENT, "E-SCHED-NONE", tl_at_option(&cli->settings, id),
          "no training step was recognised, so nothing was scheduled\vgive "
          "--graph_run_mode=1 and a model with updates; 'tailor info --train' shows "
          "what is recognised");
    TL_TRY(check_path(cli, m, id));
    TL_TRY(write_file(cli, i));
  }
  return is_split_wanted(cli) && cli->steps.n ? write_split(cli) : TL_OK;
}

/* ---- report ---------------------------------------------------------------------------------- */

/* Adds the figures of a stage in microseconds. */
static void add_times(tl_json_writer *w, const tl_step_stage *s) {
  const tl_step_report *r = &s->report;
  tl_member_fixed(w, "step_time", r->step, 3);
  tl_member_fixed(w, "compute_busy", r->compute_busy, 3);
  tl_member_fixed(w, "comm_busy", r->comm_busy, 3);
  tl_member_fixed(w, "exposed_comm", r->exposed_comm, 3);
  tl_member_fixed(w, "overlap_ratio", r->overlap, 4);
  tl_member_fixed(w, "tail", r->tail, 3);
  tl_member_fixed(w, "lower_bound", r->bound, 3);
  tl_member_fixed(w, "efficiency", r->efficiency, 4);
  tl_put_key(w, "bounds");
  tl_put_object(w);
  tl_member_fixed(w, "critical_path", r->critical_path, 3);
  tl_member_fixed(w, "total_compute", r->total_compute, 3);
  tl_member_fixed(w, "total_communication", r->last_comm, 3);
  tl_member_fixed(w, "bucket_free", s->bucket_free_bound, 3);
  tl_put_end(w);
}

/* Adds what the tail optimization did to control edges. */
static void add_edges(tl_json_writer *w, const tl_tail_counts *t) {
  tl_member_u64(w, "edges_added", t->edges_added);
  tl_member_u64(w, "edges_removed", t->edges_removed);
  tl_member_u64(w, "edges_rejected", t->edges_rejected);
  tl_member_u64(w, "hazard_edges", t->hazard_edges);
  tl_member_u64(w, "splits", t->splits);
}

void tl_step_put_buckets(tl_json_writer *w, const tl_step_stage *s) {
  tl_put_key(w, "buckets");
  tl_put_array(w);
  for (uint32_t i = 0; i < s->n_buckets; i++) {
    const tl_ran_bucket *b = &s->buckets[i];
    tl_json_line(w, 2);
    tl_put_object(w);
    tl_member_sv(w, "name", b->name);
    tl_member_u64(w, "tensors", b->tensors);
    tl_member_u64(w, "bytes", b->bytes);
    tl_member_fixed(w, "ready", b->ready, 3);
    tl_member_fixed(w, "start", b->start, 3);
    tl_member_fixed(w, "end", b->end, 3);
    tl_member_fixed(w, "exposed", b->exposed, 3);
    tl_put_end(w);
  }
  tl_put_end(w);
}

void tl_step_report_json(const tl_step_record *r, tl_buf *out) {
  const tl_step_stage *last = &r->stages[r->n - 1];
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  tl_put_object(w);
  tl_member_u64(w, "version", 1);
  tl_member_z(w, "machine", r->machine);
  tl_member_u64(w, "ranks", r->ranks);
  tl_json_line(w, 1);
  add_times(w, last);
  add_edges(w, &last->tail);
  tl_json_line(w, 1);
  tl_step_put_buckets(w, last);
  tl_json_line(w, 1);
  tl_put_key(w, "stages");
  tl_put_array(w);
  for (uint32_t i = 0; i < r->n; i++) {
    tl_json_line(w, 2);
    tl_put_object(w);
    tl_member_z(w, "name", r->stages[i].name);
    add_times(w, &r->stages[i]);
    tl_put_end(w);
  }
  tl_json_finish(w);
}

/* ---- split of gradients ---------------------------------------------------------------------- */

void tl_step_split_json(const tl_step_record *r, bool joined, tl_buf *out) {
  const tl_step_stage *last = &r->stages[r->n - 1];
  /* Three streams mean one group: main, the group's, and that of updates. Indices count the
   * gradients of one group, so with several groups they would mean nothing. */
  bool one_group = last->n_streams == 3;
  uint64_t end = 0;
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  tl_put_object(w);
  tl_member_u64(w, "version", 1);
  if (one_group && !joined) {
    tl_member_z(w, "bucket_strategy", "index");
    tl_put_key(w, "bucket_indices");
    tl_put_array(w);
    for (uint32_t i = 0; i < last->n_buckets; i++) {
      end += last->buckets[i].tensors;
      tl_put_u64(w, end - 1);
    }
    tl_put_end(w);
  }
  tl_json_line(w, 1);
  tl_step_put_buckets(w, last);
  tl_json_finish(w);
}

/* ---- tail ------------------------------------------------------------------------------------ */

void tl_step_tail_json(const tl_step_record *r, tl_buf *out) {
  const tl_step_stage *last = &r->stages[r->n - 1];
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  tl_put_object(w);
  tl_member_u64(w, "version", 1);
  tl_member_sv(w, "last_bucket", r->last_bucket);
  add_edges(w, &last->tail);
  tl_json_line(w, 1);
  tl_put_key(w, "nodes");
  tl_put_array(w);
  for (uint32_t i = 0; i < r->n_explained; i++) {
    const tl_tail_node *n = &r->explained[i];
    tl_json_line(w, 2);
    tl_put_object(w);
    tl_member_sv(w, "name", n->name);
    tl_member_z(w, "verdict", n->verdict);
    if (n->because.n)
      tl_member_sv(w, "because", n->because);
    tl_put_end(w);
  }
  tl_json_finish(w);
}

/* ---- trace ----------------------------------------------------------------------------------- */

/* Adds a metadata event, which names a process or thread. */
static void add_name_event(tl_json_writer *w, const char *what, uint32_t pid, uint32_t tid,
                           tl_sv name) {
  tl_json_line(w, 0);
  tl_put_object(w);
  tl_member_z(w, "name", what);
  tl_member_z(w, "ph", "M");
  tl_member_u64(w, "pid", pid);
  tl_member_u64(w, "tid", tid);
  tl_put_key(w, "args");
  tl_put_object(w);
  tl_member_sv(w, "name", name);
  tl_put_end(w);
  tl_put_end(w);
}

/* Adds a complete event with start and duration in microseconds. */
static void add_task(tl_json_writer *w, const tl_ran_task *t, uint32_t pid) {
  static const char *const phases[TL_N_PHASES] = {"fwd", "bwd", "comm", "update", "check"};
  tl_json_line(w, 0);
  tl_put_object(w);
  tl_member_sv(w, "name", t->name);
  tl_member_z(w, "cat", phases[t->phase]);
  tl_member_z(w, "ph", "X");
  tl_member_fixed(w, "ts", t->start, 3);
  tl_member_fixed(w, "dur", t->end - t->start, 3);
  tl_member_u64(w, "pid", pid);
  tl_member_u64(w, "tid", t->stream);
  tl_put_key(w, "args");
  tl_put_object(w);
  tl_member_sv(w, "op", t->op);
  tl_member_u64(w, "bytes", t->bytes);
  if (t->bucket != TL_NO_BUCKET)
    tl_member_u64(w, "bucket", t->bucket);
  tl_put_end(w);
  tl_put_end(w);
}

static void add_stage_events(tl_json_writer *w, const tl_step_stage *s, uint32_t pid) {
  add_name_event(w, "process_name", pid, 0, tl_sv_from(s->name));
  for (uint16_t i = 0; i < s->n_streams; i++)
    add_name_event(w, "thread_name", pid, i, s->streams[i]);
  for (uint32_t i = 0; i < s->n; i++)
    add_task(w, &s->tasks[i], pid);
}

void tl_step_trace_json(const tl_step_record *r, tl_buf *out) {
  tl_json_writer writer = tl_json_compact(out), *w = &writer;
  tl_put_object(w);
  tl_put_key(w, "traceEvents");
  tl_put_array(w);
  add_stage_events(w, &r->stages[0], 0);
  if (r->n > 1)
    add_stage_events(w, &r->stages[r->n - 1], 1);
  tl_json_line(w, 0);
  tl_put_end(w);
  tl_member_z(w, "displayTimeUnit", "ms");
  tl_json_finish(w);
}
