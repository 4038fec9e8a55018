/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor run, which evaluates a model. */
#include "backend/value/value.h"
#include "support/json_writer.h"
#include "support/measure.h"
#include "lib/values/compare.h"
#include "tools/run/inputs.h"
#include "tools/run/ranges.h"
#include "tools/run/runner.h"
#include "tools/run/value_files.h"
#include "tools/run/value_text.h"

/* State of the command. All parts may be zero, so that one path releases everything. */
typedef struct run {
  tl_evaluation e;
  tl_cli *cli;
  tl_module *m;
  tl_host_vec inputs;
  tl_host_vec outputs;
  tl_value_files files;
  tl_ranges ranges;
  tl_buf index; /* of dumped tensors */
  tl_json_writer index_writer;
  tl_buf note;
  uint64_t nanoseconds;
} run;

/* ---- while it runs -------------------------------------------------------------------------- */

/* Writes a value of the main graph into the folder of dumps. Values of bodies are left out: each
 * iteration would overwrite them. */
static tl_status dump(run *r, const tl_module *m, tl_value_id v, const tl_host *value) {
  tl_sv name = tl_value_name(m, v);
  if (tl_value_graph(m, v) != tl_module_main(m)->id)
    return TL_OK;
  bool npy = strcmp(tl_cli_get(r->cli, TL_OPTION_FORMAT), "npy") == 0 && !tl_npy_obstacle(value);
  const char *file = tl_value_files_name(&r->files, name, npy ? "npy" : "pb");
  if (!file)
    return tl_fail_memory(&r->cli->diag, TL_NOWHERE);
  tl_json_line(&r->index_writer, 2);
  tl_put_key(&r->index_writer, file);
  tl_put_sv(&r->index_writer, name);
  return tl_value_files_write(&r->files, tl_cli_get(r->cli, TL_OPTION_DUMP_TENSORS), file, m, v,
                              value);
}

/* The evaluator calls this for each value when it is made. */
static tl_status watch(void *user, const tl_module *m, tl_value_id v, const tl_host *value) {
  run *r = user;
  if (tl_cli_has(r->cli, TL_OPTION_RECORD_RANGES))
    tl_ranges_note(&r->ranges, v, value);
  return tl_cli_has(r->cli, TL_OPTION_DUMP_TENSORS) ? dump(r, m, v, value) : TL_OK;
}

/* ---- what is written ------------------------------------------------------------------------ */

/* Writes the index of dumped tensors, which maps file names to tensor names. */
static tl_status write_index(run *r) {
  tl_buf path;
  tl_buf_init(&path);
  tl_buf_printf(&path, "%s/index.json", tl_cli_get(r->cli, TL_OPTION_DUMP_TENSORS));
  if (r->index.n > 1)
    tl_json_line(&r->index_writer, 0);
  tl_json_finish(&r->index_writer);
  tl_status status = path.failed ? tl_fail_memory(&r->cli->diag, TL_NOWHERE)
                                 : tl_value_files_text(&r->files, path.p, &r->index);
  tl_buf_release(&path);
  return status;
}

static tl_status write_ranges(run *r) {
  tl_buf text;
  tl_buf_init(&text);
  tl_ranges_json(&r->ranges, r->m, &text);
  tl_status status =
      tl_value_files_text(&r->files, tl_cli_get(r->cli, TL_OPTION_RECORD_RANGES), &text);
  tl_buf_release(&text);
  return status;
}

/* Writes inputs and outputs, the index of dumps, and ranges, where options ask for them. */
static tl_status write_files(run *r) {
  const char *suffix = tl_cli_get(r->cli, TL_OPTION_FORMAT);
  if (tl_cli_has(r->cli, TL_OPTION_RUN_OUTPUT)) {
    const char *folder = tl_cli_get(r->cli, TL_OPTION_RUN_OUTPUT);
    TL_TRY(tl_value_files_series(&r->files, (tl_value_series){folder, "input", suffix}, r->m, false,
                                 &r->inputs));
    TL_TRY(tl_value_files_series(&r->files, (tl_value_series){folder, "output", suffix}, r->m, true,
                                 &r->outputs));
  }
  if (tl_cli_has(r->cli, TL_OPTION_DUMP_TENSORS))
    TL_TRY(write_index(r));
  return tl_cli_has(r->cli, TL_OPTION_RECORD_RANGES) ? write_ranges(r) : TL_OK;
}

/* ---- what is printed ------------------------------------------------------------------------ */

static tl_sv output_name(const run *r, uint32_t i) {
  return tl_value_name(r->m, tl_graph_output(r->m, tl_module_main(r->m), i));
}

/* Adds one row to the table of outputs. A tensor without finite elements has '-' for its
 * numbers. */
static void add_row(tl_table *t, tl_sv name, const tl_host *v) {
  tl_numbers n;
  tl_describe(v, &n);
  tl_buf_add_quoted(&t->text, name);
  tl_table_cell(t);
  tl_add_type(&t->text, v);
  tl_table_cell(t);
  const double numbers[] = {n.min, n.max, n.mean};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (n.n > n.nan + n.inf)
      tl_add_short(&t->text, numbers[i]);
    else
      tl_buf_add_char(&t->text, '-');
    tl_table_cell(t);
  }
  tl_buf_add_u64(&t->text, n.nan);
  tl_table_cell(t);
  tl_buf_add_u64(&t->text, n.inf);
  tl_table_cell(t);
}

