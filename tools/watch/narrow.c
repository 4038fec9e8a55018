/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the nodes that --print-only asks for, and prints their lines. */
#include "tools/watch/narrow.h"

#include <stdlib.h>

#include "ir/trace.h"

/* How a node is related to the name. */
typedef enum relation { UNRELATED, INSIDE, SAME } relation;

typedef struct chooser {
  tl_narrow *n;
  const tl_module *m;
  uint8_t *wanted; /* owned; by node id */
  uint8_t *known;  /* owned; by node id: it was chosen before */
  tl_buf name;     /* of a node that has none */
} chooser;

static relation compare(const tl_narrow *n, tl_sv name) {
  tl_sv scope = n->name;
  if (tl_sv_eq(name, scope))
    return SAME;
  while (scope.n > 1 && scope.p[scope.n - 1] == '/')
    scope.n--;
  return name.n > scope.n && name.p[scope.n] == '/' && memcmp(name.p, scope.p, scope.n) == 0
             ? INSIDE
             : UNRELATED;
}

static relation nearer(relation a, relation b) { return a > b ? a : b; }

/* Compares with the names of what a node was made of. */
static relation compare_origins(const chooser *c, tl_node_id n) {
  tl_trace_items at = tl_trace_start(tl_trace_get(c->m, n, TL_TRACE_NAMES));
  relation best = UNRELATED;
  tl_buf room;
  tl_sv item;
  tl_buf_init(&room);
  while (best != SAME && tl_trace_next(&at, &room, &item))
    best = nearer(best, compare(c->n, item));
  tl_buf_release(&room);
  return best;
}

/* Compares with every name that messages use for a node. */
static relation relate(chooser *c, tl_node_id n) {
  const tl_node *node = tl_node_get(c->m, n);
  relation best = compare(c->n, tl_sym(c->m, node->name));
  if (node->op == TL_OP_RETURN)
    return UNRELATED;
  if (c->known[n])
    best = nearer(best, INSIDE);
  for (uint32_t i = 0; i < node->n_results && best != SAME; i++)
    best = compare(c->n, tl_value_name(c->m, node->results + i)) == SAME ? SAME : best;
  if (!node->name && node->n_results && best != SAME) { /* as tl_node_where calls it */
    tl_sv op = tl_op_name(c->m, node->op), value = tl_value_name(c->m, node->results);
    tl_buf_clear(&c->name);
    tl_buf_printf(&c->name, "%.*s->%.*s", TL_SV_ARG(op), TL_SV_ARG(value));
    best = nearer(best, compare(c->n, tl_buf_view(&c->name)));
  }
  return best == SAME ? best : nearer(best, compare_origins(c, n));
}

/* Marks the nodes that make operands of a node and use its results. */
static void add_neighbours(chooser *c, tl_node_id n) {
  const tl_node *node = tl_node_get(c->m, n);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(c->m, n, i);
    tl_node_id from = v ? tl_value_producer(c->m, v) : TL_NO_NODE;
    if (from)
      c->wanted[from] = 1;
  }
  for (uint32_t i = 0; i < node->n_results; i++)
    TL_FOR_USES(c->m, node->results + i, u) {
      tl_node_id user = tl_use_get(c->m, u)->user;
      if (!tl_node_is_return(c->m, user))
        c->wanted[user] = 1;
    }
}

/* Marks the nodes of a graph. Returns how near the nearest of them is. */
static relation choose_in(chooser *c, const tl_graph *g, tl_u32_vec *chosen) {
  relation best = UNRELATED;
  TL_FOR_NODES(c->m, g, n) {
    relation r = relate(c, n);
    best = nearer(best, r);
    if (r == UNRELATED)
      continue;
    c->wanted[n] = 1;
    c->name.failed = !tl_u32_vec_push(chosen, n) || c->name.failed;
  }
  return best;
}

/* Marks the nodes, and those beside them. Whether the name is that of a node is decided once, by
 * the first module that has it: what becomes of the node may have other names. */
static tl_status choose(chooser *c) {
  relation best = UNRELATED;
  tl_u32_vec chosen = {0};
  for (uint32_t i = 0; i < c->m->graphs.n; i++)
    if (!c->m->graphs.at[i]->erased)
      best = nearer(best, choose_in(c, c->m->graphs.at[i], &chosen));
  if (!c->n->found)
    c->n->node = best == SAME;
  c->n->found = c->n->found || best != UNRELATED;
  for (uint32_t i = 0; i < chosen.n && c->n->node; i++)
    add_neighbours(c, chosen.at[i]);
  tl_u32_vec_release(&c->n->known);
  c->n->known = chosen;
  return c->name.failed ? TL_NO_MEMORY : TL_OK;
}

static tl_status print(const chooser *c, const tl_print_options *o, tl_buf *out) {
  tl_print_options lines = *o;
  lines.elide_bodies = true; /* nodes in bodies have lines of their own */
  tl_lines *l = tl_lines_open(c->m, out, &lines);
  if (!l)
    return TL_NO_MEMORY;
  for (uint32_t i = 0; i < c->m->graphs.n; i++) {
    const tl_graph *g = c->m->graphs.at[i];
    if (g->erased)
      continue;
    TL_FOR_NODES(c->m, g, n) {
      if (!c->wanted[n])
        continue;
      tl_buf_add_z(out, "  ");
      tl_lines_node(l, n);
      tl_buf_add_char(out, '\n');
    }
  }
  tl_lines_close(l);
  return out->failed ? TL_NO_MEMORY : TL_OK;
}

tl_status tl_narrow_print(tl_narrow *n, const tl_module *m, const tl_print_options *o,
                          tl_buf *out) {
  size_t end = tl_module_node_end(m) + (size_t)1;
  chooser c = {.n = n, .m = m, .wanted = calloc(end, 1), .known = calloc(end, 1)};
  tl_status status = c.wanted && c.known ? TL_OK : TL_NO_MEMORY;
  if (n->m != m)
    tl_narrow_forget(n);
  n->m = m;
  tl_buf_init(&c.name);
  for (uint32_t i = 0; status == TL_OK && i < n->known.n; i++)
    c.known[n->known.at[i]] = 1;
  if (status == TL_OK)
    status = choose(&c);
  if (status == TL_OK)
    status = print(&c, o, out);
  tl_buf_release(&c.name);
  free(c.wanted);
  free(c.known);
  return status;
}

void tl_narrow_forget(tl_narrow *n) { tl_u32_vec_release(&n->known); }
