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
  TASKS_A_THREAD = 3,      /* of one matrix */
  SHARED = 1 << 20,        /* bytes a thread that B may take when all tasks share its packed form */
  RUN = 1024,              /* bytes of a step of B that are read at once; no tile is wider */
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
  bool a_there; /* tiles read A where it is: steps of a row are adjacent */
  bool b_there; /* the same of B, whose columns are adjacent */
  char
      *shared; /* B packed for all tasks: [batches][k][n, whole panels]; NULL: each packs its own */
} job;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* step need not be a power of two. */
static int64_t round_up(int64_t v, int64_t step) { return (v + step - 1) / step * step; }

/* ---- packing -------------------------------------------------------------------------------- */

/* Copies what is left of a step beyond whole panels, and zeros behind it. */
static void copy_rest(const char *from, size_t bytes, size_t line, char *dst) {
  memcpy(dst, from, bytes);
  memset(dst + bytes, 0, line - bytes);
}

/* Packs columns that are adjacent in memory, several panels at a time: the processor fetches long
 * runs ahead. */
static void copy_columns(const job *j, const tl_gemm_block *b, int64_t columns, char *dst) {
  const tl_gemm_side *side = &j->g->b;
  int64_t at = (side->at ? side->at[b->batch] : 0) + b->lane + b->k * side->k_stride;
  const char *from = (const char *)side->data + (size_t)at * j->size;
  size_t stride = (size_t)side->k_stride * j->size, bytes = (size_t)columns * j->size;
  size_t line = (size_t)b->width * j->size, panel = (size_t)b->steps * line, run = RUN / line;
  for (; bytes; dst += run * panel, from += run * line) {
    size_t part = bytes < run * line ? bytes : run * line, panels = part / line;
    for (int64_t s = 0; s < b->steps; s++) {
      const char *f = from + (size_t)s * stride;
      char *to = dst + (size_t)s * line;
      j->unit->spread(f, panels, panel, to);
      if (part % line)
        copy_rest(f + panels * line, part % line, line, to + panels * panel);
    }
    bytes -= part;
  }
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
    if (b->lanes < b->width)                                                                       \
      memset(dst, 0, (size_t)(b->steps * b->width) * sizeof *dst);                                 \
    if (side->lane_stride == 1)                                                                    \
      for (int64_t s = 0; s < b->steps; s++)                                                       \
        memcpy(dst + s * b->width, from + s * side->k_stride, (size_t)b->lanes * sizeof *dst);     \
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
  if (side == &j->g->b && !side->pack && side->lane_stride == 1) {
    copy_columns(j, &b, lanes, dst);
    return;
  }
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

/* A block of an operand as tiles read it, panel by panel. */
typedef struct view {
  const char *at;
  size_t panel;     /* bytes between panels */
  int64_t lane;     /* elements between lanes */
  int64_t step;     /* elements between steps */
  const char *rest; /* packed: the last panel, which lacks lanes; NULL: it is like the others */
} view;

/* Packs a block into dst, or leaves it where it is, but for a last panel that lacks lanes. */
static view view_of(const job *j, const tl_gemm_side *side, tl_gemm_block b, int64_t lanes,
                    bool packs, char *dst) {
  if (packs) {
    pack(j, side, b, lanes, dst);
    return (view){dst, (size_t)(b.steps * b.width) * j->size, 1, b.width, NULL};
  }
  int64_t at = (side->at ? side->at[b.batch] : 0) + b.lane * side->lane_stride +
               b.k * side->k_stride;
  view v = {(const char *)side->data + (size_t)at * j->size,
            (size_t)(b.width * side->lane_stride) * j->size, side->lane_stride, side->k_stride,
            NULL};
  int64_t rest = lanes % b.width;
  if (rest) {
    b.lane += lanes - rest;
    pack(j, side, b, rest, dst);
    v.rest = dst;
  }
  return v;
}

static size_t k_blocks(const tl_gemm *g) { return (size_t)((g->k + K_BLOCK - 1) / K_BLOCK); }

/* The bytes of a step of B when all its columns are packed. */
static size_t shared_step(const job *j) {
  return (size_t)round_up(j->g->n, j->unit->columns) * j->size;
}

/* The block of B whose first lane and step are those of b, in what tasks share. */
static view view_of_shared(const job *j, const tl_gemm_block *b) {
  size_t first = (size_t)((int64_t)b->batch * j->g->k + b->k) * shared_step(j);
  size_t panel = (size_t)(b->steps * b->width) * j->size;
  return (view){j->shared + first + (size_t)(b->lane / b->width) * panel, panel, 1, b->width, NULL};
}

/* Packs block i of k of what tasks share. */
static tl_status share_block(void *user, size_t i, unsigned worker) {
  const job *j = user;
  (void)worker;
  size_t blocks = k_blocks(j->g);
  tl_gemm_block b = {.batch = i / blocks, .k = (int64_t)(i % blocks) * K_BLOCK};
  b.steps = least(K_BLOCK, j->g->k - b.k);
  b.width = j->unit->columns;
  pack(j, &j->g->b, b, j->g->n,
       j->shared + ((size_t)b.batch * (size_t)j->g->k + (size_t)b.k) * shared_step(j));
  return TL_OK;
}

/* Computes a tile of which only some rows and columns are inside C: in `edge`, which has full
 * size. */
static void edge_tile(const job *j, const tl_gemm_strip *t, int64_t rows, int64_t columns,
                      char *edge) {
  const tl_gemm_unit *u = j->unit;
  size_t line = (size_t)u->columns * j->size, stride = (size_t)t->c_row * j->size;
  size_t used = (size_t)columns * j->size;
  tl_gemm_strip whole = *t;
  char *c = t->c;
  for (int64_t i = 0; t->accumulate && i < rows; i++)
    memcpy(edge + (size_t)i * line, c + (size_t)i * stride, used);
  whole.c = edge;
  whole.c_row = u->columns;
  u->tile(&whole);
  for (int64_t i = 0; i < rows; i++)
    memcpy(c + (size_t)i * stride, edge + (size_t)i * line, used);
}

/* Asks for half of each row of A that the next tile reads: weights of a file are far away, and a
 * few steps of many rows are no run that the processor fetches ahead by itself. */
static void fetch_rows(const job *j, const char *from, int64_t lane, int64_t steps) {
  size_t half = (size_t)steps * j->size / 2, stride = (size_t)lane * j->size;
  for (int64_t i = 0; i < j->unit->rows; i++, from += stride)
    for (size_t at = 0; at < half; at += CACHE_LINE)
      __builtin_prefetch(from + at, 0, 2);
}

/* Runs all tiles of two blocks. `at` is the part of C that they cover. */
static void tiles(const job *j, const view *a, const view *b, const tl_gemm_area *at,
                  tl_gemm_strip t, char *edge) {
  const tl_gemm_unit *u = j->unit;
  char *c = (char *)j->g->c + (size_t)(j->g->c_at ? j->g->c_at[at->batch] : 0) * j->size;
  size_t half = (size_t)t.steps * j->size / 2; /* of a row of A */
  t.c_row = j->g->c_stride;
  for (int64_t col = 0; col < at->columns; col += u->columns) {
    int64_t columns = least(u->columns, at->columns - col);
    bool rest = b->rest && columns < u->columns;
    t.b = rest ? b->rest : b->at + (size_t)(col / u->columns) * b->panel;
    t.b_step = rest ? u->columns : b->step;
    for (int64_t row = 0; row < at->rows; row += u->rows) {
      int64_t rows = least(u->rows, at->rows - row);
      rest = a->rest && rows < u->rows;
      t.a = rest ? a->rest : a->at + (size_t)(row / u->rows) * a->panel;
      t.a_row = rest ? 1 : a->lane;
      t.a_step = rest ? u->rows : a->step;
      t.c = c + (size_t)((at->row + row) * t.c_row + at->column + col) * j->size;
      if (j->a_there && col < 2 * u->columns && row + 2 * u->rows <= at->rows)
        fetch_rows(j, (const char *)t.a + a->panel + (col ? half : 0), a->lane, t.steps);
      if (rows == u->rows && columns == u->columns)
        u->tile(&t);
      else
        edge_tile(j, &t, rows, columns, edge);
    }
  }
}

/* Computes a block of columns. B is packed once for each block of k, A for each block of rows in
 * it. The blocks of k come in order, and each continues the sums that C holds. */
static void column_block(const job *j, const workspace *w, const tl_gemm_area *whole) {
  const tl_gemm *g = j->g;
  for (int64_t k = 0; k < g->k; k += K_BLOCK) {
    tl_gemm_block block = {.batch = whole->batch, .k = k, .steps = least(K_BLOCK, g->k - k)};
    block.lane = whole->column;
    block.width = j->unit->columns;
    view b = j->shared ? view_of_shared(j, &block)
                       : view_of(j, &g->b, block, whole->columns, !j->b_there, w->b);
    block.width = j->unit->rows;
    for (int64_t row = 0; row < whole->rows; row += ROW_BLOCK) {
      tl_gemm_area part = *whole;
      part.row += row;
      part.rows = least(ROW_BLOCK, whole->rows - row);
      block.lane = part.row;
      view a = view_of(j, &g->a, block, part.rows, !j->a_there, w->a);
      if (k == 0 && g->start)
        tl_gemm_begin_part(g, &part);
      bool more = k > 0 || g->accumulate || g->start;
      tl_gemm_strip t = {.steps = block.steps, .accumulate = more};
      tiles(j, &a, &b, &part, t, w->edge);
    }
  }
}

/* Task i: a batch and a part of C. */
static tl_status run_task(void *user, size_t i, unsigned worker) {
  const job *j = user;
  uint64_t place = i % (j->row_tasks * j->column_tasks);
  tl_gemm_area a = {.batch = i / (j->row_tasks * j->column_tasks),
                    .row = (int64_t)(place / j->column_tasks) * j->task_rows,
                    .column = (int64_t)(place % j->column_tasks) * j->task_columns};
  a.rows = least(j->task_rows, j->g->m - a.row);
  int64_t columns = least(j->task_columns, j->g->n - a.column);
  for (int64_t done = 0; done < columns; done += COLUMN_BLOCK) {
    tl_gemm_area part = a;
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

/* Several tasks that each have some rows need all columns of B: it is packed once for them if it is
 * not too large. With a memory limit each packs a block at a time. */
static bool shares_columns(const tl_eval *ctx, const job *j, unsigned threads, size_t *bytes) {
  uint64_t steps;
  return threads > 1 && !ctx->heap->limit && j->row_tasks > 1 && !j->b_there &&
         !__builtin_mul_overflow(j->g->batches, (uint64_t)j->g->k, &steps) &&
         !__builtin_mul_overflow((size_t)steps, shared_step(j), bytes) &&
         *bytes <= (size_t)threads * SHARED;
}

/* Gives each worker its buffers, no larger than the blocks that it will see. */
static bool make_workspaces(tl_eval *ctx, job *j, unsigned threads) {
  const tl_gemm *g = j->g;
  int64_t most_rows = j->a_there ? j->unit->rows : least(ROW_BLOCK, j->task_rows);
  int64_t most_columns = least(COLUMN_BLOCK, j->task_columns);
  size_t bytes;
  if (shares_columns(ctx, j, threads, &bytes)) {
    j->shared = aligned(ctx, bytes);
    if (!j->shared)
      return false;
  }
  if (j->b_there || j->shared)
    most_columns = j->unit->columns;
  size_t rows = (size_t)round_up(most_rows, j->unit->rows);
  size_t columns = (size_t)round_up(most_columns, j->unit->columns);
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

enum { LONG_ROW = 4 }; /* tiles */

/* Chooses the tile, and which operands need no packing. A single row reads each number of B once,
 * so that packing would only cost. In exact mode all tiles of all levels give the same bits. */
static void choose_ways(job *j, bool fast) {
  const tl_gemm *g = j->g;
  const tl_gemm_unit *(*unit)(tl_gemm_type, unsigned, bool) = fast ? tl_gemm_fast_unit
                                                                   : tl_gemm_exact_unit;
  unsigned level = tl_vector_level();
  const tl_gemm_unit *row = unit(g->type, level, true);
  j->b_there = g->m == 1 && !g->b.pack && g->b.lane_stride == 1 && g->n >= LONG_ROW * row->columns;
  j->a_there = !g->a.pack && g->a.k_stride == 1;
  j->unit = j->b_there ? row : unit(g->type, level, false);
}

tl_status tl_gemm_run(tl_eval *ctx, const tl_gemm *g) {
  job j = {.g = g, .size = tl_gemm_size(g->type)};
  unsigned threads = ctx->pool ? tl_pool_threads(ctx->pool) : 1;
  bool is_float = g->type == TL_GEMM_F32 || g->type == TL_GEMM_F64;
  if (g->batches == 0 || g->m <= 0 || g->n <= 0)
    return TL_OK;
  if (g->k <= 0) {
    if (!g->accumulate)
      tl_gemm_begin(g);
    return TL_OK;
  }
  if (!ctx->exact && tl_gemm_blas(g))
    return TL_OK;
  choose_ways(&j, is_float && !ctx->exact);
  divide(&j, threads);
  tl_arena_mark mark = tl_arena_save(ctx->scratch);
  if (!make_workspaces(ctx, &j, threads))
    return tl_eval_no_memory(ctx);
  if (j.shared)
    (void)tl_pool_run(ctx->pool, (size_t)(g->batches * k_blocks(g)), share_block, &j);
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
