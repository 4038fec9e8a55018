/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the comparison of outputs. */
#include "tools/verify/outputs.h"

#include <math.h>

#include "support/hash.h"
#include "support/map.h"
#include "tools/run/stacked.h"

/* Reads a number that is not negative; a similarity is at most 1. */
static tl_status read_number(tl_cli *cli, tl_option_id id, double *out) {
  const char *text = tl_cli_get(cli, id);
  bool is_cosine = id == TL_OPTION_COSINE;
  if (tl_parse_f64(tl_sv_from(text), out) && *out >= 0 && (!is_cosine || *out <= 1))
    return TL_OK;
  return tl_fail(
      &cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, id),
      is_cosine ? "'%s' is not a number from 0 to 1" : "'%s' is not a number of at least 0", text);
}

tl_status tl_verify_tolerance(tl_cli *cli, tl_tolerance *t) {
  bool has_cosine = tl_cli_has(cli, TL_OPTION_COSINE), has_top = tl_cli_has(cli, TL_OPTION_TOP_K);
  uint64_t top = 0;
  bool has_bounds = tl_cli_has(cli, TL_OPTION_RTOL) || tl_cli_has(cli, TL_OPTION_ATOL);
  *t = (tl_tolerance){.cosine = (double)NAN};
  TL_TRY(read_number(cli, TL_OPTION_RTOL, &t->rtol));
  TL_TRY(read_number(cli, TL_OPTION_ATOL, &t->atol));
  if (has_cosine)
    TL_TRY(read_number(cli, TL_OPTION_COSINE, &t->cosine));
  if (has_top && !tl_parse_u64(tl_sv_from(tl_cli_get(cli, TL_OPTION_TOP_K)), &top))
    return TL_INTERNAL; /* the option table bounds it */
  t->top = (uint32_t)top;
  t->elements = has_bounds || (!has_cosine && !has_top);
  t->by_type = !tl_cli_has(cli, TL_OPTION_RTOL);
  t->by_depth = !has_bounds && !has_cosine && !has_top;
  return TL_OK;
}

tl_status tl_verify_output(tl_cli *cli, tl_verify_report *r, tl_output_row row,
                           const tl_tolerance *t, bool cast) {
  tl_tolerance own = tl_tolerance_for(t, row.grain);
  tl_compare(row.got, row.want, &own, cast, &row.d);
  return tl_output_rows_push(&r->outputs, row) ? TL_OK : tl_fail_memory(&cli->diag, TL_NOWHERE);
}

tl_sv tl_output_name(const tl_module *m, uint32_t i) {
  return tl_value_name(m, tl_graph_output(m, tl_module_main(m), i));
}

/* The outputs of a model by name. */
typedef struct output_names {
  tl_map by_hash; /* hash of a name: the first output of that hash */
  bool hidden;    /* an output has the hash of another one, so names are compared one by one */
  bool sequences; /* some values are sequences */
} output_names;

static uint64_t name_key(tl_sv name) { return tl_hash_bytes(name.p, name.n, 0); }

static bool output_names_make(const tl_module *a, const tl_host_vec *values, output_names *out) {
  uint32_t first;
  *out = (output_names){0};
  for (uint32_t i = 0; i < values->n; i++) {
    const tl_host *v = values->at[i];
    out->sequences = out->sequences || (v && v->kind == TL_HOST_SEQUENCE);
  }
  for (uint32_t k = 0; k < tl_graph_n_outputs(a, tl_module_main(a)); k++) {
    tl_sv name = tl_output_name(a, k);
    if (!tl_map_find(&out->by_hash, name_key(name), &first)) {
      if (!tl_map_set(&out->by_hash, name_key(name), k))
        return false;
    } else {
      out->hidden = out->hidden || !tl_sv_eq(tl_output_name(a, first), name);
    }
  }
  return true;
}

/* Returns the first output of a with the name; UINT32_MAX: none. */
static uint32_t output_named(const tl_module *a, const output_names *names, tl_sv name) {
  uint32_t k, n = tl_graph_n_outputs(a, tl_module_main(a));
  if (tl_map_find(&names->by_hash, name_key(name), &k) && tl_sv_eq(tl_output_name(a, k), name))
    return k;
  for (k = 0; names->hidden && k < n; k++)
    if (tl_sv_eq(tl_output_name(a, k), name))
      return k;
  return UINT32_MAX;
}

/* Returns the output of a that stands for output i of b, by name, else by position if both have as
 * many outputs; UINT32_MAX: none. */
