/* SPDX-License-Identifier: Apache-2.0 */
/* Files: path rules, atomic output, and the thread pool. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/module.h"
#include "support/changes.h"
#include "support/fill.h"
#include "support/pool.h"
#include "tests/unit/unit.h"

enum { BIG = 300000 };

/* A fresh folder with a few files; the path is on the heap. */
static char *make_folder(void) {
  char *folder = strdup("/tmp/tailor-unit-XXXXXX");
  CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
  return folder;
}

static void remove_folder(char *folder) {
  char command[80];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  CU_ASSERT_EQUAL(system(command), 0);
  free(folder);
}

static const char *in_folder(char out[80], const char *folder, const char *name) {
  snprintf(out, 80, "%s/%s", folder, name);
  return out;
}

/* Writes n bytes of a pattern that depends on the position. */
static void write_pattern(const char *path, size_t n) {
  tl_diag d = {0};
  tl_writer *w;
  CU_ASSERT_EQUAL_FATAL(tl_writer_open(&d, path, NULL, &w), TL_OK);
  for (size_t i = 0; i < n; i++) {
    unsigned char *room = tl_writer_room(w, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(room);
    *room = (unsigned char)(i * 7 + i / 251);
    tl_writer_advance(w, 1);
  }
  CU_ASSERT_EQUAL(tl_writer_position(w), n);
  CU_ASSERT_EQUAL(tl_writer_commit(w), TL_OK);
}

static void locations_stay_inside_the_folder(void) {
  static const char *const refused[] = {
      "",    "/etc/passwd",     "..",  "../a", "sub/../../a", "sub/..",
      "out", "root/etc/passwd", "sub", "."};
  static const char *const accepted[] = {"a", "sub/b", "./a", "inside"};
  char *folder = make_folder();
  char path[80];
  tl_diag d = {0};
  write_pattern(in_folder(path, folder, "a"), 10);
  CU_ASSERT_EQUAL(mkdir(in_folder(path, folder, "sub"), 0777), 0);
  write_pattern(in_folder(path, folder, "sub/b"), 10);
  CU_ASSERT_EQUAL(symlink("/etc/passwd", in_folder(path, folder, "out")), 0);
  CU_ASSERT_EQUAL(symlink("/", in_folder(path, folder, "root")), 0);
  CU_ASSERT_EQUAL(symlink("sub/b", in_folder(path, folder, "inside")), 0);
  in_folder(path, folder, "model.onnx");
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    tl_file *f;
    CU_ASSERT_EQUAL(
        tl_file_open_beside(&d, path, tl_sv_from(refused[i]), TL_FILE_MAP, TL_AT_FILE(path), &f),
        TL_INVALID_MODEL);
    CU_ASSERT_PTR_NULL(f);
  }
  for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
    tl_file *f;
    CU_ASSERT_EQUAL(
        tl_file_open_beside(&d, path, tl_sv_from(accepted[i]), TL_FILE_MAP, TL_AT_FILE(path), &f),
        TL_OK);
    CU_ASSERT_TRUE(f && f->size == 10);
    tl_file_close(f);
  }
  tl_file *f;
  CU_ASSERT_EQUAL(tl_file_open_beside(&d, path, TL_SV("a\0b"), TL_FILE_MAP, TL_AT_FILE(path), &f),
                  TL_INVALID_MODEL);
  CU_ASSERT_EQUAL(
      tl_file_open_beside(&d, path, TL_SV("missing"), TL_FILE_MAP, TL_AT_FILE(path), &f), TL_IO);
  remove_folder(folder);
}

static void reading_equals_mapping(void) {
  char *folder = make_folder();
  char path[80];
  tl_diag d = {0};
  tl_file *mapped;
  tl_file *read;
  write_pattern(in_folder(path, folder, "a"), BIG);
  CU_ASSERT_EQUAL_FATAL(tl_file_open(&d, path, TL_FILE_MAP, &mapped), TL_OK);
  CU_ASSERT_EQUAL_FATAL(tl_file_open(&d, path, TL_FILE_READ, &read), TL_OK);
  CU_ASSERT_TRUE(mapped->mapped && !read->mapped && read->fd < 0);
  CU_ASSERT_TRUE(mapped->size == BIG && read->size == BIG);
  CU_ASSERT_TRUE(memcmp(mapped->data, read->data, BIG) == 0);
  CU_ASSERT_TRUE(mapped->inode == read->inode && mapped->device == read->device);
  tl_file_close(mapped);
  tl_file_close(read);
  write_pattern(path, 0);
  CU_ASSERT_EQUAL_FATAL(tl_file_open(&d, path, TL_FILE_MAP, &mapped), TL_OK);
  CU_ASSERT_EQUAL(mapped->size, 0);
  tl_file_close(mapped);
  CU_ASSERT_EQUAL(tl_file_open(&d, folder, TL_FILE_MAP, &mapped), TL_IO);
  remove_folder(folder);
}

