/* SPDX-License-Identifier: Apache-2.0 */
/* What the description of preprocessing means for the inputs of a model. */
#ifndef TL_PASSES_CLEANUP_CHECK_AIPP_H
#define TL_PASSES_CLEANUP_CHECK_AIPP_H

#include "ir/module.h"
#include "ir/options/aipp.h"
#include "ir/options/options.h"

/* Sizes on the way through an aipp_op, in pixels. */
typedef struct tl_aipp_size {
  int64_t src_w, src_h;   /* of the image */
  int64_t part_w, part_h; /* behind crop */
  int64_t out_w, out_h;   /* behind resize and padding */
} tl_aipp_size;

/* Compares all descriptions with the inputs. Errors are reported with file and line. */
tl_status tl_aipp_check(tl_module *m, const tl_options *o) TL_NODISCARD;
/* Finds the input that a description is for. An unknown one is reported. */
tl_status tl_aipp_input(tl_module *m, const tl_aipp_op *op, tl_value_id *out) TL_NODISCARD;
/* Returns true if it makes one channel, and not three. */
bool tl_aipp_is_gray(const tl_aipp_op *op);
/* Returns the sizes for an input of this width and height, which serve where the file says none. */
tl_aipp_size tl_aipp_output_size(const tl_aipp_op *op, int64_t w, int64_t h);

#endif
