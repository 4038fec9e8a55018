/* SPDX-License-Identifier: Apache-2.0 */
/* sink-transposes: gives nodes that do not care about the order of dims the order that takes the
 * fewest Transposes; sink-transposes-fused: again behind fusions, where fewer bytes count too.
 *
 * Requires:  infer-shapes; fold-constants, which has removed what is constant.
 * Keeps:     every number; names of outputs; nodes with control edges, as nodes.
 * After:     no other order of one region of nodes makes the graph smaller, as far as the bounds on
 *            work reach (region.c). There are never more nodes than before.
 * Cost:      each node is in at most 64 regions; one cheapest cut a region.
 * Tests:     tests/golden/sink-transposes/, tests/conformance/sandwiches.py */
#include "ir/ops_gen.h"
#include "ir/options/fusion_config.h"
#include "passes/edit/passes.h"
#include "passes/engine/ruleset.h"
#include "passes/fold/fold.h"
#include "passes/layout/place.h"

enum { MOST_SEEDS = 64 }; /* readers of one source that regions start from */

/* A way to make one order of one source unnecessary. */
typedef struct seed {
  tl_node_id node;
  tl_order order;
} seed;

TL_VEC(seed_vec, seed);

typedef struct sinking {
  tl_layout l;
  tl_u32_vec sources; /* to be looked at */
  seed_vec seeds;     /* of one source */
  uint32_t moved;
} sinking;

enum { MOST_LOOKS = 8 };

static bool look_at(sinking *s, tl_value_id v) {
  if (s->l.looks[v] == MOST_LOOKS)
    return true;
  s->l.looks[v]++;
  return tl_u32_vec_push(&s->sources, v);
}

/* Adds the node of a reader, in the order in which it wants the source as `order`. */
static bool add_reader(sinking *s, const tl_reader *r, tl_order order) {
  if (!r->law)
    return true;
  tl_order seen = tl_order_then(tl_order_back(r->view), order);
  return seed_vec_push(&s->seeds, (seed){r->user, tl_law_wanting(r->port, r->law->now, seen)});
}

/* Adds the node that makes a source, in the order that makes it as `order`. */
static bool add_maker(sinking *s, tl_value_id source, tl_order order) {
  tl_law_port port;
  tl_node_id n = tl_value_producer(s->l.m, source);
  tl_law *law = n ? tl_layout_law(&s->l, n) : NULL;
  if (!law || !tl_law_result(law, source - tl_node_get(s->l.m, n)->results, &port))
    return true;
  return seed_vec_push(&s->seeds, (seed){n, tl_law_wanting(port, law->now, order)});
}

/* Collects what could save a Transpose of the source: readers take it as it is made, or as another
 * reader has it; or it is made as a reader wants it. */
static bool find_seeds(sinking *s, tl_value_id source) {
  tl_layout *l = &s->l;
  tl_order made = tl_layout_made(l, source), others[4];
  uint32_t n_others = 0;
  s->seeds.n = 0;
  tl_layout_read(l, source);
  for (uint32_t i = 0; i < l->readers.n && s->seeds.n < MOST_SEEDS; i++) {
    tl_order asked = l->readers.at[i].now;
    bool known = false;
    if (asked == made)
      continue;
    for (uint32_t k = 0; k < n_others; k++)
      known = known || others[k] == asked;
    if (!known && n_others < 4)
      others[n_others++] = asked;
    if (!add_reader(s, &l->readers.at[i], made) || (!known && !add_maker(s, source, asked)))
      return false;
  }
  for (uint32_t i = 0; n_others > 1 && i < l->readers.n && s->seeds.n < MOST_SEEDS; i++)
    for (uint32_t k = 0; k < n_others; k++)
      if (!add_reader(s, &l->readers.at[i], others[k]))
        return false;
  return !l->no_memory;
}

