/* SPDX-License-Identifier: Apache-2.0 */
/* Pinned values, merging of values and lookup by name (values.h). */
#include "passes/edit/values.h"

#include "ir/ops_gen.h"

/* Most modules have no training state and then need no table. */
tl_status tl_pinned_find(tl_pass *p, const tl_module *m, tl_pinned *out) {
  *out = (tl_pinned){NULL, 0, NULL};
  if (m->states.n == 0 && m->gradients.n == 0)
    return TL_OK;
  uint32_t n = tl_module_value_end(m);
  bool *at = tl_arena_calloc(p->scratch, n, sizeof *at);
  if (!at)
    return tl_no_memory(m);
  for (uint32_t i = 0; i < m->states.n; i++) {
    at[m->states.at[i].input] = true;
    at[m->states.at[i].output] = true;
    at[m->states.at[i].initial] = true;
  }
  for (uint32_t i = 0; i < m->gradients.n; i++) {
    at[m->gradients.at[i].grad] = true;
    at[m->gradients.at[i].indices] = true;
  }
  at[m->loss] = at[m->seed] = true;
  *out = (tl_pinned){at, n, NULL};
  return TL_OK;
}

bool tl_pin_newer(const tl_pinned *pinned, tl_value_id v) {
  return tl_map_set(pinned->newer, v, 1);
}

tl_status tl_visit_nodes(tl_pass *p, tl_module *m, tl_node_visit visit) {
  tl_pinned pinned;
  TL_TRY(tl_pinned_find(p, m, &pinned));
  for (uint32_t id = 1; id <= m->graphs.n; id++) {
    const tl_graph *g = tl_graph_get(m, id);
    if (g->erased)
      continue;
    TL_FOR_NODES(m, g, n)
      TL_TRY(visit(p, m, n, &pinned));
  }
  return TL_OK;
}

/* A control edge to a node at or before `place` would point backwards after the move. */
bool tl_node_leads_before(const tl_module *m, tl_node_id n, tl_node_id place) {
  const tl_control *e;
  for (tl_control_id c = tl_node_get(m, n)->control_out; c; c = e->next_out) {
    e = tl_control_get(m, c);
    if (!tl_node_is_before(m, place, e->to))
      return true;
  }
  return false;
}

bool tl_value_has_role(const tl_module *m, tl_value_id v) {
  for (uint32_t i = 0; i < m->states.n; i++)
    if (m->states.at[i].output == v || m->states.at[i].initial == v)
      return true;
  for (uint32_t i = 0; i < m->gradients.n; i++)
    if (m->gradients.at[i].grad == v || m->gradients.at[i].indices == v)
      return true;
  return m->loss == v || m->seed == v;
}

void tl_value_move_roles(tl_module *m, tl_value_id from, tl_value_id to) {
  for (uint32_t i = 0; i < m->states.n; i++)
    if (m->states.at[i].output == from)
      m->states.at[i].output = to;
  for (uint32_t i = 0; i < m->gradients.n; i++) {
    if (m->gradients.at[i].grad == from)
      m->gradients.at[i].grad = to;
    if (m->gradients.at[i].indices == from)
      m->gradients.at[i].indices = to;
  }
  if (m->loss == from)
    m->loss = to;
}

tl_node_id tl_list_maker(const tl_module *m, tl_value_id v) {
  tl_node_id n = v ? tl_value_producer(m, v) : TL_NO_NODE;
  return n && tl_node_get(m, n)->op == TL_OP_SequenceConstruct ? n : TL_NO_NODE;
}

bool tl_value_leaves_graph(const tl_module *m, tl_value_id v) {
  tl_node_id ret = tl_graph_get(m, tl_value_graph(m, v))->ret;
  TL_FOR_USES(m, v, u)
    if (tl_use_get(m, u)->user == ret)
      return true;
  return false;
}

/* ---- merging --------------------------------------------------------------------------------- */

