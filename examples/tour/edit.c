/* SPDX-License-Identifier: Apache-2.0 */
/* Changing a model by hand: another output, names, attributes of every type, and what nodes were
 * made of. The program ends with 1 when something is not as it should be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tailor/tailor.h>

#define NEED(condition)                                                                            \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "edit.c:%d: %s\n", __LINE__, #condition);                                    \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/* Acme's op stands for one that has attributes of many types. */
static const char text[] = "graph @g(%x: f32[2,8]) -> (%y) {\n"
                           "  %a = com.acme::Mark(%x) {tags=[\"one\", \"two\"], level=1}\n"
                           "  %b = Sigmoid(%x) @gate\n"
                           "  %c = Mul(%x, %b) @product\n"
                           "  %y = Add(%a, %c) @sum\n}\n";

static int is(tl_text t, const char *z) { return t.n == strlen(z) && !memcmp(t.at, z, t.n); }

static uint32_t result_of(const tl_model *m, const char *node) {
  uint32_t value = tl_model_result(m, tl_model_find_node(m, node), 0);
  NEED(value);
  return value;
}

/* Sets, reads and removes attributes of the first node. */
static void change_attributes(tl_model *m) {
  static const int64_t sizes[] = {4, 5, 6};
  tl_attribute_view a;
  tl_node_view n;
  tl_graph_view g;
  NEED(tl_model_graph(m, tl_model_main_graph(m), &g));
  uint32_t mark = g.first;
  NEED(tl_model_node(m, mark, &n) && is(n.op, "Mark") && n.n_attributes == 2);
  NEED(is(tl_model_attribute_text(m, mark, "tags", 1), "two"));
  NEED(tl_model_attribute_text(m, mark, "tags", 2).n == 0); /* beyond the end */
  NEED(tl_model_set_integer(m, mark, "level", 7) == TL_SUCCESS);
  NEED(tl_model_set_number(m, mark, "weight", 0.5f) == TL_SUCCESS);
  NEED(tl_model_set_text(m, mark, "label", "seven") == TL_SUCCESS);
  NEED(tl_model_set_integers(m, mark, "sizes", sizes, 3) == TL_SUCCESS);
  NEED(tl_model_find_attribute(m, mark, "level", &a) && a.type == TL_ATTRIBUTE_INT);
  NEED(a.integer == 7);
  NEED(tl_model_find_attribute(m, mark, "label", &a) && is(a.text, "seven"));
  NEED(tl_model_find_attribute(m, mark, "weight", &a) && a.type == TL_ATTRIBUTE_FLOAT);
  NEED(a.number == 0.5f);
  NEED(tl_model_find_attribute(m, mark, "sizes", &a) && a.type == TL_ATTRIBUTE_INTS);
  NEED(a.n == 3 && a.integers[2] == 6);
  NEED(tl_model_remove_attribute(m, mark, "tags") == TL_SUCCESS);
  NEED(!tl_model_find_attribute(m, mark, "tags", &a));
  uint32_t seen = 0; /* the list has those that are left, each once */
  while (tl_model_attribute(m, mark, seen, &a))
    seen++;
  NEED(seen == 4);
}

/* Makes the product an output too, under a name of its own. */
static void add_output(tl_model *m) {
  uint32_t graph = tl_model_main_graph(m);
  uint32_t outputs[] = {tl_model_output(m, graph, 0), result_of(m, "product")};
  tl_graph_view g;
  tl_value_view v;
  NEED(tl_model_output(m, graph, 1) == 0);
  NEED(tl_model_rename(m, outputs[1], "swish") == TL_SUCCESS);
  NEED(tl_model_rename(m, outputs[0], "swish") == TL_ERROR_USAGE); /* there is one */
  NEED(tl_model_set_outputs(m, graph, outputs, 2) == TL_SUCCESS);
  NEED(tl_model_graph(m, graph, &g) && g.n_outputs == 2);
  NEED(tl_model_value(m, tl_model_output(m, graph, 1), &v) && is(v.name, "swish"));
  NEED(v.n_uses == 2); /* by the sum, and as an output */
  NEED(tl_model_check(m) == TL_SUCCESS);
}

/* A node that was made of others says of which. Acme's node is not for the NPU: it goes before. */
static void tell_origins(tl_model *m) {
  uint32_t made = 0;
  tl_graph_view g;
  tl_node_view n;
  NEED(tl_model_graph(m, tl_model_main_graph(m), &g));
  NEED(tl_model_replace_uses(m, tl_model_result(m, g.first, 0),
                             tl_model_input(m, tl_model_main_graph(m), 0)) == TL_SUCCESS);
  NEED(tl_model_erase_node(m, g.first) == TL_SUCCESS);
  NEED(tl_model_origins(m, tl_model_find_node(m, "sum")).n == 0); /* it is one of the model */
  NEED(tl_model_optimize(m, TL_FOR_AIR) == TL_SUCCESS);
  NEED(tl_model_graph(m, tl_model_main_graph(m), &g));
  for (uint32_t i = g.first; i && tl_model_node(m, i, &n); i = n.next) {
    tl_text from = tl_model_origins(m, i);
    made += from.n > 0 && from.at[0] == '[';
  }
  NEED(made > 0);
}

int main(void) {
  tl_model *m = NULL;
  tl_context *c = tl_context_create();
  NEED(c && tl_context_set(c, "soc-version", "Ascend910B1") == TL_SUCCESS);
  NEED(tl_model_load_bytes(c, "edit.tir", text, strlen(text), &m) == TL_SUCCESS);
  NEED(tl_model_opset(m, "") > 0 && tl_model_opset(m, "org.nobody") == 0);
  change_attributes(m);
  add_output(m);
  tell_origins(m);
  tl_model_destroy(m);
  tl_context_destroy(c);
  puts("all of it works");
  return 0;
}
