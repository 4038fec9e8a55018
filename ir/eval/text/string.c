/* SPDX-License-Identifier: Apache-2.0 */
/* Computes ops on strings: StringConcat, StringSplit, StringNormalizer, RegexFullMatch. Strings are
 * bytes; where letters matter they are UTF-8. */
#include "ir/eval/kernel/move.h"
#include "ir/eval/text/regex.h"

/* Gives the strings of an operand, which must be a tensor of them. */
static tl_status need_strings(tl_eval *ctx, uint32_t i, const tl_sv **out) {
  const tl_host *t = tl_eval_in(ctx, i);
  if (!t || t->kind != TL_HOST_TENSOR || t->dtype != TL_DTYPE_STRING)
    return tl_eval_fail(ctx, "operand %u must be a tensor of strings", i);
  *out = t->data;
  return TL_OK;
}

/* ---- StringConcat --------------------------------------------------------------------------- */

/* Joins two strings; an empty one leaves a view of the other. */
static tl_status join(tl_eval *ctx, tl_sv a, tl_sv b, tl_sv *out) {
  if (!a.n || !b.n) {
    *out = a.n ? a : b;
    return TL_OK;
  }
  char *text = a.n > SIZE_MAX - b.n ? NULL : tl_host_text(ctx->heap, a.n + b.n);
  if (!text)
    return tl_eval_no_memory(ctx);
  memcpy(text, a.p, a.n);
  memcpy(text + a.n, b.p, b.n);
  *out = (tl_sv){text, a.n + b.n};
  return TL_OK;
}

/* Walks the broadcast operands like an odometer. */
tl_status tl_eval_string_concat(tl_eval *ctx) {
  const tl_sv *s[2];
  int rank;
  int64_t dims[TL_MAX_RANK], strides[2][TL_MAX_RANK], at[TL_MAX_RANK] = {0}, place[2] = {0, 0};
  tl_host *y;
  for (uint32_t i = 0; i < 2; i++)
    TL_TRY(need_strings(ctx, i, &s[i]));
  TL_TRY(tl_eval_broadcast(ctx, ctx->in, 2, &rank, dims, strides));
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_STRING, rank, dims, &y));
  for (uint64_t k = 0; k < y->n; k++) {
    TL_TRY(join(ctx, s[0][place[0]], s[1][place[1]], &((tl_sv *)y->data)[k]));
    for (int d = rank - 1; d >= 0; d--) {
      place[0] += strides[0][d];
      place[1] += strides[1][d];
      if (++at[d] < dims[d])
        break;
      place[0] -= at[d] * strides[0][d];
      place[1] -= at[d] * strides[1][d];
      at[d] = 0;
    }
  }
  return TL_OK;
}

/* ---- StringSplit ---------------------------------------------------------------------------- */

typedef struct splitter {
  tl_sv delimiter; /* empty: runs of blanks, none at the ends */
  uint64_t most;   /* splits */
} splitter;

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static tl_sv skip_blanks(tl_sv s) {
  while (s.n && is_blank(*s.p))
    s = (tl_sv){s.p + 1, s.n - 1};
  return s;
}

/* Cuts the next part off *rest; false when there is none. done: the splits so far. When `most`
 * splits are done, the rest is the last part. */
static bool next_part(const splitter *w, uint64_t done, tl_sv *rest, tl_sv *part) {
  if (!rest->p)
    return false;
  if (!w->delimiter.n) {
    *rest = skip_blanks(*rest);
    if (!rest->n)
      return false;
  }
  size_t width = w->delimiter.n ? w->delimiter.n : 1;
  for (size_t i = 0; done < w->most && i + width <= rest->n; i++) {
    bool here = w->delimiter.n ? memcmp(rest->p + i, w->delimiter.p, width) == 0
                               : is_blank(rest->p[i]);
    if (!here)
      continue;
    *part = (tl_sv){rest->p, i};
    *rest = (tl_sv){rest->p + i + width, rest->n - i - width};
    return true;
  }
  *part = *rest;
  rest->p = NULL;
  return true;
}

/* Counting allocates nothing. */
static uint64_t count_parts(const splitter *w, tl_sv s) {
  uint64_t n = 0;
  tl_sv part;
  while (next_part(w, n, &s, &part))
    n++;
  return n;
}

/* Splits every string twice: first to count the parts, since the longest count is a dim of the
 * result. */
