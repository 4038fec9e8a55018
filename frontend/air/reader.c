/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the state of reading, and attributes that are looked up one at a time (reader.h). */
#include "frontend/air/reader.h"

void tl_air_reader_release(tl_air_reader *r) {
  tl_side_file_vec_release(&r->externals);
  tl_air_graph_vec_release(&r->graphs);
  tl_u32_vec_release(&r->graph_of);
  tl_air_op_vec_release(&r->ops);
  tl_u32_vec_release(&r->op_of);
  tl_u32_vec_release(&r->named);
  tl_u32_vec_release(&r->for_output);
  tl_span_vec_release(&r->edges);
  tl_span_vec_release(&r->inputs);
  tl_span_vec_release(&r->outputs);
  tl_span_vec_release(&r->bodies);
  tl_air_entry_vec_release(&r->entries);
  tl_attr_vec_release(&r->attrs);
  tl_u32_vec_release(&r->values);
  tl_i64_vec_release(&r->numbers);
  tl_u32_vec_release(&r->ids);
  tl_u32_vec_release(&r->slots);
  tl_u32_vec_release(&r->states);
}

tl_status tl_air_malformed(const tl_air_reader *r, const unsigned char *at, const char *what) {
  tl_location where = {.file = r->path, .offset = (uint64_t)(at - r->model.p), .has_offset = true};
  return tl_fail(r->d, TL_INVALID_MODEL, where,
                 "malformed %s\vthe file is damaged, truncated, or not an AIR model", what);
}

tl_location tl_air_at(const tl_air_reader *r, tl_symbol node) {
  tl_location where = TL_AT_NODE(r->path, tl_sym(r->m, node));
  uint32_t at = tl_slot_get(&r->op_of, node);
  if (at && at <= r->ops.n)
    where.line = r->ops.at[at - 1].line;
  return where;
}

tl_symbol tl_air_symbol(tl_air_reader *r, tl_sv s) {
  return s.n ? tl_intern_view(&r->m->symbols, s) : 0;
}

static bool is_member(const tl_field *f) {
  switch (f->number) {
  case TL_ATTRDEF_I:
  case TL_ATTRDEF_B:
  case TL_ATTRDEF_DT: return f->type == TL_WIRE_VARINT;
  case TL_ATTRDEF_F: return f->type == TL_WIRE_FIXED32;
  case TL_ATTRDEF_LIST:
  case TL_ATTRDEF_S:
  case TL_ATTRDEF_BT:
  case TL_ATTRDEF_FUNC:
  case TL_ATTRDEF_TD:
  case TL_ATTRDEF_T:
  case TL_ATTRDEF_G:
  case TL_ATTRDEF_LIST_LIST_INT:
  case TL_ATTRDEF_LIST_LIST_FLOAT: return f->type == TL_WIRE_BYTES;
  default: return false;
  }
}

/* Narrows an AttrDef to the member that counts; a malformed one stays what it is. */
static void narrow(tl_proto *value) {
  tl_proto walk = *value, member = {value->end, value->end};
  tl_field f;
  tl_step step;
  while ((step = tl_proto_next(&walk, &f)) == TL_STEP_FIELD)
    if (is_member(&f))
      member = (tl_proto){f.start, walk.p};
  if (step == TL_STEP_END)
    *value = member;
}

static bool split(tl_proto body, tl_air_entry *out) {
  tl_field f;
  tl_step step;
  tl_proto walk = body;
  /* As it is written mostly: the key, then the value. */
  if (tl_proto_step(&walk, &f) == TL_STEP_FIELD && tl_field_tag(&f) == TL_TAG(1, TL_WIRE_BYTES)) {
    out->key = tl_proto_sv(f.body);
    if (tl_proto_step(&walk, &f) == TL_STEP_FIELD && tl_field_tag(&f) == TL_TAG(2, TL_WIRE_BYTES) &&
        walk.p == walk.end) {
      out->value = f.body;
      return true;
    }
  }
  *out = (tl_air_entry){.key = {"", 0}, .value = {body.end, body.end}};
  while ((step = tl_proto_next(&body, &f)) == TL_STEP_FIELD) {
    if (tl_field_tag(&f) == TL_TAG(1, TL_WIRE_BYTES))
      out->key = tl_proto_sv(f.body);
    else if (tl_field_tag(&f) == TL_TAG(2, TL_WIRE_BYTES))
      out->value = f.body;
  }
  return step == TL_STEP_END;
}

