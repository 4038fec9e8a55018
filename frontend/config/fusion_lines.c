/* SPDX-License-Identifier: Apache-2.0 */
/* Reads switch files in the older line format: PASS:on or PASS:off, for both kinds of pass. */
#include <stdio.h>

#include "frontend/config/config_file.h"
#include "frontend/config/fusion_draft.h"

typedef struct line_reader {
  tl_diag *diag;
  tl_arena *arena;
  tl_location at;            /* the line being read */
  const tl_json_error *json; /* NULL: the text does not look like JSON */
  tl_fusion_draft draft;
  tl_switch all;
} line_reader;

/* Reports a bad line. subject: the bytes that the reason is about; NULL means the line as a whole.
 * A text that looks like JSON but is not gets both reasons, because only the user knows which
 * format was meant. */
static tl_status fail_line(const line_reader *r, const char *reason, tl_sv subject) {
  tl_sv shown = tl_sv_shown(subject);
  if (!subject.p)
    return tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E20003", r->at, "the line %s", reason);
  if (!r->json)
    return tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E20003", r->at, "'%.*s' %s",
                        TL_SV_ARG(shown), reason);
  tl_location at = {
      .file = r->at.file, .line = r->json->place.line, .column = r->json->place.column};
  return tl_fail_code(r->diag, TL_INVALID_ARGUMENT, "E20003", at,
                      "not JSON: %s at %u:%u; nor lines of the form PASS:on or PASS:off: in line "
                      "%u, '%.*s' %s",
                      r->json->problem, at.line, at.column, r->at.line, TL_SV_ARG(shown), reason);
}

/* Returns true for well-formed UTF-8 without control characters. */
static bool is_text(tl_sv s) {
  while (s.n) {
    size_t length = tl_utf8_length(s);
    if (length == 0 || (unsigned char)*s.p < 0x20 || *s.p == 0x7f)
      return false;
    s = (tl_sv){s.p + length, s.n - length};
  }
  return true;
}

static tl_status read_all(line_reader *r, int value) {
  if (r->all)
    return fail_line(r, "is given twice", TL_SV("ALL"));
  r->all = value ? TL_SWITCH_ON : TL_SWITCH_OFF;
  return TL_OK;
}

/* Reads one line that is not empty. A line without a name before ':' is skipped. */
static tl_status read_line(line_reader *r, tl_sv line) {
  const char *colon = memchr(line.p, ':', line.n);
  if (!colon && tl_sv_trim(line).n == 0)
    return fail_line(r, "has only blanks; remove the line or the blanks", (tl_sv){NULL, 0});
  if (!colon)
    return fail_line(r, "has no ':' between pass and on or off", tl_sv_trim(line));
  tl_sv name = tl_sv_trim((tl_sv){line.p, (size_t)(colon - line.p)});
  tl_sv word = tl_sv_trim((tl_sv){colon + 1, line.n - (size_t)(colon - line.p) - 1});
  int value = tl_fusion_on_off(word);
  if (name.n == 0)
    return TL_OK;
  if (!is_text(name))
    return fail_line(r, "has a byte that is not text", name);
  if (value < 0) {
    char reason[160];
    tl_sv shown = tl_sv_shown(name);
    snprintf(reason, sizeof reason, "is not on or off, for pass '%.*s'", TL_SV_ARG(shown));
    return fail_line(r, reason, word);
  }
  if (tl_sv_is(name, "ALL"))
    return read_all(r, value);
  r->at.column = (uint32_t)(name.p - line.p) + 1;
  if (tl_fusion_draft_add(&r->draft, r->arena, name, value, r->at) != TL_OK)
    return tl_fail_memory(r->diag, r->at);
  return TL_OK;
}

tl_status tl_read_fusion_lines(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                               const tl_json_error *json, tl_fusion_config *out) {
  line_reader r = {.diag = d, .arena = a, .at = {.file = path}, .json = json};
  tl_status status = TL_OK;
  for (tl_sv rest = tl_config_without_mark(text); rest.p && status == TL_OK;) {
    tl_sv line = tl_sv_split(&rest, '\n');
    r.at.line++;
    r.at.column = 1;
    if (line.n)
      status = read_line(&r, line);
  }
  if (status != TL_OK) {
    tl_fusion_draft_release(&r.draft);
    return status;
  }
  tl_fusion_list list;
  TL_TRY(tl_fusion_draft_finish(&r.draft, d, a, TL_REPEAT_NAME_FAILS, "E20003", &list));
  /* The line format does not tell the two kinds of pass apart, so both get the same list. */
  for (int kind = 0; kind < TL_N_FUSION_SECTIONS; kind++) {
    out->file[kind] = list;
    out->file_all[kind] = r.all;
  }
  out->both_kinds = true;
  return TL_OK;
}