/* Tries the seeds of a source. Where one helps, the sources of its region are looked at again. */
static bool look(sinking *s, tl_value_id source) {
  if (!find_seeds(s, source))
    return false;
  for (uint32_t i = 0; i < s->seeds.n; i++) {
    if (!tl_region_try(&s->l, s->seeds.at[i].node, s->seeds.at[i].order))
      continue;
    s->moved++;
    for (uint32_t k = 0; k < s->l.sources.n; k++)
      if (!look_at(s, s->l.sources.at[k].value))
        return false;
    if (!find_seeds(s, source))
      return false;
    i = UINT32_MAX; /* the orders that readers want have changed */
  }
  return !s->l.no_memory;
}

/* Decides the orders of one graph. */
static bool decide(sinking *s) {
  tl_module *m = s->l.m;
  tl_order order;
  s->sources.n = 0;
  s->moved = 0;
  TL_FOR_NODES(m, s->l.g, n) {
    if (tl_node_get(m, n)->op != TL_OP_Transpose || !tl_layout_view(&s->l, n, &order))
      continue;
    tl_value_id source = tl_layout_source(&s->l, tl_operand(m, n, 0), &order);
    if (!s->l.looks[source] && !tl_value_constant(m, source) && !look_at(s, source))
      return false;
  }
  for (uint32_t i = 0; i < s->sources.n; i++)
    if (!look(s, s->sources.at[i]))
      return false;
  for (uint32_t i = 0; i < s->sources.n; i++) /* a body may read them too */
    s->l.looks[s->sources.at[i]] = 0;
  return true;
}

static tl_status sink_in(sinking *s, tl_u32_vec *made) {
  tl_module *m = s->l.m;
  tl_pass *p = s->l.p;
  uint32_t before = s->l.g->n_nodes;
  if (!decide(s))
    return tl_no_memory(m);
  if (!s->moved)
    return TL_OK;
  tl_node_id first = TL_NO_NODE;
  TL_FOR_NODES(m, s->l.g, n) {
    const tl_law *law = tl_layout_law(&s->l, n);
    first = !first && law && law->now != TL_ORDER_SAME ? n : first;
  }
  TL_TRY(tl_layout_place(&s->l, made));
  tl_pass_remark(p, m, first, true, "it and others have their dims in another order: %u nodes less",
                 before - s->l.g->n_nodes);
  return TL_OK;
}

/* Returns true if there is something to do: the public name of the pass is not switched off. A
 * constant could not be turned if constants were to stay as they are. */
static bool is_on(const tl_pass *p, const tl_module *m) {
  tl_fusion_config own = p->options->fusion ? *p->options->fusion : (tl_fusion_config){0};
  own.functional_only = false; /* it simplifies; levels concern fusions */
  return p->options->fold_constants && tl_module_had_op(m, TL_OP_Transpose) &&
         tl_fusion_is_on(&own, tl_sv_from("TransposeSink"), TL_FUSION_GRAPH, NULL);
}

static tl_status sink(tl_pass *p, tl_module *m, bool bytes_alone) {
  sinking s = {.moved = 0};
  tl_u32_vec made = {0};
  if (!is_on(p, m))
    return TL_OK;
  bool ok = tl_layout_init(&s.l, p, m);
  s.l.bytes_alone = bytes_alone;
  tl_status status = ok ? TL_OK : tl_no_memory(m);
  for (uint32_t i = 0; i < m->graphs.n && status == TL_OK; i++) {
    const tl_graph *g = m->graphs.at[i];
    if (!g->erased)
      status = tl_layout_enter(&s.l, g) ? sink_in(&s, &made) : tl_no_memory(m);
  }
  if (status == TL_OK && made.n)
    status = tl_fold_from(p, m, &made);
  tl_u32_vec_release(&made);
  tl_u32_vec_release(&s.sources);
  seed_vec_release(&s.seeds);
  tl_layout_release(&s.l);
  return status;
}

tl_status tl_pass_sink_transposes(tl_pass *p, tl_module *m) {
  TL_TRY(sink(p, m, false));
  p->engine->turned = p->changed != 0;
  return TL_OK;
}

tl_status tl_pass_sink_transposes_fused(tl_pass *p, tl_module *m) { return sink(p, m, true); }
