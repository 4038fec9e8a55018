/* SPDX-License-Identifier: Apache-2.0 */
/* Edits graphs: the one file that changes links, but for control edges (control.c). Uses of a value
 * form a doubly linked list in the order they were made; the operands of a node are consecutive use
 * records. Order labels leave gaps of 2^32, so that an insertion takes the middle of a gap; when a
 * gap is used up the graph is relabelled. */
#include "ir/graph.h"

#include <stdlib.h>

#include "ir/edit_log.h"

static const uint64_t label_gap = UINT64_C(1) << 32;

/* Tells the log that a node is another one now. */
static void note_change(const tl_module *m, tl_node_id n) {
  if (m->log)
    tl_edit_log_add(m->log, n, TL_OP_ERASED);
}

/* ---- uses ------------------------------------------------------------------------------------ */

/* Appends a use to the list of v; an absent operand is in no list. */
static void link_use(tl_module *m, tl_use_id id, tl_value_id v) {
  tl_use *use = tl_use_get(m, id);
  use->value = v;
  use->next = 0;
  use->previous = 0;
  if (v == TL_NO_VALUE)
    return;
  tl_value *value = tl_value_get(m, v);
  TL_ASSERT(!value->last_use || tl_use_get(m, value->last_use)->next == 0);
  use->previous = value->last_use;
  if (value->last_use)
    tl_use_get(m, value->last_use)->next = id;
  else
    value->first_use = id;
  value->last_use = id;
  value->n_uses++;
}

/* Takes a use out of its value's list, in O(1). */
static void unlink_use(tl_module *m, tl_use_id id) {
  tl_use *use = tl_use_get(m, id);
  if (use->value == TL_NO_VALUE)
    return;
  tl_value *value = tl_value_get(m, use->value);
  TL_ASSERT(use->previous ? tl_use_get(m, use->previous)->next == id : value->first_use == id);
  TL_ASSERT(use->next ? tl_use_get(m, use->next)->previous == id : value->last_use == id);
  if (use->previous)
    tl_use_get(m, use->previous)->next = use->next;
  else
    value->first_use = use->next;
  if (use->next)
    tl_use_get(m, use->next)->previous = use->previous;
  else
    value->last_use = use->previous;
  value->n_uses--;
  use->value = TL_NO_VALUE;
}

/* The use moves to the end of the new value's list. */
void tl_node_set_operand(tl_module *m, tl_node_id n, uint32_t i, tl_value_id v) {
  tl_node *node = tl_node_get(m, n);
  TL_ASSERT(i < node->n_operands);
  note_change(m, n);
  unlink_use(m, node->operands + i);
  link_use(m, node->operands + i, v);
}

/* More operands need a new run of use records; the old run is left unused. */
tl_status tl_node_set_operands(tl_module *m, tl_node_id n, const tl_value_id *v, uint32_t count) {
  tl_node *node = tl_node_get(m, n);
  tl_use_id first = node->operands;
  if (count > node->n_operands) {
    first = tl_slab_alloc(&m->uses, count);
    if (!first)
      return TL_NO_MEMORY;
  }
  note_change(m, n);
  for (uint32_t i = 0; i < node->n_operands; i++)
    unlink_use(m, node->operands + i);
  node->operands = first;
  node->n_operands = count;
  for (uint32_t i = 0; i < count; i++) {
    tl_use_get(m, first + i)->user = n;
    link_use(m, first + i, v[i]);
  }
  return TL_OK;
}

void tl_value_replace_uses(tl_module *m, tl_value_id from, tl_value_id to) {
  TL_ASSERT(from != to && from != TL_NO_VALUE);
  tl_value *source = tl_value_get(m, from);
  if (!source->first_use)
    return;
  for (tl_use_id u = source->first_use; u; u = tl_use_get(m, u)->next) {
    note_change(m, tl_use_get(m, u)->user);
    tl_use_get(m, u)->value = to;
  }
  /* splices the whole list behind the target's, in O(1) but for the loop above */
  if (to != TL_NO_VALUE) {
    tl_value *target = tl_value_get(m, to);
    tl_use_get(m, source->first_use)->previous = target->last_use;
    if (target->last_use)
      tl_use_get(m, target->last_use)->next = source->first_use;
    else
      target->first_use = source->first_use;
    target->last_use = source->last_use;
    target->n_uses += source->n_uses;
  }
  source->first_use = 0;
  source->last_use = 0;
  source->n_uses = 0;
}

