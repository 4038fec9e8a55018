/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the inputs of a run, from --input and random values. */
#include "tools/run/inputs.h"

#include <ctype.h>

#include "frontend/npy/npz.h"
#include "frontend/onnx/data.h"
#include "ir/graph.h"
#include "ir/infer/infer.h"
#include "tools/run/data_folder.h"
#include "lib/values/elements.h"
#include "tools/run/random_values.h"
#include "tools/run/stacked.h"
#include "tools/run/value_text.h"

/* Edit distance from which another name is no longer a likely typo. */
enum { GOOD_GUESS = 3 };

static tl_location at_input(tl_evaluation *e) {
  return tl_at_option(&e->cli->settings, TL_OPTION_INPUT);
}

tl_status tl_value_read(tl_evaluation *e, const char *path, tl_type_kind kind, tl_host **out,
                        tl_sv *name) {
  if (name)
    *name = (tl_sv){"", 0};
  if (tl_sv_ends_with(tl_sv_from(path), ".npy"))
    return tl_npy_load(e->store, path, &e->heap, out);
  return tl_onnx_load_value(e->store, path, kind == TL_KIND_UNKNOWN ? TL_KIND_TENSOR : kind,
                            &e->heap, out, name);
}

/* ---- does a value fit? ---------------------------------------------------------------------- */

/* Returns true if the value has the static dims of the type; other dims may have any size. */
static bool same_dims(const tl_type *t, const tl_host *v) {
  if (t->rank < 0)
    return true;
  if (t->rank != v->rank)
    return false;
  for (int i = 0; i < t->rank; i++)
    if (tl_dim_is_static(t->dims[i]) && t->dims[i] != v->dims[i])
      return false;
  return true;
}

/* Returns true if a value has the type. dims: sizes must fit, too. The depth of the recursion is
 * that of the type, which the importer bounds. */
static bool has_type(const tl_module *m, tl_type_id id, const tl_host *v, bool dims) {
  const tl_type *t = tl_type_get(m, id);
  if (v->kind == TL_HOST_NONE)
    return t->kind == TL_KIND_OPTIONAL;
  if (t->kind == TL_KIND_OPTIONAL)
    return has_type(m, t->element, v, dims);
  if (v->kind == TL_HOST_TENSOR)
    return t->kind == TL_KIND_TENSOR && t->dtype == v->dtype && (!dims || same_dims(t, v));
  bool same = t->kind == TL_KIND_SEQUENCE;
  for (uint64_t i = 0; same && i < v->n; i++)
    same = has_type(m, t->element, tl_host_item(v, i), dims);
  return same;
}

/* Reports a value that does not have the type of its input. */
static tl_status check_fits(tl_evaluation *e, const tl_module *m, tl_value_id input,
                            const tl_host *v, bool dims) {
  if (has_type(m, tl_value_type(m, input), v, dims))
    return TL_OK;
  tl_buf has, wants;
  tl_buf_init(&has);
  tl_buf_init(&wants);
  tl_add_type(&has, v);
  tl_type_print(m, tl_value_type(m, input), &wants);
  tl_status status = tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(m->path),
                             "input '%.*s' is %s, the value given is %s",
                             TL_SV_ARG(tl_value_name(m, input)), wants.p ? wants.p : "",
                             has.p ? has.p : "");
  tl_buf_release(&has);
  tl_buf_release(&wants);
  return status;
}

/* ---- --input -------------------------------------------------------------------------------- */

static tl_value_id input_named(const tl_module *m, tl_sv name) {
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 0; i < g->inputs.n; i++)
    if (tl_sv_eq(tl_value_name(m, g->inputs.at[i]), name))
      return g->inputs.at[i];
  return TL_NO_VALUE;
}

/* Splits "NAME=SOURCE" at the first '=' behind the name of an input: names and paths may contain
 * '='. */
static tl_value_id split_input(const tl_module *m, const char *text, const char **source) {
  for (const char *p = strchr(text, '='); p; p = strchr(p + 1, '=')) {
    tl_value_id v = input_named(m, (tl_sv){text, (size_t)(p - text)});
    if (v) {
      *source = p + 1;
      return v;
    }
  }
  return TL_NO_VALUE;
}

