/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the tree of scopes of a module from metadata and names of nodes (scopes.h). */
#include "passes/edit/scopes.h"

#include "passes/edit/scope_names.h"

#include "ir/marks.h"

#define UNTOLD                                                                                     \
  UINT32_MAX /* no name tells the scope; inherit() replaces it by the scope of
                           * neighbours */

static const tl_scope nowhere = {0};

typedef struct finder {
  tl_scopes *s;
  tl_module *m;
  tl_map inner;     /* (outer scope or graph, name) -> number of the scope */
  tl_map calls;     /* path of an inlined call -> symbol of the function */
  tl_arena scratch; /* strings of one node; rewound after each */
  uint32_t *users;  /* owned, by node id; scope of all users of an UNTOLD node */
  tl_scope_level levels[TL_MOST_SCOPES_DEEP];
  uint64_t room; /* upper bound on scopes; real exporters stay far below it */
  bool no_memory;
} finder;

/* ---- where a node says that it is ------------------------------------------------------------ */

/* Splits "/a/b/c" into levels without classes; empty parts are skipped. */
static uint32_t levels_of_path(tl_sv path, tl_scope_level *levels) {
  uint32_t n = 0;
  while (path.p && n < TL_MOST_SCOPES_DEEP) {
    tl_sv name = tl_sv_split(&path, '/');
    if (name.n)
      levels[n++] = (tl_scope_level){name, TL_SV("")};
  }
  return n;
}

/* Splits a path of inlined calls. A level at which an inlined call ends has that function as its
 * class. */
static uint32_t levels_of_calls(finder *f, tl_sv path, tl_scope_level *levels) {
  uint32_t n = levels_of_path(path, levels);
  for (uint32_t i = 0; i < n && f->m->calls.n; i++) {
    tl_sv outer = {path.p, (size_t)(levels[i].name.p + levels[i].name.n - path.p)};
    tl_symbol s = tl_symbol_find(&f->m->symbols, outer);
    uint32_t function;
    if (s != TL_NO_SYMBOL && tl_map_find(&f->calls, s, &function))
      levels[i].klass = tl_sym(f->m, function);
  }
  return n;
}

/* Splits the name of a node; its last part is the node itself and no scope. */
static uint32_t levels_of_name(tl_sv name, tl_scope_level *levels) {
  size_t n = name.n;
  while (n > 0 && name.p[n - 1] != '/')
    n--;
  return n ? levels_of_path((tl_sv){name.p, n}, levels) : 0;
}

/* Finds the levels of a node in f->levels, by the order of sources in scopes.h. Returns false if no
 * source tells anything. */
static bool find_levels(finder *f, tl_node_id id, uint32_t *n) {
  const tl_node *node = tl_node_get(f->m, id);
  tl_sv names = tl_node_note(f->m, id, "pkg.torch.onnx.name_scopes");
  tl_sv space = tl_node_note(f->m, id, "namespace");
  if (names.n && tl_scope_levels_of_lists(&f->scratch, names,
                                          tl_node_note(f->m, id, "pkg.torch.onnx.class_hierarchy"),
                                          f->levels, n))
    return true;
  if (space.n && tl_scope_levels_of_namespace(space, f->levels, n))
    return true;
  *n = node->scope ? levels_of_calls(f, tl_sym(f->m, node->scope), f->levels)
                   : levels_of_name(tl_sym(f->m, node->name), f->levels);
  return *n > 0;
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* Returns the number of scope `level` inside `outer`, which is created if new. In the outermost
 * level the graph is part of the key, so that bodies have scopes of their own. The top bit
 * separates graph ids from scope numbers. Returns TL_NO_SCOPE if memory is out. */
static uint32_t enter(finder *f, tl_graph_id graph, uint32_t outer, tl_scope_level level) {
  tl_scopes *s = f->s;
  tl_symbol name = tl_module_intern(f->m, level.name);
  tl_symbol klass = level.klass.n ? tl_module_intern(f->m, level.klass) : 0;
  uint64_t key = tl_map_pair(outer ? outer : UINT32_C(1) << 31 | graph, name);
  uint32_t found = s->at.n;
  if (found > f->room) /* bound on adversarial names: deeper levels are dropped */
    return outer;
  f->no_memory = f->no_memory || name == TL_NO_SYMBOL || klass == TL_NO_SYMBOL;
  if (f->no_memory)
    return TL_NO_SCOPE;
  if (tl_map_find(&f->inner, key, &found)) {
    if (!s->at.at[found].klass)
      s->at.at[found].klass = klass;
    return found;
  }
  tl_scope scope = {.parent = outer,
                    .depth = s->at.at[outer].depth + 1,
                    .graph = graph,
                    .name = name,
                    .klass = klass};
  if (!tl_scope_vec_push(&s->at, scope) || !tl_map_set(&f->inner, key, found)) {
    f->no_memory = true;
    return TL_NO_SCOPE;
  }
  return found;
}

/* Sets the scope of one node from its own names, or UNTOLD. */
static void place(finder *f, tl_graph_id graph, tl_node_id n) {
  uint32_t levels;
  tl_arena_mark mark = tl_arena_save(&f->scratch);
  uint32_t *at = &f->s->of[n];
  if (!find_levels(f, n, &levels)) {
    *at = UNTOLD;
  } else {
    *at = TL_NO_SCOPE;
    for (uint32_t i = 0; i < levels && !f->no_memory; i++)
      *at = enter(f, graph, *at, f->levels[i]);
  }
  tl_arena_rewind(&f->scratch, mark);
}

/* Returns the one node of the same graph that produces all operands but constants; else
 * TL_NO_NODE. */
static tl_node_id only_producer(const tl_module *m, tl_node_id n) {
  tl_node_id only = TL_NO_NODE;
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(m, n, i);
    tl_node_id p = v ? tl_value_producer(m, v) : TL_NO_NODE;
    if (!v || tl_value_constant(m, v))
      continue;
    if (!p || (only && p != only) || tl_node_get(m, p)->graph != tl_node_get(m, n)->graph)
      return TL_NO_NODE;
    only = p;
  }
  return only;
}

