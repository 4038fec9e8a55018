/* SPDX-License-Identifier: Apache-2.0 */
/* Lists what differs between two paired modules: of each pair of graphs its inputs, outputs,
 * constants and nodes, and then the bodies of its nodes. */
#include "tools/diff/diff.h"

/* State of the list. */
typedef struct comparer {
  const tl_pairs *p;
  tl_difference_vec *out;
  bool failed;
} comparer;

/* Where ids of a difference come from: two graphs that are partners. */
typedef struct graphs {
  const tl_graph *g[2];
} graphs;

static void add(comparer *c, const graphs *in, tl_differing kind, tl_diff_change change,
                const tl_difference *d) {
  tl_difference full = *d;
  full.kind = (uint8_t)kind;
  full.change = (uint8_t)change;
  for (int s = 0; s < 2; s++)
    full.graph[s] = in && in->g[s] ? in->g[s]->id : TL_NO_GRAPH;
  c->failed |= !tl_difference_vec_push(c->out, full);
}

/* Adds what differs between partners, if anything does. */
static void add_changed(comparer *c, const graphs *in, tl_differing kind, const tl_difference *d) {
  if (d->what)
    add(c, in, kind, d->what == TL_WHAT_NAME ? TL_RENAMED : TL_CHANGED, d);
}

static bool same_text(const tl_pairs *p, tl_symbol a, tl_symbol b) {
  return tl_sv_eq(tl_sym(p->m[0], a), tl_sym(p->m[1], b));
}

/* Returns what differs between the types of two values. */
static unsigned type_differs(const tl_pairs *p, tl_value_id a, tl_value_id b) {
  tl_type_id x = tl_value_type(p->m[0], a), y = tl_value_type(p->m[1], b);
  const tl_type *s = tl_type_get(p->m[0], x), *t = tl_type_get(p->m[1], y);
  if (tl_same_type(p, x, y))
    return 0;
  if (s->kind != t->kind || (s->kind != TL_KIND_TENSOR && s->kind != TL_KIND_SPARSE_TENSOR))
    return TL_WHAT_TYPES;
  return (s->dtype != t->dtype ? TL_WHAT_DTYPES : 0u) |
         (tl_same_shape(p, x, y) ? 0u : TL_WHAT_SHAPES);
}

static bool same_name(const tl_pairs *p, tl_value_id a, tl_value_id b) {
  return same_text(p, tl_value_get(p->m[0], a)->name, tl_value_get(p->m[1], b)->name);
}

/* ---- inputs, constants, outputs -------------------------------------------------------------- */

/* Returns what differs between two inputs or two constants. Names of inputs of bodies are left
 * out: they mean nothing outside. */
static unsigned declared_differs(const tl_pairs *p, tl_value_id a, tl_value_id b, bool names) {
  const tl_value *x = tl_value_get(p->m[0], a), *y = tl_value_get(p->m[1], b);
  unsigned what = type_differs(p, a, b);
  if (names && !same_name(p, a, b))
    what |= TL_WHAT_NAME;
  if (what & (TL_WHAT_DTYPES | TL_WHAT_SHAPES | TL_WHAT_TYPES))
    return what;
  return what | (tl_same_tensor(p, x->tensor, y->tensor) ? 0u : TL_WHAT_CONTENTS);
}

static void compare_inputs(comparer *c, const graphs *in) {
  const tl_pairs *p = c->p;
  bool root = in->g[0]->kind == TL_GRAPH_ROOT;
  for (uint32_t i = 0; i < in->g[0]->inputs.n; i++) {
    tl_value_id a = in->g[0]->inputs.at[i], b = p->value[0][a];
    tl_difference d = {.id = {a, b}};
    if (!b) {
      add(c, in, TL_DIFF_INPUT, TL_REMOVED, &d);
      continue;
    }
    d.what = (uint16_t)(declared_differs(p, a, b, root) |
                        (tl_value_get(p->m[1], b)->index != i ? TL_WHAT_POSITION : 0u));
    add_changed(c, in, TL_DIFF_INPUT, &d);
  }
  for (uint32_t i = 0; i < in->g[1]->inputs.n; i++) {
    tl_difference d = {.id = {0, in->g[1]->inputs.at[i]}};
    if (!p->value[1][d.id[1]])
      add(c, in, TL_DIFF_INPUT, TL_ADDED, &d);
  }
}

