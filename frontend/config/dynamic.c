/* SPDX-License-Identifier: Apache-2.0 */
/* Checks profiles of dynamic shapes: --dynamic-batch-size, --dynamic-image-size, --dynamic-dims.
 * The profiles are only recorded for the device compiler. They are held to its rules here, so that
 * a mistake shows now and not after a long compilation. */
#include "frontend/config/values.h"

enum { MIN_PROFILES = 2, MAX_PROFILES = 256 };

/* What differs between the three options: the separator and the codes of errors, which are those of
 * GE. */
typedef struct rules {
  char between;          /* separates profiles */
  const char *bad_value; /* GE codes */
  const char *bad_count;
} rules;

static const rules of_kind[] = {
    [TL_DYNAMIC_BATCH] = {',', "E10018", "E10035"},
    [TL_DYNAMIC_IMAGE] = {';', "E10020", "E10035"},
    [TL_DYNAMIC_DIMS] = {';', "E10038", "E10035"},
};

/* Returns the number of values in one profile, or 0 if one of them is not a positive integer. */
static size_t count_values(tl_sv profile) {
  size_t n = 0;
  for (tl_sv rest = profile; rest.p; n++) {
    int64_t v;
    if (!tl_parse_i64(tl_sv_trim(tl_sv_split(&rest, ',')), &v) || v <= 0)
      return 0;
  }
  return n;
}

/* Returns the number of -1 and ranges in all shapes of --input-shape. */
static size_t count_dynamic_dims(const tl_options *o) {
  size_t n = 0;
  for (uint32_t i = 0; i < o->n_input_shapes; i++) {
    for (int k = 0; k < o->input_shapes[i].rank; k++)
      n += !tl_dim_is_static(o->input_shapes[i].dims[k]);
  }
  return n;
}

/* Returns true if the same profile stands earlier in the text. profile: a view into text. */
static bool is_repeated(tl_sv text, tl_sv profile, char between) {
  for (tl_sv rest = {text.p, (size_t)(profile.p - text.p)}; rest.p && rest.n;) {
    if (tl_sv_eq(tl_sv_trim(tl_sv_split(&rest, between)), profile))
      return true;
  }
  return false;
}

/* Checks one profile: positive integers, as many as `expected`, and not given before. GE has a code
 * of its own for a wrong number of --dynamic-dims. */
static tl_status check_profile(tl_diag *d, tl_location where, tl_dynamic_kind kind, tl_sv text,
                               tl_sv profile, size_t expected) {
  const rules *r = &of_kind[kind];
  size_t n = count_values(profile);
  if (n == 0)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, r->bad_value, where,
                        "'%.*s' is not a list of positive integers\v%s", TL_SV_ARG(profile),
                        tl_value_hint(profile, "items are joined by ','"));
  if (n != expected)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, kind == TL_DYNAMIC_DIMS ? "E10045" : r->bad_value,
                        where, "profile '%.*s' has %zu value(s), %zu expected%s",
                        TL_SV_ARG(profile), n, expected,
                        kind == TL_DYNAMIC_DIMS ? ": one for each -1 of --input-shape" : "");
  if (is_repeated(text, profile, r->between))
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10039", where, "profile '%.*s' occurs twice",
                        TL_SV_ARG(profile));
  return TL_OK;
}

/* Refuses profiles if --input-shape has no dim for them to fill. */
/* The open dims of an input must be those that the option fills: the batch, height and width. */
static tl_status check_input(tl_diag *d, tl_location where, tl_dynamic_kind kind,
                             const tl_input_shape *s) {
  bool image = kind == TL_DYNAMIC_IMAGE;
  for (int k = 0; kind != TL_DYNAMIC_DIMS && k < s->rank; k++) {
    bool open = !tl_dim_is_static(s->dims[k]);
    if (open && (image ? s->rank != 4 || k < 2 : k != 0))
      return tl_fail_code(d, TL_INVALID_ARGUMENT, image ? "E10019" : "E10018", where,
                          "dim %d of input '%.*s' is -1 in --input-shape, but only %s may be\v"
                          "--dynamic-dims has a value for each -1, wherever it is",
                          k, TL_SV_ARG(s->name),
                          image ? "height and width, dims 2 and 3 of 4," : "dim 0, the batch,");
  }
  if (image && s->rank == 4 && tl_dim_is_static(s->dims[2]) != tl_dim_is_static(s->dims[3]))
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10019", where,
                        "height and width of input '%.*s' must both be -1 in --input-shape, or "
                        "neither",
                        TL_SV_ARG(s->name));
  return TL_OK;
}

