/* SPDX-License-Identifier: Apache-2.0 */
/* Reads op information in JSON, as CANN keeps it. The form is {"Add": {"input0": {"name": "x1",
 * "dtype": "float16,float", "paramType": "required"}, "precision_reduce": {"flag": "true"}, ...},
 * ...}. Keys that say nothing about precision or fusion (formats, kernel files) are skipped. */
#include "frontend/config/json_reader.h"
#include "frontend/config/op_info.h"

/* Upper bound on warnings of one file; the rest is counted and reported in one line. */
enum { MOST_WARNINGS = 20 };

/* Names of dtypes in the files, which have several names for some dtypes. */
static const struct {
  const char *name;
  uint8_t dtype; /* TL_DTYPE_NONE: real, but no model can have it */
} dtype_names[] = {
    {"float16", TL_DTYPE_F16},
    {"float", TL_DTYPE_F32},
    {"float32", TL_DTYPE_F32},
    {"bfloat16", TL_DTYPE_BF16},
    {"bf16", TL_DTYPE_BF16},
    {"double", TL_DTYPE_F64},
    {"float64", TL_DTYPE_F64},
    {"int8", TL_DTYPE_I8},
    {"int16", TL_DTYPE_I16},
    {"int32", TL_DTYPE_I32},
    {"int64", TL_DTYPE_I64},
    {"uint8", TL_DTYPE_U8},
    {"uint16", TL_DTYPE_U16},
    {"uint32", TL_DTYPE_U32},
    {"uint64", TL_DTYPE_U64},
    {"bool", TL_DTYPE_BOOL},
    {"string", TL_DTYPE_STRING},
    {"int4", TL_DTYPE_I4},
    {"int2", TL_DTYPE_I2},
    {"uint2", TL_DTYPE_U2},
    {"uint1", TL_DTYPE_U1},
    {"complex32", TL_DTYPE_C32},
    {"complex64", TL_DTYPE_C64},
    {"complex128", TL_DTYPE_C128},
    {"qint8", TL_DTYPE_QI8},
    {"quint8", TL_DTYPE_QU8},
    {"qint16", TL_DTYPE_QI16},
    {"quint16", TL_DTYPE_QU16},
    {"qint32", TL_DTYPE_QI32},
    {"hifloat8", TL_DTYPE_HIF8},
    {"float8_e4m3fn", TL_DTYPE_F8E4M3FN},
    {"float8_e5m2", TL_DTYPE_F8E5M2},
    {"float8_e8m0", TL_DTYPE_F8E8M0},
    {"float4_e2m1", TL_DTYPE_F4E2M1},
    {"float4_e1m2", TL_DTYPE_NONE},
    {"float6_e2m3", TL_DTYPE_NONE},
    {"float6_e3m2", TL_DTYPE_NONE},
    {"hifloat4", TL_DTYPE_NONE},
    {"resource", TL_DTYPE_RESOURCE},
    {"variant", TL_DTYPE_VARIANT},
    {"string_ref", TL_DTYPE_STRING_REF},
    {"dual", TL_DTYPE_NONE},
    {"dual_sub_int8", TL_DTYPE_NONE},
    {"dual_sub_uint8", TL_DTYPE_NONE},
};

/* Kinds of attributes, as the files name them and as the table of op information keeps them. */
static const struct {
  const char *name;
  const char *kind;
} attr_kinds[] = {{"int", "i"},      {"bool", "b"},         {"float", "f"},     {"str", "s"},
                  {"string", "s"},   {"listInt", "is"},     {"listBool", "bs"}, {"listFloat", "fs"},
                  {"listStr", "ss"}, {"listListInt", "iss"}};

/* State of reading one file. */
typedef struct reader {
  tl_json_reader json;
  tl_op_info_draft *draft;
  uint32_t file;    /* its path in the draft's text */
  uint32_t unknown; /* dtypes nobody knows, warned about */
} reader;

/* State of reading one op. Members come in any order, so slots are collected first and read
 * last. */
typedef struct op_reader {
  tl_sv name;
  const cJSON *item;
  const cJSON *inputs[TL_OP_INFO_MAX_SLOTS];
  const cJSON *outputs[TL_OP_INFO_MAX_SLOTS];
  const cJSON *attrs; /* {"list": "a,b"}; NULL: none */
  uint32_t n_inputs;
  uint32_t n_outputs;
  tl_op_info_row row;
} op_reader;

