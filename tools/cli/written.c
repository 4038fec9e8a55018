/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what a job tells about its files (written.h). One file is its path and a NUL byte, a
 * kind, the length of the text in 8 bytes, and the text. */
#include "tools/cli/written.h"

#include <errno.h>
#include <unistd.h>

#include "backend/weight_meta.h"

typedef enum written_kind { WRITTEN_FILE, WRITTEN_LIST, WRITTEN_LIST_KEEPS_SAME } written_kind;

static void add(tl_buf *out, const char *path, written_kind kind, tl_sv text) {
  uint64_t n = text.n;
  char byte = (char)kind;
  tl_buf_add(out, path, strlen(path) + 1);
  tl_buf_add(out, &byte, 1);
  tl_buf_add(out, (const char *)&n, sizeof n);
  tl_buf_add_sv(out, text);
}

static tl_status take_list(tl_cli *cli, const char *path, tl_buf *out) {
  bool keeps_same = tl_cli_has(cli, TL_OPTION_WRITE_IF_CHANGED);
  tl_file *file = NULL;
  char *name = strdup(path); /* the entry of the journal owns `path` */
  if (!name)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  tl_status status = tl_changes_withdraw(&cli->changes, &cli->diag, name, &file);
  if (status == TL_OK && file)
    add(out, name, keeps_same ? WRITTEN_LIST_KEEPS_SAME : WRITTEN_LIST,
        (tl_sv){(const char *)file->data, (size_t)file->size});
  tl_file_close(file);
  free(name);
  return status;
}

static tl_status take_files(tl_cli *cli, tl_buf *out) {
  for (uint32_t i = 0; i < cli->changes.list.n;) {
    const tl_change *change = &cli->changes.list.at[i];
    const char *path = tl_change_path(change);
    if (tl_weight_meta_is(tl_sv_from(path)) && change->kind != TL_CHANGE_REMOVAL) {
      TL_TRY(take_list(cli, path, out));
      continue;
    }
    if (change->kind == TL_CHANGE_HELD || change->kind == TL_CHANGE_HIDDEN)
      add(out, path, WRITTEN_FILE, (tl_sv){0});
    i++;
  }
  return out->failed ? tl_fail_memory(&cli->diag, TL_NOWHERE) : TL_OK;
}

static tl_status tell(tl_cli *cli, tl_sv text, int fd) {
  while (text.n) {
    ssize_t n = write(fd, text.p, text.n);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return tl_fail(&cli->diag, TL_IO, TL_NOWHERE, "cannot tell the batch what was written: %s",
                     strerror(errno));
    text.p += n;
    text.n -= (size_t)n;
  }
  return TL_OK;
}

tl_status tl_written_tell(tl_cli *cli, int fd) {
  tl_buf written;
  tl_buf_init(&written);
  tl_status status = take_files(cli, &written);
  if (status == TL_OK)
    status = tell(cli, tl_buf_view(&written), fd);
  tl_buf_release(&written);
  return status;
}

bool tl_written_next(tl_sv *text, tl_written *out) {
  const char *end = text->n ? memchr(text->p, '\0', text->n) : NULL;
  uint64_t n;
  size_t head = end ? (size_t)(end - text->p) + 1 : 0;
  if (!end || text->n - head < 1 + sizeof n)
    return false; /* nothing, or a part of what a job that was ended had to say */
  written_kind kind = (written_kind)text->p[head];
  memcpy(&n, text->p + head + 1, sizeof n);
  head += 1 + sizeof n;
  if (text->n - head < n)
    return false;
  *out = (tl_written){.path = text->p,
                      .is_list = kind != WRITTEN_FILE,
                      .keeps_same = kind == WRITTEN_LIST_KEEPS_SAME,
                      .text = {text->p + head, (size_t)n}};
  text->p += head + n;
  text->n -= head + (size_t)n;
  return true;
}
