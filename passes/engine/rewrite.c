/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates, rounds and the worklist of the rule engine (rewrite.h). */
#include "passes/engine/rewrite.h"

#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/engine/build.h"
#include "passes/engine/explain.h"
#include "passes/engine/image.h"
#include "passes/engine/index.h"
#include "passes/engine/match.h"
#include "passes/engine/question.h"
#include "passes/engine/tally.h"
#include "passes/fold/fold.h"
#include "support/measure.h"

/* Upper bound on values visited upwards from one changed value. */
enum { MOST_NEIGHBOURS = 64 };

/* Upper bound on rewrites per run: per node of the module, and in any case. Terminating rule sets
 * stay far below it; a diverging set reaches it within a few rounds and is reported. */
enum { REWRITES_A_NODE = 32, REWRITES_AT_LEAST = 10000 };

/* A match found in a sweep; matched again before it is applied. */
typedef struct candidate {
  tl_rule *rule;
  bool counted; /* already counted as a match in the statistics */
  tl_node_id node;
  uint64_t position; /* order label of the node when it was found */
} candidate;

TL_VEC(candidate_vec, candidate);

/* State of one run. */
typedef struct engine {
  const tl_rewriter *r;
  tl_module *m;
  tl_rule_index index;
  tl_merge_facts facts;
  candidate_vec candidates;
  tl_u32_vec changed; /* worklist of the next round, each node once */
  uint8_t *marks;     /* owned, by node id: 1 + levels of users still to visit from there; 0: not in
                       * the worklist */
  uint32_t n_marks;
  tl_arena scratch; /* memory of one match; rewound after it */
  tl_match match;
  bool sweep; /* first sweep over all nodes: all matches are counted */
  bool no_memory;
  bool stopped;           /* the rewrite limit or the budget is exhausted */
  uint64_t budget;        /* rewrites left in this run */
  const tl_rule **takers; /* by node id: the rule that replaced it; NULL: not wanted */
  uint32_t n_takers;
  tl_u32_vec weights; /* new nodes that compute with constants only */
  bool sized;         /* some replacement computes with symbolic sizes */
  tl_tallies tallies;
} engine;

static tl_status state_of(const engine *e) {
  return e->no_memory || e->r->set->lost ? tl_no_memory(e->m) : TL_OK;
}

/* ---- matching ------------------------------------------------------------------------------- */

/* Prepares the match structure, matches and checks that the match is closed. */
static bool matches(engine *e, tl_rule *rule, tl_node_id n, tl_miss *miss) {
  tl_match *match = &e->match;
  match->set = e->r->set;
  match->rule = rule;
  match->m = e->m;
  match->scratch = &e->scratch;
  match->facts = &e->facts;
  match->scopes = e->r->scopes;
  match->miss = miss;
  if (e->r->wants && !e->r->wants(e->r->user, n)) {
    match->structural = false;
    return false;
  }
  if (!tl_rule_complete(e->r->set, rule)) {
    match->structural = false;
    e->no_memory = true;
    return false;
  }
  return tl_rule_match(match, n) && tl_match_is_closed(match);
}

/* Counts for fusion_result.json: in the sweep, patterns that match, whatever their conditions;
 * later only matches that take effect. */
static void count(engine *e, const tl_rule *rule, uint32_t matched, uint32_t effective) {
  tl_fusion_stats *stats = e->r->pass->fusions;
  if (stats && rule->pass_kind != TL_FUSION_CLEANUP &&
      tl_fusion_stats_add(stats, &(tl_fusion_event){(tl_fusion_kind)rule->pass_kind,
                                                    tl_sym(e->m, rule->pass), matched, effective, 0,
                                                    0}) != TL_OK)
    e->no_memory = true;
}

/* Returns the time if times are wanted; else 0. */
static uint64_t clock_of(const engine *e) {
  return e->tallies.watch && e->tallies.watch->times ? tl_now_ns() : 0;
}

/* Matches as consider() does, and counts. */
static bool matches_counted(engine *e, tl_rule *rule, tl_node_id n) {
  tl_miss miss = {0};
  uint64_t start = clock_of(e);
  if (e->r->wants && !e->r->wants(e->r->user, n))
    return matches(e, rule, n, NULL);
  bool fits = matches(e, rule, n, &miss);
  tl_tally_try(&e->tallies, rule, e->match.structural,
               fits        ? NULL
               : miss.code ? miss.code
                           : "OPERANDS");
  if (start)
    tl_tally_time(&e->tallies, rule, start);
  return fits;
}

