/* SPDX-License-Identifier: Apache-2.0 */
/* Structural level, second half: bodies, scopes and order, names, control edges, states. */
#include <stdlib.h>

#include "ir/names.h"
#include "ir/verify/internal.h"
#include "support/map.h"

/* ---- bodies ---------------------------------------------------------------------------------- */

typedef void (*body_fn)(tl_verifier *v, tl_node_id n, tl_graph_id g, void *user);

static void each_body(tl_verifier *v, tl_node_id n, body_fn fn, void *user) {
  const tl_node *node = tl_node_get(v->m, n);
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    if (a->kind == TL_ATTR_GRAPH)
      fn(v, n, a->u.g, user);
    for (uint32_t k = 0; a->kind == TL_ATTR_GRAPHS && k < a->count; k++)
      fn(v, n, a->u.ids[k], user);
  }
}

static bool is_body_of(const tl_module *m, tl_graph_id g, tl_node_id owner) {
  if (g == TL_NO_GRAPH || g > m->graphs.n)
    return false;
  const tl_graph *graph = tl_graph_get(m, g);
  return graph->kind == TL_GRAPH_BODY && !graph->erased && graph->owner == owner;
}

static void count_body(tl_verifier *v, tl_node_id n, tl_graph_id g, void *user) {
  uint32_t *references = user;
  if (!is_body_of(v->m, g, n))
    tl_verify_report(v, n, "graph %u is not a body of this node", g);
  else if (references[g - 1]++)
    tl_verify_report(v, n, "graph %u is an attribute twice", g);
}

static void check_owners(tl_verifier *v, const uint32_t *references) {
  for (uint32_t i = 0; i < v->m->graphs.n; i++) {
    const tl_graph *g = v->m->graphs.at[i];
    if (g->erased)
      continue;
    if (g->kind == TL_GRAPH_BODY && references[i] == 0)
      tl_verify_report(v, g->owner, "graph %u is a body that no attribute names", g->id);
    if (g->kind == TL_GRAPH_ROOT && g->owner)
      tl_verify_report(v, g->owner, "graph %u is a root graph and has an owner", g->id);
  }
}

/* Owners around a graph; no more are counted than may be. */
static uint32_t depth_of(const tl_module *m, const tl_graph *g) {
  uint32_t depth = 0;
  for (; g->owner && depth <= TL_MAX_BODY_DEPTH; depth++)
    g = tl_graph_get(m, tl_node_get(m, g->owner)->graph);
  return depth;
}

static void check_depths(tl_verifier *v) {
  for (uint32_t i = 0; i < v->m->graphs.n; i++) {
    const tl_graph *g = v->m->graphs.at[i];
    if (!g->erased && depth_of(v->m, g) > TL_MAX_BODY_DEPTH)
      tl_verify_report(v, g->owner, "graphs nest more than %d deep", TL_MAX_BODY_DEPTH);
  }
}

static void check_bodies(tl_verifier *v) {
  uint32_t *references = calloc(v->m->graphs.n + 1, sizeof *references);
  if (!references) {
    v->out_of_memory = true;
    return;
  }
  for (uint32_t i = 0; i < v->m->graphs.n; i++)
    if (!v->m->graphs.at[i]->erased)
      TL_FOR_NODES(v->m, v->m->graphs.at[i], n)
        each_body(v, n, count_body, references);
  check_owners(v, references);
  free(references);
}

/* ---- scopes and order ------------------------------------------------------------------------ */

/* The node that stands for `n` in graph `target`: n itself or the owner of the body it is in.
 * TL_NO_NODE when target is not around it. */
static tl_node_id ancestor_in(const tl_module *m, tl_node_id n, tl_graph_id target) {
  for (uint32_t depth = 0; n && depth <= m->graphs.n; depth++) {
    tl_graph_id g = tl_node_get(m, n)->graph;
    if (g == target)
      return n;
    n = tl_graph_get(m, g)->owner;
  }
  return TL_NO_NODE;
}

static void check_scope_of(tl_verifier *v, tl_node_id n) {
  const tl_module *m = v->m;
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands; i++) {
    tl_value_id operand = tl_operand(m, n, i);
    if (!operand)
      continue;
    tl_node_id at = ancestor_in(m, n, tl_value_graph(m, operand));
    tl_node_id producer = tl_value_producer(m, operand);
    if (!at)
      tl_verify_report(v, n, "operand %u (%%%.*s) belongs to a graph that is not around the node",
                       i, TL_SV_ARG(tl_value_name(m, operand)));
    else if (producer && !tl_node_is_return(m, at) &&
             tl_node_get(m, producer)->order >= tl_node_get(m, at)->order)
      tl_verify_report(v, n, "operand %u (%%%.*s) is produced after its use", i,
                       TL_SV_ARG(tl_value_name(m, operand)));
  }
}

static void check_scopes(tl_verifier *v) { tl_verify_each_node(v, check_scope_of); }

/* ---- names ----------------------------------------------------------------------------------- */

static void report_duplicate(void *user, tl_value_id id) {
  tl_verifier *v = user;
  tl_verify_report(v, tl_value_producer(v->m, id), "two values of a graph are called %%%.*s",
                   TL_SV_ARG(tl_value_name(v->m, id)));
}

