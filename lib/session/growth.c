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

/* What a module holds that its files do not. */
typedef struct growth {
  uint64_t computed;   /* bytes of tensors */
  uint64_t most;       /* of the largest of them */
  tl_value_id largest; /* that one; TL_NO_VALUE: there is none */
} growth;

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
static void warn(const tl_session *s, const tl_module *m, const growth *sum, uint32_t nodes) {
  tl_sv name = sum->largest ? tl_value_name(m, sum->largest) : TL_SV("");
  unsigned long long from = m->source_bytes;
  if (sum->computed >= (uint64_t)nodes * NODE_BYTES)
    tl_warn_code(s->diag, "W_GROWTH", TL_AT_FILE(m->path),
                 "%llu MiB of constants are computed for a model of %llu bytes, the largest of "
                 "them '%.*s' with %llu MiB\v--fold-limit=0 leaves what fills weights to the "
                 "device, and --max-tensor refuses such models",
                 (unsigned long long)(sum->computed >> 20), from, TL_SV_ARG(name),
                 (unsigned long long)(sum->most >> 20));
  else
    tl_warn_code(s->diag, "W_GROWTH", TL_AT_FILE(m->path),
                 "%u nodes are made of a model of %llu bytes\v--unroll-limit=0 unrolls no loops, "
                 "and --max-nodes refuses such models",
                 nodes, from);
}

tl_status tl_growth_check(const tl_session *s, tl_module *m, const tl_destination *to) {
  const tl_options *o = s->options ? s->options : &s->settings->options;
  growth sum = {0};
  uint32_t nodes = tl_module_count_nodes(m);
  for (uint32_t i = 0; i < m->graphs.n; i++)
    if (!m->graphs.at[i]->erased)
      add_graph(m, m->graphs.at[i], &sum);
  if (!m->source_bytes)
    return TL_OK;
  if (o->max_tensor && sum.most > o->max_tensor && sum.most > m->source_bytes)
    return tl_fail(s->diag, TL_LIMIT, TL_AT_FILE(m->path),
                   "'%.*s' is computed and would take %llu MiB, more than one tensor may (%llu "
                   "MiB)\vraise that with --max-tensor, or leave it to the device with "
                   "--fold-limit=0",
                   TL_SV_ARG(tl_value_name(m, sum.largest)), (unsigned long long)(sum.most >> 20),
                   (unsigned long long)(o->max_tensor >> 20));
  uint64_t bytes = sum.computed + (uint64_t)nodes * NODE_BYTES;
  if (to->format != TL_FORMAT_TIR && bytes > small && bytes / TIMES > m->source_bytes) {
    warn(s, m, &sum, nodes);
    m->source_bytes = 0; /* it is said */
  }
  return TL_OK;
}
