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
static bool note_source(placing *place, tl_value_id v) {
  if (tl_value_constant(place->m, v) || place->l->met[v] == place->l->region)
    return true;
  place->l->met[v] = place->l->region;
  return tl_u32_vec_push(&place->sources, v);
}

/* Notes the sources of a node with another order. */
static bool note_sources(placing *place, tl_node_id n) {
  tl_law_port port;
  const tl_law *law = tl_layout_law(place->l, n);
  const tl_node *node = tl_node_get(place->m, n);
  bool ok = true;
  for (uint32_t i = 0; i < node->n_operands && ok; i++) {
    tl_order order;
    if (tl_law_operand(law, place->m, n, i, &port))
      ok = note_source(place, tl_layout_source(place->l, tl_operand(place->m, n, i), &order));
  }
  for (uint32_t i = 0; i < node->n_results && ok; i++)
    if (tl_law_result(law, i, &port))
      ok = note_source(place, node->results + i);
  return ok;
}

/* Notes the Transposes behind a source. */
static bool note_views(placing *place, tl_value_id source) {
  place->views.n = 0;
  for (uint32_t i = 0;; i++) {
    tl_value_id v = i ? tl_result(place->m, place->views.at[i - 1].node, 0) : source;
    tl_order before = i ? place->views.at[i - 1].order : TL_ORDER_SAME, own;
    TL_FOR_USES(place->m, v, u) {
      tl_node_id n = tl_use_get(place->m, u)->user;
      if (tl_node_get(place->m, n)->op == TL_OP_Transpose && tl_layout_view(place->l, n, &own) &&
          !view_vec_push(&place->views, (view){n, tl_order_then(before, own)}))
        return false;
    }
    if (i >= place->views.n)
      return true;
  }
}

