/* SPDX-License-Identifier: Apache-2.0 */
/* Computed tensors: values, reading in pieces, what is refused, equality, and that a node said as
 * an expression has the bits its kernel gives. */
#include <stdio.h>
#include <stdlib.h>

#include "ir/express.h"
#include "ir/infer/infer.h"
#include "ir/text/parse.h"
#include "ir/text/print.h"
#include "tests/unit/eval_check.h"

static void test_values(void) {
  eval_same("const %z: f16[3] = cast(f32[3] [1.0, 65520.0, 0.1])"
            "const %want: f16[3] = [1.0, inf, 0.1]");
  eval_same("const %z: f32[2] = cast(i8[2] [-128, 127])  const %want: f32[2] = [-128.0, 127.0]");
  /* the first of two in the low bits */
  eval_same("const %z: f32[3] = cast(u4[3] hex(\"f10a\"))"
            "const %want: f32[3] = [1.0, 15.0, 10.0]");
  eval_same("const %z: f32[3] = cast(i4[3] hex(\"f80a\"))"
            "const %want: f32[3] = [-8.0, -1.0, -6.0]");
  eval_same("const %z: f32[2] = view(f32[4] cast(u4[4] hex(\"2143\")), 1, [2], [2])"
            "const %want: f32[2] = [2.0, 4.0]");
  eval_same("const %z: i32[2] = cast(i64[2] [-1, 7])  const %want: i32[2] = [-1, 7]");
  eval_same("const %z: f64[1] = cast(f16[1] [0.5])  const %want: f64[1] = [0.5]");
  eval_same("const %z: f32[3,2] = view(f32[2,3] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0, [3, 2], [1, 3])"
            "const %want: f32[3,2] = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]");
  eval_same("const %z: bool[4] = view(bool[2] [true, false], 1, [2, 2], [-1, 0])"
            "const %want: bool[4] = [false, false, true, true]");
  /* dims that repeat, dims of one, and dims that are walked like one */
  eval_same("const %z: f32[2,1,2,2] = mul(f32[2,1,2,2] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], "
            "f32[2,1,2,2] view(f32[2] [1.0, 10.0], 0, [2, 1, 2, 2], [1, 0, 0, 0]))"
            "const %want: f32[2,1,2,2] = [1.0, 2.0, 3.0, 4.0, 50.0, 60.0, 70.0, 80.0]");
  eval_same("const %z: i8[2,2,2] = view(i8[8] [1, 2, 3, 4, 5, 6, 7, 8], 7, [2, 2, 2], [-4, -2, -1])"
            "const %want: i8[2,2,2] = [8, 7, 6, 5, 4, 3, 2, 1]");
  eval_same("const %z: i8[1,1] = view(i8[2] [1, 2], 1, [1, 1], [3, 5])"
            "const %want: i8[1,1] = [2]");
  eval_same("const %z: i64[6] = concat(2, i64[4] [1, 2, 3, 4], i64[2] [8, 9])"
            "const %want: i64[6] = [1, 2, 8, 3, 4, 9]");
  eval_same("const %z: f32[4] = div(f32[4] [1.0, 1.0, 0.0, -6.0], f32[4] [4.0, 0.0, 1.0, 3.0])"
            "const %want: f32[4] = [0.25, inf, 0.0, -2.0]");
  /* 2048 + 1 has no f16: the sum is rounded once, to even */
  eval_same("const %z: f16[1] = add(f16[1] [2048.0], f16[1] [1.0])"
            "const %want: f16[1] = [2048.0]");
  eval_same("const %z: bf16[1] = sub(bf16[1] [1.0], bf16[1] [0.5])  const %want: bf16[1] = [0.5]");
  /* out of range becomes the largest number; 65519 rounds down to it; NaN stays */
  eval_same("const %z: f16[5] = clamp(f32[5] [100000.0, -inf, 65519.0, nan, -3.0])"
            "const %want: f16[5] = [65504.0, -65504.0, 65504.0, nan, -3.0]");
  eval_same("const %z: bf16[2] = clamp(f32[2] [inf, 3.4e38])"
            "const %want: bf16[2] = [3.3895314e38, 3.3895314e38]");
  /* bytes are compared with their sign, if they have one */
  eval_same("const %z: i8[3] = min(i8[3] [-1, 5, -128], i8[3] [1, 4, 127])"
            "const %want: i8[3] = [-1, 4, -128]");
  eval_same("const %z: u8[3] = max(u8[3] [255, 5, 128], u8[3] [1, 6, 127])"
            "const %want: u8[3] = [255, 6, 128]");
  eval_same("const %z: f64[1] = mul(f64[1] [3.0], f64[1] [0.25])  const %want: f64[1] = [0.75]");
}

