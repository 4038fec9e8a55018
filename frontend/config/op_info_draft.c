/* SPDX-License-Identifier: Apache-2.0 */
/* Collects rows of op information in a table that has the layout of the built-in ones. */
#include "frontend/config/op_info.h"

void tl_op_info_draft_init(tl_op_info_draft *t, const tl_op_info_set *base) {
  *t = (tl_op_info_draft){.base = base};
  tl_buf_init(&t->dtypes);
  tl_buf_init(&t->text);
  (void)tl_op_info_draft_text(t, (tl_sv){"", 0}); /* offset 0 is the empty text */
}

void tl_op_info_draft_release(tl_op_info_draft *t) {
  tl_op_info_row_vec_release(&t->rows);
  tl_op_info_slot_vec_release(&t->slots);
  tl_op_info_attr_vec_release(&t->attrs);
  tl_buf_release(&t->dtypes);
  tl_buf_release(&t->text);
}

/* Offsets have 32 bits: a longer text counts as lack of memory. */
uint32_t tl_op_info_draft_text(tl_op_info_draft *t, tl_sv text) {
  size_t at = t->text.n;
  if (at + text.n >= UINT32_MAX)
    t->text.failed = true;
  if (t->text.failed)
    return 0;
  tl_buf_add_sv(&t->text, text);
  tl_buf_add_char(&t->text, '\0');
  return (uint32_t)at;
}

/* ---- columns -------------------------------------------------------------------------------- */

/* FNV-1a over column `k` of all slots: a column is one combination of dtypes. */
static uint64_t hash_column(const tl_op_info_port *ports, uint32_t n, uint32_t k) {
  uint64_t h = UINT64_C(14695981039346656037);
  for (uint32_t i = 0; i < n; i++)
    h = (h ^ ports[i].dtypes[k]) * UINT64_C(1099511628211);
  return h;
}

static bool same_column(const tl_op_info_port *ports, uint32_t n, uint32_t k, uint32_t l) {
  for (uint32_t i = 0; i < n; i++) {
    if (ports[i].dtypes[k] != ports[i].dtypes[l])
      return false;
  }
  return true;
}

/* Returns false if a slot of the column has a dtype that no model can have. */
static bool is_usable(const tl_op_info_port *ports, uint32_t n, uint32_t k) {
  for (uint32_t i = 0; i < n; i++) {
    if (ports[i].dtypes[k] == TL_DTYPE_NONE)
      return false;
  }
  return true;
}

/* Moves usable columns to the front, the first of equal ones only, and returns how many stay.
 * Hashes make the comparison with all earlier columns cheap. */
static uint32_t compact(tl_op_info_port *ports, uint32_t n, uint32_t n_columns) {
  uint64_t seen[TL_OP_INFO_MAX_COLUMNS];
  uint32_t kept = 0;
  for (uint32_t k = 0; k < n_columns; k++) {
    uint64_t h = hash_column(ports, n, k);
    bool stays = is_usable(ports, n, k);
    for (uint32_t l = 0; l < kept && stays; l++)
      stays = seen[l] != h || !same_column(ports, n, k, l);
    if (!stays)
      continue;
    for (uint32_t i = 0; i < n; i++)
      ports[i].dtypes[kept] = ports[i].dtypes[k];
    seen[kept++] = h;
  }
  return kept;
}

/* Returns the built-in row of the same op if it has as many slots, for a row without columns. Such
 * ops compute their dtypes in code, which the file does not hold. */
static tl_op_info donor(const tl_op_info_draft *t, const tl_op_info_row *row) {
  tl_op_info base = tl_op_info_find(t->base, tl_sv_from(t->text.p + row->op));
  bool fits = base.row && base.row->n_inputs == row->n_inputs &&
              base.row->n_outputs == row->n_outputs;
  return fits ? base : (tl_op_info){0};
}

