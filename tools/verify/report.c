/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what verify found. */
#include "tools/verify/report.h"

#include <math.h>

#include "support/json_writer.h"
#include "tools/cli/output.h"
#include "tools/page/file.h"
#include "tools/page/index.h"
#include "tools/run/value_text.h"
#include "tools/verify/layers.h"

void tl_verify_report_release(tl_verify_report *r) {
  tl_output_rows_release(&r->outputs);
  for (size_t i = 0; i < sizeof r->grains / sizeof *r->grains; i++)
    tl_grains_release(&r->grains[i]);
  if (r->inner)
    tl_twins_release(&r->twins);
  tl_buf_release(&r->note);
}

/* ---- which rows ----------------------------------------------------------------------------- */

/* Orders rows: farthest beyond its tolerance first; the order of execution decides between
 * equals. */
static bool is_worse(const tl_twin *rows, uint32_t i, uint32_t k) {
  const tl_difference *a = &rows[i].d, *b = &rows[k].d;
  if (a->equal != b->equal)
    return !a->equal;
  if (!a->reason != !b->reason)
    return a->reason;
  if (a->excess != b->excess)
    return a->excess > b->excess;
  return i < k;
}

/* Restores the heap below `at`: no row is worse than its parent. */
static void sift(const tl_twin *rows, uint32_t *heap, uint32_t n, uint32_t at) {
  for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && is_worse(rows, heap[child], heap[child + 1]))
      child++;
    if (!is_worse(rows, heap[at], heap[child]))
      return;
    uint32_t t = heap[at];
    heap[at] = heap[child];
    heap[child] = t;
  }
}

/* Returns indices of the `most` worst rows, the worst first; NULL if memory is out. This is
 * heapsort with its own loops, because qsort passes no context to compare rows by index. */
static uint32_t *rank(const tl_twin_vec *rows, uint32_t most, uint32_t *n) {
  uint32_t *heap = malloc((rows->n + 1) * sizeof *heap);
  if (!heap)
    return NULL;
  for (uint32_t i = 0; i < rows->n; i++)
    heap[i] = i;
  for (uint32_t i = rows->n / 2; i-- > 0;)
    sift(rows->at, heap, rows->n, i);
  /* Each round moves the worst remaining row to the end, so the order from the end is the least bad
   * first. */
  for (uint32_t left = rows->n; left > 1; left--) {
    uint32_t t = heap[0];
    heap[0] = heap[left - 1];
    heap[left - 1] = t;
    sift(rows->at, heap, left - 1, 0);
  }
  *n = rows->n < most ? rows->n : most;
  while (*n && rows->at[heap[*n - 1]].d.equal && rows->at[heap[*n - 1]].d.max_abs <= 0)
    --*n; /* identical tensors teach nothing */
  return heap;
}

/* Returns the first row in order of execution that differs: the cause is at or before it. */
static const tl_twin *first_that_differs(const tl_twin_vec *rows, uint32_t *n_differ) {
  const tl_twin *first = NULL;
  *n_differ = 0;
  for (uint32_t i = 0; i < rows->n; i++) {
    if (rows->at[i].d.equal)
      continue;
    first = first ? first : &rows->at[i];
    ++*n_differ;
  }
  return first;
}

/* Returns the op that makes a value; a constant has none. */
static tl_sv op_of(const tl_module *m, tl_value_id v) {
  tl_node_id n = tl_value_producer(m, v);
  return n ? tl_op_name(m, tl_node_get(m, n)->op) : TL_SV("constant");
}

/* ---- text ----------------------------------------------------------------------------------- */

/* Adds how far an output is off, or why its elements cannot be compared. */
static void add_difference(tl_buf *out, const tl_output_row *row) {
  const tl_difference *d = &row->d;
  if (d->reason) {
    tl_buf_printf(out, "%s: ", d->reason);
    tl_add_type(out, row->got);
    tl_buf_add_z(out, " against ");
    tl_add_type(out, row->want);
    return;
  }
  tl_buf_printf(out, "%llu of %llu elements differ, max abs ", (unsigned long long)d->off,
                (unsigned long long)d->n);
  tl_add_short(out, d->max_abs);
  tl_buf_add_z(out, ", max rel ");
  tl_add_short(out, d->max_rel);
  tl_buf_add_z(out, ", cosine ");
  tl_add_short(out, d->cosine);
  if (d->rows)
    tl_buf_printf(out, ", top differs in %llu of %llu row%s", (unsigned long long)d->rows_off,
                  (unsigned long long)d->rows, d->rows > 1 ? "s" : "");
}

