/* SPDX-License-Identifier: Apache-2.0 */
/* Follows results to the tensors that they stand for. A node that kept its name gives what the node
 * of that name gave. Nodes that say that they come from the same nodes of the model are a group:
 * if one of its results is used outside, and one result of those nodes is, the two are the same
 * tensor. Everything else stays without a twin rather than get a wrong one. */
#include "tools/verify/kin.h"

#include "ir/op.h"
#include "ir/ops_gen.h"
#include "ir/trace.h"
#include "support/map.h"

/* State of pairing two models. */
typedef struct pairing {
  tl_kin *kin;
  tl_module *a, *b;
  tl_node_id *named; /* by symbol of a: node of that name */
  uint32_t n_named;
  uint32_t *group_of; /* by node of b: its group, counted from 1; 0: none */
  uint32_t *inside;   /* by node of a: the group that was looked at last */
  tl_u32_vec groups;  /* symbols of b: the lists of names */
} pairing;

/* ---- rows ------------------------------------------------------------------------------------ */

static tl_symbol intern(tl_module *m, tl_buf *text) {
  tl_symbol s = text->failed ? TL_NO_SYMBOL : tl_module_intern(m, tl_buf_view(text));
  tl_buf_clear(text);
  return s;
}

/* Adds a row for each result of a node that has a name. False if memory is out. */
static bool add_rows(tl_kin *k, tl_module *m, tl_node_id n, tl_buf *room) {
  bool inserted;
  tl_buf_clear(room);
  tl_trace_own(m, n, room);
  tl_symbol node = intern(m, room);
  tl_sv from = tl_trace_origins(m, n, room, &inserted);
  tl_symbol list = from.n > 2 && !inserted ? tl_module_intern(m, from) : 0;
  uint32_t first = k->operands.n, n_operands = tl_node_get(m, n)->n_operands;
  if (node == TL_NO_SYMBOL || list == TL_NO_SYMBOL || room->failed)
    return false;
  for (uint32_t i = 0; i < n_operands; i++) {
    tl_value_id v = tl_operand(m, n, i);
    if (!tl_u32_vec_push(&k->operands, v ? tl_value_get(m, v)->name : 0))
      return false;
  }
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_results; i++) {
    tl_symbol value = tl_value_get(m, tl_result(m, n, i))->name;
    tl_kin_row row = {value, node, list, tl_node_get(m, n)->op, i, first, n_operands, TL_NO_VALUE};
    if (value && !tl_kin_rows_push(&k->rows, row))
      return false;
  }
  return true;
}

/* Fills the index by name, once no symbol is interned any more. */
static bool index_rows(tl_kin *k, const tl_module *m) {
  k->n = m->symbols.n + 1;
  k->of = calloc(k->n, sizeof *k->of);
  for (uint32_t i = 0; k->of && i < k->rows.n; i++)
    k->of[k->rows.at[i].value] = i + 1;
  return k->of != NULL;
}

const tl_kin_row *tl_kin_named(const tl_kin *k, tl_symbol s) {
  return k && k->of && s && s < k->n && k->of[s] ? &k->rows.at[k->of[s] - 1] : NULL;
}

const tl_kin_row *tl_kin_of(const tl_kin *k, const tl_module *m, tl_value_id v) {
  return tl_kin_named(k, tl_value_get(m, v)->name);
}

static tl_kin_row *row_of(tl_kin *k, const tl_module *m, tl_value_id v) {
  tl_symbol s = tl_value_get(m, v)->name;
  return s < k->n && k->of[s] ? &k->rows.at[k->of[s] - 1] : NULL;
}

