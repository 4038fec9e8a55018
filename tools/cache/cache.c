/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the cache of a conversion (cache.h).
 *
 * A first key is made of program and options. Under it a manifest lists which files were read by
 * conversions with that key. What is in those files makes the key of the entry: a conversion reads
 * its first file because of its options, and each further one because of what it has read, so the
 * same content of the same files means the same conversion. */
#include "tools/cache/cache.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/sha256.h"
#include "tools/cache/entry.h"
#include "tools/cache/manifest.h"
#include "tools/cache/said.h"
#include "tools/cache/trim.h"
#include "tools/cli/deps.h"

/* A file that was opened, in the state that it had then. */
typedef struct opened_file {
  const char *path; /* of tl_cli.read */
  tl_file_state state;
} opened_file;

TL_VEC(opened_file_vec, opened_file);

struct tl_cache {
  tl_cli *cli;
  tl_store store;
  tl_digests digests;
  opened_file_vec opened;
  tl_listener listener;
  tl_buf messages;
  tl_entry entry;
  tl_manifest manifest;
  char base[65];                 /* key of program and options */
  const char *obstacle;          /* static; why the conversion is not cached; NULL: nothing */
  bool may_speak;                /* of obstacles: the command line asked for a cache */
  bool recording;                /* a miss */
  bool taken;                    /* the files are in temporary */
  bool settled;                  /* counted */
  int lock;                      /* of temporary; -1: there is none */
  char temporary[TL_STORE_PATH]; /* folder of the new entry */
};

const char *tl_cache_folder(const tl_cli *cli) {
  if (tl_cli_has(cli, TL_OPTION_NO_CACHE))
    return NULL;
  if (tl_cli_has(cli, TL_OPTION_CACHE_DIR))
    return tl_cli_get(cli, TL_OPTION_CACHE_DIR);
  const char *folder = getenv("TAILOR_CACHE_DIR");
  return folder && *folder ? folder : NULL;
}

static void count(tl_cache *c, const tl_store_counts *more) {
  tl_store_count(&c->store, more);
  c->settled = true;
}

/* Says that the cache does not work. */
static void warn(const tl_cache *c, const char *what, int error) {
  tl_warn_code(&c->cli->diag, "W_CACHE", TL_AT_FILE(c->store.dir), "%s%s%s; %s", what,
               error ? ": " : "", error ? strerror(error) : "",
               "the model is converted without it");
}

/* ---- what was read --------------------------------------------------------------------------- */

static void note_state(tl_cache *c, const char *path) {
  opened_file f = {.path = path};
  if (!tl_file_state_settled(path, &f.state))
    c->obstacle = "a file that it read has gone";
  else if (!opened_file_vec_push(&c->opened, f))
    c->obstacle = "memory is short";
}

/* A file is read: its state before that counts, so that a change during the conversion is seen. */
static void note_opened(void *user, const char *path, const struct stat *st) {
  tl_cache *c = user;
  uint32_t before = c->cli->read.n;
  tl_deps_note(c->cli, path, st);
  if (c->cli->read.n > before)
    note_state(c, c->cli->read.at[before]);
}

