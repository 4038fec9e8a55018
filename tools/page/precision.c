/* SPDX-License-Identifier: Apache-2.0 */
/* Adds what mixed precision decided: for each operand and result its dtype and why, the casts that
 * takes and what they do to the numbers of constants, and the casts that moved or went again. */
#include "passes/precision/effect.h"
#include "passes/precision/reason.h"
#include "tools/page/facts.h"

typedef tl_json_writer writer;

/* A page that is written along the way looks at so many elements of constants; explain --page looks
 * at all of them. */
enum { MOST_COUNTED = 1 << 22 };

/* Rows that are collected: each a fixed number of texts and ids. */
typedef struct rows {
  tl_view_model *v;
  const tl_precision *d;
  tl_u32_vec nodes; /* id, judged as, colour, signature, first slot */
  tl_u32_vec slots; /* output, index, port, value, original, chosen, reason */
} rows;

enum { NODE_CELLS = 5, SLOT_CELLS = 7 };

static void add(rows *x, tl_u32_vec *list, const uint32_t *cells, int n) {
  for (int i = 0; i < n; i++)
    x->v->record.no_memory = x->v->record.no_memory || !tl_u32_vec_push(list, cells[i]);
}

static uint32_t text_z(tl_view_model *v, const char *text) {
  return tl_view_text(&v->strings, tl_sv_from(text));
}

static const char *dtype_name(unsigned d) { return tl_dtype_get((tl_dtype)d)->name; }

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Returns why a slot has its dtype, as a text. */
static uint32_t reason_of(rows *x, tl_precision_place place) {
  tl_buf *room = &x->v->record.json;
  tl_buf_clear(room);
  tl_precision_add_reason(x->v->m, x->d, place, room);
  uint32_t text = tl_view_text(&x->v->strings, tl_buf_view(room));
  tl_buf_clear(room);
  return text;
}

/* Adds an operand or result; absent operands and values without a dtype are left out. */
static void add_slot(rows *x, tl_use_place at) {
  tl_view_model *v = x->v;
  const tl_node *node = tl_node_get(v->m, at.node);
  tl_value_id value = at.output ? node->results + at.index : tl_operand(v->m, at.node, at.index);
  const tl_precision_slot *s = at.output ? &x->d->values[value]
                                         : &x->d->uses[node->operands + at.index];
  if (!value || s->original == TL_DTYPE_NONE)
    return;
  const uint32_t cells[SLOT_CELLS] = {
      at.output,
      at.index,
      text_z(v, tl_precision_port_name(v->m, x->d, at)),
      tl_view_symbol(&v->strings, v->m, tl_value_get(v->m, value)->name),
      text_z(v, dtype_name(s->original)),
      text_z(v, dtype_name(s->chosen)),
      reason_of(x, (tl_precision_place){s, at.output, x->d->nodes[at.node].why})};
  add(x, &x->slots, cells, SLOT_CELLS);
}

static uint32_t signature_of(rows *x, const tl_precision_choice *c) {
  tl_buf *room = &x->v->record.json;
  if (!c->form || c->column < 0)
    return 0;
  tl_buf_clear(room);
  tl_precision_add_signature(c, room);
  uint32_t text = tl_view_text(&x->v->strings, tl_buf_view(room));
  tl_buf_clear(room);
  return text;
}

static void add_node(rows *x, tl_node_id n) {
  const tl_node *node = tl_node_get(x->v->m, n);
  const tl_precision_choice *c = &x->d->nodes[n];
  bool judged = c->form && c->form->type.n;
  const uint32_t cells[NODE_CELLS] = {
      n, judged ? tl_view_text(&x->v->strings, c->form->type) : 0,
      judged ? text_z(x->v, tl_op_colour_name((tl_op_colour)c->colour)) : 0, signature_of(x, c),
      x->slots.n / SLOT_CELLS};
  add(x, &x->nodes, cells, NODE_CELLS);
  for (uint32_t i = 0; i < node->n_operands; i++)
    add_slot(x, (tl_use_place){n, false, i});
  for (uint32_t i = 0; i < node->n_results; i++)
    add_slot(x, (tl_use_place){n, true, i});
}

static void put_columns(writer *w, const tl_u32_vec *list, const char *const *keys, uint32_t n) {
  for (uint32_t c = 0; c < n; c++) {
    tl_json_line(w, 0);
    tl_put_key(w, keys[c]);
    tl_put_array(w);
    for (uint32_t i = c; i < list->n; i += n)
      tl_put_u64(w, list->at[i]);
    tl_put_end(w);
  }
}

