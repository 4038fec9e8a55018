/* SPDX-License-Identifier: Apache-2.0 */
/* Preprocesses images as the device does (verify --aipp). */
#ifndef TL_TOOLS_VERIFY_AIPP_H
#define TL_TOOLS_VERIFY_AIPP_H

#include "passes/cleanup/check_aipp.h"
#include "lib/values/compare.h"
#include "tools/run/evaluation.h"

/* An input of the model that images reach through AIPP. */
typedef struct tl_aipp_feed {
  const tl_aipp_op *op;
  uint32_t input;  /* number in the graph */
  bool own;        /* the user gave the floats that the model was meant to get */
  tl_host *image;  /* owned; bytes */
  tl_host *floats; /* owned; without rounding, or the user's */
  tl_host *device; /* owned; as the device makes them, converted to the dtype of the input */
} tl_aipp_feed;

typedef struct tl_aipp_feeds {
  tl_aipp_feed *at; /* owned */
  uint32_t n;
} tl_aipp_feeds;

/* Takes images out of the values of --input (those of u8 for inputs of floats), makes random ones
 * for the rest, and preprocesses them. *values gets an entry for each input: the floats that were
 * meant, unless the user gives them, else NULL. Errors are reported; the caller releases both in
 * any case. *note receives what the summary should say. */
tl_status tl_aipp_take(tl_evaluation *e, tl_module *m, tl_aipp_feeds *out, tl_host_vec *values,
                       tl_buf *note) TL_NODISCARD;
void tl_aipp_release(tl_aipp_feeds *f);
/* Compares what the device makes with floats, in each channel by its own scale: half precision may
 * move an element by a quarter of what one step of a byte is there. */
void tl_aipp_compare(const tl_aipp_feed *f, const tl_host *want, tl_difference *out);

#endif