static void add_worst(tl_buf *out, const tl_difference *d) {
  tl_buf_printf(out, "; the worst is element %llu: ", (unsigned long long)d->worst);
  tl_buf_add_f64(out, d->got);
  tl_buf_add_z(out, " against ");
  tl_buf_add_f64(out, d->want);
}

/* Appends a part to the line that begins at *start; on a line of its own if that one gets too
 * long. */
static void append_part(tl_buf *out, size_t *start, tl_buf *part, size_t skip) {
  static const char indent[] = "        ";
  if (out->n - *start + part->n > TL_TEXT_WIDTH && part->n > skip) {
    tl_buf_add_char(out, '\n');
    *start = out->n;
    tl_buf_add_z(out, indent);
    tl_buf_add(out, part->p + skip, part->n - skip);
  } else {
    tl_buf_add_sv(out, tl_buf_view(part));
  }
  out->failed = out->failed || part->failed;
  tl_buf_release(part);
}

/* Adds one output: its name, how much it differs, and its worst element. */
static void add_output(tl_buf *out, const tl_output_row *row) {
  tl_buf part;
  size_t start = out->n;
  tl_buf_add_z(out, row->d.equal ? "equal   " : "differs ");
  tl_buf_add_quoted(out, row->name);
  tl_buf_add_char(out, ':');
  tl_buf_init(&part);
  tl_buf_add_char(&part, ' ');
  add_difference(&part, row);
  append_part(out, &start, &part, 1);
  if (row->d.off && !row->d.reason) {
    tl_buf_init(&part);
    add_worst(&part, &row->d);
    append_part(out, &start, &part, sizeof "; " - 1);
  }
  tl_buf_add_char(out, '\n');
}

/* Returns the grain of the output that was allowed the most. */
static tl_grain coarsest(const tl_verify_report *r) {
  tl_grain worst = {0};
  for (uint32_t i = 0; r->tolerance->by_depth && i < r->outputs.n; i++)
    if (tl_grain_share(r->outputs.at[i].grain) > tl_grain_share(worst))
      worst = r->outputs.at[i].grain;
  return worst;
}

void tl_verify_add_tolerance(tl_buf *out, const tl_tolerance *t) {
  tl_buf_add_z(out, "tolerance ");
  if (t->elements) {
    tl_buf_add_f64(out, t->atol);
    tl_buf_add_z(out, " + ");
    tl_buf_add_f64(out, t->rtol);
    tl_buf_add_z(out, " |b|");
  }
  if (t->cosine >= 0) {
    tl_buf_add_z(out, t->elements ? ", cosine " : "cosine ");
    tl_buf_add_f64(out, t->cosine);
  }
  if (t->top)
    tl_buf_printf(out, "%sthe same %u largest of each row",
                  t->elements || t->cosine >= 0 ? ", " : "", t->top);
}

/* Adds what the comparison allowed, for coarse dtypes "atol + rtol |b| + share max|b|". */
static void add_tolerance(tl_buf *out, const tl_verify_report *r) {
  tl_grain g = coarsest(r);
  tl_verify_add_tolerance(out, r->tolerance);
  if (g.unit > 0) {
    tl_buf_add_z(out, " + ");
    tl_add_short(out, tl_grain_share(g));
    tl_buf_printf(out, " max|b| (%.0f rounding%s to %s)", g.steps, g.steps > 1 ? "s" : "",
                  tl_dtype_get(g.dtype)->name);
  }
  tl_buf_add_char(out, '\n');
}

/* Adds the tolerance and one line for each output. */
static void add_outputs(tl_buf *out, const tl_verify_report *r) {
  if (r->note.n) {
    tl_buf_add_sv(out, tl_buf_view(&r->note));
    tl_buf_add_char(out, '\n');
  }
  add_tolerance(out, r);
  for (uint32_t i = 0; i < r->outputs.n; i++)
    add_output(out, &r->outputs.at[i]);
}

