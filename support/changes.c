/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of a run (changes.h). A new file and the old one of its name exchange names, so that
 * the old one is at hand until all names are given. On file systems that cannot exchange, the old
 * file waits under a second name. */
#include "support/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/litter.h"

/* MOST_HELD: a writer that waits keeps a descriptor, of which a process has few; further files wait
 * under hidden names. */
enum { MOST_HELD = 64, NAME_TRIES = 1000 };

/* Takes back one entry: removes a file that has no name yet, and a new folder if it is empty. */
static void drop(tl_change *change) {
  tl_writer_abort(change->writer);
  if (change->hidden && !change->done)
    unlink(change->hidden);
  if (change->kind == TL_CHANGE_FOLDER)
    rmdir(change->path);
  free(change->path);
  free(change->given);
  free(change->hidden);
}

/* Takes over what the change owns, and drops it when it cannot be kept. */
static tl_status add(tl_changes *c, tl_diag *d, tl_change change) {
  if ((change.path || change.writer) && tl_change_vec_push(&c->list, change))
    return TL_OK;
  if (change.path)
    drop(&change);
  else
    tl_writer_abort(change.writer);
  return tl_fail_memory(d, TL_NOWHERE);
}

tl_status tl_changes_folder(tl_changes *c, tl_diag *d, const char *path) {
  struct stat st;
  if (lstat(path, &st) == 0) /* it exists: tl_make_folder says so when it is no folder */
    return tl_make_folder(d, path);
  char *copy = strdup(path);
  if (!copy)
    return tl_fail_memory(d, TL_NOWHERE);
  tl_status status = tl_make_folder(d, path);
  if (status != TL_OK) {
    free(copy);
    return status;
  }
  return add(c, d, (tl_change){.kind = TL_CHANGE_FOLDER, .path = copy});
}

tl_status tl_changes_commit(tl_changes *c, tl_diag *d, tl_writer *w) {
  if (!c)
    return tl_writer_commit(w);
  tl_status status = tl_writer_hold(w);
  if (status != TL_OK) {
    tl_writer_abort(w);
    return status;
  }
  if (tl_writer_is_stream(w) || c->n_held < MOST_HELD) {
    c->n_held++;
    return add(c, d, (tl_change){.kind = TL_CHANGE_HELD, .writer = w});
  }
  tl_change change = {.kind = TL_CHANGE_HIDDEN, .given = strdup(tl_writer_path(w))};
  status = tl_writer_hide(w, d, &change.path, &change.hidden);
  if (status == TL_OK)
    return add(c, d, change);
  free(change.given);
  return status;
}

const char *tl_change_path(const tl_change *change) {
  return change->writer ? tl_writer_path(change->writer)
                        : (change->given ? change->given : change->path);
}

enum { LONGEST_SOURCE = 40 };

/* Returns a name by which the bytes of a new file can be opened, in `room` if it is short; NULL for
 * what has none. */
static const char *source_of(const tl_change *change, char room[LONGEST_SOURCE]) {
  if (change->kind == TL_CHANGE_HIDDEN)
    return change->hidden;
  if (change->kind != TL_CHANGE_HELD || tl_writer_is_stream(change->writer))
    return NULL;
  snprintf(room, LONGEST_SOURCE, "/proc/self/fd/%d", tl_writer_descriptor(change->writer));
  return room;
}

int tl_change_open(const tl_change *change) {
  char room[LONGEST_SOURCE];
  const char *source = source_of(change, room);
  if (source)
    return open(source, O_RDONLY | O_CLOEXEC);
  errno = EINVAL;
  return -1;
}

static bool have_same_bytes(const tl_file *x, const tl_file *y) {
  return x->size == y->size && (x->size == 0 || memcmp(x->data, y->data, (size_t)x->size) == 0);
}

/* Returns true if both are regular files with the same bytes. A file that cannot be read is
 * another one. */
static bool are_same(const char *a, const char *b) {
  tl_diag quiet = {.lacks = tl_memory_failures()};
  struct stat st;
  tl_file *x = NULL, *y = NULL;
  bool same = stat(b, &st) == 0 && S_ISREG(st.st_mode) &&
              tl_file_open(&quiet, a, TL_FILE_MAP, &x) == TL_OK &&
              x->size == (uint64_t)st.st_size &&
              tl_file_open(&quiet, b, TL_FILE_MAP, &y) == TL_OK && have_same_bytes(x, y);
  tl_file_close(x);
  tl_file_close(y);
  return same;
}