static void test_nested(void) {
  eval_same("const %z: f32[2,2] = view(f32[2,3] mul(f32[6] cast(f16[6] [1.0, 2.0, 3.0, 4.0, 5.0, "
            "6.0]), f32[2,3] view(f32[2] [1.0, 10.0], 0, [2, 3], [1, 0])), 5, [2, 2], [-3, -2])"
            "const %want: f32[2,2] = [60.0, 40.0, 3.0, 1.0]");
}

/* Every range of a tensor reads as part of the whole, and so do its blocks. */
static void check_pieces(const tl_tensor *t, uint64_t n, size_t size) {
  unsigned char *all = malloc((size_t)n * size);
  unsigned char *part = malloc((size_t)n * size);
  CU_ASSERT_PTR_NOT_NULL_FATAL(all);
  CU_ASSERT_PTR_NOT_NULL_FATAL(part);
  tl_tensor_read(t, 0, n, all);
  for (uint64_t i = 0, first = 0; i < 200; i++, first = (first * 7 + 13) % n) {
    uint64_t count = (i * 97) % (n - first) + 1;
    tl_tensor_read(t, first, count, part);
    CU_ASSERT_EQUAL(memcmp(part, all + first * size, (size_t)count * size), 0);
  }
  tl_tensor_room room;
  size_t got;
  for (uint64_t at = 0; at < t->bytes; at += got) {
    const void *p = tl_tensor_block(t, at, &room, &got);
    CU_ASSERT_TRUE_FATAL(p && got > 0 && got <= t->bytes - at);
    CU_ASSERT_EQUAL(memcmp(p, all + at, got), 0);
  }
  free(all);
  free(part);
}

static void test_pieces(void) {
  eval_run r;
  float numbers[3000];
  for (int i = 0; i < 3000; i++)
    numbers[i] = (float)i / 7.0f;
  eval_run_open(&r, "graph @g() -> (%z) { const %z: f32[] = 1.0 }", false, NULL, NULL);
  tl_module *m = r.m;
  int64_t shape[] = {60, 50};
  tl_type_id f32 = tl_type_tensor(m, TL_DTYPE_F32, 2, shape);
  tl_type_id f16 = tl_type_tensor(m, TL_DTYPE_F16, 2, shape);
  const tl_tensor *base = tl_tensor_get(m, tl_tensor_from_bytes(m, f32, numbers, sizeof numbers));
  const tl_tensor *pair[2] = {base, base};
  tl_tensor_expr view = {.kind = TL_TENSOR_EXPR_VIEW,
                         .rank = 3,
                         .start = 2999,
                         .n_sources = 1,
                         .sources = pair,
                         .dims = {4, 15, 50},
                         .strides = {-15, -1, -60}};
  CU_ASSERT_PTR_NULL_FATAL(tl_tensor_expr_problem(m, f32, &view));
  const tl_tensor *turned = tl_tensor_get(m, tl_tensor_express(m, f32, &view));
  check_pieces(turned, 3000, 4);
  pair[1] = turned;
  tl_tensor_expr sum = {.kind = TL_TENSOR_EXPR_ADD, .n_sources = 2, .sources = pair};
  const tl_tensor *added = tl_tensor_get(m, tl_tensor_express(m, f32, &sum));
  check_pieces(added, 3000, 4);
  float last;
  tl_tensor_read(added, 2999, 1, &last);
  CU_ASSERT_EQUAL(last, numbers[2999] + numbers[2999 - 45 - 14 - 49 * 60]);
  tl_tensor_expr cast = {.kind = TL_TENSOR_EXPR_CAST, .n_sources = 1, .sources = &added};
  check_pieces(tl_tensor_get(m, tl_tensor_express(m, f16, &cast)), 3000, 2);
  tl_type_id u4 = tl_type_tensor(m, TL_DTYPE_U4, 2, shape);
  const tl_tensor *small = tl_tensor_get(m, tl_tensor_from_bytes(m, u4, numbers, 1500));
  tl_tensor_expr unpacked = {.kind = TL_TENSOR_EXPR_CAST, .n_sources = 1, .sources = &small};
  check_pieces(tl_tensor_get(m, tl_tensor_express(m, f32, &unpacked)), 3000, 4);
  tl_tensor_expr clamp = {.kind = TL_TENSOR_EXPR_CLAMP, .n_sources = 1, .sources = &added};
  check_pieces(tl_tensor_get(m, tl_tensor_express(m, f16, &clamp)), 3000, 2);
  int64_t wide[] = {60, 100};
  tl_type_id both = tl_type_tensor(m, TL_DTYPE_F32, 2, wide);
  tl_tensor_expr concat = {
      .kind = TL_TENSOR_EXPR_CONCAT, .outer = 60, .n_sources = 2, .sources = pair};
  check_pieces(tl_tensor_get(m, tl_tensor_express(m, both, &concat)), 6000, 4);
  eval_run_close(&r);
}

