/* SPDX-License-Identifier: Apache-2.0 */
/* Finds rules by two automata, of compiled rules and of those that were parsed (index.h). */
#include "passes/engine/index.h"

#include <stdlib.h>

#include "passes/engine/image.h"
#include "passes/engine/lazy.h"

static bool takes_part(const tl_rule_index *index, const tl_rule *r) {
  return r->kind == index->kind && (index->all || !r->off);
}

/* Puts parsed rules that no index had before into the automaton of the set. */
static bool add_parsed(tl_rule_index *index, tl_ruleset *set) {
  bool ok = true;
  for (uint32_t i = 0; ok && i < set->rules.n; i++) {
    tl_rule *r = set->rules.at[i];
    if (r->image)
      r->leaf = (uint32_t)(r->image - tl_rule_images) + 1;
    if (r->leaf || !takes_part(index, r))
      continue;
    if (!set->automaton && (set->automaton = tl_automaton_begin()) == NULL)
      return false;
    uint32_t number = tl_n_rule_images + set->n_leaves + 1;
    ok = tl_automaton_add(set->automaton, set->m, r, number);
    if (ok) {
      r->leaf = number;
      set->n_leaves++;
    }
  }
  return ok && (!set->automaton || tl_automaton_finish(set->automaton));
}

static void place_rules(tl_rule_index *index) {
  for (uint32_t i = 0; i < index->set->rules.n; i++) {
    const tl_rule *r = index->set->rules.at[i];
    if (!takes_part(index, r))
      continue;
    index->places[r->leaf] = i + 1;
    index->has_parsed = index->has_parsed || !r->image;
    if (r->depth > index->depth)
      index->depth = r->depth;
  }
}

tl_status tl_rule_index_build(tl_rule_index *index, tl_ruleset *set, tl_rule_kind kind, bool all) {
  *index = (tl_rule_index){.set = set, .kind = (uint8_t)kind, .all = all};
  bool ok = add_parsed(index, set);
  index->n_leaves = tl_n_rule_images + set->n_leaves + 1;
  bool wanted = set->rules.n > 0; /* a lazy set may have nothing to place */
  index->places = ok && wanted ? calloc(index->n_leaves, sizeof *index->places) : NULL;
  if (!ok || (wanted && !index->places)) {
    tl_rule_index_release(index);
    return tl_no_memory(set->m);
  }
  index->depth = tl_lazy_depth(set, kind);
  place_rules(index);
  if (index->has_parsed)
    index->parsed = tl_automaton_tables(set->automaton);
  return TL_OK;
}

void tl_rule_index_release(tl_rule_index *index) {
  free(index->places);
  *index = (tl_rule_index){0};
}

/* ---- visits ---------------------------------------------------------------------------------- */

typedef struct visit {
  tl_rule_index *index;
  tl_node_id node;
  tl_rule_visit fn;
  void *user;
} visit;

/* Returns the rule of a leaf; NULL if the set lacks it or it does not take part. */
static tl_rule *rule_of(const tl_rule_index *index, const tl_automaton_leaf *leaf) {
  uint32_t place = index->places ? index->places[leaf->rule] : 0;
  if (place)
    return index->set->rules.at[place - 1];
  if (leaf->rule > tl_n_rule_images)
    return NULL;
  tl_rule *r = tl_lazy_rule(index->set, leaf->rule - 1);
  return r && (index->all || !r->off) ? r : NULL;
}

/* Hands the rule of a leaf on, unless it came already in this visit. */
static void visit_leaf(void *user, const tl_automaton_leaf *leaf) {
  visit *v = user;
  tl_rule *r = rule_of(v->index, leaf);
  if (!r)
    return;
  if (r->visit == v->index->set->n_visits)
    return;
  r->visit = v->index->set->n_visits;
  v->fn(v->user, v->node, r);
}

void tl_rule_index_visit(tl_rule_index *index, const tl_module *m, tl_node_id n, tl_rule_visit fn,
                         void *user) {
  visit v = {index, n, fn, user};
  index->set->n_visits++;
  if (tl_n_rule_images)
    tl_automaton_walk(&tl_image_automaton, index->kind, m, n, visit_leaf, &v);
  if (index->has_parsed)
    tl_automaton_walk(&index->parsed, index->kind, m, n, visit_leaf, &v);
}

/* Returns true if the root of a rule may have this op; a rule without parts has its ops in a
 * table. */
static bool has_root(const tl_rule *r, tl_op_id op) {
  const tl_op_id *ops = r->bare ? &tl_image_ops[r->image->root_ops] : r->match[r->n_match - 1].ops;
  uint32_t n = r->bare ? r->image->n_root_ops : r->match[r->n_match - 1].n_ops;
  for (uint32_t i = 0; i < n; i++)
    if (ops[i] == op)
      return true;
  return false;
}

void tl_rule_index_visit_all(const tl_rule_index *index, const tl_module *m, tl_node_id n,
                             tl_rule_visit fn, void *user) {
  for (uint32_t i = 0; i < index->set->rules.n; i++) {
    tl_rule *r = index->set->rules.at[i];
    if (takes_part(index, r) && has_root(r, tl_node_get(m, n)->op))
      fn(user, n, r);
  }
}
