/* SPDX-License-Identifier: Apache-2.0 */
/* Knows the layout of operands, body inputs, body outputs and results of control-flow ops
 * (body_links.h). */
#include "passes/precision/body_links.h"

#include "ir/ops_gen.h"

typedef struct walk {
  const tl_module *m;
  tl_node_id n;
  void (*fn)(void *user, const tl_body_link *l);
  void *user;
} walk;

/* Which operands are states, explained in body_ops.tbl. NOT_LISTED: the op has no row. */
enum { NOT_LISTED, NONE, ALL, UNSCANNED };

/* First indices: operands from `operand` on go to body inputs from `input` on; body outputs from
 * `output` on are results; the first `states` of these are the inputs from `input` on of the next
 * iteration. In a row of the table `states` is one of the names above. */
typedef struct layout {
  uint32_t operand;
  uint32_t input;
  uint32_t output;
  uint32_t states;
} layout;

static const layout rows[] = {
#define BODY(name, operand, input, output, states)                                                 \
  [TL_OP_##name] = {operand, input, output, states},
#include "passes/precision/body_ops.tbl"
};

/* Returns the number of states that a loop carries from one iteration to the next. */
static uint32_t n_states(const tl_module *m, tl_node_id n, const layout *row) {
  uint32_t n_operands = tl_node_get(m, n)->n_operands;
  int64_t others = row->operand;
  if (row->states == UNSCANNED)
    others = tl_node_attr_int(m, n, TL_SYM_num_scan_inputs, 0);
  return row->states == NONE || others >= (int64_t)n_operands ? 0 : n_operands - (uint32_t)others;
}

/* Calls the function for a link unless one of its ends is absent. */
static void tell(const walk *w, tl_value_id from, tl_value_id to, tl_link_kind kind, bool again) {
  if (from && to)
    w->fn(w->user, &(tl_body_link){from, to, kind, again});
}

/* Links operands to inputs of a body. */
static void link_inputs(const walk *w, const tl_graph *body, const layout *l) {
  const tl_node *node = tl_node_get(w->m, w->n);
  for (uint32_t i = l->operand; i < node->n_operands; i++)
    if (l->input + i - l->operand < body->inputs.n)
      tell(w, tl_operand(w->m, w->n, i), body->inputs.at[l->input + i - l->operand], TL_LINK_IN,
           false);
}

/* Links outputs of a body to the next iteration and to the results of the node. */
static void link_outputs(const walk *w, const tl_graph *body, const layout *l, bool again) {
  const tl_node *node = tl_node_get(w->m, w->n);
  uint32_t n_outputs = tl_graph_n_outputs(w->m, body);
  for (uint32_t i = 0; i < l->states; i++)
    if (l->input + i < body->inputs.n && l->output + i < n_outputs)
      tell(w, tl_graph_output(w->m, body, l->output + i), body->inputs.at[l->input + i],
           TL_LINK_TURN, false);
  for (uint32_t i = 0; i < node->n_results && l->output + i < n_outputs; i++)
    tell(w, tl_graph_output(w->m, body, l->output + i), node->results + i, TL_LINK_OUT, again);
}

void tl_body_links(const tl_module *m, tl_node_id n, void (*fn)(void *user, const tl_body_link *l),
                   void *user) {
  const tl_node *node = tl_node_get(m, n);
  walk w = {m, n, fn, user};
  /* Both branches of an If give the same results; from the second on, their links are marked
   * `again`. */
  bool again = false;
  if (node->op >= sizeof rows / sizeof *rows || rows[node->op].states == NOT_LISTED)
    return;
  layout l = rows[node->op];
  l.states = n_states(m, n, &l);
  for (uint32_t k = 0; k < node->n_attrs; k++) {
    if (node->attrs[k].kind != TL_ATTR_GRAPH)
      continue;
    const tl_graph *body = tl_graph_get(m, node->attrs[k].u.g);
    bool tests = node->attrs[k].name == TL_SYM_cond; /* the condition body of a While gives only the
                                                      * condition */
    link_inputs(&w, body, &l);
    if (!tests)
      link_outputs(&w, body, &l, again);
    again = !tests;
  }
}