/* The runs of memory that a tensor is made of are its bytes, from any byte on; a tensor whose runs
 * are short, or that is computed, has none. */
static void test_runs(void) {
  enum { ROWS = 6, FIRST = 500, SECOND = 400, ALL = FIRST + SECOND };
  static float numbers[ROWS * FIRST], all[ROWS * ALL];
  eval_run r;
  for (int i = 0; i < ROWS * FIRST; i++)
    numbers[i] = (float)i;
  eval_run_open(&r, "graph @g() -> (%z) { const %z: f32[] = 1.0 }", false, NULL, NULL);
  tl_module *m = r.m;
  const int64_t widths[] = {FIRST, SECOND, ALL};
  tl_type_id types[3];
  for (int i = 0; i < 3; i++)
    types[i] = tl_type_tensor(m, TL_DTYPE_F32, 2, (int64_t[]){ROWS, widths[i]});
  const tl_tensor *pair[2];
  for (int i = 0; i < 2; i++)
    pair[i] = tl_tensor_get(
        m, tl_tensor_from_bytes(m, types[i], numbers, (size_t)(ROWS * widths[i]) * 4));
  tl_tensor_expr concat = {
      .kind = TL_TENSOR_EXPR_CONCAT, .outer = ROWS, .n_sources = 2, .sources = pair};
  const tl_tensor *t = tl_tensor_get(m, tl_tensor_express(m, types[2], &concat));
  tl_tensor_read(t, 0, ROWS * ALL, all);
  for (uint64_t start = 0; start <= t->bytes; start += 499) {
    tl_sv runs[5];
    uint64_t at = start, n;
    for (uint32_t k; (k = tl_tensor_runs(t, at, runs, 5, &n)) != 0;)
      for (uint32_t i = 0; i < k; at += runs[i++].n) {
        CU_ASSERT_FATAL(runs[i].n <= t->bytes - at);
        CU_ASSERT_EQUAL(memcmp(runs[i].p, (char *)all + at, runs[i].n), 0);
      }
    CU_ASSERT_EQUAL(at, t->bytes);
  }
  tl_sv run;
  uint64_t n;
  concat.outer = ROWS * 4;
  const tl_tensor *narrow = tl_tensor_get(m, tl_tensor_express(m, types[2], &concat));
  CU_ASSERT_EQUAL(tl_tensor_runs(narrow, 0, &run, 1, &n), 0);
  tl_tensor_expr sum = {
      .kind = TL_TENSOR_EXPR_ADD, .n_sources = 2, .sources = (const tl_tensor *[]){t, t}};
  CU_ASSERT_EQUAL(
      tl_tensor_runs(tl_tensor_get(m, tl_tensor_express(m, types[2], &sum)), 0, &run, 1, &n), 0);
  eval_run_close(&r);
}

/* Weights of 40 channels with 75 numbers each, scaled and shifted by one number for each channel:
 * pieces begin and end within the numbers of a channel. */
