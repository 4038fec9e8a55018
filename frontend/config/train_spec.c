/* SPDX-License-Identifier: Apache-2.0 */
/* Reads declarations of a training step (train_spec.h). */
#include "frontend/config/train_spec.h"

#include "frontend/config/config_file.h"
#include "frontend/config/json.h"
#include "ir/options/train_spec.h"

/* State of reading one source. */
typedef struct reader {
  tl_diag *diag;
  tl_arena *arena;
  tl_location where;
  const tl_json *json; /* of a file, for lines; NULL: metadata */
  tl_train_spec *out;
} reader;

/* Reports a value that does not fit its key, at its line if it stands in a file. */
static tl_status refuse(const reader *r, const cJSON *item, const char *key, const char *want) {
  tl_location where = r->where;
  if (r->json) {
    tl_place place = tl_json_place(r->json, item);
    where.line = place.line;
    where.column = place.column;
  }
  return tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E-TRN-SPEC", where, "%s is %s, expected %s",
                      key, tl_json_kind(item), want);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Reads a name that is not empty into the arena. */
static tl_status take_text(const reader *r, const cJSON *item, const char *key, tl_sv *out) {
  if (!cJSON_IsString(item) || !item->valuestring[0])
    return refuse(r, item, key, "a name");
  size_t n = strlen(item->valuestring);
  const char *copy = tl_arena_copy(r->arena, item->valuestring, n);
  *out = (tl_sv){copy, n};
  return copy ? TL_OK : tl_fail_memory(r->diag, r->where);
}

/* Reads a list of names into the arena. */
static tl_status take_texts(const reader *r, const cJSON *item, const char *key, const tl_sv **out,
                            uint32_t *n) {
  if (!cJSON_IsArray(item))
    return refuse(r, item, key, "a list of names");
  tl_sv *list = tl_arena_calloc(r->arena, (size_t)cJSON_GetArraySize(item) + 1, sizeof *list);
  if (!list)
    return tl_fail_memory(r->diag, r->where);
  *out = list;
  *n = 0;
  for (const cJSON *e = item->child; e; e = e->next)
    TL_TRY(take_text(r, e, key, &list[(*n)++]));
  return TL_OK;
}

/* Reads a whole number of 0 to 65535. The test is written so that NaN fails it. */
static tl_status take_index(const reader *r, const cJSON *item, const char *key, uint32_t *out) {
  enum { MOST = 65535 };
  double v = cJSON_IsNumber(item) ? item->valuedouble : -1;
  if (!(v >= 0 && v <= MOST) || v != (double)(uint32_t)v)
    return refuse(r, item, key, "the number of an operand");
  *out = (uint32_t)v;
  return TL_OK;
}

/* Reads at most `most` numbers; a missing list has none. */
static tl_status take_indices(const reader *r, const cJSON *item, const char *key, uint32_t most,
                              uint32_t *out, uint32_t *n) {
  *n = 0;
  if (!item)
    return TL_OK;
  if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) > (int)most)
    return refuse(r, item, key, "a short list of numbers of operands");
  for (const cJSON *e = item->child; e; e = e->next)
    TL_TRY(take_index(r, e, key, &out[(*n)++]));
  return TL_OK;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static tl_status take_params(reader *r, const cJSON *item) {
  return take_texts(r, item, "params", &r->out->params, &r->out->n_params);
}

static tl_status take_order(reader *r, const cJSON *item) {
  return take_texts(r, item, "grad_order", &r->out->order, &r->out->n_order);
}

static tl_status take_loss(reader *r, const cJSON *item) {
  return take_text(r, item, "loss", &r->out->loss);
}

static tl_status take_seed(reader *r, const cJSON *item) {
  return take_text(r, item, "seed", &r->out->seed);
}

/* Reads the gradient of one parameter: a tensor, or {"values": ..., "indices": ...} if it is
 * sparse. */
