/* SPDX-License-Identifier: Apache-2.0 */
/* What all kernels share: errors, results, attributes, small operands, broadcasting, parallel
 * loops. */
#include "ir/eval/kernel/kernel.h"

enum { SHOWN_OPERANDS = 6, SHOWN_RANK = 16 };

/* ---- errors --------------------------------------------------------------------------------- */

/* Appends "f32[2,3]", or the kind of a value that is no tensor. */
static void describe(tl_buf *out, const tl_host *t) {
  if (t->kind != TL_HOST_TENSOR) {
    tl_buf_add_z(out, t->kind == TL_HOST_SEQUENCE ? "sequence" : "empty optional");
    return;
  }
  tl_buf_printf(out, "%s[", tl_dtype_get((tl_dtype)t->dtype)->name);
  for (int i = 0; i < t->rank && i < SHOWN_RANK; i++) {
    tl_buf_add_z(out, i ? "," : "");
    tl_buf_add_i64(out, t->dims[i]);
  }
  tl_buf_add_z(out, t->rank > SHOWN_RANK ? ",...]" : "]");
}

static tl_status report(tl_eval *ctx, tl_status status, const char *fmt, va_list ap)
    TL_PRINTF(3, 0);
/* Formats the message and appends name, type and shape of the first operands: the reader of the
 * message has no other way to see the shapes of this run. */
static tl_status report(tl_eval *ctx, tl_status status, const char *fmt, va_list ap) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_vprintf(&text, fmt, ap);
  const char *before = " (";
  for (uint32_t i = 0; i < ctx->n_in && i < SHOWN_OPERANDS; i++) {
    if (!ctx->in[i])
      continue;
    tl_buf_add_z(&text, before);
    tl_buf_add_quoted(&text, tl_value_name(ctx->m, tl_operand(ctx->m, ctx->node, i)));
    tl_buf_add_z(&text, ": ");
    describe(&text, ctx->in[i]);
    before = ", ";
  }
  if (before[0] == ',')
    tl_buf_add_z(&text, ctx->n_in > SHOWN_OPERANDS ? ", ...)" : ")");
  tl_sv shown = text.failed ? TL_SV("the node cannot be evaluated") : tl_buf_view(&text);
  status =
      tl_fail(ctx->m->diag, status, tl_node_where(ctx->m, ctx->node), "%.*s", TL_SV_ARG(shown));
  tl_buf_release(&text);
  return status;
}

tl_status tl_eval_fail(tl_eval *ctx, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  tl_status status = report(ctx, TL_INVALID_MODEL, fmt, ap);
  va_end(ap);
  return status;
}

tl_status tl_eval_unsupported(tl_eval *ctx, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  tl_status status = report(ctx, TL_UNSUPPORTED, fmt, ap);
  va_end(ap);
  return status;
}

/* Says how much memory the values of the run take. */
tl_status tl_eval_no_memory(tl_eval *ctx) {
  return tl_fail(ctx->m->diag, TL_NO_MEMORY, tl_node_where(ctx->m, ctx->node),
                 "out of memory: %llu MiB of values are alive",
                 (unsigned long long)(ctx->heap->used >> 20));
}

/* ---- results -------------------------------------------------------------------------------- */

/* Sets result i, which the driver then owns; t NULL means that memory was out. */
static tl_status put(tl_eval *ctx, uint32_t i, tl_host *t) {
  if (!t)
    return tl_eval_no_memory(ctx);
  if (i >= ctx->n_out) {
    tl_host_release(t);
    return tl_fail(ctx->m->diag, TL_INTERNAL, tl_node_where(ctx->m, ctx->node),
                   "the kernel makes a result %u that the op does not have", i);
  }
  tl_host_release(ctx->out[i]);
  ctx->out[i] = t;
  return TL_OK;
}

/* Finds out why a tensor could not be made, and reports that: a negative dim, too many elements,
 * the memory limit, or memory itself. */
static tl_status fail_size(tl_eval *ctx, uint32_t i, tl_dtype dtype, int rank,
                           const int64_t *dims) {
  int64_t n;
  uint64_t bytes;
  for (int k = 0; k < rank; k++)
    if (dims[k] < 0)
      return tl_eval_fail(ctx, "result %u would have the dim %lld", i, (long long)dims[k]);
  if (!tl_eval_product(dims, 0, rank, &n) ||
      (dtype != TL_DTYPE_STRING && !tl_dtype_bytes(dtype, (uint64_t)n, &bytes)))
    return tl_eval_fail(ctx, "result %u would have more elements than can be counted", i);
  uint64_t limit = ctx->heap->limit, most = ctx->heap->most;
  if (dtype != TL_DTYPE_STRING && most && bytes > most)
    return tl_fail(ctx->m->diag, TL_LIMIT, tl_node_where(ctx->m, ctx->node),
                   "result %u needs %llu bytes, more than one tensor may take (%llu)\v"
                   "raise it with --max-tensor",
                   i, (unsigned long long)bytes, (unsigned long long)most);
  if (dtype != TL_DTYPE_STRING && limit && (bytes > limit || ctx->heap->used > limit - bytes))
    return tl_fail(ctx->m->diag, TL_LIMIT, tl_node_where(ctx->m, ctx->node),
                   "result %u needs %llu MiB, which exceeds the memory limit of %llu MiB (%llu MiB "
                   "are in use)\vraise it with --memory-limit",
                   i, (unsigned long long)(bytes >> 20), (unsigned long long)(limit >> 20),
                   (unsigned long long)(ctx->heap->used >> 20));
  return tl_eval_no_memory(ctx);
}

