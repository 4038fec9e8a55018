/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, normalizations, losses, optimizers. */
#include "tests/unit/eval_check.h"

#define ROW "const %x = f32[1,4] [1.0, 2.0, 3.0, 4.0]\n"

static void softmax_survives_large_numbers(void) {
  eval_near("const %x = f32[2,2] [1000.0, 1000.0, 0.0, 1.0986123]  %z = Softmax(%x)\n"
            "const %want = f32[2,2] [0.5, 0.5, 0.25, 0.75]",
            1e-6, 0);
  eval_near("const %x = f32[2,2] [0.0, 5.0, 1.0986123, 5.0]  %z = Softmax(%x) {axis=0}\n"
            "const %want = f32[2,2] [0.25, 0.5, 0.75, 0.5]",
            1e-6, 0);
  eval_near("const %x = f32[2] [1000.0, 1000.0]  %z = LogSoftmax(%x)\n"
            "const %want = f32[2] [-0.6931472, -0.6931472]",
            1e-6, 0);
  eval_same("const %x = f32[3] [1.0, 7.0, 7.0]  %z = Hardmax(%x)\n"
            "const %want = f32[3] [0.0, 1.0, 0.0]");
  eval_same("const %x = f32[] 7.0  %z = Softmax(%x)  const %want = f32[] 1.0");
  eval_same("const %x = f32[2,0] []  %z = Softmax(%x)  const %want = f32[2,0] []");
  eval_near("const %x = f64[2] [0.0, 0.0]  %z = Softmax(%x)  const %want = f64[2] [0.5, 0.5]", 0,
            0);
  eval_refused(ROW "%z = Softmax(%x) {axis=2}", "outside [-2, 1]");
}

static void bias_softmax_broadcasts_its_bias(void) {
  eval_near("const %x = f32[2,2] [0.0, 0.0, 1.0, 0.0]  const %b = f32[1,2] [0.0, 1.0986123]\n"
            "%z = com.microsoft::BiasSoftmax(%x, %b) {is_inner_broadcast=0}\n"
            "const %want = f32[2,2] [0.25, 0.75, 0.4753668, 0.5246332]",
            1e-6, 0);
  eval_refused("const %x = f32[2] [0.0, 0.0]  const %b = f32[3] [0.0, 0.0, 0.0]\n"
               "%z = com.microsoft::BiasSoftmax(%x, %b) {axis=0, is_inner_broadcast=0}",
               "cannot be broadcast");
}

static void softmax_gradients_sum_to_zero(void) {
  /* y = (1/4, 3/4), dy = (1, 0): dx = y * (dy - 1/4) */
  eval_near("const %d = f32[2] [1.0, 0.0]  const %y = f32[2] [0.25, 0.75]\n"
            "%z = com.microsoft::SoftmaxGrad_13(%d, %y)\n"
            "const %want = f32[2] [0.1875, -0.1875]",
            1e-6, 0);
  eval_refused("const %d = f32[2] [1.0, 0.0]  const %y = f32[1] [0.25]\n"
               "%z = com.microsoft::SoftmaxGrad_13(%d, %y)",
               "differ in shape");
}

/* mean 2.5, variance 1.25, inverse deviation 0.8944272 */
static void layer_norm_gives_its_statistics(void) {
  eval_near(ROW "const %s = f32[4] [1.0, 1.0, 2.0, 2.0]  const %b = f32[1] [1.0]\n"
                "%z = LayerNormalization(%x, %s, %b) {epsilon=0.0}\n"
                "const %want = f32[1,4] [-0.3416408, 0.5527864, 1.8944272, 3.6832816]",
            1e-6, 0);
  eval_near(ROW "const %s = f32[] 1.0  %y, %m, %z = LayerNormalization(%x, %s) {epsilon=0.0}\n"
                "const %want = f32[1,1] [0.8944272]",
            1e-6, 0);
  /* root mean square: sqrt(30 / 4) */
  eval_near(ROW "const %s = f32[4] [1.0, 1.0, 1.0, 1.0]\n"
                "%z = SimplifiedLayerNormalization(%x, %s) {epsilon=0.0}\n"
                "const %want = f32[1,4] [0.3651484, 0.7302967, 1.0954451, 1.4605935]",
            1e-6, 0);
  eval_near(ROW "const %k = f32[4] [1.0, 0.0, 0.0, -1.0]  const %s = f32[4] [1.0, 1.0, 1.0, 1.0]\n"
                "%y, %m, %i, %z = com.microsoft::SkipLayerNormalization(%x, %k, %s)\n"
                "const %want = f32[1,4] [2.0, 2.0, 3.0, 3.0]",
            0, 0);
  eval_refused(ROW "const %s = f32[3] [1.0, 1.0, 1.0]  %z = LayerNormalization(%x, %s)",
               "cannot be broadcast");
  eval_refused(ROW "const %s = f32[2,4] [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]\n"
                   "%z = LayerNormalization(%x, %s)",
               "larger shape");
}

#define CHANNELS "const %x = f32[1,2,2] [1.0, 3.0, 10.0, 30.0]\n"

