/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnostics: formatting and delivery to the sink. */
#include "support/diag.h"

#include <stdio.h>

#include "support/memory.h"

/* Longest message when there is no memory for a longer one. */
enum { SHORT = 2048 };

/* Any failed allocation since tl_diag_begin counts. */
bool tl_diag_lacks_memory(const tl_diag *d) { return tl_memory_failures() != d->lacks; }

uint32_t tl_diag_begin(tl_diag *d) {
  d->no_memory = false;
  d->activity.doing = NULL;
  d->lacks = tl_memory_failures();
  return d->errors;
}

tl_activity tl_activity_begin(tl_diag *d, const char *doing, const char *subject) {
  tl_activity around = d->activity;
  d->activity.doing = doing;
  snprintf(d->activity.subject, sizeof d->activity.subject, "%s", subject);
  return around;
}

tl_status tl_activity_end(tl_diag *d, tl_activity around, tl_status status) {
  if (status == TL_OK)
    d->activity = around;
  return status;
}

/* Writes that memory is out, and what was being done. */
static void say_lack(const tl_diag *d, char *out, size_t n) {
  const tl_activity *t = &d->activity;
  if (t->doing)
    snprintf(out, n, "out of memory %s '%s'", t->doing, t->subject);
  else
    snprintf(out, n, "out of memory");
}

/* Says once that memory is out. Allocates nothing. */
static void deliver_lack(tl_diag *d, const char *file) {
  char message[SHORT];
  say_lack(d, message, sizeof message);
  if (!d->no_memory) {
    d->errors++;
    if (d->fn)
      d->fn(d->user,
            &(tl_diagnostic){TL_ERROR, NULL, TL_AT_FILE(file), message, NULL, TL_NO_MEMORY});
  }
  d->no_memory = d->fn != NULL; /* who hears nothing yet has to be told later */
}

/* What a message is beside its severity. */
typedef struct kind_of {
  const char *code; /* or NULL */
  tl_status status; /* of an error */
} kind_of;

/* Formats a message and hands it to the sink. When an allocation has failed, only that is said: a
 * message built from incomplete data could be wrong. */
static void deliver(tl_diag *d, tl_severity severity, const kind_of *kind, tl_location where,
                    const char *fmt, va_list ap) {
  if (tl_diag_lacks_memory(d) || d->no_memory) {
    deliver_lack(d, where.file);
    return;
  }
  if (severity == TL_ERROR)
    d->errors++;
  else if (severity == TL_WARNING)
    d->warnings++;
  if (!d->fn)
    return;
  char room[SHORT]; /* without memory messages are cut, not lost */
  tl_buf text;
  va_list again;
  va_copy(again, ap);
  vsnprintf(room, sizeof room, fmt, again);
  va_end(again);
  tl_buf_init(&text);
  tl_buf_vprintf(&text, fmt, ap);
  char *message = text.failed || !text.p ? room : text.p;
  char *hint = strchr(message, '\v');
  if (hint)
    *hint++ = '\0';
  d->fn(d->user, &(tl_diagnostic){severity, kind->code, where, message, hint, kind->status});
  tl_buf_release(&text);
}

tl_status tl_fail(tl_diag *d, tl_status status, tl_location where, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  deliver(d, TL_ERROR, &(kind_of){NULL, status}, where, fmt, ap);
  d->no_memory = d->no_memory || (status == TL_NO_MEMORY && d->fn);
  va_end(ap);
  return status;
}

/* A failure that nobody has reported yet gets the general words of its status. */
tl_status tl_diag_close(tl_diag *d, tl_status status, uint32_t errors_before) {
  if (tl_diag_lacks_memory(d) || d->no_memory)
    status = TL_NO_MEMORY;
  bool silent = d->errors == errors_before || (status == TL_NO_MEMORY && !d->no_memory);
  if (status == TL_NO_MEMORY && silent)
    return tl_fail_memory(d, TL_NOWHERE);
  if (status != TL_OK && silent)
    return tl_fail(d, status, TL_NOWHERE, "%s", tl_status_words(status));
  return status;
}

tl_status tl_fail_memory(tl_diag *d, tl_location where) {
  char message[SHORT];
  say_lack(d, message, sizeof message);
  return tl_fail(d, TL_NO_MEMORY, where, "%s", message);
}

