/* SPDX-License-Identifier: Apache-2.0 */
/* Checks lists of ports that are carried as bytes: the writer puts them into its file as they are,
 * and loaders drop those that are wrong. */
#include "frontend/air/reader.h"

/* Lists of ports in pairs: of names and of numbers that belong to them. Kinds of ports of an op are
 * below `kinds`. */
static const struct {
  const char *names, *numbers;
  uint64_t kinds;
} pairs[] = {{"_input_name_key", "_input_name_value", UINT64_MAX},
             {"_ir_inputs_key", "_ir_inputs_value", 3},
             {"_ir_outputs_key", "_ir_outputs_value", 2},
             {"_output_name_key", "_output_name_value", UINT64_MAX}};

/* Lists of names that stand alone. */
static const char *const singles[] = {"_ir_attr_names", "_opt_input"};

bool tl_air_lists_ports(tl_sv key) {
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (tl_sv_is(key, pairs[i].names) || tl_sv_is(key, pairs[i].numbers))
      return true;
  for (size_t i = 0; i < sizeof singles / sizeof *singles; i++)
    if (tl_sv_is(key, singles[i]))
      return true;
  return false;
}

/* A list of ports at work. */
typedef struct counting {
  uint64_t kinds;
  int64_t n;
  bool unknown; /* a kind that no loader knows */
} counting;

static bool count(void *user, uint64_t number) {
  counting *c = user;
  c->n++;
  c->unknown = c->unknown || number >= c->kinds;
  return true;
}

/* Counts names and numbers of a list; false if loaders cannot use it. */
static bool count_ports(tl_proto value, counting *c) {
  tl_field f;
  tl_step step;
  if (tl_proto_next(&value, &f) != TL_STEP_FIELD ||
      tl_field_tag(&f) != TL_TAG(TL_ATTRDEF_LIST, TL_WIRE_BYTES))
    return false;
  tl_proto list = f.body;
  while ((step = tl_proto_next(&list, &f)) == TL_STEP_FIELD) {
    if (f.number == TL_LIST_TYPE && f.value)
      return false;
    c->n += f.number == TL_LIST_S;
    if (f.number == TL_LIST_I && !tl_proto_numbers(&f, 0, count, c))
      return false;
  }
  return step == TL_STEP_END && !c->unknown;
}

tl_status tl_air_check_ports(const tl_air_reader *r, tl_location where) {
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    tl_proto value;
    counting names = {.kinds = UINT64_MAX}, numbers = {.kinds = pairs[i].kinds};
    bool good = !tl_air_lookup(r, pairs[i].names, &value) || count_ports(value, &names);
    good = good && (!tl_air_lookup(r, pairs[i].numbers, &value) || count_ports(value, &numbers));
    if (good && names.n == numbers.n)
      continue;
    where.attr = tl_sv_from(pairs[i].numbers);
    return tl_fail(r->d, TL_INVALID_MODEL, where,
                   "this list of ports is wrong, or is not as long as '%s'", pairs[i].names);
  }
  for (size_t i = 0; i < sizeof singles / sizeof *singles; i++) {
    tl_proto value;
    counting names = {.kinds = UINT64_MAX};
    where.attr = tl_sv_from(singles[i]);
    if (tl_air_lookup(r, singles[i], &value) && tl_proto_left(&value) &&
        !count_ports(value, &names))
      return tl_fail(r->d, TL_INVALID_MODEL, where,
                     "this list of names is malformed, or says a type; GE writes the names alone");
  }
  return TL_OK;
}
