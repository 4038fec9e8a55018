/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what tailor precision-search found, for people and as JSON. */
#include <math.h>

#include "support/json_writer.h"
#include "tools/run/value_text.h"
#include "tools/search/search.h"

enum { MOST_SHOWN = 20, MOST_FRONTIER = 12 };

/* ---- the frontier ---------------------------------------------------------------------------- */

/* Returns how far a trial is from the reference; infinity if an infinity or NaN came out. */
static double error_of(const tl_trial *t) {
  return isnan(t->cosine) ? (double)INFINITY : 1 - t->cosine;
}

/* Orders trials by cost, of equals the better one first. */
static int by_cost(const void *a, const void *b) {
  const tl_trial *x = a, *y = b;
  double p = error_of(x), q = error_of(y);
  if (x->bytes < y->bytes || x->bytes > y->bytes)
    return x->bytes < y->bytes ? -1 : 1;
  return p < q ? -1 : p > q;
}

/* Returns true for trials whose model is that of a set. */
static bool is_set(const tl_trial *t) { return strcmp(t->what, "alone") != 0; }

/* Lists the trials that no other one beats in both cost and error, the cheapest first. NULL if
 * memory is out. */
static tl_trial *frontier(const tl_search *s, uint32_t *n) {
  tl_trial *list = calloc(s->trials.n + 1U, sizeof *list);
  uint32_t all = 0;
  *n = 0;
  for (uint32_t i = 0; list && i < s->trials.n; i++)
    if (is_set(&s->trials.at[i]))
      list[all++] = s->trials.at[i];
  if (list)
    qsort(list, all, sizeof *list, by_cost);
  for (uint32_t i = 0; i < all; i++)
    if (*n == 0 || error_of(&list[i]) < error_of(&list[*n - 1]))
      list[(*n)++] = list[i];
  return list;
}

/* Returns the evaluations that the tries took, each with the part of its nodes that ran, and the
 * one of the reference. */
static double evaluations(const tl_search *s) {
  double sum = 1;
  for (uint32_t i = 0; i < s->trials.n; i++)
    sum += s->trials.at[i].part;
  return sum;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void add_size(tl_table *table, double bytes) {
  if (bytes < 1024)
    tl_buf_printf(&table->text, "%.0f bytes", bytes);
  else if (bytes < 1024 * 1024)
    tl_buf_printf(&table->text, "%.1f KiB", bytes / 1024);
  else
    tl_buf_printf(&table->text, "%.1f MiB", bytes / (1024 * 1024));
  tl_table_cell(table);
}

static void add_trial(tl_table *table, const char *what, const tl_trial *t) {
  tl_table_add(table, what);
  tl_buf_printf(&table->text, "%u", t->n_kept);
  tl_table_cell(table);
  add_size(table, t->bytes);
  tl_add_short(&table->text, t->macs);
  tl_table_cell(table);
  tl_buf_add_f32(&table->text, (float)t->cosine); /* near 1 all digits count */
  tl_table_cell(table);
  const double numbers[] = {t->max_abs, t->rel};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    tl_add_short(&table->text, numbers[i]);
    tl_table_cell(table);
  }
  tl_table_add(table, t->equal ? "met" : "not met");
}

static void begin_trials(tl_table *table, const char *first) {
  const char *const heads[] = {first,    "nodes",   "traffic", "MACs",
                               "cosine", "max abs", "rel",     "tolerance"};
  *table = (tl_table){.columns = sizeof heads / sizeof *heads};
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
    tl_table_add(table, heads[i]);
}

static void add_head(tl_buf *out, const tl_search *s, const tl_search_findings *f) {
  tl_table table;
  if (s->note.n) {
    tl_buf_add_sv(out, tl_buf_view(&s->note));
    tl_buf_add_char(out, '\n');
  }
  tl_verify_add_tolerance(out, &s->tolerance);
  tl_buf_add_char(out, '\n');
  tl_buf_printf(out, "%s lowers %u node%s\n", s->config.mode_name, s->nodes.n,
                s->nodes.n == 1 ? "" : "s");
  begin_trials(&table, "kept wide");
  add_trial(&table, "none", &f->start.low);
  if (f->result && f->result->trial.n_kept)
    add_trial(&table, "found", &f->result->trial);
  add_trial(&table, "by range", &f->start.range);
  add_trial(&table, "all", &f->start.wide);
  tl_table_print(out, &table);
}

