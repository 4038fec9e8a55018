/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what becomes of a model with the files that it was read from. */
#include "lib/session/growth.h"

enum { TIMES = 100, NODE_BYTES = 512 }; /* a node in AIR takes about 700 */

/* Outputs up to this size are never worth a word. */
static const uint64_t small = UINT64_C(16) << 20;

tl_status tl_growth_loaded(const tl_session *s, tl_module *m, uint64_t bytes) {
  uint32_t nodes = tl_module_count_nodes(m);
  int64_t most = s->settings->options.max_nodes;
  m->source_bytes += bytes;
  for (uint32_t i = 0; i < m->files.n; i++)
    m->source_bytes += m->files.at[i]->size;
  if (nodes <= most)
    return TL_OK;
  return tl_fail(s->diag, TL_LIMIT, TL_AT_FILE(m->path),
                 "the model has %u nodes, more than %lld\v--max-nodes allows up to 4000000", nodes,
                 (long long)most);
}

/* What a module holds that its files do not, and lists of attributes, which each copy of a node
 * writes anew. */
typedef struct growth {
  uint64_t computed;   /* bytes of tensors */
  uint64_t most;       /* of the largest of them */
  tl_value_id largest; /* that one; TL_NO_VALUE: there is none */
  uint64_t listed;     /* bytes of attributes */
  uint64_t widest;     /* of the node that has most of them */
  tl_node_id wide;     /* that one */
  uint32_t nodes;
} growth;

/* Returns the bytes of integers as files have them, seven bits a byte. */
static uint64_t bytes_of_ints(const int64_t *v, uint32_t n) {
  uint64_t bytes = n;
  for (uint32_t i = 0; i < n; i++)
    for (uint64_t rest = (uint64_t)v[i] >> 7; rest; rest >>= 7)
      bytes++;
  return bytes;
}

/* Returns how many bytes a file takes for the value of an attribute, 0 for one of fixed size. */
static uint64_t bytes_of(const tl_module *m, const tl_attr *a) {
  const tl_tensor *t = a->kind == TL_ATTR_TENSOR ? tl_tensor_get(m, a->u.t) : NULL;
  switch (a->kind) {
  case TL_ATTR_INTS: return bytes_of_ints(a->u.is, a->count);
  case TL_ATTR_FLOATS: return a->count * UINT64_C(4);
  case TL_ATTR_STRING:
  case TL_ATTR_SPARSE:
  case TL_ATTR_CARRIED: return tl_sym(m, a->u.s).n;
  case TL_ATTR_STRINGS: {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < a->count; i++)
      bytes += tl_sym(m, a->u.ids[i]).n;
    return bytes;
  }
  default: return t && t->kind != TL_SOURCE_FILE && t->bytes < UINT32_MAX ? t->bytes : 0;
  }
}

/* Adds the attributes of a graph's nodes. */
static void add_nodes(const tl_module *m, const tl_graph *g, growth *sum) {
  TL_FOR_NODES(m, g, n) {
    const tl_node *node = tl_node_get(m, n);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < node->n_attrs; i++)
      bytes += bytes_of(m, &node->attrs[i]);
    sum->listed += bytes;
    if (bytes > sum->widest) {
      sum->widest = bytes;
      sum->wide = n;
    }
  }
}

/* Adds the tensors of a graph that no file holds. */
static void add_graph(const tl_module *m, const tl_graph *g, growth *sum) {
  for (uint32_t i = 0; i < g->constants.n; i++) {
    tl_value_id v = g->constants.at[i];
    const tl_tensor *t = v ? tl_tensor_get(m, tl_value_get(m, v)->tensor) : NULL;
    if (!t || t->kind == TL_SOURCE_FILE)
      continue;
    sum->computed += t->bytes < UINT64_MAX / 2 - sum->computed ? t->bytes : 0;
    if (t->bytes > sum->most) {
      sum->most = t->bytes;
      sum->largest = v;
    }
  }
}

/* Warns of the output of a small model. */
static void warn(const tl_session *s, tl_module *m, const growth *sum) {
  tl_sv name = sum->largest ? tl_value_name(m, sum->largest) : TL_SV("");
  unsigned long long from = m->source_bytes;
  uint64_t plain = (uint64_t)sum->nodes * NODE_BYTES;
  if (sum->computed >= plain && sum->computed >= sum->listed)
    tl_warn_code(s->diag, "W_GROWTH", TL_AT_FILE(m->path),
                 "%llu MiB of constants are computed for a model of %llu bytes, the largest of "
                 "them '%.*s' with %llu MiB\v--fold-limit=0 leaves what fills weights to the "
                 "device, and --max-tensor refuses such models",
                 (unsigned long long)(sum->computed >> 20), from, TL_SV_ARG(name),
                 (unsigned long long)(sum->most >> 20));
  else if (sum->listed >= plain)
    tl_warn_code(s->diag, "W_GROWTH", tl_node_where(m, sum->wide),
                 "%u nodes with %llu MiB of attributes are made of a model of %llu bytes; this one "
                 "has %llu bytes of them\v--unroll-limit=0 unrolls no loops, and --max-nodes "
                 "refuses such models",
                 sum->nodes, (unsigned long long)(sum->listed >> 20), from,
                 (unsigned long long)sum->widest);
  else
    tl_warn_code(s->diag, "W_GROWTH", TL_AT_FILE(m->path),
                 "%u nodes are made of a model of %llu bytes\v--unroll-limit=0 unrolls no loops, "
                 "and --max-nodes refuses such models",
                 sum->nodes, from);
}

tl_status tl_growth_check(const tl_session *s, tl_module *m, const tl_destination *to) {
  const tl_options *o = s->options ? s->options : &s->settings->options;
  growth sum = {.nodes = tl_module_count_nodes(m)};
  for (uint32_t i = 0; i < m->graphs.n; i++)
    if (!m->graphs.at[i]->erased) {
      add_graph(m, m->graphs.at[i], &sum);
      add_nodes(m, m->graphs.at[i], &sum);
    }
  if (!m->source_bytes)
    return TL_OK;
  if (o->max_tensor && sum.most > o->max_tensor && sum.most > m->source_bytes)
    return tl_fail(s->diag, TL_LIMIT, TL_AT_FILE(m->path),
                   "'%.*s' is computed and would take %llu MiB, more than one tensor may (%llu "
                   "MiB)\vraise that with --max-tensor, or leave it to the device with "
                   "--fold-limit=0",
                   TL_SV_ARG(tl_value_name(m, sum.largest)), (unsigned long long)(sum.most >> 20),
                   (unsigned long long)(o->max_tensor >> 20));
  uint64_t bytes = sum.computed + sum.listed + (uint64_t)sum.nodes * NODE_BYTES;
  if (to->format != TL_FORMAT_TIR && bytes > small && bytes / TIMES > m->source_bytes) {
    warn(s, m, &sum);
    m->source_bytes = 0; /* it is said */
  }
  return TL_OK;
}
