/* SPDX-License-Identifier: Apache-2.0 */
/* Traces on which rank a value is what it would be without shards (shards.h).
 * A sum is right on its root alone, and so is everything that depends on it. */
#include "passes/train/comm/shard_roots.h"

#include "ir/ops_gen.h"
#include "passes/train/step/regions.h"
#include "passes/train/step/update_ops.h"

enum { EVERYWHERE = 0 };
#define NOWHERE UINT32_MAX

typedef struct tracing {
  tl_module *m;
  uint32_t *root; /* [values] EVERYWHERE, NOWHERE, or 1 + rank */
  bool *known;    /* [values] an element of an update of several tensors: is not computed anew */
  uint32_t n_values;
} tracing;

/* The root of a value that depends on two others; NOWHERE if they have different roots. */
static uint32_t join(uint32_t a, uint32_t b) {
  return a == EVERYWHERE ? b : b == EVERYWHERE || a == b ? a : NOWHERE;
}

/* Fixes the root of a value; the sweep does not compute it again. */
static void set(tracing *x, tl_value_id v, uint32_t root) {
  if (!v || v >= x->n_values)
    return;
  x->root[v] = root;
  x->known[v] = true;
}

/* Traces an update of several tensors one by one: what it does with one does not depend on the
 * others. */
static bool trace_update(tracing *x, tl_node_id n) {
  const tl_update_row *row = tl_update_row_of(x->m, n);
  uint32_t count = row ? tl_update_count(x->m, n, row) : 0;
  for (uint32_t i = 0; i < count; i++) {
    tl_update_slot s;
    if (!tl_update_slot_at(x->m, n, row, i, &s))
      return false;
    uint32_t root = join(x->root[s.param], x->root[s.grad]);
    for (uint32_t k = 0; k < s.n_states; k++)
      root = join(root, x->root[s.state_in[k]]);
    set(x, s.out, root);
    for (uint32_t k = 0; k < s.n_states; k++)
      set(x, s.state_out[k], root);
  }
  return count != 0;
}

/* Follows roots through the graph in one sweep. */
static tl_status trace(tracing *x) {
  const tl_module *m = x->m;
  tl_u32_vec values = {0};
  bool ok = true;
  TL_FOR_NODES(m, tl_module_main(m), n) {
    const tl_node *node = tl_node_get(m, n);
    bool sums = node->op == TL_OP_npu_hcom_HcomReduce;
    uint32_t root = sums ? (uint32_t)tl_node_attr_int(m, n, TL_SYM_root_rank, 0) + 1 : EVERYWHERE;
    if (!sums && trace_update(x, n))
      continue;
    ok = ok && tl_train_node_values(m, n, &values);
    for (uint32_t i = 0; !sums && i < values.n; i++)
      root = join(root, x->root[values.at[i]]);
    bool told = node->op == TL_OP_com_microsoft_InPlaceAccumulatorV2; /* that it has been done */
    for (uint32_t i = 0; i < node->n_results; i++)
      if (!x->known[node->results + i])
        x->root[node->results + i] = told && i == 0 ? EVERYWHERE : root;
  }
  tl_u32_vec_release(&values);
  return ok ? TL_OK : tl_no_memory(m);
}

static tl_status refuse(const tracing *x, tl_value_id v, const char *what, const char *why) {
  return tl_fail_code(x->m->diag, TL_UNSUPPORTED, "E-WUS-GRAD",
                      TL_AT_NODE(x->m->path, tl_value_name(x->m, v)), "%s %s\vleave --wus at 0",
                      what, why);
}

static bool is_state_output(const tl_module *m, tl_value_id v) {
  for (uint32_t i = 0; i < m->states.n; i++)
    if (m->states.at[i].output == v)
      return true;
  return false;
}

/* Declares local states; refuses what no single rank has right. */
static tl_status check(tracing *x) {
  const tl_module *m = x->m;
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 0; i < m->states.n; i++) {
    tl_state *s = &m->states.at[i];
    uint32_t root = x->root[s->output];
    if (root == NOWHERE)
      return refuse(
          x, s->output, "this state",
          "depends on gradients of several ranks, for example by a norm over all of them");
    if (root != EVERYWHERE && !s->parameter) {
      s->local = true;
      s->root = root;
    }
  }
  for (uint32_t i = 0; i < tl_graph_n_outputs(m, g); i++) {
    tl_value_id v = tl_graph_output(m, g, i);
    if (x->root[v] != EVERYWHERE && !is_state_output(m, v))
      return refuse(x, v, "this output", "depends on sums of gradients that only one rank has");
  }
  return TL_OK;
}

tl_status tl_shards_trace(tl_module *m, tl_arena *arena, const tl_u32_vec *masked) {
  tracing x = {.m = m, .n_values = tl_module_value_end(m)};
  x.root = tl_arena_calloc(arena, x.n_values, sizeof *x.root);
  x.known = tl_arena_calloc(arena, x.n_values, sizeof *x.known);
  if (!x.root || !x.known)
    return tl_no_memory(m);
  for (uint32_t i = 0; i < masked->n; i++)
    set(&x, masked->at[i], EVERYWHERE);
  TL_TRY(trace(&x));
  return check(&x);
}
