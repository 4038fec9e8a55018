/* SPDX-License-Identifier: Apache-2.0 */
/* infer-shapes: gives every value the most specific type that its producer's operands imply.
 *
 * Requires:  nothing.            Keeps: nodes, edges, names.
 * After:     types agree with shape inference; what was declared and is compatible stays.
 * Cost:      one sweep, O(nodes + edges).
 * Tests:     tests/golden/infer-shapes/ */
#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"

static tl_type_id *copy_types(tl_pass *p, const tl_module *m, uint32_t n) {
  tl_type_id *types = tl_arena_calloc(p->scratch, n, sizeof *types);
  for (uint32_t v = 1; types && v < n; v++)
    types[v] = tl_value_get(m, v)->type;
  return types;
}

/* ---- messages name options ------------------------------------------------------------------- */

/* Diagnostics of inference on their way to the user. */
typedef struct told {
  tl_pass *p;
  tl_module *m;
  tl_diag *outer;
  uint32_t n; /* messages so far: only the first ones are traced */
} told;

enum { MAX_TRACED = 8 };

/* A walk from a node to everything that its operands depend on. */
typedef struct walk {
  const tl_module *m;
  uint8_t *seen; /* bits by node */
  tl_u32_vec left;
  tl_buf hint;
  const tl_options *options;
  bool failed;
} walk;

static void reach(walk *w, tl_node_id n) {
  if (!n || (w->seen[n / 8] >> n % 8 & 1))
    return;
  w->seen[n / 8] |= (uint8_t)(1u << n % 8);
  w->failed = w->failed || !tl_u32_vec_push(&w->left, n);
}

/* Adds the option that gave an input its shape, or a constant its value. */
static void name_option(walk *w, tl_value_id v) {
  const char *option = NULL;
  tl_sv name = tl_value_name(w->m, v);
  bool input = tl_value_get(w->m, v)->kind == TL_VALUE_INPUT;
  for (uint32_t i = 0; input && i < w->options->n_input_shapes && !option; i++)
    option = tl_sv_eq(w->options->input_shapes[i].name, name) ? "--input-shape" : NULL;
  for (uint32_t i = 0; !input && i < w->options->n_frozen && !option; i++)
    option = tl_sv_eq(w->options->frozen[i].name, name) ? "--freeze" : NULL;
  if (!option || tl_value_graph(w->m, v) != tl_module_main(w->m)->id)
    return;
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_printf(&text, "%s sets ", option);
  tl_buf_add_quoted(&text, name);
  bool again = w->hint.n && text.n && memmem(w->hint.p, w->hint.n, text.p, text.n);
  if (!again)
    tl_buf_printf(&w->hint, "%s%.*s",
                  w->hint.n ? ", " : "this depends on options: ", TL_SV_ARG(tl_buf_view(&text)));
  tl_buf_release(&text);
}

static void reach_operands(walk *w, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_use_get(w->m, node->operands + i)->value;
    unsigned kind = v ? tl_value_get(w->m, v)->kind : TL_VALUE_NONE;
    if (kind == TL_VALUE_RESULT)
      reach(w, tl_value_producer(w->m, v));
    else if (kind == TL_VALUE_INPUT || kind == TL_VALUE_CONSTANT)
      name_option(w, v);
  }
}

static void reach_body(walk *w, tl_graph_id g) {
  TL_FOR_NODES(w->m, tl_graph_get(w->m, g), n)
    reach(w, n);
}

/* A node of a body depends on what its owner gets; the start may be an owner itself. */
static void follow(walk *w, tl_node_id start) {
  const tl_node *node = tl_node_get(w->m, start);
  reach(w, start);
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    uint32_t n;
    const tl_graph_id *at = tl_attr_graphs(&node->attrs[i], &n);
    for (uint32_t k = 0; k < n; k++)
      reach_body(w, at[k]);
  }
  while (w->left.n && !w->failed) {
    tl_node_id n = w->left.at[--w->left.n];
    reach_operands(w, tl_node_get(w->m, n));
    const tl_graph *g = tl_graph_get(w->m, tl_node_get(w->m, n)->graph);
    if (g->kind == TL_GRAPH_BODY)
      reach(w, g->owner);
  }
}

static tl_node_id node_at(tl_module *m, tl_sv name) {
  for (tl_node_id n = 1; name.n && n < tl_module_node_end(m); n++)
    if (tl_node_get(m, n)->op != TL_OP_ERASED && tl_node_get(m, n)->graph &&
        tl_sv_eq(tl_node_where(m, n).node, name))
      return n;
  return TL_NO_NODE;
}

/* Passes a message on, with the options that the place depends on. */
static void tell(void *user, const tl_diagnostic *found) {
  told *t = user;
  tl_diagnostic d = *found;
  tl_node_id n = t->n < MAX_TRACED ? node_at(t->m, d.where.node) : TL_NO_NODE;
  walk w = {.m = t->m, .options = t->p->options};
  w.seen = tl_arena_calloc(t->p->scratch, tl_module_node_end(t->m) / 8 + 1u, 1);
  tl_buf_init(&w.hint);
  if (d.hint)
    tl_buf_printf(&w.hint, "%s", d.hint);
  if (n && w.seen && t->n++ < MAX_TRACED)
    follow(&w, n);
  if (w.hint.n && !w.hint.failed)
    d.hint = w.hint.p;
  t->outer->errors += d.severity == TL_ERROR;
  t->outer->warnings += d.severity == TL_WARNING;
  if (t->outer->fn)
    t->outer->fn(t->outer->user, &d);
  tl_u32_vec_release(&w.left);
  tl_buf_release(&w.hint);
}

static tl_status infer(tl_pass *p, tl_module *m) {
  tl_muted muted;
  told t = {.p = p, .m = m, .outer = m->diag};
  if (!p->options->n_input_shapes && !p->options->n_frozen)
    return tl_infer_module(m);
  tl_mute(&muted, m, tell, &t);
  tl_status status = tl_infer_module(m);
  t.outer->no_memory = t.outer->no_memory || muted.quiet.no_memory;
  tl_unmute(&muted);
  return status;
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Inference is all or nothing: it counts as one rewrite, and as a change only if a type changed. */
tl_status tl_pass_infer_shapes(tl_pass *p, tl_module *m) {
  uint32_t n = tl_module_value_end(m);
  tl_type_id *before = copy_types(p, m, n);
  if (!before)
    return tl_no_memory(m);
  if (*p->rewrites >= p->limit)
    return TL_OK;
  TL_TRY(infer(p, m));
  for (uint32_t v = 1; v < n; v++)
    if (before[v] != tl_value_get(m, v)->type)
      return tl_pass_may_rewrite(p) ? TL_OK : TL_INTERNAL;
  return TL_OK;
}
