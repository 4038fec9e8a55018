/* SPDX-License-Identifier: Apache-2.0 */
/* Prints differences: as text that reads like that of git diff, as counts, as JSON. */
#include "ir/text/print.h"
#include "support/json_writer.h"
#include "tools/diff/diff.h"
#include "tools/run/value_text.h"

static const char *const kind_names[TL_N_DIFFERING] = {
    [TL_DIFF_MODEL] = "model",   [TL_DIFF_GRAPH] = "graph",       [TL_DIFF_INPUT] = "input",
    [TL_DIFF_OUTPUT] = "output", [TL_DIFF_CONSTANT] = "constant", [TL_DIFF_NODE] = "node"};
static const char *const change_names[TL_N_CHANGES] = {[TL_ADDED] = "added",
                                                       [TL_REMOVED] = "removed",
                                                       [TL_CHANGED] = "changed",
                                                       [TL_RENAMED] = "renamed"};
/* By bit of TL_WHAT_. */
static const char *const what_names[TL_N_WHAT] = {
    "name",   "op",       "operands", "results", "attributes", "dtype", "shape",  "control edges",
    "stream", "contents", "position", "value",   "opsets",     "form",  "states", "type"};

/* State of a report. */
typedef struct report {
  const tl_pairs *p;
  tl_lines *lines[2];
  tl_buf line; /* of the printers */
  tl_buf *out;
} report;

static bool open(report *r, const tl_pairs *p, tl_buf *out) {
  const tl_print_options o = {.elide_constants = true, .elide_bodies = true, .skip_extra = true};
  *r = (report){.p = p, .out = out};
  tl_buf_init(&r->line);
  for (int s = 0; s < 2; s++)
    r->lines[s] = tl_lines_open(p->m[s], &r->line, &o);
  return r->lines[0] && r->lines[1];
}

static tl_status close(report *r, bool opened) {
  tl_lines_close(r->lines[0]);
  tl_lines_close(r->lines[1]);
  r->out->failed |= r->line.failed;
  tl_buf_release(&r->line);
  return !opened || r->out->failed ? TL_NO_MEMORY : TL_OK;
}

/* ---- parts of both forms --------------------------------------------------------------------- */

/* Returns the side that shows where a difference is: the second, unless only the first has it. */
static int side_of(const tl_difference *d) { return d->id[1] || d->kind == TL_DIFF_MODEL; }

static void add_op(const tl_module *m, tl_node_id n, tl_buf *out) {
  tl_op_id op = tl_node_get(m, n)->op;
  tl_sv domain = tl_op_domain(m, op);
  tl_buf_add_sv(out, domain);
  if (domain.n)
    tl_buf_add_z(out, "::");
  tl_buf_add_sv(out, tl_op_name(m, op));
}

/* Returns the name of a node, of its first result where it has none. */
static tl_sv node_name(const tl_module *m, tl_node_id n) {
  tl_symbol name = tl_node_get(m, n)->name;
  return name || !tl_result(m, n, 0) ? tl_sym(m, name) : tl_value_name(m, tl_result(m, n, 0));
}

static void add_node(const tl_module *m, tl_node_id n, tl_buf *out) {
  add_op(m, n, out);
  tl_buf_add_char(out, ' ');
  tl_buf_add_quoted(out, node_name(m, n));
}

/* Returns the attribute of a body's owner that has it. */
static tl_sv attr_of_body(const tl_module *m, const tl_graph *g) {
  const tl_node *owner = tl_node_get(m, g->owner);
  for (uint32_t i = 0; i < owner->n_attrs; i++) {
    const tl_attr *a = &owner->attrs[i];
    if (a->kind == TL_ATTR_GRAPH && a->u.g == g->id)
      return tl_sym(m, a->name);
    for (uint32_t k = 0; a->kind == TL_ATTR_GRAPHS && k < a->count; k++)
      if (a->u.ids[k] == g->id)
        return tl_sym(m, a->name);
  }
  return TL_SV("");
}

/* Adds where a body is: `If "a" then_branch`, the innermost first. Nothing for root graphs. */
static void add_place(const tl_module *m, tl_graph_id id, tl_buf *out) {
  for (const tl_graph *g = id ? tl_graph_get(m, id) : NULL; g && g->owner;
       g = tl_graph_get(m, tl_node_get(m, g->owner)->graph)) {
    tl_buf_add_z(out, out->n ? " in " : "");
    add_node(m, g->owner, out);
    tl_buf_add_char(out, ' ');
    tl_buf_add_sv(out, attr_of_body(m, g));
  }
}