static tl_status report_shadow(void *user, tl_value_id id, bool seen) {
  tl_verifier *v = user;
  (void)seen;
  tl_verify_report(v, tl_value_producer(v->m, id),
                   "the result %%%.*s in a body has the name of a "
                   "value around it",
                   TL_SV_ARG(tl_value_name(v->m, id)));
  return TL_OK;
}

static tl_status report_hidden(void *user, tl_node_id n, uint32_t i, tl_value_id hider) {
  tl_verifier *v = user;
  tl_verify_report(v, n,
                   "operand %u (%%%.*s) is hidden by a value of that name in a body of a "
                   "node around it",
                   i, TL_SV_ARG(tl_value_name(v->m, hider)));
  return TL_OK;
}

static void check_names(tl_verifier *v) {
  tl_name_visitor visitor = {report_duplicate, report_shadow, report_hidden, v};
  v->out_of_memory |= tl_names_walk(v->m, &visitor) == TL_NO_MEMORY;
}

/* ---- control edges and states ---------------------------------------------------------------- */

static bool is_sound_edge(const tl_module *m, const tl_control *c) {
  if (!c->from || !c->to || c->from >= tl_module_node_end(m) || c->to >= tl_module_node_end(m))
    return false;
  const tl_node *from = tl_node_get(m, c->from);
  const tl_node *to = tl_node_get(m, c->to);
  return from->op != TL_OP_ERASED && to->op != TL_OP_ERASED && from->graph == to->graph &&
         from->order < to->order && c->origin < TL_N_CONTROL_ORIGINS;
}

/* Edges in and out of all nodes: balanced counts mean that each edge is in both lists. */
static void check_control(tl_verifier *v) {
  const tl_module *m = v->m;
  int64_t balance = 0;
  for (tl_node_id n = 1; n < tl_module_node_end(m); n++) {
    const tl_node *node = tl_node_get(m, n);
    for (tl_control_id c = node->control_in; c; c = tl_control_get(m, c)->next_in) {
      if (balance++ > m->controls.next || tl_control_get(m, c)->to != n ||
          !is_sound_edge(m, tl_control_get(m, c))) {
        tl_verify_report(v, n,
                         "a control edge into the node is wrong: both ends must be in one "
                         "graph, the source first");
        return;
      }
    }
  }
  for (tl_node_id n = 1; n < tl_module_node_end(m); n++)
    for (tl_control_id c = tl_node_get(m, n)->control_out; c && balance >= 0;
         c = tl_control_get(m, c)->next_out)
      balance -= tl_control_get(m, c)->from == n ? 1 : INT32_MAX;
  if (balance)
    tl_verify_report(v, TL_NO_NODE, "lists of outgoing and incoming control edges differ");
}

static bool is_sound_state(const tl_module *m, const tl_state *s) {
  tl_value_id end = tl_module_value_end(m);
  return s->input && s->input < end && s->output && s->output < end && s->initial < end &&
         tl_value_get(m, s->input)->kind == TL_VALUE_INPUT &&
         tl_value_get(m, s->output)->kind != TL_VALUE_NONE &&
         tl_value_graph(m, s->input) == tl_value_graph(m, s->output);
}

/* An input with two next values could have either in the next step. */
static void check_states(tl_verifier *v) {
  const tl_module *m = v->m;
  tl_map inputs = {0};
  for (uint32_t i = 0; i < m->states.n && !v->out_of_memory; i++) {
    tl_value_id input = m->states.at[i].input;
    if (!is_sound_state(m, &m->states.at[i]))
      tl_verify_report(v, TL_NO_NODE, "state %u is not an input and a value of the same graph", i);
    else if (tl_map_find(&inputs, input, NULL))
      tl_verify_report(v, TL_NO_NODE, "state %u: the input '%.*s' has two next values", i,
                       TL_SV_ARG(tl_sym(m, tl_value_get(m, input)->name)));
    v->out_of_memory |= !tl_map_set(&inputs, input, i);
  }
  tl_map_release(&inputs);
}

static bool is_value(const tl_module *m, tl_value_id v) {
  return v < tl_module_value_end(m) && tl_value_get(m, v)->kind != TL_VALUE_NONE;
}

static void check_gradients(tl_verifier *v) {
  const tl_module *m = v->m;
  for (uint32_t i = 0; i < m->gradients.n; i++) {
    const tl_gradient *g = &m->gradients.at[i];
    bool sound = g->param && is_value(m, g->param) && g->grad && is_value(m, g->grad) &&
                 (!g->indices || is_value(m, g->indices)) &&
                 tl_value_get(m, g->param)->kind == TL_VALUE_INPUT &&
                 tl_value_graph(m, g->param) == tl_value_graph(m, g->grad);
    if (!sound)
      tl_verify_report(v, TL_NO_NODE, "gradient %u is not that of an input of the same graph", i);
  }
  if ((m->loss && !is_value(m, m->loss)) || (m->seed && !is_value(m, m->seed)))
    tl_verify_report(v, TL_NO_NODE, "the loss or the seed of backward is not a value");
}

const tl_check tl_structure_checks[] = {
    {"bodies", check_bodies},       {"depth", check_depths},
    {"scope", check_scopes},        {"names", check_names},
    {"control", check_control},     {"states", check_states},
    {"gradients", check_gradients}, {NULL, NULL},
};
