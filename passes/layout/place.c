/* SPDX-License-Identifier: Apache-2.0 */
/* Puts Transposes where a source is read in another order than it is made (place.h). */
#include "passes/layout/place.h"

#include "ir/ops_gen.h"
#include "passes/edit/maker.h"
#include "passes/layout/apply.h"

/* A source that is read in an order: which value that is. */
typedef struct given {
  tl_order order;
  tl_value_id value;
} given;

TL_VEC(given_vec, given);

/* A reader and the order it wants, noted before anything changes. */
typedef struct wish {
  tl_use_id use;
  tl_order order;
  tl_value_id from; /* the operand, before */
  tl_symbol name;   /* of an output of the graph; else 0 */
} wish;

/* A Transpose of the source, and what the ones up to it do together. */
typedef struct view {
  tl_node_id node;
  tl_order order;
} view;

TL_VEC(wish_vec, wish);
TL_VEC(view_vec, view);

typedef struct placing {
  tl_layout *l;
  tl_module *m;
  wish_vec wishes; /* of one source, and so on */
  given_vec given;
  view_vec views; /* each before those that read it */
  tl_u32_vec sources;
  tl_symbol name; /* that the source had in the order of the model; 0: it keeps it */
} placing;

/* ---- noting ---------------------------------------------------------------------------------- */

static bool has_moved(tl_layout *l, tl_node_id n) {
  const tl_law *law = n ? tl_layout_law(l, n) : NULL;
  return law && law->now != TL_ORDER_SAME;
}

/* Notes a source once. */
static bool note_source(placing *x, tl_value_id v) {
  if (tl_value_constant(x->m, v) || x->l->met[v] == x->l->region)
    return true;
  x->l->met[v] = x->l->region;
  return tl_u32_vec_push(&x->sources, v);
}

/* Notes the sources of a node with another order. */
static bool note_sources(placing *x, tl_node_id n) {
  tl_law_port port;
  const tl_law *law = tl_layout_law(x->l, n);
  const tl_node *node = tl_node_get(x->m, n);
  bool ok = true;
  for (uint32_t i = 0; i < node->n_operands && ok; i++) {
    tl_order order;
    if (tl_law_operand(law, x->m, n, i, &port))
      ok = note_source(x, tl_layout_source(x->l, tl_operand(x->m, n, i), &order));
  }
  for (uint32_t i = 0; i < node->n_results && ok; i++)
    if (tl_law_result(law, i, &port))
      ok = note_source(x, node->results + i);
  return ok;
}

/* Notes the Transposes behind a source. */
static bool note_views(placing *x, tl_value_id source) {
  x->views.n = 0;
  for (uint32_t i = 0;; i++) {
    tl_value_id v = i ? tl_result(x->m, x->views.at[i - 1].node, 0) : source;
    tl_order before = i ? x->views.at[i - 1].order : TL_ORDER_SAME, own;
    TL_FOR_USES(x->m, v, u) {
      tl_node_id n = tl_use_get(x->m, u)->user;
      if (tl_node_get(x->m, n)->op == TL_OP_Transpose && tl_layout_view(x->l, n, &own) &&
          !view_vec_push(&x->views, (view){n, tl_order_then(before, own)}))
        return false;
    }
    if (i >= x->views.n)
      return true;
  }
}

static bool note_wishes(placing *x) {
  x->wishes.n = 0;
  for (uint32_t i = 0; i < x->l->readers.n; i++) {
    const tl_reader *r = &x->l->readers.at[i];
    tl_value_id from = tl_use_get(x->m, r->use)->value;
    bool output = tl_node_is_return(x->m, r->user);
    wish w = {r->use, r->now, from, output ? tl_value_get(x->m, from)->name : 0};
    if (!wish_vec_push(&x->wishes, w))
      return false;
  }
  return true;
}

/* ---- Transposes ------------------------------------------------------------------------------ */

/* Gives v the type of the same tensor in an order. */
static bool turn_type(tl_module *m, tl_value_id v, tl_order order) {
  tl_dim dims[TL_MOST_AXES];
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  if (order == TL_ORDER_SAME || t->kind != TL_KIND_TENSOR || t->rank < 0)
    return true;
  for (unsigned i = 0; i < (unsigned)t->rank; i++)
    dims[i] = t->dims[tl_order_at(order, i)];
  tl_type_id type = tl_type_tensor(m, (tl_dtype)t->dtype, t->rank, dims);
  tl_value_set_type(m, v, type);
  tl_value_get(m, v)->tensor = TL_NO_TENSOR;
  return type != TL_NO_TYPE;
}