/* Returns the scope that all users of an UNTOLD node share, or TL_NO_SCOPE. The reverse sweep has
 * already visited its users. */
static uint32_t scope_of_users(const finder *f, tl_node_id n) {
  const tl_node *node = tl_node_get(f->m, n);
  uint32_t scope = TL_NO_SCOPE;
  for (uint32_t i = 0; i < node->n_results; i++)
    TL_FOR_USES(f->m, node->results + i, u) {
      tl_node_id user = tl_use_get(f->m, u)->user;
      uint32_t there = tl_node_is_return(f->m, user) ? TL_NO_SCOPE
                       : f->s->of[user] == UNTOLD    ? f->users[user]
                                                     : f->s->of[user];
      if (!there || (scope && there != scope))
        return TL_NO_SCOPE;
      scope = there;
    }
  return scope;
}

/* Places UNTOLD nodes. A reverse sweep finds the common scope of users; a forward sweep then
 * accepts it if the only producer is in that scope too. A chain of unnamed nodes thus joins the
 * scope of its first producer. */
static void inherit(finder *f, const tl_graph *g) {
  for (tl_node_id n = g->last; n; n = tl_node_get(f->m, n)->previous)
    if (f->s->of[n] == UNTOLD)
      f->users[n] = scope_of_users(f, n);
  TL_FOR_NODES(f->m, g, n) {
    if (f->s->of[n] != UNTOLD)
      continue;
    tl_node_id p = f->users[n] ? only_producer(f->m, n) : TL_NO_NODE;
    f->s->of[n] = p && f->s->of[p] == f->users[n] ? f->users[n] : TL_NO_SCOPE;
  }
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Renumbers scopes in preorder, so that the scopes inside one form a range of numbers behind it. A
 * parent has a smaller number than its children before and after. room: 3 * s->at.n numbers. */
static bool renumber(tl_scopes *s, uint32_t *room) {
  uint32_t n = s->at.n, *size = room, *number = room + n, *next = room + 2 * (size_t)n;
  tl_scope *sorted = malloc(n * sizeof *sorted);
  if (!sorted)
    return false;
  for (uint32_t i = 0; i < n; i++)
    size[i] = 1;
  for (uint32_t i = n; i-- > 1;)
    size[s->at.at[i].parent] += size[i];
  number[0] = 0;
  next[0] = 1;
  for (uint32_t i = 1; i < n; i++) {
    uint32_t parent = s->at.at[i].parent;
    number[i] = next[parent];
    next[parent] += size[i];
    next[i] = number[i] + 1;
  }
  for (uint32_t i = 0; i < n; i++) {
    sorted[number[i]] = s->at.at[i];
    sorted[number[i]].parent = number[s->at.at[i].parent];
    sorted[number[i]].last = number[i] + size[i] - 1;
  }
  for (uint32_t i = 0; i < s->n_of; i++)
    s->of[i] = number[s->of[i]];
  free(s->at.at);
  s->at = (tl_scope_vec){sorted, n, n};
  return true;
}

/* Lists the nodes of all scopes in preorder of scopes, by counting sort; the nodes of a scope and
 * of its inner scopes are then one range. next: s->at.n numbers. */
static bool list_nodes(tl_scopes *s, uint32_t *next) {
  uint32_t total = 0;
  for (uint32_t i = 0; i < s->n_of; i++)
    s->at.at[s->of[i]].n_nodes += s->of[i] != TL_NO_SCOPE;
  for (uint32_t i = 1; i < s->at.n; i++) {
    s->at.at[i].first = next[i] = total;
    total += s->at.at[i].n_nodes;
  }
  if (!tl_u32_vec_reserve(&s->nodes, total + 1) || !tl_u32_vec_reserve(&s->ops, total + 1))
    return false;
  s->nodes.n = s->ops.n = total;
  for (uint32_t g = 0; g < s->m->graphs.n; g++)
    if (!s->m->graphs.at[g]->erased)
      TL_FOR_NODES(s->m, s->m->graphs.at[g], n)
        if (s->of[n]) {
          s->nodes.at[next[s->of[n]]] = n;
          s->ops.at[next[s->of[n]]++] = tl_node_get(s->m, n)->op;
        }
  for (uint32_t i = s->at.n; i-- > 1;)
    if (s->at.at[i].parent)
      s->at.at[s->at.at[i].parent].n_nodes += s->at.at[i].n_nodes;
  return true;
}

/* Places all nodes by their names, then those without names by their neighbours. */
static void find(finder *f) {
  for (uint32_t i = 0; i < f->m->calls.n && !f->no_memory; i++)
    f->no_memory = !tl_map_set(&f->calls, f->m->calls.at[i].path, f->m->calls.at[i].function);
  for (uint32_t i = 0; i < f->m->graphs.n && !f->no_memory; i++) {
    const tl_graph *g = f->m->graphs.at[i];
    if (g->erased)
      continue;
    TL_FOR_NODES(f->m, g, n)
      if (!f->no_memory)
        place(f, g->id, n);
  }
  for (uint32_t i = 0; i < f->m->graphs.n && !f->no_memory; i++)
    if (!f->m->graphs.at[i]->erased)
      inherit(f, f->m->graphs.at[i]);
}

bool tl_scopes_find(tl_scopes *s, tl_module *m) {
  *s = (tl_scopes){.m = m};
  finder *f = calloc(1, sizeof *f);
  uint32_t *room = NULL;
  s->n_of = tl_module_node_end(m);
  s->of = calloc(s->n_of + 1u, sizeof *s->of);
  if (f)
    f->users = calloc(s->n_of + 1u, sizeof *f->users);
  bool ok = f && f->users && s->of && tl_scope_vec_push(&s->at, nowhere);
  if (ok) {
    f->s = s;
    f->m = m;
    f->room = s->n_of * UINT64_C(4) + 1024;
    tl_arena_init(&f->scratch, 0);
    find(f);
    tl_arena_release(&f->scratch);
    tl_map_release(&f->inner);
    tl_map_release(&f->calls);
    room = calloc((size_t)s->at.n * 3, sizeof *room);
    ok = !f->no_memory && room && renumber(s, room) && list_nodes(s, room);
  }
  free(room);
  if (f)
    free(f->users);
  free(f);
  s->found = ok;
  s->no_memory = !ok;
  return ok;
}

bool tl_scopes_ask(tl_scopes *s) {
  if (s->found || s->no_memory)
    return s->found;
  return tl_scopes_find(s, s->m);
}

void tl_scopes_release(tl_scopes *s) {
  tl_scope_vec_release(&s->at);
  tl_u32_vec_release(&s->nodes);
  tl_u32_vec_release(&s->ops);
  tl_map_release(&s->verdicts);
  free(s->of);
  s->of = NULL;
  s->n_of = 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

void tl_scope_path(const tl_scopes *s, uint32_t scope, tl_buf *out) {
  uint32_t at[TL_MOST_SCOPES_DEEP];
  uint32_t n = 0;
  for (; scope && n < TL_MOST_SCOPES_DEEP; scope = s->at.at[scope].parent)
    at[n++] = scope;
  while (n-- > 0) {
    tl_buf_add_char(out, '/');
    tl_buf_add_sv(out, tl_sym(s->m, s->at.at[at[n]].name));
  }
}

/* Greedy matching with one retreat point: only the last star needs to grow. */
bool tl_scope_glob_fits(tl_sv glob, tl_sv name) {
  size_t g = 0, i = 0, star = SIZE_MAX, from = 0;
  while (i < name.n) {
    if (g < glob.n && glob.p[g] == '*') {
      star = g++;
      from = i;
    } else if (g < glob.n && (glob.p[g] == '?' || glob.p[g] == name.p[i])) {
      g++;
      i++;
    } else if (star != SIZE_MAX) {
      g = star + 1;
      i = ++from;
    } else {
      return false;
    }
  }
  while (g < glob.n && glob.p[g] == '*')
    g++;
  return g == glob.n;
}
