/* SPDX-License-Identifier: Apache-2.0 */
/* Walking the update of one parameter (update_cone.h).
 *
 * The walk collects the values of the cone, then goes over them from the end to the start and looks
 * for the last value that no path avoids: with one source that is the source; where contributions
 * are added up it is the sum. */
#include "passes/train/update_cone.h"

#include <stdlib.h>

#include "ir/ops_gen.h"

enum { MOST = 512, BASE_STEPS = 16 };
#define SEVERAL UINT32_MAX

typedef struct vertex {
  tl_value_id value;
  uint64_t order;    /* of the node that makes it, 0: an input */
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

static bool same_shape(const tl_module *m, tl_value_id a, tl_value_id b) {
  return tl_type_same_dims(m, tl_value_type(m, a), tl_value_type(m, b));
}

/* Elementwise, and nothing of forward in it: gradients are computed from that. */
static bool is_arithmetic(const walk *w, tl_node_id n) {
  const tl_module *m = w->f->m;
  const tl_node *node = tl_node_get(m, n);
  if (tl_is_gradient_collective(m, n) || node->op == TL_OP_com_microsoft_InPlaceAccumulatorV2)
    return true;
  if (node->op != TL_OP_Identity && !tl_op_has_trait(node->op, TL_TRAIT_ELEMENTWISE))
    return false;
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(m, n, i);
    if (v && v != w->param &&
        (w->f->marks[v] & (TL_MARK_FORWARD | TL_MARK_STATE_IN)) == TL_MARK_FORWARD &&
        tl_value_get(m, v)->kind == TL_VALUE_RESULT)
      return false;
  }
  return true;
}

static void add(walk *w, tl_value_id v) {
  const tl_module *m = w->f->m;
  const tl_value *value = tl_value_get(m, v);
  if (w->f->place[v] || w->n == MOST || v == w->param || value->kind == TL_VALUE_CONSTANT)
    return;
  vertex *x = &w->at[w->n++];
  *x = (vertex){.value = v, .input = value->kind == TL_VALUE_INPUT};
  x->order = x->input ? 0 : tl_node_get(m, value->def)->order;
  x->leaf = x->input || !is_arithmetic(w, value->def);
  x->state = x->input ? v : TL_NO_VALUE;
  w->f->place[v] = w->n;
}

/* Calls for the operands of a vertex that belong to the cone; collectives keep tensors apart. */
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
  for (uint32_t i = 0; i < tl_node_get(m, value->def)->n_operands && n < most; i++) {
    tl_value_id v = tl_operand(m, value->def, i);
    if (v && same_shape(m, v, w->param))
      out[n++] = v;
  }
  return n;
}

enum { MOST_SOURCES = 64 };

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

static int from_the_end(const void *a, const void *b) {
  const vertex *x = a;
  const vertex *y = b;
  if (x->order != y->order)
    return x->order > y->order ? -1 : 1;
  return x->value < y->value ? -1 : x->value > y->value;
}

static vertex *place_of(const walk *w, tl_value_id v) {
  return w->f->place[v] ? &w->at[w->f->place[v] - 1] : NULL;
}

/* ---- states ---------------------------------------------------------------------------------- */

static void join_state(vertex *x, tl_value_id state) {
  if (state)
    x->state = !x->state || x->state == state ? state : SEVERAL;
}

static void note_state(tl_cone *out, tl_value_id in, tl_value_id next) {
  if (out->n_states < TL_TRAIN_MAX_STATES) {
    out->state_in[out->n_states] = in;
    out->state_out[out->n_states++] = next;
  }
}

