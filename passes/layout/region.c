/* SPDX-License-Identifier: Apache-2.0 */
/* Grows regions, counts what orders cost, and cuts (region.h). */
#include "passes/layout/region.h"

#include "ir/marks.h"
#include "ir/ops_gen.h"

enum { MOST_NODES = 65536, MOST_VISITS = 64, MOST_ORDERS = 32, ANY_DIM = 64, BYTES_A_UNIT = 64 };

/* Costs: nodes count first, then bytes that move, in units. */
#define A_NODE (INT64_C(1) << 44)
#define MOST_UNITS (INT64_C(1) << 24)

/* Which orders of nodes are meant. */
typedef enum orders {
  NOW,  /* as decided so far */
  THEN, /* as the region wants them */
  CUT   /* as the cut says */
} orders;

bool tl_layout_init(tl_layout *l, tl_pass *p, tl_module *m) {
  *l = (tl_layout){.p = p, .m = m, .n_laws = tl_module_node_end(m)};
  l->exact = p->options->numerics == TL_NUMERICS_EXACT;
  l->laws = tl_arena_calloc(p->scratch, l->n_laws, sizeof(tl_law *));
  return l->laws && tl_pinned_find(p, m, &l->pinned) == TL_OK;
}

/* A body reads values that were made while the graphs around it changed, so tables grow. Numbers of
 * regions are not used again: what was noted of earlier graphs may go. */
bool tl_layout_enter(tl_layout *l, const tl_graph *g) {
  uint32_t n = tl_module_value_end(l->m);
  l->g = g;
  if (n <= l->n_values)
    return true;
  l->n_values = l->n_values ? n + n / 2 : n;
  l->met = tl_arena_calloc(l->p->scratch, l->n_values, sizeof *l->met);
  l->looks = tl_arena_calloc(l->p->scratch, l->n_values, sizeof *l->looks);
  return l->met && l->looks;
}

void tl_layout_release(tl_layout *l) {
  tl_u32_vec_release(&l->nodes);
  tl_u32_vec_release(&l->open);
  tl_source_vec_release(&l->sources);
  tl_reader_vec_release(&l->readers);
  tl_cut_release(&l->cut);
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* Returns true if the node may change: nobody asked to have it as it is. */
static bool is_free(const tl_layout *l, tl_node_id n) {
  const tl_node *node = tl_node_get(l->m, n);
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_is_pinned(&l->pinned, node->results + i))
      return false;
  return !tl_node_has_mark(l->m, n, TL_MARK_NOFOLD) && !tl_node_asks_dump(l->m, n);
}

tl_law *tl_layout_law(tl_layout *l, tl_node_id n) {
  if (!n || n >= l->n_laws || tl_node_get(l->m, n)->graph != l->g->id)
    return NULL;
  if (!l->laws[n]) {
    tl_law law;
    l->laws[n] = &l->none;
    if (tl_law_read(l->m, n, l->exact, &law) && is_free(l, n)) {
      tl_law *kept = tl_arena_alloc(l->p->scratch, sizeof law);
      l->no_memory = l->no_memory || !kept;
      if (kept) {
        *kept = law;
        l->laws[n] = kept;
      }
    }
  }
  return l->laws[n] == &l->none ? NULL : l->laws[n];
}

bool tl_layout_view(tl_layout *l, tl_node_id n, tl_order *order) {
  const tl_node *node = tl_node_get(l->m, n);
  if (node->op != TL_OP_Transpose || node->graph != l->g->id || node->control_in ||
      node->control_out)
    return false;
  const tl_type *t = tl_type_get(l->m, tl_value_type(l->m, tl_operand(l->m, n, 0)));
  tl_int_list perm = tl_node_attr_ints(l->m, n, TL_SYM_perm);
  if (t->kind != TL_KIND_TENSOR || t->rank < 0 || t->rank > TL_MOST_AXES ||
      (perm.n && perm.n != (uint32_t)t->rank) || !is_free(l, n))
    return false;
  unsigned seen = 0;
  *order = TL_ORDER_SAME;
  for (unsigned i = 0; i < (unsigned)t->rank; i++) {
    int64_t from = perm.n ? perm.at[i] : t->rank - 1 - (int)i;
    if (from < 0 || from >= t->rank || seen >> from & 1) /* nothing inferred this node */
      return false;
    seen |= 1u << from;
    *order = tl_order_with(*order, i, (unsigned)from);
  }
  return true;
}

tl_value_id tl_layout_source(tl_layout *l, tl_value_id v, tl_order *view) {
  tl_order order;
  *view = TL_ORDER_SAME;
  for (tl_node_id n; (n = tl_value_producer(l->m, v)) && tl_layout_view(l, n, &order);
       v = tl_operand(l->m, n, 0))
    *view = tl_order_then(order, *view);
  return v;
}

