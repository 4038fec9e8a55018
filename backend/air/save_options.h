/* SPDX-License-Identifier: Apache-2.0 */
/* How to write an AIR file: options, name of the model, limit, and what collects its files. */
#ifndef TL_BACKEND_AIR_SAVE_OPTIONS_H
#define TL_BACKEND_AIR_SAVE_OPTIONS_H

#include "backend/weight_files.h"
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

#endif
