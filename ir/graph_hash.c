/* SPDX-License-Identifier: Apache-2.0 */
/* Structural hashes and equality of nodes and graphs. */
#include <stdlib.h>

#include "ir/graph.h"
#include "ir/tensor_expr.h"
#include "support/hash.h"

enum { HASHED_BYTES = 4096 };

static uint64_t hash_sv(tl_sv s) { return tl_hash_bytes(s.p, s.n, 1); }

/* Hashes contents up to a bound, beyond it only the length; equality decides then. */
static uint64_t hash_tensor(const tl_module *m, tl_tensor_id id) {
  const tl_tensor *t = tl_tensor_get(m, id);
  uint64_t h = tl_hash_mix(t->dtype, t->bytes);
  if (t->kind == TL_SOURCE_STRINGS) {
    for (uint64_t i = 0; i < tl_tensor_elements(m, t); i++)
      h = tl_hash_mix(h, hash_sv(tl_sym(m, t->u.strings[i])));
    return h;
  }
  tl_tensor_room room;
  size_t n = 0;
  const void *p = t->bytes <= HASHED_BYTES ? tl_tensor_block(t, 0, &room, &n) : NULL;
  return p ? tl_hash_bytes(p, n, h) : h;
}

static uint64_t hash_ids(const tl_module *m, const tl_attr *a, uint64_t h) {
  for (uint32_t i = 0; i < a->count; i++) {
    uint32_t id = a->u.ids[i];
    if (a->kind == TL_ATTR_TENSORS)
      h = tl_hash_mix(h, hash_tensor(m, id));
    else if (a->kind == TL_ATTR_STRINGS || a->kind == TL_ATTR_SPARSES)
      h = tl_hash_mix(h, hash_sv(tl_sym(m, id)));
  }
  return h;
}

static uint64_t hash_attr(const tl_module *m, const tl_attr *a) {
  uint64_t h = tl_hash_mix(hash_sv(tl_sym(m, a->name)), (uint64_t)a->kind << 32 | a->count);
  switch ((tl_attr_kind)a->kind) {
  case TL_ATTR_INT:
  case TL_ATTR_BOOL:
  case TL_ATTR_DTYPE: return tl_hash_mix(h, (uint64_t)a->u.i);
  case TL_ATTR_FLOAT: return tl_hash_bytes(&a->u.f, sizeof a->u.f, h);
  case TL_ATTR_STRING:
  case TL_ATTR_SPARSE:
  case TL_ATTR_CARRIED: return tl_hash_mix(h, hash_sv(tl_sym(m, a->u.s)));
  case TL_ATTR_TENSOR: return tl_hash_mix(h, hash_tensor(m, a->u.t));
  case TL_ATTR_INTS:
  case TL_ATTR_BOOLS:
  case TL_ATTR_DTYPES: return tl_hash_bytes(a->u.is, a->count * sizeof *a->u.is, h);
  case TL_ATTR_FLOATS: return tl_hash_bytes(a->u.fs, a->count * sizeof *a->u.fs, h);
  case TL_ATTR_INT_LISTS:
    for (uint32_t i = 0; i < a->count; i++)
      h = tl_hash_bytes(a->u.lists[i].at, a->u.lists[i].n * sizeof(int64_t), h);
    return h;
  default: return hash_ids(m, a, h);
  }
}

/* Adds up the hashes, so that the order of attributes does not matter. */
static uint64_t hash_attrs(const tl_module *m, const tl_node *node) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < node->n_attrs; i++)
    sum += hash_attr(m, &node->attrs[i]);
  return sum;
}

/* Operands of a commutative op are added up, so that their order does not matter. */
uint64_t tl_node_hash(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  uint64_t h = tl_hash_mix(node->op, (uint64_t)node->n_results << 32 | node->n_operands);
  bool commutes = tl_op_has_trait(node->op, TL_TRAIT_COMMUTATIVE);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < node->n_operands; i++) {
    uint64_t v = tl_use_get(m, node->operands + i)->value;
    sum = commutes ? sum + tl_hash_mix(7, v) : tl_hash_mix(sum, v);
  }
  return tl_hash_mix(tl_hash_mix(h, sum), hash_attrs(m, node));
}

/* Two operands of a commutative op may be swapped; of more no other order is tried. */
static bool same_operands(const tl_module *m, const tl_node *a, const tl_node *b) {
  uint32_t equal = 0;
  for (uint32_t i = 0; i < a->n_operands; i++)
    equal += tl_use_get(m, a->operands + i)->value == tl_use_get(m, b->operands + i)->value;
  if (equal == a->n_operands)
    return true;
  return tl_op_has_trait(a->op, TL_TRAIT_COMMUTATIVE) && a->n_operands == 2 &&
         tl_use_get(m, a->operands)->value == tl_use_get(m, b->operands + 1)->value &&
         tl_use_get(m, a->operands + 1)->value == tl_use_get(m, b->operands)->value;
}

/* Both have as many attributes, so one direction is enough. */
static bool same_attrs(const tl_module *m, const tl_node *a, tl_node_id b) {
  for (uint32_t i = 0; i < a->n_attrs; i++) {
    const tl_attr *other = tl_node_attr(m, b, a->attrs[i].name);
    if (!other || !tl_attr_equal(m, &a->attrs[i], other))
      return false;
  }
  return true;
}

