/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of rules over the scales of quantized models. */
#include <math.h>

#include "passes/engine/functions.h"

static const tl_tensor *constant_arg(const tl_site *site, const tl_expr *e, uint32_t i) {
  tl_value_id v = tl_fn_value(site, e, i);
  return v ? tl_value_constant(site->m, v) : NULL;
}

/* Reads element i of a scale for n channels; a single number is the scale of every channel. */
static bool scale_at(const tl_site *site, const tl_tensor *t, uint64_t n, uint64_t i, double *out) {
  uint64_t own = tl_tensor_elements(site->m, t);
  return (own == 1 || own == n) && tl_tensor_float_at(site->m, t, own == 1 ? 0 : i, out);
}

/* A scale may be a product that was computed in f32, or one that was written in decimals: hence the
 * tolerance. */
tl_rv tl_fn_is_product(tl_site *site, const tl_expr *e) {
  enum { MOST = 1 << 20 };             /* upper bound on channels */
  static const double rounding = 3e-7; /* relative; a few units in the last place of f32 */
  const tl_tensor *t[3];
  uint64_t n = 1;
  for (uint32_t i = 0; i < 3; i++) {
    t[i] = constant_arg(site, e, i);
    uint64_t own = t[i] ? tl_tensor_elements(site->m, t[i]) : 0;
    if (own == 0 || own > MOST)
      return tl_rv_none();
    n = own > n ? own : n;
  }
  for (uint64_t i = 0; i < n; i++) {
    double p, a, b;
    if (!scale_at(site, t[0], n, i, &p) || !scale_at(site, t[1], n, i, &a) ||
        !scale_at(site, t[2], n, i, &b) || !(fabs(p - a * b) <= rounding * fabs(a * b)))
      return tl_rv_truth(false);
  }
  return tl_rv_truth(true);
}
