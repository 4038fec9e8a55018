/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of classical machine learning: small models by hand, and hostile attributes. */
#include "tests/unit/eval_check.h"

/* One split on feature 0 at 1: leaves vote 10 and 20 for target 0. */
#define STUMP                                                                                      \
  "nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0],\n"                \
  "nodes_modes=[\"BRANCH_LEQ\", \"LEAF\", \"LEAF\"], nodes_values=[1.0, 0.0, 0.0],\n"              \
  "nodes_missing_value_tracks_true=[1, 0, 0]"
#define VOTES                                                                                      \
  "target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0], target_weights=[10.0, 20.0]"

static void trees(void) {
  /* 1 <= 1 and a missing value go left */
  eval_same("const %x = f32[3,1] [1.0, 2.0, nan]\n"
            "%z = ai.onnx.ml::TreeEnsembleRegressor(%x) {" STUMP ",\n"
            "nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0], " VOTES ",\n"
            "n_targets=1, base_values=[0.5]}\n"
            "const %want = f32[3,1] [10.5, 20.5, 10.5]");
  eval_refused("const %x = f32[1,1] [1.0]\n"
               "%z = ai.onnx.ml::TreeEnsembleRegressor(%x) {" STUMP ",\n"
               "nodes_truenodeids=[0, 0, 0], nodes_falsenodeids=[2, 0, 0], " VOTES "}",
               "tree 0 has a cycle");
  eval_refused("const %x = f32[1,1] [1.0]\n"
               "%z = ai.onnx.ml::TreeEnsembleRegressor(%x) {" STUMP ",\n"
               "nodes_truenodeids=[7, 0, 0], nodes_falsenodeids=[2, 0, 0], " VOTES "}",
               "has a child that does not exist");
  eval_refused("const %x = f32[1,1] [1.0]\n"
               "%z = ai.onnx.ml::TreeEnsembleRegressor(%x) {" STUMP ",\n"
               "nodes_truenodeids=[1, 0], nodes_falsenodeids=[2, 0, 0], " VOTES "}",
               "attribute nodes_truenodeids has 2 elements, expected 3");
  eval_refused("const %x = f32[1,0] []\n"
               "%z = ai.onnx.ml::TreeEnsembleRegressor(%x) {" STUMP ",\n"
               "nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0], " VOTES "}",
               "looks at feature 0 of 0");
}

static void linear_models(void) {
  /* 2*1 + 3*2 + 1 = 9 and 1*1 - 1*2 + 0 = -1 */
  eval_same("const %x = f32[1,2] [1.0, 2.0]\n"
            "%z = ai.onnx.ml::LinearRegressor(%x)\n"
            "    {coefficients=[2.0, 3.0, 1.0, -1.0], intercepts=[1.0, 0.0], targets=2}\n"
            "const %want = f32[1,2] [9.0, -1.0]");
  eval_same_pairs("const %x = f32[2] [1.0, 2.0]\n"
                  "%z0, %z1 = ai.onnx.ml::LinearClassifier(%x)\n"
                  "    {coefficients=[2.0, 3.0, 1.0, -1.0], classlabels_strings=[\"a\", \"b\"]}\n"
                  "const %want0 = str[1] [\"a\"]  const %want1 = f32[1,2] [8.0, -1.0]",
                  2);
  eval_refused("const %x = f32[1,2] [1.0, 2.0]\n"
               "%z = ai.onnx.ml::LinearRegressor(%x) {coefficients=[2.0, 3.0, 1.0]}",
               "3 coefficients do not fit 2 features");
}

static void lookups(void) {
  eval_same("const %x = str[3] [\"b\", \"c\", \"a\"]\n"
            "%z = ai.onnx.ml::LabelEncoder(%x)\n"
            "    {keys_strings=[\"a\", \"b\", \"a\"], values_int64s=[5, 6, 7], default_int64=-3}\n"
            "const %want = i64[3] [6, -3, 5]");
  eval_same("const %x = f32[2] [nan, 2.0]\n"
            "%z = ai.onnx.ml::LabelEncoder(%x)\n"
            "    {keys_floats=[nan], values_strings=[\"none\"]}\n"
            "const %want = str[2] [\"none\", \"_Unused\"]");
  eval_same("const %x = i64[2] [3, 9]  %z = ai.onnx.ml::OneHotEncoder(%x) {cats_int64s=[1, 3]}\n"
            "const %want = f32[2,2] [0.0, 1.0, 0.0, 0.0]");
  eval_refused("const %x = i64[1] [9]\n"
               "%z = ai.onnx.ml::OneHotEncoder(%x) {cats_int64s=[1, 3], zeros=0}",
               "element 0 is none of the categories");
  eval_refused("const %x = i64[1] [9]\n"
               "%z = ai.onnx.ml::LabelEncoder(%x) {keys_int64s=[1, 3], values_int64s=[1]}",
               "differ in length");
}

static void features(void) {
  eval_same("const %x = f32[2,3] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]  const %y = i64[2] [2, 0]\n"
            "%z = ai.onnx.ml::ArrayFeatureExtractor(%x, %y)\n"
            "const %want = f32[2,2] [3.0, 1.0, 6.0, 4.0]");
  eval_refused("const %x = f32[3] [1.0, 2.0, 3.0]  const %y = i64[1] [3]\n"
               "%z = ai.onnx.ml::ArrayFeatureExtractor(%x, %y)",
               "feature 3 of 3");
  eval_same("const %x = f32[1,2] [3.0, -4.0]  %z = ai.onnx.ml::Normalizer(%x) {norm=\"L2\"}\n"
            "const %want = f32[1,2] [0.6, -0.8]");
  eval_same("const %x = f32[2] [3.0, 4.0]\n"
            "%z = ai.onnx.ml::Scaler(%x) {offset=[1.0], scale=[2.0, 3.0]}\n"
            "const %want = f32[2] [4.0, 9.0]");
  eval_same("const %x = i64[2,2] [0, 1, 2, 0]\n"
            "%z = ai.onnx.ml::Imputer(%x) {imputed_value_int64s=[8, 9]}\n"
            "const %want = i64[2,2] [8, 1, 2, 9]");
  eval_same("const %x = f32[3] [0.0, nan, 2.0]  %z = ai.onnx.ml::Binarizer(%x) {threshold=1.0}\n"
            "const %want = f32[3] [0.0, 0.0, 1.0]");
}

static const unit_test tests[] = {
    {"trees and what is wrong with them", trees},
    {"linear models", linear_models},
    {"lookups", lookups},
    {"features", features},
    {NULL, NULL},
};

const unit_suite unit_suite_eval_ml = {"eval_ml", tests};
