/* SPDX-License-Identifier: Apache-2.0 */
/* Answers why rules do not take a node. */
#include "passes/engine/question.h"

#include <stdlib.h>

#include "passes/engine/match.h"

/* Bounds on nodes below the one in question that may be roots, and on ops that a reason names. */
enum { MOST_BELOW = 4096, MOST_OPS = 12 };

/* How much an attempt says about the node. */
typedef enum relevance {
  IRRELEVANT,
  BELOW,   /* its root uses the node, directly or through others */
  INVOLVED /* the node is one of those that fit, or the root */
} relevance;

/* The attempt that says most. */
typedef struct best {
  const tl_rule *rule; /* NULL: none yet */
  tl_node_id root;
  relevance relevance;
  bool fits;
  tl_miss miss;
  tl_buf text;
} best;

typedef struct asker {
  tl_rule_trial trial;
  const tl_rule_question *q;
  tl_node_id node;
  uint8_t *below; /* owned; by node id: 1 + distance from the node, 0: not below it */
  best best;
} asker;

bool tl_rule_is_asked(const tl_rule_question *q, const tl_module *m, const char *pass,
                      const tl_rule *rule) {
  return tl_sv_eq(tl_sym(m, rule->pass), q->asked) || tl_sv_eq(tl_sym(m, rule->name), q->asked) ||
         tl_sv_is(q->asked, pass);
}

/* ---- the node -------------------------------------------------------------------------------- */

static bool has_name(tl_module *m, tl_node_id n, tl_sv name) {
  const tl_node *node = tl_node_get(m, n);
  if (node->name ? tl_sv_eq(tl_sym(m, node->name), name) : tl_sv_eq(tl_node_where(m, n).node, name))
    return true;
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_sv_eq(tl_value_name(m, node->results + i), name))
      return true;
  return false;
}

static tl_node_id find_node(tl_module *m, tl_sv name) {
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n)
      if (!tl_node_is_return(m, n) && has_name(m, n, name))
        return n;
  }
  return TL_NO_NODE;
}

/* Marks the nodes that use the node, directly or through others, breadth first. */
static bool find_below(asker *a) {
  const tl_module *m = a->trial.r->m;
  tl_u32_vec queue = {0};
  bool ok = tl_u32_vec_push(&queue, a->node);
  a->below[a->node] = 1;
  for (uint32_t i = 0; ok && i < queue.n && i < MOST_BELOW; i++) {
    const tl_node *node = tl_node_get(m, queue.at[i]);
    uint8_t next = (uint8_t)(a->below[queue.at[i]] + 1);
    for (uint32_t k = 0; k < node->n_results && next <= TL_RULE_NODES; k++)
      TL_FOR_USES(m, node->results + k, u) {
        tl_node_id user = tl_use_get(m, u)->user;
        if (a->below[user] || tl_node_is_return(m, user))
          continue;
        a->below[user] = next;
        ok = ok && tl_u32_vec_push(&queue, user);
      }
  }
  tl_u32_vec_release(&queue);
  return ok;
}

/* ---- attempts -------------------------------------------------------------------------------- */

static bool has_op(const tl_pattern_node *p, tl_op_id op) {
  for (uint8_t i = 0; i < p->n_ops; i++)
    if (p->ops[i] == op)
      return true;
  return false;
}

static bool pattern_has(const tl_rule *rule, tl_op_id op) {
  for (uint8_t i = 0; i < rule->n_match; i++)
    if (has_op(&rule->match[i], op))
      return true;
  return false;
}

static relevance relevance_of(const asker *a, const tl_rule *rule, tl_node_id root,
                              const tl_node_id *nodes) {
  if (root == a->node)
    return INVOLVED;
  for (uint8_t i = 0; i < rule->n_match; i++)
    if (nodes[i] == a->node)
      return INVOLVED;
  return a->below[root] && a->below[root] <= rule->depth + 1 ? BELOW : IRRELEVANT;
}

/* An attempt about the node itself says more than one below it, one that fits says most. */
static bool says_more(const best *b, const tl_rule *rule, relevance r, bool fits,
                      const tl_miss *miss) {
  if (!b->rule || r != b->relevance)
    return !b->rule || r > b->relevance;
  if (fits || b->fits)
    return fits && !b->fits;
  return tl_rule_is_nearer(rule, miss, b->rule, &b->miss);
}

