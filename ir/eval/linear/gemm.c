/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix product (gemm.h), blocked as by Goto and van de Geijn (2008). C is cut into tasks for
 * the pool; a task walks blocks of columns, of k and of rows, packs both operands and calls the
 * tile of the processor. */
#include "ir/eval/linear/gemm.h"

#include "ir/eval/linear/blas.h"
#include "ir/eval/linear/gemm_unit.h"

enum {
  K_BLOCK = 256,           /* a packed column panel of B stays in the first-level cache */
  ROW_BLOCK = 192,         /* a multiple of the rows of every tile: A stays in the second level, */
  COLUMN_BLOCK = 768,      /* and so does B */
  TASK_PRODUCTS = 1 << 18, /* less work is not worth a task */
  TASKS_A_THREAD = 3,      /* of one matrix; each packs the other operand anew */
  CACHE_LINE = 64
};

/* The buffers of a worker, which packs into them. */
typedef struct workspace {
  char *a;    /* [ROW_BLOCK / rows][K_BLOCK][rows] */
  char *b;    /* [COLUMN_BLOCK / columns][K_BLOCK][columns] */
  char *edge; /* a whole tile, for those that stick out of C */
} workspace;

/* A product and how it is divided. */
typedef struct job {
  const tl_gemm *g;
  const tl_gemm_unit *unit;
  size_t size;     /* bytes of an element */
  workspace *work; /* by worker */
  int64_t task_rows;
  int64_t task_columns;
  uint64_t row_tasks;
  uint64_t column_tasks;
} job;

/* Part of C that a task computes. */
typedef struct area {
  uint64_t batch;
  int64_t row, rows;
  int64_t column, columns;
} area;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* step need not be a power of two. */
static int64_t round_up(int64_t v, int64_t step) { return (v + step - 1) / step * step; }

/* ---- packing -------------------------------------------------------------------------------- */

/* Packs lanes that are adjacent in memory. Copies of a constant size compile to a few moves. */
static void copy_rows(const char *from, size_t stride, int64_t steps, size_t bytes, size_t line,
                      char *dst) {
  if (bytes == 128)
    for (int64_t s = 0; s < steps; s++)
      memcpy(dst + (size_t)s * 128, from + (size_t)s * stride, 128);
  else if (bytes == 64 && line == 64)
    for (int64_t s = 0; s < steps; s++)
      memcpy(dst + (size_t)s * 64, from + (size_t)s * stride, 64);
  else
    for (int64_t s = 0; s < steps; s++)
      memcpy(dst + (size_t)s * line, from + (size_t)s * stride, bytes);
}

enum { TILE = 8 }; /* lanes and steps that are transposed at a time */

/* Defines the packing of a type: lanes that are adjacent are copied, others transposed. Operands
 * may lie anywhere, as weights of a file do. */
