/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the reading of protobuf text (prototext.h). */
#include "frontend/prototext/prototext.h"

#include "frontend/prototext/lexer.h"
#include "frontend/wire/build.h"

/* State of one text. */
typedef struct reader {
  tl_diag *d;
  const char *path;
  tl_text_lexer lexer;
  tl_buf *out; /* NULL: the value is skipped */
  uint32_t n_unknown;
  uint32_t unknown_line; /* of the first one */
  tl_sv unknown;
} reader;

/* Packed numbers that are being written. */
typedef struct run {
  uint32_t field; /* 0: none */
  size_t start;
} run;

static tl_location here(const reader *r) {
  return (tl_location){.file = r->path,
                       .line = r->lexer.line,
                       .column = (uint32_t)(r->lexer.at - r->lexer.line_start) + 1};
}

static tl_status fail(const reader *r, const char *what) {
  return tl_fail(r->d, TL_INVALID_MODEL, here(r), "%s", what);
}

static void end_run(reader *r, run *packed) {
  if (packed->field)
    tl_build_close(r->out, packed->start);
  packed->field = 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool read_bool(tl_sv word, int64_t *out) {
  static const char *const names[] = {"false", "true", "False", "True", "f", "t", "0", "1"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (tl_sv_is(word, names[i])) {
      *out = (int64_t)(i & 1);
      return true;
    }
  return false;
}

static tl_status scalar_fault(const reader *r, const tl_text_field *f, tl_sv word) {
  static const char *const kinds[] = {[TL_TEXT_BYTES] = "a string",
                                      [TL_TEXT_INT] = "an integer of 64 bits",
                                      [TL_TEXT_BOOL] = "true or false",
                                      [TL_TEXT_FLOAT] = "a number",
                                      [TL_TEXT_ENUM] = "a name that this version knows",
                                      [TL_TEXT_MESSAGE] = "a message",
                                      [TL_TEXT_SKIPPED] = ""};
  return tl_fail(r->d, TL_INVALID_MODEL, here(r), "the value '%.*s' of '%s' is not %s",
                 TL_SV_ARG(tl_sv_shown(word)), f->name, kinds[f->kind]);
}

/* Starts a number: its tag, or the packed run that it belongs to. */
static void begin_number(reader *r, const tl_text_field *f, uint32_t type, run *packed) {
  if (!f->repeated)
    tl_build_varint(r->out, (uint64_t)f->number << 3 | type);
  else if (packed->field != f->number)
    *packed = (run){f->number, tl_build_open(r->out, f->number)};
}

static tl_status read_number(reader *r, const tl_text_field *f, run *packed) {
  enum { VARINT = 0, FIXED32 = 5 };
  bool negative = tl_text_take(&r->lexer, '-');
  tl_sv word = tl_text_word(&r->lexer);
  int64_t number = 0;
  float real = 0;
  bool good;
  if (f->kind == TL_TEXT_FLOAT)
    good = tl_text_float(word, negative, &real);
  else if (f->kind == TL_TEXT_BOOL)
    good = !negative && read_bool(word, &number);
  else
    good = tl_text_integer(word, negative, &number);
  if (!good && f->kind == TL_TEXT_ENUM && !negative)
    good = (number = f->values(word)) >= 0;
  if (!good)
    return scalar_fault(r, f, word);
  begin_number(r, f, f->kind == TL_TEXT_FLOAT ? FIXED32 : VARINT, packed);
  if (f->kind == TL_TEXT_FLOAT)
    tl_build_bare_float(r->out, real);
  else
    tl_build_varint(r->out, (uint64_t)number);
  return TL_OK;
}

static tl_status read_bytes(reader *r, const tl_text_field *f) {
  size_t start = tl_build_open(r->out, f->number);
  const char *fault = tl_text_string(&r->lexer, r->out);
  if (fault)
    return tl_fail(r->d, TL_INVALID_MODEL, here(r), "'%s': %s", f->name, fault);
  tl_build_close(r->out, start);
  return TL_OK;
}

static tl_status read_fields(reader *r, const tl_text_message *m, char close, uint32_t depth);

static tl_status read_message(reader *r, const tl_text_field *f, uint32_t depth) {
  char close = tl_text_take(&r->lexer, '{') ? '}' : tl_text_take(&r->lexer, '<') ? '>' : '\0';
  if (!close)
    return scalar_fault(r, f, tl_text_word(&r->lexer));
  size_t start = tl_build_open(r->out, f->number);
  if (f->message->line_field)
    tl_build_int(r->out, f->message->line_field, r->lexer.line);
  TL_TRY(read_fields(r, f->message, close, depth + 1));
  tl_build_close(r->out, start);
  return TL_OK;
}

static tl_status read_value(reader *r, const tl_text_field *f, run *packed, uint32_t depth) {
  switch ((tl_text_kind)f->kind) {
  case TL_TEXT_BYTES: return read_bytes(r, f);
  case TL_TEXT_MESSAGE: return read_message(r, f, depth);
  default: return read_number(r, f, packed);
  }
}

/* ---- fields that are skipped ----------------------------------------------------------------- */

static tl_status skip_message(reader *r, char close, uint32_t depth);

/* Skips a value of any kind. */
static tl_status skip_value(reader *r, uint32_t depth) {
  char c = tl_text_next(&r->lexer);
  if (depth > TL_TEXT_MAX_DEPTH)
    return tl_fail(r->d, TL_LIMIT, here(r), "messages nest more than %d deep",
                   (int)TL_TEXT_MAX_DEPTH);
  if (c == '"' || c == '\'') {
    const char *fault = tl_text_string(&r->lexer, NULL);
    return fault ? fail(r, fault) : TL_OK;
  }
  if (tl_text_take(&r->lexer, '{'))
    return skip_message(r, '}', depth);
  if (tl_text_take(&r->lexer, '<'))
    return skip_message(r, '>', depth);
  if (tl_text_take(&r->lexer, '[')) {
    if (tl_text_take(&r->lexer, ']'))
      return TL_OK;
    do
      TL_TRY(skip_value(r, depth + 1));
    while (tl_text_take(&r->lexer, ','));
    return tl_text_take(&r->lexer, ']') ? TL_OK : fail(r, "']' was expected");
  }
  (void)tl_text_take(&r->lexer, '-');
  return tl_text_word(&r->lexer).n ? TL_OK : fail(r, "a value was expected");
}

/* Takes the name of a field: a word, or one of an extension in brackets. */
static tl_status field_name(reader *r, tl_sv *out) {
  bool bracket = tl_text_take(&r->lexer, '[');
  *out = tl_text_word(&r->lexer);
  while (bracket && tl_text_take(&r->lexer, '/'))
    (void)tl_text_word(&r->lexer);
  if (out->n == 0 || (bracket && !tl_text_take(&r->lexer, ']')))
    return fail(r, "the name of a field was expected");
  return TL_OK;
}

static void end_field(reader *r) {
  if (!tl_text_take(&r->lexer, ','))
    (void)tl_text_take(&r->lexer, ';');
}

static tl_status skip_message(reader *r, char close, uint32_t depth) {
  tl_sv name;
  while (!tl_text_take(&r->lexer, close)) {
    TL_TRY(field_name(r, &name));
    (void)tl_text_take(&r->lexer, ':');
    TL_TRY(skip_value(r, depth + 1));
    end_field(r);
  }
  return TL_OK;
}

static void note_unknown(reader *r, tl_sv name) {
  if (r->n_unknown++ == 0) {
    r->unknown = name;
    r->unknown_line = r->lexer.line;
  }
}

/* ---- messages -------------------------------------------------------------------------------- */

static const tl_text_field *find_field(const tl_text_message *m, tl_sv name) {
  for (uint32_t i = 0; i < m->n_fields; i++)
    if (tl_sv_is(name, m->fields[i].name))
      return &m->fields[i];
  return NULL;
}

/* Refuses a field that is there already. *seen: a bit for each field of the message. */
static tl_status check_once(reader *r, const tl_text_message *m, const tl_text_field *f,
                            uint64_t *seen) {
  uint64_t bit = UINT64_C(1) << (f - m->fields);
  if (!f->repeated && (*seen & bit))
    return tl_fail(r->d, TL_INVALID_MODEL, here(r), "'%s' is there twice in one %s", f->name,
                   m->name);
  if (m->one_of && *seen)
    return tl_fail(r->d, TL_INVALID_MODEL, here(r), "a second value '%s' in one %s", f->name,
                   m->name);
  *seen |= bit;
  return TL_OK;
}

/* Reads one value, or a list of them in brackets. */
static tl_status read_values(reader *r, const tl_text_field *f, run *packed, uint32_t depth) {
  if (!f->repeated || !tl_text_take(&r->lexer, '['))
    return read_value(r, f, packed, depth);
  if (tl_text_take(&r->lexer, ']'))
    return TL_OK;
  do
    TL_TRY(read_value(r, f, packed, depth));
  while (tl_text_take(&r->lexer, ','));
  return tl_text_take(&r->lexer, ']') ? TL_OK : fail(r, "']' was expected");
}

static tl_status read_field(reader *r, const tl_text_message *m, run *packed, uint64_t *seen,
                            uint32_t depth) {
  tl_sv name;
  TL_TRY(field_name(r, &name));
  const tl_text_field *f = find_field(m, name);
  if (!f)
    note_unknown(r, name);
  if (!f || f->kind == TL_TEXT_SKIPPED) {
    (void)tl_text_take(&r->lexer, ':');
    return skip_value(r, depth + 1);
  }
  TL_TRY(check_once(r, m, f, seen));
  bool colon = tl_text_take(&r->lexer, ':');
  if (!colon && f->kind != TL_TEXT_MESSAGE)
    return tl_fail(r->d, TL_INVALID_MODEL, here(r), "':' was expected behind '%s'", f->name);
  if (packed->field != f->number)
    end_run(r, packed);
  return read_values(r, f, packed, depth);
}

/* Reads fields up to the sign that closes the message, 0 for the end of the text. */
static tl_status read_fields(reader *r, const tl_text_message *m, char close, uint32_t depth) {
  run packed = {0};
  uint64_t seen = 0;
  if (depth > TL_TEXT_MAX_DEPTH)
    return tl_fail(r->d, TL_LIMIT, here(r), "messages nest more than %d deep",
                   (int)TL_TEXT_MAX_DEPTH);
  for (;;) {
    (void)tl_text_next(&r->lexer);
    if (r->lexer.at == r->lexer.end && !close)
      break;
    if (close && tl_text_take(&r->lexer, close))
      break;
    if (r->lexer.at == r->lexer.end)
      return tl_fail(r->d, TL_INVALID_MODEL, here(r), "the text ends within a %s", m->name);
    TL_TRY(read_field(r, m, &packed, &seen, depth));
    end_field(r);
    if (r->out->failed)
      return TL_NO_MEMORY;
  }
  end_run(r, &packed);
  return r->out->failed ? TL_NO_MEMORY : TL_OK;
}

static tl_text_lexer start(tl_sv text) {
  tl_text_lexer l = {.at = text.p, .end = text.p + text.n, .line_start = text.p, .line = 1};
  if (text.n >= 3 && memcmp(text.p, "\xef\xbb\xbf", 3) == 0) /* byte order mark */
    l.at += 3;
  return l;
}

tl_status tl_prototext_encode(tl_diag *d, const char *path, tl_sv text, const tl_text_message *root,
                              tl_buf *out) {
  reader r = {.d = d, .path = path, .lexer = start(text), .out = out};
  TL_TRY(read_fields(&r, root, '\0', 0));
  if (r.n_unknown)
    tl_warn(d, (tl_location){.file = path, .line = r.unknown_line},
            "%u fields are unknown, the first is '%.*s'; they are skipped", r.n_unknown,
            TL_SV_ARG(tl_sv_shown(r.unknown)));
  return TL_OK;
}

/* ---- a look at the first fields -------------------------------------------------------------- */

bool tl_prototext_peek(tl_sv text, tl_text_peek_fn each, void *user) {
  tl_diag silent = {0};
  reader r = {.d = &silent, .path = "", .lexer = start(text)};
  tl_text_peek peek = {.depth = 0};
  for (;;) {
    if (peek.depth && tl_text_take(&r.lexer, '}')) {
      peek.depth = 0;
      end_field(&r);
      continue;
    }
    if (field_name(&r, &peek.name) != TL_OK)
      return r.lexer.at == r.lexer.end;
    bool colon = tl_text_take(&r.lexer, ':');
    char c = tl_text_next(&r.lexer);
    if (!colon && c != '{' && c != '<')
      return false;
    if (!each(user, peek))
      return true;
    if (peek.depth == 0 && tl_text_take(&r.lexer, '{'))
      peek.depth = 1;
    else if (skip_value(&r, 1) != TL_OK)
      return false;
    else
      end_field(&r);
  }
}
