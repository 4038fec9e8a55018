/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/train/time/step.h"

#include <stdlib.h>

#include "ir/graph.h"
#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "passes/train/time/step_order.h"
#include "support/vec.h"

enum { STREAM_M = 0, MAX_STREAMS = 64 };

/* State of building; "listed" nodes are numbered in the order of the graph until tasks are
 * numbered. */
typedef struct builder {
  tl_module *m;
  tl_arena *arena;
  const tl_train_info *info;
  const tl_step_machine *machine;
  uint32_t n;          /* nodes that take part */
  uint32_t *first_out; /* [n + 1] where the edges of a listed node begin */
  uint32_t *out_edges; /* index of who waits << 1 | is a control edge */
  tl_node_id *listed;  /* [n] nodes in the order of the list */
  uint32_t *place;     /* by node id: index in listed */
  uint32_t *depth;     /* [n] by that index */
  uint32_t *number;    /* [n] task of that index */
  uint32_t *node_of;   /* [n] index of a task */
  bool *comms;         /* [n] is a collective */
  bool *updates;       /* [n] depends on a reduced gradient */
  bool *checks;        /* [n] serves predicates only */
  tl_symbol groups[MAX_STREAMS];
  uint16_t n_groups;
  tl_task *tasks;
  uint32_t *first;
  uint32_t *preds;
  tl_step *out;
} builder;

const tl_attr *tl_node_attr_named(const tl_module *m, tl_node_id n, const char *name) {
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_attrs; i++)
    if (tl_sv_is(tl_sym(m, node->attrs[i].name), name))
      return &node->attrs[i];
  return NULL;
}

bool tl_node_is_bucket(const tl_module *m, tl_node_id n) {
  if (!tl_node_is_collective(m, n))
    return false;
  const tl_attr *fusion = tl_node_attr_named(m, n, "fusion");
  return !fusion || fusion->kind != TL_ATTR_INT || fusion->u.i;
}

tl_node_id tl_node_outer(const tl_module *m, tl_node_id n) {
  const tl_graph *g = tl_graph_get(m, tl_node_get(m, n)->graph);
  while (g->kind == TL_GRAPH_BODY && g->owner && g->id != tl_step_state_of(m)->graph) {
    n = g->owner;
    g = tl_graph_get(m, tl_node_get(m, n)->graph);
  }
  return n;
}

/* Retired nodes are out of the step; they wait to be erased or restored. */
static bool takes_part(const builder *b, tl_node_id n) {
  return !(b->machine->retired && b->machine->retired[n]) && !tl_node_is_return(b->m, n);
}

static bool add_edge(const builder *b, tl_u32_vec *edges, tl_node_id user, bool control) {
  return !takes_part(b, user) || tl_u32_vec_push(edges, b->place[user] << 1 | control);
}

/* Lists the edges to the nodes that wait for listed node i; the return node is no task. */
static bool add_edges(const builder *b, uint32_t i, tl_u32_vec *edges) {
  const tl_node *node = tl_node_get(b->m, b->listed[i]);
  bool good = true;
  for (uint32_t r = 0; r < node->n_results; r++)
    TL_FOR_USES(b->m, node->results + r, u)
      good = good && add_edge(b, edges, tl_node_outer(b->m, tl_use_get(b->m, u)->user), false);
  for (tl_control_id c = node->control_out; c && good; c = tl_control_get(b->m, c)->next_out)
    good = add_edge(b, edges, tl_control_get(b->m, c)->to, true);
  return good;
}

/* Stores all edges in one array. Lists of uses are scattered over memory, so they are walked once
 * only. */
static bool find_edges(builder *b) {
  tl_u32_vec edges = {0};
  bool good = true;
  b->first_out = tl_arena_calloc(b->arena, b->n + 1u, sizeof *b->first_out);
  for (uint32_t i = 0; b->first_out && good && i < b->n; i++) {
    good = add_edges(b, i, &edges);
    b->first_out[i + 1] = edges.n;
  }
  b->out_edges = tl_arena_calloc(b->arena, edges.n + 1u, sizeof *b->out_edges);
  good = good && b->first_out && b->out_edges;
  if (good && edges.n)
    memcpy(b->out_edges, edges.at, edges.n * sizeof *b->out_edges);
  tl_u32_vec_release(&edges);
  return good;
}