static void add_node(tl_buf *out, const tl_search_node *n) {
  tl_buf_add_z(out, "  ");
  tl_buf_add_quoted(out, n->name);
  tl_buf_printf(out, " %.*s", TL_SV_ARG(n->op));
  if (n->adds > 0) {
    tl_buf_add_z(out, isinf(n->adds) ? ", overflows" : ", adds ");
    if (!isinf(n->adds))
      tl_add_short(out, n->adds);
  }
  tl_buf_add_char(out, '\n');
}

static void add_kept(tl_buf *out, const tl_search *s, const tl_search_result *r) {
  uint32_t shown = 0;
  tl_buf_printf(out, "kept, in the order of execution:\n");
  for (uint32_t i = 0; i < s->nodes.n; i++)
    if (r->kept[i] && shown++ < MOST_SHOWN)
      add_node(out, &s->nodes.at[i]);
  if (shown > MOST_SHOWN)
    tl_buf_printf(out, "  and %u more\n", shown - MOST_SHOWN);
  if (r->minimal && r->groups.n == r->trial.n_kept)
    tl_buf_add_z(out, "minimal: without any one of these nodes the tolerance is not met\n");
  else if (r->minimal)
    tl_buf_printf(out,
                  "minimal: without any one of %u groups of these nodes (by %s) the tolerance is "
                  "not met\n",
                  r->groups.n, r->groups.n ? r->groups.at[0].by : "node");
  else
    tl_buf_add_z(out, "perhaps not minimal: --evaluations ended the search\n");
}

static void add_frontier(tl_buf *out, const tl_search *s) {
  uint32_t n;
  tl_trial *list = frontier(s, &n);
  tl_table table;
  out->failed = out->failed || !list;
  if (n > 1) {
    tl_buf_add_z(out, "cost against error, of all sets that were tried:\n");
    begin_trials(&table, "set");
    for (uint32_t i = 0; i < n; i++)
      if (n <= MOST_FRONTIER || i < MOST_FRONTIER / 2 || i + MOST_FRONTIER / 2 >= n)
        add_trial(&table, list[i].what, &list[i]);
    tl_table_print(out, &table);
  }
  free(list);
}

static void add_files(tl_buf *out, const tl_search *s, const tl_search_file *files) {
  bool folder = s->cli->outputs.n > 0;
  for (uint32_t i = 0; i < TL_SEARCH_FILES; i++) {
    const tl_search_file *f = &files[i];
    if (f->why)
      tl_buf_printf(out, "no %s: %s\n", f->name, f->why);
    else if (folder)
      tl_buf_printf(out, "wrote %s/%s, for %s=FILE: keeps %u nodes, cosine ", s->cli->outputs.at[0],
                    f->name, f->option, f->trial.n_kept);
    else
      tl_buf_printf(out, "-o DIR writes %s, for %s=FILE: keeps %u nodes, cosine ", f->name,
                    f->option, f->trial.n_kept);
    if (!f->why) {
      tl_buf_add_f32(out, (float)f->trial.cosine);
      tl_buf_add_char(out, '\n');
    }
  }
}

