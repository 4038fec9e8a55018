/* SPDX-License-Identifier: Apache-2.0 */
/* Switch files in the JSON format: {"Switch": {...}, "Priority": {...},
 * "ExceptionalPassOfO1Level": [...]}. Of a key given twice the last counts, with a warning. */
#include <stdlib.h>

#include "frontend/config/fusion_draft.h"

enum { MOST_WARNINGS = 20, LEVELS = 3 };

static const char *const level_names[LEVELS] = {"Top", "Main", "Down"};

typedef struct member {
  const cJSON *item;
  tl_sv name; /* trimmed */
  uint32_t number;
  bool dropped; /* a later one of the same name counts */
} member;

typedef struct json_reader {
  tl_diag *diag;
  tl_arena *arena;
  tl_arena scratch;
  const char *path;
  const tl_json *json;
  tl_fusion_config *out;
  uint32_t warned;
} json_reader;

static tl_location at(const json_reader *r, const cJSON *item) {
  tl_place place = tl_json_place(r->json, item);
  return (tl_location){.file = r->path, .line = place.line, .column = place.column};
}

static tl_status out_of_memory(const json_reader *r) {
  return tl_fail(r->diag, TL_NO_MEMORY, TL_AT_FILE(r->path), "out of memory");
}

/* Where a key stands in the tree: "Switch.GraphFusion"; parent may be NULL. */
static tl_status expect(const json_reader *r, const cJSON *item, bool fits, const char *parent,
                        const char *expected) {
  if (fits)
    return TL_OK;
  tl_sv name = tl_fusion_shown(tl_sv_from(item->string ? item->string : ""));
  return tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E21002", at(r, item),
                      "%s%s%.*s must be %s, it is %s", parent ? parent : "", parent ? "." : "",
                      TL_SV_ARG(name), expected, tl_json_kind(item));
}

static tl_status unknown_key(const json_reader *r, const member *m, const char *parent,
                             const char *expected) {
  return tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E21002", at(r, m->item),
                      "unknown key '%.*s' %s\vexpected %s", TL_SV_ARG(tl_fusion_shown(m->name)),
                      parent, expected);
}

/* ---- members of an object ------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
  const member *x = *(const member *const *)a;
  const member *y = *(const member *const *)b;
  int order = tl_sv_compare(x->name, y->name);
  if (order)
    return order;
  return x->number < y->number ? -1 : x->number > y->number;
}

static void warn_repeated(json_reader *r, const member *first, const member *second) {
  if (++r->warned > MOST_WARNINGS)
    return;
  tl_warn_code(r->diag, "W_FUSION_DUP_KEY", at(r, second->item),
               "'%.*s' is given twice, in lines %u and %u; the latter counts",
               TL_SV_ARG(tl_fusion_shown(second->name)), at(r, first->item).line,
               at(r, second->item).line);
}

/* Lists the members of an object in scratch memory and marks those that a later one overrules. */
static tl_status list_members(json_reader *r, const cJSON *object, member **out, uint32_t *n) {
  *n = (uint32_t)cJSON_GetArraySize(object);
  member *members = tl_arena_calloc(&r->scratch, *n, sizeof *members);
  member **sorted = tl_arena_calloc(&r->scratch, *n, sizeof *sorted);
  if (!members || !sorted)
    return out_of_memory(r);
  uint32_t i = 0;
  for (const cJSON *item = object->child; item; item = item->next, i++) {
    members[i] = (member){item, tl_fusion_trim(tl_sv_from(item->string)), i, false};
    sorted[i] = &members[i];
  }
  if (*n)
    qsort(sorted, *n, sizeof *sorted, by_name);
  for (i = 1; i < *n; i++) {
    if (!tl_sv_eq(sorted[i - 1]->name, sorted[i]->name))
      continue;
    sorted[i - 1]->dropped = true;
    warn_repeated(r, sorted[i - 1], sorted[i]);
  }
  *out = members;
  return TL_OK;
}

typedef tl_status (*member_fn)(json_reader *r, const member *m, void *user);

/* Calls fn for every member that counts. */
static tl_status for_members(json_reader *r, const cJSON *object, member_fn fn, void *user) {
  member *members;
  uint32_t n;
  TL_TRY(list_members(r, object, &members, &n));
  for (uint32_t i = 0; i < n; i++) {
    if (!members[i].dropped)
      TL_TRY(fn(r, &members[i], user));
  }
  return TL_OK;
}

/* ---- Switch --------------------------------------------------------------------------------- */

typedef struct section {
  tl_fusion_kind kind;
  tl_fusion_draft draft;
  int level; /* of priorities */
} section;

static tl_status find_section(json_reader *r, const member *m, const char *parent, section *out) {
  for (int kind = 0; kind < TL_N_FUSION_SECTIONS; kind++) {
    if (!tl_sv_is(m->name, tl_fusion_section_name((tl_fusion_kind)kind)))
      continue;
    *out = (section){.kind = (tl_fusion_kind)kind};
    return expect(r, m->item, cJSON_IsObject(m->item), parent, "an object");
  }
  char in[32] = "in ";
  strcat(in, parent);
  return unknown_key(r, m, in, "GraphFusion or UBFusion");
}

