/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks tensors by what their own nodes add to the difference, and draws its heat. */
#include "tools/verify/layers.h"

#include <math.h>

#include "ir/trace.h"
#include "tools/run/value_text.h"

/* Heat is a bar: a sign for each power of ten above 1e-8. */
enum { HOTTEST = 10 };
/* Neighbours that add nothing of interest become one line from this number on. */
enum { FOLDED = 3 };

/* A row and what decides its place. */
typedef struct culprit {
  uint32_t row;
  bool differs; /* by more than is allowed */
  double adds;
} culprit;

/* ---- ranks ----------------------------------------------------------------------------------- */

/* Returns the error of a tensor relative to it; infinity if its elements cannot be compared. */
static double error_of(const tl_difference *d) { return d->reason ? (double)INFINITY : d->l2; }

/* Orders culprits: those that add more than is allowed first, then by how much they add; of equals
 * the one that runs first, which may have spoilt the operands of the other. */
static int compare_culprits(const void *a, const void *b) {
  const culprit *x = a, *y = b;
  if (x->differs != y->differs)
    return x->differs ? -1 : 1;
  if (x->adds < y->adds || x->adds > y->adds)
    return x->adds > y->adds ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

/* Returns the rows whose nodes add something, the worst first; NULL if memory is out. */
static culprit *rank(const tl_twin_vec *rows, uint32_t *n) {
  culprit *list = malloc(((size_t)rows->n + 1) * sizeof *list);
  *n = 0;
  for (uint32_t i = 0; list && i < rows->n; i++) {
    const tl_difference *own = &rows->at[i].own;
    if (rows->at[i].has_own && error_of(own) > 0)
      list[(*n)++] = (culprit){i, !own->equal, error_of(own)};
  }
  if (list)
    qsort(list, *n, sizeof *list, compare_culprits);
  return list;
}

/* Returns ranks by row, counted from 1; 0: the node adds nothing. NULL if memory is out. */
static uint32_t *ranks_of(const tl_twin_vec *rows, const culprit *list, uint32_t n) {
  uint32_t *ranks = calloc((size_t)rows->n + 1, sizeof *ranks);
  for (uint32_t i = 0; ranks && i < n; i++)
    ranks[list[i].row] = i + 1;
  return ranks;
}

static uint32_t count_rows(const tl_twins *t, bool own) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < t->rows.n; i++)
    n += own ? t->rows.at[i].has_own && !t->rows.at[i].own.equal : !t->rows.at[i].d.equal;
  return n;
}

/* ---- what is not compared -------------------------------------------------------------------- */

/* Returns which rows of kin were compared; NULL if memory is out. */
static bool *find_compared(const tl_twins *t) {
  bool *compared = calloc((size_t)t->kin->rows.n + 1, sizeof *compared);
  for (uint32_t i = 0; compared && i < t->rows.n; i++) {
    const tl_kin_row *row = tl_kin_of(t->kin, t->b, t->rows.at[i].value);
    if (row)
      compared[row - t->kin->rows.at] = true;
  }
  return compared;
}

/* Finds the rows of kin that have no counterpart and from which a tensor is computed: what their
 * nodes add shows there. Walks back as far as tensors that were compared. */