/* Notes that a body of `owner` has a value named like v. All bodies of one node count as one. */
static bool note_name(tl_merge_facts *facts, const tl_module *m, tl_node_id owner, tl_value_id v) {
  tl_symbol name = v ? tl_value_get(m, v)->name : 0;
  uint32_t only = owner;
  if (!name)
    return true;
  if (tl_map_find(&facts->body_names, tl_map_pair(TL_NO_NODE, name), &only) && only != owner)
    only = TL_NO_NODE;
  return tl_map_set(&facts->body_names, tl_map_pair(TL_NO_NODE, name), only) &&
         tl_map_set(&facts->body_names, tl_map_pair(owner, name), 1);
}

/* Notes the names of all inputs, constants and results of a body. */
static bool note_body(tl_merge_facts *facts, const tl_module *m, const tl_graph *g) {
  bool ok = true;
  for (uint32_t i = 0; i < g->inputs.n && ok; i++)
    ok = note_name(facts, m, g->owner, g->inputs.at[i]);
  for (uint32_t i = 0; i < g->constants.n && ok; i++)
    ok = note_name(facts, m, g->owner, g->constants.at[i]);
  TL_FOR_NODES(m, g, n)
    for (uint32_t i = 0; i < tl_node_get(m, n)->n_results && ok; i++)
      ok = note_name(facts, m, g->owner, tl_node_get(m, n)->results + i);
  return ok;
}

/* Names matter for bodies only: without bodies no name can hide another. */
tl_status tl_merge_facts_find(tl_pass *p, const tl_module *m, tl_merge_facts *out) {
  bool ok = true;
  *out = (tl_merge_facts){.pinned = {NULL, 0, NULL}};
  TL_TRY(tl_pinned_find(p, m, &out->pinned));
  out->pinned.newer = &out->newer;
  for (uint32_t i = 0; i < m->graphs.n && ok; i++)
    if (m->graphs.at[i]->kind == TL_GRAPH_BODY && !m->graphs.at[i]->erased)
      ok = note_body(out, m, m->graphs.at[i]);
  if (ok)
    return TL_OK;
  tl_merge_facts_release(out);
  return tl_no_memory(m);
}

void tl_merge_facts_release(tl_merge_facts *facts) {
  tl_map_release(&facts->newer);
  tl_map_release(&facts->body_names);
}

/* Returns true if a user of v could not refer to it as `name` from graph `home`: a node with bodies
 * around that user has a value of that name, which would hide v. */
static bool is_hidden(const tl_module *m, const tl_merge_facts *facts, tl_value_id v,
                      tl_graph_id home, tl_symbol name) {
  TL_FOR_USES(m, v, u) {
    tl_graph_id g = tl_node_get(m, tl_use_get(m, u)->user)->graph;
    while (g != home) {
      tl_node_id owner = tl_graph_get(m, g)->owner;
      if (tl_map_find(&facts->body_names, tl_map_pair(owner, name), NULL))
        return true;
      g = tl_node_get(m, owner)->graph;
    }
  }
  return false;
}

/* Returns the name of `to` after the merge. */
static tl_symbol merged_name(const tl_module *m, tl_value_id from, tl_value_id to) {
  tl_symbol name = tl_value_get(m, to)->name;
  bool same_graph = tl_value_graph(m, from) == tl_value_graph(m, to);
  bool takes_over = same_graph && (name == 0 || tl_value_leaves_graph(m, from));
  return takes_over && tl_value_get(m, from)->name ? tl_value_get(m, from)->name : name;
}

/* Returns true if all names resolve to the same values after the merge. */
static bool names_allow(const tl_module *m, const tl_merge_facts *facts, tl_value_id from,
                        tl_value_id to) {
  if (tl_map_count(&facts->body_names) == 0)
    return true;
  tl_graph_id home = tl_value_graph(m, to);
  tl_symbol name = merged_name(m, from, to);
  tl_node_id owner = tl_graph_get(m, home)->owner;
  uint32_t only = owner;
  tl_map_find(&facts->body_names, tl_map_pair(TL_NO_NODE, name), &only);
  if (name != tl_value_get(m, to)->name && only != owner)
    return false; /* another node's body has this name; `to` might come to enclose it */
  return !name || !is_hidden(m, facts, from, home, name);
}

/* A value that leaves the graph needs a target that can carry its name: in the same graph, no
 * input, and not itself an output. */
