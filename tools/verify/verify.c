/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor verify, which evaluates a model and compares it with files or another model. */
#include "tools/cli/output.h"
#include "tools/run/data_folder.h"
#include "tools/run/inputs.h"
#include "tools/run/runner.h"
#include "tools/verify/aipp.h"
#include "tools/verify/dumps.h"
#include "tools/verify/outputs.h"
#include "tools/verify/report.h"

/* ---- against files -------------------------------------------------------------------------- */

/* Evaluates the model here or in another runtime. */
static tl_status run_either(tl_evaluation *e, const char *path, tl_module *m,
                            const tl_host_vec *inputs, tl_host_vec *outputs) {
  if (tl_cli_has(e->cli, TL_OPTION_RUNNER))
    return tl_runner_run(e, path, m, inputs, outputs);
  return tl_evaluation_run(e, m, inputs, outputs);
}

/* Returns the grain for a comparison with files. The references have the model's own types, so a
 * value as coarse as its type gets no additional tolerance, as in the official runner of ONNX; only
 * a value that was computed more coarsely does. */
static tl_grain grain_beyond_type(const tl_module *m, const tl_grains *grains, tl_value_id v) {
  tl_grain g = tl_grain_of(grains, v);
  bool own = tl_type_dtype(m, tl_value_type(m, v)) == g.dtype;
  return own || !tl_grain_is_coarse(g) ? (tl_grain){0} : g;
}

/* Evaluates the model on the inputs of a folder and compares with its outputs. values: inputs,
 * results and references, which the caller releases. */
static tl_status compare_with_files(tl_evaluation *e, tl_module *m, const tl_tolerance *t,
                                    tl_verify_report *r, tl_host_vec *values) {
  tl_cli *cli = e->cli;
  tl_host_vec *inputs = &values[0], *got = &values[1], *want = &values[2];
  TL_TRY(tl_folder_inputs(e, cli->word2, m, inputs));
  TL_TRY(tl_inputs_check(e, m, inputs, false));
  TL_TRY(tl_folder_outputs(e, cli->word2, m, want));
  TL_TRY(run_either(e, cli->word, m, inputs, got));
  if (!tl_grains_find(m, e->options.emulate, &r->grains[0]))
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  for (uint32_t i = 0; i < got->n; i++) {
    tl_value_id v = tl_graph_output(m, tl_module_main(m), i);
    tl_output_row row = {.name = tl_output_name(m, i),
                         .got = got->at[i],
                         .want = want->at[i],
                         .grain = grain_beyond_type(m, &r->grains[0], v)};
    if (row.want)
      TL_TRY(tl_verify_output(cli, r, row, t, false));
  }
  return tl_verify_print(cli, r);
}

/* Compares with the outputs of a folder, which also holds the inputs. */
static tl_status verify_files(tl_evaluation *e, tl_module *a, const tl_tolerance *t) {
  static const tl_option_id others[] = {TL_OPTION_INPUT, TL_OPTION_DIM};
  tl_verify_report r = {.tolerance = t};
  tl_host_vec values[3] = {{0}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (tl_cli_has(e->cli, others[i]))
      return tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&e->cli->settings, others[i]),
                     "cannot be combined with a folder of outputs: it holds the inputs too");
  if (tl_cli_has(e->cli, TL_OPTION_LAYERS))
    return tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT,
                   tl_at_option(&e->cli->settings, TL_OPTION_LAYERS),
                   "cannot be combined with a folder of outputs: there are no tensors within");
  tl_status status = compare_with_files(e, a, t, &r, values);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    tl_values_release(&values[i]);
  tl_verify_report_release(&r);
  return status;
}

/* ---- against a model ------------------------------------------------------------------------ */

/* Makes the inputs of the second model: where images reach it through AIPP, what the device makes
 * of them, which is compared with the floats that the first model gets. */