static void test_repeated(void) {
  eval_run r;
  float numbers[3000];
  for (int i = 0; i < 3000; i++)
    numbers[i] = (float)i / 7.0f;
  eval_run_open(&r, "graph @g() -> (%z) { const %z: f32[] = 1.0 }", false, NULL, NULL);
  tl_module *m = r.m;
  int64_t shape[] = {40, 75};
  tl_type_id f32 = tl_type_tensor(m, TL_DTYPE_F32, 2, shape);
  const tl_tensor *base = tl_tensor_get(m, tl_tensor_from_bytes(m, f32, numbers, sizeof numbers));
  tl_tensor_expr view = {.kind = TL_TENSOR_EXPR_VIEW,
                         .rank = 2,
                         .start = 39,
                         .n_sources = 1,
                         .sources = &base,
                         .dims = {40, 75},
                         .strides = {-1, 0}};
  const tl_tensor *pair[2] = {base, tl_tensor_get(m, tl_tensor_express(m, f32, &view))};
  tl_tensor_expr scaled = {.kind = TL_TENSOR_EXPR_MUL, .n_sources = 2, .sources = pair};
  tl_tensor_expr shifted = {.kind = TL_TENSOR_EXPR_ADD, .n_sources = 2, .sources = pair};
  const tl_tensor *product = tl_tensor_get(m, tl_tensor_express(m, f32, &scaled));
  const tl_tensor *sum = tl_tensor_get(m, tl_tensor_express(m, f32, &shifted));
  float products[3000], sums[3000];
  tl_tensor_read(product, 0, 3000, products);
  tl_tensor_read(sum, 0, 3000, sums);
  for (int i = 0; i < 3000; i++) {
    CU_ASSERT_EQUAL(products[i], numbers[i] * numbers[39 - i / 75]);
    CU_ASSERT_EQUAL(sums[i], numbers[i] + numbers[39 - i / 75]);
  }
  check_pieces(product, 3000, 4);
  check_pieces(sum, 3000, 4);
  eval_run_close(&r);
}

static void remember(void *user, const tl_diagnostic *d) { snprintf(user, 512, "%s", d->message); }

static void refuse(const char *constant, const char *part) {
  char text[1024];
  char message[512] = "";
  tl_diag diag = {.fn = remember, .user = message};
  tl_module *m = NULL;
  snprintf(text, sizeof text, "graph @g(%%x: f32[1]) -> (%%x) { const %s }", constant);
  CU_ASSERT_NOT_EQUAL(tl_module_parse(&diag, "t.tir", tl_sv_from(text), &m), TL_OK);
  CU_ASSERT_PTR_NULL(m);
  if (!strstr(message, part))
    printf("\n  %s\n    says: %s\n", constant, message);
  CU_ASSERT_PTR_NOT_NULL(strstr(message, part));
}

