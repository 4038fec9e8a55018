/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies the nodes of a graph for groups: class, core, events, what keeps a node alone
 * (nodes.h). */
#include "passes/ub/nodes.h"

#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "passes/ub/traffic.h"

/* A class of ops, and the core that computes it. */
typedef struct class_row {
  const char *name;
  uint8_t length; /* of the name, bytes */
  uint8_t core;
} class_row;

static const class_row classes[TL_UB_N_CLASSES] = {
#define CLASS(id, name, core) [TL_UB_##id] = {name, sizeof(name) - 1, TL_UB_CORE_##core},
#include "passes/ub/classes.tbl"
};

/* The class of an op type. own: also without a row in the chip's table. */
typedef struct op_row {
  const char *type;
  uint8_t length; /* of the type, bytes */
  uint8_t class;
  bool own;
} op_row;

static const op_row ops[] = {
#define OP(type, id) {type, sizeof(type) - 1, TL_UB_##id, false},
#define OWN(type, id) {type, sizeof(type) - 1, TL_UB_##id, true},
#include "passes/ub/classes.tbl"
};

const char *tl_ub_class_name(tl_ub_class class) { return classes[class].name; }

tl_ub_class tl_ub_class_find(tl_sv name) {
  for (uint32_t i = 0; i < TL_UB_N_CLASSES; i++)
    if (classes[i].length == name.n && name.n && memcmp(classes[i].name, name.p, name.n) == 0)
      return (tl_ub_class)i;
  return TL_UB_NONE;
}

/* Linear search: it runs once per op of the module. */
static const op_row *find_op(tl_sv type) {
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (ops[i].length == type.n && memcmp(ops[i].type, type.p, type.n) == 0)
      return &ops[i];
  return NULL;
}

/* ---- classes of ops -------------------------------------------------------------------------- */

/* Returns the class for the op.pattern of the operator library. */
static tl_ub_class class_of_pattern(tl_sv pattern) {
  if (tl_sv_is(pattern, "formatAgnostic") || tl_sv_is(pattern, "broadcast"))
    return TL_UB_ELEMWISE;
  return tl_sv_is(pattern, "reduce") ? TL_UB_REDUCE : TL_UB_OTHER;
}

/* The operator library decides first, if it names the kernel; then our table; then the op.pattern
 * of the library. */
tl_ub_class tl_ub_class_of(const tl_op_info_set *set, tl_sv type) {
  const op_row *row = find_op(type);
  tl_op_info info = tl_op_info_find(set, type);
  if (!info.row)
    return row && row->own ? (tl_ub_class)row->class : TL_UB_NONE;
  tl_sv kernel = tl_sv_from(tl_op_info_text(info, info.row->kernel));
  tl_ub_class said = tl_ub_class_find(kernel);
  if (said || tl_sv_is(kernel, "Opaque") || info.row->flags & TL_INFO_NO_KERNEL)
    return said;
  return row ? (tl_ub_class)row->class
             : class_of_pattern(tl_sv_from(tl_op_info_text(info, info.row->pattern)));
}

/* Classifies each op that occurs once. Ops with effects, state or bodies are in no group. */
bool tl_ub_facts_init(tl_ub_facts *f, const tl_module *m, const tl_op_info_set *info,
                      tl_arena *scratch) {
  enum { ACTS = TL_TRAIT_EFFECT | TL_TRAIT_STATEFUL | TL_TRAIT_RANDOM | TL_TRAIT_BODY };
  uint32_t n_ops = tl_n_op_rows + m->opaque_ops.n;
  uint8_t *class = tl_arena_calloc(scratch, n_ops, sizeof *class);
  bool *known = tl_arena_calloc(scratch, n_ops, sizeof *known);
  f->op_class = class;
  f->scope = tl_symbol_find(&m->symbols, TL_SV(TL_UB_SCOPE_ATTR));
  f->position = tl_arena_calloc(scratch, tl_module_node_end(m), sizeof *f->position);
  if (!class || !known || !f->position)
    return false;
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    const tl_graph *g = m->graphs.at[i];
    for (tl_node_id n = g->erased ? TL_NO_NODE : g->first; n; n = tl_node_get(m, n)->next) {
      tl_op_id op = tl_node_get(m, n)->op;
      if (known[op])
        continue;
      known[op] = true;
      if (tl_op_domain_symbol(m, op) == TL_SYM_npu && !tl_op_has_trait(op, ACTS))
        class[op] = (uint8_t)tl_ub_class_of(info, tl_op_name(m, op));
    }
  }
  return true;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Returns the class of an elementwise op: Broadcast if operands are broadcast; Other if its only
 * operand lacks the shape of the result. */