static void consider(void *user, tl_node_id n, tl_rule *rule) {
  engine *e = user;
  tl_arena_mark mark = tl_arena_save(&e->scratch);
  bool fits = e->tallies.watch ? matches_counted(e, rule, n) : matches(e, rule, n, NULL);
  bool counts = e->sweep && tl_rule_fuses(rule); /* of clean-up rules only effects are counted */
  if (counts && e->match.structural)
    count(e, rule, 1, 0);
  if (fits && !candidate_vec_push(&e->candidates,
                                  (candidate){rule, counts, n, tl_node_get(e->m, n)->order}))
    e->no_memory = true;
  tl_arena_rewind(&e->scratch, mark);
}

static int by_precedence(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->rule->priority != y->rule->priority)
    return x->rule->priority < y->rule->priority ? -1 : 1;
  if (x->rule->index != y->rule->index)
    return x->rule->index < y->rule->index ? -1 : 1;
  if (x->position == y->position)
    return (x->rule->spelling > y->rule->spelling) - (x->rule->spelling < y->rule->spelling);
  return (x->position > y->position) - (x->position < y->position);
}

/* ---- what to look at again ------------------------------------------------------------------- */

static bool grow_marks(engine *e) {
  uint32_t n = tl_module_node_end(e->m) + tl_module_node_end(e->m) / 4 + 64;
  uint8_t *marks = realloc(e->marks, n);
  if (!marks)
    return false;
  memset(marks + e->n_marks, 0, n - e->n_marks);
  e->marks = marks;
  e->n_marks = n;
  return true;
}

/* Adds a node to the worklist. Returns false if it was visited from at least as far before. */
static bool note_changed(engine *e, tl_node_id n, uint8_t left) {
  if (n >= e->n_marks && !grow_marks(e)) {
    e->no_memory = true;
    return false;
  }
  uint8_t before = e->marks[n];
  if (before > left)
    return false;
  e->marks[n] = (uint8_t)(left + 1);
  if (!before && !tl_u32_vec_push(&e->changed, n))
    e->no_memory = true;
  return true;
}

/* Adds the users of v, as many levels up as the deepest rule: a pattern that contains v has its
 * root among them. Breadth first. */
static void note_users(engine *e, tl_value_id first) {
  tl_value_id queue[MOST_NEIGHBOURS];
  uint8_t left[MOST_NEIGHBOURS];
  uint32_t n = 1;
  queue[0] = first;
  left[0] = e->index.depth;
  for (uint32_t i = 0; i < n; i++) {
    TL_FOR_USES(e->m, queue[i], u) {
      tl_node_id user = tl_use_get(e->m, u)->user;
      const tl_node *node = tl_node_get(e->m, user);
      if (node->op == TL_OP_RETURN || !note_changed(e, user, left[i]) || left[i] == 0 ||
          n == MOST_NEIGHBOURS || node->n_results == 0)
        continue;
      left[n] = (uint8_t)(left[i] - 1);
      queue[n++] = node->results;
    }
  }
}

/* Adds the users of a value that has lost users: it may now be an inner value of another match. */
static void note_loss(engine *e, tl_value_id v) {
  if (tl_value_get(e->m, v)->n_uses <= 2)
    note_users(e, v);
}

static void note_operands(engine *e, const tl_match *match) {
  for (uint8_t v = 0; v < match->rule->n_values; v++)
    if ((match->bound >> v & 1) && match->rule->values[v].node == TL_RULE_NODES && match->values[v])
      note_loss(e, match->values[v]);
}

static bool is_unused(const engine *e, tl_node_id n) {
  const tl_node *node = tl_node_get(e->m, n);
  if (!tl_op_row(node->op) || node->control_in || node->control_out ||
      tl_op_has_trait(node->op, TL_TRAIT_EFFECT | TL_TRAIT_STATEFUL | TL_TRAIT_BODY))
    return false;
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_value_get(e->m, node->results + i)->n_uses ||
        tl_is_pinned(&e->facts.pinned, node->results + i))
      return false;
  return true;
}

