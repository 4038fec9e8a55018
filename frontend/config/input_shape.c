/* SPDX-License-Identifier: Apache-2.0 */
/* Reads --input-shape ("name:1,3,224,224;mask:") and lists of shapes. A name ends at the last
 * colon, so that names with colons work. */
#include "frontend/config/values.h"

const char *tl_value_hint(tl_sv text, const char *otherwise) {
  for (size_t i = 0; i < text.n; i++) {
    unsigned char c = (unsigned char)text.p[i];
    if (c == '$' || c == '{' || c == '<')
      return "this looks like a placeholder that was not replaced";
    /* U+FF00 to U+FF7F start with the bytes EF BC or EF BD. They hold the full-width forms of
     * ASCII, which an input method for Chinese types. */
    if (c == 0xef && i + 1 < text.n && ((unsigned char)text.p[i + 1] & 0xfe) == 0xbc)
      return "it contains a full-width character; ASCII ':' ',' ';' and digits are expected";
  }
  return otherwise;
}

/* Reads one dim: a size above 0, -1, or "A~B". B is -1 for no upper bound. The type of the IR has
 * no place for bounds, so a range becomes an unknown dim. */
static bool read_dim(tl_sv text, tl_dim *out, tl_dim *bounds) {
  int64_t low;
  int64_t high;
  tl_sv rest = text;
  tl_sv first = tl_sv_trim(tl_sv_split(&rest, '~'));
  if (!tl_parse_i64(first, &low))
    return false;
  if (!rest.p) {
    *out = low == -1 ? TL_DIM_UNKNOWN : low;
    return low == -1 || low > 0;
  }
  *out = TL_DIM_UNKNOWN;
  if (!tl_parse_i64(tl_sv_trim(rest), &high) || low < 0 || (high != -1 && high < low))
    return false;
  bounds[0] = low;
  bounds[1] = high == -1 ? TL_DIM_UNKNOWN : high;
  return true;
}

/* Removes one pair of brackets around a shape, which the older form has. */
static tl_sv strip_brackets(tl_sv s) {
  s = tl_sv_trim(s);
  if (s.n >= 2 && s.p[0] == '[' && s.p[s.n - 1] == ']')
    s = tl_sv_trim((tl_sv){s.p + 1, s.n - 2});
  return s;
}

static size_t count_char(tl_sv s, char c) {
  size_t n = 0;
  for (size_t i = 0; i < s.n; i++)
    n += s.p[i] == c;
  return n;
}

/* Reads the dims behind a name into the arena; an empty text is a scalar. */
static tl_status read_dims(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                           tl_input_shape *out, bool *ranged) {
  text = strip_brackets(text);
  if (text.n == 0)
    return TL_OK; /* a scalar */
  size_t n = count_char(text, ',') + 1;
  if (n > TL_MAX_RANK)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10002", where,
                        "input '%.*s' has %zu dims, at most %d are possible", TL_SV_ARG(out->name),
                        n, TL_MAX_RANK);
  tl_dim *dims = tl_arena_calloc(a, n, sizeof *dims);
  tl_dim *bounds = tl_arena_calloc(a, n, 2 * sizeof *bounds);
  if (!dims || !bounds)
    return tl_fail_memory(d, where);
  for (size_t i = 0; i < 2 * n; i++)
    bounds[i] = TL_DIM_UNKNOWN;
  for (tl_sv rest = text; rest.p;) {
    tl_sv item = tl_sv_trim(tl_sv_split(&rest, ','));
    tl_dim *of_dim = &bounds[2 * (size_t)out->rank];
    bool good = read_dim(item, &dims[out->rank++], of_dim);
    if (of_dim[0] != TL_DIM_UNKNOWN) {
      out->bounds = bounds;
      *ranged = true;
    }
    if (!good)
      return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10011", where,
                          "dim '%.*s' of input '%.*s' is not a positive integer, -1 or A~B\v%s",
                          TL_SV_ARG(item), TL_SV_ARG(out->name),
                          tl_value_hint(item, "write a size such as 224, or 1~8 for bounds"));
  }
  out->dims = dims;
  return TL_OK;
}

/* Reads one NAME:D,D,... of --input-shape. */
static tl_status read_entry(tl_diag *d, tl_arena *a, tl_location where, tl_sv entry,
                            tl_input_shape *out, bool *ranged) {
  const char *colon = memrchr(entry.p, ':', entry.n);
  tl_sv name = colon ? tl_sv_trim((tl_sv){entry.p, (size_t)(colon - entry.p)}) : (tl_sv){NULL, 0};
  if (name.n == 0)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10002", where,
                        "'%.*s' is not of the form NAME:D,D,...\v%s", TL_SV_ARG(entry),
                        tl_value_hint(entry, "several inputs are joined by ';'"));
  out->name = name;
  return read_dims(d, a, where, (tl_sv){colon + 1, (size_t)(entry.p + entry.n - colon - 1)}, out,
                   ranged);
}