/* Calls fn for each node that waits for listed node i, with indices of both. */
static void for_users(builder *b, uint32_t i, void (*fn)(builder *, uint32_t, uint32_t, bool)) {
  for (uint32_t e = b->first_out[i]; e < b->first_out[i + 1]; e++)
    fn(b, i, b->out_edges[e] >> 1, b->out_edges[e] & 1);
}

/* Lists the nodes of the step in the order of the graph, and allocates the tables. */
static bool list_nodes(builder *b) {
  const tl_graph *g = tl_step_graph(b->m);
  uint32_t n = g->n_nodes;
  uint32_t end = tl_module_node_end(b->m);
  b->listed = tl_arena_calloc(b->arena, n, sizeof *b->listed);
  b->place = tl_arena_calloc(b->arena, end, sizeof *b->place);
  b->depth = tl_arena_calloc(b->arena, n, sizeof *b->depth);
  b->number = tl_arena_calloc(b->arena, n, sizeof *b->number);
  b->node_of = tl_arena_calloc(b->arena, n, sizeof *b->node_of);
  b->comms = tl_arena_calloc(b->arena, n, sizeof *b->comms);
  b->updates = tl_arena_calloc(b->arena, n, sizeof *b->updates);
  b->checks = tl_arena_calloc(b->arena, n, sizeof *b->checks);
  b->tasks = tl_arena_calloc(b->arena, n, sizeof *b->tasks);
  b->first = tl_arena_calloc(b->arena, n + 2u, sizeof *b->first);
  if (!b->listed || !b->place || !b->depth || !b->number || !b->node_of || !b->comms ||
      !b->updates || !b->checks || !b->tasks || !b->first)
    return false;
  uint32_t i = 0;
  TL_FOR_NODES(b->m, g, k) {
    if (!takes_part(b, k))
      continue;
    b->listed[i] = k;
    b->comms[i] = tl_node_is_collective(b->m, k);
    b->place[k] = i++;
  }
  b->n = i;
  return true;
}

/* ---- numbering ------------------------------------------------------------------------------- */

/* Depth is the longest path from a source; nodes are visited in topological order. */
static void deepen(builder *b, uint32_t from, uint32_t to, bool control) {
  (void)control;
  if (b->depth[to] <= b->depth[from])
    b->depth[to] = b->depth[from] + 1;
}

/* Returns the name of a node, else that of its first named result. */
static tl_sv name_of(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t r = 0; !node->name && r < node->n_results; r++)
    if (tl_value_get(m, node->results + r)->name)
      return tl_value_name(m, node->results + r);
  return tl_sym(m, node->name);
}

typedef struct sort_key {
  uint32_t index;
  tl_sv name;
} sort_key;

static int by_name(const void *a, const void *b) {
  const sort_key *x = a;
  const sort_key *y = b;
  int names = tl_sv_compare(x->name, y->name);
  return names ? names : x->index < y->index ? -1 : x->index > y->index;
}

/* Sorts by depth (counting sort), then by name among the few nodes of one depth. */
static bool sort_keys(builder *b, uint32_t n, sort_key *keys) {
  uint32_t *first = tl_arena_calloc(b->arena, n + 2u, sizeof *first);
  if (!first)
    return false;
  for (uint32_t i = 0; i < n; i++)
    first[b->depth[i] + 1]++;
  for (uint32_t d = 0; d < n; d++)
    first[d + 1] += first[d];
  for (uint32_t i = 0; i < n; i++)
    keys[first[b->depth[i]]++] = (sort_key){i, name_of(b->m, b->listed[i])};
  for (uint32_t d = 0, from = 0; from < n; from = first[d++])
    if (first[d] > from + 1)
      qsort(keys + from, first[d] - from, sizeof *keys, by_name);
  return true;
}