static bool note_wishes(placing *place) {
  place->wishes.n = 0;
  for (uint32_t i = 0; i < place->l->readers.n; i++) {
    const tl_reader *r = &place->l->readers.at[i];
    tl_value_id from = tl_use_get(place->m, r->use)->value;
    bool output = tl_node_is_return(place->m, r->user);
    wish w = {r->use, r->now, from, output ? tl_value_get(place->m, from)->name : 0};
    if (!wish_vec_push(&place->wishes, w))
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
static tl_node_id first_wish(const placing *place, tl_order order) {
  tl_node_id first = TL_NO_NODE;
  for (uint32_t i = 0; i < place->wishes.n; i++) {
    tl_node_id n = outside(place->l, tl_use_get(place->m, place->wishes.at[i].use)->user);
    if (place->wishes.at[i].order == order && !tl_node_is_return(place->m, n) &&
        (!first || tl_node_is_before(place->m, n, first)))
      first = n;
  }
  return first;
}

/* Makes the source in another order: by a Transpose that gave that order before, or by a new one
 * right before the first reader. */
static tl_value_id make_view(placing *place, tl_value_id source, tl_order made, tl_order order) {
  int64_t perm[TL_MOST_AXES];
  uint32_t rank = (uint32_t)tl_type_get(place->m, tl_value_type(place->m, source))->rank;
  tl_order q = tl_order_then(tl_order_back(made), order);
  tl_node_id first = first_wish(place, order);
  for (unsigned i = 0; i < rank; i++)
    perm[i] = tl_order_at(q, i);
  for (uint32_t i = 0; i < place->views.n; i++) {
    tl_node_id n = place->views.at[i].node;
    if (place->views.at[i].order != order)
      continue;
    tl_attr a = tl_attr_ints(place->m, TL_SYM_perm, perm, rank);
    if (a.kind == TL_ATTR_NONE || tl_node_set_attr(place->m, n, a) != TL_OK)
      return TL_NO_VALUE;
    tl_node_set_operand(place->m, n, 0, source);
    if (first && tl_node_is_before(place->m, first, n))
      tl_node_move_before(place->m, n, first);
    return tl_result(place->m, n, 0);
  }
  tl_node_id like = tl_value_producer(place->m, source);
  tl_maker k = {.m = place->m,
                .graph = place->l->g->id,
                .before = first,
                .like = like ? like : first,
                .inserted = true};
  k.base = tl_value_get(place->m, source)->name;
  tl_value_id v = tl_make_transpose(&k, source, perm, rank);
  if (v && order == TL_ORDER_SAME && place->name)
    tl_value_set_name(place->m, v, place->name);
  return v;
}

/* A name stands for one tensor, in one order: a source that is made in another one takes over the
 * name of the Transpose that gave that order, or gets a new name. */
static bool rename_source(placing *place, tl_value_id source, tl_order made) {
  tl_value *value = tl_value_get(place->m, source);
  place->name = value->name;
  for (uint32_t i = 0; i < place->views.n; i++)
    if (place->views.at[i].order == made) {
      tl_value *turned = tl_value_get(place->m, tl_result(place->m, place->views.at[i].node, 0));
      value->name = turned->name;
      turned->name = 0;
      return true;
    }
  tl_maker k = {.m = place->m, .graph = place->l->g->id, .base = place->name};
  value->name = tl_maker_name(&k, tl_sv_from("turned"));
  return value->name != TL_NO_SYMBOL;
}

/* Makes the source available in every order that is wanted. */
static bool give(placing *place, tl_value_id source, tl_order made) {
  place->given.n = 0;
  for (uint32_t i = 0; i < place->wishes.n; i++) {
    tl_order order = place->wishes.at[i].order;
    bool known = false;
    for (uint32_t k = 0; k < place->given.n; k++)
      known = known || place->given.at[k].order == order;
    tl_value_id v = tl_layout_is_void(place->m, source, made, order) ? source : TL_NO_VALUE;
    if (!known && !given_vec_push(&place->given, (given){order, v}))
      return false;
  }
  place->name = 0;
  if (!tl_layout_is_void(place->m, source, made, TL_ORDER_SAME) &&
      !rename_source(place, source, made))
    return false;
  if (!turn_type(place->m, source, made))
    return false;
  for (uint32_t k = 0; k < place->given.n; k++) {
    given *g = &place->given.at[k];
    g->value = g->value ? g->value : make_view(place, source, made, g->order);
    if (!g->value)
      return false;
  }
  return true;
}

/* ---- readers --------------------------------------------------------------------------------- */

/* Gives v the name of an output of the graph, which `from` had; or makes an Identity of it, where v
 * has to keep its name. */
static tl_value_id named(placing *place, tl_value_id v, const wish *w) {
  tl_value *to = tl_value_get(place->m, v), *from = tl_value_get(place->m, w->from);
  if (to->name == w->name)
    return v;
  bool own = to->kind == TL_VALUE_RESULT && tl_value_graph(place->m, v) == place->l->g->id &&
             !tl_value_leaves_graph(place->m, v) && !tl_is_pinned(&place->l->pinned, v);
  tl_maker k = {.m = place->m, .graph = place->l->g->id, .base = w->name};
  tl_symbol other = own ? to->name : tl_maker_name(&k, tl_sv_from("turned"));
  if (from->name == w->name)
    tl_value_set_name(place->m, w->from, other);
  if (own) {
    tl_value_set_name(place->m, v, w->name);
    return v;
  }
  tl_node_spec spec = {
      .op = TL_OP_Identity, .operands = &v, .n_operands = 1, .results = &w->name, .n_results = 1};
  return tl_make_node(&k, &spec);
}

/* Gives an operand of fewer dims than its node dims of size 1 between its own. */
static tl_value_id aligned(placing *place, tl_value_id v, tl_node_id n, uint32_t i) {
  tl_law_port port;
  int64_t axes[TL_MOST_AXES];
  uint32_t count = 0;
  const tl_law *law = tl_layout_law(place->l, n);
  if (!law || law->row->kind != TL_LAW_SPREAD || law->now == TL_ORDER_SAME ||
      !tl_law_operand(law, place->m, n, i, &port) ||
      tl_law_beside_of(law, place->m, n, i, law->now) != TL_LAW_VALUE)
    return v;
  for (unsigned k = 0; k < law->n_axes; k++)
    if (tl_order_at(law->now, k) + port.n < law->n_axes)
      axes[count++] = k;
  tl_maker k = tl_maker_before(place->m, n);
  tl_value_id list = tl_make_ints(&k, axes, count);
  return tl_make(&k, TL_OP_Unsqueeze, v, list, TL_NO_VALUE);
}

static bool grant(placing *place, const wish *w) {
  tl_node_id n = tl_use_get(place->m, w->use)->user;
  uint32_t i = w->use - tl_node_get(place->m, n)->operands;
  tl_value_id v = TL_NO_VALUE;
  for (uint32_t k = 0; k < place->given.n; k++)
    if (place->given.at[k].order == w->order)
      v = place->given.at[k].value;
  v = w->name && v != w->from ? named(place, v, w) : aligned(place, v, n, i);
  if (v && v != w->from)
    tl_node_set_operand(place->m, n, i, v);
  return v != TL_NO_VALUE;
}

static bool place_source(placing *place, tl_value_id source) {
  tl_order made = tl_layout_made(place->l, source);
  tl_layout_read(place->l, source);
  if (place->l->no_memory || !note_views(place, source) || !note_wishes(place) ||
      !give(place, source, made))
    return false;
  for (uint32_t i = 0; i < place->wishes.n; i++)
    if (!grant(place, &place->wishes.at[i]))
      return false;
  for (uint32_t i = place->views.n; i-- > 0;)
    if (!tl_value_get(place->m, tl_result(place->m, place->views.at[i].node, 0))->n_uses)
      tl_node_erase(place->m, place->views.at[i].node);
  return true;
}

static tl_status place_all(placing *place, tl_u32_vec *made) {
  place->l->region++;
  TL_FOR_NODES(place->m, place->l->g, n) {
    if (has_moved(place->l, n) && !note_sources(place, n))
      return tl_no_memory(place->m);
  }
  TL_FOR_NODES(place->m, place->l->g, n) {
    if (has_moved(place->l, n))
      TL_TRY(tl_law_apply(tl_layout_law(place->l, n), place->m, n, made));
  }
  for (uint32_t i = 0; i < place->sources.n; i++)
    if (!place_source(place, place->sources.at[i]))
      return tl_no_memory(place->m);
  return TL_OK;
}

tl_status tl_layout_place(tl_layout *l, tl_u32_vec *made) {
  placing place = {.l = l, .m = l->m};
  tl_status status = place_all(&place, made);
  wish_vec_release(&place.wishes);
  given_vec_release(&place.given);
  view_vec_release(&place.views);
  tl_u32_vec_release(&place.sources);
  return status;
}
