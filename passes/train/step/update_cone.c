/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the update of one parameter (update_cone.h).
 *
 * The walk collects the values of the cone, sorts them, then visits them from the end to the start
 * and looks for the last value that every path goes through (the last dominator of all sources).
 * With one source this is the source itself; where contributions are added up it is their sum. */
#include "passes/train/step/update_cone.h"

#include "ir/ops_gen.h"

enum { MOST = 512 };
#define SEVERAL UINT32_MAX

/* A value of the cone. */
typedef struct vertex {
  tl_value_id value;
  uint32_t waiting;  /* users in the walk that the order does not have yet */
  tl_value_id state; /* the only state input that it comes from, besides states' next values */
  bool leaf;         /* where the walk ends: a gradient, or an input nobody knows */
  bool input;
  bool reaches; /* a leaf that counts */
  bool seen;
} vertex;

typedef struct walk {
  tl_cone_facts *f;
  tl_value_id param;
  vertex *at;
  uint32_t n;
} walk;

bool tl_is_gradient_collective(const tl_module *m, tl_node_id n) {
  static const char *const names[] = {"HcomAllReduce", "HcomReduce", "HcomAllGather",
                                      "NcclAllReduce", "AdasumAllReduce"};
  tl_op_id op = tl_node_get(m, n)->op;
  if (op == TL_OP_RETURN || op == TL_OP_ERASED)
    return false;
  tl_sv name = tl_op_name(m, op);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (tl_sv_is(name, names[i]))
      return true;
  return false;
}

tl_value_id tl_if_result(const tl_module *m, tl_node_id n, uint32_t branch, uint32_t i) {
  if (tl_node_get(m, n)->op != TL_OP_If)
    return TL_NO_VALUE;
  const tl_attr *a = tl_node_attr(m, n, branch ? TL_SYM_else_branch : TL_SYM_then_branch);
  if (!a || a->kind != TL_ATTR_GRAPH)
    return TL_NO_VALUE;
  const tl_graph *g = tl_graph_get(m, a->u.g);
  return i < tl_graph_n_outputs(m, g) ? tl_graph_output(m, g, i) : TL_NO_VALUE;
}

/* Column `form` of step_ops.tbl. */
typedef enum op_form { OTHER, VIEW, SUM } op_form;

static const uint8_t forms[] = {
#define STEP_OP(name, old, form, across, leads) [TL_OP_##name] = form,
#include "passes/train/step/step_ops.tbl"
};

static op_form form_of(tl_op_id op) {
  return op < sizeof forms / sizeof *forms ? (op_form)forms[op] : OTHER;
}

static bool is_view(tl_op_id op) { return form_of(op) == VIEW; }

static bool same_shape(const tl_module *m, tl_value_id a, tl_value_id b) {
  return tl_type_same_dims(m, tl_value_type(m, a), tl_value_type(m, b));
}

/* Returns true if one value may be the other in another view: both have as many elements. Tensors
 * of one element must have the same shape as well, since rates have one element too. A value of
 * unknown rank may be anything. */
static bool same_size(const tl_module *m, tl_value_id a, tl_value_id b) {
  tl_type_id x = tl_value_type(m, a), y = tl_value_type(m, b);
  uint64_t n, k;
  if (same_shape(m, a, b))
    return true;
  if (tl_type_elements(m, x, &n) && tl_type_elements(m, y, &k))
    return n == k && n > 1;
  return tl_type_get(m, x)->rank < 0 || tl_type_get(m, y)->rank < 0;
}

/* Returns true for an elementwise node none of whose operands is computed by forward: an operand of
 * forward shows that the node computes a gradient. The condition of Where may come from
 * anywhere. */
static bool is_arithmetic(const walk *w, tl_node_id n) {
  const tl_module *m = w->f->m;
  const tl_node *node = tl_node_get(m, n);
  if (tl_is_gradient_collective(m, n) || node->op == TL_OP_com_microsoft_InPlaceAccumulatorV2 ||
      tl_if_result(m, n, 0, 0))
    return true;
  if (!is_view(node->op) && !tl_op_has_trait(node->op, TL_TRAIT_ELEMENTWISE))
    return false;
  for (uint32_t i = node->op == TL_OP_Where; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(m, n, i);
    if (v && v != w->param &&
        (w->f->marks[v] & (TL_MARK_FORWARD | TL_MARK_STATE_IN)) == TL_MARK_FORWARD &&
        tl_value_get(m, v)->kind == TL_VALUE_RESULT)
      return false;
  }
  return true;
}

