/* SPDX-License-Identifier: Apache-2.0 */
/* Collects ranges of all tensors of a run and writes them as JSON. */
#include "tools/run/ranges.h"

#include "tools/run/value_text.h"

bool tl_ranges_init(tl_ranges *r, const tl_module *m) {
  *r = (tl_ranges){.n = tl_module_value_end(m)};
  r->at = calloc(r->n, sizeof *r->at);
  return r->at;
}

void tl_ranges_release(tl_ranges *r) {
  free(r->at);
  tl_u32_vec_release(&r->seen);
}

/* Merges b into a. Either may have no finite element; its numbers then are NaN and are ignored. */
static void merge(tl_numbers *a, const tl_numbers *b) {
  double finite_a = (double)(a->n - a->nan - a->inf), finite_b = (double)(b->n - b->nan - b->inf);
  tl_numbers sum = finite_a > 0 ? *a : *b;
  if (finite_a > 0 && finite_b > 0) {
    sum.min = a->min < b->min ? a->min : b->min;
    sum.max = a->max > b->max ? a->max : b->max;
    sum.absmax = a->absmax > b->absmax ? a->absmax : b->absmax;
    sum.mean = (a->mean * finite_a + b->mean * finite_b) / (finite_a + finite_b);
  }
  sum.n = a->n + b->n;
  sum.nan = a->nan + b->nan;
  sum.inf = a->inf + b->inf;
  *a = sum;
}

void tl_ranges_note(tl_ranges *r, tl_value_id v, const tl_host *value) {
  tl_numbers numbers;
  if (!tl_is_numeric(value))
    return;
  tl_describe(value, &numbers);
  tl_range *range = &r->at[v];
  if (range->times++ == 0) {
    range->numbers = numbers;
    range->dtype = value->dtype;
    r->failed = r->failed || !tl_u32_vec_push(&r->seen, v);
    return;
  }
  merge(&range->numbers, &numbers);
}

static void add_numbers(tl_json_writer *w, const tl_numbers *n) {
  tl_member_f64(w, "min", n->min);
  tl_member_f64(w, "max", n->max);
  tl_member_f64(w, "mean", n->mean);
  tl_member_f64(w, "absmax", n->absmax);
  tl_member_u64(w, "elements", n->n);
  tl_member_u64(w, "nan", n->nan);
  tl_member_u64(w, "inf", n->inf);
}

void tl_ranges_json(const tl_ranges *r, const tl_module *m, tl_buf *out) {
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  out->failed = out->failed || r->failed;
  tl_put_object(w);
  tl_put_key(w, "tensors");
  tl_put_array(w);
  for (uint32_t i = 0; i < r->seen.n; i++) {
    const tl_range *range = &r->at[r->seen.at[i]];
    tl_json_line(w, 1);
    tl_put_object(w);
    tl_member_sv(w, "name", tl_value_name(m, r->seen.at[i]));
    tl_member_z(w, "dtype", tl_dtype_get((tl_dtype)range->dtype)->name);
    tl_member_u64(w, "times", range->times);
    add_numbers(w, &range->numbers);
    tl_put_end(w);
  }
  tl_json_line(w, 0);
  tl_json_finish(w);
}

void tl_range_json(tl_json_writer *w, tl_sv name, const tl_host *value) {
  tl_numbers numbers;
  tl_buf type;
  tl_buf_init(&type);
  tl_describe(value, &numbers);
  tl_add_type(&type, value);
  tl_put_object(w);
  tl_member_sv(w, "name", name);
  tl_member_sv(w, "type", tl_buf_view(&type));
  if (tl_is_numeric(value))
    add_numbers(w, &numbers);
  tl_put_end(w);
  w->out->failed = w->out->failed || type.failed;
  tl_buf_release(&type);
}
