/* SPDX-License-Identifier: Apache-2.0 */
/* Every group of functions of libtailor once: tour FOLDER. It makes a model in memory, gives
 * options, a rule, a pass and an op, optimizes, looks, changes, runs, verifies and saves. Needs
 * only the installed library:
 *   cc tour.c $(pkg-config --cflags --libs tailor) -o tour */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tailor/tailor.h>

/* Ends the program when something is not as it should be. */
#define NEED(condition)                                                                            \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "tour.c:%d: %s\n", __LINE__, #condition);                                    \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/* y = Relu((x + 0) * 2 + w), negated twice before the Relu. */
static const char model_text[] = "graph @tour(%x: f32[n,2]) -> (%y) {\n"
                                 "  const %w: f32[2] = [10.0, 20.0]\n"
                                 "  const %zero: f32[] = 0.0\n"
                                 "  const %two: f32[] = 2.0\n"
                                 "  %a = Add(%x, %zero)\n"
                                 "  %b = Mul(%a, %two)\n"
                                 "  %c = Add(%b, %w)\n"
                                 "  %d = Neg(%c)\n"
                                 "  %e = Neg(%d)\n"
                                 "  %y = Relu(%e)\n"
                                 "}\n";

/* ---- messages, progress ---------------------------------------------------------------------- */

typedef struct heard {
  int errors;
  int passes;
  char last[256]; /* what the last error said */
} heard;

static void hear(void *user, const tl_message *m) {
  heard *h = user;
  if (m->severity != TL_SEVERITY_ERROR)
    return;
  h->errors++;
  snprintf(h->last, sizeof h->last, "%s", m->what);
}

static int count_passes(void *user, const tl_progress_event *e) {
  heard *h = user;
  NEED(e->pass && e->nodes < 1000);
  h->passes++;
  return 0; /* not 0 would cancel */
}

/* ---- rules, passes and ops of ours ----------------------------------------------------------- */

/* It has the name of a rule that is built in, and replaces it. */
static const char rule_text[] =
    "rules 1\n"
    "rule AddZero : cleanup numerics reassociating about \"adding 0 is its operand\" {\n"
    "  match { %y = Add(%x, const 0) }\n"
    "  replace { %y = %x }\n"
    "}\n";

static int is_negation(const tl_node_view *n) {
  return n->op.n == 3 && !memcmp(n->op.at, "Neg", 3);
}

/* A pass: negating a negation is nothing. Counts in *user how often it found that. */
static int drop_pairs(void *user, tl_model *m) {
  tl_graph_view g;
  tl_node_view outer, inner;
  tl_value_view v;
  NEED(tl_model_graph(m, tl_model_main_graph(m), &g));
  for (uint32_t i = g.first; i && tl_model_node(m, i, &outer); i = outer.next) {
    if (!tl_model_value(m, tl_model_operand(m, i, 0), &v) || !tl_model_node(m, v.producer, &inner))
      continue;
    if (!is_negation(&outer) || !is_negation(&inner))
      continue;
    uint32_t x = tl_model_operand(m, v.producer, 0);
    NEED(tl_model_replace_uses(m, tl_model_result(m, i, 0), x) == TL_SUCCESS);
    ++*(int *)user;
  }
  return TL_SUCCESS;
}

/* An op: the result has the shape of the operand, and is `by` times it. */
static const char op_text[] = "graph @op(%x: f32[2]) -> (%y) {\n"
                              "  %y = com.acme::Scale(%x) {by=4.0}\n"
                              "}\n";

static int infer_scale(void *user, tl_shape_call *call) {
  tl_element element;
  int32_t rank;
  const int64_t *dims;
  (void)user;
  if (!tl_shape_operand(call, 0, &element, &rank, &dims))
    return tl_shape_fail(call, "Scale needs an operand");
  return tl_shape_set(call, 0, element, rank, dims);
}

static int compute_scale(void *user, tl_compute_call *call) {
  tl_tensor_view x;
  tl_attribute_view by;
  uint32_t node;
  void *y;
  (void)user;
  const tl_model *m = tl_compute_model(call, &node);
  if (!tl_compute_input(call, 0, &x) || !tl_model_find_attribute(m, node, "by", &by))
    return tl_compute_fail(call, "Scale needs an operand and a number to scale by");
  int code = tl_compute_output(call, 0, x.element, x.rank, x.dims, &y);
  for (uint64_t i = 0; code == TL_SUCCESS && i < x.bytes / sizeof(float); i++)
    ((float *)y)[i] = by.number * ((const float *)x.data)[i];
  return code;
}

/* ---- options, registering, loading ----------------------------------------------------------- */