/* Adds a value to the cone once. The parameter itself and constants are not part of it. place[v] is
 * its index + 1, so that 0 means absent. */
static void add(walk *w, tl_value_id v) {
  const tl_module *m = w->f->m;
  const tl_value *value = tl_value_get(m, v);
  if (w->f->place[v] || w->n == MOST || v == w->param || value->kind == TL_VALUE_CONSTANT)
    return;
  vertex *x = &w->at[w->n++];
  *x = (vertex){.value = v, .input = value->kind == TL_VALUE_INPUT};
  x->leaf = x->input || !is_arithmetic(w, value->def);
  x->state = x->input ? v : TL_NO_VALUE;
  w->f->place[v] = w->n;
}

/* Writes the operands of a vertex that belong to the cone and returns their number. Result i of a
 * collective depends on operand i only. */
static uint32_t sources(const walk *w, const vertex *x, tl_value_id *out, uint32_t most) {
  const tl_module *m = w->f->m;
  uint32_t n = 0;
  if (x->leaf)
    return 0;
  const tl_value *value = tl_value_get(m, x->value);
  if (tl_is_gradient_collective(m, value->def)) {
    out[0] = tl_operand(m, value->def, value->index);
    return out[0] != TL_NO_VALUE;
  }
  tl_node_id def = value->def;
  if (tl_if_result(m, def, 0, value->index)) {
    out[n++] = tl_if_result(m, def, 0, value->index);
    out[n] = tl_if_result(m, def, 1, value->index);
    return out[n] ? n + 1 : n;
  }
  uint32_t count = is_view(tl_node_get(m, def)->op) ? 1 : tl_node_get(m, def)->n_operands;
  for (uint32_t i = 0; i < count && n < most; i++) {
    tl_value_id v = tl_operand(m, def, i);
    if (v && (count == 1 || same_size(m, v, x->value)))
      out[n++] = v;
  }
  return n;
}

enum { MOST_SOURCES = 64 };

/* Breadth-first search from the root; at[] serves as the queue. */
static void collect(walk *w, tl_value_id root) {
  tl_value_id from[MOST_SOURCES];
  add(w, root);
  for (uint32_t i = 0; i < w->n; i++) {
    uint32_t n = sources(w, &w->at[i], from, MOST_SOURCES);
    for (uint32_t k = 0; k < n; k++)
      add(w, from[k]);
    if (w->n == MOST) /* too large to be an update: what is not looked at is unknown */
      w->at[i].leaf = true;
  }
}

static vertex *place_of(const walk *w, tl_value_id v) {
  return w->f->place[v] ? &w->at[w->f->place[v] - 1] : NULL;
}

/* Sorts the vertices topologically from the end (Kahn's algorithm), so that each stands behind its
 * users; afterwards place is index + 1 again. The order of nodes cannot serve for this, since the
 * cone crosses bodies of If. False: memory is out. */
static bool sort(walk *w) {
  tl_value_id from[MOST_SOURCES];
  vertex *sorted = tl_arena_alloc(w->f->arena, (w->n + 1u) * sizeof *sorted);
  uint32_t *ready = tl_arena_alloc(w->f->arena, (w->n + 1u) * sizeof *ready);
  uint32_t n_ready = 0;
  if (!sorted || !ready)
    return false;
  for (uint32_t i = 0; i < w->n; i++) {
    uint32_t n = sources(w, &w->at[i], from, MOST_SOURCES);
    for (uint32_t k = 0; k < n; k++)
      if (place_of(w, from[k]))
        place_of(w, from[k])->waiting++;
  }
  for (uint32_t i = 0; i < w->n; i++)
    if (!w->at[i].waiting)
      ready[n_ready++] = i;
  for (uint32_t done = 0; done < n_ready; done++) {
    sorted[done] = w->at[ready[done]];
    uint32_t n = sources(w, &sorted[done], from, MOST_SOURCES);
    for (uint32_t k = 0; k < n; k++)
      if (place_of(w, from[k]) && --place_of(w, from[k])->waiting == 0)
        ready[n_ready++] = w->f->place[from[k]] - 1;
  }
  memcpy(w->at, sorted, w->n * sizeof *sorted);
  for (uint32_t i = 0; i < w->n; i++)
    w->f->place[w->at[i].value] = i + 1;
  return true;
}

