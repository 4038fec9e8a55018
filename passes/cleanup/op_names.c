/* SPDX-License-Identifier: Apache-2.0 */
/* op-names: replaces op types as --op-name-map says: custom op type -> type to use instead.
 * A type is written as "Name" or "domain::Name". A bare new name means the ONNX op, else the NPU
 * op, else an op of the old one's domain.
 *
 * Requires:  nothing; infer-shapes afterwards.   Keeps: edges, attributes, names.
 * After:     no node has a type that the option replaces.
 * Cost:      O(renames * kinds of ops + nodes).
 * Tests:     tests/unit/test_op_names.c */
#include "passes/edit/passes.h"

/* Splits "domain::Name"; without "::" the domain is NULL. */
static void split_type(tl_sv text, tl_sv *domain, tl_sv *name) {
  *domain = (tl_sv){NULL, 0};
  *name = text;
  for (size_t i = 0; i + 2 < text.n; i++) {
    if (text.p[i] == ':' && text.p[i + 1] == ':') {
      *domain = (tl_sv){text.p, i};
      *name = (tl_sv){text.p + i + 2, text.n - i - 2};
    }
  }
}

static bool is_renamed(const tl_module *m, tl_op_id op, tl_sv from) {
  tl_sv domain;
  tl_sv name;
  split_type(from, &domain, &name);
  return tl_sv_eq(tl_op_name(m, op), name) && (!domain.p || tl_sv_eq(tl_op_domain(m, op), domain));
}

static tl_op_id table_op(const tl_module *m, const char *domain, tl_sv name) {
  tl_symbol d = tl_symbol_find(&m->symbols, tl_sv_from(domain));
  tl_symbol s = tl_symbol_find(&m->symbols, name);
  return d == TL_NO_SYMBOL || s == TL_NO_SYMBOL ? UINT32_MAX : tl_op_find(d, s);
}

/* Finds the new op: of the given domain, else ONNX, else NPU, else a new op of the old one's
 * domain. */
static tl_op_id new_op(tl_module *m, tl_op_id old, tl_sv to) {
  tl_sv domain;
  tl_sv name;
  split_type(to, &domain, &name);
  tl_op_id found = domain.p ? UINT32_MAX : table_op(m, "", name);
  if (found == UINT32_MAX && !domain.p)
    found = table_op(m, "npu", name);
  if (found != UINT32_MAX)
    return found;
  tl_symbol d = domain.p ? tl_module_intern(m, domain) : tl_op_domain_symbol(m, old);
  tl_symbol s = tl_module_intern(m, name);
  return d == TL_NO_SYMBOL || s == TL_NO_SYMBOL ? UINT32_MAX : tl_op_intern(m, d, s);
}

static void add_range(tl_buf *out, uint32_t low, uint32_t high, const char *what) {
  tl_buf_add_u64(out, low);
  if (high == UINT32_MAX)
    tl_buf_add_z(out, " or more");
  else if (high != low)
    tl_buf_printf(out, " to %u", high);
  tl_buf_printf(out, " %s", what);
}

static tl_status fail_signature(tl_module *m, tl_node_id n, const tl_op *row) {
  const tl_node *node = tl_node_get(m, n);
  tl_location where = tl_node_where(m, n);
  where.attr = TL_SV("--op-name-map");
  tl_buf wants;
  tl_buf_init(&wants);
  add_range(&wants, row->min_operands, row->max_operands, "operands and");
  tl_buf_add_char(&wants, ' ');
  add_range(&wants, row->min_results, row->max_results, "results");
  tl_status status = tl_fail(m->diag, TL_INVALID_ARGUMENT, where,
                             "the node has %u operands and %u results, type '%s' needs %s",
                             node->n_operands, node->n_results, row->name,
                             wants.failed ? "others" : wants.p);
  tl_buf_release(&wants);
  return status;
}

static tl_status check_signature(tl_module *m, tl_node_id n, tl_op_id op) {
  const tl_node *node = tl_node_get(m, n);
  const tl_op *row = tl_op_row(op);
  if (!row || (node->n_operands >= row->min_operands && node->n_operands <= row->max_operands &&
               node->n_results >= row->min_results && node->n_results <= row->max_results))
    return TL_OK;
  return fail_signature(m, n, row);
}

static tl_status rename_node(tl_pass *p, tl_module *m, tl_node_id n) {
  tl_op_id old = tl_node_get(m, n)->op;
  for (uint32_t i = 0; i < p->options->n_op_renames; i++) {
    const tl_op_rename *r = &p->options->op_renames[i];
    if (!is_renamed(m, old, r->from))
      continue;
    tl_op_id op = new_op(m, old, r->to);
    if (op == UINT32_MAX)
      return tl_no_memory(m);
    TL_TRY(check_signature(m, n, op));
    if (op != old && tl_pass_may_rewrite(p)) {
      tl_pass_remark(p, m, n, true, "type changed to %.*s", TL_SV_ARG(r->to));
      tl_node_set_op(m, n, op);
    }
    return TL_OK;
  }
  return TL_OK;
}

tl_status tl_pass_op_names(tl_pass *p, tl_module *m) {
  for (uint32_t i = 0; i < m->graphs.n && p->options->n_op_renames; i++) {
    const tl_graph *g = m->graphs.at[i];
    if (g->erased)
      continue;
    TL_FOR_NODES(m, g, n)
      TL_TRY(rename_node(p, m, n));
  }
  return TL_OK;
}
