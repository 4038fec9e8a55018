/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a scope and its replacement on the same random samples (verify.h). */
#include "passes/scopes/verify.h"

#include <math.h>

#include "ir/eval/eval.h"
#include "ir/infer/infer.h"
#include "passes/scopes/definitions.h"
#include "support/hash.h"

enum { ANY_SIZE = 3 }; /* size of a dim without a name */
/* Bytes that one trial may hold at a time. */
#define MEMORY_LIMIT (UINT64_C(1) << 30)

/* State of a trial. */
typedef struct trial {
  const tl_scope_trial *t;
  tl_module *scope;
  tl_host_heap heap;
  tl_host **inputs;  /* owned, together with the two arrays behind it; inputs of the sample */
  tl_host **left;    /* results of the scope */
  tl_host **right;   /* results of the op */
  int64_t *dims;     /* owned; sizes of all inputs, one after the other */
  uint64_t drawn;    /* random numbers drawn for this sample */
  uint64_t compared; /* finite numbers compared */
  uint32_t sample;
  tl_buf *why;
  tl_buf message; /* first error message of a run */
} trial;

static void remember(void *user, const tl_diagnostic *d) {
  trial *t = user;
  if (d->severity == TL_ERROR && !t->message.n)
    tl_buf_add_z(&t->message, d->message);
}

static bool tell(trial *t, const char *fmt, ...) TL_PRINTF(2, 3);
/* Notes why the sample does not agree; always false. */
static bool tell(trial *t, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  tl_buf_printf(t->why, "sample %u of %u: ", t->sample + 1, t->t->pattern->verify.samples);
  tl_buf_vprintf(t->why, fmt, ap);
  va_end(ap);
  return false;
}