tl_status tl_changes_agree(tl_diag *d, const tl_change *a, const tl_change *b, bool *same) {
  char room_a[LONGEST_SOURCE], room_b[LONGEST_SOURCE];
  const char *x = source_of(a, room_a), *y = source_of(b, room_b);
  tl_diag quiet = {.lacks = tl_memory_failures()};
  tl_file *f = NULL, *g = NULL;
  *same = false;
  if (!x || !y)
    return TL_OK;
  tl_status status = tl_file_open(&quiet, x, TL_FILE_MAP, &f);
  if (status == TL_OK)
    status = tl_file_open(&quiet, y, TL_FILE_MAP, &g);
  if (status == TL_OK)
    *same = have_same_bytes(f, g);
  tl_file_close(f);
  tl_file_close(g);
  if (status == TL_NO_MEMORY)
    return tl_fail_memory(d, TL_AT_FILE(tl_change_path(b)));
  return status == TL_OK ? TL_OK
                         : tl_fail(d, TL_IO, TL_AT_FILE(tl_change_path(b)),
                                   "cannot compare two files that are to have this name");
}

uint64_t tl_changes_last_size(const tl_changes *c) {
  const tl_change *last = c->list.n ? &c->list.at[c->list.n - 1] : NULL;
  struct stat st;
  if (last && last->kind == TL_CHANGE_HELD && !tl_writer_is_stream(last->writer))
    return tl_writer_position(last->writer);
  bool hidden = last && last->kind == TL_CHANGE_HIDDEN && stat(last->hidden, &st) == 0;
  return hidden ? (uint64_t)st.st_size : 0;
}

tl_status tl_changes_remove(tl_changes *c, tl_diag *d, const char *path) {
  if (!c)
    return unlink(path) == 0 || errno == ENOENT
               ? TL_OK
               : tl_fail(d, TL_IO, TL_AT_FILE(path), "cannot remove '%s': %s", path,
                         strerror(errno));
  return add(c, d, (tl_change){.kind = TL_CHANGE_REMOVAL, .path = strdup(path)});
}

tl_status tl_changes_aside(tl_changes *c, tl_diag *d, const char *path, const char *other) {
  struct stat st;
  if (!c || !other || stat(other, &st) != 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
    return TL_OK;
  return add(c, d, (tl_change){.kind = TL_CHANGE_ASIDE, .path = realpath(path, NULL)});
}

static const char *without_dots(const char *path) {
  while (path[0] == '.' && path[1] == '/')
    path += 2;
  return path;
}

/* Opens a file of the run itself, which is no input of it. */
static tl_status open_own(tl_diag *d, const char *path, tl_file **out) {
  tl_opened_fn opened = d->opened;
  d->opened = NULL;
  tl_status status = tl_file_open(d, path, TL_FILE_READ, out);
  d->opened = opened;
  return status;
}

tl_status tl_changes_withdraw(tl_changes *c, tl_diag *d, const char *path, tl_file **out) {
  char room[LONGEST_SOURCE];
  *out = NULL;
  for (uint32_t i = c ? c->list.n : 0; i-- > 0;) {
    tl_change *change = &c->list.at[i];
    const char *source = source_of(change, room);
    if (!source || strcmp(without_dots(tl_change_path(change)), without_dots(path)) != 0)
      continue;
    TL_TRY(open_own(d, source, out));
    c->n_held -= change->kind == TL_CHANGE_HELD;
    drop(change);
    c->list.n--;
    memmove(change, change + 1, (c->list.n - i) * sizeof *change);
    return TL_OK;
  }
  return TL_OK;
}

/* ---- giving names ---------------------------------------------------------------------------- */

/* Returns a hidden sibling of path that does not exist, on the heap; NULL without memory or when
 * all names are taken. */
static char *second_name(const char *path) {
  const char *slash = strrchr(path, '/');
  size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
  struct stat st;
  for (int i = 0; i < NAME_TRIES; i++) {
    tl_buf name;
    tl_buf_init(&name);
    tl_buf_add(&name, path, folder);
    tl_buf_printf(&name, ".%.*s.%ld-%d.old", TL_LITTER_NAME, path + folder, (long)getpid(), i);
    if (!name.failed && lstat(name.p, &st) != 0)
      return name.p;
    tl_buf_release(&name);
  }
  return NULL;
}

/* The link goes to where a link leads, as a writer's file does. */
bool tl_changes_link(tl_changes *c, int fd, const char *path) {
  char source[40];
  struct stat st;
  bool there = stat(path, &st) == 0;
  if (!there && errno != ENOENT)
    return false;
  char *target = there ? realpath(path, NULL) : strdup(path);
  char *hidden = target ? second_name(target) : NULL;
  tl_change change = {.kind = TL_CHANGE_HIDDEN, .path = target, .hidden = hidden};
  snprintf(source, sizeof source, "/proc/self/fd/%d", fd);
  bool linked = hidden && linkat(AT_FDCWD, source, AT_FDCWD, hidden, AT_SYMLINK_FOLLOW) == 0;
  if (linked && (change.given = strdup(path)) && tl_change_vec_push(&c->list, change))
    return true;
  int saved = linked || !hidden ? ENOMEM : errno;
  if (linked)
    unlink(hidden);
  free(change.given);
  free(target);
  free(hidden);
  errno = saved;
  return false;
}

/* Moves the old file to a second name, then the new one into its place. Where hard links are
 * unknown, there is no file of that name between the two steps. */
static int replace_in_steps(tl_change *change) {
  char *second = second_name(change->path);
  if (!second) {
    errno = ENOMEM;
    return -1;
  }
  bool moved = link(change->path, second) == 0 ||
               (errno != ENOENT && rename(change->path, second) == 0);
  if ((!moved && errno != ENOENT) || rename(change->hidden, change->path) != 0) {
    int saved = errno;
    if (moved)
      (void)rename(second, change->path);
    free(second);
    errno = saved;
    return -1;
  }
  free(change->hidden);
  change->hidden = moved ? second : NULL;
  change->replaced = moved;
  if (!moved)
    free(second);
  return 0;
}

#if !defined(RENAME_EXCHANGE)
/* musl, and glibc before 2.28, leave the call to the program. */
enum { RENAME_EXCHANGE = 2 };
static int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
  return (int)syscall(SYS_renameat2, from, old, to, new, flags);
}
#endif

