/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores lines of cells, and walks over all lines of a tensor. What a line computes
 * depends on its own elements only, so that threads change nothing. */
#include "ir/eval/kernel/lines.h"

#include <math.h>

/* LINES_AT_ONCE: lines that are loaded together when their elements are strided; 8 floats are half
 * a cache line. WORK_OF_A_SLOT: elements that a thread should have at least. */
enum { LINES_AT_ONCE = 8, WORK_OF_A_SLOT = 1 << 14 };

/* ---- cells ---------------------------------------------------------------------------------- */

/* The case stride 1 is a loop of its own, because compilers vectorise it only then. */
#define LOAD(TYPE, CELL)                                                                           \
  do {                                                                                             \
    const TYPE *p = (const TYPE *)data + first;                                                    \
    CELL *c = cells;                                                                               \
    if (stride == 1)                                                                               \
      for (uint64_t i = 0; i < n; i++)                                                             \
        c[i] = (CELL)p[i];                                                                         \
    else                                                                                           \
      for (uint64_t i = 0; i < n; i++)                                                             \
        c[i] = (CELL)p[i * stride];                                                                \
  } while (0)

#define STORE(TYPE, CELL)                                                                          \
  do {                                                                                             \
    TYPE *p = (TYPE *)data + first;                                                                \
    const CELL *c = cells;                                                                         \
    if (stride == 1)                                                                               \
      for (uint64_t i = 0; i < n; i++)                                                             \
        p[i] = (TYPE)c[i];                                                                         \
    else                                                                                           \
      for (uint64_t i = 0; i < n; i++)                                                             \
        p[i * stride] = (TYPE)c[i];                                                                \
  } while (0)

void tl_cells_load(int dtype, const void *data, uint64_t first, uint64_t stride, uint64_t n,
                   void *cells) {
  switch (dtype) {
  case TL_DTYPE_F32: LOAD(float, double); break;
  case TL_DTYPE_F64: LOAD(double, double); break;
  case TL_DTYPE_I8: LOAD(int8_t, int64_t); break;
  case TL_DTYPE_I16: LOAD(int16_t, int64_t); break;
  case TL_DTYPE_I32: LOAD(int32_t, int64_t); break;
  case TL_DTYPE_U16: LOAD(uint16_t, int64_t); break;
  case TL_DTYPE_U32: LOAD(uint32_t, int64_t); break;
  case TL_DTYPE_I64:
  case TL_DTYPE_U64: LOAD(int64_t, int64_t); break;
  default: LOAD(uint8_t, int64_t); break;
  }
}

void tl_cells_store(int dtype, const void *cells, void *data, uint64_t first, uint64_t stride,
                    uint64_t n) {
  switch (dtype) {
  case TL_DTYPE_F32: STORE(float, double); break;
  case TL_DTYPE_F64: STORE(double, double); break;
  case TL_DTYPE_I8: STORE(int8_t, int64_t); break;
  case TL_DTYPE_I16: STORE(int16_t, int64_t); break;
  case TL_DTYPE_I32: STORE(int32_t, int64_t); break;
  case TL_DTYPE_U16: STORE(uint16_t, int64_t); break;
  case TL_DTYPE_U32: STORE(uint32_t, int64_t); break;
  case TL_DTYPE_I64:
  case TL_DTYPE_U64: STORE(int64_t, int64_t); break;
  default: STORE(uint8_t, int64_t); break;
  }
}

double tl_cell_at(const tl_host *t, uint64_t i) {
  return t->dtype == TL_DTYPE_F32 ? (double)((const float *)t->data)[i]
                                  : ((const double *)t->data)[i];
}

void tl_cells_flip(int dtype, void *cells, uint64_t n) {
  uint64_t *c = cells;
  if (dtype == TL_DTYPE_U64)
    for (uint64_t i = 0; i < n; i++)
      c[i] ^= UINT64_C(1) << 63;
}

/* The parts are fixed by the index, not by the vector width, so the order is the same
 * everywhere. */
double tl_cells_sum(const double *c, uint64_t n) {
  double s[4] = {0, 0, 0, 0};
  uint64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; k++)
      s[k] += c[i + (uint64_t)k];
  for (; i < n; i++)
    s[i & 3] += c[i];
  return (s[0] + s[1]) + (s[2] + s[3]);
}

double tl_cells_sum_of_squares(const double *c, uint64_t n, double about) {
  double s[4] = {0, 0, 0, 0};
  uint64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; k++) {
      double d = c[i + (uint64_t)k] - about;
      s[k] += d * d;
    }
  for (; i < n; i++) {
    double d = c[i] - about;
    s[i & 3] += d * d;
  }
  return (s[0] + s[1]) + (s[2] + s[3]);
}

