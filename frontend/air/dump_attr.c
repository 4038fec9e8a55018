/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of nodes in GE's dumps in the shape of ONNX. Members of nodes, descs and tensors are
 * attributes there as well, told apart by their names. */
#include "frontend/air/dump.h"

#include <stdio.h>
#include <stdlib.h>

#include "frontend/wire/build.h"

/* Members of a node that only the runtime needs. */
static const char *const members[] = {"id",
                                      "stream_id",
                                      "input_name",
                                      "src_name",
                                      "src_index",
                                      "dst_name",
                                      "dst_index",
                                      "input_i",
                                      "output_i",
                                      "workspace",
                                      "workspace_bytes",
                                      "is_input_const",
                                      "send_event_id_list",
                                      "recv_event_id_list",
                                      "input_desc_nums",
                                      "output_desc_nums"};

static bool is_member(tl_sv name) {
  for (size_t i = 0; i < sizeof members / sizeof *members; i++)
    if (tl_sv_is(name, members[i]))
      return true;
  return tl_sv_starts_with(name, "input_desc_") || tl_sv_starts_with(name, "output_desc_");
}

/* ---- reading --------------------------------------------------------------------------------- */

static tl_dump_attr read_attr(tl_proto body) {
  tl_dump_attr a = {.name = {"", 0}, .body = body, .s = {"", 0}, .g = {body.end, body.end}};
  tl_field f;
  while (tl_proto_next(&body, &f) == TL_STEP_FIELD)
    switch (f.number) {
    case TL_DUMP_ATTR_NAME: a.name = tl_proto_sv(f.body); break;
    case TL_DUMP_ATTR_S: a.s = tl_proto_sv(f.body); break;
    case TL_DUMP_ATTR_I: a.i = (int64_t)f.value; break;
    case TL_DUMP_ATTR_G: a.g = f.body; break;
    case TL_DUMP_ATTR_TYPE: a.type = f.value <= UINT8_MAX ? (uint8_t)f.value : UINT8_MAX; break;
    case TL_DUMP_ATTR_F: {
      uint32_t bits = (uint32_t)f.value;
      memcpy(&a.f, &bits, sizeof a.f);
      break;
    }
    default: break;
    }
  return a;
}

static int by_name(const void *p, const void *q) {
  const tl_dump_attr *a = p, *b = q;
  return tl_sv_compare(a->name, b->name);
}

tl_status tl_dump_read_attrs(tl_dump *d, const tl_dump_node *n) {
  tl_proto walk = n->body;
  tl_field f;
  d->attrs.n = 0;
  while (tl_proto_next(&walk, &f) == TL_STEP_FIELD)
    if (f.number == TL_DUMP_NODE_ATTR && !tl_dump_attr_vec_push(&d->attrs, read_attr(f.body)))
      return TL_NO_MEMORY;
  if (d->attrs.n)
    qsort(d->attrs.at, d->attrs.n, sizeof *d->attrs.at, by_name);
  for (uint32_t i = 0; i < d->attrs.n; i++) {
    const tl_dump_attr *a = &d->attrs.at[i];
    tl_location where = tl_dump_at(d, n);
    where.attr = a->name;
    if (i && tl_sv_eq(a->name, a[-1].name))
      return tl_fail(d->r->d, TL_INVALID_MODEL, where, "the node has this attribute twice");
    if (a->type < TL_DUMP_FLOAT || a->type > TL_DUMP_STRINGS || a->type == TL_DUMP_TENSOR)
      return tl_fail(d->r->d, TL_INVALID_MODEL, where,
                     "an attribute of a type that GE does not dump\vthe types are INT, FLOAT, "
                     "STRING, GRAPH, INTS, FLOATS and STRINGS");
  }
  return TL_OK;
}