static void test_refused(void) {
  refuse("%c: f32[2] = cast(str[2] [\"a\", \"b\"])", "whole bytes");
  refuse("%c: u4[2] = view(u4[2] hex(\"21\"), 0, [2], [1])", "whole bytes");
  refuse("%c: i64[2] = cast(u4[2] hex(\"21\"))", "element types");
  refuse("%c: f32[3] = cast(f16[2] [1.0, 2.0])", "elements");
  refuse("%c: bf16[1] = cast(f64[1] [1.0])", "element types");
  refuse("%c: f16[1] = clamp(i32[1] [1])", "element types");
  refuse("%c: i64[1] = add(i64[1] [1], i64[1] [2])", "arithmetic");
  refuse("%c: f32[1] = max(f32[1] [1.0], f32[1] [2.0])", "arithmetic");
  refuse("%c: u8[1] = mul(u8[1] [1], u8[1] [2])", "arithmetic");
  refuse("%c: f32[1] = add(f32[1] [1.0])", "number of sources");
  refuse("%c: f32[0] = view(f32[1] [1.0], 0, [1], [1])", "at least one");
  refuse("%c: f32[3] = view(f32[2] [1.0, 2.0], 0, [3], [1])", "leaves its source");
  refuse("%c: f32[2] = view(f32[2] [1.0, 2.0], 0, [2], [-1])", "leaves its source");
  refuse("%c: f32[2] = view(f32[2] [1.0, 2.0], 2, [2], [0])", "outside");
  refuse("%c: f32[2] = view(f32[2] [1.0, 2.0], 18446744073709551615, [2], [1])", "outside");
  refuse("%c: f32[2] = view(f32[2] [1.0, 2.0], 0, [2], [9223372036854775807])", "leaves");
  refuse("%c: f32[2] = view(f32[2] [1.0, 2.0], 1, [2], [-9223372036854775808])", "leaves");
  refuse("%c: f32[2] = view(f32[2] [1.0, 2.0], 0, [9223372036854775807, 4], [0, 0])", "too large");
  refuse("%c: f32[281474976710656] = view(f32[1] [1.0], 0, [281474976710656], [0])", "too large");
  refuse("%c: f32[1] = view(f32[1] [1.0], 0, [], [])", "no dims");
  refuse("%c: f32[1] = view(f32[1] [1.0], 0, [1,1,1,1,1,1,1,1,1], [1])", "at most");
  refuse("%c: f32[1] = view(f32[1] [1.0], 0, [1], [1, 1])", "strides");
  refuse("%c: f32[3] = concat(2, f32[3] [1.0, 2.0, 3.0])", "pieces");
  refuse("%c: f32[3] = concat(0, f32[3] [1.0, 2.0, 3.0])", "pieces");
  refuse("%c: f32[1] = cast(f32[1] cast(f32[1] cast(f32[1] cast(f32[1] cast(f32[1] cast(f32[1] "
         "cast(f32[1] cast(f32[1] cast(f32[1] [1.0])))))))))",
         "deep");
}

static void test_equal(void) {
  eval_run r;
  eval_run_open(&r,
                "graph @g() -> (%a, %b, %c, %d) {"
                "const %a: f32[2] = cast(f16[2] [1.0, 2.0])  const %b: f32[2] = [1.0, 2.0]"
                "const %c: f32[2] = view(f32[2] [1.0, 2.0], 1, [2], [-1])"
                "const %d: f32[2] = view(f32[2] [1.0, 2.0], 0, [2], [1]) }",
                false, NULL, NULL);
  const tl_tensor *t[4];
  for (uint32_t i = 0; i < 4; i++)
    t[i] = tl_value_constant(r.m, tl_graph_output(r.m, tl_module_main(r.m), i));
  CU_ASSERT_TRUE(tl_tensor_equal(r.m, t[0], t[1], 100));
  CU_ASSERT_TRUE(tl_tensor_equal(r.m, t[0], t[3], 100));
  CU_ASSERT_FALSE(tl_tensor_equal(r.m, t[1], t[2], 100));
  CU_ASSERT_FALSE(tl_tensor_equal(r.m, t[0], t[1], 4)); /* other sources, too long to compare */
  CU_ASSERT_TRUE(tl_tensor_equal(r.m, t[0], t[0], 0));
  double v;
  CU_ASSERT_TRUE(tl_tensor_float_at(r.m, t[2], 1, &v) && v == 1.0);
  CU_ASSERT_FALSE(tl_tensor_float_at(r.m, t[2], 2, &v));
  eval_run_close(&r);
}

/* The first node of the case, run and said as an expression: the same bits. */
static void express_same(const char *body, bool can) {
  char text[2048];
  eval_run r;
  const tl_tensor *in[8] = {NULL};
  snprintf(text, sizeof text, "graph @g() -> (%%z) { %s }", body);
  eval_run_open(&r, text, true, NULL, NULL);
  CU_ASSERT_EQUAL_FATAL(r.status, TL_OK);
  tl_node_id n = tl_module_main(r.m)->first;
  for (uint32_t i = 0; i < tl_node_get(r.m, n)->n_operands; i++)
    in[i] = tl_value_constant(r.m, tl_operand(r.m, n, i));
  tl_tensor_id made = tl_node_express(r.m, n, in);
  CU_ASSERT_EQUAL(made != TL_NO_TENSOR, can);
  tl_host *z = made ? tl_host_from_tensor(&r.heap, r.m, tl_tensor_get(r.m, made)) : NULL;
  if (z) {
    CU_ASSERT_EQUAL_FATAL(z->bytes, r.outputs[0]->bytes);
    CU_ASSERT_EQUAL(memcmp(z->data, r.outputs[0]->data, (size_t)z->bytes), 0);
  }
  tl_host_release(z);
  eval_run_close(&r);
}

