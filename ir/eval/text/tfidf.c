/* SPDX-License-Identifier: Apache-2.0 */
/* Computes TfIdfVectorizer: counts the n-grams of a pool in sequences of integers or strings. */
#include "ir/eval/kernel/move.h"

/* The attributes of the node. */
typedef struct tfidf {
  tl_eval *x;
  const tl_host *t;
  int64_t least; /* gram lengths */
  int64_t most;
  int64_t skips;
  tl_int_list starts;  /* where the grams of each length begin in the pool */
  tl_int_list places;  /* column of each gram in the result */
  const int64_t *ints; /* the pool: one of these */
  const tl_symbol *strings;
  uint32_t pool;
  uint64_t columns;
} tfidf;

/* Compares element i of the operand with element k of the pool. */
static bool same_word(const tfidf *w, uint64_t i, uint32_t k) {
  if (w->strings)
    return tl_sv_eq(((const tl_sv *)w->t->data)[i], tl_sym(w->x->m, w->strings[k]));
  return tl_host_int_at(w->t, i) == w->ints[k];
}

/* Returns how often the gram at pool[word] occurs in a row with its words `step` elements apart. */
static uint64_t count_gram(const tfidf *w, uint64_t row, uint64_t length, uint32_t word,
                           uint64_t words, uint64_t step) {
  uint64_t found = 0, reach = (words - 1) * step;
  for (uint64_t i = 0; i + reach < length; i++) {
    uint64_t k = 0;
    while (k < words && same_word(w, row + i + k * step, word + (uint32_t)k))
      k++;
    found += k == words;
  }
  return found;
}

/* Adds the counts of all grams of `words` words to a row of the result. Skips do not matter for
 * single words, so these are counted once. */
static void count_length(const tfidf *w, uint64_t row, uint64_t length, uint64_t words,
                         uint32_t gram, float *out) {
  uint32_t first = (uint32_t)w->starts.at[words - 1];
  uint32_t last = words < w->starts.n ? (uint32_t)w->starts.at[words] : w->pool;
  for (uint32_t at = first; at + words <= last; at += (uint32_t)words, gram++) {
    uint64_t found = 0, steps = words == 1 ? 1 : (uint64_t)w->skips + 1;
    for (uint64_t step = 1; step <= steps && (words - 1) * step < length; step++)
      found += count_gram(w, row, length, at, words, step);
    out[w->places.at[gram]] += (float)found;
  }
}

/* `gram` numbers the grams over all lengths, those that are not counted included. */
static void count_row(const tfidf *w, uint64_t row, uint64_t length, float *out) {
  uint32_t gram = 0;
  for (uint64_t words = 1; words <= w->starts.n && (int64_t)words <= w->most; words++) {
    int64_t end = words < w->starts.n ? w->starts.at[words] : w->pool;
    if ((int64_t)words >= w->least)
      count_length(w, row, length, words, gram, out);
    gram += (uint32_t)((uint64_t)(end - w->starts.at[words - 1]) / words);
  }
}

/* Turns counts into presence (IDF) or weights; a column without a weight has 1. */
static tl_status weigh(const tfidf *w, float *y, uint64_t rows) {
  tl_sv mode = tl_eval_string(w->x, TL_SYM_mode);
  bool tf = tl_sv_is(mode, "TF"), both = tl_sv_is(mode, "TFIDF");
  const tl_attr *weights = tl_node_attr(w->x->m, w->x->node, TL_SYM_weights);
  if (!tf && !both && !tl_sv_is(mode, "IDF"))
    return tl_eval_fail(w->x, "mode '%.*s' is none of TF, IDF, TFIDF", TL_SV_ARG(mode));
  if (weights && (weights->kind != TL_ATTR_FLOATS || weights->count != w->places.n))
    return tl_eval_fail(w->x, "%u weights for %u n-grams", weights->count, w->places.n);
  if (tf)
    return TL_OK;
  float *scale = tl_eval_scratch(w->x, w->columns, sizeof *scale);
  if (!scale)
    return tl_eval_no_memory(w->x);
  for (uint64_t i = 0; i < w->columns; i++)
    scale[i] = 1;
  for (uint32_t i = 0; weights && i < w->places.n; i++)
    scale[w->places.at[i]] = weights->u.fs[i];
  for (uint64_t i = 0; i < rows * w->columns; i++)
    y[i] = (both ? y[i] : y[i] > 0 ? 1.0f : 0.0f) * scale[i % w->columns];
  return TL_OK;
}