static uint32_t output_counterpart(const tl_module *a, const tl_module *b, uint32_t i,
                                   const output_names *names) {
  uint32_t k = output_named(a, names, tl_output_name(b, i));
  uint32_t n = tl_graph_n_outputs(a, tl_module_main(a));
  return k != UINT32_MAX ? k : n == tl_graph_n_outputs(b, tl_module_main(b)) ? i : UINT32_MAX;
}

/* An output of the first model, or an element of one that is a sequence. */
typedef struct counterpart {
  uint32_t output; /* UINT32_MAX: none */
  tl_host *value;  /* borrowed */
} counterpart;

/* Returns true if `name` is NAME_i for an output NAME, and gives i. */
static bool is_element(tl_sv name, tl_sv of, uint64_t *i) {
  return name.n > of.n + 1 && memcmp(name.p, of.p, of.n) == 0 && name.p[of.n] == '_' &&
         tl_parse_u64((tl_sv){name.p + of.n + 1, name.n - of.n - 1}, i);
}

/* Finds what output i of b stands for: an output, or the element of a sequence that the NPU form
 * gives by itself. */
static counterpart find_counterpart(const tl_module *a, const tl_module *b, uint32_t i,
                                    const tl_host_vec *want, const output_names *names) {
  uint32_t n = tl_graph_n_outputs(a, tl_module_main(a));
  tl_sv name = tl_output_name(b, i);
  uint64_t at;
  for (uint32_t k = 0; names->sequences && k < n && k < want->n; k++)
    if (want->at[k] && want->at[k]->kind == TL_HOST_SEQUENCE &&
        is_element(name, tl_output_name(a, k), &at) && at < want->at[k]->n)
      return (counterpart){k, tl_host_item(want->at[k], at)};
  uint32_t k = output_counterpart(a, b, i, names);
  return (counterpart){k, k == UINT32_MAX ? NULL : want->at[k]};
}

/* Stacks the value of a sequence where the other model gives a tensor. It stays in `kept`. */
static tl_status stack_like(tl_evaluation *e, const tl_host *got, tl_host_vec *kept,
                            counterpart *c) {
  bool stacked = c->value && got && c->value->kind == TL_HOST_SEQUENCE &&
                 got->kind == TL_HOST_TENSOR;
  tl_host *made = stacked ? tl_stack_values(e, c->value) : NULL;
  if (!made)
    return TL_OK;
  if (!tl_host_vec_push(kept, made)) {
    tl_host_release(made);
    return tl_fail_memory(&e->cli->diag, TL_NOWHERE);
  }
  c->value = made;
  return TL_OK;
}

/* Two models and the values of their outputs. */
typedef struct compared {
  const tl_module *a, *b;
  tl_host_vec *values;
  output_names names; /* of a */
} compared;

static tl_status verify_outputs(tl_evaluation *e, const compared *models, const tl_tolerance *t,
                                tl_verify_report *r) {
  const tl_module *a = models->a, *b = models->b;
  tl_host_vec *values = models->values;
  tl_host_vec *want = &values[0];
  const tl_host_vec *got = &values[1];
  for (uint32_t i = 0; i < got->n; i++) {
    counterpart c = find_counterpart(a, b, i, want, &models->names);
    uint32_t k = c.output;
    if ((k == UINT32_MAX && r->skips_new) || !got->at[i]) /* new, or not recorded */
      continue;
    if (k == UINT32_MAX)
      return tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(b->path),
                     "output '%.*s' has no counterpart in '%s'\v"
                     "outputs are paired by name, or by position when there are as many",
                     TL_SV_ARG(tl_output_name(b, i)), a->path);
    TL_TRY(stack_like(e, got->at[i], want, &c));
    tl_grain of_a = tl_grain_of(&r->grains[0], tl_graph_output(a, tl_module_main(a), k));
    tl_grain of_b = tl_grain_of(&r->grains[1], tl_graph_output(b, tl_module_main(b), i));
    tl_output_row row = {.name = tl_output_name(b, i),
                         .got = got->at[i],
                         .want = c.value,
                         .grain = tl_grain_worse(of_a, of_b)};
    TL_TRY(tl_verify_output(e->cli, r, row, t, true));
  }
  return TL_OK;
}

tl_status tl_verify_outputs(tl_evaluation *e, const tl_module *a, const tl_module *b,
                            tl_host_vec values[2], const tl_tolerance *t, tl_verify_report *r) {
  compared models = {.a = a, .b = b, .values = values};
  tl_status status = output_names_make(a, &values[0], &models.names)
                         ? verify_outputs(e, &models, t, r)
                         : tl_fail_memory(&e->cli->diag, TL_NOWHERE);
  tl_map_release(&models.names.by_hash);
  return status;
}