tl_status tl_eval_string_split(tl_eval *ctx) {
  const tl_sv *s;
  tl_host *parts, *counts;
  int64_t dims[TL_MAX_RANK], longest = 0;
  TL_TRY(need_strings(ctx, 0, &s));
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK - 1));
  const tl_host *t = ctx->in[0];
  bool bounded = tl_node_attr(ctx->m, ctx->node, TL_SYM_maxsplit) != NULL;
  int64_t most = tl_eval_int(ctx, TL_SYM_maxsplit, 0);
  splitter w = {tl_eval_string(ctx, TL_SYM_delimiter),
                bounded && most >= 0 ? (uint64_t)most : UINT64_MAX};
  TL_TRY(tl_eval_result(ctx, 1, TL_DTYPE_I64, t->rank, t->dims, &counts));
  for (uint64_t i = 0; i < t->n; i++) {
    int64_t n = (int64_t)count_parts(&w, s[i].p ? s[i] : TL_SV(""));
    ((int64_t *)counts->data)[i] = n;
    longest = n > longest ? n : longest;
  }
  for (int i = 0; i < t->rank; i++)
    dims[i] = t->dims[i];
  dims[t->rank] = longest;
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_STRING, t->rank + 1, dims, &parts));
  tl_sv *out = parts->data;
  for (uint64_t i = 0; i < t->n; i++, out += longest) {
    tl_sv rest = s[i].p ? s[i] : TL_SV("");
    for (uint64_t k = 0; k < (uint64_t)((int64_t *)counts->data)[i]; k++)
      next_part(&w, k, &rest, &out[k]);
  }
  return TL_OK;
}

/* ---- StringNormalizer ----------------------------------------------------------------------- */

typedef enum letter_case { CASE_NONE, CASE_LOWER, CASE_UPPER } letter_case;

/* Upper-case letters of two bytes whose lower-case form is `offset` on. Alternating blocks: the
 * even (or odd) code point is the upper one. */
typedef struct case_block {
  uint16_t first;
  uint16_t last;
  uint8_t offset;
  bool alternating;
} case_block;

static const case_block case_blocks[] = {
    {0x00c0, 0x00d6, 32, false}, {0x00d8, 0x00de, 32, false}, {0x0100, 0x012f, 1, true},
    {0x0132, 0x0137, 1, true},   {0x0139, 0x0148, 1, true},   {0x014a, 0x0177, 1, true},
    {0x0179, 0x017e, 1, true},   {0x0391, 0x03a1, 32, false}, {0x03a3, 0x03ab, 32, false},
    {0x0400, 0x040f, 80, false}, {0x0410, 0x042f, 32, false}, {0x0460, 0x0481, 1, true},
    {0x048a, 0x04bf, 1, true},   {0x04d0, 0x052f, 1, true},
};

/* Returns a code point below 0x800 in the other case; both cases take two bytes. 0x3c2, the final
 * sigma, has no upper-case form of its own in this table. */
static unsigned change_letter(unsigned c, letter_case to) {
  for (size_t i = 0; i < sizeof case_blocks / sizeof *case_blocks; i++) {
    const case_block *b = &case_blocks[i];
    bool in_upper = c >= b->first && c <= b->last;
    bool upper = in_upper && (!b->alternating || (c - b->first) % 2 == 0);
    bool lower = b->alternating ? in_upper && !upper
                                : c >= (unsigned)b->first + b->offset &&
                                      c <= (unsigned)b->last + b->offset && c != 0x3c2;
    if (to == CASE_LOWER && upper)
      return c + b->offset;
    if (to == CASE_UPPER && lower)
      return c - b->offset;
  }
  return c;
}

/* Changes letters in place; longer sequences of UTF-8 and damaged ones stay as they are. */
static void change_case(char *s, size_t n, letter_case to) {
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)s[i];
    if (to == CASE_LOWER && c >= 'A' && c <= 'Z')
      s[i] = (char)(c + 32);
    else if (to == CASE_UPPER && c >= 'a' && c <= 'z')
      s[i] = (char)(c - 32);
    else if (c >= 0xc2 && c <= 0xdf && i + 1 < n && ((unsigned char)s[i + 1] & 0xc0) == 0x80) {
      unsigned letter = change_letter((c & 0x1fu) << 6 | ((unsigned char)s[i + 1] & 0x3fu), to);
      s[i] = (char)(0xc0 | letter >> 6);
      s[++i] = (char)(0x80 | (letter & 0x3f));
    }
  }
}

/* Makes a copy in another case: `kept` for a result, in scratch for a comparison. CASE_NONE gives
 * the same string. */
static tl_status in_case(tl_eval *ctx, tl_sv s, letter_case to, bool kept, tl_sv *out) {
  *out = s;
  if (to == CASE_NONE || !s.n)
    return TL_OK;
  char *text = kept ? tl_host_text(ctx->heap, s.n) : tl_eval_scratch(ctx, s.n, 1);
  if (!text)
    return tl_eval_no_memory(ctx);
  memcpy(text, s.p, s.n);
  change_case(text, s.n, to);
  *out = (tl_sv){text, s.n};
  return TL_OK;
}

/* Words that are dropped. */
typedef struct stop_words {
  tl_sv *at; /* in lower case when case does not matter */
  uint32_t n;
  bool any_case;
} stop_words;

