/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments that are not there are refused by name. */
#include "tests/library/said.h"

static const char chain[] = "graph @g(%x: f32[2]) -> (%y) {\n"
                            "  %a = Sin(%x)\n  %b = Relu(%a)\n  %y = Tanh(%b)\n}\n";

static int take(void *user, const char *name, const void *bytes, uint64_t n) {
  (void)user;
  (void)name;
  (void)bytes;
  return n == 0;
}

static void absent_in_models(tl_context *c, tl_model *m) {
  tl_model *made = NULL;
  tl_comparison *found = NULL;
  tl_tensors *results = NULL;
  void *bytes;
  size_t n;
  REFUSED(tl_model_load(c, NULL, &made), TL_ERROR_USAGE, "'name' is NULL");
  REFUSED(tl_model_load_bytes(c, NULL, chain, 5, &made), TL_ERROR_USAGE, "'name'");
  REFUSED(tl_model_load_bytes(c, "absent.tir", NULL, 5, &made), TL_ERROR_USAGE, "'bytes'");
  REFUSED(tl_model_load_bytes(c, "absent.tir", chain, 5, NULL), TL_ERROR_USAGE, "'out'");
  REFUSED(tl_model_load_from(c, "absent.tir", NULL, &made), TL_ERROR_USAGE, "'source'");
  REFUSED(tl_model_copy(m, c, NULL), TL_ERROR_USAGE, "'out'");
  REFUSED(tl_model_save(m, NULL), TL_ERROR_USAGE, "'path'");
  REFUSED(tl_model_save_to(m, NULL, take, NULL), TL_ERROR_USAGE, "'name'");
  REFUSED(tl_model_save_to(m, "absent.tir", NULL, c), TL_ERROR_USAGE, "'take'");
  REFUSED(tl_model_save_bytes(m, "absent.tir", NULL, &n), TL_ERROR_USAGE, "'bytes'");
  REFUSED(tl_model_save_bytes(m, "absent.tir", &bytes, NULL), TL_ERROR_USAGE, "'n'");
  REFUSED(tl_model_run(m, NULL, 1, NULL, &results), TL_ERROR_USAGE, "'inputs'");
  REFUSED(tl_model_run(m, NULL, 0, NULL, NULL), TL_ERROR_USAGE, "'out'");
  REFUSED(tl_model_verify(m, NULL, NULL, 0, NULL, &found), TL_ERROR_USAGE, "'b'");
  REFUSED(tl_model_verify(m, m, NULL, 0, NULL, NULL), TL_ERROR_USAGE, "'out'");
  NEED(!made && !results && !found);
}

int main(void) {
  tl_context *c = make_context();
  tl_model *m = load(c, chain);
  tl_graph_view g;
  tl_new_node node = {.op = "Relu", .n_operands = 1, .n_results = 1};
  node.graph = tl_model_main_graph(m);
  NEED(tl_model_graph(m, node.graph, &g));
  absent_in_models(c, m);
  REFUSED(tl_rules_register(c, NULL, "", 0), TL_ERROR_USAGE, "'name'");
  REFUSED(tl_rules_register(c, "rules", NULL, 5), TL_ERROR_USAGE, "'text'");
  REFUSED(tl_pass_register(c, NULL), TL_ERROR_USAGE, "'pass'");
  REFUSED(tl_op_register(c, NULL), TL_ERROR_USAGE, "'op'");
  REFUSED(tl_model_add_node(m, NULL, NULL), TL_ERROR_USAGE, "'spec'");
  REFUSED(tl_model_add_node(m, &node, NULL), TL_ERROR_USAGE, "'spec->operands'");
  REFUSED(tl_model_add_constant(m, node.graph, NULL, NULL), TL_ERROR_USAGE, "'tensor'");
  REFUSED(tl_model_set_outputs(m, node.graph, NULL, 2), TL_ERROR_USAGE, "'values'");
  REFUSED(tl_model_set_integers(m, g.first, "a", NULL, 3), TL_ERROR_USAGE, "'v'");
  REFUSED(tl_model_set_integer(m, g.first, NULL, 3), TL_ERROR_USAGE, "needs a name");
  REFUSED(tl_model_set_text(m, g.first, "", "x"), TL_ERROR_USAGE, "needs a name");
  REFUSED(tl_model_set_text(m, g.first, "a", NULL), TL_ERROR_USAGE, "'v'");
  REFUSED(tl_model_remove_attribute(m, g.first, NULL), TL_ERROR_USAGE, "'name'");
  REFUSED(tl_model_rename(m, tl_model_result(m, g.first, 0), NULL), TL_ERROR_USAGE, "not empty");
  NEED(tl_model_find_node(m, NULL) == 0 && tl_model_find_value(m, NULL) == 0);
  NEED(tl_model_check(m) == TL_SUCCESS && tl_model_count_nodes(m) == 3);
  tl_model_destroy(m);
  tl_context_destroy(c);
  puts("all of it works");
  return 0;
}
