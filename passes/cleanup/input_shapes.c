/* SPDX-License-Identifier: Apache-2.0 */
/* input-shapes: gives inputs of the main graph the shapes that options name.
 * --input-shape names inputs, --dynamic-inputs-shape-range lists shapes in the inputs' order.
 *
 * Requires:  infer-shapes afterwards.   Keeps: nodes, edges, names, dtypes.
 * After:     named inputs have the given shape; where one changed, shapes that may have followed
 *            from the old one are forgotten (ranks and dtypes stay).
 * Cost:      O(options + inputs + values).
 * Tests:     tests/golden/input-shapes/ */
#include "passes/edit/passes.h"
#include "passes/edit/values.h"
#include "support/map.h"

static tl_location at_option(const tl_module *m, tl_sv name) {
  return (tl_location){.file = m->path, .node = name, .attr = TL_SV("--input-shape")};
}

static tl_status fail_unknown(tl_module *m, const tl_graph *g, tl_sv name) {
  tl_nearest near = tl_nearest_start(name);
  for (uint32_t i = 0; i < g->inputs.n; i++)
    tl_nearest_try(&near, tl_value_name(m, g->inputs.at[i]));
  if (near.found.n)
    return tl_fail_code(m->diag, TL_INVALID_ARGUMENT, "E10016", at_option(m, name),
                        "the model has no input named '%.*s'\vdid you mean '%.*s'?",
                        TL_SV_ARG(name), TL_SV_ARG(near.found));
  return tl_fail_code(m->diag, TL_INVALID_ARGUMENT, "E10016", at_option(m, name),
                      "the model has no input named '%.*s'", TL_SV_ARG(name));
}

static tl_value_id find_input(const tl_module *m, const tl_graph *g, tl_sv name) {
  for (uint32_t i = 0; i < g->inputs.n; i++)
    if (tl_sv_eq(tl_value_name(m, g->inputs.at[i]), name))
      return g->inputs.at[i];
  return TL_NO_VALUE;
}

/* Computes type t with the given dims, of which those before `skip` say nothing of it; -1 keeps a
 * dim that is dynamic in the model. E10049. */
static tl_status shaped_tensor(tl_module *m, tl_type_id t_id, const tl_input_shape *s, int skip,
                               tl_type_id *out) {
  tl_dim dims[TL_MAX_RANK];
  const tl_type *t = tl_type_get(m, t_id);
  bool tensor = t->kind == TL_KIND_TENSOR;
  if (s->rank > TL_MAX_RANK || s->rank < skip ||
      (tensor && t->rank >= 0 && t->rank + skip != s->rank))
    return tl_fail_code(m->diag, TL_INVALID_ARGUMENT, "E10049", at_option(m, s->name),
                        "input '%.*s' has %d dims%s, but %d are given", TL_SV_ARG(s->name),
                        t->rank + skip, skip ? " when its elements are stacked" : " in the model",
                        s->rank);
  for (int i = skip; i < s->rank; i++) {
    bool keep = s->dims[i] == TL_DIM_UNKNOWN && t->rank >= 0 &&
                !tl_dim_is_static(t->dims[i - skip]);
    dims[i - skip] = keep ? t->dims[i - skip] : s->dims[i];
  }
  *out = tl_type_tensor(m, tensor ? (tl_dtype)t->dtype : TL_DTYPE_NONE, s->rank - skip, dims);
  return *out == TL_NO_TYPE ? tl_no_memory(m) : TL_OK;
}

/* The same of a sequence of tensors, or an optional one, as the NPU takes it: its elements stacked
 * along a new first dim. The size of that dim is for plain-inputs, since no sequence has it. */
static tl_status shaped_list(tl_module *m, tl_value_id v, const tl_input_shape *s,
                             tl_type_id *out) {
  tl_type whole = *tl_type_get(m, tl_value_type(m, v));
  bool optional = whole.kind == TL_KIND_OPTIONAL;
  tl_type list = optional ? *tl_type_get(m, whole.element) : whole;
  if (list.kind != TL_KIND_SEQUENCE || tl_type_get(m, list.element)->kind != TL_KIND_TENSOR)
    return tl_fail_code(m->diag, TL_INVALID_ARGUMENT, "E10049", at_option(m, s->name),
                        "input '%.*s' is neither a tensor nor a sequence of tensors and has no "
                        "shape",
                        TL_SV_ARG(s->name));
  TL_TRY(shaped_tensor(m, list.element, s, 1, &list.element));
  *out = tl_type_intern(m, &list);
  if (optional && *out != TL_NO_TYPE) {
    whole.element = *out;
    *out = tl_type_intern(m, &whole);
  }
  return *out == TL_NO_TYPE ? tl_no_memory(m) : TL_OK;
}

static tl_status shaped_type(tl_module *m, tl_value_id v, const tl_input_shape *s,
                             tl_type_id *out) {
  tl_type_kind kind = (tl_type_kind)tl_type_get(m, tl_value_type(m, v))->kind;
  if (kind == TL_KIND_TENSOR || kind == TL_KIND_UNKNOWN)
    return shaped_tensor(m, tl_value_type(m, v), s, 0, out);
  return shaped_list(m, v, s, out);
}