static tl_status feed_images(tl_evaluation *e, const tl_module *a, tl_module *b,
                             const tl_aipp_feeds *f, tl_verify_report *r, tl_host_vec *values) {
  tl_host_vec device = {0};
  tl_status status = TL_OK;
  for (uint32_t i = 0; i < values[0].n && status == TL_OK; i++)
    if (!tl_values_keep(&device, values[0].at[i]))
      status = tl_fail_memory(&e->cli->diag, TL_NOWHERE);
  for (uint32_t i = 0; i < f->n && status == TL_OK; i++) {
    uint32_t k = f->at[i].input;
    tl_host_release(device.at[k]);
    device.at[k] = tl_host_retain(f->at[i].device);
    tl_output_row row = {.name = tl_value_name(a, tl_module_main(a)->inputs.at[k]),
                         .got = device.at[k],
                         .want = values[0].at[k]};
    tl_aipp_compare(&f->at[i], values[0].at[k], &row.d);
    if (!tl_output_rows_push(&r->outputs, row))
      status = tl_fail_memory(&e->cli->diag, TL_NOWHERE);
  }
  if (status == TL_OK)
    status = tl_inputs_adapt(e, a, &device, b, &values[1]);
  tl_values_release(&device);
  return status;
}

/* Makes the inputs of both models. */
static tl_status make_inputs(tl_evaluation *e, tl_module *a, tl_module *b, tl_aipp_feeds *f,
                             tl_verify_report *r, tl_host_vec *values) {
  bool aipp = tl_cli_has(e->cli, TL_OPTION_AIPP);
  if (aipp)
    TL_TRY(tl_aipp_take(e, a, f, &values[0], &r->note));
  size_t before = r->note.n;
  tl_buf_add_z(&r->note, before ? "; " : "");
  size_t start = r->note.n;
  TL_TRY(tl_inputs_settle(e, a, &values[0], &r->note));
  if (r->note.n == start && before) { /* there is nothing to say of other inputs */
    r->note.n = before;
    r->note.p[before] = '\0';
  }
  if (aipp)
    return feed_images(e, a, b, f, r, values);
  return tl_inputs_adapt(e, a, &values[0], b, &values[1]);
}

/* Prepares the comparison of inner tensors. kin: of b; NULL: without layers. */
static tl_status prepare(tl_evaluation *e, tl_module *a, tl_module *b, const tl_kin *kin,
                         tl_verify_report *r) {
  tl_dtype emulate = tl_cli_has(e->cli, TL_OPTION_AIPP) ? TL_DTYPE_F16 : e->options.emulate;
  uint64_t most = e->heap.limit ? e->heap.limit / 2 : UINT64_C(2) << 30;
  bool ok = tl_grains_find(a, TL_DTYPE_NONE, &r->grains[0]) &&
            tl_grains_find(b, emulate, &r->grains[1]);
  r->inner = ok && (kin || !tl_cli_has(e->cli, TL_OPTION_RUNNER));
  ok = ok && (!r->inner || tl_twins_init(&r->twins, a, b, r->tolerance, r->grains, most));
  ok = ok && (!kin || tl_twins_add_layers(&r->twins, kin));
  return ok ? TL_OK : tl_fail_memory(&e->cli->diag, TL_NOWHERE);
}

/* Runs the first model, the reference, here or in another runtime. */
static tl_status run_first(tl_evaluation *e, tl_module *a, tl_verify_report *r,
                           tl_host_vec *values) {
  tl_dtype emulate = e->options.emulate;
  if (r->inner && tl_cli_has(e->cli, TL_OPTION_RUNNER))
    return tl_runner_tensors(e, a, &values[0], &values[2],
                             &(tl_runner_watch){tl_twins_watch_a, &r->twins});
  e->options.watch_user = &r->twins;
  e->options.watch = r->inner ? tl_twins_watch_a : NULL;
  e->options.emulate = TL_DTYPE_NONE;
  tl_status status = run_either(e, e->cli->word, a, &values[0], &values[2]);
  e->options.watch = NULL;
  e->options.emulate = emulate;
  return status;
}