bool tl_value_can_merge(const tl_module *m, const tl_merge_facts *facts, tl_value_id from,
                        tl_value_id to) {
  if (tl_is_pinned(&facts->pinned, from) || tl_is_pinned(&facts->pinned, to))
    return false;
  if (!tl_value_leaves_graph(m, from))
    return names_allow(m, facts, from, to);
  return tl_value_graph(m, from) == tl_value_graph(m, to) &&
         tl_value_get(m, to)->kind != TL_VALUE_INPUT && !tl_value_leaves_graph(m, to) &&
         names_allow(m, facts, from, to);
}

void tl_value_merge(tl_module *m, tl_value_id from, tl_value_id to) {
  tl_value *old = tl_value_get(m, from);
  tl_value *kept = tl_value_get(m, to);
  tl_symbol name = merged_name(m, from, to);
  if (name != kept->name) {
    kept->name = name;
    old->name = 0;
  }
  if (kept->type == TL_NO_TYPE ||
      (kept->kind == TL_VALUE_RESULT && !tl_type_is_static(m, kept->type) &&
       tl_type_is_static(m, old->type)))
    kept->type = old->type;
  tl_value_replace_uses(m, from, to);
}

/* ---- finding --------------------------------------------------------------------------------- */

static bool is_named(const tl_module *m, tl_value_id v, tl_symbol name) {
  return v && tl_value_get(m, v)->name == name;
}

/* A name that was never interned cannot belong to a value. */
tl_value_id tl_graph_find_value(const tl_module *m, const tl_graph *g, tl_sv name) {
  tl_symbol s = tl_symbol_find(&m->symbols, name);
  if (s == TL_NO_SYMBOL || s == 0)
    return TL_NO_VALUE;
  for (uint32_t i = 0; i < g->inputs.n; i++)
    if (is_named(m, g->inputs.at[i], s))
      return g->inputs.at[i];
  for (uint32_t i = 0; i < g->constants.n; i++)
    if (is_named(m, g->constants.at[i], s))
      return g->constants.at[i];
  TL_FOR_NODES(m, g, n)
    for (uint32_t i = 0; i < tl_node_get(m, n)->n_results; i++)
      if (is_named(m, tl_node_get(m, n)->results + i, s))
        return tl_node_get(m, n)->results + i;
  return TL_NO_VALUE;
}

void tl_nearest_try(tl_nearest *near, tl_sv candidate) {
  if (candidate.n == 0 || near->distance <= 1)
    return;
  size_t d = tl_edit_distance(near->wanted, candidate, near->distance - 1);
  if (d < near->distance) {
    near->distance = d;
    near->found = candidate;
  }
}

/* Unknown parts of one type take the facts of the other; two static dims must be equal. A static
 * dim wins over a symbol, the old symbol over the new one. */
bool tl_type_refine(tl_module *m, tl_type_id old, tl_type_id new, tl_type_id *out) {
  const tl_type *a = tl_type_get(m, old), *b = tl_type_get(m, new);
  *out = old ? old : new;
  if (!old || !new || old == new || a->kind != TL_KIND_TENSOR || b->kind != TL_KIND_TENSOR)
    return !old || !new || a->kind == b->kind;
  if (a->dtype && b->dtype && a->dtype != b->dtype)
    return false;
  if (a->rank < 0 || b->rank < 0) {
    *out = a->rank < 0 ? new : old;
    return true;
  }
  if (a->rank != b->rank)
    return false;
  tl_dim dims[TL_MAX_RANK];
  for (int i = 0; i < a->rank; i++) {
    if (tl_dim_is_static(a->dims[i]) && tl_dim_is_static(b->dims[i]) && a->dims[i] != b->dims[i])
      return false;
    dims[i] = tl_dim_is_static(b->dims[i]) || a->dims[i] == TL_DIM_UNKNOWN ? b->dims[i]
                                                                           : a->dims[i];
  }
  *out = tl_type_tensor(m, a->dtype ? (tl_dtype)a->dtype : (tl_dtype)b->dtype, a->rank, dims);
  return *out != TL_NO_TYPE;
}