tl_status tl_eval_result(tl_eval *ctx, uint32_t i, tl_dtype dtype, int rank, const int64_t *dims,
                         tl_host **out) {
  *out = tl_host_new(ctx->heap, dtype, rank, dims);
  return *out ? put(ctx, i, *out) : fail_size(ctx, i, dtype, rank, dims);
}

tl_status tl_eval_result_like(tl_eval *ctx, uint32_t i, tl_dtype dtype, const tl_host *like,
                              tl_host **out) {
  return tl_eval_result(ctx, i, dtype, like->rank, like->dims, out);
}

/* A view shares the bytes; nothing is copied. */
tl_status tl_eval_view(tl_eval *ctx, uint32_t i, const tl_host *of, int rank, const int64_t *dims) {
  return put(ctx, i, tl_host_view(of, (tl_dtype)of->dtype, rank, dims));
}

tl_status tl_eval_pass(tl_eval *ctx, uint32_t i, const tl_host *value) {
  /* const is cast away for the reference count, which is no part of the value */
  return put(ctx, i, tl_host_retain((tl_host *)(uintptr_t)value));
}

/* Results that nobody uses need not be computed. */
bool tl_eval_wants(const tl_eval *ctx, uint32_t i) {
  tl_value_id v = tl_result(ctx->m, ctx->node, i);
  return v && tl_value_get(ctx->m, v)->n_uses;
}

/* Scratch is freed as a whole behind the kernel. The limit also stops absurd sizes. */
void *tl_eval_scratch(tl_eval *ctx, uint64_t n, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes) || (ctx->heap->limit && bytes > ctx->heap->limit))
    return NULL;
  return tl_arena_alloc(ctx->scratch, bytes);
}

/* ---- attributes and small operands ---------------------------------------------------------- */

int64_t tl_eval_int(const tl_eval *ctx, tl_symbol name, int64_t fallback) {
  return tl_node_attr_int(ctx->m, ctx->node, name, fallback);
}

float tl_eval_float(const tl_eval *ctx, tl_symbol name, float fallback) {
  return tl_node_attr_float(ctx->m, ctx->node, name, fallback);
}

tl_sv tl_eval_string(const tl_eval *ctx, tl_symbol name) {
  return tl_node_attr_string(ctx->m, ctx->node, name);
}

tl_int_list tl_eval_ints(const tl_eval *ctx, tl_symbol name) {
  return tl_node_attr_ints(ctx->m, ctx->node, name);
}

/* Strings and complex numbers cannot be read as one number. */
static bool has_numbers(const tl_host *t) {
  return t->kind == TL_HOST_TENSOR && t->dtype != TL_DTYPE_STRING && t->dtype != TL_DTYPE_C64 &&
         t->dtype != TL_DTYPE_C128;
}

tl_status tl_eval_operand_ints(tl_eval *ctx, uint32_t i, tl_int_list *out) {
  const tl_host *t = tl_eval_in(ctx, i);
  *out = (tl_int_list){0};
  if (!t)
    return TL_OK;
  if (!has_numbers(t) || t->n > UINT32_MAX)
    return tl_eval_fail(ctx, "operand %u is not a list of integers", i);
  int64_t *at = tl_eval_scratch(ctx, t->n, sizeof *at);
  if (!at)
    return tl_eval_no_memory(ctx);
  for (uint64_t k = 0; k < t->n; k++)
    at[k] = tl_host_int_at(t, k);
  *out = (tl_int_list){at, (uint32_t)t->n};
  return TL_OK;
}

/* One element of any rank. */
static tl_status need_one(tl_eval *ctx, uint32_t i) {
  const tl_host *t = tl_eval_in(ctx, i);
  if (has_numbers(t) && t->n == 1)
    return TL_OK;
  return tl_eval_fail(ctx, "operand %u must have exactly one element", i);
}

tl_status tl_eval_operand_int(tl_eval *ctx, uint32_t i, int64_t fallback, int64_t *out) {
  *out = fallback;
  if (!tl_eval_in(ctx, i))
    return TL_OK;
  TL_TRY(need_one(ctx, i));
  *out = tl_host_int_at(tl_eval_in(ctx, i), 0);
  return TL_OK;
}

tl_status tl_eval_operand_float(tl_eval *ctx, uint32_t i, double fallback, double *out) {
  *out = fallback;
  if (!tl_eval_in(ctx, i))
    return TL_OK;
  TL_TRY(need_one(ctx, i));
  *out = tl_host_at(tl_eval_in(ctx, i), 0);
  return TL_OK;
}

