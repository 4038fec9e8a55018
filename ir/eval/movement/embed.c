/* SPDX-License-Identifier: Apache-2.0 */
/* Computes com.microsoft EmbedLayerNormalization and its quantized form: rows of up to three tables
 * are added, then normalized. */
#include <math.h>

#include "ir/eval/kernel/lines.h"

enum { TABLES = 3, WORD = 0, POSITION = 1, SEGMENT = 2 };

/* A tensor of numbers, perhaps quantized. */
typedef struct table {
  const tl_host *t; /* NULL: absent */
  double scale;
  double zero;
} table;

typedef struct embedding {
  double epsilon;
  table tables[TABLES];
  table gamma;
  table beta;
  const int64_t *rows[TABLES]; /* of the table, per output row */
  uint64_t width;
  tl_host *out;
  tl_host *sum; /* may be NULL */
} embedding;

/* Loads n numbers; integers are dequantized. The cells are int64 until they are converted in
 * place. */
static void load_table(const table *t, uint64_t first, uint64_t n, double *out) {
  tl_cells_load(t->t->dtype, t->t->data, first, 1, n, out);
  if (tl_cells_are_floats(t->t->dtype))
    return;
  for (uint64_t i = 0; i < n; i++) {
    int64_t q;
    memcpy(&q, out + i, sizeof q);
    out[i] = ((double)q - t->zero) * t->scale;
  }
}

/* Adds the rows of one place and normalizes the sum. What tl_eval_lines loaded is overwritten. */
static void embed_line(void *user, uint64_t line, void *cells, uint64_t n, void *spare) {
  const embedding *e = user;
  double *c = cells, *part = spare;
  for (uint64_t i = 0; i < n; i++)
    c[i] = 0;
  for (int k = 0; k < TABLES; k++) {
    if (!e->tables[k].t)
      continue;
    load_table(&e->tables[k], (uint64_t)e->rows[k][line] * n, n, part);
    for (uint64_t i = 0; i < n; i++)
      c[i] += part[i];
  }
  if (e->sum)
    tl_cells_store(e->sum->dtype, c, e->sum->data, line * n, 1, n);
  double mean = tl_cells_sum(c, n) / (double)n;
  double inv = 1 / sqrt(tl_cells_sum_of_squares(c, n, mean) / (double)n + e->epsilon);
  load_table(&e->gamma, 0, n, part);
  for (uint64_t i = 0; i < n; i++)
    c[i] = (c[i] - mean) * inv * part[i];
  load_table(&e->beta, 0, n, part);
  for (uint64_t i = 0; i < n; i++)
    c[i] += part[i];
}

/* Finds the row of table k for each place. ids: [B,S] or [1,S]; NULL: the position in the
 * sequence. */
static tl_status find_rows(tl_eval *ctx, embedding *e, int k, const tl_host *ids) {
  const tl_host *first = tl_eval_in(ctx, 0);
  uint64_t length = (uint64_t)first->dims[1], n = first->n;
  int64_t limit = e->tables[k].t->dims[0];
  int64_t *rows = tl_eval_scratch(ctx, n, sizeof *rows);
  if (!rows)
    return tl_eval_no_memory(ctx);
  if (ids && ids->n != n && ids->n != length)
    return tl_eval_fail(ctx, "there are %llu ids for %llu places", (unsigned long long)ids->n,
                        (unsigned long long)n);
  for (uint64_t i = 0; i < n; i++) {
    rows[i] = ids ? tl_host_int_at(ids, i % ids->n) : (int64_t)(i % length);
    if (rows[i] < 0 || rows[i] >= limit)
      return tl_eval_fail(ctx, "id %lld is outside a table of %lld rows", (long long)rows[i],
                          (long long)limit);
  }
  e->rows[k] = rows;
  return TL_OK;
}

static tl_status check_tables(tl_eval *ctx, embedding *e) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 2, 2));
  for (int k = 0; k < TABLES; k++)
    if (e->tables[k].t &&
        (e->tables[k].t->rank != 2 || e->tables[k].t->dims[1] != e->tables[WORD].t->dims[1]))
      return tl_eval_fail(ctx, "the tables must be matrices of one width");
  e->width = (uint64_t)e->tables[WORD].t->dims[1];
  if (e->gamma.t->n != e->width || e->beta.t->n != e->width)
    return tl_eval_fail(ctx, "gamma and beta must have %llu elements",
                        (unsigned long long)e->width);
  return TL_OK;
}