/* The node of the layout's graph that n is in: itself, or one with a body. */
static tl_node_id outside(const tl_layout *l, tl_node_id n) {
  while (tl_node_get(l->m, n)->graph != l->g->id)
    n = tl_graph_get(l->m, tl_node_get(l->m, n)->graph)->owner;
  return n;
}

/* Returns the first node that wants the order; TL_NO_NODE if only outputs of the graph do. */
static tl_node_id first_wish(const placing *x, tl_order order) {
  tl_node_id first = TL_NO_NODE;
  for (uint32_t i = 0; i < x->wishes.n; i++) {
    tl_node_id n = outside(x->l, tl_use_get(x->m, x->wishes.at[i].use)->user);
    if (x->wishes.at[i].order == order && !tl_node_is_return(x->m, n) &&
        (!first || tl_node_is_before(x->m, n, first)))
      first = n;
  }
  return first;
}

/* Makes the source in another order: by a Transpose that gave that order before, or by a new one
 * right before the first reader. */
static tl_value_id make_view(placing *x, tl_value_id source, tl_order made, tl_order order) {
  int64_t perm[TL_MOST_AXES];
  uint32_t rank = (uint32_t)tl_type_get(x->m, tl_value_type(x->m, source))->rank;
  tl_order q = tl_order_then(tl_order_back(made), order);
  tl_node_id first = first_wish(x, order);
  for (unsigned i = 0; i < rank; i++)
    perm[i] = tl_order_at(q, i);
  for (uint32_t i = 0; i < x->views.n; i++) {
    tl_node_id n = x->views.at[i].node;
    if (x->views.at[i].order != order)
      continue;
    tl_attr a = tl_attr_ints(x->m, TL_SYM_perm, perm, rank);
    if (a.kind == TL_ATTR_NONE || tl_node_set_attr(x->m, n, a) != TL_OK)
      return TL_NO_VALUE;
    tl_node_set_operand(x->m, n, 0, source);
    if (first && tl_node_is_before(x->m, first, n))
      tl_node_move_before(x->m, n, first);
    return tl_result(x->m, n, 0);
  }
  tl_node_id like = tl_value_producer(x->m, source);
  tl_maker k = {.m = x->m, .graph = x->l->g->id, .before = first, .like = like ? like : first};
  k.base = tl_value_get(x->m, source)->name;
  tl_value_id v = tl_make_transpose(&k, source, perm, rank);
  if (v && order == TL_ORDER_SAME && x->name)
    tl_value_set_name(x->m, v, x->name);
  return v;
}

/* A name stands for one tensor, in one order: a source that is made in another one takes over the
 * name of the Transpose that gave that order, or gets a new name. */
static bool rename_source(placing *x, tl_value_id source, tl_order made) {
  tl_value *value = tl_value_get(x->m, source);
  x->name = value->name;
  for (uint32_t i = 0; i < x->views.n; i++)
    if (x->views.at[i].order == made) {
      tl_value *turned = tl_value_get(x->m, tl_result(x->m, x->views.at[i].node, 0));
      value->name = turned->name;
      turned->name = 0;
      return true;
    }
  tl_maker k = {.m = x->m, .graph = x->l->g->id, .base = x->name};
  value->name = tl_maker_name(&k, tl_sv_from("turned"));
  return value->name != TL_NO_SYMBOL;
}

/* Makes the source available in every order that is wanted. */
static bool give(placing *x, tl_value_id source, tl_order made) {
  x->given.n = 0;
  for (uint32_t i = 0; i < x->wishes.n; i++) {
    tl_order order = x->wishes.at[i].order;
    bool known = false;
    for (uint32_t k = 0; k < x->given.n; k++)
      known = known || x->given.at[k].order == order;
    tl_value_id v = tl_layout_is_void(x->m, source, made, order) ? source : TL_NO_VALUE;
    if (!known && !given_vec_push(&x->given, (given){order, v}))
      return false;
  }
  x->name = 0;
  if (!tl_layout_is_void(x->m, source, made, TL_ORDER_SAME) && !rename_source(x, source, made))
    return false;
  if (!turn_type(x->m, source, made))
    return false;
  for (uint32_t k = 0; k < x->given.n; k++) {
    given *g = &x->given.at[k];
    g->value = g->value ? g->value : make_view(x, source, made, g->order);
    if (!g->value)
      return false;
  }
  return true;
}