/* Views that are still to be followed lie in `open`: value, and the two halves of the order. */
static void follow(tl_layout *l, tl_value_id v, tl_order view) {
  l->no_memory = l->no_memory || !tl_u32_vec_push(&l->open, v) ||
                 !tl_u32_vec_push(&l->open, (uint32_t)view) ||
                 !tl_u32_vec_push(&l->open, (uint32_t)(view >> 32));
}

static void add_reader(tl_layout *l, tl_use_id u, tl_order view) {
  tl_node_id user = tl_use_get(l->m, u)->user;
  tl_reader r = {.use = u,
                 .user = user,
                 .operand = u - tl_node_get(l->m, user)->operands,
                 .view = view,
                 .law = tl_layout_law(l, user),
                 .now = view};
  if (r.law && !tl_law_operand(r.law, l->m, user, r.operand, &r.port))
    r.law = NULL;
  if (r.law)
    r.now = tl_order_then(view, tl_law_seen(r.port, r.law->now));
  r.then = r.now;
  l->no_memory = l->no_memory || !tl_reader_vec_push(&l->readers, r);
}

/* Appends the readers of a source. */
static void read_more(tl_layout *l, tl_value_id source) {
  bool outer = tl_value_graph(l->m, source) != l->g->id;
  tl_order view = TL_ORDER_SAME, own;
  l->open.n = 0;
  for (tl_value_id v = source; v && !l->no_memory;) {
    TL_FOR_USES(l->m, v, u) {
      tl_node_id user = tl_use_get(l->m, u)->user;
      const tl_node *node = tl_node_get(l->m, user);
      if (outer && node->graph != l->g->id)
        continue;
      if (node->op == TL_OP_Transpose && tl_layout_view(l, user, &own))
        follow(l, node->results, tl_order_then(view, own));
      else
        add_reader(l, u, view);
    }
    v = TL_NO_VALUE;
    if (l->open.n) {
      const uint32_t *top = &l->open.at[l->open.n -= 3];
      v = top[0];
      view = (uint64_t)top[2] << 32 | top[1];
    }
  }
}

void tl_layout_read(tl_layout *l, tl_value_id source) {
  l->readers.n = 0;
  read_more(l, source);
}

/* ---- orders ---------------------------------------------------------------------------------- */

static tl_order order_of(const tl_layout *l, const tl_law *law, orders which) {
  bool moves = law->at && which != NOW &&
               (which == THEN || tl_cut_is_first(&l->cut, law->at + TL_CUT_LAST));
  return moves ? law->then : law->now;
}

static tl_order made(tl_layout *l, tl_value_id source, orders which) {
  tl_law_port port;
  tl_node_id n = tl_value_producer(l->m, source);
  tl_law *law = n ? tl_layout_law(l, n) : NULL;
  bool has = law && tl_law_result(law, source - tl_node_get(l->m, n)->results, &port);
  return has ? tl_law_seen(port, order_of(l, law, which)) : TL_ORDER_SAME;
}

static tl_order wanted(const tl_layout *l, const tl_reader *r, orders which) {
  bool moves = r->law && r->law->at && which != NOW &&
               (which == THEN || tl_cut_is_first(&l->cut, r->law->at + TL_CUT_LAST));
  return moves ? r->then : r->now;
}

tl_order tl_layout_made(tl_layout *l, tl_value_id source) { return made(l, source, NOW); }

/* ---- costs ----------------------------------------------------------------------------------- */

/* Returns the bytes of a value in units; an unknown dim counts as ANY_DIM. */
static int64_t units_of(const tl_module *m, const tl_type *t) {
  uint64_t bytes = 0;
  double n = 1;
  (void)tl_dtype_bytes(t->dtype, 8, &bytes);
  for (int i = 0; i < t->rank; i++)
    n *= tl_dim_is_static(t->dims[i]) ? (double)t->dims[i] : ANY_DIM;
  n = n * (double)bytes / 8 / BYTES_A_UNIT;
  (void)m;
  return n < 1 ? 1 : n > (double)MOST_UNITS ? MOST_UNITS : (int64_t)n;
}

/* Compares orders of a source: *same if the shape is the same, *still if no element moves, because
 * dims other than 1 come one after the other as before. */