/* Four maxima, combined at the end, as in the sums. A comparison with NaN is false, so NaN is found
 * by counting the cells that are numbers. */
double tl_cells_max(const double *c, uint64_t n) {
  double m[4] = {c[0], c[0], c[0], c[0]};
  uint64_t i = 0, numbers = 0; /* cells that are no NaN */
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; k++) {
      double v = c[i + (uint64_t)k];
      m[k] = v > m[k] ? v : m[k];
      numbers += v == v;
    }
  for (; i < n; i++) {
    m[0] = c[i] > m[0] ? c[i] : m[0];
    numbers += c[i] == c[i];
  }
  if (numbers != n)
    return (double)NAN;
  m[0] = m[1] > m[0] ? m[1] : m[0];
  m[2] = m[3] > m[2] ? m[3] : m[2];
  return m[2] > m[0] ? m[2] : m[0];
}

/* ---- lines ---------------------------------------------------------------------------------- */

tl_lines tl_lines_of(const tl_host *t, uint32_t axis, uint32_t end) {
  tl_lines g = {1, 1, 1};
  for (uint32_t i = 0; i < (uint32_t)t->rank; i++)
    *(i < axis ? &g.outer : i < end ? &g.n : &g.inner) *= (uint64_t)t->dims[i];
  return g;
}

typedef struct lines_job {
  const tl_host *in;
  tl_host *out;
  tl_lines g;
  tl_line_fn fn;
  void *user;
  uint64_t block;  /* lines loaded together, so that strided elements share cache lines */
  uint64_t blocks; /* in all */
  uint64_t per_outer;
  uint64_t slots;
  uint64_t cells; /* of a slot's buffer */
  int64_t *memory;
} lines_job;

/* Loads or stores `width` neighbouring lines, each of n cells. The elements of one index k lie side
 * by side in the tensor, so a strip of them is moved at once. */
static void move_block(const lines_job *j, bool store, uint64_t first, uint64_t width,
                       int64_t *cells) {
  union { /* a strip has doubles or integers; between cells their bytes move */
    double floats[LINES_AT_ONCE];
    int64_t integers[LINES_AT_ONCE];
  } strip;
  int dtype = store ? j->out->dtype : j->in->dtype;
  for (uint64_t k = 0; k < j->g.n; k++) {
    uint64_t at = first + k * j->g.inner;
    if (!store)
      tl_cells_load(dtype, j->in->data, at, 1, width, &strip);
    for (uint64_t w = 0; w < width; w++)
      if (store)
        memcpy(&strip.integers[w], &cells[w * j->g.n + k], sizeof *cells);
      else
        memcpy(&cells[w * j->g.n + k], &strip.integers[w], sizeof *cells);
    if (store)
      tl_cells_store(dtype, &strip, j->out->data, at, 1, width);
  }
}

/* Runs fn over one block of neighbouring lines. Lines with inner == 1 are contiguous and need no
 * strips; a block then is one line. */
static void run_block(const lines_job *j, uint64_t block, int64_t *cells) {
  uint64_t outer = block / j->per_outer, from = block % j->per_outer * j->block;
  uint64_t width = j->g.inner - from < j->block ? j->g.inner - from : j->block;
  uint64_t first = outer * j->g.n * j->g.inner + from;
  if (j->g.inner == 1)
    tl_cells_load(j->in->dtype, j->in->data, first, 1, j->g.n, cells);
  else
    move_block(j, false, first, width, cells);
  for (uint64_t w = 0; w < width; w++)
    j->fn(j->user, outer * j->g.inner + from + w, cells + w * j->g.n, j->g.n,
          cells + j->block * j->g.n);
  if (j->out && j->g.inner == 1)
    tl_cells_store(j->out->dtype, cells, j->out->data, first, 1, j->g.n);
  else if (j->out)
    move_block(j, true, first, width, cells);
}

static void run_slots(void *user, uint64_t begin, uint64_t end) {
  const lines_job *j = user;
  uint64_t part = (j->blocks + j->slots - 1) / j->slots;
  for (uint64_t s = begin; s < end; s++)
    for (uint64_t b = s * part; b < (s + 1) * part && b < j->blocks; b++)
      run_block(j, b, j->memory + s * j->cells);
}

/* Returns the number of slots. A slot is a share of the blocks with a buffer of its own. Four for
 * each thread balance the load; fewer when a slot would get too little work. */
static uint64_t count_slots(const tl_eval *ctx, uint64_t blocks, uint64_t cells) {
  uint64_t slots = ctx->pool ? 4 * (uint64_t)tl_pool_threads(ctx->pool) : 1;
  uint64_t worth = WORK_OF_A_SLOT / (cells + 1) + 1; /* blocks that a slot should have at least */
  if (slots > blocks / worth)
    slots = blocks / worth;
  return slots ? slots : 1;
}

