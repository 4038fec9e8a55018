/* SPDX-License-Identifier: Apache-2.0 */
/* State and parts of the pass fold-constants: known values, evaluation of nodes, branches of If.
 * For files of this room; other passes call tl_fold_from. */
#ifndef TL_PASSES_FOLD_FOLD_H
#define TL_PASSES_FOLD_FOLD_H

#include "ir/host.h"
#include "passes/edit/values.h"

enum { TL_FOLD_BLOCK = 1024 }; /* values in one block of the table of known values */

/* A value that was evaluated and is not a constant of the module yet. */
typedef struct tl_fold_value {
  tl_host *host;
  uint32_t pending; /* uses by nodes that are not evaluated yet; at 0 the value is released */
} tl_fold_value;

typedef struct tl_fold {
  tl_pass *p;
  tl_module *m;
  tl_pinned pinned;
  tl_fold_value **blocks; /* by value id / TL_FOLD_BLOCK, scratch; NULL until something in one was
                             evaluated */
  uint32_t n_blocks;
  uint8_t *orphans;   /* a bit by node id, scratch; NULL until something was folded: nodes that
                            lost a user by folding */
  uint32_t n_orphans; /* ids it has room for */
  tl_u32_vec *lost;   /* the same as a list, of a fold that begins at some nodes; else NULL */
  tl_host_heap heap;
  uint64_t spent; /* bytes of all results that are larger than --fold-limit */
  uint64_t fills; /* bytes of all weights of one repeated number; 0: not counted yet */
  tl_map names;   /* owned; name -> number of values that have it; filled if `named` */
  bool named;
  bool known_only;  /* makes constants of what inference knows, and evaluates nothing */
  bool dequantizes; /* folds DequantizeLinear too, which stays where rules match it */
  bool made;        /* a value or an operand became a constant */
  bool stopped;     /* the rewrite limit is reached */
  bool failed;      /* memory is out */
  bool again;       /* a type became more specific: inference may tell more */
} tl_fold;

/* Known contents of a value: `tensor` for a constant of the module or a result that inference
 * knows, `host` for an evaluated result. Both are NULL if nothing is known. */
typedef struct tl_fold_contents {
  const tl_tensor *tensor;
  tl_host *host;
} tl_fold_contents;

/* Returns the evaluated result v, or NULL. O(1). */
static inline tl_fold_value *tl_fold_evaluated(const tl_fold *f, tl_value_id v) {
  tl_fold_value *block = v / TL_FOLD_BLOCK < f->n_blocks ? f->blocks[v / TL_FOLD_BLOCK] : NULL;
  return block && block[v % TL_FOLD_BLOCK].host ? &block[v % TL_FOLD_BLOCK] : NULL;
}
/* Returns the known contents of v; borrowed. O(1). */
static inline tl_fold_contents tl_fold_contents_of(const tl_fold *f, tl_value_id v) {
  const tl_value *value = tl_value_get(f->m, v);
  tl_fold_contents c = {NULL, NULL};
  if (value->tensor && value->kind != TL_VALUE_INPUT)
    c.tensor = tl_tensor_get(f->m, value->tensor);
  const tl_fold_value *evaluated = c.tensor ? NULL : tl_fold_evaluated(f, v);
  c.host = evaluated ? evaluated->host : NULL;
  return c;
}
/* Returns true if the contents of v are known. An initial value of an input is no known value: the
 * caller of the model may override it. O(1). */
static inline bool tl_fold_is_known(const tl_fold *f, tl_value_id v) {
  const tl_value *value = tl_value_get(f->m, v);
  return (value->tensor && value->kind != TL_VALUE_INPUT) || tl_fold_evaluated(f, v);
}

/* Runs the pass over the whole module. dequantizes: see tl_fold. TL_NO_MEMORY, reported. */
tl_status tl_fold_module(tl_pass *p, tl_module *m, bool dequantizes) TL_NODISCARD;

/* Evaluates a node whose operands are known and keeps its results. Returns false, with a remark if
 * a user can act on it, if the node has no kernel, fails, or its results are too large. Reports
 * nothing to the diagnostics. */
bool tl_fold_evaluate(tl_fold *f, tl_node_id n);
/* Returns the contents of a known value, which the caller releases; NULL if nothing is known, or
 * memory is out. */
tl_host *tl_fold_take_operand(tl_fold *f, tl_value_id v);
/* Returns false, with a remark, for a node whose integer results differ between runtimes. */
bool tl_fold_is_settled(tl_fold *f, tl_node_id n);
/* Returns true if some user takes v as a weight (trait `weighted` of the op table). Fusion rules
 * and NPU ops read the bytes of weights. */
bool tl_fold_is_weight(const tl_fold *f, tl_value_id v);
/* Makes the large result of a node with known operands an expression that is computed when a writer
 * reads it (ir/tensor_expr.h). Returns false if the result is small or the op has no expression. */
bool tl_fold_express(tl_fold *f, tl_node_id n);
/* Returns the number of bytes of all known operands of a node. */
uint64_t tl_fold_operand_bytes(const tl_fold *f, tl_node_id n);
/* Copies an evaluated result into a tensor of the module; TL_NO_TENSOR if memory is out. */
tl_tensor_id tl_fold_store(tl_fold *f, const tl_host *host);
/* Releases all evaluated results. */
void tl_fold_release_values(tl_fold *f);

/* Replaces an If with a known condition by the nodes of the branch taken. Returns the node where
 * the forward sweep continues, or TL_NO_NODE if the If stays. */
tl_node_id tl_fold_take_branch(tl_fold *f, tl_node_id n);

/* Marks the producers of a node's operands: they lose a user. The marks are one bit for each node
 * that exists when the first node is erased; nodes made later are never orphans. */
void tl_fold_orphan_operands(tl_fold *f, tl_node_id n);
/* Erases a node without users, and constants that only it used. Marks the producers of its operands
 * as orphans. */
void tl_fold_erase(tl_fold *f, tl_node_id n);

/* Makes constants of what inference knows: sizes, and what is computed of them. It evaluates none,
 * so it adds lists of at most TL_MAX_PARTIAL numbers. *made: whether there was anything.
 * TL_NO_MEMORY, reported. */
tl_status tl_fold_known(tl_pass *p, tl_module *m, bool *made) TL_NODISCARD;

/* Folds from the given nodes on: these nodes if their operands are constant, then their users, and
 * so on. Skips erased nodes. `nodes` is the worklist and is consumed. O(folded nodes), unless a
 * type becomes more specific: then the whole module is folded. TL_NO_MEMORY, reported. */
tl_status tl_fold_from(tl_pass *p, tl_module *m, tl_u32_vec *nodes) TL_NODISCARD;

#endif
