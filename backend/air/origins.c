/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes where nodes of an AIR file come from: attributes that tools which compare dumps read, and
 * attributes of a file that was read. */
#include "backend/air/air.h"
#include "ir/trace.h"

/* Adds the lists of nodes that a fused node replaces; false for a node that was not fused. */
static bool trace_entries(tl_air *a, tl_node_id n) {
  static const tl_trace lists[] = {TL_TRACE_NAMES, TL_TRACE_TYPES, TL_TRACE_PASSES, TL_TRACE_FOR};
  static const tl_attr yes = {.kind = TL_ATTR_BOOL, .u.i = 1};
  if (tl_trace_get(a->m, n, TL_TRACE_NAMES).n == 0)
    return false;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    tl_sv list = tl_trace_get(a->m, n, lists[i]);
    if (list.n)
      tl_air_add_entry(a, (tl_entry){.key = tl_sv_from(tl_trace_key(lists[i])),
                                     .kind = TL_ENTRY_TRACE,
                                     .u.value = list});
  }
  if (tl_trace_get(a->m, n, TL_TRACE_MULTI).n)
    tl_air_add_entry(a, (tl_entry){.key = tl_sv_from(tl_trace_key(TL_TRACE_MULTI)),
                                   .kind = TL_ENTRY_ATTR,
                                   .u.attr = &yes});
  return true;
}

static void add_names(tl_air *a, tl_trace what, tl_entry_kind kind, tl_sv text) {
  tl_air_add_entry(
      a, (tl_entry){.key = tl_sv_from(tl_trace_key(what)), .kind = (uint8_t)kind, .u.value = text});
}

/* Adds where a node that a pass made comes from. An inserted one comes from none, and says for
 * which nodes it is there. */
static void add_origins(tl_air *a, tl_entry_kind kind, tl_sv text, bool inserted) {
  if (inserted)
    add_names(a, TL_TRACE_NAMES, TL_ENTRY_TRACE, TL_SV("[]"));
  if (text.n)
    add_names(a, inserted ? TL_TRACE_FOR : TL_TRACE_NAMES, kind, text);
}

/* Keeps a text until the model is written. */
static tl_sv keep_text(tl_air *a, const tl_buf *text) {
  const char *copy = text->failed ? NULL : tl_arena_copy(&a->arena, text->p, text->n);
  a->buf.failed = a->buf.failed || !copy;
  return (tl_sv){copy ? copy : "", copy ? text->n : 0};
}

/* Adds where a node comes from that was not fused. A node of the model is its own origin. */
static void origin_entries(tl_air *a, tl_node_id n) {
  bool inserted = a->m->extras.at[tl_node_get(a->m, n)->extra].inserted;
  tl_sv one = tl_trace_origin(a->m, n), own = tl_sym(a->m, tl_node_get(a->m, n)->name);
  if (one.n) {
    add_origins(a, TL_ENTRY_ORIGIN, one, inserted);
    return;
  }
  tl_buf room;
  tl_buf_init(&room);
  tl_sv list = tl_trace_origins(a->m, n, &room, &inserted);
  if (list.n && list.p == room.p)
    list = keep_text(a, &room);
  a->buf.failed = a->buf.failed || room.failed;
  if (list.n || inserted) {
    add_origins(a, TL_ENTRY_TRACE, list, inserted);
  } else {
    if (!own.n)
      tl_trace_own(a->m, n, &room);
    add_names(a, TL_TRACE_NAMES, TL_ENTRY_ORIGIN, own.n ? own : keep_text(a, &room));
  }
  tl_buf_release(&room);
}

/* A node that was not fused is its own origin. */
void tl_air_origin_entries(tl_air *a, tl_node_id n) {
  if (!trace_entries(a, n))
    origin_entries(a, n);
}

void tl_air_noted_attrs(tl_air *a, uint32_t slot, const char *prefix) {
  const tl_extra *e = &a->m->extras.at[slot];
  size_t n = strlen(prefix);
  for (uint32_t i = 0; i < e->n_metadata; i++) {
    tl_sv key = tl_sym(a->m, e->metadata[i].key);
    if (!tl_sv_starts_with(key, prefix))
      continue;
    tl_air_add_entry(a, (tl_entry){.key = {key.p + n, key.n - n},
                                   .kind = TL_ENTRY_RAW,
                                   .u.value = tl_sym(a->m, e->metadata[i].value)});
  }
}
