/* SPDX-License-Identifier: Apache-2.0 */
/* Computes Einsum: operands are contracted from left to right. Two terms become a batched matrix
 * product: labels of both that are kept count batches, kept labels of one count its rows or
 * columns, the others are summed. Each group of labels may walk its operand in any way, so offsets
 * are listed in tables. */
#include "ir/eval/linear/gemm.h"

enum { N_LETTERS = 52, ELLIPSIS = N_LETTERS, N_LABELS = N_LETTERS + TL_MAX_RANK };
enum { GRAIN = 1 << 12 };

/* A tensor whose axes have labels. Strides are in elements. */
typedef struct term {
  int n;
  uint16_t label[TL_MAX_RANK];
  const char *data;
  int64_t stride[N_LABELS]; /* by label: repeated labels walk the diagonal; 0: absent or size 1 */
  bool has[N_LABELS];
} term;

/* The state of one evaluation. */
typedef struct einsum {
  tl_eval *x;
  tl_gemm_type type;
  tl_dtype dtype; /* of computation */
  int64_t size[N_LABELS];
  int n_wide;             /* axes of the ellipsis, labels ELLIPSIS + i counted from the last */
  uint8_t uses[N_LABELS]; /* terms that are still to come, and the result */
  int n_out;
  uint16_t out[TL_MAX_RANK];
  tl_host *held; /* data of the term at hand, owned; NULL: an operand's */
} einsum;

/* ---- equation ------------------------------------------------------------------------------- */

static int letter_label(char c) {
  return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1;
}

/* Reads the labels of one term of the equation. wide: how many axes the ellipsis stands for. */
static tl_status read_labels(tl_eval *ctx, tl_sv text, int wide, uint16_t *label, int *n,
                             bool *has_wide) {
  *n = 0;
  *has_wide = false;
  for (size_t i = 0; i < text.n; i++) {
    char c = text.p[i];
    if (c == ' ')
      continue;
    int letter = letter_label(c), count = letter >= 0 ? 1 : wide;
    bool dots = i + 2 < text.n && memcmp(text.p + i, "...", 3) == 0 && !*has_wide;
    if (letter < 0 && !dots)
      return tl_eval_fail(ctx, "the equation has an unexpected character at '%.*s'",
                          (int)(text.n - i), text.p + i);
    if (*n + count > TL_MAX_RANK)
      return tl_eval_fail(ctx, "a term of the equation has more than %d axes", TL_MAX_RANK);
    if (dots) {
      for (int k = 0; k < wide; k++)
        label[(*n)++] = (uint16_t)(ELLIPSIS + wide - 1 - k);
      *has_wide = true;
      i += 2;
    } else {
      label[(*n)++] = (uint16_t)letter;
    }
  }
  return TL_OK;
}

/* The rank less the letters is the number of axes under the ellipsis. */
static int count_letters(tl_sv text) {
  int n = 0;
  for (size_t i = 0; i < text.n; i++)
    n += letter_label(text.p[i]) >= 0;
  return n;
}

/* Notes the size of a label; 1 may be broadcast to another size. */
static tl_status add_size(einsum *e, uint16_t label, int64_t d) {
  int64_t *size = &e->size[label];
  if (*size < 0 || *size == 1)
    *size = d;
  else if (d != 1 && d != *size)
    return tl_eval_fail(e->x, "a label of the equation names sizes %lld and %lld", (long long)*size,
                        (long long)d);
  return TL_OK;
}

/* Reads a term and its operand. The stride of a repeated label is the sum of its axes' strides,
 * which walks the diagonal. */
static tl_status read_term(einsum *e, const tl_host *t, tl_sv text, term *out) {
  bool has_wide;
  int wide = t->rank - count_letters(text);
  *out = (term){.data = t->data};
  TL_TRY(read_labels(e->x, text, wide < 0 ? 0 : wide, out->label, &out->n, &has_wide));
  if (out->n != t->rank)
    return tl_eval_fail(e->x, "a term of the equation names %d axes of an operand of rank %d",
                        out->n, t->rank);
  if (has_wide && wide > e->n_wide)
    e->n_wide = wide;
  int64_t step = 1;
  for (int i = out->n - 1; i >= 0; i--) {
    TL_TRY(add_size(e, out->label[i], t->dims[i]));
    out->has[out->label[i]] = true;
    if (t->dims[i] != 1)
      out->stride[out->label[i]] += step;
    step = t->n ? step * t->dims[i] : 0;
  }
  return TL_OK;
}

/* Makes the result of an equation without "->": the ellipsis, then the labels that occur once, in
 * alphabetical order. */
