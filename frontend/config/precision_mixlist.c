/* SPDX-License-Identifier: Apache-2.0 */
/* Reads modify_mixlist, the edits of the black, white and gray lists of op types. The form is
 * {"black-list": {"to-add": [...], "to-remove": [...]}, "white-list": ..., "gray-list": ...}. One
 * type may occur in several lists, so its edits are collected and judged together. */
#include <stdio.h>
#include <stdlib.h>

#include "frontend/config/config_file.h"
#include "frontend/config/json_reader.h"
#include "frontend/config/precision.h"

enum { MOST_ERRORS = 20 };

/* One occurrence of a type in one list. */
typedef struct mention {
  tl_sv type;
  uint32_t number; /* in the order of the file */
  uint32_t line;
  uint32_t column;
  uint8_t edit; /* one TL_MIX_ bit */
} mention;

TL_VEC(mention_vec, mention);

typedef struct mix_reader {
  mention_vec mentions; /* owned, heap */
  uint32_t errors;
  int list;     /* of list_names, while its members are read */
  uint8_t edit; /* while the types of an array are read */
} mix_reader;

enum { N_LISTS = 3 };
static const char *const list_names[N_LISTS] = {"black-list", "white-list", "gray-list"};
static const uint8_t list_edits[N_LISTS][2] = {{TL_MIX_ADD_BLACK, TL_MIX_REMOVE_BLACK},
                                               {TL_MIX_ADD_WHITE, TL_MIX_REMOVE_WHITE},
                                               {TL_MIX_ADD_GRAY, TL_MIX_REMOVE_GRAY}};

static mix_reader *state_of(const tl_json_reader *r) { return r->out; }

/* Reports a problem and goes on, so that one run shows all problems of a file. text: a format for
 * the subject and the hint. */
static void problem(const tl_json_reader *r, const cJSON *item, const char *code, const char *text,
                    tl_sv subject, const char *hint) {
  if (++state_of(r)->errors <= MOST_ERRORS)
    (void)tl_fail_code(r->diag, TL_INVALID_ARGUMENT, code, tl_json_at(r, item), text,
                       TL_SV_ARG(tl_sv_shown(subject)), hint);
}

/* Reports a value of the wrong kind. `expected` becomes a part of the format, because problem() has
 * arguments only for the name and one further text. */
static void wrong_kind(const tl_json_reader *r, const cJSON *item, tl_sv name,
                       const char *expected) {
  char text[128];
  snprintf(text, sizeof text, "'%%.*s' must be %s, it is %%s", expected);
  problem(r, item, "E21002", text, name, tl_json_kind(item));
}

/* Returns the name that an unknown key most likely means, or NULL. */
static const char *nearest(tl_sv name, const char *const *names, int n) {
  const char *best = NULL;
  size_t least = 4; /* beyond this it is another word */
  for (int i = 0; i < n; i++) {
    size_t distance = tl_edit_distance(name, tl_sv_from(names[i]), least);
    if (distance < least) {
      least = distance;
      best = names[i];
    }
  }
  return best;
}

/* Reports an unknown key. all: a sentence with the legal keys. */
static void unknown_key(const tl_json_reader *r, const tl_json_member *m, const char *const *names,
                        int n, const char *all) {
  char text[160];
  const char *guess = nearest(m->name, names, n);
  snprintf(text, sizeof text, "unknown key '%%.*s'\v%s%s%s%%s", guess ? "did you mean '" : "",
           guess ? guess : "", guess ? "'? " : "");
  problem(r, m->item, "E21002", text, m->name, all);
}

/* Reads an array of op types under the edit that s->edit says. */
static tl_status read_types(tl_json_reader *r, const cJSON *array, tl_sv name) {
  mix_reader *s = state_of(r);
  for (const cJSON *item = array->child; item; item = item->next) {
    if (!cJSON_IsString(item)) {
      wrong_kind(r, item, name, "a list of op types");
      continue;
    }
    tl_sv type = tl_sv_trim(tl_sv_from(item->valuestring));
    tl_location at = tl_json_at(r, item);
    mention m = {{tl_arena_copy(r->arena, type.n ? type.p : "", type.n), type.n},
                 s->mentions.n,
                 at.line,
                 at.column,
                 s->edit};
    if (type.n == 0) {
      problem(r, item, "E21002", "an op type in '%.*s' is empty%s", name, "");
      continue;
    }
    if (!m.type.p || !mention_vec_push(&s->mentions, m))
      return tl_fail_memory(r->diag, TL_AT_FILE(r->path));
  }
  return TL_OK;
}

/* Reads to-add or to-remove of the current list. */
static tl_status read_operation(tl_json_reader *r, const tl_json_member *m, void *user) {
  static const char *const names[] = {"to-add", "to-remove"};
  mix_reader *s = state_of(r);
  (void)user;
  for (int i = 0; i < 2; i++) {
    if (!tl_sv_is(m->name, names[i]))
      continue;
    s->edit = list_edits[s->list][i];
    if (cJSON_IsArray(m->item))
      return read_types(r, m->item, m->name);
    wrong_kind(r, m->item, m->name, "an array of op types");
    return TL_OK;
  }
  unknown_key(r, m, names, 2, "a list has to-add and to-remove");
  return TL_OK;
}

