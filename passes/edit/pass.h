/* SPDX-License-Identifier: Apache-2.0 */
/* What a pass sees. A pass owns nothing, keeps nothing between runs and prints nothing; it edits
 * the module through ir/graph.h, each time after tl_pass_may_rewrite said yes. */
#ifndef TL_PASSES_EDIT_PASS_H
#define TL_PASSES_EDIT_PASS_H

#include "ir/graph.h"
#include "ir/options/fusion_stats.h"
#include "ir/options/options.h"

struct tl_engine_state;
struct tl_step_record;
typedef struct tl_pass tl_pass;
typedef tl_status (*tl_pass_fn)(tl_pass *p, tl_module *m);

/* What a remark about a fusion rule says besides, for tools. */
typedef struct tl_fusion_remark {
  tl_sv fusion; /* public name of the pass */
  tl_sv rule;
  bool cleanup; /* not of kind graph */
  bool expand;  /* of kind expand */
  tl_numerics numerics;
  const char *code;   /* why not (docs/rules.md); NULL: it was applied */
  const char *reason; /* the same in words; NULL: it was applied */
  tl_sv made;         /* op of the last node that was made */
  uint32_t n_made;    /* nodes that were made */
  const tl_sv *nodes; /* taken, or bound as far as the pattern fitted */
  uint32_t n_nodes;
  uint32_t wanted; /* nodes of the pattern */
  bool repeats;    /* another pass has said the same of the node, or has it */
  int64_t scope;   /* of a kernel of several nodes: its fusion_scope; else 0 */
  uint64_t saved;  /* of such a kernel: bytes of global memory traffic that it saves */
} tl_fusion_remark;

/* A remark: something a pass did (applied) or declined to do (missed), for people and tools. */
typedef struct tl_remark {
  const char *pass;
  bool applied;
  tl_sv node;                     /* the node it is about; may be empty */
  const char *message;            /* one clause, no newline */
  const tl_fusion_remark *fusion; /* NULL: it is about something else */
} tl_remark;

typedef void (*tl_remark_fn)(void *user, const tl_remark *r);

struct tl_pass {
  const char *name;
  const tl_options *options;
  tl_arena *scratch;   /* rewound after the pass, or after the next one if that is left something */
  tl_remark_fn remark; /* NULL: nobody listens */
  void *remark_user;
  tl_fusion_stats *fusions;     /* counts of fusion passes; NULL: not wanted */
  struct tl_engine_state *engine; /* of the rule engine; whoever runs passes ends it, see
                                     passes/engine/ruleset.h */
  bool off_chip;      /* no chip is to run the result, so that what none could run is no error */
  bool explain;       /* near misses are wanted too; costs a sweep over all rules */
  bool elsewhere;     /* ... those of rules for ONNX Runtime too, whatever the target */
  /* Runs what follows in the pipeline, up to the pass that puts a step in order, over a fork of the
   * module, and says nothing; `steps` receives what that pass finds. Whatever fails is no error of
   * the module. NULL: no such pass follows. */
  tl_status (*rest)(const tl_pass *p, tl_module *fork, struct tl_step_record *steps);
  const void *pipeline; /* of rest */
  uint64_t *rewrites; /* counts over the whole pipeline */
  uint64_t limit;     /* no rewrite beyond this number (UINT64_MAX: none) */
  uint64_t changed;   /* rewrites of this run */
};

/* Asks leave for one rewrite and counts it; false once the limit is reached (bisection). */
static inline bool tl_pass_may_rewrite(tl_pass *p) {
  if (*p->rewrites >= p->limit)
    return false;
  ++*p->rewrites;
  p->changed++;
  return true;
}

/* Records what was done at a node. Cheap when nobody listens. */
void tl_pass_remark(tl_pass *p, tl_module *m, tl_node_id n, bool applied, const char *fmt, ...)
    TL_PRINTF(5, 6);

/* Passes on a remark about a fusion rule, with a message made from it. */
void tl_pass_fusion_remark(tl_pass *p, tl_module *m, tl_node_id n, const tl_fusion_remark *f);

#endif