#define DEFINE_PACK(NAME, TYPE)                                                                    \
  typedef TYPE NAME##_anywhere __attribute__((aligned(1), may_alias));                             \
  static void NAME##_lane(const NAME##_anywhere *from, int64_t k_stride, const tl_gemm_block *b,   \
                          int64_t s, TYPE *dst) {                                                  \
    for (; s < b->steps; s++)                                                                      \
      dst[s * b->width] = from[s * k_stride];                                                      \
  }                                                                                                \
  /* lanes whose steps are adjacent */                                                             \
  static void NAME##_tiles(const NAME##_anywhere *from, int64_t lane_stride,                       \
                           const tl_gemm_block *b, TYPE *dst) {                                    \
    int64_t whole = b->steps / TILE * TILE, lane = 0;                                              \
    for (; lane + TILE <= b->lanes; lane += TILE)                                                  \
      for (int64_t s = 0; s < whole; s += TILE) {                                                  \
        TYPE tile[TILE][TILE];                                                                     \
        for (int l = 0; l < TILE; l++)                                                             \
          memcpy(tile[l], from + (lane + l) * lane_stride + s, sizeof tile[l]);                    \
        for (int k = 0; k < TILE; k++)                                                             \
          for (int l = 0; l < TILE; l++)                                                           \
            dst[(s + k) * b->width + lane + l] = tile[l][k];                                       \
      }                                                                                            \
    for (int64_t l = 0; l < b->lanes; l++)                                                         \
      NAME##_lane(from + l * lane_stride, 1, b, l < lane ? whole : 0, dst + l);                    \
  }                                                                                                \
  static void NAME(const tl_gemm_side *side, const tl_gemm_block *b, TYPE *dst) {                  \
    const NAME##_anywhere *from = (const NAME##_anywhere *)side->data +                            \
                                  (side->at ? side->at[b->batch] : 0) +                            \
                                  b->lane * side->lane_stride + b->k * side->k_stride;             \
    size_t size = sizeof *dst;                                                                     \
    if (b->lanes < b->width)                                                                       \
      memset(dst, 0, (size_t)(b->steps * b->width) * size);                                        \
    if (side->lane_stride == 1)                                                                    \
      copy_rows((const char *)from, (size_t)side->k_stride *size, b->steps,                        \
                (size_t)b->lanes *size, (size_t)b->width *size, (char *)dst);                      \
    else if (side->k_stride == 1)                                                                  \
      NAME##_tiles(from, side->lane_stride, b, dst);                                               \
    else                                                                                           \
      for (int64_t l = 0; l < b->lanes; l++)                                                       \
        NAME##_lane(from + l * side->lane_stride, side->k_stride, b, 0, dst + l);                  \
  }

/* Packing does not look at the elements, so their size is enough. */
DEFINE_PACK(pack_4, uint32_t)
DEFINE_PACK(pack_8, uint64_t)

/* Packs lanes [b.lane, b.lane + lanes) as panels of b.width lanes, one after the other. */
static void pack(const job *j, const tl_gemm_side *side, tl_gemm_block b, int64_t lanes,
                 char *dst) {
  int64_t end = b.lane + lanes;
  for (; b.lane < end; b.lane += b.width) {
    b.lanes = least(b.width, end - b.lane);
    if (side->pack)
      side->pack(side->user, &b, dst);
    else if (j->size == 4)
      pack_4(side, &b, (uint32_t *)(void *)dst);
    else
      pack_8(side, &b, (uint64_t *)(void *)dst);
    dst += (size_t)(b.steps * b.width) * j->size;
  }
}

/* ---- tiles ---------------------------------------------------------------------------------- */

/* Packed panels of A and B, and the part of C that they make. */
typedef struct tile {
  int64_t steps;
  const char *a;
  const char *b;
  char *c;
  int64_t rows;
  int64_t columns;
} tile;

/* Computes a tile that sticks out of C in `edge`, which has full size, and copies the part
 * inside. */
static void edge_tile(const job *j, const tile *t, char *edge, bool accumulate) {
  const tl_gemm_unit *u = j->unit;
  size_t line = (size_t)u->columns * j->size, stride = (size_t)j->g->c_stride * j->size;
  size_t used = (size_t)t->columns * j->size;
  for (int64_t i = 0; accumulate && i < t->rows; i++)
    memcpy(edge + (size_t)i * line, t->c + (size_t)i * stride, used);
  u->tile(t->steps, t->a, t->b, edge, u->columns, accumulate);
  for (int64_t i = 0; i < t->rows; i++)
    memcpy(t->c + (size_t)i * stride, edge + (size_t)i * line, used);
}