bool tl_op_info_draft_slots(tl_op_info_draft *t, tl_op_info_row *row, tl_op_info_port *ports) {
  uint32_t n = (uint32_t)row->n_inputs + row->n_outputs;
  uint32_t columns = n ? compact(ports, n, ports[0].n_columns) : 0;
  if (t->text.failed)
    return false;
  tl_op_info base = columns ? (tl_op_info){0} : donor(t, row);
  row->source = base.row ? base.row->source : (uint8_t)TL_INFO_USER;
  row->n_columns = base.row ? base.row->n_columns : (uint16_t)columns;
  row->slots = t->slots.n;
  for (uint32_t i = 0; i < n; i++) {
    const uint8_t *dtypes = base.row
                                ? tl_op_info_columns(base, &base.table->slots[base.row->slots + i])
                                : ports[i].dtypes;
    tl_op_info_slot slot = {.name = tl_op_info_draft_text(t, ports[i].name),
                            .columns = (uint32_t)t->dtypes.n,
                            .kind = ports[i].kind};
    if (t->dtypes.n > UINT32_MAX - TL_OP_INFO_MAX_COLUMNS)
      return false;
    tl_buf_add(&t->dtypes, dtypes, row->n_columns);
    if (!tl_op_info_slot_vec_push(&t->slots, slot))
      return false;
  }
  return !t->text.failed && !t->dtypes.failed;
}

/* ---- the table ------------------------------------------------------------------------------ */

typedef struct sorted_row {
  const char *op;
  uint32_t number; /* in reading order */
} sorted_row;

/* Orders by op, then by reading order, so that the last row of an op comes last. */
static int by_op(const void *a, const void *b) {
  const sorted_row *x = a;
  const sorted_row *y = b;
  int order = tl_sv_compare(tl_sv_from(x->op), tl_sv_from(y->op));
  if (order)
    return order;
  return x->number < y->number ? -1 : x->number > y->number;
}

/* Returns the rows in order of their ops, of several rows for one op the last. The caller's arena
 * holds them. NULL if memory is out. */
static tl_op_info_row *sort_rows(const tl_op_info_draft *t, tl_arena *a, uint32_t *n) {
  sorted_row *order = malloc((t->rows.n + 1) * sizeof *order);
  tl_op_info_row *rows = tl_arena_calloc(a, t->rows.n, sizeof *rows);
  *n = 0;
  for (uint32_t i = 0; order && i < t->rows.n; i++)
    order[i] = (sorted_row){t->text.p + t->rows.at[i].op, i};
  if (order && t->rows.n)
    qsort(order, t->rows.n, sizeof *order, by_op);
  for (uint32_t i = 0; order && rows && i < t->rows.n; i++) {
    bool last = i + 1 == t->rows.n || strcmp(order[i].op, order[i + 1].op) != 0;
    if (last)
      rows[(*n)++] = t->rows.at[order[i].number];
  }
  bool failed = !order;
  free(order);
  return failed ? NULL : rows;
}

static void *keep(tl_arena *a, const void *from, size_t n, size_t size) {
  return tl_arena_copy(a, n ? from : "", n * size);
}

tl_status tl_op_info_draft_finish(tl_op_info_draft *t, tl_diag *d, tl_arena *a, const char *name,
                                  const tl_op_info_set **out) {
  uint32_t n = t->base->n_tables;
  tl_op_info_set *set = tl_arena_calloc(a, 1, sizeof *set);
  tl_op_info_table *table = tl_arena_calloc(a, 1, sizeof *table);
  const tl_op_info_table **tables = tl_arena_calloc(a, n + 1, sizeof *tables);
  if (!set || !table || !tables)
    return tl_fail_memory(d, TL_NOWHERE);
  table->name = name;
  table->rows = sort_rows(t, a, &table->n_rows);
  table->slots = keep(a, t->slots.at, t->slots.n, sizeof *t->slots.at);
  table->attrs = keep(a, t->attrs.at, t->attrs.n, sizeof *t->attrs.at);
  table->dtypes = keep(a, t->dtypes.p, t->dtypes.n, 1);
  table->text = keep(a, t->text.p, t->text.n, 1);
  if (!table->rows || !table->slots || !table->attrs || !table->dtypes || !table->text)
    return tl_fail_memory(d, TL_NOWHERE);
  memcpy(tables, t->base->tables, n * sizeof *tables);
  tables[n] = table;
  *set = (tl_op_info_set){tables, n + 1};
  *out = set;
  return TL_OK;
}
