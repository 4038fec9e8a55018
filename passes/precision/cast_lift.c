/* SPDX-License-Identifier: Apache-2.0 */
/* Moves narrowing casts before nodes that only move data (cast_lift.h). A backward sweep finds
 * for each value the dtype that all its uses are cast to, through nodes that move it. A forward
 * sweep inserts one cast at the start of such a region and retypes the region. Casts behind it
 * become casts from a dtype to itself; shorten() in cast_motion.c removes them. */
#include "passes/precision/cast_lift.h"

#include "ir/ops_gen.h"
#include "passes/precision/range_rows.h"

/* States of `top`. */
enum { NOT_ASKED, YES, NO };

/* State of lifting the casts of one graph. */
typedef struct lifting {
  tl_motion *x;
  tl_module *m;
  tl_graph_id g;
  tl_value_id from;  /* the first value of the graph: tables begin there */
  tl_value_id n;     /* one more than its last at the start; newer ones are made here */
  uint8_t *narrow;   /* by value: the dtype that all uses are cast to; NONE: there is none */
  uint8_t *top;      /* by value: may one cast of it replace those behind it? */
  tl_value_id *cast; /* by value: that cast, once made */
} lifting;

static tl_dtype dtype_of(const tl_module *m, tl_value_id v) {
  return v ? tl_type_dtype(m, tl_value_type(m, v)) : TL_DTYPE_NONE;
}

/* Returns true for a cast from f32 to a half. */
static bool is_narrower(tl_dtype wide, tl_dtype to) {
  return wide == TL_DTYPE_F32 && (to == TL_DTYPE_F16 || to == TL_DTYPE_BF16);
}

/* Returns the dtype of an inserted narrowing cast that may be removed; NONE for any other node. */
static tl_dtype narrows(const lifting *l, tl_node_id n) {
  const tl_node *node = tl_node_get(l->m, n);
  if (node->op != TL_OP_Cast || node->graph != l->g || !tl_cast_is_inserted(l->m, n) ||
      node->control_in || node->control_out)
    return TL_DTYPE_NONE;
  tl_value_id v = tl_operand(l->m, n, 0);
  tl_dtype to = dtype_of(l->m, tl_result(l->m, n, 0));
  bool mergeable = tl_value_can_merge(l->m, &l->x->facts, tl_result(l->m, n, 0), v);
  return is_narrower(dtype_of(l->m, v), to) && mergeable ? to : TL_DTYPE_NONE;
}

/* Returns the index of the only operand that the node moves, constants aside; UINT32_MAX if there
 * are several. */
static uint32_t moved_operand(const lifting *l, tl_node_id n) {
  const tl_node *node = tl_node_get(l->m, n);
  const tl_op *op = tl_op_row(node->op);
  uint32_t found = UINT32_MAX;
  if (!op || node->graph != l->g || node->n_results == 0)
    return UINT32_MAX;
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(l->m, n, i);
    if (!v || !tl_motion_moves(op, i) || tl_value_constant(l->m, v))
      continue;
    if (found != UINT32_MAX)
      return UINT32_MAX;
    found = i;
  }
  return found;
}

/* Returns the dtype that all results of a node that moves v are cast to; NONE if there is none or
 * the node cannot carry it. */
static tl_dtype carried(const lifting *l, tl_node_id n, tl_value_id v) {
  const tl_node *node = tl_node_get(l->m, n);
  if (node->graph != l->g || node->n_results == 0 || node->results >= l->n)
    return TL_DTYPE_NONE;
  tl_dtype to = (tl_dtype)l->narrow[node->results - l->from];
  if (to == TL_DTYPE_NONE) /* before operands are looked at: there may be many */
    return TL_DTYPE_NONE;
  uint32_t at = moved_operand(l, n);
  if (at == UINT32_MAX || tl_operand(l->m, n, at) != v || tl_is_pinned(&l->x->facts.pinned, v))
    return TL_DTYPE_NONE;
  for (uint32_t i = 0; i < node->n_results; i++)
    if (l->narrow[node->results - l->from + i] != to ||
        dtype_of(l->m, node->results + i) != dtype_of(l->m, v))
      return TL_DTYPE_NONE;
  return tl_motion_can_carry(l->x, n, to) ? to : TL_DTYPE_NONE;
}

/* Returns the number of elements; 0 if unknown. */
static double elements(const tl_module *m, tl_value_id v) {
  uint64_t n = 0;
  return tl_type_elements(m, tl_value_type(m, v), &n) ? (double)n : 0;
}

