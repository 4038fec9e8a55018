/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps over the graph for the range policy: intervals, growth and reasons, node by node
 * (ranges.h). */
#include "passes/precision/ranges.h"

#include <math.h>
#include <string.h>

#include "ir/ops_gen.h"
#include "ir/tensor_count.h"
#include "passes/precision/products.h"
#include "passes/precision/range_growth.h"
#include "passes/precision/range_moves.h"
#include "passes/precision/range_rows.h"
#include "passes/precision/range_sizes.h"
#include "passes/precision/range_wants.h"
#include "support/map.h"

/* State of the sweep. */
typedef struct range_walk {
  tl_module *m;
  const tl_range_policy *policy;
  tl_arena *arena;
  tl_dtype low; /* dtype that the mode lowers to: F16 or BF16 */
  double data_max;
  double init_max;
  tl_interval *values;
  bool *known; /* by value id: a constant that was read */
  const char **why;
  tl_range_wants wants;
  tl_range_growth growth;
  tl_weight_sums sums; /* scratch */
  tl_map measured;     /* symbol of a value's name -> entry */
  tl_buf text;
} range_walk;

static bool is_f32(const range_walk *w, tl_value_id v) {
  return v && tl_type_dtype(w->m, tl_value_type(w->m, v)) == TL_DTYPE_F32;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* Extends *x by infinite elements, which the counts of finite elements omit. */
static void add_infinite(const range_walk *w, const tl_tensor *t, tl_interval *x) {
  uint64_t n = tl_tensor_elements(w->m, t);
  for (uint64_t i = 0; i < n && !(isinf(x->low) && isinf(x->high)); i++) {
    double v;
    if (!tl_tensor_float_at(w->m, t, i, &v))
      *x = tl_interval_unknown(); /* elements are not available */
    else if (isinf(v) && v < 0)
      x->low = v;
    else if (isinf(v))
      x->high = v;
  }
}

/* Returns the interval of a constant. It is FRAGILE if all its elements become 0 in the low
 * dtype. */
static tl_interval read_constant(const range_walk *w, const tl_tensor *t) {
  tl_float_counts c;
  uint64_t n = tl_tensor_elements(w->m, t);
  if (!tl_tensor_count(t, w->low, &c) || c.nan)
    return tl_interval_unknown();
  tl_interval x = {c.least, c.greatest, TL_RANGE_TIGHT};
  if (x.low > x.high)
    x.low = x.high = 0;
  if (c.infinite)
    add_infinite(w, t, &x);
  if (n && c.flushed == n)
    x.flags |= TL_RANGE_FRAGILE;
  return x;
}

/* Returns the interval of v; a constant is read on first use. */
static tl_interval interval_of(range_walk *w, tl_value_id v) {
  const tl_tensor *t = tl_value_constant(w->m, v);
  if (t && !w->known[v]) {
    w->known[v] = true;
    w->values[v] = read_constant(w, t);
  }
  return w->values[v];
}

/* ---- reasons --------------------------------------------------------------------------------- */

/* Starts a reason such as "the constant `x` holds ". */
static void start_text(range_walk *w, const char *before, tl_value_id v, const char *after) {
  tl_buf_clear(&w->text);
  tl_buf_printf(&w->text, "%s `%.*s` %s", before, TL_SV_ARG(tl_value_name(w->m, v)), after);
}

/* Returns true, with the reason in w->text, if constant operand i speaks against lowering n. *mask:
 * it is a softmax mask, whose size does not matter. */
static bool constant_speaks(range_walk *w, tl_node_id n, uint32_t i, bool *mask) {
  tl_value_id v = tl_operand(w->m, n, i);
  tl_interval x = interval_of(w, v);
  double most = tl_interval_magnitude(&x);
  if (most > w->init_max) {
    *mask = x.high <= w->init_max && x.low <= -1e4 && tl_range_masks_softmax(w->m, n, i);
    if (!*mask && isfinite(most)) {
      start_text(w, "the constant", v, "holds ");
      tl_buf_printf(&w->text, "%.6g, beyond %.6g", x.high == most ? x.high : x.low, w->init_max);
    } else if (!*mask) {
      start_text(w, "the constant", v, "holds numbers that are not finite");
    }
    return !*mask;
  }
  if (!(x.flags & TL_RANGE_FRAGILE))
    return false;
  bool guarded;
  if (!tl_range_needs_operands(w->m, n, &guarded))
    return false;
  start_text(w, "the constant", v, "would become 0, and ");
  tl_buf_add_z(&w->text, guarded ? "the op needs it" : "a later op needs it");
  return true;
}

/* Returns the measured range of a value, found by its name; NULL if there is none. */
static const tl_measured_range *measured(const range_walk *w, tl_value_id v) {
  uint32_t i;
  tl_symbol name = tl_value_get(w->m, v)->name;
  return name && tl_map_find(&w->measured, name, &i) ? &w->policy->measured[i] : NULL;
}

/* Returns true if measured numbers of v exceed the limit; masked values are only checked
 * upwards. */
static bool measure_speaks(range_walk *w, tl_value_id v) {
  const tl_measured_range *r = measured(w, v);
  bool masked = (w->values[v].flags & TL_RANGE_MASKED) != 0;
  if (r && (r->greatest > w->data_max || (r->least < -w->data_max && !masked))) {
    start_text(w, "", v, "was measured at ");
    tl_buf_printf(&w->text, "%.6g, beyond %.6g", r->greatest > w->data_max ? r->greatest : r->least,
                  w->data_max);
    return true;
  }
  return false;
}

/* Returns true if a computed operand v speaks against lowering n. */
static bool value_speaks(range_walk *w, tl_node_id n, tl_value_id v) {
  if (measure_speaks(w, v))
    return true;
  if ((w->values[v].flags & TL_RANGE_FRAGILE) &&
      (tl_range_op_of(w->m, n)->flags & TL_RANGE_GUARDED)) {
    start_text(w, "", v, "carries an epsilon that would become 0");
    return true;
  }
  uint8_t grown = w->growth.growth[v].flags;
  if (grown) {
    start_text(w, "", v, "may be ");
    tl_buf_add_z(&w->text, grown & TL_GROWTH_INVERSE ? "too large or too small for the lower dtype"
                           : grown & TL_GROWTH_BIG   ? "beyond the lower dtype"
                                                     : "too small for the lower dtype");
    return true;
  }
  return false;
}

/* Returns true if the op has squares inside that may leave the lower dtype. */
static bool has_squares(const range_walk *w, tl_node_id n, tl_growth left) {
  const tl_range_op *row = tl_range_op_of(w->m, n);
  if (row->kind == TL_RANGE_NORM || row->kind == TL_RANGE_L2 || (row->flags & TL_RANGE_SQUARED))
    return true;
  bool square = row->kind == TL_RANGE_SQUARE || row->kind == TL_RANGE_SQUARES;
  return left.flags && (square || tl_range_multiplies_itself(&w->growth, n));
}

/* Returns true if the interval of the result exceeds the lower dtype. Loose intervals count for
 * risky ops only. */
static bool bounds_speak(range_walk *w, tl_node_id n) {
  const tl_interval *y = &w->values[tl_node_get(w->m, n)->results];
  double most = fmax(y->high, y->flags & TL_RANGE_MASKED ? 0 : -y->low);
  bool risky = tl_range_op_of(w->m, n)->flags & TL_RANGE_RISKY;
  if (most <= w->data_max || isinf(most) || (!risky && !(y->flags & TL_RANGE_TIGHT)))
    return false;
  tl_buf_clear(&w->text);
  tl_buf_printf(&w->text, "its result may reach %.6g, beyond %.6g",
                y->high == most ? y->high : y->low, w->data_max);
  return true;
}

/* Sets the growth of the results and returns true if they speak against lowering. grown: growth
 * before the interval of the result is considered. */
static bool result_speaks(range_walk *w, tl_node_id n, tl_growth grown, double elements) {
  const tl_node *node = tl_node_get(w->m, n);
  const tl_range_op *row = tl_range_op_of(w->m, n);
  tl_growth left = tl_growth_within(grown, &w->values[node->results], w->data_max);
  bool beyond = bounds_speak(w, n);
  bool large = w->wants.sums[n] && w->low == TL_DTYPE_F16;
  large = large && isinf(tl_interval_magnitude(&w->values[node->results]));
  if (large || w->wants.want[n] == TL_WANT_MASKS)
    left = (tl_growth){2 * TL_GROWTH_PLAIN, TL_GROWTH_BIG};
  left.flags |= beyond ? TL_GROWTH_BIG : 0;
  const tl_growth variance = {2 * TL_GROWTH_PLAIN, TL_GROWTH_BIG | TL_GROWTH_TINY};
  for (uint32_t i = 0; i < node->n_results; i++)
    w->growth.growth[node->results + i] = i && (row->flags & TL_RANGE_STATS) ? variance : left;
  if (beyond)
    return true;
  tl_buf_clear(&w->text);
  if (has_squares(w, n, left))
    tl_buf_add_z(&w->text, "it squares numbers");
  else if ((row->kind == TL_RANGE_SUM || row->kind == TL_RANGE_CUMSUM) &&
           (left.flags || (row->kind == TL_RANGE_CUMSUM && !(elements > 0 && elements <= 64))))
    tl_buf_add_z(&w->text, "it sums many numbers that nothing bounds");
  else if (left.flags)
    tl_buf_add_z(&w->text, left.flags & TL_GROWTH_BIG
                               ? "it grows fast and nothing bounds its operand"
                               : "it may become too small for the lower dtype");
  return w->text.n != 0;
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Returns true if a reduction sums more than --max-reduction-depth elements. */
static bool depth_speaks(range_walk *w, const tl_range_op *row, double elements) {
  if (!(row->flags & TL_RANGE_DEEP) || elements <= (double)w->policy->max_depth)
    return false;
  tl_buf_clear(&w->text);
  tl_buf_printf(&w->text, "it sums %.0f elements, more than %llu", elements,
                (unsigned long long)w->policy->max_depth);
  return true;
}

/* ---- one node -------------------------------------------------------------------------------- */

/* Returns true for x - ReduceMax(x), which a softmax uses to keep exponents at or below 0. */
static bool less_greatest(const range_walk *w, tl_node_id n) {
  const tl_node *node = tl_node_get(w->m, n);
  tl_node_id p = node->op == TL_OP_Sub ? tl_value_producer(w->m, tl_operand(w->m, n, 1)) : 0;
  return p && tl_node_get(w->m, p)->op == TL_OP_ReduceMax &&
         tl_operand(w->m, p, 0) == tl_operand(w->m, n, 0);
}

/* Collects the intervals of operands. UNION, MIN and MAX join all f32 operands into one; other
 * kinds take the first ones, NORM behind those that the table skips. Absent operands of norms and
 * products count as 0. */
static uint32_t operands(range_walk *w, tl_node_id n, const tl_range_op *row, tl_interval *in) {
  const tl_node *node = tl_node_get(w->m, n);
  bool any = row->kind == TL_RANGE_UNION || row->kind == TL_RANGE_MIN || row->kind == TL_RANGE_MAX;
  uint32_t skipped = row->kind == TL_RANGE_NORM && row->high > 1 ? (uint32_t)row->high - 1 : 0;
  uint32_t count = 0;
  for (uint32_t i = 0; i < node->n_operands && (any || i < TL_RANGE_OPERANDS + skipped); i++) {
    tl_value_id v = tl_operand(w->m, n, i);
    if (i > 0 && i <= skipped)
      continue;
    if (any && !is_f32(w, v))
      continue;
    tl_interval x = v ? interval_of(w, v) : tl_interval_unknown();
    if (!v && row->kind >= TL_RANGE_NORM)
      x = (tl_interval){0, 0, TL_RANGE_TIGHT};
    if (any && count == 1) {
      tl_interval both[2] = {in[0], x};
      in[0] = tl_interval_apply((tl_range_kind)row->kind, 0, both, 2, 0);
    } else {
      in[count++] = x;
    }
  }
  return count;
}

/* Returns the flags FRAGILE and MASKED that pass from operands to the result. */
static uint8_t carried_flags(range_walk *w, tl_node_id n, const tl_range_op *row) {
  const tl_node *node = tl_node_get(w->m, n);
  unsigned flags = row->kind == TL_RANGE_SAME || (row->flags & TL_RANGE_SHIFTS) ? TL_RANGE_FRAGILE
                                                                                : 0;
  flags |= row->flags & TL_RANGE_WEIGHS ? TL_RANGE_MASKED : 0;
  unsigned found = 0;
  for (uint32_t i = 0; i < node->n_operands; i++)
    if (is_f32(w, tl_operand(w->m, n, i)))
      found |= w->values[tl_operand(w->m, n, i)].flags & flags;
  return (uint8_t)found;
}

/* Adapts an interval to the dtype of v. An f16 result is known as long as it does not overflow;
 * bf16 and others are too coarse. */
static tl_interval as_dtype(const range_walk *w, tl_value_id v, tl_interval y) {
  tl_dtype d = tl_type_dtype(w->m, tl_value_type(w->m, v));
  if (d != TL_DTYPE_F32 && (d != TL_DTYPE_F16 || tl_interval_magnitude(&y) > 65504))
    return tl_interval_unknown();
  if (d == TL_DTYPE_F16) { /* rounding of f16; numbers below its normal range may become 0 */
    y.low -= fabs(y.low) * 1e-3 + 1e-7;
    y.high += fabs(y.high) * 1e-3 + 1e-7;
    y.low = y.low > 0 && y.low < 1e-4 ? 0 : y.low;
    y.high = y.high < 0 && y.high > -1e-4 ? 0 : y.high;
  }
  return y;
}

/* Sets the intervals of all results, narrowed by measured ranges. Results behind the first are
 * unknown unless the op moves data. */
static void set_results(range_walk *w, tl_node_id n, tl_interval y) {
  const tl_node *node = tl_node_get(w->m, n);
  for (uint32_t i = 0; i < node->n_results; i++) {
    tl_value_id v = node->results + i;
    const tl_measured_range *r = measured(w, v);
    bool told = i == 0 || tl_range_op_of(w->m, n)->kind == TL_RANGE_SAME;
    w->values[v] = told ? as_dtype(w, v, y) : tl_interval_unknown();
    if (r && r->least <= y.high && r->greatest >= y.low) {
      w->values[v].low = fmax(w->values[v].low, r->least);
      w->values[v].high = fmin(w->values[v].high, r->greatest);
    }
  }
}

/* Returns the interval of a product with bias. Constant weights give a tighter bound by their sums;
 * both bounds hold, so they are intersected. */
static tl_interval product_of(range_walk *w, tl_node_id n, tl_range_kind kind,
                              const tl_interval *in, uint32_t n_in, double elements) {
  tl_interval nothing = {0, 0, 0};
  tl_interval bias = n_in > 2 ? in[2] : nothing;
  tl_interval y = tl_interval_apply(kind, 0, in, n_in < 2 ? n_in : 2, elements);
  for (uint32_t i = 0; i < 2 && n_in > 1; i++) {
    if (!tl_value_constant(w->m, tl_operand(w->m, n, i)))
      continue;
    tl_interval by_sums = tl_range_weighted(w->m, n, kind, i, in[1 - i], &w->sums);
    y.low = fmax(y.low, by_sums.low);
    y.high = fmin(y.high, by_sums.high);
  }
  if (kind == TL_RANGE_GEMM) {
    double alpha = (double)tl_node_attr_float(w->m, n, TL_SYM_alpha, 1);
    double beta = (double)tl_node_attr_float(w->m, n, TL_SYM_beta, 1);
    y = tl_interval_multiply(y, (tl_interval){alpha, alpha, 0});
    bias = tl_interval_multiply(bias, (tl_interval){beta, beta, 0});
  }
  return tl_interval_add(y, bias);
}

/* Returns the interval of attention: means of values, and 0 for fully masked rows. */
static tl_interval attended(range_walk *w, tl_node_id n) {
  static const uint32_t from[] = {2, 5}; /* values and past values */
  const tl_node *node = tl_node_get(w->m, n);
  tl_interval y = {0, 0, TL_RANGE_TIGHT};
  for (size_t i = 0; i < 2; i++) {
    tl_value_id v = from[i] < node->n_operands ? tl_operand(w->m, n, from[i]) : TL_NO_VALUE;
    tl_interval x = v ? interval_of(w, v) : y;
    y.low = fmin(y.low, x.low);
    y.high = fmax(y.high, x.high);
    y.flags &= x.flags;
  }
  return tl_interval_apply(TL_RANGE_MEAN, 0, &y, 1, 0);
}

/* Returns the interval of an op by its kind, without the facts that depend on neighbours. */
static tl_interval applied(range_walk *w, tl_node_id n, const tl_interval *in, uint32_t n_in,
                           double elements) {
  const tl_range_op *row = tl_range_op_of(w->m, n);
  tl_range_kind kind = (tl_range_kind)row->kind;
  if (n_in == 0)
    return tl_interval_unknown();
  if (kind == TL_RANGE_AFFINE) {
    tl_interval y = tl_range_batch_norm(w->m, n, in[0]);
    y.flags = in[0].flags & TL_RANGE_TIGHT;
    return y;
  }
  if (kind == TL_RANGE_ATTEND)
    return attended(w, n);
  if (kind >= TL_RANGE_MATMUL)
    return product_of(w, n, kind, in, n_in, elements);
  return tl_interval_apply(kind, row->low, in, n_in, elements);
}

/* Returns the interval of the first result of n. */
static tl_interval result_of(range_walk *w, tl_node_id n, const tl_interval *in, uint32_t n_in,
                             double elements) {
  const tl_range_op *row = tl_range_op_of(w->m, n);
  if (row->kind == TL_RANGE_FIXED)
    return (tl_interval){row->low, row->high, TL_RANGE_TIGHT};
  tl_interval y = applied(w, n, in, n_in, elements);
  if (less_greatest(w, n))
    y.high = fmin(y.high, 0);
  y.flags |= carried_flags(w, n, row);
  return y;
}

/* Returns true if an operand speaks against lowering n. *mask: an operand is a softmax mask. */
static bool operand_speaks(range_walk *w, tl_node_id n, bool *mask) {
  const tl_node *node = tl_node_get(w->m, n);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(w->m, n, i);
    bool masks = false;
    if (!is_f32(w, v))
      continue;
    if (tl_value_constant(w->m, v) ? constant_speaks(w, n, i, &masks) : value_speaks(w, n, v))
      return true;
    *mask = *mask || masks;
  }
  return false;
}

/* Returns true if a measured result exceeds the limit. */
static bool result_was_measured(range_walk *w, tl_node_id n) {
  const tl_node *node = tl_node_get(w->m, n);
  for (uint32_t i = 0; i < node->n_results; i++)
    if (is_f32(w, node->results + i) && measure_speaks(w, node->results + i))
      return true;
  return false;
}

/* Reads the constants that n takes, since growth needs the intervals of all of them. */
static void read_constants(range_walk *w, tl_node_id n) {
  for (uint32_t i = 0; i < tl_node_get(w->m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(w->m, n, i);
    if (is_f32(w, v) && tl_value_constant(w->m, v))
      (void)interval_of(w, v);
  }
}

/* Returns true if the node computes with integers that the low dtype does not represent, other than
 * masks. */
static bool integers_speak(range_walk *w, tl_node_id n) {
  const tl_range_op *row = tl_range_op_of(w->m, n);
  const tl_node *node = tl_node_get(w->m, n);
  bool found = false;
  for (uint32_t i = 0; i < node->n_operands && !found; i++) {
    tl_value_id v = tl_operand(w->m, n, i);
    bool weights = v && tl_value_constant(w->m, v) && tl_range_is_product(row);
    found = is_f32(w, v) && !weights && (w->wants.from[v] & TL_FROM_PLACES) &&
            !tl_range_masks_softmax(w->m, n, i);
  }
  if (w->wants.from[node->results] & TL_FROM_SHAPES)
    found = is_f32(w, node->results); /* one large size is enough to be inexact */
  if (row->flags & TL_RANGE_STEPS)    /* the op produces integers */
    found = (w->wants.from[node->results] & TL_FROM_PLACES) != 0;
  if (!found || !node->n_results)
    return false;
  tl_buf_clear(&w->text);
  tl_buf_printf(&w->text,
                "it computes with integers, and %s represents integers exactly only up to %d",
                tl_dtype_get(w->low)->name, w->low == TL_DTYPE_BF16 ? 256 : 2048);
  return true;
}

/* Returns true if anything about node n speaks against lowering; w->text has the reason. An angle
 * takes precedence: it counts without the policy as well. */
static bool node_speaks(range_walk *w, tl_node_id n, double elements, tl_growth grown) {
  const tl_range_op *row = tl_range_op_of(w->m, n);
  bool wide = is_f32(w, tl_node_get(w->m, n)->results);
  bool speaks = wide && result_speaks(w, n, grown, elements);
  bool says_more = w->wants.want[n] == TL_WANT_ANGLE || w->wants.want[n] == TL_WANT_MASKS;
  if (w->wants.want[n] && (!speaks || says_more)) {
    tl_buf_clear(&w->text);
    tl_range_wants_say(w->m, &w->wants, n, &w->text);
    return true;
  }
  return speaks || integers_speak(w, n) ||
         (wide && (depth_speaks(w, row, elements) || result_was_measured(w, n)));
}

/* Keeps w->text as the reason of node n. */
static tl_status keep_text(range_walk *w, tl_node_id n) {
  tl_sv text = tl_sv_trim(tl_buf_view(&w->text));
  w->why[n] = tl_arena_copy(w->arena, text.p, text.n);
  return w->text.failed || !w->why[n] ? TL_NO_MEMORY : TL_OK;
}

/* Visits one node: reasons of its operands come first, then those of its result. */
static tl_status visit(range_walk *w, tl_node_id n) {
  const tl_range_op *row = tl_range_op_of(w->m, n);
  tl_interval in[TL_RANGE_OPERANDS];
  bool mask = false;
  if (tl_node_get(w->m, n)->n_results == 0)
    return TL_OK;
  read_constants(w, n);
  if (operand_speaks(w, n, &mask))
    TL_TRY(keep_text(w, n));
  uint32_t n_in = operands(w, n, row, in);
  double elements = tl_range_combined(w->m, n);
  tl_interval y = result_of(w, n, in, n_in, elements);
  y.flags |= mask ? TL_RANGE_MASKED : 0;
  set_results(w, n, y);
  bool speaks = node_speaks(w, n, elements, tl_range_growth_of(&w->growth, n, elements));
  bool angle = w->wants.want[n] == TL_WANT_ANGLE; /* an angle counts without the policy, too */
  return speaks && (!w->why[n] || angle) ? keep_text(w, n) : TL_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Returns the dtype that the mode lowers to; NONE if it lowers nothing. */
static tl_dtype low_of(const tl_precision_config *c) {
  tl_dtype low = tl_precision_mode_get(c->mode)->low;
  if (!tl_precision_mode_lowers(c->mode))
    return TL_DTYPE_NONE;
  return low == TL_DTYPE_BF16 ? low : TL_DTYPE_F16;
}

/* Sets measured ranges, visits all nodes in order, then keeps data movement between wide nodes
 * wide. */
static tl_status sweep(range_walk *w) {
  for (uint32_t i = 0; i < w->policy->n_measured; i++) {
    tl_symbol s = tl_symbol_find(&w->m->symbols, w->policy->measured[i].name);
    if (s != TL_NO_SYMBOL && s != 0 && !tl_map_set(&w->measured, s, i))
      return TL_NO_MEMORY;
  }
  for (uint32_t v = 0; v < tl_module_value_end(w->m); v++)
    w->values[v] = tl_interval_unknown();
  for (uint32_t i = 0; i < w->m->graphs.n; i++) {
    const tl_graph *g = w->m->graphs.at[i];
    if (g->erased)
      continue;
    for (uint32_t k = 0; k < g->inputs.n; k++) {
      const tl_measured_range *r = measured(w, g->inputs.at[k]);
      if (r)
        w->values[g->inputs.at[k]] = (tl_interval){r->least, r->greatest, 0};
    }
    TL_FOR_NODES(w->m, g, n)
      TL_TRY(visit(w, n));
  }
  return tl_range_keep_moves(w->m, w->why, w->arena);
}

/* Allocates the tables and runs the analysis of wants. False if memory is out. */
static bool prepare(range_walk *w) {
  uint32_t n_values = tl_module_value_end(w->m) + 1U;
  w->values = tl_arena_alloc(w->arena, n_values * sizeof *w->values);
  w->known = tl_arena_calloc(w->arena, n_values, sizeof *w->known);
  w->why = tl_arena_calloc(w->arena, tl_module_node_end(w->m) + 1U, sizeof *w->why);
  w->growth = (tl_range_growth){.m = w->m, .values = w->values, .data_max = w->data_max};
  return w->values && w->known && w->why && tl_range_growth_start(&w->growth, w->arena) == TL_OK &&
         tl_range_wants_find(w->m, w->low, w->arena, &w->wants) == TL_OK;
}

tl_status tl_precision_ranges_find(tl_module *m, const tl_precision_config *c, tl_arena *arena,
                                   tl_range_findings *out) {
  range_walk w = {.m = m, .policy = &c->ranges, .arena = arena, .low = low_of(c)};
  double most = w.low == TL_DTYPE_BF16 ? 3.38953139e38 : 65504;
  *out = (tl_range_findings){0};
  if (w.low == TL_DTYPE_NONE)
    return TL_OK;
  w.data_max = c->ranges.data_max > 0 ? c->ranges.data_max : most;
  w.init_max = c->ranges.init_max > 0 ? c->ranges.init_max : most;
  tl_buf_init(&w.text);
  tl_status status = prepare(&w) ? sweep(&w) : TL_NO_MEMORY;
  tl_buf_release(&w.text);
  tl_map_release(&w.measured);
  tl_weight_sums_release(&w.sums);
  *out = (tl_range_findings){(const char *const *)w.why, w.values, w.wants.want};
  return status == TL_OK ? TL_OK : tl_no_memory(m);
}
