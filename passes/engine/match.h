/* SPDX-License-Identifier: Apache-2.0 */
/* Matching: does the pattern of a rule fit at a node, do its conditions hold, and if not, why? A
 * match binds values, nodes and names of the rule. Nothing here changes the module. */
#ifndef TL_PASSES_ENGINE_MATCH_H
#define TL_PASSES_ENGINE_MATCH_H

#include "passes/engine/rule.h"

/* The reason of a failed match that got farthest. */
typedef struct tl_miss {
  uint32_t depth;                  /* nodes bound and conditions passed; larger is nearer */
  const char *code;                /* code of the reason: "MULTI_CONSUMER", "ATTR" ... */
  tl_buf *text;                    /* NULL: nobody asks why */
  tl_node_id nodes[TL_RULE_NODES]; /* nodes bound then, by pattern node */
} tl_miss;

enum {
  TL_MISS_CLOSED = 1000,
  TL_MISS_BUILT = 2000
}; /* depths of reasons behind all nodes and
                                                       * conditions */

/* A match, or an attempt. */
typedef struct tl_match {
  const tl_ruleset *set;
  const tl_rule *rule;
  tl_module *m;
  tl_arena *scratch;
  const tl_merge_facts *facts; /* needed for applying; NULL: matching only */
  struct tl_scopes *scopes;    /* scopes of nodes; NULL: rules do not ask for them */
  uint32_t scope;              /* scope that the rule accepted, of a closed match */
  tl_node_id root;
  tl_miss *miss;                      /* NULL: nobody asks why */
  uint64_t bindings;                  /* attempts so far; bounded against hostile graphs */
  tl_value_id values[TL_RULE_VALUES]; /* TL_NO_VALUE: not bound, or absent (see bound) */
  tl_node_id nodes[TL_RULE_NODES];
  tl_rv names[TL_RULE_NAMES];
  uint32_t rest_from[TL_RULE_VALUES];   /* first operand slot of a list ... */
  uint32_t rest_n[TL_RULE_VALUES];      /* ... and its length ... */
  tl_node_id rest_node[TL_RULE_VALUES]; /* ... at this node */
  uint64_t bound;                       /* bits of values */
  uint32_t named;                       /* bits of names */
  uint64_t skipped;                     /* bits of optional nodes that are absent */
  bool structural;                      /* the pattern has matched, whatever the conditions */
} tl_match;

/* Returns true if the rule's pattern matches with its root at `root` and its conditions hold.
 * x->structural tells if the pattern alone matched, which is what statistics count. Bounded by a
 * budget of bindings. */
bool tl_rule_match(tl_match *match, tl_node_id root);
/* Returns true if the match may be replaced: inner values have no other users, and marks, streams,
 * control edges and scopes allow it (closed.c). */
bool tl_match_is_closed(tl_match *match);

/* Returns true if the match has a node for pattern node i. */
static inline bool tl_match_has_node(const tl_match *match, uint32_t i) {
  return match->nodes[i] != TL_NO_NODE && !(match->skipped >> i & 1);
}

/* Evaluates an expression under a match. */
tl_rv tl_rule_eval(tl_match *match, const tl_expr *e);
/* What v is as an attribute; of kind TL_ATTR_NONE where it is none. */
tl_attr tl_rule_attr(tl_module *m, tl_symbol name, tl_attr_kind kind, tl_rv v);

/* Elements of a list or of a tensor, which becomes a list; 1 for a number. */
uint64_t tl_rv_count(const tl_module *m, tl_rv v);
/* Writes element i to data[]; false when v holds none or d cannot hold it. */
bool tl_rv_store(const tl_module *m, tl_rv v, tl_dtype d, uint64_t *data, uint32_t i);

/* Records why a match failed, unless a deeper reason is already there. */
void tl_match_note(tl_match *match, uint32_t depth, const char *code, const char *fmt, ...)
    TL_PRINTF(4, 5);

/* Records a condition that does not hold, with the values that decide it. */
void tl_rule_note_condition(tl_match *match, uint32_t depth, const tl_expr *condition);

#endif
