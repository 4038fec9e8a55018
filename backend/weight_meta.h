/* SPDX-License-Identifier: Apache-2.0 */
/* weight/meta.json: where in the files of a folder each content of a weight is. */
#ifndef TL_BACKEND_WEIGHT_META_H
#define TL_BACKEND_WEIGHT_META_H

#include "ir/tensor.h"
#include "support/str.h"
#include "support/vec.h"

/* Where one weight is stored. */
typedef struct tl_weight_place {
  const tl_tensor *tensor; /* borrowed until the files are written */
  tl_sv file;              /* relative to the model, '/' separated */
  uint64_t offset;         /* in the file */
  char hash[65];           /* SHA-256 of the bytes as hex digits; empty: not computed */
} tl_weight_place;

TL_VEC(tl_weight_place_vec, tl_weight_place);

/* Adds the JSON text of all places to `out`, and what `other` says of further contents; other: such
 * a text, or empty. Sorted by hash, so that the bytes do not depend on the order of weights and
 * models. Without memory, out->failed is set. */
void tl_weight_meta_print(const tl_weight_place_vec *places, tl_sv other, tl_buf *out);

/* Returns true for a text that tl_weight_meta_print made, judged by its first weight. */
bool tl_weight_meta_fits(tl_sv text);
/* Returns true for the path of such a file. */
bool tl_weight_meta_is(tl_sv path);
/* Returns true for the path of a weight file whose name tells what is in it, so that several models
 * may write it. */
bool tl_weight_file_is_content(tl_sv path);

#endif