static tl_status check_shapes(tl_diag *d, tl_location where, tl_dynamic_kind kind,
                              const tl_options *o) {
  for (uint32_t i = 0; i < o->n_input_shapes; i++)
    TL_TRY(check_input(d, where, kind, &o->input_shapes[i]));
  if (count_dynamic_dims(o))
    return TL_OK;
  return tl_fail_code(d, TL_INVALID_ARGUMENT,
                      kind == TL_DYNAMIC_IMAGE   ? "E10019"
                      : kind == TL_DYNAMIC_BATCH ? "E10031"
                                                 : "E10046",
                      where, "--input-shape has no dim of -1 that the profiles could fill");
}

/* Copies the input shapes, to be changed. NULL when memory is out. */
static tl_input_shape *copy_shapes(tl_arena *a, const tl_options *o) {
  tl_input_shape *shapes = tl_arena_calloc(a, o->n_input_shapes, sizeof *shapes);
  for (uint32_t i = 0; shapes && i < o->n_input_shapes; i++) {
    size_t n = (size_t)o->input_shapes[i].rank;
    tl_dim *dims = tl_arena_calloc(a, n, sizeof *dims);
    if (!dims)
      return NULL;
    if (n)
      memcpy(dims, o->input_shapes[i].dims, n * sizeof *dims);
    shapes[i] = (tl_input_shape){.name = o->input_shapes[i].name, .dims = dims, .rank = (int)n};
  }
  return shapes;
}

/* Fills open dims with the values of a profile: all inputs have the same batch, or the same height
 * and width; the values of --dynamic-dims are for one dim each. */
static tl_status make_profile(tl_arena *a, const tl_options *o, tl_dynamic_kind kind, tl_sv text,
                              tl_profile *out) {
  tl_input_shape *shapes = copy_shapes(a, o);
  if (!shapes)
    return TL_NO_MEMORY;
  tl_sv rest = text;
  for (uint32_t i = 0; i < o->n_input_shapes; i++) {
    tl_dim *dims = (tl_dim *)shapes[i].dims;
    if (kind != TL_DYNAMIC_DIMS)
      rest = text;
    for (int k = 0; k < shapes[i].rank; k++)
      if (!tl_dim_is_static(dims[k]) &&
          !tl_parse_i64(tl_sv_trim(tl_sv_split(&rest, ',')), &dims[k]))
        return TL_INTERNAL; /* the values were checked and counted */
  }
  *out = (tl_profile){.text = text, .shapes = shapes};
  return TL_OK;
}

tl_status tl_read_profiles(tl_diag *d, tl_arena *a, tl_location where, tl_dynamic_kind kind,
                           tl_sv text, tl_options *out) {
  size_t n_dynamic = count_dynamic_dims(out);
  size_t expected = kind == TL_DYNAMIC_BATCH ? 1 : kind == TL_DYNAMIC_IMAGE ? 2 : n_dynamic;
  uint32_t n = 0;
  TL_TRY(check_shapes(d, where, kind, out));
  tl_profile *profiles = tl_arena_calloc(a, MAX_PROFILES, sizeof *profiles);
  if (!profiles)
    return tl_fail_memory(d, where);
  for (tl_sv rest = text; rest.p;) {
    tl_sv profile = tl_sv_trim(tl_sv_split(&rest, of_kind[kind].between));
    if (profile.n == 0 && (!rest.p || rest.n == 0))
      continue; /* a trailing separator */
    TL_TRY(check_profile(d, where, kind, text, profile, expected));
    if (n < MAX_PROFILES && make_profile(a, out, kind, profile, &profiles[n]) != TL_OK)
      return tl_fail_memory(d, where);
    n++;
  }
  if (n < MIN_PROFILES || n > MAX_PROFILES)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, of_kind[kind].bad_count, where,
                        "number of profiles is %u, %d to %d are possible", n, MIN_PROFILES,
                        MAX_PROFILES);
  out->profiles = profiles;
  out->n_profiles = n;
  return TL_OK;
}

tl_status tl_read_corners(tl_diag *d, tl_arena *a, tl_options *out) {
  static const char *const names[2] = {"lowest sizes", "highest sizes"};
  tl_profile *profiles = tl_arena_calloc(a, 2, sizeof *profiles);
  if (!profiles)
    return tl_fail_memory(d, TL_NOWHERE);
  for (int end = 0; end < 2; end++) {
    tl_input_shape *shapes = copy_shapes(a, out);
    if (!shapes)
      return tl_fail_memory(d, TL_NOWHERE);
    for (uint32_t i = 0; i < out->n_input_shapes; i++) {
      const tl_dim *bounds = out->input_shapes[i].bounds;
      tl_dim *dims = (tl_dim *)shapes[i].dims;
      for (int k = 0; bounds && k < shapes[i].rank; k++)
        if (!tl_dim_is_static(dims[k]))
          dims[k] = bounds[2 * k + end] == 0 ? 1 : bounds[2 * k + end];
    }
    profiles[end] = (tl_profile){tl_sv_from(names[end]), shapes, true};
  }
  out->profiles = profiles;
  out->n_profiles = 2;
  return TL_OK;
}
