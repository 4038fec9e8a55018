/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the sets of weight files (weight_files.h). */
#include "backend/weight_files.h"

#include "backend/data.h"
#include "ir/tensor_expr.h"
#include "support/sha256.h"

void tl_weight_files_init(tl_weight_files *f, const char *model) {
  *f = (tl_weight_files){.model = model, .alignment = 1};
  tl_arena_init(&f->arena, 0);
}

void tl_weight_files_release(tl_weight_files *f) {
  tl_arena_release(&f->arena);
  tl_weight_place_vec_release(&f->places);
  tl_map_release(&f->by_hash);
}

/* Moves a text into the arena of the set and releases the buffer. p is NULL if memory is out. */
static tl_sv keep(tl_weight_files *f, tl_buf *text) {
  const char *p = text->failed ? NULL : tl_arena_copy(&f->arena, text->p ? text->p : "", text->n);
  tl_sv kept = {p, p ? text->n : 0};
  tl_buf_release(text);
  return kept;
}

/* Returns the part of a path behind its last '/'. */
static tl_sv base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return tl_sv_from(slash ? slash + 1 : path);
}

tl_sv tl_model_stem(const char *path) {
  /* A dot at the start belongs to the name: ".onnx" is a file without suffix. */
  tl_sv name = base_name(path);
  for (size_t i = name.n; i-- > 1;)
    if (name.p[i] == '.')
      return (tl_sv){name.p, i};
  return name;
}

tl_status tl_weight_files_for_air(tl_weight_files *f, bool separate) {
  tl_buf text;
  f->meta = true;
  f->alignment = 512;
  if (separate)
    return TL_OK;
  tl_buf_init(&text);
  tl_buf_add_z(&text, "weight/");
  tl_buf_add_sv(&text, tl_model_stem(f->model));
  tl_buf_add_z(&text, "_weight_combined");
  f->combined = keep(f, &text);
  return f->combined.p ? TL_OK : TL_NO_MEMORY;
}

tl_status tl_weight_files_for_onnx(tl_weight_files *f) {
  tl_buf text;
  /* Offsets at page boundaries let readers map a weight without copying it, as ONNX recommends. */
  f->alignment = 4096;
  tl_buf_init(&text);
  tl_buf_add_sv(&text, base_name(f->model));
  tl_buf_add_z(&text, ".data");
  f->combined = keep(f, &text);
  return f->combined.p ? TL_OK : TL_NO_MEMORY;
}

/* ---- places ---------------------------------------------------------------------------------- */

void tl_hash_tensor(const tl_tensor *t, char hash[65]) {
  tl_tensor_room room;
  tl_sha256 sha;
  size_t n;
  tl_sha256_start(&sha);
  for (uint64_t at = 0; at < t->bytes; at += n) {
    const void *p = tl_tensor_file_block(t, at, &room, &n);
    tl_sha256_add(&sha, p, n);
  }
  tl_sha256_finish(&sha, hash);
}

tl_status tl_weight_files_add(tl_weight_files *f, const tl_tensor *t, tl_sv file) {
  return tl_weight_place_vec_push(&f->places, (tl_weight_place){.tensor = t, .file = file})
             ? TL_OK
             : TL_NO_MEMORY;
}

/* Returns the first 16 of the hash's 64 hex digits as a number. */
static uint64_t key_of(const char *hash) {
  uint64_t key = 0;
  for (int i = 0; i < 16; i++)
    key = key << 4 | (uint64_t)(hash[i] <= '9' ? hash[i] - '0' : hash[i] - 'a' + 10);
  return key;
}

/* Returns the name of a file for one content. */
static tl_sv own_file(tl_weight_files *f, const char *hash) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_z(&text, "weight/weight_");
  tl_buf_add_z(&text, hash);
  return keep(f, &text);
}