const tl_dump_attr *tl_dump_find(const tl_dump *d, tl_sv stem, const char *suffix) {
  uint32_t low = 0, high = d->attrs.n;
  size_t n = strlen(suffix);
  while (low < high) {
    uint32_t at = low + (high - low) / 2;
    tl_sv name = d->attrs.at[at].name;
    tl_sv head = {name.p, name.n < stem.n ? name.n : stem.n};
    int order = tl_sv_compare(head, stem);
    if (order == 0)
      order = tl_sv_compare((tl_sv){name.p + head.n, name.n - head.n}, (tl_sv){suffix, n});
    if (order == 0)
      return &d->attrs.at[at];
    if (order < 0)
      low = at + 1;
    else
      high = at;
  }
  return NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Copies the elements of a list, which have another field number there. */
static void put_list(tl_buf *out, const tl_dump_attr *a, uint32_t from, uint32_t to, int type) {
  tl_proto walk = a->body;
  tl_field f;
  size_t list = tl_build_open(out, TL_ATTRDEF_LIST);
  while (tl_proto_next(&walk, &f) == TL_STEP_FIELD)
    if (f.number == from)
      tl_build_bytes(out, to, tl_proto_sv(f.body));
  tl_build_int(out, TL_LIST_TYPE, type);
  tl_build_close(out, list);
}

static void put_value(tl_buf *out, const tl_dump_attr *a) {
  enum { STRINGS = 1, INTS, FLOATS };
  switch (a->type) {
  case TL_DUMP_FLOAT: tl_build_float(out, TL_ATTRDEF_F, a->f); break;
  case TL_DUMP_INT: tl_build_int(out, TL_ATTRDEF_I, a->i); break;
  case TL_DUMP_STRING: tl_build_bytes(out, TL_ATTRDEF_S, a->s); break;
  case TL_DUMP_FLOATS: put_list(out, a, TL_DUMP_ATTR_FLOATS, TL_LIST_F, FLOATS); break;
  case TL_DUMP_INTS: put_list(out, a, TL_DUMP_ATTR_INTS, TL_LIST_I, INTS); break;
  default: put_list(out, a, TL_DUMP_ATTR_STRINGS, TL_LIST_S, STRINGS); break;
  }
}

tl_status tl_dump_put(tl_dump *d, const tl_dump_node *n, uint32_t field, tl_sv key,
                      const tl_dump_attr *a) {
  if (a->type == TL_DUMP_GRAPH)
    return tl_fail(d->r->d, TL_INVALID_MODEL, tl_dump_at(d, n), "'%.*s' cannot be a graph",
                   TL_SV_ARG(a->name));
  size_t entry = tl_build_open(d->out, field);
  tl_build_bytes(d->out, 1, key);
  size_t value = tl_build_open(d->out, 2);
  put_value(d->out, a);
  tl_build_close(d->out, value);
  tl_build_close(d->out, entry);
  return TL_OK;
}

/* ---- descs ----------------------------------------------------------------------------------- */

void tl_dump_put_shape(tl_buf *out, const tl_dump_attr *a) {
  tl_proto walk = a ? a->body : (tl_proto){NULL, NULL};
  tl_field f;
  size_t shape = tl_build_open(out, TL_DESC_SHAPE);
  while (a && tl_proto_next(&walk, &f) == TL_STEP_FIELD)
    if (f.number == TL_DUMP_ATTR_INTS)
      tl_build_bytes(out, TL_SHAPE_DIM, tl_proto_sv(f.body));
  tl_build_close(out, shape);
}

tl_status tl_dump_put_dtype(tl_dump *d, const tl_dump_node *n, const tl_dump_attr *a) {
  int64_t number = a->type == TL_DUMP_STRING ? tl_air_dtype_number(a->s) : -1;
  if (number < 0)
    return tl_fail(d->r->d, TL_INVALID_MODEL, tl_dump_at(d, n), "'%.*s' is no element type: '%.*s'",
                   TL_SV_ARG(a->name), TL_SV_ARG(tl_sv_shown(a->s)));
  tl_build_int(d->out, TL_DESC_DTYPE, number);
  return TL_OK;
}

static tl_status put_desc(tl_dump *d, const tl_dump_node *n, uint32_t field,
                          const tl_dump_attr *const of[3]) {
  size_t desc = tl_build_open(d->out, field);
  TL_TRY(tl_dump_put_dtype(d, n, of[0]));
  tl_dump_put_shape(d->out, of[1]);
  if (of[2])
    tl_build_bytes(d->out, TL_DESC_LAYOUT, of[2]->s);
  tl_build_close(d->out, desc);
  return TL_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static const char *const tensor_parts[] = {"_desc_dtype", "_desc_shape", "_desc_layout",
                                           "_desc_device_type", "_data"};

/* Returns the name of the tensor that an attribute is a part of; p NULL: it is none. */
static tl_sv tensor_of(const tl_dump *d, tl_sv name) {
  for (size_t i = 0; i < sizeof tensor_parts / sizeof *tensor_parts; i++) {
    tl_sv stem = {name.p, name.n - strlen(tensor_parts[i])};
    if (tl_sv_ends_with(name, tensor_parts[i]) && tl_dump_find(d, stem, tensor_parts[0]))
      return stem;
  }
  return (tl_sv){NULL, 0};
}

/* Appends a tensor whose data the dump has. One without is left out, as in a dump without
 * weights. */
static tl_status put_tensor(tl_dump *d, const tl_dump_node *n, tl_sv key) {
  const tl_dump_attr *data = tl_dump_find(d, key, tensor_parts[4]);
  const tl_dump_attr *const of[3] = {tl_dump_find(d, key, tensor_parts[0]),
                                     tl_dump_find(d, key, tensor_parts[1]),
                                     tl_dump_find(d, key, tensor_parts[2])};
  if (!data || data->type != TL_DUMP_STRING)
    return TL_OK;
  size_t entry = tl_build_open(d->out, TL_NODE_ATTR);
  tl_build_bytes(d->out, 1, key);
  size_t value = tl_build_open(d->out, 2);
  size_t tensor = tl_build_open(d->out, TL_ATTRDEF_T);
  TL_TRY(put_desc(d, n, TL_TENSORDEF_DESC, of));
  tl_build_bytes(d->out, TL_TENSORDEF_DATA, data->s);
  tl_build_close(d->out, tensor);
  tl_build_close(d->out, value);
  tl_build_close(d->out, entry);
  return TL_OK;
}

/* ---- lists of lists -------------------------------------------------------------------------- */

static const tl_op_attr *declared(const tl_dump *d, const tl_op *row, tl_sv name) {
  tl_symbol s = row ? tl_symbol_find(&d->r->m->symbols, name) : TL_NO_SYMBOL;
  return s == TL_NO_SYMBOL ? NULL : tl_op_attr_find(row, s);
}

/* Returns the name of the list of lists that an attribute "<name>_<row>" is a row of. */
static tl_sv rows_of(const tl_dump *d, const tl_op *row, tl_sv name) {
  size_t n = name.n;
  while (n && name.p[n - 1] >= '0' && name.p[n - 1] <= '9')
    n--;
  tl_sv stem = {name.p, n ? n - 1 : 0};
  if (n == name.n || n < 2 || name.p[n - 1] != '_')
    return (tl_sv){NULL, 0};
  const tl_op_attr *a = declared(d, row, stem);
  return a && a->value.kind == TL_ATTR_INT_LISTS ? stem : (tl_sv){NULL, 0};
}

static void put_row(tl_buf *out, const tl_dump_attr *a) {
  tl_proto walk = a->body;
  tl_field f;
  size_t row = tl_build_open(out, 1);
  while (tl_proto_next(&walk, &f) == TL_STEP_FIELD)
    if (f.number == TL_DUMP_ATTR_INTS)
      tl_build_bytes(out, 1, tl_proto_sv(f.body));
  tl_build_close(out, row);
}

/* Appends all rows when the first one is met. */
static void put_rows(tl_dump *d, tl_sv stem, tl_sv name) {
  char suffix[16] = "_0";
  if (!tl_sv_ends_with(name, suffix) || name.n != stem.n + 2)
    return;
  size_t entry = tl_build_open(d->out, TL_NODE_ATTR);
  tl_build_bytes(d->out, 1, stem);
  size_t value = tl_build_open(d->out, 2);
  size_t rows = tl_build_open(d->out, TL_ATTRDEF_LIST_LIST_INT);
  const tl_dump_attr *a;
  for (uint32_t i = 0; (a = tl_dump_find(d, stem, suffix)); i++) {
    put_row(d->out, a);
    (void)snprintf(suffix, sizeof suffix, "_%u", i + 1);
  }
  tl_build_close(d->out, rows);
  tl_build_close(d->out, value);
  tl_build_close(d->out, entry);
}

/* ---- all of a node --------------------------------------------------------------------------- */

tl_status tl_dump_put_attrs(tl_dump *d, const tl_dump_node *n, const tl_op *row) {
  for (uint32_t i = 0; i < d->attrs.n; i++) {
    const tl_dump_attr *a = &d->attrs.at[i];
    tl_sv stem;
    if (is_member(a->name) || a->type == TL_DUMP_GRAPH)
      continue;
    if ((stem = tensor_of(d, a->name)).p) {
      if (a->name.n == stem.n + strlen(tensor_parts[0]) &&
          tl_sv_ends_with(a->name, tensor_parts[0]))
        TL_TRY(put_tensor(d, n, stem));
    } else if ((stem = rows_of(d, row, a->name)).p) {
      put_rows(d, stem, a->name);
    } else {
      TL_TRY(tl_dump_put(d, n, TL_NODE_ATTR, a->name, a));
    }
  }
  return TL_OK;
}
