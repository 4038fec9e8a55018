/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the module of a node (scope.h). */
#include "tools/page/scope.h"

#include "ir/marks.h"
#include "ir/trace.h"
#include "passes/edit/scope_names.h"

/* ---- names ----------------------------------------------------------------------------------- */

static tl_sv without_slash(tl_sv path) {
  while (path.n && path.p[0] == '/')
    path = (tl_sv){path.p + 1, path.n - 1};
  return path;
}

/* Returns the part of a name before its last '/', without one at its beginning. */
static tl_sv folder(tl_sv name) {
  name = without_slash(name);
  while (name.n && name.p[name.n - 1] != '/')
    name.n--;
  return (tl_sv){name.p, name.n ? name.n - 1 : 0};
}

/* ---- metadata -------------------------------------------------------------------------------- */

/* Splits what the exporter says in metadata; 0: it says nothing. */
static uint32_t levels_of(const tl_module *m, tl_node_id n, tl_arena *a, tl_scope_level *levels) {
  tl_sv names = tl_node_note(m, n, "pkg.torch.onnx.name_scopes");
  tl_sv space = tl_node_note(m, n, "namespace");
  uint32_t count = 0;
  if (names.n && tl_scope_levels_of_lists(a, names, TL_SV(""), levels, &count))
    return count;
  return space.n && tl_scope_levels_of_namespace(space, levels, &count) ? count : 0;
}

static uint32_t scope_of_metadata(tl_view_record *r, tl_node_id n) {
  tl_buf *room = &r->strings->room;
  tl_scope_level levels[TL_MOST_SCOPES_DEEP];
  tl_arena scratch;
  tl_arena_init(&scratch, 0);
  uint32_t count = levels_of(r->m, n, &scratch, levels);
  tl_buf_clear(room);
  for (uint32_t i = 0; i < count; i++) {
    if (room->n)
      tl_buf_add_char(room, '/');
    tl_buf_add_sv(room, levels[i].name);
  }
  tl_arena_release(&scratch);
  if (!room->n)
    return 0;
  uint32_t text = tl_view_text(r->strings, tl_buf_view(room));
  tl_symbol name = tl_node_get(r->m, n)->name;
  tl_view_set(r, &r->scope_of_name, tl_view_symbol(r->strings, r->m, name), text);
  return text;
}

/* ---- nodes that passes made ------------------------------------------------------------------ */

/* Reads the name of the first node that a node comes from; p NULL: it comes from none. */
static tl_sv origin_of(tl_view_record *r, tl_node_id n) {
  tl_buf *room = &r->strings->room, list;
  tl_sv item = tl_trace_origin(r->m, n);
  bool inserted;
  if (item.n)
    return item;
  tl_buf_init(&list);
  tl_trace_items at = tl_trace_start(tl_trace_origins(r->m, n, &list, &inserted));
  tl_buf_clear(room);
  bool any = tl_trace_next(&at, room, &item);
  if (any && item.p != room->p)
    tl_buf_add_sv(room, item);
  tl_buf_release(&list);
  return any ? tl_buf_view(room) : (tl_sv){0};
}

/* The name of a node that a pass made is that of one of its origins, with the op behind it: it
 * tells no module where metadata does. */
static uint32_t scope_of_names(tl_view_record *r, tl_node_id n) {
  tl_sv own = folder(tl_sym(r->m, tl_node_get(r->m, n)->name));
  if (own.n && !r->scope_of_name.n) /* no node has metadata */
    return tl_view_text(r->strings, own);
  tl_sv origin = tl_node_get(r->m, n)->extra ? origin_of(r, n) : (tl_sv){0};
  uint32_t text = origin.p ? tl_view_text(r->strings, origin) : 0;
  uint32_t known = tl_view_get(&r->scope_of_name, text);
  if (known)
    return known;
  return tl_view_text(r->strings, own.n ? own : folder(origin));
}

uint32_t tl_view_scope(tl_view_record *r, tl_node_id n) {
  uint32_t module = tl_node_get(r->m, n)->extra ? scope_of_metadata(r, n) : 0;
  tl_sv calls = without_slash(tl_sym(r->m, tl_node_get(r->m, n)->scope));
  if (module)
    return module;
  return calls.n ? tl_view_text(r->strings, calls) : scope_of_names(r, n);
}
