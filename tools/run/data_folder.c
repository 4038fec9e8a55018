/* SPDX-License-Identifier: Apache-2.0 */
/* Reads folders of values, as test data of ONNX models comes. */
#include "tools/run/data_folder.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "support/file.h"
#include "tools/run/inputs.h"

/* One input file of a folder. */
typedef struct data_file {
  const char *path; /* in the settings' arena: it outlives messages */
  tl_host *value;   /* owned */
  tl_value_id to;   /* input it is for */
} data_file;

TL_VEC(data_file_vec, data_file);

bool tl_is_folder(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* A file that cannot be examined exists: whoever opens it says why not. */
static bool exists(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 || (errno != ENOENT && errno != ENOTDIR && errno != ELOOP);
}

/* Returns "folder/stem_i.pb", or "folder/stem_i.npy" if only that exists; NULL if memory is out.
 * The first candidate is returned unchecked, so that a message can name a missing file. */
static const char *path_of(tl_evaluation *e, const char *folder, const char *stem, uint32_t i) {
  static const char *const suffixes[] = {"npy", "pb"};
  const char *path = NULL;
  for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++) {
    tl_buf b;
    tl_buf_init(&b);
    tl_buf_printf(&b, "%s/%s_%u.%s", folder, stem, i, suffixes[k]);
    const char *next = b.failed ? NULL : tl_arena_copy(&e->cli->settings.arena, b.p, b.n);
    tl_buf_release(&b);
    if (!next)
      return NULL;
    if (!path || exists(next))
      path = next;
  }
  return path;
}

static tl_type_kind kind_of(const tl_module *m, tl_value_id v) {
  return (tl_type_kind)tl_type_get(m, tl_value_type(m, v))->kind;
}

/* Reads the value of v. NumPy has no bf16, so data that it wrote holds the bits as u16; they are
 * viewed as bf16 if v has that type. */
static tl_status read_for(tl_evaluation *e, const char *path, const tl_module *m, tl_value_id v,
                          tl_host **out, tl_sv *name) {
  TL_TRY(tl_value_read(e, path, kind_of(m, v), out, name));
  if ((*out)->kind != TL_HOST_TENSOR || (*out)->dtype != TL_DTYPE_U16 ||
      tl_type_dtype(m, tl_value_type(m, v)) != TL_DTYPE_BF16)
    return TL_OK;
  tl_host *view = tl_host_view(*out, TL_DTYPE_BF16, (*out)->rank, (*out)->dims);
  if (!view)
    return tl_fail_memory(&e->cli->diag, TL_NOWHERE);
  tl_host_release(*out);
  *out = view;
  return TL_OK;
}

static bool has_default(const tl_module *m, tl_value_id v) {
  return tl_value_get(m, v)->tensor != TL_NO_TENSOR;
}

/* Lists the inputs that files stand for by position. Inputs with a default are left out, unless
 * there are as many files as inputs. */
static tl_status list_inputs(tl_evaluation *e, const tl_module *m, uint32_t n_files,
                             tl_u32_vec *out) {
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 0; i < g->inputs.n; i++)
    if ((n_files == g->inputs.n || !has_default(m, g->inputs.at[i])) &&
        !tl_u32_vec_push(out, g->inputs.at[i]))
      return tl_fail_memory(&e->cli->diag, TL_NOWHERE);
  return TL_OK;
}

/* Returns the graph input of a name, TL_NO_VALUE if there is none or the name is empty. */
static tl_value_id input_named(const tl_module *m, tl_sv name) {
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 0; name.n && i < g->inputs.n; i++)
    if (tl_sv_eq(tl_value_name(m, g->inputs.at[i]), name))
      return g->inputs.at[i];
  return TL_NO_VALUE;
}

/* Reads the files as values of the inputs. *named: each file holds the name of another input. */
static tl_status read_files(tl_evaluation *e, const tl_module *m, const tl_u32_vec *inputs,
                            data_file_vec *files, bool *named) {
  *named = true;
  for (uint32_t i = 0; i < files->n; i++) {
    tl_sv name;
    data_file *f = &files->at[i];
    TL_TRY(read_for(e, f->path, m, inputs->at[i], &f->value, &name));
    f->to = input_named(m, name);
    *named = *named && f->to;
    for (uint32_t k = 0; k < i; k++)
      *named = *named && files->at[k].to != f->to;
  }
  return TL_OK;
}

static tl_status too_many(const tl_evaluation *e, const char *folder, uint32_t n_files,
                          uint32_t n_inputs) {
  return tl_fail(
      &e->cli->diag, TL_INVALID_MODEL, TL_AT_FILE(folder),
      "the folder has %u input_N.pb files, but the model has %u inputs without a value%s", n_files,
      n_inputs,
      e->cli->settings.options.n_frozen
          ? "\vinputs that --freeze names have a value: their files must not be there"
          : "");
}

