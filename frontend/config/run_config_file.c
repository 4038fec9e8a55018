/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the file of --run-config, and objects on the command line. The form is {"NPURunConfig":
 * {KEY: VALUE, ...}, "ExperimentalConfig": {...}, "NPUOptimizer": {...}, "tailor": {...}}; keys may
 * stand at the top as well. */
#include "frontend/config/config_file.h"
#include "frontend/config/json_reader.h"
#include "frontend/config/run_config_read.h"

/* Upper bound on problems that are reported; reading stops there. */
enum { MOST_ERRORS = 100 };

/* State of reading an object: where values are kept, or NULL to check only. */
typedef struct run_reader {
  tl_settings *s;
  tl_run_section section;
  const tl_run_key *object; /* whose members are read */
  const char *option;       /* checking a value of the command line: its name; else NULL */
  tl_run_flats flats;       /* released by tl_run_flats_join */
  uint32_t errors;
} run_reader;

static run_reader *state_of(const tl_json_reader *r) { return r->out; }

/* Returns the place of a value: in the file, or the option of the command line. */
static tl_location at(const tl_json_reader *r, const cJSON *item) {
  const run_reader *s = state_of(r);
  return s->option ? (tl_location){.attr = tl_sv_from(s->option)} : tl_json_at(r, item);
}

/* Counts a problem and returns TL_OK, so that reading goes on. Lack of memory is passed on. */
static tl_status count(tl_json_reader *r, tl_status status) {
  run_reader *s = state_of(r);
  if (status == TL_OK || status == TL_NO_MEMORY)
    return status;
  if (++s->errors < MOST_ERRORS)
    return TL_OK;
  return tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E-OPT-FILE", TL_AT_FILE(r->path),
                      "too many problems; what follows was not read");
}

static tl_status wrong_kind(tl_json_reader *r, const cJSON *item, tl_sv name, const char *what) {
  return count(r, tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E-OPT-TYPE", at(r, item),
                               "%.*s takes %s, not %s", TL_SV_ARG(tl_sv_shown(name)), what,
                               tl_json_kind(item)));
}

/* ---- members of objects ---------------------------------------------------------------------- */

/* Returns the member of an object that an unknown name most likely means, or NULL. */
static const char *nearest_member(tl_option_id id, tl_sv name) {
  uint32_t n;
  const tl_run_member *members = tl_run_members(&n);
  const char *best = NULL;
  size_t limit = name.n / 4 + 2;
  for (uint32_t i = 0; i < n; i++) {
    if (members[i].option != id)
      continue;
    size_t distance = tl_edit_distance(name, tl_sv_from(members[i].type.name), limit);
    if (distance < limit) {
      limit = distance;
      best = members[i].type.name;
    }
  }
  return best;
}

/* Reports an unknown name. nearest: a name to suggest, with dashes; NULL for none. */
static tl_status unknown(tl_json_reader *r, const tl_json_member *m, const char *what,
                         const char *nearest) {
  char near[TL_RUN_NAME_BYTES];
  return count(r, tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E-OPT-UNKNOWN", at(r, m->item),
                               "'%.*s' is not a %s%s%s%s", TL_SV_ARG(tl_sv_shown(m->name)), what,
                               nearest ? "\vdid you mean '" : "",
                               nearest ? tl_run_spelled(nearest, near) : "", nearest ? "'?" : ""));
}

/* Checks a member of an optimizer, session or cluster. These have members of their own, of which
 * only two are used here. */
static tl_status read_free_member(tl_json_reader *r, const tl_json_member *m) {
  const run_reader *s = state_of(r);
  bool type = s->object->option == TL_OPTION_OPT && tl_sv_is(m->name, "type");
  bool scale = s->object->option == TL_OPTION_OPT && tl_sv_is(m->name, "loss_scale");
  if (type && !cJSON_IsString(m->item))
    return wrong_kind(r, m->item, m->name, "text in double quotes");
  if (scale && !cJSON_IsNumber(m->item))
    return wrong_kind(r, m->item, m->name, "a number");
  return TL_OK;
}

/* Checks the value of a member; the normal form is not kept, because the whole object is. */
static tl_status check_member(tl_json_reader *r, const tl_run_member *member, const cJSON *item) {
  tl_buf text;
  if (cJSON_IsNull(item)) /* Python's None: not given */
    return TL_OK;
  tl_buf_init(&text);
  tl_status status = tl_run_json_value(r->diag, at(r, item), &member->type, item, &text);
  tl_buf_release(&text);
  if (status == TL_OK && strcmp(member->type.name, "profiling-options") == 0)
    status = tl_run_check_profiling(r->diag, at(r, item), item);
  return count(r, status);
}

