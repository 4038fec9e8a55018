/* SPDX-License-Identifier: Apache-2.0 */
/* Reads implementation modes of ops from .ini files and from options (impl_modes.h). */
#include "frontend/config/impl_modes.h"

#include <stdlib.h>

#include "frontend/config/config_file.h"
#include "support/vec.h"

/* Upper bound on warnings of one file; the rest is counted and reported in one line. */
enum { MOST_WARNINGS = 20 };

TL_VEC(entry_vec, tl_impl_entry);

typedef struct ini_reader {
  tl_diag *diag;
  tl_arena *arena;
  tl_location at;
  uint32_t warned;
  entry_vec nodes;    /* owned, heap */
  entry_vec types;    /* owned, heap */
  entry_vec *section; /* NULL: one that nobody reads */
} ini_reader;

/* Warns that a line is ignored, with the reason. */
static void drop(ini_reader *r, tl_sv subject, const char *why) {
  if (++r->warned <= MOST_WARNINGS)
    tl_warn_code(r->diag, "W_IMPL_MODE", r->at, "the line is ignored: '%.*s' %s",
                 TL_SV_ARG(tl_sv_shown(subject)), why);
}

/* Sets the section for the lines that follow. Lines of an unknown section are skipped without a
 * word, because the section itself has been warned about. */
static void enter_section(ini_reader *r, tl_sv line) {
  if (tl_sv_is(line, "[ByOpType]"))
    r->section = &r->types;
  else if (tl_sv_is(line, "[ByNodeName]"))
    r->section = &r->nodes;
  else {
    r->section = NULL;
    if (++r->warned <= MOST_WARNINGS)
      tl_warn_code(r->diag, "W_IMPL_MODE", r->at,
                   "the section %.*s is ignored; the sections are [ByOpType] and [ByNodeName]",
                   TL_SV_ARG(tl_sv_shown(line)));
  }
}

/* Reads a section header or NAME=MODE. Malformed lines are dropped with a warning, as the NPU stack
 * does; only lack of memory is an error. */
static tl_status read_line(ini_reader *r, tl_sv line) {
  const char *equals = memchr(line.p, '=', line.n);
  if (*line.p == '[' && line.p[line.n - 1] == ']') {
    enter_section(r, line);
    return TL_OK;
  }
  if (!r->section)
    return TL_OK;
  if (!equals) {
    drop(r, line, "is not NAME=MODE");
    return TL_OK;
  }
  tl_sv name = tl_sv_trim((tl_sv){line.p, (size_t)(equals - line.p)});
  tl_sv value = tl_sv_trim((tl_sv){equals + 1, line.n - (size_t)(equals - line.p) - 1});
  const tl_impl_mode *mode = tl_impl_mode_find(value);
  if (name.n == 0 || !mode) {
    drop(r, name.n ? value : line, name.n ? "is not an implementation mode" : "names no op");
    return TL_OK;
  }
  tl_impl_entry e = {{tl_arena_copy(r->arena, name.p, name.n), name.n}, mode, r->at.line};
  return e.name.p && entry_vec_push(r->section, e) ? TL_OK : tl_fail_memory(r->diag, r->at);
}

/* Orders by name, then by line, so that the first line of a name comes first. */
static int by_name(const void *a, const void *b) {
  const tl_impl_entry *x = a;
  const tl_impl_entry *y = b;
  int order = tl_sv_compare(x->name, y->name);
  return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

/* Sorts a list into the arena. Of a name given twice the first line counts; the second is reported
 * only if its mode differs. */
static tl_status keep(ini_reader *r, entry_vec *list, const tl_impl_entry **out, uint32_t *n) {
  tl_impl_entry *kept = tl_arena_calloc(r->arena, list->n, sizeof *kept);
  *n = 0;
  if (!kept)
    return tl_fail_memory(r->diag, r->at);
  if (list->n)
    qsort(list->at, list->n, sizeof *list->at, by_name);
  for (uint32_t i = 0; i < list->n; i++) {
    const tl_impl_entry *e = &list->at[i];
    if (*n == 0 || !tl_sv_eq(kept[*n - 1].name, e->name)) {
      kept[(*n)++] = *e;
    } else if (kept[*n - 1].mode != e->mode) {
      r->at.line = e->line;
      drop(r, e->name, "was given before; the first line counts");
    }
  }
  *out = kept;
  return TL_OK;
}

/* Sorts both lists and reports how many warnings were left out. */
static tl_status finish(ini_reader *r, tl_impl_config *out) {
  TL_TRY(keep(r, &r->nodes, &out->nodes, &out->n_nodes));
  TL_TRY(keep(r, &r->types, &out->types, &out->n_types));
  r->at.line = r->at.column = 0;
  if (r->warned > MOST_WARNINGS)
    tl_warn_code(r->diag, "W_IMPL_MODE", r->at, "%u more lines were ignored",
                 r->warned - MOST_WARNINGS);
  return TL_OK;
}

tl_status tl_read_impl_modes_text(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                                  tl_impl_config *out) {
  ini_reader r = {.diag = d, .arena = a, .at = {.file = path, .column = 1}};
  tl_status status = TL_OK;
  r.section = &r.types;
  for (tl_sv rest = tl_config_without_mark(text); rest.p && status == TL_OK;) {
    tl_sv line = tl_sv_split(&rest, '\n');
    /* Only a '#' in the first column starts a comment; this is tested before the blanks are
     * removed. */
    bool comment = line.n && *line.p == '#';
    line = tl_sv_trim(line);
    r.at.line++;
    if (line.n && !comment)
      status = read_line(&r, line);
  }
  if (status == TL_OK)
    status = finish(&r, out);
  out->path = path;
  entry_vec_release(&r.nodes);
  entry_vec_release(&r.types);
  return status;
}

tl_status tl_read_impl_modes(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                             tl_impl_config *out) {
  static const tl_config_kind kind = {"file of implementation modes", "E10001", "E10001", false, 0};
  tl_sv text;
  TL_TRY(tl_config_text(d, a, where, path, &kind, &text));
  return tl_read_impl_modes_text(d, a, path, text, out);
}

tl_status tl_read_impl_types(tl_diag *d, tl_arena *a, tl_location where, tl_sv types, tl_sv mode,
                             tl_impl_config *out) {
  ini_reader r = {.diag = d, .arena = a, .at = where};
  tl_status status = TL_OK;
  for (tl_sv rest = types; rest.p && status == TL_OK;) {
    tl_sv type = tl_sv_trim(tl_sv_split(&rest, ','));
    tl_impl_entry e = {.mode = tl_impl_mode_find(mode)};
    if (type.n == 0)
      continue;
    e.name = (tl_sv){tl_arena_copy(a, type.p, type.n), type.n};
    status = e.name.p && entry_vec_push(&r.types, e) ? TL_OK : tl_fail_memory(r.diag, r.at);
  }
  if (status == TL_OK)
    status = finish(&r, out);
  entry_vec_release(&r.types);
  return status;
}