/* Forgets dims, but keeps rank and dtype, which do not depend on sizes. */
static tl_status forget_shape(tl_module *m, tl_value_id v) {
  tl_dim unknown[TL_MAX_RANK];
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  tl_type_id type = TL_NO_TYPE;
  if (t->kind == TL_KIND_TENSOR) {
    for (int i = 0; i < t->rank; i++)
      unknown[i] = TL_DIM_UNKNOWN;
    type = tl_type_tensor(m, (tl_dtype)t->dtype, t->rank, unknown);
    if (type == TL_NO_TYPE)
      return tl_no_memory(m);
  }
  tl_value_set_type(m, v, type);
  return TL_OK;
}

/* Forgets shapes that may follow from inputs; inputs of bodies follow from what their owners pass
 * in. */
static tl_status forget_derived(tl_module *m) {
  for (tl_value_id v = 1; v < tl_module_value_end(m); v++) {
    const tl_value *value = tl_value_get(m, v);
    bool derived =
        value->kind == TL_VALUE_RESULT ||
        (value->kind == TL_VALUE_INPUT && tl_graph_get(m, value->def)->kind == TL_GRAPH_BODY);
    if (derived)
      TL_TRY(forget_shape(m, v));
  }
  return TL_OK;
}

static tl_status shape_input(tl_pass *p, tl_module *m, tl_value_id v, const tl_input_shape *s,
                             bool *changed) {
  tl_type_id type;
  TL_TRY(shaped_type(m, v, s, &type));
  if (type == tl_value_type(m, v) || !tl_pass_may_rewrite(p))
    return TL_OK;
  tl_value_set_type(m, v, type);
  *changed = true;
  return TL_OK;
}

/* Marks, by value id, the inputs that are not fed with data: states. NULL: no memory. */
static const bool *state_inputs(tl_pass *p, const tl_module *m) {
  bool *states = tl_arena_calloc(p->scratch, tl_module_value_end(m), sizeof *states);
  for (uint32_t i = 0; states && i < m->states.n; i++)
    states[m->states.at[i].input] = true;
  return states;
}

/* Assigns shapes in the order of the inputs without a default; shapes given by name take no part in
 * the order. */
static tl_status shape_in_order(tl_pass *p, tl_module *m, const tl_graph *g, bool *changed) {
  const tl_options *o = p->options;
  uint32_t next = 0, n_data = 0, n_listed = 0;
  const bool *states = state_inputs(p, m);
  if (!states)
    return tl_no_memory(m);
  for (uint32_t i = 0; i < o->n_listed_shapes; i++) {
    tl_value_id v = find_input(m, g, o->listed_shapes[i].name);
    n_listed += !v;
    if (v)
      TL_TRY(shape_input(p, m, v, &o->listed_shapes[i], changed));
  }
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    tl_sv name = tl_value_name(m, g->inputs.at[i]);
    bool named = false;
    for (uint32_t k = 0; k < o->n_listed_shapes && !named; k++)
      named = tl_sv_eq(o->listed_shapes[k].name, name);
    if (named || states[g->inputs.at[i]] || tl_value_get(m, g->inputs.at[i])->tensor)
      continue;
    n_data++;
    while (next < o->n_listed_shapes && find_input(m, g, o->listed_shapes[next].name))
      next++;
    tl_input_shape s = next < o->n_listed_shapes ? o->listed_shapes[next++] : (tl_input_shape){0};
    s.name = name;
    if (n_data <= n_listed)
      TL_TRY(shape_input(p, m, g->inputs.at[i], &s, changed));
  }
  if (n_listed && n_data != n_listed)
    return tl_fail_code(
        m->diag, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT",
        (tl_location){.file = m->path, .attr = TL_SV("--dynamic-inputs-shape-range")},
        "%u shapes for %u inputs\vgive one for each input, or name each input", n_listed, n_data);
  return TL_OK;
}

/* Assigns the shapes of --input-shape; inputs are looked up by name. */
static tl_status shape_by_name(tl_pass *p, tl_module *m, const tl_graph *g, bool *changed) {
  tl_map index = {0};
  bool ok = true;
  uint32_t n = p->options->n_input_shapes;
  for (uint32_t i = g->inputs.n; n && ok && i-- > 0;) /* of two of one name the first counts */
    ok = tl_map_set(&index, tl_value_get(m, g->inputs.at[i])->name, g->inputs.at[i]);
  tl_status status = ok ? TL_OK : tl_no_memory(m);
  for (uint32_t i = 0; i < n && status == TL_OK; i++) {
    const tl_input_shape *s = &p->options->input_shapes[i];
    tl_symbol name = tl_symbol_find(&m->symbols, s->name);
    uint32_t v;
    status = name != TL_NO_SYMBOL && tl_map_find(&index, name, &v)
                 ? shape_input(p, m, v, s, changed)
                 : fail_unknown(m, g, s->name);
  }
  tl_map_release(&index);
  return status;
}

tl_status tl_pass_input_shapes(tl_pass *p, tl_module *m) {
  const tl_graph *g = tl_module_main(m);
  bool changed = false;
  TL_TRY(shape_by_name(p, m, g, &changed));
  if (p->options->n_listed_shapes)
    TL_TRY(shape_in_order(p, m, g, &changed));
  return changed ? forget_derived(m) : TL_OK;
}