bool tl_air_entry_read(tl_proto body, tl_air_entry *out) {
  bool good = split(body, out);
  if (good)
    narrow(&out->value);
  return good;
}

bool tl_air_find(tl_proto message, uint32_t field, const char *key, tl_proto *value) {
  tl_field f;
  tl_air_entry entry;
  while (tl_proto_step(&message, &f) == TL_STEP_FIELD)
    if (tl_field_tag(&f) == TL_TAG(field, TL_WIRE_BYTES) && tl_air_entry_read(f.body, &entry) &&
        tl_sv_is(entry.key, key)) {
      *value = entry.value;
      return true;
    }
  return false;
}

bool tl_air_lookup(const tl_air_reader *r, const char *key, tl_proto *value) {
  for (uint32_t i = 0; i < r->entries.n; i++)
    if (tl_sv_is(r->entries.at[i].key, key)) {
      *value = r->entries.at[i].value;
      return true;
    }
  return false;
}

/* Returns the field of a ListValue that holds elements of a type; 0 for no type. */
static uint32_t field_of(uint64_t type) {
  static const uint8_t fields[] = {0, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12};
  return type < sizeof fields ? fields[type] : 0;
}

const char *tl_air_list_problem(tl_proto list) {
  tl_field f;
  tl_step step;
  uint64_t type = 0;
  uint32_t held = 0;
  bool mixed = false;
  while ((step = tl_proto_next(&list, &f)) == TL_STEP_FIELD) {
    if (f.number == TL_LIST_TYPE) {
      type = f.value;
    } else {
      mixed = mixed || (held && held != f.number);
      held = f.number;
    }
  }
  if (step == TL_STEP_BAD)
    return "is malformed";
  return mixed || (held && held != field_of(type)) ? "has elements of another type than it says"
                                                   : NULL;
}

bool tl_air_has_value(tl_proto value) {
  enum { TYPES = 10 };
  tl_field f, part;
  uint64_t type = 0;
  if (tl_proto_next(&value, &f) != TL_STEP_FIELD || tl_proto_left(&value) ||
      f.number > TL_ATTRDEF_LIST_LIST_FLOAT)
    return false;
  if (tl_field_tag(&f) != TL_TAG(TL_ATTRDEF_LIST, TL_WIRE_BYTES))
    return f.number != TL_ATTRDEF_LIST;
  tl_step step;
  tl_proto list = f.body;
  while ((step = tl_proto_next(&list, &part)) == TL_STEP_FIELD)
    if (tl_field_tag(&part) == TL_TAG(TL_LIST_TYPE, TL_WIRE_VARINT))
      type = part.value;
  return step == TL_STEP_END && type > 0 && type <= TYPES && !tl_air_list_problem(f.body);
}

bool tl_air_int(tl_proto value, int64_t *out) {
  tl_field f;
  if (tl_proto_next(&value, &f) != TL_STEP_FIELD ||
      tl_field_tag(&f) != TL_TAG(TL_ATTRDEF_I, TL_WIRE_VARINT))
    return false;
  *out = (int64_t)f.value;
  return true;
}

bool tl_air_string(tl_proto value, tl_sv *out) {
  tl_field f;
  if (tl_proto_next(&value, &f) != TL_STEP_FIELD ||
      tl_field_tag(&f) != TL_TAG(TL_ATTRDEF_S, TL_WIRE_BYTES))
    return false;
  *out = tl_proto_sv(f.body);
  return true;
}