/* Nodes of different streams are not equal. */
bool tl_node_equal(const tl_module *m, tl_node_id x, tl_node_id y) {
  const tl_node *a = tl_node_get(m, x);
  const tl_node *b = tl_node_get(m, y);
  return a->op == b->op && a->n_operands == b->n_operands && a->n_results == b->n_results &&
         a->n_attrs == b->n_attrs && a->stream == b->stream && same_operands(m, a, b) &&
         same_attrs(m, a, y);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

typedef struct hasher {
  const tl_module *m;
  bool whole;       /* read constants as a whole */
  uint64_t *values; /* by value id: hash of what computes it */
} hasher;

static uint64_t hash_graph(hasher *s, const tl_graph *g);

/* Types are hashed as text: ids and symbols differ from module to module. */
static uint64_t hash_type(const tl_module *m, tl_type_id id) {
  tl_buf text;
  tl_buf_init(&text);
  tl_type_print(m, id, &text);
  uint64_t h = tl_hash_bytes(text.p, text.n, 2);
  tl_buf_release(&text);
  return h;
}

/* Adds to h, so that the order of attributes does not matter. */
static uint64_t hash_bodies(hasher *s, const tl_node *node, uint64_t h) {
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    if (a->kind == TL_ATTR_GRAPH)
      h += tl_hash_mix(hash_sv(tl_sym(s->m, a->name)), hash_graph(s, tl_graph_get(s->m, a->u.g)));
    for (uint32_t k = 0; a->kind == TL_ATTR_GRAPHS && k < a->count; k++)
      h += tl_hash_mix(k, hash_graph(s, tl_graph_get(s->m, a->u.ids[k])));
  }
  return h;
}

/* Names of ops are hashed as text, for the same reason as types. */
static uint64_t hash_one(hasher *s, const tl_node *node) {
  uint64_t h = hash_sv(tl_op_name(s->m, node->op));
  h = tl_hash_mix(h, hash_sv(tl_op_domain(s->m, node->op)));
  for (uint32_t i = 0; i < node->n_operands; i++)
    h = tl_hash_mix(h, s->values[tl_use_get(s->m, node->operands + i)->value]);
  return hash_bodies(s, node, tl_hash_mix(h, hash_attrs(s->m, node)));
}

/* Hashes all bytes, block by block, so that it does not matter whether they are computed. */
static uint64_t hash_contents(const tl_module *m, tl_tensor_id id) {
  const tl_tensor *t = tl_tensor_get(m, id);
  uint64_t h = hash_tensor(m, id);
  tl_tensor_room room;
  for (uint64_t at = 0; t->kind != TL_SOURCE_STRINGS && at < t->bytes; at += TL_TENSOR_BLOCK) {
    size_t n = 0;
    const void *p = tl_tensor_block(t, at, &room, &n);
    if (!p || n == 0)
      break;
    h = tl_hash_bytes(p, n < TL_TENSOR_BLOCK ? n : TL_TENSOR_BLOCK, h);
  }
  return h;
}

static uint64_t hash_constant(const hasher *s, tl_value_id v) {
  tl_tensor_id t = tl_value_get(s->m, v)->tensor;
  return s->whole ? hash_contents(s->m, t) : hash_tensor(s->m, t);
}

/* Walks in topological order, so each operand's hash is known before it is needed. */
static uint64_t hash_graph(hasher *s, const tl_graph *g) {
  uint64_t h = tl_hash_mix(g->inputs.n, g->n_nodes);
  for (uint32_t i = 0; i < g->inputs.n; i++)
    s->values[g->inputs.at[i]] =
        tl_hash_mix(i + 11, hash_type(s->m, tl_value_type(s->m, g->inputs.at[i])));
  for (uint32_t i = 0; i < g->constants.n; i++)
    if (g->constants.at[i])
      s->values[g->constants.at[i]] = hash_constant(s, g->constants.at[i]);
  for (tl_node_id n = g->first; n; n = tl_node_get(s->m, n)->next) {
    const tl_node *node = tl_node_get(s->m, n);
    uint64_t one = hash_one(s, node);
    h += one; /* independent of the order of unrelated nodes */
    for (uint32_t r = 0; r < node->n_results; r++)
      s->values[node->results + r] = tl_hash_mix(one, r);
  }
  for (uint32_t i = 0; i < tl_graph_n_outputs(s->m, g); i++)
    h = tl_hash_mix(h, s->values[tl_graph_output(s->m, g, i)]);
  return h;
}

void tl_graph_value_hashes(const tl_module *m, tl_graph_id g, uint64_t *hashes) {
  hasher s = {m, false, hashes};
  hash_graph(&s, tl_graph_get(m, g));
}

void tl_graph_content_hashes(const tl_module *m, tl_graph_id g, uint64_t *hashes) {
  hasher s = {m, true, hashes};
  hash_graph(&s, tl_graph_get(m, g));
}

/* 0 tells that memory was out. */
uint64_t tl_graph_hash(const tl_module *m, tl_graph_id g) {
  hasher s = {m, false, calloc(tl_module_value_end(m), sizeof(uint64_t))};
  if (!s.values)
    return 0;
  uint64_t h = hash_graph(&s, tl_graph_get(m, g));
  free(s.values);
  return h;
}