tl_status tl_weight_files_share(tl_weight_files *f, const tl_tensor *t, const char hash[65],
                                const tl_weight_place **out) {
  uint32_t index;
  uint64_t key = key_of(hash);
  /* The map holds 64 bits of the hash; all 256 decide whether contents are equal. */
  if (tl_map_find(&f->by_hash, key, &index) &&
      memcmp(f->places.at[index].hash, hash, sizeof f->places.at[index].hash) == 0) {
    *out = &f->places.at[index];
    return TL_OK;
  }
  tl_weight_place place = {.tensor = t, .file = f->combined};
  memcpy(place.hash, hash, sizeof place.hash);
  if (place.file.p) {
    place.offset = f->end + (f->alignment - f->end % f->alignment) % f->alignment;
    f->end = place.offset + t->bytes;
  } else {
    place.file = own_file(f, hash);
  }
  if (!place.file.p || !tl_map_set(&f->by_hash, key, f->places.n) ||
      !tl_weight_place_vec_push(&f->places, place))
    return TL_NO_MEMORY;
  *out = &f->places.at[f->places.n - 1];
  return TL_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

const char *tl_weight_files_path(tl_weight_files *f, tl_sv file) {
  size_t n = strlen(f->model) - base_name(f->model).n;
  char *p = tl_arena_alloc(&f->arena, n + file.n + 1);
  if (!p)
    return NULL;
  memcpy(p, f->model, n);
  memcpy(p + n, file.p, file.n);
  p[n + file.n] = '\0';
  return p;
}

/* Makes the folders of a relative path, one level after the other. */
static tl_status make_folders(tl_weight_files *f, tl_diag *d, tl_sv file, tl_changes *changes) {
  for (size_t i = 0; i < file.n; i++) {
    if (file.p[i] != '/')
      continue;
    const char *folder = tl_weight_files_path(f, (tl_sv){file.p, i});
    TL_TRY(folder ? tl_changes_folder(changes, d, folder)
                  : tl_fail_memory(d, TL_AT_FILE(f->model)));
  }
  return TL_OK;
}

static tl_status open_file(tl_weight_files *f, tl_diag *d, tl_sv file, const volatile int *cancel,
                           tl_writer **out) {
  const char *path = tl_weight_files_path(f, file);
  return path ? tl_writer_open(d, path, cancel, out) : tl_fail_memory(d, TL_AT_FILE(f->model));
}

/* Writes the file of the place at *next with all its weights, and zeros between them. Moves *next
 * behind them. */
static tl_status write_file(tl_weight_files *f, tl_diag *d, uint32_t *next,
                            const volatile int *cancel, tl_changes *changes) {
  static const char zeros[TL_WEIGHT_ALIGNMENT] = {0};
  const tl_weight_place *first = &f->places.at[*next];
  tl_writer *out;
  /* the name of a single weight tells its contents; that of all weights stays the same */
  if (f->combined.n && tl_sv_eq(first->file, f->combined))
    TL_TRY(tl_changes_aside(changes, d, f->model, tl_weight_files_path(f, first->file)));
  TL_TRY(open_file(f, d, first->file, cancel, &out));
  do {
    const tl_weight_place *p = &f->places.at[*next];
    (void)tl_writer_write(out, zeros, (size_t)(p->offset - tl_writer_position(out)));
    (void)tl_data_write(out, p->tensor);
    ++*next;
  } while (*next < f->places.n && tl_sv_eq(f->places.at[*next].file, first->file));
  return tl_changes_commit(changes, d, out);
}

/* Writes weight/meta.json, which maps content hashes to file and offset for tools that share
 * weights between models. That of an earlier model of this run in the same folder goes into it. */
static tl_status write_meta(tl_weight_files *f, tl_diag *d, const volatile int *cancel,
                            tl_changes *changes) {
  const char *path = tl_weight_files_path(f, TL_SV("weight/meta.json"));
  tl_file *other = NULL;
  tl_writer *out;
  tl_buf text;
  if (!path)
    return tl_fail_memory(d, TL_AT_FILE(f->model));
  TL_TRY(tl_changes_withdraw(changes, d, path, &other));
  tl_buf_init(&text);
  tl_sv others = {other ? (const char *)other->data : "", other ? (size_t)other->size : 0};
  tl_weight_meta_print(&f->places, others, &text);
  tl_status status = text.failed ? tl_fail_memory(d, TL_AT_FILE(f->model))
                                 : tl_writer_open(d, path, cancel, &out);
  if (status == TL_OK) {
    (void)tl_writer_write(out, text.p, text.n);
    status = tl_changes_commit(changes, d, out);
  }
  tl_buf_release(&text);
  tl_file_close(other);
  return status;
}

tl_status tl_weight_files_write(tl_weight_files *f, tl_diag *d, const volatile int *cancel,
                                tl_changes *changes) {
  if (f->places.n == 0)
    return TL_OK;
  TL_TRY(make_folders(f, d, f->places.at[0].file, changes)); /* all places share their folders */
  for (uint32_t i = 0; i < f->places.n;)
    TL_TRY(write_file(f, d, &i, cancel, changes));
  return f->meta ? write_meta(f, d, cancel, changes) : TL_OK;
}
