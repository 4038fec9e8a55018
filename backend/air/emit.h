/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a module in NPU form as an AIR file (serialized GE IR, ModelDef), the input of
 * `atc --framework=1`. The file appears complete and self-checked, or not at all; weight files
 * beside it likewise. */
#ifndef TL_BACKEND_AIR_EMIT_H
#define TL_BACKEND_AIR_EMIT_H

#include "backend/weight_files.h"
#include "ir/module.h"
#include "ir/options/options.h"

/* How to write an AIR file. All pointers are borrowed. */
typedef struct tl_air_options {
  const tl_options *options;  /* input format, weights, carried options; NULL: defaults */
  const char *model_name;     /* NULL: the name of the main graph */
  uint64_t limit;             /* bytes of the message before weights move out; 0: 2^31 - 1 */
  const volatile int *cancel; /* polled while writing, NULL: never */
  tl_changes *changes;        /* journal that receives the files, to be applied by the caller or,
                                 also after a failure, undone. NULL: they appear at once */
  tl_weight_files *shared;    /* weights outside go to these files, which the caller writes while
                                 the module lives. NULL: files of this model's own */
} tl_air_options;

/* Writes a module to `path` ("-": standard output). The module is not changed.
 * Errors: TL_UNSUPPORTED for a type without a number in GE or a captured outer value, TL_LIMIT for
 * a message beyond 2 GiB - 1 even without weights, TL_IO, TL_NO_MEMORY, TL_INTERNAL if the
 * self-check finds a fault. */
tl_status tl_air_save(tl_module *m, const char *path, const tl_air_options *o) TL_NODISCARD;

#endif
