/* SPDX-License-Identifier: Apache-2.0 */
/* Computes TreeEnsemble, TreeEnsembleRegressor and TreeEnsembleClassifier. */
#include "ir/eval/ml/forest.h"

#include <math.h>

typedef enum aggregate { AVERAGE, SUM, MIN, MAX } aggregate;

/* A forest, its data and its scores. */
typedef struct ensemble {
  tl_forest forest;
  tl_ml_rows in;
  uint64_t targets;
  aggregate how;
  tl_ml_transform transform;
  tl_ml_list base; /* added to the scores of a row; n is 0, 1 or targets */
  tl_host *out;    /* [rows, targets] */
  double *scores;  /* [rows][targets] */
  uint8_t *seen;   /* the same: whether a vote came in */
} ensemble;

/* ---- walking -------------------------------------------------------------------------------- */

/* The members of a node are a run of the forest's list. */
static bool is_member(const tl_forest *f, const tl_tree_node *n, double v) {
  for (uint32_t i = 0; i < n->n; i++)
    if (f->members[n->first + i] == v)
      return true;
  return false;
}

/* A missing value (NaN) is compared as it is, unless the node says that it goes the yes way. */
static bool decide(const tl_forest *f, const tl_tree_node *n, double v) {
  if (isnan(v) && n->missing_yes)
    return true;
  switch ((tl_tree_mode)n->mode) {
  case TL_TREE_LEQ: return v <= n->value;
  case TL_TREE_LT: return v < n->value;
  case TL_TREE_GTE: return v >= n->value;
  case TL_TREE_GT: return v > n->value;
  case TL_TREE_EQ: return v == n->value;
  case TL_TREE_NEQ: return v != n->value;
  case TL_TREE_MEMBER: return is_member(f, n, v);
  case TL_TREE_LEAF: break;
  }
  return false;
}

/* Walks from a root to a leaf; tl_forest_check has excluded cycles. */
static const tl_tree_node *find_leaf(const ensemble *e, uint32_t root, uint64_t row) {
  const tl_tree_node *n = &e->forest.nodes[root];
  const uint64_t first = row * (uint64_t)e->in.features;
  while (n->mode != TL_TREE_LEAF)
    n = &e->forest.nodes[decide(&e->forest, n, tl_ml_number(e->in.t, first + n->feature)) ? n->yes
                                                                                          : n->no];
  return n;
}

/* MIN and MAX need to know whether a vote came before; sums begin at 0. */
static void take_vote(const ensemble *e, double *score, uint8_t *seen, double weight) {
  if (e->how == MIN)
    *score = *seen && *score < weight ? *score : weight;
  else if (e->how == MAX)
    *score = *seen && *score > weight ? *score : weight;
  else
    *score += weight;
  *seen = 1;
}

/* Scores rows: all trees in order, then the average and the base value. */
static void score_rows(void *user, uint64_t begin, uint64_t end) {
  const ensemble *e = user;
  for (uint64_t row = begin; row < end; row++) {
    double *scores = e->scores + row * e->targets;
    uint8_t *seen = e->seen + row * e->targets;
    for (uint64_t t = 0; t < e->targets; t++) {
      scores[t] = 0;
      seen[t] = 0;
    }
    for (uint32_t i = 0; i < e->forest.n_roots; i++) {
      const tl_tree_node *leaf = find_leaf(e, e->forest.roots[i], row);
      for (uint32_t k = 0; k < leaf->n; k++) {
        const tl_tree_vote *v = &e->forest.votes[leaf->first + k];
        take_vote(e, &scores[v->target], &seen[v->target], v->weight);
      }
    }
    for (uint64_t t = 0; t < e->targets; t++) {
      if (e->how == AVERAGE)
        scores[t] /= (double)e->forest.n_roots;
      scores[t] += e->base.n == e->targets ? e->base.at[t] : 0;
    }
  }
}