static bool find_through(const tl_twins *t, const bool *compared, const tl_kin_row *row,
                         tl_u32_vec *list) {
  bool *seen = calloc((size_t)t->kin->rows.n + 1, sizeof *seen), ok = seen != NULL;
  for (uint32_t at = 0; ok && row; row = at < list->n ? &t->kin->rows.at[list->at[at++]] : NULL)
    for (uint32_t i = 0; ok && i < row->n; i++) {
      const tl_kin_row *x = tl_kin_named(t->kin, t->kin->operands.at[row->first + i]);
      uint32_t k = x ? (uint32_t)(x - t->kin->rows.at) : 0;
      if (!x || compared[k] || seen[k])
        continue;
      seen[k] = true;
      ok = tl_u32_vec_push(list, k);
    }
  free(seen);
  return ok;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Returns the op of the node that gives a value, as the model has it. */
static tl_sv op_of(const tl_twins *t, tl_value_id v) {
  const tl_kin_row *row = tl_kin_of(t->kin, t->b, v);
  tl_node_id n = tl_value_producer(t->b, v);
  return row ? tl_op_name(t->b, row->op)
         : n ? tl_op_name(t->b, tl_node_get(t->b, n)->op)
             : TL_SV("constant");
}

static void add_number(tl_table *t, const tl_difference *d, double v) {
  if (d->reason)
    tl_buf_add_char(&t->text, '-');
  else
    tl_add_short(&t->text, v);
  tl_table_cell(t);
}

static int level(double error) {
  double l = error > 0 ? ceil(log10(error) + 8) : 0;
  return l < 0 ? 0 : l > HOTTEST ? HOTTEST : (int)l;
}

/* Adds the bar: '#' for what the node adds, '.' for what it passes on beyond that. */
static void add_heat(tl_buf *out, double adds, double total) {
  int own = level(adds), all = level(total);
  for (int i = 0; i < own || i < all; i++)
    tl_buf_add_char(out, i < own ? '#' : '.');
  if (!own && !all)
    tl_buf_add_char(out, '-');
}

/* ---- text ------------------------------------------------------------------------------------ */

static void add_culprit(tl_table *table, const tl_twins *t, const tl_twin *row) {
  const tl_difference *own = &row->own;
  tl_buf_add_quoted(&table->text, tl_value_name(t->b, row->value));
  tl_table_cell(table);
  tl_buf_add_sv(&table->text, op_of(t, row->value));
  tl_table_cell(table);
  const double numbers[] = {own->l2, own->max_abs, own->max_rel, own->ulp};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    add_number(table, own, numbers[i]);
  tl_table_add(table, own->reason ? own->reason : own->equal ? "allowed" : "too much");
}

/* Adds which nodes without a counterpart a tensor stands for as well. */
static void add_through(tl_buf *out, const tl_twins *t, const tl_kin_row *row) {
  tl_u32_vec list = {0};
  bool *compared = find_compared(t);
  bool ok = compared && find_through(t, compared, row, &list);
  if (list.n) {
    tl_buf_printf(out, "  it shows what %u node%s before it add%s, too, from ", list.n,
                  list.n > 1 ? "s" : "", list.n > 1 ? "" : "s");
    tl_buf_add_quoted(out, tl_sym(t->b, t->kin->rows.at[list.at[list.n - 1]].node));
    tl_buf_add_char(out, '\n');
  }
  out->failed = out->failed || !ok;
  tl_u32_vec_release(&list);
  free(compared);
}

/* Adds the node of the first culprit, and the nodes of the model that it comes from. */
static void add_first(tl_buf *out, const tl_twins *t, tl_value_id v) {
  const tl_kin_row *row = tl_kin_of(t->kin, t->b, v);
  tl_buf room, from;
  tl_sv item, last = {0};
  uint32_t n = 0;
  if (!row)
    return;
  tl_buf_init(&room);
  tl_buf_init(&from);
  tl_buf_add_z(out, "the first is of node ");
  tl_buf_add_quoted(out, tl_sym(t->b, row->node));
  tl_buf_add_char(out, '\n');
  for (tl_trace_items at = tl_trace_start(tl_sym(t->b, row->from));
       row->from && tl_trace_next(&at, &room, &item); n++) {
    if (n == 0)
      tl_buf_add_quoted(&from, item);
    last = item; /* valid until the next item, and there is none behind the last */
  }
  if (n)
    tl_buf_printf(out, "  which comes from %s", from.p ? from.p : "");
  if (n > 1) {
    tl_buf_printf(out, "\n  and %u more, the last is ", n - 1);
    tl_buf_add_quoted(out, last);
  }
  if (n)
    tl_buf_add_char(out, '\n');
  add_through(out, t, row);
  out->failed = out->failed || room.failed || from.failed;
  tl_buf_release(&room);
  tl_buf_release(&from);
}

/* Rows of the heat table that become one line. */
typedef struct folded {
  uint32_t n;
  double max_abs, l2, cosine, ulp, adds;
} folded;

static void fold(folded *f, const tl_twin *row) {
  f->n++;
  f->max_abs = fmax(f->max_abs, row->d.max_abs);
  f->l2 = fmax(f->l2, error_of(&row->d));
  f->cosine = f->n == 1 ? row->d.cosine : fmin(f->cosine, row->d.cosine);
  f->ulp = fmax(f->ulp, row->d.ulp);
  f->adds = row->has_own ? fmax(f->adds, error_of(&row->own)) : f->adds;
}

static void add_numbers(tl_table *table, const folded *f) {
  const double numbers[] = {f->max_abs, f->l2, f->cosine, f->ulp, f->adds};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    tl_add_short(&table->text, numbers[i]);
    tl_table_cell(table);
  }
  add_heat(&table->text, f->adds, f->l2);
  tl_table_cell(table);
}

