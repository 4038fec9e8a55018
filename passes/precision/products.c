/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds linear ops by the sums of positive and negative constant weights per output
 * (products.h). */
#include "passes/precision/products.h"

#include <math.h>

#include "ir/host.h"
#include "ir/ops_gen.h"
#include "ir/options/precision_config.h"
#include "ir/tensor_expr.h"

/* Weights that are converted to f32 at a time. */
enum { CHUNK = 1024 };

/* Layout of weights in memory: `outer` blocks of reduce * inner * tail elements. All elements with
 * one (outer, inner) index are summed into one output. */
typedef struct layout {
  uint64_t outer;
  uint64_t reduce;
  uint64_t inner;
  uint64_t tail;
} layout;

/* State of one pass over the weights in memory order. */
typedef struct reader {
  layout l;
  tl_interval x;
  double *above; /* [inner] of the current block: sum of positive weights */
  double *below; /* [inner] the same of negative weights, as a positive number */
  uint64_t r;    /* indices of the next weight */
  uint64_t i;
  uint64_t t;
  double low; /* interval over the outputs so far */
  double high;
  double magnitude; /* greatest sum of magnitudes of the terms of one output */
} reader;

/* ---- layouts --------------------------------------------------------------------------------- */

/* Returns the product of dims from..to. */
static uint64_t product(const tl_type *t, int32_t from, int32_t to) {
  uint64_t n = 1;
  for (int32_t i = from; i < to; i++)
    n *= (uint64_t)t->dims[i]; /* dims of a constant, whose elements were counted */
  return n;
}

/* Layout of a matrix operand. The dim that is summed over is the last of the left operand and the
 * last but one of the right; a transposition exchanges them. */
static bool matrix_layout(const tl_type *t, bool left, bool transposed, layout *l) {
  int32_t r = t->rank;
  if (r < 1)
    return false;
  if (r == 1)
    *l = (layout){1, (uint64_t)t->dims[0], 1, 1};
  else if (left == !transposed) /* summed elements are contiguous */
    *l = (layout){product(t, 0, r - 1), (uint64_t)t->dims[r - 1], 1, 1};
  else
    *l = (layout){product(t, 0, r - 2), (uint64_t)t->dims[r - 2], (uint64_t)t->dims[r - 1], 1};
  return true;
}

/* MatMul has no such attributes and is never transposed. */
static bool is_turned(const tl_module *m, tl_node_id n, uint32_t operand) {
  return tl_node_attr_int(m, n, operand == 0 ? TL_SYM_transA : TL_SYM_transB, 0) != 0;
}

/* Layout of the weights: Conv [M, C/g, k...] sums all but dim 0; ConvTranspose [C, M/g, k...] is in
 * groups of C/g rows, of which one output takes all kernel elements at most. */
