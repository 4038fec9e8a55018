/* SPDX-License-Identifier: Apache-2.0 */
/* Prints diagnostics as text, JSON or SARIF (messages.h). */
#include "tools/cli/messages.h"

#include <ctype.h>
#include <stdio.h>
#include <unistd.h>

#include "support/hash.h"
#include "support/json_writer.h"
#include "tools/cli/memory.h"

static const char *const severities[] = {"note", "warning", "error"};

/* ---- text ------------------------------------------------------------------------------------ */

/* Colours the severity word of a formatted message; the place before it contains no ": ". */
static void add_coloured(tl_buf *out, tl_sv text, tl_severity severity) {
  static const char *const words[] = {"note: ", "warning: ", "error: "};
  static const char *const colours[] = {"\033[36m", "\033[35m", "\033[31m"};
  const char *at = memmem(text.p, text.n, words[severity], strlen(words[severity]));
  size_t before = at ? (size_t)(at - text.p) : text.n;
  size_t word = at ? strlen(words[severity]) - 1 : 0;
  tl_buf_add(out, text.p, before);
  tl_buf_add_z(out, colours[severity]);
  tl_buf_add(out, text.p + before, word);
  tl_buf_add_z(out, "\033[0m");
  tl_buf_add(out, text.p + before + word, text.n - before - word);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_json(tl_buf *out, const tl_diagnostic *d) {
  const tl_location *at = &d->where;
  tl_json_writer w = tl_json_to(out);
  tl_put_object(&w);
  tl_member_z(&w, "severity", severities[d->severity]);
  tl_member_z(&w, "code", tl_diagnostic_code(d));
  if (at->file)
    tl_member_z(&w, "file", at->file);
  if (at->line)
    tl_member_u64(&w, "line", at->line);
  if (at->line && at->column)
    tl_member_u64(&w, "column", at->column);
  if (at->has_offset)
    tl_member_u64(&w, "offset", at->offset);
  if (at->node.n)
    tl_member_sv(&w, "node", at->node);
  if (at->attr.n)
    tl_member_sv(&w, "attribute", at->attr);
  tl_member_z(&w, "message", d->message);
  if (d->hint)
    tl_member_z(&w, "hint", d->hint);
  tl_json_finish(&w);
}

/* ---- SARIF ----------------------------------------------------------------------------------- */

/* Adds a path as a URI reference. */
static void add_uri(tl_buf *out, const char *path) {
  for (const unsigned char *c = (const unsigned char *)path; *c; c++) {
    if (isalnum(*c) || strchr("-._~/", *c))
      tl_buf_add_char(out, (char)*c);
    else
      tl_buf_printf(out, "%%%02X", *c);
  }
}

static void put_place(tl_json_writer *w, const tl_location *at) {
  tl_buf uri;
  tl_buf_init(&uri);
  add_uri(&uri, at->file);
  tl_put_key(w, "physicalLocation");
  tl_put_object(w);
  tl_put_key(w, "artifactLocation");
  tl_put_object(w);
  tl_member_sv(w, "uri", tl_buf_view(&uri));
  tl_put_end(w);
  if (at->line || at->has_offset) {
    tl_put_key(w, "region");
    tl_put_object(w);
    if (at->line)
      tl_member_u64(w, "startLine", at->line);
    if (at->line && at->column)
      tl_member_u64(w, "startColumn", at->column);
    if (at->has_offset)
      tl_member_u64(w, "byteOffset", at->offset);
    tl_put_end(w);
  }
  tl_put_end(w);
  tl_buf_release(&uri);
}

/* A node or an option is a logical location: a place in no text. */
static void put_name(tl_json_writer *w, tl_sv name, const char *kind) {
  if (name.n == 0)
    return;
  tl_put_object(w);
  tl_member_sv(w, "name", name);
  tl_member_z(w, "kind", kind);
  tl_put_end(w);
}

static void put_sarif(tl_buf *out, const tl_diagnostic *d) {
  const tl_location *at = &d->where;
  tl_json_writer w = tl_json_to(out);
  tl_put_object(&w);
  tl_member_z(&w, "ruleId", tl_diagnostic_code(d));
  tl_member_z(&w, "level", severities[d->severity]);
  tl_put_key(&w, "message");
  tl_put_object(&w);
  tl_member_z(&w, "text", d->message);
  tl_put_end(&w);
  if (at->file || at->node.n || at->attr.n) {
    tl_put_key(&w, "locations");
    tl_put_array(&w);
    tl_put_object(&w);
    if (at->file)
      put_place(&w, at);
    if (at->node.n || at->attr.n) {
      tl_put_key(&w, "logicalLocations");
      tl_put_array(&w);
      put_name(&w, at->node, "node");
      put_name(&w, at->attr, "attribute");
      tl_put_end(&w);
    }
    tl_put_end(&w);
    tl_put_end(&w);
  }
  if (d->hint) {
    tl_put_key(&w, "properties");
    tl_put_object(&w);
    tl_member_z(&w, "hint", d->hint);
    tl_put_end(&w);
  }
  tl_put_end(&w);
}

static const char words[] = "out of memory";

/* Writes m->lack, for a log or as JSON. Returns false if there is no room for it. */
static bool put_lack(tl_messages *m, const tl_diagnostic *lack) {
  tl_buf out = tl_buf_in(m->lack, sizeof m->lack);
  if (m->form == TL_MESSAGES_SARIF)
    put_sarif(&out, lack);
  else
    put_json(&out, lack);
  return !out.failed;
}

/* Says that memory is out, and what was being done where `d`, the message at hand, tells it. Says
 * it once, and takes no memory. Behind the work it is no error. */
static void say_lack(tl_messages *m, const tl_diagnostic *d) {
  bool told = strncmp(d->message, words, sizeof words - 1) == 0;
  tl_diagnostic lack = {.severity = m->is_done ? TL_WARNING : TL_ERROR,
                        .message = m->is_done ? "out of memory; all files are written"
                                   : told     ? d->message
                                              : words,
                        .status = TL_NO_MEMORY};
  if (m->memory_said)
    return;
  m->memory_said = true;
  if (m->form != TL_MESSAGES_TEXT && !put_lack(m, &lack)) {
    lack.message = words;
    (void)put_lack(m, &lack);
  }
  if (m->form == TL_MESSAGES_JSON)
    fputs(m->lack, stderr);
  else if (m->form == TL_MESSAGES_TEXT)
    fprintf(stderr, "%s: %s: %s\n", told && d->where.file ? d->where.file : "tailor",
            severities[lack.severity], lack.message);
}

/* The list of results; where memory ran out, it is not whole, and the only result says so. */
static tl_sv results_of(tl_messages *m) {
  if (m->results.failed)
    say_lack(m, &(tl_diagnostic){.message = words});
  return m->memory_said ? tl_sv_from(m->lack) : tl_buf_view(&m->results);
}

/* Gives the elements of the list to the process that makes the log. */
static void hand_over(tl_messages *m) {
  tl_sv text = results_of(m);
  while (text.n) {
    ssize_t n = write(m->log, text.p, text.n);
    if (n <= 0)
      return;
    text.p += n;
    text.n -= (size_t)n;
  }
}

void tl_messages_take(tl_messages *m, int log) {
  char block[4096];
  off_t at = 0;
  for (ssize_t got; log > 0 && (got = pread(log, block, sizeof block, at)) > 0; at += got) {
    if (at == 0)
      tl_buf_add_z(&m->results, m->results.n ? ", " : "");
    tl_buf_add(&m->results, block, (size_t)got);
  }
}

/* The log is put together without memory. */
void tl_messages_end(tl_messages *m) {
  if (m->form != TL_MESSAGES_SARIF)
    return;
  if (m->log) {
    hand_over(m);
    return;
  }
  fputs("{\"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\", \"version\": \"2.1.0\", "
        "\"runs\": [{\"tool\": {\"driver\": {\"name\": \"tailor\", \"version\": \"" TL_VERSION
        "\"}}, "
        "\"results\": [",
        stderr);
  tl_sv results = results_of(m);
  fwrite(results.p, 1, results.n, stderr);
  fputs("]}]}\n", stderr);
}

/* ---- all forms ------------------------------------------------------------------------------- */

/* Returns true for a warning that was printed before. The set has hashes of 64 bits: a collision,
 * which is improbable, would hide a warning. */
static bool was_said(tl_messages *m, tl_severity severity, tl_sv text) {
  uint64_t key = tl_hash_bytes(text.p, text.n, 0);
  if (severity != TL_WARNING || tl_map_find(&m->said, key, NULL))
    return severity == TL_WARNING;
  bool kept = tl_map_set(&m->said, key, 1);
  (void)kept; /* without memory it may be said twice */
  return false;
}

void tl_messages_add(tl_messages *m, const tl_diagnostic *d) {
  tl_buf plain;
  tl_buf shown;
  tl_buf_init(&plain);
  tl_buf_init(&shown);
  tl_diag_format(&plain, d);
  if (m->form == TL_MESSAGES_JSON)
    put_json(&shown, d);
  else if (m->form == TL_MESSAGES_TEXT && m->colour)
    add_coloured(&shown, tl_buf_view(&plain), d->severity);
  const tl_buf *text = shown.n ? &shown : &plain;
  if (tl_memory_failed()) { /* what is said without memory may not be so */
    say_lack(m, d);
  } else if (!was_said(m, d->severity, tl_buf_view(&plain))) {
    if (m->form != TL_MESSAGES_SARIF) {
      fwrite(text->p, 1, text->n, stderr);
    } else {
      tl_buf_add_z(&m->results, m->results.n ? ", " : "");
      put_sarif(&m->results, d);
    }
  }
  tl_buf_release(&shown);
  tl_buf_release(&plain);
}

void tl_messages_init(tl_messages *m) {
  *m = (tl_messages){.threshold = TL_WARNING};
  tl_buf_init(&m->results);
}

void tl_messages_release(tl_messages *m) {
  tl_map_release(&m->said);
  tl_buf_release(&m->results);
}
