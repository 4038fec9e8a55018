/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what a conversion said (said.h). */
#include "tools/cache/said.h"

#include "support/json_writer.h"

bool tl_said_can_keep(tl_sv s) {
  while (s.n) {
    size_t n = tl_utf8_length(s);
    if (n == 0 || s.p[0] == '\0')
      return false;
    s = (tl_sv){s.p + n, s.n - n};
  }
  return true;
}

static bool put(tl_json_writer *w, const char *key, tl_sv text) {
  if (text.n)
    tl_member_sv(w, key, text);
  return tl_said_can_keep(text);
}

static tl_sv view(const char *z) { return z ? tl_sv_from(z) : (tl_sv){"", 0}; }

bool tl_said_add_message(tl_buf *out, const tl_diagnostic *d) {
  if (out->n)
    tl_buf_add_z(out, ", ");
  tl_json_writer w = tl_json_to(out);
  tl_put_object(&w);
  tl_member_u64(&w, "severity", d->severity);
  tl_member_u64(&w, "status", d->status);
  bool good = put(&w, "code", view(d->code)) && put(&w, "file", view(d->where.file)) &&
              put(&w, "node", d->where.node) && put(&w, "attribute", d->where.attr) &&
              put(&w, "message", view(d->message)) && put(&w, "hint", view(d->hint));
  if (d->where.line)
    tl_member_u64(&w, "line", d->where.line);
  if (d->where.column)
    tl_member_u64(&w, "column", d->where.column);
  if (d->where.has_offset)
    tl_member_u64(&w, "offset", d->where.offset);
  tl_put_end(&w);
  return good;
}

bool tl_said_add_note(tl_buf *out, tl_sv text) {
  if (text.n == 0)
    return true;
  if (out->n)
    tl_buf_add_z(out, ", ");
  tl_json_writer w = tl_json_to(out);
  tl_put_object(&w);
  tl_member_sv(&w, "note", text);
  tl_put_end(&w);
  return tl_said_can_keep(text);
}

/* ---- again ----------------------------------------------------------------------------------- */

static const char *text_of(const cJSON *row, const char *key) {
  return cJSON_GetStringValue(cJSON_GetObjectItem(row, key));
}

static uint64_t number_of(const cJSON *row, const char *key) {
  const cJSON *item = cJSON_GetObjectItem(row, key);
  return cJSON_IsNumber(item) && item->valuedouble > 0 ? (uint64_t)item->valuedouble : 0;
}

static void say(tl_cli *cli, const cJSON *row) {
  uint64_t severity = number_of(row, "severity");
  tl_diagnostic d = {.severity = severity > TL_ERROR ? TL_ERROR : (tl_severity)severity,
                     .status = (tl_status)number_of(row, "status"),
                     .code = text_of(row, "code"),
                     .message = text_of(row, "message"),
                     .hint = text_of(row, "hint")};
  d.where = (tl_location){.file = text_of(row, "file"),
                          .node = view(text_of(row, "node")),
                          .attr = view(text_of(row, "attribute")),
                          .line = (uint32_t)number_of(row, "line"),
                          .column = (uint32_t)number_of(row, "column"),
                          .offset = number_of(row, "offset"),
                          .has_offset = cJSON_GetObjectItem(row, "offset") != NULL};
  cli->diag.warnings += d.severity == TL_WARNING;
  if (cli->diag.fn && d.message)
    cli->diag.fn(cli->diag.user, &d);
}

void tl_said_again(tl_cli *cli, const cJSON *messages, bool notes) {
  const cJSON *row;
  cJSON_ArrayForEach(row, messages) {
    const char *note = text_of(row, "note");
    if (!note && !notes)
      say(cli, row);
    if (!note || !notes)
      continue;
    tl_buf text;
    tl_buf_init(&text);
    tl_buf_add_z(&text, note);
    tl_cli_note(cli, &text);
  }
}
