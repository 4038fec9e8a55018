/* SPDX-License-Identifier: Apache-2.0 */
/* Making collectives (collective.h). */
#include "passes/train/comm/collective.h"

#include <stdlib.h>

#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "passes/edit/values.h"

static tl_status check_name(tl_diag *d, tl_location where, tl_status failure, size_t n) {
  if (n && n <= TL_COMM_MOST_GROUP)
    return TL_OK;
  return tl_fail_code(d, failure, "E-AR-GROUP", where,
                      "the name of the group of ranks has %zu bytes, expected 1 to %d", n,
                      TL_COMM_MOST_GROUP);
}

tl_status tl_comm_check(tl_diag *d, tl_location where, const tl_train_config *c) {
  return check_name(d, where, TL_INVALID_ARGUMENT, strlen(c->group));
}

tl_status tl_comm_check_group(tl_module *m, tl_node_id n) {
  const tl_attr *group = tl_node_attr(m, n, TL_SYM_group);
  if (!group || group->kind != TL_ATTR_STRING)
    return TL_OK;
  return check_name(m->diag, tl_node_where(m, n), TL_INVALID_MODEL, tl_sym(m, group->u.s).n);
}

tl_status tl_comm_check_fusion(tl_diag *d, tl_location where, int64_t fusion, int64_t fusion_id) {
  bool fits = fusion == 0 || (fusion == 1 && fusion_id == -1) ||
              (fusion == 2 && fusion_id >= 0 && fusion_id <= INT32_MAX);
  if (fits)
    return TL_OK;
  return tl_fail_code(d, TL_INVALID_MODEL, "E-AR-FUSION", where,
                      "fusion %lld with fusion_id %lld, expected fusion 0, or 1 with fusion_id -1, "
                      "or 2 with fusion_id 0 to 2147483647",
                      (long long)fusion, (long long)fusion_id);
}

tl_maker tl_comm_behind(tl_module *m, tl_value_id v) {
  const tl_graph *g = tl_module_main(m);
  tl_node_id n = tl_value_producer(m, v);
  tl_maker k = tl_maker_before(m, n ? n : g->first);
  k.before = n ? tl_node_get(m, n)->next : g->first;
  k.base = tl_value_get(m, v)->name ? tl_value_get(m, v)->name : k.base;
  return k;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Returns "<optimizer>_Allreduce/<parameter>", the name that GE's adapter for TensorFlow gives. */
static tl_symbol name_of(tl_comm *comm, tl_maker *k, const char *kind, tl_sv what) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_printf(&text, "%s_%s/%.*s", comm->c->name, kind, TL_SV_ARG(what));
  tl_symbol s = text.failed ? TL_NO_SYMBOL : tl_module_fresh_name(comm->m, tl_buf_view(&text));
  tl_buf_release(&text);
  k->no_memory = k->no_memory || s == TL_NO_SYMBOL;
  return s;
}

static bool has_attr(tl_op_id op, tl_symbol name) {
  return tl_op_attr_find(tl_op_row(op), name) != NULL;
}

/* Sets the attributes that the op's prototype has, and returns their number. */
static uint32_t fill_attrs(tl_comm *comm, const tl_collective_spec *spec, tl_attr *attrs) {
  uint32_t n = 0;
  if (has_attr(spec->op, TL_SYM_reduction))
    attrs[n++] = tl_attr_string(
        TL_SYM_reduction,
        spec->reduction ? tl_module_intern(comm->m, tl_sv_from(spec->reduction)) : TL_SYM_sum);
  attrs[n++] = tl_attr_string(TL_SYM_group, tl_module_intern(comm->m, tl_sv_from(comm->c->group)));
  attrs[n++] = tl_attr_int(TL_SYM_fusion, spec->fusion);
  attrs[n++] = tl_attr_int(TL_SYM_fusion_id, spec->fusion_id);
  if (has_attr(spec->op, TL_SYM_root_rank))
    attrs[n++] = tl_attr_int(TL_SYM_root_rank, spec->root);
  if (has_attr(spec->op, TL_SYM_rank_size))
    attrs[n++] = tl_attr_int(TL_SYM_rank_size, comm->c->rank_size);
  return n;
}