/* ---- readers --------------------------------------------------------------------------------- */

/* Gives v the name of an output of the graph, which `from` had; or makes an Identity of it, where v
 * has to keep its name. */
static tl_value_id named(placing *x, tl_value_id v, const wish *w) {
  tl_value *to = tl_value_get(x->m, v), *from = tl_value_get(x->m, w->from);
  if (to->name == w->name)
    return v;
  bool own = to->kind == TL_VALUE_RESULT && tl_value_graph(x->m, v) == x->l->g->id &&
             !tl_value_leaves_graph(x->m, v) && !tl_is_pinned(&x->l->pinned, v);
  tl_maker k = {.m = x->m, .graph = x->l->g->id, .base = w->name};
  tl_symbol other = own ? to->name : tl_maker_name(&k, tl_sv_from("turned"));
  if (from->name == w->name)
    tl_value_set_name(x->m, w->from, other);
  if (own) {
    tl_value_set_name(x->m, v, w->name);
    return v;
  }
  tl_node_spec spec = {
      .op = TL_OP_Identity, .operands = &v, .n_operands = 1, .results = &w->name, .n_results = 1};
  return tl_make_node(&k, &spec);
}

/* Gives an operand of fewer dims than its node dims of size 1 between its own. */
static tl_value_id aligned(placing *x, tl_value_id v, tl_node_id n, uint32_t i) {
  tl_law_port port;
  int64_t axes[TL_MOST_AXES];
  uint32_t count = 0;
  const tl_law *law = tl_layout_law(x->l, n);
  if (!law || law->row->kind != TL_LAW_SPREAD || law->now == TL_ORDER_SAME ||
      !tl_law_operand(law, x->m, n, i, &port) ||
      tl_law_beside_of(law, x->m, n, i, law->now) != TL_LAW_VALUE)
    return v;
  for (unsigned k = 0; k < law->n_axes; k++)
    if (tl_order_at(law->now, k) + port.n < law->n_axes)
      axes[count++] = k;
  tl_maker k = tl_maker_before(x->m, n);
  tl_value_id list = tl_make_ints(&k, axes, count);
  return tl_make(&k, TL_OP_Unsqueeze, v, list, TL_NO_VALUE);
}

static bool grant(placing *x, const wish *w) {
  tl_node_id n = tl_use_get(x->m, w->use)->user;
  uint32_t i = w->use - tl_node_get(x->m, n)->operands;
  tl_value_id v = TL_NO_VALUE;
  for (uint32_t k = 0; k < x->given.n; k++)
    if (x->given.at[k].order == w->order)
      v = x->given.at[k].value;
  v = w->name && v != w->from ? named(x, v, w) : aligned(x, v, n, i);
  if (v && v != w->from)
    tl_node_set_operand(x->m, n, i, v);
  return v != TL_NO_VALUE;
}

static bool place_source(placing *x, tl_value_id source) {
  tl_order made = tl_layout_made(x->l, source);
  tl_layout_read(x->l, source);
  if (x->l->no_memory || !note_views(x, source) || !note_wishes(x) || !give(x, source, made))
    return false;
  for (uint32_t i = 0; i < x->wishes.n; i++)
    if (!grant(x, &x->wishes.at[i]))
      return false;
  for (uint32_t i = x->views.n; i-- > 0;)
    if (!tl_value_get(x->m, tl_result(x->m, x->views.at[i].node, 0))->n_uses)
      tl_node_erase(x->m, x->views.at[i].node);
  return true;
}

static tl_status place_all(placing *x, tl_u32_vec *made) {
  x->l->region++;
  TL_FOR_NODES(x->m, x->l->g, n) {
    if (has_moved(x->l, n) && !note_sources(x, n))
      return tl_no_memory(x->m);
  }
  TL_FOR_NODES(x->m, x->l->g, n) {
    if (has_moved(x->l, n))
      TL_TRY(tl_law_apply(tl_layout_law(x->l, n), x->m, n, made));
  }
  for (uint32_t i = 0; i < x->sources.n; i++)
    if (!place_source(x, x->sources.at[i]))
      return tl_no_memory(x->m);
  return TL_OK;
}

tl_status tl_layout_place(tl_layout *l, tl_u32_vec *made) {
  placing x = {.l = l, .m = l->m};
  tl_status status = place_all(&x, made);
  wish_vec_release(&x.wishes);
  given_vec_release(&x.given);
  view_vec_release(&x.views);
  tl_u32_vec_release(&x.sources);
  return status;
}