/* ---- states ---------------------------------------------------------------------------------- */

/* A vertex that depends on more than one state gets SEVERAL. */
static void join_state(vertex *x, tl_value_id state) {
  if (state)
    x->state = !x->state || x->state == state ? state : SEVERAL;
}

/* Inserts a state so that states stay in the order of the inputs' ids. */
static void note_state(tl_cone *out, tl_value_id in, tl_value_id next) {
  uint32_t i = out->n_states;
  if (i == TL_TRAIN_MAX_STATES)
    return;
  for (; i && out->state_in[i - 1] > in; i--) {
    out->state_in[i] = out->state_in[i - 1];
    out->state_out[i] = out->state_out[i - 1];
  }
  out->state_in[i] = in;
  out->state_out[i] = next;
  out->n_states++;
}

/* Goes from the start to the end of the cone: an output that depends on one state alone is the next
 * value of that state. The state is cleared there, so that values behind it do not count as
 * dependent on it. */
static void find_states(walk *w, tl_value_id root, tl_cone *out) {
  tl_value_id from[MOST_SOURCES];
  for (uint32_t i = w->n; i-- > 0;) {
    vertex *x = &w->at[i];
    uint32_t n = sources(w, x, from, MOST_SOURCES);
    for (uint32_t k = 0; k < n; k++) {
      const vertex *y = place_of(w, from[k]);
      if (y)
        join_state(x, y->state);
    }
    if (x->value == root || x->input || !(w->f->marks[x->value] & TL_MARK_OUTPUT))
      continue;
    if (w->f->marks[x->value] & TL_MARK_STATE_OUT)
      note_state(out, w->f->state_of[x->value], x->value);
    else if (x->state && x->state != SEVERAL && !(w->f->marks[x->state] & TL_MARK_STATE_IN) &&
             tl_value_type(w->f->m, x->state) == tl_value_type(w->f->m, x->value))
      note_state(out, x->state, x->value);
    x->state = TL_NO_VALUE;
  }
}

static bool is_state(const walk *w, const tl_cone *cone, tl_value_id v) {
  for (uint32_t i = 0; i < cone->n_states; i++)
    if (cone->state_in[i] == v)
      return true;
  return w->f->marks[v] & TL_MARK_STATE_IN;
}

/* ---- the gradient ---------------------------------------------------------------------------- */

/* Random numbers are no gradient. */
static bool is_drawn(const tl_module *m, tl_value_id v) {
  tl_node_id n = tl_value_producer(m, v);
  return n && tl_op_has_trait(tl_node_get(m, n)->op, TL_TRAIT_RANDOM);
}

/* Marks the vertices that lead to a leaf. Inputs count as leaves only if `inputs`, which is tried
 * when there is no computed leaf. Returns false if no leaf counts. */
static bool mark_ways(walk *w, const tl_cone *cone, bool inputs) {
  tl_value_id from[MOST_SOURCES];
  bool any = false;
  for (uint32_t i = w->n; i-- > 0;) {
    vertex *x = &w->at[i];
    x->reaches = x->leaf && !is_drawn(w->f->m, x->value) &&
                 (x->input ? inputs && !is_state(w, cone, x->value) : !inputs);
    any = any || x->reaches;
    uint32_t n = sources(w, x, from, MOST_SOURCES);
    for (uint32_t k = 0; k < n && !x->reaches; k++) {
      const vertex *y = place_of(w, from[k]);
      x->reaches = y && y->reaches;
    }
  }
  return any;
}

/* The values that every path goes through, from the end on. The list is a ring buffer that keeps
 * the last MOST_CUTS of them. */
enum { MOST_CUTS = 32 };

typedef struct cut_list {
  const vertex *at[MOST_CUTS];
  uint32_t n; /* all of them */
} cut_list;

static const vertex *cut_at(const cut_list *c, uint32_t i) { return c->at[i % MOST_CUTS]; }

/* `open` counts vertices that were reached but not visited. In topological order, a vertex visited
 * while it is the only open one lies on every path. */
