/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of operands, body inputs, body outputs and results of control-flow ops (body_links.h). */
#include "passes/precision/body_links.h"

#include "ir/ops_gen.h"

typedef struct walk {
  const tl_module *m;
  tl_node_id n;
  void (*fn)(void *user, const tl_body_link *l);
  void *user;
} walk;

/* First indices: operands from `operand` on go to body inputs from `input` on; body outputs from
 * `output` on are results; the first `states` of these are the inputs from `input` on of the next
 * iteration. */
typedef struct layout {
  uint32_t operand;
  uint32_t input;
  uint32_t output;
  uint32_t states;
} layout;

/* Loop: operands 0 and 1 are count and condition, body inputs 0 and 1 iteration number and
 * condition, body output 0 the condition. Scan: the last operands are scanned and no states. */
static layout layout_of(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  uint32_t n_operands = node->n_operands;
  int64_t scanned;
  switch (node->op) {
  case TL_OP_Loop: return (layout){2, 2, 1, n_operands > 2 ? n_operands - 2 : 0};
  case TL_OP_Scan:
    scanned = tl_node_attr_int(m, n, TL_SYM_num_scan_inputs, 0);
    return (layout){0, 0, 0, scanned < (int64_t)n_operands ? n_operands - (uint32_t)scanned : 0};
  case TL_OP_tl_While:
  case TL_OP_npu_While: return (layout){0, 0, 0, n_operands};
  default: return (layout){1, 0, 0, 0}; /* If */
  }
}

static void tell(const walk *w, tl_value_id from, tl_value_id to, tl_link_kind kind, bool again) {
  if (from && to)
    w->fn(w->user, &(tl_body_link){from, to, kind, again});
}

static void link_inputs(const walk *w, const tl_graph *body, const layout *l) {
  const tl_node *node = tl_node_get(w->m, w->n);
  for (uint32_t i = l->operand; i < node->n_operands; i++)
    if (l->input + i - l->operand < body->inputs.n)
      tell(w, tl_operand(w->m, w->n, i), body->inputs.at[l->input + i - l->operand], TL_LINK_IN,
           false);
}

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
  bool again = false;
  if (node->op != TL_OP_If && node->op != TL_OP_npu_If && node->op != TL_OP_Loop &&
      node->op != TL_OP_Scan && node->op != TL_OP_tl_While && node->op != TL_OP_npu_While)
    return;
  layout l = layout_of(m, n);
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
