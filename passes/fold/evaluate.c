/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation for fold-constants: which nodes are evaluated, and upper bounds on memory and work. */
#include "ir/eval/eval.h"
#include "ir/express.h"
#include "passes/fold/fold.h"

enum {
  HEAP_BYTES = 8 << 20,    /* upper bound on all values that are alive at one time */
  EXPRESSED_BYTES = 65536, /* a larger result becomes an expression if its op has one */
  SPENT_BYTES = 4 << 20,   /* upper bound on all results that are larger than --fold-limit */
  FILLED_BYTES = 1 << 30   /* upper bound on all weights of one repeated number */
};

/* Upper bound on bytes of operands times bytes of results, an estimate of the work: a node beyond
 * it is left to the device. */
static const uint64_t most_work = UINT64_C(1) << 34;

uint64_t tl_fold_operand_bytes(const tl_fold *f, tl_node_id n) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < tl_node_get(f->m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(f->m, n, i);
    tl_fold_contents c = v ? tl_fold_contents_of(f, v) : (tl_fold_contents){NULL, NULL};
    bytes += c.tensor ? c.tensor->bytes : c.host ? c.host->bytes : 0;
  }
  return bytes;
}

/* Returns the bytes of all results whose types have known sizes; saturates far below overflow. */
static uint64_t expected_bytes(const tl_fold *f, tl_node_id n) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < tl_node_get(f->m, n)->n_results; i++) {
    uint64_t elements;
    uint64_t bytes;
    tl_type_id type = tl_value_type(f->m, tl_result(f->m, n, i));
    if (tl_type_elements(f->m, type, &elements) &&
        tl_dtype_bytes(tl_type_dtype(f->m, type), elements, &bytes))
      sum += bytes < UINT64_MAX / 256 ? bytes : UINT64_MAX / 256;
  }
  return sum;
}

static bool within_limit(const tl_fold *f, uint64_t bytes) {
  return bytes <= (uint64_t)f->p->options->fold_limit;
}

/* Returns true if a result of `to` bytes may replace operands of `from` bytes: it is within the
 * limit, or no larger than the operands while the total allowance lasts. */
static bool may_grow(const tl_fold *f, uint64_t from, uint64_t to) {
  return within_limit(f, to) || (to <= from && to <= SPENT_BYTES - f->spent);
}

static bool worth_trying(tl_fold *f, tl_node_id n, uint64_t from) {
  uint64_t to = expected_bytes(f, n);
  if (!may_grow(f, from, to)) {
    tl_pass_remark(f->p, f->m, n, false, "not folded: its result would take %llu bytes",
                   (unsigned long long)to);
    return false;
  }
  if (from && to > most_work / from) {
    tl_pass_remark(f->p, f->m, n, false, "not folded: it takes too long");
    return false;
  }
  return true;
}

tl_host *tl_fold_take_operand(tl_fold *f, tl_value_id v) {
  if (!v || !tl_fold_is_known(f, v))
    return NULL;
  tl_fold_contents c = tl_fold_contents_of(f, v);
  return c.host ? tl_host_retain(c.host) : tl_host_from_tensor(&f->heap, f->m, c.tensor);
}

/* Returns true if an evaluated result has the kind, rank and sizes that the module states. */
static bool agrees(const tl_fold *f, tl_value_id v, const tl_host *host) {
  const tl_type *t = tl_type_get(f->m, tl_value_type(f->m, v));
  if (host->kind != TL_HOST_TENSOR || (t->kind != TL_KIND_TENSOR && t->kind != TL_KIND_UNKNOWN))
    return false;
  if (t->kind == TL_KIND_UNKNOWN || t->rank < 0)
    return true;
  for (int i = 0; i < t->rank && t->rank == host->rank; i++)
    if (tl_dim_is_static(t->dims[i]) && t->dims[i] != host->dims[i])
      return false;
  return t->rank == host->rank;
}

/* Makes entries for the results of a node in the table of known values. */
static bool have_room(tl_fold *f, tl_node_id n) {
  const tl_node *node = tl_node_get(f->m, n);
  if (!f->blocks) {
    uint32_t blocks = tl_module_value_end(f->m) / TL_FOLD_BLOCK + 1;
    f->blocks = tl_arena_calloc(f->p->scratch, blocks, sizeof *f->blocks);
    f->n_blocks = f->blocks ? blocks : 0;
  }
  uint32_t end = node->n_results ? (node->results + node->n_results - 1) / TL_FOLD_BLOCK + 1 : 0;
  for (uint32_t i = node->results / TL_FOLD_BLOCK; i < end; i++) {
    if (i >= f->n_blocks)
      return false;
    if (!f->blocks[i])
      f->blocks[i] = tl_arena_calloc(f->p->scratch, TL_FOLD_BLOCK, sizeof **f->blocks);
    if (!f->blocks[i])
      return false;
  }
  return true;
}

