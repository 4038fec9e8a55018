/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the pass fold-constants: what is known of values, evaluation, branches. */
#ifndef TL_PASSES_FOLD_FOLD_H
#define TL_PASSES_FOLD_FOLD_H

#include "ir/host.h"
#include "passes/edit/values.h"

enum { TL_FOLD_BLOCK = 1024 }; /* values */

/* A value that was evaluated and is not a constant of the module yet. */
typedef struct tl_fold_value {
  tl_host *host;
  uint32_t pending; /* uses by nodes that are not folded yet; at 0 nobody will ask any more */
} tl_fold_value;

typedef struct tl_fold {
  tl_pass *p;
  tl_module *m;
  tl_pinned pinned;
  tl_fold_value **blocks; /* by value id / TL_FOLD_BLOCK, scratch; NULL until something in one was
                             evaluated */
  uint32_t n_blocks;
  uint8_t *orphans;      /* a bit by node id, scratch; NULL until something was folded: nodes that
                            lost a user by folding */
  uint32_t n_orphans;    /* ids it has room for */
  tl_u32_vec *lost;      /* the same as a list, of a fold that begins at some nodes; else NULL */
  tl_host_heap heap;
  uint64_t spent;        /* bytes of results beyond the limit of one */
  uint64_t fills;        /* bytes of all weights that nodes fill; 0: not added up yet */
  tl_map names;          /* owned; how many values have a name, filled when `named` */
  bool named;
  bool dequantizes;      /* ops that else stay for the sake of device compilers are folded, too */
  bool stopped;          /* the rewrite limit is reached */
  bool failed;           /* memory is out */
  bool again;            /* a type became more specific: inference may tell more */
} tl_fold;

/* Contents of a value as far as they are constants: of a constant, or what inference or evaluation
 * found; the two are NULL when nothing is known. */
typedef struct tl_fold_contents {
  const tl_tensor *tensor;
  tl_host *host;
} tl_fold_contents;

/* What was evaluated of v; NULL when nothing was. */
static inline tl_fold_value *tl_fold_evaluated(const tl_fold *f, tl_value_id v) {
  tl_fold_value *block = v / TL_FOLD_BLOCK < f->n_blocks ? f->blocks[v / TL_FOLD_BLOCK] : NULL;
  return block && block[v % TL_FOLD_BLOCK].host ? &block[v % TL_FOLD_BLOCK] : NULL;
}
static inline tl_fold_contents tl_fold_contents_of(const tl_fold *f, tl_value_id v) {
  const tl_value *value = tl_value_get(f->m, v);
  tl_fold_contents c = {NULL, NULL};
  if (value->tensor && value->kind != TL_VALUE_INPUT)
    c.tensor = tl_tensor_get(f->m, value->tensor);
  const tl_fold_value *evaluated = c.tensor ? NULL : tl_fold_evaluated(f, v);
  c.host = evaluated ? evaluated->host : NULL;
  return c;
}
static inline bool tl_fold_is_known(const tl_fold *f, tl_value_id v) {
  const tl_value *value = tl_value_get(f->m, v);
  return (value->tensor && value->kind != TL_VALUE_INPUT) || tl_fold_evaluated(f, v);
}

/* The pass fold-constants, and what else `dequantizes` says above. */
tl_status tl_fold_module(tl_pass *p, tl_module *m, bool dequantizes) TL_NODISCARD;

/* Evaluates a node whose operands are known and keeps its results; false, with a remark where that
 * helps, when it cannot or should not be done. Nothing is reported to the diagnostics. */
bool tl_fold_evaluate(tl_fold *f, tl_node_id n);
/* The contents of a known value, the caller's to release; NULL when nothing is known of it. */
tl_host *tl_fold_take_operand(tl_fold *f, tl_value_id v);
/* False, with a remark, for a node whose integers runtimes do not agree on. */
bool tl_fold_is_settled(tl_fold *f, tl_node_id n);
/* Whether a value is the weight of a node: what is fused with it, or has to be a constant on the
 * device, is asked of the bytes. */
bool tl_fold_is_weight(const tl_fold *f, tl_value_id v);
/* Says the large result of a node whose operands are known as a computed tensor; false when it is
 * small or cannot be said. */
bool tl_fold_express(tl_fold *f, tl_node_id n);
/* Bytes of the known operands of a node. */
uint64_t tl_fold_operand_bytes(const tl_fold *f, tl_node_id n);
/* The results of evaluation as a tensor of the module; TL_NO_TENSOR when memory is out. */
tl_tensor_id tl_fold_store(tl_fold *f, const tl_host *host);
/* Releases all values. */
void tl_fold_release_values(tl_fold *f);

/* Puts the nodes of the branch that an If with a known condition takes in its place, and returns
 * the node where the sweep goes on; TL_NO_NODE when the If stays. */
tl_node_id tl_fold_take_branch(tl_fold *f, tl_node_id n);

/* Erases a node that folding left without users, and constants that only it used; nodes that lose a
 * user by that are remembered. */
void tl_fold_erase(tl_fold *f, tl_node_id n);

/* The pass fold-constants from some nodes on: folds them where their operands are constants, then
 * users that can be folded by that, and so on. Erased nodes among them are skipped. Cost is that of
 * the folded nodes, unless types become more specific: then the whole module is folded. `nodes` is
 * used up. TL_NO_MEMORY, reported. */
tl_status tl_fold_from(tl_pass *p, tl_module *m, tl_u32_vec *nodes) TL_NODISCARD;

#endif