/* Swaps the names of two files in one step of the kernel. */
static int exchange(const tl_change *change) {
  return renameat2(AT_FDCWD, change->hidden, AT_FDCWD, change->path, RENAME_EXCHANGE);
}

/* Gives the new file its name; an old file then has the hidden name. Returns -1 with errno on
 * failure. */
static int swap_names(tl_change *change) {
  if (exchange(change) == 0) {
    struct stat st;
    change->replaced = lstat(change->hidden, &st) != 0 || !S_ISDIR(st.st_mode);
    if (change->replaced)
      return 0;
    (void)exchange(change); /* a folder has appeared under the name: undo */
    errno = EISDIR;
    return -1;
  }
  if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)
    return replace_in_steps(change);
  return errno == ENOENT ? rename(change->hidden, change->path) : -1;
}

/* Carries out a removal: the file gets a hidden name, so that it can come back. */
static int hide_old(tl_change *change) {
  change->hidden = second_name(change->path);
  if (!change->hidden) {
    errno = ENOMEM;
    return -1;
  }
  change->replaced = rename(change->path, change->hidden) == 0;
  if (!change->replaced) {
    free(change->hidden);
    change->hidden = NULL;
  }
  return change->replaced || errno == ENOENT ? 0 : -1;
}

/* Takes back a name that was given. */
static void put_back(tl_change *change) {
  if (!change->done)
    return;
  if (change->replaced)
    (void)rename(change->hidden, change->path); /* the old one over the new one */
  else if (change->kind == TL_CHANGE_HIDDEN)
    unlink(change->path);
  if (change->replaced || change->kind == TL_CHANGE_HIDDEN) {
    free(change->hidden);
    change->hidden = NULL;
  }
}

/* Returns true if a later change gives the name of this one to a new file. */
static bool comes_later(const tl_changes *c, uint32_t i) {
  for (uint32_t k = i + 1; k < c->list.n; k++)
    if (c->list.at[k].kind == TL_CHANGE_HIDDEN &&
        strcmp(c->list.at[k].path, c->list.at[i].path) == 0)
      return true;
  return false;
}