static tl_status take_grad(const reader *r, const cJSON *item, tl_declared_grad *out) {
  size_t n = strlen(item->string);
  const char *param = tl_arena_copy(r->arena, item->string, n);
  if (!param)
    return tl_fail_memory(r->diag, r->where);
  *out = (tl_declared_grad){.param = {param, n}};
  if (!cJSON_IsObject(item))
    return take_text(r, item, "grads", &out->grad);
  const cJSON *values = cJSON_GetObjectItemCaseSensitive(item, "values");
  const cJSON *indices = cJSON_GetObjectItemCaseSensitive(item, "indices");
  if (!values || !indices)
    return refuse(r, item, "grads", "a tensor, or an object with values and indices");
  TL_TRY(take_text(r, values, "grads", &out->grad));
  return take_text(r, indices, "grads", &out->indices);
}

/* Reads {parameter: gradient}. */
static tl_status take_grads(reader *r, const cJSON *item) {
  if (!cJSON_IsObject(item))
    return refuse(r, item, "grads", "an object of parameters and tensors");
  tl_declared_grad *list =
      tl_arena_calloc(r->arena, (size_t)cJSON_GetArraySize(item) + 1, sizeof *list);
  if (!list)
    return tl_fail_memory(r->diag, r->where);
  r->out->grads = list;
  r->out->n_grads = 0;
  for (const cJSON *e = item->child; e; e = e->next)
    TL_TRY(take_grad(r, e, &list[r->out->n_grads++]));
  return TL_OK;
}

/* Reads one end of a state: a name, or the number of an input or output. */
static tl_status take_end(const reader *r, const cJSON *item, tl_sv *name, uint32_t *at) {
  return cJSON_IsNumber(item) ? take_index(r, item, "state", at)
                              : take_text(r, item, "state", name);
}

/* Reads [input, output], or [first input, first output, count] with numbers, which stands for a row
 * of states. */
static tl_status take_row(const reader *r, const cJSON *e, tl_declared_state *first,
                          uint32_t *count) {
  const cJSON *in = cJSON_IsArray(e) ? e->child : NULL, *out = in ? in->next : NULL;
  const cJSON *rows = out ? out->next : NULL;
  *count = 1;
  *first = (tl_declared_state){0};
  if (!out || (rows && (rows->next || !cJSON_IsNumber(in) || !cJSON_IsNumber(out))))
    return refuse(r, e, "state", "[input, output] or [first input, first output, count]");
  TL_TRY(take_end(r, in, &first->input, &first->input_at));
  TL_TRY(take_end(r, out, &first->output, &first->output_at));
  return rows ? take_index(r, rows, "state", count) : TL_OK;
}

/* Counts the states before they are allocated: a row of three numbers may stand for many. */
static tl_status count_states(const reader *r, const cJSON *item, uint32_t *n) {
  enum { MOST = 1 << 20 };
  *n = 0;
  for (const cJSON *e = item->child; e; e = e->next) {
    tl_declared_state first;
    uint32_t count;
    TL_TRY(take_row(r, e, &first, &count));
    *n += count;
    if (*n > MOST)
      return refuse(r, e, "state", "at most a million states");
  }
  return TL_OK;
}

/* Reads the list of states; a row of three numbers stands for several states with ascending
 * numbers. */
static tl_status take_states(reader *r, const cJSON *item) {
  uint32_t n, count;
  if (!cJSON_IsArray(item))
    return refuse(r, item, "state", "a list of [input, output]");
  TL_TRY(count_states(r, item, &n));
  tl_declared_state *list = tl_arena_calloc(r->arena, (size_t)n + 1, sizeof *list);
  if (!list)
    return tl_fail_memory(r->diag, r->where);
  r->out->states = list;
  r->out->n_states = 0;
  for (const cJSON *e = item->child; e; e = e->next) {
    tl_declared_state first;
    TL_TRY(take_row(r, e, &first, &count));
    for (uint32_t i = 0; i < count; i++) {
      tl_declared_state *s = &list[r->out->n_states++];
      *s = first;
      s->input_at += i;
      s->output_at += i;
    }
  }
  return TL_OK;
}