static void compare(const tl_type *t, tl_order from, tl_order to, bool *same, bool *still) {
  unsigned rank = (unsigned)t->rank, k = 0;
  *same = *still = true;
  for (unsigned i = 0; i < rank; i++) {
    tl_dim there = t->dims[tl_order_at(to, i)];
    *same = *same && t->dims[tl_order_at(from, i)] == there;
    if (there == 1 || !*still)
      continue;
    while (t->dims[tl_order_at(from, k)] == 1)
      k++;
    *still = tl_order_at(from, k++) == tl_order_at(to, i);
  }
}

bool tl_layout_is_void(const tl_module *m, tl_value_id source, tl_order from, tl_order to) {
  bool same, still;
  compare(tl_type_get(m, tl_value_type(m, source)), from, to, &same, &still);
  return from == to || (same && still);
}

/* Returns the cost of what turns a source from one order into another one. */
static int64_t turning(const tl_layout *l, tl_value_id source, tl_order from, tl_order to) {
  bool same, still;
  const tl_type *t = tl_type_get(l->m, tl_value_type(l->m, source));
  if (from == to)
    return 0;
  if (t->kind != TL_KIND_TENSOR || t->rank < 0)
    return A_NODE;
  compare(t, from, to, &same, &still);
  return still ? same ? 0 : A_NODE : A_NODE + units_of(l->m, t);
}

/* Adds an order to those found; orders beyond MOST_ORDERS are not told apart. */
static void note_order(tl_order *at, uint32_t *n, tl_order o) {
  for (uint32_t i = 0; i < *n; i++)
    if (at[i] == o)
      return;
  if (*n < MOST_ORDERS)
    at[(*n)++] = o;
}

static int64_t source_cost(tl_layout *l, const tl_source *s, orders which) {
  tl_order at[MOST_ORDERS], from = made(l, s->value, which);
  uint32_t n = 0;
  int64_t cost = 0;
  for (uint32_t i = 0; i < s->n_readers; i++)
    note_order(at, &n, wanted(l, &l->readers.at[s->first + i], which));
  for (uint32_t i = 0; i < n; i++)
    cost += turning(l, s->value, from, at[i]);
  return cost;
}

static int64_t node_cost(const tl_layout *l, tl_node_id n, const tl_law *law, tl_order o) {
  return tl_law_nodes(law, l->m, n, o) * A_NODE;
}

/* ---- growing --------------------------------------------------------------------------------- */

/* Adds a node to the region, unless it has the order already or cannot have it. */
static void join(tl_layout *l, tl_node_id n, tl_law *law, tl_order o) {
  if (law->at || o == law->now || law->visits == MOST_VISITS || l->nodes.n == MOST_NODES ||
      !tl_law_allows(law, l->m, n, o))
    return;
  law->visits++;
  law->then = o;
  l->no_memory = l->no_memory || !tl_u32_vec_push(&l->nodes, n);
  law->at = l->nodes.n;
}

/* Adds a source to the region, and the nodes that would make it and read it in the same order. */
static void join_source(tl_layout *l, tl_value_id source, tl_order then) {
  tl_law_port port;
  if (l->met[source] == l->region || tl_value_constant(l->m, source))
    return;
  l->met[source] = l->region;
  tl_node_id maker = tl_value_producer(l->m, source);
  tl_law *law = maker ? tl_layout_law(l, maker) : NULL;
  if (law && tl_law_result(law, source - tl_node_get(l->m, maker)->results, &port))
    join(l, maker, law, tl_law_wanting(port, law->now, then));
  tl_source s = {.value = source, .then = then, .first = l->readers.n};
  read_more(l, source);
  s.n_readers = l->readers.n - s.first;
  l->no_memory = l->no_memory || !tl_source_vec_push(&l->sources, s);
  for (uint32_t i = 0; i < s.n_readers; i++) {
    const tl_reader *r = &l->readers.at[s.first + i];
    if (r->law)
      join(l, r->user, r->law,
           tl_law_wanting(r->port, r->law->now, tl_order_then(tl_order_back(r->view), then)));
  }
}

/* Adds the sources that a node of the region reads and makes. */
static void spread(tl_layout *l, tl_node_id n) {
  tl_law_port port;
  const tl_law *law = l->laws[n];
  const tl_node *node = tl_node_get(l->m, n);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_order view;
    if (!tl_law_operand(law, l->m, n, i, &port))
      continue;
    tl_value_id source = tl_layout_source(l, tl_operand(l->m, n, i), &view);
    join_source(l, source, tl_order_then(view, tl_law_seen(port, law->then)));
  }
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_law_result(law, i, &port) && tl_value_get(l->m, node->results + i)->n_uses)
      join_source(l, node->results + i, tl_law_seen(port, law->then));
}

/* ---- cutting --------------------------------------------------------------------------------- */

