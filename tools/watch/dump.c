/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the states of the module between passes, and their index. */
#include "tools/watch/dump.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "ir/text/print.h"
#include "support/json_writer.h"
#include "tools/cli/output.h"

enum { SCHEMA = 1 };

/* ---- names ----------------------------------------------------------------------------------- */

static const char *pass_of(const tl_dump_state *s) { return s->at.row ? s->at.row->name : "input"; }

static void add_name(const tl_dump *d, const tl_dump_state *s, tl_buf *out) {
  tl_buf_printf(out, "%02u-%s.%s", s->number, pass_of(s), tl_format_name(d->format));
}

static void add_path(const tl_dump *d, const char *name, tl_buf *out) {
  size_t n = strlen(d->dir);
  tl_buf_printf(out, "%s%s%s", d->dir, n && d->dir[n - 1] == '/' ? "" : "/", name);
}

/* Returns true for names that a dump may have: a number, '-', a pass or "input", a suffix. */
static bool is_dump(const char *name) {
  size_t digits = strspn(name, "0123456789");
  const char *dot = strrchr(name, '.');
  if (digits < 2 || name[digits] != '-' || !dot ||
      (strcmp(dot, ".tir") != 0 && strcmp(dot, ".pbtxt") != 0))
    return false;
  const char *pass = name + digits + 1;
  tl_sv word = {pass, dot > pass ? (size_t)(dot - pass) : 0};
  return tl_sv_is(word, "input") || tl_pass_find(word);
}

/* ---- the folder ------------------------------------------------------------------------------ */

/* Returns true if a file in the folder is one from which the model was read. */
static bool is_input(const tl_dump *d, const tl_module *m, const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && tl_output_is_input(d->cli, m, &st);
}

/* Keeps the name of a file that an earlier dump left. */
static tl_status keep_old(tl_dump *d, const tl_module *m, const char *name) {
  tl_buf path;
  tl_status status = TL_OK;
  tl_buf_init(&path);
  add_path(d, name, &path);
  if (path.failed) {
    status = TL_NO_MEMORY;
  } else if (!is_input(d, m, path.p)) {
    char *copy = strdup(name);
    if (!copy || !tl_path_vec_push(&d->old, copy)) {
      free(copy);
      status = TL_NO_MEMORY;
    }
  }
  tl_buf_release(&path);
  return status;
}

/* Makes the folder and lists what earlier dumps left in it. */
static tl_status make_folder(tl_dump *d, const tl_module *m) {
  TL_TRY(tl_changes_folder(&d->cli->changes, &d->cli->diag, d->dir));
  DIR *folder = opendir(d->dir);
  tl_status status = TL_OK;
  if (!folder) /* what is not readable may still be writable */
    return errno == ENOMEM ? tl_fail_memory(&d->cli->diag, TL_NOWHERE) : TL_OK;
  for (struct dirent *e = readdir(folder); e && status == TL_OK; e = readdir(folder))
    if (is_dump(e->d_name))
      status = keep_old(d, m, e->d_name);
  closedir(folder);
  return status == TL_OK ? TL_OK : tl_fail_memory(&d->cli->diag, TL_NOWHERE);
}

static bool is_written(const tl_dump *d, const char *name) {
  bool found = false;
  tl_buf text;
  tl_buf_init(&text);
  for (uint32_t i = 0; i < d->states.n && !found; i++) {
    tl_buf_clear(&text);
    add_name(d, &d->states.at[i], &text);
    found = d->states.at[i].written && tl_sv_is(tl_buf_view(&text), name);
  }
  found = found || text.failed; /* then the command fails anyway */
  tl_buf_release(&text);
  return found;
}

/* Removes files of earlier dumps, which would look like parts of this one. */
static tl_status remove_old(tl_dump *d) {
  for (uint32_t i = 0; i < d->old.n; i++) {
    if (is_written(d, d->old.at[i]))
      continue;
    tl_buf path;
    tl_buf_init(&path);
    add_path(d, d->old.at[i], &path);
    tl_status status = path.failed ? tl_fail_memory(&d->cli->diag, TL_NOWHERE)
                                   : tl_changes_remove(&d->cli->changes, &d->cli->diag, path.p);
    tl_buf_release(&path);
    TL_TRY(status);
  }
  return TL_OK;
}

/* ---- states ---------------------------------------------------------------------------------- */

/* Writes the module into the file of a state. */
static tl_status write_state(tl_dump *d, tl_module *m, const tl_dump_state *s) {
  tl_cli *cli = d->cli;
  tl_buf name, path;
  tl_buf_init(&name);
  tl_buf_init(&path);
  add_name(d, s, &name);
  if (!name.failed)
    add_path(d, name.p, &path);
  tl_status status = TL_OK;
  if (name.failed || path.failed)
    status = tl_fail_memory(&cli->diag, TL_NOWHERE);
  else if (is_input(d, m, path.p))
    status = tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                     tl_at_option(&cli->settings, TL_OPTION_DUMP_DIR),
                     "'%s' is an input of this command and would be overwritten", path.p);
  else if (d->format == TL_FORMAT_TIR)
    status = tl_session_save_text(&cli->session, path.p, &d->last);
  else
    status = tl_session_save(&cli->session, m, &(tl_destination){path.p, d->format, NULL});
  tl_buf_release(&name);
  tl_buf_release(&path);
  return status;
}

