/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the tensors that two models have in common. */
#include "tools/verify/twins.h"

#include <math.h>

#include "lib/values/elements.h"

/* Returns true for named results and constants of the main graph. Folding turns computed tensors
 * into constants, so constants take part; inputs are the same by construction. */
static bool takes_part(const tl_module *m, tl_value_id v) {
  const tl_value *value = tl_value_get(m, v);
  return (value->kind == TL_VALUE_RESULT || value->kind == TL_VALUE_CONSTANT) && value->name &&
         tl_value_graph(m, v) == tl_module_main(m)->id;
}

/* Fills by[symbol of m] with the value of that name. */
static void index_names(const tl_module *m, tl_value_id *by) {
  for (tl_value_id v = 1; v < tl_module_value_end(m); v++)
    if (takes_part(m, v))
      by[tl_value_get(m, v)->name] = v;
}

/* Pairs values of equal names. Two constants are not compared, since nothing was computed. */
static void pair(tl_twins *t, const tl_value_id *by_name) {
  for (tl_value_id v = 1; v < tl_module_value_end(t->a); v++) {
    if (!takes_part(t->a, v))
      continue;
    tl_symbol s = tl_symbol_find(&t->b->symbols, tl_value_name(t->a, v));
    tl_value_id twin = s == TL_NO_SYMBOL ? TL_NO_VALUE : by_name[s];
    if (!twin || (tl_value_constant(t->a, v) && tl_value_constant(t->b, twin)))
      continue;
    t->of_a[v] = twin;
    t->of_b[twin] = v;
  }
}

bool tl_twins_init(tl_twins *t, tl_module *a, tl_module *b, const tl_tolerance *tolerance,
                   const tl_grains grains[2], uint64_t most_bytes) {
  *t = (tl_twins){
      .a = a, .b = b, .tolerance = tolerance, .grains = grains, .most_bytes = most_bytes};
  tl_value_id *by_name = calloc((size_t)b->symbols.n + 1, sizeof *by_name);
  t->of_a = calloc(tl_module_value_end(a), sizeof *t->of_a);
  t->of_b = calloc(tl_module_value_end(b), sizeof *t->of_b);
  t->kept = calloc(tl_module_value_end(b), sizeof *t->kept);
  bool ok = by_name && t->of_a && t->of_b && t->kept;
  if (ok) {
    index_names(b, by_name);
    pair(t, by_name);
  }
  free(by_name);
  return ok;
}

