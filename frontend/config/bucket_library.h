/* SPDX-License-Identifier: Apache-2.0 */
/* Reads libraries of measured gradients, the file of --bucket-library.
 * Its form is [{"modelhash": H, "modelvalue": {"gradientTime": [...], "gradientSize": [...]}}]. */
#ifndef TL_FRONTEND_CONFIG_BUCKET_LIBRARY_H
#define TL_FRONTEND_CONFIG_BUCKET_LIBRARY_H

#include "frontend/config/settings.h"

/* Checks the whole file and reads the entry of one model into s->train.measured, in the arena of
 * the settings. hash: SHA-256 of the model's file as hex digits; "": unknown. Times are
 * nanoseconds. There are as many times as sizes, or one more: then the first is the start of the
 * step. Does nothing unless the options make the library decide about buckets. W-BKT-LIB: no entry
 * for this model. E-BKT-LIB: no JSON, or not of this form. */
tl_status tl_bucket_library_read(tl_settings *s, tl_diag *d, const char *hash) TL_NODISCARD;

#endif