/* Profitable if at least half of v is read: when a part of a large table is read, casting that part
 * is cheaper. With unknown sizes two readers suffice. */
static bool pays(const lifting *l, tl_value_id v, tl_dtype to) {
  double read = 0;
  uint32_t readers = 0;
  bool open = elements(l->m, v) <= 0;
  TL_FOR_USES(l->m, v, u) {
    tl_node_id n = tl_use_get(l->m, u)->user;
    if (narrows(l, n) == to) /* all of v is cast already */
      return true;
    if (carried(l, n, v) != to)
      continue;
    const tl_node *node = tl_node_get(l->m, n);
    if (tl_range_op_of(l->m, n)->flags & TL_RANGE_WHOLE)
      return true;
    readers++;
    for (uint32_t i = 0; i < node->n_results; i++) {
      open = open || elements(l->m, node->results + i) <= 0;
      read += elements(l->m, node->results + i);
    }
  }
  return open ? readers > 1 : read * 2 >= elements(l->m, v);
}

/* Returns the dtype that all uses of v lead to, if one cast of v is legal and profitable; else
 * NONE. */
static tl_dtype asked_for(const lifting *l, tl_value_id v) {
  tl_dtype to = TL_DTYPE_NONE;
  if (dtype_of(l->m, v) != TL_DTYPE_F32 || tl_is_pinned(&l->x->facts.pinned, v))
    return TL_DTYPE_NONE;
  TL_FOR_USES(l->m, v, u) {
    tl_node_id n = tl_use_get(l->m, u)->user;
    tl_dtype wants = narrows(l, n);
    if (wants == TL_DTYPE_NONE)
      wants = carried(l, n, v);
    if (wants == TL_DTYPE_NONE || (to != TL_DTYPE_NONE && wants != to))
      return TL_DTYPE_NONE;
    to = wants;
  }
  return to != TL_DTYPE_NONE && pays(l, v, to) ? to : TL_DTYPE_NONE;
}

/* Backward sweep: users are visited before their operands, so that `narrow` of results is known. */
static void look(lifting *l, const tl_graph *g) {
  for (tl_node_id n = g->last; n; n = tl_node_get(l->m, n)->previous) {
    const tl_node *node = tl_node_get(l->m, n);
    if (moved_operand(l, n) == UINT32_MAX)
      continue;
    for (uint32_t i = 0; i < node->n_results; i++)
      l->narrow[node->results - l->from + i] = (uint8_t)asked_for(l, node->results + i);
  }
}

/* Returns a cast of v in front of all its users: an existing one, moved there, or a new one. */
static tl_value_id cast_of(lifting *l, const tl_graph *g, tl_value_id v, tl_dtype to) {
  tl_node_id from = tl_value_producer(l->m, v);
  tl_node_id first = from ? tl_node_get(l->m, from)->next : g->first;
  TL_FOR_USES(l->m, v, u) {
    tl_node_id n = tl_use_get(l->m, u)->user;
    if (narrows(l, n) != to)
      continue;
    if (n != first)
      tl_node_move_before(l->m, n, first);
    return tl_result(l->m, n, 0);
  }
  return tl_cast_insert(l->m, v, to, first ? first : g->ret, l->x->clamp);
}

/* Merges other casts of v to this dtype into `cast`. Returns false once the rewrite limit is
 * reached. */
static bool join_casts(lifting *l, tl_value_id v, tl_dtype to, tl_value_id cast) {
  TL_FOR_USES(l->m, v, u) {
    tl_node_id n = tl_use_get(l->m, u)->user;
    tl_value_id other = narrows(l, n) == to ? tl_result(l->m, n, 0) : TL_NO_VALUE;
    if (!other || other == cast || !tl_value_can_merge(l->m, &l->x->facts, other, cast))
      continue;
    if (!tl_pass_may_rewrite(l->x->p))
      return false;
    tl_value_merge(l->m, other, cast);
    tl_node_erase(l->m, n);
  }
  return true;
}

