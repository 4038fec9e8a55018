/* SPDX-License-Identifier: Apache-2.0 */
/* Two sweeps: forward for what values were computed from, backward for what their users need. */
#include "passes/precision/range_wants.h"

#include <math.h>

#include "ir/ops_gen.h"
#include "ir/tensor_expr.h"
#include "passes/precision/body_links.h"
#include "passes/precision/range_sizes.h"

enum {
  ENDLESS = 255, /* an angle is followed back without limit */
  LONG = 16,     /* steps of arithmetic that a place or an index is followed back */
  SHORT = 8,
  NEAR = 4,
  ROUNDS = 4 /* an If in a loop in a loop */
};

typedef struct wants_walk {
  const tl_module *m;
  tl_dtype low;
  tl_range_wants *out;
  uint16_t *wanted; /* by value id: set of tl_range_want asked for */
  uint8_t *steps;   /* by value id: steps left to follow it back */
  tl_node_id *by;   /* by value id */
  bool *read;       /* by value id: a constant whose `from` is known */
  bool again;       /* forward sweep: bodies were visited in an earlier round */
} wants_walk;

static bool is_f32(const tl_module *m, tl_value_id v) {
  return v && tl_type_dtype(m, tl_value_type(m, v)) == TL_DTYPE_F32;
}

/* Returns the limit up to which the low dtype has all integers: 2^8 for bf16, 2^11 for f16. */
static double exact_limit(tl_dtype low) { return low == TL_DTYPE_BF16 ? 256 : 2048; }

/* ---- constants ------------------------------------------------------------------------------- */

/* Returns true if rounding to the low dtype's mantissa changes x. */
static bool is_lost(double x, tl_dtype low) {
  int exponent;
  double mantissa = frexp(x, &exponent) * exact_limit(low);
  return mantissa != floor(mantissa);
}

/* Classifies a constant. INTEGERS: more than one element, all integers, one of them not exact in
 * the low dtype. MASKS: one element is -1e4 or less, possibly infinite. Any fraction makes it
 * weights: 0. */
static uint8_t from_of_elements(const wants_walk *w, const tl_tensor *t) {
  uint64_t n = tl_tensor_repeats_one(t) ? 1 : tl_tensor_elements(w->m, t);
  bool lost = false;
  bool masks = false;
  double x;
  for (uint64_t i = 0; i < n; i++) {
    if (!tl_tensor_float_at(w->m, t, i, &x) || !(x == floor(x)))
      return 0;
    masks = masks || x <= -1e4;
    lost = lost || (isfinite(x) && is_lost(x, w->low));
  }
  if (masks)
    return TL_FROM_MASKS;
  return tl_tensor_elements(w->m, t) > 1 && lost ? TL_FROM_INTEGERS | TL_FROM_PLACES : 0;
}

/* Returns what constant v is. Its elements are read once, however many nodes have it. */
static uint8_t from_of_constant(const wants_walk *w, tl_value_id v, const tl_tensor *t) {
  if (!w->read[v])
    w->out->from[v] = from_of_elements(w, t);
  w->read[v] = true;
  return w->out->from[v];
}

/* ---- forward --------------------------------------------------------------------------------- */

/* Classifies a cast to f32 by its source: flags, sizes, other integers, or what a float came
 * from. */
static uint8_t from_of_cast(const wants_walk *w, tl_node_id n) {
  tl_value_id v = tl_operand(w->m, n, 0);
  tl_dtype d = tl_type_dtype(w->m, tl_value_type(w->m, v));
  if (d == TL_DTYPE_BOOL || d == TL_DTYPE_U8 || d == TL_DTYPE_I8)
    return TL_FROM_FLAGS;
  if (tl_dtype_is_float(d) || (w->out->from[v] & TL_FROM_SHAPES))
    return w->out->from[v];
  return TL_FROM_INTEGERS | TL_FROM_PLACES;
}

/* Returns true for a sum of more flags than the low dtype counts exactly. */
static bool counts_far(const wants_walk *w, tl_node_id n) {
  tl_range_kind kind = (tl_range_kind)tl_range_op_of(w->m, n)->kind;
  if (kind != TL_RANGE_SUM && kind != TL_RANGE_CUMSUM)
    return false;
  double count = tl_range_combined(w->m, n);
  return count == 0 || count > exact_limit(w->low);
}

