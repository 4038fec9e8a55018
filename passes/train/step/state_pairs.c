/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs states of a step by names and by arithmetic (state_pairs.h). */
#include "passes/train/step/state_pairs.h"

#include <stdlib.h>

#include "ir/graph.h"
#include "ir/ops_gen.h"
#include "passes/train/step/state_names.h"

enum { MOST_BASES = 4, MOST_ROUNDS = 8, MOST_INPUTS = 64 };

static bool is_free(const tl_pairing *p, tl_value_id v, uint8_t mark) {
  return !(p->marks[v] & mark);
}

static void pair(tl_pairing *p, tl_value_id in, tl_value_id out) {
  p->marks[in] |= TL_MARK_STATE_IN;
  p->marks[out] |= TL_MARK_STATE_OUT;
  p->state_of[in] = out;
  p->state_of[out] = in;
}

/* Takes a pair back. */
static void part(tl_pairing *p, tl_value_id in, tl_value_id out) {
  p->marks[in] = (uint8_t)(p->marks[in] & ~TL_MARK_STATE_IN);
  p->marks[out] = (uint8_t)(p->marks[out] & ~TL_MARK_STATE_OUT);
  p->state_of[in] = p->state_of[out] = 0;
}

static bool has_value(const tl_module *m, tl_value_id v) { return tl_value_get(m, v)->tensor != 0; }

/* Returns true if both have one dtype and no known dim differs. */
static bool fits(const tl_module *m, tl_value_id in, tl_value_id out) {
  const tl_type *a = tl_type_get(m, tl_value_type(m, in));
  const tl_type *b = tl_type_get(m, tl_value_type(m, out));
  if (a->kind != TL_KIND_TENSOR || b->kind != TL_KIND_TENSOR || a->dtype != b->dtype)
    return false;
  if (a->rank < 0 || b->rank < 0)
    return true;
  for (int i = 0; i < a->rank && a->rank == b->rank; i++)
    if (tl_dim_is_static(a->dims[i]) && tl_dim_is_static(b->dims[i]) && a->dims[i] != b->dims[i])
      return false;
  return a->rank == b->rank;
}

/* ---- by names -------------------------------------------------------------------------------- */

typedef struct name_key {
  tl_sv key;
  uint32_t cuts; /* the name itself: 0 */
  tl_value_id v;
} name_key;

typedef struct name_keys {
  name_key *at; /* owned */
  uint32_t n;
} name_keys;

static int by_key(const void *a, const void *b) {
  const name_key *x = a, *y = b;
  int keys = tl_sv_compare(x->key, y->key);
  if (keys)
    return keys;
  return x->cuts != y->cuts ? (x->cuts < y->cuts ? -1 : 1) : x->v < y->v ? -1 : x->v > y->v;
}

static void add_keys(const tl_pairing *p, name_keys *list, tl_value_id v) {
  tl_sv keys[TL_STATE_KEYS];
  if (!v || !is_free(p, v, TL_MARK_STATE_IN))
    return;
  uint32_t n = tl_state_keys(tl_value_name(p->m, v), false, keys);
  for (uint32_t i = 0; i < n && keys[i].n; i++)
    list->at[list->n++] = (name_key){keys[i], i, v};
}

static tl_status open_keys(const tl_pairing *p, name_keys *list) {
  const tl_graph *g = tl_module_main(p->m);
  size_t most = ((size_t)g->inputs.n + g->constants.n) * TL_STATE_KEYS + 1;
  *list = (name_keys){.at = malloc(most * sizeof *list->at)};
  if (!list->at)
    return TL_NO_MEMORY;
  for (uint32_t i = 0; i < g->inputs.n; i++)
    add_keys(p, list, g->inputs.at[i]);
  for (uint32_t i = 0; i < g->constants.n; i++)
    add_keys(p, list, g->constants.at[i]);
  if (list->n)
    qsort(list->at, list->n, sizeof *list->at, by_key);
  return TL_OK;
}