tl_status tl_eval_lines(tl_eval *ctx, const tl_host *in, tl_lines g, tl_host *out,
                        tl_line_work work) {
  lines_job j = {.in = in, .out = out, .g = g, .fn = work.fn, .user = work.user};
  if (!g.outer || !g.inner)
    return TL_OK;
  j.block = g.inner < LINES_AT_ONCE ? g.inner : LINES_AT_ONCE;
  j.per_outer = (g.inner + j.block - 1) / j.block;
  uint64_t all;
  if (__builtin_mul_overflow(g.outer, j.per_outer, &j.blocks) ||
      __builtin_mul_overflow(j.block, g.n, &j.cells) ||
      __builtin_add_overflow(j.cells, work.spare, &j.cells))
    return tl_eval_no_memory(ctx);
  j.slots = count_slots(ctx, j.blocks, j.cells);
  if (__builtin_mul_overflow(j.slots, j.cells, &all))
    return tl_eval_no_memory(ctx);
  j.memory = tl_eval_scratch(ctx, all, sizeof *j.memory);
  if (!j.memory)
    return tl_eval_no_memory(ctx);
  tl_eval_for(ctx, j.slots, 1, run_slots, &j);
  return TL_OK;
}

tl_status tl_eval_along(tl_eval *ctx, int64_t axis, tl_line_fn fn, void *user) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  const tl_host *in = tl_eval_in(ctx, 0);
  uint32_t at;
  tl_host *out;
  TL_TRY(tl_eval_axis(ctx, axis, in->rank ? in->rank : 1, &at)); /* a scalar is a line of one */
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)in->dtype, in, &out));
  if (!out->n)
    return TL_OK;
  return tl_eval_lines(ctx, in, tl_lines_of(in, at, at + 1), out, (tl_line_work){fn, user, 0});
}

/* ---- broadcast operands --------------------------------------------------------------------- */

/* Returns true when t, without its leading dims of 1, has the trailing dims of `over`: the
 * broadcast tensor then is t again and again. */
static bool repeats(const tl_host *t, const tl_host *over) {
  int leading = 0;
  while (leading < t->rank && t->dims[leading] == 1)
    leading++;
  int rest = t->rank - leading;
  return rest <= over->rank && (!rest || memcmp(t->dims + leading, over->dims + over->rank - rest,
                                                (size_t)rest * sizeof *t->dims) == 0);
}

tl_status tl_spread_open(tl_eval *ctx, const tl_host *t, const tl_host *over, tl_spread *s) {
  *s = (tl_spread){.t = t};
  if (!t)
    return TL_OK;
  const tl_host *both[2] = {over, t};
  int64_t strides[2][TL_MAX_RANK];
  TL_TRY(tl_eval_broadcast(ctx, both, 2, &s->rank, s->dims, strides));
  if (s->rank != over->rank ||
      (s->rank && memcmp(s->dims, over->dims, (size_t)s->rank * sizeof *s->dims) != 0))
    return tl_eval_fail(ctx, "an operand has a larger shape than the data that it applies to");
  memcpy(s->strides, strides[1], sizeof s->strides);
  s->periodic = repeats(t, over);
  return TL_OK;
}

/* The frequent case, a bias or scale along the last dims: copies whole runs instead of indexing
 * each element. */
static void load_periods(const tl_spread *s, uint64_t first, uint64_t n, double *cells) {
  uint64_t period = s->t->n, at = first % period;
  if (period == 1) {
    double v = tl_cell_at(s->t, 0);
    for (uint64_t i = 0; i < n; i++)
      cells[i] = v;
    return;
  }
  while (n) {
    uint64_t part = n < period - at ? n : period - at;
    tl_cells_load(s->t->dtype, s->t->data, at, 1, part, cells);
    cells += part;
    n -= part;
    at = 0;
  }
}

/* The general case steps through the index like an odometer: one addition an element, no
 * division. */
void tl_spread_load(const tl_spread *s, uint64_t first, uint64_t n, double *cells) {
  if (s->periodic) {
    load_periods(s, first, n, cells);
    return;
  }
  uint64_t at[TL_MAX_RANK];
  int64_t place = 0;
  for (int k = s->rank - 1; k >= 0; k--) {
    at[k] = first % (uint64_t)s->dims[k];
    first /= (uint64_t)s->dims[k];
    place += (int64_t)at[k] * s->strides[k];
  }
  for (uint64_t i = 0; i < n; i++) {
    cells[i] = tl_cell_at(s->t, (uint64_t)place);
    int k = s->rank - 1;
    for (; k >= 0 && ++at[k] == (uint64_t)s->dims[k]; k--) {
      place -= s->strides[k] * (s->dims[k] - 1);
      at[k] = 0;
    }
    if (k >= 0)
      place += s->strides[k];
  }
}