static void add_heat_row(tl_table *table, const tl_twins *t, const tl_twin *row) {
  folded one = {0};
  fold(&one, row);
  tl_buf_add_quoted(&table->text, tl_value_name(t->b, row->value));
  tl_table_cell(table);
  tl_buf_add_sv(&table->text, row->d.reason ? TL_SV("other shape") : op_of(t, row->value));
  tl_table_cell(table);
  add_numbers(table, &one);
}

static void add_folded(tl_table *table, const folded *f) {
  tl_buf_printf(&table->text, "... %u tensors", f->n);
  tl_table_cell(table);
  tl_table_cell(table);
  add_numbers(table, f);
}

/* Returns true for a row that the table shows by itself. */
static bool is_shown(const tl_twin *row, uint32_t rank, uint32_t most) {
  return (rank && rank <= most) || (row->has_own && !row->own.equal);
}

/* Returns the end of the rows from i on that can become one line. */
static uint32_t end_of_quiet(const tl_twin_vec *rows, const uint32_t *ranks, uint32_t i,
                             uint32_t most) {
  while (i < rows->n && !is_shown(&rows->at[i], ranks[i], most))
    i++;
  return i;
}

static void add_heat_table(tl_buf *out, const tl_twins *t, const uint32_t *ranks, uint32_t most) {
  static const char *const heads[] = {"tensor", "op",  "max abs", "rel",
                                      "cosine", "ulp", "adds",    "heat"};
  tl_table table = {.columns = sizeof heads / sizeof *heads};
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
    tl_table_add(&table, heads[i]);
  for (uint32_t i = 0; i < t->rows.n;) {
    uint32_t end = end_of_quiet(&t->rows, ranks, i, most);
    folded quiet = {0};
    if (end - i >= FOLDED) {
      for (; i < end; i++)
        fold(&quiet, &t->rows.at[i]);
      add_folded(&table, &quiet);
    } else {
      add_heat_row(&table, t, &t->rows.at[i++]);
    }
  }
  tl_buf_printf(out,
                "in order of execution; a sign of heat is a power of ten above 1e-8: # the node "
                "adds, . it passes on\n");
  tl_table_print(out, &table);
}

static void add_counts(tl_buf *out, const tl_twins *t) {
  uint32_t adding = count_rows(t, true);
  tl_buf_printf(out, "%u tensors were compared, %u of them differ; ", t->rows.n,
                count_rows(t, false));
  if (adding)
    tl_buf_printf(out, "%u of the nodes add%s more than is allowed\n", adding,
                  adding > 1 ? "" : "s");
  else
    tl_buf_add_z(out, "no node adds more than is allowed\n");
  if (t->skipped)
    tl_buf_printf(out, "%u were not compared for lack of memory (--memory-limit)\n", t->skipped);
  if (t->other_shape)
    tl_buf_printf(out, "%u were not compared: they have another shape\n", t->other_shape);
}

static void add_culprits(tl_buf *out, const tl_twins *t, const culprit *list, uint32_t n) {
  static const char *const heads[] = {"tensor",  "op",  "adds",   "max abs",
                                      "max rel", "ulp", "verdict"};
  tl_table table = {.columns = sizeof heads / sizeof *heads};
  if (!n)
    return;
  tl_buf_add_z(out, "what adds most, each node by itself on the operands of the first model:\n");
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
    tl_table_add(&table, heads[i]);
  for (uint32_t i = 0; i < n; i++)
    add_culprit(&table, t, &t->rows.at[list[i].row]);
  tl_table_print(out, &table);
  add_first(out, t, t->rows.at[list[0].row].value);
}