/* Reads the operands of an op type that updates a parameter. */
static tl_status take_update(const reader *r, const cJSON *item, tl_declared_update *u) {
  size_t n = strlen(item->string);
  const char *type = tl_arena_copy(r->arena, item->string, n);
  const cJSON *param = cJSON_GetObjectItemCaseSensitive(item, "param");
  const cJSON *grad = cJSON_GetObjectItemCaseSensitive(item, "grad");
  if (!type)
    return tl_fail_memory(r->diag, r->where);
  *u = (tl_declared_update){.type = {type, n}};
  if (!cJSON_IsObject(item) || !param || !grad)
    return refuse(r, item, "update_ops", "an object with param and grad");
  TL_TRY(take_index(r, param, "param", &u->param));
  TL_TRY(take_index(r, grad, "grad", &u->grad));
  TL_TRY(take_indices(r, cJSON_GetObjectItemCaseSensitive(item, "states"), "states",
                      TL_DECLARED_STATES, u->states, &u->n_states));
  return take_indices(r, cJSON_GetObjectItemCaseSensitive(item, "out"), "out",
                      TL_DECLARED_STATES + 1, u->out, &u->n_out);
}

/* Reads {op type: operands} of ops that update parameters. */
static tl_status take_updates(reader *r, const cJSON *item) {
  if (!cJSON_IsObject(item))
    return refuse(r, item, "update_ops", "an object of op types");
  tl_declared_update *list =
      tl_arena_calloc(r->arena, (size_t)cJSON_GetArraySize(item) + 1, sizeof *list);
  if (!list)
    return tl_fail_memory(r->diag, r->where);
  r->out->updates = list;
  r->out->n_updates = 0;
  for (const cJSON *e = item->child; e; e = e->next)
    TL_TRY(take_update(r, e, &list[r->out->n_updates++]));
  return TL_OK;
}

/* Keys of a declaration. */
static const struct {
  const char *name;
  tl_status (*take)(reader *r, const cJSON *item);
  bool plain; /* metadata: the text itself, if it is not JSON */
} keys[] = {{"params", take_params, false},   {"grads", take_grads, false},
            {"loss", take_loss, true},        {"seed", take_seed, true},
            {"state", take_states, false},    {"update_ops", take_updates, false},
            {"grad_order", take_order, false}};

enum { N_KEYS = sizeof keys / sizeof *keys };

static const char prefix[] = "tailor.train.";

/* ---- metadata -------------------------------------------------------------------------------- */

/* Reads one key of the metadata. A plain key may be the text itself, without quotes. */
static tl_status read_pair(reader *r, size_t key, tl_sv text) {
  tl_json json;
  tl_json_error error;
  if (keys[key].plain && text.n && text.p[0] != '"') {
    tl_sv *to = strcmp(keys[key].name, "loss") == 0 ? &r->out->loss : &r->out->seed;
    const char *copy = tl_arena_copy(r->arena, text.p, text.n);
    *to = (tl_sv){copy, text.n};
    return copy ? TL_OK : tl_fail_memory(r->diag, r->where);
  }
  tl_status status = tl_json_parse(text, &json, &error);
  if (status == TL_NO_MEMORY)
    return tl_fail_memory(r->diag, r->where);
  if (status != TL_OK)
    return tl_fail_code(r->diag, TL_INVALID_MODEL, "E-TRN-SPEC", r->where,
                        "metadata %s%s is not JSON: %s", prefix, keys[key].name, error.problem);
  status = keys[key].take(r, json.root);
  tl_json_release(&json);
  return status;
}

