/* SPDX-License-Identifier: Apache-2.0 */
/* Implements entries (entry.h).
 *
 * A linked file can be edited under its other name. The entry keeps in 'seen' the state that each
 * linked or large file had when it was last known to be right. A file in another state is read and
 * hashed; it is served only if it is right. */
#include "tools/cache/entry.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "frontend/config/json.h"
#include "support/json_writer.h"
#include "support/memory.h"

/* Path of file i of the entry, or of "index" and "seen". */
static char *inside(const char *folder, uint32_t i, char out[TL_STORE_PATH]) {
  snprintf(out, TL_STORE_PATH, "%.*s/%u", TL_STORE_PATH - 12, folder, i);
  return out;
}

static char *named(const char *folder, const char *name, char out[TL_STORE_PATH]) {
  snprintf(out, TL_STORE_PATH, "%.*s/%s", TL_STORE_PATH - 12, folder, name);
  return out;
}

/* Returns what a file takes on the disk, about. */
static uint64_t on_disk(uint64_t size) {
  enum { PAGE = 4096 };
  return (size + PAGE - 1) / PAGE * PAGE;
}

/* ---- making one ------------------------------------------------------------------------------ */

/* Copies one file of the journal. */
static bool take_file(tl_entry *e, const tl_change *change, const char *to, tl_entry_file *f) {
  struct stat st;
  int fd = tl_change_open(change);
  if (fd < 0)
    return false;
  tl_copy c = {.from = fd, .path = to, .mode = e->mode, .cancel = e->cancel};
  bool good = tl_copy_in(&c, &f->sum) && fstat(fd, &st) == 0;
  int saved = errno;
  if (good) {
    tl_file_state state = tl_file_state_of(&st);
    f->size = state.size;
    f->modified_ns = state.modified_ns;
    e->linked |= st.st_nlink > 0 && e->mode == TL_COPY_LINK;
  }
  close(fd);
  errno = saved;
  return good;
}

bool tl_entry_take(tl_entry *e, const tl_changes *changes, const char *temporary) {
  char to[TL_STORE_PATH];
  for (uint32_t i = 0; i < changes->list.n; i++) {
    const tl_change *change = &changes->list.at[i];
    tl_entry_file f = {.kind = change->kind, .path = tl_change_path(change)};
    bool is_file = f.kind == TL_CHANGE_HELD || f.kind == TL_CHANGE_HIDDEN;
    if (is_file && !take_file(e, change, inside(temporary, i, to), &f))
      return false;
    if (is_file)
      f.kind = TL_CHANGE_HIDDEN;
    f.path = strdup(f.path);
    if (!f.path || !tl_entry_file_vec_push(&e->files, f)) {
      free((void *)(uintptr_t)f.path);
      errno = ENOMEM;
      return false;
    }
    e->bytes += on_disk(f.size);
  }
  return true;
}

static const char *kind_name(tl_change_kind kind) {
  return kind == TL_CHANGE_REMOVAL ? "removal" : kind == TL_CHANGE_FOLDER ? "folder" : "file";
}

static void put_index(const tl_entry *e, tl_sv messages, tl_buf *out) {
  tl_json_writer w = tl_json_to(out);
  tl_put_object(&w);
  tl_put_key(&w, "files");
  tl_put_array(&w);
  for (uint32_t i = 0; i < e->files.n; i++) {
    const tl_entry_file *f = &e->files.at[i];
    tl_put_object(&w);
    tl_member_z(&w, "kind", kind_name(f->kind));
    tl_member_z(&w, "path", f->path);
    if (f->kind == TL_CHANGE_HIDDEN) {
      tl_member_u64(&w, "size", f->size);
      tl_member_z(&w, "sum", f->sum.hex);
    }
    tl_put_end(&w);
  }
  tl_put_end(&w);
  tl_put_key(&w, "messages");
  tl_put_array(&w);
  if (messages.n)
    tl_put_made(&w, messages);
  tl_json_finish(&w);
}