/* Reads all files and puts each value at the position of its input. Names decide only if all files
 * have one; a mixture of both rules could give two values to one input. */
static tl_status place_inputs(tl_evaluation *e, const char *folder, const tl_module *m,
                              data_file_vec *files, tl_u32_vec *inputs, tl_host_vec *out) {
  bool named;
  TL_TRY(list_inputs(e, m, files->n, inputs));
  if (files->n > inputs->n)
    return too_many(e, folder, files->n, inputs->n);
  TL_TRY(read_files(e, m, inputs, files, &named));
  for (uint32_t i = 0; i < tl_module_main(m)->inputs.n; i++)
    if (!tl_host_vec_push(out, NULL))
      return tl_fail_memory(&e->cli->diag, TL_NOWHERE);
  for (uint32_t i = 0; i < files->n; i++) {
    tl_value_id v = named ? files->at[i].to : inputs->at[i];
    out->at[tl_value_get(m, v)->index] = tl_host_retain(files->at[i].value);
  }
  return TL_OK;
}

/* Reads N of "input_N.pb" or "input_N.npy". False for any other name. */
static bool input_number(tl_sv name, uint32_t *out) {
  static const char stem[] = "input_";
  uint64_t number;
  size_t suffix = tl_sv_ends_with(name, ".pb") ? 3 : tl_sv_ends_with(name, ".npy") ? 4 : 0;
  if (!suffix || !tl_sv_starts_with(name, stem))
    return false;
  tl_sv digits = {name.p + sizeof stem - 1, name.n - (sizeof stem - 1) - suffix};
  if (!digits.n || digits.p[0] == '+' || !tl_parse_u64(digits, &number) || number > UINT32_MAX)
    return false;
  *out = (uint32_t)number;
  return digits.n == 1 || digits.p[0] != '0'; /* path_of writes no zeros in front */
}

static int compare_numbers(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* Lists the numbers of the input files in ascending order. Data of old models has gaps where an
 * input was an initializer. TL_IO, TL_NO_MEMORY, reported. */
static tl_status list_numbers(tl_diag *diag, const char *folder, tl_u32_vec *out) {
  bool ok = true;
  uint32_t number, n = 0;
  DIR *d = opendir(folder);
  int error = d ? 0 : errno;
  for (const struct dirent *entry; d && ok && (entry = tl_folder_next(d, &error));)
    if (input_number(tl_sv_from(entry->d_name), &number))
      ok = tl_u32_vec_push(out, number);
  if (d)
    closedir(d);
  if (!ok || error == ENOMEM)
    return tl_fail_memory(diag, TL_NOWHERE);
  if (error)
    return tl_fail(diag, TL_IO, TL_AT_FILE(folder), "cannot read the folder: %s", strerror(error));
  if (out->n)
    qsort(out->at, out->n, sizeof *out->at, compare_numbers);
  for (uint32_t i = 0; i < out->n; i++) /* a .pb and a .npy of one number are one */
    if (!n || out->at[n - 1] != out->at[i])
      out->at[n++] = out->at[i];
  out->n = n;
  return TL_OK;
}

tl_status tl_folder_inputs(tl_evaluation *e, const char *folder, const tl_module *m,
                           tl_host_vec *out) {
  data_file_vec files = {0};
  tl_u32_vec inputs = {0};
  tl_u32_vec numbers = {0};
  tl_status status = list_numbers(&e->cli->diag, folder, &numbers);
  for (uint32_t i = 0; status == TL_OK && i < numbers.n; i++) {
    data_file f = {.path = path_of(e, folder, "input", numbers.at[i])};
    if (!f.path || !data_file_vec_push(&files, f))
      status = tl_fail_memory(&e->cli->diag, TL_NOWHERE);
  }
  tl_u32_vec_release(&numbers);
  if (status == TL_OK)
    status = place_inputs(e, folder, m, &files, &inputs, out);
  for (uint32_t i = 0; i < files.n; i++)
    tl_host_release(files.at[i].value);
  data_file_vec_release(&files);
  tl_u32_vec_release(&inputs);
  return status;
}

tl_status tl_folder_outputs(tl_evaluation *e, const char *folder, const tl_module *m,
                            tl_host_vec *out) {
  const tl_graph *g = tl_module_main(m);
  uint32_t found = 0, n = tl_graph_n_outputs(m, g);
  for (uint32_t i = 0; i < n; i++) {
    const char *path = path_of(e, folder, "output", i);
    if (!path || !tl_host_vec_push(out, NULL))
      return tl_fail_memory(&e->cli->diag, TL_NOWHERE);
    if (!exists(path))
      continue;
    TL_TRY(read_for(e, path, m, tl_graph_output(m, g, i), &out->at[i], NULL));
    found++;
  }
  if (found || !n)
    return TL_OK;
  return tl_fail(&e->cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(folder),
                 "the folder has no output_0.pb or output_0.npy to compare with");
}