static void set_options(tl_context *c, heard *h) {
  tl_option_info option;
  NEED(tl_option_count() > 50 && tl_option_describe(0, &option) && option.help[0]);
  NEED(!tl_option_describe(tl_option_count(), &option));
  NEED(tl_context_set(c, "soc-version", "Ascend910B1") == TL_SUCCESS);
  NEED(tl_context_set_integer(c, "opt-level", 2) == TL_SUCCESS);
  NEED(tl_context_set_bool(c, "verify-each", 1) == TL_SUCCESS);
  NEED(strcmp(tl_context_get(c, "soc-version"), "Ascend910B1") == 0);
  NEED(tl_context_set(c, "no-such-option", "1") == TL_ERROR_USAGE && h->errors == 1);
  NEED(tl_context_set(c, "depfile", "x.d") == TL_ERROR_USAGE); /* of the command alone */
  NEED(tl_context_set_integer(c, "fold-limit", 1) == TL_SUCCESS);
  NEED(tl_context_unset(c, "fold-limit") == TL_SUCCESS);
  NEED(strcmp(tl_context_get(c, "fold-limit"), "65536") == 0);
}

static void register_ours(tl_context *c, int *pairs) {
  tl_pass_def pass = {.name = "drop-pairs", .after = "infer-shapes", .run = drop_pairs};
  tl_op_def scale = {"com.acme", "Scale", infer_scale, compute_scale, NULL};
  pass.user = pairs;
  NEED(tl_pass_register(c, &pass) == TL_SUCCESS && tl_op_register(c, &scale) == TL_SUCCESS);
  NEED(tl_rules_register(c, "tour.tlr", rule_text, strlen(rule_text)) == TL_SUCCESS);
}

/* ---- looking and changing -------------------------------------------------------------------- */

static void look(tl_model *m) {
  uint32_t g = tl_model_main_graph(m);
  tl_value_view x;
  tl_tensor_view w;
  float copy[2];
  NEED(tl_model_infer(m) == TL_SUCCESS && tl_model_count_nodes(m) == 6);
  NEED(tl_model_value(m, tl_model_input(m, g, 0), &x) && x.rank == 2 && x.dims[1] == 2);
  tl_text n = tl_model_symbol(m, x.dims[0]);
  NEED(n.n == 1 && n.at[0] == 'n');
  uint32_t weight = tl_model_find_value(m, "w");
  NEED(tl_model_weight(m, weight, &w) && ((const float *)w.data)[1] == 20.0f);
  NEED(tl_model_read_weight(m, weight, copy, sizeof copy) == TL_SUCCESS && copy[0] == 10.0f);
  NEED(tl_model_user(m, weight, 0, NULL) != 0 && tl_model_find_node(m, "nothing") == 0);
}

static void change(tl_model *m) {
  static const int64_t dims[] = {2};
  static const float ones[] = {1, 1};
  tl_tensor_view t = {"ones", TL_ELEMENT_F32, 1, dims, ones, sizeof ones};
  uint32_t constant, g = tl_model_main_graph(m);
  uint32_t user = tl_model_user(m, tl_model_find_value(m, "w"), 0, NULL);
  NEED(tl_model_add_constant(m, g, &t, &constant) == TL_SUCCESS);
  NEED(tl_model_set_operand(m, user, 1, constant) == TL_SUCCESS);
  NEED(tl_model_set_operand(m, user, 7, constant) == TL_ERROR_USAGE); /* it has two */
  NEED(tl_model_set_operand(m, user, 1, tl_model_find_value(m, "w")) == TL_SUCCESS);
  NEED(tl_model_check(m) == TL_SUCCESS);
}

/* ---- running, verifying, saving -------------------------------------------------------------- */

static void run(tl_model *m) {
  static const int64_t dims[] = {1, 2};
  static const float x[] = {1, 2};
  tl_tensor_view in = {"x", TL_ELEMENT_F32, 2, dims, x, sizeof x}, y;
  tl_tensors *out = NULL;
  NEED(tl_model_run(m, &in, 1, NULL, &out) == TL_SUCCESS && tl_tensors_count(out) == 1);
  NEED(tl_tensors_get(out, 0, &y) && strcmp(y.name, "y") == 0);
  NEED(((const float *)y.data)[0] == 12.0f && ((const float *)y.data)[1] == 24.0f);
  tl_tensors_destroy(out);
}

/* A file of ours. Its weights would be asked for by the names that the model has for them. */
static int open_ours(void *user, const char *name, const void **bytes, uint64_t *n) {
  NEED(strcmp(name, "op.tir") == 0);
  *bytes = user;
  *n = strlen(user);
  return 0;
}