/* Numbers tasks by depth, then name. Neither depends on the order in which the file stores
 * nodes. */
static bool number_nodes(builder *b, uint32_t n) {
  sort_key *keys = tl_arena_calloc(b->arena, n, sizeof *keys);
  for (uint32_t i = 0; i < n; i++)
    for_users(b, i, deepen);
  if (!keys || !sort_keys(b, n, keys))
    return false;
  for (uint32_t k = 0; k < n; k++) {
    b->number[keys[k].index] = k;
    b->node_of[k] = keys[k].index;
  }
  return true;
}

/* ---- what runs where ------------------------------------------------------------------------- */

static bool is_update(const builder *b, tl_node_id n) {
  return tl_train_region_of(b->info, n) == TL_REGION_UPDATE;
}

/* Marks update nodes that have a reduced gradient among their ancestors. */
static void spread_updates(builder *b, uint32_t from, uint32_t to, bool control) {
  bool source = b->updates[from] || b->comms[from];
  if (!control && source && is_update(b, b->listed[to]))
    b->updates[to] = true;
}

/* Returns true for a use as the operand by which an optimizer is told to skip. */
static bool is_signal(const tl_module *m, tl_node_id n, tl_use_id u) {
  const tl_op_port *port =
      tl_op_row(tl_node_get(m, n)->op)
          ? tl_op_operand_port(tl_op_row(tl_node_get(m, n)->op), u - tl_node_get(m, n)->operands)
          : NULL;
  return port && strcmp(port->name, "update_signal") == 0;
}

/* Returns true if every use of the node is a predicate, an update signal, a flag of a collective,
 * or a node that serves predicates only. */
static bool serves_predicates(const builder *b, uint32_t i) {
  const tl_node *node = tl_node_get(b->m, b->listed[i]);
  bool any = false;
  for (uint32_t r = 0; r < node->n_results; r++)
    TL_FOR_USES(b->m, node->results + r, u) {
      tl_node_id inner = tl_use_get(b->m, u)->user;
      tl_node_id user = tl_node_outer(b->m, inner);
      if (!takes_part(b, user))
        continue;
      tl_op_id op = tl_node_get(b->m, user)->op;
      bool predicate = inner == user && (op == TL_OP_Where || op == TL_OP_If) &&
                       tl_node_get(b->m, user)->operands == u;
      bool signal = inner == user && is_signal(b->m, user, u);
      bool flag = b->comms[b->place[user]] && !tl_node_is_bucket(b->m, user);
      if (!predicate && !signal && !flag && !b->checks[b->place[user]])
        return false;
      any = true;
    }
  return any;
}

/* Nodes of no region, such as rates, run with the updates that read them. */
static tl_phase phase_of(const builder *b, uint32_t i, bool comm) {
  static const tl_phase phases[TL_N_REGIONS] = {[TL_REGION_NONE] = TL_PHASE_UPDATE,
                                                [TL_REGION_FORWARD] = TL_PHASE_FORWARD,
                                                [TL_REGION_BACKWARD] = TL_PHASE_BACKWARD,
                                                [TL_REGION_UPDATE] = TL_PHASE_UPDATE};
  if (comm)
    return TL_PHASE_COMM;
  return b->checks[i] ? TL_PHASE_CHECK : phases[tl_train_region_of(b->info, b->listed[i])];
}

/* Returns the stream of a group's collectives; groups beyond the limit share the last one. */
static uint16_t stream_of_group(builder *b, tl_node_id n) {
  const tl_attr *group = tl_node_attr_named(b->m, n, "group");
  tl_symbol name = group && group->kind == TL_ATTR_STRING ? group->u.s : 0;
  uint16_t i = 0;
  while (i < b->n_groups && b->groups[i] != name)
    i++;
  if (i == b->n_groups && i < MAX_STREAMS)
    b->groups[b->n_groups++] = name;
  return (uint16_t)(1 + (i < MAX_STREAMS ? i : MAX_STREAMS - 1));
}