tl_value_id tl_comm_make(tl_comm *comm, tl_maker *k, const tl_collective_spec *spec, tl_value_id v,
                         tl_sv what) {
  tl_attr attrs[6];
  uint32_t n = fill_attrs(comm, spec, attrs);
  tl_symbol domain = tl_op_domain_symbol(comm->m, spec->op);
  const char *kind = spec->op == TL_OP_npu_hcom_HcomBroadcast ? "Broadcast" : "Allreduce";
  if (!tl_module_opset(comm->m, domain) && tl_module_set_opset(comm->m, domain, 1) != TL_OK)
    k->no_memory = true;
  tl_node_spec node = {.op = spec->op,
                       .name = name_of(comm, k, kind, what),
                       .operands = &v,
                       .n_operands = 1,
                       .n_results = 1,
                       .attrs = attrs,
                       .n_attrs = n};
  return tl_make_node(k, &node);
}

/* ---- means ----------------------------------------------------------------------------------- */

/* Returns the input that holds the number of ranks at run time (f32 scalar); makes it once. */
static tl_value_id ranks_input(tl_comm *comm, tl_maker *k) {
  tl_module *m = comm->m;
  tl_value_id v = tl_graph_find_value(m, tl_module_main(m), TL_SV(TL_COMM_RANKS_INPUT));
  if (v)
    return v;
  tl_symbol name = tl_module_intern(m, TL_SV(TL_COMM_RANKS_INPUT));
  tl_type_id type = tl_type_tensor(m, TL_DTYPE_F32, 0, NULL);
  if (name != TL_NO_SYMBOL && type)
    v = tl_graph_add_input(m, tl_module_main(m)->id, name, type, TL_NO_TENSOR);
  k->no_memory = k->no_memory || !v;
  return v;
}

/* Returns a maker at the start of the graph, so that what it makes can be used everywhere. */
static tl_maker at_start(const tl_maker *k) {
  tl_maker start = *k;
  start.before = tl_module_main(k->m)->first;
  start.base = tl_module_intern(k->m, TL_SV("tlr.ranks"));
  start.no_memory = start.no_memory || start.base == TL_NO_SYMBOL;
  return start;
}

/* Returns the run-time number of ranks in a dtype. */
static tl_value_id runtime_ranks(tl_comm *comm, tl_maker *k, tl_dtype dtype) {
  tl_value_id v = ranks_input(comm, k);
  return dtype == TL_DTYPE_F32 || !v ? v : tl_make_cast(k, v, dtype);
}

/* Returns the number of ranks, or its reciprocal, as a scalar of the dtype; made once each. */
static tl_value_id ranks_of(tl_comm *comm, tl_maker *k, tl_dtype dtype, bool reciprocal) {
  tl_value_id *at = reciprocal ? comm->reciprocal : comm->ranks;
  if (at[dtype] || tl_maker_failed(k))
    return at[dtype];
  tl_maker start = at_start(k);
  uint32_t n = comm->c->rank_size;
  if (n)
    at[dtype] = tl_make_number(&start, dtype, reciprocal ? 1.0 / n : n);
  else if (reciprocal)
    at[dtype] = tl_make(&start, TL_OP_Reciprocal, ranks_of(comm, k, dtype, false), TL_NO_VALUE,
                        TL_NO_VALUE);
  else
    at[dtype] = runtime_ranks(comm, &start, dtype);
  k->no_memory = k->no_memory || start.no_memory;
  k->clash = k->clash || start.clash;
  return at[dtype];
}

