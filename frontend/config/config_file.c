/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/config/config_file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the length of the longest prefix that holds only characters which atc allows in paths:
 * letters, digits, '_', '-', '.', '/' and the Chinese characters U+4E00 to U+9FA5. tl_utf8_length
 * returns 0 for a malformed sequence, which ends the prefix. */
static size_t plain_prefix(tl_sv path) {
  size_t i = 0;
  while (i < path.n) {
    const unsigned char *p = (const unsigned char *)path.p + i;
    unsigned char c = *p;
    size_t length = tl_utf8_length((tl_sv){path.p + i, path.n - i});
    bool plain = length == 1 && ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                                 (c >= 'a' && c <= 'z') || strchr("_-./", c));
    /* All of these Chinese characters have three bytes in UTF-8. */
    if (length == 3) {
      unsigned point = (c & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
      plain = point >= 0x4e00 && point <= 0x9fa5;
    }
    if (!plain)
      return i;
    i += length;
  }
  return i;
}

/* Reports errno of the call that failed, with the code of this kind of file. */
static tl_status cannot_open(tl_diag *d, const tl_config_kind *kind, const char *path) {
  if (errno == ENOMEM)
    return tl_fail_memory(d, TL_AT_FILE(path));
  return tl_fail_code(d, TL_IO, kind->missing, TL_AT_FILE(path), "cannot open the %s: %s",
                      kind->what, strerror(errno));
}

/* Checks that the file exists and that its path is legal. atc checks the resolved path, so links
 * and relative parts do not hide a character. */
static tl_status check_path(tl_diag *d, tl_location where, const char *path,
                            const tl_config_kind *kind) {
  char *resolved = realpath(path, NULL);
  if (!resolved)
    return cannot_open(d, kind, path);
  tl_sv name = tl_sv_from(resolved);
  size_t good = kind->plain_path ? plain_prefix(name) : name.n;
  tl_status status = TL_OK;
  if (good < name.n)
    status = tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", where,
                          "the path '%s' has a character that atc does not allow in paths, after "
                          "'%.*s'\vuse letters, digits, '_', '-', '.', '/' and Chinese characters",
                          resolved, (int)good, resolved);
  free(resolved);
  return status;
}

/* Refuses folders, devices and files beyond the limit before they are read: a FIFO, for example,
 * would block the read. */
static tl_status check_file(tl_diag *d, const char *path, const tl_config_kind *kind) {
  uint32_t max_bytes = kind->max_bytes ? kind->max_bytes : (uint32_t)TL_CONFIG_MAX_BYTES;
  struct stat st;
  if (stat(path, &st) != 0)
    return cannot_open(d, kind, path);
  if (!S_ISREG(st.st_mode))
    return tl_fail_code(d, TL_IO, kind->unreadable, TL_AT_FILE(path),
                        "cannot read the %s: it is %s", kind->what,
                        S_ISDIR(st.st_mode) ? "a folder" : "no regular file");
  if (access(path, R_OK) != 0)
    return cannot_open(d, kind, path);
  if (st.st_size > max_bytes)
    return tl_fail_code(d, TL_LIMIT, kind->unreadable, TL_AT_FILE(path),
                        "cannot read the %s: the file has %lld bytes, more than %u", kind->what,
                        (long long)st.st_size, max_bytes);
  return TL_OK;
}

/* Keeps the message of the last diagnostic in a tl_buf. */
static void keep_message(void *user, const tl_diagnostic *d) {
  tl_buf_clear(user);
  tl_buf_add_z(user, d->message);
}

tl_status tl_config_open(tl_diag *d, tl_location where, const char *path,
                         const tl_config_kind *kind, tl_file **out) {
  TL_TRY(check_path(d, where, path, kind));
  TL_TRY(check_file(d, path, kind));
  tl_buf message;
  tl_buf_init(&message);
  /* tl_file_open reports without a code; its message is caught here and reported again with the
   * code of this kind of file. */
  tl_diag quiet = {.fn = keep_message,
                   .user = &message,
                   .opened = d->opened,
                   .opened_user = d->opened_user,
                   .lacks = d->lacks};
  tl_status status = tl_file_open(&quiet, path, TL_FILE_READ, out);
  if (status != TL_OK)
    (void)tl_fail_code(d, status, kind->unreadable, TL_AT_FILE(path), "cannot read the %s: %s",
                       kind->what, message.p ? message.p : "out of memory");
  tl_buf_release(&message);
  return status;
}

tl_status tl_config_text(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                         const tl_config_kind *kind, tl_sv *out) {
  tl_file *f;
  TL_TRY(tl_config_open(d, where, path, kind, &f));
  out->n = (size_t)f->size;
  out->p = tl_arena_copy(a, f->size ? (const char *)f->data : "", out->n);
  tl_file_close(f);
  return out->p ? TL_OK : tl_fail_memory(d, TL_AT_FILE(path));
}

tl_sv tl_config_without_mark(tl_sv text) {
  return tl_sv_starts_with(text, "\xef\xbb\xbf") ? (tl_sv){text.p + 3, text.n - 3} : text;
}
