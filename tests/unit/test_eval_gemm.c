/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix product: every tile, packed operands and those that are read where they are, and every
 * number of threads give the same bits. */
#include "ir/eval/linear/gemm.h"
#include "ir/eval/linear/gemm_unit.h"
#include "tests/unit/unit.h"

static float sample(int64_t i) { return (float)(i * 7919 % 1000 - 500) / 333.0f; }

/* ---- tiles ---------------------------------------------------------------------------------- */

enum { STEPS = 37, MOST_ROWS = 8, MOST_COLUMNS = 256 };

/* The plain loop, a multiplication and an addition for each step. */
static float plain_sum(const tl_gemm_strip *s, int64_t steps, int64_t i, int64_t j) {
  const float *a = s->a, *b = s->b;
  float sum = 0;
  for (int64_t k = 0; k < steps; k++) {
    float product = a[i * s->a_row + k * s->a_step] * b[k * s->b_step + j];
    sum = sum + product;
  }
  return sum;
}

/* Compares a tile with the plain loop. It runs in two parts, since a sum may be interrupted. */
static void check_tile(const tl_gemm_unit *u, tl_gemm_strip whole) {
  static float c[MOST_ROWS * MOST_COLUMNS];
  CU_ASSERT_TRUE_FATAL(u->rows <= MOST_ROWS && u->columns <= MOST_COLUMNS);
  tl_gemm_strip s = whole;
  s.c = c;
  s.c_row = u->columns;
  s.steps = 20;
  u->tile(&s);
  s.a = (const float *)s.a + 20 * s.a_step;
  s.b = (const float *)s.b + 20 * s.b_step;
  s.steps = STEPS - 20;
  s.accumulate = true;
  u->tile(&s);
  for (int64_t i = 0; i < u->rows; i++)
    for (int64_t j = 0; j < u->columns; j++) {
      float want = plain_sum(&whole, STEPS, i, j);
      CU_ASSERT_EQUAL(memcmp(&c[i * u->columns + j], &want, sizeof want), 0);
    }
}

static void levels_give_the_same_bits(void) {
  static float a[STEPS * MOST_ROWS], b[STEPS * (MOST_COLUMNS + 5)];
  for (int i = 0; i < STEPS * MOST_ROWS; i++)
    a[i] = sample(i);
  for (int i = 0; i < STEPS * (MOST_COLUMNS + 5); i++)
    b[i] = sample(i + 17);
  for (unsigned level = 0; level <= tl_vector_level(); level++)
    for (int row = 0; row < 2; row++) {
      const tl_gemm_unit *u = tl_gemm_exact_unit(TL_GEMM_F32, level, row);
      check_tile(
          u, (tl_gemm_strip){.a = a, .a_row = 1, .a_step = u->rows, .b = b, .b_step = u->columns});
      check_tile(u, (tl_gemm_strip){
                        .a = a, .a_row = STEPS, .a_step = 1, .b = b, .b_step = u->columns + 5});
    }
}

/* ---- products ------------------------------------------------------------------------------- */

/* A product of one element type, and the storage of its operands. */
typedef struct form {
  bool a_across; /* A is stored by columns */
  bool b_across; /* B is stored by columns */
  bool exact;
  unsigned threads;
  uint64_t limit; /* of memory; 0: none */
} form;

typedef struct sizes {
  int64_t m, n, k;
} sizes;

/* Stores a matrix one byte behind an aligned address, as weights of a file may lie. lines, length:
 * of the matrix as samples number it. */
static float *store(char *room, int64_t lines, int64_t length, bool across, int first) {
  char *at = room + 1;
  for (int64_t i = 0; i < lines; i++)
    for (int64_t j = 0; j < length; j++) {
      float v = sample(first + i * length + j);
      memcpy(at + (size_t)(across ? j * lines + i : i * length + j) * sizeof v, &v, sizeof v);
    }
  return (float *)(void *)at;
}

/* limit: bytes that the run may take at a time; 0: any. */
static void run(const tl_gemm *g, bool exact, unsigned threads, uint64_t limit) {
  tl_host_heap heap;
  tl_arena scratch;
  tl_host_heap_init(&heap, limit);
  tl_arena_init(&scratch, 0);
  tl_pool *pool = tl_pool_create(threads);
  tl_eval ctx = {.exact = exact, .heap = &heap, .scratch = &scratch, .pool = pool};
  CU_ASSERT_EQUAL(tl_gemm_run(&ctx, g), TL_OK);
  tl_pool_destroy(pool);
  tl_arena_release(&scratch);
  tl_host_heap_release(&heap);
}

