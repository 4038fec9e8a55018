/* SPDX-License-Identifier: Apache-2.0 */
/* Passes, rules, ops and files of a program with the n-th allocation failing, for every n, alone
 * and with all that follow: each failure must end in an error that says "out of memory" once and
 * nothing else, also where functions of the program were between, and (under ASan) leak nothing.
 * The program's own functions allocate nothing. */
#include "tests/oom/failing.h"

static const char text[] = "graph @g(%x: f32[n,2], %p: bool[]) -> (%y) {\n"
                           "  %a = com.acme::Scale(%x) {factor=3.0}\n"
                           "  %b = Relu(%a)\n  %c = Sin(%b)\n"
                           "  %y = If(%p) {\n"
                           "    then_branch=graph @t() -> (%t) {\n"
                           "      %t = com.acme::Scale(%c) {factor=10.0}\n    },\n"
                           "    else_branch=graph @e() -> (%e) {\n      %e = Abs(%c)\n    }\n"
                           "  }\n}\n";
static const char rules[] = "rules 1\nrule SinTwice : cleanup numerics exact about \"x\" {\n"
                            "  match { %y = Sin(%x) }\n  replace { %y = Cos(%x) }\n}\n";

/* Calls every function that changes a model; the code of the first that fails. */
static int change(void *user, tl_model *m) {
  static const int64_t dims[] = {2}, list[] = {1, 2, 3};
  static const float ones[] = {1, 1};
  tl_tensor_view tensor = {"ones", TL_ELEMENT_F32, 1, dims, ones, sizeof ones};
  uint32_t g = tl_model_main_graph(m), value, node, n = tl_model_find_node(m, "added");
  (void)user;
  if (n) /* profiles and pipelines run a pass several times */
    return TL_SUCCESS;
  uint32_t x = tl_model_input(m, g, 0), user_of_x = tl_model_user(m, x, 0, NULL);
  int code = tl_model_add_constant(m, g, &tensor, &value);
  uint32_t operands[] = {x, value};
  tl_new_node add = {.op = "Add",
                     .name = "added",
                     .operands = operands,
                     .n_operands = 2,
                     .n_results = 1,
                     .before = user_of_x,
                     .graph = g};
  if (code == TL_SUCCESS)
    code = tl_model_add_node(m, &add, &node);
  if (code == TL_SUCCESS)
    code = tl_model_set_operand(m, user_of_x, 0, tl_model_result(m, node, 0));
  if (code == TL_SUCCESS)
    code = tl_model_rename(m, tl_model_result(m, node, 0), "a fresh name");
  if (code == TL_SUCCESS)
    code = tl_model_set_integer(m, node, "an_integer", 7);
  if (code == TL_SUCCESS)
    code = tl_model_set_number(m, node, "a_number", 0.5f);
  if (code == TL_SUCCESS)
    code = tl_model_set_text(m, node, "a_text", "some text that is long enough for a block");
  if (code == TL_SUCCESS)
    code = tl_model_set_integers(m, node, "integers", list, 3);
  static const char *const made[] = {"an_integer", "a_number", "a_text", "integers"};
  for (size_t i = 0; code == TL_SUCCESS && i < sizeof made / sizeof *made; i++)
    code = tl_model_remove_attribute(m, node, made[i]);
  uint32_t output = tl_model_output(m, g, 0);
  if (code == TL_SUCCESS)
    code = tl_model_set_outputs(m, g, &output, 1);
  return code == TL_SUCCESS ? tl_model_check(m) : code;
}

static int infer(void *user, tl_shape_call *call) {
  tl_element element;
  int32_t rank;
  const int64_t *dims;
  (void)user;
  if (!tl_shape_operand(call, 0, &element, &rank, &dims))
    return TL_SUCCESS; /* it was no tensor, or memory was out, which the library knows */
  return tl_shape_set(call, 0, element, rank, dims);
}

static int compute(void *user, tl_compute_call *call) {
  tl_tensor_view x;
  tl_attribute_view a;
  uint32_t node;
  void *to;
  (void)user;
  const tl_model *m = tl_compute_model(call, &node);
  if (!tl_compute_input(call, 0, &x))
    return tl_compute_fail(call, "Scale has one operand");
  float factor = tl_model_find_attribute(m, node, "factor", &a) ? a.number : 1;
  int code = tl_compute_output(call, 0, x.element, x.rank, x.dims, &to);
  for (uint64_t i = 0; code == TL_SUCCESS && i < x.bytes / sizeof(float); i++)
    ((float *)to)[i] = factor * ((const float *)x.data)[i];
  return code;
}