/* Gives the moved constants and all results of node n the dtype. */
static bool retype(lifting *l, tl_node_id n, tl_dtype to) {
  const tl_op *op = tl_op_row(tl_node_get(l->m, n)->op);
  for (uint32_t i = 0; i < tl_node_get(l->m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(l->m, n, i);
    if (!v || !tl_motion_moves(op, i) || !tl_value_constant(l->m, v))
      continue;
    tl_value_id as = tl_cast_set_get(&l->x->constants, v, to, n);
    if (!as)
      return false;
    tl_node_set_operand(l->m, n, i, as);
  }
  const tl_node *node = tl_node_get(l->m, n);
  for (uint32_t i = 0; i < node->n_results; i++) {
    tl_type_id type = tl_cast_type(l->m, node->results + i, to);
    if (type == TL_NO_TYPE)
      return false;
    tl_value_set_type(l->m, node->results + i, type);
  }
  return true;
}

/* Replaces *v, the operand of the first node of a region, by its cast. *v stays if there shall be
 * no cast. */
static tl_status take_top(lifting *l, const tl_graph *g, tl_node_id n, tl_dtype to,
                          tl_value_id *v) {
  if (*v < l->from || *v >= l->n || tl_value_graph(l->m, *v) != l->g)
    return TL_OK;
  uint8_t *top = &l->top[*v - l->from];
  if (*top == NOT_ASKED)
    *top = pays(l, *v, to) && tl_pass_may_rewrite(l->x->p) ? YES : NO;
  if (*top == NO)
    return TL_OK;
  tl_value_id cast = l->cast[*v - l->from];
  if (cast && dtype_of(l->m, cast) != to)
    return TL_OK; /* it is the other one of f16 and bf16 */
  if (!cast) {
    tl_pass_remark(l->x->p, l->m, n, true, "takes '%.*s' as %s: all its results are cast to that",
                   TL_SV_ARG(tl_value_name(l->m, *v)), tl_dtype_get(to)->name);
    cast = l->cast[*v - l->from] = cast_of(l, g, *v, to);
    if (!cast)
      return TL_NO_MEMORY;
    if (!join_casts(l, *v, to, cast))
      *top = NO;
  }
  *v = cast;
  return TL_OK;
}

/* Forward sweep: inserts the casts and retypes the regions. */
static tl_status lift(lifting *l, const tl_graph *g) {
  TL_FOR_NODES(l->m, g, n) {
    uint32_t at = moved_operand(l, n);
    if (at == UINT32_MAX || tl_node_get(l->m, n)->results >= l->n)
      continue;
    tl_value_id v = tl_operand(l->m, n, at);
    tl_dtype to = (tl_dtype)l->narrow[tl_node_get(l->m, n)->results - l->from];
    if (to == TL_DTYPE_NONE)
      continue;
    if (dtype_of(l->m, v) == TL_DTYPE_F32 && carried(l, n, v) == to) {
      TL_TRY(take_top(l, g, n, to, &v));
      tl_node_set_operand(l->m, n, at, v);
    }
    if (dtype_of(l->m, v) == to && dtype_of(l->m, tl_node_get(l->m, n)->results) != to &&
        !retype(l, n, to))
      return TL_NO_MEMORY;
  }
  return TL_OK;
}

/* Widens the range of values by one. */
static void cover(lifting *l, tl_value_id v) {
  l->from = l->n == 0 || v < l->from ? v : l->from;
  l->n = v >= l->n ? v + 1 : l->n;
}

/* Finds the values of the graph. Returns false when it has no cast to lift, which most bodies have
 * not: tables of them all would take time for each pair of bodies. */
static bool find_values(lifting *l, const tl_graph *g) {
  bool casts = false;
  for (uint32_t i = 0; i < g->inputs.n; i++)
    cover(l, g->inputs.at[i]);
  TL_FOR_NODES(l->m, g, n) {
    const tl_node *node = tl_node_get(l->m, n);
    for (uint32_t i = 0; i < node->n_results; i++)
      cover(l, node->results + i);
    casts = casts || narrows(l, n) != TL_DTYPE_NONE;
  }
  return casts;
}

tl_status tl_motion_lift(tl_motion *x, const tl_graph *g) {
  tl_module *m = x->m;
  lifting l = {.x = x, .m = m, .g = g->id};
  if (!find_values(&l, g))
    return TL_OK;
  uint32_t n = l.n - l.from;
  l.narrow = tl_arena_calloc(x->p->scratch, n, sizeof *l.narrow);
  l.top = tl_arena_calloc(x->p->scratch, n, sizeof *l.top);
  l.cast = tl_arena_calloc(x->p->scratch, n, sizeof *l.cast);
  bool ok = l.narrow && l.top && l.cast;
  if (ok) {
    look(&l, g);
    ok = lift(&l, g) == TL_OK;
  }
  return ok ? TL_OK : tl_no_memory(m);
}
