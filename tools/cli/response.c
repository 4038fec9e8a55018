/* SPDX-License-Identifier: Apache-2.0 */
/* Reads response files (response.h), as gcc and clang do. */
#include "tools/cli/response.h"

#include "support/file.h"
#include "tools/cli/options_json.h"

/* Files within files; more can only be a circle. */
enum { MAX_DEPTH = 16 };

/* A file that is being read. */
typedef struct reader {
  tl_diag *d;
  tl_arguments *out;
  const char *path;
  const char *at;
  const char *end;
  bool words_only; /* "--" was seen */
  int depth;
} reader;

static tl_status take(reader *r, char *argument);

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static tl_location here(const reader *r, const char *start) {
  uint32_t line = 1;
  for (const char *c = start; c < r->at; c++)
    line += *c == '\n';
  return (tl_location){.file = r->path, .line = line};
}

/* Appends what stands in quotes; r->at is behind the first one. False: the last one is missing. */
static bool add_quoted(reader *r, char quote, tl_buf *word) {
  for (; r->at < r->end && *r->at != quote; r->at++) {
    bool escapes = quote == '"' && *r->at == '\\' && r->at + 1 < r->end &&
                   (r->at[1] == '"' || r->at[1] == '\\' || r->at[1] == '$');
    tl_buf_add_char(word, *(r->at += escapes));
  }
  return r->at++ < r->end;
}

/* Reads one argument, which begins at r->at. */
static tl_status read_word(reader *r, const char *start, tl_buf *word) {
  tl_location where = here(r, start);
  while (r->at < r->end && !is_blank(*r->at)) {
    char c = *r->at++;
    if (c == '\0')
      return tl_fail(r->d, TL_INVALID_ARGUMENT, where,
                     "the response file has a NUL byte, so it is no text");
    if (c == '\'' || c == '"') {
      if (!add_quoted(r, c, word))
        return tl_fail(r->d, TL_INVALID_ARGUMENT, where, "this argument has no closing %c", c);
    } else {
      tl_buf_add_char(word, c == '\\' && r->at < r->end ? *r->at++ : c);
    }
  }
  return TL_OK;
}

static tl_status read_words(reader *r) {
  const char *start = r->at;
  tl_buf word;
  tl_status status = TL_OK;
  tl_buf_init(&word);
  while (status == TL_OK) {
    while (r->at < r->end && is_blank(*r->at))
      r->at++;
    if (r->at == r->end)
      break;
    tl_buf_clear(&word);
    status = read_word(r, start, &word);
    char *copy = word.failed ? NULL : tl_arena_copy(&r->out->arena, word.n ? word.p : "", word.n);
    if (status == TL_OK)
      status = copy ? take(r, copy) : tl_fail_memory(r->d, TL_AT_FILE(r->path));
  }
  tl_buf_release(&word);
  return status;
}

/* Takes an argument that JSON stands for. It is an argument as it is, whatever it begins with. */
static tl_status take_plain(void *user, const char *argument) {
  reader *r = user;
  char *copy = tl_arena_copy(&r->out->arena, argument, strlen(argument));
  bool kept = copy && tl_argument_vec_push(&r->out->list, copy);
  return kept ? TL_OK : tl_fail_memory(r->d, TL_AT_FILE(r->path));
}

/* Returns true for text that begins as the jobs of --batch do: a list of objects in JSON. */
static bool looks_like_jobs(tl_sv shown) {
  tl_sv inner = shown.n && shown.p[0] == '[' ? tl_sv_trim((tl_sv){shown.p + 1, shown.n - 1})
                                             : (tl_sv){0};
  return inner.n && inner.p[0] == '{';
}

/* Reads a file of --options-json, which begins with '{', or a list of arguments. */
static tl_status read_text(reader *r) {
  tl_sv text = {r->at, (size_t)(r->end - r->at)};
  tl_sv shown = tl_sv_trim(text);
  if (shown.n && shown.p[0] == '{')
    return tl_options_json_read(
        &(tl_argument_sink){.d = r->d, .path = r->path, .add = take_plain, .user = r}, text);
  if (looks_like_jobs(shown))
    return tl_fail(r->d, TL_INVALID_ARGUMENT, TL_AT_FILE(r->path),
                   "is a list of jobs, and a response file has arguments\v"
                   "tailor convert --batch %s runs the jobs",
                   r->path);
  return read_words(r);
}

static tl_status read_file(reader *above, char *path) {
  reader r = *above;
  tl_file *file;
  r.path = path;
  r.depth++;
  if (r.depth > MAX_DEPTH)
    return tl_fail(r.d, TL_INVALID_ARGUMENT, TL_AT_FILE(path),
                   "response files name each other more than %d deep\vone of them names itself",
                   MAX_DEPTH);
  if (!tl_argument_vec_push(&r.out->files, path))
    return tl_fail_memory(r.d, TL_AT_FILE(path));
  TL_TRY(tl_file_open(r.d, path, TL_FILE_READ, &file));
  r.at = file->size ? (const char *)file->data : "";
  r.end = r.at + file->size;
  tl_status status = read_text(&r);
  above->words_only = r.words_only;
  tl_file_close(file);
  return status;
}

/* Adds an argument, or what is in the file that it names. */
static tl_status take(reader *r, char *argument) {
  if (argument[0] == '@' && argument[1] && !r->words_only)
    return read_file(r, argument + 1);
  r->words_only |= strcmp(argument, "--") == 0;
  return tl_argument_vec_push(&r->out->list, argument) ? TL_OK : tl_fail_memory(r->d, TL_NOWHERE);
}

tl_status tl_arguments_read(tl_diag *d, int argc, char **argv, tl_arguments *out) {
  reader r = {.d = d, .out = out};
  tl_arena_init(&out->arena, 0);
  if (argc > 0 && !tl_argument_vec_push(&out->list, argv[0]))
    return tl_fail_memory(d, TL_NOWHERE);
  for (int i = 1; i < argc; i++)
    TL_TRY(take(&r, argv[i]));
  if (!tl_argument_vec_push(&out->list, NULL))
    return tl_fail_memory(d, TL_NOWHERE);
  out->list.n--;
  return TL_OK;
}

void tl_arguments_release(tl_arguments *a) {
  tl_argument_vec_release(&a->list);
  tl_argument_vec_release(&a->files);
  tl_arena_release(&a->arena);
}