/* Rows are independent and go to several threads. */
static tl_status score_all(tl_eval *ctx, ensemble *e) {
  const uint64_t rows = (uint64_t)e->in.n;
  e->scores = tl_eval_scratch(ctx, rows, (size_t)e->targets * sizeof *e->scores);
  e->seen = tl_eval_scratch(ctx, rows, (size_t)e->targets);
  if (!e->scores || !e->seen)
    return tl_eval_no_memory(ctx);
  tl_eval_for(ctx, rows, 16, score_rows, e);
  return TL_OK;
}

/* ---- regressors ----------------------------------------------------------------------------- */

static tl_status read_targets(tl_eval *ctx, ensemble *e) {
  int64_t n = tl_eval_int(ctx, TL_SYM_n_targets, 1);
  if (n < 1 || n > INT32_MAX)
    return tl_eval_fail(ctx, "n_targets is %lld", (long long)n);
  e->targets = (uint64_t)n;
  return TL_OK;
}

/* Transforms need a whole row, so they come after all votes. */
static tl_status put_scores(tl_eval *ctx, ensemble *e, uint32_t i, tl_dtype dtype) {
  const int64_t dims[2] = {e->in.n, (int64_t)e->targets};
  TL_TRY(tl_eval_result(ctx, i, dtype, 2, dims, &e->out));
  TL_TRY(score_all(ctx, e));
  for (int64_t row = 0; row < e->in.n; row++)
    tl_ml_apply_transform(e->transform, e->scores + row * dims[1], e->targets);
  for (uint64_t k = 0; k < e->out->n; k++)
    if (dtype == TL_DTYPE_F64)
      ((double *)e->out->data)[k] = e->scores[k];
    else
      ((float *)e->out->data)[k] = (float)e->scores[k];
  return TL_OK;
}

/* One value for two targets is that of a binary classifier. */
static tl_status read_base(tl_eval *ctx, ensemble *e) {
  TL_TRY(tl_ml_read_floats(ctx, TL_SYM_base_values, TL_SYM_base_values_as_tensor, &e->base));
  if (e->base.n == 0 || e->base.n == e->targets || (e->base.n == 1 && e->targets == 2))
    return TL_OK;
  return tl_eval_fail(ctx, "base_values has %llu elements for %llu targets",
                      (unsigned long long)e->base.n, (unsigned long long)e->targets);
}

tl_status tl_eval_ml_tree_regressor(tl_eval *ctx) {
  static const char *const names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const tl_vote_names votes = {TL_SYM_target_treeids, TL_SYM_target_nodeids, TL_SYM_target_ids,
                               TL_SYM_target_weights, TL_SYM_target_weights_as_tensor};
  ensemble e = {.how = SUM};
  tl_sv how = tl_eval_string(ctx, TL_SYM_aggregate_function);
  int found = how.n ? -1 : SUM;
  for (int i = 0; i < 4; i++)
    if (tl_sv_is(how, names[i]))
      found = i;
  if (found < 0)
    return tl_eval_unsupported(ctx, "aggregate_function '%.*s'", TL_SV_ARG(how));
  e.how = (aggregate)found;
  TL_TRY(read_targets(ctx, &e));
  TL_TRY(tl_ml_read_rows(ctx, 0, &e.in));
  TL_TRY(tl_ml_read_transform(ctx, &e.transform));
  TL_TRY(read_base(ctx, &e));
  TL_TRY(tl_forest_read(ctx, &votes, e.in.features, e.targets, &e.forest));
  return put_scores(ctx, &e, 0, TL_DTYPE_F32);
}

/* TreeEnsemble. `wide`: f16 data arrive as f32. */
tl_status tl_eval_ml_tree(tl_eval *ctx) {
  ensemble e = {.how = SUM};
  int64_t how = tl_eval_int(ctx, TL_SYM_aggregate_function, SUM);
  int64_t transform = tl_eval_int(ctx, TL_SYM_post_transform, TL_ML_NONE);
  if (how < AVERAGE || how > MAX || transform < TL_ML_NONE || transform > TL_ML_PROBIT)
    return tl_eval_fail(ctx, "aggregate_function %lld or post_transform %lld is not known",
                        (long long)how, (long long)transform);
  e.how = (aggregate)how;
  e.transform = (tl_ml_transform)transform;
  TL_TRY(read_targets(ctx, &e));
  TL_TRY(tl_ml_read_rows(ctx, 0, &e.in));
  TL_TRY(tl_forest_read_joint(ctx, e.in.features, e.targets, &e.forest));
  return put_scores(ctx, &e, 0, (tl_dtype)e.in.t->dtype);
}

