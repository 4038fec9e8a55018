/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of all tensors of a run. */
#include "tools/run/ranges.h"

#include "tools/cli/json.h"
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

/* Adds b to a. Either may have no finite element, whose numbers then are NaN. */
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

static void add_numbers(tl_buf *out, const tl_numbers *n) {
  static const char *const keys[] = {"min", "max", "mean", "absmax"};
  const double numbers[] = {n->min, n->max, n->mean, n->absmax};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    tl_buf_printf(out, ", \"%s\": ", keys[i]);
    tl_json_number(out, numbers[i]);
  }
  tl_buf_printf(out, ", \"elements\": %llu, \"nan\": %llu, \"inf\": %llu}",
                (unsigned long long)n->n, (unsigned long long)n->nan, (unsigned long long)n->inf);
}

void tl_ranges_json(const tl_ranges *r, const tl_module *m, tl_buf *out) {
  out->failed = out->failed || r->failed;
  tl_buf_add_z(out, "{\"tensors\": [");
  for (uint32_t i = 0; i < r->seen.n; i++) {
    const tl_range *range = &r->at[r->seen.at[i]];
    tl_buf_add_z(out, i ? ",\n {\"name\": " : "\n {\"name\": ");
    tl_json_string(out, tl_value_name(m, r->seen.at[i]));
    tl_buf_printf(out, ", \"dtype\": \"%s\", \"times\": %llu",
                  tl_dtype_get((tl_dtype)range->dtype)->name, (unsigned long long)range->times);
    add_numbers(out, &range->numbers);
  }
  tl_buf_add_z(out, "\n]}\n");
}

void tl_range_json(tl_buf *out, tl_sv name, const tl_host *value) {
  tl_numbers numbers;
  tl_describe(value, &numbers);
  tl_buf_add_z(out, "{\"name\": ");
  tl_json_string(out, name);
  tl_buf_add_z(out, ", \"type\": \"");
  tl_add_type(out, value);
  tl_buf_add_char(out, '"');
  if (tl_is_numeric(value))
    add_numbers(out, &numbers);
  else
    tl_buf_add_char(out, '}');
}