/* What one order of one source depends on: nodes 1 if they move. */
typedef struct term {
  uint32_t maker;   /* node of the network; 0: its order is settled */
  int64_t stays;    /* cost if the maker stays as it is */
  int64_t moves;    /* cost if it moves */
  bool always;      /* some reader wants the order in any case */
  bool many[2];     /* the next two are helpers, for several readers */
  uint32_t movers;  /* 1 if one of the readers moves that then want the order */
  uint32_t stayers; /* 0 if one of the readers stays that now want it */
} term;

/* Sums over a region. */
typedef struct sums {
  int64_t before; /* what it costs now */
  int64_t least;  /* what it costs however it is cut, beside the flow */
} sums;

static uint32_t place_of(const tl_law *law) { return law && law->at ? law->at + TL_CUT_LAST : 0; }

/* Joins two nodes of the network in one that is 1 if one of them is, or else 0 if one is 0. */
static uint32_t either(tl_layout *l, uint32_t a, uint32_t b, bool ones, bool *many) {
  uint32_t helper = *many ? a : tl_cut_node(&l->cut);
  if (!*many)
    tl_cut_edge_add(&l->cut, ones ? a : helper, ones ? helper : a, TL_CUT_NEVER);
  tl_cut_edge_add(&l->cut, ones ? b : helper, ones ? helper : b, TL_CUT_NEVER);
  *many = true;
  return helper;
}

/* Notes what one reader has to do with the order. */
static void note_reader(tl_layout *l, const tl_reader *r, tl_order order, term *x) {
  uint32_t at = place_of(r->law);
  if (r->now == order && r->then == order)
    x->always = true;
  else if (r->then == order)
    x->movers = x->movers ? either(l, x->movers, at, true, &x->many[0]) : at;
  else if (r->now == order)
    x->stayers = x->stayers ? either(l, x->stayers, at, false, &x->many[1]) : at;
}

/* Adds the cost of an order to the network. A cost that arises if the maker moves and readers move
 * as well, or both stay, cannot be said by a cut; it is left out, and the count behind the cut has
 * the last word. */
static void add_term(tl_layout *l, const term *x, sums *s) {
  int64_t least = x->stays < x->moves ? x->stays : x->moves;
  if (x->always) {
    s->least += least;
    if (x->maker) {
      tl_cut_edge_add(&l->cut, TL_CUT_FIRST, x->maker, x->stays - least);
      tl_cut_edge_add(&l->cut, x->maker, TL_CUT_LAST, x->moves - least);
    }
    return;
  }
  if (x->movers) {
    tl_cut_edge_add(&l->cut, x->movers, TL_CUT_LAST, least);
    if (x->maker)
      tl_cut_edge_add(&l->cut, x->movers, x->maker, x->stays - least);
  }
  if (x->stayers) {
    tl_cut_edge_add(&l->cut, TL_CUT_FIRST, x->stayers, least);
    if (x->maker)
      tl_cut_edge_add(&l->cut, x->maker, x->stayers, x->moves - least);
  }
}

/* Settles what the readers of a source want in the region, and adds what it costs now. */
static void settle(tl_layout *l, const tl_source *source, sums *s) {
  tl_order at[MOST_ORDERS], now = made(l, source->value, NOW);
  uint32_t n = 0;
  for (uint32_t i = 0; i < source->n_readers; i++) {
    tl_reader *r = &l->readers.at[source->first + i];
    if (r->law && r->law->at)
      r->then = tl_order_then(r->view, tl_law_seen(r->port, r->law->then));
    if (r->now != now)
      note_order(at, &n, r->now);
  }
  for (uint32_t k = 0; k < n; k++)
    s->before += turning(l, source->value, now, at[k]);
}

static void add_source(tl_layout *l, const tl_source *source, sums *s) {
  tl_value_id v = source->value;
  tl_order at[MOST_ORDERS], now = made(l, v, NOW), then = made(l, v, THEN);
  uint32_t n = 0;
  tl_node_id maker = tl_value_producer(l->m, v);
  uint32_t place = place_of(maker ? tl_layout_law(l, maker) : NULL);
  const tl_reader *readers = &l->readers.at[source->first];
  for (uint32_t i = 0; i < source->n_readers; i++) {
    note_order(at, &n, readers[i].now);
    note_order(at, &n, readers[i].then);
  }
  for (uint32_t k = 0; k < n; k++) {
    term x = {
        .stays = turning(l, v, now, at[k]), .moves = turning(l, v, then, at[k]), .maker = place};
    if (x.stays == 0 && x.moves == 0)
      continue;
    for (uint32_t i = 0; i < source->n_readers && !x.always; i++)
      note_reader(l, &readers[i], at[k], &x);
    add_term(l, &x, s);
  }
}