/* ---- the node list --------------------------------------------------------------------------- */

/* Gives all nodes labels with full gaps. O(n), but at the earliest after 32 insertions into one
 * gap. */
static void relabel(tl_module *m, const tl_graph *g) {
  uint64_t label = 0;
  for (tl_node_id n = g->first; n; n = tl_node_get(m, n)->next)
    tl_node_get(m, n)->order = label += label_gap;
}

/* Takes the middle between the neighbours' labels; relabels all nodes when there is none. */
static void assign_label(tl_module *m, tl_graph *g, tl_node *node) {
  uint64_t low = node->previous ? tl_node_get(m, node->previous)->order : 0;
  if (!node->next) {
    if (low <= UINT64_MAX - label_gap)
      node->order = low + label_gap;
    else
      relabel(m, g);
    return;
  }
  uint64_t high = tl_node_get(m, node->next)->order;
  if (high - low >= 2)
    node->order = low + (high - low) / 2;
  else
    relabel(m, g);
}

/* Links n before `before` (TL_NO_NODE: at the end). */
static void link_node(tl_module *m, tl_graph *g, tl_node_id n, tl_node_id before) {
  tl_node *node = tl_node_get(m, n);
  TL_ASSERT(!before || tl_node_get(m, before)->graph == g->id);
  TL_ASSERT(!g->first == !g->last && !g->first == !g->n_nodes);
  node->graph = g->id;
  node->next = before;
  node->previous = before ? tl_node_get(m, before)->previous : g->last;
  if (node->previous)
    tl_node_get(m, node->previous)->next = n;
  else
    g->first = n;
  if (before)
    tl_node_get(m, before)->previous = n;
  else
    g->last = n;
  g->n_nodes++;
  assign_label(m, g, node);
  TL_ASSERT(!node->previous || tl_node_get(m, node->previous)->order < node->order);
  TL_ASSERT(!node->next || node->order < tl_node_get(m, node->next)->order);
}

/* Keeps the order label; link_node gives a new one. */
static void unlink_node(tl_module *m, tl_node_id n) {
  tl_node *node = tl_node_get(m, n);
  tl_graph *g = tl_graph_get(m, node->graph);
  TL_ASSERT(node->previous ? tl_node_get(m, node->previous)->next == n : g->first == n);
  TL_ASSERT(node->next ? tl_node_get(m, node->next)->previous == n : g->last == n);
  if (node->previous)
    tl_node_get(m, node->previous)->next = node->next;
  else
    g->first = node->next;
  if (node->next)
    tl_node_get(m, node->next)->previous = node->previous;
  else
    g->last = node->previous;
  node->previous = 0;
  node->next = 0;
  g->n_nodes--;
}

void tl_node_move_before(tl_module *m, tl_node_id n, tl_node_id before) {
  if (n == before)
    return;
  tl_graph *g = tl_graph_get(m, tl_node_get(m, n)->graph);
  unlink_node(m, n);
  link_node(m, g, n, before);
}