/* Prints the note, a table of outputs, time and memory. */
static void print_text(run *r, tl_buf *out) {
  static const char *const heads[] = {"output", "type", "min", "max", "mean", "nan", "inf"};
  tl_table t = {.columns = sizeof heads / sizeof *heads};
  if (r->note.n) {
    tl_buf_add_sv(out, tl_buf_view(&r->note));
    tl_buf_add_char(out, '\n');
  }
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
    tl_table_add(&t, heads[i]);
  for (uint32_t i = 0; i < r->outputs.n; i++)
    add_row(&t, output_name(r, i), r->outputs.at[i]);
  tl_table_print(out, &t);
  tl_buf_add_z(out, "time ");
  tl_add_duration(out, r->nanoseconds);
  tl_buf_add_z(out, ", values took at most ");
  tl_add_bytes(out, r->e.heap.peak);
  tl_buf_add_char(out, '\n');
}

/* Prints the same facts as JSON. */
static void print_json(run *r, tl_buf *out) {
  tl_json_writer w = tl_json_to(out);
  tl_put_object(&w);
  tl_member_u64(&w, "schema", 1);
  tl_put_key(&w, "outputs");
  tl_put_array(&w);
  for (uint32_t i = 0; i < r->outputs.n; i++)
    tl_range_json(&w, output_name(r, i), r->outputs.at[i]);
  tl_put_end(&w);
  tl_member_sv(&w, "note", tl_buf_view(&r->note));
  tl_member_u64(&w, "nanoseconds", r->nanoseconds);
  tl_member_u64(&w, "peak_bytes", r->e.heap.peak);
  tl_json_finish(&w);
}

static tl_status print(run *r) {
  tl_buf out;
  tl_buf_init(&out);
  if (tl_cli_has(r->cli, TL_OPTION_AS_JSON))
    print_json(r, &out);
  else
    print_text(r, &out);
  return tl_cli_print(r->cli, &out);
}

/* ---- driver --------------------------------------------------------------------------------- */

/* Refuses options that another runtime cannot honour, and a folder that would mix dumps with
 * outputs. */
static tl_status check_options(tl_cli *cli) {
  static const tl_option_id inner[] = {TL_OPTION_DUMP_TENSORS, TL_OPTION_RECORD_RANGES,
                                       TL_OPTION_EMULATE, TL_OPTION_EXACT};
  for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)
    if (tl_cli_has(cli, TL_OPTION_RUNNER) && tl_cli_has(cli, inner[i]))
      return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, inner[i]),
                     "cannot be combined with --runner, which lets another runtime compute");
  if (tl_cli_has(cli, TL_OPTION_RUNNER) && tl_cli_has(cli, TL_OPTION_NPU_FORM))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                   tl_at_option(&cli->settings, TL_OPTION_NPU_FORM),
                   "cannot be combined with --runner: other runtimes have ONNX ops only");
  const char *dumps = tl_cli_get(cli, TL_OPTION_DUMP_TENSORS);
  if (tl_cli_has(cli, TL_OPTION_DUMP_TENSORS) &&
      strcmp(dumps, tl_cli_get(cli, TL_OPTION_RUN_OUTPUT)) == 0)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                   tl_at_option(&cli->settings, TL_OPTION_DUMP_TENSORS),
                   "needs a folder other than '%s', which is that of --output", dumps);
  return TL_OK;
}

/* Evaluates the model here or in another runtime, and measures the time. */
static tl_status evaluate(run *r) {
  uint64_t start = tl_now_ns();
  tl_status status;
  if (tl_cli_has(r->cli, TL_OPTION_DUMP_TENSORS))
    TL_TRY(tl_value_files_folder(&r->files, tl_cli_get(r->cli, TL_OPTION_DUMP_TENSORS)));
  if (tl_cli_has(r->cli, TL_OPTION_RECORD_RANGES) && !tl_ranges_init(&r->ranges, r->m))
    return tl_fail_memory(&r->cli->diag, TL_NOWHERE);
  if (tl_cli_has(r->cli, TL_OPTION_DUMP_TENSORS) || tl_cli_has(r->cli, TL_OPTION_RECORD_RANGES)) {
    r->e.options.watch = watch;
    r->e.options.watch_user = r;
  }
  if (tl_cli_has(r->cli, TL_OPTION_RUNNER))
    status = tl_runner_run(&r->e, r->cli->word, r->m, &r->inputs, &r->outputs);
  else
    status = tl_evaluation_run(&r->e, r->m, &r->inputs, &r->outputs);
  r->nanoseconds = tl_elapsed_ns(start);
  return status;
}

static tl_status run_model(run *r) {
  TL_TRY(tl_cli_has(r->cli, TL_OPTION_NPU_FORM) ? tl_evaluation_load_npu(&r->e, r->cli->word, &r->m)
                                                : tl_evaluation_load(&r->e, r->cli->word, &r->m));
  TL_TRY(tl_inputs_settle(&r->e, r->m, &r->inputs, &r->note));
  TL_TRY(evaluate(r));
  TL_TRY(write_files(r));
  return print(r);
}

tl_status tl_command_run(tl_cli *cli) {
  run r = {.cli = cli};
  if (!cli->word)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "no model is named\vtailor run MODEL");
  TL_TRY(check_options(cli));
  TL_TRY(tl_settings_resolve(&cli->settings, &cli->diag));
  tl_value_files_init(&r.files, cli);
  r.index_writer = tl_json_to(&r.index);
  tl_put_object(&r.index_writer);
  tl_status status = tl_evaluation_init(&r.e, cli);
  if (status == TL_OK)
    status = run_model(&r);
  tl_value_files_release(&r.files);
  tl_values_release(&r.inputs);
  tl_values_release(&r.outputs);
  tl_ranges_release(&r.ranges);
  tl_buf_release(&r.index);
  tl_buf_release(&r.note);
  if (r.m)
    tl_module_destroy(r.m);
  tl_evaluation_release(&r.e);
  return status;
}
