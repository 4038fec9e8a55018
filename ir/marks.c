/* SPDX-License-Identifier: Apache-2.0 */
/* Marks and notes of nodes, kept as metadata (marks.h). */
#include "ir/marks.h"

/* The attributes that GE compares before it fuses two nodes. */
#define KEY(text)                                                                                  \
  { text, sizeof text - 1 }
static const tl_sv keys[TL_N_MARKS] = {KEY("_user_stream_label"),    KEY("_super_kernel_scope"),
                                       KEY("_super_kernel_options"), KEY("_op_aicore_num"),
                                       KEY("_op_vectorcore_num"),    KEY("_deterministic"),
                                       KEY("_deterministic_level")};

/* Returns the value of a key, empty if there is none. A linear search is enough: nodes have few
 * entries. */
static tl_sv find(const tl_module *m, tl_node_id n, tl_sv key) {
  const tl_extra *e = &m->extras.at[tl_node_get(m, n)->extra];
  for (uint32_t i = 0; i < e->n_metadata; i++)
    if (tl_sv_eq(tl_sym(m, e->metadata[i].key), key))
      return tl_sym(m, e->metadata[i].value);
  return TL_SV("");
}

/* Many nodes have an entry for other things. */
static bool has_metadata(const tl_module *m, tl_node_id n) {
  return m->extras.at[tl_node_get(m, n)->extra].n_metadata != 0;
}

const char *tl_mark_key(uint32_t i) { return keys[i].p; }

tl_sv tl_node_mark(const tl_module *m, tl_node_id n, uint32_t i) {
  return has_metadata(m, n) ? find(m, n, keys[i]) : TL_SV("");
}

/* Returns false if no key of the node begins as all keys of marks do: most nodes have metadata for
 * other things, such as where they come from. */
static bool may_have_marks(const tl_module *m, tl_node_id n) {
  const tl_extra *e = &m->extras.at[tl_node_get(m, n)->extra];
  for (uint32_t i = 0; i < e->n_metadata; i++) {
    tl_sv key = tl_sym(m, e->metadata[i].key);
    if (key.n && key.p[0] == '_')
      return true;
  }
  return false;
}

uint32_t tl_node_marks_differ(const tl_module *m, tl_node_id a, tl_node_id b) {
  uint32_t i = 0;
  if (a == b || (!may_have_marks(m, a) && !may_have_marks(m, b)))
    return TL_N_MARKS;
  while (i < TL_N_MARKS && tl_sv_eq(tl_node_mark(m, a, i), tl_node_mark(m, b, i)))
    i++;
  return i;
}

bool tl_node_asks_dump(const tl_module *m, tl_node_id n) {
  return has_metadata(m, n) && tl_sv_is(find(m, n, TL_SV("_dump_able")), "true");
}

bool tl_node_has_mark(const tl_module *m, tl_node_id n, const char *key) {
  return has_metadata(m, n) && tl_sv_is(find(m, n, tl_sv_from(key)), "1");
}

bool tl_node_put_mark(tl_module *m, tl_node_id n, const char *key) {
  return tl_node_has_mark(m, n, key) || tl_node_set_note(m, n, key, TL_SV("1"));
}

tl_sv tl_node_note(const tl_module *m, tl_node_id n, const char *key) {
  return has_metadata(m, n) ? find(m, n, tl_sv_from(key)) : TL_SV("");
}

/* Writes a new list, since forks share the old one. An empty value removes the note. */
bool tl_node_set_note(tl_module *m, tl_node_id n, const char *key, tl_sv value) {
  if (tl_sv_eq(tl_node_note(m, n, key), value))
    return true;
  tl_extra *e = tl_module_extra(m, &tl_node_get(m, n)->extra);
  tl_pair *pairs = e ? tl_arena_calloc(&m->arena, e->n_metadata + 1U, sizeof *pairs) : NULL;
  tl_pair pair = {tl_module_intern(m, tl_sv_from(key)), tl_module_intern(m, value)};
  uint32_t k = 0;
  if (!pairs || pair.key == TL_NO_SYMBOL || (value.n && pair.value == TL_NO_SYMBOL))
    return false;
  for (uint32_t i = 0; i < e->n_metadata; i++)
    if (e->metadata[i].key != pair.key)
      pairs[k++] = e->metadata[i];
  if (value.n)
    pairs[k++] = pair;
  e->metadata = pairs;
  e->n_metadata = k;
  return true;
}