/* Reads the text of `key` in a member of an op. *out is empty if the key is missing. */
static tl_status text_of(const reader *r, const op_reader *op, const cJSON *object, const char *key,
                         tl_sv *out) {
  tl_sv part = tl_sv_shown(tl_sv_from(object->string));
  *out = (tl_sv){"", 0};
  if (!cJSON_IsObject(object))
    return tl_fail(r->json.diag, TL_INVALID_ARGUMENT, tl_json_at(&r->json, object),
                   "op '%.*s': %.*s must be an object, it is %s", TL_SV_ARG(tl_sv_shown(op->name)),
                   TL_SV_ARG(part), tl_json_kind(object));
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  if (!item)
    return TL_OK;
  if (!cJSON_IsString(item))
    return tl_fail(r->json.diag, TL_INVALID_ARGUMENT, tl_json_at(&r->json, item),
                   "op '%.*s': %s of %.*s must be a string, it is %s",
                   TL_SV_ARG(tl_sv_shown(op->name)), key, TL_SV_ARG(part), tl_json_kind(item));
  *out = tl_sv_trim(tl_sv_from(item->valuestring));
  return TL_OK;
}

/* Reads {"flag": "true"}. CANN writes "False" and "false". *out: 1, 0, or -1 if there is no
 * flag. */
static tl_status flag_of(const reader *r, const op_reader *op, const cJSON *object, int *out) {
  tl_sv text;
  TL_TRY(text_of(r, op, object, "flag", &text));
  *out = tl_sv_is(text, "true") || tl_sv_is(text, "True")     ? 1
         : tl_sv_is(text, "false") || tl_sv_is(text, "False") ? 0
                                                              : -1;
  if (*out < 0 && text.n)
    return tl_fail(r->json.diag, TL_INVALID_ARGUMENT, tl_json_at(&r->json, object),
                   "op '%.*s': the flag of %s is '%.*s', not true or false",
                   TL_SV_ARG(tl_sv_shown(op->name)), object->string, TL_SV_ARG(tl_sv_shown(text)));
  return TL_OK;
}

/* ---- members of an op ----------------------------------------------------------------------- */

/* precision_reduce: true is white, false is black, and no flag is gray, as GE reads it. */
static tl_status read_colour(reader *r, op_reader *op, const cJSON *item) {
  int flag;
  TL_TRY(flag_of(r, op, item, &flag));
  op->row.colour = flag < 0 ? TL_COLOUR_GRAY : flag ? TL_COLOUR_WHITE : TL_COLOUR_BLACK;
  return TL_OK;
}

static tl_status read_bit(reader *r, op_reader *op, const cJSON *item, unsigned bit) {
  int flag;
  TL_TRY(flag_of(r, op, item, &flag));
  if (flag > 0)
    op->row.flags = (uint8_t)(op->row.flags | bit);
  return TL_OK;
}

static tl_status read_heavy(reader *r, op_reader *op, const cJSON *item) {
  return read_bit(r, op, item, TL_INFO_HEAVY);
}

static tl_status read_dynamic(reader *r, op_reader *op, const cJSON *item) {
  return read_bit(r, op, item, TL_INFO_DYNAMIC_SHAPE);
}

static tl_status read_pattern(reader *r, op_reader *op, const cJSON *item) {
  tl_sv text;
  TL_TRY(text_of(r, op, item, "pattern", &text));
  op->row.pattern = tl_op_info_draft_text(r->draft, text);
  return TL_OK;
}

static tl_status read_kernel(reader *r, op_reader *op, const cJSON *item) {
  tl_sv text;
  TL_TRY(text_of(r, op, item, "value", &text));
  op->row.kernel = tl_op_info_draft_text(r->draft, text);
  return TL_OK;
}

/* An op whose file is "Null" has no kernel. */
static tl_status read_file_name(reader *r, op_reader *op, const cJSON *item) {
  tl_sv text;
  TL_TRY(text_of(r, op, item, "value", &text));
  if (tl_sv_is(text, "Null"))
    op->row.flags |= TL_INFO_NO_KERNEL;
  return TL_OK;
}

static tl_status read_attr_list(reader *r, op_reader *op, const cJSON *item) {
  (void)r;
  op->attrs = item;
  return TL_OK;
}

/* Members of an op that are read, by their keys. */
static const struct {
  const char *key;
  tl_status (*fn)(reader *r, op_reader *op, const cJSON *item);
} parts[] = {{"precision_reduce", read_colour},
             {"heavyOp", read_heavy},
             {"dynamicShapeSupport", read_dynamic},
             {"op", read_pattern},
             {"prebuildPattern", read_kernel},
             {"opFile", read_file_name},
             {"attr", read_attr_list}};

