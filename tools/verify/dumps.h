/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a device recorded of a run (verify --dumps): files of GE's data dump, by the names
 * TYPE.NODE.TASK.STREAM.TIME.output.INDEX.npy, as GE's tool for dumps converts them, or .bin, whose
 * dtype and shape a list says. GE spells names of nodes with _ for '/', '\', '.' and blanks. */
#ifndef TL_TOOLS_VERIFY_DUMPS_H
#define TL_TOOLS_VERIFY_DUMPS_H

#include "tools/verify/twins.h"

/* What was read. */
typedef struct tl_dumps {
  uint32_t used;    /* files that are results of the model */
  uint32_t foreign; /* files of nodes that the model lacks, or of inputs */
  uint32_t again;   /* files of results that an earlier file has, by name: another run */
} tl_dumps;

/* Reads the folder of --dumps and the folders in it, and fills t->given. t has layers. Files that
 * are neither .npy nor .bin are left alone. Errors are reported: TL_IO, TL_INVALID_MODEL for
 * damaged files, TL_INVALID_ARGUMENT if no file is a result of the model. */
tl_status tl_dumps_read(tl_evaluation *e, tl_twins *t, tl_dumps *out) TL_NODISCARD;

#endif
