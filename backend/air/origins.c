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

/* Returns true for a list of one name without escapes, as most nodes have. */
static bool is_one_plain(tl_sv list) {
  if (list.n < 4 || memchr(list.p, '\\', list.n))
    return false;
  const char *end = memchr(list.p + 2, '"', list.n - 2);
  return end == list.p + list.n - 2;
}

static void add_names(tl_air *a, tl_trace what, tl_sv list) {
  if (is_one_plain(list)) {
    tl_air_add_entry(a, (tl_entry){.key = tl_sv_from(tl_trace_key(what)),
                                   .kind = TL_ENTRY_ORIGIN,
                                   .u.value = {list.p + 2, list.n - 4}});
    return;
  }
  tl_air_add_entry(
      a,
      (tl_entry){.key = tl_sv_from(tl_trace_key(what)), .kind = TL_ENTRY_TRACE, .u.value = list});
}

/* Adds where a node comes from that was not fused. A node of the model is its own origin; an
 * inserted one has none, and says for which nodes it is there. */
static void origin_entries(tl_air *a, tl_node_id n) {
  bool inserted;
  tl_sv list = tl_trace_origins(a->m, n, &inserted);
  if (list.n || inserted) {
    add_names(a, TL_TRACE_NAMES, inserted ? TL_SV("[]") : list);
    if (inserted && list.n)
      add_names(a, TL_TRACE_FOR, list);
    return;
  }
  tl_sv own = tl_sym(a->m, tl_node_get(a->m, n)->name);
  if (!own.n) {
    tl_buf text;
    tl_buf_init(&text);
    tl_trace_own(a->m, n, &text);
    const char *copy = text.failed ? NULL : tl_arena_copy(&a->arena, text.p, text.n);
    own = (tl_sv){copy ? copy : "", copy ? text.n : 0};
    a->buf.failed = a->buf.failed || !copy;
    tl_buf_release(&text);
  }
  tl_air_add_entry(a, (tl_entry){.key = tl_sv_from(tl_trace_key(TL_TRACE_NAMES)),
                                 .kind = TL_ENTRY_ORIGIN,
                                 .u.value = own});
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