/* Adds one line about the whole model for each thing that differs. */
static void add_model(const tl_module *m, const tl_difference *d, const char *sign, tl_buf *out) {
  for (uint32_t i = 0; d->what & TL_WHAT_OPSETS && i < m->opsets.n; i++) {
    tl_buf_printf(out, "%sopset ", sign);
    tl_buf_add_quoted(out, tl_sym(m, m->opsets.at[i].domain));
    tl_buf_add_char(out, ' ');
    tl_buf_add_i64(out, m->opsets.at[i].version);
    tl_buf_add_char(out, '\n');
  }
  if (d->what & TL_WHAT_OPSETS && m->source_opset)
    tl_buf_printf(out, "%ssource_opset %lld\n", sign, (long long)m->source_opset);
  if (d->what & TL_WHAT_FORM)
    tl_buf_printf(out, "%sform %s\n", sign, tl_form_name((tl_form)m->form));
  if (d->what & TL_WHAT_STATES)
    tl_buf_printf(out, "%s%u states\n", sign, m->states.n);
}

/* Returns what a side has as a line of textual IR, valid until the next call. */
static tl_sv line_of(report *r, const tl_difference *d, int side) {
  const tl_module *m = r->p->m[side];
  uint32_t id = d->id[side];
  tl_buf *out = &r->line;
  r->out->failed |= out->failed;
  tl_buf_clear(out);
  switch ((tl_differing)d->kind) {
  case TL_DIFF_NODE: tl_lines_node(r->lines[side], id); break;
  case TL_DIFF_CONSTANT:
    tl_buf_add_z(out, "const ");
    tl_lines_declaration(r->lines[side], id);
    break;
  case TL_DIFF_INPUT:
    tl_buf_printf(out, "input %u ", tl_value_get(m, id)->index);
    tl_lines_declaration(r->lines[side], id);
    break;
  case TL_DIFF_OUTPUT:
    tl_buf_add_z(out, "output ");
    tl_lines_value(r->lines[side], id);
    break;
  case TL_DIFF_GRAPH:
    tl_buf_add_z(out, "graph ");
    tl_buf_add_quoted(out, tl_sym(m, tl_graph_get(m, id)->name));
    break;
  default: add_model(m, d, "", out); break;
  }
  return tl_buf_view(out);
}

static tl_sv name_of(const report *r, const tl_difference *d, int side) {
  const tl_module *m = r->p->m[side];
  uint32_t id = d->id[side];
  if (!id)
    return TL_SV("");
  return d->kind == TL_DIFF_NODE    ? node_name(m, id)
         : d->kind == TL_DIFF_GRAPH ? tl_sym(m, tl_graph_get(m, id)->name)
                                    : tl_value_name(m, id);
}

/* Measures two constants; false where there is nothing to measure. */
static bool measure(const report *r, const tl_difference *d, tl_apart *apart) {
  if (!(d->what & TL_WHAT_CONTENTS))
    return false;
  tl_tensor_id t[2];
  for (int s = 0; s < 2; s++)
    t[s] = tl_value_get(r->p->m[s], d->id[s])->tensor;
  return t[0] && t[1] && tl_tensors_apart(r->p, t[0], t[1], apart);
}