/* Keeps the results if they agree with the types of the module and are small enough. */
static bool keep_results(tl_fold *f, tl_node_id n, tl_host **results, uint64_t from) {
  const tl_node *node = tl_node_get(f->m, n);
  uint64_t to = 0;
  for (uint32_t i = 0; i < node->n_results; i++) {
    bool used = tl_value_get(f->m, node->results + i)->n_uses > 0;
    if (used && (!results[i] || !agrees(f, node->results + i, results[i])))
      return false;
    to += results[i] ? results[i]->bytes : 0;
  }
  if (!may_grow(f, from, to))
    return false;
  f->spent += within_limit(f, to) ? 0 : to;
  for (uint32_t i = 0; i < node->n_results; i++) {
    tl_value_id v = node->results + i;
    if (tl_value_get(f->m, v)->n_uses && !tl_fold_is_known(f, v))
      f->blocks[v / TL_FOLD_BLOCK][v % TL_FOLD_BLOCK] =
          (tl_fold_value){tl_host_retain(results[i]), tl_value_get(f->m, v)->n_uses};
  }
  return true;
}

static bool run(tl_fold *f, tl_node_id n, tl_host **operands, tl_host **results) {
  const tl_eval_options o = {.exact = true};
  tl_muted muted; /* the node may never run, so its error is no error of the conversion */
  bool ok = true;
  for (uint32_t i = 0; i < tl_node_get(f->m, n)->n_operands && ok; i++) {
    tl_value_id v = tl_operand(f->m, n, i);
    operands[i] = v ? tl_fold_take_operand(f, v) : NULL;
    ok = !v || operands[i];
  }
  tl_mute(&muted, f->m, NULL, NULL);
  ok = ok && tl_eval_one(f->m, n, &o, &f->heap, operands, results) == TL_OK;
  tl_unmute(&muted);
  return ok;
}

/* ---- constants of the module ----------------------------------------------------------------- */

static tl_tensor_id store_strings(tl_fold *f, const tl_host *host, tl_type_id type) {
  tl_symbol *strings = tl_arena_calloc(&f->m->arena, host->n, sizeof *strings);
  uint64_t bytes = 0;
  for (uint64_t i = 0; strings && i < host->n; i++) {
    tl_sv s = ((const tl_sv *)host->data)[i];
    strings[i] = tl_module_intern(f->m, s);
    if (strings[i] == TL_NO_SYMBOL)
      return TL_NO_TENSOR;
    bytes += s.n;
  }
  tl_tensor t = {.kind = TL_SOURCE_STRINGS,
                 .dtype = TL_DTYPE_STRING,
                 .type = type,
                 .bytes = bytes,
                 .u.strings = strings};
  return strings ? tl_tensor_add(f->m, &t) : TL_NO_TENSOR;
}

/* A NaN that arithmetic makes is negative on x86 and positive elsewhere. It becomes positive, so
 * that the same model gives the same bytes; one with a payload was in the model, and stays. */
static void drop_nan_signs(tl_dtype d, void *data, uint64_t n) {
  uint32_t *f32 = data;
  uint64_t *f64 = data;
  uint16_t *half = data;
  const uint16_t nan = d == TL_DTYPE_F16 ? 0x7e00 : 0x7fc0;
  for (uint64_t i = 0; d == TL_DTYPE_F32 && i < n; i++)
    f32[i] = f32[i] == 0xffc00000u ? 0x7fc00000u : f32[i];
  for (uint64_t i = 0; d == TL_DTYPE_F64 && i < n; i++)
    f64[i] = f64[i] == UINT64_C(0xfff8000000000000) ? UINT64_C(0x7ff8000000000000) : f64[i];
  for (uint64_t i = 0; (d == TL_DTYPE_F16 || d == TL_DTYPE_BF16) && i < n; i++)
    half[i] = half[i] == (nan | 0x8000) ? nan : half[i];
}

tl_tensor_id tl_fold_store(tl_fold *f, const tl_host *host) {
  tl_type_id type = tl_type_tensor(f->m, (tl_dtype)host->dtype, host->rank, host->dims);
  if (type == TL_NO_TYPE)
    return TL_NO_TENSOR;
  if (host->dtype == TL_DTYPE_STRING)
    return store_strings(f, host, type);
  void *copy = tl_arena_copy(&f->m->arena, host->bytes ? host->data : "", host->bytes);
  tl_tensor t = {.kind = TL_SOURCE_BYTES,
                 .dtype = host->dtype,
                 .type = type,
                 .bytes = host->bytes,
                 .u.data = copy};
  if (copy)
    drop_nan_signs((tl_dtype)host->dtype, copy, host->n);
  return copy ? tl_tensor_add(f->m, &t) : TL_NO_TENSOR;
}

/* ---- computed tensors ------------------------------------------------------------------------ */

static const tl_tensor *operand_tensor(tl_fold *f, tl_value_id v) {
  tl_fold_contents c = tl_fold_contents_of(f, v);
  tl_tensor_id made = c.host ? tl_fold_store(f, c.host) : TL_NO_TENSOR;
  return made ? tl_tensor_get(f->m, made) : c.tensor;
}

bool tl_fold_is_weight(const tl_fold *f, tl_value_id v) {
  TL_FOR_USES(f->m, v, u) {
    const tl_use *use = tl_use_get(f->m, u);
    const tl_node *user = tl_node_get(f->m, use->user);
    if (u > user->operands && tl_op_has_trait(user->op, TL_TRAIT_WEIGHTED))
      return true;
  }
  return false;
}

