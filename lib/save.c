/* SPDX-License-Identifier: Apache-2.0 */
/* Implements saving (include/tailor/model.h), by the session that the command uses as well. Files
 * for functions of the caller are staged in a folder of their own, which is removed again. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/handle.h"
#include "support/vec.h"

static tl_status find_format(tl_context *c, const char *path, tl_format *format) {
  if (!tl_format_of_path(path, format) || *format == TL_FORMAT_PBTXT)
    return tl_fail(&c->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(path),
                   "the suffix does not name a format\vuse .air, .onnx or .tir");
  return TL_OK;
}

static tl_status save(tl_model *m, const char *path) {
  tl_context *c = m->context;
  tl_destination to = {.path = path};
  TL_TRY(tl_lib_check(m));
  TL_TRY(tl_lib_settle(c));
  TL_TRY(find_format(c, path, &to.format));
  return tl_session_save(&c->session, m->module, &to);
}

int tl_model_save(tl_model *m, const char *path) {
  int code;
  if (tl_lib_lacks(m->context, path, "path", &code))
    return code;
  uint32_t errors = tl_lib_begin(m->context);
  return tl_lib_end(m->context, save(m, path), errors);
}

/* ---- files for the caller -------------------------------------------------------------------- */

/* Who takes the files of a folder. */
typedef struct taker {
  tl_context *c;
  tl_take_file_fn take;
  void *user;
  char root[64]; /* the folder */
} taker;

/* Returns "FOLDER/NAME" on the heap, NAME for the empty folder; NULL without memory. */
static char *join(const char *folder, const char *name) {
  tl_buf path;
  tl_buf_init(&path);
  tl_buf_printf(&path, "%s%s%s", folder, *folder && *name ? "/" : "", name);
  if (path.failed)
    tl_buf_release(&path);
  return path.p;
}

/* Hands out one file of the folder. */
static tl_status hand_over(const taker *t, const char *name, const char *path) {
  tl_file *f;
  TL_TRY(tl_file_open(&t->c->diag, path, TL_FILE_MAP, &f));
  int refused = t->take(t->user, name, f->data, f->size);
  tl_file_close(f);
  return refused ? tl_fail(&t->c->diag, TL_IO, TL_AT_FILE(name),
                           "whoever was to take '%s' refused it", name)
                 : TL_OK;
}