/* Binary search for the first entry that is not less than key. */
static uint32_t first_of(const name_keys *list, tl_sv key) {
  uint32_t low = 0, high = list->n;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (tl_sv_compare(list->at[middle].key, key) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Returns true if `out` is computed from `in`. Data that an output does not depend on cannot be its
 * previous value. */
static bool comes_from(const tl_pairing *p, tl_value_id in, tl_value_id out) {
  tl_value_id inputs[MOST_INPUTS];
  uint32_t n = tl_cone_inputs(p->facts, out, inputs, MOST_INPUTS);
  for (uint32_t i = 0; i < n; i++)
    if (inputs[i] == in)
      return true;
  return false;
}

static bool may_pair(const tl_pairing *p, tl_value_id in, tl_value_id out) {
  return is_free(p, in, TL_MARK_STATE_IN) && in != out && fits(p->m, in, out) &&
         (has_value(p->m, in) || comes_from(p, in, out));
}

/* Returns the only value with this key that may pair with `out`, with as few words cut off as
 * possible; TL_NO_VALUE if there is none or a tie. cut: skips entries that are the full name. */
static tl_value_id named(const tl_pairing *p, const name_keys *list, tl_sv key, bool cut,
                         tl_value_id out) {
  tl_value_id found = TL_NO_VALUE;
  uint32_t cuts = 0;
  enum { MOST_ALIKE = 8 };
  uint32_t first = first_of(list, key);
  for (uint32_t i = first; i < list->n && i < first + MOST_ALIKE; i++) {
    const name_key *k = &list->at[i];
    if (!tl_sv_eq(k->key, key) || (found && k->cuts > cuts))
      break;
    if ((cut && !k->cuts) || !may_pair(p, k->v, out))
      continue;
    if (found)
      return TL_NO_VALUE;
    found = k->v;
    cuts = k->cuts;
  }
  return found;
}

tl_status tl_pair_by_names(tl_pairing *p) {
  const tl_graph *g = tl_module_main(p->m);
  name_keys list;
  TL_TRY(open_keys(p, &list));
  for (uint32_t i = 0; i < tl_graph_n_outputs(p->m, g); i++) {
    tl_value_id out = tl_graph_output(p->m, g, i), in = TL_NO_VALUE;
    tl_sv keys[TL_STATE_KEYS];
    if (!tl_value_producer(p->m, out) || !is_free(p, out, TL_MARK_STATE_OUT))
      continue;
    uint32_t n = tl_state_keys(tl_value_name(p->m, out), true, keys);
    for (uint32_t k = 1; k < n && !in; k++)
      in = named(p, &list, keys[k], false, out);
    if (!in) /* the word is at the input: x_in, x */
      in = named(p, &list, keys[0], true, out);
    if (in)
      pair(p, in, out);
  }
  free(list.at);
  return TL_OK;
}

/* ---- by arithmetic --------------------------------------------------------------------------- */

/* Returns true for an input that forward reads and that has no initial value. Without a known loss,
 * a use by a node that is not elementwise counts as forward. */
static bool is_data(const tl_pairing *p, tl_value_id in) {
  if (has_value(p->m, in) || p->marks[in] & TL_MARK_FORWARD)
    return !has_value(p->m, in);
  if (!p->loss)
    TL_FOR_USES(p->m, in, u) {
      tl_op_id op = tl_node_get(p->m, tl_use_get(p->m, u)->user)->op;
      if (op != TL_OP_RETURN && !tl_op_has_trait(op, TL_TRAIT_ELEMENTWISE))
        return true;
    }
  return false;
}

/* Takes back pairs by name whose output the loss is computed from: such an output is an activation,
 * although its name resembles that of an input. */
static void part_activations(tl_pairing *p) {
  const tl_graph *g = tl_module_main(p->m);
  for (uint32_t i = 0; i < tl_graph_n_outputs(p->m, g); i++) {
    tl_value_id out = tl_graph_output(p->m, g, i), in = p->state_of[out];
    bool declared = false;
    if (!(p->marks[out] & TL_MARK_STATE_OUT) || !(p->marks[out] & TL_MARK_FORWARD) ||
        !is_data(p, in))
      continue;
    for (uint32_t k = 0; k < p->m->states.n && !declared; k++)
      declared = p->m->states.at[k].output == out;
    if (!declared)
      part(p, in, out);
  }
}

typedef struct base_list {
  tl_value_id out;
  tl_value_id at[MOST_BASES];
} base_list;

/* Returns the only input of the list that has no next value yet; TL_NO_VALUE if there are
 * several. */
static tl_value_id only_base(const tl_pairing *p, const base_list *b) {
  tl_value_id found = TL_NO_VALUE;
  for (uint32_t i = 0; i < MOST_BASES && b->at[i]; i++) {
    if (!is_free(p, b->at[i], TL_MARK_STATE_IN) || is_data(p, b->at[i]) ||
        tl_value_get(p->m, b->at[i])->kind != TL_VALUE_INPUT)
      continue;
    if (found)
      return TL_NO_VALUE;
    found = b->at[i];
  }
  return found;
}

/* Pairs every input that is the only base of one output and of no other. Three passes over the
 * lists: clear the counters, count claims, pair. Each round may make further bases unique. */
static bool pair_round(tl_pairing *p, const base_list *lists, uint32_t n, uint32_t *claims) {
  bool any = false;
  for (int pass = 0; pass < 3; pass++)
    for (uint32_t i = 0; i < n; i++) {
      if (!is_free(p, lists[i].out, TL_MARK_STATE_OUT))
        continue;
      tl_value_id in = only_base(p, &lists[i]);
      if (!in)
        continue;
      if (pass == 0)
        claims[in] = 0;
      else if (pass == 1)
        claims[in]++;
      else if (claims[in] == 1) {
        pair(p, in, lists[i].out);
        any = true;
      }
    }
  return any;
}

tl_status tl_pair_by_arithmetic(tl_pairing *p) {
  const tl_graph *g = tl_module_main(p->m);
  uint32_t n = 0, most = tl_graph_n_outputs(p->m, g);
  base_list *lists = calloc((size_t)most + 1, sizeof *lists);
  uint32_t *claims = calloc((size_t)tl_module_value_end(p->m) + 1, sizeof *claims);
  part_activations(p);
  for (uint32_t i = 0; i < most && lists && claims; i++) {
    tl_value_id out = tl_graph_output(p->m, g, i);
    if (out == p->loss || !tl_value_producer(p->m, out) || !is_free(p, out, TL_MARK_STATE_OUT) ||
        p->marks[out] & TL_MARK_FORWARD)
      continue;
    lists[n].out = out;
    (void)tl_cone_bases(p->m, out, lists[n++].at, MOST_BASES);
  }
  for (int round = 0; round < MOST_ROUNDS && n; round++)
    if (!pair_round(p, lists, n, claims))
      break;
  tl_status status = lists && claims ? TL_OK : TL_NO_MEMORY;
  free(lists);
  free(claims);
  return status;
}