static void implicit_result(einsum *e, const uint32_t *times) {
  for (int i = e->n_wide; i-- > 0;)
    e->out[e->n_out++] = (uint16_t)(ELLIPSIS + i);
  for (int pass = 0; pass < 2; pass++) /* in ASCII capitals come first */
    for (int i = 0; i < 26; i++) {
      int label = pass == 0 ? i + 26 : i;
      if (times[label] == 1)
        e->out[e->n_out++] = (uint16_t)label;
    }
}

/* Reads the labels behind "->": each must be known and occur once. */
static tl_status read_result(einsum *e, tl_sv text) {
  bool has_wide, seen[N_LABELS] = {false};
  TL_TRY(read_labels(e->x, text, e->n_wide, e->out, &e->n_out, &has_wide));
  for (int i = 0; i < e->n_out; i++) {
    if (e->size[e->out[i]] < 0 || seen[e->out[i]])
      return tl_eval_fail(e->x, "a label of the result is repeated or names no operand");
    seen[e->out[i]] = true;
  }
  return TL_OK;
}

/* Splits the equation into its terms, one for each operand, and the result. */
static tl_status read_equation(einsum *e, term *terms, const tl_host *const *in) {
  tl_sv left = tl_eval_string(e->x, TL_SYM_equation), right = {0};
  bool arrow = false;
  uint32_t times[N_LETTERS] = {0}, n = 0;
  for (size_t i = 0; !arrow && i + 1 < left.n; i++)
    if (left.p[i] == '-' && left.p[i + 1] == '>') {
      right = (tl_sv){left.p + i + 2, left.n - i - 2};
      left.n = i;
      arrow = true;
    }
  if (left.n == 0)
    left = (tl_sv){"", 0};
  while (left.p != NULL) {
    tl_sv text = tl_sv_split(&left, ',');
    if (n == e->x->n_in)
      return tl_eval_fail(e->x, "the equation has more terms than the %u operands", n);
    TL_TRY(read_term(e, in[n], text, &terms[n]));
    for (int i = 0; i < terms[n].n; i++) {
      e->uses[terms[n].label[i]] = 1;
      if (terms[n].label[i] < N_LETTERS)
        times[terms[n].label[i]]++;
    }
    n++;
  }
  if (n != e->x->n_in)
    return tl_eval_fail(e->x, "the equation has %u terms for %u operands", n, e->x->n_in);
  if (arrow)
    return read_result(e, right);
  implicit_result(e, times);
  return TL_OK;
}

/* ---- groups of labels ----------------------------------------------------------------------- */

/* Labels that are walked together, the last one fastest; total: the product of their sizes. */
typedef struct group {
  int n;
  uint16_t label[TL_MAX_RANK];
  int64_t total;
} group;

static tl_status close_group(const einsum *e, group *g) {
  int64_t sizes[TL_MAX_RANK];
  for (int i = 0; i < g->n; i++)
    sizes[i] = e->size[g->label[i]];
  if (!tl_eval_product(sizes, 0, g->n, &g->total))
    return tl_eval_fail(e->x, "the equation has more elements than can be counted");
  return TL_OK;
}

/* Lists the offset of a term for every combination of a group's labels, in row-major order. */
static tl_status offsets(const einsum *e, const group *g, const term *t, const int64_t **out) {
  int64_t *at = tl_eval_scratch(e->x, (uint64_t)g->total, sizeof *at);
  int64_t index[TL_MAX_RANK] = {0}, offset = 0;
  if (!at)
    return tl_eval_no_memory(e->x);
  for (int64_t i = 0; i < g->total; i++) {
    at[i] = offset;
    for (int k = g->n - 1; k >= 0; k--) {
      offset += t->stride[g->label[k]];
      if (++index[k] < e->size[g->label[k]])
        break;
      offset -= index[k] * t->stride[g->label[k]];
      index[k] = 0;
    }
  }
  *out = at;
  return TL_OK;
}

/* Takes over `data`, a row-major tensor over the labels of the groups, as the term at hand. */
static void hold(einsum *e, tl_host *data, const group *groups, int n_groups, term *out) {
  *out = (term){.data = data->data};
  for (int k = 0; k < n_groups; k++)
    for (int i = 0; i < groups[k].n; i++) {
      out->label[out->n++] = groups[k].label[i];
      out->has[groups[k].label[i]] = true;
    }
  int64_t step = 1;
  for (int i = out->n - 1; i >= 0; i--) {
    out->stride[out->label[i]] = e->size[out->label[i]] == 1 ? 0 : step;
    step = data->n ? step * e->size[out->label[i]] : 0;
  }
  tl_host_release(e->held);
  e->held = data;
}

