/* SPDX-License-Identifier: Apache-2.0 */
/* Reads --freeze: "rate=16000;mask=[1,1,0];state=state.npy". A value is a number, a list of numbers
 * or of lists, or a .npy file. The dtype of elements is known only with the input, so until then
 * they are text. */
#include "frontend/config/values.h"
#include "frontend/npy/npy.h"

/* A list while it is read. */
typedef struct list {
  tl_diag *diag;
  tl_location where;
  tl_sv rest;
  tl_frozen_input *out;
  tl_sv *items; /* room for one more than there are commas */
  int64_t dims[TL_MAX_RANK];
  int rank; /* -1 until the first element is met: its depth is the rank */
} list;

/* Reports an entry that is not NAME=VALUE. */
static tl_status fail_form(tl_diag *d, tl_location where, tl_sv entry, const char *hint) {
  return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10002", where,
                      "'%.*s' is not of the form NAME=VALUE\v%s", TL_SV_ARG(tl_sv_shown(entry)),
                      tl_value_hint(entry, hint));
}

#define FORMS "write a number, a list such as [1,2,3] or [[1,2],[3,4]], or the path of a .npy file"

/* Reports what is wrong with the list of an input. */
static tl_status fail_list(list *l, const char *what) {
  return tl_fail_code(l->diag, TL_INVALID_ARGUMENT, "E10002", l->where,
                      "the value of input '%.*s' %s\v%s", TL_SV_ARG(l->out->name), what, FORMS);
}

/* Skips n bytes and the blanks behind them. */
static void skip(list *l, size_t n) { l->rest = tl_sv_trim((tl_sv){l->rest.p + n, l->rest.n - n}); }

static bool next_is(const list *l, char c) { return l->rest.n && l->rest.p[0] == c; }

/* Returns true for what is an element of some dtype. */
static bool is_number(tl_sv text) {
  double number;
  return tl_parse_f64(text, &number) || tl_sv_is(text, "true") || tl_sv_is(text, "false") ||
         tl_sv_is(text, "True") || tl_sv_is(text, "False");
}

/* Takes an element: what stands before the next ',' or ']'. */
static tl_status take_item(list *l, int depth) {
  size_t n = 0;
  while (n < l->rest.n && !strchr(",[]", l->rest.p[n]))
    n++;
  tl_sv item = tl_sv_trim((tl_sv){l->rest.p, n});
  if (item.n == 0)
    return fail_list(l, "lacks an element");
  if (l->rank >= 0 && l->rank != depth)
    return fail_list(l, "mixes numbers and lists");
  if (!is_number(item))
    return tl_fail_code(l->diag, TL_INVALID_ARGUMENT, "E10002", l->where,
                        "'%.*s' in the value of input '%.*s' is no number\v%s",
                        TL_SV_ARG(tl_sv_shown(item)), TL_SV_ARG(l->out->name),
                        tl_value_hint(item, FORMS));
  l->rank = depth;
  l->items[l->out->n++] = item;
  skip(l, n);
  return TL_OK;
}

static tl_status take_value(list *l, int depth);

/* Takes "[...]" at `depth`; lists of one depth are equally long. */
static tl_status take_list(list *l, int depth) {
  int64_t n = 0;
  if (depth == TL_MAX_RANK || (l->rank >= 0 && depth >= l->rank))
    return fail_list(l, "mixes numbers and lists");
  skip(l, 1);
  for (bool more = !next_is(l, ']'); more; n++) {
    TL_TRY(take_value(l, depth + 1));
    more = next_is(l, ',');
    if (more)
      skip(l, 1);
  }
  if (!next_is(l, ']'))
    return fail_list(l, "lacks ']'");
  skip(l, 1);
  if (l->dims[depth] >= 0 && l->dims[depth] != n)
    return fail_list(l, "has lists of different lengths");
  l->dims[depth] = n;
  if (n == 0 && l->rank < 0)
    l->rank = depth + 1;
  return TL_OK;
}

/* Takes an element or a list. TL_MAX_RANK bounds the recursion of take_list. */
static tl_status take_value(list *l, int depth) {
  return next_is(l, '[') ? take_list(l, depth) : take_item(l, depth);
}

