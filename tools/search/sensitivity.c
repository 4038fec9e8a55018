/* SPDX-License-Identifier: Apache-2.0 */
/* Measures what each lowered node adds to the error by itself: it gets operands without error, and
 * its result is compared with the one that it has when all nodes are kept. */
#include <math.h>

#include "support/hash.h"
#include "lib/values/elements.h"
#include "tools/search/search.h"

/* Results of the model with all nodes kept. */
typedef struct wide_results {
  tl_search *s;
  tl_map index; /* places in `values` by hash of name */
  tl_host_vec values;
  uint64_t bytes;
} wide_results;

enum { MOST_BYTES = 1 << 30 };

static bool is_float(const tl_host *v) {
  return v->kind == TL_HOST_TENSOR && tl_dtype_is_float((tl_dtype)v->dtype);
}

static uint64_t key_of(const tl_module *m, tl_value_id v) {
  tl_sv name = tl_value_name(m, v);
  return tl_hash_bytes(name.p, name.n, 0);
}

/* Copies a tensor, since its bytes may end with its module. */
static tl_host *copy(tl_search *s, const tl_host *v) {
  tl_host *to = tl_host_new(&s->e.heap, (tl_dtype)v->dtype, v->rank, v->dims);
  if (to)
    memcpy(to->data, v->data, (size_t)v->bytes);
  return to;
}

static tl_status keep_wide(void *user, const tl_module *m, tl_value_id v, const tl_host *value) {
  wide_results *w = user;
  if (!is_float(value) || w->bytes + value->bytes > MOST_BYTES || !tl_value_producer(m, v))
    return TL_OK;
  tl_host *own = copy(w->s, value);
  if (!own || !tl_host_vec_push(&w->values, own)) {
    tl_host_release(own);
    return tl_fail_memory(&w->s->cli->diag, TL_NOWHERE);
  }
  w->bytes += value->bytes;
  return tl_map_set(&w->index, key_of(m, v), w->values.n - 1)
             ? TL_OK
             : tl_fail_memory(&w->s->cli->diag, TL_NOWHERE);
}

/* Notes the error of a result for its node. */
static void note(wide_results *w, uint64_t key, const tl_host *got, const tl_host *want) {
  static const tl_tolerance any = {.cosine = (double)NAN};
  tl_difference d;
  uint32_t place;
  if (!tl_map_find(&w->s->results, key, &place))
    return;
  tl_compare(got, want, &any, true, &d);
  tl_search_node *node = &w->s->nodes.at[place];
  node->adds = fmax(node->adds, d.reason ? (double)INFINITY : d.l2);
}

/* Compares a result with the wide one, and puts that, rounded, in its place. */
static tl_status put_wide(void *user, const tl_module *m, tl_value_id v, tl_host **value) {
  wide_results *w = user;
  uint64_t key = key_of(m, v);
  uint32_t at;
  if (!is_float(*value) || !tl_map_find(&w->index, key, &at))
    return TL_OK;
  const tl_host *want = w->values.at[at];
  if (!tl_host_same_shape(*value, want))
    return TL_OK;
  note(w, key, *value, want);
  tl_host *rounded =
      tl_host_new(&w->s->e.heap, (tl_dtype)(*value)->dtype, (*value)->rank, (*value)->dims);
  if (!rounded)
    return tl_fail_memory(&w->s->cli->diag, TL_NOWHERE);
  for (uint64_t i = 0; i < want->n; i++)
    tl_put_float(rounded, i, tl_host_at(want, i));
  tl_host_release(*value);
  *value = rounded;
  return TL_OK;
}

static tl_status run_both(tl_search *s, wide_results *w, const bool *all, tl_trial *wide) {
  tl_precision_config config = s->config;
  TL_TRY(tl_search_keep(s, all, &config));
  TL_TRY(tl_search_attempt(
      s, &(tl_attempt){.config = &config, .what = "wide", .watch = keep_wide, .user = w}, wide));
  tl_search_cost(s, all, &s->trials.at[s->trials.n - 1]);
  *wide = s->trials.at[s->trials.n - 1];
  if (!wide->equal)
    return TL_OK; /* nothing will meet the tolerance */
  return tl_search_attempt(
      s, &(tl_attempt){.config = &s->config, .what = "alone", .replace = put_wide, .user = w},
      NULL);
}

tl_status tl_search_sensitivity(tl_search *s, tl_trial *wide) {
  wide_results w = {.s = s};
  bool *all = tl_arena_calloc(&s->arena, s->nodes.n + 1U, sizeof *all);
  if (!all)
    return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
  memset(all, 1, s->nodes.n);
  tl_status status = run_both(s, &w, all, wide);
  tl_values_release(&w.values);
  tl_map_release(&w.index);
  return status;
}
