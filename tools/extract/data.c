/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the tensors at the border of a part: the whole model is read again and run, and values
 * that have the names of the part's inputs and outputs are kept. */
#include "tools/extract/extract.h"
#include "tools/run/inputs.h"
#include "tools/run/value_files.h"

/* State of a recording. */
typedef struct border {
  const tl_module *part;
  tl_map slots; /* symbol of the part -> index of an input, or inputs + index of an output */
  tl_host_vec inputs;
  tl_host_vec outputs;
} border;

static tl_value_id border_value(const border *b, uint32_t slot) {
  const tl_graph *g = tl_module_main(b->part);
  return slot < g->inputs.n ? g->inputs.at[slot] : tl_graph_output(b->part, g, slot - g->inputs.n);
}

static tl_host **border_host(border *b, uint32_t slot) {
  return slot < b->inputs.n ? &b->inputs.at[slot] : &b->outputs.at[slot - b->inputs.n];
}

/* Keeps a value if the border has its name. */
static void keep(border *b, tl_sv name, const tl_host *value) {
  uint32_t slot;
  tl_symbol s = tl_symbol_find(&b->part->symbols, name);
  if (!value || s == 0 || s == TL_NO_SYMBOL || !tl_map_find(&b->slots, s, &slot))
    return;
  tl_host **at = border_host(b, slot);
  tl_host_release(*at);
  *at = tl_host_retain((tl_host *)(uintptr_t)value); /* counting references changes no value */
}

/* The evaluator calls this for each result when it is made. */
static tl_status watch(void *user, const tl_module *m, tl_value_id v, const tl_host *value) {
  if (tl_value_graph(m, v) == tl_module_main(m)->id)
    keep(user, tl_value_name(m, v), value);
  return TL_OK;
}

static tl_status open_border(tl_cli *cli, border *b) {
  const tl_graph *g = tl_module_main(b->part);
  uint32_t n = tl_graph_n_outputs(b->part, g);
  bool good = true;
  for (uint32_t i = 0; i < g->inputs.n; i++)
    good = good && tl_host_vec_push(&b->inputs, NULL);
  for (uint32_t i = 0; i < n; i++)
    good = good && tl_host_vec_push(&b->outputs, NULL);
  for (uint32_t i = 0; good && i < g->inputs.n + n; i++)
    good = tl_map_set(&b->slots, tl_value_get(b->part, border_value(b, i))->name, i);
  return good ? TL_OK : tl_fail_memory(&cli->diag, TL_NOWHERE);
}

/* An input that has a default may lack a value. */
static tl_status check_border(tl_cli *cli, border *b) {
  for (uint32_t i = 0; i < b->inputs.n + b->outputs.n; i++) {
    tl_value_id v = border_value(b, i);
    tl_sv name = tl_sv_shown(tl_value_name(b->part, v));
    if (!*border_host(b, i) && !(i < b->inputs.n && tl_value_get(b->part, v)->tensor))
      return tl_fail(
          &cli->diag, TL_UNSUPPORTED, tl_at_option(&cli->settings, TL_OPTION_EXTRACT_DATA),
          "a run of the whole model makes no value '%.*s'\vname another value", TL_SV_ARG(name));
  }
  return TL_OK;
}

static tl_status write_border(tl_cli *cli, border *b) {
  const char *folder = tl_cli_get(cli, TL_OPTION_EXTRACT_DATA);
  const char *suffix = tl_cli_get(cli, TL_OPTION_FORMAT);
  tl_value_files files = {0};
  tl_value_files_init(&files, cli);
  tl_status status = tl_value_files_series(&files, (tl_value_series){folder, "input", suffix},
                                           b->part, false, &b->inputs);
  if (status == TL_OK)
    status = tl_value_files_series(&files, (tl_value_series){folder, "output", suffix}, b->part,
                                   true, &b->outputs);
  tl_value_files_release(&files);
  return status;
}

/* Evaluates the whole model. note: which inputs are random. */
static tl_status run_whole(tl_evaluation *e, border *b, tl_module **m, tl_buf *note) {
  tl_host_vec inputs = {0};
  tl_host_vec outputs = {0};
  TL_TRY(tl_evaluation_load(e, e->cli->word, m));
  const tl_graph *g = tl_module_main(*m);
  e->options.watch = watch;
  e->options.watch_user = b;
  tl_status status = tl_inputs_settle(e, *m, &inputs, note);
  for (uint32_t i = 0; status == TL_OK && i < g->inputs.n; i++)
    keep(b, tl_value_name(*m, g->inputs.at[i]), inputs.at[i]);
  if (status == TL_OK)
    status = tl_evaluation_run(e, *m, &inputs, &outputs);
  tl_values_release(&inputs);
  tl_values_release(&outputs);
  return status;
}

tl_status tl_part_record(tl_cli *cli, const tl_module *part, tl_buf *text) {
  border b = {.part = part};
  tl_evaluation e;
  tl_module *m = NULL;
  tl_buf note;
  tl_buf_init(&note);
  tl_status status = tl_evaluation_init(&e, cli);
  if (status == TL_OK)
    status = open_border(cli, &b);
  if (status == TL_OK)
    status = run_whole(&e, &b, &m, &note);
  if (status == TL_OK)
    status = check_border(cli, &b);
  if (status == TL_OK)
    status = write_border(cli, &b);
  if (note.n && text)
    tl_buf_printf(text, "data     %.*s\n", TL_SV_ARG(tl_buf_view(&note)));
  tl_buf_release(&note);
  tl_values_release(&b.inputs);
  tl_values_release(&b.outputs);
  tl_map_release(&b.slots);
  if (m)
    tl_module_destroy(m);
  tl_evaluation_release(&e);
  return status;
}
