/* SPDX-License-Identifier: Apache-2.0 */
/* Writes all explanations of a model into one page for the browser. */
#include "tools/explain/page.h"

#include "support/json_writer.h"
#include "tools/cli/output.h"
#include "tools/explain/explain.h"
#include "tools/explain/precision.h"
#include "tools/page/page.h"

/* JSON of each explanation. */
typedef struct page {
  tl_cli *cli;
  tl_pipeline_report report;
  tl_buf fusion;
  tl_buf expand;
  tl_buf precision; /* empty: no mode was given */
} page;

static void add_passes(tl_json_writer *w, const tl_pipeline_report *r) {
  for (uint32_t i = 0; i < r->n; i++) {
    tl_json_line(w, 1);
    tl_put_object(w);
    tl_member_z(w, "pass", r->at[i].row->name);
    const tl_count_member counts[] = {{"rewrites", r->at[i].changed},
                                      {"nodes_before", r->at[i].nodes_before},
                                      {"nodes_after", r->at[i].nodes_after}};
    tl_member_counts(w, counts, sizeof counts / sizeof *counts);
    tl_put_end(w);
  }
}

/* Adds the data of the page: the model, the passes and all explanations. */
static void add_json(const page *x, tl_buf *out) {
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  const tl_pipeline_report *r = &x->report;
  const tl_count_member nodes[] = {{"nodes_before", r->n ? r->at[0].nodes_before : 0},
                                   {"nodes_after", r->n ? r->at[r->n - 1].nodes_after : 0}};
  tl_put_object(w);
  tl_member_z(w, "model", x->cli->word);
  tl_member_z(w, "chip", tl_options_chip(&x->cli->settings.options)->name);
  tl_member_counts(w, nodes, sizeof nodes / sizeof *nodes);
  tl_put_key(w, "passes");
  tl_put_array(w);
  add_passes(w, r);
  tl_put_end(w);
  tl_json_line(w, 0);
  tl_put_key(w, "fusion");
  tl_put_made(w, tl_buf_view(&x->fusion));
  tl_json_line(w, 0);
  tl_put_key(w, "expand");
  tl_put_made(w, tl_buf_view(&x->expand));
  tl_json_line(w, 0);
  tl_put_key(w, "precision");
  tl_put_made(w, x->precision.n ? tl_buf_view(&x->precision) : TL_SV("null"));
  tl_put_end(w);
}

/* Runs the pipeline once for each explanation, because each needs other stages. */
static tl_status gather(page *x) {
  tl_pipeline_report unused;
  TL_TRY(tl_explain_rules_json(x->cli, false, &x->report, &x->fusion));
  TL_TRY(tl_explain_rules_json(x->cli, true, &unused, &x->expand));
  if (tl_cli_asks_precision(x->cli))
    TL_TRY(tl_explain_precision_json(x->cli, &x->precision));
  if (x->fusion.failed || x->expand.failed || x->precision.failed)
    return tl_fail_memory(&x->cli->diag, TL_NOWHERE);
  return TL_OK;
}

static tl_status write_page(const page *x) {
  tl_buf json;
  tl_buf_init(&json);
  add_json(x, &json);
  tl_status status = tl_page_write(x->cli, tl_cli_get(x->cli, TL_OPTION_PAGE), &json);
  tl_buf_release(&json);
  return status;
}

/* Refuses options that select a part: the page shows everything and has a search. */
static tl_status check_options(tl_cli *cli) {
  static const tl_option_id others[] = {TL_OPTION_EXPLAIN_FUSION, TL_OPTION_EXPLAIN_EXPAND,
                                        TL_OPTION_EXPLAIN_NODE,   TL_OPTION_EXPLAIN_TYPE,
                                        TL_OPTION_EXPLAIN_CASTS,  TL_OPTION_AS_JSON};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (tl_cli_has(cli, others[i]))
      return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, others[i]),
                     "--page writes all explanations\vleave this option out");
  return TL_OK;
}

tl_status tl_explain_page(tl_cli *cli) {
  page x = {.cli = cli};
  TL_TRY(check_options(cli));
  tl_buf_init(&x.fusion);
  tl_buf_init(&x.expand);
  tl_buf_init(&x.precision);
  tl_status status = gather(&x);
  if (status == TL_OK)
    status = write_page(&x);
  tl_buf_release(&x.fusion);
  tl_buf_release(&x.expand);
  tl_buf_release(&x.precision);
  return status;
}