/* Reads the keys of the model's metadata that have the prefix. Unknown ones are skipped. */
static tl_status read_metadata(reader *r, const tl_module *m, bool *any) {
  const tl_extra *e = &m->extras.at[m->extra];
  r->where = TL_AT_FILE(m->path);
  for (uint32_t i = 0; i < e->n_metadata; i++) {
    tl_sv key = tl_sym(m, e->metadata[i].key);
    if (!tl_sv_starts_with(key, prefix))
      continue;
    tl_sv name = {key.p + sizeof prefix - 1, key.n - (sizeof prefix - 1)};
    for (size_t k = 0; k < N_KEYS; k++) {
      if (!tl_sv_is(name, keys[k].name))
        continue;
      *any = true;
      TL_TRY(read_pair(r, k, tl_sym(m, e->metadata[i].value)));
    }
  }
  return TL_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Reads one key of the file, with or without the prefix. Here an unknown key is an error. */
static tl_status read_member(reader *r, const cJSON *item) {
  tl_sv name = tl_sv_from(item->string);
  if (tl_sv_starts_with(name, prefix))
    name = (tl_sv){name.p + sizeof prefix - 1, name.n - (sizeof prefix - 1)};
  for (size_t k = 0; k < N_KEYS; k++)
    if (tl_sv_is(name, keys[k].name))
      return keys[k].take(r, item);
  tl_location where = r->where;
  tl_place place = tl_json_place(r->json, item);
  where.line = place.line;
  where.column = place.column;
  return tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E-TRN-SPEC", where,
                      "unknown key '%.*s'\vknown are params, grads, loss, seed, state, update_ops "
                      "and grad_order",
                      TL_SV_ARG(tl_sv_shown(tl_sv_from(item->string))));
}

/* Parses the text of a file, comments allowed, and reads its keys. */
static tl_status read_text(reader *r, tl_sv text) {
  tl_json json;
  tl_json_error error;
  tl_status status = tl_json_parse_commented(tl_config_without_mark(text), &json, &error);
  if (status == TL_NO_MEMORY)
    return tl_fail_memory(r->diag, r->where);
  if (status != TL_OK) {
    tl_location where = r->where;
    where.line = error.place.line;
    where.column = error.place.column;
    return tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E-TRN-SPEC", where, "%s", error.problem);
  }
  r->json = &json;
  status = cJSON_IsObject(json.root) ? TL_OK : refuse(r, json.root, "the file", "an object");
  for (const cJSON *e = json.root->child; e && status == TL_OK; e = e->next)
    status = read_member(r, e);
  r->json = NULL;
  tl_json_release(&json);
  return status;
}

/* Reads the file after the metadata, so that its keys win. */
static tl_status read_file(reader *r, tl_settings *s, bool *any) {
  static const tl_config_kind kind = {.what = "file of declarations"};
  tl_file *f;
  if (!s->train.spec)
    return TL_OK;
  TL_TRY(tl_config_open(r->diag, tl_at_option(s, TL_OPTION_TRAIN_SPEC), s->train.spec, &kind, &f));
  r->where = TL_AT_FILE(s->train.spec);
  *any = true;
  tl_status status = read_text(r, (tl_sv){(const char *)f->data, (size_t)f->size});
  tl_file_close(f);
  return status;
}

tl_status tl_train_spec_read_text(tl_settings *s, tl_diag *d, const char *path, tl_sv text,
                                  const tl_train_spec **out) {
  tl_train_spec *spec = tl_arena_calloc(&s->arena, 1, sizeof *spec);
  reader r = {.diag = d, .arena = &s->arena, .where = TL_AT_FILE(path), .out = spec};
  if (!spec)
    return tl_fail_memory(r.diag, r.where);
  *out = NULL;
  TL_TRY(read_text(&r, text));
  *out = spec;
  return TL_OK;
}

tl_status tl_train_spec_read(tl_settings *s, tl_diag *d, const tl_module *m,
                             const tl_train_spec **out) {
  bool any = false;
  tl_train_spec *spec = tl_arena_calloc(&s->arena, 1, sizeof *spec);
  reader r = {.diag = d, .arena = &s->arena, .where = TL_AT_FILE(m->path), .out = spec};
  if (!spec)
    return tl_fail_memory(r.diag, r.where);
  *out = NULL;
  TL_TRY(read_metadata(&r, m, &any));
  TL_TRY(read_file(&r, s, &any));
  if (any)
    *out = spec;
  return TL_OK;
}
