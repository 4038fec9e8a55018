/* SPDX-License-Identifier: Apache-2.0 */
/* deterministic-kernels: tells nodes whose kernels add up in any order to use a fixed one.
 *
 * Requires:  NPU form: the table is about ops that the device compiler sees.   Keeps: the graph.
 * After:     with deterministic=1 a node whose op has kernels of both kinds carries _deterministic,
 *            which GE keeps when it fuses; an op that has no kernel of a fixed order is warned
 *            about, once (W-DET-OP).
 * Cost:      one sweep, a binary search a node; nothing when nothing was asked for.
 * Tests:     tests/cli/deterministic.t */
#include <stdlib.h>

#include "passes/edit/passes.h"

typedef struct row {
  const char *type;
  bool ordered;
} row;

static const row rows[] = {
#define ORDERED(type) {type, true},
#define UNORDERED(type) {type, false},
#include "passes/lower/deterministic_ops.tbl"
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static int by_type(const void *key, const void *entry) {
  return tl_sv_compare(*(const tl_sv *)key, tl_sv_from(((const row *)entry)->type));
}

typedef struct sweep {
  tl_pass *p;
  tl_module *m;
  tl_symbol attr;
  tl_symbol one;
  tl_node_id first[N_ROWS]; /* of an op without ordered kernels */
  uint32_t count[N_ROWS];
} sweep;

/* Marks a node with ordered kernels; counts one without, for the warning at the end. */
static tl_status mark(sweep *walk, tl_node_id n) {
  tl_sv type = tl_op_name(walk->m, tl_node_get(walk->m, n)->op);
  const row *r = bsearch(&type, rows, N_ROWS, sizeof *rows, by_type);
  if (!r)
    return TL_OK;
  if (!r->ordered) {
    if (walk->count[r - rows]++ == 0)
      walk->first[r - rows] = n;
    return TL_OK;
  }
  const tl_attr *a = tl_node_attr(walk->m, n, walk->attr);
  if ((a && a->kind == TL_ATTR_STRING && a->u.s == walk->one) || !tl_pass_may_rewrite(walk->p))
    return TL_OK;
  return tl_node_set_attr(walk->m, n, tl_attr_string(walk->attr, walk->one));
}

static void warn(const sweep *walk) {
  for (size_t i = 0; i < N_ROWS; i++)
    if (walk->count[i])
      tl_warn_code(walk->m->diag, "W-DET-OP", tl_node_where(walk->m, walk->first[i]),
                   "%s sums in any order and has no kernel with a fixed order, so results of %u %s "
                   "may differ between runs despite deterministic=1",
                   rows[i].type, walk->count[i], walk->count[i] == 1 ? "node" : "nodes");
}

tl_status tl_pass_deterministic_kernels(tl_pass *p, tl_module *m) {
  sweep walk = {.p = p, .m = m};
  if (!p->options->deterministic)
    return TL_OK;
  walk.attr = tl_module_intern(m, TL_SV("_deterministic"));
  walk.one = tl_module_intern(m, TL_SV("1"));
  if (!walk.attr || !walk.one)
    return tl_no_memory(m);
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n)
      TL_TRY(mark(&walk, n));
  }
  warn(&walk);
  return TL_OK;
}
