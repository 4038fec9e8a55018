/* SPDX-License-Identifier: Apache-2.0 */
/* Reads switch files in the JSON format: {"Switch": {...}, "Priority": {...},
 * "ExceptionalPassOfO1Level": [...]}. Of a key given twice the last counts, with a warning. */
#include "frontend/config/fusion_draft.h"
#include "frontend/config/json_reader.h"

enum { LEVELS = 3 };

static const char *const level_names[LEVELS] = {"Top", "Main", "Down"};

static tl_fusion_config *config_of(const tl_json_reader *r) { return r->out; }

/* Reports a value of the wrong kind, with the path of its key, such as "Switch.GraphFusion". parent
 * may be NULL. */
static tl_status expect(const tl_json_reader *r, const cJSON *item, bool fits, const char *parent,
                        const char *expected) {
  if (fits)
    return TL_OK;
  tl_sv name = tl_sv_shown(tl_sv_from(item->string ? item->string : ""));
  return tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E21002", tl_json_at(r, item),
                      "%s%s%.*s must be %s, it is %s", parent ? parent : "", parent ? "." : "",
                      TL_SV_ARG(name), expected, tl_json_kind(item));
}

/* Reports a key that the format does not have. `parent` says where it stands. */
static tl_status unknown_key(const tl_json_reader *r, const tl_json_member *m, const char *parent,
                             const char *expected) {
  return tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E21002", tl_json_at(r, m->item),
                      "unknown key '%.*s' %s\vexpected %s", TL_SV_ARG(tl_sv_shown(m->name)), parent,
                      expected);
}

/* ---- Switch --------------------------------------------------------------------------------- */

/* The section that is being read: passes of the graph or of the unified buffer. */
typedef struct section {
  tl_fusion_kind kind;
  tl_fusion_draft draft;
  int level; /* of priorities */
} section;

/* Finds the section that a key of `parent` names and requires an object there. */
static tl_status find_section(tl_json_reader *r, const tl_json_member *m, const char *parent,
                              section *out) {
  for (int kind = 0; kind < TL_N_FUSION_SECTIONS; kind++) {
    if (!tl_sv_is(m->name, tl_fusion_section_name((tl_fusion_kind)kind)))
      continue;
    *out = (section){.kind = (tl_fusion_kind)kind};
    return expect(r, m->item, cJSON_IsObject(m->item), parent, "an object");
  }
  /* `parent` is "Switch" or "Priority", so the text fits. */
  char in[32] = "in ";
  strcat(in, parent);
  return unknown_key(r, m, in, "GraphFusion or UBFusion");
}

/* Reads one PASS: "on" or "off". The key ALL sets the value for every pass without an entry. */
static tl_status read_switch(tl_json_reader *r, const tl_json_member *m, void *user) {
  section *s = user;
  if (!cJSON_IsString(m->item))
    return expect(r, m->item, false, tl_fusion_section_name(s->kind), "\"on\" or \"off\"");
  tl_sv word = tl_sv_trim(tl_sv_from(m->item->valuestring));
  int value = tl_fusion_on_off(word);
  if (value < 0)
    return tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E21002", tl_json_at(r, m->item),
                        "'%.*s' is not on or off, for pass '%.*s'", TL_SV_ARG(tl_sv_shown(word)),
                        TL_SV_ARG(tl_sv_shown(m->name)));
  if (tl_sv_is(m->name, "ALL")) {
    config_of(r)->file_all[s->kind] = value ? TL_SWITCH_ON : TL_SWITCH_OFF;
    return TL_OK;
  }
  if (tl_fusion_draft_add(&s->draft, r->arena, m->name, value, tl_json_at(r, m->item)) != TL_OK)
    return tl_fail_memory(r->diag, TL_AT_FILE(r->path));
  return TL_OK;
}

/* Reads one section of Switch; entries for one pass must agree. */
static tl_status read_switches(tl_json_reader *r, const tl_json_member *m, void *user) {
  (void)user;
  section s;
  TL_TRY(find_section(r, m, "Switch", &s));
  tl_status status = tl_json_members(r, m->item, read_switch, &s);
  if (status == TL_OK)
    return tl_fusion_draft_finish(&s.draft, r->diag, r->arena, TL_REPEAT_IF_UNEQUAL_FAILS, "E21002",
                                  &config_of(r)->file[s.kind]);
  tl_fusion_draft_release(&s.draft);
  return status;
}

/* ---- Priority ------------------------------------------------------------------------------- */

/* Reads digits that make a number within the thousand of the level: 0 to 999 for Top, 1000 to 1999
 * for Main, 2000 to 2999 for Down. */
static bool read_number(tl_sv text, int level, int *out) {
  uint64_t value;
  for (size_t i = 0; i < text.n; i++) {
    if (text.p[i] < '0' || text.p[i] > '9')
      return false;
  }
  uint64_t low = (uint64_t)level * TL_PRIORITY_LEVEL;
  if (!tl_parse_u64(text, &value) || value < low || value >= low + TL_PRIORITY_LEVEL)
    return false;
  *out = (int)value;
  return true;
}