static bool tell_error(trial *t, const char *what) {
  tl_sv text = t->message.failed ? TL_SV("") : tl_buf_view(&t->message);
  return tell(t, "%s does not run: %.*s", what, TL_SV_ARG(text));
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Returns the size of a dim: 2 to 6 for a named one, the same for a name within a sample, different
 * in the next. */
static int64_t size_of(const trial *t, tl_dim d) {
  if (tl_dim_is_static(d))
    return d;
  if (!tl_dim_is_symbol(d))
    return ANY_SIZE;
  tl_sv name = tl_sym(t->t->m, tl_dim_symbol(d));
  uint64_t sum = t->sample;
  for (size_t i = 0; i < name.n; i++)
    sum += (uint8_t)name.p[i];
  return 2 + (int64_t)(sum % 5);
}

/* Returns the greatest magnitude of the sample: around 1, larger to reach saturation, or small. */
static double magnitude_of(const trial *t) {
  static const double sizes[] = {2, 16, 0.125};
  return sizes[t->sample % 3];
}

/* Strings and complex numbers are neither drawn nor compared. */
static bool is_number(unsigned dtype) {
  return tl_dtype_has_numbers((tl_dtype)dtype) &&
         (dtype == TL_DTYPE_BOOL || tl_dtype_is_float((tl_dtype)dtype) ||
          tl_dtype_is_integer((tl_dtype)dtype));
}

/* Fills an input with uniform numbers in (-most, most), from the top 53 random bits; other dtypes
 * with 0 and 1. */
static void fill(trial *t, tl_host *h) {
  double most = magnitude_of(t);
  size_t size = tl_host_element_size((tl_dtype)h->dtype);
  for (uint64_t i = 0; i < h->n; i++) {
    uint64_t r = tl_random_bits(t->sample, t->drawn++);
    double v = ((double)(r >> 11) / (UINT64_C(1) << 52) - 1) * most;
    int64_t whole = (int64_t)(r >> 20 & 1); /* valid as an index unless the dim has one element */
    if (tl_dtype_is_float((tl_dtype)h->dtype))
      tl_host_from_f64((tl_dtype)h->dtype, &v, h->data, i, 1,
                       (tl_narrowing){true, TL_E8M0_NEAREST});
    else
      tl_uint_store((char *)h->data + i * size, (uint64_t)whole, size);
  }
}

static bool fill_input(trial *run, uint32_t i, int64_t *dims) {
  const tl_module *m = run->t->m;
  tl_value_id v = run->t->cut->inputs[i];
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  const tl_tensor *constant = tl_value_constant(m, v);
  for (int k = 0; k < t->rank; k++)
    dims[k] = size_of(run, t->dims[k]);
  if (constant) {
    run->inputs[i] = tl_host_from_tensor(&run->heap, m, constant);
    return run->inputs[i] || tell(run, "a weight takes more memory than there is");
  }
  if (!is_number(t->dtype) || !tl_host_element_size((tl_dtype)t->dtype))
    return tell(run, "inputs of this dtype cannot be random");
  run->inputs[i] = tl_host_new(&run->heap, (tl_dtype)t->dtype, t->rank, dims);
  if (!run->inputs[i])
    return tell(run, "the inputs take more memory than there is");
  fill(run, run->inputs[i]);
  return true;
}

static bool fill_inputs(trial *t) {
  int64_t *dims = t->dims;
  for (uint32_t i = 0; i < t->t->cut->n_inputs; i++) {
    if (!fill_input(t, i, dims))
      return false;
    dims += tl_type_get(t->t->m, tl_value_type(t->t->m, t->t->cut->inputs[i]))->rank;
  }
  return true;
}

static void drop(tl_host **at, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    tl_host_release(at[i]);
    at[i] = NULL;
  }
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Runs a graph. Its errors are kept as reasons: they are no errors of the model. */
static bool run(trial *t, tl_module *m, tl_host **out) {
  tl_muted muted;
  tl_eval_options o = {.exact = true, .seed = t->sample + 1};
  tl_graph_id g = tl_module_main(m)->id;
  tl_buf_clear(&t->message);
  tl_mute(&muted, m, remember, t);
  tl_status status = tl_eval_check(m, g);
  if (status == TL_OK)
    status = tl_eval_graph(m, g, &o, &t->heap, t->inputs, out);
  tl_unmute(&muted);
  return status == TL_OK;
}

/* Infers types and expands definitions: kernels round to the types of results, and the rules that
 * define our ops look at types. */
static bool prepare(trial *t, tl_module *m) {
  tl_muted muted;
  tl_buf_clear(&t->message);
  tl_mute(&muted, m, remember, t);
  tl_status status = tl_infer_module(m);
  if (status == TL_OK)
    status = tl_definitions_expand(m, t->t->options);
  tl_unmute(&muted);
  return status == TL_OK;
}

/* Runs the op or its definition; *ran is false if it fails on these inputs. */
static tl_status run_op(trial *x, bool *ran) {
  const tl_scope_trial *t = x->t;
  tl_module *made = NULL;
  if (t->body) {
    *ran = prepare(x, t->body) && run(x, t->body, x->right);
    return TL_OK;
  }
  tl_scope_op node = {t->pattern->op, t->attrs, t->n_attrs};
  TL_TRY(tl_scope_reference_make(t->m, t->cut, node, x->dims, &made));
  *ran = prepare(x, made) && run(x, made, x->right);
  tl_module_destroy(made);
  return TL_OK;
}

/* ---- comparison ------------------------------------------------------------------------------ */

static bool same_sizes(const tl_host *a, const tl_host *b) {
  return a->kind == TL_HOST_TENSOR && b->kind == TL_HOST_TENSOR && a->dtype == b->dtype &&
         tl_host_same_shape(a, b);
}

/* Returns true if b is within atol + rtol * |a| of a; NaNs agree, integers and infinities must be
 * equal. */
static bool near(const tl_scope_verify *v, double a, double b, bool floats) {
  if (isnan(a) || isnan(b))
    return isnan(a) && isnan(b);
  if (isinf(a) || isinf(b) || !floats)
    return a == b;
  return fabs(a - b) <= v->atol + v->rtol * fabs(a);
}

static bool same_output(trial *t, uint32_t i) {
  const tl_host *a = t->left[i], *b = t->right[i];
  tl_sv name = tl_sym(t->t->m, t->t->cut->output_names[i]);
  if (!same_sizes(a, b))
    return tell(t, "the op gives `%.*s` another type", TL_SV_ARG(name));
  if (!is_number(a->dtype))
    return tell(t, "outputs of the dtype of `%.*s` cannot be compared", TL_SV_ARG(name));
  bool floats = tl_dtype_is_float((tl_dtype)a->dtype);
  for (uint64_t k = 0; k < a->n; k++) {
    double u = tl_host_at(a, k), v = tl_host_at(b, k);
    if (!near(&t->t->pattern->verify, u, v, floats))
      return tell(t, "element %llu of `%.*s` is %.9g in the scope, %.9g of the op",
                  (unsigned long long)k, TL_SV_ARG(name), u, v);
    t->compared += isfinite(u) != 0;
  }
  return true;
}

/* Runs both sides on one sample and compares all outputs. */
static tl_status try_sample(trial *t, bool *agree) {
  uint32_t n = t->t->cut->n_outputs;
  bool ran = true;
  t->drawn = 0;
  *agree = fill_inputs(t);
  if (*agree && !(prepare(t, t->scope) && run(t, t->scope, t->left)))
    *agree = tell_error(t, "the scope");
  tl_status status = *agree ? run_op(t, &ran) : TL_OK;
  if (!ran)
    *agree = tell_error(t, "the op");
  for (uint32_t i = 0; status == TL_OK && *agree && i < n; i++)
    *agree = same_output(t, i);
  drop(t->inputs, t->t->cut->n_inputs);
  drop(t->left, n);
  drop(t->right, n);
  return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Returns true if the definition takes the dtypes and ranks of this scope. */
static bool same_inputs(const trial *t) {
  const tl_scope_cut *cut = t->t->cut;
  const tl_graph *g = t->t->body ? tl_module_main(t->t->body) : NULL;
  bool same = !g || g->inputs.n == cut->n_inputs;
  for (uint32_t i = 0; g && same && i < cut->n_inputs; i++) {
    const tl_type *a = tl_type_get(t->t->m, tl_value_type(t->t->m, cut->inputs[i]));
    const tl_type *b = tl_type_get(t->t->body, tl_value_type(t->t->body, g->inputs.at[i]));
    same = a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank;
  }
  return same && (!g || tl_graph_n_outputs(t->t->body, g) == cut->n_outputs);
}

static tl_status try_samples(trial *t, bool *agree) {
  *agree = same_inputs(t);
  if (!*agree)
    tl_buf_add_z(t->why, "the op takes other types than the scope");
  for (; *agree && t->sample < t->t->pattern->verify.samples; t->sample++)
    TL_TRY(try_sample(t, agree));
  if (*agree && !t->compared) {
    tl_buf_add_z(t->why, "no sample gives finite numbers to compare");
    *agree = false;
  }
  return TL_OK;
}

tl_status tl_scope_try(const tl_scope_trial *t, bool *agree, tl_buf *why) {
  trial run = {.t = t, .why = why};
  const char *cannot;
  tl_node_id where;
  *agree = false;
  TL_TRY(tl_scope_body_make(t->m, t->cut, &run.scope, &cannot, &where));
  if (!run.scope) {
    tl_sv node = tl_node_where(t->m, where).node;
    tl_buf_printf(why, "`%.*s` %s", TL_SV_ARG(node), cannot);
    return TL_OK;
  }
  uint32_t in = t->cut->n_inputs, out = t->cut->n_outputs;
  tl_host_heap_init(&run.heap, MEMORY_LIMIT);
  tl_buf_init(&run.message);
  run.inputs = calloc(in + 2u * out + 1u, sizeof(tl_host *));
  run.left = run.inputs + in;
  run.right = run.left + out;
  run.dims = calloc((size_t)in * TL_MAX_RANK + 1, sizeof *run.dims);
  tl_status status = run.inputs && run.dims ? try_samples(&run, agree) : tl_no_memory(t->m);
  free(run.inputs);
  free(run.dims);
  tl_buf_release(&run.message);
  tl_host_heap_release(&run.heap);
  tl_module_destroy(run.scope);
  return status;
}
