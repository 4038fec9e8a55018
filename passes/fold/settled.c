/* SPDX-License-Identifier: Apache-2.0 */
/* Integer results that ONNX does not define, and that runtimes therefore compute differently; such
 * nodes are not folded. These are: division by 0, a shift by the width of the type or more, a float
 * that its integer type cannot hold, and powers or sums of squares beyond 2^53. Sums, differences
 * and products wrap in every runtime and are folded. */
#include <math.h>

#include "ir/ops_gen.h"
#include "passes/fold/fold.h"

/* Runtimes compute integer powers and reductions in f64, which is exact up to this number. */
static const double most_exact = 9007199254740992.0; /* 2^53 */

/* What ONNX leaves open in the integers of an op, explained in settled_ops.tbl. */
typedef enum hazard {
  HOLDS,
  DIVIDES,
  REMAINS,
  SHIFTS,
  RAISES,
  NEVER,
  ADDS,
  SQUARES,
  MULTIPLIES
} hazard;

typedef struct row {
  uint8_t operands; /* 0: the op is settled, whatever its operands are */
  uint8_t how;      /* hazard */
} row;

static const row rows[] = {
#define SETTLED(name, operands, how) [TL_OP_##name] = {operands, how},
#include "passes/fold/settled_ops.tbl"
};

static row row_of(tl_op_id op) {
  return op < sizeof rows / sizeof *rows ? rows[op] : (row){0, NEVER};
}

/* Facts about all elements of a tensor, read as f64. */
typedef struct facts {
  bool zero, minus_one, lowest, fraction, no_number;
  double least, most, magnitude; /* magnitude: the greatest absolute value */
} facts;

static double lowest_of(tl_dtype d) {
  const tl_dtype_info *info = tl_dtype_get(d);
  return info->name[0] == 'u' || d == TL_DTYPE_BOOL ? 0 : -ldexp(1, info->bits - 1);
}

/* Returns the greatest value plus 1, which is a power of two and thus exact as f64. */
static double end_of(tl_dtype d) {
  const tl_dtype_info *info = tl_dtype_get(d);
  return ldexp(1, info->name[0] == 'u' ? info->bits : info->bits - 1);
}

static facts facts_of(const tl_host *t) {
  facts x = {.least = INFINITY, .most = -INFINITY};
  for (uint64_t i = 0; i < t->n; i++) {
    double v = tl_host_at(t, i);
    x.zero |= v == 0;
    x.minus_one |= v == -1;
    x.lowest |= v == lowest_of((tl_dtype)t->dtype);
    x.no_number |= !isfinite(v);
    x.fraction |= v != trunc(v);
    x.least = fmin(x.least, v);
    x.most = fmax(x.most, v);
    x.magnitude = fmax(x.magnitude, fabs(v));
  }
  return x;
}

static bool is_integer(const tl_host *t) { return tl_dtype_is_integer((tl_dtype)t->dtype); }

/* Returns true if every quotient is defined. The lowest signed integer divided by -1 overflows. */
static bool divides(const tl_host *const *in, bool as_floats) {
  facts x = facts_of(in[0]);
  facts by = facts_of(in[1]);
  bool exact = x.magnitude <= most_exact && by.magnitude <= most_exact;
  return !by.zero && !(x.lowest && by.minus_one && lowest_of((tl_dtype)in[0]->dtype) < 0) &&
         (exact || !as_floats);
}

/* Returns true if every shift count is below the width of the type. */
static bool shifts(const tl_host *const *in) {
  return facts_of(in[1]).most < tl_dtype_get((tl_dtype)in[1]->dtype)->bits;
}

/* Returns true if type d holds every element after truncation. */
static bool holds(tl_dtype d, const tl_host *from) {
  facts x = facts_of(from);
  return from->n == 0 ||
         (!x.no_number && trunc(x.least) >= lowest_of(d) && trunc(x.most) < end_of(d));
}

/* Returns true if every power is exact: bounded by the greatest base to the greatest exponent, and
 * neither 0 to a negative exponent nor a negative base to a fraction. */
static bool raises(const tl_host *const *in) {
  facts x = facts_of(in[0]);
  facts by = facts_of(in[1]);
  double limit = fmin(most_exact, end_of((tl_dtype)in[0]->dtype) - 1);
  return in[0]->n == 0 || in[1]->n == 0 ||
         (!by.no_number && pow(fmax(x.magnitude, 1), fmax(by.most, 0)) <= limit &&
          !(x.zero && by.least < 0) && !(x.least < 0 && by.fraction));
}

/* Returns true if the reduction over all elements stays exact. Any reduction over some of the
 * elements has a smaller bound. */
static bool reduces(hazard how, const tl_host *t) {
  double limit = fmin(most_exact, end_of((tl_dtype)t->dtype) - 1);
  double sum = 0;
  double product = 1;
  for (uint64_t i = 0; i < t->n; i++) {
    double v = fabs(tl_host_at(t, i));
    sum += how == SQUARES ? v * v : v;
    product *= fmax(v, 1);
  }
  return how == MULTIPLIES ? product <= limit : sum <= limit;
}

static bool is_settled(const tl_fold *f, tl_node_id n, hazard how, const tl_host *const *in) {
  tl_dtype to = tl_type_dtype(f->m, tl_value_type(f->m, tl_result(f->m, n, 0)));
  switch (how) {
  case HOLDS:
    return !tl_dtype_is_float((tl_dtype)in[0]->dtype) || !tl_dtype_is_integer(to) ||
           holds(to, in[0]);
  case DIVIDES: return !is_integer(in[0]) || divides(in, false);
  case REMAINS:
    return !is_integer(in[0]) || divides(in, tl_node_attr_int(f->m, n, TL_SYM_fmod, 0) != 0);
  case SHIFTS: return shifts(in);
  case RAISES: return !is_integer(in[0]) || raises(in);
  case NEVER: return !is_integer(in[0]);
  default: return !is_integer(in[0]) || reduces(how, in[0]);
  }
}

/* Returns false early for float results, which runtimes agree on. */
static bool may_matter(const tl_fold *f, tl_node_id n) {
  tl_dtype from = tl_type_dtype(f->m, tl_value_type(f->m, tl_operand(f->m, n, 0)));
  tl_dtype to = tl_type_dtype(f->m, tl_value_type(f->m, tl_result(f->m, n, 0)));
  return from == TL_DTYPE_NONE || to == TL_DTYPE_NONE ||
         (tl_dtype_is_integer(to) && to != TL_DTYPE_BOOL);
}

bool tl_fold_is_settled(tl_fold *f, tl_node_id n) {
  const tl_node *node = tl_node_get(f->m, n);
  row op = row_of(node->op);
  uint32_t asked = op.operands;
  tl_host *in[2] = {NULL, NULL};
  bool ok = true;
  if (!asked || node->n_operands < asked || !node->n_results || !may_matter(f, n))
    return true;
  for (uint32_t i = 0; i < asked && ok; i++) {
    in[i] = tl_fold_take_operand(f, tl_operand(f->m, n, i));
    ok = in[i] && in[i]->kind == TL_HOST_TENSOR && in[i]->dtype != TL_DTYPE_STRING;
  }
  bool settled = !ok || is_settled(f, n, (hazard)op.how, (const tl_host *const *)in);
  for (uint32_t i = 0; i < asked; i++)
    tl_host_release(in[i]);
  if (!settled)
    tl_pass_remark(f->p, f->m, n, false, "not folded: runtimes give different integers");
  return settled;
}