/* Gives all names in order; on a failure takes back those given before. */
static tl_status give_names(tl_changes *c, tl_diag *d) {
  for (uint32_t i = 0; i < c->list.n; i++) {
    tl_change *change = &c->list.at[i];
    bool aside = change->kind == TL_CHANGE_ASIDE && comes_later(c, i);
    bool removal = change->kind == TL_CHANGE_REMOVAL || aside;
    if (!removal && change->kind != TL_CHANGE_HIDDEN)
      continue;
    if ((removal ? hide_old(change) : swap_names(change)) != 0) {
      tl_status status = tl_fail(d, errno == ENOMEM ? TL_NO_MEMORY : TL_IO,
                                 TL_AT_FILE(change->path), "cannot %s '%s': %s",
                                 removal ? "remove" : "create", change->path,
                                 errno == ENOMEM ? "out of memory" : strerror(errno));
      while (i-- > 0)
        put_back(&c->list.at[i]);
      return status;
    }
    change->done = true;
  }
  return TL_OK;
}

/* Streams cannot be taken back, so they are fed when all files are complete and before any is
 * named. */
static tl_status feed_streams(tl_changes *c, tl_diag *d) {
  for (uint32_t i = 0; i < c->list.n; i++) {
    tl_change *change = &c->list.at[i];
    if (change->kind == TL_CHANGE_HELD && tl_writer_is_stream(change->writer))
      TL_TRY(tl_writer_feed(change->writer, d));
  }
  return TL_OK;
}

/* Gives every held file a hidden name, from which it can be renamed. */
static tl_status hide_held(tl_changes *c, tl_diag *d) {
  for (uint32_t i = 0; i < c->list.n; i++) {
    tl_change *change = &c->list.at[i];
    if (change->kind != TL_CHANGE_HELD || tl_writer_is_stream(change->writer))
      continue;
    tl_writer *w = change->writer;
    change->writer = NULL;
    change->kind = TL_CHANGE_HIDDEN;
    TL_TRY(tl_writer_hide(w, d, &change->path, &change->hidden));
  }
  return TL_OK;
}

/* Drops new files that say what the old ones say. */
static void drop_same(tl_changes *c) {
  for (uint32_t i = 0; i < c->list.n; i++) {
    tl_change *change = &c->list.at[i];
    if (change->kind != TL_CHANGE_HIDDEN || !are_same(change->hidden, change->path))
      continue;
    unlink(change->hidden);
    free(change->hidden);
    change->hidden = NULL;
    change->kind = TL_CHANGE_SAME;
  }
}

/* Removes what killed runs left beside the files of this one. */
static void remove_litter(const tl_changes *c) {
  const char *paths[64];
  size_t n = 0;
  for (uint32_t i = 0; i < c->list.n; i++) {
    if (c->list.at[i].kind != TL_CHANGE_FOLDER)
      paths[n++] = c->list.at[i].path;
    if (n == sizeof paths / sizeof *paths || i + 1 == c->list.n) {
      tl_litter_remove(paths, n);
      n = 0;
    }
  }
}

tl_status tl_changes_apply(tl_changes *c, tl_diag *d) {
  tl_status status = hide_held(c, d);
  if (status == TL_OK && c->keeps_same)
    drop_same(c);
  if (status == TL_OK)
    status = feed_streams(c, d);
  if (status == TL_OK)
    status = give_names(c, d);
  if (status != TL_OK) {
    tl_changes_undo(c);
    return status;
  }
  remove_litter(c);
  for (uint32_t i = 0; i < c->list.n; i++) {
    tl_change *change = &c->list.at[i];
    if (change->replaced)
      unlink(change->hidden);
    tl_writer_abort(change->writer); /* a stream, which has its bytes */
    free(change->path);
    free(change->given);
    free(change->hidden);
  }
  tl_change_vec_release(&c->list);
  c->n_held = 0;
  return TL_OK;
}

void tl_changes_undo(tl_changes *c) {
  for (uint32_t i = c->list.n; i-- > 0;)
    drop(&c->list.at[i]);
  tl_change_vec_release(&c->list);
  c->n_held = 0;
}

void tl_changes_abandon(const tl_changes *c) {
  for (uint32_t i = c->list.n; i-- > 0;) {
    const tl_change *change = &c->list.at[i];
    if (change->hidden && !change->done)
      unlink(change->hidden);
    if (change->kind == TL_CHANGE_FOLDER)
      rmdir(change->path);
  }
}
