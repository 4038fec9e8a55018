/* SPDX-License-Identifier: Apache-2.0 */
/* Constants: elements, hex bytes, and ranges of files, which are mapped once per text. */
#include <stdlib.h>
#include <sys/stat.h>

#include "ir/text/literal.h"
#include "ir/text/parse_internal.h"

typedef struct draft {
  tl_tensor t;
  uint64_t elements;
  uint64_t needed; /* bytes; meaningless for strings */
  tl_token at;
} draft;

static tl_status wrong_count(tl_parser *p, const draft *d, uint64_t found) {
  return tl_parse_fail_at(p, d->at, TL_INVALID_MODEL, "the type needs %llu elements, found %llu",
                          (unsigned long long)d->elements, (unsigned long long)found);
}

static tl_status parse_element(tl_parser *p, draft *d, tl_buf *bytes) {
  uint64_t element = 0;
  bool number = p->at.kind == TL_TOKEN_NUMBER || p->at.kind == TL_TOKEN_WORD;
  if (!number || !tl_literal_parse((tl_dtype)d->t.dtype, p->at.text, &element)) {
    char what[64] = "an element of type ";
    strcat(what, tl_dtype_get((tl_dtype)d->t.dtype)->name);
    return tl_parse_expected(p, what);
  }
  tl_buf_add(bytes, &element, tl_dtype_get((tl_dtype)d->t.dtype)->bits / 8);
  tl_parse_advance(p);
  return bytes->failed ? tl_parse_memory(p) : TL_OK;
}

static tl_status parse_string_element(tl_parser *p, draft *d, tl_buf *symbols) {
  tl_symbol s;
  TL_TRY(tl_parse_string(p, "a quoted string", &s));
  tl_buf_add(symbols, &s, sizeof s);
  d->t.bytes += tl_sym(p->m, s).n;
  return symbols->failed ? tl_parse_memory(p) : TL_OK;
}

static tl_status parse_elements(tl_parser *p, draft *d, tl_buf *data, uint64_t *count) {
  bool strings = d->t.dtype == TL_DTYPE_STRING;
  bool list = tl_parse_accept(p, "[");
  if (!list && tl_type_get(p->m, d->t.type)->rank != 0)
    return tl_parse_expected(p, "'[', hex(...), file(...) or external(...)");
  *count = 0;
  while (!list || !tl_parse_accept(p, "]")) {
    if (*count)
      TL_TRY(tl_parse_expect(p, ","));
    TL_TRY(strings ? parse_string_element(p, d, data) : parse_element(p, d, data));
    ++*count;
    if (!list)
      break;
  }
  return *count == d->elements ? TL_OK : wrong_count(p, d, *count);
}

static tl_status parse_listed(tl_parser *p, draft *d) {
  tl_buf data;
  uint64_t count;
  tl_buf_init(&data);
  tl_status status = parse_elements(p, d, &data, &count);
  if (status == TL_OK) {
    void *copy = tl_arena_copy(&p->m->arena, tl_buf_view(&data).p, data.n);
    if (d->t.dtype == TL_DTYPE_STRING) {
      d->t.kind = TL_SOURCE_STRINGS;
      d->t.u.strings = copy;
    } else {
      d->t.u.data = copy;
    }
    status = copy ? TL_OK : tl_parse_memory(p);
  }
  tl_buf_release(&data);
  return status;
}

