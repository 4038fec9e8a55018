/* SPDX-License-Identifier: Apache-2.0 */
/* Reads keep_dtype and customize_dtypes: one op in a line. Blank lines and lines that start with
 * '#' are skipped. Of a name given twice the first line counts. */
#include <stdlib.h>

#include "frontend/config/config_file.h"
#include "frontend/config/precision.h"
#include "support/vec.h"

/* Upper bounds on messages of one file, and on dtypes in one list. */
enum { MOST_ERRORS = 20, MOST_WARNINGS = 10, MOST_SLOTS = 4096 };

/* State of reading one file line by line. */
typedef struct line_reader {
  tl_diag *diag;
  tl_arena *arena;
  tl_location at;
  uint32_t errors;
} line_reader;

/* Reports a problem of the current line and goes on, so that one run shows all problems. */
#define PROBLEM(r, code, ...)                                                                      \
  do {                                                                                             \
    if (++(r)->errors <= MOST_ERRORS)                                                              \
      (void)tl_fail_code((r)->diag, TL_INVALID_ARGUMENT, code, (r)->at, __VA_ARGS__);              \
  } while (0)

static tl_sv keep(line_reader *r, tl_sv text) {
  return (tl_sv){tl_arena_copy(r->arena, text.n ? text.p : "", text.n), text.n};
}

/* Copies a list into the arena; NULL if memory is out. */
static void *keep_array(tl_arena *a, const void *items, uint32_t n, size_t size) {
  void *copy = tl_arena_calloc(a, n, size);
  if (copy && n)
    memcpy(copy, items, n * size);
  return copy;
}

/* Returns true if the line is neither empty nor a comment. */
static bool is_said(tl_sv line) { return line.n && *line.p != '#'; }

/* Returns true for well-formed UTF-8 without control characters; anything else is a binary file. */
static bool is_text(tl_sv s) {
  while (s.n) {
    size_t length = tl_utf8_length(s);
    if (length == 0 || (unsigned char)*s.p < 0x20 || *s.p == 0x7f)
      return false;
    s = (tl_sv){s.p + length, s.n - length};
  }
  return true;
}

/* Removes "OpType::" from a name; false if the name does not start with it. */
static bool cut_type(tl_sv *name) {
  static const char prefix[] = "OpType::";
  if (!tl_sv_starts_with(*name, prefix))
    return false;
  name->p += sizeof prefix - 1;
  name->n -= sizeof prefix - 1;
  *name = tl_sv_trim(*name);
  return true;
}

/* Reads one line. It reports problems with PROBLEM and returns only lack of memory as an error. */
typedef tl_status (*line_fn)(line_reader *r, tl_sv line, void *user);

/* Calls fn for every line that says something. code: of the error for lines that are not text.
 * Fails after the last line if any line had a problem. */
static tl_status for_lines(line_reader *r, tl_sv text, const char *code, line_fn fn, void *user) {
  for (tl_sv rest = tl_config_without_mark(text); rest.p;) {
    tl_sv line = tl_sv_trim(tl_sv_split(&rest, '\n'));
    r->at.line++;
    if (!is_said(line))
      continue;
    if (!is_text(line))
      PROBLEM(r, code, "the line has bytes that are not text");
    else
      TL_TRY(fn(r, line, user));
  }
  if (r->errors > MOST_ERRORS) {
    r->at.line = r->at.column = 0;
    return tl_fail_code(r->diag, TL_INVALID_ARGUMENT, code, r->at, "%u more problems are not shown",
                        r->errors - MOST_ERRORS);
  }
  return r->errors ? TL_INVALID_ARGUMENT : TL_OK;
}

/* ---- names given twice ----------------------------------------------------------------------- */

/* The part of an entry that decides whether two entries name the same ops. */
typedef struct named {
  tl_sv name;
  bool is_type;
  uint32_t line;
} named;