/* Keeps "input12" in list[12] until all members are known. The number bounds the index. */
static tl_status note_slot(reader *r, op_reader *op, const tl_json_member *m, tl_sv number,
                           const cJSON **list, uint32_t *n) {
  uint64_t k;
  if (!tl_parse_u64(number, &k) || k >= TL_OP_INFO_MAX_SLOTS)
    return tl_fail(r->json.diag, TL_INVALID_ARGUMENT, tl_json_at(&r->json, m->item),
                   "op '%.*s': '%.*s' is not one of the %d slots that an op may have",
                   TL_SV_ARG(tl_sv_shown(op->name)), TL_SV_ARG(tl_sv_shown(m->name)),
                   TL_OP_INFO_MAX_SLOTS);
  list[k] = m->item;
  if (k >= *n)
    *n = (uint32_t)k + 1;
  return TL_OK;
}

/* Splits "input12" into `word` and number; false for other names, such as "inputFormat". */
static bool numbered(tl_sv name, const char *word, tl_sv *number) {
  size_t n = strlen(word);
  if (!tl_sv_starts_with(name, word) || name.n == n || name.p[n] < '0' || name.p[n] > '9')
    return false;
  *number = (tl_sv){name.p + n, name.n - n};
  return true;
}

/* Reads or keeps one member of an op. Unknown members are skipped: there are many, and new versions
 * of CANN add some. */
static tl_status read_part(tl_json_reader *json, const tl_json_member *m, void *user) {
  reader *r = json->out;
  op_reader *op = user;
  tl_sv number;
  if (numbered(m->name, "input", &number))
    return note_slot(r, op, m, number, op->inputs, &op->n_inputs);
  if (numbered(m->name, "output", &number))
    return note_slot(r, op, m, number, op->outputs, &op->n_outputs);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (tl_sv_is(m->name, parts[i].key))
      return parts[i].fn(r, op, m->item);
  }
  return TL_OK;
}

/* ---- slots ---------------------------------------------------------------------------------- */

/* Returns a dtype by name. An unknown name becomes TL_DTYPE_NONE, which drops its column. */
static uint8_t read_dtype(reader *r, const op_reader *op, const cJSON *slot, tl_sv word) {
  for (size_t i = 0; i < sizeof dtype_names / sizeof *dtype_names; i++) {
    if (tl_sv_is(word, dtype_names[i].name))
      return dtype_names[i].dtype;
  }
  if (++r->unknown <= MOST_WARNINGS)
    tl_warn(r->json.diag, tl_json_at(&r->json, slot),
            "op '%.*s': '%.*s' is not a dtype; its signatures are ignored",
            TL_SV_ARG(tl_sv_shown(op->name)), TL_SV_ARG(tl_sv_shown(word)));
  return TL_DTYPE_NONE;
}

/* Reads "float16,float,...": entry i belongs to column i of the op. No text leaves n_columns at
 * 0. */
static tl_status read_columns(reader *r, const op_reader *op, const cJSON *item, tl_sv text,
                              tl_op_info_port *out) {
  uint32_t n = 1;
  for (size_t i = 0; i < text.n; i++)
    n += text.p[i] == ',';
  if (text.n == 0)
    return TL_OK;
  if (n > TL_OP_INFO_MAX_COLUMNS)
    return tl_fail(r->json.diag, TL_LIMIT, tl_json_at(&r->json, item),
                   "op '%.*s': %s has %u dtypes, more than %d", TL_SV_ARG(tl_sv_shown(op->name)),
                   item->string, n, TL_OP_INFO_MAX_COLUMNS);
  out->dtypes = tl_arena_alloc(&r->json.scratch, n);
  if (!out->dtypes)
    return tl_fail_memory(r->json.diag, TL_AT_FILE(r->json.path));
  for (tl_sv rest = text; rest.p;)
    out->dtypes[out->n_columns++] = read_dtype(r, op, item, tl_sv_trim(tl_sv_split(&rest, ',')));
  return TL_OK;
}

