/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor extract, which writes a part of a model, and the tensors at its border. */
#include "tools/extract/extract.h"

#include "ir/infer/infer.h"
#include "ir/verify/verify.h"
#include "support/json_writer.h"
#include "tools/cli/output.h"
#include "tools/convert/pipeline.h"

static bool wants(const tl_output_vec *v, tl_format format) {
  for (uint32_t i = 0; i < v->n; i++)
    if (v->at[i].format == format)
      return true;
  return false;
}

/* ---- the part -------------------------------------------------------------------------------- */

static tl_status cut(tl_part *p) {
  p->value = calloc(tl_module_value_end(p->m), sizeof *p->value);
  p->node = calloc(tl_module_node_end(p->m), sizeof *p->node);
  if (!p->value || !p->node)
    return tl_fail_memory(&p->cli->diag, TL_NOWHERE);
  TL_TRY(tl_part_names(p));
  TL_TRY(tl_part_walk(p));
  TL_TRY(tl_part_cut(p));
  return tl_module_verify(p->m, TL_VERIFY_ALL & ~(unsigned)TL_VERIFY_SHAPES);
}

/* Adds "word name: type" for inputs or outputs. */
static void add_value(const tl_module *m, tl_value_id v, const char *word, tl_buf *out) {
  tl_sv name = tl_sv_shown(tl_value_name(m, v));
  tl_buf_printf(out, "%-8s %.*s: ", word, TL_SV_ARG(name));
  tl_type_print(m, tl_value_type(m, v), out);
  tl_buf_add_char(out, '\n');
}

/* Says what the part is. before: nodes of the whole main graph. */
static void describe(const tl_part *p, uint32_t before, tl_buf *out) {
  const tl_graph *g = tl_module_main(p->m);
  tl_buf_printf(out, "part     %u of %u nodes\n", g->n_nodes, before);
  for (uint32_t i = 0; i < g->inputs.n; i++)
    add_value(p->m, g->inputs.at[i], "input", out);
  for (uint32_t i = 0; i < tl_graph_n_outputs(p->m, g); i++)
    add_value(p->m, tl_graph_output(p->m, g, i), "output", out);
  tl_buf_add_sv(out, tl_buf_view(&p->notes));
}

static void put_values(const tl_part *p, bool inputs, tl_json_writer *w) {
  const tl_graph *g = tl_module_main(p->m);
  uint32_t n = inputs ? g->inputs.n : tl_graph_n_outputs(p->m, g);
  tl_json_line(w, 1);
  tl_put_key(w, inputs ? "inputs" : "outputs");
  tl_put_array(w);
  for (uint32_t i = 0; i < n; i++) {
    tl_buf type;
    tl_value_id v = inputs ? g->inputs.at[i] : tl_graph_output(p->m, g, i);
    tl_buf_init(&type);
    tl_type_print(p->m, tl_value_type(p->m, v), &type);
    tl_put_object(w);
    tl_member_sv(w, "name", tl_value_name(p->m, v));
    tl_member_sv(w, "type", tl_buf_view(&type));
    tl_put_end(w);
    tl_buf_release(&type);
  }
  tl_put_end(w);
}

/* The same as describe() as JSON. */
static void describe_json(const tl_part *p, uint32_t before, tl_buf *out) {
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  tl_put_object(w);
  tl_member_u64(w, "schema", 1);
  tl_member_z(w, "model", p->cli->word);
  tl_member_u64(w, "nodes", tl_module_main(p->m)->n_nodes);
  tl_member_u64(w, "nodes_before", before);
  put_values(p, true, w);
  put_values(p, false, w);
  tl_json_line(w, 1);
  tl_put_key(w, "files");
  tl_put_array(w);
  for (uint32_t i = 0; i < p->cli->outputs.n; i++)
    tl_put_z(w, p->cli->outputs.at[i]);
  tl_put_end(w);
  tl_json_line(w, 1);
  tl_member_sv(w, "notes", tl_buf_view(&p->notes));
  tl_json_finish(w);
}

/* ---- output ---------------------------------------------------------------------------------- */

static tl_status write_formats(tl_cli *cli, tl_module *m, tl_output_vec *v, bool npu) {
  for (uint32_t i = 0; i < v->n; i++)
    if (tl_format_is_npu(v->at[i].format) == npu)
      TL_TRY(tl_output_write(cli, m, &v->at[i]));
  return TL_OK;
}