/* Reads a number, or a list whose depth becomes the rank. The number of commas bounds the number of
 * elements. */
static tl_status read_list(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                           tl_frozen_input *out) {
  size_t most = 1;
  for (size_t i = 0; i < text.n; i++)
    most += text.p[i] == ',';
  list l = {.diag = d, .where = where, .rest = text, .out = out, .rank = -1};
  l.items = tl_arena_calloc(a, most, sizeof *l.items);
  if (!l.items)
    return tl_fail_memory(d, where);
  for (int i = 0; i < TL_MAX_RANK; i++)
    l.dims[i] = -1;
  TL_TRY(take_value(&l, 0));
  if (l.rest.n)
    return fail_list(&l, "goes on behind its end");
  out->items = l.items;
  out->rank = l.rank;
  out->dims = (const void *)tl_arena_copy(a, l.dims, (size_t)l.rank * sizeof *l.dims);
  return out->dims ? TL_OK : tl_fail_memory(d, where);
}

/* Copies the array of a file into the arena. */
static tl_status read_array(tl_diag *d, tl_arena *a, tl_sv text, tl_frozen_input *out) {
  tl_host_heap heap;
  tl_host *v = NULL;
  out->path = tl_arena_copy(a, text.p, text.n);
  tl_module *store = tl_module_create(d, "-", 0);
  tl_host_heap_init(&heap, 0);
  tl_status status = out->path && store ? tl_npy_load(store, out->path, &heap, &v)
                                        : tl_fail_memory(d, TL_NOWHERE);
  if (status == TL_OK) {
    out->dtype = (tl_dtype)v->dtype;
    out->rank = v->rank;
    out->n = v->n;
    out->bytes = v->bytes;
    out->dims = (const void *)tl_arena_copy(a, v->dims, (size_t)v->rank * sizeof *v->dims);
    out->data = tl_arena_copy(a, v->bytes ? v->data : "", (size_t)v->bytes);
    if (!out->dims || !out->data)
      status = tl_fail_memory(d, TL_NOWHERE);
  }
  tl_host_release(v);
  tl_host_heap_release(&heap);
  tl_module_destroy(store);
  return status;
}

/* Reads one NAME=VALUE; the name ends at the first '='. */
static tl_status read_entry(tl_diag *d, tl_arena *a, tl_location where, tl_sv entry,
                            tl_frozen_input *out) {
  const char *equals = memchr(entry.p, '=', entry.n);
  tl_sv name = equals ? tl_sv_trim((tl_sv){entry.p, (size_t)(equals - entry.p)}) : (tl_sv){NULL, 0};
  if (name.n == 0)
    return fail_form(d, where, entry, "several inputs are joined by ';'");
  tl_sv value = tl_sv_trim((tl_sv){equals + 1, (size_t)(entry.p + entry.n - equals - 1)});
  if (value.n == 0)
    return fail_form(d, where, entry,
                     "the value is a number, a list such as [1,2,3], or the path of a .npy file");
  out->name = name;
  return tl_sv_ends_with(value, ".npy") ? read_array(d, a, value, out)
                                        : read_list(d, a, where, value, out);
}

tl_status tl_read_frozen(tl_diag *d, tl_arena *a, tl_location where, tl_sv text, tl_options *out) {
  size_t most = 1;
  for (size_t i = 0; i < text.n; i++)
    most += text.p[i] == ';';
  tl_frozen_input *frozen = tl_arena_calloc(a, most, sizeof *frozen);
  uint32_t n = 0;
  if (!frozen)
    return tl_fail_memory(d, where);
  for (tl_sv rest = text; rest.p;) {
    tl_sv entry = tl_sv_trim(tl_sv_split(&rest, ';'));
    if (entry.n == 0)
      continue;
    TL_TRY(read_entry(d, a, where, entry, &frozen[n]));
    for (uint32_t i = 0; i < n; i++)
      if (tl_sv_eq(frozen[i].name, frozen[n].name))
        return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10002", where, "input '%.*s' is named twice",
                            TL_SV_ARG(frozen[n].name));
    n++;
  }
  out->frozen = frozen;
  out->n_frozen = n;
  return TL_OK;
}