static int digit_value(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Behind "hex". */
static tl_status parse_hex(tl_parser *p, draft *d) {
  TL_TRY(tl_parse_expect(p, "("));
  tl_sv s = p->at.text;
  if (p->at.kind != TL_TOKEN_STRING)
    return tl_parse_expected(p, "quoted hex digits");
  if (d->t.dtype == TL_DTYPE_STRING || s.n / 2 != d->needed || s.n % 2)
    return tl_parse_fail_at(p, p->at, TL_INVALID_MODEL,
                            "the type needs %llu bytes, found %llu hex digits",
                            (unsigned long long)d->needed, (unsigned long long)s.n);
  char *bytes = tl_arena_alloc(&p->m->arena, s.n / 2);
  if (!bytes)
    return tl_parse_memory(p);
  for (size_t i = 0; i < s.n; i += 2) {
    int high = digit_value(s.p[i]);
    int low = digit_value(s.p[i + 1]);
    if (high < 0 || low < 0)
      return tl_parse_expected(p, "lower-case hex digits");
    bytes[i / 2] = (char)(high << 4 | low);
  }
  d->t.u.data = bytes;
  tl_order_turn((tl_dtype)d->t.dtype, bytes, s.n / 2);
  tl_parse_advance(p);
  return tl_parse_expect(p, ")");
}

static bool is_regular(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

/* Puts the place of `name` into p->text: beside the text, else as it stands. Only regular files
 * count: opening a pipe or device that a text names could block for ever. */
static bool find_file(tl_parser *p, tl_sv name) {
  const char *slash = strrchr(p->path, '/');
  tl_buf_clear(&p->text);
  if (name.n == 0 || memchr(name.p, '\0', name.n))
    return false;
  if (slash && name.p[0] != '/')
    tl_buf_add(&p->text, p->path, (size_t)(slash - p->path) + 1);
  tl_buf_add_sv(&p->text, name);
  if (!p->text.failed && is_regular(p->text.p))
    return true;
  tl_buf_clear(&p->text);
  tl_buf_add_sv(&p->text, name);
  return !p->text.failed && is_regular(p->text.p);
}

/* The module keeps the path as written, so that printing gives the same text. */
static tl_status map_file(tl_parser *p, tl_symbol name, const tl_file **out) {
  tl_file *file;
  TL_TRY(tl_file_open(p->diag, p->text.p, TL_FILE_MAP, &file));
  tl_sv written = tl_sym(p->m, name);
  char *path = strndup(written.p, written.n);
  if (!path) {
    tl_file_close(file);
    return tl_parse_memory(p);
  }
  free(file->path);
  file->path = path;
  if (tl_module_add_file(p->m, file) != TL_OK)
    return tl_parse_memory(p);
  tl_named_file row = {name, file};
  *out = file;
  return tl_named_file_vec_push(&p->files, row) ? TL_OK : tl_parse_memory(p);
}

static tl_status parse_path(tl_parser *p, const tl_file **out) {
  tl_token at = p->at;
  tl_symbol name;
  TL_TRY(tl_parse_string(p, "a quoted file name", &name));
  for (uint32_t i = 0; i < p->files.n; i++) {
    if (p->files.at[i].path == name) {
      *out = p->files.at[i].file;
      return TL_OK;
    }
  }
  if (!find_file(p, tl_sym(p->m, name)))
    return tl_parse_fail_at(p, at, TL_IO,
                            "'%.*s' is not a regular file\vpaths are relative to the folder of "
                            "this text, then to the working directory",
                            (int)(at.text.n > 200 ? 200 : at.text.n), at.text.p);
  return map_file(p, name, out);
}

/* Behind "file" or "external". */
static tl_status parse_view(tl_parser *p, draft *d, bool external) {
  const tl_file *file = NULL;
  uint64_t offset;
  uint64_t length;
  TL_TRY(tl_parse_expect(p, "("));
  TL_TRY(parse_path(p, &file));
  TL_TRY(tl_parse_expect(p, ","));
  TL_TRY(tl_parse_count(p, "an offset in bytes", &offset));
  TL_TRY(tl_parse_expect(p, ","));
  TL_TRY(tl_parse_count(p, "a length in bytes", &length));
  if (offset > file->size || length > file->size - offset)
    return tl_parse_fail_at(p, d->at, TL_INVALID_MODEL,
                            "bytes %llu to %llu lie outside '%s', which has %llu",
                            (unsigned long long)offset, (unsigned long long)(offset + length),
                            file->path, (unsigned long long)file->size);
  if (d->t.dtype == TL_DTYPE_STRING || length != d->needed)
    return tl_parse_fail_at(p, d->at, TL_INVALID_MODEL, "the type needs %llu bytes, not %llu",
                            (unsigned long long)d->needed, (unsigned long long)length);
  if (external) {
    TL_TRY(tl_parse_expect(p, ","));
    TL_TRY(tl_parse_string(p, "the location that the model gave, quoted", &d->t.location));
  }
  d->t.kind = TL_SOURCE_FILE;
  d->t.external = external;
  d->t.u.view.file = file;
  d->t.u.view.offset = offset;
  if (tl_tensor_turn(p->m, &d->t) != TL_OK)
    return tl_parse_memory(p);
  return tl_parse_expect(p, ")");
}

static tl_status prepare(tl_parser *p, draft *d) {
  tl_type_id type = d->t.type;
  d->t.dtype = (uint8_t)tl_type_dtype(p->m, type);
  bool counted = tl_type_elements(p->m, type, &d->elements) && d->t.dtype != TL_DTYPE_NONE;
  if (!counted)
    return tl_parse_fail_at(p, d->at, TL_INVALID_MODEL,
                            "a constant needs an element type and fixed dimensions");
  if (d->t.dtype == TL_DTYPE_STRING)
    return TL_OK;
  if (!tl_dtype_bytes((tl_dtype)d->t.dtype, d->elements, &d->needed))
    return tl_parse_fail_at(p, d->at, TL_INVALID_MODEL, "a constant cannot have this type");
  d->t.bytes = d->needed;
  return TL_OK;
}

static tl_status parse_tensor_name(tl_parser *p, tl_tensor *t) {
  if (!tl_parse_is(p, "name") || tl_parse_starts_op(p))
    return TL_OK;
  tl_parse_advance(p);
  return tl_parse_string(p, "the tensor's name, quoted", &t->name);
}

tl_status tl_parse_tensor(tl_parser *p, tl_type_id declared, tl_tensor_id *out) {
  draft d = {.at = p->at, .t.type = declared};
  if (tl_parse_starts_tensor_type(p))
    TL_TRY(tl_parse_type(p, &d.t.type));
  TL_TRY(prepare(p, &d));
  if (tl_parse_starts_expr(p)) {
    TL_TRY(tl_parse_expr(p, d.t.type, out));
    return parse_tensor_name(p, tl_slab_at(&p->m->tensors, *out));
  }
  bool external = tl_parse_is(p, "external");
  if (tl_parse_accept(p, "hex"))
    TL_TRY(parse_hex(p, &d));
  else if (external || tl_parse_is(p, "file")) {
    tl_parse_advance(p);
    TL_TRY(parse_view(p, &d, external));
  } else {
    TL_TRY(parse_listed(p, &d));
  }
  TL_TRY(parse_tensor_name(p, &d.t));
  *out = tl_tensor_add(p->m, &d.t);
  return *out == TL_NO_TENSOR ? tl_parse_memory(p) : TL_OK;
}
