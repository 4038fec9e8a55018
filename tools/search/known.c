/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers what nodes computed. Tries differ in few nodes, so most of a try was computed before: a
 * result is found by a hash of all that it is computed from. */
#include "ir/graph.h"
#include "support/hash.h"
#include "tools/search/search.h"

struct tl_known {
  tl_map index; /* hash to place in `values` */
  tl_host_vec values;
  uint64_t bytes;
  uint64_t most;
  uint64_t
      *hashes; /* owned; by value of the model that is evaluated; NULL: nothing is known of it */
  uint32_t n_hashes;
  uint32_t asked; /* nodes of this evaluation */
  uint32_t given; /* of them not run */
};
typedef struct tl_known known;

struct tl_known *tl_known_create(uint64_t most_bytes) {
  known *k = calloc(1, sizeof *k);
  if (k)
    k->most = most_bytes;
  return k;
}

void tl_known_destroy(struct tl_known *k) {
  if (!k)
    return;
  tl_values_release(&k->values);
  tl_map_release(&k->index);
  free(k->hashes);
  free(k);
}

/* Returns true if equal nodes may compute different results: random ones, and those whose bodies
 * use values from outside, which the hash does not see. */
static bool is_unsure(const tl_module *m, tl_node_id n) {
  return tl_op_has_trait(tl_node_get(m, n)->op,
                         TL_TRAIT_RANDOM | TL_TRAIT_EFFECT | TL_TRAIT_STATEFUL | TL_TRAIT_BODY);
}

bool tl_known_begin(struct tl_known *k, const tl_module *m) {
  const tl_graph *g = tl_module_main(m);
  k->asked = k->given = 0;
  free(k->hashes);
  k->hashes = NULL;
  TL_FOR_NODES(m, g, n)
    if (is_unsure(m, n))
      return true;
  k->n_hashes = tl_module_value_end(m);
  k->hashes = calloc(k->n_hashes, sizeof *k->hashes);
  if (!k->hashes)
    return false;
  tl_graph_content_hashes(m, g->id, k->hashes);
  return true;
}

/* Returns the key of a result. A kernel rounds to the dtype that the model states, which is not
 * part of the hash. */
static uint64_t key_of(const known *k, const tl_module *m, tl_value_id v) {
  return tl_hash_mix(k->hashes[v], (uint64_t)tl_type_dtype(m, tl_value_type(m, v)) + 1);
}

static tl_host *find(const known *k, const tl_module *m, tl_value_id v) {
  uint32_t at;
  bool there = k->hashes && v < k->n_hashes && tl_map_find(&k->index, key_of(k, m, v), &at);
  return there ? k->values.at[at] : NULL;
}

bool tl_known_give(void *user, const tl_module *m, tl_node_id n, tl_host **results) {
  known *k = user;
  const tl_node *node = tl_node_get(m, n);
  k->asked++;
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_value_get(m, node->results + i)->n_uses && !find(k, m, node->results + i))
      return false;
  for (uint32_t i = 0; i < node->n_results; i++)
    results[i] = tl_host_retain(find(k, m, node->results + i));
  k->given++;
  return true;
}

/* Returns true for a tensor whose bytes do not end with the module of this try. */
static bool outlives(const tl_host *value) {
  return value->kind == TL_HOST_TENSOR && value->dtype != TL_DTYPE_STRING && value->owner;
}

tl_status tl_known_keep(void *user, const tl_module *m, tl_value_id v, const tl_host *value) {
  known *k = user;
  if (!k->hashes || v >= k->n_hashes || k->bytes + value->bytes > k->most || !outlives(value) ||
      find(k, m, v))
    return TL_OK;
  if (!tl_values_keep(&k->values, (tl_host *)(uintptr_t)value))
    return TL_NO_MEMORY;
  k->bytes += value->bytes;
  return tl_map_set(&k->index, key_of(k, m, v), k->values.n - 1) ? TL_OK : TL_NO_MEMORY;
}

double tl_known_end(struct tl_known *k) { return k->asked ? 1 - (double)k->given / k->asked : 1; }