/* Returns the bytes of all weights larger than --fold-limit that nodes of this op fill. */
static uint64_t all_fills(const tl_fold *f, tl_op_id op) {
  uint64_t sum = 0;
  for (uint32_t id = 1; id <= f->m->graphs.n; id++) {
    if (tl_graph_get(f->m, id)->erased)
      continue;
    TL_FOR_NODES(f->m, tl_graph_get(f->m, id), n) {
      const tl_node *node = tl_node_get(f->m, n);
      uint64_t to = node->op == op ? expected_bytes(f, n) : 0;
      bool counts = !within_limit(f, to) && tl_fold_is_weight(f, node->results);
      sum += counts && sum < UINT64_MAX / 2 ? to : 0;
    }
  }
  return sum;
}

/* A weight may become larger than the node that fills it, since rules and NPU ops need the bytes of
 * weights. Either all such weights are folded or none, so that a second run folds nothing more. */
static bool may_fill(tl_fold *f, tl_node_id n) {
  const tl_node *node = tl_node_get(f->m, n);
  if (f->p->options->fold_limit == 0 || !tl_fold_is_weight(f, node->results))
    return false;
  f->fills = f->fills ? f->fills : all_fills(f, node->op);
  if (f->fills <= FILLED_BYTES)
    return true;
  tl_pass_remark(f->p, f->m, n, false,
                 "not folded: weights with equal elements would take more than %d MiB",
                 FILLED_BYTES >> 20);
  return false;
}

static uint32_t bits_of(const tl_fold *f, tl_value_id v) {
  return (uint32_t)tl_dtype_get(tl_type_dtype(f->m, tl_value_type(f->m, v)))->bits;
}

/* Returns true if a cast from a sub-byte type must be folded, whatever its size: no NPU op widens
 * types of less than 8 bits. */
static bool must_grow(const tl_fold *f, tl_node_id n) {
  const tl_options *o = f->p->options;
  uint32_t from = bits_of(f, tl_operand(f->m, n, 0)), to = bits_of(f, tl_result(f->m, n, 0));
  return o->target == TL_TARGET_NPU && o->fold_limit && from > 0 && from < 8 && to >= 8;
}

bool tl_fold_express(tl_fold *f, tl_node_id n) {
  const tl_node *node = tl_node_get(f->m, n);
  uint64_t to = expected_bytes(f, n);
  if (to <= EXPRESSED_BYTES || node->n_results != 1 || !tl_op_is_expressible(node->op))
    return false;
  if (to > tl_fold_operand_bytes(f, n) && !within_limit(f, to) && !must_grow(f, n) &&
      !may_fill(f, n))
    return false;
  tl_arena_mark mark = tl_arena_save(f->p->scratch);
  const tl_tensor **in = tl_arena_calloc(f->p->scratch, node->n_operands, sizeof *in);
  for (uint32_t i = 0; in && i < node->n_operands; i++) {
    tl_value_id v = tl_operand(f->m, n, i);
    in[i] = v ? operand_tensor(f, v) : NULL;
  }
  tl_tensor_id made = in ? tl_node_express(f->m, n, in) : TL_NO_TENSOR;
  tl_arena_rewind(f->p->scratch, mark);
  tl_value_get(f->m, node->results)->tensor = made;
  return made != TL_NO_TENSOR;
}

/* ---- evaluation ------------------------------------------------------------------------------ */

bool tl_fold_evaluate(tl_fold *f, tl_node_id n) {
  uint32_t n_in = tl_node_get(f->m, n)->n_operands, n_out = tl_node_get(f->m, n)->n_results;
  uint64_t from = tl_fold_operand_bytes(f, n);
  if (!tl_eval_can(f->m, n) || !worth_trying(f, n, from) || !have_room(f, n))
    return false;
  f->heap.limit = HEAP_BYTES;
  tl_arena_mark mark = tl_arena_save(f->p->scratch);
  tl_host **operands = tl_arena_calloc(f->p->scratch, n_in, sizeof *operands);
  tl_host **results = tl_arena_calloc(f->p->scratch, n_out, sizeof *results);
  bool ok = operands && results && run(f, n, operands, results) &&
            keep_results(f, n, results, from);
  if (!ok)
    tl_pass_remark(f->p, f->m, n, false, "not folded: it cannot be evaluated");
  for (uint32_t i = 0; operands && i < n_in; i++)
    tl_host_release(operands[i]);
  for (uint32_t i = 0; operands && results && i < n_out; i++)
    tl_host_release(results[i]);
  tl_arena_rewind(f->p->scratch, mark);
  return ok;
}

void tl_fold_release_values(tl_fold *f) {
  for (uint32_t i = 0; i < f->n_blocks; i++)
    for (uint32_t k = 0; f->blocks[i] && k < TL_FOLD_BLOCK; k++)
      tl_host_release(f->blocks[i][k].host);
  f->blocks = NULL;
  f->n_blocks = 0;
}
