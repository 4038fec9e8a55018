/* SPDX-License-Identifier: Apache-2.0 */
/* Tells a build which files a command has read and which it writes (deps.h). */
#include "tools/cli/deps.h"

#include <sys/stat.h>

#include "support/hash.h"
#include "support/json_writer.h"
#include "tools/cli/options_json.h"

static bool is_stream(const char *path) { return strcmp(path, "-") == 0; }

static tl_read_state state_in(const char *path, const struct stat *st) {
  return (tl_read_state){path, st->st_dev, st->st_ino, st->st_size, st->st_mtim};
}

/* Sets *out to the state of a regular file. */
static bool state_of(const char *path, tl_read_state *out) {
  struct stat st;
  if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
    return false;
  *out = state_in(path, &st);
  return true;
}

static bool is_same_file(const tl_read_state *a, const tl_read_state *b) {
  return a->device == b->device && a->inode == b->inode;
}

static bool is_unchanged(const tl_read_state *a, const tl_read_state *b) {
  return a->size == b->size && a->modified.tv_sec == b->modified.tv_sec &&
         a->modified.tv_nsec == b->modified.tv_nsec;
}

/* Keeps the state of a file that is read for the first time, and compares it the next time. */
static void note_state(tl_cli *cli, const tl_read_state *state, uint64_t key, uint32_t before) {
  tl_read_state now = *state;
  if (before) {
    const tl_read_state *then = &cli->read_states.at[before - 1];
    if (!is_same_file(then, &now) || !is_unchanged(then, &now))
      cli->read_again = then->path;
  } else if (!tl_read_state_vec_push(&cli->read_states, now) ||
             !tl_map_set(&cli->read_before, key, cli->read_states.n))
    cli->read_lost = true;
}

/* The set has hashes of 64 bits: a collision, which is improbable, would hide a file. */
void tl_deps_note(void *user, const char *path, const struct stat *st) {
  tl_cli *cli = user;
  tl_sv text = tl_sv_from(path);
  uint64_t key = tl_hash_bytes(text.p, text.n, 0);
  uint32_t before = 0;
  if (is_stream(path))
    return;
  if (!tl_map_find(&cli->read_before, key, &before)) {
    path = tl_arena_copy(&cli->settings.arena, text.p, text.n);
    if (!path || !tl_map_set(&cli->read_before, key, 0) || !tl_path_vec_push(&cli->read, path)) {
      cli->read_lost = true;
      return;
    }
  }
  if (!st)
    return; /* a folder */
  tl_read_state state = state_in(path, st);
  note_state(cli, &state, key, before);
}

/* A file that was replaced stays what it was as long as it is mapped. */
tl_status tl_deps_unchanged(tl_cli *cli) {
  const char *bad = cli->read_again;
  for (uint32_t i = 0; !bad && i < cli->read_states.n; i++) {
    const tl_read_state *then = &cli->read_states.at[i];
    tl_read_state now;
    if (!tl_cli_has(cli, TL_OPTION_READ) && state_of(then->path, &now) &&
        is_same_file(then, &now) && !is_unchanged(then, &now))
      bad = then->path;
  }
  if (!bad)
    return TL_OK;
  return tl_fail(&cli->diag, TL_IO, TL_AT_FILE(bad),
                 "'%s' was changed while it was read\vrun the command again; who writes such a "
                 "file better writes another and renames it",
                 bad);
}

bool tl_deps_are_there(const tl_cli *cli) {
  for (uint32_t i = 0; i < cli->read_states.n; i++) {
    const tl_read_state *then = &cli->read_states.at[i];
    tl_read_state now;
    if (!state_of(then->path, &now) || !is_same_file(then, &now) || !is_unchanged(then, &now))
      return false;
  }
  return !cli->read_again && !cli->read_lost;
}

tl_status tl_deps_check(tl_cli *cli) {
  if (tl_cli_has(cli, TL_OPTION_PRINT_INPUTS) && tl_cli_has(cli, TL_OPTION_DRY_RUN))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                   tl_at_option(&cli->settings, TL_OPTION_PRINT_INPUTS),
                   "needs the model, which --dry-run does not read\vleave out --dry-run: "
                   "--print-inputs writes no file either");
  return TL_OK;
}

/* ---- a rule of a Makefile -------------------------------------------------------------------- */

/* Adds a path as a Makefile spells it, in the form that Make and Ninja both read: a backslash is
 * one unless the next character needs one itself. False for names that one of the two cannot
 * take. */
static bool add_make_path(tl_buf *out, const char *path) {
  for (const char *c = path; *c; c++) {
    if ((unsigned char)*c < 0x20 || *c == 0x7f || *c == ';' ||
        (*c == '\\' && (c[1] == '\0' || strchr(" #:\\", c[1]))))
      return false;
    if (*c == ' ' || *c == '#' || *c == ':')
      tl_buf_add_char(out, '\\');
    if (*c == '$')
      tl_buf_add_char(out, '$');
    tl_buf_add_char(out, *c);
  }
  return true;
}