/* Adds a state, with a file if the module differs from the last one. GE's dumps show NPU form
 * only. */
static tl_status add_state(tl_dump *d, tl_module *m, tl_dump_state *s, bool *differs) {
  tl_buf now;
  tl_buf_init(&now);
  tl_status status = tl_module_print(m, &now, NULL);
  if (status != TL_OK) {
    tl_buf_release(&now);
    return status == TL_NO_MEMORY ? tl_fail_memory(&d->cli->diag, TL_NOWHERE) : status;
  }
  *differs = !d->states.n || !tl_sv_eq(tl_buf_view(&now), tl_buf_view(&d->last));
  tl_buf_release(&d->last);
  d->last = now;
  s->written = *differs && (d->format == TL_FORMAT_TIR || m->form == TL_FORM_NPU);
  return s->written ? write_state(d, m, s) : TL_OK;
}

static tl_status push(tl_dump *d, tl_dump_state s) {
  return tl_dump_state_vec_push(&d->states, s) ? TL_OK : tl_fail_memory(&d->cli->diag, TL_NOWHERE);
}

static uint32_t next_number(const tl_dump *d) {
  return d->states.n ? d->states.at[d->states.n - 1].number + 1 : 0;
}

tl_status tl_dump_begin(tl_dump *d, tl_module *m) {
  tl_dump_state s = {.number = next_number(d)};
  bool differs;
  if (!d->dir)
    return TL_OK;
  if (!d->states.n)
    TL_TRY(make_folder(d, m));
  s.at.nodes_before = s.at.nodes_after = tl_module_count_nodes(m);
  TL_TRY(add_state(d, m, &s, &differs));
  return differs ? push(d, s) : TL_OK;
}

tl_status tl_dump_pass(tl_dump *d, tl_module *m, const tl_pass_event *e) {
  tl_dump_state s = {.number = next_number(d), .at = *e};
  bool differs;
  if (!d->dir || !e->after)
    return TL_OK;
  TL_TRY(add_state(d, m, &s, &differs));
  return push(d, s);
}

/* ---- index ----------------------------------------------------------------------------------- */

static void put_state(const tl_dump *d, const tl_dump_state *s, tl_json_writer *w) {
  tl_buf name;
  tl_buf_init(&name);
  add_name(d, s, &name);
  tl_json_line(w, 1);
  tl_put_object(w);
  tl_member_u64(w, "number", s->number);
  tl_member_z(w, "pass", pass_of(s));
  tl_member_u64(w, "rewrites", s->at.changed);
  tl_member_u64(w, "nodes_before", s->at.nodes_before);
  tl_member_u64(w, "nodes_after", s->at.nodes_after);
  tl_put_key(w, "file");
  if (s->written)
    tl_put_sv(w, tl_buf_view(&name));
  else
    tl_put_null(w);
  tl_put_end(w);
  w->out->failed = w->out->failed || name.failed;
  tl_buf_release(&name);
}

static tl_status write_index(tl_dump *d) {
  tl_buf text, path;
  tl_buf_init(&text);
  tl_buf_init(&path);
  tl_json_writer w = tl_json_to(&text);
  tl_put_object(&w);
  tl_member_u64(&w, "schema", SCHEMA);
  tl_member_z(&w, "model", d->cli->word);
  tl_member_z(&w, "form", tl_format_name(d->format));
  tl_put_key(&w, "states");
  tl_put_array(&w);
  for (uint32_t i = 0; i < d->states.n; i++)
    put_state(d, &d->states.at[i], &w);
  tl_json_line(&w, 0);
  tl_json_finish(&w);
  add_path(d, "index.json", &path);
  tl_status status = path.failed ? tl_fail_memory(&d->cli->diag, TL_NOWHERE)
                                 : tl_session_save_text(&d->cli->session, path.p, &text);
  tl_buf_release(&text);
  tl_buf_release(&path);
  return status;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

tl_status tl_dump_open(tl_dump *d, tl_cli *cli, bool npu) {
  *d = (tl_dump){.cli = cli};
  tl_buf_init(&d->last);
  bool pbtxt = strcmp(tl_cli_get(cli, TL_OPTION_DUMP_FORM), "pbtxt") == 0;
  tl_location where = tl_at_option(&cli->settings, TL_OPTION_DUMP_FORM);
  if (tl_cli_has(cli, TL_OPTION_DUMP_DIR))
    d->dir = tl_cli_get(cli, TL_OPTION_DUMP_DIR);
  d->format = pbtxt ? TL_FORMAT_PBTXT : TL_FORMAT_TIR;
  if (tl_cli_has(cli, TL_OPTION_DUMP_FORM) && !d->dir)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, where, "has no effect without --dump-dir");
  if (pbtxt && !npu)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, where,
                   "GE's dumps show NPU form, which this command does not make\vopt makes it with "
                   "--npu, convert for an AIR file; --dump-form=tir shows every form");
  return TL_OK;
}

tl_status tl_dump_end(tl_dump *d) {
  if (!d->dir)
    return TL_OK;
  TL_TRY(remove_old(d));
  return write_index(d);
}

void tl_dump_release(tl_dump *d) {
  for (uint32_t i = 0; i < d->old.n; i++)
    free((char *)d->old.at[i]);
  tl_path_vec_release(&d->old);
  tl_dump_state_vec_release(&d->states);
  tl_buf_release(&d->last);
}