static void copies_keep_every_byte(void) {
  static const struct {
    size_t offset;
    size_t length;
  } ranges[] = {{0, BIG}, {1, 65536}, {3, 65537}, {BIG, 0}, {17, 5}};
  char *folder = make_folder();
  char path[80];
  tl_diag d = {0};
  tl_file *f;
  write_pattern(in_folder(path, folder, "a"), BIG);
  CU_ASSERT_EQUAL_FATAL(tl_file_open(&d, path, TL_FILE_MAP, &f), TL_OK);
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    tl_writer *w;
    uint64_t n;
    CU_ASSERT_EQUAL_FATAL(tl_writer_open(&d, in_folder(path, folder, "b"), NULL, &w), TL_OK);
    CU_ASSERT_EQUAL(tl_writer_write(w, "head", 4), TL_OK);
    CU_ASSERT_EQUAL(tl_writer_copy(w, f, ranges[i].offset, ranges[i].length), TL_OK);
    const unsigned char *view = tl_writer_view(w, &n);
    CU_ASSERT_TRUE(view && n == 4 + ranges[i].length);
    CU_ASSERT_TRUE(view && memcmp(view + 4, f->data + ranges[i].offset, ranges[i].length) == 0);
    CU_ASSERT_EQUAL(tl_writer_commit(w), TL_OK);
  }
  tl_writer *w;
  CU_ASSERT_EQUAL_FATAL(tl_writer_open(&d, path, NULL, &w), TL_OK);
  CU_ASSERT_EQUAL(tl_writer_copy(w, f, BIG, 1), TL_INTERNAL);
  CU_ASSERT_EQUAL(tl_writer_commit(w), TL_INTERNAL);
  tl_file_close(f);
  remove_folder(folder);
}

/* Pieces around the sizes of the writer's buffer, small ones between them: what is large must not
 * overtake what is waiting. */
static void writes_keep_their_order(void) {
  static const size_t sizes[] = {3, 65536, 7, 65537, 1, 80000, 131072, 9, 131073, 2};
  static unsigned char piece[131073];
  char *folder = make_folder();
  char path[80];
  tl_diag d = {0};
  tl_writer *w;
  in_folder(path, folder, "ordered");
  CU_ASSERT_EQUAL_FATAL(tl_writer_open(&d, path, NULL, &w), TL_OK);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    memset(piece, (int)i + 1, sizes[i]);
    CU_ASSERT_EQUAL(tl_writer_write(w, piece, sizes[i]), TL_OK);
  }
  CU_ASSERT_EQUAL_FATAL(tl_writer_commit(w), TL_OK);
  tl_file *f;
  CU_ASSERT_EQUAL_FATAL(tl_file_open(&d, path, TL_FILE_READ, &f), TL_OK);
  uint64_t at = 0;
  bool ordered = true;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (size_t k = 0; k < sizes[i]; k++, at++)
      ordered = ordered && at < f->size && f->data[at] == i + 1;
  CU_ASSERT_TRUE(ordered && at == f->size);
  tl_file_close(f);
  remove_folder(folder);
}

/* Runs that are gathered come behind what waits in the buffer, and what is written later behind
 * them. */
