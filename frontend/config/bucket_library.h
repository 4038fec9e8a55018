/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries of measured gradients: the file of --bucket-library,
 * [{"modelhash": H, "modelvalue": {"gradientTime": [...], "gradientSize": [...]}}]. */
#ifndef TL_FRONTEND_CONFIG_BUCKET_LIBRARY_H
#define TL_FRONTEND_CONFIG_BUCKET_LIBRARY_H

#include "frontend/config/settings.h"

/* Checks all of the file and takes the entry of the model whose file has this SHA-256 (hex digits,
 * "": not known) into s->train.measured, in the arena of the settings. Times are nanoseconds; there
 * are as many as sizes, or one more, which comes first and is when the step started. Does nothing
 * unless the library decides about buckets. W-BKT-LIB: no entry for this model. E-BKT-LIB: JSON
 * that is none, or not of that form. */
tl_status tl_bucket_library_read(tl_settings *s, tl_diag *d, const char *hash) TL_NODISCARD;

#endif