static void print_text(const tl_search *s, const tl_search_findings *f, tl_buf *out) {
  add_head(out, s, f);
  if (!f->result) {
    tl_buf_add_z(out, "no set of nodes meets the tolerance: it is not met even if all are kept\n");
  } else if (f->result->trial.n_kept == 0) {
    tl_buf_add_z(out, "no node has to be kept\n");
  } else {
    add_kept(out, s, f->result);
    add_frontier(out, s);
    add_files(out, s, f->files);
  }
  tl_buf_printf(out, "%u tries took as long as ", s->trials.n);
  tl_buf_add_fixed(out, evaluations(s), 1);
  tl_buf_add_z(out, " evaluations of the model\n");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_trial(tl_json_writer *w, const tl_trial *t) {
  tl_put_object(w);
  tl_member_z(w, "what", t->what);
  tl_member_bool(w, "equal", t->equal);
  tl_member_u64(w, "nodes", t->n_kept);
  tl_member_f64(w, "bytes", t->bytes);
  tl_member_f64(w, "macs", t->macs);
  tl_member_f64(w, "cosine", t->cosine);
  tl_member_f64(w, "max_abs", t->max_abs);
  tl_member_f64(w, "rel", t->rel);
  tl_put_end(w);
}

static void json_named(tl_json_writer *w, const char *key, const tl_trial *t) {
  tl_json_line(w, 1);
  tl_put_key(w, key);
  json_trial(w, t);
}

static void json_nodes(tl_json_writer *w, const tl_search *s, const tl_search_result *r) {
  tl_json_line(w, 1);
  tl_put_key(w, "kept");
  tl_put_array(w);
  for (uint32_t i = 0; r && i < s->nodes.n; i++) {
    const tl_search_node *n = &s->nodes.at[i];
    if (!r->kept[i])
      continue;
    tl_json_line(w, 2);
    tl_put_object(w);
    tl_member_sv(w, "node", n->name);
    tl_member_sv(w, "op", n->op);
    tl_member_sv(w, "judged", n->type);
    tl_member_bool(w, "range", n->by_range);
    tl_member_f64(w, "adds", n->adds); /* null: it overflows */
    tl_member_f64(w, "bytes", n->bytes);
    tl_member_f64(w, "macs", n->macs);
    tl_put_end(w);
  }
  tl_put_end(w);
}

static void json_groups(tl_json_writer *w, const tl_search *s, const tl_search_result *r) {
  tl_json_line(w, 1);
  tl_put_key(w, "groups");
  tl_put_array(w);
  for (uint32_t i = 0; r && i < r->groups.n; i++) {
    const tl_search_group *g = &r->groups.at[i];
    tl_json_line(w, 2);
    tl_put_object(w);
    tl_member_z(w, "by", g->by);
    tl_member_sv(w, "name", g->name);
    tl_put_key(w, "nodes");
    tl_put_array(w);
    for (uint32_t k = 0; k < g->n; k++)
      tl_put_sv(w, s->nodes.at[g->nodes[k]].name);
    tl_put_end(w);
    tl_put_end(w);
  }
  tl_put_end(w);
}

static void json_frontier(tl_json_writer *w, const tl_search *s) {
  uint32_t n;
  tl_trial *list = frontier(s, &n);
  w->out->failed = w->out->failed || !list;
  tl_json_line(w, 1);
  tl_put_key(w, "frontier");
  tl_put_array(w);
  for (uint32_t i = 0; i < n; i++) {
    tl_json_line(w, 2);
    json_trial(w, &list[i]);
  }
  tl_put_end(w);
  free(list);
}

static void json_files(tl_json_writer *w, const tl_search_file *files) {
  tl_json_line(w, 1);
  tl_put_key(w, "files");
  tl_put_array(w);
  for (uint32_t i = 0; files && i < TL_SEARCH_FILES; i++) {
    tl_json_line(w, 2);
    tl_put_object(w);
    tl_member_z(w, "name", files[i].name);
    tl_member_z(w, "option", files[i].option);
    if (files[i].why) {
      tl_member_z(w, "missing", files[i].why);
    } else {
      tl_put_key(w, "trial");
      json_trial(w, &files[i].trial);
    }
    tl_put_end(w);
  }
  tl_put_end(w);
}

static void print_json(const tl_search *s, const tl_search_findings *f, tl_buf *out) {
  tl_json_writer w = tl_json_to(out);
  tl_put_object(&w);
  tl_member_u64(&w, "schema", 1);
  tl_member_bool(&w, "met", f->result != NULL);
  tl_member_bool(&w, "minimal", f->result && f->result->minimal);
  tl_member_sv(&w, "note", tl_buf_view(&s->note));
  tl_member_z(&w, "mode", s->config.mode_name);
  tl_member_u64(&w, "lowered", s->nodes.n);
  tl_member_u64(&w, "tries", s->trials.n);
  tl_member_fixed(&w, "evaluations", evaluations(s), 2);
  json_named(&w, "none", &f->start.low);
  if (f->result)
    json_named(&w, "found", &f->result->trial);
  json_named(&w, "range", &f->start.range);
  json_named(&w, "all", &f->start.wide);
  json_nodes(&w, s, f->result);
  json_groups(&w, s, f->result);
  json_frontier(&w, s);
  json_files(&w, f->files);
  tl_json_finish(&w);
}

tl_status tl_search_report(tl_search *s, const tl_search_findings *f) {
  tl_buf out;
  tl_buf_init(&out);
  if (tl_cli_has(s->cli, TL_OPTION_AS_JSON))
    print_json(s, f, &out);
  else
    print_text(s, f, &out);
  return tl_cli_print(s->cli, &out);
}
