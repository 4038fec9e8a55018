/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a pass: options, scratch memory, counters and remarks. A pass owns nothing,
 * keeps nothing between runs and prints nothing. It edits the module through ir/graph.h, and asks
 * tl_pass_may_rewrite before each rewrite. */
#ifndef TL_PASSES_EDIT_PASS_H
#define TL_PASSES_EDIT_PASS_H

#include "ir/edit_log.h"
#include "ir/graph.h"
#include "ir/options/fusion_stats.h"
#include "ir/options/options.h"

struct tl_engine_state;
struct tl_pass_row;
struct tl_rule_question;
struct tl_step_record;
typedef struct tl_pass tl_pass;
typedef tl_status (*tl_pass_fn)(tl_pass *p, tl_module *m);

/* Machine-readable part of a remark about a fusion rule. */
typedef struct tl_fusion_remark {
  tl_sv fusion; /* public name of the pass */
  tl_sv rule;
  bool cleanup; /* the rule is not of kind graph */
  bool expand;  /* the rule is of kind expand */
  tl_numerics numerics;
  const char *code;   /* reason code of a refusal (docs/rules.md); NULL: the rule was applied */
  const char *reason; /* the reason in words; NULL: the rule was applied */
  tl_sv made;         /* op of the last node that was made */
  uint32_t n_made;    /* nodes that were made */
  const tl_sv *nodes; /* replaced nodes, or those bound before the match failed */
  uint32_t n_nodes;
  uint32_t wanted; /* nodes of the pattern */
  bool repeats;    /* the same remark was or will be made by another pass */
  int64_t scope;   /* fusion_scope of a kernel of several nodes; else 0 */
  uint64_t saved;  /* bytes of global memory traffic that such a kernel saves */
} tl_fusion_remark;

/* A remark: something that a pass did (applied) or declined to do (missed), for users and tools. */
typedef struct tl_remark {
  const char *pass;
  bool applied;
  tl_sv node;                     /* the node it is about; may be empty */
  const char *message;            /* one clause, no newline */
  const tl_fusion_remark *fusion; /* NULL: not about a fusion rule */
} tl_remark;

typedef void (*tl_remark_fn)(void *user, const tl_remark *r);

/* Why a rule was not applied, and how often. */
typedef struct tl_refusal {
  const char *code; /* static; docs/rules.md, and "LIMIT": the bound on rewrites was reached */
  uint64_t n;
} tl_refusal;

enum { TL_MOST_REFUSALS = 24 }; /* more than there are codes */

/* What a rule did in one run of the rule engine. tried = fired + all refusals. */
typedef struct tl_rule_count {
  tl_sv fusion; /* public name of the pass */
  tl_sv rule;
  uint64_t tried;   /* at nodes where the index did not exclude it, again after each change */
  uint64_t matched; /* the pattern fitted, whatever the conditions */
  uint64_t fired;
  uint64_t nanoseconds;      /* of matching and applying; 0: times are not wanted */
  const tl_refusal *refused; /* in the order of their first */
  uint32_t n_refused;
} tl_rule_count;

/* Those who want to know what rules do. Matching is slower then. */
typedef struct tl_rule_watch {
  void *user;
  bool times; /* of rules are wanted as well */
  /* Gets the counts of each rule that was tried, behind a run of the engine. */
  tl_status (*counted)(void *user, const tl_pass *p, const tl_rule_count *c);
  /* Called behind each rewrite, which began at `start` of tl_now_ns. NULL: not wanted. */
  void (*applied)(void *user, const tl_pass *p, tl_symbol rule, uint64_t start);
} tl_rule_watch;

struct tl_pass {
  const char *name;
  const struct tl_pass_row *row; /* of the pass that runs (passes/manager.h) */
  const tl_options *options;
  tl_arena *scratch;   /* rewound after the pass, or after the next pass if this one leaves results
                        * there for it */
  tl_remark_fn remark; /* NULL: remarks are not wanted */
  void *remark_user;
  tl_fusion_stats *fusions;                /* counts of fusion passes; NULL: not wanted */
  const tl_rule_watch *rules;              /* NULL: nobody counts what rules do */
  const struct tl_rule_question *question; /* passes/engine/question.h; NULL: nobody asks */
  struct tl_engine_state *engine; /* state of the rule engine; released by the runner of passes, see
                                   * passes/engine/ruleset.h */
  bool off_chip;         /* no chip will run the result: an op that no chip can run is no error */
  bool explain;          /* remarks on near misses are wanted; costs a sweep over all rules */
  uint32_t explain_most; /* nodes of each sweep at most; 0: all of them */
  bool elsewhere;        /* near misses of rules for ONNX Runtime too, whatever the target */
  /* Runs the rest of the pipeline, up to the pass that orders the training step, on a fork of the
   * module, silently. `steps` receives what that pass finds. A failure is no error of the module.
   * NULL: no such pass follows. */
  tl_status (*rest)(const tl_pass *p, tl_module *fork, struct tl_step_record *steps);
  const void *pipeline; /* argument of `rest` */
  uint64_t *rewrites;   /* number of rewrites of the whole pipeline so far */
  uint64_t limit;       /* upper bound of *rewrites, for bisection; UINT64_MAX: none */
  uint64_t changed;     /* rewrites of this run */
  tl_edit_log *log;     /* where rewrites are marked; NULL: nobody wants to see single ones */
};

/* Counts one rewrite. Returns false, and counts nothing, once the limit is reached (bisection). */
static inline bool tl_pass_may_rewrite(tl_pass *p) {
  if (*p->rewrites >= p->limit)
    return false;
  ++*p->rewrites;
  p->changed++;
  if (p->log)
    tl_edit_log_mark(p->log, *p->rewrites);
  return true;
}

/* Sends a remark about node n (0: about no node) with a printf message. O(1) if remarks are off. */
void tl_pass_remark(tl_pass *p, tl_module *m, tl_node_id n, bool applied, const char *fmt, ...)
    TL_PRINTF(5, 6);

/* Sends a remark about a fusion rule with a message made from its fields. */
void tl_pass_fusion_remark(tl_pass *p, tl_module *m, tl_node_id n, const tl_fusion_remark *f);

#endif