/* Reads one of the three lists. */
static tl_status read_list(tl_json_reader *r, const tl_json_member *m, void *user) {
  mix_reader *s = state_of(r);
  (void)user;
  for (s->list = 0; s->list < N_LISTS; s->list++) {
    if (!tl_sv_is(m->name, list_names[s->list]))
      continue;
    if (cJSON_IsObject(m->item))
      return tl_json_members(r, m->item, read_operation, NULL);
    wrong_kind(r, m->item, m->name, "an object with to-add and to-remove");
    return TL_OK;
  }
  unknown_key(r, m, list_names, N_LISTS, "the lists are black-list, white-list and gray-list");
  return TL_OK;
}

/* ---- what the lists say together ------------------------------------------------------------ */

/* Orders by type, then by place in the file, so that all mentions of a type are neighbours. */
static int by_type(const void *a, const void *b) {
  const mention *x = a;
  const mention *y = b;
  int order = tl_sv_compare(x->type, y->type);
  return order ? order : x->number < y->number ? -1 : x->number > y->number;
}

/* Orders by the line of the first mention; warnings then follow the file. */
static int by_line(const void *a, const void *b) {
  const tl_mix_edit *x = a;
  const tl_mix_edit *y = b;
  if (x->line != y->line)
    return x->line < y->line ? -1 : 1;
  return tl_sv_compare(x->type, y->type);
}

/* Writes the names of all edits in a set, such as "black-list.to-add, white-list.to-remove". */
static void name_edits(uint8_t edits, char *out, size_t n) {
  size_t used = 0;
  out[0] = '\0';
  for (int list = 0; list < N_LISTS; list++)
    for (int i = 0; i < 2; i++)
      if (edits & list_edits[list][i])
        used += (size_t)snprintf(out + used, n - used, "%s%s.%s", used ? ", " : "",
                                 list_names[list], i ? "to-remove" : "to-add");
}

/* Reports edits of one type that exclude each other. */
static void contradiction(tl_diag *d, mix_reader *s, const char *path, const mention *m,
                          uint8_t edits) {
  char lists[160];
  tl_location at = {.file = path, .line = m->line, .column = m->column};
  if (++s->errors > MOST_ERRORS)
    return;
  name_edits(edits, lists, sizeof lists);
  (void)tl_fail_code(d, TL_INVALID_ARGUMENT, "E20003", at,
                     "op type '%.*s' is in %s, which contradict each other\v"
                     "add a type to one list only; you may remove it from the list that it is in "
                     "now",
                     TL_SV_ARG(tl_sv_shown(m->type)), lists);
}

/* Joins the mentions of each type into one edit, refuses contradictions, and sorts by line. */
static tl_status finish(tl_diag *d, tl_arena *a, const char *path, mix_reader *s,
                        tl_precision_config *out) {
  uint32_t n = s->mentions.n;
  tl_mix_edit *edits = tl_arena_calloc(a, n, sizeof *edits);
  if (!edits)
    return tl_fail_memory(d, TL_AT_FILE(path));
  if (n)
    qsort(s->mentions.at, n, sizeof *s->mentions.at, by_type);
  out->mix = edits;
  out->n_mix = 0;
  out->mix_path = path;
  for (uint32_t i = 0, end; i < n; i = end) {
    const mention *first = &s->mentions.at[i];
    tl_mix_edit e = {.type = first->type, .line = first->line};
    for (end = i; end < n && tl_sv_eq(s->mentions.at[end].type, first->type); end++)
      e.edits |= s->mentions.at[end].edit;
    if (!tl_mix_edits_legal(e.edits))
      contradiction(d, s, path, &s->mentions.at[end - 1], e.edits);
    edits[out->n_mix++] = e;
  }
  if (out->n_mix)
    qsort(edits, out->n_mix, sizeof *edits, by_line);
  if (s->errors > MOST_ERRORS)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E21002", TL_AT_FILE(path),
                        "%u more problems are not shown", s->errors - MOST_ERRORS);
  return s->errors ? TL_INVALID_ARGUMENT : TL_OK;
}

tl_status tl_read_mixlist_text(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                               tl_precision_config *out) {
  tl_json json;
  tl_json_error error;
  mix_reader s = {0};
  tl_json_reader r;
  if (tl_sv_trim(tl_config_without_mark(text)).n == 0)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E21002", TL_AT_FILE(path),
                        "the mix list is empty\vwrite {} to change nothing");
  tl_status status = tl_json_parse_commented(text, &json, &error);
  if (status == TL_NO_MEMORY)
    return tl_fail_memory(d, TL_AT_FILE(path));
  if (status != TL_OK) {
    tl_location at = {.file = path, .line = error.place.line, .column = error.place.column};
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E21002", at, "not JSON: %s", error.problem);
  }
  tl_json_reader_init(&r, d, a, path, &json, "W_MIXLIST_DUP_KEY");
  r.out = &s;
  if (cJSON_IsObject(json.root))
    status = tl_json_members(&r, json.root, read_list, NULL);
  else
    wrong_kind(&r, json.root, TL_SV("the top level"), "an object");
  if (status == TL_OK)
    status = finish(d, a, path, &s, out);
  tl_json_reader_finish(&r);
  tl_json_release(&json);
  mention_vec_release(&s.mentions);
  return status;
}

tl_status tl_read_mixlist(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                          tl_precision_config *out) {
  static const tl_config_kind kind = {"mix list", "E21001", "E21001", true, 0};
  tl_sv text;
  TL_TRY(tl_config_text(d, a, where, path, &kind, &text));
  return tl_read_mixlist_text(d, a, path, text, out);
}