static void compare_constants(comparer *c, const graphs *in) {
  const tl_pairs *p = c->p;
  for (uint32_t i = 0; i < in->g[0]->constants.n; i++) {
    tl_value_id a = in->g[0]->constants.at[i], b = a ? p->value[0][a] : 0;
    tl_difference d = {.id = {a, b}};
    if (a && !b)
      add(c, in, TL_DIFF_CONSTANT, TL_REMOVED, &d);
    if (!b)
      continue;
    d.what = (uint16_t)declared_differs(p, a, b, p->names);
    add_changed(c, in, TL_DIFF_CONSTANT, &d);
  }
  for (uint32_t i = 0; i < in->g[1]->constants.n; i++) {
    tl_difference d = {.id = {0, in->g[1]->constants.at[i]}};
    if (d.id[1] && !p->value[1][d.id[1]])
      add(c, in, TL_DIFF_CONSTANT, TL_ADDED, &d);
  }
}

/* Finds the first place of each value, and of each name, among the outputs of a graph. */
static void index_outputs(comparer *c, const tl_graph *g, tl_map *map) {
  const tl_module *m = c->p->m[1];
  for (uint32_t i = tl_graph_n_outputs(m, g); i-- > 0;) {
    tl_value_id v = tl_graph_output(m, g, i);
    c->failed |= v && (!tl_map_set(map, tl_map_pair(1, v), i) ||
                       !tl_map_set(map, tl_map_pair(2, tl_value_get(m, v)->name), i));
  }
}

/* Returns the place in b of output i of a: that of its partner, else of its name. */
static bool find_output(const comparer *c, const graphs *in, const tl_map *map, uint32_t i,
                        uint32_t *place) {
  const tl_pairs *p = c->p;
  tl_value_id a = tl_graph_output(p->m[0], in->g[0], i), b = a ? p->value[0][a] : 0;
  if (i < tl_graph_n_outputs(p->m[1], in->g[1]) && b &&
      tl_graph_output(p->m[1], in->g[1], i) == b) {
    *place = i;
    return true;
  }
  if (b && tl_map_find(map, tl_map_pair(1, b), place))
    return true;
  tl_symbol s = a ? tl_symbol_find(&p->m[1]->symbols, tl_value_name(p->m[0], a)) : 0;
  return s && s != TL_NO_SYMBOL && tl_map_find(map, tl_map_pair(2, s), place);
}

/* Names of outputs of bodies mean nothing outside. */
static uint16_t output_differs(const comparer *c, const graphs *in, const tl_difference *d,
                               bool moved) {
  bool other = c->p->value[0][d->id[0]] != d->id[1];
  bool named = in->g[0]->kind != TL_GRAPH_ROOT || !d->id[0] || !d->id[1] ||
               same_name(c->p, d->id[0], d->id[1]);
  return (uint16_t)((moved ? TL_WHAT_POSITION : 0u) | (other ? TL_WHAT_VALUE : 0u) |
                    (named ? 0u : TL_WHAT_NAME));
}

