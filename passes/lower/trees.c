/* SPDX-License-Identifier: Apache-2.0 */
/* tree-steps: decision trees become steps from node to node, taken by all trees and rows at once: a
 * step gathers the features that the nodes look at, compares, and gathers the children. Leaves stay
 * where they are, so that as many steps as the deepest tree has end at leaves everywhere.
 *
 * Requires:  types inferred.     Keeps: names of results; everything else of the model.
 * After:     TreeEnsembleClassifier and TreeEnsembleRegressor are left only where the trees are
 *            wrong or too deep, labels are text, or votes are put together in another way than by
 *            sum and average.
 * Cost:      O(nodes of the trees), a few nodes a step.
 * Tests:     tests/golden/tree-steps/ */
#include "ir/ops_gen.h"
#include "passes/edit/maker.h"
#include "passes/edit/passes.h"
#include "passes/edit/values.h"
#include "passes/lower/forest.h"

enum { MOST_STEPS = 64, MOST_VOTES = 1 << 26 }; /* elements of the table of votes */

/* An ensemble at work. */
typedef struct ensemble {
  tl_pass *p;
  tl_module *m;
  tl_node_id n;
  tl_maker k;
  tl_trees t;
  tl_dtype dtype; /* of features: f32 or f64 */
  int64_t targets;
  tl_attr_numbers base;
  tl_sv transform;
  const tl_attr *labels; /* NULL: a regressor */
  bool one;              /* all votes are for one of two classes: that score decides alone */
  bool signed_votes;     /* a weight is negative: that score is no probability */
} ensemble;

static tl_value_id op2(ensemble *e, tl_op_id op, tl_value_id a, tl_value_id b) {
  return tl_make(&e->k, op, a, b, TL_NO_VALUE);
}

/* ---- constants ------------------------------------------------------------------------------- */

static tl_value_id floats(ensemble *e, tl_dtype dtype, const double *v, int rank,
                          const tl_dim *dims) {
  uint64_t n = 0;
  tl_type_id type = tl_type_tensor(e->m, dtype, rank, dims);
  if (!type || !tl_type_elements(e->m, type, &n))
    return tl_make_constant(&e->k, TL_NO_TENSOR, "const");
  bool wide = dtype == TL_DTYPE_F64;
  float *narrow = wide ? NULL : tl_arena_calloc(e->p->scratch, n + 1, sizeof *narrow);
  for (uint64_t i = 0; narrow && i < n; i++)
    narrow[i] = (float)v[i];
  const void *data = wide ? (const void *)v : narrow;
  return tl_make_constant(
      &e->k,
      data ? tl_tensor_from_bytes(e->m, type, data, n * (wide ? sizeof *v : sizeof *narrow))
           : TL_NO_TENSOR,
      "const");
}