static void gathered_runs_keep_their_order(void) {
  const tl_sv runs[] = {TL_SV("bc"), TL_SV(""), TL_SV("d"), TL_SV("efg")};
  char *folder = make_folder();
  char path[80];
  tl_diag d = {0};
  tl_writer *w;
  in_folder(path, folder, "gathered");
  CU_ASSERT_EQUAL_FATAL(tl_writer_open(&d, path, NULL, &w), TL_OK);
  CU_ASSERT_EQUAL(tl_writer_write(w, "a", 1), TL_OK);
  CU_ASSERT_EQUAL(tl_writer_gather(w, runs, 4), TL_OK);
  CU_ASSERT_EQUAL(tl_writer_position(w), 7);
  CU_ASSERT_EQUAL(tl_writer_write(w, "h", 1), TL_OK);
  CU_ASSERT_EQUAL_FATAL(tl_writer_commit(w), TL_OK);
  tl_file *f;
  CU_ASSERT_EQUAL_FATAL(tl_file_open(&d, path, TL_FILE_READ, &f), TL_OK);
  CU_ASSERT(f->size == 8 && memcmp(f->data, "abcdefgh", 8) == 0);
  tl_file_close(f);
  remove_folder(folder);
}

static void count_bytes(const void *user, uint64_t at, size_t n, void *out) {
  const unsigned char *first = user;
  for (size_t i = 0; i < n; i++)
    ((unsigned char *)out)[i] = (unsigned char)(*first + (at + i) % 251);
}

/* What threads fill in lies between what was written before and behind; a full disk is an error. */
static void filled_bytes_keep_their_place(void) {
  enum { BYTES = 5 * TL_FILL_BLOCK + 7 };
  static const unsigned char first = 3;
  char *folder = make_folder();
  char path[80];
  tl_diag d = {0};
  tl_writer *w;
  tl_file *f;
  CU_ASSERT_EQUAL_FATAL(tl_writer_open(&d, in_folder(path, folder, "filled"), NULL, &w), TL_OK);
  CU_ASSERT_EQUAL(tl_writer_write(w, "a", 1), TL_OK);
  CU_ASSERT_EQUAL(tl_writer_fill(w, BYTES, count_bytes, &first), TL_OK);
  CU_ASSERT_EQUAL(tl_writer_position(w), BYTES + 1);
  CU_ASSERT_EQUAL(tl_writer_write(w, "z", 1), TL_OK);
  CU_ASSERT_EQUAL_FATAL(tl_writer_commit(w), TL_OK);
  CU_ASSERT_EQUAL_FATAL(tl_file_open(&d, path, TL_FILE_READ, &f), TL_OK);
  CU_ASSERT_EQUAL_FATAL(f->size, BYTES + 2);
  bool good = f->data[0] == 'a' && f->data[BYTES + 1] == 'z';
  for (size_t i = 0; i < BYTES; i++)
    good = good && f->data[i + 1] == (unsigned char)(first + i % 251);
  CU_ASSERT_TRUE(good);
  tl_file_close(f);
  struct rlimit before;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = {2 * TL_FILL_BLOCK, before.rlim_max};
  CU_ASSERT_EQUAL_FATAL(tl_writer_open(&d, path, NULL, &w), TL_OK);
  CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &small), 0);
  CU_ASSERT_EQUAL(tl_writer_fill(w, BYTES, count_bytes, &first), TL_IO);
  CU_ASSERT_EQUAL(tl_writer_write(w, "z", 1), TL_IO);
  CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &before), 0);
  tl_writer_abort(w);
  (void)signal(SIGXFSZ, handler);
  CU_ASSERT_EQUAL_FATAL(tl_file_open(&d, path, TL_FILE_READ, &f), TL_OK);
  CU_ASSERT_EQUAL(f->size, BYTES + 2);
  tl_file_close(f);
  remove_folder(folder);
}

/* More files than a process may have descriptors here; all of them can still be copied. */
static void many_files_need_few_descriptors(void) {
  enum { FILES = 150, BYTES = 70000 };
  char *folder = make_folder();
  char path[80];
  tl_diag d = {0};
  struct rlimit before;
  tl_module *m = tl_module_create(&d, "test", 0);
  tl_writer *w;
  CU_ASSERT_PTR_NOT_NULL_FATAL(m);
  write_pattern(in_folder(path, folder, "a"), BYTES);
  CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit few = {100, before.rlim_max};
  CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &few), 0);
  for (int i = 0; i < FILES; i++) {
    tl_file *f;
    CU_ASSERT_EQUAL_FATAL(tl_file_open(&d, path, TL_FILE_MAP, &f), TL_OK);
    CU_ASSERT_EQUAL_FATAL(tl_module_add_file(m, f), TL_OK);
  }
  CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &before), 0);
  const tl_file *first = m->files.at[0];
  const tl_file *last = m->files.at[FILES - 1];
  CU_ASSERT_TRUE(first->fd >= 0 && last->fd < 0 && last->mapped);
  CU_ASSERT_EQUAL_FATAL(tl_writer_open(&d, in_folder(path, folder, "b"), NULL, &w), TL_OK);
  CU_ASSERT_EQUAL(tl_writer_copy(w, first, 0, BYTES), TL_OK);
  CU_ASSERT_EQUAL(tl_writer_copy(w, last, 0, BYTES), TL_OK);
  uint64_t n;
  const unsigned char *view = tl_writer_view(w, &n);
  CU_ASSERT_TRUE(view && n == 2 * BYTES && memcmp(view, view + BYTES, BYTES) == 0);
  tl_writer_abort(w);
  tl_module_destroy(m);
  remove_folder(folder);
}