/* ---- one term: sums and transposes ---------------------------------------------------------- */

typedef struct reduction {
  const term *from;
  const int64_t *kept;
  const int64_t *summed;
  int64_t n_summed;
  tl_host *to;
} reduction;

/* Sums in index order: the first element, then the others. */
#define DEFINE_REDUCE(NAME, TYPE)                                                                  \
  static void NAME(void *user, uint64_t begin, uint64_t end) {                                     \
    const reduction *r = user;                                                                     \
    for (uint64_t i = begin; i < end; i++) {                                                       \
      const TYPE *from = (const TYPE *)(const void *)r->from->data + r->kept[i];                   \
      TYPE sum = r->n_summed ? from[r->summed[0]] : 0;                                             \
      for (int64_t k = 1; k < r->n_summed; k++)                                                    \
        sum += from[r->summed[k]];                                                                 \
      ((TYPE *)r->to->data)[i] = sum;                                                              \
    }                                                                                              \
  }

DEFINE_REDUCE(reduce_f32, float)
DEFINE_REDUCE(reduce_f64, double)
DEFINE_REDUCE(reduce_u32, uint32_t)
DEFINE_REDUCE(reduce_u64, uint64_t)

/* Sums `t` over all labels but those of `kept`. *out: row-major over them, the caller's to
 * release. */
static tl_status reduce(einsum *e, const term *t, group *kept, tl_host **out) {
  static const tl_eval_range by_type[] = {reduce_f32, reduce_f64, reduce_u32, reduce_u64};
  group summed = {0};
  bool is_kept[N_LABELS] = {false};
  reduction r = {.from = t};
  for (int i = 0; i < kept->n; i++)
    is_kept[kept->label[i]] = true;
  for (int i = 0; i < t->n; i++)
    if (!is_kept[t->label[i]]) {
      is_kept[t->label[i]] = true;
      summed.label[summed.n++] = t->label[i];
    }
  TL_TRY(close_group(e, kept));
  TL_TRY(close_group(e, &summed));
  TL_TRY(offsets(e, kept, t, &r.kept));
  TL_TRY(offsets(e, &summed, t, &r.summed));
  r.n_summed = summed.total;
  *out = r.to = tl_host_new(e->x->heap, e->dtype, 1, &kept->total);
  if (!r.to)
    return tl_eval_no_memory(e->x);
  tl_eval_for(e->x, (uint64_t)kept->total,
              summed.total > 0 ? (uint64_t)(GRAIN / summed.total + 1) : GRAIN, by_type[e->type],
              &r);
  return TL_OK;
}

/* Sums a term over the labels that neither the result nor another term needs, before it is
 * multiplied. *data: the tensor of the new term, the caller's to release; NULL when nothing was
 * summed. */
static tl_status drop_labels(einsum *e, const term *t, const bool *needed, term *out,
                             tl_host **data) {
  group kept = {0};
  bool seen[N_LABELS] = {false}, all = true;
  *data = NULL;
  for (int i = 0; i < t->n; i++) {
    if (seen[t->label[i]])
      continue;
    seen[t->label[i]] = true;
    if (needed[t->label[i]])
      kept.label[kept.n++] = t->label[i];
    else
      all = false;
  }
  *out = *t;
  if (all)
    return TL_OK;
  TL_TRY(reduce(e, t, &kept, data));
  einsum own = *e; /* hold() takes over into this copy, since *data is the caller's */
  own.held = NULL;
  hold(&own, *data, &kept, 1, out);
  return TL_OK;
}

/* ---- two terms ------------------------------------------------------------------------------ */

/* An operand of the product: tables of offsets by batch, lane and k. */
typedef struct side {
  const char *data;
  size_t size;
  const int64_t *batch;
  const int64_t *lane;
  const int64_t *k;
} side;

/* A tl_gemm_pack that follows the tables. */
static void pack_side(const void *user, const tl_gemm_block *b, void *dst) {
  const side *s = user;
  char *to = dst;
  if (b->lanes < b->width)
    memset(to, 0, (size_t)(b->steps * b->width) * s->size);
  for (int64_t i = 0; i < b->steps; i++)
    for (int64_t l = 0; l < b->lanes; l++) {
      int64_t from = s->batch[b->batch] + s->lane[b->lane + l] + s->k[b->k + i];
      if (s->size == 4)
        memcpy(to + (i * b->width + l) * 4, s->data + from * 4, 4);
      else
        memcpy(to + (i * b->width + l) * 8, s->data + from * 8, 8);
    }
}