static tl_value_id scale(tl_comm *comm, tl_maker *k, tl_value_id v, bool reciprocal) {
  tl_dtype dtype = tl_type_dtype(comm->m, tl_value_type(comm->m, v));
  tl_value_id by = v ? ranks_of(comm, k, dtype, reciprocal) : TL_NO_VALUE;
  return by ? tl_make(k, reciprocal ? TL_OP_Mul : TL_OP_Div, v, by, TL_NO_VALUE) : TL_NO_VALUE;
}

tl_value_id tl_comm_divide(tl_comm *comm, tl_maker *k, tl_value_id v) {
  return scale(comm, k, v, false);
}

tl_value_id tl_comm_multiply(tl_comm *comm, tl_maker *k, tl_value_id v) {
  return scale(comm, k, v, true);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Infers the results of a node anew. Results that their operands do not determine keep their types.
 * An error means that the node does not take its new operands. */
static tl_status infer_again(tl_module *m, tl_node_id n, bool *changed) {
  const tl_node *node = tl_node_get(m, n);
  tl_muted muted;
  tl_type_id *old = calloc(node->n_results + 1u, sizeof *old);
  for (uint32_t r = 0; old && r < node->n_results; r++) {
    old[r] = tl_value_type(m, node->results + r);
    tl_value_set_type(m, node->results + r, TL_NO_TYPE);
  }
  tl_mute(&muted, m, NULL, NULL);
  tl_status status = old ? tl_infer_node(m, n) : TL_NO_MEMORY;
  tl_unmute(&muted);
  for (uint32_t r = 0; old && r < node->n_results; r++) {
    tl_type_id made = tl_value_type(m, node->results + r);
    if (made == TL_NO_TYPE || !tl_type_is_static(m, made))
      tl_value_set_type(m, node->results + r, old[r]);
    changed[node->results + r] = tl_value_type(m, node->results + r) != old[r];
  }
  free(old);
  return status;
}

static bool has_changed_operand(const tl_module *m, tl_node_id n, const bool *changed) {
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands; i++)
    if (changed[tl_operand(m, n, i)])
      return true;
  return false;
}

static tl_status refresh_bodies(tl_module *m, tl_node_id n, bool *changed, bool *any);

/* One sweep from `first` to the end of its graph; only nodes with a changed operand are inferred,
 * and those whose bodies give something that changed. */
static tl_status refresh_from(tl_module *m, tl_node_id first, bool *changed) {
  for (tl_node_id n = first; n; n = tl_node_get(m, n)->next) {
    bool again = has_changed_operand(m, n, changed);
    TL_TRY(refresh_bodies(m, n, changed, &again));
    if (again)
      TL_TRY(infer_again(m, n, changed));
  }
  return TL_OK;
}

/* Does the same in the bodies of node n, which may capture what changed. Sets *any if one of their
 * outputs did. */
static tl_status refresh_bodies(tl_module *m, tl_node_id n, bool *changed, bool *any) {
  for (uint32_t a = 0; a < tl_node_get(m, n)->n_attrs; a++) {
    uint32_t count;
    const tl_graph_id *at = tl_attr_graphs(&tl_node_get(m, n)->attrs[a], &count);
    for (uint32_t i = 0; i < count; i++) {
      const tl_graph *body = tl_graph_get(m, at[i]);
      TL_TRY(refresh_from(m, body->first, changed));
      *any = *any || has_changed_operand(m, body->ret, changed);
    }
  }
  return TL_OK;
}

tl_status tl_comm_refresh_types(tl_module *m, tl_value_id from, bool *fits) {
  bool *changed = calloc(tl_module_value_end(m), sizeof *changed);
  tl_node_id n = tl_value_producer(m, from);
  tl_status status = changed ? TL_OK : TL_NO_MEMORY;
  if (changed)
    changed[from] = true;
  if (changed && n)
    status = refresh_from(m, tl_node_get(m, n)->next, changed);
  free(changed);
  *fits = status == TL_OK;
  return status == TL_NO_MEMORY ? tl_no_memory(m) : TL_OK;
}