static void failed_output_leaves_the_old_file(void) {
  char *folder = make_folder();
  char path[80];
  char listing[80];
  tl_diag d = {0};
  struct stat st;
  volatile int cancel = 0;
  write_pattern(in_folder(path, folder, "a"), 10);
  CU_ASSERT_EQUAL(chmod(path, 0640), 0);
  tl_writer *w;
  CU_ASSERT_EQUAL_FATAL(tl_writer_open(&d, path, &cancel, &w), TL_OK);
  CU_ASSERT_EQUAL(tl_writer_write(w, "x", 1), TL_OK);
  cancel = 1;
  CU_ASSERT_EQUAL(tl_writer_commit(w), TL_IO);
  CU_ASSERT_TRUE(stat(path, &st) == 0 && st.st_size == 10);
  cancel = 0;
  CU_ASSERT_EQUAL_FATAL(tl_writer_open(&d, path, &cancel, &w), TL_OK);
  tl_writer_abort(w);
  snprintf(listing, sizeof listing, "test $(ls -A %s | wc -l) = 1", folder);
  CU_ASSERT_EQUAL(system(listing), 0);
  CU_ASSERT_EQUAL_FATAL(tl_writer_open(&d, path, &cancel, &w), TL_OK);
  CU_ASSERT_EQUAL(tl_writer_commit(w), TL_OK);
  CU_ASSERT_TRUE(stat(path, &st) == 0 && st.st_size == 0 && (st.st_mode & 07777) == 0640);
  CU_ASSERT_EQUAL(tl_writer_open(&d, folder, NULL, &w), TL_IO);
  CU_ASSERT_EQUAL(tl_writer_open(&d, in_folder(path, folder, "no/b"), NULL, &w), TL_IO);
  remove_folder(folder);
}

static void put(tl_changes *c, const char *path, const char *text) {
  tl_diag d = {0};
  tl_writer *w;
  CU_ASSERT_EQUAL_FATAL(tl_writer_open(&d, path, NULL, &w), TL_OK);
  CU_ASSERT_EQUAL(tl_writer_write(w, text, strlen(text)), TL_OK);
  CU_ASSERT_EQUAL(tl_changes_commit(c, &d, w), TL_OK);
}

static bool holds(const char *path, const char *text) {
  char got[16] = {0};
  FILE *f = fopen(path, "rb");
  if (!f)
    return *text == '\0';
  size_t n = fread(got, 1, sizeof got - 1, f);
  fclose(f);
  return n == strlen(text) && memcmp(got, text, n) == 0;
}

static bool has_entries(const char *folder, int n) {
  char listing[96];
  snprintf(listing, sizeof listing, "test $(ls -A %s | wc -l) = %d", folder, n);
  return system(listing) == 0;
}