bool tl_entry_finish(tl_entry *e, const char *temporary, const char *key, tl_sv messages) {
  char path[TL_STORE_PATH];
  tl_buf text;
  tl_buf_init(&text);
  put_index(e, messages, &text);
  errno = ENOMEM;
  bool good = !text.failed &&
              tl_record_write(e->store, named(temporary, "index", path), tl_buf_view(&text));
  e->bytes += on_disk(text.n) + 2 * on_disk(1); /* the folder, and the manifest */
  tl_buf_release(&text);
  tl_store_path(e->store, "entry", key, e->path);
  if (good)
    return tl_store_finish(e->store, temporary, e->path);
  int saved = errno;
  tl_store_remove(e->store, temporary);
  errno = saved;
  return false;
}

/* ---- reading one ----------------------------------------------------------------------------- */

/* Reads one row of the index. */
static bool parse_file(const cJSON *row, tl_entry_file *f) {
  const char *kind = cJSON_GetStringValue(cJSON_GetObjectItem(row, "kind"));
  const char *path = cJSON_GetStringValue(cJSON_GetObjectItem(row, "path"));
  const char *sum = cJSON_GetStringValue(cJSON_GetObjectItem(row, "sum"));
  const cJSON *size = cJSON_GetObjectItem(row, "size");
  if (!kind || !path)
    return false;
  *f = (tl_entry_file){.path = path, .kind = TL_CHANGE_HIDDEN};
  if (strcmp(kind, "file") != 0) {
    f->kind = strcmp(kind, "folder") == 0 ? TL_CHANGE_FOLDER : TL_CHANGE_REMOVAL;
    return true;
  }
  if (!sum || strlen(sum) != 32 || !cJSON_IsNumber(size))
    return false;
  memcpy(f->sum.hex, sum, 33);
  f->size = (uint64_t)size->valuedouble;
  return true;
}

/* What was read without memory says nothing of the entry. */
static tl_fetched judged(tl_fetched got, uint64_t lacks_before) {
  bool lacked = tl_memory_failures() != lacks_before;
  return lacked && got != TL_FETCHED ? TL_FETCH_FAILED : got;
}

/* Returns true where errno says that the system fails, and nothing of the file. */
static bool system_fails(void) {
  return errno == EIO || errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EINTR ||
         errno == ENOSPC;
}

static tl_fetched find(tl_entry *e, const char *key) {
  char path[TL_STORE_PATH];
  bool damaged;
  tl_json json;
  tl_json_error error;
  tl_buf_init(&e->index);
  tl_store_path(e->store, "entry", key, e->path);
  errno = 0;
  if (!tl_record_read(named(e->path, "index", path), &e->index, &damaged)) {
    if (!damaged && system_fails())
      return TL_FETCH_UNREAD;
    e->why = damaged ? "its index is not as it was written" : "its index is missing";
    return access(e->path, F_OK) == 0 ? TL_FETCH_DAMAGED : TL_FETCH_NONE;
  }
  e->why = "its index cannot be read";
  if (tl_json_parse(tl_buf_view(&e->index), &json, &error) != TL_OK)
    return TL_FETCH_DAMAGED;
  e->root = json.root; /* places of values are of no use here */
  json.root = NULL;
  tl_json_release(&json);
  const cJSON *row;
  cJSON_ArrayForEach(row, cJSON_GetObjectItem(e->root, "files")) {
    tl_entry_file f;
    if (!parse_file(row, &f) || !tl_entry_file_vec_push(&e->files, f))
      return TL_FETCH_DAMAGED;
  }
  return TL_FETCHED;
}

tl_fetched tl_entry_find(tl_entry *e, const char *key) {
  uint64_t lacks = tl_memory_failures();
  return judged(find(e, key), lacks);
}