/* From the start to the end: an output that comes from one state alone is its next value. */
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
    if (x->state && x->state != SEVERAL &&
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

/* Marks what leads to a leaf. Inputs count as one only if there is nothing else. */
static bool mark_ways(walk *w, const tl_cone *cone, bool inputs) {
  tl_value_id from[MOST_SOURCES];
  bool any = false;
  for (uint32_t i = w->n; i-- > 0;) {
    vertex *x = &w->at[i];
    x->reaches = x->leaf && (x->input ? inputs && !is_state(w, cone, x->value) : !inputs);
    any = any || x->reaches;
    uint32_t n = sources(w, x, from, MOST_SOURCES);
    for (uint32_t k = 0; k < n && !x->reaches; k++) {
      const vertex *y = place_of(w, from[k]);
      x->reaches = y && y->reaches;
    }
  }
  return any;
}

/* The last value, seen from the end, that all ways go through. */
static const vertex *narrowest(walk *w) {
  tl_value_id from[MOST_SOURCES];
  const vertex *found = NULL;
  uint32_t open = 1;
  w->at[0].seen = true; /* the root, whose node is the last */
  for (uint32_t i = 0; i < w->n; i++) {
    vertex *x = &w->at[i];
    if (!x->seen || !x->reaches)
      continue;
    if (open == 1)
      found = x;
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
  return found;
}

/* Contributions to one gradient are added up. */
static bool is_sum(const tl_module *m, tl_value_id v) {
  tl_op_id op = tl_node_get(m, tl_value_producer(m, v))->op;
  return op == TL_OP_Add || op == TL_OP_Sub || op == TL_OP_Sum;
}

static void find_gradient(walk *w, tl_value_id root, tl_cone *out) {
  if (!mark_ways(w, out, false) && !mark_ways(w, out, true))
    return;
  const vertex *x = narrowest(w);
  if (!x || w->f->marks[x->value] & TL_MARK_FORWARD)
    return;
  if (x->leaf || (is_sum(w->f->m, x->value) && x->value != root))
    out->raw = x->value;
  else
    out->ambiguous = true;
}

static tl_status look(tl_cone_facts *f, tl_value_id root, tl_value_id param, bool gradient,
                      tl_cone *out) {
  walk w = {.f = f, .param = param};
  tl_arena_mark mark = tl_arena_save(f->arena);
  *out = (tl_cone){.raw = TL_NO_VALUE};
  w.at = tl_arena_alloc(f->arena, MOST * sizeof *w.at);
  if (!w.at)
    return TL_NO_MEMORY;
  collect(&w, root);
  if (w.n)
    qsort(w.at, w.n, sizeof *w.at, from_the_end);
  for (uint32_t i = 0; i < w.n; i++)
    f->place[w.at[i].value] = i + 1;
  find_states(&w, root, out);
  if (w.n && gradient)
    find_gradient(&w, root, out);
  for (uint32_t i = 0; i < w.n; i++)
    f->place[w.at[i].value] = 0;
  tl_arena_rewind(f->arena, mark);
  return TL_OK;
}

tl_status tl_cone_walk(tl_cone_facts *f, tl_value_id root, tl_value_id param, tl_cone *out) {
  return look(f, root, param, true, out);
}

tl_status tl_cone_states(tl_cone_facts *f, tl_value_id root, tl_value_id param, tl_cone *out) {
  return look(f, root, param, false, out);
}

/* ---- what is updated ------------------------------------------------------------------------- */

static bool is_old(const tl_module *m, tl_value_id v, tl_value_id out) {
  return v && tl_value_get(m, v)->kind != TL_VALUE_RESULT &&
         tl_value_get(m, v)->kind != TL_VALUE_NONE && tl_value_type(m, v) == tl_value_type(m, out);
}

/* The operand in which the old value may be. */
static tl_value_id towards(const tl_module *m, tl_node_id n, tl_value_id out) {
  tl_value_id a = tl_operand(m, n, 0), b = tl_operand(m, n, 1), c = tl_operand(m, n, 2);
  switch (tl_node_get(m, n)->op) {
  case TL_OP_Where: return is_old(m, c, out) ? c : b;
  case TL_OP_Add:
  case TL_OP_Mul:
    if (is_old(m, a, out) || !same_shape(m, b, out))
      return a;
    return is_old(m, b, out) || !same_shape(m, a, out) ? b : a;
  case TL_OP_Sub:
  case TL_OP_Div:
  case TL_OP_Clip:
  case TL_OP_Identity:
  case TL_OP_Cast: return a;
  default: return TL_NO_VALUE;
  }
}

tl_value_id tl_cone_base(const tl_module *m, tl_value_id out) {
  tl_value_id v = out;
  bool moved = false; /* something was added to it: else it is a copy */
  for (int i = 0; v && i < BASE_STEPS; i++) {
    if (tl_value_get(m, v)->kind != TL_VALUE_RESULT)
      return moved && is_old(m, v, out) ? v : TL_NO_VALUE;
    tl_node_id n = tl_value_producer(m, v);
    tl_op_id op = tl_node_get(m, n)->op;
    moved = moved || op == TL_OP_Add || op == TL_OP_Sub || op == TL_OP_Where;
    v = towards(m, n, out);
  }
  return TL_NO_VALUE;
}