/* Reports an --input that names neither an input nor a folder. */
static tl_status unknown_input(tl_evaluation *e, const tl_module *m, const char *text) {
  const tl_graph *g = tl_module_main(m);
  const char *equals = strchr(text, '=');
  if (!equals)
    return tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, at_input(e),
                   "'%s' is neither NAME=SOURCE nor a folder nor an .npz file", text);
  tl_sv name = {text, (size_t)(equals - text)}, nearest = {"", 0};
  const tl_options *o = &e->cli->settings.options;
  for (uint32_t i = 0; i < o->n_frozen; i++)
    if (tl_sv_eq(o->frozen[i].name, name))
      return tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, at_input(e),
                     "--freeze makes input '%.*s' a constant\vgive one of the options",
                     TL_SV_ARG(name));
  size_t best = GOOD_GUESS;
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    tl_sv other = tl_value_name(m, g->inputs.at[i]);
    size_t distance = tl_edit_distance(other, name, GOOD_GUESS);
    if (distance < best) {
      best = distance;
      nearest = other;
    }
  }
  if (nearest.n)
    return tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, at_input(e),
                   "the model has no input '%.*s'\vdid you mean '%.*s'?", TL_SV_ARG(name),
                   TL_SV_ARG(nearest));
  return tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, at_input(e),
                 "the model has no input '%.*s'\v'tailor info' lists the inputs", TL_SV_ARG(name));
}

/* Returns true for "random" or "random:SEED". *bad: the seed is no number. */
static bool is_random(const tl_evaluation *e, const char *source, uint64_t *seed, bool *bad) {
  *seed = e->options.seed;
  *bad = false;
  if (strcmp(source, "random") == 0)
    return true;
  if (strncmp(source, "random:", 7) != 0)
    return false;
  *bad = !tl_parse_u64(tl_sv_from(source + 7), seed);
  return true;
}

/* Reads or makes the value of one input, which replaces an earlier one. */
static tl_status take_source(tl_evaluation *e, const tl_module *m, tl_value_id input,
                             const char *source, bool *assumed, tl_host **slot) {
  uint64_t seed;
  bool bad;
  tl_host *v = NULL;
  tl_type_kind kind = (tl_type_kind)tl_type_get(m, tl_value_type(m, input))->kind;
  if (is_random(e, source, &seed, &bad)) {
    if (bad)
      return tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, at_input(e), "'%s' has no seed", source);
    TL_TRY(tl_random_value(e, m, input, seed, &v, assumed));
  } else {
    TL_TRY(tl_value_read(e, source, kind, &v, NULL));
  }
  tl_host_release(*slot);
  *slot = v;
  return TL_OK;
}

/* Takes the values of a folder; they replace earlier ones. */
static tl_status take_folder(tl_evaluation *e, const tl_module *m, const char *path,
                             tl_host_vec *out) {
  tl_host_vec values = {0};
  tl_status status = tl_folder_inputs(e, path, m, &values);
  for (uint32_t i = 0; status == TL_OK && i < values.n; i++) {
    if (!values.at[i])
      continue;
    tl_host_release(out->at[i]);
    out->at[i] = tl_host_retain(values.at[i]);
  }
  tl_values_release(&values);
  return status;
}

/* Who takes arrays of an archive. */
typedef struct archive {
  tl_evaluation *e;
  const tl_module *m;
  const char *path;
  tl_host_vec *out;
} archive;

/* Takes an array for the input of its name. */
static tl_status take_array(void *user, tl_sv name, tl_host *value) {
  archive *a = user;
  tl_value_id v = input_named(a->m, name);
  if (!v) {
    tl_host_release(value);
    return tl_fail(&a->e->cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(a->path),
                   "the model has no input '%.*s'\v'tailor info' lists the inputs; arrays of an "
                   "archive go by their names",
                   TL_SV_ARG(tl_sv_shown(name)));
  }
  tl_host **slot = &a->out->at[tl_value_get(a->m, v)->index];
  tl_host_release(*slot);
  *slot = value;
  return TL_OK;
}