tl_status tl_cache_open(tl_cli *cli, tl_cache **out) {
  const char *folder = tl_cache_folder(cli);
  *out = NULL;
  if (!folder || tl_cli_has(cli, TL_OPTION_DRY_RUN) || cli->atc)
    return TL_OK;
  tl_cache *c = calloc(1, sizeof *c);
  if (!c)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  c->cli = cli;
  c->lock = -1;
  c->may_speak = tl_cli_has(cli, TL_OPTION_CACHE_DIR);
  errno = 0;
  tl_store_state state = tl_store_open(&c->store, folder, true);
  if (state != TL_STORE_OK) {
    warn(c,
         state == TL_STORE_FOREIGN ? "the folder is not empty and no cache of tailor"
                                   : "cannot use the cache",
         state == TL_STORE_FOREIGN ? 0 : errno);
    free(c);
    return TL_OK;
  }
  c->digests = (tl_digests){.store = &c->store, .cancel = cli->signal};
  tl_buf_init(&c->messages);
  cli->diag.opened = note_opened;
  cli->diag.opened_user = c;
  for (uint32_t i = 0; i < cli->read.n; i++)
    note_state(c, cli->read.at[i]);
  *out = c;
  return TL_OK;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void add_text(tl_sha256 *sha, const char *z) { tl_sha256_add(sha, z, strlen(z) + 1); }

/* Returns true for options that change no byte of a file, and no message. */
static bool is_without_effect(int id) {
  static const int those[] = {TL_OPTION_CACHE_DIR,   TL_OPTION_CACHE_LINK,      TL_OPTION_COLOR,
                              TL_OPTION_DIAGNOSTICS, TL_OPTION_OUTPUT,          TL_OPTION_ATC_EXIT,
                              TL_OPTION_MODEL,       TL_OPTION_WRITE_IF_CHANGED};
  for (size_t i = 0; i < sizeof those / sizeof *those; i++)
    if (those[i] == id)
      return true;
  return false;
}

/* Makes the key of program and options. Paths count as they are spelled: names of files get into
 * outputs and messages. */
static bool make_base(tl_cache *c) {
  const tl_cli *cli = c->cli;
  tl_buf version;
  tl_sha256 sha;
  tl_buf_init(&version);
  tl_print_version_key(&version);
  tl_sha256_start(&sha);
  add_text(&sha, "tailor cache 1");
  tl_sha256_add(&sha, version.p, version.n);
  add_text(&sha, cli->word);
  for (int i = 0; i < TL_N_OPTION_ROWS; i++) {
    const char *value = cli->settings.origin[i].file ? NULL : cli->settings.value[i];
    if (!value || is_without_effect(i))
      continue;
    add_text(&sha, tl_option_row_get((tl_option_id)i)->name);
    add_text(&sha, value);
  }
  for (uint32_t i = 0; i < cli->outputs.n; i++)
    add_text(&sha, cli->outputs.at[i]);
  for (uint32_t i = 0; cli->given && i < cli->given->files.n; i++)
    add_text(&sha, cli->given->files.at[i]); /* --depfile names them */
  tl_sha256_finish(&sha, c->base);
  bool good = !version.failed;
  tl_buf_release(&version);
  return good;
}

/* Makes the key of an entry from the content of files. False: one of them cannot be read. */
static bool make_key(tl_cache *c, const char *const *paths, uint32_t n, char key[65]) {
  tl_sha256 sha;
  tl_sha256_start(&sha);
  add_text(&sha, c->base);
  for (uint32_t i = 0; i < n; i++) {
    tl_file_state state;
    char hex[66];
    if (!tl_digest_file(&c->digests, paths[i], &state, hex))
      return false;
    add_text(&sha, paths[i]);
    add_text(&sha, hex);
  }
  tl_sha256_finish(&sha, key);
  return true;
}

/* ---- obstacles ------------------------------------------------------------------------------- */

/* Returns why a conversion cannot be cached; NULL if it can. */
static const char *find_obstacle(const tl_cli *cli) {
  static const tl_option_id shows[] = {
      TL_OPTION_PRINT_BEFORE, TL_OPTION_PRINT_AFTER, TL_OPTION_PRINT_CHANGED,  TL_OPTION_DUMP_DIR,
      TL_OPTION_STATS,        TL_OPTION_TIME_PASSES, TL_OPTION_TRACE_COMPILER, TL_OPTION_VERIFY,
      TL_OPTION_REMARKS,      TL_OPTION_REPRODUCER,  TL_OPTION_PRINT_INPUTS};
  if (cli->read_lost)
    return "memory is short";
  if (strcmp(cli->word, "-") == 0)
    return "the model is read from standard input";
  for (size_t i = 0; i < sizeof shows / sizeof *shows; i++)
    if (tl_cli_has(cli, shows[i]))
      return "an option shows how the passes work";
  for (uint32_t i = 0; i < cli->outputs.n; i++)
    if (strcmp(cli->outputs.at[i], "-") == 0)
      return "an output goes to standard output";
  return NULL;
}

static void say_obstacle(tl_cache *c) {
  if (c->may_speak)
    tl_warn_code(&c->cli->diag, "W_NOT_CACHED", TL_NOWHERE, "this conversion is not cached: %s",
                 c->obstacle);
  else
    tl_note(&c->cli->diag, TL_NOWHERE, "this conversion is not cached: %s", c->obstacle);
  count(c, &(tl_store_counts){.not_cached = 1});
}

/* ---- recording ------------------------------------------------------------------------------- */

static void record_message(void *user, const tl_diagnostic *d) {
  tl_cache *c = user;
  if (!tl_said_add_message(&c->messages, d))
    c->obstacle = "a message of it is not UTF-8";
}

static void record_note(void *user, tl_sv text) {
  tl_cache *c = user;
  if (!tl_said_add_note(&c->messages, text))
    c->obstacle = "its summary is not UTF-8";
}

static void record_print(void *user) {
  tl_cache *c = user;
  c->obstacle = "it prints to standard output";
}

/* All files are complete: copies them before they get their names. */
static void record_files(void *user) {
  tl_cache *c = user;
  if (c->obstacle || c->taken || c->cli->changes.list.n == 0)
    return;
  c->lock = tl_store_begin(&c->store, c->temporary);
  c->taken = c->lock >= 0 && tl_entry_take(&c->entry, &c->cli->changes, c->temporary);
  if (c->taken)
    return;
  if (errno == EINVAL && c->lock >= 0) {
    c->obstacle = "an output is no regular file";
    return;
  }
  int error = errno;
  c->recording = false; /* this warning is no part of the conversion */
  c->cli->listener = NULL;
  warn(c, "cannot write into the cache", error);
  count(c, &(tl_store_counts){.misses = 1});
}

static void begin_recording(tl_cache *c) {
  tl_entry_release(&c->entry);
  c->entry = (tl_entry){.store = &c->store, .cancel = c->cli->signal, .mode = c->entry.mode};
  c->listener = (tl_listener){c, record_message, record_note, record_print, record_files};
  c->cli->listener = &c->listener;
  c->recording = true;
}

/* ---- fetching -------------------------------------------------------------------------------- */

/* Returns true if an output of the entry is one of the files that were read: the conversion will
 * say so. */
static bool overwrites_input(const tl_cache *c, const char *const *paths, uint32_t n) {
  struct stat out;
  struct stat in;
  for (uint32_t i = 0; i < c->entry.files.n; i++) {
    if (stat(c->entry.files.at[i].path, &out) != 0 || !S_ISREG(out.st_mode))
      continue;
    for (uint32_t k = 0; k < n; k++)
      if (stat(paths[k], &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
        return true;
  }
  return false;
}

/* Drops an entry that is not what was stored. */
static void drop_damaged(tl_cache *c) {
  tl_warn_code(&c->cli->diag, "W_CACHE_DAMAGED", TL_AT_FILE(c->entry.path),
               "this entry of the cache is damaged: %s\vit is removed and made anew", c->entry.why);
  tl_store_remove(&c->store, c->entry.path);
  tl_store_count(&c->store, &(tl_store_counts){.damaged = 1});
}

/* Tries the files of one set of the manifest. */
static tl_fetched try_set(tl_cache *c, const char *const *paths, uint32_t n) {
  char key[65];
  if (!make_key(c, paths, n, key))
    return TL_FETCH_NONE;
  tl_fetched got = tl_entry_find(&c->entry, key);
  if (got == TL_FETCHED && overwrites_input(c, paths, n))
    got = TL_FETCH_NONE;
  if (got == TL_FETCHED)
    got = tl_entry_give(&c->entry, &c->cli->changes, &c->cli->diag);
  if (got == TL_FETCH_DAMAGED)
    drop_damaged(c);
  if (got == TL_FETCH_UNREAD)
    got = TL_FETCH_NONE;
  if (got == TL_FETCH_DAMAGED || got == TL_FETCH_NONE) {
    tl_entry_release(&c->entry);
    c->entry = (tl_entry){.store = &c->store, .cancel = c->cli->signal, .mode = c->entry.mode};
  }
  return got;
}

/* Gives the files their names and says what the conversion said. */
static tl_status deliver(tl_cache *c) {
  const cJSON *messages = cJSON_GetObjectItem(c->entry.root, "messages");
  tl_said_again(c->cli, messages, false);
  TL_TRY(tl_cli_apply(c->cli));
  tl_said_again(c->cli, messages, true);
  if (c->entry.linked || c->entry.proved)
    tl_entry_note_seen(&c->entry);
  count(c, &(tl_store_counts){.hits = 1});
  return TL_OK;
}

static tl_copy_mode mode_of(const tl_cli *cli) {
  const char *mode = tl_cli_get(cli, TL_OPTION_CACHE_LINK);
  return strcmp(mode, "hard") == 0   ? TL_COPY_LINK
         : strcmp(mode, "copy") == 0 ? TL_COPY_BYTES
                                     : TL_COPY_AUTO;
}

tl_status tl_cache_fetch(tl_cache *c, bool *hit) {
  *hit = false;
  if (!c)
    return TL_OK;
  if (!c->obstacle)
    c->obstacle = find_obstacle(c->cli);
  if (c->obstacle) {
    say_obstacle(c);
    return TL_OK;
  }
  c->entry = (tl_entry){.store = &c->store, .cancel = c->cli->signal, .mode = mode_of(c->cli)};
  if (!make_base(c))
    return tl_fail_memory(&c->cli->diag, TL_NOWHERE);
  tl_manifest_read(&c->manifest, &c->store, c->base);
  for (uint32_t i = 0; i < c->manifest.n; i++) {
    tl_fetched got = try_set(c, c->manifest.sets[i].paths, c->manifest.sets[i].n);
    *hit = got == TL_FETCHED;
    if (got == TL_FETCHED)
      return deliver(c);
    if (got == TL_FETCH_FAILED)
      return TL_IO;
  }
  begin_recording(c);
  return TL_OK;
}

/* ---- storing --------------------------------------------------------------------------------- */

/* Makes the key of what was read. False: a file is no longer in the state in which it was read, or
 * another one was opened under its name. That is looked at behind all that reads the files again: a
 * key of other bytes would give them this result. */
static bool key_of_run(tl_cache *c, const char **paths, char key[65]) {
  for (uint32_t i = 0; i < c->opened.n; i++)
    paths[i] = c->opened.at[i].path;
  if (!make_key(c, paths, c->opened.n, key))
    return false;
  for (uint32_t i = 0; i < c->opened.n; i++) {
    struct stat st;
    if (stat(paths[i], &st) != 0)
      return false;
    tl_file_state state = tl_file_state_of(&st);
    if (!tl_file_state_equal(&state, &c->opened.at[i].state))
      return false;
  }
  return tl_deps_are_there(c->cli);
}

/* Gives the entry its place, and makes room if the cache is full. */
static void place(tl_cache *c, const char *const *paths, const char *key) {
  bool first = tl_entry_finish(&c->entry, c->temporary, key, tl_buf_view(&c->messages));
  int error = errno;
  bool there = !first && (error == EEXIST || error == ENOTEMPTY);
  if (first && c->entry.linked)
    tl_entry_note_seen(&c->entry);
  if (first || there)
    tl_manifest_add(&c->manifest, &c->store, c->base,
                    &(tl_manifest_set){.paths = paths, .n = c->opened.n});
  else
    warn(c, "cannot write into the cache", error);
  c->temporary[0] = '\0';
  tl_store_counts more = {.misses = 1, .bytes = first ? (int64_t)c->entry.bytes : 0};
  tl_store_counts now = tl_store_count(&c->store, &more);
  c->settled = true;
  tl_store_size left;
  uint64_t evicted;
  if (now.bytes > now.limit) /* a tenth more, so that it is not done each time */
    (void)!tl_store_trim(&c->store, (uint64_t)now.limit / 10 * 9, &left, &evicted);
}

/* Paths go into JSON, which keeps UTF-8 alone. */
static bool are_storable(const tl_cache *c) {
  bool good = true;
  for (uint32_t i = 0; i < c->opened.n; i++)
    good &= tl_said_can_keep(tl_sv_from(c->opened.at[i].path));
  for (uint32_t i = 0; i < c->entry.files.n; i++)
    good &= tl_said_can_keep(tl_sv_from(c->entry.files.at[i].path));
  return good;
}

static void store(tl_cache *c) {
  char key[65];
  const char **paths = calloc(c->opened.n + 1, sizeof *paths);
  if (!are_storable(c))
    c->obstacle = "a path is not UTF-8";
  else if (paths && key_of_run(c, paths, key) && !c->messages.failed)
    place(c, paths, key);
  else
    c->obstacle = "a file that it read was changed meanwhile";
  free(paths);
}

void tl_cache_close(tl_cache *c, tl_status status) {
  if (!c)
    return;
  tl_cli *cli = c->cli;
  cli->listener = NULL;
  cli->diag.opened = tl_deps_note;
  cli->diag.opened_user = cli;
  if (c->recording && status == TL_OK && !c->obstacle && c->taken)
    store(c);
  if (c->recording && status == TL_OK && c->obstacle && !c->settled)
    say_obstacle(c);
  if (c->recording && !c->settled)
    count(c, &(tl_store_counts){.misses = 1});
  if (c->lock >= 0 && c->temporary[0])
    tl_store_remove(&c->store, c->temporary);
  if (c->lock >= 0)
    close(c->lock);
  tl_entry_release(&c->entry);
  tl_manifest_release(&c->manifest);
  tl_digests_release(&c->digests);
  opened_file_vec_release(&c->opened);
  tl_buf_release(&c->messages);
  free(c);
}