/* Reads one PASS: "NUMBER" of a level. */
static tl_status read_priority(tl_json_reader *r, const tl_json_member *m, void *user) {
  section *s = user;
  int low = s->level * TL_PRIORITY_LEVEL;
  int value = 0;
  if (!cJSON_IsString(m->item))
    return expect(r, m->item, false, level_names[s->level], "a number in double quotes");
  tl_sv text = tl_sv_trim(tl_sv_from(m->item->valuestring));
  if (!read_number(text, s->level, &value))
    return tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E21002", tl_json_at(r, m->item),
                        "'%.*s' is not a priority of level %s, which has %d to %d, for pass '%.*s'",
                        TL_SV_ARG(tl_sv_shown(text)), level_names[s->level], low,
                        low + TL_PRIORITY_LEVEL - 1, TL_SV_ARG(tl_sv_shown(m->name)));
  if (tl_fusion_draft_add(&s->draft, r->arena, m->name, value, tl_json_at(r, m->item)) != TL_OK)
    return tl_fail_memory(r->diag, TL_AT_FILE(r->path));
  return TL_OK;
}

/* Reads one level of a section of Priority: Top, Main or Down. */
static tl_status read_level(tl_json_reader *r, const tl_json_member *m, void *user) {
  section *s = user;
  for (s->level = 0; s->level < LEVELS; s->level++) {
    if (!tl_sv_is(m->name, level_names[s->level]))
      continue;
    TL_TRY(
        expect(r, m->item, cJSON_IsObject(m->item), tl_fusion_section_name(s->kind), "an object"));
    return tl_json_members(r, m->item, read_priority, s);
  }
  return unknown_key(r, m, "among the levels of Priority", "Top, Main or Down");
}

/* Reads one section of Priority; a pass may have one priority only. */
static tl_status read_priorities(tl_json_reader *r, const tl_json_member *m, void *user) {
  (void)user;
  section s;
  TL_TRY(find_section(r, m, "Priority", &s));
  tl_status status = tl_json_members(r, m->item, read_level, &s);
  if (status == TL_OK)
    return tl_fusion_draft_finish(&s.draft, r->diag, r->arena, TL_REPEAT_FAILS, "E21002",
                                  &config_of(r)->priority[s.kind]);
  tl_fusion_draft_release(&s.draft);
  return status;
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Reads the list of passes that level O1 does not switch off. */
static tl_status read_exceptional(tl_json_reader *r, const cJSON *array) {
  tl_fusion_draft draft = {0};
  tl_status status = TL_OK;
  for (const cJSON *item = array->child; item && status == TL_OK; item = item->next) {
    if (!cJSON_IsString(item))
      status = tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E21002", tl_json_at(r, item),
                            "ExceptionalPassOfO1Level has to hold names of passes, this is %s",
                            tl_json_kind(item));
    else if (tl_fusion_draft_add(&draft, r->arena, tl_sv_trim(tl_sv_from(item->valuestring)), 1,
                                 tl_json_at(r, item)) != TL_OK)
      status = tl_fail_memory(r->diag, TL_AT_FILE(r->path));
  }
  if (status == TL_OK)
    return tl_fusion_draft_finish(&draft, r->diag, r->arena, TL_REPEAT_LAST_COUNTS, "E21002",
                                  &config_of(r)->exceptional);
  tl_fusion_draft_release(&draft);
  return status;
}

/* Reads one member of the top level. */
static tl_status read_part(tl_json_reader *r, const tl_json_member *m, void *user) {
  (void)user;
  bool switches = tl_sv_is(m->name, "Switch");
  if (switches || tl_sv_is(m->name, "Priority")) {
    TL_TRY(expect(r, m->item, cJSON_IsObject(m->item), NULL, "an object"));
    return tl_json_members(r, m->item, switches ? read_switches : read_priorities, NULL);
  }
  if (tl_sv_is(m->name, "ExceptionalPassOfO1Level")) {
    TL_TRY(expect(r, m->item, cJSON_IsArray(m->item), NULL, "an array"));
    return read_exceptional(r, m->item);
  }
  return unknown_key(r, m, "at the top level", "Switch, Priority or ExceptionalPassOfO1Level");
}

tl_status tl_read_fusion_json(tl_diag *d, tl_arena *a, const char *path, const tl_json *json,
                              tl_fusion_config *out) {
  const cJSON *root = json->root;
  tl_json_reader r;
  if (cJSON_IsNull(root)) /* atc takes it for no file */
    return TL_OK;
  tl_json_reader_init(&r, d, a, path, json, "W_FUSION_DUP_KEY");
  r.out = out;
  tl_status status = cJSON_IsObject(root)
                         ? tl_json_members(&r, root, read_part, NULL)
                         : tl_fail_code(d, TL_INVALID_ARGUMENT, "E21002", tl_json_at(&r, root),
                                        "the top level must be an object, it is %s",
                                        tl_json_kind(root));
  tl_json_reader_finish(&r);
  return status;
}