void tl_twins_release(tl_twins *t) {
  for (tl_value_id v = 0; t->kept && v < tl_module_value_end(t->b); v++)
    tl_host_release(t->kept[v]);
  for (tl_value_id v = 0; t->given && v < tl_module_value_end(t->b); v++)
    tl_host_release(t->given[v]);
  free(t->given);
  free(t->row_of);
  free(t->of_a);
  free(t->of_b);
  free(t->kept);
  tl_twin_vec_release(&t->rows);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static tl_tolerance tolerance_of(const tl_twins *t, tl_value_id v) {
  tl_value_id other = t->of_b[v];
  tl_tolerance own = tl_tolerance_for(
      t->tolerance,
      tl_grain_worse(tl_grain_of(&t->grains[0], other), tl_grain_of(&t->grains[1], v)));
  own.top = 0; /* what ranks high means something of outputs only */
  return own;
}

/* Returns true if the pair is a guess by origin, or comes from files, and the shapes show that it
 * is none. */
static bool is_no_pair(const tl_twins *t, tl_value_id v, const tl_host *got, const tl_host *want) {
  const tl_kin_row *row = tl_kin_of(t->kin, t->b, v);
  bool guess = t->given || (row && row->twin && row->twin == t->of_b[v]);
  return guess && got->kind == TL_HOST_TENSOR && !tl_host_same_shape(got, want);
}

/* Compares the value of b with that of a and adds the result. What is no tensor on one side has
 * another form on the other: its outputs are compared by themselves. */
static tl_status add_row(tl_twins *t, tl_value_id v, const tl_host *got, const tl_host *want) {
  tl_twin row = {.value = v};
  if (got->kind != want->kind)
    return TL_OK;
  if (is_no_pair(t, v, got, want)) {
    t->other_shape++;
    return TL_OK;
  }
  tl_tolerance own = tolerance_of(t, v);
  tl_compare(got, want, &own, true, &row.d);
  if (t->layers && tl_value_constant(t->b, v)) { /* it has no operands that could differ */
    row.own = row.d;
    row.has_own = true;
  }
  if (!tl_twin_vec_push(&t->rows, row))
    return tl_fail_memory(t->b->diag, TL_NOWHERE);
  if (t->row_of)
    t->row_of[v] = t->rows.n;
  return TL_OK;
}

tl_status tl_twins_watch_a(void *twins, const tl_module *m, tl_value_id v, const tl_host *value) {
  tl_twins *t = twins;
  tl_value_id twin = t->of_a[v];
  if (!twin || t->kept[twin])
    return TL_OK;
  /* A constant of b is not made by a run, so it is compared at once. */
  const tl_tensor *constant = tl_value_constant(t->b, twin);
  if (constant) {
    tl_host *got = tl_host_from_tensor(value->heap, t->b, constant);
    tl_status status = got ? add_row(t, twin, got, value) : tl_fail_memory(m->diag, TL_NOWHERE);
    tl_host_release(got);
    return status;
  }
  /* kept_bytes never exceeds most_bytes, so the difference cannot wrap. */
  if (value->bytes > t->most_bytes - t->kept_bytes) {
    t->skipped++;
    return TL_OK;
  }
  t->kept_bytes += value->bytes;
  t->kept[twin] = tl_host_retain((tl_host *)(uintptr_t)value); /* counting is no change */
  return TL_OK;
}

tl_status tl_twins_watch_b(void *twins, const tl_module *m, tl_value_id v, const tl_host *value) {
  tl_twins *t = twins;
  const tl_tensor *constant = t->of_b[v] ? tl_value_constant(t->a, t->of_b[v]) : NULL;
  tl_host *want = t->kept[v];
  if (constant && !want) {
    want = tl_host_from_tensor(value->heap, t->a, constant);
    if (!want)
      return tl_fail_memory(m->diag, TL_NOWHERE);
    if (t->layers) { /* the second run needs it, too; it is a view of the model */
      t->kept[v] = want;
      t->kept_bytes += want->bytes;
    }
  } else if (want && !t->layers) {
    t->kept[v] = NULL;
    t->kept_bytes -= want->bytes;
  }
  tl_status status = want ? add_row(t, v, value, want) : TL_OK;
  if (!t->layers)
    tl_host_release(want);
  return status;
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* Pairs values by their kin where names do not. */
static bool pair_kin(tl_twins *t) {
  tl_value_id *by_name = calloc((size_t)t->b->symbols.n + 1, sizeof *by_name);
  if (!by_name)
    return false;
  index_names(t->b, by_name);
  for (uint32_t i = 0; i < t->kin->rows.n; i++) {
    const tl_kin_row *row = &t->kin->rows.at[i];
    tl_value_id v = row->twin, twin = by_name[row->value];
    if (!v || !twin || t->of_a[v] || t->of_b[twin] || !takes_part(t->a, v))
      continue;
    t->of_a[v] = twin;
    t->of_b[twin] = v;
  }
  free(by_name);
  return true;
}

bool tl_twins_add_layers(tl_twins *t, const tl_kin *kin) {
  t->layers = true;
  t->kin = kin;
  t->row_of = calloc(tl_module_value_end(t->b), sizeof *t->row_of);
  return t->row_of && pair_kin(t);
}

tl_status tl_twins_compare_given(tl_twins *t) {
  TL_FOR_NODES(t->b, tl_module_main(t->b), n)
    for (uint32_t i = 0; i < tl_node_get(t->b, n)->n_results; i++) {
      tl_value_id v = tl_result(t->b, n, i);
      if (t->given[v] && t->kept[v])
        TL_TRY(add_row(t, v, t->given[v], t->kept[v]));
    }
  return TL_OK;
}

/* Copies elements into another float dtype. Numbers that it cannot hold become its largest ones:
 * that they are lost is the fault of the node that makes them, not of those that use them. */
static void cast(const tl_host *from, tl_host *to) {
  double most = to->dtype == TL_DTYPE_F16 ? 65504.0 : (double)INFINITY;
  for (uint64_t i = 0; i < from->n; i++) {
    double v = tl_host_at(from, i);
    tl_put_float(to, i, isfinite(v) ? fmax(-most, fmin(most, v)) : v);
  }
}

/* Gives a value in the dtype that the users of `like` take; *out NULL: it cannot stand there. */
static tl_status adapt(tl_host *v, const tl_host *like, tl_host **out) {
  *out = NULL;
  if (v->kind != TL_HOST_TENSOR || like->kind != TL_HOST_TENSOR || !tl_host_same_shape(v, like))
    return TL_OK;
  bool floats = tl_dtype_is_float((tl_dtype)v->dtype) && tl_dtype_is_float((tl_dtype)like->dtype);
  if (v->dtype == like->dtype)
    *out = tl_host_retain(v);
  else if (floats)
    *out = tl_host_new(like->heap, (tl_dtype)like->dtype, like->rank, like->dims);
  if (!*out)
    return v->dtype == like->dtype || floats ? TL_NO_MEMORY : TL_OK;
  if (*out != v)
    cast(v, *out);
  return TL_OK;
}

/* Releases what was kept for a value. */
static void forget(tl_twins *t, tl_value_id v) {
  if (t->kept[v])
    t->kept_bytes -= t->kept[v]->bytes;
  tl_host_release(t->kept[v]);
  t->kept[v] = NULL;
}

tl_status tl_twins_replace(void *twins, const tl_module *m, tl_value_id v, tl_host **value) {
  tl_twins *t = twins;
  tl_host *other = t->given ? t->given[v] : t->kept[v], *put;
  if (!other)
    return TL_OK;
  if (t->row_of[v]) {
    tl_twin *row = &t->rows.at[t->row_of[v] - 1];
    tl_tolerance own = tolerance_of(t, v);
    tl_compare(t->given ? other : *value, t->given ? *value : other, &own, true, &row->own);
    row->has_own = true;
  }
  if (adapt(other, *value, &put) != TL_OK)
    return tl_fail_memory(m->diag, TL_NOWHERE);
  if (put) {
    tl_host_release(*value);
    *value = put;
  }
  forget(t, v);
  return TL_OK;
}
