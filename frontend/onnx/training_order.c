/* SPDX-License-Identifier: Apache-2.0 */
/* Orders several training_info, which run one after the other on the updated initializers.
 * Nodes of a later algorithm read the next values in place of the bound initializers. Nodes of the
 * model's graph that depend on these initializers are copied, so that the later algorithm sees
 * results for the updated values. */
#include "frontend/onnx/training.h"
#include "ir/graph.h"
#include "ir/ops_gen.h"

/* State for one training_info after the first. */
typedef struct ordering {
  tl_onnx_training *x;
  tl_module *m;
  tl_graph *g;
  uint32_t info;    /* index of the current training_info, 1 or more */
  tl_map now;       /* value -> the value that replaces it for this algorithm */
  uint8_t *needed;  /* [nodes] the current algorithm depends on the node */
  uint8_t *changed; /* [nodes] READS: the node reads a replaced value; IN_BODY: its bodies do */
  uint32_t n_nodes;
} ordering;

enum { READS = 1, IN_BODY = 2 };

static tl_node_id outermost(const ordering *o, tl_node_id n) {
  while (tl_node_get(o->m, n)->graph != o->g->id)
    n = tl_graph_get(o->m, tl_node_get(o->m, n)->graph)->owner;
  return n;
}

static bool is_of_algorithm(const ordering *o, tl_node_id n) {
  const tl_u32_vec *first = &o->x->first_nodes; /* one more than infos: the end of the last */
  return n >= first->at[o->info] && n < first->at[o->info + 1];
}

/* Returns the index of the first state that a training_info binds. */
static uint32_t first_state(const ordering *o, uint32_t info) {
  return info ? o->x->last_bindings.at[info - 1] / 2 : 0;
}

static bool is_used(const ordering *o, tl_value_id v) {
  TL_FOR_USES(o->m, v, u) {
    tl_node_id n = outermost(o, tl_use_get(o->m, u)->user);
    if (!tl_node_is_return(o->m, n) && (is_of_algorithm(o, n) || (n < o->n_nodes && o->needed[n])))
      return true;
  }
  return false;
}

static void find_needed(ordering *o) {
  memset(o->needed, 0, o->n_nodes);
  memset(o->changed, 0, o->n_nodes);
  for (uint32_t i = first_state(o, o->info); i < first_state(o, o->info + 1); i++)
    o->needed[tl_value_producer(o->m, o->m->states.at[i].output)] = 1;
  for (tl_node_id n = o->g->last; n; n = tl_node_get(o->m, n)->previous) {
    const tl_node *node = tl_node_get(o->m, n);
    for (uint32_t i = 0; n < o->n_nodes && i < node->n_results && !o->needed[n]; i++)
      o->needed[n] = is_used(o, node->results + i);
  }
}

/* Records that `to` replaces v, and marks the nodes that read v; false if memory is out. */
static bool stand_for(ordering *o, tl_value_id v, tl_value_id to) {
  TL_FOR_USES(o->m, v, u) {
    tl_node_id user = tl_use_get(o->m, u)->user, n = outermost(o, user);
    if (n < o->n_nodes)
      o->changed[n] |= n == user ? READS : IN_BODY;
  }
  return tl_map_set(&o->now, v, to);
}

static tl_status refuse(ordering *o, tl_node_id n, const char *why) {
  return tl_fail(o->x->r->d, TL_UNSUPPORTED, tl_node_where(o->m, n),
                 "training_info %u uses values that an earlier training_info updates, but this "
                 "node %s\vkeep one training_info only",
                 o->info + 1, why);
}

/* Replaces v by `to` as operand of the algorithm's own nodes, in bodies too. */
static void substitute(ordering *o, tl_value_id v, tl_value_id to) {
  TL_FOR_USES(o->m, v, u) {
    tl_node_id user = tl_use_get(o->m, u)->user;
    if (!tl_node_is_return(o->m, user) && is_of_algorithm(o, outermost(o, user)))
      tl_node_set_operand(o->m, user, u - tl_node_get(o->m, user)->operands, to);
  }
}