/* Applies all --input in order, so that a later one replaces an earlier one. */
static tl_status take_options(tl_evaluation *e, const tl_module *m, tl_host_vec *out,
                              bool *assumed) {
  for (uint32_t i = 0; i < e->cli->inputs.n; i++) {
    const char *text = e->cli->inputs.at[i], *source;
    tl_value_id v = split_input(m, text, &source);
    if (v)
      TL_TRY(take_source(e, m, v, source, assumed, &out->at[tl_value_get(m, v)->index]));
    else if (tl_is_folder(text))
      TL_TRY(take_folder(e, m, text, out));
    else if (tl_sv_ends_with(tl_sv_from(text), ".npz"))
      TL_TRY(tl_npz_load(e->store, text, &e->heap, take_array, &(archive){e, m, text, out}));
    else
      return unknown_input(e, m, text);
  }
  return TL_OK;
}

/* Returns true if the model does not declare the type of an input. */
static bool lacks_type(const tl_module *m, tl_value_id input) {
  const tl_type *t = tl_type_get(m, tl_value_type(m, input));
  return t->kind == TL_KIND_UNKNOWN || (t->kind == TL_KIND_TENSOR && t->dtype == TL_DTYPE_NONE);
}

tl_status tl_inputs_check(tl_evaluation *e, tl_module *m, const tl_host_vec *values, bool dims) {
  const tl_graph *g = tl_module_main(m);
  bool learned = false;
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    tl_host *v = values->at[i];
    if (v && v->kind == TL_HOST_TENSOR && lacks_type(m, g->inputs.at[i])) {
      tl_type_id type = tl_type_tensor(m, (tl_dtype)v->dtype, v->rank, v->dims);
      if (!type)
        return tl_fail_memory(&e->cli->diag, TL_NOWHERE);
      tl_value_set_type(m, g->inputs.at[i], type);
      learned = true;
    }
    if (v)
      TL_TRY(check_fits(e, m, g->inputs.at[i], v, dims));
  }
  return learned ? tl_infer_module(m) : TL_OK;
}

/* Makes random values for inputs that have neither a value nor a default. */
static tl_status make_rest(tl_evaluation *e, const tl_module *m, tl_host_vec *out, uint32_t *made,
                           bool *assumed) {
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    tl_value_id v = g->inputs.at[i];
    if (out->at[i] || tl_value_get(m, v)->tensor != TL_NO_TENSOR)
      continue;
    TL_TRY(tl_random_value(e, m, v, e->options.seed, &out->at[i], assumed));
    ++*made;
  }
  return TL_OK;
}

/* Pushes one NULL for each graph input. */
static tl_status make_room(tl_evaluation *e, const tl_module *m, tl_host_vec *out) {
  for (uint32_t i = 0; i < tl_module_main(m)->inputs.n; i++)
    if (!tl_host_vec_push(out, NULL))
      return tl_fail_memory(&e->cli->diag, TL_NOWHERE);
  return TL_OK;
}

tl_status tl_inputs_settle(tl_evaluation *e, tl_module *m, tl_host_vec *out, tl_buf *note) {
  uint32_t made = 0;
  bool assumed = false;
  TL_TRY(tl_check_dims(e, m));
  if (!out->n)
    TL_TRY(make_room(e, m, out));
  TL_TRY(take_options(e, m, out, &assumed));
  TL_TRY(make_rest(e, m, out, &made, &assumed));
  TL_TRY(tl_inputs_check(e, m, out, true));
  if (made)
    tl_buf_printf(note, "%u of %u inputs are random (seed %llu)", made, out->n,
                  (unsigned long long)e->options.seed);
  if (assumed && e->assumed_first > 1)
    tl_buf_printf(note, "%sdims without a size are %lld in front, else %lld (--dim)",
                  note->n ? "; " : "", (long long)e->assumed_first, (long long)e->assumed_other);
  else if (assumed)
    tl_buf_printf(note, "%sdims without a size are 1 (--dim)", note->n ? "; " : "");
  return TL_OK;
}

/* ---- the second model ----------------------------------------------------------------------- */

/* Converts elements to another numeric type; integers to integers exactly. */
static void convert(const tl_host *from, tl_host *to) {
  bool is_float = tl_dtype_is_float((tl_dtype)to->dtype);
  for (uint64_t i = 0; i < from->n; i++) {
    if (is_float)
      tl_put_float(to, i, tl_host_at(from, i));
    else
      tl_put_int(to, i, tl_host_int_at(from, i));
  }
}

static bool is_real(tl_dtype d) {
  return tl_dtype_has_numbers(d) &&
         (tl_dtype_is_float(d) || tl_dtype_is_integer(d) || d == TL_DTYPE_BOOL);
}

