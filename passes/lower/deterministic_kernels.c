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
static tl_status mark(sweep *x, tl_node_id n) {
  tl_sv type = tl_op_name(x->m, tl_node_get(x->m, n)->op);
  const row *r = bsearch(&type, rows, N_ROWS, sizeof *rows, by_type);
  if (!r)
    return TL_OK;
  if (!r->ordered) {
    if (x->count[r - rows]++ == 0)
      x->first[r - rows] = n;
    return TL_OK;
  }
  const tl_attr *a = tl_node_attr(x->m, n, x->attr);
  if ((a && a->kind == TL_ATTR_STRING && a->u.s == x->one) || !tl_pass_may_rewrite(x->p))
    return TL_OK;
  return tl_node_set_attr(x->m, n, tl_attr_string(x->attr, x->one));
}

static void warn(const sweep *x) {
  for (size_t i = 0; i < N_ROWS; i++)
    if (x->count[i])
      tl_warn_code(x->m->diag, "W-DET-OP", tl_node_where(x->m, x->first[i]),
                   "%s sums in any order and has no kernel with a fixed order, so results of %u %s "
                   "may differ between runs despite deterministic=1",
                   rows[i].type, x->count[i], x->count[i] == 1 ? "node" : "nodes");
}

tl_status tl_pass_deterministic_kernels(tl_pass *p, tl_module *m) {
  sweep x = {.p = p, .m = m};
  if (!p->options->deterministic)
    return TL_OK;
  x.attr = tl_module_intern(m, TL_SV("_deterministic"));
  x.one = tl_module_intern(m, TL_SV("1"));
  if (!x.attr || !x.one)
    return tl_no_memory(m);
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n)
      TL_TRY(mark(&x, n));
  }
  warn(&x);
  return TL_OK;
}
