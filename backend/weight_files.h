/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that lie in files beside a model, or beside several models that share them: where each is
 * to be, and then all of them written in one go. With a hash, a content is there once, whoever asks
 * for it. */
#ifndef TL_BACKEND_WEIGHT_FILES_H
#define TL_BACKEND_WEIGHT_FILES_H

#include "ir/tensor.h"
#include "support/arena.h"
#include "support/changes.h"
#include "support/map.h"

typedef struct tl_weight_place {
  const tl_tensor *tensor; /* borrowed until the files are written */
  tl_sv file;              /* relative to the model, '/' separated */
  uint64_t offset;         /* in the file */
  char hash[65];           /* SHA-256 of the bytes; empty: not asked for */
} tl_weight_place;

TL_VEC(tl_weight_place_vec, tl_weight_place);

typedef struct tl_weight_files {
  const char *model;  /* borrowed; path of a model, whose folder the files are in */
  tl_arena arena;     /* of names */
  tl_sv combined;     /* the file that takes all contents that are shared */
  uint64_t alignment; /* of the weights in it, at most TL_WEIGHT_ALIGNMENT */
  bool meta;          /* say in weight/meta.json which content is where */
  uint64_t end;       /* of the combined file so far */
  tl_weight_place_vec places;
  tl_map by_hash; /* its first 64 bits -> index of the place */
} tl_weight_files;

enum { TL_WEIGHT_ALIGNMENT = 4096 };

/* Name of the model's file without its suffix. */
tl_sv tl_model_stem(const char *path);

/* Makes an empty set in *f; release it in any case. */
void tl_weight_files_init(tl_weight_files *f, const char *model);
void tl_weight_files_release(tl_weight_files *f);

/* AIR: 'weight/<stem of model>_weight_combined', or with `separate` files 'weight/weight_<hash>'
 * for each content, and weight/meta.json. TL_NO_MEMORY, unreported. */
tl_status tl_weight_files_for_air(tl_weight_files *f, bool separate) TL_NODISCARD;
/* ONNX: '<model>.data'. TL_NO_MEMORY, unreported. */
tl_status tl_weight_files_for_onnx(tl_weight_files *f) TL_NODISCARD;

/* SHA-256 over the bytes of a tensor that holds no strings. */
void tl_hash_tensor(const tl_tensor *t, char hash[65]);
/* Gives a weight a file of its own. TL_NO_MEMORY, unreported. */
tl_status tl_weight_files_add(tl_weight_files *f, const tl_tensor *t, tl_sv file) TL_NODISCARD;
/* Finds the place of a content, or makes one. The place may move when another is added.
 * TL_NO_MEMORY, unreported. */
tl_status tl_weight_files_share(tl_weight_files *f, const tl_tensor *t, const char hash[65],
                                const tl_weight_place **out) TL_NODISCARD;

/* Path of a file of the set, in its arena; NULL when memory is out. */
const char *tl_weight_files_path(tl_weight_files *f, tl_sv file);
/* Writes all of them; they are in `changes`, and existing ones keep their content until those are
 * applied. Nothing is written, and no folder made, for an empty set. */
tl_status tl_weight_files_write(tl_weight_files *f, tl_diag *d, const volatile int *cancel,
                                tl_changes *changes) TL_NODISCARD;

#endif