/* Runs the second model once more, each node on operands of the first. */
static tl_status run_layers(tl_evaluation *e, tl_module *b, const tl_host_vec *inputs) {
  tl_host_vec again = {0};
  e->options.replace = tl_twins_replace;
  tl_status status = tl_evaluation_run(e, b, inputs, &again);
  e->options.replace = NULL;
  tl_values_release(&again);
  return status;
}

/* Says how many files were of use. */
static void note_dumps(tl_buf *note, const tl_dumps *d) {
  tl_buf_printf(note, "%s%u dumped tensors are compared", note->n ? "; " : "", d->used);
  if (d->foreign)
    tl_buf_printf(note, ", %u files are of other nodes or of inputs", d->foreign);
  if (d->again)
    tl_buf_printf(note, ", %u files are of tensors that an earlier file has", d->again);
}

/* Takes what a device recorded in place of a run of the second model. outputs: receives those that
 * were recorded, NULL for others. */
static tl_status take_dumps(tl_evaluation *e, tl_module *b, tl_verify_report *r,
                            tl_host_vec *outputs) {
  tl_dumps found;
  if (e->cli->inputs.n == 0 && tl_module_main(b)->inputs.n)
    tl_warn(&e->cli->diag, tl_at_option(&e->cli->settings, TL_OPTION_DUMPS),
            "the inputs are random, so all tensors will differ from those that a device made of "
            "others\vgive the inputs of its run with --input");
  TL_TRY(tl_dumps_read(e, &r->twins, &found));
  note_dumps(&r->note, &found);
  for (uint32_t i = 0; i < tl_graph_n_outputs(b, tl_module_main(b)); i++) {
    tl_value_id v = tl_graph_output(b, tl_module_main(b), i);
    if (!tl_values_keep(outputs, r->twins.given[v]))
      return tl_fail_memory(&e->cli->diag, TL_NOWHERE);
  }
  return tl_twins_compare_given(&r->twins);
}

/* Runs the second model. */
static tl_status run_second(tl_evaluation *e, tl_module *b, tl_verify_report *r,
                            tl_host_vec *values) {
  e->options.watch_user = &r->twins;
  if (tl_cli_has(e->cli, TL_OPTION_DUMPS))
    return take_dumps(e, b, r, &values[3]);
  e->options.watch = r->inner ? tl_twins_watch_b : NULL;
  tl_status status = tl_evaluation_run(e, b, &values[1], &values[3]);
  e->options.watch = NULL;
  return status;
}

/* Runs both models on the same inputs. The first is the reference: only it may run in another
 * runtime, and only the second imitates an NPU. */
static tl_status run_both(tl_evaluation *e, tl_module *a, tl_module *b, const tl_kin *kin,
                          tl_verify_report *r, tl_host_vec *values) {
  TL_TRY(prepare(e, a, b, kin, r));
  TL_TRY(run_first(e, a, r, values));
  tl_status status = run_second(e, b, r, values);
  if (status == TL_OK && kin)
    status = run_layers(e, b, &values[1]);
  if (status == TL_OK)
    status = tl_verify_outputs(e, a, b, &values[2], r->tolerance, r);
  return status == TL_OK ? tl_verify_print(e->cli, r) : status;
}

/* Loads the second model: another one, or the first in NPU form. kin: receives what its results
 * are; NULL without layers. */
static tl_status load_second(tl_evaluation *e, tl_kin *kin, tl_module **b) {
  const tl_cli *cli = e->cli;
  bool npu = tl_cli_has(cli, TL_OPTION_NPU_FORM);
  e->loaded = kin ? tl_kin_note : NULL;
  e->loaded_user = kin;
  tl_status status = cli->word2 ? tl_evaluation_load_other(e, cli->word2, b)
                     : npu      ? tl_evaluation_load_npu(e, cli->word, b)
                                : tl_evaluation_load(e, cli->word, b);
  e->loaded = NULL;
  return status;
}