/* Erases nodes that became unused, transitively: their uses would keep rules from matching. */
static void erase_unused(engine *e, tl_value_id first) {
  tl_u32_vec values = {0};
  bool pushed = tl_u32_vec_push(&values, first);
  while (pushed && values.n) {
    tl_value_id v = values.at[--values.n];
    tl_node_id n = tl_value_producer(e->m, v);
    if (!n)
      continue;
    if (!is_unused(e, n)) {
      if (v != first)
        note_loss(e, v);
      continue;
    }
    for (uint32_t i = 0; pushed && i < tl_node_get(e->m, n)->n_operands; i++)
      pushed = !tl_operand(e->m, n, i) || tl_u32_vec_push(&values, tl_operand(e->m, n, i));
    if (pushed)
      tl_node_erase(e->m, n);
  }
  e->no_memory = e->no_memory || !pushed;
  tl_u32_vec_release(&values);
}

/* Erases unused operands of a match at once after a clean-up rule. */
static void erase_operands(engine *e, const tl_match *match) {
  if (e->r->kind != TL_RULE_CLEANUP || !e->r->pass->options->remove_dead)
    return;
  for (uint8_t v = 0; v < match->rule->n_values; v++)
    if ((match->bound >> v & 1) && match->rule->values[v].node == TL_RULE_NODES && match->values[v])
      erase_unused(e, match->values[v]);
}

/* Returns true if all operands are constants or have contents that inference knows. */
static bool computes_constants(const tl_module *m, tl_node_id n) {
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(m, n, i);
    const tl_value *value = tl_value_get(m, v);
    if (v && (!value->tensor || value->kind == TL_VALUE_INPUT))
      return false;
  }
  return tl_node_get(m, n)->n_operands > 0;
}

/* Keeps the sizes of new Shape nodes for inference; not in expansions, which often grow when
 * folded. */
static void note_sizes(engine *e, tl_node_id n) {
  if (e->r->kind >= TL_RULE_EXPAND || tl_node_get(e->m, n)->op != TL_OP_Shape)
    return;
  e->no_memory = tl_infer_keep_sizes(e->m, n) != TL_OK || e->no_memory;
  e->sized = e->sized || !tl_value_get(e->m, tl_result(e->m, n, 0))->tensor;
}

static void note_built(engine *e, const tl_built *b) {
  for (uint32_t i = 0; i < b->n_nodes; i++) {
    (void)note_changed(e, b->nodes[i], 0);
    note_sizes(e, b->nodes[i]);
    if (computes_constants(e->m, b->nodes[i]) && !tl_u32_vec_push(&e->weights, b->nodes[i]))
      e->no_memory = true;
  }
  for (uint32_t i = 0; i < b->n_outputs; i++) {
    tl_node_id made = tl_value_producer(e->m, b->outputs[i]);
    if (made)
      (void)note_changed(e, made, 0);
    note_users(e, b->outputs[i]);
  }
}

/* ---- explanations ---------------------------------------------------------------------------- */

/* Notes which rule replaced the nodes, to explain overlapping matches. */
static void note_taken(engine *e) {
  const tl_match *match = &e->match;
  for (uint8_t i = 0; e->takers && i < match->rule->n_match; i++)
    if (tl_match_has_node(match, i) && match->nodes[i] < e->n_takers)
      e->takers[match->nodes[i]] = match->rule;
}

static void explain_overlap(engine *e, const candidate *c) {
  const tl_rule *taker = c->node < e->n_takers ? e->takers[c->node] : NULL;
  if (!taker || taker->pass == c->rule->pass)
    return;
  tl_buf text;
  tl_buf_init(&text);
  tl_sv root = tl_node_where(e->m, c->node).node;
  tl_sv pass = tl_sym(e->m, taker->pass), name = tl_sym(e->m, taker->name);
  tl_buf_printf(&text, "`%.*s` went into %.*s", TL_SV_ARG(root), TL_SV_ARG(pass));
  if (taker->pass != taker->name)
    tl_buf_printf(&text, "/%.*s", TL_SV_ARG(name));
  tl_miss miss = {.code = "OVERLAP", .text = &text, .nodes = {c->node}};
  tl_rule_remark_missed(e->r->pass, e->m, c->rule, c->node, &miss);
  tl_buf_release(&text);
}

/* ---- rounds --------------------------------------------------------------------------------- */

