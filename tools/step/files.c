/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the files about a training step, and the plain ones among them. */
#include "tools/step/files.h"

#include <sys/stat.h>

#include "tools/cli/json.h"
#include "tools/cli/output.h"

static const struct {
  tl_option_id option;
  void (*make)(const tl_step_record *r, tl_buf *out);
} files[] = {{TL_OPTION_SCHEDULE_REPORT, tl_step_report_json},
             {TL_OPTION_TRACE, tl_step_trace_json},
             {TL_OPTION_TIMELINE, tl_step_page_html},
             {TL_OPTION_TAIL_EXPLAIN, tl_step_tail_json}};

enum { N_FILES = sizeof files / sizeof *files };

/* aoe_mode=4: the split of gradients goes to the tuner's folder. */
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

/* A file that the model was read from is not overwritten. */
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

static void add_number(tl_buf *out, const char *key, double v, int digits, bool *first) {
  tl_json_key(out, key, first);
  tl_json_fixed(out, v, digits);
}

static void add_count(tl_buf *out, const char *key, uint64_t v, bool *first) {
  tl_json_key(out, key, first);
  tl_buf_add_u64(out, v);
}

static void add_times(tl_buf *out, const tl_step_stage *s, bool *first) {
  const tl_step_report *r = &s->report;
  const struct {
    const char *key;
    double v;
    int digits;
  } rows[] = {{"step_time", r->step, 3},        {"compute_busy", r->compute_busy, 3},
              {"comm_busy", r->comm_busy, 3},   {"exposed_comm", r->exposed_comm, 3},
              {"overlap_ratio", r->overlap, 4}, {"tail", r->tail, 3},
              {"lower_bound", r->bound, 3},     {"efficiency", r->efficiency, 4}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    add_number(out, rows[i].key, rows[i].v, rows[i].digits, first);
  bool inner = true;
  tl_json_key(out, "bounds", first);
  tl_buf_add_char(out, '{');
  add_number(out, "critical_path", r->critical_path, 3, &inner);
  add_number(out, "total_compute", r->total_compute, 3, &inner);
  add_number(out, "total_communication", r->last_comm, 3, &inner);
  add_number(out, "bucket_free", s->bucket_free_bound, 3, &inner);
  tl_buf_add_char(out, '}');
}

static void add_edges(tl_buf *out, const tl_tail_counts *t, bool *first) {
  add_count(out, "edges_added", t->edges_added, first);
  add_count(out, "edges_removed", t->edges_removed, first);
  add_count(out, "edges_rejected", t->edges_rejected, first);
  add_count(out, "hazard_edges", t->hazard_edges, first);
  add_count(out, "splits", t->splits, first);
}

static void add_buckets(tl_buf *out, const tl_step_stage *s) {
  for (uint32_t i = 0; i < s->n_buckets; i++) {
    const tl_ran_bucket *b = &s->buckets[i];
    bool first = true;
    tl_buf_add_z(out, i ? ",\n  {" : "\n  {");
    tl_json_key(out, "name", &first);
    tl_json_string(out, b->name);
    add_count(out, "tensors", b->tensors, &first);
    add_count(out, "bytes", b->bytes, &first);
    add_number(out, "ready", b->ready, 3, &first);
    add_number(out, "start", b->start, 3, &first);
    add_number(out, "end", b->end, 3, &first);
    add_number(out, "exposed", b->exposed, 3, &first);
    tl_buf_add_char(out, '}');
  }
}

void tl_step_report_json(const tl_step_record *r, tl_buf *out) {
  const tl_step_stage *last = &r->stages[r->n - 1];
  bool first = true;
  tl_buf_add_z(out, "{\"version\": 1, \"machine\": ");
  tl_json_string(out, tl_sv_from(r->machine));
  tl_buf_printf(out, ", \"ranks\": %u,\n ", r->ranks);
  add_times(out, last, &first);
  add_edges(out, &last->tail, &first);
  tl_buf_add_z(out, ",\n \"buckets\": [");
  add_buckets(out, last);
  tl_buf_add_z(out, "],\n \"stages\": [");
  for (uint32_t i = 0; i < r->n; i++) {
    bool inner = true;
    tl_buf_add_z(out, i ? ",\n  {" : "\n  {");
    tl_json_key(out, "name", &inner);
    tl_json_string(out, tl_sv_from(r->stages[i].name));
    add_times(out, &r->stages[i], &inner);
    tl_buf_add_char(out, '}');
  }
  tl_buf_add_z(out, "]}\n");
}

/* ---- split of gradients ---------------------------------------------------------------------- */

void tl_step_split_json(const tl_step_record *r, bool joined, tl_buf *out) {
  const tl_step_stage *last = &r->stages[r->n - 1];
  bool one_group = last->n_streams == 3; /* M, the group's, U */
  uint64_t end = 0;
  tl_buf_add_z(out, "{\"version\": 1");
  if (one_group && !joined) {
    tl_buf_add_z(out, ", \"bucket_strategy\": \"index\", \"bucket_indices\": [");
    for (uint32_t i = 0; i < last->n_buckets; i++) {
      end += last->buckets[i].tensors;
      tl_buf_printf(out, "%s%llu", i ? ", " : "", (unsigned long long)(end - 1));
    }
    tl_buf_add_z(out, "]");
  }
  tl_buf_add_z(out, ",\n \"buckets\": [");
  add_buckets(out, last);
  tl_buf_add_z(out, "]}\n");
}

/* ---- tail ------------------------------------------------------------------------------------ */

void tl_step_tail_json(const tl_step_record *r, tl_buf *out) {
  const tl_step_stage *last = &r->stages[r->n - 1];
  bool first = true;
  tl_buf_add_z(out, "{\"version\": 1, \"last_bucket\": ");
  tl_json_string(out, r->last_bucket);
  tl_buf_add_z(out, ", ");
  add_edges(out, &last->tail, &first);
  tl_buf_add_z(out, ",\n \"nodes\": [");
  for (uint32_t i = 0; i < r->n_explained; i++) {
    const tl_tail_node *n = &r->explained[i];
    bool inner = true;
    tl_buf_add_z(out, i ? ",\n  {" : "\n  {");
    tl_json_key(out, "name", &inner);
    tl_json_string(out, n->name);
    tl_json_key(out, "verdict", &inner);
    tl_json_string(out, tl_sv_from(n->verdict));
    if (n->because.n) {
      tl_json_key(out, "because", &inner);
      tl_json_string(out, n->because);
    }
    tl_buf_add_char(out, '}');
  }
  tl_buf_add_z(out, "]}\n");
}

/* ---- trace ----------------------------------------------------------------------------------- */

static void add_name_event(tl_buf *out, const char *what, uint32_t pid, uint32_t tid, tl_sv name,
                           bool *first) {
  tl_buf_add_z(out, *first ? "\n" : ",\n");
  *first = false;
  tl_buf_printf(out,
                "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":", what,
                pid, tid);
  tl_json_string(out, name);
  tl_buf_add_z(out, "}}");
}

static void add_task(tl_buf *out, const tl_ran_task *t, uint32_t pid) {
  static const char *const phases[TL_N_PHASES] = {"fwd", "bwd", "comm", "update", "check"};
  tl_buf_add_z(out, ",\n{\"name\":");
  tl_json_string(out, t->name);
  tl_buf_printf(out, ",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":", phases[t->phase]);
  tl_json_fixed(out, t->start, 3);
  tl_buf_add_z(out, ",\"dur\":");
  tl_json_fixed(out, t->end - t->start, 3);
  tl_buf_printf(out, ",\"pid\":%u,\"tid\":%u,\"args\":{\"op\":", pid, t->stream);
  tl_json_string(out, t->op);
  tl_buf_add_z(out, ",\"bytes\":");
  tl_buf_add_u64(out, t->bytes);
  if (t->bucket != TL_NO_BUCKET)
    tl_buf_printf(out, ",\"bucket\":%u", t->bucket);
  tl_buf_add_z(out, "}}");
}

static void add_stage_events(tl_buf *out, const tl_step_stage *s, uint32_t pid, bool *first) {
  add_name_event(out, "process_name", pid, 0, tl_sv_from(s->name), first);
  for (uint16_t i = 0; i < s->n_streams; i++)
    add_name_event(out, "thread_name", pid, i, s->streams[i], first);
  for (uint32_t i = 0; i < s->n; i++)
    add_task(out, &s->tasks[i], pid);
}

void tl_step_trace_json(const tl_step_record *r, tl_buf *out) {
  bool first = true;
  tl_buf_add_z(out, "{\"traceEvents\":[");
  add_stage_events(out, &r->stages[0], 0, &first);
  if (r->n > 1)
    add_stage_events(out, &r->stages[r->n - 1], 1, &first);
  tl_buf_add_z(out, "\n],\"displayTimeUnit\":\"ms\"}\n");
}