/* ---- classifier ----------------------------------------------------------------------------- */

/* The case of two classes whose votes all are for one of them: that score decides alone. Votes for
 * class 0 stand for a single score, which becomes a pair. */
typedef struct binary {
  bool is;
  uint32_t target; /* that gets the votes */
  tl_ml_pair pair;
  double threshold;
  double base;
} binary;

/* Finds out whether that case holds. Probabilities are compared with 0.5; a negative weight shows
 * that the scores are none, and then with 0. */
static binary find_binary(const ensemble *e) {
  const tl_forest *f = &e->forest;
  binary b = {.is = e->targets == 2 && f->n_votes > 0, .pair = TL_ML_COMPLEMENT, .threshold = 0.5};
  for (uint32_t i = 0; i < f->n_votes; i++) {
    b.is = b.is && f->votes[i].target == f->votes[0].target;
    if (f->votes[i].weight < 0) { /* the score is no probability */
      b.pair = TL_ML_OPPOSITE;
      b.threshold = 0;
    }
  }
  b.target = f->n_votes ? f->votes[0].target : 0;
  b.base = e->base.n == 1 ? e->base.at[0] : 0;
  return b;
}

/* The scores before the transform choose the label. Of two classes with votes each the greater
 * score wins, as ONNX says; ONNX Runtime gives the number 0 or 1 there, by the sign of a score. */
static void classify_row(tl_eval *ctx, const ensemble *e, const binary *b,
                         const tl_ml_labels *labels, tl_host *y, uint64_t row) {
  double *scores = e->scores + row * e->targets;
  if (b->is) {
    scores[b->target] += b->base;
    tl_ml_set_label(ctx, labels, y, row, scores[b->target] > b->threshold ? 1 : 0);
    if (b->target == 0)
      tl_ml_make_pair(e->transform, b->pair, scores);
    else
      tl_ml_apply_transform(e->transform, scores, e->targets);
  } else {
    tl_ml_set_label(ctx, labels, y, row, tl_ml_largest(scores, e->targets));
    tl_ml_apply_transform(e->transform, scores, e->targets);
  }
  for (uint64_t t = 0; t < e->targets; t++)
    ((float *)e->out->data)[row * e->targets + t] = (float)scores[t];
}

tl_status tl_eval_ml_tree_classifier(tl_eval *ctx) {
  const tl_vote_names votes = {TL_SYM_class_treeids, TL_SYM_class_nodeids, TL_SYM_class_ids,
                               TL_SYM_class_weights, TL_SYM_class_weights_as_tensor};
  ensemble e = {.how = SUM};
  tl_ml_labels labels;
  tl_host *y;
  TL_TRY(tl_ml_read_labels(ctx, TL_SYM_classlabels_strings, TL_SYM_classlabels_int64s, &labels));
  if (labels.n == 0)
    return tl_eval_fail(ctx, "the classifier has no labels");
  e.targets = labels.n;
  TL_TRY(tl_ml_read_rows(ctx, 0, &e.in));
  TL_TRY(tl_ml_read_transform(ctx, &e.transform));
  TL_TRY(read_base(ctx, &e));
  TL_TRY(tl_forest_read(ctx, &votes, e.in.features, e.targets, &e.forest));
  const int64_t dims[2] = {e.in.n, (int64_t)e.targets};
  TL_TRY(tl_ml_make_labels(ctx, &labels, e.in.n, &y));
  TL_TRY(tl_eval_result(ctx, 1, TL_DTYPE_F32, 2, dims, &e.out));
  TL_TRY(score_all(ctx, &e));
  const binary b = find_binary(&e);
  for (uint64_t row = 0; row < y->n; row++)
    classify_row(ctx, &e, &b, &labels, y, row);
  return TL_OK;
}
