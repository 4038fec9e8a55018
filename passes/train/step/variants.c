/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the variants of a training graph and checks the tensor that the switch observes. */
#include "passes/train/step/variants.h"

#include "ir/op.h"

typedef struct comparison {
  tl_diag *diag;
  const tl_module *low;
  const tl_module *high;
} comparison;

static tl_status differ(const comparison *c, const char *kind, uint32_t index, tl_sv low,
                        tl_sv high) {
  return tl_fail_code(c->diag, TL_INVALID_MODEL, "E-ACC-STATE", TL_AT_FILE(c->low->path),
                      "%s %u is %.*s in the low variant and %.*s in the high one\v"
                      "training passes its states from one variant to the other, so options and "
                      "lists must not change inputs, outputs or their dtypes",
                      kind, index, TL_SV_ARG(tl_sv_shown(low)), TL_SV_ARG(tl_sv_shown(high)));
}

/* Describes a value as "name: type". */
static void add_value(const tl_module *m, tl_value_id v, tl_buf *out) {
  tl_buf_add_quoted(out, tl_value_name(m, v));
  tl_buf_add_z(out, ": ");
  tl_type_print(m, tl_value_get(m, v)->type, out);
}

static void add_state(const tl_module *m, tl_value_id id, tl_buf *out) {
  const tl_state *s = &m->states.at[id];
  add_value(m, s->input, out);
  tl_buf_add_z(out, " -> ");
  add_value(m, s->output, out);
}

static void add_node(const tl_module *m, tl_value_id id, tl_buf *out) {
  tl_buf_add_sv(out, tl_op_name(m, tl_node_get(m, id)->op));
  tl_buf_add_char(out, ' ');
  tl_buf_add_quoted(out, tl_sym(m, tl_node_get(m, id)->name));
}

typedef void (*describe_fn)(const tl_module *m, uint32_t id, tl_buf *out);

/* Compares two lists by the descriptions of their elements, so that a difference can be printed. */
static tl_status same_list(const comparison *c, const char *kind, describe_fn describe,
                           const tl_u32_vec *low, const tl_u32_vec *high) {
  tl_buf a;
  tl_buf b;
  tl_status status = TL_OK;
  tl_buf_init(&a);
  tl_buf_init(&b);
  for (uint32_t i = 0; status == TL_OK && (i < low->n || i < high->n); i++) {
    tl_buf_clear(&a);
    tl_buf_clear(&b);
    if (i < low->n)
      describe(c->low, low->at[i], &a);
    if (i < high->n)
      describe(c->high, high->at[i], &b);
    if (a.failed || b.failed)
      status = tl_fail_memory(c->diag, TL_AT_FILE(c->low->path));
    else if (!tl_sv_eq(tl_buf_view(&a), tl_buf_view(&b)))
      status = differ(c, kind, i, i < low->n ? tl_buf_view(&a) : TL_SV("missing"),
                      i < high->n ? tl_buf_view(&b) : TL_SV("missing"));
  }
  tl_buf_release(&a);
  tl_buf_release(&b);
  return status;
}

static bool list_outputs(const tl_module *m, tl_u32_vec *out) {
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 0; i < tl_graph_n_outputs(m, g); i++)
    if (!tl_u32_vec_push(out, tl_graph_output(m, g, i)))
      return false;
  return true;
}

static bool list_states(const tl_module *m, tl_u32_vec *out) {
  for (uint32_t i = 0; i < m->states.n; i++)
    if (!tl_u32_vec_push(out, i))
      return false;
  return true;
}

static bool list_effects(const tl_module *m, tl_u32_vec *out) {
  TL_FOR_NODES(m, tl_module_main(m), n)
    if (tl_op_has_trait(tl_node_get(m, n)->op, TL_TRAIT_EFFECT) && !tl_u32_vec_push(out, n))
      return false;
  return true;
}

/* Lists both and compares. */
static tl_status same(const comparison *c, const char *kind,
                      bool (*list)(const tl_module *, tl_u32_vec *), describe_fn describe) {
  tl_u32_vec low = {0};
  tl_u32_vec high = {0};
  tl_status status = list(c->low, &low) && list(c->high, &high)
                         ? same_list(c, kind, describe, &low, &high)
                         : tl_fail_memory(c->diag, TL_AT_FILE(c->low->path));
  tl_u32_vec_release(&low);
  tl_u32_vec_release(&high);
  return status;
}