/* Keeps the conversion to uint64_t defined. */
static double clamp(double bytes) { return bytes < 9e18 ? bytes : 9e18; }

static void make_task(builder *b, uint32_t task) {
  uint32_t i = b->node_of[task];
  tl_node_id n = b->listed[i];
  tl_node_cost cost = tl_cost_node(b->machine->cost, b->m, n);
  bool host = tl_node_has_mark(b->m, n, TL_MARK_HOST);
  b->tasks[task] = (tl_task){.name = name_of(b->m, n),
                             .us = cost.us,
                             .bytes = (uint64_t)clamp(cost.bytes),
                             .memory = (uint64_t)clamp(cost.memory),
                             .bucket = TL_NO_BUCKET,
                             .stream = cost.comm ? stream_of_group(b, n) : STREAM_M,
                             .engine = host ? TL_ENGINE_HOST : (uint8_t)cost.engine,
                             .phase = (uint8_t)phase_of(b, i, cost.comm)};
}

/* Makes tasks and streams. Checks are found from the end, since a node serves predicates if its
 * users do. */
static bool make_tasks(builder *b, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    for_users(b, i, spread_updates);
  for (uint32_t i = n; i-- > 0;)
    b->checks[i] = is_update(b, b->listed[i]) && serves_predicates(b, i);
  for (uint32_t k = 0; k < n; k++)
    make_task(b, k);
  uint16_t u = (uint16_t)(1 + b->n_groups);
  tl_sv *streams = tl_arena_calloc(b->arena, u + 1u, sizeof *streams);
  if (!streams)
    return false;
  streams[STREAM_M] = TL_SV("M");
  streams[u] = TL_SV("U");
  for (uint16_t i = 0; i < b->n_groups; i++) {
    tl_sv group = tl_sym(b->m, b->groups[i]);
    char *text = tl_arena_alloc(b->arena, group.n + 2);
    if (!text)
      return false;
    memcpy(text, "C:", 2);
    memcpy(text + 2, group.n ? group.p : "", group.n);
    streams[1 + i] = (tl_sv){text, group.n + 2};
  }
  for (uint32_t k = 0; b->machine->hcom_parallel && k < n; k++)
    if (b->updates[b->node_of[k]] && b->tasks[k].phase != TL_PHASE_COMM &&
        b->tasks[k].engine != TL_ENGINE_HOST)
      b->tasks[k].stream = u;
  b->out->streams = streams;
  b->out->g.n_streams = (uint16_t)(u + 1);
  return true;
}

/* ---- edges ----------------------------------------------------------------------------------- */

static void count_edge(builder *b, uint32_t from, uint32_t to, bool control) {
  (void)from;
  (void)control;
  b->first[b->number[to] + 1]++;
}

static void fill_edge(builder *b, uint32_t from, uint32_t to, bool control) {
  (void)control;
  b->preds[b->first[b->number[to]]++] = b->number[from];
}

/* Fills the predecessors of each task, sorted by number (counting sort). The offsets are used as
 * cursors and shifted back at the end. */
static bool make_edges(builder *b, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    for_users(b, i, count_edge);
  for (uint32_t k = 0; k < n; k++)
    b->first[k + 1] += b->first[k];
  b->preds = tl_arena_calloc(b->arena, b->first[n] + 1u, sizeof *b->preds);
  if (!b->preds)
    return false;
  for (uint32_t k = 0; k < n; k++)
    for_users(b, b->node_of[k], fill_edge);
  memmove(b->first + 1, b->first, n * sizeof *b->first);
  b->first[0] = 0;
  return true;
}

