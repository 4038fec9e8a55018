/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the pass fold-constants: what is known of values, evaluation, branches. */
#ifndef TL_PASSES_FOLD_H
#define TL_PASSES_FOLD_H

#include "ir/host.h"
#include "passes/values.h"

/* A value that was evaluated and is not a constant of the module yet. */
typedef struct tl_fold_value {
  tl_host *host;
  uint32_t pending; /* uses by nodes that are not folded yet; at 0 nobody will ask any more */
} tl_fold_value;

typedef struct tl_fold {
  tl_pass *p;
  tl_module *m;
  tl_pinned pinned;
  tl_fold_value *values; /* by value id, scratch; NULL until something was evaluated */
  uint32_t n_values;
  uint8_t *orphans;      /* a bit by node id, scratch; NULL until something was folded: nodes that
                            lost a user by folding */
  uint32_t n_orphans;    /* ids it has room for */
  tl_host_heap heap;
  uint64_t spent;        /* bytes of results beyond the limit of one */
  tl_map names;          /* owned; how many values have a name, filled when `named` */
  bool named;
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

static inline tl_fold_contents tl_fold_contents_of(const tl_fold *f, tl_value_id v) {
  const tl_value *value = tl_value_get(f->m, v);
  tl_fold_contents c = {NULL, NULL};
  if (value->tensor && value->kind != TL_VALUE_INPUT)
    c.tensor = tl_tensor_get(f->m, value->tensor);
  else if (v < f->n_values)
    c.host = f->values[v].host;
  return c;
}
static inline bool tl_fold_is_known(const tl_fold *f, tl_value_id v) {
  const tl_value *value = tl_value_get(f->m, v);
  return (value->tensor && value->kind != TL_VALUE_INPUT) ||
         (v < f->n_values && f->values[v].host);
}

/* Evaluates a node whose operands are known and keeps its results; false, with a remark where that
 * helps, when it cannot or should not be done. Nothing is reported to the diagnostics. */
bool tl_fold_evaluate(tl_fold *f, tl_node_id n);
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

#endif
