/* SPDX-License-Identifier: Apache-2.0 */
/* Where the sums of products begin. */
#include "ir/eval/linear/products.h"

/* Repeats a number of 4 or 8 bytes, which may lie anywhere. */
static void fill_row(char *to, const char *number, int64_t n, size_t size) {
  uint32_t four;
  uint64_t eight;
  if (size == 4) {
    memcpy(&four, number, sizeof four);
    for (int64_t i = 0; i < n; i++)
      ((uint32_t *)(void *)to)[i] = four;
  } else {
    memcpy(&eight, number, sizeof eight);
    for (int64_t i = 0; i < n; i++)
      ((uint64_t *)(void *)to)[i] = eight;
  }
}

void tl_gemm_begin_part(const tl_gemm *g, const tl_gemm_area *at) {
  size_t size = tl_gemm_size(g->type);
  int64_t first = (g->start_at ? g->start_at[at->batch] : 0) + at->row;
  int64_t c_at = (g->c_at ? g->c_at[at->batch] : 0) + at->row * g->c_stride + at->column;
  for (int64_t i = 0; i < at->rows; i++) {
    char *c = (char *)g->c + (size_t)(c_at + i * g->c_stride) * size;
    if (g->start)
      fill_row(c, (const char *)g->start + (size_t)(first + i) * size, at->columns, size);
    else
      memset(c, 0, (size_t)at->columns * size);
  }
}

void tl_gemm_begin(const tl_gemm *g) {
  for (uint64_t i = 0; i < g->batches; i++)
    tl_gemm_begin_part(g, &(tl_gemm_area){.batch = i, .rows = g->m, .columns = g->n});
}