/* Opens a file of the entry, and checks what can be known without reading it. */
static tl_fetched open_file(tl_entry *e, uint32_t i, struct stat *st, int *out) {
  char path[TL_STORE_PATH];
  *out = open(inside(e->path, i, path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (*out < 0) {
    e->why = "one of its files cannot be opened";
    if (system_fails())
      return TL_FETCH_UNREAD;
    return errno == ENOENT && access(e->path, F_OK) != 0 ? TL_FETCH_NONE : TL_FETCH_DAMAGED;
  }
  e->why = "one of its files has another size";
  bool known = fstat(*out, st) == 0;
  if (known && S_ISREG(st->st_mode) && (uint64_t)st->st_size == e->files.at[i].size)
    return TL_FETCHED;
  int saved = errno;
  close(*out);
  errno = saved;
  return known ? TL_FETCH_DAMAGED : TL_FETCH_UNREAD;
}

/* ---- states ---------------------------------------------------------------------------------- */

/* Begins a list of states with the start of the system that they hold for: after a crash a file can
 * have its old state and other bytes. Returns false if that is not known. */
static bool begin_seen(tl_buf *out) {
  char id[64];
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, id, sizeof id);
  if (fd >= 0)
    close(fd);
  if (n > 0)
    tl_buf_add(out, id, (size_t)n);
  return n > 0 && !out->failed;
}

static void add_seen(uint32_t i, const tl_file_state *s, tl_buf *out) {
  tl_buf_printf(out, "%u %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 "\n", i, s->inode, s->size,
                s->modified_ns, s->changed_ns);
}

/* Returns true if file i is in the state in which it was seen to be right. */
static bool was_seen(const tl_entry *e, uint32_t i, const struct stat *st) {
  char path[TL_STORE_PATH];
  tl_buf text, boot, line;
  bool damaged;
  tl_file_state state = tl_file_state_of(st);
  tl_buf_init(&text);
  tl_buf_init(&boot);
  tl_buf_init(&line);
  add_seen(i, &state, &line);
  bool seen = tl_record_read(named(e->path, "seen", path), &text, &damaged) && begin_seen(&boot) &&
              line.n && text.n > boot.n && memcmp(text.p, boot.p, boot.n) == 0 &&
              memmem(text.p, text.n, line.p, line.n);
  tl_buf_release(&text);
  tl_buf_release(&boot);
  tl_buf_release(&line);
  return seen;
}

void tl_entry_note_seen(tl_entry *e) {
  char path[TL_STORE_PATH];
  tl_buf text;
  tl_buf_init(&text);
  bool known = begin_seen(&text);
  for (uint32_t i = 0; i < e->files.n; i++) {
    tl_file_state state;
    const tl_entry_file *f = &e->files.at[i];
    if (f->proved)
      add_seen(i, &f->seen, &text);
    else if (e->linked && f->kind == TL_CHANGE_HIDDEN &&
             tl_file_state_settled(inside(e->path, i, path), &state) &&
             state.modified_ns == f->modified_ns && state.size == f->size)
      add_seen(i, &state, &text);
  }
  if (known && !text.failed)
    (void)!tl_record_write(e->store, named(e->path, "seen", path), tl_buf_view(&text));
  tl_buf_release(&text);
}

/* ---- links ----------------------------------------------------------------------------------- */

/* Gives a file by a link, with the present time, as a file that was just written has. False: it is
 * to be copied, or *result is no success. */
static bool link_file(tl_entry *e, uint32_t i, int fd, tl_changes *changes, tl_fetched *result) {
  struct stat st;
  tl_checksum sum;
  tl_entry_file *f = &e->files.at[i];
  if (fstat(fd, &st) != 0)
    return false;
  if (!was_seen(e, i, &st) &&
      (!tl_checksum_of(fd, e->cancel, &sum) || strcmp(sum.hex, f->sum.hex) != 0)) {
    e->why = "one of its files was changed";
    *result = e->cancel && *e->cancel ? TL_FETCH_FAILED : TL_FETCH_DAMAGED;
    return false;
  }
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (futimens(fd, (struct timespec[]){{.tv_nsec = UTIME_OMIT}, now}) != 0 ||
      !tl_changes_link(changes, fd, f->path) || fstat(fd, &st) != 0)
    return false;
  f->modified_ns = tl_file_state_of(&st).modified_ns;
  e->linked = true;
  return true;
}

/* ---- giving ---------------------------------------------------------------------------------- */

/* Copies a file. A large one that is in a state in which it was right is not hashed: that would
 * cost more than the copy itself. */
static tl_fetched copy_file(tl_entry *e, uint32_t i, int fd, const struct stat *st,
                            tl_changes *changes, tl_diag *d) {
  enum { LARGE = 1 << 22 };
  struct stat after;
  tl_checksum sum;
  tl_entry_file *f = &e->files.at[i];
  tl_file_state state = tl_file_state_of(st);
  bool large = f->size >= LARGE, known = large && was_seen(e, i, st);
  tl_copy c = {.from = fd,
               .path = f->path,
               .mode = e->mode,
               .cancel = e->cancel,
               .known = known ? &f->sum : NULL,
               .size = f->size};
  if (tl_copy_out(&c, changes, d, &sum) != TL_OK)
    return TL_FETCH_FAILED;
  tl_file_state now = {0};
  if (fstat(fd, &after) == 0)
    now = tl_file_state_of(&after);
  e->why = "one of its files was changed";
  if (strcmp(sum.hex, f->sum.hex) != 0 || (known && !tl_file_state_equal(&state, &now)))
    return TL_FETCH_DAMAGED;
  f->seen = state;
  f->proved = large && tl_file_state_is_old(&state);
  e->proved = e->proved || (f->proved && !known);
  return TL_FETCHED;
}

static tl_fetched give_file(tl_entry *e, uint32_t i, tl_changes *changes, tl_diag *d) {
  struct stat st;
  int fd;
  tl_fetched result = open_file(e, i, &st, &fd);
  if (result != TL_FETCHED)
    return result;
  bool linked = e->mode == TL_COPY_LINK && link_file(e, i, fd, changes, &result);
  if (!linked && result == TL_FETCHED)
    result = copy_file(e, i, fd, &st, changes, d);
  close(fd);
  return result;
}

tl_fetched tl_entry_give(tl_entry *e, tl_changes *changes, tl_diag *d) {
  uint64_t lacks = tl_memory_failures();
  tl_fetched result = TL_FETCHED;
  for (uint32_t i = 0; i < e->files.n && result == TL_FETCHED; i++) {
    const tl_entry_file *f = &e->files.at[i];
    tl_status status = TL_OK;
    if (f->kind == TL_CHANGE_FOLDER)
      status = tl_changes_folder(changes, d, f->path);
    else if (f->kind == TL_CHANGE_REMOVAL)
      status = tl_changes_remove(changes, d, f->path);
    else
      result = give_file(e, i, changes, d);
    if (status != TL_OK)
      result = TL_FETCH_FAILED;
    result = judged(result, lacks);
  }
  if (result != TL_FETCHED)
    tl_changes_undo(changes);
  return result;
}

tl_fetched tl_entry_check(tl_entry *e) {
  for (uint32_t i = 0; i < e->files.n; i++) {
    struct stat st;
    tl_checksum sum;
    int fd;
    if (e->files.at[i].kind != TL_CHANGE_HIDDEN)
      continue;
    tl_fetched result = open_file(e, i, &st, &fd);
    if (result != TL_FETCHED)
      return result;
    bool whole = tl_checksum_of(fd, e->cancel, &sum);
    bool right = whole && strcmp(sum.hex, e->files.at[i].sum.hex) == 0;
    int saved = errno;
    close(fd);
    errno = saved;
    e->why = "one of its files was changed";
    if (!whole && !(e->cancel && *e->cancel))
      return TL_FETCH_UNREAD;
    if (!right)
      return e->cancel && *e->cancel ? TL_FETCH_FAILED : TL_FETCH_DAMAGED;
  }
  return TL_FETCHED;
}

void tl_entry_release(tl_entry *e) {
  for (uint32_t i = 0; i < e->files.n && !e->root; i++)
    free((void *)(uintptr_t)e->files.at[i].path);
  tl_entry_file_vec_release(&e->files);
  cJSON_Delete(e->root);
  tl_buf_release(&e->index);
}
