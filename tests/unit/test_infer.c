/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: what one small graph each gives its result, and what it refuses. */
#include <stdio.h>

#include "ir/infer/infer.h"
#include "ir/text/parse.h"
#include "tests/unit/unit.h"

typedef struct shape_case {
  const char *inputs; /* declarations between the parentheses */
  const char *body;   /* defines %z */
  const char *type;   /* of %z; for a refusal: a part of the message */
} shape_case;

typedef struct last_message {
  char text[512];
} last_message;

static void remember(void *user, const tl_diagnostic *d) {
  last_message *last = user;
  snprintf(last->text, sizeof last->text, "%s", d->message);
}

static tl_status infer_case(const shape_case *c, last_message *last, tl_diag *diag, tl_module **m) {
  char text[2048];
  last->text[0] = '\0';
  *diag = (tl_diag){.fn = remember, .user = last};
  snprintf(text, sizeof text, "graph @g(%s) -> (%%z) {\n%s\n}\n", c->inputs, c->body);
  tl_status status = tl_module_parse(diag, "case", tl_sv_from(text), m);
  if (status != TL_OK)
    printf("\n  does not parse: %s: %s\n", c->body, last->text);
  CU_ASSERT_EQUAL_FATAL(status, TL_OK);
  return tl_infer_module(*m);
}

static void check_type(const shape_case *c) {
  tl_module *m;
  tl_diag diag;
  last_message last;
  tl_buf type;
  tl_status status = infer_case(c, &last, &diag, &m);
  tl_buf_init(&type);
  tl_type_print(m, tl_value_type(m, tl_graph_output(m, tl_module_main(m), 0)), &type);
  bool same = status == TL_OK && strcmp(type.p, c->type) == 0;
  if (!same)
    printf("\n  %s: got %s, expected %s %s\n", c->body, type.p, c->type, last.text);
  CU_ASSERT_TRUE(same);
  tl_buf_release(&type);
  tl_module_destroy(m);
}

static void check_refusal(const shape_case *c) {
  tl_module *m;
  tl_diag diag;
  last_message last;
  tl_status status = infer_case(c, &last, &diag, &m);
  bool refused = status == TL_INVALID_MODEL && diag.errors == 1 &&
                 strstr(last.text, c->type) != NULL;
  if (!refused)
    printf("\n  %s: status %d, message '%s'\n", c->body, status, last.text);
  CU_ASSERT_TRUE(refused);
  tl_module_destroy(m);
}