/* Returns true if a pass has chosen the order of the nodes, now or when the file was made. */
static bool is_ordered(const tl_module *m, const tl_step *s) {
  if (tl_step_state_of(m)->ordered)
    return true;
  for (uint32_t k = 0; k < s->g.n; k++)
    if (tl_node_get(m, s->node[k])->stream >= 0 || tl_node_note(m, s->node[k], TL_NOTE_STREAM).n)
      return true;
  return false;
}

/* Turns s->given, tasks in the order of nodes, into the order to start from, and numbers buckets by
 * it. */
static bool give_order(const tl_module *m, tl_arena *arena, tl_step *s) {
  if (!is_ordered(m, s) && !tl_step_own_order(arena, &s->g, s->given))
    return false;
  s->n_buckets = 0;
  for (uint32_t i = 0; i < s->g.n; i++)
    if (s->tasks[s->given[i]].bucket != TL_NO_BUCKET)
      s->tasks[s->given[i]].bucket = s->n_buckets++;
  return true;
}

/* Hands everything to *out. b->number becomes `given`: task numbers in the order of nodes. */
static bool finish(builder *b, uint32_t n) {
  tl_step *s = b->out;
  uint32_t end = tl_module_node_end(b->m);
  uint32_t *task = tl_arena_alloc(b->arena, end * sizeof *task);
  tl_node_id *node = tl_arena_alloc(b->arena, n * sizeof *node);
  bool *checks = tl_arena_calloc(b->arena, end, sizeof *checks);
  if (!task || !node || !checks)
    return false;
  memset(task, 0xff, end * sizeof *task);
  for (uint32_t k = 0; k < n; k++) {
    node[k] = b->listed[b->node_of[k]];
    task[node[k]] = k;
    checks[node[k]] = b->checks[b->node_of[k]];
  }
  s->node = node;
  s->task = task;
  s->checks = checks;
  s->tasks = b->tasks;
  s->g.tasks = b->tasks;
  s->g.n = n;
  s->g.first = b->first;
  s->g.preds = b->preds;
  memcpy(s->g.degree, b->machine->degree, sizeof s->g.degree);
  s->g.interference = b->machine->cost->hw.interference;
  s->g.event_us = b->machine->cost->hw.event;
  s->g.memory_limit = b->machine->memory_limit;
  s->given = b->number;
  for (uint32_t i = 0; i < n; i++)
    if (b->comms[i] && tl_node_is_bucket(b->m, b->listed[i]))
      b->tasks[b->number[i]].bucket = 0;
  return give_order(b->m, b->arena, s);
}

tl_status tl_step_build(tl_module *m, tl_arena *arena, const tl_train_info *info,
                        const tl_step_machine *machine, tl_step *out) {
  builder b = {.m = m, .arena = arena, .info = info, .machine = machine, .out = out};
  *out = (tl_step){0};
  if (!list_nodes(&b) || !find_edges(&b) || !number_nodes(&b, b.n) || !make_tasks(&b, b.n) ||
      !make_edges(&b, b.n) || !finish(&b, b.n))
    return tl_no_memory(m);
  return TL_OK;
}

tl_status tl_step_read_order(tl_module *m, tl_arena *arena, tl_step *s) {
  uint32_t i = 0;
  s->given = tl_arena_calloc(arena, s->g.n, sizeof *s->given);
  if (s->given)
    TL_FOR_NODES(m, tl_step_graph(m), n)
      if (s->task[n] != TL_NO_TASK)
        s->given[i++] = s->task[n];
  if (!s->given || !give_order(m, arena, s))
    return tl_no_memory(m);
  return TL_OK;
}

void tl_step_reorder(tl_module *m, const tl_step *s, const uint32_t *order) {
  const tl_graph *g = tl_step_graph(m);
  tl_step_state_edit(m)->ordered = true;
  for (uint32_t i = 0; i < s->g.n; i++) {
    TL_ASSERT(order[i] < s->g.n && tl_node_get(m, s->node[order[i]])->graph == g->id);
    if (s->node[order[i]] != g->last)
      tl_node_move_after(m, s->node[order[i]], g->last);
  }
}
