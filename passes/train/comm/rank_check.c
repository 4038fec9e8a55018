/* SPDX-License-Identifier: Apache-2.0 */
/* Follows in one sweep what ranks have for themselves (rank_check.h). */
#include "passes/train/comm/rank_check.h"

#include "ir/graph.h"
#include "ir/ops_gen.h"
#include "passes/train/comm/shards.h"
#include "passes/train/step/path.h"
#include "passes/train/step/regions.h"
#include "passes/train/step/update_cone.h"
#include "support/vec.h"

/* What is known of a value, as bits; 0: the same on all ranks. */
enum {
  LOCAL = 1,  /* another one on each */
  GRAD = 2,   /* and backward has a part in it */
  CHOICE = 4, /* one of two that are the same on all, by a number that is not */
  FORWARD = 8 /* the loss depends on it */
};

typedef struct checking {
  tl_module *m;
  const tl_train_info *t;
  uint8_t *of;       /* [values] */
  tl_value_id *from; /* [values] */
  uint8_t *forward;  /* [values] FORWARD: the loss depends on it */
  bool *known;       /* [values] a parameter with a gradient */
  tl_u32_vec reads;  /* scratch */
  bool no_memory;
} checking;

static bool is_one_number(const tl_module *m, tl_value_id v) {
  uint64_t n;
  return tl_type_elements(m, tl_value_type(m, v), &n) && n == 1;
}

static bool is_state(const tl_module *m, const uint8_t *states, tl_value_id v) {
  return tl_value_get(m, v)->tensor || states[v];
}

/* Marks the inputs that differ between ranks: data, the rank id, gradients from outside. One number
 * is a rate or a counter, the same on all ranks. */
static void set_inputs(checking *c, const uint8_t *states) {
  const tl_graph *g = tl_module_main(c->m);
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    tl_value_id v = g->inputs.at[i];
    bool rank = tl_sv_is(tl_value_name(c->m, v), TL_COMM_RANK_INPUT);
    if (rank || (!is_state(c->m, states, v) && !is_one_number(c->m, v)))
      c->of[v] = LOCAL;
  }
  for (uint32_t i = 0; i < c->t->n; i++)
    if (!c->t->grads[i].producer) /* computed elsewhere */
      c->of[c->t->grads[i].raw] = LOCAL | GRAD;
}

/* Returns true if all ranks have the same result of the node. Reduce gives the sum to its root
 * only. */
static bool agrees(const tl_module *m, tl_node_id n) {
  tl_op_id op = tl_node_get(m, n)->op;
  return op == TL_OP_npu_hcom_HcomBroadcast ||
         (op != TL_OP_npu_hcom_HcomReduce && tl_is_gradient_collective(m, n));
}

/* Returns LOCAL for random ops without a seed. */
static uint8_t own(const checking *c, tl_node_id n) {
  const tl_node *node = tl_node_get(c->m, n);
  return tl_op_has_trait(node->op, TL_TRAIT_RANDOM) && !tl_node_attr(c->m, n, TL_SYM_seed) ? LOCAL
                                                                                           : 0;
}

static bool tells_shape(tl_op_id op) { return op == TL_OP_Shape || op == TL_OP_Size; }

static void put(checking *c, tl_value_id v, uint8_t of, tl_value_id from) {
  c->of[v] = of;
  c->from[v] = of ? from : TL_NO_VALUE;
}

/* Returns what a condition adds to its result: one number that differs between ranks makes a
 * CHOICE, a condition of many elements is data itself. */
static uint8_t of_condition(const checking *c, tl_value_id v) {
  if (!v || !c->of[v])
    return 0;
  return is_one_number(c->m, v) ? CHOICE : c->of[v];
}

/* Joins what is known of everything that the node reads. `from` prefers the operand that adds GRAD
 * or LOCAL, for the path in messages. */
static void visit(checking *c, tl_node_id n) {
  const tl_node *node = tl_node_get(c->m, n);
  bool chooses = node->op == TL_OP_Where;
  uint8_t all = own(c, n);
  tl_value_id from = TL_NO_VALUE;
  c->reads.n = 0;
  if (!tl_train_reads(c->m, n, &c->reads)) /* operands first */
    c->no_memory = true;
  for (uint32_t i = 0; i < c->reads.n; i++) {
    tl_value_id v = c->reads.at[i];
    uint8_t of = chooses && i == 0 ? of_condition(c, v) : c->of[v];
    if (of && (!from || (of & ~all & (GRAD | LOCAL))))
      from = v;
    all |= of;
  }
  bool backward = tl_train_region_of(c->t, n) == TL_REGION_BACKWARD;
  if (agrees(c->m, n) || tells_shape(node->op))
    all = 0;
  else if (backward && all & LOCAL)
    all |= GRAD;
  for (uint32_t i = 0; i < node->n_results; i++)
    put(c, node->results + i, all, from);
}

