/* SPDX-License-Identifier: Apache-2.0 */
/* Finds near misses of rules and sends remarks (explain.h). */
#include "passes/engine/explain.h"

#include "passes/engine/index.h"
#include "passes/engine/match.h"
#include "passes/engine/why.h"

/* Near: at least this share of the pattern is bound. Bound on public passes per node. */
enum { NEAR_PERCENT = 60, MOST_PASSES = 32 };

/* ---- remarks -------------------------------------------------------------------------------- */

uint32_t tl_rule_list_nodes(tl_module *m, const tl_rule *r, const tl_node_id *nodes, tl_sv *names) {
  uint32_t n = 0;
  for (uint8_t i = 0; i < r->n_match; i++)
    if (nodes[i] != TL_NO_NODE)
      names[n++] = tl_node_where(m, nodes[i]).node;
  return n;
}

static tl_fusion_remark about(const tl_module *m, const tl_rule *r, const tl_sv *names,
                              uint32_t n) {
  return (tl_fusion_remark){.fusion = tl_sym(m, r->pass),
                            .rule = tl_sym(m, r->name),
                            .cleanup = !tl_rule_fuses(r),
                            .expand = r->kind == TL_RULE_EXPAND,
                            .numerics = (tl_numerics)r->numerics,
                            .nodes = names,
                            .n_nodes = n,
                            .wanted = r->n_match};
}

void tl_rule_remark_applied(tl_pass *p, tl_module *m, const tl_rule *r, const tl_sv *names,
                            uint32_t n, const tl_built *b) {
  tl_node_id made = b->n_nodes ? b->nodes[b->n_nodes - 1] : TL_NO_NODE;
  tl_fusion_remark f = about(m, r, names, n);
  f.n_made = b->n_nodes;
  f.made = made ? tl_op_name(m, tl_node_get(m, made)->op) : TL_SV("nothing new");
  tl_pass_fusion_remark(p, m, made, &f);
}

void tl_rule_remark_missed(tl_pass *p, tl_module *m, const tl_rule *r, tl_node_id root,
                           const tl_miss *miss) {
  tl_sv names[TL_RULE_NODES];
  tl_fusion_remark f = about(m, r, names, tl_rule_list_nodes(m, r, miss->nodes, names));
  f.code = miss->code;
  f.reason = !miss->text || miss->text->failed || !miss->text->p ? "" : miss->text->p;
  tl_pass_fusion_remark(p, m, root, &f);
}

/* ---- near misses ---------------------------------------------------------------------------- */

/* The nearest rule of one public pass at the current root. */
typedef struct nearest {
  const tl_rule *rule;
  tl_miss miss;
  tl_buf text;
} nearest;

typedef struct explainer {
  tl_rule_trial trial;
  nearest *at; /* [MOST_PASSES] */
  uint32_t n;
} explainer;

/* Returns true if the failed match is worth a remark. Patterns of many nodes need a bound share. A
 * fusion of one node is near if only a condition fails; clean-up rules of one node are never
 * reported; every expansion of a node's op is near. */
static bool is_near(const tl_rule *r, const tl_miss *miss) {
  uint32_t bound = miss->depth < r->n_match ? miss->depth : r->n_match;
  if (r->n_match == 1 && r->kind == TL_RULE_EXPAND)
    return miss->code;
  if (r->n_match == 1 && !tl_rule_fuses(r))
    return false;
  return miss->code && bound > 0 && bound * 100 >= r->n_match * (uint32_t)NEAR_PERCENT;
}

/* Returns true if the rule is worth matching again with one difference: but for it, most of
 * the pattern fits. Rules of users are few, and who writes one wants to know. */
static bool may_differ(const tl_rule *r, const tl_miss *miss) {
  bool most = (r->n_match - 1u) * 100 >= r->n_match * (uint32_t)NEAR_PERCENT;
  return miss->depth < r->n_match && !r->off && tl_rule_fuses(r) && (most || r->custom);
}