#define SIX "const %a: f32[2,3] = [1.0, -2.0, 3.5, 0.1, nan, inf] "
#define ROW "const %b: f32[3] = [10.0, 0.0, 0.3] "
#define COLUMN "const %b: f32[2,1] = [10.0, 0.3] "

static void test_express(void) {
  express_same(SIX ROW "%z = Add(%a, %b)", true);
  express_same(SIX ROW "%z = Sub(%b, %a)", true);
  express_same(SIX COLUMN "%z = Mul(%a, %b)", true);
  express_same(SIX COLUMN "%z = Div(%b, %a)", true);
  express_same("const %a: f32[2,1] = [1.0, 2.0] const %b: f32[1,2] = [3.0, 4.0] %z = Mul(%a, %b)",
               true);
  express_same("const %a: i64[2] = [1, 2] %z = Mul(%a, %a)", false);
  express_same("const %a: f16[3] = [1.0, 65504.0, 0.1] %z = Add(%a, %a)", true);
  express_same(SIX "%z = Transpose(%a)", true);
  express_same("const %a: i4[2,2] = hex(\"f80a\") %z = Cast(%a) {to=1}", true);
  express_same("const %a: u4[2,2] = hex(\"f80a\") %z = Transpose(%a)", false);
  express_same("const %a: i8[2,1,3] = [1, 2, 3, 4, 5, 6] %z = Transpose(%a) {perm=[2, 0, 1]}",
               true);
  express_same(SIX "const %n: i64[3] = [3, 1, -1] %z = Reshape(%a, %n)", true);
  express_same(SIX "const %s: i64[2] = [-1, 5] const %e: i64[2] = [-100, 0]"
                   "const %x: i64[2] = [-2, 1] const %t: i64[2] = [-1, -2]"
                   "%z = Slice(%a, %s, %e, %x, %t)",
               true);
  express_same(SIX "const %s: i64[1] = [1] const %e: i64[1] = [9223372036854775807]"
                   "%z = Slice(%a, %s, %e)",
               true);
  express_same(SIX "const %s: i64[1] = [1] const %e: i64[1] = [1] %z = Slice(%a, %s, %e)", false);
  express_same(SIX COLUMN "%z = Concat(%a, %b) {axis=-1}", true);
  express_same("const %a: f32[0,3] = [] %z = Transpose(%a)", false);
  express_same("const %a: str[2] = [\"a\", \"b\"] const %n: i64[2] = [1, 2] %z = Reshape(%a, %n)",
               false);
}

/* A view of a computed tensor is a computation of views. */
static void test_views_move_in(void) {
  express_same("const %a: f32[2,3] = mul(f32[2,3] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], f32[2,3] "
               "view(f32[3] [1.0, 10.0, 100.0], 0, [2, 3], [0, 1])) %z = Transpose(%a)",
               true);
  express_same("const %a: f16[2,3] = cast(f32[2,3] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])"
               "const %s: i64[1] = [1] const %e: i64[1] = [3] const %x: i64[1] = [1]"
               "%z = Slice(%a, %s, %e, %x)",
               true);
  express_same("const %a: f32[3,2] = view(f32[2,3] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0, [3, 2], "
               "[1, 3]) const %s: i64[1] = [2] const %e: i64[1] = [-9] const %x: i64[1] = [0]"
               "const %t: i64[1] = [-1] %z = Slice(%a, %s, %e, %x, %t)",
               true);
}

static const unit_test tests[] = {{"values of each kind", test_values},
                                  {"expressions in expressions", test_nested},
                                  {"pieces of a tensor", test_pieces},
                                  {"runs of memory", test_runs},
                                  {"one number for each channel", test_repeated},
                                  {"what is refused", test_refused},
                                  {"equality and elements", test_equal},
                                  {"nodes as expressions", test_express},
                                  {"views move inward", test_views_move_in},
                                  {NULL, NULL}};

const unit_suite unit_suite_tensor_expr = {"tensor_expr", tests};
