/* SPDX-License-Identifier: Apache-2.0 */
/* Data of tensors as views: of the bytes of the model itself, or of files beside it. Nothing is
 * copied or read, but where numbers have to be turned round (ir/byte_order.h). */
#ifndef TL_FRONTEND_DATA_VIEW_H
#define TL_FRONTEND_DATA_VIEW_H

#include "ir/module.h"

/* A file beside the model that was opened. */
typedef struct tl_side_file {
  tl_symbol location; /* as the model names it */
  const tl_file *file;
} tl_side_file;

TL_VEC(tl_side_file_vec, tl_side_file);

/* Opens files beside a model that do not lie in its folder. */
typedef struct tl_beside {
  /* Opens `location`, as the model names it; `where` names the tensor in messages. The caller
   * closes *out. Reports what fails. */
  tl_status (*open)(void *user, tl_sv location, tl_location where, tl_file **out);
  void *user;
} tl_beside;

/* Where the data of a model lies. All is borrowed. */
typedef struct tl_data_source {
  tl_diag *d;
  const char *path;           /* of the model */
  tl_module *m;               /* owns every file that is opened */
  const tl_file *file;        /* the model's; NULL: the model is in the caller's memory */
  const unsigned char *start; /* of the model's bytes */
  tl_file_mode mode;          /* of files beside the model */
  const tl_beside *beside;    /* opens them; NULL: they are in the folder of the model */
  tl_side_file_vec *opened;   /* each file is opened once */
} tl_data_source;

/* Makes *t a view of the bytes at p, which are of the model. TL_NO_MEMORY. */
tl_status tl_data_inside(const tl_data_source *s, const unsigned char *p,
                         tl_tensor *t) TL_NODISCARD;
/* Makes *t a view of t->bytes bytes at `offset` of a file that must lie below the folder of the
 * model. TL_UNSUPPORTED for a model in memory with nobody to open the file, TL_INVALID_MODEL for a
 * range beyond the end of the file, TL_IO, TL_NO_MEMORY; all but the last are reported. */
tl_status tl_data_beside(const tl_data_source *s, tl_sv location, uint64_t offset,
                         tl_location where, tl_tensor *t) TL_NODISCARD;

#endif