bool tl_rule_misses(tl_rule_trial *t, const tl_rule *rule, tl_node_id n, tl_miss *miss) {
  tl_match *match = &t->match;
  const tl_rewriter *r = t->r;
  match->set = r->set;
  match->rule = rule;
  match->m = r->m;
  match->scratch = &t->scratch;
  match->facts = t->facts;
  match->scopes = r->scopes;
  match->miss = miss;
  if (rule->targets == TL_RULE_ORT && rule->off && !r->pass->elsewhere)
    return false; /* the question is about the NPU */
  bool fits = tl_rule_match(match, n);
  if (!fits && may_differ(rule, miss))
    tl_rule_note_difference(match, n);
  if (!fits || !tl_match_is_closed(match))
    return !rule->off && t->lacks;
  if (!rule->off && t->lacks)
    return false;
  miss->code = NULL;
  if (!t->lacks) {
    tl_match_note(match, TL_MISS_BUILT, "NPU_FORM",
                  "the pattern fits, but the node has an NPU form of its own");
    return true;
  }
  tl_match_note(match, TL_MISS_BUILT, rule->unsupported ? "UNSUPPORTED" : "SWITCH_OFF",
                "the pattern fits, but the rule is off: %s", rule->off);
  return true;
}

bool tl_rule_is_nearer(const tl_rule *a, const tl_miss *x, const tl_rule *b, const tl_miss *y) {
  bool whole_x = x->depth >= TL_MISS_CLOSED, whole_y = y->depth >= TL_MISS_CLOSED;
  if (whole_x != whole_y)
    return whole_x;
  return (uint64_t)x->depth * b->n_match > (uint64_t)y->depth * a->n_match;
}

/* Returns the place of the rule among the nearest ones of each public pass; NULL: another one is
 * nearer. */
static nearest *place_of(explainer *e, const tl_rule *rule, const tl_miss *miss) {
  uint32_t i = 0;
  while (i < e->n && e->at[i].rule->pass != rule->pass)
    i++;
  if (i == MOST_PASSES ||
      (i < e->n && !tl_rule_is_nearer(rule, miss, e->at[i].rule, &e->at[i].miss)))
    return NULL;
  e->n += i == e->n;
  return &e->at[i];
}

/* Most misses are not near: the text of one is made by a second match, only when it is kept. */
static void consider(void *user, tl_node_id n, tl_rule *rule) {
  explainer *e = user;
  tl_miss miss = {0};
  tl_arena_mark mark = tl_arena_save(&e->trial.scratch);
  nearest *best = NULL;
  if (tl_rule_misses(&e->trial, rule, n, &miss) && is_near(rule, &miss))
    best = place_of(e, rule, &miss);
  tl_arena_rewind(&e->trial.scratch, mark);
  if (!best)
    return;
  tl_buf_clear(&best->text);
  best->rule = rule;
  best->miss = (tl_miss){.text = &best->text};
  (void)tl_rule_misses(&e->trial, rule, n, &best->miss);
  tl_arena_rewind(&e->trial.scratch, mark);
}

static void explain_node(explainer *e, const tl_rule_index *index, tl_node_id n) {
  e->n = 0;
  const tl_rewriter *r = e->trial.r;
  e->trial.lacks = !r->wants || r->wants(r->user, n);
  tl_rule_index_visit_all(index, r->m, n, consider, e);
  for (uint32_t i = 0; i < e->n; i++)
    tl_rule_remark_missed(r->pass, r->m, e->at[i].rule, n, &e->at[i].miss);
}

static void explain_all(explainer *e, const tl_rule_index *index) {
  tl_module *m = e->trial.r->m;
  uint32_t most = e->trial.r->pass->explain_most, seen = 0;
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n) {
      if (most && seen++ == most)
        return;
      explain_node(e, index, n);
    }
  }
}

tl_status tl_rule_explain(const tl_rewriter *r, const tl_merge_facts *facts) {
  explainer e = {.trial = {.r = r, .facts = facts}};
  tl_rule_index index;
  TL_TRY(tl_rule_index_build(&index, r->set, r->kind, true));
  e.at = calloc(MOST_PASSES, sizeof *e.at);
  if (e.at) {
    tl_arena_init(&e.trial.scratch, 0);
    explain_all(&e, &index);
    tl_arena_release(&e.trial.scratch);
  }
  for (uint32_t i = 0; e.at && i < MOST_PASSES; i++)
    tl_buf_release(&e.at[i].text);
  bool ok = e.at != NULL;
  free(e.at);
  tl_rule_index_release(&index);
  return ok ? TL_OK : tl_no_memory(r->m);
}