void tl_kin_release(tl_kin *k) {
  tl_kin_rows_release(&k->rows);
  tl_u32_vec_release(&k->operands);
  free(k->of);
  *k = (tl_kin){0};
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Could both hold the same tensor, as far as ranks and fixed dims say? Dtypes of floats may
 * differ. */
static bool may_be_same(const pairing *p, tl_value_id v, tl_value_id w) {
  const tl_type *a = tl_type_get(p->a, tl_value_type(p->a, v));
  const tl_type *b = tl_type_get(p->b, tl_value_type(p->b, w));
  if (a->kind != TL_KIND_TENSOR || b->kind != TL_KIND_TENSOR || a->rank != b->rank || a->rank < 0 ||
      tl_dtype_is_float((tl_dtype)a->dtype) != tl_dtype_is_float((tl_dtype)b->dtype))
    return false;
  for (int i = 0; i < a->rank; i++)
    if (tl_dim_is_static(a->dims[i]) && tl_dim_is_static(b->dims[i]) && a->dims[i] != b->dims[i])
      return false;
  return true;
}

static void join(pairing *p, tl_value_id v, tl_value_id w) {
  tl_kin_row *row = v && w ? row_of(p->kin, p->b, w) : NULL;
  if (row && !row->twin && may_be_same(p, v, w))
    row->twin = v;
}

static tl_node_id node_named(const pairing *p, tl_sv name) {
  tl_symbol s = tl_symbol_find(&p->a->symbols, name);
  return s != TL_NO_SYMBOL && s < p->n_named ? p->named[s] : TL_NO_NODE;
}

/* Fills the index of names of nodes. Names that two nodes have name none. */
static bool index_nodes(pairing *p) {
  tl_buf room;
  tl_buf_init(&room);
  const tl_graph *g = tl_module_main(p->a);
  bool ok = true;
  TL_FOR_NODES(p->a, g, n) {
    tl_trace_own(p->a, n, &room);
    ok = ok && intern(p->a, &room) != TL_NO_SYMBOL;
  }
  p->n_named = p->a->symbols.n + 1;
  p->named = ok ? calloc(p->n_named, sizeof *p->named) : NULL;
  TL_FOR_NODES(p->a, g, k) {
    tl_symbol s = TL_NO_SYMBOL;
    if (p->named) {
      tl_trace_own(p->a, k, &room);
      s = tl_symbol_find(&p->a->symbols, tl_buf_view(&room));
      tl_buf_clear(&room);
    }
    if (s != TL_NO_SYMBOL)
      p->named[s] = p->named[s] ? p->a->nodes.next : k;
  }
  for (tl_symbol s = 0; p->named && s < p->n_named; s++)
    if (p->named[s] == p->a->nodes.next)
      p->named[s] = TL_NO_NODE;
  tl_buf_release(&room);
  return p->named != NULL;
}

/* Returns true if a value is used by a node that `mark` does not count to the group. Ops that only
 * ask for its sizes need not have the value itself. */
static bool leaves(const tl_module *m, tl_value_id v, const uint32_t *mark, uint32_t group) {
  tl_graph_id main = tl_module_main(m)->id;
  TL_FOR_USES(m, v, u) {
    tl_node_id user = tl_use_get(m, u)->user;
    tl_op_id op = tl_node_get(m, user)->op;
    if (op == TL_OP_Shape || op == TL_OP_Size)
      continue;
    if (tl_node_is_return(m, user) || tl_node_get(m, user)->graph != main || mark[user] != group)
      return true;
  }
  return false;
}

/* Finds the one result of a node that leaves its group. *n counts all that do. */
static void look_for_exit(const tl_module *m, tl_node_id n, const uint32_t *mark, uint32_t group,
                          tl_value_id *exit, uint32_t *count) {
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_results; i++)
    if (leaves(m, tl_result(m, n, i), mark, group)) {
      *exit = tl_result(m, n, i);
      ++*count;
    }
}

/* Pairs the one exit of a group with that of the nodes that it comes from. */
static void pair_group(pairing *p, uint32_t group, tl_value_id exit, tl_buf *room) {
  tl_sv item, list = tl_sym(p->b, p->groups.at[group - 1]);
  tl_value_id v = TL_NO_VALUE;
  uint32_t n = 0;
  for (tl_trace_items at = tl_trace_start(list); tl_trace_next(&at, room, &item);) {
    tl_node_id k = node_named(p, item);
    if (k)
      p->inside[k] = group;
  }
  for (tl_trace_items at = tl_trace_start(list); tl_trace_next(&at, room, &item);) {
    tl_node_id k = node_named(p, item);
    if (k)
      look_for_exit(p->a, k, p->inside, group, &v, &n);
  }
  if (n == 1)
    join(p, v, exit);
}

