/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of recurrence, attention, signals and random numbers. */
#include <string.h>

#include "tests/unit/eval_check.h"

/* With Affine (v) and no bias, a cell is plain arithmetic. */
static void recurrent_layers(void) {
  /* h1 = 1*2 + 0 = 2, h2 = 3*2 + 2*10 = 26 */
  eval_same("const %x = f32[2,1,1] [1.0, 3.0]  const %w = f32[1,1,1] [2.0]\n"
            "const %r = f32[1,1,1] [10.0]\n"
            "%z = RNN(%x, %w, %r) {activations=[\"Affine\"]}\n"
            "const %want = f32[2,1,1,1] [2.0, 26.0]");
  /* the same backwards: h2 = 6, h1 = 2 + 60 */
  eval_same("const %x = f32[2,1,1] [1.0, 3.0]  const %w = f32[1,1,1] [2.0]\n"
            "const %r = f32[1,1,1] [10.0]\n"
            "%z = RNN(%x, %w, %r) {activations=[\"affine\"], direction=\"reverse\"}\n"
            "const %want = f32[2,1,1,1] [62.0, 6.0]");
  /* the second row of the batch ends after one step: zeros follow, its state stays */
  eval_same_pairs("const %x = f32[2,2,1] [1.0, 1.0, 3.0, 3.0]  const %w = f32[1,1,1] [2.0]\n"
                  "const %r = f32[1,1,1] [10.0]  const %n = i32[2] [2, 1]\n"
                  "%z0, %z1 = RNN(%x, %w, %r, _, %n) {activations=[\"Affine\"]}\n"
                  "const %want0 = f32[2,1,2,1] [2.0, 2.0, 26.0, 0.0]\n"
                  "const %want1 = f32[1,2,1] [26.0, 2.0]",
                  2);
  /* an input is limited to 1.5 before the function sees it */
  eval_same("const %x = f32[1,1,1] [1.0]  const %w = f32[1,1,1] [2.0]\n"
            "const %r = f32[1,1,1] [10.0]\n"
            "%z = RNN(%x, %w, %r) {activations=[\"Affine\"], clip=1.5}\n"
            "const %want = f32[1,1,1,1] [1.5]");
  /* GRU, all functions Affine: z = 1, r = 2, g = 3 + r*(h*1) = 5; h = (1-z)*5 + z*1 = 1 */
  eval_same("const %x = f32[1,1,1] [1.0]  const %w = f32[1,3,1] [1.0, 2.0, 3.0]\n"
            "const %r = f32[1,3,1] [0.0, 0.0, 1.0]  const %h = f32[1,1,1] [1.0]\n"
            "%z = GRU(%x, %w, %r, _, _, %h) {activations=[\"Affine\", \"Affine\"]}\n"
            "const %want = f32[1,1,1,1] [1.0]");
  /* LSTM, i o f c = 1 2 3 4, c0 = 5: c = 3*5 + 1*4 = 19, h = 2*19 */
  eval_same_pairs("const %x = f32[1,1,1] [1.0]  const %w = f32[1,4,1] [1.0, 2.0, 3.0, 4.0]\n"
                  "const %r = f32[1,4,1] [0.0, 0.0, 0.0, 0.0]  const %c = f32[1,1,1] [5.0]\n"
                  "%z0, %z1, %z2 = LSTM(%x, %w, %r, _, _, _, %c)\n"
                  "    {activations=[\"Affine\", \"Affine\", \"Affine\"]}\n"
                  "const %want0 = f32[1,1,1,1] [38.0]  const %want1 = f32[1,1,1] [38.0]\n"
                  "const %want2 = f32[1,1,1] [19.0]",
                  3);
}

static void recurrent_refusals(void) {
  eval_refused("const %x = f32[1,1,1] [1.0]  const %w = f32[1,1,2] [2.0, 1.0]\n"
               "const %r = f32[1,1,1] [1.0]  %z = RNN(%x, %w, %r)",
               "dim 2 of operand 1 is 2, expected 1");
  eval_refused("const %x = f32[1,1,1] [1.0]  const %w = f32[1,1,1] [2.0]\n"
               "const %r = f32[1,1,1] [1.0]  const %n = i32[1] [2]\n"
               "%z = RNN(%x, %w, %r, _, %n)",
               "sequence length 2 is outside [0, 1]");
  eval_refused("const %x = f32[1,1,1] [1.0]  const %w = f32[1,1,1] [2.0]\n"
               "const %r = f32[1,1,1] [1.0]  %z = RNN(%x, %w, %r) {activations=[\"Cosh\"]}",
               "activation function 'Cosh' is not known");
}