static float *multiply(sizes z, form f) {
  char *a = malloc((size_t)(z.m * z.k + 1) * sizeof(float));
  char *b = malloc((size_t)(z.k * z.n + 1) * sizeof(float));
  float *c = malloc((size_t)(z.m * z.n) * sizeof(float));
  CU_ASSERT_TRUE_FATAL(a && b && c);
  tl_gemm g = {.type = TL_GEMM_F32, .batches = 1, .m = z.m, .n = z.n, .k = z.k, .c = c};
  g.c_stride = z.n;
  g.a = (tl_gemm_side){.data = store(a, z.m, z.k, f.a_across, 3)};
  g.a.lane_stride = f.a_across ? 1 : z.k;
  g.a.k_stride = f.a_across ? z.m : 1;
  g.b = (tl_gemm_side){.data = store(b, z.k, z.n, f.b_across, 11)};
  g.b.lane_stride = f.b_across ? z.k : 1;
  g.b.k_stride = f.b_across ? 1 : z.n;
  run(&g, f.exact, f.threads, f.limit);
  free(a);
  free(b);
  return c;
}

/* In exact mode an element is the plain chain of its multiplications and additions. */
static void check_chains(sizes z, const float *c) {
  for (int64_t i = 0; i < z.m; i++)
    for (int64_t j = 0; j < z.n; j += 1 + z.n / 50) {
      float sum = 0;
      for (int64_t k = 0; k < z.k; k++) {
        float product = sample(3 + i * z.k + k) * sample(11 + k * z.n + j);
        sum = sum + product;
      }
      CU_ASSERT_EQUAL(memcmp(&c[i * z.n + j], &sum, sizeof sum), 0);
    }
}

/* Sizes with one row and several, whole tiles and parts of them, one block of k and more, and few
 * columns for many rows, which tasks share. */
static void ways_give_the_same_bits(void) {
  static const sizes list[] = {{1, 1031, 300}, {1, 2048, 256}, {1, 40, 7},   {3, 1100, 260},
                               {8, 64, 257},   {19, 803, 30},  {201, 33, 5}, {1, 1, 1},
                               {300, 40, 700}, {640, 100, 300}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    for (int exact = 0; exact < 2; exact++) {
      float *first = multiply(list[i], (form){false, false, exact, 1, 0});
      if (exact)
        check_chains(list[i], first);
      for (int way = 1; way < 8; way++) {
        form f = {way & 1, way & 2, exact, way & 4 ? 4 : 1, 0};
        float *c = multiply(list[i], f);
        CU_ASSERT_EQUAL(memcmp(c, first, (size_t)(list[i].m * list[i].n) * sizeof *c), 0);
        free(c);
      }
      free(first);
    }
}

/* Tasks share the packed columns of B, 500 kB here, unless memory is limited. */
static void a_limit_is_kept(void) {
  const sizes z = {300, 40, 2000};
  float *first = multiply(z, (form){false, false, true, 4, 0});
  float *limited = multiply(z, (form){false, false, true, 4, 300000});
  CU_ASSERT_EQUAL(memcmp(first, limited, (size_t)(z.m * z.n) * sizeof *first), 0);
  free(first);
  free(limited);
}

/* Two products whose rows begin at numbers of their own, over two blocks of k; without steps these
 * numbers are the result. */
static void sums_begin_at_start(void) {
  enum { M = 201, N = 40, SUM = 300 };
  static float a[2 * M * SUM], b[SUM * N], c[2 * M * N], start[2 * M];
  const int64_t at_a[] = {0, M * SUM}, at_b[] = {0, 0}, at_c[] = {0, M * N}, at_start[] = {0, M};
  for (int i = 0; i < 2 * M * SUM; i++)
    a[i] = sample(i);
  for (int i = 0; i < SUM * N; i++)
    b[i] = sample(i + 7);
  for (int i = 0; i < 2 * M; i++)
    start[i] = (float)i - 2.5f;
  tl_gemm g = {.type = TL_GEMM_F32, .batches = 2, .m = M, .n = N, .c = c, .c_at = at_c};
  g.c_stride = N;
  g.a = (tl_gemm_side){.data = a, .lane_stride = SUM, .k_stride = 1, .at = at_a};
  g.b = (tl_gemm_side){.data = b, .lane_stride = 1, .k_stride = N, .at = at_b};
  g.start = start;
  g.start_at = at_start;
  for (g.k = 0; g.k <= SUM; g.k += SUM) {
    run(&g, true, g.k ? 4 : 1, 0);
    for (int i = 0; i < 2 * M; i++)
      for (int j = 0; j < N; j++) {
        float sum = start[i];
        for (int64_t k = 0; k < g.k; k++) {
          float product = a[i * SUM + k] * b[k * N + j];
          sum = sum + product;
        }
        CU_ASSERT_EQUAL(memcmp(&c[i * N + j], &sum, sizeof sum), 0);
      }
  }
}

static const unit_test tests[] = {
    {"levels give the same bits", levels_give_the_same_bits},
    {"ways give the same bits", ways_give_the_same_bits},
    {"a limit is kept", a_limit_is_kept},
    {"sums begin at start", sums_begin_at_start},
    {NULL, NULL},
};

const unit_suite unit_suite_eval_gemm = {"eval_gemm", tests};