static void find_cuts(walk *w, cut_list *cuts) {
  tl_value_id from[MOST_SOURCES];
  uint32_t open = 1;
  w->at[0].seen = true; /* the root, whose node is the last */
  for (uint32_t i = 0; i < w->n; i++) {
    vertex *x = &w->at[i];
    if (!x->seen || !x->reaches)
      continue;
    if (open == 1)
      cuts->at[cuts->n++ % MOST_CUTS] = x;
    if (x->leaf)
      break; /* ways end here; those that are open avoid everything further on */
    open--;
    uint32_t n = sources(w, x, from, MOST_SOURCES);
    for (uint32_t k = 0; k < n; k++) {
      vertex *y = place_of(w, from[k]);
      if (y && y->reaches && !y->seen) {
        y->seen = true;
        open++;
      }
    }
  }
}

/* Returns true if the vertex has the shape of the parameter and is computed outside forward. */
static bool is_gradient_like(const walk *w, const vertex *x) {
  return !x->input && !(w->f->marks[x->value] & TL_MARK_FORWARD) &&
         same_shape(w->f->m, x->value, w->param);
}

static bool is_view_of(const walk *w, const vertex *x, tl_value_id v) {
  tl_node_id n = tl_value_producer(w->f->m, x->value);
  return n && is_view(tl_node_get(w->f->m, n)->op) && tl_operand(w->f->m, n, 0) == v;
}

/* Returns the last value that all paths go through. If it does not look like the gradient, a view
 * of it that does is returned instead. */
static const vertex *narrowest(walk *w) {
  cut_list cuts = {.n = 0};
  find_cuts(w, &cuts);
  if (!cuts.n)
    return NULL;
  const vertex *last = cut_at(&cuts, cuts.n - 1), *x = last;
  for (uint32_t i = 1; i < MOST_CUTS && i < cuts.n && !is_gradient_like(w, x); i++) {
    const vertex *nearer = cut_at(&cuts, cuts.n - 1 - i);
    if (!is_view_of(w, nearer, x->value))
      return last;
    x = nearer;
  }
  return is_gradient_like(w, x) ? x : last;
}

/* Returns true for a sum: contributions to one gradient are added up. */
static bool is_sum(const tl_module *m, tl_value_id v) {
  return form_of(tl_node_get(m, tl_value_producer(m, v))->op) == SUM;
}

/* The narrowest value is the gradient if it is a leaf, a view, or a sum that is not the root;
 * otherwise several values could be the gradient. */
static void find_gradient(walk *w, tl_value_id root, tl_cone *out) {
  if (!mark_ways(w, out, false) && !mark_ways(w, out, true))
    return;
  const vertex *x = narrowest(w);
  if (!x || w->f->marks[x->value] & TL_MARK_FORWARD)
    return;
  tl_node_id made = tl_value_producer(w->f->m, x->value);
  bool view = made && x->value != root && is_view(tl_node_get(w->f->m, made)->op);
  if (x->leaf || view || (is_sum(w->f->m, x->value) && x->value != root))
    out->raw = x->value;
  else
    out->ambiguous = true;
}

/* Runs one walk. Memory is returned and `place` is zero again at the end. */
static tl_status look(tl_cone_facts *f, tl_value_id root, tl_value_id param, bool gradient,
                      tl_cone *out) {
  walk w = {.f = f, .param = param};
  tl_arena_mark mark = tl_arena_save(f->arena);
  *out = (tl_cone){.raw = TL_NO_VALUE};
  w.at = tl_arena_alloc(f->arena, MOST * sizeof *w.at);
  if (!w.at)
    return TL_NO_MEMORY;
  collect(&w, root);
  bool sorted = sort(&w);
  if (sorted)
    find_states(&w, root, out);
  if (sorted && w.n && gradient)
    find_gradient(&w, root, out);
  for (uint32_t i = 0; i < w.n; i++)
    f->place[w.at[i].value] = 0;
  tl_arena_rewind(f->arena, mark);
  return sorted ? TL_OK : TL_NO_MEMORY;
}

tl_status tl_cone_walk(tl_cone_facts *f, tl_value_id root, tl_value_id param, tl_cone *out) {
  return look(f, root, param, true, out);
}

tl_status tl_cone_states(tl_cone_facts *f, tl_value_id root, tl_value_id param, tl_cone *out) {
  return look(f, root, param, false, out);
}