/* Stacks a sequence for an input that takes its elements as rows. */
static tl_status stack(tl_evaluation *e, const tl_module *to, tl_value_id input, const tl_host *v,
                       tl_host **out) {
  *out = tl_stack_values(e, v);
  return *out ? TL_OK
              : tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(to->path),
                        "input '%.*s' is one tensor here: the elements of the sequence that was "
                        "given cannot be stacked\vthey must be at least one, of one shape",
                        TL_SV_ARG(tl_value_name(to, input)));
}

/* Returns a value for an input of another model, converted if the dtypes differ. Values are not
 * changed once made, so a shared one may lose its const. */
static tl_status adapt(tl_evaluation *e, const tl_module *to, tl_value_id input, const tl_host *v,
                       tl_host **out) {
  tl_dtype wants = tl_type_dtype(to, tl_value_type(to, input));
  if (v->kind == TL_HOST_SEQUENCE && wants != TL_DTYPE_NONE)
    return stack(e, to, input, v, out);
  bool cast = v->kind == TL_HOST_TENSOR && wants != TL_DTYPE_NONE && v->dtype != wants &&
              is_real(wants) && is_real((tl_dtype)v->dtype);
  *out = cast ? tl_zeros(&e->heap, wants, v->rank, v->dims)
              : tl_host_retain((tl_host *)(uintptr_t)v);
  if (!*out)
    return tl_fail(&e->cli->diag, TL_LIMIT, TL_AT_FILE(to->path),
                   "input '%.*s' takes more than may be used\v"
                   "raise --memory-limit, or --max-tensor, which bounds one tensor",
                   TL_SV_ARG(tl_value_name(to, input)));
  if (cast)
    convert(v, *out);
  return TL_OK;
}

/* Returns true if `name` is `of` as an AIR file spells it: with _ for what GE does not allow. */
static bool is_ge_spelling(tl_sv name, tl_sv of) {
  if (name.n != of.n)
    return false;
  for (size_t i = 0; i < of.n; i++) {
    bool plain = isalnum((unsigned char)of.p[i]) || (of.p[i] && strchr("_./-", of.p[i]));
    if (name.p[i] != (plain ? of.p[i] : '_'))
      return false;
  }
  return true;
}

/* Returns the only input of m that an AIR file spells so, or TL_NO_VALUE. */
static tl_value_id input_spelled(const tl_module *m, tl_sv name) {
  const tl_graph *g = tl_module_main(m);
  tl_value_id found = TL_NO_VALUE;
  for (uint32_t i = 0; i < g->inputs.n; i++)
    if (is_ge_spelling(name, tl_value_name(m, g->inputs.at[i]))) {
      if (found)
        return TL_NO_VALUE;
      found = g->inputs.at[i];
    }
  return found;
}

/* Returns the input of the first model that stands for input i of the second, by name, else by
 * position if both have as many inputs, else by its spelling in AIR; UINT32_MAX: none. */
static uint32_t counterpart(const tl_module *from, const tl_module *to, uint32_t i) {
  const tl_graph *a = tl_module_main(from), *b = tl_module_main(to);
  tl_value_id v = input_named(from, tl_value_name(to, b->inputs.at[i]));
  if (!v && a->inputs.n == b->inputs.n)
    return i;
  if (!v)
    v = input_spelled(from, tl_value_name(to, b->inputs.at[i]));
  return v ? tl_value_get(from, v)->index : UINT32_MAX;
}

tl_status tl_inputs_adapt(tl_evaluation *e, const tl_module *from, const tl_host_vec *values,
                          tl_module *to, tl_host_vec *out) {
  const tl_graph *g = tl_module_main(to);
  TL_TRY(make_room(e, to, out));
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    tl_value_id v = g->inputs.at[i];
    uint32_t at = counterpart(from, to, i);
    if (at != UINT32_MAX && values->at[at])
      TL_TRY(adapt(e, to, v, values->at[at], &out->at[i]));
    else if (tl_value_get(to, v)->tensor == TL_NO_TENSOR)
      return tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(to->path),
                     "input '%.*s' has no counterpart in '%s'\v"
                     "the two models must have the same inputs",
                     TL_SV_ARG(tl_value_name(to, v)), from->path);
  }
  return tl_inputs_check(e, to, out, true);
}
