/* SPDX-License-Identifier: Apache-2.0 */
/* freeze-inputs: inputs that --freeze names become constants with the given values.
 *
 * Requires:  input-shapes before, so that a value is checked against the shape that counts.
 * Keeps:     nodes, edges, names, dtypes.
 * After:     a named input is a constant of the main graph; the other inputs move up. A name that
 *            is a constant with this very value counts as done.
 * Cost:      O(options * inputs + elements of the values).
 * Tests:     tests/golden/freeze-inputs/ */
#include <math.h>

#include "ir/host.h"
#include "passes/edit/passes.h"
#include "passes/edit/values.h"

static tl_location at_option(const tl_module *m, tl_sv name) {
  return (tl_location){.file = m->path, .node = name, .attr = TL_SV("--freeze")};
}

/* ---- which input ----------------------------------------------------------------------------- */

static tl_status fail_unknown(tl_module *m, const tl_graph *g, tl_sv name) {
  tl_buf names;
  tl_buf_init(&names);
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    tl_buf_add_z(&names, i ? ", " : "the inputs are: ");
    tl_buf_add_quoted(&names, tl_value_name(m, g->inputs.at[i]));
  }
  tl_status status = tl_fail_code(m->diag, TL_INVALID_ARGUMENT, "E10016", at_option(m, name),
                                  "the model has no input named '%.*s'\v%s", TL_SV_ARG(name),
                                  names.n && !names.failed ? names.p : "it has no inputs");
  tl_buf_release(&names);
  return status;
}

static tl_value_id find_input(const tl_module *m, const tl_graph *g, tl_sv name) {
  for (uint32_t i = 0; i < g->inputs.n; i++)
    if (tl_sv_eq(tl_value_name(m, g->inputs.at[i]), name))
      return g->inputs.at[i];
  return TL_NO_VALUE;
}

static bool is_state(const tl_module *m, tl_value_id v) {
  for (uint32_t i = 0; i < m->states.n; i++)
    if (m->states.at[i].input == v)
      return true;
  return false;
}

/* ---- the value ------------------------------------------------------------------------------- */

/* Writes both types into a message about a value that does not fit. */
static tl_status fail_fit(tl_module *m, tl_value_id v, const tl_frozen_input *f) {
  tl_buf has, wants;
  tl_buf_init(&has);
  tl_buf_init(&wants);
  if (f->data)
    tl_buf_add_z(&has, tl_dtype_get((tl_dtype)f->dtype)->name);
  tl_buf_add_char(&has, '[');
  for (int i = 0; i < f->rank; i++)
    tl_buf_printf(&has, "%s%lld", i ? "," : "", (long long)f->dims[i]);
  tl_buf_add_char(&has, ']');
  tl_type_print(m, tl_value_type(m, v), &wants);
  tl_dtype dtype = tl_type_dtype(m, tl_value_type(m, v));
  bool other = f->data && f->dtype != dtype;
  tl_status status = tl_fail_code(m->diag, TL_INVALID_ARGUMENT, "E10049", at_option(m, f->name),
                                  "the input is %s, the value given is %s%s%s",
                                  wants.failed ? "" : wants.p, has.failed ? "" : has.p,
                                  other ? "\vsave the array in " : "",
                                  other ? tl_dtype_get(dtype)->name : "");
  tl_buf_release(&has);
  tl_buf_release(&wants);
  return status;
}

/* The shape that the constant gets: that of the value, or [1,...,1] for a number where the input
 * has one element. Returns false if the value does not fit. */
static bool settle_shape(const tl_type *t, const tl_frozen_input *f, int *rank, tl_dim *dims) {
  bool fits = t->rank == f->rank || t->rank < 0;
  *rank = f->rank;
  for (int i = 0; fits && i < f->rank; i++) {
    dims[i] = f->dims[i];
    fits = t->rank < 0 || !tl_dim_is_static(t->dims[i]) || t->dims[i] == dims[i];
  }
  if (fits || f->rank != 0 || f->data)
    return fits;
  *rank = t->rank;
  for (int i = 0; i < t->rank; i++) {
    if (t->dims[i] != 1)
      return false;
    dims[i] = 1;
  }
  return true;
}

static bool put_bool(tl_sv text, void *data, uint64_t i) {
  bool yes = tl_sv_is(text, "true") || tl_sv_is(text, "True") || tl_sv_is(text, "1");
  ((uint8_t *)data)[i] = yes;
  return yes || tl_sv_is(text, "false") || tl_sv_is(text, "False") || tl_sv_is(text, "0");
}

/* Writes an integer of any width; false if the dtype has no such number. */
static bool put_integer(tl_sv text, tl_dtype dtype, void *data, uint64_t i) {
  unsigned bits = tl_dtype_get(dtype)->bits;
  bool is_unsigned = (dtype >= TL_DTYPE_U8 && dtype <= TL_DTYPE_U64) || dtype == TL_DTYPE_U4 ||
                     dtype == TL_DTYPE_U2;
  int64_t v = 0;
  uint64_t u = 0;
  if (is_unsigned ? !tl_parse_u64(text, &u) : !tl_parse_i64(text, &v))
    return false;
  if (bits < 64 && (is_unsigned ? u >> bits != 0
                                : v < -(INT64_C(1) << (bits - 1)) || v >= INT64_C(1) << (bits - 1)))
    return false;
  u = is_unsigned ? u : (uint64_t)v;
  if (bits < 8)
    tl_packed_set(dtype, data, i, (int)(int64_t)u);
  else
    tl_uint_store((char *)data + i * (bits / 8), u, bits / 8);
  return true;
}