/* Returns the node of the other model that a node without partner is part of, 0: none. */
static tl_node_id fused_into(const report *r, const tl_difference *d) {
  int side = side_of(d);
  return d->kind == TL_DIFF_NODE && (d->change == TL_ADDED || d->change == TL_REMOVED)
             ? r->p->into[side][d->id[side]]
             : 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

void tl_diff_add_what(tl_buf *out, uint16_t what) {
  const char *between = "";
  for (unsigned i = 0; i < TL_N_WHAT; i++) {
    if (!(what >> i & 1))
      continue;
    tl_buf_printf(out, "%s%s", between, what_names[i]);
    between = ", ";
  }
}

static void add_whats(const report *r, const tl_difference *d) {
  if (d->change != TL_CHANGED || !d->what)
    return;
  tl_buf_add_z(r->out, ": ");
  tl_diff_add_what(r->out, d->what);
}

/* "@@ changed Conv "c" in If "i" then_branch: attributes, shape @@" */
static void add_heading(report *r, const tl_difference *d) {
  int side = side_of(d);
  tl_node_id whole = fused_into(r, d);
  tl_apart apart;
  tl_buf place;
  tl_buf_init(&place);
  add_place(r->p->m[side], d->graph[side], &place);
  tl_buf_printf(r->out, "@@ %s ", change_names[d->change]);
  if (d->kind == TL_DIFF_NODE) {
    add_node(r->p->m[side], d->id[side], r->out);
  } else {
    tl_buf_add_z(r->out, kind_names[d->kind]);
    if (d->kind != TL_DIFF_MODEL) {
      tl_buf_add_char(r->out, ' ');
      tl_buf_add_quoted(r->out, name_of(r, d, side));
    }
  }
  if (place.n) {
    tl_buf_add_z(r->out, " in ");
    tl_buf_add_sv(r->out, tl_buf_view(&place));
  }
  r->out->failed |= place.failed;
  tl_buf_release(&place);
  add_whats(r, d);
  if (whole) {
    tl_buf_add_z(r->out, side ? ", was part of " : ", now part of ");
    add_node(r->p->m[!side], whole, r->out);
  }
  if (measure(r, d, &apart)) {
    tl_buf_printf(r->out, ", %llu of %llu elements differ", (unsigned long long)apart.differ,
                  (unsigned long long)apart.elements);
    if (apart.numbers) {
      tl_buf_add_z(r->out, ", by at most ");
      tl_add_short(r->out, apart.largest);
    }
  }
  tl_buf_add_z(r->out, " @@\n");
}

static void add_hunk(report *r, const tl_difference *d) {
  static const char *const signs[] = {"-", "+"};
  add_heading(r, d);
  for (int s = 0; s < 2; s++) {
    if (d->kind == TL_DIFF_MODEL)
      add_model(r->p->m[s], d, signs[s], r->out);
    if (d->kind == TL_DIFF_MODEL || !d->id[s])
      continue;
    tl_buf_add_z(r->out, signs[s]);
    tl_buf_add_sv(r->out, line_of(r, d, s));
    tl_buf_add_char(r->out, '\n');
  }
}

tl_status tl_diff_text(const tl_pairs *p, const tl_difference_vec *v, tl_buf *out) {
  report r;
  if (v->n == 0)
    return TL_OK;
  bool opened = open(&r, p, out);
  tl_buf_printf(out, "diff %s %s\n--- %s\n+++ %s\n", p->m[0]->path, p->m[1]->path, p->m[0]->path,
                p->m[1]->path);
  for (uint32_t i = 0; opened && i < v->n; i++)
    add_hunk(&r, &v->at[i]);
  return close(&r, opened);
}

/* ---- counts ---------------------------------------------------------------------------------- */

/* One row of counts: an op type, or a kind of difference. */
typedef struct row {
  tl_sv name; /* in the module of side 0, or static */
  bool op;
  uint32_t n[TL_N_CHANGES];
} row;

TL_VEC(row_vec, row);

static int compare_rows(const void *a, const void *b) {
  const row *x = a, *y = b;
  return x->op != y->op ? (int)y->op - (int)x->op : tl_sv_compare(x->name, y->name);
}

/* Returns the row of a difference, made if there is none yet; NULL when memory is out. */
static row *row_of(const tl_pairs *p, const tl_difference *d, row_vec *rows, tl_map *map) {
  int side = side_of(d);
  row made = {.name = tl_sv_from(kind_names[d->kind]), .op = d->kind == TL_DIFF_NODE};
  tl_buf text;
  uint32_t at;
  tl_buf_init(&text);
  if (made.op)
    add_op(p->m[side], d->id[side], &text);
  tl_symbol s = tl_module_intern(p->m[0], made.op ? tl_buf_view(&text) : made.name);
  bool failed = text.failed || s == TL_NO_SYMBOL;
  tl_buf_release(&text);
  if (failed)
    return NULL;
  made.name = tl_sym(p->m[0], s);
  if (tl_map_find(map, tl_map_pair(made.op, s), &at))
    return &rows->at[at];
  if (!tl_map_set(map, tl_map_pair(made.op, s), rows->n) || !row_vec_push(rows, made))
    return NULL;
  return &rows->at[rows->n - 1];
}

/* Counts by op type, then by kind. */
static bool count(const tl_pairs *p, const tl_difference_vec *v, row_vec *rows) {
  tl_map map = {0};
  bool good = true;
  for (uint32_t i = 0; i < v->n && good; i++) {
    row *at = row_of(p, &v->at[i], rows, &map);
    good = at != NULL;
    if (at)
      at->n[v->at[i].change]++;
  }
  if (rows->n)
    qsort(rows->at, rows->n, sizeof *rows->at, compare_rows);
  tl_map_release(&map);
  return good;
}

tl_status tl_diff_stat(const tl_pairs *p, const tl_difference_vec *v, tl_buf *out) {
  row_vec rows = {0};
  tl_table t = {.columns = 1 + TL_N_CHANGES};
  bool good = count(p, v, &rows);
  tl_table_add(&t, "what");
  for (int i = 0; i < TL_N_CHANGES; i++)
    tl_table_add(&t, change_names[i]);
  for (uint32_t i = 0; i < rows.n; i++) {
    tl_buf_add_sv(&t.text, rows.at[i].name);
    tl_table_cell(&t);
    for (int k = 0; k < TL_N_CHANGES; k++) {
      tl_buf_add_u64(&t.text, rows.at[i].n[k]);
      tl_table_cell(&t);
    }
  }
  if (rows.n)
    tl_table_print(out, &t);
  tl_buf_release(&t.text);
  tl_u32_vec_release(&t.ends);
  row_vec_release(&rows);
  return good && !out->failed ? TL_OK : TL_NO_MEMORY;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_line(report *r, tl_json_writer *w, const tl_difference *d, int side) {
  static const char *const keys[] = {"a", "b"};
  if (d->kind == TL_DIFF_MODEL || d->id[side])
    tl_member_sv(w, keys[side], line_of(r, d, side));
}

/* Adds the members that only some differences have. */
static void put_rest(report *r, tl_json_writer *w, const tl_difference *d) {
  int side = side_of(d);
  tl_apart apart;
  tl_buf text;
  tl_buf_init(&text);
  add_place(r->p->m[side], d->graph[side], &text);
  if (text.n)
    tl_member_sv(w, "body", tl_buf_view(&text));
  tl_buf_clear(&text);
  if (d->kind == TL_DIFF_NODE) {
    add_op(r->p->m[side], d->id[side], &text);
    tl_member_sv(w, "op", tl_buf_view(&text));
  }
  tl_node_id whole = fused_into(r, d);
  if (whole)
    tl_member_sv(w, "part_of", node_name(r->p->m[!side], whole));
  if (measure(r, d, &apart)) {
    tl_member_u64(w, "elements", apart.elements);
    tl_member_u64(w, "elements_differ", apart.differ);
    if (apart.numbers)
      tl_member_f64(w, "largest", apart.largest);
  }
  tl_buf_release(&text);
}

static void put_difference(report *r, tl_json_writer *w, const tl_difference *d) {
  tl_json_line(w, 2);
  tl_put_object(w);
  tl_member_z(w, "kind", kind_names[d->kind]);
  tl_member_z(w, "change", change_names[d->change]);
  if (d->kind != TL_DIFF_MODEL)
    tl_member_sv(w, "name", name_of(r, d, side_of(d)));
  if (d->change >= TL_CHANGED) {
    tl_put_key(w, "what");
    tl_put_array(w);
    for (unsigned i = 0; i < TL_N_WHAT; i++)
      if (d->what >> i & 1)
        tl_put_z(w, what_names[i]);
    tl_put_end(w);
  }
  put_rest(r, w, d);
  put_line(r, w, d, 0);
  put_line(r, w, d, 1);
  tl_put_end(w);
}

tl_status tl_diff_json(const tl_pairs *p, const tl_difference_vec *v, tl_buf *out) {
  report r;
  row_vec rows = {0};
  tl_json_writer w = tl_json_to(out);
  bool opened = open(&r, p, out);
  bool good = opened && count(p, v, &rows);
  tl_put_object(&w);
  tl_member_u64(&w, "schema", 1);
  tl_member_z(&w, "a", p->m[0]->path);
  tl_member_z(&w, "b", p->m[1]->path);
  tl_put_key(&w, "counts");
  tl_put_array(&w);
  for (uint32_t i = 0; i < rows.n; i++) {
    tl_json_line(&w, 2);
    tl_put_object(&w);
    tl_member_sv(&w, rows.at[i].op ? "op" : "kind", rows.at[i].name);
    for (int k = 0; k < TL_N_CHANGES; k++)
      tl_member_u64(&w, change_names[k], rows.at[i].n[k]);
    tl_put_end(&w);
  }
  tl_put_end(&w);
  tl_put_key(&w, "differences");
  tl_put_array(&w);
  for (uint32_t i = 0; good && i < v->n; i++)
    put_difference(&r, &w, &v->at[i]);
  tl_json_finish(&w);
  row_vec_release(&rows);
  return close(&r, good);
}