/* Takes one rewrite from the budget; warns when it is exhausted. */
static void spend(engine *e, const tl_rule *rule) {
  if (--e->budget)
    return;
  e->stopped = true;
  tl_sv name = tl_sym(e->m, rule->name);
  tl_warn_code(e->m->diag, "W_FUSION_BUDGET", TL_AT_FILE(e->m->path),
               "rewriting does not terminate and was stopped; the last rule was "
               "'%.*s'\v--fusion=%.*s:off switches that rule off",
               TL_SV_ARG(name), TL_SV_ARG(name));
}

/* Counts that a candidate was not applied. */
static void refuse(engine *e, const candidate *c, const char *code) {
  if (e->tallies.watch)
    tl_tally_refuse(&e->tallies, c->rule, code);
}

static tl_status apply_match(engine *e, const candidate *c, tl_miss *miss, uint64_t start) {
  tl_built built;
  bool done;
  tl_sv names[TL_RULE_NODES];
  tl_node_id taken[TL_RULE_NODES];
  uint32_t n = 0;
  for (uint8_t i = 0; i < c->rule->n_match; i++)
    taken[i] = tl_match_has_node(&e->match, i) ? e->match.nodes[i] : TL_NO_NODE;
  if (e->r->pass->remark)
    n = tl_rule_list_nodes(e->m, c->rule, taken, names);
  note_taken(e);
  tl_edit_log_begin(e->r->pass->log);
  TL_TRY(tl_match_apply(&e->match, &built, &done));
  if (!done) {
    if (miss && miss->code && e->r->pass->explain)
      tl_rule_remark_missed(e->r->pass, e->m, c->rule, c->node, miss);
    refuse(e, c, miss && miss->code ? miss->code : "OPERANDS");
    return TL_OK;
  }
  (void)tl_pass_may_rewrite(e->r->pass); /* counts the rewrite; apply() checked the limit */
  spend(e, c->rule);
  if (e->r->pass->remark)
    tl_rule_remark_applied(e->r->pass, e->m, c->rule, names, n, &built);
  if (e->tallies.watch)
    tl_tally_fire(&e->tallies, e->r->pass, c->rule, start);
  count(e, c->rule, !c->counted, 1);
  note_built(e, &built);
  note_operands(e, &e->match);
  erase_operands(e, &e->match);
  return TL_OK;
}

static tl_status apply(engine *e, const candidate *c) {
  uint64_t start = clock_of(e);
  if (tl_node_get(e->m, c->node)->op == TL_OP_ERASED) {
    if (e->takers)
      explain_overlap(e, c);
    refuse(e, c, "OVERLAP");
    return TL_OK;
  }
  tl_buf text;
  tl_buf_init(&text);
  tl_miss miss = {.text = e->r->pass->explain ? &text : NULL};
  tl_miss *asked = e->r->pass->explain || e->tallies.watch ? &miss : NULL;
  tl_status status = TL_OK;
  if (!matches(e, c->rule, c->node, asked)) {
    refuse(e, c, miss.code ? miss.code : "OPERANDS");
  } else if (*e->r->pass->rewrites >= e->r->pass->limit) {
    refuse(e, c, "LIMIT");
    e->stopped = true;
  } else {
    miss.code = NULL; /* reasons of choices that failed before the one that fits */
    status = apply_match(e, c, asked, start);
  }
  if (start)
    tl_tally_time(&e->tallies, c->rule, start);
  tl_buf_release(&text);
  return status;
}

static tl_status apply_candidates(engine *e) {
  if (e->candidates.n)
    qsort(e->candidates.at, e->candidates.n, sizeof *e->candidates.at, by_precedence);
  for (uint32_t i = 0; i < e->candidates.n; i++) {
    if (e->stopped) {
      refuse(e, &e->candidates.at[i], "LIMIT");
      continue;
    }
    tl_arena_mark mark = tl_arena_save(&e->scratch);
    tl_status status = apply(e, &e->candidates.at[i]);
    tl_arena_rewind(&e->scratch, mark);
    if (status != TL_OK)
      return status;
  }
  return state_of(e);
}

