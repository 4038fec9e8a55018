/* SPDX-License-Identifier: Apache-2.0 */
/* Checks kind and range of values of a run configuration and writes their normal form. */
#include <math.h>
#include <stdlib.h>

#include "frontend/config/run_config.h"
#include "support/memory.h"

/* Returns what a value of the kind is, for messages. */
static const char *kind_text(const tl_run_type *type) {
  switch ((tl_option_kind)type->kind) {
  case TL_OPTION_BOOL: return *type->values ? "true, false or a number" : "true or false";
  case TL_OPTION_BIT: return "0 or 1";
  case TL_OPTION_INT: return "an integer";
  case TL_OPTION_REAL: return "a number";
  case TL_OPTION_SIZE: return "a size in bytes, or text like \"25MiB\"";
  case TL_OPTION_LIST: return "a list";
  case TL_OPTION_OBJECT: return "an object";
  default: return "text in double quotes";
  }
}

static tl_status bad_kind(tl_diag *d, tl_location where, const tl_run_type *type, tl_sv text) {
  char name[TL_RUN_NAME_BYTES];
  return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-TYPE", where, "%s takes %s, not '%.*s'",
                      tl_run_spelled(type->name, name), kind_text(type),
                      TL_SV_ARG(tl_sv_shown(text)));
}

static tl_status bad_range(tl_diag *d, tl_location where, const tl_run_type *type, tl_sv text) {
  char name[TL_RUN_NAME_BYTES];
  bool range = type->kind == TL_OPTION_INT;
  return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-RANGE", where, "%s is %s %s, not '%.*s'",
                      tl_run_spelled(type->name, name), range ? "an integer in" : "one of",
                      type->values, TL_SV_ARG(tl_sv_shown(text)));
}

/* Returns 1 or 0 for a truth value, also as Python spells it, and -1 for other text. */
static int truth(tl_sv text) {
  if (tl_sv_is(text, "true") || tl_sv_is(text, "True") || tl_sv_is(text, "1"))
    return 1;
  return tl_sv_is(text, "false") || tl_sv_is(text, "False") || tl_sv_is(text, "0") ? 0 : -1;
}

/* Reads a truth value. Some keys accept further integers, which `values` lists. */
static tl_status read_truth(tl_diag *d, tl_location where, const tl_run_type *type, tl_sv text,
                            tl_buf *out) {
  int value = truth(text);
  int64_t number;
  if (value >= 0)
    tl_buf_add_z(out, type->kind == TL_OPTION_BIT ? (value ? "1" : "0") : value ? "true" : "false");
  else if (tl_choice_has(type->values, text)) /* an integer that a truth value was widened to */
    tl_buf_add_sv(out, text);
  else if (tl_parse_i64(text, &number) && (*type->values || type->kind == TL_OPTION_BIT))
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-RANGE", where, "'%.*s' is not one of %s",
                        TL_SV_ARG(text), *type->values ? type->values : "0|1");
  else
    return bad_kind(d, where, type, text);
  return TL_OK;
}

/* Reads an integer within the bounds of the key, "low..high". An integer that does not fit 64 bits
 * is reported as out of range, not as a wrong kind. */
static tl_status read_integer(tl_diag *d, tl_location where, const tl_run_type *type, tl_sv text,
                              tl_buf *out) {
  int64_t value;
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;
  double real;
  const char *dots = strstr(type->values, "..");
  (void)tl_parse_i64((tl_sv){type->values, (size_t)(dots - type->values)}, &low);
  (void)tl_parse_i64(tl_sv_from(dots + 2), &high);
  bool whole = tl_parse_i64(text, &value);
  if (!whole && tl_parse_f64(text, &real) && isfinite(real) && floor(real) == real)
    return bad_range(d, where, type, text); /* an integer beyond 64 bits */
  if (!whole)
    return bad_kind(d, where, type, text);
  if (value < low || value > high)
    return bad_range(d, where, type, text);
  tl_buf_add_i64(out, value);
  return TL_OK;
}

/* Reads a size in bytes, with a unit or without. */
static tl_status read_size(tl_diag *d, tl_location where, const tl_run_type *type, tl_sv text,
                           tl_buf *out) {
  uint64_t value;
  int64_t negative;
  if (tl_parse_i64(text, &negative) && negative < 0)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-RANGE", where,
                        "'%.*s' bytes: the number is negative", TL_SV_ARG(text));
  if (!tl_parse_size(text, &value))
    return bad_kind(d, where, type, text);
  if (value > INT64_MAX)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-RANGE", where,
                        "'%.*s' bytes: the number is too large", TL_SV_ARG(text));
  tl_buf_add_u64(out, value);
  return TL_OK;
}

/* Reads items joined by commas. Brackets around the whole, as Python prints lists, are dropped. */
static tl_status read_list(tl_diag *d, tl_location where, const tl_run_type *type, tl_sv text,
                           tl_buf *out) {
  if (text.n >= 2 && text.p[0] == '[' && text.p[text.n - 1] == ']')
    text = tl_sv_trim((tl_sv){text.p + 1, text.n - 2});
  size_t start = out->n;
  for (tl_sv rest = text; rest.p;) {
    tl_sv item = tl_sv_trim(tl_sv_split(&rest, ','));
    if (item.n == 0 && !rest.p && out->n > start) /* a comma at the end */
      break;
    if (item.n == 0 || memchr(item.p, '[', item.n) || memchr(item.p, ']', item.n))
      return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-TYPE", where,
                          "'%.*s' has an empty item or a list within\vwrite %s",
                          TL_SV_ARG(tl_sv_shown(text)), type->values);
    if (out->n > start)
      tl_buf_add_char(out, ',');
    tl_buf_add_sv(out, item);
  }
  return TL_OK;
}