/* Compares two models; the second is another one, or the first in NPU form. */
static tl_status verify_models(tl_evaluation *e, tl_module *a, const tl_tolerance *t) {
  tl_verify_report r = {.tolerance = t};
  tl_host_vec values[4] = {{0}};
  tl_module *b = NULL;
  tl_aipp_feeds feeds = {0};
  tl_kin kin = {.other = a}, *layers = tl_cli_has(e->cli, TL_OPTION_LAYERS) ? &kin : NULL;
  r.skips_new = layers != NULL;
  tl_status status = load_second(e, layers, &b);
  if (status == TL_OK)
    status = make_inputs(e, a, b, &feeds, &r, values);
  if (status == TL_OK)
    status = run_both(e, a, b, layers, &r, values);
  tl_aipp_release(&feeds);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    tl_values_release(&values[i]);
  tl_verify_report_release(&r);
  tl_kin_release(&kin);
  tl_module_destroy(b);
  return status;
}

/* Chooses between a folder of outputs and a second model. */
static tl_status verify(tl_evaluation *e, const tl_tolerance *t) {
  tl_module *m;
  bool files = e->cli->word2 && tl_is_folder(e->cli->word2);
  static const tl_option_id own[] = {TL_OPTION_EXACT, TL_OPTION_EMULATE};
  for (size_t i = 0; files && i < sizeof own / sizeof *own; i++)
    if (tl_cli_has(e->cli, TL_OPTION_RUNNER) && tl_cli_has(e->cli, own[i]))
      return tl_fail(
          &e->cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&e->cli->settings, own[i]),
          "cannot be combined with --runner and a folder, because the evaluator computes nothing");
  TL_TRY(files && tl_cli_has(e->cli, TL_OPTION_NPU_FORM)
             ? tl_evaluation_load_npu(e, e->cli->word, &m)
             : tl_evaluation_load(e, e->cli->word, &m));
  tl_status status = files ? verify_files(e, m, t) : verify_models(e, m, t);
  tl_module_destroy(m);
  return status;
}

/* Checks the arguments that are no options against --npu. */
static tl_status check_words(tl_cli *cli) {
  bool npu = tl_cli_has(cli, TL_OPTION_NPU_FORM), folder = cli->word2 && tl_is_folder(cli->word2);
  bool aipp = tl_cli_has(cli, TL_OPTION_AIPP);
  if (aipp && folder)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, TL_OPTION_AIPP),
                   "cannot be combined with a folder of outputs\vgive the image and the floats "
                   "with --input NAME=FILE");
  if (!aipp && tl_cli_has(cli, TL_OPTION_INSERT_OP_CONF))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                   tl_at_option(&cli->settings, TL_OPTION_INSERT_OP_CONF),
                   "has no effect without --aipp\vadd --aipp: images go through the description");
  if (!cli->word || (!cli->word2 && !npu && !aipp))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "this command compares two models, or a model with a folder of outputs\vtailor "
                   "verify MODEL MODEL|FOLDER, or tailor verify MODEL --npu");
  if (tl_cli_has(cli, TL_OPTION_DUMPS) && !tl_cli_has(cli, TL_OPTION_LAYERS))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, TL_OPTION_DUMPS),
                   "has no effect without --layers");
  if (tl_cli_has(cli, TL_OPTION_PAGE) && !tl_cli_has(cli, TL_OPTION_LAYERS))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, TL_OPTION_PAGE),
                   "shows what --layers finds: give that option, too");
  if (tl_cli_has(cli, TL_OPTION_DUMP_SHAPES) && !tl_cli_has(cli, TL_OPTION_DUMPS))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                   tl_at_option(&cli->settings, TL_OPTION_DUMP_SHAPES),
                   "has no effect without --dumps");
  if (npu && cli->word2 && !folder)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                   tl_at_option(&cli->settings, TL_OPTION_NPU_FORM),
                   "cannot be combined with a second model: it compares a model with its own NPU "
                   "form");
  if (npu && folder && tl_cli_has(cli, TL_OPTION_RUNNER))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                   tl_at_option(&cli->settings, TL_OPTION_NPU_FORM),
                   "cannot be combined with --runner and a folder: other runtimes know ONNX's ops "
                   "only");
  return TL_OK;
}