static int by_id(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* Sorts changed nodes by id, which is close to their order in memory. Long lists are read off the
 * marks; short ones are sorted. */
static void sort_changed(engine *e, tl_u32_vec *nodes) {
  if (nodes->n < e->n_marks / 64) {
    if (nodes->n) /* an empty list may have no array */
      qsort(nodes->at, nodes->n, sizeof *nodes->at, by_id);
    return;
  }
  uint32_t found = 0;
  for (uint32_t n = 0; n < e->n_marks && found < nodes->n; n++)
    if (e->marks[n])
      nodes->at[found++] = n;
}

/* Finds the candidates at the nodes of the worklist. */
static void find_again(engine *e) {
  tl_u32_vec nodes = e->changed;
  e->changed = (tl_u32_vec){0};
  e->candidates.n = 0;
  sort_changed(e, &nodes);
  for (uint32_t i = 0; i < nodes.n; i++) {
    e->marks[nodes.at[i]] = 0;
    if (tl_node_get(e->m, nodes.at[i])->op != TL_OP_ERASED)
      tl_rule_index_visit(&e->index, e->m, nodes.at[i], consider, e);
  }
  tl_u32_vec_release(&nodes);
}

/* Sweeps one graph, then applies and looks again until nothing changes or a bound is reached. */
static tl_status rewrite_graph(engine *e, const tl_graph *g) {
  e->candidates.n = 0;
  for (uint32_t i = 0; i < e->changed.n; i++)
    e->marks[e->changed.at[i]] = 0;
  e->changed.n = 0;
  e->sweep = true;
  TL_FOR_NODES(e->m, g, n)
    tl_rule_index_visit(&e->index, e->m, n, consider, e);
  e->sweep = false;
  for (uint32_t round = 0; e->candidates.n && !e->stopped; round++) {
    TL_TRY(apply_candidates(e));
    if (e->weights.n && e->r->kind != TL_RULE_DEFINE) /* later rules need them as constants */
      TL_TRY(tl_fold_from(e->r->pass, e->m, &e->weights));
    e->weights.n = 0;
    if (round >= e->r->rounds)
      break;
    find_again(e);
  }
  return state_of(e);
}

/* ---- run ------------------------------------------------------------------------------------ */

/* Infers the module again if symbolic sizes are involved, since one node alone does not determine
 * their types. Errors are ignored: the model would meet them when it runs. */
static tl_status infer_sized(engine *e) {
  tl_muted muted;
  if (!e->sized)
    return TL_OK;
  tl_mute(&muted, e->m, NULL, NULL);
  tl_status status = tl_infer_module(e->m);
  tl_unmute(&muted);
  return status == TL_NO_MEMORY ? tl_no_memory(e->m) : TL_OK;
}

static tl_status rewrite_module(engine *e) {
  uint32_t graphs = e->m->graphs.n; /* rules create no graphs */
  for (uint32_t i = 0; i < graphs && !e->stopped; i++) {
    const tl_graph *g = e->m->graphs.at[i];
    if (g->erased)
      continue;
    TL_TRY(rewrite_graph(e, g));
  }
  return infer_sized(e);
}

static tl_status run(engine *e) {
  if (e->r->pass->explain) {
    e->n_takers = tl_module_node_end(e->m);
    e->takers = calloc(e->n_takers + 1u, sizeof *e->takers);
    if (!e->takers)
      return tl_no_memory(e->m);
  }
  if (e->r->pass->question)
    TL_TRY(tl_rule_ask(e->r, &e->facts, false));
  TL_TRY(rewrite_module(e));
  if (e->r->pass->question)
    TL_TRY(tl_rule_ask(e->r, &e->facts, true));
  return e->takers && !e->stopped ? tl_rule_explain(e->r, &e->facts) : TL_OK;
}

tl_status tl_rewrite(const tl_rewriter *r) {
  engine e = {.r = r,
              .m = r->m,
              .tallies.watch = r->pass->rules,
              .budget = (uint64_t)tl_module_count_nodes(r->m) * REWRITES_A_NODE +
                        REWRITES_AT_LEAST};
  TL_TRY(tl_rule_index_build(&e.index, r->set, r->kind, false));
  tl_status status = tl_merge_facts_find(r->pass, r->m, &e.facts);
  if (status == TL_OK) {
    tl_arena_init(&e.scratch, 0);
    status = run(&e);
    tl_arena_release(&e.scratch);
    tl_merge_facts_release(&e.facts);
  }
  if (e.tallies.watch) {
    tl_status counted = tl_tallies_end(&e.tallies, r->pass, r->m);
    status = status == TL_OK && counted != TL_OK ? tl_no_memory(r->m) : status;
  }
  tl_rule_index_release(&e.index);
  candidate_vec_release(&e.candidates);
  tl_u32_vec_release(&e.changed);
  tl_u32_vec_release(&e.weights);
  free(e.takers);
  free(e.marks);
  return status;
}