/* Orders node names before op types, then by name, then by line. */
static int by_name(const void *a, const void *b) {
  const named *x = a;
  const named *y = b;
  if (x->is_type != y->is_type)
    return x->is_type ? 1 : -1;
  int order = tl_sv_compare(x->name, y->name);
  return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

/* Warns about repetitions in a list that is sorted by name. */
static void warn_repeated(const line_reader *r, const named *sorted, uint32_t n) {
  uint32_t warned = 0;
  for (uint32_t i = 1; i < n; i++) {
    const named *e = &sorted[i];
    if (e->is_type != sorted[i - 1].is_type || !tl_sv_eq(e->name, sorted[i - 1].name))
      continue;
    tl_location at = {.file = r->at.file, .line = e->line, .column = 1};
    if (++warned <= MOST_WARNINGS)
      tl_warn_code(r->diag, "W_DTYPES_REPEATED", at,
                   "'%.*s' is given twice; line %u counts, this one is ignored",
                   TL_SV_ARG(tl_sv_shown(e->name)), sorted[i - 1].line);
  }
}

/* Warns about names given twice. Lookups take the first entry, so nothing is removed. */
static tl_status check_repeated(line_reader *r, named *entries, uint32_t n) {
  if (n)
    qsort(entries, n, sizeof *entries, by_name);
  warn_repeated(r, entries, n);
  return TL_OK;
}

/* ---- keep_dtype ------------------------------------------------------------------------------ */

TL_VEC(keep_vec, tl_keep_entry);

/* Returns true for a capital letter followed by letters and digits. */
static bool is_type_name(tl_sv s) {
  for (size_t i = 0; i < s.n; i++) {
    char c = s.p[i];
    bool upper = c >= 'A' && c <= 'Z';
    if (!upper && (i == 0 || !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))))
      return false;
  }
  return s.n > 0;
}

/* Reads one line of keep_dtype: a node name, or OpType::Type. */
static tl_status read_keep(line_reader *r, tl_sv line, void *user) {
  keep_vec *entries = user;
  tl_sv name = line;
  bool is_type = cut_type(&name);
  if (is_type && !is_type_name(name)) {
    PROBLEM(r, "E10003",
            "'%.*s' is not an op type\vwrite OpType:: and a type such as MatMulV2, or the "
            "name of a node alone",
            TL_SV_ARG(tl_sv_shown(name)));
    return TL_OK;
  }
  tl_keep_entry e = {keep(r, name), is_type, r->at.line};
  return e.name.p && keep_vec_push(entries, e) ? TL_OK : tl_fail_memory(r->diag, r->at);
}

tl_status tl_read_keep_dtype_text(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                                  tl_precision_config *out) {
  line_reader r = {.diag = d, .arena = a, .at = {.file = path, .column = 1}};
  keep_vec entries = {0};
  tl_status status = for_lines(&r, text, "E13001", read_keep, &entries);
  if (status == TL_OK) {
    out->keep = keep_array(a, entries.at, entries.n, sizeof *entries.at);
    out->n_keep = entries.n;
    out->keep_path = path;
    status = out->keep ? TL_OK : tl_fail_memory(r.diag, r.at);
  }
  keep_vec_release(&entries);
  return status;
}

/* ---- customize_dtypes ------------------------------------------------------------------------ */

TL_VEC(custom_vec, tl_custom_entry);
TL_VEC(named_vec, named);
TL_VEC(dtype_vec, tl_dtype);

/* State of reading customize_dtypes; all lists are owned, on the heap. */
typedef struct custom_reader {
  custom_vec entries;
  named_vec names;
  dtype_vec dtypes; /* of one list */
} custom_reader;

/* Reads "float16,,float". An empty item leaves its slot open, and open slots at the end are
 * dropped. */
static tl_status read_dtypes(line_reader *r, custom_reader *c, tl_sv list, const tl_dtype **out,
                             uint32_t *n) {
  c->dtypes.n = 0;
  for (tl_sv rest = list; rest.p;) {
    tl_sv item = tl_sv_trim(tl_sv_split(&rest, ','));
    tl_dtype dtype = tl_user_dtype(item);
    if (item.n && dtype == TL_DTYPE_NONE) {
      PROBLEM(r, "E20003",
              "'%.*s' is not a dtype\vwrite float, float16, bfloat16, double, int8 ... "
              "int64, uint8 ... uint64 or bool",
              TL_SV_ARG(tl_sv_shown(item)));
      return TL_OK;
    }
    if (c->dtypes.n == MOST_SLOTS) {
      PROBLEM(r, "E20101", "more than %d dtypes", MOST_SLOTS);
      return TL_OK;
    }
    if (!dtype_vec_push(&c->dtypes, dtype))
      return tl_fail_memory(r->diag, r->at);
  }
  while (c->dtypes.n && c->dtypes.at[c->dtypes.n - 1] == TL_DTYPE_NONE)
    c->dtypes.n--; /* the comma before OutputDtype makes one */
  *out = keep_array(r->arena, c->dtypes.at, c->dtypes.n, sizeof *c->dtypes.at);
  *n = c->dtypes.n;
  return *out ? TL_OK : tl_fail_memory(r->diag, r->at);
}