/* Nothing changes before the journal is applied, and then everything does. */
static void changes_can_be_undone(void) {
  char *folder = make_folder();
  char paths[4][80];
  tl_diag d = {0};
  tl_changes c = {0};
  put(&c, in_folder(paths[0], folder, "old"), "old");
  CU_ASSERT_TRUE(has_entries(folder, 0));
  CU_ASSERT_EQUAL(tl_changes_apply(&c, &d), TL_OK);
  CU_ASSERT_EQUAL(symlink("old", in_folder(paths[3], folder, "link")), 0);
  for (int round = 0; round < 2; round++) {
    CU_ASSERT_EQUAL(tl_changes_folder(&c, &d, in_folder(paths[1], folder, "f")), TL_OK);
    CU_ASSERT_EQUAL(tl_changes_folder(&c, &d, paths[1]), TL_OK);
    put(&c, in_folder(paths[2], folder, "f/new"), "new");
    put(&c, round ? paths[3] : paths[0], "changed");
    CU_ASSERT_TRUE(holds(paths[2], "") && holds(paths[0], "old"));
    if (round == 1)
      CU_ASSERT_EQUAL(tl_changes_apply(&c, &d), TL_OK);
    tl_changes_undo(&c);
    CU_ASSERT_TRUE(holds(paths[0], round ? "changed" : "old"));
    CU_ASSERT_TRUE(holds(paths[2], round ? "new" : ""));
    CU_ASSERT_TRUE(has_entries(folder, round ? 3 : 2));
  }
  CU_ASSERT_EQUAL(tl_changes_folder(&c, &d, paths[0]), TL_IO);
  CU_ASSERT_EQUAL(c.list.n, 0);
  remove_folder(folder);
}

/* The last name cannot be given: those before are taken back, one that was to go away stays. */
static void changes_that_fail_are_taken_back(void) {
  enum { MANY = 70 }; /* more than wait with a descriptor */
  char *folder = make_folder();
  char path[80], blocked[80];
  tl_diag d = {0};
  tl_changes c = {0};
  put(NULL, in_folder(path, folder, "old"), "old");
  put(NULL, in_folder(path, folder, "gone"), "gone");
  CU_ASSERT_EQUAL(tl_changes_remove(&c, &d, path), TL_OK);
  for (int i = 0; i < MANY; i++) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    put(&c, in_folder(path, folder, name), "new");
  }
  put(&c, in_folder(path, folder, "old"), "changed");
  put(&c, in_folder(blocked, folder, "blocked"), "new");
  CU_ASSERT_EQUAL(mkdir(blocked, 0777), 0);
  CU_ASSERT_EQUAL(tl_changes_apply(&c, &d), TL_IO);
  CU_ASSERT_TRUE(has_entries(folder, 3)); /* old, gone, blocked */
  CU_ASSERT_TRUE(holds(in_folder(path, folder, "gone"), "gone"));
  CU_ASSERT_TRUE(holds(in_folder(path, folder, "old"), "old"));
  remove_folder(folder);
}

typedef struct squares {
  uint64_t at[1000];
  size_t bad; /* indices from here on fail */
} squares;

static tl_status square(void *user, size_t i, unsigned worker) {
  squares *s = user;
  (void)worker;
  s->at[i] = (uint64_t)i * i;
  return i < s->bad ? TL_OK : i == s->bad ? TL_LIMIT : TL_IO;
}

static void pool_reports_the_lowest_failure(void) {
  for (unsigned threads = 0; threads < 5; threads++) {
    tl_pool *p = tl_pool_create(threads);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_TRUE(tl_pool_threads(p) >= 1 && (!threads || tl_pool_threads(p) <= threads));
    for (size_t bad = 0; bad <= 1000; bad += 250) {
      squares s = {.bad = bad};
      CU_ASSERT_EQUAL(tl_pool_run(p, 1000, square, &s), bad < 1000 ? TL_LIMIT : TL_OK);
      for (size_t i = 0; i < bad; i++)
        CU_ASSERT_EQUAL(s.at[i], (uint64_t)i * i);
    }
    CU_ASSERT_EQUAL(tl_pool_run(p, 0, square, NULL), TL_OK);
    tl_pool_destroy(p);
  }
}

static const unit_test tests[] = {
    {"locations stay inside the folder", locations_stay_inside_the_folder},
    {"reading equals mapping", reading_equals_mapping},
    {"copies keep every byte", copies_keep_every_byte},
    {"writes keep their order", writes_keep_their_order},
    {"gathered runs keep their order", gathered_runs_keep_their_order},
    {"filled bytes keep their place", filled_bytes_keep_their_place},
    {"many files need few descriptors", many_files_need_few_descriptors},
    {"failed output leaves the old file", failed_output_leaves_the_old_file},
    {"changes can be undone", changes_can_be_undone},
    {"changes that fail are taken back", changes_that_fail_are_taken_back},
    {"pool reports the lowest failure", pool_reports_the_lowest_failure},
    {NULL, NULL},
};
const unit_suite unit_suite_files = {"files", tests};