static void run_ours(tl_context *c) {
  static const int64_t dims[] = {2};
  static const float x[] = {1, 2};
  static char text[sizeof op_text];
  tl_tensor_view in = {"x", TL_ELEMENT_F32, 1, dims, x, sizeof x}, y;
  tl_source source = {.open = open_ours, .user = memcpy(text, op_text, sizeof op_text)};
  tl_tensors *out = NULL;
  tl_model *m = NULL;
  NEED(tl_model_load_from(c, "op.tir", &source, &m) == TL_SUCCESS);
  NEED(tl_model_run(m, &in, 1, NULL, &out) == TL_SUCCESS && tl_tensors_get(out, 0, &y));
  NEED(((const float *)y.data)[1] == 8.0f && y.rank == 1);
  tl_tensors_destroy(out);
  tl_model_destroy(m);
}

static void verify(tl_model *before, tl_model *after) {
  tl_comparison *c = NULL;
  tl_difference_info d;
  NEED(tl_model_verify(before, after, NULL, 0, NULL, &c) == TL_SUCCESS);
  NEED(tl_comparison_equal(c) && tl_comparison_count(c) == 1);
  NEED(tl_comparison_get(c, 0, &d) && d.elements == 2 && d.off == 0);
  tl_comparison_destroy(c);
}

static int take(void *user, const char *name, const void *bytes, uint64_t n) {
  *(uint64_t *)user += n;
  return name[0] && bytes ? 0 : 1;
}

static void save(tl_model *m, const char *folder) {
  char path[4096];
  void *bytes = NULL;
  size_t n = 0;
  uint64_t taken = 0;
  snprintf(path, sizeof path, "%s/tour.onnx", folder);
  NEED(tl_model_save(m, path) == TL_SUCCESS);
  NEED(tl_model_save_bytes(m, "tour.onnx", &bytes, &n) == TL_SUCCESS && n > 0);
  NEED(tl_model_save_to(m, "tour.onnx", take, &taken) == TL_SUCCESS && taken == n);
  NEED(tl_model_save(m, "tour.jpeg") == TL_ERROR_USAGE);
  tl_free(bytes);
}

/* ---- optimizing, explaining ------------------------------------------------------------------ */

static void optimize(tl_model *m, heard *h) {
  tl_pass_info ran;
  tl_remark_info remark;
  tl_model_keep_remarks(m, 1, 1);
  NEED(tl_model_run_passes(m, "dead-nodes") == TL_SUCCESS);
  NEED(tl_model_ran_count(m) == 1 && tl_model_ran(m, 0, &ran) && ran.rewrites == 0);
  NEED(tl_model_optimize(m, TL_FOR_ONNX) == TL_SUCCESS && h->passes > 5);
  NEED(tl_model_ran_count(m) > 5 && tl_pass_count() > 20 && tl_pass_name(0, NULL));
  int by_rule = 0;
  for (uint32_t i = 0; tl_model_remark(m, i, &remark); i++)
    by_rule += remark.applied && strcmp(remark.rule, "AddZero") == 0;
  NEED(by_rule == 1 && tl_model_count_nodes(m) == 3);
}

/* What is left: cancelling, and a limit that is too low. */
static void stop(tl_context *c, tl_model *m) {
  tl_context_cancel(c);
  NEED(tl_model_optimize(m, TL_FOR_ONNX) == TL_ERROR_CANCELLED);
  tl_context_resume(c);
  tl_context_set_memory_limit(c, 16);
  NEED(tl_model_optimize(m, TL_FOR_ONNX) == TL_ERROR_INPUT);
  tl_context_set_memory_limit(c, 0);
}

int main(int argc, char **argv) {
  heard h = {0};
  int pairs = 0;
  tl_model *before = NULL, *after = NULL, *copy = NULL;
  NEED(argc == 2 && tl_version_number() >= TL_VERSION_NUMBER && tl_version()[0]);
  tl_context *c = tl_context_create();
  NEED(c);
  tl_context_on_message(c, hear, &h);
  tl_context_on_progress(c, count_passes, &h);
  set_options(c, &h);
  register_ours(c, &pairs);
  NEED(tl_model_load_bytes(c, "tour.tir", model_text, strlen(model_text), &before) == TL_SUCCESS);
  NEED(tl_model_copy(before, c, &after) == TL_SUCCESS);
  NEED(tl_model_load(c, "no-such-file.onnx", &copy) == TL_ERROR_IO && !copy);
  look(before);
  change(before);
  optimize(after, &h);
  NEED(pairs == 1); /* which left no Neg for the rules */
  run(after);
  run_ours(c);
  verify(before, after);
  save(after, argv[1]);
  NEED(tl_model_copy(after, c, &copy) == TL_SUCCESS);
  stop(c, copy);
  tl_model_destroy(copy);
  tl_model_destroy(after);
  tl_model_destroy(before);
  tl_context_destroy(c);
  puts("all of it works");
  return 0;
}