void tl_node_move_after(tl_module *m, tl_node_id n, tl_node_id after) {
  if (n == after)
    return;
  tl_graph *g = tl_graph_get(m, tl_node_get(m, n)->graph);
  unlink_node(m, n);
  link_node(m, g, n, tl_node_get(m, after)->next);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* NULL for an empty list, and when memory is out. */
static tl_attr *copy_attrs(tl_module *m, const tl_attr *attrs, uint32_t count) {
  if (count == 0)
    return NULL;
  return (tl_attr *)(void *)tl_arena_copy(&m->arena, attrs, count * sizeof *attrs);
}

/* Returns the attribute with a flag as 0 or 1, so that rules and kernels need not know that other
 * numbers are true as well. */
static tl_attr plain(tl_op_id op, tl_attr a) {
  if (tl_op_is_odd_flag(op, &a))
    a.u.i = 1;
  return a;
}

static void make_plain(tl_op_id op, tl_attr *attrs, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    attrs[i] = plain(op, attrs[i]);
}

/* Remembers that the module has had the op, so that passes can skip what never was there. */
static void set_op(tl_module *m, tl_node *node, tl_op_id op) {
  node->op = op;
  if (op < tl_n_op_rows)
    m->had_ops[op] |= TL_OP_HAD;
}

/* Allocates everything that a node needs before anything is linked, so that a failure changes
 * nothing. */
static tl_node_id make_node(tl_module *m, const tl_node_spec *spec) {
  tl_use_id operands = tl_slab_alloc(&m->uses, spec->n_operands);
  tl_value_id results = tl_slab_alloc(&m->values, spec->n_results);
  tl_attr *attrs = copy_attrs(m, spec->attrs, spec->n_attrs);
  tl_node_id n = tl_slab_alloc(&m->nodes, 1);
  if ((spec->n_operands && !operands) || (spec->n_results && !results) ||
      (spec->n_attrs && !attrs) || !n)
    return TL_NO_NODE;
  tl_node *node = tl_node_get(m, n);
  set_op(m, node, spec->op);
  node->name = spec->name;
  node->operands = operands;
  node->n_operands = spec->n_operands;
  node->results = results;
  node->n_results = spec->n_results;
  node->attrs = attrs;
  node->n_attrs = spec->n_attrs;
  make_plain(spec->op, attrs, spec->n_attrs);
  node->stream = -1;
  node->candidate = -1;
  for (uint32_t i = 0; i < spec->n_operands; i++) {
    tl_use_get(m, operands + i)->user = n;
    link_use(m, operands + i, spec->operands[i]);
  }
  for (uint32_t i = 0; i < spec->n_results; i++) {
    tl_value *value = tl_value_get(m, results + i);
    value->kind = TL_VALUE_RESULT;
    value->def = n;
    value->index = i;
    value->name = spec->results ? spec->results[i] : 0;
  }
  return n;
}

tl_node_id tl_graph_append(tl_module *m, tl_graph_id g, const tl_node_spec *spec) {
  tl_node_id n = make_node(m, spec);
  if (n)
    link_node(m, tl_graph_get(m, g), n, TL_NO_NODE);
  return n;
}

tl_node_id tl_graph_insert(tl_module *m, tl_node_id before, const tl_node_spec *spec) {
  tl_node_id n = make_node(m, spec);
  if (n)
    link_node(m, tl_graph_get(m, tl_node_get(m, before)->graph), n, before);
  return n;
}

/* Bodies belong to one attribute of one node and go with it. */
static void erase_bodies(tl_module *m, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    if (a->kind == TL_ATTR_GRAPH)
      tl_graph_erase(m, a->u.g);
    for (uint32_t k = 0; a->kind == TL_ATTR_GRAPHS && k < a->count; k++)
      tl_graph_erase(m, a->u.ids[k]);
  }
}

static void drop_operands(tl_module *m, tl_node *node) {
  for (uint32_t i = 0; i < node->n_operands; i++)
    unlink_use(m, node->operands + i);
}

/* Drops what is known of a training step about a value that goes. */
static void forget_value(tl_module *m, tl_value_id v) {
  if (m->loss == v)
    m->loss = TL_NO_VALUE;
  if (m->seed == v)
    m->seed = TL_NO_VALUE;
}

/* Results must be unused; the id is never reused. */
void tl_node_erase(tl_module *m, tl_node_id n) {
  tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_results; i++) {
    TL_ASSERT(tl_value_get(m, node->results + i)->n_uses == 0);
    tl_value_get(m, node->results + i)->kind = TL_VALUE_NONE;
    forget_value(m, node->results + i);
  }
  while (node->control_in)
    tl_control_erase(m, node->control_in);
  while (node->control_out)
    tl_control_erase(m, node->control_out);
  erase_bodies(m, node);
  drop_operands(m, node);
  unlink_node(m, n);
  tl_edit_log_add(m->log, n, node->op);
  node->op = TL_OP_ERASED;
}

void tl_node_set_op(tl_module *m, tl_node_id n, tl_op_id op) {
  tl_node *node = tl_node_get(m, n);
  note_change(m, n);
  set_op(m, node, op);
  make_plain(op, node->attrs, node->n_attrs);
}

void tl_node_trim_results(tl_module *m, tl_node_id n, uint32_t count) {
  tl_node *node = tl_node_get(m, n);
  for (uint32_t i = count; i < node->n_results; i++) {
    TL_ASSERT(tl_value_get(m, node->results + i)->n_uses == 0);
    tl_value_get(m, node->results + i)->kind = TL_VALUE_NONE;
  }
  note_change(m, n);
  if (count < node->n_results)
    node->n_results = count;
}