/* Adds one inner tensor to the table. */
static void add_row(tl_table *t, const tl_module *m, const tl_twin *row) {
  tl_buf_add_quoted(&t->text, tl_value_name(m, row->value));
  tl_table_cell(t);
  tl_buf_add_sv(&t->text, op_of(m, row->value));
  tl_table_cell(t);
  tl_buf_add_u64(&t->text, row->d.off);
  tl_table_cell(t);
  const double numbers[] = {row->d.max_abs, row->d.max_rel, row->d.cosine};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (row->d.reason)
      tl_buf_add_char(&t->text, '-');
    else
      tl_add_short(&t->text, numbers[i]);
    tl_table_cell(t);
  }
  tl_table_add(t, row->d.reason ? row->d.reason : row->d.equal ? "equal" : "differs");
}

/* Adds the counts of inner tensors, the first that differs, and the `most` worst ones. */
static void add_inner(tl_buf *out, const tl_twins *t, uint32_t most) {
  static const char *const heads[] = {"tensor",  "op",     "off",    "max abs",
                                      "max rel", "cosine", "verdict"};
  uint32_t n_differ, n = 0;
  const tl_twin *first = first_that_differs(&t->rows, &n_differ);
  tl_buf_printf(out, "%u tensors have the same name, %u of them differ", t->rows.n + t->skipped,
                n_differ);
  if (t->skipped)
    tl_buf_printf(out, ", %u were not compared for lack of memory (--memory-limit)", t->skipped);
  tl_buf_add_char(out, '\n');
  if (first) {
    tl_buf_add_z(out, "the first that differs: ");
    tl_buf_add_quoted(out, tl_value_name(t->b, first->value));
    tl_buf_printf(out, " (%.*s)\n", TL_SV_ARG(op_of(t->b, first->value)));
  }
  uint32_t *order = rank(&t->rows, most, &n);
  tl_table table = {.columns = sizeof heads / sizeof *heads};
  for (size_t i = 0; n && i < sizeof heads / sizeof *heads; i++)
    tl_table_add(&table, heads[i]);
  for (uint32_t i = 0; i < n; i++)
    add_row(&table, t->b, &t->rows.at[order[i]]);
  tl_table_print(out, &table);
  out->failed = out->failed || !order;
  free(order);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* Adds the tolerance; NaN becomes null, which means that it was not asked for. */
static void json_tolerance(tl_json_writer *w, const tl_verify_report *r) {
  const tl_tolerance *t = r->tolerance;
  tl_grain g = coarsest(r);
  tl_put_object(w);
  tl_member_f64(w, "rtol", t->elements ? t->rtol : (double)NAN);
  tl_member_f64(w, "atol", t->elements ? t->atol : (double)NAN);
  tl_member_f64(w, "cosine", t->cosine);
  if (t->top)
    tl_member_u64(w, "top_k", t->top);
  tl_member_f64(w, "share", tl_grain_share(g));
  tl_member_z(w, "dtype", g.unit > 0 ? tl_dtype_get(g.dtype)->name : "");
  tl_member_fixed(w, "roundings", g.steps, 0);
  tl_put_end(w);
}

static void json_row(tl_json_writer *w, tl_sv name, const tl_difference *d) {
  tl_json_line(w, 2);
  tl_put_object(w);
  tl_member_sv(w, "name", name);
  tl_member_bool(w, "equal", d->equal);
  if (d->reason)
    tl_member_z(w, "reason", d->reason);
  tl_member_u64(w, "elements", d->n);
  tl_member_u64(w, "off", d->off);
  tl_member_f64(w, "max_abs", d->max_abs);
  tl_member_f64(w, "max_rel", d->max_rel);
  tl_member_f64(w, "largest", d->largest);
  tl_member_f64(w, "unit", d->unit);
  tl_member_f64(w, "cosine", d->cosine);
  if (d->rows)
    tl_member_u64(w, "rows_off", d->rows_off);
  tl_put_end(w);
}

/* Adds the inner tensors as JSON. */
static void json_inner(tl_json_writer *w, const tl_twins *t, uint32_t most) {
  uint32_t n_differ, n = 0;
  const tl_twin *first = first_that_differs(&t->rows, &n_differ);
  uint32_t *order = rank(&t->rows, most, &n);
  tl_json_line(w, 1);
  tl_put_key(w, "tensors");
  tl_put_object(w);
  tl_member_u64(w, "compared", t->rows.n);
  tl_member_u64(w, "skipped", t->skipped);
  tl_member_u64(w, "differ", n_differ);
  tl_put_key(w, "first");
  if (first)
    tl_put_sv(w, tl_value_name(t->b, first->value));
  else
    tl_put_null(w);
  tl_put_key(w, "worst");
  tl_put_array(w);
  for (uint32_t i = 0; i < n; i++)
    json_row(w, tl_value_name(t->b, t->rows.at[order[i]].value), &t->rows.at[order[i]].d);
  tl_put_end(w);
  tl_put_end(w);
  w->out->failed = w->out->failed || !order;
  free(order);
}

static void add_json(tl_buf *out, const tl_verify_report *r, bool equal, uint32_t most) {
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  tl_put_object(w);
  tl_member_u64(w, "schema", 1);
  tl_member_bool(w, "equal", equal);
  tl_member_sv(w, "note", tl_buf_view(&r->note));
  tl_json_line(w, 1);
  tl_put_key(w, "tolerance");
  json_tolerance(w, r);
  tl_json_line(w, 1);
  tl_put_key(w, "outputs");
  tl_put_array(w);
  for (uint32_t i = 0; i < r->outputs.n; i++)
    json_row(w, r->outputs.at[i].name, &r->outputs.at[i].d);
  tl_put_end(w);
  if (r->inner && r->twins.layers) {
    tl_json_line(w, 1);
    tl_put_key(w, "layers");
    tl_layers_json(w, &r->twins, most);
  } else if (r->inner) {
    json_inner(w, &r->twins, most);
  }
  tl_json_finish(w);
}

/* Makes and writes the page of the model whose tensors were compared: of the second one as it is,
 * or of the way of the first one to NPU form. */
static tl_status make_page(tl_cli *cli, tl_view_model *model, tl_chunks *chunks, tl_sv report) {
  bool second = cli->word2 != NULL;
  const tl_view_request request = {.cli = cli,
                                   .path = second ? cli->word2 : cli->word,
                                   .errors = report,
                                   .bare = !tl_cli_has(cli, TL_OPTION_NPU_FORM)};
  const tl_view_about about = {.cli = cli,
                               .what = "view",
                               .overlay = "error",
                               .against = second ? cli->word : NULL,
                               .models = model,
                               .n = 1};
  TL_TRY(tl_view_model_make(model, &request, chunks));
  TL_TRY(tl_view_add_index(&about, chunks));
  return tl_view_put_page(&about, tl_cli_get(cli, TL_OPTION_PAGE), chunks);
}

/* Writes the page, with the report as its overlay of errors. */
static tl_status write_page(tl_cli *cli, const tl_verify_report *r, uint32_t most) {
  tl_view_model model;
  tl_chunks chunks = {0};
  tl_buf report;
  tl_buf_init(&report);
  add_json(&report, r, !cli->differs, most);
  if (report.failed) {
    tl_buf_release(&report);
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  }
  tl_status status = make_page(cli, &model, &chunks, tl_buf_view(&report));
  tl_view_model_release(&model);
  tl_chunks_release(&chunks);
  tl_buf_release(&report);
  return status;
}

tl_status tl_verify_print(tl_cli *cli, tl_verify_report *r) {
  uint64_t most = 0;
  tl_buf out;
  tl_buf_init(&out);
  /* The option table bounds the number, so it fits 32 bits. */
  if (!tl_parse_u64(tl_sv_from(tl_cli_get(cli, TL_OPTION_TENSORS)), &most))
    return TL_INTERNAL;
  for (uint32_t i = 0; i < r->outputs.n; i++)
    cli->differs = cli->differs || !r->outputs.at[i].d.equal;
  if (tl_cli_has(cli, TL_OPTION_PAGE))
    TL_TRY(write_page(cli, r, (uint32_t)most));
  if (tl_cli_has(cli, TL_OPTION_AS_JSON)) {
    add_json(&out, r, !cli->differs, (uint32_t)most);
  } else {
    add_outputs(&out, r);
    if (r->inner && r->twins.layers)
      tl_layers_text(&out, &r->twins, (uint32_t)most);
    else if (r->inner)
      add_inner(&out, &r->twins, (uint32_t)most);
  }
  return tl_cli_print(cli, &out);
}