static void put_nodes(rows *x, writer *w) {
  static const char *const node_keys[NODE_CELLS] = {"node", "judged", "colour", "signature", "at"};
  static const char *const slot_keys[SLOT_CELLS] = {"output",   "index",  "port",  "value",
                                                    "original", "chosen", "reason"};
  tl_module *m = x->v->m;
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n)
      if (n < x->d->n_nodes && tl_precision_has_float(m, x->d, n))
        add_node(x, n);
  }
  put_columns(w, &x->nodes, node_keys, NODE_CELLS);
  put_columns(w, &x->slots, slot_keys, SLOT_CELLS);
  tl_u32_vec_release(&x->nodes);
  tl_u32_vec_release(&x->slots);
}

/* ---- casts ----------------------------------------------------------------------------------- */

/* Adds a cast; what it does to numbers is null where they were not looked at. */
static void put_cast(rows *x, writer *w, const tl_wanted_cast *c) {
  tl_view_model *v = x->v;
  const tl_float_counts *k = &c->counts;
  tl_put_object(w);
  tl_member_u64(w, "value", tl_view_symbol(&v->strings, v->m, tl_value_get(v->m, c->value)->name));
  tl_member_bool(w, "constant", c->constant);
  tl_member_u64(w, "from", text_z(v, dtype_name(x->d->values[c->value].chosen)));
  tl_member_u64(w, "to", text_z(v, dtype_name(c->dtype)));
  tl_member_u64(w, "for", tl_view_is_node(v->m, c->consumer) ? c->consumer : 0);
  tl_member_u64(w, "consumers", c->n_consumers);
  const tl_count_member lost[] = {{"out_of_range", k->over + k->infinite},
                                  {"become_zero", k->flushed},
                                  {"subnormal", k->subnormal}};
  if (c->constant && c->counted)
    tl_member_counts(w, lost, sizeof lost / sizeof *lost);
  tl_put_end(w);
}

static void put_casts(rows *x, writer *w) {
  tl_precision_effect e = {0};
  uint64_t most = x->v->request->exact ? UINT64_MAX : MOST_COUNTED;
  bool ok = tl_precision_effect_find(x->v->m, x->d, most, &e);
  tl_json_line(w, 0);
  tl_put_key(w, "casts");
  tl_put_array(w);
  for (uint32_t i = 0; i < e.wanted.n; i++)
    put_cast(x, w, &e.wanted.at[i]);
  tl_put_end(w);
  tl_json_line(w, 0);
  const tl_count_member counts[] = {{"nodes", e.nodes},         {"lowered", e.lowered},
                                    {"casts", e.casts},         {"constants", e.constants},
                                    {"uncounted", e.uncounted}, {"out_of_range", e.clamped},
                                    {"become_zero", e.flushed}, {"subnormal", e.subnormal}};
  tl_put_key(w, "summary");
  tl_put_object(w);
  tl_member_counts(w, counts, sizeof counts / sizeof *counts);
  tl_put_key(w, "constant_bytes_saved");
  tl_put_i64(w, e.weights_saved);
  tl_put_key(w, "result_bytes_saved");
  tl_put_i64(w, e.values_saved);
  tl_put_end(w);
  x->v->record.no_memory = x->v->record.no_memory || !ok;
  tl_precision_effect_release(&e);
}

/* ---- the chunk ------------------------------------------------------------------------------- */

void tl_view_precision_keep(tl_view_model *v, const tl_precision *d) {
  rows x = {.v = v, .d = d};
  const char *mode = v->cli->settings.precision.mode_name;
  tl_buf_clear(&v->precision);
  v->decided = tl_json_compact(&v->precision);
  tl_put_object(&v->decided);
  tl_member_z(&v->decided, "mode", mode ? mode : "");
  put_nodes(&x, &v->decided);
  put_casts(&x, &v->decided);
}

void tl_view_precision(tl_view_model *v) {
  const tl_u32_vec *list = &v->record.motions;
  writer *w = &v->decided;
  if (!v->precision.n)
    return;
  tl_put_key(w, "motion");
  tl_put_array(w);
  for (uint32_t i = 0; i < list->n; i += 3) {
    tl_put_array(w);
    for (uint32_t k = 0; k < 3; k++)
      tl_put_u64(w, list->at[i + k]);
    tl_put_end(w);
  }
  tl_put_end(w);
  tl_put_end(w);
  tl_chunks_add(v->chunks, "precision", &v->precision);
}