tl_status tl_run_value(tl_diag *d, tl_location where, const tl_run_type *type, tl_sv text,
                       tl_buf *out) {
  double real;
  switch ((tl_option_kind)type->kind) {
  case TL_OPTION_BOOL:
  case TL_OPTION_BIT: return read_truth(d, where, type, text, out);
  case TL_OPTION_INT: return read_integer(d, where, type, text, out);
  case TL_OPTION_SIZE: return read_size(d, where, type, text, out);
  case TL_OPTION_LIST: return read_list(d, where, type, text, out);
  case TL_OPTION_REAL:
    if (!tl_parse_f64(text, &real) || !isfinite(real))
      return bad_kind(d, where, type, text);
    tl_buf_add_f64(out, real);
    return TL_OK;
  case TL_OPTION_CHOICE:
    if (*type->values && !tl_choice_has(type->values, text))
      return bad_range(d, where, type, text);
    tl_buf_add_sv(out, text);
    return TL_OK;
  default: tl_buf_add_sv(out, text); return TL_OK;
  }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Adds whole numbers without a fraction. Beyond 9e18 the conversion to int64_t could overflow. */
static void add_number(tl_buf *out, double value) {
  if (floor(value) == value && fabs(value) < 9e18)
    tl_buf_add_i64(out, (int64_t)value);
  else
    tl_buf_add_f64(out, value);
}

/* Returns true if a JSON value of this kind can stand for a value of the type. */
static bool is_of_kind(const tl_run_type *type, const cJSON *item) {
  bool number = cJSON_IsNumber(item);
  switch ((tl_option_kind)type->kind) {
  case TL_OPTION_BOOL: return cJSON_IsBool(item) || (number && *type->values);
  case TL_OPTION_BIT: return cJSON_IsBool(item) || number;
  case TL_OPTION_INT:
  case TL_OPTION_REAL: return number;
  case TL_OPTION_SIZE: return number || cJSON_IsString(item);
  case TL_OPTION_CHOICE: /* choices among digits may be numbers */
    return cJSON_IsString(item) || (number && type->values[0] >= '0' && type->values[0] <= '9') ||
           (cJSON_IsBool(item) && tl_choice_has(type->values, TL_SV("true")));
  case TL_OPTION_LIST: return cJSON_IsArray(item) || cJSON_IsString(item);
  case TL_OPTION_OBJECT: return cJSON_IsObject(item) || cJSON_IsString(item);
  default: /* sizes of memory that nobody reads any more were numbers, too */
    return cJSON_IsString(item) || (number && strcmp(type->values, "BYTES") == 0);
  }
}

/* Adds the items of an array, joined by commas. An item with a comma would become two. */
static tl_status add_items(tl_diag *d, tl_location where, const tl_run_type *type,
                           const cJSON *array, tl_buf *out) {
  for (const cJSON *item = array->child; item; item = item->next) {
    tl_sv text = cJSON_IsString(item) ? tl_sv_trim(tl_sv_from(item->valuestring)) : (tl_sv){"", 0};
    if (item != array->child)
      tl_buf_add_char(out, ',');
    if (cJSON_IsNumber(item))
      add_number(out, item->valuedouble);
    else if (text.n == 0 || memchr(text.p, ',', text.n))
      return bad_kind(d, where, type, TL_SV("a list with items other than words and numbers"));
    else
      tl_buf_add_sv(out, text);
  }
  return TL_OK;
}

static tl_status add_object(tl_diag *d, tl_location where, const cJSON *item, tl_buf *out) {
  char *text = tl_memory_seen(cJSON_PrintUnformatted(item), 0);
  if (!text)
    return tl_fail_memory(d, where);
  tl_buf_add_z(out, text);
  cJSON_free(text);
  return TL_OK;
}

tl_status tl_run_json_value(tl_diag *d, tl_location where, const tl_run_type *type,
                            const cJSON *item, tl_buf *out) {
  char name[TL_RUN_NAME_BYTES];
  if (!is_of_kind(type, item))
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-TYPE", where, "%s takes %s, not %s",
                        tl_run_spelled(type->name, name), kind_text(type), tl_json_kind(item));
  if (cJSON_IsArray(item))
    return add_items(d, where, type, item, out);
  if (cJSON_IsObject(item))
    return add_object(d, where, item, out);
  if (cJSON_IsString(item))
    return tl_run_value(d, where, type, tl_sv_trim(tl_sv_from(item->valuestring)), out);
  tl_buf text;
  tl_buf_init(&text);
  if (cJSON_IsBool(item))
    tl_buf_add_z(&text, cJSON_IsTrue(item) ? "true" : "false");
  else
    add_number(&text, item->valuedouble);
  tl_status status = tl_run_value(d, where, type, tl_buf_view(&text), out);
  tl_buf_release(&text);
  return status;
}