static void channel_norms_use_their_channel(void) {
  eval_near(CHANNELS "const %s = f32[2] [1.0, 2.0]  const %b = f32[2] [0.0, 5.0]\n"
                     "const %m = f32[2] [1.0, 10.0]  const %v = f32[2] [4.0, 100.0]\n"
                     "%z = BatchNormalization(%x, %s, %b, %m, %v) {epsilon=0.0}\n"
                     "const %want = f32[1,2,2] [0.0, 1.0, 5.0, 9.0]",
            1e-6, 0);
  /* batch mean 2 and 20, variance 1 and 100 */
  eval_near(CHANNELS "const %s = f32[2] [1.0, 2.0]  const %m = f32[2] [0.0, 0.0]\n"
                     "%y, %z, %v = BatchNormalization(%x, %s, %m, %m, %m)\n"
                     "  {training_mode=1, momentum=0.5}\n"
                     "const %want = f32[2] [1.0, 10.0]",
            1e-6, 0);
  eval_near(CHANNELS "const %s = f32[2] [1.0, 2.0]  const %b = f32[2] [0.0, 1.0]\n"
                     "%z = InstanceNormalization(%x, %s, %b) {epsilon=0.0}\n"
                     "const %want = f32[1,2,2] [-1.0, 1.0, -1.0, 3.0]",
            1e-6, 0);
  eval_near(CHANNELS "%z = LpNormalization(%x) {p=1}\n"
                     "const %want = f32[1,2,2] [0.25, 0.75, 0.25, 0.75]",
            1e-6, 0);
  eval_near(CHANNELS "%z = MeanVarianceNormalization(%x) {axes=[2]}\n"
                     "const %want = f32[1,2,2] [-1.0, 1.0, -1.0, 1.0]",
            1e-6, 0);
  /* a window of the channel and the next one: 1 / (1 + (1 + 100) / 2), 10 / (1 + 100 / 2) */
  eval_near(CHANNELS
            "%z = LRN(%x) {size=2, alpha=1.0, beta=1.0}\n"
            "const %want = f32[1,2,2] [0.019417476, 0.0065861690, 0.19607843, 0.066518847]",
            1e-6, 0);
  eval_refused(CHANNELS "const %s = f32[3] [1.0, 1.0, 1.0]\n"
                        "%z = InstanceNormalization(%x, %s, %s)",
               "expected 2");
  eval_refused(CHANNELS "const %s = f32[2] [1.0, 1.0]\n"
                        "%z = GroupNormalization(%x, %s, %s) {num_groups=3}",
               "divided into 3 groups");
  eval_refused(CHANNELS "%z = LRN(%x) {size=0}", "size is 0");
}

static void losses_skip_the_ignored_label(void) {
  eval_same("const %x = f32[3,2] [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]\n"
            "const %t = i64[3] [0, -1, 1]\n"
            "%z = NegativeLogLikelihoodLoss(%x, %t) {ignore_index=-1}\n"
            "const %want = f32[] 3.5");
  eval_same("const %x = f32[2,2] [-1.0, -2.0, -3.0, -4.0]  const %t = i64[2] [0, 1]\n"
            "const %w = f32[2] [1.0, 3.0]\n"
            "%z = NegativeLogLikelihoodLoss(%x, %t, %w) {reduction=\"none\"}\n"
            "const %want = f32[2] [1.0, 12.0]");
  eval_near("const %x = f32[1,2] [0.0, 1.0986123]  const %t = i64[1] [1]\n"
            "%z = SoftmaxCrossEntropyLoss(%x, %t)  const %want = f32[] 0.2876821",
            1e-6, 0);
  eval_refused("const %x = f32[1,2] [0.0, 1.0]  const %t = i64[1] [2]\n"
               "%z = SoftmaxCrossEntropyLoss(%x, %t)",
               "label 2 is none of 2 classes");
  eval_refused("const %x = f32[1,2] [0.0, 1.0]  const %t = i64[2] [0, 0]\n"
               "%z = SoftmaxCrossEntropyLoss(%x, %t)",
               "expected 1");
}

static void optimizers_take_one_step(void) {
  eval_near("const %r = f32[] 0.5  const %t = i64[] 0  const %x = f32[1] [1.0]\n"
            "const %g = f32[1] [2.0]  const %h = f32[1] [0.0]\n"
            "%z, %n = ai.onnx.preview.training::Adagrad(%r, %t, %x, %g, %h) {epsilon=0.0}\n"
            "const %want = f32[1] [0.5]",
            1e-6, 0);
  eval_near("const %r = f32[] 0.5  const %w = f32[2] [1.0, 2.0]  const %g = f32[2] [2.0, -2.0]\n"
            "%z = com.microsoft::SGDOptimizer(%r, %w, %g)  const %want = f32[2] [0.0, 3.0]",
            0, 0);
}

static const unit_test tests[] = {
    {"softmax survives large numbers", softmax_survives_large_numbers},
    {"BiasSoftmax broadcasts its bias", bias_softmax_broadcasts_its_bias},
    {"softmax gradients sum to zero", softmax_gradients_sum_to_zero},
    {"layer norm gives its statistics", layer_norm_gives_its_statistics},
    {"channel norms use their channel", channel_norms_use_their_channel},
    {"losses skip the ignored label", losses_skip_the_ignored_label},
    {"optimizers take one step", optimizers_take_one_step},
    {NULL, NULL},
};

const unit_suite unit_suite_eval_norm = {"eval_norm", tests};
