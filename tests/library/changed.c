/* SPDX-License-Identifier: Apache-2.0 */
/* Models that the caller changed: wrong ones are refused before anything relies on them, and work
 * again once they are mended; bodies go with their node; what other readers do not know is said. */
#include "tests/library/said.h"

static const char chain[] =
    "graph @g(%x: f32[2]) -> (%y) {\n"
    "  %a = Sin(%x) @sin\n  %b = Relu(%a) @relu\n  %y = Tanh(%b) @tanh\n}\n";

/* Every use of a model that is not well formed says so, with the node. */
static void all_refuse(tl_context *c, tl_model *m, const char *words) {
  tl_model *good = load(c, chain), *copy = NULL;
  tl_tensors *results = NULL;
  tl_comparison *found = NULL;
  void *bytes = NULL;
  size_t n = 0;
  static const char *const names[] = {"m.tir", "m.onnx", "m.air"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    REFUSED(tl_model_save_bytes(m, names[i], &bytes, &n), TL_ERROR_INPUT, words);
  REFUSED(tl_model_check(m), TL_ERROR_INPUT, words);
  REFUSED(tl_model_infer(m), TL_ERROR_INPUT, words);
  REFUSED(tl_model_run_passes(m, "dead-nodes"), TL_ERROR_INPUT, words);
  REFUSED(tl_model_optimize(m, TL_FOR_ONNX), TL_ERROR_INPUT, words);
  REFUSED(tl_model_optimize(m, TL_FOR_AIR), TL_ERROR_INPUT, words);
  REFUSED(tl_model_run(m, NULL, 0, NULL, &results), TL_ERROR_INPUT, words);
  REFUSED(tl_model_verify(m, good, NULL, 0, NULL, &found), TL_ERROR_INPUT, words);
  REFUSED(tl_model_verify(good, m, NULL, 0, NULL, &found), TL_ERROR_INPUT, words);
  NEED(tl_model_copy(m, c, &copy) == TL_SUCCESS); /* to be mended, like the original */
  REFUSED(tl_model_save_bytes(copy, "m.tir", &bytes, &n), TL_ERROR_INPUT, words);
  NEED(!results && !found && !bytes);
  tl_model_destroy(copy);
  tl_model_destroy(good);
}

static void wrong_and_mended(tl_context *c) {
  tl_model *m = load(c, chain);
  void *bytes = NULL;
  size_t n = 0;
  uint32_t sin = tl_model_find_node(m, "sin"), x = tl_model_operand(m, sin, 0);
  uint32_t last = tl_model_result(m, tl_model_find_node(m, "tanh"), 0);
  NEED(tl_model_set_operand(m, sin, 0, last) == TL_SUCCESS); /* a cycle */
  all_refuse(c, m, "sin");
  NEED(tl_model_set_operand(m, sin, 0, 0) == TL_SUCCESS); /* none, where one is required */
  all_refuse(c, m, "sin");
  NEED(tl_model_set_operand(m, sin, 0, x) == TL_SUCCESS);
  NEED(tl_model_set_integer(m, sin, "perm", 1) == TL_SUCCESS); /* no attribute of Sin */
  all_refuse(c, m, "'perm'");
  NEED(tl_model_remove_attribute(m, sin, "perm") == TL_SUCCESS);
  NEED(tl_model_save_bytes(m, "m.onnx", &bytes, &n) == TL_SUCCESS && n > 0);
  tl_free(bytes);
  tl_model_destroy(m);
}

/* A file format holds one form of a model. */
static void form_and_format(tl_context *c) {
  tl_model *m = load(c, chain);
  void *bytes = NULL;
  size_t n = 0;
  REFUSED(tl_model_save_bytes(m, "m.air", &bytes, &n), TL_ERROR_UNSUPPORTED, "ops of the NPU");
  NEED(tl_model_optimize(m, TL_FOR_ONNX) == TL_SUCCESS);
  REFUSED(tl_model_save_bytes(m, "m.air", &bytes, &n), TL_ERROR_UNSUPPORTED, "TL_FOR_AIR");
  NEED(tl_model_optimize(m, TL_FOR_AIR) == TL_SUCCESS);
  REFUSED(tl_model_save_bytes(m, "m.onnx", &bytes, &n), TL_ERROR_UNSUPPORTED, "NPU ops");
  NEED(!bytes && tl_model_save_bytes(m, "m.air", &bytes, &n) == TL_SUCCESS);
  tl_free(bytes);
  tl_model_destroy(m);
}

/* A message about the file has the caller's name of it, wherever it was staged. */
static void own_names(tl_context *c) {
  tl_model *m = load(c, chain);
  char name[512];
  void *bytes = NULL;
  size_t n = 0;
  memset(name, 'a', sizeof name);
  memcpy(name, "out/", 4);
  memcpy(name + sizeof name - 6, ".onnx", 6); /* longer than file systems take */
  REFUSED(tl_model_save_bytes(m, name, &bytes, &n), TL_ERROR_IO, "out/aaa");
  NEED(!bytes && !strstr(said.last, "tailor-"));
  tl_model_destroy(m);
}

static const char branches[] =
    "graph @g(%c: bool[], %x: f32[2]) -> (%y, %z) {\n"
    "  %y = If(%c) @if {\n"
    "    then_branch=graph @t() -> (%b) {\n"
    "      %a = Sin(%x) @sin\n      %b = Relu(%a) @relu\n    },\n"
    "    else_branch=graph @e() -> (%d) {\n      %d = Cos(%x) @cos\n    }\n  }\n"
    "  %z = Tanh(%x) @tanh\n}\n";

/* A node with bodies goes whatever the order inside is, but not while something outside uses a
 * value inside. */
static void bodies_go(tl_context *c) {
  tl_model *m = load(c, branches);
  uint32_t sin = tl_model_find_node(m, "sin"), relu = tl_model_find_node(m, "relu");
  uint32_t tanh = tl_model_find_node(m, "tanh"), branch = tl_model_find_node(m, "if");
  uint32_t x = tl_model_operand(m, tanh, 0), y = tl_model_result(m, branch, 0);
  uint32_t inside = tl_model_result(m, relu, 0);
  NEED(tl_model_replace_uses(m, y, x) == TL_SUCCESS);
  NEED(tl_model_set_operand(m, sin, 0, inside) == TL_SUCCESS); /* a cycle in a body */
  NEED(tl_model_set_operand(m, tanh, 0, inside) == TL_SUCCESS);
  REFUSED(tl_model_erase_node(m, branch), TL_ERROR_USAGE, "in use outside");
  NEED(tl_model_set_operand(m, tanh, 0, x) == TL_SUCCESS);
  NEED(tl_model_erase_node(m, branch) == TL_SUCCESS);
  NEED(!tl_model_find_node(m, "sin") && tl_model_check(m) == TL_SUCCESS);
  tl_model_destroy(m);
}

static void hear_codes(void *user, const tl_message *m) {
  uint32_t *n = user;
  *n += m->code && !strcmp(m->code, "W_CUSTOM_OP") && strstr(m->text, "'Thing'");
}

/* "ai.onnx" is the default domain: a node of it is one of the table's, and brings no import that
 * would make other nodes those of an old opset. */
static void other_name(tl_context *c) {
  tl_model *m = load(c, chain);
  void *bytes = NULL;
  size_t n = 0;
  uint32_t node = 0, x = tl_model_operand(m, tl_model_find_node(m, "sin"), 0);
  tl_new_node spec = {.domain = "ai.onnx", .op = "Softmax", .operands = &x, .n_operands = 1};
  spec.n_results = 1;
  spec.before = tl_model_find_node(m, "sin");
  NEED(tl_model_add_node(m, &spec, &node) == TL_SUCCESS);
  NEED(tl_model_set_integer(m, node, "perm", 1) == TL_SUCCESS); /* no attribute of Softmax */
  REFUSED(tl_model_save_bytes(m, "m.onnx", &bytes, &n), TL_ERROR_INPUT, "'perm'");
  NEED(tl_model_remove_attribute(m, node, "perm") == TL_SUCCESS);
  NEED(tl_model_save_bytes(m, "m.onnx", &bytes, &n) == TL_SUCCESS);
  NEED(tl_model_opset(m, "") == 21 && tl_model_opset(m, "ai.onnx") == 21);
  tl_free(bytes);
  tl_model_destroy(m);
}

/* An op that its standard domain lacks is written with a warning, once. */
static void unknown_op(void) {
  uint32_t n_warnings = 0, node = 0;
  tl_context *c = make_context();
  tl_context_on_message(c, hear_codes, &n_warnings);
  tl_model *m = load(c, chain);
  uint32_t relu = tl_model_find_node(m, "relu"), operand = tl_model_operand(m, relu, 0);
  tl_new_node spec = {
      .op = "Thing", .operands = &operand, .n_operands = 1, .n_results = 1, .before = relu};
  NEED(tl_model_add_node(m, &spec, &node) == TL_SUCCESS);
  NEED(tl_model_set_operand(m, relu, 0, tl_model_result(m, node, 0)) == TL_SUCCESS);
  for (int i = 0; i < 2; i++) {
    void *bytes = NULL;
    size_t n = 0;
    NEED(tl_model_save_bytes(m, "m.onnx", &bytes, &n) == TL_SUCCESS && n > 0);
    tl_free(bytes);
    NEED(n_warnings == 1);
  }
  tl_model_destroy(m);
  tl_context_destroy(c);
}

int main(void) {
  tl_context *c = make_context();
  wrong_and_mended(c);
  form_and_format(c);
  own_names(c);
  bodies_go(c);
  other_name(c);
  unknown_op();
  tl_context_destroy(c);
  puts("all of it works");
  return 0;
}