enum { BATCH, ROWS, COLUMNS, SUMMED, N_GROUPS };

/* Sorts the labels of both terms by what they do in the product. */
static tl_status make_groups(einsum *e, const term *a, const term *b, const bool *keep, group *g) {
  bool seen[N_LABELS] = {false};
  const term *both[2] = {a, b};
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < both[k]->n; i++) {
      uint16_t label = both[k]->label[i];
      if (seen[label])
        continue;
      seen[label] = true;
      group *to = &g[!keep[label]                     ? SUMMED
                     : a->has[label] && b->has[label] ? BATCH
                     : a->has[label]                  ? ROWS
                                                      : COLUMNS];
      to->label[to->n++] = label;
    }
  for (int k = 0; k < N_GROUPS; k++)
    TL_TRY(close_group(e, &g[k]));
  return TL_OK;
}

/* Multiplies two terms; the result, over BATCH, ROWS and COLUMNS, becomes the term at hand. */
static tl_status multiply(einsum *e, const term *a, const term *b, const bool *keep, term *out) {
  group g[N_GROUPS] = {0};
  TL_TRY(make_groups(e, a, b, keep, g));
  size_t size = tl_gemm_size(e->type);
  side sa = {.data = a->data, .size = size}, sb = {.data = b->data, .size = size};
  TL_TRY(offsets(e, &g[BATCH], a, &sa.batch));
  TL_TRY(offsets(e, &g[BATCH], b, &sb.batch));
  TL_TRY(offsets(e, &g[ROWS], a, &sa.lane));
  TL_TRY(offsets(e, &g[COLUMNS], b, &sb.lane));
  TL_TRY(offsets(e, &g[SUMMED], a, &sa.k));
  TL_TRY(offsets(e, &g[SUMMED], b, &sb.k));
  int64_t dims[3] = {g[BATCH].total, g[ROWS].total, g[COLUMNS].total};
  if (g[BATCH].n + g[ROWS].n + g[COLUMNS].n > TL_MAX_RANK)
    return tl_eval_fail(e->x, "the equation has more than %d labels", TL_MAX_RANK);
  tl_host *y = tl_host_new(e->x->heap, e->dtype, 3, dims);
  int64_t *at = tl_eval_scratch(e->x, (uint64_t)dims[0], sizeof *at);
  if (!y || !at) {
    tl_host_release(y);
    return tl_eval_no_memory(e->x);
  }
  for (int64_t i = 0; i < dims[0]; i++)
    at[i] = i * dims[1] * dims[2];
  tl_gemm p = {.type = e->type,
               .batches = (uint64_t)dims[0],
               .m = dims[1],
               .n = dims[2],
               .k = g[SUMMED].total,
               .a = {.pack = pack_side, .user = &sa},
               .b = {.pack = pack_side, .user = &sb},
               .c = y->data,
               .c_at = at,
               .c_stride = dims[2]};
  tl_status status = y->n ? tl_gemm_run(e->x, &p) : TL_OK;
  hold(e, y, g, SUMMED, out);
  return status;
}

/* Contracts `acc` with the next term, and replaces it by the result. */
static tl_status contract(einsum *e, const term *next, term *acc) {
  bool keep[N_LABELS], needed_a[N_LABELS], needed_b[N_LABELS];
  for (int i = 0; i < N_LABELS; i++) {
    keep[i] = e->uses[i] != 0;
    needed_a[i] = keep[i] || next->has[i];
    needed_b[i] = keep[i] || acc->has[i];
  }
  term *pair = tl_eval_scratch(e->x, 2, sizeof *pair);
  tl_host *data_a = NULL, *data_b = NULL;
  if (!pair)
    return tl_eval_no_memory(e->x);
  tl_status status = drop_labels(e, acc, needed_a, &pair[0], &data_a);
  if (status == TL_OK)
    status = drop_labels(e, next, needed_b, &pair[1], &data_b);
  if (status == TL_OK)
    status = multiply(e, &pair[0], &pair[1], keep, acc);
  tl_host_release(data_a);
  tl_host_release(data_b);
  return status;
}

/* ---- kernel --------------------------------------------------------------------------------- */

/* Fills wide[] with the operands. Integers of 8 and 16 bits are computed as 32-bit ones: the low
 * bits are the same. */