/* Reads a member of the current object. Three kinds of objects may have members that the table
 * lacks. */
static tl_status read_member(tl_json_reader *r, const tl_json_member *m, void *user) {
  const run_reader *s = state_of(r);
  tl_option_id id = (tl_option_id)s->object->option;
  const tl_run_member *member = tl_run_member_find(id, m->name);
  (void)user;
  if (!member &&
      (id == TL_OPTION_OPT || id == TL_OPTION_SESSION_CONFIG || id == TL_OPTION_DISTRIBUTE))
    return read_free_member(r, m);
  if (!member)
    return unknown(r, m, "member of this object", nearest_member(id, m->name));
  return check_member(r, member, m->item);
}

/* Returns true for an object for which a text may stand: the type of an optimizer or manager, or
 * the name of a strategy. */
static bool takes_text(const tl_run_key *key) {
  return key->option == TL_OPTION_OPT || key->option == TL_OPTION_LOSS_SCALE_MANAGER ||
         key->option == TL_OPTION_DISTRIBUTE || key->option == TL_OPTION_SESSION_CONFIG;
}

/* Checks the value of a key that takes an object. A manager given as text is checked like its
 * type. */
static tl_status read_object(tl_json_reader *r, const tl_run_key *key, const cJSON *item) {
  run_reader *s = state_of(r);
  if (cJSON_IsString(item) && key->option == TL_OPTION_LOSS_SCALE_MANAGER) {
    const tl_run_member *type = tl_run_member_find(TL_OPTION_LOSS_SCALE_MANAGER, TL_SV("type"));
    tl_buf text;
    tl_buf_init(&text);
    tl_status status = tl_run_json_value(r->diag, at(r, item), &type->type, item, &text);
    tl_buf_release(&text);
    return count(r, status);
  }
  if (cJSON_IsString(item) && takes_text(key))
    return TL_OK;
  if (!cJSON_IsObject(item))
    return wrong_kind(r, item, tl_sv_from(key->type.name), "an object");
  s->object = key;
  return tl_json_members(r, item, read_member, NULL);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Keeps the first value of a key. A later value in the same file gets a warning; one of another
 * file does not, because that file is meant to be overruled. */
static tl_status keep(tl_json_reader *r, const tl_run_key *key, const cJSON *item, tl_sv text) {
  run_reader *s = state_of(r);
  const char **slot = &s->s->file_value[key->option];
  tl_location where = tl_json_at(r, item);
  char name[TL_RUN_NAME_BYTES];
  if (*slot && s->s->file_at[key->option].file == r->path)
    tl_warn_code(r->diag, "W-OPT-TWICE", where, "%s is given twice; line %u counts",
                 tl_run_spelled(key->type.name, name), s->s->file_at[key->option].line);
  if (*slot)
    return TL_OK;
  *slot = tl_arena_copy(r->arena, text.n ? text.p : "", text.n);
  s->s->file_at[key->option] = where;
  return *slot ? TL_OK : tl_fail_memory(r->diag, where);
}

/* Checks the value of a key and keeps its normal form, unless it has a problem. */
static tl_status read_value(tl_json_reader *r, const tl_run_key *key, const cJSON *item) {
  run_reader *s = state_of(r);
  bool none = cJSON_IsNull(item) || (cJSON_IsString(item) && !item->valuestring[0]);
  if (none) /* Python's None, or an empty text: not given */
    return TL_OK;
  uint32_t before = s->errors;
  if (key->type.kind == TL_OPTION_OBJECT)
    TL_TRY(read_object(r, key, item));
  if (s->errors > before)
    return TL_OK;
  tl_buf text;
  tl_buf_init(&text);
  tl_status status = tl_run_json_value(r->diag, tl_json_at(r, item), &key->type, item, &text);
  if (status == TL_OK && text.failed)
    status = tl_fail_memory(r->diag, tl_json_at(r, item));
  status = status == TL_OK ? keep(r, key, item, tl_buf_view(&text)) : count(r, status);
  tl_buf_release(&text);
  return status;
}

/* Finds the section of a name: its own name, or the one by which training scripts pass it. */
static bool names_section(tl_sv name, tl_run_section *out) {
  static const struct {
    const char *name;
    tl_run_section section;
  } names[] = {{"run_config", TL_RUN_RUN},
               {"parameter_map", TL_RUN_RUN}, /* of a session */
               {"global_options", TL_RUN_RUN},
               {"experimental_config", TL_RUN_EXPERIMENT},
               {"experimental", TL_RUN_EXPERIMENT},
               {"optimizer", TL_RUN_OPTIMIZER},
               {"NPULossScaleOptimizer", TL_RUN_OPTIMIZER},
               {"NPUDistributedOptimizer", TL_RUN_OPTIMIZER}};
  for (unsigned i = 0; i < TL_N_RUN_SECTIONS; i++)
    if (tl_sv_is(name, tl_run_section_name((tl_run_section)i))) {
      *out = (tl_run_section)i;
      return true;
    }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (tl_sv_is(name, names[i].name)) {
      *out = names[i].section;
      return true;
    }
  return false;
}

static tl_status read_key(tl_json_reader *r, const tl_json_member *m, void *user);

/* Sets a key to true that the name of a section implies, unless the file sets it. */
static tl_status imply(tl_json_reader *r, const cJSON *item, tl_option_id id) {
  const run_reader *s = state_of(r);
  bool said = s->s->file_value[id] && s->s->file_at[id].file == r->path;
  return said ? TL_OK : keep(r, tl_run_key_of(id), item, TL_SV("true"));
}

/* Reads the keys of one section, and sets the keys that its name implies. */
static tl_status read_section(tl_json_reader *r, const tl_json_member *m, tl_run_section section) {
  run_reader *s = state_of(r);
  tl_run_section outer = s->section;
  if (cJSON_IsNull(m->item))
    return TL_OK;
  if (!cJSON_IsObject(m->item))
    return wrong_kind(r, m->item, m->name, "an object");
  s->section = section;
  s->s->file_sections |= (uint8_t)(1u << section);
  tl_status status = tl_json_members(r, m->item, read_key, NULL);
  s->section = outer;
  if (status == TL_OK && tl_sv_is(m->name, "NPULossScaleOptimizer"))
    status = imply(r, m->item, TL_OPTION_IS_LOSS_SCALE);
  if (status == TL_OK && tl_sv_is(m->name, "NPUDistributedOptimizer"))
    status = imply(r, m->item, TL_OPTION_IS_DISTRIBUTED);
  return status;
}

/* Returns the key of a name: objects go by the names of their classes, too, and two keys have
 * another name in atc. */
static tl_sv key_name(tl_sv name) {
  static const struct {
    const char *name;
    const char *key;
  } others[] = {{"DumpConfig", "dump_config"},
                {"ProfilingConfig", "profiling_config"},
                {"MemoryConfig", "memory_config"},
                {"DynamicInputConfig", "dynamic_input_config"},
                {"multi_branches_config", "dynamic_input_config"},
                {"soc_config", "soc_version"},
                {"insert_op_file", "insert_op_conf"}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (tl_sv_is(name, others[i].name))
      return tl_sv_from(others[i].key);
  return name;
}

/* Reads a member of an object that stands alone, without its object. */
static tl_status read_flat(tl_json_reader *r, const tl_json_member *m,
                           const tl_run_member *member) {
  run_reader *s = state_of(r);
  uint32_t before = s->errors;
  bool none = cJSON_IsNull(m->item) || (cJSON_IsString(m->item) && !m->item->valuestring[0]);
  if (none)
    return TL_OK;
  TL_TRY(check_member(r, member, m->item));
  if (s->errors > before)
    return TL_OK;
  return tl_run_flat_add(&s->flats, r->diag, at(r, m->item), member, m->item);
}

/* Reads one name of a section: a section within, a key, or a member that stands alone. */
static tl_status read_key(tl_json_reader *r, const tl_json_member *m, void *user) {
  const run_reader *s = state_of(r);
  tl_run_section section;
  (void)user;
  bool top = s->section == TL_N_RUN_SECTIONS;
  if (names_section(m->name, &section) && (top || section == TL_RUN_EXPERIMENT))
    return read_section(r, m, section);
  const tl_run_key *key = tl_run_key_find(key_name(m->name), s->section);
  if (key)
    return read_value(r, key, m->item);
  const tl_run_member *member = tl_run_flat_find(m->name);
  if (member)
    return read_flat(r, m, member);
  return unknown(r, m, "key of a run configuration", tl_run_key_nearest(m->name));
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Parses a text and calls fn with its root. Fails if fn has counted any problem in *s. */
static tl_status read_json(tl_diag *d, tl_arena *a, const char *path, tl_sv text, run_reader *s,
                           tl_status (*fn)(tl_json_reader *r, const cJSON *root)) {
  tl_json json;
  tl_json_error error;
  tl_json_reader r;
  tl_status status = tl_json_parse_commented(text, &json, &error);
  tl_location where = {.file = path, .line = error.place.line, .column = error.place.column};
  if (s->option)
    where = (tl_location){.attr = tl_sv_from(s->option)};
  if (status == TL_NO_MEMORY)
    return tl_fail_memory(d, TL_AT_FILE(path));
  if (status != TL_OK)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, s->option ? "E-OPT-TYPE" : "E-OPT-FILE", where,
                        "not JSON: %s", error.problem);
  tl_json_reader_init(&r, d, a, path, &json, "W-OPT-TWICE");
  r.out = s;
  status = fn(&r, json.root);
  tl_json_reader_finish(&r);
  tl_json_release(&json);
  return status != TL_OK ? status : s->errors ? TL_INVALID_ARGUMENT : TL_OK;
}

static tl_status read_top(tl_json_reader *r, const cJSON *root) {
  if (!cJSON_IsObject(root))
    return wrong_kind(r, root, TL_SV("a run configuration"), "an object");
  return tl_json_members(r, root, read_key, NULL);
}

tl_status tl_read_run_config_text(tl_settings *s, tl_diag *d, const char *path, tl_sv text) {
  run_reader reader = {.s = s, .section = TL_N_RUN_SECTIONS};
  s->has_run_config = true;
  if (tl_sv_trim(tl_config_without_mark(text)).n == 0)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-FILE", TL_AT_FILE(path),
                        "the run configuration is empty\vwrite {} for the defaults");
  tl_status status = read_json(d, &s->arena, path, text, &reader, read_top);
  tl_status joined = tl_run_flats_join(&reader.flats, s, d);
  return status != TL_OK ? status : joined;
}

tl_status tl_read_run_config(tl_settings *s, tl_diag *d, tl_location where, const char *path) {
  static const tl_config_kind kind = {"run configuration", "E-OPT-FILE", "E-OPT-FILE", false, 0};
  tl_sv text;
  TL_TRY(tl_config_text(d, &s->arena, where, path, &kind, &text));
  return tl_read_run_config_text(s, d, path, text);
}

/* ---- the command line ------------------------------------------------------------------------ */

typedef struct option_reader {
  run_reader reader; /* first: tl_json_reader.out points to it */
  const tl_run_key *key;
  tl_buf *out;
} option_reader;

/* Checks an object of the command line and adds its normal form to the output. */
static tl_status read_option(tl_json_reader *r, const cJSON *root) {
  option_reader *o = r->out;
  TL_TRY(read_object(r, o->key, root));
  if (o->reader.errors)
    return TL_OK;
  return tl_run_json_value(r->diag, at(r, root), &o->key->type, root, o->out);
}

tl_status tl_run_option_value(tl_diag *d, tl_location where, const tl_run_key *key, tl_sv text,
                              tl_buf *out) {
  bool json = text.n && (text.p[0] == '{' || !takes_text(key));
  if (key->type.kind != TL_OPTION_OBJECT)
    return tl_run_value(d, where, &key->type, text, out);
  if (!json && key->option == TL_OPTION_LOSS_SCALE_MANAGER) {
    const tl_run_member *type = tl_run_member_find(TL_OPTION_LOSS_SCALE_MANAGER, TL_SV("type"));
    return tl_run_value(d, where, &type->type, text, out);
  }
  if (!json) {
    tl_buf_add_sv(out, text);
    return TL_OK;
  }
  char option[80]; /* the location's text is no C string */
  tl_arena scratch;
  size_t n = where.attr.n < sizeof option - 1 ? where.attr.n : sizeof option - 1;
  memcpy(option, n ? where.attr.p : "", n);
  option[n] = '\0';
  option_reader o = {.reader = {.option = option}, .key = key, .out = out};
  tl_arena_init(&scratch, 0);
  tl_status status = read_json(d, &scratch, NULL, text, &o.reader, read_option);
  tl_arena_release(&scratch);
  return status;
}
