/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what a decision about dtypes does. */
#include "passes/precision/effect.h"

#include "ir/tensor_count.h"
#include "support/map.h"

/* State of one count. */
typedef struct count {
  const tl_module *m;
  const tl_precision *d;
  tl_precision_effect *out;
  tl_map index;  /* value and dtype -> place in out->wanted */
  uint64_t left; /* elements of constants that may be looked at */
  bool no_memory;
} count;

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool is_float(unsigned d) { return tl_dtype_is_float((tl_dtype)d); }

bool tl_precision_has_float(const tl_module *m, const tl_precision *d, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_operands; i++)
    if (is_float(d->uses[node->operands + i].original))
      return true;
  for (uint32_t i = 0; i < node->n_results; i++)
    if (is_float(d->values[node->results + i].original))
      return true;
  return false;
}

/* Returns true if a float became a float of fewer bits. */
static bool is_narrower(const tl_precision_slot *s) {
  return is_float(s->original) && is_float(s->chosen) &&
         tl_dtype_get((tl_dtype)s->chosen)->bits < tl_dtype_get((tl_dtype)s->original)->bits;
}

/* Returns the bytes of a value in a dtype, 0 if its size is unknown or absurd. */
static int64_t bytes_of(const tl_module *m, tl_value_id v, unsigned dtype) {
  uint64_t elements;
  uint64_t bytes;
  if (!tl_type_elements(m, tl_value_type(m, v), &elements) ||
      !tl_dtype_bytes((tl_dtype)dtype, elements, &bytes) || bytes > INT64_MAX)
    return 0;
  return (int64_t)bytes;
}

/* Counts a node with floats, whether one of its tensors became narrower, and what that saves. */
static void count_node(count *c, tl_node_id n) {
  const tl_node *node = tl_node_get(c->m, n);
  bool lowered = false;
  for (uint32_t i = 0; i < node->n_operands; i++)
    lowered = lowered || is_narrower(&c->d->uses[node->operands + i]);
  for (uint32_t i = 0; i < node->n_results; i++) {
    tl_value_id v = node->results + i;
    const tl_precision_slot *s = &c->d->values[v];
    lowered = lowered || is_narrower(s);
    if (s->chosen != s->original)
      c->out->values_saved += bytes_of(c->m, v, s->original) - bytes_of(c->m, v, s->chosen);
  }
  c->out->nodes += tl_precision_has_float(c->m, c->d, n);
  c->out->lowered += lowered;
}

/* ---- casts ----------------------------------------------------------------------------------- */

/* Notes that operand i wants its value in another dtype. One cast serves all operands that want the
 * same dtype. */
static void note_wanted(count *c, tl_node_id n, uint32_t i) {
  tl_value_id v = tl_operand(c->m, n, i);
  uint8_t want = c->d->uses[tl_node_get(c->m, n)->operands + i].chosen;
  uint32_t at;
  if (!v || want == TL_DTYPE_NONE || want == c->d->values[v].chosen)
    return;
  if (tl_map_find(&c->index, tl_map_pair(v, want), &at)) {
    c->out->wanted.at[at].n_consumers++;
    return;
  }
  tl_wanted_cast cast = {.value = v, .dtype = (tl_dtype)want, .consumer = n, .n_consumers = 1};
  cast.constant = tl_value_get(c->m, v)->kind == TL_VALUE_CONSTANT;
  if (!tl_map_set(&c->index, tl_map_pair(v, want), c->out->wanted.n) ||
      !tl_wanted_cast_vec_push(&c->out->wanted, cast))
    c->no_memory = true;
}

static void look_at_graph(count *c, const tl_graph *g) {
  TL_FOR_NODES(c->m, g, n) {
    count_node(c, n);
    for (uint32_t i = 0; i < tl_node_get(c->m, n)->n_operands; i++)
      note_wanted(c, n, i);
  }
  for (uint32_t i = 0; i < tl_node_get(c->m, g->ret)->n_operands; i++)
    note_wanted(c, g->ret, i);
}

/* Returns true if an operand still takes the constant in its own dtype, so that both copies
 * stay. */
static bool is_kept_too(const count *c, tl_value_id v) {
  for (tl_use_id u = tl_value_get(c->m, v)->first_use; u; u = tl_use_get(c->m, u)->next)
    if (c->d->uses[u].chosen == c->d->values[v].chosen || c->d->uses[u].chosen == TL_DTYPE_NONE)
      return true;
  return false;
}

/* Counts what casting a constant does to its numbers and to the size of the model. */
static void count_constant(count *c, tl_wanted_cast *cast) {
  const tl_tensor *t = tl_tensor_get(c->m, tl_value_get(c->m, cast->value)->tensor);
  tl_precision_effect *out = c->out;
  uint64_t elements = tl_tensor_elements(c->m, t);
  out->constants++;
  out->weights_saved -= bytes_of(c->m, cast->value, cast->dtype);
  if (elements > c->left) {
    out->uncounted++;
    return;
  }
  c->left -= elements;
  cast->counted = true;
  if (!tl_tensor_count(t, cast->dtype, &cast->counts))
    cast->counts = (tl_float_counts){0};
  out->clamped += cast->counts.over + cast->counts.infinite;
  out->flushed += cast->counts.flushed;
  out->subnormal += cast->counts.subnormal;
}

/* Counts the wanted casts. A constant that nobody takes as it is gives its bytes back, once,
 * whatever the number of its casts; `seen` holds the constants that were counted. */
static void count_casts(count *c) {
  tl_map seen = {0};
  for (uint32_t i = 0; i < c->out->wanted.n; i++) {
    tl_wanted_cast *cast = &c->out->wanted.at[i];
    if (!cast->constant) {
      c->out->casts++;
      continue;
    }
    count_constant(c, cast);
    if (!tl_map_find(&seen, cast->value, NULL) && !is_kept_too(c, cast->value))
      c->out->weights_saved += bytes_of(c->m, cast->value, c->d->values[cast->value].chosen);
    c->no_memory = c->no_memory || !tl_map_set(&seen, cast->value, 1);
  }
  tl_map_release(&seen);
}

bool tl_precision_effect_find(const tl_module *m, const tl_precision *d, uint64_t most,
                              tl_precision_effect *out) {
  count c = {.m = m, .d = d, .out = out, .left = most};
  for (uint32_t i = 0; i < m->graphs.n; i++)
    if (!m->graphs.at[i]->erased)
      look_at_graph(&c, m->graphs.at[i]);
  count_casts(&c);
  tl_map_release(&c.index);
  return !c.no_memory;
}

void tl_precision_effect_release(tl_precision_effect *e) { tl_wanted_cast_vec_release(&e->wanted); }