tl_status tl_variants_same_interface(tl_diag *d, const tl_module *low, const tl_module *high) {
  comparison c = {d, low, high};
  TL_TRY(same_list(&c, "input", add_value, &tl_module_main(low)->inputs,
                   &tl_module_main(high)->inputs));
  TL_TRY(same(&c, "output", list_outputs, add_value));
  TL_TRY(same(&c, "state", list_states, add_state));
  return same(&c, "node with effects", list_effects, add_node);
}

/* ---- the observed tensor --------------------------------------------------------------------- */

/* Returns the input or output of that name; TL_NO_VALUE if there is none, and then *nearest is the
 * closest existing name, if one is close. The allowed edit distance grows with the length of the
 * name up to 3. */
static tl_value_id find_value(const tl_module *m, tl_sv name, tl_sv *nearest) {
  const tl_graph *g = tl_module_main(m);
  uint32_t n_outputs = tl_graph_n_outputs(m, g);
  size_t best = name.n < 6 ? name.n / 2 + 1 : 4;
  *nearest = (tl_sv){0};
  for (uint32_t i = 0; i < g->inputs.n + n_outputs; i++) {
    tl_value_id v = i < n_outputs ? tl_graph_output(m, g, i) : g->inputs.at[i - n_outputs];
    tl_sv other = tl_value_name(m, v);
    if (tl_sv_eq(other, name))
      return v;
    size_t distance = tl_edit_distance(name, other, best);
    if (distance < best) {
      best = distance;
      *nearest = other;
    }
  }
  return TL_NO_VALUE;
}

/* Returns true for a tensor of one element. An input of a loop has one element per step along its
 * first axis; the first one counts, as the switch looks before the loop runs. */
static bool is_one_number(const tl_module *m, tl_value_id v, const tl_accelerate *a) {
  const tl_type *t = tl_type_get(m, tl_value_get(m, v)->type);
  int64_t k = a->iterations_per_loop;
  bool lined_up = k > 1 && tl_value_get(m, v)->kind == TL_VALUE_INPUT && t->rank > 0 &&
                  tl_dim_is_static(t->dims[0]) && t->dims[0] == k;
  for (int i = lined_up; i < t->rank; i++)
    if (tl_dim_is_static(t->dims[i]) && t->dims[i] != 1)
      return false;
  return true;
}

/* A dim of unknown size may be 1, so it does not count against the tensor. */
tl_status tl_variants_observable(tl_diag *d, tl_location where, const tl_module *m,
                                 const tl_accelerate *a) {
  tl_sv nearest;
  tl_value_id v = find_value(m, tl_sv_from(a->observe), &nearest);
  if (v == TL_NO_VALUE && nearest.n)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-ACC-HOOK", where,
                        "'%s' is neither an input nor an output of the model\vdid you mean '%.*s'?",
                        a->observe, TL_SV_ARG(nearest));
  if (v == TL_NO_VALUE)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-ACC-HOOK", where,
                        "'%s' is neither an input nor an output of the model\v--out-nodes makes an "
                        "inner tensor an output",
                        a->observe);
  bool step = a->trigger == TL_ACCELERATE_STEP;
  const tl_type *t = tl_type_get(m, tl_value_get(m, v)->type);
  tl_dtype dtype = t->kind == TL_KIND_TENSOR ? (tl_dtype)t->dtype : TL_DTYPE_NONE;
  bool fits = step ? tl_dtype_is_integer(dtype) : tl_dtype_is_float(dtype);
  if (fits && is_one_number(m, v, a))
    return TL_OK;
  tl_buf text;
  tl_buf_init(&text);
  tl_type_print(m, tl_value_get(m, v)->type, &text);
  tl_status status = tl_fail_code(d, TL_INVALID_ARGUMENT, "E-ACC-HOOK", where,
                                  "'%s' is %.*s, not one %s", a->observe,
                                  TL_SV_ARG(tl_buf_view(&text)), step ? "integer" : "float");
  tl_buf_release(&text);
  return status;
}