/* Returns the first place of a keyword in a text, or NULL. */
static const char *find(tl_sv s, const char *word) {
  size_t n = strlen(word);
  for (size_t i = 0; i + n <= s.n; i++)
    if (memcmp(s.p + i, word, n) == 0)
      return s.p + i;
  return NULL;
}

static const char in_word[] = "InputDtype:";
static const char out_word[] = "OutputDtype:";

/* Splits what follows the name into its two lists. Either may be missing, InputDtype comes first,
 * and neither keyword may occur twice. False for any other text. */
static bool split_lists(tl_sv rest, tl_sv *in, tl_sv *out) {
  const char *end = rest.p + rest.n;
  const char *i = find(rest, in_word);
  const char *o = find(rest, out_word);
  *in = *out = (tl_sv){0};
  if ((!i && !o) || (i && o && o < i))
    return false;
  const char *first = i ? i : o;
  tl_sv before = tl_sv_trim((tl_sv){rest.p, (size_t)(first - rest.p)});
  if (before.n && !tl_sv_is(before, ":"))
    return false;
  if (i) {
    const char *from = i + sizeof in_word - 1;
    *in = (tl_sv){from, (size_t)((o ? o : end) - from)};
  }
  if (o) {
    const char *from = o + sizeof out_word - 1;
    *out = (tl_sv){from, (size_t)(end - from)};
  }
  return !find(*in, in_word) && !(out->p && (find(*out, in_word) || find(*out, out_word)));
}

static tl_status malformed(line_reader *r) {
  PROBLEM(r, "E20101",
          "the line is not of the form [OpType::]NAME:InputDtype:LIST,OutputDtype:LIST"
          "\vone of the two may be missing, InputDtype comes first; a name that contains ':' "
          "cannot be written here");
  return TL_OK;
}

/* Reads one line of customize_dtypes. The name ends at the first colon. */
static tl_status read_custom(line_reader *r, tl_sv line, void *user) {
  custom_reader *c = user;
  tl_sv rest = line;
  bool is_type = cut_type(&rest);
  const char *colon = rest.n ? memchr(rest.p, ':', rest.n) : NULL;
  tl_sv in;
  tl_sv out;
  tl_sv name = colon ? tl_sv_trim((tl_sv){rest.p, (size_t)(colon - rest.p)}) : (tl_sv){0};
  if (name.n == 0)
    return malformed(r);
  rest = (tl_sv){colon + 1, rest.n - (size_t)(colon - rest.p) - 1};
  if (!split_lists(rest, &in, &out))
    return malformed(r);
  tl_custom_entry e = {.name = keep(r, name), .is_type = is_type, .line = r->at.line};
  if (!e.name.p)
    return tl_fail_memory(r->diag, r->at);
  TL_TRY(read_dtypes(r, c, in, &e.in, &e.n_in));
  TL_TRY(read_dtypes(r, c, out, &e.out, &e.n_out));
  named n = {e.name, is_type, e.line};
  return custom_vec_push(&c->entries, e) && named_vec_push(&c->names, n)
             ? TL_OK
             : tl_fail_memory(r->diag, r->at);
}

tl_status tl_read_custom_dtypes_text(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                                     tl_precision_config *out) {
  line_reader r = {.diag = d, .arena = a, .at = {.file = path, .column = 1}};
  custom_reader c = {0};
  tl_status status = for_lines(&r, text, "E20101", read_custom, &c);
  if (status == TL_OK)
    status = check_repeated(&r, c.names.at, c.names.n);
  if (status == TL_OK) {
    out->custom = keep_array(a, c.entries.at, c.entries.n, sizeof *c.entries.at);
    out->n_custom = c.entries.n;
    out->custom_path = path;
    status = out->custom ? TL_OK : tl_fail_memory(r.diag, r.at);
  }
  custom_vec_release(&c.entries);
  named_vec_release(&c.names);
  dtype_vec_release(&c.dtypes);
  return status;
}

/* ---- files ----------------------------------------------------------------------------------- */

tl_status tl_read_keep_dtype(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                             tl_precision_config *out) {
  static const tl_config_kind kind = {"list of kept ops", "E10410", "E13001", false, 0};
  tl_sv text;
  TL_TRY(tl_config_text(d, a, where, path, &kind, &text));
  return tl_read_keep_dtype_text(d, a, path, text, out);
}

tl_status tl_read_custom_dtypes(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                                tl_precision_config *out) {
  static const tl_config_kind kind = {"list of dtypes", "E20101", "E20101", false, 0};
  tl_sv text;
  TL_TRY(tl_config_text(d, a, where, path, &kind, &text));
  return tl_read_custom_dtypes_text(d, a, path, text, out);
}