static tl_status read_switch(json_reader *r, const member *m, void *user) {
  section *s = user;
  if (!cJSON_IsString(m->item))
    return expect(r, m->item, false, tl_fusion_section_name(s->kind), "\"on\" or \"off\"");
  tl_sv word = tl_fusion_trim(tl_sv_from(m->item->valuestring));
  int value = tl_fusion_on_off(word);
  if (value < 0)
    return tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E21002", at(r, m->item),
                        "'%.*s' is neither on nor off, for pass '%.*s'",
                        TL_SV_ARG(tl_fusion_shown(word)), TL_SV_ARG(tl_fusion_shown(m->name)));
  if (tl_sv_is(m->name, "ALL")) {
    r->out->file_all[s->kind] = value ? TL_SWITCH_ON : TL_SWITCH_OFF;
    return TL_OK;
  }
  if (tl_fusion_draft_add(&s->draft, r->arena, m->name, value, at(r, m->item)) != TL_OK)
    return out_of_memory(r);
  return TL_OK;
}

static tl_status read_switches(json_reader *r, const member *m, void *user) {
  (void)user;
  section s;
  TL_TRY(find_section(r, m, "Switch", &s));
  tl_status status = for_members(r, m->item, read_switch, &s);
  if (status == TL_OK)
    return tl_fusion_draft_finish(&s.draft, r->diag, r->arena, TL_REPEAT_IF_UNEQUAL_FAILS,
                                  "E21002", &r->out->file[s.kind]);
  tl_fusion_draft_release(&s.draft);
  return status;
}

/* ---- Priority ------------------------------------------------------------------------------- */

/* Digits only, within the thousand of the level. */
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

static tl_status read_priority(json_reader *r, const member *m, void *user) {
  section *s = user;
  int low = s->level * TL_PRIORITY_LEVEL;
  int value = 0;
  if (!cJSON_IsString(m->item))
    return expect(r, m->item, false, level_names[s->level], "a number in double quotes");
  tl_sv text = tl_fusion_trim(tl_sv_from(m->item->valuestring));
  if (!read_number(text, s->level, &value))
    return tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E21002", at(r, m->item),
                        "'%.*s' is no priority of level %s, which are %d to %d, for pass '%.*s'",
                        TL_SV_ARG(tl_fusion_shown(text)), level_names[s->level], low,
                        low + TL_PRIORITY_LEVEL - 1, TL_SV_ARG(tl_fusion_shown(m->name)));
  if (tl_fusion_draft_add(&s->draft, r->arena, m->name, value, at(r, m->item)) != TL_OK)
    return out_of_memory(r);
  return TL_OK;
}

static tl_status read_level(json_reader *r, const member *m, void *user) {
  section *s = user;
  for (s->level = 0; s->level < LEVELS; s->level++) {
    if (!tl_sv_is(m->name, level_names[s->level]))
      continue;
    TL_TRY(expect(r, m->item, cJSON_IsObject(m->item), tl_fusion_section_name(s->kind),
                  "an object"));
    return for_members(r, m->item, read_priority, s);
  }
  return unknown_key(r, m, "among the levels of Priority", "Top, Main or Down");
}

static tl_status read_priorities(json_reader *r, const member *m, void *user) {
  (void)user;
  section s;
  TL_TRY(find_section(r, m, "Priority", &s));
  tl_status status = for_members(r, m->item, read_level, &s);
  if (status == TL_OK)
    return tl_fusion_draft_finish(&s.draft, r->diag, r->arena, TL_REPEAT_FAILS, "E21002",
                                  &r->out->priority[s.kind]);
  tl_fusion_draft_release(&s.draft);
  return status;
}

/* ---- the file ------------------------------------------------------------------------------- */

static tl_status read_exceptional(json_reader *r, const cJSON *array) {
  tl_fusion_draft draft = {0};
  tl_status status = TL_OK;
  for (const cJSON *item = array->child; item && status == TL_OK; item = item->next) {
    if (!cJSON_IsString(item))
      status = tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E21002", at(r, item),
                            "ExceptionalPassOfO1Level holds names of passes, this is %s",
                            tl_json_kind(item));
    else if (tl_fusion_draft_add(&draft, r->arena, tl_fusion_trim(tl_sv_from(item->valuestring)),
                                 1, at(r, item)) != TL_OK)
      status = out_of_memory(r);
  }
  if (status == TL_OK)
    return tl_fusion_draft_finish(&draft, r->diag, r->arena, TL_REPEAT_LAST_COUNTS, "E21002",
                                  &r->out->exceptional);
  tl_fusion_draft_release(&draft);
  return status;
}

static tl_status read_part(json_reader *r, const member *m, void *user) {
  (void)user;
  bool switches = tl_sv_is(m->name, "Switch");
  if (switches || tl_sv_is(m->name, "Priority")) {
    TL_TRY(expect(r, m->item, cJSON_IsObject(m->item), NULL, "an object"));
    return for_members(r, m->item, switches ? read_switches : read_priorities, NULL);
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
  json_reader r = {.diag = d, .arena = a, .path = path, .json = json, .out = out};
  if (cJSON_IsNull(root)) /* atc takes it for no file */
    return TL_OK;
  if (!cJSON_IsObject(root))
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E21002", at(&r, root),
                        "the top level must be an object, it is %s", tl_json_kind(root));
  tl_arena_init(&r.scratch, 0);
  tl_status status = for_members(&r, root, read_part, NULL);
  if (r.warned > MOST_WARNINGS)
    tl_warn_code(d, "W_FUSION_DUP_KEY", TL_AT_FILE(path), "%u more keys are given twice",
                 r.warned - MOST_WARNINGS);
  tl_arena_release(&r.scratch);
  return status;
}