static tl_status read_stop_words(tl_eval *ctx, stop_words *w) {
  const tl_attr *a = tl_node_attr(ctx->m, ctx->node, TL_SYM_stopwords);
  w->any_case = tl_eval_int(ctx, TL_SYM_is_case_sensitive, 0) == 0;
  w->n = a && a->kind == TL_ATTR_STRINGS ? a->count : 0;
  w->at = tl_eval_scratch(ctx, w->n, sizeof *w->at);
  if (!w->at)
    return tl_eval_no_memory(ctx);
  for (uint32_t i = 0; i < w->n; i++)
    TL_TRY(in_case(ctx, tl_sym(ctx->m, a->u.ids[i]), w->any_case ? CASE_LOWER : CASE_NONE, false,
                   &w->at[i]));
  return TL_OK;
}

/* Both sides are in lower case when case does not matter. */
static tl_status is_stop_word(tl_eval *ctx, const stop_words *w, tl_sv s, bool *out) {
  *out = false;
  if (w->n)
    TL_TRY(in_case(ctx, s, w->any_case ? CASE_LOWER : CASE_NONE, false, &s));
  for (uint32_t i = 0; i < w->n && !*out; i++)
    *out = tl_sv_eq(w->at[i], s);
  return TL_OK;
}

/* Turkish and Azeri map i and I differently, which this table does not. */
static tl_status read_case(tl_eval *ctx, letter_case *out) {
  tl_sv text = tl_eval_string(ctx, TL_SYM_case_change_action);
  *out = tl_sv_is(text, "LOWER") ? CASE_LOWER : tl_sv_is(text, "UPPER") ? CASE_UPPER : CASE_NONE;
  if (*out == CASE_NONE && text.n && !tl_sv_is(text, "NONE"))
    return tl_eval_fail(ctx, "case_change_action '%.*s' is none of LOWER, UPPER, NONE",
                        TL_SV_ARG(text));
  tl_sv locale = tl_eval_string(ctx, TL_SYM_locale);
  if (*out != CASE_NONE && (tl_sv_starts_with(locale, "tr") || tl_sv_starts_with(locale, "az")))
    return tl_eval_unsupported(ctx, "letter case of the locale '%.*s'", TL_SV_ARG(locale));
  return TL_OK;
}

/* StringNormalizer: the words that are no stop words, in another case; one empty word when none is
 * left. */
tl_status tl_eval_string_normalizer(tl_eval *ctx) {
  const tl_sv *s;
  letter_case to;
  stop_words stop;
  tl_host *y;
  TL_TRY(need_strings(ctx, 0, &s));
  TL_TRY(tl_eval_need_rank(ctx, 0, 1, 2));
  const tl_host *t = ctx->in[0];
  if (t->rank == 2 && t->dims[0] != 1)
    return tl_eval_fail(ctx, "a matrix of strings must have one row");
  TL_TRY(read_case(ctx, &to));
  TL_TRY(read_stop_words(ctx, &stop));
  uint64_t n = 0;
  tl_sv *kept = tl_eval_scratch(ctx, t->n, sizeof *kept);
  if (!kept)
    return tl_eval_no_memory(ctx);
  for (uint64_t i = 0; i < t->n; i++) {
    bool drop;
    TL_TRY(is_stop_word(ctx, &stop, s[i], &drop));
    if (!drop)
      TL_TRY(in_case(ctx, s[i], to, true, &kept[n++]));
  }
  int64_t dims[2] = {1, n ? (int64_t)n : 1};
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_STRING, t->rank, t->rank == 2 ? dims : dims + 1, &y));
  if (n)
    memcpy(y->data, kept, (size_t)n * sizeof *kept);
  return TL_OK;
}

/* ---- RegexFullMatch ------------------------------------------------------------------------- */

/* The pattern is compiled once for all strings. */
tl_status tl_eval_regex_full_match(tl_eval *ctx) {
  const tl_sv *s;
  const char *why;
  tl_host *y;
  TL_TRY(need_strings(ctx, 0, &s));
  tl_sv pattern = tl_eval_string(ctx, TL_SYM_pattern);
  const tl_regex *r = tl_regex_compile(ctx->scratch, pattern, &why);
  if (!r)
    return why ? tl_eval_unsupported(ctx, "the pattern '%.*s' has %s", TL_SV_ARG(pattern), why)
               : tl_eval_no_memory(ctx);
  TL_TRY(tl_eval_result_like(ctx, 0, TL_DTYPE_BOOL, ctx->in[0], &y));
  for (uint64_t i = 0; i < y->n; i++) {
    bool matched = false;
    if (tl_regex_match(r, ctx->scratch, s[i], &matched) != TL_OK)
      return tl_eval_no_memory(ctx);
    ((uint8_t *)y->data)[i] = matched;
  }
  return TL_OK;
}