/* Reads one input or output. Without paramType a slot is required. */
static tl_status read_slot(reader *r, const op_reader *op, const cJSON *item,
                           tl_op_info_port *out) {
  tl_sv kind;
  tl_sv dtypes;
  TL_TRY(text_of(r, op, item, "name", &out->name));
  TL_TRY(text_of(r, op, item, "paramType", &kind));
  TL_TRY(text_of(r, op, item, "dtype", &dtypes));
  if (out->name.n == 0)
    return tl_fail(r->json.diag, TL_INVALID_ARGUMENT, tl_json_at(&r->json, item),
                   "op '%.*s': %s has no name", TL_SV_ARG(tl_sv_shown(op->name)), item->string);
  out->kind = tl_sv_is(kind, "optional")  ? TL_SLOT_OPTIONAL
              : tl_sv_is(kind, "dynamic") ? TL_SLOT_DYNAMIC
                                          : TL_SLOT_REQUIRED;
  if (out->kind == TL_SLOT_REQUIRED && kind.n && !tl_sv_is(kind, "required"))
    return tl_fail(r->json.diag, TL_INVALID_ARGUMENT, tl_json_at(&r->json, item),
                   "op '%.*s': paramType of %s is '%.*s', not required, optional or dynamic",
                   TL_SV_ARG(tl_sv_shown(op->name)), item->string, TL_SV_ARG(tl_sv_shown(kind)));
  return read_columns(r, op, item, dtypes, out);
}

/* Requires the same number of dtypes in all slots that have some. If a slot has none, the op's own
 * code decides about dtypes, and all slots lose their columns. */
static tl_status check_counts(const reader *r, const op_reader *op, tl_op_info_port *ports,
                              const cJSON *const *items, uint32_t n) {
  uint32_t first = 0;
  bool open = false;
  while (first < n && ports[first].n_columns == 0)
    first++;
  for (uint32_t i = first; i < n; i++) {
    if (ports[i].n_columns && ports[i].n_columns != ports[first].n_columns)
      return tl_fail(r->json.diag, TL_INVALID_ARGUMENT, tl_json_at(&r->json, items[i]),
                     "op '%.*s': %s has %u dtypes, %s has %u", TL_SV_ARG(tl_sv_shown(op->name)),
                     items[i]->string, ports[i].n_columns, items[first]->string,
                     ports[first].n_columns);
  }
  for (uint32_t i = 0; i < n; i++)
    open = open || ports[i].n_columns == 0;
  for (uint32_t i = 0; i < n && open; i++)
    ports[i].n_columns = 0;
  return TL_OK;
}

/* Reads the collected slots, inputs first. Their numbers must have no gap. */
static tl_status read_slots(reader *r, op_reader *op) {
  tl_op_info_port ports[2 * TL_OP_INFO_MAX_SLOTS] = {0};
  const cJSON *items[2 * TL_OP_INFO_MAX_SLOTS];
  uint32_t n = op->n_inputs + op->n_outputs;
  for (uint32_t i = 0; i < n; i++) {
    bool output = i >= op->n_inputs;
    uint32_t k = output ? i - op->n_inputs : i;
    items[i] = output ? op->outputs[k] : op->inputs[k];
    if (!items[i])
      return tl_fail(r->json.diag, TL_INVALID_ARGUMENT, tl_json_at(&r->json, op->item),
                     "op '%.*s': %s%u is missing, but a later one is there",
                     TL_SV_ARG(tl_sv_shown(op->name)), output ? "output" : "input", k);
    TL_TRY(read_slot(r, op, items[i], &ports[i]));
  }
  TL_TRY(check_counts(r, op, ports, items, n));
  op->row.n_inputs = (uint8_t)op->n_inputs;
  op->row.n_outputs = (uint8_t)op->n_outputs;
  return tl_op_info_draft_slots(r->draft, &op->row, ports)
             ? TL_OK
             : tl_fail_memory(r->json.diag, TL_AT_FILE(r->json.path));
}

/* ---- attributes ----------------------------------------------------------------------------- */

static tl_sv short_kind(tl_sv kind) {
  for (size_t i = 0; i < sizeof attr_kinds / sizeof *attr_kinds; i++) {
    if (tl_sv_is(kind, attr_kinds[i].name))
      return tl_sv_from(attr_kinds[i].kind);
  }
  return kind;
}

