/* SPDX-License-Identifier: Apache-2.0 */
/* Places weights in files beside a model, or beside several models that share them, and writes
 * them. All places are assigned first, then all files are written at once. Weights added with a
 * hash are stored once per content, also if several models have them. */
#ifndef TL_BACKEND_WEIGHT_FILES_H
#define TL_BACKEND_WEIGHT_FILES_H

#include "backend/weight_meta.h"
#include "support/arena.h"
#include "support/changes.h"
#include "support/map.h"

/* A set of weight files. Places of one file are adjacent in `places`, in ascending offsets. */
typedef struct tl_weight_files {
  const char *model;  /* borrowed; path of a model; the files are written below its folder */
  tl_arena arena;     /* owned; holds names */
  tl_sv combined;     /* name of the one file for all shared contents; empty: one file each */
  uint64_t alignment; /* of offsets in the combined file, bytes; at most TL_WEIGHT_ALIGNMENT */
  bool meta;          /* also write weight/meta.json, which says where each content is */
  uint64_t end;       /* bytes of the combined file so far */
  tl_weight_place_vec places;
  tl_map by_hash; /* its first 64 bits -> index of the place */
} tl_weight_files;

enum { TL_WEIGHT_ALIGNMENT = 4096 };

/* Returns the name of the model's file without folder and suffix; a view of `path`. */
tl_sv tl_model_stem(const char *path);

/* Makes an empty set in *f. Release it in any case. */
void tl_weight_files_init(tl_weight_files *f, const char *model);
void tl_weight_files_release(tl_weight_files *f);

/* Sets the names of an AIR model's files: 'weight/<stem of model>_weight_combined', or with
 * `separate` a file 'weight/weight_<hash>' for each content; and weight/meta.json. TL_NO_MEMORY,
 * unreported. */
tl_status tl_weight_files_for_air(tl_weight_files *f, bool separate) TL_NODISCARD;
/* Sets the name of an ONNX model's file: '<model>.data'. TL_NO_MEMORY, unreported. */
tl_status tl_weight_files_for_onnx(tl_weight_files *f) TL_NODISCARD;

/* Computes the SHA-256 of a tensor's bytes as hex digits. The tensor holds no strings. Safe to call
 * from several threads. O(bytes). */
void tl_hash_tensor(const tl_tensor *t, char hash[65]);
/* Gives a weight a file of its own, which `file` names. TL_NO_MEMORY, unreported. */
tl_status tl_weight_files_add(tl_weight_files *f, const tl_tensor *t, tl_sv file) TL_NODISCARD;
/* Finds the place of a content or assigns one. *out is valid until another place is added.
 * TL_NO_MEMORY, unreported. */
tl_status tl_weight_files_share(tl_weight_files *f, const tl_tensor *t, const char hash[65],
                                const tl_weight_place **out) TL_NODISCARD;

/* Returns the path of a file of the set, in the set's arena; NULL if memory is out. */
const char *tl_weight_files_path(tl_weight_files *f, tl_sv file);
/* Writes all files of the set. They are recorded in `changes`, and existing files keep their
 * content until the changes are applied. For an empty set it makes no file and no folder. TL_IO,
 * TL_NO_MEMORY. */
tl_status tl_weight_files_write(tl_weight_files *f, tl_diag *d, const volatile int *cancel,
                                tl_changes *changes) TL_NODISCARD;

#endif
