/* SPDX-License-Identifier: Apache-2.0 */
/* The switch file as a file: where it may be, what it may be, which grammar it is in. */
#include "frontend/config/fusion_switch.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/config/fusion_draft.h"
#include "support/file.h"

enum { MAX_BYTES = 4 << 20 };

/* Letters, digits, '_', '-', '.', '/' and the Chinese characters U+4E00 to U+9FA5. Returns the
 * offset of the first byte of something else, or the length. */
static size_t plain_prefix(tl_sv path) {
  size_t i = 0;
  while (i < path.n) {
    const unsigned char *p = (const unsigned char *)path.p + i;
    unsigned char c = *p;
    size_t length = tl_utf8_length((tl_sv){path.p + i, path.n - i});
    bool plain = length == 1 && ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                                 (c >= 'a' && c <= 'z') || strchr("_-./", c));
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

static tl_status cannot_open(tl_diag *d, const char *path) {
  return tl_fail_code(d, TL_IO, "E21001", TL_AT_FILE(path), "cannot open the switch file: %s",
                      strerror(errno));
}

static tl_status check_file(tl_diag *d, tl_location where, const char *path, const char *resolved) {
  struct stat st;
  tl_sv name = tl_sv_from(resolved);
  size_t good = plain_prefix(name);
  if (good < name.n)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", where,
                        "the path '%s' has a character that paths of atc may not have, behind "
                        "'%.*s'\vuse letters, digits, '_', '-', '.', '/' and Chinese characters",
                        resolved, (int)good, resolved);
  if (stat(resolved, &st) != 0)
    return cannot_open(d, path);
  if (!S_ISREG(st.st_mode))
    return tl_fail_code(d, TL_IO, "E21002", TL_AT_FILE(path),
                        "cannot read the switch file: it is %s",
                        S_ISDIR(st.st_mode) ? "a folder" : "no regular file");
  if (access(resolved, R_OK) != 0)
    return cannot_open(d, path);
  if (st.st_size > MAX_BYTES)
    return tl_fail_code(d, TL_LIMIT, "E21002", TL_AT_FILE(path),
                        "cannot read the switch file: it has %lld bytes, more than %d",
                        (long long)st.st_size, MAX_BYTES);
  return TL_OK;
}

/* The last diagnostic's message, for a code of our own. */
static void keep_message(void *user, const tl_diagnostic *d) {
  tl_buf_clear(user);
  tl_buf_add_z(user, d->message);
}

static tl_status open_file(tl_diag *d, const char *path, tl_file **out) {
  tl_buf message;
  tl_buf_init(&message);
  tl_diag quiet = {.fn = keep_message, .user = &message};
  tl_status status = tl_file_open(&quiet, path, TL_FILE_READ, out);
  if (status != TL_OK)
    (void)tl_fail_code(d, status, "E21002", TL_AT_FILE(path), "cannot read the switch file: %s",
                       message.p ? message.p : "out of memory");
  tl_buf_release(&message);
  return status;
}

static bool looks_like_json(tl_sv text) {
  if (tl_sv_starts_with(text, "\xef\xbb\xbf"))
    text = (tl_sv){text.p + 3, text.n - 3};
  text = tl_fusion_trim(text);
  return text.n && strchr("{[\"", *text.p) && *text.p;
}

tl_status tl_read_fusion_text(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                              tl_fusion_config *out) {
  tl_json json;
  tl_json_error error;
  if (text.n > MAX_BYTES)
    return tl_fail_code(d, TL_LIMIT, "E21002", TL_AT_FILE(path), "more than %d bytes", MAX_BYTES);
  if (tl_fusion_trim(text).n == 0)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E21001", TL_AT_FILE(path),
                        "the switch file is empty");
  tl_status status = tl_json_parse(text, &json, &error);
  if (status == TL_NO_MEMORY)
    return tl_fail(d, status, TL_AT_FILE(path), "out of memory");
  if (status != TL_OK)
    return tl_read_fusion_lines(d, a, path, text, looks_like_json(text) ? &error : NULL, out);
  status = tl_read_fusion_json(d, a, path, &json, out);
  tl_json_release(&json);
  return status;
}

tl_status tl_read_fusion_file(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                              tl_fusion_config *out) {
  tl_file *f;
  char *resolved = realpath(path, NULL);
  if (!resolved)
    return cannot_open(d, path);
  tl_status status = check_file(d, where, path, resolved);
  free(resolved);
  TL_TRY(status);
  TL_TRY(open_file(d, path, &f));
  status = tl_read_fusion_text(d, a, path, (tl_sv){(const char *)f->data, (size_t)f->size}, out);
  tl_file_close(f);
  return status;
}
