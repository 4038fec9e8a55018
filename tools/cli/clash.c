/* SPDX-License-Identifier: Apache-2.0 */
/* Finds files that would be written over what was read, or twice (clash.h). */
#include "tools/cli/clash.h"

#include <sys/stat.h>

#include "support/hash.h"

/* What the map of files says: the file was read, or the index of the change that writes it + 1. */
enum { READ = 0 };

/* Hashes of 64 bits stand for files: a collision, which is improbable, would refuse a command. */
static uint64_t key_of(const struct stat *st) {
  return tl_hash_mix(tl_hash_mix(0, (uint64_t)st->st_dev), (uint64_t)st->st_ino);
}

/* Sets *key to that of the file which a path names, or will name: a new file is known by its folder
 * and its name. False for what is no regular file, such as a pipe, and for paths that lead
 * nowhere. */
static bool find_key(tl_buf *folder, const char *path, uint64_t *key) {
  struct stat st;
  if (stat(path, &st) == 0) {
    *key = key_of(&st);
    return S_ISREG(st.st_mode);
  }
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  folder->n = 0;
  tl_buf_add(folder, path, (size_t)(name - path));
  tl_buf_add_z(folder, ".");
  if (folder->failed || stat(folder->p, &st) != 0)
    return false;
  *key = tl_hash_bytes(name, strlen(name), key_of(&st));
  return true;
}

static tl_status note_read(tl_map *seen, tl_buf *folder, const char *path) {
  uint64_t key;
  return !find_key(folder, path, &key) || tl_map_set(seen, key, READ) ? TL_OK : TL_NO_MEMORY;
}

static tl_status check_one(tl_cli *cli, tl_map *seen, tl_buf *folder, uint32_t i) {
  const tl_change *change = &cli->changes.list.at[i];
  const char *path = tl_change_path(change);
  uint64_t key;
  uint32_t as = 0;
  if (!find_key(folder, path, &key))
    return TL_OK;
  if (!tl_map_find(seen, key, &as))
    return tl_map_set(seen, key, i + 1) ? TL_OK : tl_fail_memory(&cli->diag, TL_NOWHERE);
  if (as == READ)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(path),
                   "'%s' is an input of this command and would be overwritten", path);
  bool same;
  TL_TRY(tl_changes_agree(&cli->diag, &cli->changes.list.at[as - 1], change, &same));
  if (same)
    return TL_OK; /* a weight of two outputs in one folder */
  return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(path),
                 "two files of this command have the name '%s'\vgive each a name of its own", path);
}

static tl_status check_all(tl_cli *cli, tl_map *seen, tl_buf *folder) {
  tl_status status = TL_OK;
  for (uint32_t i = 0; i < cli->read.n && status == TL_OK; i++)
    status = note_read(seen, folder, cli->read.at[i]);
  for (uint32_t i = 0; cli->given && i < cli->given->files.n && status == TL_OK; i++)
    status = note_read(seen, folder, cli->given->files.at[i]);
  if (status != TL_OK)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  for (uint32_t i = 0; i < cli->changes.list.n; i++) {
    const tl_change *change = &cli->changes.list.at[i];
    if (change->kind == TL_CHANGE_HELD || change->kind == TL_CHANGE_HIDDEN)
      TL_TRY(check_one(cli, seen, folder, i));
  }
  return TL_OK;
}

tl_status tl_clash_check(tl_cli *cli) {
  tl_map seen = {0};
  tl_buf folder;
  tl_buf_init(&folder);
  tl_status status = check_all(cli, &seen, &folder);
  if (status == TL_OK && folder.failed)
    status = tl_fail_memory(&cli->diag, TL_NOWHERE);
  tl_buf_release(&folder);
  tl_map_release(&seen);
  return status;
}