tl_status tl_fail_code(tl_diag *d, tl_status status, const char *code, tl_location where,
                       const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  deliver(d, TL_ERROR, &(kind_of){code, status}, where, fmt, ap);
  d->no_memory = d->no_memory || (status == TL_NO_MEMORY && d->fn);
  va_end(ap);
  return status;
}

void tl_warn(tl_diag *d, tl_location where, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  deliver(d, TL_WARNING, &(kind_of){NULL, TL_OK}, where, fmt, ap);
  va_end(ap);
}

void tl_warn_code(tl_diag *d, const char *code, tl_location where, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  deliver(d, TL_WARNING, &(kind_of){code, TL_OK}, where, fmt, ap);
  va_end(ap);
}

void tl_note(tl_diag *d, tl_location where, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  deliver(d, TL_NOTE, &(kind_of){NULL, TL_OK}, where, fmt, ap);
  va_end(ap);
}

const char *tl_diagnostic_code(const tl_diagnostic *d) {
  if (d->code)
    return d->code;
  return d->severity == TL_ERROR     ? tl_status_name(d->status)
         : d->severity == TL_WARNING ? "W_GENERAL"
                                     : "N_GENERAL";
}

/* Adds a name, quoted when it has control bytes: names come from hostile files and must not control
 * a terminal. */
static void add_name(tl_buf *out, tl_sv name) {
  bool plain = true;
  for (size_t i = 0; i < name.n; i++)
    plain &= (unsigned char)name.p[i] > 0x20 && name.p[i] != 0x7f;
  size_t shown = name.n > 200 ? 200 : name.n;
  if (plain)
    tl_buf_add(out, name.p, shown);
  else
    tl_buf_add_quoted(out, (tl_sv){name.p, shown});
  if (shown < name.n)
    tl_buf_add_z(out, "...");
}

/* Adds a message that may quote names of the file: control bytes are escaped, UTF-8 stays. */
static void add_message(tl_buf *out, const char *message) {
  for (const char *c = message; *c; c++) {
    if ((unsigned char)*c < 0x20 || *c == 0x7f)
      tl_buf_printf(out, "\\x%02x", (unsigned char)*c);
    else
      tl_buf_add_char(out, *c);
  }
}

/* "file:line:col: "; messages without a file are tailor's own. */
static void add_place(tl_buf *out, const tl_location *where) {
  tl_buf_add_z(out, where->file ? where->file : "tailor");
  if (where->line)
    tl_buf_printf(out, ":%u", where->line);
  if (where->line && where->column)
    tl_buf_printf(out, ":%u", where->column);
  tl_buf_add_z(out, ": ");
}

static const char *const severities[] = {"note", "warning", "error"};

void tl_diag_format_short(char *out, size_t n, const tl_diagnostic *d) {
  snprintf(out, n, "%s: %s: %.*s%s%s", d->where.file ? d->where.file : "tailor",
           severities[d->severity], (int)(d->where.node.n > 200 ? 200 : d->where.node.n),
           d->where.node.n ? d->where.node.p : "", d->where.node.n ? ": " : "", d->message);
  for (char *c = out; *c; c++) {
    if ((unsigned char)*c < 0x20 || *c == 0x7f)
      *c = '?'; /* control bytes must not reach a terminal */
  }
}

void tl_diag_format(tl_buf *out, const tl_diagnostic *d) {
  add_place(out, &d->where);
  tl_buf_printf(out, "%s: ", severities[d->severity]);
  if (d->where.node.n) {
    tl_buf_add_z(out, "node ");
    add_name(out, d->where.node);
    tl_buf_add_z(out, ": ");
  }
  if (d->where.attr.n) {
    add_name(out, d->where.attr);
    tl_buf_add_z(out, ": ");
  }
  add_message(out, d->message);
  if (d->where.has_offset)
    tl_buf_printf(out, " (at byte %llu)", (unsigned long long)d->where.offset);
  if (d->code)
    tl_buf_printf(out, " [%s]", d->code);
  tl_buf_add_char(out, '\n');
  if (d->hint)
    tl_buf_printf(out, "  hint: %s\n", d->hint);
}