/* Reads attribute `name`, which the member "attr_NAME" describes. */
static tl_status read_attr(reader *r, const op_reader *op, tl_sv name, tl_op_info_attr *out) {
  tl_buf key;
  tl_buf_init(&key);
  tl_buf_printf(&key, "attr_%.*s", TL_SV_ARG(name));
  const cJSON *item = key.failed ? NULL : cJSON_GetObjectItemCaseSensitive(op->item, key.p);
  bool failed = key.failed;
  tl_buf_release(&key);
  if (failed)
    return tl_fail_memory(r->json.diag, TL_AT_FILE(r->json.path));
  *out = (tl_op_info_attr){.name = tl_op_info_draft_text(r->draft, name)};
  if (!item) /* named and not described: nothing more is known */
    return TL_OK;
  tl_sv kind;
  tl_sv needed;
  tl_sv fallback;
  TL_TRY(text_of(r, op, item, "type", &kind));
  TL_TRY(text_of(r, op, item, "paramType", &needed));
  TL_TRY(text_of(r, op, item, "defaultValue", &fallback));
  out->kind = tl_op_info_draft_text(r->draft, short_kind(kind));
  out->fallback = tl_op_info_draft_text(r->draft, fallback);
  out->required = tl_sv_is(needed, "required");
  return TL_OK;
}

/* Reads the attributes that the member "attr" lists. */
static tl_status read_attrs(reader *r, op_reader *op) {
  tl_sv list = {0};
  op->row.attrs = r->draft->attrs.n;
  if (op->attrs)
    TL_TRY(text_of(r, op, op->attrs, "list", &list));
  while (list.p && list.n && op->row.n_attrs < TL_OP_INFO_MAX_SLOTS) {
    tl_sv name = tl_sv_trim(tl_sv_split(&list, ','));
    tl_op_info_attr attr;
    if (name.n == 0)
      continue;
    TL_TRY(read_attr(r, op, name, &attr));
    if (!tl_op_info_attr_vec_push(&r->draft->attrs, attr))
      return tl_fail_memory(r->json.diag, TL_AT_FILE(r->json.path));
    op->row.n_attrs++;
  }
  return TL_OK;
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Reads one op. Its row is added last, when all parts are known to be right. */
static tl_status read_op(tl_json_reader *json, const tl_json_member *m, void *user) {
  (void)user;
  reader *r = json->out;
  op_reader op = {.name = m->name, .item = m->item};
  if (m->name.n == 0)
    return tl_fail(json->diag, TL_INVALID_ARGUMENT, tl_json_at(json, m->item),
                   "an op without a name");
  if (!cJSON_IsObject(m->item))
    return tl_fail(json->diag, TL_INVALID_ARGUMENT, tl_json_at(json, m->item),
                   "op '%.*s' must be an object, it is %s", TL_SV_ARG(tl_sv_shown(m->name)),
                   tl_json_kind(m->item));
  op.row = (tl_op_info_row){.op = tl_op_info_draft_text(r->draft, m->name), .file = r->file};
  TL_TRY(tl_json_members(json, m->item, read_part, &op));
  TL_TRY(read_slots(r, &op));
  TL_TRY(read_attrs(r, &op));
  if (r->draft->text.failed || !tl_op_info_row_vec_push(&r->draft->rows, op.row))
    return tl_fail_memory(r->json.diag, TL_AT_FILE(r->json.path));
  return TL_OK;
}

tl_status tl_read_op_info_text(tl_diag *d, const char *path, tl_sv text, tl_op_info_draft *out) {
  tl_json json;
  tl_json_error error;
  reader r = {.draft = out};
  tl_status status = tl_json_parse(text, &json, &error);
  if (status == TL_NO_MEMORY)
    return tl_fail_memory(d, TL_AT_FILE(path));
  if (status != TL_OK)
    return tl_fail(
        d, status,
        (tl_location){.file = path, .line = error.place.line, .column = error.place.column},
        "this is not op information: %s\vop information is JSON, as in "
        "aic-ascend910b-ops-info.json of CANN",
        error.problem);
  tl_json_reader_init(&r.json, d, NULL, path, &json, NULL);
  r.json.out = &r;
  r.file = tl_op_info_draft_text(out, tl_sv_from(path));
  if (cJSON_IsObject(json.root))
    status = tl_json_members(&r.json, json.root, read_op, NULL);
  else
    status = tl_fail(d, TL_INVALID_ARGUMENT, tl_json_at(&r.json, json.root),
                     "op information must be an object with one member an op, it is %s",
                     tl_json_kind(json.root));
  if (r.unknown > MOST_WARNINGS)
    tl_warn(d, TL_AT_FILE(path), "%u more dtypes are unknown", r.unknown - MOST_WARNINGS);
  tl_json_reader_finish(&r.json);
  tl_json_release(&json);
  return status;
}