static tl_value_id flags(ensemble *e, const uint8_t *v, uint32_t n) {
  const tl_dim dim = n;
  tl_type_id type = tl_type_tensor(e->m, TL_DTYPE_BOOL, 1, &dim);
  return tl_make_constant(&e->k, type ? tl_tensor_from_bytes(e->m, type, v, n) : TL_NO_TENSOR,
                          "const");
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Gathers a property of the nodes at `place`. */
static tl_value_id of(ensemble *e, tl_value_id property, tl_value_id place) {
  return tl_make_pick(&e->k, property, 0, place);
}

/* The properties of all nodes, as constants. */
typedef struct properties {
  tl_value_id feature, value, yes, no, missing;
} properties;

static tl_value_id compare(ensemble *e, tl_value_id v, tl_value_id with) {
  static const tl_op_id ops[] = {TL_OP_LessOrEqual, TL_OP_Less,  TL_OP_GreaterOrEqual,
                                 TL_OP_Greater,     TL_OP_Equal, TL_OP_Equal};
  tl_value_id c = op2(e, ops[e->t.how], v, with);
  return e->t.how == TL_BRANCH_NEQ ? op2(e, TL_OP_Not, c, TL_NO_VALUE) : c;
}

/* Returns the nodes behind `place`. v: the features that the nodes there look at. */
static tl_value_id step(ensemble *e, const properties *a, tl_value_id place, tl_value_id v) {
  tl_value_id with = of(e, a->value, place);
  tl_value_id c = compare(e, v, with);
  if (a->missing) { /* what is missing goes where the node says */
    tl_value_id is = op2(e, TL_OP_IsNaN, v, TL_NO_VALUE);
    tl_value_id tracks = of(e, a->missing, place);
    tl_value_id goes = op2(e, TL_OP_And, is, tracks);
    c = op2(e, TL_OP_Or, c, goes);
  }
  tl_value_id yes = of(e, a->yes, place);
  tl_value_id no = of(e, a->no, place);
  return tl_make(&e->k, TL_OP_Where, c, yes, no);
}

/* Returns the leaves, [rows, trees]. The first step is the same for all rows. */
static tl_value_id walk(ensemble *e, tl_value_id x) {
  properties a = {0};
  const tl_dim n = e->t.n;
  a.feature = tl_make_ints(&e->k, e->t.feature, e->t.n);
  a.value = floats(e, e->dtype, e->t.value, 1, &n);
  a.yes = tl_make_ints(&e->k, e->t.yes, e->t.n);
  a.no = tl_make_ints(&e->k, e->t.no, e->t.n);
  a.missing = e->t.tracks ? flags(e, e->t.missing_yes, e->t.n) : TL_NO_VALUE;
  tl_value_id place = tl_make_ints(&e->k, e->t.roots, e->t.n_roots);
  tl_value_id v = tl_make_pick(&e->k, x, 1, of(e, a.feature, place));
  place = step(e, &a, place, v);
  for (uint32_t i = 1; i < e->t.depth; i++) {
    tl_value_id at = of(e, a.feature, place);
    v = tl_make_with(&e->k, TL_OP_GatherElements, x, at, tl_attr_int(TL_SYM_axis, 1));
    place = step(e, &a, place, v);
  }
  return place;
}

/* Returns the scores, [rows, targets]: what the leaves vote, summed over the trees. */
static tl_value_id score(ensemble *e, tl_value_id leaves) {
  const tl_dim dims[] = {e->t.n, e->targets};
  const int64_t along = 1;
  double *weight =
      tl_arena_calloc(e->p->scratch, (size_t)e->t.n * (size_t)e->targets, sizeof *weight);
  if (!weight)
    return tl_make_constant(&e->k, TL_NO_TENSOR, "const");
  for (uint32_t i = 0; i < e->t.n_votes; i++)
    weight[e->t.vote_node[i] * e->targets + e->t.vote_target[i]] += e->t.vote_weight[i];
  if (!e->labels && tl_sv_is(tl_node_attr_string(e->m, e->n, TL_SYM_aggregate_function), "AVERAGE"))
    for (uint64_t i = 0; i < (uint64_t)e->t.n * (uint64_t)e->targets; i++)
      weight[i] /= e->t.n_roots;
  tl_value_id votes = of(e, floats(e, TL_DTYPE_F32, weight, 2, dims), leaves);
  return tl_make_with(&e->k, TL_OP_ReduceSum, votes, tl_make_ints(&e->k, &along, 1),
                      tl_attr_int(TL_SYM_keepdims, 0));
}

static tl_value_id add_base(ensemble *e, tl_value_id s) {
  const tl_dim n = e->targets;
  if (e->one) {
    const double both[] = {e->base.n ? e->base.at[0] : 0, 0};
    return e->base.n ? op2(e, TL_OP_Add, s, floats(e, TL_DTYPE_F32, both, 1, &n)) : s;
  }
  bool each = e->base.n && e->base.n == (uint32_t)e->targets;
  return each ? op2(e, TL_OP_Add, s, floats(e, TL_DTYPE_F32, e->base.at, 1, &n)) : s;
}

/* Returns the score, [rows,1], that decides between two classes. */
static tl_value_id sole_score(ensemble *e, tl_value_id s) {
  return tl_make_slice(&e->k, s, 1, e->t.vote_target[0], e->t.vote_target[0] + 1);
}

/* Votes for class 0 stand for one score s, which becomes -s and s, or 1 - s and s where it is a
 * probability. SOFTMAX changes no single score. */
static tl_value_id pair(ensemble *e, tl_value_id s) {
  const bool logistic = tl_sv_is(e->transform, "LOGISTIC");
  tl_value_id at[2];
  at[1] = sole_score(e, s);
  at[0] = e->signed_votes || logistic
              ? op2(e, TL_OP_Neg, at[1], TL_NO_VALUE)
              : op2(e, TL_OP_Sub, tl_make_number(&e->k, TL_DTYPE_F32, 1), at[1]);
  tl_value_id both = tl_make_concat(&e->k, at, 2, 1);
  return logistic ? op2(e, TL_OP_Sigmoid, both, TL_NO_VALUE) : both;
}

/* A single score stays as it is. */
static tl_value_id transform(ensemble *e, tl_value_id s) {
  if (e->one && e->t.vote_target[0] == 0)
    return pair(e, s);
  if (e->targets == 1)
    return s;
  if (tl_sv_is(e->transform, "SOFTMAX"))
    return tl_make_with(&e->k, TL_OP_Softmax, s, TL_NO_VALUE, tl_attr_int(TL_SYM_axis, -1));
  return tl_sv_is(e->transform, "LOGISTIC") ? op2(e, TL_OP_Sigmoid, s, TL_NO_VALUE) : s;
}

/* ---- what has a form ------------------------------------------------------------------------- */

static const char *read_shape(ensemble *e, int64_t *features) {
  const tl_type *t = tl_type_get(e->m, tl_value_type(e->m, tl_operand(e->m, e->n, 0)));
  e->dtype = (tl_dtype)t->dtype;
  if (t->kind != TL_KIND_TENSOR || t->rank != 2)
    return "the features are not the columns of a matrix";
  if (e->dtype != TL_DTYPE_F32 && e->dtype != TL_DTYPE_F64)
    return "the features are not f32 or f64";
  *features = tl_dim_is_static(t->dims[1]) ? t->dims[1] : -1;
  return NULL;
}

/* Of two classes whose votes all are for one, that score decides alone. What a base value then
 * belongs to is certain only if there is one, and the votes are for class 0. */
static const char *read_pair(ensemble *e) {
  e->one = e->labels && e->targets == 2 && e->t.n_votes > 0;
  for (uint32_t i = 0; i < e->t.n_votes; i++) {
    e->one = e->one && e->t.vote_target[i] == e->t.vote_target[0];
    e->signed_votes = e->signed_votes || e->t.vote_weight[i] < 0;
  }
  const uint32_t most = !e->one ? (uint32_t)e->targets : e->t.vote_target[0] == 0 ? 1 : 0;
  return e->base.n && e->base.n != most ? "its base values are not one a target" : NULL;
}

static const char *read_rest(ensemble *e) {
  tl_sv how = tl_node_attr_string(e->m, e->n, TL_SYM_aggregate_function);
  e->transform = tl_node_attr_string(e->m, e->n, TL_SYM_post_transform);
  if (!e->labels && how.n && !tl_sv_is(how, "SUM") && !tl_sv_is(how, "AVERAGE"))
    return "votes are neither summed nor averaged";
  if (e->transform.n && !tl_sv_is(e->transform, "NONE") && !tl_sv_is(e->transform, "SOFTMAX") &&
      !tl_sv_is(e->transform, "LOGISTIC"))
    return "its post_transform has no form";
  const char *why = read_pair(e);
  if (why)
    return why;
  if ((uint64_t)e->t.n > (uint64_t)MOST_VOTES / (uint64_t)e->targets)
    return "it has too many nodes and targets";
  return !e->t.depth               ? "no tree has a node that decides"
         : e->t.depth > MOST_STEPS ? "a tree is too deep"
                                   : NULL;
}

static tl_status read_ensemble(ensemble *e, const char **why) {
  static const tl_vote_attrs classes = {TL_SYM_class_treeids, TL_SYM_class_nodeids,
                                        TL_SYM_class_ids, TL_SYM_class_weights,
                                        TL_SYM_class_weights_as_tensor};
  static const tl_vote_attrs targets = {TL_SYM_target_treeids, TL_SYM_target_nodeids,
                                        TL_SYM_target_ids, TL_SYM_target_weights,
                                        TL_SYM_target_weights_as_tensor};
  bool classifies = tl_node_get(e->m, e->n)->op == TL_OP_ai_onnx_ml_TreeEnsembleClassifier;
  const tl_attr *labels = tl_node_attr(e->m, e->n, TL_SYM_classlabels_int64s);
  int64_t features = -1;
  e->labels = classifies && labels && labels->kind == TL_ATTR_INTS && labels->count ? labels : NULL;
  e->targets = classifies ? (e->labels ? (int64_t)labels->count : 0)
                          : tl_node_attr_int(e->m, e->n, TL_SYM_n_targets, 1);
  *why = classifies && !e->labels ? "its labels are text" : read_shape(e, &features);
  if (*why || e->targets < 1 || e->targets > INT32_MAX) {
    *why = *why ? *why : "it has no targets";
    return TL_OK;
  }
  const tl_trees_wanted wanted = {classifies ? &classes : &targets, features, e->targets};
  TL_TRY(tl_trees_read(e->p, e->m, e->n, &wanted, &e->t));
  *why = e->t.why;
  TL_TRY(tl_attr_numbers_read(e->p, e->m, e->n, TL_SYM_base_values, TL_SYM_base_values_as_tensor,
                              &e->base));
  if (!*why)
    *why = read_rest(e);
  return TL_OK;
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* A score that decides alone is compared with 0.5, or with 0 if it is no probability. */
static tl_value_id label_of_two(ensemble *e, tl_value_id scores) {
  const double threshold = e->signed_votes ? 0 : 0.5;
  tl_value_id s = tl_make_squeeze(&e->k, sole_score(e, scores), 1);
  tl_value_id over = op2(e, TL_OP_Greater, s, tl_make_number(&e->k, TL_DTYPE_F32, threshold));
  tl_value_id first = tl_make_int(&e->k, e->labels->u.is[0]);
  tl_value_id second = tl_make_int(&e->k, e->labels->u.is[1]);
  return tl_make(&e->k, TL_OP_Where, over, second, first);
}

/* Of equal scores the first class wins, as with ArgMax. The scores before the transform decide. */
static tl_value_id label(ensemble *e, tl_value_id scores) {
  if (e->one)
    return label_of_two(e, scores);
  const tl_attr attrs[] = {tl_attr_int(TL_SYM_axis, 1), tl_attr_int(TL_SYM_keepdims, 0)};
  tl_node_spec spec = {.op = TL_OP_ArgMax,
                       .operands = &scores,
                       .n_operands = 1,
                       .n_results = 1,
                       .attrs = attrs,
                       .n_attrs = 2};
  tl_value_id best = scores ? tl_make_node(&e->k, &spec) : TL_NO_VALUE;
  return of(e, tl_make_ints(&e->k, e->labels->u.is, e->labels->count), best);
}

static tl_status replace(ensemble *e) {
  tl_value_id y = tl_result(e->m, e->n, 0), z = tl_result(e->m, e->n, 1);
  e->k = tl_maker_before(e->m, e->n);
  tl_value_id s = add_base(e, score(e, walk(e, tl_operand(e->m, e->n, 0))));
  tl_value_id best = e->labels && tl_value_get(e->m, y)->n_uses ? label(e, s) : TL_NO_VALUE;
  tl_value_id last = transform(e, s);
  TL_TRY(tl_maker_status(&e->k));
  if (best)
    tl_maker_replace(&e->k, y, best);
  if (!e->labels || z)
    tl_maker_replace(&e->k, e->labels ? z : y, last);
  TL_TRY(tl_maker_status(&e->k));
  tl_node_erase(e->m, e->n);
  return TL_OK;
}

static tl_status visit(tl_pass *p, tl_module *m, tl_node_id n, const tl_pinned *pinned) {
  const tl_node *node = tl_node_get(m, n);
  const char *why = NULL;
  if (node->op != TL_OP_ai_onnx_ml_TreeEnsembleClassifier &&
      node->op != TL_OP_ai_onnx_ml_TreeEnsembleRegressor)
    return TL_OK;
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_is_pinned(pinned, node->results + i))
      return TL_OK;
  ensemble e = {.p = p, .m = m, .n = n};
  tl_arena_mark mark = tl_arena_save(p->scratch);
  tl_status status = read_ensemble(&e, &why);
  if (status == TL_OK && why)
    tl_pass_remark(p, m, n, false, "not taken as steps: %s", why);
  else if (status == TL_OK && !node->control_in && !node->control_out && tl_pass_may_rewrite(p))
    status = replace(&e);
  tl_arena_rewind(p->scratch, mark);
  return status;
}

tl_status tl_pass_tree_steps(tl_pass *p, tl_module *m) { return tl_visit_nodes(p, m, visit); }