/* ---- after convert --------------------------------------------------------------------------- */

/* Says which files are compared: there may be several. */
static tl_status announce(tl_cli *cli, const tl_output *o) {
  tl_buf line;
  tl_buf_init(&line);
  tl_buf_printf(&line, "%s against %s\n", o->path, cli->word ? cli->word : "the model");
  return tl_cli_print(cli, &line);
}

/* Compares one file with the model that it was made of. */
static tl_status verify_output(tl_cli *cli, const tl_tolerance *t, const tl_output *o) {
  tl_evaluation e;
  tl_module *m;
  cli->word2 = o->path;
  TL_TRY(announce(cli, o));
  tl_status status = tl_evaluation_init(&e, cli);
  if (status == TL_OK)
    status = tl_evaluation_load(&e, cli->word, &m);
  if (status == TL_OK) {
    status = verify_models(&e, m, t);
    tl_module_destroy(m);
  }
  tl_evaluation_release(&e);
  if (status == TL_UNSUPPORTED) /* an op of the user's, most of the time */
    tl_warn(&cli->diag, TL_AT_FILE(o->path),
            "the file is complete; it was not compared, since not all ops can be run here\v"
            "a file of --rules may define what they mean (docs/rules.md), for the model and for "
            "npu:: ops of AIR; without --verify the command ends with 0");
  return status;
}

tl_status tl_verify_check_converted(tl_cli *cli) {
  tl_settings *s = &cli->settings;
  tl_sv paths =
      tl_sv_from(tl_cli_has(cli, TL_OPTION_OUTPUT) ? tl_cli_get(cli, TL_OPTION_OUTPUT) : "");
  bool stream = cli->word && strcmp(cli->word, "-") == 0;
  for (size_t i = 0; i < paths.n; i++)
    stream = stream || (paths.p[i] == '-' && (i == 0 || paths.p[i - 1] == '\n') &&
                        (i + 1 == paths.n || paths.p[i + 1] == '\n'));
  if (stream)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(s, TL_OPTION_VERIFY),
                   "needs files: the model is read again, and so is what was written");
  if (tl_cli_has(cli, TL_OPTION_ACCELERATE_TRAIN_MODE))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(s, TL_OPTION_VERIFY),
                   "cannot be combined with --accelerate-train-mode, which writes two models"
                   "\vcompare each by tailor verify");
  return TL_OK;
}

tl_status tl_verify_converted(tl_cli *cli) {
  tl_tolerance t;
  tl_output_vec outputs = {0};
  tl_status status = tl_verify_tolerance(cli, &t);
  if (status == TL_OK)
    status = tl_output_plan(cli, TL_FORMAT_AIR, &outputs);
  for (uint32_t i = 0; status == TL_OK && i < outputs.n; i++)
    if (outputs.at[i].format != TL_FORMAT_PBTXT) /* a dump for viewers, without weights */
      status = verify_output(cli, &t, &outputs.at[i]);
  tl_output_vec_release(&outputs);
  return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

tl_status tl_command_verify(tl_cli *cli) {
  tl_tolerance t;
  tl_evaluation e;
  TL_TRY(check_words(cli));
  TL_TRY(tl_settings_resolve(&cli->settings, &cli->diag));
  TL_TRY(tl_verify_tolerance(cli, &t));
  tl_status status = tl_evaluation_init(&e, cli);
  if (status == TL_OK)
    status = verify(&e, &t);
  tl_evaluation_release(&e);
  return status;
}
