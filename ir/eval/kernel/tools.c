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

static tl_status report(tl_eval *x, tl_status status, const char *fmt, va_list ap) TL_PRINTF(3, 0);
/* Formats the message and appends name, type and shape of the first operands: the reader of the
 * message has no other way to see the shapes of this run. */
static tl_status report(tl_eval *x, tl_status status, const char *fmt, va_list ap) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_vprintf(&text, fmt, ap);
  const char *before = " (";
  for (uint32_t i = 0; i < x->n_in && i < SHOWN_OPERANDS; i++) {
    if (!x->in[i])
      continue;
    tl_buf_add_z(&text, before);
    tl_buf_add_quoted(&text, tl_value_name(x->m, tl_operand(x->m, x->node, i)));
    tl_buf_add_z(&text, ": ");
    describe(&text, x->in[i]);
    before = ", ";
  }
  if (before[0] == ',')
    tl_buf_add_z(&text, x->n_in > SHOWN_OPERANDS ? ", ...)" : ")");
  tl_sv shown = text.failed ? TL_SV("the node cannot be evaluated") : tl_buf_view(&text);
  status = tl_fail(x->m->diag, status, tl_node_where(x->m, x->node), "%.*s", TL_SV_ARG(shown));
  tl_buf_release(&text);
  return status;
}

tl_status tl_eval_fail(tl_eval *x, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  tl_status status = report(x, TL_INVALID_MODEL, fmt, ap);
  va_end(ap);
  return status;
}

tl_status tl_eval_unsupported(tl_eval *x, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  tl_status status = report(x, TL_UNSUPPORTED, fmt, ap);
  va_end(ap);
  return status;
}

/* Says how much memory the values of the run take. */
tl_status tl_eval_no_memory(tl_eval *x) {
  return tl_fail(x->m->diag, TL_NO_MEMORY, tl_node_where(x->m, x->node),
                 "out of memory: %llu MiB of values are alive",
                 (unsigned long long)(x->heap->used >> 20));
}

/* ---- results -------------------------------------------------------------------------------- */

/* Sets result i, which the driver then owns; t NULL means that memory was out. */
static tl_status put(tl_eval *x, uint32_t i, tl_host *t) {
  if (!t)
    return tl_eval_no_memory(x);
  if (i >= x->n_out) {
    tl_host_release(t);
    return tl_fail(x->m->diag, TL_INTERNAL, tl_node_where(x->m, x->node),
                   "the kernel makes a result %u that the op does not have", i);
  }
  tl_host_release(x->out[i]);
  x->out[i] = t;
  return TL_OK;
}

/* Finds out why a tensor could not be made, and reports that: a negative dim, too many elements,
 * the memory limit, or memory itself. */
static tl_status fail_size(tl_eval *x, uint32_t i, tl_dtype dtype, int rank, const int64_t *dims) {
  int64_t n;
  uint64_t bytes;
  for (int k = 0; k < rank; k++)
    if (dims[k] < 0)
      return tl_eval_fail(x, "result %u would have the dim %lld", i, (long long)dims[k]);
  if (!tl_eval_product(dims, 0, rank, &n) ||
      (dtype != TL_DTYPE_STRING && !tl_dtype_bytes(dtype, (uint64_t)n, &bytes)))
    return tl_eval_fail(x, "result %u would have more elements than can be counted", i);
  uint64_t limit = x->heap->limit;
  if (dtype != TL_DTYPE_STRING && limit && (bytes > limit || x->heap->used > limit - bytes))
    return tl_fail(x->m->diag, TL_LIMIT, tl_node_where(x->m, x->node),
                   "result %u needs %llu MiB, which exceeds the memory limit of %llu MiB (%llu MiB "
                   "are in use)\vraise it with --memory-limit",
                   i, (unsigned long long)(bytes >> 20), (unsigned long long)(limit >> 20),
                   (unsigned long long)(x->heap->used >> 20));
  return tl_eval_no_memory(x);
}

tl_status tl_eval_result(tl_eval *x, uint32_t i, tl_dtype dtype, int rank, const int64_t *dims,
                         tl_host **out) {
  *out = tl_host_new(x->heap, dtype, rank, dims);
  return *out ? put(x, i, *out) : fail_size(x, i, dtype, rank, dims);
}

tl_status tl_eval_result_like(tl_eval *x, uint32_t i, tl_dtype dtype, const tl_host *like,
                              tl_host **out) {
  return tl_eval_result(x, i, dtype, like->rank, like->dims, out);
}

/* A view shares the bytes; nothing is copied. */
tl_status tl_eval_view(tl_eval *x, uint32_t i, const tl_host *of, int rank, const int64_t *dims) {
  return put(x, i, tl_host_view(of, (tl_dtype)of->dtype, rank, dims));
}

tl_status tl_eval_pass(tl_eval *x, uint32_t i, const tl_host *value) {
  /* const is cast away for the reference count, which is no part of the value */
  return put(x, i, tl_host_retain((tl_host *)(uintptr_t)value));
}

/* Results that nobody uses need not be computed. */
bool tl_eval_wants(const tl_eval *x, uint32_t i) {
  tl_value_id v = tl_result(x->m, x->node, i);
  return v && tl_value_get(x->m, v)->n_uses;
}

/* Scratch is freed as a whole behind the kernel. The limit also stops absurd sizes. */
void *tl_eval_scratch(tl_eval *x, uint64_t n, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes) || (x->heap->limit && bytes > x->heap->limit))
    return NULL;
  return tl_arena_alloc(x->scratch, bytes);
}

/* ---- attributes and small operands ---------------------------------------------------------- */