static void keep(best *b, const tl_rule *rule, tl_node_id root, const tl_miss *miss) {
  b->rule = rule;
  b->root = root;
  b->miss = *miss;
  b->miss.text = &b->text;
  tl_buf_clear(&b->text);
  if (miss->text->p)
    tl_buf_add_sv(&b->text, tl_buf_view(miss->text));
}

/* Notes first that a rule is off, then why it does not fit besides. */
static void note_off(const tl_rule *rule, tl_miss *miss) {
  tl_buf both;
  tl_buf_init(&both);
  tl_buf_printf(&both, "the rule is off: %s", rule->off);
  if (miss->text->n)
    tl_buf_printf(&both, "; besides, %s", miss->text->p);
  tl_buf_clear(miss->text);
  tl_buf_add_sv(miss->text, tl_buf_view(&both));
  miss->text->failed = miss->text->failed || both.failed;
  tl_buf_release(&both);
  miss->code = rule->unsupported ? "UNSUPPORTED" : "SWITCH_OFF";
  miss->condition = TL_SV("");
}

/* Notes that the pattern has all its nodes at the root, and the node is none of them. */
static void note_aside(asker *a, tl_node_id root, tl_miss *miss) {
  tl_module *m = a->trial.r->m;
  tl_sv where = tl_node_where(m, root).node, node = tl_node_where(m, a->node).node;
  tl_buf_clear(miss->text);
  tl_buf_printf(miss->text, "the pattern has all its nodes at `%.*s` without `%.*s`",
                TL_SV_ARG(where), TL_SV_ARG(node));
  miss->code = "OP";
  miss->condition = TL_SV("");
  miss->depth = 0;
}

/* Says why a rule that was matched at a root does not fit. A rule that is off is in the way itself,
 * whether it would fit or not. */
static void complete(const asker *a, const tl_rule *rule, bool missed, tl_miss *miss) {
  bool lacks = a->trial.lacks;
  if (!missed && rule->off)
    note_off(rule, miss);
  if (miss->code)
    return;
  miss->code = lacks ? "OPERANDS" : "NPU_FORM";
  tl_buf_add_z(miss->text, lacks ? "the operands of the root do not fit"
                                 : "the node has an NPU form of its own");
}

/* Matches one rule at one root, and keeps the attempt if it says more than the best one. */
static void attempt(asker *a, const tl_rule *rule, tl_node_id root) {
  tl_rule_trial *t = &a->trial;
  tl_buf text;
  tl_buf_init(&text);
  tl_miss miss = {.text = &text};
  bool missed = tl_rule_misses(t, rule, root, &miss);
  bool fits = !missed && !rule->off && t->lacks;
  if (fits)
    memcpy(miss.nodes, t->match.nodes, rule->n_match * sizeof *miss.nodes);
  relevance r = relevance_of(a, rule, root, miss.nodes);
  bool whole = fits || (miss.code && miss.depth >= rule->n_steps);
  if (!fits)
    complete(a, rule, missed, &miss);
  if (r == BELOW && whole) {
    fits = false;
    note_aside(a, root, &miss);
  }
  if (r != IRRELEVANT && says_more(&a->best, rule, r, fits, &miss)) {
    keep(&a->best, rule, root, &miss);
    a->best.relevance = r;
    a->best.fits = fits;
  }
  tl_buf_release(&text);
}