/* Makes result 1: for each sequence, how many elements of its mask are 1; 0 without a mask. */
static tl_status count_masks(tl_eval *ctx, const tl_host *mask) {
  const tl_host *ids = tl_eval_in(ctx, 0);
  tl_host *out;
  TL_TRY(tl_eval_result(ctx, 1, TL_DTYPE_I32, 1, ids->dims, &out));
  if (mask && mask->n != ids->n)
    return tl_eval_fail(ctx, "mask and input_ids differ in size");
  uint64_t length = (uint64_t)ids->dims[1];
  for (uint64_t b = 0; b < out->n; b++) {
    int32_t set = 0;
    for (uint64_t i = 0; mask && i < length; i++)
      set += tl_host_int_at(mask, b * length + i) == 1;
    ((int32_t *)out->data)[b] = set;
  }
  return TL_OK;
}

static tl_status run_embedding(tl_eval *ctx, embedding *e, const tl_host *positions,
                               const tl_host *mask) {
  TL_TRY(check_tables(ctx, e));
  const tl_host *ids = tl_eval_in(ctx, 0);
  int64_t dims[3] = {ids->dims[0], ids->dims[1], (int64_t)e->width};
  tl_dtype dtype = e->tables[WORD].t->dtype == TL_DTYPE_F64 ? TL_DTYPE_F64 : TL_DTYPE_F32;
  if (e->tables[SEGMENT].t && !tl_eval_in(ctx, 1))
    return tl_eval_fail(ctx, "there is a segment table, but there are no segment ids");
  TL_TRY(find_rows(ctx, e, WORD, ids));
  TL_TRY(find_rows(ctx, e, POSITION, positions));
  if (e->tables[SEGMENT].t)
    TL_TRY(find_rows(ctx, e, SEGMENT, tl_eval_in(ctx, 1)));
  TL_TRY(tl_eval_result(ctx, 0, dtype, 3, dims, &e->out));
  TL_TRY(count_masks(ctx, mask));
  if (tl_eval_wants(ctx, 2))
    TL_TRY(tl_eval_result(ctx, 2, dtype, 3, dims, &e->sum));
  if (!e->out->n)
    return TL_OK;
  /* tl_eval_lines loads lines of an operand, and there is none of this shape: the result itself
   * serves, so its bytes must be initialized */
  memset(e->out->data, 0, (size_t)e->out->bytes);
  return tl_eval_lines(ctx, e->out, (tl_lines){ids->n, e->width, 1}, e->out,
                       (tl_line_work){embed_line, e, e->width});
}

/* Operand 4, the segment table, is optional. */
static tl_status take_tables(tl_eval *ctx, embedding *e) {
  e->epsilon = (double)tl_eval_float(ctx, TL_SYM_epsilon, 1e-12f);
  for (uint32_t i = 2; i < 7; i++) {
    if (i != 4)
      TL_TRY(tl_eval_need_rank(ctx, i, i < 4 ? 2 : 1, 2));
    table *to = i < 5 ? &e->tables[i - 2] : i == 5 ? &e->gamma : &e->beta;
    to->t = tl_eval_in(ctx, i);
  }
  return TL_OK;
}

/* input_ids, segment_ids, three tables, gamma, beta, mask, position_ids. */
tl_status tl_eval_embed_layer_norm(tl_eval *ctx) {
  embedding e = {0};
  TL_TRY(take_tables(ctx, &e));
  return run_embedding(ctx, &e, tl_eval_in(ctx, 8), tl_eval_in(ctx, 7));
}

/* The form with 8-bit tables: operands 0 to 7 as above, then five scales, then five zero points. */
tl_status tl_eval_q_embed_layer_norm(tl_eval *ctx) {
  embedding e = {0};
  TL_TRY(take_tables(ctx, &e));
  table *const all[] = {&e.tables[0], &e.tables[1], &e.tables[2], &e.gamma, &e.beta};
  for (uint32_t i = 0; i < 5; i++) {
    int64_t zero;
    TL_TRY(tl_eval_operand_float(ctx, 8 + i, 1, &all[i]->scale));
    TL_TRY(tl_eval_operand_int(ctx, 13 + i, 0, &zero));
    all[i]->zero = (double)zero;
  }
  return run_embedding(ctx, &e, NULL, tl_eval_in(ctx, 7));
}