/* Runs all tiles of packed blocks. `at` is the part of C that they cover. */
static void tiles(const job *j, const workspace *w, const area *at, int64_t steps,
                  bool accumulate) {
  const tl_gemm_unit *u = j->unit;
  char *c = (char *)j->g->c + (size_t)(j->g->c_at ? j->g->c_at[at->batch] : 0) * j->size;
  for (int64_t col = 0; col < at->columns; col += u->columns) {
    const char *b = w->b + (size_t)(col * steps) * j->size;
    for (int64_t row = 0; row < at->rows; row += u->rows) {
      const char *a = w->a + (size_t)(row * steps) * j->size;
      size_t place = (size_t)((at->row + row) * j->g->c_stride + at->column + col) * j->size;
      tile t = {steps,
                a,
                b,
                c + place,
                least(u->rows, at->rows - row),
                least(u->columns, at->columns - col)};
      if (t.rows == u->rows && t.columns == u->columns)
        u->tile(steps, a, b, t.c, j->g->c_stride, accumulate);
      else
        edge_tile(j, &t, w->edge, accumulate);
    }
  }
}

/* Computes a block of columns. B is packed once for each block of k, A for each block of rows in
 * it. The blocks of k come in order, and each continues the sums that C holds. */
static void column_block(const job *j, const workspace *w, const area *whole) {
  const tl_gemm *g = j->g;
  for (int64_t k = 0; k < g->k; k += K_BLOCK) {
    tl_gemm_block block = {.batch = whole->batch, .k = k, .steps = least(K_BLOCK, g->k - k)};
    block.lane = whole->column;
    block.width = j->unit->columns;
    pack(j, &g->b, block, whole->columns, w->b);
    block.width = j->unit->rows;
    for (int64_t row = 0; row < whole->rows; row += ROW_BLOCK) {
      area part = *whole;
      part.row += row;
      part.rows = least(ROW_BLOCK, whole->rows - row);
      block.lane = part.row;
      pack(j, &g->a, block, part.rows, w->a);
      tiles(j, w, &part, block.steps, k > 0 || g->accumulate);
    }
  }
}

/* Task i: a batch and a part of C. */
static tl_status run_task(void *user, size_t i, unsigned worker) {
  const job *j = user;
  uint64_t place = i % (j->row_tasks * j->column_tasks);
  area a = {.batch = i / (j->row_tasks * j->column_tasks),
            .row = (int64_t)(place / j->column_tasks) * j->task_rows,
            .column = (int64_t)(place % j->column_tasks) * j->task_columns};
  a.rows = least(j->task_rows, j->g->m - a.row);
  int64_t columns = least(j->task_columns, j->g->n - a.column);
  for (int64_t done = 0; done < columns; done += COLUMN_BLOCK) {
    area part = a;
    part.column += done;
    part.columns = least(COLUMN_BLOCK, columns - done);
    column_block(j, &j->work[worker], &part);
  }
  return TL_OK;
}

/* ---- division into tasks -------------------------------------------------------------------- */

/* Makes enough tasks of one matrix to balance threads: by columns first, since B then is packed
 * once; by rows when there are few columns. Many batches are tasks enough. */
static void divide(job *j, unsigned threads) {
  const tl_gemm *g = j->g;
  double products = (double)g->m * (double)g->n * (double)g->k;
  int64_t wanted = 1;
  if (threads > 1 && g->batches < (uint64_t)4 * threads && products > TASK_PRODUCTS) {
    double most = products / TASK_PRODUCTS;
    int64_t limit = (int64_t)threads * TASKS_A_THREAD;
    wanted = most < (double)limit ? (int64_t)most : limit;
  }
  bool by_columns = g->n >= g->m || g->n >= wanted * j->unit->columns * 4;
  int64_t step = by_columns ? j->unit->columns : j->unit->rows;
  int64_t length = by_columns ? g->n : g->m;
  int64_t part = round_up((length + wanted - 1) / wanted, step);
  j->task_rows = by_columns ? g->m : part;
  j->task_columns = by_columns ? part : g->n;
  j->row_tasks = (uint64_t)((g->m + j->task_rows - 1) / j->task_rows);
  j->column_tasks = (uint64_t)((g->n + j->task_columns - 1) / j->task_columns);
}

