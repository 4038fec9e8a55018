/* SPDX-License-Identifier: Apache-2.0 */
/* Decision trees of TreeEnsembleClassifier and TreeEnsembleRegressor as lists over all nodes of all
 * trees, read from attributes and checked. */
#ifndef TL_PASSES_LOWER_FOREST_H
#define TL_PASSES_LOWER_FOREST_H

#include "passes/edit/pass.h"

/* How nodes compare the feature with their value; the order is that of the names in forest.c. */
typedef enum tl_branch {
  TL_BRANCH_LEQ,
  TL_BRANCH_LT,
  TL_BRANCH_GTE,
  TL_BRANCH_GT,
  TL_BRANCH_EQ,
  TL_BRANCH_NEQ,
  TL_BRANCH_LEAF
} tl_branch;

/* All trees of a node, in scratch. A leaf has itself as both children, so that a step from it stays
 * there. */
typedef struct tl_trees {
  uint32_t n;       /* nodes */
  uint32_t n_roots; /* trees */
  uint32_t n_votes;
  uint32_t depth; /* steps from a root to the farthest leaf */
  tl_branch how;  /* of all nodes but leaves */
  bool tracks;    /* a node sends what is missing to its `yes` */
  int64_t *feature;
  int64_t *yes;
  int64_t *no;
  int64_t *roots;
  double *value;
  uint8_t *missing_yes;
  int64_t *vote_node; /* [n_votes] */
  int64_t *vote_target;
  double *vote_weight;
  const char *why; /* there is no form; NULL: there is one */
} tl_trees;

/* Names of the attributes with votes, which differ between classifier and regressor. */
typedef struct tl_vote_attrs {
  tl_symbol tree;
  tl_symbol node;
  tl_symbol target;
  tl_symbol weight;
  tl_symbol weight_tensor;
} tl_vote_attrs;

/* A list of numbers from an attribute, as doubles in scratch; n is 0 where it is not set. */
typedef struct tl_attr_numbers {
  const double *at;
  uint32_t n;
} tl_attr_numbers;

/* Reads floats, or the tensor that stands for them. TL_NO_MEMORY. */
tl_status tl_attr_numbers_read(tl_pass *p, tl_module *m, tl_node_id n, tl_symbol floats,
                               tl_symbol tensor, tl_attr_numbers *out) TL_NODISCARD;

/* What is known of the op besides its lists. */
typedef struct tl_trees_wanted {
  const tl_vote_attrs *names;
  int64_t features; /* columns of the operand, or -1 */
  int64_t targets;
} tl_trees_wanted;

/* Reads the trees of node n. out->why is the reason where they have no form, else NULL: lists that
 * do not fit, children that do not exist, cycles, comparisons of several kinds. TL_NO_MEMORY. */
tl_status tl_trees_read(tl_pass *p, tl_module *m, tl_node_id n, const tl_trees_wanted *wanted,
                        tl_trees *out) TL_NODISCARD;

#endif