static void add_node(tl_layout *l, tl_node_id n, sums *s) {
  const tl_law *law = l->laws[n];
  int64_t now = node_cost(l, n, law, law->now), then = node_cost(l, n, law, law->then);
  int64_t least = now < then ? now : then;
  tl_cut_edge_add(&l->cut, TL_CUT_FIRST, place_of(law), now - least);
  tl_cut_edge_add(&l->cut, place_of(law), TL_CUT_LAST, then - least);
  s->least += least;
}

/* Returns what the region costs with the orders that the cut says. */
static int64_t cost_behind(tl_layout *l) {
  int64_t cost = 0;
  for (uint32_t i = 0; i < l->nodes.n; i++) {
    const tl_law *law = l->laws[l->nodes.at[i]];
    cost += node_cost(l, l->nodes.at[i], law, order_of(l, law, CUT));
  }
  for (uint32_t i = 0; i < l->sources.n; i++)
    cost += source_cost(l, &l->sources.at[i], CUT);
  return cost;
}

static bool is_better(const tl_layout *l, int64_t after, int64_t before) {
  return l->bytes_alone ? after < before : after / A_NODE < before / A_NODE;
}

/* Returns true if all nodes may move and nothing costs anything then. */
static bool vanishes(tl_layout *l) {
  for (uint32_t i = 0; i < l->sources.n; i++) {
    const tl_source *s = &l->sources.at[i];
    tl_order then = made(l, s->value, THEN);
    for (uint32_t k = 0; k < s->n_readers; k++)
      if (turning(l, s->value, then, l->readers.at[s->first + k].then))
        return false;
  }
  for (uint32_t i = 0; i < l->nodes.n; i++)
    if (node_cost(l, l->nodes.at[i], l->laws[l->nodes.at[i]], l->laws[l->nodes.at[i]]->then))
      return false;
  return true;
}

/* Returns true if a cut through the region makes it cheaper. What the network says is never more
 * than what the cut costs. Where there is one node to save, all nodes move or none: each border
 * between them costs one. */
static bool cut(tl_layout *l) {
  sums s = {0, 0};
  for (uint32_t i = 0; i < l->nodes.n; i++) {
    const tl_law *law = l->laws[l->nodes.at[i]];
    s.before += node_cost(l, l->nodes.at[i], law, law->now);
  }
  for (uint32_t i = 0; i < l->sources.n; i++)
    settle(l, &l->sources.at[i], &s);
  if (s.before < A_NODE || (!l->bytes_alone && s.before < 2 * A_NODE && !vanishes(l)))
    return false;
  tl_cut_start(&l->cut);
  for (uint32_t i = 0; i < l->nodes.n; i++)
    (void)tl_cut_node(&l->cut);
  for (uint32_t i = 0; i < l->nodes.n && !l->cut.no_memory; i++)
    add_node(l, l->nodes.at[i], &s);
  for (uint32_t i = 0; i < l->sources.n && !l->cut.no_memory; i++)
    add_source(l, &l->sources.at[i], &s);
  bool solved = is_better(l, s.least, s.before) && tl_cut_solve(&l->cut);
  l->no_memory = l->no_memory || l->cut.no_memory;
  return solved && is_better(l, s.least + l->cut.flow, s.before) &&
         is_better(l, cost_behind(l), s.before);
}

/* Returns true if the node was in a region with this order before, and nothing came of it. */
static bool was_tried(const tl_law *law, tl_order o) {
  for (uint32_t i = 0; i < law->n_tried; i++)
    if (law->tried[i] == o)
      return true;
  return law->n_tried == TL_MOST_TRIED;
}

bool tl_region_try(tl_layout *l, tl_node_id n, tl_order o) {
  tl_law *law = tl_layout_law(l, n);
  if (!law || was_tried(law, o))
    return false;
  l->nodes.n = l->sources.n = l->readers.n = 0;
  l->region++;
  join(l, n, law, o);
  for (uint32_t i = 0; i < l->nodes.n && !l->no_memory; i++)
    spread(l, l->nodes.at[i]);
  bool better = l->nodes.n && !l->no_memory && cut(l) && tl_pass_may_rewrite(l->p);
  for (uint32_t i = 0; i < l->nodes.n; i++) {
    law = l->laws[l->nodes.at[i]];
    if (better)
      law->n_tried = 0;
    else if (!was_tried(law, law->then))
      law->tried[law->n_tried++] = law->then;
    law->now = better ? order_of(l, law, CUT) : law->now;
    law->at = 0;
  }
  return better && !l->no_memory;
}