/* Facts about the f32 operands of a node. */
typedef struct operand_facts {
  uint8_t all;   /* flags that all operands but constants have */
  uint8_t any;   /* flags that some operand has, constants included */
  bool computed; /* some operand is no constant */
  bool data;     /* some operand comes from neither integers nor sizes */
} operand_facts;

enum { COUNTED = TL_FROM_INTEGERS | TL_FROM_FLAGS | TL_FROM_SHAPES };

/* Collects the facts about the f32 operands; constants are classified on the way. */
static operand_facts facts_of(const wants_walk *w, tl_node_id n) {
  operand_facts f = {.all = 0xff};
  for (uint32_t i = 0; i < tl_node_get(w->m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(w->m, n, i);
    if (!is_f32(w->m, v))
      continue;
    const tl_tensor *t = tl_value_constant(w->m, v);
    f.any |= t ? from_of_constant(w, v, t) : w->out->from[v];
    if (t)
      continue;
    f.computed = true;
    f.all &= w->out->from[v];
    f.data = f.data || !(w->out->from[v] & COUNTED);
  }
  return f;
}

/* Integer arithmetic on sizes gives sizes as long as nothing else takes part. */
static uint8_t from_of_integers(const wants_walk *w, tl_node_id n) {
  uint8_t all = TL_FROM_SHAPES;
  bool computed = false;
  for (uint32_t i = 0; i < tl_node_get(w->m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(w->m, n, i);
    if (!v || tl_value_constant(w->m, v))
      continue;
    computed = true;
    all &= w->out->from[v];
  }
  return computed ? all : 0;
}

static bool adds_or_joins(tl_range_kind kind) {
  return kind == TL_RANGE_ADD || kind == TL_RANGE_SUB || kind == TL_RANGE_UNION ||
         kind == TL_RANGE_MIN || kind == TL_RANGE_MAX || kind == TL_RANGE_MULADD;
}

static bool is_same(const tl_module *m, tl_value_id a, tl_value_id b) {
  tl_node_id p = tl_value_producer(m, b);
  return a == b || (p && tl_range_op_of(m, p)->kind == TL_RANGE_SAME && tl_operand(m, p, 0) == a);
}

static bool squares(const tl_module *m, tl_node_id n) {
  const tl_range_op *row = tl_range_op_of(m, n);
  bool multiplies = row->kind == TL_RANGE_MUL || row->kind == TL_RANGE_MULADD;
  tl_value_id a = tl_operand(m, n, 0);
  tl_value_id b = tl_operand(m, n, row->kind == TL_RANGE_MULADD && row->low > 0 ? 2 : 1);
  return (multiplies && (is_same(m, a, b) || is_same(m, b, a))) || row->kind == TL_RANGE_SQUARE ||
         row->kind == TL_RANGE_POW || row->kind == TL_RANGE_SQUARES;
}

/* Returns what the results of a node were computed from. The order of the tests is that of
 * certainty: shapes, integer arithmetic, casts, then arithmetic on floats. */
static uint8_t from_of_node(const wants_walk *w, tl_node_id n) {
  const tl_range_op *row = tl_range_op_of(w->m, n);
  const tl_node *node = tl_node_get(w->m, n);
  tl_range_kind kind = (tl_range_kind)row->kind;
  if (row->flags & TL_RANGE_BLIND)
    return TL_FROM_SHAPES;
  if (!is_f32(w->m, node->results))
    return from_of_integers(w, n);
  if (node->op == TL_OP_Cast)
    return from_of_cast(w, n);
  if (row->flags & TL_RANGE_STEPS)
    return kind == TL_RANGE_UNION ? TL_FROM_FLAGS : TL_FROM_INTEGERS | TL_FROM_PLACES;
  operand_facts f = facts_of(w, n);
  if (!tl_range_carries(row) || !f.computed)
    return 0;
  uint8_t from = f.all & (TL_FROM_INPUTS | TL_FROM_SHAPES | TL_FROM_FLAGS);
  from |= f.any & TL_FROM_MASKS;
  bool root = kind == TL_RANGE_DIV || (row->flags & TL_RANGE_LOGS);
  from |= squares(w->m, n) ? TL_FROM_SQUARES : root ? 0 : f.any & TL_FROM_SQUARES;
  bool integers = !f.data && (f.any & TL_FROM_INTEGERS);
  if (integers || ((from & TL_FROM_FLAGS) && counts_far(w, n)))
    from |= TL_FROM_INTEGERS | TL_FROM_PLACES | TL_FROM_INPUTS;
  if ((f.any & TL_FROM_PLACES) && (adds_or_joins(kind) || (f.all & TL_FROM_PLACES)))
    from |= TL_FROM_PLACES;
  return from;
}

/* Passes flags along a link into or out of a body. Where several links meet, as for a state of a
 * loop, flags that all sources must have (COUNTED, INPUTS) are intersected, others united. A
 * constant as initial state is neutral for INPUTS. */
static void hand_on(void *user, const tl_body_link *l) {
  const wants_walk *w = user;
  const uint8_t all = COUNTED | TL_FROM_INPUTS;
  uint8_t *to = &w->out->from[l->to];
  uint8_t from = w->out->from[l->from];
  const tl_tensor *t = tl_value_constant(w->m, l->from);
  if (t)
    from = from_of_constant(w, l->from, t) | TL_FROM_INPUTS;
  bool first = l->kind != TL_LINK_TURN && !l->again;
  if (l->kind == TL_LINK_TURN && !w->again)
    return; /* the body has not been visited yet */
  *to = first ? from : (uint8_t)((*to & from & all) | ((*to | from) & ~all));
}

/* Forward sweep: classifies all values, through bodies by their links. */
static void go_forward(const wants_walk *w) {
  for (uint32_t i = 0; i < w->m->graphs.n; i++) {
    const tl_graph *g = w->m->graphs.at[i];
    for (uint32_t k = 0; !g->erased && g->kind == TL_GRAPH_ROOT && k < g->inputs.n; k++)
      w->out->from[g->inputs.at[k]] |= TL_FROM_INPUTS;
    if (g->erased)
      continue;
    TL_FOR_NODES(w->m, g, n) {
      const tl_node *node = tl_node_get(w->m, n);
      uint8_t from = node->n_results ? from_of_node(w, n) : 0;
      for (uint32_t k = 0; k < node->n_results; k++)
        w->out->from[node->results + k] = from;
      tl_body_links(w->m, n, hand_on, (void *)w);
    }
  }
}

/* ---- backward -------------------------------------------------------------------------------- */

/* Notes that `by` wants v to be exact. The longest remaining distance counts. */
static void ask(wants_walk *w, tl_value_id v, tl_range_want want, unsigned steps, tl_node_id by) {
  if (!is_f32(w->m, v) || tl_value_constant(w->m, v))
    return;
  w->wanted[v] |= (uint16_t)(1U << want);
  if (w->by[v] && w->steps[v] >= steps)
    return;
  w->steps[v] = (uint8_t)steps;
  w->by[v] = by;
}

/* Sets the want of a node; the first one found stays. */
static void mark(wants_walk *w, tl_node_id n, tl_range_want want, tl_node_id by) {
  if (want == TL_WANT_TERM || want == TL_WANT_SCALED)
    w->out->sums[n] = true;
  if (w->out->want[n])
    return;
  w->out->want[n] = (uint8_t)want;
  w->out->by[n] = by;
}

static void ask_operands(wants_walk *w, tl_node_id n, tl_range_want want, unsigned steps,
                         tl_node_id by) {
  for (uint32_t i = 0; i < tl_node_get(w->m, n)->n_operands; i++)
    ask(w, tl_operand(w->m, n, i), want, steps, by);
}

static bool is_center(tl_range_kind kind) {
  return kind == TL_RANGE_SUB || kind == TL_RANGE_MEAN || kind == TL_RANGE_SUM ||
         kind == TL_RANGE_SAME;
}

/* Returns true for gated activations, which are followed like the product they consist of. */
static bool is_gate(const tl_range_op *row) {
  return row->kind == TL_RANGE_GATE || row->kind == TL_RANGE_GATED;
}

/* Returns true for a product on the way to an angle whose operands are positions, or all come from
 * the model's inputs. */
static bool turns_positions(const wants_walk *w, tl_node_id n) {
  bool inputs = true;
  for (uint32_t i = 0; i < tl_node_get(w->m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(w->m, n, i);
    if (!is_f32(w->m, v) || tl_value_constant(w->m, v))
      continue;
    if (w->out->from[v] & TL_FROM_PLACES)
      return true;
    inputs = inputs && (w->out->from[v] & TL_FROM_INPUTS);
  }
  return inputs;
}

/* Returns true if v is bounded by 1 (kind FIXED), as probabilities are. */
static bool is_bounded(const wants_walk *w, tl_value_id v) {
  tl_node_id p = v ? tl_value_producer(w->m, v) : TL_NO_NODE;
  while (p && tl_range_op_of(w->m, p)->kind == TL_RANGE_SAME)
    p = tl_value_producer(w->m, tl_operand(w->m, p, 0));
  return p && tl_range_op_of(w->m, p)->kind == TL_RANGE_FIXED;
}

/* Returns true for a product whose terms may all be tiny: of powers, their roots, or
 * probabilities. */
static bool mixes_small(const wants_walk *w, tl_node_id n) {
  for (uint32_t i = 0; i < tl_node_get(w->m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(w->m, n, i);
    if (is_bounded(w, v) || (w->out->from[v] & TL_FROM_SQUARES))
      return true;
  }
  return false;
}

static uint32_t n_computed(const wants_walk *w, tl_node_id n) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < tl_node_get(w->m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(w->m, n, i);
    count += is_f32(w->m, v) && !tl_value_constant(w->m, v);
  }
  return count;
}

/* Follows terms of a sum. Only movement, negation and scaling by constants are followed, and only
 * for a few steps: the origin of the terms does not matter. */
static void pass_term(wants_walk *w, tl_node_id n, tl_value_id y, tl_range_want want) {
  const tl_range_op *row = tl_range_op_of(w->m, n);
  bool scales = (row->kind == TL_RANGE_MUL || row->kind == TL_RANGE_DIV) && n_computed(w, n) == 1;
  bool passes = row->kind == TL_RANGE_SAME || row->kind == TL_RANGE_NEG || scales;
  bool product = tl_range_is_product(row);
  bool sum = want == TL_WANT_SCALED ? product : row->kind == TL_RANGE_MUL;
  bool term = sum && n_computed(w, n) == 2 && !is_bounded(w, tl_operand(w->m, n, 0)) &&
              !is_bounded(w, tl_operand(w->m, n, 1));
  bool part = passes || (product && w->steps[y]);
  if (want == TL_WANT_PART ? part : term)
    mark(w, n, want, w->by[y]);
  if (want == TL_WANT_PART && product && w->steps[y])
    ask_operands(w, n, want, 0, w->by[y]); /* their scaling, but no earlier product */
  if (passes && w->steps[y])
    ask_operands(w, n, want, w->steps[y] - 1u, w->by[y]);
}

/* Propagates one want from result y to its node n and the operands of n. */
static void pass_want(wants_walk *w, tl_node_id n, tl_value_id y, tl_range_want want) {
  const tl_range_op *row = tl_range_op_of(w->m, n);
  unsigned steps = w->steps[y];
  bool exact = want == TL_WANT_ANGLE || want == TL_WANT_INDEX || want == TL_WANT_PLACE;
  if (want == TL_WANT_PART || want == TL_WANT_TERM || want == TL_WANT_SCALED) {
    pass_term(w, n, y, want);
    return;
  }
  if (want == TL_WANT_LOG && row->kind == TL_RANGE_EXP) { /* the logarithm undoes the Exp */
    mark(w, n, want, w->by[y]);
    return;
  }
  if (steps == 0 || (want == TL_WANT_DIFFERENCE && !is_center((tl_range_kind)row->kind)))
    return;
  if (tl_range_carries(row) || is_gate(row)) {
    mark(w, n, want, w->by[y]);
    want = want == TL_WANT_LOG && squares(w->m, n) ? TL_WANT_POWER : want;
    ask_operands(w, n, want, steps == ENDLESS ? steps : steps - 1, w->by[y]);
  } else if (tl_range_is_product(row)) {
    bool taken = want == TL_WANT_POWER || (want == TL_WANT_LOG && mixes_small(w, n)) ||
                 (exact && turns_positions(w, n));
    if (taken)
      mark(w, n, want, w->by[y]);
    for (uint32_t i = 0; taken && i < tl_node_get(w->m, n)->n_operands; i++) {
      tl_value_id v = tl_operand(w->m, n, i);
      if (exact || (w->out->from[v] & TL_FROM_SQUARES)) /* only powers have the problem of the
                                                         * logarithm */
        ask(w, v, want, steps == ENDLESS ? steps : steps - 1, w->by[y]);
    }
  } else if (want == TL_WANT_LOG || (want == TL_WANT_DIVISOR && row->kind == TL_RANGE_FIXED)) {
    mark(w, n, want, w->by[y]);
  }
}

static void pass_on(wants_walk *w, tl_node_id n, tl_value_id y) {
  for (unsigned want = TL_WANT_ANGLE; want <= TL_WANT_MASKS; want++)
    if (w->wanted[y] >> want & 1)
      pass_want(w, n, y, (tl_range_want)want);
}

static bool is_integer(const tl_module *m, tl_value_id v) {
  tl_dtype d = tl_type_dtype(m, tl_value_type(m, v));
  return d != TL_DTYPE_NONE && d != TL_DTYPE_BOOL && !tl_dtype_is_float(d);
}

/* Asks for exact differences in front of squares, as in a variance. */
static void ask_difference(wants_walk *w, tl_node_id n) {
  const tl_range_op *row = tl_range_op_of(w->m, n);
  if (squares(w->m, n) || row->kind == TL_RANGE_L2 || (row->flags & TL_RANGE_SQUARED))
    ask(w, tl_operand(w->m, n, 0), TL_WANT_DIFFERENCE, NEAR, n);
}

/* Asks for exact terms of |x|^2 - 2 x y + |y|^2, in any order: the product cancels most of the
 * squares. */
static void ask_parts(wants_walk *w, tl_node_id n) {
  const tl_range_op *row = tl_range_op_of(w->m, n);
  uint8_t any = 0;
  if (row->kind != TL_RANGE_SUB && row->kind != TL_RANGE_ADD)
    return;
  for (uint32_t i = 0; i < 2; i++)
    any |= w->out->from[tl_operand(w->m, n, i)];
  for (uint32_t i = 0; (any & TL_FROM_SQUARES) && i < 2; i++) {
    tl_value_id v = tl_operand(w->m, n, i);
    if (!(w->out->from[v] & TL_FROM_SQUARES))
      ask(w, v, TL_WANT_PART, row->kind == TL_RANGE_SUB ? NEAR : 1, n);
  }
}

/* Returns the operand that a constant scales down by 256 or more: it was large before. */
static tl_value_id shrunk(const wants_walk *w, tl_node_id n) {
  tl_range_kind kind = (tl_range_kind)tl_range_op_of(w->m, n)->kind;
  for (uint32_t i = 0; i < 2 && (kind == TL_RANGE_MUL || kind == TL_RANGE_DIV); i++) {
    tl_value_id c = tl_operand(w->m, n, i);
    const tl_tensor *t = c ? tl_value_constant(w->m, c) : NULL;
    double x;
    if (!t || (kind == TL_RANGE_DIV && i == 0) || tl_tensor_elements(w->m, t) != 1 ||
        !tl_tensor_float_at(w->m, t, 0, &x))
      continue;
    if (kind == TL_RANGE_DIV ? fabs(x) >= 256 : fabs(x) <= 1.0 / 256)
      return tl_operand(w->m, n, 1 - i);
  }
  return TL_NO_VALUE;
}

/* Asks for terms that are summed, and for sums of products that are scaled down. */
static void ask_terms(wants_walk *w, tl_node_id n, tl_value_id divided) {
  const tl_range_op *row = tl_range_op_of(w->m, n);
  bool mean = row->kind == TL_RANGE_MEAN && (row->flags & TL_RANGE_DEEP);
  tl_value_id v = divided ? divided : shrunk(w, n);
  if (row->kind == TL_RANGE_SUM || mean)
    ask(w, tl_operand(w->m, n, 0), TL_WANT_TERM, 2, n);
  else if (v)
    ask(w, v, TL_WANT_SCALED, 2, n);
  else if ((row->flags & TL_RANGE_WEIGHTED) && !is_bounded(w, tl_operand(w->m, n, 0)) &&
           !is_bounded(w, tl_operand(w->m, n, 1)))
    mark(w, n, TL_WANT_TERM, n);
}

/* Returns true for an addition of two masks: their sum may overflow in the low dtype and then mask
 * a whole row. */
static bool adds_masks(const wants_walk *w, tl_node_id n) {
  const uint8_t given = TL_FROM_INPUTS | TL_FROM_INTEGERS | TL_FROM_FLAGS;
  const tl_range_op *row = tl_range_op_of(w->m, n);
  bool fused = row->kind == TL_RANGE_MULADD;
  uint32_t shift = !fused || row->low > 0 ? 1 : 2;
  uint8_t masks[2] = {0, 0};
  if (row->kind != TL_RANGE_ADD && !fused)
    return false;
  for (uint32_t i = 0; i < (fused ? 3U : 2U); i++) {
    tl_value_id v = tl_operand(w->m, n, i);
    if (!is_f32(w->m, v) || !(tl_value_constant(w->m, v) || (w->out->from[v] & given)))
      return false;
    masks[i == shift] |= w->out->from[v] & TL_FROM_MASKS;
  }
  return masks[0] && masks[1];
}

/* Batch normalization with a computed variance is a difference divided by a root. */
static void ask_spread(wants_walk *w, tl_node_id n) {
  tl_value_id variance = tl_operand(w->m, n, 4);
  if (!is_f32(w->m, variance) || tl_value_constant(w->m, variance))
    return;
  mark(w, n, TL_WANT_DIVISOR, n);
  ask(w, variance, TL_WANT_DIVISOR, SHORT, n);
  ask(w, tl_operand(w->m, n, 0), TL_WANT_DIFFERENCE, NEAR, n);
}

static bool is_inverse_power(const tl_module *m, tl_node_id n) {
  tl_value_id e = tl_operand(m, n, 1);
  const tl_tensor *t = e ? tl_value_constant(m, e) : NULL;
  double k;
  return tl_range_op_of(m, n)->kind == TL_RANGE_POW && t && tl_tensor_elements(m, t) == 1 &&
         tl_tensor_float_at(m, t, 0, &k) && k < 0;
}

/* States what node n itself wants of its operands, and whether n itself must be exact. The order of
 * the tests gives the reason shown to the user. */
static void ask_own(wants_walk *w, tl_node_id n) {
  const tl_node *node = tl_node_get(w->m, n);
  uint32_t flags = tl_range_op_of(w->m, n)->flags;
  tl_value_id first = tl_operand(w->m, n, 0);
  if (flags & TL_RANGE_TURNS)
    ask(w, first, TL_WANT_ANGLE, ENDLESS, n);
  if (flags & TL_RANGE_LOGS)
    ask(w, first, TL_WANT_LOG, SHORT, n);
  if (flags & TL_RANGE_PLACES)
    ask(w, tl_operand(w->m, n, 1), TL_WANT_PLACE, LONG, n);
  if (tl_range_op_of(w->m, n)->kind == TL_RANGE_AFFINE) /* its variance may be a computed value */
    ask_spread(w, n);
  bool inverse = is_inverse_power(w->m, n);
  tl_value_id divisor = inverse ? first
                                : tl_operand(w->m, n, node->n_operands ? node->n_operands - 1u : 0);
  bool divides = ((flags & TL_RANGE_DIVIDES) || inverse) && divisor &&
                 !tl_value_constant(w->m, divisor) && !(w->out->from[divisor] & TL_FROM_SHAPES);
  if (divides && divisor != first)
    ask(w, first, TL_WANT_DIFFERENCE, NEAR, n);
  if (divides)
    ask(w, divisor, TL_WANT_DIVISOR, SHORT, n);
  ask_terms(w, n, divides && divisor != first ? first : TL_NO_VALUE);
  bool steps = (flags & TL_RANGE_COUNTS) ||
               (node->op == TL_OP_Cast && is_integer(w->m, node->results));
  if (steps)
    ask(w, first, TL_WANT_INDEX, LONG, n);
  if (flags & TL_RANGE_TURNS)
    mark(w, n, TL_WANT_ANGLE, n);
  else if (flags & TL_RANGE_LOGS)
    mark(w, n, TL_WANT_LOG, n);
  else if (flags & TL_RANGE_PLACES)
    mark(w, n, TL_WANT_PLACE, n);
  else if (divides && is_f32(w->m, divisor))
    mark(w, n, TL_WANT_DIVISOR, n);
  else if (steps && is_f32(w->m, first))
    mark(w, n, TL_WANT_INDEX, n);
  else if (adds_masks(w, n))
    mark(w, n, TL_WANT_MASKS, n);
  ask_difference(w, n);
  ask_parts(w, n);
}

static void ask_as(wants_walk *w, tl_value_id v, tl_value_id like) {
  for (unsigned want = TL_WANT_ANGLE; want <= TL_WANT_MASKS; want++)
    if (w->wanted[like] >> want & 1)
      ask(w, v, (tl_range_want)want, w->steps[like], w->by[like]);
}

/* Links of bodies: wants of a result go to the outputs of bodies, wants of body inputs to operands,
 * and wants of the next iteration to the outputs of this one. */
static void ask_link(void *user, const tl_body_link *l) { ask_as(user, l->from, l->to); }

static void go_back(wants_walk *w, const tl_graph *g) {
  for (tl_node_id n = g->last; n; n = tl_node_get(w->m, n)->previous) {
    const tl_node *node = tl_node_get(w->m, n);
    ask_own(w, n);
    tl_body_links(w->m, n, ask_link, w);
    for (uint32_t i = 0; i < node->n_results; i++)
      if (w->wanted[node->results + i])
        pass_on(w, n, node->results + i);
  }
}

tl_status tl_range_wants_find(const tl_module *m, tl_dtype low, tl_arena *arena,
                              tl_range_wants *out) {
  uint32_t n_values = tl_module_value_end(m) + 1U;
  uint32_t n_nodes = tl_module_node_end(m) + 1U;
  wants_walk w = {.m = m, .low = low, .out = out};
  out->want = tl_arena_calloc(arena, n_nodes, 1);
  out->by = tl_arena_calloc(arena, n_nodes, sizeof *out->by);
  out->sums = tl_arena_calloc(arena, n_nodes, sizeof *out->sums);
  out->from = tl_arena_calloc(arena, n_values, 1);
  w.wanted = tl_arena_calloc(arena, n_values, sizeof *w.wanted);
  w.steps = tl_arena_calloc(arena, n_values, 1);
  w.by = tl_arena_calloc(arena, n_values, sizeof *w.by);
  w.read = tl_arena_calloc(arena, n_values, sizeof *w.read);
  if (!out->want || !out->by || !out->sums || !out->from || !w.wanted || !w.steps || !w.by ||
      !w.read)
    return TL_NO_MEMORY;
  /* Bodies are behind their graph in m->graphs. Several rounds carry facts between bodies and from
   * one iteration of a loop to the next. */
  uint32_t rounds = m->graphs.n > 1 ? ROUNDS : 1;
  for (uint32_t round = 0; round < rounds; round++, w.again = true)
    go_forward(&w);
  for (uint32_t round = 0; round < rounds; round++)
    for (uint32_t i = m->graphs.n; i-- > 0;)
      if (!m->graphs.at[i]->erased)
        go_back(&w, m->graphs.at[i]);
  return TL_OK;
}

/* ---- words ----------------------------------------------------------------------------------- */

void tl_range_wants_say(const tl_module *m, const tl_range_wants *w, tl_node_id n, tl_buf *out) {
  static const struct {
    const char *itself;
    const char *other; /* follows the name of the node that wants it */
  } texts[] = {
      [TL_WANT_ANGLE] = {"it takes an angle", "takes its result as an angle"},
      [TL_WANT_LOG] = {"it takes a logarithm", "takes the logarithm of its result"},
      [TL_WANT_POWER] = {"", "takes the logarithm of its square"},
      [TL_WANT_DIVISOR] = {"it divides by a number that is computed", "divides by its result"},
      [TL_WANT_INDEX] = {"it converts numbers to integers", "converts its result to integers"},
      [TL_WANT_PLACE] = {"it reads at computed positions",
                         "reads at the positions that it computes"},
      [TL_WANT_DIFFERENCE] = {"", "takes differences of it"},
      [TL_WANT_PART] = {"", "adds squares to it, and the sum may cancel"},
      [TL_WANT_TERM] = {"it sums products", "sums the products that it computes"},
      [TL_WANT_SCALED] = {"", "scales down what it sums"},
      [TL_WANT_MASKS] = {"it adds masks up", ""}};
  tl_node_id by = w->by[n];
  if (w->want[n] == TL_WANT_NOTHING)
    return;
  if (by == n) {
    tl_buf_add_z(out, texts[w->want[n]].itself);
    return;
  }
  tl_sv name = tl_sym(m, tl_node_get(m, by)->name);
  if (name.n == 0)
    name = tl_sv_from(tl_op_row(tl_node_get(m, by)->op)->name);
  tl_buf_printf(out, "`%.*s` %s", TL_SV_ARG(name), texts[w->want[n]].other);
}