/* Matches a rule at every node that has the op of its root. */
static void try_rule(asker *a, const tl_rule *rule) {
  const tl_rewriter *r = a->trial.r;
  const tl_pattern_node *root = &rule->match[rule->n_match - 1];
  const tl_graph *g = tl_graph_get(r->m, tl_node_get(r->m, a->node)->graph);
  TL_FOR_NODES(r->m, g, n) {
    if (!has_op(root, tl_node_get(r->m, n)->op))
      continue;
    tl_arena_mark mark = tl_arena_save(&a->trial.scratch);
    a->trial.lacks = !r->wants || r->wants(r->user, n);
    attempt(a, rule, n);
    tl_arena_rewind(&a->trial.scratch, mark);
  }
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Adds an op's name, unless it is among the n that were named. Returns their number then. */
static uint32_t add_op(tl_sv op, tl_sv *named, uint32_t n, tl_buf *out) {
  for (uint32_t i = 0; i < n; i++)
    if (tl_sv_eq(named[i], op))
      return n;
  tl_buf_printf(out, "%s%.*s", n ? ", " : "", TL_SV_ARG(op));
  named[n] = op;
  return n + 1;
}

/* Adds the ops of the patterns of rules that were asked about, each once. */
static void add_ops(const asker *a, tl_buf *out) {
  const tl_rewriter *r = a->trial.r;
  tl_sv named[MOST_OPS];
  uint32_t n = 0;
  for (uint32_t i = 0; i < r->set->rules.n; i++) {
    const tl_rule *rule = r->set->rules.at[i];
    if (rule->kind != r->kind || !tl_rule_is_asked(a->q, r->m, r->pass->name, rule))
      continue;
    for (uint8_t k = 0; k < rule->n_match && n < MOST_OPS; k++)
      n = add_op(tl_op_name(r->m, rule->match[k].ops[0]), named, n, out);
  }
  if (n == MOST_OPS)
    tl_buf_add_z(out, " ...");
}

/* Sends what no rule could begin with: a node of this op, or one below it of the op of a root. */
static tl_status answer_without_rule(const asker *a, tl_rule_answer *answer, bool possible) {
  tl_buf text;
  tl_buf_init(&text);
  answer->code = "OP";
  tl_buf_printf(&text,
                possible ? "no node behind this %.*s can be the root of a pattern; they have "
                         : "no pattern has a node of op %.*s; they have ",
                TL_SV_ARG(answer->op));
  add_ops(a, &text);
  answer->reason = text.failed ? "" : text.p;
  tl_status status = text.failed ? TL_NO_MEMORY : a->q->answer(a->q->user, answer);
  tl_buf_release(&text);
  return status;
}

static tl_status send(asker *a, tl_rule_answer *answer, bool possible) {
  tl_module *m = a->trial.r->m;
  const best *b = &a->best;
  tl_sv names[TL_RULE_NODES];
  answer->exists = true;
  answer->node = tl_node_where(m, a->node).node;
  answer->op = tl_op_name(m, tl_node_get(m, a->node)->op);
  if (!b->rule)
    return answer_without_rule(a, answer, possible);
  answer->fusion = tl_sym(m, b->rule->pass);
  answer->rule = tl_sym(m, b->rule->name);
  answer->root = tl_node_where(m, b->root).node;
  answer->code = b->fits ? NULL : b->miss.code;
  answer->reason = b->text.p ? b->text.p : "";
  answer->condition = b->miss.condition;
  answer->nodes = names;
  answer->n_nodes = tl_rule_list_nodes(m, b->rule, b->miss.nodes, names);
  answer->wanted = b->rule->n_match;
  return b->text.failed ? TL_NO_MEMORY : a->q->answer(a->q->user, answer);
}

static tl_status answer_about(asker *a, tl_rule_answer *answer) {
  const tl_rewriter *r = a->trial.r;
  bool possible = false;
  if (!find_below(a))
    return TL_NO_MEMORY;
  for (uint32_t i = 0; i < r->set->rules.n; i++) {
    const tl_rule *rule = r->set->rules.at[i];
    if (rule->kind != r->kind || !tl_rule_is_asked(a->q, r->m, r->pass->name, rule) ||
        !pattern_has(rule, tl_node_get(r->m, a->node)->op))
      continue;
    possible = true;
    try_rule(a, rule);
  }
  return send(a, answer, possible);
}

static bool asks_about(const tl_rewriter *r, const tl_rule_question *q) {
  for (uint32_t i = 0; i < r->set->rules.n; i++)
    if (r->set->rules.at[i]->kind == r->kind &&
        tl_rule_is_asked(q, r->m, r->pass->name, r->set->rules.at[i]))
      return true;
  return false;
}

tl_status tl_rule_ask(const tl_rewriter *r, const tl_merge_facts *facts, bool after) {
  const tl_rule_question *q = r->pass->question;
  if (!asks_about(r, q))
    return TL_OK;
  tl_rule_answer answer = {.pass = r->pass->name, .after = after};
  asker a = {.trial = {.r = r, .facts = facts}, .q = q, .node = find_node(r->m, q->node)};
  tl_status status = TL_OK;
  if (!a.node) {
    status = q->answer(q->user, &answer);
  } else {
    a.below = calloc(tl_module_node_end(r->m) + (size_t)1, 1);
    tl_buf_init(&a.best.text);
    tl_arena_init(&a.trial.scratch, 0);
    status = a.below ? answer_about(&a, &answer) : TL_NO_MEMORY;
    tl_arena_release(&a.trial.scratch);
    tl_buf_release(&a.best.text);
    free(a.below);
  }
  return status == TL_NO_MEMORY ? tl_no_memory(r->m) : status;
}