static bool wants_npu(const tl_output_vec *v) {
  return wants(v, TL_FORMAT_AIR) || wants(v, TL_FORMAT_PBTXT);
}

/* Writes what needs no change of form first. Textual IR beside ONNX is what ONNX gets. */
static tl_status write_all(tl_cli *cli, tl_module *m, tl_output_vec *v) {
  bool npu = m->form == TL_FORM_NPU;
  if (npu && !wants(v, TL_FORMAT_ONNX)) {
    TL_TRY(write_formats(cli, m, v, true));
    return write_formats(cli, m, v, false);
  }
  TL_TRY(write_formats(cli, m, v, npu));
  if (npu)
    TL_TRY(tl_session_raise(&cli->session, m));
  if (!npu && wants_npu(v)) {
    TL_TRY(tl_cli_run(cli, m, TL_STAGE_FIRST, NULL));
    TL_TRY(tl_cli_run_npu(cli, m, NULL));
  }
  return write_formats(cli, m, v, !npu);
}

/* Makes and writes the part. text: what to tell once the files are there. */
static tl_status extract(tl_cli *cli, tl_module *m, tl_output_vec *v, tl_buf *text) {
  tl_part p = {.cli = cli, .m = m};
  uint32_t before = tl_module_main(m)->n_nodes;
  tl_buf_init(&p.notes);
  tl_status status = tl_session_settle(&cli->session, m);
  if (status == TL_OK)
    status = cut(&p);
  bool json = tl_cli_has(cli, TL_OPTION_AS_JSON);
  if (status == TL_OK)
    (json ? describe_json : describe)(&p, before, text);
  tl_part_release(&p);
  TL_TRY(status);
  if (tl_cli_has(cli, TL_OPTION_EXTRACT_DATA))
    TL_TRY(tl_part_record(cli, m, json ? NULL : text));
  TL_TRY(write_all(cli, m, v));
  return tl_cli_apply(cli);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Refuses options of a run when nothing is run. */
static tl_status check_data(tl_cli *cli) {
  static const tl_option_id runs[] = {TL_OPTION_INPUT,  TL_OPTION_DIM,     TL_OPTION_SEED,
                                      TL_OPTION_FORMAT, TL_OPTION_THREADS, TL_OPTION_MAX_TRIPS};
  if (tl_cli_has(cli, TL_OPTION_EXTRACT_DATA))
    return strcmp(cli->word, "-") != 0
               ? TL_OK
               : tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                         tl_at_option(&cli->settings, TL_OPTION_EXTRACT_DATA),
                         "reads the model twice, which standard input does not allow"
                         "\vname a file");
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
    if (tl_cli_has(cli, runs[i]))
      return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, runs[i]),
                     "has no effect without --data, which runs the model");
  return TL_OK;
}

static tl_status check(tl_cli *cli) {
  if (!cli->word)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "no model is named\vtailor extract MODEL --from A,B --to C,D -o PART");
  if (!tl_cli_has(cli, TL_OPTION_EXTRACT_FROM) && !tl_cli_has(cli, TL_OPTION_EXTRACT_TO))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "neither --from nor --to is given, so the part would be the model"
                   "\vtailor extract MODEL --from A,B --to C,D -o PART");
  if (cli->outputs.n == 0)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "no output is named\vadd -o OUTPUT, for example -o part.onnx");
  return check_data(cli);
}

tl_status tl_command_extract(tl_cli *cli) {
  tl_module *m = NULL;
  tl_output_vec outputs = {0};
  tl_buf text;
  TL_TRY(check(cli));
  TL_TRY(tl_settings_resolve(&cli->settings, &cli->diag));
  tl_buf_init(&text);
  tl_status status = tl_output_plan(cli, TL_FORMAT_AIR, &outputs);
  if (status == TL_OK)
    status = tl_session_load(&cli->session, cli->word, &m);
  if (status == TL_OK)
    status = tl_output_check(cli, m, &outputs);
  if (status == TL_OK)
    status = extract(cli, m, &outputs, &text);
  if (status == TL_OK && tl_cli_has(cli, TL_OPTION_AS_JSON))
    status = tl_cli_print(cli, &text);
  else if (status == TL_OK)
    tl_cli_note(cli, &text);
  else
    tl_buf_release(&text);
  if (m)
    tl_module_destroy(m);
  tl_output_vec_release(&outputs);
  return status;
}