static void attention(void) {
  /* equal scores: the mean of the values */
  eval_same("const %q = f32[1,1,1,1] [0.0]  const %k = f32[1,1,2,1] [1.0, 2.0]\n"
            "const %v = f32[1,1,2,1] [3.0, 5.0]  %z = Attention(%q, %k, %v)\n"
            "const %want = f32[1,1,1,1] [4.0]");
  /* a masked key is not seen; a row that sees none is zero */
  eval_same("const %q = f32[1,1,2,1] [0.0, 0.0]  const %k = f32[1,1,2,1] [1.0, 2.0]\n"
            "const %v = f32[1,1,2,1] [3.0, 5.0]\n"
            "const %m = bool[2,2] [false, true, false, false]\n"
            "%z = Attention(%q, %k, %v, %m)  const %want = f32[1,1,2,1] [5.0, 0.0]");
  /* causal: the first row sees the first key only */
  eval_same("const %q = f32[1,1,2,1] [0.0, 0.0]  const %k = f32[1,1,2,1] [1.0, 2.0]\n"
            "const %v = f32[1,1,2,1] [3.0, 5.0]\n"
            "%z = Attention(%q, %k, %v) {is_causal=1}  const %want = f32[1,1,2,1] [3.0, 4.0]");
  /* no key at all */
  eval_same("const %q = f32[1,1,1,1] [0.0]  const %k = f32[1,1,0,1] []\n"
            "const %v = f32[1,1,0,1] []  %z = Attention(%q, %k, %v)\n"
            "const %want = f32[1,1,1,1] [0.0]");
  eval_refused("const %q = f32[1,2,1,1] [0.0, 0.0]  const %k = f32[1,0,2,1] []\n"
               "const %v = f32[1,0,2,1] []  %z = Attention(%q, %k, %v)",
               "2 query heads cannot share 0 key heads");
  eval_refused("const %q = f32[1,1,4] [0.0, 0.0, 0.0, 0.0]\n"
               "%z = Attention(%q, %q, %q) {q_num_heads=3, kv_num_heads=3}",
               "attribute q_num_heads is 3, which does not divide 4");
}

static void contrib_attention(void) {
  /* equal scores; the second key is beyond the length of 1 and has no weight */
  eval_same("const %q = f32[1,1,1] [0.0]  const %k = f32[1,2,1] [1.0, 2.0]\n"
            "const %v = f32[1,2,1] [3.0, 5.0]  const %m = i32[1] [1]\n"
            "%z = com.microsoft::MultiHeadAttention(%q, %k, %v, _, %m) {num_heads=1}\n"
            "const %want = f32[1,1,1] [3.0]");
  /* weights make Q = 0, K = x, V = 2x + 1 */
  eval_same("const %x = f32[1,2,1] [1.0, 3.0]  const %w = f32[1,3] [0.0, 1.0, 2.0]\n"
            "const %b = f32[3] [0.0, 0.0, 1.0]\n"
            "%z = com.microsoft::Attention(%x, %w, %b) {num_heads=1}\n"
            "const %want = f32[1,2,1] [5.0, 5.0]");
  /* one row in the cache, one new: both are seen, the third place stays empty */
  eval_same_pairs("const %q = f32[1,1,1] [0.0]  const %k = f32[1,1,1] [1.0]\n"
                  "const %v = f32[1,1,1] [3.0]  const %p = f32[1,1,3,1] [5.0, 9.0, 9.0]\n"
                  "const %s = i32[1] [1]  const %t = i32[1] [2]\n"
                  "%z0, %y, %z1 = com.microsoft::GroupQueryAttention(%q, %k, %v, %p, %p, %s, %t)\n"
                  "    {num_heads=1, kv_num_heads=1}\n"
                  "const %want0 = f32[1,1,1] [4.0]  const %want1 = f32[1,1,3,1] [5.0, 3.0, 0.0]",
                  2);
  eval_refused("const %q = f32[1,1,1] [0.0]  const %p = f32[1,1,3,1] [5.0, 9.0, 9.0]\n"
               "const %s = i32[1] [7]  const %t = i32[1] [8]\n"
               "%z, %y, %w = com.microsoft::GroupQueryAttention(%q, %q, %q, %p, %p, %s, %t)\n"
               "    {num_heads=1, kv_num_heads=1}",
               "the past has 3 rows, 7 are used");
}

