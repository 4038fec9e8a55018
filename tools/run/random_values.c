/* SPDX-License-Identifier: Apache-2.0 */
/* Makes random inputs and reads the sizes of their dims. */
#include "tools/run/random_values.h"

#include "lib/values/elements.h"
#include "lib/values/random.h"

/* Edit distance from which another name is no longer a likely typo. */
enum { GOOD_GUESS = 3 };

/* ---- dims ----------------------------------------------------------------------------------- */

static tl_status bad_dim(tl_evaluation *e, const char *text) {
  return tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&e->cli->settings, TL_OPTION_DIM),
                 "'%s' is not NAME=SIZE\vfor example --dim batch=4", text);
}

/* Splits "NAME=SIZE" at the last '='. */
static bool split_dim(const char *text, tl_sv *name, int64_t *size) {
  const char *equals = strrchr(text, '=');
  if (!equals || equals == text)
    return false;
  *name = tl_sv_trim((tl_sv){text, (size_t)(equals - text)});
  return tl_parse_i64(tl_sv_trim(tl_sv_from(equals + 1)), size) && *size >= 0;
}

/* Finds the size that the last --dim gives a symbol; false if there is none. */
static bool given_size(const tl_evaluation *e, tl_sv symbol, int64_t *size) {
  for (uint32_t i = e->cli->dims.n; i > 0; i--) {
    tl_sv name;
    int64_t v;
    if (split_dim(e->cli->dims.at[i - 1], &name, &v) && tl_sv_eq(name, symbol)) {
      *size = v;
      return true;
    }
  }
  return false;
}

/* Returns true if an input of the model has the symbol. *nearest: one that is spelled almost so. */
static bool has_symbol(const tl_module *m, tl_sv name, tl_sv *nearest) {
  const tl_graph *g = tl_module_main(m);
  size_t best = GOOD_GUESS;
  *nearest = (tl_sv){"", 0};
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    const tl_type *t = tl_type_get(m, tl_value_type(m, g->inputs.at[i]));
    for (int k = 0; t->kind == TL_KIND_TENSOR && k < t->rank; k++) {
      if (!tl_dim_is_symbol(t->dims[k]))
        continue;
      tl_sv symbol = tl_sym(m, tl_dim_symbol(t->dims[k]));
      size_t distance = tl_edit_distance(symbol, name, GOOD_GUESS);
      if (distance == 0)
        return true;
      if (distance < best) {
        best = distance;
        *nearest = symbol;
      }
    }
  }
  return false;
}

tl_status tl_check_dims(tl_evaluation *e, const tl_module *m) {
  for (uint32_t i = 0; i < e->cli->dims.n; i++) {
    tl_sv name, nearest;
    int64_t size;
    if (!split_dim(e->cli->dims.at[i], &name, &size))
      return bad_dim(e, e->cli->dims.at[i]);
    if (has_symbol(m, name, &nearest))
      continue;
    tl_location where = tl_at_option(&e->cli->settings, TL_OPTION_DIM);
    if (nearest.n)
      return tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, where,
                     "no input has a dim '%.*s'\vdid you mean '%.*s'?", TL_SV_ARG(name),
                     TL_SV_ARG(nearest));
    return tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, where,
                   "no input has a dim '%.*s'\v'tailor info' shows the inputs", TL_SV_ARG(name));
  }
  return TL_OK;
}

/* Returns true if the symbol is the first dim of some input. */
static bool comes_first(const tl_module *m, tl_dim d) {
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    const tl_type *t = tl_type_get(m, tl_value_type(m, g->inputs.at[i]));
    if (t->kind == TL_KIND_TENSOR && t->rank > 0 && t->dims[0] == d)
      return true;
  }
  return false;
}

/* Returns the size of dim i; an unknown one without --dim is 1, or what the command assumes. */
static int64_t choose_size(const tl_evaluation *e, const tl_module *m, tl_dim d, int i,
                           bool *assumed) {
  int64_t size = 1;
  if (tl_dim_is_static(d))
    return d;
  if (tl_dim_is_symbol(d) && given_size(e, tl_sym(m, tl_dim_symbol(d)), &size))
    return size;
  *assumed = true;
  if (!e->assumed_first)
    return 1;
  bool first = tl_dim_is_symbol(d) ? comes_first(m, d) : i == 0;
  return first ? e->assumed_first : e->assumed_other;
}

/* ---- elements ------------------------------------------------------------------------------- */

/* Reports an input for which no random value can be made. */
static tl_status needs_value(tl_evaluation *e, const tl_module *m, tl_value_id v,
                             const char *reason) {
  tl_sv name = tl_value_name(m, v);
  return tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(m->path),
                 "input '%.*s' needs a value: %s\v--input %.*s=FILE gives one", TL_SV_ARG(name),
                 reason, TL_SV_ARG(name));
}

/* Makes a tensor of the input's type, with zeros. */
static tl_status make_tensor(tl_evaluation *e, const tl_module *m, tl_value_id v, bool *assumed,
                             tl_host **out) {
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  int64_t dims[TL_MAX_RANK];
  if (t->kind != TL_KIND_TENSOR)
    return needs_value(e, m, v, "only tensors can be random");
  if (t->dtype == TL_DTYPE_NONE || t->dtype == TL_DTYPE_STRING)
    return needs_value(e, m, v, t->dtype ? "strings cannot be random" : "its type is not known");
  if (!tl_dtype_has_numbers((tl_dtype)t->dtype))
    return tl_fail(&e->cli->diag, TL_UNSUPPORTED, TL_AT_FILE(m->path),
                   "input '%.*s' is %s, whose numbers the evaluator does not know\v"
                   "hand the model to another runtime (tailor verify --runner)",
                   TL_SV_ARG(tl_value_name(m, v)), tl_dtype_get((tl_dtype)t->dtype)->name);
  if (t->rank < 0)
    return needs_value(e, m, v, "its rank is not known");
  for (int i = 0; i < t->rank; i++)
    dims[i] = choose_size(e, m, t->dims[i], i, assumed);
  *out = tl_zeros(&e->heap, (tl_dtype)t->dtype, t->rank, dims);
  if (*out)
    return TL_OK;
  return tl_fail(&e->cli->diag, TL_LIMIT, TL_AT_FILE(m->path),
                 "input '%.*s' takes more than may be used\v"
                 "raise --memory-limit, or --max-tensor, which bounds one tensor",
                 TL_SV_ARG(tl_value_name(m, v)));
}

tl_status tl_random_value(tl_evaluation *e, const tl_module *m, tl_value_id input, uint64_t seed,
                          tl_host **out, bool *assumed) {
  TL_TRY(make_tensor(e, m, input, assumed, out));
  tl_fill_random(*out, tl_value_name(m, input), seed);
  return TL_OK;
}