/* Adds a name to the names seen so far. A name that is there already leaves their number as it
 * was. */
static tl_status take_name(tl_diag *d, tl_location where, tl_symtab *names, tl_sv name) {
  uint32_t before = names->n;
  if (tl_intern_view(names, name) == TL_NO_SYMBOL)
    return tl_fail_memory(d, where);
  if (names->n == before)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10002", where, "input '%.*s' is named twice",
                        TL_SV_ARG(name));
  return TL_OK;
}

tl_status tl_read_input_shapes(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                               tl_options *out, bool *ranged) {
  *ranged = false;
  tl_symtab names;
  /* The number of separators bounds the number of entries; empty entries leave the rest unused. */
  tl_input_shape *shapes = tl_arena_calloc(a, count_char(text, ';') + 1, sizeof *shapes);
  if (!shapes || tl_symtab_init(&names, a, NULL, 0) != TL_OK)
    return tl_fail_memory(d, where);
  uint32_t n = 0;
  tl_status status = TL_OK;
  for (tl_sv rest = text; rest.p && status == TL_OK;) {
    tl_sv entry = tl_sv_trim(tl_sv_split(&rest, ';'));
    if (entry.n == 0)
      continue;
    status = read_entry(d, a, where, entry, &shapes[n], ranged);
    if (status == TL_OK)
      status = take_name(d, where, &names, shapes[n++].name);
  }
  tl_symtab_release(&names);
  out->input_shapes = shapes;
  out->n_input_shapes = n;
  return status;
}

/* Reads one NAME:[D,...],[D,...]. Every part up to its ']' is one shape. `good` turns false at the
 * first character that does not fit the form. */
static tl_status read_group(tl_diag *d, tl_arena *a, tl_location where, tl_sv entry,
                            tl_input_shape *shapes, uint32_t *n) {
  const char *colon = memchr(entry.p, ':', entry.n);
  tl_sv name = colon ? tl_sv_trim((tl_sv){entry.p, (size_t)(colon - entry.p)}) : (tl_sv){NULL, 0};
  tl_sv rest = colon ? tl_sv_trim((tl_sv){colon + 1, (size_t)(entry.p + entry.n - colon - 1)})
                     : name;
  bool ranged;
  bool good = name.n && rest.n;
  while (good && rest.n) {
    const char *end = rest.p[0] == '[' ? memchr(rest.p, ']', rest.n) : NULL;
    if (!end)
      break;
    tl_sv shape = {rest.p, (size_t)(end - rest.p) + 1};
    shapes[*n].name = name;
    TL_TRY(read_dims(d, a, where, shape, &shapes[(*n)++], &ranged));
    rest = tl_sv_trim((tl_sv){end + 1, rest.n - shape.n});
    good = rest.n == 0 || (rest.p[0] == ',' && rest.n > 1);
    if (rest.n && good)
      rest = tl_sv_trim((tl_sv){rest.p + 1, rest.n - 1});
  }
  if (good && rest.n == 0)
    return TL_OK;
  return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-TYPE", where,
                      "'%.*s' is not of the form NAME:[D,A~B,-1],[...]\v%s",
                      TL_SV_ARG(tl_sv_shown(entry)),
                      tl_value_hint(entry, "for example getnext:[128,3~5,-1],[128];data:[]"));
}

tl_status tl_read_shape_lists(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                              tl_options *out) {
  /* Upper bound on shapes, so that a long text of brackets does not allocate without limit. */
  enum { MOST_SHAPES = 4096 };
  size_t most = count_char(text, '[') + 1;
  uint32_t n = 0;
  if (most > MOST_SHAPES)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-RANGE", where, "more than %d shapes",
                        MOST_SHAPES);
  tl_input_shape *shapes = tl_arena_calloc(a, most, sizeof *shapes);
  if (!shapes)
    return tl_fail_memory(d, where);
  for (tl_sv rest = text; rest.p;) {
    tl_sv entry = tl_sv_trim(tl_sv_split(&rest, ';'));
    if (entry.n)
      TL_TRY(read_group(d, a, where, entry, shapes, &n));
  }
  out->listed_shapes = shapes;
  out->n_listed_shapes = n;
  return TL_OK;
}