static void rotation(void) {
  /* a quarter turn of the pair (1, 2) */
  eval_same("const %x = f32[1,1,1,2] [1.0, 2.0]  const %c = f32[3,1] [1.0, 1.0, 0.0]\n"
            "const %s = f32[3,1] [0.0, 0.0, 1.0]  const %p = i64[1,1] [2]\n"
            "%z = RotaryEmbedding(%x, %c, %s, %p)  const %want = f32[1,1,1,2] [-2.0, 1.0]");
  eval_refused("const %x = f32[1,1,1,2] [1.0, 2.0]  const %c = f32[1,1] [1.0]\n"
               "const %p = i64[1,1] [1]  %z = RotaryEmbedding(%x, %c, %c, %p)",
               "position 1 is outside the caches of 1 rows");
}

static void transforms(void) {
  /* 1, 2, 3: sum 6, then 1 + 2w + 3w^2 */
  eval_near("const %x = f64[1,3,1] [1.0, 2.0, 3.0]  %z = DFT(%x)\n"
            "const %want = f64[1,3,2] [6.0, 0.0, -1.5, 0.8660254037844386,\n"
            "                          -1.5, -0.8660254037844386]",
            1e-14, 1e-14);
  /* the one-sided inverse of (6, -1.5 + 0.866i) with three points is the line again */
  eval_near("const %x = f64[1,2,2] [6.0, 0.0, -1.5, 0.8660254037844386]\n"
            "const %n = i64[] [3]  %z = DFT(%x, %n) {inverse=1, onesided=1}\n"
            "const %want = f64[1,3,1] [1.0, 2.0, 3.0]",
            1e-14, 1e-14);
  /* frames (1,2) and (3,4): sums and differences */
  eval_near("const %x = f32[1,4] [1.0, 2.0, 3.0, 4.0]  const %s = i64[] [2]\n"
            "const %n = i64[] [2]  %z = STFT(%x, %s, _, %n)\n"
            "const %want = f32[1,2,2,2] [3.0, 0.0, -1.0, 0.0, 7.0, 0.0, -1.0, 0.0]",
            1e-6, 1e-6);
  eval_near("const %n = i64[] [4]  %z = HannWindow(%n)\n"
            "const %want = f32[4] [0.0, 0.5, 1.0, 0.5]",
            1e-6, 1e-7);
  eval_refused("const %x = f32[1,3,1] [1.0, 2.0, 3.0]  const %n = i64[] [0]  %z = DFT(%x, %n)",
               "dft_length is 0");
  eval_refused("const %x = f32[1,3,1] [1.0, 2.0, 3.0]  const %n = i64[] [4611686018427387904]\n"
               "%z = DFT(%x, %n)",
               "more elements than can be counted");
  eval_refused("const %x = f32[1,3,1] [1.0, 2.0, 3.0]  const %n = i64[] [1000000000]\n"
               "%z = DFT(%x, %n)",
               "limit");
  eval_refused("const %n = i64[] [-1]  %z = HannWindow(%n)", "dim -1");
  eval_refused("const %n = i64[] [4000000000000]  %z = HannWindow(%n)", "limit");
}

static void random_numbers(void) {
  /* a class of probability 1, and chances of 0 and 1 */
  eval_same("const %x = f32[1,3] [-inf, 0.0, -inf]  %z = Multinomial(%x) {sample_size=4}\n"
            "const %want = i32[1,4] [1, 1, 1, 1]");
  eval_same("const %x = f32[4] [0.0, 1.0, 0.0, 1.0]  %z = Bernoulli(%x)\n"
            "const %want = f32[4] [0.0, 1.0, 0.0, 1.0]");
  /* the numbers of a seed are the same everywhere, for ever */
  eval_same("%z = RandomUniform() {shape=[2], low=3.0, high=3.0, seed=1.0}\n"
            "const %want = f32[2] [3.0, 3.0]");
  eval_refused("%z = RandomNormal() {shape=[2, -1]}", "dim -1");
}

static const unit_test tests[] = {
    {"recurrent layers", recurrent_layers},
    {"recurrent layers refuse what does not fit", recurrent_refusals},
    {"attention", attention},
    {"attention of ONNX Runtime", contrib_attention},
    {"rotary embedding", rotation},
    {"transforms and windows", transforms},
    {"random numbers", random_numbers},
    {NULL, NULL},
};

const unit_suite unit_suite_eval_rnn = {"eval_rnn", tests};