static void results_have_shapes(void) {
  static const shape_case cases[] = {
      {"%x: f32[2,1,4], %y: f32[3,1]", "%z = Add(%x, %y)", "f32[2,3,4]"},
      {"%x: f32[n,1], %y: f32[3]", "%z = Less(%x, %y)", "bool[n,3]"},
      {"%x: f32[*], %y: f32[3]", "%z = Add(%x, %y)", "f32[*]"},
      {"%x: f32[2,3]", "%z = Cast(%x) {to=10}", "f16[2,3]"},
      {"%x: f32[5,1,2,3], %y: f32[4,3,6]", "%z = MatMul(%x, %y)", "f32[5,4,2,6]"},
      {"%x: f32[3], %y: f32[4,3,6]", "%z = MatMul(%x, %y)", "f32[4,6]"},
      {"%x: f32[3], %y: f32[3]", "%z = MatMul(%x, %y)", "f32[]"},
      {"%x: f32[3,n], %y: f32[7,3]", "%z = Gemm(%x, %y) {transA=1, transB=1}", "f32[n,7]"},
      {"%x: f32[b,i,j], %y: f32[b,k,j]", "%z = Einsum(%x, %y) {equation=\"bij,bkj->bik\"}",
       "f32[b,i,k]"},
      {"%x: f32[4,1,2,3], %y: f32[5,3,7]", "%z = Einsum(%x, %y) {equation=\"...ab,...bc\"}",
       "f32[4,5,2,7]"},
      {"%x: f32[2,3,4]", "%z = Transpose(%x)", "f32[4,3,2]"},
      {"%x: f32[n,3,4]", "%z = Flatten(%x) {axis=-1}", "f32[\"n*3\",4]"},
      {"%x: f32[2,1,1]", "%z = Squeeze(%x)", "f32[2]"},
      {"%x: f32[2,3,8]", "const %a: i64[2] = [-1, 0]\n%z = ReduceSum(%x, %a) {keepdims=0}",
       "f32[3]"},
      {"%x: f32[2,3,8]", "%z = ArgMax(%x) {axis=2}", "i64[2,3,1]"},
      {"%x: f32[2,n,8]", "%z = ArgMin(%x) {axis=-2, keepdims=0}", "i64[2,8]"},
      {"%x: f32[*]", "%z = ArgMin(%x) {axis=2}", "i64[*]"},
      {"%x: f32[2,3,8]", "%z, %y = tl::ArgMaxWithValue(%x) {axis=2}", "i64[2,3]"},
      {"%x: f16[2,n,8]", "%y, %z = tl::ArgMaxWithValue(%x) {axis=0}", "f16[n,8]"},
      {"%x: i32[2,3,8]", "%y, %z = tl::ArgMaxWithValue(%x) {axis=-1, keepdims=1}", "i32[2,3,1]"},
      {"%x: f16[*]", "%y, %z = tl::ArgMaxWithValue(%x) {axis=1}", "f16[*]"},
      {"%x: f32[2,n,8], %i: i64[5,6]", "%z = Gather(%x, %i) {axis=1}", "f32[2,5,6,8]"},
      {"%x: f32[2,3,8], %i: i64[2,5,1]", "%z = GatherND(%x, %i) {batch_dims=1}", "f32[2,5,8]"},
      {"%x: f32[2,3,n]", "%z = Concat(%x, %x) {axis=-2}", "f32[2,6,n]"},
      {"%x: f32[2,7]", "%y, %z = Split(%x) {axis=1, num_outputs=2}", "f32[2,3]"},
      {"%x: f32[2,3]", "const %p: i64[4] = [0, 1, 2, -1]\n%z = Pad(%x, %p)", "f32[4,3]"},
      {"%x: f32[1,12,2,n]", "%z = DepthToSpace(%x) {blocksize=2}", "f32[1,3,4,\"n*2\"]"},
      {"%x: f32[2,9]", "const %k: i64[1] = [3]\n%y, %z = TopK(%x, %k)", "i64[2,3]"},
      {"%x: f32[2,9]", "%z = NonZero(%x)", "i64[2,?]"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check_type(&cases[i]);
}

static void slices_clamp(void) {
  static const shape_case cases[] = {
      {"%x: f32[10]", "const %s: i64[1] = [2]\nconst %e: i64[1] = [-1]\n%z = Slice(%x, %s, %e)",
       "f32[7]"},
      {"%x: f32[10]",
       "const %s: i64[1] = [-1]\nconst %e: i64[1] = [-99]\nconst %a: i64[1] = [0]\n"
       "const %t: i64[1] = [-3]\n%z = Slice(%x, %s, %e, %a, %t)",
       "f32[4]"},
      {"%x: f32[10]", "const %s: i64[1] = [20]\nconst %e: i64[1] = [30]\n%z = Slice(%x, %s, %e)",
       "f32[0]"},
      {"%x: f32[n], %s: i64[1]", "const %e: i64[1] = [5]\n%z = Slice(%x, %s, %e)", "f32[?]"},
      {"%x: f32[n,4]",
       "const %s: i64[1] = [0]\nconst %e: i64[1] = [2147483647]\n%z = Slice(%x, %s, %e)",
       "f32[n,4]"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check_type(&cases[i]);
}

/* Names of dims survive the shape arithmetic that exporters write. */
static void names_survive_arithmetic(void) {
  static const shape_case cases[] = {
      {"%x: f32[batch,seq,768]",
       "const %i: i64[2] = [0, 1]\nconst %h: i64[2] = [12, 64]\n%s = Shape(%x)\n"
       "%g = Gather(%s, %i)\n%t = Concat(%g, %h) {axis=0}\n%z = Reshape(%x, %t)",
       "f32[batch,seq,12,64]"},
      {"%x: f32[batch,seq,12,64]", "const %t: i64[3] = [0, 0, -1]\n%z = Reshape(%x, %t)",
       "f32[batch,seq,768]"},
      {"%x: f32[batch,seq,8], %y: f32[batch]",
       "const %m: i64[1] = [-1]\nconst %d: i64[2] = [-1, 8]\n%f = Reshape(%x, %d)\n"
       "%s = Shape(%y)\n%t = Concat(%s, %m, %m) {axis=0}\nconst %e: i64[3] = [1, 1, 8]\n"
       "const %k: i64[1] = [8]\n%u = Concat(%s, %m, %k) {axis=0}\n%z = Reshape(%f, %u)",
       "f32[batch,seq,8]"},
      {"%x: f32[n,3]",
       "const %m: i64[2] = [-1, -1]\nconst %o: i64[2] = [1, 1]\n%s = Shape(%x)\n"
       "%q = Equal(%s, %m)\n%t = Where(%q, %o, %s)\n%z = ConstantOfShape(%t)",
       "f32[n,3]"},
      {"%x: f32[n,3]",
       "const %a: i64[] = 0\nconst %b: i64[] = 1\n%s = Shape(%x)\n%l = Gather(%s, %a)\n"
       "%z = Range(%a, %l, %b)",
       "i64[n]"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check_type(&cases[i]);
}

static void declarations_merge(void) {
  static const shape_case cases[] = {{"%x: f32[?,3]", "%z = Relu(%x) : f32[n,?]", "f32[n,3]"},
                                     {"%x: f32[2,3]", "%z = Relu(%x) : f32[2,4]", "f32[2,3]"},
                                     {"%x: f32[*]", "%z = Relu(%x) : f32[2,4]", "f32[2,4]"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check_type(&cases[i]);
}

static void nonsense_is_refused(void) {
  static const shape_case cases[] = {
      {"%x: f32[2,3], %y: i64[2,3]", "%z = Add(%x, %y)", "operand 1 is i64, expected f32"},
      {"%x: str[2]", "%z = Relu(%x)", "dtype str"},
      {"%x: f32[2,3]", "%z = Relu(%x) : i64[2,3]", "declared as i64"},
      {"%x: f32[2,3], %y: f32[4]", "%z = Add(%x, %y)", "cannot be broadcast"},
      {"%x: f32[2,3], %y: f32[4,5]", "%z = MatMul(%x, %y)", "inner sizes are 3 and 4"},
      {"%x: f32[2,3]", "%z = Concat(%x, %x) {axis=2}", "axis 2 is outside [-2, 1]"},
      {"%x: f32[2,3]", "const %s: i64[2] = [5, 1]\n%z = Reshape(%x, %s)", "differ in elements"},
      {"%x: f32[2,3]", "const %s: i64[2] = [-1, -1]\n%z = Reshape(%x, %s)", "both -1"},
      {"%x: f32[2,3]", "%z = Transpose(%x) {perm=[0, 0]}", "given twice"},
      {"%x: f32[2,3]", "%z = Transpose(%x) {perm=[0, -1]}", "count from 0"},
      {"%x: f32[2,3]", "const %a: i64[1] = [1]\n%z = Squeeze(%x, %a)", "size 3, expected 1"},
      {"%x: f32[2,3]", "%z = Cast(%x) {to=7777}", "'to' is 7777"},
      {"%x: f32[2,3]", "%z = Einsum(%x, %x) {equation=\"ij,jk->ik\"}", "names sizes 3 and 2"},
      {"%x: f32[2,3]", "%z = Einsum(%x) {equation=\"i#->i\"}", "unexpected character"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check_refusal(&cases[i]);
}

static const unit_test tests[] = {{"results have shapes", results_have_shapes},
                                  {"slices clamp", slices_clamp},
                                  {"names survive arithmetic", names_survive_arithmetic},
                                  {"declarations merge", declarations_merge},
                                  {"nonsense is refused", nonsense_is_refused},
                                  {NULL, NULL}};
const unit_suite unit_suite_infer = {"infer", tests};
