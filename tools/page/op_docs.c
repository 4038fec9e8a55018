/* SPDX-License-Identifier: Apache-2.0 */
/* Adds what the op table says of the ops that occur: signature, attributes with defaults, NPU forms
 * in the order in which they are tried, each with its guard. */
#include "tools/page/facts.h"
#include "tools/tables/ops.h"

typedef tl_json_writer writer;

/* State of one list. */
typedef struct list {
  tl_view_model *v;
  const tl_op_chip *chip;
  writer *w;
} list;

static void put_defaults(writer *w, const tl_op *op) {
  tl_buf text;
  tl_buf_init(&text);
  tl_put_key(w, "defaults");
  tl_put_object(w);
  for (uint8_t i = 0; i < op->n_attrs; i++) {
    tl_buf_clear(&text);
    tl_op_add_default(&text, &op->attrs[i]);
    if (text.n)
      tl_member_sv(w, tl_seeds[op->attrs[i].value.name - 1].text, tl_buf_view(&text));
  }
  tl_put_end(w);
  tl_buf_release(&text);
}

static void put_op(const list *l, const tl_op *op) {
  writer *w = l->w;
  tl_buf text;
  tl_buf_init(&text);
  tl_json_line(w, 0);
  if (*op->domain)
    tl_buf_printf(&text, "%s::", op->domain);
  tl_buf_add_z(&text, op->name);
  tl_put_key_sv(w, tl_buf_view(&text));
  tl_put_object(w);
  tl_buf_clear(&text);
  tl_op_describe(&text, op);
  tl_member_sv(w, "doc", tl_buf_view(&text));
  tl_put_key(w, "since");
  tl_put_array(w);
  for (uint8_t i = 0; i < op->n_since; i++)
    tl_put_i64(w, op->since[i]);
  tl_put_end(w);
  put_defaults(w, op);
  tl_put_key(w, "npu");
  tl_op_chip_candidates_json(w, l->chip, op);
  if (op->npu_from)
    tl_member_z(w, "from", op->npu_from);
  tl_put_end(w);
  l->v->record.no_memory = l->v->record.no_memory || text.failed;
  tl_buf_release(&text);
}

/* Ops that a model had are those of any state; opaque ones have no row. */
static void put_ops(const list *l) {
  for (uint32_t op = 0; op < tl_n_op_rows; op++)
    if (l->v->m->had_ops[op])
      put_op(l, tl_op_row(op));
}

void tl_view_ops(tl_view_model *v) {
  tl_op_chip chip;
  tl_buf json;
  tl_buf_init(&json);
  writer w = tl_json_compact(&json);
  tl_put_object(&w);
  if (tl_op_chip_init(&chip, &v->cli->settings.options, &v->cli->diag))
    put_ops(&(list){.v = v, .chip = &chip, .w = &w});
  else
    json.failed = true;
  tl_put_end(&w);
  tl_op_chip_release(&chip);
  tl_chunks_add(v->chunks, "ops", &json);
  tl_buf_release(&json);
}