static tl_status read_pool(tfidf *w) {
  const tl_attr *strings = tl_node_attr(w->x->m, w->x->node, TL_SYM_pool_strings);
  tl_int_list ints = tl_eval_ints(w->x, TL_SYM_pool_int64s);
  if (strings && strings->kind == TL_ATTR_STRINGS && strings->count) {
    w->strings = strings->u.ids;
    w->pool = strings->count;
  } else {
    w->ints = ints.at;
    w->pool = ints.n;
  }
  if ((w->strings != NULL) != (w->t->dtype == TL_DTYPE_STRING))
    return tl_eval_fail(w->x, "the pool is not of the element type of the operand");
  return TL_OK;
}

/* Checks that the lists agree before anything is indexed by them: the node may be hostile. */
static tl_status check_pool(tfidf *w) {
  uint64_t grams = 0;
  for (uint32_t i = 0; i < w->starts.n; i++) {
    int64_t end = i + 1 < w->starts.n ? w->starts.at[i + 1] : w->pool;
    if (w->starts.at[i] < 0 || w->starts.at[i] > end || end > w->pool ||
        (end - w->starts.at[i]) % (i + 1))
      return tl_eval_fail(w->x, "ngram_counts do not divide the pool into n-grams");
    grams += (uint64_t)(end - w->starts.at[i]) / (i + 1);
  }
  if (grams != w->places.n)
    return tl_eval_fail(w->x, "%u ngram_indexes for %llu n-grams", w->places.n,
                        (unsigned long long)grams);
  for (uint32_t i = 0; i < w->places.n; i++) {
    if (w->places.at[i] < 0 || w->places.at[i] > INT32_MAX)
      return tl_eval_fail(w->x, "the n-gram index %lld", (long long)w->places.at[i]);
    if ((uint64_t)w->places.at[i] >= w->columns)
      w->columns = (uint64_t)w->places.at[i] + 1;
  }
  if (w->least < 1 || w->most < w->least || w->skips < 0 || w->skips > INT32_MAX ||
      w->most > w->starts.n)
    return tl_eval_fail(w->x, "n-grams of %lld to %lld words with %lld skips", (long long)w->least,
                        (long long)w->most, (long long)w->skips);
  return TL_OK;
}

tl_status tl_eval_tfidf(tl_eval *ctx) {
  tl_host *y;
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, 2));
  tfidf w = {.x = ctx,
             .t = ctx->in[0],
             .least = tl_eval_int(ctx, TL_SYM_min_gram_length, 1),
             .most = tl_eval_int(ctx, TL_SYM_max_gram_length, 1),
             .skips = tl_eval_int(ctx, TL_SYM_max_skip_count, 0),
             .starts = tl_eval_ints(ctx, TL_SYM_ngram_counts),
             .places = tl_eval_ints(ctx, TL_SYM_ngram_indexes)};
  TL_TRY(read_pool(&w));
  TL_TRY(check_pool(&w));
  const tl_host *t = w.t;
  uint64_t rows = t->rank == 2 ? (uint64_t)t->dims[0] : 1;
  uint64_t length = t->rank == 2 ? (uint64_t)t->dims[1] : t->n;
  const int64_t dims[2] = {(int64_t)rows, (int64_t)w.columns};
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_F32, t->rank == 2 ? 2 : 1, t->rank == 2 ? dims : dims + 1,
                        &y));
  if (y->bytes)
    memset(y->data, 0, (size_t)y->bytes);
  for (uint64_t r = 0; y->n && r < rows; r++)
    count_row(&w, r * length, length, (float *)y->data + r * w.columns);
  return weigh(&w, y->data, rows);
}