static void sweep(checking *c, const tl_graph *g);

/* An If: the result is what either branch gives, plus the choice. */
static void visit_branches(checking *c, tl_node_id n) {
  const tl_node *node = tl_node_get(c->m, n);
  tl_value_id condition = tl_operand(c->m, n, 0);
  for (uint32_t i = 0; i < node->n_attrs; i++)
    if (node->attrs[i].kind == TL_ATTR_GRAPH)
      sweep(c, tl_graph_get(c->m, node->attrs[i].u.g));
  for (uint32_t i = 0; i < node->n_results; i++) {
    tl_value_id a = tl_if_result(c->m, n, 0, i), b = tl_if_result(c->m, n, 1, i);
    uint8_t of_a = a ? c->of[a] : 0, of_b = b ? c->of[b] : 0;
    uint8_t chosen = of_condition(c, condition);
    tl_value_id from = of_a & (GRAD | LOCAL) ? a : of_b & (GRAD | LOCAL) ? b : condition;
    if (from == condition && !chosen)
      from = of_a ? a : b;
    put(c, node->results + i, (uint8_t)(of_a | of_b | chosen), from);
  }
}

static void sweep(checking *c, const tl_graph *g) {
  TL_FOR_NODES(c->m, g, n) {
    if (tl_node_is_return(c->m, n))
      continue;
    if (tl_if_result(c->m, n, 0, 0) && tl_if_result(c->m, n, 1, 0))
      visit_branches(c, n);
    else
      visit(c, n);
  }
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static bool is_grad(const void *user, tl_value_id v) {
  const checking *c = user;
  return c->of[v] & GRAD && tl_value_producer(c->m, v);
}

/* Returns true if v is computed otherwise than by elementwise ops or moves of data, with which
 * updates begin: such a value is likely the gradient. */
static bool is_product(const void *user, tl_value_id v) {
  const checking *c = user;
  tl_node_id n = tl_value_producer(c->m, v);
  if (!n || !(c->of[v] & LOCAL))
    return false;
  tl_op_id op = tl_node_get(c->m, n)->op;
  return !tl_op_has_trait(op, TL_TRAIT_ELEMENTWISE) && !tl_op_has_trait(op, TL_TRAIT_LAYOUT) &&
         op != TL_OP_If;
}

/* Writes what the user can do. If the gradient of the parameter is known, something else on the way
 * is not summed. */
static void add_hint(const checking *c, tl_value_id in, tl_value_id out, tl_buf *hint) {
  const tl_module *m = c->m;
  if (c->known[in]) {
    tl_buf_add_z(hint, "its gradient is summed over ranks; compute the rest from gradients of "
                       "parameters, too, or name another gradient of it in --train-spec: "
                       "{\"grads\": ...}");
    return;
  }
  tl_value_id grad = tl_train_nearest(m, c->from, out, in, is_product, c);
  if (!grad)
    grad = tl_train_nearest(m, c->from, out, in, is_grad, c);
  tl_buf_add_z(hint, "name its gradient in --train-spec: ");
  tl_train_add_spec(m, in, out, grad, hint);
  tl_buf_add_z(hint, "; if each rank is to have its own, list the parameters without it: "
                     "{\"params\": ...}");
}

static tl_status report(checking *c, tl_value_id in, tl_value_id out) {
  const tl_module *m = c->m;
  tl_buf path, hint;
  tl_buf_init(&path);
  tl_buf_init(&hint);
  tl_train_add_path(m, c->from, out, &path);
  add_hint(c, in, out, &hint);
  tl_status status = tl_fail_code(
      m->diag, TL_UNSUPPORTED, "E-TRN-LOCAL", TL_AT_NODE(m->path, tl_value_name(m, in)),
      "%s reaches its next value '%.*s', which would differ between ranks: %.*s\v%.*s",
      c->of[out] & GRAD ? "a gradient that is not summed over ranks"
                        : "a value that differs between ranks",
      TL_SV_ARG(tl_value_name(m, out)), TL_SV_ARG(tl_buf_view(&path)),
      TL_SV_ARG(tl_buf_view(&hint)));
  tl_buf_release(&path);
  tl_buf_release(&hint);
  return status;
}

static void warn_of_choice(checking *c, tl_value_id in, tl_value_id out) {
  const tl_module *m = c->m;
  tl_buf path;
  tl_buf_init(&path);
  tl_train_add_path(m, c->from, out, &path);
  tl_warn_code(m->diag, "W-TRN-CHOICE", TL_AT_NODE(m->path, tl_value_name(m, in)),
               "a value that differs between ranks decides about its next value '%.*s': "
               "%.*s\vranks agree on it only as long as they all decide the same",
               TL_SV_ARG(tl_value_name(m, out)), TL_SV_ARG(tl_buf_view(&path)));
  tl_buf_release(&path);
}

static bool leads_to_loss(const checking *c, tl_node_id n) {
  const tl_node *node = tl_node_get(c->m, n);
  bool hit = tl_train_region_of(c->t, n) == TL_REGION_FORWARD;
  for (uint32_t i = 0; i < node->n_results && !hit; i++)
    hit = c->forward[node->results + i] & FORWARD;
  return hit;
}

/* Marks what losses depend on. Besides the known loss, every float of one element counts that
 * depends on the rank's batch and on no gradient. */
static bool find_losses(checking *c) {
  const tl_module *m = c->m;
  const tl_graph *g = tl_module_main(m);
  tl_u32_vec losses = {0};
  bool ok = true;
  for (uint32_t i = 0; i < tl_graph_n_outputs(m, g) && ok; i++) {
    tl_value_id v = tl_graph_output(m, g, i);
    bool number = tl_value_producer(m, v) && is_one_number(m, v) &&
                  tl_dtype_is_float(tl_type_dtype(m, tl_value_type(m, v)));
    if (number && (v == c->t->loss || (c->of[v] & (LOCAL | GRAD)) == LOCAL))
      ok = tl_u32_vec_push(&losses, v);
  }
  ok = ok && tl_train_mark_all_sources(m, losses.at, losses.n, c->forward, FORWARD) == TL_OK;
  tl_u32_vec_release(&losses);
  return ok;
}

/* Returns true for a float that leads to a loss, other than as a running statistic, which
 * normalizations in training mode do not compute with. */
static bool is_trained(const checking *c, tl_value_id in) {
  if (!(c->forward[in] & FORWARD) ||
      !tl_dtype_is_float(tl_type_dtype(c->m, tl_value_type(c->m, in))))
    return false;
  TL_FOR_USES(c->m, in, u) {
    tl_node_id n = tl_use_get(c->m, u)->user;
    if (leads_to_loss(c, n) && !tl_is_running_statistic(c->m, u))
      return true;
  }
  return false;
}

/* Reports a state that would differ between ranks, or warns of a choice. */
static tl_status check_pair(checking *c, tl_value_id in, tl_value_id out) {
  bool listed_out = tl_step_state_of(c->m)->params_listed && !c->known[in];
  if (listed_out || !tl_value_producer(c->m, out))
    return TL_OK;
  if (c->of[out] & GRAD || (c->of[out] & LOCAL && is_trained(c, in)))
    return report(c, in, out);
  if (c->of[out] & CHOICE && is_trained(c, in))
    warn_of_choice(c, in, out);
  return TL_OK;
}

static tl_status check(checking *c) {
  const tl_module *m = c->m;
  for (uint32_t i = 0; i < m->states.n; i++) {
    const tl_state *s = &m->states.at[i];
    if (!s->local && !s->root)
      TL_TRY(check_pair(c, s->input, s->output));
  }
  for (uint32_t i = 0; i < c->t->n_untold; i++) {
    const tl_train_untold *u = &c->t->untold[i];
    if (c->of[u->output] & GRAD || u->gradient)
      TL_TRY(check_pair(c, u->input, u->output));
  }
  return TL_OK;
}

tl_status tl_rank_check(tl_pass *p, tl_module *m, const tl_train_info *t, bool elsewhere) {
  checking c = {.m = m, .t = t};
  uint32_t n = tl_module_value_end(m);
  uint8_t *states = tl_arena_calloc(p->scratch, n, 1);
  c.of = tl_arena_calloc(p->scratch, n, 1);
  c.from = tl_arena_calloc(p->scratch, n, sizeof *c.from);
  c.forward = tl_arena_calloc(p->scratch, n, 1);
  c.known = tl_arena_calloc(p->scratch, n, sizeof *c.known);
  bool ok = states && c.of && c.from && c.forward && c.known;
  for (uint32_t i = 0; ok && i < m->states.n; i++)
    states[m->states.at[i].input] = 1;
  for (uint32_t i = 0; ok && i < t->n; i++)
    c.known[t->grads[i].param] = true;
  if (ok) {
    set_inputs(&c, states);
    sweep(&c, tl_module_main(m));
    ok = find_losses(&c);
  }
  tl_u32_vec_release(&c.reads);
  if (!ok || c.no_memory)
    return tl_no_memory(m);
  return elsewhere ? TL_OK : check(&c);
}