static tl_status widen(einsum *e, tl_host **wide) {
  tl_eval *ctx = e->x;
  for (uint32_t i = 0; i < ctx->n_in; i++) {
    const tl_host *t = tl_eval_in(ctx, i);
    if (!t || t->kind != TL_HOST_TENSOR || t->dtype != tl_eval_in(ctx, 0)->dtype)
      return tl_eval_fail(ctx, "operand %u must be a tensor of the type of operand 0", i);
    if (tl_gemm_type_of((tl_dtype)t->dtype, &e->type)) {
      e->dtype = (tl_dtype)t->dtype;
      wide[i] = tl_host_retain((tl_host *)(uintptr_t)t);
      continue;
    }
    if (t->dtype == TL_DTYPE_STRING || !tl_dtype_is_integer((tl_dtype)t->dtype))
      return tl_eval_unsupported(ctx, "products of %s are not supported",
                                 tl_dtype_get((tl_dtype)t->dtype)->name);
    e->type = TL_GEMM_U32;
    e->dtype = TL_DTYPE_I32;
    wide[i] = tl_host_new(ctx->heap, TL_DTYPE_I32, t->rank, t->dims);
    if (!wide[i])
      return tl_eval_no_memory(ctx);
    for (uint64_t k = 0; k < t->n; k++)
      ((int32_t *)wide[i]->data)[k] = (int32_t)tl_host_int_at(t, k);
  }
  return TL_OK;
}

/* Makes result 0 from a row-major tensor; of widened integers the low bits are kept. */
static tl_status put_result(einsum *e, const tl_host *flat) {
  tl_eval *ctx = e->x;
  int64_t dims[TL_MAX_RANK];
  tl_host *y;
  tl_dtype dtype = (tl_dtype)tl_eval_in(ctx, 0)->dtype;
  for (int i = 0; i < e->n_out; i++)
    dims[i] = e->size[e->out[i]];
  if (dtype == e->dtype)
    return tl_eval_view(ctx, 0, flat, e->n_out, dims);
  TL_TRY(tl_eval_result(ctx, 0, dtype, e->n_out, dims, &y));
  const uint32_t *from = flat->data;
  for (uint64_t i = 0; i < y->n; i++)
    if (tl_host_element_size(dtype) == 1)
      ((uint8_t *)y->data)[i] = (uint8_t)from[i];
    else
      ((uint16_t *)y->data)[i] = (uint16_t)from[i];
  return TL_OK;
}

/* Makes the result from the last term: a view when its labels already are in order, else a sum or
 * transpose. */
static tl_status finish(einsum *e, const term *acc) {
  group kept = {.n = e->n_out};
  memcpy(kept.label, e->out, sizeof kept.label);
  if (e->held && acc->n == e->n_out &&
      memcmp(acc->label, e->out, (size_t)acc->n * sizeof *acc->label) == 0)
    return put_result(e, e->held);
  tl_host *y = NULL;
  tl_status status = reduce(e, acc, &kept, &y);
  if (status == TL_OK)
    status = put_result(e, y);
  tl_host_release(y);
  return status;
}

/* uses[]: labels that the result or a later term has; only those survive a contraction. */
static tl_status run(einsum *e, tl_host *const *wide) {
  uint32_t n = e->x->n_in;
  term *terms = tl_eval_scratch(e->x, n, sizeof *terms);
  if (!terms)
    return tl_eval_no_memory(e->x);
  for (int i = 0; i < N_LABELS; i++)
    e->size[i] = -1;
  TL_TRY(read_equation(e, terms, (const tl_host *const *)wide));
  for (uint32_t i = 1; i < n; i++) {
    memset(e->uses, 0, sizeof e->uses);
    for (int k = 0; k < e->n_out; k++)
      e->uses[e->out[k]] = 1;
    for (uint32_t later = i + 1; later < n; later++)
      for (int k = 0; k < terms[later].n; k++)
        e->uses[terms[later].label[k]] = 1;
    TL_TRY(contract(e, &terms[i], &terms[0]));
  }
  return finish(e, &terms[0]);
}

tl_status tl_eval_einsum(tl_eval *ctx) {
  einsum *e = tl_arena_calloc(ctx->scratch, 1, sizeof *e);
  tl_host **wide = tl_arena_calloc(ctx->scratch, ctx->n_in, sizeof *wide);
  if (!e || !wide)
    return tl_eval_no_memory(ctx);
  e->x = ctx;
  tl_status status = ctx->n_in ? widen(e, wide) : tl_eval_fail(ctx, "there are no operands");
  if (status == TL_OK)
    status = run(e, wide);
  tl_host_release(e->held);
  for (uint32_t i = 0; i < ctx->n_in; i++)
    tl_host_release(wide[i]);
  return status;
}