/* Writes a float rounded once; a finite number must not become infinite. */
static bool put_float(tl_sv text, tl_dtype dtype, void *data, uint64_t i) {
  double v;
  float back;
  if (!tl_parse_f64(text, &v))
    return false;
  tl_host_from_f64(dtype, &v, data, i, 1, (tl_narrowing){0});
  if (dtype == TL_DTYPE_F64 || !isfinite(v))
    return true;
  tl_host_to_f32(dtype, data, &back, i, 1);
  return isfinite(back);
}

static bool put(tl_sv text, tl_dtype dtype, void *data, uint64_t i) {
  if (!tl_dtype_has_numbers(dtype))
    return false;
  return dtype == TL_DTYPE_BOOL ? put_bool(text, data, i)
         : tl_dtype_is_float(dtype)
             ? put_float(text, dtype, data, i)
             : tl_dtype_is_integer(dtype) && put_integer(text, dtype, data, i);
}

static tl_status read_items(tl_module *m, const tl_frozen_input *f, tl_type_id type,
                            tl_host *values, tl_tensor_id *out) {
  tl_dtype dtype = tl_type_dtype(m, type);
  memset(values->data, 0, (size_t)values->bytes);
  for (uint64_t i = 0; i < f->n; i++)
    if (!put(f->items[i], dtype, values->data, i))
      return tl_fail_code(m->diag, TL_INVALID_ARGUMENT, "E10049", at_option(m, f->name),
                          "'%.*s' is not a number of dtype %s, which the input has",
                          TL_SV_ARG(tl_sv_shown(f->items[i])), tl_dtype_get(dtype)->name);
  *out = tl_tensor_from_bytes(m, type, values->data, values->bytes);
  return *out ? TL_OK : tl_no_memory(m);
}

/* Makes the tensor of a list: its elements are read as the input's dtype. */
static tl_status make_listed(tl_module *m, const tl_frozen_input *f, tl_type_id type,
                             tl_tensor_id *out) {
  tl_host_heap heap;
  const tl_type *t = tl_type_get(m, type);
  tl_host_heap_init(&heap, 0);
  tl_host *values = tl_host_new(&heap, (tl_dtype)t->dtype, t->rank, t->dims);
  tl_status status = values ? read_items(m, f, type, values, out) : tl_no_memory(m);
  tl_host_release(values);
  tl_host_heap_release(&heap);
  return status;
}

static tl_status make_tensor(tl_module *m, tl_value_id v, const tl_frozen_input *f,
                             tl_tensor_id *out) {
  int rank;
  tl_dim dims[TL_MAX_RANK];
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  if (t->kind != TL_KIND_TENSOR || t->dtype == TL_DTYPE_NONE || t->dtype == TL_DTYPE_STRING)
    return tl_fail_code(m->diag, TL_INVALID_ARGUMENT, "E10049", at_option(m, f->name),
                        "only a tensor of numbers or bool, of known dtype, can be frozen");
  if (!settle_shape(t, f, &rank, dims) || (f->data && f->dtype != t->dtype))
    return fail_fit(m, v, f);
  tl_type_id type = tl_type_tensor(m, (tl_dtype)t->dtype, rank, dims);
  if (type == TL_NO_TYPE)
    return tl_no_memory(m);
  if (!f->data)
    return make_listed(m, f, type, out);
  *out = tl_tensor_from_bytes(m, type, f->data, f->bytes);
  return *out ? TL_OK : tl_no_memory(m);
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Returns true if `name` is a constant with the value of the option: the pass ran before. */
static bool is_frozen(tl_module *m, const tl_graph *g, const tl_frozen_input *f) {
  tl_value_id v = tl_graph_find_value(m, g, f->name);
  tl_tensor_id made;
  tl_muted muted;
  if (!v || tl_value_get(m, v)->kind != TL_VALUE_CONSTANT)
    return false;
  tl_mute(&muted, m, NULL, NULL);
  tl_status status = make_tensor(m, v, f, &made);
  tl_unmute(&muted);
  return status == TL_OK && tl_tensor_equal(m, tl_tensor_get(m, tl_value_get(m, v)->tensor),
                                            tl_tensor_get(m, made), UINT64_MAX);
}

static tl_status freeze(tl_pass *p, tl_module *m, const tl_frozen_input *f) {
  const tl_graph *g = tl_module_main(m);
  tl_tensor_id tensor;
  tl_value_id v = find_input(m, g, f->name);
  if (!v)
    return is_frozen(m, g, f) ? TL_OK : fail_unknown(m, g, f->name);
  if (is_state(m, v))
    return tl_fail_code(m->diag, TL_INVALID_ARGUMENT, "E10049", at_option(m, f->name),
                        "the input is a state of the training step, which changes from step to "
                        "step");
  TL_TRY(make_tensor(m, v, f, &tensor));
  if (!tl_pass_may_rewrite(p))
    return TL_OK;
  tl_value_get(m, v)->tensor = tensor;
  return tl_graph_freeze_input(m, v) == TL_OK ? TL_OK : tl_no_memory(m);
}

tl_status tl_pass_freeze_inputs(tl_pass *p, tl_module *m) {
  for (uint32_t i = 0; i < p->options->n_frozen; i++)
    TL_TRY(freeze(p, m, &p->options->frozen[i]));
  return TL_OK;
}
