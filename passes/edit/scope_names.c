/* SPDX-License-Identifier: Apache-2.0 */
/* Parses scopes in node metadata as PyTorch's exporter writes them. Two forms exist: Python lists
 * of strings, and a path of "name: class". Names are those of modules from the outermost on, each
 * with its parent's name in front: '', 'encoder', 'encoder.layer.0'. The last entry is the node
 * itself. */
#include "passes/edit/scope_names.h"

/* Read position in a printed Python list. */
typedef struct py_list {
  tl_arena *a;
  const char *at;
  const char *end;
} py_list;

static void skip_blanks(py_list *p) {
  while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n'))
    p->at++;
}

static bool accept(py_list *p, char c) {
  skip_blanks(p);
  if (p->at == p->end || *p->at != c)
    return false;
  p->at++;
  return true;
}

/* Reads 'text' or "text". A backslash stands for the byte behind it; Python's other escapes do not
 * occur in names. The result is a view of the text, or a copy in the arena if it has escapes.
 * Returns false on bad syntax or without memory. */
static bool read_string(py_list *p, tl_sv *out) {
  skip_blanks(p);
  if (p->at == p->end || (*p->at != '\'' && *p->at != '"'))
    return false;
  char quote = *p->at++;
  const char *from = p->at;
  bool escaped = false;
  while (p->at < p->end && *p->at != quote) {
    bool escape = *p->at == '\\' && p->at + 1 < p->end;
    escaped = escaped || escape;
    p->at += 1 + escape;
  }
  if (p->at >= p->end)
    return false;
  *out = (tl_sv){from, (size_t)(p->at++ - from)};
  if (!escaped)
    return true;
  char *text = tl_arena_alloc(p->a, out->n);
  size_t n = 0;
  for (size_t i = 0; text && i < out->n; i++) {
    i += out->p[i] == '\\' && i + 1 < out->n;
    text[n++] = out->p[i];
  }
  *out = (tl_sv){text ? text : "", text ? n : 0};
  return text != NULL;
}

/* Reads a list of strings. Entries beyond `room` are counted in *n and dropped. Returns false if
 * the text is not a list of strings. */
static bool read_list(tl_arena *a, tl_sv text, tl_sv *out, uint32_t room, uint32_t *n) {
  py_list p = {a, text.p, text.p + text.n};
  *n = 0;
  if (!accept(&p, '['))
    return false;
  while (!accept(&p, ']')) {
    tl_sv entry;
    if (!read_string(&p, &entry))
      return false;
    if (*n < room)
      out[*n] = entry;
    ++*n;
    if (!accept(&p, ',') && (skip_blanks(&p), p.at == p.end || *p.at != ']'))
      return false;
  }
  skip_blanks(&p);
  return p.at == p.end;
}

/* Returns the name without the prefix of its parent: "encoder.layer.0" in "encoder" gives
 * "layer.0". */
static tl_sv relative(tl_sv name, tl_sv parent) {
  bool inside = parent.n && name.n > parent.n + 1 && name.p[parent.n] == '.' &&
                memcmp(name.p, parent.p, parent.n) == 0;
  return inside ? (tl_sv){name.p + parent.n + 1, name.n - parent.n - 1} : name;
}

bool tl_scope_levels_of_lists(tl_arena *a, tl_sv names, tl_sv classes, tl_scope_level *levels,
                              uint32_t *n) {
  enum { ROOM = TL_MOST_SCOPES_DEEP + 2 };
  tl_sv name[ROOM], klass[ROOM];
  uint32_t entries, n_classes;
  *n = 0;
  if (!read_list(a, names, name, ROOM, &entries) || entries == 0)
    return false;
  if (!read_list(a, classes, klass, ROOM, &n_classes) || n_classes != entries)
    n_classes = 0;
  for (uint32_t i = 0; i + 1 < entries && i < ROOM && *n < TL_MOST_SCOPES_DEEP; i++)
    if (name[i].n)
      levels[(*n)++] = (tl_scope_level){relative(name[i], i ? name[i - 1] : TL_SV("")),
                                        n_classes ? klass[i] : TL_SV("")};
  return true;
}

/* Form: "name: class/name: class/...", with the node as the last part. A class must not contain
 * '/'. */
bool tl_scope_levels_of_namespace(tl_sv text, tl_scope_level *levels, uint32_t *n) {
  tl_sv before = TL_SV("");
  *n = 0;
  for (tl_sv rest = text; rest.p && *n < TL_MOST_SCOPES_DEEP;) {
    tl_sv part = tl_sv_split(&rest, '/');
    const char *colon = part.n ? memchr(part.p, ':', part.n) : NULL;
    tl_sv name = {part.p, colon ? (size_t)(colon - part.p) : part.n};
    tl_sv klass = colon ? (tl_sv){colon + 1, part.n - name.n - 1} : TL_SV("");
    name = tl_sv_trim(name);
    if (!rest.p)
      return colon != NULL;
    if (name.n)
      levels[(*n)++] = (tl_scope_level){relative(name, before), tl_sv_trim(klass)};
    before = name;
  }
  return *n > 0;
}