static int lend(void *user, const char *name, const void **bytes, uint64_t *n) {
  (void)name;
  ++*(int *)user;
  *bytes = text;
  *n = sizeof text - 1;
  return 0;
}

static void give_back(void *user, const void *bytes, uint64_t n) {
  (void)bytes;
  (void)n;
  --*(int *)user;
}

static int take(void *user, const char *name, const void *bytes, uint64_t n) {
  (void)name;
  (void)bytes;
  *(uint64_t *)user += n;
  return 0;
}

static int extend(tl_context *c) {
  tl_pass_def pass = {.name = "change", .summary = "changes", .after = "dead-nodes", .run = change};
  tl_op_def op = {"com.acme", "Scale", infer, compute, NULL};
  int code = tl_pass_register(c, &pass);
  if (code == TL_SUCCESS)
    code = tl_op_register(c, &op);
  if (code == TL_SUCCESS)
    code = tl_rules_register(c, "own", rules, sizeof rules - 1);
  return code;
}

/* Runs a copy that was optimized, compares it with the model, and saves it. */
static int use(tl_context *c, tl_model *m, uint64_t *saved) {
  static const int64_t dims[] = {1, 2};
  static const float x[] = {1, 2};
  static const unsigned char yes = 1;
  tl_tensor_view in[] = {{"x", TL_ELEMENT_F32, 2, dims, x, sizeof x},
                         {"p", TL_ELEMENT_BOOL, 0, NULL, &yes, 1}};
  tl_model *copy = NULL;
  tl_tensors *out = NULL;
  tl_comparison *found = NULL;
  int code = tl_model_copy(m, c, &copy);
  if (code == TL_SUCCESS)
    code = tl_model_optimize(copy, TL_FOR_ONNX);
  if (code == TL_SUCCESS)
    code = tl_model_run_passes(copy, "infer-shapes,change");
  if (code == TL_SUCCESS)
    code = tl_model_run(copy, in, 2, NULL, &out);
  if (code == TL_SUCCESS)
    code = tl_model_verify(copy, m, in, 2, NULL, &found);
  if (code == TL_SUCCESS)
    code = tl_model_save_to(copy, "m.tir", take, saved);
  tl_comparison_destroy(found);
  tl_tensors_destroy(out);
  tl_model_destroy(copy);
  return code;
}

static int work(said *s, int *lent, uint64_t *saved) {
  tl_context *c = tl_context_create();
  tl_source from = {lend, give_back, lent};
  tl_model *m = NULL;
  if (!c)
    return NO_CONTEXT;
  tl_context_on_message(c, hear, s);
  int code = extend(c);
  if (code == TL_SUCCESS)
    code = tl_model_load_from(c, "m.tir", &from, &m);
  if (code == TL_SUCCESS)
    code = use(c, m, saved);
  tl_model_destroy(m);
  tl_context_destroy(c);
  return code;
}

/* Returns whether there was an n-th allocation; counts in *failed what went wrong. */
static int run(unsigned long n, unsigned long *failed) {
  said s = {0};
  int lent = 0;
  uint64_t saved = 0;
  allocations.seen = 0;
  allocations.fail_at = n;
  int code = work(&s, &lent, &saved);
  allocations.fail_at = 0;
  int reached = allocations.seen >= n;
  if (lent || (code == 0) != (saved > 0) || (!reached && code) || (code && !is_told(code, &s))) {
    printf("FAIL allocation%s %lu: code %d, %d files lent, %u times out of memory, '%s'\n",
           allocations.and_later ? "s from" : "", n, code, lent, s.lacks, s.other);
    ++*failed;
  }
  return reached;
}

/* With OOM_EVERY=N in the environment every N/5-th allocation fails. */
int main(void) {
  unsigned long failed = 0;
  unsigned long total = 0;
  const char *given = getenv("OOM_EVERY");
  unsigned long step = given ? strtoul(given, NULL, 10) / 5 : 1;
  for (allocations.and_later = 0; allocations.and_later < 2; allocations.and_later++)
    for (unsigned long n = 1; failed <= 20 && run(n, &failed); n += step ? step : 1)
      total++;
  printf("%lu passed, %lu failed, 0 skipped\n", total - failed, failed);
  return failed != 0;
}
