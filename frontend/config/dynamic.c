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
static tl_status check_shapes(tl_diag *d, tl_location where, tl_dynamic_kind kind,
                              size_t n_dynamic) {
  if (n_dynamic)
    return TL_OK;
  return tl_fail_code(d, TL_INVALID_ARGUMENT,
                      kind == TL_DYNAMIC_IMAGE   ? "E10019"
                      : kind == TL_DYNAMIC_BATCH ? "E10031"
                                                 : "E10046",
                      where, "--input-shape has no dim of -1 that the profiles could fill");
}

tl_status tl_check_dynamic(tl_diag *d, tl_location where, tl_dynamic_kind kind, tl_sv text,
                           const tl_options *options) {
  size_t n_dynamic = count_dynamic_dims(options);
  /* A batch has one value, an image has height and width, and dims have one value for each -1. */
  size_t expected = kind == TL_DYNAMIC_BATCH ? 1 : kind == TL_DYNAMIC_IMAGE ? 2 : n_dynamic;
  size_t n = 0;
  TL_TRY(check_shapes(d, where, kind, n_dynamic));
  for (tl_sv rest = text; rest.p;) {
    tl_sv profile = tl_sv_trim(tl_sv_split(&rest, of_kind[kind].between));
    if (profile.n == 0 && (!rest.p || rest.n == 0))
      continue; /* a trailing separator */
    TL_TRY(check_profile(d, where, kind, text, profile, expected));
    n++;
  }
  if (n < MIN_PROFILES || n > MAX_PROFILES)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, of_kind[kind].bad_count, where,
                        "number of profiles is %zu, %d to %d are possible", n, MIN_PROFILES,
                        MAX_PROFILES);
  return TL_OK;
}