tl_status tl_node_set_attrs(tl_module *m, tl_node_id n, const tl_attr *attrs, uint32_t count) {
  tl_attr *copy = copy_attrs(m, attrs, count);
  if (count && !copy)
    return TL_NO_MEMORY;
  tl_node *node = tl_node_get(m, n);
  make_plain(node->op, copy, count);
  note_change(m, n);
  node->attrs = copy;
  node->n_attrs = count;
  return TL_OK;
}

/* Adding leaves the old list in the arena. */
tl_status tl_node_set_attr(tl_module *m, tl_node_id n, tl_attr attr) {
  tl_node *node = tl_node_get(m, n);
  attr = plain(node->op, attr);
  note_change(m, n);
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    if (node->attrs[i].name == attr.name) {
      node->attrs[i] = attr;
      return TL_OK;
    }
  }
  tl_attr *grown = tl_arena_alloc(&m->arena, (node->n_attrs + 1) * sizeof *grown);
  if (!grown)
    return TL_NO_MEMORY;
  if (node->n_attrs)
    memcpy(grown, node->attrs, node->n_attrs * sizeof *grown);
  grown[node->n_attrs++] = attr;
  node->attrs = grown;
  return TL_OK;
}

/* Keeps the order of the others. */
void tl_node_remove_attr(tl_module *m, tl_node_id n, tl_symbol name) {
  tl_node *node = tl_node_get(m, n);
  uint32_t kept = 0;
  note_change(m, n);
  for (uint32_t i = 0; i < node->n_attrs; i++)
    if (node->attrs[i].name != name)
      node->attrs[kept++] = node->attrs[i];
  node->n_attrs = kept;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

tl_graph_id tl_graph_create(tl_module *m, tl_graph_kind kind, tl_symbol name, tl_node_id owner) {
  tl_graph *g = calloc(1, sizeof *g);
  tl_node_spec spec = {.op = TL_OP_RETURN};
  if (!g || !(g->ret = make_node(m, &spec)) || !tl_graph_vec_push(&m->graphs, g)) {
    free(g);
    return TL_NO_GRAPH;
  }
  g->id = m->graphs.n;
  g->kind = (uint8_t)kind;
  g->name = name;
  g->owner = owner;
  tl_node_get(m, g->ret)->graph = g->id;
  return g->id;
}

/* An absent value cannot go. */
static bool is_gone(const tl_module *m, tl_value_id v) {
  return v && tl_value_get(m, v)->kind == TL_VALUE_NONE;
}

/* Drops states and gradients whose values have gone with a body. */
static void forget_gone(tl_module *m) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < m->states.n; i++)
    if (!is_gone(m, m->states.at[i].input) && !is_gone(m, m->states.at[i].output))
      m->states.at[kept++] = m->states.at[i];
  m->states.n = kept;
  kept = 0;
  for (uint32_t i = 0; i < m->gradients.n; i++) {
    const tl_gradient *g = &m->gradients.at[i];
    if (!is_gone(m, g->param) && !is_gone(m, g->grad) && !is_gone(m, g->indices))
      m->gradients.at[kept++] = *g;
  }
  m->gradients.n = kept;
}

/* Erases from the last node on, so that every node's results are unused when it goes. */
void tl_graph_erase(tl_module *m, tl_graph_id id) {
  tl_graph *g = tl_graph_get(m, id);
  if (g->erased)
    return;
  drop_operands(m, tl_node_get(m, g->ret));
  for (tl_node_id n = g->last; n; n = g->last)
    tl_node_erase(m, n);
  for (uint32_t i = 0; i < g->constants.n; i++)
    if (g->constants.at[i])
      tl_value_get(m, g->constants.at[i])->kind = TL_VALUE_NONE;
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    tl_value_get(m, g->inputs.at[i])->kind = TL_VALUE_NONE;
    forget_value(m, g->inputs.at[i]);
  }
  forget_gone(m);
  g->constants.n = 0;
  g->inputs.n = 0;
  g->erased = true;
}

/* Adds a value to a list of its graph, which is its def. */
static tl_value_id add_value(tl_module *m, tl_u32_vec *list, tl_value value) {
  tl_value_id v = tl_slab_alloc(&m->values, 1);
  if (!v || !tl_u32_vec_push(list, v))
    return TL_NO_VALUE;
  value.index = list->n - 1;
  *tl_value_get(m, v) = value;
  return v;
}

