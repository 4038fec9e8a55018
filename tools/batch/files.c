/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the files that the jobs of a batch have written (files.h). */
#include "tools/batch/files.h"

#include <stdlib.h>
#include <unistd.h>

#include "backend/weight_meta.h"
#include "tools/batch/paths.h"
#include "tools/cli/signals.h"
#include "tools/cli/written.h"

static bool add(tl_job_files *f, const tl_written *w, uint32_t job) {
  tl_job_file file = {.path = strdup(w->path),
                      .real = tl_real_path(w->path),
                      .job = job,
                      .is_list = w->is_list,
                      .rewrites = !w->keeps_same,
                      .order = f->list.n,
                      .at = f->lists.n,
                      .n = w->text.n};
  tl_buf_add_sv(&f->lists, w->text);
  if (file.path && file.real && !f->lists.failed && tl_job_file_vec_push(&f->list, file))
    return true;
  free(file.path);
  free(file.real);
  return false;
}

tl_status tl_job_files_take(tl_job_files *f, tl_cli *cli, uint32_t job, int fd) {
  char block[4096];
  off_t at = 0;
  tl_written w;
  tl_buf told;
  tl_buf_init(&told);
  for (ssize_t got; fd >= 0 && (got = pread(fd, block, sizeof block, at)) > 0; at += got)
    tl_buf_add(&told, block, (size_t)got);
  tl_sv rest = tl_buf_view(&told);
  bool good = !told.failed;
  while (good && tl_written_next(&rest, &w))
    good = add(f, &w, job);
  tl_buf_release(&told);
  return good ? TL_OK : tl_fail_memory(&cli->diag, TL_NOWHERE);
}

static int by_path(const void *a, const void *b) {
  const tl_job_file *x = a, *y = b;
  int order = strcmp(x->real, y->real);
  return order ? order : (x->order > y->order) - (x->order < y->order);
}

static tl_sv text_of(const tl_job_files *f, const tl_job_file *file) {
  return (tl_sv){f->lists.p + file->at, file->n};
}

/* Returns false if one of them is no list: an option of the job has that name. */
static bool are_lists(const tl_job_files *f, const tl_job_file *first, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (!tl_weight_meta_fits(text_of(f, &first[i])))
      return false;
  return true;
}

/* Writes one list for the jobs from `first` on, which are n. What one job alone has written stays
 * as it is. */
static tl_status write_list(const tl_job_files *f, tl_cli *cli, const tl_job_file *first,
                            uint32_t n) {
  tl_changes changes = {.keeps_same = true};
  tl_writer *out;
  tl_buf all, text;
  tl_buf_init(&all);
  tl_buf_init(&text);
  for (uint32_t i = 0; i < n; i++) {
    tl_buf_add_sv(&all, text_of(f, &first[i]));
    changes.keeps_same &= !first[i].rewrites;
  }
  if (n > 1)
    tl_weight_meta_print(&(tl_weight_place_vec){0}, tl_buf_view(&all), &text);
  else
    tl_buf_add_sv(&text, tl_buf_view(&all));
  tl_status status = all.failed || text.failed
                         ? tl_fail_memory(&cli->diag, TL_NOWHERE)
                         : tl_writer_open(&cli->diag, first->path, NULL, &out);
  if (status == TL_OK) {
    (void)tl_writer_write(out, text.p, text.n);
    status = tl_changes_commit(&changes, &cli->diag, out);
  }
  tl_signals_hold(true);
  if (status == TL_OK)
    status = tl_changes_apply(&changes, &cli->diag);
  tl_signals_hold(false);
  tl_changes_undo(&changes);
  tl_buf_release(&all);
  tl_buf_release(&text);
  return status;
}

static tl_status say_clash(tl_cli *cli, const tl_job_file *a, const tl_job_file *b) {
  return tl_fail_code(&cli->diag, TL_INVALID_ARGUMENT, "E_BATCH", TL_AT_FILE(a->path),
                      "jobs %u and %u have both written this file, which is now that of one of "
                      "them\vgive each job names and a folder of its own",
                      a->job + 1, b->job + 1);
}

/* Looks at the files of one path, which are n. One that is named by its content is the same for
 * all of them. */
static tl_status end_path(const tl_job_files *f, tl_cli *cli, const tl_job_file *first,
                          uint32_t n) {
  if (first->is_list && (n == 1 || are_lists(f, first, n)))
    return write_list(f, cli, first, n);
  if (first->is_list) {
    TL_TRY(write_list(f, cli, first, 1));
    return say_clash(cli, first, &first[1]);
  }
  for (uint32_t i = 1; i < n; i++)
    if (first[i].job != first->job && !tl_weight_file_is_content(tl_sv_from(first->real)))
      return say_clash(cli, first, &first[i]);
  return TL_OK;
}

tl_status tl_job_files_end(tl_job_files *f, tl_cli *cli) {
  tl_status first_bad = TL_OK;
  if (f->list.n)
    qsort(f->list.at, f->list.n, sizeof *f->list.at, by_path);
  for (uint32_t i = 0, n; i < f->list.n; i += n) {
    const tl_job_file *first = &f->list.at[i];
    for (n = 1; i + n < f->list.n && strcmp(first->real, first[n].real) == 0;)
      n++;
    tl_status status = end_path(f, cli, first, n);
    first_bad = first_bad == TL_OK ? status : first_bad;
  }
  return first_bad;
}

void tl_job_files_release(tl_job_files *f) {
  for (uint32_t i = 0; i < f->list.n; i++) {
    free(f->list.at[i].path);
    free(f->list.at[i].real);
  }
  tl_job_file_vec_release(&f->list);
  tl_buf_release(&f->lists);
}