static tl_ub_class class_of_elementwise(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  bool same = true;
  uint32_t given = 0;
  if (node->n_results != 1)
    return TL_UB_OTHER;
  tl_type_id result = tl_value_type(m, node->results);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(m, n, i);
    given += v != TL_NO_VALUE;
    same = same && (!v || tl_type_same_dims(m, tl_value_type(m, v), result));
  }
  return same ? TL_UB_ELEMWISE : given > 1 ? TL_UB_BROADCAST : TL_UB_OTHER;
}

/* Returns true if an operand, or a result with users, has an unknown size. */
static bool is_dynamic(const tl_module *m, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_use_get(m, node->operands + i)->value;
    if (v && !tl_type_is_static(m, tl_value_type(m, v)))
      return true;
  }
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_value_get(m, node->results + i)->n_uses > 0 &&
        !tl_type_is_static(m, tl_value_type(m, node->results + i)))
      return true;
  return false;
}

/* Returns true if the schedule records an event at the node or waits for one. */
static bool has_events(const tl_module *m, tl_node_id n) {
  return tl_node_get(m, n)->extra &&
         (tl_node_note(m, n, TL_NOTE_RECORD).n || tl_node_note(m, n, TL_NOTE_WAIT).n);
}

/* Returns what keeps a node alone, whatever the pass. */
static tl_ub_refusal refusal_of(const tl_module *m, tl_node_id n, tl_symbol scope, bool events) {
  if (tl_node_asks_dump(m, n))
    return TL_UB_DUMPED;
  if (tl_node_has_mark(m, n, TL_MARK_HOST))
    return TL_UB_HOST;
  if (tl_ub_scope(m, n, scope) < 0)
    return TL_UB_ALONE;
  return events ? TL_UB_EVENT : TL_UB_FREE;
}

/* The epoch grows at each node with an event and behind it, so that no group spans an event. */
bool tl_ub_graph_init(tl_ub_graph *g, const tl_ub_facts *f, const tl_module *m,
                      const tl_graph *graph, tl_arena *scratch) {
  uint32_t epoch = 0, at = 0;
  *g = (tl_ub_graph){.m = m,
                     .position = f->position,
                     .op_class = f->op_class,
                     .n = graph->n_nodes,
                     .graph = graph->id};
  g->at = tl_arena_calloc(scratch, g->n + 1U, sizeof *g->at);
  if (!g->at)
    return false;
  for (tl_node_id n = graph->first; n; n = tl_node_get(m, n)->next) {
    const tl_node *node = tl_node_get(m, n);
    tl_ub_class class = (tl_ub_class)f->op_class[node->op];
    bool events = has_events(m, n);
    epoch += events;
    g->position[n] = ++at;
    g->at[at] = (tl_ub_node){.id = n,
                             .refusal = (uint8_t)refusal_of(m, n, f->scope, events),
                             .epoch = epoch,
                             .leader = at,
                             .size = 1,
                             .shape = at,
                             .rank = at};
    epoch += events;
    if (class == TL_UB_NONE)
      continue;
    if (class == TL_UB_ELEMWISE || class == TL_UB_BROADCAST)
      class = class_of_elementwise(m, n);
    g->at[at].class = (uint8_t) class;
    g->at[at].core = class == TL_UB_OTHER ? TL_UB_CORE_VECTOR : classes[class].core;
    g->at[at].dynamic = is_dynamic(m, node);
  }
  return true;
}

void tl_ub_graph_release(tl_ub_graph *g) {
  tl_u32_vec_release(&g->seen);
  tl_u32_vec_release(&g->before);
}