static void compare_outputs(comparer *c, const graphs *in) {
  const tl_pairs *p = c->p;
  uint32_t n = tl_graph_n_outputs(p->m[0], in->g[0]), k = tl_graph_n_outputs(p->m[1], in->g[1]);
  tl_map map = {0};
  uint32_t place;
  bool *taken = calloc(k + 1u, sizeof *taken);
  c->failed |= !taken;
  index_outputs(c, in->g[1], &map);
  for (uint32_t i = 0; taken && i < n; i++) {
    tl_difference d = {.id = {tl_graph_output(p->m[0], in->g[0], i), 0}};
    if (!find_output(c, in, &map, i, &place) || taken[place]) {
      add(c, in, TL_DIFF_OUTPUT, TL_REMOVED, &d);
      continue;
    }
    taken[place] = true;
    d.id[1] = tl_graph_output(p->m[1], in->g[1], place);
    d.what = output_differs(c, in, &d, place != i);
    add_changed(c, in, TL_DIFF_OUTPUT, &d);
  }
  for (uint32_t i = 0; taken && i < k; i++) {
    tl_difference d = {.id = {0, tl_graph_output(p->m[1], in->g[1], i)}};
    if (!taken[i])
      add(c, in, TL_DIFF_OUTPUT, TL_ADDED, &d);
  }
  free(taken);
  tl_map_release(&map);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Constants of one content are the same operand, whichever of several it is. */
static bool same_operand(const tl_pairs *p, tl_value_id a, tl_value_id b) {
  enum { READ = 4096 };
  if (!a || !b || p->value[0][a] == b)
    return p->value[0][a] == b;
  const tl_tensor *x = tl_value_constant(p->m[0], a), *y = tl_value_constant(p->m[1], b);
  return x && y && x->bytes <= READ && y->bytes <= READ &&
         tl_same_tensor(p, tl_value_get(p->m[0], a)->tensor, tl_value_get(p->m[1], b)->tensor);
}

bool tl_same_operands(const tl_pairs *p, tl_node_id a, tl_node_id b) {
  uint32_t n = tl_node_get(p->m[0], a)->n_operands;
  if (n != tl_node_get(p->m[1], b)->n_operands)
    return false;
  for (uint32_t i = 0; i < n; i++)
    if (!same_operand(p, tl_operand(p->m[0], a, i), tl_operand(p->m[1], b, i)))
      return false;
  return true;
}

/* Finds an attribute by the name of another module; most often it has the same place. */
static const tl_attr *find_attr(const tl_pairs *p, const tl_node *x, uint32_t i, const tl_node *y) {
  for (uint32_t k = 0; k < y->n_attrs; k++) {
    const tl_attr *at = &y->attrs[(i + k) % y->n_attrs];
    if (same_text(p, x->attrs[i].name, at->name))
      return at;
  }
  return NULL;
}

/* Returns the value that an attribute has where a node does not say it, or NULL. Names that the op
 * table has are the same symbol in all modules. */
static const tl_attr *default_of(const tl_node *node, tl_symbol name) {
  const tl_op *row = tl_op_row(node->op);
  for (uint32_t i = 0; row && i < row->n_attrs; i++)
    if (row->attrs[i].has_default && row->attrs[i].value.name == name)
      return &row->attrs[i].value;
  return NULL;
}

/* Returns true if x has the attribute `name` of the other module. */
static bool says(const tl_pairs *p, const tl_node *x, tl_symbol name) {
  for (uint32_t i = 0; i < x->n_attrs; i++)
    if (same_text(p, x->attrs[i].name, name))
      return true;
  return false;
}

/* An attribute that one node does not say counts as its default. */
static bool same_attrs(const tl_pairs *p, const tl_node *x, const tl_node *y) {
  uint32_t said = 0;
  for (uint32_t i = 0; i < x->n_attrs; i++) {
    const tl_attr *other = find_attr(p, x, i, y);
    said += other != NULL;
    if (!other)
      other = default_of(y, x->attrs[i].name);
    if (!other || !tl_same_attr(p, &x->attrs[i], other))
      return false;
  }
  for (uint32_t i = 0; said < y->n_attrs && i < y->n_attrs; i++) {
    const tl_attr *unsaid = default_of(x, y->attrs[i].name);
    if (!says(p, x, y->attrs[i].name) && (!unsaid || !tl_same_attr(p, unsaid, &y->attrs[i])))
      return false;
  }
  return true;
}

static int compare_u64(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* Lists where control edges come from, as nodes of b with the origin beside. NULL without memory.
 */
static uint64_t *list_control(const tl_pairs *p, int side, tl_node_id node, size_t *n) {
  const tl_module *m = p->m[side];
  *n = 0;
  for (tl_control_id c = tl_node_get(m, node)->control_in; c; c = tl_control_get(m, c)->next_in)
    ++*n;
  uint64_t *list = calloc(*n + 1, sizeof *list);
  size_t i = 0;
  for (tl_control_id c = tl_node_get(m, node)->control_in; list && c;
       c = tl_control_get(m, c)->next_in) {
    const tl_control *edge = tl_control_get(m, c);
    list[i++] = tl_map_pair(side ? edge->from : p->node[0][edge->from], edge->origin);
  }
  if (list && *n)
    qsort(list, *n, sizeof *list, compare_u64);
  return list;
}

static bool same_control(comparer *c, tl_node_id a, tl_node_id b) {
  size_t n, k;
  if (!tl_node_get(c->p->m[0], a)->control_in && !tl_node_get(c->p->m[1], b)->control_in)
    return true;
  uint64_t *x = list_control(c->p, 0, a, &n), *y = list_control(c->p, 1, b, &k);
  c->failed |= !x || !y;
  bool same = x && y && n == k && memcmp(x, y, n * sizeof *x) == 0;
  free(x);
  free(y);
  return same;
}

/* Returns what differs between two nodes, but for their bodies. */
static unsigned node_differs(comparer *c, tl_node_id a, tl_node_id b) {
  const tl_pairs *p = c->p;
  const tl_node *x = tl_node_get(p->m[0], a), *y = tl_node_get(p->m[1], b);
  unsigned what = p->names && !same_text(p, x->name, y->name) ? TL_WHAT_NAME : 0u;
  what |= tl_same_op(p, a, b) ? 0u : TL_WHAT_OP;
  what |= tl_same_operands(p, a, b) ? 0u : TL_WHAT_OPERANDS;
  what |= same_attrs(p, x, y) ? 0u : TL_WHAT_ATTRIBUTES;
  what |= same_control(c, a, b) ? 0u : TL_WHAT_CONTROL;
  what |= x->stream == y->stream ? 0u : TL_WHAT_STREAM;
  what |= x->n_results == y->n_results ? 0u : TL_WHAT_RESULTS;
  for (uint32_t i = 0; i < x->n_results && i < y->n_results; i++) {
    what |= type_differs(p, x->results + i, y->results + i);
    what |= p->names && !same_name(p, x->results + i, y->results + i) ? TL_WHAT_NAME : 0u;
  }
  return what;
}

static void compare_graphs(comparer *c, const graphs *in);

/* Compares the bodies of two nodes that are partners. */
static void compare_bodies(comparer *c, tl_node_id a) {
  const tl_pairs *p = c->p;
  const tl_node *x = tl_node_get(p->m[0], a);
  for (uint32_t i = 0; i < x->n_attrs; i++) {
    const tl_attr *at = &x->attrs[i];
    uint32_t n = at->kind == TL_ATTR_GRAPH ? 1 : at->kind == TL_ATTR_GRAPHS ? at->count : 0;
    for (uint32_t k = 0; k < n; k++) {
      tl_graph_id g = at->kind == TL_ATTR_GRAPH ? at->u.g : at->u.ids[k];
      if (p->graph[0][g])
        compare_graphs(
            c, &(graphs){{tl_graph_get(p->m[0], g), tl_graph_get(p->m[1], p->graph[0][g])}});
    }
  }
}

/* Adds nodes of a without partners from *at on, up to and with `last` (0: all). */
static void add_removed(comparer *c, const graphs *in, tl_node_id *at, tl_node_id last) {
  const tl_module *m = c->p->m[0];
  uint64_t order = last ? tl_node_get(m, last)->order : UINT64_MAX;
  for (; *at && tl_node_get(m, *at)->order <= order; *at = tl_node_get(m, *at)->next) {
    tl_difference d = {.id = {*at, 0}};
    if (!c->p->node[0][*at])
      add(c, in, TL_DIFF_NODE, TL_REMOVED, &d);
  }
}

/* In the order of b, with the removed nodes of a where they were. */
static void compare_nodes(comparer *c, const graphs *in) {
  tl_node_id at = in->g[0]->first;
  TL_FOR_NODES(c->p->m[1], in->g[1], b) {
    tl_node_id a = c->p->node[1][b];
    tl_difference d = {.id = {a, b}};
    if (!a) {
      add(c, in, TL_DIFF_NODE, TL_ADDED, &d);
      continue;
    }
    add_removed(c, in, &at, a);
    d.what = (uint16_t)node_differs(c, a, b);
    add_changed(c, in, TL_DIFF_NODE, &d);
    compare_bodies(c, a);
  }
  add_removed(c, in, &at, 0);
}

static void compare_graphs(comparer *c, const graphs *in) {
  compare_inputs(c, in);
  compare_outputs(c, in);
  compare_constants(c, in);
  compare_nodes(c, in);
}

/* ---- modules --------------------------------------------------------------------------------- */

/* AIR has no opsets, and text need not name the opset that a model came with: what one of the two
 * does not say is no difference. */
static bool same_opsets(const tl_pairs *p) {
  const tl_opset_vec *a = &p->m[0]->opsets, *b = &p->m[1]->opsets;
  int64_t source[2] = {p->m[0]->source_opset, p->m[1]->source_opset};
  if (a->n == 0 || b->n == 0)
    return true;
  if (a->n != b->n || (source[0] && source[1] && source[0] != source[1]))
    return false;
  for (uint32_t i = 0; i < a->n; i++) {
    bool found = false;
    for (uint32_t k = 0; k < b->n && !found; k++)
      found = a->at[i].version == b->at[k].version &&
              same_text(p, a->at[i].domain, b->at[k].domain);
    if (!found)
      return false;
  }
  return true;
}

static bool same_partner(const tl_pairs *p, tl_value_id a, tl_value_id b) {
  return a && b ? p->value[0][a] == b : a == b;
}

static bool same_states(const tl_pairs *p) {
  const tl_state_vec *a = &p->m[0]->states, *b = &p->m[1]->states;
  for (uint32_t i = 0; i < a->n && a->n == b->n; i++) {
    const tl_state *x = &a->at[i], *y = &b->at[i];
    if (!same_partner(p, x->input, y->input) || !same_partner(p, x->output, y->output) ||
        !same_partner(p, x->initial, y->initial) || x->parameter != y->parameter ||
        x->local != y->local || x->root != y->root)
      return false;
  }
  return a->n == b->n;
}

/* Adds root graphs without partners. */
static void compare_roots(comparer *c, int side) {
  const tl_module *m = c->p->m[side];
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    const tl_graph *g = m->graphs.at[i];
    tl_difference d = {.id = {side ? 0 : g->id, side ? g->id : 0}};
    if (g->kind == TL_GRAPH_ROOT && !g->erased && !c->p->graph[side][g->id])
      add(c, NULL, TL_DIFF_GRAPH, side ? TL_ADDED : TL_REMOVED, &d);
  }
}

tl_status tl_differences(const tl_pairs *p, tl_difference_vec *out) {
  comparer c = {p, out, false};
  tl_difference whole = {.what = (uint16_t)((same_opsets(p) ? 0u : TL_WHAT_OPSETS) |
                                            (p->m[0]->form == p->m[1]->form ? 0u : TL_WHAT_FORM) |
                                            (same_states(p) ? 0u : TL_WHAT_STATES))};
  add_changed(&c, NULL, TL_DIFF_MODEL, &whole);
  compare_roots(&c, 0);
  for (uint32_t i = 0; i < p->m[0]->graphs.n; i++) {
    const tl_graph *g = p->m[0]->graphs.at[i];
    if (g->kind == TL_GRAPH_ROOT && !g->erased && p->graph[0][g->id])
      compare_graphs(&c, &(graphs){{g, tl_graph_get(p->m[1], p->graph[0][g->id])}});
  }
  compare_roots(&c, 1);
  return c.failed ? TL_NO_MEMORY : TL_OK;
}