int64_t tl_eval_int(const tl_eval *x, tl_symbol name, int64_t fallback) {
  return tl_node_attr_int(x->m, x->node, name, fallback);
}

float tl_eval_float(const tl_eval *x, tl_symbol name, float fallback) {
  return tl_node_attr_float(x->m, x->node, name, fallback);
}

tl_sv tl_eval_string(const tl_eval *x, tl_symbol name) {
  return tl_node_attr_string(x->m, x->node, name);
}

tl_int_list tl_eval_ints(const tl_eval *x, tl_symbol name) {
  return tl_node_attr_ints(x->m, x->node, name);
}

/* Strings and complex numbers cannot be read as one number. */
static bool has_numbers(const tl_host *t) {
  return t->kind == TL_HOST_TENSOR && t->dtype != TL_DTYPE_STRING && t->dtype != TL_DTYPE_C64 &&
         t->dtype != TL_DTYPE_C128;
}

tl_status tl_eval_operand_ints(tl_eval *x, uint32_t i, tl_int_list *out) {
  const tl_host *t = tl_eval_in(x, i);
  *out = (tl_int_list){0};
  if (!t)
    return TL_OK;
  if (!has_numbers(t) || t->n > UINT32_MAX)
    return tl_eval_fail(x, "operand %u is not a list of integers", i);
  int64_t *at = tl_eval_scratch(x, t->n, sizeof *at);
  if (!at)
    return tl_eval_no_memory(x);
  for (uint64_t k = 0; k < t->n; k++)
    at[k] = tl_host_int_at(t, k);
  *out = (tl_int_list){at, (uint32_t)t->n};
  return TL_OK;
}

/* One element of any rank. */
static tl_status need_one(tl_eval *x, uint32_t i) {
  const tl_host *t = tl_eval_in(x, i);
  if (has_numbers(t) && t->n == 1)
    return TL_OK;
  return tl_eval_fail(x, "operand %u must have exactly one element", i);
}

tl_status tl_eval_operand_int(tl_eval *x, uint32_t i, int64_t fallback, int64_t *out) {
  *out = fallback;
  if (!tl_eval_in(x, i))
    return TL_OK;
  TL_TRY(need_one(x, i));
  *out = tl_host_int_at(tl_eval_in(x, i), 0);
  return TL_OK;
}

tl_status tl_eval_operand_float(tl_eval *x, uint32_t i, double fallback, double *out) {
  *out = fallback;
  if (!tl_eval_in(x, i))
    return TL_OK;
  TL_TRY(need_one(x, i));
  *out = tl_host_at(tl_eval_in(x, i), 0);
  return TL_OK;
}

tl_graph_id tl_eval_body_attr(const tl_eval *x, tl_symbol name) {
  const tl_attr *a = tl_node_attr(x->m, x->node, name);
  return a && a->kind == TL_ATTR_GRAPH ? a->u.g : TL_NO_GRAPH;
}

/* ---- shapes --------------------------------------------------------------------------------- */

tl_status tl_eval_axis(tl_eval *x, int64_t axis, int rank, uint32_t *out) {
  if (axis < -rank || axis >= rank)
    return tl_eval_fail(x, "axis %lld is outside [%d, %d]", (long long)axis, -rank, rank - 1);
  *out = (uint32_t)(axis < 0 ? axis + rank : axis);
  return TL_OK;
}

tl_status tl_eval_need_rank(tl_eval *x, uint32_t i, int min, int max) {
  const tl_host *t = tl_eval_in(x, i);
  if (!t || t->kind != TL_HOST_TENSOR)
    return tl_eval_fail(x, "operand %u must be a tensor", i);
  if (t->rank >= min && t->rank <= max)
    return TL_OK;
  if (min == max)
    return tl_eval_fail(x, "operand %u has rank %d, expected %d", i, t->rank, min);
  return tl_eval_fail(x, "operand %u has rank %d, expected %d to %d", i, t->rank, min, max);
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
static tl_status broadcast_dim(tl_eval *x, const tl_host *const *operands, uint32_t n, int back,
                               int64_t *out) {
  int64_t d = 1;
  for (uint32_t k = 0; k < n; k++) {
    if (back > operands[k]->rank)
      continue;
    int64_t own = operands[k]->dims[operands[k]->rank - back];
    if (own == 1 || own == d)
      continue;
    if (d != 1)
      return tl_eval_fail(x, "shapes cannot be broadcast: %lld against %lld", (long long)d,
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

tl_status tl_eval_broadcast(tl_eval *x, const tl_host *const *operands, uint32_t n, int *rank,
                            int64_t *dims, int64_t (*strides)[TL_MAX_RANK]) {
  *rank = 0;
  for (uint32_t k = 0; k < n; k++)
    if (operands[k]->rank > *rank)
      *rank = operands[k]->rank;
  for (int back = 1; back <= *rank; back++)
    TL_TRY(broadcast_dim(x, operands, n, back, &dims[*rank - back]));
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

void tl_eval_for(const tl_eval *x, uint64_t n, uint64_t grain, tl_eval_range fn, void *user) {
  if (n == 0)
    return;
  if (grain == 0)
    grain = 1;
  if (!x->pool || tl_pool_threads(x->pool) < 2 || n / 2 < grain) {
    fn(user, 0, n);
    return;
  }
  uint64_t parts = n / grain; /* each has at least `grain` items */
  if (parts > MOST_PARTS)
    parts = MOST_PARTS;
  division d = {fn, user, n, (n + parts - 1) / parts};
  /* run_part cannot fail, and the pool adds no failure of its own */
  (void)tl_pool_run(x->pool, (size_t)((n + d.part - 1) / d.part), run_part, &d);
}