/* Returns scratch memory that begins at a cache line. */
static char *aligned(tl_eval *ctx, size_t bytes) {
  char *p = tl_eval_scratch(ctx, bytes + CACHE_LINE, 1);
  return p ? p + (CACHE_LINE - (uintptr_t)p % CACHE_LINE) : NULL;
}

/* Gives each worker its buffers, no larger than the blocks that it will see. */
static bool make_workspaces(tl_eval *ctx, job *j, unsigned threads) {
  const tl_gemm *g = j->g;
  size_t rows = (size_t)round_up(least(ROW_BLOCK, j->task_rows), j->unit->rows);
  size_t columns = (size_t)round_up(least(COLUMN_BLOCK, j->task_columns), j->unit->columns);
  size_t steps = (size_t)least(K_BLOCK, g->k);
  j->work = tl_eval_scratch(ctx, threads, sizeof *j->work);
  for (unsigned i = 0; j->work && i < threads; i++) {
    workspace *w = &j->work[i];
    w->a = aligned(ctx, rows * steps * j->size);
    w->b = aligned(ctx, columns * steps * j->size);
    w->edge = aligned(ctx, (size_t)(j->unit->rows * j->unit->columns) * j->size);
    if (!w->a || !w->b || !w->edge)
      return false;
  }
  return j->work != NULL;
}

/* A product with k = 0 is a matrix of zeros. */
static void clear(const tl_gemm *g, size_t size) {
  for (uint64_t i = 0; i < g->batches; i++)
    for (int64_t row = 0; row < g->m; row++)
      memset((char *)g->c + (size_t)((g->c_at ? g->c_at[i] : 0) + row * g->c_stride) * size, 0,
             (size_t)g->n * size);
}

/* In exact mode the units give the same bits at every level, so the widest one is free to
 * choose. */
tl_status tl_gemm_run(tl_eval *ctx, const tl_gemm *g) {
  job j = {.g = g, .size = tl_gemm_size(g->type)};
  unsigned threads = ctx->pool ? tl_pool_threads(ctx->pool) : 1;
  bool is_float = g->type == TL_GEMM_F32 || g->type == TL_GEMM_F64;
  if (g->batches == 0 || g->m <= 0 || g->n <= 0)
    return TL_OK;
  if (g->k <= 0) {
    if (!g->accumulate)
      clear(g, j.size);
    return TL_OK;
  }
  if (!ctx->exact && tl_gemm_blas(g))
    return TL_OK;
  j.unit = is_float && !ctx->exact ? tl_gemm_fast_unit(g->type, tl_vector_level())
                                   : tl_gemm_exact_unit(g->type, tl_vector_level());
  divide(&j, threads);
  tl_arena_mark mark = tl_arena_save(ctx->scratch);
  if (!make_workspaces(ctx, &j, threads))
    return tl_eval_no_memory(ctx);
  uint64_t tasks = g->batches * j.row_tasks * j.column_tasks;
  if (threads > 1 && tasks > 1)
    (void)tl_pool_run(ctx->pool, (size_t)tasks, run_task, &j); /* run_task cannot fail */
  else
    for (uint64_t i = 0; i < tasks; i++)
      (void)run_task(&j, (size_t)i, 0);
  tl_arena_rewind(ctx->scratch, mark);
  return TL_OK;
}

/* Signed and unsigned integers wrap alike, so one type serves both. */
bool tl_gemm_type_of(tl_dtype dtype, tl_gemm_type *out) {
  switch (dtype) {
  case TL_DTYPE_F32: *out = TL_GEMM_F32; return true;
  case TL_DTYPE_F64: *out = TL_GEMM_F64; return true;
  case TL_DTYPE_I32:
  case TL_DTYPE_U32: *out = TL_GEMM_U32; return true;
  case TL_DTYPE_I64:
  case TL_DTYPE_U64: *out = TL_GEMM_U64; return true;
  default: return false;
  }
}