/* Returns the group of a list, a new one if there is none yet; 0 if memory is out. */
static uint32_t group_of_list(pairing *p, tl_map *groups, tl_symbol list) {
  uint32_t group;
  if (tl_map_find(groups, list, &group))
    return group;
  group = p->groups.n + 1;
  return tl_u32_vec_push(&p->groups, list) && tl_map_set(groups, list, group) ? group : 0;
}

/* Pairs the results of a node that kept its name. Ops of the NPU may give results behind the first
 * in another order, unless they only move data. */
static void pair_node(pairing *p, tl_node_id k, tl_node_id n) {
  const tl_op *op = tl_op_row(tl_node_get(p->a, k)->op);
  bool moves = op && (op->traits & TL_TRAIT_LAYOUT);
  for (uint32_t i = 0; i < tl_node_get(p->b, n)->n_results && (i == 0 || moves); i++)
    join(p, tl_result(p->a, k, i), tl_result(p->b, n, i));
}

/* Puts each node into the group of its list, or pairs it by its name. */
static bool group_nodes(pairing *p) {
  tl_map groups = {0};
  bool ok = true;
  TL_FOR_NODES(p->b, tl_module_main(p->b), n) {
    tl_kin_row *row = tl_node_get(p->b, n)->n_results ? row_of(p->kin, p->b, tl_result(p->b, n, 0))
                                                      : NULL;
    if (!ok || !row)
      continue;
    tl_node_id k = row->from ? TL_NO_NODE : node_named(p, tl_sym(p->b, row->node));
    if (k)
      pair_node(p, k, n);
    if (row->from)
      ok = (p->group_of[n] = group_of_list(p, &groups, row->from)) != 0;
  }
  tl_map_release(&groups);
  return ok;
}

/* Pairs the exits of all groups. */
static bool pair_groups(pairing *p) {
  tl_buf room;
  uint32_t *n = calloc((size_t)p->groups.n + 1, sizeof *n);
  tl_value_id *exits = calloc((size_t)p->groups.n + 1, sizeof *exits);
  tl_buf_init(&room);
  if (n && exits)
    TL_FOR_NODES(p->b, tl_module_main(p->b), k) {
      uint32_t group = p->group_of[k];
      if (group)
        look_for_exit(p->b, k, p->group_of, group, &exits[group], &n[group]);
    }
  for (uint32_t group = 1; n && exits && group <= p->groups.n; group++)
    if (n[group] == 1)
      pair_group(p, group, exits[group], &room);
  bool ok = n && exits && !room.failed;
  tl_buf_release(&room);
  free(n);
  free(exits);
  return ok;
}

/* Finds the tensors of the other model that results of b stand for. */
static bool find_twins(tl_kin *k, tl_module *b) {
  pairing p = {.kin = k, .a = k->other, .b = b};
  bool ok = index_nodes(&p);
  p.group_of = calloc(tl_module_node_end(b), sizeof *p.group_of);
  p.inside = calloc(tl_module_node_end(p.a), sizeof *p.inside);
  ok = ok && p.group_of && p.inside && group_nodes(&p) && pair_groups(&p);
  free(p.named);
  free(p.group_of);
  free(p.inside);
  tl_u32_vec_release(&p.groups);
  return ok;
}

tl_status tl_kin_note(void *user, tl_module *m) {
  tl_kin *k = user;
  tl_buf room;
  bool ok = true;
  tl_buf_init(&room);
  TL_FOR_NODES(m, tl_module_main(m), n)
    ok = ok && add_rows(k, m, n, &room);
  tl_buf_release(&room);
  ok = ok && index_rows(k, m) && (!k->other || find_twins(k, m));
  return ok ? TL_OK : tl_no_memory(m);
}