tl_value_id tl_graph_add_input(tl_module *m, tl_graph_id g, tl_symbol name, tl_type_id type,
                               tl_tensor_id tensor) {
  return add_value(
      m, &tl_graph_get(m, g)->inputs,
      (tl_value){.kind = TL_VALUE_INPUT, .name = name, .type = type, .tensor = tensor, .def = g});
}

tl_value_id tl_graph_add_constant(tl_module *m, tl_graph_id g, tl_symbol name,
                                  tl_tensor_id tensor) {
  tl_type_id type = tl_tensor_get(m, tensor)->type;
  return add_value(
      m, &tl_graph_get(m, g)->constants,
      (tl_value){
          .kind = TL_VALUE_CONSTANT, .name = name, .type = type, .tensor = tensor, .def = g});
}

/* Moves everything of `from` to `to`, right before `before` (TL_NO_NODE: at the end). */
static tl_status move_all(tl_module *m, tl_graph *from, tl_graph *to, tl_node_id before) {
  TL_ASSERT(from != to && from->inputs.n == 0);
  if (from->constants.n > UINT32_MAX / 2 - to->constants.n ||
      !tl_u32_vec_reserve(&to->constants, to->constants.n + from->constants.n))
    return TL_NO_MEMORY;
  for (uint32_t i = 0; i < from->constants.n; i++) {
    tl_value_id v = from->constants.at[i];
    if (!v)
      continue;
    tl_value_get(m, v)->def = to->id;
    tl_value_get(m, v)->index = to->constants.n;
    to->constants.at[to->constants.n++] = v;
  }
  from->constants.n = 0;
  for (tl_node_id n = from->first; n; n = from->first) {
    unlink_node(m, n);
    link_node(m, to, n, before);
  }
  return TL_OK;
}

tl_status tl_graph_splice(tl_module *m, tl_graph_id body, tl_node_id before) {
  tl_graph *to = tl_graph_get(m, tl_node_get(m, before)->graph);
  return move_all(m, tl_graph_get(m, body), to, before);
}

tl_status tl_graph_join(tl_module *m, tl_graph_id from, tl_graph_id to) {
  return move_all(m, tl_graph_get(m, from), tl_graph_get(m, to), TL_NO_NODE);
}

/* The list keeps a 0 in its place: the indices of later constants must not move. */
void tl_graph_erase_constant(tl_module *m, tl_value_id v) {
  tl_value *value = tl_value_get(m, v);
  TL_ASSERT(value->kind == TL_VALUE_CONSTANT && value->n_uses == 0);
  tl_graph_get(m, value->def)->constants.at[value->index] = TL_NO_VALUE;
  value->kind = TL_VALUE_NONE;
}

static void remove_input(tl_module *m, const tl_value *value) {
  tl_graph *g = tl_graph_get(m, value->def);
  for (uint32_t i = value->index; i + 1 < g->inputs.n; i++) {
    g->inputs.at[i] = g->inputs.at[i + 1];
    tl_value_get(m, g->inputs.at[i])->index = i;
  }
  g->inputs.n--;
}

void tl_graph_erase_input(tl_module *m, tl_value_id v) {
  tl_value *value = tl_value_get(m, v);
  TL_ASSERT(value->kind == TL_VALUE_INPUT && value->n_uses == 0);
  remove_input(m, value);
  value->kind = TL_VALUE_NONE;
}

tl_status tl_graph_freeze_input(tl_module *m, tl_value_id v) {
  tl_value *value = tl_value_get(m, v);
  tl_graph *g = tl_graph_get(m, value->def);
  TL_ASSERT(value->kind == TL_VALUE_INPUT && value->tensor != TL_NO_TENSOR);
  if (!tl_u32_vec_push(&g->constants, v))
    return TL_NO_MEMORY;
  remove_input(m, value);
  value->kind = TL_VALUE_CONSTANT;
  value->index = g->constants.n - 1;
  value->type = tl_tensor_get(m, value->tensor)->type;
  return TL_OK;
}

tl_status tl_graph_set_outputs(tl_module *m, tl_graph_id g, const tl_value_id *v, uint32_t n) {
  return tl_node_set_operands(m, tl_graph_get(m, g)->ret, v, n);
}