void tl_layers_text(tl_buf *out, const tl_twins *t, uint32_t most) {
  uint32_t n;
  culprit *list = rank(&t->rows, &n);
  uint32_t *ranks = list ? ranks_of(&t->rows, list, n) : NULL;
  add_counts(out, t);
  if (ranks) {
    add_culprits(out, t, list, n < most ? n : most);
    add_heat_table(out, t, ranks, most);
  }
  out->failed = out->failed || !ranks;
  free(ranks);
  free(list);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_difference(tl_json_writer *w, const char *key, const tl_difference *d) {
  tl_put_key(w, key);
  tl_put_object(w);
  tl_member_bool(w, "equal", d->equal);
  if (d->reason)
    tl_member_z(w, "reason", d->reason);
  const tl_count_member counts[] = {{"elements", d->n}, {"off", d->off}};
  tl_member_counts(w, counts, sizeof counts / sizeof *counts);
  tl_member_f64(w, "max_abs", d->max_abs);
  tl_member_f64(w, "max_rel", d->max_rel);
  tl_member_f64(w, "rel", d->l2);
  tl_member_f64(w, "cosine", d->cosine);
  tl_member_f64(w, "ulp", d->ulp);
  tl_put_end(w);
}

static void json_from(tl_json_writer *w, const tl_twins *t, const tl_kin_row *row) {
  tl_buf room;
  tl_sv item;
  tl_buf_init(&room);
  tl_put_key(w, "from");
  tl_put_array(w);
  if (row && row->from)
    for (tl_trace_items at = tl_trace_start(tl_sym(t->b, row->from));
         tl_trace_next(&at, &room, &item);)
      tl_put_sv(w, item);
  tl_put_end(w);
  w->out->failed = w->out->failed || room.failed;
  tl_buf_release(&room);
}

static void json_through(tl_json_writer *w, const tl_twins *t, const bool *compared,
                         const tl_kin_row *row) {
  tl_u32_vec list = {0};
  bool ok = !row || find_through(t, compared, row, &list);
  tl_put_key(w, "through");
  tl_put_array(w);
  for (uint32_t i = 0; i < list.n; i++)
    tl_put_sv(w, tl_sym(t->b, t->kin->rows.at[list.at[i]].node));
  tl_put_end(w);
  w->out->failed = w->out->failed || !ok;
  tl_u32_vec_release(&list);
}

/* Adds one tensor. rank: 0: none; compared: by row of kin. */
static void json_tensor(tl_json_writer *w, const tl_twins *t, const tl_twin *twin, uint32_t rank,
                        const bool *compared) {
  const tl_kin_row *row = tl_kin_of(t->kin, t->b, twin->value);
  tl_json_line(w, 3);
  tl_put_object(w);
  tl_member_sv(w, "name", tl_value_name(t->b, twin->value));
  if (t->of_b[twin->value])
    tl_member_sv(w, "reference", tl_value_name(t->a, t->of_b[twin->value]));
  tl_member_sv(w, "op", op_of(t, twin->value));
  tl_member_sv(w, "node", row ? tl_sym(t->b, row->node) : TL_SV(""));
  json_from(w, t, row);
  json_through(w, t, compared, row);
  tl_put_key(w, "rank");
  if (rank)
    tl_put_u64(w, rank);
  else
    tl_put_null(w);
  json_difference(w, "total", &twin->d);
  if (twin->has_own)
    json_difference(w, "own", &twin->own);
  tl_put_end(w);
}

void tl_layers_json(tl_json_writer *w, const tl_twins *t, uint32_t most) {
  uint32_t n;
  culprit *list = rank(&t->rows, &n);
  uint32_t *ranks = list ? ranks_of(&t->rows, list, n) : NULL;
  const tl_count_member counts[] = {{"compared", t->rows.n},
                                    {"skipped", t->skipped},
                                    {"other_shape", t->other_shape},
                                    {"differ", count_rows(t, false)},
                                    {"adding", count_rows(t, true)}};
  tl_put_object(w);
  tl_member_counts(w, counts, sizeof counts / sizeof *counts);
  tl_json_line(w, 2);
  tl_put_key(w, "culprits");
  tl_put_array(w);
  for (uint32_t i = 0; list && i < n && i < most; i++)
    tl_put_sv(w, tl_value_name(t->b, t->rows.at[list[i].row].value));
  tl_put_end(w);
  tl_json_line(w, 2);
  tl_put_key(w, "tensors");
  tl_put_array(w);
  bool *compared = find_compared(t);
  for (uint32_t i = 0; ranks && compared && i < t->rows.n; i++)
    json_tensor(w, t, &t->rows.at[i], ranks[i], compared);
  tl_put_end(w);
  tl_put_end(w);
  w->out->failed = w->out->failed || !ranks || !compared;
  free(compared);
  free(ranks);
  free(list);
}
