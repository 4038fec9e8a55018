/* SPDX-License-Identifier: Apache-2.0 */
/* Decision trees in the form in which they are walked. tree_read.c and tree_joint.c make it from
 * attributes and check it, so that the walk needs no checks. */
#ifndef TL_IR_EVAL_ML_FOREST_H
#define TL_IR_EVAL_ML_FOREST_H

#include "ir/eval/ml/ml.h"

/* How a node compares the feature with its value. */
typedef enum tl_tree_mode {
  TL_TREE_LEQ,
  TL_TREE_LT,
  TL_TREE_GTE,
  TL_TREE_GT,
  TL_TREE_EQ,
  TL_TREE_NEQ,
  TL_TREE_MEMBER, /* of a set */
  TL_TREE_LEAF
} tl_tree_mode;

/* A node; `yes` and `no` are positions in the forest's nodes. */
typedef struct tl_tree_node {
  double value;
  uint32_t feature;
  uint32_t yes; /* nodes */
  uint32_t no;
  uint32_t first; /* leaf: of its votes; member: of its values */
  uint32_t n;
  uint8_t mode;     /* tl_tree_mode */
  bool missing_yes; /* NaN takes the branch `yes` */
} tl_tree_node;

/* What a leaf adds to the score of a target. */
typedef struct tl_tree_vote {
  uint32_t node;
  uint32_t target;
  double weight;
} tl_tree_vote;

/* All trees of a node, in scratch. */
typedef struct tl_forest {
  tl_tree_node *nodes;
  uint32_t n_nodes;
  tl_tree_vote *votes; /* those of a leaf lie together, in the order given */
  uint32_t n_votes;
  uint32_t *roots;
  uint32_t n_roots;
  const double *members;
} tl_forest;

/* Names of the attributes with votes, which differ between classifier and regressor. */
typedef struct tl_vote_names {
  tl_symbol tree;
  tl_symbol node;
  tl_symbol target;
  tl_symbol weight;
  tl_symbol weight_tensor;
} tl_vote_names;

/* Reads the forest of TreeEnsembleClassifier and TreeEnsembleRegressor. Afterwards every child
 * exists, nothing forms a cycle, features are below `features` and targets below `targets`.
 * TL_INVALID_MODEL. */
tl_status tl_forest_read(tl_eval *ctx, const tl_vote_names *names, int64_t features,
                         uint64_t targets, tl_forest *out) TL_NODISCARD;
/* Reads the forest of TreeEnsemble, with the same guarantees. */
tl_status tl_forest_read_joint(tl_eval *ctx, int64_t features, uint64_t targets,
                               tl_forest *out) TL_NODISCARD;

/* Checks what both need: bounds of children and features, no cycles. */
tl_status tl_forest_check(tl_eval *ctx, const tl_forest *f, int64_t features) TL_NODISCARD;

#endif