tl_graph_id tl_eval_body_attr(const tl_eval *ctx, tl_symbol name) {
  const tl_attr *a = tl_node_attr(ctx->m, ctx->node, name);
  return a && a->kind == TL_ATTR_GRAPH ? a->u.g : TL_NO_GRAPH;
}

/* ---- shapes --------------------------------------------------------------------------------- */

tl_status tl_eval_axis(tl_eval *ctx, int64_t axis, int rank, uint32_t *out) {
  if (axis < -rank || axis >= rank)
    return tl_eval_fail(ctx, "axis %lld is outside [%d, %d]", (long long)axis, -rank, rank - 1);
  *out = (uint32_t)(axis < 0 ? axis + rank : axis);
  return TL_OK;
}

tl_status tl_eval_need_rank(tl_eval *ctx, uint32_t i, int min, int max) {
  const tl_host *t = tl_eval_in(ctx, i);
  if (!t || t->kind != TL_HOST_TENSOR)
    return tl_eval_fail(ctx, "operand %u must be a tensor", i);
  if (t->rank >= min && t->rank <= max)
    return TL_OK;
  if (min == max)
    return tl_eval_fail(ctx, "operand %u has rank %d, expected %d", i, t->rank, min);
  return tl_eval_fail(ctx, "operand %u has rank %d, expected %d to %d", i, t->rank, min, max);
}

/* A first loop looks for 0, since large dims before it would overflow. */
bool tl_eval_product(const int64_t *dims, int from, int to, int64_t *out) {
  *out = 1;
  for (int i = from; i < to; i++)
    if (dims[i] == 0) {
      *out = 0;
      return true;
    }
  for (int i = from; i < to; i++)
    if (__builtin_mul_overflow(*out, dims[i], out))
      return false;
  return true;
}

/* Finds the size of one dim of the result, counted from the back (1: the last one). */
static tl_status broadcast_dim(tl_eval *ctx, const tl_host *const *operands, uint32_t n, int back,
                               int64_t *out) {
  int64_t d = 1;
  for (uint32_t k = 0; k < n; k++) {
    if (back > operands[k]->rank)
      continue;
    int64_t own = operands[k]->dims[operands[k]->rank - back];
    if (own == 1 || own == d)
      continue;
    if (d != 1)
      return tl_eval_fail(ctx, "shapes cannot be broadcast: %lld against %lld", (long long)d,
                          (long long)own);
    d = own;
  }
  *out = d;
  return TL_OK;
}

/* Fills the strides of one operand. Unsigned, because the product may wrap when the tensor has no
 * elements; the strides are not used then. */
static void broadcast_strides(const tl_host *t, int rank, const int64_t *dims, int64_t *strides) {
  uint64_t step = 1;
  for (int i = rank - 1; i >= 0; i--) {
    int own = i - (rank - t->rank);
    bool along = own >= 0 && t->dims[own] == dims[i] && dims[i] != 1;
    strides[i] = along ? (int64_t)step : 0;
    if (own >= 0)
      step *= (uint64_t)t->dims[own];
  }
}

tl_status tl_eval_broadcast(tl_eval *ctx, const tl_host *const *operands, uint32_t n, int *rank,
                            int64_t *dims, int64_t (*strides)[TL_MAX_RANK]) {
  *rank = 0;
  for (uint32_t k = 0; k < n; k++)
    if (operands[k]->rank > *rank)
      *rank = operands[k]->rank;
  for (int back = 1; back <= *rank; back++)
    TL_TRY(broadcast_dim(ctx, operands, n, back, &dims[*rank - back]));
  for (uint32_t k = 0; k < n; k++)
    broadcast_strides(operands[k], *rank, dims, strides[k]);
  return TL_OK;
}

/* ---- loops ---------------------------------------------------------------------------------- */

/* More parts than threads balance the load; beyond this number the hand-over costs more than it
 * saves. */
enum { MOST_PARTS = 1024 };

/* The range [0, n) in parts of `part`. */
typedef struct division {
  tl_eval_range fn;
  void *user;
  uint64_t n;
  uint64_t part;
} division;

static tl_status run_part(void *user, size_t i, unsigned worker) {
  (void)worker;
  const division *d = user;
  uint64_t begin = i * d->part;
  uint64_t end = d->n - begin < d->part ? d->n : begin + d->part;
  d->fn(d->user, begin, end);
  return TL_OK;
}

void tl_eval_for(const tl_eval *ctx, uint64_t n, uint64_t grain, tl_eval_range fn, void *user) {
  if (n == 0)
    return;
  if (grain == 0)
    grain = 1;
  if (!ctx->pool || tl_pool_threads(ctx->pool) < 2 || n / 2 < grain) {
    fn(user, 0, n);
    return;
  }
  uint64_t parts = n / grain; /* each has at least `grain` items */
  if (parts > MOST_PARTS)
    parts = MOST_PARTS;
  division d = {fn, user, n, (n + parts - 1) / parts};
  /* run_part cannot fail, and the pool adds no failure of its own */
  (void)tl_pool_run(ctx->pool, (size_t)((n + d.part - 1) / d.part), run_part, &d);
}