static tl_status copy(ordering *o, tl_node_id n) {
  tl_module *m = o->m;
  const tl_node node = *tl_node_get(m, n);
  tl_u32_vec in = {0}, names = {0};
  bool ok = true;
  for (uint32_t i = 0; ok && i < node.n_operands; i++) {
    uint32_t v = tl_operand(m, n, i);
    (void)tl_map_find(&o->now, v, &v);
    ok = tl_u32_vec_push(&in, v);
  }
  for (uint32_t i = 0; ok && i < node.n_results; i++) {
    tl_symbol s = tl_value_get(m, node.results + i)->name;
    ok = tl_u32_vec_push(&names, s ? tl_module_fresh_name(m, tl_sym(m, s)) : 0) &&
         names.at[i] != TL_NO_SYMBOL;
  }
  tl_node_spec spec = {.op = node.op,
                       .operands = in.at,
                       .n_operands = node.n_operands,
                       .results = names.at,
                       .n_results = node.n_results,
                       .attrs = node.attrs,
                       .n_attrs = node.n_attrs};
  spec.name = ok && node.name ? tl_module_fresh_name(m, tl_sym(m, node.name)) : 0;
  tl_node_id made = ok && spec.name != TL_NO_SYMBOL ? tl_graph_append(m, o->g->id, &spec) : 0;
  for (uint32_t i = 0; made && i < node.n_results; i++) {
    tl_value_set_type(m, tl_result(m, made, i), tl_value_type(m, node.results + i));
    ok = ok && stand_for(o, node.results + i, tl_result(m, made, i));
    substitute(o, node.results + i, tl_result(m, made, i));
  }
  tl_u32_vec_release(&in);
  tl_u32_vec_release(&names);
  return ok && made ? TL_OK : tl_fail_memory(o->x->r->d, TL_AT_FILE(o->x->r->path));
}

static tl_status visit(ordering *o, tl_node_id n) {
  if (is_of_algorithm(o, n) && tl_node_get(o->m, n)->op == TL_OP_ai_onnx_preview_training_Gradient)
    return refuse(
        o, n, "differentiates the graph of the model, which has the values from before the update");
  if (is_of_algorithm(o, n) || !o->needed[n] || !o->changed[n])
    return TL_OK;
  if (o->changed[n] & IN_BODY)
    return refuse(o, n, "has a body that depends on these values");
  return copy(o, n);
}

/* Refuses a binding whose next value was copied: the binding would name the original. */
static tl_status check_bound(ordering *o) {
  for (uint32_t i = first_state(o, o->info); i < first_state(o, o->info + 1); i++) {
    tl_value_id v = o->m->states.at[i].output;
    if (tl_map_find(&o->now, v, NULL))
      return tl_fail(o->x->r->d, TL_UNSUPPORTED, TL_AT_FILE(o->x->r->path),
                     "training_info %u binds '%.*s', which depends on values that an earlier "
                     "training_info updates",
                     o->info + 1, TL_SV_ARG(tl_value_name(o->m, v)));
  }
  return TL_OK;
}

static tl_status run(ordering *o) {
  bool ok = true;
  tl_map_release(&o->now);
  o->now = (tl_map){0};
  find_needed(o);
  for (uint32_t i = 0; ok && i < first_state(o, o->info); i++) {
    ok = stand_for(o, o->m->states.at[i].input, o->m->states.at[i].output);
    substitute(o, o->m->states.at[i].input, o->m->states.at[i].output);
  }
  if (!ok)
    return tl_fail_memory(o->x->r->d, TL_AT_FILE(o->x->r->path));
  tl_node_id last = o->g->last; /* copies go behind it */
  for (tl_node_id n = o->g->first, next; n; n = n == last ? TL_NO_NODE : next) {
    next = tl_node_get(o->m, n)->next;
    if (n < o->n_nodes)
      TL_TRY(visit(o, n));
  }
  return check_bound(o);
}

tl_status tl_onnx_training_order(tl_onnx_training *training) {
  ordering o = {.x = training, .m = training->r->m, .g = tl_module_main(training->r->m)};
  tl_status status = TL_OK;
  for (o.info = 1; status == TL_OK && o.info + 1 < training->first_nodes.n; o.info++) {
    o.n_nodes = tl_module_node_end(training->r->m);
    free(o.needed);
    free(o.changed);
    o.needed = calloc(o.n_nodes + 1u, 1);
    o.changed = calloc(o.n_nodes + 1u, 1);
    status = o.needed && o.changed ? run(&o) : tl_fail_memory(o.x->r->d, TL_AT_FILE(o.x->r->path));
    if (status == TL_OK)
      status = tl_graph_sort(training->r->m, o.g->id);
  }
  free(o.needed);
  free(o.changed);
  tl_map_release(&o.now);
  return status;
}