static bool layout_of(const tl_module *m, tl_node_id n, tl_range_kind kind, uint32_t constant,
                      const tl_type *t, layout *l) {
  if (kind == TL_RANGE_MATMUL || kind == TL_RANGE_GEMM)
    return matrix_layout(t, constant == 0, is_turned(m, n, constant), l);
  if (constant != 1 || t->rank < 2)
    return false;
  if (kind == TL_RANGE_CONV) {
    *l = (layout){(uint64_t)t->dims[0], product(t, 1, t->rank), 1, 1};
    return true;
  }
  int64_t groups = tl_node_attr_int(m, n, TL_SYM_group, 1);
  if (groups < 1 || t->dims[0] % groups)
    return false;
  *l = (layout){(uint64_t)groups, (uint64_t)(t->dims[0] / groups), (uint64_t)t->dims[1],
                product(t, 2, t->rank)};
  return true;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* 0 * inf is 0: the infinity stands for an unknown finite number. */
static double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

/* Turns the sums of one block into bounds: positive weights take the upper end of x for the
 * maximum, negative ones the lower. */
static void finish_outer(reader *s) {
  double most = tl_interval_magnitude(&s->x);
  for (uint64_t i = 0; i < s->l.inner; i++) {
    double p = s->above[i];
    double q = s->below[i];
    s->high = fmax(s->high, times(p, s->x.high) - times(q, s->x.low));
    s->low = fmin(s->low, times(p, s->x.low) - times(q, s->x.high));
    s->magnitude = fmax(s->magnitude, (p + q) * most);
    s->above[i] = s->below[i] = 0;
  }
}

/* Goes to the next row of the block, or finishes the block. */
static void end_row(reader *s) {
  s->i = 0;
  if (++s->r < s->l.reduce)
    return;
  s->r = 0;
  finish_outer(s);
}

/* Adds n weights of neighbouring outputs, without a branch, so that the loop becomes vectors. */
static void add_row(double *restrict above, double *restrict below, const float *restrict w,
                    size_t n) {
  for (size_t k = 0; k < n; k++) {
    double v = (double)w[k];
    above[k] += v > 0 ? v : 0;
    below[k] -= v > 0 ? 0 : v;
  }
}

/* Adds the next n weights of a matrix row by row, as add_weights does. */
static void add_rows(reader *s, const float *w, size_t n) {
  for (size_t k; n; n -= k, w += k) {
    k = n < s->l.inner - s->i ? n : (size_t)(s->l.inner - s->i);
    add_row(s->above + s->i, s->below + s->i, w, k);
    s->i += k;
    if (s->i == s->l.inner)
      end_row(s);
  }
}

/* Adds the next n weights and advances the three indices. */
static void add_weights(reader *s, const float *w, size_t n) {
  for (size_t k = 0; k < n; k++) {
    if (w[k] > 0)
      s->above[s->i] += (double)w[k];
    else
      s->below[s->i] -= (double)w[k];
    if (++s->t < s->l.tail)
      continue;
    s->t = 0;
    if (++s->i == s->l.inner)
      end_row(s);
  }
}

/* Reads all weights in memory order, block by block, so that a mapped file is never copied as a
 * whole. */
static void read_weights(reader *s, const tl_tensor *t) {
  size_t size = tl_dtype_get((tl_dtype)t->dtype)->bits / 8u;
  tl_tensor_room room;
  union {
    unsigned char bytes[CHUNK * 8];
    double aligned;
  } in;
  float wide[CHUNK];
  size_t bytes;
  for (uint64_t at = 0; at < t->bytes; at += bytes) {
    const unsigned char *p = tl_tensor_block(t, at, &room, &bytes);
    for (size_t left = bytes / size, k; left; left -= k, p += k * size) {
      k = left < CHUNK ? left : CHUNK;
      memcpy(in.bytes, p, k * size); /* mapped files are not aligned */
      tl_host_to_f32((tl_dtype)t->dtype, in.bytes, wide, 0, k);
      if (s->l.tail == 1 && s->l.inner > 1)
        add_rows(s, wide, k);
      else
        add_weights(s, wide, k);
    }
  }
}

/* Relative error of summing in f32 in any order, relative to the sum of magnitudes. */
static double error_of(const layout *l) {
  return fmax(1e-3, 1.2e-7 * (double)l->reduce * (double)l->tail);
}

tl_interval tl_range_weighted(tl_module *m, tl_node_id n, tl_range_kind kind, uint32_t constant,
                              tl_interval x, tl_weight_sums *room) {
  tl_value_id v = tl_operand(m, n, constant);
  const tl_tensor *t = tl_value_constant(m, v);
  const tl_type *type = tl_type_get(m, tl_value_type(m, v));
  reader s = {.low = INFINITY, .high = -INFINITY};
  bool pads = kind == TL_RANGE_CONV || kind == TL_RANGE_DECONV; /* at the border some terms are 0 */
  if (pads)
    x = (tl_interval){fmin(x.low, 0), fmax(x.high, 0), x.flags};
  bool floats = t && (t->dtype == TL_DTYPE_F32 || tl_dtype_is_ranked((tl_dtype)t->dtype));
  if (!floats || !isfinite(tl_interval_magnitude(&x)) ||
      !layout_of(m, n, kind, constant, type, &s.l) || tl_tensor_elements(m, t) == 0)
    return tl_interval_unknown();
  room->n = 0;
  for (uint64_t i = 0; i < 2 * s.l.inner; i++)
    if (i >= UINT32_MAX || !tl_weight_sums_push(room, 0))
      return tl_interval_unknown();
  s.x = x;
  s.above = room->at;
  s.below = room->at + s.l.inner;
  read_weights(&s, t);
  double error = error_of(&s.l) * s.magnitude;
  bool known = isfinite(s.low) && isfinite(s.high) && s.magnitude < 3e38;
  return known ? (tl_interval){s.low - error, s.high + error, 0} : tl_interval_unknown();
}

/* ---- batch normalization --------------------------------------------------------------------- */

/* Adds the bounds of one channel: y = (x - mean) / sqrt(var + eps) * scale + shift. p: scale,
 * shift, mean, variance. Returns false if the result may be anything. */
static bool add_channel(tl_interval x, const double p[4], double epsilon, tl_interval *y) {
  double scale = p[0] / sqrt(p[3] + epsilon);
  double shift = p[1] - p[2] * scale;
  double a = times(scale, x.low) + shift;
  double b = times(scale, x.high) + shift;
  double error = 1e-3 * (fabs(scale) * (tl_interval_magnitude(&x) + fabs(p[2])) + fabs(p[1]));
  if (!(p[3] >= 0) || !(p[3] + epsilon > 0) || !isfinite(a) || !isfinite(b))
    return false;
  y->low = fmin(y->low, fmin(a, b) - error);
  y->high = fmax(y->high, fmax(a, b) + error);
  return true;
}

tl_interval tl_range_batch_norm(tl_module *m, tl_node_id n, tl_interval x) {
  const tl_tensor *t[4];
  tl_interval y = {INFINITY, -INFINITY, 0};
  double epsilon = (double)tl_node_attr_float(m, n, TL_SYM_epsilon, 1e-5f);
  if (tl_node_get(m, n)->n_operands < 5 || tl_node_attr_int(m, n, TL_SYM_training_mode, 0) ||
      !(epsilon >= 0) || !isfinite(tl_interval_magnitude(&x)))
    return tl_interval_unknown();
  for (uint32_t k = 0; k < 4; k++) {
    tl_value_id v = tl_operand(m, n, k + 1);
    t[k] = v ? tl_value_constant(m, v) : NULL;
    if (!t[k] || tl_tensor_elements(m, t[k]) != tl_tensor_elements(m, t[0]))
      return tl_interval_unknown();
  }
  uint64_t channels = tl_tensor_elements(m, t[0]);
  for (uint64_t c = 0; c < channels; c++) {
    double p[4];
    for (uint32_t k = 0; k < 4; k++)
      if (!tl_tensor_float_at(m, t[k], c, &p[k]))
        return tl_interval_unknown();
    if (!add_channel(x, p, epsilon, &y))
      return tl_interval_unknown();
  }
  return channels ? y : tl_interval_unknown();
}