/* Adds a path, or reports that it cannot be written into a rule. */
static tl_status add_path(tl_cli *cli, tl_buf *out, const char *before, const char *path) {
  tl_buf_add_z(out, before);
  if (add_make_path(out, path))
    return TL_OK;
  return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, TL_OPTION_DEPFILE),
                 "'%s' cannot be written into a Makefile rule: it has a control character, ';', or "
                 "'\\' before a blank, '#', ':', '\\' or the end\vrename the file, or use "
                 "--deps-json",
                 path);
}

/* Adds the rule: outputs, ':', and every file that the command has read. */
static tl_status add_rule(tl_cli *cli, const tl_output_vec *v, tl_buf *out) {
  bool any = false;
  for (uint32_t i = 0; i < v->n; i++) {
    if (is_stream(v->at[i].path))
      continue;
    TL_TRY(add_path(cli, out, any ? " " : "", v->at[i].path));
    any = true;
  }
  tl_buf_add_char(out, ':');
  for (uint32_t i = 0; i < cli->read.n; i++)
    TL_TRY(add_path(cli, out, " \\\n ", cli->read.at[i]));
  tl_buf_add_char(out, '\n');
  return TL_OK;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static tl_status add_json(tl_cli *cli, const tl_output_vec *v, tl_buf *out) {
  tl_json_writer w = tl_json_to(out);
  tl_put_object(&w);
  tl_json_line(&w, 2);
  tl_put_key(&w, "outputs");
  tl_put_array(&w);
  for (uint32_t i = 0; i < v->n; i++) {
    if (is_stream(v->at[i].path))
      continue;
    tl_json_line(&w, 4);
    tl_put_z(&w, v->at[i].path);
  }
  tl_put_end(&w);
  tl_json_line(&w, 2);
  tl_put_key(&w, "inputs");
  tl_put_array(&w);
  for (uint32_t i = 0; i < cli->read.n; i++) {
    tl_json_line(&w, 4);
    tl_put_z(&w, cli->read.at[i]);
  }
  tl_put_end(&w);
  tl_json_line(&w, 0);
  tl_json_finish(&w);
  return TL_OK;
}

/* ---- all forms ------------------------------------------------------------------------------- */

static tl_status write_file(tl_cli *cli, tl_option_id id, const tl_output_vec *v,
                            tl_status (*add)(tl_cli *, const tl_output_vec *, tl_buf *)) {
  if (!tl_cli_has(cli, id))
    return TL_OK;
  tl_buf text;
  tl_buf_init(&text);
  tl_status status = add(cli, v, &text);
  if (status == TL_OK)
    status = tl_session_save_text(&cli->session, tl_cli_get(cli, id), &text);
  tl_buf_release(&text);
  return status;
}

static tl_status print_inputs(tl_cli *cli) {
  tl_buf text;
  tl_buf_init(&text);
  for (uint32_t i = 0; i < cli->read.n; i++) {
    if (strchr(cli->read.at[i], '\n')) {
      tl_buf_release(&text);
      return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                     tl_at_option(&cli->settings, TL_OPTION_PRINT_INPUTS),
                     "'%s' has a line feed, so it is no line of a list\v"
                     "rename the file, or use --deps-json",
                     cli->read.at[i]);
    }
    tl_buf_add_z(&text, cli->read.at[i]);
    tl_buf_add_char(&text, '\n');
  }
  tl_changes_undo(&cli->changes);
  return tl_cli_print(cli, &text);
}

/* Moves the model to the front: config files are opened before it. */
static void put_model_first(tl_cli *cli) {
  for (uint32_t i = 0; i < cli->read.n; i++) {
    const char *path = cli->read.at[i];
    if (strcmp(path, cli->word) != 0)
      continue;
    memmove(cli->read.at + 1, cli->read.at, i * sizeof *cli->read.at);
    cli->read.at[0] = path;
  }
}

tl_status tl_deps_write(tl_cli *cli, const tl_output_vec *v) {
  for (uint32_t i = 0; cli->given && i < cli->given->files.n; i++)
    tl_deps_note(cli, cli->given->files.at[i], NULL);
  if (cli->read_lost)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  put_model_first(cli);
  if (tl_cli_has(cli, TL_OPTION_PRINT_INPUTS))
    return print_inputs(cli);
  TL_TRY(tl_options_json_write(cli));
  TL_TRY(write_file(cli, TL_OPTION_DEPFILE, v, add_rule));
  return write_file(cli, TL_OPTION_DEPS_JSON, v, add_json);
}
