/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the tensors that two models have in common by name. */
#include "tools/verify/twins.h"

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

tl_tolerance tl_tolerance_for(const tl_tolerance *t, tl_grain g) {
  tl_tolerance own = *t;
  if (t->by_depth) {
    own.share = tl_grain_share(g);
    own.unit = tl_grain_is_coarse(g) ? g.unit : 0;
  }
  return own;
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
  free(t->of_a);
  free(t->of_b);
  free(t->kept);
  tl_twin_vec_release(&t->rows);
}

/* Compares the value of b with that of a and adds the result. What is no tensor on one side has
 * another form on the other: its outputs are compared by themselves. */
static tl_status add_row(tl_twins *t, tl_value_id v, const tl_host *got, const tl_host *want) {
  tl_twin row = {.value = v};
  if (got->kind != want->kind)
    return TL_OK;
  tl_grain g =
      tl_grain_worse(tl_grain_of(&t->grains[0], t->of_b[v]), tl_grain_of(&t->grains[1], v));
  tl_tolerance own = tl_tolerance_for(t->tolerance, g);
  tl_compare(got, want, &own, true, &row.d);
  return tl_twin_vec_push(&t->rows, row) ? TL_OK : tl_fail_memory(t->b->diag, TL_NOWHERE);
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
  t->kept[v] = NULL;
  if (constant && !want) {
    want = tl_host_from_tensor(value->heap, t->a, constant);
    if (!want)
      return tl_fail_memory(m->diag, TL_NOWHERE);
  } else if (want) {
    t->kept_bytes -= want->bytes;
  }
  tl_status status = want ? add_row(t, v, value, want) : TL_OK;
  tl_host_release(want);
  return status;
}