static bool is_entry(const struct dirent *e) {
  return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

static bool is_folder(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static tl_status hand_over_folder(const taker *t, const char *folder, const char *model, int depth);

/* Hands out a file or what is in a folder, after `status` TL_OK, and removes it. */
static tl_status hand_over_entry(const taker *t, const char *name, tl_status status, int depth) {
  char *path = join(t->root, name);
  if (!path)
    return tl_fail_memory(&t->c->diag, TL_NOWHERE);
  bool nested = is_folder(path);
  if (status == TL_OK)
    status = nested && depth ? hand_over_folder(t, name, "", depth - 1) : hand_over(t, name, path);
  (void)(nested ? rmdir(path) : unlink(path));
  free(path);
  return status;
}

TL_VEC(name_vec, char *);

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Reads the names in a folder, sorted. They are on the heap. */
static bool list_folder(const char *path, name_vec *names) {
  DIR *folder = opendir(path);
  bool good = folder != NULL;
  int error = 0;
  for (const struct dirent *e; good && (e = tl_folder_next(folder, &error));) {
    char *copy = is_entry(e) ? strdup(e->d_name) : NULL;
    good = !is_entry(e) || (copy && name_vec_push(names, copy));
    if (!good)
      free(copy);
  }
  if (folder)
    closedir(folder);
  if (names->n)
    qsort(names->at, names->n, sizeof *names->at, by_name);
  return good && !error;
}

/* Hands out the files of a folder but the model itself, sorted by name, and removes them. depth:
 * folders below it that may follow. */
static tl_status hand_over_folder(const taker *t, const char *folder, const char *model,
                                  int depth) {
  name_vec names = {0};
  char *path = join(t->root, folder);
  tl_status status = path && list_folder(path, &names) ? TL_OK : TL_NO_MEMORY;
  if (status != TL_OK)
    status = tl_fail_memory(&t->c->diag, TL_NOWHERE);
  for (uint32_t i = 0; i < names.n; i++) {
    char *name = join(folder, names.at[i]);
    if (!name)
      status = tl_fail_memory(&t->c->diag, TL_NOWHERE);
    else if (strcmp(name, model) != 0)
      status = hand_over_entry(t, name, status, depth);
    free(name);
    free(names.at[i]);
  }
  name_vec_release(&names);
  free(path);
  return status;
}

/* Makes the folder, in memory where the system has a place for that. */
static tl_status make_root(taker *t) {
  static const char *const places[] = {"/dev/shm", P_tmpdir};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    snprintf(t->root, sizeof t->root, "%s/tailor-XXXXXX", places[i]);
    if (mkdtemp(t->root))
      return TL_OK;
  }
  return tl_fail(&t->c->diag, TL_IO, TL_AT_FILE(t->root), "cannot make a folder: %s",
                 strerror(errno));
}

/* Passes messages on with the names that the caller knows. */
typedef struct renamer {
  tl_diag_fn fn;
  void *user;
  const char *root; /* the folder that he does not know ... */
  tl_sv folder;     /* ... and the one that he named, with its slash */
} renamer;

/* Appends the text, with the caller's folder instead of the staging folder. */
static void rename_in(tl_buf *out, const renamer *r, const char *text) {
  size_t n = strlen(r->root);
  for (const char *found; (found = strstr(text, r->root)) != NULL;) {
    tl_buf_add(out, text, (size_t)(found - text));
    tl_buf_add_sv(out, r->folder);
    text = found + n + (found[n] == '/');
  }
  tl_buf_add_z(out, text);
}

/* Without memory for other names the message passes as it is. */
static void pass_on(void *user, const tl_diagnostic *d) {
  const renamer *r = user;
  const char *texts[] = {d->where.file, d->message, d->hint};
  tl_buf renamed[3];
  for (size_t i = 0; i < 3; i++) {
    tl_buf_init(&renamed[i]);
    if (texts[i] && strstr(texts[i], r->root))
      rename_in(&renamed[i], r, texts[i]);
    if (renamed[i].n && !renamed[i].failed)
      texts[i] = renamed[i].p;
  }
  tl_diagnostic copy = *d;
  copy.where.file = texts[0];
  copy.message = texts[1];
  copy.hint = texts[2];
  r->fn(r->user, &copy);
  for (size_t i = 0; i < 3; i++)
    tl_buf_release(&renamed[i]);
}

/* Saves the model in the staging folder and hands out its files. */
static tl_status stage(tl_model *m, const char *base, taker *t) {
  char *path = join(t->root, base);
  tl_status status = path ? save(m, path) : tl_fail_memory(&t->c->diag, TL_NOWHERE);
  if (status == TL_OK) {
    status = hand_over_folder(t, "", base, 2);
    if (status == TL_OK)
      status = hand_over(t, base, path);
    (void)unlink(path);
  }
  (void)rmdir(t->root);
  free(path);
  return status;
}

static tl_status save_to(tl_model *m, const char *name, taker *t) {
  const char *slash = strrchr(name, '/');
  const char *base = slash ? slash + 1 : name;
  tl_format format;
  TL_TRY(find_format(t->c, name, &format)); /* of the caller's name, not of the staged one */
  TL_TRY(make_root(t));
  renamer around = {t->c->diag.fn, t->c->diag.user, t->root, {name, (size_t)(base - name)}};
  t->c->diag.fn = pass_on;
  t->c->diag.user = &around;
  tl_status status = stage(m, base, t);
  if (status != TL_OK && strstr(t->c->diag.activity.subject, t->root)) /* for lack of memory */
    (void)tl_activity_begin(&t->c->diag, t->c->diag.activity.doing, name);
  t->c->diag.fn = around.fn;
  t->c->diag.user = around.user;
  return status;
}

int tl_model_save_to(tl_model *m, const char *name, tl_take_file_fn take, void *user) {
  taker t = {.c = m->context, .take = take, .user = user};
  int code;
  if (tl_lib_lacks(t.c, name, "name", &code) || tl_lib_lacks(t.c, take ? m : NULL, "take", &code))
    return code;
  uint32_t errors = tl_lib_begin(m->context);
  return tl_lib_end(m->context, save_to(m, name, &t), errors);
}

/* The one file of tl_model_save_bytes. */
typedef struct collected {
  void *bytes;
  size_t n;
  bool lacks_memory;
} collected;

static int collect(void *user, const char *name, const void *bytes, uint64_t n) {
  collected *c = user;
  (void)name;
  c->bytes = n <= SIZE_MAX ? malloc(n ? (size_t)n : 1) : NULL;
  c->lacks_memory = !c->bytes;
  if (!c->bytes)
    return 1;
  memcpy(c->bytes, bytes, (size_t)n);
  c->n = (size_t)n;
  return 0;
}

int tl_model_save_bytes(tl_model *m, const char *name, void **bytes, size_t *n) {
  tl_context *c = m->context;
  collected made = {0};
  taker t = {.c = c, .take = collect, .user = &made};
  int code;
  if (tl_lib_lacks(c, name, "name", &code) || tl_lib_lacks(c, bytes, "bytes", &code) ||
      tl_lib_lacks(c, n, "n", &code))
    return code;
  uint32_t errors = tl_lib_begin(c);
  tl_status status = tl_lib_settle(c);
  if (status == TL_OK && c->settings.options.external_weight != TL_WEIGHTS_INSIDE)
    status = tl_fail(&c->diag, TL_UNSUPPORTED,
                     tl_at_option(&c->settings, TL_OPTION_EXTERNAL_WEIGHT),
                     "asks for files of weights, and here is one block of memory\v"
                     "tl_model_save_to takes several files");
  if (status == TL_OK)
    status = save_to(m, name, &t);
  if (made.lacks_memory)
    status = TL_NO_MEMORY;
  if (status != TL_OK) {
    free(made.bytes);
    return tl_lib_end(c, status, errors);
  }
  *bytes = made.bytes;
  *n = made.n;
  return tl_lib_end(c, TL_OK, errors);
}

void tl_free(void *bytes) { free(bytes); }
