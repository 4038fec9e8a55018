/* SPDX-License-Identifier: Apache-2.0 */
/* A match or an attempt at one: what is bound so far, and why it failed. The matcher (match.h)
 * fills it; functions of expressions and the builder read it. */
#ifndef TL_PASSES_ENGINE_ATTEMPT_H
#define TL_PASSES_ENGINE_ATTEMPT_H

#include "passes/engine/rule.h"

/* The reason of a failed match that got farthest. */
typedef struct tl_miss {
  uint32_t depth;                  /* nodes bound and conditions passed; larger is nearer */
  const char *code;                /* code of the reason: "MULTI_CONSUMER", "ATTR" ... */
  tl_buf *text;                    /* NULL: nobody asks why */
  tl_sv condition;                 /* of the rule, that does not hold; empty: another reason */
  tl_node_id nodes[TL_RULE_NODES]; /* nodes bound then, by pattern node */
} tl_miss;

/* Depths of reasons that come after all nodes and conditions: larger than any number of these. */
enum { TL_MISS_CLOSED = 1000, TL_MISS_BUILT = 2000 };

/* The one number or attribute that differs in a match that is otherwise complete. */
typedef struct tl_excuse {
  tl_node_id node;                   /* TL_NO_NODE: nothing differs */
  const tl_pattern_operand *operand; /* the number of the rule, or NULL ... */
  tl_value_id value;                 /* ... and the constant that the node has */
  const tl_pattern_attr *attr; /* the attribute of the rule, or NULL: it is not mentioned ... */
  tl_symbol name;              /* ... and its name */
} tl_excuse;

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
  uint32_t users;                     /* users of values that were looked at; bounded as well */
  tl_value_id values[TL_RULE_VALUES]; /* TL_NO_VALUE: not bound, or absent (see bound) */
  tl_node_id nodes[TL_RULE_NODES];
  tl_rv names[TL_RULE_NAMES];
  uint32_t rest_from[TL_RULE_VALUES];   /* first operand slot of a list ... */
  uint32_t rest_n[TL_RULE_VALUES];      /* ... and its length ... */
  tl_node_id rest_node[TL_RULE_VALUES]; /* ... at this node */
  uint64_t bound;                       /* bits of values */
  uint32_t named;                       /* bits of names */
  uint64_t skipped;                     /* bits of optional nodes that are absent */
  bool excuses;                         /* one number or attribute may differ ... */
  tl_excuse excuse;                     /* ... which is this */
  bool structural;                      /* the pattern has matched, whatever the conditions */
} tl_match;

/* Returns true if the match has a node for pattern node i. */
static inline bool tl_match_has_node(const tl_match *match, uint32_t i) {
  return match->nodes[i] != TL_NO_NODE && !(match->skipped >> i & 1);
}

#endif
